"""--debug and --stdin: a terminal, or jobrun's standard input, for one rank."""
import fcntl
import json
import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import tempfile
import termios
import time
import unittest

import harness

JOBRUN = os.environ["JOBRUN"]
LIMIT = 300  # seconds that anything may take


class Terminal:
    """jobrun as a shell's foreground job on a terminal of 100 x 30."""

    def __init__(self, folder, *words):
        master, slave = pty.openpty()
        termios.tcsetwinsize(slave, (30, 100))
        self.before = termios.tcgetattr(slave)
        self.master, self.slave, self.text = master, slave, ""
        self.pid = os.fork()
        if self.pid == 0:
            self.login(slave)
            os.chdir(folder)
            os.execv(JOBRUN, [JOBRUN, *words])

    @staticmethod
    def login(slave):
        os.setsid()
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
        for fd in range(3):
            os.dup2(slave, fd)

    def type(self, text):
        os.write(self.master, text.encode())

    def expect(self, text):
        """Read until there is such a text, and forget what came until then."""
        until = time.monotonic() + LIMIT
        while re.search(text, self.text) is None:
            ready = select.select([self.master], [], [],
                                  until - time.monotonic())[0]
            if not ready:
                raise AssertionError(f"no {text!r} in {self.text!r}")
            self.text += os.read(self.master, 4096).decode(errors="replace")
        self.text = self.text[re.search(text, self.text).end():]

    def end(self):
        """The exit status, once all was shown."""
        pidfd = os.pidfd_open(self.pid)
        until = time.monotonic() + LIMIT
        while True:
            ready = select.select([self.master, pidfd], [], [],
                                  until - time.monotonic())[0]
            if self.master in ready:
                self.text += os.read(self.master, 4096).decode()
            elif ready:
                break
            else:
                os.kill(self.pid, signal.SIGKILL)
                raise AssertionError(f"no end: {self.text!r}")
        os.close(pidfd)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def mode(self):
        return termios.tcgetattr(self.slave)

    def is_raw(self):
        return not self.mode()[3] & termios.ISIG

    def close(self):
        os.close(self.master)
        os.close(self.slave)


class Debug(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="jobrun test ")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def start(self, script, *options, ranks=2, spec=""):
        path = self.folder / "job.jobrun.yaml"
        path.write_text(f"version: 1\nworld_size: {ranks}\ndevice: cpu\n"
                        "oversubscribe: true\nentrypoint:\n  shell: |\n"
                        + "".join(f"    {line}\n"
                                  for line in script.splitlines()) + spec)
        terminal = Terminal(self.folder, *options, str(path))
        self.addCleanup(terminal.close)
        return terminal

    def results(self):
        return json.loads((self.folder / "runs/latest/results.json")
                          .read_text())

    def test_the_rank_has_the_terminal(self):
        terminal = self.start(
            'if [ $RANK = 0 ]; then echo other; exit; fi\n'
            '[ -t 0 ] && [ -t 1 ] && [ -t 2 ] && : </dev/tty && echo tty\n'
            'stty size; read word; echo "got $word"\n', "--debug", "1",
            spec="timeouts: {run: 1ms}\n")
        terminal.expect("rank 1 has this terminal")
        terminal.expect("tty\r\n30 100\r\n")
        self.assertTrue(terminal.is_raw())
        terminal.type("hello\r")
        terminal.expect("got hello\r\n")
        self.assertEqual(terminal.end(), 0)
        self.assertNotIn("other", terminal.text)
        self.assertEqual(terminal.mode(), terminal.before)
        log = self.folder / "runs/latest/attempt_0/0/stdout.log"
        self.assertEqual(log.read_text(), "other\n")
        self.assertIsNone(self.results()["ranks"][1]["stdout"])

    def test_interrupts_are_the_ranks(self):
        terminal = self.start(
            "[ $RANK = 0 ] || exec sleep 0\n"
            "trap 'echo interrupted; exit 3' INT\n"
            "echo ready; while :; do read line; done\n", "--debug", "0")
        terminal.expect("ready")
        terminal.type("\x03")
        terminal.expect("interrupted")
        self.assertEqual(terminal.end(), 1)
        self.assertEqual(self.results()["ranks"][0]["exit_code"], 3)
        self.assertEqual(terminal.mode(), terminal.before)

    def test_the_window_changes(self):
        terminal = self.start(
            "trap 'stty size; exit 0' WINCH\necho ready\n"
            "while :; do read line; done\n", "--debug", "0", ranks=1)
        terminal.expect("ready")
        termios.tcsetwinsize(terminal.slave, (11, 22))
        terminal.expect("11 22")
        self.assertEqual(terminal.end(), 0)

    def test_all_that_was_written_is_shown(self):
        terminal = self.start("seq 1 20000\n", "--debug", "0", ranks=1)
        terminal.expect("rank 0 has this terminal")
        self.assertEqual(terminal.end(), 0)
        numbers = re.findall(r"^(\d+)\r$", terminal.text, re.MULTILINE)
        self.assertEqual(numbers, [str(i) for i in range(1, 20001)])

    def test_the_mode_comes_back_whoever_is_killed(self):
        for victim in ("runner", "rank", "jobrun"):
            terminal = self.start("echo ready; read line\n", "--debug", "0",
                                  ranks=1)
            terminal.expect("ready")
            self.assertTrue(terminal.is_raw())
            runner = harness.runner_of(terminal.pid)
            pid = {"runner": runner, "rank": harness.children(runner)[0],
                   "jobrun": terminal.pid}[victim]
            pidfd = os.pidfd_open(runner)
            os.kill(pid, signal.SIGKILL)
            terminal.end()
            self.assertTrue(select.select([pidfd], [], [], LIMIT)[0])
            os.close(pidfd)
            self.assertEqual(terminal.mode(), terminal.before, victim)

    def refused(self, *words, **how):
        done = subprocess.run(
            [JOBRUN, "-n", "2", *words, "--", "true"], cwd=self.folder,
            stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=LIMIT, **how)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertFalse((self.folder / "runs/latest").exists())
        return done.stderr

    def test_what_cannot_be_is_refused(self):
        self.assertIn("--debug needs a terminal", self.refused("--debug", "0"))
        self.assertIn("only one of them",
                      self.refused("--debug", "0", "--stdin", "1"))
        self.assertIn("only one of them",
                      self.refused("--debug", "0", "--detach"))
        self.assertIn("use --stdin without --detach",
                      self.refused("--stdin", "0", "--detach"))
        self.assertIn("--stdin 2: this machine starts ranks 0 to 1",
                      self.refused("--stdin", "2"))

    def test_one_rank_reads_standard_input(self):
        done = subprocess.run(
            [JOBRUN, "-n", "3", "--stdin", "1", "--", "sh", "-c", "wc -c"],
            cwd=self.folder, input=b"x" * 1000000, capture_output=True,
            timeout=LIMIT)
        self.assertEqual(sorted(done.stdout.split(b"\n")),
                         [b"", b"[0] 0", b"[1] 1000000", b"[2] 0"])
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_rank_may_leave_standard_input_alone(self):
        done = subprocess.run(
            [JOBRUN, "-n", "1", "--stdin", "0", "--", "true"],
            cwd=self.folder, input=b"x" * 10000, capture_output=True,
            timeout=LIMIT)
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
