"""What several nodes by agents show, whoever starts the agents: the cases that
test_nodes_by_srun.py and test_nodes_by_ssh.py have in common. Each of these adds a
class that says how (Agents, Ssh); the hosts are n1, n2, ... in both.
"""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import harness

FAKES = pathlib.Path(__file__).resolve().parent.parent / "slurm"
SPEC = """\
version: 1
local_world_size: {local}
{more}
entrypoint: [sh, -c, {script}]
"""


def beside_a_clock(case, seconds):
    """A program for jobrun whose wall clock is so many of them ahead."""
    path = case.write("shifted", f"""#!{sys.executable} -u
import re, subprocess, sys
agent = subprocess.Popen([{str(harness.JOBRUN)!r}, *sys.argv[1:]],
                         stdout=subprocess.PIPE, text=True)
for line in agent.stdout:
    print(re.sub('"wall": ([0-9]+)', lambda found: '"wall": %d' % (
        int(found[1]) + {seconds} * 10 ** 9), line), end="")
sys.exit(agent.wait())
""")
    path.chmod(0o700)
    return path


class Agents(harness.Case):
    """Runs on nodes that are all this machine. A transport says: the program that
    is a stand-in for its own (FAKE, NAME), and `allocation`, the environment in
    which there are so many nodes."""

    def setUp(self):
        super().setUp()
        (self.folder / "bin").mkdir()
        os.symlink(FAKES / self.FAKE, self.folder / "bin" / self.NAME)

    def fakes(self, **extra):
        return {"FAKE_LOG": str(self.folder / "tasks"),
                "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
                **{key: json.dumps(value) if isinstance(value, dict) else value
                   for key, value in extra.items()}}

    def spec(self, script, more="", local=2):
        return self.write("t.jobrun.yaml", SPEC.format(
            script=json.dumps(script), more=more, local=local))

    def run_on(self, nodes, script, *words, more="", local=2, **extra):
        return self.jobrun(self.spec(script, more, local), *words,
                           env=self.allocation(nodes, **extra))

    def in_time(self, run, wanted):
        """Run with limits of so many seconds, until one is enough for those
        nodes that do answer, on this machine as busy as it is."""
        for limit in (1, 4, 16):
            done = run(limit)
            if wanted.format(limit) in done.stderr:
                return
        self.fail(f"no {wanted!r} in {done.stderr}")

    def nobody_is_left(self):
        """Every agent has ended, and so has all that it started."""
        log = self.folder / "tasks"
        tasks = log.read_text().split("\n") if log.exists() else []
        for line in filter(None, tasks):
            pid = line.split()[1]
            self.await_end(pid)
        for pid in self.named():  # as srun is, behind its tasks
            self.await_end(pid)
        self.assertEqual(self.named(), set())

    def named(self):
        """Processes whose words name the test's folder."""
        found = subprocess.run(["pgrep", "-f", str(self.folder)], text=True,
                               capture_output=True, timeout=harness.LIMIT)
        return set(found.stdout.split()) - {str(os.getpid())}

    def await_end(self, pid):
        until = time.monotonic() + harness.LIMIT
        while os.path.exists(f"/proc/{pid}"):
            self.assertLess(time.monotonic(), until, f"{pid} lives")
            time.sleep(0.01)

    def begin(self, script="sleep 1000", nodes=2, **options):
        process = self.start(
            self.spec(script, options.pop("more", "")),
            env=self.allocation(nodes, **options))
        until = time.monotonic() + harness.LIMIT
        while not (self.folder / "runs" / "latest" / "events.jsonl").exists():
            self.assertLess(time.monotonic(), until)
            time.sleep(0.01)
        for rank in range(2 * nodes):
            self.await_event(event="rank_started", rank=rank)
        return process

    def finish(self, process, code):
        out, err = process.communicate(timeout=harness.LIMIT)
        self.assertEqual(process.returncode, code, out + err)
        self.nobody_is_left()
        return err

    def run_process(self, node, runner):
        """The guard of a node's run, which its agent has started, or the runner."""
        guard, = harness.children(self.agents()[node])
        return harness.runner_of(guard) if runner else guard

    def agents(self):
        log = self.folder / "tasks"
        lines = log.read_text().split("\n") if log.exists() else []
        return {int(line.split()[0]): int(line.split()[1])
                for line in lines if line}


