"""What goes wrong gets a sentence and the right exit status, and loses
nothing."""
import errno
import itertools
import json
import os
import pathlib
import re
import resource
import shlex
import subprocess

import harness

HEAD = "version: 1\nname: t\ndevice: cpu\n"


def shell(text, n=3, more=""):
    body = "".join(f"    {line}\n" for line in text.splitlines())
    return (f"{HEAD}world_size: {n}\n{more}"
            f"entrypoint:\n  shell: |\n{body}")


class WrongSpecs(harness.Case):
    def test_eight_mistakes_give_eight_diagnostics(self):
        spec = self.write("t.jobrun.yaml", """\
version: 2
name: "bad name"
entrypoint: [touch, started]
paralelism: {model: 2}
world_size: 4x
nprocs: 4
oversubscribe: yes
start_method: frok
backends: nvcl
""")
        done = self.expect(self.jobrun(spec), 3)
        self.assertEqual(done.stderr.count(": error[JR"), 8, done.stderr)
        self.assertIn("8 errors", done.stderr)
        self.assertFalse((self.folder / "started").exists())
        self.assertFalse((self.folder / "runs").exists())
        checked = self.jobrun("validate", spec, "--format", "json")
        found = json.loads(self.expect(checked, 3).stdout)
        self.assertEqual(found["error_count"], 8)
        self.assertFalse(found["valid"])

    def refused_at_once(self, path, word):
        with self.takes_less(5):  # a second, with slack
            done = self.expect(self.jobrun("validate", path), 3)
        self.assertIn(word, done.stdout)

    def test_hostile_files_are_refused_at_once(self):
        bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
            f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n"
            for i in range(1, 10))
        fifo = self.folder / "fifo"
        os.mkfifo(fifo)
        for path, word in (
                (self.write("bomb.yaml", bomb), "more than 100,000 nodes"),
                (self.write("deep.yaml", "a: " + "[" * 100_000), "deep"),
                (self.write("big.yaml", "a: " + "x" * (2 << 20)), "1 MiB"),
                (pathlib.Path("/dev/zero"), "/dev/zero"),
                (fifo, "FIFO"),
                (self.folder / "absent.yaml", "no such file")):
            with self.subTest(path.name):
                self.refused_at_once(path, word)

    def test_a_folder_without_specs_is_told(self):
        (self.folder / "empty").mkdir()
        done = self.expect(self.jobrun("validate", "empty"), 3)
        self.assertIn("no *.jobrun.yaml", done.stdout)


