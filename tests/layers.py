"""Holds the source tree to its architecture: who may include whom, which
library has which owner, and what no source may do.

The build enforces the edges by include paths. This says the rule itself, so
that widening an include path is not enough to break it.
"""
import os
import pathlib
import re
import shutil
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
SRC = ROOT / "src"

# The folders whose headers each folder may include, its own aside.
SEES = {
    "base": "",
    "doc": "base",
    "spec": "doc base",
    "hw": "base",
    "git": "base",
    "resolve": "spec doc hw base",
    "plan": "resolve base",
    "run": "plan base",
    "report": "run plan base",
    "engine": "run plan doc base",
    "lib": "engine report run plan resolve spec doc hw git base",
    "step": "base",
    "cli": "lib engine report run plan resolve spec doc hw git base",
}

# The installed headers, and the folders that may include each.
PUBLIC = {
    "error.h": " ".join(SEES),
    "types.h": " ".join(SEES),
    "contract.h": "spec resolve plan run report engine lib cli",
    "spec.h": "spec resolve lib cli",
    "plan.h": "plan run report engine lib cli",
    "run.h": "run report engine lib cli",
    "jobrun.h": "lib cli",
    "rank.h": "step",
}

# Third parties have one owner each.
OWNERS = {
    "jansson.h": "base/json.h",
    "pcre2.h": "base/regex.c",
    "yaml.h": "doc/",
    "cyaml/cyaml.h": "spec/",
    "hwloc.h": "hw/",
    "nettle/sha2.h": "base/hash.c",
    "nettle/base16.h": "base/hash.c",
    "nettle/base64.h": "base/base64.c",
}

GENERATED = ("version.h", "scripts.h", "sheets.h")

INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', re.M)
NO_CODE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"'
                     r"|'(?:\\.|[^'\\\n])*'", re.S)
SIDE_EFFECT = re.compile(r"\b(printf|puts|putchar|perror|exit|abort|getenv"
                         r"|setenv|putenv|unsetenv)\s*\(")
GLOBAL = re.compile(r"^(?!typedef|extern|struct \w+;|union \w+;|enum|\})"
                    r"(?!.*\bconst\b)[a-z_][\w \t*]*[\w\]](\[[^\]]*\])*"
                    r"[ \t]*(=|;)|^[ \t]+static (?!.*\bconst\b)", re.M)


def sources(*suffixes):
    return sorted(path for path in SRC.rglob("*") if path.suffix in suffixes)


def name(path):
    return str(path.relative_to(SRC))


def folder(path):
    return path.relative_to(SRC).parts[0]


def includes(path):
    """(quoted, header) of every include of a file, in order."""
    return [(mark == '"', header)
            for mark, header in INCLUDE.findall(path.read_text())]


def code(path):
    """The text without comments and literals."""
    return NO_CODE.sub(" ", path.read_text())


class Layers(unittest.TestCase):
    def setUp(self):
        self.assertGreater(len(sources(".c")), 20, "where is the source?")

    def none(self, wrong):
        self.assertEqual(wrong, [], "\n" + "\n".join(wrong))

    def test_every_folder_has_a_place(self):
        found = {folder(path) for path in sources(".c", ".h")}
        self.assertEqual(found - {"include"} - set(SEES), set())

    def test_no_folder_includes_upwards(self):
        wrong = []
        for path in sources(".c", ".h"):
            if folder(path) == "include":
                continue
            for quoted, header in includes(path):
                if not quoted or header in GENERATED or (
                        path.parent / header).exists():
                    continue
                owners = [layer for layer in SEES[folder(path)].split()
                          if (SRC / layer / header).exists()]
                if len(owners) != 1:
                    wrong.append(f"{name(path)} may not include {header}: "
                                 f"it could be of {owners or 'no one'} below")
        self.none(wrong)

    def test_public_headers_stay_in_their_stages(self):
        wrong = []
        for path in sources(".c", ".h"):
            for _, header in includes(path):
                if not header.startswith("jobrun/"):
                    continue
                allowed = PUBLIC.get(header[len("jobrun/"):], "") + " include"
                if folder(path) not in allowed.split():
                    wrong.append(f"{name(path)} may not include {header}")
        self.none(wrong)

    def test_third_parties_have_one_owner(self):
        wrong = [f"{name(path)} includes {header}, which is for {OWNERS[header]}"
                 for path in sources(".c", ".h")
                 for _, header in includes(path)
                 if header in OWNERS
                 and not name(path).startswith(OWNERS[header])]
        self.none(wrong)

    def test_banned_calls_are_banned_everywhere(self):
        self.none([f"{name(path)} must include banned.h, last"
                   for path in sources(".c")
                   if (True, "banned.h") != (includes(path) or [None])[-1]])

    def test_only_the_command_line_has_side_effects(self):
        self.none([f"{name(path)} calls {call}"
                   for path in sources(".c", ".h") if folder(path) not in ("cli", "step")
                   for call in SIDE_EFFECT.findall(code(path))])

    def test_nothing_is_kept_between_calls(self):
        self.none([f"{name(path)} has a variable: {found.group().strip()}"
                   for path in sources(".c")
                   for found in GLOBAL.finditer(code(path))])


class Headers(unittest.TestCase):
    """Every header can be included first."""

    def compile(self, compiler, language, path):
        place = folder(path)
        seen = [] if place == "include" else [place] + SEES[place].split()
        command = compiler + [
            "-fsyntax-only", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror",
            "-x", language, f"-I{SRC / 'include'}",
            *(f"-I{SRC / other}" for other in seen), "-"]
        text = f'#include "{path}"\n#include "{path}"\n'
        done = subprocess.run(command, input=text, text=True, timeout=60,
                              capture_output=True)
        with self.subTest(header=name(path), language=language):
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_each_compiles_alone(self):
        compiler = os.environ.get("CC", "cc").split() + ["-std=gnu17"]
        for path in sources(".h"):
            self.compile(compiler, "c", path)

    def test_the_public_ones_compile_as_cxx(self):
        compiler = shutil.which("c++") or shutil.which("clang++")
        if compiler is None:
            self.skipTest("no C++ compiler")
        for path in sorted((SRC / "include").rglob("*.h")):
            self.compile([compiler], "c++", path)


if __name__ == "__main__":
    unittest.main()
