"""A console that is not read: it holds no rank, no teardown and no record, and
shows all that there is once it is read again."""
import contextlib
import json
import os
import pathlib
import pty
import re
import resource
import select
import signal
import subprocess
import termios
import time

import harness
import test_nodes_by_srun as agents

STDOUT = subprocess.STDOUT

WAIT = 60.0  # seconds that anything may take
EACH = 30000  # lines of a rank, of 100 bytes: no pipe and no backlog takes them
MANY = 2 * EACH  # neither do these, with a pipe and memory beyond a full disk
FLOOD = f"""
import os
rank = os.environ["RANK"]
with open(1, "wb", 1 << 16, closefd=False) as out:
    for i in range({EACH}):
        out.write(b"%09d %s\\n" % (i, rank.encode() * 89))
"""


def alive(pid):
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] not in "ZX"


def open_files(pid):
    """What a process has open; it may close any of it as we look."""
    found = []
    for fd in pathlib.Path(f"/proc/{pid}/fd").glob("*"):
        with contextlib.suppress(FileNotFoundError):
            found.append(os.readlink(fd))
    return found


class Case(harness.Case):
    def begin(self, script, *words, ranks=2, **options):
        """Start ranks of this Python script; nobody reads what they print."""
        self.write("rank.py", script)
        return self.start("-n", str(ranks), *words, "--", "python3", "rank.py",
                          **{"text": False, **options})

    def until(self, condition, what):
        limit = time.monotonic() + WAIT
        while not condition():
            self.assertLess(time.monotonic(), limit, what)
            time.sleep(0.005)

    def recorded(self):
        """The results, once they are there, though jobrun has not ended."""
        path = self.folder / "runs" / "latest" / "results.json"
        self.until(path.exists, "no results.json")
        return json.loads(path.read_text())

    def lines(self, text):
        """The lines of each rank, without their prefix, and the others."""
        ranks, others = {}, []
        for line in text.split(b"\n"):
            match = re.match(rb"\[(\d+)\] (.*)$", line, re.S)
            if match:
                ranks.setdefault(int(match[1]), []).append(match[2])
            elif line:
                others.append(line.decode())
        return ranks, others

    def check_flood(self, text, ranks=2):
        """Every line of each rank, whole and in order; the verdict is last."""
        shown, others = self.lines(text)
        self.assertEqual(sorted(shown), list(range(ranks)))
        for rank, lines in shown.items():
            self.assertEqual(len(lines), EACH)
            text = str(rank).encode() * 89
            self.assertEqual([line for i, line in enumerate(lines)
                              if line != b"%09d %s" % (i, text)][:1], [])
        return others

    @staticmethod
    def full(limit):
        """On a disk that takes so many bytes of each file."""
        return {"preexec_fn": lambda: resource.setrlimit(
            resource.RLIMIT_FSIZE, (limit, limit))}

    def wait_until_held(self, run):
        """Until no rank can write any more; nothing is recorded then."""
        last, since = [0], time.monotonic()
        for rank in range(2):
            self.until((self.folder / f"wrote.{rank}").exists, "not begun")
        while time.monotonic() - since < 0.5 or not all(last):
            self.assertLess(time.monotonic() - since, WAIT)
            now = [self.read_count(rank) for rank in range(2)]
            if now != last:
                last, since = now, time.monotonic()
            time.sleep(0.02)
        self.assertIsNone(run.poll())
        for count in last:
            self.assertLess(count, MANY)
        return last

    def forget_counts(self):
        for name in ("wrote.0", "wrote.1", "fail"):
            (self.folder / name).unlink(missing_ok=True)

    def read_count(self, rank):
        """How many lines the rank says that it has written."""
        path = self.folder / f"wrote.{rank}"
        return int.from_bytes(path.read_bytes()[:4], "little")

    # Its count is in shared memory: the disk is full.
    COUNTED = """
import mmap, os, sys
rank = os.environ["RANK"]
with open("wrote." + rank, "w+b") as file:
    file.truncate(4)
    wrote = mmap.mmap(file.fileno(), 4)
for i in range(%d):
    os.write(1, b"%%09d %%s\\n" %% (i, rank.encode() * 89))
    wrote[:] = (i + 1).to_bytes(4, "little")
""" % MANY

    def check_counted(self, text):
        """Every line that a rank has written is there, once and in order."""
        shown, others = self.lines(text)
        for rank in range(2):
            lines = shown.get(rank, [])
            self.assertEqual([int(line[:9]) for line in lines],
                             list(range(len(lines))))
            self.assertGreaterEqual(len(lines), self.read_count(rank))
            self.assertTrue(all(len(line) == 99 for line in lines))
        return shown, others


