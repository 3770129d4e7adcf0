#!/usr/bin/env python3
"""SIGKILL jobrun's own processes at random moments, and find no survivor.

usage: chaos.py RUNDRIVER FAKERANK [RUNS] [SEED]

Each run starts ranks that daemonise, fork, ignore SIGTERM and fork on while
they are killed; with a control group or without, in a PID namespace or not. It
waits for a random moment between the start and a little after it, and kills one
of jobrun's processes; those of a run in a namespace also both at one instant.
Every process of a run bears a variable of its own in its environment; within a
bounded time none of them may be left. What is left of jobrun must tell of it:
the guard by the outcome, the runner by the events, each line of which is whole.
"""
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

RANKS = 6
WAIT = 60.0  # seconds until the last process must be gone
CAN_ISOLATE = False
ACTS = ["ignore=15", "fork", "daemonise", "hop", "hang"]


def marked(mark):
    """The processes that were started with this mark."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                if mark in file.read().split(b"\0"):
                    found.append(int(name))
        except OSError:
            pass
    return found


def child_of(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return int((file.read().split() or ["0"])[0])
    except OSError:
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


def kill(victim, guard):
    """SIGKILL, in one instant where it is both; returns who it was."""
    runner = child_of(guard)
    if runner == 0 or is_between(runner):
        victim = "guard"  # there is no runner yet
    pids = {"guard": [guard], "runner": [runner], "both": [runner, guard]}
    if victim == "both":
        for pid in pids[victim]:
            os.kill(pid, signal.SIGSTOP)
    for pid in pids[victim]:
        os.kill(pid, signal.SIGKILL)
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
    if victim == "runner":
        with open(outcome) as file:
            text = file.read()
        return [word for word in ("runner_signal=9", "left=0")
                if word not in text]
    if "rank_started" in events and "swept" not in events:
        return [f"no account of the end in {events}"]
    return []


def one_run(number, chance, driver, rank, folder):
    """Returns what was killed, and what is wrong."""
    mark = f"JR_CHAOS={os.getpid()}-{number}"
    name, value = mark.split("=")
    group = chance.choice([0, 1])
    isolate = chance.choice([0, 0, 1]) if CAN_ISOLATE else 0
    outcome = f"{folder}/{number}.outcome"
    words = [driver, f"ranks={RANKS}", "out=tee", "err=tee",
             f"group={group}", f"isolate={isolate}", f"dir={folder}/{number}",
             f"outcome={outcome}", "--", rank, *ACTS]
    guard = subprocess.Popen(words, env={**os.environ, name: value},
                             stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
    time.sleep(chance.uniform(0, 0.03))
    victim = chance.choice(["guard", "runner"] + isolate * ["both"])
    victim = kill(victim, guard.pid)
    try:
        guard.wait(WAIT)
    except subprocess.TimeoutExpired:
        guard.kill()
        guard.wait()
        return victim, [f"the guard itself, {words}"]
    left = survivors(mark.encode())
    return victim, left or faults(victim, f"{folder}/{number}", outcome)


def main():
    driver, rank = sys.argv[1:3]
    runs = int(sys.argv[3]) if len(sys.argv) > 3 else 40
    seed = int(sys.argv[4]) if len(sys.argv) > 4 else time.time_ns() % 100000
    chance = random.Random(seed)
    global CAN_ISOLATE
    CAN_ISOLATE = can_isolate()
    if not CAN_ISOLATE:
        print("SKIPPED: no PID namespaces here, so none are tried")
    folder = tempfile.mkdtemp(prefix="jobrun-chaos-")
    bad = 0
    killed = {"guard": 0, "runner": 0, "both": 0}
    for number in range(runs):
        victim, wrong = one_run(number, chance, driver, rank, folder)
        killed[victim] += 1
        if wrong:
            bad += 1
            print(f"run {number}, {victim} killed: {wrong}")
            for pid in filter(lambda p: isinstance(p, int), wrong):
                os.kill(pid, signal.SIGKILL)
    shutil.rmtree(folder, ignore_errors=True)
    print(f"{runs} runs (seed {seed}): guard killed {killed['guard']} times, "
          f"runner {killed['runner']}, both {killed['both']}; wrong in {bad}")
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
