"""What jobrun.launch hands to the ranks and back: any Python objects, each
rank's own arguments, programs; and that no job outlives its call."""
import json
import os
import signal
import subprocess
import sys
import unittest

from launching import LIMIT, Launching

OBJECTS = """\
    import collections, os, threading
    import jobrun

    Point = collections.namedtuple("Point", "x y")

    class Broken(Exception):
        def __init__(self, code, text):
            super().__init__(code, text)
            self.code, self.text = code, text

    class Unread(Exception):
        def __init__(self, one, other):
            super().__init__(one + other)

    class Model:
        def __init__(self, bias):
            self.bias = bias
        def step(self, x):
            return x + self.bias

    def same(*args, **kwargs):
        return args, kwargs

    def odd():
        return {1: (float("nan"), {2}), Point(1, 2): b"\\0x", "rank":
                jobrun.rank()}

    def breaks(at):
        if jobrun.rank() == at:
            raise Broken(7, "no data")
        threading.Event().wait(100)

    def unread():
        raise Unread("a", "b")

    def forks():
        if os.fork() == 0:
            raise ValueError("of the child")
        os.wait()
        return (1,)

    def unpicklable():
        return threading.Lock()

    def delivers():
        jobrun.result({"x": 1})

    def environment():
        return [os.environ.get("A"), os.environ.get("B")]
    """
ON_CPU = "device='cpu', oversubscribe=True"


