"""Jobs that are built to fail in a known way: what results.json says is held
against who really was first.

    test_first_failures.py

COUNT   jobs in all (one of each family), of which each family has as many
SEED    what the dice of each job begin with (1)
LOAD    busy loops beside them (0)
AT_ONCE jobs at a time (2)
FAMILY  a regular expression for the names of families (all)
KEEP    a folder where the folders of wrong jobs are kept

One rank, the culprit, fails when all of them are there. The others notice, in a
way that is theirs alone, and fail because of it. What is right depends on what
can be known, which is the class of a family:

order   The culprit began to die, or its exception was announced, before anyone
        could notice: there is evidence for it. It has to be root_cause.rank.
        Only where an exception is followed by deaths within 20 ms may one of
        these deaths be named first, if the culprit is told together with it.
        Between deaths the evidence is exact, so that "together" is no answer:
        at most 1 in 20 of those jobs may be told so where more than two ranks
        failed. Of ranks of two nodes, whose clocks differ, either may be named
        if the culprit is told together with it. Wrong: 1 of 200.
early   The culprit lets its peers go before its failure is visible, or has no
        life line, and at least two peers fail in one and the same way. It has
        to be root_cause.rank, by being the odd one out. Wrong: 1 of 20.
pair    The same with two ranks, where nobody can know, if the culprit needs
        5 ms at most: it is root_cause.rank, or it is told together with it.
        Wrong: 1 of 20, which is what a busy machine may do to the 20 ms that
        the stop is held for.

To name a rank at random, the last that was reaped, or whoever died by a signal
fails `order`, which has all of these both ways round; to tell all together
fails it by its second bound and `early` by its first. How the rank that is named
ended has to be told as it was, and nothing may be left of a job.

A bound holds for a class as it is where that is at least three jobs. A smaller
sample, and each family by itself, may have as many as a program that is exactly
at the bound exceeds once in a thousand samples: for 30 jobs at 1 of 200 that is
2, and a program that is wrong in a tenth of them fails most of the time, one
that is wrong in a third always. The quick run shows that; the long ones measure.
"""
import collections
import concurrent.futures
import json
import math
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import unittest

import harness

SEED = os.environ.get("SEED", "1")
LOAD = int(os.environ.get("LOAD", "0"))
AT_ONCE = int(os.environ.get("AT_ONCE", "2"))
FAMILY = os.environ.get("FAMILY", "")
KEEP = os.environ.get("KEEP")
PEER = os.environ["PEER"]
BOUNDS = {"order": 1 / 200, "early": 1 / 20, "pair": 1 / 20}
TOGETHER = 1 / 20

