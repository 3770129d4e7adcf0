"""jobrun on a real Slurm: what srun, sbatch and salloc make of it."""
import json
import os
import select
import subprocess
import sys
import unittest

import cluster
import lab
from lab import JOBRUN, Lab

setUpModule = lab.up(4, KillWait=10)

PROGRAM = {"PATH": os.path.dirname(JOBRUN) + ":" + os.environ["PATH"]}

SUBMIT = (JOBRUN, "submit", "--engine", "slurm")

WHO = r"""entrypoint:
  shell: 'echo "rank $RANK of $WORLD_SIZE, local $LOCAL_RANK of
    $LOCAL_WORLD_SIZE, node $NODE_RANK $SLURMD_NODENAME, at $MASTER_ADDR"'
"""

# Ranks that are there until they are told, or find a file.
UNTIL_STOPPED = r"""entrypoint:
  shell: 'echo ready; echo attempt $JOBRUN_ATTEMPT > new.$RANK;
    mv new.$RANK ready.$RANK; until [ -e go ]; do sleep 0.05; done'
redirects: all
"""

class Cluster(unittest.TestCase):
    """The tests' own ground: it holds whatever they do."""

    def test_a_test_that_is_killed_leaves_nothing(self):
        inner = subprocess.Popen(
            [sys.executable, cluster.__file__, "-n", "2", "srun", "-N2",
             "--ntasks-per-node=1", "sh", "-c",
             "setsid sleep 1000 & echo $SLURMD_NODENAME; sleep 1000"],
            stdout=subprocess.PIPE, text=True)
        self.addCleanup(inner.stdout.close)
        self.assertEqual({inner.stdout.readline() for _ in range(2)},
                         {"n1\n", "n2\n"})
        guard, = (pid for pid, words in cluster.below(inner.pid).items()
                  if "--keep" in words)
        held = [os.pidfd_open(pid) for pid in cluster.below(guard)]
        self.assertGreater(len(held), 5)
        inner.kill()
        inner.wait()
        for pidfd in held:
            self.assertTrue(select.select([pidfd], [], [], cluster.LIMIT)[0])
            os.close(pidfd)

    def test_a_lost_node_comes_back(self):
        slurm = lab.SLURM
        with slurm.start("srun", "-N2", "-w", "n3,n4", "--ntasks-per-node=1",
                         "sh", "-c", "echo up; exec sleep 1000") as step:
            step.stdout.readline()
            step.stdout.readline()
            self.assertTrue(slurm.node_processes("n4"))
            slurm.lose("n4")
            slurm.ask("scontrol", "update", "nodename=n4", "state=down",
                      "reason=lost")
            step.wait(cluster.LIMIT)
            self.assertIn("n4", step.stderr.read())
        slurm.bring_back("n4")
        slurm.await_gone()



