"""The other tests of this folder with the oldest and with the newest Python from
3.8 on that is here, in PATH or below $PYENV_ROOT, besides this one."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).parent
TESTS = ("worker", "helper", "launch", "exchange")
OLDEST = (3, 8)
NEWEST = 30
LIMIT = 600  # seconds for a file of tests


def pythons():
    """Each minor version but this one: {version: path}"""
    root = pathlib.Path(os.environ.get("PYENV_ROOT", "/nowhere"))
    found = list(map(str, root.glob("versions/3.*/bin/python3")))
    found += filter(None, (shutil.which("python3.%d" % minor)
                           for minor in range(OLDEST[1], NEWEST)))
    known = {}
    for path in found:
        told = subprocess.run(
            [path, "-c", "import sys; print(*sys.version_info[:2])"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True).stdout
        version = tuple(map(int, re.findall(r"\d+", told)))
        if version >= OLDEST and version != sys.version_info[:2]:
            known.setdefault(version, path)
    return known


class Versions(unittest.TestCase):
    def test_versions(self):
        known = pythons()
        if not known:
            self.skipTest("no other Python from 3.8 on is here")
        for version, path in {min(known.items()), max(known.items())}:
            for test in TESTS:
                with self.subTest(version=version, test=test):
                    done = subprocess.run(
                        [sys.executable, HERE / ("test_%s.py" % test)],
                        env=dict(os.environ, INTERPRETER=path), timeout=LIMIT,
                        stdin=subprocess.DEVNULL, capture_output=True,
                        text=True)
                    self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
