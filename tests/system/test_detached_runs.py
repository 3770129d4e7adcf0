"""A run that another jobrun looks after: --detach, wait, stop, prune, and what
a run left whose two processes were killed at once."""
import fcntl
import json
import os
import pathlib
import pty
import shutil
import signal
import subprocess
import time

import harness
from processes import is_alive

WAIT = 60.0  # seconds that anything may take


def until(condition):
    """Wait for it; a file that is not whole yet says nothing yet."""
    def holds():
        try:
            return condition()
        except (OSError, ValueError):
            return False
    limit = time.monotonic() + WAIT
    while not (held := holds()) and time.monotonic() < limit:
        time.sleep(0.005)
    return held


class Case(harness.Case):
    def record(self, run):
        return json.loads((self.folder / "runs" / run / "run.json").read_text())

    def detach(self, script, *words):
        """Start a run of two ranks, which is stopped with the test."""
        done = self.expect(self.jobrun("-n", "2", "--detach", *words, "--",
                                       "sh", "-c", script), 0)
        run = done.stdout.strip()
        self.assertEqual(done.stderr, "")
        self.addCleanup(self.jobrun, "stop", run)
        return run

    def ready(self, count=2):
        """The files that ranks make to say that they are there."""
        self.assertTrue(until(
            lambda: len(list(self.folder.glob("ready.*"))) >= count))


class Detached(Case):
    def setUp(self):
        super().setUp()
        os.mkfifo(self.folder / "fifo")

    def test_wait_ends_with_the_runs_exit_status(self):
        run = self.detach("read x < fifo; exit $RANK")
        self.assertIn("running", self.jobrun("runs").stdout)
        waiting = self.start("wait", run)
        self.assertIsNone(waiting.poll())
        go = os.open(self.folder / "fifo", os.O_RDWR)
        self.addCleanup(os.close, go)
        os.write(go, b"now\nnow\n")  # a line for each
        self.assertEqual(waiting.wait(WAIT), 1)
        self.assertIn("rank 1 exited with code 1", waiting.stderr.read())
        self.expect(self.jobrun("wait", run), 1)

    def test_its_console_is_kept(self):
        run = self.detach("echo to both; echo $0 >&2")
        self.expect(self.jobrun("wait"), 0)
        console = (self.folder / "runs" / run / "console.log").read_text()
        for text in ("2 ranks on 1 node", "[0] to both\n", "[1] to both\n",
                     "succeeded in", "0 processes left"):
            self.assertIn(text, console)
        self.assertNotIn("\033", console)

    def test_what_is_wrong_before_the_start_is_told(self):
        done = self.expect(self.jobrun("--detach", "nothere.yaml"), 3)
        self.assertIn("JR0101", done.stderr)
        self.assertEqual(done.stdout, "")
        self.write("s.yaml", "version: 1\nentrypoint: [true]\n"
                             "master_port: 70000\n")
        self.expect(self.jobrun("--detach", "s.yaml"), 3)
        (self.folder / "file").write_text("")
        done = self.expect(self.jobrun("--detach", "-n", "1", "-s",
                                       "log_dir=file", "--", "true"), 7)
        self.assertIn("is a file", done.stderr)

    def test_it_outlives_the_terminal(self):
        master, slave = pty.openpty()
        caller = self.start("-n", "2", "--detach", "--", "sh", "-c",
                            "touch ready.$RANK; read x < fifo",
                            stdout=slave, stderr=slave, start_new_session=True)
        os.close(slave)
        self.assertEqual(caller.wait(WAIT), 0)
        run = os.read(master, 4096).decode().strip()
        self.addCleanup(self.jobrun, "stop", run)
        self.ready()
        os.close(master)  # the terminal's end
        guard = self.record(run)["pid"]
        self.assertEqual(os.getsid(guard), guard)
        self.assertTrue(is_alive(guard))
        for fd in (0, 1, 2):
            self.assertNotIn("pts", os.readlink(f"/proc/{guard}/fd/{fd}"))
        self.expect(self.jobrun("stop", run), 0)
        self.assertEqual(self.results(run)["exit_code"], 143)

    def test_who_is_gone_before_it_is_let_go_gets_no_run(self):
        git = self.write("bin/git", f"#!/bin/sh\ntouch '{self.folder}/asked'\n"
                         f"until test -e '{self.folder}/go'; do sleep 0.01; "
                         "done\nexit 1\n")
        git.chmod(0o755)
        (self.folder / ".git").mkdir()
        path = f"{git.parent}:{os.environ['PATH']}"
        caller = self.start("-n", "1", "--detach", "--", "touch", "ran",
                            env={"PATH": path})
        self.assertTrue(until((self.folder / "asked").exists))
        run, = harness.children(caller.pid)
        caller.kill()
        caller.wait(WAIT)
        (self.folder / "go").touch()
        self.assertTrue(until(lambda: not is_alive(run)))
        self.assertEqual(list((self.folder / "runs").glob("*/*")), [])
        self.assertFalse((self.folder / "ran").exists())

    def test_rerun_detaches_too(self):
        self.expect(self.jobrun("-n", "1", "--", "true"), 0)
        again = self.expect(self.jobrun("rerun", "latest", "--detach"), 0)
        self.expect(self.jobrun("wait", again.stdout.strip()), 0)


