"""What counts is what the rank itself delivered, by the moment it ended: ways to
a success that would be none."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time
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
        os.write(100, b"r %d %d %d %d %d" % (
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


# A program whose ranks do what their words say, one after the other.
RANK = """\
import json, mmap, os, pathlib, shutil, socket, sys, time

rank = int(os.environ["RANK"])
mine = pathlib.Path(os.environ["JOBRUN_RESULT_FILE"])
run = pathlib.Path(os.environ["JOBRUN_RUN_DIR"])

def of(other):
    return pathlib.Path(str(mine).replace("/%d/" % rank, "/%d/" % other)
                        .replace("-%d." % rank, "-%d." % other))

def ended(other):
    # The runner has reaped it.
    until = time.monotonic() + 50
    wanted = '"event":"rank_ended","rank":%d,' % other
    while wanted not in (run / "events.jsonl").read_text():
        assert time.monotonic() < until
        time.sleep(0.01)

def logged(text):
    # What is left of rank 0 has written it; a silent rank has no log at first.
    until = time.monotonic() + 50
    log = run / "attempt_0/0/stdout.log"
    while not log.exists() or text not in log.read_text():
        assert time.monotonic() < until
        time.sleep(0.01)

def returned(other):
    until = time.monotonic() + 50
    wanted = '"event":"rank_done","rank":%d,' % other
    while wanted not in (run / "events.jsonl").read_text():
        assert time.monotonic() < until
        time.sleep(0.01)

def put(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)

def replace(path, text):
    other = path.with_name("other")
    other.write_text(text)
    other.rename(path)

def again(path, text):
    # The same size and the same time of the last change.
    before = path.stat()
    path.write_text(text)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

def later(other, what):
    # By a process that outlives this one.
    if os.fork() == 0:
        if os.fork() == 0:
            ended(other)
            what()
        os._exit(0)
    os.wait()

def mapped(path, text):
    # A process that outlives this one has it in its memory, where it is changed
    # already: the times of the file stay as they are when it is changed again.
    if os.fork() == 0:
        if os.fork() == 0:
            with path.open("r+b") as file:
                memory = mmap.mmap(file.fileno(), 0)
            memory[:] = memory[:]
            put(pathlib.Path("touched"), "")
            ended(rank)
            memory[:] = text
            put(pathlib.Path("moved"), "")
        os._exit(0)
    os.wait()
    await_file("touched")

def await_file(name):
    while not os.path.exists(name):
        time.sleep(0.01)

if __name__ == "__main__":
    exec(sys.argv[1].replace("; ", "\\n"))
