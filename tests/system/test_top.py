"""`jobrun top` on a terminal, as a person sees it and types into it: what is
drawn is read back by a small terminal of our own, of any size."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
import unicodedata

import harness

SPEC = """version: 1
name: tune
device: cpu
world_size: 12
on_failure: continue
entrypoint:
  shell: |
    echo "begun höhe 漢字漢字 $(seq -s ' ' 40)"
    case $RANK in
    3) exit 7 ;;
    4) kill -KILL $$ ;;
    esac
    touch ready.$RANK
    read x < fifo
"""
# A sanitizer would take SIGSEGV for a mistake of the program.
NO_HANDLER = os.environ.get("ASAN_OPTIONS", "") + ":handle_segv=0"
TAKE, GIVE = b"\x1b[?1049h", b"\x1b[?1049l"
CLEAR = b"\x1b[2J"


def width(char):
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


class Screen:
    """A terminal that understands what top sends, and fails on all else."""

    def __init__(self, lines, columns):
        self.lines, self.columns = lines, columns
        self.clear()

    def clear(self):
        self.rows = [[] for _ in range(self.lines)]
        self.line = self.column = 0

    def feed(self, text):
        for control, plain in re.findall(
                r"(\x1b\[[?0-9;]*[a-zA-Z]|\r\n)|([^\x1b\r\n]+)", text):
            if plain:
                self.put(plain)
            elif control == "\r\n":
                self.line, self.column = self.line + 1, 0
            elif control == "\x1b[H":
                self.line = self.column = 0
            elif control == "\x1b[K":
                del self.rows[self.line][self.column:]
            elif control == "\x1b[J":
                del self.rows[self.line][self.column:]
                for row in self.rows[self.line + 1:]:
                    row.clear()
            elif control == "\x1b[2J":
                self.rows = [[] for _ in range(self.lines)]
            else:
                assert re.match(r"\x1b\[\?(7|25|1049)[hl]$", control), control
        assert self.line < self.lines, "drawn below the last line"

    def put(self, text):
        assert self.line < self.lines, "drawn below the last line"
        row = self.rows[self.line]
        for char in text:
            assert char.isprintable(), repr(char)
            del row[self.column:self.column + 1]
            row.insert(self.column, char)
            self.column += 1
        assert sum(map(width, row)) <= self.columns, "drawn beyond the edge"

    def text(self):
        return ["".join(row) for row in self.rows]


class Case(harness.Case):
    def setUp(self):
        super().setUp()
        os.mkfifo(self.folder / "fifo")
        self.write("t.jobrun.yaml", SPEC)
        self.run_id = self.expect(self.jobrun("t.jobrun.yaml", "--detach"),
                                  0).stdout.strip()
        self.addCleanup(self.jobrun, "stop")
        for rank in 3, 4:
            self.await_event(event="rank_ended", rank=rank)
        self.until(lambda: len(list(self.folder.glob("ready.*"))) == 10)

    def until(self, done):
        end = time.monotonic() + harness.LIMIT
        while not done():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)

    def open(self, lines=24, columns=80, **options):
        """top in a session of its own, whose terminal we are."""
        self.master, self.slave = pty.openpty()
        self.ends = {self.master, self.slave}
        self.addCleanup(self.close, self.ends)
        self.resize(lines, columns)
        self.before = termios.tcgetattr(self.slave)
        self.top = subprocess.Popen(
            [harness.JOBRUN, "top"], cwd=self.folder,
            env=harness.clean_environment(TERM="xterm", ASAN_OPTIONS=NO_HANDLER),
            **{"stdin": self.slave, "stdout": self.slave,
               "stderr": subprocess.PIPE, "text": True,
               "preexec_fn": self.take_terminal, **options})
        self.addCleanup(self.top.stderr.close)
        self.addCleanup(self.top.wait)
        self.addCleanup(self.top.kill)
        self.seen = self.undrawn = b""

    @staticmethod
    def close(ends):
        for end in ends:
            os.close(end)

    def take_terminal(self):
        os.setsid()
        fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0)

    def resize(self, lines, columns):
        """The terminal's other end gets SIGWINCH by that. What top draws until
        it has cleared the screen for it may still be of the size before."""
        self.screen = Screen(lines, columns)
        self.cleared = False
        fcntl.ioctl(self.master, termios.TIOCSWINSZ,
                    struct.pack("HHHH", lines, columns, 0, 0))

    def read(self):
        """What was drawn since, as soon as there is something."""
        ready = select.select([self.master], [], [], harness.LIMIT)[0]
        self.assertTrue(ready, f"nothing is drawn after {self.seen!r}")
        piece = os.read(self.master, 65536)
        self.seen += piece
        return piece

    def frame(self, wanted):
        """The text of the screen, once `wanted` (a regular expression) is on
        it; it is drawn by as many frames as that takes."""
        end = time.monotonic() + harness.LIMIT
        while True:
            self.assertLess(time.monotonic(), end,
                            f"no {wanted} in {self.screen.text()}")
            self.undrawn += self.read()
            if not self.cleared:
                _, clear, rest = self.undrawn.partition(CLEAR)
                if not clear:
                    continue
                self.cleared, self.undrawn = True, rest
            while (at := self.undrawn.find(b"\x1b[H", 1)) > 0 or \
                    self.whole(self.undrawn):
                at = at if at > 0 else len(self.undrawn)
                self.screen.feed(self.undrawn[:at].decode())
                self.undrawn = self.undrawn[at:]
                if re.search(wanted, "\n".join(self.screen.text())):
                    return self.screen.text()

    @staticmethod
    def whole(text):
        """Whether nothing of the last frame is still on its way: a frame ends
        with its last line or what is erased below it."""
        try:
            text.decode()
        except UnicodeDecodeError:
            return False
        return len(text) > 0 and not re.search(rb"\x1b[^a-zA-Z]*$|\r$", text)

    def rest(self):
        """All that is written until top has ended."""
        while self.top.poll() is None or \
                select.select([self.master], [], [], 0)[0]:
            if select.select([self.master], [], [], 0.05)[0]:
                self.read()

    def check_given_back(self):
        self.assertGreater(self.seen.rfind(GIVE), self.seen.rfind(TAKE))
        self.assertGreater(self.seen.rfind(b"\x1b[?25h"),
                           self.seen.rfind(b"\x1b[?25l"))
        self.assertGreater(self.seen.rfind(b"\x1b[?7h"),
                           self.seen.rfind(b"\x1b[?7l"))
        self.assertEqual(termios.tcgetattr(self.slave), self.before)


class Looking(Case):
    def test_reset_helps_after_a_kill(self):
        """No program can put its terminal back when it dies by SIGKILL; the help
        says what does."""
        typed = termios.ICANON | termios.ECHO
        self.open()
        self.frame("rank")
        self.top.kill()
        self.top.wait(harness.LIMIT)
        self.assertEqual(termios.tcgetattr(self.slave)[3] & typed, 0)
        text = self.expect(self.jobrun("top", "--help"), 0).stdout
        self.assertIn("type `reset`", " ".join(text.split()))
        subprocess.run(["reset"], check=True, timeout=harness.LIMIT,
                       env=harness.clean_environment(TERM="xterm"),
                       stdin=self.slave, stdout=self.slave, stderr=self.slave)
        self.assertEqual(termios.tcgetattr(self.slave)[3] & typed, typed)

    def test_what_is_shown(self):
        self.open()
        text = self.frame("q quit")
        self.assertRegex(text[0],
                         r"^tune  0:\d\d:\d\d  10 of 12 ranks live, ")
        rows = [line.split() for line in text[2:14]]
        self.assertEqual([int(row[0]) for row in rows], list(range(12)))
        self.assertEqual(rows[0][1], "waiting")
        self.assertEqual(rows[3][1:3], ["exit", "7"])
        self.assertEqual(rows[4][1], "SIGKILL")
        self.assertIn("begun höhe 漢字漢字 1 2", text[2])
        self.assertRegex(text[14], "^1-12 of 12, by rank  q quit ")
        self.assertEqual(text[15:], [""] * 9)

    def test_other_verbs_know_the_name_too(self):
        runs = harness.json.loads(self.jobrun("runs", "--json").stdout)
        shown = harness.json.loads(self.jobrun("show", "--json").stdout)
        self.assertEqual((runs["runs"][0]["name"], shown["name"]),
                         ("tune", "tune"))

    def test_q_quits(self):
        self.open()
        self.frame("q quit")
        os.write(self.master, b"q")
        self.rest()
        self.assertEqual(self.top.wait(), 0)
        self.check_given_back()
        self.assertEqual(self.top.stderr.read(), "")
        self.assertEqual(self.jobrun("wait", "--timeout=0s").returncode, 124)

    def test_sorting_and_scrolling(self):
        self.open(lines=7)
        shown = self.ranks(self.frame("1-4 of 12, by silence  q quit"))
        self.assertEqual(len(shown), 4)
        for keys, wanted, ranks in (
                (b"r", "1-4 of 12, by rank", [0, 1, 2, 3]),
                (b"\x1b[B", "2-5 of 12", [1, 2, 3, 4]),
                (b"jj", "4-7 of 12", [3, 4, 5, 6]),
                (b"\x1bOA", "3-6 of 12", [2, 3, 4, 5]),
                (b"G", "9-12 of 12", [8, 9, 10, 11]),
                (b"j\x1b[6~ ", "9-12 of 12", [8, 9, 10, 11]),
                (b"\x1b[5~", "5-8 of 12", [4, 5, 6, 7]),
                (b"\x1b[H", "1-4 of 12", [0, 1, 2, 3]),
                (b"k", "1-4 of 12", [0, 1, 2, 3]),
                (b"r", "1-4 of 12, by rank", [11, 10, 9, 8]),
                (b"t\x1b[F", "9-12 of 12, by state", [10, 11, 4, 3]),
                # none of these is a key
                (b"\x1b[99;99~x\x00\xff\x1b[", "9-12 of 12, by state",
                 [10, 11, 4, 3])):
            with self.subTest(keys):
                os.write(self.master, keys)
                text = self.frame(wanted)
                while self.ranks(text) != ranks:
                    text = self.frame(wanted)
                self.assertEqual(text[6].split()[0], wanted.split()[0])

    @staticmethod
    def ranks(text):
        return [int(line.split()[0]) for line in text[2:-1]]

    def test_any_size(self):
        self.open(5, 20)
        text = self.frame("12, by silenc")
        self.assertEqual([line[:19] for line in text],
                         [text[0][:19], "  rank  state", *text[2:4],
                          "1-2 of 12, by silen"])
        self.assertRegex(text[2], r"^ +\d+  waiting$")
        for lines, columns, wanted in (
                (1, 1, "^t$"), (1, 9, "^tune$"), (2, 12, " wait$"),
                (3, 40, r"\d+-1 of|1-1 of 12"), (40, 7, "12-?|1-12 of"),
                (24, 80, "by rank  q quit"), (200, 300, "38 39 40"),
                (5, 20, "12, by silenc")):
            with self.subTest(lines=lines, columns=columns):
                self.resize(lines, columns)
                self.frame(wanted)

    def test_it_never_wakes_more_than_once_a_second(self):
        self.open()
        self.frame("q quit")
        first, before = self.elapsed(), self.switches()
        while self.elapsed() < first + 3:
            self.read()
        # One for each look, and one for each frame that is written.
        self.assertLessEqual(self.switches() - before,
                             2 * (self.elapsed() - first + 1))

    def elapsed(self):
        """Seconds, as they were drawn last."""
        hours, minutes, seconds = map(int, re.findall(
            rb"tune  (\d+):(\d+):(\d+)", self.seen)[-1])
        return (hours * 60 + minutes) * 60 + seconds

    def switches(self):
        with open(f"/proc/{self.top.pid}/status") as file:
            return int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)",
                                 file.read(), re.M)[1])


class GivingBack(Case):
    def test_whatever_signal_ends_it(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP,
                       signal.SIGQUIT, signal.SIGUSR1, signal.SIGALRM,
                       signal.SIGABRT, signal.SIGSEGV, signal.SIGXCPU,
                       signal.SIGRTMIN + 3):
            with self.subTest(number):
                self.open()
                self.frame("q quit")
                self.top.send_signal(number)
                self.rest()
                self.assertEqual(self.top.wait(), -number)
                self.check_given_back()

    def test_what_is_typed(self):
        for key, number in (b"\x03", signal.SIGINT), (b"\x1c", signal.SIGQUIT):
            self.open()
            self.frame("q quit")
            os.write(self.master, key)
            self.rest()
            self.assertEqual(self.top.wait(), -number)
            self.check_given_back()

    def test_what_is_ignored_stays_ignored(self):
        self.open(preexec_fn=lambda: signal.signal(signal.SIGHUP,
                                                   signal.SIG_IGN))
        self.frame("q quit")
        self.top.send_signal(signal.SIGHUP)
        self.seen = b""
        os.write(self.master, b"r")
        self.frame("by rank")
        self.assertIsNone(self.top.poll())

    def test_a_stop(self):
        # In a group of its own: one that nobody in the session looks after, as
        # the test's may be, is not stopped (setpgid(2), orphaned groups).
        self.open(preexec_fn=os.setpgrp)
        self.frame("q quit")
        self.top.send_signal(signal.SIGTSTP)
        self.until(lambda: self.state() == "T")
        while GIVE not in self.seen:
            self.read()
        self.check_given_back()
        self.seen = b""
        self.top.send_signal(signal.SIGCONT)
        while TAKE not in self.seen:
            self.read()
        self.assertNotEqual(termios.tcgetattr(self.slave), self.before)
        os.write(self.master, b"q")
        self.rest()
        self.assertEqual(self.top.wait(), 0)
        self.check_given_back()

    def state(self):
        with open(f"/proc/{self.top.pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0]

    def test_the_end_of_the_run(self):
        self.open()
        self.frame("q quit")
        self.expect(self.jobrun("stop"), 0)
        self.rest()
        self.assertEqual(self.top.wait(), 0)
        self.check_given_back()
        self.assertIn("has ended: stopped", self.top.stderr.read())

    def test_the_crash_of_the_run(self):
        self.open()
        self.frame("q quit")
        guard = int(harness.json.loads(
            (self.folder / "runs/latest/run.json").read_text())["pid"])
        runner = harness.runner_of(guard)
        for pid in guard, runner:
            os.kill(pid, signal.SIGKILL)
        self.rest()
        self.top.wait()
        self.check_given_back()

    def test_a_terminal_that_is_gone(self):
        self.open()
        self.frame("q quit")
        self.ends.remove(self.master)
        os.close(self.master)
        self.top.wait(harness.LIMIT)

    def test_a_terminal_that_is_paused(self):
        """Neither keys nor frames are read, and a signal still ends it."""
        self.open(200, 300)
        self.frame("38 39 40")
        termios.tcflow(self.slave, termios.TCOOFF)
        for key in b"rtcms" * 400:
            os.write(self.master, bytes([key]))
        self.top.send_signal(signal.SIGTERM)
        self.assertEqual(self.top.wait(harness.LIMIT), -signal.SIGTERM)
        self.assertEqual(termios.tcgetattr(self.slave), self.before)

    def test_nothing_is_typed_into_a_pipe(self):
        self.open(stdin=subprocess.DEVNULL)
        text = self.frame("12 ranks|10 of 12")
        self.assertNotIn("q quit", "\n".join(text))
        self.assertEqual(termios.tcgetattr(self.slave), self.before)
        self.top.terminate()
        self.rest()
        self.check_given_back()


if __name__ == "__main__":
    harness.main()
