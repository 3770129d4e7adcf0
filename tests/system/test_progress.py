"""How far a job is: steps from streams, from files and from jobrun.progress();
what is recorded of them, shown, and found out by them."""
import json
import os
import resource
import signal
import subprocess
import time

import harness
from test_nodes_by_srun import Agents

STEPS = r"pattern: 'step (?<step>\d+)/(?<of>\d+) loss (?<loss>\S+)'"


class Case(harness.Case):
    def spec(self, entry, ranks=1, **more):
        text = ("version: 1\nname: p\noversubscribe: true\ndevice: cpu\n"
                "world_size: %d\nentrypoint: %s\n" % (ranks, entry))
        for key, value in more.items():
            text += "%s: %s\n" % (key, value)
        return self.write("p.jobrun.yaml", text)

    def shell(self, script, ranks=1, **more):
        return self.spec("\n  shell: |\n    " + script.replace("\n", "\n    "),
                         ranks, **more)

    def python(self, script, ranks=1, **more):
        self.write("p.py", script)
        return self.spec("{python: {script: p.py}}", ranks, **more)

    def progress(self):
        return self.results()["progress"]

    def metrics(self):
        path = self.folder / "runs" / "latest" / "metrics.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()]

    def warnings(self):
        return " | ".join(self.progress()["warnings"])


class Streams(Case):
    def test_steps_become_the_record(self):
        self.shell("for i in 1 2 3; do echo step $i/3 loss 0.$i; done",
                   2, progress="{%s}" % STEPS)
        done = self.expect(self.jobrun("p.jobrun.yaml"), 0)
        self.assertIn("step 3 of 3", done.stderr)
        self.assertIn("loss 0.3", done.stderr)
        told = self.progress()
        self.assertEqual((told["step"], told["of"], told["metrics"]),
                         (3, 3, {"loss": 0.3}))
        self.assertEqual((told["slowest"], told["warnings"]), (None, []))
        self.assertEqual([(line["rank"], line["attempt"], line["step"],
                           line["metrics"]) for line in self.metrics()],
                         [(0, 0, i, {"loss": i / 10}) for i in (1, 2, 3)])
        shown = self.expect(self.jobrun("show"), 0).stdout
        self.assertIn("step 3 of 3", shown)
        self.assertRegex(self.expect(self.jobrun("runs"), 0).stdout,
                         r"succeeded .* 3/3 ")
        listed = json.loads(self.jobrun("runs", "--format", "json").stdout)
        self.assertEqual(listed["runs"][0]["progress"], told)
        live = json.loads((self.folder / "runs" / "latest" /
                           "progress.json").read_text())
        self.assertEqual((live["step"], live["metrics"]["loss"]), (3, 0.3))

    def test_redirected_streams_and_carriage_returns(self):
        self.shell(r"printf 'step 1/9 loss 1\rstep 2/9 loss 2\rstep 3/9 "
                   r"loss 3' >&2",
                   progress="{from: stderr, %s}" % STEPS,
                   redirects="all", tee="none")
        self.expect(self.jobrun("p.jobrun.yaml"), 0)
        self.assertEqual((self.progress()["step"], len(self.metrics())),
                         (3, 3))
        log = self.folder / "runs" / "latest" / "attempt_0" / "0"
        self.assertEqual((log / "stderr.log").read_bytes().count(b"\r"), 2)

    def test_the_slowest_of_all_ranks(self):
        self.shell("for i in 1 2 3; do echo step $((i * (RANK + 1)))/9 "
                   "loss 0.5; done", 3,
                   progress="{%s, ranks: all}" % STEPS)
        self.expect(self.jobrun("p.jobrun.yaml"), 0)
        self.assertEqual(self.progress()["step"], 3)
        self.assertEqual(self.progress()["slowest"], {"rank": 0, "behind": 6})
        self.assertEqual([rank["progress"]["step"]
                          for rank in self.results()["ranks"]], [3, 6, 9])
        page = self.page()
        self.assertIn(">step</th>", page)
        cells = '<td class="n">%s</td><td class="n">[^<]*</td>' \
                '<td class="n">%s</td>'
        for step, behind in ((3, 6), (6, 3), (9, "")):
            self.assertRegex(page, cells % (step, behind))

    def page(self):
        self.expect(self.jobrun("report", "--format", "html", "-o", "r.html"),
                    0)
        return (self.folder / "r.html").read_text()

    def test_the_page_of_one_rank(self):
        """It has curves, and no column of steps for the others."""
        self.shell("for i in 1 2 3; do echo step $i/3 loss 0.$i; done", 2,
                   progress="{%s}" % STEPS)
        self.expect(self.jobrun("p.jobrun.yaml"), 0)
        page = self.page()
        self.assertIn("<strong>loss</strong> 0.3 at step 3", page)
        self.assertNotIn(">behind</th>", page)

    def test_numbers_that_are_none(self):
        self.shell("echo step 7/9 loss nan\necho step 8/9 loss high\n"
                   "echo step 2/9 loss -inf\necho step 3/8 loss 1",
                   progress="{%s}" % STEPS)
        done = self.expect(self.jobrun("p.jobrun.yaml"), 0)
        for words in ("told a metric 'loss' that is not a number: 'high'",
                      "went back from step 8 to step 2",
                      "told another last step than before: 8, not 9"):
            self.assertIn(words, self.warnings())
            self.assertIn("warning: progress: rank 0 " + words, done.stderr)
        self.assertEqual([line["metrics"] for line in self.metrics()],
                         [{"loss": None}, {}, {"loss": None}, {"loss": 1}])
        problems = [event["problem"] for event in self.events()
                    if event["event"] == "progress_warning"]
        self.assertEqual(problems, ["metric", "backwards", "of"])

    def test_nothing_told_is_null(self):
        self.shell("echo hello", progress="{%s}" % STEPS)
        self.expect(self.jobrun("p.jobrun.yaml"), 0)
        self.assertIsNone(self.progress())
        run = self.folder / "runs" / "latest"
        self.assertFalse((run / "metrics.jsonl").exists())
        self.assertFalse((run / "progress.json").exists())
        self.assertRegex(self.jobrun("runs").stdout, r"succeeded .* -  ")

    def test_a_million_lines(self):
        """They are matched, and what is kept of them is little."""
        self.python("import sys\nfor i in range(1000000):\n"
                    "    sys.stdout.write('step %d/1000000 loss 0.5\\n' % i)\n",
                    progress="{%s}" % STEPS, redirects="all", tee="none")
        self.expect(self.jobrun("p.jobrun.yaml"), 0)
        self.assertEqual(self.progress()["step"], 999999)
        lines = self.metrics()
        self.assertLessEqual(len(lines), 10000)
        steps = [line["step"] for line in lines]
        # Where they come faster than they can be looked at, some are passed
        # over: what is kept still goes on evenly, but by the clock.
        gaps = [b - a for a, b in zip(steps, steps[1:])]
        self.assertGreater(min(gaps), 0)
        self.assertLess(max(gaps), 100000)
        self.assertGreater(len(lines), 100)


