"""Sweeps whose files were forged, are links, or are no files; values and results
that are no plain words; and what other users make of a log_dir."""
import csv
import io
import json
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import time
import unittest

import harness

SPEC = """\
version: 1
name: scan
device: cpu
world_size: 1
vars: {n: 0}
env: {N: "${vars.n}"}
entrypoint:
  shell: |
    echo "$N" >> ran
    [ ! -e wait ] || { : > up; read word < wait; }
    cat result 2> /dev/null > "$JOBRUN_RESULT_FILE" ||
      echo "{\\"n\\": $N}" > "$JOBRUN_RESULT_FILE"
results: {fields: {n: {type: number}}}
"""
AXES = "sweep: {axes: {vars.n: %s}, best: {field: n, goal: max}}\n"
UNSAFE = "\x1b\x07\x9b\u202e\u2066\u2028"
WORDS = ["a,b", "say \"so\"", "two\nlines", " x ", "|", "`a`", "<b>&amp;",
         "\u202ecod.exe", "\x1b[31mred", "=1+1", "-7", "1e999"]


class Hostile(harness.Case):
    def spec(self, values="[0, 1, 2, 3]", more="", spec=SPEC):
        self.write("scan.jobrun.yaml", spec + (AXES % values) + more)

    def run_all(self, status=0):
        self.expect(self.jobrun("scan.jobrun.yaml", "--run-id", "S"), status)

    def resume(self, status=0, *words):
        return self.expect(self.jobrun("scan.jobrun.yaml", "--resume=S",
                                       *words), status)

    @property
    def place(self):
        return self.folder / "runs/S"

    def sweep(self):
        return json.loads((self.place / "sweep.json").read_text())

    def counted(self, n=4):
        words = (self.folder / "ran").read_text().split()
        return [words.count(str(i)) for i in range(n)]

    def check_table(self, n=4):
        """Each cell delivered what belongs to its values."""
        cells = self.sweep()["cells"]
        self.assertEqual([cell["status"] for cell in cells], ["succeeded"] * n)
        for cell in cells:
            self.assertEqual(cell["result"], {"n": cell["values"]["vars.n"]})
        numbers = [cell["cell"] for cell in cells]
        self.assertEqual(len(set(numbers)), n, numbers)


