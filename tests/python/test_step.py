"""jobrun-step by itself: what a library's step does, its rank did."""
import json
import os
import shutil
import signal
import socket
import sys
import unittest

from test_worker import SUPPORT, WAIT, Case

STEP = os.path.join(SUPPORT, "jobrun-step")
STEPS = os.environ["STEPS"]
ODD = os.environ["ODDSTEP"]


class Steps(Case):
    def step(self, *words):
        return self.run_words("env", "LOCAL_RANK=1", "LOCAL_WORLD_SIZE=8",
                              "NODE_RANK=0", "GROUP_WORLD_SIZE=1",
                              "JOBRUN_ATTEMPT=0", "MASTER_PORT=29500", STEP,
                              *words)

    def test_c(self):
        self.assertEqual(self.step(STEPS + "/pi.so", "step_main", "1000"), 0,
                         self.err)
        self.assertAlmostEqual(self.json("result.json")["share"] * 8, 3.14,
                               places=1)
        self.assertEqual(self.step(STEPS + "/pi.so", "step_main", "-1"), 2)

    @unittest.skipUnless(os.path.exists(STEPS + "/groups.so"), "no C++")
    def test_cxx(self):
        self.assertEqual(self.step(STEPS + "/groups.so", "step_main"), 0)
        self.assertEqual(self.json("result.json"), {
            "model": [0, 1], "pipeline": [1, 3], "data": [1, 5]})

    def test_ends(self):
        self.assertEqual(self.step(ODD, "silent"), 0, self.err)
        self.assertIsNone(self.json("result.json"))
        os.unlink(self.dir + "/result.json")
        self.assertEqual(self.step(ODD, "leave"), 0)
        self.assertFalse(self.has("result.json"))
        for code, exit_code in (("3", 3), ("255", 255), ("256", 1), ("-1", 1)):
            self.assertEqual(self.step(ODD, "code", code), exit_code)
        self.assertEqual(self.step(ODD, "die"), -signal.SIGKILL)
        self.assertFalse(self.has("result.json"))
        self.assertFalse(self.has("error.json"))

    def test_no_section_headers(self):
        """As strip -R leaves a library: it can be loaded, and nothing more."""
        with open(ODD, "rb") as file:
            bytes = bytearray(file.read())
        size = 8 if bytes[4] == 2 else 4  # the class: of an offset
        at = 24 + 2 * size
        for offset in (0, 1, len(bytes) - 8, len(bytes) + 8, 2 ** 31):
            bytes[at:at + size] = offset.to_bytes(size, sys.byteorder)
            with open(self.dir + "/cut.so", "wb") as file:
                file.write(bytes)
            self.assertEqual(self.step("./cut.so", "silnet"), 126, offset)
            self.assertIn("has no symbol 'silnet': is it exp", self.error())

    def test_copies_and_refuses(self):
        self.assertEqual(self.step(ODD, "twice"), 0)
        self.assertEqual(self.json("result.json"), {"n": 1})
        self.assertIn("the result is not JSON", self.err)

    def test_what_it_printed_is_out_before_it_waits(self):
        """Others may still fail, and then the rank is stopped as it waits."""
        ours, its = socket.socketpair()
        self.addCleanup(ours.close)
        step = self.start(["env", "LOCAL_RANK=1", "LOCAL_WORLD_SIZE=8",
                           "NODE_RANK=0", "GROUP_WORLD_SIZE=1",
                           "JOBRUN_ATTEMPT=0", "MASTER_PORT=29500", "sh", "-c",
                           'exec "$@" 3<&%d' % its.fileno(), "sh", STEP, ODD,
                           "where"], pass_fds=[its.fileno()])
        its.close()
        ours.settimeout(WAIT)
        self.assertEqual(ours.recv(1), b"r")
        step.kill()
        out, err = step.communicate(timeout=WAIT)
        self.assertIn("[1, ", out, err)

    def test_big(self):
        self.assertEqual(self.step(ODD, "big", "100000000"), 0)
        self.assertEqual(os.path.getsize(self.dir + "/result.json"), 10**8 + 1)

    def test_no_start(self):
        self.write("text.so", "no library")
        for words, text in (
                (("./none.so", "f"), "could not load the library: ./none.so"),
                (("./text.so", "f"), "could not load the library: ./text.so"),
                ((ODD, "f"), "has no symbol 'f': is it exported"),
                ((ODD, "silnet"), "'silnet': did you mean 'silent'?"),
                ((ODD, "lost"), "has no symbol 'lost'; it has C++'s "
                 "'_Z4lostPK7jr_rankP9jr_result': declare it extern \"C\"")):
            self.assertEqual(self.step(*words), 126)
            self.assertIn(text, self.error())
            self.assertTrue(self.json("error.json")["start"])
        self.assertEqual(self.run_words("env", "-i", STEP, ODD, "silent"), 126)
        self.assertIn("this process is not a rank of jobrun", self.err)