class Stopped(Case):
    def test_stop_tells_what_became_of_it(self):
        run = self.detach("touch ready.$RANK; exec sleep 1000")
        self.ready()
        done = self.expect(self.jobrun("stop", run), 0)
        self.assertIn("STOPPED by SIGTERM", done.stderr)
        self.assertIn("0 processes left", done.stderr)
        done = self.expect(self.jobrun("stop", run), 0)
        self.assertIn("has already ended: stopped", done.stderr)

    def test_a_second_stop_does_not_wait_for_the_grace(self):
        run = self.detach("trap '' TERM; touch ready.$RANK; "
                          "while :; do sleep 1000; done",
                          "-s", "timeouts.stop_grace=10m")
        self.ready()
        first = self.start("stop", run)
        self.assertTrue(until(lambda: any(
            event["event"] == "stop" for event in self.events(run))))
        # The same signal within a tenth of a second is one signal.
        time.sleep(0.2)
        self.expect(self.jobrun("stop", run), 0)
        self.assertEqual(first.wait(WAIT), 0)
        self.assertTrue(all(rank["signal"] == "SIGKILL"
                            for rank in self.results(run)["ranks"]))

    def test_a_suspended_jobrun_is_stopped(self):
        run = self.detach("touch ready.$RANK; exec sleep 1000")
        self.ready()
        os.kill(self.record(run)["pid"], signal.SIGSTOP)
        self.expect(self.jobrun("stop", run), 0)
        self.assertEqual(self.results(run)["status"], "stopped")

    def begin_later(self, ticks):
        """A process that began in another tick: with the record's own, 10 ms
        long, no number is given away twice, but a record can be edited."""
        while True:
            other = subprocess.Popen(["sleep", "1000"])
            self.addCleanup(other.wait)
            self.addCleanup(other.kill)
            stat = pathlib.Path(f"/proc/{other.pid}/stat").read_text()
            if int(stat.rpartition(")")[2].split()[19]) != ticks:
                return other

    def test_no_other_process_is_signalled(self):
        run = self.detach("touch ready.$RANK; exec sleep 1000")
        self.ready()
        path = self.folder / "runs" / run / "run.json"
        whole = path.read_text()
        other = self.begin_later(json.loads(whole)["start_ticks"])
        for key, value, text in (("pid", other.pid, "is lost"),
                                 ("start_ticks", 1, "is lost"),
                                 ("boot_id", "another", "is lost"),
                                 ("host", "another", "on another"),
                                 ("user", "another", "belongs to another")):
            path.write_text(json.dumps({**json.loads(whole), "cgroup": None,
                                        key: value}))
            done = self.expect(self.jobrun("stop", run), 7)
            self.assertIn(text, done.stderr)
            if key != "user":
                self.expect(self.jobrun("wait", run), 7)
        path.write_text(whole)
        self.assertIsNone(other.poll())
        self.assertIn("running", self.jobrun("runs").stdout)
        self.expect(self.jobrun("stop", run), 0)


