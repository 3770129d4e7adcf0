"""A job that starts again: `restart`, its attempts on disk, and what is told of
them."""
import json
import os
import signal

import harness

NOW = "backoff: 0"


class Case(harness.Case):
    def spec(self, script, restart, more="", ranks=2):
        """A spec of a shell script, which sees $JOBRUN_ATTEMPT."""
        self.write("job.jobrun.yaml", "version: 1\nname: job\n"
                   f"world_size: {ranks}\nentrypoint: {{shell: {json.dumps(script)}}}\n"
                   f"restart: {{{restart}}}\ntimeouts: {{stop_grace: 5s}}\n"
                   f"{more}")

    def attempt(self, number):
        return self.folder / "runs" / "latest" / f"attempt_{number}"

    def log(self, number, rank, stream):
        """One that was stopped before it wrote anything has none."""
        path = self.attempt(number) / rank / f"{stream}.log"
        return path.read_text() if path.exists() else ""

    def go(self, code, *words):
        return self.expect(self.jobrun("job.jobrun.yaml", *words), code)


class Again(Case):
    def test_the_last_attempt_decides(self):
        self.spec("echo attempt $JOBRUN_ATTEMPT of $TORCHELASTIC_MAX_RESTARTS "
                  "$TORCHELASTIC_RESTART_COUNT; echo $MASTER_PORT >&2; "
                  "test $JOBRUN_ATTEMPT = 2 || exit 7", f"max: 5, {NOW}")
        done = self.go(0)
        self.assertIn("attempt 0 failed: rank", done.stderr)
        self.assertIn("(restart 1 of 5)", done.stderr)
        self.assertIn("(restart 2 of 5)", done.stderr)
        self.assertIn("succeeded", done.stderr)
        results = self.results()
        self.assertEqual(results["attempt"], 2)
        self.assertEqual([a["attempt"] for a in results["attempts"]], [0, 1])
        for earlier in results["attempts"]:
            self.assertEqual(earlier["status"], "failed")
            self.assertEqual(earlier["exit_code"], 1)
            self.assertRegex(earlier["cause"], "^rank [01] exited with code 7$")
        self.assertIsNone(results["not_restarted"])
        ports = []
        for number in range(3):
            out = self.log(number, "0", "stdout")
            if out:  # it may have been stopped before
                self.assertEqual(out, f"attempt {number} of 5 {number}\n")
            port = [self.log(number, rank, "stderr") for rank in "01"]
            ports.append(max(port))
        self.assertNotEqual(ports[0], ports[1])
        self.assertNotEqual(ports[1], ports[2])
        record = json.loads((self.folder / "runs/latest/run.json").read_text())
        self.assertEqual((record["attempt"], record["status"]),
                         (2, "succeeded"))
        plan = json.loads((self.folder / "runs/latest/plan.json").read_text())
        self.assertEqual(f"{plan['master_port']}\n", ports[2])

    def test_it_ends_after_max(self):
        self.spec("exit 3", f"max: 2, {NOW}", ranks=1)
        done = self.go(1)
        self.assertEqual(done.stderr.count("start again"), 2)
        self.assertIn("no progress: 2 attempts failed the same way, at once",
                      done.stderr)
        for text in ("attempt 2\n",
                     "  attempt 0   rank 0 exited with code 3, after",
                     "  attempt 1   rank 0 exited with code 3, after",
                     "  no progress: the last 3 attempts failed the same way",
                     "  not started again: restart.max is 2\n"):
            self.assertIn(text, done.stderr)
        results = self.results()
        self.assertEqual(results["not_restarted"], "restart.max is 2")
        self.assertEqual(results["failed_alike"], 3)
        shown = self.expect(self.jobrun("show"), 0).stdout
        told = [line for line in done.stderr.splitlines()
                if line.startswith(("  attempt", "  no p", "  not started"))]
        self.assertEqual(len(told), 4)
        for line in told:
            self.assertIn(line, shown)

    def test_nothing_starts_again_by_itself(self):
        self.spec("exit 3", "max: 0", ranks=1)
        done = self.go(1)
        self.assertNotIn("again", done.stderr)
        self.assertEqual(self.results()["attempts"], [])

    def test_only_the_last_results_count(self):
        self.spec("test $JOBRUN_ATTEMPT = 1 || echo '{\"x\": 1}' > "
                  "$JOBRUN_RESULT_FILE; exit $((JOBRUN_ATTEMPT == 0))",
                  f"max: 1, {NOW}, never: result",
                  "results: {fields: {x: {type: integer}}}\n", ranks=1)
        done = self.go(5)
        self.assertIn("result.json was not written", done.stderr)
        self.assertIn("not started again: restart.never names result",
                      done.stderr)

    def test_artifacts_are_made_anew(self):
        self.spec("test $JOBRUN_ATTEMPT = 1 || echo x > weights; "
                  "exit $((JOBRUN_ATTEMPT == 0))", f"max: 1, {NOW}",
                  "results: {required: none, artifacts: [weights]}\n", ranks=1)
        done = self.go(5)
        self.assertIn("weights", done.stderr)

    def test_the_window_frees_old_restarts(self):
        self.spec("test $JOBRUN_ATTEMPT = 4 || exit 1",
                  f"max: 1, {NOW}, window: 1ms", ranks=1)
        # Two restarts within a millisecond are one too many; a slow machine
        # only makes it likelier to go well.
        done = self.jobrun("job.jobrun.yaml")
        self.assertIn(done.returncode, (0, 1))
        if done.returncode == 1:
            self.assertIn("restart.max is 1 within 1ms", done.stderr)


