"""tools/release: what it refuses, before it builds anything."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ["SOURCE"])
# Whose packages they are.
NAMED = {**os.environ, "DEBFULLNAME": "x", "DEBEMAIL": "x@example.org"}
CHANGES = "# Changelog\n\n## [Unreleased]\n\n- More.\n\n## [1.2.3] - 2026-01-01\n"


class Refuses(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="jobrun-release-"))
        self.addCleanup(shutil.rmtree, self.folder)
        shutil.copytree(SOURCE / "tools", self.folder / "tools")
        self.write("CMakeLists.txt", "project(jobrun VERSION 1.2.3 LANGUAGES C)\n")
        self.write("CHANGELOG.md", CHANGES)

    def write(self, name, text):
        (self.folder / name).write_text(text)

    def test_packages_without_a_maintainer(self):
        env = {key: value for key, value in os.environ.items()
               if not key.startswith(("DEB", "GIT_", "XDG_"))}
        self.assertIn("set DEBFULLNAME and DEBEMAIL", self.refuse(
            "1.2.4", env={**env, "HOME": str(self.folder), "GIT_CONFIG_NOSYSTEM": "1"}))

    def refuse(self, *words, code=1, version="1.2.3", changes=CHANGES, env=None):
        """What it says; nothing has changed."""
        done = subprocess.run(
            [self.folder / "tools" / "release", *words], text=True,
            capture_output=True, timeout=60, env=env or NAMED, stdin=subprocess.DEVNULL,
            check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertIn(f"VERSION {version} ",
                      (self.folder / "CMakeLists.txt").read_text())
        self.assertEqual((self.folder / "CHANGELOG.md").read_text(), changes)
        return done.stderr

    def test_words_that_it_does_not_know(self):
        for words in (["-x"], ["1.2.4", "1.2.5"], ["-o"]):
            with self.subTest(words=words):
                self.assertIn("usage: tools/release [-o DIR] [VERSION]",
                              self.refuse(*words, code=2))

    def test_what_is_no_version(self):
        for version in ("1.2", "v1.2.4", "1.2.4rc1", "", "1.2.4\n1.2.5"):
            with self.subTest(version=version):
                self.assertIn("is not a version: write it as 1.2.3",
                              self.refuse(version))

    def test_a_version_that_is_out_already(self):
        self.assertIn("CHANGELOG.md has a section 1.2.3 already",
                      self.refuse("1.2.3"))

    def test_a_changelog_that_has_nothing_new(self):
        changes = "# Changelog\n\n## [1.2.3] - 2026-01-01\n"
        self.write("CHANGELOG.md", changes)
        self.assertIn("CHANGELOG.md has no section [Unreleased]",
                      self.refuse("1.2.4", changes=changes))

    def test_a_version_that_the_changelog_does_not_have(self):
        self.write("CMakeLists.txt", "project(jobrun VERSION 1.2.4 LANGUAGES C)\n")
        self.assertIn("CHANGELOG.md has no section for 1.2.4",
                      self.refuse(version="1.2.4"))

    def test_a_folder_that_is_not_empty(self):
        self.write("dist", "")
        (self.folder / "out").mkdir()
        self.write("out/old.whl", "")
        self.assertIn("out is not empty", self.refuse("-o", self.folder / "out"))
        self.assertEqual(os.listdir(self.folder / "out"), ["old.whl"])


if __name__ == "__main__":
    unittest.main()
