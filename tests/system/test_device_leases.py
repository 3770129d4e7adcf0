"""Devices that runs lease: `devices: any`, who holds which, and the queue of
those that wait."""
import json
import os
import pathlib
import pwd
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
import unittest

import harness

SPEC = """version: 1
entrypoint: {shell: "echo $ACME_VISIBLE; : >up-$RANK; read word <gate"}
device: custom:acme
backends: gloo
devices: any
"""


class Leases(harness.Case):
    """Three devices that no other test has; a run lasts until it can read from
    the pipe `gate`, which a test holds open for writing."""

    def setUp(self):
        super().setUp()
        self.uuids = [f"ACME-{os.getpid()}-{id(self)}-{i}" for i in range(3)]
        self.write("acme.facts.yaml",
                   "format_version: 1\nvariable: ACME_VISIBLE\ndevices:\n" +
                   "".join(f"- {{index: {i}, uuid: {uuid}}}\n"
                           for i, uuid in enumerate(self.uuids)))
        self.write("job.jobrun.yaml", SPEC)

    def gate(self, folder):
        os.mkfifo(folder / "gate")
        fd = os.open(folder / "gate", os.O_RDWR)
        self.addCleanup(os.close, fd)
        return fd

    def hold(self, ranks, *words, spec="job.jobrun.yaml", name=None):
        """A run on its way, in a folder of its own."""
        folder = self.folder / (name or f"run-{time.monotonic_ns()}")
        folder.mkdir()
        shutil.copy(self.folder / "acme.facts.yaml", folder)
        shutil.copy(self.folder / spec, folder / "job.jobrun.yaml")
        fd = self.gate(folder)
        process = self.start("job.jobrun.yaml", "-s", f"world_size={ranks}",
                             *words, cwd=folder)
        process.fd = fd
        process.folder = folder
        return process

    def begun(self, process, ranks=1):
        """The id of its run, once its ranks are there."""
        until = time.monotonic() + harness.LIMIT
        while not all((process.folder / f"up-{i}").exists()
                      for i in range(ranks)):
            self.assertIsNone(process.poll(), "it has ended")
            self.assertLess(time.monotonic(), until)
            time.sleep(0.01)
        return os.readlink(process.folder / "runs" / "latest")

    def let_go(self, process, ranks=1):
        """Its ranks end, and so does it. Returns what it said."""
        os.write(process.fd, b"go\n" * ranks)
        out, err = process.communicate(timeout=harness.LIMIT)
        self.assertEqual(process.returncode, 0, out + err)
        return out, err

    def says(self, process, text):
        """Read its standard error up to a line with `text`; returns that. What
        was read besides is for the next call."""
        fd, said = process.stderr.fileno(), getattr(process, "said", b"")
        while True:
            process.said = said
            for line in said.decode().splitlines(keepends=True):
                if text in line and line.endswith("\n"):
                    return line
            if not select.select([fd], [], [], harness.LIMIT)[0]:
                break
            more = os.read(fd, 65536)
            if not more:
                break
            said += more
        self.fail(f"it has not said {text!r}, but {said.decode()!r}")

    def devices(self, process):
        with open(process.folder / "runs" / "latest" / "results.json") as file:
            return [rank["device"] for rank in json.load(file)["ranks"]]

    def waits(self, process):
        """The line by which it says that it waits, and for what. It has its
        place in the queue by then."""
        return self.says(process, "waiting for devices")


