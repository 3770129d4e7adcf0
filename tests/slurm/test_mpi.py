"""MPI for real: what `render --engine mpi` makes under MPICH's hydra and under
Open MPI; jobrun as the agent of each of their nodes; MPI ranks inside of runs,
and MPICH's by Slurm's PMI-2; and worlds on the nodes of an allocation that jobrun
makes itself."""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import lab
from lab import JOBRUN, Lab

NEEDED = ("mpicc.mpich", "mpiexec.mpich", "mpicc.openmpi", "mpirun.openmpi")
if missing := [name for name in NEEDED if shutil.which(name) is None]:
    print("SKIPPED: install mpich, libmpich-dev, openmpi-bin and "
          f"libopenmpi-dev (not here: {' '.join(missing)})")
    sys.exit(77)

PROGRAM = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    int rank, size, sum, one;
    const char *mine = getenv("RANK");
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    one = rank + 1;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    printf("mpi %d of %d, sum %d, RANK %s\n", rank, size, sum, mine);
    return MPI_Finalize();
}
"""

# Without shared memory, and on the loopback alone.
OPENMPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
           "OMPI_MCA_rmaps_base_oversubscribe": "1",
           "OMPI_MCA_btl": "self,tcp", "OMPI_MCA_btl_tcp_if_include": "lo",
           "OMPI_MCA_oob_tcp_if_include": "lo"}
# In place of ssh: a host name of its own makes it another node.
REMOTE = """#!/bin/sh
host=$1
shift
exec unshare --uts sh -c 'hostname "$0"; exec sh -c "$1"' "$host" "$*"
"""
FOLDER = None
WORLD = pathlib.Path(__file__).parent.parent / "system" / "mpi" / "world.c"


def setUpModule():
    global FOLDER
    lab.up(4)()
    scratch = tempfile.TemporaryDirectory(prefix="jobrun-mpi-")  # Open MPI cuts at blanks
    unittest.addModuleCleanup(scratch.cleanup)
    FOLDER = pathlib.Path(scratch.name)
    (FOLDER / "sum.c").write_text(PROGRAM)
    for kind in ("mpich", "openmpi"):
        subprocess.run([f"mpicc.{kind}", "sum.c", "-o", kind], cwd=FOLDER,
                       check=True, timeout=60)
        subprocess.run([f"mpicc.{kind}", WORLD, "-o", f"{kind}-world"],
                       cwd=FOLDER, check=True, timeout=60)
    (FOLDER / "bin").mkdir()  # where no launcher is
    (FOLDER / "remote").write_text(REMOTE)
    (FOLDER / "remote").chmod(0o755)


def said(done):
    return sorted(line for line in done.stdout.splitlines()
                  if not line.startswith("jobrun"))


class Rendered(Lab):
    def run_rendered(self, kind, engine):
        program = FOLDER / kind
        spec = self.spec(text=f"world_size: 4\nentrypoint: ['{program}']\n"
                         f"engine: {{mpi: {engine}}}\n")
        script = self.expect(self.on(JOBRUN, "render", spec, "--engine", "mpi"),
                             0).stdout
        path = self.write("a script.sh", script)
        done = self.expect(self.on("/bin/sh", path, env=OPENMPI), 0)
        self.assertEqual(said(done), [f"mpi {rank} of 4, sum 10, RANK {rank}"
                                      for rank in range(4)])

    def test_hydra(self):
        self.run_rendered("mpich",
                          "{dialect: hydra, launcher: mpiexec.mpich}")

    def test_openmpi(self):
        self.run_rendered("openmpi",
                          "{dialect: openmpi, launcher: mpirun.openmpi}")


class Agents(Lab):
    """One jobrun per node, started by somebody else's launcher."""

    def agents(self, *launcher, env=None):
        spec = self.spec(
            text="local_world_size: 2\nmaster_addr: 127.0.0.1\n"
            "entrypoint: {shell: 'echo rank $RANK of $WORLD_SIZE, node "
            "$NODE_RANK of $GROUP_WORLD_SIZE,"
            " ${OMPI_COMM_WORLD_RANK-no} ${PMI_RANK-variables}'}\n")
        done = self.expect(self.on(*launcher, JOBRUN, spec, "--run-id", "x",
                                   env=env), 0)
        shown = self.expect(self.on(JOBRUN, "show", "x"), 0)
        self.assertIn("4 of 4 ranks", shown.stdout)
        return done

    def assert_world(self, done):
        self.assertEqual(
            said(done), [f"[{r}] rank {r} of 4, node {r // 2} of 2, no "
                         "variables" for r in range(4)])

    def test_hydra(self):
        self.assert_world(self.agents(
            "mpiexec.mpich", "-launcher", "fork", "-hosts",
            "localhost,127.0.0.1", "-ppn", "1", "-n", "2"))

    def test_openmpi(self):
        if subprocess.run(["unshare", "--uts", "true"],
                          capture_output=True).returncode != 0:
            self.skipTest("SKIPPED: no host names of their own here")
        self.assert_world(self.agents(
            "mpirun.openmpi", "--mca", "plm_rsh_agent", FOLDER / "remote",
            "-H", "nodea:1,nodeb:1", "--map-by", "ppr:1:node",
            env=OPENMPI))

    def test_two_on_a_node(self):
        spec = self.spec(text="local_world_size: 1\nentrypoint: ['true']\n")
        for launcher in (["mpiexec.mpich", "-n", "2"],
                         ["mpirun.openmpi", "-n", "2"]):
            done = self.on(*launcher, JOBRUN, spec, env=OPENMPI)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("started jobrun 2 times on this node", done.stderr)


