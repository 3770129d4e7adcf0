#!/usr/bin/env python3
"""SIGKILL guard or runner at random moments, and find no survivor.

usage: chaos.py RUNDRIVER FAKERANK [RUNS] [SEED]

Each run starts ranks that daemonise, fork and ignore SIGTERM, waits for a
random moment between the start and a little after it, and kills one of the two.
Every process of a run bears a variable of its own in its environment; within a
bounded time none of them may be left.
"""
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
ACTS = ["ignore=15", "fork", "daemonise", "hang"]


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
    until = time.monotonic() + WAIT
    left = marked(mark)
    while left and time.monotonic() < until:
        time.sleep(0.005)
        left = marked(mark)
    return left


def one_run(number, chance, driver, rank, folder):
    """Returns what was killed and who is left."""
    mark = f"JR_CHAOS={os.getpid()}-{number}"
    name, value = mark.split("=")
    words = [driver, f"ranks={RANKS}", "out=tee", "err=tee",
             f"dir={folder}/{number}", "outcome=/dev/null", "--", rank, *ACTS]
    guard = subprocess.Popen(words, env={**os.environ, name: value},
                             stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
    time.sleep(chance.uniform(0, 0.03))
    victim = chance.choice(["guard", "runner"])
    pid = guard.pid if victim == "guard" else child_of(guard.pid)
    if pid == 0:
        victim, pid = "guard", guard.pid
    os.kill(pid, signal.SIGKILL)
    try:
        guard.wait(WAIT)
    except subprocess.TimeoutExpired:
        guard.kill()
        guard.wait()
        return victim, ["the guard itself"]
    return victim, survivors(mark.encode())


def main():
    driver, rank = sys.argv[1:3]
    runs = int(sys.argv[3]) if len(sys.argv) > 3 else 40
    seed = int(sys.argv[4]) if len(sys.argv) > 4 else time.time_ns() % 100000
    chance = random.Random(seed)
    folder = tempfile.mkdtemp(prefix="jobrun-chaos-")
    bad = 0
    killed = {"guard": 0, "runner": 0}
    for number in range(runs):
        victim, left = one_run(number, chance, driver, rank, folder)
        killed[victim] += 1
        if left:
            bad += 1
            print(f"run {number}, {victim} killed: left {left}")
            for pid in filter(lambda p: isinstance(p, int), left):
                os.kill(pid, signal.SIGKILL)
    shutil.rmtree(folder, ignore_errors=True)
    print(f"{runs} runs (seed {seed}): guard killed {killed['guard']} times, "
          f"runner {killed['runner']}; survivors in {bad}")
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
