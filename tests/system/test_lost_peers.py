"""A rank dies, and its peers fail because of that: the report names the rank
that died first, whoever was reaped first.

    test_lost_peers.py [COUNT]       so many jobs of a mixture (24), by the seed SEED
                                (1), with LOAD busy loops beside them (0), and
                                AT_ONCE of them at a time (1)

Each job has a hub, to which every other rank has a connection. Once all are
there the hub dies, and what the others do about it follows from that. WRONG is
how many of them may be told wrongly, none where it is not set.
"""
import concurrent.futures
import json
import os
import random
import subprocess
import sys

import harness

COUNT = int(sys.argv.pop()) if sys.argv[-1].isdigit() else 24
LOAD = int(os.environ.get("LOAD", "0"))
AT_ONCE = int(os.environ.get("AT_ONCE", "1"))
WRONG = int(os.environ.get("WRONG", "0"))
PEER = os.environ["PEER"]

HUB = """
import atexit, os, signal, socket, sys, time

links = []

def let_go():
    for link in links:
        link.close()
    time.sleep(0.2)

def die(how):
    if how == "segv":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif how == "exit":
        os._exit(3)
    elif how == "sysexit":
        sys.exit(3)
    elif how == "raise":
        raise ValueError("loss is NaN")
    elif how == "goodbye":
        atexit.register(let_go)
        raise ValueError("loss is NaN")
    elif how == "leave":
        os._exit(0)
    elif how == "sysleave":
        sys.exit(0)
    elif how == "other":
        os.spawnlp(os.P_NOWAIT, "kill", "kill", "-KILL", str(os.getpid()))
        while True:
            signal.pause()
    raise AssertionError(how)

def address(kind):
    if kind == "unix":
        return socket.AF_UNIX, "hub"
    return socket.AF_INET, (os.environ["MASTER_ADDR"],
                            int(os.environ["MASTER_PORT"]))

def connect(kind):
    family, at = address(kind)
    while True:
        link = socket.socket(family)
        try:
            link.connect(at)
            return link
        except OSError:
            link.close()
            time.sleep(0.005)

def react(link, how):
    if how == "pipe":
        link.recv(1)
        while True:
            link.sendall(b"x")
    if how not in ("eof", "quiet"):
        link.sendall(b"x")  # unread where it goes: the end is a reset
    if link.recv(1) and link.recv(1):
        raise AssertionError("the hub speaks")
    if how == "quiet":
        os._exit(7)
    raise RuntimeError("the hub has gone") if how == "own" else \\
        EOFError("the hub has closed the connection")

def main(kind, hub, death, reaction):
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    if rank != int(hub):
        react(connect(kind), reaction)
    family, at = address(kind)
    server = socket.socket(family)
    if kind == "tcp":
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind(at)
    server.listen(world)
    links[:] = [server.accept()[0] for _ in range(world - 1)]
    for link in links:
        link.sendall(b"g")
    die(death)

if __name__ == "__main__":
    main(*sys.argv[1:])
"""

# What is told of the hub's end.
ENDS = {"segv": ("signal", None, "SIGSEGV"),
        "kill": ("signal", None, "SIGKILL"),
        "other": ("signal", None, "SIGKILL"),
        "exit": ("exit", 3, None), "sysexit": ("exit", 3, None),
        "raise": ("exit", 1, None), "goodbye": ("exit", 1, None),
        "leave": ("result", 0, None), "sysleave": ("result", 0, None),
        "slow": ("exit", 3, None)}
DEATHS = ["segv", "kill", "exit", "sysexit", "other"]
# Of silent exits whose peers exit silently, too, not all can be told apart.
SILENT = ["exit"] if WRONG > 0 else []
# Forms, how the ranks are connected, how the hub dies, what its peers do.
FORMS = {
    "spawn": ("unix", DEATHS, ["reset", "eof", "pipe", "own"]),
    "fork": ("unix", DEATHS, ["reset", "eof", "pipe", "own"]),
    "forkserver": ("unix", DEATHS, ["reset", "eof", "pipe", "own"]),
    "script": ("tcp", DEATHS, ["reset", "eof", "pipe"]),
    "command": ("tcp", DEATHS, ["reset", "eof", "pipe"]),
    "c": ("unix", ["segv", "kill", "exit", "slow", "other"],
          ["abort", "told", "pipe"] + SILENT),
}
# Of a Python hub that raises or exits, which says so before its connections
# are closed, and its peers leave without a word.
TELLS = {form: (kind, ["raise", "sysexit", "goodbye"], ["quiet"])
         for form, kind in (("spawn", "unix"), ("fork", "unix"),
                            ("script", "tcp"), ("module", "tcp"),
                            ("forked script", "unix"),
                            ("forked module", "unix"))}
