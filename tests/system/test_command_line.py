"""Command lines as people mistype them: each is answered with what to type
instead, and nothing is started."""
import re
import shlex
import shutil

import harness

SPEC = "version: 1\ndevice: cpu\nworld_size: 1\nentrypoint: [echo, a]\n"


class Case(harness.Case):
    def setUp(self):
        super().setUp()
        self.write("train.jobrun.yaml", SPEC)

    def refused(self, *words):
        """What is said of a command line that starts nothing."""
        done = self.expect(self.jobrun(*words), 2)
        self.assertEqual(done.stdout, "")
        self.assertFalse((self.folder / "runs").exists())
        return done.stderr

    def offered(self, *words):
        """The words of the line that is offered instead; it works."""
        line = self.refused(*words).splitlines()[1]
        typed = shlex.split(line[line.index("jobrun "):])
        self.assertEqual(typed[0], "jobrun")
        return typed[1:]


class ForgottenDashes(Case):
    def test_a_command(self):
        self.assertEqual(
            self.refused("-n", "4", "python3", "train.py"),
            "jobrun: a command stands behind `--`:\n"
            "        jobrun -n 4 -- python3 train.py\n")

    def test_what_is_offered_runs(self):
        for typed, printed in (
                (["-n", "1", "echo", "b", "--epochs", "3"], "b --epochs 3"),
                (["-n", "1", "echo", "it's $HOME", "--help"],
                 "it's $HOME --help"),
                (["-n", "1", "--color=never", "sh", "-c", "echo $0 $1", "--",
                  "x"], "-- x"),
                (["train.jobrun.yaml", "--epochs", "3"], "a --epochs 3"),
                (["train.jobrun.yaml", "-e", "3", "--", "4"], "a -e 3 4"),
                (["run", "train.jobrun.yaml", "--local", "b", "--local"],
                 "a b --local"),
                (["train.jobrun.yaml", "--rank", "3"], "a --rank 3"),
                (["train.jobrun.yaml", "--debgu", "3"], "a --debgu 3")):
            with self.subTest(typed):
                done = self.expect(self.jobrun(*self.offered(*typed)), 0)
                self.assertEqual(done.stdout, f"[0] {printed}\n")
                shutil.rmtree(self.folder / "runs")

    def test_a_command_in_quotes(self):
        for command, line in (
                ("echo a --lr 1", "jobrun -n 1 -- echo a --lr 1"),
                ("echo a && echo b", "jobrun -n 1 -- sh -c 'echo a && echo b'"),
                ("echo $RANK", "jobrun -n 1 -- sh -c 'echo $RANK'")):
            done = self.expect(self.jobrun("-n", "1", "--", command), 7)
            self.assertEqual(done.stderr, f"jobrun: '{command}' is one word, and "
                             f"no program; type:\n        {line}\n")
            self.expect(self.jobrun(*shlex.split(line)[1:]), 0)
        self.write("a b", "#!/bin/sh\n").chmod(0o755)
        self.expect(self.jobrun("-n", "1", "--", "./a b"), 0)

    def test_settings_as_others_type_them(self):
        for words, line in (
                (["-s", "world_size", "=", "4", "train.jobrun.yaml"],
                 "type -s world_size=4"),
                (["-s", "world_size", "=4", "train.jobrun.yaml"],
                 "type -s world_size=4"),
                (["LR=1", "train.jobrun.yaml"],
                 "type: jobrun -s env.LR=1 train.jobrun.yaml"),
                (["run", "-v", "train.jobrun.yaml"],
                 "leave it out: jobrun run train.jobrun.yaml"),
                (["train.jobrun.yaml", "--inject", "kill 0"],
                 "did you mean 'kill:0'?"),
                (["-n=4", "--", "true"], "type -n 4"),
                (["train.jobrun.yaml", "--on", "1x8"],
                 "type jobrun plan SPEC --on PROFILE"),
                (["apply", "-f", "train.jobrun.yaml"],
                 "        jobrun run train.jobrun.yaml"),
                (["explain", "restart.retries"],
                 "did you mean 'restart.max'?"),
                (["show"], "no runs in runs")):
            done = self.jobrun(*words)
            self.assertIn(done.returncode, (2, 3), words)
            self.assertIn(line, done.stderr)
            self.assertNotIn("did you mean latest", done.stderr)

    def test_words_of_a_shell_are_no_program(self):
        """They are told before the launch fails."""
        for words, said in (
                (["LR=3", "./train"], "'LR=3' is a variable for a shell, not a "
                 "program\n*help: type it before `--`: -s env.LR=3"),
                (["cd", "/x"], "'cd' is a command of the shell's own, not a "
                 "program\n*help: type the whole as a text: -- sh -c TEXT"),
                (["source", "env.sh"], "'source' is a command of the shell's "
                 "own")):
            done = self.expect(self.jobrun("-n", "1", "--", *words), 7)
            for part in said.split("*"):
                self.assertIn(part, done.stderr)

    def test_a_program_is_no_spec(self):
        self.write("tool", "#!/bin/sh\necho \"$RANK of $WORLD_SIZE $*\"\n")
        (self.folder / "tool").chmod(0o700)
        self.write("train.py", "import sys\nprint('here', *sys.argv[1:])\n")
        for typed in (["./tool", "x"], ["sh", "./tool", "x"]):
            offered = self.offered(*typed)
            self.assertEqual(offered, ["-n", "2", "--", *typed])
        self.assertEqual(self.offered("train.py", "--lr", "3"),
                         ["-n", "2", "--", "python3", "train.py", "--lr", "3"])

    def test_a_script_that_is_no_program(self):
        self.write("train.py", "import sys\nprint('here', *sys.argv[1:])\n")
        for script in "train.py", "./train.py":
            for head in ["-n", "2"], ["-n", "2", "-s", "name=x"], ["run"]:
                done = self.expect(
                    self.jobrun(*head, "--", script, "--lr", "--"), 7)
                self.assertEqual(
                    done.stderr, f"jobrun: '{script}' is a Python script, not "
                    f"a program; type:\n        jobrun {' '.join(head)} -- "
                    f"python3 {script} --lr --\n")
                self.assertFalse((self.folder / "runs").exists())
        (self.folder / "train.py").write_text("#!/bin/sh\necho $1\n")
        (self.folder / "train.py").chmod(0o700)
        done = self.expect(self.jobrun("-n", 1, "--", "./train.py", "a"), 0)
        self.assertEqual(done.stdout, "[0] a\n")

    def test_ranks_behind_a_command(self):
        self.write("train.py", "print('trained')\n")
        for typed, offered in (
                (["echo", "b", "-n", "1"], ["-n", "1", "--", "echo", "b"]),
                (["plan", "./a b", "-n2"],
                 ["plan", "-n", "2", "--", "./a b"]),
                (["-n", "1", "train.py", "x"],
                 ["-n", "1", "--", "python3", "train.py", "x"])):
            with self.subTest(typed):
                self.assertEqual(self.offered(*typed), offered)
        done = self.expect(self.jobrun(*offered), 0)
        self.assertEqual(done.stdout, "[0] trained\n")

    def test_an_executable_spec_is_one(self):
        path = self.write("spec", "#!/usr/bin/env jobrun\n" + SPEC)
        path.chmod(0o700)
        self.expect(self.jobrun("./spec"), 0)

    def test_two_specs(self):
        self.write("other.yaml", SPEC)
        self.assertIn("give one spec only: what is 'other.yaml'?",
                      self.refused("train.jobrun.yaml", "other.yaml"))

    def test_ranks_of_a_spec(self):
        said = self.refused("-n", "3", "train.jobrun.yaml")
        typed = shlex.split(said.split("type: jobrun ")[1])
        self.expect(self.jobrun(*typed), 0)
        self.assertEqual(self.results()["world_size"], 3)

    def test_help_behind_a_spec_is_jobruns(self):
        done = self.expect(self.jobrun("train.jobrun.yaml", "--help"), 0)
        self.assertIn("usage: jobrun ", done.stdout)


