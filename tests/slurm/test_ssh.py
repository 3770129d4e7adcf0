#!/usr/bin/env python3
"""Hosts that a real ssh reaches: an sshd of the test's own on loopback, with keys,
configuration and port of its own. The hosts n1, n2, ... are names in the ssh
configuration, and all are this machine. Without sshd it is SKIPPED."""
import contextlib
import getpass
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "system"))

import harness  # noqa: E402

SSHD = shutil.which("sshd", path="/usr/sbin:/sbin:" + os.environ["PATH"])
MOMENTS = int(os.environ.get("MOMENTS", "300"))
KILLS = int(os.environ.get("KILLS", "60"))
SWEEP_KILLS = int(os.environ.get("SWEEP_KILLS", "20"))

if SSHD is None or shutil.which("ssh") is None:
    print("SKIPPED: no sshd: install openssh-server and openssh-client")
    sys.exit(77)

SERVER = """Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host
PidFile none
AuthorizedKeysFile {folder}/user.pub
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin yes
MaxStartups 100
AcceptEnv none
SetEnv HOME={folder}/home
LogLevel ERROR
"""
CLIENT = """Host n*
    HostName 127.0.0.1
    HostKeyAlias loopback
    Port {port}
    User {user}
    IdentityFile {folder}/user
    IdentitiesOnly yes
    UserKnownHostsFile {folder}/known
    GlobalKnownHostsFile /dev/null
"""
SPEC = """version: 1
local_world_size: 2
oversubscribe: true
device: cpu
master_addr: 127.0.0.1
{more}
entrypoint: {{shell: '{script}'}}
"""