class Batch(Lab):
    """What `submit` hands to sbatch, and the job that comes of it."""

    def job_of(self, *words, **options):
        """Submit; the job's number."""
        done = self.expect(self.on(*SUBMIT, *words, env=PROGRAM, **options), 0)
        return done.stdout.strip()

    def console(self, job):
        path = self.folder / f"slurm-{job}.out"
        return path.read_text() if path.exists() else ""

    def await_console(self, job, words):
        self.slurm.wait(lambda: words in self.console(job), f"'{words}'")

    def test_a_job_runs_and_its_status_comes_back(self):
        spec = self.spec(text=f"local_world_size: 2\n{WHO}")
        wrong = self.spec("wrong", "local_world_size: 1\nexit_status: rank\n"
                          "log_dir: wrong\nentrypoint: {shell: exit 3}\n")
        jobs = [self.begin(*SUBMIT, path, "--wait", env=PROGRAM)
                for path in (spec, wrong)]
        job, wrong = (process.communicate()[0].strip() for process in jobs)
        self.assertEqual([process.returncode for process in jobs], [0, 3])
        self.assertIn("rank 0 exited with code 3", self.console(wrong))
        said = self.console(job)
        for rank in range(2):
            self.assertIn(f"[{rank}] rank {rank} of 2, local {rank} of 2, "
                          "node 0 n1, at n1\n", said)
        self.assertIn("2 of 2 ranks exited with 0, 0 processes left", said)
        self.assertEqual(self.record()["exit_code"], 0)

    def test_what_is_not_taken(self):
        spec = self.spec(text="local_world_size: 1\n" + WHO)
        unknown = self.expect(
            self.on(*SUBMIT, spec, "-s", "engine.slurm={nope: 1}",
                    env=PROGRAM), 4).stderr
        self.assertIn("the sbatch of this machine has no option 'nope'",
                      unknown)
        for options, words in (("{partition: nope}", "invalid partition"),
                               ("{nodelist: n77}", "Invalid node name")):
            done = self.expect(
                self.on(*SUBMIT, spec, "-s",
                        f"engine.slurm={options}", env=PROGRAM), 7)
            self.assertIn(words, done.stderr)
            self.assertIn("sbatch did not accept the job", done.stderr)
        self.assertEqual(self.slurm.ask("squeue", "-h"), "")

    def test_sbatch_finds_room_for_what_is_rendered(self):
        spec = self.spec(text="local_world_size: 1\n" + WHO)
        for words, code in (([], 0), (["nodes=4"], 0), (["nodes=5"], 1),
                            (["device=cuda", "local_world_size=4"], 0),
                            (["device=cuda", "local_world_size=5"], 1),
                            (["engine={slurm: {exclusive: true}}"], 0)):
            sets = [word for value in words for word in ("-s", value)]
            script = self.expect(self.on(JOBRUN, "render", spec, "--engine",
                                         "slurm", *sets), 0).stdout
            self.write("job", script)
            with self.subTest(words):
                self.expect(self.on("sbatch", "--test-only", "job"), code)

    def test_a_cancelled_job_was_stopped(self):
        spec = self.spec(text="local_world_size: 2\n" + UNTIL_STOPPED)
        job = self.job_of(spec)
        self.await_ranks(2)
        self.slurm.ask("scancel", job)
        self.slurm.await_job(job, "CANCELLED")
        self.slurm.await_gone()
        self.assert_stopped(self.record())
        self.await_console(job, "STOPPED by SIGTERM")

    def test_a_job_that_starts_again_is_another_attempt(self):
        spec = self.spec(text=f"local_world_size: 1\n"
                         "engine: {slurm: {requeue: true}}\n" + UNTIL_STOPPED)
        job = self.job_of(spec)
        self.await_ranks(1)
        first = self.record()
        (self.folder / "ready.0").unlink()
        self.slurm.ask("scontrol", "requeue", job)
        self.slurm.await_job(job, "PENDING")
        self.slurm.await_idle()
        self.assert_stopped(self.record(first["run_id"]))
        self.slurm.ask("scontrol", "update", f"jobid={job}", "StartTime=now")
        self.await_ranks(1)
        self.assertEqual((self.folder / "ready.0").read_text(), "attempt 1\n")
        self.write("go", "")
        self.slurm.await_job(job, "COMPLETED")
        again = self.record()
        self.assertNotEqual(first["run_id"], again["run_id"])
        self.assertEqual((first["attempt"], again["attempt"]), (0, 1))
        self.assertTrue(
            (self.folder / "runs/latest/attempt_1/0/stdout.log").exists())
        said = self.expect(self.on(JOBRUN, "logs", "--rank", "0"), 0).stdout
        self.assertIn("ready", said)

    def await_ranks(self, count):
        self.slurm.wait(
            lambda: all((self.folder / f"ready.{rank}").exists()
                        for rank in range(count)), f"{count} ranks")

    def assert_stopped(self, record):
        self.assertEqual((record["status"], record["exit_code"]),
                         ("stopped", 143), record)


