"""plan says what the launch will miss on this machine, and starts nothing."""
import os
import shutil
import subprocess
import sys
import unittest

import harness

HEAD = "version: 1\nworld_size: 2\ndevice: cpu\n"


class Preflight(harness.Case):
    def setUp(self):
        super().setUp()
        self.write("done.py", "print('done')\n")
        self.write("file", "")
        self.program("works", "#!/bin/sh\necho works\n")

    def program(self, name, text):
        path = self.write(name, text)
        path.chmod(0o755)
        return path

    def plan(self, text, *words, code=4):
        """The plan of a spec, and what is said below it."""
        self.write("job.jobrun.yaml", HEAD + text)
        done = self.expect(self.jobrun("plan", "job.jobrun.yaml", *words), code)
        self.assertIn("rank  local", done.stdout)
        self.assertEqual(set(os.listdir(self.folder)) & {"runs"}, set())
        return done.stderr

    def test_what_is_there_is_no_finding(self):
        for text in ("entrypoint: [./works]\n", "entrypoint: [echo, hello]\n",
                     "entrypoint: {shell: no-such-program}\n",
                     "entrypoint: {python: {script: done.py}}\n",
                     "entrypoint: [./works]\nworkdir: '%{rank_dir}'\n",
                     "entrypoint: [./works]\nlog_dir: a/b/c\n"
                     "results: {file: 'new/%{rank}.json', "
                     "artifacts: ['new/%{rank}/x', '%{rank_dir}/y']}\n"):
            self.assertEqual(self.plan(text, code=0), "", text)
        self.expect(self.jobrun("plan", "-n", "2", "--", "echo"), 0)

    def test_programs(self):
        self.write("plain.sh", "#!/bin/sh\n")
        self.program("windows", "#!/bin/sh\r\necho x\r\n")
        self.program("misspelt", "#!/bin/bahs\n")
        self.program("looked-up", "#!/usr/bin/env pyhton3\n")
        self.program("returns", "#!/usr/bin/env python3\r\nprint(1)\r\n")
        self.program("strange", "#! /no/such/shell -x\n")
        (self.folder / "folder").mkdir()
        for word, message, help_ in (
                ("./nowhere", "the program './nowhere' cannot be executed: No "
                 "such file or directory", ""),
                ("./wroks", "the program './wroks' cannot be executed: No such "
                 "file or directory", "did you mean './works'?"),
                ("pyhton3", "no program 'pyhton3' is in PATH",
                 "did you mean 'python3'?"),
                ("no-such-program", "no program 'no-such-program' is in PATH",
                 ""),
                ("works", "no program 'works' is in PATH",
                 "write ./works for the file in the working directory"),
                ("./plain.sh", "cannot be executed: Permission denied",
                 "make it executable: chmod +x ./plain.sh"),
                ("./done.py", "cannot be executed: Permission denied",
                 "put python3 before it, or make it executable"),
                ("./folder", "cannot be executed: Is a directory", ""),
                ("./windows", "its first line names '/bin/sh\\x0d'",
                 "its lines end as on Windows"),
                ("./misspelt", "its first line names '/bin/bahs'",
                 "did you mean #!/bin/bash?"),
                ("./looked-up", "its first line names 'pyhton3'",
                 "did you mean #!/usr/bin/env python3?"),
                ("./returns", "its first line names 'python3\\x0d'",
                 "its lines end as on Windows: sed -i 's/\\r$//' ./returns"),
                ("./strange", "its first line names '/no/such/shell'", "")):
            told = self.plan(f"entrypoint: [{word}]\n")
            self.assertIn("job.jobrun.yaml:4:14: error[JR0512]: ", told)
            self.assertIn(message, told)
            self.assertIn(help_, told)

    def test_the_path_is_that_of_the_ranks(self):
        told = self.plan("entrypoint: [echo]\nenv: {PATH: /no/such}\n")
        self.assertIn("no program 'echo' is in PATH", told)
        folder = str(self.folder)
        self.plan(f"entrypoint: [works]\nenv: {{PATH: '{folder}'}}\n", code=0)
        # one rank of two
        told = self.plan("entrypoint: [echo]\n"
                         "per_rank: {1: {env: {PATH: /no/such}}}\n")
        self.assertIn("no program 'echo' is in PATH", told)

    def test_interpreters_scripts_and_libraries(self):
        told = self.plan("entrypoint: {python: {script: gone.py, "
                         "interpreter: python0}}\n")
        self.assertIn("4:31: error[JR0513]: the script", told)
        self.assertIn("gone.py' cannot be read: No such file", told)
        self.assertIn("error[JR0512]: no program 'python0' is in PATH", told)
        told = self.plan("entrypoint: {library: {path: ./gone.so, "
                         "symbol: step}}\n")
        self.assertIn("4:30: error[JR0513]: the library", told)
        told = self.plan("entrypoint: {python: {function: 'm:f', "
                         "interpreter: python0}}\nstart_method: forkserver\n")
        self.assertIn("no program 'python0' is in PATH", told)

    def test_scripts_in_a_command(self):
        for words in ("python3, trian.py", "python3, -u, trian.py, --lr, 1",
                      "/usr/bin/python3, -uB, trian.py"):
            told = self.plan(f"entrypoint: [{words}]\n")
            self.assertIn("error[JR0513]: the script 'trian.py' cannot be "
                          "read: No such file", told)
            self.assertIn(":4:" + str(14 + words.index("trian")) + ":", told)
        for text in ("entrypoint: [python3, doen.py]\n",
                     "entrypoint: {python: {script: doen.py}}\n"):
            self.assertIn("help: did you mean 'done.py'?", self.plan(text))
            self.assertNotIn("did you mean", self.plan(
                text + "setup: touch doen.py\n", code=0))
        self.plan("entrypoint: [python3, done.py]\nworkdir: gone\n")
        (self.folder / "w").mkdir()
        told = self.plan("entrypoint: [python3, done.py]\nworkdir: w\n")
        self.assertIn("'done.py' cannot be read", told)
        for words in ("python3, done.py", "python3, -m, done",
                      "python3, -m, json.tool", "python3, -c, trian", "python3, -W, ignore, done.py",
                      "python3, '-'", "echo, trian.py", "python3"):
            self.assertEqual(self.plan(f"entrypoint: [{words}]\n", code=0),
                             "", words)
        told = self.expect(self.jobrun("plan", "-n", "2", "--", "python3",
                                       "trian.py"), 4).stderr
        self.assertIn("the script 'trian.py' cannot be read", told)

    def test_modules(self):
        """As this very Python finds them, which imports none for that."""
        python = os.path.realpath(sys.executable)
        form = "entrypoint:\n  python: {%s, interpreter: " + python + "}\n"
        self.write("pkg/__init__.py", "raise SystemExit('imported')")
        self.write("pkg/part.py", "def main(): pass\n")
        self.write("elsewhere/away.py", "")
        for text in (form % "module: done",
                     form % "function: 'pkg.part:main'",
                     form % "function: 'jobrun:rank'",
                     form % "function: 'json.tool:main'",
                     form % "function: 'time:time'",
                     form % "module: away" + "env: {PYTHONPATH: elsewhere}\n",
                     f"entrypoint: [{python}, -um, json.tool]\n"):
            self.assertEqual(self.plan(text, code=0), "", text)
        for text, place, said in (
                (form % "module: doen", "5:20",
                 "finds no module 'doen'\n*help: did you mean 'done'?"),
                (form % "function: 'pkg.prat:main'", "5:22",
                 "finds no module 'pkg.prat'*help: did you mean 'pkg.part'?"),
                (form % "function: 'done:f', setup: 'nowhere:f'", "5:39",
                 "finds no module 'nowhere'"),
                (f"entrypoint:\n- {python}\n- -u\n- -m\n- away\n", "8:3",
                 "finds no module 'away'*Python looks in the working directory")):
            told = self.plan(text)
            self.assertIn(f":{place}: error[JR0518]: ", told)
            for part in said.split("*"):
                self.assertIn(part, told)
            told = self.plan(text + "setup: 'true'\n", code=0)
            self.assertIn("warning[JR0518]", told)
            self.assertIn("`setup` has to provide it", told)
        told = self.plan(form % "function: 'done:f'" +
                         "start_method: forkserver\npreload: [json, nowhere]\n")
        self.assertIn(":7:17: error[JR0518]: ", told)
        told = self.expect(self.jobrun("plan", "job.jobrun.yaml", "--on", "1x0,2c"),
                           0)
        self.assertNotIn("JR0518", told.stderr)

    def test_working_directories(self):
        told = self.plan("entrypoint: [echo]\nworkdir: gone\n")
        self.assertIn("5:10: error[JR0511]: rank 0 cannot run in", told)
        self.assertIn("No such file or directory", told)
        told = self.plan("entrypoint: [echo]\nworkdir: file\n")
        self.assertIn("Not a directory", told)
        (self.folder / "w0").mkdir()
        told = self.plan("entrypoint: [echo]\nworkdir: 'w%{rank}'\n")
        self.assertIn("error[JR0511]: rank 1 cannot run in", told)

    def test_folders_to_write(self):
        told = self.plan(
            "entrypoint: [echo]\nlog_dir: file/runs\nresults: {file: "
            "'file/%{rank}.json', artifacts: [ok, 'file/x/%{rank}']}\n")
        self.assertIn("5:10: error[JR0514]: the run folder", told)
        self.assertIn("6:17: error[JR0514]: rank 0 cannot write", told)
        self.assertIn("6:54: error[JR0514]: rank 0 cannot write "
                      "'file/x/%s': Not a directory" % 0, told)
        self.assertIn("3 errors", told)

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("setpriv"),
                         "SKIPPED: takes root, to become somebody else")
    def test_folders_of_others(self):
        """What root may do says nothing of what its users may."""
        self.folder.chmod(0o755)
        self.write("job.jobrun.yaml", HEAD + "entrypoint: [echo]\n"
                   "results: {artifacts: ['new/%{rank}']}\n")
        program = shutil.copy(harness.JOBRUN, self.folder)
        done = subprocess.run(
            ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
             program, "plan", "job.jobrun.yaml"], cwd=self.folder, text=True,
            env=harness.clean_environment(), stdin=subprocess.DEVNULL,
            capture_output=True, timeout=harness.LIMIT)
        self.expect(done, 4)
        self.assertIn("error[JR0514]: rank 0 cannot write 'new/0': Permission "
                      "denied", done.stderr)
        self.assertIn("error[JR0514]: the run folder", done.stderr)

    def test_setup_may_provide_it(self):
        told = self.plan("entrypoint: [./trian]\nsetup: make trian\n", code=0)
        self.assertIn("warning[JR0512]: the program './trian' cannot be "
                      "executed", told)
        self.assertIn("`setup` has to provide it", told)
        self.plan("entrypoint: [./works]\nsetup: mkdir gone\nworkdir: gone\n")

    def test_another_machine_is_not_looked_at(self):
        self.assertEqual(
            self.plan("entrypoint: [./trian]\nworkdir: gone\nlog_dir: file/x\n",
                      "--on", "1x0,4c", code=0), "")

    def test_as_json(self):
        self.write("job.jobrun.yaml", HEAD + "entrypoint: [./trian]\n")
        done = self.expect(self.jobrun("plan", "job.jobrun.yaml", "--json"), 4)
        self.assertEqual(done.stdout[0], "{")
        self.assertIn("JR0512", done.stderr)

    def test_the_run_fails_as_ever(self):
        self.write("job.jobrun.yaml", HEAD + "entrypoint: [./trian]\n")
        self.expect(self.jobrun("job.jobrun.yaml"), 7)

    def test_a_secret_is_not_told(self):
        self.write("job.jobrun.yaml", HEAD
                   + "entrypoint: ['${env:MY_TOKEN}/x']\n")
        done = self.expect(self.jobrun(
            "plan", "job.jobrun.yaml", env={"MY_TOKEN": "sesame-sesame"}), 4)
        self.assertIn("the program '${env:MY_TOKEN}/x' cannot be executed",
                      done.stderr)
        self.assertNotIn("sesame", done.stderr)



