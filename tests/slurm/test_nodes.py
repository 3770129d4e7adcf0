"""Jobs on several nodes of a real Slurm, from the script of their allocation:
what is run, and what is left when something ends that should not."""
import json
import os
import signal
import subprocess
import time

import lab
from lab import JOBRUN, Lab

setUpModule = lab.up(4, KillWait=11)
# Ranks with a child in another session, which stay until they are told.
WAITS = ("entrypoint: [sh, -c, 'setsid sleep 1000 & echo up; trap \"echo $RANK; exit 0\" TERM; "
         "while :; do sleep 0.05; done']\n")


class Nodes(Lab):
    def salloc(self, *words, nodes=2, **options):
        return self.on("salloc", "-Q", f"-N{nodes}", *words, **options)

    def script(self, text, name="job.sh"):
        path = self.write(name, f"#!/bin/sh\n{text}\n")
        path.chmod(0o700)
        return path

    def submit(self, text, *options):
        """A batch job; its number."""
        return self.on("sbatch", "--parsable", "-o", "job.out", *options,
                       self.script(text)).stdout.strip()

    def output(self):
        return (self.folder / "job.out").read_text()

    def await_ranks(self, count):
        latest = self.folder / "runs" / "latest" / "events.jsonl"
        until = time.monotonic() + 60
        while not latest.exists():
            self.assertLess(time.monotonic(), until, "no run")
            time.sleep(0.02)
        for rank in range(count):
            self.await_event(event="rank_started", rank=rank)

    def agents(self):
        """{node: pid}, of the tasks that srun started."""
        found = {}
        for pid in self.slurm.strays():
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    words = file.read().split(b"\0")
                with open(f"/proc/{pid}/environ", "rb") as file:
                    pairs = dict(pair.split(b"=", 1) for pair in
                                 file.read().split(b"\0") if b"=" in pair)
                with open(f"/proc/{pid}/stat") as file:
                    parent = file.read().rsplit(")", 1)[1].split()[1]
                with open(f"/proc/{parent}/comm") as file:
                    comm = file.read().strip()
            except OSError:
                continue
            if words[1:2] == [b"agent"] and comm.startswith("slurmstepd"):
                found[pairs[b"SLURMD_NODENAME"].decode()] = pid
        return found


