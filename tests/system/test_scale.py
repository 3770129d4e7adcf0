"""Worlds that are larger than any machine: a plan of a million ranks, in no more
memory than it may have."""
import json
import os
import pathlib
import resource
import subprocess
import unittest

import harness

RANKS = 1_000_000
MEMORY = 200 << 20  # bytes of address space
CROWD = pathlib.Path(__file__).resolve().parent.parent / "slurm" / "crowd"


def bounded():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


class Scale(harness.Case):
    def plan(self, *words, env=None, **how):
        # A sanitizer's shadow is larger than any bound.
        if not os.environ.get("SANITIZED"):
            how["preexec_fn"] = bounded
        return subprocess.run([harness.JOBRUN, "plan", *words],
                              cwd=self.folder, capture_output=True, text=True,
                              env=env or harness.clean_environment(),
                              timeout=harness.LIMIT * 4, **how)

    def test_a_million_ranks_on_a_node(self):
        done = self.plan("-n", str(RANKS), "--", "true")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("job       true: 1000000 ranks on 1 node\n", done.stdout)
        self.assertIn("proved: each axis partitions 0-999999", done.stdout)
        self.assertIn("\n0-999999  0-999999  cpu ", done.stdout)

    def test_a_million_ranks_on_125000_nodes(self):
        self.write("big.jobrun.yaml", "version: 1\nentrypoint: [train]\n"
                   "parallelism: {model: 8, pipeline: 125}\n")
        done = self.plan("big.jobrun.yaml", "--on", "125000x8:H100,96c",
                         "--node-rank", "124999", "-s", "master_addr=n0")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("here      node 124999: ranks 999992-999999\n",
                      done.stdout)
        self.assertIn("data 1000 x pipeline 125 x model 8", done.stdout)
        self.assertIn("...   ranks 512-999999: --format json has them",
                      done.stdout)

    def test_its_json_is_read_while_it_is_made(self):
        """Of 2 GB the first lines, and nobody waits for the rest."""
        command = [harness.JOBRUN, "plan", "--json", "-n", str(RANKS), "-s",
                   "parallelism.model=8", "--", "true"]
        how = {} if os.environ.get("SANITIZED") else {"preexec_fn": bounded}
        with subprocess.Popen(command, cwd=self.folder, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              env=harness.clean_environment(), **how) as process:
            for line in process.stdout:
                if line.startswith(b'{"rank":9,'):
                    break
            process.stdout.close()
            self.assertEqual(process.wait(harness.LIMIT), 0)
        rank = json.loads(line.rstrip(b",\n"))
        self.assertEqual(rank["coordinates"],
                         {"model": 1, "pipeline": 0, "data": 1})
        self.assertEqual(rank["env"]["MODEL_PARALLEL_MEMBERS"],
                         "8,9,10,11,12,13,14,15")

    def test_4096_nodes_by_slurm(self):
        env = harness.clean_environment(
            SLURM_JOB_ID="7", SLURM_JOB_NUM_NODES="4096", SLURM_NODEID="4095",
            SLURM_PROCID="4095", SLURM_STEP_ID="0", SLURM_NTASKS="4096",
            SLURM_STEP_NUM_TASKS="4096", SLURM_STEP_TASKS_PER_NODE="1(x4096)",
            SLURM_STEP_NODELIST="rack[01-64]n[01-64]", SLURM_LOCALID="0",
            SLURM_STEP_NUM_NODES="4096",
            SLURM_JOB_NODELIST="rack[01-64]n[01-64]")
        # On several nodes the usual port is not moved, and may be in use here.
        done = self.plan("-s", "local_world_size=8", "-s", "oversubscribe=true",
                         "-s", "master_port=23471", "-n", "32768", "--", "true",
                         env=env)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("32768 ranks on 4096 nodes", done.stdout)
        self.assertIn("here      node 4095: ranks 32760-32767", done.stdout)
        self.assertIn("master    rack01n01:", done.stdout)


class Controller(harness.Case):
    """The controller of thousands of nodes, whose agents are all one stand-in."""

    def test_4096_nodes_of_8_gpus(self):
        nodes = 1024 if os.environ.get("SANITIZED") else 4096
        (self.folder / "bin").mkdir()
        (self.folder / "bin" / "srun").symlink_to(CROWD)
        version = subprocess.run([harness.JOBRUN, "--version"], text=True,
                                 capture_output=True).stdout.split()[1]
        self.write("t.jobrun.yaml", "version: 1\nentrypoint: [./train]\n"
                   "device: cuda\nparallelism: {model: 8}\n")
        how = {} if os.environ.get("SANITIZED") else {"preexec_fn": bounded}
        process = self.start("t.jobrun.yaml", env={
            "SLURM_JOB_ID": "7", "SLURM_JOB_NUM_NODES": str(nodes),
            "SLURM_JOB_NODELIST": f"n[1-{nodes}]",
            "CROWD_FACTS": os.environ["MACHINES"] + "/dgx-h100.yaml",
            "CROWD_RANKS": "8", "CROWD_VERSION": version,
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}"}, **how)
        out, err = process.communicate(timeout=harness.LIMIT * 4)
        self.assertEqual(process.returncode, 0, err)
        self.assertIn(f"{nodes * 8} of {nodes * 8} ranks exited with 0", err)
        self.assertEqual(sorted(out.splitlines()),
                         sorted(f"[{node * 8}] up" for node in range(nodes)))
        last = self.results()["ranks"][-1]
        self.assertEqual((last["rank"], last["host"], last["device"]),
                         (nodes * 8 - 1, f"n{nodes}", "7"))
        agents, = (event for event in self.events()
                   if event["event"] == "agents")
        self.assertLess(agents["heard"], nodes * 4096)
        self.assertLess(agents["told"], 4096)


class LargestSpecs(harness.Case):
    """Specs as large as they may be take no more than a moment."""

    HEAD = "version: 1\ndevice: cpu\noversubscribe: true\nworld_size: 10000\n"

    def plans(self, text):
        path = self.write("large.jobrun.yaml", self.HEAD + text)
        for verb in "validate", "resolve", "plan":
            done = self.expect(self.jobrun(verb, path.name), 0)
        return done.stdout

    def test_variables(self):
        # A sanitizer gives each of them pages of its own.
        count = 4500 if os.environ.get("SANITIZED") else 45000
        lines = "".join(f"  A_{i}: x{i}\n" for i in range(count))
        self.plans("entrypoint: [echo]\nenv:\n" + lines)

    def test_ranks_with_something_of_their_own(self):
        lines = "".join(f'  "{i}": {{args: [{i}]}}\n' for i in range(9999))
        self.plans("entrypoint: [echo]\nper_rank:\n" + lines)

    def test_streams_of_each_rank(self):
        rules = ", ".join(f"{i}: all" for i in range(0, 9999))
        self.plans("entrypoint: [echo]\nlocal_world_size: 10000\n"
                   f"redirects: {{{rules}}}\n")


if __name__ == "__main__":
    unittest.main()
