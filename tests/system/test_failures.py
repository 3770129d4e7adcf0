"""One failure of each kind, as it is told: docs/failures.md is what this makes
anew, with what differs from run to run written the same way.

UPDATE=1 writes the page.
"""
import os
import pathlib
import re
import signal
import subprocess
import time

import harness

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "failures.md"
HEAD = """\
# How jobrun reports failures

This page shows one failure of each kind, with the last lines that jobrun
prints. The lines are from real runs, which `tests/system/test_failures.py`
repeats; only process numbers, times, folders and the names of hosts and runs
are replaced. Each report says which rank failed first and where, its last
output, what happened to the other ranks, and where to look. `jobrun show`
prints the same again, and `results.json` has the same facts. The exit statuses
are those of `jobrun --help`.

Programs should read `results.json` instead of these sentences. `root_cause`
has the kind of failure. `timed_out_by` and `timeout_seconds` name the field of
`timeouts` that ended the run, and its value. For each rank, `end` says how it
ended (`exited`, `signaled`, `start`, `lost`), beside its exit code or signal;
`stage` and `errno` say which step of its start failed, and `oom` whether the
kernel killed it because memory ran out. `schemas/results-v1.schema.json`
describes all of it, and `schemas/events-v1.schema.json` the lines of
`events.jsonl`.

## Which rank was first

When a rank fails, its peers soon fail too. The report names the rank that failed
first, as far as that can be known:

- **Deaths are in the kernel's order.** Each rank holds one end of a pipe, the
  *life line*, as its highest file descriptor (1000, or one less than its limit).
  The kernel closes it first when the process dies, before any socket that a peer
  could notice. This holds whatever the signal or the exit code. It says nothing of
  a rank whose child process still has the descriptor, of one that closed all its
  descriptors and went on, or where the limit is below 64: for these, the order in
  which they were seen to end counts, with 20 ms of doubt.
- **Python entrypoints announce how they end** (functions, scripts and modules, but
  not commands such as `[python3, train.py]`): an uncaught exception, or an exit with
  another code than 0, before `atexit`, destructors and other threads let go of any
  connection. Announcements and life lines of one node are in one order.
- **A rank may let go of its peers before its failure can be seen:** `finally` and
  `with` close its connections, or its program runs under a shell. So after a failure
  jobrun waits 20 ms, and longer while others fail by themselves, before it stops the
  other ranks; 500 ms at most. It does not wait where a signal killed the rank. If at
  least three ranks failed, and all but one in the same way, that one is the cause.
- **An exception of a kind that only a lost connection causes** gives way to a
  failure of another kind within 20 ms, and to a rank that left without its result.
  The type and the message of an uncaught exception count for this, never a line of a
  log.

What cannot be told apart is told together (`together` in results.json). So are two
ranks, where only these failed, and within 20 ms: the one that was seen first may
have noticed that the other one let go of it. They are told apart where the first one
was killed by a signal, or the second one lost its connection. Between
nodes, times are compared with 20 ms of doubt, or with the error of their clocks
where that is larger. A peer that waits for a POSIX record lock, or for a robust
mutex, of the rank that died may be seen first: the kernel gives these away before it
closes files.
"""
WAIT = "exec sleep 100"
LOSES = """sleep 1; exec python3 -c 'raise ConnectionResetError("rank 1 has gone")'"""
# What differs between runs and machines, and what stands for it.
SAME = [
    (r"\bpid \d+", "pid 51234"),
    (r"(node \d+) \([^)]*\)", r"\1 (gpu07)"),
    (r"\d{8}-\d{6}-([a-z]+)-[0-9a-f]{4}", r"20261121-070102-\1-91bc"),
    (r"\b(after|silent for) \d+(\.\d+)? m?s", r"\1 1.2 s"),
    (r"waiting in \w+( \(\w+\))?|waiting(?= *,)", "waiting in read (pipe_read)"),
    (r" {2,}(exit status \d+|\(jobrun |\w+\.py:\d+ in )", r"   \1"),
]


def shell(first, other=WAIT):
    """An entrypoint of which rank 1 does `first`, and rank 0 something else."""
    return ("entrypoint:\n  shell: |\n    if [ $RANK = 1 ]; then\n"
            f"      {first}\n    fi\n    {other}\n")


def function(start_method=None):
    method = f"start_method: {start_method}\n" if start_method else ""
    return f"entrypoint: {{python: {{function: 'mod:main'}}}}\n{method}"


