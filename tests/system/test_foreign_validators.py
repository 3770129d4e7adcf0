"""The reports, judged by what others made to judge them: Microsoft's validator
for SARIF, with the rules of the specification and of GitHub, and Jenkins'
schema for JUnit XML, which the source of pytest carries.

COUNTERPARTS names the folder where they are kept once they were fetched; what
cannot be fetched is skipped.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile

import harness
from test_formats import BAD, GOOD, ODD, ODD_NAME

FOLDER = pathlib.Path(os.environ["COUNTERPARTS"])
MULTITOOL = "@microsoft/sarif-multitool-linux@5.7.0"
PYTEST = "pytest==8.1.1"
XSD = "testing/example_scripts/junit-10.xsd"
LIMIT = 300  # seconds for a download


def fetch(*command):
    """Run a package manager's own client in FOLDER."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    try:
        subprocess.run(command, cwd=FOLDER, check=True, timeout=LIMIT,
                       capture_output=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise harness.unittest.SkipTest(f"cannot fetch: {error}") from error


def multitool():
    program = (FOLDER / "node_modules/@microsoft/sarif-multitool-linux" /
               "Sarif.Multitool")
    if not program.exists():
        fetch("npm", "install", "--prefix", ".", "--no-save", MULTITOOL)
    return program


def junit_schema():
    schema = FOLDER / "junit-10.xsd"
    if not schema.exists():
        fetch(sys.executable, "-m", "pip", "download", "--no-deps",
              "--no-binary", ":all:", PYTEST)
        [archive] = FOLDER.glob("pytest-*.tar.gz")
        with tarfile.open(archive) as source:
            [member] = [name for name in source.getnames()
                        if name.endswith("/" + XSD)]
            schema.write_bytes(source.extractfile(member).read())
    return schema


class Counterparts(harness.Case):
    def setUp(self):
        super().setUp()
        self.write("bad.jobrun.yaml", BAD)
        self.write("good.jobrun.yaml", GOOD)
        self.write(ODD_NAME, ODD)
        (self.folder / "empty").mkdir()
        self.golden = pathlib.Path(__file__).parents[1] / "golden"

    def report(self, form, *words, code=3):
        done = self.expect(self.jobrun("validate", "--format", form, *words),
                           code)
        return self.write("report." + form, done.stdout)

    def reports(self, form):
        """A report of everything that is wrong here and in the golden specs,
        which have every finding; and one without a finding."""
        specs = sorted(self.golden.glob("*/*/spec.yaml"))
        self.assertGreater(len(specs), 20)
        yield self.report(form, ".", "empty", "absent", *specs)
        yield self.report(form, "good.jobrun.yaml", code=0)

    def judge_sarif(self, path):
        done = subprocess.run(
            [multitool(), "validate", path, "--rule-kind", "Sarif;Ghas",
             "--threads", "1"], capture_output=True, text=True,
            timeout=harness.LIMIT)
        self.assertIn("Analysis completed successfully", done.stdout)
        return re.findall(r": (error \S+): (.*)", done.stdout)

    def test_sarif(self):
        for path in self.reports("sarif"):
            self.assertEqual(self.judge_sarif(path), [])
        broken = path.read_text().replace('"results": []', '"results": [{}]')
        path.write_text(broken)
        self.assertNotEqual(self.judge_sarif(path), [])

    def judge_junit(self, path):
        if shutil.which("xmllint") is None:
            self.skipTest("no xmllint")
        return subprocess.run(
            ["xmllint", "--noout", "--nonet", "--schema", junit_schema(),
             path], capture_output=True, text=True, timeout=harness.LIMIT)

    def test_junit(self):
        for path in self.reports("junit"):
            done = self.judge_junit(path)
            self.assertEqual(done.returncode, 0, done.stderr)
        path.write_text(path.read_text().replace(" name=", " nome="))
        self.assertNotEqual(self.judge_junit(path).returncode, 0)


if __name__ == "__main__":
    harness.main()