class Files(Case):
    def test_python_in_a_job_that_declares_nothing(self):
        self.python("import jobrun\nfor i in range(5):\n"
                    "    jobrun.progress(i + jobrun.rank(), of=9, loss=i / 2,\n"
                    "                    odd=float('nan'))\n", 2)
        self.expect(self.jobrun("p.jobrun.yaml"), 0)
        told = self.progress()
        self.assertEqual((told["step"], told["of"], told["metrics"]),
                         (4, 9, {"loss": 2, "odd": None}))
        self.assertEqual(len(self.metrics()), 5)

    def test_shell_appends_lines(self):
        self.shell("for i in 1 2; do echo '{\"step\": '$i'}' >> "
                   "\"$JOBRUN_PROGRESS_FILE\"; done\n"
                   "printf '{\"step\": 3, \"loss\": NaN}' "
                   ">> \"$JOBRUN_PROGRESS_FILE\"", progress="{from: file, of: 5}")
        self.expect(self.jobrun("p.jobrun.yaml"), 0)
        told = self.progress()
        self.assertEqual((told["step"], told["of"], told["metrics"]),
                         (3, 5, {"loss": None}))

    def test_what_is_no_progress_file(self):
        for make, words in (
                ("mkfifo \"$F\"", "has a FIFO in place of its progress file"),
                ("ln -s /etc/passwd \"$F\"", "has a symbolic link in place"),
                ("mkdir \"$F\"", "has a folder in place"),
                ("head -c 300000 /dev/zero | tr '\\0' x > \"$F\"; echo >> \"$F\"",
                 "has a line of more than 65536 bytes"),
                ("head -c 9000000 /dev/zero | tr '\\0' x > \"$F\"",
                 "has a line of more than 65536 bytes"),
                ("echo junk > \"$F\"", "that is not a JSON object: 'junk'"),
                ("echo '{\"step\": \"x\"}' > \"$F\"", "is not a whole number")):
            with self.subTest(make):
                self.shell("F=$JOBRUN_PROGRESS_FILE\n%s\n"
                           "echo step 1/2 loss 3" % make,
                           progress="{%s}" % STEPS)
                self.expect(self.jobrun("p.jobrun.yaml"), 0)
                self.assertIn(words, self.warnings())
                self.assertEqual(self.progress()["step"], 1)

    def test_steps_are_seen_while_it_runs(self):
        self.write("p.py", "import jobrun, time\n"
                           "for i in range(10000):\n"
                           "    jobrun.progress(i, of=10000, loss=1 / (i + 1))\n"
                           "    time.sleep(0.02)\n")
        self.spec("{python: {script: p.py}}", 2,
                  progress="{from: file, ranks: all}")
        running = self.start("run", "p.jobrun.yaml", stderr=subprocess.PIPE)
        self.addCleanup(self.end, running)
        path = self.folder / "runs" / "latest" / "progress.json"
        until = time.monotonic() + harness.LIMIT
        while time.monotonic() < until:
            try:
                told = json.loads(path.read_text())["ranks"]
                if len(told) == 2 and all(rank.get("rate") for rank in told):
                    break  # both have told enough for a rate
            except (OSError, ValueError):
                pass
            time.sleep(0.05)
        self.assertRegex(self.jobrun("runs").stdout, r"running .* \d+/10000 ")
        self.assertRegex(self.jobrun("show").stdout,
                         r"\n  step \d+ of 10000.*loss ")
        live = json.loads(self.jobrun("show", "--json").stdout)
        self.assertEqual(live["progress"]["of"], 10000)
        top = self.jobrun("top", "--once").stdout
        self.assertRegex(top, r"step \d+ of 10000")
        self.assertRegex(top, r"silent +step, rate +last line\n")
        self.assertRegex(top, r"(?m)^ +1 .* \d+ [0-9.]+/s")


