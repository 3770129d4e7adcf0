"""Heads and agents that fall silent, each for a reason of its own, with a
stand-in for srun. All of them wait at the same time, for what has to pass are
the minutes that it takes users, too."""
import os
import pathlib
import signal
import sys
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "system"))

import harness  # noqa: E402
from test_nodes_by_srun import Agents  # noqa: E402

LOST = 60  # seconds in silence after which a node is lost
SLACK = 120  # on a busy machine


class One(Agents):
    """A run of two nodes with two ranks each, in a folder of its own."""

    def begin_one(self):
        self.setUp()
        process = self.begin(
            'until test -e "$JOBRUN_RUN_DIR/enough"; do sleep 0.2; done')
        self.pids = self.agents()
        return process

    def freeze(self, pid):
        """Until the test is over, however it ends."""
        os.kill(pid, signal.SIGSTOP)
        self.addCleanup(self.thaw, pid)

    def thaw(self, pid):
        try:
            os.kill(pid, signal.SIGCONT)
        except ProcessLookupError:
            pass

    def enough(self):
        (self.folder / "runs/latest/enough").touch()

    def end_of(self, process, code, limit):
        out, err = process.communicate(timeout=limit)
        self.assertEqual(process.returncode, code, out + err)
        return err


def an_agent_is_stopped(one):
    process = one.begin_one()
    one.freeze(one.pids[1])
    err = one.end_of(process, 1, LOST + SLACK)
    one.assertIn("rank 2 was lost with its node", err)
    one.assertIn("nothing was heard from node 1 (n2) since ", err)
    one.assertIn("ranks 0-1 stopped by jobrun", err)
    one.assertEqual(one.results()["root_cause"]["kind"], "lost_node")
    one.thaw(one.pids[1])
    one.nobody_is_left()


def an_agent_is_stopped_before_the_run(one):
    """It has said hello, and hears the spec no more."""
    one.setUp()
    deaf = one.write("deaf", f"#!/bin/sh\ntrue | '{harness.JOBRUN}' agent\n"
                     "cat > /dev/null\n")
    deaf.chmod(0o700)
    process = one.start(one.spec("true", "timeouts: {start: 1h}"),
                        env=one.allocation(2, FAKE_PROGRAM={"1": str(deaf)}))
    err = one.end_of(process, 7, LOST + SLACK)
    one.assertIn("node 1 (n2) did not take the spec: nothing was heard from "
                 "node 1 (n2) since ", err)
    one.nobody_is_left()


def a_setup_takes_its_time(one):
    """On one of the nodes: its agent answers meanwhile."""
    one.setUp()
    process = one.start(
        one.spec("true", "setup: '[ $SLURM_NODEID = 0 ] || "
                 f"sleep {LOST + 20}'"),
        env=one.allocation(2))
    one.end_of(process, 0, LOST + SLACK)
    one.nobody_is_left()


def agents_are_stopped_one_by_one(one):
    """Where ranks go on without the others, each loss is noticed."""
    one.setUp()
    process = one.begin("sleep 1000", nodes=3, more="on_failure: continue")
    pids = one.agents()
    one.freeze(pids[1])
    until = time.monotonic() + LOST + SLACK
    while not any(event["event"] == "node_lost" for event in one.events()):
        one.assertLess(time.monotonic(), until, "node 1 is not lost")
        time.sleep(0.1)
    for node in (0, 2):
        one.freeze(pids[node])
    err = one.end_of(process, 1, LOST + SLACK)
    one.assertIn("nothing was heard from node 1 (n2) since ", err)
    one.assertRegex(err, "nothing was heard from (any node|node [02])")
    one.assertEqual([rank["state"] for rank in one.results()["ranks"][::2]],
                    ["after_first_failure", "failed", "after_first_failure"])
    for pid in pids.values():
        one.thaw(pid)
    one.nobody_is_left()


def srun_is_stopped(one):
    process = one.begin_one()
    srun, = (child for child in harness.children(process.pid)
             if harness.name_of(child) == "srun")
    one.freeze(srun)
    err = one.end_of(process, 1, LOST + SLACK)
    one.assertIn("nothing was heard from any node since ", err)
    one.assertIn(f"srun (pid {srun}) hangs", err)
    one.assertIn(f"srun (pid {srun}) did not end within 20s of its input, and "
                 "was killed", err)
    one.nobody_is_left()


def the_head_is_stopped_for_a_while(one):
    """Longer than a node may be silent: but it is the controller that was."""
    process = one.begin_one()
    process.send_signal(signal.SIGSTOP)
    time.sleep(LOST + 20)  # that is what is tried
    process.send_signal(signal.SIGCONT)
    time.sleep(20)  # so is this: two turns in which it could judge
    one.enough()
    one.end_of(process, 0, SLACK)
    one.nobody_is_left()


def the_run_is_suspended(one):
    """Ctrl-Z."""
    process = one.begin_one()
    process.send_signal(signal.SIGTSTP)
    time.sleep(LOST + 20)  # that is what is tried
    process.send_signal(signal.SIGCONT)
    one.enough()
    one.end_of(process, 0, SLACK)
    one.nobody_is_left()


class Silence(unittest.TestCase):
    def test_all_at_once(self):
        failed = {}

        def wait(case):
            one = One()
            try:
                case(one)
            except BaseException as error:
                failed[case.__name__] = error
            finally:
                one.doCleanups()
        threads = [threading.Thread(target=wait, args=(case,)) for case in (
            an_agent_is_stopped, an_agent_is_stopped_before_the_run,
            a_setup_takes_its_time, agents_are_stopped_one_by_one,
            srun_is_stopped, the_head_is_stopped_for_a_while,
            the_run_is_suspended)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for name, error in failed.items():
            print(f"--- {name}\n{error}", file=sys.stderr)
        self.assertEqual(list(failed), [])


if __name__ == "__main__":
    harness.main(defaultTest="Silence")
