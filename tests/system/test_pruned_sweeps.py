"""A sweep that is removed while somebody goes on with it, or wants to: one of the
two is refused, and nobody sees half a sweep."""
import json
import os
import shutil
import signal

import harness
from test_sweeps import BLOCKS, Sweep

SHELL = """\
echo $$ > pid.$N.$JOBRUN_SWEEP_ID
[ ! -e fail ] || exit 1
while [ -e wait ]; do sleep 0.05; done"""


class Pruned(Sweep):
    def end_badly(self, *names):
        """Sweeps that have ended, and of which there is something to be run."""
        self.spec(SHELL, BLOCKS)
        (self.folder / "fail").touch()
        for name in names:
            self.expect(self.jobrun("scan.jobrun.yaml", "--run-id", name), 1)
        (self.folder / "fail").unlink()
        for pid in self.folder.glob("pid.*"):
            pid.unlink()

    def place(self, name):
        return self.folder / "runs" / name

    def prune(self, *words):
        return self.expect(self.jobrun("prune", "--keep", "0", *words), 0)

    def rests(self):
        return list((self.folder / "runs").glob(".pruned-*"))

    def test_it_is_gone_on_with_meanwhile(self):
        """Between the look at what there is and the removal: the look waits for
        an answer of squeue's about another one."""
        names = [f"s{i}" for i in range(4)]
        self.end_badly(*names)
        shutil.copytree(self.place("s0"), self.place("array"))
        file = self.place("array") / "sweep.json"
        sweep = json.loads(file.read_text())
        sweep["submitted"] = {"engine": "slurm", "job": "4711"}
        for cell in sweep["cells"]:
            cell["status"] = "not_started"
        file.write_text(json.dumps(sweep))
        shutil.rmtree(self.place("array") / "cells")
        tool = self.write("bin/squeue", "#!/bin/sh\n: > asked\n"
                          "while [ ! -e answer ]; do sleep 0.02; done\n"
                          "echo 4711\n")
        tool.chmod(0o755)
        prune = self.start("prune", "--keep", "0", env={
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}"})
        self.until((self.folder / "asked").exists, "squeue is asked")
        (self.folder / "wait").touch()
        sweeps = [self.start("scan.jobrun.yaml", f"--resume={name}",
                             "--parallel", "1") for name in names]
        self.started(len(names))
        (self.folder / "answer").touch()
        out, err = prune.communicate(timeout=harness.LIMIT)
        self.assertEqual((prune.returncode, out), (0, ""), err)
        (self.folder / "wait").unlink()
        for name, sweep in zip(names, sweeps):
            err = sweep.communicate(timeout=harness.LIMIT)[1]
            self.assertEqual(sweep.returncode, 0, err)
            cells = json.loads((self.place(name) / "sweep.json").read_text())
            self.assertEqual([cell["status"] for cell in cells["cells"]],
                             ["succeeded"] * 4)
        self.assertEqual(self.rests(), [])

    def test_two_at_once(self):
        """Whoever is first has it: it is gone on with as a whole, or not at all."""
        went_on = 0
        for _ in range(12):
            self.end_badly("s")
            sweep = self.start("scan.jobrun.yaml", "--resume=s")
            prune = self.start("prune", "--keep", "0")
            told = sweep.communicate(timeout=harness.LIMIT)[1]
            out, err = prune.communicate(timeout=harness.LIMIT)
            self.assertEqual(prune.returncode, 0, err)
            if sweep.returncode == 0:
                went_on += 1
                if out == "":
                    self.assertEqual(
                        len(list(self.place("s").glob("cells/*/results.json"))),
                        8, told)
            else:
                self.assertEqual(sweep.returncode, 2, told)
                self.assertRegex(told, "there is no sweep 's'|was removed "
                                       "meanwhile|is being run by process")
                self.assertEqual(out, "s\n", told)
            if out == "s\n":
                self.assertFalse(self.place("s").exists())
            self.assertEqual(self.rests(), [])
            shutil.rmtree(self.folder / "runs")

    def test_a_prune_that_is_killed(self):
        """Nothing that is left of it is a sweep, and the next one removes it."""
        self.end_badly("s")
        for i in range(4000):
            (self.place("s") / f"cells/0000/file-{i}").touch()
        prune = self.start("prune", "--keep", "0")
        self.until(lambda: self.rests() or prune.poll() is not None, "a removal")
        prune.send_signal(signal.SIGKILL)
        prune.wait(harness.LIMIT)
        self.assertFalse(self.place("s").exists())
        self.assertEqual(self.expect(self.jobrun("runs"), 0).stdout.count("\n"),
                         0)
        self.expect(self.jobrun("scan.jobrun.yaml", "--resume=s"), 2)
        self.prune()
        self.assertEqual(self.rests(), [])

    def test_what_is_left_of_others(self):
        """Nothing is removed by its name alone."""
        self.end_badly("s")
        for mode, stays in ((0o777, True), (0o700, False)):
            os.rename(self.place("s"), self.place(".pruned-s-1"))
            self.place(".pruned-s-1").chmod(mode)
            self.prune("--dry-run")
            self.assertTrue(self.place(".pruned-s-1").exists())
            self.prune()
            self.assertEqual(self.place(".pruned-s-1").exists(), stays)
            if stays:
                os.rename(self.place(".pruned-s-1"), self.place("s"))


if __name__ == "__main__":
    harness.main()