class Limits(Case):
    def test_no_step_forward_is_a_hang(self):
        self.shell("echo step 1/9 loss 1; echo step 2/9 loss 1\n"
                   "while :; do echo step 1/9 loss 1; sleep 0.1; done", 2,
                   progress="{%s}" % STEPS, timeouts="{progress: 1s}")
        done = self.expect(self.jobrun("p.jobrun.yaml"), 6)
        self.assertIn("no step beyond 2 for 1s (timeouts.progress)",
                      done.stderr)
        results = self.results()
        self.assertEqual((results["status"], results["timed_out_by"],
                          results["timeout_seconds"],
                          results["root_cause"]["kind"]),
                         ("hung", "progress", 1, "hang"))
        self.assertTrue((self.folder / "runs" / "latest" / "attempt_0" / "0" /
                         "hang.json").exists())
        later = self.expect(self.jobrun("show"), 0).stdout
        self.assertIn("no step beyond 2 for 1s (timeouts.progress)", later)

    def test_no_first_step_is_a_hang(self):
        self.shell("[ $RANK = 1 ] || echo step 1/9 loss 1\nsleep 1000", 2,
                   progress="{%s, ranks: all}" % STEPS,
                   timeouts="{first_step: 1s, progress: 1h}")
        done = self.expect(self.jobrun("p.jobrun.yaml"), 6)
        self.assertIn("no first step within 1s (timeouts.first_step)",
                      done.stderr)
        self.assertEqual(self.results()["timed_out_by"], "first_step")

    def test_steps_keep_a_job_alive(self):
        """And so does a watched rank that has ended."""
        self.shell("for i in 1 2 3 4 5 6 7 8; do echo step $i/8 loss 1; "
                   "sleep 0.3; done\n[ $RANK = 0 ] || sleep 2", 2,
                   progress="{%s}" % STEPS,
                   timeouts="{first_step: 1500ms, progress: 1500ms}")
        self.expect(self.jobrun("p.jobrun.yaml"), 0)

    def test_a_hang_is_restarted(self):
        self.shell("echo step 1/9 loss $JOBRUN_ATTEMPT\n"
                   "[ $JOBRUN_ATTEMPT = 1 ] || sleep 1000",
                   progress="{%s}" % STEPS, timeouts="{progress: 500ms}",
                   restart="{max: 1, backoff: 10ms, on: hang}")
        self.expect(self.jobrun("p.jobrun.yaml"), 0)
        self.assertEqual([(line["attempt"], line["metrics"]["loss"])
                          for line in self.metrics()], [(0, 0), (1, 1)])

    def test_a_job_that_gets_no_further_has_stalled(self):
        self.shell("test $JOBRUN_ATTEMPT = 0 && seq -f 'step %g/9 loss 1' 5 &&"
                   " exit 7\nseq -f 'step %g/9 loss 1' $((6 - JOBRUN_ATTEMPT))"
                   "\ntest $JOBRUN_ATTEMPT = 1 && exit 7\nexit 3",
                   progress="{%s, stall: 2}" % STEPS,
                   restart="{max: 9, backoff: 0}", exit_status="rank")
        done = self.expect(self.jobrun("p.jobrun.yaml"), 6)
        for text in ("STALLED after",
                     "the last 2 attempts got no further than step 5 ",
                     "exit status 6", "the last:   rank 0 exited with code 3",
                     "attempt 1   rank 0 exited with code 7"):
            self.assertIn(text, done.stderr)
        self.assertNotIn("not started again", done.stderr)
        results = self.results()
        self.assertEqual((results["status"], results["exit_code"],
                          results["attempt"], results["stall"]),
                         ("failed", 6, 2, {"attempts": 2, "step": 5}))
        cause = results["root_cause"]
        self.assertEqual((cause["kind"], cause["rank"], cause["exit_code"]),
                         ("stall", 0, 3))
        self.assertEqual(cause["message"],
                         "the last 2 attempts got no further than step 5; the "
                         "last: exited with code 3")
        report = done.stderr[done.stderr.index("jobrun: STALLED"):]
        shown = self.expect(self.jobrun("show"), 0).stdout
        self.assertEqual([line for line in shown.splitlines()
                          if "(jobrun logs" not in line],
                         [line for line in report.splitlines()
                          if "(jobrun logs" not in line])

    def test_a_hang_or_a_want_of_results_can_stall(self):
        self.shell("seq -f 'step %g/9 loss 1' 5; exec sleep 1000",
                   progress="{%s, stall: 1}" % STEPS,
                   timeouts="{progress: 300ms}",
                   restart="{max: 9, backoff: 0}")
        done = self.expect(self.jobrun("p.jobrun.yaml"), 6)
        self.assertIn("the last attempt got no further than step 5",
                      done.stderr)
        self.assertIn("the last:   no step beyond 5 for 300ms", done.stderr)
        self.assertEqual(self.results()["status"], "hung")
        self.shell("echo step 1/9 loss 1", results="{from: file}",
                   progress="{%s, stall: 1}" % STEPS,
                   restart="{max: 9, backoff: 0}")
        done = self.expect(self.jobrun("p.jobrun.yaml"), 6)
        cause = self.results()["root_cause"]
        self.assertEqual((self.results()["status"], cause["kind"],
                          cause["rank"]), ("incomplete", "stall", 0))
        self.assertIn("STALLED", self.expect(self.jobrun("show"), 0).stdout)

    def test_a_job_that_gets_further_goes_on(self):
        self.shell("test $JOBRUN_ATTEMPT = 4 && echo 'step 9/9 loss 1' && "
                   "exit\ntest $((JOBRUN_ATTEMPT % 2)) = 0 && seq -f "
                   "'step %g/9 loss 1' $((JOBRUN_ATTEMPT + 1))\nexit 7",
                   progress="{%s, stall: 2}" % STEPS,
                   restart="{max: 9, backoff: 0}")
        self.expect(self.jobrun("p.jobrun.yaml"), 0)
        self.assertEqual(self.results()["attempt"], 4)
        self.assertIsNone(self.results()["stall"])

    def test_a_straggler_is_named(self):
        self.python("import jobrun, time\n"
                    "slow = jobrun.rank() == 1\n"
                    "end = time.monotonic() + 9\n"
                    "i = 0\n"
                    "while time.monotonic() < end:\n"
                    "    i += 1\n"
                    "    jobrun.progress(i)\n"
                    "    time.sleep(0.25 if slow else 0.05)\n", 3,
                    progress="{from: file, ranks: all}")
        done = self.expect(self.jobrun("p.jobrun.yaml"), 0)
        self.assertRegex(done.stderr, r"warning: progress: rank 1 \(.*\) is "
                                      r"slow: \S+ steps/s, while the median is")