class Worlds(Lab):
    """One world on four nodes, without a launcher of MPI's."""

    def run_world(self, code, kind, *words, local=2):
        env = {**OPENMPI, "PATH": str(FOLDER / "bin")}
        spec = self.spec(text=f"local_world_size: {local}\noversubscribe: true\n"
                         f"entrypoint: ['{FOLDER / kind}-world']\n"
                         f"env: {json.dumps(env)}\ntimeouts: {{run: 5m}}\n")
        return self.expect(self.on("salloc", "-N4", JOBRUN, spec, "--", *words),
                           code)

    def assert_cause(self, rank, kind, message):
        cause = self.results()["root_cause"]
        self.assertEqual((cause["rank"], cause["kind"], cause["message"],
                          cause["host"]), (rank, kind, message, f"n{rank + 1}"))

    def assert_world(self, done):
        self.assertEqual(said(done), [
            f"[{rank}] mpi {rank} of 8, sum 36, ring 8, RANK {rank}"
            for rank in range(8)])

    def test_openmpi(self):
        done = self.run_world(0, "openmpi")
        self.assert_world(done)
        self.assertIn("8 ranks on 4 nodes", done.stderr)
        self.assertIn("one MPI world by PMIx (libmpi.so.40)", done.stderr)

    def test_mpich(self):
        done = self.run_world(0, "mpich")
        self.assert_world(done)
        self.assertIn("one MPI world by PMI-1 (libmpich.so.12)", done.stderr)

    def test_an_abort(self):
        for kind in ("openmpi", "mpich"):
            self.run_world(1, kind, "abort", local=1)
            self.assert_cause(1, "mpi_abort", "called MPI_Abort with code 3")

    def test_a_rank_that_leaves(self):
        self.run_world(1, "openmpi", "leave", local=1)
        self.assert_cause(1, "mpi", "exited with code 0 after MPI_Init, without "
                          "calling MPI_Finalize")

    def test_a_rank_that_dies(self):
        self.run_world(1, "openmpi", "die", local=1)
        self.assert_cause(1, "signal", "was killed by SIGKILL, sender unknown")

    def test_a_rank_without_mpi(self):
        self.run_world(1, "openmpi", "mixed", local=1)
        self.assert_cause(1, "mpi", "exited with code 0 without calling "
                          "MPI_Init, which other ranks had called")


class Ranks(Lab):
    def test_the_profile_makes_no_world(self):
        """MPI_Init sees singletons, whatever the variables say, where jobrun
        serves no protocol."""
        for kind in ("mpich", "openmpi"):
            spec = self.spec(text="world_size: 2\nenv_profiles: [mpi]\n"
                             "mpi: none\n"
                             f"entrypoint: ['{FOLDER / kind}']\n")
            done = self.expect(self.on(JOBRUN, spec, env=OPENMPI), 0)
            self.assertEqual(said(done), [
                f"[{rank}] mpi 0 of 1, sum 1, RANK {rank}"
                for rank in range(2)])

    def test_a_jobrun_in_a_rank_takes_the_profile_for_no_launcher(self):
        inner = self.write("inner.jobrun.yaml", "version: 1\ndevice: cpu\n"
                           "log_dir: inner\nworld_size: 2\n"
                           "entrypoint: {shell: 'echo $RANK of $WORLD_SIZE'}\n")
        spec = self.spec(text="world_size: 3\nenv_profiles: [mpi]\nmpi: none\n"
                         f"entrypoint: ['{JOBRUN}', '{inner}']\n")
        done = self.expect(self.on(JOBRUN, spec), 0)
        self.assertEqual(said(done), sorted(
            f"[{outer}] [{rank}] {rank} of 2" for outer in range(3)
            for rank in range(2)))

    def test_a_launcher_as_a_rank(self):
        """A real MPI job, held to its word by jobrun, which keeps what other
        launchers have left from it: its settings stand in the spec."""
        for kind, launcher in (("mpich", "mpiexec.mpich"),
                               ("openmpi", "mpirun.openmpi")):
            spec = self.spec(text="world_size: 1\nentrypoint: "
                             f"[{launcher}, -n, 3, '{FOLDER / kind}']\n"
                             f"env: {json.dumps(OPENMPI)}\n")
            done = self.expect(self.on(JOBRUN, spec, env=OPENMPI), 0)
            self.assertEqual(said(done), [
                f"[0] mpi {rank} of 3, sum 6, RANK 0" for rank in range(3)])

    def test_mpich_by_slurms_pmi2(self):
        """Slurm starts the MPI ranks on both nodes; jobrun, on the first one,
        waits for srun as for any rank. It says how many they are: a rank's
        SLURM_NTASKS is that of the job, of one rank."""
        spec = self.spec(text="nodes: 1\nworld_size: 1\nentrypoint: "
                         "[srun, --overlap, --mpi=pmi2, --nodes, 2, --ntasks, 4,"
                         f" '{FOLDER / 'mpich'}']\n")
        done = self.expect(self.on("salloc", "-N2", "--ntasks-per-node=2",
                                   JOBRUN, spec), 0)
        self.assertEqual(said(done), [
            f"[0] mpi {rank} of 4, sum 10, RANK 0" for rank in range(4)])


if __name__ == "__main__":
    unittest.main()
