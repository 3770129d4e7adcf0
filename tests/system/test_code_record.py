"""The code that a run executes is recorded: its commit, the name of its tree as
it stood, and the difference of the two; and nothing of the repository is written
to or executed for it."""
import hashlib
import json
import os
import pathlib
import shutil
import signal
import stat
import subprocess
import unittest

import harness

SPEC = """\
version: 1
name: t
device: cpu
world_size: 1
entrypoint: {shell: "true"}
"""
IDENTITY = {"GIT_AUTHOR_NAME": "n", "GIT_AUTHOR_EMAIL": "n@example.org",
            "GIT_COMMITTER_NAME": "n", "GIT_COMMITTER_EMAIL": "n@example.org",
            "GIT_CONFIG_NOSYSTEM": "1"}


def git_here(case, folder, *words):
    return subprocess.run(
        ["git", "-c", "protocol.file.allow=always", *words], cwd=folder,
        env=harness.clean_environment(HOME=str(case.folder), **IDENTITY),
        check=True, capture_output=True, text=True).stdout


def state_of(folder):
    """Every file below with its bytes, mode and time; of folders the
    name alone; git touches objects, and the shared part of an index, to read
    them."""
    found = {}
    for path in sorted(pathlib.Path(folder).rglob("*")):
        about = path.lstat()
        if path.is_symlink():
            found[str(path)] = os.readlink(path)
        elif path.is_dir():
            found[str(path)] = "folder"
        elif stat.S_ISREG(about.st_mode):
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            touched = "objects" in path.parts or "sharedindex" in path.name
            time = None if touched else about.st_mtime_ns
            found[str(path)] = (digest, about.st_mode, time)
        else:
            found[str(path)] = about.st_mode
    return found


@unittest.skipUnless(shutil.which("git"), "SKIPPED: there is no git")
class Case(harness.Case):
    """A repository with a program and a spec, committed; the runs are beside
    it."""

    def setUp(self):
        super().setUp()
        self.tree = self.folder / "tree"
        self.tree.mkdir()
        self.git("init", "-q")
        self.put("train.py", "print(1)\n")
        self.put("lib/model.py", "LAYERS = 2\n")
        self.put(".gitignore", "data/\n*.bin\n")
        self.put("t.jobrun.yaml", SPEC + "log_dir: ../runs\n")
        self.commit()

    def git(self, *words, cwd=None):
        return git_here(self, cwd or self.tree, *words)

    def put(self, name, text):
        path = self.tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(text, bytes):
            path.write_bytes(text)
        else:
            path.write_text(text)
        return path

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "m")

    def run_here(self, *words, code=0, env=None):
        """Run the spec; returns what run.json has about the code. Neither the
        repository nor the work tree is changed by it."""
        before = state_of(self.tree)
        done = self.expect(
            self.jobrun("t.jobrun.yaml", *words, cwd=self.tree,
                        env={"HOME": str(self.folder), **(env or {})}), code)
        self.assertEqual(state_of(self.tree), before)
        self.said = done.stderr
        self.last = self.folder / "runs" / "latest"
        self.assertFalse((self.last / "code.tmp").exists())
        with open(self.last / "run.json") as file:
            return json.load(file)["code"]

    def run_id(self):
        return os.readlink(self.last)

    def patch(self):
        return (self.last / "code.patch").read_text()

    def not_recorded(self, code, *parts):
        """The run went on, and both it and its record say why."""
        self.assertIsNone(code["tree"])
        self.assertIsNone(code["patch"])
        self.assertIn("code not recorded: ", self.said)
        for part in parts:
            self.assertIn(part, code["problem"])
            self.assertIn(part, self.said)
        self.assertIn("code: not recorded: ",
                      self.jobrun("show", "--log-dir", "../runs",
                                  cwd=self.tree).stdout)

    def make_submodule(self):
        self.other = self.folder / "other"
        self.other.mkdir()
        self.git("init", "-q", cwd=self.other)
        (self.other / "o.py").write_text("O = 1\n")
        self.git("add", "-A", cwd=self.other)
        self.git("commit", "-q", "-m", "m", cwd=self.other)
        self.git("submodule", "--quiet", "add", str(self.other), "sub")
        self.commit()

    def left_out(self, code):
        return {one["path"]: one["why"] for one in code["left_out"]}