class Causes(Case):
    def test_on_and_never(self):
        self.spec("test $JOBRUN_ATTEMPT = 0 && exit 75; exit 2",
                  f"max: 5, {NOW}, on: ['exit:70-80']", ranks=1)
        done = self.go(1)
        self.assertEqual(self.results()["attempt"], 1)
        self.assertIn("restart.on does not name such a cause", done.stderr)
        self.spec("test $JOBRUN_ATTEMPT = 0 && exit 75; exit 2",
                  f"max: 5, {NOW}, never: 'exit:2'", ranks=1)
        done = self.go(1)
        self.assertEqual(self.results()["attempt"], 1)
        self.assertIn("restart.never names exit:2", done.stderr)

    def test_a_signal(self):
        self.spec("test $JOBRUN_ATTEMPT = 1 || kill -SEGV $$",
                  f"max: 1, {NOW}, on: 'signal:SEGV'", ranks=1)
        self.go(0)
        self.assertIn("SIGSEGV", self.results()["attempts"][0]["cause"])

    def test_what_it_wrote(self):
        self.spec("echo NCCL WARN $JOBRUN_ATTEMPT >&2; exit 1",
                  f"max: 9, {NOW}, on: ['stderr:/^NCCL .* [01]$/']", ranks=1)
        self.go(1)
        self.assertEqual(self.results()["attempt"], 2)

    def test_a_timeout_is_each_attempts_own(self):
        self.spec("test $JOBRUN_ATTEMPT = 1 || exec sleep 1000",
                  f"max: 1, {NOW}, on: timeout", ranks=1)
        done = self.go(0, "-s", "timeouts.run=2s")
        self.assertIn("attempt 0   longer than timeouts.run", done.stderr)

    def test_a_program_that_comes_late(self):
        self.write("job.jobrun.yaml", "version: 1\nworld_size: 1\n"
                   "entrypoint: ['./attempt_%{attempt}']\n"
                   f"restart: {{max: 1, {NOW}, on: start}}\n")
        self.write("attempt_1", "#!/bin/sh\n").chmod(0o755)
        done = self.go(0)
        self.assertIn("could not execute './attempt_0'", done.stderr)

    def test_a_missing_result(self):
        self.spec("test $JOBRUN_ATTEMPT = 0 || echo 1 > $JOBRUN_RESULT_FILE",
                  f"max: 1, {NOW}, on: result", "results: {}\n", ranks=2)
        self.go(0)
        self.assertEqual(self.results()["attempts"][0]["exit_code"], 5)