class Runs:
    def test_all_ranks_of_all_nodes(self):
        done = self.expect(self.run_on(
            2, 'echo "$RANK $LOCAL_RANK $NODE_RANK $WORLD_SIZE $MASTER_ADDR";'
            ' echo "{\\"r\\": $RANK}" > "$JOBRUN_RESULT_FILE"',
            more="results: {fields: {r: {type: integer}}, distinct: [r]}"), 0)
        self.assertEqual(sorted(done.stdout.splitlines()), [
            "[0] 0 0 0 4 n1", "[1] 1 1 0 4 n1", "[2] 2 0 1 4 n1",
            "[3] 3 1 1 4 n1"])
        results = self.results()
        self.assertEqual(results["status"], "succeeded")
        self.assertEqual([(rank["node_rank"], rank["host"], rank["state"],
                           rank["result"]) for rank in results["ranks"]],
                         [(0, "n1", "succeeded", {"r": 0}),
                          (0, "n1", "succeeded", {"r": 1}),
                          (1, "n2", "succeeded", {"r": 2}),
                          (1, "n2", "succeeded", {"r": 3})])
        for rank in range(4):
            log = self.folder / f"runs/latest/attempt_0/{rank}/stdout.log"
            self.assertTrue(log.read_text().startswith(f"{rank} "))
        ended = [event for event in self.events()
                 if event["event"] == "rank_ended"]
        self.assertEqual(sorted((event["rank"], event["node"])
                                for event in ended),
                         [(0, 0), (1, 0), (2, 1), (3, 1)])
        self.nobody_is_left()

    def test_nobody_listens(self):
        """Neither the controller nor an agent, nor what these have started, has a
        port at which it listens."""
        process = self.begin()
        lines = [line.split() for name in ("tcp", "tcp6")
                 for line in pathlib.Path(
                     f"/proc/{process.pid}/net/{name}").read_text().splitlines()[1:]]
        listening = {f"socket:[{words[9]}]" for words in lines if words[3] == "0A"}
        family = [process.pid, *self.agents().values()]
        for pid in family:  # which grows
            family += harness.children(pid)
        self.assertGreater(len(family), 6)
        for pid in family:
            held = set()
            for entry in pathlib.Path(f"/proc/{pid}/fd").iterdir():
                with contextlib.suppress(FileNotFoundError):
                    held.add(os.readlink(entry))
            self.assertEqual(held & listening, set(), harness.name_of(pid))
        process.terminate()
        self.finish(process, 128 + signal.SIGTERM)

    def test_the_first_failure_stops_all_nodes(self):
        done = self.expect(self.run_on(
            4, 'if [ $RANK = 5 ]; then echo why >&2; exit 7; fi; sleep 1000'),
            1)
        self.assertIn("rank 5 exited with code 7", done.stderr)
        self.assertIn("node 2 (n3)", done.stderr)
        self.assertIn("| why", done.stderr)
        self.assertIn("ranks 0-4,6-7 stopped by jobrun (SIGTERM)", done.stderr)
        cause = self.results()["root_cause"]
        self.assertEqual((cause["rank"], cause["host"], cause["kind"],
                          cause["exit_code"]), (5, "n3", "exit", 7))
        self.nobody_is_left()

    def test_a_lost_peer_does_not_stop_the_node_of_the_cause(self):
        """Rank 1 is reaped on its node before rank 0 dies on its own."""
        self.expect(self.run_on(2, """
            if [ $RANK = 1 ]; then
                echo $$ > pid.new; mv pid.new pid
                echo "read: Connection reset by peer" >&2; exit 1
            fi
            until test -e pid; do :; done
            read p < pid
            while test -d /proc/$p; do :; done
            kill -SEGV $$""", local=1), 1)
        cause = self.results()["root_cause"]
        self.assertEqual((cause["rank"], cause["signal"]), (0, "SIGSEGV"))
        # Its runner may come to look at the clock only after rank 0's has, and
        # then it ended because of rank 0.
        self.assertIn(cause["together"], ([1], []))
        self.nobody_is_left()

    def test_who_left_without_its_result_is_the_cause(self):
        """Rank 0 leaves, and rank 3 loses it, on another node."""
        done = self.expect(self.run_on(2, """
            echo '{}' > "$JOBRUN_RESULT_FILE"
            if [ $RANK = 0 ]; then
                rm "$JOBRUN_RESULT_FILE"; echo $$ > pid.new; mv pid.new pid; exit
            fi
            [ $RANK = 3 ] || exit 0
            until test -e pid; do :; done
            read p < pid
            while test -d /proc/$p; do :; done
            sleep 0.2; echo "read: Connection reset by peer" >&2; exit 1""",
            more="results: {}"), 1)
        self.assertIn(": rank 0 ended with 0 but did not deliver", done.stderr)
        self.assertIn("rank 3 failed after the first failure", done.stderr)
        cause = self.results()["root_cause"]
        self.assertEqual((cause["rank"], cause["kind"]), (0, "result"))
        self.nobody_is_left()

    def test_a_result_that_one_node_lacks(self):
        done = self.expect(self.run_on(
            2, '[ $RANK = 3 ] || echo "{}" > "$JOBRUN_RESULT_FILE"',
            more="results: {}"), 5)
        self.assertIn("rank 3    result.json was not written", done.stderr)

    def test_results_are_compared_across_nodes(self):
        done = self.expect(self.run_on(
            2, 'echo "{\\"w\\": $NODE_RANK}" > "$JOBRUN_RESULT_FILE"',
            more="results: {fields: {w: {type: integer}}, equal: [w]}"), 5)
        self.assertIn("'w'", done.stderr)

    def test_no_such_program(self):
        done = self.expect(self.jobrun(
            self.write("t.jobrun.yaml",
                       "version: 1\nlocal_world_size: 1\n"
                       "entrypoint: [./nowhere]\n"),
            env=self.allocation(2)), 7)
        self.assertIn("could not execute './nowhere'", done.stderr)
        self.nobody_is_left()

    def test_secrets_reach_the_nodes_and_no_file(self):
        self.expect(self.run_on(
            2, 'test "$API_KEY$OTHER_TOKEN" = "s3cr3t"-"wordt""0k3n"',
            more="env: {API_KEY: s3cr3t-word, OTHER_TOKEN: '${env:OT}'}",
            OT="t0k3n"), 0)
        for path in (self.folder / "runs").rglob("*"):
            if path.is_file() and path.name != "spec.yaml":
                self.assertNotIn(b"s3cr3t-word", path.read_bytes(), path)
                self.assertNotIn(b"t0k3n", path.read_bytes(), path)

    def test_lines_of_all_lengths_arrive_whole(self):
        script = ("import sys\n"
                  "for n in (0, 1, 600, 700, 1023, 1024, 1025, 5000, 70000):\n"
                  "    sys.stdout.write('x' * n + '\\n')\n"
                  "sys.stdout.flush()\n"
                  "sys.stdout.buffer.write(b'\\xff\\x00\\x1b\\n')\n")
        self.write("p.py", script)
        done = self.expect(self.run_on(
            2, f"exec python3 '{self.folder}/p.py'",
            more="console: {prefix: '%{rank}:', partial: 1h}"), 0)
        lines = done.stdout.split("\n")
        for rank in range(4):
            own = [line[2:] for line in lines if line.startswith(f"{rank}:")]
            own = [line for line in own if set(line) <= {"x"}]
            self.assertIn("x" * 1025, own)
            self.assertIn("x" * 5000, own)

    def test_nodes_that_differ_get_what_they_have(self):
        """On cpu a rank for each usable CPU, by each node's own count."""
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("one CPU is no two kinds of nodes")
        one = min(os.sched_getaffinity(0))
        wrapper = self.write("narrow", "#!/bin/sh\nexec taskset -c "
                             f"{one} '{harness.JOBRUN}' \"$@\"\n")
        wrapper.chmod(0o700)
        all_cpus = len(os.sched_getaffinity(0))
        done = self.expect(self.jobrun(
            self.write("t.jobrun.yaml", "version: 1\nentrypoint: [sh, -c, "
                       "'echo $NODE_RANK']\n"),
            env=self.allocation(2, FAKE_PROGRAM={"1": str(wrapper)})), 0)
        nodes = [rank["node_rank"] for rank in self.results()["ranks"]]
        self.assertEqual(nodes, [0] * all_cpus + [1], done.stderr)

    def traffic(self, nodes, ranks):
        """(heard, told) bytes of a run of ranks that sleep."""
        self.expect(self.run_on(nodes, "sleep 0.5", local=ranks), 0)
        told = [event for event in self.events() if event["event"] == "agents"]
        return told[0]["heard"], told[0]["told"]

    def test_traffic_of_ranks_that_sleep(self):
        """What all of it costs, per rank, whatever it does meanwhile."""
        few, more = self.traffic(2, 8), self.traffic(2, 64)
        self.assertLess((more[0] - few[0]) / (2 * (64 - 8)), 800)
        self.assertLess(more[1], few[1] + 64)

    def test_hosts_are_as_the_scheduler_lists_them(self):
        done = self.expect(self.run_on(
            3, 'echo "$PADDLE_TRAINER_ENDPOINTS"', local=1,
            more="env_profiles: [paddle]"), 0)
        lists = {line.split()[1] for line in done.stdout.splitlines()}
        self.assertEqual(len(lists), 1)
        self.assertEqual([end.split(":")[0] for end in
                          lists.pop().split(",")], ["n1", "n2", "n3"])

class Dry:
    """What is planned is what would be run, on all nodes."""

    def ask(self, verb, spec, *words, code=0, **extra):
        done = self.expect(self.jobrun(verb, spec, *words,
                                       env=self.allocation(2, **extra)), code)
        self.nobody_is_left()
        return done

    def test_plan(self):
        done = self.ask("plan", self.spec("true"), "--format", "json")
        plan = json.loads(done.stdout)
        self.assertEqual([rank["node_rank"] for rank in plan["ranks"]],
                         [0, 0, 1, 1])
        self.assertEqual((plan["nodes"], plan["master_addr"]), (2, "n1"))
        self.assertIn(self.ASKING, done.stderr)
        self.assertEqual(len(self.agents()), 2)
        self.assertFalse((self.folder / "runs").exists())

    def test_resolve(self):
        done = self.ask("resolve", self.spec("true"))
        self.assertIn("world_size: 4\n", done.stdout)
        self.assertIn("hosts: [n1, n2]\n", done.stdout.replace('"', ""))
        self.assertIn(self.ASKING, done.stderr)
        self.assertEqual(len(self.agents()), 2)

    def test_what_needs_no_node_asks_none(self):
        spec = self.spec("true")
        for words in (("--on", "2x0,4c", "--node-rank", "1"), ("--local",),
                      ("--node-rank", "1", "-s", "master_addr=127.0.0.1")):
            done = self.ask("plan", spec, *words)
            self.assertNotIn("asking", done.stderr)
        self.assertEqual(self.agents(), {})

    def test_what_is_wrong_on_a_node_is_told(self):
        done = self.ask("plan", self.spec("true"), code=7,
                        FAKE_PROGRAM={"1": "/nowhere/jobrun"})
        self.assertIn("n2", done.stderr)
        self.assertEqual(done.stdout, "")