class Hash(Case):
    def test_a_clean_tree(self):
        code = self.run_here()
        self.assertEqual(code["commit"],
                         self.git("rev-parse", "HEAD").strip())
        self.assertIs(code["dirty"], False)
        self.assertIsNone(code["patch"])
        self.assertEqual(code["left_out"], [])
        self.assertEqual(code["top"], str(self.tree))
        self.assertNotIn("not recorded", self.said)
        # It is the tree that git knows, less the spec.
        self.git("rm", "-q", "--cached", "t.jobrun.yaml")
        self.assertEqual(code["tree"], self.git("write-tree").strip())

    def test_dirty_and_then_committed(self):
        clean = self.run_here()
        self.put("train.py", "print(2)\n")
        self.put("new.py", "N = 1\n")
        (self.tree / "lib" / "model.py").unlink()
        os.symlink("train.py", self.tree / "main.py")
        dirty = self.run_here()
        self.assertIs(dirty["dirty"], True)
        self.assertEqual(dirty["patch"], "code.patch")
        self.assertNotEqual(dirty["tree"], clean["tree"])
        self.assertEqual(dirty["commit"], clean["commit"])
        self.commit()
        again = self.run_here()
        self.assertIs(again["dirty"], False)
        self.assertEqual(again["tree"], dirty["tree"])

    def test_a_folder_of_the_tree_is_in_the_same_tree(self):
        """Ranks that run below the top, as those of a spec that lies there."""
        for change in ("LAYERS = 2\n", "LAYERS = 3\n"):
            self.put("lib/model.py", change)
            top = self.run_here()
            patch = top["patch"] and self.patch()
            below = self.run_here("--set", "workdir=lib")
            self.assertEqual(below["tree"], top["tree"])
            self.assertEqual(below["dirty"], top["dirty"])
            self.assertEqual(below["patch"] and self.patch(), patch)
            self.assertEqual(below["top"], str(self.tree))

    def test_the_patch_makes_the_tree(self):
        self.put("train.py", "print(2)\n")
        self.put("a \"b\"\tc.py", "N = 1\n")
        self.put("run.sh", "#!/bin/sh\n").chmod(0o755)
        (self.tree / "lib" / "model.py").unlink()
        code = self.run_here()
        self.assertEqual(code["left_out"], [])
        patch = self.last / "code.patch"
        copy = self.folder / "copy"
        self.git("clone", "-q", ".", str(copy))
        self.git("apply", str(patch), cwd=copy)
        self.git("add", "-A", cwd=copy)
        self.git("rm", "-q", "--cached", "t.jobrun.yaml", cwd=copy)
        self.assertEqual(self.git("write-tree", cwd=copy).strip(),
                         code["tree"])

    def test_different_trees_have_different_names(self):
        """Whatever hides a change from `git status`."""
        seen = {self.run_here()["tree"]}

        def changed(what):
            tree = self.run_here()["tree"]
            self.assertNotIn(tree, seen, what)
            seen.add(tree)

        self.put("train.py", "print(2)\n")
        changed("a tracked file")
        self.put("train.py", "print(3)\n")
        changed("the same size")
        path = self.tree / "train.py"
        about = path.stat()
        path.write_text("print(4)\n")
        os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))
        changed("the same size and time")
        self.put("new.py", "1")
        changed("an untracked file")
        self.put("new.py", "2")
        changed("its contents")
        (self.tree / "new.py").chmod(0o755)
        changed("its mode")
        self.git("update-index", "--assume-unchanged", "lib/model.py")
        self.put("lib/model.py", "LAYERS = 3\n")
        changed("assumed unchanged")
        self.git("update-index", "--no-assume-unchanged", "lib/model.py")
        self.git("update-index", "--skip-worktree", "lib/model.py")
        self.put("lib/model.py", "LAYERS = 4\n")
        changed("not to be looked at")
        self.git("update-index", "--no-skip-worktree", "lib/model.py")
        os.symlink("a", self.tree / "link")
        changed("a link")
        (self.tree / "link").unlink()
        os.symlink("b", self.tree / "link")
        changed("where it leads")
        self.git("config", "core.trustctime", "false")
        self.git("config", "core.checkStat", "minimal")
        self.commit()
        self.git("update-index", "--refresh")
        about = path.stat()
        path.write_text("print(5)\n")
        os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))
        changed("times that git was told not to trust")

    def test_bytes_that_git_converts(self):
        """What git takes for the same is not the same to a program."""
        self.put(".gitattributes", "*.py text=auto\n*.sh ident\n"
                 "*.txt working-tree-encoding=UTF-16\n")
        self.put("run.sh", "#\n")
        self.commit()
        for name, one, other in (
                ("train.py", b"print(2)\n", b"print(2)\r\n"),
                ("new \"1\"\n.py", b"1\n", b"1\r\n"),
                ("run.sh", b"# $Id$\n", b"# $Id: 1 $\n"),
                ("a.txt", "\ufeffa\n".encode("utf-16-le"),
                 "\ufeffa\n".encode("utf-16-be"))):
            with self.subTest(name):
                self.put(name, one)
                first = self.run_here()
                self.put(name, other)
                second = self.run_here()
                self.assertIsNotNone(first["tree"])
                self.assertNotEqual(first["tree"], second["tree"])
                self.assertEqual(self.left_out(second)[name], "converted")
                self.assertEqual(self.run_here()["tree"], second["tree"])
                self.put(name, one)
                self.assertEqual(self.run_here()["tree"], first["tree"])

    def test_what_does_not_count(self):
        first = self.run_here()["tree"]
        self.put("data/set.txt", "1")
        self.put("weights.bin", "1")
        self.assertEqual(self.run_here()["tree"], first)
        self.put("t.jobrun.yaml", SPEC + "log_dir: ../runs\nenv: {A: '1'}\n")
        code = self.run_here()
        self.assertEqual(code["tree"], first)
        self.assertIs(code["dirty"], False)
        self.assertIsNone(code["patch"])

    def test_parents_of_the_spec_do_not_count(self):
        self.put("base/b.yaml", SPEC.replace("world", "template: true\nworld"))
        self.put("t.jobrun.yaml",
                 "version: 1\nextends: base/b.yaml\nlog_dir: ../runs\n")
        first = self.run_here()["tree"]
        self.put("base/b.yaml", SPEC.replace("world", "template: true\n#\nworld"))
        self.assertEqual(self.run_here()["tree"], first)
        self.put("base/other.yaml", "a: 1\n")
        self.assertNotEqual(self.run_here()["tree"], first)

    def test_the_log_dir_does_not_count(self):
        """Even one that git does not ignore, with a file that is tracked."""
        first = self.run_here()["tree"]
        self.put("logs/kept.txt", "1")
        self.git("add", "logs/kept.txt")
        self.git("commit", "-q", "-m", "m")
        self.put("t.jobrun.yaml", SPEC + "log_dir: logs\n")
        for _ in range(2):
            self.expect(self.jobrun("t.jobrun.yaml", cwd=self.tree), 0)
            with open(self.tree / "logs" / "latest" / "run.json") as file:
                code = json.load(file)["code"]
            self.assertEqual(code["tree"], first)
            self.assertIs(code["dirty"], False)
            self.put("logs/kept.txt", "2")

    def test_a_link_in_the_place_of_a_folder(self):
        """What lies behind it is not of the tree."""
        other = self.folder / "other"
        shutil.copytree(self.tree / "lib", other)
        shutil.rmtree(self.tree / "lib")
        os.symlink(other, self.tree / "lib")
        code = self.run_here()
        self.assertIn("deleted file mode 100644\nindex", self.patch())
        self.assertEqual(self.left_out(code), {"lib": "link"})
        self.commit()
        self.assertEqual(self.run_here()["tree"], code["tree"])

    def test_no_commit_yet(self):
        shutil.rmtree(self.tree / ".git")
        self.git("init", "-q")
        code = self.run_here()
        self.assertIsNone(code["commit"])
        self.assertIs(code["dirty"], True)
        self.assertIn("+print(1)", self.patch())

    def test_a_staged_change(self):
        self.put("train.py", "print(2)\n")
        self.put("new.py", "1\n")
        self.git("add", "-A")
        (self.tree / "new.py").unlink()
        staged = self.run_here()
        self.assertNotIn("new.py", self.patch())
        self.git("commit", "-q", "-a", "-m", "m")
        self.assertEqual(self.run_here()["tree"], staged["tree"])

    def test_names_of_other_bytes(self):
        name = b"\xff\n\t \"'\\$(x)"
        with open(os.fsencode(self.tree) + b"/" + name, "w") as file:
            file.write("1\n")
        code = self.run_here()
        self.assertIs(code["dirty"], True)
        self.assertIn("+1\n", self.patch())