"""


class Case(harness.Case):
    def setUp(self):
        super().setUp()
        self.write("f.py", TRICKS)
        self.write("rank.py", RANK)

    def ranks(self, words, code, more="results: {from: file}\n", **options):
        """Ranks 0, 1... do what these words say."""
        per_rank = "".join(f"  {i}: {{args: [{json.dumps(word)}]}}\n"
                           for i, word in enumerate(words))
        return self.run_spec(
            f"world_size: {len(words)}\nentrypoint: [python3, rank.py]\n"
            f"on_failure: continue\nper_rank:\n{per_rank}{more}", code,
            **options)

    def told(self, rank, error, text):
        row = self.results()["ranks"][rank]
        self.assertEqual(row["result_error"], error, row["error"])
        self.assertRegex(row["error"], text)

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
        self.assertIn("by a process other than", self.expect(
            self.jobrun("show", "latest"), 0).stdout +
            self.jobrun("t.jobrun.yaml").stderr)

    def test_a_function_that_closes_what_is_not_its_own(self):
        done = self.call("closes", 1, ranks=1)
        self.assertIn("had closed descriptor 100", done.stderr)
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
        self.assertIn("a wrapper must exec", text)

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
                        f"start_method: {method}\n", code,
                        # An exit from within leaves what main() holds.
                        env={"ASAN_OPTIONS": "detect_leaks=0"})
                    self.assertEqual(self.delivered(),
                                     [{"x": 1} if code == 0 else None] * 2)


class Kept(Case):
    """A result is what it was when the rank ended."""

    GOOD = "put(mine, '{\"x\": 1}')"

    def changed(self, act, more="results: {from: file}\n"):
        with self.subTest(act):
            self.ranks([self.GOOD, f"ended(0); {act}; put(mine, '{{}}')"], 5,
                       more)
            self.told(0, "changed", "changed after the rank had ended")
            self.assertIsNone(self.delivered()[0])
            self.assertIsNone(self.results()["ranks"][1]["result_error"])

    def test_a_peer_changes_it(self):
        for act in ("put(of(0), '{\"x\": 10}')",
                    "replace(of(0), '{\"x\": 2}')",
                    "again(of(0), '{\"x\": 2}')",
                    "os.truncate(of(0), 0)"):
            self.changed(act)

    # What a peer does that keeps the best one, and does not change it.
    KEEPS = ("os.link({0}, 'best')",
             "os.link({0}, 'best'); os.unlink('best')",
             "os.chmod({0}, 0o400)",
             "os.rename({0}, 'best'); os.rename('best', {0})",
             "os.link({0}, 'best'); os.unlink({0}); os.link('best', {0})",
             "os.rename({0}.parent, 'x'); os.rename('x', {0}.parent)")

    def test_a_peer_keeps_the_best(self):
        for act in self.KEEPS:
            for more in ("results: {from: file}\n",
                         "results: {file: 'out/r-%{rank}.json'}\n"):
                with self.subTest(act, more=more):
                    self.ranks([self.GOOD, "ended(0); " + act.format("of(0)")
                                + "; put(mine, '{}')"], 0, more)
                    self.assertEqual(self.delivered(), [{"x": 1}, {}])
                (self.folder / "best").unlink(missing_ok=True)
                shutil.rmtree(self.folder / "out", ignore_errors=True)

    def test_a_peer_keeps_what_was_returned(self):
        self.write("g.py", "def f():\n    import os, rank\n"
                   "    if rank.rank == 1:\n"
                   "        rank.returned(0)\n"
                   "        os.link(rank.of(0), 'best')\n"
                   "        os.chmod(rank.of(0), 0o400)\n"
                   "    return {'x': 1}\n")
        self.run_spec("world_size: 2\nentrypoint: {python: {function: "
                      "'g:f'}}\n", 0)
        self.assertEqual(self.delivered(), [{"x": 1}] * 2)

    def test_a_peer_keeps_the_best_artifact(self):
        """Of any size; what it changes then, whatever times it sets back, is
        changed."""
        more = "results: {required: none, artifacts: ['a/%{rank}.bin']}\n"
        made = "put(pathlib.Path('a/%%d.bin' %% rank), 'x' * %d)"
        file = "pathlib.Path('a/0.bin')"
        for size in (9, 3 << 20):
            for act in self.KEEPS:
                with self.subTest(act, size=size):
                    self.ranks([made % size, "ended(0); " + act.format(file) +
                                "; " + made % size], 0, more)
                (self.folder / "best").unlink(missing_ok=True)
                shutil.rmtree(self.folder / "a")
            for change in ("'y' * %d" % size, "'y' + 'x' * %d" % (size - 1),
                           "'x' * %d + 'y'" % (size - 1)):
                with self.subTest(change, size=size):
                    self.ranks([made % size,
                                f"ended(0); os.link({file}, 'best'); "
                                f"again({file}, {change}); " + made % size], 5,
                               more)
                    self.told(0, "changed", "artifact a/0.bin was changed after "
                              "the rank had ended")
                    self.assertIsNone(
                        self.results()["ranks"][1]["result_error"])
                (self.folder / "best").unlink(missing_ok=True)
                shutil.rmtree(self.folder / "a")

    def test_an_artifact_that_cannot_be_read(self):
        """Not even by jobrun, which then goes by all that the kernel says."""
        if os.geteuid() == 0:
            self.skipTest("SKIPPED: root reads anything")
        more = "results: {required: none, artifacts: ['a-%{rank}.bin']}\n"
        made = ("put(pathlib.Path('a-%d.bin' % rank), 'x'); "
                "os.chmod('a-%d.bin' % rank, 0o200)")
        self.ranks([made, "ended(0); " + made], 0, more)
        for path in self.folder.glob("a-*"):
            path.unlink()
        self.ranks([made, "ended(0); again(pathlib.Path('a-0.bin'), 'y'); "
                    + made], 5, more)
        self.told(0, "changed", "artifact a-0.bin was changed")

    def test_a_forged_result(self):
        for act in ("again(of(0), '{\"x\": 2}')",
                    "os.link(of(0), 'best'); again(of(0), '{\"x\": 2}')"):
            self.changed(act)
            (self.folder / "best").unlink(missing_ok=True)

    def test_a_peer_changes_it_elsewhere(self):
        self.changed("put(of(0), '{\"x\": 10}')",
                     "results: {file: 'out/r-%{rank}.json'}\n")

    def test_who_brings_it_to_an_end_later(self):
        """Text that is torn at the rank's end, and whole half a second later."""
        self.ranks(["put(mine, '{\"x\"'); "
                    "later(0, lambda: put(mine, '{\"x\": 1}'))",
                    "ended(0); time.sleep(0.5); put(mine, '{}')"], 5)
        self.told(0, "changed", "4 bytes then, 8 now")

    def test_who_has_it_in_memory(self):
        self.ranks(["put(mine, '{\"x\": 1}'); mapped(mine, b'{\"x\": 9}')",
                    "await_file('moved'); put(mine, '{}')"], 5)
        self.told(0, "changed", "was changed after the rank had ended")

    def test_who_brings_it_later(self):
        self.ranks(["later(0, lambda: put(mine, '{\"x\": 1}'))",
                    "ended(0); "
                    "exec('while not of(0).exists(): time.sleep(.01)'); "
                    "put(mine, '{}')"], 5)
        self.told(0, "missing", "was not there when the rank ended")

    def test_a_returned_value(self):
        """From the return on, which is long before the end with a barrier."""
        self.write("g.py", "def f():\n    import rank\n"
                   "    if rank.rank == 1:\n"
                   "        rank.returned(0)\n"
                   "        rank.put(rank.of(0), '{\"x\": 2}')\n"
                   "    return {'x': 1}\n")
        for method in METHODS:
            with self.subTest(method):
                self.run_spec("world_size: 2\nentrypoint: {python: {function: "
                              f"'g:f'}}}}\nstart_method: {method}\n", 5)
                self.told(0, "changed", "changed after the rank had returned")
                self.assertEqual(self.delivered(), [None, {"x": 1}])

    def changed_behind(self, act, more):
        """Change something once all ranks have ended, and before jobrun has
        judged: the process that does so is stopped meanwhile."""
        self.write("waits.py", """\
from rank import *
print("up", flush=True)
while not os.path.exists("go"):
    time.sleep(0.01)
put(mine, "{}")
put(pathlib.Path("all"), "x")
""")
        spec = self.write("t.jobrun.yaml", HEAD + "world_size: 2\n"
                          "entrypoint: [python3, waits.py]\n" + more)
        process = self.start(spec)
        for _ in range(2):
            self.assertIn("up", process.stdout.readline())
        os.kill(process.pid, signal.SIGSTOP)
        self.addCleanup(self.wake, process)
        self.write("go", "")
        self.await_event(event="swept")
        act()
        os.kill(process.pid, signal.SIGCONT)
        _, err = process.communicate(timeout=harness.LIMIT)
        self.assertEqual(process.returncode, 5, err)

    @staticmethod
    def wake(process):
        if process.poll() is None:
            process.send_signal(signal.SIGCONT)

    def test_a_concurrent_run(self):
        self.changed_behind(
            lambda: self.expect(self.jobrun(
                "run", "-n", "1", "-s", "results.file=out-0.json", "-s",
                "log_dir=other", "--", "sh", "-c", "echo 1 > out-0.json"), 0),
            "results: {file: 'out-%{rank}.json'}\n")
        self.told(0, "changed", "out-0.json was changed after the rank had "
                  "ended")
        self.assertEqual(self.delivered(), [None, {}])

    def test_the_jobs_artifact_once_all_have_ended(self):
        self.changed_behind(lambda: self.write("all", "yy"),
                            "results: {artifacts: [all]}\n")
        for rank in (0, 1):
            self.told(rank, "changed", "artifact all of the job, which any rank "
                      "may make, was changed after the rank had ended")

    def test_who_need_not_deliver_shares_a_path(self):
        self.ranks(["ended(1); " + self.GOOD, "pass"], 0,
                   "results: {required: 0, file: out.json}\n")
        self.assertEqual(self.delivered(), [{"x": 1}, None])
        self.ranks([self.GOOD, "ended(0)"], 0,
                   "results: {required: 0, file: out.json}\n")
        self.assertEqual(self.delivered(), [{"x": 1}, None])

    def test_every_attempt_has_its_own(self):
        self.write("again.py", """\
from rank import *
if "attempt_0" in str(mine):
    put(mine, "1")
    sys.exit(3)
os.link(str(mine).replace("attempt_1", "attempt_0"), mine)
""")
        self.run_spec("entrypoint: [python3, again.py]\nrestart: {max: 1, "
                      "on: [exit:3], backoff: 1s}\nresults: {from: file}\n", 5)
        self.told(0, "stale", "a link to a file from before the start")

    def test_artifacts(self):
        more = "results: {required: none, artifacts: ['a-%{rank}.bin', 'all']}\n"
        made = "put(pathlib.Path('a-%d.bin' % rank), 'x')"
        both = made + "; put(pathlib.Path('all'), 'x')"
        self.ranks([both, "ended(0); " + made], 0, more)
        shutil.rmtree(self.folder / "runs")
        for name, act, error, text in (
                ("a-0.bin", "put(pathlib.Path('a-0.bin'), 'yy')", "changed",
                 "artifact a-0.bin was changed after the rank had ended"),
                ("a-0.bin", "os.unlink('a-0.bin'); os.mkdir('a-0.bin')",
                 "missing", "not a regular file")):
            for path in self.folder.glob("a*"):
                path.unlink()
            with self.subTest(act):
                self.ranks([made, f"ended(0); {act}; {both}"], 5, more)
                self.told(0, error, text)
                self.assertIsNone(self.results()["ranks"][1]["result_error"])
                shutil.rmtree(self.folder / "a-0.bin", ignore_errors=True)

    def test_who_has_an_artifact_in_memory(self):
        made = "put(pathlib.Path('a-%d.bin' % rank), 'weights'); "
        self.ranks([made + "mapped(pathlib.Path('a-0.bin'), b'forgery')",
                    made + "await_file('moved')"], 5,
                   "results: {required: none, artifacts: ['a-%{rank}.bin']}\n")
        self.told(0, "changed", "artifact a-0.bin was changed after the rank "
                  "had ended")
        self.assertIsNone(self.results()["ranks"][1]["result_error"])

    def test_the_jobs_artifact(self):
        """One path for all is to be made once, by any rank, at any time."""
        more = "results: {required: 0, artifacts: [sub/all.bin]}\n"
        result = "put(mine, '1')"
        made = "put(pathlib.Path('sub/all.bin'), 'x')"
        self.ranks([result, "ended(0); " + made], 0, more)
        self.ranks([result, "ended(0)"], 5, more)
        self.told(0, "stale", "artifact sub/all.bin of the job, which any rank "
                  "may make, is the one from before the start")
        (self.folder / "sub/all.bin").unlink()
        self.ranks([result, "ended(0)"], 5, more)
        self.told(0, "missing", "which any rank may make, was not written")


