"""torch's elastic/multiprocessing/api_test.py (1.13.1), each case by its name,
over shim/elastic.py: what a caller of torch's start_processes relies on.

| case of the original | here |
|---|---|
| RunProcResultsTest: test_is_failed, test_get_failures | kept |
| StdTest: test_from_value, test_from_value_map, test_from_str_bad_input | kept |
| test_to_map, test_invalid_log_dir, test_args_env_len_mismatch | kept |
| test_pcontext_wait, test_multiprocess_context_close | kept |
| test_subprocess_context_close | kept |
| test_function_with_tensor | kept, and with one rank too: the original's world has none; needs torch |
| test_void_function, test_function_large_ret_val | kept |
| test_function_raise | kept |
| test_binary_exit, test_binary_raises | kept |
| test_binary_incorrect_entrypoint, test_validate_full_rank | kept |
| test_multiprocessing_context_poll_raises_exception | left out: it replaces the processes inside torch's context by mocks and asks how torch reads them |
| StartProcessesListTest: test_function, test_binary, test_binary_redirect_and_tee | kept |
| StartProcessesNotCITest: test_wrap_bad, test_binary_signal, test_function_redirect_and_tee, test_function_exit | kept |
| test_function, in two classes | one case with the streams of both |
| test_no_zombie_process_binary, test_no_zombie_process_function | kept; waits for the end instead of five seconds, and sends each signal (the original sends SIGTERM four times) |
"""
import ctypes
import os
import queue
import select
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

import origins
from shim.elastic import (ProcessFailure, RunProcsResult, SignalException, Std,
                          _validate_full_rank, _wrap, _write_error,
                          start_processes, to_map)

METHODS = ("fork", "spawn")
FAIL = 138
LIMIT = 60  # seconds for what takes less than one
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)


# What the ranks do ---------------------------------------------------------

def echo0(msg):
    print(msg)


def echo1(msg, exitcode=0):
    rank = int(os.environ["RANK"])
    if exitcode != 0:
        print("exit %d from %d" % (exitcode, rank), file=sys.stderr)
        sys.exit(exitcode)
    print("%s stdout from %d" % (msg, rank))
    print("%s stderr from %d" % (msg, rank), file=sys.stderr)
    return "%s_%d" % (msg, rank)


def echo2(msg, fail=False):
    if fail:
        raise RuntimeError(msg)
    return msg


def echo3(msg, fail=False):
    if fail:
        ctypes.string_at(0)
    return msg


def echo_large(size):
    return {index: "test%d" % index for index in range(size)}


def dummy_compute():
    import torch
    return torch.rand(100, 100)


def wait_fn(wait_time=300):
    time.sleep(wait_time)


# The programs that the original has in its folder bin.
PROGRAM = """\
#!%s
import sys
sys.path[:0] = %r
import test_torch_elastic as test
sys.argv[1:] = [int(word) if word.isdigit() else word for word in sys.argv[1:]]
test.%s
"""
PROGRAMS = {
    "echo1": "echo1(sys.argv[-1], *sys.argv[2:-1])",
    "echo2": "echo2(sys.argv[-1], len(sys.argv) > 2)",
    "echo3": "echo3(sys.argv[-1], len(sys.argv) > 2)",
    "zombie_test": "wait_fn()",
}


def start_processes_zombie_test(entrypoint, log_dir, nproc=2):
    """In a process of its own: torch's caller, which a signal ends."""
    pc = start_processes("zombie_test", entrypoint,
                         {rank: () for rank in range(nproc)},
                         {rank: {} for rank in range(nproc)}, log_dir)
    try:
        print(os.getpid(), *pc.pids().values(), flush=True)
        pc.wait(timeout=300)
    except SignalException as error:
        pc.close(error.sigval)


class RunProcResultsTest(origins.Case):
    def test_is_failed(self):
        self.assertFalse(RunProcsResult({0: "a", 1: "b"}).is_failed())
        failure = ProcessFailure(0, 998, 1, "ignored.json")
        self.assertTrue(RunProcsResult(failures={0: failure}).is_failed())

    def test_get_failures(self):
        for second, name in ((3, "error0.json"), (2, "error1.json")):
            with mock.patch("time.time_ns", return_value=second * 10**9), \
                    mock.patch("sys.excepthook"):
                _write_error(RuntimeError(name), os.path.join(self.dir, name))
        with mock.patch("time.time", return_value=1):
            failures = [ProcessFailure(rank, 997 + rank, code, name)
                        for rank, code, name in ((0, 1, "error0.json"),
                                                 (1, 3, "error1.json"),
                                                 (2, 15, "no_exist.json"))]
        self.assertEqual([failure.timestamp for failure in failures],
                         [3, 2, 1])
        self.assertEqual(failures[0].message, "RuntimeError: error0.json")


