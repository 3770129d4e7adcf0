"""Several nodes by hand: a jobrun on each, with nothing in common but a run id.
Here the nodes are processes of one machine."""
import html
import json
import os
import re
import shlex
import shutil
import signal
import socket
import time

import harness

try:
    import jsonschema
except ImportError:
    print("SKIPPED: results are not held to their schema: no jsonschema")
    jsonschema = None

SPEC = """\
version: 1
nodes: {nodes}
local_world_size: 2
master_addr: 127.0.0.1
master_port: {port}
{more}
entrypoint: {{shell: {script}}}
"""


def strict(schema):
    """The schema with no room for keys that it does not list."""
    if isinstance(schema, dict):
        if "properties" in schema:
            schema["additionalProperties"] = False
        for value in schema.values():
            strict(value)
    return schema


class Meeting(harness.Case):
    """Where the ranks meet is looked up before anything starts."""

    UNKNOWN = "head.no-such-name.invalid"

    def ask(self, verb, *words, address=UNKNOWN, code=4, field="master_addr"):
        self.write("t.jobrun.yaml", SPEC.format(
            nodes=2, port=harness.free_port(), more="device: cpu",
            script="touch began").replace(
                "master_addr: 127.0.0.1", f"{field}: {address}"))
        done = self.expect(self.jobrun(verb, "t.jobrun.yaml", *words), code)
        return done.stderr

    def test_a_name_that_nobody_knows(self):
        for field, address in (("master_addr", self.UNKNOWN),
                               ("hosts", f"[{self.UNKNOWN}, n2]")):
            for verb in ("run", "plan"):
                for node in (0, 1):
                    said = self.ask(verb, "--node-rank", node, "--run-id", "r",
                                    address=address, field=field)
                    self.assertIn(f"the ranks meet at '{self.UNKNOWN}'", said)
                    self.assertIn("that name is not known on this machine",
                                  said)
                    self.assertIn("-s master_addr=ADDRESS", said)
        self.assertFalse((self.folder / "began").exists())
        self.assertFalse((self.folder / "runs").exists())
        self.ask("plan", "--node-rank", 1, "-s", "master_addr=127.0.0.1",
                 code=0)

    def test_where_nothing_is_looked_up(self):
        self.ask("validate", code=0)
        self.ask("plan", "--on", "2x2", "--node-rank", 1, code=0)
        self.ask("plan", "--local", code=0)
        self.ask("run", "--local", "-s", "oversubscribe=true", code=0)

    def test_addresses(self):
        for address, own in (("127.0.0.1", True), ("'::1'", True),
                             ("localhost", True), ("192.0.2.7", False),
                             ("'2001:db8::7'", False)):
            for node in (0, 1):
                said = self.ask("plan", "--node-rank", node, address=address,
                                code=0)
                self.assertEqual("which is no address of this machine" in said,
                                 node == 0 and not own, (address, node))


class Steps(harness.Case):
    """Steps of Slurm's, by their variables alone."""

    def step(self, node, *words, code=0, **more):
        env = {"SLURM_JOB_ID": "4711", "SLURM_STEP_ID": "3",
               "SLURM_NODEID": str(node), "SLURM_PROCID": str(node),
               "SLURM_STEP_NUM_NODES": "2",
               "SLURM_STEP_NODELIST": "n[1-2]",
               "SLURM_STEP_TASKS_PER_NODE": "1(x2)",
               "SLURM_JOB_NUM_NODES": "2", "SLURM_JOB_NODELIST": "n[1-2]"}
        env.update(more)
        return self.expect(self.jobrun("t.jobrun.yaml", *words, env=env), code)

    def test_lines_of_several_ranks_bear_their_numbers(self):
        self.write("t.jobrun.yaml",
                   "version: 1\ndevice: cpu\nlocal_world_size: 2\n"
                   f"master_port: {harness.free_port()}\n"
                   "console: {collapse: true}\n"
                   "entrypoint: {shell: 'for i in 1 2 3 4 5 6 7 8; do "
                   "echo same; done; sleep 0.2'}\n")
        for node, ranks in ((0, {"0", "1"}), (1, {"2", "3"})):
            lines = self.step(node).stdout.splitlines()
            self.assertEqual({rank for line in lines
                              for rank in re.findall(r"\d+", line)}, ranks)

    def test_the_run_id_is_that_of_the_step(self):
        self.write("t.jobrun.yaml",
                   "version: 1\ndevice: cpu\nlocal_world_size: 1\n"
                   f"master_port: {harness.free_port()}\n"
                   "entrypoint: [printenv, JOBRUN_RUN_ID]\n")
        for node in (0, 1):
            self.assertEqual(self.step(node).stdout, f"[{node}] t-4711.3\n")
        self.assertEqual(
            sorted(p.name for p in (self.folder / "runs/t-4711.3").iterdir()
                   if p.name.startswith("node_")), ["node_0", "node_1"])
        self.assertEqual(self.step(1, SLURM_RESTART_COUNT="2").stdout,
                         "[1] t-4711.3.2\n")
        self.assertEqual(self.step(1, "--run-id", "mine").stdout,
                         "[1] mine\n")
        # A second run in the same step is told to have an id of its own.
        self.assertIn("t-4711.3", self.step(0, code=7).stderr)

    def test_other_launchers_give_none(self):
        self.write("t.jobrun.yaml",
                   "version: 1\ndevice: cpu\nlocal_world_size: 1\n"
                   f"master_port: {harness.free_port()}\nmaster_addr: 127.0.0.1\n"
                   "entrypoint: [\"true\"]\n")
        done = self.jobrun("t.jobrun.yaml", env={
            "OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": "0",
            "OMPI_COMM_WORLD_LOCAL_SIZE": "1"})
        self.assertIn("they need a --run-id",
                      self.expect(done, 2).stderr)

    def test_two_on_a_node_are_refused(self):
        self.write("t.jobrun.yaml",
                   "version: 1\ndevice: cpu\nlocal_world_size: 1\n"
                   "entrypoint: [\"true\"]\n")
        done = self.step(1, code=4, SLURM_STEP_TASKS_PER_NODE="2(x2)")
        self.assertIn("JR0425", done.stderr)


