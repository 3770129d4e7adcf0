"""Sweeps in the shell of an allocation: cells of one node run on all of its nodes,
by agents that one step of Slurm's has started, here by a stand-in for srun."""
import json
import os
import re
import signal
import sys
import time

import agent_cases as cases
import harness

SPEC = """\
version: 1
name: scan
device: cpu
threads: 1
world_size: 1
vars: {n: 0}
env: {N: "${vars.n}"}
entrypoint:
  shell: |
%s
results: {fields: {node: {type: integer}}}
timeouts: {stop_grace: 500ms}
sweep: {axes: {vars.n: {from: 0, to: %d}}}
%s"""
DELIVER = 'echo "{\\"node\\": $FAKE_NODE}" > "$JOBRUN_RESULT_FILE"'
WAIT = f"echo $$ > pid.$N; while [ ! -e go ]; do sleep 0.1; done; {DELIVER}"
ACME = """#!/bin/sh
echo "format_version: 1"
echo "variable: ACME_VISIBLE"
echo "devices:"
for i in 0 1; do echo "- {index: $i, uuid: CARD-%s-$i}"; done
"""


class SweepNodes(cases.Agents):
    FAKE, NAME = "fakesrun", "srun"

    def allocation(self, nodes=4, **extra):
        return {"SLURM_JOB_ID": "4711", "SLURM_JOB_NUM_NODES": str(nodes),
                "SLURM_JOB_NODELIST": f"n[1-{nodes}]", **self.fakes(**extra)}

    def sweep_spec(self, shell=DELIVER, cells=12, more=""):
        return self.write("scan.jobrun.yaml", SPEC % (
            "".join(f"    {line}\n" for line in shell.splitlines()),
            cells - 1, more))

    def on_nodes(self, spec, *words, nodes=4, code=0, **extra):
        return self.expect(self.jobrun(
            spec, *words, env=self.allocation(nodes, **extra)), code)

    def begin_sweep(self, spec, *words, nodes=4, **extra):
        return self.start(spec, *words, env=self.allocation(nodes, **extra))

    def latest(self):
        return self.folder / "runs" / "latest"

    def cells(self):
        return json.loads((self.latest() / "sweep.json").read_text())["cells"]

    def statuses(self):
        return [cell["status"] for cell in self.cells()]

    def nodes_of(self):
        return [cell["result"]["node"] for cell in self.cells()]

    def steps(self):
        """How many sruns there were, by their first tasks."""
        log = self.folder / "tasks"
        lines = log.read_text().splitlines() if log.exists() else []
        return sum(line.startswith("0 ") for line in lines)

    def until(self, what, message):
        limit = time.monotonic() + harness.LIMIT
        while not what():
            self.assertLess(time.monotonic(), limit, message)
            time.sleep(0.01)

    def started(self, count):
        """{cell: pid} of cells that wait, once there are so many."""
        def found():
            return {int(path.suffix[1:]): int(text)
                    for path in self.folder.glob("pid.*")
                    if (text := path.read_text().strip())}
        self.until(lambda: len(found()) >= count, f"no {count} cells")
        return found()

    def go(self):
        (self.folder / "go").touch()