# The star in Python: as a function, a script, a module or a program.
STAR = '''
import atexit, contextlib, os, signal, socket, sys, threading, time

links, words = [], {}

def take_time(name):
    time.sleep(int(words.get(name, 0)) / 1e6)

def let_go():
    for link in links:
        link.close()

def clean_up():
    let_go()
    take_time("linger")

class Last:  # what a finished interpreter still has to free
    def __del__(self, sleep=time.sleep):
        sleep(int(words["linger"]) / 1e6)

def connect_to(at):
    link = socket.socket(socket.AF_UNIX)
    link.connect(at)
    return link

def connect(at):
    while True:
        try:
            return connect_to(at)
        except OSError:
            time.sleep(0.005)

def fail():
    raise ValueError(f"loss is NaN at step {os.getpid()}")

def fail_under_with():
    with contextlib.ExitStack() as stack:
        for link in links:
            stack.enter_context(link)
        fail()

def refused():
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        socket.create_connection(closed.getsockname(), 5)

def timed_out():
    one, other = socket.socketpair()
    one.settimeout(0.01)
    one.recv(1)

def die(how):
    me = os.getpid()
    if how == "segv":
        os.kill(me, signal.SIGSEGV)
    elif how == "kill":
        os.kill(me, signal.SIGKILL)
    elif how == "other":
        os.spawnlp(os.P_NOWAIT, "kill", "kill", "-KILL", str(me))
        while True:
            signal.pause()
    elif how == "abort":
        os.abort()
    elif how == "exit":
        os._exit(3)
    elif how == "leave":
        os._exit(0)
    elif how == "sysexit":
        sys.exit(3)
    elif how == "sysleave":
        sys.exit(0)
    elif how == "raise":
        fail()
    elif how == "refused":
        refused()
    elif how == "timeout":
        timed_out()
    elif how == "with":
        fail_under_with()
    elif how == "finally":
        try:
            fail()
        finally:
            clean_up()
    elif how == "atexit":
        atexit.register(clean_up)
        fail()
    elif how == "del":
        sys.modules["last"] = Last()
        fail()
    elif how == "exit_atexit":
        atexit.register(clean_up)
        sys.exit(3)
    elif how == "thread":
        threading.Thread(target=time.sleep,
                         args=(int(words["linger"]) / 1e6,)).start()
        fail_under_with()
    elif how == "cleaned":
        clean_up()
        sys.exit(3)
    raise AssertionError(how)

def react(how):
    if how == "own":
        raise RuntimeError("the hub has gone")
    if how == "eof":
        raise EOFError("the hub has closed the connection")
    if how == "raw":
        raise ConnectionResetError(104, "Connection reset by peer")
    if how == "short":
        raise AssertionError(f"batch {os.environ['RANK']} is short")
    if how == "exit7":
        os._exit(7)
    if how == "exit1":
        print("the hub has gone", file=sys.stderr)
        sys.exit(1)
    if how == "abort":
        os.abort()
    if how == "pipe":
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        one, other = socket.socketpair()
        other.close()
        one.send(b"x")
    raise AssertionError(how)

def wait_for_end(kind, link, hub):
    if kind == "flock":
        import fcntl
        fcntl.flock(os.open("lock", os.O_RDWR), fcntl.LOCK_EX)
    elif kind == "pidfd":
        import select
        fd = os.pidfd_open(hub)
        select.select([fd], [], [])
    else:
        try:
            link.recv(1)
        except OSError:
            pass

def fail_with(links, death):  # which are closed with this frame
    die(death)

def main(hub, kind, death, reaction, *more):
    words.update((word + "=").split("=")[:2] for word in more)
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    if rank != int(hub):
        links.append(connect("hub"))
        hub_pid = int(links[0].recv(20))
        links[0].send(b"xx" if "unread" in words else b"x")
        wait_for_end(kind, links[0], hub_pid)
        take_time("delay")
        react(reaction)
    if kind == "flock":
        import fcntl
        lock = os.open("lock", os.O_RDWR | os.O_CREAT)
        fcntl.flock(lock, fcntl.LOCK_EX)
    server = socket.socket(socket.AF_UNIX)
    server.bind("hub")
    server.listen(world)
    links.extend(server.accept()[0] for _ in range(world - 1))
    for link in links:
        link.send(str(os.getpid()).encode())
    for link in links:
        link.recv(1)
    time.sleep(0.002)
    if "warn" in words:
        print("warning: connection reset by peer, again", file=sys.stderr)
    if "local" in words:
        own = links[:]
        links.clear()
        fail_with(own, death)
    die(death)

if __name__ == "__main__":
    main(*sys.argv[1:])
'''

# What is told of the culprit's end: kind, code, signal.
BY_SEGV, BY_KILL = ("signal", None, "SIGSEGV"), ("signal", None, "SIGKILL")
BY_TERM = ("signal", None, "SIGTERM")
BY_ABORT, BY_3 = ("signal", None, "SIGABRT"), ("exit", 3, None)
RAISED, LEFT = ("exit", 1, None), ("result", 0, None)
ENDS = {"segv": BY_SEGV, "kill": BY_KILL, "other": BY_KILL, "term": BY_TERM,
        "abort": BY_ABORT, "terminate": BY_ABORT, "exit": BY_3, "said": BY_3,
        "slow": BY_3, "sysexit": BY_3, "cleaned": BY_3, "exit_atexit": BY_3,
        "leave": LEFT, "sysleave": LEFT}  # and an exception, of all others
DIES = ("segv", "kill", "other", "abort", "term", "terminate", "exit", "said",
        "slow", "leave")
THREE = ("segv", "abort", "exit")
LINKS = ("unix", "tcp")
C_WORLDS = (2, 3, 4, 4, 8, 8, 16, 32, 64)
PYTHON_WORLDS = (2, 3, 4, 8)
FUNCTIONS = ("spawn", "fork", "forkserver")
SCRIPTS, MODULES = ("script", "forked script"), ("module", "forked module")
PYTHON = (*FUNCTIONS, *SCRIPTS, *MODULES)
LATER = ("delay=60000",)