class Forged(Hostile):
    def setUp(self):
        super().setUp()
        self.spec()
        self.run_all()

    def forge(self, change):
        sweep = self.sweep()
        change(sweep)
        (self.place / "sweep.json").write_text(json.dumps(sweep))

    def test_numbers_that_were_exchanged(self):
        """A result counts for the values that it was made with alone."""
        def exchange(sweep):
            one, two = sweep["cells"][:2]
            one["cell"], two["cell"] = two["cell"], one["cell"]
        self.forge(exchange)
        self.resume()
        self.check_table()
        self.assertEqual(self.counted(), [2, 2, 1, 1])

    def test_results_that_were_made_up(self):
        """What sweep.json says of results is not believed, nor that a cell has
        run."""
        def lie(sweep):
            for cell in sweep["cells"]:
                cell["result"] = {"n": 99}
                cell["status"] = "failed"
        self.forge(lie)
        shutil.rmtree(self.place / "cells/0003")
        self.resume()
        self.check_table()
        self.assertEqual(self.counted(), [1, 1, 1, 2])

    def test_a_number_that_is_too_large(self):
        """Whatever number a file claims, the next ones are new and small enough
        to be counted on."""
        for number in (4294967294, 4294967295, 2 ** 31 - 2, 2 ** 63 - 1):
            with self.subTest(number):
                self.forge(lambda sweep: sweep["cells"].append(
                    {"cell": number, "values": {"vars.n": 77}}))
                self.spec("[0, 1, 2, 3, 4, 5]")
                self.resume()
                self.check_table(6)
                self.assertEqual(self.counted(), [1] * 4)

    def test_lists_of_anything(self):
        for cells in ([], [1, "x", None, [], {}], [{"cell": "x"}],
                      [{"cell": 0, "values": {}}] * 3,
                      [{"cell": i, "values": {"vars.n": 3}} for i in range(4)],
                      {"0": 1}, 7, None):
            with self.subTest(cells):
                self.forge(lambda sweep: sweep.update(cells=cells))
                for verb in ("show",), ("report",), ("runs", "--cells"), \
                        ("runs",), ("wait",), ("top",):
                    words = verb if verb[0] == "runs" else (*verb, "S")
                    done = self.jobrun(*words)
                    self.assertIn(done.returncode, (0, 2, 7),
                                  (words, done.stderr))
                self.resume()
                self.check_table()

    def test_words_of_the_file_are_shown_safely(self):
        def soil(sweep):
            sweep["name"] = sweep["spec"] = UNSAFE
            sweep["counts"] = {UNSAFE: 1}
            sweep["best"] = {"field": UNSAFE, "goal": UNSAFE, "of": UNSAFE}
            for cell in sweep["cells"]:
                cell["values"] = {UNSAFE: UNSAFE, "vars.n": UNSAFE}
                cell["result"] = {UNSAFE: UNSAFE}
                cell["status"] = cell["code"] = cell["fingerprint"] = UNSAFE
        self.forge(soil)
        shutil.rmtree(self.place / "cells")
        for words in (["show", "S"], ["show", "S", "--format", "csv"],
                      ["show", "S", "--format", "markdown"], ["report", "S"],
                      ["runs"], ["runs", "--cells"],
                      ["runs", "--cells", "--format", "csv"],
                      ["runs", "--cells", "--format", "markdown"],
                      ["show", "S/0"], ["wait", "S"], ["show", "S/x"],
                      ["report", "S", "--format", "html"]):
            with self.subTest(words):
                done = self.jobrun(*words)
                for letter in UNSAFE:
                    self.assertNotIn(letter, done.stdout + done.stderr)

    def test_a_journal_of_anything(self):
        journal = self.place / "journal.jsonl"
        line = b'{"event": "cell_ended", "cell": 2, "values": {"vars.n": 2}}'
        for bytes_ in (b"\0" * 4096, line + b"\0\n\0" + line,
                       b"\xff\xfe\n" * 99, b"\n" * 9999, b"[" * 100000 + b"\n",
                       line.replace(b"2", b"2e0"), b'{"event": 3}\n',
                       b'{"event": "sweep_ended"}' * 3, b"\r\n\r"):
            with self.subTest(bytes_[:30]):
                journal.write_bytes(bytes_)
                self.expect(self.jobrun("show", "S"), 0)
                self.resume()
                self.check_table()
        self.assertEqual(self.counted(), [1] * 4)

    def test_a_journal_of_3_gb(self):
        journal = self.place / "journal.jsonl"
        with journal.open("r+b") as file:
            file.truncate(3 << 30)  # sparse: it is NULs
        self.expect(self.jobrun("show", "S"), 0)
        self.expect(self.jobrun("runs"), 0)
        self.resume()
        self.check_table()
        self.assertEqual(self.counted(), [1] * 4)

    def test_a_journal_that_is_no_file(self):
        journal = self.place / "journal.jsonl"
        victim = self.folder / "victim"
        victim.write_text("mine\n")
        for make in (os.mkfifo, os.mkdir,
                     lambda path: os.symlink(victim, path),
                     lambda path: os.symlink("absent", path)):
            journal.unlink()
            make(journal)
            self.expect(self.jobrun("show", "S"), 0)
            done = self.resume(7)
            self.assertIn("journal.jsonl", done.stderr)
            self.assertEqual(self.sweep()["counts"], {"succeeded": 4})
            if journal.is_dir() and not journal.is_symlink():
                journal.rmdir()
                journal.touch()
        self.assertEqual(victim.read_text(), "mine\n")
        self.assertFalse((self.place / "absent").exists())