class Self(harness.Case):
    """A node knows itself by its name in hosts, or by an address."""

    def resolved(self, *hosts, code=0):
        done = self.expect(self.jobrun(
            "resolve", "-n", "2", "-s", f"hosts={json.dumps(hosts)}", "-s",
            "device=cpu", "-s", f"master_port={harness.free_port()}", "--", "true"),
            code)
        return re.findall(r"(?m)^node_rank: (\d)$", done.stdout), done.stderr

    def test_by_its_name(self):
        name = socket.gethostname()
        self.assertEqual(self.resolved(name, "other.invalid")[0], ["0"])
        self.assertEqual(self.resolved("other.invalid", name)[0], ["1"])
        self.assertIn("node_rank is MISSING",
                      self.resolved("a.invalid", "b.invalid", code=4)[1])
        self.assertIn("JR0331", self.resolved(name, name, code=3)[1])

    def test_by_its_address_but_not_by_the_loopback(self):
        self.assertIn("node_rank is MISSING",
                      self.resolved("127.0.0.1", "192.0.2.1", code=4)[1])
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                probe.connect(("192.0.2.1", 9))
            except OSError:
                self.skipTest("this machine has no route to anywhere")
            own = probe.getsockname()[0]
        if own.startswith("127."):
            self.skipTest("this machine has the loopback alone")
        self.assertEqual(self.resolved("192.0.2.1", own)[0], ["1"])
        # It is both of them.
        self.assertIn("node_rank is MISSING",
                      self.resolved(socket.gethostname(), own, code=4)[1])


class ByHand(harness.Case):
    def spec(self, script, nodes=2, more=""):
        return self.write("t.jobrun.yaml", SPEC.format(
            nodes=nodes, port=harness.free_port(), more=more,
            script=json.dumps(script)))

    def words(self, spec, node, run="exp1", logs=None):
        words = [spec, "--node-rank", node, "--run-id", run]
        return words + (["-s", f"log_dir={logs}"] if logs else [])

    def node(self, spec, node, *more, run="exp1", logs=None):
        return self.jobrun(*self.words(spec, node, run, logs), *more)

    def begin(self, spec, node, *more, **where):
        return self.start(*self.words(spec, node, **where), *more)

    def await_file(self, path):
        until = time.monotonic() + harness.LIMIT
        while not (self.folder / path).exists():
            self.assertLess(time.monotonic(), until, f"no {path}")
            time.sleep(0.01)

    def await_ranks(self, node, ranks):
        """Until they execute: their logs have something."""
        for rank in ranks:
            path = self.folder / f"runs/exp1/node_{node}/attempt_0/{rank}" \
                                 "/stdout.log"
            until = time.monotonic() + harness.LIMIT
            while not path.exists() or path.stat().st_size == 0:
                self.assertLess(time.monotonic(), until, f"no rank {rank}")
                time.sleep(0.01)

    def ends(self, process, code):
        out, err = process.communicate(timeout=harness.LIMIT)
        self.assertEqual(process.returncode, code, out + err)
        return out, err

    def joined(self, run="exp1"):
        results = json.loads(self.expect(
            self.jobrun("show", run, "--format", "json"), 0).stdout)
        if jsonschema:
            schema = harness.EXAMPLES.parents[1] / "schemas" / \
                "results-v1.schema.json"
            schema = strict(json.loads(schema.read_text()))
            jsonschema.validate(results, schema)
            self.assertEqual(set(results), set(schema["properties"]))
        return results