class Folders(harness.Case):
    """validate FOLDER: what is a spec there, and what is passed over."""

    GOOD = "version: 1\nentrypoint: [./train]\n"
    BAD = "version: 1\nentrypoint: [./train]\nworld_size: 4x\n"

    def files(self, *words, code=3):
        """The files that findings are about."""
        done = self.expect(self.jobrun("validate", "--format", "json", *words),
                           code)
        found = json.loads(done.stdout)["diagnostics"]
        return sorted({row["file"] for row in found}), done.stderr

    def test_a_spec_by_its_name_or_by_its_text(self):
        for name in ("train.yaml", "sub/run.yml", "a.jobrun.yaml",
                     "b.jobrun.yml"):
            self.write(f"d/{name}", self.BAD)
        self.write("d/slip.yaml", "version: 1\nworld_sise: 4\n")
        self.write("d/flow.yaml", "{version: 1, world_size: 4x}\n")
        self.write("d/quoted.yaml", '"version": 1\n"world_size": 4x\n')
        self.write("d/broken.yaml", "version: 1\nentrypoint: [./train\n")
        self.write("d/values.yaml", "replicas: 3\n")
        self.write("d/compose.yaml", "version: '3'\nservices: {a: {}}\n")
        self.write("d/nested.yaml", "a:\n  version: 1\n  world_size: 4x\n")
        self.write("d/second.yaml", "a: 1\n---\nversion: 1\nnodes: x\n")
        self.write("d/notes.txt", self.BAD)
        files, told = self.files("d")
        self.assertEqual(files, sorted(f"d/{name}" for name in (
            "train.yaml", "sub/run.yml", "a.jobrun.yaml", "b.jobrun.yml",
            "slip.yaml", "flow.yaml", "quoted.yaml", "broken.yaml")))
        self.assertIn("4 other YAML files were passed over", told)
        self.assertNotIn("passed over", self.files("d", "-q")[1])

    def test_what_is_hidden_ignored_or_of_a_run_is_skipped(self):
        subprocess.run(["git", "init", "-q", "."], cwd=self.folder, check=True)
        self.write(".gitignore", "build/\n*.gen.yaml\n!kept.gen.yaml\n")
        for name in (".hidden/a.jobrun.yaml", ".b.jobrun.yaml",
                     "build/c.jobrun.yaml", "build/deep/train.yaml",
                     "d.gen.yaml", "runs/r1/spec.yaml", "kept.gen.yaml",
                     "sub/e.yaml", "sub/build/f.yaml", "tracked.gen.yaml"):
            self.write(name, self.BAD)
        self.write("runs/r1/run.json", "{}")
        subprocess.run(["git", "add", "-f", "tracked.gen.yaml"],
                       cwd=self.folder, check=True)
        for word in (".", "./", str(self.folder)):
            files, told = self.files(word)
            self.assertEqual(
                [name.replace(f"{self.folder}/", "") for name in files],
                ["kept.gen.yaml", "sub/e.yaml", "tracked.gen.yaml"])
            self.assertNotIn("passed over", told)
        # What is named itself is checked, wherever it lies.
        self.assertEqual(self.files("runs/r1")[0], ["runs/r1/spec.yaml"])
        self.assertEqual(self.files("build/c.jobrun.yaml")[0],
                         ["build/c.jobrun.yaml"])

    def test_fix_leaves_what_is_only_guessed(self):
        slip = "version: 1\nentrypoint: [./train]\nworld_sise: 4\n"
        self.write("d/a.jobrun.yaml", slip)
        self.write("d/chart.yaml", slip)
        self.jobrun("validate", "--fix", "d")
        self.assertIn("world_size", (self.folder / "d/a.jobrun.yaml")
                      .read_text())
        self.assertEqual((self.folder / "d/chart.yaml").read_text(), slip)


class WithoutMemory(harness.Case):
    def setUp(self):
        super().setUp()
        self.scarce = harness.preload(self, "SCARCE_LIBRARY")

    def scarce_jobrun(self, *words, **environment):
        return self.jobrun(*words, env={**self.scarce, **environment})

    def test_is_told_wherever_it_runs_out(self):
        spec = self.write("t.jobrun.yaml", HEAD + "world_size: 1\n"
                          "entrypoint: [true]\n")
        if os.environ.get("SANITIZED"):
            self.skipTest("the sanitizers have an allocator of their own")
        # Who holds the usual port is told by name.
        holder = self.start("-n", "1", "--", "sleep", "1000")
        self.await_event(event="rank_started", rank=0)
        for verb in "plan", "run":
            for number in itertools.chain(range(40), itertools.count(40, 17)):
                done = self.scarce_jobrun(verb, spec, "-s", f"log_dir=n{number}",
                                          SCARCE=str(number))
                if done.returncode == 0:
                    break
                self.assertIn(done.returncode, (3, 7), (number, done.stderr))
                self.assertIn("emory", done.stderr, number)
            self.assertGreater(number, 40)
        self.assertIsNone(holder.poll())


