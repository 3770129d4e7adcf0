"""The lines that a sweep draws on a terminal while it runs, at several widths and
with many cells; and that nothing is drawn, or woken for, without one."""
import fcntl
import os
import pathlib
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

import harness
import test_nodes_by_ssh as by_ssh

# A cell makes a step for each line of its FIFO, and ends with "end CODE".
SPEC = r"""version: 1
name: scan
device: cpu
world_size: 1
oversubscribe: true
timeouts: {stop_grace: 2s}
vars: {n: 0, note: x}
env: {N: "${vars.n}", NOTE: "${vars.note}"}  # and GO, from outside
entrypoint:
  shell: |
    i=0
    while read word code; do
        [ "$word" != end ] || exit $code
        i=$((i+1)); echo "step $i/40"
    done < "$GO/go.$N"
progress: {pattern: 'step (?<step>\d+)/(?<of>\d+)'}
sweep: {axes: {vars.n: {from: 0, to: %d}}, parallel: %d}
"""


class Screen:
    """A terminal of some columns, which wraps, with all that scrolled by."""

    def __init__(self, columns):
        self.columns, self.rows, self.line, self.column = columns, [""], 0, 0

    def put(self, char):
        if self.column == self.columns:
            self.newline()
            self.column = 0
        row = self.rows[self.line].ljust(self.column)
        self.rows[self.line] = row[:self.column] + char + row[self.column + 1:]
        self.column += 1

    def newline(self):
        self.line += 1
        if self.line == len(self.rows):
            self.rows.append("")

    def feed(self, text):
        for control, plain in re.findall(
                r"(\x1b\[[0-9;]*[a-zA-Z]|\r|\n)|([^\x1b\r\n]+)", text):
            for char in plain:
                self.put(char)
            if control == "\r":
                self.column = 0
            elif control == "\n":
                self.newline()
            elif control == "\x1b[J":
                self.rows[self.line] = self.rows[self.line][:self.column]
                del self.rows[self.line + 1:]
            elif control.endswith("A"):
                self.line = max(self.line - int(control[2:-1]), 0)
            elif control:
                assert re.match(r"\x1b\[[0-9;]*m$", control), repr(control)

    def text(self):
        return "\n".join(row.rstrip() for row in self.rows)


class Terminal(harness.Case):
    def open(self, cells=3, parallel=2, columns=80, lines=24, more="",
             **options):
        self.write("scan.jobrun.yaml", SPEC % (cells - 1, parallel) + more)
        self.make_fifos(cells)
        self.master, slave = pty.openpty()
        self.addCleanup(os.close, self.master)
        self.screen = Screen(columns)
        fcntl.ioctl(self.master, termios.TIOCSWINSZ,
                    struct.pack("HHHH", lines, columns, 0, 0))
        self.sweep = subprocess.Popen(
            [harness.JOBRUN, "scan.jobrun.yaml"], cwd=self.folder,
            stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
            env=harness.clean_environment(
                **{"TERM": "xterm", "GO": str(self.folder),
                   **options.pop("env", {})}), **options)
        self.addCleanup(self.end, self.sweep)
        os.close(slave)

    def make_fifos(self, cells):
        """Open on both sides, so that neither waits for the other, and no line
        is lost between two readers."""
        self.fifos = []
        for n in range(cells):
            os.mkfifo(self.folder / f"go.{n}")
            self.fifos.append(os.open(self.folder / f"go.{n}", os.O_RDWR))
            self.addCleanup(os.close, self.fifos[n])

    def go(self, n, word):
        os.write(self.fifos[n], (word + "\n").encode())

    def read(self, seconds=0.1):
        if select.select([self.master], [], [], seconds)[0]:
            try:
                data = os.read(self.master, 65536)
            except OSError:  # nobody has the other end any more
                return False
            self.screen.feed(data.decode())
        return True

    def until(self, pattern):
        limit = time.monotonic() + harness.LIMIT
        while not re.search(pattern, self.screen.text(), re.M):
            self.assertLess(time.monotonic(), limit,
                            f"no {pattern} in\n{self.screen.text()}")
            self.read()

    def ended(self):
        """Wait until all is written down."""
        journal = self.folder / "runs" / "latest" / "journal.jsonl"
        limit = time.monotonic() + harness.LIMIT
        while not journal.exists() or "sweep_ended" not in journal.read_text():
            self.assertLess(time.monotonic(), limit)
            time.sleep(0.01)

    def finish(self, code):
        limit = time.monotonic() + harness.LIMIT
        while self.read() and self.sweep.poll() is None:
            self.assertLess(time.monotonic(), limit)
        while select.select([self.master], [], [], 0)[0] and self.read():
            pass
        self.assertEqual(self.sweep.wait(harness.LIMIT), code,
                         self.screen.text())