# name, class, forms, links, deaths, reactions, words, more of the spec. Each
# job takes one of each by its dice.
Family = collections.namedtuple(
    "Family", "name bound forms links deaths reactions words spec",
    defaults=((), {}))
C, SH = ("c",), ("sh",)
NODES = {"nodes": 2}
FAMILIES = [Family(*row) for row in (
    # Deaths, and deaths that follow.
    ("segv, exits", "order", C, LINKS, ("segv",), ("exit", "said", "exit7")),
    ("segv, aborts", "order", C, LINKS, ("segv",), ("abort",)),
    ("kill, pipes", "order", C, LINKS, ("kill",), ("pipe",)),
    ("abort, exits", "order", C, LINKS, ("abort",), ("exit", "said", "told")),
    ("abort, aborts", "order", C, LINKS, ("abort",), ("abort",)),
    ("abort, pipes", "order", C, LINKS, ("abort",), ("pipe",)),
    ("throw, exits", "order", C, LINKS, ("terminate",), ("exit", "said")),
    ("throw, segvs", "order", C, LINKS, ("terminate",), ("segv",)),
    ("exit, exits", "order", C, LINKS, ("exit",), ("exit", "exit7", "told")),
    ("exit, aborts", "order", C, LINKS, ("exit",), ("abort", "segv", "pipe")),
    ("slow, aborts", "order", C, LINKS, ("slow",), ("abort", "exit")),
    ("foreign kill", "order", C, LINKS, ("other",), ("exit", "abort", "pipe")),
    ("chain", "order", C, ("chain",), THREE,
     ("exit", "abort", "exit7")),
    ("slow chain", "order", C, ("chain",), THREE, ("exit", "abort"),
     ("delay=3000",)),
    ("mixture", "order", C, LINKS, (*DIES[:4], "term", "exit"),
     ("exit+abort+pipe", "abort+exit7+segv+told")),
    ("others go on", "order", C, LINKS, (*DIES[:4], "term", "exit"),
     ("wait+exit", "well", "stopped", "stubborn+abort", "well+exit7")),
    ("one has ended", "order", C, LINKS, THREE, ("exit", "abort"), ("done",)),
    ("file lock", "order", C, ("flock", "fcntl"), THREE,
     ("exit", "abort", "exit7")),
    ("pidfd", "order", C, ("pidfd",), THREE,
     ("exit", "abort", "exit7")),
    ("threads", "order", C, LINKS, THREE,
     ("exit", "abort"), ("threads",)),
    ("warned, exits", "order", C, LINKS, ("said",), ("said", "told"), ("warn",)),
    ("command in Python", "order", ("command",), ("unix",),
     THREE, ("exit7", "abort", "pipe")),
    # Where ranks run, and where what they write goes.
    ("two nodes", "order", C, LINKS, THREE,
     ("exit", "abort"), (), NODES),
    ("redirects", "order", C, LINKS, THREE,
     ("said", "abort"), (), {"redirects": "all"}),
    ("not captured", "order", C, LINKS, THREE,
     ("said", "abort"), (), {"redirects": "none", "tee": "none"}),
    ("two nodes, dies", "order", FUNCTIONS, ("unix",), THREE, ("own", "raw"), (),
     NODES),
    ("two nodes, raises", "order", FUNCTIONS, ("unix",), ("raise",),
     ("own", "exit7"), (), NODES),
    # What follows the cause.
    ("exit_status: rank", "order", C, LINKS, THREE,
     ("exit", "abort"), (), {"exit_status": "rank"}),
    ("restart.on", "order", C, LINKS, ("segv",), ("exit", "abort"), (),
     {"restart": {"max": 1, "backoff": 0, "on": ["signal:SIGSEGV"],
                  "never": ["exit:1", "signal:SIGABRT"]}}),
    # A death, and exceptions.
    ("function dies", "order", FUNCTIONS, ("unix",), (*DIES[:4], "exit"),
     ("own", "raw", "eof")),
    ("script dies", "order", SCRIPTS + MODULES, ("unix",),
     (*DIES[:4], "exit"), ("own", "raw", "eof")),
    ("function dies, locks", "order", FUNCTIONS, ("flock", "pidfd"),
     THREE, ("own",)),
    ("function dies, exits", "order", FUNCTIONS, ("unix",),
     ("abort", "exit"), ("exit7", "pipe")),
    # An exception, and deaths or exceptions.
    ("raises, frees", "order", PYTHON, ("unix",), ("raise",),
     ("exit7", "abort", "own"), ("local",)),
    ("raises, cleans at exit", "order", PYTHON, ("unix",), ("atexit",),
     ("own", "raw", "exit7"), ("linger",)),
    ("raises, frees late", "order", PYTHON, ("unix",), ("del",),
     ("own", "raw", "exit7"), ("local", "linger")),
    ("function raises, deaths", "order", FUNCTIONS, ("unix",), ("raise",),
     ("exit7", "abort", "pipe")),
    ("script raises, deaths", "order", SCRIPTS, ("unix",), ("raise",),
     ("exit7", "abort", "pipe"), ("local",)),
    ("module raises, deaths", "order", MODULES, ("unix",), ("raise",),
     ("exit7", "abort", "pipe"), ("local",)),
    ("raises, raise", "order", PYTHON, ("unix",), ("raise",), ("own", "raw")),
    ("exits in Python", "order", PYTHON, ("unix",), ("sysexit",),
     ("exit7", "own", "eof", "pipe")),
    ("raises, deaths later", "order", PYTHON, ("unix",), ("raise",),
     ("exit7", "abort"), LATER),
    ("warned, raises", "order", PYTHON, ("unix",), ("raise",),
     ("own", "short"), ("warn",)),
    # Words of a lost connection that are the rank's own.
    ("refused", "early", PYTHON, ("unix",), ("refused",),
     ("own", "short", "exit7")),
    ("timed out", "early", PYTHON, ("unix",), ("timeout",),
     ("own", "short", "exit7")),
    ("refused, later", "order", PYTHON, ("unix",), ("refused", "timeout"),
     ("own", "exit7"), LATER),
    # It leaves with 0 and owes its result.
    ("leaves", "early", C, LINKS, ("leave",), ("said", "exit7", "abort")),
    ("leaves in Python", "early", PYTHON, ("unix",), ("leave", "sysleave"),
     ("short", "own", "exit7")),
    # What lets go early.
    ("with", "early", PYTHON, ("unix",), ("with",), ("own", "raw", "exit7")),
    ("finally", "early", PYTHON, ("unix",), ("finally",),
     ("own", "raw", "exit7"), ("linger",)),
    ("atexit", "early", PYTHON, ("unix",), ("exit_atexit",),
     ("own", "exit7"), ("linger",)),
    ("thread", "early", PYTHON, ("unix",), ("thread",), ("own", "exit7"),
     ("linger",)),
    ("cleaned", "early", PYTHON, ("unix",), ("cleaned",),
     ("own", "exit7"), ("linger",)),
    ("sh -c", "early", SH, LINKS, THREE, ("exit", "said")),
    ("closes, exits", "early", C, LINKS, ("said", "abort"),
     ("exit", "told", "exit7"), ("early", "linger")),
    # A dead one's mutex is handed on before its files are closed.
    ("robust mutex", "early", C, ("robust",), ("segv", "kill", "exit"),
     ("exit", "exit7")),
    # No life line.
    ("closefrom", "early", C, LINKS, THREE,
     ("said", "exit7"), ("closed=all",)),
    ("hub's closefrom", "early", C, LINKS, THREE,
     ("said", "exit7"), ("closed=hub",)),
    ("another's closefrom", "early", C, LINKS, THREE,
     ("said", "exit7"), ("closed=one",)),
    ("child", "early", C, LINKS, THREE,
     ("said", "exit7"), ("child=all",)),
    ("hub's child", "early", C, LINKS, THREE,
     ("said", "exit7"), ("child=hub",)),
    ("worker", "early", C, LINKS, THREE, ("said", "exit7"), ("worker",)),
    ("daemon", "early", C, LINKS, THREE,
     ("said", "exit7"), ("daemon=all",)),
)]
# The same with two ranks cannot be known.
FAMILIES += [family._replace(name=family.name + " (2)", bound="pair")
             for family in FAMILIES if family.bound == "early"]
