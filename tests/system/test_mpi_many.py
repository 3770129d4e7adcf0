"""Worlds of many ranks on one machine, of MPICH and of Open MPI. Most of the time
is MPI's own: 512 ranks of MPICH take as long under its own launcher."""
import harness
import test_mpi_programs as programs

LIMIT = "170s"  # for the run; harness.LIMIT is for all of it
# Ranks that wait for others let these have the CPU, and take less memory.
SPARING = {"MPIR_CVAR_POLLS_BEFORE_YIELD": "1", "UCX_TLS": "posix,self"}


class Many(harness.Case):
    def check_world(self, kind, size, words):
        self.write("job.yaml", programs.SPEC.format(
            program=programs.BUILT / kind))
        done = self.expect(self.jobrun(
            "job.yaml", "-s", f"world_size={size}", "-s",
            f"timeouts.run={LIMIT}", "--", "sum",
            env={"PATH": str(programs.BUILT / "bin"), **SPARING}), 0)
        total = size * (size + 1) // 2
        self.assertEqual(sorted(done.stdout.splitlines()), sorted(
            f"[{rank}] mpi {rank} of {size}, sum {total}"
            for rank in range(size)))
        self.assertIn(f", one MPI world by {words} (", done.stderr)
        self.assertIn("0 processes left", done.stderr)

    def test_512_ranks_of_mpich(self):
        self.check_world("mpich", 512, "PMI-1")

    def test_64_ranks_of_open_mpi(self):
        self.check_world("openmpi", 64, "PMIx")


setUpModule = programs.setUpModule

if __name__ == "__main__":
    harness.main()