def resources_of(rank):
    return rank["device"], rank["cpus"], rank["threads"]


class Resources:
    """What is told of devices and CPUs is what each node has."""
    FACTS = """#!/bin/sh
echo "format_version: 1"
echo "variable: ACME_VISIBLE"
echo "devices: ["
first=$((FAKE_NODE * 4)) last=$((FAKE_NODE * 4 + {count} - 1))
for i in $(seq $first $last)
do echo "  {{index: $i, model: X$FAKE_NODE, uuid: U-$i}},"; done
echo "]"
"""

    def setUp(self):
        super().setUp()
        self.facts("2")
        self.path = self.write("c.jobrun.yaml", CUSTOM)

    def facts(self, count):
        """`count` is an expression of the shell's."""
        self.write("acme.facts", self.FACTS.format(count=count)).chmod(0o755)

    def plan(self, *words, **extra):
        done = self.expect(self.jobrun(
            "plan", self.path, "--format", "json", *words,
            env=self.allocation(2, **extra)), 0)
        return json.loads(done.stdout)["ranks"]

    def test_other_devices(self):
        table = self.expect(self.jobrun(
            "plan", self.path, env=self.allocation(2)), 0).stdout
        self.assertRegex(table, r"\n1 +0 n1 +1 +custom:acme 1 \(X0\) ")
        self.assertRegex(table, r"\n2 +1 n2 +0 +custom:acme 4 \(X1\) ")
        told = self.plan()
        self.assertEqual([rank["device"] for rank in told],
                         ["0", "1", "4", "5"])
        seen = {f"[{rank['rank']}] {rank['local_rank']} sees "
                f"{rank['env']['ACME_VISIBLE']}" for rank in told}
        done = self.expect(self.jobrun(self.path, env=self.allocation(2)), 0)
        self.assertEqual(set(done.stdout.splitlines()), seen)
        self.assertIn("[3] 1 sees 4,5", seen)
        written = json.loads(
            (self.folder / "runs/latest/plan.json").read_text())["ranks"]
        results = self.results()["ranks"]
        self.assertEqual([rank["device"] for rank in results],
                         ["0", "1", "4", "5"])
        self.assertEqual([resources_of(rank) for rank in written],
                         [resources_of(rank) for rank in told])
        resolved = (self.folder / "runs/latest/resolved.yaml").read_text()
        self.assertIn("\ndevices: all\n", resolved)

    def test_alike(self):
        self.write("acme.facts", ACME.replace("$FAKE_NODE)", "1)"))
        self.assertEqual([rank["device"] for rank in self.plan()],
                         ["0", "1", "0", "1"])
        done = self.expect(self.jobrun(
            "resolve", self.path, env=self.allocation(2)), 0)
        self.assertIn("\ndevices: [0, 1]\n", done.stdout)

    def test_one_a_rank(self):
        words = "-s", "device_visibility=one"
        seen = {f"[{rank['rank']}] {rank['local_rank']} sees {rank['device']}"
                for rank in self.plan(*words)}
        done = self.expect(self.jobrun(self.path, *words,
                                       env=self.allocation(2)), 0)
        self.assertEqual(set(done.stdout.splitlines()), seen)
        self.assertIn("[3] 1 sees 5", seen)

    def test_fewer_devices(self):
        self.facts("2 - FAKE_NODE")
        self.assertEqual([(rank["node_rank"], rank["device"])
                          for rank in self.plan()],
                         [(0, "0"), (0, "1"), (1, "4")])
        stated = self.plan("-s", "devices=all")
        self.assertEqual([rank["device"] for rank in stated], ["0", "1", "4"])
        for words in (("local_world_size=2",), ("local_world_size=[1, 2]",)):
            done = self.expect(self.jobrun(
                "plan", self.path, "-s", *words, env=self.allocation(2)), 4)
            self.assertIn("node 1 (n2): 2 ranks on a node with 1 usable "
                          "custom:acme device", done.stderr)
        self.facts("2 + FAKE_NODE")
        self.assertEqual([rank["device"] for rank in
                          self.plan("-s", "local_world_size=[2, 3]")],
                         ["0", "1", "4", "5", "6"])

    def test_none_on_a_node(self):
        self.facts("2 - 2 * FAKE_NODE")
        done = self.expect(self.jobrun(self.path, env=self.allocation(2)), 4)
        self.assertIn("node 1 (n2): ", done.stderr)
        self.nobody_is_left()

    def test_too_few_on_the_first_node(self):
        self.facts("1 + FAKE_NODE")
        done = self.expect(self.jobrun(
            "plan", self.path, "-s", "local_world_size=2",
            env=self.allocation(2)), 4)
        self.assertIn("on node 0 (n1): 2 ranks on a node with 1 usable",
                      done.stderr)

    def test_other_cpus(self):
        usable = sorted(os.sched_getaffinity(0))
        if len(usable) < 2:
            self.skipTest("one CPU is no two kinds of nodes")
        wrapper = self.write("narrow", "#!/bin/sh\nexec taskset -c "
                             f"{usable[-1]} '{harness.JOBRUN}' \"$@\"\n")
        wrapper.chmod(0o700)
        self.path = self.spec("grep -h Cpus_allowed_list /proc/self/status; "
                              "echo threads $OMP_NUM_THREADS", local=1,
                              more="bind: core")
        told = self.plan(FAKE_PROGRAM={"1": str(wrapper)})
        self.assertNotEqual(told[0]["cpus"], told[1]["cpus"])
        self.assertEqual((told[1]["cpus"], told[1]["threads"]),
                         (str(usable[-1]), 1))
        done = self.expect(self.jobrun(self.path, env=self.allocation(
            2, FAKE_PROGRAM={"1": str(wrapper)})), 0)
        for rank in told:
            self.assertIn(f"[{rank['rank']}] Cpus_allowed_list:\t"
                          f"{rank['cpus']}\n", done.stdout)
            self.assertIn(f"[{rank['rank']}] threads {rank['threads']}\n",
                          done.stdout)
            self.assertEqual(rank["env"]["OMP_NUM_THREADS"],
                             str(rank["threads"]))


ACME = """#!/bin/sh
[ -e bad.$FAKE_NODE ] && { echo no such card >&2; exit 3; }
echo "format_version: 1"
echo "variable: ACME_VISIBLE"
echo "devices:"
for i in $(seq 0 $FAKE_NODE); do echo "- {index: $i, model: X1}"; done
"""
CUSTOM = """version: 1
device: custom:acme
backends: custom:acme
entrypoint:
  shell: 'echo $LOCAL_RANK sees $ACME_VISIBLE${JOBRUN_AGENT_DEVICE-}'
"""


