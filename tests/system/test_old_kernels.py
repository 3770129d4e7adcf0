"""Kernels that lack the younger system calls, and sandboxes that refuse them:
nothing but speed is lost. DENY installs a seccomp filter and executes jobrun.

With LONG=1 each call is denied by itself instead. Both errors are told from others
in one place; EPERM is the one that may also be the call's own answer.
"""
import json
import os
import pathlib
import signal
import subprocess
import time
import uuid

import harness
import processes
from processes import marked

DENY = os.environ["DENY"]
CALLS = ("memfd_create", "pidfd_send_signal", "pidfd_open", "clone3",
         "close_range", "openat2", "faccessat2", "waitid")
# Kernels call a type of waitid that they do not know invalid.
KERNEL = "all=ENOSYS,waitid=EINVAL,memfd_create=ENOSYS"
SANDBOX = "all=EPERM"
MIXED = "pidfd_open=EPERM,close_range=ENOSYS"  # but others are there
FILTERS = [KERNEL, SANDBOX]
if os.environ.get("LONG"):
    FILTERS = [MIXED, "clone3=ENOSYS"] + [f"{call}=EPERM" for call in CALLS]

HEAD = processes.HEAD + "oversubscribe: true\n"
STUBBORN = processes.STUBBORN + "oversubscribe: true\n"
POLITE = processes.POLITE + "oversubscribe: true\n"
FORKED = """\
import os, time

def train():
    print("rank", os.environ["RANK"], flush=True)
    if os.environ["RANK"] == os.environ.get("BAD"):
        os._exit(5)
    if "BAD" in os.environ:
        time.sleep(600)
    return {"rank": int(os.environ["RANK"])}
"""


def deny(words, *command):
    return [DENY, words, *map(str, command)]


