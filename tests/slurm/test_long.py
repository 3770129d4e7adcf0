"""What takes its time on a real Slurm: the end of a job's time, and PyTorch
over several nodes."""
import subprocess
import unittest

import lab
from lab import JOBRUN, Lab

setUpModule = lab.up(4, KillWait=10)

# Ranks that say that they are there, and stay.
WAIT = r"""entrypoint:
  shell: 'setsid sleep 1000 & echo > ready.$RANK; exec sleep 1000'
timeouts: {stop_grace: 3s}
"""

TRAIN = """
import json, os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

def main():
    torch.manual_seed(dist.get_rank())
    model = DistributedDataParallel(torch.nn.Linear(4, 1))
    descent = torch.optim.SGD(model.parameters(), lr=0.05)
    truth = torch.tensor([[1.0, -2.0, 3.0, 0.5]])
    for step in range(200):
        given = torch.randn(32, 4)
        loss = ((model(given) - given @ truth.T) ** 2).mean()
        descent.zero_grad()
        loss.backward()
        descent.step()
    return {"node": os.environ["SLURMD_NODENAME"], "world":
            dist.get_world_size(), "loss": loss.item(), "weights":
            [round(value, 6) for value in
             model.module.weight.flatten().tolist()]}
"""


class Long(Lab):
    def ready(self, count):
        self.slurm.wait(lambda: len(list(self.folder.glob("ready.*"))) == count,
                        f"{count} ranks")

    def submit(self, nodes, *words):
        """A job whose ranks are all there."""
        spec = self.spec(text=f"nodes: {nodes}\nlocal_world_size: 2\n{WAIT}")
        script = self.write("job.sh", f"#!/bin/sh\nexec '{JOBRUN}' '{spec}'\n")
        job = self.expect(self.on("sbatch", "--parsable", f"--nodes={nodes}",
                                  "--ntasks-per-node=1", *words, script),
                          0).stdout.strip()
        self.ready(2 * nodes)
        return job

    def assert_stopped(self, job, *states):
        self.slurm.wait(
            lambda: self.slurm.job(job)["JobState"] in states, states, 120)
        self.slurm.await_gone()
        record = self.record()
        self.assertEqual((record["status"], record["exit_code"]),
                         ("stopped", 143))
        self.assertEqual({rank["state"] for rank in self.results()["ranks"]},
                         {"stopped"})

    def test_the_time_limit(self):
        """The controller looks at its clock every half minute."""
        for nodes in (1, 2):
            job = self.submit(nodes)
            self.slurm.ask("scontrol", "update", f"jobid={job}",
                           "EndTime=now+1")
            self.assert_stopped(job, "TIMEOUT")
            for path in self.folder.glob("ready.*"):
                path.unlink()

    def test_the_signal_before_the_limit(self):
        job = self.submit(1, "--time=1", "--signal=B:TERM@60")
        self.assert_stopped(job, "FAILED")

    def test_torch_over_two_nodes(self):
        python = "/usr/bin/python3"
        if subprocess.run([python, "-c", "import torch"],
                          capture_output=True).returncode != 0:
            self.skipTest("SKIPPED: no PyTorch: install python3-torch")
        self.write("train.py", TRAIN)
        spec = self.spec(
            text="nodes: 2\nlocal_world_size: 2\nmaster_addr: 127.0.0.1\n"
            "threads: 1\nenv: {GLOO_SOCKET_IFNAME: lo}\nentrypoint: {python: "
            f"{{function: 'train:main', init: torch, interpreter: {python}}}}}"
            "\nresults: {equal: [weights, world], fields: "
            "{loss: {type: number, max: 0.001}, weights: {type: array}, "
            "world: {type: integer, min: 4, max: 4}}}\n")
        self.expect(self.on("salloc", "-N2", "--ntasks-per-node=1", JOBRUN,
                            spec, timeout=300), 0)
        results = [rank["result"] for rank in self.results()["ranks"]]
        self.assertEqual([result["node"] for result in results],
                         ["n1", "n1", "n2", "n2"])


if __name__ == "__main__":
    unittest.main()
