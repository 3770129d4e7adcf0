"""Requeueing on a real Slurm: what takes a job away, and how it goes on."""
import json
import os
import re
import shutil
import sys
import unittest

import cluster
import lab
from lab import JOBRUN, Lab

LONG = "long" in sys.argv[1:]
PREEMPTIONS = 100
GRACES = 20 if LONG else 2

setUpModule = lab.up(
    2, KillWait=20, PreemptType="preempt/partition_prio",
    PreemptMode="REQUEUE", SchedulerParameters="sched_min_interval=0",
    partitions={
        "low": "PriorityTier=1 PreemptMode=REQUEUE",
        "grace": "PriorityTier=1 PreemptMode=CANCEL GraceTime=40",
        "taken": "PriorityTier=1 PreemptMode=REQUEUE GraceTime=20",
        "high": "PriorityTier=10 PreemptMode=OFF",
    })

PROGRAM = {"PATH": os.path.dirname(JOBRUN) + ":" + os.environ["PATH"]}
SUBMIT = (JOBRUN, "submit", "--engine", "slurm")

# Counts, and goes on from what the attempts before it have written. Each number
# is written once, by the attempt that comes to it: the shell hears of a signal
# between two commands, so that a step is one of them. `go` ends it.
COUNTS = """trap 'echo saved $JOBRUN_ATTEMPT >> log; exit 75' USR1 TERM
touch steps.$RANK; s=$(wc -l < steps.$RANK)
echo begun $JOBRUN_ATTEMPT $s >> log; echo $JOBRUN_ATTEMPT > at.$RANK
while [ ! -e go ]; do s=$((s + 1)); echo $s >> steps.$RANK
  echo "step $s"; sleep 0.1; done"""
# The same of a program that keeps its steps to itself, and writes what it has
# when it gets the deadline's signal, the only one that it has a handler for.
SAVES = """trap 'echo $s > mark.$RANK; echo saved $JOBRUN_ATTEMPT $RANK $s >> log
exit 75' USR1
touch steps.$RANK; s=$(cat mark.$RANK 2> /dev/null || echo 0)
echo begun $JOBRUN_ATTEMPT $s >> log; echo $JOBRUN_ATTEMPT > at.$RANK
while [ ! -e go ]; do s=$((s + 1)); echo $s >> steps.$RANK
  echo "step $s"; sleep 0.1; done"""
SAVES_PYTHON = """import os, pathlib, signal, sys, time
def train():
    env, rank = os.environ, os.environ["RANK"]
    folder = pathlib.Path(env["TOP"])
    mark = folder / ("mark." + rank)
    step = int(mark.read_text()) if mark.exists() else 0
    def say(name, text):
        with open(folder / name, "a") as file:
            file.write(text + "\\n")
    told = []
    signal.signal(signal.SIGUSR1, lambda *_: told.append(1))
    say("log", f"begun {env['JOBRUN_ATTEMPT']} {step}")
    (folder / ("at." + rank)).write_text(env["JOBRUN_ATTEMPT"])
    while not (folder / "go").exists():
        step += 1
        say("steps." + rank, str(step))
        print("step", step, flush=True)
        time.sleep(0.1)
        if told:
            mark.write_text(str(step))
            say("log", f"saved {env['JOBRUN_ATTEMPT']} {rank} {step}")
            sys.exit(75)
"""
SPEC = """local_world_size: {local}
nodes: {nodes}
timeouts: {{run: 1h, stop_grace: 5s}}
deadline: {{before: 10m}}
requeue: {{max: 200}}
progress: {{pattern: 'step (?<step>\\d+)'}}
redirects: all
engine: {{slurm: {{{options}}}}}
entrypoint: {{shell: {script}}}
"""


