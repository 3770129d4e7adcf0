"""What each verb prints, and that the verbs agree with each other."""
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import time

import harness

SHELL = "version: 1\nname: t\ndevice: cpu\nworld_size: %d\n%s" \
        "entrypoint:\n  shell: |\n%s"
PORT = re.compile(r"^master_port: \d+$", re.M)


def shell(text, n=2, more=""):
    return SHELL % (n, more, "".join(f"    {line}\n"
                                     for line in text.splitlines()))


class Resolve(harness.Case):
    def test_its_output_resolves_to_itself(self):
        jobs = self.copy_examples()
        specs = sorted(jobs.glob("*.jobrun.yaml"))
        self.assertGreaterEqual(len(specs), 5)
        for spec in specs:
            for on in ([], ["--on", "1x8:H100,96c"], ["--on", "1x0,4c"]):
                with self.subTest(spec.name, on=on):
                    self.fixed_point(spec, on)

    def fixed_point(self, spec, on):
        limit = time.monotonic() + harness.LIMIT
        while True:
            first = self.jobrun("resolve", spec, *on)
            if first.returncode == 4:  # this spec wants other devices
                self.assertIn(": error[JR0", first.stderr)
                return
            path = self.write("resolved.yaml", self.expect(first, 0).stdout)
            with open(path) as file:
                again = self.jobrun("resolve", "-", *on, stdin=file)
            if "[JR0430]" not in again.stderr or time.monotonic() > limit:
                break  # else somebody else took the port meanwhile
        self.assertEqual(self.expect(again, 0).stdout, first.stdout)
        self.expect(self.jobrun("validate", path), 0)

    def test_explain_tells_where_from(self):
        self.write("t.jobrun.yaml", shell("true", 4))
        done = self.expect(self.jobrun("resolve", "t.jobrun.yaml", "--on",
                                       "1x0,8c", "--explain"), 0)
        rows = dict(line.split(None, 1) for line in done.stdout.splitlines())
        self.assertRegex(rows["world_size"], r"^4 +t\.jobrun\.yaml:4:13$")
        self.assertRegex(rows["threads"], r"^2 .*--on 1x0,8c.*8 physical")
        self.assertRegex(rows["nodes"], r"^1 .*--on 1x0,8c")
        told = self.jobrun("resolve", "t.jobrun.yaml", "--on", "1x0,8c",
                           "--format", "json")
        fields = json.loads(self.expect(told, 0).stdout)["fields"]
        self.assertEqual([row["field"] for row in fields],
                         [name for name in rows if name != "field"])

    def test_options_behind_the_dashes_are_the_commands(self):
        done = self.expect(self.jobrun("resolve", "-n", "2", "--", "prog",
                                       "--explain"), 0)
        self.assertIn("command: [prog, --explain]", done.stdout)


