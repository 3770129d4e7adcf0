"""32 nodes of a real Slurm; and a process group across nodes, where torch is
installed."""
import os
import pathlib
import signal
import subprocess
import sys
import unittest

import lab
from lab import JOBRUN
from test_nodes import WAITS, Nodes

setUpModule = lab.up(32, KillWait=11)
EXAMPLES = pathlib.Path(os.environ["EXAMPLES"])


class Many(Nodes):
    def test_all_and_what_they_cost(self):
        spec = self.spec(text="local_world_size: 4\nentrypoint: [sleep, 2]\n")
        self.expect(self.salloc(JOBRUN, spec, nodes=32), 0)
        told = [event for event in self.events()
                if event["event"] == "agents"][0]
        self.assertEqual(told["nodes"], 32)
        self.assertLess(told["heard"], 32 * 6144 + 128 * 1000)
        self.assertLess(told["told"], 8192)

    def test_the_first_failure_stops_all_within_a_second(self):
        spec = self.spec(text="local_world_size: 2\nentrypoint: [sh, -c, "
                         "'test $RANK = 33 && sleep 1 && exit 7; "
                         "exec sleep 1000']\n")
        done = self.expect(self.salloc(JOBRUN, spec, nodes=32), 1)
        self.assertIn("node 16 (n17)", done.stderr)
        self.assertIn("ranks 0-32,34-63 stopped by jobrun", done.stderr)
        self.slurm.await_gone()

    def test_the_head_is_killed(self):
        spec = self.spec(text=f"local_world_size: 2\n{WAITS}")
        job = self.submit(f"exec '{JOBRUN}' '{spec}'", "-N32", "--no-requeue")
        self.await_ranks(64)
        os.kill(self.record()["pid"], signal.SIGKILL)
        self.slurm.await_job(job, "COMPLETED", "FAILED")
        self.slurm.await_gone()


class Groups(Nodes):
    def test_a_process_group_across_nodes(self):
        """gloo, two ranks on each of two nodes: an all-reduce over each axis
        gives what the mesh predicts."""
        have = subprocess.run([sys.executable, "-c", "import torch"],
                              capture_output=True, timeout=120)
        if have.returncode != 0:
            print("SKIPPED: no torch for a process group across nodes")
            raise unittest.SkipTest("no torch")
        self.write("meet.py", "import jobrun\n"
                   "def main():\n"
                   "    return {'rank': jobrun.rank()}\n")
        spec = self.spec(text="local_world_size: 2\nmaster_addr: 127.0.0.1\n"
                         "parallelism: {model: 2}\nentrypoint: {python: "
                         f"{{function: 'meet:main', interpreter: "
                         f"'{sys.executable}', init: torch, "
                         "smoke_test: true}}\n")
        done = self.expect(self.salloc(JOBRUN, spec), 0)
        del done
        self.assertEqual([rank["result"] for rank in self.results()["ranks"]],
                         [{"rank": rank} for rank in range(4)])


if __name__ == "__main__":
    lab.main()
