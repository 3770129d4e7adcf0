"""Each of jobrun's two processes completes the record when the other one was
killed: results.json is there, and says what happened. In the end it is written
into space that was reserved, so a full disk is no obstacle.

usage: test_companion.py [KILLS]
"""
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time

import harness
from processes import is_alive, marked

KILLS = 20
WAIT = 60.0  # seconds that anything may take
JUDGING = 40_000_000  # bytes of a result, which take a while to be judged


def until(condition):
    """Wait for it; a file that is not whole yet says nothing yet."""
    limit = time.monotonic() + WAIT
    while time.monotonic() < limit:
        try:
            if condition():
                return True
        except (OSError, ValueError):
            pass
        time.sleep(0.002)
    return False


class Case(harness.Case):
    def setUp(self):
        super().setUp()
        self.mark = f"COMPANION={self.folder.name}"
        self.run_id, self.runs = "none", 0

    def begin(self, *words, **options):
        self.runs += 1
        self.run_id = f"r{self.runs}"
        return self.start("--run-id", self.run_id, *words,
                          env=dict([self.mark.split("=", 1)]),
                          stdout=subprocess.DEVNULL, **options)

    def await_event(self, **wanted):
        self.assertTrue(until(lambda: any(
            wanted.items() <= event.items()
            for event in self.events(self.run_id))), f"no {wanted}")

    def gone(self):
        self.assertTrue(until(lambda: not marked(self.mark)),
                        "a process is left")

    def whole(self):
        """The results, once they are there, of the only run."""
        self.assertTrue(until(lambda: self.results(self.run_id)["ranks"]))
        self.gone()
        run = self.folder / "runs" / self.run_id
        results = self.results(self.run_id)
        record = json.loads((run / "run.json").read_text())
        for key in ("status", "exit_code", "attempt"):
            self.assertEqual(record[key], results[key])
        self.assertIsNotNone(record["finished"])
        hidden = [name for name in os.listdir(run) if name.startswith(".")]
        self.assertEqual(hidden, [])
        return results

    def expect_guard(self, results, pid):
        text = f"jobrun's guard (pid {pid}) was killed"
        self.assertEqual(results["status"], "launch_failed")
        self.assertEqual(results["exit_code"], 7)
        self.assertEqual(results["jobrun_killed"]["process"], "guard")
        self.assertEqual(results["jobrun_killed"]["pid"], pid)
        self.assertIn(results["jobrun_killed"]["signal"], ("SIGKILL", None))
        return text