class Plan(harness.Case):
    def plan(self, *words):
        done = self.expect(self.jobrun("plan", *words, "--format", "json"), 0)
        return json.loads(done.stdout)

    def test_on_machines_that_are_not_here(self):
        self.write("t.jobrun.yaml", "version: 1\nentrypoint: [./train]\n"
                   "parallelism: {model: 4}\n")
        plan = self.plan("t.jobrun.yaml", "--on", "2x8:H100,96c")
        self.assertEqual(plan["world_size"], 16)
        self.assertEqual(plan["nodes"], 2)
        self.assertEqual(plan["mesh"]["data"], 4)
        self.assertEqual([r["node_rank"] for r in plan["ranks"]],
                         [0] * 8 + [1] * 8)
        self.assertEqual([r["local_rank"] for r in plan["ranks"]],
                         list(range(8)) * 2)
        self.assertEqual([r["threads"] for r in plan["ranks"]], [12] * 16)
        self.assertEqual(plan["mesh"]["groups"]["model"][3],
                         [12, 13, 14, 15])
        self.assertFalse((self.folder / "runs").exists())
        text = self.expect(self.jobrun("plan", "t.jobrun.yaml", "--on",
                                       "2x8:H100,96c"), 0).stdout
        self.assertIn("16 ranks = data 4 x pipeline 1 x model 4", text)
        self.assertIn("proved: each axis partitions 0-15", text)
        self.assertIn("GPU 7 (H100)", text)

    def test_on_machines_with_a_spare(self):
        self.write("t.jobrun.yaml", "version: 1\nentrypoint: [./train]\n"
                   "nodes: 4\nspare_nodes: 1\nrestart: {max: 1}\n")
        plan = self.plan("t.jobrun.yaml", "--on", "5x8:H100")
        self.assertEqual((plan["world_size"], plan["nodes"], plan["spares"]),
                         (32, 4, [None]))
        text = self.expect(self.jobrun("plan", "t.jobrun.yaml", "--on",
                                       "5x8:H100"), 0).stdout
        self.assertIn("32 ranks on 4 nodes, and 1 spare\n", text)
        self.assertIn("spares    node 4: it takes the place of a node that is "
                      "lost\n", text)
        named = self.plan("t.jobrun.yaml", "--on", "5x8:H100",
                          "--hosts", "a,b,c,d,e")
        self.assertEqual(named["spares"], ["e"])
        few = self.expect(self.jobrun("plan", "t.jobrun.yaml", "--on",
                                      "4x8:H100"), 4)
        self.assertIn("nodes 4 and spare_nodes 1, but --on 4x8:H100 has 4",
                      few.stderr)

    def test_env_shows_what_the_run_sets(self):
        self.write("t.jobrun.yaml", shell(
            "env", 2, "env: {LR: 0.5, API_TOKEN: \"???\"}\ntee: none\n"
            "redirects: out\n"))
        env = {"API_TOKEN": "hunter2"}
        done = self.expect(self.jobrun("plan", "t.jobrun.yaml", "--env",
                                       "--run-id", "one", env=env), 0)
        self.assertNotIn("hunter2", done.stdout)
        shown = set(re.findall(r"^  ([A-Z_0-9]+=.*)$", done.stdout, re.M))
        self.expect(self.jobrun("t.jobrun.yaml", "--run-id", "one", env=env),
                    0)
        logs = (self.folder / "runs/one").glob("attempt_0/*/stdout.log")
        had = set("".join(log.read_text() for log in logs).splitlines())
        self.assertIn("LR=0.5", shown)
        self.assertIn("API_TOKEN=<redacted>", shown)
        self.assertIn("API_TOKEN=hunter2", had)
        shown = {line for line in shown if "<redacted>" not in line
                 and not line.startswith("MASTER_PORT=")}
        self.assertGreater(len(shown), 30)
        self.assertEqual(shown - had, set())

    def test_findings_point_at_the_text(self):
        self.write("t.jobrun.yaml", "version: 1\nentrypoint: [./train]\n"
                   "env:\n  LR: 1\n  DATA: ???\n")
        done = self.expect(self.jobrun("plan", "t.jobrun.yaml"), 4)
        self.assertIn("t.jobrun.yaml:5:9: error[JR0501]", done.stderr)
        self.assertIn("   5 |   DATA: ???\n", done.stderr)
        self.write("t.jobrun.yaml", "version: 1\nentrypoint: [./train]\n"
                   "parallelism:\n  model: 4\n")
        done = self.expect(self.jobrun("plan", "t.jobrun.yaml", "--on",
                                       "2x6:H100"), 0)
        self.assertIn("t.jobrun.yaml:4:10: warning[JR0503]", done.stderr)


class Local(harness.Case):
    SPEC = "version: 1\nname: t\ndevice: cpu\nnodes: 2\n" \
           "local_world_size: [2, 1]\nentrypoint:\n  shell: |\n" \
           "    echo \"$RANK $LOCAL_RANK $GROUP_RANK $WORLD_SIZE " \
           "$LOCAL_WORLD_SIZE $GROUP_WORLD_SIZE $MASTER_ADDR\"\n"

    def test_every_node_runs_here(self):
        self.write("t.jobrun.yaml", self.SPEC)
        self.expect(self.jobrun("t.jobrun.yaml"), 4)
        done = self.expect(self.jobrun("t.jobrun.yaml", "--local"), 0)
        self.assertEqual(sorted(done.stdout.splitlines()), [
            "[0] 0 0 0 3 2 2 127.0.0.1",
            "[1] 1 1 0 3 2 2 127.0.0.1",
            "[2] 2 0 1 3 1 2 127.0.0.1"])
        self.assertIn("3 ranks on 2 nodes", done.stderr)
        ranks = self.results()["ranks"]
        self.assertEqual([r["node_rank"] for r in ranks], [0, 0, 1])
        self.assertEqual([r["local_rank"] for r in ranks], [0, 1, 0])

    def test_the_plan_is_what_runs(self):
        self.write("t.jobrun.yaml", self.SPEC)
        plan = self.expect(self.jobrun("plan", "t.jobrun.yaml", "--local",
                                       "--format", "json"), 0)
        self.assertEqual([r["node_rank"]
                          for r in json.loads(plan.stdout)["ranks"]],
                         [0, 0, 1])


