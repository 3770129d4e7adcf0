"""Cells that another machine ran when it was lost, and of which it left no
results: going on with the sweep runs them again, unless they may still run there.

The other machine is this one: the records of its cells are given its name.
"""
import json
import os
import shutil
import signal
import subprocess

import harness
from test_sweeps import BLOCKS, Sweep

SHELL = """\
echo $N >> ran
echo $$ > new.$N; mv new.$N pid.$N
while [ ! -e go ]; do sleep 0.05; done"""


class Lost(Sweep):
    def setUp(self):
        super().setUp()
        (self.folder / "bin").mkdir()

    def lose_all(self, *words):
        """A sweep whose every process is killed at one instant."""
        self.spec(SHELL, BLOCKS)
        sweep = self.start("scan.jobrun.yaml", "--parallel", "1", *words,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        pids = self.started(1)
        guard, = [pid for pid in harness.children(sweep.pid)
                  if harness.name_of(pid).startswith("jobrun")]
        all_of_it = [sweep.pid, guard, harness.runner_of(guard)]
        for sig in (signal.SIGSTOP, signal.SIGKILL):
            for pid in all_of_it:
                os.kill(pid, sig)
        sweep.wait(harness.LIMIT)
        self.gone(pids + all_of_it)
        (self.folder / "go").touch()

    def be_elsewhere(self, leader="n8", job=None):
        """The cell's record is that of another machine, and whoever led it had
        that name and job."""
        path = self.latest() / "cells/0000/run.json"
        path.write_text(json.dumps({**json.loads(path.read_text()),
                                    "host": "n9"}))
        journal = self.latest() / "journal.jsonl"
        lines = journal.read_text().splitlines()
        first = {**json.loads(lines[0]), "job": job}
        if leader:
            first["host"] = leader
        journal.write_text("\n".join([json.dumps(first), *lines[1:]]) + "\n")

    def squeue(self, text):
        tool = self.write("bin/squeue", f"#!/bin/sh\n{text}\n")
        tool.chmod(0o755)

    def resume(self, code, name=""):
        return self.expect(self.jobrun(
            "scan.jobrun.yaml", f"--resume{name}", env={
                "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}"}), code)

    def ran(self):
        return (self.folder / "ran").read_text().split()

    def check_again(self, told):
        self.assertIn("cell 0000 was lost on n9, and runs again", told)
        self.assertEqual(self.statuses(), ["succeeded"] * 4)
        self.assertEqual(sorted(self.ran()), list("00123"))
        self.assertTrue((self.latest() / "cells/0000.1").is_dir())

    def test_its_leader_was_here(self):
        """Who has the lock of the journal knows that it is gone."""
        self.lose_all()
        self.be_elsewhere(leader=None)
        told = self.resume(0).stderr
        self.assertRegex(told, "waiting for cell 0000, which n9 may still be "
                               r"ending, for at most \d s\n")
        self.check_again(told)

    def test_its_results_come_meanwhile(self):
        (self.folder / "go").touch()
        self.spec(SHELL, BLOCKS)
        self.expect(self.jobrun("scan.jobrun.yaml"), 0)
        shutil.copy(self.latest() / "cells/0000/results.json", self.folder)
        shutil.rmtree(self.folder / "runs")
        for name in ("go", "ran", *self.folder.glob("pid.*")):
            (self.folder / name).unlink()
        self.lose_all()
        self.be_elsewhere(leader=None)
        sweep = self.start("scan.jobrun.yaml", "--resume")
        told = sweep.stderr.readline()
        self.assertIn("waiting for cell 0000", told)
        os.rename(self.folder / "results.json",
                  self.latest() / "cells/0000/results.json")
        told += sweep.communicate(timeout=harness.LIMIT)[1]
        self.assertEqual(sweep.returncode, 0, told)
        self.assertIn("4 cells, of which 1 have delivered", told)
        self.assertNotIn("lost", told)
        self.assertEqual(sorted(self.ran()), list("0123"))

    def test_its_leader_was_elsewhere(self):
        """What is to be done is said, and may be typed as it stands."""
        self.lose_all()
        self.be_elsewhere()
        for _ in range(2):  # being refused is not leading it
            told = self.resume(2).stderr
            self.assertIn("cell 0000 began on n9, has no results, and may still "
                          "run there: there, jobrun stop 0000 --log-dir ", told)
        self.assertEqual(self.ran(), ["0"])
        subprocess.run(["sh", "-c", told[told.index("(cd "):]], check=True)
        self.resume(0)
        self.assertEqual(self.statuses(), ["succeeded"] * 4)

    def test_its_job_of_slurm(self):
        self.lose_all()
        self.be_elsewhere(job="4711")
        for queue in ("echo 4711", "exit 1"):
            self.squeue(queue)
            self.assertIn("may still run there", self.resume(2).stderr)
        self.squeue("echo 4712")
        told = self.resume(0).stderr
        self.assertNotIn("waiting", told)
        self.check_again(told)

    def test_a_journal_that_says_nothing(self):
        """As of earlier builds, or where it was removed."""
        self.lose_all()
        self.be_elsewhere()
        name = self.latest().resolve().name
        (self.latest() / "journal.jsonl").unlink()
        self.assertIn("may still run there", self.resume(2, f"={name}").stderr)

    def test_a_signal_ends_the_waiting(self):
        self.lose_all()
        self.be_elsewhere(leader=None)
        sweep = self.start("scan.jobrun.yaml", "--resume")
        self.assertIn("waiting for cell 0000", sweep.stderr.readline())
        sweep.terminate()
        told = sweep.communicate(timeout=harness.LIMIT)[1]
        self.assertNotEqual(sweep.returncode, 0)
        self.assertNotIn("runs again", told)
        self.assertEqual(self.ran(), ["0"])


if __name__ == "__main__":
    harness.main()
