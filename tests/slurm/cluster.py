#!/usr/bin/env python3
"""A Slurm cluster of a test's own: munged, slurmctld and as many slurmd as it
wants nodes, all on this machine and on its loopback, as root or as the user
who runs the tests, without systemd and without cgroups.

    with Cluster(4) as slurm:
        slurm.call("srun", "-N2", "hostname")

or, by hand, a command on a cluster (a shell, where none is named):

    cluster.py [-n NODES] [COMMAND...]

A guard keeps the daemons: a process of its own, which inherits whatever they
leave behind. When the test is over, however that came about, the guard reads
the end of its standard input and kills everything below it.

All nodes share this machine's host name, addresses and ports: what tells them
apart is SLURMD_NODENAME, n1, n2, ... Each has 4 CPUs, whatever the machine has,
and 4 accelerators, which are none (--gpus-per-node=4).

Within a network namespace of its own (`unshare -n`, as root) a cluster can have
one node, the last, that is far: in another namespace, behind a link that can be
cut.
"""
import ctypes
import itertools
import json
import os
import pathlib
import pwd
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

LIMIT = 120  # seconds that anything may take, on a busy machine
NEEDED = ("munged", "mungekey", "slurmctld", "slurmd", "srun", "sbatch",
          "scontrol")
PORTS = 200  # of a cluster: the controller, the nodes, srun's, and at the end
OWN_PORTS = 50  # those that its tests may use
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
HERE, FAR = "10.77.0.1", "10.77.0.2"  # addresses, where a node is far
DEVICES = "/dev/full,/dev/random,/dev/urandom,/dev/zero"

CONFIG = """ClusterName=test
SlurmctldHost=localhost({here})
SlurmctldPort={port}
SrunPortRange={srun_first}-{srun_last}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={folder}/munge/socket
{listening}
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/builtin
SwitchType=switch/none
MpiDefault=none
SlurmdParameters=config_overrides
PlugStackConfig={folder}/plugstack.conf
TmpFS={folder}/tmp/%n
SlurmdSpoolDir={folder}/spool/%n
SlurmdPidFile={folder}/run/%n.pid
SlurmdLogFile={folder}/log/%n.log
StateSaveLocation={folder}/state
SlurmctldPidFile={folder}/run/slurmctld.pid
SlurmctldLogFile={folder}/log/slurmctld.log
ReturnToService=2
GresTypes=gpu
{settings}
{node_lines}
PartitionName=debug Nodes=ALL Default=YES MaxTime=INFINITE State=UP
{partitions}
"""

NODE = ("NodeName={name} NodeHostname=localhost NodeAddr={address} Port={port} "
        "CPUs=4 RealMemory=2000 Gres=gpu:fake:4 State=UNKNOWN")

SETTINGS = {"KillWait": 5, "SlurmdTimeout": 30, "MinJobAge": 600,
            "InactiveLimit": 0, "KillOnBadExit": 0, "WaitTime": 0}


def missing():
    """The programs that are not here, and without which there is no cluster."""
    return [name for name in NEEDED
            if shutil.which(name, path=SYSTEM_PATH) is None]


def find(name):
    return shutil.which(name, path=SYSTEM_PATH)


# The guard's side.

def prctl(option, value):
    ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def die_with_parent():
    prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def below(top):
    """The processes below one, and what they are: {pid: words}."""
    parents = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat", "rb") as file:
                rest = file.read().rpartition(b") ")[2].split()
        except OSError:
            continue
        if rest[0] != b"Z":
            parents[int(entry)] = int(rest[1])
    found = {}
    grown = {top}
    while grown:
        grown = {pid for pid, parent in parents.items()
                 if parent in grown and pid not in found}
        for pid in grown:
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    found[pid] = file.read().replace(b"\0", b" ").decode(
                        errors="replace").strip()
            except OSError:
                found[pid] = ""
    return found


def reap(*_):
    """What slurmd's steps leave: they are inherited with their ends untold."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0] != 0:
            pass
    except ChildProcessError:
        pass


def kill_all_below():
    """Kill and reap until there is no child left."""
    until = time.monotonic() + LIMIT
    while time.monotonic() < until:
        for pid in below(os.getpid()):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        try:
            while os.waitpid(-1, os.WNOHANG)[0] != 0:
                pass
        except ChildProcessError:
            return
        time.sleep(0.005)
    print(f"cluster: still there: {below(os.getpid())}", file=sys.stderr)


def lease_ports():
    """The first of PORTS ports below the ephemeral ones, and what holds them
    against other clusters: a socket in the abstract namespace."""
    blocks = list(range(15000, 32000, PORTS))
    random.shuffle(blocks)
    for first in blocks:
        held = socket.socket(socket.AF_UNIX)
        try:
            held.bind(f"\0cluster-of-a-test:{first}")
            for port in range(first, first + PORTS):
                with socket.socket() as trial:
                    trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                    trial.bind(("127.0.0.1", port))
        except OSError:
            held.close()
            continue
        return first, held
    raise SystemExit("cluster: no free ports")


def no_cgroups():
    """The plugin that wants no control groups, which a machine may lack: the
    one by that name, or in a Slurm that has none yet (before 23.11) version
    1's, which looks for them only as soon as something is to be limited."""
    told = subprocess.run([find("slurmd"), "-V"], capture_output=True,
                          text=True, timeout=LIMIT, check=True).stdout
    version = tuple(map(int, told.split()[-1].split(".")[:2]))
    return "disabled" if version >= (23, 11) else "cgroup/v1"


