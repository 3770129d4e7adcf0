"""A program that proposes the cells of a sweep: what it is asked and told, and
what becomes of a sweep whose sampler misbehaves."""
import json
import os
import signal
import textwrap

import harness
from test_sweeps import Sweep

SPEC = """\
version: 1
name: scan
device: cpu
world_size: 1
vars: {x: 0, y: 0}
env: {X: "${vars.x}", Y: "${vars.y}"}
entrypoint: {shell: %s}
results: {fields: {loss: {type: number}}}
sweep:
  sampler: [python3, propose.py]
  best: {field: loss, goal: min}
%s"""
DELIVERS = 'echo "{\\"loss\\": $X}" > "$JOBRUN_RESULT_FILE"; echo $X >> ran'
# What every sampler here begins with: each line that it gets is in `heard`.
BEGIN = """\
import json, os, sys, time
heard = open("heard", "a")
def hear():
    line = sys.stdin.readline()
    heard.write(line or "END\\n")
    heard.flush()
    return json.loads(line) if line else None
def say(text):
    print(text, flush=True)
def propose(**values):
    say(json.dumps({"values": {"vars." + k: v for k, v in values.items()}}))
"""
# Proposes x = 0, 1, 2 ... as long as `go` says so.
COUNTS = """\
n = int(os.environ.get("FIRST", "0"))
while (line := hear()):
    if "ask" in line:
        if n < %d:
            propose(x=n)
            n += 1
        else:
            say('{"done": true}')
"""


class Sampled(Sweep):
    def sampler(self, text, shell=DELIVERS, more=""):
        self.write("scan.jobrun.yaml", SPEC % (json.dumps(shell), more))
        self.write("propose.py", BEGIN + textwrap.dedent(text))

    def heard(self):
        return [line if line == "END" else json.loads(line) for line in
                (self.folder / "heard").read_text().splitlines()]

    def ran(self):
        path = self.folder / "ran"
        return path.read_text().split() if path.exists() else []

    @staticmethod
    def samplers(sweep):
        """The keeper of the sampler, and what it has below it."""
        keepers = [pid for pid in harness.children(sweep.pid)
                   if harness.name_of(pid) == "jobrun-sampler"]
        return keepers + [pid for keeper in keepers
                          for pid in harness.children(keeper)]

    def sweep_it(self, code, *words):
        return self.expect(self.jobrun("scan.jobrun.yaml", *words), code).stderr


