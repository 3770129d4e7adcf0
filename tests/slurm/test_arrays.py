"""Sweeps as job arrays on a real Slurm."""
import json
import os
import unittest

import lab
from lab import JOBRUN, Lab

setUpModule = lab.up(4)

PROGRAM = {"PATH": os.path.dirname(JOBRUN) + ":" + os.environ["PATH"]}
SUBMIT = (JOBRUN, "submit", "--engine", "slurm")
DELIVER = 'echo "{\\"host\\": \\"$SLURMD_NODENAME\\"}" > "$JOBRUN_RESULT_FILE"'


class Arrays(Lab):
    def sweep(self, script=DELIVER, more="", cells=12):
        return self.write(
            "s.jobrun.yaml", "version: 1\nname: s\ndevice: cpu\nthreads: 1\n"
            f"local_world_size: 1\nvars: {{n: 0}}\nenv: {{N: '${{vars.n}}'}}\n"
            f"results: {{fields: {{host: {{type: string}}}}}}\n"
            f"entrypoint: {{shell: {json.dumps(script)}}}\n"
            f"sweep: {{axes: {{vars.n: {{from: 0, to: {cells - 1}}}}}}}\n"
            f"{more}")

    def submit(self, spec, *words, code=0):
        done = self.expect(self.on(*SUBMIT, spec, *words, env=PROGRAM), code)
        return done.stdout.strip()

    def on_nodes(self, count):
        """Other jobs of this machine may have the usual port."""
        return f"nodes: {count}\nmaster_port: {self.slurm.lease_port()}\n"

    def table(self):
        done = self.expect(self.on(JOBRUN, "show", "latest", "--format",
                                   "json"), 0)
        return json.loads(done.stdout)

    def count(self, status):
        return self.table()["counts"].get(status, 0)

    def test_every_cell_is_a_task(self):
        spec = self.sweep()
        self.submit(spec, "--wait")
        cells = self.table()["cells"]
        self.assertEqual([cell["status"] for cell in cells],
                         ["succeeded"] * 12)
        self.assertLessEqual({cell["result"]["host"] for cell in cells},
                             {"n1", "n2", "n3", "n4"})
        self.assertIn("12/12", self.on(JOBRUN, "runs").stdout)

    def test_edits_reach_no_task_that_waits(self):
        spec = self.sweep(more="engine: {slurm: {hold: true}}\n")
        job = self.submit(spec)
        spec.write_text("version: 1\nentrypoint: [false]\n")
        self.slurm.ask("scontrol", "release", job)
        self.expect(self.on(JOBRUN, "wait", "latest"), 0)
        self.assertEqual(self.table()["counts"], {"succeeded": 12})

    def test_so_many_at_once(self):
        spec = self.sweep("mkdir up.$N; ls -d up.* | wc -l >> most; sleep 0.2; "
                          f"rmdir up.$N; {DELIVER}", cells=8)
        self.submit(spec, "--parallel", "2", "--wait")
        most = (self.folder / "most").read_text().split()
        self.assertEqual(len(most), 8)
        self.assertLessEqual(max(map(int, most)), 2)

    def test_cells_of_two_nodes(self):
        spec = self.sweep(f"[ $WORLD_SIZE = 2 ] && {DELIVER}",
                          self.on_nodes(2), cells=3)
        self.submit(spec, "--parallel", "1", "--wait")
        cells = self.table()["cells"]
        self.assertEqual([cell["status"] for cell in cells],
                         ["succeeded"] * 3)
        plans = sorted((self.folder / "runs").glob("2*/cells/*/results.json"))
        for plan in plans:
            ranks = json.loads(plan.read_text())["ranks"]
            self.assertEqual(len({rank["host"] for rank in ranks}), 2)

    def test_stopped_and_gone_on_with(self):
        spec = self.sweep(f"[ -e go ] || exec sleep 1000; {DELIVER}", cells=20)
        self.submit(spec, "--parallel", "3")
        self.slurm.wait(lambda: self.count("running") == 3, "three cells")
        self.expect(self.on(JOBRUN, "stop", "latest"), 0)
        self.slurm.await_gone()
        self.assertEqual(self.table()["counts"],
                         {"stopped": 3, "not_started": 17})
        (self.folder / "go").touch()
        self.submit(spec, "--resume", "--wait")
        self.assertEqual(self.table()["counts"], {"succeeded": 20})

    def test_failed_cells_alone_run_again(self):
        spec = self.sweep("echo $N >> ran; [ $N != 5 ] || [ -e go ] || exit 3;"
                          f" {DELIVER}")
        self.submit(spec, "--wait", code=1)
        self.assertEqual(self.table()["counts"],
                         {"succeeded": 11, "failed": 1})
        (self.folder / "go").touch()
        self.submit(spec, "--resume", "--wait")
        self.assertEqual(self.table()["counts"], {"succeeded": 12})
        ran = (self.folder / "ran").read_text().split()
        self.assertEqual(sorted(map(int, ran)), sorted([*range(12), 5]))

    def test_a_task_that_is_queued_again(self):
        spec = self.sweep("echo $JOBRUN_ATTEMPT >> tries.$N; "
                          f"[ -e go ] || exec sleep 1000; {DELIVER}",
                          "engine: {slurm: {requeue: true}}\n", cells=3)
        job = self.submit(spec)
        self.slurm.wait(lambda: self.count("running") == 3 and len(
            list(self.folder.glob("tries.*"))) == 3, "three cells")
        (self.folder / "go").touch()
        self.slurm.ask("scontrol", "requeue", f"{job}_1")
        self.slurm.await_job(f"{job}_1", "PENDING")
        self.slurm.ask("scontrol", "update", f"jobid={job}_1", "StartTime=now")
        self.slurm.wait(lambda: self.count("succeeded") == 1, "the cell")
        self.assertEqual((self.folder / "tries.1").read_text(), "0\n1\n")
        folders = sorted(path.name for path in
                         (self.folder / "runs").glob("2*/cells/0*"))
        self.assertEqual(folders, ["0000", "0001", "0002"])
        self.expect(self.on(JOBRUN, "stop", "latest"), 0)
        self.slurm.await_gone()
        self.assertEqual(self.table()["counts"], {"succeeded": 1, "stopped": 2})

    def allocation(self, spec, *words, nodes=2):
        """jobrun leads the sweep in an allocation."""
        return ("salloc", "-Q", f"-N{nodes}", JOBRUN, spec, *words)

    def test_cells_of_several_nodes_in_an_allocation(self):
        spec = self.sweep("mkdir busy.$RANK && sleep 0.1 && rmdir busy.$RANK && "
                          f"[ $WORLD_SIZE = 2 ] && echo done && {DELIVER}",
                          self.on_nodes(2), cells=4)
        done = self.expect(self.on(*self.allocation(spec, nodes=4)), 0)
        self.assertIn("each 2 nodes, one after the other", done.stderr)
        self.assertEqual(self.table()["counts"], {"succeeded": 4})
        for path in (self.folder / "runs").glob("2*/cells/*/results.json"):
            ranks = json.loads(path.read_text())["ranks"]
            self.assertEqual(len({rank["host"] for rank in ranks}), 2)
            self.assertEqual(ranks[1]["stdout"], "attempt_0/1/stdout.log")

    def test_cells_of_one_node_beside_those_of_two(self):
        spec = self.sweep("[ $WORLD_SIZE = $NODES ] && [ %{cell} = "
                          f"$JOBRUN_CELL ] && {DELIVER}",
                          "nodes: 1\n")  # each its own port
        spec.write_text(spec.read_text().replace(
            "{vars.n: {from: 0, to: 11}}", "{vars.n: [0, 1], nodes: [1, 2]}")
            .replace("env: {", "env: {NODES: '${nodes}', "))
        self.expect(self.on(*self.allocation(spec)), 0)
        self.assertEqual(self.table()["counts"], {"succeeded": 4})
        done = self.expect(self.on(JOBRUN, spec), 4)
        self.assertIn("nodes 2, and node_rank and master_addr are MISSING",
                      done.stderr)

    def test_a_sweep_over_nodes_that_is_stopped(self):
        spec = self.sweep("echo $N >> began; [ -e go ] || exec sleep 1000; "
                          f"{DELIVER}", self.on_nodes(2), cells=3)
        process = self.begin(*self.allocation(spec))
        self.slurm.wait(lambda: (self.folder / "began").exists() and len(
            (self.folder / "began").read_text().split()) == 2, "both ranks")
        self.expect(self.on(JOBRUN, "stop", "latest"), 0)
        self.assertEqual(process.wait(lab.cluster.LIMIT), 128 + 15)
        self.slurm.await_gone()
        self.assertEqual(self.table()["counts"],
                         {"stopped": 1, "not_started": 2})
        (self.folder / "go").touch()
        done = self.on(*self.allocation(spec, "--resume"))
        self.expect(done, 0)
        self.assertEqual(self.table()["counts"], {"succeeded": 3})


if __name__ == "__main__":
    lab.main()
