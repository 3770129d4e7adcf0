#!/usr/bin/env python3
"""SIGKILL jobrun's own processes at random moments, and find no survivor.

usage: chaos.py RUNDRIVER FAKERANK FAKESTEP SUPPORT [RUNS] [SEED]

Each run starts ranks that daemonise, fork, ignore SIGTERM and fork on while
they are killed; with a control group or without, in a PID namespace or not;
each a program of its own, or a fork of the helper that has loaded a library
(FAKESTEP, which does what FAKERANK does) or is a Python. It waits for a random
moment between the start and a little after it, and kills one of jobrun's
processes; those of a run in a namespace also both at one instant. Where it was
the helper, the process between it and the ranks, or a rank made by it, the run
may go on and is stopped.
Every process of a run bears a variable of its own in its environment; within a
bounded time none of them may be left. What is left of jobrun must tell of it:
the guard by the outcome, the runner by the events, each line of which is whole.
"""
import contextlib
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "system"))

from processes import marked  # noqa: E402

RANKS = 6
WAIT = 60.0  # seconds until the last process must be gone
ACTS = ["ignore=15", "fork", "daemonise", "hop", "hang"]
# What a rank of a library is told of its place.
PLACE = {f"{axis}_PARALLEL_{word}": "1" for axis in
         ("MODEL", "PIPELINE", "DATA") for word in ("SIZE", "RANK", "GROUP")}
PLACE.update(WORLD_SIZE=str(RANKS), LOCAL_RANK="0", NODE_RANK="0",
             LOCAL_WORLD_SIZE=str(RANKS), GROUP_WORLD_SIZE="1",
             JOBRUN_ATTEMPT="0", MASTER_PORT="29500")
# The longest wait before the kill: what a helper takes until it forks.
DELAYS = {"spawn": 0.03, "library": 0.04, "python": 0.25}


