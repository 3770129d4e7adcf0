"""README.md and the guides of docs: every command that they show is run, and what
it prints is compared with what they show.

A block of code says after its language how it is held. A page is followed from
its beginning to its end, in a folder of its own:

- `file=NAME` is written to that file when the page comes to it.
- `console` has lines that begin with "$ " and are run by a shell. The lines below
  a command are all that it prints, to both streams; "..." leaves lines out. Where
  there are none, the output depends on the machine, and is not compared. The last
  command ends with `status=N`, the others with 0. Lines that begin with "HOST$ "
  are run at the same time.
- `stand-in` beside `console` needs a cluster, or changes the machine: STAND_INS has
  what is run instead of each line, or the test that runs it, and looks at what it
  prints. With the programs of FAKES in PATH, the line itself is run and compared.
- `part` is a part of a spec, which is valid with PART around it.
- `text` is no code.

Tests of their own hold the pages `failures` (test_failures.py), `from-*`
(test_origin_guides.py), and those that are made from tables.
"""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import guide
import harness

ROOT = pathlib.Path(__file__).parents[2]
LIMIT = 120  # seconds that a command may take
FILES = {"python", "yaml", "sh"}
KINDS = {"console": r"( status=\d+| stand-in( status=\d+)?)?", "text": "",
         "python": r" file=[\w./-]+", "yaml": r" (file=[\w./-]+|part)"}
PART = "version: 1\nentrypoint: [python3, train.py]\n"
PAGES = ["README", "docs/first-job", "docs/runs", "docs/slurm", "docs/ssh", "docs/nodes",
         "docs/recovery", "docs/machines", "docs/progress", "docs/frozen-code",
         "docs/versioning", "docs/sweeps", "docs/mpi", "docs/ci/README"]
# Their blocks are no commands for readers, or are held by these.
OTHERS = {"architecture": "tests/map.py", "library": "tests/install/test_install.py",
          "diagnostics": "tests/golden/run.sh", "spec": "tools/pages/main.c",
          "failures": "tests/system/test_failures.py",
          "scenarios": "tests/scenarios.py",
          "performance": "tests/bench/bench.py", "scale": "tests/bench/bench.py"}
NODE = ("SLURM_JOB_ID=4711 SLURM_STEP_ID=0 SLURM_NODEID=0 SLURM_PROCID=0 "
        "SLURM_STEP_NUM_NODES=2 SLURM_JOB_NUM_NODES=2 "
        "SLURM_STEP_NODELIST=gpu[01-02] SLURM_JOB_NODELIST=gpu[01-02] "
        "SLURM_STEP_TASKS_PER_NODE='1(x2)' ")
MPI = ("OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_RANK=0 "
       "OMPI_COMM_WORLD_LOCAL_SIZE=1 ")
# Commands that need a cluster, or that build and install: what is run instead, or,
# behind "by ", the test that runs them.
STAND_INS = {
    "tools/demo": "by tools/test",
    "tools/test": "by .ci/run",
    "python3 -m venv env": "by tests/install/test_first_minutes.py",
    ". env/bin/activate": "by tests/install/test_first_minutes.py",
    "pip install jobrun-*.whl": "by tests/install/test_first_minutes.py",
    "sbatch -N 2 --gpus-per-node 8 --wrap 'jobrun train.jobrun.yaml'":
        "jobrun train.jobrun.yaml --local -s device=cpu",
    "jobrun train.jobrun.yaml --hosts gpu01,gpu02":
        "jobrun train.jobrun.yaml --hosts localhost",
    "jobrun train.jobrun.yaml --hosts 'gpu[01-16]'":
        "jobrun plan train.jobrun.yaml --hosts 'gpu[01-16]' --on 16x0,4c",
    "ssh gpu02 jobrun prune --log-dir /scratch/runs --keep 10":
        "by tests/system/test_nodes_by_ssh.py",
    "jobrun doctor --hosts gpu01,gpu02,gpu03":
        "by tests/system/test_doctor_hosts.py",
    "salloc -N 2 jobrun train.jobrun.yaml":
        "jobrun train.jobrun.yaml --local -s device=cpu",
    "jobrun submit train.jobrun.yaml --engine slurm --wait":
        "jobrun render train.jobrun.yaml --engine slurm -s device=cpu",
    "jobrun submit train.jobrun.yaml --engine slurm":
        "by tests/system/test_frozen_code.py",
    "salloc -N 4 jobrun lr.jobrun.yaml": "by tests/system/test_sweep_nodes.py",
    "jobrun lr.jobrun.yaml --hosts gpu01,gpu02":
        "by tests/system/test_sweep_hosts.py",
    "srun --ntasks-per-node=1 jobrun train.jobrun.yaml":
        NODE + "jobrun plan train.jobrun.yaml",
    "mpirun --map-by ppr:1:node jobrun train.jobrun.yaml --run-id exp2":
        MPI + "jobrun plan train.jobrun.yaml",
    "pbsdsh -- jobrun train.jobrun.yaml --run-id \"exp1-$PBS_JOBID\"":
        "jobrun plan train.jobrun.yaml --node-rank 0",
}
# Programs of a cluster: what they do where a page shows what comes of it.
FAKES = {
    "jobrun train.jobrun.yaml --hosts gpu01,gpu02": {"ssh": """\
case "$*" in
-G*) exit ;;
*" -- gpu02 "*)
    echo 'train@gpu02: Permission denied (publickey,password).' >&2; exit 255 ;;
esac
for command; do :; done
exec sh -c "$command"
"""},
    "jobrun submit lr.jobrun.yaml --engine slurm --parallel 4 --on 1x8:H100":
        {"sbatch": "[ \"$1\" = --help ] || echo 4711\n"},
}
# Lines of code in no block, and the tests that run them.
INDENTED = {("README", "pip install ."): "tests/install/test_wheel.py",
            ("README", "cmake -S . -B build && cmake --build build"): ".ci/run"}
