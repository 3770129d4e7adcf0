"""The warning before the end of the time: `deadline`, who has yielded, and what
has not."""
import json
import os
import pathlib
import signal
import time

import harness
from test_nodes_by_srun import Agents

AT = "deadline@1500ms"  # by then a shell has set its trap
ON_75 = "trap 'exit 75' USR1; echo 'step 7/9'; while :; do sleep 0.02; done"
ON_0 = "trap 'exit 0' USR1; echo 'step 7/9'; while :; do sleep 0.02; done"


class Case(harness.Case):
    def spec(self, script, ranks=2, entry=None, **more):
        """A spec of a shell script; a field that is None is left out."""
        entry = entry or "{shell: %s}" % json.dumps(script)
        fields = {"timeouts": "{run: 1h, stop_grace: 5s}",
                  "deadline": "{before: 10m}"} | more
        self.write("d.jobrun.yaml", "version: 1\nname: d\ndevice: cpu\n"
                   f"oversubscribe: true\nworld_size: {ranks}\n"
                   f"entrypoint: {entry}\n" +
                   "".join(f"{key}: {value}\n"
                           for key, value in fields.items()
                           if value is not None))

    def go(self, code, *words, at=AT):
        return self.expect(self.jobrun("d.jobrun.yaml", "--inject", at, *words),
                           code)

    def states(self):
        return [rank["state"] for rank in self.results()["ranks"]]


class Yields(Case):
    def test_by_its_exit_code(self):
        self.spec(ON_75, restart="{max: 3, backoff: 0}")
        done = self.go(8)
        self.assertRegex(done.stderr, r"YIELDED after [^:]*: 2 of 2 ranks "
                         r"stopped for the deadline; to be continued +exit "
                         r"status 8")
        results = self.results()
        self.assertEqual((results["status"], results["exit_code"],
                          results["attempt"], results["root_cause"],
                          results["not_restarted"]),
                         ("yielded", 8, 0, None, None))
        self.assertEqual(self.states(), ["yielded", "yielded"])
        self.assertEqual([(rank["exit_code"], rank["deadline_signal"])
                          for rank in results["ranks"]],
                         [(75, "SIGUSR1")] * 2)
        event, = [event for event in self.events()
                  if event["event"] == "deadline"]
        self.assertEqual((event["signal"], event["running"]), ("SIGUSR1", 2))
        self.assertIn("YIELDED after", self.jobrun("show").stdout)
        self.assertRegex(self.jobrun("runs").stdout, r"(?m)^yielded +8 ")
        self.expect(self.jobrun("report", "--format", "html", "-o", "x.html"), 0)
        page = (self.folder / "x.html").read_text()
        self.assertIn("stopped for the deadline", page)

    def test_its_on_end_is_told(self):
        self.spec(ON_75, on_end="[sh, -c, 'echo $JOBRUN_STATUS "
                  "$JOBRUN_EXIT_CODE > told']")
        self.go(8)
        self.assertEqual((self.folder / "told").read_text(), "yielded 8\n")

    def test_with_0_and_nothing_delivered(self):
        self.spec(ON_0, results="{from: file}")
        self.go(8)
        self.assertEqual(self.states(), ["yielded", "yielded"])

    def test_by_the_signal_where_the_job_has_made_a_step(self):
        self.spec("echo step 7; exec sleep 1000",
                  progress="{pattern: 'step (?<step>\\d+)'}")
        self.go(8)
        self.assertEqual(self.states(), ["yielded", "yielded"])
        self.assertEqual({rank["signal"] for rank in self.results()["ranks"]},
                         {"SIGUSR1"})

    def test_while_another_delivers(self):
        self.spec("trap 'test $RANK = 1 && exit 75; echo {} > "
                  "$JOBRUN_RESULT_FILE; exit 0' USR1; "
                  "while :; do sleep 0.02; done", results="{from: file}")
        done = self.go(8)
        self.assertEqual(self.states(), ["succeeded", "yielded"])
        self.assertIn("1 of 2 ranks stopped for the deadline", done.stderr)

    def test_another_signal(self):
        self.spec(ON_75.replace("USR1", "USR2"),
                  deadline="{before: 10m, signal: USR2}")
        self.go(8)

    def test_before_the_end_of_the_run(self):
        self.spec(ON_75, timeouts="{run: 10m, stop_grace: 5s}",
                  deadline="{before: 598500ms}")
        self.expect(self.jobrun("d.jobrun.yaml"), 8)

    def test_python_functions(self):
        self.write("f.py", "import signal, sys, time\n"
                   "def f(rank):\n"
                   "    if int(rank) == 1:\n"
                   "        return 5\n"
                   "    def save(sig, frame):\n"
                   "        sys.exit(75)\n"
                   "    signal.signal(signal.SIGUSR1, save)\n"
                   "    while True:\n"
                   "        time.sleep(0.01)\n")
        self.spec("", entry="{python: {function: 'f:f'}, args: [!rank]}"
                  .replace("!rank", "'%{rank}'"))
        self.go(8, at="deadline@3s")
        self.assertEqual(self.states(), ["yielded", "succeeded"])
        self.assertIsNone(self.results()["ranks"][1]["deadline_signal"])


