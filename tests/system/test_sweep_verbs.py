"""What each verb makes of a sweep and of one of its cells: every verb of the table
has a row here, and those that take a run take both, or say why not."""
import json
import re
import signal
import time

import harness

SPEC = """\
version: 1
name: scan
device: cpu
world_size: 1
vars: {n: 0}
env: {N: "${vars.n}"}
entrypoint:
  shell: |
    echo said $N
    [ $N -ne 2 ] || exit 3
    echo "{\\"loss\\": $N}" > "$JOBRUN_RESULT_FILE"
results: {fields: {loss: {type: number}}}
sweep: {axes: {vars.n: [3, 1, 2]}, best: {field: loss, goal: min}}
"""
BLOCKS = """\
version: 1
name: blocks
device: cpu
world_size: 1
oversubscribe: true
vars: {n: 0}
env: {N: "${vars.n}"}
entrypoint: {shell: 'echo said $N; while [ ! -e go.$N ]; do sleep 0.05; done'}
sweep: {axes: {vars.n: [0, 1]}, parallel: 2}
"""

# Of a verb: the words of the command line, W for the sweep or the cell; then of
# both the exit status, and what standard output or standard error has.
NAME_ONE = r"S is a sweep of 3 cells: name one of them"
ROWS = {
    "show": ("W", (0, r"^scan: 2 of 3 delivered, 1 failed"),
             (0, r"FAILED after .*rank 0 exited with code 3")),
    "top": ("W", (2, NAME_ONE), (0, r"S/2 has ended: failed \(jobrun show S/2")),
    "logs": ("W", (2, NAME_ONE), (0, "said 2")),
    "report": ("W", (0, r"^scan: 2 of 3 delivered, 1 failed"),
               (0, "rank 0 exited with code 3")),
    "wait": ("W", (1, "2 of 3 delivered"), (1, "exited with code 3")),
    "stop": ("W", (0, r"S has already ended \(jobrun show S\)\n(.*\n)*.*2 of 3 "
                      "delivered"),
             (0, r"S/2 has already ended: failed \(jobrun show S/2")),
    "rerun": ("W", (2, NAME_ONE), (1, "exited with code 3")),
    "diff": ("W S/0", (2, NAME_ONE), (0, r"results\.loss +- +3")),
    "prune": ("--dry-run --keep 0", (0, "^S$"), None),
    "runs": ("--where run=S", (0, r"^failed .*2/3 +S$"), None),
    "run": ("scan.jobrun.yaml --resume=W", (1, "2 of 3 cells delivered"), None),
}
# These take specs, which --cell makes one run of, or nothing that is a run.
OTHERS = {"validate", "resolve", "plan", "render", "submit", "new", "explain",
          "doctor", "schema", "completion", "help", "version", "agent"}
TAKES_CELL = {"resolve", "plan", "validate", "render"}


