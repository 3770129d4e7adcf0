"""A run that goes on, as it is seen from outside: show, and wait --timeout."""
import json
import os
import signal
import time

import harness


class Live(harness.Case):
    def begin(self, script, *words):
        """Two ranks that have begun; rank 1 has ended if the script says so."""
        os.mkfifo(self.folder / "fifo")
        self.run_id = self.expect(self.jobrun(
            "-n", "2", "--detach", *words, "--", "sh", "-c", script),
            0).stdout.strip()
        self.await_event(event="rank_started", rank=1)
        self.addCleanup(self.jobrun, "stop", self.run_id)

    def release(self):
        """End what reads from the FIFO, and wait for the run."""
        go = os.open(self.folder / "fifo", os.O_RDWR)
        self.addCleanup(os.close, go)
        os.write(go, b"now\nnow\n")  # a line for each
        return self.jobrun("wait", "latest")

    def shown(self):
        return json.loads(self.expect(
            self.jobrun("show", "latest", "--json"), 0).stdout)

    def test_json_of_a_run_that_goes_on(self):
        self.begin("[ $RANK = 1 ] && exit 3; read x < fifo",
                   "-s", "on_failure=continue", "-s", "redirects=all")
        self.await_event(event="rank_ended", rank=1)
        told = self.shown()
        self.assertEqual(
            {key: told[key] for key in ("status", "run_id", "world_size",
                                        "exit_code", "root_cause",
                                        "finished")},
            {"status": "running", "run_id": self.run_id, "world_size": 2,
             "exit_code": None, "root_cause": None, "finished": None})
        first, second = told["ranks"]
        self.assertEqual((first["state"], first["exit_code"]),
                         ("running", None))
        os.kill(first["pid"], 0)
        self.assertEqual((second["state"], second["exit_code"],
                          second["signal"]), ("ended", 3, None))
        self.assertEqual(first["stdout"], "attempt_0/0/stdout.log")
        done = self.release()
        self.assertEqual(done.returncode, 1)
        after = self.shown()
        self.assertEqual((after["status"], after["ranks"][0]["pid"]),
                         ("failed", first["pid"]))
        # What is read of a run that goes on is read of one that has ended.
        self.assertLessEqual(set(told), set(after))
        self.assertLessEqual(set(first), set(after["ranks"][0]))

    def log(self, name):
        return self.folder / "runs" / "latest" / "attempt_0" / name

    def await_log(self, name):
        until = time.monotonic() + harness.LIMIT
        while not self.log(name).exists():
            self.assertLess(time.monotonic(), until, name)
            time.sleep(0.01)

    def check_logs_named(self, run="latest"):
        """The record, and what is made from it, names the logs that are there
        and no others."""
        folder = self.folder / "runs" / run
        told = self.results(run)
        shown = json.loads(self.expect(
            self.jobrun("show", run, "--json"), 0).stdout)
        named = set()
        for rank, other in zip(told["ranks"], shown["ranks"]):
            for stream in ("stdout", "stderr"):
                self.assertEqual(rank[stream], other[stream])
                self.assertEqual(rank[stream + "_silent"],
                                 rank[stream] is None)
                if rank[stream] is not None:
                    self.assertTrue((folder / rank[stream]).is_file())
                    named.add(rank[stream])
        self.assertEqual(
            named, {str(path.relative_to(folder))
                    for path in folder.glob("attempt_*/*/std*.log")})
        self.expect(self.jobrun("report", run, "--format", "html", "-o",
                                "page.html"), 0)
        text = (self.folder / "page.html").read_text()
        self.assertNotIn("no file", text)
        self.assertEqual(text.count('.log"'), len(named))
        return told

    def test_logs_that_are_not_there_are_not_named(self):
        done = self.jobrun("-n", "3", "-s", "on_failure=continue", "--",
                           "sh", "-c",
                           "[ $RANK = 1 ] && echo x; [ $RANK != 2 ]")
        self.expect(done, 1)
        told = self.check_logs_named()
        self.assertEqual([rank["stdout"] for rank in told["ranks"]],
                         [None, "attempt_0/1/stdout.log", None])
        logs = self.jobrun("logs", "latest", "--rank", "2")
        self.assertEqual((logs.returncode, logs.stdout), (0, ""))
        self.assertIn("wrote nothing", logs.stderr)
        self.assertEqual(
            self.expect(self.jobrun("logs", "latest"), 0).stdout.splitlines(
            )[1:], ["x"])
        self.assertIn("it wrote nothing to stdout and stderr", done.stderr)
        again = self.expect(self.jobrun("show", "latest"), 0).stdout
        self.assertIn("it wrote nothing to stdout and stderr", again)

    def test_advice_does_not_lead_to_logs_that_are_not_there(self):
        done = self.jobrun("-n", "2", "--", "sh", "-c", "exit 3")
        self.expect(done, 1)
        self.assertIn("(jobrun show latest)", done.stderr)
        self.check_logs_named()

    def test_logs_of_ranks_that_never_started(self):
        done = self.jobrun("-n", "2", "--", "./none")
        self.expect(done, 7)
        self.check_logs_named()

    def test_logs_after_the_runner_was_killed(self):
        done = self.jobrun(
            "-n", "2", "--", "sh", "-c",
            "[ $RANK = 0 ] && { echo x; sleep 0.3; kill -KILL $PPID; }; "
            "exec sleep 100")
        self.expect(done, 7)
        self.check_logs_named()

    def test_a_silent_rank_that_runs_has_its_logs(self):
        self.begin("[ $RANK = 0 ] && read x < fifo && echo late >&2; :")
        self.await_event(event="rank_ended", rank=1)
        for name in ("0/stdout.log", "0/stderr.log"):
            self.await_log(name)
            self.assertEqual(self.log(name).stat().st_mode & 0o777, 0o600)
        ranks = self.shown()["ranks"]
        self.assertEqual(ranks[0]["stderr"], "attempt_0/0/stderr.log")
        for rank in ranks:  # what ended soon has none
            for stream in ("stdout", "stderr"):
                self.assertEqual(
                    rank[stream] is not None,
                    self.log(f"{rank['rank']}/{stream}.log").exists())
        self.expect(self.release(), 0)
        self.assertEqual(self.log("0/stderr.log").read_text(), "late\n")
        self.assertEqual(self.log("0/stdout.log").read_text(), "")
        told = self.expect(self.jobrun("logs", "latest", "--rank", "1"), 0)
        self.assertEqual(told.stdout, "")

    def test_a_silent_rank_has_no_match(self):
        done = self.jobrun(
            "-n", "2", "-s", "results={from: stdout, pattern: 'x=(?<x>\\d+)'}",
            "--", "sh", "-c", "[ $RANK = 1 ] || echo x=1")
        self.assertEqual(done.returncode, 5, done.stderr)
        ranks = self.results()["ranks"]
        self.assertEqual(ranks[0]["result"], {"x": "1"})
        self.assertEqual(ranks[1]["result_error"], "missing")
        self.assertNotIn("No such file", done.stderr)

    def test_what_a_rank_wrote_into_its_log_stays(self):
        """Whether the file was there before or not."""
        done = self.jobrun(
            "-n", "1", "--", "sh", "-c",
            "echo mine >$JOBRUN_RANK_DIR/stdout.log; echo output")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.log("0/stdout.log").read_text(),
                         "mine\noutput\n")

    def test_a_rank_that_died_of_a_signal(self):
        self.begin("[ $RANK = 1 ] && kill -9 $$; read x < fifo",
                   "-s", "on_failure=continue")
        self.await_event(event="rank_ended", rank=1)
        rank = self.shown()["ranks"][1]
        self.assertEqual((rank["state"], rank["exit_code"], rank["signal"]),
                         ("ended", None, "SIGKILL"))
        self.release()

    def test_text_of_a_run_that_goes_on(self):
        self.begin("[ $RANK = 1 ] && exit 0; read x < fifo")
        self.await_event(event="rank_ended", rank=1)
        pids = [rank["pid"] for rank in self.shown()["ranks"]]
        told = self.expect(self.jobrun("show", "latest"), 0).stdout
        self.assertIn(f"  rank 0   pid {pids[0]}\n", told)
        self.assertIn(f"  rank 1   pid {pids[1]}, ended\n", told)
        self.release()

    def test_a_run_that_is_lost(self):
        self.begin("trap '' TERM; read x < fifo")
        guard = json.loads((self.folder / "runs" / self.run_id / "run.json")
                           .read_text())["pid"]
        runner = harness.runner_of(guard)
        for pid in runner, guard:
            os.kill(pid, signal.SIGSTOP)
        for pid in runner, guard:
            os.kill(pid, signal.SIGKILL)
        self.await_lost()
        told = self.shown()
        self.assertEqual({rank["state"] for rank in told["ranks"]}, {"ended"})

    def await_lost(self):
        def status():
            return self.shown()["status"]
        for _ in range(500):
            if status() == "lost":
                return
        self.fail(f"it is {status()}")

    def test_a_wait_that_is_over_first(self):
        self.begin("read x < fifo")
        done = self.expect(self.jobrun("wait", "latest", "--timeout", "100ms"),
                           124)
        self.assertIn(f"{self.run_id} is still running after 100ms",
                      done.stderr)
        self.expect(self.jobrun("wait", "latest", "--timeout", "0s"), 124)
        self.assertEqual(self.release().returncode, 0)
        self.expect(self.jobrun("wait", "latest", "--timeout", "1h"), 0)

    def test_a_time_that_is_none(self):
        self.expect(self.jobrun("-n", "1", "--", "true"), 0)
        for text in "soon", "-1s", "3":
            done = self.expect(self.jobrun("wait", "--timeout=" + text), 2)
            self.assertIn("--timeout wants a time with its unit, such as 30s", done.stderr)
        for text in "-1", "inf", "none":
            done = self.expect(self.jobrun("wait", "--timeout=" + text), 2)
            self.assertIn("leave it out for no limit", done.stderr)
        self.expect(self.jobrun("wait"), 0)


if __name__ == "__main__":
    harness.main()