class Links(Case):
    """Another's result is nobody's by a link."""

    def test_links(self):
        for act, error, text in (
                ("os.symlink(of(0), mine)", "missing", "symbolic link"),
                ("os.link(of(0), mine)", "missing",
                 "is also the file of rank 0")):
            for more in ("results: {from: file}\n",
                         "results: {file: 'out/r-%{rank}.json'}\n"):
                shutil.rmtree(self.folder / "out", ignore_errors=True)
                with self.subTest(act, more=more):
                    # A link is a change of what it is made to.
                    self.ranks(["put(mine, '1'); "
                                "exec('while not of(1).parent.joinpath("
                                "\"linked\").exists(): time.sleep(.01)')",
                                "exec('while not of(0).exists() or not "
                                "of(0).stat().st_size: time.sleep(.01)'); "
                                f"{act}; put(mine.parent / 'linked', '')"], 5,
                               more)
                    self.told(1, error, text)

    def test_a_stale_link_to_a_peers_file(self):
        (self.folder / "out").mkdir()
        self.write("out/r-0.json", "0")
        (self.folder / "out/r-1.json").symlink_to("r-0.json")
        self.ranks(["put(mine, '{\"x\": 1}')", "pass"], 5,
                   "results: {file: 'out/r-%{rank}.json'}\n")
        self.told(1, "missing", "symbolic link")
        self.assertIsNone(self.results()["ranks"][0]["result_error"])

    def test_a_folder_that_is_anothers(self):
        (self.folder / "out/0").mkdir(parents=True)
        (self.folder / "out/1").symlink_to("0")
        self.ranks(["put(mine, '1')", "ended(0)"], 5,
                   "results: {file: 'out/%{rank}/r.json'}\n")
        self.told(1, "missing", "is also the file of rank 0")

    def test_yesterdays(self):
        """What is touched by chmod, or by a link, is not new."""
        for act in ("pass", "os.chmod('out.json', 0o640)",
                    "os.link('out.json', 'link')"):
            (self.folder / "link").unlink(missing_ok=True)
            self.write("out.json", "1")
            with self.subTest(act):
                self.ranks([act], 5, "results: {file: out.json}\n")
                self.told(0, "stale", "the one from before the start")
        self.ranks(["os.chmod('out.json', 0o600)"], 5,
                   "results: {required: none, artifacts: [out.json]}\n")
        self.told(0, "stale", "artifact out.json is the one")
        self.ranks(["put(pathlib.Path('out.json'), '1')"], 0,
                   "results: {file: out.json}\n")

    def test_what_is_no_file(self):
        for act, text in (("os.mkfifo(mine)", "not a regular file"),
                          ("os.mkdir(mine)", "not a regular file"),
                          ("os.chdir(mine.parent); socket.socket(1).bind("
                           "mine.name)", "could not be opened"),
                          ("shutil.rmtree(mine.parent)", "was not written"),
                          ("os.rename(mine.parent, run / 'x'); "
                           "os.symlink(run / 'x', mine.parent); put(mine, '1')",
                           "symbolic link")):
            with self.subTest(act):
                self.ranks([act], 5)
                self.told(0, "missing", text)


