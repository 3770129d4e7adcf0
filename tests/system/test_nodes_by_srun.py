"""Several nodes by agents: a controller in the shell of an allocation, an agent on
each node, started by a stand-in for srun on this machine."""
import json
import os
import signal
import subprocess
import time

import agent_cases as cases
import harness


class Agents(cases.Agents):
    FAKE, NAME, FIRST = "fakesrun", "srun", "true"
    EXCLUDE = r" \(sbatch --exclude\)"
    ASKING = "asking the 2 nodes of the allocation"

    def allocation(self, nodes=2, **extra):
        """The environment of a batch script on so many nodes."""
        return {"SLURM_JOB_ID": "4711", "SLURM_JOB_NUM_NODES": str(nodes),
                "SLURM_JOB_NODELIST": f"n[1-{nodes}]", **self.fakes(**extra)}


class Runs(cases.Runs, Agents):
    def test_what_ranks_left_running_is_told_by_rank(self):
        self.write("n.jobrun.yaml", """\
version: 1
local_world_size: 2
entrypoint:
  shell: |
    [ $RANK = 2 ] && { sleep 600 & }
    [ $RANK = 3 ] && { setsid sleep 600 & setsid sleep 600 & sleep 0.2; }
    :
""")
        done = self.expect(self.jobrun("n.jobrun.yaml", env=self.allocation(2)),
                           0)
        self.assertIn("3 processes that ranks 2-3 left running were ended",
                      done.stderr)
        results = self.results()
        self.assertEqual(results["processes_ended"], 3)
        self.assertEqual([rank["processes_ended"] for rank in results["ranks"]],
                         [None, None, 1, 2])
        self.nobody_is_left()

    def test_traffic_of_nodes(self):
        """A node costs its facts, however many others there are, and hears no
        more where they are many."""
        few, more = self.traffic(2, 1), self.traffic(24, 1)
        self.assertLess(more[0] / 24, few[0] / 2 + 512)
        self.assertLess(more[1], few[1] + 64)

    def test_hosts_as_they_are_stated(self):
        done = self.expect(self.run_on(
            2, 'echo "$MASTER_ADDR $PADDLE_TRAINER_ENDPOINTS"', local=1,
            more="env_profiles: [paddle]\nhosts: [10.0.0.1, 10.0.0.2]"), 0)
        for line in done.stdout.splitlines():
            words = line.split()
            self.assertEqual(words[1], "10.0.0.1")
            self.assertEqual([end.split(":")[0] for end in
                              words[2].split(",")], ["10.0.0.1", "10.0.0.2"])


class Dry(cases.Dry, Agents):
    def test_one_node_of_several_asks_none(self):
        self.ask("plan", self.spec("true"), "-s", "nodes=1")
        self.assertEqual(self.agents(), {})


class Resources(cases.Resources, Agents):
    pass


class Custom(cases.Custom, Agents):
    pass


class Mpi(cases.Mpi, Agents):
    pass


