"""Holds the source tree to its architecture: who may include whom, which
library has which owner, and what no source may do.

The build enforces the edges by include paths. This says the rule itself, so
that widening an include path is not enough to break it.
"""
import collections
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
    "eventloop": "base",
    "diag": "base",
    "vcs": "base",
    "host": "base",
    "doc": "diag base",
    "spec": "doc diag base",
    "resolve": "spec doc host diag base",
    "plan": "resolve diag base",
    "store": "plan base",
    "spawn": "store plan eventloop base",
    "output": "spawn store plan eventloop base",
    "wireup": "base",
    "run": "wireup output spawn store plan eventloop base",
    "judge": "run output store plan base",
    "record": "judge run spawn store base",
    "report": "record judge run output store base",
    "cluster": "wireup spawn output store plan eventloop base",
    "render": "plan doc diag base",
    "sweep": "spec doc diag base",
    "session": "sweep report cluster render record judge run wireup output spawn store "
               "plan resolve spec doc host vcs eventloop diag base",
    "worker": "base",
    "cli": "session report record spec diag base",
}

# The installed headers, and the folders that may include each.
PUBLIC = {
    "error.h": " ".join(SEES),
    "types.h": " ".join(SEES),
    "entrypoint.h": " ".join(SEES),
    "result_spec.h": " ".join(SEES),
    "engine.h": " ".join(SEES),
    "policy.h": " ".join(SEES),
    "template.h": "spec plan",
    "contract.h": "spec resolve plan store spawn output run judge record report "
                  "cluster render session cli",
    "spec.h": "spec resolve session cli",
    "plan.h": "plan store spawn output run judge record report cluster render "
              "session cli",
    "run.h": "store spawn output run judge record report cluster session cli",
    "verdict.h": "judge record report session cli",
    "jobrun.h": "session cli",
    "rank.h": "worker",
}

# Third parties have one owner each.
OWNERS = {
    "jansson.h": "base/json.h",
    "pcre2.h": "base/regex.c",
    "yaml.h": "doc/",
    "cyaml/cyaml.h": "spec/",
    "hwloc.h": "host/",
    "nettle/sha2.h": "base/hash.c",
    "nettle/base16.h": "base/hash.c",
    "nettle/base64.h": "base/hash.c",
}

# A layer in CMake: its name, then lists under words in capitals.
LAYER = re.compile(r"^jr_layer\((\w+)(.*?)\)$", re.M | re.S)
LISTS = re.compile(r"([A-Z]+)\s([^A-Z]*)")
WORKER = re.compile(r"target_link_libraries\(jobrun-step\s+PRIVATE([^)]*)\)")
ORDER = re.compile(r"foreach\(layer\s([^)]*)\)")

# What the build writes, and the folders that may include each.
GENERATED = {
    "generated/version.h": " ".join(SEES),
    "generated/diag_help.h": "diag",
    "generated/scripts.h": "cli",
    "generated/missing_module.h": "session",
    "generated/sheets.h": "report",
}

INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', re.M)
NO_CODE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"'
                     r"|'(?:\\.|[^'\\\n])*'", re.S)
SIDE_EFFECT = re.compile(r"\b(printf|puts|putchar|perror|exit|abort|getenv"
                         r"|setenv|putenv|unsetenv)\s*\(")
GLOBAL = re.compile(r"^(?!typedef|extern|struct \w+;|union \w+;|enum|\})"
                    r"(?!.*\bconst\b)[a-z_][\w \t*]*[\w\]](\[[^\]]*\])*"
                    r"[ \t]*(=|;)|^[ \t]+static (?!.*\bconst\b)", re.M)


STATIC = re.compile(r"^static [^;={}()]*?\b(\w+)\([^;{}]*\)\s*\{", re.M)
FIRST_COMMENT = re.compile(r"\s*/\*(.*?)\*/", re.S)


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