class Old(Case):
    """What was there before the start is nobody's, wherever it stands now; and
    no file is the artifact of two ranks."""

    MORE = "results: {required: none, artifacts: ['a/%{rank}.bin']}\n"
    MADE = "put(pathlib.Path('a/%d.bin' % rank), 'weights'); "

    def old(self):
        """Files of yesterday's, in two folders."""
        for name in ("a", "old", "new", "link"):
            path = self.folder / name
            path.unlink() if path.is_symlink() else shutil.rmtree(
                path, ignore_errors=True)
        (self.folder / "old").mkdir()
        for rank in range(2):
            self.write(f"old/{rank}.bin", "yesterday's")
            os.utime(self.folder / f"old/{rank}.bin", (10**9, 10**9))
        time.sleep(0.05)  # the clock of files is coarse

    def test_what_was_there_before(self):
        moved = "is a file from before the start that was moved here"
        link = "is a symbolic link, which is not followed"
        for before, act, error, text in (
                ("", "os.link('old/1.bin', 'a/1.bin')", "stale",
                 "is a link to a file from before the start"),
                ("", "os.rename('old/1.bin', 'a/1.bin')", "stale", moved),
                ("", "os.symlink('../old/1.bin', 'a/1.bin')", "missing", link),
                ("", "os.symlink('0.bin', 'a/1.bin')", "missing", link),
                ("", "os.rename('old', 'a/x'); os.rename('a/x/1.bin', "
                 "'a/1.bin')", "stale", moved),
                ("", "shutil.copy2('old/1.bin', 'old/2.bin'); "
                 "os.unlink('old/2.bin'); os.rename('old/1.bin', 'a/1.bin'); "
                 "os.chmod('a/1.bin', 0o600)", "stale", moved),
                ("turn", "pass", "stale", "is the one from before the start"),
                ("turn", "os.unlink('a'); os.symlink('old', 'a')", "stale",
                 moved)):
            self.old()
            (self.folder / "new").mkdir()
            (self.folder / "a").mkdir() if not before else os.symlink(
                "new", self.folder / "a")
            if before:
                self.write("new/1.bin", "the day before yesterday's")
                time.sleep(0.05)
            with self.subTest(act):
                self.ranks([self.MADE, "ended(0); " + act + "; "
                            + (self.MADE.replace("rank", "0")
                               if "unlink('a')" in act else "")], 5, self.MORE)
                self.told(1, error, "artifact a/1.bin " + text)

    def test_a_folder_that_is_renamed_into_place(self):
        self.old()
        self.ranks(["await_file('a')", "os.rename('old', 'a')"], 5, self.MORE)
        for rank in range(2):
            self.told(rank, "stale", "moved here, or whose folder was")

    def test_a_folder_of_results(self):
        """Which delivers by its name alone."""
        for act in ("os.rename('old', 'out')", "os.symlink('old', 'out')"):
            with self.subTest(act):
                self.old()
                self.write("old/r-0.json", "1")
                os.utime(self.folder / "old/r-0.json", (10**9, 10**9))
                (self.folder / "out").unlink(missing_ok=True)
                time.sleep(0.05)
                self.ranks([act], 5, "results: {file: 'out/r-%{rank}.json'}\n")
                self.told(0, "stale", "out/r-0.json is a file from before")
                if act.startswith("os.rename"):
                    shutil.rmtree(self.folder / "out")

    def test_a_result_that_is_moved(self):
        for act, text in (("os.rename('r.json', mine)", "moved here"),
                          ("os.link('r.json', mine)", "link to a file"),
                          ("os.chmod('r.json', 0o600); os.rename('r.json', "
                           "mine)", "moved here")):
            (self.folder / "r.json").unlink(missing_ok=True)
            self.write("r.json", "1")
            time.sleep(0.05)
            with self.subTest(act):
                self.ranks([act], 5)
                self.told(0, "stale", "result.json is a .*" + text)
        self.write("r.json", "1")
        self.ranks(["shutil.copy2('r.json', mine)"], 0)
        self.ranks(["shutil.copy2('r.json', mine)"], 0,
                   "results: {file: 'out.json'}\n")

    def test_copies_count(self):
        """With the times of what they are copies of, over what stood there too.
        """
        for copy in ("cp -p old/%d.bin a/", "tar c -C old %d.bin | tar x -C a",
                     "rsync -a old/%d.bin a/", "touch old/%d.bin && "
                     "mv old/%d.bin a/", "cp -a --reflink=auto old/%d.bin a/"):
            if shutil.which(copy.split()[0]) is None:
                continue
            for stood in (False, True):
                self.old()
                (self.folder / "a").mkdir()
                for rank in range(2) if stood else ():
                    self.write(f"a/{rank}.bin", "the day before yesterday's")
                time.sleep(0.05)
                with self.subTest(copy, stood=stood):
                    act = f"assert os.system({copy!r}.replace('%d', str(rank))) == 0"
                    self.ranks([act, act], 0, self.MORE)

    def test_one_file_of_two_ranks(self):
        for act in ("os.link('a/0.bin', 'a/1.bin')",
                    "os.rename('a/0.bin', 'a/1.bin'); "
                    "os.link('a/1.bin', 'a/0.bin')"):
            self.old()
            with self.subTest(act):
                self.ranks([self.MADE, "ended(0); " + act], 5, self.MORE)
                self.told(1, "missing", "artifact a/1.bin is also the file "
                          "a/0.bin of rank 0: a link to the artifact of "
                          "another rank does not count")

    def test_a_link_to_a_peers_result(self):
        self.ranks(["put(mine, '1')", "put(mine, '2'); ended(0); "
                    "os.link(of(0), 'a-1.bin')"], 5,
                   "results: {required: 1, artifacts: ['a-%{rank}.bin']}\n")
        self.told(1, "missing", "artifact a-1.bin is also the file of rank 0: a "
                  "link to the result of another rank")

    def test_what_two_names_may_share(self):
        """One rank's last and best are one file, and the job's best is that of
        a rank."""
        self.old()
        self.ranks([self.MADE + "os.link('a/0.bin', 'a/best-0')",
                    "ended(0); " + self.MADE +
                    "os.link('a/1.bin', 'a/best-1'); "
                    "os.link('a/0.bin', 'a/best')"], 0,
                   "results: {required: none, artifacts: ['a/%{rank}.bin', "
                   "'a/best-%{rank}', a/best]}\n")

    def test_the_jobs_artifact_is_old(self):
        self.old()
        (self.folder / "a").mkdir()
        self.ranks(["os.link('old/0.bin', 'a/all')", "ended(0)"], 5,
                   "results: {required: none, artifacts: [a/all]}\n")
        for rank in range(2):
            self.told(rank, "stale", "artifact a/all of the job, which any rank "
                      "may make, is a link to a file from before the start")

    def test_the_next_attempt(self):
        self.write("again.py", """\
from rank import *
if "attempt_0" in str(mine):
    put(pathlib.Path("a/x"), "1")
    sys.exit(3)
os.rename("a/x", "a/0.bin")
""")
        self.run_spec("entrypoint: [python3, again.py]\nrestart: {max: 1, "
                      "on: [exit:3], backoff: 1s}\n" + self.MORE, 5)
        self.told(0, "stale", "artifact a/0.bin is a file from before the start")


