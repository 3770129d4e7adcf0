"""jobrun-step by itself: what a library's step does, its rank did."""
import os
import signal
import unittest

from test_worker import SUPPORT, Case

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

    def test_copies_and_refuses(self):
        self.assertEqual(self.step(ODD, "twice"), 0)
        self.assertEqual(self.json("result.json"), {"n": 1})
        self.assertIn("the result is not JSON", self.err)

    def test_big(self):
        self.assertEqual(self.step(ODD, "big", "100000000"), 0)
        self.assertEqual(os.path.getsize(self.dir + "/result.json"), 10**8 + 1)

    def test_no_start(self):
        self.write("text.so", "no library")
        for words, text in (
                (("./none.so", "f"), "could not load the library: ./none.so"),
                (("./text.so", "f"), "could not load the library: ./text.so"),
                ((ODD, "f"), "has no symbol 'f': is it exported")):
            self.assertEqual(self.step(*words), 126)
            self.assertIn(text, self.error())
            self.assertTrue(self.json("error.json")["start"])
        self.assertEqual(self.run_words("env", "-i", STEP, ODD, "silent"), 126)
        self.assertIn("this is no rank of jobrun", self.err)

    def test_no_helper(self):
        """Said in the runner's words, and not of a library named serve."""
        driver = self.start([os.environ["RUNDRIVER"], "outcome=outcome",
                             "helper=%s,serve,%s" % (STEP, ODD), "--", STEP,
                             ODD, "silent"])
        driver.communicate(timeout=60)
        with open(self.dir + "/outcome") as file:
            outcome = file.read()
        self.assertIn("stage=import", outcome)
        self.assertIn("text=a library is not loaded by a helper yet", outcome)


if __name__ == "__main__":
    unittest.main()