class Server:
    """An sshd, and what a client has to know of it."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="jobrun-ssh-"))
        with socket.socket() as trial:
            trial.bind(("127.0.0.1", 0))
            self.port = trial.getsockname()[1]
        for name in ("host", "user", "other"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f",
                            self.folder / name], check=True)
        words = {"folder": self.folder, "port": self.port,
                 "user": getpass.getuser()}
        (self.folder / "sshd_config").write_text(SERVER.format(**words))
        (self.folder / "config").write_text(CLIENT.format(**words))
        (self.folder / "home").mkdir()
        self.know("host")
        if os.geteuid() == 0:
            os.makedirs("/run/sshd", exist_ok=True)
        self.process = subprocess.Popen(
            [SSHD, "-D", "-E", self.folder / "log", "-f",
             self.folder / "sshd_config"])
        self.await_answer()

    def know(self, key):
        kind, text = (self.folder / f"{key}.pub").read_text().split()[:2]
        (self.folder / "known").write_text(f"loopback {kind} {text}\n")

    def await_answer(self):
        until = time.monotonic() + harness.LIMIT
        while subprocess.run(
                ["ssh", "-F", self.folder / "config", "-oBatchMode=yes", "n1",
                 "true"], capture_output=True).returncode != 0:
            if time.monotonic() > until or self.process.poll() is not None:
                print("SKIPPED: sshd lets nobody in here: " +
                      (self.folder / "log").read_text())
                self.close()
                sys.exit(77)
            time.sleep(0.05)

    def close(self):
        self.process.terminate()
        self.process.wait(harness.LIMIT)
        shutil.rmtree(self.folder)


SERVER_HERE = None


def setUpModule():
    global SERVER_HERE
    SERVER_HERE = Server()
    unittest.addModuleCleanup(SERVER_HERE.close)


def processes_with(marker):
    """The processes that have a word in their environment or command line."""
    found = set()
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            data = pathlib.Path(f"/proc/{entry}/environ").read_bytes()
            data += pathlib.Path(f"/proc/{entry}/cmdline").read_bytes()
            if marker.encode() in data:
                found.add(int(entry))
    return found


class Hosts(harness.Case):
    def setUp(self):
        super().setUp()
        self.server = SERVER_HERE
        self.addCleanup(self.server.know, "host")
        self.marker = f"marker-{os.getpid()}-{time.monotonic_ns()}"

    def spec(self, script, more=""):
        return self.write("t.jobrun.yaml", SPEC.format(
            script=script, more=f"{more}\nenv: {{MARKER: {self.marker}}}"))

    def line(self, script, hosts="n1,n2", more="", words=()):
        options = f"[-F, '{self.server.folder / 'config'}']"
        return [self.spec(script, more), "--hosts", hosts, "-s",
                f"engine.ssh.options={options}", *words]

    def run_on(self, code, script, **options):
        done = self.expect(self.jobrun(*self.line(script, **options)), code)
        self.nobody_is_left()
        return done

    def nobody_is_left(self, limit=harness.LIMIT):
        """No rank, and no ssh of ours."""
        until = time.monotonic() + limit
        while left := processes_with(self.marker):
            self.assertLess(time.monotonic(), until, left)
            time.sleep(0.02)

    def begin(self, script="sleep 1000", **options):
        process = self.start(*self.line(script, **options))
        until = time.monotonic() + harness.LIMIT
        while not (self.folder / "runs" / "latest" / "events.jsonl").exists():
            self.assertLess(time.monotonic(), until)
            time.sleep(0.01)
        for rank in range(4):
            self.await_event(event="rank_started", rank=rank)
        return process

    def sessions(self):
        """The sshd of each connection that has an agent below it."""
        found = []
        for pid in processes_with(self.marker):
            parent = pid
            with contextlib.suppress(FileNotFoundError):  # it has just ended
                while parent > 1 and harness.name_of(parent) != "sshd":
                    stat = pathlib.Path(f"/proc/{parent}/stat").read_text()
                    parent = int(stat.rpartition(") ")[2].split()[1])
                if parent > 1:
                    found.append(parent)
        return sorted(set(found))

    def processes_of_a_run(self):
        """All of them, here and on the hosts: each has the folder of the server
        in its words, or as its home folder."""
        return processes_with(str(self.server.folder)) - {
            self.server.process.pid}

    def nothing_is_left(self):
        until = time.monotonic() + 60
        while left := self.processes_of_a_run():
            self.assertLess(time.monotonic(), until, [
                (pid, harness.name_of(pid)) for pid in left])
            time.sleep(0.02)


class Runs(Hosts):
    def test_all_ranks_of_all_hosts(self):
        done = self.run_on(0, "echo $RANK $NODE_RANK $WORLD_SIZE "
                           "$(echo $SSH_CONNECTION | wc -w)")
        lines = sorted(line.split() for line in done.stdout.splitlines())
        self.assertEqual([line[1:] for line in lines], [
            ["0", "0", "4", "4"], ["1", "0", "4", "4"], ["2", "1", "4", "4"],
            ["3", "1", "4", "4"]])
        self.assertEqual([rank["host"] for rank in self.results()["ranks"]],
                         ["n1", "n1", "n2", "n2"])

    def test_eight_hosts(self):
        done = self.run_on(0, "echo $RANK", hosts="n[1-8]")
        self.assertEqual(len(done.stdout.splitlines()), 16)

    def test_lines_of_any_length(self):
        done = self.run_on(
            0, "head -c 300000 /dev/zero | tr \"\\\\0\" x; echo")
        self.assertEqual(done.stdout.count("x"), 4 * 300000)

    def test_the_first_failure_stops_all_hosts(self):
        done = self.run_on(1, "test $RANK != 3 || exit 7; sleep 1000")
        self.assertIn("rank 3 exited with code 7", done.stderr)
        self.assertIn("node 1 (n2)", done.stderr)
        self.assertIn("ranks 0-2 stopped by jobrun (SIGTERM)", done.stderr)
        ended = {event["rank"]: event["ns"] for event in self.events()
                 if event["event"] == "rank_ended"}
        self.assertLess(max(ended.values()) - ended[3], 10 * 10 ** 9)

    def test_all_start_again(self):
        done = self.run_on(
            0, "echo $JOBRUN_ATTEMPT; test $JOBRUN_ATTEMPT != 0 || exit 3",
            more="restart: {max: 1}")
        self.assertIn("[3] 1", done.stdout.splitlines())


class Mpi(Hosts):
    """One world of the ranks on four hosts, without a launcher of MPI's."""

    def run_world(self, code, kind, *words):
        if shutil.which(f"mpicc.{kind}") is None:
            self.skipTest(f"SKIPPED: no mpicc.{kind}: install lib{kind}-dev")
        source = pathlib.Path(harness.__file__).parent / "mpi" / "world.c"
        scratch = self.server.folder / "world"
        subprocess.run([f"mpicc.{kind}", source, "-o", scratch], check=True,
                       timeout=60)
        (self.folder / "bin").mkdir(exist_ok=True)
        self.write("t.jobrun.yaml", SPEC.format(script="", more="").replace(
            "{shell: ''}", f"['{scratch}']") + f"""
env: {{MARKER: {self.marker}, PATH: '{self.folder / "bin"}',
  OMPI_MCA_btl: 'self,tcp', OMPI_MCA_btl_tcp_if_include: lo}}
timeouts: {{run: 5m}}
""")
        line = self.line("", hosts="n[1-4]", words=("--", *words))
        done = self.expect(self.jobrun("t.jobrun.yaml", *line[1:]), code)
        self.nobody_is_left()
        return done

    def spec(self, script, more=""):
        return "t.jobrun.yaml"

    def test_open_mpi_and_mpich(self):
        for kind in ("openmpi", "mpich"):
            done = self.run_world(0, kind)
            self.assertEqual(sorted(done.stdout.splitlines()), [
                f"[{rank}] mpi {rank} of 8, sum 36, ring 8, RANK {rank}"
                for rank in range(8)])

    def test_an_abort(self):
        self.run_world(1, "openmpi", "abort")
        cause = self.results()["root_cause"]
        self.assertEqual((cause["rank"], cause["kind"]), (1, "mpi_abort"))


