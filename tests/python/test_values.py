"""What a Python rank delivers and tells, value by value: the worker's modules
by themselves, in this process."""
import ctypes
import dataclasses
import decimal
import enum
import json
import math
import os
import pathlib
import shutil
import sys
import tempfile
import threading
import unittest
from unittest import mock

sys.path.insert(0, os.path.join(os.environ["SUPPORT"], "python"))
from jobrun import _error, _result, _threads


class Case(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="job run ")
        self.addCleanup(shutil.rmtree, self.dir)
        self.result = os.path.join(self.dir, "result.json")
        self.error = os.path.join(self.dir, "error.json")
        patch = mock.patch.dict(os.environ, JOBRUN_RESULT_FILE=self.result,
                                JOBRUN_ERROR_FILE=self.error)
        patch.start()
        self.addCleanup(patch.stop)
        _error.claim()
        _result._held = None

    def read(self, path):
        with open(path, "rb") as file:
            return file.read()


def nested(depth):
    value = []
    for _ in range(depth - 1):
        value = [value]
    return value


class Number(enum.IntEnum):
    ONE = 1


@dataclasses.dataclass
class Data:
    n: int = 1


class Results(Case):
    def test_what_is_not_json(self):
        loop = []
        loop.append({"me": loop})
        for value, text in (
                ({1, 2}, "result: set is not JSON; use sorted(...)"),
                ([frozenset()], "result[0]: frozenset is not JSON; use sorted"),
                ({"a": b""}, "result.a: bytes is not JSON; decode it"),
                ({"a b": 1j}, 'result["a b"]: complex is not JSON'),
                (Data(), "Data is not JSON; use dataclasses.asdict(...)"),
                (pathlib.Path("x"), "Path is not JSON; use str(...)"),
                (decimal.Decimal(1), "decimal.Decimal is not JSON; use float"),
                ((i for i in ()), "generator is not JSON; use list(...)"),
                (object(), "result: object is not JSON"),
                (math.nan, "result: nan is not JSON"),
                ([1, -math.inf], "result[1]: -inf is not JSON"),
                (2 ** 63, "result: an integer beyond 64 bits"),
                (-2 ** 63 - 1, "result: an integer beyond 64 bits"),
                ("\ud800", "result: a str with a lone surrogate"),
                ({"\udfff": 1}, "result: a str with a lone surrogate"),
                ({"a\0": 1}, "has a NUL"),
                ({1: 2}, "its key 1 is of type int"),
                ({None: 2}, "its key None is of type NoneType"),
                (loop, "result[0].me: it contains itself"),
                (nested(401), "result: nested deeper than 400")):
            with self.subTest(text):
                with self.assertRaises(_result.NotJson) as caught:
                    _result.write(value)
                self.assertIn(text, str(caught.exception))
                self.assertFalse(os.path.exists(self.result))

    def test_what_is(self):
        shared = [1]
        for value, text in (
                (None, b"null\n"), (True, b"true\n"), (0, b"0\n"),
                (2 ** 63 - 1, b"9223372036854775807\n"),
                (-2 ** 63, b"-9223372036854775808\n"),
                (1.5, b"1.5\n"), ("\u00e9\0", b'"\xc3\xa9\\u0000"\n'),
                ((1, [2, None, False]), b"[1, [2, null, false]]\n"),
                ({"a": {"b": []}, "": 1}, b'{"a": {"b": []}, "": 1}\n'),
                ([shared, shared], b"[[1], [1]]\n"),
                (Number.ONE, b"1\n"), ({"\u00e9": 1}, b'{"\xc3\xa9": 1}\n'),
                (nested(400), b"[" * 400 + b"]" * 400 + b"\n")):
            with self.subTest(text):
                _result.write(value)
                self.assertEqual(self.read(self.result), text)
        self.assertEqual(os.listdir(self.dir), ["result.json"])

    def test_of_a_function_the_last_counts_and_waits(self):
        _result.hold()
        _result.write(1)
        _result.write([2])
        self.assertFalse(os.path.exists(self.result))
        words = _result.deliver().split(" ")
        self.assertEqual(self.read(self.result), b"[2]\n")
        st = os.stat(self.result)
        self.assertEqual(words, ["", *map(str, (
            st.st_dev, st.st_ino, 4, st.st_mtime_ns, st.st_ctime_ns))])

    def test_who_may_deliver(self):
        with mock.patch.dict(os.environ):
            del os.environ["JOBRUN_RESULT_FILE"]
            with self.assertRaisesRegex(RuntimeError, "is not set"):
                _result.write(1)
        with mock.patch("os.getpid", return_value=4711):
            with self.assertRaisesRegex(RuntimeError, "process 4711.*%d"
                                        % _error.rank_pid()):
                _result.write(1)
        self.assertFalse(os.path.exists(self.result))


