"""Failures to order: --inject, and what is told of them."""
import harness

GOOD = "version: 1\nname: job\nworld_size: 4\n"


class Case(harness.Case):
    def spec(self, text):
        self.write("job.jobrun.yaml", GOOD + text)

    def inject(self, what, code, *words):
        return self.expect(
            self.jobrun("job.jobrun.yaml", "--inject", what, *words), code)

    def rank(self, number):
        return self.results()["ranks"][number]


class Wrong(Case):
    def test_positions_and_help(self):
        self.spec("entrypoint: [true]\n")
        for text, column, said in [
                ("", 1, "one range of ranks each"),
                ("kil:0", 1, "did you mean 'kill'?"),
                ("kill", 1, "which ranks?"),
                ("kill:", 6, "ranks are written"),
                ("kill:x", 6, "ranks are written"),
                ("kill:2-1", 6, "ranks are written"),
                ("kill:4", 6, "the last of 4 ranks is 3"),
                ("kill:0-4", 6, "the last of 4 ranks is 3"),
                ("kill:0,3", 8, "one range of ranks each"),
                ("kill:0, stop:9", 14, "no such rank"),
                ("kill:0@soon", 8, "500ms, 5s"),
                ("kill:0@5", 8, "500ms, 5s"),
                ("kill:0=3", 7, "only exit has a code"),
                ("exit:0", 1, "exit needs a code"),
                ("exit:0=256", 8, "from 0 to 255"),
                ("exit:0=1=2", 9, "given twice"),
                ("kill:0@1s@2s", 10, "given twice"),
                ("kill:0#x", 8, "attempts count from 0"),
                ("noresult:0", 1, "state -s results.required=all"),
                ("kill:0,", 8, "no such injection")]:
            with self.subTest(text):
                done = self.inject(text, 2)
                self.assertIn(f"--inject:{column}: error[JR0510]", done.stderr)
                self.assertIn(said, done.stderr)
                self.assertFalse((self.folder / "runs" / "latest").exists())


class Planned(Case):
    def test_the_plan_says_that_it_is_a_rehearsal(self):
        self.spec("entrypoint: [true]\n")
        words = ["plan", "job.jobrun.yaml"]
        self.assertNotIn("rehearsed",
                         self.expect(self.jobrun(*words), 0).stdout)
        done = self.expect(
            self.jobrun(*words, "--inject", "kill:3@5s, exit:1=7#*"), 0)
        self.assertIn("\nrehearsed kill:3@5s, exit:1=7#*\n", done.stdout)


class Done(Case):
    WAIT = "entrypoint: {shell: exec sleep 1000}\n"

    def test_a_later_item_does_not_rename_an_end(self):
        self.spec(self.WAIT)
        for later in ("slow:0-2", "stop:1", "hang:*", "kill:1"):
            with self.subTest(later):
                done = self.inject("exit:1=75, " + later, 1)
                self.assertIn("rank 1 exited with code 75, injected", done.stderr)
                self.assertLessEqual({"exit_code": 75, "injected": "exit"}.items(),
                                     self.rank(1).items())

    def test_kill_exit_oom(self):
        self.spec(self.WAIT)
        for what, said, wanted in [
                ("kill:3", "was killed by SIGKILL, injected",
                 {"signal": "SIGKILL", "injected": "kill"}),
                ("exit:3=77@10ms", "exited with code 77, injected",
                 {"exit_code": 77, "signal": None, "injected": "exit"}),
                ("oom:3@10ms", "was killed as if memory had run out, injected",
                 {"signal": "SIGKILL", "injected": "oom"})]:
            with self.subTest(what):
                done = self.inject(what, 1)
                self.assertIn(f"rank 3 {said}", done.stderr)
                self.assertIn(f"rehearsed with --inject '{what}'", done.stderr)
                self.assertLessEqual(wanted.items(), self.rank(3).items())
                results = self.results()
                self.assertEqual(results["root_cause"]["rank"], 3)
                self.assertEqual(results["inject"], what)
                shown = self.jobrun("show").stdout
                self.assertIn(f"rank 3 {said}", shown)
                self.assertIn("rehearsed", shown)
        self.assertEqual(self.results()["root_cause"]["kind"], "oom")

    def test_a_rank_that_stands_still_times_out(self):
        self.spec("entrypoint: [true]\ntimeouts: {run: 1s, stop_grace: 5s}\n")
        for what in ("hang:2", "stop:2"):
            self.spec("entrypoint: {shell: 'for i in 1 2 3; do sleep 0.1; done'}\n"
                      "timeouts: {run: 2s, stop_grace: 5s}\n")
            self.inject(what, 6)
            self.assertEqual(self.rank(2)["injected"], what[:4])
            self.assertEqual(self.rank(2)["stop_signals"][0], "SIGTERM")

    def test_slow_ranks_come_to_their_end(self):
        self.spec("entrypoint: {shell: 'for i in 1 2 3; do sleep 0.1; done'}\n")
        done = self.inject("slow:*", 0)
        self.assertIn("rehearsed with --inject 'slow:*'", done.stderr)

    def test_a_result_is_withheld(self):
        self.spec("entrypoint: {shell: echo 1 > $JOBRUN_RESULT_FILE}\n"
                  "results: {}\n")
        done = self.inject("noresult:1-2", 5)
        self.assertIn("2 of 4 did not deliver", done.stderr)
        self.assertIn("result.json was withheld by --inject", done.stderr)
        self.assertEqual(self.rank(0)["result"], 1)
        self.assertIsNone(self.rank(1)["result"])

    def test_recovery_is_rehearsed(self):
        self.spec("entrypoint: {shell: 'test $JOBRUN_ATTEMPT != 0 || "
                  "exec sleep 1000'}\n"
                  "restart: {max: 2, backoff: 0, on: oom}\n")
        done = self.inject("oom:1", 0)
        self.assertIn("attempt 0   rank 1 was killed as if", done.stderr)
        done = self.inject("kill:1", 1)
        self.assertIn("restart.on does not name", done.stderr)

    def test_a_hang_is_found_and_restarted(self):
        self.spec("entrypoint: {shell: 'test $JOBRUN_ATTEMPT != 0 || "
                  "while :; do echo; sleep 0.1; done'}\n"
                  "restart: {max: 1, backoff: 0, on: hang}\n"
                  "timeouts: {silence: 2s, stop_grace: 5s}\n")
        done = self.inject("hang:*", 0)
        self.assertIn("attempt 0   no rank wrote anything", done.stderr)
        self.assertEqual(self.results()["attempts"][0]["status"], "hung")

    def test_each_attempt_has_its_own(self):
        self.spec("entrypoint: {shell: 'exec sleep 1000'}\n"
                  "restart: {max: 2, backoff: 0}\n")
        self.inject("exit:0=1, exit:1=2#1, exit:2=0#7, exit:3=3#2", 1)
        results = self.results()
        self.assertEqual([a["cause"] for a in results["attempts"]],
                         ["rank 0 exited with code 1, injected",
                          "rank 1 exited with code 2, injected"])
        self.assertEqual(results["root_cause"]["exit_code"], 3)
        self.inject("exit:0=9#*", 1)
        self.assertEqual(self.results()["failed_alike"], 3)


if __name__ == "__main__":
    harness.main()
