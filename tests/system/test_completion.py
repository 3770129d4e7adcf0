"""What a command line could go on with: as jobrun answers, and as bash, zsh
and fish show it. A shell that is not installed is a skipped test."""
import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import time

import harness

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "completions"


class Case(harness.Case):
    """A folder with specs, and with runs that have run."""

    def setUp(self):
        super().setUp()
        for name in ("train.jobrun.yaml", "other.yaml", "notes.txt",
                     "a b.jobrun.yaml", "specs/deep.jobrun.yaml"):
            self.write(name, "")
        for run in ("one", "two", "odd name", "odd\tname"):
            self.write(f"runs/{run}/run.json", "{}")
            self.write(f"elsewhere/{run}-there/run.json", "{}")
        for name in "bin/probe-tool", "run_me":
            self.write(name, "#!/bin/sh\n").chmod(0o755)
        self.write("run_not", "")

    def offers(self, *words):
        done = self.jobrun("completion", "bash", "--", *words)
        self.expect(done, 0)
        return [line.split("\t")[0] for line in done.stdout.splitlines()]

    def options(self, verb):
        """Every option that the help of a verb lists."""
        text = self.expect(self.jobrun(verb, "--help"), 0).stdout
        return re.findall(r"^  (?:-\w,|   ) (--[a-z-]+)", text, re.M)

    def verbs(self):
        text = self.expect(self.jobrun("--help"), 0).stdout
        rows = text.split("\nverbs:\n")[1].split("\n\n")[0]
        return re.findall(r"^  (\w+)", rows, re.M)


class Answers(Case):
    def test_verbs_and_specs_come_first(self):
        self.assertEqual(self.offers(""), self.verbs() + ["@spec"])
        self.assertEqual(self.offers("res"), ["resolve", "@spec"])
        self.assertEqual(self.offers("--color", "never", "val"),
                         ["validate", "@spec"])
        self.assertEqual(self.offers("train.jobrun.yaml", "val"), [])

    def test_options_are_those_of_the_verb(self):
        for verb in self.verbs():
            with self.subTest(verb):
                self.assertEqual(self.offers(verb, "-"), self.options(verb))
        self.assertEqual(self.offers("validate", "--str"), ["--strict"])
        self.assertEqual(self.offers("--lo"), ["--local", "--locked"])

    def test_formats_are_those_that_the_verb_takes(self):
        for verb in self.verbs():
            if "--format" not in self.options(verb):
                continue
            with self.subTest(verb):
                done = self.jobrun(verb, "--format", "nonsense",
                                   *(["x"] if verb == "validate" else []))
                self.expect(done, 2)
                known = done.stderr.split(", which has ")[1].strip().split(", ")
                self.assertEqual(self.offers(verb, "--format", ""), known)
                self.assertEqual(self.offers(verb, "--format="),
                                 ["--format=" + word for word in known])

    def test_values_follow_their_options(self):
        for words, offers in (
                (("--color", ""), ["auto", "always", "never"]),
                (("plan", "--color=n"), ["--color=never"]),
                (("completion", "z"), ["zsh"]),
                (("plan", "--on", ""), ["@file"]),
                (("plan", "--on="), ["@file"]),
                (("runs", "--log-dir", ""), ["@folder"]),
                (("-n", "4", "--", ""), ["@command"]),
                (("-n", "4", "--", "py"), ["@command"]),
                (("plan", "-n4", "--", "--x"), ["@command"]),
                (("-n", "4", "--", "sh", "-"), ["@arguments"]),
                (("--", "python3", "--", "a", ""), ["@arguments"]),
                (("a.yaml", "--", ""), ["@file"]),
                (("run", "a.yaml", "--", "x", "-"), ["@file"]),
                (("validate", "--", ""), ["@spec", "@folder"]),
                (("show", "--", "t"), ["two"]),
                (("show", "--", "two", ""), []),
                (("help", "va"), ["validate"]),
                (("ag",), ["agent", "@spec"]),
                (("--strict=",), []),
                (("--nonsense", "va"), ["validate", "@spec"]),
                (("-n", ""), []),
                (("-n4", "val"), ["validate", "@spec"]),
                (("plan", ""), ["@spec"]),
                (("plan", "a.yaml", ""), []),
                (("validate", "a", "b", ""), ["@spec", "@folder"]),
                (("schema", ""), [])):
            with self.subTest(words):
                self.assertEqual(self.offers(*words), offers)

    def test_runs_are_those_of_the_folder(self):
        self.assertEqual(sorted(self.offers("show", "")),
                         ["latest", "one", "two"])
        self.assertEqual(self.offers("logs", "t"), ["two"])
        for words in (("--log-dir", "elsewhere"), ("--log-dir=elsewhere",)):
            self.assertEqual(self.offers("logs", *words, "t"), ["two-there"])
        self.assertEqual(self.offers("show", "--log-dir", "absent", ""), [])

    def test_explain_knows_fields_and_codes(self):
        self.assertEqual(self.offers("explain", "parallelism."),
                         ["parallelism.model", "parallelism.pipeline",
                          "parallelism.data"])
        self.assertIn("JR0310", self.offers("explain", "JR03"))
        self.assertEqual(self.offers("explain", "results.fields.*.mi"),
                         ["results.fields.*.min"])
        for word in self.offers("explain", ""):
            if word[0] != "@":
                self.expect(self.jobrun("explain", word), 0)

    def test_fields_can_be_set(self):
        if "--set" not in self.options("run"):
            self.skipTest("there is no --set yet")
        for option in ("-s", "--set"):
            self.assertEqual(self.offers("run", option, "world"),
                             ["world_size="])
            self.assertEqual(self.offers(option, "start_method=sp"),
                             ["start_method=spawn"])
            self.assertEqual(self.offers(option, "device=cu"), ["device=cuda"])
            self.assertEqual(self.offers(option, "oversubscribe="),
                             ["oversubscribe=true", "oversubscribe=false"])
            self.assertEqual(self.offers(option, "world_size="),
                             ["world_size=auto"])
            self.assertNotIn("*", "".join(self.offers(option, "")))

    def test_usage(self):
        for words in ((), ("tcsh",), ("bash", "zsh"), ("tcsh", "--", "x")):
            done = self.expect(self.jobrun("completion", *words), 2)
            self.assertIn("bash, zsh or fish", done.stderr)
        self.assertEqual(self.jobrun("completion", "bash", "--").returncode, 0)

    def test_the_scripts_are_those_that_are_installed(self):
        for shell in ("bash", "zsh", "fish"):
            done = self.expect(self.jobrun("completion", shell), 0)
            self.assertEqual(done.stdout,
                             (SCRIPTS / f"jobrun.{shell}").read_text())


