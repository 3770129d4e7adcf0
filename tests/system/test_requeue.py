"""A job that is to be continued: `requeue`, without a scheduler."""
import contextlib
import json
import os
import shutil
import signal
import subprocess
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
                          {"cause": None, "requeues": 2, "max": 5,
                           "queued": False}))
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
                                         "max": 2, "queued": False}))
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
                          {"cause": None, "requeues": 2, "max": 20,
                           "queued": False}))
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
                         {"cause": "preempted", "requeues": 0, "max": 0,
                          "queued": False})


class LostNode(Case):
    def test_starts_again_in_place(self):
        self.spec("[ $JOBRUN_ATTEMPT = 1 ] || exec sleep 1000", ranks=4,
                  nodes=2, progress=None)
        done = self.go(0, "--local", "--inject", "lost_node:1@300ms")
        self.assertIn("attempt 0 lost a node; all ranks start again",
                      done.stderr)
        ((status, code, cause, requeued),) = self.attempts()
        self.assertEqual((status, code, requeued), ("failed", 1, "lost_node"))
        # both of its ranks end at one moment, in whichever order
        self.assertRegex(cause, "^rank [23] was lost with its node, injected$")
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


class Slurm(Agents):
    """A job of Slurm's, by a stand-in for scontrol. It logs what it is asked, and
    says what `state`, `restarts` and `preempt` say; `script` is run first."""
    SCONTROL = """#!/bin/sh
cd "$(dirname "$0")"; echo "$@" >> asked
[ -e script ] && . ./script
[ "$1" = requeue ] && exec cat taken
cat << END
JobId=4711 JobName=t
   JobState=$(cat state) Reason=None Dependency=(null)
   Requeue=1 Restarts=$(cat restarts) BatchFlag=1
   StartTime=1 EndTime=Unknown Deadline=N/A
   PreemptEligibleTime=1 PreemptTime=$(cat preempt)
END
"""
    WAITS = ("trap 'exit 75' USR1; echo > up.$RANK; [ $JOBRUN_ATTEMPT = 1 ] && "
             "exit 0; while :; do sleep 0.02; done")
    MORE = "deadline: {before: 10m}\nrequeue: 2\ntimeouts: {stop_grace: 5s}\n"

    def setUp(self):
        super().setUp()
        self.slurm(state="RUNNING", restarts="0", preempt="None", taken="")
        path = self.write("bin/scontrol", self.SCONTROL)
        os.chmod(path, 0o755)

    def slurm(self, **words):
        for name, word in words.items():
            self.write(f"bin/{name}", word)

    def asked(self):
        path = self.folder / "bin/asked"
        return path.read_text().split("\n")[:-1] if path.exists() else []

    # It has SIGTERM ignored when it begins, and a shell cannot change that.
    DIES = ("echo $$ > pid; exec python3 -c 'import os, signal, time; "
            "signal.signal(signal.SIGTERM, signal.SIG_DFL); "
            "open(\"up.\" + os.environ[\"RANK\"], \"w\").close(); "
            "time.sleep(1000)'")

    def begin(self, script=None, nodes=1, more="", **extra):
        """A run, once its ranks are up."""
        for path in self.folder.glob("up.*"):
            path.unlink()
        spec = self.spec(script or self.WAITS, self.MORE + more, 1)
        process = self.start(spec, env=self.allocation(nodes, **extra),
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.wait_for(lambda: len(list(self.folder.glob("up.*"))) == nodes)
        return process

    def wait_for(self, there):
        until = time.monotonic() + harness.LIMIT
        while not there():
            self.assertLess(time.monotonic(), until)
            time.sleep(0.02)

    def told(self, process, code):
        _, said = process.communicate(timeout=harness.LIMIT)
        said = said if isinstance(said, str) else said.decode()
        self.assertEqual(process.returncode, code, said)
        return said

    def job(self):
        return self.results("t-4711")

    def test_a_sigterm_that_nothing_explains(self):
        for state, preempt, restarts in (("RUNNING", "None", "0"),
                                         ("COMPLETING", "None", "0"),
                                         ("CANCELLED", "None", "1")):
            with self.subTest(state):
                self.slurm(state=state, preempt=preempt, restarts=restarts)
                process = self.begin()
                process.terminate()
                self.told(process, 143)
                self.assertEqual(self.job()["status"], "stopped")
                self.assertNotIn("requeue 4711", self.asked())
                shutil.rmtree(self.folder / "runs")

    def test_a_preemption_that_grants_a_while(self):
        process = self.begin()
        self.slurm(preempt="1800000000")
        process.terminate()
        said = self.told(process, 8)
        self.assertIn("job 4711 is queued again (requeue 1 of 2)", said)
        self.assertIn("queued again: requeue 1 of 2", said)
        results = self.job()
        self.assertEqual((results["status"], results["requeue"]),
                         ("yielded", {"cause": "preempted", "requeues": 0,
                                      "max": 2, "queued": True}))
        self.assertEqual(self.asked()[-1], "requeue 4711")

    def test_a_job_that_is_in_the_queue_already(self):
        process = self.begin("trap 'exit 75' USR1; echo > up.$RANK; "
                             "while :; do sleep 0.02; done")
        self.slurm(state="COMPLETING", restarts="1")
        process.terminate()
        self.told(process, 8)
        self.assertNotIn("requeue 4711", self.asked())
        self.assertTrue(self.job()["requeue"]["queued"])

    def test_ranks_that_die_of_it_first(self):
        """Slurm signals all processes of a job at once."""
        process = self.begin(self.DIES)
        self.slurm(preempt="1800000000")
        os.kill(int((self.folder / "pid").read_text()), signal.SIGTERM)
        self.told(process, 8)
        self.assertEqual(self.job()["ranks"][0]["state"], "yielded")

    def test_a_rank_that_somebody_ended(self):
        process = self.begin(self.DIES)
        os.kill(int((self.folder / "pid").read_text()), signal.SIGTERM)
        self.told(process, 1)
        self.assertEqual(self.job()["root_cause"]["signal"], "SIGTERM")

    def test_scontrol_that_hangs_or_lies(self):
        for script in ("exec sleep 1000", "exit 1", "kill -9 $$",
                       "echo JobId=4711 PreemptTime=1; exit",
                       "printf 'JobId=9 J=t\n   JobState=PENDING R=x\n"
                       "   Requeue=1 Restarts=9\n'; exit",
                       "yes | head -c 1000000; exit"):
            with self.subTest(script):
                self.slurm(script=script)
                process = self.begin()
                process.terminate()
                self.told(process, 143)
                shutil.rmtree(self.folder / "runs")

    def test_scontrol_that_is_ended_with_the_job(self):
        """Slurm signals it, too: it is asked again."""
        self.slurm(script='[ -e $1 ] || { touch $1; kill -TERM $$; }')
        process = self.begin()
        self.slurm(preempt="1800000000")
        process.terminate()
        self.told(process, 8)
        self.assertTrue(self.job()["requeue"]["queued"])
        self.assertEqual(self.asked()[-1], "requeue 4711")

    def test_no_scontrol(self):
        (self.folder / "bin/scontrol").unlink()
        for name in ("sh", "sleep"):
            (self.folder / "bin" / name).symlink_to(shutil.which(name))
        process = self.begin(PATH=str(self.folder / "bin"))
        process.terminate()
        self.told(process, 143)

    def test_a_requeue_that_is_refused(self):
        self.slurm(script='[ "$1" = requeue ] && { echo "not allowed" >&2; '
                   "exit 1; }")
        process = self.begin()
        process.send_signal(signal.SIGUSR1)
        said = self.told(process, 8)
        self.assertIn("not started again: it is not queued again: scontrol "
                      "requeue 4711 refused: not allowed", said)
        results = self.job()
        self.assertEqual((results["status"], results["requeue"]["queued"]),
                         ("yielded", False))
        shown = self.jobrun("show").stdout
        self.assertIn("it is not queued again", shown)

    def test_a_job_that_was_cancelled_meanwhile(self):
        process = self.begin("trap 'touch told; until [ -e now ]; do sleep 0.02;"
                             " done; exit 75' USR1; echo > up.$RANK; "
                             "while :; do sleep 0.02; done")
        process.send_signal(signal.SIGUSR1)
        self.wait_for((self.folder / "told").exists)
        self.slurm(state="CANCELLED")
        self.write("now", "")
        self.assertIn("Slurm has job 4711 as CANCELLED", self.told(process, 8))
        self.assertNotIn("requeue 4711", self.asked())

    def test_the_next_start_goes_on(self):
        self.test_a_preemption_that_grants_a_while()
        self.slurm(preempt="None", restarts="1")
        said = self.told(self.begin(SLURM_RESTART_COUNT="1"), 0)
        self.assertIn("job 4711 was started again: the run t-4711 goes on with "
                      "attempt 1", said)
        results = self.job()
        self.assertEqual((results["status"], results["attempt"],
                          [a["requeued"] for a in results["attempts"]]),
                         ("succeeded", 1, ["preempted"]))
        earlier = self.folder / "runs/t-4711/attempt_0/results.json"
        self.assertEqual(json.loads(earlier.read_text())["status"], "yielded")
        said = self.told(self.start(
            self.spec(self.WAITS, self.MORE, 1), stderr=subprocess.PIPE,
            env=self.allocation(1, SLURM_RESTART_COUNT="2")), 0)
        self.assertIn("has succeeded: nothing is run again", said)
        self.assertEqual(self.job()["attempt"], 1)

    def test_a_start_that_was_killed_is_gone_on_with(self):
        process = self.begin("echo step 5; " + self.WAITS, more="progress: "
                             "{pattern: 'step (?<step>\\d+)'}\n")
        self.wait_for((self.folder / "runs/t-4711/progress.json").exists)
        runner = harness.runner_of(process.pid)
        os.kill(process.pid, signal.SIGSTOP)
        os.kill(runner, signal.SIGKILL)
        process.kill()
        process.communicate()
        said = self.told(self.begin(SLURM_RESTART_COUNT="1"), 0)
        self.assertIn("goes on with attempt 1", said)
        first, = self.job()["attempts"]
        self.assertEqual((first["cause"], first["requeued"], first["step"]),
                         ("jobrun was killed", "other", 5))

    def test_a_folder_that_is_not_the_jobs_own(self):
        self.test_a_preemption_that_grants_a_while()
        again = {"SLURM_RESTART_COUNT": "1"}
        spec = self.spec(self.WAITS, self.MORE, 1)

        def refused(words, *options, **extra):
            done = self.expect(self.jobrun(spec, *options, env=self.allocation(
                1, **{**again, **extra})), 7)
            self.assertIn(words, done.stderr)
        refused("is that of job 4711, and this is job 4712", "--run-id",
                "t-4711", SLURM_JOB_ID="4712")
        folder = self.folder / "runs/t-4711"
        folder.chmod(0o777)
        refused("is writable by everybody")
        folder.chmod(0o700)
        folder.rename(self.folder / "runs/moved")
        folder.symlink_to("moved")
        refused("t-4711")
        self.assertEqual(sorted(path.name for path in (
            self.folder / "runs/moved").glob("attempt_*")), ["attempt_0"])
        if os.geteuid() == 0:
            folder.unlink()
            (self.folder / "runs/moved").rename(folder)
            os.chown(folder, 65534, 65534)
            refused("belongs to user 65534, not to you")

    def test_two_that_go_on_at_once(self):
        self.test_a_preemption_that_grants_a_while()
        spec = self.spec("echo > up.$$; until [ -e go ]; do sleep 0.02; done",
                         self.MORE, 1)
        both = [self.start(spec, stderr=subprocess.PIPE, env=self.allocation(
            1, SLURM_RESTART_COUNT="1")) for _ in range(2)]
        self.wait_for(lambda: any(p.poll() is not None for p in both))
        self.write("go", "")
        codes = sorted(self.ended(p) for p in both)
        self.assertEqual([code for code, _ in codes], [0, 7])
        self.assertIn("is already that of this start of job 4711",
                      codes[1][1])
        self.assertEqual(self.job()["attempt"], 1)

    def ended(self, process):
        _, said = process.communicate(timeout=harness.LIMIT)
        return process.returncode, said if isinstance(said, str) else \
            said.decode()

    def test_the_guard_is_killed_before_it_has_asked(self):
        """The record is written, and the runner asks in its place."""
        self.slurm(script='if [ "$1" = show ]; then touch shown; '
                   "until [ -e now ]; do sleep 0.02; done; fi")
        process = self.begin()
        process.send_signal(signal.SIGUSR1)
        shown = self.folder / "bin/shown"
        self.wait_for(shown.exists)  # of the warning
        self.write("bin/now", "")
        self.wait_for((self.folder / "runs/t-4711/results.json").exists)
        process.kill()
        process.communicate()
        self.wait_for(lambda: "requeue 4711" in self.asked())
        self.assertEqual(self.job()["status"], "yielded")

    def test_the_runner_is_killed_while_it_is_asked(self):
        """The record is written by then, and the answer is waited for."""
        self.slurm(script='if [ "$1" = requeue ]; then touch asking; '
                   "until [ -e now ]; do sleep 0.02; done; fi")
        process = self.begin()
        runner = harness.runner_of(process.pid)
        process.send_signal(signal.SIGUSR1)
        self.wait_for((self.folder / "bin/asking").exists)
        self.assertEqual(self.job()["status"], "yielded")
        try:
            os.kill(runner, signal.SIGKILL)
        except ProcessLookupError:
            pass  # it had nothing more to do
        self.write("bin/now", "")
        self.assertIn("job 4711 is queued again (requeue 1 of 2)",
                      self.told(process, 8))
        self.assertEqual(self.asked().count("requeue 4711"), 1)
        self.assertTrue(self.job()["requeue"]["queued"])
        self.nobody_is_left()

    def test_the_runner_is_killed_before_the_record(self):
        """It is a failure of jobrun's, and no reason to go on."""
        process = self.begin("trap '' USR1; echo > up.$RANK; "
                             "while :; do sleep 0.02; done")
        runner = harness.runner_of(process.pid)
        process.send_signal(signal.SIGUSR1)
        self.wait_for(lambda: any(words.startswith("show")
                                  for words in self.asked()))
        os.kill(runner, signal.SIGKILL)
        self.told(process, 7)
        self.assertNotIn("requeue 4711", self.asked())
        self.assertNotEqual(self.job()["status"], "yielded")
        self.nobody_is_left()

    def test_of_several_nodes_the_controller_asks(self):
        process = self.begin(nodes=2)
        self.slurm(preempt="1800000000")
        process.terminate()
        self.told(process, 8)
        self.assertEqual(len([words for words in self.asked()
                              if words.startswith("show")]), 2)
        self.assertEqual(self.asked()[-1], "requeue 4711")
        self.nobody_is_left()

    def test_the_warning_reaches_the_ranks_of_all_nodes_once(self):
        process = self.begin("trap 'echo told >> told.$RANK' USR1; "
                             "echo > up.$RANK; until [ -e told.$RANK ]; do "
                             "sleep 0.02; done; until [ -e go ]; do sleep 0.02;"
                             " done; exit 75", nodes=2)
        process.send_signal(signal.SIGUSR1)
        self.wait_for(lambda: len(list(self.folder.glob("told.*"))) == 2)
        process.send_signal(signal.SIGUSR1)
        self.write("go", "")
        self.told(process, 8)
        for rank in range(2):
            self.assertEqual((self.folder / f"told.{rank}").read_text(),
                             "told\n")

    def test_a_lost_node(self):
        for refusal in ("", '[ "$1" = requeue ] && exit 1'):
            self.slurm(script=refusal)
            process = self.begin("echo > up.$RANK; exec sleep 1000", nodes=2)
            os.kill(self.agents()[1], signal.SIGKILL)
            said = self.told(process, 1 if refusal else 8)
            results = self.job()
            self.assertEqual(results["root_cause"]["kind"], "lost_node")
            self.assertEqual(self.asked()[-1], "requeue 4711")
            if refusal:
                self.assertEqual((results["status"], results["requeue"]),
                                 ("failed", None))
                self.assertIn("it is not queued again", said)
            else:
                self.assertIn("a node was lost; to be continued", said)
                self.assertEqual((results["status"], results["requeue"]),
                                 ("yielded", {"cause": "lost_node", "max": 2,
                                              "requeues": 0, "queued": True}))
                self.assertIn("a node was lost", self.jobrun("show").stdout)
            shutil.rmtree(self.folder / "runs")
            (self.folder / "tasks").unlink()

    def test_a_preemption_while_a_spare_starts(self):
        """No rank runs then, and jobrun ends at once; when Slurm has queued the
        job again, it goes on, with the next attempt and on what is there."""
        awaited = self.folder / "awaited"
        mute = self.write("mute", f"#!/bin/sh\necho > '{awaited}'\n"
                          "exec cat > /dev/null\n")
        mute.chmod(0o700)
        spec = self.spec(
            "echo > up.$RANK; [ $JOBRUN_ATTEMPT = 0 ] || exit 0; exec sleep 1000",
            "nodes: 2\nspare_nodes: 1\nrestart: {max: 2, backoff: 10ms}\n"
            "requeue: {max: 2, on: [deadline, preempted]}\n"
            "timeouts: {stop_grace: 5s}\n", 1)
        process = self.start(spec, env=self.allocation(
            3, FAKE_ALL="1", FAKE_PROGRAM={"2": str(mute)}),
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.wait_for(lambda: len(list(self.folder.glob("up.*"))) == 2)
        os.kill(self.agents()[1], signal.SIGKILL)
        self.wait_for(awaited.exists)
        self.slurm(preempt="1800000000")
        for pid in (*self.agents().values(), process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
        self.told(process, 143)
        self.assertEqual((self.job()["status"], self.job()["attempt"]),
                         ("stopped", 0))
        self.nobody_is_left()
        self.slurm(preempt="None", restarts="1")
        again = self.start(spec, env=self.allocation(
            3, FAKE_ALL="1", SLURM_RESTART_COUNT="1"),
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.assertIn("goes on with attempt 1", self.told(again, 0))
        self.assertEqual((self.job()["status"], self.job()["attempt"]),
                         ("succeeded", 1))
        self.nobody_is_left()

    def test_what_pages_say(self):
        self.test_a_preemption_that_grants_a_while()
        self.assertIn("queued again: requeue 1 of 2",
                      self.jobrun("show").stdout)
        self.assertRegex(self.jobrun("runs").stdout, r"(?m)^yielded +8 ")
        self.expect(self.jobrun("report", "--format", "html", "-o", "x.html"), 0)
        self.assertIn("queued again", (self.folder / "x.html").read_text())

    def test_locally_it_is_no_job(self):
        done = self.expect(self.run_on(
            2, self.WAITS, "--local", "--inject", "preempt@2500ms",
            more=self.MORE, local=1), 0)
        self.assertIn("was preempted; all ranks start again", done.stderr)
        self.assertEqual(self.asked(), [])


if __name__ == "__main__":
    harness.main()