class Lost(Case):
    def kill_both(self, run):
        """So that neither sees the other's end: both are stopped first. The run is
        lost once both are gone, of which the runner may be the later one."""
        guard = self.record(run)["pid"]
        runner = harness.runner_of(guard)
        for sig in (signal.SIGSTOP, signal.SIGKILL):
            for pid in (runner, guard):
                os.kill(pid, sig)
        self.assertTrue(until(
            lambda: not is_alive(guard) and not is_alive(runner)))

    def leave_daemons(self):
        run = self.detach("setsid sh -c 'echo $$ > daemon.$RANK; "
                          "mv daemon.$RANK ready.$RANK; exec sleep 1000' & "
                          "wait")
        self.ready()
        pids = [int(path.read_text()) for path in self.folder.glob("ready.*")]
        for pid in pids:
            self.addCleanup(lambda pid=pid: is_alive(pid) and
                            os.kill(pid, signal.SIGKILL))
        self.kill_both(run)
        if self.record(run)["cgroup"] is None:
            self.skipTest("SKIPPED: no control group can be made here, so "
                          "nothing is known of what was left")
        return run, pids

    def test_the_next_run_sweeps_it(self):
        run, pids = self.leave_daemons()
        self.assertTrue(any(map(is_alive, pids)))
        self.assertIn("lost", self.jobrun("runs").stdout)
        done = self.expect(self.jobrun("-n", "1", "--", "true"), 0)
        self.assertIn(f"the lost run {run} had left", done.stderr)
        self.assertFalse(any(map(is_alive, pids)))
        self.assertFalse(os.path.exists(self.record(run)["cgroup"]))
        done = self.expect(self.jobrun("-n", "1", "--", "true"), 0)
        self.assertNotIn("lost", done.stderr)

    def test_stop_sweeps_it(self):
        run, pids = self.leave_daemons()
        self.expect(self.jobrun("wait", run), 7)
        done = self.expect(self.jobrun("stop", run), 0)
        self.assertIn("now killed", done.stderr)
        self.assertFalse(any(map(is_alive, pids)))

    def test_a_group_that_is_not_the_runs_is_left_alone(self):
        run, pids = self.leave_daemons()
        path = self.folder / "runs" / run / "run.json"
        record = self.record(run)
        group = record["cgroup"]
        for other in (os.path.dirname(group), group + "/..", "/tmp", "",
                      group.replace(run, "another"), "jobrun-" + run):
            path.write_text(json.dumps({**record, "cgroup": other}))
            self.expect(self.jobrun("stop", run), 7)
            self.assertTrue(any(map(is_alive, pids)))
        path.write_text(json.dumps(record))
        self.expect(self.jobrun("stop", run), 0)


class Abandoned(Case):
    """Groups that a jobrun made, which was killed before it ran anything."""

    def test_the_next_run_removes_them(self):
        run = self.detach("exec sleep 1000")
        own = self.record(run)["cgroup"]
        if own is None:
            self.skipTest("SKIPPED: no control group can be made here")
        home = pathlib.Path(own).parent
        names = [f"jobrun-gone-{os.getpid()}.1", f"jobrun-held-{os.getpid()}.1"]
        gone, held = groups = [home / name for name in names]
        for group in groups:
            (group / "below").mkdir(parents=True)
            self.addCleanup(lambda group=group: group.exists() and
                            [path.rmdir() for path in (group / "below", group)])
        lock = os.open(held, os.O_RDONLY)
        self.addCleanup(os.close, lock)
        fcntl.flock(lock, fcntl.LOCK_EX)
        self.expect(self.jobrun("-n", "1", "--", "true"), 0)
        self.assertFalse(gone.exists())
        self.assertTrue((held / "below").exists())
        self.assertTrue(os.path.exists(own))
        self.assertIn("running", self.jobrun("show", run).stdout)


