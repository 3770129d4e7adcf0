"""The worker by itself, without a runner: what plain Python does, it does."""
import ast
import glob
import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import unittest

SUPPORT = os.environ["SUPPORT"]
WORKER = os.path.join(SUPPORT, "python", "jobrun", "_worker.py")
PYTHON = os.environ.get("INTERPRETER", sys.executable)
WAIT = 60

REPORT = """\
import json, os, pickle, sys, multiprocessing
class Thing:
    pass
def double(x):
    return 2 * x
if __name__ == "__main__":
    main = sys.modules["__main__"]
    assert isinstance(pickle.loads(pickle.dumps(Thing())), Thing)
    # Where __main__ is a folder's, plain Python cannot do it either.
    if not __file__.endswith("__main__.py"):
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            assert pool.map(double, [1, 2]) == [2, 4]
    assert "jobrun" not in dir(main)
    # The worker's own modules hide none of the user's.
    assert not [p for p in sys.path if os.path.exists(p + "/_worker.py")]
    print(json.dumps([sys.argv, __name__, __file__, sys.path[0],
                      main is not None and main.__dict__ is globals(),
                      str(__package__)]))
"""


class Case(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="job run ")
        self.dir = os.path.realpath(self.dir)
        self.addCleanup(shutil.rmtree, self.dir)

    def write(self, name, text):
        path = os.path.join(self.dir, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(textwrap.dedent(text))

    def start(self, words, **more):
        env = dict(os.environ, JOBRUN_RESULT_FILE=self.dir + "/result.json",
                   JOBRUN_ERROR_FILE=self.dir + "/error.json", RANK="1",
                   WORLD_SIZE="8", MODEL_PARALLEL_SIZE="2",
                   PIPELINE_PARALLEL_SIZE="2", DATA_PARALLEL_SIZE="2",
                   MODEL_PARALLEL_RANK="1", PIPELINE_PARALLEL_RANK="0",
                   DATA_PARALLEL_RANK="0", MODEL_PARALLEL_GROUP="0",
                   PIPELINE_PARALLEL_GROUP="1", DATA_PARALLEL_GROUP="1",
                   PYTHONDONTWRITEBYTECODE="1")
        env.pop("PYTHONPATH", None)
        return subprocess.Popen(words, cwd=self.dir, env=env, text=True,
                                stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, **more)

    def run_words(self, *words):
        done = self.start(list(words))
        self.out, self.err = done.communicate(timeout=WAIT)
        return done.returncode

    def worker(self, *words):
        return self.run_words(PYTHON, WORKER, *words)

    def call(self, target, *args, **more):
        kwargs = more.pop("kwargs", {})
        return self.worker("function", target, json.dumps(
            dict({"args": args, "kwargs": kwargs}, **more)))

    def json(self, name):
        with open(os.path.join(self.dir, name)) as file:
            return json.load(file)

    def has(self, name):
        return os.path.exists(os.path.join(self.dir, name))

    def error(self):
        return self.json("error.json")["message"]["message"]


class Likeness(Case):
    """Script and module see what plain Python shows them."""

    def same(self, plain, mine):
        self.assertEqual(self.run_words(PYTHON, *plain), 0, self.err)
        wanted = self.out
        self.assertEqual(self.worker(*mine), 0, self.err)
        self.assertEqual(self.out, wanted)
        self.assertFalse(self.has("error.json"))

    def test_script(self):
        self.write("sub dir/report.py", REPORT)
        self.same(["sub dir/report.py", "--a", "b c", "--", "-"],
                  ["script", "sub dir/report.py", "--a", "b c", "--", "-"])

    def test_script_through_a_link(self):
        self.write("real/report.py", REPORT)
        os.symlink("real/report.py", self.dir + "/link.py")
        self.same(["link.py"], ["script", "link.py"])

    def test_module(self):
        self.write("pkg/__init__.py", "")
        self.write("pkg/report.py", REPORT)
        self.same(["-m", "pkg.report", "-x"], ["module", "pkg.report", "-x"])

    def test_package(self):
        self.write("pkg/__init__.py", "")
        self.write("pkg/__main__.py", REPORT)
        self.same(["-m", "pkg"], ["module", "pkg"])

    def test_folder(self):
        self.write("app/__main__.py", REPORT)
        self.same(["app", "x"], ["script", "app", "x"])

    def test_exit_codes(self):
        for text in ("", "0", "3", "None", "'words'", "300", "True", "1.5"):
            self.write("end.py", "import sys\nsys.exit(%s)\n" % text)
            plain = self.run_words(PYTHON, "end.py"), self.out, self.err
            mine = self.worker("script", "end.py"), self.out, self.err
            self.assertEqual(plain, mine, text)
            self.assertFalse(self.has("error.json"))

    def test_traceback(self):
        self.write("bad.py", """\
            def step():
                try:
                    {}["lr"]
                except KeyError as error:
                    raise ValueError("loss is NaN") from error
            step()
            """)
        plain = self.run_words(PYTHON, "bad.py"), self.err
        mine = self.worker("script", "bad.py"), self.err
        self.assertEqual(plain, mine)
        told = self.json("error.json")
        self.assertEqual(told["message"]["message"],
                         "ValueError: loss is NaN")
        self.assertIn("in step",
                      told["message"]["extraInfo"]["py_callstack"])
        self.assertIn("KeyError: 'lr'",
                      told["message"]["extraInfo"]["py_callstack"])
        self.assertEqual(told["causes"],
                         [{"how": "cause", "message": "KeyError: 'lr'"}])
        self.assertEqual(told["message"]["extraInfo"]["timestamp"],
                         str(told["time_ns"] // 10**9))

    def test_syntax_error(self):
        self.write("bad.py", "def f(:\n")
        plain = self.run_words(PYTHON, "bad.py")
        self.assertEqual(self.worker("script", "bad.py"), plain)
        self.assertIn("SyntaxError", self.error())

    def test_excepthook(self):
        self.write("bad.py", "import sys\n"
                   "sys.excepthook = lambda *a: print('mine', a[0].__name__)\n"
                   "1 / 0\n")
        self.assertEqual(self.worker("script", "bad.py"), 1)
        self.assertEqual(self.out, "mine ZeroDivisionError\n")
        self.assertEqual(self.err, "")

    def test_interrupt(self):
        self.write("bad.py", "raise KeyboardInterrupt\n")
        self.assertEqual(self.worker("script", "bad.py"), -signal.SIGINT)
        self.assertIn("KeyboardInterrupt", self.err)
        self.assertNotIn("_worker", self.err)
        self.assertFalse(self.has("error.json"))

    def test_texts_that_cannot_be_told(self):
        self.write("bad.py", """\
            class Odd(Exception):
                def __str__(self):
                    raise RuntimeError
            raise Odd
            """)
        self.assertEqual(self.worker("script", "bad.py"), 1)
        self.assertIn("Odd: <its text could not be read>", self.error())
        self.write("bad.py", "raise ValueError('\\ud800\\0' + 'x' * 10**7)")
        self.assertEqual(self.worker("script", "bad.py"), 1)
        self.assertIn("ValueError: \\ud800\\x00xxx", self.error())
        self.assertLess(len(self.error()), 10**5)

    def test_endless_causes(self):
        self.write("bad.py", """\
            a, b = ValueError("a"), ValueError("b")
            a.__cause__, b.__cause__ = b, a
            raise a
            """)
        self.assertEqual(self.worker("script", "bad.py"), 1)
        self.assertEqual(len(self.json("error.json")["causes"]), 1)


class Functions(Case):
    def test_returns(self):
        self.write("f.py", """\
            import sys
            def echo(*args, **kwargs):
                return {"args": args, "kwargs": kwargs, "argv": sys.argv[1:]}
            def nothing():
                pass
            class Deep:
                @staticmethod
                def er():
                    return "ä"
            """)
        self.assertEqual(self.call("f:echo", 1, None, [True], {"a": "%"},
                                   kwargs={"lr": 0.1}), 0, self.err)
        self.assertEqual(self.json("result.json"),
                         {"args": [1, None, [True], {"a": "%"}],
                          "kwargs": {"lr": 0.1}, "argv": []})
        self.assertEqual(self.call("f:echo", "a\0b"), 0)
        self.assertEqual(self.json("result.json")["args"], ["a\0b"])
        self.assertEqual(self.call("f:nothing"), 0)
        self.assertIsNone(self.json("result.json"))
        self.assertEqual(self.call("f:Deep.er"), 0)
        self.assertEqual(self.json("result.json"), "ä")

    def test_big(self):
        self.write("f.py", "def big(n):\n"
                   "    return {'text': 'x' * n, 'list': [0.5] * 10**5}\n")
        self.assertEqual(self.call("f:big", 10**8), 0)
        self.assertGreater(os.path.getsize(self.dir + "/result.json"), 10**8)

    def test_not_json(self):
        values = {
            "{'metrics': [1, 2, 3, {4}]}": "result.metrics[3]: set ",
            "float('nan')": "result: nan ",
            "[float('-inf')]": "result[0]: -inf ",
            "{'a b': (1, b'x')}": 'result["a b"][1]: bytes ',
            "{1: 2}": "result: its key 1 is of type int",
            "[2 ** 63]": "result[0]: an integer beyond 64 bits",
            "'\\ud800'": "result: a str with a lone surrogate",
            "{'a\\0': 1}": "result: its key 'a\\x00' has a NUL",
            "range(3)": "result: range ",
            "itself()": "result[0]: it contains itself",
            "deep()": "result: nested deeper",
            "pathlib.Path('/')": "result: pathlib.",
            "object": "result: type ",
            "later()": "result: coroutine is not JSON; the function is async",
        }
        for value, text in values.items():
            self.write("f.py", """\
                import pathlib
                def itself():
                    a = []
                    a.append(a)
                    return a
                def deep():
                    a = []
                    for i in range(100000):
                        a = [a]
                    return a
                async def later():
                    pass
                def f():
                    return %s
                """ % value)
            self.assertEqual(self.call("f:f"), 1, value)
            self.assertIn(text, self.error())
            self.assertFalse(self.has("result.json"), value)

    def test_no_return(self):
        for text in ("sys.exit(0)", "os._exit(0)"):
            self.write("f.py", "import os, sys\ndef f():\n    %s\n" % text)
            self.assertEqual(self.call("f:f"), 0)
            self.assertFalse(self.has("result.json"))

    def test_setup_and_api(self):
        self.write("f.py", """\
            import jobrun
            seen = []
            def before():
                seen.append(jobrun.rank())
            def f():
                jobrun.result({"early": True})
                return [seen, jobrun.world_size(), jobrun.coordinates(),
                        [jobrun.members(a) for a in jobrun.AXES],
                        jobrun.groups("pipeline")]
            def g():
                jobrun.result({"early": True})
            def h():
                jobrun.group("model")
            def i():
                jobrun.group("tensor")
            """)
        self.assertEqual(self.call("f:f", setup="f:before"), 0, self.err)
        self.assertEqual(self.json("result.json"), [
            [1], 8, {"model": 1, "pipeline": 0, "data": 0},
            [[0, 1], [1, 3], [1, 5]], [[0, 2], [1, 3], [4, 6], [5, 7]]])
        self.assertEqual(self.call("f:g"), 0)
        self.assertEqual(self.json("result.json"), {"early": True})
        self.assertEqual(self.call("f:h"), 1)
        self.assertIn("init: torch", self.error())
        self.assertEqual(self.call("f:i"), 1)
        self.assertIn("no axis 'tensor'", self.error())

    def test_wrong(self):
        """Told as the spec's mistake, without a traceback, as no start."""
        self.write("f.py", "def main(epochs, lr=0.1):\n    pass\nx = 3\n")
        self.write("half.py", "import nowhere\n")
        self.write("gc.py", "def main():\n    pass\n")
        self.write("json.py", "")
        self.write("ourpackage/__init__.py", "")
        self.write("ourpackage/train.py", "")
        cases = [
            (("zzqqxx:main",), "no module named 'zzqqxx'; the working"),
            (("f.sub:main",), "no module named 'f.sub'"),
            (("sprint:main",), "no module named 'sprint'; the working"),
            (("strings:main",), "no module named 'strings'; the working"),
            (("ourpakcage:f",), "'ourpakcage' (did you mean 'ourpackage'?);"),
            (("ourpackage.trian:f",), "no module named 'ourpackage.trian' "
             "(did you mean 'ourpackage.train'?); the working directory"),
            (("ourpakcage.train:f",), "(to import 'ourpakcage.train') (did you "
             "mean 'ourpackage'?);"),
            (("zzqqxx.y.train:f",), "no module named 'zzqqxx' (to import "
             "'zzqqxx.y.train'); the"),
            (("f:mian", 1), "has no 'mian': did you mean 'main'?"),
            (("gc:main",), "module 'gc' (built in) has no 'main': it hides "
             + self.dir + "/gc.py, which needs another name"),
            (("json:train",), "json/__init__.py) has no 'train': it hides"),
            (("ourpackage:trian",), "__init__.py) has no 'trian'"),
            (("f:x",), "'f:x' is not a function: its type is int"),
            (("f:main",), "missing a required argument: 'epochs'"),
            (("f:main", 1, 2, 3), "too many positional arguments"),
        ]
        for words, text in cases:
            self.assertEqual(self.call(*words), 126, words)
            self.assertIn(text, self.error())
            self.assertTrue(self.json("error.json")["start"])
            self.assertNotIn("Traceback", self.err)
        self.assertEqual(self.call("f:main", kwargs={"epoch": 1}), 126)
        self.assertIn("'epochs'", self.error())
        self.assertEqual(self.call("f:main", 1, kwargs={"lrr": 1}), 126)
        self.assertIn("unexpected keyword argument 'lrr': did you mean 'lr'?",
                      self.error())
        self.assertEqual(self.call("half:main"), 1)
        self.assertEqual(self.error(),
                         "ModuleNotFoundError: No module named 'nowhere'")
        self.assertIn("half.py", self.err)
        self.assertNotIn("_main.py", self.err)
        for words in (["script", "none.py"], ["module", "none.sub"]):
            self.assertEqual(self.worker(*words), 126)
            self.assertTrue(self.json("error.json")["start"])

    def test_inner_type_error(self):
        """The same class of error from inside is the user's."""
        self.write("f.py", "def main():\n    main(1)\n")
        self.assertEqual(self.call("f:main"), 1)
        self.assertIn("TypeError", self.error())
        self.assertNotIn("start", self.json("error.json"))


class Ends(Case):
    """What the runner hears on descriptor 3, and when a rank goes on."""

    def control(self, words):
        ours, theirs = socket.socketpair()
        ours.settimeout(WAIT)

        def take():
            os.dup2(theirs.fileno(), 3)

        process = self.start([PYTHON, WORKER] + words, preexec_fn=take,
                             close_fds=False)
        theirs.close()
        self.addCleanup(ours.close)
        return process, ours

    def test_waits(self):
        self.write("f.py", "import atexit, subprocess\ndef f():\n"
                   "    subprocess.run(['sh', '-c', 'ls /proc/$$/fd'])\n"
                   "    with open('f.py') as file:\n"
                   "        print(file.fileno())\n")
        process, ours = self.control(["function", "f:f", "{}"])
        word = ours.recv(100)
        file = os.stat(self.dir + "/result.json")
        self.assertEqual(word, b"r %d %d %d %d %d" % (
            file.st_dev, file.st_ino, file.st_size, file.st_mtime_ns,
            file.st_ctime_ns))
        self.assertIsNone(process.poll())
        ours.send(b"g")
        out, err = process.communicate(timeout=WAIT)
        self.assertEqual(process.returncode, 0, err)
        # The program has the small numbers, and its children none of ours.
        self.assertEqual(out.split()[:3], ["0", "1", "2"])
        self.assertTrue(out.endswith("\n3\n"), out)
        self.assertNotIn("100", out)

    def test_failure_does_not_wait(self):
        self.write("f.py", "def f():\n    1 / 0\n")
        process, ours = self.control(["function", "f:f", "{}"])
        self.assertEqual(ours.recv(100), b"f")
        process.communicate(timeout=WAIT)
        self.assertEqual(process.returncode, 1)

    def told(self, text, form="script", code=1):
        """The word of a script or a module, which still has all that it has
        when it says it; and what it prints."""
        self.write("f.py", text)
        process, ours = self.control(
            [form, "f.py" if form == "script" else "f"])
        word = ours.recv(100)
        self.assertFalse(self.has("closed"), text)
        self.assertIsNone(process.poll())
        ours.send(b"g")
        out, err = process.communicate(timeout=WAIT)
        self.assertEqual(process.returncode, code, err)
        return word, out, err

    def test_scripts_and_modules_tell_before_they_close_anything(self):
        holds = ("import atexit, os, sys, threading\n"
                 "def close():\n    open('closed', 'w').close()\n"
                 "def hook(*what):\n    close()\n    print('hook')\n"
                 "class Held:\n    def __del__(self):\n        close()\n"
                 "held = Held()\natexit.register(close)\n")
        lingers = ("main = threading.main_thread()\n"
                   "threading.Thread(target=lambda: (main.join(), close()))"
                   ".start()\n")
        for form in ("script", "module"):
            for text, word, code in (
                    ("", b"r", 0), ("sys.exit(0)\n", b"r", 0),
                    ("sys.exit(3)\n", b"x 3", 3),
                    ("sys.exit('no')\n", b"x 1", 1),
                    ("raise ValueError('x')\n", b"f", 1),
                    (lingers, b"t", 0), (lingers + "sys.exit(0)\n", b"t", 0),
                    (lingers + "1 / 0\n", b"f", 1),
                    (lingers + "sys.exit(4)\n", b"x 4", 4),
                    ("sys.excepthook = hook\n1 / 0\n", b"f", 1),
                    ("class Stop(BaseException):\n    pass\nraise Stop\n",
                     b"f", 1)):
                with self.subTest(form=form, text=text):
                    told, out, err = self.told(holds + text, form, code)
                    self.assertEqual(told, word)
                    self.assertTrue(self.has("closed"))
                    os.unlink(self.dir + "/closed")
                    self.assertEqual("hook" in out, "= hook" in text)
                    self.assertEqual(self.has("error.json"), word == b"f", err)
                    if word == b"f":
                        os.unlink(self.dir + "/error.json")

    def test_what_is_not_the_rank_tells_nothing(self):
        fails = "import os, sys, threading\nimport multiprocessing as m\n" \
            "def fail():\n    raise ValueError\n" \
            "if __name__ == '__main__':\n    %s\n    sys.exit(9)\n"
        for text in (
                "pid = os.fork()\n    if pid == 0:\n        fail()\n"
                "    os.waitpid(pid, 0)",
                "pid = os.fork()\n    if pid == 0:\n        sys.exit(4)\n"
                "    os.waitpid(pid, 0)",
                "thread = threading.Thread(target=fail)\n    thread.start()\n"
                "    thread.join()",
                "process = m.get_context('fork').Process(target=fail)\n"
                "    process.start()\n    process.join()",
                "process = m.get_context('spawn').Process(target=fail)\n"
                "    process.start()\n    process.join()"):
            with self.subTest(text):
                self.assertEqual(self.told(fails % text, code=9)[0], b"x 9")
                self.assertFalse(self.has("error.json"))

    def test_who_has_closed_it_ends_all_the_same(self):
        for text, code in (("", 0), ("sys.exit(3)\n", 3), ("1 / 0\n", 1),
                           ("os.execv('/bin/sh', ['sh', '-c', 'exit 6'])\n", 6),
                           ("os._exit(5)\n", 5)):
            self.write("f.py", "import os, socket, sys\n"
                       "os.closerange(3, 1000)\n"
                       "held = [socket.socket() for _ in range(200)]\n" + text)
            process, ours = self.control(["script", "f.py"])
            self.assertEqual(ours.recv(100), b"", text)
            out, err = process.communicate(timeout=WAIT)
            self.assertEqual(process.returncode, code, err)

    def test_a_low_limit(self):
        """The socket stays where it is."""
        self.write("f.py", "import resource\n"
                   "print(resource.getrlimit(resource.RLIMIT_NOFILE)[0])\n")
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, limits[1]))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, limits)
        process, ours = self.control(["script", "f.py"])
        self.assertEqual(ours.recv(100), b"r")
        ours.send(b"g")
        self.assertEqual(process.communicate(timeout=WAIT), ("64\n", ""))

    def test_a_call_that_cannot_be_made(self):
        for words in (["script", "no.py"], ["module", "nosuch"],
                      ["function", "nosuch:f", "{}"]):
            process, ours = self.control(words)
            self.assertEqual(ours.recv(100), b"x 126")
            ours.send(b"g")
            process.communicate(timeout=WAIT)
            self.assertEqual(process.returncode, 126)

    def test_runner_gone(self):
        self.write("f.py", "")
        process, ours = self.control(["script", "f.py"])
        ours.recv(1)
        ours.close()
        process.communicate(timeout=WAIT)
        self.assertEqual(process.returncode, 0)

    def test_no_return(self):
        """It exits with 0, and waits for nothing."""
        self.write("f.py", "import sys\ndef f():\n    sys.exit(0)\n")
        process, ours = self.control(["function", "f:f", "{}"])
        process.communicate(timeout=WAIT)
        self.assertEqual(ours.recv(100), b"x 0")