class Pipe(Case):
    def test_a_pipe_that_nobody_reads_holds_no_rank(self):
        run = self.begin(FLOOD, stderr=STDOUT)
        results = self.recorded()
        self.assertEqual(results["status"], "succeeded")
        self.assertEqual(results["processes_left"], 0)
        for rank in results["ranks"]:
            self.assertFalse(alive(rank["pid"]))
            self.assertEqual(os.path.getsize(
                self.folder / "runs" / "latest" / rank["stdout"]), EACH * 100)
        self.assertIsNone(run.poll())
        # Whoever asks hears that it has finished.
        self.expect(self.jobrun("wait", "latest"), 0)
        self.assertIn("succeeded", self.jobrun("show", "latest").stdout)
        text = run.stdout.read()
        self.assertEqual(run.wait(WAIT), 0)
        others = self.check_flood(text)
        self.assertIn("succeeded", others[-2])
        self.assertIn("jobrun show", others[-1])
        self.assertTrue(text.endswith(others[-1].encode() + b"\n"))

    def test_a_wait_that_began_before_does_not_wait_for_the_console(self):
        run = self.begin("""
import os, time
while not os.path.exists("go"):
    time.sleep(0.01)
""" + FLOOD, stderr=STDOUT)
        self.until((self.folder / "runs" / "latest" / "run.json").exists,
                   "no run")
        waiting = self.start("wait", "latest")
        self.until(lambda: "inotify" in str(open_files(waiting.pid)),
                   "no wait")
        self.write("go", "")
        self.assertEqual(waiting.wait(WAIT), 0)
        self.assertIsNone(run.poll())
        self.check_flood(run.stdout.read())
        self.assertEqual(run.wait(WAIT), 0)

    def test_top_ends_with_the_run(self):
        run = self.begin("""
import os, time
while not os.path.exists("go"):
    time.sleep(0.01)
""" + FLOOD, stderr=STDOUT)
        self.until((self.folder / "runs" / "latest" / "run.json").exists,
                   "no run")
        top = self.start("top", "latest")
        self.assertIn("rank", top.stdout.readline().lower())
        self.write("go", "")
        self.assertEqual(top.wait(WAIT), 0)
        self.assertIsNone(run.poll())
        self.assertIn("has ended: succeeded", top.stderr.read())
        self.check_flood(run.stdout.read())
        self.assertEqual(run.wait(WAIT), 0)

    def test_a_failure_tears_down_while_nobody_reads(self):
        run = self.begin(FLOOD + """
import sys, time
if rank == "1":
    open("flooded", "w").close()
    sys.exit(3)
while not os.path.exists("never"):
    time.sleep(0.01)
""", stderr=STDOUT)
        self.until((self.folder / "flooded").exists, "held")
        results = self.recorded()
        self.assertEqual(results["root_cause"]["rank"], 1)
        self.assertEqual(results["root_cause"]["exit_code"], 3)
        self.assertFalse(any(alive(rank["pid"]) for rank in results["ranks"]))
        shown, others = self.lines(run.stdout.read())
        self.assertEqual(run.wait(WAIT), 1)
        self.assertEqual(len(shown[1]), EACH)
        self.assertIn("FAILED", "\n".join(others))

    def test_a_reader_that_goes_away_ends_the_showing(self):
        run = self.begin(FLOOD)
        self.recorded()
        self.assertEqual(len(run.stdout.read(1000000)), 1000000)
        run.stdout.close()
        self.assertEqual(run.wait(WAIT), 0)
        self.assertIn(b"succeeded", run.stderr.read())

    def test_a_reader_that_goes_away_early_holds_nothing(self):
        run = self.begin(FLOOD)
        run.stdout.read(1000)
        run.stdout.close()
        self.assertEqual(run.wait(WAIT), 0)
        self.assertEqual(self.recorded()["status"], "succeeded")

    def test_a_signal_ends_the_showing_and_not_the_verdict(self):
        for sig in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(sig=sig):
                run = self.begin(FLOOD, "--run-id", f"by-{sig}")
                self.until((self.folder / "runs" / f"by-{sig}" /
                            "results.json").exists, "no results")
                # What is pending from the run itself is the run's.
                self.until(lambda: self.is_idle(run.pid), "busy")
                run.send_signal(sig)
                self.assertEqual(run.wait(WAIT), 0)
                self.assertEqual(self.results(f"by-{sig}")["exit_code"], 0)
                said = run.stderr.read().decode()
                self.assertIn("not all of the output was shown", said)
                self.assertIn("succeeded", said)
                text = run.stdout.read()
                self.assertLess(len(text), 4000000)
                self.assertTrue(text.endswith(b"\n") or
                                len(text) >= 65536, "torn")

    @staticmethod
    def is_idle(pid):
        """It sleeps, alone: the runner is gone."""
        return not harness.children(pid) and pathlib.Path(
            f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "S"

    def test_a_signal_ends_it_where_nothing_is_read_at_all(self):
        run = self.begin(FLOOD, stderr=STDOUT)
        self.recorded()
        self.until(lambda: self.is_idle(run.pid), "busy")
        run.terminate()
        self.assertEqual(run.wait(WAIT), 0)

    def test_stop_ends_the_showing_of_a_run_that_has_finished(self):
        run = self.begin(FLOOD, stderr=STDOUT)
        self.recorded()
        self.until(lambda: self.is_idle(run.pid), "busy")
        done = self.expect(self.jobrun("stop", "latest"), 0)
        self.assertIn("has already ended: succeeded", done.stderr)
        self.assertEqual(run.wait(WAIT), 0)

    def test_a_run_that_is_stopped_does_not_wait_for_its_console(self):
        run = self.begin(FLOOD + "open('done.' + rank, 'w').close()\n"
                         "import time; time.sleep(1000)\n", stderr=STDOUT)
        for rank in range(2):
            self.until((self.folder / f"done.{rank}").exists, "held")
        run.terminate()
        self.assertEqual(run.wait(WAIT), 143)
        self.assertEqual(self.results()["status"], "stopped")

    def test_the_reports_own_lines_wait_for_nobody(self):
        """Standard error is full before the run begins."""
        ours, theirs = os.pipe()
        self.addCleanup(os.close, ours)
        os.set_blocking(theirs, False)
        try:
            while True:
                os.write(theirs, b"x" * 4096)
        except BlockingIOError:
            os.set_blocking(theirs, True)
        run = self.begin("import sys; sys.exit(4)", "-s", "restart.max=2", "-s",
                         "restart.backoff=1ms", stderr=theirs)
        os.close(theirs)
        self.assertEqual(self.recorded()["exit_code"], 1)
        self.until(lambda: self.is_idle(run.pid), "busy")
        self.assertIsNone(run.poll())
        run.terminate()
        self.assertEqual(run.wait(WAIT), 1)


class Kinds(Case):
    """What is caught up looks as what is shown at once."""

    def check_equal(self, found, wanted):
        """assertEqual takes minutes for long lists that differ."""
        for i, (one, other) in enumerate(zip(found, wanted)):
            self.assertEqual(one, other, f"at {i}")
        self.assertEqual(len(found), len(wanted))

    def catch_up(self, script, *words, ranks=2, **options):
        run = self.begin(script, *words, ranks=ranks, stderr=STDOUT, **options)
        self.recorded()
        text = run.stdout.read()
        self.assertEqual(run.wait(WAIT), 0)
        return self.lines(text)

    def test_log_limit_is_marked(self):
        shown, _ = self.catch_up(FLOOD, "-s", "log_limit=256KiB")
        for rank, lines in shown.items():
            total, last = 0, -1
            marks = 0
            for line in lines:
                gap = re.match(rb"\[jobrun: log_limit: (\d+) bytes left out "
                               rb"here\]$", line)
                if gap:
                    marks += 1
                    total += int(gap[1])
                    continue
                self.assertRegex(line, rb"^\d{9} %d{89}$" % rank)
                self.assertGreater(int(line[:9]), last)
                last = int(line[:9])
                total += 100
            self.assertGreater(marks, 0)
            self.assertEqual(total, EACH * 100)
            self.assertEqual(last, EACH - 1)

    def test_lines_of_all_ranks_are_folded(self):
        run = self.begin("""
import os, time
rank = os.environ["RANK"]
if rank == "4":
    for _ in range(40):  # so that all lines of the others come late
        os.write(1, b"z" * 99999 + b"\\n")
    open("full", "w").close()
    raise SystemExit
while not os.path.exists("full"):
    time.sleep(0.001)
for i in range(2000):
    os.write(1, b"%09d same\\n" % i)
""", "-s", "console.collapse=true", stderr=STDOUT, ranks=5)
        self.recorded()
        text = run.stdout.read().decode()
        self.assertEqual(run.wait(WAIT), 0)
        self.check_equal(
            re.findall(r"^\[.*\] \d+ same$", text, re.M),
            [f"[0-3] {i:09d} same" for i in range(2000)])

    def test_show_and_hide(self):
        shown, _ = self.catch_up(FLOOD, "-s", "console.show=0[ ]", "-s",
                                 "console.hide=^00001")
        for rank, lines in shown.items():
            self.check_equal(
                [int(line[:9]) for line in lines],
                [i for i in range(0, EACH, 10) if not 10000 <= i < 20000])

    def test_partial_lines_and_bars(self):
        script = FLOOD + """
    for i in range(10001):
        out.write(b"\\r%5d of 10000" % i)
    out.write(b"\\nlast")
"""
        shown, _ = self.catch_up(script)
        for lines in shown.values():
            self.assertEqual(len(lines), EACH + 2)
            self.assertEqual(lines[-2:], [b"10000 of 10000", b"last"])

    def test_a_line_that_has_begun_is_finished(self):
        script = """
import os, time
rank = os.environ["RANK"].encode()
os.write(1, rank * 500000 + b"\\n")
for _ in range(40):
    os.write(1, b"y" * 99999 + b"\\n")
os.write(1, b"begun ")
open("begun." + rank.decode(), "w").close()
while not os.path.exists("go"):
    time.sleep(0.01)
os.write(1, b"ended\\n")
"""
        run = self.begin(script, "-s", "console.partial=10ms", stderr=STDOUT)
        for rank in range(2):
            self.until((self.folder / f"begun.{rank}").exists, "held")
        time.sleep(0.1)  # longer than a partial line waits
        self.write("go", "")
        self.recorded()
        shown, _ = self.lines(run.stdout.read())
        self.assertEqual(run.wait(WAIT), 0)
        for lines in shown.values():
            self.assertEqual(lines[-1], b"begun ended")

    def test_timestamps_are_those_of_the_lines(self):
        script = FLOOD + """
import time
time.sleep(1.5)
print("late", flush=True)
"""
        run = self.begin(script, "-s", "console.timestamps=true", stderr=STDOUT)
        results = self.recorded()
        self.assertEqual(results["status"], "succeeded")
        time.sleep(1.5)
        text = run.stdout.read().decode()
        self.assertEqual(run.wait(WAIT), 0)
        finished = time.strftime("%Y-%m-%dT%H:%M:%S",
                                 time.gmtime(results["finished"] + 1))
        late = re.findall(r"^(\S+Z) \[\d\] late$", text, re.M)
        flood = re.findall(r"^(\S+Z) \[\d\] %09d" % (EACH - 1), text, re.M)
        self.assertEqual((len(late), len(flood)), (2, 2))
        for stamp in late:
            self.assertLessEqual(stamp[:19], finished)
        for stamp in flood:
            self.assertLess(stamp, min(late))

    def test_attempts_come_one_after_the_other(self):
        run = self.begin("import os\nprint('attempt', "
                         "os.environ['JOBRUN_ATTEMPT'])\n" + FLOOD + """
import sys
sys.exit(os.environ["JOBRUN_ATTEMPT"] != "2")
""", "-s", "restart.max=3", "-s", "restart.backoff=1ms", stderr=STDOUT, ranks=1)
        self.assertEqual(self.recorded()["attempt"], 2)
        shown, others = self.lines(run.stdout.read())
        self.assertEqual(run.wait(WAIT), 0)
        self.assertEqual(len(shown[0]), 3 * (EACH + 1))
        for attempt in range(3):
            begin = attempt * (EACH + 1)
            self.assertEqual(shown[0][begin], b"attempt %d" % attempt)
            self.assertEqual(int(shown[0][begin + EACH][:9]), EACH - 1)
        self.assertEqual(sum("all ranks start again" in line
                             for line in others), 2)
        self.assertIn("jobrun show", others[-1])

    def test_it_goes_on_between_attempts(self):
        run = self.begin(FLOOD + "import sys; sys.exit(1)", "-s",
                         "restart.max=1", "-s", "restart.backoff=10m",
                         stderr=STDOUT, ranks=1)
        self.until((self.folder / "runs" / "latest" / "attempt_0" /
                    "results.json").exists, "held")
        count = 0
        while count < EACH:
            count += run.stdout.readline().startswith(b"[0] ")
        line = run.stdout.readline().decode()
        self.assertIn("all ranks start again in 10m", line)
        run.terminate()
        self.assertEqual(run.wait(WAIT), 143)

    def test_a_full_disk_loses_no_line(self):
        """The console is behind when the disk becomes full, or falls behind
        after that."""
        for limit in (2600050, 300050):
            with self.subTest(limit=limit):
                self.forget_counts()
                run = self.begin(self.COUNTED, "--run-id", f"full-{limit}",
                                 stderr=STDOUT, **self.full(limit))
                self.wait_until_held(run)
                text = run.stdout.read()
                self.assertEqual(run.wait(WAIT), 7)
                shown, others = self.check_counted(text)
                self.assertEqual([len(shown[0]), len(shown[1])], [MANY, MANY])
                self.assertIn("are incomplete: File too large",
                              "\n".join(others))
                self.assertNotIn(b"left out here", text)
                results = self.results(f"full-{limit}")
                self.assertEqual(
                    [rank["exit_code"] for rank in results["ranks"]], [0, 0])

    def test_a_full_disk_loses_no_line_where_ranks_fail_or_are_stopped(self):
        for how in ("fails", "stopped"):
            with self.subTest(how=how):
                self.forget_counts()
                run = self.begin("""
import os, threading, time
def end():
    while not os.path.exists("fail"):
        time.sleep(0.01)
    os._exit(3)
if os.environ["RANK"] == "1":
    threading.Thread(target=end, daemon=True).start()
""" + self.COUNTED, "--run-id", how, stderr=STDOUT,
                                 **self.full(2600050))
                self.wait_until_held(run)
                if how == "fails":
                    self.write("fail", "")
                else:
                    run.terminate()
                # The teardown, and the record, wait for nobody.
                self.until((self.folder / "runs" / how /
                            "results.json").exists, "held")
                results = self.results(how)
                self.assertFalse(any(alive(rank["pid"])
                                     for rank in results["ranks"]))
                text = run.stdout.read()
                self.assertEqual(run.wait(WAIT), 1 if how == "fails" else 143)
                if how == "fails":
                    self.check_counted(text)

    def test_a_rank_that_is_held_may_say_that_it_ends(self):
        run = self.begin("""
import os, signal, sys
def end(*_):
    os.write(1, b"saved\\n")
    os.write(1, b"m" * 300000 + b"\\n")
    os._exit(0)
signal.signal(signal.SIGTERM, end)
""" + self.COUNTED, "-s", "timeouts.stop_grace=1h", **self.full(300050))
        self.wait_until_held(run)
        run.terminate()
        self.assertEqual(run.wait(WAIT), 143)
        for rank in self.results()["ranks"]:
            self.assertEqual(rank["exit_code"], 0)

    def test_a_full_disk_holds_nobody_where_the_reader_goes_away(self):
        run = self.begin(self.COUNTED, **self.full(300050))
        self.wait_until_held(run)
        run.stdout.close()
        self.assertEqual(run.wait(WAIT), 7)
        self.assertEqual(self.read_count(0), MANY)


class Terminal(Case):
    def open(self):
        """A terminal, as our end and theirs."""
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        self.addCleanup(os.close, theirs)
        mode = termios.tcgetattr(theirs)
        mode[1] &= ~termios.OPOST
        termios.tcsetattr(theirs, termios.TCSANOW, mode)
        return ours, theirs

    def collect(self, ours, run):
        """All that the terminal shows until jobrun has ended."""
        shown = bytearray()
        while True:
            ready, _, _ = select.select([ours], [], [], 0.05)
            if ready:
                shown += os.read(ours, 65536)
            elif run.poll() is not None:
                return bytes(shown)

    def test_what_stands_on_the_terminal_is_not_told_twice(self):
        fails = "import os\nif os.environ['RANK'] == '1': 1 / 0\n"
        noise = ("import time, sys\nwhile not os.path.exists('go'):\n"
                 "    time.sleep(0.01)\n"
                 "for i in range(30): print(i, file=sys.stderr)\n")
        for after, words, times in (("", (), 1),
                                    ("", ("-s", "console.hide=xyz"), 2),
                                    ("", ("-s", "console.ranks=0"), 1),
                                    (noise, ("-s", "on_failure=continue"), 2)):
            with self.subTest(words=words):
                (self.folder / "go").unlink(missing_ok=True)
                ours, theirs = self.open()
                run = self.begin(fails + after, *words, stdout=theirs,
                                 stderr=theirs)
                shown = b""
                if after:
                    while b"ZeroDivisionError" not in shown:
                        shown += os.read(ours, 65536)
                    self.write("go", "")
                text = shown + self.collect(ours, run)
                self.assertEqual(run.wait(WAIT), 1)
                self.assertEqual(text.count(b"in <module>"), times, text)
                self.assertEqual(b"last lines of stderr: above, behind [1]"
                                 in text, times == 1 and words == ())
                self.assertGreaterEqual(text.count(b"ZeroDivisionError"),
                                        times)
                again = self.expect(self.jobrun("show", "latest"), 0).stdout
                self.assertEqual(again.count("in <module>"), 1)
        done = self.jobrun("-n", "2", "--", "python3", "rank.py")
        self.assertEqual(done.stderr.count("in <module>"), 2)

    def test_a_stopped_terminal_holds_nothing(self):
        ours, theirs = self.open()
        termios.tcflow(theirs, termios.TCOOFF)  # as Ctrl-S does
        run = self.begin(FLOOD, stdout=theirs, stderr=theirs)
        results = self.recorded()
        self.assertEqual(results["status"], "succeeded")
        self.assertIsNone(run.poll())
        termios.tcflow(theirs, termios.TCOON)
        text = self.collect(ours, run)
        self.assertEqual(run.wait(WAIT), 0)
        text = re.sub(rb"\r\x1b\[K(jobrun: \d running[^\r]*)?", b"", text)
        others = self.check_flood(text)
        self.assertIn("jobrun show", others[-1])

    def test_a_terminal_that_stops_midway_and_a_signal(self):
        ours, theirs = self.open()
        run = self.begin(FLOOD, stdout=theirs, stderr=theirs)
        shown = os.read(ours, 1000)
        self.assertTrue(shown)
        termios.tcflow(theirs, termios.TCOOFF)
        self.recorded()
        self.until(lambda: not harness.children(run.pid), "a runner")
        run.send_signal(signal.SIGINT)
        self.assertEqual(run.wait(WAIT), 0)


class Nodes(Case, agents.Agents):
    """Ranks on several nodes, with an agent on each."""

    def begin_on(self, nodes, script, *words, **options):
        self.write("rank.py", script)
        self.write("n.jobrun.yaml", "version: 1\nlocal_world_size: 1\n"
                   "entrypoint: [python3, rank.py]\n")
        return self.start("n.jobrun.yaml", *words, text=False, stderr=STDOUT,
                          env=self.allocation(nodes), **options)

    def test_a_pipe_that_nobody_reads_holds_no_node(self):
        run = self.begin_on(2, FLOOD)
        results = self.recorded()
        self.assertEqual(results["status"], "succeeded")
        self.assertIsNone(run.poll())
        others = self.check_flood(run.stdout.read())
        self.assertEqual(run.wait(WAIT), 0)
        self.assertIn("jobrun show", others[-1])
        self.nobody_is_left()

    def test_a_full_disk_loses_no_line(self):
        run = self.begin_on(2, self.COUNTED, **self.full(300050))
        self.wait_until_held(run)
        text = run.stdout.read()
        self.assertEqual(run.wait(WAIT), 7)
        shown, _ = self.check_counted(text)
        self.assertEqual([len(shown[0]), len(shown[1])], [MANY, MANY])
        self.nobody_is_left()

    def test_a_failure_is_told_while_nobody_reads(self):
        run = self.begin_on(3, FLOOD + """
import sys, time
if rank == "2":
    sys.exit(5)
while not os.path.exists("never"):
    time.sleep(0.01)
""")
        results = self.recorded()
        self.assertEqual(results["root_cause"]["rank"], 2)
        self.assertEqual([rank["state"] for rank in results["ranks"]],
                         ["stopped", "stopped", "failed"])
        shown, _ = self.lines(run.stdout.read())
        self.assertEqual(run.wait(WAIT), 1)
        self.assertEqual(len(shown[2]), EACH)
        self.nobody_is_left()

    def test_a_signal_ends_the_showing(self):
        run = self.begin_on(2, FLOOD)
        self.recorded()
        self.until(lambda: "signalfd" in str(open_files(run.pid)),
                   "not showing")
        run.terminate()
        self.assertEqual(run.wait(WAIT), 0)
        self.nobody_is_left()

    def test_a_reader_that_goes_away(self):
        run = self.begin_on(2, FLOOD)
        self.recorded()
        run.stdout.read(2000000)
        run.stdout.close()
        self.assertEqual(run.wait(WAIT), 0)
        self.nobody_is_left()

    def test_another_attempt_does_not_wait(self):
        run = self.begin_on(2, FLOOD + """
import sys
sys.exit(os.environ["JOBRUN_ATTEMPT"] != "1")
""", "-s", "restart.max=2", "-s", "restart.backoff=1ms")
        self.assertEqual(self.recorded()["attempt"], 1)
        shown, others = self.lines(run.stdout.read())
        self.assertEqual(run.wait(WAIT), 0)
        for rank, lines in shown.items():
            whole = re.compile(rb"\d{9} %d{89}" % rank)
            self.assertEqual([line for line in lines
                              if not whole.fullmatch(line)][:1], [])
            self.assertEqual([int(line[:9]) for line in lines[-EACH:]],
                             list(range(EACH)))
        self.assertIn("had not shown all of attempt 0", "\n".join(others))
        self.assertIn("jobrun show", others[-1])
        self.nobody_is_left()


class Memory(Case):
    def test_the_backlog_is_not_in_memory(self):
        """80 MB that nobody reads, while the ranks go on."""
        script = FLOOD.replace(f"range({EACH})", "range(400000)") + """
import time
open("done." + rank, "w").close()
while not os.path.exists("go"):
    time.sleep(0.01)
"""
        run = self.begin(script, stderr=STDOUT)
        for rank in range(2):
            self.until((self.folder / f"done.{rank}").exists, "held")
        for pid in (run.pid, harness.runner_of(run.pid)):
            status = pathlib.Path(f"/proc/{pid}/status").read_text()
            most = int(re.search(r"VmHWM:\s+(\d+) kB", status)[1])
            if not os.environ.get("SANITIZED"):
                self.assertLess(most, 24 << 10)
        self.write("go", "")
        count = 0
        while piece := run.stdout.read(1 << 20):
            count += piece.count(b"\n")
        self.assertEqual(run.wait(WAIT), 0)
        self.assertGreaterEqual(count, 800000)


if __name__ == "__main__":
    harness.main()
