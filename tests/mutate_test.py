"""Holds tests/mutate to what it says of a small project: which mutants live,
which are killed, and when it has nothing to say.

The project lies in the build folder and has the form of this one: a library of
src/base, its unit tests, and a copy of the script. Each case writes the test
that has to notice the mutants.
"""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import unittest

MUTATE = pathlib.Path(__file__).resolve().with_name("mutate")
PROJECT = pathlib.Path(os.environ["BUILD"]).resolve() / "mutate_test"
SKIPPED = 77

FILES = {
    "CMakeLists.txt": """
cmake_minimum_required(VERSION 3.22)
project(small C)
enable_testing()
set(CMAKE_C_VISIBILITY_PRESET hidden)
add_library(jr_base STATIC src/base/age.c src/base/copy.c src/base/half.c
  src/base/lonely.c src/base/week.c)
add_executable(unit_base_age tests/test_age.c)
target_link_libraries(unit_base_age PRIVATE jr_base)
add_test(NAME unit.base.age COMMAND unit_base_age)
add_executable(ages src/base/ages.c)
target_link_libraries(ages PRIVATE jr_base)
add_executable(unit_base_ages tests/test_ages.c src/base/ages.c)
target_compile_definitions(unit_base_ages PRIVATE main=ages_main)
target_link_libraries(unit_base_ages PRIVATE jr_base)
add_test(NAME unit.base.ages COMMAND unit_base_ages)
add_test(NAME unit.base.no_program COMMAND /usr/bin/env false)
add_test(NAME python.small
  COMMAND /usr/bin/env python3 ${PROJECT_SOURCE_DIR}/tests/test_small.py)
""",
    "src/base/age.c": """
int is_adult(int age)
{
    return age >= 18;
}
""",
    "src/base/ages.c": """
int is_adult(int age);

int main(int argc, char **argv)
{
    (void)argv;
    return is_adult(argc) ? 3 : 4;
}
""",
    "tests/test_ages.c": """
#undef main
int ages_main(int argc, char **argv);

int main(void)
{
    return ages_main(1, 0) == 4 ? 0 : 1;
}
""",
    "src/base/half.c": """
int halvings(int number)
{
    int count = 0;
    while (number > 1) {
        number /= 2;
        count++;
    }
    return count;
}
""",
    "src/base/lonely.c": """
int lonely(void)
{
    return 1;
}
""",
    "src/base/week.c": """
int is_weekend(int day)
{
    switch (day) {
    case 6:
    case 7:
        return 1;
    default:
        return 0;
    }
}
""",
    "src/base/copy.c": """
#include <stdlib.h>
#include <string.h>

int copied(const char *text)
{
    char *copy = strdup(text);
    int first = copy[0];
    free(copy);
    return first;
}
""",
    "src/base/small.py": "def is_big(size):\n    return size > 5\n",
}

TEST = """
int copied(const char *text);
int is_adult(int age);
int halvings(int number);
int is_weekend(int day);

int main(void)
{
    return %s ? 0 : 1;
}
"""

ENDLESS = """
#include <fcntl.h>
#include <unistd.h>

int main(void)
{
    (void)open("/tmp/begun", O_CREAT | O_WRONLY, 0600);
    for (;;)
        (void)pause();
}
"""

PY_TEST = """
import importlib.util, pathlib
path = pathlib.Path(__file__).resolve().parent.parent / "src/base/small.py"
spec = importlib.util.spec_from_file_location("small", path)
small = importlib.util.module_from_spec(spec)
spec.loader.exec_module(small)
assert %s
"""


def write(name, text):
    path = PROJECT / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.lstrip())