# A run that ends only when it is stopped.
LIVE = "jobrun -n 1 --detach -- sleep 100 && "
# README.md's table of commands, and what is run for each line of it.
ROWS = {
    "jobrun SPEC": "jobrun train.jobrun.yaml",
    "jobrun -n 4 -- ./program":
        "cp /bin/true program; jobrun -n 4 -- ./program",
    "jobrun validate PATH...": "jobrun validate . train.jobrun.yaml",
    "jobrun resolve SPEC --explain": "jobrun resolve train.jobrun.yaml --explain",
    "jobrun plan SPEC --on 2x8:H100": "jobrun plan train.jobrun.yaml --on 2x1:H100",
    "jobrun new torch": "jobrun new torch",
    "jobrun new --from 'torchrun ...'":
        "jobrun new --from 'torchrun --nproc-per-node 2 train.py'",
    "jobrun SPEC --debug 3": "script -qec 'jobrun train.jobrun.yaml --debug 1' log",
    "jobrun runs": "jobrun runs",
    "jobrun show": "jobrun show",
    "jobrun logs -f": "jobrun logs -f",
    "jobrun top":
        LIVE + "{ jobrun top latest >top.txt & } && "
        "until grep -q live top.txt; do sleep 0.05; done; jobrun stop; wait",
    "jobrun report RUN --format html -o r.html":
        "jobrun report latest --format html -o r.html && test -s r.html",
    "jobrun SPEC --detach": "jobrun train.jobrun.yaml --detach && jobrun wait",
    "jobrun wait": "jobrun train.jobrun.yaml --detach && jobrun wait",
    "jobrun prune": "jobrun prune",
    "jobrun submit SPEC --engine slurm":
        "jobrun render train.jobrun.yaml --engine slurm -s device=cpu",
    "jobrun render SPEC --engine slurm":
        "jobrun render train.jobrun.yaml --engine slurm -s device=cpu",
    "jobrun rerun RUN": "jobrun rerun latest",
    "jobrun diff A B": "jobrun diff latest train.jobrun.yaml",
    "jobrun diff --rev main specs":
        "mkdir specs && cp train.jobrun.yaml specs && git init -qb main . && "
        "git add specs && git -c user.name=a -c user.email=a@b commit -qm a && "
        "jobrun diff --rev main specs",
    "jobrun explain JR0310": "jobrun explain JR0310",
    "jobrun stop": LIVE + "jobrun stop && jobrun runs | grep -q stopped",
    "salloc -N 2 jobrun SPEC": "jobrun train.jobrun.yaml --local",
}


def name_of(page):
    return ROOT / (page + ".md")


