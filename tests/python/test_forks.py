"""fork and forkserver with libraries that start threads, as users have them:
numpy, torch and Paddle where the interpreter has them, imports that leave
threads behind, busy ones, and forks that hang."""
import json
import subprocess
import unittest

from launching import JOBRUN, PYTHON, Launching

LONG = 600


class Forks(Launching):
    def run_spec(self, spec, status=0):
        self.write("job.yaml", json.dumps(dict({
            "version": 1, "device": "cpu", "oversubscribe": True}, **spec)))
        process = self.start("-c", "import os, sys; os.execv(sys.argv[1], "
                             "sys.argv[1:])", JOBRUN, "job.yaml")
        self.out, self.err = process.communicate(timeout=LONG)
        self.assertEqual(process.returncode, status, self.err + self.out)
        with open(self.dir + "/runs/latest/results.json") as file:
            return json.load(file)

    def function(self, method, function, **more):
        return dict({
            "entrypoint": {"python": {"function": function,
                                      "interpreter": PYTHON}},
            "start_method": method, "local_world_size": 2}, **more)

    def of_library(self, name, text):
        """A module's preload, with both sizes of its pool, by each method."""
        if subprocess.run([PYTHON, "-c", "import " + name],
                          stdin=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("%s has no %s" % (PYTHON, name))
        self.write("lib.py", text)
        for method in "spawn", "fork", "forkserver":
            for threads in 1, 12:
                more = {} if method == "spawn" else {"preload": [name]}
                with self.subTest(method, threads=threads):
                    record = self.run_spec(self.function(
                        method, "lib:work", threads=threads, **more))
                    got = [rank["result"] for rank in record["ranks"]]
                    self.assertEqual([row["sum"] for row in got], [512.0] * 2)
                    for row in got:
                        if threads == 1:
                            self.assertEqual(row["tasks"], 1, self.err)
                        elif row["parallel"]:
                            self.assertGreater(row["tasks"], 1, self.err)
                    self.assertNotIn("warning", self.err)

    def test_numpy(self):
        self.of_library("numpy", """\
            import os
            import numpy
            def work():
                a = numpy.ones((512, 512))
                for _ in range(20):
                    b = a @ a
                maps = open("/proc/self/maps").read()
                return {"sum": float(b[3, 4]), "parallel": "openblas" in maps,
                        "tasks": len(os.listdir("/proc/self/task"))}
            """)

    def test_torch(self):
        self.of_library("torch", """\
            import os
            import torch
            def work():
                a = torch.ones((512, 512))
                for _ in range(20):
                    b = a @ a
                return {"sum": float(b[3, 4]), "parallel": True,
                        "tasks": len(os.listdir("/proc/self/task"))}
            """)

    def test_paddle(self):
        self.of_library("paddle", """\
            import os
            import paddle
            def work():
                a = paddle.ones((512, 512))
                for _ in range(20):
                    b = a @ a
                return {"sum": float(b[3, 4]), "parallel": True,
                        "tasks": len(os.listdir("/proc/self/task"))}
            """)

    def test_busy_threads(self):
        """Two hundred forks of a helper whose threads hold the locks of
        malloc, of stdio, of the import system and of logging all the time."""
        self.write("busy.py", """\
            import ctypes, importlib, io, logging, sys, threading
            sys.setswitchinterval(1e-5)  # the helper has to get a turn
            libc = ctypes.CDLL(None)
            libc.malloc.restype = ctypes.c_void_p
            libc.free.argtypes = [ctypes.c_void_p]
            # no buffer: CPython leaves the lock of one held in a fork
            null = io.TextIOWrapper(io.FileIO("/dev/null", "w"),
                                    write_through=True)
            log = logging.getLogger("busy")
            log.addHandler(logging.StreamHandler(null))
            def allocate():
                while True:
                    for size in range(1, 1 << 18, 4099):
                        libc.free(libc.malloc(size))
            def print_lines():
                libc.fopen.restype = ctypes.c_void_p
                file = ctypes.c_void_p(libc.fopen(b"/dev/null", b"w"))
                while True:
                    libc.fputs(b"a line\\n", file)
                    libc.fflush(None)
            def python_locks():
                import colorsys
                while True:
                    log.warning("x %s", [0] * 100)
                    importlib.reload(colorsys)
            for work in allocate, print_lines, python_locks:
                threading.Thread(target=work, daemon=True).start()
            """)
        self.write("f.py", """\
            def f():
                import ctypes, logging, wave
                logging.getLogger("busy").warning("mine")
                libc = ctypes.CDLL(None)
                libc.puts(b"out")
                libc.fflush(None)
                return [bytes(100000) and 1]
            """)
        record = self.run_spec(self.function(
            "forkserver", "f:f", preload=["busy"], local_world_size=200,
            redirects="all"))
        self.assertEqual([rank["result"] for rank in record["ranks"]],
                         [[1]] * 200)
        self.assertEqual(self.err.count("warning: the imports"), 1, self.err)

    def test_a_fork_that_hangs(self):
        self.write("held.py", """\
            import threading
            lock = threading.Lock()
            def hold():
                with lock:
                    threading.Event().wait()
            threading.Thread(target=hold, name="holder", daemon=True).start()
            while not lock.locked():
                pass
            """)
        self.write("f.py", """\
            def prepare():
                import held, jobrun
                if jobrun.rank() == 1:
                    held.lock.acquire()
            def f():
                import threading
                threading.Event().wait(300)
            """)
        spec = self.function("forkserver", "f:f", preload=["held"])
        spec["entrypoint"]["python"]["setup"] = "f:prepare"
        record = self.run_spec(spec, 7)
        cause = record["root_cause"]
        self.assertEqual((cause["rank"], cause["kind"]), (1, "start"))
        self.assertIn("did not reach its function: not within 30 s",
                      cause["message"])
        self.assertIn("1 thread (holder)", cause["message"])
        self.assertEqual(record["ranks"][0]["state"], "stopped")

    def test_a_spec_that_refuses_threads(self):
        self.write("left.py", "import threading\n"
                   "threading.Thread(target=threading.Event().wait,\n"
                   "                 name='left', daemon=True).start()\n")
        self.write("f.py", "def f(): pass\n")
        record = self.run_spec(self.function(
            "forkserver", "f:f", preload=["left"], fork_threads="refuse"), 7)
        self.assertIn("1 thread (left)", record["root_cause"]["message"])


if __name__ == "__main__":
    unittest.main()
