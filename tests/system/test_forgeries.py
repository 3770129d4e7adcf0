"""What a rank, or whoever has its rights, may try to make a failed run look good,
another rank the cause, or the record say something else."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time

import harness
from test_delivered import Case as Delivered
from test_detached_runs import until

# Their pids, as a rank finds them: it is a child of the runner.
ABOVE = """\
import ctypes, os, pathlib, resource, shutil, signal, socket, stat, sys, time
from rank import *

def parent(pid):
    text = pathlib.Path("/proc/%d/stat" % pid).read_text()
    return int(text.rpartition(")")[2].split()[1])

runner = os.getppid()
guard = parent(runner)
libc = ctypes.CDLL(None, use_errno=True)
results = json.dumps({"format_version": 1, "status": "succeeded", "exit_code": 0,
                      "name": "forged", "world_size": 1, "ranks": []})

def traces(pid):
    # PTRACE_SEIZE
    if libc.ptrace(0x4206, pid, None, None) != 0:
        sys.exit(99)

def put_at(other, text):
    # By the number of its inode: name_to_handle_at(2), open_by_handle_at(2).
    class Handle(ctypes.Structure):
        _fields_ = [("bytes", ctypes.c_uint), ("type", ctypes.c_int),
                    ("handle", ctypes.c_ubyte * 128)]
    handle, mount = Handle(128), ctypes.c_int()
    folder = os.open(other.parent, os.O_RDONLY)
    if libc.name_to_handle_at(-100, str(other).encode(), ctypes.byref(handle),
                              ctypes.byref(mount), 0) != 0:
        sys.exit(98)
    fd = libc.open_by_handle_at(folder, ctypes.byref(handle), os.O_WRONLY)
    if fd < 0:
        sys.exit(98)
    os.write(fd, text)

if __name__ == "__main__":
    exec(sys.argv[1].replace("; ", "\\n"))