class Any(Leases):
    def test_each_run_has_devices_of_its_own(self):
        one, two = self.hold(1), self.hold(2)
        self.begun(one), self.begun(two, 2)
        self.let_go(two, 2), self.let_go(one)
        self.assertEqual(sorted(self.devices(one) + self.devices(two)),
                         ["0", "1", "2"])
        for run in (one, two):
            text = (run.folder / "runs" / "latest" / "resolved.yaml").read_text()
            self.assertIn(f"devices: [{', '.join(self.devices(run))}]", text)

    def test_too_few_are_told_with_their_holders(self):
        run = self.hold(2)
        name = self.begun(run, 2)
        for verb in ([], ["plan"], ["resolve"]):
            done = self.jobrun(*verb, "job.jobrun.yaml", "-s", "world_size=2")
            self.assertEqual((done.returncode, done.stdout), (4, ""),
                             done.stderr)
            self.assertIn("job.jobrun.yaml:5:10: error[JR0434]: the ranks here "
                          "need 2 custom:acme devices, and 1 of 3 is free: 0, "
                          f"1 are held by run {name} (pid {run.pid})",
                          done.stderr)
            self.assertIn("--wait", done.stderr)
        self.assertFalse((self.folder / "runs").exists())
        plan = self.jobrun("plan", "job.jobrun.yaml", "-s", "world_size=1",
                           "--json")
        self.assertEqual(json.loads(plan.stdout)["ranks"][0]["device"], "2")
        self.let_go(run, 2)
        self.expect(self.jobrun("plan", "job.jobrun.yaml"), 0)

    def test_validation_and_profiles_lease_nothing(self):
        run = self.hold(3)
        self.begun(run, 3)
        self.expect(self.jobrun("validate", "job.jobrun.yaml"), 0)
        self.write("machine.yaml", "format_version: 1\n"
                   "custom_variable: ACME_VISIBLE\ndevices:\n" +
                   "".join(f"- {{kind: custom, index: {i}, uuid: {uuid}}}\n"
                           for i, uuid in enumerate(self.uuids)))
        plan = self.expect(self.jobrun("plan", "job.jobrun.yaml", "--on",
                                       "machine.yaml", "-s", "world_size=2",
                                       "--json"), 0)
        self.assertEqual([rank["device"]
                          for rank in json.loads(plan.stdout)["ranks"]],
                         ["0", "1"])

    def test_doctor_shows_who_holds_what(self):
        run = self.hold(1, "-s", "devices=[1]")
        name = self.begun(run)
        lines = self.expect(self.jobrun("doctor"), 0).stdout.splitlines()
        at = lines.index(f"leased   {self.uuids[1]}")
        self.assertEqual(lines[at + 1],
                         f"         held by run {name} (pid {run.pid})")
        self.let_go(run)
        self.assertNotIn(self.uuids[1], self.jobrun("doctor").stdout)

    def test_a_repeated_run_takes_free_ones_again(self):
        first = self.hold(1)
        name = self.begun(first)
        self.let_go(first)
        other = self.hold(1, "-s", "master_port=0")  # the first's is wanted
        self.begun(other)
        with open(first.folder / "runs" / name / "run.json") as file:
            self.assertTrue(json.load(file)["any_devices"])
        again = self.start("rerun", name, cwd=first.folder)
        os.write(first.fd, b"go\n")
        again.communicate(timeout=harness.LIMIT)
        self.assertEqual(again.returncode, 0)
        self.assertEqual(self.devices(first), ["1"])
        exact = self.start("rerun", name, "--exact", cwd=first.folder)
        self.says(exact, "0 is held by run")
        os.write(first.fd, b"go\n")
        exact.communicate(timeout=harness.LIMIT)
        self.assertEqual(self.devices(first), ["0"])
        self.let_go(other)

    def test_a_lease_lasts_through_a_restart(self):
        self.write("again.jobrun.yaml", SPEC.replace(
            ": >up-$RANK; read word <gate",
            ": >up-$RANK; read word <gate; exit $JOBRUN_ATTEMPT") +
            "restart: {max: 1, backoff: 0s}\n")
        run = self.hold(3, spec="again.jobrun.yaml")
        self.begun(run, 3)
        done = self.jobrun("plan", "job.jobrun.yaml", "-s", "world_size=1")
        self.assertEqual(done.returncode, 4)
        os.write(run.fd, b"go\n" * 3)
        run.communicate(timeout=harness.LIMIT)
        self.expect(self.jobrun("plan", "job.jobrun.yaml"), 0)

    def test_a_command_at_the_end_does_not_hold_them(self):
        self.write("end.jobrun.yaml",
                   SPEC + 'on_end: [sh, -c, ": >ended; read word <gate"]\n')
        run = self.hold(3, spec="end.jobrun.yaml")
        self.begun(run, 3)
        os.write(run.fd, b"go\n" * 3)
        until = time.monotonic() + harness.LIMIT
        while not (run.folder / "ended").exists():
            self.assertLess(time.monotonic(), until)
            time.sleep(0.01)
        self.expect(self.jobrun("plan", "job.jobrun.yaml"), 0)
        self.let_go(run)


