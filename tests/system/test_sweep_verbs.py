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
    "stop": ("W", (0, "2 of 3 delivered"),
             (0, r"S/2 has already ended: failed \(jobrun show S/2")),
    "rerun": ("W", (2, NAME_ONE), (1, "exited with code 3")),
    "diff": ("W S/0", (2, NAME_ONE), (0, r"results\.loss +- +3")),
    "prune": ("--dry-run --keep 0", (0, "^S$"), None),
    "runs": ("--where run=S", (0, r"^failed .*2/3 +S$"), None),
    "run": ("scan.jobrun.yaml --resume=W", (1, "2 of 3 cells delivered"), None),
}
# These take specs, which --cell makes one run of, or nothing that is a run.
OTHERS = {"validate", "resolve", "plan", "render", "submit", "new", "explain",
          "doctor", "schema", "completion", "help", "version", "migrate",
          "agent"}
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
