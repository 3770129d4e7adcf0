"""Sweeps: cells that are checked, planned, chosen and run, and what becomes of
them when something goes wrong."""
import contextlib
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import tempfile
import time

import harness

SPEC = """\
version: 1
name: scan
device: cpu
world_size: 1
vars: {n: 0, seed: 0}
env: {N: "${vars.n}", SEED: "${vars.seed}"}
entrypoint:
  shell: |
%s
%s"""
GRID = """\
sweep:
  axes: {vars.n: [1, 2, 3], vars.seed: [0, 1]}
  exclude: [{vars.n: 3, vars.seed: 1}]
"""
BLOCKS = """\
sweep: {axes: {vars.n: [0, 1, 2, 3]}}
timeouts: {stop_grace: 500ms}
"""


class Sweep(harness.Case):
    def spec(self, shell="true", more=GRID, name="scan.jobrun.yaml"):
        return self.write(name, SPEC % (
            "".join(f"    {line}\n" for line in shell.splitlines()), more))

    def latest(self):
        return self.folder / "runs" / "latest"

    def sweep(self):
        return json.loads((self.latest() / "sweep.json").read_text())

    def statuses(self):
        return [cell["status"] for cell in self.sweep()["cells"]]

    def statuses_now(self):
        done = self.expect(self.jobrun("show", "latest", "--json"), 0)
        return [cell["status"] for cell in json.loads(done.stdout)["cells"]]

    def journal(self):
        lines = (self.latest() / "journal.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]

    def until(self, what, message):
        limit = time.monotonic() + harness.LIMIT
        while not what():
            self.assertLess(time.monotonic(), limit, message)
            time.sleep(0.01)

    def started(self, count):
        """The pids that cells have left in the folder, once there are so many."""
        def pids():
            return [int(text) for path in self.folder.glob("pid.*")
                    if (text := path.read_text().strip())]
        self.until(lambda: len(pids()) >= count, f"no {count} ranks")
        return pids()

    def gone(self, pids):
        def alive(pid):
            try:
                text = pathlib.Path(f"/proc/{pid}/stat").read_text()
            except OSError:
                return False
            return text.rpartition(")")[2].split()[0] not in "ZX"
        self.until(lambda: not any(alive(pid) for pid in pids),
                   f"some of {pids} live")


class Cells(Sweep):
    def test_every_cell_is_checked(self):
        self.spec()
        self.expect(self.jobrun("validate", "scan.jobrun.yaml"), 0)
        self.spec(more="sweep: {axes: {world_size: [1, 2x, 3]}}\n")
        done = self.expect(self.jobrun("validate", "scan.jobrun.yaml"), 3)
        self.assertIn("(cell 1: world_size=2x)", done.stdout)
        self.spec(more=GRID + "threads: x\n")
        done = self.expect(self.jobrun("validate", "scan.jobrun.yaml"), 3)
        self.assertEqual(done.stdout.count("JR0211"), 1)
        self.assertNotIn("(cell", done.stdout)

    def test_the_time_is_that_of_the_cells(self):
        """What a sweep leaves out is found without a look at every cell for
        each entry, and is not read again for each cell."""
        for axes, entries in (
                ("{vars.n: {from: 1, to: 100000}}",
                 [f"vars.n: {i}" for i in range(1, 15000)]),
                ("{vars.n: {from: 1, to: 100}, vars.seed: {from: 1, to: 1000}}",
                 [f"vars.n: {i % 100 + 1}, vars.seed: {i}"
                  for i in range(1, 5000)])):
            path = self.spec(more=f"sweep:\n  axes: {axes}\n  exclude:\n" + "".join(
                f"    - {{{entry}}}\n" for entry in entries))
            self.expect(self.jobrun("validate", path), 0)

    def test_targets_are_tried_for_every_cell(self):
        self.write("t.jobrun.yaml", "version: 1\nentrypoint: ['true']\n"
                   "targets: ['1x2:H100']\nsweep: {axes: {world_size: "
                   "[2, 4]}}\n")
        done = self.expect(self.jobrun("validate", "t.jobrun.yaml"), 4)
        self.assertIn("(cell 1: world_size=4)", done.stdout)

    def test_plan_lists_cells_and_needs(self):
        self.spec(more="sweep:\n  axes: {vars.n: [1, 2], threads: [1, 4]}\n")
        done = self.expect(self.jobrun("plan", "scan.jobrun.yaml", "--on",
                                       "1x0,4c", "--json"), 0)
        plan = json.loads(done.stdout)
        self.assertEqual([cell["cores"] for cell in plan["cells"]],
                         [1, 4, 1, 4])
        self.assertEqual((plan["at_once"], plan["rounds"]), (1, 4))
        done = self.expect(self.jobrun("plan", "scan.jobrun.yaml", "--on",
                                       "1x0,2c"), 4)
        self.assertIn("cell 1 (vars.n=1,threads=4) needs 4 CPU cores",
                      done.stderr)

    def test_plan_counts_devices(self):
        self.write("t.jobrun.yaml", "version: 1\nentrypoint: ['true']\n"
                   "world_size: 2\nvars: {a: 0}\nenv: {A: '${vars.a}'}\n"
                   "sweep: {axes: {vars.a: {from: 1, to: 7}}}\n")
        plan = json.loads(self.expect(
            self.jobrun("plan", "t.jobrun.yaml", "--on", "1x8:H100", "--json"),
            0).stdout)
        self.assertEqual({cell["devices"] for cell in plan["cells"]}, {2})
        self.assertEqual((plan["at_once"], plan["rounds"]), (4, 2))

    def test_mistakes_are_told_at_once(self):
        for sweep in ("vars.nn=1,2", "vars.n=", "devices=0,1",
                      "vars.n=1..1000000000"):
            with self.subTest(sweep):
                self.spec()
                done = self.expect(self.jobrun("plan", "scan.jobrun.yaml",
                                               "--sweep", sweep), 3)
                self.assertIn("--sweep:", done.stderr)

    def test_one_cell_is_an_ordinary_run(self):
        self.spec("echo n=$N seed=$SEED cell=$JOBRUN_CELL")
        done = self.expect(self.jobrun("scan.jobrun.yaml", "--cell", "0003"), 0)
        self.assertIn("n=2 seed=1 cell=3", done.stdout)
        self.assertTrue((self.latest() / "run.json").exists())
        done = self.expect(self.jobrun("scan.jobrun.yaml", "--cell",
                                       "vars.n=3"), 0)
        self.assertIn("n=3 seed=0 cell=4", done.stdout)
        resolved = self.expect(self.jobrun("resolve", "scan.jobrun.yaml",
                                           "--cell", "3"), 0).stdout
        self.assertNotIn("sweep", resolved)
        for cell in ("5", "vars.n=1", "vars.m=1"):
            self.expect(self.jobrun("scan.jobrun.yaml", "--cell", cell), 2)

    def test_other_verbs_want_a_cell(self):
        self.spec()
        for words in (["resolve"], ["render", "--engine", "mpi"]):
            with self.subTest(words[0]):
                done = self.expect(self.jobrun(
                    words[0], "scan.jobrun.yaml", *words[1:]), 2)
                self.assertIn("--cell 0", done.stderr)
        for words in (["--debug", "0"], ["--stdin", "0"]):
            with self.subTest(words[0]):
                done = self.expect(self.jobrun("scan.jobrun.yaml", *words), 2)
                self.assertIn("--cell 0", done.stderr)
        done = self.expect(self.jobrun("-n", "1", "--cell", "0", "--", "true"),
                           2)
        self.assertIn("no `sweep`", done.stderr)
        for words in (["--parallel", "2"], ["--resume"], ["--skip-failed"],
                      ["--rerun-changed"]):
            with self.subTest(words[0]):
                done = self.expect(self.jobrun("-n", "1", *words, "--", "true"),
                                   2)
                self.assertIn(f"{words[0]} is for a sweep", done.stderr)
        self.expect(self.jobrun("plan", "-n", "1", "--parallel", "2", "--",
                                "true"), 2)

    def test_cells_of_several_nodes(self):
        """Each has all nodes to itself; outside of an allocation there is one."""
        self.write("n.jobrun.yaml", "version: 1\ndevice: cpu\nthreads: 1\n"
                   "nodes: 2\nlocal_world_size: 1\nentrypoint: ['true']\n"
                   "sweep: {axes: {env.N: [1, 2, 3]}}\n")
        done = self.expect(self.jobrun("plan", "n.jobrun.yaml", "--on",
                                       "4x0,8c"), 0)
        self.assertIn("3 cells, 1 at once there, 3 rounds", done.stdout)
        self.assertEqual(done.stdout.count("2 nodes"), 3)
        done = self.expect(self.jobrun("plan", "n.jobrun.yaml", "--on",
                                       "1x0,8c"), 4)
        self.assertIn("--on 1x0,8c has 1", done.stderr)
        done = self.expect(self.jobrun(
            "n.jobrun.yaml", "--node-rank", "0", "-s", "master_addr=h", "-s",
            "master_port=1"), 4)  # a port that no other run leases
        self.assertIn("cell 0 (env.N=1) needs 2 nodes, and this machine is one",
                      done.stderr)
        self.assertIn("submit SPEC --engine slurm", done.stderr)
        self.assertFalse((self.folder / "runs").exists())

    def test_rendered_commands_name_the_cell(self):
        self.spec()
        done = self.expect(self.jobrun(
            "render", "scan.jobrun.yaml", "--engine", "slurm", "--on", "1x0,2c",
            "--cell", "1", "--sweep", "vars.seed=4,5"), 0)
        self.assertIn("--sweep vars.seed=4,5 --cell 1", done.stdout)


class Running(Sweep):
    def test_each_cell_is_a_run(self):
        self.spec('echo "{\\"n\\": $N}" > "$JOBRUN_RESULT_FILE"\n'
                  'echo "$JOBRUN_RUN_ID $JOBRUN_SWEEP_ID $JOBRUN_CELL"',
                  GRID + "  best: {field: n, goal: max}\n"
                  "results: {fields: {n: {type: integer}}}\n")
        done = self.expect(self.jobrun("scan.jobrun.yaml"), 0)
        self.assertEqual(done.stdout, "")
        self.assertIn("5 of 5 cells delivered; best cell 0004: n 3",
                      done.stderr)
        sweep = self.sweep()
        name = self.latest().resolve().name
        self.assertEqual(sweep["sweep_id"], name)
        self.assertEqual(sweep["counts"], {"succeeded": 5})
        self.assertEqual(sweep["best"]["cell"], 4)
        self.assertEqual([cell["values"] for cell in sweep["cells"]], [
            {"vars.n": n, "vars.seed": seed}
            for n, seed in ((1, 0), (1, 1), (2, 0), (2, 1), (3, 0))])
        for number, cell in enumerate(sweep["cells"]):
            folder = self.latest() / cell["run"]
            results = json.loads((folder / "results.json").read_text())
            self.assertEqual(results["fingerprint"], cell["fingerprint"])
            self.assertEqual(cell["result"], {"n": cell["values"]["vars.n"]})
            group = json.loads((folder / "run.json").read_text())["cgroup"]
            self.assertFalse(group and pathlib.Path(group).exists())
            self.assertEqual(
                (folder / "attempt_0/0/stdout.log").read_text(),
                f"{name}.{number:04} {name} {number}\n")
        prints = {cell["fingerprint"] for cell in sweep["cells"]}
        self.assertEqual(len(prints), 5)
        self.assertEqual([line["event"] for line in self.journal()].count(
            "cell_ended"), 5)

    def test_a_failed_cell_stops_nobody(self):
        self.spec("[ $N -ne 2 ] || exit $((7 + SEED))")
        self.expect(self.jobrun("scan.jobrun.yaml"), 1)
        self.assertEqual(self.statuses(), [
            "succeeded", "succeeded", "failed", "failed", "succeeded"])

    def test_the_end_says_what_to_do_next(self):
        """The best rows, why cells failed, where to look, and how to go on."""
        self.write("train.py", """
import json, os, sys
lr = float(sys.argv[1])
if lr == 3:
    raise RuntimeError("loss is NaN")
with open(os.environ["JOBRUN_RESULT_FILE"], "w") as out:
    json.dump({"accuracy": lr}, out)
""")
        spec = """\
version: 1
name: scan
device: cpu
world_size: 1
vars: {lr: 0}
entrypoint: {python: {script: train.py}, args: ["${vars.lr}"]}
results: {fields: {accuracy: {type: number}}}
sweep:
  axes: {vars.lr: %s}
  best: {field: accuracy, goal: max}
"""
        path = self.write("scan.jobrun.yaml", spec % "[1, 2, 3, 4, 5]")
        told = self.expect(self.jobrun(path.name), 1).stderr
        self.assertIn("vars.lr=3   rank 0   RuntimeError: loss is NaN\n", told)
        end = told[told.index("jobrun: scan: 4 of 5"):].splitlines()
        self.assertEqual([line.split()[:2] for line in end[1:5]], [
            ["cell", "lr"], ["*", "0004"], ["0003", "4"], ["0001", "2"]])
        self.assertIn("   (jobrun show latest)", end[5])
        self.assertEqual(end[6], "        to go on: jobrun scan.jobrun.yaml --resume")
        told = self.expect(self.jobrun(path.name, "--resume"), 1).stderr
        self.assertIn("1/1  cell 0002 failed", told)
        told = self.expect(self.jobrun(path.name, "--sweep", "vars.lr=3,4"), 1).stderr
        self.assertRegex(told, r"to go on: the same command, with --resume=\S+-scan-")
        path = self.write("scan.jobrun.yaml", spec % "[1, 2]")
        self.assertNotIn("to go on", self.expect(self.jobrun(path.name), 0).stderr)

    def test_the_lowest_class_counts(self):
        self.spec("[ $N -ne 2 ] || exit 9", GRID + "exit_status: rank\n"
                  "results: {from: file}\n")
        self.expect(self.jobrun("scan.jobrun.yaml"), 1)
        self.spec("true", GRID + "results: {from: file}\n")
        self.expect(self.jobrun("scan.jobrun.yaml"), 5)

    def test_stop_after(self):
        self.spec("[ $N -ne 1 ]", GRID + "  stop_after: 1\n  parallel: 1\n")
        done = self.expect(self.jobrun("scan.jobrun.yaml"), 1)
        self.assertEqual(self.statuses(), ["failed"] + ["not_started"] * 4)
        self.assertIn("1 did not, 4 did not begin", done.stderr)

    def test_one_at_a_time_uses_the_console(self):
        self.spec("echo cell $JOBRUN_CELL")
        done = self.expect(self.jobrun("scan.jobrun.yaml", "--parallel", "1"),
                           0)
        self.assertEqual(done.stdout.splitlines(),
                         [f"[0] cell {n}" for n in range(5)])

    def test_cells_have_cores_of_their_own(self):
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("SKIPPED: there is one CPU")
        self.spec("grep Cpus_allowed_list /proc/self/status > cpus.$N\n"
                  ": > pid.$N\n"
                  "while [ $(ls pid.* | wc -l) -lt 2 ]; do sleep 0.01; done",
                  "sweep: {axes: {vars.n: [1, 2]}}\n")
        done = self.jobrun("scan.jobrun.yaml")
        if "of 1 CPU core" in done.stderr:
            self.skipTest("SKIPPED: there is one core")
        self.expect(done, 0)
        first, second = ((self.folder / f"cpus.{n}").read_text()
                         for n in (1, 2))
        self.assertNotEqual(first, second)

    def test_cells_have_devices_of_their_own(self):
        self.write("acme.facts.yaml", "format_version: 1\n"
                   "variable: ACME_VISIBLE\ndevices:\n" + "".join(
                       f"- {{index: {i}, model: A1}}\n" for i in (0, 2, 5)))
        self.spec("echo $ACME_VISIBLE > pid.$N\n"
                  "while [ $(ls pid.* | wc -l) -lt 3 ]; do sleep 0.01; done",
                  "sweep: {axes: {vars.n: [1, 2, 3]}}\n").write_text(
            (self.folder / "scan.jobrun.yaml").read_text().replace(
                "device: cpu", "device: custom:acme\nbackends: custom:acme"))
        done = self.expect(self.jobrun("scan.jobrun.yaml"), 0)
        self.assertIn("each 1 of 3 custom:acme", done.stderr)
        self.assertEqual(sorted((self.folder / f"pid.{n}").read_text()
                                for n in (1, 2, 3)), ["0\n", "2\n", "5\n"])

    def test_more_than_fits(self):
        cores = len(os.sched_getaffinity(0))
        self.spec(": > pid.$N\nwhile [ $(ls pid.* | wc -l) -lt 6 ]; do "
                  "sleep 0.01; done",
                  "oversubscribe: true\nsweep: {axes: {vars.n: {from: 1, to: "
                  "6}}, parallel: 6}\n")
        self.expect(self.jobrun("scan.jobrun.yaml"), 0)
        self.spec("true", f"threads: {cores + 1}\n" + GRID)
        done = self.expect(self.jobrun("scan.jobrun.yaml"), 4)
        self.assertIn("oversubscribe: true", done.stderr)
        self.assertEqual(self.sweep()["counts"], {"succeeded": 6})

    def test_no_cell_begins_if_one_is_wrong(self):
        self.spec("true", "sweep: {axes: {world_size: [1, 1x]}}\n")
        done = self.expect(self.jobrun("scan.jobrun.yaml"), 3)
        self.assertIn("(cell 1: world_size=1x)", done.stderr)
        self.assertFalse((self.folder / "runs").exists())

    def test_a_cell_that_cannot_begin(self):
        self.spec("true", "workdir: \"dir${vars.n}\"\n" + GRID)
        (self.folder / "dir1").mkdir()
        done = self.expect(self.jobrun("scan.jobrun.yaml"), 7)
        self.assertEqual(self.statuses(), ["succeeded"] * 2 +
                         ["launch_failed"] * 3)
        self.assertIn("dir2", json.dumps([
            json.loads((self.latest() / "cells/0002/results.json").read_text()),
            done.stderr]))

    def test_two_of_one_id(self):
        self.spec()
        self.expect(self.jobrun("scan.jobrun.yaml", "--run-id", "mine"), 0)
        self.expect(self.jobrun("scan.jobrun.yaml", "--run-id", "mine"), 7)
        self.assertEqual(self.latest().resolve().name, "mine")

    def test_two_of_one_id_at_once(self):
        self.spec(Ends.SHELL, BLOCKS)
        sweep = self.start("scan.jobrun.yaml", "--run-id", "mine",
                           "--parallel", "1")
        pids = self.started(2)
        for words in (["--run-id", "mine"], ["--resume=mine"]):
            done = self.jobrun("scan.jobrun.yaml", *words)
            self.assertIn(done.returncode, (2, 7), done.stderr)
            self.assertIn("mine", done.stderr)
        self.assertEqual(self.statuses_now(), ["running"] +
                         ["not_started"] * 3)
        sweep.terminate()
        sweep.wait(harness.LIMIT)
        self.gone(pids)

    def test_without_a_spec(self):
        done = self.expect(self.jobrun("-n", "1", "--sweep", "env.A=1..3", "--",
                                       "sh", "-c", "exit $((A == 2))"), 1)
        self.assertIn("2 of 3 cells delivered, 1 did not", done.stderr)

    def test_parents_are_read_once(self):
        self.write("a.yaml", "env: {FROM: a}\n")
        self.write("b.yaml", "env: {FROM: b}\n")
        self.spec("echo $FROM; rm -f a.yaml b.yaml",
                  "extends: {base: a.yaml}\nsweep: {axes: {extends.base: "
                  "[a.yaml, b.yaml], vars.n: [1, 2]}, parallel: 1}\n")
        done = self.expect(self.jobrun("scan.jobrun.yaml", "--parallel", "1"),
                           0)
        self.assertEqual(done.stdout.split(),
                         ["[0]", "a", "[0]", "a", "[0]", "b", "[0]", "b"])


class Ends(Sweep):
    """What a cell starts outlives nothing, whoever is killed."""
    SHELL = ("setsid sleep 600 & echo $! > pid.$N.child\n"
             "echo $$ > pid.$N\nsleep 600")

    def blocked(self, most=1):
        self.spec(self.SHELL, BLOCKS)
        sweep = self.start("scan.jobrun.yaml", "--parallel", most)
        return sweep, self.started(2 * most)

    def guard_and_runner(self, sweep):
        guard = harness.children(sweep.pid)[0]
        return guard, harness.runner_of(guard)

    def test_a_signal(self):
        sweep, pids = self.blocked()
        sweep.send_signal(signal.SIGTERM)
        self.assertEqual(sweep.wait(harness.LIMIT), 128 + signal.SIGTERM)
        self.gone(pids)
        self.assertEqual(self.statuses(), ["stopped"] + ["not_started"] * 3)

    def test_the_sweep_is_killed(self):
        sweep, pids = self.blocked()
        sweep.kill()
        sweep.wait(harness.LIMIT)
        self.gone(pids)
        self.until((self.latest() / "cells/0000/results.json").exists,
                   "no record")

    def kill_in_cell(self, which):
        sweep, pids = self.blocked()
        guard, runner = self.guard_and_runner(sweep)
        if which == "both":
            os.kill(guard, signal.SIGSTOP)
        for pid in ({"guard": [guard], "runner": [runner],
                     "both": [runner, guard]}[which]):
            os.kill(pid, signal.SIGKILL)
        self.gone(pids)
        self.until(lambda: len(self.started(4)) == 4, "no other cell")
        others = [pid for pid in self.started(4) if pid not in pids]
        sweep.send_signal(signal.SIGTERM)
        self.assertEqual(sweep.wait(harness.LIMIT), 128 + signal.SIGTERM)
        self.gone(others)
        self.assertEqual(self.statuses()[0], "launch_failed")
        self.assertEqual(self.statuses()[1], "stopped")

    def test_a_guard_is_killed(self):
        self.kill_in_cell("guard")

    def test_a_runner_is_killed(self):
        self.kill_in_cell("runner")

    def test_both_are_killed(self):
        self.kill_in_cell("both")

    def test_other_signals_reach_all_cells(self):
        self.spec("trap 'echo got > got.$N; exit 0' USR1\necho $$ > pid.$N\n"
                  "while :; do sleep 0.05; done",
                  "oversubscribe: true\nstop_target: leader\n"
                  "sweep: {axes: {vars.n: [0, 1]}, parallel: 2}\n")
        sweep = self.start("scan.jobrun.yaml")
        self.started(2)
        sweep.send_signal(signal.SIGUSR1)
        self.assertEqual(sweep.wait(harness.LIMIT), 0)
        self.assertEqual(len(list(self.folder.glob("got.*"))), 2)

    def test_the_terminal_s_interrupt_is_no_second_stop(self):
        self.spec("trap 'sleep 0.3; echo done > done; exit 3' TERM\n"
                  "echo $$ > pid.$N\nwhile :; do sleep 0.05; done",
                  BLOCKS.replace("500ms", "20s"))
        sweep = self.start("scan.jobrun.yaml", "--parallel", "1",
                           start_new_session=True)
        self.started(1)
        os.killpg(sweep.pid, signal.SIGINT)
        self.assertEqual(sweep.wait(harness.LIMIT), 128 + signal.SIGINT)
        self.assertTrue((self.folder / "done").exists())


class Resume(Sweep):
    """Going on: what delivered is kept, and nothing else."""
    def delivered(self):
        """The inode of the results of each cell that delivered."""
        found = {}
        for path in self.folder.glob("runs/latest/cells/*/results.json"):
            name = path.parent.name
            if "." not in name and \
                    json.loads(path.read_text())["status"] == "succeeded":
                found[name] = path.stat().st_ino
        return found

    def counted(self):
        """How often each value of n has run."""
        text = (self.folder / "ran").read_text() if \
            (self.folder / "ran").exists() else ""
        return [text.split().count(str(n)) for n in range(6)]

    def axes(self, more="", values="[0, 1, 2, 3]"):
        return f"sweep: {{axes: {{vars.n: {values}}}{more}}}\n"

    def test_only_what_did_not_deliver_runs_again(self):
        self.spec("echo $N >> ran; [ $N -ne 2 ] || [ -e good ]", self.axes())
        self.expect(self.jobrun("scan.jobrun.yaml"), 1)
        kept = self.delivered()
        (self.folder / "good").touch()
        done = self.expect(self.jobrun("scan.jobrun.yaml", "--resume"), 0)
        self.assertIn("of which 3 have delivered", done.stderr)
        self.assertEqual(self.counted(), [1, 1, 2, 1, 0, 0])
        self.assertEqual(self.statuses(), ["succeeded"] * 4)
        for name, inode in kept.items():
            self.assertEqual(self.delivered()[name], inode)
        self.assertTrue((self.latest() / "cells/0002.1/results.json").exists())
        self.expect(self.jobrun("scan.jobrun.yaml", "--resume"), 0)
        self.assertEqual(self.counted(), [1, 1, 2, 1, 0, 0])

    def test_artifacts_that_are_gone(self):
        """A cell has delivered while its artifacts are there as it made them."""
        self.spec("echo $N >> ran; rm -f m-$N.bin; echo weights > m-$N.bin; "
                         "head -c 3000000 /dev/zero > $JOBRUN_RUN_DIR/big",
                         self.axes() + "results: {required: none, artifacts: "
                         "['m-${vars.n}.bin', '%{run_dir}/big']}\n")
        self.expect(self.jobrun("scan.jobrun.yaml"), 0)
        ran = [1, 1, 1, 1, 0, 0]
        first, second = self.folder / "m-0.bin", self.folder / "m-1.bin"

        def rewritten(path, at=0):
            before = path.stat()
            with path.open("r+b") as file:
                file.seek(at)
                file.write(b"W")
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

        def is_link(path):
            path.rename(self.folder / "kept")
            path.symlink_to("kept")

        def is_copied(path):
            shutil.copy2(path, self.folder / "kept")
            path.unlink()
            (self.folder / "kept").rename(path)

        def big():
            return self.latest() / "cells/0001/big"

        for act, cell in ((lambda: None, None),
                          (lambda: os.link(first, self.folder / "best"), None),
                          (lambda: first.chmod(0o400), None),
                          (lambda: is_copied(first), None),
                          (first.unlink, 0),
                          (lambda: is_link(first), 0),
                          (lambda: rewritten(second), 1),
                          (lambda: rewritten(big()), 1),
                          (lambda: rewritten(big(), 2999999), 1),
                          (lambda: big().unlink(), 1),
                          (lambda: second.write_text(""), 1)):
            act()
            done = self.expect(self.jobrun("scan.jobrun.yaml", "--resume"), 0)
            if cell is not None:
                ran[cell] += 1
                self.assertRegex(done.stderr, f"cell {cell} runs again: its "
                                 "artifact .* is not there any more as the cell "
                                 "made it")
            self.assertEqual(self.counted(), ran)
        self.assertEqual(self.statuses(), ["succeeded"] * 4)
        (self.folder / "runs").rename(self.folder / "moved")
        self.expect(self.jobrun("scan.jobrun.yaml", "--resume", "-s",
                                "log_dir=moved"), 0)
        self.assertEqual(self.counted(), ran)

    def test_failed_cells_can_be_left(self):
        self.spec("echo $N >> ran; [ $N -ne 2 ]", self.axes())
        self.expect(self.jobrun("scan.jobrun.yaml"), 1)
        self.expect(self.jobrun("scan.jobrun.yaml", "--resume",
                                "--skip-failed"), 1)
        self.assertEqual(self.counted(), [1, 1, 1, 1, 0, 0])
        self.expect(self.jobrun("scan.jobrun.yaml", "--skip-failed"), 2)

    def interrupted(self, interrupt, code):
        """Cell 0 fails, cell 1 runs when the sweep is interrupted; what it
        lacks is made by --skip-failed, and cell 0 is left."""
        self.spec("echo $N >> ran; [ $N -ne 0 ] || exit 3\n[ -e good ] || "
                  "{ echo $$ > pid.$N; exec sleep 600; }", self.axes())
        sweep = self.start("scan.jobrun.yaml", "--parallel", "1")
        pids = self.started(1)
        interrupt(sweep)
        self.assertEqual(sweep.wait(harness.LIMIT), code)
        self.gone(pids)
        (self.folder / "good").touch()
        self.expect(self.jobrun("scan.jobrun.yaml", "--resume",
                                "--skip-failed"), 1)
        self.assertEqual(self.counted()[:4], [1, 2, 1, 1])
        self.assertEqual(self.statuses(), ["failed"] + ["succeeded"] * 3)

    def test_a_cell_that_a_signal_interrupted_is_no_failed_one(self):
        self.interrupted(lambda sweep: sweep.terminate(), 143)

    def test_a_cell_that_was_killed_with_the_sweep_is_no_failed_one(self):
        self.interrupted(lambda sweep: sweep.kill(), -9)

    def test_a_cell_that_was_stopped_alone_is_a_failed_one(self):
        self.spec("echo $N >> ran; echo $$ > pid.$N; [ $N -ne 1 ] || "
                  "exec sleep 600", self.axes() + BLOCKS[BLOCKS.index("time"):])
        sweep = self.start("scan.jobrun.yaml", "--parallel", "1")
        self.started(2)
        self.expect(self.jobrun("stop", "latest/1"), 0)
        self.assertEqual(sweep.wait(harness.LIMIT), 1)
        self.expect(self.jobrun("scan.jobrun.yaml", "--resume",
                                "--skip-failed"), 1)
        self.assertEqual(self.counted()[:4], [1, 1, 1, 1])
        self.assertEqual(self.statuses()[1], "stopped")

    def test_cells_keep_their_numbers(self):
        self.spec("echo $N >> ran", self.axes())
        self.expect(self.jobrun("scan.jobrun.yaml"), 0)
        self.spec("echo $N >> ran", self.axes(values="[5, 3, 1, 4]"))
        self.expect(self.jobrun("scan.jobrun.yaml", "--resume"), 0)
        self.assertEqual(self.counted(), [1, 1, 1, 1, 1, 1])
        sweep = self.sweep()
        self.assertEqual({cell["values"]["vars.n"]: cell["cell"]
                          for cell in sweep["cells"]},
                         {5: 4, 3: 3, 1: 1, 4: 5})
        self.assertEqual({cell["cell"] for cell in sweep["former"]}, {0, 2})
        self.spec("echo $N >> ran", self.axes(values="[2, 0]"))
        self.expect(self.jobrun("scan.jobrun.yaml", "--resume"), 0)
        self.assertEqual(self.counted(), [1] * 6)

    def test_a_changed_cell_runs_again(self):
        self.spec("echo $N >> ran", self.axes(values="[0, 1]"))
        self.expect(self.jobrun("scan.jobrun.yaml"), 0)
        self.spec("echo $N >> ran", self.axes(values="[0, 1]") +
                  "labels: {team: a}\ntimeouts: {run: 1h}\n")
        self.expect(self.jobrun("scan.jobrun.yaml", "--resume"), 0)
        self.assertEqual(self.counted()[:2], [1, 1])
        self.spec("echo $N >> ran", self.axes(values="[0, 1]") +
                  "env_remove: [NOTHING]\n")
        done = self.expect(self.jobrun("scan.jobrun.yaml", "--resume"), 0)
        self.assertIn("cell 1 has changed, and runs again: env_remove",
                      done.stderr)
        self.assertEqual(self.counted()[:2], [2, 2])

    def test_there_is_none(self):
        self.spec("true", self.axes())
        done = self.expect(self.jobrun("scan.jobrun.yaml", "--resume"), 0)
        self.assertIn("no sweep of this spec", done.stderr)
        self.spec("true", self.axes(), "other.jobrun.yaml")
        done = self.expect(self.jobrun("other.jobrun.yaml", "--resume"), 0)
        self.assertIn("no sweep of this spec", done.stderr)
        done = self.expect(self.jobrun("scan.jobrun.yaml", "--resume=x"), 2)
        self.assertIn("no sweep 'x'", done.stderr)

    def test_one_that_is_being_run(self):
        self.spec(Ends.SHELL, BLOCKS)
        sweep = self.start("scan.jobrun.yaml", "--parallel", "1")
        self.refused_while_it_runs(sweep)

    def test_one_that_is_being_resumed(self):
        self.spec("exit 1", BLOCKS)
        self.expect(self.jobrun("scan.jobrun.yaml"), 1)
        self.spec(Ends.SHELL, BLOCKS)
        sweep = self.start("scan.jobrun.yaml", "--resume", "--parallel", "1")
        self.refused_while_it_runs(sweep)

    def refused_while_it_runs(self, sweep):
        pids = self.started(2)
        self.expect(self.jobrun("wait", "latest", "--timeout", "10ms"), 124)
        done = self.expect(self.jobrun("scan.jobrun.yaml", "--resume"), 2)
        self.assertIn(f"is being run by process {sweep.pid}", done.stderr)
        sweep.terminate()
        sweep.wait(harness.LIMIT)
        self.gone(pids)

    def test_what_was_tampered_with(self):
        self.spec("echo $N >> ran", self.axes())
        self.expect(self.jobrun("scan.jobrun.yaml"), 0)
        journal = self.latest() / "journal.jsonl"
        journal.write_text("{\"event\": \"cell_ended\", \"cell\": 0\n[]\n{")
        shutil.rmtree(self.latest() / "cells/0001")
        (self.latest() / "cells/0002/results.json").write_text("{")
        self.expect(self.jobrun("scan.jobrun.yaml", "--resume"), 0)
        self.assertEqual(self.counted()[:4], [1, 2, 2, 1])
        (self.latest() / "sweep.json").unlink()
        name = self.latest().resolve().name
        self.expect(self.jobrun("scan.jobrun.yaml", f"--resume={name}"), 0)
        self.assertEqual(self.counted()[:4], [1, 2, 2, 1])

    def test_all_cells_were_removed(self):
        self.spec("echo $N >> ran", self.axes())
        self.expect(self.jobrun("scan.jobrun.yaml"), 0)
        shutil.rmtree(self.latest() / "cells")
        self.expect(self.jobrun("scan.jobrun.yaml", "--resume"), 0)
        self.assertEqual(self.counted()[:4], [2, 2, 2, 2])
        self.assertEqual(self.statuses(), ["succeeded"] * 4)

    def test_a_journal_that_lies(self):
        """What it says of a cell that it does not know, or knows otherwise,
        makes nothing run again, and nothing delivered."""
        self.spec("echo $N >> ran; [ $N -ne 2 ]", self.axes())
        self.expect(self.jobrun("scan.jobrun.yaml"), 1)
        with (self.latest() / "journal.jsonl").open("a") as journal:
            for line in ({"cell": 2, "status": "succeeded",
                          "values": {"vars.n": 2}},
                         {"cell": 1, "status": "failed",
                          "values": {"vars.n": 1}},
                         {"cell": 0, "values": {"vars.n": 9}},
                         {"cell": 2**32 - 2, "values": {"vars.n": 99}},
                         {"cell": -7}, {"cell": 10**30}, {"cell": "x"},
                         {"cell": 3, "values": []}):
                journal.write(json.dumps({"event": "cell_ended", **line}) + "\n")
        self.spec("echo $N >> ran; true",
                  self.axes(values="[0, 1, 2, 3, 9, 10, 99]"))
        self.expect(self.jobrun("scan.jobrun.yaml", "--resume"), 0)
        self.assertEqual(self.statuses(), ["succeeded"] * 7)
        self.assertEqual([cell["cell"] for cell in self.sweep()["cells"]],
                         [0, 1, 2, 3, 4, 5, 6])

    def test_it_is_run_in_another_container(self):
        """Nobody there sees its leader, and yet nobody takes it for lost."""
        inside = ["unshare", "--pid", "--fork", "--mount-proc"]
        if subprocess.run([*inside, "true"], capture_output=True).returncode:
            self.skipTest("SKIPPED: no PID namespace can be made here")
        self.spec("echo $$ > pid.$N\nwhile :; do sleep 0.05; done", BLOCKS)
        sweep = self.start("scan.jobrun.yaml")
        pids = self.started(1)

        def there(*words):
            return subprocess.run(
                [*inside, harness.JOBRUN, *words], cwd=self.folder, text=True,
                env=harness.clean_environment(), stdin=subprocess.DEVNULL,
                capture_output=True, timeout=harness.LIMIT)
        self.assertIn(" running", self.expect(there("show", "latest"), 0).stdout)
        self.assertIn("running", self.expect(there("runs"), 0).stdout)
        name = self.latest().resolve().name
        for words, code in ((("wait", "latest"), 7), (("stop", "latest"), 7),
                            (("scan.jobrun.yaml", "--resume"), 2)):
            self.assertIn(f"the sweep {name} is being run by a process that is "
                          "not seen from here, in another container",
                          self.expect(there(*words), code).stderr)
        self.assertIsNone(sweep.poll())
        sweep.terminate()
        sweep.wait(harness.LIMIT)
        self.gone(pids)

    def test_a_record_that_another_cell_has_planted(self):
        """A cell that did not run has not delivered, whatever lies in the place
        of its folder."""
        self.spec("[ $N -ne 0 ] || { mkdir \"$JOBRUN_RUN_DIR/../0001\" && echo "
                  "'{\"format_version\": 1, \"status\": \"succeeded\", "
                  "\"seconds\": 1, \"ranks\": []}' > "
                  "\"$JOBRUN_RUN_DIR/../0001/results.json\"; }; echo $N >> ran",
                  self.axes(values="[0, 1, 2]"))
        done = self.expect(self.jobrun("scan.jobrun.yaml", "--parallel", "1"), 7)
        self.assertEqual(self.statuses(),
                         ["succeeded", "launch_failed", "succeeded"])
        self.assertIn("2 of 3 cells delivered, 1 did not", done.stderr)
        self.assertEqual((self.folder / "ran").read_text().split(), ["0", "2"])

    def test_a_disk_that_is_full_at_the_end(self):
        """sweep.json cannot be written: the table is that of the cells' own
        records, and not that of before the first cell."""
        disk = self.folder / "disk"
        disk.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=6m", "none",
                           disk], capture_output=True).returncode != 0:
            self.skipTest("SKIPPED: may not mount a small file system here")
        self.addCleanup(subprocess.run, ["umount", "-l", disk])
        values = ", ".join(f"n{n:02}" + "x" * 3000 for n in range(24))
        self.spec("case $N in n23*) dd if=/dev/zero of=disk/full bs=4k "
                  "2>/dev/null;; esac; true", self.axes(values=f"[{values}]") +
                  f"log_dir: {json.dumps(str(disk))}\n")
        done = self.expect(self.jobrun("scan.jobrun.yaml", "--parallel", "1"), 7)
        name = (disk / "latest").resolve().name
        self.assertIn("sweep.json: No space left on device; every cell that "
                      "ended has its own record: once that is mended, "
                      f"--resume={name} writes it", done.stderr)
        shown = self.expect(self.jobrun("show", "latest", "--log-dir", disk), 0)
        self.assertIn("scan: 24 of 24 delivered", shown.stdout)
        (disk / "full").unlink()
        self.expect(self.jobrun("scan.jobrun.yaml", "--resume"), 0)
        cells = json.loads((disk / "latest/sweep.json").read_text())["cells"]
        self.assertEqual({cell["status"] for cell in cells}, {"succeeded"})

    def test_a_disk_that_fills_up(self):
        disk = self.folder / "disk"
        disk.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=600k", "none",
                           disk], capture_output=True).returncode != 0:
            self.skipTest("SKIPPED: may not mount a small file system here")
        self.addCleanup(subprocess.run, ["umount", "-l", disk])
        self.spec("echo $N >> ran", self.axes(values="{from: 0, to: 39}") +
                  f"log_dir: {json.dumps(str(disk))}\n")
        done = self.jobrun("scan.jobrun.yaml")
        # The lowest class that a cell got: a result may be what had no room.
        self.assertIn(done.returncode, (5, 7), done.stderr)
        name = (disk / "latest").resolve().name
        self.assertIn(f"full: no other cell begins. Once there is space, go on "
                      f"with --resume={name}", done.stderr)
        self.assertLess(done.stderr.count("launch_failed"), 12, done.stderr)
        before = (self.folder / "ran").read_text().split()
        self.assertEqual(len(set(before)), len(before))
        self.assertLess(len(before), 40)
        subprocess.run(["mount", "-o", "remount,size=8m", disk], check=True)
        self.expect(self.jobrun("scan.jobrun.yaml", "--resume"), 0)
        delivered = [path.name for path in disk.glob("latest/cells/*") if
                     (path / "results.json").exists()]
        self.assertEqual(len([name for name in delivered if "." not in name]),
                         40)
        ran = (self.folder / "ran").read_text().split()
        self.assertEqual(set(ran), {str(n) for n in range(40)})
        # at most those that ran when the disk was full, two at once, are twice
        self.assertLess(len(ran), 46)

    def test_a_disk_that_takes_no_more_files(self):
        """There is room for bytes."""
        disk = self.folder / "disk"
        disk.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m,nr_inodes=120",
                           "none", disk], capture_output=True).returncode != 0:
            self.skipTest("SKIPPED: may not mount a small file system here")
        self.addCleanup(subprocess.run, ["umount", "-l", disk])
        self.spec("true", self.axes(values="{from: 0, to: 59}") +
                  f"log_dir: {json.dumps(str(disk))}\n")
        done = self.jobrun("scan.jobrun.yaml")
        self.assertIn(done.returncode, (5, 7), done.stderr)
        self.assertIn("full: no other cell begins. Once there is space, go on",
                      done.stderr)
        self.assertLess(done.stderr.count("launch_failed"), 12, done.stderr)

    def test_killed_at_any_moment(self):
        self.spec("sleep 0.0$((RANDOM_ % 5))\n"
                  "echo \"{\\\"n\\\": $N}\" > \"$JOBRUN_RESULT_FILE\"\n",
                  "results: {fields: {n: {type: integer}}}\n"
                  "sweep: {axes: {vars.n: {from: 0, to: 11}}}\n")
        dice = random.Random(int(os.environ.get("SEED", "7")))
        kept = {}
        for turn in range(int(os.environ.get("TURNS", "6"))):
            sweep = self.start("scan.jobrun.yaml", "--resume",
                               env={"RANDOM_": str(turn)},
                               stderr=subprocess.DEVNULL)
            time.sleep(dice.random() * 0.25)
            victims = [sweep.pid]
            for guard in harness.children(sweep.pid):
                victims += [guard]
                with contextlib.suppress(OSError):
                    victims += harness.children(guard)
            with contextlib.suppress(ProcessLookupError):
                os.kill(dice.choice(victims), signal.SIGKILL)
            with contextlib.suppress(ProcessLookupError):
                os.kill(sweep.pid, signal.SIGKILL)
            sweep.wait(harness.LIMIT)
            now = self.delivered()
            for name, inode in kept.items():
                self.assertEqual(now.get(name), inode, f"{name} ran again")
            kept.update(now)
        self.expect(self.jobrun("scan.jobrun.yaml", "--resume",
                                env={"RANDOM_": "0"}), 0)
        for name, inode in kept.items():
            self.assertEqual(self.delivered()[name], inode)
        self.assertEqual([(cell["cell"], cell["status"], cell["result"])
                          for cell in self.sweep()["cells"]],
                         [(n, "succeeded", {"n": n}) for n in range(12)])