class Custom:
    """Devices of the user's own kind, of which each node tells its own."""

    def setUp(self):
        super().setUp()
        self.write("acme.facts", ACME).chmod(0o755)
        self.path = self.write("c.jobrun.yaml", CUSTOM)

    def test_each_node_runs_the_program(self):
        done = self.expect(
            self.jobrun(self.path, env=self.allocation(2)), 0)
        self.assertEqual(sorted(done.stdout.splitlines()), [
            "[0] 0 sees 0", "[1] 0 sees 0,1", "[2] 1 sees 0,1"])
        plan = json.loads(self.expect(self.jobrun(
            "plan", self.path, "--format", "json", env=self.allocation(2)),
            0).stdout)
        self.assertEqual([(rank["node_rank"], rank["local_rank"])
                          for rank in plan["ranks"]], [(0, 0), (1, 0), (1, 1)])

    def lease(self, *words, code=0):
        """Both nodes are this machine, with three devices: each agent leases
        its own, so that no rank has another's."""
        (self.folder / "acme.facts").unlink(missing_ok=True)
        self.write("acme.facts.yaml", "format_version: 1\n"
                   "variable: ACME_VISIBLE\ndevices:\n" + "".join(
                       f"- {{index: {i}, uuid: N-{os.getpid()}-{i}}}\n"
                       for i in range(3)))
        return self.expect(self.jobrun(
            self.path, *words, env=self.allocation(2)), code)

    def test_each_agent_leases_free_devices(self):
        done = self.lease("-s", "devices=any", "-s", "local_world_size=1")
        devices = [rank["device"] for rank in self.results()["ranks"]]
        self.assertEqual(sorted(devices), ["0", "1"])
        self.assertEqual(set(done.stdout.splitlines()), {
            f"[{rank}] 0 sees {device}" for rank, device in enumerate(devices)})
        run = self.folder / "runs/latest"
        self.assertIn("\ndevices: any\n", (run / "resolved.yaml").read_text())
        self.assertEqual([rank["device"] for rank in json.loads(
            (run / "plan.json").read_text())["ranks"]], devices)
        done = self.lease("-s", "devices=any", "-s", "local_world_size=2",
                          code=4)
        self.assertRegex(done.stderr, r"node [01] \(n[12]\): .*need 2 "
                         r"custom:acme devices, and 1 of 3 is free: 0, 1 are "
                         r"held by pid \d+")

    def test_agents_that_share_devices_say_so(self):
        done = self.lease("-s", "devices=[2]", "-s", "local_world_size=1")
        self.assertRegex(done.stderr, r"node [01] \(n[12]\): of the custom:acme "
                         r"devices 2 is held by pid \d+; this run shares them")
        self.assertIn("--wait waits for the devices of this machine",
                      self.lease("--wait", code=2).stderr)

    def test_from_another_folder(self):
        (self.folder / "elsewhere").mkdir()
        done = self.expect(self.jobrun(
            self.path, cwd=self.folder / "elsewhere",
            env=self.allocation(2)), 0)
        self.assertIn("[2] 1 sees 0,1", done.stdout)

    def test_more_ranks_than_a_node_has(self):
        for verb in ("plan", "run"):
            done = self.expect(self.jobrun(
                verb, self.path, "-s", "local_world_size=2",
                env=self.allocation(2)), 4)
            self.assertIn("2 ranks on a node with 1 usable custom:acme device",
                          done.stderr)

    def test_it_fails_on_a_node(self):
        self.write("bad.1", "")
        done = self.expect(
            self.jobrun(self.path, env=self.allocation(2)), 4)
        self.assertIn("node 1", done.stderr)
        self.assertIn("acme.facts exited with code 3; its last output: "
                      "no such card",
                      done.stderr)
        self.nobody_is_left()


class Wrong:
    def absurd(self, was, then):
        """A jobrun whose agent tells other facts."""
        path = self.write("absurd", f"""#!/usr/bin/python3
import base64, json, subprocess, sys
agent = subprocess.Popen([{harness.JOBRUN!r}, *sys.argv[1:]], bufsize=0,
                         stdout=subprocess.PIPE)
facts = b""
for line in agent.stdout:
    frame = json.loads(line) if line.strip() else {{}}
    if frame.get("t") == "facts":
        facts += base64.b64decode(frame["b"])
        continue
    if facts:
        facts = facts.replace({was!r}, {then!r})
        for i in range(0, len(facts), 600):
            print(json.dumps({{"n": frame["n"], "t": "facts", "b":
                  base64.b64encode(facts[i:i + 600]).decode()}}))
        facts = b""
    print(line.decode(), end="", flush=True)
sys.exit(agent.wait())
""")
        path.chmod(0o700)
        return {"1": str(path)}

    def test_facts_that_cannot_be(self):
        for was, then, code, told in (
                (b"\n  usable: ", b"\n  usable: 7777", 4,
                 "node 1 (n2): its facts contradict each other: usable is "),
                (b"\ncpus:", b"\ncpus: [", 7,
                 "node 1 (n2): its facts cannot be read: ")):
            done = self.expect(self.run_on(
                2, "true", FAKE_PROGRAM=self.absurd(was, then)), code)
            self.assertIn(told, done.stderr)
            self.nobody_is_left()

    def test_facts_of_the_users_own_that_cannot_be(self):
        self.write("acme.facts", "#!/bin/sh\necho 'format_version: 1'\n"
                   "echo devices:\necho '- {index: 0}'\n"
                   "echo \"- {index: $((1 - FAKE_NODE))}\"\n").chmod(0o755)
        spec = self.write("c.jobrun.yaml", CUSTOM)
        done = self.expect(self.jobrun(spec, env=self.allocation(2)), 4)
        self.assertIn("node 1 (n2): output of acme.facts:4:3: devices 0 and 1 "
                      "are of one kind, and both have index 0", done.stderr)
        self.nobody_is_left()

    def test_another_version(self):
        other = self.write("other", "#!/bin/sh\n'%s' \"$@\" | sed -u "
                           "'s/\"version\": \"[^\"]*\"/\"version\": \"9.9\"/'\n"
                           % harness.JOBRUN)
        other.chmod(0o700)
        done = self.expect(self.run_on(2, "true",
                                       FAKE_PROGRAM={"1": str(other)}), 7)
        self.assertIn("node 1 (n2): jobrun is of version 9.9 there",
                      done.stderr)
        self.nobody_is_left()

    def run_beside_a_clock(self, code, seconds):
        """Node 1 has one that is so many of them ahead."""
        shifted = beside_a_clock(self, seconds)
        done = self.expect(self.run_on(
            2, "touch begun", FAKE_PROGRAM={"1": str(shifted)}), code)
        self.nobody_is_left()
        self.assertEqual((self.folder / "begun").exists(), code == 0)
        return done.stderr

    def test_a_clock_that_is_off(self):
        told = self.run_beside_a_clock(0, 100)
        self.assertRegex(told, r"node 1 \(n2\): its clock is 1 min [34]\d s "
                         "ahead of the one here; the times in its logs "
                          "are those of its own clock")
        self.assertEqual(self.run_beside_a_clock(0, -2).count("clock"), 0)

    def test_a_clock_that_is_off_by_an_hour(self):
        for seconds, how in ((3700, "1 h 01 min ahead"),
                             (-3590, "59 min 5[0-9] s behind"),
                             (-4 * 10 ** 9, "[0-9]+ h [0-9]+ min behind")):
            self.assertRegex(self.run_beside_a_clock(4, seconds),
                             rf"node 1 \(n2\): its clock is {how} of the one "
                             "here: jobrun could not tell which of its files are "
                             r"new; set the clock \(chrony, ntpd\), or leave the "
                             rf"node out{self.EXCLUDE}\n")

    def test_what_is_for_ranks_on_this_machine(self):
        done = self.expect(self.run_on(2, "true", "--stdin", "0"), 2)
        self.assertIn("--stdin is for ranks on this machine", done.stderr)


