"""What a user's machine may be like: limits, umasks, descriptors that are
closed or full, signals that are blocked or ignored, another user's folders."""
import collections
import os
import pathlib
import re
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import harness

NOBODY = 65534


def setUpModule():
    """A copy of the program that everybody may reach: the build can lie in a
    folder that is closed to others, such as root's home."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="jobrun-program-"))
    unittest.addModuleCleanup(shutil.rmtree, folder)
    folder.chmod(0o755)
    harness.JOBRUN = shutil.copy(harness.JOBRUN, folder / "jobrun")


def limited(**limits):
    """To be called between fork and exec: sets soft and hard limits."""
    def apply():
        for name, value in limits.items():
            resource.setrlimit(getattr(resource, f"RLIMIT_{name.upper()}"),
                               (value, value))
    return apply


class Case(harness.Case):
    def setUp(self):
        super().setUp()
        if os.geteuid() == 0:
            os.chown(self.folder, NOBODY, NOBODY)

    def call(self, *words, preexec_fn=None, **options):
        """Run as somebody who is not root."""
        user = {"user": NOBODY, "group": NOBODY} if os.geteuid() == 0 else {}
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE,
                   **user, **options}
        return subprocess.run(
            [harness.JOBRUN, *map(str, words)], cwd=self.folder, text=True,
            stdin=subprocess.DEVNULL, timeout=harness.LIMIT,
            # A sanitizer's own search for leaks needs processes.
            env=harness.clean_environment(ASAN_OPTIONS="detect_leaks=0"),
            preexec_fn=preexec_fn, errors="surrogateescape", **options)


class Permissions(Case):
    def test_a_umask_that_takes_everything(self):
        done = self.call("-n", "2", "--", "sh", "-c",
                         "umask; echo x > $JOBRUN_RANK_DIR/own",
                         preexec_fn=lambda: os.umask(0o777))
        self.expect(done, 0)
        self.assertEqual(sorted(done.stdout.splitlines()),
                         ["[0] 0777", "[1] 0777"])
        for name, mode in ((".", 0o40700), ("latest/run.json", 0o100600),
                           ("latest/attempt_0/1", 0o40700),
                           ("latest/attempt_0/1/stdout.log", 0o100600),
                           ("latest/attempt_0/1/own", 0o100000)):
            self.assertEqual((self.folder / "runs" / name).stat().st_mode,
                             mode, name)

    def test_a_folder_that_may_not_be_written(self):
        self.folder.chmod(0o500)
        self.addCleanup(self.folder.chmod, 0o700)
        done = self.expect(self.call("-n", "1", "--", "true"), 7)
        self.assertRegex(done.stderr, r"log_dir.*runs: Permission denied")

    def test_a_folder_that_may_be_listed_only(self):
        self.write("good.jobrun.yaml", "version: 1\nentrypoint: [x]\n")
        below = self.folder / "below"
        below.mkdir()
        (below / "bad.jobrun.yaml").write_text("version: 2\n")
        below.chmod(0o444)
        self.addCleanup(below.chmod, 0o700)
        done = self.expect(self.call("validate", "."), 3)
        self.assertIn("below/bad.jobrun.yaml: error[JR0101]: cannot check it: "
                      "Permission denied", done.stdout)

    def test_names_that_a_spec_cannot_say(self):
        odd = os.fsencode(self.folder) + b"/a \"b\"\n\xff"
        os.mkdir(odd)
        done = subprocess.run([harness.JOBRUN, "-n", "1", "--", "true"],
                              cwd=odd, capture_output=True,
                              timeout=harness.LIMIT)
        self.assertEqual(done.returncode, 3)
        self.assertIn(rb'folder is not UTF-8, which a spec must be: ',
                      done.stderr)
        self.assertIn(rb'/a "b"\x0a\xff', done.stderr)
        self.assertEqual(os.listdir(odd), [])
        self.assertEqual(os.listdir(self.folder), [os.path.basename(odd)
                         .decode(errors="surrogateescape")])
        done = self.call("-n", "1", "--", "echo", b"a\xff".decode(
            errors="surrogateescape"))
        self.expect(done, 3)
        self.assertIn(r"an argument is not UTF-8, which a spec must be: a\xff",
                      done.stderr)


class Limits(Case):
    def refused(self, done, *said):
        """Refused before the start, and on record as that."""
        self.expect(done, 7)
        for words in said:
            self.assertIn(words, done.stderr)
        results = self.results()
        self.assertEqual(results["status"], "launch_failed")
        self.assertEqual(results["root_cause"]["kind"], "start")
        self.assertIn(results["root_cause"]["message"], done.stderr)
        self.assertEqual({rank["state"] for rank in results["ranks"]},
                         {"not_started"})
        shown = self.expect(self.call("show"), 0).stdout
        self.assertIn(shown.splitlines()[0], done.stderr)
        runs = self.expect(self.call("runs"), 0).stdout
        self.assertRegex(runs, r"\nlaunch_failed +7 ")

    def test_few_descriptors(self):
        done = self.call("-n", "40", "--", "true",
                         preexec_fn=limited(nofile=64))
        self.refused(done, "40 ranks need ", " and the hard limit is 64")

    def test_few_processes(self):
        done = self.call("-n", "4", "--", "true", preexec_fn=limited(nproc=3))
        self.refused(done, "allows 3   exit status 7")

    def test_processes_that_run_out(self):
        done = self.call("-n", "8", "--", "sh", "-c", "sleep 60 & sleep 60",
                         preexec_fn=limited(nproc=12))
        # All may have been started by the time that the first of them fails.
        self.assertIn(done.returncode, (1, 7), done.stderr)
        self.assertRegex(done.stderr, r"rank \d could not make a process: "
                         r".*ulimit -u|rank \d exited with code 2")
        self.assertEqual(self.results()["processes_left"], 0)

    def test_files_that_may_not_grow(self):
        for blocks in (0, 1):
            done = self.call("-n", "1", "--", "echo", "hello",
                             preexec_fn=limited(fsize=blocks * 512))
            self.expect(done, 7)
            self.assertIn("File too large", done.stderr)


class Descriptors(Case):
    def test_a_console_on_a_full_disk(self):
        with open("/dev/full", "w") as full:
            done = self.call("-n", "2", "--", "echo", "hello", stdout=full)
        self.expect(done, 7)
        self.assertIn("the console output is incomplete: No space left on device",
                      done.stderr)
        self.assertEqual(self.results()["status"], "incomplete")
        log = self.folder / "runs/latest/attempt_0/1/stdout.log"
        self.assertEqual(log.read_text(), "hello\n")


class Signals(Case):
    def test_what_is_blocked_stays_behind_what_is_ignored_does_not(self):
        def disturb():
            every = signal.valid_signals()
            signal.pthread_sigmask(signal.SIG_BLOCK, every)
            for number in every - {signal.SIGKILL, signal.SIGSTOP, 32, 33}:
                signal.signal(number, signal.SIG_IGN)
        done = self.call("-n", "1", "--", "grep", "-E", "^Sig(Blk|Ign)",
                         "/proc/self/status", preexec_fn=disturb,
                         restore_signals=False)
        self.expect(done, 0)
        words = done.stdout.split()
        self.assertEqual(words[:5], ["[0]", "SigBlk:", "0" * 16, "[0]",
                                     "SigIgn:"])
        ignored = {number for number in range(1, 65)
                   if int(words[5], 16) >> (number - 1) & 1}
        self.assertLessEqual({signal.SIGHUP, signal.SIGINT, signal.SIGQUIT,
                              signal.SIGTERM, signal.SIGUSR1, 40}, ignored)
        # What jobrun ignores by itself, and what nobody could wait without.
        self.assertFalse({signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD} &
                         ignored)


class Terminals(Case):
    """Standard output and error are a terminal, whose size is 80 x 24."""

    def on_terminal(self, *words, meanwhile=lambda process, seen: None):
        ours, theirs = os.openpty()
        process = self.start(*words, stdout=theirs, stderr=theirs,
                             env={"TERM": "xterm"})
        os.close(theirs)
        self.addCleanup(os.close, ours)
        seen = b""
        while select.select([ours], [], [], harness.LIMIT)[0]:
            try:
                seen += os.read(ours, 65536)
            except OSError:  # EIO: nobody has it open any more
                break
            meanwhile(process, seen)
        return process.wait(harness.LIMIT), seen.decode(errors="replace")

    EVIL = (r"printf '\033]0;title\007\033[2J\033[31mred\033[0m\nbar 1\rbar 2\n"
            r"\nlast'")

    def test_what_ranks_print_cannot_drive_the_terminal(self):
        status, seen = self.on_terminal("-n", "1", "--", "sh", "-c", self.EVIL)
        self.assertEqual(status, 0, seen)
        for shown in (seen, self.on_terminal("logs")[1]):
            self.assertNotIn("\x1b]0", shown)
            self.assertNotIn("\x1b[2J", shown)
            self.assertIn("\x1b[31mred\x1b[0m", shown)
            self.assertRegex(shown, r"bar 2\r\n(\[0\] )?\r\n(\[0\] )?last")
            self.assertNotIn("bar 1", shown.split("bar 2")[-1])
        with open(self.folder / "runs/latest/attempt_0/0/stdout.log") as log:
            piped = self.expect(self.jobrun("logs"), 0).stdout
            self.assertTrue(piped.endswith(log.read()), piped)

    def test_a_stop_that_takes_time_is_told(self):
        # The second time a second later, or it would be the same signal.
        cues = [rb"\[0\] ready", rb"SIGKILL in 2\ds \(Ctrl-C: now\)"]

        def press(process, seen):
            if cues and re.search(cues[0], seen):
                cues.pop(0)
                process.send_signal(signal.SIGINT)

        status, seen = self.on_terminal(
            "-n", "1", "--", "sh", "-c",
            "trap '' TERM; echo ready; sleep 60; sleep 60", meanwhile=press)
        self.assertEqual(status, 130, seen)
        self.assertRegex(seen, r"1 running(, \d+s)?, stopping: SIGKILL in "
                         r"[23]\ds \(Ctrl-C: now\)")
        self.assertIn("rank 0 needed SIGKILL", seen)


class Refusals(Case):
    def test_a_plan_that_fails_leaves_no_folder(self):
        self.write("t.jobrun.yaml", "version: 1\nentrypoint: [true]\n"
                   "world_size: 1\nenv:\n  NEEDED_HERE: ???\n")
        os.chmod(self.folder / "t.jobrun.yaml", 0o644)
        self.expect(self.call("t.jobrun.yaml"), 4)
        self.assertEqual(os.listdir(self.folder / "runs"), [".gitignore"])

    def test_run_ids_that_are_none(self):
        for run_id, said in (("latest", "means the newest run"),
                             ("x" * 128, "is 1 to 127 of A-Z"),
                             ("../x", "is not one"), ("", "is not one"),
                             (".hidden", "does not begin with a dot")):
            with self.subTest(run_id):
                done = self.call("--run-id", run_id, "-n", "1", "--", "true")
                self.assertIn(said, self.expect(done, 2).stderr)
        self.assertFalse((self.folder / "runs").exists())
        self.expect(self.call("--run-id", "x" * 127, "-n", "1", "--", "true"),
                    0)

    def test_a_latest_that_is_no_link_is_left_alone(self):
        latest = self.folder / "runs" / "latest"
        latest.mkdir(parents=True)
        if os.geteuid() == 0:
            os.chown(self.folder / "runs", NOBODY, NOBODY)
        done = self.expect(self.call("-n", "1", "--", "true"), 0)
        self.assertIn("'latest' in the log_dir is not a link", done.stderr)
        self.assertTrue(latest.is_dir() and not latest.is_symlink())


class Machine(Case):
    def test_no_null_device(self):
        done = subprocess.run(
            ["unshare", "--mount", *["--map-root-user"] * (os.geteuid() != 0),
             "sh", "-c", 'mount -t tmpfs none /dev && exec "$@"', "sh",
             harness.JOBRUN, "-n", "1", "--", "true"],
            cwd=self.folder, text=True, capture_output=True,
            timeout=harness.LIMIT, stdin=subprocess.DEVNULL,
            env=harness.clean_environment())
        if "jobrun:" not in done.stderr:
            self.skipTest("SKIPPED: no mount namespace here: " + done.stderr)
        self.expect(done, 7)
        self.assertIn("which needs /dev/null: No such file", done.stderr)


class Pipes(Case):
    """What one user may have in pipes (pipe(7)) is taken already."""
    TAKE = """\