def children_of(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return [int(child) for child in file.read().split()]
    except OSError:
        return []


def child_of(pid):
    return (children_of(pid) or [0])[0]


def helper_of(runner, chance):
    """The helper, or the process between it and the ranks; once it has made
    them all, one of them; 0 where there is none."""
    pid = child_of(runner)
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            if b"serve" in file.read().split(b"\0"):
                return chance.choice([pid, *children_of(pid)[:1]])
    except OSError:
        pass
    return 0


def survivors(mark):
    """Who is left in the end. What hops from process to process can be between
    two of them as we look: only twice nobody is nobody."""
    until = time.monotonic() + WAIT
    left = marked(mark) or marked(mark)
    while left and time.monotonic() < until:
        time.sleep(0.005)
        left = marked(mark) or marked(mark)
    return left


def events_of(folder):
    """The events by name, in order; a line that is not whole raises."""
    path = f"{folder}/run-0000/events.jsonl"
    if not os.path.exists(path):
        return []
    with open(path) as file:
        return [json.loads(line)["event"] for line in file]


def kill(victim, guard, chance):
    """SIGKILL, in one instant where it is both; returns who it was."""
    runner = child_of(guard)
    if runner == 0 or is_between(runner):
        victim = "guard"  # there is no runner yet
    pids = {"guard": [guard], "runner": [runner], "both": [runner, guard],
            "helper": [helper_of(runner, chance)]}
    if pids[victim] == [0]:
        victim = "runner"
    if victim == "both":
        for pid in pids[victim]:
            os.kill(pid, signal.SIGSTOP)
    for pid in pids[victim]:
        with contextlib.suppress(ProcessLookupError):  # a helper ends itself
            os.kill(pid, signal.SIGKILL)
    if victim == "helper":
        os.kill(guard, signal.SIGTERM)
    return victim


def is_between(pid):
    """Whether a child of the guard is the one that makes the namespace."""
    try:
        with open(f"/proc/{pid}/comm") as file:
            return file.read().strip() != "jobrun-runner"
    except OSError:
        return True


def can_isolate():
    return subprocess.run(["unshare", "--pid", "--fork", "--mount-proc",
                           *(["--map-root-user"] * (os.geteuid() != 0)),
                           "true"], stderr=subprocess.DEVNULL,
                          check=False).returncode == 0


def faults(victim, folder, outcome):
    """What the one that was not killed should have told, and has not."""
    events = events_of(folder)
    if victim == "both":
        return []  # nobody was left to tell
    if victim in ("runner", "helper"):
        end = {"runner": "runner_signal=9", "helper": "runner_signal=0"}
        with open(outcome) as file:
            text = file.read()
        return [word for word in (end[victim], "left=0") if word not in text]
    if "rank_started" in events and "swept" not in events:
        return [f"no account of the end in {events}"]
    return []


class Chaos:
    def __init__(self, words, seed):
        self.driver, self.rank, self.step, self.support = words
        self.chance = random.Random(seed)
        self.isolates = [0, 0, 1] if can_isolate() else [0]
        self.folder = tempfile.mkdtemp(prefix="jobrun-chaos-")
        self.program = f"{self.folder}/program.py"
        with open(self.program, "w") as file:
            file.write("import os, sys\nos.execv(sys.argv[1], sys.argv[1:])\n")

    def words(self, method):
        """The helper's and the ranks' command lines."""
        step = f"{self.support}/jobrun-step"
        worker = f"{self.support}/python/jobrun/_worker.py"
        return {
            "spawn": ([], [self.rank]),
            "library": ([step, "serve", self.step], [step, self.step, "fake"]),
            "python": ([sys.executable, worker, "serve"],
                       [sys.executable, worker, "script", self.program,
                        self.rank])}[method]

    def run(self, number):
        """Returns what was killed, and what is wrong."""
        mark = f"JR_CHAOS={os.getpid()}-{number}"
        name, value = mark.split("=")
        chance, folder = self.chance, self.folder
        group = chance.choice([0, 1])
        isolate = chance.choice(self.isolates)
        method = chance.choice(["spawn", "spawn", "library", "python"])
        helper, rank = self.words(method)
        outcome = f"{folder}/{number}.outcome"
        words = [self.driver, f"ranks={RANKS}", "out=tee", "err=tee",
                 f"group={group}", f"isolate={isolate}", "grace=100",
                 f"dir={folder}/{number}", f"outcome={outcome}",
                 "helper=" + ",".join(helper), "--", *rank, *ACTS]
        # One that gets a signal while a sanitizer looks for leaks may hang.
        guard = subprocess.Popen(words, env={**PLACE, **os.environ, name: value,
                                             "ASAN_OPTIONS": "detect_leaks=0"},
                                 stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)
        time.sleep(chance.uniform(0, DELAYS[method]))
        victim = chance.choice(["guard", "runner"] + isolate * ["both"] +
                               (method != "spawn") * ["helper"])
        victim = kill(victim, guard.pid, chance)
        try:
            guard.wait(WAIT)
        except subprocess.TimeoutExpired:
            guard.kill()
            guard.wait()
            return victim, [f"the guard itself, {words}"]
        left = survivors(mark)
        return victim, left or faults(victim, f"{folder}/{number}", outcome)


def main():
    runs = int(sys.argv[5]) if len(sys.argv) > 5 else 40
    seed = int(sys.argv[6]) if len(sys.argv) > 6 else time.time_ns() % 100000
    chaos = Chaos(sys.argv[1:5], seed)
    if chaos.isolates == [0]:
        print("SKIPPED: no PID namespaces here, so none are tried")
    bad = 0
    killed = {"guard": 0, "runner": 0, "both": 0, "helper": 0}
    for number in range(runs):
        victim, wrong = chaos.run(number)
        killed[victim] += 1
        if wrong:
            bad += 1
            print(f"run {number}, {victim} killed: {wrong}", flush=True)
            for pid in filter(lambda p: isinstance(p, int), wrong):
                os.kill(pid, signal.SIGKILL)
    shutil.rmtree(chaos.folder, ignore_errors=True)
    told = ", ".join(f"{who} {count}" for who, count in killed.items())
    print(f"{runs} runs (seed {seed}), killed: {told}; wrong in {bad}")
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
