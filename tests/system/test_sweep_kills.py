"""A sweep any of whose processes is killed at any moment, and which is gone on
with: no cell that delivered runs twice, none is lost, and at the end the table is
that of a sweep that was left in peace.

    test_sweep_kills.py KILLS   so many of them; 40 without

The moments are those of SEED in the environment, 7 without.
"""
import contextlib
import json
import os
import pathlib
import random
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


def processes(pid):
    """The jobruns of a sweep: the one that leads it, guards and runners."""
    found = [pid]
    for above in found:
        with contextlib.suppress(OSError):
            found += [child for child in harness.children(above)
                      if harness.name_of(child).startswith("jobrun")]
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

    def kill_once(self, folder, dice):
        """Whether a process was killed; then it may be any of them."""
        sweep = self.start("scan.jobrun.yaml", "--resume", cwd=folder,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(dice.random() * 0.3)
        victim = dice.choice(processes(sweep.pid))
        with contextlib.suppress(ProcessLookupError):
            os.kill(victim, signal.SIGKILL)
        killed = sweep.poll() is None or sweep.returncode == -signal.SIGKILL
        if victim != sweep.pid:  # its cell alone, and then the rest of it
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
        kills = sweeps = 0
        while kills < self.kills:
            folder = self.folder / f"sweep-{sweeps}"
            folder.mkdir()
            (folder / "scan.jobrun.yaml").write_text(SPEC)
            kept = {}
            while len(kept) < CELLS and kills < self.kills:
                kills += self.kill_once(folder, dice)
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
            sweeps += 1
        print(f"{kills} kills in {sweeps} sweeps of {CELLS} cells",
              file=sys.stderr)


if __name__ == "__main__":
    harness.main()
