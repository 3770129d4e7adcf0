"""Programs of MPICH and of Open MPI, started by jobrun where no launcher of MPI's
is to be found."""
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

import agent_cases
import harness

NEEDED = ("mpicc.mpich", "mpicc.openmpi")
if missing := [name for name in NEEDED if shutil.which(name) is None]:
    print("SKIPPED: install libmpich-dev and libopenmpi-dev (not here: "
          f"{' '.join(missing)})")
    sys.exit(77)

SOURCES = pathlib.Path(__file__).parent / "mpi"
SPEC = """\
version: 1
entrypoint: ['{program}']
world_size: 4
device: cpu
oversubscribe: true
timeouts: {{run: 2m}}
"""
BENCHMARK = r"""results:
  from: stdout
  required: "0"
  pattern: 'sizes=(?<sizes>\d+) latency=(?<latency>\S+) bandwidth=(?<bandwidth>\S+)
    allreduce=(?<allreduce>\S+) wrong=(?<wrong>\d+)'
  fields:
    sizes: {type: integer, min: 5}
    latency: {type: number, min: 0.001}
    bandwidth: {type: number, min: 1}
    allreduce: {type: number, min: 0.001}
    wrong: {type: integer, max: 0}
"""
BUILT = None


def setUpModule():
    global BUILT
    scratch = tempfile.TemporaryDirectory(prefix="jobrun-mpich-")
    unittest.addModuleCleanup(scratch.cleanup)
    BUILT = pathlib.Path(scratch.name)
    for kind in ("mpich", "openmpi"):
        for source, program in (("world.c", kind),
                                ("benchmark.c", f"{kind}-benchmark")):
            subprocess.run([f"mpicc.{kind}", "-O2", SOURCES / source, "-o",
                            BUILT / program], check=True, timeout=60)
    # All that jobrun and the programs look up by PATH; no launcher is there.
    (BUILT / "bin").mkdir()
    for name in ("sh", "env", "git"):
        if found := shutil.which(name):
            (BUILT / "bin" / name).symlink_to(found)


def need_mpi4py(case):
    if subprocess.run(["/usr/bin/python3", "-c", "import mpi4py"],
                      capture_output=True).returncode != 0:
        case.skipTest("SKIPPED: install python3-mpi4py")


