"""What the benchmarks share: running commands in turns, and tables.

Everything is measured in turns within one run of a script, after a warm-up, and
compared by the median: absolute times on a shared machine mean little, the
ratios do. Where a command cannot be measured, a text says why in its place.
"""
import os
import pathlib
import platform
import re
import signal
import statistics
import subprocess
import threading
import time
import typing

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
LIMIT = 20  # seconds for one command
NOT_INSTALLED = "not installed"
UNITS = {"s": 1, "ms": 1000, "us": 1e6, "MB": 1, "times": 1}

ENVIRONMENT = {
    **{k: v for k, v in os.environ.items() if not k.startswith("OMP_")},
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
}


class Cost(typing.NamedTuple):
    """Seconds of a command: by the clock, and of CPUs (user and system)."""
    wall: float
    cpu: float


def kill_group(pid):
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def run(command, folder, output=os.devnull, expect=(0,), limit=LIMIT):
    """The Cost of one run, or why there is none. `expect` are the exit
    statuses of success; None takes any. `limit` is in seconds."""
    hung = threading.Event()

    def give_up():
        hung.set()
        kill_group(child.pid)

    with open(output, "wb") as out, open(folder / "stderr", "w+b") as err:
        start = time.monotonic()
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
            cwd=folder, env=ENVIRONMENT, start_new_session=True)
        timer = threading.Timer(limit, give_up)
        timer.start()
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.monotonic() - start
        timer.cancel()
        child.returncode = os.waitstatus_to_exitcode(status)
        err.seek(0)
        told = err.read().decode(errors="replace")
    if hung.is_set():
        return f"hung: no end after {limit} s"
    if expect is not None and child.returncode not in expect:
        kill_group(child.pid)  # what a failed launcher left
        return why_failed(child.returncode, told)
    return Cost(wall, usage.ru_utime + usage.ru_stime)


def why_failed(code, told):
    refused = re.search(r"ranks need (\d+) file descriptors", told)
    if refused:
        return f"refused: needs {refused[1]} descriptors"
    return f"failed: exit status {code}"


def median(values):
    if isinstance(values[0], Cost):
        return Cost(*(statistics.median(part) for part in zip(*values)))
    return statistics.median(values)


def in_turns(commands, runs, measure):
    """{name: median, or why there is none}: one warm-up each, then `runs`
    turns of all that passed it. A text in place of a command stays as it is."""
    taken = {name: [] for name in commands}
    failed = {name: command for name, command in commands.items()
              if isinstance(command, str)}
    for turn in range(runs + 1):
        for name, command in commands.items():
            if name in failed:
                continue
            value = measure(command)
            if isinstance(value, str):
                failed[name] = value
            elif turn > 0:
                taken[name].append(value)
    return {name: failed[name] if name in failed else median(taken[name])
            for name in commands}


def table(title, unit, values, cpu=False):
    """Print {name: Cost or number or text} as Markdown. The first row is what
    the others are held against; `cpu` adds the CPU time of Costs."""
    parts = ["wall", "cpu"] if cpu else ["wall"]
    base_name, base = next(iter(values.items()))
    heads = [head for part in parts
             for head in (f"{part} {unit}" if cpu else unit,
                          f"against {base_name}")]
    print(f"\n{title}\n\n| | {' | '.join(heads)} |\n|---{'|---' * len(heads)}|")
    for name, value in values.items():
        if isinstance(value, str):
            print(f"| {name} | {value} |{' |' * (len(heads) - 1)}")
            continue
        cells = []
        for part in parts:
            number, other = (getattr(x, part) if isinstance(x, Cost) else
                             None if isinstance(x, str) else x
                             for x in (value, base))
            ratio = f"{number / other:.2f}" if other else ""
            cells += [f"{number * UNITS[unit]:.1f}", ratio]
        print(f"| {name} | {' | '.join(cells)} |")


def children(pid):
    """Of the first thread."""
    return (pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text()
            .split())


def switches(pid):
    """How often a process was switched away from, so far."""
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return sum(map(int, re.findall(r"ctxt_switches:\s+(\d+)", text)))


def machine():
    model = next((line.split(":", 1)[1].strip()
                  for line in open("/proc/cpuinfo")
                  if line.startswith("model name")), platform.machine())
    return f"{os.cpu_count()} CPUs ({model}), Linux {platform.release()}"
