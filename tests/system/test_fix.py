"""validate --fix: what it writes, what it leaves alone, and what it says.

The folders of golden/fix hold a spec before and after.
"""
import ctypes
import json
import os
import pathlib
import re
import select
import shutil
import stat
import subprocess

import harness

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden"
BAD = "version: 1\nentrypoint: [./train]\nwrold_size: '4' # four\n"
GOOD = "version: 1\nentrypoint: [./train]\nworld_size: 4 # four\n"
NOBODY = 65534
IN_CLOSE_NOWRITE = 0x10


class Case(harness.Case):
    def fix(self, *words, code=0, **options):
        return self.expect(
            self.jobrun("validate", "--fix", *words, **options), code)

    def fix_text(self, data):
        """What becomes of bytes, with the exit status."""
        done = subprocess.run(
            [harness.JOBRUN, "validate", "--fix", "-"], input=data,
            cwd=self.folder, env=harness.clean_environment(),
            capture_output=True, timeout=harness.LIMIT)
        return done.stdout, done.returncode, done.stderr

    def bad(self, name="a.jobrun.yaml"):
        return self.write(name, BAD)

    def is_kept(self, path, text=BAD):
        self.assertEqual(path.read_text(), text)
        self.assertEqual([entry for entry in os.listdir(path.parent)
                          if entry.startswith(f".{path.name}")], [])


def comments_of(text):
    """Those that begin with // count, which a fix makes comments of."""
    text = re.sub(rb"(?<!\S)//", b"#", text)
    return re.findall(rb"#[^\r\n]*", text)


class Golden(Case):
    def folders(self):
        folders = sorted(GOLDEN.glob("fix/*/"))
        self.assertGreater(len(folders), 8)
        return folders

    def test_each_folder(self):
        for folder in self.folders():
            with self.subTest(folder.name):
                fixed = (folder / "fixed.yaml").read_bytes()
                path = self.folder / "spec.yaml"
                shutil.copy(folder / "spec.yaml", path)
                before = path.read_bytes()
                self.jobrun("validate", "--fix", path)
                self.assertEqual(path.read_bytes(), fixed)
                self.is_layout_kept(before, fixed)

    def test_nothing_is_left_to_fix(self):
        for folder in self.folders():
            with self.subTest(folder.name):
                fixed = (folder / "fixed.yaml").read_bytes()
                text, _, told = self.fix_text(fixed)
                self.assertEqual(text, fixed)
                self.assertNotIn(b"fixed: ", told)
                self.assertNotIn(b"can be fixed", told)

    def is_layout_kept(self, before, after):
        """Each comment is there, and each line ends as the lines did."""
        self.assertEqual(sorted(comments_of(after)),
                         sorted(comments_of(before)))
        self.assertEqual(set(re.findall(rb"\r\n|\r|\n", after)),
                         set(re.findall(rb"\r\n|\r|\n", before)))

    def test_no_wrong_spec_is_made_worse(self):
        """Whatever the mistakes are, YAML stays YAML, the count of the errors
        does not grow, and a second time finds nothing to do."""
        fixed = 0
        for path in sorted(GOLDEN.glob("err/*/spec.yaml")):
            with self.subTest(path.parent.name):
                before = path.read_bytes()
                after, _, _ = self.fix_text(before)
                if after == before:  # as most are: no fix is certain
                    continue
                fixed += 1
                if len(before) <= 1 << 20:
                    self.is_layout_kept(before, after)
                self.assertLessEqual(self.errors(after), self.errors(before))
                self.assertEqual(self.fix_text(after)[0], after)
        self.assertGreater(fixed, 20)

    def errors(self, data):
        done = subprocess.run(
            [harness.JOBRUN, "validate", "--format", "json", "-"], input=data,
            cwd=self.folder, capture_output=True, timeout=harness.LIMIT)
        return json.loads(done.stdout)["error_count"]