"""


class Case(Delivered):
    def setUp(self):
        super().setUp()
        self.write("above.py", ABOVE)

    def job(self, words, more=""):
        """The spec of ranks that do what these words say."""
        per_rank = "".join(f"  {i}: {{args: [{json.dumps(word)}]}}\n"
                           for i, word in enumerate(words))
        return self.write("t.jobrun.yaml", (
            f"version: 1\nname: t\ndevice: cpu\noversubscribe: true\n"
            f"world_size: {len(words)}\nentrypoint: [python3, above.py]\n"
            f"per_rank:\n{per_rank}{more}"))

    def run_job(self, words, code, more=""):
        done = self.jobrun(self.job(words, more))
        if any(f"code {refused}" in done.stderr for refused in (98, 99)):
            self.skipTest(f"SKIPPED: not allowed here: {done.stderr}")
        return self.expect(done, code)

    def last_line_is(self, done, code):
        self.assertRegex(done.stderr, f"exit status {code}\n")


class Results(Case):
    FILE = "on_failure: continue\nresults: {from: file}\n"
    GOOD = "put(mine, '{\"x\": 1}')"

    def test_by_another_way_to_the_file(self):
        for act in ("put(pathlib.Path('/proc/self/root' + str(of(0))), '[2]')",
                    "put(pathlib.Path('/proc/%d/cwd' % runner) / "
                    "os.path.relpath(of(0)), '[2]')",
                    "put_at(of(0), b'[2]')"):
            with self.subTest(act):
                self.run_job([self.GOOD, f"ended(0); {act}; {self.GOOD}"], 5,
                             self.FILE)
                self.told(0, "changed", "was changed after the rank had ended")

    def test_what_is_no_plain_file(self):
        for act in ("os.mkfifo(mine)",
                    "socket.socket(socket.AF_UNIX).bind("
                    "os.path.relpath(mine))",
                    "os.mkdir(mine)",
                    "os.symlink('/dev/stdin', mine)",
                    "os.symlink('/proc/self/environ', mine)"):
            with self.subTest(act):
                self.run_job([act, self.GOOD], 5, self.FILE)
                self.told(0, "missing", "regular file|symbolic link|opened")

    def test_a_device(self):
        if os.geteuid() != 0:
            self.skipTest("SKIPPED: devices are root's to make")
        self.run_job(["os.mknod(mine, stat.S_IFCHR | 0o666, os.makedev(1, 5))",
                      self.GOOD], 5, self.FILE)
        self.told(0, "missing", "not a regular file")

    def test_what_is_nearly_json(self):
        texts = [b"NaN", b"[Infinity]", b"[-Infinity]", b"1e999", b"-1e999",
                 b'{"x": 1, "x": 2}', b'\xef\xbb\xbf{"x": 1}',
                 '{"x": 1}'.encode("utf-16"), b"[" * 5000 + b"]" * 5000,
                 b'{"x": 1} {"x": 2}', b'{"x": 1}\0', b'\0{"x": 1}',
                 b"{'x': 1}", b'{"x": 1,}', b'"\\ud800"', b'"\xed\xa0\x80"',
                 b'"a\nb"', b"+1", b".5", b"1.", b"0x10", b"// x\n1", b"",
                 b" \n"]
        self.run_job([f"mine.write_bytes({text!r})" if len(text) < 99 else
                      f"mine.write_bytes(b'[' * {len(text) // 2} + "
                      f"b']' * {len(text) // 2})" for text in texts], 5,
                     self.FILE)
        for text, row in zip(texts, self.results()["ranks"]):
            wanted = "empty" if text == b"" else "not_json"
            self.assertEqual(row["result_error"], wanted, text[:20])

    def test_lines_and_matches(self):
        """Of '^acc=(?<acc>[0-9.]+)$' the last one counts, however lines end."""
        texts = [(r"acc=1\racc=2\r", "2"), (r"acc=1\r\nacc=2\r\n", "2"),
                 (r"acc=1\nacc=2", "2"), (r"acc=1\n\nacc=2 \n", "1"),
                 (r"x\0acc=3\nacc=1\n\0", "1"), (r"\xff\nacc=1\n\xc3(", "1"),
                 (r"\xef\xbb\xbfacc=1\nacc=2\n", "2")]
        edge = [(size, "9") for size in
                ((1 << 16) - 3, 1 << 16, (1 << 20) - 3, (1 << 20) + 253)]
        words = [f"os.write(1, b'{text}')" for text, _ in texts] + [
            f"sys.stdout.write('x' * {size} + '\\nacc=9\\n' + 'y' * {size})"
            for size, _ in edge]
        self.run_job(words, 0, "results: {from: stdout, pattern: "
                     "'^acc=(?<acc>[0-9.]+)$'}\n")
        self.assertEqual([result["acc"] for result in self.delivered()],
                         [wanted for _, wanted in texts + edge])

    def test_several_on_the_last_line(self):
        self.run_job(["os.write(1, b'acc=1 acc=2 acc=3')"], 0, "results: {from: "
                     "stdout, pattern: 'acc=(?<acc>[0-9.]+)'}\n")
        self.assertEqual(self.delivered(), [{"acc": "3"}])

    def test_another_says_that_it_returned(self):
        """By its control socket, which pidfd_getfd(2) gives to who may trace."""
        self.write("g.py", """\
import ctypes, os, pathlib, time
libc = ctypes.CDLL(None, use_errno=True)
rank = int(os.environ["RANK"])
pid, said = pathlib.Path("pid"), pathlib.Path("said")
def wait(path):
    while not path.exists():
        time.sleep(0.01)
def f():
    if rank == 0:
        pathlib.Path(os.environ["JOBRUN_RESULT_FILE"]).write_text('{"x": 1}')
        pathlib.Path("new").write_text(str(os.getpid()))
        os.rename("new", "pid")
        wait(said)
        os._exit(0)
    wait(pid)
    other = libc.syscall(434, int(pid.read_text()), 0)
    fd = libc.syscall(438, other, 3, 0)
    if fd < 0:
        said.touch()
        return "refused"
    at = os.environ["JOBRUN_RESULT_FILE"].replace("/1/", "/0/")
    st = os.stat(at)
    os.write(fd, b"r %d %d %d %d %d" % (st.st_dev, st.st_ino, st.st_size,
                                        st.st_mtime_ns, st.st_ctime_ns))
    said.touch()
    return {"x": 1}