class Verbs(harness.Case):
    def setUp(self):
        super().setUp()
        self.write("scan.jobrun.yaml", SPEC)
        self.expect(self.jobrun("scan.jobrun.yaml", "--run-id", "S"), 1)

    def verbs(self):
        text = self.expect(self.jobrun("help", "--all"), 0).stdout
        return re.findall(r"^  ([a-z]+) {2,}", text.partition("\nverbs:\n")[2]
                          .partition("\n\n")[0] + "\n", re.M)

    def check(self, verb, words, expected):
        done = self.expect(self.jobrun(verb, *words.split()), expected[0])
        self.assertRegex(done.stdout + done.stderr,
                         re.compile(expected[1], re.M))
        return done

    def test_every_verb_has_a_row(self):
        verbs = self.verbs()
        self.assertIn("show", verbs)
        self.assertEqual(set(verbs), set(ROWS) | OTHERS)

    def test_verbs_on_a_sweep_and_on_a_cell(self):
        for verb, (words, sweep, cell) in ROWS.items():
            with self.subTest(verb, of="a sweep"):
                self.check(verb, words.replace("W", "S"), sweep)
            if cell is None:
                continue
            for word in "S/2", "S/0002", "S/vars.n=2", "runs/S/2":
                with self.subTest(verb, of=word):
                    if word.startswith("runs") and verb == "diff":
                        continue  # the other word is no path
                    self.check(verb, words.replace("W", word), cell)

    def test_paths_of_sweeps(self):
        here = str(self.folder)
        for word in ("runs/S", "runs/S/", f"{here}/runs/S", "runs/latest"):
            with self.subTest(word):
                done = self.expect(self.jobrun("show", word), 0)
                self.assertIn("2 of 3 delivered", done.stdout)
        self.expect(self.jobrun("show", f"{here}/runs/S/2", cwd="/"), 0)
        self.expect(self.jobrun("diff", "runs/S/1", "runs/S/2", cwd=here), 0)
        self.expect(self.jobrun("show", "runs/S/cells/0002"), 0)
        self.expect(self.jobrun("show", "runs/S/7"), 2)

    def test_cells_that_there_are_not(self):
        for verb, (words, _, cell) in ROWS.items():
            if cell is None:
                continue
            for word in "S/7", "S/vars.n=9", "S/x", "S/":
                with self.subTest(verb, of=word):
                    done = self.expect(self.jobrun(
                        verb, *words.replace("W", word).split()), 2)
                    self.assertRegex(done.stderr, "has no cell|not the id|sweep")

    def test_what_only_a_run_has(self):
        """It is not passed over in silence."""
        for words in ("--stacks", "--code", "--rank 0", "--attempt 0"):
            with self.subTest(words):
                done = self.expect(self.jobrun("show", "S", *words.split()), 2)
                self.assertIn(f"{words.split()[0]} is for one run, and S is a "
                              "sweep: name one of its cells, jobrun show S/0",
                              done.stderr)

    def test_what_is_shown_can_be_typed(self):
        for words in ("show", "S/2"), ("wait", "S/2"), ("report", "S/1"):
            done = self.jobrun(*words)
            command = re.search(r"\(jobrun ([^)]*)\)", done.stdout + done.stderr)
            with self.subTest(command[1]):
                self.expect(self.jobrun(*(
                    word.strip("'") for word in command[1].split())), 0)

    def test_diff_of_cells(self):
        done = self.expect(self.jobrun("diff", "S/0", "S/1", "--json"), 0)
        diff = json.loads(done.stdout)
        self.assertEqual([diff[side]["name"] for side in "ab"], ["S/0", "S/1"])
        self.assertEqual([diff[side]["kind"] for side in "ab"], ["run", "run"])
        self.assertEqual([row["a"]["value"] for row in diff["fields"]
                          if row["field"] == "env.N"], ['"3"'])
        self.assertFalse(diff["same_experiment"])
        self.expect(self.jobrun("diff", "S/1", "latest/1", "--exit-code"), 0)
        self.expect(self.jobrun("diff", "S/1", "S/2", "--exit-code"), 1)
        self.expect(self.jobrun("rerun", "S/1"), 0)
        self.expect(self.jobrun("diff", "S/1", "latest"), 0)
        self.expect(self.jobrun("diff", "S/1", "S"), 2)

    def test_specs_take_a_cell(self):
        for verb in sorted(TAKES_CELL):
            words = ["--engine", "slurm"] if verb == "render" else []
            with self.subTest(verb):
                self.expect(self.jobrun(verb, "scan.jobrun.yaml", "--cell", "1",
                                        *words), 0)


