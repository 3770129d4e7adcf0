"""What the tests with a real Slurm share: a module's cluster, and jobs on it.

A module that says `setUpModule = lab.up(4)` has one cluster of four nodes for
all its tests. Where Slurm is not installed it is SKIPPED.
"""
import atexit
import json
import pathlib
import re
import signal
import sys
import unittest

import cluster

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "system"))

from harness import JOBRUN, Case  # noqa: E402

SLURM = None  # the module's cluster

if cluster.missing():
    print("SKIPPED: no Slurm: install slurmctld, slurmd and slurm-client "
          f"(not here: {' '.join(cluster.missing())})")
    sys.exit(77)


def up(nodes, **settings):
    def set_up():
        global SLURM
        SLURM = cluster.Cluster(nodes, **settings)
        SLURM.__enter__()
        unittest.addModuleCleanup(SLURM.__exit__)
    return set_up


class Lab(Case):
    """A test on the module's cluster. It leaves the nodes idle and empty."""

    def setUp(self):
        super().setUp()
        self.slurm = SLURM
        self.addCleanup(self.calm)

    def calm(self):
        for job in self.slurm.ask("squeue", "-h", "-o", "%i").split():
            self.slurm.ask("scancel", "--full", job)
        self.slurm.await_idle()
        self.slurm.await_gone()

    def spec(self, name="t", text=""):
        """A spec that meets at a port of its own, for the nodes are not."""
        self.port = self.slurm.lease_port()
        return self.write(f"{name}.jobrun.yaml",
                          f"version: 1\nmaster_port: {self.port}\n"
                          f"device: cpu\n{text}")

    def on(self, *words, **options):
        """A command on the cluster, in the test's folder."""
        return self.slurm.call(*words, cwd=self.folder, **options)

    def begin(self, *words, **options):
        """The same, without waiting; it is ended with the test."""
        process = self.slurm.start(*words, cwd=self.folder, **options)
        self.addCleanup(self.end, process)
        return process

    def record(self, run="latest"):
        return json.loads(
            (self.folder / "runs" / run / "run.json").read_text())


main = unittest.main