class Nodes(Agents):
    """The job's progress is the controller's, whoever makes the steps."""
    STEP = "echo step $i/40 loss 0.$i"

    def test_the_job_is_as_far_as_its_slowest_rank(self):
        done = self.expect(self.run_on(
            2, "for i in 1 2 3 4 5; do echo step $((i + RANK))/40 loss 0.$i; "
               "sleep 0.05; done; echo step 1/40 loss x",
            more="progress: {%s, ranks: all}" % STEPS), 0)
        results = self.results()
        told = results["progress"]
        self.assertEqual((told["step"], told["best"], told["of"]), (1, 5, 40))
        self.assertEqual(told["metrics"], {"loss": 0.5})
        self.assertEqual([rank["progress"]["step"]
                          for rank in results["ranks"]], [1, 1, 1, 1])
        self.assertIn("went back from step", " ".join(told["warnings"]))
        self.assertIn("(4 times)", " ".join(told["warnings"]))
        self.assertIn("step 1 of 40", done.stderr)
        lines = (self.folder / "runs/latest/metrics.jsonl").read_text()
        self.assertEqual({json.loads(line)["rank"]
                          for line in lines.splitlines()}, {0, 1, 2, 3})

    def test_steps_of_one_rank_on_another_node(self):
        self.expect(self.run_on(
            2, "for i in 1 2 3; do %s; done" % self.STEP,
            more="progress: {%s, ranks: 2, of: 7}" % STEPS), 0)
        told = self.results()["progress"]
        self.assertEqual((told["step"], told["of"], told["slowest"]),
                         (3, 40, None))
        self.nobody_is_left()

    def test_no_step_forward_is_a_hang_on_all_nodes(self):
        done = self.expect(self.run_on(
            2, "i=3; %s; while :; do echo alive; sleep 0.1; done" % self.STEP,
            more="progress: {%s}\ntimeouts: {progress: 1s}\n"
                 "on_hang: {signal: none, wait: 100ms}" % STEPS), 6)
        self.assertIn("no step beyond 3 for 1s (timeouts.progress)",
                      done.stderr)
        self.assertEqual(self.results()["timed_out_by"], "progress")
        for rank in range(4):
            self.assertTrue((self.folder / f"runs/latest/attempt_0/{rank}"
                             "/hang.json").exists())
        self.nobody_is_left()

    def test_no_first_step_is_a_hang(self):
        done = self.expect(self.run_on(
            2, "i=1; test $RANK = 3 || %s; sleep 1000" % self.STEP,
            more="progress: {%s, ranks: all}\n"
                 "timeouts: {first_step: 1s, progress: 1h}\n"
                 "on_hang: {signal: none, wait: 100ms}" % STEPS), 6)
        self.assertIn("no first step within 1s (timeouts.first_step)",
                      done.stderr)
        self.nobody_is_left()

    def test_steps_on_one_node_keep_the_job_alive(self):
        self.expect(self.run_on(
            2, "for i in 1 2 3 4 5 6 7 8; do test $RANK != 0 || %s; "
               "sleep 0.4; done" % self.STEP,
            more="progress: {%s}\n"
                 "timeouts: {first_step: 2s, progress: 2s}" % STEPS), 0)