class Step(Lab):
    """jobrun started by srun, once per node or not."""

    def test_a_second_one_on_a_node(self):
        spec = self.spec(text="local_world_size: 1\n" + WHO)
        done = self.expect(self.on("srun", "-N1", "-n2", JOBRUN, spec), 4)
        self.assertEqual(done.stderr.count(
            "error[JR0425]: srun under Slurm started jobrun 2 times"), 2)
        self.assertIn("--ntasks-per-node=1", done.stderr)

    def test_one_run_of_all_nodes(self):
        spec = self.spec(text="local_world_size: 2\n" + WHO)
        step = ("srun", "-N3", "--ntasks-per-node=1", JOBRUN, spec)
        done = self.expect(self.on(*step), 0)
        self.assertRegex(done.stderr, r"runs/t-\d+\.\d+/node_2 ")
        done = self.expect(self.on(*step, "--run-id", "one"), 0)
        self.assertEqual(
            sorted(line.split()[2] for line in done.stdout.splitlines()
                   if line.startswith("[")), list("012345"))
        shown = json.loads(self.expect(self.on(
            JOBRUN, "show", "one", "--format", "json"), 0).stdout)
        self.assertEqual((shown["status"], [rank["node_rank"]
                                            for rank in shown["ranks"]]),
                         ("succeeded", [0, 0, 1, 1, 2, 2]))
        done = self.on(*step, "--run-id", "one")
        self.assertEqual(done.returncode, 7)
        self.assertIn("has already started", done.stderr)

    def test_more_nodes_than_there_are(self):
        spec = self.spec(text="nodes: 4\nlocal_world_size: 1\n" + WHO)
        done = self.expect(self.on("srun", "-N2", "--ntasks-per-node=1",
                                   JOBRUN, "plan", spec), 4)
        self.assertEqual(done.stderr.count("nodes 4, but the allocation has 2"),
                         2)

    def plans(self, *words, spec):
        """What each node of a step would start, by node."""
        code = ('import json,os,subprocess,sys; d=subprocess.run(sys.argv[1:],'
                'stdout=subprocess.PIPE); sys.stdout.write(json.dumps([os.environ'
                '["SLURMD_NODENAME"], json.loads(d.stdout or "null")])+"\\n")')
        done = self.expect(
            self.on("srun", "--ntasks-per-node=1", "--unbuffered", *words,
                    sys.executable, "-c",
                    code.replace("sys.stdout.write(",
                                 f"open('plan.'+os.environ['SLURM_NODEID'],"
                                 "'w').write("),
                    JOBRUN, "plan", spec, "--format", "json"), 0)
        self.assertEqual(done.stdout, "")
        return [json.loads(path.read_text())
                for path in sorted(self.folder.glob("plan.*"))]

    def test_every_node_comes_to_the_same_world(self):
        spec = self.spec(text="local_world_size: 2\n" + WHO)
        for nodes in ("n1,n2", "n2,n4", "n1,n2,n3,n4"):
            names = nodes.split(",")
            for path in self.folder.glob("plan.*"):
                path.unlink()
            plans = self.plans("-N", len(names), "-w", nodes, spec=spec)
            self.assertEqual([name for name, _ in plans], names)
            for i, (_, plan) in enumerate(plans):
                self.assertEqual(
                    (plan["nodes"], plan["world_size"], plan["master_addr"],
                     plan["master_port"]),
                    (len(names), 2 * len(names), names[0], self.port))
                self.assertEqual([rank["rank"] for rank in plan["ranks"]
                                  if rank["node_rank"] == i],
                                 [2 * i, 2 * i + 1])

    def test_ragged_nodes(self):
        spec = self.spec(text="local_world_size: [3, 1, 2]\n" + WHO)
        for _, plan in self.plans("-N3", spec=spec):
            self.assertEqual([rank["node_rank"] for rank in plan["ranks"]],
                             [0, 0, 0, 1, 2, 2])
            self.assertEqual([rank["local_rank"] for rank in plan["ranks"]],
                             [0, 1, 2, 0, 0, 1])


class Shell(Lab):
    """Variables that are there and mean something else."""

    def where(self, *words, **options):
        done = self.expect(self.on(*words, JOBRUN, "doctor", "--format", "yaml",
                                   **options), 0)
        text = done.stdout.replace("\r", "")
        return text[text.index("scheduler:"):] if "scheduler:" in text else ""

    def test_an_interactive_shell_is_no_step(self):
        typed = subprocess.list2cmdline(
            ["srun", "-N2", "-n2", "--pty", JOBRUN, "doctor", "--format",
             "yaml"])
        told = self.expect(self.on("script", "-qec", typed, "/dev/null"),
                           0).stdout
        self.assertIn("hosts: n1,n2", told)
        self.assertIn("node_rank: null", told)
        self.assertIn("step: false", told)

    def test_a_shell_of_salloc_is_no_step(self):
        told = self.where("salloc", "-N2")
        self.assertIn("hosts: n1,n2", told)
        self.assertIn("node_rank: null", told)
        self.assertIn("step: false", told)

    def test_another_jobs_list_of_nodes(self):
        spec = self.spec(text="local_world_size: 1\n" + WHO)
        done = self.expect(self.on("salloc", "-N2", "env",
                                   "SLURM_JOB_NODELIST=n[1-3]", JOBRUN, "plan",
                                   spec), 4)
        self.assertIn("names 3 hosts for 2 nodes", done.stderr)


if __name__ == "__main__":
    unittest.main()