class Packing(SweepNodes):
    def test_all_nodes_through_one_step(self):
        done = self.on_nodes(self.sweep_spec(cells=64))
        self.assertRegex(done.stderr, r"64 cells, each 1 of \d+ CPU cores, "
                                      r"on 4 nodes; ")
        self.assertIn("64 of 64 cells delivered", done.stderr)
        self.assertNotIn("lost", done.stderr)
        self.assertEqual(self.statuses(), ["succeeded"] * 64)
        self.assertEqual(set(self.nodes_of()), {0, 1, 2, 3})
        self.assertEqual(self.steps(), 1)
        self.nobody_is_left()

    def test_as_many_at_once_as_all_nodes_hold(self):
        plan = self.on_nodes("plan", self.sweep_spec(WAIT, 64), "--json")
        at_once = json.loads(plan.stdout)["at_once"]
        self.assertEqual(at_once % 4, 0)
        self.assertIn("asking the 4 nodes of the allocation", plan.stderr)
        self.nobody_is_left()
        process = self.begin_sweep(self.sweep_spec(WAIT, 64))
        self.started(at_once)
        self.assertEqual(len(list(self.folder.glob("pid.*"))), at_once)
        self.go()
        self.finish(process, 0)
        self.assertEqual(self.statuses(), ["succeeded"] * 64)

    def test_devices_of_each_node(self):
        """No two cells have one at once, each sees its own alone, and all are
        used."""
        self.write("acme.facts", ACME % "$FAKE_NODE").chmod(0o755)
        spec = self.sweep_spec(
            'mkdir "has.$FAKE_NODE.$ACME_VISIBLE" && sleep 0.05 && '
            'rmdir "has.$FAKE_NODE.$ACME_VISIBLE" && '
            f'echo "$FAKE_NODE $ACME_VISIBLE" >> used; {DELIVER}',
            24)
        text = spec.read_text().replace(
            "device: cpu", "device: custom:acme\nbackends: custom:acme")
        spec.write_text(text)
        done = self.on_nodes(spec, nodes=3)
        self.assertIn("each 1 of 6 custom:acme, on 3 nodes", done.stderr)
        self.assertEqual(set((self.folder / "used").read_text().splitlines()),
                         {f"{node} {device}" for node in range(3)
                          for device in range(2)})
        self.assertEqual(self.steps(), 1)

    def vanishing(self, shell, cells=24, more=""):
        """A spec whose cells each have a device of two on their node, which is
        gone once there is a file of its name."""
        self.write("acme.facts", ACME.replace(
            "do echo", "do [ -e gone.$FAKE_NODE.$i ] || echo").replace(
            'echo "devices:"', "[ -e gone.$FAKE_NODE.0 ] && "
            "[ -e gone.$FAKE_NODE.1 ] && exec echo 'devices: []'\n"
            'echo "devices:"') % "$FAKE_NODE").chmod(0o755)
        spec = self.sweep_spec(
            f"me=$FAKE_NODE.$ACME_VISIBLE; echo $N >> ran; {shell}\n"
            f"[ ! -e gone.$me ] && {DELIVER}", cells, more)
        spec.write_text(spec.read_text().replace(
            "device: cpu", "device: custom:acme\nbackends: custom:acme"))
        return spec

    def test_a_device_that_disappears(self):
        """The cell that had it fails, no other one gets it, and all others run."""
        spec = self.vanishing("[ $me != 1.0 ] || : > gone.1.0")
        done = self.on_nodes(spec, nodes=3, code=1)
        self.assertIn("n2: the custom:acme device 0 is not there any more: no "
                      "other cell gets it", done.stderr)
        self.assertEqual(done.stderr.count("not there any more"), 1)
        self.assertIn("23 of 24 cells delivered, 1 did not", done.stderr)
        self.assertEqual(len((self.folder / "ran").read_text().split()), 24)
        self.nobody_is_left()
        (self.folder / "gone.1.0").unlink()
        self.write("scan.jobrun.yaml", spec.read_text().replace(
            "[ $me != 1.0 ]", "true"))
        self.on_nodes(spec, "--resume", nodes=3)
        self.assertEqual(set(self.statuses()), {"succeeded"})

    def test_all_devices_disappear(self):
        """Those that could not begin are no failures, and that is said."""
        spec = self.vanishing(": > gone.$me")
        done = self.on_nodes(spec, nodes=2, code=1)
        self.assertEqual(done.stderr.count("not there any more"), 4)
        self.assertIn("cells that need 1 custom:acme device cannot begin any "
                      "more: 0 are left", done.stderr)
        self.assertIn("0 of 24 cells delivered, 4 did not, 20 did not begin",
                      done.stderr)
        self.nobody_is_left()

    def test_cells_that_fail_and_keep_their_devices(self):
        done = self.on_nodes(self.vanishing("[ $N -ge 4 ] || exit 3"), nodes=2,
                             code=1)
        self.assertNotIn("not there any more", done.stderr)
        self.assertIn("20 of 24 cells delivered, 4 did not", done.stderr)

    def test_devices_that_others_hold_are_waited_for(self):
        """Both nodes have the same cards, which is a case of its own: who comes
        second waits."""
        self.write("acme.facts", ACME % "one").chmod(0o755)
        spec = self.sweep_spec(
            'mkdir "has.$ACME_VISIBLE" && sleep 0.05 && '
            f'rmdir "has.$ACME_VISIBLE" && {DELIVER}', 12)
        spec.write_text(spec.read_text().replace(
            "device: cpu", "device: custom:acme\nbackends: custom:acme"))
        done = self.on_nodes(spec, nodes=2)
        self.assertRegex(done.stderr, r"cell \d+: waiting for devices: "
                                      r"\d(, \d)? (is|are) held by run ")
        self.assertEqual(self.statuses(), ["succeeded"] * 12)

    def test_the_time_of_wait(self):
        self.write("acme.facts", ACME % "one").chmod(0o755)
        more = "device: custom:acme\nbackends: custom:acme"
        holder = self.write("h.jobrun.yaml", "version: 1\nlog_dir: other\n"
                            f"{more}\nentrypoint: {{shell: 'echo $$ > "
                            "pid.99; exec sleep 1000'}\n")
        process = self.start(holder)
        self.started(1)
        spec = self.sweep_spec(cells=2)
        spec.write_text(spec.read_text().replace("device: cpu", more))
        done = self.on_nodes(spec, "--wait=300ms", nodes=2, code=4)
        self.assertIn("the time of --wait is over, and the devices are still "
                      "held", done.stderr)
        self.assertEqual(set(self.statuses()), {"not_started"})
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=harness.LIMIT)
        self.on_nodes(spec, "--resume", nodes=2)
        self.assertEqual(self.statuses(), ["succeeded"] * 2)

    def test_cells_of_several_nodes_beside(self):
        spec = self.sweep_spec(
            'mkdir "busy.$RANK" && sleep 0.02 && rmdir "busy.$RANK" && '
            f'[ $WORLD_SIZE = $NODES ] && {DELIVER}',
            3, "local_world_size: 1\n")
        spec.write_text(spec.read_text().replace(
            "world_size: 1\nvars", "nodes: 1\nvars").replace(
            "env: {", "env: {NODES: '${nodes}', ").replace(
            "axes: {", "axes: {nodes: [1, 2], ").replace(
            'mkdir "busy.$RANK"', '[ $NODES = 1 ] || mkdir "busy.$RANK"')
            .replace('rmdir "busy.$RANK"',
                     '{ [ $NODES = 1 ] || rmdir "busy.$RANK"; }'))
        self.on_nodes(spec, nodes=2)
        self.assertEqual(self.statuses(), ["succeeded"] * 6)
        self.nobody_is_left()

    def test_a_cell_with_a_spare(self):
        """It is for one node, and the spare stands by for it alone."""
        spec = self.sweep_spec(
            'if [ "$N$JOBRUN_ATTEMPT" = 00 ]; then echo $$ > pid.0; exec sleep '
            f"1000; fi; {DELIVER}", 3)
        spec.write_text(spec.read_text().replace(
            "world_size: 1\nvars", "nodes: 1\nspare_nodes: 1\nlocal_world_size: 1"
            "\nrestart: {max: 1, backoff: 0}\nvars"))
        process = self.begin_sweep(spec, nodes=2, FAKE_ALL="1")
        self.started(1)
        os.kill(self.agents()[0], signal.SIGKILL)
        err = self.finish(process, 0)
        self.assertEqual(self.statuses(), ["succeeded"] * 3, err)
        self.assertEqual(self.nodes_of(), [1, 0, 0])

    def test_what_no_node_can_hold(self):
        spec = self.sweep_spec(cells=2)
        spec.write_text(spec.read_text().replace("threads: 1",
                                                 "threads: 4000"))
        done = self.on_nodes(spec, code=4)
        self.assertRegex(done.stderr, "cell 0 .* needs 4000 CPU cores, and no "
                                      r"node has more than \d+")
        self.nobody_is_left()

    def test_here_if_it_is_told_so(self):
        self.on_nodes(self.sweep_spec(f"FAKE_NODE=9; {DELIVER}", 2), "--local")
        self.assertEqual(self.nodes_of(), [9, 9])
        self.assertEqual(self.steps(), 0)