class Files(Case):
    def test_mode_and_neighbours_stay(self):
        path = self.bad()
        path.chmod(0o640)
        (self.folder / "other.jobrun.yaml").write_text(GOOD)
        before = os.stat(self.folder / "other.jobrun.yaml")
        self.fix(self.folder)
        self.is_kept(path, GOOD)
        self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o640)
        after = os.stat(self.folder / "other.jobrun.yaml")
        self.assertEqual((before.st_ino, before.st_mtime_ns),
                         (after.st_ino, after.st_mtime_ns))
        self.assertEqual(sorted(os.listdir(self.folder)),
                         ["a.jobrun.yaml", "other.jobrun.yaml"])

    def test_a_link_stays_and_its_file_is_fixed(self):
        path = self.bad("real/a.jobrun.yaml")
        (self.folder / "links").mkdir()
        link = self.folder / "links" / "l.yaml"
        link.symlink_to("../real/a.jobrun.yaml")
        self.fix(link)
        self.assertTrue(link.is_symlink())
        self.is_kept(path, GOOD)
        self.assertEqual(os.listdir(self.folder / "links"), ["l.yaml"])

    def test_paths_of_findings_are_those_of_the_file(self):
        """Positions are told under the name that was given."""
        self.bad("deep/er/a.jobrun.yaml")
        done = self.fix("deep")
        self.assertEqual(
            done.stderr,
            "deep/er/a.jobrun.yaml:3:1: fixed: 'wrold_size' -> 'world_size' "
            "[JR0203]\n"
            "deep/er/a.jobrun.yaml:3:13: fixed: `'4'` -> `4` [JR0211]\n")
        self.assertEqual(done.stdout, "1 spec is valid\n")

    def test_a_base_is_fixed_where_it_is(self):
        """A finding in a parent is fixed in the parent, once it is named too;
        the child's own keys are held against the child alone."""
        self.write("base.jobrun.yaml", "version: 1\ntemplate: yes\n"
                   "entrypoint: [./train]\nworld_size: '4'\n"
                   "timeouts: {run: 1h}\n")
        child = self.write("a.jobrun.yaml", "extends: base.jobrun.yaml\n"
                           "wrold_size: 2\nvars: {n: 1, s: \"x\"}\n"
                           "nodes: ${vars.n}\nthreads: \"${vars.n}\"\n"
                           "device: ${vars.s}\n")
        alone = self.fix("a.jobrun.yaml", code=3)
        self.assertEqual(alone.stderr,
                         "a.jobrun.yaml:2:1: fixed: 'wrold_size' -> "
                         "'world_size' [JR0203]\n"
                         "a.jobrun.yaml:5:10: fixed: '\"${vars.n}\"' -> "
                         "'${vars.n}' [JR0211]\n")
        self.assertNotIn("can be fixed", alone.stdout)
        both = self.fix(".", code=3)
        self.assertEqual(both.stderr.count("base.jobrun.yaml:"), 2)
        self.assertNotIn("a.jobrun.yaml:2", both.stderr)
        self.assertNotIn("base.jobrun.yaml:", both.stdout)
        self.assertTrue(child.read_text().endswith(
            "nodes: ${vars.n}\nthreads: ${vars.n}\ndevice: ${vars.s}\n"))

    def test_what_is_no_file_is_told_as_ever(self):
        os.mkfifo(self.folder / "fifo")
        for name in ("absent", "fifo", "/dev/zero", "."):
            with self.subTest(name):
                done = self.fix(name, code=3)
                self.assertEqual(
                    (done.stdout, done.stderr),
                    (self.jobrun("validate", name).stdout, ""))

    def as_nobody(self, *words):
        """Root may write everywhere: become somebody else."""
        options = {}
        if os.geteuid() == 0:
            options = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
            self.folder.chmod(0o755)
        try:
            return subprocess.run(
                [harness.JOBRUN, *words], cwd=self.folder, text=True,
                env=harness.clean_environment(), capture_output=True,
                timeout=harness.LIMIT, **options)
        except PermissionError:
            self.skipTest("the program cannot be run by another user")

    def refused(self, done, path, why):
        self.expect(done, 3)
        self.assertRegex(
            done.stderr, rf"^jobrun: {path.name}: not fixed: .*{why}\n$")
        self.assertTrue(done.stdout.endswith("it can be fixed with --fix\n"))
        self.is_kept(path)

    def test_a_folder_that_cannot_be_written(self):
        path = self.bad()
        path.chmod(0o666)
        self.folder.chmod(0o555)
        self.addCleanup(self.folder.chmod, 0o755)
        self.refused(self.as_nobody("validate", "--fix", path.name), path,
                     "Permission denied")

    def test_a_file_that_cannot_be_written(self):
        path = self.bad()
        path.chmod(0o444)
        self.folder.chmod(0o777)
        done = self.as_nobody("validate", "--fix", path.name)
        self.assertIn("it cannot be written", done.stderr)
        self.is_kept(path)

    def test_a_full_disk_loses_nothing(self):
        path = self.write("a.jobrun.yaml", BAD + "# \n" * 12_000)
        script = ('mount -t tmpfs -o size=64k none disk && cp "$1" disk && '
                  'shift && cd disk && { "$@"; s=$?; } && ls -A >../names && '
                  'cp a.jobrun.yaml .. && exit $s')
        (self.folder / "disk").mkdir()
        if subprocess.run(["unshare", "-rm", "true"],
                          capture_output=True).returncode:
            self.skipTest("no mounts of one's own here")
        done = subprocess.run(
            ["unshare", "-rm", "sh", "-c", script, "sh", path, harness.JOBRUN,
             "validate", "--fix", "a.jobrun.yaml"], text=True,
            capture_output=True, timeout=harness.LIMIT, cwd=self.folder)
        self.expect(done, 3)
        self.assertIn("not fixed: cannot write a.jobrun.yaml: No space left",
                      done.stderr)
        self.assertEqual(path.read_text(), BAD + "# \n" * 12_000)
        self.assertEqual((self.folder / "names").read_text(),
                         "a.jobrun.yaml\n")

    def test_a_file_that_changes_meanwhile_is_left(self):
        """Somebody writes between the reading and the writing back. It is a
        race that jobrun may win, so it is run until it has not."""
        long = BAD + "# \n" * 200_000
        for _ in range(20):
            path = self.write("a.jobrun.yaml", long)
            with Closed(path) as closed:
                process = self.start("validate", "--fix", path)
                self.assertTrue(closed.wait(harness.LIMIT))
                with open(path, "a") as file:
                    file.write("x-late: 1\n")
                _, told = process.communicate(timeout=harness.LIMIT)
            self.assertTrue(path.read_text().endswith("x-late: 1\n"), told)
            if "it has changed since it was read" in told:
                self.assertEqual(path.read_text(), long + "x-late: 1\n")
                self.assertNotIn(": fixed: ", told)
                self.assertEqual(process.returncode, 3)
                return
        self.fail("the race was never lost")