class Runs(Nodes):
    def test_all_nodes_and_their_results(self):
        spec = self.spec(text="local_world_size: 2\n"
                         "entrypoint: [sh, -c, 'echo $NODE_RANK; "
                         "echo \"{\\\"r\\\": $RANK}\" > $JOBRUN_RESULT_FILE']\n"
                         "results: {fields: {r: {type: integer}}}\n")
        done = self.expect(self.salloc(JOBRUN, spec, nodes=4), 0)
        self.assertEqual(sorted(done.stdout.splitlines()),
                         [f"[{rank}] {rank // 2}" for rank in range(8)])
        self.assertEqual([(rank["host"], rank["result"]["r"])
                          for rank in self.results()["ranks"]],
                         [(f"n{1 + rank // 2}", rank) for rank in range(8)])

    def test_a_plan_is_of_all_nodes(self):
        spec = self.spec(text="local_world_size: 2\nentrypoint: ['true']\n")
        done = self.expect(self.salloc(JOBRUN, "plan", spec, nodes=3), 0)
        self.assertIn("6 ranks on 3 nodes", done.stdout)
        for node in ("n1", "n2", "n3"):
            self.assertIn(f" {node} ", done.stdout)
        self.assertIn("asking the 3 nodes", done.stderr)
        self.slurm.await_idle()

    def test_as_many_nodes_as_the_spec_says(self):
        spec = self.spec(text="nodes: 3\nlocal_world_size: 1\n"
                         "entrypoint: [printenv, SLURMD_NODENAME]\n")
        done = self.expect(self.salloc(JOBRUN, spec, nodes=4), 0)
        self.assertEqual(len(done.stdout.splitlines()), 3)

    def test_tasks_that_were_asked_for_are_ranks(self):
        spec = self.spec(text="entrypoint: [printenv, SLURM_PROCID]\n")
        done = self.expect(self.salloc("--ntasks-per-node=3", JOBRUN, spec), 0)
        self.assertEqual(sorted(done.stdout.splitlines()),
                         [f"[{rank}] {rank}" for rank in range(6)])

    def test_ranks_hear_of_their_own_world(self):
        """The agents' step has one task a node; a rank is one of four."""
        said = ("NTASKS NPROCS STEP_NUM_TASKS NTASKS_PER_NODE TASKS_PER_NODE "
                "STEP_TASKS_PER_NODE NNODES STEP_NUM_NODES STEP_NODELIST "
                "PROCID LOCALID NODEID GTIDS TASK_PID JOB_NUM_NODES").split()
        spec = self.spec(text="nodes: 2\nlocal_world_size: 2\nentrypoint: "
                         "[sh, -c, 'echo "
                         + " ".join(f"$SLURM_{name}/" for name in said)
                         + "']\n")
        done = self.expect(self.salloc("-n3", JOBRUN, spec, nodes=3), 0)
        self.assertEqual(sorted(done.stdout.splitlines()), [
            f"[{rank}] 4/ 4/ 4/ 2/ 2(x2)/ 2(x2)/ 2/ 2/ n1,n2/ "
            f"{rank}/ {rank % 2}/ {rank // 2}/ / / 3/" for rank in range(4)])

    def test_much_output_of_all_nodes(self):
        spec = self.spec(text="local_world_size: 2\nentrypoint: [sh, -c, "
                         "'seq -f \"%.0f aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\" "
                         "5000']\n")
        done = self.expect(self.salloc(JOBRUN, spec, nodes=4), 0)
        lines = done.stdout.splitlines()
        self.assertEqual(len(lines), 8 * 5000)
        for rank in range(8):
            own = [line for line in lines if line.startswith(f"[{rank}] ")]
            self.assertEqual(own, [f"[{rank}] {n} {'a' * 35}"
                                   for n in range(1, 5001)])

    def test_the_first_failure_stops_all(self):
        spec = self.spec(text="local_world_size: 1\nentrypoint: [sh, -c, "
                         "'test $RANK = 2 && exit 7; exec sleep 1000']\n")
        done = self.expect(self.salloc(JOBRUN, spec, nodes=4), 1)
        self.assertIn("rank 2 exited with code 7", done.stderr)
        self.assertIn("node 2 (n3)", done.stderr)
        self.assertIn("ranks 0-1,3 stopped by jobrun", done.stderr)
        self.slurm.await_gone()

    def test_all_start_again(self):
        spec = self.spec(text="local_world_size: 1\nrestart: {max: 2}\n"
                         "entrypoint: [sh, -c, 'test $RANK.$JOBRUN_ATTEMPT = "
                         "1.0 && exit 3; echo $JOBRUN_ATTEMPT']\n")
        done = self.expect(self.salloc(JOBRUN, spec), 0)
        self.assertEqual(self.results()["attempt"], 1)
        self.assertIn("[1] 1", done.stdout.splitlines())

    def test_inside_a_step_it_is_one_node_s(self):
        spec = self.spec(text="nodes: 2\nlocal_world_size: 1\n"
                         "entrypoint: [true]\n")
        done = self.salloc("--ntasks-per-node=2", "srun", JOBRUN, spec)
        self.assertIn("started jobrun 2 times on this node", done.stderr)
        self.assertEqual(done.returncode, 4, done.stderr)

    def test_a_step_has_its_run_id_from_slurm(self):
        """srun -N2 jobrun SPEC: two parts of one run, and nothing to say."""
        spec = self.spec(text="local_world_size: 1\n"
                         "entrypoint: [printenv, JOBRUN_RUN_ID]\n")
        done = self.on("srun", "-N2", "--ntasks-per-node=1", JOBRUN, spec)
        self.expect(done, 0)
        (run,) = {line.split()[-1] for line in done.stdout.splitlines()}
        self.assertRegex(run, r"^t-[0-9]+\.0$")
        runs = self.folder / "runs"
        self.assertEqual(sorted(p.name for p in (runs / run).glob("node_*")),
                         ["node_0", "node_1"])
        for node in (0, 1):
            results = json.loads(
                (runs / run / f"node_{node}/results.json").read_text())
            self.assertEqual((results["run_id"], results["status"]),
                             (run, "succeeded"))
        done = self.on("srun", "-N2", "--ntasks-per-node=1", JOBRUN, spec,
                       "--run-id", "mine")
        self.expect(done, 0)
        self.assertEqual(len(list((runs / "mine").glob("node_*"))), 2)

    def test_submitted(self):
        spec = self.spec(text="nodes: 2\nlocal_world_size: 1\n"
                         "entrypoint: [printenv, NODE_RANK]\n")
        done = self.on(JOBRUN, "submit", spec, "--engine", "slurm",
                       env={"PATH": f"{os.path.dirname(JOBRUN)}:"
                            f"{os.environ['PATH']}"})
        self.slurm.await_job(self.expect(done, 0).stdout.strip(), "COMPLETED")
        self.assertEqual(self.results()["status"], "succeeded")


