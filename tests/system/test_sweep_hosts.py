"""Sweeps over hosts that ssh reaches: the cases of test_sweep_nodes.py that have
nothing to do with srun, and what is ssh's own. A stand-in for ssh runs the commands
on this machine."""
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time

import harness
import test_nodes_by_ssh as by_ssh
import test_sweep_nodes as sweeps


class SweepHosts(by_ssh.Ssh, sweeps.SweepNodes):
    NODES = "hosts"

    def allocation(self, nodes=4, **extra):
        return by_ssh.Ssh.allocation(self, nodes, **extra)

    def one_ssh_each(self, nodes):
        log = (self.folder / "tasks").read_text().splitlines()
        self.assertEqual(sorted(line.split()[0] for line in log),
                         [str(node) for node in range(nodes)])


class Packing(SweepHosts):
    test_devices_of_each_node = sweeps.Packing.test_devices_of_each_node
    test_a_device_that_disappears = sweeps.Packing.test_a_device_that_disappears
    test_devices_that_others_hold = (
        sweeps.Packing.test_devices_that_others_hold_are_waited_for)
    test_cells_of_several_nodes = sweeps.Packing.test_cells_of_several_nodes_beside
    test_a_cell_with_a_spare = sweeps.Packing.test_a_cell_with_a_spare
    test_what_no_node_can_hold = sweeps.Packing.test_what_no_node_can_hold
    test_here_if_it_is_told_so = sweeps.Packing.test_here_if_it_is_told_so
    vanishing = sweeps.Packing.vanishing

    def test_all_hosts_through_one_ssh_each(self):
        done = self.on_nodes(self.sweep_spec(cells=64))
        self.assertRegex(done.stderr, r"64 cells, each 1 of \d+ CPU cores, "
                                      r"on 4 nodes; ")
        self.assertIn("64 of 64 cells delivered", done.stderr)
        self.assertEqual(self.statuses(), ["succeeded"] * 64)
        self.assertEqual(set(self.nodes_of()), {0, 1, 2, 3})
        self.one_ssh_each(4)
        self.assertEqual(list(self.folder.glob("runs/2*/**/.mark-*")), [])
        self.nobody_is_left()

    def test_plan(self):
        plan = self.on_nodes("plan", self.sweep_spec(cells=64), "--json")
        self.assertEqual(json.loads(plan.stdout)["at_once"] % 4, 0)
        self.assertIn("asking 4 hosts for their facts by ssh", plan.stderr)
        self.assertFalse((self.folder / "runs").exists())
        self.nobody_is_left()

    def test_plan_for_other_machines(self):
        plan = self.on_nodes("plan", self.sweep_spec(cells=64), "--on", "4x8",
                             "--json")
        self.assertGreater(json.loads(plan.stdout)["at_once"], 1)
        self.assertFalse((self.folder / "tasks").exists())

    def test_hosts_of_the_spec(self):
        """They are those of the sweep: no cell is for more than one of them
        unless it says so, and `validate` knows that."""
        hosts = ", ".join(self.hosts(3))
        spec = self.sweep_spec(
            cells=6, more=f"hosts: [{hosts}]\nengine: {{ssh: {{}}}}\n")
        self.expect(self.jobrun("validate", "--strict", spec), 0)
        env = self.allocation(3)
        words = ("run", spec)
        self.expect(harness.Case.jobrun(self, *words, env=env), 0)
        self.assertEqual(self.statuses(), ["succeeded"] * 6)
        self.one_ssh_each(3)

    def test_too_few_hosts(self):
        spec = self.sweep_spec(cells=2)
        spec.write_text(spec.read_text().replace(
            "world_size: 1\n", "nodes: 3\nlocal_world_size: 1\n"))
        done = self.on_nodes(spec, nodes=2, code=4)
        self.assertIn("nodes 3, and the sweep has 2 hosts", done.stderr)

    def test_one_cell_alone(self):
        """It is on the first of them."""
        done = self.on_nodes(self.sweep_spec(f"echo $N; {sweeps.DELIVER}"),
                             "--cell", "3")
        self.assertEqual(done.stdout, "[0] 3\n")
        results = json.loads((self.latest() / "results.json").read_text())
        self.assertEqual(results["ranks"][0]["result"]["node"], 0)
        self.one_ssh_each(1)

    def test_cells_are_repeated_as_they_were(self):
        """One of several nodes on its hosts; one of one node where that is typed,
        else here."""
        spec = self.sweep_spec(cells=2)
        spec.write_text(spec.read_text().replace(
            "world_size: 1\n", "nodes: 1\nlocal_world_size: 1\n").replace(
            "axes: {", "axes: {nodes: [1, 2], "))
        env = self.allocation(2)
        self.on_nodes(spec, nodes=2)
        sweep = self.latest().resolve().name
        for words, hosts in ((("/1",), ["vm"]), (("/3",), ["n1", "n2"]),
                             (("/1", "--hosts", self.hosts(2)[1]), ["n2"])):
            self.expect(harness.Case.jobrun(
                self, "rerun", sweep + words[0], *words[1:],
                env={"FAKE_NODE": "0", **env}), 0)
            results = by_ssh.rename(json.loads(
                (self.latest() / "results.json").read_text()))
            told = [rank["host"] for rank in results["ranks"]]
            self.assertEqual([os.uname().nodename if host == "vm" else host
                              for host in hosts], told, words)
            self.assertEqual(results["status"], "succeeded")


