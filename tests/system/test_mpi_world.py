"""mpi: pmi1 as users see it, with ranks that speak the protocol without being
MPI programs: whole worlds, ranks that leave the others alone, aborts, and broken
words. (MPICH's and Open MPI's own programs are in
test_mpi_programs.py.)"""
import ctypes
import os
import pathlib
import shutil
import signal
import socket
import time

import harness

CLIENT = pathlib.Path(__file__).parent / "mpi" / "pmi.py"
SPEC = """\
version: 1
entrypoint: [python3, pmi.py]
world_size: 4
device: cpu
oversubscribe: true
timeouts: {run: 2m, stop_grace: 20s}
mpi: pmi1
"""


class World(harness.Case):
    def setUp(self):
        super().setUp()
        shutil.copy(CLIENT, self.folder)
        self.write("job.yaml", SPEC)

    def run_ranks(self, code, *acts, options=()):
        return self.expect(
            self.jobrun("job.yaml", *options, "--", *acts), code)

    def assert_cause(self, done, rank, kind, message, **more):
        results = self.results()
        cause = results["root_cause"]
        wanted = {"rank": rank, "kind": kind, "message": message, **more}
        self.assertEqual({key: cause[key] for key in wanted}, wanted)
        if rank is not None:
            self.assertIn(f"rank {rank} {message}", done.stderr)
        self.assertIn("0 processes left", done.stderr)
        return results

    def lines(self, done):
        return sorted(done.stdout.splitlines())


