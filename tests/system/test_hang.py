"""Runs that hang: what is told of them, then and later; and the stacks of ranks
that live."""
import json
import os
import pty
import subprocess

import harness
from test_detached_runs import WAIT, until

# A rank that speaks until all are there, and then does what its rank tells it.
SPEC = """\
version: 1
name: stuck
entrypoint:
  shell: >-
    echo x > here.$RANK;
    until [ -e here.0 ] && [ -e here.1 ] && [ -e here.2 ];
    do echo begun; sleep 0.05; done;
    echo begun; echo x > ready.$RANK; %s
world_size: 3
oversubscribe: true
device: cpu
timeouts: {%s, stop_grace: 5s}
"""
WAIT_OR_READ = "case $RANK in 1) exec cat fifo;; esac; exec sleep 1000"


class Case(harness.Case):
    def setUp(self):
        super().setUp()
        os.mkfifo(self.folder / "fifo")

    def spec(self, shell, timeouts):
        return self.write("stuck.jobrun.yaml", SPEC % (shell, timeouts))

    def results(self):
        return json.loads(
            (self.folder / "runs" / "latest" / "results.json").read_text())


class Hung(Case):
    def test_the_one_that_differs_is_told(self):
        self.spec(WAIT_OR_READ, "silence: 1s")
        done = self.expect(self.jobrun("stuck.jobrun.yaml"), 6)
        self.assertIn("jobrun: HUNG after ", done.stderr)
        self.assertIn("no output from any rank for 1s (timeouts.silence)",
                      done.stderr)
        self.assertIn("\n  rank 1   node 0", done.stderr)
        self.assertRegex(done.stderr, r"doing: +rank 1 waiting")
        self.assertIn("ranks 0,2 waiting", done.stderr)
        self.assertIn("(SIGTERM)", done.stderr)
        self.assertIn("0 processes left", done.stderr)
        results = self.results()
        self.assertEqual(results["status"], "hung")
        cause = results["root_cause"]
        self.assertEqual((cause["kind"], cause["rank"], cause["together"]),
                         ("hang", 1, []))
        self.assertIn("; rank 1 waiting", cause["message"])
        # Later it is told again, from the files.
        shown = self.expect(self.jobrun("show"), 0).stdout
        later = shown.replace(results["run_id"], "latest")
        report = done.stderr[done.stderr.index("jobrun: HUNG"):]
        self.assertEqual(later, report.replace(results["run_id"], "latest"))
        stacks = self.expect(self.jobrun("show", "--stacks"), 0).stdout
        self.assertEqual(stacks.count("\nrank ") + 1, 3)
        self.expect(self.jobrun("report", "--format", "html", "--output",
                                "r.html"), 0)
        page = (self.folder / "r.html").read_text()
        part = page[page.index('<section id="hang"'):]
        part = part[:part.index("</section>")]
        self.assertEqual(part.count('<tr><th scope="row">'), 3)
        self.assertEqual(part.count("\n  process "), stacks.count("\n  process "))
        one = self.expect(
            self.jobrun("show", "--stacks", "--rank", "1", "--json"), 0).stdout
        ranks = json.loads(one)["ranks"]
        self.assertEqual([rank["rank"] for rank in ranks], [1])
        self.assertEqual(ranks[0]["processes"][0]["threads"][0]["state"], "S")

    def test_stragglers_are_told(self):
        self.spec("case $RANK in 0) exit 0;; esac; " + WAIT_OR_READ,
                  "after_first_exit: 1s")
        done = self.expect(self.jobrun("stuck.jobrun.yaml"), 6)
        self.assertIn("jobrun: TIMED OUT after ", done.stderr)
        self.assertIn("not all ended within 1s of the first "
                      "(timeouts.after_first_exit)", done.stderr)
        self.assertRegex(done.stderr, r"doing: +rank [12] waiting")
        self.assertIn("rank 0 succeeded", done.stderr)
        self.assertEqual(self.results()["root_cause"]["kind"], "timeout")

    def test_the_signal_and_the_command_answer(self):
        self.spec("trap 'echo told; exit 3' USR1; sleep 1000 & wait",
                  "silence: 1s")
        path = self.folder / "stuck.jobrun.yaml"
        path.write_text(path.read_text() + "stop_target: leader\n"
                        'on_hang: {signal: USR1, wait: 20s, '
                        'command: [echo, "pid is %{pid}"]}\n')
        done = self.expect(self.jobrun("stuck.jobrun.yaml"), 6)
        self.assertIn("HUNG", done.stderr)
        run = self.folder / "runs" / "latest"
        for rank in self.results()["ranks"]:
            folder = run / "attempt_0" / str(rank["rank"])
            told = (folder / "stdout.log").read_text().splitlines()
            self.assertEqual((set(told[:-1]), told[-1]), ({"begun"}, "told"))
            self.assertEqual((folder / "hang.txt").read_text(),
                             f"pid is {rank['pid']}\n")
            self.assertEqual(rank["state"], "stopped")
            self.assertEqual(rank["stop_signals"], ["SIGUSR1"])


