"""`code: freeze`: ranks, setup and on_end run in a copy of the work tree that is
the run's own, and what is edited after the start reaches none of them."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import unittest

import harness
import test_code_record as record

SPEC = """\
version: 1
name: t
device: cpu
world_size: 1
log_dir: ../runs
"""


def spec(entrypoint, more="code: freeze\n"):
    return SPEC + more + f"entrypoint: {json.dumps(entrypoint)}\n"


class Case(record.Case):
    def freeze(self, entrypoint, more="code: freeze\n", **options):
        """Run the spec; the repository stays as it is. Returns what run.json has
        about the code."""
        self.put("t.jobrun.yaml", spec(entrypoint, more))
        code = self.run_here(**options)
        self.copy = self.last.resolve() / "code"
        return code

    def refused(self, *parts, status=4, entrypoint=("true",), more=None,
                env=None):
        self.put("t.jobrun.yaml", spec(list(entrypoint),
                                       more or "code: freeze\n"))
        before = record.state_of(self.tree)
        done = self.expect(
            self.jobrun("t.jobrun.yaml", cwd=self.tree,
                        env={"HOME": str(self.folder), **(env or {})}), status)
        self.assertEqual(record.state_of(self.tree), before)
        for part in parts:
            self.assertIn(part, done.stderr)
        self.no_runs()
        return done

    def no_runs(self):
        runs = self.folder / "runs"
        self.assertEqual([path for path in runs.glob("[!.]*")], [])

    def log(self, name="attempt_0/0/stdout.log"):
        return (self.last / name).read_text()


class Copy(Case):
    def test_ranks_setup_and_on_end_run_in_it(self):
        code = self.freeze(
            {"shell": "pwd; cat train.py; echo out >made.txt"},
            "code: freeze\nsetup: pwd >&2\n"
            "on_end: [sh, -c, 'pwd; cat train.py']\n")
        self.assertEqual(self.log(), f"{self.copy}\nprint(1)\n")
        self.assertIn(f"{self.copy}\n", self.log("attempt_0/setup.log"))
        self.assertEqual(self.log("on_end.log"), f"{self.copy}\nprint(1)\n")
        self.assertEqual((self.copy / "made.txt").read_text(), "out\n")
        self.assertIs(code["frozen"], True)
        self.assertEqual(code["top"], str(self.tree))
        self.assertEqual(code["files"], 4)
        self.assertEqual(code["links"], [])
        self.assertFalse((self.copy / ".git").exists())
        self.assertIn("; frozen: 4 files, ", self.jobrun(
            "show", "--log-dir", "../runs", cwd=self.tree).stdout)

    def test_an_edit_after_the_start_reaches_no_rank(self):
        """Nor a restart, nor on_end."""
        gate = self.folder / "gate"
        os.mkfifo(gate)
        self.put("t.jobrun.yaml", spec(
            {"shell": f"echo >'{gate}'; read x <'{gate}'; cat train.py; "
                      "exit $((1 - JOBRUN_ATTEMPT))"},
            "code: freeze\nrestart: {max: 1, backoff: 0}\n"
            "on_end: [cat, lib/model.py]\n"))
        job = self.start("t.jobrun.yaml", cwd=self.tree)
        for attempt in range(2):
            gate.read_text()
            self.put("train.py", "print('edited')\n")
            self.put("lib/model.py", "LAYERS = 99\n")
            gate.write_text("go\n")
        self.assertEqual(job.wait(harness.LIMIT), 0, job.stderr.read())
        self.last = self.folder / "runs" / "latest"
        for attempt in range(2):
            self.assertEqual(self.log(f"attempt_{attempt}/0/stdout.log"),
                             "print(1)\n")
        self.assertEqual(self.log("on_end.log"), "LAYERS = 2\n")

    def test_the_copy_is_the_tree_that_is_recorded(self):
        """As git hashes it, whatever is changed, new or gone."""
        self.put("train.py", "print(2)\n").chmod(0o755)
        self.put("new/a \"b\"\n.py", "N = 1\n")
        (self.tree / "lib/model.py").unlink()
        os.symlink("train.py", self.tree / "main.py")
        self.put("big.dat", b"x" * (3 << 20))
        code = self.freeze(["true"])
        env = {"GIT_DIR": str(self.tree / ".git"),
               "GIT_WORK_TREE": str(self.copy),
               "GIT_INDEX_FILE": str(self.folder / "index")}
        run = lambda *words: subprocess.run(
            ["git", *words], cwd=self.copy, check=True, capture_output=True,
            text=True, env=harness.clean_environment(**env)).stdout
        run("add", "-A")
        run("rm", "-q", "--cached", "t.jobrun.yaml")
        self.assertEqual(run("write-tree").strip(), code["tree"])
        self.assertEqual((self.copy / "train.py").stat().st_mtime_ns,
                         (self.tree / "train.py").stat().st_mtime_ns)

    def test_relative_paths_mean_the_copy(self):
        self.put("lib/where.py", "import os, here\n"
                 "print(os.getcwd()); print(here.__file__)\n")
        self.put("pkg/here.py", "")
        self.freeze({"python": {"script": "lib/where.py"}},
                    "code: freeze\nworkdir: lib\n",
                    env={"PYTHONPATH": str(self.tree / "pkg")})
        self.assertEqual(self.log(), f"{self.copy}/lib\n"
                                     f"{self.copy}/pkg/here.py\n")

    def test_a_work_tree_by_way_of_a_link(self):
        os.symlink(self.tree, self.folder / "other")
        self.put("t.jobrun.yaml", spec(["cat", "train.py"]))
        self.expect(self.jobrun("other/t.jobrun.yaml"), 0)
        plan = json.loads((self.folder / "runs/latest/plan.json").read_text())
        self.assertTrue(plan["ranks"][0]["workdir"].endswith("/code"))

    def test_a_workdir_by_rank(self):
        for rank in (0, 1):
            self.put(f"r{rank}/f", f"{rank}\n")
        self.put("t.jobrun.yaml", spec(
            ["cat", "f"], "code: freeze\nworkdir: r%{rank}\n").replace(
                "world_size: 1", "world_size: 2"))
        self.expect(self.jobrun("t.jobrun.yaml", cwd=self.tree), 0)
        self.last = self.folder / "runs/latest"
        for rank in (0, 1):
            self.assertEqual(self.log(f"attempt_0/{rank}/stdout.log"),
                             f"{rank}\n")

    def test_a_log_dir_within_the_tree(self):
        self.put("t.jobrun.yaml", spec(["pwd"]).replace("../runs", "runs"))
        for _ in range(2):
            self.expect(self.jobrun("t.jobrun.yaml", cwd=self.tree), 0)
        copy = (self.tree / "runs/latest").resolve() / "code"
        self.assertFalse((copy / "runs").exists())
        self.assertTrue((copy / "train.py").exists())


class Links(Case):
    def setUp(self):
        super().setUp()
        self.put("data/set.txt", "1\n")
        self.put("lib/w.bin", "2\n")
        self.put(".gitignore", "data/\n*.bin\n__pycache__/\nbuilt\n")
        self.put("__pycache__/x.pyc", "")
        self.put("built", "#!/bin/sh\necho built\n").chmod(0o755)
        self.commit()

    def test_ignored_ones_lead_to_the_original(self):
        code = self.freeze({"shell": "cat data/set.txt lib/w.bin; ./built; "
                                     "echo 3 >data/more.txt"})
        self.assertEqual(self.log(), "1\n2\nbuilt\n")
        for name in ("data", "lib/w.bin", "built"):
            self.assertEqual(os.readlink(self.copy / name),
                             str(self.tree / name))
        self.assertFalse((self.copy / "__pycache__").exists())
        self.assertEqual(sorted(code["links"]),
                         ["built", "data/", "lib/w.bin"])
        self.assertEqual(code["links_count"], 3)
        self.assertIn("and links to the original: ", self.jobrun(
            "show", "--log-dir", "../runs", cwd=self.tree).stdout)

    def run_here(self, *words, **options):
        """Ranks may write where links lead."""
        before = record.state_of(self.tree / ".git")
        done = self.expect(self.jobrun("t.jobrun.yaml", *words, cwd=self.tree,
                                       env=options.get("env")), 0)
        self.assertEqual(record.state_of(self.tree / ".git"), before)
        self.said = done.stderr
        self.last = self.folder / "runs" / "latest"
        with open(self.last / "run.json") as file:
            return json.load(file)["code"]

    def test_the_spec_says_which(self):
        code = self.freeze(["true"],
                           "code: {mode: freeze, link: [data]}\n")
        self.assertEqual(code["links"], ["data"])
        self.assertFalse((self.copy / "built").exists())
        code = self.freeze(["true"], "code: {mode: freeze, link: none}\n")
        self.assertEqual(code["links"], [])
        self.assertFalse((self.copy / "data").exists())

    def test_wrong_links(self):
        for link, why in (("lib/model.py", "it is in the copy already"),
                          ("lib", "it is in the copy already"),
                          ("../runs", "is not in the work tree"),
                          ("nothing", "No such file"),
                          ("data, data/set.txt", "it is in the copy already")):
            self.refused(why, more="code: {mode: freeze, link: [%s]}\n" % link)
        self.assertEqual(os.listdir(self.tree / "data"), ["set.txt"])

    def test_a_folder_that_is_not_in_the_copy(self):
        self.refused("data is not in the copy", more="workdir: data\n"
                     "code: {mode: freeze, link: [built]}\n")

    def test_plan_lists_them(self):
        self.put("t.jobrun.yaml", spec(["true"]))
        before = record.state_of(self.tree)
        done = self.expect(self.jobrun("plan", "t.jobrun.yaml",
                                       cwd=self.tree), 0)
        self.assertIn(f"code      a copy of {self.tree}\n", done.stdout)
        self.assertIn("links     built, data/, lib/w.bin (git ignores these: "
                      "they are not frozen)\n", done.stdout)
        found = json.loads(self.jobrun("plan", "t.jobrun.yaml", "--json",
                                       cwd=self.tree).stdout)
        self.assertEqual(found["code"], {"top": str(self.tree), "links": [
            "built", "data/", "lib/w.bin"]})
        self.assertEqual(record.state_of(self.tree), before)
        self.assertFalse((self.folder / "runs").exists())

    def test_links_of_the_tree(self):
        """Within the tree they lead to the copy, out of it to where they led."""
        outside = self.folder / "outside"
        outside.mkdir()
        (outside / "f").write_text("outside\n")
        for name, target in (("in", "lib/model.py"), ("lib/up", "../train.py"),
                             ("lib/abs", str(self.tree / "train.py")),
                             ("lib/out", "../../outside/f"),
                             ("absout", str(outside / "f")),
                             ("folder", "lib"), ("dangling", "nowhere"),
                             ("through", "data/set.txt")):
            os.symlink(target, self.tree / name)
        self.commit()
        code = self.freeze(["true"])
        for name, target in (("in", "lib/model.py"), ("lib/up", "../train.py"),
                             ("lib/abs", "../train.py"),
                             ("lib/out", f"{self.tree}/lib/../../outside/f"),
                             ("absout", str(outside / "f")),
                             ("folder", "lib"), ("dangling", "nowhere"),
                             ("through", "data/set.txt")):
            self.assertEqual(os.readlink(self.copy / name), target, name)
        self.assertEqual((self.copy / "lib/out").read_text(), "outside\n")
        self.assertEqual((self.copy / "through").read_text(), "1\n")
        self.assertEqual({path for path, why in self.left_out(code).items()
                          if why == "link"}, {"lib/out", "absout"})

    def test_a_folder_that_became_a_link(self):
        """Its tracked files are gone, and nothing is written where it leads."""
        outside = self.folder / "outside"
        outside.mkdir()
        (outside / "model.py").write_text("PRIVATE = 1\n")
        shutil.rmtree(self.tree / "lib")
        os.symlink(outside, self.tree / "lib")
        self.freeze(["true"])
        self.assertEqual(os.readlink(self.copy / "lib"), str(outside))
        self.assertEqual(os.listdir(outside), ["model.py"])


class Inside(Case):
    """Repositories in the repository, and trees that are not whole."""

    def setUp(self):
        super().setUp()
        self.put("t.jobrun.yaml", spec(["true"]))
        self.commit()

    def run_copy(self):
        self.run_here()
        return (self.last / "code").resolve()

    def test_a_submodule_and_an_untracked_repository(self):
        self.make_submodule()
        self.put("sub/o.py", "O = 2\n")
        self.put("sub/new.py", "N = 1\n")
        nested = self.tree / "nested"
        nested.mkdir()
        self.git("init", "-q", cwd=nested)
        (nested / "n.py").write_text("N = 1\n")
        (nested / ".gitignore").write_text("*.o\n")
        (nested / "x.o").write_text("")
        copy = self.run_copy()
        self.assertEqual((copy / "sub/o.py").read_text(), "O = 2\n")
        self.assertTrue((copy / "sub/new.py").exists())
        self.assertFalse((copy / "sub/.git").exists())
        self.assertTrue((copy / "nested/n.py").exists())
        self.assertFalse((copy / "nested/.git").exists())
        self.assertEqual(os.readlink(copy / "nested/x.o"),
                         str(nested / "x.o"))

    def test_what_a_sparse_checkout_leaves_out(self):
        self.git("sparse-checkout", "set", "--cone", "none")
        copy = self.run_copy()
        self.assertTrue((copy / "train.py").exists())
        self.assertFalse((copy / "lib").exists())

    def test_pointers_of_lfs(self):
        self.put(".gitattributes", "*.pt filter=lfs diff=lfs -text\n")
        pointer = ("version https://git-lfs.github.com/spec/v1\n"
                   f"oid sha256:{'0' * 64}\nsize 5\n")
        self.put("p.pt", pointer)
        self.put("w.pt", pointer)
        self.commit()
        self.put("w.pt", "12345")
        copy = self.run_copy()
        self.assertEqual((copy / "p.pt").read_text(), pointer)
        self.assertEqual((copy / "w.pt").read_text(), "12345")

    def test_conflicts_and_special_files(self):
        self.git("checkout", "-q", "-b", "other")
        self.put("train.py", "print('other')\n")
        self.commit()
        self.git("checkout", "-q", "-")
        self.put("train.py", "print('mine')\n")
        self.commit()
        with self.assertRaises(subprocess.CalledProcessError):
            self.git("merge", "-q", "other")
        os.mkfifo(self.tree / "pipe")
        (self.tree / "lib/model.py").unlink()
        os.mkfifo(self.tree / "lib/model.py")
        copy = self.run_copy()
        self.assertIn("<<<<<<<", (copy / "train.py").read_text())
        self.assertFalse((copy / "pipe").exists())
        self.assertFalse((copy / "lib/model.py").exists())


class Secrets(Case):
    def test_an_untracked_file_with_a_secret(self):
        """It is nowhere; an ignored one is only a link, a tracked one code."""
        secret = "sk-0123456789abcdef"
        self.put(".env", f"API_TOKEN={secret}\n")
        self.put("large.env", "x\n" * 400000 + f"API_TOKEN={secret}\n")
        self.put("more.env", "y\n" * 400000 + f"API_TOKEN={secret}\n")
        self.put("private/.env", f"API_TOKEN={secret}\n")
        self.put(".gitignore", "private/\n")
        code = self.freeze({"shell": "ls -a; test -e private/.env"})
        left_out = self.left_out(code)
        for name in (".env", "large.env", "more.env"):
            self.assertEqual(left_out[name], "secret")
            self.assertFalse((self.copy / name).exists())
        for folder, names, files in os.walk(self.last.resolve()):
            for name in files:
                path = pathlib.Path(folder, name)
                self.assertNotIn(secret.encode(), path.read_bytes(), path)
        self.assertTrue((self.copy / "private").is_symlink())


class Refused(Case):
    def test_no_work_tree(self):
        shutil.rmtree(self.tree / ".git")
        self.refused(f"code: freeze: {self.tree} is in no git work tree",
                     "git init")
        done = self.expect(self.jobrun("plan", "t.jobrun.yaml",
                                       cwd=self.tree), 4)
        self.assertIn("is in no git work tree", done.stderr)

    def test_no_git(self):
        self.refused("no git program was found",
                     entrypoint=["/bin/true"], env={"PATH": str(self.folder)})

    @unittest.skipIf(os.geteuid() != 0, "SKIPPED: only root can give files away")
    def test_a_repository_of_somebody_else(self):
        self.put("t.jobrun.yaml", spec(["true"]))
        for path in [self.tree, *self.tree.rglob("*")]:
            os.lchown(path, 12345, 12345)
        self.refused("belongs to 12345", "safe.directory")

    def test_too_much_that_is_untracked(self):
        with open(self.tree / "a.dat", "w") as file:
            file.truncate(5 << 30)
        self.put("t.jobrun.yaml", spec(["true"]))
        for words in ((), ("plan",)):
            done = self.expect(self.jobrun(*words, "t.jobrun.yaml",
                                           cwd=self.tree), 4)
            for part in ("5120.0 MiB of files", "a.dat (5120.0 MiB)",
                         ".gitignore"):
                self.assertIn(part, done.stderr)
        self.no_runs()
        self.put(".gitignore", "*.dat\n")
        self.expect(self.jobrun("t.jobrun.yaml", cwd=self.tree), 0)
        self.assertTrue((self.folder / "runs/latest/code/a.dat").is_symlink())

    def test_a_file_that_cannot_be_read(self):
        path = self.put("locked.py", "1\n")
        self.commit()
        path.chmod(0)
        if os.access(path, os.R_OK):
            self.skipTest("SKIPPED: this user reads everything")
        self.refused("locked.py", status=7)

    def test_a_full_disk(self):
        """Here by the limit of a file: nothing is left of the run."""
        self.put("large.dat", b"x" * (2 << 20))
        self.commit()
        self.put("t.jobrun.yaml", spec(["true"]))
        done = subprocess.run(
            ["bash", "-c", "ulimit -f 1000; exec \"$0\" t.jobrun.yaml",
             harness.JOBRUN], cwd=self.tree, text=True, capture_output=True,
            env=harness.clean_environment(), timeout=harness.LIMIT,
            stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, 7, done.stderr)
        self.assertIn("large.dat could not be copied: File too large",
                      done.stderr)
        self.no_runs()

    def test_a_signal_while_git_hangs(self):
        mark = self.folder / "mark"
        os.mkfifo(mark)
        slow = self.folder / "slow"
        slow.mkdir()
        (slow / "git").write_text(f"#!/bin/sh\necho >'{mark}'\n"
                                  "exec sleep 600\n")
        (slow / "git").chmod(0o755)
        self.put("t.jobrun.yaml", spec(["true"]))
        job = self.start("t.jobrun.yaml", cwd=self.tree,
                         env={"PATH": f"{slow}:{os.environ['PATH']}"})
        mark.read_text()
        job.send_signal(signal.SIGINT)
        said = job.communicate(timeout=harness.LIMIT)[1]
        self.assertIn("git was stopped by a signal", said)
        self.no_runs()


    def test_an_engine_that_starts_ranks_itself(self):
        self.put("t.jobrun.yaml", spec(["true"]))
        done = self.expect(self.jobrun("render", "t.jobrun.yaml", "--engine",
                                       "mpi", cwd=self.tree), 4)
        self.assertIn("--set code=record", done.stderr)


class Space(Case):
    """What copies take, where they are, and how they go."""

    def run_as(self, name, more="code: freeze\n"):
        self.put("t.jobrun.yaml", spec(["true"], more))
        self.expect(self.jobrun("t.jobrun.yaml", "--run-id", name,
                                cwd=self.tree), 0)

    def ask(self, *words, code=0):
        return self.expect(self.jobrun(*words, "--log-dir", "../runs",
                                       cwd=self.tree), code)

    def test_runs_show_and_prune(self):
        self.put("large.dat", b"x" * (3 << 20))
        (self.tree / "deep").mkdir()
        path = self.tree
        for _ in range(70):
            path = path / "d"
        path.mkdir(parents=True)
        (path / "f").write_text("")
        self.put("run.json", "{}")
        self.commit()
        self.run_as("a")
        self.run_as("b", "")
        self.run_as("c")
        lines = self.ask("runs").stdout.splitlines()
        self.assertEqual([line.endswith("(code: 3.0 MiB)")
                          for line in lines[1:]], [True, False, True])
        sizes = {run["run_id"]: run["code_bytes"] for run in
                 json.loads(self.ask("runs", "--json").stdout)["runs"]}
        self.assertIsNone(sizes["b"])
        self.assertGreater(sizes["a"], 3 << 20)
        self.assertEqual(self.ask("show", "a", "--code").stdout,
                         f"{self.folder}/runs/a/code\n")
        self.assertIn("run b has no copy of its code: it was not frozen",
                      self.ask("show", "b", "--code", code=2).stderr)
        done = self.ask("prune", "--code", "--keep", "1", "--dry-run")
        self.assertEqual(done.stdout, "a\n")
        self.assertTrue((self.folder / "runs/a/code").exists())
        done = self.ask("prune", "--code")
        self.assertEqual(done.stdout.split(), ["c", "a"])
        self.assertIn("removed the copied code of 2 runs (", done.stderr)
        for name in "abc":
            folder = self.folder / "runs" / name
            self.assertFalse((folder / "code").exists())
            self.assertFalse((folder / "code.files").exists())
            self.assertTrue((folder / "results.json").exists())
        self.assertIn("its copy was removed; its record has the commit",
                      self.ask("show", "a", "--code", code=2).stderr)
        self.assertNotIn("(code:", self.ask("runs").stdout)
        self.assertEqual(self.ask("prune", "--code").stdout, "")
        self.assertTrue((self.tree / "large.dat").exists())

    def test_a_run_that_goes_on_keeps_its_copy(self):
        gate = self.folder / "gate"
        os.mkfifo(gate)
        self.put("t.jobrun.yaml", spec({"shell": f"echo >'{gate}'; "
                                        f"read x <'{gate}'; cat train.py"}))
        job = self.start("t.jobrun.yaml", cwd=self.tree)
        gate.read_text()
        done = self.ask("prune", "--code")
        self.assertIn("1 that has not finished was left alone", done.stderr)
        gate.write_text("go\n")
        self.assertEqual(job.wait(harness.LIMIT), 0)

    def test_links_are_not_followed(self):
        self.put("data/set.txt", "1\n")
        self.run_as("a")
        self.ask("prune", "--code")
        self.assertTrue((self.tree / "data/set.txt").exists())
        self.run_as("b")
        self.ask("prune", "--keep", "0")
        self.assertTrue((self.tree / "data/set.txt").exists())


class Again(Case):
    """`rerun --code`: the code of then, whatever the tree is by now."""

    def run_as(self, name, more="code: freeze\n", entrypoint=None):
        self.put("t.jobrun.yaml", spec(
            entrypoint or {"shell": "cat train.py new.py; echo x >>made"},
            more))
        self.expect(self.jobrun("t.jobrun.yaml", "--run-id", name,
                                cwd=self.tree), 0)

    def record_of(self, name):
        return json.loads((self.folder / f"runs/{name}/run.json").read_text())

    def again(self, run, name, *words, code=0):
        before = record.state_of(self.tree)
        done = self.expect(self.jobrun(
            "rerun", run, *words, "--run-id", name, "--log-dir", "../runs",
            cwd=self.tree), code)
        self.assertEqual(record.state_of(self.tree), before)
        self.last = self.folder / "runs" / name
        return done

    def edit(self):
        self.put("train.py", "print('edited')\n")
        (self.tree / "new.py").unlink()
        self.commit()

    def change(self):
        self.put("train.py", "print(2)\n")
        self.put("new.py", "N = 1\n")
        self.put("image.png", bytes(range(256)))
        os.symlink("../../outside", self.tree / "lib/out")

    def check(self, run, name):
        self.assertEqual(self.log(), "print(2)\nN = 1\n")
        then, now = (self.record_of(one)["code"] for one in (run, name))
        for key in ("commit", "tree", "dirty", "patch", "left_out", "top"):
            self.assertEqual(now[key], then[key], key)
        self.assertIs(now["frozen"], True)
        self.assertEqual((self.folder / f"runs/{run}/code.patch").read_text(),
                         (self.folder / f"runs/{name}/code.patch").read_text())
        copy = self.folder / f"runs/{name}/code"
        self.assertEqual(os.readlink(copy / "lib/out"),
                         f"{self.tree}/lib/../../outside")
        self.assertTrue(self.jobrun(
            "diff", run, name, "--log-dir", "../runs",
            cwd=self.tree).stdout.endswith("the same experiment\n"))

    def test_from_the_copy(self):
        self.change()
        self.put("data/set.txt", "1\n")
        self.run_as("a")
        self.edit()
        self.again("a", "b", "--code")
        self.check("a", "b")
        self.assertEqual((self.last / "code/made").read_text(), "x\n")
        self.assertEqual(os.readlink(self.last / "code/data"),
                         str(self.tree / "data"))
        self.again("b", "c", "--code")
        self.check("a", "c")
        # Plain, it is the tree of now.
        self.put("new.py", "N = 2\n")
        self.again("a", "d")
        self.assertEqual(self.log(), "print('edited')\nN = 2\n")

    def test_from_commit_and_patch(self):
        self.change()
        self.run_as("a", "")
        (self.tree / "made").unlink()
        self.edit()
        self.put("data/set.txt", "1\n")
        self.again("a", "b", "--code")
        self.check("a", "b")
        self.assertEqual(os.readlink(self.last / "code/data"),
                         str(self.tree / "data"))
        self.assertFalse((self.last / "code.tmp").exists())

    def test_without_a_commit(self):
        shutil.rmtree(self.tree / ".git")
        self.git("init", "-q")
        self.change()
        self.run_as("a", "")
        (self.tree / "made").unlink()
        self.edit()
        self.again("a", "b", "--code")
        self.check("a", "b")

    def test_a_copy_that_was_removed(self):
        self.change()
        self.run_as("a")
        self.edit()
        self.expect(self.jobrun("prune", "--code", "--log-dir", "../runs",
                                cwd=self.tree), 0)
        self.again("a", "b", "--code")
        self.check("a", "b")

    def test_links_are_chosen_again(self):
        self.put("data/set.txt", "1\n")
        self.put("w.bin", "1\n")
        for number, (link, found) in enumerate((
                ("all", ["data/", "w.bin"]), ("none", []),
                ("[data]", ["data"]))):
            name = f"n{number}"
            self.run_as(name, "code: {mode: freeze, link: %s}\n" % link,
                        ["true"])
            self.again(name, name + "again")
            self.assertEqual(
                sorted(self.record_of(name + "again")["code"]["links"]), found)

    def refuse(self, *parts, code=4):
        done = self.again("a", "b", "--code", code=code)
        for part in parts:
            self.assertIn(part, done.stderr)
        self.assertFalse((self.folder / "runs/b").exists())

    def test_a_copy_that_a_rank_changed(self):
        self.change()
        self.run_as("a", entrypoint={"shell": "echo 1 >train.py"})
        self.refuse("runs/a/code/train.py was changed or removed after it was "
                    "frozen")

    def test_a_list_that_leads_elsewhere(self):
        self.change()
        self.run_as("a")
        listed = self.folder / "runs/a/code.files"
        text = listed.read_text()
        for bad in ("f 100644 1 1 ../../../x\0", "f 1 1 1 /etc/passwd\0",
                    "l a/../../x\0", "junk\0", "f 1 1 1 x", "f 1\0"):
            listed.write_text(text + bad)
            self.refuse("not a list of jobrun's")

    def test_what_was_left_out(self):
        self.change()
        self.put("w.env", "API_TOKEN=sk-0123456789abcdef\n")
        self.put("large.txt", "x" * (2 << 20))
        self.run_as("a", "")
        self.refuse("it has no frozen copy", "w.env (secret)",
                    "large.txt (size)")

    def test_a_commit_or_a_patch_that_is_gone(self):
        self.change()
        self.run_as("a", "")
        patch = self.folder / "runs/a/code.patch"
        text = patch.read_text()
        patch.write_text(text.replace("+N = 1", "+N = 3"))
        self.refuse("make another tree", code=7)
        patch.write_text("junk\n")
        self.refuse("the patch of the run", code=7)
        patch.write_text(text)
        shutil.rmtree(self.tree / ".git")
        self.git("init", "-q")
        self.refuse("the commit of the run", code=7)

    def test_code_that_was_not_recorded(self):
        shutil.rmtree(self.tree / ".git")
        self.change()
        self.run_as("a", "")
        self.refuse("the code of this run was not recorded")


class Submitted(Case):
    """What is edited after `submit` reaches no job that waits."""

    def setUp(self):
        super().setUp()
        tools = self.folder / "tools"
        tools.mkdir()
        (tools / "sbatch").write_text(
            "#!/bin/sh\n[ \"$*\" = --help ] && exit 1\n"
            f"cat >'{self.folder}/script'\n[ -z \"$REFUSE\" ] || exit 1\n"
            "echo ${JOB:-7}\n")
        (tools / "sbatch").chmod(0o755)
        self.env = {"PATH": f"{tools}:{os.environ['PATH']}",
                    "HOME": str(self.folder)}

    def submit(self, *words, code=0, **env):
        before = record.state_of(self.tree)
        done = self.expect(self.jobrun(
            "submit", "t.jobrun.yaml", "--engine", "slurm", *words,
            cwd=self.tree, env={**self.env, **env}), code)
        self.assertEqual(record.state_of(self.tree), before)
        return done

    def start_job(self, code=0, **env):
        done = subprocess.run(
            ["/bin/sh", self.folder / "script"], cwd="/", text=True,
            env=harness.clean_environment(**env), capture_output=True,
            stdin=subprocess.DEVNULL, timeout=harness.LIMIT)
        self.expect(done, code)
        self.last = self.folder / "runs" / "latest"
        return done

    def folders(self):
        return sorted((self.folder / "runs/.submitted").glob("[!.]*"))

    def spec_and_parent(self, text):
        self.put("base.yaml", SPEC + "template: true\nentrypoint: "
                 + json.dumps({"shell": text}) + "\n")
        self.put("t.jobrun.yaml",
                 "version: 1\nextends: base.yaml\ncode: freeze\n"
                 "local_world_size: 1\nvars: {x: 1}\n"
                 "env: {X: '${vars.x}', KEPT: '${env:KEPT}', "
                 "MY_TOKEN: '${env:MY_TOKEN}'}\n"
                 "on_end: [cat, lib/model.py]\n")

    def test_spec_and_code_are_those_of_then(self):
        self.spec_and_parent("cat train.py; echo $X $KEPT $MY_TOKEN")
        self.commit()
        self.put("new.py", "N = 1\n")
        secret = "sk-0123456789abcdef"
        done = self.submit("--set", "vars.x=5", KEPT="then", MY_TOKEN=secret)
        self.assertEqual(done.stdout, "7\n")
        self.spec_and_parent("echo edited")
        self.put("train.py", "print('edited')\n")
        self.put("lib/model.py", "LAYERS = 99\n")
        (self.tree / "new.py").unlink()
        self.commit()
        for _ in range(2):
            self.start_job(KEPT="now", MY_TOKEN=secret)
            self.assertEqual(self.log(), f"print(1)\n5 then {secret}\n")
            self.assertEqual(self.log("on_end.log"), "LAYERS = 2\n")
        with open(self.last / "run.json") as file:
            code = json.load(file)["code"]
        self.assertIs(code["frozen"], True)
        self.assertIs(code["dirty"], True)
        self.assertTrue((self.last / "code/new.py").exists())
        self.assertIn("+N = 1", self.patch())
        [folder] = self.folders()
        for path in folder.rglob("*"):
            if path.is_file():
                self.assertNotIn(secret.encode(), path.read_bytes(), path)
        self.assertEqual(
            len(self.jobrun("runs", "--log-dir", "../runs",
                            cwd=self.tree).stdout.splitlines()), 3)

    def test_the_tree_is_gone(self):
        """All that the job needs is in the folder."""
        self.put("t.jobrun.yaml", spec(["cat", "train.py"],
                                       "code: freeze\nlocal_world_size: 1\n"))
        self.submit()
        shutil.rmtree(self.tree)
        self.start_job()
        self.assertEqual(self.log(), "print(1)\n")

    def test_a_job_that_is_not_taken_leaves_nothing(self):
        self.put("t.jobrun.yaml", spec(["true"],
                                       "code: freeze\nlocal_world_size: 1\n"))
        self.submit(code=7, REFUSE="1")
        self.assertEqual(self.folders(), [])
        shutil.rmtree(self.tree / ".git")
        self.assertIn("is in no git work tree", self.submit(code=4).stderr)
        self.assertEqual(self.folders(), [])

    def test_without_freezing(self):
        self.put("t.jobrun.yaml", spec(["cat", "train.py"],
                                       "local_world_size: 1\n"))
        self.submit()
        self.put("train.py", "print('edited')\n")
        self.start_job()
        self.assertEqual(self.log(), "print('edited')\n")
        self.assertFalse((self.folder / "runs/.submitted").exists())

    def test_a_folder_that_is_not_as_it_was(self):
        self.put("t.jobrun.yaml", spec(["cat", "train.py"],
                                       "code: freeze\nlocal_world_size: 1\n"))
        self.submit()
        [folder] = self.folders()
        (folder / "code/train.py").write_text("print('planted')\n")
        self.assertIn("train.py was changed or removed after it was frozen",
                      self.start_job(4).stderr)
        folder.chmod(0o777)
        self.assertIn("is not yours alone", self.start_job(7).stderr)
        shutil.rmtree(folder)
        self.assertIn("are not there", self.start_job(7).stderr)

    def squeue(self, text):
        tool = self.folder / "tools/squeue"
        tool.write_text("#!/bin/sh\n" + text)
        tool.chmod(0o755)

    def prune(self, *words, code=0):
        return self.expect(self.jobrun(
            "prune", *words, "--log-dir", "../runs", cwd=self.tree,
            env=self.env), code)

    def submit_jobs(self, *jobs):
        self.put("t.jobrun.yaml", spec(["true"],
                                       "code: freeze\nlocal_world_size: 1\n"))
        for job in jobs:
            self.submit(JOB=job)
        noted = {json.loads((folder / "run.json").read_text())["job"]: folder
                 for folder in self.folders()}
        self.assertEqual(set(noted), set(jobs))
        return [noted[job] for job in jobs]

    def test_what_jobs_that_ended_leave_is_removed(self):
        done, waits = self.submit_jobs("7", "77")
        self.start_job()
        self.squeue("echo 77; echo 177\n")
        self.assertIn("would remove the frozen code of 1 submitted job; that "
                      "of 1 was left alone",
                      self.prune("--code", "--dry-run").stderr)
        self.assertEqual(self.prune("--older", "1d").stdout, "")
        self.assertEqual(len(self.folders()), 2)
        told = self.prune()
        self.assertEqual(told.stdout, f".submitted/{done.name}\n")
        self.assertIn("removed the frozen code of 1 submitted job (",
                      told.stderr)
        self.assertEqual(self.folders(), [waits])
        self.squeue("")
        self.prune("--code", "--keep", "50")
        self.assertEqual(self.folders(), [])
        # The run of it has its own.
        self.assertTrue((self.last / "code/train.py").exists())

    def test_slurm_gives_no_answer(self):
        folder, = self.submit_jobs("7")
        for text, why in (("exit 1", "exited with code 1"),
                          ("kill -9 $$", "died by SIGKILL")):
            self.squeue(text)
            told = self.prune("--code")
            self.assertIn(f"squeue, asked for job 7, {why}; if its job has "
                          "ended, remove it: rm -r ../runs/.submitted/"
                          + folder.name, told.stderr)
        self.assertEqual(self.folders(), [folder])

    def test_jobs_of_other_clusters(self):
        folder, = self.submit_jobs("7;east")
        self.squeue('[ "$*" = "--noheader --user $(id -u) --format %A '
                    '--clusters east" ] && echo CLUSTER: east && echo 7\n')
        self.prune()
        self.assertEqual(self.folders(), [folder])
        self.squeue("echo CLUSTER: east\n")
        self.prune()
        self.assertEqual(self.folders(), [])

    def test_what_is_no_submission(self):
        """Nor one of ours alone; or its job was never noted."""
        folder, = self.submit_jobs("7")
        self.squeue("")
        victim = self.folder / "victim"
        shutil.copytree(folder, victim)
        os.symlink(victim, folder.parent / "link")
        (folder.parent / "empty").mkdir()
        told = json.loads((folder / "run.json").read_text())
        for job in (None, "x", "7 8", "-1", {"a": 1}):
            (folder / "run.json").write_text(json.dumps({**told, "job": job}))
            self.assertIn("its job was never noted", self.prune().stderr)
        (folder / "run.json").write_text(json.dumps(told))
        folder.chmod(0o777)
        self.prune()
        self.assertEqual(len(self.folders()), 3)
        folder.chmod(0o700)
        self.prune()
        self.assertEqual([path.name for path in self.folders()],
                         ["empty", "link"])
        self.assertTrue((victim / "code/train.py").exists())

    def test_what_frozen_takes(self):
        for words in (["--frozen", "x"], ["--frozen", "/x", "t.jobrun.yaml"],
                      ["--frozen", "/x", "-s", "a=1"],
                      ["--frozen", "/x", "--", "true"]):
            self.expect(self.jobrun("run", *words, cwd=self.tree), 2)


class Nodes(Case):
    def test_each_node_by_hand_has_a_copy(self):
        self.put("t.jobrun.yaml", spec(
            {"shell": "pwd; cat train.py"},
            "code: freeze\nnodes: 2\nmaster_addr: 127.0.0.1\n"
            f"master_port: {harness.free_port()}\n").replace(
                "world_size: 1", "world_size: 2"))
        for node in (0, 1):
            self.expect(self.jobrun("t.jobrun.yaml", "--node-rank", str(node),
                                    "--run-id", "a", cwd=self.tree), 0)
        for node in (0, 1):
            folder = self.folder / f"runs/a/node_{node}"
            self.assertEqual(
                (folder / f"attempt_0/{node}/stdout.log").read_text(),
                f"{folder}/code\nprint(1)\n")
        ask = lambda *words: self.jobrun(*words, "--log-dir", "../runs",
                                         cwd=self.tree).stdout
        self.assertEqual(ask("show", "a", "--code"),
                         "".join(f"{self.folder}/runs/a/node_{node}/code\n"
                                 for node in (0, 1)))
        self.assertIn("(code: ", ask("runs"))
        self.assertEqual(ask("prune", "--code"), "a\n")
        for node in (0, 1):
            folder = self.folder / f"runs/a/node_{node}"
            self.assertFalse((folder / "code").exists())
            self.assertTrue((folder / "results.json").exists())


if __name__ == "__main__":
    harness.main()