class WrongRuns(harness.Case):
    def test_no_such_program(self):
        spec = self.write("t.jobrun.yaml",
                          HEAD + "entrypoint: [./trian]\nworld_size: 4\n")
        done = self.expect(self.jobrun(spec), 7)
        self.assertIn("./trian", done.stderr)
        self.assertIn("No such file or directory", done.stderr)
        self.assertEqual(self.results()["status"], "launch_failed")

    def test_which_program_was_meant(self):
        self.write("bin/train", "#!/bin/sh\n").chmod(0o755)
        self.write("start.sh", "#!/bin/sh\n").chmod(0o755)
        for program, said in (
                ("bin/trian", "directory; did you mean 'bin/train'?"),
                (f"{self.folder}/bin/trian",
                 f"directory; did you mean '{self.folder}/bin/train'?"),
                ("bin/other", f"No such file or directory in {self.folder}   "),
                ("./bim", f"No such file or directory in {self.folder}   "),
                ("no/where", f"No such file or directory in {self.folder}   "),
                ("start.sh", "not found in PATH; did you mean './start.sh'?"),
                ("strat.sh", "not found in PATH   ")):
            with self.subTest(program=program):
                spec = self.write("t.jobrun.yaml", HEAD +
                                  f"entrypoint: [{program}]\nworld_size: 1\n")
                done = self.expect(self.jobrun(spec), 7)
                self.assertIn(f"could not execute '{program}': ", done.stderr)
                self.assertIn(said, done.stderr)

    def test_a_missing_result_is_named(self):
        spec = self.write("t.jobrun.yaml", shell(
            '[ "$RANK" = 1 ] || echo "{}" > "$JOBRUN_RESULT_FILE"',
            more="results: {required: all}\n"))
        done = self.expect(self.jobrun(spec), 5)
        self.assertIn("INCOMPLETE", done.stderr)
        self.assertRegex(done.stderr, r"rank 1 .*not written")
        states = [r["state"] for r in self.results()["ranks"]]
        self.assertEqual(states, ["succeeded", "incomplete", "succeeded"])

    def test_a_result_out_of_bounds_is_named(self):
        spec = self.write("t.jobrun.yaml", shell(
            'echo "{\\"accuracy\\": 0.$((9 - RANK * 4))}" '
            '> "$JOBRUN_RESULT_FILE"',
            more="results: {fields: {accuracy: {type: number, min: 0.5}}}\n"))
        done = self.expect(self.jobrun(spec), 5)
        self.assertIn("'accuracy' is 0.1, less than 0.5", done.stderr)

    def test_a_root_that_is_no_folder(self):
        spec = self.write("t.jobrun.yaml", shell("true"))
        for root in "absent", spec:
            for verb in "run", "validate", "plan":
                done = self.expect(
                    self.jobrun(verb, spec, "--root", root), 2)
                self.assertIn(f"--root wants a folder, and {root} is none",
                              done.stderr)
        self.assertFalse((self.folder / "runs").exists())

    def test_a_damaged_record_is_named(self):
        """By its whole path, whichever verb reads it."""
        folder = self.folder / "runs" / "damaged"
        folder.mkdir(parents=True)
        (folder / "run.json").write_text("{")
        for verb in "show", "rerun", "wait", "stop", "top":
            done = self.jobrun(verb, "damaged")
            self.assertIn(f"{folder}/run.json is damaged: line 1, ",
                          done.stderr, verb)
            self.assertNotEqual(done.returncode, 0)
        done = self.expect(self.jobrun("logs", "damaged"), 7)
        self.assertIn(f"{folder} has no plan.json", done.stderr)

    def test_a_log_dir_that_is_a_file(self):
        self.write("runs", "mine\n")
        spec = self.write("t.jobrun.yaml", shell("touch started"))
        done = self.expect(self.jobrun(spec), 7)
        self.assertIn("runs", done.stderr)
        self.assertEqual((self.folder / "runs").read_text(), "mine\n")
        self.assertFalse((self.folder / "started").exists())

    def test_a_taken_run_id_is_refused(self):
        spec = self.write("t.jobrun.yaml", shell("true"))
        self.expect(self.jobrun(spec, "--run-id", "one"), 0)
        before = self.results("one")
        done = self.expect(self.jobrun(spec, "--run-id", "one"), 7)
        self.assertIn("one", done.stderr)
        self.assertEqual(self.results("one"), before)

    def test_standard_output_closed(self):
        spec = self.write("t.jobrun.yaml", shell("echo hello"))
        process = self.start(spec, stdout=None,
                             preexec_fn=lambda: os.close(1))
        _, told = process.communicate(timeout=harness.LIMIT)
        self.assertEqual(process.returncode, 0, told)
        self.assertIn("standard output is closed", told)
        log = self.folder / "runs/latest/attempt_0/0/stdout.log"
        self.assertEqual(log.read_text(), "hello\n")

    def test_standard_output_full(self):
        spec = self.write("t.jobrun.yaml", shell("true"))
        with open("/dev/full", "w") as full:
            done = self.start("resolve", spec, stdout=full)
            _, told = done.communicate(timeout=harness.LIMIT)
        self.assertEqual(done.returncode, 7)
        self.assertIn("No space left", told)

    def test_a_reader_that_goes_away_ends_no_job(self):
        spec = self.write("t.jobrun.yaml", shell(
            "seq 100000\necho '{}' > \"$JOBRUN_RESULT_FILE\"",
            more="results: {required: all}\n"))
        process = self.start(spec)
        process.stdout.readline()
        process.stdout.close()
        told = process.stderr.read()
        self.assertEqual(process.wait(harness.LIMIT), 0, told)
        log = self.folder / "runs/latest/attempt_0/2/stdout.log"
        self.assertEqual(len(log.read_text().splitlines()), 100000)

    def test_a_full_disk_costs_a_warning_and_no_rank(self):
        disk = self.folder / "disk"
        disk.mkdir()
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=256k", "none", disk],
            capture_output=True)
        if mounted.returncode != 0:
            self.skipTest("may not mount a small file system here")
        self.addCleanup(subprocess.run, ["umount", "-l", disk])
        spec = self.write("t.jobrun.yaml", shell(
            "seq 100000", more=f"log_dir: {json.dumps(str(disk))}\n"))
        done = self.expect(self.jobrun(spec), 7)
        self.assertRegex(done.stderr, "incomplete|No space left")
        self.assertNotIn("FAILED: rank", done.stderr)

    def test_show_says_which_logs_are_not_whole_and_why(self):
        spec = self.write("t.jobrun.yaml", shell("seq 100000", n=2))
        done = self.start(spec, preexec_fn=lambda: resource.setrlimit(
            resource.RLIMIT_FSIZE, (300000, 300000)))
        _, told = done.communicate(timeout=harness.LIMIT)
        self.assertEqual(done.returncode, 7, told)
        why = "  the logs of rank 0 and 1 more are incomplete: File too large\n"
        self.assertIn(why, told)
        self.assertIn(why, self.jobrun("show").stdout)
        self.assertEqual([rank["log_errno"] for rank in
                          self.results()["ranks"]], [errno.EFBIG] * 2)

    def test_nothing_is_left_of_what_could_not_be_written_down(self):
        spec = self.write("t.jobrun.yaml", shell("true", n=1))
        for most in (0, 150, 1000):
            with self.subTest(most=most):
                done = self.start(
                    spec, "--run-id", "a", preexec_fn=lambda: resource.
                    setrlimit(resource.RLIMIT_FSIZE, (most, most)))
                _, told = done.communicate(timeout=harness.LIMIT)
                self.assertEqual(done.returncode, 7, told)
                self.assertIn("/runs: cannot write ", told)
                self.assertFalse((self.folder / "runs/a").exists())
        self.expect(self.jobrun(spec, "--run-id", "a"), 0)

    def test_twice_at_once(self):
        spec = self.write("t.jobrun.yaml", shell(
            'echo "port $MASTER_PORT"\n'
            'while [ ! -e go ]; do sleep 0.02; done', n=1))
        both = [self.start(spec), self.start(spec)]
        ports = {process.stdout.readline() for process in both}
        (self.folder / "go").touch()
        for process in both:
            _, told = process.communicate(timeout=harness.LIMIT)
            self.assertEqual(process.returncode, 0, told)
        self.assertEqual(len(ports), 2, ports)
        runs = [p for p in (self.folder / "runs").iterdir()
                if p.is_dir() and not p.is_symlink()]
        self.assertEqual(len(runs), 2)


