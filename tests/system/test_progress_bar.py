"""The bar of a job that tells its steps: on a terminal of any width, which may
change while it runs, with output in between; and nowhere else."""
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
import unicodedata

import harness
import test_nodes_by_srun as agents

# Ranks go on by one step for each line of their FIFO.
SPEC = r"""version: 1
name: train
device: cpu
world_size: 2
oversubscribe: true
timeouts: {stop_grace: 2s}
entrypoint:
  shell: |
    exec 3< go.$RANK
    i=0
    while read more <&3; do
        i=$((i+1)); echo "step $i/40 loss 0.$i of $RANK"
    done
    echo done
progress: {pattern: 'step (?<step>\d+)/(?<of>\d+) loss (?<loss>\S+)'%s}
"""
DRAWN = re.compile(r"\r\x1b\[J([^\r\x1b]+)\r")  # a line that stands


def width(text):
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1
               for char in text)


class Screen:
    """A terminal that wraps no line itself, and keeps all that scrolled by."""

    def __init__(self, text):
        self.rows, self.line, self.column = [""], 0, 0
        for control, plain in re.findall(
                r"(\x1b\[[0-9;]*[a-zA-Z]|\r|\n)|([^\x1b\r\n]+)", text):
            if plain:
                row = self.rows[self.line]
                assert len(row) >= self.column or not row
                self.rows[self.line] = (row[:self.column] + plain +
                                        row[self.column + len(plain):])
                self.column += len(plain)
            elif control == "\r":
                self.column = 0
            elif control == "\n":
                self.line += 1
                if self.line == len(self.rows):
                    self.rows.append("")
            elif control in ("\x1b[J", "\x1b[K"):
                self.rows[self.line] = self.rows[self.line][:self.column]
            else:
                assert re.match(r"\x1b\[[0-9;]*m$", control), repr(control)


