"""A log_dir that others may write to, and another PID namespace: whose word a
run folder is, and what jobrun does by it."""
import contextlib
import json
import os
import pathlib
import signal
import socket
import subprocess
import time

import harness
from processes import is_alive

NOBODY = 65534
BOOT_ID = pathlib.Path("/proc/sys/kernel/random/boot_id")


def ticks(pid):
    """When the process began."""
    text = pathlib.Path(f"/proc/{pid}/stat").read_text()
    return int(text.rpartition(")")[2].split()[19])


def namespace(pid="self"):
    return os.stat(f"/proc/{pid}/ns/pid").st_ino


def record(run, pid, **changes):
    """A run.json that says that `pid` is the jobrun of `run`."""
    began = ticks(pid) if is_alive(pid) else 1
    return {"format_version": 1, "run_id": run, "version": "1",
            "host": socket.gethostname(), "user": "root", "pid": pid,
            "start_ticks": began, "pid_namespace": namespace(),
            "boot_id": BOOT_ID.read_text().strip(), "argv": [], "cwd": "/",
            "git": {"commit": None, "dirty": None}, "fingerprint": None,
            "spec": None, "attempt": 0, "started": 4e9, "finished": None,
            "status": None, "exit_code": None, "cgroup": None, **changes}


class Case(harness.Case):
    """Root's log_dir, in which everybody may make folders."""

    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("SKIPPED: only root can act as two users")
        self.folder.chmod(0o755)
        self.runs = self.folder / "runs"
        self.runs.mkdir()
        self.runs.chmod(0o1777)

    def plant(self, run, files, owner=NOBODY, mode=0o755):
        """A folder of another user."""
        folder = self.runs / run
        folder.mkdir(mode=0o755, parents=True)
        for name, text in files.items():
            (folder / name).write_text(
                text if isinstance(text, str) else json.dumps(text))
            os.chown(folder / name, owner, owner)
        folder.chmod(mode)
        os.chown(folder, owner, owner)
        return folder

    def point_latest(self, run, owner=NOBODY):
        with contextlib.suppress(FileNotFoundError):
            (self.runs / "latest").unlink()
        (self.runs / "latest").symlink_to(run)
        os.lchown(self.runs / "latest", owner, owner)

    def victim(self):
        """A process that has nothing to do with jobrun."""
        process = subprocess.Popen(["sleep", "1000"])
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def detach(self, *words):
        """A run of one rank, which is stopped with the test."""
        done = self.expect(self.jobrun(
            "-n", "1", "--detach", *words, "--", "sh", "-c",
            "echo up; exec sleep 1000"), 0)
        run = done.stdout.strip()
        self.addCleanup(self.jobrun, "stop", run)
        return run

    def live(self, run):
        path = self.runs / run / "run.json"
        return json.loads(path.read_text())

    def say(self, done, *words):
        for word in words:
            self.assertIn(word, done.stderr)


