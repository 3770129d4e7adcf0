"""torch with gloo: what the mesh predicts, on every rank; training; errors.

INTERPRETER names a Python with a torch to try, in the place of this one.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest

JOBRUN = os.environ["JOBRUN"]
PYTHON = os.environ.get("INTERPRETER", sys.executable)
LIMIT = 300  # seconds for a job
JOBS = pathlib.Path(__file__).resolve().parents[2] / "examples" / "jobs"
TORCH = subprocess.run(
    [PYTHON, "-c", "import torch.distributed as dist\n"
     "raise SystemExit(not dist.is_gloo_available())"],
    stdin=subprocess.DEVNULL, capture_output=True).returncode == 0
# Each start method with what it preloads.
METHODS = {"spawn": "[]", "forkserver": "[torch]", "fork": "[]"}


@unittest.skipUnless(TORCH, "no torch with gloo for %s" % PYTHON)
class Torch(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="jobrun torch ")
        self.addCleanup(shutil.rmtree, self.dir)

    def write(self, name, text):
        with open(os.path.join(self.dir, name), "w") as file:
            file.write(textwrap.dedent(text))

    def jobrun(self, spec, *before):
        self.write("t.jobrun.yaml", "version: 1\ndevice: cpu\n"
                   "oversubscribe: true\nthreads: 1\n"
                   + textwrap.dedent(spec))
        env = dict(os.environ, PATH=os.path.dirname(PYTHON) + ":"
                   + os.environ["PATH"])
        done = subprocess.run([*before, JOBRUN, "t.jobrun.yaml"], env=env,
                              cwd=self.dir, text=True, timeout=LIMIT,
                              stdin=subprocess.DEVNULL, capture_output=True)
        self.err = done.stderr + done.stdout
        return done.returncode

    def results(self):
        with open(self.dir + "/runs/latest/results.json") as file:
            return json.load(file)

    def test_mesh(self):
        self.write("mesh.py", """\
            import jobrun, torch, torch.distributed as dist
            def main():
                sums = {}
                for axis in jobrun.AXES:
                    value = torch.tensor([2.0 ** jobrun.rank()])
                    dist.all_reduce(value, group=jobrun.group(axis))
                    sums[axis] = value.item()
                value = torch.tensor([1.0])
                dist.all_reduce(value)
                return {"sums": sums, "world": value.item(),
                        "device": str(jobrun.device())}
            """)
        for method, preload in METHODS.items():
            # Only where the ranks share one import there are eight of them.
            data = 1 if preload == "[]" else 2
            self.assertEqual(self.jobrun("""\
                entrypoint:
                  python: {function: "mesh:main", init: torch,
                           smoke_test: true}
                world_size: %d
                parallelism: {model: 2, pipeline: %d}
                start_method: %s
                preload: %s
                """ % (2 * data * data, data, method, preload)), 0, self.err)
            for rank in self.results()["ranks"]:
                m, p, d = (rank["coordinates"][axis]
                           for axis in ("model", "pipeline", "data"))
                number = {"model": (2, lambda i: 4 * d + 2 * p + i),
                          "pipeline": (data, lambda i: 4 * d + 2 * i + m),
                          "data": (data, lambda i: 4 * i + 2 * p + m)}
                wanted = {axis: float(sum(2 ** of(i) for i in range(size)))
                          for axis, (size, of) in number.items()}
                self.assertEqual(rank["result"]["sums"], wanted)
                self.assertEqual(rank["result"]["world"], 2 * data * data)
                self.assertEqual(rank["result"]["device"], "cpu")

    def test_one_rank_without_a_network(self):
        self.write("one.py", "import jobrun\ndef main():\n"
                   "    return jobrun.group('data').size()\n")
        spec = """\
            entrypoint: {python: {function: "one:main", init: torch,
                                  smoke_test: true}}
            world_size: 1
            """
        # gloo wants an interface, be it only the loopback.
        alone = ["unshare", "-rn", "sh", "-c",
                 'ip link set lo up && exec "$@"', "sh"]
        if subprocess.run([*alone, "true"], stderr=subprocess.DEVNULL
                          ).returncode != 0:
            alone = []
        self.assertEqual(self.jobrun(spec, *alone), 0, self.err)
        self.assertEqual(self.results()["ranks"][0]["result"], 1)

    def test_script(self):
        self.write("s.py", "import jobrun\njobrun.init('torch')\n"
                   "jobrun.result(jobrun.group('data').size())\n")
        self.assertEqual(self.jobrun("""\
            entrypoint: {python: {script: s.py}}
            world_size: 2
            results: {from: file}
            """), 0, self.err)

    def test_training(self):
        """Data-parallel training on the digits, as a script and as a function,
        by all start methods: it gets better, and all end with equal weights,
        whichever way."""
        shutil.copy(JOBS / "digits" / "train_torch.py", self.dir)
        data, weights = str(JOBS / "digits" / "digits.csv"), set()
        entries = (
            "{python: {script: train_torch.py}, args: ['%s', --epochs, 6]}",
            "{python: {function: 'train_torch:run', init: torch},"
            " args: ['%s', 6]}")
        for method, preload in METHODS.items():
            for entry in entries:
                self.assertEqual(self.jobrun("""\
                    entrypoint: %s
                    world_size: 2
                    start_method: %s
                    preload: %s
                    results:
                      fields:
                        accuracy: {type: number, min: 0.85}
                        weights_sha: {type: string}
                      equal: [weights_sha]
                    """ % (entry % data, method, preload)), 0, self.err)
                for rank in self.results()["ranks"]:
                    result = rank["result"]
                    self.assertLess(result["loss"], result["first_loss"] / 2)
                    weights.add(result["weights_sha"])
        self.assertEqual(len(weights), 1)

    def test_exception_while_others_wait(self):
        """The rank that raised is the cause, not those that lost it."""
        self.write("bad.py", """\
            import jobrun, torch, torch.distributed as dist
            def main():
                if jobrun.rank() == 2:
                    try:
                        {}["lr"]
                    except KeyError as error:
                        raise ValueError("loss is NaN") from error
                dist.all_reduce(torch.ones(1))
            """)
        for method, preload in METHODS.items():
            self.assertEqual(self.jobrun("""\
                entrypoint: {python: {function: "bad:main", init: torch}}
                world_size: 4
                start_method: %s
                preload: %s
                """ % (method, preload)), 1, self.err)
            results = self.results()
            cause = results["root_cause"]
            self.assertEqual((cause["rank"], cause["message"]),
                             (2, "ValueError: loss is NaN"))
            self.assertIn("from KeyError: 'lr'", self.err)
            self.assertEqual(results["processes_left"], 0)
            # Nobody had to be killed after the grace.
            self.assertNotIn("SIGKILL", [rank["signal"] for rank in
                                         results["ranks"]])

    def test_torchs_record(self):
        self.write("rec.py", """\
            from torch.distributed.elastic.multiprocessing.errors import record
            @record
            def main():
                raise ValueError("recorded")
            main()
            """)
        self.assertEqual(self.jobrun("""\
            entrypoint: [python3, rec.py]
            world_size: 1
            """), 1)
        self.assertIn("ValueError: recorded", self.err)
        self.assertEqual(self.results()["root_cause"]["message"],
                         "ValueError: recorded")


if __name__ == "__main__":
    unittest.main()
