"""The functions of the package that need no rank: values held to JSON, texts
of exceptions, names of functions, and sizes of pools."""
import collections
import dataclasses
import datetime
import decimal
import functools
import os
import pathlib
import shutil
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, os.path.join(os.environ["SUPPORT"], "python"))
from jobrun import _error, _function, _result, _threads


@dataclasses.dataclass
class Record:
    a: int


class Text(str):
    pass


class Array:
    tolist = None


Array.__name__ = Array.__qualname__ = "ndarray"


def a_function(a, b=2, *, c=3):
    return a, b, c


class Holder:
    def method(self):
        pass

    @classmethod
    def made(cls):
        pass


def nested(levels, inside=1):
    for _ in range(levels):
        inside = [inside]
    return inside


class Json(unittest.TestCase):
    def refused(self, value, expected):
        with self.assertRaises(_result.NotJson) as caught:
            _result._check(value, "result", set())
        self.assertEqual(str(caught.exception), expected)

    def test_what_is_no_json_names_its_place(self):
        own = []
        own.append({"a": own})
        for value, expected in (
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
                (Record(1), "result: __main__.Record is not JSON; use "
                 "dataclasses.asdict(...)"),
                (decimal.Decimal(1), "result: decimal.Decimal is not JSON; "
                 "use float(...) or str(...)"),
                (datetime.datetime(2026, 1, 2), "result: datetime.datetime is "
                 "not JSON; use .isoformat()"),
                (pathlib.PurePosixPath("x"), "result: %s.PurePosixPath is not "
                 "JSON; use str(...)" % pathlib.PurePosixPath.__module__),
                ((n for n in ()), "result: generator is not JSON; use "
                 "list(...)"),
                (Array(), "result: __main__.ndarray is not JSON; use "
                 ".tolist()"),
                (float("nan"), "result: nan is not JSON"),
                ([float("-inf")], "result[0]: -inf is not JSON"),
                (2**63, "result: an integer beyond 64 bits; use str(...)"),
                (-2**63 - 1, "result: an integer beyond 64 bits; use "
                 "str(...)"),
                ("\ud800", "result: a str with a lone surrogate is not JSON"),
                ({"\udfff": 1}, "result: a str with a lone surrogate is not "
                 "JSON"),
                ({"a": {1: 2}}, "result.a: its key 1 is of type int; the keys "
                 "of JSON are strings"),
                ({None: 2}, "result: its key None is of type NoneType; the "
                 "keys of JSON are strings"),
                ({"a\0b": 2}, "result: its key 'a\\x00b' has a NUL, which a "
                 "key of a result cannot have"),
                (own, "result[0].a: it contains itself"),
                (nested(401), "result: nested deeper than 400")):
            with self.subTest(expected):
                self.refused(value, expected)

    def test_what_is_json_passes(self):
        twice = [1]
        for value in (None, True, 0, -2**63, 2**63 - 1, 0.5, -0.0, 1e308, "",
                      "\0", "\u20ac\U0001f600", [], (), {}, Text("x"),
                      [twice, twice], {"a": [None, False, {"b": (1, "x")}]},
                      collections.OrderedDict(a=1), nested(400)):
            _result._check(value, "result", set())

    def test_only_a_rank_delivers(self):
        with mock.patch.dict(os.environ):
            os.environ.pop("JOBRUN_RESULT_FILE", None)
            with self.assertRaisesRegex(RuntimeError, "^JOBRUN_RESULT_FILE is "
                                        "not set: a result can be delivered "
                                        "in a rank of jobrun only$"):
                _result._encode(1)
            os.environ["JOBRUN_RESULT_FILE"] = "/x/result.json"
            os.environ[_error._PROCESS] = "1 /x/result.json"
            with self.assertRaisesRegex(RuntimeError, "but the rank is "
                                        "process 1: give the value to that"):
                _result._encode(1)
            # Of another job, which this process may have been started by.
            os.environ[_error._PROCESS] = "1 /y/result.json"
            self.assertEqual(_result._encode(1), b"1\n")
            self.assertEqual(_result._encode({"\u20ac": [0.1, None]}),
                             '{"\u20ac": [0.1, null]}\n'.encode())