class BesideTheCaller(harness.Case):
    """The spec lies in a folder of its own, and what it names beside it is in
    the one in which jobrun is called."""
    WORKDIR = "write workdir: .. into the spec (or type -s workdir=.)"
    ROWS = [  # an entrypoint, what is found here, what to type
        ("[./go.sh]", "./go.sh", WORKDIR),
        ("[go.sh]", "go.sh", WORKDIR + ", and ./go.sh instead of go.sh"),
        (f"[{sys.executable}, train.py]", "train.py", WORKDIR),
        (f"[{sys.executable}, -u, train.py, x]", "train.py", WORKDIR),
        ("[bash, go.sh]", "go.sh", WORKDIR),
        (f"[{sys.executable}, -m, train]", "train.py", WORKDIR),
        (f"[{sys.executable}, -m, pkg.train]", "pkg/train.py", WORKDIR),
        ("{python: {script: train.py}}", "train.py", "write ../train.py"),
        (f"{{python: {{module: train, interpreter: {sys.executable}}}}}",
         "train.py", WORKDIR),
        (f"{{python: {{function: 'train:main', interpreter: {sys.executable}}}"
         "}", "train.py", WORKDIR),
        ("{library: {path: libx.so, symbol: f}}", "libx.so",
         "write ../libx.so"),
    ]
    LATER = [  # what only the run finds out
        ("{shell: './go.sh; exit 127'}", "./go.sh", WORKDIR),
        (f"{{shell: '{sys.executable} train.py'}}", "train.py", WORKDIR),
        (f"[env, A=1, {sys.executable}, train.py]", "train.py", WORKDIR),
    ]

    def setUp(self):
        super().setUp()
        self.write("train.py", "def main():\n    pass\n")
        self.write("pkg/train.py", "")
        self.write("libx.so", "")
        self.write("go.sh", "#!/bin/sh\n").chmod(0o755)

    def write_job(self, entrypoint, more=""):
        return self.write("conf/job.jobrun.yaml",
                          f"{HEAD}entrypoint: {entrypoint}\n{more}")

    def step(self, name, advice):
        return (f"'{name}' is in {os.path.realpath(self.folder)}, where jobrun "
                f"was called; {advice}\n")

    def test_the_plan_says_it(self):
        for entrypoint, name, advice in self.ROWS:
            with self.subTest(entrypoint):
                self.write_job(entrypoint)
                done = self.expect(
                    self.jobrun("plan", "conf/job.jobrun.yaml"), 4)
                self.assertIn("help: " + self.step(name, advice), done.stderr)

    def test_the_run_says_it(self):
        for entrypoint, name, advice in self.ROWS + self.LATER:
            with self.subTest(entrypoint):
                self.write_job(entrypoint)
                done = self.jobrun("conf/job.jobrun.yaml")
                self.assertIn(done.returncode, (1, 7))
                self.assertIn("  try:        " + self.step(name, advice),
                              done.stderr)

    def test_it_holds_when_typed(self):
        for more, words in (("workdir: ..\n", ()), ("", ("-s", "workdir=."))):
            for entrypoint in ("[./go.sh]", "[bash, go.sh]",
                               f"[{sys.executable}, train.py]",
                               f"[{sys.executable}, -m, train]"):
                with self.subTest(entrypoint, words=words):
                    self.write_job(entrypoint, more)
                    self.expect(self.jobrun("conf/job.jobrun.yaml", *words), 0)
        self.write_job("{python: {script: ../train.py}}")
        self.expect(self.jobrun("conf/job.jobrun.yaml"), 0)

    def test_nothing_is_said_where_it_is_not_so(self):
        self.write("conf/go.sh", "#!/bin/sh\nexit 3\n").chmod(0o755)
        for entrypoint in ("[./go.sh]", "[./none.sh]", "[bash, none.sh]",
                           "[sh, -c, 'exit 3', train.py]"):
            with self.subTest(entrypoint):
                self.write_job(entrypoint)
                done = self.jobrun("conf/job.jobrun.yaml")
                self.assertNotIn("where jobrun was called", done.stderr)