# The same of a hub that ends with 0 and owes its result. What its peers say has
# to tell that they lost one.
LEAVES = {form: (FORMS[form][0], ["leave", "sysleave"], ["reset", "eof", "pipe"])
          for form in ("spawn", "fork", "forkserver", "script", "command")}


def busy_loops(case, count):
    for _ in range(count):
        loop = subprocess.Popen([sys.executable, "-c", "while True: pass"])
        case.addCleanup(loop.wait)
        case.addCleanup(loop.kill)


class Job:
    """One job, by its number in the mixture."""

    def __init__(self, seed, number, forms):
        dice = random.Random(f"{seed}/{number}")
        self.number = number
        self.form = dice.choice(list(forms))
        self.kind, deaths, reactions = forms[self.form]
        self.death, self.reaction = dice.choice(deaths), dice.choice(reactions)
        self.world = dice.choice([2, 4, 8] if self.kind == "tcp" else [2, 3, 4])
        self.hub = 0 if dice.random() < 0.5 else dice.randrange(self.world)

    def __str__(self):
        return (f"{self.number}: {self.form}, {self.world} ranks, rank "
                f"{self.hub} dies by {self.death}, then {self.reaction}")

    def spec(self):
        args = [self.kind, str(self.hub), self.death, self.reaction]
        entry = {
            "script": {"python": {"script": "hub.py"}, "args": args},
            "module": {"python": {"module": "hub"}, "args": args},
            "command": {"command": ["python3", "hub.py", *args]},
            "c": {"command": [PEER, *args[1:]]},
        }.get(self.form.split()[-1],
              {"python": {"function": "hub:main"}, "args": args})
        spec = {"version": 1, "name": "peers", "device": "cpu",
                "world_size": self.world, "entrypoint": entry,
                "timeouts": {"stop_grace": "5s", "run": "50s"},
                "console": {"ranks": "none"}}
        if self.death.endswith("leave"):
            spec["results"] = {"required": "all"}
        if self.form.startswith("fork"):
            spec["start_method"] = self.form.replace("forked", "fork").split()[0]
        return json.dumps(spec)


# Rank 1 says that it has lost a peer, and fails; once it has been reaped, rank
# 0 dies.
LATE = """
if test $RANK = 1; then
    echo $$ > pid.new; mv pid.new pid
    echo "Traceback (most recent call last):" >&2
    echo "ConnectionResetError: the peer has gone" >&2; exit 1
fi
until test -e pid; do :; done
read p < pid
while test -d /proc/$p; do :; done
kill -SEGV $$
"""