class Guides(harness.Case):
    maxDiff = None
    page = None

    def environment(self):
        path = os.pathsep.join([str(pathlib.Path(harness.JOBRUN).parent),
                                os.environ["PATH"]])
        who = {f"GIT_{role}_{what}": text for role in ("AUTHOR", "COMMITTER")
               for what, text in (("NAME", "a"), ("EMAIL", "a@example.org"))}
        return harness.clean_environment(PATH=path, **who)

    def shell(self):
        """One to which the hosts of the pages are known, as this machine, in a mount
        namespace of its own; the host itself is not asked about them."""
        hosts = self.write("../hosts", "127.0.0.1 localhost gpu01 gpu02\n")
        return ["unshare", "-m" if os.geteuid() == 0 else "-rm", "/bin/sh", "-c",
                f"mount --bind '{hosts}' /etc/hosts && exec /bin/sh -c \"$0\""]

    def run_command(self, command, **more):
        """Its exit status and all that it printed; what does not end is stopped."""
        shell = self.shell() if self.page == "docs/nodes" else ["/bin/sh", "-c"]
        done = subprocess.run(
            ["timeout", "--kill-after=30", str(LIMIT), *shell, command],
            cwd=self.folder, text=True, env={**self.environment(), **more},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, timeout=LIMIT + 60)
        return done.returncode, done.stdout

    def run_with_fakes(self, command, expected, code):
        """The line itself, beside programs that are told what to do."""
        with tempfile.TemporaryDirectory() as folder:
            for name, text in FAKES[command].items():
                path = pathlib.Path(folder) / name
                path.write_text("#!/bin/sh\n" + text)
                path.chmod(0o755)
            told = self.run_command(command, PATH=os.pathsep.join(
                [folder, self.environment()["PATH"]]))
        self.compare(command, expected, code, told)

    def run_stand_in(self, command):
        instead = STAND_INS[command]
        if not instead.startswith("by "):
            code, output = self.run_command(instead)
            self.assertEqual(code, 0, f"{instead}\n{output}")

    def compare(self, command, expected, code, told):
        self.assertEqual(told[0], code, f"{command}\n{told[1]}")
        if not expected:
            return
        expected = guide.same(expected)
        actual = guide.same(told[1].splitlines(), self.folder)
        self.assertNotEqual(set(expected), {guide.LEFT_OUT}, command)
        if not guide.shows(expected, actual):
            self.assertEqual("\n".join(expected), "\n".join(actual), command)

    def run_console(self, words, body):
        found = guide.commands(body)
        codes = [0] * (len(found) - 1) + [int(words.get("status", 0))]
        together = bool(found[0][0])
        self.assertEqual({bool(host) for host, _, _ in found}, {together})
        with concurrent.futures.ThreadPoolExecutor(
                len(found) if together else 1) as pool:
            told = pool.map(self.run_command, [one[1] for one in found])
            for (_, command, expected), code, what in zip(found, codes, told):
                while expected and not expected[-1]:
                    expected.pop()  # an empty line before the next command
                self.compare(command, expected, code, what)

    def write_file(self, name, body):
        """Ports of several nodes are stated: here, one that is free."""
        self.write(name, body.replace("29500", str(self.port)))

    def run_block(self, language, words, body):
        if "file" in words:
            self.write_file(words["file"], body)
        elif "part" in words:
            self.write_file("part.jobrun.yaml", PART + body)
            code, output = self.run_command("jobrun validate part.jobrun.yaml")
            self.assertEqual(code, 0, output)
            (self.folder / "part.jobrun.yaml").unlink()  # no file of the page
        elif "stand-in" in words:
            for _, command, expected in guide.commands(body):
                if command in FAKES and expected:
                    self.run_with_fakes(command, expected,
                                        int(words.get("status", 0)))
                else:
                    self.run_stand_in(command)
        elif language == "console":
            self.run_console(words, body)

    def follow(self, page):
        self.port, self.page = harness.free_port(), page
        for number, block in enumerate(guide.blocks(name_of(page).read_text())):
            with self.subTest(page=page, block=number):
                self.run_block(*block)

    def test_every_page_is_held(self):
        """A new page is followed, or says what holds it."""
        pages = {path.stem for path in (ROOT / "docs").glob("*.md")
                 if not path.stem.startswith("from-")}
        followed = {page.partition("/")[2] for page in PAGES}
        self.assertEqual(pages - followed, set(OTHERS))
        for path in OTHERS.values():
            self.assertTrue((ROOT / path).is_file(), path)

    def test_every_block_is_of_a_known_kind(self):
        for page in PAGES:
            text = name_of(page).read_text()
            found = guide.BLOCK.findall(text)
            self.assertEqual(len(guide.FENCE.findall(text)), 2 * len(found), page)
            for language, words, body in found:
                self.assertIn(language, KINDS, page)
                self.assertRegex(words, f"^({KINDS[language]})$", page)
                if language == "console":
                    self.assertRegex(body, guide.PROMPT, page)

    def test_no_command_is_outside_of_a_block(self):
        """Indented code would be followed by nobody. What README.md says of
        building and installing is run by tests of their own."""
        lines = {(page, line) for page in PAGES
                 for line in re.findall(
                     r"^    (\S.*)$",
                     guide.BLOCK.sub("", name_of(page).read_text()), re.M)}
        self.assertEqual(lines, set(INDENTED))

    def test_every_stand_in_is_used_and_each_test_is_there(self):
        shown = [(command, bool(expected)) for page in PAGES
                 for language, words, body in guide.blocks(name_of(page).read_text())
                 if "stand-in" in words
                 for _, command, expected in guide.commands(body)]
        alone = {command for command, told in shown if told}
        self.assertEqual(alone - set(STAND_INS), set(FAKES) - set(STAND_INS))
        self.assertEqual({command for command, told in shown
                          if not (told and command in FAKES)}, set(STAND_INS))
        for command in alone - set(FAKES):  # what it prints is looked at there
            self.assertTrue(STAND_INS[command].startswith("by "), command)
        tests = [instead[3:] for instead in STAND_INS.values()
                 if instead.startswith("by ")]
        for path in [*tests, *INDENTED.values()]:
            self.assertTrue((ROOT / path).is_file(), path)

    def test_every_command_of_the_table_is_run(self):
        """Also those in the lines of README.md's table of commands."""
        self.follow("README")
        text = name_of("README").read_text()
        table = [line.split("|")[1] for line in text.splitlines()
                 if line.startswith("| `")]
        shown = {command for cell in table
                 for command in re.findall(r"`((?:salloc .*)?jobrun [^`]*)`", cell)}
        self.assertEqual(shown, set(ROWS))
        for command in sorted(shown):
            with self.subTest(command=command):
                code, output = self.run_command(ROWS[command])
                self.assertEqual(code, 0, output)

    def test_links_lead_somewhere(self):
        for page in PAGES:
            for link in re.findall(r"\]\(([^)#]+)[^)]*\)", name_of(page).read_text()):
                if "://" not in link:
                    self.assertTrue((name_of(page).parent / link).exists(), link)