class Proposes(Sampled):
    def test_it_is_asked_and_told(self):
        self.sampler(COUNTS % 4)
        told = self.sweep_it(0, "--parallel", "1")
        self.assertIn("4 of 4 cells delivered; best cell 0000: loss 0", told)
        self.assertEqual(self.heard()[:4], [
            {"ask": 0},
            {"tell": 0, "values": {"vars.x": 0}, "status": "succeeded",
             "result": {"loss": 0}},
            {"ask": 1},
            {"tell": 1, "values": {"vars.x": 1}, "status": "succeeded",
             "result": {"loss": 1}}])
        self.assertEqual(self.heard()[-2:], [{"ask": 4}, "END"])
        self.assertEqual(self.ran(), ["0", "1", "2", "3"])
        self.assertEqual([cell["values"] for cell in self.sweep()["cells"]],
                         [{"vars.x": n} for n in range(4)])

    def test_no_cell_at_all(self):
        """Nothing was delivered, which is no success, whatever asks."""
        self.sampler(COUNTS % 0)
        told = self.sweep_it(5)
        self.assertIn("scan: the sampler proposed no cell: nothing ran, and "
                      "nothing was delivered", told)
        self.assertEqual(self.sweep()["exit_code"], 5)
        self.expect(self.jobrun("wait", "latest"), 5)
        shown = self.expect(self.jobrun("runs", "--json"), 0).stdout
        self.assertEqual([(run["status"], run["exit_code"]) for run in
                          json.loads(shown)["runs"]], [("incomplete", 5)])
        self.sweep_it(5, "--resume")
        self.sampler(COUNTS % 2)
        self.sweep_it(0, "--resume")
        self.sampler(COUNTS % 0)  # all that there is has delivered
        self.assertIn("2 of 2 cells delivered", self.sweep_it(0, "--resume"))

    def test_it_is_asked_while_there_is_room(self):
        self.sampler(COUNTS % 3, shell=f": > up.$X; while [ $(ls up.* | wc -l) "
                     f"-lt 3 ]; do sleep 0.02; done; {DELIVERS}",
                     more="  parallel: 3\noversubscribe: true\n")
        self.sweep_it(0)
        self.assertEqual(self.heard()[:3], [{"ask": 0}, {"ask": 1}, {"ask": 2}])

    def test_a_failed_cell_is_told(self):
        self.sampler(COUNTS % 3, shell=f"[ $X -ne 1 ] || exit 3; {DELIVERS}")
        self.sweep_it(1)
        told = {line["tell"]: (line["status"], line["result"])
                for line in self.heard() if "tell" in line}
        self.assertEqual(told, {0: ("succeeded", {"loss": 0}),
                                1: ("failed", None),
                                2: ("succeeded", {"loss": 2})})

    def test_stop_after_ends_it(self):
        self.sampler(COUNTS % 50, shell="exit 3", more="  stop_after: 2\n")
        self.sweep_it(1, "--parallel", "1")
        self.assertEqual(self.statuses(), ["failed"] * 2)
        self.assertEqual(self.heard()[-1], "END")

    def test_values_that_are_known_are_told_at_once(self):
        self.sampler("""\
            for x in (1, 2, 1, 2, 3):
                while "ask" not in (line := hear()):
                    pass
                propose(x=x)
            while "ask" not in (line := hear()):
                pass
            say('{"done": true}')
            hear()""")
        self.sweep_it(0)
        self.assertEqual(sorted(self.ran()), ["1", "2", "3"])
        told = [(line["tell"], line["values"]["vars.x"], line["result"]["loss"])
                for line in self.heard() if "tell" in line]
        self.assertLessEqual({(0, 1, 1), (2, 1, 1), (1, 2, 2), (3, 2, 2)},
                             set(told))
        self.assertEqual([cell["cell"] for cell in self.sweep()["cells"]],
                         [0, 1, 4])

    def test_sizes_may_differ(self):
        self.sampler("""\
            for size in (1, 2, 1):
                while "ask" not in (line := hear()):
                    pass
                say(json.dumps({"values": {"world_size": size,
                                           "vars.y": line["ask"]}}))
            while "ask" not in (line := hear()):
                pass
            say('{"done": true}')""", shell="echo \"{\\\"loss\\\": 1}\" > "
            "\"$JOBRUN_RESULT_FILE\"; echo $WORLD_SIZE >> ran",
            more="oversubscribe: true\n")
        self.sweep_it(0)
        self.assertEqual(sorted(self.ran()), ["1", "1", "2", "2"])

    def test_plan_and_validate_take_the_spec_for_a_cell(self):
        self.sampler("")
        self.expect(self.jobrun("validate", "scan.jobrun.yaml"), 0)
        done = self.expect(self.jobrun("plan", "scan.jobrun.yaml", "--on",
                                       "1x0,4c"), 0)
        self.assertIn("cells that python3 proposes, 4 at once there",
                      done.stdout)
        self.assertFalse((self.folder / "heard").exists())

    def test_what_is_stated_beside_it_is_refused(self):
        self.sampler("", more="  axes: {vars.x: [1, 2]}\n")
        done = self.expect(self.jobrun("validate", "scan.jobrun.yaml"), 3)
        self.assertIn("`axes` beside `sampler`", done.stdout)
        self.sampler("")
        done = self.expect(self.jobrun("plan", "scan.jobrun.yaml", "--sweep",
                                       "vars.x=1,2"), 3)
        self.assertIn("--sweep beside `sampler`", done.stderr)