class Errors(Case):
    def told(self, call, *args):
        """error.json, and what stood on standard error."""
        hook = mock.Mock()
        with mock.patch("sys.stderr") as stderr, \
                mock.patch("sys.excepthook", hook):
            call(*args)
            self.after = sys.excepthook
        self.hook = hook
        text = "".join(c.args[0] for c in stderr.write.call_args_list)
        exists = os.path.exists(self.error)
        return json.loads(self.read(self.error)) if exists else None, text

    def raised(self, make):
        try:
            make()
        except BaseException as error:
            return error
        self.fail("nothing was raised")

    def test_a_refusal(self):
        file, text = self.told(_error.refuse, _error.StartError("no\0 such"))
        self.assertEqual(text, "jobrun: no\\x00 such\n")
        self.assertTrue(file["start"])
        self.assertEqual(file["pid"], os.getpid())
        self.assertEqual(file["message"]["message"], "no\\x00 such")
        self.assertEqual(file["message"]["extraInfo"], {
            "py_callstack": "", "timestamp": str(file["time_ns"] // 10 ** 9)})
        self.assertNotIn("start", self.told(_error.refuse, "x", False)[0])

    def test_an_exception_with_its_causes(self):
        def fail():
            try:
                try:
                    raise KeyError("a")
                except KeyError as first:
                    raise ValueError("b") from first
            except ValueError:
                raise RuntimeError("c")
        file, _ = self.told(_error.tell, self.raised(fail))
        self.assertEqual(file["message"]["message"], "RuntimeError: c")
        self.assertEqual(file["causes"], [
            {"how": "context", "message": "ValueError: b"},
            {"how": "cause", "message": "KeyError: 'a'"}])
        stack = file["message"]["extraInfo"]["py_callstack"]
        self.assertIn("KeyError: 'a'", stack)
        self.assertTrue(stack.endswith("RuntimeError: c\n"))
        self.assertNotIn("start", file)
        self.assertEqual(self.hook.call_count, 1)
        self.assertIsNone(self.after(None, None, None)) # no second time
        self.assertEqual(self.hook.call_count, 1)

    def test_causes_that_are_hidden_or_without_end(self):
        def hidden():
            try:
                raise KeyError("a")
            except KeyError:
                raise ValueError from None
        file, _ = self.told(_error.tell, self.raised(hidden))
        self.assertEqual(file["causes"], [])
        self.assertEqual(file["message"]["message"], "ValueError")
        one, two = ValueError("1"), ValueError("2")
        one.__cause__, two.__cause__ = two, one
        file, _ = self.told(_error.tell, one)
        self.assertEqual([c["message"] for c in file["causes"]],
                         ["ValueError: 2"])
        last = first = ValueError("0")
        for i in range(1, 20):
            last.__cause__ = ValueError(str(i))
            last = last.__cause__
        file, _ = self.told(_error.tell, first)
        self.assertEqual(file["causes"][0]["message"], "ValueError: 1")
        self.assertEqual(len(file["causes"]), 16)

    def test_texts_that_are_long_or_broken(self):
        class Broken(Exception):
            def __str__(self):
                raise OSError
        file, _ = self.told(_error.tell, Broken())
        self.assertIn("<its text could not be read>",
                      file["message"]["message"])
        file, _ = self.told(_error.tell, ValueError("\ud800x"))
        self.assertEqual(file["message"]["message"], "ValueError: \\ud800x")
        most = 64 << 10
        for extra in (0, 1):
            text = "a" * (most - len("ValueError: ") + extra)
            file, _ = self.told(_error.tell, ValueError(text))
            said = file["message"]["message"]
            self.assertEqual(len(said), most + (5 if extra else 0))
            self.assertEqual("\n...\n" in said, bool(extra))

    def test_whose_error_it_is(self):
        self.assertTrue(_error.is_rank())
        with mock.patch("os.getpid", return_value=4711):
            self.assertFalse(_error.is_rank())
            self.assertIsNone(self.told(_error.refuse, "x")[0])
        pid = os.getpid()
        with mock.patch.object(_error, "_rank_pid", 99):
            self.assertEqual(_error.rank_pid(), pid) # as the variable has it
            for text in "", "x " + self.result, "7 /other":
                with mock.patch.dict(os.environ, {_error._PROCESS: text}):
                    self.assertEqual(_error.rank_pid(), 99)
        self.assertEqual(os.environ[_error._PROCESS],
                         "%d %s" % (pid, self.result))

    def test_exits_are_no_exceptions(self):
        self.assertIsNone(self.told(_error.tell, SystemExit(3))[0])
        self.assertEqual(self.hook.call_count, 1)

    def test_a_file_that_cannot_be_written(self):
        with mock.patch.dict(os.environ, JOBRUN_ERROR_FILE=self.dir):
            file, text = self.told(_error.refuse, "x")
        self.assertIsNone(file)
        self.assertIn("could not write " + self.dir, text)
        self.assertEqual(os.listdir(self.dir), [])
        with self.assertRaises(TypeError):
            _error.write_beside(self.error, [b"a", 7])
        self.assertEqual(os.listdir(self.dir), [])

    def test_the_traceback_begins_with_the_users_code(self):
        error = self.raised(lambda: _error.write_beside(None, [b""]))
        trace = _error.trim(error)
        self.assertEqual(trace.tb_frame.f_code.co_filename, __file__)

        def user():
            raise ValueError
        code = compile("call()", _error._OURS + "x.py", "exec")
        error = self.raised(lambda: exec(code, {"call": user}))
        error.__traceback__ = error.__traceback__.tb_next.tb_next
        trace = _error.trim(error)
        self.assertEqual(trace.tb_frame.f_code.co_name, "user")


class Threads(unittest.TestCase):
    def test_names(self):
        for names, text in (
                (["a"], "1 thread (a)"), (["b", "a"], "2 threads (a, b)"),
                (["a", "a"], "2 threads (a)"),
                (list("hgfedcba"), "8 threads (a, b, c, d, e, f, g, h)"),
                (list("ihgfedcba"),
                 "9 threads (a, b, c, d, e, f, g, h, ...)")):
            self.assertEqual(_threads.tell(names), text)

    def test_others(self):
        self.assertEqual(_threads.others(), [])
        end = threading.Event()
        thread = threading.Thread(target=end.wait, name="by its name")
        thread.start()
        self.assertEqual(_threads.others(), ["by its name"])
        with mock.patch("threading.enumerate", return_value=[]):
            self.assertEqual(len(_threads.others()), 1)
        end.set()
        thread.join()

    def test_one_each(self):
        with mock.patch.dict(os.environ, OMP_NUM_THREADS="5"):
            os.environ.pop("MKL_NUM_THREADS", None)
            with self.assertRaises(KeyError), _threads.one_each():
                for name in _threads._NAMES:
                    self.assertEqual(os.environ[name], "1")
                raise KeyError
            self.assertEqual(os.environ["OMP_NUM_THREADS"], "5")
            self.assertNotIn("MKL_NUM_THREADS", os.environ)

    def test_sizes(self):
        set_by = mock.Mock()
        for values, sizes in (
                ({}, []), ({"OMP_NUM_THREADS": "x"}, []),
                ({"OMP_NUM_THREADS": "0"}, []),
                ({"OMP_NUM_THREADS": "-2"}, []),
                ({"OMP_NUM_THREADS": "1"}, [("omp", 1), ("blas", 1)]),
                ({"OMP_NUM_THREADS": "4,2"}, [("omp", 4), ("blas", 4)]),
                ({"OMP_NUM_THREADS": "4", "OPENBLAS_NUM_THREADS": "3"},
                 [("omp", 4), ("blas", 3)]),
                ({"OMP_NUM_THREADS": "4", "OPENBLAS_NUM_THREADS": "0"},
                 [("omp", 4), ("blas", 4)]),
                ({"OPENBLAS_NUM_THREADS": "3"}, [("blas", 3)])):
            set_by.reset_mock()
            pools = [(lambda n: set_by("omp", n.value), "OMP_NUM_THREADS"),
                     (lambda n: set_by("blas", n.value),
                      "OPENBLAS_NUM_THREADS")]
            with mock.patch.dict(os.environ, values), \
                    mock.patch.object(_threads, "pools", lambda p=pools: p):
                for name in _threads._NAMES:
                    if name not in values:
                        os.environ.pop(name, None)
                _threads.set_sizes()
            self.assertEqual([c.args for c in set_by.call_args_list], sizes)

    def test_modules_that_know_their_pools(self):
        torch, numexpr = mock.Mock(), mock.Mock()
        numexpr.set_num_threads.side_effect = ValueError
        with mock.patch.dict(os.environ, OMP_NUM_THREADS="4",
                             NUMEXPR_NUM_THREADS="3"), \
                mock.patch.dict(sys.modules, torch=torch, numexpr=numexpr), \
                mock.patch.object(_threads, "pools", lambda: []):
            _threads.set_sizes()
        torch.set_num_threads.assert_called_once_with(4)
        numexpr.set_num_threads.assert_called_once_with(3)

    def test_libraries_of_this_process(self):
        loaded = _threads._loaded()
        self.assertTrue(any("/libc" in path for path in loaded), loaded)
        self.assertEqual(loaded, sorted(set(loaded)))
        self.assertTrue(all(path.startswith("/") for path in loaded))
        libc = next(path for path in loaded if "/libc" in path)
        self.assertIsNotNone(_threads._function(libc, "getpid"))
        self.assertIsNone(_threads._function(libc, "no_such_function"))
        self.assertIsNone(_threads._function("/nonexistent.so", "getpid"))

    def test_pools_by_the_library_that_has_them(self):
        _threads.pools.cache_clear()
        self.addCleanup(_threads.pools.cache_clear)
        calls = {("/x/libgomp.so.1", "omp_set_num_threads"): "omp",
                 ("/x/libopenblas.so", "openblas_set_num_threads64_"): "blas"}
        with mock.patch.object(_threads, "_loaded", return_value=[
                "/x/libc.so", "/x/libgomp.so.1", "/x/libopenblas.so"]), \
                mock.patch.object(_threads, "_function",
                                  lambda *key: calls.get(key)):
            self.assertEqual(_threads.pools(), [
                ("omp", "OMP_NUM_THREADS"), ("blas", "OPENBLAS_NUM_THREADS")])

    def test_a_region_that_hangs(self):
        with mock.patch.object(_threads, "_loaded", return_value=[
                "/x/libc.so", "/x/libgomp.so.1"]):
            for hangs in (False, True):
                with mock.patch.object(_threads, "_hangs",
                                       return_value=hangs) as asked:
                    self.assertEqual(_threads.live_pool(),
                                     "/x/libgomp.so.1" if hangs else None)
                asked.assert_called_once_with("/x/libgomp.so.1")
        self.assertFalse(_threads._hangs("/nonexistent.so"))
        region = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p,
                                  ctypes.c_uint, ctypes.c_uint)

        def run(function, data, count, flags):
            if (data, count, flags) != (None, 2, 0):
                os._exit(7)
            if self.dies:
                os.abort()
        for self.dies in (False, True):
            with mock.patch.object(_threads, "_function",
                                   return_value=region(run)):
                self.assertEqual(_threads._hangs("x"), self.dies)


if __name__ == "__main__":
    unittest.main()
