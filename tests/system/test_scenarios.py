"""What docs/scenarios.md promises and nothing else shows."""
import json
import os
import subprocess

import harness


class Start(harness.Case):
    def spec(self, entrypoint, more=""):
        return self.write("t.jobrun.yaml", "version: 1\nworld_size: 1\n"
                          f"{more}entrypoint: {json.dumps(entrypoint)}\n")

    def test_more_arguments_than_the_kernel_takes(self):
        self.spec(["/bin/echo", "x" * 200000])
        done = self.expect(self.jobrun("t.jobrun.yaml"), 7)
        self.assertIn("Argument list too long", done.stderr)
        self.assertEqual(self.results()["root_cause"]["kind"], "start")

    def test_empty_arguments_and_variables_stay(self):
        self.spec(["python3", "-c", "import os, sys; "
                   "print(sys.argv[1:], repr(os.environ['EMPTY']))",
                   "", "a", ""], "tee: all\nenv: {EMPTY: ''}\n")
        done = self.expect(self.jobrun("t.jobrun.yaml"), 0)
        self.assertIn("['', 'a', ''] ''", done.stdout)

    def test_odd_names_of_programs(self):
        for name in ("a b", "a'b\"c", "$HOME", "-x", "ä\u202e", "a\nb"):
            with self.subTest(name):
                path = self.write(f"bin/{name}", "#!/bin/sh\necho here\n")
                path.chmod(0o755)
                self.spec([f"bin/{name}"], "tee: all\n")
                done = self.expect(self.jobrun("t.jobrun.yaml"), 0)
                self.assertIn("here", done.stdout)
                path.unlink()
                done = self.expect(self.jobrun("t.jobrun.yaml"), 7)
                self.assertNotIn("\u202e", done.stderr)

    def test_a_name_that_no_spec_can_say_is_refused(self):
        odd = os.fsencode(self.folder) + b"/\xff"
        done = subprocess.run([harness.JOBRUN, "-n", "1", "--", odd],
                              cwd=self.folder, capture_output=True,
                              env=harness.clean_environment(),
                              timeout=harness.LIMIT)
        self.assertEqual(done.returncode, 3)
        self.assertIn(b"is not UTF-8", done.stderr)
        self.assertNotIn(b"\xff", done.stderr)

    def test_the_callers_environment_arrives_whole(self):
        odd = {"PERCENT": "%d %s %{rank}", "LINES_OF": "a\nb\n", "EQ": "=a=b",
               "DOLLAR": "${HOME} $$", "BYTES": b"\xff\xfe".decode(
                   "utf-8", "surrogateescape")}
        self.spec(["python3", "-c", "import json, os; json.dump("
                   f"{{k: os.environ[k] for k in {list(odd)}}}, "
                   "open('seen.json', 'w'))"])
        self.expect(self.jobrun("t.jobrun.yaml", env=odd), 0)
        seen = json.loads((self.folder / "seen.json").read_text())
        self.assertEqual(seen, odd)