class Shared(Leases):
    def test_a_stated_device_is_shared_and_that_is_told(self):
        one = self.hold(2)
        name = self.begun(one, 2)
        two = self.hold(2, "-s", "devices=[1, 2]")
        line = self.says(two, "JR0435")
        self.assertIn(f"1 is held by run {name} (pid {one.pid})", line)
        self.begun(two, 2)
        done = self.jobrun("plan", "job.jobrun.yaml", "-s", "world_size=1")
        self.assertEqual(done.returncode, 4)
        self.let_go(one, 2)
        # the one that is left still has what it shared
        plan = self.expect(self.jobrun("plan", "job.jobrun.yaml", "-s",
                                       "world_size=1", "--json"), 0)
        self.assertEqual(json.loads(plan.stdout)["ranks"][0]["device"], "0")
        self.let_go(two, 2)

    def test_a_run_within_a_run_is_not_warned_of_it(self):
        self.write("inner.jobrun.yaml", SPEC.replace("devices: any\n", "")
                   .replace("read word <gate", "true"))
        self.write("outer.jobrun.yaml", SPEC.replace(
            "read word <gate", f"'{harness.JOBRUN}' ../inner.jobrun.yaml"))
        outer = self.hold(3, "-s", "devices=all", "-s",
                          "env_remove=[ACME_VISIBLE]", "--run-id", "around",
                          spec="outer.jobrun.yaml")
        out, err = outer.communicate(timeout=harness.LIMIT)
        self.assertEqual(outer.returncode, 0, out + err)
        self.assertEqual((out + err).count("jobrun: succeeded"), 4, out + err)
        self.assertNotIn("held by run around", out + err)


class Killed(Leases):
    def test_a_killed_run_holds_nothing(self):
        run = self.hold(3)
        self.begun(run, 3)
        waiting = self.hold(3, "--wait", name="waiting")
        self.waits(waiting)
        runner = harness.runner_of(run.pid)
        run.send_signal(signal.SIGSTOP)  # it cannot clean up
        os.kill(runner, signal.SIGKILL)
        done = self.jobrun("plan", "job.jobrun.yaml")
        self.assertEqual(done.returncode, 4, "one of the two is still there")
        run.kill()
        run.wait(harness.LIMIT)
        self.begun(waiting, 3)
        self.let_go(waiting, 3)

    def test_the_runner_of_a_killed_guard_gives_them_back(self):
        run = self.hold(3)
        self.begun(run, 3)
        waiting = self.hold(3, "--wait", name="waiting")
        self.waits(waiting)
        os.kill(run.pid, signal.SIGKILL)
        self.begun(waiting, 3)
        self.let_go(waiting, 3)