class Commands(harness.Case):
    def test_a_command_without_a_spec(self):
        done = self.expect(self.jobrun(
            "-n", "3", "--run-id", "three", "--", "sh", "-c",
            "echo \"$RANK of $WORLD_SIZE $1\"", "sh", "-n"), 0)
        self.assertEqual(sorted(done.stdout.splitlines()),
                         [f"[{i}] {i} of 3 -n" for i in range(3)])
        self.assertEqual(self.results("three")["name"], "sh")

    def test_what_no_person_wrote_is_taken_literally(self):
        done = self.expect(self.jobrun("-n", "1", "--", "printf", "%s\\n",
                                       "${vars.x} $${y} ???", "null", "~"), 0)
        self.assertEqual(done.stdout, "[0] ${vars.x} $${y} ???\n[0] null\n"
                                      "[0] ~\n")

    def test_templates_are_filled_in(self):
        done = self.expect(self.jobrun("-n", "2", "--", "echo", "%{rank}",
                                       "%%{rank}"), 0)
        self.assertEqual(sorted(done.stdout.splitlines()),
                         ["[0] 0 %{rank}", "[1] 1 %{rank}"])

    def test_words_behind_a_spec_are_appended(self):
        self.write("t.jobrun.yaml", "version: 1\nname: t\nworld_size: 1\n"
                   "device: cpu\nentrypoint: [echo, a]\n")
        done = self.expect(self.jobrun("t.jobrun.yaml", "--", "b", "--json"),
                           0)
        self.assertEqual(done.stdout, "[0] a b --json\n")