class Exchange(Launching):
    def setUp(self):
        super().setUp()
        self.write("objects.py", OBJECTS)

    def got(self, call, more=""):
        """repr of what a call of launch returns."""
        return self.evaluate("""\
            import objects
            %s
            print(json.dumps(repr(jobrun.launch(%s, %s))))""" % (
                more, call, ON_CPU))

    def test_any_objects_go_there_and_back(self):
        self.assertEqual(
            self.got("objects.same, ((1, objects.Point(1, 2)), {3: None}),"
                     " {'k': {4}}, nprocs=1, exchange='pickle'"),
            "[(((1, Point(x=1, y=2)), {3: None}), {'k': {4}})]")
        self.assertEqual(
            self.got("objects.odd, nprocs=2, exchange='pickle'"),
            "[{1: (nan, {2}), Point(x=1, y=2): b'\\x00x', 'rank': 0},"
            " {1: (nan, {2}), Point(x=1, y=2): b'\\x00x', 'rank': 1}]")

    def test_the_record_names_the_type(self):
        self.got("objects.odd, nprocs=1, exchange='pickle'")
        with open(self.dir + "/runs/latest/results.json") as file:
            result = json.load(file)["ranks"][0]["result"]
        self.assertEqual((result["type"], result["pickle"]),
                         ("dict", "result.pickle"))

    def test_none_and_what_was_delivered_by_itself(self):
        self.assertEqual(self.got("print, ('x',), nprocs=1,"
                                  " exchange='pickle'"), "[None]")
        self.assertEqual(self.got("objects.delivers, nprocs=1,"
                                  " exchange='pickle'"), "[{'x': 1}]")

    def test_methods_and_partial_functions(self):
        self.assertEqual(self.got("objects.Model(3).step, (4,), nprocs=1,"
                                  " exchange='pickle'"), "[7]")
        self.assertEqual(self.got(
            "functools.partial(objects.same, 1), (2,), nprocs=1,"
            " exchange='pickle'", "import functools"), "[((1, 2), {})]")

    def test_classes_of_the_main_script(self):
        self.write("main.py", """\
            import jobrun
            class Own:
                def __init__(self, x):
                    self.x = x
            def double(own):
                return Own(own.x * 2)
            if __name__ == "__main__":
                got = jobrun.launch(double, (Own(4),), nprocs=1,
                                    exchange="pickle")
                print(type(got[0]) is Own, got[0].x)
            """)
        status, out = self.python("main.py")
        self.assertEqual((status, out.splitlines()[-1]), (0, "True 8"),
                         self.err)

    def test_a_rank_starts_functions_of_the_main_script(self):
        """There the main script goes by another name than here."""
        self.write("main.py", """\
            import jobrun
            class Own:
                def __init__(self, x):
                    self.x = x
            def double(own):
                return own.x * 2
            def seven():
                return 7
            def inner(method):
                more = {"nprocs": 1, "start_method": method}
                return [jobrun.launch(seven, **more)[0],
                        jobrun.launch(double, (Own(4),), exchange="pickle",
                                      **more)[0]] + (
                    jobrun.launch(lambda: seven(), **more)
                    if method == "fork" else [])
            if __name__ == "__main__":
                for method in "spawn", "fork", "forkserver":
                    print(jobrun.launch(inner, (method,), nprocs=1,
                                        start_method=method)[0])
            """)
        for words in ["main.py"], ["-m", "main"]:
            status, out = self.python(*words)
            self.assertEqual((status, out.splitlines()),
                             (0, ["[7, 8]", "[7, 8, 7]", "[7, 8]"]), self.err)

    def test_the_ranks_exception_is_the_cause(self):
        got = self.evaluate("""\
            import objects
            try:
                jobrun.launch(objects.breaks, (1,), nprocs=2, %s,
                              exchange="pickle")
            except jobrun.JobError as error:
                own = error.__cause__
                print(json.dumps([type(own).__name__, own.code, own.text,
                                  error.rank, own is error.failures[0].exception
                                  or repr(error.failures)]))
            """ % ON_CPU)
        self.assertEqual(got[:4], ["Broken", 7, "no data", 1])

    def test_so_is_one_of_another_base(self):
        self.assertEqual(self.evaluate("""\
            try:
                jobrun.launch(work.stops, nprocs=1, %s, exchange="pickle")
            except jobrun.JobError as error:
                print(json.dumps([type(error.__cause__) is work.Stop,
                                  str(error.__cause__)]))
            """ % ON_CPU), [True, "no more"])

    def test_an_exception_that_cannot_be_read_again(self):
        got = self.caught("__import__('jobrun').launch(__import__('objects')"
                          ".unread, nprocs=1, exchange='pickle')")
        self.assertEqual(got["message"], "Unread: ab")

    def test_a_forked_child_is_not_the_rank(self):
        self.assertEqual(self.got("objects.forks, nprocs=1,"
                                  " exchange='pickle'"), "[(1,)]")

    def test_what_cannot_be_pickled(self):
        got = self.caught("jobrun.launch(work.report, (work.os.scandir('.'),),"
                          " nprocs=1, exchange='pickle')")
        self.assertEqual(got["type"], "Unfit")
        self.assertIn("args and kwargs", got["text"])
        got = self.caught("jobrun.launch(__import__('objects').unpicklable,"
                          " nprocs=1, exchange='pickle')")
        self.assertIn("the result of type _thread.lock cannot be pickled",
                      got["message"])
        got = self.caught("jobrun.launch(work.nothing, exchange='dill')")
        self.assertIn('exchange is "json" or "pickle"', got["text"])

    def test_a_pickle_that_was_changed_is_not_read(self):
        got = self.evaluate("""\
            import objects
            job = jobrun.launch(objects.odd, nprocs=1, exchange="pickle",
                                join=False)
            job.wait()
            with open(job.run_dir + "/attempt_0/0/result.pickle", "wb") as f:
                f.write(b"cos\\nsystem\\n(S'touch attacked'\\ntR.")
            try:
                job.results
            except ValueError as error:
                print(json.dumps(str(error)))
            """)
        self.assertIn("was changed after the rank had delivered it", got)
        self.assertFalse(os.path.exists(self.dir + "/attacked"))

    def test_tensors_come_back_on_the_cpu(self):
        """With a stand-in for a framework: test_torch.py has the real one."""
        self.write("torch.py", """\
            import types
            class Tensor:
                def __init__(self, device, grad=False):
                    self.device = types.SimpleNamespace(type=device)
                    self.requires_grad = grad
                def detach(self):
                    return Tensor(self.device.type)
                def cpu(self):
                    return Tensor("cpu", self.requires_grad)
                def requires_grad_(self, grad):
                    self.requires_grad = grad
                    return self
            def make():
                return [Tensor("cuda", True), {"x": Tensor("cpu")}]
            """)
        self.assertEqual(self.evaluate("""\
            import torch
            one, more = jobrun.launch(torch.make, nprocs=1,
                                      exchange="pickle")[0]
            print(json.dumps([one.device.type, one.requires_grad,
                              more["x"].device.type]))"""),
            ["cpu", True, "cpu"])

    def test_functions_without_a_name_under_fork(self):
        self.assertEqual(self.evaluate("""\
            import collections as c
            def outer(n):
                k = [n]
                def inner(x, *, y=2):
                    return [x, y, k[0], len(c.deque([1])),
                            inner(0) if x else None]
                return inner
            print(json.dumps([
                jobrun.launch(lambda x: x + 1, (1,), nprocs=1,
                              start_method="fork"),
                jobrun.launch(outer(5), (1,), nprocs=2, start_method="fork",
                              %s)])) if __name__ == "__main__" else None
            """ % ON_CPU), [[2], [[1, 2, 5, 1, [0, 2, 5, 1, None]]] * 2])

    def test_arguments_of_each_rank(self):
        for call, result in (
                ("work.report, {0: (1,), 1: (2, 3)}", [[1, []], [2, [3]]]),
                ("work.report, {0: (1,), 1: (2, 3)}, exchange='pickle'",
                 [[1, []], [2, [3]]]),
                ("work.report, (0,), nprocs=2, per_rank={1: {'args': [7]}}",
                 [[0, []], [0, [7]]]),
                ("work.report, (), {0: {'value': 1}, 1: {'value': 2}}",
                 [[1, []], [2, []]])):
            with self.subTest(call):
                got = self.evaluate(
                    "print(json.dumps(jobrun.launch(%s, %s)))"
                    % (call, ON_CPU))
                self.assertEqual([[row["value"], list(row["more"])]
                                  for row in got], result)

    def test_variables_of_each_rank(self):
        self.assertEqual(
            self.got("objects.environment, env={0: {'A': 1}, 1: {'B': 'x'}}"),
            "[['1', None], [None, 'x']]")
        self.assertEqual(
            self.got("objects.environment, nprocs=2, env={'A': 0},"
                     " per_rank={'1': {'env': {'B': '${x}'}}}"),
            "[['0', None], ['0', '${x}']]")

    def test_mistakes_in_what_is_by_rank(self):
        for call, said in (
                ("work.report, {0: (1,), 2: (2,)}", "not every rank from 0"),
                ("work.report, {0: (1,), 2: (2,)}, nprocs=2",
                 "args names rank 2, and the last one is 1"),
                ("work.report, {0: (), 1: (1,)}", "missing a required"),
                ("work.report, {0: (1,)}, per_rank={0: {}}", "use only one"),
                ("work.report, (1,), per_rank={0: {'arg': []}}", "'arg'"),
                ("work.report, (1,), nprocs=0", "nprocs is 0"),
                ("work.report, (1,), world_size=0", "world_size is 0")):
            with self.subTest(call):
                self.assertIn(said, self.caught(
                    "jobrun.launch(%s)" % call)["text"])

    def test_a_program(self):
        self.assertEqual(self.evaluate("""\
            print(json.dumps(jobrun.launch(
                ["/bin/sh", "-c", 'echo "[\\\\"$1\\\\"]" >$JOBRUN_RESULT_FILE',
                 "sh"], {0: ("a",), 1: ("${b}",)}, %s,
                spec={"results": {}})))""" % ON_CPU), [["a"], ["${b}"]])
        got = self.caught("jobrun.launch(['/bin/sh', '-c', 'exit 4'],"
                          " nprocs=1)")
        self.assertEqual((got["exit_code"], got["rank"]), (4, 0))
        for call, said in (("['true'], kwargs={'a': 1}", "no kwargs"),
                           ("['true', 1]", "a list of strings"),
                           ("[]", "a list of strings")):
            self.assertIn(said, self.caught("jobrun.launch(%s)" % call)["text"])

    def test_nodes_on_this_machine(self):
        self.assertEqual(self.evaluate("""\
            got = jobrun.launch(work.place, nodes=2, n_gpus=2, local=True, %s)
            print(json.dumps(got))""" % ON_CPU),
            [[0, 4], [1, 4], [2, 4], [3, 4]])

    def test_the_job_as_it_goes_on_and_ends(self):
        self.assertEqual(self.evaluate("""\
            job = jobrun.launch(work.fails, (1, "exit"), nprocs=3, join=False,
                                %s)
            before = [job.results, job.failures] if job.poll() is None else []
            status = job.wait()
            print(json.dumps([before, status, job.poll(), job.results,
                              [[f.rank, f.exit_code, f.signal, f.exception]
                               for f in job.failures]]))""" % ON_CPU),
            [[[], []], 1, 1, [None, None, None], [[1, 3, None, None]]])

    def test_the_processes_of_the_ranks(self):
        got = self.evaluate("""\
            import time
            job = jobrun.launch(work.waits, (%r,), nprocs=2, join=False, %s)
            while None in (job.pids() or [None]):
                time.sleep(0.02)
            pids = job.pids()
            for pid in pids:
                work.os.kill(pid, 0)
            job.stop()
            job.wait()
            print(json.dumps([len(set(pids)), job.pids() == pids]))"""
            % (self.dir + "/pid.%d", ON_CPU))
        self.assertEqual(got, [2, True])

    def test_a_job_that_its_caller_leaves_behind(self):
        self.write("main.py", """\
import jobrun, work
job = jobrun.launch(work.waits, (%r,), nprocs=2, join=False, %s)
raise ValueError("nobody waits for the job")
""" % (self.dir + "/pid.%d", ON_CPU))
        status, _ = self.python("main.py")
        self.assertEqual(status, 1)
        self.assertIn("nobody waits", self.err)

    def test_every_rank_that_failed_is_told(self):
        got = self.evaluate("""\
            try:
                jobrun.launch(work.sys.exit, (3,), nprocs=3, %s,
                              spec={"on_failure": "continue"})
            except jobrun.JobError as error:
                print(json.dumps(sorted(f.rank for f in error.failures)))
            """ % ON_CPU)
        self.assertEqual(got, [0, 1, 2])

    def test_a_stop_that_does_not_wait(self):
        self.write("stubborn.py", """\
            import signal, threading
            def f():
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                print("begun", flush=True)
                while True:
                    threading.Event().wait(1000)
            """)
        self.assertEqual(self.evaluate("""\
            import stubborn, os
            job = jobrun.launch(stubborn.f, nprocs=1, join=False,
                                redirects="all",
                                spec={"timeouts": {"stop_grace": "1h"}})
            import time
            path = job.run_dir + "/attempt_0/0/stdout.log"
            while not (os.path.exists(path) and os.path.getsize(path)):
                time.sleep(0.01)
            job.stop(grace=0.2)
            print(json.dumps(job.wait()))"""), 143)


