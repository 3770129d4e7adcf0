"""Runs that are repeated, specs and runs side by side, also through git, and
specs of other versions."""
import json
import os
import socket
import subprocess

import harness

HEAD = "version: 1\ndevice: cpu\n"
REPORT = """\
entrypoint:
  shell: |
    printf '{"rank": %s, "loss": %s, "port": %s, "threads": %s, "host": "%s"}' \\
      "$RANK" "$1.$RANK" "$MASTER_PORT" "$OMP_NUM_THREADS" "$NODE_RANK" \\
      > "$JOBRUN_RESULT_FILE"
  args: ["%s"]
results: {required: all}
"""


def report(loss=1):
    return REPORT.replace('["%s"]', f'["{loss}"]')


class Case(harness.Case):
    def record(self, run="latest", logs="runs"):
        return json.loads((self.folder / logs / run / "run.json").read_text())

    def resolved(self, run="latest", logs="runs"):
        return (self.folder / logs / run / "resolved.yaml").read_text()

    def run_spec(self, name, text, *words, **how):
        """Run a spec; its record."""
        self.write(name, text)
        self.expect(self.jobrun(name, *words, **how), 0)
        return self.record()

    def diff(self, *words, code=0, **how):
        return self.expect(self.jobrun("diff", *words, **how), code)

    def diff_json(self, *words, **how):
        done = self.diff(*words, "--format", "json", **how)
        found = json.loads(done.stdout)
        self.assertEqual(found["format_version"], 1)
        return found


class Rerun(Case):
    def rerun(self, *words, code=0, **how):
        return self.expect(self.jobrun("rerun", *words, **how), code)

    def assert_repeats(self, first):
        again = self.record()
        self.assertNotEqual(again["run_id"], first["run_id"])
        self.assertEqual(again["rerun_of"], first["run_id"])
        self.assertEqual(again["fingerprint"], first["fingerprint"])
        return again

    def test_the_same_experiment(self):
        first = self.run_spec(
            "t.jobrun.yaml", HEAD + "world_size: 3\nname: again\n"
            "env: {A: 1, B: null}\n" + report(), "--", "x y", "$${z}", "%%{q}")
        self.assertIsNone(first["rerun_of"])
        self.rerun()
        again = self.assert_repeats(first)
        self.assertIn("-again-", again["run_id"])
        before = self.results(first["run_id"])
        after = self.results()
        self.assertEqual([r["result"]["loss"] for r in after["ranks"]],
                         [r["result"]["loss"] for r in before["ranks"]])
        # and that one can be repeated in its turn
        self.rerun(first["run_id"])
        self.rerun("latest", "--run-id", "third")
        self.assertEqual(self.record("third")["fingerprint"],
                         first["fingerprint"])

    def test_a_command_without_a_spec(self):
        self.expect(self.jobrun("-n", 2, "--", "printf", "<%s>\\n",
                                "${HOME}", "%%{x}", "a b"), 0)
        first = self.record()
        told = self.rerun().stdout
        self.assert_repeats(first)
        self.assertEqual(sorted(told.splitlines()), [
            f"[{rank}] <{word}>" for rank in (0, 1)
            for word in ("${HOME}", "%{x}", "a b")])

    def test_arguments_of_the_command_line_are_part_of_it(self):
        spec = self.write("t.jobrun.yaml",
                          HEAD + "world_size: 1\nentrypoint: [echo, a]\n")
        self.expect(self.jobrun(spec), 0)
        plain = self.record()
        self.expect(self.jobrun(spec, "--", "b"), 0)
        more = self.record()
        self.assertNotEqual(plain["fingerprint"], more["fingerprint"])
        self.assertEqual(self.rerun().stdout, "[0] a b\n")
        self.assert_repeats(more)

    def test_from_anywhere_into_the_old_folder(self):
        self.write("a ${b} \"c/here.txt", "here\n")
        spec = self.write("a ${b} \"c/t.jobrun.yaml",
                          HEAD + "world_size: 1\nentrypoint: [cat, here.txt]\n"
                          "log_dir: logs\n")
        self.expect(self.jobrun(spec), 0)
        logs = self.folder / "a ${b} \"c" / "logs"
        other = self.folder / "elsewhere"
        other.mkdir()
        done = self.rerun("--log-dir", logs, cwd=other)
        self.assertEqual(done.stdout, "[0] here\n")
        self.assertEqual(os.listdir(other), [])
        self.assertEqual(len([n for n in os.listdir(logs) if "-t-" in n]), 2)

    def test_placement_is_found_anew_or_kept(self):
        port = harness.free_port()
        first = self.run_spec("t.jobrun.yaml", HEAD + "world_size: 2\n"
                              f"threads: 3\nmaster_port: {port}\n" + report())
        with socket.socket() as taken:
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            taken.bind(("127.0.0.1", port))
            taken.listen()
            told = self.rerun("--exact", code=4).stderr
            self.assertIn(f"{port}", told)
            self.rerun(env={"OMP_NUM_THREADS": "2"})
            moved = self.results()["ranks"][0]["result"]
            self.assertNotEqual(moved["port"], port)
            self.assertEqual(moved["threads"], 2)
        self.assert_repeats(first)
        self.rerun(first["run_id"], "--exact", env={"OMP_NUM_THREADS": "2"})
        exact = self.results()["ranks"][0]["result"]
        self.assertEqual(exact["port"], port)
        self.assertEqual(exact["threads"], 3)
        self.assert_repeats(first)
        self.assertEqual(self.resolved(), self.resolved(first["run_id"]))

    def test_a_rehearsal_of_several_nodes(self):
        first = self.run_spec(
            "t.jobrun.yaml", HEAD + "nodes: 2\nlocal_world_size: [2, 1]\n"
            + report(), "--local")
        self.assertTrue(first["local"])
        self.rerun()
        again = self.assert_repeats(first)
        self.assertTrue(again["local"])
        self.assertEqual([r["result"]["host"]
                          for r in self.results()["ranks"]], ["0", "0", "1"])

    def test_a_secret_comes_from_the_environment(self):
        text = HEAD + ("world_size: 1\nenv: {MY_TOKEN: \"???\"}\n"
                       "entrypoint: {shell: 'echo \"got $MY_TOKEN\"'}\n")
        first = self.run_spec("t.jobrun.yaml", text, env={"MY_TOKEN": "hunter2"})
        self.assertNotIn("hunter2", self.resolved())
        told = self.rerun(code=4).stderr
        self.assertIn("MY_TOKEN", told)
        self.assertEqual(self.rerun(env={"MY_TOKEN": "two"}).stdout,
                         "[0] got two\n")
        self.assert_repeats(first)

    def test_what_cannot_be_repeated(self):
        self.assertIn("runs", self.rerun(code=2).stderr)
        self.run_spec("t.jobrun.yaml", HEAD + "world_size: 1\n" + report())
        self.assertIn("nosuch", self.rerun("nosuch", code=2).stderr)
        self.assertIn("takes no arguments",
                      self.rerun("--", "x", code=2).stderr)
        (self.folder / "runs/latest/resolved.yaml").unlink()
        self.assertIn("resolved.yaml", self.rerun(code=2).stderr)


