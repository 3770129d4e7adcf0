"""What a spec says of signals, limits and isolation."""
import os
import pathlib
import random
import re
import resource
import signal
import subprocess
import time

import harness
from test_detached_runs import Case as Supervised, is_alive, until


class Case(Supervised):
    def spec(self, body):
        return self.write("s.jobrun.yaml",
                          f"version: 1\nworld_size: 2\n{body}")

    def run_of(self, body, script, **options):
        """Start the spec with a shell script, wait for both ranks, and return
        the process."""
        self.spec(f"{body}\nentrypoint:\n  shell: |\n" + "".join(
            f"    {line}\n" for line in script.splitlines()))
        process = self.start("s.jobrun.yaml", **options)
        self.ready()
        return process


class Signals(Case):
    MARK = "touch ready.$RANK; while :; do sleep 1000 & wait; done"

    def test_what_the_spec_says(self):
        process = self.run_of(
            "signals: {USR1: stop, HUP: ignore, RTMIN+1: forward, "
            "INT: forward}",
            "trap 'touch int.$RANK' INT\ntrap 'touch rt.$RANK' RTMIN+1\n"
            .replace("RTMIN+1", str(signal.SIGRTMIN + 1)) + self.MARK)
        process.send_signal(signal.SIGHUP)
        for sig, name in ((signal.SIGINT, "int"),
                          (signal.SIGRTMIN + 1, "rt")):
            process.send_signal(sig)
            self.assertTrue(until(
                lambda: len(list(self.folder.glob(f"{name}.*"))) == 2), name)
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGUSR1)
        self.assertEqual(process.wait(harness.LIMIT), 128 + signal.SIGUSR1)
        self.assertIn("STOPPED by SIGUSR1", process.stderr.read())

    def test_suspend_and_resume(self):
        process = self.run_of("name: s", "echo $$ > pid.$RANK\n" + self.MARK)
        ranks = [int(path.read_text())
                 for path in self.folder.glob("pid.*")]

        def states():
            return {pathlib.Path(f"/proc/{pid}/stat").read_text()
                    .rpartition(")")[2].split()[0]
                    for pid in [process.pid, *ranks]}
        process.send_signal(signal.SIGTSTP)
        self.assertTrue(until(lambda: states() == {"T"}), states())
        shown = self.expect(self.jobrun("show"), 0).stdout
        self.assertIn(f"suspended (kill -CONT {process.pid} wakes it)", shown)
        process.send_signal(signal.SIGCONT)
        self.assertTrue(until(lambda: "T" not in states()), states())
        shown = self.expect(self.jobrun("show"), 0).stdout
        self.assertNotIn("suspended", shown)
        process.terminate()
        self.assertEqual(process.wait(harness.LIMIT), 143)

    def test_a_second_interrupt_does_not_wait(self):
        process = self.run_of("timeouts: {stop_grace: 10m}",
                              "trap '' TERM\n" + self.MARK)
        process.send_signal(signal.SIGINT)
        self.assertTrue(until(lambda: any(
            event["event"] == "stop" for event in self.events())))
        # Within a tenth of a second it would be the same interrupt.
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(harness.LIMIT), 130)

    def pipe(self):
        out, into = (os.fdopen(fd, mode, buffering=0)
                     for fd, mode in zip(os.pipe(), ("rb", "wb")))
        self.addCleanup(out.close)
        self.addCleanup(into.close)
        return out, into

    @staticmethod
    def fill(into):
        """Nothing more can be written until the other end is read."""
        fd = os.open(f"/proc/self/fd/{into.fileno()}",
                     os.O_WRONLY | os.O_NONBLOCK)
        try:
            while os.write(fd, b"\n"):
                pass
        except BlockingIOError:
            os.close(fd)

    def test_before_the_ranks_are_there(self):
        """The run has its folder, and jobrun cannot write its first line."""
        out, into = self.pipe()
        self.fill(into)
        self.spec("entrypoint: [sleep, 1000]\n")
        process = self.start("s.jobrun.yaml", stderr=into)
        self.assertTrue(until(
            (self.folder / "runs/latest/run.json").exists))
        process.send_signal(signal.SIGINT)
        into.close()
        self.assertIn(b"STOPPED by SIGINT", out.read().lstrip())
        self.assertEqual(process.wait(harness.LIMIT), 130)
        self.assertEqual(self.results()["status"], "stopped")

    def test_before_the_run_begins(self):
        """Nothing is started, not even what would be done at once."""
        for setup in ("", "setup: touch ran\n"):
            self.spec(f"device: cpu\noversubscribe: true\n{setup}"
                      "entrypoint: [touch, ran]\n")
            for number in (signal.SIGINT, signal.SIGTERM):
                def pending():
                    signal.pthread_sigmask(signal.SIG_BLOCK, [number])
                    os.kill(os.getpid(), number)
                job = self.start("s.jobrun.yaml", preexec_fn=pending)
                said = job.communicate(timeout=harness.LIMIT)[1]
                self.assertEqual(job.returncode, 128 + number, said)
                self.assertIn("ranks 0-1 not started", said)
                self.assertFalse((self.folder / "ran").exists())

    def test_while_the_end_is_told(self):
        """The judgement is written, and the report cannot be: a signal ends
        the telling, and the exit status is that of the judgement."""
        out, into = self.pipe()
        os.mkfifo(self.folder / "fifo")
        process = self.run_of("name: s", "touch ready.$RANK; read x < fifo",
                              stderr=into)
        self.fill(into)
        go = os.open(self.folder / "fifo", os.O_RDWR)
        self.addCleanup(os.close, go)
        os.write(go, b"now\nnow\n")  # a line for each

        def is_telling():
            links = [os.readlink(fd) for fd in pathlib.Path(
                f"/proc/{process.pid}/fd").iterdir()]
            return (self.folder / "runs/latest/results.json").exists() and \
                not harness.children(process.pid) and \
                "anon_inode:[signalfd]" in links
        self.assertTrue(until(is_telling))
        for sig in (signal.SIGUSR1, signal.SIGINT):
            process.send_signal(sig)
        self.assertEqual(process.wait(harness.LIMIT), 0)
        self.assertEqual(self.results()["status"], "succeeded")

    GROUP = ("( trap '{0}' TERM; touch ready.$RANK; "
             "while :; do sleep 1000 & wait; done ) &\nwait")

    def test_the_grace_is_the_groups(self):
        """The leader obeys at once; what it started has the time it needs."""
        # A sleep that is told before it executes is not told: the grace ends.
        process = self.run_of("timeouts: {stop_grace: 20s}", self.GROUP.format(
            "sleep 0.3; touch cleaned.$RANK; exit"))
        process.terminate()
        self.assertEqual(process.wait(harness.LIMIT), 143)
        self.assertEqual(len(list(self.folder.glob("cleaned.*"))), 2)

    def test_ends_that_are_told_together_end_the_wait(self):
        """Of several children that end at once the kernel tells only one; with
        a grace of ten minutes, one that is overlooked is a failure."""
        for _ in range(20):
            for path in self.folder.glob("ready.*"):
                path.unlink()
            process = self.run_of(
                "timeouts: {stop_grace: 10m}",
                "touch ready.$RANK; while :; do sleep 1000 & sleep 1000 & "
                "wait; done")
            process.terminate()
            self.assertEqual(process.wait(harness.LIMIT), 143)

    def test_a_stubborn_group_is_killed_after_the_grace(self):
        process = self.run_of("timeouts: {stop_grace: 300ms}",
                              self.GROUP.format(""))
        process.terminate()
        self.assertEqual(process.wait(harness.LIMIT), 143)
        self.assertIn("0 processes left", process.stderr.read())

    def test_ignored_on_entry(self):
        def ignore():
            for sig in (signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR2):
                signal.signal(sig, signal.SIG_IGN)
        process = self.run_of(
            "name: s", "grep SigIgn /proc/self/status > ignored.$RANK\n" +
            self.MARK, preexec_fn=ignore)
        for sig in (signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR2):
            process.send_signal(sig)
        ignored = {int(path.read_text().split()[1], 16)
                   for path in self.folder.glob("ignored.*")}
        self.assertEqual(ignored, {1 << 0 | 1 << 2 | 1 << 11})
        process.terminate()
        self.assertEqual(process.wait(harness.LIMIT), 143)

    def test_what_cannot_be_said(self):
        for entry in ("KILL: stop", "STOP: ignore", "SIGTERM: stop",
                      "RTMIN+31: stop", "CHLD: forward", "FOO: stop"):
            self.spec(f"entrypoint: [x]\nsignals: {{{entry}}}\n")
            done = self.expect(self.jobrun("validate", "s.jobrun.yaml"), 3)
            self.assertIn("'signals' wants signals such as USR1",
                          done.stdout + done.stderr)
        self.spec("entrypoint: [x]\nsignals: {TERM: kill}\n")
        self.expect(self.jobrun("validate", "s.jobrun.yaml"), 3)


