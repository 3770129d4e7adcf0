"""--set: a mistyped name is an error, and what nothing reads is said."""
import json

import harness

SPEC = """\
version: 1
vars: {learning_rate: 0.1}
world_size: 1
device: cpu
entrypoint: [echo, "lr=${vars.learning_rate}"]
"""


class Overrides(harness.Case):
    def setUp(self):
        super().setUp()
        self.write("train.jobrun.yaml", SPEC)

    def test_a_mistyped_name_starts_nothing(self):
        done = self.expect(self.jobrun(
            "train.jobrun.yaml", "-s", "vars.learning_rat=0.5"), 3)
        self.assertIn("--set:6: error[JR0228]: 'vars.learning_rat' is not "
                      "declared in the spec", done.stderr)
        self.assertIn("did you mean 'vars.learning_rate'?", done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertFalse((self.folder / "runs").exists())

    def test_every_verb_refuses_it(self):
        for verb in ["validate"], ["validate", "--strict"], ["plan"], \
                ["resolve"], ["render", "--engine", "mpi"]:
            done = self.expect(self.jobrun(
                *verb, "train.jobrun.yaml", "-s", "vars.learning_rat=0.5"), 3)
            self.assertIn("JR0228", done.stdout + done.stderr)

    def test_the_declared_name_is_set(self):
        done = self.expect(self.jobrun(
            "train.jobrun.yaml", "-s", "vars.learning_rate=0.5"), 0)
        self.assertEqual(done.stdout, "[0] lr=0.5\n")
        self.assertNotIn("warning", done.stderr)

    def test_a_plus_adds_an_entry(self):
        self.write("train.jobrun.yaml",
                   SPEC.replace("]\n", ", \"${vars.momentum}\"]\n"))
        self.expect(self.jobrun("train.jobrun.yaml"), 3)
        done = self.expect(self.jobrun(
            "train.jobrun.yaml", "-s", "+vars.momentum=0.9"), 0)
        self.assertEqual(done.stdout, "[0] lr=0.1 0.9\n")

    def test_what_nothing_reads_is_a_warning(self):
        added = ["train.jobrun.yaml", "-s", "+vars.learning_rat=0.5"]
        done = self.expect(self.jobrun("validate", *added, "--json"), 0)
        finding, = json.loads(done.stdout)["diagnostics"]
        self.assertEqual(
            [finding[k] for k in ("code", "severity", "path", "help")],
            ["JR0330", "warning", "vars.learning_rat",
             "did you mean 'vars.learning_rate'?"])
        self.expect(self.jobrun("validate", "--strict", *added), 3)
        done = self.expect(self.jobrun(*added), 0)
        self.assertIn("warning[JR0330]", done.stderr)

    def test_other_entries_need_no_plus(self):
        for plus in "", "+":
            done = self.expect(self.jobrun(
                "resolve", "train.jobrun.yaml", "-s", plus + "env.MODE=fast",
                "-s", plus + "labels.team=vision"), 0)
            self.assertIn("MODE: fast", done.stdout)
            self.assertIn("team: vision", done.stdout)


if __name__ == "__main__":
    harness.main()
