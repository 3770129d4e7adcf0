"""Nodes that are lost while their ranks run, of a job that has a spare: it starts
again in time, with the right ranks. One loss in eleven is at any moment before the
ranks run. Hosts are emulated as in test_nodes_by_ssh.py.

  test_node_losses.py [LOSSES [SEED]]     20 losses of running ranks, unless it is said
"""
import concurrent.futures
import os
import random
import signal
import sys
import time
import unittest

import harness
import test_nodes_by_srun
import test_nodes_by_ssh

LOSSES, SEED = 20, None
NODES = 8
AT_ONCE = 3  # jobs, which wait more than they work
SECONDS = 10  # from the detection to the start of all ranks
# A rank says who it is, and waits for a line of the pipe `go`.
SCRIPT = ('echo "$JOBRUN_ATTEMPT $RANK $NODE_RANK $WORLD_SIZE $FAKE_NODE"; '
          "read line < go")


class Losses:
    def told(self):
        """{attempt: {rank: (node rank, world size, machine)}}, whole ones."""
        found = {}
        for log in self.folder.glob("runs/latest/attempt_*/*/stdout.log"):
            words = log.read_text().split()
            if len(words) == 5:
                found.setdefault(int(words[0]), {})[int(words[1])] = tuple(
                    map(int, words[2:]))
        return found

    def await_told(self, process, wanted):
        until = time.monotonic() + harness.LIMIT
        while wanted not in self.told().values():
            self.assertLess(time.monotonic(), until, self.told())
            self.assertIsNone(process.poll())
            time.sleep(0.05)

    def await_agent(self, node):
        until = time.monotonic() + harness.LIMIT
        while node not in self.agents():
            self.assertLess(time.monotonic(), until)
            time.sleep(0.01)
        return self.agents()[node]

    def lose_one(self):
        """A job, one of whose nodes is lost: `dice` says which and when."""
        after, node = self.dice.uniform(0, 0.5), self.dice.randrange(NODES)
        os.mkfifo(self.folder / "go")
        gate = os.open(self.folder / "go", os.O_RDWR)
        self.addCleanup(os.close, gate)
        process = self.start(
            self.spec(SCRIPT, f"nodes: {NODES}\nspare_nodes: 1\n"
                      "restart: {max: 1, backoff: 0}\n", 1),
            env=self.allocation(NODES + 1))
        if self.running:
            self.await_told(process, {
                rank: (rank, NODES, rank) for rank in range(NODES)})
        time.sleep(after)
        os.kill(self.await_agent(node), signal.SIGKILL)
        self.await_told(process, {
            rank: (rank, NODES, NODES if rank == node else rank)
            for rank in range(NODES)})
        os.write(gate, NODES * b"\n")
        self.finish(process, 0)
        self.check_results(node)

    def check_results(self, node):
        results = self.results()
        self.assertEqual([entry["host"] for entry in results["left_out"]],
                         [f"n{node + 1}"])
        self.assertEqual(
            [(rank["host"], rank["state"]) for rank in results["ranks"]],
            [(f"n{NODES + 1 if rank == node else rank + 1}", "succeeded")
             for rank in range(NODES)])
        self.hit = results["attempt"] == 1
        if self.running:
            self.assertEqual((self.hit, results["attempts"][0]["status"]),
                             (True, "failed"))
        if self.hit:
            self.took = self.measure()
            self.assertLess(self.took, SECONDS)

    def measure(self):
        """Seconds from the detection to the start of the last rank."""
        events = self.events()
        [lost] = [event["ns"] for event in events
                  if event["event"] == "node_lost"]
        names = [event["event"] for event in events]
        started = [event["ns"] for event in events[names.index("restart"):]
                   if event["event"] == "rank_started"]
        self.assertEqual(len(started), NODES)
        return (max(started) - lost) / 1e9

    def one(self, number, seed):
        case = type(self)("lose_one")
        case.running = number < LOSSES
        case.dice = random.Random(f"{seed} {number}")
        case.hit, case.took = False, None
        return case

    def test_losses_at_any_moment(self):
        seed = SEED if SEED is not None else random.randrange(1 << 30)
        losses = [self.one(number, seed)
                  for number in range(LOSSES + LOSSES // 10)]
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            results = list(pool.map(run_alone, losses))
        for number, result in enumerate(results):
            with self.subTest(seed=seed, number=number):
                for _, text in result.failures + result.errors:
                    self.fail(text)
        took = sorted(case.took for case in losses if case.hit)
        self.assertGreaterEqual(len(took), LOSSES)
        print(f"\n{type(self).__name__}: {len(losses)} losses (seed {seed}), "
              f"{len(took)} of running ranks; again after {took[0]:.2f} s "
              f"(least), {took[len(took) // 2]:.2f} s (median), "
              f"{took[len(took) * 9 // 10]:.2f} s (9 of 10), {took[-1]:.2f} s "
              "(most)", flush=True)


def run_alone(case):
    result = unittest.TestResult()
    case.run(result)
    return result


class BySsh(Losses, test_nodes_by_ssh.Ssh):
    pass


class BySrun(Losses, test_nodes_by_srun.Agents):
    def fakes(self, **extra):
        return super().fakes(FAKE_ALL="1", **extra)


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1].isdigit():
        LOSSES = int(sys.argv.pop(1))
    if len(sys.argv) > 1 and sys.argv[1].isdigit():
        SEED = int(sys.argv.pop(1))
    harness.main()
