"""Nodes that are lost at any moment, of a job that has a spare: it starts again in
time, with the right ranks. Hosts are emulated as in test_nodes_by_ssh.py.

  test_node_losses.py [LOSSES [SEED]]     20 losses, unless it is said
"""
import os
import random
import signal
import sys
import time

import agent_cases as cases
import harness
import test_nodes_by_srun
import test_nodes_by_ssh

LOSSES, SEED = 20, None
NODES = 8
SECONDS = 10  # from the detection to the start of all ranks
SCRIPT = ('echo "$JOBRUN_ATTEMPT $RANK $NODE_RANK $WORLD_SIZE $FAKE_NODE"; '
          "until test -e go; do sleep 0.05; done")


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
            time.sleep(0.02)

    def lose_one(self, dice):
        """Returns how long it took from the detection to the start of all, and
        whether it was lost before the ranks began."""
        after, node = dice.uniform(0, 1), dice.randrange(NODES)
        running = dice.random() < 0.6  # else it may be before any rank is there
        process = self.start(
            self.spec(SCRIPT, f"nodes: {NODES}\nspare_nodes: 1\n"
                      "restart: {max: 1, backoff: 0}\n", 1),
            env=self.allocation(NODES + 1))
        if running:
            self.await_told(process, {
                rank: (rank, NODES, rank) for rank in range(NODES)})
        time.sleep(after)
        until = time.monotonic() + harness.LIMIT
        while node not in self.agents():
            self.assertLess(time.monotonic(), until)
            time.sleep(0.01)
        os.kill(self.agents()[node], signal.SIGKILL)
        self.await_told(process, {
            rank: (rank, NODES, NODES if rank == node else rank)
            for rank in range(NODES)})
        self.write("go", "")
        self.finish(process, 0)
        results = self.results()
        self.assertEqual([entry["host"] for entry in results["left_out"]],
                         [f"n{node + 1}"])
        self.assertEqual(
            [rank["host"] for rank in results["ranks"]],
            [f"n{NODES + 1 if rank == node else rank + 1}"
             for rank in range(NODES)])
        return self.measure(), results["attempt"] == 0

    def measure(self):
        events = self.events()
        lost = [event["ns"] / 1e9 for event in events
                if event["event"] == "node_lost"]
        started = [event["ns"] / 1e9 for event in events
                   if event["event"] == "rank_started"]
        return started[-1] - lost[0] if lost else 0.0

    def test_losses_at_any_moment(self):
        seed = SEED if SEED is not None else random.randrange(1 << 30)
        dice, took, early = random.Random(seed), [], 0
        for number in range(LOSSES):
            with self.subTest(seed=seed, number=number):
                seconds, before = self.lose_one(dice)
                self.assertLess(seconds, SECONDS)
                took += [] if before else [seconds]
                early += before
            self.forget()
        took.sort()
        print(f"\n{type(self).__name__}: {LOSSES} losses (seed {seed}), {early} "
              "before the ranks began; again after " + (
                  f"{took[len(took) // 2]:.2f} s (median), {took[-1]:.2f} s "
                  "(most)" if took else "no loss"), flush=True)

    def forget(self):
        if (self.folder / "go").exists():
            os.unlink(self.folder / "go")
        cases.Spares.forget(self)


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