class Failures(harness.Case):
    maxDiff = None

    def run_spec(self, spec, words=(), before=(), act=None):
        self.write("job.jobrun.yaml", spec)
        process = subprocess.Popen(
            [*before, harness.JOBRUN, "job.jobrun.yaml", *words],
            cwd=self.folder, text=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            env=harness.clean_environment(ASAN_OPTIONS="detect_leaks=0"))
        self.addCleanup(self.end, process)
        if act:
            act(process)
        return process.communicate(timeout=harness.LIMIT)[1]

    def told(self, err, brief):
        """The last lines of jobrun, made the same."""
        lines = err.replace(str(self.folder), "/jobs").splitlines()
        starts = [i for i, line in enumerate(lines)
                  if re.match(r"jobrun: [A-Z]{2}", line)]
        self.assertTrue(starts, err)
        lines = lines[starts[0]:]
        for pattern, same in SAME:
            lines = [re.sub(pattern, same, line) for line in lines]
        if brief:  # all but the last line of a traceback is Python's affair
            quoted = [i for i, line in enumerate(lines)
                      if line.startswith("    |")]
            lines[quoted[0]:quoted[-1]] = ["    | ..."]
        return "\n".join(line.rstrip() for line in lines)

    def section(self, title, text, spec, brief=False, ranks=2, **how):
        whole = (f"version: 1\nname: train\nworld_size: {ranks}\n"
                 f"oversubscribe: true\n{spec}")
        told = self.told(self.run_spec(whole, **how), brief)
        return f"\n## {title}\n\n{text}\n\n```yaml\n{spec}```\n```\n{told}\n```\n"

    def wait_for(self, *names):
        until = time.monotonic() + harness.LIMIT
        while not all((self.folder / name).exists() for name in names):
            self.assertLess(time.monotonic(), until, names)
            time.sleep(0.01)

    def check(self, *sections):
        """Hold the page's sections to these, or write them."""
        page = PAGE.read_text() if PAGE.exists() else ""
        for section in sections:
            title = section.split("\n")[1]
            old = re.search(r"\n" + re.escape(title) + r"\n.*?(?=\n## |\Z)",
                            page, re.S)
            if os.environ.get("UPDATE") != "1":
                self.assertIsNotNone(old, f"{PAGE} has no {title}")
                self.assertEqual(old.group(0).rstrip(), section.rstrip())
            elif old:
                page = page.replace(old.group(0).rstrip(), section.rstrip())
            else:
                page = (page or HEAD).rstrip() + "\n" + section
        if os.environ.get("UPDATE") == "1":
            PAGE.write_text(page)

    def test_01_ends(self):
        self.check(
            self.section("A rank exits",
                         "It exits with a code other than 0, and the other "
                         "ranks are stopped. With\n`on_failure: continue` they "
                         "go on, and the job fails all the same; ranks that "
                         "are\none world of MPI are [stopped even then]"
                         "(mpi.md#what-the-report-says).",
                         shell("echo loss is NaN at step 120 >&2; exit 3")),
            self.section("A rank dies by a signal",
                         "In this example the rank sent the signal to "
                         "itself, as a segmentation fault does.",
                         shell("ulimit -c 0; kill -SEGV $$")),
            self.section("A rank is killed",
                         "The kernel does not report who sent the signal.",
                         shell("kill -KILL $$")))

    def test_02_core(self):
        section = self.section(
            "A rank leaves a core",
            "It can do so only if the limits and the machine allow it.",
            shell("ulimit -c unlimited; kill -ABRT $$"))
        if "core dumped" not in section:
            self.skipTest("SKIPPED: no core dumps here")
        self.check(section)

    def test_02_early(self):
        self.check(self.section(
            "A rank leaves early",
            "It exits with 0 while the others still need it: they lose their "
            "connections, and\nfail. The report knows such failures by the type "
            "of the exception (`lost_peer` in\nresults.json), and names the "
            "rank that left (`early`).",
            shell("exit 0", LOSES)))

    def test_02_left(self):
        self.check(self.section(
            "A rank leaves without its result",
            "Here the ranks have a result to deliver, and the one that left has "
            "not: it is the\nroot cause (`root_cause.kind` is `result`), and what "
            "the others lost follows from it.",
            shell("exit 0", LOSES) + "results: {from: file}\n"))

    def test_03_rehearsed(self):
        self.check(self.section(
            "A failure is rehearsed",
            "This example uses `--inject oom:1`.",
            f"entrypoint: {{shell: {WAIT}}}\n", words=["--inject", "oom:1"]))

    def test_03_memory(self):
        group = harness.limited_group(self)
        eater = "python3 -c 'print(len(bytearray(256 << 20)))'"
        section = self.section(
            "A rank gets no memory",
            "jobrun learns this from the counters of the control group, or "
            "from the kernel's log.", shell("exec " + eater),
            before=["sh", "-c", f"echo $$ > '{group}/cgroup.procs'; exec "
                    '"$@"', "sh"])
        if "OOM-killed" not in section:
            self.skipTest("SKIPPED: the limit does not hold here: " + section)
        self.check(section)

    def test_04_start(self):
        self.write("notes.txt", "x")
        self.write("train", "x")
        self.check(
            self.section("A program is not there",
                         "No other rank is started.",
                         "entrypoint: [./trian, --epochs, 5]\n"),
            self.section("A program may not be executed",
                         "The file is not marked as executable.",
                         "entrypoint: [./notes.txt]\n"),
            self.section("A setup fails",
                         "The setup runs once, before all ranks.",
                         f"setup: module load cuda/12.4\n{shell(WAIT)}"))

    def test_05_time(self):
        self.check(
            self.section("A run hangs",
                         "No rank writes anything. Rank 1 differs from the "
                         "others: it computes, and they wait.",
                         shell("while :; do :; done") +
                         "timeouts: {silence: 3s}\n", ranks=3),
            self.section("A run takes too long",
                         "The ranks are still working, but the time is up.",
                         f"entrypoint: {{shell: {WAIT}}}\n"
                         "timeouts: {run: 3s}\n"))

    def test_06_results(self):
        self.write("model-0.pt", "of yesterday")
        self.write("leaves.py", "import jobrun, os\n\n\ndef main():\n"
                   "    jobrun.result({'loss': 0.1})\n    os._exit(0)\n")
        deliver = 'echo "{\\"loss\\": 0.$((RANK + 1))}" > $JOBRUN_RESULT_FILE'
        entry = f"entrypoint:\n  shell: |\n    {deliver}\n"
        self.check(
            self.section("A result is missing", "All ranks exited with 0.",
                         shell("exit 0", deliver) + "results: {}\n"),
            self.section("A result is not what it may be",
                         "One field is out of bounds.",
                         entry + "results:\n  fields: "
                         "{loss: {type: number, max: 0.1}}\n"),
            self.section("Results are not equal",
                         "The spec requires this field to be the same on "
                         "all ranks.",
                         entry + "results: {equal: [loss]}\n"),
            self.section("A function does not return",
                         "A result that it left behind before it ended does "
                         "not count.",
                         "entrypoint: {python: {function: 'leaves:main'}}\n"),
            self.section("An artifact is stale",
                         "The file was already there before the start, and "
                         "the rank did not write it again.",
                         shell("echo new > model-1.pt", deliver) +
                         "results: {artifacts: ['model-%{rank}.pt']}\n"))

    def test_07_python(self):
        self.write("mod.py", """\
import os
import time


def read(path):
    try:
        return open(path).read()
    except OSError as error:
        raise RuntimeError("no data for this rank") from error


def main():
    if os.environ["RANK"] == "1":
        read("/data/shard-1")
    time.sleep(100)
""")
        raises = self.section("A function raises",
                              "The report also shows the exception that "
                              "caused it.", function(), brief=True)
        self.write("mod.py", "import tensorflaw\n")
        imports = self.section("An import fails in the helper",
                               "The ranks would have been forked from this "
                               "helper.",
                               function("fork"), brief=True)
        self.write("mod.py", "import os\nos.kill(os.getpid(), 9)\n")
        self.check(raises, imports, self.section(
            "The helper is lost",
            "The helper was killed before it was ready.", function("fork")))

    def test_08_stop(self):
        def interrupt(process):
            self.wait_for("ready.0", "ready.1")
            process.send_signal(signal.SIGINT)
        self.check(
            self.section("It is interrupted", "Somebody pressed Ctrl-C.",
                         "entrypoint:\n  shell: |\n    touch ready.$RANK\n"
                         f"    {WAIT}\n", act=interrupt),
            self.section("jobrun itself is killed",
                         "jobrun consists of two processes that watch each "
                         "other: the guard, which is the process that you "
                         "started, and its child, the runner. If one of "
                         "them is killed, the other kills the processes "
                         "that are left and completes the record. In this "
                         "example the runner is killed. If the guard is "
                         "killed, nothing is printed, because its caller "
                         "already sees its end; `jobrun show` and `jobrun "
                         "wait` then print that \"jobrun's guard (pid 4711) "
                         "was killed by SIGKILL\", and results.json has it "
                         "under `root_cause` and `jobrun_killed`.",
                         shell("until grep -q '\"rank\":1' "
                               "\"$JOBRUN_RUN_DIR/events.jsonl\"; do sleep 0.1; "
                               "done; kill -KILL $PPID")))

    def test_09_logs(self):
        limit = ["sh", "-c", 'ulimit -f 20; exec "$@"', "sh"]
        self.check(self.section(
            "A log cannot be written",
            "The disk is full, or, as in this example, a file size limit is "
            "reached. The job continues, and the report says at the end "
            "what is missing. The console shows the streams whole, if they are "
            "shown there: it has the only copy of what no file takes, and the "
            "ranks wait for it if nobody reads it. jobrun reserves space for "
            "run.json and "
            "results.json before the first rank starts. Results that need "
            "more space stay in the ranks' own files, and the report says "
            "so.",
            shell("yes | head -c 100000; exit 0", "exit 0") + "tee: all\n",
            before=limit))

    def test_10_restarts(self):
        self.check(self.section(
            "Starting again does not help",
            "The last attempt decides; the report lists the others.",
            shell("echo CUDA error: out of memory >&2; exit 1") +
            "restart: {max: 2, on: [exit], backoff: 10ms}\n"))


if __name__ == "__main__":
    harness.main()
