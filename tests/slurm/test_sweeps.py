"""Sweeps in an allocation of a real Slurm: cells of one node run on all of its nodes,
through one step."""
import contextlib
import json
import os
import pathlib
import signal

import lab
from lab import JOBRUN, Lab

setUpModule = lab.up(4)

DELIVER = ('echo "{\\"node\\": \\"$SLURMD_NODENAME\\", \\"step\\": '
           '\\"$SLURM_STEP_ID\\"}" > "$JOBRUN_RESULT_FILE"')
WAIT = ('echo "$$ $SLURMD_NODENAME" > pid.$N; '
        f"while [ ! -e go ]; do sleep 0.1; done; {DELIVER}")
ACME = """#!/bin/sh
echo "format_version: 1"
echo "variable: ACME_VISIBLE"
echo "devices:"
for i in 0 1 2; do echo "- {index: $i, uuid: CARD-$SLURMD_NODENAME-$i}"; done
"""


class Sweeps(Lab):
    def sweep_spec(self, script=DELIVER, cells=64, device="cpu", more=""):
        return self.write(
            "s.jobrun.yaml", f"version: 1\nname: s\ndevice: {device}\n"
            "threads: 1\nworld_size: 1\nvars: {n: 0}\n"
            "env: {N: '${vars.n}'}\ntimeouts: {stop_grace: 500ms}\n"
            "results: {fields: {node: {type: string}, "
            "step: {type: string}}}\n"
            f"entrypoint: {{shell: {json.dumps(script)}}}\n"
            f"sweep: {{axes: {{vars.n: {{from: 0, to: {cells - 1}}}}}}}\n"
            f"{more}")

    def allocated(self, *words, nodes=4):
        return ("salloc", "-Q", "--no-kill", f"-N{nodes}", *words)

    def cells(self):
        done = self.expect(self.on(JOBRUN, "show", "latest", "--format",
                                   "json"), 0)
        return json.loads(done.stdout)["cells"]

    def statuses(self):
        return [cell["status"] for cell in self.cells()]

    def started(self, count):
        """{cell: (pid, node)} of cells that wait, once there are so many."""
        def found():
            rows = {path.suffix[1:]: path.read_text().split()
                    for path in self.folder.glob("pid.*")}
            whole = {int(cell): (int(row[0]), row[1])
                     for cell, row in rows.items() if len(row) == 2}
            return whole if len(whole) >= count else None
        return self.slurm.wait(found, f"{count} cells")

    def go(self):
        (self.folder / "go").touch()

    def delivered(self):
        """The inodes of results of cells that have delivered."""
        return {path.parent.name: path.stat().st_ino for path in
                (self.folder / "runs" / "latest").glob("cells/*/results.json")
                if json.loads(path.read_text())["status"] == "succeeded"}

    def test_64_cells_through_one_step(self):
        spec = self.sweep_spec()
        done = self.expect(self.on(*self.allocated(JOBRUN, spec)), 0)
        self.assertIn("64 cells, ", done.stderr)
        self.assertIn(", on 4 nodes; ", done.stderr)
        cells = self.cells()
        self.assertEqual([cell["status"] for cell in cells],
                         ["succeeded"] * 64)
        self.assertEqual({cell["result"]["node"] for cell in cells},
                         {"n1", "n2", "n3", "n4"})
        self.assertEqual({cell["result"]["step"] for cell in cells}, {"0"})
        for path in (self.folder / "runs" / "latest").glob("cells/0*/"):
            self.assertTrue((path / "run.json").exists(), path)

    def test_slurm_has_seen_one_step(self):
        """The number of the next step tells how many there were."""
        spec = self.sweep_spec(cells=16)
        done = self.expect(self.on(*self.allocated(
            "sh", "-c", f'"{JOBRUN}" "{spec}" && '
            "srun -N1 -n1 sh -c 'echo next $SLURM_STEP_ID'")), 0)
        self.assertIn("next 1", done.stdout)

    def test_in_a_batch_script(self):
        spec = self.sweep_spec(cells=16)
        script = self.write("job.sh", "#!/bin/sh\n"
                            f'exec "{JOBRUN}" "{spec}"\n')
        job = self.expect(self.on("sbatch", "--parsable", "-N4", script),
                          0).stdout.strip()
        self.slurm.await_job(job, "COMPLETED", "FAILED")
        self.assertEqual(self.statuses(), ["succeeded"] * 16)
        self.slurm.await_gone()

    def test_devices_of_each_node_are_one_cells_alone(self):
        self.write("acme.facts", ACME).chmod(0o755)
        has = '"has.$SLURMD_NODENAME.$ACME_VISIBLE"'
        spec = self.sweep_spec(
            f"mkdir {has} && sleep 0.05 && rmdir {has} && "
            f'echo "$SLURMD_NODENAME $ACME_VISIBLE" >> used; {DELIVER}',
            48, "custom:acme", "backends: custom:acme\n")
        done = self.expect(self.on(*self.allocated(JOBRUN, spec)), 0)
        self.assertIn("each 1 of 12 custom:acme, on 4 nodes", done.stderr)
        self.assertEqual(self.statuses(), ["succeeded"] * 48)
        self.assertEqual(set((self.folder / "used").read_text().splitlines()),
                         {f"n{node} {device}" for node in range(1, 5)
                          for device in range(3)})

    def killed(self, kill, code=None):
        """Kill something while cells run, and go on with what is left: what
        delivered does not run again, and nothing is missing."""
        spec = self.sweep_spec(WAIT, 24)
        process = self.begin(*self.allocated(JOBRUN, spec))
        kill(process, self.started(4))
        self.go()
        out, err = process.communicate(timeout=lab.cluster.LIMIT)
        self.slurm.await_idle()
        self.slurm.await_gone()
        if code is not None:
            self.assertEqual(process.returncode, code, err)
        before = self.delivered()
        done = self.expect(self.on(*self.allocated(JOBRUN, spec, "--resume")),
                           0)
        self.assertEqual(self.statuses(), ["succeeded"] * 24)
        after = self.delivered()
        self.assertEqual({name: after[name] for name in before}, before)
        return err, done.stderr

    def agents(self, node):
        found = []
        for pid in self.slurm.node_processes(node):
            with contextlib.suppress(OSError):  # it may have ended
                line = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
                if line.startswith(f"{JOBRUN}\0agent".encode()):
                    found.append(pid)
        return found

    def test_a_killed_agent(self):
        def kill(_, started):
            node = next(iter(started.values()))[1]
            agents = self.agents(node)
            self.assertTrue(agents)
            os.kill(min(agents), signal.SIGKILL)
        err, _ = self.killed(kill, 7)
        self.assertIn("cells go on on the 3 nodes that are left", err)
        self.assertRegex(err, r"node \d \(n\d\) is lost: srun: error: n\d: "
                              r"task \d: Killed; cells? \d+.* ended with it")

    def test_a_lost_node(self):
        """slurmd, its step, and all in it."""
        spec = self.sweep_spec(WAIT, 24)
        process = self.begin(*self.allocated(JOBRUN, spec))
        lost = next(iter(self.started(4).values()))[1]
        self.slurm.lose(lost)
        self.go()
        _, err = process.communicate(timeout=lab.cluster.LIMIT)
        self.slurm.bring_back(lost)
        self.assertEqual(process.returncode, 7, err)
        self.assertIn(f"({lost}) is lost: ", err)
        self.assertNotIn("not_started", self.statuses())
        self.expect(self.on(*self.allocated(JOBRUN, spec, "--resume")),
                           0)
        self.assertEqual(self.statuses(), ["succeeded"] * 24)

    def test_a_killed_leader(self):
        def kill(process, started):
            below = lab.cluster.below(process.pid)
            leader = next(pid for pid, words in below.items()
                          if words.startswith(JOBRUN))
            os.kill(leader, signal.SIGKILL)
            for pid, _ in started.values():
                self.slurm.wait(lambda: not os.path.exists(f"/proc/{pid}"),
                                f"end of {pid}")
        self.killed(kill)

    def test_stopped_and_gone_on_with(self):
        def kill(process, started):
            self.expect(self.on(JOBRUN, "stop", "latest"), 0)
        self.killed(kill, 128 + 15)

    def test_the_end_of_the_allocation(self):
        """scancel: as at the end of its time, all are sent SIGTERM."""
        spec = self.sweep_spec(WAIT, 24)
        script = self.write("job.sh", "#!/bin/sh\n"
                            f'exec "{JOBRUN}" "{spec}"\n')
        job = self.expect(self.on("sbatch", "--parsable", "-N4", script),
                          0).stdout.strip()
        self.started(4)
        self.slurm.ask("scancel", "--full", job)
        self.slurm.await_idle()
        self.slurm.await_gone()
        self.assertEqual(set(self.statuses()), {"stopped", "not_started"})
        self.go()
        self.expect(self.on(*self.allocated(JOBRUN, spec, "--resume")), 0)
        self.assertEqual(self.statuses(), ["succeeded"] * 24)


if __name__ == "__main__":
    lab.main()
