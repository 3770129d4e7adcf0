"""Any processes of a job with spares, killed at any moments: the controller, agents
and spares, what they have started, and ranks. Whatever they were, the job ends,
nothing is left of it, and what it says is so.

  test_spare_kills.py [JOBS [SEED]]     20 jobs of each transport, unless it is said
"""
import collections
import concurrent.futures
import os
import pathlib
import random
import signal
import subprocess
import sys
import time
import unittest

import harness
import test_nodes_by_srun
import test_nodes_by_ssh

JOBS, SEED = 20, None
NODES, SPARES = 3, 2
AT_ONCE = 3
ENDS = 60  # seconds in which a job ends after the last kill
SCRIPT = ('echo "{\\"r\\": $RANK, \\"a\\": $JOBRUN_ATTEMPT, \\"m\\": $FAKE_NODE}" > '
          '"$JOBRUN_RESULT_FILE"; sleep 0.7')
MORE = (f"nodes: {NODES}\nspare_nodes: {SPARES}\n"
        "restart: {max: 4, backoff: 200ms}\ntimeouts: {stop_grace: 500ms}\n"
        "results: {fields: {r: {type: integer}}, distinct: [r]}\n")


def parents():
    """{pid: (parent, name)} of all processes."""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except OSError:
                continue
            name, _, rest = stat.partition("(")[2].rpartition(") ")
            found[int(entry.name)] = (int(rest.split()[1]), name)
    return found


def below(top):
    """{pid: name} of a process and all below it."""
    all_now = parents()
    found, grown = {}, {top} & set(all_now)
    while grown:
        found.update({pid: all_now[pid][1] for pid in grown})
        grown = {pid for pid, (parent, _) in all_now.items()
                 if parent in grown and pid not in found}
    return found


class Kills:
    KILLED = collections.Counter()

    def kill_some(self):
        """A job and its victims: `dice` says who, and when."""
        process = self.start(
            self.spec(SCRIPT, MORE, 1), env=self.allocation(NODES + SPARES))
        for _ in range(self.dice.choice((1, 1, 2, 2, 3, 4))):
            time.sleep(self.dice.uniform(0, 1.2))
            self.kill_one(process.pid)
        try:
            _, err = process.communicate(timeout=ENDS)
        except subprocess.TimeoutExpired:
            self.fail(f"it does not end: {below(process.pid)}")
        self.nobody_is_left()
        self.check(process.returncode, err)

    def kill_one(self, top):
        there = below(top)
        if self.dice.random() > 0.1:
            there.pop(top, None)
        if not there:
            return
        victim = self.dice.choice(sorted(there))
        try:
            os.kill(victim, signal.SIGKILL)
            Kills.KILLED[there[victim]] += 1
        except ProcessLookupError:
            pass

    def check(self, code, err):
        latest = self.folder / "runs" / "latest"
        if code == -signal.SIGKILL or not (latest / "results.json").exists():
            self.assertIn(code, (-signal.SIGKILL, 7), err)
            self.codes = code
            return
        results = self.results()
        self.codes = results["exit_code"]
        self.assertEqual(results["exit_code"], code, err)
        if code == 0:
            self.assertEqual(
                [(rank["rank"], rank["state"], rank["result"])
                 for rank in results["ranks"]],
                [(number, "succeeded",
                  {"r": number, "a": results["attempt"],
                   "m": int(results["ranks"][number]["host"][1:]) - 1})
                 for number in range(NODES)], err)
        else:
            self.assertIn(code, (1, 7), err)
        hosts = [rank["host"] for rank in results["ranks"]]
        left_out = [entry["host"] for entry in results["left_out"]]
        self.assertEqual(len(set(hosts)), NODES)
        self.assertEqual(len(set(left_out)), len(left_out), left_out)
        if code == 0:
            self.assertEqual(set(hosts) & set(left_out), set(), err)

    def one(self, number, seed):
        case = type(self)("kill_some")
        case.dice = random.Random(f"{seed} {number}")
        case.codes = None
        return case

    def test_kills_at_any_moment(self):
        seed = SEED if SEED is not None else random.randrange(1 << 30)
        jobs = [self.one(number, seed) for number in range(JOBS)]
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            results = list(pool.map(run_alone, jobs))
        print(f"\n{type(self).__name__}: {JOBS} jobs (seed {seed}), exit codes "
              f"{dict(collections.Counter(job.codes for job in jobs))}, killed "
              f"{dict(Kills.KILLED)}", flush=True)
        for number, result in enumerate(results):
            with self.subTest(seed=seed, number=number):
                for _, text in result.failures + result.errors:
                    self.fail(text)


def run_alone(case):
    result = unittest.TestResult()
    case.run(result)
    return result


class BySsh(Kills, test_nodes_by_ssh.Ssh):
    pass


class BySrun(Kills, test_nodes_by_srun.Agents):
    def fakes(self, **extra):
        return super().fakes(FAKE_ALL="1", **extra)


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1].isdigit():
        JOBS = int(sys.argv.pop(1))
    if len(sys.argv) > 1 and sys.argv[1].isdigit():
        SEED = int(sys.argv.pop(1))
    harness.main()
