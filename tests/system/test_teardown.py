"""Nothing survives a run: whatever signal jobrun is sent, whichever of its own
processes is killed, whatever the ranks leave behind."""
import json
import os
import pathlib
import signal
import time
import uuid

import harness
from processes import HEAD, POLITE, STUBBORN, marked


class Trust(harness.Case):
    def launch(self, text):
        self.mark = f"TEST_MARK={uuid.uuid4().hex}"
        spec = self.write("t.jobrun.yaml", text)
        process = self.start(spec, env=dict([self.mark.split("=")]))
        for _ in range(3):
            self.assertIn("up", process.stdout.readline())
        return process

    def ended(self, process, code):
        out, err = process.communicate(timeout=harness.LIMIT)
        self.assertEqual(process.returncode, code, f"{out}\n{err}")
        self.assert_nothing_left()
        return out, err

    def assert_nothing_left(self):
        deadline = time.monotonic() + harness.LIMIT
        while left := marked(self.mark):
            self.assertLess(time.monotonic(), deadline, f"left: {left}")
            time.sleep(0.01)

    def test_a_stop_signal_is_relayed(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP,
                       signal.SIGQUIT):
            with self.subTest(number):
                process = self.launch(POLITE)
                process.send_signal(number)
                self.ended(process, 128 + number)
                self.assertEqual(self.results()["status"], "stopped")
                self.assertEqual(self.results()["processes_left"], 0)

    def test_a_user_signal_reaches_the_ranks(self):
        process = self.launch(POLITE)
        process.send_signal(signal.SIGUSR1)
        for _ in range(3):
            self.assertIn("usr1", process.stdout.readline())
        process.terminate()
        self.ended(process, 128 + signal.SIGTERM)

    def test_stubborn_ranks_are_killed_after_the_grace(self):
        process = self.launch(STUBBORN)
        process.terminate()
        self.ended(process, 128 + signal.SIGTERM)
        self.assertEqual({r["signal"] for r in self.results()["ranks"]},
                         {"SIGKILL"})

    def test_a_rank_dies_of_what_jobrun_was_sent_just_before(self):
        """As when a scheduler ends a job: the rank is gone before jobrun, which
        knows already, can tell it to end."""
        process = self.launch(HEAD + "entrypoint:\n  shell: 'echo up; "
                              "exec sleep 600'\n")
        rank = self.await_event(event="rank_started", rank=1)
        runner = harness.runner_of(process.pid)
        os.kill(runner, signal.SIGSTOP)
        os.kill(runner, signal.SIGTERM)
        os.kill(rank["pid"], signal.SIGTERM)
        self.until(lambda: pathlib.Path(f"/proc/{rank['pid']}/stat").read_text()
                   .rpartition(")")[2].split()[0] == "Z")
        os.kill(runner, signal.SIGCONT)
        self.ended(process, 128 + signal.SIGTERM)
        self.assertEqual({r["state"] for r in self.results()["ranks"]},
                         {"stopped"})

    def until(self, there):
        limit = time.monotonic() + harness.LIMIT
        while not there():
            self.assertLess(time.monotonic(), limit)
            time.sleep(0.01)

    def test_a_second_signal_does_not_wait(self):
        process = self.launch(STUBBORN.replace("300ms", "10m"))
        process.terminate()
        self.await_event(event="stop")
        time.sleep(0.15)  # within 0.1 s it would be the same signal
        process.terminate()
        self.ended(process, 128 + signal.SIGTERM)

    def test_the_runner_is_killed(self):
        process = self.launch(STUBBORN)
        runner = harness.runner_of(process.pid)
        os.kill(runner, signal.SIGKILL)
        _, err = self.ended(process, 7)
        self.assertIn("SIGKILL", err)
        self.assertEqual(self.results()["status"], "launch_failed")

    def test_the_guard_is_killed(self):
        process = self.launch(STUBBORN)
        process.kill()
        self.ended(process, -signal.SIGKILL)

    def test_the_guard_is_killed_while_the_runner_is_stopped(self):
        for isolation in ("none", "pid"):
            with self.subTest(isolation):
                process = self.launch(STUBBORN + f"isolation: {isolation}\n")
                runner = harness.runner_of(process.pid)
                os.kill(runner, signal.SIGSTOP)
                process.kill()
                self.ended(process, -signal.SIGKILL)

    def test_a_suspended_rank_is_stopped(self):
        process = self.launch(POLITE)
        rank = self.await_event(event="rank_started", rank=1)
        os.kill(rank["pid"], signal.SIGSTOP)
        process.terminate()
        self.ended(process, 128 + signal.SIGTERM)

    def test_daemons_of_a_good_run_are_swept(self):
        self.mark = f"TEST_MARK={uuid.uuid4().hex}"
        spec = self.write("t.jobrun.yaml", HEAD + """\
entrypoint:
  shell: |
    setsid sh -c 'sleep 600 & sleep 600' > /dev/null 2>&1 &
    setsid sleep 600 &
    echo done
""")
        done = self.expect(
            self.jobrun(spec, env=dict([self.mark.split("=")])), 0)
        self.assertIn("0 processes left", done.stderr)
        self.check_ended({0: 4, 1: 4, 2: 4}, done.stderr, "ranks 0-2")
        self.assert_nothing_left()

    def check_ended(self, expected, told, names=""):
        """So many processes ranks have left running, everywhere it is told."""
        results = self.results()
        self.assertEqual({rank["rank"]: rank["processes_ended"]
                          for rank in results["ranks"]
                          if rank["processes_ended"] is not None}, expected)
        self.assertEqual(results["processes_ended"], sum(expected.values()))
        self.assertEqual(results["processes_left"], 0)
        events = [json.loads(line) for line in
                  (self.folder / "runs" / "latest" / "events.jsonl"
                   ).read_text().splitlines()]
        self.assertEqual({event["rank"]: event["processes"]
                          for event in events
                          if event["event"] == "left_running"}, expected)
        again = self.expect(self.jobrun("show", "latest"), 0).stdout
        for text in (told, again):
            if not expected:
                self.assertNotIn("left running", text)
                continue
            count = sum(expected.values())
            self.assertIn(
                f"{count} process{'' if count == 1 else 'es'} that {names} "
                f"left running {'was' if count == 1 else 'were'} ended\n",
                text)

    def run_shell(self, text, code, ranks=4):
        return self.expect(self.jobrun("-n", str(ranks), "--", "sh", "-c",
                                       text), code).stderr

    def test_what_ranks_left_running_is_told(self):
        told = self.run_shell("""\
[ $RANK = 1 ] && { sleep 600 & }
[ $RANK = 3 ] && { setsid sh -c '(sleep 600; :) & sleep 600; :' & sleep 0.2; }
:""", 0)
        # The sleep of rank 1; of rank 3 the shell, its child, and two sleeps.
        self.check_ended({1: 1, 3: 4}, told, "ranks 1,3")

    def test_what_a_failed_rank_left_is_told_and_not_what_others_did(self):
        told = self.run_shell("""\
sleep 600 &
[ $RANK = 1 ] && exit 3
wait""", 1)
        self.check_ended({1: 1}, told, "rank 1")

    def test_of_ranks_that_died_nothing_is_told(self):
        told = self.run_shell("sleep 600 & kill -SEGV $$", 1, ranks=1)
        self.check_ended({}, told)

    def test_helpers_that_end_with_their_rank_are_not_told(self):
        told = self.run_shell("""\
yes | head -n 1
(sleep 0.03) &
mkfifo p.$RANK; cat p.$RANK & exec 3> p.$RANK
exit 0""", 0)
        self.check_ended({}, told)
        self.write("pool.py", """
import multiprocessing, os, threading
if __name__ == "__main__":
    try:
        threading.Thread(target=int).start()
    except RuntimeError:
        raise SystemExit  # clone3 is denied here, and a pool wants threads
    context = multiprocessing.get_context("forkserver")
    lock = context.Lock()  # with a tracker
    with multiprocessing.Pool(2) as pool:
        pool.map(abs, [1, 2])
    with context.Pool(2) as pool:
        pool.map(abs, [1, 2])
    if os.environ["RANK"] == "0":
        os._exit(0)
""")
        done = self.expect(
            self.jobrun("-n", "2", "--", "python3", "pool.py"), 0)
        self.check_ended({}, done.stderr)

    def test_the_run_limit(self):
        self.mark = f"TEST_MARK={uuid.uuid4().hex}"
        spec = self.write("t.jobrun.yaml", STUBBORN.replace(
            "{stop_grace: 300ms}", "{run: 500ms, stop_grace: 100ms}"))
        done = self.expect(
            self.jobrun(spec, env=dict([self.mark.split("=")])), 6)
        self.assertIn("500 ms", done.stderr)
        self.assertEqual(self.results()["status"], "timed_out")
        self.assert_nothing_left()


if __name__ == "__main__":
    harness.main()