class Runs(ByHand):
    def test_two_at_once(self):
        spec = self.spec("echo $RANK $NODE_RANK $WORLD_SIZE $JOBRUN_RUN_ID "
                         "$JOBRUN_RUN_DIR $JOBRUN_RANK_DIR; "
                         "echo {} > $JOBRUN_RESULT_FILE", more="results: {}")
        runs = [self.begin(spec, node) for node in range(2)]
        for node, run in enumerate(runs):
            out, err = self.ends(run, 0)
            self.assertIn(f"here node {node}: ranks {2 * node}-{2 * node + 1}",
                          err)
            top = self.folder / "runs/exp1"
            self.assertEqual(sorted(out.splitlines()), [
                f"[{r}] {r} {node} 4 exp1 {top} "
                f"{top}/node_{node}/attempt_0/{r}"
                for r in (2 * node, 2 * node + 1)])
        self.assertEqual(os.readlink(self.folder / "runs/latest"), "exp1")
        results = self.joined()
        self.assertEqual(results["status"], "succeeded")
        self.assertEqual([(rank["rank"], rank["node_rank"], rank["state"],
                           rank["stdout"]) for rank in results["ranks"]],
                         [(r, r // 2, "succeeded",
                           f"node_{r // 2}/attempt_0/{r}/stdout.log")
                          for r in range(4)])
        for rank in results["ranks"]:
            self.assertTrue((self.folder / "runs/exp1" /
                             rank["stdout"]).exists())
        shown = self.expect(self.jobrun("show", "latest"), 0).stdout
        self.assertIn("4 of 4 ranks delivered", shown)
        self.assertIn("runs/exp1   (jobrun show exp1)", shown)
        part = self.expect(self.jobrun("show", "exp1/node_1"), 0).stdout
        self.assertIn("2 of 2 ranks delivered", part)
        self.assertIn("(jobrun show exp1/node_1)", part)

    def test_logs_are_all_nodes(self):
        spec = self.spec("echo this is rank $RANK")
        for node in range(2):
            self.expect(self.node(spec, node), 0)
        said = self.expect(self.jobrun("logs", "exp1"), 0).stdout
        for rank in range(4):
            self.assertIn(f"this is rank {rank}\n", said)
        said = self.expect(self.jobrun("logs", "exp1/node_1", "--rank", "3"), 0)
        self.assertEqual(said.stdout.splitlines()[-1], "this is rank 3")

    def test_folders_of_their_own(self):
        spec = self.spec("true")
        for node in range(2):
            self.expect(self.node(spec, node, logs=f"logs{node}"), 0)
        shown = self.expect(
            self.jobrun("show", "--log-dir", "logs1"), 0).stdout
        self.assertIn("INCOMPLETE: the nodes that are here succeeded, but 1 of 2 "
                      "is not here", shown)
        self.assertIn("node 0   not here", shown)
        self.assertIn("node 1   succeeded", shown)
        self.expect(self.jobrun("wait", "exp1/node_1", "--log-dir", "logs1"), 0)
        self.expect(self.jobrun("wait", "exp1", "--log-dir", "logs1"), 5)
        # one folder put beside the other makes it whole
        shutil.move(self.folder / "logs0/exp1/node_0",
                    self.folder / "logs1/exp1/node_0")
        self.expect(self.jobrun("wait", "exp1", "--log-dir", "logs1"), 0)

    def test_started_at_the_same_moment(self):
        spec = self.spec("true")
        for round_ in range(20):
            run = f"r{round_}"
            runs = [self.begin(spec, node, run=run) for node in (0, 1, 1)]
            codes = []
            for process in runs:
                process.communicate(timeout=harness.LIMIT)
                codes.append(process.returncode)
            self.assertEqual([codes[0], sorted(codes[1:])], [0, [0, 7]])
        listed = self.expect(self.jobrun("runs"), 0).stdout
        self.assertEqual(listed.count("succeeded"), 20, listed)

    def test_no_run_id(self):
        done = self.expect(self.jobrun(self.spec("true"), "--node-rank", "1"),
                           2)
        self.assertIn("node 1 of 2", done.stderr)
        self.assertIn("(--run-id t-1)", done.stderr)
        done = self.expect(self.jobrun(
            self.spec("true"), env={
                "AWS_BATCH_JOB_NUM_NODES": "2", "AWS_BATCH_JOB_NODE_INDEX": "1",
                "AWS_BATCH_JOB_ID": "a1b2"}), 2)
        self.assertIn("(--run-id t-a1b2)", done.stderr)
        self.assertFalse((self.folder / "runs").exists())

    def test_a_rank_that_another_node_has(self):
        spec = self.spec("cat")
        done = self.expect(self.node(spec, 0, "--stdin", "3"), 2)
        self.assertIn("--stdin 3: this machine starts ranks 0 to 1; use it on "
                      "the node of that rank", done.stderr)
        self.expect(self.node(spec, 1, "--stdin", "3"), 0)

    def test_the_same_node_again(self):
        spec = self.spec("true")
        self.expect(self.node(spec, 0), 0)
        done = self.expect(self.node(spec, 0), 7)
        self.assertIn("node 0 of the run 'exp1' has already started",
                      done.stderr)
        self.assertIn("--run-id", done.stderr)

    def test_no_run_of_several_nodes(self):
        spec = self.spec("true")
        self.expect(self.jobrun("-n", "1", "--run-id", "exp1", "--", "true"), 0)
        done = self.expect(self.node(spec, 1), 7)
        self.assertIn("not a run of several nodes", done.stderr)
        self.expect(self.node(spec, 1, run="exp2"), 0)
        done = self.expect(
            self.jobrun("-n", "1", "--run-id", "exp2", "--", "true"), 7)
        self.assertIn("exists already", done.stderr)

    def test_nothing_is_left_of_what_could_not_be_planned(self):
        spec = self.spec("true", more="env: {NEEDED: '%{nonsense}'}")
        self.expect(self.node(spec, 1), 3)
        self.assertFalse((self.folder / "runs/exp1").exists())

    def test_no_node_has_such_a_number(self):
        """What is not here is told of each node, up to the last one."""
        spec = self.spec("true")
        for node in range(2):
            self.expect(self.node(spec, node), 0)
        top = self.folder / "runs/exp1"
        for number in (2 ** 20, 2 ** 32 - 1):
            shutil.copytree(top / "node_1", top / f"node_{number}")
            self.assertEqual(len(self.joined()["nodes"]), 2)
        record = top / "node_0/run.json"
        made = json.loads(record.read_text())
        record.write_text(json.dumps({**made, "nodes": 2 ** 32 - 1}))
        self.assertEqual(len(self.joined()["nodes"]), 2)
        self.expect(self.jobrun("runs"), 0)

    def test_plan_shows_the_part(self):
        done = self.expect(self.jobrun(
            "plan", self.spec("true"), "--node-rank", "1", "--run-id", "x"), 0)
        self.assertIn("runs/x/node_1", done.stdout)