class Doctor(Hosts):
    def ask(self, code, *words, hosts="n[1-8]"):
        config = self.server.folder / "config"
        done = self.expect(self.jobrun(
            "doctor", "--hosts", hosts, "-s", f"engine.ssh.options=[-F, '{config}']",
            *words), code)
        return done.stdout.splitlines()

    def test_all_hosts_at_once(self):
        lines = self.ask(0, "-s", "master_addr=127.0.0.1")
        self.assertEqual(len(lines), 9)
        for node in range(8):
            self.assertRegex(lines[node], rf"^n{node + 1} .* jobrun .* clock .* "
                             "reaches 127.0.0.1:")
        self.assertEqual(lines[8], "all 8 hosts can take part")

    def test_a_name_that_ssh_alone_knows(self):
        lines = self.ask(4, hosts="n1,n2")
        self.assertRegex(lines[1], "does not reach n1:")
        self.assertIn("-s master_addr=ADDRESS", lines[2])

    def test_hosts_that_are_not_reached(self):
        self.server.know("other")
        lines = self.ask(4, hosts="n1,n2")
        self.assertRegex(lines[0], "not reached: .*IDENTIFICATION HAS CHANGED")
        self.assertIn("ssh-keygen -R n1", lines[1])
        self.assertEqual(lines[-1], "2 of 2 hosts cannot take part")


