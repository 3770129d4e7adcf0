"""What a sweep costs, for bench.py: cells of `true` beside GNU parallel with as
many jobs, how long a device idles between two cells, a plan of many cells, and
a sweep that is refused."""
import json
import shutil
import statistics

import common

CELLS, JOBS, DEVICES = 1000, 2, 4
SECONDS = 600  # for one command
SPEC = """\
version: 1
name: cells
vars: {{n: 0, m: 0}}
env: {{N: "${{vars.n}}"}}
entrypoint: ['true']
world_size: 1
{more}sweep: {{axes: {axes}, parallel: {jobs}}}
"""
ON_CPUS = "device: cpu\noversubscribe: true\n"
ON_DEVICES = "device: custom:acme\nbackends: gloo\n"
MANY = "{vars.n: {from: 1, to: 1000}, vars.m: {from: 1, to: 100}}"
REFUSED = {
    "a typo in an axis": "{vars.nn: [1, 2]}",
    "an empty axis": "{vars.n: []}",
    "an axis over placement": "{hosts: [a, b]}",
    "10^9 cells": "{vars.n: {from: 1, to: 1000000},"
                  " vars.m: {from: 1, to: 1000}}",
}


class Sweeps:
    def __init__(self, bench):
        self.jobrun, self.folder = bench.jobrun, bench.folder
        self.in_turns, self.peak_of = bench.in_turns, bench.peak_of
        facts = "".join(f"- {{index: {i}, uuid: BENCH-{self.folder.name}-{i}}}\n"
                        for i in range(DEVICES))
        (self.folder / "acme.facts.yaml").write_text(
            "format_version: 1\nvariable: ACME_VISIBLE\ndevices:\n" + facts)

    def spec(self, name, axes, more=ON_CPUS, jobs=JOBS):
        path = self.folder / f"{name}.jobrun.yaml"
        path.write_text(SPEC.format(more=more, axes=axes, jobs=jobs))
        return str(path)

    def run(self, command, expect=(0,)):
        """The cost in a folder without what an earlier turn has left."""
        for name in ("runs", "joblog"):
            path = self.folder / name
            shutil.rmtree(path, ignore_errors=True)
            path.unlink(missing_ok=True)
        return common.run(command, self.folder, limit=SECONDS, expect=expect)

    def rows(self):
        cells = f"{{vars.n: {{from: 1, to: {CELLS}}}}}"
        numbers = [str(n) for n in range(1, CELLS + 1)]
        yield (f"{CELLS} cells of `true`, {JOBS} at once", "s", self.in_turns({
            "GNU parallel": ["parallel", "--will-cite", "-j", str(JOBS),
                             "--joblog", "joblog", "true", ":::", *numbers]
            if shutil.which("parallel")
            else "GNU parallel: " + common.NOT_INSTALLED,
            "jobrun": [self.jobrun, self.spec("true", cells)],
        }, self.run), True)
        devices = [self.jobrun,
                   self.spec("devices", cells, ON_DEVICES, DEVICES)]
        yield (f"a device idles between two of {CELLS} cells on {DEVICES} "
               "devices (medians)", "ms",
               self.in_turns({"jobrun": devices}, self.idle_s))
        plan = {"jobrun plan": [self.jobrun, "plan", self.spec("many", MANY)]}
        yield "plan of 100,000 cells", "s", self.in_turns(plan, self.run), True
        yield ("plan of 100,000 cells: peak memory", "MB",
               self.in_turns(plan, self.peak_of))
        refused = {name: [self.jobrun, self.spec(f"refused{i}", axes)]
                   for i, (name, axes) in enumerate(REFUSED.items())}
        yield ("until a sweep is refused", "ms",
               self.in_turns(refused, lambda c: self.run(c, expect=(3,))))

    def idle_s(self, command):
        """How long each device had no rank between two cells: the median."""
        cost = self.run(command)
        if isinstance(cost, str):
            return cost
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
            gaps += [(after[0] - before[1]) / 1e9
                     for before, after in zip(spans, spans[1:])]
        return statistics.median(gaps)
