"""What checks specs for others: the hooks, run by the real pre-commit in a new
repository, and the action, judged by actionlint and shellcheck.

    COUNTERPARTS=FOLDER   actionlint, built by go, is kept there
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import venv

import make_release

SOURCE = pathlib.Path(os.environ["SOURCE"])
RELEASE = pathlib.Path(os.environ["RELEASE"])
COUNTERPARTS = pathlib.Path(os.environ["COUNTERPARTS"])
ACTIONLINT = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12"
PRE_COMMIT = "pre-commit==4.7.0"
LIMIT = 1800  # seconds that any command may take: one builds
GOOD = "version: 1\nentrypoint: [./train]\nworld_size: 2\n"
WRONG = GOOD.replace("world_size", "world_sise")
BY_SOURCE = """\
repos:
  - repo: {source}
    rev: {rev}
    hooks:
      - id: jobrun-fix
      - id: jobrun-validate
        args: [--strict]
"""


def run(*words, code=0, **options):
    done = subprocess.run([str(word) for word in words], check=False, text=True,
                          stdin=subprocess.DEVNULL, timeout=LIMIT,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          **options)
    if done.returncode != code:
        raise AssertionError(f"{words}: {done.returncode}\n{done.stdout}")
    return done.stdout


class Hooks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="jobrun-hooks-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        venv.create(cls.folder / "venv", with_pip=True)
        try:
            run(cls.folder / "venv/bin/pip", "install", "-q", PRE_COMMIT)
        except AssertionError as error:
            raise unittest.SkipTest(f"cannot fetch {PRE_COMMIT}") from error

    def setUp(self):
        """A new repository of somebody's, with a spec that has a mistake."""
        self.repository = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        self.git("init", "-q")
        (self.repository / "specs").mkdir()
        self.spec = self.repository / "specs/train.jobrun.yaml"
        self.spec.write_text(WRONG)
        (self.repository / "other.yaml").write_text("no: spec\n")

    def git(self, *words):
        return run("git", "-C", self.repository, *words).strip()

    def pre_commit(self, config, code):
        """Run on all files of the repository; its own compiler's optimiser is left
        out where it builds."""
        (self.repository / ".pre-commit-config.yaml").write_text(config)
        self.git("add", "-A")
        return run(self.folder / "venv/bin/pre-commit", "run", "--all-files",
                   code=code, cwd=self.repository,
                   env={**os.environ, "PRE_COMMIT_HOME": str(self.folder / "home"),
                        "SKBUILD_CMAKE_BUILD_TYPE": "Debug"})

    def test_from_this_repository(self):
        """The wheel is built from a checkout and installed; the fix changes the file,
        so that the commit waits; then both pass."""
        source = make_release.copy_of_the_source(self.folder / "source")
        config = BY_SOURCE.format(source=source, rev=run(
            "git", "-C", source, "rev-parse", "HEAD").strip())
        told = self.pre_commit(config, 1)
        self.assertIn("files were modified by this hook", told)
        self.assertIn("fixed: 'world_sise' -> 'world_size' [JR0203]", told)
        self.assertEqual(self.spec.read_text(), GOOD)
        told = self.pre_commit(config, 0)
        self.assertEqual(re.findall(r"\.+(\w+)$", told, re.M), ["Passed"] * 2)
        [python] = (self.folder / "home").glob("repo*/py_env-*/bin/python")
        self.look_at_checkout(python.parents[2], python)

    def look_at_checkout(self, checkout, python):
        """pip left it as it is, and what it installed has all that a run wants. The
        environment is there, too, with a pointer to it."""
        self.assertEqual(run("git", "-C", checkout, "status", "--porcelain",
                             "--", ":!py_env-*", ":!.venv"), "")
        self.assertIn("2 of 2 ranks", run(
            python.with_name("jobrun"), "-n", "2", "--", python, "-c",
            "import jobrun; print(jobrun.rank())", cwd=self.repository))
        told = run(python, "-c", "import jobrun; print(jobrun.__file__)",
                   cwd=self.repository)
        self.assertIn("/site-packages/jobrun/", told)

    def test_with_the_wheel_of_a_release(self):
        """As docs/ci/README.md shows it."""
        if not RELEASE.is_dir():
            self.skipTest("no release could be made")
        page = (SOURCE / "docs/ci/README.md").read_text()
        shown = re.search(r"```yaml file=\.pre-commit-config\.yaml\n(.*?)```", page,
                          re.S).group(1)
        [wheel] = RELEASE.glob("*.whl")
        config, count = re.subn(r"/path/to/\S+\.whl", str(wheel), shown)
        self.assertEqual(count, 1)
        told = self.pre_commit(config, 1)
        self.assertIn("train.jobrun.yaml:3:1: error[JR0203]", told)
        self.assertEqual(self.spec.read_text(), WRONG)
        self.spec.write_text(GOOD)
        self.assertIn("Passed", self.pre_commit(config, 0))


class Action(unittest.TestCase):
    """The workflow that people copy, with the action beside it."""

    @classmethod
    def setUpClass(cls):
        if not shutil.which("go"):
            raise unittest.SkipTest("no go, which builds actionlint")
        cls.program = COUNTERPARTS / "actionlint"
        if cls.program.exists():
            return
        try:
            run("go", "install", ACTIONLINT,
                env={**os.environ, "GOBIN": str(COUNTERPARTS)})
        except AssertionError as error:
            raise unittest.SkipTest(f"cannot build {ACTIONLINT}") from error

    def lint(self, code, *change):
        """What actionlint says of the workflow, changed so."""
        folder = pathlib.Path(tempfile.mkdtemp(prefix="jobrun-action-"))
        self.addCleanup(shutil.rmtree, folder)
        workflows = folder / ".github/workflows"
        workflows.mkdir(parents=True)
        shutil.copy(SOURCE / "action.yml", folder)
        text = (SOURCE / "docs/ci/github-actions.yml").read_text()
        text, count = re.subn(r"uses: OWNER/jobrun@\S+", "uses: ./", text)
        self.assertEqual(count, 1)
        if change:
            self.assertIn(change[0], text)
            text = text.replace(*change)
        (workflows / "specs.yml").write_text(text)
        run("git", "init", "-q", folder)
        return run(self.program, "-no-color", code=code, cwd=folder)

    def test_actionlint_finds_nothing(self):
        self.assertEqual(self.lint(0), "")

    def test_actionlint_looks(self):
        self.assertIn('input "path" is not defined in action "jobrun validate"',
                      self.lint(1, "paths: specs", "path: specs"))
        self.assertIn("unexpected key", self.lint(1, "runs-on:", "run-on:"))

    def test_shellcheck_finds_nothing(self):
        if not shutil.which("shellcheck"):
            self.skipTest("no shellcheck")
        try:
            import yaml
        except ImportError:
            self.skipTest("no python3-yaml")
        steps = yaml.safe_load((SOURCE / "action.yml").read_text())["runs"]["steps"]
        texts = [step["run"] for step in steps if "run" in step]
        self.assertEqual(len(texts), 3)
        for text in texts:
            done = subprocess.run(["shellcheck", "-s", "bash", "-e", "SC1091", "-"],
                                  input=text, text=True, capture_output=True,
                                  timeout=LIMIT, check=False)
            self.assertEqual((done.returncode, done.stdout), (0, ""))


if __name__ == "__main__":
    unittest.main()
