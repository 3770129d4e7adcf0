"""A job that is to be continued: `requeue`, without a scheduler."""
import json
import time

import harness
from test_nodes_by_srun import Agents

AT = "deadline@2500ms"  # by then a shell has set its trap
PREEMPT = "preempt@2500ms"

# Saves at the signal, and goes on from there in the next attempt. The step is
# written before it is printed, so that what was seen is never lost.
TRAINS = """trap 'exit 75' USR1; s=$(cat saved 2>/dev/null || echo 0)
while [ $s -lt {last} ]; do
  s=$((s + 1)); echo $s > saved; echo "step $s/{last}"; sleep {pace}
done
{last_words}"""


class Case(harness.Case):
    def spec(self, script, ranks=1, **more):
        """A spec of a shell script; a field that is None is left out."""
        fields = {"deadline": "{before: 10m}",
                  "timeouts": "{run: 1h, stop_grace: 5s}",
                  "requeue": "{max: 5}",
                  "progress": "{pattern: 'step (?<step>\\d+)/(?<of>\\d+)'}"}
        self.write("d.jobrun.yaml", "version: 1\nname: d\ndevice: cpu\n"
                   f"oversubscribe: true\nworld_size: {ranks}\n"
                   "entrypoint: {shell: %s}\n" % json.dumps(script) +
                   "".join(f"{key}: {value}\n"
                           for key, value in (fields | more).items()
                           if value is not None))

    def trains(self, last=10_000, pace=0.02, last_words="", **more):
        self.spec(TRAINS.format(last=last, pace=pace, last_words=last_words),
                  **more)

    def go(self, code, *words, **options):
        return self.expect(self.jobrun("d.jobrun.yaml", *words, **options),
                           code)

    def attempts(self):
        return [(a["status"], a["exit_code"], a["cause"], a["requeued"])
                for a in self.results()["attempts"]]

    def run_dir(self):
        return self.folder / "runs" / "latest"

    def await_file(self, name):
        self.wait_for(lambda: (self.folder / name).exists(), name)

    def wait_for(self, there, what):
        until = time.monotonic() + harness.LIMIT
        while not there():
            self.assertLess(time.monotonic(), until, what)
            time.sleep(0.02)

    def restarted(self):
        return [event["attempt"] for event in self.events()
                if event["event"] == "restart"]