class Apart(SweepHosts, by_ssh.Disks):
    """All hosts but the first have a log folder of their own."""

    def allocation(self, nodes=4, **extra):
        own = {str(node): self.disk(f"disk-{node}") for node in range(1, nodes)}
        return super().allocation(nodes, **{"FAKE_PROGRAM": own, **extra})

    def cell(self, node):
        """The folder of a cell that ran on that host."""
        [found, *_] = [cell for cell in self.cells()
                       if (cell["result"] or {}).get("node") == node]
        return self.latest() / found["run"]

    def there(self, cell, node):
        """The same on that host."""
        [found] = (self.folder / f"disk-{node}").glob(
            f"*/node_{node}.*/{cell.name}")
        return found

    def files(self, folder):
        return sorted(str(path.relative_to(folder))
                      for path in folder.rglob("*") if path.is_file())

    def shown(self, *words, code=0):
        return self.expect(harness.Case.jobrun(self, *words), code).stdout

    test_failed_cells_stop_nobody = sweeps.Failing.test_failed_cells_stop_nobody
    test_stop_after = sweeps.Failing.test_stop_after
    test_a_cell_that_cannot_begin = sweeps.Failing.test_a_cell_that_cannot_begin
    test_a_signal_stops_all = sweeps.Failing.test_a_signal_stops_all
    test_signals_are_forwarded = sweeps.Failing.test_signals_are_forwarded
    test_a_killed_leader = sweeps.Failing.test_a_killed_leader
    test_a_killed_guard = sweeps.Failing.test_a_killed_guard
    test_a_killed_runner = sweeps.Failing.test_a_killed_runner
    test_both_killed = sweeps.Failing.test_a_cell_whose_guard_and_runner_are_killed
    test_what_has_delivered = sweeps.Specs.test_what_has_delivered_is_taken_over
    test_a_device_that_disappears = sweeps.Packing.test_a_device_that_disappears
    test_of_one_cell_at_a_time = sweeps.Console.test_of_one_cell_at_a_time
    kill_and_resume = sweeps.Failing.kill_and_resume
    kill_in_cell = sweeps.Failing.kill_in_cell
    cell_processes = sweeps.Failing.cell_processes
    vanishing = sweeps.Packing.vanishing
    PRINT = sweeps.Console.PRINT

    def test_what_cells_leave_comes_back(self):
        """A cell is what it is where the host sees the folder, but for what
        only its ranks know of."""
        spec = self.sweep_spec(
            "echo out $N; echo err $N >&2; touch \"$JOBRUN_RANK_DIR/big\"; "
            + sweeps.DELIVER, 24)
        done = self.on_nodes(spec, nodes=3)
        self.assertIn("24 of 24 cells delivered", done.stderr)
        self.assertEqual(set(self.nodes_of()), {0, 1, 2})
        self.one_ssh_each(3)
        near, far = self.cell(0), self.cell(2)
        self.assertEqual([name for name in self.files(near)
                          if not name.endswith("/big")], self.files(far))
        self.assertIn("attempt_0/0/big", self.files(self.there(far, 2)))
        for name in self.files(far):
            self.assertEqual((far / name).read_bytes(),
                             (self.there(far, 2) / name).read_bytes(), name)
        number = str(int(far.name))
        self.assertEqual((far / "attempt_0/0/stdout.log").read_text(),
                         f"out {number}\n")
        self.assertEqual(sorted(path.name for path in far.parent.iterdir()),
                         [".gitignore"] + [f"{i:04}" for i in range(24)])
        self.assertEqual(list(self.folder.glob("*/2*/**/.mark-*")), [])
        one = f"latest/{number}"
        self.assertIn(f"out {number}", self.shown("logs", one))
        self.assertIn("succeeded", self.shown("show", one))
        self.assertIn("fingerprint", self.shown("show", one, "--json"))
        self.shown("diff", f"latest/{int(near.name)}", one)
        self.shown("report", "latest", "--format", "html", "-o", "s.html")
        self.assertIn(far.name, (self.folder / "s.html").read_text())
        self.expect(harness.Case.jobrun(self, "rerun", one,
                                        env={"FAKE_NODE": "0"}), 0)
        self.nobody_is_left()

    def test_the_rest_of_a_log_is_fetched(self):
        whole = "".join(f"{i}\n" for i in range(1, 30001))
        self.on_nodes(self.sweep_spec(f"seq 30000; {sweeps.DELIVER}", 8), "-s",
                      "engine.ssh.options=[-J, gate]", nodes=2)
        cell = self.cell(1)
        log = cell / "attempt_0/0/stdout.log"
        note, rest = log.read_text().split("\n", 1)
        self.assertEqual(note, f"[jobrun: the first {len(whole) - len(rest)} "
                         f"bytes of this log are on {by_ssh.ADDRESS}2 alone; "
                         "`jobrun logs` fetches them]")
        self.assertTrue(whole.endswith("\n" + rest))
        self.assertGreater(len(rest), 65000)
        self.ssh_on("disk-1")
        words = self.folder / "words"
        one = f"latest/{int(cell.name)}"
        done = self.expect(harness.Case.jobrun(
            self, "logs", one, env=self.fakes(FAKE_WORDS=str(words))), 0)
        self.assertEqual((done.stdout.count(whole), done.stderr), (1, ""))
        self.assertEqual(log.read_text(), whole)
        self.assertIn('"-J", "gate"', words.read_text())
        self.assertEqual(os.listdir(log.parent).count("stdout.log.left"), 0)

    def test_what_is_collected(self):
        spec = self.sweep_spec(
            "seq 300000; seq 100000 >&2; echo '{\"node\": '$FAKE_NODE'}' > "
            '"$JOBRUN_RESULT_FILE"', 4)
        spec.write_text(spec.read_text().replace(
            "results: {", "results: {file: '%{rank_dir}/out/r.json', ")
            .replace("  shell: |\n", "  shell: |\n    mkdir "
                     "\"$JOBRUN_RANK_DIR/out\"\n"))
        for collect, there in (("[logs]", False), ("[results, logs]", True),
                               ("[results]", True)):
            self.on_nodes(spec, "-s", f"engine.ssh.collect={collect}", nodes=2)
            cell = self.cell(1)
            self.assertEqual((cell / "attempt_0/0/out/r.json").exists(), there)
            self.assertEqual(
                (cell / "attempt_0/0/stdout.log").stat().st_size ==
                (self.there(cell, 1) / "attempt_0/0/stdout.log").stat().st_size,
                "logs" in collect, collect)
            for disk in self.folder.glob("disk-*/2*"):
                shutil.rmtree(disk)

    def test_a_failure_is_told_as_here(self):
        spec = self.sweep_spec("echo why it failed >&2; exit 7", 4)
        self.on_nodes(spec, nodes=2, code=1)
        far = [path.parent.parent.name for path in
               (self.folder / "disk-1").glob("*/*/*/attempt_0")]
        told = [cell for cell in self.cells() if cell["cell"] % 2]
        self.assertEqual({cell["status"] for cell in told}, {"failed"})
        for cell in told:
            shown = self.shown("show", f"latest/{cell['cell']}")
            self.assertIn("rank 0 exited with code 7", shown)
            self.assertIn("why it failed", shown)

    def test_what_ranks_plant(self):
        """Nothing comes through a link, and no word for ssh at all."""
        spec = self.sweep_spec(
            'cd "$JOBRUN_RANK_DIR"; ln -s /etc/passwd error.json; '
            'echo "{}" > stdout.log.left; mkfifo hang.json; '
            'mkdir -p ../7 && ln -s /etc ../8; ln -s / ../../attempt_1; '
            'ln -s /etc/passwd ../../metrics.jsonl; ln /etc/hostname spare; '
            'truncate -s 2T ../../code.patch || true; ' + sweeps.DELIVER, 4)
        self.on_nodes(spec, nodes=2)
        far = self.cell(1)
        self.assertTrue((self.there(far, 1) / "attempt_1").is_symlink())
        self.assertEqual([path for path in far.rglob("*")
                          if path.is_symlink() or path.is_fifo()], [])
        names = self.files(far)
        for name in ("attempt_0/0/error.json", "attempt_0/0/stdout.log.left",
                     "attempt_0/0/hang.json", "metrics.jsonl", "code.patch"):
            self.assertNotIn(name, names)
        self.assertIn("attempt_0/0/result.json", names)

    def test_no_host_sees_it(self):
        own = {str(node): self.disk("one") for node in range(2)}
        spec = self.sweep_spec(cells=8)
        self.on_nodes(spec, nodes=2, FAKE_PROGRAM=own)
        self.assertEqual(set(self.nodes_of()), {0, 1})
        [sweep] = (self.folder / "one").glob("2*")
        self.assertEqual(sorted(path.name.split(".")[0] for path in
                                sweep.iterdir() if path.is_dir()),
                         ["node_0", "node_1"])
        self.on_nodes(spec, "--resume", nodes=2, FAKE_PROGRAM=own)
        self.assertEqual(len(list(sweep.glob("*/*/run.json"))), 8)
        self.assertEqual(len(list(sweep.glob("node_*"))), 2)

    def test_cells_of_several_hosts(self):
        """Those have a controller of their own, and go on as well."""
        spec = self.sweep_spec(
            f"echo rank $RANK; test -e go && {sweeps.DELIVER}", 3)
        spec.write_text(spec.read_text().replace(
            "world_size: 1\n", "nodes: 2\nlocal_world_size: 1\n"))
        self.on_nodes(spec, nodes=2, code=1)
        self.go()
        self.on_nodes(spec, "--resume", nodes=2)
        self.assertEqual(self.statuses(), ["succeeded"] * 3)
        self.assertEqual(
            (self.latest() / "cells/0002/attempt_0/1/stdout.log").read_text(),
            "rank 1\n")
        self.assertEqual(len(list(self.folder.glob("disk-1/2*/cells/*/node_1.1"))),
                         3)

    def frozen(self, cells=8):
        """A sweep of a repository, which only the controller has."""
        tree = self.folder / "tree"
        (tree / "lib").mkdir(parents=True)
        (tree / "lib/model.py").write_text("LAYERS = 2\n")
        spec = self.sweep_spec(
            f"ls -F; cat lib/model.py; touch made; {sweeps.DELIVER}", cells,
            "log_dir: ../runs\ncode: freeze\n")
        os.rename(spec, tree / spec.name)
        for words in (("init", "-q"), ("add", "-A"), (
                "-c", "user.name=n", "-c", "user.email=n@example.org",
                "commit", "-qm", "m")):
            subprocess.run(["git", *words], cwd=tree, check=True,
                           capture_output=True)
        return tree, tree / spec.name

    def test_frozen_code_comes_along(self):
        """As it was when the sweep began, or was gone on with."""
        tree, spec = self.frozen()
        own = {"1": self.disk("disk-1", tree)}
        self.on_nodes(spec, nodes=2, FAKE_PROGRAM=own)
        near, far = self.cell(0), self.cell(1)
        read = lambda cell: (cell / "attempt_0/0/stdout.log").read_text()
        self.assertEqual(read(far),
                         "lib/\nscan.jobrun.yaml\nLAYERS = 2\n")
        self.assertEqual(read(far), read(near))
        self.assertTrue((self.there(far, 1) / "code/made").exists())
        codes = [json.loads((cell / "run.json").read_text())["code"]
                 for cell in (near, far)]
        for key in ("commit", "tree", "frozen", "top"):
            self.assertEqual(codes[0][key], codes[1][key], key)
        self.assertEqual(os.listdir(self.folder / "runs/.submitted"),
                         [".gitignore"])
        (tree / "lib/model.py").write_text("LAYERS = 3\n")
        done = self.on_nodes(spec, "--resume", nodes=2, FAKE_PROGRAM=own)
        self.assertIn("8 cells that delivered ran with other code", done.stderr)
        self.on_nodes(spec, "--resume", "--rerun-changed", nodes=2,
                      FAKE_PROGRAM=own)
        self.assertEqual({read(self.latest() / cell["run"]).splitlines()[-1]
                          for cell in self.cells()}, {"LAYERS = 3"})
        self.assertIn(1, self.nodes_of())
        self.nobody_is_left()

    def test_code_that_cannot_be_frozen(self):
        """Nothing begins, and nothing is left."""
        spec = self.sweep_spec(cells=4, more="code: freeze\n")
        done = self.on_nodes(spec, nodes=2, code=7)
        self.assertRegex(done.stderr, r"node 1 \(n2\): code: freeze: .* is in no git "
                                      "work tree, .*: no other cell begins")
        self.assertEqual(set(self.statuses()), {"not_started"})
        self.nobody_is_left()

    def test_no_room_for_the_code(self):
        tree, spec = self.frozen()
        (tree / "large").write_bytes(os.urandom(3_000_000))
        small = {"1": self.small_disk("there", "2m", harness.JOBRUN)}
        done = self.on_nodes(spec, nodes=2, code=7, FAKE_PROGRAM=small)
        self.assertRegex(done.stderr, r"node 1 \(n2\): tar could not unpack the "
                         "code of the run")
        self.assertEqual(set(self.statuses()), {"not_started"})
        self.nobody_is_left()

    def test_a_log_folder_that_cannot_be_made(self):
        self.disk("disk-1")
        self.write("disk-1/keep", "")
        spec = self.sweep_spec(cells=2, more="log_dir: runs/keep/logs\n")
        done = self.expect(self.jobrun(spec, env=self.allocation(2)), 7)
        self.assertRegex(done.stderr, r"node 1 \(n2\): log_dir.*runs/keep.*: no "
                                      "other cell begins")
        self.nobody_is_left()

    HOLD = """\
import os, sys, time
some = 2_000_000
while data := os.read(0, 65536):
    some -= len(data)
    while some < 0 and not os.path.exists(sys.argv[1]):
        time.sleep(0.01)
    while data:
        data = data[os.write(1, data):]
"""

    def begin_held(self):
        """A sweep of one cell, once some of what it has left on a host has come:
        no more does before there is a file `release`."""
        script = self.write("hold.py", self.HOLD)
        program = self.write(
            "held", f"""#!/bin/sh
'{self.disk("disk-1")}' "$@" | {sys.executable} '{script}' '{self.folder}/release'
""")
        program.chmod(0o700)
        self.spec_held = self.sweep_spec(
            f"seq 3000000; echo $N >> ran; {sweeps.DELIVER}", 1)
        self.extra = {"nodes": 1, "FAKE_PROGRAM": {"0": str(program)}}
        process = self.begin_sweep(
            self.spec_held, "-s", "engine.ssh.collect=[results, logs]",
            **self.extra)
        self.until(lambda: list(self.folder.glob("runs/2*/cells/.0*/run.json")),
                   "nothing has come of a cell")
        self.agent = harness.children(self.agents()[0])[0]
        return process

    def release(self):
        (self.folder / "release").touch()

    def resume_held(self):
        """It runs a second time."""
        self.on_nodes(self.spec_held, "--resume", **self.extra)
        self.assertEqual(self.statuses(), ["succeeded"])
        self.assertEqual((self.folder / "ran").read_text(), "0\n0\n")
        self.assertEqual([path.name for path in
                          (self.latest() / "cells").glob(".0*")], [])

    def test_an_agent_is_killed_while_it_sends(self):
        """What has come of the cell is no cell, and it runs again."""
        process = self.begin_held()
        os.kill(self.agent, signal.SIGKILL)
        self.release()
        err = self.finish(process, 7)
        self.assertRegex(by_ssh.rename(err), r"node 0 \(n1\) is lost: .*; cell 0 "
                                             "ended with it")
        self.assertEqual(self.statuses(), ["lost"])
        self.assertEqual(list((self.latest() / "cells").glob("*0*")), [])
        self.resume_held()

    def test_the_leader_is_killed_while_a_cell_comes(self):
        """Its half is removed when the cell comes again."""
        process = self.begin_held()
        process.kill()
        self.release()
        process.communicate()
        self.nobody_is_left()
        [half] = self.folder.glob("runs/2*/cells/.0*")
        self.resume_held()
        self.assertFalse(half.exists())

    def test_a_sender_is_killed(self):
        process = self.begin_held()
        [sender] = harness.children(self.agent)
        os.kill(sender, signal.SIGKILL)
        self.release()
        err = self.finish(process, 7)
        self.assertRegex(err, r"cell \d: what sends what it has left was killed "
                              "by signal 9")
        self.assertEqual(self.statuses(), ["launch_failed"])
        self.resume_held()

    def test_a_signal_while_a_cell_comes(self):
        """It has delivered, and so it counts."""
        process = self.begin_held()
        process.send_signal(signal.SIGTERM)
        self.release()
        self.finish(process, 128 + 15)
        self.assertEqual(self.statuses(), ["succeeded"])

    def test_what_runs_there(self):
        """Its files are not here yet, and that is what is said."""
        process = self.begin_sweep(self.sweep_spec(sweeps.WAIT, 4), nodes=2)
        self.started(2)
        shown = json.loads(self.shown("show", "latest", "--format", "json"))
        [far, *_] = [cell["cell"] for cell in shown["cells"]
                     if cell["status"] == "running" and
                     by_ssh.rename(cell["host"]) == "n2"]
        [disk] = (self.folder / "disk-1").glob("2*/node_1.*")
        there = self.folder / "runs" / disk.parent.name / disk.name
        for words in (("show",), ("logs",), ("top", "--once")):
            done = self.expect(harness.Case.jobrun(
                self, words[0], f"latest/{far}", *words[1:]), 2)
            said, line = done.stderr.rstrip("\n").split("; until then: ")
            self.assertIn(f"cell latest/{far} runs on {by_ssh.ADDRESS}2, and its "
                          "files come here when it has ended", said)
            ssh, host, *rest = shlex.split(line)  # by the shell here, and there
            self.assertEqual((ssh, host), ("ssh", f"{by_ssh.ADDRESS}2"))
            self.assertEqual(shlex.split(" ".join(rest)), [
                "jobrun", words[0], f"{far:04}", "--log-dir", str(there)])
            self.expect(harness.Case.jobrun(
                self, words[0], f"{far:04}", "--log-dir", str(disk),
                *words[1:]), 0)
        self.assertIn("running", self.shown("show", "latest"))
        self.assertEqual(self.shown("runs", "--cells").count("running"), 4)
        harness.Case.jobrun(self, "stop", "latest")
        self.finish(process, 128 + 15)
        self.assertEqual(self.statuses().count("running"), 0)

    def test_a_host_lists_and_prunes_its_cells(self):
        """Not while they run; then all of them, as one row."""
        spec = self.sweep_spec(sweeps.WAIT, 4, "log_mode: group\n")
        process = self.begin_sweep(spec, nodes=2)
        self.started(4)
        disk = self.folder / "disk-1"
        [sweep] = [path.name for path in disk.glob("2*")]
        there = ("--log-dir", str(disk))
        self.assertRegex(self.shown("runs", *there), f"(?m)^running .* {sweep}$")
        prune = ("prune", "--keep", "0", *there)
        self.assertIn("removed 0 runs", self.expect(
            harness.Case.jobrun(self, *prune), 0).stderr)
        self.go()
        self.finish(process, 0)
        [cells] = disk.glob("2*/node_1.*")
        for path in (cells.parent, cells, cells / "0001"):
            if path.exists():
                self.assertEqual(path.stat().st_mode & 0o777, 0o750, path)
        self.assertRegex(self.shown("runs", *there),
                         f"(?m)^succeeded .* {sweep}$")
        self.assertEqual(self.shown(*prune, "--dry-run"), f"{sweep}\n")
        self.assertTrue(cells.exists())
        self.assertEqual(self.shown(*prune), f"{sweep}\n")
        self.assertEqual([path.name for path in disk.iterdir()
                          if not path.name.startswith(".")], [])
        self.on_nodes(spec, "--resume", nodes=2)
        self.assertEqual(self.statuses(), ["succeeded"] * 4)

    def test_a_host_prunes_its_parts_of_cells(self):
        """Of cells that several hosts have together."""
        spec = self.sweep_spec(f"test $RANK = 0 || {sweeps.DELIVER}\n"
                               f"{sweeps.DELIVER}", 2)
        spec.write_text(spec.read_text().replace(
            "world_size: 1\n", "nodes: 2\nlocal_world_size: 1\n"))
        self.on_nodes(spec, nodes=2)
        disk = self.folder / "disk-1"
        self.assertEqual(len(list(disk.glob("2*/cells/*/node_1"))), 2)
        self.expect(harness.Case.jobrun(self, "prune", "--keep", "0",
                                        "--log-dir", str(disk)), 0)
        self.assertEqual(list(disk.glob("2*")), [])

    def test_one_cell_there_is_stopped(self):
        """And no other one. Who waits for it hears of its end."""
        spec = self.sweep_spec(sweeps.WAIT, 4)
        process = self.begin_sweep(spec, nodes=2)
        self.started(4)
        shown = json.loads(self.shown("show", "latest", "--format", "json"))
        far, _ = [cell["cell"] for cell in shown["cells"]
                      if by_ssh.rename(cell["host"]) == "n2"]
        done = self.expect(harness.Case.jobrun(
            self, "wait", f"latest/{far}", "--timeout", "100ms"), 124)
        self.assertIn(f"latest/{far} is still running after 100ms", done.stderr)
        waiting = harness.Case.start(self, "wait", f"latest/{far}")
        done = self.expect(harness.Case.jobrun(
            self, "stop", f"latest/vars.n={far}"), 0)
        self.assertIn("STOPPED", done.stderr)
        _, err = waiting.communicate(timeout=harness.LIMIT)
        self.assertEqual(waiting.returncode, 128 + 15, err)
        again = self.expect(harness.Case.jobrun(
            self, "stop", f"latest/{far}"), 0)
        self.assertIn("has already ended: stopped", again.stderr)
        self.assertEqual(len([cell for cell in json.loads(self.shown(
            "show", "latest", "--format", "json"))["cells"]
            if cell["status"] == "running"]), 3)
        self.go()
        self.finish(process, 1)
        self.assertEqual({cell["cell"] for cell in self.cells()
                          if cell["status"] == "stopped"}, {far})
        self.assertEqual(self.statuses().count("succeeded"), 3)
        self.assertFalse((self.latest() / ".stop").exists())
        self.on_nodes(spec, "--resume", nodes=2)
        self.assertEqual(self.statuses(), ["succeeded"] * 4)

    def test_a_cell_there_that_does_not_heed_it(self):
        """The second word kills it, without its grace."""
        process = self.begin_sweep(self.sweep_spec(
            f"trap 'touch told.$N' TERM; {sweeps.WAIT}", 4), "-s",
            "timeouts.stop_grace=10m", nodes=2)
        self.started(4)
        first = harness.Case.start(self, "stop", "latest/3")
        self.until((self.folder / "told.3").exists, "cell 3 is not told")
        time.sleep(0.2)  # what comes sooner is the same signal
        self.expect(harness.Case.jobrun(self, "stop", "latest/3"), 0)
        first.communicate(timeout=harness.LIMIT)
        self.assertEqual(first.returncode, 0)
        self.assertEqual(len(list(self.folder.glob("told.*"))), 1)
        self.go()
        self.finish(process, 1)

    def test_a_word_that_nobody_took(self):
        """It is not for the cell of the next leader."""
        spec = self.sweep_spec(sweeps.WAIT, 4)
        process = self.begin_sweep(spec, nodes=2)
        self.started(4)
        os.kill(process.pid, signal.SIGSTOP)
        asking = harness.Case.start(self, "stop", "latest/3")
        self.until(lambda: list(self.latest().glob(".stop/0003")), "the word")
        process.kill()
        process.communicate()
        asking.communicate(timeout=harness.LIMIT)
        self.assertNotEqual(asking.returncode, 0)
        self.nobody_is_left()
        self.go()
        self.on_nodes(spec, "--resume", nodes=2)
        self.assertEqual(self.statuses(), ["succeeded"] * 4)

    def small_disk(self, name, size, inner):
        """A program that has so much room for its log folder."""
        program = self.write(
            name, "#!/bin/sh\nexec unshare -m sh -c 'mount -t tmpfs -o size=%s "
            "none \"$1\" && shift && \"$@\"; code=$?; ls -A \"$0\"/runs/2*/* > "
            "\"$0\"/%s.left; exit $code' '%s' '%s/runs' '%s' \"$@\"\n"
            % (size, name, self.folder, self.folder, inner))
        program.chmod(0o700)
        return str(program)

    def test_a_host_without_the_work_tree(self):
        """Its cells are the same experiment, and do not run again."""
        tree = self.folder / "tree"
        (tree / ".git").mkdir(parents=True)
        spec = self.sweep_spec(
            f'echo $N >> "{self.folder}/ran"; {sweeps.DELIVER}', 6,
            "log_dir: ../runs\nworkdir: jobs\n")
        os.rename(spec, tree / spec.name)
        (tree / "jobs").mkdir()
        spec = tree / spec.name
        (self.folder / "empty/jobs").mkdir(parents=True)
        program = self.write(
            "without", "#!/bin/sh\nexec unshare -m sh -c 'mount --bind \"$1\" "
            "\"$2\" && shift 2 && exec \"$@\"' sh '%s' '%s' '%s' \"$@\"\n"
            % (self.folder / "empty", tree, self.disk("disk-1")))
        program.chmod(0o700)
        own = {"1": str(program)}
        self.on_nodes(spec, nodes=2, FAKE_PROGRAM=own)
        self.assertIn(1, self.nodes_of())
        done = self.on_nodes(spec, "--resume", nodes=2, FAKE_PROGRAM=own)
        self.assertIn("6 cells, of which 6 have delivered", done.stderr)
        self.assertEqual(len((self.folder / "ran").read_text().split()), 6)
        for cell in self.cells():
            results = json.loads(
                (self.latest() / cell["run"] / "results.json").read_text())
            self.assertEqual(results["fingerprint"], cell["fingerprint"])

    def test_a_full_disk_there(self):
        """No other cell begins there, and all others run."""
        spec = self.sweep_spec(f"head -c 2000000 /dev/zero; {sweeps.DELIVER}", 12)
        small = {"1": self.small_disk("there", "3m", harness.JOBRUN)}
        done = self.jobrun(spec, env=self.allocation(2, FAKE_PROGRAM=small))
        self.assertIn(done.returncode, (1, 5, 7), done.stderr)
        self.assertRegex(done.stderr, r"node 1 \(n2\): the disk of .*/runs there is "
                                      "full: no other cell begins there")
        self.assertGreater(self.statuses().count("succeeded"), 5)
        self.assertNotIn("not_started", self.statuses())
        self.assertNotIn("no other cell begins: go on", done.stderr)
        self.on_nodes(spec, "--resume", nodes=1)
        self.assertEqual(self.statuses(), ["succeeded"] * 12)

    def test_what_an_earlier_jobrun_still_ends(self):
        """Whoever goes on waits for it, also where another host runs it."""
        spec = self.sweep_spec(
            "mkdir busy.$N || echo $N >> clash\n"
            "trap 'touch told.$N; sleep 1; rmdir busy.$N; exit 1' TERM\n"
            f"echo $$ > pid.$N; while [ ! -e go ]; do sleep 0.02; done\n"
            f"rmdir busy.$N; {sweeps.DELIVER}", 4)
        spec.write_text(spec.read_text().replace("stop_grace: 500ms",
                                                 "stop_grace: 20s"))
        own = {str(node): self.disk("one") for node in range(2)}
        process = self.begin_sweep(spec, nodes=2, FAKE_PROGRAM=own)
        self.started(4)
        process.kill()
        process.communicate()
        self.until(lambda: len(list(self.folder.glob("told.*"))) == 4, "the end")
        self.go()
        done = self.on_nodes(spec, "--resume", nodes=2, FAKE_PROGRAM=own)
        self.assertIn("waiting for cells that an earlier jobrun is still ending "
                      f"on {os.uname().nodename}\n", done.stderr)
        self.assertEqual(self.statuses(), ["succeeded"] * 4)
        self.assertFalse((self.folder / "clash").exists())
        self.assertEqual(list(self.folder.glob("busy.*")), [])

    def test_a_full_disk_here(self):
        """No other cell begins, and what has come of one takes no room."""
        spec = self.sweep_spec(f"seq 1000000; {sweeps.DELIVER}", 8)
        env = self.allocation(2, FAKE_PROGRAM={
            str(node): self.disk(f"disk-{node}") for node in range(2)})
        own = harness.JOBRUN
        harness.JOBRUN = self.small_disk("here", "3m", own)
        try:
            done = self.jobrun(spec, "-s", "engine.ssh.collect=[logs]", env=env)
        finally:
            harness.JOBRUN = own
        self.expect(done, 7)
        self.assertRegex(done.stderr, r"cell \d: what it has left on n\d could not "
                         r"be written to .*/cells: No space left on device")
        self.assertRegex(done.stderr, "the disk of .*runs is full: no other cell "
                                      "begins")
        left = (self.folder / "here.left").read_text()
        self.assertIn("sweep.json", left)
        self.assertNotIn("\n.0", left)
        self.nobody_is_left()


