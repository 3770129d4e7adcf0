"""What jobrun prints and writes as JSON is what the schemas of it say: findings,
the events of runs, and the record of a sweep. (The other schemas have their tests beside the writers.)
"""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

try:
    import jsonschema
except ImportError as error:
    print(f"SKIPPED: {error}: install python3-jsonschema")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parents[2]
JOBRUN = os.environ["JOBRUN"]
LIMIT = 60  # seconds that any command may take


def load(name):
    schema = json.loads((ROOT / f"schemas/{name}-v1.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return schema


def strict(schema):
    """The schema with no room for keys that it does not list."""
    if isinstance(schema, dict):
        if "properties" in schema and "oneOf" not in schema:
            schema["unevaluatedProperties"] = False
        for value in schema.values():
            strict(value)
    elif isinstance(schema, list):
        for value in schema:
            strict(value)
    return schema


class Case(unittest.TestCase):
    def check(self, schema, value):
        errors = list(
            jsonschema.Draft202012Validator(schema).iter_errors(value))
        self.assertEqual(
            [f"{error.json_path}: {error.message}" for error in errors], [])


class Diagnostics(Case):
    def setUp(self):
        self.schema = strict(load("diagnostics"))

    def report(self, form, *words):
        done = subprocess.run(
            [JOBRUN, "validate", "--format", form, *map(str, words)],
            capture_output=True, text=True, timeout=LIMIT)
        self.assertEqual(done.stderr, "")
        return done.stdout

    def test_a_report_without_findings(self):
        self.check(self.schema, json.loads(
            self.report("json", ROOT / "examples/jobs/digits.jobrun.yaml")))

    def test_every_finding(self):
        paths = sorted(ROOT.glob("tests/golden/err/*/spec.yaml"))
        paths += sorted(ROOT.glob("tests/golden/fix/*/spec.yaml"))
        self.assertGreater(len(paths), 50)
        with tempfile.TemporaryDirectory() as empty:
            report = json.loads(self.report("json", "absent", empty, *paths))
        self.check(self.schema, report)
        for found in report["diagnostics"]:
            text = (ROOT / found["file"]).read_bytes() if found["line"] else b""
            self.assertLessEqual(found["line"] or 0, len(text.splitlines()) + 1)

    def test_every_line(self):
        lines = self.report("jsonl", ROOT / "tests/golden/fix/words/spec.yaml")
        schema = {**self.schema, "$ref": "#/$defs/diagnostic"}
        for key in ("required", "properties", "unevaluatedProperties"):
            del schema[key]
        self.assertGreater(len(lines.splitlines()), 5)
        for line in lines.splitlines():
            self.check(schema, json.loads(line))


class Events(Case):
    def setUp(self):
        self.schema = load("events")
        for row in self.schema["oneOf"]:
            row["properties"].update(time=True, ns=True)
            row["unevaluatedProperties"] = False
        folder = tempfile.TemporaryDirectory(prefix="jobrun test ")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def known(self):
        return {row["properties"]["event"]["const"]
                for row in self.schema["oneOf"]}

    def test_each_event_of_the_schema_is_written_somewhere(self):
        """The schema is of the table; a row that nobody uses is none."""
        source = "".join(path.read_text()
                         for path in sorted((ROOT / "src").rglob("*.c")))
        # but where readers ask whether it is this one
        added = {name.lower() for name in re.findall(
            r"(?<!== )(?<!!= )(?<!case )(?<!\[)JR_EVENT_(?!IS_)([A-Z_]+)", source)}
        self.assertEqual(added, self.known())

    def start(self, *words, spec="", options=()):
        command = [JOBRUN, "-n", "2", "--", *words]
        if spec:
            path = self.folder / "a.jobrun.yaml"
            path.write_text("version: 1\nworld_size: 2\n" + spec)
            command = [JOBRUN, path, *options]
        process = subprocess.Popen(command, cwd=self.folder, text=True,
                                   stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT)
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        if process.poll() is None:
            process.terminate()
            process.wait(LIMIT)
        process.stdout.close()

    def events(self):
        """All events so far, held to the schema; their names."""
        names = set()
        for path in self.folder.glob("runs/2*/events.jsonl"):
            for line in path.read_text().splitlines():
                event = json.loads(line)
                self.check(self.schema, event)
                names.add(event["event"])
        return names

    def test_events_of_runs(self):
        self.start("true").wait(LIMIT)
        self.start("sh", "-c", "sleep 60 &").wait(LIMIT)
        self.start("sh", "-c", "kill -9 $$").wait(LIMIT)
        self.start("/nonexistent/program").wait(LIMIT)
        self.start(spec="entrypoint: [true]\nsetup: kill $$\n").wait(LIMIT)
        self.start(spec="entrypoint: {shell: exec sleep 60}\n"
                   "restart: {max: 1, backoff: 1ms}\n",
                   options=["--inject", "exit:0=3#*"]).wait(LIMIT)
        self.start(spec="entrypoint: {shell: sleep 60}\nsetup: echo\n"
                   "timeouts: {run: 100ms}\n").wait(LIMIT)
        self.start(spec="entrypoint: {python: {function: 'json:dumps'},"
                   " args: [1]}\n").wait(LIMIT)
        self.start(spec="entrypoint: {shell: sleep 60}\n"
                   "timeouts: {silence: 100ms}\n"
                   "on_hang: {command: [/nonexistent/program]}\n").wait(LIMIT)
        with open(self.folder / "threads.py", "w") as file:
            file.write("import threading\nthreading.Thread(\n"
                       "    target=threading.Event().wait,"
                       " daemon=True).start()\n")
        self.start(spec="entrypoint: {python: {function: 'json:dumps'},"
                   " args: [1]}\nstart_method: forkserver\n"
                   "preload: [threads]\n").wait(LIMIT)
        self.start(spec="entrypoint: {shell: exec sleep 60}\n"
                   "timeouts: {run: 60s}\n"
                   "deadline: {before: 59900ms}\n").wait(LIMIT)
        self.start(spec="entrypoint: {shell: '[ $JOBRUN_ATTEMPT = 1 ] ||"
                   " exec sleep 60'}\nrequeue: {max: 1}\n",
                   options=["--inject", "preempt@300ms"]).wait(LIMIT)
        self.start(spec="progress: {pattern: 'step (?<step>\\w+)'}\n"
                   "entrypoint: [echo, step one]\n").wait(LIMIT)
        self.mpi_worlds()
        for path in self.folder.glob("runs/2*/attempt_0/*/hang.json"):
            self.check(load("hang"), json.loads(path.read_text()))
        self.signalled()
        self.killed()
        self.assertEqual(
            self.events(),
            self.known() - {"guard_lost", "runner_lost", "log_failed",
                            "node_apart", "node_lost", "agents"})

    def mpi_worlds(self):
        """What ranks of MPI programs say of themselves."""
        client = ROOT / "tests/system/mpi/pmi.py"
        for acts in (["init", "exchange", "1:spawn", "finalize"],
                     ["init", "1:abort=3", "barrier"],
                     ["init", "1:abort=739859215", "barrier"],
                     ["init", "1:garbage", "1:hang", "barrier"],
                     ["init", "1:exit=0", "barrier"]):
            self.start(spec=f"entrypoint: {json.dumps(['python3', str(client), *acts])}\n"
                       "mpi: pmi1\n").wait(LIMIT)

    def signalled(self):
        """A rank says when it is there; then both kinds of signals come."""
        process = self.start("sh", "-c", "trap 'echo got' USR1; echo ready; "
                             "while :; do sleep 1 & wait $!; done")
        for awaited, number in (("ready", signal.SIGUSR1),
                                ("got", signal.SIGTERM)):
            self.read_until(process, awaited, times=2)
            process.send_signal(number)
        process.stdout.read()
        process.wait(LIMIT)

    def killed(self):
        process = self.start(
            spec="entrypoint: {shell: trap '' TERM; echo ready; sleep 60}\n"
            "timeouts: {stop_grace: 100ms}\n")
        self.read_until(process, "ready", times=2)
        process.terminate()
        process.stdout.read()
        process.wait(LIMIT)

    def read_until(self, process, text, times):
        for line in process.stdout:
            times -= text in line
            if times == 0:
                return
        self.fail(f"no {text}")



class Sweeps(Case):
    """sweep.json, and what `show` makes of it, at each stage of a sweep."""
    SPEC = """\
version: 1
world_size: 1
device: cpu
vars: {n: 0}
env: {N: "${vars.n}"}
entrypoint:
  shell: |
    case $N in
      1) exit 3;;
      2) : > begun; read word < gate;;
    esac
    echo "{\\"loss\\": $N.5, \\"word\\": \\"x\\"}" > "$JOBRUN_RESULT_FILE"
results: {fields: {loss: {type: number}}}
"""
    AXES = """\
sweep:
  axes: {vars.n: [%s], "threads,timeouts.run": [[1, 1h]]}
  best: {field: loss, goal: min}
"""

    def setUp(self):
        self.schema = strict(load("sweep"))
        folder = tempfile.TemporaryDirectory(prefix="jobrun test ")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        os.mkfifo(self.folder / "gate")
        self.gate = os.open(self.folder / "gate", os.O_RDWR)
        self.addCleanup(os.close, self.gate)

    def sweep(self, *words, part):
        (self.folder / "a.jobrun.yaml").write_text(self.SPEC + part)
        return subprocess.Popen(
            [JOBRUN, "a.jobrun.yaml", *words], cwd=self.folder,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)

    def looked(self):
        """The file, and what `show` prints, both held to the schema."""
        file = json.loads(
            (self.folder / "runs/latest/sweep.json").read_text())
        shown = json.loads(subprocess.run(
            [JOBRUN, "show", "latest", "--format", "json"], cwd=self.folder,
            capture_output=True, text=True, timeout=LIMIT).stdout)
        self.check(self.schema, file)
        self.check(self.schema, shown)
        return file, shown

    def test_each_stage_is_what_the_schema_says(self):
        sweep = self.sweep("--parallel", "1", part=self.AXES % "0, 1, 2, 3")
        until = time.monotonic() + LIMIT
        while not (self.folder / "begun").exists():
            self.assertLess(time.monotonic(), until)
            time.sleep(0.01)
        _, shown = self.looked()
        self.assertEqual(shown["counts"], {"succeeded": 1, "failed": 1,
                                           "running": 1, "not_started": 1})
        os.write(self.gate, b"go\n")
        sweep.wait(LIMIT)
        file, shown = self.looked()
        self.assertEqual(file, shown)
        self.assertEqual(file["best"]["cell"], 0)
        os.write(self.gate, b"go\n")
        self.sweep("--resume", part=self.AXES % "2, 3, 4").wait(LIMIT)
        file, _ = self.looked()
        self.assertEqual([cell["cell"] for cell in file["former"]], [0, 1])


if __name__ == "__main__":
    unittest.main()