class Detached(Sweep):
    def test_it_goes_on_by_itself(self):
        self.spec("echo said $N\necho $$ > pid.$N\n"
                  "while [ ! -e go ]; do sleep 0.02; done", BLOCKS)
        done = self.expect(self.jobrun("scan.jobrun.yaml", "--detach",
                                       "--parallel", "1"), 0)
        self.assertEqual(done.stderr, "")
        name = done.stdout.strip()
        self.addCleanup(self.jobrun, "stop", name)
        self.assertEqual(self.latest().resolve().name, name)
        self.started(1)
        self.expect(self.jobrun("wait", name, "--timeout", "10ms"), 124)
        done = self.expect(self.jobrun("scan.jobrun.yaml", "--resume",
                                       "--detach"), 2)
        self.assertIn("is being run by process", done.stderr)
        self.assertEqual(done.stdout, "")
        (self.folder / "go").touch()
        self.expect(self.jobrun("wait", name), 0)
        console = (self.latest() / "console.log").read_text()
        self.assertIn("[0] said 3", console)
        self.assertIn("4 of 4 cells delivered", console)
        done = self.expect(self.jobrun("scan.jobrun.yaml", "--resume",
                                       "--detach"), 0)
        self.assertEqual(done.stdout.strip(), name)
        self.expect(self.jobrun("wait", name), 0)
        self.assertEqual((self.latest() / "console.log").read_text().count(
            "4 of 4 cells delivered"), 2)

    def test_what_is_wrong_is_told_to_the_caller(self):
        self.spec("true", "sweep: {axes: {world_size: [1, 1x]}}\n")
        done = self.expect(self.jobrun("scan.jobrun.yaml", "--detach"), 3)
        self.assertEqual(done.stdout, "")
        self.assertIn("(cell 1: world_size=1x)", done.stderr)
        self.assertFalse((self.folder / "runs").exists())

    def test_it_is_stopped(self):
        self.spec(Ends.SHELL, BLOCKS)
        name = self.expect(self.jobrun("scan.jobrun.yaml", "--detach"),
                           0).stdout.strip()
        pids = self.started(2)
        self.expect(self.jobrun("stop", name), 0)
        self.gone(pids)


