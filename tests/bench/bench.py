#!/usr/bin/env python3
"""Measure jobrun beside a bare posix_spawn loop and the peers that are here.

usage: bench.py [--build DIR] [--runs N] [--only PART] [--python PYTHON]

PART is launch, failure, mpi, output, steps, memory, many, plan, sweep or imports;
PYTHON has the torch that the last imports. The run folders lie in TMPDIR.

Prints Markdown; how it measures is in common.py, how to read it in
docs/performance.md.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

import common
import sweep

SIZES = (4, 64, 512, 4096)
LINE_BYTES = 200_000_000  # each of 4 ranks
MANY = (8, 512, 10000)
IDLE = 5  # seconds
PARTS = ("launch", "failure", "mpi", "output", "steps", "memory", "many", "plan",
         "sweep", "imports")

SHOWN = "version: 1\nname: bench\nentrypoint: {entry}\nworld_size: {n}\n" \
        "device: cpu\noversubscribe: true\n"
PYTHON = "version: 1\nname: past\nworld_size: {n}\ndevice: cpu\n" \
         "oversubscribe: true\nentrypoint: {{python: {entry[0]}}}\n"
PAST = """\
import os, time
def past():
    import torch
    with open("past." + os.environ.get("RANK", "0"), "w") as file:
        file.write(str(time.monotonic_ns()))
if __name__ == "__main__":
    past()
"""
STEPS = SHOWN + r"""progress:
  pattern: 'step (?<step>\d+)/(?<of>\d+) loss (?<loss>\S+)'
  ranks: all
