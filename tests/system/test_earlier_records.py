"""Runs that an earlier build recorded are told by this one.

records/ has run folders as builds wrote them: those at its top are from before
`timed_out_by`, and before `end` and `stage` of a rank.
"""
import json
import pathlib
import shutil

import harness

RECORDS = pathlib.Path(__file__).resolve().parent / "records"
# What `show` of that build said, the sentences on time limits aside.
TOLD = {
    "absent": """\
jobrun: FAILED after 1 ms: rank 0 could not execute './absent': No such file \
or directory in /home/ada/jobs   exit status 7
  rank 0   node 0 (gpu07)   local 0   data 0   attempt 0
  after it:   ranks 1-3 not started
  0 processes left
  runs/absent   (jobrun show absent)
""",
    "failed": """\
jobrun: FAILED after 2 ms: rank 1 exited with code 3              exit status 1
  rank 1   node 0 (gpu07)   local 1   data 1   pid 30233   attempt 0
  last lines of stderr:
    | err 1
    | why
  after it:   ranks 0,2-3 stopped by jobrun (SIGTERM; rank 2 needed SIGKILL)
  0 processes left
  runs/failed/attempt_0/1/stderr.log                            \
(jobrun logs failed --rank 1)
""",
    "hung": """\
jobrun: HUNG after 1.7 s: no output from any rank for 1s (timeouts.silence); \
rank 3 using the CPU, silent for 1.0 s   exit status 6
  rank 3   node 0 (gpu07)   local 3   data 3   pid 30251   attempt 0
  last lines of stdout:
    | hello
  doing:      rank 3 using the CPU, silent for 1.0 s
              ranks 0-2 waiting in clock_nanosleep (hrtimer_nanosleep), \
silent for 1.0 s
  evidence:   hang.json in the ranks' folders   (jobrun show hung --stacks)
  ranks 0-3 stopped by jobrun (SIGTERM)
  0 processes left
  runs/hung/attempt_0/3/stdout.log                              \
(jobrun logs hung --rank 3)
""",
    "incomplete": """\
jobrun: INCOMPLETE: every rank exited with 0, but 2 of 4 did not deliver   \
exit status 5
  rank 1    result.json was not written
  rank 3    result.json: 'loss' is 3, more than 2
  0 processes left
  runs/incomplete   (jobrun logs incomplete --rank 1)
""",
    "restarted": """\
jobrun: FAILED after 1 ms: rank 1 exited with code 1              exit status 1
  rank 1   node 0 (gpu07)   local 1   data 1   pid 30279   attempt 1
  it wrote nothing to stdout and stderr
  after it:   ranks 0,2-3 stopped by jobrun (SIGTERM)
  attempt 0   rank 1 exited with code 1, after 4 ms
  no progress: the last 2 attempts failed the same way, at once
  not started again: restart.max is 1
  0 processes left
  runs/restarted   (jobrun logs restarted)
""",
    "segv": """\
jobrun: FAILED after 0 ms: rank 2 died by SIGSEGV                 exit status 1
  rank 2   node 0 (gpu07)   local 2   data 2   pid 30243   attempt 0
  it wrote nothing to stdout and stderr
  after it:   ranks 0-1,3 stopped by jobrun (SIGTERM)
  try:        --debug 2 gives this rank a terminal of its own, for gdb or pdb
  0 processes left
  runs/segv   (jobrun logs segv)
""",
    "stopped": """\
jobrun: STOPPED by SIGINT after 997 ms                            exit status 130
  ranks 0-3 stopped by jobrun (SIGTERM)
  0 processes left
  runs/stopped   (jobrun logs stopped)
""",
    "straggled": """\
jobrun: TIMED OUT after 1.0 s: not all ended within 500ms of the first \
(timeouts.after_first_exit)   exit status 6
  doing:      ranks 1-3 waiting in clock_nanosleep (hrtimer_nanosleep)
  evidence:   hang.json in the ranks' folders   (jobrun show straggled --stacks)
  ranks 1-3 stopped by jobrun (SIGTERM)
  rank 0 succeeded
  0 processes left
  runs/straggled   (jobrun logs straggled)
""",
    "timedout": """\
jobrun: TIMED OUT after 502 ms: longer than timeouts.run, which is 500 ms   \
exit status 6
  ranks 0-3 stopped by jobrun (SIGTERM)
  0 processes left
  runs/timedout   (jobrun logs timedout)
""",
}