class Code(Sweep):
    """The code that cells run with, and who is asked about it."""
    def setUp(self):
        super().setUp()
        self.git("init", "-q", ".")
        self.write("cell.sh", "echo 1 $N >> runs/ran\n")
        self.write(".gitignore", "runs\n")
        self.spec("sh cell.sh", "sweep: {axes: {vars.n: [0, 1, 2, 3]}, "
                  "parallel: 1}\n")
        (self.folder / "runs").mkdir()
        self.git("add", "-A")
        self.git("commit", "-qm", "m")
        self.calls = self.folder / "runs" / "calls"
        self.wrap_git()

    def git(self, *words):
        subprocess.run(
            ["git", "-c", "user.name=n", "-c", "user.email=e@example.org",
             *words], cwd=self.folder, check=True, timeout=harness.LIMIT,
            env=harness.clean_environment(GIT_CONFIG_NOSYSTEM="1",
                                          HOME=str(self.folder)))

    def wrap_git(self):
        """A git that counts how often it is asked."""
        folder = pathlib.Path(tempfile.mkdtemp(prefix="git-"))
        self.addCleanup(shutil.rmtree, folder)
        git = folder / "git"
        git.write_text(f"#!/bin/sh\necho >> '{self.calls}'\n"
                       f"exec {shutil.which('git')} \"$@\"\n")
        git.chmod(0o755)
        self.path = f"{folder}:{os.environ['PATH']}"

    def sweep_on(self, *words, code=0):
        """How often git was asked, and what was said."""
        self.calls.unlink(missing_ok=True)
        time.sleep(0.05)  # files that were just written are not trusted
        done = self.expect(self.jobrun("scan.jobrun.yaml", *words,
                                       env={"PATH": self.path}), code)
        asked = len(self.calls.read_text().splitlines()) \
            if self.calls.exists() else 0
        return asked, done.stderr

    def trees(self):
        cells = self.latest() / "cells"
        return [json.loads((cells / f"{n:04}/run.json").read_text())
                ["code"]["tree"] for n in range(4)]

    def test_git_is_asked_once_for_all_cells(self):
        single = self.sweep_on("--cell", "0")[0]
        self.assertGreater(single, 0)
        asked, _ = self.sweep_on()
        self.assertLess(asked, 2 * single + 1)
        self.assertEqual(len(set(self.trees())), 1)
        sweep = self.sweep()
        self.assertEqual({cell["code"] for cell in sweep["cells"]},
                         {sweep["code"]})
        self.assertEqual(sweep["code"], self.trees()[0])

    def test_the_patch_is_each_cells(self):
        self.write("cell.sh", "echo 2 $N >> runs/ran\n")
        self.sweep_on()
        patches = {(self.latest() / f"cells/{n:04}/code.patch").read_text()
                   for n in range(4)}
        self.assertEqual(len(patches), 1)
        self.assertIn("+echo 2 $N", patches.pop())

    def test_a_file_that_changes_meanwhile_is_seen(self):
        self.spec("sh cell.sh\n[ $N -ne 1 ] || echo true >> cell.sh",
                  "sweep: {axes: {vars.n: [0, 1, 2, 3]}, parallel: 1}\n")
        self.sweep_on()
        trees = self.trees()
        self.assertEqual(trees[0], trees[1])
        self.assertNotEqual(trees[1], trees[2])
        self.assertEqual(trees[2], trees[3])

    def ran(self):
        return (self.folder / "runs" / "ran").read_text().splitlines()

    def test_cells_with_other_code_are_marked(self):
        self.sweep_on()
        self.write("cell.sh", "echo 22 $N >> runs/ran\n")
        self.spec("sh cell.sh", "sweep: {axes: {vars.n: [0, 1, 2, 3, 4]}, "
                  "parallel: 1}\n")
        _, told = self.sweep_on("--resume")
        self.assertIn("4 cells that delivered ran with other code than there is "
                      "now: --rerun-changed runs them again", told)
        self.assertEqual(self.ran(), ["1 0", "1 1", "1 2", "1 3", "22 4"])
        shown = self.expect(self.jobrun("show"), 0).stdout.splitlines()
        self.assertEqual(["other code" in line for line in shown],
                         [False, False, True, True, True, True, False])
        _, told = self.sweep_on("--resume", "--rerun-changed")
        self.assertIn("cell 0 ran with other code, and runs again", told)
        self.assertEqual(self.ran()[5:], ["22 0", "22 1", "22 2", "22 3"])
        self.assertNotIn("other code", self.expect(self.jobrun("show"),
                                                   0).stdout)
        _, told = self.sweep_on("--resume", "--rerun-changed")
        self.assertEqual(len(self.ran()), 9)
        self.sweep_on("--rerun-changed", code=2)

    def test_a_commit_of_the_same_files_is_the_same_code(self):
        self.write("cell.sh", "echo 2 $N >> runs/ran\n")
        self.sweep_on()
        self.git("commit", "-qam", "more")
        _, told = self.sweep_on("--resume", "--rerun-changed")
        self.assertNotIn("other code", told)
        self.assertEqual(len(self.ran()), 4)


