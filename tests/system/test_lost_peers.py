"""A rank dies, and its peers fail because of that: the report names the rank
that died first, whoever was reaped first.
"""
import harness

# Rank 1 says that it has lost a peer, and fails; once it has been reaped, rank
# 0 dies.
LATE = """
if test $RANK = 1; then
    echo $$ > pid.new; mv pid.new pid
    echo "Traceback (most recent call last):" >&2
    echo "ConnectionResetError: the peer has gone" >&2; exit 1
fi
until test -e pid; do :; done
read p < pid
while test -d /proc/$p; do :; done
kill -SEGV $$
"""


class Told(harness.Case):
    """What is said, of ranks whose order is theirs to keep."""

    def run_script(self, script, *words, ranks=2):
        return self.jobrun("-n", str(ranks), "-s", "device=cpu", *words, "--",
                           "sh", self.write("rank.sh", script))

    def test_a_dead_peer_and_who_noticed(self):
        done = self.expect(self.run_script(LATE), 1)
        self.assertIn(": rank 0 died by SIGSEGV", done.stderr)
        self.assertIn("  together with it (too close to order, and of a kind "
                      "that a dead peer causes):\n    rank 1   exited with "
                      "code 1\n", done.stderr)
        results = self.results()
        cause = results["root_cause"]
        self.assertEqual((cause["rank"], cause["kind"], cause["together"]),
                         (0, "signal", [1]))
        self.assertEqual([rank["lost_peer"] for rank in results["ranks"]],
                         [False, True])
        shown = self.expect(self.jobrun("show", "latest"), 0).stdout
        self.assertIn("    rank 1   exited with code 1\n", shown)

    def test_restart_and_exit_status_follow_the_cause(self):
        done = self.run_script(
            LATE + "", "-s", "restart={max: 1, on: ['signal:SIGSEGV'], "
            "never: ['exit:1']}", "-s", "exit_status=rank")
        self.expect(done, 128 + 11)
        self.assertEqual(self.results()["attempt"], 1)

    def test_a_lost_peer_is_the_cause_where_nobody_else_is(self):
        done = self.expect(self.run_script(
            'test $RANK = 0 && exec sleep 1000; '
            'echo "Broken pipe" >&2; exit 4'), 1)
        self.assertIn(": rank 1 exited with code 4", done.stderr)
        self.assertIn("rank 0 stopped by jobrun (SIGTERM)", done.stderr)

    def test_who_left_without_its_result_is_the_cause(self):
        script = ('if test $RANK = 0; then touch left; exit 0; fi; '
                  'until test -e left; do :; done; sleep 0.3; '
                  'echo "Traceback (most recent call last):" >&2; '
                  'echo "ConnectionResetError: rank 0 has gone" >&2; exit 4')
        words = ("-s", "results={from: file}")
        done = self.expect(self.run_script(script, *words), 1)
        self.assertIn(": rank 0 ended with 0 but did not deliver   exit "
                      "status 1\n", done.stderr)
        self.assertIn("\n  result.json was not written\n", done.stderr)
        self.assertIn("  after it:   rank 1 failed after the first failure: "
                      "exited with code 4\n", done.stderr)
        self.assertIn("  try:        rank 0 left while", done.stderr)
        cause = self.results()["root_cause"]
        self.assertEqual((cause["rank"], cause["kind"], cause["exit_code"]),
                         (0, "result", 0))
        shown = self.expect(self.jobrun("show", "latest"), 0).stdout
        for line in done.stderr.splitlines()[3:-1]:
            self.assertIn(line + "\n", shown)
        self.expect(self.run_script(
            'test $JOBRUN_ATTEMPT = 1 || { ' + script + '; }; '
            'echo 1 > $JOBRUN_RESULT_FILE', *words, "-s",
            "restart={max: 1, on: [result], never: [exit]}"), 0)
        self.assertEqual(self.results()["attempt"], 1)

    def test_it_is_told_how_a_rank_ended_that_was_being_stopped(self):
        done = self.expect(self.run_script(
            "if test $RANK = 1; then until test -e ready; do :; done; exit 7; "
            "fi; trap 'kill -SEGV $$' TERM; touch ready; "
            "while :; do sleep 0.01; done"), 1)
        self.assertIn(": rank 1 exited with code 7", done.stderr)
        self.assertIn("rank 0 failed after the first failure: died by SIGSEGV",
                      done.stderr)
        rank = self.results()["ranks"][0]
        self.assertEqual((rank["state"], rank["signal"]),
                         ("after_first_failure", "SIGSEGV"))
        shown = self.expect(self.jobrun("show", "latest"), 0).stdout
        self.assertIn("died by SIGSEGV", shown)
        self.assertNotIn("stopped by jobrun", shown)


if __name__ == "__main__":
    harness.main()