class AtTheEnd(Case):
    """The exit status is that of results.json, whenever a signal comes."""

    # How many random moments are tried.
    MOMENTS = int(os.environ.get("MOMENTS", "40"))
    SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)

    def late(self, sig):
        env = {**harness.preload(self, "LATE_LIBRARY"), "LATE": str(int(sig))}
        done = self.jobrun("schema", env=env)
        if done.returncode not in (-sig, 128 + sig):
            self.skipTest(f"SKIPPED: nothing can be preloaded: {done.stderr}")
        return env

    def test_around_the_verdict_and_while_it_exits(self):
        for sig in self.SIGNALS:
            env = self.late(sig)
            for code in (0, 1):
                with self.subTest(signal=sig, code=code):
                    self.expect(self.jobrun("-n", "2", "--", "sh", "-c",
                                            f"exit {code}", env=env), code)
                    self.assertEqual(self.results()["exit_code"], code)

    def test_of_a_sweep(self):
        self.spec("entrypoint: {shell: 'exit %{cell}'}\n"
                  "sweep: {axes: {vars.n: [0, 1]}}\nvars: {n: 0}\n"
                  "env: {N: '${vars.n}'}\n")
        for sig in self.SIGNALS[:2]:
            self.expect(self.jobrun("s.jobrun.yaml", env=self.late(sig)), 1)

    def test_at_random_moments(self):
        """Or there is neither a results.json nor a run."""
        dice = random.Random(int(os.environ.get("SEED", "7")))
        began = time.monotonic()
        self.expect(self.jobrun("-n", "2", "--", "true"), 0)
        whole = time.monotonic() - began
        ends = {}
        for number in range(self.MOMENTS):
            sig = dice.choice(self.SIGNALS[:2])
            process = self.start(
                "--run-id", f"m{number}", "-n", "2", "--", "sh", "-c",
                f"exit {number % 2}", stderr=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL)
            time.sleep(whole * dice.uniform(0.2, 1.3))
            process.send_signal(sig)
            code = process.wait(harness.LIMIT)
            folder = self.folder / "runs" / f"m{number}"
            if (folder / "results.json").exists():
                told = self.results(f"m{number}")["exit_code"]
                self.assertEqual(code, told, f"m{number}")
            else:
                self.assertFalse((folder / "run.json").exists())
                self.assertIn(code, (-sig, 128 + sig))
                told = "none"
            ends[told] = ends.get(told, 0) + 1
        if os.environ.get("TELL"):
            print(ends)