class Looking(Sweep):
    """What is told of a sweep by its files."""
    def setUp(self):
        super().setUp()
        self.spec("echo said $N; [ $N -ne 2 ] || exit 3\n"
                  "echo \"{\\\"loss\\\": $((N * N)), \\\"who\\\": \\\"a,$N\\\"}\" "
                  "> \"$JOBRUN_RESULT_FILE\"",
                  "results: {fields: {loss: {type: integer}}}\n"
                  "sweep: {axes: {vars.n: [3, 1, 2], vars.seed: [0]}, best: "
                  "{field: loss, goal: min}}\n")
        self.expect(self.jobrun("scan.jobrun.yaml"), 1)

    def show(self, *words):
        return self.expect(self.jobrun("show", *words), 0).stdout

    def test_the_table(self):
        lines = self.show().splitlines()
        self.assertEqual(lines[0].split(), "scan: 2 of 3 delivered, 1 failed "
                         "by loss, lowest first".split())
        self.assertEqual(lines[1].split(),
                         ["cell", "n", "status", "loss", "who", "seconds"])
        self.assertRegex(lines[2], r"^\* 0001 +1 +succeeded +1 +a,1 +\d")
        self.assertRegex(lines[3], r"^  0000 +3 +succeeded +9 +a,3 +\d")
        self.assertRegex(lines[4], r"^  0002 +2 +failed +- +- +\d\S+ +rank 0 +"
                                   r"exited with code 3 +"
                                   r"\(jobrun show latest/2\)$")
        self.assertEqual(self.show("--sort", "-vars.n", "--top", "2",
                                   "--columns", "vars.n,loss").splitlines()[2:],
                         ["  0000   3   9", "  0002   2   -"])

    def test_other_formats(self):
        name = self.latest().resolve().name
        self.assertEqual(json.loads(self.show(name[:-1], "--json")),
                         self.sweep())
        csv = self.show("--format", "csv", "--sort", "cell").splitlines()
        self.assertEqual(csv[0], "cell,status,seconds,vars.n,vars.seed,"
                                 "results.loss,results.who")
        self.assertRegex(csv[1], r'^0,succeeded,[\d.e-]+,3,0,9,"a,3"$')
        self.assertRegex(csv[3], r"^2,failed,[\d.e-]+,2,0,,$")
        self.assertEqual(self.show("--format", "markdown", "--columns",
                                   "who").splitlines()[:3],
                         ["| cell | who |", "|---|---|", "| 0001 | a,1 |"])

    def test_mistakes(self):
        for words in (["--sort", "nope"], ["--columns", "n,nope"],
                      ["--format", "xml"], ["latest/7"], ["latest/vars.n=9"],
                      ["latest/vars.seed=0"], ["latest/0", "--top", "1"]):
            with self.subTest(words):
                self.expect(self.jobrun("show", *words), 2)

    def test_verbs_take_cells(self):
        done = self.expect(self.jobrun("logs", "latest/vars.n=1"), 0)
        self.assertIn("said 1", done.stdout)
        self.assertIn("exited with code 3", self.show("latest/2"))
        self.expect(self.jobrun("wait", "latest/2"), 1)
        self.assertIn("exited with code 3", self.expect(
            self.jobrun("report", "latest/0002"), 0).stdout)
        for verb in ("logs", "rerun", "top"):
            with self.subTest(verb):
                done = self.expect(self.jobrun(verb), 2)
                self.assertIn("is a sweep of 3 cells", done.stderr)

    def test_a_cell_is_repeated_beside_the_sweep(self):
        before = self.sweep()
        name = self.latest().resolve().name
        self.expect(self.jobrun("rerun", f"{name}/1"), 0)
        self.assertEqual(self.latest().resolve().parent,
                         (self.folder / "runs").resolve())
        record = json.loads((self.latest() / "run.json").read_text())
        self.assertEqual(record["rerun_of"], "0001")
        self.assertEqual(json.loads(self.show(name, "--json")), before)

    def test_a_cell_s_words_are_known_again(self):
        self.spec("echo said $JOBRUN_CELL %{cell}",
                  "sweep: {axes: {vars.n: [3, 1]}}\n")
        self.expect(self.jobrun("scan.jobrun.yaml"), 0)
        done = self.expect(self.jobrun("rerun", "latest/1"), 0)
        self.assertIn("said 1 1", done.stdout)

    def test_a_sweep_is_one_row(self):
        done = self.expect(self.jobrun("scan.jobrun.yaml", "--cell", "1"), 0)
        rows = self.expect(self.jobrun("runs"), 0).stdout.splitlines()
        self.assertEqual(len(rows), 3)
        self.assertRegex(rows[1], r"^succeeded +0 +1 +\S+ +\d+ ms +-")
        self.assertRegex(rows[2], r"^failed +1 +- +\S+ +\d.* 2/3 +\S+-scan-")
        runs = json.loads(self.expect(self.jobrun("runs", "--json"), 0).stdout)
        self.assertEqual([run["exit_code"] for run in runs["runs"]], [0, 1])
        done = self.expect(self.jobrun("show", "nope"), 2)
        self.assertIn("-scan-", done.stderr)

    def test_old_sweeps_are_removed_whole(self):
        name = self.latest().resolve().name
        self.expect(self.jobrun("scan.jobrun.yaml", "--cell", "1"), 0)
        self.expect(self.jobrun("prune", "--keep", "2"), 0)
        self.assertTrue((self.folder / "runs" / name).exists())
        done = self.expect(self.jobrun("prune", "--keep", "1", "--dry-run"), 0)
        self.assertEqual(done.stdout, f"{name}\n")
        self.assertTrue((self.folder / "runs" / name).exists())
        done = self.expect(self.jobrun("prune", "--keep", "1"), 0)
        self.assertIn("removed 1 run", done.stderr)
        self.assertFalse((self.folder / "runs" / name).exists())
        self.assertTrue(self.latest().exists())

    def test_wait_and_stop(self):
        self.expect(self.jobrun("wait"), 1)
        self.spec(Ends.SHELL, BLOCKS)
        sweep = self.start("scan.jobrun.yaml", "--parallel", "1")
        pids = self.started(2)
        self.expect(self.jobrun("wait", "latest", "--timeout", "10ms"), 124)
        shown = json.loads(self.show("--json"))
        self.assertEqual(shown["counts"], {"running": 1, "not_started": 3})
        done = self.expect(self.jobrun("stop", "latest"), 0)
        self.assertIn("1 stopped, 3 not started", done.stderr)
        self.assertEqual(sweep.wait(harness.LIMIT), 128 + signal.SIGTERM)
        self.gone(pids)

    def test_a_sweep_that_was_killed(self):
        self.spec(Ends.SHELL, BLOCKS)
        sweep = self.start("scan.jobrun.yaml", "--parallel", "1")
        pids = self.started(2)
        sweep.kill()
        sweep.wait(harness.LIMIT)
        self.gone(pids)
        self.until(lambda: json.loads(self.show("--json"))["counts"] ==
                   {"launch_failed": 1, "not_started": 3}, "no record")


