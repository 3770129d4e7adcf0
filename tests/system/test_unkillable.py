"""A rank that no SIGKILL ends: every wait is bounded, and it is named. A frozen
group of the freezer (cgroup version 1) stands for a process in state D."""
import os
import pathlib
import signal

import harness
from test_detached_runs import until

FREEZER = pathlib.Path("/sys/fs/cgroup/freezer")


class Unkillable(harness.Case):
    def setUp(self):
        super().setUp()
        self.group = FREEZER / f"jobrun-test-{os.getpid()}"
        try:
            self.group.mkdir()
        except OSError as error:
            self.skipTest(f"SKIPPED: no freezer of version 1 here: {error}")
        self.addCleanup(lambda: until(self.is_removed))

    def is_removed(self):
        try:
            self.group.rmdir()
        except OSError:
            pass
        return not self.group.exists()

    def set_state(self, word):
        (self.group / "freezer.state").write_text(word)

    def check(self, isolation):
        process = self.start(
            "-n", "2", "-s", f"isolation={isolation}",
            "-s", "timeouts.stop_grace=100ms", "--", "sh", "-c",
            "[ $RANK = 1 ] && { echo 0 > "
            f"'{self.group}/cgroup.procs' && touch ready || exit 9; }}\n"
            "while :; do sleep 1000; done")
        self.assertTrue(until((self.folder / "ready").exists))
        stuck = [event["pid"] for event in self.events()
                 if event["event"] == "rank_started" and event["rank"] == 1]
        self.set_state("FROZEN")
        self.addCleanup(self.set_state, "THAWED")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(harness.LIMIT), 143)
        told = process.stderr.read()
        self.assertIn("could not be ended", told)
        self.assertIn(str(stuck[0]), told)
        self.assertGreaterEqual(self.results()["processes_left"], 1)

    def test_it_is_named(self):
        self.check("none")

    def test_it_is_named_in_a_namespace(self):
        self.check("pid")


if __name__ == "__main__":
    harness.main()