class Fails(Case):
    def test_a_signal_before_the_first_step(self):
        self.spec("exec sleep 1000",
                  progress="{pattern: 'step (?<step>\\d+)'}")
        self.go(1)
        cause = self.results()["root_cause"]
        self.assertEqual((cause["kind"], cause["signal"]),
                         ("signal", "SIGUSR1"))

    def test_another_end_stops_all(self):
        self.spec("trap 'test $RANK = 1 && exit 3' USR1; echo 'step 7/9'; "
                  "while :; do sleep 0.02; done")
        self.go(1)
        self.assertEqual(self.states(), ["stopped", "failed"])
        self.assertEqual(self.results()["root_cause"]["exit_code"], 3)

    def test_75_before_the_deadline(self):
        self.spec("exit 75")
        self.expect(self.jobrun("d.jobrun.yaml"), 1)
        self.assertIn("failed", self.states())

    def test_the_end_of_the_time(self):
        self.spec("trap '' USR1; exec sleep 1000",
                  timeouts="{run: 2500ms, stop_grace: 5s}",
                  deadline="{before: 1s}")
        self.expect(self.jobrun("d.jobrun.yaml"), 6)
        self.assertEqual(self.results()["status"], "timed_out")

    def test_a_wrong_result(self):
        self.spec("trap 'echo [ > $JOBRUN_RESULT_FILE; exit 0' USR1; "
                  "while :; do sleep 0.02; done", results="{from: file}")
        self.go(5)
        self.assertEqual(self.states(), ["incomplete", "incomplete"])

    def test_a_stop_of_jobrun_itself(self):
        self.spec(ON_75.replace("exit 75", ""))
        process = self.start("d.jobrun.yaml", "--inject", AT)
        self.await_event(event="deadline")
        process.terminate()
        self.assertEqual(process.wait(harness.LIMIT), 143)

    def test_success_is_success(self):
        self.spec("trap 'echo {} > $JOBRUN_RESULT_FILE; exit 0' USR1; "
                  "while :; do sleep 0.02; done", results="{from: file}")
        self.go(0)


class Injections(Case):
    def test_wrong_ones(self):
        self.spec("exit 0")
        for text, words in ((f"{AT},deadline:0", "for the whole job"),
                            ("deadline=3", "only exit has a code")):
            self.assertIn(words, self.go(2, at=text).stderr)
        self.spec("exit 0", deadline=None)
        done = self.go(2)
        self.assertIn("the spec has no deadline", done.stderr)


class WithoutAnEnd(Case):
    """Where no end is known, it is said before the first rank starts."""
    WARNING = "warning[JR0515]: the end of this run is not known"

    def setUp(self):
        super().setUp()
        self.spec("exit 0", timeouts=None, results="{required: none}")

    def said(self, *words, **how):
        return self.expect(self.jobrun(*words, **how), 0).stderr

    def test_it_is_said_once(self):
        self.assertIn(self.WARNING, self.said("plan", "d.jobrun.yaml"))
        self.spec("exit $((1 - JOBRUN_ATTEMPT))", timeouts=None,
                  restart="{max: 1, backoff: 0}")
        told = self.said("d.jobrun.yaml")
        self.assertEqual(told.count(self.WARNING), 1)
        self.assertLess(told.index(self.WARNING), told.index("2 ranks on 1"))
        self.assertIn("state `timeouts.run`, run it in a Slurm allocation",
                      told)

    def test_where_it_would_be_wrong(self):
        for words, how in (
                (["plan", "--on", "1x2"], {}),  # another machine than this
                (["plan", "-s", "timeouts.run=1h"], {}),
                (["run", "-s", "timeouts.run=1h"], {}),
                (["plan"], {"env": {"SLURM_JOB_ID": "4711"}}),
                (["validate"], {}),  # the end is where it will run
                (["render", "--engine", "slurm"], {}),
                (["run", "--inject", "deadline@1h"], {})):
            with self.subTest(words):
                self.assertNotIn("JR0515", self.said(
                    words[0], "d.jobrun.yaml", *words[1:], **how))
        self.spec("exit 0", deadline=None, timeouts=None)
        self.assertNotIn("JR0515", self.said("d.jobrun.yaml"))


def ignores(pid):
    """Whether the process ignores SIGTERM."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    bits = status.split("SigIgn:")[1].split()[0]
    return bool(int(bits, 16) >> (signal.SIGTERM - 1) & 1)


READY = "echo $$ > r.$RANK; mv r.$RANK ready.$RANK; "
PYTHON = """import os, signal, time
def f():
    rank = os.environ["RANK"]
    open("r." + rank, "w").write(str(os.getpid()))
    os.rename("r." + rank, "ready." + rank)
    while True:
        time.sleep(0.01)