class Looking(harness.Case):
    """The verbs on finished runs."""

    def setUp(self):
        super().setUp()
        self.write("t.jobrun.yaml", shell("echo out $RANK\necho err $RANK >&2",
                                          3))

    def run_ids(self):
        done = self.expect(self.jobrun("runs", "--format", "json"), 0)
        return [run["run_id"] for run in json.loads(done.stdout)["runs"]]

    def test_runs_are_listed_newest_first(self):
        self.assertEqual(self.run_ids(), [])
        for name in ("b", "a", "c"):
            self.expect(self.jobrun("t.jobrun.yaml", "--run-id", name), 0)
        self.expect(self.jobrun("-n", "1", "--run-id", "bad", "--", "false"),
                    1)
        self.assertEqual(self.run_ids(), ["bad", "c", "a", "b"])
        lines = self.expect(self.jobrun("runs"), 0).stdout.splitlines()
        self.assertEqual([line.split()[-1] for line in lines[1:]],
                         ["bad", "c", "a", "b"])
        self.assertRegex(lines[1], r"^failed +1 +1 ")
        self.assertRegex(lines[2], r"^succeeded +0 +3 ")

    def test_show_tells_what_the_run_told(self):
        for text, code in (("true", 0), ("echo bad >&2; exit $RANK", 1),
                           ("kill -9 $$", 1)):
            with self.subTest(text):
                self.write("s.jobrun.yaml", shell(text))
                told = self.expect(self.jobrun("s.jobrun.yaml"), code).stderr
                shown = self.expect(self.jobrun("show"), 0).stdout
                report = told[told.index("jobrun: succeeded" if code == 0
                                         else "jobrun: FAILED"):]
                run_id = self.results()["run_id"]
                self.assertEqual(shown.replace(f" {run_id}", " latest"),
                                 report)

    def test_show_by_prefix_and_as_json(self):
        self.expect(self.jobrun("t.jobrun.yaml", "--run-id", "alpha-1"), 0)
        self.expect(self.jobrun("t.jobrun.yaml", "--run-id", "alpha-2"), 0)
        self.assertIn("alpha-2", self.expect(self.jobrun("show"), 0).stdout)
        self.assertIn("alpha-1",
                      self.expect(self.jobrun("show", "alpha-1"), 0).stdout)
        self.assertIn("alpha-", self.expect(self.jobrun("show", "alpha"),
                                            2).stderr)
        self.expect(self.jobrun("show", "gone"), 2)
        done = self.expect(self.jobrun("show", "alpha-1", "--format", "json"),
                           0)
        self.assertEqual(json.loads(done.stdout), self.results("alpha-1"))

    def test_logs_are_the_ranks_bytes(self):
        self.expect(self.jobrun("t.jobrun.yaml", "--run-id", "one"), 0)
        done = self.expect(self.jobrun("logs", "one", "--rank", "0,2"), 0)
        self.assertEqual(done.stdout, "".join(
            f"{'' if (rank, stream) == (0, 'out') else chr(10)}"
            f"==> runs/one/attempt_0/{rank}/std{stream}.log <==\n"
            f"{stream} {rank}\n"
            for rank in (0, 2) for stream in ("out", "err")))
        done = self.expect(self.jobrun("logs", "one", "--rank", "7,9"), 2)
        self.assertEqual(done.stderr, "jobrun: no rank 7,9 in this run: "
                         "--rank takes 0-2\n")
        self.expect(self.jobrun("logs", "one", "--rank", "x"), 2)

    def test_a_run_by_the_path_of_its_folder(self):
        runs = self.folder / "runs"
        first, second = runs / "a", runs / "b"
        for run in first, second:
            self.expect(self.jobrun("t.jobrun.yaml", "--run-id", run.name), 0)
        for path in "runs/a", "runs/a//":
            with self.subTest(path=path):
                shown = self.expect(self.jobrun("show", path), 0).stdout
                self.assertEqual(shown, self.jobrun("show", "a").stdout)
        done = self.jobrun("show", "runs/latest", cwd="/")
        self.assertEqual(done.returncode, 2)
        done = self.expect(self.jobrun("show", runs / "latest", cwd="/"), 0)
        self.assertEqual(done.stdout, self.expect(self.jobrun(
            "show", "latest", "--log-dir", runs, cwd="/"), 0).stdout)
        self.assertEqual(
            self.expect(self.jobrun("diff", first, second), 0).stdout,
            self.expect(self.jobrun("diff", "a", "b"), 0).stdout)
        # What is stated counts, and a folder without a run is none.
        self.expect(self.jobrun("show", first, "--log-dir", "runs"), 2)
        self.expect(self.jobrun("show", "runs/latest/attempt_0"), 2)

    def test_one_run_is_removed_with_its_folder(self):
        """prune keeps the newest 50, and so would not remove it."""
        self.write("t.jobrun.yaml", shell("true"))
        self.expect(self.jobrun("t.jobrun.yaml", "--run-id", "a"), 0)
        self.write("t.jobrun.yaml", shell("true", 1, "log_dir: b c\n"))
        self.expect(self.jobrun("t.jobrun.yaml", "--run-id", "b"), 0)
        for name in "a", "latest", "runs/a", self.folder / "runs/a":
            done = self.expect(self.jobrun("rm", name), 2)
            self.assertTrue(done.stderr.endswith(
                ": rm -r %s\n" % shlex.quote(
                    os.path.realpath(self.folder / "runs/a"))),
                done.stderr)
        done = self.expect(self.jobrun("rm", "b", "--log-dir", "b c"), 2)
        self.assertIn("/b c/b'\n", done.stderr)
        # What is no run is told to nobody who means to remove one.
        for name in "b", "..", ".", "", "../t.jobrun.yaml", "../runs":
            done = self.expect(self.jobrun("rm", name), 2)
            self.assertIn("jobrun prune\n", done.stderr)
            self.assertNotIn("rm -r", done.stderr)

    def test_another_log_dir(self):
        self.write("d.jobrun.yaml", shell("true", 1, "log_dir: elsewhere\n"))
        self.expect(self.jobrun("d.jobrun.yaml", "--run-id", "one"), 0)
        self.assertEqual(self.run_ids(), [])
        for verb in ("runs", "show", "logs"):
            with self.subTest(verb):
                done = self.expect(self.jobrun(verb, "--log-dir", "elsewhere"),
                                   0)
                self.assertNotIn("runs/", done.stdout)


