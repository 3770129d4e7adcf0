"""torch's test_multiprocessing_spawn.py (1.13.1), each case by its name, over
shim/spawning.py. Each of the nine common cases is asked of every start method
(the original has no forkserver).

| case of the original | here |
|---|---|
| test_success, test_success_non_blocking, test_first_argument_index | kept |
| test_exception_single, test_exception_all | kept |
| test_terminate_signal, test_terminate_exit | kept |
| test_success_first_then_exception, test_nested | kept |
| SpawnTest: test_exception_raises, test_signal_raises | kept |
| SpawnTest: _test_process_exited, which nothing runs | run |
| ErrorTest: test_errors_pickleable | kept |

What the ranks do has no seconds to sleep through: who is to be stopped waits
for that.
"""
import os
import pickle
import select
import signal
import sys
import threading
import unittest

import origins
from shim import spawning as mp

LIMIT = 60  # seconds for what takes less than one


# What the ranks do ---------------------------------------------------------

def wait():
    threading.Event().wait(300)


def success(i):
    pass


def success_single_arg(i, arg):
    if arg:
        arg.put(i)


def exception_single(i, arg):
    if i == arg:
        raise ValueError("legitimate exception from process %d" % i)
    wait()


def exception_all(i):
    raise ValueError("legitimate exception from process %d" % i)


def terminate_signal(i):
    if i == 0:
        os.kill(os.getpid(), signal.SIGABRT)
    wait()


def terminate_exit(i, arg):
    if i == 0:
        sys.exit(arg)
    wait()


def success_first_then_exception(i, arg):
    if i == 0:
        return
    raise ValueError("legitimate exception")


def raises(i):
    raise ValueError("legitimate exception")


def process_exit(i):
    sys.exit(12)


def infinite_task(i):
    wait()


def nested_child(i, ready):
    ready.put(i)
    wait()


def nested(i, pids, start_method):
    ready = mp.Queue()
    context = mp.start_processes(nested_child, (ready,), nprocs=2, join=False,
                                 start_method=start_method)
    pids.put(context.pids())
    for _ in range(2):
        ready.get(LIMIT)
    os.kill(os.getpid(), signal.SIGTERM)


class Common:
    start_method = None

    def start(self, fn, args=(), nprocs=2, **more):
        return mp.start_processes(fn, args, nprocs,
                                  start_method=self.start_method, **more)

    def test_success(self):
        self.start(success)

    def test_success_non_blocking(self):
        context = self.start(success, join=False)
        for _ in range(3):
            self.assertTrue(context.join(timeout=None))

    def test_first_argument_index(self):
        queue = mp.Queue()
        self.start(success_single_arg, (queue,))
        self.assertEqual(sorted([queue.get(LIMIT), queue.get(LIMIT)]), [0, 1])

    def test_exception_single(self):
        for i in range(2):
            with self.assertRaisesRegex(
                    mp.ProcessRaisedException,
                    "\nValueError: legitimate exception from process %d$" % i):
                self.start(exception_single, (i,))

    def test_exception_all(self):
        with self.assertRaisesRegex(
                mp.ProcessRaisedException,
                "\nValueError: legitimate exception from process (0|1)$"):
            self.start(exception_all)

    def test_terminate_signal(self):
        with self.assertRaisesRegex(
                mp.ProcessExitedException,
                "process 0 terminated with signal SIGABRT"):
            self.start(terminate_signal)

    def test_terminate_exit(self):
        with self.assertRaisesRegex(
                mp.ProcessExitedException,
                "process 0 terminated with exit code 123"):
            self.start(terminate_exit, (123,))

    def test_success_first_then_exception(self):
        with self.assertRaisesRegex(mp.ProcessRaisedException,
                                    "ValueError: legitimate exception"):
            self.start(success_first_then_exception, (123,))

    def test_nested(self):
        """The rank that has started a job of its own dies: so does that."""
        queue = mp.Queue()
        context = self.start(nested, (queue, self.start_method), nprocs=1,
                             join=False)
        for pid in queue.get(LIMIT):
            try:
                handle = os.pidfd_open(pid)
            except ProcessLookupError:
                continue
            self.addCleanup(os.close, handle)
            self.assertTrue(select.select([handle], [], [], LIMIT)[0], pid)
        with self.assertRaisesRegex(mp.ProcessExitedException, "SIGTERM"):
            context.join()


class SpawnTest(Common, origins.Case):
    start_method = "spawn"

    def test_exception_raises(self):
        with self.assertRaises(mp.ProcessRaisedException):
            mp.spawn(raises, args=(), nprocs=1)

    def test_signal_raises(self):
        context = mp.spawn(infinite_task, args=(), nprocs=1, join=False)
        for pid in context.pids():
            os.kill(pid, signal.SIGTERM)
        with self.assertRaises(mp.ProcessExitedException):
            context.join()

    def test_process_exited(self):
        with self.assertRaises(mp.ProcessExitedException) as raised:
            mp.spawn(process_exit, args=(), nprocs=1)
        self.assertEqual(raised.exception.exit_code, 12)


class ForkTest(Common, origins.Case):
    start_method = "fork"


class ForkServerTest(Common, origins.Case):
    start_method = "forkserver"


class ErrorTest(unittest.TestCase):
    def test_errors_pickleable(self):
        for error in (mp.ProcessRaisedException("Oh no!", 1, 1),
                      mp.ProcessExitedException("Oh no!", 1, 1, 1)):
            same = pickle.loads(pickle.dumps(error))
            self.assertEqual((type(same), same.args), (type(error),
                                                       error.args))


if __name__ == "__main__":
    unittest.main()
