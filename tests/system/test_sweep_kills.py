"""A sweep any of whose processes is killed at any moment, and which is gone on
with: no cell that delivered runs twice, none is lost, and at the end the table is
that of a sweep that was left in peace.

    test_sweep_kills.py KILLS   so many of them; 40 without

The moments are those of SEED in the environment, 7 without.
"""
import collections
import contextlib
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time

import harness

CELLS = 12
SPEC = """\
version: 1
name: scan
device: cpu
world_size: 1
vars: {n: 0}
env: {N: "${vars.n}"}
entrypoint:
  shell: |
    sleep 0.0$((N % 5))
    echo "{\\"n\\": $((N * N))}" > "$JOBRUN_RESULT_FILE"
results: {fields: {n: {type: integer}}}
timeouts: {stop_grace: 500ms}
sweep:
  axes: {vars.n: {from: 0, to: 11}}
  best: {field: n, goal: max}
"""


KINDS = "leader", "guard", "runner"


def processes(pid):
    """The jobruns of a sweep, by their kinds: the one that leads it, and of each
    cell its guard and its runner, which is the leader's once the guard is gone."""
    found = {kind: [] for kind in KINDS}
    found["leader"].append(pid)
    with contextlib.suppress(OSError):
        for child in harness.children(pid):
            name = harness.name_of(child)
            if name == "jobrun-runner":
                found["runner"].append(child)
            elif name.startswith("jobrun"):
                found["guard"].append(child)
    for guard in found["guard"]:
        with contextlib.suppress(OSError):
            found["runner"] += [child for child in harness.children(guard)
                                if harness.name_of(child) == "jobrun-runner"]
    return found


class Kills(harness.Case):
    kills = int(sys.argv.pop(1)) if sys.argv[1:] and sys.argv[1].isdigit() else 40

    def delivered(self, folder):
        """The inodes of results by the names of cells."""
        found = {}
        for path in folder.glob("runs/latest/cells/*/results.json"):
            if "." not in path.parent.name and \
                    json.loads(path.read_text())["status"] == "succeeded":
                found[path.parent.name] = path.stat().st_ino
        return found

    def table(self, folder):
        sweep = json.loads((folder / "runs/latest/sweep.json").read_text())
        return sweep["axes"], sweep["best"], sweep["counts"], [
            {key: cell[key] for key in
             ("cell", "values", "status", "result", "run")}
            for cell in sweep["cells"]]

    def lines(self, folder):
        """Of the journal, which grows as cells begin and end."""
        with contextlib.suppress(OSError):
            return (folder / "runs/latest/journal.jsonl").read_bytes().count(b"\n")
        return 0

    def await_moment(self, sweep, folder, dice):
        """A moment of its beginning, or soon after something of the journal."""
        if dice.random() < 0.25:
            time.sleep(dice.random() * 0.3)
            return
        wanted = self.lines(folder) + dice.randrange(1, CELLS)
        until = time.monotonic() + harness.LIMIT
        while self.lines(folder) < wanted and sweep.poll() is None:
            self.assertLess(time.monotonic(), until)
            time.sleep(0.002)
        time.sleep(dice.random() * 0.03)

    def await_kind(self, sweep, kind):
        """Processes of that kind, once there are some. None where the sweep has
        ended before."""
        until = time.monotonic() + harness.LIMIT
        while not (found := processes(sweep.pid)[kind]) and sweep.poll() is None:
            self.assertLess(time.monotonic(), until, kind)
            time.sleep(0.001)
        return found

    def kill_once(self, folder, dice, kind):
        """Whether a process of that kind was killed; else the sweep had ended."""
        sweep = self.start("scan.jobrun.yaml", "--resume", cwd=folder,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.await_moment(sweep, folder, dice)
        found, killed = self.await_kind(sweep, kind), False
        victim = dice.choice(found) if found else None
        if victim and sweep.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(victim, signal.SIGKILL)
                killed = True
        if kind != "leader":  # its cell alone, and then the rest of it
            time.sleep(dice.random() * 0.05)
            with contextlib.suppress(ProcessLookupError):
                sweep.kill()
        sweep.wait(harness.LIMIT)
        return killed

    def test_at_any_moment(self):
        dice = random.Random(int(os.environ.get("SEED", "7")))
        peace = pathlib.Path(self.folder / "peace")
        peace.mkdir()
        (peace / "scan.jobrun.yaml").write_text(SPEC)
        self.expect(self.jobrun("scan.jobrun.yaml", cwd=peace), 0)
        hits, sweeps = collections.Counter(), 0
        while sum(hits.values()) < self.kills:
            folder = self.folder / f"sweep-{sweeps}"
            folder.mkdir()
            (folder / "scan.jobrun.yaml").write_text(SPEC)
            kept = {}
            while len(kept) < CELLS and sum(hits.values()) < self.kills:
                # Runners are there for a moment only: each kind has its turns,
                # or chance alone would pass one over.
                kind = min(KINDS, key=lambda kind: (hits[kind], dice.random()))
                hits[kind] += self.kill_once(folder, dice, kind)
                now = self.delivered(folder)
                for name, inode in kept.items():
                    self.assertEqual(now.get(name), inode,
                                     f"{folder}: {name} ran again")
                kept = now
            self.expect(self.jobrun("scan.jobrun.yaml", "--resume", cwd=folder),
                        0)
            now = self.delivered(folder)
            self.assertEqual({name: now[name] for name in kept}, kept)
            self.assertEqual(self.table(folder), self.table(peace))
            shutil.rmtree(folder)
            sweeps += 1
        print(f"{sum(hits.values())} kills in {sweeps} sweeps of {CELLS} cells:",
              ", ".join(f"{hits[kind]} of a {kind}" for kind in KINDS),
              file=sys.stderr)
        for kind in KINDS:
            self.assertGreaterEqual(hits[kind], self.kills // len(KINDS), kind)


if __name__ == "__main__":
    harness.main()