class Silence:
    def test_it_is_no_hang_while_one_node_speaks(self):
        self.expect(self.run_on(
            2, 'for i in $(seq 50); do test $RANK != 0 || echo $i; '
            'sleep 0.1; done', more="timeouts: {silence: 2s}"), 0)

    def test_all_nodes_have_been_silent_for_too_long(self):
        done = self.expect(self.run_on(
            2, "echo up; sleep 1000", more="timeouts: {silence: 500ms}\n"
            "on_hang: {signal: none, wait: 100ms}"), 6)
        self.assertIn("HUNG", done.stderr)
        self.assertEqual(self.results()["status"], "hung")
        for rank in range(4):
            self.assertTrue((self.folder / f"runs/latest/attempt_0/{rank}"
                             "/hang.json").exists())
        self.nobody_is_left()

    def test_a_node_that_has_its_evidence_later_than_another(self):
        done = self.expect(self.run_on(
            2, "sleep 1000", more="timeouts: {silence: 500ms}\n"
            "on_hang: {signal: none, wait: 60s, command: [sh, -c, "
            "'test $RANK -lt 2 || sleep 1; echo told']}"), 6)
        self.assertIn("HUNG", done.stderr)
        for rank in range(4):
            told = self.folder / f"runs/latest/attempt_0/{rank}/hang.txt"
            self.assertEqual(told.read_text(), "told\n")
        self.nobody_is_left()


class Ends:
    """Torn down from any end."""

    def stop_by(self, number):
        process = self.begin()
        process.send_signal(number)
        err = self.finish(process, 128 + number)
        self.assertIn("STOPPED", err)
        self.assertIn("ranks 0-3 stopped by jobrun", err)

    def test_by_a_signal_to_the_head(self):
        self.stop_by(signal.SIGTERM)

    def test_by_a_signal_when_all_is_said(self):
        """The agent of node 1 has yet to end: the status is the run's."""
        slow = self.write("slow", f"#!/bin/sh\n'{harness.JOBRUN}' \"$@\"\nsleep 3\n")
        slow.chmod(0o700)
        for script, code in (("true", 0), ("exit 3", 1)):
            process = self.start(self.spec(script), env=self.allocation(
                2, FAKE_PROGRAM={"1": str(slow)}))
            while "(jobrun " not in process.stderr.readline():
                self.assertIsNone(process.poll())
            until = time.monotonic() + harness.LIMIT
            while harness.name_of(self.agents()[0]) == "jobrun":
                self.assertLess(time.monotonic(), until)
                time.sleep(0.01)
            process.send_signal(signal.SIGTERM)
            self.finish(process, code)
            self.assertEqual(self.results()["exit_code"], code)

    def test_by_an_interrupt(self):
        self.stop_by(signal.SIGINT)

    def test_a_node_that_hangs_is_not_waited_for(self):
        """It is said that it does not answer, for how long it is waited for, and
        how that is shortened."""
        process = self.begin()
        hung = self.agents()[1]
        os.kill(hung, signal.SIGSTOP)
        process.terminate()
        for line in process.stderr:
            if "which does not answer" in line:
                break
        self.assertRegex(line, r"jobrun: waiting for node 1 \([^ ]*2\), which does "
                         r"not answer, for at most 3[\d.]+ s; to stop once more "
                         "shortens that\n")
        began = time.monotonic()
        process.terminate()
        _, err = process.communicate(timeout=harness.LIMIT)
        self.assertLess(time.monotonic() - began, 20)
        self.assertEqual(process.returncode, 128 + signal.SIGTERM, err)
        self.assertIn("STOPPED", err)
        with contextlib.suppress(ProcessLookupError):
            os.kill(hung, signal.SIGCONT)
        self.nobody_is_left()

    def test_a_node_that_says_nothing_in_time(self):
        mute = self.write("mute", "#!/bin/sh\ncat > /dev/null\n")
        mute.chmod(0o700)
        self.in_time(lambda limit: self.expect(self.run_on(
            2, "true", more=f"timeouts: {{start: {limit}s}}",
            FAKE_PROGRAM={"1": str(mute)}), 7),
            "node 1 (n2) did not answer within {}s (timeouts.start)")
        self.nobody_is_left()

    def test_a_node_that_does_not_take_the_spec(self):
        deaf = self.write("deaf", "#!/bin/sh\n"
                          f"{self.FIRST} | '{harness.JOBRUN}' \"$@\"\n"
                          "cat > /dev/null\n")
        deaf.chmod(0o700)
        self.in_time(lambda limit: self.expect(self.run_on(
            2, "true", more=f"timeouts: {{start: {2 * limit}s}}",
            FAKE_PROGRAM={"1": str(deaf)}), 7),
            "node 1 (n2) did not take the spec within ")
        self.nobody_is_left()

    def test_the_head_is_killed(self):
        process = self.begin()
        process.kill()
        self.finish(process, -signal.SIGKILL)

    def test_the_head_is_killed_and_ranks_have_their_grace(self):
        process = self.begin("trap 'echo saved > \"$JOBRUN_RANK_DIR/saved\"; "
                             "exit 0' TERM; > \"$JOBRUN_RANK_DIR/listens\"; "
                             "while :; do sleep 0.05; done")
        folders = [self.folder / f"runs/latest/attempt_0/{rank}"
                   for rank in range(4)]
        until = time.monotonic() + harness.LIMIT
        while not all((folder / "listens").exists() for folder in folders):
            self.assertLess(time.monotonic(), until)
            time.sleep(0.01)
        process.kill()
        self.finish(process, -signal.SIGKILL)
        for folder in folders:
            self.assertTrue((folder / "saved").exists())

    def test_the_runs_own_process_is_killed(self):
        """Guard or runner: the ranks there are lost, as with their agent."""
        for runner in (False, True):
            process = self.begin()
            os.kill(self.run_process(1, runner), signal.SIGKILL)
            err = self.finish(process, 1)
            self.assertRegex(err, "rank [23] was lost with its node")
            cause = self.results()["root_cause"]
            self.assertEqual((cause["kind"], cause["host"], cause["message"]),
                             ("lost_node", "n2", "its jobrun was killed by "
                              "SIGKILL"))
            os.unlink(self.folder / "tasks")
            shutil.rmtree(self.folder / "runs")

    def test_by_a_signal_to_the_step(self):
        """As at the end of the allocation's time: each node gets SIGTERM."""
        process = self.begin()
        for pid in self.agents().values():
            os.kill(pid, signal.SIGTERM)
        self.finish(process, 128 + signal.SIGTERM)

    def test_a_rank_that_ignores_it(self):
        process = self.begin("trap '' TERM; while :; do sleep 0.1; done",
                             more="timeouts: {stop_grace: 200ms}")
        process.terminate()
        err = self.finish(process, 128 + signal.SIGTERM)
        self.assertIn("0 processes left", err)


