"""The pages of the manual, what --help says, and what an installation has.

PAGES names the program that prints the pages, BUILD the build folder.
"""
import contextlib
import fcntl
import os
import pathlib
import pty
import re
import shutil
import struct
import subprocess
import termios

import harness

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = os.environ["PAGES"]


def output(*command):
    return subprocess.run(command, text=True, capture_output=True, check=True,
                          timeout=harness.LIMIT).stdout


class Case(harness.Case):
    def printed(self, *words):
        return self.expect(self.jobrun(*words), 0).stdout

    def verbs(self):
        rows = self.printed("help", "--all").split("\nverbs:\n")[1].split("\n\n")[0]
        return re.findall(r"^  (\w+)", rows, re.M)

    def options(self, *words):
        return re.findall(r"^  (?:-\w,|   ) (--[a-z-]+)",
                          self.printed(*words, "--help"), re.M)

    def need(self, program):
        if shutil.which(program) is None:
            self.skipTest(f"{program} is not installed")


class Pages(Case):
    def test_the_committed_ones_are_those_of_the_tables(self):
        names = output(PAGES).split()
        self.assertEqual(len(names), 7)
        for name in names:
            with self.subTest(name):
                self.assertEqual(
                    (ROOT / name).read_text(), output(PAGES, name),
                    "write it anew: cmake --build BUILD --target pages")

    def test_another_is_refused(self):
        done = subprocess.run([PAGES, "docs/absent.md"], capture_output=True)
        self.assertEqual((done.returncode, done.stdout), (2, b""))

    def test_every_field_and_code_is_there(self):
        spec = (ROOT / "docs/spec.md").read_text()
        fields = re.findall(r"^### `(.+)`$", spec, re.M)
        self.assertGreater(len(fields), 80)
        self.assertEqual(len(fields), len(set(fields)))
        for field in fields:
            told = self.printed("explain", field)
            self.assertIn(f"\n{told.split('example:')[1].split()[0]}", spec)
        manual = (ROOT / "man/jobrun.yaml.5").read_text()
        self.assertEqual(re.findall(r"^\.SS (.+)$", manual, re.M), fields)
        codes = re.findall(r"^(JR\d{4})  (.*)$", self.printed("explain", "JR"),
                           re.M)
        told = (ROOT / "docs/diagnostics.md").read_text()
        self.assertEqual(re.findall(r"^### (JR\d{4}): ", told, re.M),
                         [code for code, _ in codes])

    def test_every_verb_and_option_is_there(self):
        manual = (ROOT / "man/jobrun.1").read_text().replace("\\-", "-")
        parts = dict(re.findall(r"^\.SS jobrun (\w+).*\n((?:(?!\.S[SH]).*\n)*)",
                                manual, re.M))
        self.assertEqual(list(parts), self.verbs())
        common = self.options()
        for verb in self.verbs():
            for option in self.options(verb):
                text = manual if option in common else parts[verb]
                self.assertIn(f"\\fB{option}\\fR", text)

    def test_groff_has_nothing_to_say(self):
        self.need("man")
        self.need("groff")
        for page in ("man/jobrun.1", "man/jobrun.yaml.5"):
            done = subprocess.run(
                ["man", "--warnings", "-E", "UTF-8", "-l", ROOT / page],
                env=harness.clean_environment(MANWIDTH="80"), text=True,
                capture_output=True, timeout=harness.LIMIT)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn("\nSEE ALSO\n", done.stdout)

    def test_mandoc_has_nothing_to_say(self):
        self.need("mandoc")
        for page in ("man/jobrun.1", "man/jobrun.yaml.5"):
            done = subprocess.run(["mandoc", "-T", "lint", ROOT / page],
                                  text=True, capture_output=True)
            said = [line for line in (done.stdout + done.stderr).splitlines()
                    if "missing date" not in line]
            self.assertEqual(said, [])