class Following(harness.Case):
    """`logs -f` on a live run. The ranks wait for files that the test makes,
    so nothing depends on how fast anything is."""

    def setUp(self):
        super().setUp()
        self.write("t.jobrun.yaml", shell(
            "echo begin $RANK\nwhile [ ! -e go ]; do sleep 0.02; done\n"
            "seq 1000\nprintf 'no newline'", 2, "tee: none\nredirects: out\n"))

    def await_text(self, path, text):
        """The file must hold the text within the limit."""
        until = time.monotonic() + harness.LIMIT
        while not (path.exists() and text in path.read_text()):
            self.assertLess(time.monotonic(), until, f"no {text!r} in {path}")
            time.sleep(0.01)

    def live(self):
        run = self.start("t.jobrun.yaml", "--run-id", "live")
        self.await_text(self.folder / "runs/live/attempt_0/1/stdout.log",
                        "begin 1")
        return run

    def follow(self, *words):
        return self.start("logs", "-f", "live", *words,
                          stderr=subprocess.DEVNULL)

    def test_it_ends_with_the_run(self):
        run = self.live()
        logs = self.follow("--rank", "0")
        self.assertEqual(logs.stdout.readline(), "begin 0\n")
        (self.folder / "go").touch()
        rest, _ = logs.communicate(timeout=harness.LIMIT)
        self.assertEqual(rest, "".join(f"{i}\n" for i in range(1, 1001)) +
                         "no newline")
        self.assertEqual(logs.returncode, 0)
        self.assertEqual(run.wait(harness.LIMIT), 0)

    def test_what_another_machine_writes(self):
        deaf = harness.preload(self, "DEAF_LIBRARY")
        if self.jobrun("--version", env=deaf).returncode != 0:
            self.skipTest("SKIPPED: nothing can be preloaded")
        (self.folder / "go").touch()
        self.expect(self.jobrun("t.jobrun.yaml", "--run-id", "live"), 0)
        run = self.folder / "runs/live"
        record = json.loads((run / "run.json").read_text())
        record.update(host="elsewhere.example", finished=None, status=None)
        (run / "run.json").write_text(json.dumps(record))
        (run / "results.json").rename(run / "kept")
        log = run / "attempt_0/0/stdout.log"
        log.write_text("first\n")
        logs = self.start("logs", "-f", "live", "--rank", "0", env=deaf,
                          stderr=subprocess.DEVNULL)
        self.assertEqual(logs.stdout.readline(), "first\n")
        with log.open("a") as file:
            file.write("second\n")
        self.assertEqual(logs.stdout.readline(), "second\n")
        (run / "kept").rename(run / "results.json")
        self.assertEqual(logs.wait(harness.LIMIT), 0)

    def test_it_ends_at_once_when_the_run_has_ended(self):
        (self.folder / "go").touch()
        self.expect(self.jobrun("t.jobrun.yaml", "--run-id", "live"), 0)
        done = self.expect(self.jobrun("logs", "-f", "--rank", "1"), 0)
        self.assertTrue(done.stdout.endswith("\n1000\nno newline"))

    def test_it_ends_with_a_run_that_was_killed(self):
        run = self.live()
        logs = self.follow("--rank", "0")
        self.assertEqual(logs.stdout.readline(), "begin 0\n")
        runner = harness.runner_of(run.pid)
        for sig in (signal.SIGSTOP, signal.SIGKILL):
            for pid in (runner, run.pid):
                os.kill(pid, sig)
        run.wait(harness.LIMIT)
        rest, _ = logs.communicate(timeout=harness.LIMIT)
        self.assertEqual((rest, logs.returncode), ("", 7))
        done = self.expect(self.jobrun("logs", "-f", "live"), 7)
        self.assertIn("runs/live has ended, and left no results", done.stderr)

    def test_it_waits_for_who_completes_a_killed_run(self):
        run = self.live()
        logs = self.follow("--rank", "0")
        self.assertEqual(logs.stdout.readline(), "begin 0\n")
        run.send_signal(signal.SIGKILL)
        run.wait(harness.LIMIT)
        rest, told = logs.communicate(timeout=harness.LIMIT)
        self.assertEqual((rest, logs.returncode), ("", 0), told)
        self.assertEqual(self.results("live")["exit_code"], 7)

    def test_several_ranks_have_prefixes(self):
        run = self.live()
        logs = self.follow("--rank", "0-1")
        first = {logs.stdout.readline(), logs.stdout.readline()}
        self.assertEqual(first, {"[0] begin 0\n", "[1] begin 1\n"})
        (self.folder / "go").touch()
        lines = logs.communicate(timeout=harness.LIMIT)[0].splitlines()
        wanted = [str(i) for i in range(1, 1001)] + ["no newline"]
        for rank in "01":
            self.assertEqual([line[4:] for line in lines
                              if line.startswith(f"[{rank}] ")], wanted)
        self.assertEqual(len(lines), 2002)
        self.assertEqual(run.wait(harness.LIMIT), 0)

    def test_the_last_lines(self):
        run = self.live()
        logs = self.follow("--rank", "0", "--tail", "1")
        self.assertEqual(logs.stdout.readline(), "begin 0\n")
        (self.folder / "go").touch()
        rest, _ = logs.communicate(timeout=harness.LIMIT)
        self.assertTrue(rest.endswith("\n1000\nno newline"))
        self.assertEqual(run.wait(harness.LIMIT), 0)
        for count, wanted in (("1", "no newline"), ("0", ""),
                              ("2", "1000\nno newline"),
                              ("3", "999\n1000\nno newline")):
            done = self.expect(self.jobrun("logs", "live", "--rank", "0",
                                           "--tail", count), 0)
            self.assertEqual(done.stdout, wanted)
        for words in ((), ("--tail", "5000")):
            done = self.expect(self.jobrun("logs", "live", "--rank", "0",
                                           *words), 0)
            self.assertTrue(done.stdout.startswith("begin 0\n1\n"))
            self.assertEqual(done.stdout.count("\n"), 1001)

    def test_it_goes_on_in_the_next_attempt(self):
        run = self.live()
        logs = self.follow("--rank", "0")
        self.assertEqual(logs.stdout.readline(), "begin 0\n")
        folder = self.folder / "runs/live/attempt_1/0"
        folder.mkdir(parents=True)
        (folder / "stdout.log").write_text("again\n")
        self.assertEqual(logs.stdout.readline(), "again\n")
        (self.folder / "go").touch()
        logs.communicate(timeout=harness.LIMIT)
        self.assertEqual(run.wait(harness.LIMIT), 0)

    def test_it_follows_a_log_that_is_cut(self):
        """More than the limit comes while it waits: it tells what it missed,
        or it has all of it."""
        self.write("t.jobrun.yaml", shell(
            "echo begin $RANK\nwhile [ ! -e go ]; do sleep 0.02; done\n"
            "seq 200000\n", 2, "tee: none\nredirects: out\n"
            "log_limit: 64KiB\n"))
        run = self.live()
        logs = self.follow("--rank", "0")
        self.assertEqual(logs.stdout.readline(), "begin 0\n")
        (self.folder / "go").touch()
        lines = logs.communicate(timeout=harness.LIMIT)[0].splitlines()
        self.assertEqual(run.wait(harness.LIMIT), 0)
        self.assertEqual(lines[-1], "200000")
        gaps = [line for line in lines if not line.isdigit()]
        # Where it stood may have been within a line.
        numbers = [int(line) for line, after in zip(lines, lines[1:] + [""])
                   if line.isdigit() and not after.startswith("[")]
        self.assertTrue(all(a < b for a, b in zip(numbers, numbers[1:])))
        missed = sum(b - a > 1 for a, b in zip(numbers, numbers[1:]))
        self.assertEqual(len(gaps), missed, gaps)
        for line in gaps:
            self.assertRegex(line, r"^\[jobrun: log_limit: \d+ bytes left out "
                             r"here\]$")

    def test_a_reader_that_goes_away_ends_it(self):
        run = self.live()
        logs = self.follow()
        logs.stdout.readline()
        logs.stdout.close()
        (self.folder / "go").touch()
        self.assertEqual(logs.wait(harness.LIMIT), 0)
        self.assertEqual(run.wait(harness.LIMIT), 0)


