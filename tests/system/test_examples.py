"""Every example is validated, planned and run."""
import hashlib
import json
import pathlib
import shutil
import subprocess
import unittest

import harness

EXAMPLES = {  # name: (exit status of the run, ranks)
    "digits": (0, None),
    "mesh": (0, 8),
    "shell": (0, 4),
    "requeue": (0, 2),
    "fails": (1, 4),
    "sweep/fast": (0, 2),
    "sweep/wide": (0, 4),
    "function": (0, 4),
    "script": (0, 3),
    "library": (0, 4),
    "preload": (0, 4),
    "profile": (0, 3),
    "platforms/laptop": (0, None),
    "platforms/tally": (0, 2),
}


class Examples(harness.Case):
    def setUp(self):
        super().setUp()
        self.jobs = self.copy_examples()

    def test_all_are_valid(self):
        done = self.jobrun("validate", self.jobs)
        self.expect(done, 0)

    def test_each_runs_as_planned(self):
        for name, (code, ranks) in EXAMPLES.items():
            with self.subTest(name):
                self.runs_as_planned(name, code, ranks)

    def runs_as_planned(self, name, code, ranks):
        spec = self.jobs / f"{name}.jobrun.yaml"
        run_id = f"test-{spec.name.split('.')[0]}"
        planned = self.jobrun("plan", spec, "--format", "json",
                              "--run-id", run_id)
        plan = json.loads(self.expect(planned, 0).stdout)
        self.expect(self.jobrun(spec, "--run-id", run_id), code)

        results = self.results(run_id)
        self.assertEqual(results["world_size"], plan["world_size"])
        self.assertEqual(results["processes_left"], 0)
        if ranks:
            self.assertEqual(plan["world_size"], ranks)
        for planned, done in zip(plan["ranks"], results["ranks"]):
            self.assertEqual(planned["rank"], done["rank"])
            self.assertEqual(planned["coordinates"], done["coordinates"])
        executed = self.folder / "runs" / run_id / "plan.json"
        self.assertEqual(json.loads(executed.read_text())["mesh"],
                         plan["mesh"])
        started = [e["rank"] for e in self.events(run_id)
                   if e["event"] == "rank_started"]
        self.assertEqual(started, [r["rank"] for r in plan["ranks"]])

    def test_platforms(self):
        """Planned for machines that are not here, and rehearsed on this one."""
        here = ["-s", "device=cpu", "-s", "backends=gloo", "--local", "-s",
                "oversubscribe=true"]
        for name, on, ranks, small in (
                ("box", "1x8:H100,96c", 8, ["world_size=4"]),
                ("slurm", "2x8:H100,96c", 16, ["local_world_size=2"]),
                ("kubernetes", "4x8:H100,96c", 32, ["local_world_size=1"])):
            spec = self.jobs / "platforms" / f"{name}.jobrun.yaml"
            with self.subTest(name):
                done = self.jobrun("plan", spec, "--json", "--on", on,
                                   "--node-rank", "0", "-s", "master_addr=h0")
                plan = json.loads(self.expect(done, 0).stdout)
                self.assertEqual(plan["world_size"], ranks)
                self.assertEqual([rank["device"] for rank in
                                  plan["ranks"][:3]], ["0", "1", "2"])
                self.assertIn("targets:", spec.read_text())
                self.expect(self.jobrun(spec, *here, "-s", *small), 0)
        script = self.jobrun("render", self.jobs / "platforms" /
                             "slurm.jobrun.yaml", "--engine", "slurm")
        self.assertIn("#SBATCH --nodes=2", self.expect(script, 0).stdout)
        pods = self.jobrun("render", self.jobs / "platforms" /
                           "kubernetes.jobrun.yaml", "--engine", "kubernetes")
        self.assertIn("completionMode: Indexed", self.expect(pods, 0).stdout)

    def test_start_methods(self):
        """A library is loaded, or a module imported, in all of them."""
        names = ["function", "library", "preload"]
        if (self.jobs.parents[1] / "build/examples/jobs/groups.so").exists():
            names.append("groups")
        for name in names:
            for method in "spawn", "forkserver", "fork":
                with self.subTest(name, method=method):
                    # Only a helper can preload.
                    if (name, method) == ("preload", "spawn"):
                        continue
                    spec = self.jobs / f"{name}.jobrun.yaml"
                    self.expect(self.jobrun(
                        spec, "--set", f"start_method={method}"), 0)
        groups = [rank["result"] for rank in self.results()["ranks"]]
        if "groups" in names:
            self.assertEqual(groups[5], {"model": [4, 5], "pipeline": [5, 7],
                                         "data": [1, 5]})

    def test_digits_learns_the_same_everywhere(self):
        self.expect(self.jobrun(self.jobs / "digits.jobrun.yaml"), 0)
        delivered = [r["result"] for r in self.results()["ranks"]]
        self.assertEqual(len({r["weights_sha"] for r in delivered}), 1)
        self.assertGreaterEqual(min(r["accuracy"] for r in delivered), 0.9)

    def test_they_tell_their_progress(self):
        """By a pattern, from Python, from C, and from a shell."""
        for name, step, of, metric in (
                ("digits", 12, 12, "loss"), ("function", 20000, 20000, "pi"),
                ("library", 250000, 250000, "sum"),
                ("shell", 1000, 1000, "total")):
            with self.subTest(name):
                self.expect(self.jobrun(self.jobs / f"{name}.jobrun.yaml"), 0)
                told = self.results()["progress"]
                self.assertEqual((told["step"], told["of"]), (step, of))
                self.assertEqual(list(told["metrics"]), [metric])
                self.assertEqual(told["warnings"], [])

    @unittest.skipUnless(shutil.which("git"), "SKIPPED: there is no git")
    def test_a_frozen_one(self):
        """It runs what was committed, or lay there, when it began."""
        frozen = self.jobs / "frozen"
        for words in (["init", "-q"], ["add", "-A"],
                      ["-c", "user.name=n", "-c", "user.email=n@example.org",
                       "commit", "-q", "-m", "m"]):
            subprocess.run(["git", *words], cwd=frozen, check=True,
                           env=harness.clean_environment())
        spec = frozen / "frozen.jobrun.yaml"
        self.expect(self.jobrun(spec), 0)
        results = self.results()
        self.assertEqual((results["attempt"], results["progress"]["step"]),
                         (1, 8))
        script = (frozen / "train.py").read_bytes()
        self.assertEqual({rank["result"]["code"]
                          for rank in results["ranks"]},
                         {hashlib.sha256(script).hexdigest()})
        copy = self.jobrun("show", "latest", "--code").stdout.strip()
        (frozen / "train.py").write_text("edited\n")
        self.assertEqual(pathlib.Path(copy, "train.py").read_bytes(), script)
        shutil.rmtree(frozen / ".git")
        self.assertIn("is in no git work tree",
                      self.expect(self.jobrun(spec), 4).stderr)

    def test_mesh_prints_the_groups_of_the_plan(self):
        spec = self.jobs / "mesh.jobrun.yaml"
        done = self.expect(self.jobrun(spec), 0)
        self.assertIn("[5 d1 p0 m1] model 4,5 pipeline 5,7 data 1,5",
                      done.stdout)
        plan = self.expect(self.jobrun("plan", spec), 0).stdout
        for groups in ("0,1 2,3 4,5 6,7", "0,2 1,3 4,6 5,7",
                       "0,4 1,5 2,6 3,7"):
            self.assertIn(groups, plan)

    def test_a_family_shares_its_base(self):
        sweep = self.jobs / "sweep"
        done = self.jobrun(sweep / "fast.jobrun.yaml", "--set",
                           "vars.steps=3", env={"USER_TAG": "mine"})
        self.expect(done, 0)
        self.assertIn("[0] first: lr 0.05, 3 steps, tag 0.05-mine\n",
                      done.stdout)
        shards = [r["result"]["shard"] for r in self.results()["ranks"]]
        self.assertEqual(shards, ["0/2", "1/2"])
        done = self.expect(self.jobrun(sweep / "wide.jobrun.yaml",
                                       env={"TAG": "lost"}), 0)
        self.assertIn("[0] first: lr 0.01, 10 steps, tag unset\n",
                      done.stdout)
        shards = [r["result"]["shard"] for r in self.results()["ranks"]]
        self.assertEqual(shards, ["0/4", "0/4", "1/4", "1/4"])
        done = self.expect(self.jobrun(sweep / "base.jobrun.yaml"), 3)
        self.assertIn("JR0208", done.stderr)

    def test_a_sweep_finds_the_best_rate(self):
        spec = self.jobs / "sweep/learning_rate.jobrun.yaml"
        self.expect(self.jobrun("validate", spec), 0)
        done = self.expect(self.jobrun(spec), 0)
        self.assertIn("12 of 12 cells delivered; best cell", done.stderr)
        table = self.expect(self.jobrun("show", "latest", "--json"), 0)
        sweep = json.loads(table.stdout)
        cells = {cell["cell"]: cell for cell in sweep["cells"]}
        best = cells[sweep["best"]["cell"]]
        rates = {cell["values"]["vars.lr"]: cell["result"]["accuracy"]
                 for cell in sweep["cells"]}
        self.assertEqual(best["result"]["accuracy"], max(rates.values()))
        self.assertGreater(best["result"]["accuracy"], 0.9)
        self.assertLess(rates[0.001], best["result"]["accuracy"])
        lines = self.expect(self.jobrun("show", "latest", "--top", "1"),
                            0).stdout.splitlines()
        self.assertRegex(lines[-1], rf"^\* 00{sweep['best']['cell']:02} ")

    def test_a_family_is_held_against_its_targets(self):
        wide = self.jobs / "sweep/wide.jobrun.yaml"
        done = self.jobrun("validate", wide, "--set", "device=cuda")
        self.expect(done, 4)
        self.assertIn("on 1x0,4c: no cuda device", done.stdout)
        self.assertIn("base.jobrun.yaml:", done.stdout)

    def test_failure_names_the_rank(self):
        done = self.expect(self.jobrun(self.jobs / "fails.jobrun.yaml"), 1)
        self.assertIn("rank 2 exited with code 3", done.stderr)
        self.assertIn("step 119: loss is NaN", done.stderr)
        self.assertIn("stopped by jobrun", done.stderr)
        results = self.results()
        self.assertEqual(results["root_cause"]["rank"], 2)
        self.assertEqual([r["state"] for r in results["ranks"]],
                         ["stopped", "stopped", "failed", "stopped"])

    def test_torch_trains_the_same_job(self):
        has_torch = subprocess.run(
            ["python3", "-c", "import torch"], capture_output=True,
            env=harness.clean_environment())
        if has_torch.returncode != 0:
            self.skipTest("PyTorch is not installed (tools/test --all)")
        spec = self.jobs / "digits_torch.jobrun.yaml"
        self.expect(self.jobrun("plan", spec), 0)
        self.expect(self.jobrun(spec), 0)
        accuracy = [r["result"]["accuracy"] for r in self.results()["ranks"]]
        self.assertGreaterEqual(min(accuracy), 0.9)


if __name__ == "__main__":
    harness.main()