class Theirs(Case):
    """What another user planted."""

    def test_stop_signals_nobody(self):
        victim = self.victim()
        self.plant("exp", {"run.json": record("exp", victim.pid)})
        self.point_latest("exp")
        for run in ("latest", "exp"):
            done = self.expect(self.jobrun("stop", run), 7)
            self.say(done, f"belongs to user nobody (uid {NOBODY}), not to you",
                     "so its record is not trusted and nothing was signalled")
        self.assertIsNone(victim.poll())

    def test_stop_signals_no_part(self):
        """The run is ours, but a node's part is not."""
        victim = self.victim()
        (self.runs / "exp").mkdir()
        self.plant("exp/node_0", {"run.json": record("exp", victim.pid)})
        done = self.expect(self.jobrun("stop", "exp"), 7)
        self.say(done, "exp/node_0 belongs to user nobody")
        self.assertIsNone(victim.poll())

    def test_a_start_kills_nothing(self):
        """Its record names the control group of a run of ours."""
        run = self.detach()
        group = self.live(run)["cgroup"]
        if group is None:
            self.skipTest("SKIPPED: no control group can be made here")
        other = self.folder / "shared"
        self.runs, own = other, self.runs
        other.mkdir()
        other.chmod(0o1777)
        self.plant(run, {"run.json": record(run, 999999999, cgroup=group)})
        self.expect(self.jobrun("-n", "1", "-s", "log_dir=shared", "--",
                                "true"), 0)
        self.runs = own
        self.assertIn("running", self.jobrun("show", run).stdout)

    def test_rerun_executes_nothing_until_it_is_trusted(self):
        self.plant("exp", {
            "run.json": record("exp", 1),
            "resolved.yaml": "version: 1\nname: exp\nworld_size: 1\n"
                             f"entrypoint: [touch, '{self.folder}/evil']\n"})
        self.point_latest("exp")
        done = self.expect(self.jobrun("rerun", "latest"), 7)
        self.say(done, "belongs to user nobody", "exp/resolved.yaml",
                 "jobrun rerun exp --trust")
        self.assertFalse((self.folder / "evil").exists())
        self.expect(self.jobrun("rerun", "exp", "--trust"), 0)
        self.assertTrue((self.folder / "evil").exists())

    def test_what_is_told_is_said_to_be_theirs(self):
        self.expect(self.jobrun("-n", "1", "--run-id", "exp", "--", "echo",
                                "hello"), 0)
        for path in [self.runs / "exp", *(self.runs / "exp").rglob("*")]:
            os.lchown(path, NOBODY, NOBODY)
        for words in (["show", "exp"], ["show", "exp", "--json"],
                      ["logs", "exp"], ["wait", "exp"], ["report", "exp"]):
            done = self.expect(self.jobrun(*words), 0)
            self.say(done, "note: exp belongs to user nobody")
        self.assertIn("hello", self.jobrun("logs", "exp").stdout)
        listed = self.jobrun("runs").stdout
        self.assertIn("  exp  (belongs to user nobody", listed)
        run, = json.loads(self.jobrun("runs", "--json").stdout)["runs"]
        self.assertIs(run["trusted"], False)

    def test_latest_is_the_newest_of_ours(self):
        for run in ("old", "new"):
            self.expect(self.jobrun("-n", "1", "--run-id", run, "--", "true"),
                        0)
        self.plant("theirs", {"run.json": record("theirs", 1)})
        for target in ("old", "theirs"):
            self.point_latest(target)
            shown = self.expect(self.jobrun("show", "latest", "--json"), 0)
            self.assertEqual(json.loads(shown.stdout)["run_id"], "new")
        self.point_latest("old", owner=0)
        shown = self.expect(self.jobrun("show", "latest", "--json"), 0)
        self.assertEqual(json.loads(shown.stdout)["run_id"], "old")

    def test_prune_does_not_count_them(self):
        self.expect(self.jobrun("-n", "1", "--run-id", "ours", "--", "true"), 0)
        for number in range(3):
            self.plant(f"theirs{number}", {
                "run.json": record(f"theirs{number}", 1),
                "results.json": {"status": "succeeded", "started": 4e9}})
        done = self.expect(self.jobrun("prune", "--keep", "1"), 0)
        self.say(done, "removed 0 runs", "kept 1",
                 "3 of other users were left alone")
        self.expect(self.jobrun("prune", "--keep", "0"), 0)
        self.assertEqual(sorted(path.name for path in self.runs.iterdir()
                                if not path.name.startswith(".")),
                         ["theirs0", "theirs1", "theirs2"])