CHOSEN = [family for family in FAMILIES if re.search(FAMILY, family.name)]
COUNT = int(os.environ.get("COUNT", len(CHOSEN)))


class Job:
    """One job of a family, by its number."""

    def __init__(self, number, family):
        dice = random.Random(f"{SEED}/{number}/{family.name}")
        self.number, self.family = number, family
        self.form = dice.choice(family.forms)
        self.is_native = self.form in ("c", "sh")
        self.link = dice.choice(family.links)
        self.death = dice.choice(family.deaths)
        self.reaction = dice.choice(family.reactions)
        worlds = C_WORLDS if self.is_native else PYTHON_WORLDS
        least = 2 if family.bound == "order" else 3
        self.world = 2 if family.bound == "pair" else \
            dice.choice([size for size in worlds if size >= least])
        if "nodes" in family.spec:
            self.world += self.world % 2
        self.culprit = dice.choice([0, dice.randrange(self.world)])
        longest = 5 if family.bound == "pair" else 200  # ms
        self.words = [word if word != "linger" else
                      f"linger={int(1000 * longest ** dice.random())}"
                      for word in family.words]
        if dice.random() < 0.5:
            self.words.append("unread")
        self.is_death = self.death in DIES
        self.failed = 0  # ranks, as it is told
        self.end = ENDS.get(self.death, RAISED)
        if self.form == "sh" and self.end[0] == "signal":
            self.end = ("exit", 128 + signal.Signals[self.end[2]], None)

    def __str__(self):
        return (f"{self.number}: {self.family.name}: {self.form}, {self.link}, "
                f"rank {self.culprit} of {self.world}: {self.death}, then "
                f"{' '.join([self.reaction, *self.words])}")

    def spec(self):
        args = [str(self.culprit), self.link, self.death, self.reaction,
                *self.words]
        entry = {
            "c": {"command": [PEER, *args]},
            "sh": {"command": ["sh", "-c", '"$@"; exit $?', "sh", PEER, *args]},
            "command": {"command": ["python3", "star.py", *args]},
            "script": {"python": {"script": "star.py"}, "args": args},
            "module": {"python": {"module": "star"}, "args": args},
        }.get(self.form.split()[-1],
              {"python": {"function": "star:main"}, "args": args})
        spec = {"version": 1, "name": "peers", "device": "cpu",
                "world_size": self.world, "entrypoint": entry,
                "oversubscribe": True,
                "timeouts": {"stop_grace": "300ms", "run": "50s"},
                "console": {"ranks": "none"}, **self.family.spec}
        if "nodes" in spec:
            spec["local_world_size"] = spec.pop("world_size") // 2
        if self.end is LEFT:
            spec["results"] = {"required": "all"} if not self.is_native else \
                {"from": "file", "required": "all"}
        if self.form.startswith("fork"):
            spec["start_method"] = self.form.split()[0].replace("ked", "k")
        return json.dumps(spec)

    def status(self):
        if self.family.spec.get("exit_status") != "rank":
            return 1
        return {"SIGSEGV": 139, "SIGABRT": 134}.get(self.end[2], self.end[1])

    def exception(self):
        return {"refused": "ConnectionRefusedError", "timeout": "TimeoutError"
                }.get(self.death, "ValueError")

    def is_shared(self, named, owner):
        """Whether another may be named, if the culprit is told together."""
        if self.family.bound == "pair":
            return True
        if self.family.bound != "order" or LATER[0] in self.words:
            return False
        return named["node_rank"] != owner["node_rank"] or \
            (not self.is_death and not named["error"])

    def judge(self, done, results):
        """What is wrong of what is told, or None, and whether the culprit is
        told together with others."""
        cause = results["root_cause"]
        if cause is None:
            return f"status {done.returncode} without a cause", False
        together = bool(cause["together"])
        self.failed = sum(rank["state"] in ("failed", "after_first_failure")
                          for rank in results["ranks"])
        said = f"rank {cause['rank']} {cause['message']}, " \
            f"together {cause['together']}"
        if cause["rank"] != self.culprit:
            is_told = self.culprit in cause["together"]
            if is_told and self.is_shared(*(
                    results["ranks"][i] for i in (cause["rank"], self.culprit))):
                return None, True
            return said, is_told
        told = (cause["kind"], cause["exit_code"], cause["signal"])
        # What raised may have been stopped while it cleaned up.
        if told != self.end and not (
                self.end is RAISED and
                cause["message"].startswith(self.exception())):
            return f"it is told as {told}, {said}", together
        if done.returncode != self.status():
            return f"status {done.returncode}", together
        if "restart" in self.family.spec and results["attempt"] != 1:
            return f"attempt {results['attempt']}", together
        rank = results["ranks"][self.culprit]
        if self.end is not RAISED and \
                (rank["exit_code"], rank["signal"]) != self.end[1:]:
            return f"it ended by {rank['exit_code']} {rank['signal']}", together
        if f": rank {self.culprit} " not in done.stderr:
            return f"it is not in {done.stderr}", together
        if results["processes_left"]:
            return f"{results['processes_left']} processes are left", together
        return None, together