def listening():
    """Slurm listens at the address that the machine's own name stands for, or,
    where that is none of the loopback's, at all addresses."""
    try:
        own = socket.gethostbyname(socket.gethostname())
    except OSError:
        own = ""
    return ("CommunicationParameters=NoCtldInAddrAny,NoInAddrAny"
            if own.startswith("127.") else "")


class Guard:
    def __init__(self, nodes, settings, far):
        self.nodes = nodes
        self.partitions = settings.pop("partitions", {})
        self.settings = {**SETTINGS, **settings}
        self.daemons = {}
        self.far = far
        self.here = HERE if far else "127.0.0.1"
        if far:
            self.lay_link()

    def lay_link(self):
        """The network namespace of the far node: that of a process in it. It
        has `far` as its end of the link, and `near` is here."""
        self.home = subprocess.Popen(
            [find("unshare"), "-n", "cat"], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, preexec_fn=die_with_parent)
        self.home.stdin.write(b"\n")
        self.home.stdin.flush()
        self.home.stdout.read(1)  # it is there
        self.daemons["home"] = self.home
        there = [find("nsenter"), "-n", "-t", str(self.home.pid)]
        subprocess.run([find("ip"), "link", "delete", "near"],
                       stderr=subprocess.DEVNULL, timeout=LIMIT)
        for words in (
                [find("ip"), "link", "set", "lo", "up"],
                [find("ip"), "link", "add", "near", "type", "veth", "peer",
                 "name", "far", "netns", str(self.home.pid)],
                [find("ip"), "address", "add", f"{HERE}/24", "dev", "near"],
                [find("ip"), "link", "set", "near", "up"],
                [*there, find("ip"), "link", "set", "lo", "up"],
                [*there, find("ip"), "address", "add", f"{FAR}/24", "dev",
                 "far"],
                [*there, find("ip"), "link", "set", "far", "up"]):
            subprocess.run(words, check=True, timeout=LIMIT)

    def node_lines(self, port):
        return "\n".join(NODE.format(
            name=name, port=port + i + 1,
            address=FAR if self.is_far(name) else self.here)
            for i, name in enumerate(self.names()))

    def is_far(self, node):
        return self.far and node == self.names()[-1]

    def configure(self, folder, port):
        self.folder = folder
        for name in ("munge", "spool", "run", "log", "state", "tmp"):
            (folder / name).mkdir(mode=0o755)
        for node in self.names():
            (folder / "tmp" / node).mkdir(mode=0o777)
        (folder / "plugstack.conf").touch(mode=0o644)
        (folder / "cgroup.conf").write_text(f"CgroupPlugin={no_cgroups()}\n")
        (folder / "gres.conf").write_text(
            f"NodeName=n[1-{self.nodes}] Name=gpu Type=fake File={DEVICES}\n")
        (folder / "slurm.conf").write_text(CONFIG.format(
            folder=folder, port=port, here=self.here,
            listening="" if self.far else listening(),
            user=pwd.getpwuid(os.geteuid()).pw_name,
            node_lines=self.node_lines(port),
            srun_first=port + self.nodes + 1,
            srun_last=port + PORTS - OWN_PORTS - 1,
            partitions="\n".join(
                f"PartitionName={name} Nodes=ALL State=UP {words}"
                for name, words in self.partitions.items()),
            settings="\n".join(f"{key}={value}" for key, value
                               in self.settings.items())))
        self.environment = {"SLURM_CONF": str(folder / "slurm.conf")}
        self.own_ports = port + PORTS - OWN_PORTS

    def names(self):
        return [f"n{i + 1}" for i in range(self.nodes)]

    def call(self, *words):
        return subprocess.run(
            [find(words[0]), *words[1:]], capture_output=True, text=True,
            timeout=LIMIT, stdin=subprocess.DEVNULL,
            env={**os.environ, **self.environment})

    def start(self, name, *words):
        with open(self.folder / "log" / f"{name}.out", "ab") as log:
            self.daemons[name] = subprocess.Popen(
                [find(words[0]), *map(str, words[1:])], stdout=log, stderr=log,
                stdin=subprocess.DEVNULL, preexec_fn=die_with_parent,
                start_new_session=True,
                env={**os.environ, **self.environment})

    def start_munged(self):
        munge = self.folder / "munge"
        subprocess.run([find("mungekey"), "-c", "-k", munge / "key"],
                       check=True, timeout=LIMIT)
        self.start("munged", "munged", "--force", "--foreground",
                   f"--socket={munge}/socket", f"--key-file={munge}/key",
                   f"--log-file={munge}/log", f"--pid-file={munge}/pid",
                   f"--seed-file={munge}/seed", "--origin=127.0.0.1")

    def start_node(self, node):
        enter = ["nsenter", "-n", "-t", self.home.pid, find("slurmd")] \
            if self.is_far(node) else ["slurmd"]
        self.start(node, *enter, "-D", "-N", node,
                   "-f", self.folder / "slurm.conf")

    def start_all(self):
        self.start_munged()
        self.wait(lambda: (self.folder / "munge" / "socket").exists())
        self.start("slurmctld", "slurmctld", "-D",
                   "-f", self.folder / "slurm.conf")
        for node in self.names():
            self.start_node(node)
        self.wait(self.all_idle)

    def all_idle(self):
        done = self.call("sinfo", "-h", "-N", "-p", "debug", "-o", "%t")
        return done.returncode == 0 and \
            done.stdout.split() == ["idle"] * self.nodes

    def wait(self, there):
        """Until it is there; an error where a daemon ends before."""
        until = time.monotonic() + LIMIT
        while not there():
            for name, daemon in self.daemons.items():
                if daemon.poll() is not None:
                    raise RuntimeError(f"{name} ended")
            if time.monotonic() > until:
                raise RuntimeError(f"not there after {LIMIT} s")
            time.sleep(0.02)

    def tell_logs(self):
        for log in sorted(self.folder.glob("log/*")):
            lines = log.read_text(errors="replace").splitlines()[-20:]
            for line in lines:
                print(f"{log.name}: {line}", file=sys.stderr)

    def serve(self):
        """The cluster is there from the line on standard output to the end of
        standard input. The name of a node starts its slurmd anew."""
        print(json.dumps({"folder": str(self.folder), "guard": os.getpid(),
                          "environment": self.environment,
                          "ports": self.own_ports,
                          "daemons": {name: daemon.pid for name, daemon
                                      in self.daemons.items()}}), flush=True)
        signal.signal(signal.SIGCHLD, reap)
        for line in sys.stdin:
            node = line.strip()
            self.start_node(node)
            print(self.daemons[node].pid, flush=True)