class Stages(harness.Case):
    """A sweep of which cell 0 has failed, cell 1 runs, and cell 2 has not begun:
    what each verb says of each of them."""
    NOT_YET = r"cell S/2 has not begun, or .*: jobrun show S$"
    # Of a verb: the words; then of a failed, a running and a new cell.
    CELLS = {
        "show": ("W", (0, "FAILED after"), (0, "running"), (2, NOT_YET)),
        "top": ("W --once", (0, "has ended: failed"), (0, "rank"),
                (2, NOT_YET)),
        "logs": ("W", (0, "said 0"), (0, "said 1"), (2, NOT_YET)),
        "report": ("W", (0, "exited with code 3"),
                   (7, r"S/1 has no results \(jobrun show S/1 "),
                   (2, NOT_YET)),
        "wait": ("W --timeout 10ms", (1, "exited with code 3"),
                 (124, "still running"), (2, NOT_YET)),
        "diff": ("W S/0", (0, "the same|same"), (0, "env.N"), (2, NOT_YET)),
        "rerun": ("W --debug 7", None, None, (2, NOT_YET)),
        "stop": ("W", (0, "has already ended: failed"), None, (2, NOT_YET)),
    }
    SWEEPS = {
        "show": ("S", 0, r"^stages: 0 of 3 delivered, 1 failed, 1 running, "
                 r"1 not started"),
        "report": ("S", 0, r"1 failed, 1 running, 1 not started"),
        "wait": ("S --timeout 10ms", 124, "S is still running"),
        "runs": ("", 0, r"^running +- .* 0/3 +S$"),
        "prune": ("--keep 0", 0, "1 that has not finished was left alone"),
    }

    def setUp(self):
        super().setUp()
        self.write("stages.jobrun.yaml", BLOCKS.replace(
            "blocks", "stages").replace("[0, 1]", "[0, 1, 2]").replace(
            "parallel: 2", "parallel: 1").replace(
            "echo said $N;", "echo said $N; [ $N != 0 ] || exit 3;"))
        self.sweep = self.start("stages.jobrun.yaml", "--run-id", "S")
        log = self.folder / "runs/S/cells/0001/attempt_0/0/stdout.log"
        limit = time.monotonic() + harness.LIMIT
        while not log.exists() or "said 1" not in log.read_text():
            self.assertIsNone(self.sweep.poll())
            self.assertLess(time.monotonic(), limit)
            time.sleep(0.01)

    def check(self, verb, words, expected):
        done = self.jobrun(verb, *words.split())
        self.assertEqual(done.returncode, expected[0],
                         done.stdout + done.stderr)
        self.assertRegex(done.stdout + done.stderr,
                         re.compile(expected[1], re.M))

    def test_verbs_on_each_kind_of_cell(self):
        for verb, (words, *rows) in self.CELLS.items():
            for number, expected in enumerate(rows):
                with self.subTest(verb, cell=number):
                    if expected is not None:
                        self.check(verb, words.replace("W", f"S/{number}"),
                                   expected)
        for verb, (words, *expected) in self.SWEEPS.items():
            with self.subTest(verb):
                self.check(verb, words, expected)

    def rows(self, *words):
        return self.expect(self.jobrun("runs", "--cells", *words),
                           0).stdout.splitlines()

    def test_the_list_of_cells_has_all_of_them(self):
        rows = self.rows()
        self.assertEqual(len(rows), 4, rows)
        self.assertRegex(rows[1], r"^running +- +1 +\S+Z .* S/1$")
        self.assertRegex(rows[2], r"^failed +1 +1 +\S+Z .* S/0$")
        self.assertRegex(rows[3], r"^not_started +- +- +- +- +- +S/2$")
        self.assertEqual(self.rows("--columns", "vars.n,status", "--where",
                                   "status=not_started")[1:],
                         [f"{'S/2':9}2        not_started"])
        self.assertEqual(len(self.rows("--where", "vars.n<2")), 3)
        cells = json.loads("\n".join(self.rows("--json")))["runs"]
        self.assertEqual({key: cells[2][key] for key in
                          ("run_id", "name", "status", "exit_code", "started",
                           "seconds", "world_size", "values", "results",
                           "trusted")},
                         {"run_id": "S/2", "name": "stages",
                          "status": "not_started", "exit_code": None,
                          "started": None, "seconds": None,
                          "world_size": None, "values": {"vars.n": 2},
                          "results": {}, "trusted": True})
        self.assertEqual(len(self.rows("--top", "2")), 3)
        self.sweep.terminate()
        self.sweep.wait(harness.LIMIT)
        self.assertEqual([row.split()[0] for row in self.rows()[1:]],
                         ["stopped", "failed", "not_started"])

    def test_many_that_have_not_begun_are_in_their_order(self):
        self.sweep.terminate()
        self.sweep.wait(harness.LIMIT)
        spec = self.folder / "stages.jobrun.yaml"
        spec.write_text(spec.read_text().replace(
            "[0, 1, 2]", "{from: 0, to: 11}").replace("parallel: 1",
                                                      "stop_after: 1"))
        self.expect(self.jobrun("stages.jobrun.yaml", "--parallel", "1",
                                "--run-id", "T"), 1)
        self.assertEqual([row.split()[-1] for row in self.rows(
            "--where", "status=not_started", "--where", "run_id!=S/2")[1:]],
            [f"T/{number}" for number in range(11, 0, -1)])


class Live(harness.Case):
    """Cells that are running."""
    def setUp(self):
        super().setUp()
        self.write("blocks.jobrun.yaml", BLOCKS)
        self.sweep = self.start("blocks.jobrun.yaml", "--run-id", "S")
        for n in (0, 1):
            self.until(lambda: "said" in self.log(n))

    def log(self, n):
        path = self.folder / f"runs/S/cells/000{n}/attempt_0/0/stdout.log"
        return path.read_text() if path.exists() else ""

    def until(self, what):
        limit = time.monotonic() + harness.LIMIT
        while not what():
            self.assertLess(time.monotonic(), limit)
            time.sleep(0.01)

    def statuses(self):
        done = self.expect(self.jobrun("show", "S", "--json"), 0)
        return [cell["status"] for cell in json.loads(done.stdout)["cells"]]

    def test_one_cell_is_stopped(self):
        done = self.expect(self.jobrun("stop", "S/0"), 0)
        self.assertIn("stopped", done.stderr)
        self.assertEqual(self.statuses(), ["stopped", "running"])
        self.expect(self.jobrun("wait", "S/1", "--timeout", "10ms"), 124)
        (self.folder / "go.1").touch()
        self.expect(self.jobrun("wait", "S/1"), 0)
        self.assertEqual(self.sweep.wait(harness.LIMIT), 1)
        self.assertEqual(self.statuses(), ["stopped", "succeeded"])

    def test_one_cell_is_followed(self):
        follow = self.start("logs", "S/1", "--follow")
        self.expect(self.jobrun("top", "S/1", "--once"), 0)
        shown = json.loads(self.expect(self.jobrun("show", "S/1", "--json"),
                                       0).stdout)
        self.assertEqual(shown["status"], "running")
        (self.folder / "go.1").touch()
        self.assertIn("said 1", follow.communicate(timeout=harness.LIMIT)[0])
        self.assertEqual(self.statuses()[0], "running")
        self.sweep.send_signal(signal.SIGTERM)
        self.assertEqual(self.sweep.wait(harness.LIMIT), 128 + signal.SIGTERM)


if __name__ == "__main__":
    harness.main()