if __name__ == "__main__":
    f()
"""


class Shields(Case):
    """Slurm sends SIGTERM to all processes of a job before jobrun can send the
    deadline's signal, so ranks begin with it ignored. A stop by jobrun does not
    wait for the grace, which is longer here than any test."""

    def begin(self, script="", ranks=2, entry=None, env=None, **more):
        self.spec(script, ranks, entry, **{
            "timeouts": "{run: 10h, stop_grace: 1h}"} | more)
        env = {"SLURM_JOB_ID": "4711"} if env is None else env
        process = self.start("d.jobrun.yaml", "--local", env=env)
        names = [self.folder / f"ready.{rank}" for rank in range(ranks)]
        until = time.monotonic() + harness.LIMIT
        while not all(name.exists() for name in names):
            self.assertIsNone(process.poll())
            self.assertLess(time.monotonic(), until)
            time.sleep(0.01)
        pids = [int(name.read_text()) for name in names]
        for name in names:
            name.unlink()
        return process, pids

    def stop(self, process, code=143):
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=harness.LIMIT)
        self.assertEqual(process.returncode, code, said)
        return said

    def test_each_form_of_a_rank(self):
        self.write("p.py", PYTHON)
        function = "{python: {function: 'p:f'}}"
        for entry, more in (
                ("{shell: %s}" % json.dumps(READY + "sleep 1000; true"), {}),
                (json.dumps(["sh", "-c", READY + "exec sleep 1000"]), {}),
                ("[python3, p.py]", {}),
                (function, {"start_method": "spawn"}),
                (function, {"start_method": "fork"}),
                (function, {"start_method": "forkserver"})):
            with self.subTest(entry, **more):
                process, pids = self.begin(entry=entry, **more)
                self.assertEqual([ignores(pid) for pid in pids], [True] * 2)
                os.kill(pids[0], signal.SIGTERM)  # as Slurm does
                said = self.stop(process)
                self.assertIn("ranks 0-1 stopped by jobrun (SIGKILL)", said)
                self.assertEqual(self.states(), ["stopped"] * 2)

    def test_what_else_is_in_the_group(self):
        """The leader has a handler and waits for a child that has none; another
        child left the leader's session, and is nobody's business until the
        end."""
        self.write("p.py", "import os, signal, subprocess, sys\n"
                   "child = subprocess.Popen(['sleep', '1000'])\n"
                   "subprocess.Popen(['setsid', 'sleep', '1000'])\n"
                   "def leave(sig, frame):\n"
                   "    open('said', 'w').write(str(child.wait()))\n"
                   "    sys.exit(3)\n"
                   "signal.signal(signal.SIGTERM, leave)\n"
                   "rank = os.environ['RANK']\n"
                   "open('r', 'w').write(str(os.getpid()))\n"
                   "os.rename('r', 'ready.0')\n"
                   "while True:\n    signal.pause()\n")
        process, (pid,) = self.begin(ranks=1, entry="[python3, p.py]",
                                     stop_target="group")
        self.assertFalse(ignores(pid))
        self.stop(process)
        self.assertEqual((self.folder / "said").read_text(), "-9")
        self.assertEqual(self.results()["ranks"][0]["exit_code"], 3)

    def test_a_handler_has_its_grace(self):
        self.write("p.py", PYTHON.replace(
            "    rank =", "    signal.signal(signal.SIGTERM, lambda *_: "
            "open('said', 'w') and os._exit(0))\n    rank ="))
        process, _ = self.begin(entry="[python3, p.py]")
        self.stop(process)
        self.assertTrue((self.folder / "said").exists())

    def test_setup(self):
        process, (pid,) = self.begin(
            "exit 0", 1, setup=json.dumps("RANK=0; " + READY + "sleep 1000"))
        self.assertTrue(ignores(pid))
        self.stop(process)

    def test_where_there_is_none(self):
        for env, more in (
                ({}, {}),
                (None, {"deadline": "{before: 10m, signal: TERM}"}),
                (None, {"deadline": None})):
            with self.subTest(env=env, **more):
                process, pids = self.begin(READY + "exec sleep 1000", env=env,
                                           **more)
                self.assertEqual([ignores(pid) for pid in pids], [False] * 2)
                self.assertIn("ranks 0-1 stopped by jobrun (SIGTERM)",
                              self.stop(process))


class Nodes(Agents):
    def test_ranks_of_two_nodes(self):
        done = self.expect(self.run_on(
            2, ON_75, "--inject", "deadline@3s",
            more="deadline: {before: 10m}\ntimeouts: {run: 1h}"), 8)
        self.assertIn("4 of 4 ranks stopped for the deadline", done.stderr)
        self.nobody_is_left()


if __name__ == "__main__":
    harness.main()
