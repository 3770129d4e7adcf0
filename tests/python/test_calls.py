"""What jobrun.launch makes of its arguments, and of what a job leaves behind,
value by value: its modules by themselves, in this process."""
import collections
import ctypes
import functools
import hashlib
import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import types
import unittest
from unittest import mock

sys.path.insert(0, os.path.join(os.environ["SUPPORT"], "python"))
import jobrun
from jobrun import _exchange, _function, _job, _launch


def train(lr, steps=1):
    return lr * steps


def collect(*args, **kwargs):
    return [sys.argv[1:], args, kwargs]


class Odd(Exception):
    """One that can be pickled, and not be read again."""
    def __init__(self, one, other):
        super().__init__(one + other)


Pair = collections.namedtuple("Pair", "x y")


class Case(unittest.TestCase):
    def setUp(self):
        self.dir = os.path.realpath(tempfile.mkdtemp(prefix="job run "))
        self.addCleanup(shutil.rmtree, self.dir)

    def write(self, name, text, mode=0o644):
        path = os.path.join(self.dir, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb" if isinstance(text, bytes) else "w") as file:
            file.write(text)
        os.chmod(path, mode)
        return path

    def says(self, kind, text, call, *args, **more):
        with self.assertRaises(kind) as caught:
            call(*args, **more)
        self.assertEqual(str(caught.exception)[:len(text)], text)


class Arguments(Case):
    def test_lists_and_mappings(self):
        for args, expected in ((None, []), ((), []), ([1, "a"], [1, "a"]),
                               (range(2), [0, 1]), (iter("ab"), ["a", "b"])):
            self.assertEqual(_launch._list(args), expected)
        for args in ("ab", b"ab", {"a": 1}, 5, 0, True):
            self.says(TypeError, "args wants a tuple or a list, not %r: one "
                      "argument alone is written (x,)" % (args,),
                      _launch._list, args)
        given = {"a": 1}
        copy = _launch._mapping("env", given)
        copy["b"] = 2
        self.assertEqual(given, {"a": 1})
        self.assertEqual(_launch._mapping("env", None), {})
        for value in ([], "a", 0, [("a", 1)]):
            self.says(TypeError, "env wants a dict, not %r" % (value,),
                      _launch._mapping, "env", value)

    def test_texts_are_literal(self):
        for text, expected in (("", ""), ("a$b%c", "a$b%c"),
                               ("${x}", "$${x}"), ("%{rank}", "%%{rank}"),
                               ("$${x} %%{y}", "$$${x} %%%{y}")):
            self.assertEqual(_launch._literal(text), expected)

    def test_words_of_launchers(self):
        for word, field in (
                ("nprocs", "world_size"), ("n_gpus", "local_world_size"),
                ("nproc_per_node", "local_world_size"), ("nnodes", "nodes"),
                ("world_size", "world_size"), ("timeout", "timeouts.run"),
                ("timeouts_run", "timeouts.run"), ("gpu_ids", "devices"),
                ("parallelism_model", "parallelism.model"),
                ("data_parallel_backend", "backends.data"),
                ("launch_method", "start_method"), ("env", "env")):
            self.assertEqual(_launch._field_of(word), field)
        for word, text in (
                ("daemon", "launch() has no daemon: no rank outlives its job"),
                ("rank", "launch() has no rank: each rank has its own"),
                ("nproc", "launch() has no argument 'nproc': did you mean "
                 "'nprocs'?; any field of a spec can be given by spec={...}"),
                ("zzz", "launch() has no argument 'zzz'; any field of a spec "
                 "can be given by spec={...}"),
                ("timeouts.run", "launch() has no argument 'timeouts.run'")):
            self.says(TypeError, text, _launch._field_of, word)

    def test_devices(self):
        for value, expected in (
                ("any", "any"), ([0, "1.0"], [0, "1.0"]), ("0,1", [0, 1]),
                ("0, GPU-ab ,2", [0, "GPU-ab", 2]), ("3", "3")):
            self.assertEqual(_launch._devices("gpus", value), expected)
        self.says(TypeError, "gpus=2: how many ranks a node has is n_gpus=2; "
                  "which devices they use is devices=[...]",
                  _launch._devices, "gpus", 2)

    def test_arguments_become_fields(self):
        here = os.getcwd()
        for options, expected in (
                ({}, {}),
                ({"nprocs": -1, "n_gpus": -1, "device": None}, {}),
                ({"nprocs": 0}, {"world_size": 0}),
                ({"nnodes": -1}, {"nodes": -1}),
                ({"timeout": 1.5}, {"timeouts": {"run": "1500ms"}}),
                ({"timeout": 0.0004}, {"timeouts": {"run": "0ms"}}),
                ({"timeout": "2h"}, {"timeouts": {"run": "2h"}}),
                ({"workdir": "a${b}"}, {"workdir": here + "/a$${b}"}),
                ({"workdir": "/x/%{y}"}, {"workdir": "/x/%%{y}"}),
                ({"log_dir": "/x/%{y}"}, {"log_dir": "/x/%{y}"}),
                ({"log_dir": "~/x"}, {"log_dir": os.path.expanduser("~/x")}),
                ({"env": {"A": 1, "B": None, "C": "${x}"}},
                 {"env": {"A": "1", "B": None, "C": "$${x}"}}),
                ({"devices": "0,1"}, {"devices": [0, 1]}),
                ({"backend": "nccl", "model_parallel_backend": "gloo"},
                 {"backends": {"default": "nccl", "model": "gloo"}}),
                ({"threads": 3, "tee": "0"}, {"threads": 3, "tee": "0"})):
            spec = {}
            words = _launch._take_options(spec, options)
            self.assertEqual(spec, expected)
            self.assertEqual(sorted(words.values()), sorted(options))
        self.assertEqual(_launch._take_options({}, {"nprocs": 2}),
                         {"world_size": "nprocs"})
        self.says(TypeError, "n_gpus and nproc_per_node are the same",
                  _launch._take_options, {}, {"nproc_per_node": 1,
                                              "n_gpus": None})

    def test_a_dict_is_laid_over(self):
        under = {"a": {"b": 1, "c": {"d": 2}}, "e": 3, "f": {"g": 4}}
        _launch._merge(under, {"a": {"b": 5, "c": {"h": 6}}, "e": {"i": 7},
                               "f": 8, "j": None})
        self.assertEqual(under, {"a": {"b": 5, "c": {"d": 2, "h": 6}},
                                 "e": {"i": 7}, "f": 8, "j": None})

    def test_which_node_this_is(self):
        for spec, node in (
                ({}, None), ({"rank_start": 4}, None),
                ({"local_world_size": 2}, None),
                ({"local_world_size": 2, "rank_start": 0}, 0),
                ({"local_world_size": 2, "rank_start": 6}, 3),
                ({"local_world_size": 2, "rank_start": 6, "node_rank": 1}, 1)):
            _launch._settle_nodes(spec)
            self.assertEqual(spec.get("node_rank"), node)
        self.says(ValueError, "rank_start 3 is not a multiple of 2, the ranks "
                  "of a node", _launch._settle_nodes,
                  {"local_world_size": 2, "rank_start": 3})

    def test_no_rank_is_none(self):
        for spec in ({}, {"world_size": 1}, {"world_size": False},
                     {"local_world_size": -1}):
            _launch._check_size(spec, {})
        self.says(ValueError, "launch() wants at least one rank, and nprocs is "
                  "0", _launch._check_size, {"world_size": 0},
                  {"world_size": "nprocs"})
        self.says(ValueError, "launch() wants at least one rank, and n_gpus is "
                  "0", _launch._check_size, {"local_world_size": 0},
                  {"local_world_size": "n_gpus"})

    def test_what_is_by_rank(self):
        for value, expected in (
                ({}, False), ([1], False), (None, False), ({"0": 1}, False),
                ({True: 1}, False), ({0: 1, "a": 2}, False), ({0: 1}, True),
                ({3: None, 1: 2}, True)):
            self.assertIs(_launch._is_by_rank(value), expected)
        self.assertEqual(
            _launch._by_rank({0: (1,)}, {"x": 1}, {"env": {1: {"A": "b"}}}),
            {"args": {0: (1,)}, "env": {1: {"A": "b"}}})
        self.assertEqual(_launch._by_rank((), {2: {"x": 1}}, {}),
                         {"kwargs": {2: {"x": 1}}})

    def own(self, given, per_rank=None):
        own = _launch._Own()
        own.take(given, per_rank)
        return own.per_rank, own.calls

    def test_what_ranks_have_of_their_own(self):
        self.assertEqual(self.own({}), ({}, []))
        self.assertEqual(
            self.own({"args": {1: (2,), 0: [3]}, "env": {1: {"A": 5}}}),
            ({"0": {"args": [0]}, "1": {"env": {"A": "5"}, "args": [1]}},
             [([3], {}), ([2], {})]))
        self.assertEqual(
            self.own({}, {"0-3": {"kwargs": {"x": 1}}, 7: None}),
            ({"0-3": {"args": [0]}, "7": {"args": [1]}},
             [([], {"x": 1}), ([], {})]))
        self.says(ValueError, "args and env by rank and per_rank: use only "
                  "one of them", self.own, {"env": {0: {}}, "args": {0: ()}},
                  {0: {}})
        self.says(TypeError, "per_rank takes args, kwargs and env, not 'a', "
                  "'b'", self.own, {}, {0: {"b": 1, "a": 2}})
        self.says(TypeError, "per_rank wants a dict, not [1]", self.own, {},
                  [1])
        self.says(TypeError, "per_rank wants a dict, not 5", self.own, {},
                  {0: 5})

    def test_as_many_ranks_as_values(self):
        two = {"args": {1: (), 0: ()}}
        for spec, given, expected in (
                ({}, {}, None), ({}, two, 2), ({"nodes": 2}, two, None),
                ({"hosts": ["a"]}, two, None), ({"world_size": 2}, two, None),
                ({"world_size": 4, "local_world_size": 2},
                 {"args": {3: ()}}, 2),
                ({"nodes": 2, "local_world_size": 2}, {"args": {3: ()}}, 2)):
            _launch._count_ranks(spec, given)
            self.assertEqual(spec.get("local_world_size"), expected)
        self.says(ValueError, "args names rank 2, and the last one is 1",
                  _launch._count_ranks, {"world_size": 2}, {"args": {2: ()}})
        self.says(ValueError, "env names rank 2, and the last one is 1",
                  _launch._count_ranks,
                  {"world_size": 2, "local_world_size": 1}, {"env": {2: {}}})
        self.says(ValueError, "args names ranks 0, 2, not every rank from 0 "
                  "on: set nprocs to the number of ranks",
                  _launch._count_ranks, {}, {"args": {2: (), 0: ()}})

    def test_names_of_jobs(self):
        for name, expected in (
                ("train", "train"), ("a b/c", "a_b_c"), ("<lambda>", "lambda_"),
                ("._-x", "x"), ("", "job"), ("...", "job"),
                ("n" * 50, "n" * 40)):
            self.assertEqual(_launch._base(name), {
                "version": 1, "name": expected,
                "workdir": _launch._literal(os.getcwd()),
                "log_dir": os.path.abspath("runs")})

    def test_programs(self):
        for words, args, expected in (
                (["a"], [], ["a"]),
                (("a", "b"), [1, None], ["a", "b", "1", "None"]),
                ([__import__("pathlib").PurePosixPath("/x"), "y"], [],
                 ["/x", "y"])):
            self.assertEqual(_launch._command(words, args, {}), expected)
        for words in ([], [""], ["a", 1], [b"a"]):
            self.says(TypeError, "a program is a list of strings, not %r"
                      % (words,), _launch._command, words, [], {})
        self.says(TypeError, "a program takes args, and no kwargs",
                  _launch._command, ["a"], [], {"x": 1})
        own = _launch._Own()
        own.take({"args": {0: ("%{x}", 1)}}, None)
        spec, words = _launch._spec_of_program(
            ["/bin/${echo}"], {"nprocs": 2}, own, {"name": "n"})
        self.assertEqual(spec["entrypoint"], {"command": ["/bin/$${echo}"]})
        self.assertEqual(spec["per_rank"], {"0": {"args": ["%%{x}", "1"]}})
        self.assertEqual((spec["name"], spec["world_size"]), ("n", 2))
        self.assertEqual(words, {"world_size": "nprocs"})
        own = _launch._Own()
        own.take({"kwargs": {0: {"x": 1}}}, None)
        self.says(TypeError, "a program takes args, and no kwargs",
                  _launch._spec_of_program, ["a"], {}, own, None)

    def test_functions(self):
        def spec(fn, by_code=False, **options):
            call = _function.Call(fn, False, by_code)
            return _launch._spec_of_function(call, "/t${", options,
                                             _launch._Own(), None)[0]
        plain = spec("os.path:join")
        self.assertEqual(plain["entrypoint"], {
            "python": {"function": "jobrun._function:call",
                       "interpreter": _launch._literal(sys.executable)},
            "args": ["/t$${/call.json"]})
        self.assertEqual(plain["name"], "join")
        self.assertNotIn("per_rank", plain)
        for method, preload in (("spawn", None), ("fork", ["os.path"]),
                                ("forkserver", ["os.path"])):
            got = spec("os.path:join", start_method=method)
            self.assertEqual(got.get("preload"), preload)
            self.assertEqual(got["start_method"], method)
        self.assertNotIn("preload", spec(train, start_method="fork"))
        self.assertNotIn("preload", spec(lambda: 0, True, start_method="fork"))
        self.assertEqual(spec(train, env={"PYTHONPATH": "x"})["env"],
                         {"PYTHONPATH": "x"})
        with mock.patch.object(sys, "executable", ""):
            self.says(RuntimeError, "this Python does not know its own",
                      spec, train)

    def test_the_path_of_ranks(self):
        standard = os.path.dirname(os.__file__)
        package = os.path.dirname(os.path.dirname(_launch.__file__))
        with mock.patch.object(sys, "path", [
                "", self.dir, "relative", standard, standard + "/x", package,
                "/usr/lib/python312.zip", self.dir + "/lib/python.zip.d"]), \
                mock.patch.dict(os.environ,
                                PYTHONPATH="::/first:%s:/last" % self.dir):
            self.assertEqual(_launch._python_path().split(":"), [
                os.getcwd(), self.dir, os.path.abspath("relative"),
                self.dir + "/lib/python.zip.d", "/first", "/last"])


class Calls(Case):
    """The call itself, with a job that starts nothing."""

    def launch(self, *args, **more):
        def job(command, folder, spec, words, held):
            self.command, self.folder = command, folder
            self.spec, self.words = spec, words
            self.there = sorted(os.listdir(folder))
            held.append(made)
            if self.error is not None:
                raise self.error
            return made
        made = self.job = mock.Mock()
        made.join.return_value = ["joined"]
        with mock.patch.object(_job, "Job", job), \
                mock.patch.object(_job, "find", lambda path: path or "found"), \
                mock.patch.object(tempfile, "tempdir", self.dir):
            return _launch.launch(*args, **more)

    def setUp(self):
        super().setUp()
        self.error = None

    def test_a_job_is_begun_and_waited_for(self):
        self.assertEqual(self.launch(train, (1,), nprocs=2), ["joined"])
        self.assertEqual(self.command[:3], ["found", "run", "-"])
        self.assertEqual(self.command[3], "--run-id")
        self.assertRegex(self.command[4], r"^\d{8}-\d{6}-train-[0-9a-f]{8}$")
        self.assertEqual(self.there, ["call.json"])
        self.assertTrue(os.path.isdir(self.folder)) # it is the job's
        self.assertEqual(self.spec["world_size"], 2)
        self.assertEqual(self.words, {"world_size": "nprocs"})
        self.assertIs(self.launch(train, (1,), join=False, local=True,
                                  program="/x", spec={"threads": 2}), self.job)
        self.assertEqual(self.command[:4], ["/x", "run", "--local", "-"])
        self.assertEqual(self.spec["threads"], 2)
        self.job.join.assert_not_called()
        self.job.end.assert_not_called()

    def test_what_cannot_be_begun_leaves_nothing(self):
        self.error = KeyboardInterrupt()
        with self.assertRaises(KeyboardInterrupt):
            self.launch(train, (1,))
        self.job.end.assert_called_once_with(signal.SIGTERM)
        self.assertEqual(os.listdir(self.dir), [])
        for kind, text, more in (
                (ValueError, 'exchange is "json" or "pickle", not \'dill\'',
                 {"exchange": "dill"}),
                (TypeError, "train takes (lr, steps=1), and args [] and kwargs "
                 "{'x': 1} do not fit", {"args": (), "kwargs": {"x": 1}}),
                (TypeError, "spec wants a dict", {"spec": [1]})):
            self.says(kind, text, self.launch, train, **dict(
                {"args": (1,)}, **more))
            self.assertEqual(os.listdir(self.dir), [])
        with mock.patch.object(_function, "loading_main", True):
            self.says(RuntimeError, "jobrun.launch() was called while a rank",
                      self.launch, train, (1,))
        self.says(ValueError, "a program has nothing to exchange by pickle",
                  self.launch, ["true"], exchange="pickle")

    def test_what_is_written_for_the_ranks(self):
        def call(*args, **more):
            self.launch(*args, **more)
            with open(self.folder + "/call.json") as file:
                return json.load(file)
        what = call("os.path:join", {0: ("a",), 1: ("b", "c")})
        self.assertEqual(what, {
            "module": "os.path", "name": "join", "main": None,
            "argv": sys.argv, "pickled": False,
            "calls": [[[], {}], [[["a"], {}], [["b", "c"], {}]]]})
        self.assertEqual(self.spec["per_rank"],
                         {"0": {"args": [0]}, "1": {"args": [1]}})
        self.assertEqual(self.spec["local_world_size"], 2)
        what = call(train, (2,), {"steps": 3})
        self.assertEqual((what["module"], what["name"]), ("__main__", "train"))
        self.assertEqual(what["main"], {"path": os.path.abspath(__file__)})
        self.assertEqual(what["calls"], [[[2], {"steps": 3}], []])
        what = call(train, ({4},), exchange="pickle")
        self.assertEqual((what["name"], what["pickled"]), (None, True))
        for name, value in (("function", train),
                            ("calls", (([{4}], {}), []))):
            with open(what[name], "rb") as file:
                self.assertEqual(pickle.load(file), value)
        what = call(os.getpid, exchange="pickle")
        self.assertIsNone(what["main"])
        two = 2
        what = call(lambda x: x * two, (4,), start_method="fork")
        self.assertEqual((what["name"], what["pickled"], what["module"]),
                         (None, False, "__main__"))
        with open(what["function"], "rb") as file:
            self.assertEqual(pickle.load(file)(4), 8)
        self.assertEqual(self.spec["name"], "Calls.test_what_is_written_for_"
                         "the_ranks._locals_._lambda_"[:40])

    def test_how_ranks_find_the_main_module(self):
        path = self.write("app/__main__.py", "")
        for spec, file, expected in (
                (None, path, {"path": path}),
                ("app.train", path, {"module": "app.train"}),
                ("__main__", path, {"path": os.path.dirname(path)})):
            main = mock.Mock(__file__=file, __spec__=None)
            if spec is not None:
                main.__spec__ = mock.Mock()
                main.__spec__.name = spec
            with mock.patch.dict(sys.modules, __main__=main):
                self.assertEqual(_function.main_of(), expected)
        for file in (None, self.dir + "/gone.py"):
            with mock.patch.dict(sys.modules, __main__=mock.Mock(
                    __file__=file, __spec__=None)):
                self.says(ValueError, "a function that was defined at a "
                          "prompt", _function.main_of)


class Exchanges(Case):
    """Objects on their way, without a job."""

    def again(self, value, by_code=False):
        return _exchange.loads(_exchange.dumps(value, "it", by_code))

    def test_what_is_found_by_its_name(self):
        def inner():
            pass
        for function, found in ((train, True), (inner, False),
                                (lambda: 0, False),
                                (Case.says, True), (os.path.join, True)):
            self.assertIs(_exchange.is_found_by_name(function), found)
        inner.__module__ = "no.such.module"
        self.assertFalse(_exchange.is_found_by_name(inner))

    def test_functions_by_their_code(self):
        two, unfilled = 2, None

        def inner(x, y=3, *, z=4):
            """What it does."""
            return x * two + y + z

        def later():
            return unfilled
        del unfilled

        def again(n):
            return n and [n, again(n - 1)]
        inner.tag = Pair(1, 2)
        inner.__annotations__ = {"x": int}
        got = self.again(inner, True)
        self.assertIsNot(got, inner)
        self.assertEqual((got(1), got(1, 0, z=0), got.tag, got.__doc__,
                          got.__name__, got.__qualname__, got.__module__,
                          got.__annotations__),
                         (9, 2, (1, 2), "What it does.", "inner",
                          inner.__qualname__, "__main__", {"x": int}))
        self.assertEqual(self.again(again, True)(2), [2, [1, 0]])
        self.assertRaises(NameError, self.again(later, True))
        self.assertIs(self.again(train, True), train) # it has a name
        self.assertEqual(self.again([lambda: 5], True)[0](), 5)
        self.assertIs(self.again({"m": json}, True)["m"], json)
        self.assertIsNone(self.again(lambda: 0, True).__closure__)

    def test_what_cannot_be_pickled(self):
        with self.assertRaises(_exchange.Unfit) as caught:
            _exchange.dumps(lambda: 0, "the result")
        self.assertRegex(str(caught.exception), r"^the result of type function "
                         r"cannot be pickled: \w+: .*<lambda>")
        self.assertIsNotNone(caught.exception.__cause__)
        self.says(_exchange.Unfit, "args of type module cannot be pickled: "
                  "TypeError: ", _exchange.dumps, json, "args")

    def test_the_oldest_python_reads_them(self):
        self.assertEqual(_exchange.dumps([1], "x")[:2], b"\x80\x04")

    def test_tensors_go_by_the_cpu(self):
        class Tensor:
            def __init__(self, device, grad=True, of=None):
                self.device = types.SimpleNamespace(type=device)
                self.requires_grad, self.of = grad, of

            def detach(self):
                return Tensor(self.device.type, False, "detached")

            def cpu(self):
                return Tensor("cpu", False, self.of)

            def requires_grad_(self, grad):
                self.requires_grad = grad
                return self

            def __reduce_ex__(self, protocol):
                return str, ("%s %s %s %d" % (self.device.type, self.of,
                                              self.requires_grad, protocol),)
        with mock.patch.dict(sys.modules, torch=mock.Mock(Tensor=Tensor)):
            for device, grad, expected in (
                    ("cpu", True, "cpu None True 4"),
                    ("cuda", True, "cpu detached True 4"),
                    ("xpu", False, "cpu detached False 4")):
                self.assertEqual(self.again(Tensor(device, grad)), expected)
        self.assertEqual(self.again(Tensor("cuda")), "cuda None True 4")

        class Other:
            stop_gradient = False

            def numpy(self):
                return [1.5]
        paddle = mock.Mock(Tensor=Other)
        paddle.to_tensor = lambda *what, **more: [what, more]
        with mock.patch.dict(sys.modules, paddle=paddle):
            self.assertEqual(self.again(Other()), [
                ([1.5],), {"place": "cpu", "stop_gradient": False}])

    def test_the_main_module_has_the_name_of_ranks(self):
        text = b"c__mp_main__\ntrain\n."  # as a rank pickles one of them
        with mock.patch.dict(sys.modules):
            sys.modules.pop("__mp_main__", None)
            self.assertIs(_exchange.loads(text), train)
            sys.modules["__mp_main__"] = types.SimpleNamespace(train=5)
            self.assertEqual(_exchange.loads(text), 5) # there is one already
            del sys.modules["__mp_main__"], sys.modules["__main__"]
            self.assertEqual(_exchange.loads(pickle.dumps({2})), {2})
            self.assertNotIn("__mp_main__", sys.modules)


class Ranks(Case):
    """What a rank does with the file of a call."""

    def setUp(self):
        super().setUp()
        for patch in (
                mock.patch.dict(sys.modules), mock.patch.object(sys, "argv", []),
                mock.patch.object(jobrun.result, "delivered", False),
                mock.patch.dict(os.environ,
                                JOBRUN_RESULT_FILE=self.dir + "/result.json",
                                JOBRUN_ERROR_FILE=self.dir + "/error.json")):
            patch.start()
            self.addCleanup(patch.stop)
        self.module = types.ModuleType("of_the_test")
        sys.modules["of_the_test"] = self.module
        self.module.collect, self.module.holder = collect, Case

    def call(self, *indices, **what):
        what = dict({"module": "of_the_test", "name": "collect", "main": None,
                     "argv": ["main.py", "-x"], "pickled": False,
                     "calls": [[[], {}], []]}, **what)
        return _function.call(self.write("call.json", json.dumps(what)),
                              *indices)

    def pickled(self, value, name="pickled", by_code=False):
        return self.write(name, _exchange.dumps(value, "x", by_code))

    def test_arguments(self):
        own = [[["a"], {"x": 1}], [["b", "c"], {"x": 2, "y": 3}], [[], {}]]
        for indices, args, kwargs in (
                ([], (1,), {"z": 0}), ([0], (1, "a"), {"z": 0, "x": 1}),
                ([0, 1], (1, "a", "b", "c"), {"z": 0, "x": 2, "y": 3}),
                ([2], (1,), {"z": 0})):
            self.assertEqual(
                self.call(*indices, calls=[[[1], {"z": 0}], own]),
                [["-x"], args, kwargs])
        self.assertEqual(sys.argv, ["main.py", "-x"])

    def test_functions(self):
        self.module.holder = types.SimpleNamespace(
            deep=types.SimpleNamespace(er=lambda: 7))
        self.assertEqual(self.call(name="holder.deep.er"), 7)
        two = 2
        self.assertEqual(self.call(
            name=None, calls=[[[4], {}], []],
            function=self.pickled(lambda x: x * two, by_code=True)), 8)

    def test_the_main_module(self):
        path = self.write("app.py", """\
import jobrun
from jobrun import _function
NAMES = [__name__, _function.loading_main]
def names():
    import sys
    return NAMES + [_function.loading_main, __name__] + [
        sys.modules[name].__dict__["NAMES"] is NAMES
        for name in ("__main__", "__mp_main__")]
""")
        expected = ["__mp_main__", True, False, "__mp_main__", True, True]
        self.assertEqual(self.call(main={"path": path}, module="__main__",
                                   name="names"), expected)
        with mock.patch.object(sys, "path", [self.dir] + sys.path):
            self.assertEqual(self.call(main={"module": "app"},
                                       module="__main__", name="names"),
                             expected)
            # One whose own code needs it, and which is of another module.
            self.assertEqual(self.call(main={"module": "app"}),
                             [["-x"], (), {}])
        path = self.write("bad.py", "1 / 0\n")
        self.assertRaises(ZeroDivisionError, self.call, main={"path": path})
        self.assertFalse(_function.loading_main)

    def test_objects(self):
        def returns(value):
            def give(*args):
                self.given = args
                return value
            self.module.give = give
            return self.call(name="give", pickled=True, calls=self.pickled(
                (([{5}], {}), [])))
        told = returns({1: {2}})
        self.assertEqual(self.given, ({5},))
        with open(self.dir + "/result.pickle", "rb") as file:
            text = file.read()
        self.assertEqual(pickle.loads(text), {1: {2}})
        self.assertEqual(told, {
            "pickle": "result.pickle", "type": "dict", "bytes": len(text),
            "sha256": hashlib.sha256(text).hexdigest()})
        self.assertEqual(returns(None)["type"], "NoneType")
        os.unlink(self.dir + "/result.pickle")
        jobrun.result.delivered = True # by itself
        self.assertIsNone(returns(None))
        self.assertFalse(os.path.exists(self.dir + "/result.pickle"))
        self.assertEqual(returns(3)["type"], "int")

    def test_exceptions(self):
        def raises(error, forked=False):
            def fail():
                if forked: # what it raises is not the rank's
                    patch = mock.patch("os.getpid", return_value=4711)
                    patch.start()
                    self.addCleanup(patch.stop)
                raise error
            self.module.fail = fail
            with self.assertRaises(type(error)) as caught:
                self.call(name="fail", pickled=True,
                          calls=self.pickled((([], {}), [])))
            self.assertIs(caught.exception, error)
            return sorted(name for name in os.listdir(self.dir)
                          if name.startswith("error"))
        self.assertEqual(raises(Odd("a", "b")), []) # cannot be read again
        self.assertEqual(raises(ValueError(lambda: 0)), [])
        self.assertEqual(raises(SystemExit(3)), []) # no failure of its own
        self.assertEqual(raises(ValueError("x"), forked=True), [])

    def test_an_exception_is_kept(self):
        self.module.fail = lambda: [][5]
        with self.assertRaises(IndexError) as caught:
            self.call(name="fail", pickled=True,
                      calls=self.pickled((([], {}), [])))
        with open(self.dir + "/error.pickle", "rb") as file:
            self.assertEqual(repr(pickle.load(file)), repr(caught.exception))

    def test_a_fork_delivers_nothing(self):
        def fork():
            patch = mock.patch("os.getpid", return_value=4711)
            patch.start()
            self.addCleanup(patch.stop)
            return 5
        self.module.fork = fork
        self.assertIsNone(self.call(name="fork", pickled=True, calls=self.pickled(
            (([], {}), []))))
        self.assertFalse(os.path.exists(self.dir + "/result.pickle"))

    def test_titles(self):
        for fn, pickled, title in (
                (train, False, "train"), ("os.path:join", False, "join"),
                (train, True, "train"), (Pair(1, 2).index, True, "Pair.index"),
                (functools.partial(train, 1), True, "partial")):
            self.assertEqual(_function.Call(fn, pickled, False).title(), title)


class Errors(Case):
    def test_texts(self):
        error = _job.JobError("it failed")
        self.assertEqual((str(error), error.rank, error.exit_code,
                          error.signal, error.status, error.run_dir,
                          error.kind, error.traceback, error.results,
                          error.failures),
                         ("it failed", None, None, None, None, None, "launch",
                          "", [], []))
        self.assertEqual(str(_job.JobError("x", rank=0)), "rank 0: x")
        error = _job.JobError("x", rank=3, traceback="a\n b\n\n", status=1)
        self.assertEqual(str(error), "rank 3: x\n\na\n b")
        self.assertEqual((error.message, error.status), ("x", 1))

    def test_mistakes_by_the_callers_words(self):
        words = {"world_size": "nprocs", "device": "device"}
        for told, expected in (
                ("", []), ("jobrun: nothing\n  help: x\n", []),
                ("spec: error[JR0203]: 'world_size' wants a number\n"
                 "  |\n  = help: write 2\n",
                 ["nprocs: 'world_size' wants a number (write 2)"]),
                ("-:1:2: error[JR1]: 'device' is wrong",
                 ["'device' is wrong"]),
                ("-: error[JR1]: 'threads' is wrong\n-: error[JR2]: so\n"
                 "help: it\n", ["'threads' is wrong", "so (it)"]),
                ("-: warning[JR1]: 'x'\n", []), ("error[JR1]: x\n", [])):
            self.assertEqual(_job._mistakes(told, words), expected)

    def test_the_spec_is_yaml_too(self):
        path = self.dir + "/spec.yaml"
        _job._write(path, {"a": "\u20ac\x85\U0001F600~ ", "b": [1, None]})
        with open(path, "rb") as file:
            self.assertEqual(
                file.read(), b'{\n "a": "\\U000020AC\\U00000085\\U0001F600~ ",'
                b'\n "b": [\n  1,\n  null\n ]\n}')
        self.says(ValueError, "Out of range", _job._write, path,
                  {"a": float("nan")})

    def test_which_jobrun(self):
        one = self.write("one", "", 0o755)
        other = self.write("bin/jobrun", "", 0o755)
        plain = self.write("plain", "")
        scripts = mock.patch("sysconfig.get_path",
                             return_value=self.dir + "/scripts")
        scripts.start()
        self.addCleanup(scripts.stop)
        nowhere = {"PATH": "/nonexistent"}
        with mock.patch.dict(os.environ, nowhere, clear=True), \
                mock.patch.object(_job, "__file__", self.dir + "/a/b/c.py"):
            self.says(FileNotFoundError, "the program jobrun is neither",
                      _job.find, None)
            self.assertEqual(_job.find(one), one)
            for bad in (plain, self.dir, self.dir + "/none"):
                self.says(FileNotFoundError, "no program at %r" % bad,
                          _job.find, bad)
                with mock.patch.dict(os.environ, JOBRUN=bad):
                    self.says(FileNotFoundError, "no program at %r" % bad,
                              _job.find, None)
            with mock.patch.dict(os.environ, JOBRUN=one):
                self.assertEqual(_job.find(None), one)
                self.assertEqual(_job.find(other), other)
            with mock.patch.dict(os.environ, PATH=self.dir + "/bin"):
                self.assertEqual(_job.find(None), other)

    def test_jobrun_beside_the_package(self):
        package = self.dir + "/x/y/lib/support/python/jobrun"
        os.makedirs(package)
        found = []
        places = ["support/jobrun", "y/jobrun", "y/lib/jobrun", "bin/jobrun",
                  "y/bin/jobrun", "y/lib/support/python/bin/jobrun",
                  "scripts/jobrun"]
        for place in places:
            at = self.write("x/" + place, "", 0o755)
            with mock.patch.dict(os.environ, {"PATH": "/nonexistent"},
                                 clear=True), \
                    mock.patch.object(_job, "__file__", package + "/_job.py"), \
                    mock.patch("sysconfig.get_path",
                               return_value=self.dir + "/x/scripts"):
                try:
                    self.assertEqual(_job.find(None), at)
                    found.append(place)
                except FileNotFoundError:
                    pass
            os.unlink(at)
        self.assertEqual(found, ["y/lib/jobrun", "y/bin/jobrun",
                                 "y/lib/support/python/bin/jobrun",
                                 "scripts/jobrun"])


def row(rank, state="delivered", **more):
    return dict({"rank": rank, "state": state, "result": rank,
                 "exit_code": 0, "signal": None, "error": None,
                 "error_file": None}, **more)


class Records(Case):
    def record(self, ranks, cause=None, status="failed"):
        self.write("results.json", json.dumps({
            "ranks": ranks, "attempt": 2, "root_cause": cause,
            "status": status}))
        return _job._Record(self.dir, 7)

    def test_results(self):
        self.write("attempt_2/1/result.json", '{"key": "secret"}')
        self.write("attempt_2/3/result.json", "{")
        text = _exchange.dumps({5}, "x")
        path = self.write("attempt_2/4/result.pickle", text)
        hidden = {"key": "<redacted>"}
        record = self.record([
            row(0, result=None), row(1, result=hidden), row(2, result=hidden),
            row(3, result=hidden),
            row(4, result=_exchange.describe(path, text, {5}))])
        self.assertEqual(record.results(), [
            None, {"key": "secret"}, hidden, hidden, {5}])
        self.assertEqual(record.rank_folder(row(3)), self.dir + "/attempt_2/3")

    def test_descriptions(self):
        text = _exchange.dumps((1,), "x")
        path = self.write("result.pickle", text)
        told = _exchange.describe(path, text, (1,))
        self.assertEqual({key: told[key] for key in ("pickle", "type",
                                                     "bytes")},
                         {"pickle": "result.pickle", "type": "tuple",
                          "bytes": len(text)})
        self.assertTrue(_exchange.is_description(told))
        for other in (None, [], {}, dict(told, more=1), {"pickle": "x"}):
            self.assertFalse(_exchange.is_description(other))
        self.assertEqual(_exchange.load(self.dir, told), (1,))
        self.assertEqual(_exchange.load(self.dir, dict(
            told, pickle="/elsewhere/result.pickle")), (1,))
        for change in (text + b"x", text[:-1], text[:-1] + b"x"):
            self.write("result.pickle", change)
            self.says(ValueError, path + " was changed after the rank had "
                      "delivered it", _exchange.load, self.dir, told)

    def test_the_root_cause_comes_first(self):
        record = self.record(
            [row(0), row(1, "failed"), row(2, "incomplete"),
             row(3, "after_first_failure"), row(4, "failed", exit_code=9),
             row(5, "stopped")],
            {"rank": 4, "together": [3], "kind": "exit", "exit_code": 9,
             "signal": None, "message": "m"})
        self.assertEqual([failure.rank for failure in record.failures()],
                         [4, 3, 1, 2])
        self.assertEqual(record.failures()[0].exit_code, 9)
        record = self.record([row(1, "failed"), row(0, "failed")])
        self.assertEqual([failure.rank for failure in record.failures()],
                         [0, 1])

    def test_exceptions_and_tracebacks(self):
        told = self.write("error.json", json.dumps({"message": {
            "extraInfo": {"py_callstack": "Traceback"}}}))
        self.write("attempt_2/0/error.pickle",
                   _exchange.dumps(ValueError("x"), "x"))
        self.write("attempt_2/1/error.pickle", _exchange.dumps(5, "x"))
        self.write("attempt_2/2/error.pickle", b"none")
        self.write("bad.json", "[]")
        ranks = [row(i, "failed", error_file=told, error="m%d" % i)
                 for i in range(4)]
        ranks += [row(4, "failed"),
                  row(5, "failed", error_file=self.dir + "/bad.json"),
                  row(6, "failed", error_file=self.dir + "/none.json")]
        failures = self.record(ranks).failures()
        self.assertEqual(repr(failures[0].exception), repr(ValueError("x")))
        self.assertEqual([failure.exception for failure in failures[1:]],
                         [None] * 6)
        self.assertEqual([failure.traceback for failure in failures],
                         ["Traceback"] * 4 + [""] * 3)
        self.assertEqual(failures[3].message, "m3")
        cause = {"rank": 0, "kind": "exit", "exit_code": 1, "signal": None,
                 "message": "first"}
        error, behind = self.record(ranks, cause).error(1)
        self.assertEqual((error.rank, error.kind, error.exit_code,
                          error.signal, error.message, error.status,
                          error.run_dir, error.traceback),
                         (0, "exit", 1, None, "first", 1, self.dir,
                          "Traceback"))
        self.assertEqual(repr(behind), repr(ValueError("x")))
        self.assertEqual(len(error.failures), 7)
        self.assertEqual(error.results, list(range(7)))
        error, behind = self.record([row(0)], None, "stopped").error(143)
        self.assertEqual((str(error), error.kind, error.rank, error.traceback,
                          behind), ("the job was stopped", "stopped", None, "",
                                    None))

    def test_a_nodes_own_part(self):
        for node, pid in ((0, 6), (1, 7)):
            self.write("node_%d/run.json" % node, json.dumps({"pid": pid}))
            self.write("node_%d/results.json" % node, json.dumps({
                "ranks": [row(node)], "attempt": 0}))
        record = _job._Record(self.dir, 7)
        self.assertEqual(record.run_dir, self.dir + "/node_1")
        self.assertEqual(record.results(), [1])
        self.assertRaises(FileNotFoundError, _job._Record, self.dir, 8)
        self.assertEqual(self.record([row(5)]).run_dir, self.dir)


class Jobs(Case):
    """A job whose program is a script."""

    def job(self, script, **spec):
        program = self.write("program", "#!/bin/sh\n" + script, 0o755)
        self.folder = self.dir + "/folder"
        os.mkdir(self.folder)
        held = []
        job = _job.Job([program, "run", "-", "--run-id", "run-1"], self.folder,
                       dict({"log_dir": self.dir + "/l$${o}g%{"}, **spec),
                       {"world_size": "nprocs"}, held)
        self.assertEqual(held, [job])
        self.addCleanup(job.end, signal.SIGKILL)
        return job

    def records(self, status="completed", cause="null"):
        return ("d='%s/l${o}g%%{/run-1'; mkdir -p \"$d\"\n"
                "cat >'%s/spec' 2>&1\n"
                "printf '%%s' '{\"ranks\": [], \"attempt\": 0, \"status\": "
                "\"%s\", \"root_cause\": %s}' >\"$d/results.json\"\n"
                % (self.dir, self.dir, status, cause))

    def test_a_job_that_ends_well(self):
        job = self.job(self.records())
        self.assertEqual(job.join(), [])
        self.assertEqual(job.run_dir, self.dir + "/l${o}g%{/run-1")
        self.assertEqual((job.poll(), job.wait(), job.is_alive()),
                         (0, 0, False))
        self.assertFalse(os.path.exists(self.folder))
        with open(self.dir + "/spec") as file:
            self.assertEqual(json.load(file),
                             {"log_dir": self.dir + "/l$${o}g%{"})

    def test_a_job_that_does_not(self):
        job = self.job(self.records("failed") + "exit 6\n")
        self.assertRaises(_job.JobError, job.join)
        self.assertEqual((job.wait(), job.results, job.failures), (6, [], []))
        shutil.rmtree(self.folder, ignore_errors=True)
        job = self.job("kill -9 $$\n")
        self.assertEqual(job.wait(), 137)

    def test_a_job_that_could_not_begin(self):
        for script, text, kind, status in (
                ("exit 0", "jobrun ended with 0", "stopped", 0),
                ("exit 2", "jobrun ended with 2", "usage", 2),
                ("echo ' no space ' >&2; exit 7", "no space", "launch", 7),
                ("echo \"-: error[JR1]: 'world_size' is odd\" >&2; exit 3",
                 "nprocs: 'world_size' is odd", "spec", 3),
                ("exit 4", "jobrun ended with 4", "resolve", 4),
                ("exit 143", "jobrun ended with 143", "stopped", 143)):
            shutil.rmtree(self.dir + "/folder", ignore_errors=True)
            with mock.patch("sys.stderr"):
                job = self.job(script)
                with self.assertRaises(_job.JobError) as caught:
                    job.join()
            error = caught.exception
            self.assertEqual((error.message, error.kind, error.status,
                              error.run_dir), (text, kind, status, None))
            self.assertEqual((job.results, job.failures), ([], []))

    def test_its_output_is_ours(self):
        out = mock.Mock()
        with mock.patch("sys.stderr", out):
            self.job("printf 'one\\ntwo' >&2; exit 1").wait()
        self.assertEqual([call.args[0] for call in
                          out.buffer.write.call_args_list], [b"one\n", b"two"])
        shutil.rmtree(self.folder, ignore_errors=True)
        text = mock.Mock(spec=["write", "flush"])
        with mock.patch("sys.stderr", text):
            job = self.job("printf 'a\\377' >&2; exit 1")
            job.wait()
        text.write.assert_called_once_with("a\ufffd")
        self.assertEqual(job._tail, b"a\xff")

    def test_only_the_end_of_its_output_is_kept(self):
        with mock.patch("sys.stderr"):
            job = self.job("head -c 70000 /dev/zero | tr '\\0' x >&2\n"
                           "echo >&2; echo end >&2")
            job.wait()
        self.assertEqual(len(job._tail), 65536)
        self.assertTrue(job._tail.endswith(b"x\nend\n"))

    def test_it_is_waited_for_as_long_as_is_said(self):
        job = self.job("exec sleep 1000")
        self.assertIsNone(job.poll())
        self.assertIsNone(job.wait(0.01))
        self.assertTrue(job.is_alive())
        self.assertTrue(os.path.isdir(self.folder))
        with self.assertRaises(subprocess.TimeoutExpired) as caught:
            job.join(0.01)
        self.assertEqual(caught.exception.timeout, 0.01)
        self.assertEqual((job.results, job.failures), ([], []))
        job.stop()
        self.assertEqual(job.wait(), 143)
        job.stop(signal.SIGKILL) # there is nobody
        self.assertEqual(job.wait(), 143)

    def test_signals(self):
        # In the background of a shell it is ignored, and so by its children.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        job = self.job("exec sleep 1000")
        job.stop(signal.SIGINT)
        self.assertEqual(job.wait(), 130)
        for grace, sent in ((None, 1), (0, 2), (0.5, 2)):
            job = _job.Job.__new__(_job.Job)
            with mock.patch.object(job, "_send") as send, \
                    mock.patch.object(job, "wait", return_value=None) as wait:
                job.stop(signal.SIGHUP, grace)
            self.assertEqual(send.call_args_list,
                             [mock.call(signal.SIGHUP)] * sent)
            self.assertEqual(wait.call_args_list, [] if grace is None else
                             [mock.call(max(grace, 0.15))])
            with mock.patch.object(job, "_send") as send, \
                    mock.patch.object(job, "wait", return_value=0):
                job.stop(grace=1)
            send.assert_called_once_with(signal.SIGTERM)

    def test_it_has_a_session_of_its_own(self):
        """A Ctrl-C in the terminal comes to it by way of its caller, once."""
        job = self.job("cut -d' ' -f 6 /proc/$$/stat >'%s/session'" % self.dir)
        self.assertEqual(job.wait(), 0)
        with open(self.dir + "/session") as file:
            self.assertEqual(int(file.read()), job.pid)

    def test_what_leaves_a_join_ends_the_job(self):
        for error, sig in ((KeyboardInterrupt, signal.SIGINT),
                           (ValueError, signal.SIGTERM),
                           (SystemExit, signal.SIGTERM)):
            job = _job.Job.__new__(_job.Job)
            with mock.patch.object(job, "wait", side_effect=error), \
                    mock.patch.object(job, "end") as end:
                self.assertRaises(error, job.join)
            end.assert_called_once_with(sig)

    def test_one_that_is_ended_has_ended(self):
        with mock.patch("sys.stderr"):
            job = self.job("trap 'exit 9' TERM; echo ready >&2\n"
                           "while :; do sleep 0.01; done")
            while not job._tail:
                threading.Event().wait(0.001)
            job.end(signal.SIGTERM)
        self.assertFalse(job.is_alive())
        self.assertFalse(os.path.exists(self.folder))
        self.assertEqual(job.poll(), 9)

    def test_one_that_was_not_started_is_not(self):
        with mock.patch.object(_job.Job, "_follow", lambda job: (
                job._send(signal.SIGTERM), job._start(),
                setattr(job, "_failed", ValueError("abandoned")),
                job._started.set())):
            self.assertRaisesRegex(ValueError, "abandoned", self.job,
                                   "touch '%s/begun'" % self.dir)
        self.assertFalse(os.path.exists(self.dir + "/begun"))

    def test_a_program_that_cannot_be_started(self):
        program = self.write("text", "no program", 0o755)
        os.mkdir(self.dir + "/other")
        with self.assertRaises(OSError):
            _job.Job([program + "-", "run", "-", "--run-id", "r"],
                     self.dir + "/other", {"log_dir": self.dir}, {}, [])

    def test_the_processes_of_the_ranks(self):
        job = self.job("if [ \"$1\" = run ]; then exit 0; fi\n"
                       "[ \"$*\" = \"show run-1 --log-dir %s/l\\${o}g%%{ "
                       "--json\" ] || exit 1\n"
                       "echo '{\"ranks\": [{\"pid\": 5}, {\"pid\": null}]}'\n"
                       % self.dir)
        self.assertEqual(job.wait(), 0)
        self.assertEqual(job.pids(), [5, None])
        self.write("program", "#!/bin/sh\nexit 4\n", 0o755)
        self.assertEqual(job.pids(), [])

    def test_it_ends_with_its_caller(self):
        """A death signal; a caller that is gone already is no caller."""
        prepare = _job._die_with_us()
        pid = os.fork()
        if pid == 0:
            with mock.patch("os.getppid", return_value=1):
                prepare()
            os._exit(1)
        self.assertEqual(os.waitpid(pid, 0)[1] >> 8, 128 + signal.SIGTERM)
        pid = os.fork()
        if pid == 0:
            prepare()
            sig = ctypes.c_int()
            ctypes.CDLL(None).prctl(2, ctypes.byref(sig), 0, 0, 0)
            os._exit(sig.value)
        self.assertEqual(os.waitpid(pid, 0)[1] >> 8, signal.SIGTERM)


if __name__ == "__main__":
    unittest.main()
