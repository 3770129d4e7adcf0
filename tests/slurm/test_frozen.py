"""Frozen code on a real Slurm: all nodes run in one copy, and what is edited
after `submit` reaches none of the jobs that wait."""
import json
import os
import shutil
import subprocess
import unittest

import lab
from lab import JOBRUN, Lab

setUpModule = lab.up(4)

PROGRAM = {"PATH": os.path.dirname(JOBRUN) + ":" + os.environ["PATH"]}
JOBS = 100


@unittest.skipUnless(shutil.which("git"), "SKIPPED: there is no git")
class Frozen(Lab):
    def repository(self, text):
        """A program and a spec in a work tree; the spec's path."""
        tree = self.folder / "tree"
        tree.mkdir()
        for words in (["init", "-q"], ["config", "user.name", "n"],
                      ["config", "user.email", "n@example.org"]):
            subprocess.run(["git", *words], cwd=tree, check=True)
        (tree / "train.sh").write_text("echo then\n")
        spec = tree / "t.jobrun.yaml"
        spec.write_text("version: 1\nname: t\ndevice: cpu\ncode: freeze\n"
                        f"log_dir: ../runs\n{text}")
        subprocess.run(["git", "add", "-A"], cwd=tree, check=True)
        subprocess.run(["git", "commit", "-q", "-m", "m"], cwd=tree,
                       check=True)
        return spec

    def logs(self):
        return [path.read_text() for path in
                (self.folder / "runs").glob("2*/attempt_0/*/stdout.log")]

    def test_nodes_run_in_one_copy(self):
        spec = self.repository("local_world_size: 1\nnodes: 2\n"
                               "entrypoint: {shell: 'pwd; . ./train.sh; "
                               "echo $NODE_RANK >made.$RANK'}\n")
        self.expect(self.on("salloc", "-Q", "-N2", JOBRUN, spec), 0)
        [copy] = (self.folder / "runs").glob("2*/code")
        self.assertEqual(sorted(self.logs()), [f"{copy}\nthen\n"] * 2)
        for rank in range(2):
            self.assertEqual((copy / f"made.{rank}").read_text(), f"{rank}\n")

    def test_edits_reach_no_job_that_waits(self):
        spec = self.repository(
            "local_world_size: 1\nengine: {slurm: {hold: true}}\n"
            "entrypoint: {shell: '. ./train.sh'}\n")
        held = self.expect(
            self.on(JOBRUN, "submit", spec, "--engine", "slurm", "-s",
                    "nodes=2", env=PROGRAM), 0).stdout.strip()
        jobs = [held]
        for _ in range(JOBS - 1):
            done = self.on(JOBRUN, "submit", spec, "--engine", "slurm",
                           env=PROGRAM)
            jobs.append(self.expect(done, 0).stdout.strip())
        spec.write_text(spec.read_text().replace("train.sh", "other.sh"))
        (spec.parent / "train.sh").write_text("echo edited\n")
        (spec.parent / "other.sh").write_text("echo edited\n")
        self.slurm.ask("scontrol", "release", ",".join(jobs))
        for job in jobs:
            self.slurm.await_job(job, "COMPLETED")
        self.assertEqual(self.logs(), ["then\n"] * (JOBS + 1))
        for record in (self.folder / "runs").glob("2*/run.json"):
            self.assertIs(json.loads(record.read_text())["code"]["frozen"],
                          True)


if __name__ == "__main__":
    lab.main()
