"""What counts is what the rank itself delivered, by the moment it ended: ways to
a success that would be none."""
import os
import pathlib
import shutil
import subprocess
import unittest

import harness

HEAD = "version: 1\nname: t\ndevice: cpu\noversubscribe: true\n"
METHODS = ("spawn", "forkserver", "fork")

# Functions that leave a result behind and do not return, and what a process
# that they forked does in their place.
TRICKS = """\
import json, os, sys
import jobrun

def write():
    with open(os.environ["JOBRUN_RESULT_FILE"], "w") as file:
        json.dump({"x": 1}, file)

def writes():
    write()
    os._exit(0)

def calls():
    jobrun.result({"x": 1})
    os._exit(0)

def leaves():
    jobrun.result({"x": 1})
    sys.exit(0)

def execs():
    write()
    os.execv("/bin/true", ["true"])

def child_returns():
    if os.fork() == 0:
        return {"x": 2}
    os.wait()
    write()
    os._exit(0)

def says():
    # All that the worker would say, in a fork of it.
    write()
    if os.fork() == 0:
        file = os.stat(os.environ["JOBRUN_RESULT_FILE"])
        os.write(3, b"r %d %d %d %d %d" % (
            file.st_dev, file.st_ino, file.st_size, file.st_mtime_ns,
            file.st_ctime_ns))
        os._exit(0)
    os.wait()
    os._exit(0)

def own():
    if os.fork() == 0:
        return {"x": 2}
    os.wait()
    return {"x": 1}

def child_calls():
    jobrun.result({"x": 1})
    if os.fork() == 0:
        try:
            jobrun.result({"x": 2})
        except RuntimeError as error:
            print(error)
        os._exit(0)
    os.wait()

def spawned():
    import multiprocessing
    jobrun.result({"x": 1})
    other = multiprocessing.get_context("spawn").Process(target=elsewhere)
    other.start()
    other.join()
    assert other.exitcode == 1

def elsewhere():
    jobrun.result({"x": 2})

def child_raises():
    if os.fork() == 0:
        raise ValueError("of the child")
    os.wait()
    sys.exit(3)

def raises():
    if os.fork() == 0:
        raise ValueError("of the child")
    os.wait()
    raise KeyError("of the rank")

def closes():
    os.closerange(3, 256)
    file = open("mine", "w")
    return {"x": 1}

def nul():
    return {"x": "a\\0b"}
"""


class Case(harness.Case):
    def setUp(self):
        super().setUp()
        self.write("f.py", TRICKS)

    def run_spec(self, text, code, **more):
        if "world_size" not in text:
            text += "world_size: 1\n"
        spec = self.write("t.jobrun.yaml", HEAD + text)
        return self.expect(self.jobrun(spec, **more), code)

    def call(self, function, code, more="", ranks=2):
        return self.run_spec(
            f"world_size: {ranks}\nentrypoint: "
            f"{{python: {{function: 'f:{function}'}}}}\n{more}", code)

    def delivered(self):
        return [rank["result"] for rank in self.results()["ranks"]]

    def errors(self):
        return [(rank["result_error"], rank["error"])
                for rank in self.results()["ranks"]]


