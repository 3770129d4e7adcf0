"""Specs that name the machines they are meant for are resolved on these, from
any machine; `validate --on` does it for all specs."""
import json
import os
import pathlib

import harness

MACHINES = pathlib.Path(os.environ["MACHINES"])
HEAD = "version: 1\nentrypoint: [./train]\n"


class Targets(harness.Case):
    def check(self, body, code, *said, words=()):
        """Validate a spec of these lines, which begin on line 3; every text of
        `said` must be told. Returns what was."""
        self.write("t.jobrun.yaml", HEAD + body)
        done = self.expect(self.jobrun("validate", "t.jobrun.yaml", *words,
                                       "--format", "short"), code)
        for text in said:
            self.assertIn(text, done.stdout)
        return done.stdout

    def test_nothing_changes_without_targets(self):
        told = self.check("world_size: 100000\ndevice: cuda\n", 0)
        self.assertEqual(told, "")

    def test_what_fits_says_nothing(self):
        self.write("site/dgx.yaml", (MACHINES / "dgx-h100.yaml").read_text())
        told = self.check("world_size: 8\ndevice: cuda\n"
                          "targets: [1x8, 2x8:A100, site/dgx.yaml]\n", 0)
        self.assertEqual(told, "")

    def test_a_machine_that_does_not_tell_enough_to_bind(self):
        self.write("t.jobrun.yaml", HEAD + "bind: device\ndevice: cuda\n")
        told = [self.expect(self.jobrun("plan", "t.jobrun.yaml", "--on", on),
                            0).stdout
                for on in (str(MACHINES / "dgx-h100.yaml"),
                           str(MACHINES / "numa-gpus" / "expected.yaml"))]
        self.assertIn("bind      device; the CPUs are not known in advance: "
                      "not every device has a NUMA node with CPUs there\n",
                      told[0])
        self.assertNotIn("bind ", told[1])

    def test_what_fails_names_the_target(self):
        told = self.check(
            "world_size: 16\n"
            "targets: [2x8:H100, 1x8:H100, 1x4, \"4x0,8c\"]\n", 4,
            "t.jobrun.yaml:3:13: error: on 1x8:H100: 16 ranks on a node "
            "with 8 usable cuda devices [JR0404]\n",
            "t.jobrun.yaml:3:13: error: on 1x4: 16 ranks")
        self.assertEqual(told.count("error:"), 2, told)

    def test_what_no_field_decides_stands_at_the_target(self):
        self.check(f"targets: [1x8, {MACHINES}/two-vendors.yaml, 4x0]\n", 4,
                   f"3:16: error: on {MACHINES}/two-vendors.yaml: there are "
                   "two kinds",
                   f"3:{len(str(MACHINES)) + 35}: error: on 4x0: "
                   "local_world_size is MISSING")

    def test_a_contradiction_of_the_spec_is_told_once(self):
        told = self.check("device: cpu\ndevices: [0]\n"
                          "targets: [1x8, 2x8, 3x8]\n", 3,
                          "error: a list of devices contradicts device cpu")
        self.assertEqual(told.count("error:"), 1, told)

    def test_what_is_unknown_contradicts_nothing(self):
        """${env:NAME} may be anything: nothing is concluded from it."""
        for body in ("world_size: 4\nparallelism:\n  data: 2\n"
                     "  model: ${env:M}\n",
                     "world_size: 8\nnodes: ${env:N}\n",
                     "device: ${env:D}\nbackends: rccl\n",
                     "world_size: 16\noversubscribe: ${env:O}\n"
                     "local_world_size: ${env:L}\n"):
            with self.subTest(body):
                self.check(body + "targets: [\"1x4:H100\"]\n", 0)
        self.check("world_size: 8\nmaster_port: ${env:P}\n"
                   "targets: [\"1x4:H100\"]\n", 4,
                   "8 ranks on a node with 4 usable cuda devices")

    def test_targets_that_are_wrong_themselves(self):
        self.write("bad.yaml", "format_version: 1\ncpu: {usable: 4}\n")
        told = self.check(
            "targets: [2x8:H1O0, gone.yaml, bad.yaml, 1x8, \"2x\"]\n", 3,
            "t.jobrun.yaml:3:15: error: unknown device model 'H1O0' [JR0481]",
            "t.jobrun.yaml:3:21: error: ",
            "gone.yaml: there is no such file [JR0101]",
            "bad.yaml:2:1: error: unknown fact 'cpu' [JR0482]",
            "t.jobrun.yaml:3:50: error: the number of devices is missing")
        self.assertEqual(told.count("error:"), 4, told)

    def test_the_facts_file_is_beside_the_spec(self):
        self.write("specs/m.yaml", "format_version: 1\ncpus: {usable: 4}\n")
        self.write("specs/a.jobrun.yaml",
                   HEAD + "parallelism: {model: 3}\ntargets: [m.yaml]\n")
        done = self.expect(self.jobrun("validate", "specs"), 4)
        self.assertIn("on specs/m.yaml: world_size 4", done.stdout)
        self.assertIn("this target", done.stdout)
        self.assertIn("nearest world sizes that do: 3, 6", done.stdout)

    def test_targets_of_a_base_are_its_childrens(self):
        self.write("bases/m.yaml", "format_version: 1\ncpus: {usable: 4}\n")
        self.write("bases/b.jobrun.yaml",
                   "version: 1\ntemplate: true\ntargets: [m.yaml, 1x3]\n")
        self.write("t.jobrun.yaml",
                   "version: 1\nextends: bases/b.jobrun.yaml\n"
                   "entrypoint: [./train]\nparallelism: {model: 3}\n")
        done = self.expect(self.jobrun("validate", "t.jobrun.yaml", "--on",
                                       "1x6", "--format", "short"), 4)
        self.assertEqual(
            done.stdout,
            "t.jobrun.yaml:4:22: error: on bases/m.yaml: world_size 4 (the "
            "target: 4 usable CPUs) does not divide by model 3 x pipeline 1 "
            "[JR0310]\n")

    def test_a_fifo_does_not_hang(self):
        os.mkfifo(self.folder / "fifo.yaml")
        self.check("targets: [fifo.yaml]\n", 3, "FIFO")

    def test_the_machine_here_does_not_count(self):
        body = "targets: [1x8:MI300X]\nbackends: rccl\n"
        self.write("t.jobrun.yaml", HEAD + body)
        env = {"CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "junk",
               "TORCH_DISTRIBUTED_BACKEND": "junk", "WORLD_SIZE": "3"}
        done = self.expect(self.jobrun("validate", "t.jobrun.yaml", env=env),
                           0)
        self.assertNotIn("junk", done.stdout)

    def test_a_warning_of_a_target(self):
        body = "world_size: 9\ntargets: [\"1x0,8c\"]\n"
        self.check(body, 0, "warning: on 1x0,8c: 9 ranks on a node with 8")
        self.check(body, 3, "on 1x0,8c", words=["--strict"])

    def test_the_run_does_not_look_at_them(self):
        self.write("t.jobrun.yaml",
                   "version: 1\nentrypoint: ['true']\ndevice: cpu\n"
                   "world_size: 1\ntargets: [1x8:H1O0, gone.yaml]\n")
        self.expect(self.jobrun("t.jobrun.yaml"), 0)
        done = self.expect(self.jobrun("resolve", "t.jobrun.yaml"), 0)
        self.assertNotIn("targets", done.stdout)

    def test_a_resolved_spec_can_be_validated(self):
        self.write("t.jobrun.yaml", HEAD + "targets: [1x8, 2x4]\n")
        done = self.expect(self.jobrun("resolve", "t.jobrun.yaml", "--on",
                                       "1x8:H100"), 0)
        self.write("r.jobrun.yaml", done.stdout)
        self.expect(self.jobrun("validate", "r.jobrun.yaml"), 0)