class Wait(Leases):
    def test_it_begins_when_a_device_is_free(self):
        run = self.hold(2)
        name = self.begun(run, 2)
        waiting = self.hold(2, "--wait", name="waiting")
        self.assertIn(f"0, 1 are held by run {name}", self.waits(waiting))
        self.let_go(run, 2)
        self.begun(waiting, 2)
        self.let_go(waiting, 2)
        # One of the two may be given back before the other: 2 is free already.
        held = self.devices(waiting)
        self.assertEqual(len(set(held)), 2, held)
        self.assertLessEqual(set(held), {"0", "1", "2"})

    def test_an_idle_waiter_does_not_wake(self):
        run = self.hold(3)
        self.begun(run, 3)
        waiting = self.hold(1, "--wait", name="waiting")
        self.waits(waiting)
        status = pathlib.Path(f"/proc/{waiting.pid}/status")
        until = time.monotonic() + harness.LIMIT
        while "S (sleeping)" not in status.read_text():
            self.assertLess(time.monotonic(), until)
        switches = re.compile(r"^voluntary_ctxt_switches:\s+(\d+)", re.M)
        before = switches.search(status.read_text())[1]
        time.sleep(1)  # nothing is to happen in it
        self.assertEqual(switches.search(status.read_text())[1], before)
        self.let_go(run, 3)
        self.begun(waiting)
        self.let_go(waiting)

    def test_the_time_may_run_out(self):
        run = self.hold(2)
        name = self.begun(run, 2)
        done = self.jobrun("job.jobrun.yaml", "--wait=300ms")
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("waiting for devices for at most 300ms", done.stderr)
        self.assertEqual(done.stderr.count("error[JR0434]"), 1)
        self.assertIn(f"held by run {name}", done.stderr)
        self.assertFalse((self.folder / "runs").exists())
        self.let_go(run, 2)

    def test_wrong_times_are_refused(self):
        for word, told in (("--wait=0", "more than no time"),
                           ("--wait=soon", "--wait wants a time"),
                           ("--wait=5", "--wait wants a time"),
                           ("--wait=inf", "type --wait alone for no limit")):
            done = self.jobrun("job.jobrun.yaml", word)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(told, done.stderr)

    def test_stated_devices_are_waited_for_too(self):
        run = self.hold(1)
        self.begun(run)
        waiting = self.hold(2, "-s", "devices=[2, 0]", "--wait", name="waiting")
        self.waits(waiting)
        # who wants others is not kept waiting, and has not those
        other = self.hold(1)
        self.begun(other)
        self.let_go(other)
        self.assertEqual(self.devices(other), ["1"])
        self.let_go(run)
        self.begun(waiting, 2)
        _, err = self.let_go(waiting, 2)
        self.assertNotIn("JR0435", err)
        self.assertEqual(self.devices(waiting), ["2", "0"])

    def test_the_order_is_that_of_arrival(self):
        """The first wants all devices, the others one each, of which two are
        free all the time."""
        run = self.hold(1)
        self.begun(run)
        queue = []
        for i, ranks in enumerate((3, 1, 3, 1)):
            queue.append(self.hold(ranks, "--wait", name=f"waiting-{i}"))
            self.waits(queue[-1])
        done = self.jobrun("job.jobrun.yaml", "-s", "world_size=1")
        self.assertEqual(done.returncode, 4)
        self.assertIn("waits for some of them, and came earlier", done.stderr)
        self.let_go(run)
        for i, ranks in enumerate((3, 1, 3, 1)):
            self.begun(queue[i], ranks)
            for later in queue[i + 1:]:
                self.assertFalse((later.folder / "runs").exists(), i)
            self.let_go(queue[i], ranks)

    def test_a_killed_one_gives_its_place_up(self):
        run = self.hold(3)
        self.begun(run, 3)
        head = self.hold(3, "--wait", name="head")
        self.waits(head)
        second = self.hold(1, "--wait", name="second")
        self.waits(second)
        third = self.hold(1, "--wait", name="third")
        self.waits(third)
        os.kill(head.pid, signal.SIGKILL)
        head.wait(harness.LIMIT)
        self.let_go(run, 3)
        self.begun(second), self.begun(third)
        self.let_go(third), self.let_go(second)

    def test_a_signal_ends_the_waiting(self):
        run = self.hold(3)
        self.begun(run, 3)
        for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            waiting = self.hold(1, "--wait")
            self.waits(waiting)
            waiting.send_signal(sig)
            _, err = waiting.communicate(timeout=harness.LIMIT)
            self.assertEqual(waiting.returncode, 128 + sig, err)
            self.assertIn(f"stopped by {sig.name} while it waited for devices",
                          err)
            self.assertNotIn("error[", err)
            self.assertFalse((waiting.folder / "runs").exists())
        self.let_go(run, 3)

    def test_facts_are_those_of_the_moment_it_begins(self):
        """A device has gone while it waited, and another has come."""
        run = self.hold(3)
        self.begun(run, 3)
        waiting = self.hold(1, "--wait", name="waiting")
        self.waits(waiting)
        other = f"ACME-{os.getpid()}-{id(self)}-other"
        (waiting.folder / "acme.facts.yaml").write_text(
            "format_version: 1\nvariable: ACME_VISIBLE\ndevices:\n"
            f"- {{index: 7, uuid: {other}}}\n")
        self.let_go(run, 3)
        self.begun(waiting)
        self.let_go(waiting)
        self.assertEqual(self.devices(waiting), ["7"])

    def test_detached_it_waits_too(self):
        run = self.hold(3)
        self.begun(run, 3)
        waiting = self.hold(1, "--wait", "--detach", name="waiting")
        self.waits(waiting)
        self.assertIsNone(waiting.poll())
        self.let_go(run, 3)
        out, _ = waiting.communicate(timeout=harness.LIMIT)
        self.assertEqual(out, os.readlink(waiting.folder / "runs" / "latest") +
                         "\n")
        os.write(waiting.fd, b"go\n")
        self.expect(self.jobrun("wait", out.strip(), cwd=waiting.folder), 0)