class Lines(Terminal):
    def test_cells_and_the_sum(self):
        self.open()
        self.until(r"^0000  n 0 .*\n0001  n 1 .*\n"
                   r"3 cells: 0 done, 2 running, 1 left$")
        self.go(1, "step")
        self.until(r"^0001  n 1  step 1/40 +2 %")
        self.go(0, "end 0")
        self.until(r"^0001  n 1 .*\n0002  n 2 .*\n"
                   r"3 cells: 1 done, 2 running; about \S+ to go$")
        self.go(1, "end 3")
        self.until(r"^jobrun: 2/3  cell 0001 failed after .* vars.n=1   rank 0\n"
                   r" +exited with code 3\n0002  n 2 .*\n3 cells: 1 done, 1 failed, 1 running")
        self.go(2, "end 0")
        self.finish(1)
        text = self.screen.text()
        self.assertNotIn("3 cells:", text.replace("scan: 3 cells", ""))
        self.assertNotRegex(text, r"(?m)^000\d ")
        self.assertNotIn("cell 0000", text)  # it did well, and has no line
        self.assertIn("2 of 3 cells delivered, 1 did not", text)

    def test_the_time_left_is_no_less_than_that_of_a_cell(self):
        """A cell that failed at once says nothing of how long others take."""
        self.open(cells=4)
        self.go(1, "end 3")
        self.until(r"4 cells: 0 done, 1 failed, 2 running, 1 left")
        self.assertNotIn("to go", self.screen.text().splitlines()[-1])
        for _ in range(2):
            self.go(0, "step")
            self.until(r"0000 .*step \d+/40")
            time.sleep(1.2)  # so that the rate is no more than one a second
        self.until(r"left \d+")
        self.until(r"0000 .*left .*\n.*\n.*about .* to go")
        text = self.screen.text()

        def seconds(pattern):
            units = re.search(pattern + r" ((?:\d+[hms])+)", text)[1]
            return sum(int(count) * {"h": 3600, "m": 60, "s": 1}[unit]
                       for count, unit in re.findall(r"(\d+)([hms])", units))
        self.assertGreaterEqual(seconds("about"), seconds("left") - 1)
        for n in (0, 2, 3):
            self.go(n, "end 0")

    def test_a_narrow_terminal(self):
        self.open(columns=40)
        self.until(r"^3 cells: 0 done, 2 running, 1 left$")
        self.go(0, "step")
        self.until(r"^0000  n 0  step 1/40")
        for row in self.screen.rows:
            self.assertLessEqual(len(row), 40)
        self.sweep.terminate()
        self.finish(128 + signal.SIGTERM)

    def test_a_terminal_that_is_made_narrower(self):
        self.open()
        self.until(r"^3 cells: 0 done, 2 running, 1 left$")
        fcntl.ioctl(self.master, termios.TIOCSWINSZ,
                    struct.pack("HHHH", 24, 20, 0, 0))
        before = self.screen
        self.screen = Screen(20)  # as terminals do, it wraps what there was
        self.screen.feed("\r\n".join(before.text().splitlines()))
        self.go(0, "end 3")
        self.until(r"^3 cells: 0 done, 1$")
        self.assertEqual(self.screen.text().count("3 cells: 0 done"), 1)
        self.sweep.terminate()
        self.finish(128 + signal.SIGTERM)

    def test_more_cells_than_lines(self):
        self.open(cells=12, parallel=12, lines=8)
        self.until(r"^0000 .*\n0001 .*\n0002 .*\n\.\.\.   and 9 more\n"
                   r"12 cells: 0 done, 12 running$")
        self.sweep.terminate()
        self.finish(128 + signal.SIGTERM)

    def test_what_cells_say_comes_above(self):
        self.open(cells=2, parallel=2, more="on_end: [sh, -c, 'exit 3']\n")
        self.until(r"^2 cells: 0 done, 2 running")
        self.go(1, "end 0")
        self.until(r"^jobrun: cell 1: .*on_end(.|\n)*^0000 .*\n"
                   r"2 cells: 1 done, 1 running")
        self.assertEqual(self.screen.text().count("2 cells: 1 done"), 1)
        self.sweep.terminate()
        self.finish(128 + signal.SIGTERM)

    def test_a_terminal_that_is_stopped_holds_no_cell(self):
        self.open(cells=3, parallel=1)
        self.until(r"^3 cells: 0 done, 1 running")
        os.write(self.master, b"\x13")  # ^S
        for n in range(3):
            self.go(n, "end 0")
        self.ended()  # while nothing is shown
        os.write(self.master, b"\x11")  # ^Q
        self.finish(0)

    def test_a_terminal_that_is_stopped_holds_no_failed_cell(self):
        self.open(cells=3, parallel=1)
        self.until(r"^3 cells: 0 done, 1 running")
        os.write(self.master, b"\x13")  # ^S
        for n in range(3):
            self.go(n, "end 1")
        self.ended()
        self.assertIsNone(self.sweep.poll())
        os.write(self.master, b"\x11")  # ^Q
        self.finish(1)
        for n in range(3):
            self.assertIn(f"cell 000{n} failed after", self.screen.text())

    def test_wakes_once_a_second(self):
        self.open(cells=2, parallel=2)
        self.until(r"^2 cells: 0 done, 2 running")
        status = pathlib.Path(f"/proc/{self.sweep.pid}/status")

        def switches():
            return int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)",
                                 status.read_text(), re.M)[1])
        time.sleep(1.5)  # until the journal has waited for the disk
        before, began = switches(), time.monotonic()
        time.sleep(3)
        seconds = time.monotonic() - began
        self.assertLessEqual(switches() - before, 2 * seconds + 2)
        self.sweep.terminate()
        self.finish(128 + signal.SIGTERM)