class Streams(Case):
    """Of a stream counts what is there when the rank ends."""

    PATTERN = "results: {from: stdout, pattern: 'acc=(?<acc>[0-9.]+)'}\n"
    ROUTES = ("", "redirects: all\n", "log_limit: 64KiB\n",
              "redirects: all\nlog_limit: 64KiB\n")

    def test_a_better_one_that_comes_later(self):
        for route in self.ROUTES:
            with self.subTest(route):
                done = self.ranks([
                    "print('acc=0.5', flush=True); "
                    "later(0, lambda: os.write(1, b'9\\nacc=0.9\\n'))",
                    "ended(0); "
                    "logged('0.9'); print('acc=0.5')"], 0,
                    self.PATTERN + route)
                self.assertEqual(self.delivered(), [{"acc": "0.5"}] * 2)
                self.assertIn("more that matches results.pattern came after "
                              "the end of rank 0", done.stderr)

    def test_a_number_that_goes_on(self):
        self.ranks(["os.write(1, b'acc=0.5'); "
                    "later(0, lambda: os.write(1, b'9\\n'))",
                    "ended(0); logged('0.59'); print('acc=0.5')"], 0, self.PATTERN)
        self.assertEqual(self.delivered(), [{"acc": "0.5"}] * 2)

    def test_the_only_one_comes_later(self):
        self.ranks(["later(0, lambda: os.write(1, b'acc=0.9\\n'))",
                    "ended(0); logged('0.9'); print('acc=0.5')"], 5, self.PATTERN)
        self.told(0, "missing", "came only after the rank had ended")

    def test_the_log_of_another(self):
        """A rank that printed something else has not delivered by a link."""
        self.ranks(["print('acc=0.5')",
                    "logged('0.5'); print('nothing', flush=True); "
                    "log = mine.with_name('stdout.log'); "
                    "exec('while not log.exists(): time.sleep(.01)'); "
                    "log.unlink(); os.link(of(0).with_name(log.name), log)"], 5,
                   self.PATTERN)
        self.told(1, "missing", "is also the file of rank 0")

    def test_what_its_children_said_before(self):
        self.ranks(["os.system('echo acc=0.7')", "print('acc=0.5')"], 0,
                   self.PATTERN)
        self.assertEqual(self.delivered(), [{"acc": "0.7"}, {"acc": "0.5"}])

    def test_a_log_that_was_cut(self):
        self.ranks(["print('\\n'.join(['x' * 70] * 3000)); "
                    "print('acc=0.5', flush=True)"], 0,
                   self.PATTERN + "log_limit: 64KiB\n")
        self.assertEqual(self.delivered(), [{"acc": "0.5"}])

    def test_the_last_match_was_cut_out(self):
        """An earlier one is not taken for it."""
        fill = "print('\\n'.join(['x' * 70] * 3000)); "
        self.ranks(["print('acc=0.1'); " + fill + "print('acc=0.5'); " + fill], 5,
                   self.PATTERN + "log_limit: 64KiB\n")
        self.told(0, "missing", "the last match may be in the [0-9]+ bytes that "
                  "log_limit left out of stdout.log")

    def test_a_log_that_a_peer_shortens(self):
        self.ranks(["print('acc=0.5', flush=True)",
                    "ended(0); os.truncate(run / 'attempt_0/0/stdout.log', 0); "
                    "print('acc=0.5')"], 5, self.PATTERN)
        self.told(0, "changed", "stdout.log was shortened")

    def test_a_log_that_a_peer_rewrites(self):
        """In its place, and as long as it was."""
        for route in ("", "redirects: all\n"):
            with self.subTest(route):
                self.ranks(["print('x' * 99999); print('acc=0.5', flush=True)",
                            "ended(0); logged('0.5'); "
                            "log = run / 'attempt_0/0/stdout.log'; "
                            "text = log.read_text().replace('0.5', '0.9'); "
                            "log.open('r+').write(text); "
                            "print('acc=0.5')"], 5, self.PATTERN + route)
                self.told(0, "changed", "stdout.log was changed after the rank "
                          "had ended")
                self.assertEqual(self.delivered(), [None, {"acc": "0.5"}])

    def test_lines_that_take_too_many_steps(self):
        pattern = "results: {from: stdout, pattern: '^(a+)+b|acc=(?<acc>\\d+)'}\n"
        bad = "'a' * 60 + 'c'"
        for words in (f"print({bad}); print('acc=1')",
                      f"print('acc=1'); print({bad})",
                      f"print({bad}); print('acc=1'); print({bad}, end='')",
                      f"print('\\n'.join([{bad}] * 50 + ['acc=1'] + "
                      f"[{bad}] * 50))"):
            with self.subTest(words):
                done = self.ranks([words], 0, pattern)
                self.assertEqual(self.delivered(), [{"acc": "1"}])
                self.assertEqual(done.stderr.count("took too many steps"), 1)