class Patch(Case):
    def test_secrets_are_not_in_it(self):
        secret = "hunter2-very-secret"
        other = "sk-0123456789abcdef"
        self.put(".env", f"API_TOKEN={other}\n")
        self.put("train.py", f"key = '{secret}'\nAPI_TOKEN = '{other}'\n"
                             "MAX_TOKENS = '12345678a'\n")
        self.put("settings.yaml", f"db_password: {other}\n")
        code = self.run_here(env={"MY_SECRET": secret})
        self.assertEqual(self.left_out(code),
                         {".env": "secret", "settings.yaml": "secret",
                          "train.py": "redacted"})
        patch = self.patch()
        self.assertIn("+API_TOKEN = '<redacted>'", patch)
        self.assertIn("+key = '<redacted>'", patch)
        self.assertIn("+MAX_TOKENS = '12345678a'", patch)
        for path in self.last.rglob("*"):
            if path.is_file():
                for text in (secret, other):
                    self.assertNotIn(text.encode(), path.read_bytes(), path)
        shown = [self.expect(self.jobrun(*words, "--log-dir", "../runs",
                                         cwd=self.tree), 0).stdout
                 for words in (["show"], ["show", "--json"],
                               ["report", "--format", "html"],
                               ["diff", "latest", "latest", "--code"])]
        for text in (secret, other):
            self.assertNotIn(text, "".join(shown) + self.said)
        # It counts all the same.
        self.put(".env", f"API_TOKEN={other}0\n")
        self.assertNotEqual(self.run_here()["tree"], code["tree"])

    def test_whole_files_are_left_out_largest_first(self):
        for name, size in (("a", 300), ("b", 700), ("c", 500), ("d", 20)):
            self.put(f"{name}.txt", "x" * 99 + "\n")
            self.put(f"{name}.txt", ("x" * 99 + "\n") * 10 * size)
        code = self.run_here()
        self.assertEqual(self.left_out(code), {"b.txt": "size"})
        patch = self.patch()
        self.assertLessEqual(len(patch), 1 << 20)
        for name in "acd":
            self.assertIn(f"+++ b/{name}.txt", patch)

    def test_a_small_change_of_a_large_file(self):
        self.put("large.txt", "x" * 79 + "\n" + "y\n" * 2000000)
        self.commit()
        self.put("large.txt", "z" * 79 + "\n" + "y\n" * 2000000)
        code = self.run_here()
        self.assertEqual(code["left_out"], [])
        self.assertIn("+zzz", self.patch())

    def test_what_is_no_text(self):
        """It is in the patch as it is now, and not as it was before."""
        old = bytes(range(256)) * 8
        for name in ("old.png", "gone.png", "turned.txt"):
            self.put(name, old)
        self.commit()
        self.put("old.png", old + b"more")
        self.put("new.png", b"\x89PNG\0\0" * 10)
        self.put("turned.txt", "text\n")
        (self.tree / "gone.png").unlink()
        code = self.run_here()
        self.assertEqual(code["left_out"], [])
        lines = self.patch().splitlines()
        self.assertEqual(sum(line.startswith(("literal ", "delta "))
                             for line in lines), 4)
        copy = self.folder / "copy"
        self.git("clone", "-q", ".", str(copy))
        self.git("apply", str(self.last / "code.patch"), cwd=copy)
        self.git("add", "-A", cwd=copy)
        self.git("rm", "-q", "--cached", "t.jobrun.yaml", cwd=copy)
        self.assertEqual(self.git("write-tree", cwd=copy).strip(),
                         code["tree"])

    def test_a_secret_in_what_is_no_text(self):
        secret = "hunter2-very-secret"
        self.put("a.db", b"\0\0" + secret.encode() + b"\0")
        self.put("b.db", b"\0\nAPI_TOKEN=sk-0123456789abcdef\0")
        self.put("c.db", b"\0\0plain\0")
        self.put("d.db", os.urandom(2 << 20))
        self.commit()
        for name in "abcd":
            path = self.tree / f"{name}.db"
            path.write_bytes(path.read_bytes() + b"\0")
        self.put("d.db", os.urandom(2 << 20))
        code = self.run_here(env={"MY_SECRET": secret})
        self.assertEqual(self.left_out(code),
                         {"a.db": "binary", "b.db": "binary", "d.db": "size"})
        self.assertIn("diff --git a/c.db b/c.db", self.patch())
        self.assertNotIn("a.db", self.patch())

    def test_links_that_leave_the_tree(self):
        outside = self.folder / "outside"
        outside.mkdir()
        (outside / "secret.py").write_text("TOP = 1\n")
        os.symlink("../outside/secret.py", self.tree / "tracked.py")
        os.symlink("train.py", self.tree / "inside.py")
        self.commit()
        os.symlink("../outside", self.tree / "folder")
        code = self.run_here()
        self.assertEqual(self.left_out(code),
                         {"tracked.py": "link", "folder": "link"})
        self.assertNotIn("TOP", self.patch())
        tree = code["tree"]
        (outside / "secret.py").write_text("TOP = 2\n")
        self.assertEqual(self.run_here()["tree"], tree)
        self.assertIn("tracked.py (link)", self.jobrun(
            "show", "--log-dir", "../runs", cwd=self.tree).stdout)

    def test_the_record_stays_small(self):
        for i in range(1500):
            self.put(f"b/{i}.env", "API_TOKEN=sk-0123456789abcdef\n")
        code = self.run_here()
        self.assertEqual(code["left_out_count"], 1500)
        self.assertEqual(len(code["left_out"]), 1000)
        self.assertIn("and 1495 more", self.jobrun(
            "show", "--log-dir", "../runs", cwd=self.tree).stdout)


