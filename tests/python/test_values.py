"""What a Python rank delivers and tells, value by value: the worker's modules
by themselves, in this process."""
import collections
import ctypes
import dataclasses
import datetime
import decimal
import enum
import functools
import json
import math
import os
import pathlib
import shutil
import socket
import sys
import tempfile
import threading
import types
import unittest
from unittest import mock

sys.path.insert(0, os.path.join(os.environ["SUPPORT"], "python"))
from jobrun import _error, _function, _main, _result, _threads


def tell(error):
    _error.note(error)
    _error.show(error)


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


class Text(str):
    pass


@dataclasses.dataclass
class Data:
    n: int = 1


class Array:
    tolist = None


Array.__name__ = Array.__qualname__ = "ndarray"


class Results(Case):
    def test_what_is_not_json_names_its_place(self):
        loop = []
        loop.append({"me": loop})
        for value, text in (
                ({1, 2}, "result: set is not JSON; use sorted(...) or "
                 "list(...)"),
                ([0, frozenset()], "result[1]: frozenset is not JSON; use "
                 "sorted(...) or list(...)"),
                ({"a": b"x"}, "result.a: bytes is not JSON; decode it, or "
                 "write it to a file of `artifacts`"),
                ({"a b": [b"x"]}, "result[\"a b\"][0]: bytes is not JSON; "
                 "decode it, or write it to a file of `artifacts`"),
                ({"": 1j}, "result[\"\"]: complex is not JSON"),
                (object(), "result: object is not JSON"),
                (Data(), "result: __main__.Data is not JSON; use "
                 "dataclasses.asdict(...)"),
                (decimal.Decimal(1), "result: decimal.Decimal is not JSON; "
                 "use float(...) or str(...)"),
                (datetime.datetime(2026, 1, 2), "result: datetime.datetime is "
                 "not JSON; use .isoformat()"),
                (pathlib.PurePosixPath("x"), "result: %s.PurePosixPath is not "
                 "JSON; use str(...)" % pathlib.PurePosixPath.__module__),
                ((i for i in ()), "result: generator is not JSON; use "
                 "list(...)"),
                (Array(), "result: __main__.ndarray is not JSON; use "
                 ".tolist()"),
                (math.nan, "result: nan is not JSON"),
                ([1, -math.inf], "result[1]: -inf is not JSON"),
                (2 ** 63, "result: an integer beyond 64 bits; use str(...)"),
                (-2 ** 63 - 1, "result: an integer beyond 64 bits; use "
                 "str(...)"),
                ("\ud800", "result: a str with a lone surrogate is not JSON"),
                ({"\udfff": 1}, "result: a str with a lone surrogate is not "
                 "JSON"),
                ({"a\0b": 2}, "result: its key 'a\\x00b' has a NUL, which a "
                 "key of a result cannot have"),
                ({"a": {1: 2}}, "result.a: its key 1 is of type int; the keys "
                 "of JSON are strings"),
                ({None: 2}, "result: its key None is of type NoneType; the "
                 "keys of JSON are strings"),
                (loop, "result[0].me: it contains itself"),
                (nested(401), "result: nested deeper than 400")):
            with self.subTest(text):
                with self.assertRaises(_result.NotJson) as caught:
                    _result.write(value)
                self.assertEqual(str(caught.exception), text)
                self.assertFalse(os.path.exists(self.result))

    def test_what_is(self):
        shared = [1]
        for value, text in (
                (None, b"null\n"), (True, b"true\n"), (0, b"0\n"),
                (2 ** 63 - 1, b"9223372036854775807\n"),
                (-2 ** 63, b"-9223372036854775808\n"),
                (1.5, b"1.5\n"), (-0.0, b"-0.0\n"), (1e308, b"1e+308\n"),
                ("", b'""\n'), (Text("x"), b'"x"\n'),
                ("\u00e9\0", b'"\xc3\xa9\\u0000"\n'),
                ("\U0001f600", b'"\xf0\x9f\x98\x80"\n'),
                ((1, [2, None, False]), b"[1, [2, null, false]]\n"),
                ({"a": {"b": []}, "": 1}, b'{"a": {"b": []}, "": 1}\n'),
                (collections.OrderedDict(b=1, a=2), b'{"b": 1, "a": 2}\n'),
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
            with self.assertRaisesRegex(RuntimeError, "^JOBRUN_RESULT_FILE is "
                                        "not set: a result can be delivered "
                                        "in a rank of jobrun only$"):
                _result.write(1)
        with mock.patch("os.getpid", return_value=4711):
            with self.assertRaisesRegex(RuntimeError, "in process 4711, but "
                                        "the rank is process %d: give the "
                                        "value to that" % _error.rank_pid()):
                _result.write(1)
        self.assertFalse(os.path.exists(self.result))
        # Of another job, which this process may have been started by.
        with mock.patch.dict(os.environ, {_error._PROCESS: "1 /x/result.json"}):
            _result.write(1)
        self.assertEqual(self.read(self.result), b"1\n")


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
        file, _ = self.told(tell, self.raised(fail))
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

    def test_causes_come_nearest_first(self):
        def chain(*links):
            errors = [ValueError(str(i)) for i in range(len(links) + 1)]
            for i, how in enumerate(links):
                setattr(errors[i], f"__{how}__", errors[i + 1])
            return errors[0]

        def causes(error):
            return [(cause["how"], cause["message"])
                    for cause in self.told(tell, error)[0]["causes"]]

        self.assertEqual(causes(chain()), [])
        self.assertEqual(causes(chain("context", "cause")),
                         [("context", "ValueError: 1"),
                          ("cause", "ValueError: 2")])
        self.assertEqual(len(causes(chain(*["context"] * 15))), 15)
        self.assertEqual(len(causes(chain(*["cause"] * 17))), 16)
        hidden = chain("context")
        hidden.__suppress_context__ = True  # raise ... from None
        self.assertEqual(causes(hidden), [])
        circle = chain("cause", "cause")
        circle.__cause__.__cause__.__cause__ = circle
        self.assertEqual(causes(circle), [("cause", "ValueError: 1"),
                                          ("cause", "ValueError: 2")])

    def test_headlines(self):
        class Odd(Exception):
            def __str__(self):
                raise RuntimeError

        for error, expected in (
                (ValueError("x"), "ValueError: x"),
                (ValueError(), "ValueError"),
                (KeyError("lr"), "KeyError: 'lr'"),
                (OSError(2, "gone"), "FileNotFoundError: [Errno 2] gone"),
                (ValueError("a\nb"), "ValueError: a\nb"),
                (ValueError("a\0\ud800"), "ValueError: a\\x00\\ud800"),
                (Odd(), "Odd: <its text could not be read>")):
            with self.subTest(expected):
                file, _ = self.told(tell, error)
                self.assertEqual(file["message"]["message"], expected)

    def test_texts_are_cut_in_the_middle(self):
        for text, most, expected in (
                ("", 4, ""), ("abcd", 4, "abcd"),
                ("abcde", 4, "ab\n...\nde"), ("abcdef", 4, "ab\n...\nef"),
                ("\u20ac", 1, "\u20ac")):
            with self.subTest(text):
                self.assertEqual(_error._fit(text, most), expected)
        most = 64 << 10
        for extra in (0, 1):
            text = "a" * (most - len("ValueError: ") + extra)
            file, _ = self.told(tell, ValueError(text))
            said = file["message"]["message"]
            self.assertEqual(len(said), most + (5 if extra else 0))

    def test_whose_error_it_is(self):
        self.assertTrue(_error.is_rank())
        with mock.patch("os.getpid", return_value=4711):
            self.assertFalse(_error.is_rank())
            self.assertIsNone(self.told(_error.refuse, "x")[0])
        pid = os.getpid()
        with mock.patch.object(_error, "_rank_pid", 99):
            self.assertEqual(_error.rank_pid(), pid) # as the variable has it
            for text in ("", "12", "x " + self.result, "-12 " + self.result,
                         "7 /other"):
                with mock.patch.dict(os.environ, {_error._PROCESS: text}):
                    self.assertEqual(_error.rank_pid(), 99)
        self.assertEqual(os.environ[_error._PROCESS],
                         "%d %s" % (pid, self.result))

    def test_an_interrupt_is_no_exception(self):
        self.assertIsNone(self.told(tell, KeyboardInterrupt())[0])
        self.assertEqual(self.hook.call_count, 1)

    def test_exceptions_of_every_base(self):
        class Stop(BaseException):
            pass

        class Later(KeyboardInterrupt):
            """Python ends with 1 for it, and not by the signal."""

        for error, text in ((Stop("x"), "Stop: x"), (Later(), "Later"),
                            (GeneratorExit(), "GeneratorExit")):
            with self.subTest(text):
                file, _ = self.told(tell, error)
                self.assertEqual(file["message"]["message"], text)

    def test_a_file_that_cannot_be_written(self):
        with mock.patch.dict(os.environ, JOBRUN_ERROR_FILE=self.dir):
            file, text = self.told(_error.refuse, "x")
        self.assertIsNone(file)
        self.assertIn("could not write " + self.dir, text)
        self.assertEqual(os.listdir(self.dir), [])
        with self.assertRaises(TypeError):
            _error.write_beside(self.error, [b"a", 7])
        self.assertEqual(os.listdir(self.dir), [])
        status = _error.write_beside(self.error, [b"ab", b"c"])
        self.assertEqual(status.st_ino, os.stat(self.error).st_ino)
        self.assertEqual(status.st_size, 3)
        with self.assertRaises(TypeError):
            _error.write_beside(self.error, [b"half", None])
        self.assertEqual(self.read(self.error), b"abc")
        self.assertEqual(os.listdir(self.dir), ["error.json"])

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


def a_function(a, b=2, *, c=3):
    return a, b, c


class Holder:
    def method(self):
        pass

    @classmethod
    def made(cls):
        pass


class Functions(unittest.TestCase):
    def test_what_has_no_name_is_refused(self):
        def inner():
            pass

        for fn, kind, start in (
                ("f", ValueError, "'f' is not of the form MODULE:FUNCTION"),
                (":f", ValueError, "':f' is not of the form MODULE:FUNCTION"),
                ("m:", ValueError, "'m:' is not of the form MODULE:FUNCTION"),
                (7, TypeError, "jobrun.launch wants a function of a module"),
                (functools.partial(a_function), TypeError,
                 "jobrun.launch wants a function of a module"),
                (Holder().method, ValueError,
                 "a method of an object (Holder.method) cannot be found"),
                (lambda: 0, ValueError, "a lambda ("),
                (inner, ValueError, "a function inside a function ("),
        ):
            with self.subTest(start), self.assertRaises(kind) as caught:
                _function.name_of(fn)
            self.assertEqual(str(caught.exception)[:len(start)], start)

    def test_advice_is_not_refused_in_its_turn(self):
        """fork finds no function of a prompt either."""
        with mock.patch.dict(sys.modules,
                             {"__main__": types.ModuleType("__main__")}):
            with self.assertRaises(ValueError) as caught:
                _function.name_of(lambda: 0)
        self.assertEqual(str(caught.exception), "a function that was defined "
                         "at a prompt, or by -c, cannot be found by the ranks: "
                         "put it into a file")

    def test_names(self):
        for fn, expected in (
                ("a.b:c.d", ("a.b", "c.d")),
                ("a:b:c", ("a", "b:c")),
                (a_function, ("__main__", "a_function")),
                (Holder.made, ("__main__", "Holder.made")),
                (os.path.join, ("posixpath", "join"))):
            self.assertEqual(_function.name_of(fn), expected)

    def test_functions_are_found_by_their_names(self):
        find = _function.find
        self.assertIs(find(os.getpid, "posix", "getpid"), os.getpid)
        self.assertEqual(find(Holder.made, "__main__", "Holder.made"),
                         Holder.made)
        self.assertIs(find("os:getcwd", "os", "getcwd"), os.getcwd)
        for fn, module, name, start in (
                ("x:y", "no_such_module_here", "y",
                 "the ranks could not find no_such_module_here:y: No module"),
                ("os:y.z", "os", "y.z", "the ranks could not find os:y.z: "),
                (os.getpid, "os", "getppid",
                 "os:getppid is another function than the one that was")):
            with self.subTest(start), \
                    self.assertRaises(ValueError) as caught:
                find(fn, module, name)
            self.assertEqual(str(caught.exception)[:len(start)], start)

    def test_calls_that_cannot_work(self):
        check = _function.check_call
        check(a_function, [1], {})
        check(a_function, [], {"a": 1, "c": 2})
        check(max, [], {})  # has no signature
        for args, kwargs, end in (
                ([], {}, "missing a required argument: 'a'"),
                ([1, 2, 3], {}, "too many positional arguments"),
                ([1], {"d": 1}, "got an unexpected keyword argument 'd'")):
            with self.assertRaises(TypeError) as caught:
                check(a_function, args, kwargs)
            self.assertEqual(str(caught.exception),
                             "a_function takes (a, b=2, *, c=3), and args %r "
                             "and kwargs %r do not fit: %s"
                             % (args, kwargs, end))


class Words(Case):
    """What a rank tells its runner: only some of it is answered."""

    def told(self, say):
        """What the runner hears, and how often its answer is waited for."""
        runner, rank = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self.addCleanup(runner.close)
        self.addCleanup(rank.close)
        with mock.patch.object(_main.Control, "_is_answered",
                               return_value=False) as waits:
            say(_main.Control(rank.fileno(), True))
        return runner.recv(9), waits.call_count

    def test_that_a_fork_has_begun_is_not_answered(self):
        self.assertEqual(self.told(lambda control: control.reach()), (b"b", 0))

    def test_a_fork_has_begun_before_anything_of_the_users_runs(self):
        path = os.path.join(self.dir, "reached.py")
        with open(path, "w") as file:
            file.write("open('ran', 'w').close()\n")
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.dir)
        for run, word in ((_main._run_script, path),
                          (_main._run_module, "reached")):
            reached = mock.Mock(side_effect=lambda: self.assertFalse(
                os.path.exists("ran")))
            with mock.patch.dict(sys.modules), \
                    mock.patch.object(sys, "argv", []), \
                    mock.patch.object(sys, "path", list(sys.path)):
                run([word], mock.Mock(reach=reached))
            self.assertEqual(reached.call_count, 1)
            os.unlink("ran")

    def test_that_it_failed_is(self):
        self.assertEqual(self.told(lambda control: control.tell(b"f")), (b"f", 1))

    def test_a_socket_that_was_closed_is_the_users_fault(self):
        runner, rank = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self.addCleanup(runner.close)
        self.addCleanup(rank.close)
        control = _main.Control(rank.fileno(), False)
        self.assertFalse(control.is_lost())
        null = os.open("/dev/null", os.O_RDWR)
        os.dup2(null, rank.fileno())  # by the function
        os.close(null)
        self.assertTrue(control.is_lost())
        with mock.patch("sys.stderr"):
            self.assertEqual(_main._returned(control, " 1 2"), 1)
        told = json.loads(self.read(self.error))
        self.assertEqual(told["message"]["message"], "the function returned, "
                         "but it had closed descriptor %d, which reports to "
                         "jobrun: do not close descriptors that you did not "
                         "open" % rank.fileno())
        self.assertNotIn("start", told)  # its code was called
        self.assertEqual(_main._returned(control, None), 0)  # of a script


class Threads(unittest.TestCase):
    def test_names(self):
        for names, text in (
                (["a"], "1 thread (a)"), (["b", "a"], "2 threads (a, b)"),
                (["a"] * 3, "3 threads (a)"),
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
                ({"OMP_NUM_THREADS": "-2"}, []), ({"OMP_NUM_THREADS": ""}, []),
                ({"OMP_NUM_THREADS": "1"}, [("omp", 1), ("blas", 1)]),
                ({"OMP_NUM_THREADS": "4,2"}, [("omp", 4), ("blas", 4)]),
                ({"OMP_NUM_THREADS": "4", "OPENBLAS_NUM_THREADS": "3"},
                 [("omp", 4), ("blas", 3)]),
                ({"OMP_NUM_THREADS": "4", "OPENBLAS_NUM_THREADS": "0"},
                 [("omp", 4), ("blas", 4)]),
                ({"OMP_NUM_THREADS": "5,1", "OPENBLAS_NUM_THREADS": ",2"},
                 [("omp", 5), ("blas", 5)]),
                ({"OMP_NUM_THREADS": "3", "OPENBLAS_NUM_THREADS": "x"},
                 [("omp", 3), ("blas", 3)]),
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