class Guard(Case):
    def kill(self, process):
        process.send_signal(signal.SIGKILL)
        self.assertEqual(process.wait(WAIT), -signal.SIGKILL)

    def test_while_ranks_run(self):
        for isolation in ("none", "pid"):
            process = self.begin("-n", "2", "-s", f"isolation={isolation}",
                                 "--", "sh", "-c", "setsid sleep 1000 & wait")
            self.await_event(event="rank_started", rank=1)
            self.kill(process)
            results = self.whole()
            text = self.expect_guard(results, process.pid)
            cause = results["root_cause"]
            self.assertIsNone(cause["rank"])
            self.assertEqual(cause["kind"], "signal")
            self.assertIn(text, cause["message"])
            self.assertEqual([rank["state"] for rank in results["ranks"]],
                             ["stopped"] * 2)
            done = self.expect(self.jobrun("show"), 0)
            self.assertIn(text, done.stdout)
            self.assertIn("ranks 0-1 stopped by jobrun (SIGKILL)",
                          done.stdout)
            done = self.expect(self.jobrun("wait"), 7)
            self.assertIn(text, done.stderr)

    def test_waiting_for_it_is_waiting_for_the_record(self):
        """Who waits never sees a run as lost that is being completed."""
        for _ in range(5):
            run = self.expect(self.jobrun("--detach", "-n", "1", "--", "sleep",
                                          "1000"), 0).stdout.strip()
            self.run_id = run
            self.await_event(event="rank_started")
            pid = json.loads((self.folder / "runs" / run / "run.json")
                             .read_text())["pid"]
            waiting = self.start("wait", run)
            os.kill(pid, signal.SIGKILL)
            self.assertEqual(waiting.wait(WAIT), 7)
            self.assertIn("guard", waiting.stderr.read())
            self.expect_guard(self.results(run), pid)

    def test_the_next_run_leaves_it_to_the_runner(self):
        """A run whose runner is about to complete it is not lost."""
        process = self.begin("-n", "1", "--", "sleep", "1000")
        self.await_event(event="rank_started", rank=0)
        first = self.run_id
        group = json.loads((self.folder / "runs" / first / "run.json")
                           .read_text())["cgroup"]
        if group is None:
            self.skipTest("SKIPPED: no control group can be made here")
        # SIGSTOP would not do: the guard's end wakes a runner that is stopped.
        freezer = pathlib.Path(group) / "cgroup.freeze"
        freezer.write_text("1")
        self.addCleanup(lambda: freezer.exists() and freezer.write_text("0"))
        self.assertTrue(until(lambda: "frozen 1" in freezer.with_name(
            "cgroup.events").read_text()))
        self.kill(process)
        self.assertIn("running", self.jobrun("show", first).stdout)
        done = self.expect(self.jobrun("-n", "1", "--", "true"), 0)
        self.assertNotIn("lost", done.stderr)
        freezer.write_text("0")
        self.expect(self.jobrun("wait", first), 7)
        self.expect_guard(self.results(first), process.pid)
        self.gone()

    def test_between_attempts(self):
        process = self.begin(
            "-n", "2", "-s", "restart={max: 3, backoff: 10m}", "-s",
            "on_failure=continue", "--", "sh", "-c", "exit $((RANK + 2))")
        self.await_event(event="attempt_failed", attempt=0)
        self.kill(process)
        results = self.whole()
        self.expect_guard(results, process.pid)
        self.assertEqual(results["attempt"], 0)
        self.assertEqual(results["attempts"], [])
        self.assertIn("killed", results["not_restarted"])
        # The first that failed; the other may have been stopped before.
        self.assertIn(results["root_cause"]["exit_code"], (2, 3))

    def test_in_a_later_attempt(self):
        process = self.begin(
            "-n", "2", "-s", "restart={max: 3, backoff: 1ms}", "--", "sh",
            "-c", "test $JOBRUN_ATTEMPT = 0 && exit 3; exec sleep 1000")
        self.await_event(event="restart", attempt=1)
        self.assertTrue(until(lambda: [
            event["event"] for event in self.events(self.run_id)
        ].count("rank_started") == 4))
        # The first attempt's runner is relieved once the second one stands.
        self.assertTrue(until(lambda: [
            harness.name_of(child)
            for child in harness.children(process.pid)
        ].count("jobrun-runner") == 1), "the first attempt's runner stays")
        self.kill(process)
        results = self.whole()
        self.expect_guard(results, process.pid)
        self.assertEqual(results["attempt"], 1)
        self.assertEqual([row["attempt"] for row in results["attempts"]], [0])

    def test_while_it_judges(self):
        process = self.begin(
            "-n", "1", "-s", "results={from: file}", "--", "sh", "-c",
            f"(echo '['; yes 1, | head -c {JUDGING}; echo '0]') "
            "> $JOBRUN_RESULT_FILE")
        self.await_event(event="swept")
        self.kill(process)
        results = self.whole()
        self.expect_guard(results, process.pid)
        self.assertEqual(results["ranks"][0]["exit_code"], 0)
        self.assertEqual(len(results["ranks"][0]["result"]), JUDGING // 3 + 1)

    def test_after_it_stopped(self):
        """What was asked for first comes first, and the rest is told."""
        process = self.begin("-n", "1", "-s", "timeouts.stop_grace=10m", "--",
                             "sh", "-c", "trap '' TERM; while :; do sleep 1; "
                             "done")
        self.await_event(event="rank_started", rank=0)
        process.terminate()
        self.await_event(event="stop")
        self.kill(process)
        results = self.whole()
        self.assertEqual(results["status"], "stopped")
        self.assertEqual(results["exit_code"], 143)
        self.assertEqual(results["jobrun_killed"]["pid"], process.pid)
        self.assertIn("guard", self.jobrun("show").stdout)

    def test_a_failed_rank_stays_the_cause(self):
        process = self.begin("-n", "2", "-s", "timeouts.stop_grace=10m", "--",
                             "sh", "-c", "test $RANK = 1 && exit 3; "
                             "trap '' TERM; while :; do sleep 1; done")
        self.await_event(event="stop")
        self.kill(process)
        results = self.whole()
        self.expect_guard(results, process.pid)
        self.assertEqual(results["root_cause"]["rank"], 1)
        self.assertEqual(results["root_cause"]["exit_code"], 3)


class Runner(Case):
    def test_while_ranks_run(self):
        process = self.begin("-n", "2", "--", "sleep", "1000")
        self.await_event(event="rank_started", rank=1)
        os.kill(harness.runner_of(process.pid), signal.SIGKILL)
        self.assertEqual(process.wait(WAIT), 7)
        results = self.whole()
        self.assertEqual(results["status"], "launch_failed")
        self.assertEqual(results["jobrun_killed"],
                         {"process": "runner", "pid": None,
                          "signal": "SIGKILL"})

    def test_between_attempts_it_is_not_needed(self):
        process = self.begin(
            "-n", "1", "-s", "restart={max: 1, backoff: 500ms}", "--", "sh",
            "-c", "exit $((3 * (1 - JOBRUN_ATTEMPT)))")
        self.await_event(event="attempt_failed", attempt=0)
        os.kill(harness.runner_of(process.pid), signal.SIGKILL)
        self.assertEqual(process.wait(WAIT), 0)
        self.assertIsNone(self.whole()["jobrun_killed"])

    def test_none_is_left_or_waits_busily(self):
        """While nothing happens between attempts, both sleep."""
        process = self.begin(
            "-n", "1", "-s", "restart={max: 1, backoff: 10m}", "--", "false")
        self.await_event(event="attempt_failed", attempt=0)
        runner = harness.runner_of(process.pid)

        def switches():
            text = pathlib.Path(f"/proc/{runner}/status").read_text()
            return [line for line in text.splitlines() if "ctxt" in line]

        def sleeps():
            before = switches()
            time.sleep(0.3)
            return switches() == before

        # It may still be on its way to sleep at the first look.
        self.assertTrue(sleeps() or sleeps())
        process.terminate()
        self.assertEqual(process.wait(WAIT), 143)
        self.whole()


class Full(harness.Case):
    """A disk that the ranks have filled: a small one of the test's own."""

    FILL = ("dd if=/dev/zero of=fill bs=4k 2>/dev/null; "
            "dd if=/dev/zero of=rest bs=1 2>/dev/null; ")

    def mounts(self):
        """The options of unshare(1) with which a file system can be mounted."""
        for own in (["-m"], ["-Urm"]):
            there = subprocess.run(["unshare", *own, "true"],
                                   capture_output=True)
            if there.returncode == 0:
                return own
        self.skipTest("SKIPPED: no file system can be mounted here")
        raise AssertionError

    def run_there(self, script, *words):
        """jobrun with ranks of this script, and what it left: its results, its
        record, and all names."""
        own = self.mounts()
        (self.folder / "disk").mkdir()
        (self.folder / "ranks.sh").write_text(script)
        (self.folder / "run.sh").write_text(
            'mount -t tmpfs -o size=2m tmpfs disk && cd disk || exit 99\n'
            '"$0" --run-id r "$@" -- sh ../ranks.sh\n'
            'code=$?\ncat runs/r/results.json >&3\n'
            'cat runs/r/run.json >&4\nls -A runs/r >&5\nexit $code\n')
        command = ["unshare", *own, "sh", "-c",
                   '. ./run.sh 3>results 4>record 5>names', harness.JOBRUN,
                   *words]
        done = subprocess.run(command, cwd=self.folder, text=True,
                              env=harness.clean_environment(),
                              stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=harness.LIMIT)
        if done.returncode == 99:
            self.skipTest("SKIPPED: no file system can be mounted here")
        return (done, json.loads((self.folder / "results").read_text()),
                json.loads((self.folder / "record").read_text()))

    def test_it_is_written_into_reserved_space(self):
        done, results, record = self.run_there(self.FILL + "exit 0", "-n", "4",
                                               "-s", "redirects=none",
                                               "-s", "tee=none")
        self.expect(done, 0)
        self.assertEqual(results["status"], "succeeded")
        self.assertEqual(record["status"], "succeeded")
        self.assertNotIn("\n.", (self.folder / "names").read_text())

    def test_a_failure_is_told_all_the_same(self):
        done, results, record = self.run_there(self.FILL + "exit 3", "-n", "4")
        self.expect(done, 1)
        self.assertEqual(results["status"], "failed")
        self.assertEqual(record["exit_code"], 1)
        self.assertIn("exit status 1", done.stderr)

    def test_logs_that_are_not_whole(self):
        done, results, record = self.run_there(
            self.FILL + "i=0; while [ $i -lt 2000 ]; do echo $i; "
            "i=$((i + 1)); done; exit 0", "-n", "2")
        self.expect(done, 7)
        self.assertEqual((results["status"], results["exit_code"]),
                         ("incomplete", 7))
        self.assertEqual((record["status"], record["exit_code"]),
                         ("incomplete", 7))
        self.assertRegex(done.stderr, "INCOMPLETE.* exit status 7\n")

    def test_a_result_that_is_too_large_for_it(self):
        """It stands in the rank's own file; the rest is told."""
        done, results, record = self.run_there(
            "(echo '['; yes 12345678, | head -n 40000; echo '0]') "
            "> $JOBRUN_RESULT_FILE\n" + self.FILL + "exit 0", "-n", "1", "-s",
            "results={from: file}")
        self.expect(done, 7)
        self.assertEqual((results["status"], results["exit_code"]),
                         ("incomplete", 7))
        self.assertEqual((record["status"], record["exit_code"]),
                         ("incomplete", 7))
        self.assertIn("No space left on device",
                      results["root_cause"]["message"])
        self.assertIsNone(results["ranks"][0]["result"])
        self.assertEqual(results["ranks"][0]["exit_code"], 0)
        self.assertRegex(done.stderr, "INCOMPLETE: every rank succeeded, but "
                         "the record is incomplete.* exit status 7\n")


    # Everything that the disk has a name for; then the ranks take the rest.
    FEW = """\
mount -t tmpfs -o size=8m,nr_inodes=$1 tmpfs disk && cd disk || exit 99
"$0" --run-id r -n 2 -- sh -c 'n=0; while touch "$RANK.$n"; do
n=$((n + 1)); done 2>/dev/null; exit $RANK' 2>&1
code=$?
test ! -e runs/r || cat runs/r/results.json >&3 || code=98
exit $code
"""

    def test_a_disk_that_takes_no_more_files(self):
        """Either there is no run, or its record is whole; and the last line has
        the exit status."""
        own = self.mounts()
        (self.folder / "disk").mkdir()
        ended = []
        for most in range(4, 36):
            with open(self.folder / "results", "w") as results:
                done = subprocess.run(
                    ["unshare", *own, "sh", "-c", 'exec 3>&0; sh -c "$@"', "sh",
                     self.FEW, harness.JOBRUN, str(most)],
                    cwd=self.folder, text=True, stdin=results,
                    env=harness.clean_environment(), stderr=subprocess.PIPE,
                    stdout=subprocess.PIPE, timeout=harness.LIMIT)
            if done.returncode == 99:
                self.skipTest("SKIPPED: no file system can be mounted here")
            text = (self.folder / "results").read_text()
            with self.subTest(most=most, said=done.stdout):
                self.assertIn(done.returncode, (1, 7))
                if text == "":
                    self.assertEqual(done.returncode, 7)
                    continue
                self.assertEqual(json.loads(text)["exit_code"],
                                 done.returncode)
                self.assertRegex(done.stdout,
                                 f" exit status {done.returncode}\n")
                ended.append(done.returncode)
        self.assertIn(1, ended)
        self.assertIn(7, ended)


class Synced(harness.Case):
    """Both files are on the disk before they take their places; runs that end
    within a second of each other share that."""

    def mark(self):
        return (self.folder / "runs" / ".gitignore").stat().st_mtime

    def test_once_a_second(self):
        self.expect(self.jobrun("-n", "1", "--", "true"), 0)
        first = self.mark()
        self.assertLess(abs(first - time.time()), WAIT)
        os.utime(self.folder / "runs" / ".gitignore", (first, first - 2))
        self.expect(self.jobrun("-n", "1", "--", "true"), 0)
        self.assertGreater(self.mark(), first - 2)
        ahead = time.time() - 0.001
        os.utime(self.folder / "runs" / ".gitignore", (ahead, ahead))
        before = self.mark()
        done = self.expect(self.jobrun("-n", "1", "--", "true"), 0)
        if time.time() - before < 1:  # it was quick enough to share
            self.assertEqual(self.mark(), before, done.stderr)

    def test_a_file_of_the_users_own_is_left_alone(self):
        (self.folder / "runs").mkdir()
        ignore = self.folder / "runs" / ".gitignore"
        ignore.write_text("*.log\n")
        os.utime(ignore, (5, 5))
        self.expect(self.jobrun("-n", "1", "--", "true"), 0)
        self.assertEqual((self.mark(), ignore.read_text()), (5, "*.log\n"))

    def test_before_they_are_renamed(self):
        if shutil.which("strace") is None:
            self.skipTest("SKIPPED: strace is not here")
        trace = self.folder / "trace"
        done = subprocess.run(
            ["strace", "-e", "trace=fdatasync,rename,renameat,renameat2", "-o",
             trace, harness.JOBRUN, "-n", "1", "--", "true"], cwd=self.folder,
            env=harness.clean_environment(), capture_output=True, text=True,
            timeout=harness.LIMIT)
        if done.returncode != 0 and "ptrace" in done.stderr:
            self.skipTest("SKIPPED: nothing can be traced here")
        self.expect(done, 0)
        calls = [line.split("(")[0] + (
            "" if "fdatasync" in line else line.split('"')[3])
            for line in trace.read_text().splitlines() if "(" in line]
        self.assertEqual([call.split("at2")[-1].split("at")[-1]
                          if call.startswith("rename") else call
                          for call in calls[-4:]],
                         ["fdatasync", "fdatasync", "run.json",
                          "results.json"])


class AtRandom(Case):
    def test_moments(self):
        """Wherever it hits, once run.json is there: the record is completed,
        and no process is left."""
        chance = random.Random(int(os.environ.get("SEED", "12")))
        killed = {"guard": 0, "runner": 0}
        for number in range(KILLS):
            logs = f"runs{number}"
            process = self.begin(
                "-n", "3", "-s", f"log_dir={logs}",
                "-s", "restart={max: 1, backoff: 5ms}",
                "-s", f"isolation={chance.choice(['none', 'pid'])}", "--",
                "sh", "-c", "sleep 0.01; exit $((RANK / 2))",
                stderr=subprocess.DEVNULL)
            folder = self.folder / logs / self.run_id
            self.assertTrue(until((folder / "run.json").exists))
            time.sleep(chance.uniform(0, 0.06))
            victim = chance.choice(["guard", "runner"])
            try:
                # LeakSanitizer may have a child, too, and would wait for it
                # for ever.
                pid = process.pid if victim == "guard" else next(
                    child for child in harness.children(process.pid)
                    if harness.name_of(child) == "jobrun-runner")
                os.kill(pid, signal.SIGKILL)
            except (OSError, StopIteration):
                pass  # it has ended
            code = process.wait(WAIT)
            self.gone()
            if not (folder / "results.json").exists():
                # There was no other process yet.
                self.assertEqual((victim, code), ("guard", -9))
                self.assertFalse((folder / "events.jsonl").exists())
                continue
            results = json.loads((folder / "results.json").read_text())
            self.assertEqual(len(results["ranks"]), 3)
            if results["jobrun_killed"]:
                killed[results["jobrun_killed"]["process"]] += 1
        self.assertGreater(killed["guard"], 0)
        self.assertGreater(killed["runner"], 0)


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1].isdigit():
        KILLS = int(sys.argv.pop(1))
    harness.main()
