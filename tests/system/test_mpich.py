"""MPICH's own programs, started by jobrun where no launcher of MPI's is to be
found; and Open MPI's, which need another protocol."""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import harness

NEEDED = ("mpicc.mpich", "mpicc.openmpi")
if missing := [name for name in NEEDED if shutil.which(name) is None]:
    print("SKIPPED: install libmpich-dev and libopenmpi-dev (not here: "
          f"{' '.join(missing)})")
    sys.exit(77)

SOURCE = pathlib.Path(__file__).parent / "mpi" / "world.c"
SPEC = """\
version: 1
entrypoint: ['{program}']
world_size: 4
device: cpu
oversubscribe: true
timeouts: {{run: 2m}}
"""
BUILT = None


def setUpModule():
    global BUILT
    scratch = tempfile.TemporaryDirectory(prefix="jobrun-mpich-")
    unittest.addModuleCleanup(scratch.cleanup)
    BUILT = pathlib.Path(scratch.name)
    for kind in ("mpich", "openmpi"):
        subprocess.run([f"mpicc.{kind}", SOURCE, "-o", BUILT / kind],
                       check=True, timeout=60)
    # All that jobrun and the programs look up by PATH; no launcher is there.
    (BUILT / "bin").mkdir()
    for name in ("sh", "env", "git"):
        if found := shutil.which(name):
            (BUILT / "bin" / name).symlink_to(found)


class Mpich(harness.Case):
    def run_program(self, code, *words, spec="", sets=()):
        self.write("job.yaml", SPEC.format(program=BUILT / "mpich") + spec)
        return self.expect(self.jobrun("job.yaml", *sets, "--", *words, env={
            "PATH": str(BUILT / "bin")}), code)

    def run_open_mpi(self, code, spec=""):
        """Where each rank is alone, it starts Open MPI's daemon."""
        self.write("job.yaml", SPEC.format(program=BUILT / "openmpi") + spec)
        return self.expect(self.jobrun("job.yaml"), code)

    def assert_world(self, done, size):
        total = size * (size + 1) // 2
        self.assertEqual(sorted(done.stdout.splitlines()), sorted(
            f"[{rank}] mpi {rank} of {size}, sum {total}, ring {size}, "
            f"RANK {rank}" for rank in range(size)))

    def assert_cause(self, done, rank, kind, message):
        cause = self.results()["root_cause"]
        self.assertEqual((cause["rank"], cause["kind"], cause["message"]),
                         (rank, kind, message))
        self.assertIn("0 processes left", done.stderr)

    def test_there_is_no_launcher(self):
        for name in ("mpirun", "mpiexec", "mpiexec.hydra", "hydra_pmi_proxy",
                     "srun", "orted"):
            self.assertIsNone(shutil.which(name, path=BUILT / "bin"))

    def test_by_what_the_program_needs(self):
        done = self.run_program(0)
        self.assert_world(done, 4)
        self.assertIn(", one MPI world by PMI-1 (libmpich.so.12)\n",
                      done.stderr)

    def test_by_the_stated_protocol(self):
        self.assert_world(self.run_program(0, spec="mpi: pmi1\n"), 4)

    def test_by_a_wrapper(self):
        self.write("job.yaml", SPEC.format(program="").replace(
            "['']", f"{{shell: '\"{BUILT / 'mpich'}\"; true'}}") +
            "mpi: pmi1\n")
        self.assert_world(self.expect(self.jobrun("job.yaml"), 0), 4)

    def test_a_rank_alone(self):
        self.assert_world(
            self.run_program(0, sets=("-s", "world_size=1")), 1)

    def test_many_ranks(self):
        self.assert_world(
            self.run_program(0, sets=("-s", "world_size=32")), 32)

    def test_an_abort(self):
        done = self.run_program(1, "abort")
        self.assert_cause(done, 1, "mpi_abort", "called MPI_Abort with code 3")

    def test_an_error_of_mpi(self):
        done = self.run_program(1, "fail")
        self.assert_cause(done, 1, "mpi", "had a fatal error within MPI")
        self.assertIn("Invalid rank has value 99", done.stderr)

    def test_a_death(self):
        done = self.run_program(1, "die")
        self.assert_cause(done, 1, "signal",
                          "was killed by SIGKILL, sender unknown")

    def test_a_rank_that_leaves(self):
        done = self.run_program(1, "leave")
        self.assert_cause(done, 1, "mpi", "exited with code 0 after MPI_Init, "
                          "without calling MPI_Finalize")

    def test_a_rank_without_mpi(self):
        done = self.run_program(1, "mixed")
        self.assert_cause(done, 1, "mpi", "exited with code 0 without calling "
                          "MPI_Init, which other ranks had called")

    def test_no_rank_uses_mpi(self):
        """By its libraries it might have: a warning. By the spec it had to."""
        done = self.run_program(0, "without")
        self.assertIn("no rank called MPI_Init through jobrun", done.stderr)
        shown = self.expect(self.jobrun("show", "latest"), 0)
        self.assertIn("no rank called MPI_Init through jobrun", shown.stdout)
        done = self.run_program(5, "without", spec="mpi: pmi1\n")
        self.assert_cause(done, None, "singletons", "4 singletons: `mpi: pmi1` "
                          "is stated, but no rank called MPI_Init through it")

    def test_programs_that_each_are_a_world(self):
        done = self.run_program(0, spec="mpi: none\n")
        self.assertEqual(sorted(done.stdout.splitlines()), [
            f"[{rank}] mpi 0 of 1, sum 1, ring 1, RANK {rank}"
            for rank in range(4)])
        self.assertNotIn("warning", done.stderr)

    def test_the_wrong_mpi_for_the_stated_protocol(self):
        done = self.run_open_mpi(5, spec="mpi: pmi1\n")
        self.assertIn("4 singletons: `mpi: pmi1` is stated", done.stderr)

    def test_a_program_of_open_mpi(self):
        done = self.run_open_mpi(0)
        self.assertIn("JR0516", done.stderr)
        self.assertIn("the program needs libmpi.so.40, and jobrun does not make "
                      "its ranks one world", done.stderr)


if __name__ == "__main__":
    harness.main()