class Console(SweepHosts):
    PRINT = sweeps.Console.PRINT
    test_of_one_cell_at_a_time = sweeps.Console.test_of_one_cell_at_a_time
    test_a_console_that_is_not_read = sweeps.Console.test_a_console_that_is_not_read


class Specs(SweepHosts):
    test_all_of_a_spec_comes_through = (
        sweeps.Specs.test_all_of_a_spec_comes_through)
    test_what_has_delivered = sweeps.Specs.test_what_has_delivered_is_taken_over
    test_here_and_there = sweeps.Specs.test_here_and_there_are_one_experiment

    def test_what_ranks_inherit(self):
        done = self.on_nodes(self.sweep_spec(
            f"echo $ONE-$OTHER; {sweeps.DELIVER}", 2), "--parallel", "1", "-s",
            "engine.ssh.env=[ONE]", nodes=2, ONE="one", OTHER="other")
        self.assertEqual(done.stdout.splitlines(), ["[0] one-"] * 2)


class Failing(SweepHosts):
    test_failed_cells_stop_nobody = sweeps.Failing.test_failed_cells_stop_nobody
    test_a_signal_stops_all = sweeps.Failing.test_a_signal_stops_all
    test_signals_are_forwarded = sweeps.Failing.test_signals_are_forwarded
    test_a_killed_leader = sweeps.Failing.test_a_killed_leader
    test_a_killed_guard = sweeps.Failing.test_a_killed_guard
    test_a_killed_runner = sweeps.Failing.test_a_killed_runner
    test_both_killed = sweeps.Failing.test_a_cell_whose_guard_and_runner_are_killed
    kill_and_resume = sweeps.Failing.kill_and_resume
    kill_in_cell = sweeps.Failing.kill_in_cell
    cell_processes = sweeps.Failing.cell_processes

    def test_a_killed_agent(self):
        """Its cells end with it. All others do not notice."""
        err, _ = self.kill_and_resume(
            lambda process: os.kill(self.agents()[0], signal.SIGKILL))
        lost = re.search(r"node 0 \(n1\) is lost: .*; cells? ([\d, ]+) ended "
                         r"with it\n", by_ssh.rename(err))
        self.assertTrue(lost, err)
        self.assertNotIn("no other cell begins", err)
        self.assertEqual(self.killed[0], 7)
        left = {f"{cell:04}" for cell in range(16)} - {
            f"{int(cell):04}" for cell in lost[1].split(",")}
        self.assertEqual(left - set(self.before), set())

    def test_all_agents_are_killed(self):
        def kill(process):
            for pid in self.agents().values():
                os.kill(pid, signal.SIGKILL)
        err, _ = self.kill_and_resume(kill)
        self.assertEqual(len(re.findall(r"node \d .* is lost", err)), 4)
        self.assertIn("all hosts are lost: no other cell begins: go on with "
                      "--resume=", err)

    def test_a_host_that_hangs_is_not_waited_for(self):
        """It is said that it does not answer, for how long it is waited for, and
        how that is shortened."""
        process = self.begin_sweep(self.sweep_spec(sweeps.WAIT, 4), nodes=2)
        self.started(4)
        hung = self.agents()[1]
        os.kill(hung, signal.SIGSTOP)
        process.send_signal(signal.SIGINT)
        for line in process.stderr:
            if "which does not answer" in line:
                break
        self.assertRegex(by_ssh.rename(line), r"jobrun: waiting for node 1 \(n2\), "
                         r"which does not answer, for at most 3[\d.]+ s; to stop "
                         "once more shortens that\n")
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=harness.LIMIT)
        self.assertLess(time.monotonic() - began, 20)
        self.assertEqual(process.returncode, 128 + signal.SIGINT)
        self.assertIn("node 1 (n2) is lost: it was told to stop, and has "
                      "not answered within 3.0 s", by_ssh.rename(err))
        self.assertEqual(sorted(self.statuses()),
                         ["lost", "lost", "stopped", "stopped"])
        self.nobody_is_left()

    def test_a_host_that_hangs_over_the_folder_is_not_waited_for(self):
        for sig in (signal.SIGINT, signal.SIGTERM):
            process = self.begin_sweep(self.sweep_spec(), nodes=2, FAKE_PROGRAM={
                "1": self.deaf_program("share")})
            err = self.stop_once_asked(process, sig)
            self.assertIn("jobrun was told to stop: no other cell begins: go on "
                          "with --resume=", err)
            self.assertEqual(set(self.statuses()), {"not_started"})
            (self.folder / "asked").unlink()

    def test_a_host_that_is_not_reached(self):
        refusal = "ssh: connect to host x port 22: No route to host\n"
        done = self.on_nodes(self.sweep_spec(), nodes=2, code=7, FAKE_REFUSAL={
            "1": refusal})
        self.assertIn("No route to host", done.stderr)
        self.assertFalse((self.folder / "runs").exists())


if __name__ == "__main__":
    harness.main()
