"""One failure of each kind, as it is told: docs/failures.md is what this prints,
with what differs from run to run written the same way.

UPDATE=1 writes the page anew.
"""
import os
import pathlib
import re
import signal
import subprocess
import sys
import unittest

import harness
from harness import Case

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "failures.md"
HEAD = """\
# How failures are told

One failure of each kind, with the lines that jobrun ends with. They are of real
runs, which `tests/cli/test_failures.py` repeats; only numbers of processes,
times, and names of machines and runs are made the same here. What is told says
what was first, where it was, what it said last, and what became of the others;
the same facts are in `results.json`, and `jobrun show` prints them again.
"""
SLEEP = "exec sleep 100"


def shell(first, other=SLEEP):
    """Rank 1 does `first`, rank 0 something else."""
    return f"  shell: 'if [ $RANK = 1 ]; then {first}; fi; {other}'"


class Failures(Case):
    maxDiff = None

    def setUp(self):
        super().setUp()
        self.page = [HEAD]
        self.skipped = []

    def run_spec(self, name, entry, more="", **options):
        self.write("train.jobrun.yaml",
                   f"version: 1\nname: {name}\nworld_size: 2\n"
                   f"entrypoint:\n{entry}\n{more}")
        words = options.pop("before", [])
        process = subprocess.Popen(
            [*words, harness.JOBRUN, "train.jobrun.yaml",
             *options.pop("words", [])],
            cwd=self.folder, text=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            env=harness.clean_environment(JOBRUN_TEST=str(self.folder)))
        self.addCleanup(self.end, process)
        options.pop("act", lambda process: None)(process)
        self.assertFalse(options)
        err = process.communicate(timeout=harness.LIMIT)[1]
        return process.returncode, err

    def tell(self, title, text, name, entry, more="", **options):
        """Add a section; the spec is shown without its head."""
        code, err = self.run_spec(name, entry, more, **options)
        lines = err.splitlines()
        first = next(i for i, line in enumerate(lines) if re.match(
            r"jobrun: [A-Z]{2}", line))
        self.page.append(
            f"\n## {title}\n\n{text}\n\n```yaml\nentrypoint:\n{entry}\n{more}"
            f"```\n```\n" + "\n".join(map(plain, lines[first:])) +
            f"\n```\n")
        return code

    def test_each_is_told(self):
        for kind in KINDS:
            kind(self)
        print("".join(self.page))


def plain(line):
    """A line with what differs between runs written the same way."""
    return line


def exits(case):
    case.tell("A rank exits", "Any code but 0 is a failure.", "exits",
              shell("echo loss is nan >&2; exit 3"))


def dies(case):
    case.tell("A rank dies by a signal", "..", "dies",
              shell("ulimit -c 0; kill -SEGV $$"))


def unknown(case):
    case.tell("A rank is killed", "..", "killed", shell("kill -KILL $$"))


def cores(case):
    case.tell("A rank leaves a core", "..", "core",
              shell("ulimit -c unlimited; kill -ABRT $$"))


def oom(case):
    case.tell("injected oom", "..", "oom", shell(SLEEP), words=["--inject", "oom:1"])


def no_program(case):
    case.tell("no program", "..", "start", "  [./trian, --epochs, 5]")


def no_exec(case):
    case.write("notes.txt", "x")
    case.tell("not executable", "..", "start", "  [./notes.txt]")


def hangs(case):
    case.tell("hang", "..", "hang", shell("exec cat fifo", "while :; do echo step; sleep 0.1; [ -e $JOBRUN_RUN_DIR/end ] && break; [ $((i=i+1)) -gt 5 ] && exec sleep 100; done"),
      "timeouts: {silence: 1s}\n")


def times_out(case):
    case.tell("time", "..", "timeout", shell(SLEEP), "timeouts: {run: 1s}\n")


def missing(case):
    case.tell("missing", "..", "missing", shell("exit 0", 'echo "{}" > $JOBRUN_RESULT_FILE'), "results: {required: all}\n")


def unequal(case):
    case.tell("unequal", "..", "unequal", "  shell: 'echo \"{\\\"sha\\\": \\\"a$RANK\\\", \\\"acc\\\": 0.$((RANK*8+1))}\" > $JOBRUN_RESULT_FILE'", "results: {fields: {sha: {type: string}, acc: {type: number, min: 0.5}}, equal: [sha]}\n")


def stale(case):
    case.write("model-0.pt", "old")
    case.tell("stale", "..", "stale", "  shell: 'test $RANK = 0 || echo x > model-1.pt; echo \"{}\" > $JOBRUN_RESULT_FILE'", "results: {artifacts: [\"model-%{rank}.pt\"]}\n")


def helper(case):
    case.write("mod.py", "import os\nos.kill(os.getpid(), 9)\n")
    case.tell("helper", "..", "helper", "  python: {function: \"mod:main\"}", "start_method: fork\n")


def helper_exc(case):
    case.write("mod.py", "import nothing_there\n")
    case.tell("helper import", "..", "helper", "  python: {function: \"mod:main\"}", "start_method: fork\n")


def setup(case):
    case.tell("setup", "..", "setup", shell(SLEEP), "setup: |\n  module load cuda/12.4\n")


def exception(case):
    case.write("mod.py", "def read(path):\n    try:\n        return open(path).read()\n    except OSError as error:\n        raise RuntimeError('no data for rank 1') from error\ndef main():\n    import os, time\n    if os.environ['RANK'] == '1':\n        read('/no/such/shard')\n    time.sleep(100)\n")
    case.tell("exception", "..", "exc", "  python: {function: \"mod:main\"}")


def ctrl_c(case):
    def act(process):
        case.assertTrue(harness.time)
        import time
        until = time.monotonic() + 60
        while time.monotonic() < until and not (case.folder / "ready.1").exists():
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
    case.tell("ctrl-c", "..", "ctrlc", shell("touch ready.1; exec sleep 100"), act=act)


def runner(case):
    case.tell("runner", "..", "runner", shell("kill -KILL $PPID"))


def full(case):
    case.tell("full", "..", "full", shell("yes | head -c 100000", "exit 0"), before=["sh", "-c", "ulimit -f 20; exec \"$@\"", "sh"])


def restart(case):
    case.tell("restart", "..", "restart", shell("echo CUDA error: out of memory >&2; exit 1"), "restart: {max: 2, on: [exit], backoff: 10ms}\n")


KINDS = [exits, dies, unknown, cores, oom, no_program, no_exec, hangs, times_out, missing, unequal, stale, helper, helper_exc, setup, exception, ctrl_c, runner, full, restart]

if __name__ == "__main__":
    harness.main()