class DiffOfSpecs(Case):
    def test_fields_and_where_they_are_from(self):
        self.write("a.yaml", HEAD + "entrypoint: [./train, --lr, 1]\n"
                   "world_size: 2\nlabels: {team: a}\n")
        self.write("b.yaml", HEAD + "entrypoint: [./train, --lr, 2]\n"
                   "world_size: 4\nlabels: {team: b}\n")
        found = self.diff_json("a.yaml", "b.yaml", "--on", "1x0,8c")
        self.assertFalse(found["same_experiment"])
        rows = {row["field"]: row for row in found["fields"]}
        self.assertEqual(
            list(rows), ["name", "labels.team", "entrypoint.command[2]",
                         "world_size", "local_world_size", "threads",
                         "parallelism.data"])
        argument = rows["entrypoint.command[2]"]
        self.assertEqual(argument["part"], "experiment")
        self.assertEqual(argument["b"], {
            "value": '"2"', "from": None, "file": "b.yaml", "line": 3,
            "column": 29})
        self.assertEqual(rows["labels.team"]["part"], "label")
        self.assertEqual(rows["threads"]["part"], "placement")
        self.assertEqual(rows["threads"]["a"]["from"],
                         "--on 1x0,8c: 8 physical cores / 2 ranks")
        text = self.diff("a.yaml", "b.yaml", "--on", "1x0,8c").stdout
        self.assertRegex(text, r"(?m)^world_size +2 +a.yaml:4 +4 +b.yaml:4$")
        self.assertIn("7 fields differ: another experiment\n", text)

    def test_the_same_experiment(self):
        self.write("a.yaml", HEAD + "name: t\nentrypoint: [./x]\nthreads: 1\n"
                   "world_size: 2\n")
        self.write("b.yaml", "# b\nversion: 1\nname: t\nworld_size: 2\n"
                   "device: cpu\nthreads: 2\nentrypoint: {command: ['./x']}\n")
        found = self.diff_json("a.yaml", "b.yaml")
        self.assertTrue(found["same_experiment"])
        self.assertEqual([r["field"] for r in found["fields"]], ["threads"])
        self.assertEqual(found["a"]["fingerprint"], found["b"]["fingerprint"])
        self.assertEqual(len(found["a"]["fingerprint"]), 64)
        self.assertTrue(self.diff("a.yaml", "b.yaml").stdout.endswith(
            ": the same experiment if the code is the same\n"))
        self.diff("a.yaml", "b.yaml", "--exit-code", code=1)
        self.diff("a.yaml", "a.yaml", "--exit-code")

    def test_what_does_not_make_the_experiment(self):
        """Output, records and times; and whatever is at its default."""
        body = HEAD + "name: t\nentrypoint: [./x]\nworld_size: 2\n"
        self.write("a.yaml", body)
        for more, part in (("timeouts: {run: 1h}", "supervision"),
                           ("restart: {max: 2}", "supervision"),
                           ("console: {prefix: '> '}", "output"),
                           ("redirects: all", "output"),
                           ("secrets: [MINE]", "record"),
                           ("log_limit: 1MiB", "record")):
            with self.subTest(more):
                self.write("b.yaml", body + more + "\n")
                found = self.diff_json("a.yaml", "b.yaml")
                self.assertTrue(found["same_experiment"])
                self.assertEqual({r["part"] for r in found["fields"]}, {part})
                self.assertEqual(found["a"]["fingerprint"],
                                 found["b"]["fingerprint"])
        self.write("b.yaml", body + "env: {A: 1}\n")
        found = self.diff_json("a.yaml", "b.yaml")
        self.assertFalse(found["same_experiment"])
        self.assertNotEqual(found["a"]["fingerprint"],
                            found["b"]["fingerprint"])

    def test_another_checkout_is_the_same_experiment(self):
        """Paths count from the top of the git work tree."""
        body = (HEAD + "name: t\nentrypoint: {python: {script: ../s.py}}\n"
                "world_size: 1\nworkdir: sub\n")
        for top in ("one", "two"):
            self.write(f"{top}/jobs/t.jobrun.yaml", body)
            self.write(f"{top}/jobs/deep/t.jobrun.yaml", body)
            self.write(f"{top}/s.py", "")
            (self.folder / top / "jobs/sub").mkdir()
            subprocess.run(["git", "init", "-q", top], cwd=self.folder,
                           check=True)
        found = self.diff_json("one/jobs/t.jobrun.yaml",
                               "two/jobs/t.jobrun.yaml")
        self.assertEqual(found["fields"], [])
        self.assertEqual(found["a"]["fingerprint"], found["b"]["fingerprint"])
        found = self.diff_json("one/jobs/t.jobrun.yaml",
                               "one/jobs/deep/t.jobrun.yaml")
        self.assertFalse(found["same_experiment"])
        rows = {row["field"]: row for row in found["fields"]}
        self.assertEqual(rows["workdir"]["a"]["value"], "./jobs/sub")
        self.assertNotEqual(found["a"]["fingerprint"],
                            found["b"]["fingerprint"])
        for top in ("one", "two"):
            self.expect(self.jobrun(f"{top}/jobs/t.jobrun.yaml",
                                    "--run-id", top), 0)
        self.assertEqual(self.record("one")["fingerprint"],
                         self.record("two")["fingerprint"])
        self.expect(self.jobrun("rerun", "two", "--run-id", "again"), 0)
        self.assertEqual(self.record("again")["fingerprint"],
                         self.record("two")["fingerprint"])

    def test_what_cannot_be_resolved_is_compared_as_written(self):
        self.write("a.yaml", "version: 1\nname: t\nentrypoint: [x]\n"
                   "device: cuda\n")
        self.write("b.yaml", "version: 1\nname: t\nentrypoint: [x]\n"
                   "device: cuda\nworld_size: 64\n")
        done = self.diff("a.yaml", "b.yaml", "--on", "1x0,4c")
        self.assertIn("as they are written", done.stderr)
        self.assertRegex(done.stdout,
                         r"(?m)^world_size +- +64 +b.yaml:5$")
        self.assertIsNone(self.diff_json("a.yaml", "b.yaml", "--on",
                                         "1x0,4c")["a"]["fingerprint"])
        self.diff("a.yaml", "b.yaml", "--on", "8x8:H100")

    def test_the_environment(self):
        text = HEAD + "name: t\nentrypoint: [x, \"${env:WORD}\"]\n" \
            "world_size: %s\n"
        self.write("a.yaml", text % 1)
        self.write("b.yaml", text.replace("WORD", "WORD:-other") % 1)
        rows = self.diff_json("a.yaml", "b.yaml")["fields"]
        self.assertEqual(rows[0]["a"]["value"], "${env:WORD}")
        self.assertEqual(rows[0]["b"]["value"], "other")
        self.assertEqual(self.diff_json("a.yaml", "b.yaml",
                                        env={"WORD": "w"})["fields"], [])

    def test_no_port_is_tried(self):
        self.write("a.yaml", HEAD + "entrypoint: [x]\nworld_size: 1\n")
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            self.write("b.yaml", HEAD + "name: a\nentrypoint: [x]\n"
                       f"world_size: 1\nmaster_port: {port}\n")
            (row,) = self.diff_json("a.yaml", "b.yaml")["fields"]
        self.assertEqual(row["field"], "master_port")
        self.assertEqual(row["a"]["value"], "29500")

    def test_mistakes(self):
        self.write("good.yaml", HEAD + "entrypoint: [x]\nworld_size: 1\n")
        self.write("bad.yaml", HEAD + "entrypiont: [x]\n")
        self.write("clash.yaml", HEAD + "entrypoint: [x]\nworld_size: 3\n"
                   "nodes: 2\n")
        told = self.diff("good.yaml", "bad.yaml", code=3).stderr
        self.assertIn("did you mean 'entrypoint'", told)
        self.diff("clash.yaml", "good.yaml", code=3)
        for words in ([], ["good.yaml"], ["good.yaml"] * 3,
                      ["good.yaml", "nosuch"],
                      ["good.yaml", "good.yaml", "--format", "xml"]):
            with self.subTest(words):
                self.diff(*words, code=2)

    def test_secrets_are_not_shown(self):
        for name, value in (("a", "hunter2"), ("b", "swordfish")):
            self.write(f"{name}.yaml", HEAD + "name: t\nentrypoint: [x]\n"
                       f"world_size: 1\nenv: {{API_TOKEN: {value}}}\n")
        for form in ("text", "json", "markdown"):
            done = self.diff("a.yaml", "b.yaml", "--format", form)
            self.assertNotRegex(done.stdout + done.stderr,
                                "hunter2|swordfish")

    def test_text_from_a_spec_forges_nothing(self):
        self.write("a.yaml", HEAD + "name: t\nentrypoint: [x]\nworld_size: 1\n")
        self.write("b.yaml", HEAD + "name: t\nentrypoint: [x]\nworld_size: 1\n"
                   r'env: {A: "a\n::error::|`x`<b>\e[2J"}' "\n"
                   r'labels: {"x\n::error": "\e[2J"}' "\n")
        text = self.diff("a.yaml", "b.yaml").stdout
        self.assertNotRegex(text, r"(?m)^::|\x1b")
        marked = self.diff("a.yaml", "b.yaml", "--format", "markdown").stdout
        rows = [l for l in marked.splitlines() if l.startswith("| ")]
        self.assertEqual(len(rows), 3)
        self.assertTrue(all(row.count("|") == 4 for row in rows), marked)
        self.assertNotIn("\x1b", marked)


