"""Ranks whose command is a container's: a PID namespace and another root, in which
the run folder has its own path, as a program such as apptainer makes them. What ranks
are promised holds there."""
import json
import os
import signal
import subprocess
import time
import unittest

import harness

# A root of its own for the program and its words, with the test's folder in it.
CONTAINER = """#!/bin/sh
exec unshare --mount --pid --fork --kill-child sh -euc '
root=$1 folder=$2; shift 2
mount -t tmpfs none "$root"
for name in bin lib lib64 usr dev; do
    [ ! -e "/$name" ] || { mkdir "$root/$name"; mount --rbind "/$name" "$root/$name"; }
done
mkdir -p "$root/proc" "$root/tmp" "$root$folder"
mount -t proc none "$root/proc"
mount --bind "$folder" "$root$folder"
exec chroot "$root" "$@"' sh "%s/root" "%s" "$@"
"""
SPEC = """\
version: 1
device: cpu
world_size: 2
oversubscribe: true
entrypoint: [./container, /bin/sh, -c, %s]
stop_target: group
timeouts: {stop_grace: 500ms}
results: {fields: {rank: {type: integer}}, distinct: [rank]}
"""
DELIVER = ('echo "{\\"rank\\": $RANK, \\"pid\\": $$}" > "$JOBRUN_RESULT_FILE"')


class Containers(harness.Case):
    def setUp(self):
        super().setUp()
        (self.folder / "root").mkdir()
        self.write("container", CONTAINER % (self.folder, self.folder)).chmod(0o755)
        tried = subprocess.run(
            [self.folder / "container", "/bin/true"], capture_output=True)
        if tried.returncode != 0:
            self.skipTest("no namespaces for a container")

    def spec(self, script):
        return self.write("c.jobrun.yaml", SPEC % json.dumps(script))

    def run_in(self, code, script):
        return self.expect(self.jobrun(self.spec(script)), code)

    def nothing_is_left(self):
        found = subprocess.run(["pgrep", "-f", str(self.folder)], text=True,
                               capture_output=True, timeout=harness.LIMIT)
        self.assertEqual(set(found.stdout.split()) - {str(os.getpid())}, set())

    def test_what_ranks_are_promised(self):
        """Their variables, their folder, their result, and nothing of the root
        outside."""
        done = self.run_in(
            0, "test ! -e /home && test ! -e /etc/passwd && "
            'echo "$RANK $LOCAL_RANK $WORLD_SIZE $MODEL_PARALLEL_SIZE $$" && '
            'test -n "$MASTER_ADDR$MASTER_PORT" && '
            'echo > "$JOBRUN_RANK_DIR/own" && ' + DELIVER)
        self.assertEqual(sorted(done.stdout.splitlines()),
                         ["[0] 0 0 2 1 1", "[1] 1 1 2 1 1"])
        results = self.results()
        self.assertEqual([rank["result"] for rank in results["ranks"]],
                         [{"rank": 0, "pid": 1}, {"rank": 1, "pid": 1}])
        self.assertEqual(results["processes_left"], 0)
        for rank in range(2):
            self.assertTrue((self.folder / "runs/latest/attempt_0" / str(rank) /
                             "own").exists())
        self.nothing_is_left()

    def test_a_result_that_is_missing(self):
        self.run_in(5, "test $RANK = 0 || exit 0; " + DELIVER)
        self.assertEqual([rank["state"] for rank in self.results()["ranks"]],
                         ["succeeded", "incomplete"])

    def test_how_a_rank_ends(self):
        for script, told in (("exit 7", "rank 1 exited with code 7"),
                             ("sh -c 'kill -SEGV $$'; exit $?",
                              "rank 1 exited with code 139")):
            done = self.run_in(1, f"test $RANK != 1 || {{ {script}; }}; sleep 1000")
            self.assertIn(told, done.stderr)
            self.assertIn("0 processes left", done.stderr)
            self.nothing_is_left()

    def test_teardown(self):
        """Those that ignore the stop, and those that left their session."""
        process = self.start(self.spec(
            "trap '' TERM; setsid sh -c \"trap '' TERM; echo > "
            "'$JOBRUN_RANK_DIR/up'; while :; do sleep 0.1; done\" & "
            "while :; do sleep 0.1; done"))
        until = time.monotonic() + harness.LIMIT
        while len(list(self.folder.glob("runs/2*/attempt_0/*/up"))) < 2:
            self.assertLess(time.monotonic(), until)
            time.sleep(0.01)
        process.terminate()
        _, err = process.communicate(timeout=harness.LIMIT)
        self.assertEqual(process.returncode, 128 + signal.SIGTERM, err)
        self.assertIn("0 processes left", err)
        self.nothing_is_left()

    def test_ranks_that_heed_the_stop(self):
        process = self.start(self.spec(
            "trap 'echo > \"$JOBRUN_RANK_DIR/saved\"; exit 0' TERM; echo > "
            "\"$JOBRUN_RANK_DIR/up\"; while :; do sleep 0.05; done"),
            "-s", "timeouts.stop_grace=60s")
        until = time.monotonic() + harness.LIMIT
        while len(list(self.folder.glob("runs/2*/attempt_0/*/up"))) < 2:
            self.assertLess(time.monotonic(), until)
            time.sleep(0.01)
        process.terminate()
        process.communicate(timeout=harness.LIMIT)
        self.assertEqual(
            len(list(self.folder.glob("runs/2*/attempt_0/*/saved"))), 2)
        self.nothing_is_left()


if __name__ == "__main__":
    unittest.main()