class Wrong(Hosts):
    def test_a_host_that_wants_a_password(self):
        config = self.server.folder / "config"
        self.addCleanup(config.write_text, config.read_text())
        config.write_text(config.read_text().replace("/user\n", "/other\n"))
        done = self.run_on(7, "true")
        self.assertRegex(done.stderr, r"node [01] \(n[12]\) did not answer: .*"
                         r"Permission denied \(publickey\).*never asks for a "
                         "password")

    def test_a_host_whose_key_is_another(self):
        self.server.know("other")
        done = self.run_on(7, "true")
        self.assertRegex(done.stderr, r"node [01] \(n[12]\) did not answer: .*"
                         "REMOTE HOST IDENTIFICATION HAS CHANGED.*ssh-keygen -R")

    def test_a_host_whose_key_is_not_known(self):
        (self.server.folder / "known").write_text("")
        done = self.run_on(7, "true")
        self.assertRegex(done.stderr, r"node [01] \(n[12]\) did not answer: .*"
                         "does not know its key")

    def test_a_host_that_is_not_there(self):
        done = self.run_on(7, "true", hosts="n1,n2", words=(
            "-s", "engine.ssh.options[1]=/dev/null"))
        self.assertRegex(done.stderr, r"node [01] \(n[12]\) did not answer: .*"
                         "Could not resolve hostname")

    def test_a_port_at_which_nobody_listens(self):
        config = self.server.folder / "config"
        self.addCleanup(config.write_text, config.read_text())
        config.write_text(config.read_text().replace(
            f"Port {self.server.port}", "Port 1"))
        done = self.run_on(7, "true")
        self.assertRegex(done.stderr, r"node [01] \(n[12]\) did not answer: ssh: "
                         r"connect to host 127.0.0.1 port 1: Connection refused.*"
                         "; try: ssh -F [^ ]+/config n[12] true")

    def test_a_host_without_jobrun(self):
        done = self.run_on(7, "true", words=(
            "-s", "engine.ssh.program=/nowhere/jobrun"))
        self.assertIn("there is no jobrun: /nowhere/jobrun", done.stderr)
        self.assertIn("-s engine.ssh.copy=true", done.stderr)

    def test_hosts_that_get_jobrun(self):
        """All of them at once, into one home folder, through one connection
        each."""
        words = ("-s", "engine.ssh.program=/nowhere/jobrun", "-s",
                 "engine.ssh.copy=true")
        script = "readlink /proc/$PPID/exe"
        done = self.run_on(0, script, hosts="n[1-8]", words=words)
        cache = self.server.folder / "home" / ".cache" / "jobrun"
        [copy] = cache.iterdir()
        self.assertEqual({line.split()[1] for line in done.stdout.splitlines()},
                         {str(copy / "jobrun")})
        self.assertIn("is copied there", done.stderr)
        done = self.run_on(0, script, words=words)
        self.assertNotIn("copied", done.stderr)
        self.assertEqual(list(cache.iterdir()), [copy])


class Ends(Hosts):
    def test_by_a_signal(self):
        process = self.begin()
        process.terminate()
        process.communicate(timeout=harness.LIMIT)
        self.assertEqual(process.returncode, 128 + signal.SIGTERM)
        self.nobody_is_left()

    def test_a_connection_that_breaks(self):
        process = self.begin()
        sessions = self.sessions()
        self.assertEqual(len(sessions), 2)
        os.kill(sessions[1], signal.SIGKILL)
        _, err = process.communicate(timeout=harness.LIMIT)
        self.assertEqual(process.returncode, 1, err)
        self.assertRegex(err, "rank [02] was lost with its node")
        self.assertEqual(self.results()["root_cause"]["kind"], "lost_node")
        self.nobody_is_left()

    def test_the_controller_is_killed_at_any_moment(self):
        """From its start on until the ranks run, and nothing of it is left."""
        began = time.monotonic()
        done = self.jobrun(*self.line("true"))
        self.assertEqual(done.returncode, 0, done.stderr)
        whole = max(0.5, time.monotonic() - began)
        line = self.line("sleep 1000", more="timeouts: {stop_grace: 1s}")
        for moment in range(MOMENTS):
            process = self.start(*line)
            time.sleep(whole * moment / MOMENTS)
            process.kill()
            process.communicate(timeout=harness.LIMIT)
            self.nobody_is_left(60)

    def test_any_process_is_killed_at_any_moment(self):
        """Controller, ssh, agent, guard, runner or rank: nothing is left of it,
        and a run without one of its ranks has not succeeded."""
        began = time.monotonic()
        self.run_on(0, "sleep 1")
        whole = max(1.0, time.monotonic() - began)
        line = self.line("sleep 1", more="timeouts: {stop_grace: 1s}")
        dice, killed = random.Random(KILLS), {}
        for moment in range(KILLS):
            process = self.start(*line)
            time.sleep(whole * moment / KILLS)
            ranks = processes_with(self.marker)
            victim = dice.choice(sorted(self.processes_of_a_run() | ranks) or
                                 [process.pid])
            name = harness.name_of(victim)
            with contextlib.suppress(ProcessLookupError):
                os.kill(victim, signal.SIGKILL)
                killed[name] = killed.get(name, 0) + 1
            _, err = process.communicate(timeout=harness.LIMIT)
            self.nothing_is_left()
            if victim == process.pid:
                continue
            if process.returncode == 0:
                self.assertEqual(self.results()["status"], "succeeded")
                self.assertEqual([rank["state"]
                                  for rank in self.results()["ranks"]],
                                 4 * ["succeeded"], err)
        print(f"killed {killed}", file=sys.stderr)