class Console(SweepNodes):
    """What ranks print, with --parallel 1, as of a run."""

    PRINT = "echo loss $N; echo warning $N >&2\n" + DELIVER

    def test_of_one_cell_at_a_time(self):
        spec = self.sweep_spec(self.PRINT, 6)
        done = self.on_nodes(spec, "--parallel", "1", nodes=3)
        self.assertEqual(done.stdout.splitlines(),
                         [f"[0] loss {n}" for n in range(6)])
        self.assertEqual([line for line in done.stderr.splitlines()
                          if "warning" in line],
                         [f"[0] warning {n}" for n in range(6)])
        self.nobody_is_left()
        done = self.on_nodes(spec)
        self.assertEqual(done.stdout, "")
        self.assertNotIn("warning", done.stderr)

    def test_a_console_that_is_not_read(self):
        """It holds no rank, and shows all once it is read."""
        spec = self.sweep_spec(
            "i=0; while [ $i -lt 20000 ]; do echo $N line $i of many; "
            f"i=$((i + 1)); done; : > printed.$N\n{DELIVER}", 2)
        process = self.begin_sweep(spec, "--parallel", "1", nodes=2)
        self.until((self.folder / "printed.0").exists, "all is printed")
        out, err = process.communicate(timeout=harness.LIMIT)
        self.assertEqual(process.returncode, 0, err)
        self.assertEqual(out.splitlines(), [
            f"[0] {n} line {i} of many" for n in range(2)
            for i in range(20000)])
        self.nobody_is_left()

    def test_a_console_that_goes_away(self):
        spec = self.sweep_spec(self.PRINT, 4)
        process = self.start(spec, "--parallel", "1", env=self.allocation(2))
        process.stdout.close()
        err = process.stderr.read()
        self.assertEqual(process.wait(harness.LIMIT), 0, err)
        self.assertEqual(self.statuses(), ["succeeded"] * 4)
        self.nobody_is_left()

    def test_a_signal_while_nobody_reads(self):
        spec = self.sweep_spec(
            "echo $$ > pid.$N; while :; do echo $N and so on; done", 2)
        process = self.begin_sweep(spec, "--parallel", "1", nodes=2)
        pids = self.started(1)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(harness.LIMIT), 128 + 15)
        for pid in pids.values():
            self.await_end(pid)
        self.nobody_is_left()