class Requeue(Lab):
    def counting(self, script=COUNTS, nodes=1, local=1, options="", more=""):
        options = f"requeue: true, open-mode: append, {options}"
        return self.spec(text=SPEC.format(
            script=json.dumps(script), nodes=nodes, local=local,
            options=options) + more)

    def submit(self, spec, *words):
        return self.expect(self.on(*SUBMIT, spec, *words, env=PROGRAM),
                           0).stdout.strip()

    def text(self, name):
        path = self.folder / name
        return path.read_text() if path.exists() else ""

    def await_attempt(self, number, ranks=1):
        """Until each rank of the attempt has made a step."""
        def there():
            return all(self.text(f"at.{rank}").strip() == str(number)
                       for rank in range(ranks)) and self.stepped(number)
        self.slurm.wait(there, f"attempt {number}")

    def stepped(self, number):
        begun = re.findall(rf"begun {number} (\d+)", self.text("log"))
        return begun and len(self.text("steps.0").split()) > int(begun[-1])

    def let_start(self, job):
        """Slurm waits a while before it starts a job again."""
        self.slurm.await_job(job, "PENDING")
        self.slurm.ask("scontrol", "update", f"jobid={job}", "StartTime=now")

    def run_of(self, job):
        return self.folder / "runs" / f"t-{job}"

    def results(self, job):
        return json.loads((self.run_of(job) / "results.json").read_text())

    def finish(self, job, attempt):
        """Let it succeed, and see that nothing was lost or done twice."""
        self.write("go", "")
        self.slurm.await_job(job, "COMPLETED")
        results = self.results(job)
        self.assertEqual((results["status"], results["attempt"]),
                         ("succeeded", attempt))
        self.assertEqual([a["attempt"] for a in results["attempts"]],
                         list(range(attempt)))
        steps = [int(step) for step in self.text("steps.0").split()]
        self.assertEqual(steps, list(range(1, len(steps) + 1)))
        self.assertEqual(len(list((self.folder / "runs").glob("t-*"))), 1)
        return results

    def console(self, job):
        return self.text(f"slurm-{job}.out")


class Continues(Requeue):
    def test_scontrol_requeue(self):
        job = self.submit(self.counting())
        self.await_attempt(0)
        self.slurm.ask("scontrol", "requeue", job)
        self.let_start(job)
        self.await_attempt(1)
        self.assertIn("saved 0", self.text("log"))
        results = self.finish(job, 1)
        first, = results["attempts"]
        self.assertEqual((first["status"], first["cause"], first["requeued"]),
                         ("yielded", "was preempted", "preempted"))

    def test_nodes_of_an_allocation(self):
        job = self.submit(self.counting(nodes=2, local=2))
        self.await_attempt(0, 4)
        self.slurm.ask("scontrol", "requeue", job)
        self.let_start(job)
        self.await_attempt(1, 4)
        results = self.finish(job, 1)
        self.assertEqual(results["attempts"][0]["requeued"], "preempted")

    def test_the_warning_of_the_scheduler(self):
        """--signal starts the deadline, jobrun asks for the requeue, and the
        ranks get the signal once."""
        script = ("trap 'echo saved $JOBRUN_ATTEMPT >> log' USR1\n" +
                  COUNTS.split("\n", 1)[1].replace(
                      "[ ! -e go ]",
                      "[ ! -e go ] && ! grep -q \"saved $JOBRUN_ATTEMPT\" log")
                  + "\n[ -e go ] || { sleep 1; exit 75; }")
        job = self.submit(self.counting(script))
        self.await_attempt(0)
        self.slurm.ask("scancel", "--batch", "--signal=USR1", job)
        self.slurm.wait(lambda: "saved 0" in self.text("log"), "the warning")
        self.slurm.ask("scancel", "--batch", "--signal=USR1", job)
        self.let_start(job)
        self.await_attempt(1)
        self.assertEqual(self.text("log").count("saved 0"), 1)
        self.assertIn(f"job {job} is queued again (requeue 1 of 200)",
                      self.console(job) + self.text("old"))
        results = self.finish(job, 1)
        self.assertEqual(results["attempts"][0]["requeued"], "deadline")

    def test_a_higher_partition(self):
        job = self.submit(self.counting(options="partition: low, "
                                        "exclusive: true"))
        self.await_attempt(0)
        high = self.begin("srun", "-p", "high", "-N2", "--exclusive", "true")
        self.assertEqual(high.wait(cluster.LIMIT), 0)
        self.let_start(job)
        self.await_attempt(1)
        self.finish(job, 1)

    def test_a_higher_partition_that_grants_a_grace(self):
        """The agents of several nodes hear of it; Slurm would cancel the job."""
        job = self.submit(self.counting(nodes=2, options="partition: grace, "
                                        "exclusive: true"))
        self.await_attempt(0, 2)
        high = self.begin("srun", "-p", "high", "-N2", "--exclusive", "true")
        self.slurm.wait(lambda: "saved 0" in self.text("log"), "the warning")
        self.assertEqual(high.wait(cluster.LIMIT), 0)
        self.let_start(job)
        self.await_attempt(1, 2)
        results = self.finish(job, 1)
        self.assertEqual(results["attempts"][0]["requeued"], "preempted")

    def test_the_time_limit(self):
        """The end of the allocation is the end that is known."""
        spec = self.counting(options="time: 2")
        self.write("t.jobrun.yaml", self.text(spec.name)
                   .replace("run: 1h, ", "").replace("before: 10m", "before: 1m"))
        job = self.submit(spec)
        self.slurm.wait(lambda: "saved 0" in self.text("log"), "the deadline",
                        3 * cluster.LIMIT)
        self.let_start(job)
        self.await_attempt(1)
        results = self.finish(job, 1)
        self.assertEqual(results["attempts"][0]["requeued"], "deadline")

    def test_frozen_code_is_made_once(self):
        if shutil.which("git") is None:
            self.skipTest("there is no git")
        for words in (["init", "-q"], ["config", "user.name", "n"],
                      ["config", "user.email", "n@example.org"]):
            self.on("git", *words)
        self.write("train.sh", 'cd "$TOP"\n' + COUNTS)
        spec = self.counting(". ./train.sh", more="code: freeze\n"
                             f"env: {{TOP: {json.dumps(str(self.folder))}}}\n")
        self.write(".gitignore", "*\n!train.sh\n!*.yaml\n")
        self.on("git", "add", "-A")
        self.expect(self.on("git", "commit", "-q", "-m", "m"), 0)
        job = self.expect(self.on("sbatch", "--parsable", "--requeue", "--wrap",
                                  f"exec '{JOBRUN}' run '{spec}'"),
                          0).stdout.strip()
        self.await_attempt(0)
        copy = self.run_of(job) / "code" / "train.sh"
        inode = copy.stat().st_ino
        self.write("train.sh", "exit 9\n")
        self.slurm.ask("scontrol", "requeue", job)
        self.let_start(job)
        self.await_attempt(1)
        self.assertEqual(copy.stat().st_ino, inode)
        self.finish(job, 1)


