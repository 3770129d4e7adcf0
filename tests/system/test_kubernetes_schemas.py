"""What `render --engine kubernetes` makes, against the schemas that Kubernetes
publishes: of PyPI's kubernetes-validate, into a folder of COUNTERPARTS.

The texts are those in render/, which system.render holds to the program.
"""
import os
import pathlib
import subprocess
import sys
import unittest
import venv

FOLDER = pathlib.Path(os.environ["COUNTERPARTS"]) / "kubernetes"
PYTHON = FOLDER / "bin" / "python"
GOLDEN = pathlib.Path(__file__).resolve().parent / "render"
VERSIONS = ("1.29", "1.31", "1.34")  # before, a rule had to have both its parts
LIMIT = 600  # seconds for a download
READ = """
import sys, yaml, kubernetes_validate as schemas
sys.tracebacklimit = 0
for one in yaml.safe_load_all(sys.stdin):
    schemas.validate(one, sys.argv[1], strict=True)
    print(one["kind"])
"""


def fetch():
    if not PYTHON.exists():
        venv.create(FOLDER, with_pip=True)
    if subprocess.run([PYTHON, "-c", "import kubernetes_validate"],
                      capture_output=True).returncode != 0:
        subprocess.run([PYTHON, "-m", "pip", "install", "-q",
                        "kubernetes-validate"], check=True, timeout=LIMIT)


try:
    fetch()
except (OSError, subprocess.SubprocessError) as error:
    print(f"SKIPPED: the schemas of Kubernetes cannot be fetched: {error}")
    sys.exit(77)


class Pods(unittest.TestCase):
    def read(self, text, version):
        return subprocess.run([PYTHON, "-c", READ, version], input=text,
                              capture_output=True, text=True, timeout=60)

    def test_every_object_is_one_of_theirs(self):
        for path in sorted(GOLDEN.glob("*.kubernetes.txt")):
            for version in VERSIONS:
                with self.subTest(path.name, version=version):
                    done = self.read(path.read_text(), version)
                    self.assertEqual(done.returncode, 0, done.stderr[:500])
                    self.assertIn("Job\n", done.stdout)

    def test_a_field_that_is_none_is_refused(self):
        """The test above would see it."""
        text = (GOLDEN / "two.kubernetes.txt").read_text()
        for wrong in (text.replace("completionMode:", "completionMoode:"),
                      text.replace("backoffLimit: 0", "backoffLimit: none")):
            self.assertNotEqual(wrong, text)
            self.assertIn("ValidationError", self.read(wrong, "1.31").stderr)


if __name__ == "__main__":
    unittest.main()