class Goes_on(Sampled):
    def test_what_delivered_is_told_first(self):
        self.sampler(COUNTS % 3, shell=f"[ $X -ne 1 -o -e good ] || exit 3; "
                     f"{DELIVERS}")
        self.sweep_it(1)
        (self.folder / "good").touch()
        (self.folder / "heard").unlink()
        self.write("propose.py", BEGIN + "n = 7\n" + (COUNTS % 9).split(
            "\n", 1)[1])
        self.sweep_it(0, "--resume", "--parallel", "1")
        heard = self.heard()
        self.assertEqual([line.get("tell") for line in heard[:2]], [0, 2])
        self.assertEqual([line["tell"] for line in heard[2:]
                          if "tell" in line], [1, 3, 4])
        self.assertEqual(sorted(self.ran()), ["0", "1", "2", "7", "8"])
        self.assertEqual([cell["cell"] for cell in self.sweep()["cells"]],
                         [0, 1, 2, 3, 4])

    def test_a_sweep_that_was_killed(self):
        self.sampler(COUNTS % 4, shell="[ $X -ne 2 -o -e good ] || "
                     f"{{ echo $$ > pid.$X; exec sleep 600; }}; {DELIVERS}")
        sweep = self.start("scan.jobrun.yaml", "--parallel", "1")
        pids = self.started(1)
        shown = json.loads(self.expect(self.jobrun("show", "--json"), 0).stdout)
        self.assertEqual(shown["counts"], {"succeeded": 2, "running": 1})
        sampler = self.samplers(sweep)
        self.assertEqual(len(sampler), 2)
        sweep.kill()
        sweep.wait(harness.LIMIT)
        self.gone(pids + sampler)
        (self.folder / "good").touch()
        self.sweep_it(0, "--resume", "--parallel", "1")
        self.assertEqual(sorted(self.ran()), ["0", "1", "2", "3"])
        self.assertEqual([cell["values"] for cell in self.sweep()["cells"]],
                         [{"vars.x": n} for n in range(4)])

    def test_one_that_was_ended_between_two_cells(self):
        """All that it proposed has delivered, and it was not done: whoever waits
        for it is told so."""
        for sent, code, status in ((signal.SIGKILL, 7, "lost"),
                                   (signal.SIGTERM, 143, "stopped")):
            self.sampler("hear()\npropose(x=0)\nwhile (line := hear()):\n"
                         "    if 'ask' in line:\n"
                         "        open('asked', 'w').close()\n"
                         "        time.sleep(600)\n")
            sweep = self.start("scan.jobrun.yaml", "--parallel", "1")
            self.until((self.folder / "asked").exists, "it was not asked")
            sweep.send_signal(sent)
            sweep.wait(harness.LIMIT)
            self.expect(self.jobrun("wait", "latest"), code)
            self.assertIn(status, self.expect(self.jobrun("runs"), 0).stdout)
            (self.folder / "asked").unlink()

    def test_a_journal_that_lies(self):
        """Numbers that no sweep has given cost nothing, and are nobody's."""
        self.sampler(COUNTS % 2)
        self.sweep_it(0)
        with (self.latest() / "journal.jsonl").open("a") as journal:
            for number in (2**32 - 2, 2**32 - 1, 4 * 10**9):
                journal.write(json.dumps({
                    "event": "cell_ended", "cell": number,
                    "values": {"vars.x": 50 + number % 7}}) + "\n")
        with self.takes_less(60):
            self.sampler(COUNTS % 3)
            self.sweep_it(0, "--resume")
        self.assertEqual([cell["cell"] for cell in self.sweep()["cells"]],
                         [0, 1, 4])

    def test_what_it_started_ends_with_the_sweep(self):
        """Whichever of jobrun's processes is killed, and however far it is."""
        self.sampler(textwrap.dedent("""\
            import subprocess
            for i in range(2):
                child = subprocess.Popen(
                    ["sleep", "600"], start_new_session=bool(i),
                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
                open(f"pid.child{i}", "w").write(str(child.pid))
            if os.fork() == 0:
                os.setsid()
                if os.fork() > 0:
                    os._exit(0)
                open("pid.daemon", "w").write(str(os.getpid()))
                os.closerange(0, 3)
                time.sleep(600)
            os.wait()
            """) + COUNTS % 9,
                     shell="echo $$ > pid.$X; exec sleep 600")
        for kill in (lambda sweep, sampler: sweep.kill(),
                     lambda sweep, sampler: sweep.terminate(),
                     lambda sweep, sampler: (os.kill(sampler[0], signal.SIGKILL),
                                             sweep.terminate())):
            sweep = self.start("scan.jobrun.yaml", "--parallel", "1")
            pids, sampler = self.started(4), self.samplers(sweep)
            kill(sweep, sampler)
            sweep.wait(harness.LIMIT)
            self.gone(pids + sampler)
            for path in self.folder.glob("pid.*"):
                path.unlink()

    def test_a_signal_ends_it_too(self):
        self.sampler(COUNTS % 9, shell="echo $$ > pid.$X; exec sleep 600")
        sweep = self.start("scan.jobrun.yaml", "--parallel", "1")
        pids = self.started(1)
        sampler = self.samplers(sweep)
        sweep.send_signal(signal.SIGTERM)
        self.assertEqual(sweep.wait(harness.LIMIT), 128 + signal.SIGTERM)
        self.gone(pids + sampler)