# A group of torch's that garbage holds, and what is done at the end.
GROUPS = """\
import atexit, os, sys
import jobrun, torch.distributed
class Group:
    def __del__(self):
        print("collected", "late" if sys.is_finalizing() else "in time")
class Made:
    def end(self):
        print("ended in", "the rank" if os.getpid() == pid else "a child")
def main(code=None):
    group = Group()
    group.me = group
    if code is not None:
        sys.exit(code)
pid = os.getpid()
jobrun._made = Made()
atexit.register(print, "own handler")
"""


class Groups(Case):
    def setUp(self):
        super().setUp()
        self.write("torch/__init__.py", "")
        self.write("torch/distributed.py", "")

    def check(self, code, words, *lines, form=("script", "f.py")):
        self.write("f.py", GROUPS + words)
        self.assertEqual(self.worker(*form), code, self.err)
        self.assertEqual(self.out.splitlines(), list(lines))

    def test_plain_python_is_late(self):
        """If this fails, nothing of this is needed."""
        self.write("f.py", GROUPS + "main()\n")
        code = "import sys; sys.path[:0] = [%r, '.']\n" \
            "exec(open('f.py').read())" % os.path.join(SUPPORT, "python")
        self.assertEqual(self.run_words(PYTHON, "-c", code), 0, self.err)
        self.assertEqual(self.out, "own handler\ncollected late\n")

    def test_scripts(self):
        well = "own handler", "ended in the rank", "collected in time"
        self.check(0, "main()\n", *well)
        self.check(0, "main(0)\n", *well)

    def test_a_module(self):
        self.check(0, "main()\n", "own handler", "ended in the rank",
                   "collected in time", form=("module", "f"))

    def test_a_function(self):
        self.check(0, "", "own handler", "ended in the rank",
                   "collected in time", form=("function", "f:main", "{}"))

    def test_a_failure_ends_nothing(self):
        """Its peers may be in the middle of a call, and it would wait."""
        self.check(3, "main(3)\n", "own handler", "collected in time")
        self.write("f.py", GROUPS + "main()\n1 / 0\n")
        self.assertEqual(self.worker("script", "f.py"), 1)
        self.assertNotIn("ended", self.out)

    def test_a_child_ends_nothing(self):
        self.check(0, "main()\nchild = os.fork()\n"
                   "if child:\n    os.waitpid(child, 0)\n",
                   "own handler", "collected late",  # by the child
                   "own handler", "ended in the rank", "collected in time")

    def test_other_programs_are_not_collected(self):
        self.check(0, "main()\ndel sys.modules['torch.distributed']\n",
                   "own handler", "collected late")


class Old(Case):
    def test_syntax(self):
        """All of the package is Python 3.8; test_versions.py runs it there."""
        for path in glob.glob(os.path.join(os.path.dirname(WORKER), "*.py")):
            with open(path) as file:
                ast.parse(file.read(), path, feature_version=(3, 8))

    def test_refusal(self):
        """The refusal, by what takes the place of an old interpreter."""
        code = "import sys; sys.version_info = (3, 7, 1); sys.argv = ['w']\n" \
            "exec(compile(open(%r).read(), 'w', 'exec'))" % WORKER
        self.assertEqual(self.run_words(PYTHON, "-c", code), 126)
        self.assertIn("is Python 3.7", self.error())
        self.assertTrue(self.json("error.json")["start"])

    def test_python_2(self):
        python = os.environ.get("PYTHON2") or shutil.which("python2.7")
        if not python or self.run_words(python, "-c", "") != 0:
            self.skipTest("no Python 2 here")
        self.assertEqual(self.run_words(python, WORKER, "script", "x"), 126)
        self.assertIn("is Python 2.7", self.error())


if __name__ == "__main__":
    unittest.main()