class Deadline(Case):
    def test_starts_again_in_place_and_goes_on(self):
        self.trains(last=300, restart="{max: 1, backoff: 0}")
        done = self.go(0, "--inject", f"{AT},{AT}#1")
        self.assertIn("attempt 0 stopped for the deadline; all ranks start "
                      "again (requeue 1 of 5)", done.stderr)
        self.assertIn("(requeue 2 of 5)", done.stderr)
        self.assertEqual(
            self.attempts(),
            [("yielded", 8, "stopped for the deadline", "deadline")] * 2)
        results = self.results()
        self.assertEqual((results["attempt"], results["status"],
                          results["requeue"]),
                         (2, "succeeded",
                          {"cause": None, "requeues": 2, "max": 5}))
        first, second = (a["step"] for a in results["attempts"])
        self.assertLess(first, second)
        self.assertEqual(results["progress"]["best"], 300)
        self.assertEqual(self.restarted(), [1, 2])
        self.assertEqual([event["attempt"] for event in self.events()
                          if event["event"] == "requeued"], [0, 1])
        earlier = json.loads((self.run_dir() / "attempt_0/results.json")
                             .read_text())
        self.assertEqual(earlier["status"], "yielded")
        shown = self.jobrun("show").stdout
        self.assertIn("attempt 1   stopped for the deadline, after", shown)
        self.expect(self.jobrun("report", "--format", "html", "-o", "x.html"), 0)
        self.assertIn("stopped for the deadline",
                      (self.folder / "x.html").read_text())

    def test_at_the_end_of_the_time_of_each_attempt(self):
        self.trains(last=150, timeouts="{run: 10m}",
                    deadline="{before: 597500ms}")
        self.go(0)
        self.assertGreaterEqual(self.results()["requeue"]["requeues"], 1)

    def test_no_more_often_than_it_may(self):
        self.trains(requeue=2)
        done = self.go(8, "--inject", AT + "#*")
        results = self.results()
        self.assertEqual((results["status"], results["attempt"],
                          results["requeue"]),
                         ("yielded", 2, {"cause": "deadline", "requeues": 2,
                                         "max": 2}))
        self.assertEqual(results["not_restarted"], "requeue.max is 2")
        self.assertIn("not started again: requeue.max is 2", done.stderr)
        self.assertIn("not started again: requeue.max is 2",
                      self.jobrun("show").stdout)

    def test_a_cause_that_is_not_named(self):
        self.trains(requeue="{on: preempted, max: 2}")
        self.go(8, "--inject", AT)
        results = self.results()
        self.assertEqual((results["attempt"], results["requeue"]["cause"],
                          results["not_restarted"]), (0, "deadline", None))

    def test_no_success(self):
        self.spec("trap 'echo {} > $JOBRUN_RESULT_FILE; exit 0' USR1; "
                  "while :; do sleep 0.02; done", results="{from: file}")
        self.go(0, "--inject", AT)
        results = self.results()
        self.assertEqual((results["attempt"], results["requeue"]), (0, None))

    def test_no_stop(self):
        self.trains()
        process = self.start("d.jobrun.yaml")
        self.await_file("saved")
        process.terminate()
        self.assertEqual(process.wait(harness.LIMIT), 143)
        self.assertEqual(self.results()["requeue"], None)

    def test_failures_are_counted_by_themselves(self):
        """A restart is none of `requeue`, nor the other way around."""
        self.spec("trap 'exit 75' USR1; echo $JOBRUN_ATTEMPT > at;"
                  "[ $JOBRUN_ATTEMPT = 1 ] && exit 3; "
                  "[ $JOBRUN_ATTEMPT = 4 ] && exit 0; "
                  "while :; do sleep 0.02; done",
                  requeue="{max: 3}", restart="{max: 1, backoff: 0}",
                  progress=None)
        self.go(0, "--inject", AT + "#*")
        self.assertEqual([cause for *_, cause in self.attempts()],
                         ["deadline", None, "deadline", "deadline"])

    def test_on_end_runs_once(self):
        self.trains(last=200, on_end="[sh, -c, 'echo $JOBRUN_STATUS >> ends']")
        self.go(0, "--inject", AT)
        self.assertEqual((self.folder / "ends").read_text(), "succeeded\n")
        self.trains(requeue=1, on_end="[sh, -c, 'echo $JOBRUN_STATUS "
                    "$JOBRUN_EXIT_CODE >> ends']")
        self.go(8, "--inject", AT + "#*")
        self.assertEqual((self.folder / "ends").read_text(),
                         "succeeded\nyielded 8\n")


class Stall(Case):
    def test_ends_after_two(self):
        self.spec("trap 'exit 75' USR1; echo step 7/9; "
                  "while :; do sleep 0.02; done", requeue=20,
                  progress="{pattern: 'step (?<step>\\d+)/(?<of>\\d+)', "
                  "stall: 2}")
        done = self.go(6, "--inject", AT + "#*")
        results = self.results()
        self.assertEqual((results["exit_code"], results["attempt"],
                          results["root_cause"]["kind"], results["stall"],
                          results["requeue"]),
                         (6, 2, "stall", {"attempts": 2, "step": 7},
                          {"cause": None, "requeues": 2, "max": 20}))
        self.assertNotEqual(results["status"], "yielded")
        self.assertRegex(done.stderr, r"STALLED after .*: the last 2 attempts "
                         r"got no further than step 7 +exit status 6")
        shown = self.expect(self.jobrun("show"), 0).stdout
        self.assertIn("STALLED after", shown)
        self.expect(self.jobrun("report", "--format", "html", "-o", "x.html"),
                    0)

    def test_failures_and_requeues_are_one_row(self):
        self.spec("trap 'exit 75' USR1; echo step 7/9; "
                  "[ $JOBRUN_ATTEMPT = 1 ] && exit 3; "
                  "while :; do sleep 0.02; done", requeue=20,
                  restart="{max: 5, backoff: 0}",
                  progress="{pattern: 'step (?<step>\\d+)/(?<of>\\d+)', "
                  "stall: 2}")
        self.go(6, "--inject", AT + "#*")
        self.assertEqual(self.results()["attempt"], 2)