class Printing(harness.Case):
    """Data on standard output; the rest, and no data, on standard error."""

    def setUp(self):
        super().setUp()
        self.write("t.jobrun.yaml", shell("true", 1))
        self.expect(self.jobrun("t.jobrun.yaml", "--run-id", "one"), 0)

    VERBS = (["--help"], ["run", "--help"], ["--version"],
             ["validate", "t.jobrun.yaml"], ["resolve", "t.jobrun.yaml"],
             ["resolve", "t.jobrun.yaml", "--explain"],
             ["plan", "t.jobrun.yaml"], ["plan", "-n", "2", "--", "true"],
             ["runs"], ["show"], ["schema"], ["explain"],
             ["explain", "JR0404"], ["explain", "world_size"], ["doctor"],
             ["doctor", "--format", "yaml"])

    def test_data_goes_to_standard_output(self):
        for words in self.VERBS:
            with self.subTest(words=words):
                done = self.expect(self.jobrun(*words), 0)
                self.assertNotEqual(done.stdout, "")
                self.assertNotIn("error", done.stderr)
                self.assertTrue(done.stdout.endswith("\n"))

    def test_a_closed_standard_output_is_told(self):
        for words in self.VERBS:
            with self.subTest(words=words):
                process = self.start(*words, stdout=None,
                                     preexec_fn=lambda: os.close(1))
                _, told = process.communicate(timeout=harness.LIMIT)
                self.assertEqual(process.returncode, 7, told)
                self.assertIn("standard output is closed", told)

    def test_a_reader_that_is_gone_is_no_failure(self):
        for words in self.VERBS:
            with self.subTest(words=words):
                read, write = os.pipe()
                os.close(read)
                process = self.start(*words, stdout=write)
                os.close(write)
                _, told = process.communicate(timeout=harness.LIMIT)
                self.assertEqual(process.returncode, 0, told)
                self.assertNotIn("jobrun:", told)

    def test_a_closed_standard_error_is_survived(self):
        for words in (["t.jobrun.yaml"], ["validate", "t.jobrun.yaml"]):
            with self.subTest(words=words):
                process = self.start(*words, stderr=None,
                                     preexec_fn=lambda: os.close(2))
                process.communicate(timeout=harness.LIMIT)
                self.assertEqual(process.returncode, 0)

    def test_explain(self):
        for word, said in (("JR0310", "  before "), ("jr0310", "  before "),
                           ("parallelism.model", "since"),
                           ("targets", "2x8:H100")):
            with self.subTest(word):
                done = self.expect(self.jobrun("explain", word), 0)
                self.assertIn(said, done.stdout)
        done = self.expect(self.jobrun("explain", "no_such"), 2)
        self.assertIn("'no_such'", done.stderr)

    def test_the_schema_is_the_committed_one(self):
        done = self.expect(self.jobrun("schema"), 0)
        committed = harness.EXAMPLES.parents[1] / "schemas" / \
            "jobspec-v1.schema.json"
        self.assertEqual(done.stdout, committed.read_text())

    def test_doctor_tells_people_and_resolvers_the_same(self):
        text = self.expect(self.jobrun("doctor"), 0).stdout
        yaml = self.expect(self.jobrun("doctor", "--format", "yaml"), 0).stdout
        usable = re.search(r"^  usable: (\d+)$", yaml, re.M)[1]
        self.assertIn(f" {usable} usable of ", text)
        self.assertEqual(os.sched_getaffinity(0).__len__(), int(usable))
        count = yaml.count("  - kind: ")
        self.assertEqual(len(re.findall("^device   ", text, re.M)), count)

    def test_doctor_tells_who_says_what(self):
        said = self.expect(self.jobrun("doctor", env={
            "SLURM_JOB_ID": "7", "SLURM_JOB_NUM_NODES": "3",
            "SLURM_JOB_NODELIST": "n[1-", "OMP_NUM_THREADS": "5"}), 0).stdout
        self.assertRegex(said, r"launcher Slurm, job 7, 3 nodes, .*own shell")
        self.assertRegex(said, r"SLURM_JOB_NODELIST=n\[1- +nodes of the job")
        self.assertIn("env      OMP_NUM_THREADS=5\n", said)
        self.assertIn("problem  SLURM_JOB_NODELIST cannot be read", said)
        said = self.expect(self.jobrun("doctor", env={"RANK": "5"}), 0).stdout
        self.assertIn("launcher none", said)
        self.assertIn("by no launcher that is there: RANK", said)


class Binding(harness.Case):
    def test_ranks_run_where_the_plan_says(self):
        self.write("b.jobrun.yaml", "version: 1\nlocal_world_size: 2\n"
                   "device: cpu\nbind: core\nredirects: all\n"
                   "oversubscribe: true\n"
                   "entrypoint: [grep, Cpus_allowed_list, /proc/self/status]\n")
        done = self.expect(self.jobrun("plan", "b.jobrun.yaml", "--format",
                                       "json"), 0)
        planned = [rank["cpus"] for rank in json.loads(done.stdout)["ranks"]]
        self.expect(self.jobrun("run", "b.jobrun.yaml", "--run-id", "b"), 0)
        real = [(self.folder / f"runs/b/attempt_0/{rank}/stdout.log").read_text()
                .split()[1] for rank in range(2)]
        self.assertEqual(real, planned)


if __name__ == "__main__":
    harness.main()