class Specs(SweepNodes):
    def test_all_of_a_spec_comes_through(self):
        self.write("base.yaml", "version: 1\nenv: {FROM: base, GONE: null}\n"
                   "vars: {n: 0, word: \"it's $${x}\"}\n")
        spec = self.write("a/s.jobrun.yaml", """\
version: 1
extends: ../base.yaml
name: whole
world_size: 1
device: cpu
env: {API_KEY: hush-hush, N: "${vars.n}", WORD: "${vars.word}", HOME_: "${env:HOME}"}
entrypoint:
  command: [sh, -c, 'echo "$FROM|$API_KEY|$N|$WORD|$HOME_|$1|$2|%{cell}|$PWD|$JOBRUN_RUN_ID" > $JOBRUN_RANK_DIR/told', x]
sweep: {axes: {vars.n: [5, 6]}}
""")
        self.on_nodes(spec, "--root", self.folder, "--", "two words", "$(no)", HOME="/home/me")
        told, = self.folder.glob("runs/2*/cells/0001/**/told")
        self.assertRegex(
            told.read_text(), r"^base\|hush-hush\|6\|it's \$\{x}\|"
            r"/home/me\|two words\|\$\(no\)\|1\|"
            rf"{self.folder}/a\|\S+\.0001\n$")
        for path in self.folder.glob("runs/2*/**/*"):
            if path.is_file() and path.name != "told":
                self.assertNotIn("hush-hush", path.read_text(), path)

    def test_without_a_spec_file(self):
        self.on_nodes("-n", "1", "--sweep", "env.N=1..5", "--", "sh", "-c",
                      "test $N -lt 9")
        self.assertEqual(self.statuses(), ["succeeded"] * 5)
        self.assertEqual(self.steps(), 1)

    def test_what_has_delivered_is_taken_over(self):
        spec = self.sweep_spec("echo $N >> ran; " + DELIVER, 6)
        self.on_nodes(spec)
        done = self.on_nodes(spec, "--resume")
        self.assertIn("6 cells, of which 6 have delivered", done.stderr)
        self.assertEqual(len((self.folder / "ran").read_text().split()), 6)
        spec.write_text(spec.read_text().replace("to: 5", "to: 7"))
        self.on_nodes(spec, "--resume")
        self.assertEqual(sorted((self.folder / "ran").read_text().split()),
                         [str(i) for i in range(8)])

    def test_here_and_there_are_one_experiment(self):
        """A sweep may go on where it did not begin."""
        spec = self.sweep_spec("echo $N >> ran; FAKE_NODE=${FAKE_NODE-9}; "
                               + DELIVER, 6)
        self.on_nodes(spec)
        done = self.expect(self.jobrun(spec, "--resume"), 0)
        self.assertIn("6 cells, of which 6 have delivered", done.stderr)
        self.expect(self.jobrun(spec), 0)
        done = self.on_nodes(spec, "--resume")
        self.assertIn("6 cells, of which 6 have delivered", done.stderr)
        self.assertEqual(len((self.folder / "ran").read_text().split()), 12)