class Limits(Case):
    def limits_of(self, body, **options):
        """What a rank sees, by the shell's words for it."""
        self.spec(f"{body}\nentrypoint: {{shell: \"ulimit -Sn; ulimit -Hn; "
                  "ulimit -Sc; ulimit -Ss\"}\nconsole: {ranks: 0, "
                  "prefix: \"\"}\n")
        done = self.expect(self.jobrun("s.jobrun.yaml"), 0)
        return done.stdout.split()

    def test_soft_ones_are_set(self):
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        nofile, most, core, stack = self.limits_of(
            "limits: {nofile: 123, core: 0, stack: 4MiB}")
        self.assertEqual((nofile, core, stack), ("123", "0", "4096"))
        self.assertEqual(most, "unlimited" if hard < 0 else str(hard))

    def test_the_life_line_is_within_the_limit(self):
        for limit, last in (("2000", 1000), ("123", 122), ("20", 2)):
            self.spec(f"limits: {{nofile: {limit}}}\nentrypoint: [ls, "
                      "/proc/self/fd]\nconsole: {ranks: 0, prefix: \"\"}\n")
            done = self.expect(self.jobrun("s.jobrun.yaml"), 0)
            listed = {int(number) for number in done.stdout.split()}
            # One is that of the listing.
            self.assertEqual(listed, {0, 1, 2, 3, last}, limit)

    def test_more_than_the_hard_limit(self):
        def limited():
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            if os.geteuid() == 0:
                os.setgid(65534)
                os.setuid(65534)
        self.folder.chmod(0o777)
        program = self.folder / "jobrun"
        program.write_bytes(pathlib.Path(harness.JOBRUN).read_bytes())
        program.chmod(0o755)
        self.spec("entrypoint: [x]\nlimits: {core: unlimited}\n")
        done = subprocess.run(
            [program, "s.jobrun.yaml", "-s", f"log_dir={self.folder}/own"],
            cwd=self.folder, text=True, capture_output=True,
            preexec_fn=limited, timeout=harness.LIMIT,
            env=harness.clean_environment(ASAN_OPTIONS="detect_leaks=0"))
        self.expect(done, 7)
        self.assertIn("limits.core: unlimited is more than the hard limit, 0",
                      done.stderr)

    def test_the_hard_one_is_raised(self):
        def raised():
            for hard in (0, 1 << 23):
                resource.setrlimit(resource.RLIMIT_CORE, (0, hard))
        try:
            subprocess.run(["true"], preexec_fn=raised, check=True)
        except subprocess.SubprocessError:
            self.skipTest("SKIPPED: no hard limit may be raised here")
        self.spec("limits: {core: 8MiB}\nentrypoint: {shell: \"ulimit -Hc\"}\n"
                  "console: {ranks: 0, prefix: \"\"}\n")
        done = subprocess.run(
            [harness.JOBRUN, "s.jobrun.yaml"], cwd=self.folder, text=True,
            capture_output=True, timeout=harness.LIMIT,
            env=harness.clean_environment(),
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE,
                                                  (0, 0)))
        self.expect(done, 0)
        self.assertIn(done.stdout.strip(), ("16384", "8192"))  # by the shell

    def test_what_cannot_be_said(self):
        for entry in ("nofile: -1", "nofile: 8MiB", "core: 8MB", "fsize: 1",
                      "stack: 4.5", "as: none"):
            self.spec(f"entrypoint: [x]\nlimits: {{{entry}}}\n")
            self.expect(self.jobrun("validate", "s.jobrun.yaml"), 3)