class WithoutSpec(harness.Case):
    """Where the command line is all there is, advice is in its words."""

    def test_what_is_advised_works_when_typed(self):
        few = ["--on", "1x0,2c", "-n", "5"]
        for words, said, typed in (
                (few, "-s oversubscribe=true allows this",
                 [*few, "-s", "oversubscribe=true"]),
                (["-n", "1", "-s", "restart=hang"],
                 "say how often: --set restart=3",
                 ["-n", "1", "--set", "restart=3"]),
                (["-n", "1", "-s", "restart.on=[oom]"], "--set restart.max=3",
                 ["-n", "1", "-s", "restart.on=[oom]", "--set",
                  "restart.max=3"]),
                (["-n", "1", "-s", "engine=slurm"],
                 "write --set 'engine.slurm={}'",
                 ["-n", "1", "--set", "engine.slurm={}"])):
            with self.subTest(words=words):
                done = self.jobrun("plan", *words, "--", "true")
                self.assertIn(f"help: {said}\n", done.stderr)
                done = self.expect(self.jobrun("plan", *typed, "--", "true"), 0)
                self.assertEqual(done.stderr, "")


class WrongUsage(harness.Case):
    def test_the_line_that_is_told_works_when_typed(self):
        self.write("t.yaml", "version: 1\nentrypoint: ['true']\n")
        for words, typed in (
                ("t.yaml --wait inf", "jobrun t.yaml --wait"),
                ("--wait=inf t.yaml", "--wait alone"),
                ("t.yaml --wait 5m", "jobrun t.yaml --wait=5m"),
                ("--wait 5m t.yaml", "jobrun --wait=5m t.yaml"),
                ("plan -n 2 t.yaml -s name=x",
                 "jobrun plan -s world_size=2 t.yaml -s name=x"),
                ("plan -n t.yaml", "jobrun plan t.yaml"),
                ("plan t.yaml -v -s name=x", "jobrun plan t.yaml -s name=x"),
                ("plan t.yaml ~labels", "jobrun plan t.yaml -s labels=null"),
                ("A=1 t.yaml", "jobrun -s env.A=1 t.yaml")):
            with self.subTest(words=words):
                done = self.expect(self.jobrun(*words.split()), 2)
                self.assertIn(typed, done.stderr)
                if typed.startswith("jobrun "):
                    self.expect(self.jobrun(*shlex.split(typed)[1:]), 0)

    def test_a_run_elsewhere_is_offered_with_its_folder(self):
        self.write("t.yaml", "version: 1\nentrypoint: ['true']\n"
                   "log_dir: logs x\nworld_size: 1\n")
        self.expect(self.jobrun("t.yaml", "--run-id", "r"), 0)
        self.expect(self.jobrun("t.yaml", "--run-id", "s", "--sweep",
                                "env.A=1,2"), 0)
        there = "--log-dir", "logs x"
        for words, told, status in (
                (["stop", "r"], r"ended: succeeded \((jobrun .*)\)$", 0),
                (["stop", "s"], r"already ended \((jobrun .*)\)$", 0),
                (["logs", "s"], r"of them, (jobrun .*);", 2),
                (["logs", "s"], r"`(jobrun .*)` lists", 2),
                (["show", "s", "--stacks"], r"cells, (jobrun .*);", 2),
                (["logs", "s/9"], r"\((jobrun .*) lists them\)", 2),
                (["logs", "r", "0"], r"ranks: (jobrun .*)\)", 2),
                (["diff", "r", "s"], r"`(jobrun .*)` lists", 2)):
            with self.subTest(words=words, told=told):
                done = self.expect(self.jobrun(*words, *there), status)
                found = re.search(told, done.stderr, re.M)
                self.assertTrue(found, done.stderr)
                self.expect(self.jobrun(*shlex.split(found[1])[1:]), 0)

    def test_usage(self):
        for words, said in (
                ([], "no spec is given"),
                (["validate"], "no spec is given"),
                (["--formt", "x"], "did you mean '--format'?"),
                (["validate", "--follow", "x"], "no option --follow"),
                (["-n", "x", "--", "true"], "whole number"),
                (["-n", "0", "--", "true"], "at least 1"),
                (["-n", "2", "t.yaml"], "world_size"),
                (["shw", "--format", "json"], "did you mean 'jobrun show'?"),
                (["zzz"], "neither a verb nor a file; see jobrun --help"),
                (["submit", "t.yaml", "mpi"],
                 "jobrun render t.yaml --engine mpi | sh\n"),
                (["submit", "t.yaml", "pbs"], "--engine wants slurm; "
                 "type: jobrun submit t.yaml --engine slurm\n"),
                ([""], "'' is neither a verb nor a file"),
                (["validate", "--format", "xml", "x"], "human, short, json")):
            with self.subTest(words=words):
                done = self.expect(self.jobrun(*words), 2)
                self.assertIn(said, done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)


if __name__ == "__main__":
    harness.main()