class Shell(Case):
    def need(self, shell):
        path = shutil.which(shell)
        if path is None:
            self.skipTest(f"{shell} is not installed")
        return path

    def environment(self):
        folder = os.path.dirname(os.path.abspath(harness.JOBRUN))
        return harness.clean_environment(
            PATH=os.pathsep.join((folder, str(self.folder / "bin"),
                                  os.environ["PATH"])), PS1="> ",
            HOME=str(self.folder), HISTFILE="/dev/null")

    def ask(self, *command):
        done = subprocess.run(
            command, cwd=self.folder, env=self.environment(), text=True,
            stdin=subprocess.DEVNULL, capture_output=True,
            timeout=harness.LIMIT)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout.splitlines()


class Bash(Shell):
    # The function as readline calls it, with what it put into COMPREPLY.
    PROGRAM = r"""
source <(jobrun completion bash)
COMP_LINE=$1 COMP_POINT=${#1}
_jobrun
for word in "${COMPREPLY[@]}"; do printf '%s\n' "$word"; done
"""

    def reply(self, line):
        return self.ask(self.need("bash"), "--norc", "--noprofile", "-c",
                        self.PROGRAM, "bash", line)

    def test_reply(self):
        for line, reply in (
                ("jobrun val", ["validate"]),
                ("jobrun validate --format git", ["github", "gitlab"]),
                ("jobrun plan --format=j", ["json"]),
                ("jobrun plan ", ["a b.jobrun.yaml", "train.jobrun.yaml", "bin",
                                  "elsewhere", "runs", "specs"]),
                ("jobrun plan t", ["train.jobrun.yaml"]),
                ("jobrun plan o", ["other.yaml"]),
                ("jobrun plan --on=n", ["notes.txt"]),
                ("jobrun runs --log-dir e", ["elsewhere"]),
                ("jobrun show t", ["two"]),
                ("jobrun explain parallelism.m", ["parallelism.model"]),
                ("jobrun -n 2 -- probe-", ["probe-tool"]),
                ("jobrun -n 2 -- compge", []),
                ("jobrun -n 2 -- _jobr", []),
                ("jobrun -n 2 -- ./ru", ["./run_me", "./runs"]),
                ("jobrun -n 2 -- probe-tool no", ["notes.txt"]),
                ("jobrun -n 2 -- probe-tool --on=no", ["notes.txt"]),
                ("jobrun train.jobrun.yaml -- no", ["notes.txt"]),
                ("no-such-program val", [])):
            with self.subTest(line):
                self.assertEqual(sorted(self.reply(line)), sorted(reply))


