"""The spec's `on_end`: when it runs, with what, and what becomes of it."""
import os
import pathlib
import signal
import stat
import time

import harness
import test_nodes_by_hand as hand
import test_nodes_by_srun as agents

TELL = ("env | grep ^JOBRUN_ | sort > \"$OUT\"; pwd >> \"$OUT\"; "
        "ls \"$JOBRUN_RUN_DIR/results.json\" >> \"$OUT\"")


class OnEnd(harness.Case):
    def spec(self, on_end, entrypoint="[true]", more=""):
        return self.write("in/a job.jobrun.yaml",
                          "version: 1\nworld_size: 2\ndevice: cpu\n"
                          f"oversubscribe: true\nentrypoint: {entrypoint}\n"
                          f"log_dir: ../runs\non_end: {on_end}\n{more}")

    def shell(self, text, entrypoint="[true]", more=""):
        return self.spec("\n- sh\n- -c\n- |\n" + "".join(
            f"  {line}\n" for line in text.splitlines()), entrypoint, more)

    def told(self):
        return (self.folder / "told").read_text().splitlines()

    def log(self):
        return (self.folder / "runs/latest/on_end.log").read_text()

    def await_file(self, name):
        until = time.monotonic() + harness.LIMIT
        while not (self.folder / name).exists():
            self.assertLess(time.monotonic(), until, f"no {name}")
            time.sleep(0.01)

    def fifo(self, name):
        path = self.folder / name
        os.mkfifo(path)
        return path

    def assert_gone(self, pid):
        """Nobody reaps it but init, which may take its time."""
        until = time.monotonic() + harness.LIMIT
        while time.monotonic() < until:
            try:
                text = pathlib.Path(f"/proc/{pid}/stat").read_text()
            except OSError:
                return
            if text.rpartition(")")[2].split()[0] in "ZX":
                return
            time.sleep(0.01)
        self.fail(f"{pid} lives")

    def test_after_success_and_failure(self):
        (self.folder / "in").mkdir()
        for entrypoint, status, code in (("[true]", "succeeded", 0),
                                         ("[sh, -c, exit 3]", "failed", 1),
                                         ("[no-such]", "launch_failed", 7)):
            with self.subTest(status):
                spec = self.shell(TELL, entrypoint)
                done = self.expect(self.jobrun(
                    spec, env={"OUT": str(self.folder / "told"),
                               "JOBRUN_STATUS": "another"}), code)
                run = os.path.realpath(self.folder / "runs/latest")
                self.assertEqual(self.told(), [
                    f"JOBRUN_EXIT_CODE={code}", f"JOBRUN_RUN_DIR={run}",
                    f"JOBRUN_RUN_ID={os.path.basename(run)}",
                    f"JOBRUN_STATUS={status}",
                    os.path.realpath(self.folder / "in"),
                    f"{run}/results.json"])
                self.assertEqual(self.results()["status"], status)
                self.assertNotIn("on_end", done.stderr)
                self.assertEqual(self.log(), "")

    def test_once_for_all_attempts(self):
        spec = self.shell(
            "echo $JOBRUN_STATUS $JOBRUN_EXIT_CODE >> ../told",
            "{shell: '[ $JOBRUN_ATTEMPT = 2 ]'}",
            "restart: {max: 5, backoff: 0s}\n")
        self.expect(self.jobrun(spec), 0)
        self.assertEqual(self.results()["attempt"], 2)
        self.assertEqual(self.told(), ["succeeded 0"])

    def test_its_failures_are_warnings(self):
        for on_end, text in (
                ("[sh, -c, 'echo no disk >&2; exit 3']",
                 "on_end: 'sh' exited with code 3 (its output: "),
                ("[sh, -c, 'kill -KILL $$']",
                 "on_end: 'sh' was killed by SIGKILL (its output: "),
                ("[no-such-program, a]", "on_end: 'no-such-program' could not "
                 "be executed: No such file or directory\n"),
                ("[./not-here]", "on_end: './not-here' could not be executed: "
                 "No such file or directory\n")):
            for entrypoint, code in ("[true]", 0), ("[false]", 1):
                with self.subTest(on_end, code=code):
                    done = self.expect(
                        self.jobrun(self.spec(on_end, entrypoint)), code)
                    self.assertIn("jobrun: " + text, done.stderr)
                    # the verdict is there first
                    report, _, warning = done.stderr.partition("on_end: ")
                    self.assertRegex(report, r"runs/.*\(jobrun (show|logs) ")
                    self.assertEqual(warning.count("\n"), 1)
                    self.assertEqual(self.results()["exit_code"], code)
        self.expect(self.jobrun(self.spec(
            "[sh, -c, 'echo out; echo err >&2']")), 0)
        self.assertEqual(self.log(), "out\nerr\n")

    def test_plan_says_what_is_missing(self):
        done = self.jobrun("plan", self.spec("[no-such-program, 'a b']"))
        self.expect(done, 0)
        self.assertIn("\non_end    no-such-program 'a b'\n", done.stdout)
        self.assertIn("warning", done.stderr)
        self.assertIn("the program 'no-such-program' cannot be executed",
                      done.stderr)
        tool = self.write("in/tool", "#!/bin/sh\n")
        done = self.jobrun("plan", self.spec("[./tool]"))
        self.assertIn("'./tool' cannot be executed: Permission", done.stderr)
        tool.chmod(0o755)
        done = self.expect(self.jobrun("plan", self.spec("[./tool]")), 0)
        self.assertNotIn("tool", done.stderr)
        self.assertFalse((self.folder / "runs").exists())

    def test_in_the_folder_of_its_spec(self):
        """Its own program, from anywhere, and when it is run again."""
        self.write("in/tool", "#!/bin/sh\npwd >> ../told\n").chmod(0o755)
        # --exact wants the port of that run again, which is nobody else's
        # meanwhile. The plain rerun took one of those that all runs look for.
        self.expect(self.jobrun(
            self.spec("[./tool]", more=f"master_port: {harness.free_port()}\n"),
            "--run-id", "first"), 0)
        self.expect(self.jobrun("rerun", "first"), 0)
        self.expect(self.jobrun("rerun", "first", "--exact"), 0)
        folder = os.path.realpath(self.folder / "in")
        self.assertEqual(self.told(), [folder] * 3)

    def test_after_an_interrupt(self):
        spec = self.shell("echo $JOBRUN_STATUS $JOBRUN_EXIT_CODE > ../told",
                          "[sh, -c, 'echo on; exec sleep 1000']")
        for sig, status in (signal.SIGINT, 130), (signal.SIGTERM, 143):
            with self.subTest(sig):
                run = self.start(spec)
                self.assertIn("on", run.stdout.readline())
                run.send_signal(sig)
                run.communicate(timeout=harness.LIMIT)
                code = self.results()["exit_code"]
                self.assertEqual(run.returncode, code)
                self.assertEqual(self.told(), [f"stopped {code}"])

    def test_it_hangs(self):
        """A signal ends it; what it said stays."""
        spec = self.shell("trap '' TERM INT\necho begun > ../begun\n"
                          "echo so far\nsleep 1000\nsleep 1000")
        run = self.start(spec)
        self.await_file("begun")
        # by now the verdict is told, and what jobrun waits for
        lines = []
        while "waits for it" not in "".join(lines):
            lines.append(run.stderr.readline())
            self.assertNotEqual(lines[-1], "")
        self.assertIn("on_end: 'sh' is still running; jobrun waits for it for "
                      "at most 1m", lines[-1])
        self.assertIn("succeeded", "".join(lines))
        run.send_signal(signal.SIGINT)
        rest = run.communicate(timeout=harness.LIMIT)[1]
        self.assertIn("on_end: 'sh' was killed, because jobrun received "
                      "SIGINT (its output: ", rest)
        self.assertEqual(run.returncode, 0)
        self.assertEqual(self.log(), "so far\n")

    def test_it_leaves_a_daemon(self):
        spec = self.shell("(setsid sh -c 'trap \"\" TERM HUP; echo $$ > "
                          "../pid.new; mv ../pid.new ../pid; sleep 1000; "
                          "sleep 1000' &)\n"
                          "until [ -e ../pid ]; do sleep 0.01; done")
        done = self.expect(self.jobrun(spec), 0)
        self.assertIn("on_end: 'sh' exited and left processes behind, which "
                      "were killed", done.stderr)
        self.assert_gone(int((self.folder / "pid").read_text()))

    def test_jobrun_is_killed(self):
        """Whoever writes the record runs it; and it is not run twice."""
        spec = self.shell("echo $JOBRUN_STATUS >> ../told\n"
                          "mv ../told ../ended",
                          "[sh, -c, 'echo on; exec sleep 1000']")
        run = self.start(spec)
        self.assertIn("on", run.stdout.readline())
        run.kill()
        run.wait(harness.LIMIT)
        self.await_file("ended")
        self.assertEqual((self.folder / "ended").read_text(),
                         "launch_failed\n")
        self.assertEqual(self.results()["status"], "launch_failed")

    def test_jobrun_is_killed_while_it_runs(self):
        fifo = self.fifo("go")
        spec = self.shell("echo > ../begun\nread line < ../go\n"
                          "echo \"$line\" > ../new\nmv ../new ../ended")
        run = self.start(spec)
        self.await_file("begun")
        run.kill()
        run.wait(harness.LIMIT)
        fifo.write_text("on\n")
        self.await_file("ended")
        self.assertEqual((self.folder / "ended").read_text(), "on\n")

    def test_a_planted_log(self):
        """A rank can write where the log is to be."""
        victim = self.write("victim", "mine\n")
        spec = self.spec("[sh, -c, 'echo gone; exit 4']",
                         "{shell: 'ln -sf \"$VICTIM\" "
                         "\"$JOBRUN_RUN_DIR/on_end.log\"'}")
        done = self.expect(self.jobrun(spec, env={"VICTIM": str(victim)}), 0)
        self.assertIn("exited with code 4 (its output is lost: on_end.log: "
                      "File exists)", done.stderr)
        self.assertEqual(victim.read_text(), "mine\n")

    def test_detached_and_mode(self):
        spec = self.shell("echo $JOBRUN_STATUS > ../new; mv ../new ../told; "
                          "echo said")
        self.expect(self.jobrun(spec, "--detach"), 0)
        self.expect(self.jobrun("wait", "latest"), 0)
        self.await_file("told")
        self.assertEqual(self.told(), ["succeeded"])
        mode = (self.folder / "runs/latest/on_end.log").stat().st_mode
        self.assertEqual(stat.S_IMODE(mode), 0o600)

    def test_streams_are_closed(self):
        """Neither a terminal nor a reader is needed."""
        spec = self.spec("[sh, -c, 'cat; echo said; exit 2']")
        read, write = os.pipe()
        os.close(read)
        run = self.start(spec, stdout=write, stderr=write)
        os.close(write)
        self.assertIsNotNone(run.wait(harness.LIMIT))
        self.assertEqual(self.log(), "said\n")

    def test_a_secret(self):
        """It is the command's to use, and nobody's to print."""
        spec = self.spec("['no-such-${env:MY_TOKEN}']")
        done = self.expect(self.jobrun(
            spec, env={"MY_TOKEN": "hush-hush-hush"}), 0)
        self.assertIn("could not be executed", done.stderr)
        self.assertNotIn("hush-hush", done.stderr)
        for path in (self.folder / "runs/latest/").iterdir():
            if path.is_file():
                self.assertNotIn("hush-hush", path.read_text(), path)


