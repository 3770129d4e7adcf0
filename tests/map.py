"""Holds the map to the tree: docs/architecture.md, CONTRIBUTING.md and the
README of each folder name every folder and every edge of the layers, and no
folder, edge, file or type that is not there; and the commands of the tests to
the files that they run, the long ones' too.

In these pages a word in `backticks` with a slash is a path, from the top, from
src or from the page's own folder; one that ends as a source file does is a file
beside the page; one that begins as the tree's own names do is such a name.
What a run writes begins with a word in capitals: RUN/results.json.
"""
import json
import os
import pathlib
import re
import subprocess
import unittest

import layers

ROOT = layers.ROOT
SRC = layers.SRC
TESTS = ROOT / "tests"
MAP = ROOT / "docs" / "architecture.md"
PAGES = [MAP, ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"]

CODE = re.compile(r"^```.*?^```", re.M | re.S)
WORD = re.compile(r"`([^`]+)`")
LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")
PATH = re.compile(r"[a-z.][\w.-]*(/[\w.-]+)*/?")
FILE = re.compile(r"[\w.-]+\.(c|h|py|css|cjs|cmake|sh)")
NAME = re.compile(r"(?:struct |enum )?((?:jr|JR)_\w+)(?:\(\))?")
EDGES = re.compile(r"^\| `(\w+)` \| [^|]+ \| ([^|]*) \|$", re.M)
SEES = re.compile(r"^Sees: (.*?)\.$", re.M | re.S)
BEGIN = re.compile(r"^Begin with `([^`]+)`", re.M)


def name(path):
    return str(path.relative_to(ROOT))


def words(text):
    """What stands in backticks, but for blocks of code."""
    return [" ".join(word.split())
            for word in WORD.findall(CODE.sub("", text))]


def section(heading):
    """The text of the architecture page under a heading."""
    text = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", MAP.read_text(),
                     re.M | re.S)
    return text.group(1) if text else ""


def rows(text):
    """The rows of a table, without its head."""
    return [line for line in text.splitlines() if line.startswith("| ")][1:]


def folders():
    """The folders that have a README: all of src that hold files, and those
    of tests, whose own folders hold data or mirror src."""
    found = {path.parent for path in SRC.rglob("*") if path.is_file()
             and "__pycache__" not in path.parts}
    beside = {path for path in TESTS.iterdir()
              if path.is_dir() and path.name != "__pycache__"}
    return sorted(found | beside | {TESTS})


def above(text):
    """{layer: those below it} of a picture: in `a -> { b -> c, d } -> e` all are
    below a, and e is below all. A layer that begins a line goes on from where it
    stood before."""
    below = {}

    def chain(tokens):
        """All layers up to a comma or the end of a group."""
        found, group = [], []
        while tokens and tokens[0] not in ",}":
            token = tokens.pop(0)
            if token == "->":
                continue
            group = groups(tokens) if token == "{" else [token]
            for layer in group:
                below.setdefault(layer, set())
            for layer in found:
                below[layer] |= set(group)
            found += group
        return found

    def groups(tokens):
        found = chain(tokens)
        while tokens.pop(0) == ",":
            found += chain(tokens)
        return found

    for line in text.splitlines():
        chain(re.findall(r"->|[{},]|\w+", line))
    for _ in below:  # what is below that which is below
        for those in below.values():
            those.update(*[below[layer] for layer in tuple(those)])
    return below


def readmes():
    return [folder / "README.md" for folder in folders()]


def is_there(page, path):
    bases = (page.parent, ROOT, SRC, SRC / "include")
    return any((base / path).exists() for base in bases)


