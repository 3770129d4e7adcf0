"""`validate --fix` over many wrong specs at once.

    MUTANTS=N test_fixes.py      N mutants of the good specs (default: 300)

Whatever is wrong, a fix never makes it worse: YAML stays YAML without a key that
is there twice, what was JSON is JSON, a valid spec keeps its bytes, and a second
time finds nothing to do. (There may be more findings: what one hid.)
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

try:
    import yaml  # noqa: F401: instance and mutants need it
except ImportError as error:
    print(f"SKIPPED: {error}: install python3-yaml")
    sys.exit(77)

import instance
import mutants

ROOT = pathlib.Path(__file__).resolve().parents[2]
JOBRUN = os.environ["JOBRUN"]
COUNT = int(os.environ.get("MUTANTS", 300))
SEED = 2
BATCH = 100  # files a call: jobrun keeps 1,000 findings
LIMIT = 300  # seconds that any command may take


def is_json(text):
    try:
        json.loads(text)
        return True
    except ValueError:
        return False


class Fixes(unittest.TestCase):
    def validate(self, folder, *words):
        done = subprocess.run(
            [JOBRUN, "validate", "--format", "json", *words, folder],
            capture_output=True, text=True, timeout=LIMIT)
        report = json.loads(done.stdout)
        self.assertLessEqual(report["error_count"], 1000)
        codes = {}
        for found in report["diagnostics"]:
            codes.setdefault(found["file"], []).append(found["code"])
        return codes, done.stderr

    @staticmethod
    def unreadable(codes, path):
        """The findings of the YAML alone."""
        return [code for code in codes.get(str(path), [])
                if "JR0102" <= code <= "JR0117"]

    def batch(self, folder, texts):
        paths = [pathlib.Path(folder, f"{i:03}.jobrun.yaml")
                 for i in range(len(texts))]
        for path, text in zip(paths, texts):
            path.write_text(text, encoding="utf-8")
        before, _ = self.validate(folder)
        after, told = self.validate(folder, "--fix")
        _, again = self.validate(folder, "--fix")
        self.assertEqual(again, "")
        for path, text in zip(paths, texts):
            new = path.read_text("utf-8")
            with self.subTest(before=text, after=new):
                instance.read(new)
                self.assertEqual(self.unreadable(after, path),
                                 self.unreadable(before, path))
                self.assertTrue(new == text or str(path) in before)
                self.assertTrue(is_json(new) or not is_json(text))
        return told.count(": fixed: ")

    def test_mutants(self):
        good = [instance.read(path.read_text("utf-8-sig")) for path in
                [*sorted(ROOT.glob("tests/golden/ok/*/spec.yaml")),
                 *sorted(ROOT.glob("examples/jobs/*.jobrun.yaml"))]]
        texts = [text for _, text in mutants.make(SEED, good, COUNT)]
        fixed = 0
        for first in range(0, COUNT, BATCH):
            with tempfile.TemporaryDirectory() as folder:
                fixed += self.batch(folder, texts[first:first + BATCH])
        self.assertGreater(fixed, COUNT // 20)
        print(f"{COUNT} mutants: {fixed} fixes")


def flatten(value, path=()):
    """Each value with the path of keys that leads to it."""
    if isinstance(value, dict) and value:
        return {place: item for key, below in value.items()
                for place, item in flatten(below, path + (key,)).items()}
    return {path: value}


def in_spec(text):
    """The values of a config of ml, each where a spec has it. `backend` is
    `backends` while that is one word."""
    places = {}
    for path, item in flatten(instance.read(text)).items():
        path = mutants.ML.get(path[0], path[:1]) and (
            *mutants.ML.get(path[0], path[:1]), *path[1:])
        if path is not None:
            path = path + ("default",) if path == ("backends",) else path
            path = ("parallelism", "model") if path == ("tp",) else path
            path = (("timeouts", "stop_grace") if path == ("grace_period",)
                    else path)
            places.setdefault(path, []).append(item)
    return places


class Ml(unittest.TestCase):
    """Configs of ml: nothing is lost, whatever the order, the style and what
    stands there already."""

    validate = Fixes.validate

    def test_configs(self):
        for first in range(0, COUNT, BATCH):
            with tempfile.TemporaryDirectory() as folder:
                self.batch(folder, list(mutants.ml(SEED + first, BATCH)))

    def batch(self, folder, configs):
        paths = [pathlib.Path(folder, f"{i:03}.jobrun.yaml")
                 for i in range(len(configs))]
        for path, (_, text) in zip(paths, configs):
            path.write_bytes(text.encode())
        before, _ = self.validate(folder)
        after, told = self.validate(folder, "--fix")
        _, again = self.validate(folder, "--fix")
        self.assertEqual(again, "")
        # What has to move is named, and not fixed.
        self.assertGreater(told.count(": fixed: "), len(configs) // 2)
        for path, (_, text) in zip(paths, configs):
            new = path.read_bytes().decode()
            left = after.get(str(path), [])
            with self.subTest(before=text, after=new):
                self.check(text, new)
                self.assertLessEqual(len(left), len(before.get(str(path), [])))

    def check(self, text, new):
        if self.readable(text):
            self.assertTrue(self.readable(new))
            self.assertEqual(in_spec(new), in_spec(text))
        self.assertEqual(sorted(re.findall("#[^\r\n]*", new)),
                         sorted(re.findall("#[^\r\n]*", text)))
        self.assertEqual("\r\n" in new, "\r\n" in text and "\n" in new)

    @staticmethod
    def readable(text):
        try:
            instance.read(text)
            return True
        except instance.Unreadable:
            return False


if __name__ == "__main__":
    unittest.main()