class Told(harness.Case):
    """What is said, of ranks whose order is theirs to keep."""

    def run_script(self, script, *words, ranks=2):
        return self.jobrun("-n", str(ranks), "-s", "device=cpu", *words, "--",
                           "sh", self.write("rank.sh", script))

    def test_a_dead_peer_and_who_noticed(self):
        done = self.expect(self.run_script(LATE), 1)
        self.assertIn(": rank 0 died by SIGSEGV", done.stderr)
        self.assertIn("  together with it (too close to order, and of a kind "
                      "that a dead peer causes):\n    rank 1   exited with "
                      "code 1\n", done.stderr)
        results = self.results()
        cause = results["root_cause"]
        self.assertEqual((cause["rank"], cause["kind"], cause["together"]),
                         (0, "signal", [1]))
        self.assertEqual([rank["lost_peer"] for rank in results["ranks"]],
                         [False, True])
        shown = self.expect(self.jobrun("show", "latest"), 0).stdout
        self.assertIn("    rank 1   exited with code 1\n", shown)

    def test_restart_and_exit_status_follow_the_cause(self):
        done = self.run_script(
            LATE + "", "-s", "restart={max: 1, on: ['signal:SIGSEGV'], "
            "never: ['exit:1']}", "-s", "exit_status=rank")
        self.expect(done, 128 + 11)
        self.assertEqual(self.results()["attempt"], 1)

    def test_a_lost_peer_is_the_cause_where_nobody_else_is(self):
        done = self.expect(self.run_script(
            'test $RANK = 0 && exec sleep 1000; '
            'echo "Broken pipe" >&2; exit 4'), 1)
        self.assertIn(": rank 1 exited with code 4", done.stderr)
        self.assertIn("rank 0 stopped by jobrun (SIGTERM)", done.stderr)

    def test_who_left_without_its_result_is_the_cause(self):
        script = ('if test $RANK = 0; then touch left; exit 0; fi; '
                  'until test -e left; do :; done; sleep 0.3; '
                  'echo "Traceback (most recent call last):" >&2; '
                  'echo "ConnectionResetError: rank 0 has gone" >&2; exit 4')
        words = ("-s", "results={from: file}")
        done = self.expect(self.run_script(script, *words), 1)
        self.assertIn(": rank 0 ended with 0 but did not deliver   exit "
                      "status 1\n", done.stderr)
        self.assertIn("\n  result.json was not written\n", done.stderr)
        self.assertIn("  after it:   rank 1 failed after the first failure: "
                      "exited with code 4\n", done.stderr)
        self.assertIn("  try:        rank 0 left while", done.stderr)
        cause = self.results()["root_cause"]
        self.assertEqual((cause["rank"], cause["kind"], cause["exit_code"]),
                         (0, "result", 0))
        shown = self.expect(self.jobrun("show", "latest"), 0).stdout
        for line in done.stderr.splitlines()[3:-1]:
            self.assertIn(line + "\n", shown)
        self.expect(self.run_script(
            'test $JOBRUN_ATTEMPT = 1 || { ' + script + '; }; '
            'echo 1 > $JOBRUN_RESULT_FILE', *words, "-s",
            "restart={max: 1, on: [result], never: [exit]}"), 0)
        self.assertEqual(self.results()["attempt"], 1)

    def test_it_is_told_how_a_rank_ended_that_was_being_stopped(self):
        done = self.expect(self.run_script(
            "if test $RANK = 1; then until test -e ready; do :; done; exit 7; "
            "fi; trap 'kill -SEGV $$' TERM; touch ready; "
            "while :; do sleep 0.01; done"), 1)
        self.assertIn(": rank 1 exited with code 7", done.stderr)
        self.assertIn("rank 0 failed after the first failure: died by SIGSEGV",
                      done.stderr)
        rank = self.results()["ranks"][0]
        self.assertEqual((rank["state"], rank["signal"]),
                         ("after_first_failure", "SIGSEGV"))
        shown = self.expect(self.jobrun("show", "latest"), 0).stdout
        self.assertIn("died by SIGSEGV", shown)
        self.assertNotIn("stopped by jobrun", shown)


class Peers(harness.Case):
    def run_job(self, job, **more):
        work = self.folder / f"work{job.number}"
        work.mkdir()
        (work / "hub.py").write_text(HUB)
        (work / "job.yaml").write_text(job.spec())
        done = self.jobrun("job.yaml", cwd=work, **more)
        return done, self.results(logs=f"work{job.number}/runs")

    def try_job(self, job):
        """What is wrong about the verdict on it; nothing where it is right."""
        wrong = self.wrong(job, *self.run_job(job))
        return wrong and f"{job}: {wrong}"

    def wrong(self, job, done, results):
        cause = results["root_cause"]
        if done.returncode != 1 or cause is None:
            return f"status {done.returncode}, cause {cause}"
        if cause["rank"] != job.hub:
            return f"rank {cause['rank']} {cause['message']}, " \
                   f"together {cause['together']}"
        told = (cause["kind"], cause["exit_code"], cause["signal"])
        if told != ENDS[job.death]:
            return f"it is told as {told}"
        rank = results["ranks"][job.hub]
        if rank["state"] != "failed" or \
                (rank["exit_code"], rank["signal"]) != ENDS[job.death][1:]:
            return f"the rank is told as {rank['state']} " \
                   f"{rank['exit_code']} {rank['signal']}"
        if results["processes_left"]:
            return f"{results['processes_left']} processes are left"
        return None

    def try_jobs(self, count, forms):
        busy_loops(self, LOAD)
        seed = os.environ.get("SEED", "1")
        jobs = (Job(seed, i, forms) for i in range(count))
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as at_once:
            told = [line for line in at_once.map(self.try_job, jobs) if line]
        if os.environ.get("TELL"):
            print("\n".join(told), f"\n{len(told)} of {count} wrong",
                  file=sys.stderr)
        self.assertLessEqual(len(told), WRONG, "\n" + "\n".join(told))

    def test_the_one_that_died(self):
        self.try_jobs(COUNT, FORMS)

    def test_the_one_that_says_so(self):
        self.try_jobs(max(24, COUNT // 5), TELLS)

    def test_the_one_that_left(self):
        self.try_jobs(max(12, COUNT // 5), LEAVES)


if __name__ == "__main__":
    harness.main()