class Output(harness.Case):
    LINES = 100000

    def test_all_ways_of_writing_end_up_in_the_file(self):
        """The descriptor, the language's own buffers, and a child process."""
        self.write("w.py", "import os, subprocess, sys\n"
                   "os.write(1, b'from the descriptor\\n')\n"
                   "print('from the language', flush=True)\n"
                   "subprocess.run(['echo', 'from a child'])\n"
                   "print('at the end', end='')\n")
        for how in ("redirects", "tee"):
            with self.subTest(how):
                self.write("t.jobrun.yaml", "version: 1\nworld_size: 1\n"
                           f"{how}: all\nentrypoint: [python3, w.py]\n")
                self.expect(self.jobrun("t.jobrun.yaml"), 0)
                log = self.folder / "runs/latest/attempt_0/0/stdout.log"
                self.assertEqual(log.read_text(),
                                 "from the descriptor\nfrom the language\n"
                                 "from a child\nat the end")

    def test_each_stream_goes_its_own_way(self):
        """Every pair of none, redirect, tee and both: where the two streams
        of a rank differ, one of them may have no file."""
        ways = [(to_file, tee) for to_file in range(4) for tee in range(4)]
        self.write("t.jobrun.yaml", "version: 1\nworld_size: 16\n"
                   "device: cpu\noversubscribe: true\nthreads: 1\n"
                   "entrypoint: [sh, -c, 'echo out; echo err >&2']\n" +
                   "".join("%s: {%s}\n" % (name, ", ".join(
                       f"{rank}: {way[i]}" for rank, way in enumerate(ways)))
                       for i, name in enumerate(("redirects", "tee"))))
        done = self.expect(self.jobrun("t.jobrun.yaml"), 0)
        folder = self.folder / "runs/latest/attempt_0"
        for rank, (to_file, tee) in enumerate(ways):
            for bit, word, shown in ((1, "out", done.stdout),
                                     (2, "err", done.stderr)):
                with self.subTest(rank=rank, stream=word):
                    log = folder / str(rank) / f"std{word}.log"
                    self.assertEqual(log.exists(),
                                     bool((to_file | tee) & bit))
                    if log.exists():
                        self.assertEqual(log.read_text(), word + "\n")
                    self.assertEqual(f"[{rank}] {word}\n" in shown,
                                     bool(tee & bit))

    def test_many_lines_all_arrive(self):
        self.write("t.jobrun.yaml", "version: 1\nworld_size: 2\ntee: all\n"
                   "device: cpu\nthreads: 1\n"
                   f"entrypoint: [seq, {self.LINES}]\n")
        done = self.expect(self.jobrun("t.jobrun.yaml"), 0)
        whole = [str(i) for i in range(1, self.LINES + 1)]
        for rank in range(2):
            log = self.folder / f"runs/latest/attempt_0/{rank}/stdout.log"
            self.assertEqual(log.read_text().splitlines(), whole)
            mark = f"[{rank}] "
            self.assertEqual([line[len(mark):]
                              for line in done.stdout.splitlines()
                              if line.startswith(mark)], whole)


class Clock(harness.Case):
    """The wall clock goes an hour forward and back, at every third look."""

    def setUp(self):
        super().setUp()
        self.leap = harness.preload(self, "LEAP_LIBRARY")
        done = self.run_leaping("--version")
        if done.returncode != 0:
            self.skipTest("SKIPPED: nothing can be preloaded: " + done.stderr)

    def run_leaping(self, *words):
        return self.jobrun(*words, env=self.leap)

    def job(self, script, more=""):
        self.write("t.jobrun.yaml", "version: 1\nworld_size: 2\n"
                   f"{more}entrypoint: {{shell: {json.dumps(script)}}}\n")
        return self.run_leaping("t.jobrun.yaml")

    def test_durations_are_what_they_were(self):
        self.expect(self.job("sleep 0.3", "timeouts: {run: 30m, silence: 30m, "
                             "start: 30m}\n"), 0)
        results = self.results()
        for seconds in [results["seconds"],
                        *(rank["seconds"] for rank in results["ranks"])]:
            self.assertGreater(seconds, 0)
            self.assertLess(seconds, 1800)

    def test_timeouts_come_in_time(self):
        for what, status in (("run", "timed_out"), ("silence", "hung")):
            self.expect(self.job("exec sleep 1000",
                                 f"timeouts: {{{what}: 300ms}}\n"), 6)
            self.assertEqual(self.results()["status"], status)
            self.assertLess(self.results()["seconds"], 1800)

    def test_the_first_stays_the_first(self):
        for _ in range(3):
            self.expect(self.job(
                "if [ $RANK = 1 ]; then exit 3; fi; trap 'exit 4' TERM; "
                "while :; do sleep 0.05; done"), 1)
            cause = self.results()["root_cause"]
            self.assertEqual((cause["rank"], cause["exit_code"]), (1, 3))

    def test_an_exception_is_not_before_its_rank(self):
        self.write("f.py", "import os, time\ndef f():\n"
                   "    if os.environ['RANK'] == '1':\n"
                   "        raise ValueError('x')\n    time.sleep(1000)\n")
        self.write("p.jobrun.yaml", "version: 1\nworld_size: 2\n"
                   "entrypoint: {python: {function: 'f:f'}}\n")
        for _ in range(3):
            self.expect(self.run_leaping("p.jobrun.yaml"), 1)
            self.assertEqual(self.results()["root_cause"]["rank"], 1)

    def test_a_window_of_restarts(self):
        self.expect(self.job("exit 3", "restart: {max: 2, on: [exit], window: "
                             "10m, backoff: 10ms}\n"), 1)
        self.assertEqual(self.results()["attempt"], 2)


if __name__ == "__main__":
    harness.main()