class Misbehaves(Sampled):
    """What runs goes on to its end, and the sweep ends with 7 and a reason."""
    def misbehave(self, text, reason, cells=1, more=""):
        self.sampler("hear()\npropose(x=0)\n" * cells +
                     textwrap.dedent(text), more=more)
        told = self.sweep_it(7, "--parallel", "1")
        self.expect(self.jobrun("wait", "latest"), 7)
        self.assertRegex(self.expect(self.jobrun("runs"), 0).stdout,
                         r"\nlaunch_failed +7 ")
        self.assertIn(reason, told)
        self.assertIn("sampler.log", told)
        self.assertEqual(self.ran(), ["0"] * cells)

    def test_it_dies_with_last_words(self):
        self.misbehave("hear()\nraise ValueError('no idea')",
                       "the sampler ended with status 1: ValueError: no idea")

    def test_it_is_killed(self):
        self.misbehave("hear()\nos.kill(os.getpid(), 9)",
                       "the sampler was killed by SIGKILL")

    def test_it_ends_well_but_is_not_done(self):
        self.misbehave("hear()", "the sampler ended with status 0")

    def test_it_dies_in_the_middle_of_a_line(self):
        self.misbehave("hear()\nhear()\nos.write(1, b'{\"val')\nos._exit(3)",
                       "ended with status 3 in the middle of a line")

    def test_it_closes_its_output(self):
        self.misbehave("hear()\nos.close(1)\ntime.sleep(600)",
                       "the sampler closed its output")

    def test_it_prints_garbage(self):
        self.misbehave("hear()\nhear()\nsay('Trial 1 \\x1b[2J finished')",
                       "printed what is no JSON object: 'Trial 1 \\x1b[2J "
                       "finished'".replace("\x1b", "\\x1b"))

    def test_it_prints_other_keys(self):
        self.misbehave("hear()\nhear()\nsay('{\"value\": {\"vars.x\": 1}}')",
                       "printed an object with other keys")
        (self.folder / "ran").unlink()
        self.misbehave("hear()\nhear()\nsay('{\"values\": {}}')",
                       "printed no values")

    def test_it_says_more_than_it_is_asked(self):
        self.misbehave("hear()\nhear()\n"
                       "say('{\"values\": {\"vars.x\": 0}}\\n{\"done\": true}')",
                       "answered what it was not asked")
        (self.folder / "ran").unlink()
        self.misbehave("hear()\nhear()\nsay('{\"done\": false}')",
                       "printed")

    def test_it_proposes_a_field_that_nobody_knows(self):
        self.misbehave("hear()\nhear()\npropose(xx=1)", "vars.xx")
        (self.folder / "ran").unlink()
        self.misbehave("hear()\nhear()\nsay('{\"values\": {\"devices\": [1]}}')",
                       "'devices' cannot vary within a sweep")

    def test_it_proposes_a_value_that_cannot_be(self):
        self.misbehave("hear()\nhear()\nsay('{\"values\": {\"world_size\": "
                       "\"many\"}}')", "'world_size' wants an integer")

    def test_it_prints_a_huge_line(self):
        self.misbehave("hear()\nhear()\n"
                       "for i in range(64): os.write(1, b'x' * (1 << 16))\n"
                       "time.sleep(600)", "a line of more than a mebibyte")

    def test_it_prints_nothing_for_ever(self):
        self.misbehave("hear()\ntime.sleep(600)",
                       "has not answered within `sampler_timeout`", 0,
                       more="  sampler_timeout: 500ms\n")

    def test_it_proposes_the_same_for_ever(self):
        self.misbehave("while (line := hear()):\n"
                       "    if 'ask' in line: propose(x=0)",
                       "proposed 100 times in a row")

    def test_it_leaves_a_child_with_its_output(self):
        self.sampler("""\
            import subprocess
            hear()
            child = subprocess.Popen(["sleep", "600"])
            open("pid.child", "w").write(str(child.pid))
            propose(x=0)
            hear()
            raise ValueError("gone")""")
        self.assertIn("ValueError: gone", self.sweep_it(7, "--parallel", "1"))
        self.gone([int((self.folder / "pid.child").read_text())])

    def test_it_is_not_there(self):
        self.sampler("")
        self.write("scan.jobrun.yaml", (self.folder / "scan.jobrun.yaml")
                   .read_text().replace("python3, propose.py", "./nothing"))
        told = self.sweep_it(7)
        self.assertIn("could not start the sampler ./nothing: No such file",
                      told)


if __name__ == "__main__":
    harness.main()