class Programs:
    """What holds for the programs of any MPI."""
    kind = library = protocol = words = None

    def run_program(self, code, *words, spec="", sets=(), env=None):
        self.write("job.yaml", SPEC.format(program=BUILT / self.kind) + spec)
        return self.expect(self.jobrun("job.yaml", *sets, "--", *words, env={
            "PATH": str(BUILT / "bin"), **(env or {})}), code)

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
                     "srun", "orted", "prte"):
            self.assertIsNone(shutil.which(name, path=BUILT / "bin"))

    def test_by_what_the_program_needs(self):
        done = self.run_program(0)
        self.assert_world(done, 4)
        self.assertIn(f", one MPI world by {self.words} ({self.library})\n",
                      done.stderr)

    def test_by_the_stated_protocol(self):
        done = self.run_program(0, spec=f"mpi: {self.protocol}\n")
        self.assert_world(done, 4)

    def test_by_a_wrapper(self):
        self.write("job.yaml", SPEC.format(program="").replace(
            "['']", f"{{shell: '\"{BUILT / self.kind}\"; true'}}") +
            f"mpi: {self.protocol}\n")
        self.assert_world(self.expect(self.jobrun("job.yaml"), 0), 4)

    def test_by_a_line_of_other_launchers(self):
        """What `new --from` makes of it is one world as it stands."""
        program = BUILT / self.kind
        for line in (f"mpirun -np 4 --oversubscribe {program}",
                     f"srun --mpi=pmix -O -n 4 {program}"):
            with self.subTest(line):
                told = self.expect(self.jobrun("new", "--from", line), 0)
                self.assertEqual(told.stderr, "")
                self.write("job.yaml", told.stdout)
                self.assert_world(self.expect(self.jobrun(
                    "job.yaml", "-s", "device=cpu",
                    env={"PATH": str(BUILT / "bin")}), 0), 4)

    def run_benchmark(self, code, *words):
        self.write("job.yaml", SPEC.format(
            program=BUILT / f"{self.kind}-benchmark") + BENCHMARK)
        return self.expect(self.jobrun("job.yaml", "--", *words,
                                       env={"PATH": str(BUILT / "bin")}), code)

    def test_a_benchmark(self):
        """Latency, bandwidth and allreduce, every byte looked at."""
        done = self.run_benchmark(0)
        self.assertEqual(len([line for line in done.stdout.splitlines()
                              if " bytes: " in line]), 5)
        result = self.results()["ranks"][0]["result"]
        self.assertEqual((result["sizes"], result["wrong"]), (5, 0))
        self.assertGreater(result["bandwidth"], 1)

    def test_a_benchmark_that_is_wrong(self):
        """One byte is enough."""
        done = self.run_benchmark(5, "corrupt")
        self.assertEqual(self.results()["ranks"][0]["result_error"], "field")
        self.assertIn("wrong", done.stderr)

    def test_a_rank_alone(self):
        self.assert_world(
            self.run_program(0, sets=("-s", "world_size=1")), 1)

    def test_many_ranks(self):
        self.assert_world(
            self.run_program(0, sets=("-s", "world_size=32")), 32)

    def test_after_a_setup(self):
        """Which takes the place of what the ranks would have inherited."""
        done = self.run_program(0, spec="setup: export A=1\n")
        self.assert_world(done, 4)

    def test_each_attempt_is_a_world(self):
        done = self.run_program(1, "abort", spec="restart: {max: 1}\n")
        self.assertIn("(restart 1 of 1)", done.stderr)
        self.assertEqual(done.stdout.count("mpi 0 of 4"), 2)

    def test_an_abort(self):
        done = self.run_program(1, "abort")
        self.assert_cause(done, 1, "mpi_abort", "called MPI_Abort with code 3")

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

    def test_a_death_within_init(self):
        """Which no rank can come out of."""
        done = self.run_program(1, "half")
        self.assert_cause(done, 1, "signal", "died by SIGALRM")

    def test_a_death_under_continue(self):
        done = self.run_program(1, "die", spec="on_failure: continue\n")
        self.assert_cause(done, 1, "signal",
                          "was killed by SIGKILL, sender unknown")
        self.assertIn("warning: rank 1 failed in an MPI world", done.stderr)

    def test_a_rank_that_stands_still(self):
        """The others wait in a barrier, until silence is a hang."""
        done = self.run_program(6, "stop", sets=(
            "-s", "timeouts.silence=4s", "-s", "on_hang.wait=1s"))
        self.assertEqual(self.results()["status"], "hung")
        self.assertIn("rank 1", done.stderr)
        self.assertIn("0 processes left", done.stderr)

    def ask_for_more(self):
        done = self.run_program(0, "spawn")
        self.assertIn("[1] refused\n", done.stdout)
        return done.stderr

    def run_two(self, code, *words):
        """Two programs in each rank, the second with these words."""
        program = f'\\"{BUILT / self.kind}\\"'
        self.write("job.yaml", SPEC.format(program="").replace(
            "['']", f'{{shell: "{program} && {program} {" ".join(words)}"}}') +
            f"mpi: {self.protocol}\n")
        return self.expect(self.jobrun("job.yaml"), code)

    def test_no_rank_uses_mpi(self):
        """By its libraries it might have: a warning. By the spec it had to."""
        done = self.run_program(0, "without")
        self.assertIn("no rank called MPI_Init through jobrun", done.stderr)
        shown = self.expect(self.jobrun("show", "latest"), 0)
        self.assertIn("no rank called MPI_Init through jobrun", shown.stdout)
        done = self.run_program(5, "without", spec=f"mpi: {self.protocol}\n")
        self.assert_cause(
            done, None, "singletons", f"4 singletons: `mpi: {self.protocol}` is "
            "stated, but no rank called MPI_Init through it")