class Elsewhere(Terminal):
    def unread(self):
        """A sweep of cells with long values, whose lines nobody reads."""
        values = ", ".join(f"n{n:02}" + "x" * 500 for n in range(20))
        self.write("many.jobrun.yaml", "version: 1\nname: many\ndevice: cpu\n"
                   "world_size: 1\nvars: {n: 0}\nenv: {N: '${vars.n}'}\n"
                   "entrypoint: ['true']\n"
                   f"sweep: {{axes: {{vars.n: [{values}]}}}}\n")
        sweep = self.start("many.jobrun.yaml")
        fcntl.fcntl(sweep.stderr, 1031, 4096)  # F_SETPIPE_SZ
        self.ended()
        self.expect(self.jobrun("wait", "latest"), 0)
        self.assertIsNone(sweep.poll())
        return sweep

    def test_a_pipe_that_is_not_read_holds_no_cell(self):
        sweep = self.unread()
        told = sweep.communicate(timeout=harness.LIMIT)[1]
        self.assertEqual(sweep.returncode, 0)
        for n in range(20):
            self.assertIn(f"vars.n=n{n:02}xxx", told)
        self.assertIn("20 of 20 cells delivered", told)

    def test_a_signal_ends_what_is_still_to_be_shown(self):
        sweep = self.unread()
        sweep.terminate()
        self.assertEqual(sweep.wait(harness.LIMIT), 0)

    def test_without_a_terminal(self):
        self.write("scan.jobrun.yaml", SPEC % (1, 2))
        self.make_fifos(2)
        sweep = self.start("scan.jobrun.yaml", env={
            "TERM": "xterm", "GO": str(self.folder)})
        status = pathlib.Path(f"/proc/{sweep.pid}/status")
        for n in range(2):
            self.go(n, "step")
        lines = []

        def switches():
            return int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)",
                                 status.read_text(), re.M)[1])
        time.sleep(1.5)  # the journal waits for the disk once
        before = switches()
        time.sleep(2)
        self.assertLessEqual(switches() - before, 1)
        for n in range(2):
            self.go(n, "end 0")
        lines = sweep.communicate(timeout=harness.LIMIT)[1]
        self.assertNotIn("\x1b", lines)
        self.assertRegex(lines, r"1/2  cell \d{4} succeeded after")
        self.assertRegex(lines, r"2/2  cell \d{4} succeeded after")

    def test_a_terminal_that_moves_no_cursor(self):
        self.open(cells=1, parallel=1, env={"TERM": "dumb"})
        self.go(0, "end 0")
        self.finish(0)
        self.assertIn("cell 0000 succeeded after", self.screen.text())


class Far(Terminal, by_ssh.Disks):
    def test_steps_of_cells_whose_files_are_elsewhere(self):
        """The agent of their host tells of them."""
        host, = self.hosts(1)
        self.open(cells=2, more=f"hosts: [{host}]\nengine: {{ssh: {{env: [GO]}}}}\n",
                  env=self.allocation(1, FAKE_PROGRAM={"0": self.disk("disk")}))
        for _ in range(3):
            self.go(1, "x")
        self.until(r"^0001  n 1  step 3/40")
        for n in range(2):
            self.go(n, "end 0")
        self.assertEqual(self.sweep.wait(harness.LIMIT), 0)


if __name__ == "__main__":
    harness.main()