class Core(harness.Case):
    """What the classes below have under one filter each."""
    FILTER = None

    def setUp(self):
        if self.FILTER is None:
            self.skipTest("it is a part of others")
        super().setUp()
        self.mark = f"TEST_MARK={uuid.uuid4().hex}"
        # A sanitizer would take SIGSEGV for a mistake of the program.
        self.marks = dict([self.mark.split("=")],
                          ASAN_OPTIONS="handle_segv=0")

    def jobrun(self, *words, env=None, **how):
        return subprocess.run(
            deny(self.FILTER, harness.JOBRUN, *words), cwd=self.folder,
            env=harness.clean_environment(**(env or {})), text=True,
            stdin=subprocess.DEVNULL, capture_output=True,
            timeout=harness.LIMIT, **how)

    def plain(self, *words):
        """A jobrun without the filter."""
        return super().jobrun(*words)

    def begin(self, *words, plain=False, **how):
        command = [harness.JOBRUN, *map(str, words)]
        process = subprocess.Popen(
            command if plain else deny(self.FILTER, *command),
            cwd=self.folder, stdin=subprocess.DEVNULL,
            env=harness.clean_environment(**self.marks),
            **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE,
               "text": True, **how})
        self.addCleanup(self.end, process)
        return process

    def launch(self, text, *words, **how):
        process = self.begin(self.write("t.jobrun.yaml", text), *words, **how)
        for _ in range(3):
            self.assertIn("up", process.stdout.readline())
        return process

    def until(self, there):
        limit = time.monotonic() + harness.LIMIT
        while not there():
            self.assertLess(time.monotonic(), limit)
            time.sleep(0.01)

    def ended(self, process, code):
        out, err = process.communicate(timeout=harness.LIMIT)
        self.assertEqual(process.returncode, code, f"{out}\n{err}")
        self.until(lambda: not marked(self.mark))
        return out, err

    def test_output_descriptors_and_results(self):
        """Each rank has its output, its result, and no descriptor of others,
        though jobrun was started with some."""
        extra = os.open("/dev/null", os.O_RDONLY)
        self.addCleanup(os.close, extra)
        done = self.expect(self.jobrun(
            "-n", "4", "-s", "results={from: file, fields: {r: {type: integer}}}", "-s",
            "redirects=all", "-s", "tee=all", "--", "sh", "-c",
            "echo \"out $RANK\"; echo \"err $RANK\" >&2; "
            "for fd in /proc/$$/fd/*; do echo \"fd ${fd##*/}\"; done; "
            "echo \"{\\\"r\\\": $RANK}\" > $JOBRUN_RESULT_FILE",
            pass_fds=[extra]), 0)
        results = self.results()
        self.assertEqual(results["status"], "succeeded")
        self.assertEqual([row["result"] for row in results["ranks"]],
                         [{"r": rank} for rank in range(4)])
        for rank in range(4):
            folder = self.folder / "runs/latest/attempt_0" / str(rank)
            lines = (folder / "stdout.log").read_text().splitlines()
            self.assertEqual(lines[0], f"out {rank}")
            # The shell has the folder open itself, meanwhile.
            self.assertEqual(lines[1:], ["fd 0", "fd 1", "fd 1000", "fd 2", "fd 3"])
            self.assertEqual((folder / "stderr.log").read_text(),
                             f"err {rank}\n")
            self.assertIn(f"[{rank}] out {rank}\n", done.stdout)
        self.assertEqual(results["processes_left"], 0)

    def test_files_that_the_rank_opens_itself(self):
        self.expect(self.jobrun(
            "-n", "2", "-s", "redirects=all", "-s", "tee=none", "--", "sh",
            "-c", "echo out; exec ls /proc/self/fd"), 0)
        for rank in range(2):
            self.assertEqual(
                (self.folder / f"runs/latest/attempt_0/{rank}/stdout.log")
                .read_text().split(), ["out", "0", "1", "1000", "2", "3"])

    def test_the_first_failure(self):
        done = self.expect(self.jobrun(
            "-n", "8", "--", "sh", "-c",
            "test $RANK = 5 && exit 7; exec sleep 600"), 1)
        results = self.results()
        self.assertEqual((results["root_cause"]["rank"],
                          results["root_cause"]["exit_code"]), (5, 7))
        self.assertEqual([row["state"] for row in results["ranks"]].count(
            "stopped"), 7)
        self.assertIn("rank 5 exited with code 7", done.stderr)

    def test_who_was_first_though_all_had_ended(self):
        """The runner looks only after both have: the kernel's word for the
        first one is kept."""
        process = self.begin(
            "-n", "3", "--", "sh", "-c", "echo up; read x < fifo$RANK; "
            "exit $((RANK + 3))")
        for rank in range(3):
            os.mkfifo(self.folder / f"fifo{rank}")
        pids = [self.await_event(event="rank_started", rank=rank)["pid"]
                for rank in range(3)]
        runner = harness.runner_of(process.pid)
        os.kill(runner, signal.SIGSTOP)
        for rank in 2, 0, 1:
            os.kill(pids[rank], signal.SIGKILL)
            self.until(lambda: pathlib.Path(f"/proc/{pids[rank]}/stat")
                       .read_text().rpartition(")")[2].split()[0] == "Z")
        os.kill(runner, signal.SIGCONT)
        self.ended(process, 1)
        self.assertEqual(self.results()["root_cause"]["rank"], 2)

    def test_many_that_end_at_once(self):
        self.expect(self.jobrun("-n", "200", "-s", "tee=none", "--", "sh",
                                "-c", "exit $((RANK % 2 * 0))"), 0)
        results = self.results()
        self.assertEqual({row["exit_code"] for row in results["ranks"]}, {0})
        ends = [event["rank"] for event in self.events()
                if event["event"] == "rank_ended"]
        self.assertEqual(sorted(ends), list(range(200)))

    def test_what_cannot_be_started(self):
        done = self.expect(self.jobrun("-n", "2", "--", "./none"), 7)
        self.assertIn("./none", done.stderr)
        self.write("none", "#!/no/such/interpreter\n").chmod(0o755)
        self.expect(self.jobrun("-n", "2", "--", "./none"), 7)
        self.write("plain", "x\n")
        self.expect(self.jobrun("-n", "2", "--", "./plain"), 7)

    def test_signals(self):
        process = self.launch(POLITE)
        process.send_signal(signal.SIGUSR1)
        for _ in range(3):
            self.assertIn("usr1", process.stdout.readline())
        process.terminate()
        self.ended(process, 128 + signal.SIGTERM)
        self.assertEqual(self.results()["status"], "stopped")

    def test_suspended_and_resumed(self):
        process = self.launch(POLITE)
        process.send_signal(signal.SIGTSTP)
        rank = self.await_event(event="rank_started", rank=1)["pid"]

        def state():
            return pathlib.Path(f"/proc/{rank}/stat").read_text() \
                .rpartition(")")[2].split()[0]
        self.until(lambda: state() == "T")
        process.send_signal(signal.SIGCONT)
        self.until(lambda: state() != "T")
        process.terminate()
        self.ended(process, 128 + signal.SIGTERM)

    def test_stubborn_ranks_are_killed_after_the_grace(self):
        process = self.launch(STUBBORN)
        process.terminate()
        self.ended(process, 128 + signal.SIGTERM)
        self.assertEqual({row["signal"] for row in self.results()["ranks"]},
                         {"SIGKILL"})

    def test_daemons_are_swept(self):
        done = self.expect(self.jobrun(
            "-n", "3", "--", "sh", "-c",
            "setsid sh -c 'sleep 600 & sleep 600' > /dev/null 2>&1 &",
            env=self.marks), 0)
        self.assertIn("0 processes left", done.stderr)
        self.assertEqual(marked(self.mark), [])

    def test_the_runner_is_killed(self):
        for isolation in "none", "pid":
            with self.subTest(isolation):
                process = self.launch(STUBBORN + f"isolation: {isolation}\n")
                os.kill(harness.runner_of(process.pid), signal.SIGKILL)
                self.ended(process, 7)
                results = self.results()
                self.assertEqual(results["status"], "launch_failed")
                self.assertEqual(results["jobrun_killed"]["signal"], "SIGKILL")

    def test_the_guard_is_killed(self):
        for isolation in "none", "pid":
            for sig in signal.SIGKILL, signal.SIGSEGV:
                with self.subTest(isolation=isolation, signal=sig):
                    process = self.launch(STUBBORN +
                                          f"isolation: {isolation}\n")
                    process.send_signal(sig)
                    self.ended(process, -sig)
                    killed = self.results()["jobrun_killed"]
                    self.assertEqual((killed["pid"], killed["signal"]),
                                     (process.pid, sig.name))

    def test_the_guard_is_killed_while_the_runner_is_stopped(self):
        process = self.launch(STUBBORN)
        os.kill(harness.runner_of(process.pid), signal.SIGSTOP)
        process.kill()
        self.ended(process, -signal.SIGKILL)

    def test_the_guard_is_killed_between_attempts(self):
        """The runner that stays writes the record."""
        process = self.begin(
            "-n", "1", "-s", "restart={max: 1, backoff: 10m}", "--", "false")
        self.await_event(event="attempt_failed", attempt=0)
        process.kill()
        self.ended(process, -signal.SIGKILL)
        self.assertEqual(self.results()["jobrun_killed"]["process"], "guard")

    def test_a_restart(self):
        self.expect(self.jobrun(
            "-n", "2", "-s", "restart={max: 2, backoff: 1ms}", "--", "sh",
            "-c", "exit $((3 * (JOBRUN_ATTEMPT < 2)))"), 0)
        self.assertEqual(self.results()["attempt"], 2)

    def test_isolation_tells_the_pids_of_the_machine(self):
        process = self.launch(POLITE + "isolation: pid\n")
        pid = self.await_event(event="rank_started", rank=2)["pid"]
        parent = pathlib.Path(f"/proc/{pid}/stat").read_text() \
            .rpartition(")")[2].split()[1]
        self.assertEqual(int(parent), harness.runner_of(process.pid))
        self.assertIn("RANK=2", pathlib.Path(f"/proc/{pid}/environ")
                      .read_text().split("\0"))
        process.terminate()
        self.ended(process, 128 + signal.SIGTERM)

    def test_forked_ranks(self):
        self.write("job.py", FORKED)
        for method in "fork", "forkserver":
            spec = self.write("f.jobrun.yaml", HEAD +
                              f"start_method: {method}\n"
                              "entrypoint: {python: {function: 'job:train'}}\n")
            with self.subTest(method):
                self.expect(self.jobrun(spec), 0)
                self.assertEqual([row["result"] for row
                                  in self.results()["ranks"]],
                                 [{"rank": rank} for rank in range(3)])
                self.expect(self.jobrun(spec, env={"BAD": "1"}), 1)
                cause = self.results()["root_cause"]
                self.assertEqual((cause["rank"], cause["exit_code"]), (1, 5))

    def test_setup_and_evidence_of_a_hang(self):
        """The setup, and commands beside the ranks, are watched as well."""
        self.expect(self.jobrun(self.write("s.jobrun.yaml", HEAD + (
            "setup: export WORD=heard\n"
            "timeouts: {silence: 300ms, stop_grace: 300ms}\n"
            "on_hang: {command: [sh, -c, 'echo looked at %{pid}'], "
            "wait: 1s}\nredirects: all\n"
            "entrypoint: {shell: 'echo $WORD; exec sleep 600'}\n"))), 6)
        folder = self.folder / "runs/latest/attempt_0/2"
        self.assertEqual((folder / "stdout.log").read_text(), "heard\n")
        self.assertIn("looked at", (folder / "hang.txt").read_text())
        self.expect(self.jobrun("-n", "1", "-s", "setup=exit 9", "--", "true"),
                    7)

    def test_a_command_at_the_end(self):
        """It is waited for to its end, and no longer, whoever else ends
        meanwhile."""
        done = self.expect(self.jobrun(
            self.write("e.jobrun.yaml", HEAD + "on_end: [sh, -c, "
                       "'(sleep 0.05 &) ; sleep 0.2; echo told > told']\n"
                       "entrypoint: ['true']\n"), env=self.marks), 0)
        self.assertEqual((self.folder / "told").read_text(), "told\n",
                         done.stderr)
        self.assertEqual(marked(self.mark), [])

    def test_a_custom_device(self):
        """A program that is asked: it is waited for to its end."""
        self.write("acme.facts", "#!/bin/sh\necho 'format_version: 1\n"
                   "devices: [{index: 0}, {index: 1}]'\nexec >&-\nsleep 0.1\n"
                   ).chmod(0o755)
        spec = self.write("acme.jobrun.yaml", "version: 1\ndevice: custom:acme\n"
                          "backends: gloo\nentrypoint: ['true']\n")
        self.expect(self.jobrun(spec), 0)
        self.assertEqual(len(self.results()["ranks"]), 2)

    def test_stopped_and_followed_from_outside(self):
        """By a jobrun under the filter: of a run under it, and of one that is
        not."""
        for plain in False, True:
            with self.subTest(plain=plain):
                process = self.launch(POLITE, "--run-id", f"r{plain}",
                                      plain=plain)
                logs = self.begin("logs", "-f", f"r{plain}")
                wait = self.begin("wait", f"r{plain}")
                self.assertIn("up", logs.stdout.readline())
                done = self.expect(self.jobrun("stop", f"r{plain}"), 0)
                self.assertIn("stopped", done.stderr)
                self.ended(process, 128 + signal.SIGTERM)
                wait.communicate(timeout=harness.LIMIT)
                self.assertEqual(wait.returncode, 128 + signal.SIGTERM)
                logs.communicate(timeout=harness.LIMIT)
                self.assertEqual(logs.returncode, 0)

    def test_a_run_that_is_lost_is_told(self):
        process = self.launch(POLITE, "--run-id", "lost")
        logs = self.begin("logs", "-f", "lost")
        self.assertIn("up", logs.stdout.readline())
        runner = harness.runner_of(process.pid)
        for pid in runner, process.pid:
            os.kill(pid, signal.SIGSTOP)
        for pid in runner, process.pid:
            os.kill(pid, signal.SIGKILL)
        process.wait(harness.LIMIT)
        _, said = logs.communicate(timeout=harness.LIMIT)
        self.assertIn("has ended, and left no results", said)
        self.expect(self.jobrun("wait", "lost"), 7)
        # What both left behind when they were killed in one instant.
        self.jobrun("stop", "lost")
        self.until(lambda: not marked(self.mark))

    def test_who_has_its_number_is_left_alone(self):
        """A record whose process has ended, and whose number is another's:
        nobody is signalled."""
        process = self.launch(POLITE, "--run-id", "old")
        process.kill()
        process.wait(harness.LIMIT)
        self.until(lambda: not marked(self.mark))
        sleeper = subprocess.Popen(["sleep", "600"])
        self.addCleanup(sleeper.wait)
        self.addCleanup(sleeper.kill)
        folder = self.folder / "runs/old"
        (folder / "results.json").unlink(missing_ok=True)
        record = json.loads((folder / "run.json").read_text())
        record["pid"] = sleeper.pid
        record.pop("exit_code", None)
        record["status"] = "running"
        (folder / "run.json").write_text(json.dumps(record))
        done = self.jobrun("stop", "old")
        self.assertNotEqual(done.returncode, 0, done.stderr)
        self.assertIn("lost", done.stderr)
        self.assertIsNone(sleeper.poll())

    def test_doctor_tells_what_is_missing(self):
        told = self.expect(self.jobrun("doctor"), 0).stdout
        denied = {pair.partition("=")[0] for pair in self.FILTER.split(",")}
        for call in CALLS:
            name = "waitid of a pidfd" if call == "waitid" else call
            self.assertEqual(f" {name} (Linux" in told,
                             bool({call, "all"} & denied), told)
        told = self.expect(self.plain("doctor"), 0).stdout
        self.assertIn("kernel   ", told)


def load_tests(loader, standard, pattern):
    """The core under each filter."""
    del standard, pattern
    suite = loader.suiteClass()
    for words in FILTERS:
        name = "".join(c if c.isalnum() else "_" for c in words)
        case = type(name, (Core,), {"FILTER": words})
        suite.addTests(loader.loadTestsFromTestCase(case))
    return suite


if __name__ == "__main__":
    harness.main()