class Wrong(cases.Wrong, Agents):
    def test_no_log_folder_on_a_node(self):
        """The node sees another file system where the log folder is."""
        hidden = self.write(
            "hidden", "#!/bin/sh\nexec unshare -m sh -c 'mount -t tmpfs none "
            "\"$1\" && shift && exec \"$@\"' sh '%s/logs' '%s' \"$@\"\n"
            % (self.folder, harness.JOBRUN))
        hidden.chmod(0o700)
        (self.folder / "logs").mkdir()
        tried = subprocess.run(
            ["unshare", "-m", "mount", "-t", "tmpfs", "none",
             self.folder / "logs"], capture_output=True)
        if tried.returncode != 0:
            self.skipTest("no mount namespace to hide a folder in")
        done = self.expect(self.run_on(2, "true", more="log_dir: logs",
                                       FAKE_PROGRAM={"1": str(hidden)}), 7)
        self.assertIn("node 1 (n2): the run folder", done.stderr)
        self.assertIn(f"{self.folder}/logs/", done.stderr)
        self.nobody_is_left()

    def test_another_log_folder_on_a_node(self):
        """It has a run of the same name there, on a disk of its own."""
        other = self.folder / "other"
        (other / "r").mkdir(parents=True)
        (self.folder / "logs").mkdir()
        mounted = self.write(
            "mounted", "#!/bin/sh\nexec unshare -m sh -c 'mount --bind \"$1\" "
            "\"$2\" && shift 2 && exec \"$@\"' sh '%s' '%s/logs' '%s' \"$@\"\n"
            % (other, self.folder, harness.JOBRUN))
        mounted.chmod(0o700)
        tried = subprocess.run(["unshare", "-m", "mount", "--bind", other,
                                self.folder / "logs"], capture_output=True)
        if tried.returncode != 0:
            self.skipTest("no mount namespace for a folder of its own")
        done = self.expect(self.run_on(
            2, "touch begun.$RANK; sleep 1000", "--run-id", "r",
            more="log_dir: logs", FAKE_PROGRAM={"1": str(mounted)}), 7)
        self.assertIn(f"node 1 (n2): the run folder {self.folder}/logs/r is "
                      "another one there", done.stderr)
        self.assertEqual([], [path.name for path in self.folder.glob("begun.[23]")])
        self.assertEqual([], [path.name for path in
                              (self.folder / "logs" / "r").glob(".mark*")])
        self.assertEqual(os.listdir(other / "r"), [])
        self.nobody_is_left()

    def test_a_node_without_the_program(self):
        done = self.expect(self.run_on(
            2, "true", FAKE_PROGRAM={"1": "/nowhere/jobrun"}), 7)
        self.assertIn("execve(): /nowhere/jobrun: No such file", done.stderr)
        self.assertIn("node 1 (n2) did not answer: srun: error: n2: task 1: "
                      "Exited with exit code 2 (is jobrun there, as "
                      f"{os.path.realpath(harness.JOBRUN)}, ", done.stderr)
        self.nobody_is_left()

    def test_a_node_with_a_jobrun_that_has_no_agent(self):
        other = self.write("other",
                           "#!/bin/sh\necho no such verb >&2\nexit 2\n")
        other.chmod(0o700)
        done = self.expect(self.run_on(2, "true",
                                       FAKE_PROGRAM={"1": str(other)}), 7)
        self.assertIn("jobrun: no such verb\n", done.stderr)
        self.assertIn("node 1 (n2) did not answer: ", done.stderr)
        self.assertIn("and of version ", done.stderr)
        self.nobody_is_left()

    def test_a_list_of_hosts_that_is_none(self):
        bad = {"SLURM_JOB_NODELIST": "n[1-", "SLURM_STEP_NODELIST": "n[1-"}
        done = self.expect(self.jobrun(
            self.spec("true"), env={**self.allocation(2), **bad}), 4)
        self.assertIn("SLURM_JOB_NODELIST cannot be read (nodes of the job): "
                      "'n[1-'", done.stderr)
        self.assertEqual(self.agents(), {})
        for verb in ("run", "plan"):
            done = self.expect(self.jobrun(
                verb, self.spec("true"),
                env=self.allocation(2, FAKE_TASKS={"1": bad})), 4)
            self.assertIn("node 1 (n2): SLURM_STEP_NODELIST cannot be read",
                          done.stderr)
            self.nobody_is_left()

    def test_fewer_hosts_than_nodes(self):
        done = self.expect(self.jobrun(self.spec("true"), env={
            **self.allocation(3), "SLURM_JOB_NODELIST": "n[1-2]"}), 4)
        self.assertIn("Slurm names 2 hosts for 3 nodes", done.stderr)
        self.assertEqual(self.agents(), {})

    def test_a_node_that_refuses_at_once(self):
        """Before its agent has said who it is: of fewer nodes than there are
        in the allocation, nobody else knows."""
        self.write("acme.facts", "#!/bin/sh\nexit 3\n").chmod(0o755)
        spec = self.write("c.jobrun.yaml", cases.CUSTOM)
        done = self.expect(self.jobrun(
            spec, "-s", "nodes=2", env=self.allocation(3)), 4)
        self.assertRegex(done.stderr, r"node ([01]) \(n[12]\): acme.facts")
        self.nobody_is_left()

    def test_a_silent_node_of_some(self):
        """Nobody knows which of the allocation's hosts srun took."""
        mute = self.write("mute", "#!/bin/sh\ncat > /dev/null\n")
        mute.chmod(0o700)
        self.in_time(lambda limit: self.expect(self.run_on(
            3, "true", "-s", "nodes=2", more=f"timeouts: {{start: {limit}s}}",
            FAKE_PROGRAM={"1": str(mute)}), 7), "node 1 did not answer")
        self.nobody_is_left()

    def test_an_allocation_that_shrank(self):
        """The shell still has the variables of all nodes, and srun waits."""
        busy = ("srun: Job 4711 step creation temporarily disabled, retrying "
                "(Requested nodes are busy)")
        os.unlink(self.folder / "bin" / "srun")
        self.write("bin/srun", f"#!/bin/sh\necho '{busy}' >&2\n"
                   "exec sleep 1000\n").chmod(0o700)
        done = self.expect(self.run_on(
            3, "true", more="timeouts: {start: 1s}"), 7)
        self.assertIn(f"the 3 nodes did not answer within 1s (timeouts.start); "
                      f"the last output of srun: {busy}; squeue shows which "
                      "nodes the job has now", done.stderr)
        self.nobody_is_left()
        done = self.expect(self.run_on(
            2, "true", "-s", "nodes=3"), 4)
        self.assertIn("nodes 3, but the allocation has 2", done.stderr)
        self.assertEqual(self.agents(), {})

    def test_a_node_that_is_down_before_it_answers(self):
        failure = "srun: error: Node failure on n3"
        os.unlink(self.folder / "bin" / "srun")
        self.write("bin/srun", f"#!/bin/sh\necho '{failure}' >&2\n"
                   "exec sleep 1000\n").chmod(0o700)
        done = self.expect(self.run_on(3, "true"), 7)
        self.assertIn(f"jobrun: node 2 (n3) did not answer: {failure}\n",
                      done.stderr)
        self.nobody_is_left()

    def test_two_agents_of_one_node(self):
        done = self.expect(self.run_on(
            2, "true", FAKE_TASKS={"1": {"SLURM_NODEID": "0"}}), 4)
        self.assertIn("node 0 (n", done.stderr)
        self.assertIn("more than one agent", done.stderr)
        self.nobody_is_left()

    def test_eight_agents_on_a_node(self):
        done = self.expect(self.run_on(
            2, "true", FAKE_TASKS={"1": {"SLURM_STEP_TASKS_PER_NODE": "8(x2)",
                                         "SLURM_TASKS_PER_NODE": "8(x2)"}}), 4)
        self.assertIn("node 1", done.stderr)
        self.assertIn("8 times", done.stderr)
        self.nobody_is_left()

    def test_no_srun(self):
        """As in a container that has the variables of a job; what is advised
        works."""
        os.unlink(self.folder / "bin" / "srun")
        env = {**self.allocation(2), "PATH": str(self.folder / "bin")}
        spec = self.spec("true")
        done = self.expect(self.jobrun(spec, env=env), 7)
        self.assertIn("srun is not in PATH", done.stderr)
        self.assertIn("type `unset SLURM_JOB_ID` first, or start all ranks here "
                      "with --local", done.stderr)
        env["PATH"] += ":" + os.environ["PATH"]
        done = self.expect(self.jobrun(spec, "--local", env=env), 0)
        self.assertIn("2 of 2 ranks", done.stderr)
        del env["SLURM_JOB_ID"]
        done = self.expect(self.jobrun(spec, env=env), 0)
        self.assertIn("2 of 2 ranks", done.stderr)

    def test_an_agent_gives_signs_of_life(self):
        agent = subprocess.Popen(
            [harness.JOBRUN, "agent"], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True, cwd=self.folder,
            env=harness.clean_environment(SLURM_NODEID="1"))
        self.addCleanup(self.end, agent)
        agent.stdin.write('{"t": "heartbeat"}\n')
        agent.stdin.flush()
        for line in agent.stdout:
            if '"heartbeat"' in line:
                break
        self.assertEqual(json.loads(line)["n"], 1)
        agent.stdin.close()
        self.assertEqual(agent.wait(harness.LIMIT), 0)

    def test_an_agent_that_nobody_started(self):
        done = self.expect(self.jobrun("agent"), 2)
        self.assertIn("srun", done.stderr)