class Signals(Case):
    def test_a_stop_during_the_wait_ends_it_at_once(self):
        self.spec("exit 3", "max: 3, backoff: 1h", ranks=1)
        for number, code in ((signal.SIGTERM, 143), (signal.SIGINT, 130)):
            process = self.start("job.jobrun.yaml", "--run-id", f"r{number}")
            self.await_line(process, "start again in 1h")
            shown = self.expect(self.jobrun("show", f"r{number}"), 0).stdout
            self.assertRegex(shown, r"\n  attempt 0 failed; attempt 1 starts in "
                             r"3[56]\d\d s\n")
            process.send_signal(number)
            self.assertEqual(process.wait(harness.LIMIT), code)
            told = process.stderr.read()
            self.assertIn("STOPPED", told)
            self.assertIn("before it:  rank 0 exited with code 3", told)
            results = self.results(f"r{number}")
            self.assertEqual(results["status"], "stopped")
            self.assertEqual(results["exit_code"], code)
            self.assertEqual(results["attempt"], 0)

    def await_line(self, process, text):
        for line in process.stderr:
            if text in line:
                return
        self.fail(f"no '{text}'")

    def test_what_is_stopped_does_not_start_again(self):
        self.spec("echo up; exec sleep 1000", f"max: 3, {NOW}", ranks=1)
        process = self.start("job.jobrun.yaml")
        for line in process.stdout:
            if "up" in line:
                break
        process.terminate()
        self.assertEqual(process.wait(harness.LIMIT), 143)
        self.assertEqual(self.results()["attempts"], [])

    def test_the_stop_verb_ends_the_wait(self):
        self.spec("exit 3", "max: 3, backoff: 1h", ranks=1)
        run = self.go(0, "--detach").stdout.strip()
        while not (self.folder / "runs" / run / "events.jsonl").exists():
            self.assertIn("running", self.jobrun("show", run).stdout)
        self.await_event(event="attempt_failed", attempt=0, wait=3600)
        self.jobrun("stop", run)
        self.expect(self.jobrun("wait", run), 143)


class Told(Case):
    def setUp(self):
        super().setUp()
        self.spec("echo this is $JOBRUN_ATTEMPT; "
                  "test $JOBRUN_ATTEMPT = 1 || exit 9", f"max: 1, {NOW}",
                  ranks=1)
        self.go(0)

    def log_of(self, number):
        run = os.readlink(self.folder / "runs" / "latest")
        return (f"==> runs/{run}/attempt_{number}/0/stdout.log <==\n"
                f"this is {number}\n")

    def test_logs_of_an_attempt(self):
        self.assertEqual(self.expect(self.jobrun("logs"), 0).stdout,
                         self.log_of(1))
        for number in "01":
            done = self.expect(self.jobrun("logs", "--attempt", number), 0)
            self.assertEqual(done.stdout, self.log_of(number))
        done = self.expect(self.jobrun("logs", "--attempt", "2"), 2)
        self.assertIn("has no attempt 2", done.stderr)

    def test_show_an_attempt(self):
        done = self.expect(self.jobrun("show", "--attempt", "0"), 0)
        self.assertIn("rank 0 exited with code 9", done.stdout)
        self.assertIn("--attempt 0 --rank 0)", done.stdout)
        self.assertIn("succeeded",
                      self.jobrun("show", "--attempt", "1").stdout)
        done = self.jobrun("show", "--attempt", "0", "--format", "json")
        self.assertEqual(json.loads(done.stdout)["status"], "failed")
        done = self.expect(self.jobrun("show", "--attempt", "7"), 2)
        self.assertIn("has no attempt 7", done.stderr)

    def test_events(self):
        names = [e["event"] for e in self.events()]
        self.assertEqual(names.count("rank_started"), 2)
        self.assertLess(names.index("attempt_failed"), names.index("restart"))
        restart = self.events()[names.index("restart")]
        self.assertEqual(restart["attempt"], 1)


if __name__ == "__main__":
    harness.main()
