#!/usr/bin/env python3
"""Measure a sweep of cells of `true` beside GNU parallel with as many jobs, and
how long a device idles between two cells.

usage: sweep.py [--build DIR] [--runs N] [--cells N] [--folder DIR]...

Each --folder is measured by itself: one in memory, one on a disk. Prints
Markdown; how it measures is in common.py.
"""
import argparse
import json
import pathlib
import shutil
import statistics
import tempfile

import common

SECONDS = 600  # for one command
DEVICES = 4
SPEC = """\
version: 1
name: cells
vars: {{n: 0}}
env: {{N: "${{vars.n}}"}}
entrypoint: ['true']
world_size: 1
{more}sweep: {{axes: {{vars.n: {{from: 1, to: {cells}}}}}, parallel: {jobs}}}
"""
ON_DEVICES = "device: custom:acme\nbackends: gloo\n"


class Bench:
    def __init__(self, build, folder, cells):
        self.jobrun = str(pathlib.Path(build) / "jobrun")
        self.folder, self.cells = pathlib.Path(folder), cells
        facts = "".join(f"- {{index: {i}, uuid: BENCH-{self.folder.name}-{i}}}\n"
                        for i in range(DEVICES))
        (self.folder / "acme.facts.yaml").write_text(
            "format_version: 1\nvariable: ACME_VISIBLE\ndevices:\n" + facts)

    def write(self, more, jobs):
        (self.folder / "cells.jobrun.yaml").write_text(SPEC.format(
            more=more, cells=self.cells, jobs=jobs))

    def fresh(self, command):
        """The cost in a folder without what an earlier turn has left."""
        for name in ("runs", "joblog"):
            path = self.folder / name
            shutil.rmtree(path, ignore_errors=True)
            path.unlink(missing_ok=True)
        return common.run(command, self.folder, limit=SECONDS)

    def beside_parallel(self, runs, jobs):
        sweep = [self.jobrun, "cells.jobrun.yaml"]
        parallel = "GNU parallel: " + common.NOT_INSTALLED
        if shutil.which("parallel"):
            numbers = [str(n) for n in range(1, self.cells + 1)]
            parallel = ["parallel", "--will-cite", "-j", str(jobs), "--joblog",
                        "joblog", "true", ":::", *numbers]
        self.write("device: cpu\noversubscribe: true\n", jobs)
        values = common.in_turns({"GNU parallel --joblog": parallel,
                                  "jobrun": sweep}, runs, self.fresh)
        common.table(f"{self.cells} cells of `true`, {jobs} at once, "
                     f"{self.folder}", "s", values, cpu=True)

    def idle_ms(self):
        """How long each device had no rank between two cells."""
        times = {}
        for cell in (self.folder / "runs" / "latest" / "cells").glob("[0-9]*"):
            events = [json.loads(line) for line in
                      (cell / "events.jsonl").read_text().splitlines()]
            ns = {event["event"]: event["ns"] for event in events}
            plan = json.loads((cell / "plan.json").read_text())
            times.setdefault(plan["ranks"][0]["device"], []).append(
                (ns["rank_started"], ns["rank_ended"]))
        gaps = []
        for spans in times.values():
            spans.sort()
            gaps += [(after[0] - before[1]) / 1e6
                     for before, after in zip(spans, spans[1:])]
        return gaps

    def devices(self):
        self.write(ON_DEVICES, DEVICES)
        cost = self.fresh([self.jobrun, "cells.jobrun.yaml"])
        if isinstance(cost, str):
            print(f"\ndevices: {cost}")
            return
        gaps = self.idle_ms()
        print(f"\n{self.cells} cells on {DEVICES} devices, {self.folder}: a "
              f"device idles {statistics.median(gaps):.1f} ms between two cells "
              f"(median; {max(gaps):.1f} at most)")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=str(common.REPOSITORY / "build"))
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--cells", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--folder", action="append")
    options = parser.parse_args()
    print(f"{common.machine()}; medians of {options.runs} runs, in turns")
    for where in options.folder or ["/dev/shm", tempfile.gettempdir()]:
        with tempfile.TemporaryDirectory(prefix="cells-", dir=where) as folder:
            bench = Bench(options.build, folder, options.cells)
            bench.beside_parallel(options.runs, options.jobs)
            bench.devices()


if __name__ == "__main__":
    main()