class Sizes(Case):
    def test_a_limit(self):
        put = "put(mine, '\"' + 'x' * %d + '\"')"
        self.ranks([put % 1022], 0, "results: {limit: 1KiB}\n")
        self.ranks([put % 1023], 5, "results: {limit: 1KiB}\n")
        self.told(0, "too_large", r"result.json has 1025 bytes, more than "
                  r"results.limit \(1KiB\) allows")

    def test_a_huge_hole(self):
        """Refused before a byte of it is read."""
        with self.takes_less(20):
            self.ranks(["mine.touch(); os.truncate(mine, 3 << 40)"], 5)
        self.told(0, "too_large", r"more than results.limit \(256MiB\)")

    def peak(self, text, code=0, more="results: {from: file}\n"):
        """How many bytes of memory jobrun had at most for such a result: it is
        the parent of the keeper that starts `on_end`."""
        self.write("big.json", text)
        self.write("peak", "keeper=$(sed -n 's/^PPid://p' /proc/$PPID/status)\n"
                   "sed -n 's/^VmHWM://p' /proc/$((keeper))/status > hwm\n")
        self.run_spec("entrypoint: {shell: 'cat big.json > "
                      "$JOBRUN_RESULT_FILE'}\non_end: [sh, peak]\n" + more, code)
        return int((self.folder / "hwm").read_text().split()[0]) << 10

    def test_many_small_values(self):
        """They cost no more than four times their text."""
        least = self.peak("{}")
        fields = ("results: {fields: {loss: {type: number, max: 2}, data: {type: "
                  "array}}, equal: [loss]}\n")
        for text, more in (
                ("[" + ",".join(["{}"] * 2000000) + "]", ""),
                ("[" + ", ".join(["1"] * 2000000) + "]", ""),
                ("{" + ",".join(f'"{i:x}":[]' for i in range(600000)) + "}", ""),
                ('{"data": [' + ",".join(["{}"] * 2000000) + '], "loss": 1}',
                 fields)):
            with self.subTest(text[:20]):
                most = self.peak(text, 0, more or "results: {from: file}\n")
                if not os.environ.get("SANITIZED"):
                    self.assertLess((most - least) / len(text), 4)
                self.assertEqual(self.delivered(), [json.loads(text)])

    def test_fields_of_a_large_result(self):
        data = "[" + ",".join(["0.5"] * 30000) + "]"
        for head, more, text in (
                (f'{{"data": {data}, "loss": 3}}', "fields: {loss: {type: number, "
                 "max: 2}}", "'loss' is 3, more than 2"),
                (f'{{"data": {data}, "x": {data}}}', "fields: {x: {type: object}}",
                 r"'x' is \[0.5,0.5.*\.\.\., not an object"),
                (f'{{"data": {data}}}', "fields: {x: {type: object}}",
                 "has no 'x'"),
                (data, "fields: {x: {type: object}}", "is not an object")):
            with self.subTest(text):
                self.peak(head, 5, f"results: {{{more}}}\n")
                self.told(0, "field", text)
        self.peak(f'{{"data": {data},}}', 5)
        self.told(0, "not_json", "result.json is not JSON: line 1, column")
        self.ranks([f"put(mine, json.dumps({{'data': [{n}] * 99999}}))"
                    for n in (1, 2)], 5, "results: {equal: [data]}\n")
        self.told(1, "unequal", r"'data' is \[2,2.*but \[1,1")
        self.ranks(["put(mine, json.dumps({'data': [1] * 99999}))"] * 2, 0,
                   "results: {equal: [data]}\n")
        self.assertIn("data equal", self.expect(self.jobrun("show", "latest"),
                                                0).stdout)

    def test_bounds_beyond_what_a_double_holds(self):
        more, less = "9007199254740993", "9007199254740992"
        for value, bound, code in ((more, f"max: {less}", 5),
                                   (more, f"max: {more}", 0),
                                   (less, f"min: {more}", 5),
                                   (less, f"min: {less}.5", 5),
                                   (less, f"max: {less}.5", 0)):
            with self.subTest(bound, value=value):
                self.ranks([f"put(mine, '{{\"x\": {value}}}')"], code,
                           "results: {fields: {x: {type: integer, %s}}}\n"
                           % bound)
                if code != 0:
                    self.told(0, "field", f"'x' is {value}, (more|less) than "
                              + bound.split()[1])

    def test_integers_beyond_64_bits(self):
        self.ranks(["put(mine, '18446744073709551615')"], 5)
        self.told(0, "not_json", "result.json: line 1, column 20: a number "
                  "beyond 64 bits; write it as a string")

    def test_nan(self):
        self.ranks(["put(mine, json.dumps(float('nan')))"], 5)
        self.told(0, "not_json", "result.json is not JSON")

    def test_nul(self):
        self.call("nul", 0, "results: {fields: {x: {type: string, pattern: "
                  "'^a.b$'}}, equal: [x]}\n")
        self.assertEqual(self.delivered(), [{"x": "a\0b"}] * 2)
        for words in (["show", "latest"], ["report", "latest"],
                      ["show", "latest", "--json"]):
            self.assertNotIn("\0", self.expect(self.jobrun(*words), 0).stdout)


if __name__ == "__main__":
    harness.main()