class StdTest(unittest.TestCase):
    def test_from_value(self):
        for text, value in (("0", Std.NONE), ("1", Std.OUT), ("2", Std.ERR),
                            ("3", Std.ALL)):
            self.assertEqual(Std.from_str(text), value)

    def test_from_value_map(self):
        self.assertEqual(Std.from_str("0:1"), {0: Std.OUT})
        self.assertEqual(Std.from_str("0:1,1:1"), {0: Std.OUT, 1: Std.OUT})

    def test_from_str_bad_input(self):
        for bad in "0:1,", "11", "0:1,1", "1,0:1":
            with self.subTest(bad), self.assertRaises(ValueError):
                Std.from_str(bad)


class StartProcessesTest(origins.Case):
    def log_dir(self):
        return tempfile.mkdtemp(dir=self.dir)

    def bin(self, name):
        path = os.path.join(self.dir, name + ".py")
        folders = [os.path.dirname(os.path.abspath(__file__)),
                   os.path.join(os.environ["SUPPORT"], "python")]
        with open(path, "w") as file:
            file.write(PROGRAM % (sys.executable, folders, PROGRAMS[name]))
        os.chmod(path, 0o755)
        return path

    def start(self, entrypoint, args, **more):
        envs = {rank: {"RANK": str(rank)} for rank in range(len(args))}
        return start_processes("test", entrypoint, args, envs,
                               more.pop("log_dir", None) or self.log_dir(),
                               **more)

    def assert_in_file(self, line, path):
        with open(path) as file:
            self.assertIn(line + "\n", file.readlines())

    def assert_pids_noexist(self, pids):
        for pid in pids.values():
            with self.assertRaises(ProcessLookupError):
                os.kill(pid, 0)

    def assert_stopped(self, pc):
        self.assertTrue(pc._stderr_tail.stopped())
        self.assertTrue(pc._stdout_tail.stopped())

    def one_failure(self, pc):
        """The failure of rank 0, which is the only one."""
        results = pc.wait(period=0.1)
        self.assertTrue(results.is_failed())
        self.assert_pids_noexist(pc.pids())
        self.assertEqual(list(results.failures), [0])
        self.assertFalse(results.return_values)
        return results, results.failures[0]

    def assert_streams(self, results, redirects, words):
        for rank, word in enumerate(words):
            for name, which, paths in (("stdout", Std.OUT, results.stdouts),
                                       ("stderr", Std.ERR, results.stderrs)):
                if redirects[rank] & which:
                    self.assert_in_file("%s %s from %d" % (word, name, rank),
                                        paths[rank])
                else:
                    self.assertFalse(paths[rank])

    def test_to_map(self):
        self.assertEqual(to_map(Std.OUT, 2), {0: Std.OUT, 1: Std.OUT})
        self.assertEqual(to_map({1: Std.OUT}, 2), {0: Std.NONE, 1: Std.OUT})
        both = {0: Std.ERR, 1: Std.OUT}
        self.assertEqual(to_map(both, 2), both)

    def test_invalid_log_dir(self):
        with tempfile.NamedTemporaryFile(dir=self.dir) as not_a_dir:
            for log_dir, error in (("does_not_exist", FileNotFoundError),
                                   (not_a_dir.name, NotADirectoryError),
                                   (self.dir, RuntimeError)):
                with self.subTest(log_dir), self.assertRaises(error):
                    self.start(echo1, {0: ("hello",)}, log_dir=log_dir)

    def test_args_env_len_mismatch(self):
        for args, envs in (((0,), (0, 1)), ((0, 1), (0,))):
            with self.subTest(args=args), self.assertRaises(RuntimeError):
                start_processes("echo", echo1,
                                {rank: ("hello",) for rank in args},
                                {rank: {} for rank in envs}, self.log_dir())

    def test_pcontext_wait(self):
        pc = self.start(time.sleep, {0: (1,)}, start_method="fork")
        self.assertIsNone(pc.wait(timeout=0.1, period=0.01))
        self.assertIsNotNone(pc.wait(period=0.1))
        self.assert_stopped(pc)

    def test_multiprocess_context_close(self):
        pc = self.start(time.sleep, {0: (100,)}, start_method="fork")
        pc.close()
        self.assert_pids_noexist(pc.pids())
        self.assert_stopped(pc)

    def test_subprocess_context_close(self):
        pc = self.start(self.bin("zombie_test"), {0: (1,)})
        pc.close()
        self.assert_pids_noexist(pc.pids())

    @origins.needs("torch")
    def test_function_with_tensor(self):
        import torch
        for method in METHODS:
            for args in {}, {0: ()}:
                pc = self.start(dummy_compute, args, start_method=method)
                results = pc.wait()
                self.assert_pids_noexist(pc.pids())
                self.assertEqual(set(results.return_values), set(args))
                for value in results.return_values.values():
                    self.assertIsInstance(value, torch.Tensor)
                    self.assertEqual(value.shape, (100, 100))

    def test_void_function(self):
        for method in METHODS:
            with self.subTest(method):
                pc = self.start(echo0, {0: ("hello",), 1: ("world",)},
                                start_method=method)
                self.assertEqual(pc.wait(period=0.1).return_values,
                                 {0: None, 1: None})

    def test_function_large_ret_val(self):
        size = 200000
        for method in METHODS:
            with self.subTest(method):
                pc = self.start(echo_large, {rank: (size,)
                                             for rank in range(4)},
                                start_method=method)
                values = pc.wait(period=0.1).return_values
                self.assertEqual([len(values[rank]) for rank in range(4)],
                                 [size] * 4)

    def test_function_raise(self):
        for method in METHODS:
            with self.subTest(method):
                log_dir = self.log_dir()
                pc = self.start(echo2, {0: ("hello", True), 1: ("world",)},
                                start_method=method, log_dir=log_dir)
                _, failure = self.one_failure(pc)
                self.assertEqual(failure.exitcode, 1)
                self.assertEqual(failure.signal_name(), "<N/A>")
                self.assertEqual(failure.pid, pc.pids()[0])
                self.assertEqual(failure.error_file,
                                 os.path.join(log_dir, "0", "error.json"))
                extra = failure.error_file_data["message"]["extraInfo"]
                self.assertEqual(int(extra["timestamp"]), failure.timestamp)
                self.assert_stopped(pc)

    def test_binary_exit(self):
        pc = self.start(self.bin("echo1"),
                        {0: ("--exitcode", FAIL, "foo"), 1: ("bar",)},
                        redirects={0: Std.ALL})
        results, failure = self.one_failure(pc)
        self.assertEqual(failure.exitcode, FAIL)
        self.assertEqual(failure.signal_name(), "<N/A>")
        self.assertEqual(failure.error_file_data["message"], "<NONE>")
        self.assert_in_file("exit %d from 0" % FAIL, results.stderrs[0])
        self.assertEqual(os.path.getsize(results.stdouts[0]), 0)
        self.assertFalse(results.stderrs[1] or results.stdouts[1])
        self.assert_stopped(pc)

    def test_binary_raises(self):
        pc = self.start(self.bin("echo2"),
                        {0: ("--raises", "true", "foo"), 1: ("bar",)})
        _, failure = self.one_failure(pc)
        self.assertEqual(failure.exitcode, 1)
        self.assertEqual(failure.error_file_data["message"], "<NONE>")
        self.assertEqual(failure.signal_name(), "<N/A>")

    def test_binary_incorrect_entrypoint(self):
        with self.assertRaises(FileNotFoundError):
            self.start("does_not_exist.py", {0: ("foo",), 1: ("bar",)})

    def test_validate_full_rank(self):
        with self.assertRaises(RuntimeError):
            _validate_full_rank({}, 10, "")

    def test_function(self):
        for method in METHODS:
            for streams in Std.NONE, Std.OUT, Std.ERR, Std.ALL:
                with self.subTest(method, streams=streams):
                    pc = self.start(echo1, {0: ("hello",), 1: ("hello",)},
                                    start_method=method, redirects=streams)
                    results = pc.wait(period=0.1)
                    self.assert_pids_noexist(pc.pids())
                    self.assertEqual(results.return_values,
                                     {0: "hello_0", 1: "hello_1"})
                    self.assert_streams(results, [streams] * 2, ["hello"] * 2)

    def test_binary(self):
        for streams in Std.NONE, Std.ALL:
            pc = self.start(self.bin("echo1"), {0: ("hello",), 1: ("hello",)},
                            redirects=streams)
            results = pc.wait(period=0.1)
            self.assert_pids_noexist(pc.pids())
            self.assertEqual(len(results.return_values), 2)
            self.assertFalse(results.is_failed())
            self.assert_streams(results, [streams] * 2, ["hello"] * 2)

    def redirect_and_tee(self, entrypoint, method):
        pc = self.start(entrypoint, {0: ("hello",), 1: ("world",)},
                        start_method=method,
                        redirects={0: Std.ERR, 1: Std.NONE},
                        tee={0: Std.OUT, 1: Std.ERR})
        self.assertFalse(pc.wait().is_failed())
        self.assert_streams(pc, [Std.ALL, Std.ERR], ["hello", "world"])
        self.assert_stopped(pc)

    def test_binary_redirect_and_tee(self):
        self.redirect_and_tee(self.bin("echo1"), "fork")

    def test_function_redirect_and_tee(self):
        for method in METHODS:
            with self.subTest(method):
                self.redirect_and_tee(echo1, method)

    def test_wrap_bad(self):
        paths = [os.path.join(self.dir, name)
                 for name in ("stdout.log", "stderr.log")]
        for out in "", paths[0]:
            for err in "", paths[1]:
                with self.subTest(out=out, err=err):
                    returned, finished = queue.SimpleQueue(), mock.Mock()
                    _wrap(0, echo1, {0: ("hello",)}, {0: {"RANK": "0"}},
                          {0: out}, {0: err}, {0: returned}, finished)
                    self.assertEqual(returned.get(), "hello_0")
                    if out:
                        self.assert_in_file("hello stdout from 0", out)
                    if err:
                        self.assert_in_file("hello stderr from 0", err)
                    finished.wait.assert_called_once()

    def test_binary_signal(self):
        pc = self.start(self.bin("echo3"),
                        {0: ("--segfault", "true", "foo"), 1: ("bar",)})
        _, failure = self.one_failure(pc)
        self.assertEqual(failure.exitcode, -signal.SIGSEGV)
        self.assertEqual(failure.signal_name(), "SIGSEGV")
        self.assertEqual(failure.error_file_data["message"], "<NONE>")

    def test_function_exit(self):
        for method in METHODS:
            with self.subTest(method):
                pc = self.start(echo1, {0: ("hello", FAIL), 1: ("hello",)},
                                start_method=method, redirects={0: Std.ERR})
                results, failure = self.one_failure(pc)
                self.assertEqual(failure.exitcode, FAIL)
                self.assertEqual(failure.signal_name(), "<N/A>")
                self.assertEqual(failure.pid, pc.pids()[0])
                self.assertEqual(failure.error_file, "<N/A>")
                self.assertEqual(failure.message,
                                 "Process failed with exitcode %d" % FAIL)
                self.assertLessEqual(failure.timestamp, time.time())
                self.assert_in_file("exit %d from 0" % FAIL,
                                    results.stderrs[0])
                self.assertFalse(results.stdouts[0] or results.stderrs[1] or
                                 results.stdouts[1])
                self.assert_stopped(pc)

    def zombie_workflow(self, entrypoint, sig):
        """The caller of the ranks dies by a signal: so do they."""
        caller = subprocess.Popen(
            [sys.executable, __file__, "zombies", entrypoint, self.log_dir()],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        self.addCleanup(caller.communicate)
        self.addCleanup(caller.kill)
        pids = [int(word) for word in caller.stdout.readline().split()]
        self.assertEqual((len(pids), pids[0]), (3, caller.pid))
        handles = [os.pidfd_open(pid) for pid in pids[1:]]
        os.kill(pids[0], sig)
        for handle in handles:
            self.assertTrue(select.select([handle], [], [], LIMIT)[0], pids)
            os.close(handle)
        # The last of the job closes its end of standard output.
        caller.communicate(timeout=LIMIT)

    def test_no_zombie_process_binary(self):
        for sig in SIGNALS:
            with self.subTest(sig):
                self.zombie_workflow(self.bin("zombie_test"), sig)

    def test_no_zombie_process_function(self):
        for sig in (*SIGNALS, signal.SIGKILL):
            with self.subTest(sig):
                self.zombie_workflow("", sig)


if __name__ == "__main__":
    if sys.argv[1:2] == ["zombies"]:
        start_processes_zombie_test(sys.argv[2] or wait_fn, sys.argv[3])
    else:
        unittest.main()