class Links(Hostile):
    """Symbolic links where folders and files of cells are."""
    def setUp(self):
        super().setUp()
        self.spec()
        self.run_all()
        self.outside = self.folder / "outside"
        shutil.copytree(self.place / "cells/0002", self.outside, symlinks=True)
        self.before = self.listed()

    def listed(self):
        return {path: path.read_bytes() if path.is_file() else None
                for path in self.outside.rglob("*")}

    def replace(self, path, target):
        path = self.place / path
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
        path.symlink_to(target)

    def tearDown(self):
        self.assertEqual(self.listed(), self.before)
        super().tearDown()

    def test_a_cell_that_is_a_link(self):
        """Neither what it leads to is taken for the cell's, nor is it written
        to."""
        for target in (self.outside, "0001", "nowhere", "/", "."):
            with self.subTest(target):
                self.replace("cells/0002", target)
                self.expect(self.jobrun("show", "S"), 0)
                self.expect(self.jobrun("runs", "--cells"), 0)
                self.resume()
                self.check_table()
                self.assertFalse((self.place / "cells/0002").is_symlink())

    def test_results_that_are_a_link(self):
        self.replace("cells/0002/results.json", self.outside / "results.json")
        self.resume()
        self.check_table()
        self.assertFalse(
            (self.place / "cells/0002/results.json").is_symlink())

    def test_all_cells_are_a_link(self):
        self.replace("cells", self.outside)
        done = self.resume(7)
        self.assertIn("S/cells", done.stderr)
        self.assertEqual(self.counted(), [1] * 4)

    def test_the_sweep_s_file_is_a_link(self):
        """It is replaced, and what it leads to is left as it was."""
        (self.outside / "x.json").write_text(json.dumps(self.sweep()))
        self.before = self.listed()
        self.replace("sweep.json", self.outside / "x.json")
        self.resume()
        self.assertFalse((self.place / "sweep.json").is_symlink())
        self.check_table()


class Removed(Hostile):
    """What a sweep needs is removed while it runs."""
    def begin(self):
        self.spec()
        os.mkfifo(self.folder / "wait")
        self.gate = os.open(self.folder / "wait", os.O_RDWR)
        self.addCleanup(os.close, self.gate)
        sweep = self.start("scan.jobrun.yaml", "--run-id", "S", "--parallel",
                           "1")
        until = time.monotonic() + harness.LIMIT
        while not (self.folder / "up").exists():
            self.assertIsNone(sweep.poll())
            self.assertLess(time.monotonic(), until)
            time.sleep(0.01)
        return sweep

    def go_on(self, sweep):
        os.rename(self.folder / "wait", self.folder / "open")
        os.write(self.gate, b"go\n")
        _, err = sweep.communicate(timeout=harness.LIMIT)
        return err

    def test_all_cells(self):
        sweep = self.begin()
        shutil.rmtree(self.place / "cells")
        err = self.go_on(sweep)
        self.assertGreater(sweep.returncode, 0, err)
        self.resume()
        self.check_table()

    def test_the_whole_sweep(self):
        sweep = self.begin()
        shutil.rmtree(self.place)
        err = self.go_on(sweep)
        self.assertGreater(sweep.returncode, 0, err)

    def test_the_spec(self):
        """It was read when the sweep began."""
        sweep = self.begin()
        os.rename(self.folder / "scan.jobrun.yaml", self.folder / "kept")
        err = self.go_on(sweep)
        self.assertEqual(sweep.returncode, 0, err)
        self.check_table()