class Served(Case):
    """Ranks that are forks of a helper which has loaded the library."""

    def drive(self, *words, ranks=1, options=(), library=ODD, serve=()):
        shutil.rmtree(self.dir + "/runs", ignore_errors=True)
        driver = self.start(
            ["env", "LOCAL_RANK=1", "LOCAL_WORLD_SIZE=8", "NODE_RANK=0",
             "GROUP_WORLD_SIZE=1", "JOBRUN_ATTEMPT=0", "MASTER_PORT=29500",
             os.environ["RUNDRIVER"], "ranks=%d" % ranks, "outcome=outcome",
             "out=tee", "err=tee", "workdir=" + self.dir,
             "helper=" + ",".join((STEP, "serve", *serve, library)), *options, "--", STEP,
             library, *words])
        self.out, self.err = driver.communicate(timeout=WAIT)
        with open(self.dir + "/outcome") as file:
            self.outcome = file.read()

    def log(self):
        try:
            with open(self.dir + "/runs/run-0000/attempt_0/helper.log") as file:
                return file.read()
        except FileNotFoundError:
            return None

    def test_ranks_are_forks(self):
        self.drive("where", ranks=20, options=["returns=1", "barrier=1"])
        self.assertEqual(self.outcome.count("end=exited code=0"), 20, self.err)
        self.assertEqual(self.outcome.count("returned=1"), 20)
        told = sorted(json.loads(line.split(" ", 1)[1])
                      for line in self.out.splitlines())
        # Descriptors: ".", "..", 0 to 2, the control socket, the life line, the
        # listing's.
        self.assertEqual([rank[:5] for rank in told],
                         [[i, 1, 1, signal.SIGKILL, 8] for i in range(20)])
        self.assertEqual(len({rank[5] for rank in told}), 1)
        self.assertEqual(self.json("result.json"),
                         os.path.basename(self.dir))
        self.assertIsNone(self.log())

    def test_cpus(self):
        cpu = min(os.sched_getaffinity(0))
        self.drive("silent", options=["cpus=%d" % cpu])
        self.assertIn("end=exited code=0", self.outcome)

    def test_cpus_that_the_kernel_leaves_out(self):
        cpu = min(os.sched_getaffinity(0))
        self.drive("silent", options=["cpus=%d,1000" % cpu])
        self.assertIn("end=exited code=127", self.outcome)
        self.assertIn("was to run on CPUs %d,1000, which are not all allowed"
                      % cpu, self.err)

    def test_what_loading_prints_is_the_helpers(self):
        os.environ["ODD"] = "prints"
        self.addCleanup(os.environ.pop, "ODD")
        self.drive("silent", ranks=3)
        self.assertEqual((self.log(), self.out), ("loading prints", ""))

    def test_ends(self):
        self.drive("code", "3")
        self.assertIn("end=exited code=3", self.outcome)
        self.drive("die")
        self.assertIn("signal=9", self.outcome)
        self.drive("none")
        self.assertIn("code=126", self.outcome)
        self.assertIn("has no symbol 'none'", self.err)

    def refused(self, stage, text, **more):
        self.drive("silent", ranks=4, **more)
        self.assertIn("stage=" + stage, self.outcome)
        self.assertIn("text=" + text, self.outcome)
        self.assertEqual(self.outcome.count("end=none"), 3)

    def test_bad_loads(self):
        self.write("text.so", "no library")
        for name in "none.so", "text.so":
            self.refused("import", "could not load the library: " + self.dir,
                         library=self.dir + "/" + name)
        self.addCleanup(os.environ.pop, "ODD")
        for odd, stage, text, options in (
                ("die", "import", "it was killed by SIGKILL before it was ready", ()),
                ("hang", "import", "it did not finish within timeouts.start",
                 ["start=300"])):
            os.environ["ODD"] = odd
            self.refused(stage, text, options=options)

    def test_threads_of_loading(self):
        self.addCleanup(os.environ.pop, "ODD")
        os.environ["ODD"] = "thread"
        self.refused("fork", "loading the library started 1 thread "
                     "(jobrun-step), and a fork has only one: fork_threads is",
                     serve=["--refuse-threads"])
        self.drive("silent", ranks=4)
        self.assertEqual(self.outcome.count("end=exited code=0"), 4, self.err)
        self.assertEqual(self.err.count("left 1 thread (jobrun-step)"), 1)


if __name__ == "__main__":
    unittest.main()