class Pruned(Case):
    def test_runs_that_begin_and_end_meanwhile(self):
        pruner = subprocess.Popen(
            ["sh", "-c", 'while [ ! -e done ]; do "$0" prune --keep 0; done',
             harness.JOBRUN], cwd=self.folder, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True,
            env=harness.clean_environment())
        self.addCleanup(self.end, pruner)
        for _ in range(10):
            self.expect(self.jobrun("-n", "1", "--", "true"), 0)
        (self.folder / "done").touch()
        told = pruner.communicate(timeout=harness.LIMIT)[1]
        self.assertEqual(pruner.returncode, 0, told)

    def test_several_prunes_at_once(self):
        """What another one has removed is no failure."""
        self.make(1)
        runs = self.folder / "runs"
        for number in range(1, 200):
            copy = shutil.copytree(runs / "r0", runs / f"r{number}",
                                   symlinks=True)
            for name in ("run.json", "results.json"):
                path = copy / name
                path.write_text(path.read_text().replace(
                    '"run_id": "r0"', f'"run_id": "r{number}"'))
        prunes = [self.start("prune", "--keep", "0") for _ in range(4)]
        for process in prunes:
            told = process.communicate(timeout=harness.LIMIT)[1]
            self.assertEqual(process.returncode, 0, told)
        self.assertEqual([path for path in runs.iterdir() if path.is_dir()], [])

    def test_results_come_last(self):
        """For what has them may be removed."""
        self.make(1)
        run = self.folder / "runs/r0"
        newest = max(path.stat().st_mtime_ns for path in run.iterdir())
        self.assertEqual((run / "results.json").stat().st_mtime_ns, newest)

    def make(self, count):
        for i in range(count):
            self.expect(self.jobrun("-n", "1", "--run-id", f"r{i}", "--",
                                    "true"), 0)

    def left(self):
        return sorted(path.name for path in (self.folder / "runs").iterdir()
                      if not path.name.startswith("."))

    def test_the_newest_stay(self):
        self.make(4)
        done = self.expect(self.jobrun("prune", "--keep", "2", "--dry-run"), 0)
        self.assertEqual(done.stdout, "r1\nr0\n")
        self.assertIn("would remove 2 runs", done.stderr)
        self.assertEqual(self.left(), ["latest", "r0", "r1", "r2", "r3"])
        done = self.expect(self.jobrun("prune", "--keep", "2"), 0)
        self.assertIn("removed 2 runs", done.stderr)
        self.assertEqual(self.left(), ["latest", "r2", "r3"])
        self.expect(self.jobrun("prune"), 0)
        self.expect(self.jobrun("prune", "--older", "1h"), 0)
        self.assertEqual(self.left(), ["latest", "r2", "r3"])
        self.expect(self.jobrun("prune", "--older", "1ms"), 0)
        self.assertEqual(self.left(), [])

    def test_only_runs_that_have_finished(self):
        self.make(2)
        run = self.detach("exec sleep 1000")
        logs = self.folder / "runs"
        (logs / "mine").mkdir()
        (logs / "mine" / "results.json").write_text("{}")
        (logs / "notes.txt").write_text("keep")
        copy = json.loads((logs / "r0" / "run.json").read_text())
        (logs / "copied").mkdir()  # a folder that bears another run's record
        for name in ("run.json", "results.json"):
            (logs / "copied" / name).write_bytes((logs / "r0" / name)
                                                 .read_bytes())
        self.assertEqual(copy["run_id"], "r0")
        done = self.expect(self.jobrun("prune", "--keep", "0"), 7)
        self.assertIn("copied is not one of your runs", done.stderr)
        self.assertIn("1 that has not finished was left", done.stderr)
        self.assertEqual(self.left(), sorted(["copied", "latest", "mine",
                                              "notes.txt", run]))

    def test_links_are_not_followed(self):
        self.make(1)
        outside = self.folder / "outside"
        outside.mkdir()
        (outside / "precious").write_text("keep")
        (self.folder / "runs" / "r0" / "link").symlink_to(outside)
        (self.folder / "runs" / "r0" / "file").symlink_to(outside / "precious")
        (self.folder / "runs" / "r9").symlink_to(outside)
        self.expect(self.jobrun("prune", "--keep", "0"), 0)
        self.assertEqual((outside / "precious").read_text(), "keep")
        self.assertEqual(self.left(), ["r9"])

    def test_what_belongs_to_another_stays(self):
        if os.geteuid() != 0:
            self.skipTest("SKIPPED: only root can give a file away")
        self.make(1)
        other = self.folder / "runs" / "r0" / "attempt_0" / "other"
        other.write_text("theirs")
        os.chown(other, 65534, 65534)
        done = self.expect(self.jobrun("prune", "--keep", "0"), 7)
        self.assertIn("r0 could not be removed", done.stderr)
        self.assertTrue(other.exists())
        os.chown(other, 0, 0)
        self.expect(self.jobrun("prune", "--keep", "0"), 0)
        self.assertEqual(self.left(), [])

    def test_wrong_words(self):
        for words in (("r0",), ("--older", "soon"), ("--keep", "-1")):
            self.expect(self.jobrun("prune", *words), 2)
        self.expect(self.jobrun("wait", "nothing"), 2)
        self.expect(self.jobrun("stop", "a", "b"), 2)


if __name__ == "__main__":
    harness.main()
