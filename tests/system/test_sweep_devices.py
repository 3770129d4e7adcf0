"""Cells of sweeps, other sweeps and other runs on the devices of one machine:
never two on one device, and none that waits for ever."""
import contextlib
import json
import os
import pathlib
import re
import signal
import time

import harness
from test_device_leases import Leases

# A cell that says where it is, and lasts until it can read from its pipe.
HOLDS = """echo $ACME_VISIBLE >dev-$N
: >up-$N
read word <gate"""
# A cell that fails if any other has its device.
PASSES = """cd "$SHARED"
for i in $(echo $ACME_VISIBLE | tr , ' '); do
mkdir "on-$i" || { touch clash; exit 9; }
done
sleep 0.02
for i in $(echo $ACME_VISIBLE | tr , ' '); do rmdir "on-$i"; done"""


class SweepLeases(Leases):
    def sweep(self, cells, *words, shell=HOLDS, more="world_size: 1\n",
              name="sweep", env=None, axes=None):
        """A sweep on its way, in a folder of its own."""
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        if not (folder / "gate").exists():
            os.mkfifo(folder / "gate")
            (folder / "acme.facts.yaml").write_text(
                (self.folder / "acme.facts.yaml").read_text())
        (folder / "scan.jobrun.yaml").write_text(
            "version: 1\nname: scan\ndevice: custom:acme\nbackends: gloo\n"
            f"vars: {{n: 0}}\nenv: {{N: '${{vars.n}}'}}\n{more}"
            "timeouts: {stop_grace: 500ms}\nentrypoint:\n  shell: |\n" +
            "".join(f"    {line}\n" for line in shell.splitlines()) +
            "sweep: {%s}\n" % (axes or "axes: {vars.n: {from: 0, to: %d}}"
                               % (cells - 1)))
        fd = os.open(folder / "gate", os.O_RDWR)
        self.addCleanup(os.close, fd)
        process = self.start("scan.jobrun.yaml", *words, cwd=folder, env=env)
        process.folder, process.fd = folder, fd
        return process

    def awaited(self, what, message):
        until = time.monotonic() + harness.LIMIT
        while not what():
            self.assertLess(time.monotonic(), until, message)
            time.sleep(0.01)

    def cell_up(self, process, cell):
        """The device that a cell has, once it is there."""
        up = process.folder / f"up-{cell}"

        def there():
            self.assertIsNone(process.poll(), "the sweep has ended")
            return up.exists()
        self.awaited(there, f"no cell {cell}")
        return (process.folder / f"dev-{cell}").read_text().strip()

    def go(self, process, ranks=1):
        os.write(process.fd, b"go\n" * ranks)

    def ended(self, process, code=0):
        """What it said, once it has ended."""
        out, err = process.communicate(timeout=harness.LIMIT)
        err = getattr(process, "said", b"").decode() + err
        self.assertEqual(process.returncode, code, out + err)
        return err

    def counts(self, process):
        path = process.folder / "runs" / "latest" / "sweep.json"
        return json.loads(path.read_text())["counts"]