class Mpich(Programs, harness.Case):
    kind, library = "mpich", "libmpich.so.12"
    protocol, words = "pmi1", "PMI-1"

    def test_an_error_of_mpi(self):
        done = self.run_program(1, "fail")
        self.assert_cause(done, 1, "mpi", "had a fatal error within MPI")
        self.assertIn("Invalid rank has value 99", done.stderr)

    def test_programs_that_each_are_a_world(self):
        done = self.run_program(0, spec="mpi: none\n")
        self.assertEqual(sorted(done.stdout.splitlines()), [
            f"[{rank}] mpi 0 of 1, sum 1, ring 1, RANK {rank}"
            for rank in range(4)])
        self.assertNotIn("warning", done.stderr)

    def test_the_wrong_mpi_for_the_stated_protocol(self):
        done = self.run_program(5, spec="mpi: pmix\n")
        self.assertIn("4 singletons: `mpi: pmix` is stated", done.stderr)


    def test_more_processes_are_refused(self):
        """MPICH over UCX does so itself, before it would ask."""
        self.ask_for_more()

    def test_programs_behind_each_other(self):
        """Not even hydra makes a second world: MPICH shuts down what it would
        need for that."""
        done = self.run_two(1)
        self.assertEqual(done.stdout.count(" of 4, sum 10, ring 4, "), 4)
        self.assertEqual(self.results()["root_cause"]["exit_code"],
                         128 + signal.SIGPIPE)
        self.assertRegex(
            done.stderr, r"warning: rank \d was ended by SIGPIPE after "
            "MPI_Finalize: a second program of MPICH in the same rank finds no "
            "world")
        self.assertIn("0 processes left", done.stderr)