class Silence(cases.Silence, Agents):
    pass


class Ends(cases.Ends, Agents):
    def test_before_all_have_answered(self):
        mute = self.write("mute", "#!/bin/sh\nexec sleep 1000\n")
        mute.chmod(0o700)
        process = self.start(self.spec("true"), env=self.allocation(
            2, FAKE_PROGRAM={"1": str(mute)}))
        until = time.monotonic() + harness.LIMIT
        while len(self.agents()) < 2:
            self.assertLess(time.monotonic(), until)
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=harness.LIMIT)
        self.assertEqual(process.returncode, -signal.SIGINT)
        os.kill(self.agents()[1], signal.SIGKILL)  # as the step would be
        self.nobody_is_left()

    def test_srun_is_killed(self):
        process = self.begin()
        srun, = (child for child in harness.children(process.pid)
                 if harness.name_of(child) == "srun")
        os.kill(srun, signal.SIGKILL)
        err = self.finish(process, 1)
        self.assertIn("was lost with its node", err)
        self.assertIn("\n  srun was killed by SIGKILL\n", err)
        self.assertEqual(self.results()["root_cause"]["message"],
                         "srun was killed by SIGKILL")

    def test_an_agent_is_killed(self):
        process = self.begin(nodes=2)
        os.kill(self.agents()[1], signal.SIGKILL)
        err = self.finish(process, 1)
        self.assertIn("rank 2 was lost with its node", err)
        self.assertIn("ranks 0-1 stopped by jobrun", err)
        cause = self.results()["root_cause"]
        self.assertEqual((cause["kind"], cause["host"]), ("lost_node", "n2"))
        self.assertEqual(cause["message"], "srun: error: n2: task 1: Killed")
        self.assertIn("\n  srun: error: n2: task 1: Killed\n", err)
        shown = self.expect(self.jobrun("show", "latest"), 0).stdout
        self.assertIn("rank 2 was lost with its node", shown)
        self.assertIn("\n  srun: error: n2: task 1: Killed\n", shown)


