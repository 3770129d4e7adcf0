"""jobrun on a real Slurm: what srun, sbatch and salloc make of it."""
import os
import select
import subprocess
import sys
import unittest

import cluster
import lab

setUpModule = lab.up(4)

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



if __name__ == "__main__":
    unittest.main()