class ProgressBar(harness.Case):
    def setUp(self):
        super().setUp()
        self.go = []
        for rank in 0, 1:
            path = self.folder / f"go.{rank}"
            os.mkfifo(path)
            self.go.append(os.open(path, os.O_RDWR))
            self.addCleanup(os.close, self.go[-1])
        self.spec("")

    def spec(self, more):
        self.write("train.jobrun.yaml", SPEC % more)

    def step(self, rank=0, count=1):
        os.write(self.go[rank], b"\n" * count)

    def resize(self, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ,
                    struct.pack("HHHH", 24, columns, 0, 0))

    def open(self, columns=80, **env):
        """jobrun on a terminal."""
        self.master, slave = pty.openpty()
        self.addCleanup(os.close, self.master)
        self.resize(columns)
        self.seen = ""
        self.run_ = self.start(
            "train.jobrun.yaml", stdin=slave, stdout=slave, stderr=slave,
            text=False, env={"TERM": "xterm", **env})
        os.close(slave)

    def start(self, *words, stdin=subprocess.DEVNULL, **options):
        env = options.pop("env", {})
        process = subprocess.Popen(
            [harness.JOBRUN, *words], cwd=self.folder, stdin=stdin,
            env=harness.clean_environment(**env), start_new_session=True,
            **options)
        self.addCleanup(self.end, process)
        return process

    def read(self):
        """What was drawn since, as soon as there is something; "" at the end."""
        ready = select.select([self.master], [], [], harness.LIMIT)[0]
        self.assertTrue(ready, f"nothing is drawn after {self.seen!r}")
        try:
            piece = os.read(self.master, 65536).decode()
        except OSError:  # nobody has the other end any more
            piece = ""
        self.seen += piece
        return piece

    def until(self, wanted, begin=None):
        """Read on until there is a match in what came since `begin`, by
        default now."""
        begin = len(self.seen) if begin is None else begin
        while True:
            found = re.search(wanted, self.seen[begin:])
            if found:
                return found
            self.assertNotEqual(self.read(), "", f"no {wanted}: {self.seen!r}")

    def stop(self):
        """To the end of all that is drawn, by SIGINT."""
        self.run_.send_signal(signal.SIGINT)
        while self.read():
            pass
        return self.run_.wait(harness.LIMIT)

    def test_a_last_line_below_the_others(self):
        self.open()
        self.step(count=3)
        bar = self.until(DRAWN)[1]
        self.assertRegex(bar, r"^train  step 3/40  7 %  ━")
        self.assertIn("loss 0.3", bar)
        # it is below what is written from now on, without waiting for a tick
        begin = len(self.seen)
        self.step(rank=1)
        self.until(r"step 1/40 loss 0\.1 of 1\r\n\r\x1b\[Jtrain  step 3/40",
                   begin)
        self.step()
        self.until(r"\r\x1b\[Jtrain  step 4/40  10 %")
        self.assertEqual(self.stop(), 130)
        rows = Screen(self.seen).rows
        self.assertEqual([row for row in rows if row.startswith("[0] ")],
                         [f"[0] step {i}/40 loss 0.{i} of 0"
                          for i in (1, 2, 3, 4)])
        self.assertEqual([row for row in rows if "train  step" in row], [])
        self.assertTrue(any("stopping" in text for text in re.findall(
            r"\r\x1b\[K([^\r\x1b]*)", self.seen)))

    def test_every_width(self):
        self.open(columns=80)
        self.step(count=3)
        self.until(DRAWN)
        for columns in 40, 20, 8, 120, 80:
            begin = len(self.seen)
            self.resize(columns)
            if columns > 10:
                # what may have been drawn for the width before is over, once
                # one is as wide as this one may be
                bar, limit = None, time.monotonic() + harness.LIMIT
                while bar is None or (("train" in bar) != (columns > 20) and
                                      time.monotonic() < limit):
                    bar = self.until(DRAWN, begin)[1]
                    begin = len(self.seen)
                self.assertLess(width(bar), columns)
                self.assertIn("step 3/40", bar)
                self.assertEqual("train" in bar, columns > 20)
                self.assertEqual("loss 0.3" in bar, columns > 20)
        self.stop()

    def test_without_utf8(self):
        self.open(LC_ALL="C")
        self.step(count=20)
        bar = self.until(DRAWN)[1]
        self.assertTrue(bar.isascii(), bar)
        self.assertRegex(bar, r"step 20/40  50 %  #+\.+  ")
        self.stop()

    def test_who_is_behind(self):
        self.spec(", ranks: all")
        self.open(columns=120)
        self.step(rank=0, count=9)
        self.step(rank=1, count=2)
        self.until(r"\r\x1b\[Jtrain  step 2/40  5 %[^\r]*"
                   r"rank 1 is 7 steps behind\r")
        self.stop()

    def test_of_several_nodes(self):
        """The controller shows the job's, from a node that is not its own."""
        (self.folder / "bin").mkdir()
        os.symlink(agents.cases.FAKES / "fakesrun", self.folder / "bin" / "srun")
        self.spec(", ranks: 1")
        path = self.folder / "train.jobrun.yaml"
        path.write_text(path.read_text().replace(
            "world_size: 2", "local_world_size: 1"))
        self.open(SLURM_JOB_ID="4711", SLURM_JOB_NUM_NODES="2",
                  SLURM_JOB_NODELIST="n[1-2]",
                  FAKE_LOG=str(self.folder / "tasks"),
                  PATH=f"{self.folder / 'bin'}:{os.environ['PATH']}")
        self.step(rank=1, count=3)
        bar = self.until(r"\r\x1b\[J(train  step 3/40  7 %[^\r]*)\r")[1]
        self.assertIn("loss 0.3", bar)
        begin = len(self.seen)
        self.step(rank=0)  # not the job's: it scrolls above
        self.until(r"step 1/40 loss 0\.1 of 0\r\n\r\x1b\[Jtrain  step 3/40",
                   begin)
        self.stop()
        rows = Screen(self.seen).rows
        self.assertEqual([row for row in rows if "train  step" in row], [])

    def test_nothing_without_a_terminal(self):
        run = self.start("train.jobrun.yaml", stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True)
        self.step(count=3)
        for i in 1, 2, 3:
            self.assertEqual(run.stdout.readline(),
                             f"[0] step {i}/40 loss 0.{i} of 0\n")
        pid = harness.runner_of(run.pid)
        before = self.settled(pid)
        time.sleep(2)  # in which two ticks of a bar would have come
        self.assertLessEqual(self.switches(pid, 0) - before, 1)
        run.send_signal(signal.SIGINT)
        rest = run.communicate(timeout=harness.LIMIT)
        self.assertNotIn("\x1b", "".join(rest))
        self.assertNotIn("train  step", "".join(rest))

    @staticmethod
    def switches(pid, default):
        text = pathlib.Path(f"/proc/{pid}/status").read_text()
        found = re.search(r"^voluntary_ctxt_switches:\s+(\d+)", text, re.M)
        return int(found[1]) if found else default

    def settled(self, pid):
        """Its switches, once what is done once in a run is done: there was none
        for half a second, in which a tick of a bar may not have come."""
        until = time.monotonic() + harness.LIMIT
        now, before = self.switches(pid, 0), None
        while now != before:
            self.assertLess(time.monotonic(), until)
            before = now
            time.sleep(0.5)
            now = self.switches(pid, 0)
        return now

    def test_one_wake_up_a_second(self):
        """Each wakes the runner once, and draws once."""
        self.open()
        self.step(count=3)
        self.until(DRAWN)
        pid = harness.runner_of(self.run_.pid)
        self.until(DRAWN)  # what the steps have left to do is done by now
        before, begin = self.switches(pid, 0), len(self.seen)
        for _ in range(3):
            self.until(DRAWN)
        drawn = len(DRAWN.findall(self.seen[begin:]))
        self.assertGreaterEqual(drawn, 3)
        self.assertLessEqual(self.switches(pid, 0) - before, drawn + 2)
        self.stop()

    def test_names_of_metrics_move_no_cursor(self):
        text = SPEC.split("progress:")[0] + "progress: {from: file}\n"
        self.write("train.jobrun.yaml", text.replace(
            "i=$((i+1)); echo",
            "i=$((i+1)); printf '{\"step\": %d, \"a\\\\u202eb\": 1, "
            "\"c\\\\u001b[2J\": 2}\\n' $i >> \"$JOBRUN_PROGRESS_FILE\"; echo"))
        self.open()
        self.step(count=3)
        bar = self.until(DRAWN)[1]
        self.assertNotIn("\u202e", bar)
        self.assertIn("step 3", bar)
        self.stop()
        self.assertNotIn("\x1b[2J", self.seen)


if __name__ == "__main__":
    harness.main()