class Ends(Nodes):
    """Nothing survives, and what can still be told is."""

    def begin(self, nodes=2, again="--no-requeue"):
        spec = self.spec(text=f"local_world_size: 2\n{WAITS}")
        job = self.submit(f"exec '{JOBRUN}' '{spec}'", f"-N{nodes}", again)
        self.await_ranks(2 * nodes)
        return job

    def ended(self, job):
        self.slurm.await_job(job, "COMPLETED", "FAILED", "CANCELLED",
                             "TIMEOUT", "NODE_FAIL")
        self.slurm.await_gone()

    def controller(self):
        return self.record()["pid"]

    def test_the_head_is_killed(self):
        job = self.begin(4)
        os.kill(self.controller(), signal.SIGKILL)
        self.ended(job)

    def test_the_head_is_told_to_stop(self):
        job = self.begin(4)
        os.kill(self.controller(), signal.SIGTERM)
        self.ended(job)
        self.assertEqual(self.results()["exit_code"], 128 + signal.SIGTERM)
        self.assertIn("ranks 0-7 stopped by jobrun", self.output())

    def test_srun_is_killed(self):
        job = self.begin(2)
        found = subprocess.run(["pgrep", "-P", str(self.controller()), "srun"],
                               text=True, capture_output=True)
        os.kill(int(found.stdout.split()[0]), signal.SIGKILL)
        self.ended(job)
        cause = self.results()["root_cause"]
        self.assertEqual(cause["kind"], "lost_node")
        self.assertIn("srun was killed by SIGKILL", cause["message"])

    def test_an_agent_is_killed(self):
        job = self.begin(4)
        os.kill(self.agents()["n3"], signal.SIGKILL)
        self.ended(job)
        cause = self.results()["root_cause"]
        self.assertEqual((cause["kind"], cause["host"]), ("lost_node", "n3"))
        self.assertIn("ranks 0-3,6-7 stopped by jobrun", self.output())

    def test_the_job_is_cancelled(self):
        job = self.begin(4)
        self.slurm.ask("scancel", job)
        self.ended(job)
        self.assertEqual(self.results()["exit_code"], 128 + signal.SIGTERM)

    def test_a_node_goes_down(self):
        job = self.begin(4)
        self.slurm.ask("scontrol", "update", "nodename=n2", "state=down",
                       "reason=test")
        self.ended(job)
        self.slurm.await_idle()
        self.assertIn(self.results()["status"], ("stopped", "failed"))

    def test_a_node_is_lost(self):
        job = self.begin(4)
        self.slurm.lose("n2")
        self.slurm.ask("scontrol", "update", "nodename=n2", "state=down",
                       "reason=lost")
        self.ended(job)
        self.slurm.bring_back("n2")

    def test_queued_again_it_counts_on(self):
        job = self.begin(2, "--requeue")
        first = os.readlink(self.folder / "runs" / "latest")
        self.slurm.ask("scontrol", "requeue", job)
        self.slurm.wait(lambda: self.slurm.job(job)["JobState"] == "PENDING",
                        "requeue")
        self.slurm.await_gone()
        self.slurm.wait(lambda: self.slurm.call(
            "scontrol", "update", f"jobid={job}", "StartTime=now").returncode
            == 0, "start")
        latest = self.folder / "runs" / "latest"
        self.slurm.wait(lambda: os.readlink(latest) != first, "second run")
        self.await_ranks(4)
        self.assertEqual(self.record()["attempt"], 1)
        self.assertTrue((latest / "attempt_1" / "0").is_dir())
        self.slurm.ask("scancel", job)
        self.ended(job)