class Values(Hostile):
    """Axes of words that mean something to a terminal, a table or a shell."""
    def setUp(self):
        super().setUp()
        self.spec(json.dumps(WORDS), spec=SPEC.replace(
            "{\\\"n\\\": $N}", "{\\\"n\\\": $JOBRUN_CELL, \\\"w\\\": \\\"\"\"\\\"}"
        ).replace("echo \"$N\" >> ran", "printf '%s\\0' \"$N\" >> words"))

    def test_they_are_kept_and_shown_safely(self):
        said = []
        for words in (["validate"], ["plan"], ["run", "--run-id", "S"]):
            done = self.expect(self.jobrun(words[0], "scan.jobrun.yaml",
                                           *words[1:]), 0)
            said.append(done.stdout + done.stderr)
        self.assertEqual(
            set((self.folder / "words").read_text().split("\0")[:-1]),
            set(WORDS))
        self.assertEqual([cell["values"]["vars.n"] for cell in
                          self.sweep()["cells"]], WORDS)
        for words in (["show", "S"], ["show", "S", "--format", "markdown"],
                      ["runs", "--cells", "--columns", "vars.n"],
                      ["report", "S", "--format", "html"], ["show", "S/8"],
                      ["show", "S/vars.n=-7"], ["diff", "S/7", "S/8"],
                      ["wait", "S"]):
            done = self.jobrun(*words)
            self.assertIn(done.returncode, (0, 2), done.stderr)
            said.append(done.stdout + done.stderr)
        for text in said:
            for letter in UNSAFE:
                self.assertNotIn(letter, text)
        self.assertEqual(len(said[4].splitlines()), 2 + len(WORDS), said[4])

    def test_other_programs_read_them(self):
        """CSV has each word in its field, whatever is in it."""
        self.run_all()
        for words in (["show", "S", "--sort", "cell"],
                      ["runs", "--cells", "--columns", "vars.n"]):
            text = self.expect(self.jobrun(*words, "--format", "csv"), 0).stdout
            rows = list(csv.DictReader(io.StringIO(text, newline="")))
            self.assertEqual(len(rows), len(WORDS))
            found = {row["vars.n"] for row in rows}
            for word in WORDS:
                if not set(word) & set(UNSAFE):
                    self.assertIn(word, found)

    def test_a_cell_is_named_by_its_word(self):
        self.run_all()
        for number, word in enumerate(WORDS):
            if "," not in word and "\n" not in word and '"' not in word:
                with self.subTest(word):
                    done = self.jobrun("show", f"S/vars.n={json.dumps(word)}",
                                       "--json")
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertEqual(json.loads(done.stdout)["exit_code"], 0)


class Results(Hostile):
    def deliver(self, *texts):
        """A cell for each text, which is what it delivers."""
        for i, text in enumerate(texts):
            (self.folder / f"result.{i}").write_text(text)
        self.spec(json.dumps(list(range(len(texts)))), spec=SPEC.replace(
            "cat result 2>", "cat \"result.$N\" 2>"))
        return self.jobrun("scan.jobrun.yaml", "--run-id", "S")

    def best(self):
        shown = json.loads(self.expect(self.jobrun("show", "S", "--json"),
                                       0).stdout)
        file = self.sweep()
        self.assertEqual(shown["best"], file["best"])
        lines = self.expect(self.jobrun("show", "S"), 0).stdout.splitlines()
        stars = [line for line in lines if line.startswith("* ")]
        if file["best"]["cell"] is None:
            self.assertEqual(stars, [])
        else:
            self.assertRegex(stars[0], rf"^\* {file['best']['cell']:04} ")
            self.assertEqual(stars, [lines[2]], "the best comes first")
        return file["best"]["cell"]

    def test_what_is_no_number_is_never_the_best(self):
        done = self.deliver('{"n": NaN}', '{"n": Infinity}', '{"n": 1e999}',
                            '{"n": -1e999}', '{"n": "9"}', '{"n": null}',
                            '{"n": true}', '{"n": [9]}', '{"n": {"mean": 9}}',
                            '{"n": -3}', '{"n": -2.5}', '{}', '[]', '')
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertEqual([cell["cell"] for cell in self.sweep()["cells"]
                          if cell["status"] == "succeeded"], [9, 10])
        self.assertEqual(self.best(), 10)

    def test_of_equal_ones_the_first_is_the_best(self):
        self.deliver('{"n": 0.5}', '{"n": 1}', '{"n": 1.0}', '{"n": 1}')
        self.assertEqual(self.best(), 1)

    def test_zero_has_two_signs(self):
        self.deliver('{"n": -0.0}', '{"n": 0}')
        self.assertEqual(self.best(), 0)

    def test_the_largest_and_the_smallest(self):
        self.deliver('{"n": -1.7e308}', '{"n": 5e-324}', '{"n": 1.7e308}',
                     '{"n": 9007199254740993}')
        self.assertEqual(self.best(), 2)

    def test_nobody_delivers_the_field(self):
        done = self.deliver('{"n": "x"}', '{}')
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertIsNone(self.best())

    def test_markup_is_text(self):
        evil = "</td></tr><script>alert(1)</script><!-- | x |"
        self.deliver(json.dumps({"n": 1, evil: evil}),
                     json.dumps({"n": 2, "m": evil}))
        page = self.expect(self.jobrun("report", "S", "--format", "html"),
                           0).stdout
        self.assertNotIn("<script", page)
        self.assertEqual(page.count("<!--"), page.count("-->"))
        text = self.expect(self.jobrun("show", "S", "--format", "markdown"),
                           0).stdout
        bars = [len(line.replace("\\|", "").split("|"))
                for line in text.splitlines()]
        self.assertEqual(len(set(bars)), 1, text)