import fcntl, os, subprocess, sys
held = []
while True:
    held.append(os.pipe())
    try:
        fcntl.fcntl(held[-1][0], fcntl.F_SETPIPE_SZ, 1 << 20)
    except PermissionError:
        break
size = fcntl.fcntl(os.pipe()[0], fcntl.F_GETPIPE_SZ)
if size > 8192:
    sys.exit(f"SKIPPED: pipes are still of {size} bytes")
sys.exit(subprocess.run(sys.argv[1:], stdin=subprocess.DEVNULL).returncode)
"""

    def test_small_pipes_lose_nothing(self):
        ranks, lines = 4, 20000
        user = {"user": NOBODY, "group": NOBODY} if os.geteuid() == 0 else {}
        done = subprocess.run(
            [sys.executable, "-c", self.TAKE, harness.JOBRUN, "-n", str(ranks),
             "-s", "oversubscribe=true", "-s", "tee=all", "--", "seq",
             str(lines)],
            cwd=self.folder, text=True, capture_output=True,
            timeout=harness.LIMIT, stdin=subprocess.DEVNULL,
            env=harness.clean_environment(ASAN_OPTIONS="detect_leaks=0"),
            **user)
        if "SKIPPED" in done.stderr:
            self.skipTest(done.stderr)
        self.expect(done, 0)
        told = collections.Counter(done.stdout.splitlines())
        self.assertEqual(len(told), ranks * lines)
        whole = "".join(f"{i}\n" for i in range(1, lines + 1))
        for rank in range(ranks):
            log = self.folder / "runs/latest/attempt_0" / str(rank)
            self.assertEqual((log / "stdout.log").read_text(), whole)


if __name__ == "__main__":
    harness.main()