class Comparison(unittest.TestCase):
    """What a page shows wrongly is seen, and what differs by chance is not."""

    def shows(self, page, told):
        return guide.shows(guide.same(page.splitlines()),
                           guide.same(told.splitlines(), "/tmp/x"))

    def test_what_is_wrong_is_seen(self):
        for page, told in (("a\n", ""), ("", "a\n"), ("a\n", "b\n"),
                           ("a\n", "a\nb\n"), ("...\na\n", "b\n"),
                           ("...\na\n", "a\nb\n"), ("a\n...\nc\n", "a\nb\n"),
                           ("[0] a\n[1] b\n", "[0] b\n[1] a\n"),
                           ("loss 0.5\n", "loss 0.6\n"),
                           ("exit status 5\n", "exit status 6\n"),
                           ("rank 1 has 2\n", "rank 2 has 2\n"),
                           ("[0] a\nend\n[1] b\n", "[1] b\nend\n[0] a\n")):
            self.assertFalse(self.shows(page, told), (page, told))

    def test_chance_is_not(self):
        for page, told in (("", ""), ("...\n", ""), ("...\nb\n", "a\nb\n"),
                           ("a\n...\n", "a\nb\nc\n"),
                           ("[0] a\n[1] b\nx\n", "[1] b\n[0] a\nx\n"),
                           ("in 84 ms: 2 ranks", "in 1.2 s: 2 ranks"),
                           ("/jobs/runs", "/tmp/x/runs"),
                           ("127.0.0.1:29500\n", "127.0.0.1:29507\n"),
                           ("20261121-063012-t-3f9c", "20271121-063013-t-91bc")):
            self.assertTrue(self.shows(page, told), (page, told))


def add_tests():
    """A test for each page, by its name."""
    for page in PAGES:
        name = re.sub(r"\W", "_", page.lower())

        def test(self, page=page):
            self.follow(page)
        setattr(Guides, "test_page_" + name, test)


add_tests()

if __name__ == "__main__":
    harness.main()
