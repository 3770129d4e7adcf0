"""One jobrun over several nodes of a real Slurm: what a failure anywhere does
everywhere else, and what the user is told."""
import os
import signal
import subprocess
import unittest

import lab
from lab import JOBRUN, Lab

setUpModule = lab.up(4, KillWait=10)

LIMIT = 60  # seconds that anything may take

# Ranks that say that they are there, and stay until they are told.
WAIT = r"""entrypoint:
  shell: 'echo $$ > new.$RANK; mv new.$RANK ready.$RANK; setsid sleep 1000 &
    until [ -e go ]; do sleep 0.05; done; if [ -e go.$RANK ]; then
    . ./go.$RANK; fi; kill $!'
local_world_size: 2
"""


class Loss(Lab):
    def begin_run(self, *words, nodes=3, text=WAIT):
        """A run whose ranks are all there, its console in a file."""
        spec = self.spec(text=f"nodes: {nodes}\n{text}")
        self.out = open(self.folder / "console", "w+")
        self.addCleanup(self.out.close)
        run = self.begin("salloc", "-N", nodes, "--ntasks-per-node=1", *words,
                         JOBRUN, spec, stdout=self.out,
                         stderr=subprocess.STDOUT)
        self.await_ranks(2 * nodes, run)
        return run

    def await_ranks(self, count, run):
        def there():
            self.assertIsNone(run.poll(), self.console())
            return all((self.folder / f"ready.{rank}").exists()
                       for rank in range(count))
        self.slurm.wait(there, f"{count} ranks")

    def console(self):
        return (self.folder / "console").read_text()

    def ends(self, run, code):
        """The user's side is over, with this status; nothing is left."""
        self.assertEqual(run.wait(LIMIT), code, self.console())
        self.slurm.await_gone()
        return self.results()

    def test_all_nodes_are_one_run(self):
        spec = self.spec(
            text="nodes: 4\nlocal_world_size: 2\nresults: {from: stdout, "
            "pattern: 'host (?<host>n[0-9])', distinct: [], "
            "fields: {host: {type: string}}}\n"
            "entrypoint: {shell: 'echo rank $RANK host $SLURMD_NODENAME'}\n")
        done = self.expect(self.on("salloc", "-N4", "--ntasks-per-node=1",
                                   JOBRUN, spec), 0)
        for rank in range(8):
            self.assertIn(f"[{rank}] rank {rank} host n{rank // 2 + 1}\n",
                          done.stdout)
        self.assertIn("8 of 8 ranks delivered, 0 processes left", done.stderr)
        ranks = self.results()["ranks"]
        self.assertEqual(
            [(rank["rank"], rank["node_rank"], rank["host"],
              rank["result"]["host"]) for rank in ranks],
            [(r, r // 2, f"n{r // 2 + 1}", f"n{r // 2 + 1}")
             for r in range(8)])

    def test_a_rank_that_fails_stops_the_other_nodes(self):
        run = self.begin_run()
        self.write("go.3", "exit 9\n")
        self.write("go", "")
        results = self.ends(run, 1)
        cause = results["root_cause"]
        self.assertEqual((cause["rank"], cause["host"], cause["exit_code"]),
                         (3, "n2", 9))
        self.assertIn("rank 3 exited with code 9", self.console())

    def lose(self, node):
        """All of a node's processes at once, which Slurm is told."""
        self.slurm.lose(node)
        self.addCleanup(self.slurm.bring_back, node)
        self.slurm.ask("scontrol", "update", f"nodename={node}", "state=down",
                       "reason=lost")

    def test_a_lost_node_is_named(self):
        """Whoever is first: Slurm then ends the job, jobrun ends the run."""
        run = self.begin_run()
        self.lose("n2")
        self.assertIn(run.wait(LIMIT), (1, 143), self.console())
        self.slurm.await_gone()
        cause = self.results()["root_cause"]
        self.assertEqual((cause["kind"], cause["host"]), ("lost_node", "n2"))
        self.assertIn("rank 2 was lost with its node", self.console())

    def test_an_agent_that_is_killed(self):
        run = self.begin_run()
        agent, = (pid for pid in self.slurm.node_processes("n2")
                  if self.words(self.parent(pid)).startswith("slurmstepd"))
        os.kill(agent, signal.SIGKILL)
        results = self.ends(run, 1)
        self.assertEqual(results["root_cause"]["host"], "n2")

    def test_a_head_that_is_killed(self):
        run = self.begin_run()
        os.kill(self.record()["pid"], signal.SIGKILL)
        run.wait(LIMIT)
        self.slurm.await_gone()

    def test_an_srun_that_is_killed(self):
        run = self.begin_run()
        head = self.record()["pid"]
        for pid in lab.cluster.below(head):
            if self.words(pid).startswith("srun"):
                os.kill(pid, signal.SIGKILL)
                break
        self.ends(run, 1)

    def test_a_head_that_is_told_to_stop(self):
        run = self.begin_run()
        os.kill(self.record()["pid"], signal.SIGTERM)
        results = self.ends(run, 143)
        self.assertEqual(results["status"], "stopped")
        self.assertEqual({rank["state"] for rank in results["ranks"]},
                         {"stopped"})

    @staticmethod
    def parent(pid):
        try:
            with open(f"/proc/{pid}/stat") as file:
                return int(file.read().rpartition(") ")[2].split()[1])
        except OSError:
            return 0

    @staticmethod
    def words(pid):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                return file.read().replace(b"\0", b" ").decode()
        except OSError:
            return ""


if __name__ == "__main__":
    unittest.main()