@unittest.skipUnless(os.geteuid() == 0, "SKIPPED: it takes root to be two users")
class TwoUsers(Hostile):
    """A log_dir in which another user has a sweep, by hand or by jobrun."""
    def setUp(self):
        super().setUp()
        self.spec()
        self.run_all()
        nobody = pwd.getpwnam("nobody")
        for path in (self.place, *self.place.rglob("*")):
            os.chown(path, nobody.pw_uid, nobody.pw_gid, follow_symlinks=False)
        (self.folder / "runs").chmod(0o1777)

    def test_it_is_neither_gone_on_with_nor_stopped(self):
        done = self.resume(2)
        self.assertIn("no sweep 'S' of yours", done.stderr)
        done = self.expect(self.jobrun("scan.jobrun.yaml", "--resume"), 0)
        self.assertIn("no sweep of this spec", done.stderr)
        self.assertEqual(self.counted(), [2] * 4)
        self.assertNotEqual(os.readlink(self.folder / "runs/latest"), "S")

    def test_it_is_looked_at_with_a_warning(self):
        self.expect(self.jobrun("show", "S"), 0)
        rows = self.expect(self.jobrun("runs", "--cells"), 0).stdout
        self.assertEqual(rows.count("nobody"), 4, rows)
        done = self.expect(self.jobrun("prune", "--keep", "0"), 0)
        self.assertIn("1 of other users was left alone", done.stderr)
        self.assertTrue((self.place / "sweep.json").exists())

    def test_its_leader_is_left_alone(self):
        """Whoever holds the lock of a journal is no jobrun of ours."""
        import fcntl
        other = os.fork()
        if other == 0:
            try:
                file = open(self.place / "journal.jsonl", "r+b")
                fcntl.lockf(file, fcntl.LOCK_EX)
                (self.folder / "locked").touch()
                signal.pause()
            finally:
                os._exit(1)  # not on with the tests
        self.addCleanup(os.waitpid, other, 0)
        self.addCleanup(os.kill, other, signal.SIGKILL)
        until = time.monotonic() + harness.LIMIT
        while not (self.folder / "locked").exists():
            self.assertLess(time.monotonic(), until)
            time.sleep(0.01)
        done = self.jobrun("stop", "S")
        self.assertEqual(done.returncode, 7, done.stderr)
        self.assertIn("belongs to another user", done.stderr)
        self.assertEqual(os.waitpid(other, os.WNOHANG), (0, 0))


if __name__ == "__main__":
    harness.main()