class Inside(Case):
    """Repositories in the repository, and trees that are not whole."""

    def test_a_submodule_counts_as_it_lies(self):
        self.make_submodule()
        clean = self.run_here()
        self.assertIs(clean["dirty"], False)
        self.put("sub/o.py", "O = 2\n")
        dirty = self.run_here()
        self.assertNotEqual(dirty["tree"], clean["tree"])
        self.assertIs(dirty["dirty"], True)
        self.assertIn("+++ b/sub/o.py\n@@ -1 +1 @@\n-O = 1\n+O = 2\n",
                      self.patch())
        self.put("sub/new.py", "O = 2\n")
        new = self.run_here()
        self.assertNotIn(new["tree"], (dirty["tree"], clean["tree"]))
        self.git("add", "-A", cwd=self.tree / "sub")
        self.git("commit", "-q", "-m", "m", cwd=self.tree / "sub")
        moved = self.run_here()
        self.assertEqual(moved["tree"], new["tree"])
        self.assertIn("+Subproject commit", self.patch())
        self.commit()
        self.assertEqual(self.run_here()["tree"], new["tree"])

    def test_a_submodule_that_is_not_there(self):
        self.make_submodule()
        self.git("submodule", "--quiet", "deinit", "-f", "sub")
        code = self.run_here()
        self.assertIs(code["dirty"], False)

    def test_a_repository_that_is_not_tracked(self):
        nested = self.tree / "nested"
        nested.mkdir()
        self.git("init", "-q", cwd=nested)
        (nested / "n.py").write_text("N = 1\n")
        first = self.run_here()
        self.assertEqual(self.left_out(first), {"nested": "repository"})
        (nested / "n.py").write_text("N = 2\n")
        self.assertNotEqual(self.run_here()["tree"], first["tree"])

    def test_a_sparse_checkout(self):
        whole = self.run_here()
        self.git("sparse-checkout", "set", "--cone", "none")
        self.assertFalse((self.tree / "lib").exists())
        sparse = self.run_here()
        self.assertEqual(sparse["tree"], whole["tree"])
        self.assertIs(sparse["dirty"], False)
        self.put("train.py", "print(2)\n")
        self.assertNotEqual(self.run_here()["tree"], whole["tree"])
        self.assertNotIn("model.py", self.patch())

    def test_a_split_index_and_a_linked_work_tree(self):
        self.git("config", "core.splitIndex", "true")
        self.git("update-index", "--split-index")
        self.put("train.py", "print(2)\n")
        first = self.run_here()
        linked = self.folder / "linked"
        self.git("worktree", "add", "-q", str(linked))
        (linked / "train.py").write_text("print(2)\n")
        self.expect(self.jobrun("t.jobrun.yaml", cwd=linked), 0)
        with open(self.folder / "runs" / "latest" / "run.json") as file:
            code = json.load(file)["code"]
        self.assertEqual(code["tree"], first["tree"])
        self.assertEqual(code["top"], str(linked))

    def test_pointers_of_lfs_count_as_they_lie(self):
        pointer = ("version https://git-lfs.github.com/spec/v1\n"
                   f"oid sha256:{'0' * 64}\nsize 5\n")
        self.put(".gitattributes", "*.pt filter=lfs diff=lfs -text\n")
        self.put("w.pt", pointer)
        self.commit()
        clean = self.run_here()
        self.assertIs(clean["dirty"], False)
        self.put("w.pt", "12345")
        self.assertNotEqual(self.run_here()["tree"], clean["tree"])

    def test_a_commit_in_a_folder_below(self):
        (self.tree / "work").mkdir()
        self.put("t.jobrun.yaml", SPEC + "log_dir: ../runs\nworkdir: lib\n")
        self.assertEqual(self.run_here()["top"], str(self.tree))