class Wrappers(harness.Case):
    """Scripts, of which only a field says that they are MPI programs."""
    SCRIPT = ("import os\nfrom mpi4py import MPI\n"
              "world = MPI.COMM_WORLD\n"
              "print('mpi', world.rank, 'of', world.size, 'sum',"
              " world.allreduce(world.rank + 1))\n")
    # What mpi4py's module is to the loader, for a library that Debian has no
    # mpi4py of: __init__.py calls it by ctypes.
    MODULE = """
#include <mpi.h>
#include <stddef.h>
int size_of_world(void)
{
    int size;
    MPI_Init(NULL, NULL);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Finalize();
    return size;
}
"""

    def write_job(self, entrypoint, more):
        self.write("job.yaml", SPEC.format(program="").replace(
            "['']", entrypoint) + more)

    def assert_world(self, done):
        self.assertEqual(sorted(done.stdout.splitlines()), [
            f"[{rank}] mpi {rank} of 4 sum 10" for rank in range(4)])
        self.assertIn("one MPI world by PMIx (libmpi.so.40)", done.stderr)

    def test_by_the_profile(self):
        need_mpi4py(self)
        self.write("job.py", self.SCRIPT)
        self.write_job("[/usr/bin/python3, job.py]", "env_profiles: [mpi]\n")
        self.assert_world(self.expect(self.jobrun("job.yaml"), 0))

    def test_by_the_backend(self):
        need_mpi4py(self)
        self.write("job.py", self.SCRIPT)
        self.write_job("{python: {script: job.py, interpreter: "
                       "/usr/bin/python3}}", "backends: mpi\n")
        self.assert_world(self.expect(self.jobrun("job.yaml"), 0))

    def test_by_the_first_line_of_the_script(self):
        need_mpi4py(self)
        self.write("job.py", f"#!/usr/bin/python3\n{self.SCRIPT}").chmod(0o755)
        self.write_job("[./job.py]", "env_profiles: [mpi]\n")
        self.assert_world(self.expect(self.jobrun("job.yaml"), 0))

    def test_a_package_for_mpich(self):
        package = self.folder / "site" / "mpi4py"
        package.mkdir(parents=True)
        (package / "module.c").write_text(self.MODULE)
        subprocess.run(["mpicc.mpich", "-shared", "-fPIC", "module.c", "-o",
                        "MPI.x.so"], cwd=package, check=True, timeout=60)
        (package / "__init__.py").write_text(
            "import ctypes, os\nsize = ctypes.CDLL(os.path.join("
            "os.path.dirname(__file__), 'MPI.x.so')).size_of_world()\n")
        self.write("job.py", "import mpi4py\nprint('of', mpi4py.size)\n")
        self.write_job("[/usr/bin/python3, job.py]", "env_profiles: [mpi]\n"
                       f"env: {{PYTHONPATH: '{package.parent}'}}\n")
        done = self.expect(self.jobrun("job.yaml"), 0)
        self.assertEqual(sorted(done.stdout.splitlines()),
                         [f"[{rank}] of 4" for rank in range(4)])
        self.assertIn("one MPI world by PMI-1 (libmpich.so.12)", done.stderr)

    def test_without_a_wish(self):
        self.write_job("{shell: 'echo ${PMI_FD-none} ${PMIX_RANK-none}'}", "")
        done = self.expect(self.jobrun("job.yaml"), 0)
        self.assertEqual(sorted(done.stdout.splitlines()),
                         [f"[{rank}] none none" for rank in range(4)])
        self.assertNotIn("MPI", done.stderr)

    def test_several_libraries(self):
        for wish in ("env_profiles: [mpi]", "backends: mpi"):
            self.write_job("{shell: 'true'}", wish + "\n")
            done = self.expect(self.jobrun("job.yaml"), 4)
            self.assertIn(
                f"error[JR0516]: {wish} is for ranks that are one world of MPI, "
                "and which MPI the program uses cannot be seen: libmpi.so.40 "
                "and libmpich.so.12 are here", done.stderr)
            self.assertIn("write mpi: pmix for Open MPI", done.stderr)
            self.expect(self.jobrun("job.yaml", "-s", "mpi=none"), 0)

    def test_one_node_of_several(self):
        """Other jobruns start the other ranks: it is told, as of a program."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        words = ("plan", "job.yaml", "-s", "nodes=2", "--node-rank", "0", "-s",
                 "master_addr=127.0.0.1", "-s", f"master_port={port}")
        for wish in ("env_profiles: [mpi]", "backends: mpi"):
            self.write_job("{shell: 'true'}", wish + "\n")
            done = self.expect(self.jobrun(*words), 0)
            self.assertIn(
                f"warning[JR0516]: {wish} is for ranks that are one world of "
                "MPI, and the ranks of other nodes are started by other "
                "jobruns; each rank that calls MPI_Init is a world of its own",
                done.stderr)
            done = self.expect(self.jobrun(*words, "-s", "mpi=none"), 0)
            self.assertNotIn("JR0516", done.stderr)

    def test_ranks_that_are_forked(self):
        self.write("job.py", "def main():\n    return 1\n")
        self.write_job("{python: {function: 'job:main'}}",
                       "backends: mpi\nstart_method: fork\n")
        done = self.expect(self.jobrun("plan", "job.yaml"), 0)
        self.assertIn(
            "warning[JR0516]: backends: mpi is for ranks that are one world of "
            "MPI, and ranks that are forked from a helper cannot reach a "
            "process manager", done.stderr)


class Nodes(agent_cases.Agents):
    """Four nodes that are all this machine."""
    FAKE, NAME = "fakesrun", "srun"
    MORE = ("device: cpu\noversubscribe: true\ntimeouts: {run: 3m}\n"
            "env: {OMPI_MCA_btl: 'self,tcp', OMPI_MCA_btl_tcp_if_include: lo}")

    def allocation(self, nodes, **extra):
        return {"SLURM_JOB_ID": "4711", "SLURM_JOB_NUM_NODES": str(nodes),
                "SLURM_JOB_NODELIST": f"n[1-{nodes}]", **self.fakes(**extra)}

    def run_program(self, program, nodes=4, **extra):
        spec = agent_cases.SPEC.format(script="''", more=self.MORE, local=1)
        self.write("t.jobrun.yaml", spec.replace("[sh, -c, '']",
                                                 f"['{program}']"))
        return self.jobrun("t.jobrun.yaml", env=self.allocation(nodes, **extra))

    def test_one_world(self):
        for kind, words in (("openmpi", "PMIx"), ("mpich", "PMI-1")):
            done = self.expect(self.run_program(BUILT / kind), 0)
            self.assertEqual(sorted(done.stdout.splitlines()), [
                f"[{rank}] mpi {rank} of 4, sum 10, ring 4, RANK {rank}"
                for rank in range(4)])
            self.assertIn(f"one MPI world by {words} (", done.stderr)
            self.nobody_is_left()

    def test_nodes_that_disagree(self):
        """By their PATH, they have programs of different MPIs."""
        tasks = {}
        for node, kind in enumerate(("openmpi", "mpich")):
            folder = self.folder / kind
            folder.mkdir()
            (folder / "world").symlink_to(BUILT / kind)
            tasks[str(node)] = {"PATH": f"{folder}:{os.environ['PATH']}"}
        done = self.expect(self.run_program("world", 2, FAKE_TASKS=tasks), 4)
        self.assertIn(
            "node 0 (n1) makes one MPI world by pmix (libmpi.so.40) of the "
            "program, and node 1 (n2) one MPI world by pmi1 (libmpich.so.12): "
            "install the same program and MPI library on both", done.stderr)
        self.nobody_is_left()


class OpenMpi(Programs, harness.Case):
    kind, library = "openmpi", "libmpi.so.40"
    protocol, words = "pmix", "PMIx"

    def test_an_error_of_mpi(self):
        """Which Open MPI hands on as an abort with the number of the error."""
        done = self.run_program(1, "fail")
        self.assert_cause(done, 1, "mpi_abort", "called MPI_Abort with code 6")
        self.assertIn("MPI_ERR_RANK: invalid rank", done.stderr)

    def test_more_processes_are_refused(self):
        self.assertIn("jobrun: warning: rank 1 asked MPI for more processes "
                      "(MPI_Comm_spawn), which jobrun does not start",
                      self.ask_for_more())

    def test_programs_behind_each_other(self):
        done = self.run_two(0)
        self.assertEqual(sorted(done.stdout.splitlines()), sorted(2 * [
            f"[{rank}] mpi {rank} of 4, sum 10, ring 4, RANK {rank}"
            for rank in range(4)]))

    def test_the_second_program_fails(self):
        """Its end is the cause, and that of the first is none."""
        done = self.run_two(1, "leave")
        self.assert_cause(done, 1, "mpi", "exited with code 0 after MPI_Init, "
                          "without calling MPI_Finalize")

    def test_the_wrong_mpi_for_the_stated_protocol(self):
        """Where each rank is alone, it starts Open MPI's daemon."""
        done = self.run_program(5, spec="mpi: pmi1\n",
                                env={"PATH": os.environ["PATH"]})
        self.assertIn("4 singletons: `mpi: pmi1` is stated", done.stderr)

    def test_the_server_dies(self):
        self.write("job.yaml", SPEC.format(program=BUILT / "openmpi"))
        run = self.start("job.yaml", "--", "wait")
        self.await_event(event="mpi_initialized")
        runner = harness.runner_of(run.pid)
        server = [child for child in harness.children(runner)
                  if harness.name_of(child) == "jobrun-pmix"]
        self.assertEqual(len(server), 1)
        os.kill(server[0], signal.SIGKILL)
        _, told = run.communicate(timeout=harness.LIMIT)
        self.assertEqual(run.returncode, 7, told)
        self.assertRegex(told, r"the PMIx server of the ranks \(the process "
                         rf"jobrun-pmix, pid {server[0]}\) has died")
        self.assertIn("0 processes left", told)

    def test_the_runner_dies(self):
        """And nothing is left of its server."""
        self.write("job.yaml", SPEC.format(program=BUILT / "openmpi"))
        run = self.start("job.yaml", "--", "wait")
        self.await_event(event="mpi_initialized")
        os.kill(harness.runner_of(run.pid), signal.SIGKILL)
        _, told = run.communicate(timeout=harness.LIMIT)
        self.assertEqual(run.returncode, 7, told)
        self.assertIn("0 processes left", told)

    def without_library(self, code, spec, program=None):
        """Where the loader knows no library of PMIx."""
        self.write("job.yaml", SPEC.format(
            program=program or BUILT / "openmpi") + spec)
        command = ["unshare", "--mount", "sh", "-c",
                   "mount --bind /dev/null /etc/ld.so.cache && exec \"$@\"",
                   "sh", harness.JOBRUN, "job.yaml"]
        if subprocess.run([*command[:3], "true"],
                          capture_output=True).returncode != 0:
            self.skipTest("SKIPPED: no mounts of its own here")
        done = subprocess.run(command, cwd=self.folder, text=True,
                              capture_output=True, timeout=harness.LIMIT,
                              env=harness.clean_environment())
        return self.expect(done, code)

    def test_without_the_library(self):
        done = self.without_library(7, "mpi: pmix\n")
        self.assertIn("JR0516", done.stderr)
        self.assertIn("install the package libpmix2", done.stderr)
        done = self.without_library(0, "")
        self.assertIn("jobrun does not make its ranks one world: libpmix.so.2, "
                      "the library of PMIx, is not installed", done.stderr)

    def test_a_script_without_the_library(self):
        """Nobody has stated a protocol: it is a warning as for a program."""
        need_mpi4py(self)
        self.write("job.py", "#!/usr/bin/python3\nprint('alone')\n").chmod(0o755)
        done = self.without_library(0, "env_profiles: [mpi]\n", "./job.py")
        self.assertIn("warning[JR0516]: the program needs libmpi.so.40, and "
                      "jobrun does not make its ranks one world: libpmix.so.2, "
                      "the library of PMIx, is not installed", done.stderr)


if __name__ == "__main__":
    harness.main()
