"""The Debian packages: what lintian says of them, and what they are on a bare
system of the release that they were built on."""
import os
import pathlib
import re
import shutil
import subprocess
import unittest

import bare_root
import make_release

SOURCE = pathlib.Path(os.environ["SOURCE"])
RELEASE = pathlib.Path(os.environ["RELEASE"])
VERSION = make_release.VERSION
PROJECT = """\
cmake_minimum_required(VERSION 3.22)
project(example C)
find_package(jobrun 9.8 REQUIRED)
add_executable(shared example.c)
target_link_libraries(shared jobrun::jobrun)
add_executable(archive example.c)
target_link_libraries(archive jobrun::jobrun_static)
"""
SPEC = """\
version: 1
name: two
world_size: 2
device: cpu
oversubscribe: true
"""
PYTHON = "entrypoint: {python: {function: 'job:main'}}\n"
SHELL = "entrypoint: {shell: 'echo 40 >$JOBRUN_RESULT_FILE'}\n"


def setUpModule():
    if not RELEASE.is_dir():
        raise unittest.SkipTest("no release could be made")


class Lintian(unittest.TestCase):
    def test_it_finds_no_error(self):
        if not shutil.which("lintian"):
            self.skipTest("there is no lintian")
        root = ["--allow-root"] if os.geteuid() == 0 else []
        done = subprocess.run(["lintian", *root, "--fail-on=error",
                               *RELEASE.glob("*.deb")], text=True, timeout=300,
                              capture_output=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)


    def test_the_maintainer_is_who_made_the_release(self):
        for path in RELEASE.glob("*.deb"):
            told = subprocess.run(["dpkg-deb", "-f", path, "Maintainer"], text=True,
                                  capture_output=True, check=True).stdout
            self.assertEqual(told, "Ann Other <ann@example.org>\n")


class Installed(unittest.TestCase):
    """In order: the program, the library, what is built over it, the removal."""

    @classmethod
    def setUpClass(cls):
        why = bare_root.why_not()
        if why:
            raise unittest.SkipTest(why)
        cls.root = bare_root.Root(bare_root.own_suite())
        cls.addClassCleanup(cls.root.remove)
        cls.root.put("/d", *RELEASE.glob("*.deb"))

    def test_1_the_program_comes_and_goes(self):
        before = self.root.files()
        self.root.install(f"/d/jobrun_{VERSION}_*.deb")
        told = self.root.run("cd /tmp; jobrun -n 2 -- echo hi; jobrun --version; "
                             "test -r /usr/share/man/man1/jobrun.1.gz")
        self.assertIn("[1] hi", told)
        self.assertIn(f"jobrun {VERSION}", told)
        self.root.run("apt-get autoremove --purge -qy jobrun")
        self.assertEqual({name for name in self.root.files() ^ before
                          if "jobrun" in name or "/lib" in name}, set())

    def test_2_the_library_is_found_by_the_loader(self):
        self.root.install(f"/d/libjobrun9_{VERSION}_*.deb")
        self.assertRegex(self.root.run("ldconfig -p"),
                         r"libjobrun\.so\.9 .*=> /lib/[\w-]+/libjobrun\.so\.9")

    def test_3_programs_are_built_over_it(self):
        self.root.install("/d/*.deb", "gcc", "libc6-dev", "make", "cmake",
                          "pkg-config", "python3")
        page = (SOURCE / "docs" / "library.md").read_text()
        code = re.search(r"```c\n(.*?)```", page, re.S).group(1)
        self.root.run("mkdir -p /w")
        for name, text in (("example.c", code), ("CMakeLists.txt", PROJECT),
                           ("python.yaml", SPEC + PYTHON),
                           ("shell.yaml", SPEC + SHELL),
                           ("job.py", "def main():\n    return 40\n")):
            self.root.write(f"/w/{name}", text)
        self.assertEqual(self.root.run("pkg-config --modversion jobrun"),
                         VERSION + "\n")
        told = self.root.run(
            "cd /w; cc example.c $(pkg-config --cflags --libs jobrun) -o one; "
            "cmake -S . -B b && cmake --build b; ldd b/shared | grep libjobrun;"
            "! ldd b/archive | grep libjobrun")
        self.assertIn("libjobrun.so.9 => /lib/", told)
        # What has the archive in it finds no Python files: it may lie anywhere.
        for call in ("one python.yaml", "b/shared python.yaml",
                     "b/archive shell.yaml"):
            with self.subTest(call=call):
                self.assertIn("rank 1 succeeded: 40",
                              self.root.run(f"cd /w; ./{call}"))

    def test_4_all_of_it_goes(self):
        self.root.run("apt-get purge -qy jobrun libjobrun9 libjobrun-dev")
        self.assertEqual(self.root.run("ldconfig -p | grep jobrun || :"), "")
        self.assertEqual({name for name in self.root.files()
                          if "jobrun" in name and not name.startswith(("d/", "w/"))},
                         set())


if __name__ == "__main__":
    unittest.main()