class Suggestions(Case):
    def test_each_mistake(self):
        for typed, said in (
                ("validate --strict=yes train.jobrun.yaml",
                 "--strict takes no value, such as 'yes'; type --strict"),
                ("validate --strict=no train.jobrun.yaml",
                 "--strict takes no value, such as 'no'; leave it out"),
                ("train", "did you mean 'jobrun train.jobrun.yaml'?"),
                ("train.jobrun.yaml vars.lr=0.1 lr=3 +vars.x=1",
                 "-s sets a field; type:\n        jobrun train.jobrun.yaml -s "
                 "vars.lr=0.1 -s vars.lr=3 -s +vars.x=1\n        or, if it is "
                 "the job's: jobrun train.jobrun.yaml -- vars.lr=0.1 lr=3 "
                 "+vars.x=1\n"),
                ("train.jobrun.yaml -s vars.lr=1 vars.b=2",
                 "type:\n        jobrun train.jobrun.yaml -s vars.lr=1 -s "
                 "vars.b=2\n        or, if it is the job's: jobrun "
                 "train.jobrun.yaml -s vars.lr=1 -- vars.b=2\n"),
                ("train.jobrun.yaml ~vars.lr", "null leaves it out; type: "
                 "jobrun train.jobrun.yaml -s vars.lr=null\n"),
                ("-v a:b train.jobrun.yaml",
                 "leave it out: jobrun train.jobrun.yaml\n"),
                ("up", "type:\n        jobrun run train.jobrun.yaml\n"),
                ("up -d", "type:\n        jobrun run train.jobrun.yaml\n"),
                ("rerun latest vars.lr=2", "a run is repeated as it was; to "
                 "change it, type: jobrun SPEC -s vars.lr=2\n"),
                ("new train.yaml", "type: jobrun new -o train.yaml\n"),
                ("new pytorch", "did you mean 'jobrun new torch'?"),
                ("render train.jobrun.yaml", "--engine wants slurm, "
                 "kubernetes or mpi; type: jobrun render train.jobrun.yaml "
                 "--engine slurm"),
                ("render train.jobrun.yaml mpi",
                 "type: jobrun render train.jobrun.yaml --engine mpi"),
                ("render train.jobrun.yaml --engine k8s",
                 "type: jobrun render train.jobrun.yaml --engine kubernetes"),
                ("render --engine slurm", "type: jobrun render --engine slurm "
                 "train.jobrun.yaml\n"),
                ("new torch t.yaml", "type: jobrun new torch -o t.yaml"),
                ("new --from torchrun train.py",
                 "type: jobrun new --from 'torchrun train.py'"),
                ("-n 2", "-n wants a command behind `--`: jobrun -n 2 -- "),
                ("plan", "no spec is given; for the one that is here, type: "
                 "jobrun plan train.jobrun.yaml\n"),
                ("plan -s vars.a=b", "type: jobrun plan -s vars.a=b "
                 "train.jobrun.yaml\n"),
                ("plan --", "no spec is given: jobrun plan SPEC, or"),
                ("prune --older 30days", "type --older 30d\n"),
                ("prune --older 2weeks", "type --older 14d\n"),
                ("prune --older 30", "a time with its unit, such as 30d"),
                ("completion fihs", "did you mean 'jobrun completion fish'?"),
                ("diff train.jobrun.yaml trian.jobrun.yaml", "there is no file "
                 "'trian.jobrun.yaml'; did you mean 'train.jobrun.yaml'?"),
                ("new torhc", "did you mean 'jobrun new torch'?"),
                ("new tensorflow", "there are minimal, torch, python"),
                ("render train.jobrun.yaml --engine slrum",
                 "did you mean 'slurm'?"),
                ("runs --format jsn", "did you mean 'json'?"),
                ("help rnu", "did you mean 'jobrun help run'?"),
                ("help world_size", "jobrun explain the fields"),
                ("help run plan", "help takes one verb: what is 'plan'?"),
                ("doctor now", "doctor takes no argument: what is 'now'?"),
                ("version 1", "version takes no argument: what is '1'?"),
                ("schema -- x", "schema takes no argument: what is 'x'?"),
                ("train.jobrun.yaml --explain", "(resolve has it)")):
            with self.subTest(typed):
                self.assertIn(said, self.refused(*typed.split()))

    def test_a_spec_that_is_not_there(self):
        for verb in "run", "plan", "validate", "resolve":
            for name in "train", "trian.jobrun.yaml", "train.yaml":
                with self.subTest(verb=verb, name=name):
                    done = self.expect(self.jobrun(verb, name), 3)
                    self.assertIn(f"{name}: error[JR0101]: there is no such "
                                  "file\n     help: did you mean "
                                  "'train.jobrun.yaml'?\n",
                                  done.stdout + done.stderr)
        done = self.expect(self.jobrun("plan", "elsewhere.yaml"), 3)
        self.assertNotIn("did you mean", done.stderr)

    def test_a_folder_is_no_spec(self):
        done = self.expect(self.jobrun("plan", "."), 3)
        self.assertIn("help: did you mean 'train.jobrun.yaml'?", done.stderr)
        self.write("more/a.jobrun.yml", SPEC)
        done = self.expect(self.jobrun("plan", "more"), 3)
        self.assertIn("help: did you mean 'more/a.jobrun.yml'?", done.stderr)
        self.write("b.jobrun.yaml", SPEC)
        done = self.expect(self.jobrun("plan", "."), 3)
        self.assertNotIn("did you mean", done.stderr)
        self.assertIn("no spec is given: jobrun plan SPEC, or",
                      self.refused("plan"))
        self.expect(self.jobrun("-n", "1", "--run-id", "r", "--", "true"), 0)
        done = self.expect(self.jobrun("runs/r"), 2)
        self.assertIn("'runs/r' is a run, not a spec; to run it again, type: "
                      "jobrun rerun runs/r\n", done.stderr)

    def test_a_run_that_is_not_there(self):
        self.assertEqual(self.refused("show", "nope"),
                         "jobrun: no runs in runs (--log-dir DIR: another "
                         "folder)\n")
        ids = [f"r{i}" for i in range(6)]
        for name in ids[:2]:
            self.expect(self.jobrun("-n", "1", "--run-id", name, "--", "true"),
                        0)
        for verb in "show", "logs", "report", "wait", "stop", "top", "rerun":
            done = self.expect(self.jobrun(verb, "nope"), 2)
            self.assertIn("jobrun: no run 'nope' in runs; the runs are:\n",
                          done.stderr)
            self.assertEqual(self.listed(done.stderr), ["r1", "r0"])
        for name in ids[2:]:
            self.expect(self.jobrun("-n", "1", "--run-id", name, "--", "true"),
                        0)
        done = self.expect(self.jobrun("show", "nope"), 2)
        self.assertIn("; the newest are:\n", done.stderr)
        self.assertEqual(self.listed(done.stderr), ids[:0:-1])
        done = self.expect(self.jobrun("show", "r"), 2)
        self.assertEqual(self.listed(done.stderr), ids[:0:-1])
        self.assertIn("jobrun: 'r' is the beginning of 6 runs; the newest "
                      "are:\n", done.stderr)
        for words, said in (
                ("show latset", "no run 'latset' in runs (did you mean "
                 "latest?); the newest are:"),
                ("show last", "(did you mean latest?)"),
                ("logs 0", "(rank 0: jobrun logs latest --rank 0)"),
                ("show 0", "no run '0' in runs; the newest are:"),
                ("logs r1 3-4", "(ranks: jobrun logs r1 --rank 3-4)"),
                ("logs r1 r2", "give one run only: what is 'r2'?\n"),
                ("show train.jobrun.yaml", "(that is a spec; a run is called "
                 "by its id)"),
                ("show r1 --attempt 3", "run 'r1' has no attempt 3: the last "
                 "one is 0\n")):
            with self.subTest(words):
                done = self.expect(self.jobrun(*words.split()), 2)
                self.assertIn(said, done.stderr)

    def test_records_that_are_broken(self):
        for name in "r1", "r2", "r3":
            self.expect(self.jobrun("-n", "1", "--run-id", name, "--", "true"),
                        0)
        (self.folder / "runs/r1/run.json").unlink()
        (self.folder / "runs/r2/results.json").write_text('{"a":')
        done = self.expect(self.jobrun("show", "r1"), 2)
        self.assertIn("'r1' in runs is not known as a run: it has no run.json; "
                      "the runs are:", done.stderr)
        done = self.expect(self.jobrun("show", "r2"), 7)
        self.assertRegex(done.stderr, r"^jobrun: \S.*/runs/r2/results.json is "
                                      r"damaged: line 1, ")

    @staticmethod
    def listed(text):
        return re.findall(r"^succeeded .* (\S+)$", text, re.M)