class Attacks(Case):
    """What is known survives what happens to jobrun, and harms nothing."""

    def test_the_runner_is_killed(self):
        self.shell("echo step 1/9 loss 0.1; echo step 2/9 loss 0.2; "
                   "echo x > ready; sleep 1000", progress="{%s}" % STEPS)
        process = self.start("run", "p.jobrun.yaml", stdout=subprocess.DEVNULL,
                             stderr=subprocess.PIPE)
        path = self.folder / "runs" / "latest" / "progress.json"
        until = time.monotonic() + harness.LIMIT
        while not path.exists() or json.loads(path.read_text())["step"] != 2:
            self.assertLess(time.monotonic(), until)
            time.sleep(0.02)
        os.kill(harness.runner_of(process.pid), signal.SIGKILL)
        process.communicate(timeout=harness.LIMIT)
        told = self.progress()
        self.assertEqual((told["step"], told["metrics"]), (2, {"loss": 0.2}))

    def test_nobody_reads_the_output(self):
        self.shell("for i in 1 2 3; do echo step $i/3 loss 0.$i; done",
                   progress="{%s}" % STEPS)
        done = self.start("run", "p.jobrun.yaml",
                          preexec_fn=lambda: (os.close(1), os.close(2)))
        self.assertEqual(done.wait(timeout=harness.LIMIT), 0)
        self.assertEqual(self.progress()["step"], 3)

    def test_a_file_that_cannot_grow(self):
        """As on a full disk: a warning, and the job does not fail for it."""
        self.python("import jobrun\nfor i in range(4000):\n"
                    "    jobrun.progress(i, loss=i / 3)\n")
        done = self.start("run", "p.jobrun.yaml", stderr=subprocess.PIPE,
                          preexec_fn=lambda: resource.setrlimit(
                              resource.RLIMIT_FSIZE, (300000, 300000)))
        _, told = done.communicate(timeout=harness.LIMIT)
        self.assertEqual(done.returncode, 0, told)
        self.assertIn("warning: progress: metrics.jsonl is incomplete: "
                      "File too large", told)
        self.assertEqual(self.progress()["step"], 3999)

    def test_links_in_the_place_of_its_files(self):
        victim = self.write("victim", "mine")
        self.shell('for f in metrics.jsonl progress.json; do '
                   'ln -s "%s" "$JOBRUN_RUN_DIR/$f"; done\n'
                   "echo step 1/9 loss 0.1" % victim,
                   progress="{%s}" % STEPS)
        done = self.expect(self.jobrun("p.jobrun.yaml"), 0)
        self.assertIn("metrics.jsonl is incomplete", done.stderr)
        self.assertEqual((self.folder / "victim").read_text(), "mine")
        self.assertEqual(self.progress()["step"], 1)

    def test_garbage_on_a_stream(self):
        self.shell("head -c 3000000 /dev/urandom; echo; echo step 4/9 loss 1; "
                   "head -c 200000 /dev/zero; printf '\\xff\\xfe\\n'",
                   progress="{%s}" % STEPS, redirects="all", tee="none")
        self.expect(self.jobrun("p.jobrun.yaml"), 0)
        self.assertEqual(self.progress()["step"], 4)

    def test_a_file_that_is_begun_anew(self):
        self.python("import os, time\npath = os.environ['JOBRUN_PROGRESS_FILE']\n"
                    "for i in range(5):\n"
                    "    with open(path, 'w') as f:\n"
                    "        print('{\"step\": %d}' % i, file=f)\n"
                    "    time.sleep(0.1)\n")
        self.expect(self.jobrun("p.jobrun.yaml"), 0)
        self.assertEqual(self.progress()["step"], 4)


