"""Which sweep of a spec a bare --resume goes on with: the newest one, also where the
clock was put back after the one before."""
import os
import time

import harness
from test_sweeps import BLOCKS, Sweep


class Latest(Sweep):
    def setUp(self):
        super().setUp()
        self.spec("echo $JOBRUN_SWEEP_ID >> ran; false", BLOCKS)
        for name in ("older", "newer"):
            self.expect(self.jobrun("scan.jobrun.yaml", "--run-id", name), 1)
        (self.folder / "ran").unlink()

    def written(self, name, ahead):
        """The journal was written to last, so many seconds from now."""
        when = time.time() + ahead
        os.utime(self.folder / "runs" / name / "journal.jsonl", (when, when))

    def resumed(self):
        """The sweep that is gone on with, and what is told."""
        told = self.expect(self.jobrun("scan.jobrun.yaml", "--resume"), 1).stderr
        ran = set((self.folder / "ran").read_text().split())
        (self.folder / "ran").unlink()
        return ran.pop() if len(ran) == 1 else ran, told

    def test_the_clock_was_put_back(self):
        self.written("older", 3600)
        went_on, told = self.resumed()
        self.assertEqual(went_on, "newer")
        self.assertNotIn("going on with", told)

    def test_it_is_that_which_was_gone_on_with_last(self):
        self.expect(self.jobrun("scan.jobrun.yaml", "--resume=older"), 1)
        (self.folder / "ran").unlink()
        self.written("newer", 3600)
        self.assertEqual(self.resumed()[0], "older")

    def test_only_the_clock_tells(self):
        """Another run has the link, so it is said which one is taken."""
        self.expect(self.jobrun("-n", "1", "--", "true"), 0)
        self.written("older", 3600)
        went_on, told = self.resumed()
        self.assertEqual(went_on, "older")
        self.assertIn("going on with older, which was written to last of 2 "
                      "sweeps of this spec: --resume=ID goes on with another",
                      told)

    def test_there_is_but_one(self):
        self.expect(self.jobrun("prune", "--keep", "1"), 0)
        self.expect(self.jobrun("-n", "1", "--", "true"), 0)
        went_on, told = self.resumed()
        self.assertEqual(went_on, "newer")
        self.assertNotIn("going on with", told)


if __name__ == "__main__":
    harness.main()