""")
        self.run_spec("world_size: 2\non_failure: continue\nentrypoint: "
                      "{python: {function: 'g:f'}}\n", 5)
        if self.delivered()[1] == "refused":
            self.skipTest("SKIPPED: no descriptor of another can be taken")
        self.told(0, "missing", "which is not the one that jobrun started|"
                  "did not return")

    def test_who_is_killed_after_it_returned(self):
        self.write("g.py", """\
import os, pathlib, rank, signal
def f():
    if rank.rank == 0:
        rank.put(pathlib.Path("pid"), str(os.getpid()))
        return {"x": 1}
    rank.returned(0)
    os.kill(int(pathlib.Path("pid").read_text()), signal.SIGKILL)
    return {"x": 1}
""")
        self.run_spec("world_size: 2\nentrypoint: {python: {function: 'g:f'}}\n",
                      1)
        cause = self.results()["root_cause"]
        self.assertEqual((cause["rank"], cause["signal"]), (0, "SIGKILL"))

    def test_a_file_that_is_mounted_over_it(self):
        act = ("put(pathlib.Path('better'), '{\"x\": 9}'); ended(0); "
               "libc.mount(b'better', str(of(0)).encode(), None, 4096, None) "
               "== 0 or sys.exit(98); ")
        try:
            self.run_job([self.GOOD, act + self.GOOD], 5, self.FILE)
            self.assertIn(self.results()["ranks"][0]["result_error"],
                          ("changed", "missing"))
            self.assertIsNone(self.delivered()[0])
        finally:
            for path in (self.folder / "runs").glob("*/attempt_0/0/*"):
                subprocess.run(["umount", path], capture_output=True)


class Folder(Case):
    """The run's folder is where the ranks may write."""

    def test_it_is_removed(self):
        done = self.run_job(["shutil.rmtree(run)"], 7)
        self.last_line_is(done, 7)

    def test_it_is_moved_and_another_one_is_in_its_place(self):
        self.run_job(["run.rename('moved'); run.mkdir(); "
                      "put(run / 'results.json', results); "
                      "put(mine, '{}')"], 5, "results: {from: file}\n")
        with open(self.folder / "moved/results.json") as file:
            self.assertEqual(json.load(file)["exit_code"], 5)

    def test_something_is_in_the_place_of_a_record(self):
        for act in ("put(run / 'results.json', results)",
                    "put(run / 'run.json', '{}')",
                    "(run / 'run.json').unlink()",
                    "os.mkfifo(run / 'results.json')",
                    "[os.unlink(run / name) for name in "
                    "('.results.json', '.run.json')]",
                    "[replace(run / name, results) for name in "
                    "('.results.json', '.run.json')]",
                    "os.symlink('victim', run / 'results.json')",
                    "put(pathlib.Path('victim'), 'mine'); [(os.unlink(run / name)"
                    ", os.symlink('../../victim', run / name)) for name in "
                    "('.results.json', '.run.json')]",
                    "[(os.unlink(run / name), os.mkfifo(run / name)) for name "
                    "in ('.results.json', '.run.json')]"):
            with self.subTest(act):
                self.run_job([act + "; sys.exit(3)"], 1)
                self.assertEqual(self.results()["exit_code"], 1)
                self.assertEqual(self.results()["name"], "t")
                with open(self.folder / "runs/latest/run.json") as file:
                    self.assertEqual(json.load(file)["exit_code"], 1)
                self.assertEqual(self.expect(self.jobrun("wait"), 1).stdout, "")
        self.assertEqual((self.folder / "victim").read_text(), "mine")

    def test_a_folder_is_in_the_place_of_a_record(self):
        for name in ("results.json", "run.json", ".results.json", ".run.json"):
            for code in (0, 3):
                with self.subTest(name, code=code):
                    done = self.jobrun(self.job(
                        [f"(run / '{name}').unlink(True); "
                         f"(run / '{name}').mkdir(); "
                         f"put(run / '{name}' / 'x', ''); sys.exit({code})"]))
                    self.expect(done, code // 3)
                    self.assertEqual(self.results()["exit_code"], code // 3)

    def test_made_up_results_and_a_killed_guard(self):
        for act in ("put(run / 'results.json', results)",
                    "put(run / '.results.json', results); "
                    "(run / '.results.json').rename(run / 'results.json')"):
            with self.subTest(act):
                process = self.start(self.job(
                    [act + "; put(run / 'ready', ''); "
                     "os.kill(guard, signal.SIGKILL); time.sleep(1000)"]))
                self.assertEqual(process.wait(harness.LIMIT), -signal.SIGKILL)
                self.assertTrue(until(
                    lambda: self.results()["name"] == "t"))
                self.assertNotEqual(self.results()["exit_code"], 0)
                self.assertNotEqual(self.jobrun("wait").returncode, 0)

    def test_what_it_said_of_itself_is_no_order(self):
        """events.jsonl is for those who look, not for the verdict."""
        self.run_job(["put(run / 'events.jsonl', '{\"event\":\"rank_ended\","
                      "\"rank\":0,\"exit_code\":0}\\n'); sys.exit(3)"], 1)
        self.assertEqual(self.results()["root_cause"]["exit_code"], 3)


class Processes(Case):
    """Of jobrun and of the peers."""

    def test_the_runner_is_traced_and_killed(self):
        """Its end is told to a rank, or to a child of one, which the kernel
        does not end with it; neither listens."""
        kill = "traces(runner); os.kill(runner, signal.SIGKILL); "
        for act in (kill, "os.fork() and time.sleep(1000); " + kill):
            with self.subTest(act):
                self.run_job([act + "time.sleep(1000)", "time.sleep(1000)"], 7)
                results = self.results()
                self.assertEqual(results["exit_code"], 7)
                self.assertEqual(results["processes_left"], 0)
                self.assertEqual(results["jobrun_killed"]["signal"], "SIGKILL")

    def test_a_peer_is_traced_when_it_fails(self):
        """Its end is told to its tracer at first; meanwhile nobody is busy."""
        words = ["put(pathlib.Path('pid'), str(os.getpid())); "
                 "await_file('traced'); sys.exit(3)",
                 "await_file('pid'); time.sleep(0.1); "
                 "traces(int(pathlib.Path('pid').read_text())); "
                 "put(pathlib.Path('traced'), ''); time.sleep(4)"]
        with self.takes_less(1.2):
            self.run_job(words, 1)
        cause = self.results()["root_cause"]
        self.assertEqual((cause["rank"], cause["exit_code"]), (0, 3))

    def test_the_runner_is_stopped(self):
        process = self.start(self.job(
            ["os.kill(runner, signal.SIGSTOP); put(pathlib.Path('ready'), ''); "
             "time.sleep(1000)"]))
        self.assertTrue(until((self.folder / "ready").exists))
        process.terminate()
        self.assertEqual(process.wait(harness.LIMIT), 143)
        self.assertEqual(self.results()["exit_code"], 143)

    def test_a_rank_that_adopts(self):
        """PR_SET_CHILD_SUBREAPER, and a daemon in a session of its own."""
        self.run_job(["libc.prctl(36, 1, 0, 0, 0); "
                      "later(0, lambda: (os.setsid(), "
                      "put(pathlib.Path('daemon'), str(os.getpid())), "
                      "time.sleep(1000)))", "await_file('daemon')"], 0)
        self.assertEqual(self.results()["processes_left"], 0)
        pid = (self.folder / "daemon").read_text()
        self.assertFalse(pathlib.Path(f"/proc/{pid}").exists())

    def test_a_rank_in_another_control_group(self):
        self.run_job(["path = next((p for p in (pathlib.Path('/sys/fs/cgroup/"
                      "cgroup.procs'), pathlib.Path('/sys/fs/cgroup/pids/"
                      "cgroup.procs')) if os.access(p, os.W_OK)), None); "
                      "path and path.write_text(str(os.getpid())); "
                      "later(0, lambda: (os.setsid(), "
                      "put(pathlib.Path('daemon'), str(os.getpid())), "
                      "time.sleep(1000)))", "await_file('daemon')"], 0)
        self.assertEqual(self.results()["processes_left"], 0)
        pid = (self.folder / "daemon").read_text()
        self.assertFalse(pathlib.Path(f"/proc/{pid}").exists())

    def test_limits_of_jobrun_itself(self):
        """A rank may lower them: no success is told that is not recorded. A
        sanitizer needs memory of its own, and what is taken here to look for
        leaks."""
        limits = {"FSIZE", "NOFILE", "NPROC", "AS", "CPU"}
        if os.environ.get("SANITIZED"):
            limits.remove("AS")
        for limit in sorted(limits):
            for code in (0, 3):
                with self.subTest(limit, code=code):
                    done = self.jobrun(self.job(
                        [f"[resource.prlimit(pid, resource.RLIMIT_{limit}, "
                         f"(0 if '{limit}' != 'CPU' else 1, resource.prlimit("
                         f"pid, resource.RLIMIT_{limit})[1])) for pid in "
                         f"(runner, guard)]; sys.exit({code})"]),
                        env={"ASAN_OPTIONS": "detect_leaks=0"})
                    path = self.folder / "runs/latest/results.json"
                    told = json.loads(path.read_text())["exit_code"] if \
                        path.exists() else None
                    if told is None:
                        self.assertNotEqual(done.returncode, 0)
                        self.last_line_is(done, done.returncode)
                    else:
                        self.assertEqual(told, done.returncode)
                    shutil.rmtree(self.folder / "runs")

    def test_files_that_may_not_grow(self):
        """ulimit -f: either there is no run, or its record is whole."""
        for blocks in range(0, 14):
            done = subprocess.run(
                ["sh", "-c", f"ulimit -f {blocks}; exec \"$@\"", "sh",
                 harness.JOBRUN, "-n", "2", "--", "sh", "-c", "exit $RANK"],
                cwd=self.folder, env=harness.clean_environment(), text=True,
                stdin=subprocess.DEVNULL, capture_output=True,
                timeout=harness.LIMIT)
            with self.subTest(blocks=blocks, said=done.stderr):
                self.assertIn(done.returncode, (1, 7))
                runs = list((self.folder / "runs").glob("*/run.json"))
                if runs:
                    self.assertEqual(self.results()["exit_code"],
                                     done.returncode)
                    self.last_line_is(done, done.returncode)
            shutil.rmtree(self.folder / "runs", ignore_errors=True)


class Causes(Case):
    def cause(self):
        cause = self.results()["root_cause"]
        return cause["rank"], cause["exit_code"], cause["signal"]

    def test_who_stops_a_peer(self):
        self.run_job(["put(pathlib.Path('pid'), str(os.getpid())); "
                      "time.sleep(1000)",
                      "await_file('pid'); time.sleep(0.1); "
                      "os.kill(int(pathlib.Path('pid').read_text()), "
                      "signal.SIGSTOP); sys.exit(3)"], 1)
        self.assertEqual(self.cause(), (1, 3, None))

    def test_an_error_file_that_is_none(self):
        for act in ("os.mkfifo(name)", "os.mkdir(name)",
                    "open(name, 'w').truncate(3 << 30)",
                    "open(name, 'w').write('[' * 100000)",
                    "os.symlink('/dev/zero', name)"):
            with self.subTest(act), self.takes_less(5):
                self.run_job([f"name = os.environ['JOBRUN_ERROR_FILE']; {act}; "
                              "sys.exit(3)", "time.sleep(1000)"], 1)
                self.assertEqual(self.cause(), (0, 3, None))

    def test_a_peer_that_is_hidden(self):
        """PR_SET_DUMPABLE: not even its own user may look at it."""
        self.run_job(["libc.prctl(4, 0, 0, 0, 0); sys.exit(3)",
                      "time.sleep(1000)"], 1)
        self.assertEqual(self.cause(), (0, 3, None))

    def test_names_that_look_like_something_else(self):
        """Of the process: /proc/PID/stat has it in its midst."""
        self.run_job(["libc.prctl(15, b') Z 1 1 1 (', 0, 0, 0); "
                      "put(pathlib.Path('up'), ''); time.sleep(0.2); "
                      "os.kill(os.getpid(), signal.SIGSEGV)",
                      "libc.prctl(15, b') R 4 4 4) x', 0, 0, 0); "
                      "time.sleep(1000)"], 1)
        self.assertEqual(self.cause(), (0, None, "SIGSEGV"))


if __name__ == "__main__":
    harness.main()