@unittest.skipUnless(os.geteuid() == 0, "SKIPPED: it takes root to be two users")
class TwoUsers(Leases):
    def setUp(self):
        super().setUp()
        self.folder.chmod(0o777)
        (self.folder / "acme.facts.yaml").chmod(0o644)
        self.program = pathlib.Path(tempfile.mkdtemp(prefix="jobrun-other-"))
        self.addCleanup(shutil.rmtree, self.program)
        self.program.chmod(0o755)

    def other(self, ranks):
        """A run of another user."""
        nobody = pwd.getpwnam("nobody")
        for part in (*pathlib.Path(harness.JOBRUN).parents,
                     pathlib.Path(harness.JOBRUN)):
            if not part.stat().st_mode & 0o001:
                self.skipTest(f"SKIPPED: another user may not enter {part}")

        def become():
            os.setgid(nobody.pw_gid)
            os.setgroups([])
            os.setuid(nobody.pw_uid)
        folder = self.folder / "theirs"
        folder.mkdir()
        shutil.copy(self.folder / "acme.facts.yaml", folder)
        shutil.copy(self.folder / "job.jobrun.yaml", folder)
        fd = self.gate(folder)
        for path in (folder, *folder.iterdir()):
            os.chown(path, nobody.pw_uid, nobody.pw_gid)
        process = self.start("job.jobrun.yaml", "-s", f"world_size={ranks}",
                             cwd=folder, preexec_fn=become)
        process.fd, process.folder = fd, folder
        return process

    def test_the_other_user_is_named(self):
        run = self.other(2)
        name = self.begun(run, 2)
        uid = pwd.getpwnam("nobody").pw_uid
        done = self.jobrun("job.jobrun.yaml", "-s", "world_size=2")
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn(f"0, 1 are held by run {name} (pid {run.pid} of user "
                      f"nobody (uid {uid}))", done.stderr)
        ours = self.hold(1)
        self.begun(ours)
        waiting = self.hold(2, "--wait", name="waiting")
        self.waits(waiting)
        self.let_go(run, 2)
        self.begun(waiting, 2)
        self.let_go(waiting, 2), self.let_go(ours)
        self.assertEqual(self.devices(ours), ["2"])