class Exceptions(unittest.TestCase):
    def test_texts_are_cut_in_the_middle(self):
        for text, most, expected in (
                ("", 4, ""), ("abcd", 4, "abcd"),
                ("abcde", 4, "ab\n...\nde"), ("abcdef", 4, "ab\n...\nef"),
                ("a\0b", 9, "a\\x00b"), ("\udc80", 9, "\\udc80"),
                ("\u20ac", 1, "\u20ac")):
            with self.subTest(text):
                self.assertEqual(_error._fit(text, most), expected)

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
                (Odd(), "Odd: <its text could not be read>")):
            with self.subTest(expected):
                self.assertEqual(_error._headline(error), expected)

    def test_causes_come_nearest_first(self):
        def chain(*links):
            errors = [ValueError(str(i)) for i in range(len(links) + 1)]
            for i, how in enumerate(links):
                if how == "cause":
                    errors[i].__cause__ = errors[i + 1]
                else:
                    errors[i].__context__ = errors[i + 1]
            return errors[0]

        def told(error):
            return [(cause["how"], cause["message"])
                    for cause in _error._causes(error)]

        self.assertEqual(told(chain()), [])
        self.assertEqual(told(chain("cause")), [("cause", "ValueError: 1")])
        self.assertEqual(told(chain("context", "cause")),
                         [("context", "ValueError: 1"),
                          ("cause", "ValueError: 2")])
        self.assertEqual(len(told(chain(*["context"] * 15))), 15)
        self.assertEqual(len(told(chain(*["context"] * 17))), 16)
        hidden = chain("context")
        hidden.__suppress_context__ = True  # raise ... from None
        self.assertEqual(told(hidden), [])
        circle = chain("cause", "cause")
        circle.__cause__.__cause__.__cause__ = circle
        self.assertEqual(told(circle), [("cause", "ValueError: 1"),
                                        ("cause", "ValueError: 2")])

    def test_who_is_the_rank(self):
        me = os.getpid()
        with mock.patch.dict(os.environ, JOBRUN_RESULT_FILE="/x/result.json"), \
                mock.patch.object(_error, "_rank_pid", 7):
            for text, expected in (("", 7), ("12 /x/result.json", 12),
                                   ("12 /y/result.json", 7), ("12", 7),
                                   ("x /x/result.json", 7),
                                   ("-12 /x/result.json", 7)):
                with self.subTest(text):
                    os.environ[_error._PROCESS] = text
                    self.assertEqual(_error.rank_pid(), expected)
            self.assertFalse(_error.is_rank())
            _error.claim()
            self.assertEqual(os.environ[_error._PROCESS],
                             "%d /x/result.json" % me)
            self.assertTrue(_error.is_rank())

    def test_files_are_written_whole_or_not_at_all(self):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        path = os.path.join(folder, "f")
        status = _error.write_beside(path, [b"ab", b"c"])
        self.assertEqual(status.st_ino, os.stat(path).st_ino)
        self.assertEqual(status.st_size, 3)
        with self.assertRaises(TypeError):
            _error.write_beside(path, [b"half", None])
        with open(path, "rb") as file:
            self.assertEqual(file.read(), b"abc")
        self.assertEqual(os.listdir(folder), ["f"])


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


class Threads(unittest.TestCase):
    def test_names_are_told_once_and_few(self):
        many = ["t%d" % i for i in range(9)]
        for names, expected in (
                (["a"], "1 thread (a)"), (["b", "a"], "2 threads (a, b)"),
                (["a"] * 3, "3 threads (a)"),
                (many[:8], "8 threads (%s)" % ", ".join(many[:8])),
                (many, "9 threads (%s, ...)" % ", ".join(many[:8]))):
            self.assertEqual(_threads.tell(names), expected)

    def test_sizes_of_pools(self):
        for own, openmp, expected in (
                (None, None, None), ("4", None, 4), (None, "3", 3),
                ("4", "3", 4), ("x", "3", 3), ("0", "3", 3), ("-1", "3", 3),
                ("", "", None), ("4,2", None, 4), (",2", "5,1", 5),
                ("x", "y", None)):
            with self.subTest((own, openmp)), mock.patch.dict(os.environ):
                for name, text in (("MKL_NUM_THREADS", own),
                                   ("OMP_NUM_THREADS", openmp)):
                    os.environ.pop(name, None)
                    if text is not None:
                        os.environ[name] = text
                self.assertEqual(_threads._size("MKL_NUM_THREADS"), expected)

    def test_one_thread_each_for_a_while(self):
        with mock.patch.dict(os.environ, OMP_NUM_THREADS="7"):
            os.environ.pop("MKL_NUM_THREADS", None)
            with self.assertRaises(KeyError), _threads.one_each():
                self.assertEqual(os.environ["OMP_NUM_THREADS"], "1")
                self.assertEqual(os.environ["MKL_NUM_THREADS"], "1")
                raise KeyError
            self.assertEqual(os.environ["OMP_NUM_THREADS"], "7")
            self.assertNotIn("MKL_NUM_THREADS", os.environ)


if __name__ == "__main__":
    unittest.main()
