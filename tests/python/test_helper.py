"""The start methods fork and forkserver, through a driver of the run."""
import ctypes
import json
import os
import random
import select
import shutil
import signal
import socket
import sys
import time
import unittest
from unittest import mock

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "run"))
from chaos import child_of, survivors
from test_worker import PYTHON, WORKER, Case

DRIVER = os.environ["RUNDRIVER"]


class Ranks(Case):
    def drive(self, words, *, ranks=4, helper=(), options=(), ready=None):
        """helper=None: the ranks are spawned."""
        shutil.rmtree(self.dir + "/runs", ignore_errors=True)
        serve = [] if helper is None else [PYTHON, WORKER, "serve", *helper]
        driver = self.start([
            DRIVER, "ranks=%d" % ranks, "out=tee", "err=tee",
            "outcome=outcome", "workdir=" + self.dir, "helper="
            + ",".join(serve), *options, "--", PYTHON, WORKER, *words])
        if ready:
            ready(driver)
        self.out, self.err = driver.communicate(timeout=60)
        self.outcome = self.text("outcome")
        return driver.returncode

    def call(self, target, *args, **more):
        return self.drive(["function", target, json.dumps({"args": args})],
                          **more)

    def text(self, name):
        try:
            with open(os.path.join(self.dir, name)) as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def log(self):
        return self.text("runs/run-0000/attempt_0/helper.log")

    def test_ranks_are_forks(self):
        """Each has its own environment, session, streams and parent, and the
        imports of the helper."""
        self.write("heavy.py", "import os\nborn = os.getpid()\n"
                   "print('imported once')\n")
        self.write("f.py", """\
            import ctypes, heavy, json, os, sys
            def f():
                sig = ctypes.c_int()
                ctypes.CDLL(None).prctl(2, ctypes.byref(sig))
                libc = ctypes.CDLL(None)
                libc.getenv.restype = ctypes.c_char_p
                sys.stdout.write(json.dumps({
                    "rank": os.environ["RANK"],
                    "c": libc.getenv(b"RANK").decode(),
                    "forked": heavy.born != os.getpid(),
                    "session": os.getsid(0) == os.getpid(),
                    "death": sig.value, "parent": os.getppid(),
                    "path": sys.path[0],
                    "fds": sorted(int(n) for n in os.listdir("/proc/self/fd"))
                    }) + "\\n")
                print("wrong", file=sys.stderr)
            """)
        self.assertEqual(self.call("f:f", ranks=20,
                                   helper=["--preload", "heavy"]), 0, self.err)
        told = [json.loads(line.split(" ", 1)[1])
                for line in self.out.splitlines()]
        self.assertEqual(sorted(int(rank["rank"]) for rank in told),
                         list(range(20)))
        for rank in told:
            self.assertEqual(rank["c"], rank["rank"])
            self.assertTrue(rank["forked"] and rank["session"])
            self.assertEqual(rank["death"], signal.SIGKILL)
            self.assertEqual(rank["path"], self.dir)
            # 3 is that of the listing, 1000 the life line.
            self.assertEqual(rank["fds"], [0, 1, 2, 3, 1000])
        self.assertEqual(len({rank["parent"] for rank in told}), 1)
        self.assertEqual(self.log(), "imported once\n")
        self.assertEqual(self.err.count("wrong"), 20)
        self.assertEqual(self.outcome.count("end=exited code=0"), 20)
        self.assertEqual(self.text("runs/run-0000/attempt_0/7/stderr.log"),
                         "wrong\n")

    def test_cpus(self):
        self.write("f.py", "import os\ndef f():\n"
                   "    return sorted(os.sched_getaffinity(0))\n")
        cpu = min(os.sched_getaffinity(0))
        self.call("f:f", options=["cpus=%d" % cpu])
        self.assertEqual(self.outcome.count("end=exited code=0"), 4, self.err)
        self.call("f:f", options=["cpus=%d,1000" % cpu])
        self.assertIn("end=exited code=127", self.outcome)
        self.assertIn("was to run on CPUs [%d, 1000], and may on [%d] only"
                      % (cpu, cpu), self.err)

    def test_runner_leaves_without_listening(self):
        """Its end with a word unread is an end, too, and none to tell."""
        ours, theirs = socket.socketpair(socket.AF_UNIX,
                                         socket.SOCK_SEQPACKET)
        with theirs:
            helper = self.start(
                ["/bin/sh", "-c", 'exec "$@" 3<&%d' % theirs.fileno(), "sh",
                 PYTHON, WORKER, "serve"], pass_fds=[theirs.fileno()])
        with ours:
            select.select([ours], [], [], 60)
        self.assertEqual(helper.communicate(timeout=60), ("", ""))
        self.assertEqual(helper.returncode, 0)

    def test_entry_is_loaded_once(self):
        self.write("f.py", "import os\nborn = os.getpid()\ndef f():\n"
                   "    print(born != os.getpid())\n")
        self.assertEqual(self.call("f:f", helper=["--load", "function", "f:f"]),
                         0, self.err)
        self.assertEqual(self.out.count("True"), 4)

    def test_main_of_a_script(self):
        self.write("s.py", "import pickle, sys\nclass A: pass\n"
                   "assert type(pickle.loads(pickle.dumps(A()))) is A\n"
                   "print(__name__, sys.argv)\nsys.exit(3)\n")
        self.assertEqual(self.drive(["script", "s.py", "x"],
                                    options=["policy=continue"],
                                    helper=["--load", "script", "s.py"]), 0)
        self.assertEqual(self.out.count("__main__ ['s.py', 'x']"), 4)
        self.assertEqual(self.outcome.count("end=exited code=3"), 4)

    def test_traceback_and_interrupt(self):
        self.write("s.py", "def g():\n    1 / 0\ng()\n")
        self.drive(["script", "s.py"], ranks=1)
        self.assertRegex(self.err, r"(?m)^\[0\] Traceback.*\n"
                         r"\[0\]   File \"(/.*/)?s.py\", line 3, in <module>")
        self.write("s.py", "raise KeyboardInterrupt\n")
        self.drive(["script", "s.py"], ranks=1)
        self.assertIn("signal=2", self.outcome)

    def refused(self, stage, text, *helper, **more):
        self.assertEqual(self.call("f:f", helper=helper, **more), 0)
        self.assertIn("stage=%s" % stage, self.outcome)
        self.assertRegex(self.outcome, text)
        self.assertEqual(self.outcome.count("end=start"), 1)
        self.assertEqual(self.outcome.count("end=none"), 3)

    def test_bad_imports(self):
        self.write("f.py", "def f(): pass\n")
        self.write("raises.py", "x = {}\nx['lr']\n")
        self.write("dies.py", "import os\nos.kill(os.getpid(), 9)\n")
        self.write("leaves.py", "raise SystemExit(0)\n")
        self.refused("import", "text=no module named 'nowhere'",
                     "--preload", "nowhere")
        self.refused("import", "text=KeyError: 'lr' .*raises.py:2",
                     "--preload", "raises")
        self.assertIn("Traceback", self.log())
        self.refused("import", "text=it was killed by SIGKILL before it was ready",
                     "--preload", "dies")
        self.refused("import", "text=SystemExit: 0", "--preload", "leaves")
        self.refused("import", "text=module 'f' .* has no 'g'",
                     "--load", "function", "f:g")

    def test_unfit_imports(self):
        self.write("f.py", "def f(): pass\n")
        self.write("threads.py", "import threading\n"
                   "stop = threading.Event()\n"
                   "threading.Thread(target=stop.wait, daemon=True).start()\n")
        self.refused("fork", r"text=the imports started 1 thread \(Thread-1.*"
                     "fork_threads is refuse",
                     "--refuse-threads", "--preload", "threads")
        self.write("torch/__init__.py", "")
        self.write("torch/cuda.py", "def is_initialized():\n    return True\n")
        self.refused("fork", "text=the imports initialised a device "
                     r"\(torch.cuda\)", "--preload", "torch.cuda")

    def test_threads_of_imports_are_told_once(self):
        self.write("threads.py", "import threading\n"
                   "stop = threading.Event()\n"
                   "for name in 'feeder', 'feeder', 'watch':\n"
                   "    threading.Thread(target=stop.wait, daemon=True,\n"
                   "                     name=name).start()\n")
        self.write("f.py", "import threading\n"
                   "def f(): print('alone', threading.active_count())\n")
        self.assertEqual(self.call("f:f", ranks=8,
                                   helper=["--preload", "threads"]), 0)
        self.assertEqual(self.err.count("warning"), 1, self.err)
        self.assertIn("left 3 threads (feeder, watch)", self.err)
        self.assertEqual(self.out.count("alone 1"), 8, self.out)
        self.assertEqual(self.outcome.count("code=0"), 8, self.outcome)

    def test_pools_have_one_thread_in_the_helper_and_their_size_in_ranks(self):
        """GNU's OpenMP, by ctypes: its variable is read once, at the load."""
        try:
            ctypes.CDLL("libgomp.so.1")
        except OSError:
            self.skipTest("there is no libgomp.so.1")
        self.write("pool.py", """\
            import ctypes, os
            omp = ctypes.CDLL("libgomp.so.1")
            at_import = omp.omp_get_max_threads()
            region = omp.GOMP_parallel
            region.argtypes = [ctypes.c_void_p, ctypes.c_void_p,
                               ctypes.c_uint, ctypes.c_uint]
            nothing = ctypes.cast(ctypes.CDLL(None).getpid, ctypes.c_void_p)
            def use(threads=0):
                region(nothing, None, threads, 0)
                return len(os.listdir("/proc/self/task"))
            if os.environ.get("LIVE"):
                use(3)
            """)
        self.write("f.py", "import pool\n"
                   "def f(): print('pool', pool.at_import,\n"
                   "    pool.omp.omp_get_max_threads(), pool.use())\n")
        for threads in 1, 12:
            with mock.patch.dict(os.environ, OMP_NUM_THREADS=str(threads)):
                self.assertEqual(self.call("f:f", ranks=2,
                                           helper=["--preload", "pool"]), 0)
            self.assertEqual(self.out.count(
                "pool 1 %d %d" % (threads, threads)), 2, self.out)
            self.assertNotIn("warning", self.err)
        with mock.patch.dict(os.environ, LIVE="1"):
            self.refused("fork", "text=the imports have begun to use OpenMP "
                         r"\(/.*libgomp", "--preload", "pool")

    def test_no_interpreter(self):
        self.start([DRIVER, "helper=/no/python,serve", "outcome=outcome",
                    "--", "/no/python"]).communicate(timeout=60)
        self.assertIn("stage=exec errno=ENOENT", self.text("outcome"))

    def test_hang_and_signal(self):
        """jobrun stops at once while the helper hangs in an import."""
        self.write("hang.py", "import os, time\n"
                   "open('ready', 'w').close()\nfd = os.open('ready.fifo', 1)\n"
                   "time.sleep(3600)\n")
        os.mkfifo(self.dir + "/ready.fifo")

        def ready(driver):
            os.close(os.open(self.dir + "/ready.fifo", os.O_RDONLY))
            driver.send_signal(signal.SIGTERM)

        self.write("f.py", "def f(): pass\n")
        self.call("f:f", helper=["--preload", "hang"], ready=ready)
        self.assertIn("stop_signal=15", self.outcome)
        self.assertEqual(self.outcome.count("end=none"), 4)

    def test_helper_is_killed(self):
        """At its most awkward: while ranks of a first batch run."""
        self.write("f.py", """\
            import os, signal
            def f():
                if os.environ["RANK"] == "0":
                    os.kill(int(open("helper").read()), signal.SIGKILL)
            """)
        self.write("heavy.py", "import os\n"
                   "open('helper', 'w').write(str(os.getpid()))\n")
        for _ in range(5):
            self.call("f:f", ranks=40, helper=["--preload", "heavy"],
                      options=["grace=5000"])
            self.assertIn("left=0", self.outcome)
            self.assertNotIn("runner_signal=9", self.outcome)
            # It may have given all ranks by then, and is then not missed.
            if "end=start" in self.outcome:
                self.assertIn("stage=fork", self.outcome)

    def both(self, target, options, **more):
        """By a helper, and spawned."""
        for helper in ((), None):
            self.call(target, helper=helper, options=options, **more)
            yield self.outcome

    def test_exit_barrier(self):
        """Rank 1 returns only when rank 0 has, which then has to wait."""
        self.write("f.py", """\
            import atexit, os, time
            def said(what):
                line = "%s %d\\n" % (what, time.monotonic_ns())
                os.write(1, line.encode())
            def f():
                if os.environ["RANK"] == "1":
                    while not os.path.exists(os.environ["JOBRUN_RESULT_FILE"]):
                        time.sleep(0.01)
                atexit.register(said, "left")
                said("returned")
            """)
        for outcome in self.both("f:f", ["returns=1", "barrier=1"], ranks=2):
            self.assertEqual(outcome.count("code=0"), 2, self.err)
            self.assertEqual(outcome.count("returned=1 lingered=0"), 2)
            at = {"returned": [], "left": []}
            for line in self.out.splitlines():
                _, what, when = line.split()
                at[what].append(int(when))
            self.assertEqual(len(at["left"]), 2)
            self.assertLess(max(at["returned"]), min(at["left"]))
            os.unlink(self.dir + "/result.json")

    def test_barrier_opens_for_a_failure(self):
        self.write("f.py", """\
            import os, sys, time
            def f():
                if os.environ["RANK"] != "0":
                    while not os.path.exists(os.environ["JOBRUN_RESULT_FILE"]):
                        time.sleep(0.01)
                    sys.exit(0 if os.environ["RANK"] == "1" else 3)
            """)
        for ranks in (2, 3):
            for outcome in self.both(
                    "f:f", ["returns=1", "barrier=1", "policy=continue"],
                    ranks=ranks):
                self.assertEqual(outcome.count("end=exited"), ranks)
                os.unlink(self.dir + "/result.json")

    def test_lingering(self):
        self.write("f.py", """\
            import os, threading
            def f():
                threading.Thread(target=threading.Event().wait).start()
                if os.environ["RANK"] == "1":
                    raise ValueError
            """)
        for outcome in self.both("f:f", ["returns=1", "exit=300",
                                         "policy=continue"], ranks=2):
            self.assertRegex(outcome, "rank 0 .*signal=9.*returned=1 lingered=1")
            self.assertRegex(outcome, "rank 1 .*signal=9.*returned=0 lingered=1")

    def test_start_timeout(self):
        self.write("hang.py", "import time\ntime.sleep(3600)\n")
        self.write("f.py", "def f(): pass\n")
        self.refused("import", "text=it did not finish within timeouts.start",
                     "--preload", "hang", options=["start=300"])

    def test_start_timeout_of_spawned_ranks(self):
        self.drive(["function", "json:dumps", '{"args": [1]}'], ranks=300,
                   helper=None, options=["start=1", "grace=5000"])
        self.assertIn("stage=late", self.outcome)
        self.assertNotIn("killed=1", self.outcome.split("\n", 1)[0])

    # A driver that gets a signal while it looks for leaks may hang.
    @mock.patch.dict(os.environ, ASAN_OPTIONS="detect_leaks=0")
    def test_chaos(self):
        """SIGKILL guard, runner or helper at any moment: nothing is left."""
        self.write("f.py", """\
            import os, time
            def f():
                if os.fork() == 0:
                    os.setsid()
                time.sleep(600)
            """)
        seed = time.time_ns() % 100000
        chance = random.Random(seed)
        for number in range(12):
            mark = "JR_CHAOS=%d-%d" % (os.getpid(), number)
            os.environ["JR_CHAOS"] = mark.split("=")[1]
            self.addCleanup(os.environ.pop, "JR_CHAOS", None)
            victim = number % 3

            def kill(driver):
                time.sleep(chance.uniform(0.02, 0.3))
                runner = child_of(driver.pid)
                pid = [driver.pid, runner, child_of(runner)][victim]
                # Not there yet, or gone: then all of it.
                os.kill(pid if pid > 1 else driver.pid, signal.SIGKILL)
                if victim == 2:
                    driver.send_signal(signal.SIGTERM)
                    driver.send_signal(signal.SIGCONT)

            self.call("f:f", ready=kill, options=["grace=100"])
            self.assertEqual(survivors(mark), [], "seed %d, run %d"
                             % (seed, number))


if __name__ == "__main__":
    unittest.main()