class Memory(Case):
    EAT = "print(len(bytearray(256 << 20)))"

    def test_an_oom_kill_is_told_as_such(self):
        group = harness.limited_group(self)
        self.write("eat.py", self.EAT)
        done = subprocess.run(
            ["sh", "-c", f"echo $$ > '{group}/cgroup.procs' && exec "
             f"'{harness.JOBRUN}' -n 2 -- sh -c '[ $RANK = 1 ] || exec sleep "
             "1000; exec python3 eat.py'"],
            cwd=self.folder, text=True, capture_output=True,
            timeout=harness.LIMIT,
            env=harness.clean_environment(ASAN_OPTIONS="detect_leaks=0"))
        rank = self.results()["ranks"][1]
        if rank["signal"] != "SIGKILL":
            self.skipTest(f"SKIPPED: the limit does not hold here: {rank}")
        self.expect(done, 1)
        self.assertIn("rank 1 was OOM-killed", done.stderr)
        self.assertEqual(self.results()["root_cause"]["kind"], "oom")
        shown = self.expect(self.jobrun("show"), 0).stdout
        self.assertIn("was OOM-killed", shown)


    def test_in_a_group_of_the_ranks_own(self):
        """Which jobrun's own group does not count."""
        try:
            with open("/dev/kmsg", "rb"):
                pass
        except OSError as error:
            self.skipTest(f"SKIPPED: the kernel's log: {error}")
        group = harness.limited_group(self)
        self.write("eat.py", self.EAT)
        for isolation in ("none", "pid"):
            done = self.jobrun(
                "-n", "2", "-s", f"isolation={isolation}", "--", "sh", "-c",
                f"[ $RANK = 1 ] || exec sleep 1000; echo 0 > "
                f"'{group}/cgroup.procs' && exec python3 eat.py")
            if done.returncode == 7 and "isolation: pid" in done.stderr:
                continue
            rank = self.results()["ranks"][1]
            if rank["signal"] != "SIGKILL":
                self.skipTest(f"SKIPPED: the limit does not hold here: {rank}")
            self.assertIn("rank 1 was OOM-killed", done.stderr)
            self.assertEqual(self.results()["root_cause"]["kind"], "oom")