class Again:
    def test_all_ranks_of_all_nodes_start_again(self):
        script = ('echo "$JOBRUN_ATTEMPT $MASTER_PORT"; '
                  'if [ $RANK = 3 -a $JOBRUN_ATTEMPT -lt 2 ]; then exit 9; fi;'
                  ' if [ $JOBRUN_ATTEMPT -lt 2 ]; then sleep 1000; fi')
        done = self.expect(self.run_on(2, script, more="restart: {max: 3}"), 0)
        self.assertIn("attempt 1 failed: rank 3 exited with code 9",
                      done.stderr)
        results = self.results()
        self.assertEqual(results["attempt"], 2)
        ports = {}
        for line in done.stdout.splitlines():
            _, attempt, port = line.split()
            ports.setdefault(attempt, set()).add(port)
        self.assertEqual([len(ports[attempt]) for attempt in "012"], [1, 1, 1])
        self.assertNotEqual(ports["0"], ports["1"])
        self.assertNotEqual(ports["1"], ports["2"])
        self.nobody_is_left()

    def test_not_through_what_a_rank_planted(self):
        outside = self.folder / "outside"
        for number, path in enumerate(("attempt_1", "node_1/attempt_1")):
            outside.mkdir(exist_ok=True)
            done = self.expect(self.run_on(
                2, f'[ $RANK = 3 ] || exec sleep 1000; '
                f'ln -s "{outside}" "$JOBRUN_RUN_DIR/{path}"; exit 9',
                "--run-id", f"r{number}", more="restart: {max: 1}"), 7)
            self.assertIn(f"the run folder already has {path}",
                          done.stderr)
            self.assertEqual(os.listdir(outside), [])
            self.nobody_is_left()

    def test_not_without_a_node(self):
        process = self.begin(more="restart: {max: 3}")
        os.kill(self.agents()[1], signal.SIGKILL)
        err = self.finish(process, 1)
        self.assertIn("a node was lost", err)


class Functions:
    def test_the_exit_barrier_is_of_all_nodes(self):
        self.write("m.py", "import os, time\n"
                   "def main():\n"
                   "    if os.environ['RANK'] == '3':\n"
                   "        time.sleep(0.7)\n"
                   "        return [rank for rank in '012'\n"
                   "                if os.path.exists('left.' + rank)]\n"
                   "import atexit\n"
                   "atexit.register(lambda: open("
                   "'left.' + os.environ['RANK'], 'w').close())\n")
        self.write("t.jobrun.yaml", "version: 1\nlocal_world_size: 2\n"
                   "entrypoint: {python: {function: 'm:main'}}\n")
        self.expect(self.jobrun("t.jobrun.yaml", env=self.allocation(2)), 0)
        self.assertEqual(len(list(self.folder.glob("left.*"))), 4)
        self.assertEqual(self.results()["ranks"][3]["result"], [])

    def test_setup_of_each_node(self):
        self.expect(self.run_on(
            2, 'test "$FROM" = "node $NODE_RANK"',
            more="setup: 'echo here; export FROM=\"node $FAKE_NODE\"'"), 0)
        for node in range(2):
            log = self.folder / f"runs/latest/node_{node}/attempt_0/setup.log"
            self.assertEqual(log.read_text(), "here\n")


class Mpi:
    """One world of the ranks of all nodes, by a client of PMI-1."""

    CLIENT = pathlib.Path(__file__).parent / "mpi" / "pmi.py"
    MPI = "mpi: pmi1\ntimeouts: {run: 2m, stop_grace: 20s}"

    def world(self, nodes, *acts, more="", script="{}", **options):
        command = " ".join(["python3", str(self.CLIENT), *acts])
        return self.run_on(nodes, script.format(command),
                           more=f"{self.MPI}\n{more}", **options)

    def assert_cause(self, done, rank, kind, message):
        cause = self.results()["root_cause"]
        self.assertEqual((cause["rank"], cause["kind"], cause["message"]),
                         (rank, kind, message), done.stderr)
        self.nobody_is_left()

    def test_one_world_of_all_nodes(self):
        done = self.expect(self.world(3, "init", "exchange", "finalize"), 0)
        self.assertEqual(sorted(done.stdout.splitlines()), [
            f"[{rank}] pmi {rank} of 6, (vector,(0,3,2))" for rank in range(6)])
        self.assertIn("6 ranks on 3 nodes", done.stderr)
        self.assertIn("one MPI world by PMI-1\n", done.stderr)
        self.assertEqual({rank["mpi"] for rank in self.results()["ranks"]},
                         {"finalized"})
        self.nobody_is_left()

    def test_nodes_of_different_sizes(self):
        done = self.expect(self.world(3, "init", "exchange", "finalize",
                                      local="[1, 3, 3]"), 0)
        self.assertEqual(sorted(done.stdout.splitlines()), [
            f"[{rank}] pmi {rank} of 7, (vector,(0,1,1),(1,2,3))"
            for rank in range(7)])

    def test_much_to_exchange(self):
        """More than a pipe or a message holds, again and again."""
        done = self.expect(self.world(3, "init", "volume", "volume", "barrier",
                                      "finalize"), 0)
        self.assertEqual(done.stdout.count("volume 600 600000"), 2 * 6)

    def test_the_next_attempt_is_a_new_world(self):
        done = self.expect(self.world(
            2, "init", "exchange", "finalize", more="restart: {max: 1}",
            script="{}; test $JOBRUN_ATTEMPT != 0"), 0)
        self.assertEqual(done.stdout.count("of 4, (vector,(0,2,2))"), 8)

    def test_an_abort_on_another_node(self):
        done = self.expect(self.world(2, "init", "exchange", "3:abort=3",
                                      "barrier"), 1)
        self.assert_cause(done, 3, "mpi_abort", "called MPI_Abort with code 3")

    def test_a_rank_that_leaves_another_node(self):
        done = self.expect(self.world(2, "init", "exchange", "2:exit=0",
                                      "barrier"), 1)
        self.assert_cause(done, 2, "mpi", "exited with code 0 after MPI_Init, "
                          "without calling MPI_Finalize")

    def test_a_node_whose_ranks_use_no_mpi(self):
        """Their node is done before any rank of another has initialized, or it
        hears that one has."""
        for acts in (("2,3:exit=0", "node-1-done", "init", "barrier"),
                     ("0,1:init", "0,1:barrier", "later", "3:exit=0", "hang")):
            done = self.expect(self.world(2, *acts), 1)
            self.assertEqual(self.results()["root_cause"]["kind"], "mpi")
            self.assertIn("exited with code 0 without calling MPI_Init, which "
                          "other ranks had called", done.stderr)
            self.nobody_is_left()

    def test_no_rank_initializes(self):
        done = self.expect(self.world(2), 5)
        self.assert_cause(done, None, "singletons", "4 singletons: `mpi: pmi1` "
                          "is stated, but no rank called MPI_Init through it")

    def begin_until(self, text, script):
        """Begin with two ranks on each of two nodes, until all have written the
        text."""
        process = self.begin(script, more=self.MPI)
        until = time.monotonic() + harness.LIMIT
        for rank in range(4):
            log = self.folder / f"runs/latest/attempt_0/{rank}/stdout.log"
            while not log.exists() or text not in log.read_text():
                self.assertLess(time.monotonic(), until)
                time.sleep(0.01)
        return process

    def test_ranks_that_are_told_to_stop_meet_once_more(self):
        process = self.begin_until("listens", f"exec python3 {self.CLIENT} init "
                                   "exchange await-term finalize")
        process.terminate()
        self.finish(process, 128 + signal.SIGTERM)
        self.assertEqual({rank["mpi"] for rank in self.results()["ranks"]},
                         {"finalized"})

    def test_a_node_is_lost_within_a_barrier(self):
        process = self.begin_until("pmi", f"python3 {self.CLIENT} init exchange "
                                   "2,3:hang barrier")
        os.kill(self.agents()[1], signal.SIGKILL)
        err = self.finish(process, 1)
        self.assertRegex(err, "rank [23] was lost with its node")
        self.assertEqual(self.results()["root_cause"]["kind"], "lost_node")