class Spares(Nodes):
    """A node that is lost for good, of an allocation that has one more."""
    SCRIPT = ('echo "{\\"r\\": $RANK, \\"node\\": \\"$SLURMD_NODENAME\\"}" > '
              "$JOBRUN_RESULT_FILE; test $JOBRUN_ATTEMPT != 0 || exec sleep 1000")

    def begin(self, nodes=3):
        spec = self.spec(text=f"nodes: {nodes - 1}\nspare_nodes: 1\n"
                         "local_world_size: 2\nrestart: {max: 2, backoff: 0}\n"
                         "results: {fields: {r: {type: integer}}, distinct: [r]}\n"
                         f"entrypoint: [sh, -c, {json.dumps(self.SCRIPT)}]\n")
        job = self.submit(f"exec '{JOBRUN}' '{spec}'", f"-N{nodes}",
                          "--no-requeue", "--no-kill")
        self.await_ranks(2 * (nodes - 1))
        return job

    def setUp(self):
        super().setUp()
        self.lost = []
        self.addCleanup(lambda: self.slurm.bring_back(*self.lost))

    def lose(self, node):
        self.lost.append(node)
        self.slurm.lose(node)
        self.slurm.ask("scontrol", "update", f"nodename={node}", "state=down",
                       "reason=lost")

    def expect_all_on(self, *hosts):
        """Every rank of the next attempt delivered, and was where it says."""
        results = self.results()
        self.assertEqual((results["status"], results["attempt"]),
                         ("succeeded", 1))
        self.assertEqual(
            [(rank["host"], rank["result"]["r"], rank["result"]["node"])
             for rank in results["ranks"]],
            [(host, 2 * node + local, host)
             for node, host in enumerate(hosts) for local in (0, 1)])

    def test_a_spare_takes_the_place_of_a_node(self):
        job = self.begin()
        self.lose("n2")
        self.slurm.await_job(job, "COMPLETED", "FAILED")
        self.assertIn("the spare n3 takes the place of node 1 (n2): ",
                      self.output())
        self.expect_all_on("n1", "n3")
        entry, = self.results()["left_out"]
        self.assertEqual(entry["host"], "n2")
        self.slurm.await_gone()

    def test_without_a_spare_left(self):
        """Two are lost, one after the other."""
        self.SCRIPT = "exec sleep 1000"
        job = self.begin(4)
        self.lose("n2")
        self.await_event(event="restart", attempt=1)
        self.slurm.wait(lambda: sum(
            event["event"] == "rank_started" for event in self.events()) == 12,
            "second attempt")
        self.lose("n3")
        self.slurm.await_job(job, "COMPLETED", "FAILED", "NODE_FAIL")
        cause = self.results()["root_cause"]
        self.assertEqual((cause["kind"], cause["host"]), ("lost_node", "n3"))
        self.assertIn("no spare is left for it", self.output())
        self.slurm.await_gone()


class Surroundings(Nodes):
    def test_a_prolog_that_prints(self):
        spec = self.spec(text="local_world_size: 1\n"
                         "entrypoint: [printenv, RANK]\n")
        prolog = self.script("printf 'print no newline here'", "prolog.sh")
        done = self.expect(self.salloc(
            JOBRUN, spec, env={"SLURM_TASK_PROLOG": str(prolog),
                               "SLURM_LABELIO": "1"}), 0)
        self.assertIn("[1] 1", done.stdout.splitlines())


if __name__ == "__main__":
    lab.main()