class Joined(ByHand):
    """What no node can know by itself."""

    def run_both(self, more="", script="true", options=((), ())):
        spec = self.spec(script, more=more)
        for node in range(2):
            self.node(spec, node, *options[node])
        return self.joined()

    def told(self, run="exp1", code=5):
        """What `show` says; every verb has the same verdict."""
        self.expect(self.jobrun("wait", run), code)
        listed = self.expect(self.jobrun("runs"), 0).stdout.splitlines()
        line = next(line for line in listed if line.split()[-1] == run)
        self.assertEqual(line.split()[1], str(code), listed)
        report = self.expect(self.jobrun("report", run, "--format", "html"),
                             0).stdout
        shown = self.expect(self.jobrun("show", run), 0).stdout
        self.assertIn("exit status 5" if code else "succeeded", shown)
        for line in shown.splitlines()[1:-1]:
            self.assertIn(line.strip(), html.unescape(report))
        return shown

    def deliver(self, values):
        return "set -- " + " ".join(values) + \
            "; shift $RANK; echo '{\"f\": '$1'}' > $JOBRUN_RESULT_FILE"

    def faults(self, results):
        """Those of ranks; all that are told of here were found by comparing,
        but for what is larger than the spec allows."""
        faulty = [rank for rank in results["ranks"]
                  if rank["state"] != "succeeded"]
        for rank in faulty:
            self.assertEqual(rank["differs"], rank["result_error"] is not None
                             and "more than" not in rank["error"], rank)
        return {rank["rank"]: (rank["result_error"], rank["error"])
                for rank in faulty}

    def test_unequal_over_the_nodes(self):
        """Each node's own ranks agree."""
        results = self.run_both("results: {equal: [f]}",
                                self.deliver(["1", "1", "2", "2.0"]))
        both = {0: ("unequal", "result.json: 'f' is 1, but 2 on ranks 2-3"),
                2: ("unequal", "result.json: 'f' is 2, but 1 on ranks 0-1")}
        self.assertEqual(self.faults(results),
                         {rank: both[rank // 2 * 2] for rank in range(4)})
        self.assertEqual([node["status"] for node in results["nodes"]],
                         ["succeeded"] * 2)
        cause = results["root_cause"]
        self.assertEqual((results["status"], results["exit_code"],
                          cause["kind"], cause["rank"], cause["message"],
                          cause["together"]),
                         ("incomplete", 5, "result", 0, both[0][1], [1, 2, 3]))
        shown = self.told()
        self.assertIn("INCOMPLETE: every rank exited with 0, but 4 of 4 "
                      "delivered what `results` does not allow", shown)
        self.assertIn("rank 3    " + both[2][1], shown)
        for node in range(2):
            self.expect(self.jobrun("wait", f"exp1/node_{node}"), 0)

    def test_the_majority_is_that_of_all_nodes(self):
        """A node in doubt is none once the others are here."""
        results = self.run_both("results: {equal: [f]}",
                                self.deliver(["1", "2", "2", "2"]))
        self.assertEqual(self.faults(results), {
            0: ("unequal", "result.json: 'f' is 1, but 2 on ranks 1-3")})
        self.assertEqual([node["status"] for node in results["nodes"]],
                         ["incomplete", "succeeded"])
        self.told()

    def test_not_distinct_over_the_nodes(self):
        results = self.run_both("results: {distinct: [f]}",
                                self.deliver(["1", "2", "3", "2"]))
        self.assertEqual(self.faults(results), {
            rank: ("field", "result.json: 'f' is 2 on ranks 1,3, not distinct")
            for rank in (1, 3)})
        self.told()

    def test_not_distinct_on_one_node_and_over_both(self):
        results = self.run_both("results: {distinct: [f]}",
                                self.deliver(["7", "7", "3", "7"]))
        self.assertEqual(self.faults(results), {
            rank: ("field",
                   "result.json: 'f' is 7 on ranks 0-1,3, not distinct")
            for rank in (0, 1, 3)})

    def test_as_one_jobrun_tells_it(self):
        """Of the same ranks on one machine, word for word."""
        for more, values in (("equal: [f]", ["1", "1", "2", "1"]),
                             ("distinct: [f]", ["1", "1", "2", "1"]),
                             ("equal: [f], fields: {f: {type: number, max: 5}}",
                              ["1", "9", "2", "2"]),
                             ("equal: [f, g]",
                              ["1", "1", "2", "1"])):
            run = f"r{len(list(self.folder.glob('runs/*')))}"
            script = self.deliver(values)
            spec = self.spec(script, more="results: {%s}" % more)
            for node in range(2):
                self.node(spec, node, run=run)
            self.expect(self.jobrun(spec, "--local", "--run-id",
                                    run + "-whole"), 5)
            whole = json.loads(self.expect(self.jobrun(
                "show", run + "-whole", "--format", "json"), 0).stdout)
            joined = self.joined(run)
            self.assertNotEqual(self.faults(whole), {})
            self.assertEqual(self.faults(joined), self.faults(whole))
            for key in ("status", "exit_code", "root_cause"):
                self.assertEqual(joined[key], whole[key])

    def test_from_a_stream(self):
        results = self.run_both(
            "results: {from: stdout, pattern: 'f=(?<f>.*)', equal: [f]}",
            "echo f=$NODE_RANK")
        self.assertEqual(self.faults(results)[0], (
            "unequal", "stdout.log: 'f' is \"0\", but \"1\" on ranks 2-3"))

    def test_equal_over_the_nodes(self):
        results = self.run_both("results: {equal: [f], distinct: [g]}",
                                "echo '{\"f\": 1, \"g\": '$RANK'}' > "
                                "$JOBRUN_RESULT_FILE")
        self.assertEqual((results["status"], self.faults(results)),
                         ("succeeded", {}))
        self.assertIn("f 1   g 0 .. 3", self.told(code=0))

    def test_the_job_is_as_far_as_its_slowest_rank(self):
        results = self.run_both(
            r"progress: {pattern: 'step (?<step>\d+)', ranks: all, of: 9}",
            "echo step $((9 - RANK)); test $RANK != 1 || echo step 7")
        told = results["progress"]
        self.assertEqual((told["step"], told["of"], told["slowest"]),
                         (6, 9, {"rank": 3, "behind": 3}))
        self.assertEqual(told["warnings"],
                         ["rank 1 went back from step 8 to step 7"])
        self.assertEqual([rank["progress"]["step"]
                          for rank in results["ranks"]], [9, 7, 7, 6])
        self.assertIn("step 6 of 9; rank 3 is 3 behind", self.told(code=0))

    def test_the_progress_of_one_rank_is_the_jobs(self):
        results = self.run_both(
            r"progress: {pattern: 'step (?<step>\d+)', ranks: 2}",
            "echo step $RANK")
        self.assertEqual((results["progress"]["step"],
                          results["progress"]["slowest"]), (2, None))

    def test_a_failure_is_graver(self):
        results = self.run_both(
            "results: {equal: [f]}",
            self.deliver(["1", "1", "2", "2"]) + "; exit $((RANK == 3))")
        self.assertEqual((results["status"], results["exit_code"],
                          results["root_cause"]["rank"]), ("failed", 1, 3))
        self.assertEqual(sorted(self.faults(results)), [2, 3])

    def test_what_is_here_differs(self):
        """Sure, whatever the third node would deliver."""
        spec = self.spec(self.deliver(["1", "1", "2", "2", "2", "2"]), nodes=3,
                         more="results: {equal: [f]}")
        for node in range(2):
            self.expect(self.node(spec, node), 0)
        self.assertEqual(self.joined()["root_cause"]["rank"], 0)
        self.assertIn("node 2   not here", self.told())

    def test_other_experiments(self):
        first = ("-s", "env.LR=1")
        results = self.run_both("env: {LR: 0}", options=(first, ()))
        prints = [node["fingerprint"] for node in results["nodes"]]
        self.assertNotEqual(*prints)
        self.assertIsNone(results["fingerprint"])
        said = (f"the nodes ran different experiments: node 0: fingerprint "
                f"{prints[0][:12]}; node 1: fingerprint {prints[1][:12]}")
        self.assertEqual((results["status"], results["exit_code"],
                          results["root_cause"]["kind"],
                          results["root_cause"]["message"]),
                         ("incomplete", 5, "result", said))
        told = self.told()
        self.assertEqual(told.count(said), 1)
        self.assertIn("try:        jobrun diff exp1/node_0 exp1/node_1 shows",
                      told)
        self.expect(self.jobrun("wait", "exp1"), 5)
        done = self.expect(self.jobrun("diff", "exp1/node_0", "exp1/node_1"), 0)
        self.assertIn("env.LR", done.stdout)
        spec = self.spec("true", more="env: {LR: 0}")
        for node in range(2):
            self.expect(self.node(spec, node, *first, run="exp2"), 0)
        self.assertNotIn("different", self.told("exp2", 0))
        done = self.expect(self.jobrun("diff", "exp1", "exp2"), 0)
        self.assertIn("run exp1  (its nodes ran different experiments",
                      done.stdout)
        self.assertNotIn("same experiment", done.stdout)
        self.expect(self.jobrun("diff", "--exit-code", "exp1", "exp2"), 1)

    def test_other_experiments_in_a_folder_with_blanks(self):
        """The command that is offered can be given as it is."""
        spec = self.spec("true")
        for node, more in enumerate(((), ("-s", "env.LR=1"))):
            self.expect(self.node(spec, node, *more, logs="some runs"), 0)
        for words in (["show"], ["report"]):
            shown = self.expect(self.jobrun(
                *words, "exp1", "--log-dir", "some runs"), 0).stdout
            line = next(line for line in shown.splitlines()
                        if "jobrun diff" in line)
            words = shlex.split(line[line.index("jobrun diff") + 7:
                                     line.index(" shows in what")])
            self.assertIn("env.LR", self.expect(self.jobrun(*words), 0).stdout)

    def test_other_experiments_are_told_while_they_run(self):
        script = "echo up; while [ ! -e over ]; do sleep 0.01; done"
        spec = self.spec(script)
        nodes = [self.begin(spec, 0), self.begin(spec, 1, "-s", "env.LR=1")]
        for node in range(2):
            self.await_ranks(node, [2 * node, 2 * node + 1])
        shown = self.expect(self.jobrun("show", "exp1"), 0).stdout
        self.assertIn("the nodes ran different experiments: node 0: ", shown)
        self.write("over", "")
        for process in nodes:
            self.ends(process, 0)

    def test_other_worlds(self):
        """Their ranks may make a whole by chance."""
        results = self.run_both(options=((), ("-s", "nodes=3")))
        said = ("the nodes are not of one run: node 0: 4 ranks on 2 nodes; "
                "node 1: 6 ranks on 3 nodes")
        self.assertEqual((results["status"], results["exit_code"],
                          results["root_cause"]["kind"],
                          results["root_cause"]["message"]),
                         ("incomplete", 5, "result", said))
        self.assertEqual([node["status"] for node in results["nodes"]],
                         ["succeeded", "succeeded", "absent"])
        shown = self.told()
        self.assertIn(f"INCOMPLETE: {said} ", shown)
        self.assertEqual(shown.count(said), 1, shown)

    def test_ranks_that_several_nodes_have_or_none(self):
        for run, sizes, said in (
                ("twice", ("[3,1]", "[1,3]"), "more than one has ranks 1-2"),
                ("none", ("[1,3]", "[3,1]"), "none has ranks 1-2"),
                ("both", ("[2,2,1]", "[1,1,3]", "[2,2,1]"),
                 "more than one has rank 1; none has ranks 2-3")):
            spec = self.spec("true", nodes=len(sizes))
            for node, size in enumerate(sizes):
                self.expect(self.node(spec, node, "-s",
                                      f"local_world_size={size}", run=run), 0)
            self.assertEqual(self.joined(run)["root_cause"]["message"],
                             f"the nodes are not of one run: {said}")
            self.told(run)

    def test_a_failure_on_a_node_of_another_world(self):
        results = self.run_both(script="exit $((RANK == 1))",
                                options=((), ("-s", "nodes=3")))
        self.assertEqual((results["status"], results["root_cause"]["rank"]),
                         ("failed", 1))
        self.assertIn("the nodes are not of one run: node 0: 4 ranks",
                      self.expect(self.jobrun("show", "exp1"), 0).stdout)


class Failures(ByHand):
    def test_the_first_failure_counts(self):
        """The other node fails later, of the first one's failure."""
        spec = self.spec(
            "echo up; case $RANK in 2) exit 3;; "
            "0) while [ ! -e over ]; do sleep 0.01; done; exit 4;; esac")
        first = self.begin(spec, 0)
        self.await_ranks(0, [0])
        self.expect(self.node(spec, 1), 1)
        self.write("over", "")
        self.ends(first, 1)
        results = self.joined()
        self.assertEqual((results["status"], results["exit_code"],
                          results["root_cause"]["rank"],
                          results["root_cause"]["exit_code"]),
                         ("failed", 1, 2, 3))
        states = {rank["rank"]: rank["state"] for rank in results["ranks"]}
        self.assertEqual((states[0], states[2]),
                         ("after_first_failure", "failed"))
        shown = self.expect(self.jobrun("show", "exp1"), 0).stdout
        self.assertIn("rank 2 exited with code 3", shown)
        self.assertIn("node 1", shown)
        self.assertIn("exp1/node_1/attempt_0/2/stdout.log", shown)
        self.expect(self.jobrun("wait", "exp1"), 1)
        report = self.expect(self.jobrun("report", "exp1", "--format", "html"),
                             0).stdout
        self.assertIn("rank 2 exited with code 3", report)
        self.assertIn("node_0/attempt_0/0/stdout.log", report)
        listed = self.expect(self.jobrun("runs"), 0).stdout.splitlines()
        self.assertEqual(len(listed), 2, listed)
        self.assertTrue(listed[1].startswith("failed"), listed)

    def test_a_node_is_killed(self):
        spec = self.spec("echo up; while [ ! -e over ]; do sleep 0.01; done")
        nodes = [self.begin(spec, node) for node in range(2)]
        for node in range(2):
            self.await_ranks(node, [2 * node, 2 * node + 1])
        shown = self.expect(self.jobrun("show", "exp1"), 0).stdout
        self.assertIn("running", shown)
        self.assertIn("2 of 2 nodes are here", shown)
        self.assertIn(f"running: pid {nodes[1].pid}", shown)
        runner = harness.runner_of(nodes[1].pid)
        for pid in (runner, nodes[1].pid):
            os.kill(pid, signal.SIGSTOP)
        for pid in (runner, nodes[1].pid):
            os.kill(pid, signal.SIGKILL)
        nodes[1].communicate(timeout=harness.LIMIT)
        shown = self.expect(self.jobrun("show", "exp1"), 0).stdout
        self.assertIn(f"lost: pid {nodes[1].pid} is gone", shown)
        self.assertIn(f"running: pid {nodes[0].pid}", shown)
        self.write("over", "")
        self.ends(nodes[0], 0)
        done = self.expect(self.jobrun("wait", "exp1"), 7)
        self.assertIn("the jobrun of node 1", done.stderr)
        self.assertEqual(self.joined()["root_cause"]["kind"], "lost_node")
        self.expect(self.jobrun("wait", "exp1/node_0"), 0)
        self.expect(self.jobrun("wait", "exp1/node_1"), 7)


class Others(ByHand):
    """What the other verbs make of a run in parts."""

    def begin_both(self, script="echo up; while :; do sleep 0.01; done"):
        spec = self.spec(script)
        nodes = [self.begin(spec, node) for node in range(2)]
        for node in range(2):
            self.await_ranks(node, [2 * node, 2 * node + 1])
        return nodes

    def test_stop(self):
        nodes = self.begin_both()
        done = self.expect(self.jobrun("stop", "exp1"), 0)
        self.assertIn("STOPPED by SIGTERM", done.stderr)
        for process in nodes:
            self.ends(process, 143)
        self.expect(self.jobrun("wait", "exp1"), 143)

    def test_stop_one(self):
        nodes = self.begin_both()
        self.expect(self.jobrun("stop", "exp1/node_1"), 0)
        self.ends(nodes[1], 143)
        self.assertIsNone(nodes[0].poll())
        top = self.expect(self.jobrun("top", "exp1", "--once"), 0).stdout
        self.assertIn("ranks live", top)
        stacks = json.loads(self.expect(self.jobrun(
            "show", "exp1", "--stacks", "--format", "json"), 0).stdout)
        self.assertEqual([rank["rank"] for rank in stacks["ranks"]], [0, 1])
        self.expect(self.jobrun("stop"), 0)
        self.ends(nodes[0], 143)

    def test_wait_for_all(self):
        nodes = self.begin_both(
            "echo up; while [ ! -e over$NODE_RANK ]; do sleep 0.01; done")
        waiting = self.start("wait", "exp1")
        follows = self.start("logs", "exp1", "--follow")
        self.write("over0", "")
        self.ends(nodes[0], 0)
        self.write("over1", "")
        self.ends(nodes[1], 0)
        self.ends(waiting, 0)
        out, _ = self.ends(follows, 0)
        self.assertEqual(sorted(out.splitlines()),
                         [f"[{rank}] up" for rank in range(4)])

    def test_detached(self):
        spec = self.spec("true")
        for node in range(2):
            done = self.expect(self.node(spec, node, "--detach"), 0)
            self.assertEqual(done.stdout, f"exp1/node_{node}\n")
            self.expect(self.jobrun("wait", done.stdout.strip()), 0)
        self.expect(self.jobrun("wait", "exp1"), 0)

    def test_prune(self):
        spec = self.spec("true")
        self.expect(self.node(spec, 0), 0)
        running = self.begin(spec, 1)
        self.ends(running, 0)
        done = self.expect(self.jobrun("prune", "--keep", "0"), 0)
        self.assertEqual(done.stdout, "exp1\n")
        self.assertFalse((self.folder / "runs/exp1").exists())

    def test_prune_leaves_what_runs(self):
        nodes = self.begin_both(
            "echo up; while [ ! -e over$NODE_RANK ]; do sleep 0.01; done")
        self.write("over1", "")
        self.ends(nodes[1], 0)
        done = self.expect(self.jobrun("prune", "--keep", "0"), 0)
        self.assertEqual(done.stdout, "")
        self.write("over0", "")
        self.ends(nodes[0], 0)

    def test_rerun_and_diff(self):
        spec = self.spec("true")
        for run in ("exp1", "exp2"):
            for node in range(2):
                self.expect(self.node(spec, node, run=run), 0)
        done = self.expect(self.jobrun("diff", "exp1", "exp2"), 0)
        self.assertIn("same", done.stdout + done.stderr)
        self.expect(self.jobrun("diff", "exp1/node_0", "exp2/node_0"), 0)
        self.expect(self.jobrun(
            "rerun", "exp1/node_1", "--exact", "--run-id", "again"), 0)
        self.assertTrue((self.folder / "runs/again/node_1").exists())

    def test_a_prefix_and_what_is_none(self):
        spec = self.spec("true")
        self.expect(self.node(spec, 0), 0)
        self.expect(self.jobrun("show", "ex/node_0"), 0)
        for bad in ("exp1/node_1", "exp1/node_00", "exp1/../exp1", "exp1/",
                    "exp2/node_0", "/node_0"):
            done = self.expect(self.jobrun("show", bad), 2)
            self.assertIn("jobrun: ", done.stderr)

    def test_a_folder_with_blanks(self):
        spec = self.spec("echo here")
        for node in range(2):
            self.expect(self.node(spec, node, logs="some runs"), 0)
        said = self.expect(self.jobrun("logs", "--log-dir", "some runs"), 0)
        self.assertEqual(said.stdout.count("here\n"), 4)


if __name__ == "__main__":
    harness.main()