class Open(Case):
    """What is ours, but everybody may have written."""

    def test_nothing_is_done_by_it(self):
        victim = self.victim()
        self.plant("exp", {
            "run.json": record("exp", victim.pid),
            "resolved.yaml": "version: 1\nname: exp\nworld_size: 1\n"
                             f"entrypoint: [touch, '{self.folder}/evil']\n"},
            owner=0, mode=0o777)
        done = self.expect(self.jobrun("stop", "exp"), 7)
        self.say(done, "is a folder that everybody may write to", "chmod o-w")
        self.assertIsNone(victim.poll())
        self.expect(self.jobrun("rerun", "exp"), 7)
        self.assertFalse((self.folder / "evil").exists())
        done = self.expect(self.jobrun("prune", "--keep", "0"), 0)
        self.say(done, "everybody may write to")
        self.assertTrue((self.runs / "exp").exists())

    def test_a_record_of_another_user(self):
        """As a member of the group can leave it in a folder of the group's."""
        victim = self.victim()
        folder = self.plant("exp", {"run.json": record("exp", victim.pid)},
                            owner=0, mode=0o775)
        os.chown(folder / "run.json", NOBODY, 0)
        done = self.expect(self.jobrun("stop", "exp"), 7)
        self.say(done, "has a run.json that belongs to user nobody")
        self.assertIsNone(victim.poll())

    def test_a_log_dir_without_the_sticky_bit(self):
        victim = self.victim()
        self.plant("exp", {"run.json": record("exp", victim.pid)}, owner=0)
        self.runs.chmod(0o777)
        done = self.expect(self.jobrun("stop", "exp"), 7)
        self.say(done, "lies in a log_dir that everybody may write to")
        self.assertIsNone(victim.poll())