class Beside(SweepLeases):
    def test_a_run_keeps_its_device(self):
        run = self.hold(1)
        name = self.begun(run)
        sweep = self.sweep(4)
        told = self.says(sweep, "4 cells")
        self.assertIn(f"each 1 of 3 custom:acme; 0 is held by run {name} (pid "
                      f"{run.pid})", told)
        self.assertEqual([self.cell_up(sweep, n) for n in (0, 1)], ["1", "2"])
        self.says(sweep, "waiting for devices: 0 is held by run")
        latest = os.readlink(sweep.folder / "runs" / "latest")
        done = self.jobrun("plan", "job.jobrun.yaml", "-s", "world_size=1")
        self.assertEqual(done.returncode, 4)
        self.assertIn(f"1 is held by run {latest}.0000 (pid {sweep.pid})",
                      done.stderr)
        self.assertFalse((sweep.folder / "up-2").exists())
        self.let_go(run)
        self.assertEqual(self.cell_up(sweep, 2), "0")
        self.go(sweep, 4)
        self.ended(sweep)
        self.assertEqual(self.counts(sweep), {"succeeded": 4})
        self.expect(self.jobrun("plan", "job.jobrun.yaml"), 0)

    def test_plan_says_who_holds_what(self):
        run = self.hold(1)
        name = self.begun(run)
        sweep = self.sweep(2)
        self.cell_up(sweep, 1)
        done = self.expect(self.jobrun("plan", "scan.jobrun.yaml",
                                       cwd=sweep.folder), 0)
        self.assertIn(f"of the devices 0 is held by run {name} (pid {run.pid})"
                      "; 1 is held by run", done.stdout)
        done = self.expect(self.jobrun("plan", "scan.jobrun.yaml", "--json",
                                       cwd=sweep.folder), 0)
        self.assertIn(name, json.loads(done.stdout)["held"])
        self.let_go(run)
        self.go(sweep, 2)
        self.ended(sweep)
        done = self.expect(self.jobrun("plan", "scan.jobrun.yaml", "--json",
                                       cwd=sweep.folder), 0)
        self.assertIsNone(json.loads(done.stdout)["held"])

    def test_a_waiting_run_gets_the_next_device(self):
        """It is not kept waiting until the sweep is over, and the sweep's next
        cell comes behind it."""
        sweep = self.sweep(6)
        for cell in range(3):
            self.cell_up(sweep, cell)
        run = self.hold(1, "--wait", name="waiting")
        self.waits(run)
        self.go(sweep)
        self.begun(run)
        self.says(sweep, "waiting for devices")
        self.let_go(run)
        self.go(sweep, 5)
        self.ended(sweep)
        self.assertEqual(self.counts(sweep), {"succeeded": 6})

    def test_a_large_cell_waits_for_all_of_its_devices(self):
        run = self.hold(1)
        self.begun(run)
        sweep = self.sweep(2, "--sweep", "world_size=3,1",
                           more="world_size: 1\n",
                           shell="echo $ACME_VISIBLE >dev-$N-$WORLD_SIZE\n"
                                 ": >up-$RANK-$N-$WORLD_SIZE\nread word <gate")
        small = sweep.folder / "up-0-0-1"
        self.awaited(small.exists, "no small cell passes the large one")
        self.awaited((sweep.folder / "up-0-1-1").exists, "nor a second one")
        self.go(sweep, 2)
        self.says(sweep, "waiting for devices")
        other = self.jobrun("job.jobrun.yaml", "-s", "world_size=1")
        self.assertEqual(other.returncode, 4)  # the large one is before it
        self.let_go(run)
        self.awaited((sweep.folder / "up-2-0-3").exists, "no large cell")
        self.go(sweep, 6)
        self.ended(sweep)

    def test_named_devices_are_all_that_cells_get(self):
        sweep = self.sweep(3, more="world_size: 1\ndevices: [1]\n")
        self.assertIn("each 1 of 1", self.says(sweep, "3 cells"))
        self.assertEqual(self.cell_up(sweep, 0), "1")
        run = self.hold(2)
        self.begun(run, 2)
        self.let_go(run, 2)
        self.assertEqual(sorted(self.devices(run)), ["0", "2"])
        self.go(sweep, 3)
        self.ended(sweep)
        self.assertEqual({(sweep.folder / f"dev-{n}").read_text().strip()
                          for n in range(3)}, {"1"})

    def test_cells_ask_for_any(self):
        run = self.hold(1)
        self.begun(run)
        sweep = self.sweep(2, more="world_size: 1\ndevices: any\n")
        self.assertEqual([self.cell_up(sweep, n) for n in (0, 1)], ["1", "2"])
        self.go(sweep, 2)
        self.ended(sweep)
        record = json.loads((sweep.folder / "runs/latest/cells/0000/run.json")
                            .read_text())
        self.assertTrue(record["any_devices"])
        self.let_go(run)

    def test_a_sweep_within_a_run_shares_its_devices(self):
        self.sweep(2, shell="true").communicate(timeout=harness.LIMIT)
        outer = self.write(
            "outer/job.jobrun.yaml",
            "version: 1\ndevice: custom:acme\nbackends: gloo\nworld_size: 1\n"
            "env: {ACME_VISIBLE: null}\n"
            f"entrypoint: ['{harness.JOBRUN}', "
            f"'{self.folder}/sweep/scan.jobrun.yaml']\n")
        (outer.parent / "acme.facts.yaml").write_text(
            (self.folder / "acme.facts.yaml").read_text())
        done = self.expect(self.jobrun("job.jobrun.yaml", cwd=outer.parent), 0)
        self.assertIn("2 of 2 cells delivered", done.stdout + done.stderr)