def keep(nodes, settings, far):
    prctl(36, 1)  # PR_SET_CHILD_SUBREAPER
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(1))
    for attempt in range(3):  # someone may take a port meanwhile
        port, held = lease_ports()
        folder = pathlib.Path(tempfile.mkdtemp(prefix="slurm-"))
        folder.chmod(0o755)
        guard = Guard(nodes, settings, far)
        try:
            guard.configure(folder, port)
            guard.start_all()
            guard.serve()
            return 0
        except RuntimeError as error:
            print(f"cluster: attempt {attempt + 1}: {error}", file=sys.stderr)
            guard.tell_logs()
        finally:
            kill_all_below()
            held.close()
            shutil.rmtree(folder, ignore_errors=True)
    return 1


# The test's side.

def clean():
    """The environment without another allocation's variables."""
    return {name: value for name, value in os.environ.items()
            if not name.startswith(("SLURM_", "SLURMD_", "SBATCH_", "SRUN_",
                                    "PMI", "MUNGE_"))}


class Cluster:
    def __init__(self, nodes=4, far=False, **settings):
        """`settings` are lines of slurm.conf in place of SETTINGS, but for
        `partitions`, which are beside the default one: {name: words}. With `far`
        the last node is behind a link."""
        self.nodes = nodes
        self.far = far
        self.settings = settings

    def __enter__(self):
        self.keeper = subprocess.Popen(
            [sys.executable, __file__, "--keep", str(self.nodes),
             json.dumps(self.settings), json.dumps(self.far)], stdin=subprocess.PIPE, env=clean(),
            stdout=subprocess.PIPE, text=True, start_new_session=True)
        line = self.keeper.stdout.readline()
        if not line:
            self.__exit__()
            raise RuntimeError("the cluster did not start")
        told = json.loads(line)
        self.folder = pathlib.Path(told["folder"])
        self.guard = told["guard"]
        self.ports = itertools.cycle(range(told["ports"],
                                           told["ports"] + OWN_PORTS))
        self.daemons = told["daemons"]
        self.environment = {**clean(), **told["environment"]}
        return self

    def __exit__(self, *_):
        self.keeper.stdin.close()
        self.keeper.wait(LIMIT)
        self.keeper.stdout.close()

    def start(self, *words, env=None, **options):
        """A command on the cluster, as a Popen: the caller's to end."""
        return subprocess.Popen(
            list(map(str, words)), text=True, preexec_fn=die_with_parent,
            env={**self.environment, **(env or {})},
            **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
               "stderr": subprocess.PIPE, **options})

    def call(self, *words, env=None, **options):
        """A command on the cluster, to its end."""
        return subprocess.run(
            list(map(str, words)), text=True, capture_output=True,
            preexec_fn=die_with_parent,
            env={**self.environment, **(env or {})},
            **{"stdin": subprocess.DEVNULL, "timeout": LIMIT, **options})

    def ask(self, *words):
        """What a command prints that has to succeed."""
        done = self.call(*words)
        if done.returncode != 0:
            raise RuntimeError(f"{words}: {done.stdout}{done.stderr}")
        return done.stdout

    def lease_port(self):
        """A port that no other cluster's tests use."""
        return next(self.ports)

    def job(self, number):
        """What scontrol says of a job: {"JobState": ...}."""
        words = self.ask("scontrol", "-o", "show", "job", number).split()
        return dict(word.split("=", 1) for word in words if "=" in word)

    def await_job(self, number, *states):
        """The job, once it is in one of these states."""
        return self.wait(lambda: (found := self.job(number))["JobState"]
                         in states and found, f"job {number} {states}")

    def await_idle(self):
        """Until all nodes are, and nothing of any job is left on them. One that
        was cut off is only asked again in a while."""
        self.wait(lambda: self.ask("sinfo", "-h", "-N", "-p", "debug", "-o", "%t").split() ==
                  ["idle"] * self.nodes, "idle nodes", 4 * LIMIT)

    def strays(self):
        """What is left below the daemons, but for these: {pid: words}."""
        own = set(self.daemons.values())
        return {pid: words for pid, words in below(self.guard).items()
                if pid not in own and "slurmscriptd" not in words}

    def await_gone(self):
        """Until the jobs have left no process at all."""
        try:
            self.wait(lambda: not self.strays(), "end")
        except RuntimeError as error:
            raise RuntimeError(f"jobs left {self.strays()}") from error

    @staticmethod
    def wait(there, what, limit=LIMIT):
        """What `there` returns, once that is something. It is asked less often
        the longer it takes: most questions read all of /proc, or ask Slurm."""
        begun = time.monotonic()
        while not (found := there()):
            waited = time.monotonic() - begun
            if waited > limit:
                raise RuntimeError(f"no {what} within {limit} s")
            time.sleep(min(max(0.02, waited / 20), 0.5))
        return found

    @staticmethod
    def cut_link():
        """Between the far node and all others."""
        subprocess.run(["ip", "link", "set", "near", "down"], check=True)

    @staticmethod
    def mend_link():
        subprocess.run(["ip", "link", "set", "near", "up"], check=True)

    def node_processes(self, node):
        """The pids of a node's steps and of what runs in them."""
        log = str(self.folder / "log" / f"{node}.log")
        found = set()
        for pid in self.strays():
            try:
                links = [os.readlink(f"/proc/{pid}/fd/{number}")
                         for number in os.listdir(f"/proc/{pid}/fd")]
            except OSError:
                continue
            if log in links:  # a slurmstepd of this node's slurmd
                found |= {pid, *below(pid)}
        return found

    def lose(self, node):
        """The node's sudden end: slurmd, its steps, what runs in them. They stop
        before they are killed, so that none tells of another's end."""
        pids = [self.daemons.pop(node), *self.node_processes(node)]
        for sig in (signal.SIGSTOP, signal.SIGKILL):
            for pid in pids:
                try:
                    os.kill(pid, sig)
                except ProcessLookupError:
                    pass

    def bring_back(self, *nodes):
        for node in nodes:
            self.keeper.stdin.write(f"{node}\n")
            self.keeper.stdin.flush()
            self.daemons[node] = int(self.keeper.stdout.readline())
        self.await_idle()


def main():
    words = sys.argv[1:]
    if words[:1] == ["--keep"]:
        return keep(int(words[1]), *map(json.loads, words[2:]))
    nodes = 4
    if words[:1] == ["-n"]:
        nodes = int(words[1])
        words = words[2:]
    if missing():
        print(f"cluster: not installed: {' '.join(missing())}",
              file=sys.stderr)
        return 77
    with Cluster(nodes) as slurm:
        return subprocess.run(words or [os.environ.get("SHELL", "/bin/sh")],
                              preexec_fn=die_with_parent,
                              env=slurm.environment).returncode


if __name__ == "__main__":
    sys.exit(main())
