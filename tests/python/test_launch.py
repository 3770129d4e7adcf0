"""jobrun.launch: from Python to the ranks and back."""
import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
import unittest
import zipapp
from unittest import mock

from launching import JOBRUN, LIMIT, PACKAGE, PYTHON, Launching


class Launch(Launching):
    def test_returns_in_the_order_of_the_ranks(self):
        got = self.evaluate("""\
            print(json.dumps(jobrun.launch(
                work.report, (1.5, [None, True]), {"tag": {"a": "b"}},
                nprocs=3, device="cpu", oversubscribe=True)))""")
        self.assertEqual(got, [
            {"rank": rank, "world": 3, "value": 1.5, "more": [[None, True]],
             "tag": {"a": "b"}} for rank in range(3)])

    def test_one_node_of_several(self):
        """Its own part of the job is what it has results of."""
        got = self.evaluate("""\
            job = jobrun.launch(
                work.report, (1.5,), nproc_per_node=2, nodes=2, node_rank=1,
                master_addr="127.0.0.1", device="cpu", oversubscribe=True,
                join=False)
            print(json.dumps([job.join(), job.run_dir]))""")
        self.assertEqual([(row["rank"], row["world"]) for row in got[0]],
                         [(2, 4), (3, 4)])
        self.assertTrue(got[1].endswith("/node_1"), got[1])

    def test_none_is_a_result(self):
        self.assertEqual(self.evaluate(
            "print(json.dumps(jobrun.launch('work:nothing', nprocs=1)))"),
            [None])

    def test_texts_arrive_as_they_are(self):
        odd = ["${vars.x} $${", "%{rank} %%{", "???", "null", "é\U0001F600",
               "\u2028\x85\x7f\ufeff", "a\nb\\\"'", "x" * 300000]
        got = self.evaluate("""\
            odd = json.loads(%r)
            print(json.dumps(jobrun.launch(work.Model.fit, (odd,),
                                           nprocs=1)))""" % json.dumps(odd))
        self.assertEqual(got, [odd])

    def test_texts_arrive_under_any_locale(self):
        self.write("main.py", """\
            import locale
            if __name__ == "__main__":
                import jobrun, work
                assert locale.getpreferredencoding(False) != "UTF-8"
                got = jobrun.launch(work.Model.fit, ("gr\\xf6\\xdfe",), nprocs=1)
                print(ascii(got))
            """)
        with mock.patch.dict(os.environ, LC_ALL="C", PYTHONCOERCECLOCALE="0",
                             PYTHONUTF8="0"):
            status, out = self.python("main.py")
        self.assertEqual((status, out), (0, "['gr\\xf6\\xdfe']\n"), self.err)

    def test_the_main_script(self):
        self.write("script.py", """\
            import json, sys
            import jobrun
            LOADED = __name__

            def shard(n):
                print("a rank speaks")
                return [n, LOADED, sys.argv[1:]]

            if __name__ == "__main__":
                print(json.dumps(jobrun.launch(shard, (4,), nprocs=2,
                                               device="cpu",
                                               oversubscribe=True)))
            """)
        os.mkdir(self.dir + "/app")
        shutil.copy(self.dir + "/script.py", self.dir + "/app/__main__.py")
        zipapp.create_archive(self.dir + "/app", self.dir + "/app.pyz")
        for words in (["script.py"], ["-m", "script"], ["-m", "app"], ["app"],
                      ["app.pyz"]):
            with self.subTest(words):
                status, out = self.python(*words, "one", "two")
                self.assertEqual(status, 0, self.err)
                self.assertEqual(json.loads(out.splitlines()[-1]),
                                 [[4, "__mp_main__", ["one", "two"]]] * 2)
                self.assertIn("a rank speaks", out)

    def test_a_script_without_a_guard_is_told(self):
        self.write("script.py", """\
            import jobrun
            def f(): pass
            jobrun.launch(f, nprocs=1)
            """)
        status, _ = self.python("script.py")
        self.assertEqual(status, 1)
        self.assertIn('if __name__ == "__main__":', self.err)

    def test_from_a_command_line(self):
        status, out = self.python(
            "-c", "import jobrun, work\n"
            "print(jobrun.launch(work.Model.fit, [7], n_gpus=1)[0])")
        self.assertEqual((status, out.splitlines()[-1]), (0, "7"), self.err)
        status, _ = self.python("-c", "import jobrun\ndef f(): pass\n"
                                "jobrun.launch(f)")
        self.assertEqual(status, 1)
        self.assertIn("put it into a file", self.err)

    def test_start_methods_import_the_module_once(self):
        for method in ("fork", "forkserver"):
            with self.subTest(method):
                got = self.evaluate("""\
                    print(json.dumps(jobrun.launch(
                        work.report, [1], nprocs=2, start_method=%r,
                        device="cpu", oversubscribe=True)))""" % method)
                self.assertEqual([row["rank"] for row in got], [0, 1])

    def test_an_exception_is_the_cause(self):
        got = self.caught("jobrun.launch(work.fails, (1, 'raise'), nprocs=2,"
                          " device='cpu', oversubscribe=True)")
        self.assertEqual(got["type"], "JobError")
        self.assertEqual((got["rank"], got["kind"], got["exit_code"]),
                         (1, "exit", 1))
        self.assertEqual(got["message"], "ValueError: loss is NaN")
        self.assertIn('work.py", line', got["traceback"])
        self.assertTrue(got["text"].startswith("rank 1: ValueError: loss"))
        self.assertEqual(got["results"], [None, None])
        self.assertTrue(os.path.isdir(got["run_dir"]))

    def test_other_ends(self):
        got = self.caught("jobrun.launch(work.fails, (0, 'exit'), nprocs=1)")
        self.assertEqual((got["kind"], got["exit_code"]), ("exit", 3))
        got = self.caught("jobrun.launch(work.fails, (0, 'kill'), nprocs=1)")
        self.assertEqual((got["signal"], got["exit_code"], got["status"]),
                         ("SIGKILL", None, 1))
        got = self.caught("jobrun.launch(work.not_json, nprocs=1)")
        self.assertIn("result.x[1]: set is not JSON", got["message"])
        got = self.caught("jobrun.launch(work.waits, [%r], nprocs=1,"
                          " timeout=0.2)" % (self.dir + "/%d"))
        self.assertEqual((got["kind"], got["status"]), ("timeout", 6))

    def test_what_cannot_be_started(self):
        for call, kind, said in (
                ("lambda: 1", "ValueError", "a lambda"),
                ("(lambda: (lambda f: f)(lambda: 1))()", "ValueError",
                 "a lambda"),
                ("json", "TypeError", "wants a function of a module"),
                ("work.Model().step, nprocs=1", "ValueError",
                 "a method of an object (Model.step)"),
                ("work.alias, nprocs=1", "ValueError",
                 "work:report is another function"),
                ("'work'", "ValueError", "not of the form MODULE:FUNCTION"),
                ("'work:gone'", "ValueError", "could not find work:gone"),
                ("'gone:f'", "ValueError", "No module named 'gone'"),
                ("work.report", "TypeError", "report takes (value, *more, tag="
                 "None), and args [] and kwargs {} do not fit: missing a "
                 "required argument: 'value'"),
                ("work.report, (1,), {'x': 1}", "TypeError", "'x'"),
                ("work.report, 5", "TypeError", "is written (x,)"),
                ("work.report, 'abc'", "TypeError", "is written (x,)"),
                ("work.report, (1,), [1]", "TypeError", "kwargs wants a dict"),
                ("work.report, (1,), spec=[1]", "TypeError",
                 "spec wants a dict"),
                ("work.report, (1,), env=['A=1']", "TypeError",
                 "env wants a dict"),
                ("work.report, ([1, {2}],)", "NotJson",
                 "args[0][1]: set is not JSON"),
                ("work.report, (1,), {'tag': object()}", "NotJson",
                 "kwargs.tag: object is not JSON"),
                ("work.report, (1,), nproc=2", "TypeError",
                 "did you mean 'nprocs'?"),
                ("work.report, (1,), daemon=True", "TypeError", "no daemon"),
                ("work.report, (1,), rank=0", "TypeError", "node_rank says"),
                ("work.report, (1,), local_rank=0", "TypeError",
                 "jobrun.local_rank()"),
                ("work.report, (1,), gpus=2", "TypeError", "n_gpus=2"),
                ("work.report, (1,), n_gpus=1, nproc_per_node=1", "TypeError",
                 "are the same"),
                ("work.report, (1,), n_gpus=2, world_size=4, rank_start=3",
                 "ValueError", "not a multiple of 2"),
                ("work.report, (1,), program='/none'", "FileNotFoundError",
                 "/none")):
            with self.subTest(call):
                got = self.caught("jobrun.launch(%s)" % call)
                self.assertEqual(got["type"], kind, got)
                self.assertIn(said, got["text"])

    def test_what_jobrun_refuses(self):
        """In a line, by the words of the caller."""
        got = self.caught("jobrun.launch(work.nothing, device_type='cuda_',"
                          " n_gpus=-2, spec={'timeout': 1})")
        self.assertEqual((got["type"], got["kind"], got["status"]),
                         ("JobError", "spec", 3))
        self.assertRegex(
            got["message"], "device_type: 'device' wants .*mean 'cuda'.*; "
            "'timeout' is a field of another launcher .*timeouts.run")
        self.assertIn("n_gpus: 'local_world_size' wants", got["message"])
        self.assertNotIn("\n", got["message"])
        self.assertIn("JR0211", self.err)
        got = self.caught("jobrun.launch(work.nothing, nprocs=2, nodes=2,"
                          " device='cpu')")
        self.assertEqual((got["kind"], got["status"]), ("resolve", 4))
        self.assertIn("node_rank and master_addr are MISSING", got["message"])
        got = self.caught("jobrun.launch(work.nothing, log_dir='/proc/none')")
        self.assertEqual((got["kind"], got["status"]), ("launch", 7))
        self.assertIn("/proc/none", got["message"])

    def test_paths_are_the_callers(self):
        self.assertEqual(self.evaluate("""\
            import os
            os.mkdir("here")
            os.chdir("here")
            with open("own.yaml", "w") as file:
                file.write("env: {A: b}")
            print(json.dumps(jobrun.launch(
                work.where, nprocs=1, log_dir="logs",
                spec={"workdir": "..", "env_profiles": ["./own.yaml"]})))"""),
            [[self.dir, "b"]])
        self.assertTrue(os.path.isdir(self.dir + "/here/logs/latest"))

    def test_class_methods_have_a_name(self):
        self.assertEqual(self.evaluate(
            "print(json.dumps(jobrun.launch(work.Model.of, nprocs=1)))"),
            ["Model"])

    def test_large_arguments_and_returns(self):
        self.assertEqual(self.evaluate("""\
            got = jobrun.launch(work.Model.fit, ("x" * 5000000,), nprocs=2,
                                device="cpu", oversubscribe=True)
            print(json.dumps([len(text) for text in got]))"""), [5000000] * 2)

    def test_from_threads_at_once(self):
        self.assertEqual(self.evaluate("""\
            import threading
            got = {}
            def one(i):
                got[i] = jobrun.launch(work.Model.fit, (i,), nprocs=2,
                                       device="cpu", oversubscribe=True)
            threads = [threading.Thread(target=one, args=(i,))
                       for i in range(3)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            print(json.dumps([got[i] for i in range(3)]))"""),
            [[0, 0], [1, 1], [2, 2]])

    def test_inside_a_rank(self):
        """The outer rank's variables are no allocation of the inner job."""
        self.assertEqual(self.evaluate("""\
            print(json.dumps(jobrun.launch(
                work.inner, nprocs=2, device="cpu", oversubscribe=True, spec={
                    "env_profiles": ["torch", "paddle", "megengine", "mpi"],
                    "mpi": "none"})))
            """), [[0, [[0, 3], [1, 3], [2, 3]]], [1, [[0, 3], [1, 3], [2, 3]]]])

    def test_exceptions_of_any_kind(self):
        got = self.caught("jobrun.launch(work.raises, nprocs=1)")
        self.assertEqual(got["message"], "Odd: two words")
        self.assertIn("work.Odd", got["traceback"])
        for more in "", ", exchange='pickle'":
            for method in "spawn", "fork":
                got = self.caught("jobrun.launch(work.stops, nprocs=1, "
                                  "start_method=%r%s)" % (method, more))
                self.assertEqual((got["message"], got["exit_code"]),
                                 ("Stop: no more", 1))
                self.assertIn("work.Stop: no more", got["traceback"])
                self.assertIn('work.py", line', got["traceback"])

    def test_names_of_other_launchers(self):
        got = self.evaluate("""\
            from jobrun import _function, _launch
            call = _function.Call(work.nothing, False, False)
            spec, _ = _launch._spec_of_function(call, "/t", dict(
                n_gpus=2, world_size=8, rank_start=4, master_ip="a", port=1234,
                device_type="cuda", backend="nccl", timeout=1.5,
                model_parallelism=2, data_parallel_backend="gloo",
                launch_method="forkserver", env={"A": 1, "B": None}),
                _launch._Own(),
                {"threads": 3, "backends": {"model": "gloo"}})
            print(json.dumps(spec))""")
        path = got["env"].pop("PYTHONPATH")
        self.assertEqual(path.split(":")[0],
                         self.dir.replace("${", "$${"))
        self.assertNotIn("site-packages", path)
        for key in ("name", "version", "workdir", "log_dir", "entrypoint"):
            del got[key]
        self.assertEqual(got, {
            "local_world_size": 2, "world_size": 8, "rank_start": 4,
            "node_rank": 2, "master_addr": "a", "master_port": 1234,
            "device": "cuda", "timeouts": {"run": "1500ms"},
            "backends": {"default": "nccl", "data": "gloo", "model": "gloo"},
            "parallelism": {"model": 2}, "start_method": "forkserver",
            "preload": ["work"], "env": {"A": "1", "B": None}, "threads": 3})

    def test_without_standard_streams(self):
        self.write("main.py", """\
            import jobrun, work
            if __name__ == "__main__":
                got = jobrun.launch(work.Model.fit, [7], nprocs=1)
                with open("got", "w") as file:
                    file.write(repr(got))
            """)
        done = subprocess.run(
            ["/bin/sh", "-c", 'exec "$0" main.py <&- >&- 2>&-', PYTHON],
            cwd=self.dir, env=self.environment(), timeout=LIMIT)
        self.assertEqual(done.returncode, 0)
        with open(self.dir + "/got") as file:
            self.assertEqual(file.read(), "[7]")

    def test_doctor_says_where_it_is(self):
        told = subprocess.run([JOBRUN, "doctor"], text=True, timeout=LIMIT,
                              capture_output=True).stdout
        self.assertIn("python   %s, for PYTHONPATH" % PACKAGE, told)

    def test_join_later(self):
        got = self.evaluate("""\
            import subprocess
            job = jobrun.launch(work.waits, (%r,), nprocs=1, join=False)
            try:
                job.join(timeout=0.01)
            except subprocess.TimeoutExpired:
                pass
            alive = job.is_alive()
            job.stop()
            try:
                job.join()
            except jobrun.JobError as error:
                print(json.dumps([alive, error.status]))
            """ % (self.dir + "/pid.%d"))
        self.assertEqual(got, [True, 143])

    def interruptible(self):
        """What is started from here on hears a Ctrl-C, wherever this runs: in
        the background of a shell it is ignored."""
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)

    def running(self):
        """A program whose job has begun, by a line from its rank."""
        self.write("main.py", """\
            import jobrun
            def f():
                print("begun", flush=True)
                import threading
                threading.Event().wait(1000)
            if __name__ == "__main__":
                jobrun.launch(f, nprocs=1)
            """)
        process = self.start("main.py")
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        self.assertIn("begun", process.stdout.readline())
        return process

    def test_an_interrupt_stops_the_job(self):
        self.interruptible()
        process = self.running()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=LIMIT)
        self.assertIn("KeyboardInterrupt", err)
        self.assertIn("0 processes left", err)

    def test_a_job_is_stopped_by_what_its_caller_ignores(self):
        """As under nohup, and behind a shell's `&`."""
        told = self.evaluate("""\
            import signal
            stops = signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT
            for sig in stops:
                signal.signal(sig, signal.SIG_IGN)
            told = []
            for sig in stops:
                job = jobrun.launch(["sleep", "1000"], nprocs=1, join=False)
                while None in (job.pids() or [None]):
                    job.wait(0.02)
                job.stop(sig)
                told.append(job.wait(20) == 128 + sig)
                job.stop(signal.SIGKILL)
            print(json.dumps(told))
            """)
        self.assertEqual(told, [True] * 4)

    def test_a_second_interrupt_does_not_wait(self):
        self.write("main.py", """\
            import signal, threading
            import jobrun
            def f():
                signal.signal(signal.SIGTERM,
                              lambda *_: print("asked", flush=True))
                print("begun", flush=True)
                while True:
                    threading.Event().wait(1000)
            if __name__ == "__main__":
                jobrun.launch(f, nprocs=1,
                              spec={"timeouts": {"stop_grace": "1h"}})
            """)
        self.interruptible()
        process = self.start("main.py")
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        for word in "begun", "asked":
            self.assertIn(word, process.stdout.readline())
            time.sleep(0.15)  # within 0.1 s it would be the same signal
            process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=LIMIT)
        self.assertIn("KeyboardInterrupt", err)
        self.assertIn("0 processes left", err)

    def test_the_job_ends_with_its_caller(self):
        process = self.running()
        process.kill()
        # Its end of standard output is closed by the last of the job.
        process.communicate(timeout=LIMIT)
        with open(self.dir + "/runs/latest/results.json") as file:
            self.assertEqual(json.load(file)["status"], "stopped")


if __name__ == "__main__":
    unittest.main()
