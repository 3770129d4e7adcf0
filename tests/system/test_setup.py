"""The spec's `setup`: what it exports, how it fails, how it is stopped."""
import json
import os
import pathlib
import signal
import time

import harness

SHOW = """\
import json, os, sys
print(json.dumps(dict(os.environ)))
"""


class Setup(harness.Case):
    def spec(self, setup, entrypoint, more=""):
        body = "".join(f"  {line}\n" for line in setup.splitlines())
        return self.write(
            "a job.jobrun.yaml", "version: 1\nworld_size: 2\ndevice: cpu\n"
            f"oversubscribe: true\nentrypoint: {entrypoint}\n"
            f"setup: |\n{body}{more}")

    def tool(self, path, text):
        tool = self.write(path, text)
        tool.chmod(0o755)
        return tool

    def log(self, run="latest"):
        path = self.folder / "runs" / run / "attempt_0" / "setup.log"
        return path.read_text()

    def seen(self, rank):
        path = self.folder / f"runs/latest/attempt_0/{rank}/stdout.log"
        return json.loads(path.read_text())

    def fails(self, setup, text, more=""):
        done = self.expect(self.jobrun(self.spec(setup, "[touch, started]",
                                                 more)), 7)
        self.assertIn("rank 0 did not start: its setup failed: " + text,
                      done.stderr)
        self.assertFalse((self.folder / "started").exists())
        results = self.results()
        self.assertEqual(results["root_cause"]["kind"], "start")
        self.assertEqual(results["processes_left"], 0)
        self.assertEqual({rank["pid"] for rank in results["ranks"]}, {None})
        return done

    def test_it_fails(self):
        done = self.fails("echo one\necho 'no such module' >&2\nfalse",
                          "it exited with code 1")
        self.assertIn("  last lines of setup.log:\n    | one\n"
                      "    | no such module\n", done.stderr)
        self.assertIn("[setup] one\n", done.stdout)
        self.assertIn("[setup] no such module\n", done.stderr)
        shown = self.expect(self.jobrun("show", "latest"), 0)
        self.assertIn("    | no such module\n", shown.stdout)
        self.assertEqual(self.log(), "one\nno such module\n")
        for setup, text in (
                ("exit 9", "it exited with code 9"),
                ("exit 0", "it ended before its last line"),
                ("exec true", "it ended before its last line"),
                ("set -e\nfalse\ntrue", "it exited with code 1"),
                ("set -eu\necho $none", "it exited with code 2"),
                ("echo 'open", "it exited with code 2"),
                (". ./no/such/file", "it exited with code "),
                ("kill -KILL $$", "it was killed by SIGKILL"),
                ("exec 3>&-", "it exited with code 2")):
            with self.subTest(setup):
                self.fails(setup, text)
        self.fails("sleep 1000", "it did not finish within timeouts.start",
                   "timeouts: {start: 200ms}\n")

    def test_no_workdir(self):
        done = self.jobrun(self.spec("true", "[true]", "workdir: none\n"))
        self.expect(done, 7)
        self.assertRegex(done.stderr, "could not enter the working directory "
                         "'/.*/none': No such file")

    def test_in_the_ranks_own_folder(self):
        spec = self.spec("pwd > here", "[sh, -c, 'pwd > $RANK']",
                         "workdir: '%{rank_dir}'\n")
        self.expect(self.jobrun(spec), 0)
        folder = self.folder.resolve() / "runs/latest/attempt_0"
        for rank in "0", "1":
            self.assertEqual((folder / rank / rank).read_text().strip(),
                             str(folder.resolve() / rank))
        self.assertTrue((folder / "0/here").exists())

    def test_order(self):
        """jobrun's < setup < env_remove < the contract < env < per_rank."""
        self.tool("bin dir/tool", "#!/usr/bin/env python3\n" + SHOW)
        spec = self.spec(
            "export A=setup B=setup C=setup D=setup E=setup RANK=9\n"
            "export DROP_ME=1 TEXT=\"it's\n two\" PMI_RANK=4\n"
            "unset GONE\nnot_exported=1\n"
            "export PATH=\"$PWD/bin dir:$PATH\"\nset -- x y\ncd /\numask 0",
            "[tool]",
            "env_remove: [DROP_*, NONE]\nenv: {C: env, D: env, E: null}\n"
            "per_rank: {1: {env: {D: mine, B: null}}}\n")
        done = self.jobrun(spec, env={"A": "outer", "KEPT": "k", "GONE": "1",
                                      "NONE": "1", "PMI_SIZE": "3",
                                      "PWD": "/outer",
                                      "OLDPWD": "/before"})
        self.expect(done, 0)
        first, second = self.seen(0), self.seen(1)
        for env in first, second:
            self.assertEqual(env["A"], "setup")
            self.assertEqual(env["C"], "env")
            self.assertEqual(env["KEPT"], "k")
            self.assertEqual(env["TEXT"], "it's\n two")
            self.assertEqual(env["PMI_RANK"], "4")
            self.assertEqual((env["PWD"], env["OLDPWD"]),
                             ("/outer", "/before"))
            for name in "E", "DROP_ME", "GONE", "NONE", "not_exported", \
                    "PMI_SIZE":
                self.assertNotIn(name, env)
        self.assertEqual((first["RANK"], second["RANK"]), ("0", "1"))
        self.assertEqual((first["B"], first["D"]), ("setup", "env"))
        self.assertEqual(second["D"], "mine")
        self.assertNotIn("B", second)

    def test_helper_and_its_ranks(self):
        """The interpreter is looked for in the PATH that setup has made."""
        self.tool("venv/bin/mine",
                  '#!/bin/sh\nVIRTUAL=1 exec python3 "$@"\n')
        self.write("m.py", "import os\nBORN = dict(os.environ)\ndef f():\n"
                   "    return [os.environ['A'], BORN['A'],\n"
                   "            BORN['VIRTUAL'], os.environ['RANK'],\n"
                   "            'VIRTUAL' in os.environ]\n")
        for method, virtual in (("spawn", True), ("fork", False),
                                ("forkserver", False)):
            spec = self.spec(
                "export A=1\nPATH=\"$PWD/venv/bin:$PATH\"",
                "{python: {function: 'm:f', interpreter: mine}}",
                f"start_method: {method}\npreload: [m]\n"
                if method != "spawn" else "")
            with self.subTest(method):
                self.expect(self.jobrun(spec), 0)
                self.assertEqual(
                    [rank["result"] for rank in self.results()["ranks"]],
                    [["1", "1", "1", str(i), virtual] for i in (0, 1)])

    def test_plan_executes_nothing(self):
        spec = self.spec("touch ran", "[true]")
        done = self.expect(self.jobrun("plan", spec), 0)
        self.assertIn("\nsetup     'touch ran", done.stdout)
        self.expect(self.jobrun("validate", spec), 0)
        self.assertFalse((self.folder / "ran").exists())

    def test_a_stop(self):
        """Its whole group is told, and no grace is spent on the dead."""
        spec = self.spec("sleep 1000 & sleep 1000", "[true]",
                         "timeouts: {stop_grace: 1d}\n")
        for i in range(5):
            process = self.start("--run-id", f"r{i}", spec)
            until = time.monotonic() + harness.LIMIT
            events = self.folder / f"runs/r{i}/events.jsonl"
            while not (events.exists() and "setup_started"
                       in events.read_text()):
                self.assertLess(time.monotonic(), until)
                time.sleep(0.01)
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(harness.LIMIT), 143)
            self.assertEqual(self.results(f"r{i}")["processes_left"], 0)

    def test_what_it_left_is_swept(self):
        """A daemon of its own neither holds the run nor outlives it."""
        spec = self.spec("setsid sleep 1000 & echo $! >daemon", "[true]")
        self.expect(self.jobrun(spec), 0)
        pid = int((self.folder / "daemon").read_text())
        self.assertFalse(pathlib.Path(f"/proc/{pid}").exists())

    def test_console_that_is_closed(self):
        spec = self.spec("echo a; echo b >&2; export A=1", "[true]")
        process = self.start(spec, stdout=None, preexec_fn=lambda: os.close(1))
        self.assertEqual(process.wait(harness.LIMIT), 0)
        self.assertEqual(self.log(), "a\nb\n")


if __name__ == "__main__":
    harness.main()