class Functions(Case):
    def test_what_is_no_progress_is_an_exception(self):
        self.python("""\
import jobrun
import numbers
for bad in (lambda: jobrun.progress(-1), lambda: jobrun.progress(1.5),
            lambda: jobrun.progress("2"), lambda: jobrun.progress(1, of=-2),
            lambda: jobrun.progress(1, loss="x"),
            lambda: jobrun.progress(1, loss=[1])):
    try:
        bad()
    except (TypeError, ValueError) as error:
        print(type(error).__name__)
jobrun.progress(True, loss=float("inf"), good=True)
""")
        done = self.expect(self.jobrun("p.jobrun.yaml"), 0)
        self.assertEqual([line.split()[-1] for line in
                          done.stdout.splitlines()],
                         ["ValueError", "TypeError", "TypeError", "ValueError",
                          "TypeError", "TypeError"])
        self.assertEqual(self.progress()["metrics"],
                         {"loss": None, "good": 1})

    def test_a_file_that_cannot_be_written_is_a_warning_once(self):
        self.python("import jobrun, os\n"
                    "os.mkdir(os.environ['JOBRUN_PROGRESS_FILE'])\n"
                    "for i in range(3):\n    jobrun.progress(i)\n")
        done = self.expect(self.jobrun("p.jobrun.yaml"), 0)
        self.assertEqual(done.stderr.count("RuntimeWarning: jobrun.progress"),
                         1)

    def test_outside_of_a_rank(self):
        self.python("import jobrun, os\ndel os.environ"
                    "['JOBRUN_PROGRESS_FILE']\njobrun.progress(1)\n")
        done = self.expect(self.jobrun("p.jobrun.yaml"), 1)
        self.assertIn("JOBRUN_PROGRESS_FILE is not set", done.stderr)

    def test_a_program_that_closes_all_descriptors(self):
        self.python("import jobrun, os\njobrun.progress(1)\n"
                    "os.closerange(3, 100)\n"
                    "other = os.open('other', os.O_RDWR | os.O_CREAT)\n"
                    "jobrun.progress(2)\nassert os.fstat(other).st_size == 0\n")
        self.expect(self.jobrun("p.jobrun.yaml"), 0)
        self.assertEqual(self.progress()["step"], 2)


if __name__ == "__main__":
    harness.main()