class Help(Case):
    def test_every_verb_tells_what_it_does(self):
        for verb in self.verbs():
            with self.subTest(verb):
                text = self.printed(verb, "--help")
                self.assertTrue(text.startswith(f"usage: jobrun {verb} "))
                self.assertRegex(text, r"\n\n[A-Z].*")
                self.assertIn("\noptions:\n", text)
                self.assertRegex(text, r"\nexamples?:\n  .*\bjobrun\b")
                self.assertIn("\nexit status: see jobrun --help\n", text)

    def each(self, **env):
        """The help of the program and of each verb, in lines."""
        for words in [("--all",), *([verb] for verb in self.verbs())]:
            done = self.expect(self.jobrun("help", *words, env=env), 0)
            yield done.stdout.splitlines()

    def test_it_fits_a_terminal(self):
        for lines in self.each():
            for line in lines:
                self.assertLessEqual(len(line), 80, line)

    def test_no_phrase_is_broken(self):
        """A row of a table is broken at punctuation only, and nothing is that
        has to be typed."""
        for lines in self.each():
            for line, following in zip(lines, lines[1:]):
                self.assertEqual(line.count("`") % 2, 0, line)
                if following.startswith(" " * 10):
                    self.assertRegex(line + "\n" + following,
                                     r"[,;:]\n|\n +\(")

    def test_columns_are_those_of_the_environment(self):
        for columns in 40, 60, 100:
            lines = [line for part in self.each(COLUMNS=str(columns))
                     for line in part if not line.startswith(("usage:", "  "))]
            longest = max(map(len, lines))
            self.assertLessEqual(longest, columns)
            self.assertGreater(longest, columns - 10)
        for none in "", "0", "-1", "wide", "99999999999":
            self.assertEqual(self.jobrun("help", env={"COLUMNS": none}).stdout,
                             self.printed("help"))
        for one in "1", "7":
            text = self.expect(self.jobrun("help", env={"COLUMNS": one}), 0)
            self.assertEqual(text.stdout.split(),
                             self.printed("help").split())

    def test_a_field_is_explained_as_wide(self):
        done = self.expect(self.jobrun("explain", "results",
                                       env={"COLUMNS": "120"}), 0)
        self.assertGreater(max(map(len, done.stdout.splitlines())), 80)

    def test_columns_are_those_of_the_terminal(self):
        for columns in 57, 110:
            master, slave = pty.openpty()
            fcntl.ioctl(slave, termios.TIOCSWINSZ,
                        struct.pack("HHHH", 24, columns, 0, 0))
            child = subprocess.Popen([harness.JOBRUN, "run", "--help"],
                                     env=harness.clean_environment(),
                                     stdin=slave, stdout=slave)
            os.close(slave)
            text = b""
            with contextlib.suppress(OSError):  # EIO: all of it is read
                while piece := os.read(master, 65536):
                    text += piece
            os.close(master)
            self.assertEqual(child.wait(harness.LIMIT), 0)
            self.assertEqual(
                text.decode().replace("\r\n", "\n"),
                self.jobrun("run", "--help",
                            env={"COLUMNS": str(columns)}).stdout)

    def test_examples_use_what_there_is(self):
        """Each example names a verb, and only options that the verb has."""
        for verb in self.verbs():
            text = self.printed(verb, "--help")
            part = re.split(r"\nexamples?:\n", text)[1].split("\n\n")[0]
            for line in part.splitlines():
                line = re.sub(r"'.*'", "", line.split(" -- ")[0])
                for option in re.findall(r"--[a-z-]+", line):
                    self.assertIn(option, self.options(verb), line)


class Explain(Case):
    def test_usage(self):
        for words, said in (
                (["-1"], "unknown option '-1'"),
                (["a", "b"], "explain takes one argument"),
                ([""], "no field or code ''"),
                (["x" * 100_000], "no field or code 'xxx"),
                (["wrold_size"], "did you mean 'world_size'?"),
                (["paralellism.model"], "did you mean 'parallelism.model'?"),
                (["min"], "did you mean 'results.fields.*.min'?"),
                (["data"], "'parallelism.data' or 'backends.data'?"),
                (["NPROC"], "'NPROC' is called 'world_size' here"),
                (["world_size.x"], "did you mean 'world_size'?"),
                (["\x1b[2J"], "no field or code '\\x1b"),
                (["JR9999"], "jobrun explain JR lists them"),
                (["JR77"], "jobrun explain JR lists them"),
                (["99999999999"], "jobrun explain JR lists them")):
            with self.subTest(words=str(words)[:40]):
                done = self.jobrun("explain", *words)
                self.assertIn(said, done.stderr + done.stdout)
                self.assertEqual(done.returncode, 2 if done.stderr else 0)
                self.assertLess(len(done.stderr), 300)
                self.assertLessEqual(done.stderr.count("\n"), 1)

    def test_what_a_finding_shows_can_be_asked(self):
        for word, head in (("hosts[1]", "hosts: "), ("env.LR", "env: "),
                           ("results.fields.loss.min",
                            "results.fields.*.min: "),
                           ("jr0310", "JR0310: "), ("310", "JR0310: "),
                           ("JR03", "JR0301  ")):
            self.assertTrue(self.printed("explain", word).startswith(head))


class Install(Case):
    FILES = """bin/jobrun share/man/man1/jobrun.1 share/man/man5/jobrun.yaml.5
        share/bash-completion/completions/jobrun
        share/zsh/site-functions/_jobrun
        share/fish/vendor_completions.d/jobrun.fish
        share/jobrun/schemas/jobspec-v1.schema.json
        share/jobrun/schemas/sweep-v1.schema.json
        share/doc/jobrun/docs/spec.md share/doc/jobrun/docs/diagnostics.md
        share/doc/jobrun/LICENSE share/doc/jobrun/README.md""".split()

    def test_everything_is_installed(self):
        top = self.folder / "prefix"
        output("cmake", "--install", os.environ["BUILD"], "--prefix", top)
        found = {str(path.relative_to(top)) for path in top.rglob("*")
                 if path.is_file()}
        self.assertEqual(set(self.FILES) - found, set())
        self.assertEqual([path for path in found if not
                          re.match("bin/jobrun$|share/|include/|lib", path)],
                         [])
        self.assertEqual(output(top / "bin/jobrun", "--version"),
                         self.printed("--version"))
        self.assertEqual(
            output(top / "bin/jobrun", "completion", "bash"),
            (top / self.FILES[3]).read_text())


if __name__ == "__main__":
    harness.main()