class Failing(SweepNodes):
    def test_failed_cells_stop_nobody(self):
        done = self.on_nodes(self.sweep_spec(
            f"[ $N != 5 ] || exit 3; {DELIVER}"), code=1)
        self.assertIn("11 of 12 cells delivered, 1 did not", done.stderr)

    def test_stop_after(self):
        spec = self.sweep_spec("exit 3", 64)
        spec.write_text(spec.read_text().replace(
            "sweep: {", "sweep: {stop_after: 2, "))
        self.on_nodes(spec, code=1)
        self.assertIn("not_started", self.statuses())

    def test_a_cell_that_cannot_begin(self):
        spec = self.sweep_spec(cells=2)
        spec.write_text(spec.read_text().replace(
            "entrypoint:\n", "workdir: /nowhere\nentrypoint:\n"))
        done = self.on_nodes(spec, nodes=2, code=7)
        self.assertEqual(self.statuses(), ["launch_failed"] * 2)
        self.assertNotIn("Traceback", done.stderr)

    def test_a_signal_stops_all(self):
        spec = self.sweep_spec(WAIT, 64)
        process = self.begin_sweep(spec)
        pids = self.started(4)
        process.send_signal(signal.SIGTERM)
        self.assertIn("cells delivered", self.finish(process, 128 + 15))
        for pid in pids.values():
            self.await_end(pid)
        self.assertEqual(set(self.statuses()), {"stopped", "not_started"})
        self.go()
        self.on_nodes(spec, "--resume")
        self.assertEqual(self.statuses(), ["succeeded"] * 64)

    def test_signals_are_forwarded(self):
        spec = self.sweep_spec(
            'trap "touch got.$N; exit" USR1; echo $$ > pid.$N; '
            'while :; do sleep 0.02; done', 2)
        process = self.begin_sweep(spec, nodes=2)
        self.started(2)
        process.send_signal(signal.SIGUSR1)
        self.until(lambda: len(list(self.folder.glob("got.*"))) == 2, "USR1")
        process.communicate(timeout=harness.LIMIT)

    def kill_and_resume(self, kill):
        """Kill something of a sweep of 16 cells, all of which wait, and go on
        with what is left. Returns what was told, and by the second."""
        self.killed = []
        spec = self.sweep_spec(f"echo $N >> ran; {WAIT}", 16)
        process = self.begin_sweep(spec)
        self.started(4)
        kill(process)
        self.go()
        out, err = process.communicate(timeout=harness.LIMIT)
        for pid in self.started(1).values():
            self.await_end(pid)
        self.nobody_is_left()
        self.killed += [process.returncode, self.steps()]
        before = {path.parent.name: path.stat().st_ino for path in
                  self.latest().glob("cells/*/results.json")
                  if json.loads(path.read_text())["status"] == "succeeded"}
        self.before = before
        done = self.on_nodes(spec, "--resume")
        self.assertEqual(self.statuses(), ["succeeded"] * 16)
        for name, inode in before.items():
            self.assertEqual((self.latest() / "cells" / name / "results.json")
                             .stat().st_ino, inode)
        self.nobody_is_left()
        return err, done.stderr

    def test_a_killed_agent(self):
        """Its cells end with it. Others go on, and so does the sweep, by another
        step on the nodes that are left."""
        err, _ = self.kill_and_resume(
            lambda process: os.kill(self.agents()[0], signal.SIGKILL))
        lost = re.search(r"node 0 \(n1\) is lost: srun: error: n1: task 0: "
                         r"Killed; cells? ([\d, ]+) ended with it\n", err)
        self.assertTrue(lost, err)
        self.assertIn("cells go on on the 3 nodes that are left, through a step "
                      "of their own", err)
        self.assertEqual(self.killed, [7, 2])
        left = {f"{cell:04}" for cell in range(16)} - {
            f"{int(cell):04}" for cell in lost[1].split(",")}
        self.assertEqual(left - set(self.before), set())

    def test_a_node_that_is_gone_with_all_of_its_processes(self):
        """No record tells of its cells: they are lost, and none failed to start."""
        spec = self.sweep_spec(WAIT, 8)
        process = self.begin_sweep(spec, "--parallel", "4")
        self.started(4)
        agent = self.agents()[0]
        os.kill(agent, signal.SIGSTOP)  # it does not tell of their ends
        both = [pid for guard in harness.children(agent)
                for pid in (guard, harness.runner_of(guard))]
        for sig in (signal.SIGSTOP, signal.SIGKILL):  # nor does one of the other's
            for pid in both:
                os.kill(pid, sig)
        os.kill(agent, signal.SIGKILL)
        told = self.latest() / "journal.jsonl"
        self.until(lambda: '"cell": 4,' in told.read_text(), "a cell elsewhere")
        shown = json.loads(self.expect(self.jobrun(
            "show", "latest", "--format", "json"), 0).stdout)["cells"]
        self.go()
        err = self.finish(process, 7)
        lost = {int(cell) for cell in re.search(
            r"cells? ([\d, ]+) ended with it\n", err)[1].split(",")}
        for cells in (shown, self.cells()):
            self.assertEqual({cell["cell"] for cell in cells
                              if cell["status"] == "lost"}, lost)
            self.assertNotIn("launch_failed", [cell["status"] for cell in cells])
        for cell in lost:
            self.assertGreater(self.cells()[cell]["seconds"], 0)
            self.assertRegex(err, rf"cell {cell:04} lost after [\d.]+ s")
        self.assertIn(f"{len(lost)} did not", err)
        self.on_nodes(spec, "--resume")
        self.assertEqual(self.statuses(), ["succeeded"] * 8)

    def test_a_lost_node_whose_records_are_another_machine_s(self):
        """Nothing there is seen from here, and yet its cells run again."""
        spec = self.sweep_spec(WAIT, 8)
        process = self.begin_sweep(spec, "--parallel", "4")
        self.started(4)
        agent = self.agents()[0]
        both = [pid for guard in harness.children(agent)
                for pid in (guard, harness.runner_of(guard))]
        os.kill(agent, signal.SIGSTOP)  # its guards would die with it
        for sig in (signal.SIGSTOP, signal.SIGKILL):
            for pid in both:
                os.kill(pid, sig)
        os.kill(agent, signal.SIGKILL)
        self.go()
        self.finish(process, 7)
        lost = [cell for cell in self.cells() if cell["status"] == "lost"]
        self.assertTrue(lost)
        for cell in lost:
            self.assertEqual(cell["host"], "n1")
            path = self.latest() / cell["run"] / "run.json"
            path.write_text(json.dumps({**json.loads(path.read_text()),
                                        "host": "n1"}))
        done = self.on_nodes(spec, "--resume")
        for cell in lost:
            self.assertIn(f"cell {cell['cell']:04} was lost on n1, and runs "
                          "again", done.stderr)
        self.assertEqual(self.statuses(), ["succeeded"] * 8)
        self.nobody_is_left()

    def test_two_agents_that_are_killed(self):
        def kill(process):
            for node in (1, 2):
                os.kill(self.agents()[node], signal.SIGKILL)
        err, _ = self.kill_and_resume(kill)
        self.assertIn("node 1 (n2) is lost", err)
        self.assertIn("node 2 (n3) is lost", err)
        self.assertIn("cells go on on the 2 nodes that are left", err)
        self.assertEqual(self.killed[0], 7)

    def test_one_node_that_is_left(self):
        spec = self.sweep_spec(WAIT, 16)
        process = self.begin_sweep(spec, nodes=2)
        self.started(2)
        os.kill(self.agents()[0], signal.SIGKILL)
        self.until(lambda: self.steps() == 2, "another step")
        self.go()
        err = self.finish(process, 7)
        self.assertIn("cells go on on the 1 node that is left", err)
        self.assertNotIn("not_started", self.statuses())

    def test_cells_of_several_nodes_after_one_is_lost(self):
        """They want all nodes: no step is started for them, and that is said."""
        spec = self.sweep_spec(WAIT, 1, "local_world_size: 1\n")
        spec.write_text(spec.read_text().replace(
            "world_size: 1\nvars", "nodes: 1\nvars").replace(
            "axes: {", "axes: {nodes: [1, 2], "))
        told = self.folder / "told"
        with open(told, "w", encoding="utf-8") as stderr:
            process = self.start(spec, env=self.allocation(2), stderr=stderr)
        self.started(1)
        os.kill(self.agents()[1], signal.SIGKILL)
        self.until(lambda: re.search("is lost: .*\n.*\n", told.read_text()),
                   "what is done about it")
        self.go()
        self.assertEqual(process.wait(harness.LIMIT), 7)
        err = told.read_text()
        self.nobody_is_left()
        self.assertRegex(err, "cells of several nodes want all nodes: no other "
                              "cell begins: go on with --resume=")
        self.assertNotIn("cells go on", err)
        self.assertEqual(self.statuses(), ["succeeded", "not_started"])
        self.assertEqual(self.steps(), 1)

    def test_a_killed_leader(self):
        self.kill_and_resume(lambda process: process.kill())

    def test_a_killed_srun(self):
        def kill(process):
            sruns = [pid for pid in harness.children(process.pid)]
            for pid in sruns:
                os.kill(int(pid), signal.SIGKILL)
        err, _ = self.kill_and_resume(kill)
        self.assertIn("is lost: srun was killed by SIGKILL", err)
        self.assertIn("all nodes are lost: no other cell begins: go on with "
                      "--resume=", err)

    def cell_processes(self, agent):
        """Guard and runner of a cell of an agent."""
        guard = harness.children(agent)[0]
        return guard, harness.runner_of(guard)

    def kill_in_cell(self, *which):
        spec = self.sweep_spec(WAIT, 16)
        process = self.begin_sweep(spec)
        self.started(4)
        both = self.cell_processes(self.agents()[0])
        for i in which:
            os.kill(both[i], signal.SIGKILL)
        self.until(lambda: "cell_ended" in
                   (self.latest() / "journal.jsonl").read_text(), "an end")
        self.go()
        process.communicate(timeout=harness.LIMIT)
        self.nobody_is_left()
        self.assertNotIn("not_started", self.statuses())
        self.on_nodes(spec, "--resume")
        self.assertEqual(self.statuses(), ["succeeded"] * 16)

    def test_a_killed_guard(self):
        self.kill_in_cell(0)

    def test_a_killed_runner(self):
        self.kill_in_cell(1)

    def test_a_cell_whose_guard_and_runner_are_killed(self):
        self.kill_in_cell(1, 0)

    def test_the_cluster_ends_the_step(self):
        spec = self.sweep_spec(WAIT, 64)
        process = self.begin_sweep(spec)
        self.started(4)
        for pid in self.agents().values():
            os.kill(pid, signal.SIGTERM)
        err = self.finish(process, 128 + 15)
        self.assertIn("the cluster ends what runs there: no other cell begins",
                      err)
        self.assertIn("not_started", self.statuses())

    def test_a_node_that_has_no_jobrun(self):
        done = self.on_nodes(self.sweep_spec(), nodes=2, code=7,
                             FAKE_PROGRAM={"1": "/nowhere/jobrun"})
        self.assertIn("node 1 (n2) did not answer", done.stderr)
        self.assertFalse((self.folder / "runs").exists())


if __name__ == "__main__":
    harness.main()