class Preempted(Case):
    def test_ranks_are_warned_at_once(self):
        self.trains(last=200, ranks=2)
        done = self.go(0, "--inject", PREEMPT)
        self.assertIn("attempt 0 was preempted; all ranks start again "
                      "(requeue 1 of 5)", done.stderr)
        self.assertEqual(self.attempts(), [("yielded", 8, "was preempted",
                                            "preempted")])
        self.assertEqual([event["event"] for event in self.events()
                          if event["event"] in ("preempted", "deadline")],
                         ["preempted", "deadline"])

    def test_without_a_deadline_they_are_stopped(self):
        self.spec("[ $JOBRUN_ATTEMPT = 1 ] || exec sleep 1000", ranks=2,
                  deadline=None, progress=None)
        self.go(0, "--inject", "preempt@300ms")
        self.assertEqual(self.attempts(), [("yielded", 8, "was preempted",
                                            "preempted")])
        self.go(8, "--inject", "preempt@300ms#*", "-s", "requeue=1", "-s",
                "entrypoint.shell=exec sleep 1000")
        results = self.results()
        self.assertEqual([rank["state"] for rank in results["ranks"]],
                         ["stopped", "stopped"])
        self.assertIn("2 of 2 ranks were preempted; to be continued",
                      self.jobrun("show").stdout)

    def test_the_signal_needs_no_step(self):
        self.spec("[ $JOBRUN_ATTEMPT = 1 ] || exec sleep 1000", progress=None)
        self.go(0, "--inject", "preempt@300ms")

    def test_a_rank_that_does_not_end_is_killed(self):
        self.spec("[ $JOBRUN_ATTEMPT = 1 ] && exit; trap '' USR1 TERM; "
                  "while :; do sleep 0.02; done", progress=None,
                  timeouts="{stop_grace: 300ms}")
        self.go(0, "--inject", PREEMPT)

    def test_a_failure_is_one(self):
        self.spec("trap 'exit 3' USR1; while :; do sleep 0.02; done")
        self.go(1, "--inject", PREEMPT)

    def test_with_a_deadline_alone_it_is_to_be_continued(self):
        self.trains(requeue=None)
        self.go(8, "--inject", PREEMPT)
        self.assertEqual(self.results()["requeue"],
                         {"cause": "preempted", "requeues": 0, "max": 0})


class LostNode(Case):
    def test_starts_again_in_place(self):
        self.spec("[ $JOBRUN_ATTEMPT = 1 ] || exec sleep 1000", ranks=4,
                  nodes=2, progress=None)
        done = self.go(0, "--local", "--inject", "lost_node:1@300ms")
        self.assertIn("attempt 0 lost a node; all ranks start again",
                      done.stderr)
        self.assertEqual(self.attempts(), [("failed", 1, "rank 2 was lost with "
                                            "its node, injected", "lost_node")])
        earlier = json.loads((self.run_dir() / "attempt_0/results.json")
                             .read_text())
        self.assertEqual([rank["state"] for rank in earlier["ranks"]],
                         ["stopped", "stopped", "failed", "failed"])
        self.assertEqual(earlier["root_cause"]["kind"], "lost_node")

    def test_is_a_failure_where_nothing_names_it(self):
        self.spec("exec sleep 1000", ranks=2, nodes=2, progress=None,
                  requeue="{on: [deadline, preempted], max: 3}")
        self.go(1, "--local", "--inject", "lost_node:0@300ms")
        results = self.results()
        self.assertEqual((results["root_cause"]["kind"], results["requeue"]),
                         ("lost_node", None))

    def test_and_no_more_often_than_it_may(self):
        self.spec("exec sleep 1000", ranks=2, nodes=2, progress=None, requeue=1)
        self.go(1, "--local", "--inject", "lost_node:0@300ms#*")
        results = self.results()
        self.assertEqual((results["status"], results["attempt"],
                          results["not_restarted"]),
                         ("failed", 1, "requeue.max is 1"))


class Injections(Case):
    def test_wrong_ones(self):
        self.spec("exit 0")
        for text, words in (
                ("preempt:0", "the whole job is preempted"),
                ("lost_node", "which node?"),
                ("lost_node@5s", "which node?"),
                ("lost_node:1", "there is no such node"),
                ("lost_node:*", "not the number of a node")):
            self.assertIn(words, self.go(2, "--inject", text).stderr)
        self.spec("exit 0", deadline=None, requeue=None)
        self.assertIn("neither deadline nor requeue",
                      self.go(2, "--inject", "preempt@1s").stderr)


class Nodes(Agents):
    def test_ranks_of_two_nodes_in_place(self):
        done = self.expect(self.run_on(
            2, "trap 'exit 75' USR1; [ $JOBRUN_ATTEMPT = 1 ] && exit 0; "
            "while :; do sleep 0.02; done", "--inject", "preempt@3s",
            more="deadline: {before: 10m}\nrequeue: 2"), 0)
        self.assertIn("was preempted; all ranks start again", done.stderr)
        self.nobody_is_left()


if __name__ == "__main__":
    harness.main()
