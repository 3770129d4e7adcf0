"""`import jobrun` in ranks whose program is Python, however that is started, and
what of PYTHONPATH is the user's."""
import os
import pathlib
import sys
import unittest

import harness

PACKAGE = pathlib.Path(os.environ["BUILD"]) / "support" / "python"
TRAIN = """\
import os
import jobrun
jobrun.result({"rank": jobrun.rank(), "size": jobrun.world_size(),
               "path": os.environ.get("PYTHONPATH"), "from": jobrun.__file__})
"""


class ImportJobrun(harness.Case):
    def setUp(self):
        super().setUp()
        self.write("train.py", TRAIN)

    def run_job(self, *lines, code=0, **env):
        """The results of a job of two ranks, by rank."""
        if not any(line.startswith("entrypoint") for line in lines):
            lines = (f"entrypoint: [{sys.executable}, train.py]", *lines)
        self.write("job.yaml", "\n".join(
            ("version: 1", "world_size: 2", "results: {required: all}", *lines,
             "")))
        env.setdefault("PYTHONPATH", "")
        self.done = self.expect(self.jobrun("job.yaml", env=env), code)
        return [rank["result"] for rank in self.results()["ranks"]]

    def expect_path(self, results, path):
        self.assertEqual([result["path"] for result in results], [path] * 2)

    def test_a_command_with_a_script(self):
        results = self.run_job()
        self.assertEqual([(r["rank"], r["size"]) for r in results],
                         [(0, 2), (1, 2)])
        self.expect_path(results, str(PACKAGE))
        self.assertEqual(pathlib.Path(results[0]["from"]).parent,
                         PACKAGE / "jobrun")

    def test_programs_that_execute_python_themselves(self):
        script = self.folder / "itself"
        script.write_text(f"#!{sys.executable}\n{TRAIN}")
        script.chmod(0o755)
        for entry in ("[./itself]", f"{{shell: 'exec {sys.executable} train.py'}}",
                      f"[env, {sys.executable}, train.py]"):
            with self.subTest(entry=entry):
                self.expect_path(self.run_job(f"entrypoint: {entry}"),
                                 str(PACKAGE))

    def test_without_a_spec(self):
        self.expect(self.jobrun("-n", "2", "--", sys.executable, "train.py",
                                env={"PYTHONPATH": ""}), 0)
        self.assertEqual([rank["state"] for rank in self.results()["ranks"]],
                         ["succeeded"] * 2)

    def test_what_the_user_has_comes_first(self):
        mine = self.folder / "mine"
        (mine / "jobrun").mkdir(parents=True)
        (mine / "jobrun" / "__init__.py").write_text("raise SystemExit(9)\n")
        (mine / "other.py").write_text("")
        results = self.run_job(PYTHONPATH=f"/nowhere:{self.folder}")
        self.expect_path(results, f"/nowhere:{self.folder}:{PACKAGE}")
        self.run_job(PYTHONPATH=str(mine), code=1)
        self.assertEqual(self.results()["root_cause"]["exit_code"], 9)

    def test_what_the_spec_states_comes_first(self):
        self.expect_path(self.run_job("env: {PYTHONPATH: 'src:lib'}",
                                      PYTHONPATH="/outer"),
                         f"src:lib:{PACKAGE}")
        self.expect_path(self.run_job("env_remove: ['PYTHON*']",
                                      PYTHONPATH="/outer"), str(PACKAGE))
        results = self.run_job("per_rank: {1: {env: {PYTHONPATH: one}}}",
                               PYTHONPATH="/outer")
        self.assertEqual([result["path"] for result in results],
                         [f"/outer:{PACKAGE}", f"one:{PACKAGE}"])

    def test_a_spec_can_leave_it_out(self):
        self.run_job("env: {PYTHONPATH: null}", code=1)
        self.assertIn("No module named 'jobrun'", self.done.stderr)
        self.run_job("env: {PYTHONPATH: null}",
                     "setup: export PYTHONPATH=/mine", code=1)
        self.assertIn("No module named 'jobrun'", self.done.stderr)

    def test_setup_may_set_it(self):
        self.expect_path(self.run_job("setup: export PYTHONPATH=/mine"),
                         f"/mine:{PACKAGE}")
        self.expect_path(self.run_job("setup: export PYTHONPATH=/m:$PYTHONPATH",
                                      PYTHONPATH="/outer"),
                         f"/m:/outer:{PACKAGE}")
        self.expect_path(self.run_job("setup: unset PYTHONPATH",
                                      PYTHONPATH="/outer"), str(PACKAGE))

    def test_a_job_within_a_rank_adds_it_once(self):
        self.write("inner.yaml", "version: 1\nworld_size: 1\nlog_dir: inner\n"
                   f"entrypoint: [{sys.executable}, train.py]\n")
        self.expect(self.jobrun("-n", "1", "--", harness.JOBRUN, "inner.yaml",
                                env={"PYTHONPATH": "/outer"}), 0)
        found = self.results(logs="inner")["ranks"][0]["result"]
        self.assertEqual(found["path"], f"/outer:{PACKAGE}")


if __name__ == "__main__":
    unittest.main()