class Folders(harness.Case):
    """The name of the folder in which a spec lies is no part of the spec."""
    SPEC = ("version: 1\nworld_size: 1\ndevice: cpu\n"
            "entrypoint: [sh, -c, 'pwd; echo \"$JOBRUN_RANK_DIR\"']\n")

    def test_marks_of_templates_in_its_name(self):
        for name in ("x%{b}y", "%{rank}", "100%%{", "a${c}d", "$${c", "%{"):
            with self.subTest(name):
                folder = self.folder / name
                folder.mkdir()
                (folder / "t.py").write_text("import os\nprint(os.getcwd())\n")
                # What is run again with the port that it had wants a port of its own.
                (folder / "job.yaml").write_text(
                    self.SPEC + f"master_port: {harness.free_port()}\n")
                here = os.path.realpath(folder)
                for words in (["job.yaml"], ["job.yaml", "-s", "workdir=."],
                              ["rerun", "latest", "--exact"],
                              ["rerun", "latest"]):
                    done = self.expect(self.jobrun(*words, cwd=folder), 0)
                    pwd, rank_dir = done.stdout.splitlines()
                    self.assertEqual(pwd, f"[0] {here}", words)
                    self.assertTrue(
                        rank_dir.startswith(f"[0] {here}/runs/"), rank_dir)
                done = self.expect(self.jobrun(
                    "job.yaml", "-s", "entrypoint={python: {script: t.py}}",
                    cwd=folder), 0)
                self.assertEqual(done.stdout, f"[0] {here}\n")
                resolved = self.expect(
                    self.jobrun("resolve", "job.yaml", cwd=folder), 0).stdout
                (folder / "resolved.yaml").write_text(resolved)
                done = self.expect(
                    self.jobrun("resolved.yaml", cwd=folder), 0)
                self.assertEqual(done.stdout.splitlines()[0], f"[0] {here}")

    def test_frozen_code_in_it(self):
        folder = self.folder / "x%{b}y"
        folder.mkdir()
        (folder / "job.yaml").write_text(
            self.SPEC + "code: freeze\nworkdir: 'sub-%{rank}'\n")
        (folder / "sub-0").mkdir()
        (folder / "sub-0/file").write_text("")
        (folder / ".gitignore").write_text("runs/\n")
        for words in (["init", "-q"], ["add", "-A"],
                      ["-c", "user.name=n", "-c", "user.email=n@n",
                       "commit", "-qm", "all"]):
            subprocess.run(["git", *words], cwd=folder, check=True,
                           timeout=harness.LIMIT)
        done = self.expect(self.jobrun("job.yaml", cwd=folder), 0)
        self.assertRegex(done.stdout.splitlines()[0],
                         r"/x%\{b\}y/runs/[^/]+/code/sub-0$")


if __name__ == "__main__":
    harness.main()