class Spares(Hosts):
    MORE = ("nodes: 2\nspare_nodes: 1\nrestart: {max: 2, backoff: 0}\n"
            "results: {fields: {r: {type: integer}}, distinct: [r]}")
    SCRIPT = ('echo "{\\"r\\": $RANK}" > "$JOBRUN_RESULT_FILE"; '
              "test $JOBRUN_ATTEMPT != 0 || exec sleep 1000")

    def session_of(self, host):
        """The sshd of the connection that has the agent of a host, which has its
        name in what it was told; here by the ranks below it."""
        for pid in processes_with(self.marker):
            with contextlib.suppress(OSError):
                data = pathlib.Path(f"/proc/{pid}/environ").read_bytes()
                words = dict(pair.split(b"=", 1)
                             for pair in data.split(b"\0") if b"=" in pair)
                if words.get(b"NODE_RANK") == str(host).encode():
                    return self.above(pid)
        self.fail(f"no ranks on node {host}")

    def above(self, pid):
        while harness.name_of(pid) != "sshd":
            stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
            pid = int(stat.rpartition(") ")[2].split()[1])
            self.assertGreater(pid, 1)
        return pid

    def expect_all_on(self, *hosts):
        results = self.results()
        self.assertEqual((results["status"], results["attempt"]),
                         ("succeeded", 1))
        self.assertEqual([(rank["host"], rank["result"]["r"])
                          for rank in results["ranks"]],
                         [(host, 2 * node + local)
                          for node, host in enumerate(hosts)
                          for local in (0, 1)])

    def test_a_spare_takes_the_place_of_a_host(self):
        """Whose connection was killed; its ranks end, too."""
        process = self.begin(self.SCRIPT, hosts="n1,n2,n3", more=self.MORE)
        os.kill(self.session_of(1), signal.SIGKILL)
        _, err = process.communicate(timeout=harness.LIMIT)
        self.assertEqual(process.returncode, 0, err)
        self.assertIn("the spare n3 takes the place of node 1 (n2): ", err)
        self.expect_all_on("n1", "n3")
        entry, = self.results()["left_out"]
        self.assertEqual(entry["host"], "n2")
        self.nobody_is_left()


