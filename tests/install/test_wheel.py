"""The artifacts of a release by what they are: names, versions, checksums, sizes,
tags and symbols; and the wheel in a new environment of this machine."""
import hashlib
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

RELEASE = pathlib.Path(os.environ["RELEASE"])
VERSION = make_release.VERSION
MACHINE = os.uname().machine
MIB = 1 << 20
LIMIT = 300
STRICT = """\
from typing import Any

import jobrun


def train(lr: float) -> dict[str, Any]:
    jobrun.result({"loss": lr})
    peers: list[int] = jobrun.members("data")
    return {"rank": jobrun.rank(), "size": jobrun.size("model"), "peers": peers}


def main() -> list[Any]:
    job = jobrun.launch(train, args=(0.1,), nprocs=2, join=False)
    pid: int = job.pid
    try:
        print(pid, job.join(timeout=60))
        return jobrun.launch("work:train", args={0: (1,), 1: (2,)}, nprocs=2)
    except jobrun.JobError as error:
        first: jobrun.Failure = error.failures[0]
        print(error.kind, first.rank, first.message)
        raise


main()
"""
WRONG = """\
import jobrun

jobrun.size("models")
print(jobrun.rank() + "1")
jobrun.launch("a:b", exchange="yaml")
"""


def setUpModule():
    if not RELEASE.is_dir():
        raise unittest.SkipTest("no release could be made")