class Bounds(Case):
    def peak(self, *words):
        """The memory that a command took, in MiB."""
        process = subprocess.Popen(
            [harness.JOBRUN, *words], cwd=self.folder,
            env=harness.clean_environment(), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, _, usage = os.wait4(process.pid, 0)
        process.returncode = 0
        return usage.ru_maxrss / 1024

    def test_a_large_record_is_not_read(self):
        usual = self.peak("runs")
        for owner in (0, NOBODY):
            folder = self.plant(f"large{owner}", {"run.json": ""}, owner=owner)
            os.truncate(folder / "run.json", 300 << 20)
        folder = self.plant("live", {
            "run.json": record("live", self.victim().pid), "plan.json": {
                "format_version": 1, "world_size": 1, "ranks": []},
            "results.json": "", "events.jsonl": ""})
        os.truncate(folder / "events.jsonl", 300 << 20)
        os.truncate(folder / "results.json", 300 << 20)
        for words in (["-n", "1", "--", "true"], ["runs"],
                      ["stop", "large0"], ["show", f"large{NOBODY}"],
                      ["show", "live"], ["show", "live", "--json"],
                      ["show", "live", "--stacks"], ["top", "live", "--once"]):
            self.assertLess(self.peak(*words), usual + 60, words)
        done = self.expect(self.jobrun("show", "large0"), 7)
        self.say(done, "run.json: is larger than 1 MiB")

    def test_what_strangers_put_there_costs_a_start_nothing(self):
        text = json.dumps(record("x", 1, argv=["x" * 100] * 2000))
        for number in range(2000):
            self.plant(f"theirs{number}", {"run.json": text})
        with self.takes_less(1):
            self.expect(self.jobrun("-n", "1", "--", "true"), 0)

    def test_the_longest_command_line_stays_readable(self):
        words = ["\x01" * 20000] * 12  # six bytes each in JSON
        self.expect(self.jobrun("-n", "1", "--run-id", "long", "--", "true",
                                *words), 0)
        argv = self.live("long")["argv"]
        self.assertRegex(argv[-1], r"^\.\.\. and \d+ more$")
        self.expect(self.jobrun("show", "long"), 0)


class Ports(Case):
    SQUAT = """\
import os, resource, socket, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
os.setgid(65534)
os.setuid(65534)
held = [socket.socket(socket.AF_UNIX) for _ in range(29500, 32768)]
for port, name in enumerate(held, 29500):
    name.bind("\\0jobrun-port-%d" % port)
    name.listen()
print("held", flush=True)
sys.stdin.read()
"""

    def test_one_user_cannot_lease_all(self):
        """In a network namespace, where nobody else is held up."""
        self.write("squat.py", self.SQUAT)
        done = subprocess.run(
            ["unshare", "--net", "sh", "-c", """
                 mkfifo go
                 python3 squat.py < go > said & exec 9> go
                 until grep -q held said; do sleep 0.01; done
                 "$0" -n 2 -- sh -c 'echo port $MASTER_PORT' """,
             harness.JOBRUN], cwd=self.folder, text=True, capture_output=True,
            env=harness.clean_environment(), stdin=subprocess.DEVNULL,
            timeout=harness.LIMIT)
        if "unshare" in done.stderr:
            self.skipTest("SKIPPED: no network namespace: " + done.stderr)
        self.expect(done, 0)
        self.assertIn("port 29500", done.stdout)


class Namespace(Case):
    """Beside a run of another PID namespace."""

    def inside(self, *words):
        """Run jobrun in a PID namespace of its own."""
        return subprocess.run(
            ["unshare", "--pid", "--fork", "--mount-proc", harness.JOBRUN,
             *words], cwd=self.folder, text=True, capture_output=True,
            env=harness.clean_environment(), stdin=subprocess.DEVNULL,
            timeout=harness.LIMIT)

    def setUp(self):
        super().setUp()
        done = subprocess.run(["unshare", "--pid", "--fork", "--mount-proc",
                               "true"], capture_output=True, text=True)
        if done.returncode != 0:
            self.skipTest("SKIPPED: no PID namespace here: " + done.stderr)

    def assert_lives(self, run):
        self.assertRegex(self.jobrun("show", run).stdout, r"^jobrun: running")

    def test_a_live_run_is_not_taken_for_lost(self):
        run = self.detach()
        self.assertEqual(self.live(run)["pid_namespace"], namespace())
        self.expect(self.inside("-n", "1", "--", "true"), 0)
        self.assert_lives(run)
        shown = self.expect(self.inside("show", run), 0)
        self.assertRegex(shown.stdout, r"^jobrun: elsewhere: pid \d+ on .*in "
                         r"another PID namespace")
        for verb in ("stop", "wait"):
            done = self.expect(self.inside(verb, run), 7)
            self.say(done, "runs in another PID namespace of this host")
        self.assert_lives(run)

    def test_a_record_that_does_not_say_where_its_pid_is(self):
        """As earlier versions wrote it."""
        run = self.detach()
        whole = self.live(run)
        (self.runs / run / "run.json").write_text(json.dumps(
            {key: value for key, value in whole.items()
             if key != "pid_namespace"}))
        self.assert_lives(run)
        self.expect(self.inside("-n", "1", "--", "true"), 0)
        self.expect(self.inside("stop", run), 7)
        self.assert_lives(run)
        # Once its two processes have gone, what they left is swept all the same.
        if whole["cgroup"] is None:
            self.skipTest("SKIPPED: no control group can be made here")
        runner = harness.runner_of(whole["pid"])
        left = subprocess.Popen(["sleep", "1000"])
        self.addCleanup(left.kill)
        pathlib.Path(whole["cgroup"], "cgroup.procs").write_text(str(left.pid))
        for sig in (signal.SIGSTOP, signal.SIGKILL):
            for pid in (runner, whole["pid"]):
                os.kill(pid, sig)
        until = time.monotonic() + harness.LIMIT
        while is_alive(whole["pid"]) or is_alive(runner):
            self.assertLess(time.monotonic(), until)
            time.sleep(0.01)
        done = self.expect(self.jobrun("-n", "1", "--", "true"), 0)
        self.say(done, f"the lost run {run} had left")
        self.assertEqual(left.wait(harness.LIMIT), -signal.SIGKILL)

    def test_a_run_in_a_namespace_beside_ours(self):
        """It is not taken for lost either."""
        os.mkfifo(self.folder / "fifo")
        inner = subprocess.Popen(
            ["unshare", "--pid", "--fork", "--mount-proc", harness.JOBRUN,
             "-n", "1", "--run-id", "inner", "--", "sh", "-c",
             "echo up; read x < fifo"], cwd=self.folder, text=True,
            env=harness.clean_environment(), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(inner.kill)
        self.assertIn("up", inner.stdout.readline())
        self.assertNotEqual(self.live("inner")["pid_namespace"], namespace())
        self.expect(self.jobrun("-n", "1", "--", "true"), 0)
        done = self.expect(self.jobrun("stop", "inner"), 7)
        self.say(done, "in another PID namespace")
        (self.folder / "fifo").write_text("now\n")
        _, err = inner.communicate(timeout=harness.LIMIT)
        self.assertEqual(inner.returncode, 0, err)


if __name__ == "__main__":
    harness.main()
