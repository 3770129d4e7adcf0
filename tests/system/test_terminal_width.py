"""On a terminal no message is broken in the middle of a word, and what is to be
typed is not broken at all; elsewhere a message is one line, for grep."""
import contextlib
import fcntl
import os
import pty
import re
import struct
import subprocess
import termios

import harness

SPEC = """\
version: 1
entrypoint: [./train]
wrong_value_for_a_field_of_mine: 5
engine: {kubernetes: {image: registry.example/team/train:latest, replicated: 4}}
"""


class Terminal(harness.Case):
    def on_terminal(self, columns, *words, **environment):
        """The lines that jobrun writes to a terminal of so many columns."""
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ,
                    struct.pack("HHHH", 24, columns, 0, 0))
        child = subprocess.Popen(
            [harness.JOBRUN, *map(str, words)], cwd=self.folder,
            env=harness.clean_environment(**environment),
            stdin=slave, stdout=slave, stderr=slave)
        os.close(slave)
        text = b""
        with contextlib.suppress(OSError):  # EIO: all of it is read
            while piece := os.read(master, 65536):
                text += piece
        os.close(master)
        child.wait(harness.LIMIT)
        return text.decode().replace("\r\n", "\n").splitlines()

    def joined(self, lines):
        """The text without the breaks that a terminal's width brought."""
        text = re.sub(r"\n {4}(?=\S)", " ", "\n".join(lines))
        return re.sub(r"\s+", " ", re.sub(r"\n +=", "", text))

    def test_findings_fit(self):
        spec = self.write("t.jobrun.yaml", SPEC).name
        for columns in 60, 80, 120:
            lines = self.on_terminal(columns, "validate", spec)
            self.assertLessEqual(max(map(len, lines)), columns, lines)
            text = self.joined(lines)
            self.assertIn("help: put a value of your own into vars: "
                          "{wrong_value_for_a_field_of_mine: 5}, or", text)
            self.assertIn("the keys here are image, namespace, ", text)
        self.assertEqual(self.on_terminal(60, spec)[:-1],
                         self.on_terminal(60, "validate", spec)[:-1])

    def test_elsewhere_each_is_one_line(self):
        spec = self.write("t.jobrun.yaml", SPEC).name
        for environment in {}, {"COLUMNS": "60"}:
            done = self.jobrun("validate", spec, env=environment)
            self.assertRegex(done.stdout, r"(?m)^ +\| \^+ help: put a value "
                                          r".* 'x-wrong_value[a-z_]*'$")

    def test_a_message_is_broken_between_words(self):
        (self.folder / "t.yaml").write_text(SPEC)
        lines = self.on_terminal(60, "-n", 4, "t.yaml")
        self.assertLessEqual(max(map(len, lines)), 60)
        self.assertEqual(lines[-1], " " * 8 + "jobrun -s world_size=4 t.yaml")
        self.assertEqual(self.jobrun("-n", 4, "t.yaml").stderr.count("\n"), 1)

    def test_what_is_to_be_typed_is_not_broken(self):
        name = "a-rather-long-name-" * 4 + "of-a-spec.yaml"
        (self.folder / name).write_text(SPEC)
        lines = self.on_terminal(60, "-n", 4, name)
        self.assertIn(" " * 8 + "jobrun -s world_size=4 " + name, lines)

    def test_a_report_fits(self):
        self.write("a.yaml", "version: 1\nname: a-rather-long-name-of-a-job\n"
                   "device: cpu\nworld_size: 1\n"
                   "entrypoint: [./no-such-program-of-a-longer-name]\n")
        for words in ("a.yaml",), ("show",), ("report",), ("wait",):
            lines = self.on_terminal(80, *words)
            self.assertLessEqual(max(map(len, lines)), 80, lines)
            self.assertIn("exit status 7", "\n".join(lines))
        done = self.expect(self.jobrun("show"), 0)
        self.assertRegex(done.stdout, r"longer-name': .*   exit status 7\n")

    def test_a_difference_fits(self):
        for name, word in ("a", "a-longer-word"), ("b", "another-word"):
            self.write(f"{name}.jobrun.yaml", "version: 1\ndevice: cpu\n"
                       f"world_size: 1\nentrypoint: [./train, {word * 4}]\n")
        words = "diff", "a.jobrun.yaml", "b.jobrun.yaml"
        lines = self.on_terminal(80, *words)
        self.assertLessEqual(max(map(len, lines)), 80, lines)
        self.assertIn("entrypoint.command[1]", lines)
        self.assertRegex("\n".join(lines), r"\n  A  \S.*  a\.jobrun\.yaml:4\n"
                                           r"  B  \S.*  b\.jobrun\.yaml:4\n")
        self.assertEqual(self.on_terminal(200, *words),
                         self.jobrun(*words).stdout.splitlines())

    def test_a_table_of_runs_fits(self):
        self.expect(self.jobrun("-n", "1", "--", "true"), 0)
        for words in ("runs",), ("show", "nope"):
            lines = self.on_terminal(80, *words)
            self.assertLessEqual(max(map(len, lines)), 80, lines)
            self.assertEqual(lines[-2].split(),
                             ["status", "exit", "ranks", "took", "run"])
            self.assertRegex(lines[-1],
                             r"^succeeded +0 +1  .* \S+-true-\S{4}$")
        lines = self.on_terminal(50, "runs")
        self.assertLessEqual(max(map(len, lines)), 50, lines)
        self.assertEqual(lines[-2].split(), ["status", "exit", "run"])
        wide = self.on_terminal(120, "runs")
        self.assertEqual(wide, self.jobrun("runs").stdout.splitlines())
        self.assertIn("started", wide[0])

    def test_a_plan_fits(self):
        spec = self.write("t.jobrun.yaml", "version: 1\ndevice: cpu\n"
                          "world_size: 2\nmaster_port: 29400\n"
                          "entrypoint: [echo, a]\n").name
        for words in ("plan", spec), ("resolve", spec, "--explain"):
            for columns in 60, 80:
                lines = self.on_terminal(columns, *words)
                self.assertLessEqual(max(map(len, lines)), columns, lines)
            self.assertEqual(self.on_terminal(200, *words),
                             self.jobrun(*words).stdout.splitlines())

    def test_options_of_others_are_broken_too(self):
        lines = self.on_terminal(80, "-q", "x", "--gpus", "4", "a.yaml")
        self.assertLessEqual(max(map(len, lines)), 80, lines)
        lines = self.on_terminal(80, "rerun", "latest", "-s", "a=1")
        self.assertLessEqual(max(map(len, lines)), 80, lines)
        self.assertGreater(len(lines), 1)

    def test_the_width_may_be_stated(self):
        lines = self.on_terminal(200, "validate", COLUMNS="50")
        self.assertEqual(lines, ["jobrun: no spec is given: jobrun validate "
                                 "FILE or", " " * 8 + "FOLDER..."])


if __name__ == "__main__":
    harness.main()