class Closed:
    """Waits until a file that somebody read is closed (inotify)."""

    def __init__(self, path):
        libc = ctypes.CDLL(None, use_errno=True)
        self.fd = libc.inotify_init1(os.O_CLOEXEC)
        libc.inotify_add_watch(self.fd, os.fsencode(path), IN_CLOSE_NOWRITE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.fd)

    def wait(self, seconds):
        return bool(select.select([self.fd], [], [], seconds)[0])


class StandardInput(Case):
    def test_the_text_alone_goes_to_standard_output(self):
        text, code, told = self.fix_text((BAD + "nodes: 4x\n").encode())
        self.assertEqual((text.decode(), code), (GOOD + "nodes: 4x\n", 3))
        self.assertIn(b"stdin:3:1: fixed: 'wrold_size'", told)
        self.assertIn(b"stdin:4:8: error[JR0211]", told)
        self.assertTrue(told.endswith(b"1 error in 1 file\n"))

    def test_what_cannot_be_fixed_passes(self):
        for data in (b"", b"a: [\n", b"\xff\0", GOOD.encode()):
            with self.subTest(data):
                text, code, _ = self.fix_text(data)
                self.assertEqual((text, code),
                                 (data, 0 if data == GOOD.encode() else 3))

    def test_too_much_is_refused(self):
        text, code, told = self.fix_text(b"#" * ((1 << 20) + 1))
        self.assertEqual((text, code), (b"", 3))
        self.assertEqual(told, b"jobrun: stdin: is larger than 1 MiB\n")

    def test_it_goes_with_no_other_spec(self):
        path = self.bad()
        for words in ((path.name, "-"), ("-", path.name)):
            done = self.jobrun("validate", "--fix", *words)
            self.expect(done, 2)
            self.assertEqual(done.stdout, "")
            self.assertIn("- must be the only spec", done.stderr)
        self.is_kept(path)

    def test_a_reader_that_went_away(self):
        self.bad("in")
        read, write = os.pipe()
        os.close(read)
        with open(self.folder / "in") as file:
            done = subprocess.run(
                [harness.JOBRUN, "validate", "--fix", "-"], stdin=file,
                stdout=write, stderr=subprocess.PIPE, timeout=harness.LIMIT)
        os.close(write)
        self.assertEqual(done.returncode, 0, done.stderr)


class Said(Case):
    def count(self, lines):
        self.write("a.jobrun.yaml", GOOD + lines)
        done = self.expect(self.jobrun("validate", "a.jobrun.yaml"), 3)
        return done.stdout.splitlines()[-1]

    def test_how_many_can_be_fixed(self):
        for lines, said in (
                ("nodes: 4x\n", "1 error in 1 file"),
                ("nodes: '4'\n", "it can be fixed with --fix"),
                ("nodes: '4'\nthreads: '1'\n",
                 "all of them can be fixed with --fix"),
                ("nodes: '4'\nthreads: 1x\n",
                 "1 of them can be fixed with --fix")):
            with self.subTest(lines):
                self.assertEqual(self.count(lines), said)

    def test_data_stays_data(self):
        self.bad()
        done = self.fix("a.jobrun.yaml", "--format", "json")
        self.assertTrue(json.loads(done.stdout)["valid"])
        self.assertIn("fixed: ", done.stderr)

    def test_quiet(self):
        path = self.bad()
        done = self.fix("-q", path)
        self.assertEqual((done.stdout, done.stderr), ("", ""))
        self.is_kept(path, GOOD)

    def test_names_and_texts_cannot_forge_lines(self):
        name = "a\n::error::\x1b[2J.jobrun.yaml"
        self.write(name, GOOD + "local_world_size\u202e: 4\n")
        done = self.fix(name)
        self.assertEqual(
            done.stderr,
            "a\\x0a::error::\\x1b[2J.jobrun.yaml:4:1: fixed: "
            "'local_world_size\\xe2\\x80\\xae' -> 'local_world_size' "
            "[JR0203]\n")

    def test_only_validate_has_it(self):
        self.bad()
        self.expect(self.jobrun("plan", "--fix", "a.jobrun.yaml"), 2)


if __name__ == "__main__":
    harness.main()