class HelpAndVersion(Case):
    def printed(self, *words):
        return self.expect(self.jobrun(*words), 0).stdout

    def verbs(self, *words):
        rows = self.printed(*words).split("\nverbs:\n")[1].split("\n\n")[0]
        return re.findall(r"^  (\w+)", rows, re.M)

    def test_help_is_help(self):
        for typed in (["-h"], ["--help"]):
            self.assertEqual(self.printed(*typed), self.printed("help"))
        self.assertEqual(self.printed("help", "run"),
                         self.printed("run", "--help"))
        self.assertEqual(self.printed("help", "agent"),
                         self.printed("agent", "-h"))
        self.assertEqual(self.printed("help", "help"),
                         self.printed("help", "--help"))

    def test_a_beginner_sees_no_agent(self):
        few, all_ = self.verbs("help"), self.verbs("help", "--all")
        self.assertEqual(sorted(set(all_) - set(few)), ["agent"])
        self.assertEqual(self.verbs("--help", "--all"), all_)
        self.assertIn("`jobrun help --all`", self.printed("help"))
        self.expect(self.jobrun("run", "--all"), 2)

    def test_versions(self):
        told = self.printed("--version")
        self.assertRegex(told, r"^jobrun \d+\.\d+\.\d+\n$")
        for typed in (["version"], ["-v"], ["-V"], ["run", "-v"]):
            self.assertEqual(self.printed(*typed), told)

    def test_dashes_only_end_the_options(self):
        self.write("-odd.jobrun.yaml", SPEC)
        self.expect(self.jobrun("validate", "--", "-odd.jobrun.yaml"), 0)
        self.expect(self.jobrun("-n", "1", "--run-id", "one", "--", "true"), 0)
        self.assertIn("succeeded", self.printed("show", "--", "one"))


if __name__ == "__main__":
    harness.main()
