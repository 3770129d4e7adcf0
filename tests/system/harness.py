"""What the command-line tests share: a scratch copy of the examples, a way to
run jobrun with a bound on every wait, and readers of what it wrote.

JOBRUN names the program, EXAMPLES the folder with the examples, and DIGITS the
example's own program.
"""
import contextlib
import json
import os
import pathlib
import resource
import shutil
import socket
import subprocess
import tempfile
import time
import unittest

JOBRUN = os.environ["JOBRUN"]
EXAMPLES = pathlib.Path(os.environ["EXAMPLES"])
LIMIT = 180  # seconds that any command may take, under a sanitizer beside other load


def clean_environment(**extra):
    """The caller's environment without what a scheduler or a launcher would
    have left in it, or what jobrun sets of itself."""
    dropped = ("RANK", "WORLD_SIZE", "LOCAL_", "MASTER_", "SLURM_", "OMP_",
               "TORCH", "CUDA_", "JOBRUN_", "NO_COLOR", "CLICOLOR", "COLUMNS",
               "PYTHONUNBUFFERED")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(dropped)}
    kept.update({"TERM": "dumb", "LC_ALL": "C.UTF-8", **extra})
    return kept


def free_port():
    """A port that jobrun, in other tests too, does not choose by itself."""
    with socket.socket() as any_one:
        any_one.bind(("127.0.0.1", 0))
        return any_one.getsockname()[1]


def preload(case, library):
    """LD_PRELOAD for a library of the build, by a copy of it: a blank ends a name
    there (ld.so(8))."""
    folder = tempfile.mkdtemp(prefix="preload-")
    case.addCleanup(shutil.rmtree, folder)
    return {"LD_PRELOAD": shutil.copy(os.environ[library], folder)}


def children(pid):
    """Those that a process has by now."""
    path = pathlib.Path(f"/proc/{pid}/task/{pid}/children")
    return [int(word) for word in path.read_text().split()]


def name_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:  # it has ended meanwhile
        return ""


def runner_of(pid):
    """The child of jobrun that has the ranks; git may be another. The list of
    children may lack some while another one ends (proc(5))."""
    until = time.monotonic() + LIMIT
    while time.monotonic() < until:
        for child in children(pid):
            if name_of(child) == "jobrun-runner":
                return child
        time.sleep(0.01)
    raise AssertionError(f"{pid} has no runner")


def remove_group(group):
    """Once its processes have gone."""
    until = time.monotonic() + LIMIT
    while group.exists() and time.monotonic() < until:
        try:
            group.rmdir()
        except OSError:
            time.sleep(0.01)


def limited_group(case):
    """A memory group of version 1 or 2 with 64 MiB."""
    for root, most, extra in (
            ("/sys/fs/cgroup/memory", "memory.limit_in_bytes",
             "memory.memsw.limit_in_bytes"),
            ("/sys/fs/cgroup", "memory.max", "memory.swap.max")):
        group = pathlib.Path(root) / f"jobrun-test-{os.getpid()}"
        try:
            group.mkdir()
        except OSError:
            continue
        case.addCleanup(remove_group, group)
        try:
            (group / most).write_text(str(64 << 20))
        except OSError:
            continue
        with contextlib.suppress(OSError):
            (group / extra).write_text(
                "0" if "swap.max" in extra else str(64 << 20))
        return group
    case.skipTest("SKIPPED: no memory group can be made here")


class Case(unittest.TestCase):
    """A test with a scratch folder, which is also where jobrun starts."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="jobrun test "))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def copy_examples(self):
        """The examples beside a build folder, as in the repository."""
        shutil.copytree(EXAMPLES, self.folder / "examples" / "jobs",
                        ignore=shutil.ignore_patterns("runs"))
        (self.folder / "build").mkdir()
        shutil.copy(os.environ["DIGITS"], self.folder / "build" / "digits")
        built = pathlib.Path(os.environ["DIGITS"]).parent / "examples" / "jobs"
        (self.folder / "build" / "examples" / "jobs").mkdir(parents=True)
        for library in built.glob("*.so"):
            shutil.copy(library, self.folder / "build" / "examples" / "jobs")
        return self.folder / "examples" / "jobs"

    def jobrun(self, *words, cwd=None, env=None, stdin=subprocess.DEVNULL):
        """Run to the end; a run that does not end is a failure."""
        return subprocess.run(
            [JOBRUN, *map(str, words)], cwd=cwd or self.folder, text=True,
            env=clean_environment(**(env or {})), stdin=stdin,
            capture_output=True, timeout=LIMIT, errors="surrogateescape")

    def start(self, *words, cwd=None, env=None, **options):
        """Start and return a Popen, which is ended with the test."""
        process = subprocess.Popen(
            [JOBRUN, *map(str, words)], cwd=cwd or self.folder,
            env=clean_environment(**(env or {})), stdin=subprocess.DEVNULL,
            **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE,
               "text": True, **options})
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        if process.poll() is None:
            process.terminate()
            process.wait(LIMIT)
        for stream in (process.stdout, process.stderr):
            if stream:
                stream.close()

    def expect(self, done, code):
        self.assertEqual(
            done.returncode, code,
            f"\n--- stdout\n{done.stdout}\n--- stderr\n{done.stderr}")
        return done

    def results(self, run="latest", logs="runs"):
        with open(self.folder / logs / run / "results.json") as file:
            return json.load(file)

    def events(self, run="latest", logs="runs"):
        """The events so far; the last line may still be on its way."""
        with open(self.folder / logs / run / "events.jsonl") as file:
            return [json.loads(line) for line in file if line.endswith("\n")]

    def await_event(self, **wanted):
        """The first event with these members, once it is there."""
        until = time.monotonic() + LIMIT
        while True:
            with contextlib.suppress(FileNotFoundError):  # not yet there
                for event in self.events():
                    if wanted.items() <= event.items():
                        return event
            self.assertLess(time.monotonic(), until, f"no {wanted}")
            time.sleep(0.01)

    @contextlib.contextmanager
    def takes_less(self, seconds):
        """What is started and ended inside takes less processor time, which
        says how much is done, on a busy machine too."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        yield
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.assertLess(after.ru_utime + after.ru_stime -
                        before.ru_utime - before.ru_stime, seconds)


main = unittest.main