class Spares:
    """The first nodes of what is there have the ranks, the last are spares."""

    MORE = "nodes: {nodes}\nspare_nodes: {spares}\nrestart: {{max: 5, backoff: 10ms}}\n"
    # Told of by each rank, in each attempt; the first waits.
    TELL = ('echo "$JOBRUN_ATTEMPT $RANK $NODE_RANK $WORLD_SIZE $MASTER_ADDR '
            '$FAKE_NODE"; ')
    WAIT = TELL + 'test $JOBRUN_ATTEMPT != 0 || exec sleep 1000'

    def more(self, nodes=2, spares=1, more=""):
        return self.MORE.format(nodes=nodes, spares=spares) + more

    def begin_with(self, script=None, nodes=2, spares=1, more="", words=(),
                   **extra):
        process = self.start(
            self.spec(script or self.WAIT, self.more(nodes, spares, more)),
            *words, env=self.allocation(nodes + spares, **extra))
        self.await_attempt(0, 2 * nodes)
        return process

    def await_attempt(self, attempt, ranks):
        """All ranks of an attempt have started."""
        until = time.monotonic() + harness.LIMIT
        logs = [self.folder / f"runs/latest/attempt_{attempt}/{rank}/stdout.log"
                for rank in range(ranks)]
        while not all(log.exists() and log.read_text() for log in logs):
            self.assertLess(time.monotonic(), until, f"attempt {attempt}")
            time.sleep(0.01)

    def told(self, attempt, ranks):
        """What the ranks of an attempt have told: (rank, node rank, world size,
        master, machine)."""
        lines = []
        for rank in range(ranks):
            log = self.folder / f"runs/latest/attempt_{attempt}/{rank}/stdout.log"
            words = log.read_text().split()
            lines.append((int(words[1]), int(words[2]), int(words[3]),
                          self.unname(words[4]), int(words[5]) + 1))
        return lines

    def unname(self, host):
        return host

    def lose(self, machine):
        os.kill(self.agents()[machine - 1], signal.SIGKILL)

    def forget(self):
        os.unlink(self.folder / "tasks")
        shutil.rmtree(self.folder / "runs")

    def left_out(self):
        return [entry["host"] for entry in self.results()["left_out"]]

    def test_a_spare_takes_the_place_of_a_node(self):
        process = self.begin_with(nodes=3)
        self.lose(2)
        err = self.finish(process, 0)
        self.assertIn("rank 2 was lost with its node", err)
        self.assertIn("the spare n4 takes the place of node 1 (n2): ", err)
        self.assertEqual(self.told(0, 6), [
            (rank, rank // 2, 6, "n1", rank // 2 + 1) for rank in range(6)])
        self.assertEqual(self.told(1, 6), [
            (rank, rank // 2, 6, "n1", (1, 4, 3)[rank // 2])
            for rank in range(6)])
        self.assertEqual([rank["host"] for rank in self.results()["ranks"]],
                         ["n1", "n1", "n4", "n4", "n3", "n3"])
        entry, = self.results()["left_out"]
        self.assertEqual(entry["host"], "n2")
        self.assertIn("illed", entry["reason"])
        self.assertIn("left out: n2: ", err)
        shown = self.expect(self.jobrun("show", "latest"), 0).stdout
        self.assertIn("left out: n2: ", shown)

    def test_a_node_whose_own_process_is_killed(self):
        """Guard or runner, while the agent lives: a spare has its place."""
        for runner in (False, True):
            process = self.begin_with()
            os.kill(self.run_process(1, runner), signal.SIGKILL)
            err = self.finish(process, 0)
            self.assertIn("the spare n3 takes the place of node 1 (n2): its "
                          "jobrun was killed by SIGKILL", err)
            self.assertEqual(self.told(1, 4), [
                (rank, rank // 2, 4, "n1", (1, 3)[rank // 2])
                for rank in range(4)])
            self.forget()

    def test_ranks_meet_on_the_spare(self):
        process = self.begin_with()
        self.lose(1)
        self.finish(process, 0)
        self.assertEqual(self.told(1, 4), [
            (rank, rank // 2, 4, "n3", (3, 2)[rank // 2]) for rank in range(4)])

    def test_a_stated_meeting_place_has_no_spare(self):
        process = self.begin_with(more="master_addr: 127.0.0.1\n")
        self.lose(1)
        err = self.finish(process, 1)
        self.assertIn("the spec states that the ranks meet on node 0 (n1), and "
                      "no spare can be that", err)
        self.assertEqual(self.left_out(), [])

    def test_a_stated_meeting_place_on_another_node(self):
        process = self.begin_with(more="master_addr: 127.0.0.1\n")
        self.lose(2)
        self.finish(process, 0)
        self.assertEqual(self.told(1, 4), [
            (rank, rank // 2, 4, "127.0.0.1", (1, 3)[rank // 2])
            for rank in range(4)])

    def test_without_a_spare_left(self):
        script = self.TELL + "test $JOBRUN_ATTEMPT = 2 || exec sleep 1000"
        process = self.begin_with(script)
        self.lose(2)
        self.await_attempt(1, 4)
        self.lose(3)
        err = self.finish(process, 1)
        self.assertIn("a node was lost", err)
        self.assertEqual(self.left_out(), ["n2"])
        self.assertEqual(self.results()["root_cause"]["host"], "n3")

    def test_two_nodes_and_one_spare(self):
        process = self.begin_with(nodes=3)
        agents = self.agents()
        os.kill(process.pid, signal.SIGSTOP)  # it hears of both at once
        for machine in (1, 2):
            os.kill(agents[machine], signal.SIGKILL)
        os.kill(process.pid, signal.SIGCONT)
        err = self.finish(process, 1)
        self.assertIn("no spare is left for it", err)
        self.assertEqual(self.left_out(), [])

    def test_two_nodes_and_two_spares(self):
        process = self.begin_with(nodes=3, spares=2)
        agents = self.agents()
        os.kill(process.pid, signal.SIGSTOP)
        for machine in (0, 2):
            os.kill(agents[machine], signal.SIGKILL)
        os.kill(process.pid, signal.SIGCONT)
        self.finish(process, 0)
        self.assertEqual(self.left_out(), ["n1", "n3"])
        self.assertEqual(self.told(1, 6), [
            (rank, rank // 2, 6, "n4", (4, 2, 5)[rank // 2])
            for rank in range(6)])

    def test_not_where_restart_names_other_causes(self):
        for more, code in (("on: hang", 1), ("never: lost_node", 1),
                           ("on: lost_node", 0)):
            process = self.begin_with(
                words=("-s", "restart={max: 5, backoff: 10ms, %s}" % more))
            self.lose(2)
            err = self.finish(process, code)
            self.assertEqual(self.left_out(), [] if code else ["n2"], err)
            self.forget()

    def test_a_rehearsal(self):
        self.expect(self.run_on(
            3, self.WAIT, "--inject", "lost_node:1@100ms",
            more=self.more()), 0)
        self.assertEqual(self.left_out(), ["n2"])
        self.assertEqual([rank["host"] for rank in self.results()["ranks"]],
                         ["n1", "n1", "n3", "n3"])

    def test_results_of_the_lost_node_do_not_count(self):
        """It had delivered, and its place delivers anew, or not."""
        deliver = 'echo "{\\"r\\": $JOBRUN_ATTEMPT}" > "$JOBRUN_RESULT_FILE"; '
        results = "results: {fields: {r: {type: integer}}}\n"
        for last, code, states in (
                (deliver, 0, ["succeeded"] * 4),
                (f"test $NODE_RANK = 1 || {deliver}", 5,
                 ["succeeded"] * 2 + ["incomplete"] * 2)):
            process = self.begin_with(
                f"if [ $JOBRUN_ATTEMPT = 0 ]; then {deliver} {self.TELL} "
                f"exec sleep 1000; fi; {last}", more=results, words=(
                    "-s", "restart={max: 5, backoff: 10ms, on: lost_node}"))
            self.lose(2)
            self.finish(process, code)
            ranks = self.results()["ranks"]
            self.assertEqual([rank["state"] for rank in ranks], states)
            self.assertEqual([rank["result"]["r"] for rank in ranks
                              if rank["state"] == "succeeded"],
                             [1] * states.count("succeeded"))
            self.forget()

    def test_a_failure_of_a_rank_moves_nobody(self):
        done = self.expect(self.run_on(
            3, self.TELL + "test $JOBRUN_ATTEMPT = 1", more=self.more()), 0)
        self.assertNotIn("takes the place", done.stderr)
        self.assertEqual(self.results()["left_out"], [])

    def test_a_node_is_lost_between_attempts(self):
        """That costs no attempt: there is one restart, for the rank."""
        process = self.start(
            self.spec(self.TELL + "test $JOBRUN_ATTEMPT = 1 || exit 3",
                      self.more()), "-s", "restart={max: 1, backoff: 2s}",
            env=self.allocation(3))
        until = time.monotonic() + harness.LIMIT
        while not (self.folder / "runs/latest/events.jsonl").exists():
            self.assertLess(time.monotonic(), until)
            time.sleep(0.01)
        self.await_event(event="attempt_failed")
        self.lose(2)
        err = self.finish(process, 0)
        self.assertIn("the spare n3 takes the place of node 1 (n2): ", err)
        self.assertEqual(self.left_out(), ["n2"])
        self.assertEqual(self.told(1, 4), [
            (rank, rank // 2, 4, "n1", (1, 3)[rank // 2]) for rank in range(4)])

    def test_a_node_that_is_not_there_at_the_start(self):
        done = self.expect(self.run_on(
            4, self.TELL, more=self.more(nodes=3), **{
                self.DOWN: {"1": self.GONE}}), 0)
        self.assertIn("the spare n4 takes the place of node 1 (n2): ",
                      done.stderr)
        self.assertEqual(self.left_out(), ["n2"])
        self.assertEqual(self.told(0, 6), [
            (rank, rank // 2, 6, "n1", (1, 4, 3)[rank // 2])
            for rank in range(6)])
        self.nobody_is_left()

    def test_more_nodes_that_are_not_there_than_spares(self):
        done = self.expect(self.run_on(
            4, self.TELL, more=self.more(nodes=3), **{
                self.DOWN: {"0": self.GONE, "1": self.GONE}}), 7)
        self.assertNotIn("SUCCEEDED", done.stderr)
        self.nobody_is_left()

    def test_a_node_that_ends_when_it_is_to_take_the_spec(self):
        """Its agent has said hello before."""
        brief = self.write(
            "brief", f"#!{sys.executable}\n"
            "import subprocess, sys\n"
            f"agent = subprocess.Popen([{str(harness.JOBRUN)!r}, *sys.argv[1:]],"
            " stdin=subprocess.PIPE)\n"
            "while line := sys.stdin.buffer.readline():\n"
            "    if b'\"spec\"' in line[:80]:\n"
            "        agent.kill()\n"
            "        sys.exit(3)\n"
            "    agent.stdin.write(line)\n"
            "    agent.stdin.flush()\n")
        brief.chmod(0o700)
        done = self.expect(self.run_on(
            3, self.TELL, more=self.more(),
            FAKE_PROGRAM={"1": str(brief)}), 0)
        self.assertEqual(self.left_out(), ["n2"], done.stderr)
        self.assertEqual(self.results()["attempt"], 0)
        self.assertEqual(self.told(0, 4), [
            (rank, rank // 2, 4, "n1", (1, 3)[rank // 2]) for rank in range(4)])

    def test_a_spare_that_is_not_there(self):
        process = self.begin_with(spares=2, **{self.DOWN: {"2": self.GONE}})
        self.lose(2)
        self.finish(process, 0)
        self.assertEqual(set(self.left_out()), {"n2", "n3"})
        self.assertEqual(self.told(1, 4), [
            (rank, rank // 2, 4, "n1", (1, 4)[rank // 2]) for rank in range(4)])

    def test_a_spare_that_cannot_have_the_ranks(self):
        """Of another version, as a machine that was updated alone."""
        other = self.write("other", "#!/bin/sh\n'%s' \"$@\" | sed -u "
                           "'s/\"version\": \"[^\"]*\"/\"version\": \"9.9\"/'\n"
                           % harness.JOBRUN)
        other.chmod(0o700)
        process = self.begin_with(spares=2, FAKE_PROGRAM={"2": str(other)})
        self.lose(2)
        err = self.finish(process, 0)
        self.assertIn("jobrun is of version 9.9 there", err)
        self.assertEqual(set(self.left_out()), {"n2", "n3"})
        self.assertEqual([rank["host"] for rank in self.results()["ranks"]],
                         ["n1", "n1", "n4", "n4"])

    def test_fewer_machines_than_nodes_and_spares(self):
        done = self.expect(self.run_on(2, "touch begun", more=self.more()), 4)
        self.assertIn("JR0423", done.stderr)
        self.assertFalse((self.folder / "begun").exists())

    def test_the_plan_names_the_spare(self):
        done = self.expect(self.jobrun("plan", self.spec("true", self.more()),
                                       env=self.allocation(3)), 0)
        self.assertIn("4 ranks on 2 nodes, and 1 spare\n", done.stdout)
        self.assertIn("spares    n3: it takes the place", done.stdout)
        self.nobody_is_left()

    def test_an_interrupt_while_the_spare_is_awaited(self):
        awaited = self.write("awaited", "")
        mute = self.write("mute", f"#!/bin/sh\necho >> '{awaited}'\n"
                          "cat > /dev/null\n")
        mute.chmod(0o700)

        def await_starts(count):
            until = time.monotonic() + harness.LIMIT
            while len(awaited.read_text()) < count:
                self.assertLess(time.monotonic(), until)
                time.sleep(0.01)

        process = self.begin_with(FAKE_PROGRAM={"2": str(mute)})
        await_starts(self.STANDS_BY)  # which the ranks do not wait for
        self.lose(2)
        await_starts(self.STANDS_BY + 1)
        process.send_signal(signal.SIGINT)
        err = self.finish(process, 130)
        self.assertIn("STOPPED", err)

    def test_one_world_of_mpi(self):
        client = pathlib.Path(__file__).parent / "mpi" / "pmi.py"
        process = self.begin_with(
            self.TELL + f"test $JOBRUN_ATTEMPT != 0 || exec python3 {client} "
            f"init exchange hang; exec python3 {client} init exchange finalize",
            more="mpi: pmi1\ntimeouts: {run: 2m}\n")
        self.lose(2)
        self.finish(process, 0)
        self.assertEqual(self.left_out(), ["n2"])
        self.assertEqual({rank["mpi"] for rank in self.results()["ranks"]},
                         {"finalized"})