class Live(Case):
    def test_stacks_of_a_run_that_goes_on(self):
        self.spec(WAIT_OR_READ, "run: 10m")
        run = self.expect(self.jobrun("stuck.jobrun.yaml", "--detach"),
                          0).stdout.strip()
        self.addCleanup(self.jobrun, "stop", run)
        self.assertTrue(until(
            lambda: len(list(self.folder.glob("ready.*"))) == 3))
        text = self.expect(self.jobrun("show", "--stacks"), 0).stdout
        for rank in range(3):
            self.assertIn(f"rank {rank}   pid ", text)
        data = json.loads(self.expect(
            self.jobrun("show", run, "--stacks", "--json", "--rank", "0,2"),
            0).stdout)
        self.assertEqual([rank["rank"] for rank in data["ranks"]], [0, 2])
        self.expect(self.jobrun("stop", run), 0)
        done = self.expect(self.jobrun("show", run, "--stacks"), 0)
        self.assertEqual(done.stdout, "")
        self.assertIn("none left a hang.json", done.stderr)

    def test_top_ends_with_the_run(self):
        self.spec(WAIT_OR_READ, "run: 10m")
        run = self.expect(self.jobrun("stuck.jobrun.yaml", "--detach"),
                          0).stdout.strip()
        self.addCleanup(self.jobrun, "stop", run)
        self.assertTrue(until(
            lambda: len(list(self.folder.glob("ready.*"))) == 3))
        table = self.expect(self.jobrun("top", run, "--once"), 0).stdout
        self.assertIn("3 of 3 ranks live, ", table)
        for rank in range(3):
            self.assertRegex(table, rf"\n +{rank}  waiting +\d+ .* begun\n")
        plain = self.start("top")
        self.assertIn("ranks live", plain.stdout.readline())
        screen, inner = pty.openpty()
        self.addCleanup(os.close, screen)
        drawn = subprocess.Popen(
            [harness.JOBRUN, "top"], cwd=self.folder, stdout=inner,
            stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
            env=harness.clean_environment(TERM="xterm"))
        os.close(inner)
        self.addCleanup(drawn.stderr.close)
        self.addCleanup(drawn.kill)
        seen = b""
        while b"ranks live" not in seen:
            seen += os.read(screen, 4096)
        self.expect(self.jobrun("stop", run), 0)
        self.assertEqual(plain.wait(WAIT), 0)
        self.assertEqual(drawn.wait(WAIT), 0)
        self.assertIn("has ended: stopped", plain.stderr.read())
        self.assertNotIn("\x1b", plain.stdout.read())
        self.assertIn("has ended: stopped", self.jobrun("top").stderr)

    def test_what_is_no_use(self):
        self.expect(self.jobrun("top"), 2)
        self.expect(self.jobrun("show", "--stacks"), 2)
        self.expect(self.jobrun("-n", "1", "--", "true"), 0)
        self.expect(self.jobrun("show", "--rank", "0"), 2)
        self.expect(self.jobrun("show", "--stacks", "--rank", "x"), 2)


if __name__ == "__main__":
    harness.main()