class Map(unittest.TestCase):
    maxDiff = None

    def none(self, wrong):
        self.assertEqual(wrong, [], "\n" + "\n".join(wrong))

    def pages(self):
        return PAGES + [page for page in readmes() if page.exists()]

    def test_every_folder_has_a_readme(self):
        self.assertGreater(len(folders()), 30, "where is the tree?")
        self.none([f"{name(page)} is missing"
                   for page in readmes() if not page.exists()])

    def test_a_readme_has_five_to_fifteen_lines(self):
        lengths = {page: len(page.read_text().splitlines())
                   for page in readmes() if page.exists()}
        self.none([f"{name(page)} has {length} lines"
                   for page, length in lengths.items()
                   if not 5 <= length <= 15])

    def test_a_readme_says_where_to_begin(self):
        for page in readmes():
            if not page.exists() or not page.is_relative_to(SRC):
                continue
            with self.subTest(name(page)):
                first = BEGIN.search(page.read_text())
                self.assertIsNotNone(first, "no line `Begin with ...`")
                self.assertTrue(is_there(page, first.group(1)), first.group(1))

    def test_a_readme_names_what_its_folder_sees(self):
        for folder, sees in layers.SEES.items():
            page = SRC / folder / "README.md"
            with self.subTest(name(page)):
                said = SEES.search(page.read_text())
                self.assertIsNotNone(said, "no line `Sees: ...`")
                self.assertEqual(sorted(WORD.findall(said.group(1))),
                                 sorted(sees.split()))

    def test_the_page_has_every_layer_and_every_edge(self):
        said = {folder: sorted(WORD.findall(sees)) for folder, sees
                in EDGES.findall(section("The layers"))}
        self.assertEqual(said, {folder: sorted(sees.split())
                                for folder, sees in layers.SEES.items()})

    def test_the_picture_of_the_readme_is_the_order_of_the_layers(self):
        picture = re.search(r"^```text\n((?:.*->.*\n)+)```$",
                            (ROOT / "README.md").read_text(), re.M).group(1)
        below = above(picture)
        self.assertEqual(sorted(below), sorted(layers.SEES))
        self.none([f"{layer} is below itself" for layer in below
                   if layer in below[layer]])
        self.none([f"{layer} sees {seen}, which is not below it"
                   for layer, sees in layers.SEES.items()
                   for seen in sees.split() if seen not in below[layer]])

    def test_a_picture_is_read(self):
        self.assertEqual(above("a -> { b -> c, d } -> e\ne -> f"), {
            "a": {*"bcdef"}, "b": {*"cef"}, "c": {*"ef"}, "d": {*"ef"},
            "e": {"f"}, "f": set()})

    def test_the_page_names_every_folder(self):
        said = {word.rstrip("/") for word in words(MAP.read_text())}
        self.none([f"{name(folder)} is not on the page" for folder in folders()
                   if folder not in (SRC, TESTS)
                   and not {name(folder), str(folder.relative_to(
                       SRC if folder.is_relative_to(SRC) else ROOT))} & said])

    def test_the_page_answers_ten_questions(self):
        answers = rows(section("Where to look"))
        self.assertGreaterEqual(len(answers), 10)
        self.none([row for row in answers if not any(
            is_there(MAP, word) for word in WORD.findall(row.split("|")[2]))])

    def test_the_glossary_has_sixty_words(self):
        terms = [row.split("|")[1].strip() for row in rows(section("Glossary"))]
        self.assertGreaterEqual(len(terms), 60)
        self.assertEqual(len(terms), len(set(terms)))
        self.assertEqual(terms, sorted(terms, key=str.lower))

    def test_what_is_named_is_there(self):
        wrong = []
        for page in self.pages():
            for word in words(page.read_text()):
                path = "/" in word and PATH.fullmatch(word)
                file = FILE.fullmatch(word)
                if (path or file) and not is_there(page, word):
                    wrong.append(f"{name(page)} names {word}")
        self.none(wrong)

    def test_links_lead_somewhere(self):
        self.none([f"{name(page)} links to {link}" for page in self.pages()
                   for link in LINK.findall(page.read_text())
                   if "://" not in link
                   and not (page.parent / link).exists()])

    def test_names_of_the_source_are_in_the_source(self):
        known = set(re.findall(r"\b(?:jr|JR)_\w+", "".join(
            path.read_text() for path in layers.sources(".c", ".h"))))
        known |= set(re.findall(r"\b(?:jr|JR)_\w+", "".join(
            path.read_text() for path in [
                *ROOT.glob("cmake/*"), *ROOT.glob("CMakeLists.txt"),
                *TESTS.rglob("*.[ch]"), *TESTS.rglob("CMakeLists.txt")])))
        self.none([f"{name(page)} names {word}" for page in self.pages()
                   for word in words(page.read_text())
                   for found in [NAME.fullmatch(word)]
                   if found and found.group(1) not in known])


class Commands(unittest.TestCase):
    @unittest.skipUnless("CTEST" in os.environ, "only ctest knows its tests")
    def test_what_the_tests_run_is_there(self):
        """A file that was renamed fails a long test where nobody looks."""
        shown = subprocess.run([os.environ["CTEST"], "--show-only=json-v1"],
                               cwd=os.environ["BUILD"], check=True,
                               stdout=subprocess.PIPE)
        tests = json.loads(shown.stdout)["tests"]
        self.assertGreater(len(tests), 100)
        missing = [f"{test['name']} runs {word}" for test in tests
                   for word in test.get("command", [])
                   if word.startswith(str(ROOT)) and not
                   pathlib.Path(word).exists()
                   and not word.startswith(os.environ["BUILD"])]
        self.assertEqual(missing, [])


if __name__ == "__main__":
    unittest.main()
