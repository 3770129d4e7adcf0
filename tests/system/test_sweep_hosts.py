"""Sweeps over hosts that ssh reaches: the cases of test_sweep_nodes.py that have
nothing to do with srun, and what is ssh's own. A stand-in for ssh runs the commands
on this machine."""
import json
import os
import re
import shutil
import signal

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

    def test_hosts_that_do_not_see_the_folder(self):
        """Nothing begins: the results would be where nobody looks for them."""
        other = self.folder / "elsewhere"
        other.mkdir()
        spec = self.sweep_spec(cells=4, more="log_dir: runs\n")
        fake = self.folder / "bin" / "apart"
        fake.write_text(f"""#!/bin/sh
exec unshare -m sh -c 'mount --bind "$0" "$1" && shift && exec "$@"' \\
    '{other}' '{self.folder}/runs' '{harness.JOBRUN}' "$@"
""")
        fake.chmod(0o755)
        (self.folder / "runs").mkdir()
        env = self.allocation(2, FAKE_PROGRAM={"1": str(fake)})
        done = self.expect(self.jobrun(spec, env=env), 7)
        self.assertRegex(
            done.stderr, r"node 1 \(n2\): the folder of the sweep, .*/cells, is "
            "not there; log_dir has to be where all hosts see it: no other "
            "cell begins: go on with --resume=")
        self.assertEqual(set(self.statuses()), {"not_started"})
        self.assertEqual(list(other.iterdir()), [])
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
    test_a_sampler = sweeps.Specs.test_a_sampler

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

    def test_a_host_that_is_not_reached(self):
        refusal = "ssh: connect to host x port 22: No route to host\n"
        done = self.on_nodes(self.sweep_spec(), nodes=2, code=7, FAKE_REFUSAL={
            "1": refusal})
        self.assertIn("No route to host", done.stderr)
        self.assertFalse((self.folder / "runs").exists())


if __name__ == "__main__":
    harness.main()
