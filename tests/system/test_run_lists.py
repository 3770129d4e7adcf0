"""jobrun runs over many runs: columns, order and conditions by the values of the
specs and of the results."""
import csv
import io
import json
import os
import time

import harness

SPEC = """\
version: 1
name: train
device: cpu
world_size: 2
oversubscribe: true
vars: {lr: 0.1, note: "a,b", greeting: "${env:API_TOKEN:-none}"}
labels: {team: vision}
env: {LR: "${vars.lr}", NOTE: "${vars.note}", T: "${vars.greeting}"}
entrypoint:
  shell: |
    [ $LR != 7 ] || exit 3
    echo "{\\"loss\\": $LR, \\"rank\\": $RANK}" > "$JOBRUN_RESULT_FILE"
results: {fields: {loss: {type: number}}}
"""
SWEEP = "sweep: {axes: {vars.lr: [3, 4], labels.team: [nlp]}}\n"


class Lists(harness.Case):
    def setUp(self):
        super().setUp()
        self.write("train.jobrun.yaml", SPEC)
        for lr, code, words in (("0.1", 0, ()), ("7", 1, ()),
                                ("0.5", 0, ("-s", "labels.team=audio"))):
            self.expect(self.jobrun(
                "train.jobrun.yaml", "--run-id", f"run-{lr}", "-s",
                f"vars.lr={lr}", *words), code)

    def runs(self, *words, status=0):
        done = self.expect(self.jobrun("runs", *words), status)
        return done.stdout if status == 0 else done.stderr

    def ids(self, *words):
        top = json.loads(self.runs("--json", *words))
        self.assertEqual(top["format_version"], 1)
        return [run["run_id"] for run in top["runs"]]

    def test_columns_and_order(self):
        lines = self.runs("--columns", "vars.lr,results.loss,label.team",
                          "--sort", "-results.loss").splitlines()
        self.assertEqual([line.split() for line in lines], [
            ["run_id", "vars.lr", "results.loss", "labels.team"],
            ["run-0.5", "0.5", "0.5", "audio"],
            ["run-0.1", "0.1", "0.1", "vision"],
            ["run-7", "7", "-", "vision"]])
        self.assertEqual(self.ids("--sort", "vars.lr"),
                         ["run-0.1", "run-0.5", "run-7"])
        self.assertEqual(self.ids("--sort", "-vars.lr", "--top", "1"),
                         ["run-7"])

    def test_results_with_a_hole_are_not_read(self):
        """They are zeros as far as they are read, of any size for nothing."""
        results = self.folder / "runs/run-7/results.json"
        for text in (results.read_text(), "", '{"x": "'):
            results.write_text(text)
            os.truncate(results, 3 << 30)
            listed = "failed" if "ranks" in text else "damaged"
            with self.subTest(text[:9]), self.takes_less(2):
                rows = {row["run_id"]: row["status"] for row in
                        json.loads(self.runs("--json"))["runs"]}
                self.assertEqual(rows["run-7"], listed)
                for words in (["show", "run-7"], ["show", "run-7", "--json"],
                              ["wait", "run-7"], ["report", "run-7"],
                              ["diff", "run-7", "run-0.1"]):
                    done = self.jobrun(*words)
                    if words[0] in ("show", "wait"):
                        self.assertNotEqual(done.returncode, 0, words)
                    if words[0] == "show":
                        self.assertIn("results.json", done.stderr)

    def test_damaged_records_are_listed(self):
        """In every format, and by what is left of them."""
        folder = self.folder / "runs"
        whole = (folder / "run-7/run.json").read_text()
        (folder / "run-7/run.json").write_text(whole[:100])
        (folder / "run-0.1/results.json").write_text("{")
        (folder / "bare").mkdir()
        (folder / "bare/run.json").write_text("")
        (folder / "no-run").mkdir()
        lines = self.runs().splitlines()
        self.assertEqual(sorted(line.split()[0] for line in lines),
                         ["damaged"] * 3 + ["status", "succeeded"])
        for line in lines:
            name = line.split("  (")[0].split()[-1]
            self.assertEqual(line.endswith(f"{name}  (damaged record)"),
                             line.startswith("damaged"), line)
        self.assertRegex(lines[-1], r"^damaged {10}-  +-  -  +-  +-  +bare  ")
        self.assertIn("did you mean status=succeeded?",
                      self.runs("--where", "status=done", status=2))
        self.assertEqual(set(self.ids("--where", "status=damaged")),
                         {"run-7", "run-0.1", "bare"})
        rows = {row["run_id"]: row
                for row in json.loads(self.runs("--json"))["runs"]}
        self.assertEqual(rows["bare"]["started"], None)
        self.assertEqual(rows["bare"]["exit_code"], None)
        self.assertEqual(rows["run-7"]["name"], "train")
        for form in "csv", "markdown":
            self.assertEqual(self.runs("--format", form).count("damaged"), 3)
        told = self.expect(self.jobrun("prune", "--keep", "0", "--dry-run"), 0)
        self.assertEqual(told.stdout, "run-0.5\n")
        self.assertIn("jobrun: the record of bare is damaged; it was left "
                      "alone (rm -r runs/bare removes it)\n", told.stderr)
        for run, what, code in (("run-7", "run.json", 0),
                                ("run-0.1", "results.json", 7),
                                ("bare", "run.json", 7)):
            told = self.expect(self.jobrun("show", run), code)
            self.assertIn(f"runs/{run}/{what} is damaged: line ",
                          told.stdout + told.stderr)

    def test_conditions(self):
        for words, ids in (
                (["status=failed"], ["run-7"]),
                (["status=succeeded", "label.team=vision"], ["run-0.1"]),
                (["labels.team=vision"], ["run-7", "run-0.1"]),
                (["results.loss<0.2"], ["run-0.1"]),
                (["vars.lr>=0.5"], ["run-0.5", "run-7"]),
                (["exit!=0"], ["run-7"]),
                (["ranks=2", "vars.note=a,b", "results.rank<1"],
                 ["run-0.5", "run-0.1"]),
                (["name=other"], [])):
            with self.subTest(words):
                self.assertEqual(self.ids(*(
                    word for one in words for word in ("--where", one))), ids)
        lines = self.runs("--where", "status=failed").splitlines()
        self.assertEqual(len(lines), 2)
        self.assertRegex(lines[0], "^status +exit +ranks +started")
        self.assertRegex(lines[1], r"^failed +1 +2 +.* run-7$")

    def test_json(self):
        run = json.loads(self.runs("--json", "--top", "1"))["runs"][0]
        self.assertEqual(
            [run[key] for key in ("run_id", "labels", "spec")],
            ["run-0.5", {"team": "audio"}, "train.jobrun.yaml"])
        self.assertEqual(run["vars"],
                         {"lr": 0.5, "note": "a,b", "greeting": "none"})
        self.assertEqual(run["results"], {
            "loss": 0.5, "rank": {"mean": 0.5, "min": 0, "max": 1, "first": 0}})
        self.assertEqual(
            json.loads(self.runs("--json", "--columns", "vars.lr,results.loss",
                                 "--where", "exit=1"))["runs"],
            [{"run_id": "run-7", "vars.lr": 7, "results.loss": None}])

    def test_lines_for_other_programs(self):
        rows = list(csv.reader(io.StringIO(self.runs(
            "--format", "csv", "--columns", "vars.note,results.rank"))))
        self.assertEqual(rows, [["run_id", "vars.note", "results.rank"],
                                ["run-0.5", "a,b", "0.5"],
                                ["run-7", "a,b", ""], ["run-0.1", "a,b", "0.5"]])
        self.assertEqual(self.runs("--format", "markdown", "--columns",
                                   "vars.lr", "--top", "1").splitlines()[2],
                         "| run-0.5 | 0.5 |")

    def test_names_that_there_are_not(self):
        for words, near in ((["--columns", "vars.lx"], "'vars.lr'"),
                            (["--sort", "loss"], "'results.loss'"),
                            (["--where", "label.teem=x"], "'labels.team'"),
                            (["--where", "stat=failed"], "'status'"),
                            (["--sort", "los"], "'results.loss'"),
                            (["--where", "status=fail"], "status=failed"),
                            (["--where", "status!=succeded"],
                             "status=succeeded"),
                            (["--where", "stauts=failed"], "'status'")):
            with self.subTest(words):
                self.assertIn(f"did you mean {near}?",
                              self.runs(*words, status=2))
        self.assertIn("wants a condition", self.runs("--where", "status",
                                                     status=2))
        self.expect(self.jobrun("runs", "--log-dir", "none", "--where",
                                "labels.x=1"), 0)

    def test_secrets_are_left_out(self):
        self.expect(self.jobrun("train.jobrun.yaml", "--run-id", "hidden",
                                env={"API_TOKEN": "s3cr3t-v4lue"}), 0)
        text = (self.folder / "runs/hidden/run.json").read_text()
        self.assertNotIn("s3cr3t-v4lue", text)
        self.assertEqual(json.loads(text)["vars"]["greeting"], "<redacted>")
        self.expect(self.jobrun("train.jobrun.yaml", "--run-id", "named", "-s",
                                "+labels.my_token=a-literal-one"), 0)
        text = (self.folder / "runs/named/run.json").read_text()
        self.assertNotIn("a-literal-one", text)

    def test_a_repeated_run_keeps_its_values(self):
        self.expect(self.jobrun("rerun", "run-0.5"), 0)
        run = json.loads(self.runs("--json", "--top", "1"))["runs"][0]
        self.assertEqual(run["vars"]["lr"], 0.5)
        self.assertEqual(run["labels"], {"team": "audio"})

    def test_cells(self):
        self.write("scan.jobrun.yaml", SPEC + SWEEP)
        self.expect(self.jobrun("scan.jobrun.yaml", "--run-id", "scan"), 0)
        self.assertEqual(self.ids("--where", "labels.team=vision"),
                         ["run-7", "run-0.1"])
        self.assertEqual(self.ids()[0], "scan")
        self.assertEqual(self.ids("--cells", "--sort", "-vars.lr"),
                         ["run-7", "scan/1", "scan/0", "run-0.5", "run-0.1"])
        self.assertEqual(
            self.ids("--cells", "--where", "label.team=nlp", "--sort",
                     "results.loss"), ["scan/0", "scan/1"])
        self.expect(self.jobrun("show", self.ids("--cells")[0]), 0)
        run = json.loads(self.runs("--cells", "--json", "--where",
                                   "vars.lr=4"))["runs"][0]
        self.assertEqual(run["values"], {"vars.lr": 4, "labels.team": "nlp"})
        self.write("scan.jobrun.yaml", SPEC.replace("exit 3", "exit 4") + SWEEP)
        self.expect(self.jobrun("scan.jobrun.yaml", "--resume=scan"), 0)
        self.assertEqual(len(self.ids("--cells")), 5)

    def test_three_thousand_runs(self):
        first = self.folder / "runs/run-0.1"
        files = [(name, (first / name).read_text())
                 for name in ("run.json", "results.json")]
        for i in range(3000):
            folder = self.folder / "many" / f"run-{i}"
            folder.mkdir(parents=True, mode=0o700)
            for name, text in files:
                (folder / name).write_text(text.replace('"lr": 0.1',
                                                        f'"lr": {i}'))
        began = time.monotonic()
        done = self.expect(self.jobrun(
            "runs", "--log-dir", "many", "--columns", "vars.lr,results.loss",
            "--sort", "-vars.lr", "--where", "label.team=vision"), 0)
        print(f"# 3000 runs in {time.monotonic() - began:.2f} s")
        self.assertEqual(len(done.stdout.splitlines()), 3001)
        self.assertEqual(done.stdout.splitlines()[1].split(),
                         ["run-2999", "2999", "0.1"])


if __name__ == "__main__":
    harness.main()