class Case(harness.Case):
    def setUp(self):
        super().setUp()
        shutil.copytree(RECORDS, self.folder / "runs")

    def shown(self, name, *words):
        return self.expect(self.jobrun("show", name, *words), 0).stdout


class Earlier(Case):
    def test_each_is_told(self):
        self.assertEqual(sorted(TOLD), sorted(
            path.name for path in RECORDS.iterdir()))
        for name, told in TOLD.items():
            with self.subTest(name):
                self.assertEqual(self.shown(name), told)

    def test_the_page_and_what_differs_are_made(self):
        for name in TOLD:
            with self.subTest(name):
                self.expect(self.jobrun("report", name, "-o", name + ".html"),
                            0)
                page = (self.folder / (name + ".html")).read_text()
                self.assertIn(name, page)
        done = self.expect(self.jobrun("diff", "hung", "timedout"), 0)
        self.assertIn("hung", done.stdout)
        self.assertIn("timed_out", done.stdout)


class Now(Case):
    """What this build records is told from values."""

    def run_one(self, name, code, entry, more="", words=()):
        self.write("a.jobrun.yaml", "version: 1\nworld_size: 2\n"
                   f"oversubscribe: true\nentrypoint: {entry}\n{more}")
        self.expect(self.jobrun("a.jobrun.yaml", "--run-id", name, *words),
                    code)
        return json.loads(self.shown(name, "--json"))

    def retold(self, name, results):
        """What `show` says when every sentence on the run is another."""
        path = self.folder / "runs" / name / "results.json"
        cause = results["root_cause"]
        cause["message"] = "Es war einmal; after_first_exit"
        path.write_text(json.dumps(results))
        return self.shown(name)

    def test_which_timeout_it_was_is_a_value(self):
        for name, entry, limit, said in (
                ("run", "{shell: 'exec sleep 60'}", "run: 500ms",
                 "TIMED OUT after [^:]*: longer than timeouts.run, which is "
                 "500 ms "),
                ("silence", "{shell: 'exec sleep 60'}", "silence: 500ms",
                 r"HUNG after [^:]*: no output from any rank for 500ms "
                 r"\(timeouts.silence\) "),
                ("after_first_exit",
                 "{shell: '[ $RANK = 0 ] || exec sleep 60'}",
                 "after_first_exit: 500ms",
                 "TIMED OUT after [^:]*: not all ended within 500ms of the "
                 r"first \(timeouts.after_first_exit\) ")):
            with self.subTest(name):
                results = self.run_one(name, 6, entry,
                                       f"timeouts: {{{limit}}}\n")
                self.assertEqual((results["timed_out_by"],
                                  results["timeout_seconds"]), (name, 0.5))
                self.assertRegex(self.shown(name), said)
                self.assertRegex(self.retold(name, results), said)

    def test_a_start_that_took_too_long(self):
        results = self.run_one(
            "slow", 7, "{shell: exit}",
            "setup: exec sleep 60\ntimeouts: {start: 300ms}\n")
        self.assertEqual((results["status"], results["timed_out_by"]),
                         ("launch_failed", "start"))
        self.assertEqual({(rank["end"], rank["stage"])
                          for rank in results["ranks"]} - {(None, None)},
                         {("start", "setup")})

    def test_how_each_rank_ended_is_a_value(self):
        results = self.run_one("mixed", 1, "{shell: '[ $RANK = 0 ] || "
                               "kill -KILL $$; exec sleep 60'}")
        self.assertEqual([(rank["end"], rank["stage"], rank["errno"],
                           rank["oom"]) for rank in results["ranks"]],
                         [("signaled", None, None, False)] * 2)
        self.assertIsNone(results["timed_out_by"])
        self.assertIsNone(results["timeout_seconds"])
        results = self.run_one("none", 7, "[./absent]")
        self.assertEqual([(rank["end"], rank["stage"], rank["errno"])
                          for rank in results["ranks"]],
                         [("start", "exec", 2), (None, None, None)])


if __name__ == "__main__":
    harness.main()