class DiffOfRuns(Case):
    def test_outcome_and_results(self):
        first = self.run_spec("t.jobrun.yaml",
                              HEAD + "world_size: 2\n" + report(1))
        second = self.run_spec("t.jobrun.yaml",
                               HEAD + "world_size: 2\n" + report(2))
        ids = first["run_id"], second["run_id"]
        found = self.diff_json(*ids)
        self.assertEqual([r["field"] for r in found["fields"]
                          if r["part"] == "experiment"],
                         ["entrypoint.args[0]"])
        self.assertEqual(found["a"], {"name": ids[0], "kind": "run",
                                      "fingerprint": first["fingerprint"]})
        rows = {row["field"]: (row["a"], row["b"])
                for row in found["outcome"]}
        self.assertEqual([s["value"] for s in rows["results.loss"]],
                         ["1.0 .. 1.1", "2.0 .. 2.1"])
        self.assertEqual([s["value"] for s in rows["status"]],
                         ["succeeded"] * 2)
        self.assertIn("took", rows)
        text = self.diff(*ids).stdout
        self.assertRegex(text, r"(?m)^results.loss +1.0 .. 1.1 +2.0 .. 2.1$")
        self.diff(*ids, "--exit-code", code=1)

    def test_the_same_run_twice_but_for_the_time(self):
        first = self.run_spec("t.jobrun.yaml",
                              HEAD + "world_size: 1\n"
                              f"master_port: {harness.free_port()}\n" + report())
        self.expect(self.jobrun("rerun", "--exact"), 0)
        again = self.record()["run_id"]
        done = self.diff(first["run_id"], again, "--exit-code")
        self.assertIn("no field differs: the same spec; code not recorded\n",
                      done.stdout)

    def test_a_run_that_failed(self):
        text = HEAD + "world_size: 2\nname: t\n" + report()
        first = self.run_spec("t.jobrun.yaml", text)
        self.write("t.jobrun.yaml", text.replace(
            "    printf", "    [ $RANK = 0 ] || exit 7\n    printf"))
        self.expect(self.jobrun("t.jobrun.yaml"), 1)
        found = self.diff_json(first["run_id"], "latest")
        rows = {row["field"]: row for row in found["outcome"]}
        self.assertEqual(rows["status"]["b"]["value"], "failed")
        self.assertEqual(rows["exit_code"]["b"]["value"], "1")
        self.assertIn("rank 1 exited with code 7",
                      rows["root_cause"]["b"]["value"])

    def test_a_run_without_an_end(self):
        first = self.run_spec("t.jobrun.yaml", HEAD + "world_size: 1\n"
                              f"master_port: {harness.free_port()}\n" + report())
        self.expect(self.jobrun("rerun", "--exact"), 0)
        (self.folder / "runs/latest/results.json").unlink()
        found = self.diff_json(first["run_id"], "latest", "--exit-code", code=1)
        rows = {row["field"]: row for row in found["outcome"]}
        self.assertEqual(rows["status"]["b"]["value"], "lost")
        self.assertIsNone(rows["took"]["b"])
        self.assertIsNone(rows["results.loss"]["b"])
        self.assertEqual(found["fields"], [])

    def test_a_run_against_the_spec_of_now(self):
        first = self.run_spec("t.jobrun.yaml",
                              HEAD + "world_size: 2\n" + report(1))
        self.write("t.jobrun.yaml", HEAD + "world_size: 2\n" + report(3))
        found = self.diff_json(first["run_id"], "t.jobrun.yaml")
        self.assertEqual([r["field"] for r in found["fields"]
                          if r["part"] == "experiment"],
                         ["entrypoint.args[0]"])
        self.assertIsNone(found["outcome"])