class Asked(Leases):
    """Whoever asks for the holder of a lease connects to it and leaves."""
    ASKS = 5000

    def listed(self, name):
        """How often the kernel lists a name: its listener, and connections."""
        return sum(line.endswith(f" @{name}") for line in pathlib.Path(
            "/proc/net/unix").read_text().splitlines())

    def connect(self, name):
        """None where the kernel lets no more wait."""
        end = socket.socket(socket.AF_UNIX)
        end.setblocking(False)
        try:
            end.connect("\0" + name)
        except BlockingIOError:
            end.close()
            return None
        return end

    def ask(self, name):
        end = self.connect(name)
        if end is None:
            return 0
        pid = struct.unpack("3i", end.getsockopt(
            socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
        end.close()
        self.assertGreater(pid, 0)
        return 1

    def leases(self, run):
        """The names of a device, of its note, and of the port."""
        name = os.readlink(run.folder / "runs" / "latest")
        note = next(line.split(" @")[1] for line in pathlib.Path(
            "/proc/net/unix").read_text().splitlines()
            if " @jobrun-run-" in line and name in line)
        resolved = (run.folder / "runs" / "latest" / "resolved.yaml").read_text()
        port = re.search(r"^master_port: (\d+)", resolved, re.M)[1]
        return f"jobrun-device-{self.uuids[0]}", note, f"jobrun-port-{port}"

    def drained(self, name, most):
        until = time.monotonic() + harness.LIMIT
        while self.listed(name) > most:
            self.assertLess(time.monotonic(), until, self.listed(name))
            time.sleep(0.05)

    def test_asking_leaves_nothing_behind(self):
        run = self.hold(3)
        self.begun(run, 3)
        waiting = self.hold(1, "--wait", name="waiting")
        self.waits(waiting)
        for name in self.leases(run):
            before = self.listed(name)
            self.assertGreater(before, 0, name)
            asked = sum(self.ask(name) for _ in range(self.ASKS))
            self.assertGreater(asked, 0)
            self.drained(name, before)
        self.assertIsNone(waiting.poll())
        self.assertFalse((waiting.folder / "runs").exists())
        self.let_go(run, 3)
        self.begun(waiting)
        self.let_go(waiting)

    def test_asking_a_sweep_leaves_nothing_behind(self):
        """Its leases are held by the process that leads it, too."""
        self.write("swept.jobrun.yaml", SPEC.replace(
            "world_size", "") + "world_size: 3\nvars: {n: 0}\nenv: {N: "
            "'${vars.n}'}\nsweep: {axes: {vars.n: [1, 2]}}\n")
        os.mkfifo(self.folder / "gate")
        fd = os.open(self.folder / "gate", os.O_RDWR)
        self.addCleanup(os.close, fd)
        sweep = self.start("swept.jobrun.yaml")
        sweep.folder, name = self.folder, f"jobrun-device-{self.uuids[0]}"
        for _ in range(2):
            self.begun_cell(sweep)
            asked = sum(self.ask(name) for _ in range(self.ASKS))
            self.assertGreater(asked, 0)
            self.drained(name, 1)
            for i in range(3):
                (self.folder / f"up-{i}").unlink()
            os.write(fd, b"go\n" * 3)
        sweep.communicate(timeout=harness.LIMIT)
        self.assertEqual(sweep.returncode, 0)

    def begun_cell(self, sweep):
        until = time.monotonic() + harness.LIMIT
        while not all((self.folder / f"up-{i}").exists() for i in range(3)):
            self.assertIsNone(sweep.poll(), "it has ended")
            self.assertLess(time.monotonic(), until)
            time.sleep(0.01)

    def test_those_who_stay_exhaust_nobody(self):
        """Anybody can connect, and stay: the run keeps a few, and the rest
        waits in the kernel. Later ones are served once some of them leave."""
        run = self.hold(3)
        self.begun(run, 3)
        name = self.leases(run)[0]
        holders = [run.pid, *harness.children(run.pid)]

        def descriptors():
            return sum(len(os.listdir(f"/proc/{pid}/fd")) for pid in holders)
        before, alone = descriptors(), self.listed(name)
        strangers = [self.connect(name) for _ in range(300)]
        self.addCleanup(lambda: [end.close() for end in strangers if end])
        self.assertNotIn(None, strangers)
        until = time.monotonic() + harness.LIMIT
        while descriptors() == before:
            self.assertLess(time.monotonic(), until)
            time.sleep(0.05)
        time.sleep(0.5)  # nothing more is to happen in it
        self.assertLess(descriptors(), before + 100)
        done = self.jobrun("plan", "job.jobrun.yaml")
        self.assertIn(f"(pid {run.pid})", done.stderr)
        for end in strangers:
            end.close()
        self.drained(name, alone)
        self.let_go(run, 3)


class Names(Leases):
    def take(self, name):
        taken = socket.socket(socket.AF_UNIX)
        self.addCleanup(taken.close)
        taken.bind("\0" + name)
        taken.listen()
        return taken

    def test_a_stranger_is_told_as_what_it_is(self):
        """Whoever takes the name of a device keeps it from `any`, and is named;
        that it is some run is not believed."""
        run = self.hold(1)
        self.begun(run)
        note = next(line.split(" @jobrun-run-")[1] for line in pathlib.Path(
            "/proc/net/unix").read_text().splitlines()
            if os.readlink(run.folder / "runs" / "latest") in line)
        self.take(f"jobrun-device-{self.uuids[1]}")
        self.take("jobrun-run-" + note.split("-")[0] + "-forged")
        done = self.jobrun("job.jobrun.yaml")
        self.assertEqual(done.returncode, 4)
        self.assertIn(f"1 is held by pid {os.getpid()}", done.stderr)
        self.assertNotIn("forged", done.stderr)
        self.assertIn(f"(pid {run.pid})", done.stderr)
        self.let_go(run)

    def test_odd_names_do_no_harm(self):
        for name in ("jobrun-device-", "jobrun-device-+", "jobrun-wait-x",
                     f"jobrun-wait-{self.uuids[0]}+0",
                     f"jobrun-wait-{self.uuids[0]}+99999999999999999999",
                     "jobrun-run-", "jobrun-run-0-\n", "jobrun-wait-a+1+2",
                     "jobrun-device-" + "k" * 90):
            self.take(name)
        run = self.hold(3)
        self.begun(run, 3)
        self.expect(self.jobrun("doctor"), 0)
        self.let_go(run, 3)

    def test_the_highest_ticket_is_no_end(self):
        """A stranger's place in the queue, with the largest number."""
        run = self.hold(3)
        self.begun(run, 3)
        self.take(f"jobrun-wait-{self.uuids[0]}+18446744073709551615")
        waiting = self.hold(3, "--wait", name="waiting")
        self.waits(waiting)
        self.let_go(run, 3)
        self.begun(waiting, 3)
        self.let_go(waiting, 3)

    def test_a_lock_that_nobody_gives_back_is_passed(self):
        self.take("jobrun-devices")
        run = self.hold(1)
        self.begun(run)
        self.let_go(run)


class Namespaces(Leases):
    def unshared(self, *kinds):
        command = ["unshare", *kinds]
        if os.geteuid() != 0:
            command.append("--map-root-user")
        there = subprocess.run([*command, "true"], capture_output=True,
                               text=True, timeout=harness.LIMIT)
        if there.returncode != 0:
            self.skipTest(f"SKIPPED: {there.stderr.strip()}")
        return command

    def test_another_pid_namespace_is_seen_without_a_pid(self):
        command = self.unshared("--pid", "--fork", "--mount-proc")
        run = self.hold(3)
        name = self.begun(run, 3)
        done = subprocess.run(
            [*command, harness.JOBRUN, "plan", "job.jobrun.yaml"], text=True,
            cwd=self.folder, env=harness.clean_environment(),
            capture_output=True, timeout=harness.LIMIT)
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn(f"held by run {name} (another process)", done.stderr)
        self.let_go(run, 3)

    def test_another_network_namespace_is_not_seen(self):
        command = self.unshared("--net")
        run = self.hold(3)
        self.begun(run, 3)
        done = subprocess.run(
            [*command, harness.JOBRUN, "plan", "job.jobrun.yaml"], text=True,
            cwd=self.folder, env=harness.clean_environment(),
            capture_output=True, timeout=harness.LIMIT)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.let_go(run, 3)


if __name__ == "__main__":
    unittest.main()
