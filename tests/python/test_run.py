"""jobrun.run: a spec with other values, and what became of it."""
import os
import signal
import time
import unittest

from launching import LIMIT, Launching

DELIVERS = "printf %s > \"$JOBRUN_RESULT_FILE\" \"{\\\"x\\\": $0}\""


class Run(Launching):
    def spec(self, shell=DELIVERS, more=""):
        self.write("job.yaml", """\
            version: 1
            name: job
            vars: {x: 1}
            device: cpu
            world_size: 1
            entrypoint:
              - sh
              - -c
              - |
                %s
              - "${vars.x}"
            """ % shell + more)

    def run_it(self, words=""):
        return self.evaluate("print(json.dumps(jobrun.run('job.yaml'%s)))" % words)

    def test_other_values(self):
        self.spec()
        for words, x in (("", 1), (", {'vars.x': 2.5}", 2.5)):
            record = self.run_it(words)
            self.assertEqual(record["status"], "succeeded")
            self.assertEqual(record["ranks"][0]["result"], {"x": x})
            self.assertTrue(os.path.isdir(os.path.join(self.dir, "runs",
                                                       record["run_id"])))

    def test_where_it_is_kept(self):
        self.spec()
        record = self.run_it(", log_dir='%{rank} kept'")
        self.assertTrue(os.path.isfile(os.path.join(
            self.dir, "%{rank} kept", record["run_id"], "results.json")))

    def test_a_failure_is_a_record_too(self):
        self.spec("exit 3")
        record = self.run_it()
        self.assertEqual((record["status"], record["ranks"][0]["exit_code"]),
                         ("failed", 3))

    def test_a_sweep(self):
        self.spec(more="sweep: {axes: {vars.x: [1, 2]}}\n")
        record = self.run_it(", {'sweep.best': {'field': 'x', 'goal': 'max'}}")
        self.assertEqual(record["counts"], {"succeeded": 2})
        self.assertEqual(record["best"]["cell"], 1)

    def test_nothing_was_started(self):
        self.spec()
        facts = self.caught("jobrun.run('job.yaml', {'vars.y': 2})")
        self.assertEqual((facts["type"], facts["kind"], facts["status"]),
                         ("JobError", "spec", 3))
        self.assertIn("vars.y", self.err)

    def test_what_ends_the_caller_ends_the_job(self):
        self.spec("echo $$ > pid.new; mv pid.new pid; exec sleep 600")
        self.write("main.py", "import jobrun\njobrun.run('job.yaml')\n")
        path = os.path.join(self.dir, "pid")
        for sig in signal.SIGINT, signal.SIGKILL:
            caller = self.start("main.py")
            try:
                while not os.path.exists(path):
                    self.assertIsNone(caller.poll())
                    time.sleep(0.02)
                caller.send_signal(sig)
                caller.communicate(timeout=LIMIT)
            finally:
                caller.kill()
            with open(path) as file:
                pid = int(file.read())
            until = time.monotonic() + LIMIT
            while os.path.exists("/proc/%d" % pid):
                self.assertLess(time.monotonic(), until)
                time.sleep(0.02)
            os.remove(path)


if __name__ == "__main__":
    unittest.main()
