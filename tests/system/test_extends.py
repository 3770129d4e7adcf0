"""Specs that build on others, as the verbs see them."""
import json
import os

import harness

BASE = """\
version: 1
template: true
device: cpu
world_size: 1
workdir: .
vars: {greeting: hello, name: "???"}
entrypoint:
  shell: 'echo "$GREETING $1 in $(basename "$PWD") ${EXTRA:-no}"'
  args: ["${vars.name}"]
env: {GREETING: "${vars.greeting}", EXTRA: inherited}
"""
CHILD = """\
extends: ../bases/base.jobrun.yaml
name: child
world_size: 2
env: {EXTRA: null}
per_rank: {1: {args: [ignored], env: {EXTRA: one}}}
"""
# A resolved spec pins a port that another test may have by now.
ANY_PORT = ["-s", "master_port=auto"]


class Composition(harness.Case):
    def setUp(self):
        super().setUp()
        self.write("bases/base.jobrun.yaml", BASE)
        self.write("jobs/child.jobrun.yaml", CHILD)
        self.spec = "jobs/child.jobrun.yaml"
        self.root = ["--root", "."]

    def test_runs_what_comes_of_it(self):
        done = self.expect(self.jobrun(
            self.spec, *self.root, "-s", "vars.name=you",
            "-s", "vars.greeting='good day'"), 0)
        self.assertEqual(sorted(done.stdout.splitlines()),
                         ["[0] good day you in bases no",
                          "[1] good day you in bases one"])
        run = self.folder / "runs" / os.readlink(self.folder / "runs/latest")
        self.assertEqual((run / "spec.yaml").read_text(), CHILD)
        (self.folder / "bases/base.jobrun.yaml").unlink()
        again = self.expect(self.jobrun(run / "resolved.yaml", *ANY_PORT), 0)
        self.assertEqual(sorted(again.stdout.splitlines()),
                         sorted(done.stdout.splitlines()))
        record = json.loads((run / "run.json").read_text())
        self.assertIn("vars.name=you", record["argv"])

    def test_a_lack_is_no_mistake(self):
        self.expect(self.jobrun("validate", self.spec, *self.root), 0)
        done = self.expect(self.jobrun("plan", self.spec, *self.root), 4)
        self.assertIn("bases/base.jobrun.yaml:6:31: error[JR0206]: "
                      "'vars.name' must be supplied from outside", done.stderr)
        done = self.expect(
            self.jobrun("validate", "--strict", self.spec, *self.root), 3)
        self.assertIn("JR0206", done.stdout)

    def test_templates(self):
        self.expect(self.jobrun("validate", "bases", "--quiet"), 0)
        for verb in "run", "plan", "resolve":
            done = self.expect(self.jobrun(verb, "bases/base.jobrun.yaml"), 3)
            self.assertIn("JR0208", done.stderr)

    def test_the_root_is_a_bound(self):
        done = self.expect(self.jobrun("validate", self.spec), 3)
        self.assertIn("child.jobrun.yaml:1:10: error[JR0119]", done.stdout)
        (self.folder / ".git").mkdir()
        self.expect(self.jobrun("validate", self.spec), 0)
        self.expect(self.jobrun("validate", self.spec, "--root", "jobs"), 3)

    def test_named_parents_are_chosen(self):
        self.write("models/small.yaml", "vars: {name: small}\n")
        self.write("models/large.yaml",
                   "vars: {name: large}\nworld_size: 2\n")
        spec = self.write("jobs/choice.jobrun.yaml", """\
version: 1
extends: {base: ../bases/base.jobrun.yaml, model: ../models/small.yaml}
""")
        chosen = [spec, *self.root, "-s", "extends.model=models/large.yaml"]
        self.assertEqual(
            self.expect(self.jobrun(spec, *self.root), 0).stdout,
            "[0] hello small in bases inherited\n")
        done = self.expect(self.jobrun(*chosen), 0)
        self.assertEqual(sorted(done.stdout.splitlines()),
                         [f"[{i}] hello large in bases inherited"
                          for i in range(2)])
        # The path is relative to the current folder.
        done = self.jobrun("resolve", "choice.jobrun.yaml", "--root", "..",
                           "-s", "extends.model=../models/large.yaml",
                           cwd=spec.parent)
        self.assertIn("args: [large]\n", self.expect(done, 0).stdout)
        done = self.expect(self.jobrun(
            "validate", spec, *self.root, "-s", "extends.modle=x.yaml"), 3)
        self.assertIn("--set:9: error[JR0228]: 'extends.modle' is not declared "
                      "in the spec", done.stdout)
        self.assertIn("did you mean 'extends.model'?", done.stdout)

    def test_standard_input_extends_from_here(self):
        done = self.jobrun("resolve", "-", "-s", "vars.name=x", cwd=None,
                           stdin=self.input("extends: bases/base.jobrun.yaml\n"
                                            "name: piped\n"))
        self.assertIn("name: piped\n", self.expect(done, 0).stdout)

    def input(self, text):
        path = self.write("input", text)
        file = open(path)
        self.addCleanup(file.close)
        return file

    def test_explains_what_was_overridden(self):
        rows = self.expect(self.jobrun(
            "resolve", self.spec, *self.root, "--explain", "-s",
            "vars.name=x", "--on", "1x0,8c"), 0).stdout
        self.assertRegex(rows, r"(?m)^world_size +2 +"
                         r"bases/base\.jobrun\.yaml:4, overridden by "
                         r"jobs/child\.jobrun\.yaml:3$")
        rows = self.expect(self.jobrun(
            "resolve", self.spec, *self.root, "--explain", "-s",
            "vars.name=x", "--set", "world_size=4", "--on", "1x0,8c"),
            0).stdout
        self.assertRegex(rows, r"(?m)^world_size +4 .*"
                         r"child\.jobrun\.yaml:3, overridden by --set:12$")

    def test_mistakes_of_options_have_positions(self):
        done = self.expect(self.jobrun("plan", self.spec, *self.root, "-s",
                                       "vars.name=x", "-s",
                                       "parallelism.data=4x"), 3)
        self.assertIn("--set:18: error[JR0211]: 'parallelism.data'",
                      done.stderr)
        done = self.expect(self.jobrun("plan", self.spec, "-s", "plain"), 2)
        self.assertIn("--set wants PATH=VALUE, not 'plain'", done.stderr)

    def test_the_environment(self):
        self.write("e.jobrun.yaml",
                   "version: 1\ndevice: cpu\nworld_size: ${env:RANKS}\n"
                   "entrypoint: [echo, \"${env:WORD:-none}\"]\n")
        done = self.expect(self.jobrun("e.jobrun.yaml",
                                       env={"RANKS": "2", "WORD": "w"}), 0)
        self.assertEqual(sorted(done.stdout.splitlines()), ["[0] w", "[1] w"])
        self.assertIn("JR0225", self.expect(self.jobrun("e.jobrun.yaml"),
                                            4).stderr)
        # validate reads what it is allowed to, and no more
        wrong = {"RANKS": "many", "WORD": "w"}
        self.expect(self.jobrun("validate", "e.jobrun.yaml", env=wrong), 0)
        done = self.expect(self.jobrun("validate", "e.jobrun.yaml",
                                       "--allow-env", "RAN*", env=wrong), 3)
        self.assertIn("JR0211", done.stdout)
        self.assertNotIn("many", done.stdout)
        self.expect(self.jobrun("validate", "--strict", "e.jobrun.yaml",
                                env=wrong), 3)
        self.expect(self.jobrun("validate", "--strict", "--allow-env", "RANKS",
                                "e.jobrun.yaml", env={"RANKS": "2"}), 0)

    def test_no_secret_is_written(self):
        self.write("s.jobrun.yaml",
                   "version: 1\ndevice: cpu\nworld_size: 1\n"
                   "entrypoint: {shell: 'test \"$1$A\" = \"$M-x$M-x\"', "
                   "args: [\"${env:MY_TOKEN}-x\"]}\n"
                   "env: {A: \"${env:MY_TOKEN}-x\", MY_TOKEN: \"???\"}\n"
                   .replace("$M", "$MY_TOKEN"))
        self.expect(self.jobrun("s.jobrun.yaml",
                                env={"MY_TOKEN": "hunter2"}), 0)
        run = self.folder / "runs" / os.readlink(self.folder / "runs/latest")
        for path in run.rglob("*"):
            if path.is_file():
                self.assertNotIn("hunter2", path.read_text(), path.name)
        for words in (["plan", "--env"], ["plan", "--format", "json"],
                      ["resolve"]):
            told = self.jobrun(*words, "s.jobrun.yaml",
                               env={"MY_TOKEN": "hunter2"})
            self.assertNotIn("hunter2", self.expect(told, 0).stdout)
        again = self.jobrun(run / "resolved.yaml", *ANY_PORT,
                            env={"MY_TOKEN": "hunter2"})
        self.expect(again, 0)

    def test_arguments_of_a_command_are_its_own(self):
        done = self.expect(self.jobrun("-n", "1", "--", "echo", "${vars.x}",
                                       "$${env:HOME}", "${"), 0)
        self.assertEqual(done.stdout, "[0] ${vars.x} $${env:HOME} ${\n")


if __name__ == "__main__":
    harness.main()