class Agents(agents.Agents):
    def test_once_for_all_nodes(self):
        more = ("on_end: [sh, -c, 'echo $JOBRUN_STATUS $JOBRUN_EXIT_CODE "
                "$(ls \"$JOBRUN_RUN_DIR/results.json\" | wc -l) >> told']")
        for script, code, told in (("true", 0, "succeeded 0 1\n"),
                                   ("exit 3", 1, "failed 1 1\n")):
            self.expect(self.run_on(2, script, more=more), code)
            path = self.folder / "told"
            self.assertEqual(path.read_text(), told)
            path.unlink()
            self.nobody_is_left()


class Hand(harness.Case):
    step = hand.Steps.step

    def test_on_each_node(self):
        self.write("t.jobrun.yaml",
                   "version: 1\ndevice: cpu\nlocal_world_size: 1\n"
                   f"master_port: {harness.free_port()}\nentrypoint: [true]\n"
                   "on_end: [sh, -c, 'echo $JOBRUN_RUN_ID "
                   "$(basename \"$JOBRUN_RUN_DIR\") >> told; "
                   "cat \"$JOBRUN_RUN_DIR/results.json\" > /dev/null']\n")
        for node in 0, 1:
            done = self.step(node)
            self.assertNotIn("on_end", done.stderr)
        self.assertEqual((self.folder / "told").read_text(),
                         "t-4711.3 node_0\nt-4711.3 node_1\n")


if __name__ == "__main__":
    harness.main()