def built():
    """Who sees whom as CMake has it."""
    sees = {}
    for path in sorted(SRC.glob("*/CMakeLists.txt")):
        for layer, rest in LAYER.findall(path.read_text()):
            sees[layer] = dict(LISTS.findall(rest)).get("SEES", "").split()
    program = WORKER.search((SRC / "worker/c/CMakeLists.txt").read_text())
    sees["worker"] = [word[len("jr_"):] for word in program.group(1).split()
                      if word.startswith("jr_") and word != "jr_flags"]
    return sees


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

    def test_the_build_has_the_same_edges(self):
        self.assertEqual(
            {layer: sorted(sees) for layer, sees in built().items()},
            {layer: sorted(sees.split()) for layer, sees in SEES.items()})

    def test_the_build_has_the_lowest_first(self):
        order = ORDER.search((SRC / "CMakeLists.txt").read_text())
        order = order.group(1).split()
        self.assertEqual(sorted(order), sorted(SEES))
        self.none([f"{layer} sees {below}, which CMake has behind it"
                   for layer, sees in SEES.items() for below in sees.split()
                   if order.index(below) >= order.index(layer)])

    def test_the_archive_has_all_that_the_session_sees(self):
        text = (SRC / "session" / "CMakeLists.txt").read_text()
        archive = ORDER.search(text).group(1).split()
        self.assertEqual(sorted(archive),
                         sorted(["session", *SEES["session"].split()]))

    def test_no_folder_includes_upwards(self):
        wrong = []
        for path in sources(".c", ".h"):
            if folder(path) == "include":
                continue
            for quoted, header in includes(path):
                if not quoted:
                    continue
                if folder(path) in GENERATED.get(header, "").split():
                    continue
                owner = header.split("/")[0]
                seen = [folder(path)] + SEES[folder(path)].split()
                if owner not in seen or not (SRC / header).exists():
                    wrong.append(f"{name(path)} may not include {header}")
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
                   if (True, "base/banned.h") != (includes(path) or [None])[-1]])

    def test_only_the_command_line_has_side_effects(self):
        self.none([f"{name(path)} calls {call}"
                   for path in sources(".c", ".h") if folder(path) not in ("cli", "worker")
                   for call in SIDE_EFFECT.findall(code(path))])

    def test_nothing_is_kept_between_calls(self):
        self.none([f"{name(path)} has a variable: {found.group().strip()}"
                   for path in sources(".c")
                   for found in GLOBAL.finditer(code(path))])

    def test_a_breakpoint_hits_one_function(self):
        """A static function has a name that at most one other file has."""
        files = collections.defaultdict(set)
        for path in sources(".c"):
            for function in STATIC.findall(code(path)):
                files[function].add(name(path))
        self.assertGreater(len(files), 2000, "where are the functions?")
        self.none([f"{function} is in {', '.join(sorted(found))}"
                   for function, found in files.items() if len(found) > 2])

    def test_a_source_names_the_header_that_declares_it(self):
        """It has one of its own name, or its first comment says whose it
        shares: one beside it, or an installed one."""
        wrong = []
        for path in sources(".c"):
            first = FIRST_COMMENT.match(path.read_text())
            named = re.findall(r"[\w/]+\.h", first.group(1)) if first else []
            if path.with_suffix(".h").exists() or path.stem == "main":
                continue
            if not any((path.parent / header).exists() or
                       (SRC / "include" / header).exists()
                       for header in named):
                wrong.append(f"{name(path)} has no {path.stem}.h, and its "
                             "first comment names no header beside it")
        self.none(wrong)

    def test_a_policy_of_the_runner_keeps_its_fields_to_itself(self):
        policies = {path.stem for path in (SRC / "run/policies").glob("*.c")}
        runner = (SRC / "run/internal.h").read_text()
        fields = [found for found in re.findall(r"^    struct \w+ (\w+);", runner, re.M)
                  if found in policies]
        self.assertGreater(len(fields), 8, "where are the policies' fields?")
        touched = re.compile(r"\brunner(?:->|\.)(" + "|".join(fields) + r")\b")
        self.none([f"{name(path)} reaches into {field}.c: runner->{field}"
                   for path in sources(".c", ".h")
                   for field in touched.findall(code(path))
                   if name(path) != f"run/policies/{field}.c"])


class Headers(unittest.TestCase):
    """Every header can be included first."""

    def compile(self, compiler, language, path):
        command = compiler + [
            "-fsyntax-only", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror",
            "-x", language, f"-I{SRC / 'include'}",
            f"-I{SRC}", "-"]
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