def most(jobs, share):
    """How many of these jobs may be wrong: a program that is exactly at the
    bound is beyond that once in a thousand samples."""
    chance, wrong = 0.0, -1
    while chance < 0.999:
        wrong += 1
        chance += math.comb(jobs, wrong) * share ** wrong * \
            (1 - share) ** (jobs - wrong)
    return wrong


def allowed(name, jobs, share):
    return int(jobs * share) if name in BOUNDS and jobs * share >= 3 \
        else most(jobs, share)


class Tally:
    def __init__(self):
        self.jobs = self.wrong = self.together = 0

    def add(self, is_wrong, is_together):
        self.jobs += 1
        self.wrong += is_wrong
        self.together += is_together

    def __str__(self):
        return f"{self.jobs:5} {self.wrong:6} {self.together:9}"


class FirstFailures(harness.Case):
    def busy_loops(self):
        for _ in range(LOAD):
            loop = subprocess.Popen([sys.executable, "-c", "while True: pass"])
            self.addCleanup(loop.wait)
            self.addCleanup(loop.kill)

    def try_job(self, job):
        work = self.folder / f"work{job.number}"
        work.mkdir()
        (work / "star.py").write_text(STAR)
        (work / "job.yaml").write_text(job.spec())
        words = ["--local"] if "nodes" in job.family.spec else []
        done = self.jobrun("job.yaml", *words, cwd=work)
        try:
            results = self.results(logs=f"work{job.number}/runs")
        except OSError:
            raise AssertionError(f"{job}\n{done.stderr}") from None
        wrong, together = job.judge(done, results)
        if wrong and KEEP:
            kept = pathlib.Path(KEEP, f"{SEED}-{job.number}")
            kept.parent.mkdir(parents=True, exist_ok=True)
            shutil.rmtree(kept, ignore_errors=True)
            shutil.move(work, kept)
        shutil.rmtree(work, ignore_errors=True)
        return job, wrong, together

    def test_who_was_first(self):
        self.busy_loops()
        jobs = [Job(i, CHOSEN[i % len(CHOSEN)]) for i in range(COUNT)]
        tallies = {family.name: Tally() for family in CHOSEN}
        classes = {name: Tally() for name in BOUNDS}
        deaths, told, beyond = Tally(), [], []
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as at_once:
            for job, wrong, together in at_once.map(self.try_job, jobs):
                for tally in (tallies[job.family.name],
                              classes[job.family.bound]):
                    tally.add(bool(wrong), together)
                if wrong:
                    told.append(f"{job}: {wrong}")
                if job.family.bound == "order" and job.is_death and \
                        job.is_native and job.failed > 2 and \
                        "nodes" not in job.family.spec:
                    deaths.add(together, together)
        print(f"{'':30} jobs  wrong  together", file=sys.stderr)
        for family in CHOSEN:
            print(f"{family.bound:6}{family.name:24}{tallies[family.name]}",
                  file=sys.stderr)
        for name, tally in classes.items():
            print(f"{name:30}{tally}", file=sys.stderr)
        for name, tally, share in [
                *((name, tally, BOUNDS[name])
                  for name, tally in classes.items()),
                *((family.name, tallies[family.name], BOUNDS[family.bound])
                  for family in CHOSEN),
                ("deaths told together", deaths, TOGETHER)]:
            if tally.wrong > allowed(name, tally.jobs, share):
                beyond.append(f"{name}: {tally.wrong} of {tally.jobs}")
        if os.environ.get("TELL"):
            print("\n".join(told), file=sys.stderr)
        self.assertFalse(beyond, "\n".join(["", *told, *beyond]))


if __name__ == "__main__":
    harness.main()