class Git(Case):
    def setUp(self):
        super().setUp()
        self.git("init", "-q", "-b", "main")
        self.git("config", "user.name", "n")
        self.git("config", "user.email", "e@example.org")

    def git(self, *words):
        subprocess.run(["git", *words], cwd=self.folder, check=True,
                       capture_output=True, timeout=harness.LIMIT,
                       env=harness.clean_environment(
                           HOME=str(self.folder), GIT_CONFIG_NOSYSTEM="1"))

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "m")

    def specs(self):
        """A base, and specs that extend it and that do not."""
        self.write("base/common.jobrun.yaml", HEAD + "template: true\n"
                   "entrypoint: [./train, --lr, '1']\n")
        for name in ("one", "two"):
            self.write(f"exp/{name}.jobrun.yaml", "version: 1\n"
                       "extends: ../base/common.jobrun.yaml\n"
                       f"world_size: {len(name)}\nenv: {{NAME: {name}}}\n")
        self.write("exp/deep/own.jobrun.yaml",
                   HEAD + "entrypoint: [./own]\nworld_size: 2\n")
        self.write("exp/gone.jobrun.yaml",
                   HEAD + "entrypoint: [./gone]\nworld_size: 2\n")
        self.write("exp/notes.yaml", "not: a spec\n")
        self.commit()

    def states(self, *words, **how):
        found = self.diff_json("--rev", "main", *words, **how)
        return {spec["file"]: spec["state"] for spec in found["specs"]}

    def test_a_file_at_a_revision(self):
        self.specs()
        base = self.folder / "base/common.jobrun.yaml"
        base.write_text(base.read_text().replace("'1'", "'2'"))
        found = self.diff_json("main:exp/one.jobrun.yaml",
                               "exp/one.jobrun.yaml")
        (row,) = found["fields"]
        self.assertEqual(row["field"], "entrypoint.command[2]")
        self.assertEqual((row["a"]["file"], row["a"]["line"]),
                         ("main:base/common.jobrun.yaml", 4))
        self.assertEqual((row["b"]["file"], row["b"]["line"]),
                         ("base/common.jobrun.yaml", 4))
        # from the top, or from here, as git has it
        inside = self.folder / "exp"
        same = self.diff_json("HEAD:./one.jobrun.yaml",
                              "main:exp/one.jobrun.yaml", cwd=inside)
        self.assertEqual(same["fields"], [])
        told = self.diff("main:one.jobrun.yaml", "one.jobrun.yaml",
                         cwd=inside, code=3).stderr
        self.assertIn("./FILE", told)
        for rev in ("nosuch", "-r", "main:exp"):
            self.diff(f"{rev}:exp/one.jobrun.yaml", "exp/one.jobrun.yaml",
                      code=3 if rev == "main:exp" else 2)

    def test_nothing_has_changed(self):
        self.specs()
        self.write("exp/one.jobrun.yaml", "# the same, written otherwise\n"
                   "extends: [../base/common.jobrun.yaml]\nversion: 1\n"
                   "env:\n  NAME: 'one'\nworld_size: 3\n")
        self.assertEqual(self.states(), {})
        done = self.diff("--rev", "main", "exp", "--exit-code")
        self.assertEqual(done.stdout, "0 of 4 specs differ from main\n")

    def test_what_has_changed(self):
        self.specs()
        base = self.folder / "base/common.jobrun.yaml"
        base.write_text(base.read_text().replace("'1'", "'2'"))
        (self.folder / "exp/gone.jobrun.yaml").unlink()
        self.write("exp/fresh.jobrun.yaml",
                   HEAD + "entrypoint: [./fresh]\nworld_size: 2\n")
        # overrides what has changed in the base
        self.write("exp/two.jobrun.yaml", "version: 1\n"
                   "extends: ../base/common.jobrun.yaml\nworld_size: 3\n"
                   "env: {NAME: two}\nentrypoint: [./train, --lr, '1']\n")
        expected = {"exp/one.jobrun.yaml": "changed",
                    "exp/gone.jobrun.yaml": "removed",
                    "exp/fresh.jobrun.yaml": "added"}
        self.assertEqual(self.states(), expected)
        self.assertEqual(self.states("exp"), expected)
        self.assertEqual(self.states(".", cwd=self.folder / "exp"), expected)
        self.assertEqual(self.states(self.folder / "exp/deep"), {})
        self.assertEqual(self.states("exp/one.jobrun.yaml"),
                         {"exp/one.jobrun.yaml": "changed"})
        self.diff("--rev", "main", "exp", "--exit-code", code=1)
        # what is committed counts by its values alone
        self.commit()
        self.assertEqual(self.states(), {})
        found = self.diff_json("--rev", "main~1", "exp")
        self.assertEqual(len(found["specs"]), 3)
        self.assertEqual(found["same"], 2)

    def test_how_it_is_put_together_is_no_value(self):
        self.specs()
        self.write("exp/deep/own.jobrun.yaml",
                   HEAD + "vars: {n: 2}\nentrypoint: [./own]\n"
                   "world_size: ${vars.n}\n")
        self.assertEqual(self.states(), {})

    def test_a_comment(self):
        self.specs()
        self.write("exp/deep/own.jobrun.yaml", HEAD
                   + "entrypoint: [./own, 'a|b', '`c`']\nworld_size: 4\n")
        done = self.diff("--rev", "main", "exp", "--format", "markdown")
        self.assertEqual(done.stdout, """\
### `exp/deep/own.jobrun.yaml` changed

| field | A | B |
|---|---|---|
| `entrypoint.command` | `[./own]` `main:exp/deep/own.jobrun.yaml:3` | \
<code>&#91;&#46;&#47;own&#44;&#32;a&#124;b&#44;&#32;&#34;&#96;c&#96;&#34;\
&#93;</code> `exp/deep/own.jobrun.yaml:3` |
| `world_size` | `2` `main:exp/deep/own.jobrun.yaml:4` | \
`4` `exp/deep/own.jobrun.yaml:4` |

2 fields differ: another experiment

1 of 4 specs differs from `main`
""")

    def test_for_a_machine(self):
        self.specs()
        own = "exp/deep/own.jobrun.yaml"
        self.write(own, HEAD + "entrypoint: [./own]\nworld_size: 4\n")
        fields = lambda *more: [row["field"] for row in self.diff_json(
            "--rev", "main", own, *more)["specs"][0]["fields"]]
        self.assertEqual(fields(), ["world_size"])
        derived = ["world_size", "local_world_size", "threads",
                   "parallelism.data"]
        self.assertEqual(fields("--on", "1x0,8c"), derived)
        self.write(own, HEAD + "entrypoint: [./own]\nworld_size: 4\n"
                   "targets: [\"1x0,8c\"]\n")
        self.assertEqual(fields(), derived)

    def test_specs_with_mistakes(self):
        self.specs()
        self.write("exp/one.jobrun.yaml", "version: 1\nextends: nosuch.yaml\n")
        self.write("exp/two.jobrun.yaml", HEAD + "entrypoint: [x]\n"
                   "world_size: 3\nparallelism: {model: 2}\n")
        done = self.diff("--rev", "main", "exp", "--format", "json", code=3)
        states = {spec["file"]: spec["state"]
                  for spec in json.loads(done.stdout)["specs"]}
        self.assertEqual(states, {"exp/one.jobrun.yaml": "invalid",
                                  "exp/two.jobrun.yaml": "invalid"})
        self.commit()
        self.write("exp/one.jobrun.yaml", HEAD + "entrypoint: [x]\n"
                   "world_size: 3\n")
        self.write("exp/two.jobrun.yaml", HEAD + "entrypoint: [x]\n"
                   "world_size: 3\n")
        self.assertEqual(set(self.states("exp").values()), {"invalid"})

    def test_the_environment_of_a_job_in_ci_is_not_read(self):
        self.specs()
        own = "exp/deep/own.jobrun.yaml"
        self.write(own, HEAD + "entrypoint: [./own, \"${env:HOME}\"]\n"
                   "world_size: 2\n")
        done = self.diff("--rev", "main", "exp", env={"HOME": "/home/me"})
        self.assertIn("[./own, \"${env:HOME}\"]", done.stdout)
        self.assertNotIn("/home/me", done.stdout)

    def test_nothing_of_the_repository_runs(self):
        self.specs()
        self.git("config", "core.fsmonitor", "touch monitored; false")
        self.git("config", "core.pager", "touch paged")
        self.git("config", "core.hooksPath", ".hooks")
        for hook in ("post-checkout", "post-index-change", "fsmonitor"):
            path = self.write(f".hooks/{hook}", "#!/bin/sh\ntouch hooked\n")
            path.chmod(0o755)
        self.diff("--rev", "main", "exp", env={"GIT_DIR": "/nonexistent"})
        self.assertEqual({"monitored", "paged", "hooked"}
                         & set(os.listdir(self.folder)), set())

    def test_one_git_for_all_files(self):
        for i in range(30):
            self.write(f"exp/{i}.jobrun.yaml",
                       HEAD + f"entrypoint: [x]\nworld_size: {i + 1}\n")
        self.commit()
        tools = self.folder / "tools"
        script = self.write("tools/git", "#!/bin/sh\n"
                            f"echo run >> '{self.folder}/count'\n"
                            "PATH=${PATH#*:} exec git \"$@\"\n")
        script.chmod(0o755)
        self.diff("--rev", "main", "exp",
                  env={"PATH": f"{tools}:{os.environ['PATH']}"})
        count = (self.folder / "count").read_text().splitlines()
        self.assertLessEqual(len(count), 2)

    def test_no_repository(self):
        outside = self.folder / "outside"
        self.specs()
        os.rename(self.folder / ".git", self.folder / "moved")
        outside.mkdir()
        told = self.diff("--rev", "main", "exp", code=2).stderr
        self.assertIn("no git repository", told)
        os.rename(self.folder / "moved", self.folder / ".git")
        told = self.diff("--rev", "main", "exp", "/", code=2).stderr
        self.assertIn("not in the repository", told)


if __name__ == "__main__":
    harness.main()