class On(harness.Case):
    def setUp(self):
        super().setUp()
        self.write("a/good.jobrun.yaml", HEAD + "world_size: 8\n")
        self.write("a/big.jobrun.yaml",
                   HEAD + "world_size: 9\ntargets: [1x16]\n")
        self.write("a/small.jobrun.yaml",
                   HEAD + "world_size: 3\ntargets: [1x2]\n")
        self.write("b/wrong.jobrun.yaml", HEAD + "world_sise: 8\n")

    def validate(self, *words):
        return self.jobrun("validate", *words, "--format", "short")

    def test_it_is_for_all_files_and_beside_their_targets(self):
        done = self.expect(self.validate("a", "--on", "1x8:H100"), 4)
        self.assertEqual(
            done.stdout.splitlines(),
            ["a/big.jobrun.yaml:3:13: error: on 1x8:H100: 9 ranks on a node "
             "with 8 usable cuda devices [JR0404]",
             "a/small.jobrun.yaml:3:13: error: on 1x2: 3 ranks on a node with "
             "2 usable cuda devices [JR0404]"])
        self.assertEqual(done.stderr, "")

    def test_the_lowest_status_counts(self):
        self.expect(self.validate("a/good.jobrun.yaml", "--on", "1x8"), 0)
        self.expect(self.validate("a", "--on", "1x16"), 4)
        self.expect(self.validate("a", "b", "--on", "1x8"), 3)
        self.expect(self.validate("b", "a"), 3)

    def test_a_recorded_machine(self):
        facts = MACHINES / "container-half-gpus" / "expected.yaml"
        done = self.expect(
            self.validate("a/good.jobrun.yaml", "--on", facts), 4)
        self.assertIn("4 usable cuda devices", done.stdout)
        self.assertRegex(done.stdout, r"^a/good.jobrun.yaml:3:13: error: on /")

    def test_every_machine_can_be_meant(self):
        machines = sorted(MACHINES.glob("*.yaml"))
        machines += sorted(MACHINES.glob("*/expected.yaml"))
        self.assertGreaterEqual(len(machines), 70)
        spec = self.write("t.jobrun.yaml", HEAD + "targets:\n" + "".join(
            f"  - {json.dumps(str(path))}\n" for path in machines))
        done = self.expect(self.jobrun("validate", spec, "--format", "json"),
                           4)
        found = json.loads(done.stdout)["diagnostics"]
        codes = {d["code"] for d in found}
        self.assertEqual(codes, {"JR0410", "JR0411", "JR0450"}, done.stdout)
        for finding in found:
            path = machines[finding["line"] - 4]
            self.assertIn(f"on {path}: ", finding["message"])

    def test_a_wrong_profile_is_wrong_usage(self):
        for profile, said in (("8:H100", "JR0480"), ("2x8:H1O0", "'H100'"),
                              ("gone.yaml", "no such file")):
            with self.subTest(profile):
                done = self.expect(self.validate("a", "--on", profile), 2)
                self.assertIn(said, done.stderr)
                self.assertEqual(done.stdout, "")

    def test_the_formats_of_ci_services(self):
        for word in ("json", "jsonl", "github", "gitlab", "sarif", "junit"):
            with self.subTest(word):
                done = self.expect(self.jobrun(
                    "validate", "a", "--on", "1x8:H100", "--format", word), 4)
                self.assertGreaterEqual(done.stdout.count("JR0404"), 2)
                self.assertIn("on 1x8:H100: 9 ranks", done.stdout)
                if word in ("json", "gitlab", "sarif"):
                    json.loads(done.stdout)