class Grace(Requeue):
    """A higher partition takes the nodes away, with a grace of 20 s; Slurm's
    SIGTERM to all processes is what comes first."""

    def take_away(self, job):
        high = self.begin("srun", "-p", "high", "-N2", "--exclusive", "true")
        self.assertEqual(high.wait(cluster.LIMIT), 0)
        self.let_start(job)

    def preempt(self, spec, ranks, times):
        job = self.submit(spec)
        for attempt in range(times):
            self.await_attempt(attempt, ranks)
            self.take_away(job)
        self.await_attempt(times, ranks)
        results = self.finish(job, times)
        self.assertEqual({(a["requeued"], a["cause"])
                          for a in results["attempts"]},
                         {("preempted", "was preempted")})
        for rank in range(ranks):
            steps = list(map(int, self.text(f"steps.{rank}").split()))
            self.assertEqual(steps, list(range(1, len(steps) + 1)))
        self.assertEqual(self.text("log").count("saved"), times * ranks)

    def graced(self, script=SAVES, nodes=1, local=1, more=""):
        return self.counting(script, nodes, local,
                             "partition: taken, exclusive: true", more)

    def test_a_handler_for_the_deadline_alone(self):
        self.preempt(self.graced(), 1, GRACES)

    def test_on_two_nodes(self):
        self.preempt(self.graced(nodes=2, local=2), 4, 1 + LONG)

    def test_a_python_function(self):
        self.write("f.py", SAVES_PYTHON)
        spec = self.graced(more=f"env: {{TOP: {json.dumps(str(self.folder))}}}\n")
        self.write(spec.name, self.text(spec.name).replace(
            "entrypoint: {shell: " + json.dumps(SAVES) + "}",
            "entrypoint: {python: {function: 'f:train'}}\n"
            "start_method: fork"))
        self.preempt(spec, 1, 1 + LONG)

    def test_the_signal_that_a_program_has_no_handler_for(self):
        """With `signal: TERM` jobrun leaves it alone: Slurm's ends the rank."""
        spec = self.graced("echo begun $JOBRUN_ATTEMPT 0 >> log; "
                           "echo $JOBRUN_ATTEMPT > at.0; echo 1 >> steps.0; "
                           "echo step 41; [ -e go ] || exec sleep 1000")
        self.write(spec.name, self.text(spec.name).replace(
            "before: 10m", "before: 10m, signal: TERM"))
        job = self.submit(spec)
        self.await_attempt(0)
        self.write("go", "")
        self.take_away(job)
        self.slurm.await_job(job, "COMPLETED")
        first, = self.results(job)["attempts"]
        self.assertEqual((first["status"], first["cause"]),
                         ("yielded", "was preempted before its checkpoint"))
        said = self.console(job)
        self.assertIn("1 of 1 rank was preempted before its checkpoint; to be "
                      "continued", said)
        self.assertIn("rank 0 preempted before its checkpoint: its steps of "
                      "this attempt, up to step 41, are lost", said)


