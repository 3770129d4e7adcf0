"""A real Slurm across a link that is cut: two nodes, each in a network namespace
of its own."""
import os
import signal
import time
import unittest

import own_links

own_links.enter()

import lab  # noqa: E402
from test_nodes import Nodes  # noqa: E402

setUpModule = lab.up(2, far=True, KillWait=11, SlurmdTimeout=300)
LOST = 60  # seconds in silence after which a node is lost
FORSAKEN = 600  # the same of the controller
SLACK = 60
# A rank that counts until there is a file, which all nodes see.
COUNTS = ("entrypoint: [sh, -c, 'i=0; until test -e \"$JOBRUN_RUN_DIR/enough\"; "
          "do i=$((i + 1)); echo $i; sleep 0.2; done']\n")


class Links(Nodes):
    def setUp(self):
        super().setUp()
        self.addCleanup(self.slurm.mend_link)

    def begin(self):
        spec = self.spec(text=f"local_world_size: 1\n{COUNTS}")
        job = self.submit(f"exec '{lab.JOBRUN}' '{spec}'", "-N2",
                          "--no-requeue")
        self.await_ranks(2)
        return job

    def await_line(self, number):
        self.slurm.wait(lambda: f"[1] {number}\n" in self.output(),
                        f"line {number}")

    def survivors(self):
        """Agents, ranks and what else is jobrun's, on any node."""
        return [words for words in self.slurm.strays().values()
                if "slurmstepd" not in words]

    def test_briefly(self):
        """Nobody notices, and nothing is lost."""
        job = self.begin()
        self.await_line(1)
        self.slurm.cut_link()
        time.sleep(10)  # that is what is tried
        self.slurm.mend_link()
        with open(self.folder / "runs/latest/attempt_0/1/stdout.log") as log:
            self.await_line(log.read().split()[-1])
        (self.folder / "runs/latest/enough").touch()
        self.slurm.await_job(job, "COMPLETED")
        own = [line.split()[1] for line in self.output().splitlines()
               if line.startswith("[1] ")]
        self.assertEqual(own, [str(i + 1) for i in range(len(own))])
        self.assertEqual(self.results()["status"], "succeeded")
        self.slurm.await_gone()

    def test_a_slurmstepd_is_killed(self):
        """Of which srun says nothing, and Slurm neither."""
        job = self.begin()
        agent = self.agents()["n2"]
        with open(f"/proc/{agent}/stat") as stat:
            keeper = int(stat.read().rsplit(")", 1)[1].split()[1])
        os.kill(keeper, signal.SIGKILL)
        self.slurm.wait((self.folder / "runs/latest/results.json").exists,
                        "end of the run", LOST + SLACK)
        cause = self.results()["root_cause"]
        self.assertEqual((cause["kind"], cause["host"]), ("lost_node", "n2"))
        self.slurm.await_job(job, "COMPLETED", "FAILED")
        self.slurm.await_gone()

    def test_for_good(self):
        """Each side takes the other for lost, and ends."""
        job = self.begin()
        cut = time.monotonic()
        self.slurm.cut_link()
        self.slurm.wait((self.folder / "runs/latest/results.json").exists,
                        "end of the run", LOST + SLACK)
        took = time.monotonic() - cut
        self.assertGreater(took, LOST - 11)
        results = self.results()
        cause = results["root_cause"]
        self.assertEqual((results["status"], cause["kind"], cause["host"]),
                         ("failed", "lost_node", "n2"))
        self.assertIn("nothing was heard from node 1 (n2) since ",
                      cause["message"])
        self.slurm.wait(lambda: "rank 0 stopped by jobrun" in self.output(),
                        "report")
        self.assertIn("scontrol show node n2", self.output())
        self.assertNotEqual(self.survivors(), [])
        self.slurm.wait(lambda: not self.survivors(), "end of n2's rank",
                        FORSAKEN + SLACK)
        self.slurm.mend_link()
        self.slurm.lose("n2")  # for Slurm has long had it down
        self.slurm.bring_back("n2")
        self.slurm.await_job(job, "COMPLETED", "FAILED", "NODE_FAIL")


if __name__ == "__main__":
    lab.main()