class Several(SweepLeases):
    def several(self, counts, env=None):
        shared = self.folder / "shared"
        shared.mkdir()
        more = "world_size: 1\nsecrets: []\n"
        sweeps = [self.sweep(count, shell=PASSES, more=more, name=f"sweep-{i}",
                             env={"SHARED": str(shared)})
                  for i, count in enumerate(counts)]
        for sweep, count in zip(sweeps, counts):
            self.ended(sweep)
            self.assertEqual(self.counts(sweep), {"succeeded": count})
        self.assertFalse((shared / "clash").exists())

    def test_sweeps_share_the_devices_in_turns(self):
        self.several((12, 12, 12))

    def test_neither_of_two_comes_to_nothing(self):
        """The later one has not to wait for all of the earlier one's cells."""
        one = self.sweep(9, name="one")
        for cell in range(3):
            self.cell_up(one, cell)
        two = self.sweep(3, name="two")
        self.says(two, "waiting for devices")
        self.go(one)
        self.cell_up(two, 0)
        self.assertFalse((one.folder / "up-3").exists())
        # Either may have asked first for the next one; not twice in a row.
        self.go(one)
        self.awaited(lambda: any((sweep.folder / up).exists() for sweep, up in
                                 ((one, "up-3"), (two, "up-1"))), "no cell")
        if (two.folder / "up-1").exists():
            self.go(one)
        self.cell_up(one, 3)
        self.assertFalse((two.folder / "up-2").exists())
        self.go(one, 7)
        self.go(two, 3)
        self.ended(one)
        self.ended(two)


class Killed(SweepLeases):
    def test_a_holder_is_killed(self):
        run = self.hold(3)
        self.begun(run, 3)
        sweep = self.sweep(1)
        self.says(sweep, "waiting for devices: 0, 1, 2 are held by run")
        runner = harness.runner_of(run.pid)
        os.kill(run.pid, signal.SIGSTOP)
        os.kill(runner, signal.SIGKILL)
        run.kill()
        run.wait(harness.LIMIT)
        self.cell_up(sweep, 0)
        self.go(sweep)
        self.ended(sweep)

    def test_a_sweep_that_holds_is_killed(self):
        one = self.sweep(3, name="one")
        for cell in range(3):
            self.cell_up(one, cell)
        two = self.sweep(3, name="two")
        self.says(two, "waiting for devices")
        one.kill()
        one.wait(harness.LIMIT)
        for cell in range(3):
            self.cell_up(two, cell)
        self.go(two, 3)
        self.ended(two)
        again = self.sweep(3, "--resume", name="one")
        self.go(again, 3)
        self.ended(again)
        self.assertEqual(self.counts(again), {"succeeded": 3})

    def test_a_sweep_that_waits_is_killed(self):
        run = self.hold(3)
        self.begun(run, 3)
        one = self.sweep(3, name="one")
        self.says(one, "waiting for devices")
        two = self.sweep(3, name="two")
        self.says(two, "waiting for devices")
        one.kill()
        one.wait(harness.LIMIT)
        self.let_go(run, 3)
        self.cell_up(two, 2)
        self.go(two, 3)
        self.ended(two)

    def test_both_processes_of_a_cell_are_killed(self):
        """Its device is free once all that it left has been ended."""
        sweep = self.sweep(1, shell="setsid sleep 600 & echo $! >pid\n" + HOLDS)
        self.cell_up(sweep, 0)
        guard = harness.children(sweep.pid)[0]
        runner = harness.runner_of(guard)
        os.kill(guard, signal.SIGSTOP)
        os.kill(runner, signal.SIGKILL)
        os.kill(guard, signal.SIGKILL)
        run = self.hold(3, "--wait", name="waiting")
        self.begun(run, 3)
        left = int((sweep.folder / "pid").read_text())
        with contextlib.suppress(OSError):
            state = pathlib.Path(f"/proc/{left}/stat").read_text()
            self.assertIn(state.rpartition(")")[2].split()[0], "ZX")
        self.let_go(run, 3)
        self.ended(sweep, 7)


