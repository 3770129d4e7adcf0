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


if __name__ == "__main__":
    harness.main()