class Shell(Sweep):
    """${vars.x} in the text of a shell: a variable that the ranks get."""

    TEXT = """\
version: 1
name: shell
device: cpu
world_size: 1
vars: {lr: 1, note: "it's  a \\"note\\"; exit 3", key: "${env:API_KEY:-none}"}
setup: export FROM="${vars.lr} of ${vars.note}"
entrypoint:
  shell: |
    # it isn't read here: ${vars.nothing}
    test ${vars.lr} = "$JOBRUN_VAR_lr" && printf '%s\\n' "${vars.note}" "$FROM"
    echo $(( ${vars.lr}0 / 1 )) > /dev/null 2>&1 || true
    cat <<EOF
    don't: ${vars.lr}
    EOF
    echo "${vars.key}"
"""

    def test_the_ranks_get_the_values(self):
        path = self.write("shell.jobrun.yaml", self.TEXT)
        done = self.expect(self.jobrun(path, "-s", "vars.lr=7"), 0)
        note = "it's  a \"note\"; exit 3"
        for line in (note, f"7 of {note}", "don't: 7"):
            self.assertIn(f"{line}\n", done.stdout)
        record = json.loads((self.latest() / "run.json").read_text())
        again = self.expect(self.jobrun("rerun", "latest"), 0)
        self.assertIn("don't: 7\n", again.stdout)
        self.assertEqual(record["fingerprint"], json.loads(
            (self.latest() / "run.json").read_text())["fingerprint"])

    def test_a_value_is_part_of_what_is_run(self):
        path = self.write("shell.jobrun.yaml", self.TEXT)
        self.expect(self.jobrun(path), 0)
        prints = [json.loads((self.latest() / "run.json").read_text())["fingerprint"]]
        self.expect(self.jobrun(path, "-s", "vars.lr=7"), 0)
        prints.append(json.loads(
            (self.latest() / "run.json").read_text())["fingerprint"])
        self.assertNotEqual(*prints)
        resolved = self.expect(self.jobrun("resolve", path), 0).stdout
        copy = self.write("copy.jobrun.yaml", resolved)
        self.assertEqual(
            self.expect(self.jobrun("resolve", copy), 0).stdout, resolved)

    def test_secrets_stay_secret(self):
        path = self.write("shell.jobrun.yaml", self.TEXT)
        env = {"API_KEY": "hunter22-and-more"}
        self.expect(self.jobrun(path, env=env), 0)
        for words in (("resolve", path), ("plan", path, "--env"),
                      ("plan", path, "--json"), ("show", "latest", "--json")):
            done = self.expect(self.jobrun(*words, env=env), 0)
            self.assertNotIn("hunter22", done.stdout)
        for name in ("run.json", "results.json", "spec.yaml"):
            record = self.latest() / name
            if record.exists():
                self.assertNotIn("hunter22", record.read_text())

    def test_each_cell_has_its_own(self):
        path = self.write("shell.jobrun.yaml", self.TEXT)
        self.expect(self.jobrun(path, "--sweep", "vars.lr=3,4"), 0)
        for cell in (0, 1):
            done = self.expect(self.jobrun("logs", f"latest/{cell}"), 0)
            self.assertIn(f"don't: {cell + 3}\n", done.stdout)

    def test_what_no_shell_can_read_begins_no_cell(self):
        path = self.write("shell.jobrun.yaml", self.TEXT.replace(
            "${vars.key}", "${vars.kei}"))
        done = self.expect(self.jobrun(path, "--sweep", "vars.lr=3,4"), 3)
        self.assertIn("did you mean ${vars.key}?", done.stderr)
        self.assertFalse((self.folder / "runs").exists())


if __name__ == "__main__":
    harness.main()
