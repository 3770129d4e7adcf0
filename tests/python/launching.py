"""A folder with a module `work` and a program of one's own that calls
jobrun.launch: what the tests of it share."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest

JOBRUN = os.environ["JOBRUN"]
PYTHON = os.environ.get("INTERPRETER", sys.executable)
PACKAGE = os.path.join(os.environ["SUPPORT"], "python")
LIMIT = 120

WORK = """\
    import os, sys
    import jobrun

    def report(value, *more, tag=None):
        return {"rank": jobrun.rank(), "world": jobrun.world_size(),
                "value": value, "more": more, "tag": tag}

    def nothing():
        pass

    def fails(at, how):
        if jobrun.rank() != at:
            sys.stdin.close()
            import threading
            threading.Event().wait(100)
        if how == "raise":
            raise ValueError("loss is NaN")
        if how == "exit":
            sys.exit(3)
        os.kill(os.getpid(), 9)

    def waits(path):
        with open(path % jobrun.rank(), "w") as file:
            file.write(str(os.getpid()))
        import threading
        threading.Event().wait(100)

    def not_json():
        return {"x": [1, {2}]}

    class Model:
        @staticmethod
        def fit(x):
            return x

        def step(self):
            return 1

        @classmethod
        def of(cls):
            return cls.__name__

    alias = lambda: 1
    alias.__qualname__ = "report"

    class Odd(Exception):
        def __init__(self, one, other):
            super().__init__(one + " " + other)
            self.lock = __import__("threading").Lock()

    def raises():
        raise Odd("two", "words")

    class Stop(BaseException):
        pass

    def stops():
        raise Stop("no more")

    def where():
        return [os.getcwd(), os.environ["A"]]

    def place():
        return [jobrun.rank(), jobrun.world_size()]

    def inner():
        return [jobrun.rank(), jobrun.launch(place, nprocs=3, device="cpu",
                                             oversubscribe=True)]
    """


class Launching(unittest.TestCase):
    def setUp(self):
        self.dir = os.path.realpath(tempfile.mkdtemp(prefix="jobrun ${a} "))
        self.addCleanup(shutil.rmtree, self.dir)
        self.write("work.py", WORK)

    def write(self, name, text):
        with open(os.path.join(self.dir, name), "w") as file:
            file.write(textwrap.dedent(text))

    def environment(self):
        env = {name: value for name, value in os.environ.items()
               if name not in ("JOBRUN", "RANK", "WORLD_SIZE")}
        return dict(env, PYTHONPATH=PACKAGE, TMPDIR=self.dir)

    def start(self, *words, **more):
        return subprocess.Popen([PYTHON, *words], cwd=self.dir, text=True,
                                env=self.environment(), stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                **more)

    def python(self, *words):
        process = self.start(*words)
        try:
            out, err = process.communicate(timeout=LIMIT)
        finally:
            process.kill()
        self.err = err
        # Nothing of it is left, whatever became of it.
        self.assertEqual([name for name in os.listdir(self.dir)
                          if name.startswith("jobrun-launch")], [], err)
        return process.returncode, out

    def evaluate(self, text):
        """What a program prints last, as JSON; jobrun and work are there."""
        self.write("main.py", "import json, sys, jobrun, work\n"
                   + textwrap.dedent(text))
        status, out = self.python("main.py")
        self.assertEqual(status, 0, self.err)
        return json.loads(out.splitlines()[-1])

    def caught(self, call):
        """The members of the exception that a call raises."""
        return self.evaluate("""\
            try:
                %s
            except Exception as error:
                facts = dict(vars(error), type=type(error).__name__,
                             text=str(error))
                print(json.dumps(facts, default=str))
            """ % call)