class Returned(Case):
    """A function or a step has delivered only if it returned, in the process
    that jobrun started."""

    def test_what_did_not_return(self):
        for method in METHODS:
            for function in ("writes", "calls", "leaves", "execs",
                             "child_returns"):
                with self.subTest(function, method=method):
                    self.call(function, 5, f"start_method: {method}\n")
                    for error, text in self.errors():
                        self.assertEqual(error, "missing")
                        self.assertIn("did not return", text)
                    self.assertEqual(self.delivered(), [None, None])

    def test_without_the_barrier(self):
        self.call("writes", 5, "exit_barrier: false\n")
        self.call("own", 0, "exit_barrier: false\n")
        self.assertEqual(self.delivered(), [{"x": 1}] * 2)

    def test_whatever_results_come_from(self):
        self.call("writes", 5, "results: {from: file}\n")
        self.write("g.py", "import os\ndef f():\n"
                   "    os.write(1, b'x=1\\n')\n    os._exit(0)\n")
        self.run_spec("entrypoint: {python: {function: 'g:f'}}\nresults: "
                      "{from: stdout, pattern: 'x=(?<x>.)'}\n", 5)

    def test_who_need_not_deliver_need_not_return(self):
        self.call("writes", 0, "results: {required: none}\n")
        self.assertEqual(self.delivered(), [None, None])

    def test_a_child_that_says_so(self):
        for method in METHODS:
            with self.subTest(method):
                self.call("says", 5, f"start_method: {method}\n")
                for error, text in self.errors():
                    self.assertEqual(error, "missing")
                    self.assertRegex(text, r"returned in process \d+, which "
                                     "is not the one that jobrun started")

    def test_a_child_of_a_namespace(self):
        done = self.jobrun("run", "-s", "isolation=pid", "-n", "1", "--",
                           "true")
        if done.returncode == 7:
            self.skipTest("SKIPPED: no PID namespaces here")
        for method in METHODS:
            with self.subTest(method):
                more = f"start_method: {method}\nisolation: pid\n"
                self.call("says", 5, more)
                self.call("own", 0, more)
                self.call("raises", 1, more)
                for rank in self.results()["ranks"]:
                    if rank["state"] == "failed":
                        self.assertIn("of the rank", rank["error"])

    def test_a_childs_return_is_not_the_ranks(self):
        for method in METHODS:
            for function in ("own", "child_calls"):
                with self.subTest(function, method=method):
                    self.call(function, 0, f"start_method: {method}\n")
                    self.assertEqual(self.delivered(), [{"x": 1}] * 2)
        log = (self.folder / "runs/latest/attempt_0/0/stdout.log").read_text()
        self.assertRegex(log, r"process \d+, but the rank is process \d+")

    def test_a_process_that_inherits_nothing_but_variables(self):
        self.call("spawned", 0)
        self.assertEqual(self.delivered(), [{"x": 1}] * 2)

    def test_a_childs_exception_is_not_the_ranks(self):
        for method in METHODS:
            with self.subTest(method):
                self.call("child_raises", 1, f"start_method: {method}\n",
                          ranks=1)
                rank, = self.results()["ranks"]
                self.assertEqual(rank["exit_code"], 3)
                self.assertIsNone(rank["error_file"])
                self.assertNotIn("of the child", str(rank["error"]))
                self.call("raises", 1, f"start_method: {method}\n", ranks=1)
                rank, = self.results()["ranks"]
                self.assertIn("of the rank", rank["error"])

    def test_an_error_file_of_another_process(self):
        """Ours states who wrote it; torch's does not."""
        error = ('{"message": {"message": "Odd: told", "extraInfo": '
                 '{"py_callstack": "", "timestamp": "1"}}%s}')
        shell = "entrypoint: {shell: 'echo $TEXT > $JOBRUN_ERROR_FILE; exit 3'}"
        for more, told in (("", True), (', "pid": 1', False)):
            self.run_spec(shell + "\nenv: {TEXT: '%s'}\n" % (error % more), 1)
            rank, = self.results()["ranks"]
            self.assertEqual(rank["error_file"] is not None, told)
            self.assertEqual("Odd: told" in str(rank["error"]), told)
        self.assertIn("by another process", self.expect(
            self.jobrun("show", "latest"), 0).stdout +
            self.jobrun("t.jobrun.yaml").stderr)

    def test_a_function_that_closes_what_is_not_its_own(self):
        done = self.call("closes", 1, ranks=1)
        self.assertIn("had closed descriptor 3", done.stderr)
        self.assertEqual((self.folder / "mine").read_text(), "")

    def test_a_wrapper(self):
        """It has to make room for what it starts."""
        for exec, code in (("exec ", 0), ("", 5)):
            path = self.write("wrap", f"#!/bin/sh\n{exec}python3 \"$@\"\n"
                              "exit $?\n")
            path.chmod(0o755)
            self.run_spec("entrypoint: {python: {function: 'f:own', "
                          "interpreter: ./wrap}}\n", code)
        (error, text), = self.errors()
        self.assertEqual(error, "missing")
        self.assertIn("a wrapper has to exec", text)

    def test_steps(self):
        compiler = shutil.which("cc")
        if compiler is None:
            self.skipTest("SKIPPED: no compiler")
        header = pathlib.Path(__file__).resolve().parents[2] / "src" / "include"
        self.write("steps.c", r"""
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <jobrun/rank.h>
static void put(struct jr_result *result)
{
    FILE *file = fopen(getenv("JOBRUN_RESULT_FILE"), "w");
    fputs("{\"x\": 1}", file);
    fclose(file);
    jr_result_set_json(result, "{\"x\": 1}", 8);
}
static int forked(struct jr_result *result, int own)
{
    if (fork() == 0) {
        jr_result_set_json(result, "{\"x\": 2}", 8);
        return 0;
    }
    wait(NULL);
    if (own)
        return jr_result_set_json(result, "{\"x\": 1}", 8);
    put(result);
    _exit(0);
}
#define STEP(name, body) int name(const struct jr_rank *, struct jr_result *); \
    int name(const struct jr_rank *rank, struct jr_result *r) { (void)rank; body }
STEP(leaves, put(r); _exit(0);)
STEP(exits, put(r); exit(0);)
STEP(jumps, jmp_buf to; if (setjmp(to) == 0) { put(r); longjmp(to, 1); } exit(0);)
STEP(child, return forked(r, 0);)
STEP(own, return forked(r, 1);)
STEP(says, put(r); if (fork() == 0) { (void)!write(3, "r", 1); _exit(0); }
     wait(NULL); _exit(0);)
""")
        subprocess.run([compiler, "-shared", "-fPIC", "-I", header, "-o",
                        "steps.so", "steps.c"], cwd=self.folder, check=True)
        for method in ("spawn", "forkserver"):
            for symbol, code in (("leaves", 5), ("exits", 5), ("jumps", 5),
                                 ("child", 5), ("says", 5), ("own", 0)):
                with self.subTest(symbol, method=method):
                    self.run_spec(
                        "world_size: 2\nentrypoint: {library: {path: "
                        f"./steps.so, symbol: {symbol}}}}}\n"
                        f"start_method: {method}\n", code)
                    self.assertEqual(self.delivered(),
                                     [{"x": 1} if code == 0 else None] * 2)


if __name__ == "__main__":
    harness.main()