class Wrong(World):
    def test_no_rank_initializes(self):
        done = self.run_ranks(5)
        self.assertIn("INCOMPLETE: 4 singletons: `mpi: pmi1` is stated, but no "
                      "rank called MPI_Init through it", done.stderr)
        results = self.assert_cause(
            done, None, "singletons", "4 singletons: `mpi: pmi1` is stated, but "
            "no rank called MPI_Init through it", exit_code=None)
        self.assertEqual(results["status"], "incomplete")
        self.assertEqual([rank["mpi"] for rank in results["ranks"]],
                         ["absent"] * 4)
        shown = self.expect(self.jobrun("show", "latest"), 0)
        self.assertIn("4 singletons", shown.stdout)

    def test_no_rank_initializes_and_none_delivers(self):
        done = self.run_ranks(5, options=("-s", "results.required=all"))
        self.assert_cause(
            done, None, "singletons", "4 singletons: `mpi: pmi1` is stated, but "
            "no rank called MPI_Init through it")

    def test_singletons_are_not_started_again(self):
        done = self.run_ranks(5, options=("-s", "restart.max=2"))
        self.assertIn("not started again: its ranks would not become one MPI "
                      "world then either", done.stderr)

    def test_a_rank_does_not_initialize(self):
        """Before the others do, or after they have."""
        for acts in (["1:exit=0", "later", "init", "hang"],
                     ["0,2,3:init", "1:later", "1:exit=0", "hang"]):
            done = self.run_ranks(1, *acts)
            self.assert_cause(
                done, 1, "mpi", "exited with code 0 without calling MPI_Init, "
                "which other ranks had called", exit_code=0)
            self.assertEqual(self.results()["ranks"][1]["mpi"], "left")

    def test_a_rank_does_not_finalize(self):
        done = self.run_ranks(1, "init", "exchange", "2:exit=0", "finalize")
        self.assert_cause(
            done, 2, "mpi", "exited with code 0 after MPI_Init, without calling "
            "MPI_Finalize")
        shown = self.expect(self.jobrun("show", "latest"), 0)
        self.assertIn("rank 2 exited with code 0 after MPI_Init", shown.stdout)

    def test_a_rank_fails(self):
        done = self.run_ranks(1, "init", "exchange", "2:exit=7", "finalize")
        self.assert_cause(done, 2, "exit", "exited with code 7", exit_code=7)

    def test_a_rank_dies(self):
        done = self.run_ranks(1, "init", "exchange", "2:kill", "finalize")
        self.assert_cause(done, 2, "signal",
                          "was killed by SIGKILL, sender unknown")

    def test_a_rank_aborts(self):
        done = self.run_ranks(1, "init", "exchange", "2:abort=3", "finalize")
        results = self.assert_cause(done, 2, "mpi_abort",
                                    "called MPI_Abort with code 3", exit_code=3,
                                    signal=None)
        self.assertEqual(results["ranks"][2]["mpi_abort_code"], 3)
        self.assertEqual(
            [rank["state"] for rank in results["ranks"]],
            ["stopped", "stopped", "failed", "stopped"])
        shown = self.expect(self.jobrun("show", "latest"), 0)
        self.assertIn("rank 2 called MPI_Abort with code 3", shown.stdout)
        events = [event["event"] for event in self.events()]
        self.assertLess(events.index("mpi_initialized"),
                        events.index("mpi_abort"))

    def test_aborts_by_other_codes(self):
        """0 is a failure too, what is no exit code is told as it is, and an
        error of MPI's own is no MPI_Abort."""
        for code, status, kind, message, told in (
                ("0", 1, "mpi_abort", "called MPI_Abort with code 0", 0),
                ("-1", 255, "mpi_abort", "called MPI_Abort with code -1", 255),
                ("300", 44, "mpi_abort", "called MPI_Abort with code 300", 300),
                ("739859215", 15, "mpi", "had a fatal error within MPI", 15)):
            done = self.run_ranks(status, "init", "1:abort=" + code, "barrier",
                                  options=("-s", "exit_status=rank"))
            self.assert_cause(done, 1, kind, message, exit_code=told)

    def assert_world_ends(self, done, rank):
        self.assertEqual(done.stderr.count(
            f"jobrun: warning: rank {rank} failed in an MPI world, which cannot "
            "go on without it: the other ranks are stopped, although "
            "`on_failure` is `continue`"), 1)
        self.assertEqual(
            [state["state"] for state in self.results()["ranks"]],
            ["failed" if other == rank else "stopped" for other in range(4)])

    def test_a_world_does_not_continue(self):
        """With on_failure: continue, the other ranks would wait for ever: in a
        barrier, or in MPI_Init for one that failed before."""
        options = ("-s", "on_failure=continue")
        for act, kind, message in (
                ("abort=3", "mpi_abort", "called MPI_Abort with code 3"),
                ("kill", "signal", "was killed by SIGKILL, sender unknown"),
                ("exit=7", "exit", "exited with code 7"),
                ("exit=0", "mpi", "exited with code 0 after MPI_Init, without "
                 "calling MPI_Finalize")):
            done = self.run_ranks(1, "init", "exchange", "2:" + act, "barrier",
                                  options=options)
            self.assert_cause(done, 2, kind, message)
            self.assert_world_ends(done, 2)
        done = self.run_ranks(1, "1:exit=3", "rank-1-ended", "init", "barrier",
                              options=options)
        self.assert_cause(done, 1, "exit", "exited with code 3")
        self.assert_world_ends(done, 1)

    def test_ranks_beyond_the_world_continue(self):
        """Before MPI_Init and after MPI_Finalize each is alone."""
        options = ("-s", "on_failure=continue")
        for acts in (["init", "exchange", "finalize", "1:exit=3"],
                     ["1:exit=3"]):
            done = self.run_ranks(1, *acts, "rank-1-ended", options=options)
            self.assert_cause(done, 1, "exit", "exited with code 3")
            self.assertNotIn("warning: rank", done.stderr)
            self.assertEqual(
                [state["state"] for state in self.results()["ranks"]],
                ["succeeded", "failed", "succeeded", "succeeded"])

    def test_a_restart_by_the_code_of_an_abort(self):
        done = self.run_ranks(1, "init", "1:abort=3", "hang", options=(
            "-s", "restart.max=1", "-s", "restart.on=[exit:3]"))
        self.assertIn("(restart 1 of 1)", done.stderr)
        done = self.run_ranks(1, "init", "1:abort=3", "hang", options=(
            "-s", "restart.max=1", "-s", "restart.on=[exit:4, signal]"))
        self.assertNotIn("(restart 1 of 1)", done.stderr)

    def test_ranks_that_end_with_0_where_they_are_stopped(self):
        """The signal is the cause, and no rank that it ended."""
        process = self.start("job.yaml", "--", "init", "exchange", "await-term",
                             "exit=0")
        told = 0
        while told < 4:
            line = process.stdout.readline()
            self.assertNotEqual(line, "")
            told += "listens" in line
        process.terminate()
        shown = process.communicate(timeout=harness.LIMIT)[1]
        self.assertEqual(process.returncode, 128 + signal.SIGTERM, shown)
        results = self.results()
        self.assertEqual(results["root_cause"]["message"],
                         "jobrun was stopped by SIGTERM")
        self.assertEqual([(rank["state"], rank["exit_code"])
                          for rank in results["ranks"]], [("stopped", 0)] * 4)
        self.assertIn("STOPPED by SIGTERM", shown)

    def test_garbage(self):
        for act, why in (("garbage", "it sent a line that is none of PMI-1"),
                         ("endless", "it sent a line that is too long"),
                         ("twice", "it initialized twice")):
            done = self.run_ranks(1, "init", "2:" + act, "2:hang", "barrier")
            self.assert_cause(done, 2, "mpi",
                              "broke the protocol of MPI's process manager")
            self.assertIn("jobrun: warning: rank 2 broke the protocol of MPI's "
                          f"process manager: {why}", done.stderr)

    def test_noise_before_init(self):
        self.run_ranks(0, "noise", "endless", "init", "exchange", "finalize")

    def test_another_version(self):
        done = self.run_ranks(5, "pmi2")
        self.assertIn("4 singletons", done.stderr)

    def test_more_processes_are_refused(self):
        done = self.run_ranks(0, "init", "exchange", "1:spawn", "finalize")
        self.assertIn("[1] spawn -1", done.stdout)
        self.assertIn("jobrun: warning: rank 1 asked MPI for more processes "
                      "(MPI_Comm_spawn), which jobrun does not start",
                      done.stderr)

    def test_a_flood_of_values(self):
        done = self.run_ranks(0, "init", "0,1:flood", "exchange", "finalize")
        self.assertIn("[1] flooded, bounded", done.stdout)

    def test_another_process_of_a_rank(self):
        self.run_ranks(0, "child", "init", "child", "exchange", "child",
                       "finalize", "child")

    def test_forks_get_no_stream(self):
        self.write("job.yaml", SPEC.replace(
            "[python3, pmi.py]", "{python: {function: 'm:f'}}") +
            "start_method: forkserver\n")
        done = self.expect(self.jobrun("job.yaml"), 3)
        self.assertIn("JR0344", done.stderr)

    def test_a_stated_variable_of_the_protocol(self):
        self.write("job.yaml", SPEC + "env: {PMI_FD: 7}\n")
        done = self.expect(self.jobrun("job.yaml"), 3)
        self.assertIn("jobrun sets PMI_FD for each rank itself", done.stderr)

    def test_one_node_of_several(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        done = self.expect(self.jobrun(
            "job.yaml", "-s", "nodes=2", "--node-rank", "0", "--run-id", "x",
            "-s", "master_addr=127.0.0.1", "-s", f"master_port={port}"), 4)
        self.assertIn("JR0516", done.stderr)
        self.assertIn("the ranks of other nodes are started by other jobruns",
                      done.stderr)


class Server(World):
    """PMIx: another process of jobrun's serves the world."""
    def test_the_server_dies(self):
        """Its end is the cause, in the record as well."""
        try:
            ctypes.CDLL("libpmix.so.2")
        except OSError:
            self.skipTest("SKIPPED: no libpmix.so.2: install libpmix2")
        self.write("job.yaml", SPEC.replace("pmi1", "pmix").replace(
            "[python3, pmi.py]", "[sleep, '600']"))
        process = self.start("job.yaml")
        for rank in range(4):
            self.await_event(event="rank_started", rank=rank)
        servers = [pid for pid in
                   harness.children(harness.runner_of(process.pid))
                   if harness.name_of(pid) == "jobrun-pmix"]
        self.assertEqual(len(servers), 1)
        os.kill(servers[0], signal.SIGKILL)
        told = process.communicate(timeout=harness.LIMIT)[1]
        self.assertEqual(process.returncode, 7, told)
        why = (f"the PMIx server of the ranks (the process jobrun-pmix, pid "
               f"{servers[0]}) has died, and no rank can go on without it")
        self.assertIn(why, told)
        self.assertIn("0 processes left", told)
        self.assertEqual(self.results()["root_cause"]["message"], why)
        self.assertIn(why, self.expect(self.jobrun("show", "latest"), 0).stdout)


class Slow(World):
    """A library in the place of PMIx's, which never comes to serve: ranks wait
    for it, and jobrun does not."""
    def start_slow(self, *words):
        self.write("job.yaml", SPEC.replace("pmi1", "pmix").replace(
            "[python3, pmi.py]", "[sleep, '600']"))
        (self.folder / "libpmix.so.2").symlink_to(os.environ["FAKE_PMIX"])
        run = self.start("job.yaml", *words, env={
            "LD_LIBRARY_PATH": str(self.folder), "FAKE": "slow"})
        runner = harness.runner_of(run.pid)
        until = time.monotonic() + harness.LIMIT
        while "jobrun-pmix" not in map(harness.name_of,
                                       harness.children(runner)):
            self.assertLess(time.monotonic(), until, "no server has begun")
            time.sleep(0.01)
        return run

    def assert_end(self, run, code):
        told = run.communicate(timeout=harness.LIMIT)[1]
        self.assertEqual(run.returncode, code, told)
        self.assertIn("0 processes left", told)
        self.assertNotIn("rank_started",
                         [event["event"] for event in self.events()])
        return told

    def test_signals(self):
        for sig in (signal.SIGINT, signal.SIGTERM):
            run = self.start_slow()
            run.send_signal(sig)
            self.assert_end(run, 128 + sig)
            self.assertEqual(self.results()["status"], "stopped")
            (self.folder / "libpmix.so.2").unlink()

    def test_the_time_to_start(self):
        told = self.assert_end(self.start_slow("-s", "timeouts.start=1s"), 7)
        self.assertIn("rank 0 did not start: its PMIx server failed: it was "
                      "not ready within timeouts.start", told)


class Right(World):
    def test_a_world(self):
        done = self.run_ranks(0, "init", "exchange", "finalize")
        self.assertEqual(self.lines(done), [
            f"[{rank}] pmi {rank} of 4, (vector,(0,1,4))" for rank in range(4)])
        self.assertIn(", one MPI world by PMI-1\n", done.stderr)
        self.assertEqual([rank["mpi"] for rank in self.results()["ranks"]],
                         ["finalized"] * 4)

    def test_a_world_of_nodes_on_this_machine(self):
        done = self.run_ranks(0, "init", "exchange", "finalize",
                              options=("--local", "-s", "nodes=2"))
        self.assertEqual(self.lines(done)[3], "[3] pmi 3 of 4, (vector,(0,1,4))")

    def test_a_large_world(self):
        self.run_ranks(0, "init", "exchange", "finalize",
                       options=("-s", "world_size=64"))

    def test_programs_behind_each_other(self):
        """A shell that starts one program, and then the next."""
        acts = "python3 pmi.py init exchange finalize"
        self.write("job.yaml", SPEC.replace(
            "[python3, pmi.py]", f"{{shell: '{acts} && {acts}'}}"))
        done = self.expect(self.jobrun("job.yaml"), 0)
        self.assertEqual(self.lines(done), sorted(
            2 * [f"[{rank}] pmi {rank} of 4, (vector,(0,1,4))"
                 for rank in range(4)]))

    def test_beside_a_control_socket(self):
        """Scripts that have to wait for each other have one, as descriptor 3."""
        self.write("job.yaml", SPEC.replace(
            "[python3, pmi.py]", "{python: {script: pmi.py}}") +
            "exit_barrier: true\n")
        self.run_ranks(0, "init", "exchange", "finalize")

    def test_each_attempt_is_a_world(self):
        self.write("once.py", "import os, sys\n"
                   "if os.environ['JOBRUN_ATTEMPT'] == '0' and "
                   "os.environ['RANK'] == '1':\n    sys.exit(3)\n"
                   "os.execvp('python3', ['python3', 'pmi.py', *sys.argv[1:]])")
        self.write("job.yaml", SPEC.replace("pmi.py", "once.py") +
                   "restart: {max: 1}\n")
        done = self.run_ranks(0, "init", "exchange", "finalize")
        self.assertIn("(restart 1 of 1)", done.stderr)

    def test_what_a_rank_has_open(self):
        """Its stream, and no other descriptor."""
        self.write("open.py", "import os\n"
                   "print(sorted(int(fd) for fd in os.listdir('/proc/self/fd')"
                   " if os.path.exists(f'/proc/self/fd/{fd}')))\n"
                   "os.execvp('python3', ['python3', 'pmi.py', 'init', "
                   "'finalize'])")
        self.write("job.yaml", SPEC.replace("pmi.py", "-u, open.py"))
        done = self.expect(self.jobrun("job.yaml"), 0)
        self.assertEqual(self.lines(done),
                         [f"[{rank}] [0, 1, 2, 4, 1000]" for rank in range(4)])

    def test_none_is_served_where_none_is_asked_for(self):
        self.write("job.yaml", SPEC.replace("mpi: pmi1", "mpi: none").replace(
            "[python3, pmi.py]", "{shell: 'echo ${PMI_FD-no} ${PMI_RANK-no}'}"))
        done = self.expect(self.jobrun("job.yaml", env={"PMI_FD": "9"}), 0)
        self.assertEqual(self.lines(done), [f"[{r}] no no" for r in range(4)])
        self.assertNotIn("MPI world", done.stderr)

    def test_the_plan_says_it(self):
        done = self.expect(self.jobrun("plan", "job.yaml", "--env"), 0)
        for name in ("PMI_FD", "PMI_SIZE", "MPI_LOCALNRANKS"):
            self.assertIn(name, done.stdout)


if __name__ == "__main__":
    harness.main()
