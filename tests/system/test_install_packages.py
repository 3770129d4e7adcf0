"""tools/packages.sh: what is installed where a package cannot be had."""
import os
import pathlib
import subprocess
import unittest

import harness

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"
# A machine on which a file tells what is installed, and `broken` cannot be.
PROGRAMS = {
    "id": "echo 0",
    "dpkg-query": 'for name; do :; done; grep -qx "$name" "$HERE/installed" '
                  '&& echo "install ok installed"',
    "apt-get": """\
echo "$*" >>"$HERE/calls"
[ "$1" = install ] || exit 100  # a source that does not answer
for word; do
    case $word in broken) echo "E: no $word" >&2; exit 100;; esac
done
for word; do
    case $word in install | -*) ;; *) echo "$word" >>"$HERE/installed";; esac
done
"""}


class Need(harness.Case):
    def setUp(self):
        super().setUp()
        self.write("installed", "here\n")
        for name, text in PROGRAMS.items():
            self.write(f"bin/{name}", f"#!/bin/sh\n{text}\n").chmod(0o755)

    def need(self, *packages):
        done = subprocess.run(
            ["sh", "-c", '. "$0"/packages.sh; need "$@"', TOOLS, *packages],
            text=True, capture_output=True, timeout=harness.LIMIT, env={
                "PATH": f"{self.folder}/bin:{os.environ['PATH']}",
                "HERE": str(self.folder)}, check=False)
        return done, (self.folder / "installed").read_text().split()

    def test_what_is_there_is_not_asked_for(self):
        done, _ = self.need("here")
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertFalse((self.folder / "calls").exists())

    def test_all_at_once(self):
        done, installed = self.need("a", "here", "b")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(installed, ["here", "a", "b"])

    def test_one_that_cannot_be_had_leaves_the_others(self):
        done, installed = self.need("a", "broken", "b")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(installed, ["here", "a", "b"])
        self.assertIn("COULD NOT INSTALL: broken\n", done.stderr)
        self.assertIn("E: no broken", done.stderr)


if __name__ == "__main__":
    unittest.main()