class Isolation(Case):
    ISOLATE = "isolation: pid"

    def setUp(self):
        super().setUp()
        done = self.jobrun("-n", "1", "-s", "isolation=pid", "--", "true")
        if done.returncode == 7 and "isolation: pid" in done.stderr:
            self.skipTest("SKIPPED: no PID namespace here: " + done.stderr)
        self.expect(done, 0)

    def test_the_report_keeps_the_machines_pids(self):
        process = self.run_of(self.ISOLATE,
                              "echo $$ > own.$RANK\n"
                              "readlink /proc/self > proc.$RANK\n"
                              "touch ready.$RANK; sleep 1000")
        started = [self.await_event(event="rank_started", rank=rank)["pid"]
                   for rank in (0, 1)]
        self.assertTrue(all(map(is_alive, started)), started)
        runner = harness.runner_of(process.pid)
        self.assertEqual(sorted(started), sorted(harness.children(runner)))
        for rank in "01":
            own = int((self.folder / f"own.{rank}").read_text())
            self.assertLess(own, 20)
            # readlink is a process of its own, a little after the shell.
            proc = int((self.folder / f"proc.{rank}").read_text())
            self.assertLess(proc, 20)
        process.terminate()
        process.wait(harness.LIMIT)
        self.assertEqual(sorted(started), sorted(
            rank["pid"] for rank in self.results()["ranks"]))

    def test_both_killed_at_once_leave_nothing(self):
        process = self.run_of(self.ISOLATE,
                              "trap '' TERM HUP\n"
                              "setsid sh -c 'touch ready.$RANK; "
                              "while :; do sleep 1000; done' &\nwait")
        runner = harness.runner_of(process.pid)
        namespace = os.readlink(f"/proc/{runner}/ns/pid_for_children")
        self.assertGreaterEqual(self.members(namespace), 5)
        for sig in (signal.SIGSTOP, signal.SIGKILL):
            for pid in (runner, process.pid):
                os.kill(pid, sig)
        self.assertTrue(until(lambda: self.members(namespace) == 0))

    @staticmethod
    def members(namespace):
        count = 0
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                count += os.readlink(f"/proc/{name}/ns/pid") == namespace
            except OSError:
                pass
        return count

    def test_daemons_end_with_the_run(self):
        self.spec(f"{self.ISOLATE}\nentrypoint: {{shell: "
                  "\"setsid sleep 1000 & exit 0\"}\n")
        done = self.expect(self.jobrun("s.jobrun.yaml"), 0)
        self.assertIn("0 processes left", done.stderr)

    def test_signals_and_codes_are_as_ever(self):
        process = self.run_of(f"{self.ISOLATE}\ntimeouts: "
                              "{stop_grace: 10m}", Signals.MARK)
        process.send_signal(signal.SIGTSTP)
        self.assertTrue(until(lambda: pathlib.Path(
            f"/proc/{process.pid}/stat").read_text()
            .rpartition(")")[2].split()[0] == "T"))
        process.send_signal(signal.SIGCONT)
        process.terminate()
        self.assertEqual(process.wait(harness.LIMIT), 143)
        self.spec(f"{self.ISOLATE}\nentrypoint: {{shell: \"kill -9 $$\"}}\n")
        done = self.expect(self.jobrun("s.jobrun.yaml"), 1)
        self.assertIn("SIGKILL, sender unknown", done.stderr)

    def test_where_it_is_not_possible(self):
        """A user namespace that allows no further ones stands for a kernel
        that allows none."""
        script = ("echo 0 > /proc/sys/user/max_pid_namespaces && "
                  f"exec '{harness.JOBRUN}' -n 1 -s isolation=pid -- true")
        done = subprocess.run(
            ["unshare", "--user", "--map-root-user", "sh", "-c", script],
            cwd=self.folder, text=True, capture_output=True,
            timeout=harness.LIMIT, env=harness.clean_environment())
        if "Operation not permitted" in done.stderr.partition("jobrun:")[0]:
            self.skipTest("SKIPPED: " + done.stderr)
        self.expect(done, 7)
        self.assertIn("use -s isolation=none", done.stderr)


if __name__ == "__main__":
    harness.main()