class Wait(SweepLeases):
    def held(self):
        run = self.hold(3)
        self.begun(run, 3)
        return run

    def test_a_signal_ends_it(self):
        run = self.held()
        sweep = self.sweep(2)
        self.says(sweep, "waiting for devices")
        sweep.terminate()
        self.ended(sweep, 128 + signal.SIGTERM)
        self.assertEqual(self.counts(sweep), {"not_started": 2})
        self.let_go(run, 3)

    def test_it_does_not_wake(self):
        run = self.held()
        sweep = self.sweep(1)
        self.says(sweep, "waiting for devices")
        status = pathlib.Path(f"/proc/{sweep.pid}/status")
        switches = re.compile(r"^voluntary_ctxt_switches:\s+(\d+)", re.M)
        # the journal is synced within a second of its last line
        self.awaited(lambda: "S (sleeping)" in status.read_text(), "awake")
        time.sleep(1.5)
        before = switches.search(status.read_text())[1]
        time.sleep(1)  # nothing is to happen in it
        self.assertEqual(switches.search(status.read_text())[1], before)
        self.let_go(run, 3)
        self.cell_up(sweep, 0)
        self.go(sweep)
        self.ended(sweep)

    def test_the_time_may_run_out(self):
        run = self.held()
        sweep = self.sweep(2, "--wait=300ms")
        told = self.says(sweep, "waiting for devices for at most 300ms")
        self.assertIn("are held by run", told)
        self.assertIn("the time of --wait is over", self.ended(sweep, 4))
        self.assertEqual(self.counts(sweep), {"not_started": 2})
        self.let_go(run, 3)
        again = self.sweep(2, "--resume")
        self.go(again, 2)
        self.ended(again)

    def test_the_time_counts_only_while_nothing_runs(self):
        run = self.hold(2)
        self.begun(run, 2)
        sweep = self.sweep(2, "--wait=50ms")
        self.says(sweep, "waiting for devices")
        time.sleep(0.2)  # longer than it would wait
        self.go(sweep, 2)
        self.ended(sweep)
        self.let_go(run, 2)


class Gone(SweepLeases):
    def test_a_device_that_disappears_takes_one_cell_only(self):
        """Without that it would take all: nothing is over sooner than a cell
        that cannot begin."""
        sweep = self.sweep(8, shell=HOLDS + "\n[ $ACME_VISIBLE != 1 ]")
        for cell in range(3):
            self.cell_up(sweep, cell)
        facts = sweep.folder / "acme.facts.yaml"
        facts.write_text("".join(
            line for line in facts.read_text().splitlines(keepends=True)
            if "index: 1," not in line))
        self.go(sweep, 8)
        told = self.ended(sweep, 1)
        self.assertIn("the custom:acme device 1 is not there any more", told)
        self.assertEqual(self.counts(sweep), {"succeeded": 7, "failed": 1})
        devices = [(sweep.folder / f"dev-{n}").read_text().strip()
                   for n in range(8)]
        self.assertEqual(devices.count("1"), 1)

    def test_what_needs_it_cannot_begin(self):
        sweep = self.sweep(2, shell="read word <gate; exit 3",
                           more="world_size: 3\n")
        facts = sweep.folder / "acme.facts.yaml"
        self.awaited(lambda: (sweep.folder / "runs/latest/cells/0000/attempt_0")
                     .exists(), "no cell")
        facts.write_text("".join(
            line for line in facts.read_text().splitlines(keepends=True)
            if "index: 1," not in line))
        self.go(sweep, 3)
        told = self.ended(sweep, 1)
        self.assertIn("cells that need 3 custom:acme devices cannot begin any "
                      "more: 2 are left", told)
        self.assertEqual(self.counts(sweep), {"failed": 1, "not_started": 1})


if __name__ == "__main__":
    harness.main()