class Fish(Shell):
    def complete(self, line):
        rows = self.ask(self.need("fish"), "--no-config", "-c",
                        "jobrun completion fish | source\n"
                        "complete -c test-arguments -f -a 'this that'\n"
                        "complete --do-complete $argv", line)
        return [row.split("\t")[0] for row in rows]

    def test_complete(self):
        for line, offers in (
                ("jobrun val", ["validate"]),
                ("jobrun plan --format=j", ["--format=json"]),
                ("jobrun plan t", ["train.jobrun.yaml"]),
                ("jobrun plan --on=n", ["--on=notes.txt"]),
                ("jobrun runs --log-dir e", ["elsewhere/"]),
                ("jobrun show t", ["two"]),
                ("jobrun -n 2 -- probe-", ["probe-tool"]),
                ("jobrun -n 2 -- __jobrun", []),
                ("jobrun -n 2 -- ./run_", ["./run_me"]),
                ("jobrun -n 2 -- probe-tool no", ["notes.txt"]),
                ("jobrun -n 2 -- test-arguments th", ["that", "this"]),
                ("jobrun train.jobrun.yaml -- no", ["notes.txt"]),
                ("jobrun explain parallelism.m", ["parallelism.model"])):
            with self.subTest(line):
                self.assertEqual(self.complete(line), offers)


class Terminal(Shell):
    """A shell with a terminal, as a person types into it."""

    def open(self, *command):
        child, self.shell = pty.fork()
        if child == 0:
            os.chdir(self.folder)
            os.execvpe(command[0], command, self.environment())
        self.addCleanup(self.close, child)
        self.seen = ""

    def close(self, child):
        os.close(self.shell)  # the shell is hung up
        os.waitpid(child, 0)

    def type(self, keys):
        self.seen = ""
        os.write(self.shell, keys.encode())

    def until(self, text):
        end = time.monotonic() + harness.LIMIT
        while text not in self.seen:
            left = end - time.monotonic()
            ready = left > 0 and select.select([self.shell], [], [], left)[0]
            self.assertTrue(ready, f"no {text!r} in {self.seen!r}")
            self.seen += os.read(self.shell, 65536).decode(errors="replace")

    def try_keys(self):
        for typed, line in (
                ("jobrun vali", "jobrun validate "),
                ("jobrun plan --format=j", "jobrun plan --format=json "),
                ("jobrun plan tr", "jobrun plan train.jobrun.yaml "),
                ("jobrun plan a", "jobrun plan a\\ b.jobrun.yaml "),
                ("jobrun plan --on=n", "jobrun plan --on=notes.txt "),
                ("jobrun show tw", "jobrun show two "),
                ("jobrun -n 2 -- probe-", "jobrun -n 2 -- probe-tool "),
                ("jobrun -n 2 -- ./run_m", "jobrun -n 2 -- ./run_me "),
                ("jobrun -n 2 -- probe-tool no",
                 "jobrun -n 2 -- probe-tool notes.txt "),
                ("jobrun plan -n 2 -- sh no", "sh notes.txt "),
                ("jobrun help vali", "jobrun help validate "),
                ("true; jobrun sho", "true; jobrun show ")):
            with self.subTest(typed):
                self.type("\x15" + typed + "\t")
                self.until(line)

    def test_bash(self):
        self.open(self.need("bash"), "--norc", "--noprofile", "-i")
        self.type("source <(jobrun completion bash); echo rea''dy\n")
        self.until("ready")
        self.try_keys()

    def test_zsh(self):
        self.open(self.need("zsh"), "-f", "-i")
        self.type("autoload -U compinit; compinit -u -D; "
                  "source <(jobrun completion zsh); echo rea''dy\n")
        self.until("ready")
        self.try_keys()


if __name__ == "__main__":
    harness.main()