class Again(cases.Again, Agents):
    pass


class Spares(cases.Spares, Agents):
    DOWN, GONE, STANDS_BY = "FAKE_DOWN", "srun: error: Node failure on {}", 0

    def fakes(self, **extra):
        if "FAKE_DOWN" in extra:
            extra["FAKE_DOWN"] = {
                node: line.format(f"n{int(node) + 1}")
                for node, line in extra["FAKE_DOWN"].items()}
        return super().fakes(FAKE_ALL="1", **extra)

    def hidden(self):
        """A node that sees another file system where the log folder is."""
        program = self.write(
            "hidden", "#!/bin/sh\nexec unshare -m sh -c 'mount -t tmpfs none "
            "\"$1\" && shift && exec \"$@\"' sh '%s/runs' '%s' \"$@\"\n"
            % (self.folder, harness.JOBRUN))
        program.chmod(0o700)
        (self.folder / "runs").mkdir(exist_ok=True)
        tried = subprocess.run(
            ["unshare", "-m", "mount", "-t", "tmpfs", "none",
             self.folder / "runs"], capture_output=True)
        if tried.returncode != 0:
            self.skipTest("no mount namespace to hide a folder in")
        return str(program)

    def test_a_spare_that_does_not_see_the_run_folder(self):
        hidden = self.hidden()
        process = self.begin_with(spares=2, FAKE_PROGRAM={"2": hidden})
        self.lose(2)
        err = self.finish(process, 0)
        self.assertEqual(self.left_out(), ["n2", "n3"], err)
        self.assertIn("the spare n4 takes the place of node 1 (n3): the run "
                      "folder", err)
        self.assertEqual(self.results()["attempt"], 1)

    def test_the_last_spare_does_not_see_the_run_folder(self):
        process = self.begin_with(FAKE_PROGRAM={"2": self.hidden()})
        self.lose(2)
        err = self.finish(process, 1)
        cause = self.results()["root_cause"]
        self.assertEqual((cause["kind"], cause["host"]), ("lost_node", "n2"))
        self.assertRegex(err, r"not started again: node 1 \(n3\): the run folder"
                         r" .* is not there .*, and no spare is left for it")
        self.assertEqual(self.left_out(), ["n2"])


class Functions(cases.Functions, Agents):
    pass


if __name__ == "__main__":
    harness.main()