class Mutate(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        shutil.rmtree(PROJECT, ignore_errors=True)
        (PROJECT / "tests").mkdir(parents=True)
        for name, text in FILES.items():
            write(name, text)
        shutil.copy(MUTATE, PROJECT / "tests")

    def mutate(self, *words, status, test="1"):
        """What it prints, where the tests hold `test` to be true."""
        write("tests/test_age.c", TEST % test)
        done = subprocess.run(
            [sys.executable, PROJECT / "tests" / "mutate", "--sample", "0", *words],
            capture_output=True, text=True, check=False, timeout=600)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout if status < 2 else done.stderr

    def survivors(self, printed):
        return sorted(row.partition("src/base/")[2] for row in
                      printed.splitlines() if row.startswith("survived "))

    def test_what_no_test_looks_at_survives(self):
        printed = self.mutate("base/age.c", status=1,
                              test="is_adult(30) && !is_adult(2)")
        before = "age.c:3: is_adult: return age >= 18;  ->  return age"
        self.assertEqual(self.survivors(printed),
                         [f"{before} > 18;", f"{before} >= (18 - 1);"])
        self.assertIn("3 mutants tried: 1 killed (0 ran on, 0 in a sanitizer), "
                      "2 alive (67 %)", printed)
        self.assertIn("0 did not compile, 2 made no difference", printed)

    def test_what_a_test_looks_at_is_killed(self):
        printed = self.mutate("base/age.c", status=0,
                              test="is_adult(18) && !is_adult(17)")
        self.assertIn("3 mutants tried: 3 killed (0 ran on, 0 in a sanitizer), "
                      "0 alive", printed)

    def test_what_does_not_end_is_killed(self):
        printed = self.mutate("base/half.c", "-v", status=0, test=(
            "halvings(16) == 4 && halvings(2) == 1 && halvings(1) == 0 "
            "&& halvings(7) == 2"))
        self.assertIn("late by unit.base.age src/base/half.c:5: halvings: "
                      "number /= 2;  ->  ", printed)
        self.assertIn("9 killed (1 ran on, 0 in a sanitizer)", printed)

    def test_what_loses_memory_is_killed(self):
        printed = self.mutate("base/copy.c", "-v", status=0,
                              test="copied(\"x\") == 'x'")
        self.assertIn("unclean src/base/copy.c:8: copied: free(copy);  ->  ;",
                      printed)

    def test_what_does_not_compile_is_left_out(self):
        printed = self.mutate("base/week.c", status=0, test=(
            "is_weekend(6) == 1 && is_weekend(7) == 1 && !is_weekend(5) "
            "&& !is_weekend(8)"))
        self.assertIn("2 did not compile", printed)

    def test_what_no_test_holds_is_alive(self):
        printed = self.mutate("base/lonely.c", status=1)
        self.assertRegex(printed, r"(?m)^untested src/base/lonely.c:3: lonely: ")

    def test_a_main_is_tested_under_the_name_that_its_test_gives_it(self):
        """And by no other test, each of which has a main of its own."""
        printed = self.mutate("base/ages.c", "-v", status=1,
                              test="is_adult(18) && !is_adult(17)")
        before = "ages.c:6: main: return is_adult(argc) ? 3 : 4;  ->  return"
        self.assertEqual(self.survivors(printed), [
            f"{before} is_adult(argc) ? (3 + 1) : 4;",
            f"{before} is_adult(argc) ? (3 - 1) : 4;"])
        self.assertIn(f"killed by unit.base.ages src/base/{before} 0;", printed)

    def test_a_unit_test_without_a_program_is_passed_over(self):
        """As in the other cases, where the one that fails is always beside the
        one that is run."""
        self.assertIn("no test is called ^unit.base.no_program$", self.mutate(
            "base/age.c", "--tests", "^unit.base.no_program$", status=2))

    def test_a_sample_is_that_of_its_seed(self):
        def listed(seed):
            return self.mutate("base", "--list", "--sample", "9", "--seed", seed,
                               status=0)
        self.assertEqual(listed("7"), listed("7"))
        self.assertNotEqual(listed("7"), listed("8"))
        self.assertEqual(len(listed("7").splitlines()), 9)

    def test_a_test_that_fails_by_itself_says_nothing(self):
        printed = self.mutate("base/age.c", status=2, test="is_adult(2)")
        self.assertIn("unit.base.age fails without any change", printed)

    def test_a_test_that_fails_for_the_build_says_nothing(self):
        """A mutant is compiled with -O1, and the build is not."""
        text = FILES["src/base/age.c"]
        write("src/base/age.c", text.replace(
            "{\n", "{\n#ifdef __OPTIMIZE__\n    age = -age;\n#endif\n"))
        self.addCleanup(write, "src/base/age.c", text)
        printed = self.mutate("base/age.c", status=2, test="is_adult(30)")
        self.assertIn("unit.base.age fails with age.c as it is", printed)

    def test_python_is_mounted_over_the_copies(self):
        words = ("base/small.py", "--tests", "python.small")
        write("tests/test_small.py", PY_TEST % "small.is_big(9)")
        self.assertEqual(
            self.survivors(self.mutate(*words, status=1)),
            [f"small.py:2: is_big: return size > 5  ->  return size {end}"
             for end in ("> (4)", "> 6", ">= 5")])
        write("tests/test_small.py",
              PY_TEST % "small.is_big(6) and not small.is_big(5)")
        self.assertEqual(self.survivors(self.mutate(*words, status=0)), [])
        self.assertIn("size > 5\n", (PROJECT / "src/base/small.py").read_text())

    def start_endless(self, folder):
        """It runs a test that does not end, and keeps what it makes there."""
        write("tests/test_age.c", ENDLESS)
        started = subprocess.Popen(
            [sys.executable, PROJECT / "tests" / "mutate", "base/age.c",
             "--tests", "^unit.base.age$"], env={**os.environ, "TMPDIR": folder},
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(started.wait)
        self.addCleanup(started.kill)
        limit = time.monotonic() + 300
        while not list(folder.rglob("begun")):
            self.assertIsNone(started.poll())
            self.assertLess(time.monotonic(), limit)
            time.sleep(0.05)
        return started

    def test_what_was_made_is_removed_after_a_signal(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            folder = PROJECT / f"left_{number}"
            folder.mkdir()
            started = self.start_endless(folder)
            started.send_signal(number)
            self.assertEqual(started.wait(60), 128 + number)
            self.assertEqual(list(folder.iterdir()), [])

    def test_what_a_killed_run_has_left_is_removed_by_the_next(self):
        folder = PROJECT / "left"
        folder.mkdir()
        words = [sys.executable, PROJECT / "tests" / "mutate", "--list", "base"]

        def look():
            subprocess.run(words, env={**os.environ, "TMPDIR": folder},
                           stdout=subprocess.DEVNULL, check=True)
            return len(list(folder.iterdir()))
        started = self.start_endless(folder)
        self.assertEqual(look(), 1)
        started.kill()
        started.wait()
        self.assertEqual(look(), 0)

    def test_what_is_not_there_is_said(self):
        self.assertIn("bsae is no folder of src, and no file",
                      self.mutate("bsae", status=2))
        self.assertIn("no test is called ^nobody$",
                      self.mutate("base", "--tests", "^nobody$", status=2))


def why_not():
    """What mutants need that is not here."""
    if PROJECT.is_relative_to("/tmp"):
        return "the build folder is beneath /tmp"
    absent = [name for name in ("cmake", "ctest", "ninja", "nm")
              if shutil.which(name) is None]
    if absent:
        return f"no {', '.join(absent)}"
    words = ["unshare", "--mount", "--pid", "--fork"]
    if os.geteuid() != 0:
        words.append("--map-root-user")
    done = subprocess.run(words + ["mount", "--bind", "/tmp", "/tmp"],
                          capture_output=True, text=True, check=False)
    return done.stderr.strip()


if __name__ == "__main__":
    if why_not():
        print(f"skipped: {why_not()}")
        sys.exit(SKIPPED)
    unittest.main()