class Doctor(harness.Case):
    def test_its_file_stands_for_this_machine(self):
        facts = self.expect(self.jobrun("doctor", "--format", "yaml"), 0)
        self.write("here.yaml", facts.stdout)
        self.write("t.jobrun.yaml", HEAD + "device: cpu\nmaster_port: 29500\n"
                   "parallelism: {pipeline: 1}\n")
        there = self.expect(self.jobrun("resolve", "t.jobrun.yaml", "--on",
                                        "here.yaml"), 0)
        self.write("t.jobrun.yaml", HEAD + "device: cpu\n"
                   "parallelism: {pipeline: 1}\n")
        here = self.expect(self.jobrun("resolve", "t.jobrun.yaml"), 0)

        def lines(done):
            return [line for line in done.stdout.splitlines()
                    if not line.startswith("master_port:")]
        self.assertEqual(lines(there), lines(here))

    def test_the_file_is_read_back_as_written(self):
        facts = self.expect(self.jobrun(
            "doctor", "--format", "yaml",
            env={"OMP_NUM_THREADS": "3", "CUDA_VISIBLE_DEVICES": "1,0",
                 "TORCH_DISTRIBUTED_BACKEND": "mpi"}), 0)
        self.write("here.yaml", facts.stdout)
        self.write("t.jobrun.yaml", HEAD + "device: cpu\n")
        done = self.expect(self.jobrun(
            "resolve", "t.jobrun.yaml", "--on", "here.yaml", "--format",
            "json"), 0)
        rows = {row["field"]: row for row in json.loads(done.stdout)["fields"]}
        self.assertEqual(rows["threads"]["value"], "3")
        self.assertEqual(rows["backends.default"]["value"], "mpi")


if __name__ == "__main__":
    harness.main()