class Leaks(Launching):
    """No job outlives the call, or the process, that it belongs to."""

    def program(self, text):
        self.write("main.py", text)
        process = self.start("main.py")
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        self.assertIn("begun", process.stdout.readline())
        return process

    def is_stopped(self, process):
        """Its end of standard output is closed by the last of the job."""
        process.communicate(timeout=LIMIT)
        with open(self.dir + "/runs/latest/results.json") as file:
            record = json.load(file)
        self.assertEqual((record["status"], record["processes_left"]),
                         ("stopped", 0))

    def test_an_exception_of_a_signals_handler(self):
        """As NVIDIA's MainProcessError and torch's SignalException are."""
        process = self.program("""\
            import signal
            import jobrun
            class MainProcessError(Exception):
                pass
            def f():
                print("begun", flush=True)
                import threading
                threading.Event().wait(1000)
            def handle(signum, frame):
                raise MainProcessError(signum)
            if __name__ == "__main__":
                signal.signal(signal.SIGUSR1, handle)
                try:
                    jobrun.launch(f, nprocs=1)
                except MainProcessError:
                    with open("runs/latest/results.json") as file:
                        print("ended before the exception came:",
                              '"status": "stopped"' in file.read())
            """)
        process.send_signal(signal.SIGUSR1)
        out, _ = process.communicate(timeout=LIMIT)
        self.assertIn("ended before the exception came: True", out)
        self.is_stopped(process)

    def test_a_signal_that_another_thread_got(self):
        """Python does not wake its main thread for that."""
        process = self.program("""\
            import os, signal, threading, time
            import jobrun
            def f():
                print("begun", flush=True)
                threading.Event().wait(1000)
            def sleeps(task):
                with open("/proc/self/task/%d/wchan" % task) as file:
                    return file.read().startswith("futex")
            def hand_on(main, mine):
                signal.sigwait([signal.SIGUSR2])
                while not sleeps(main):
                    time.sleep(0.01)
                signal.pthread_kill(mine, signal.SIGUSR1)
                while True:  # as Popen.wait of another job: no bytecode of main
                    time.sleep(100)
            def handle(signum, frame):
                raise KeyboardInterrupt
            if __name__ == "__main__":
                signal.signal(signal.SIGUSR1, handle)
                signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
                thread = threading.Thread(target=lambda: hand_on(
                    threading.main_thread().native_id, threading.get_ident()),
                    daemon=True)
                thread.start()
                jobrun.launch(f, nprocs=1)
            """)
        process.send_signal(signal.SIGUSR2)
        process.communicate(timeout=LIMIT)
        self.is_stopped(process)

    def test_an_exception_at_every_moment_of_the_call(self):
        """An exception that comes after so many lines of the package's own
        code: the job has ended whenever it leaves the call."""
        self.write("main.py", """\
            import os, subprocess, sys
            import jobrun
            from jobrun import _job
            class Stop(Exception):
                pass
            def f():
                import threading
                threading.Event().wait(1000)
            def count(frame, event, arg):
                global left
                if os.path.dirname(_job.__file__) not in \\
                        frame.f_code.co_filename:
                    return None
                left -= event == "line"
                if left == 0:
                    sys.settrace(None)
                    raise Stop()
                return count
            started, real = [], subprocess.Popen
            def popen(*words, **more):
                started.append(real(*words, **more))
                return started[-1]
            if __name__ == "__main__":
                subprocess.Popen = popen
                lines, more = 0, True
                while more and lines < 5000 and len(started) < 12:
                    left = lines = lines + 1
                    before = len(started)
                    sys.settrace(count)
                    try:
                        jobrun.launch(f, nprocs=1, timeout=0.5)
                    except Stop:
                        pass
                    except jobrun.JobError:
                        more = False  # no line is left in which it could come
                    sys.settrace(None)
                    if len(started) > before and started[-1].poll() is None:
                        print("left behind after", lines, "lines")
                        started[-1].kill()
                print(len(started))
            """)
        status, out = self.python("main.py")
        self.assertEqual(status, 0, self.err)
        self.assertNotIn("left behind", out)
        self.assertGreaterEqual(int(out.splitlines()[-1]), 8)

    def test_a_caller_that_dies_whichever_thread_called(self):
        process = self.program("""\
            import threading
            import jobrun
            def f():
                print("begun", flush=True)
                threading.Event().wait(1000)
            if __name__ == "__main__":
                thread = threading.Thread(target=jobrun.launch, args=(f,),
                                          kwargs={"nprocs": 1})
                thread.start()
                thread.join()
            """)
        process.kill()
        self.is_stopped(process)

    def test_a_job_outlives_the_thread_that_called(self):
        process = self.program("""\
            import sys, threading
            import jobrun
            def f():
                print("begun", flush=True)
                sys.stdin.read()
                threading.Event().wait(0.5)
                return 7
            def start():
                global job
                job = jobrun.launch(f, nprocs=1, join=False)
            if __name__ == "__main__":
                thread = threading.Thread(target=start)
                thread.start()
                thread.join()
                print(job.join(), flush=True)
            """)
        out, _ = process.communicate(timeout=LIMIT)
        self.assertIn("[7]", out)

    def test_a_caller_that_ends_by_itself(self):
        process = self.program("""\
            import os, time
            import jobrun
            def f():
                print("begun", flush=True)
                open("here", "w").close()
                import threading
                threading.Event().wait(1000)
            if __name__ == "__main__":
                jobrun.launch(f, nprocs=1, join=False)
                while not os.path.exists("here"):
                    time.sleep(0.01)
            """)
        self.is_stopped(process)


if __name__ == "__main__":
    unittest.main()
