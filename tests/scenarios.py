"""Holds docs/scenarios.md to the tests that it names: each is there."""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "scenarios.md").read_text()
ITEM = re.compile(r"^(\d+)\. (.*(?:\n +.*)*)", re.M)
COUNT = 80
# What marks a test of that name in a file of that kind.
MARKS = {".c": r"\b(?:CASE|TEST)\({0}\)", ".py": r"^ +def {0}\("}


def items():
    return [(int(number), " ".join(text.split()))
            for number, text in ITEM.findall(PAGE)]


class Scenarios(unittest.TestCase):
    def test_they_are_numbered(self):
        self.assertEqual([number for number, _ in items()],
                         list(range(1, COUNT + 1)))

    def test_each_is_shown_or_says_why_not(self):
        for number, text in items():
            with self.subTest(number):
                self.assertRegex(text, r" - (`tests/|[A-Z])")
                if "`tests/" not in text:
                    self.assertRegex(text, r" - (Cannot arise|Not yet): ")

    def test_what_is_named_is_there(self):
        for number, text in items():
            for name in re.findall(r"`(tests/[^`]+)`", text):
                with self.subTest(number, test=name):
                    path, _, case = name.partition(": ")
                    file = ROOT / path
                    self.assertTrue(file.exists())
                    if case:
                        self.assertRegex(
                            file.read_text(),
                            re.compile(MARKS[file.suffix].format(case), re.M))


if __name__ == "__main__":
    unittest.main()