class Ends(Requeue):
    def test_none_after_success(self):
        job = self.submit(self.counting())
        self.await_attempt(0)
        self.finish(job, 0)
        self.slurm.ask("scontrol", "requeue", job)
        self.let_start(job)
        self.slurm.await_job(job, "COMPLETED")
        self.assertEqual(self.results(job)["attempt"], 0)
        self.assertEqual(self.text("log").count("begun"), 1)
        self.assertIn("has succeeded: nothing is run again", self.console(job))

    def test_a_stalled_job_stops_after_two(self):
        script = ("trap 'exit 75' USR1; echo $JOBRUN_ATTEMPT > at.0; "
                  "echo begun $JOBRUN_ATTEMPT 0 >> log; echo 1 >> steps.0; "
                  "echo step 7; while :; do sleep 0.1; done")
        spec = self.counting(script)
        self.write("t.jobrun.yaml", self.text(spec.name).replace(
            "<step>\\d+)'", "<step>\\d+)', stall: 2"))
        job = self.submit(spec)
        for attempt in range(3):
            self.await_attempt(attempt)
            self.slurm.ask("scancel", "--batch", "--signal=USR1", job)
            if attempt < 2:
                self.let_start(job)
        self.slurm.await_job(job, "FAILED")
        results = self.results(job)
        self.assertEqual((results["exit_code"], results["attempt"],
                          results["root_cause"]["kind"]), (6, 2, "stall"))

    def test_a_job_that_may_not_be_queued_again(self):
        spec = self.counting()
        self.write("t.jobrun.yaml", self.text(spec.name).replace(
            "requeue: true", "no-requeue: true"))
        job = self.submit(spec)
        self.await_attempt(0)
        self.slurm.ask("scancel", "--batch", "--signal=USR1", job)
        self.slurm.await_job(job, "FAILED")
        results = self.results(job)
        self.assertEqual((results["status"], results["exit_code"],
                          results["requeue"]["queued"]), ("yielded", 8, False))
        self.assertIn("it is not queued again: scontrol requeue",
                      results["not_restarted"])
        self.assertIn("not started again: it is not queued again",
                      self.console(job))

    def test_a_cancelled_job(self):
        """A SIGTERM that nothing explains is a stop, and no requeue."""
        job = self.submit(self.counting())
        self.await_attempt(0)
        self.slurm.ask("scancel", job)
        self.slurm.await_job(job, "CANCELLED")
        self.slurm.await_gone()
        results = self.results(job)
        self.assertEqual((results["status"], results["exit_code"],
                          results["requeue"]), ("stopped", 143, None))

    def test_an_allocation_without_a_script(self):
        spec = self.counting()
        process = self.begin("salloc", "-Q", "-n1", JOBRUN, spec)
        self.await_attempt(0)
        pid, = [pid for pid, words in cluster.below(process.pid).items()
                if words.startswith(JOBRUN) and "salloc" not in words][:1]
        os.kill(pid, 10)
        _, said = process.communicate(timeout=cluster.LIMIT)
        self.assertIn("it is not queued again: scontrol requeue", said)


@unittest.skipUnless(LONG, "one hundred preemptions")
class Hundred(Requeue):
    def test_hundred_preemptions(self):
        job = self.submit(self.counting(options="partition: low, "
                                        "exclusive: true"))
        for attempt in range(PREEMPTIONS):
            self.await_attempt(attempt)
            if attempt % 10 == 9:  # a higher partition
                high = self.begin("srun", "-p", "high", "-N2", "--exclusive",
                                  "true")
                self.assertEqual(high.wait(cluster.LIMIT), 0)
            else:
                self.slurm.ask("scontrol", "requeue", job)
            self.let_start(job)
        self.await_attempt(PREEMPTIONS)
        results = self.finish(job, PREEMPTIONS)
        self.assertEqual({a["requeued"] for a in results["attempts"]},
                         {"preempted"})
        best = [a["step"] for a in results["attempts"]]
        self.assertEqual(best, sorted(set(best)))
        self.assertEqual(self.text("log").count("begun"), PREEMPTIONS + 1)


if __name__ == "__main__":
    sys.argv = [word for word in sys.argv if word != "long"]
    lab.main()