def run(*words, code=0, **options):
    options = {"timeout": LIMIT, "stdin": subprocess.DEVNULL, "text": True,
               "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, **options}
    done = subprocess.run([str(word) for word in words], check=False, **options)
    if done.returncode != code:
        raise AssertionError(f"{words}: {done.returncode}\n{done.stdout}")
    return done.stdout


def only(pattern):
    found = list(RELEASE.glob(pattern))
    assert len(found) == 1, (pattern, found)
    return found[0]


class Artifacts(unittest.TestCase):
    def test_everything_is_there_and_nothing_else(self):
        found = sorted(re.sub(r"manylinux\w+(\.manylinux\w+)*", "TAG", path.name)
                       for path in RELEASE.iterdir())
        arch = run("dpkg", "--print-architecture").strip()
        self.assertEqual(found, sorted([
            "SHA256SUMS", f"jobrun-{VERSION}-linux-{MACHINE}",
            f"jobrun-{VERSION}-py3-none-TAG.whl", f"jobrun-{VERSION}.tar.gz",
            f"jobrun_{VERSION}_{arch}.deb", f"libjobrun9_{VERSION}_{arch}.deb",
            f"libjobrun-dev_{VERSION}_{arch}.deb"]))

    def test_checksums_are_those_of_all_files(self):
        sums = dict(reversed(line.split("  ")) for line in
                    (RELEASE / "SHA256SUMS").read_text().splitlines())
        self.assertEqual(sums, {
            path.name: hashlib.sha256(path.read_bytes()).hexdigest()
            for path in RELEASE.iterdir() if path.name != "SHA256SUMS"})

    def test_the_version_became_that_of_the_source(self):
        text = (RELEASE.parent / "released-CMakeLists.txt").read_text()
        self.assertIn(f"project(jobrun VERSION {VERSION} ", text)
        changes = (RELEASE.parent / "released-CHANGELOG.md").read_text()
        self.assertRegex(changes, r"(?m)^## \[Unreleased\]\n\n## \[%s\] - "
                         r"\d{4}-\d\d-\d\d\n" % re.escape(VERSION))

    def test_sizes(self):
        self.assertLess(only("*.whl").stat().st_size, 3 * MIB)
        self.assertLess(only("*-linux-*").stat().st_size, 4 * MIB)

    def test_the_source_has_what_git_has(self):
        names = run("tar", "-tf", only("*.tar.gz")).splitlines()
        top = f"jobrun-{VERSION}/"
        for name in ("CMakeLists.txt", "README.md", "LICENSE", "src/cli/main.c",
                     "tests/CMakeLists.txt", "tools/release"):
            self.assertIn(top + name, names)
        self.assertNotIn(top + "stray.txt", names)

    def test_only_libc_is_asked_of_the_system(self):
        for path in self.programs():
            needed = re.findall(r"NEEDED.*\[(\S+)\]", run("readelf", "-d", path))
            self.assertLessEqual(set(needed), {"libc.so.6", "libdl.so.2",
                                               "libm.so.6"}, path)
            self.assertIn("libc.so.6", needed)

    def test_symbols_are_those_of_glibc_2_28(self):
        for path in self.programs():
            found = re.findall(r"GLIBC_(\d+)\.(\d+)", run("objdump", "-T", path))
            self.assertGreater(len(found), 20)
            self.assertLessEqual(max((int(a), int(b)) for a, b in found),
                                 (2, 28), path)

    def programs(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="jobrun-wheel-"))
        self.addCleanup(shutil.rmtree, folder)
        run(sys.executable, "-m", "zipfile", "-e", only("*.whl"), folder)
        data = folder / f"jobrun-{VERSION}.data"
        return [data / "scripts/jobrun", only("*-linux-*"),
                data / "data/libexec/jobrun/jobrun-step"]


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="jobrun-venv-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        venv.create(cls.folder / "new", with_pip=True)
        cls.tools = cls.copy(cls.folder / "tools") / "bin"
        run(cls.tools / "python", "-m", "pip", "install", "-q", "mypy", "auditwheel")

    @classmethod
    def copy(cls, top):
        """A new environment: to make pip for each takes longer than its test."""
        return pathlib.Path(shutil.copytree(cls.folder / "new", top, symlinks=True))

    def environment(self, *words):
        """A new environment with the wheel, and what was there before."""
        top = self.copy(pathlib.Path(tempfile.mkdtemp(dir=self.folder)) / "venv")
        before = set(top.rglob("*"))
        self.pip(top, "install", "-q", "--no-index", *words, only("*.whl"))
        return top, before

    @staticmethod
    def pip(top, *words):
        return run(top / "bin/python", "-m", "pip", *words)

    def test_auditwheel_agrees_with_the_tag(self):
        told = run(self.tools / "python", "-m", "auditwheel", "show", only("*.whl"),
                   env={"PATH": os.environ["PATH"], "COLUMNS": "500"})
        tag = re.search(r'platform\s+tag:\s+"(manylinux_2_(\d+)_\w+)"', told)
        self.assertIsNotNone(tag, told)
        self.assertLessEqual(int(tag.group(2)), 28)
        self.assertIn("manylinux_2_28_" + MACHINE, only("*.whl").name)
        self.assertIn(tag.group(1), only("*.whl").name)

    def test_the_tag_asks_for_no_version_of_python(self):
        text = run("unzip", "-p", only("*.whl"), "*/WHEEL")
        self.assertEqual({tag.split("-manylinux")[0]
                          for tag in re.findall(r"(?m)^Tag: (\S+)$", text)},
                         {"py3-none"})
        self.assertIn("Root-Is-Purelib: false", text)

    def test_what_it_says_of_itself(self):
        top, _ = self.environment()
        told = self.pip(top, "show", "--verbose", "jobrun")
        for line in (f"Version: {VERSION}", "Summary: A declarative job-spec runner",
                     "Requires: \n"):
            self.assertIn(line, told)
        self.assertEqual(run(top / "bin/jobrun", "--version").strip(),
                         f"jobrun {VERSION}")

    def test_types_hold_a_strict_program(self):
        top, _ = self.environment()
        (self.folder / "strict.py").write_text(STRICT)
        (self.folder / "wrong.py").write_text(WRONG)
        mypy = [self.tools / "python", "-m", "mypy", "--strict", "--python-executable",
                top / "bin/python", "--cache-dir", self.folder / "cache"]
        self.assertIn("no issues found", run(*mypy, self.folder / "strict.py"))
        told = run(*mypy, self.folder / "wrong.py", code=1)
        self.assertEqual(re.findall(r"wrong\.py:(\d): error: .*\[([\w-]+)\]",
                                    told),
                         [("3", "arg-type"), ("4", "operator"),
                          ("5", "call-overload")], told)

    def test_removing_it_leaves_nothing(self):
        top, before = self.environment("--compile")
        spec = top.parent / "job.yaml"
        spec.write_text("version: 1\nworld_size: 1\ndevice: cpu\n"
                        "entrypoint: {python: {function: 'os:getpid'}}\n")
        run(top / "bin/jobrun", spec, cwd=top.parent)
        self.pip(top, "uninstall", "-qy", "jobrun")
        left = {str(path.relative_to(top)) for path in
                set(top.rglob("*")) - before if not path.is_dir()}
        self.assertEqual({name for name in left if "jobrun" in name}, set())

    def test_a_link_and_a_folder_that_has_moved(self):
        top, _ = self.environment()
        moved = top.rename(top.parent / "moved to")
        (top.parent / "link").symlink_to(moved / "bin" / "jobrun")
        spec = top.parent / "job.yaml"
        spec.write_text("version: 1\nworld_size: 1\ndevice: cpu\n"
                        "entrypoint: {python: {function: 'os:getcwd'}}\n")
        told = run(top.parent / "link", spec, cwd=top.parent)
        self.assertIn("succeeded", told)

    def test_a_folder_of_packages(self):
        top, _ = self.environment("--target", self.folder / "target")
        folder = self.folder / "target"
        (self.folder / "work.py").write_text(
            "import jobrun\ndef main():\n    return jobrun.rank() + 40\n")
        code = ("import jobrun, work; print(jobrun.__file__); "
                "print(jobrun.launch(work.main, nprocs=2, device='cpu', "
                "oversubscribe=True))")
        told = run(top / "bin/python", "-c", code, cwd=self.folder,
                   stderr=subprocess.DEVNULL,
                   env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(folder)})
        self.assertEqual(told, f"{folder}/jobrun/__init__.py\n[40, 41]\n")


if __name__ == "__main__":
    unittest.main()