class Sweeps(Hosts):
    """Cells on hosts, which have one ssh each."""

    def cells(self):
        path = self.folder / "runs" / "latest" / "sweep.json"
        return [cell["status"] for cell in json.loads(path.read_text())["cells"]]

    def sweep(self, script, cells=16, words=()):
        return self.line(script, hosts="n[1-4]", words=(
            "--sweep", f"env.N=0..{cells - 1}", *words))

    def await_end_of_a_cell(self):
        journal = self.folder / "runs" / "latest" / "journal.jsonl"
        until = time.monotonic() + harness.LIMIT
        while "cell_ended" not in journal.read_text():
            self.assertLess(time.monotonic(), until)
            time.sleep(0.02)

    def test_all_cells_on_all_hosts(self):
        log = self.folder / "log"
        done = self.expect(self.jobrun(*self.sweep(
            f'echo $N $NODE_RANK $SSH_CONNECTION >> "{log}"')), 0)
        self.assertIn("16 of 16 cells delivered", done.stderr)
        self.nothing_is_left()
        lines = [line.split() for line in log.read_text().splitlines()]
        self.assertEqual(sorted(int(line[0]) for line in lines),
                         [cell for cell in range(16) for _ in range(2)])
        self.assertEqual({line[1] for line in lines}, {"0"})
        self.assertLessEqual(len({line[3] for line in lines}), 4)

    def test_hosts_that_do_not_see_the_folder(self):
        """What cells leave there comes back, and the rest of a log by ssh."""
        runs, disk = self.folder / "runs", self.folder / "disk"
        runs.mkdir()
        disk.mkdir()
        program = self.write(
            "with-disk", f"#!/bin/sh\nexec unshare -m sh -c 'mount --bind \"$1\" "
            f"\"$2\" && shift 2 && exec \"$@\"' sh '{disk}' '{runs}' "
            f"'{harness.JOBRUN}' \"$@\"\n")
        program.chmod(0o700)
        if subprocess.run(["unshare", "-m", "mount", "--bind", disk, runs],
                          capture_output=True).returncode != 0:
            self.skipTest("no mount namespace for a folder of its own")
        self.expect(self.jobrun(*self.sweep(
            "seq 30000", words=("-s", f"engine.ssh.program='{program}'"))), 0)
        self.assertEqual(self.cells(), ["succeeded"] * 16)
        self.nothing_is_left()
        sweep = (runs / "latest").resolve()
        log = sweep / "cells/0003/attempt_0/0/stdout.log"
        self.assertTrue(log.read_text().startswith("[jobrun: the first "))
        shutil.copytree(disk / sweep.name, sweep, dirs_exist_ok=True)
        shown = self.expect(self.jobrun("logs", "latest/3"), 0)
        self.assertEqual(shown.stderr, "")
        self.assertEqual(log.read_text(),
                         "".join(f"{i}\n" for i in range(1, 30001)))

    def test_a_connection_that_breaks_within_a_sweep(self):
        """The cells of that host are lost, and all others deliver."""
        gate = self.folder / "gate"
        process = self.start(*self.sweep(
            f'until [ -e "{gate}" ]; do sleep 0.05; done'))
        until = time.monotonic() + harness.LIMIT
        while len(self.sessions()) < 4:
            self.assertLess(time.monotonic(), until)
            time.sleep(0.05)
        os.kill(self.sessions()[0], signal.SIGKILL)
        self.await_end_of_a_cell()  # since its host is lost
        gate.touch()
        _, err = process.communicate(timeout=harness.LIMIT)
        self.assertEqual(process.returncode, 7, err)
        self.assertEqual(set(self.cells()), {"succeeded", "lost"})
        self.nothing_is_left()
        self.expect(self.jobrun(*self.sweep(
            f'until [ -e "{gate}" ]; do sleep 0.05; done',
            words=("--resume",))), 0)
        self.assertEqual(set(self.cells()), {"succeeded"})

    def test_the_leader_is_killed_at_any_moment(self):
        began = time.monotonic()
        self.expect(self.jobrun(*self.sweep("true", 8)), 0)
        whole = max(1.0, time.monotonic() - began)
        shutil.rmtree(self.folder / "runs")
        line = self.sweep("sleep 0.2", 8)
        for moment in range(SWEEP_KILLS):
            words = ("--resume",) if (self.folder / "runs").exists() else ()
            process = self.start(*line, *words)
            time.sleep(whole * moment / SWEEP_KILLS)
            process.kill()
            process.communicate(timeout=harness.LIMIT)
            self.nothing_is_left()
        self.expect(self.jobrun(*line, "--resume"), 0)
        self.assertEqual(set(self.cells()), {"succeeded"})


if __name__ == "__main__":
    unittest.main()