class Nodes(Case):
    def test_nodes_by_hand_with_different_code(self):
        port = harness.free_port()
        self.put("t.jobrun.yaml",
                 SPEC.replace("world_size: 1", "world_size: 2") +
                 "nodes: 2\nmaster_addr: 127.0.0.1\n"
                 f"master_port: {port}\nlog_dir: ../runs\n")

        def run(name, *nodes):
            for node in nodes:
                self.expect(self.jobrun("t.jobrun.yaml", "--node-rank",
                                        str(node), "--run-id", name,
                                        cwd=self.tree), 0)

        def show(name):
            return self.jobrun("show", name, "--log-dir", "../runs",
                               cwd=self.tree).stdout

        run("a", 0, 1)
        self.assertIn("code: commit ", show("a"))
        run("b", 0)
        self.put("train.py", "print(2)\n")
        run("b", 1)
        trees = []
        for node in (0, 1):
            with open(self.folder / f"runs/b/node_{node}/run.json") as file:
                trees.append(json.load(file)["code"]["tree"][:12])
        self.assertIn("code: not recorded: the nodes ran different code: "
                      f"node 0 tree {trees[0]}, node 1 tree {trees[1]}",
                      show("b"))


class Refused(Case):
    """What cannot be recorded is said, and the run goes on."""

    def test_no_work_tree(self):
        shutil.rmtree(self.tree / ".git")
        code = self.run_here()
        self.assertEqual([code[key] for key in
                          ("commit", "tree", "patch", "problem")], [None] * 4)
        self.assertNotIn("not recorded", self.said)

    def test_no_git(self):
        code = self.run_here(env={"PATH": str(self.folder)})
        self.not_recorded(code, "no git program was found")
        self.assertEqual(code["commit"], self.git("rev-parse", "HEAD").strip())

    def plant(self, folder, text):
        folder.mkdir(exist_ok=True)
        path = folder / "git"
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o755)
        return folder

    def test_a_hostile_path(self):
        """A git of the work tree, of a relative folder, or of one that everybody
        may write to."""
        mark = self.folder / "mark"
        text = f"touch '{mark}'\nexit 1\n"
        self.plant(self.tree, text)
        open_folder = self.plant(self.folder / "open", text)
        open_folder.chmod(0o777)
        self.commit()
        path = f":.:lib/..:{open_folder}:{os.environ['PATH']}"
        code = self.run_here(env={"PATH": path})
        self.assertIsNotNone(code["tree"])
        self.assertFalse(mark.exists())
        code = self.run_here(env={"PATH": f":.:lib/..:{open_folder}"})
        self.not_recorded(code, "no git program was found")
        self.assertFalse(mark.exists())

    def test_a_git_that_hangs(self):
        """Also where it has closed its output, or started another process."""
        slow = self.plant(self.folder / "slow", "sleep 600 &\nwait\n")
        code = self.run_here(env={"PATH": f"{slow}:{os.environ['PATH']}"})
        self.not_recorded(code, "git did not finish in time")
        self.assertNotIn("sleep\0600", "".join(
            path.read_text(errors="replace")
            for path in self.lines_of_processes()))

    def test_a_git_that_hangs_is_stopped(self):
        """Ctrl-C is obeyed at once, not only when git has had its time."""
        mark = self.folder / "mark"
        os.mkfifo(mark)
        for text in ("exec sleep 600\n", "exec sleep 600 >&- 2>&-\n"):
            slow = self.plant(self.folder / "slow", f"echo >'{mark}'\n{text}")
            job = self.start(
                "t.jobrun.yaml", cwd=self.tree, stderr=subprocess.PIPE,
                env={"PATH": f"{slow}:{os.environ['PATH']}"})
            mark.read_text()
            job.send_signal(signal.SIGINT)
            said = job.communicate(timeout=harness.LIMIT)[1]
            self.assertIn("git was stopped by a signal", said)
            self.assertEqual(job.returncode, 130, said)

    def lines_of_processes(self):
        for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            try:
                path.read_text(errors="replace")
            except OSError:
                continue
            yield path

    def test_a_git_that_lies(self):
        for text in ("exit 0\n", "echo /\necho\n", "echo x; exit 3\n",
                     "yes\n", "echo 'fatal: no \x1b[2J' >&2; exit 128\n"):
            bad = self.plant(self.folder / "bad", text)
            code = self.run_here(env={"PATH": f"{bad}:{os.environ['PATH']}"})
            self.not_recorded(code)
            self.assertNotIn("\x1b[2J", self.said)

    @unittest.skipIf(os.geteuid() != 0, "SKIPPED: only root can give files away")
    def test_a_repository_of_somebody_else(self):
        for path in [self.tree, *self.tree.rglob("*")]:
            os.lchown(path, 12345, 12345)
        code = self.run_here()
        self.not_recorded(code, "belongs to 12345", "git config --global --add "
                          f"safe.directory {self.tree}")

    def test_too_much_that_is_untracked(self):
        for name, size in (("a.dat", 5 << 30), ("b.dat", 1 << 20)):
            with open(self.tree / name, "w") as file:
                file.truncate(size)
        # The bytes are not read: the state of the tree is not compared here.
        done = self.expect(self.jobrun("t.jobrun.yaml", cwd=self.tree), 0)
        self.said = done.stderr
        with open(self.folder / "runs" / "latest" / "run.json") as file:
            record = json.load(file)
        self.not_recorded(record["code"], "5121.0 MiB of files",
                          "a.dat (5120.0 MiB), b.dat (1.0 MiB)", ".gitignore")
        self.assertEqual(record["git"]["dirty"], False)
        self.put(".gitignore", "*.dat\n")
        done = self.expect(self.jobrun("t.jobrun.yaml", cwd=self.tree), 0)
        self.assertNotIn("not recorded", done.stderr)

    def test_a_repository_that_is_broken(self):
        (self.tree / ".git" / "index").write_bytes(b"DIRC" + b"\0" * 40)
        self.not_recorded(self.run_here(), str(self.tree))
        (self.tree / ".git" / "HEAD").write_text("junk\n")
        self.not_recorded(self.run_here())

    def test_a_repository_whose_files_are_elsewhere(self):
        other = self.folder / "elsewhere"
        other.mkdir()
        (other / "private.txt").write_text("mine\n")
        self.git("config", "core.worktree", str(other))
        code = self.run_here()
        self.not_recorded(code, "core.worktree")
        self.assertFalse((self.last / "code.patch").exists())

    def test_a_full_disk(self):
        """The folder of the run cannot take git's copy: here by its limit."""
        self.put("new.txt", "".join(f"{i:09d}\n" for i in range(90000)))
        done = subprocess.run(
            ["bash", "-c", "ulimit -f 400; exec \"$0\" t.jobrun.yaml",
             harness.JOBRUN], cwd=self.tree, text=True, capture_output=True,
            env=harness.clean_environment(), timeout=harness.LIMIT,
            stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("code not recorded: ", done.stderr)
        self.assertFalse((self.folder / "runs/latest/code.tmp").exists())


class Hostile(Case):
    """Nothing that the repository configures is executed."""

    def test_programs_of_the_repository(self):
        mark = self.folder / "mark"
        program = self.folder / "program"
        program.write_text(f"#!/bin/sh\necho \"$0 $*\" >>'{mark}'\ncat\n")
        program.chmod(0o755)
        hooks = self.folder / "hooks"
        hooks.mkdir()
        for name in ("post-index-change", "fsmonitor-watchman",
                     "reference-transaction", "post-checkout"):
            for folder in (hooks, self.tree / ".git" / "hooks"):
                shutil.copy(program, folder / name)
        self.put(".gitattributes", "*.py filter=evil diff=evil\n"
                                   "*.txt filter=b\n*.md filter=c.d\n")
        for name in ("x.txt", "y.md", "z.py"):
            self.put(name, "1\n")
        self.commit()
        for key, value in {
                "core.fsmonitor": program, "core.hooksPath": hooks,
                "filter.evil.clean": program, "filter.evil.smudge": program,
                "filter.evil.required": "true", "filter.b.process": program,
                "filter.b.required": "true", "filter.c.d.clean": program,
                "diff.evil.command": program, "diff.evil.textconv": program,
                "diff.external": program, "core.pager": program,
                "core.editor": program, "core.sshCommand": program,
                "core.askPass": program, "credential.helper": program,
                "core.gitProxy": program, "gpg.program": program,
                "alias.status": f"!{program}", "alias.write-tree":
                f"!{program}", "protocol.ext.allow": "always",
                "protocol.allow": "always", "extensions.partialClone": "o",
                "core.repositoryFormatVersion": "1",
                "remote.o.url": f"ext::{program} %S",
                "remote.o.promisor": "true", "core.untrackedCache": "true",
        }.items():
            self.git("config", key, str(value))
        mark.unlink(missing_ok=True)
        for name in ("train.py", "x.txt", "y.md", "new.py", "new.txt"):
            self.put(name, "changed\n")
        code = self.run_here()
        self.assertIsNotNone(code["tree"], self.said)
        self.assertFalse(mark.exists(), mark.exists() and mark.read_text())
        # Objects that are not here are not fetched.
        blob = self.git("rev-parse", "HEAD:lib/model.py").strip()
        (self.tree / ".git/objects" / blob[:2] / blob[2:]).unlink()
        self.put("lib/model.py", "3\n")
        self.not_recorded(self.run_here())
        self.assertFalse(mark.exists(), mark.exists() and mark.read_text())

    def test_variables_of_git(self):
        """GIT_DIR and the like of the caller do not lead elsewhere."""
        first = self.run_here()
        other = self.folder / "o"
        other.mkdir()
        self.git("init", "-q", cwd=other)
        code = self.run_here(env={
            "GIT_DIR": str(other / ".git"), "GIT_WORK_TREE": str(other),
            "GIT_INDEX_FILE": str(other / "i"), "GIT_TRACE": str(other / "t"),
            "GIT_EXTERNAL_DIFF": "false", "GIT_OBJECT_DIRECTORY": str(other)})
        self.assertEqual(code["tree"], first["tree"])
        self.assertEqual(os.listdir(other), [".git"])


class Compared(Case):
    def diff(self, a, b, *words, code=0):
        return self.expect(self.jobrun("diff", a, b, "--log-dir", "../runs",
                                       *words, cwd=self.tree), code).stdout

    def run_as(self, name):
        self.run_here("--run-id", name)

    def verdict(self, a, b):
        """What is said of fields and code; the port differs where the first was
        still taken."""
        line = self.diff(a, b).splitlines()[-1]
        for start in ("no field differs: ",
                      "1 field differs, none of them part of the experiment: "):
            line = line.removeprefix(start)
        return line

    def test_same_spec_other_code(self):
        self.run_as("a")
        self.run_as("b")
        self.assertEqual(self.verdict("a", "b"),
                         "the same experiment")
        self.put("train.py", "print(2)\n")
        self.put("lib/model.py", "LAYERS = 9\n")
        self.run_as("c")
        self.assertEqual(self.verdict("a", "c"),
                         "same spec, different code: lib/model.py, train.py")
        found = json.loads(self.diff("a", "c", "--json"))
        self.assertIs(found["same_experiment"], False)
        self.assertIs(found["differ"], True)
        self.assertEqual(found["code"]["verdict"], "different")
        self.assertEqual(found["code"]["files"], ["lib/model.py", "train.py"])
        self.diff("a", "c", "--exit-code", code=1)
        text = self.diff("a", "c", "--code")
        self.assertIn("+LAYERS = 9\n", text)
        self.assertIn("code of A: commit ", text)
        self.assertNotIn("+LAYERS", self.diff("a", "c"))
        found = json.loads(self.diff("a", "c", "--json", "--code"))
        self.assertIsNone(found["code"]["a"]["patch"])
        self.assertIn("+LAYERS = 9\n", found["code"]["b"]["patch"])

    def test_a_run_that_is_repeated(self):
        """Its spec is one of the run folder; that of then still is no code."""
        self.put("base.yaml", SPEC.replace("world", "template: true\nworld"))
        self.put("t.jobrun.yaml",
                 "version: 1\nextends: base.yaml\nlog_dir: ../runs\n")
        self.run_as("a")
        for run, name in (("a", "b"), ("b", "c")):
            self.expect(self.jobrun("rerun", run, "--log-dir", "../runs",
                                    "--run-id", name, cwd=self.tree), 0)
            self.assertEqual(self.verdict("a", name), "the same experiment")
        self.put("train.py", "print(2)\n")
        self.expect(self.jobrun("rerun", "a", "--log-dir", "../runs",
                                "--run-id", "d", cwd=self.tree), 0)
        self.assertEqual(self.verdict("a", "d"),
                         "same spec, different code: train.py")

    def test_across_commits(self):
        """What was changed in one run and committed in the other is the same;
        what only the patches have, or only the commits, differs."""
        self.put("train.py", "print(2)\n")
        self.run_as("a")
        self.commit()
        self.run_as("b")
        self.assertEqual(self.verdict("a", "b"),
                         "the same experiment")
        self.put("lib/model.py", "LAYERS = 9\n")
        self.put("t.jobrun.yaml", SPEC + "log_dir: ../runs\n# said\n")
        self.commit()
        self.put("new.py", "1\n")
        self.run_as("c")
        self.assertEqual(self.verdict("a", "c"),
                         "same spec, different code: new.py, lib/model.py")
        shutil.rmtree(self.tree / ".git")
        self.assertIn("same spec, different code: ", self.verdict("a", "c"))
        self.assertIn("what their commits have differently",
                      self.verdict("a", "c"))

    def test_files_that_the_patch_does_not_have(self):
        self.put("w.env", "API_TOKEN=sk-0123456789abcdef\n")
        self.run_as("a")
        self.put("w.env", "API_TOKEN=sk-0123456789abcdeg\n")
        self.run_as("b")
        self.assertEqual(self.verdict("a", "b"),
                         "same spec, different code: one or more of w.env")

    def test_code_that_is_not_recorded(self):
        self.run_as("a")
        shutil.rmtree(self.tree / ".git")
        self.run_as("b")
        self.assertEqual(self.verdict("a", "b"),
                         "the same spec; code not recorded")
        found = json.loads(self.diff("a", "b", "--json"))
        self.assertIs(found["same_experiment"], False)
        self.assertEqual(found["code"]["verdict"], "unknown")

    def test_another_experiment(self):
        self.run_as("a")
        self.put("t.jobrun.yaml", SPEC + "log_dir: ../runs\nenv: {A: '1'}\n")
        self.run_as("b")
        self.assertIn("another experiment", self.verdict("a", "b"))

    def test_a_patch_is_safe_to_show(self):
        self.put("train.py", "print('\x1b[2J')\n")
        self.run_as("a")
        self.run_as("b")
        text = self.diff("a", "b", "--code")
        self.assertNotIn("\x1b", text)
        self.assertIn("\\x1b[2J", text)


if __name__ == "__main__":
    harness.main()