"""
QUIET = SHOWN + "redirects: none\ntee: none\n"


class Bench:
    def __init__(self, build, options, folder):
        self.jobrun = str(build / "jobrun")
        programs = build / "tests" / "bench"
        self.loop = str(programs / "bench_spawn_loop")
        self.pump = str(programs / "bench_pump")
        self.worker = str(programs / "bench_worker")
        self.peak = str(programs / "bench_peak")
        self.runs, self.python = options.runs, options.python
        self.folder = folder
        self.true = shutil.which("true")

    def spec(self, name, text, n, *entry):
        path = self.folder / f"{name}-{n}.jobrun.yaml"
        path.write_text(text.format(n=n, entry=list(entry)))
        return str(path)

    def run(self, command, **how):
        cost = common.run(command, self.folder, **how)
        shutil.rmtree(self.folder / "runs", ignore_errors=True)
        return cost

    def in_turns(self, commands, measure=None):
        return common.in_turns(commands, self.runs, measure or self.run)

    def launchers(self, n, entry, prefix=False):
        """The command of each peer, if it is installed."""
        n = str(n)
        commands = {
            "hydra": ["mpiexec.hydra", "-n", n,
                      *(["-prepend-rank"] if prefix else []), *entry],
            "mpirun": ["mpirun.openmpi", "--oversubscribe", "-n", n,
                       *(["--tag-output"] if prefix else []), *entry],
            # Its own defaults for these two make 1.13 fail on Python 3.11.
            "torchrun": ["torchrun", "--redirects", "1", "--tee", "2",
                         "--nproc_per_node", n, "--no_python", *entry],
        }
        return {name: command if shutil.which(command[0])
                else common.NOT_INSTALLED
                for name, command in commands.items()}

    def launch(self):
        for n in SIZES:
            commands = {
                "posix_spawn loop": [self.loop, str(n), self.true],
                "jobrun, no capture":
                    [self.jobrun, self.spec("quiet", QUIET, n, self.true)],
                "jobrun, captured":
                    [self.jobrun, self.spec("shown", SHOWN, n, self.true)],
            }
            if n <= 512:
                commands.update(self.launchers(n, [self.true]))
            yield f"launch {n} x true", "ms", self.in_turns(commands), True

    def failure(self):
        stamp = self.folder / "stamp"
        up = self.folder / "stamp.up"

        def measure(command):
            stamp.unlink(missing_ok=True)
            up.unlink(missing_ok=True)
            cost = self.run(command, expect=None)
            if isinstance(cost, str):
                return cost
            if not stamp.exists():
                return "failed: the rank did not run"
            return time.monotonic() - int(stamp.read_text()) / 1e9

        for n in (8, 512):
            entry = [self.worker, "fail", str(stamp), str(n)]
            commands = {
                "posix_spawn loop": [self.loop, str(n), *entry],
                "jobrun, captured":
                    [self.jobrun, self.spec("fail", SHOWN, n, *entry)],
            }
            if n == 8:
                commands.update(self.launchers(n, entry))
                del commands["hydra"]  # a rank's exit code stops nobody there
            yield (f"rank 3 of {n} exits with 7: until the launcher has exited",
                   "ms", self.in_turns(commands, measure))

    def mpi(self):
        """MPICH's programs under its own launcher, and under jobrun."""
        program = str(self.folder / "mpi_init")
        source = pathlib.Path(__file__).parent / "mpi_init.c"
        built = shutil.which("mpicc.mpich") and subprocess.run(
            ["mpicc.mpich", source, "-o", program]).returncode == 0
        for n in (4, 64):
            commands = {"hydra": self.launchers(n, [program])["hydra"],
                        "jobrun, captured":
                            [self.jobrun, self.spec("mpi", SHOWN, n, program)]}
            if not built:
                commands = dict.fromkeys(commands, common.NOT_INSTALLED)
            yield (f"MPI_Init and MPI_Finalize of {n} ranks", "s",
                   self.in_turns(commands), True)

    def output(self):
        raw = self.folder / "raw"
        entry = [self.worker, "lines", str(LINE_BYTES)]
        with open(raw, "wb") as file:
            for _ in range(4):
                subprocess.run(entry, stdout=file, check=True)
        commands = {
            "cat into a file": ["cat", str(raw)],
            "into two files, as it is": [self.pump, "4", *entry],
            "jobrun, captured":
                [self.jobrun, self.spec("lines", SHOWN, 4, *entry)],
            **self.launchers(4, entry, prefix=True),
        }
        del commands["torchrun"]  # has no prefix on a file
        values = self.in_turns(
            commands, lambda c: self.run(c, output=self.folder / "console"))
        for file in self.folder.glob("raw*"):
            file.unlink()
        yield ("800 MB of 100-byte lines from 4 ranks, prefixed", "s", values,
               True)

    def steps(self):
        """What it costs to look for steps in the same lines."""
        for words, title in (("lines", "no line tells a step"),
                             ("steps", "each line tells a step")):
            entry = [self.worker, words, str(LINE_BYTES)]
            yield (f"800 MB of 100-byte lines from 4 ranks, {title}", "s",
                   self.in_turns(
                       {"not looked for": [self.jobrun, self.spec(
                           words, SHOWN, 4, *entry)],
                        "looked for in all ranks": [self.jobrun, self.spec(
                            "told", STEPS, 4, *entry)]},
                       lambda c: self.run(c, output=self.folder / "console")),
                   True)

    def memory(self):
        commands = {
            "posix_spawn loop": [self.loop, "512", self.true],
            "jobrun, captured":
                [self.jobrun, self.spec("shown", SHOWN, 512, self.true)],
            **self.launchers(512, [self.true]),
        }

        yield ("peak memory of the launcher at 512 ranks", "MB",
               self.in_turns(commands, self.peak_of))

    def peak_of(self, command):
        """The largest process of a command, in MB."""
        out = self.folder / "peak"
        cost = self.run([self.peak, *command], output=out)
        if isinstance(cost, str):
            return cost
        return int(out.read_text().split()[-1]) / 1024

    def plan(self):
        """Ranks that no machine has."""
        commands = {
            "jobrun plan": [self.jobrun, "plan", "-n", "1000000", "--",
                            self.true],
            "with a mesh": [self.jobrun, "plan", "-n", "1000000", "-s",
                            "parallelism.model=8", "-s",
                            "parallelism.pipeline=125", "--", self.true],
        }
        title = "plan of 1,000,000 ranks"
        yield title, "ms", self.in_turns(commands)
        yield f"{title}: peak memory", "MB", self.in_turns(commands,
                                                           self.peak_of)

    def sleepers(self, n):
        """Start n ranks that sleep, leave them alone for a while, and stop them.
        Returns seconds of CPU per rank, and how often the two processes were
        switched to while nothing happened; or why there is neither."""
        spec = self.spec("many", QUIET, n, shutil.which("sleep"), "1000")
        with open(self.folder / "stderr", "w", encoding="utf-8") as err:
            child = subprocess.Popen(
                [self.jobrun, spec], stdin=subprocess.DEVNULL, stderr=err,
                cwd=self.folder, env=common.ENVIRONMENT)
            events = self.folder / "runs" / "latest" / "events.jsonl"
            while child.poll() is None and not (
                    events.exists() and
                    events.read_text().count('"rank_started"') == n):
                time.sleep(0.05)
            if child.returncode is not None:
                return common.why_failed(child.returncode, "")
            pids = [child.pid, *common.children(child.pid)]
            before = sum(map(common.switches, pids))
            time.sleep(IDLE)
            woken = sum(map(common.switches, pids)) - before
            child.terminate()
            _, _, usage = os.wait4(child.pid, 0)
            child.returncode = 0
        shutil.rmtree(self.folder / "runs", ignore_errors=True)
        return (usage.ru_utime + usage.ru_stime) / n, woken

    def many(self):
        taken = {f"{n} ranks": self.sleepers(n) for n in MANY}
        for i, (title, unit) in enumerate((
                ("CPU time for a rank that sleeps and is stopped", "us"),
                (f"context switches of both processes in {IDLE} idle seconds",
                 "times"))):
            yield title, unit, {name: value if isinstance(value, str)
                                else value[i] for name, value in taken.items()}

    def sweep(self):
        yield from sweep.Sweeps(self).rows()

    def imports(self):
        """Not the whole run: until the last rank is past its imports."""
        python = next((found for found in map(shutil.which, (
            self.python, "/usr/bin/python3")) if found and subprocess.run(
                [found, "-c", "import torch"], capture_output=True,
                check=False).returncode == 0), None)
        script = self.folder / "past.py"
        script.write_text(PAST)
        call = {"function": "past:past", "interpreter": python}
        commands = {"one import": [python, str(script)]}
        for method, more in (("forkserver", "preload: [torch]\n"),
                             ("fork", "preload: [torch]\n"), ("spawn", "")):
            text = PYTHON + f"start_method: {method}\n" + more
            commands[f"jobrun, {method}"] = [
                self.jobrun, self.spec(method, text, 8, call)]
        # See launchers.
        commands["torchrun"] = [
            python, "-m", "torch.distributed.run", "--standalone",
            "--redirects", "1", "--tee", "2", "--nproc_per_node", "8",
            str(script)]
        if python is None:
            commands = dict.fromkeys(commands, common.NOT_INSTALLED)

        def measure(command):
            for stamp in self.folder.glob("past.[0-9]"):
                stamp.unlink()
            start = time.monotonic_ns()
            cost = self.run(command, limit=120)
            if isinstance(cost, str):
                return cost
            last = max(int(stamp.read_text())
                       for stamp in self.folder.glob("past.[0-9]"))
            return common.Cost((last - start) / 1e9, cost.cpu)

        yield ("8 ranks past `import torch`", "s",
               self.in_turns(commands, measure), True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=str(common.REPOSITORY / "build"))
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", choices=PARTS)
    parser.add_argument("--python", default="python3",
                        help="the one whose torch is imported")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="jobrun-bench-") as folder:
        bench = Bench(pathlib.Path(options.build).resolve(), options,
                      pathlib.Path(folder))
        print(f"{common.machine()}; medians of {options.runs} runs, in turns")
        print(f"Load at the start: {os.getloadavg()[0]:.1f}")
        for part in PARTS:
            if options.only in (None, part):
                for row in getattr(bench, part)():
                    common.table(*row)


if __name__ == "__main__":
    main()
