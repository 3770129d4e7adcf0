"""What `validate` tells to each kind of reader, and the examples of docs/ci."""
import collections
import json
import os
import pathlib
import re
import subprocess
import urllib.parse
import xml.etree.ElementTree as ElementTree

import harness

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOOD = "version: 1\nentrypoint: [./train]\n"
BAD = """\
version: 1
entrypoint: [./train]
paralelism: {model: 2}
world_size: 4x
oversubscribe: yes
world_size: 8
backends: nvcl
"""
MISTAKES = 5
# Names and keys that would break a careless writer.
ODD_NAME = "odd <&\"'>, 50%: \n::error::[x](y).jobrun.yaml"
ODD = GOOD + "\"::error::]](x)<!--&%0A\\e\": 1\n"


class Case(harness.Case):
    """A checkout with one bad spec, one good one, and one with odd names."""

    def setUp(self):
        super().setUp()
        (self.folder / ".git").mkdir()
        self.write("specs/bad.jobrun.yaml", BAD)
        self.write("specs/deep/good.jobrun.yaml", GOOD)
        self.write("specs/" + ODD_NAME, ODD)

    def validate(self, form, *words, code=3, **options):
        done = self.jobrun("validate", "--format", form, *(words or ["specs"]),
                           **options)
        self.assertEqual(done.stderr, "")
        return self.expect(done, code).stdout

    def findings(self, *words, **options):
        return json.loads(self.validate("json", *words,
                                        **options))["diagnostics"]

    def from_top(self, found):
        """Files are named as they are seen from the top of the checkout."""
        for name in found:
            self.assertTrue((self.folder / name).is_file(), name)


class Everywhere(Case):
    def formats(self):
        text = self.expect(self.jobrun("validate", "--help"), 0).stdout
        rows = text.split("\nformats:\n")[1].split("\n\n")[0].splitlines()
        return [row.split()[0] for row in rows]

    def test_every_format_that_help_lists_exists(self):
        formats = self.formats()
        self.assertEqual(formats, ["human", "short", "json", "jsonl", "github",
                                   "gitlab", "sarif", "junit"])
        for form in formats:
            with self.subTest(form):
                self.assertNotEqual(self.validate(form), "")
                self.validate(form, "specs/deep", code=0)
                self.validate(form, "specs/deep", "--strict", code=0)

    def test_json_has_an_option_of_its_own(self):
        done = self.expect(self.jobrun("validate", "--json", "specs"), 3)
        self.assertEqual(done.stdout, self.validate("json"))
        self.expect(self.jobrun("validate", "--json", "--format", "json",
                                "specs"), 3)
        done = self.jobrun("validate", "--json", "--format", "short", "specs")
        self.assertIn("give one of them", self.expect(done, 2).stderr)
        good = "specs/deep/good.jobrun.yaml"
        for verb in ("resolve", "plan"):
            done = self.jobrun(verb, good, "--json", "--on", "1x0,4c")
            self.assertEqual(json.loads(self.expect(done, 0).stdout)
                             ["format_version"], 1)
        self.expect(self.jobrun("doctor", "--json"), 2)

    def test_another_is_refused_with_the_list(self):
        done = self.expect(self.jobrun("validate", "--format", "xml", "a"), 2)
        self.assertIn(", ".join(self.formats()), done.stderr)

    def test_quiet_says_nothing_of_what_is_valid(self):
        for form in self.formats():
            with self.subTest(form):
                self.assertEqual(
                    self.validate(form, "-q", "specs/deep", code=0), "")
                self.assertEqual(self.validate(form, "specs", "-q"),
                                 self.validate(form))

    def test_no_text_of_a_spec_moves_a_cursor(self):
        for form in self.formats():
            with self.subTest(form):
                self.assertIsNone(re.search(r"[\0-\x09\x0b-\x1f\x7f]",
                                            self.validate(form)))

    def test_a_folder_that_cannot_be_checked_is_a_finding(self):
        (self.folder / "empty").mkdir()
        for form in self.formats():
            with self.subTest(form):
                self.assertIn("empty", self.validate(form, "empty"))

    def test_files_come_in_the_order_of_the_words(self):
        self.write("a.jobrun.yaml", BAD)
        files = [found["file"] for found in
                 self.findings("specs/bad.jobrun.yaml", "a.jobrun.yaml")]
        self.assertEqual(files, ["specs/bad.jobrun.yaml"] * MISTAKES +
                         ["a.jobrun.yaml"] * MISTAKES)

    def test_standard_input_has_a_name(self):
        self.write("in", BAD)
        with open(self.folder / "in") as file:
            text = self.validate("junit", "-", stdin=file)
        [case] = ElementTree.fromstring(text).iter("testcase")
        self.assertEqual(case.get("name"), "stdin")
        self.assertIn("stdin:3:1: error", case.findtext("failure"))

    def test_many_findings_take_no_time(self):
        """The cost is one pass: a thousand findings far into a long file."""
        self.write("long/l.jobrun.yaml", GOOD + "# \n" * 100_000 +
                   "".join(f"unknown{i}: 1\n" for i in range(1200)))
        with self.takes_less(20):  # half a one, with slack
            for form in self.formats():
                with self.subTest(form):
                    self.validate(form, "long")
        self.assertEqual(len(self.findings("long")), 1000)


class Jsonl(Case):
    def test_each_line_is_a_finding(self):
        lines = self.validate("jsonl").splitlines()
        self.assertEqual([json.loads(line) for line in lines], self.findings())


class Short(Case):
    def test_the_problem_matcher_reads_it(self):
        matcher = json.loads(
            (ROOT / "docs/ci/jobrun-problem-matcher.json").read_text())
        [pattern] = matcher["problemMatcher"][0]["pattern"]
        (self.folder / "empty").mkdir()
        words = ("specs/bad.jobrun.yaml", "specs/" + ODD_NAME, "empty")
        lines = self.validate("short", *words).splitlines()
        found = self.findings(*words)
        self.assertEqual(len(lines), len(found))
        for line, finding in zip(lines, found):
            match = re.fullmatch(pattern["regexp"], line)
            self.assertIsNotNone(match, line)
            place = [finding["line"], finding["column"]]
            self.assertEqual(
                [int(match[pattern[key]]) if match[pattern[key]] else None
                 for key in ("line", "column")], place)
            self.assertEqual(match[pattern["severity"]], finding["severity"])
            self.assertEqual(match[pattern["code"]], finding["code"])
            if finding["file"] != "specs/" + ODD_NAME:
                self.assertEqual(match[pattern["file"]], finding["file"])
                self.assertEqual(match[pattern["message"]],
                                 finding["message"])


class Github(Case):
    @staticmethod
    def decode(text, *special):
        for mark in special + ("\r", "\n", "%"):
            text = text.replace(f"%{ord(mark):02X}", mark)
        return text

    def annotations(self, text):
        """As the runner reads workflow commands."""
        for line in text.splitlines():
            if line.startswith("::"):
                head, message = line[2:].split("::", 1)
                kind, properties = head.split(" ", 1)
                pairs = (word.split("=", 1) for word in properties.split(","))
                yield (kind, {key: self.decode(value, ":", ",")
                              for key, value in pairs}, self.decode(message))

    def test_each_finding_becomes_an_annotation(self):
        words = ("bad.jobrun.yaml",)
        text = self.validate("github", *words, cwd=self.folder / "specs")
        found = self.findings(*words, cwd=self.folder / "specs")
        annotations = list(self.annotations(text))
        self.assertEqual(len(annotations), MISTAKES)
        self.from_top(each["file"] for _, each, _ in annotations)
        for (kind, place, message), finding in zip(annotations, found):
            self.assertEqual(kind, finding["severity"])
            self.assertEqual(
                [int(place[key]) for key in ("line", "col", "endColumn")],
                [finding[key] for key in ("line", "column", "end_column")])
            self.assertTrue(place["title"].startswith(finding["code"] + ": "))
            self.assertIn(": " + finding["message"], message)
            self.assertIn(finding["help"] or "", message)
        self.assertEqual(text.splitlines()[MISTAKES:],
                         ["5 errors in 1 file",
                          "3 of them can be fixed with --fix"])

    def test_odd_names_make_no_commands(self):
        text = self.validate("github", "specs/" + ODD_NAME)
        [(kind, place, message)] = self.annotations(text)
        self.assertEqual(kind, "error")
        self.assertEqual(set(place), {"file", "line", "col", "endColumn",
                                      "title"})
        self.assertEqual(place["file"],
                         "specs/" + ODD_NAME.replace("\n", "\\x0a"))
        self.assertIn("::error::]](x)<!--&%0A", message)

    def test_what_github_drops_is_told(self):
        self.write("a.jobrun.yaml", GOOD + "".join(
            f"unknown{i}: 1\n" for i in range(11)))
        text = self.validate("github", "a.jobrun.yaml")
        self.assertEqual(len(list(self.annotations(text))), 11)
        self.assertEqual(text.splitlines()[11], "11 errors in 1 file")
        self.assertIn("GitHub shows the first 10 errors", text)


class Gitlab(Case):
    def report(self, *words, **options):
        return json.loads(self.validate("gitlab", *words, **options))

    def test_it_has_what_gitlab_requires(self):
        report = self.report()
        self.assertEqual(len(report), MISTAKES + 1)
        for issue in report:
            self.assertEqual(set(issue), {"description", "check_name",
                                          "fingerprint", "severity",
                                          "location"})
            self.assertRegex(issue["check_name"], r"^JR\d{4}$")
            self.assertIn(issue["severity"], ("info", "minor", "major",
                                              "critical", "blocker"))
            self.assertGreater(issue["location"]["lines"]["begin"], 0)
        self.from_top(issue["location"]["path"] for issue in report)
        prints = {issue["fingerprint"] for issue in report}
        self.assertEqual(len(prints), len(report))

    def test_an_issue_stays_the_same_one(self):
        before = self.report()
        self.write("specs/bad.jobrun.yaml", "# moved\n\n" + BAD)
        after = self.report(".", cwd=self.folder / "specs")
        prints = [{issue["fingerprint"]: issue["location"]["lines"]["begin"]
                   for issue in report} for report in (before, after)]
        self.assertEqual(set(prints[0]), set(prints[1]))
        self.assertNotEqual(prints[0], prints[1])

    def test_valid_specs_are_an_empty_report(self):
        self.assertEqual(json.loads(
            self.validate("gitlab", "specs/deep", code=0)), [])


class Sarif(Case):
    def run_of(self, *words, **options):
        log = json.loads(self.validate("sarif", *words, **options))
        self.assertEqual(log["version"], "2.1.0")
        [run] = log["runs"]
        self.assertEqual(run["columnKind"], "unicodeCodePoints")
        return run

    def place(self, location):
        physical = location["physicalLocation"]
        uri = physical["artifactLocation"]["uri"]
        self.assertRegex(uri, r"^[A-Za-z0-9._~/%-]+$")
        return urllib.parse.unquote(uri), physical["region"]

    def test_each_finding_is_a_result_with_a_rule(self):
        run, found = self.run_of(), self.findings()
        rules = run["tool"]["driver"]["rules"]
        self.assertEqual(len(run["results"]), len(found))
        self.assertEqual([rule["id"] for rule in rules],
                         list(dict.fromkeys(f["code"] for f in found)))
        for result, finding in zip(run["results"], found):
            self.assertEqual(result["ruleId"], finding["code"])
            self.assertEqual(rules[result["ruleIndex"]]["id"],
                             finding["code"])
            self.assertEqual(result["level"], finding["severity"])
            file, region = self.place(result["locations"][0])
            self.assertEqual(file, finding["file"])
            self.assertEqual(list(region.values()), [
                finding[key] for key in ("line", "column", "end_line",
                                         "end_column")])
            self.assertEqual(len(result.get("relatedLocations", [])),
                             len(finding["related"]))
            self.assertEqual(len(result.get("fixes", [])),
                             len(finding["fixes"]))
        for rule in rules:
            explained = self.expect(self.jobrun("explain", rule["id"]), 0)
            self.assertIn(rule["help"]["text"], explained.stdout)
            self.assertIn(rule["shortDescription"]["text"], explained.stdout)

    def test_no_message_holds_a_link(self):
        [result] = self.run_of("specs/" + ODD_NAME)["results"]
        self.assertNotIn("](", result["message"]["text"])

    def test_the_fixes_mend_what_they_are_for(self):
        path = self.folder / "specs" / "bad.jobrun.yaml"
        results = self.run_of("specs/bad.jobrun.yaml")["results"]
        lines = BAD.splitlines()
        fixed = 0
        for result in reversed(results):
            for fix in result.get("fixes", []):
                [change] = fix["artifactChanges"]
                [one] = change["replacements"]
                region = one["deletedRegion"]
                line = lines[region["startLine"] - 1]
                lines[region["startLine"] - 1] = (
                    line[:region["startColumn"] - 1] +
                    one["insertedContent"]["text"] +
                    line[region["endColumn"] - 1:])
                fixed += 1
        self.assertGreater(fixed, 1)
        path.write_text("\n".join(lines))
        left = self.findings("specs/bad.jobrun.yaml")
        self.assertEqual(len(left), MISTAKES - fixed)


class Junit(Case):
    def test_each_file_is_a_case(self):
        self.write("specs/deep/bad.jobrun.yaml", BAD)
        suites = ElementTree.fromstring(self.validate("junit"))
        [suite] = suites
        cases = list(suite)
        self.assertEqual((suites.tag, suite.tag), ("testsuites", "testsuite"))
        self.assertEqual(int(suite.get("tests")), len(cases))
        self.assertEqual(int(suite.get("failures")), 3)
        names = [case.get("name") for case in cases]
        self.assertEqual(names, [
            "specs/bad.jobrun.yaml", "specs/deep/bad.jobrun.yaml",
            "specs/deep/good.jobrun.yaml",
            "specs/" + ODD_NAME.replace("\n", "\\x0a")])
        rendered = collections.defaultdict(str)
        for finding in self.findings():
            rendered[finding["file"]] += finding["rendered"]
        for case, file in zip(cases, names[:3] + ["specs/" + ODD_NAME]):
            self.assertEqual(case.findtext("failure", ""), rendered[file])


class Copied(Case):
    """What the tests of files for others share."""

    def yaml(self, name):
        try:
            import yaml
        except ImportError:
            self.skipTest("no python3-yaml")
        return yaml.safe_load((ROOT / name).read_text())

    def shell(self, line, code):
        path = os.pathsep.join([os.path.dirname(harness.JOBRUN),
                                os.environ["PATH"]])
        done = subprocess.run(["sh", "-ec", line], cwd=self.folder, text=True,
                              env=harness.clean_environment(PATH=path),
                              capture_output=True, timeout=harness.LIMIT)
        self.assertEqual(done.stderr, "", line)
        return self.expect(done, code)


class Examples(Copied):
    """The files that people copy: they parse, and what they run works."""

    def test_gitlab(self):
        [job] = self.yaml("docs/ci/gitlab-ci.yml").values()
        for line in job["script"][:-1]:
            self.shell(line, 0)
        self.shell(job["script"][-1], 3)
        reports = job["artifacts"]["reports"]
        quality = (self.folder / reports["codequality"]).read_text()
        self.assertEqual(len(json.loads(quality)), MISTAKES + 1)
        ElementTree.parse(self.folder / reports["junit"])

    def test_pre_commit(self):
        """The hooks' own lines; install.hooks has the real pre-commit run them."""
        hook, fix = self.yaml(".pre-commit-hooks.yaml")
        self.assertEqual((hook["id"], fix["id"]), ("jobrun-validate", "jobrun-fix"))
        names = ["specs/bad.jobrun.yaml", "specs/deep/good.jobrun.yaml"]
        for name, taken in ((names[0], True), ("a.jobrun.yml", True),
                            ("a.yaml", False), ("a.jobrun.yaml.orig", False)):
            self.assertEqual(bool(re.search(hook["files"], name)), taken)
        self.assertEqual(fix["files"], hook["files"])
        self.shell(" ".join([hook["entry"], *names]), 3)
        for entry in (hook["entry"], fix["entry"]):
            self.shell(" ".join([entry, names[1]]), 0)


class Action(Copied):
    """action.yml, step by step as a runner does it: each text is a file for bash, and
    expressions of it come in by variables only."""
    BASH = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail"]
    INSTALLED = ("set -- \"$RUNNER_TEMP/jobrun/bin\"; mkdir -p \"$1\"; "
                 "ln -s \"$JOBRUN\" \"$1/jobrun\"; echo \"$1\" >>\"$GITHUB_PATH\"\n")

    def setUp(self):
        super().setUp()
        self.steps = self.yaml("action.yml")["runs"]["steps"]
        self.inputs = {name: one["default"] for name, one in
                       self.yaml("action.yml")["inputs"].items()}
        self.temp = self.folder / "runner temp"
        self.temp.mkdir()

    def value(self, text):
        """An environment entry of a step, filled in."""
        return re.sub(r"\$\{\{ (\S+) \}\}", lambda found: {
            "github.action_path": str(ROOT),
            **{f"inputs.{name}": value for name, value in self.inputs.items()},
        }[found.group(1)], text)

    def step(self, name, code=0):
        """Run the step of that name, and return what it printed."""
        [step] = [one for one in self.steps if one["name"] == name]
        self.assertNotIn("${{", step["run"])
        script = self.write("step.sh", self.INSTALLED if name == "Install jobrun"
                            else step["run"])
        paths = self.folder / "paths"
        path = os.pathsep.join(
            (paths.read_text().split("\n") if paths.exists() else [])
            + [os.environ["PATH"]])
        done = subprocess.run(
            [*self.BASH, script], cwd=self.folder, text=True, capture_output=True,
            timeout=harness.LIMIT, env=harness.clean_environment(
                PATH=path, RUNNER_TEMP=str(self.temp), GITHUB_PATH=str(paths),
                JOBRUN=harness.JOBRUN,
                **{key: self.value(text) for key, text in step["env"].items()}))
        return self.expect(done, code).stdout

    def test_it_marks_and_uploads(self):
        self.inputs["paths"] = "specs\n"
        self.step("Install jobrun")
        self.assertIn("::error ", self.step("Validate", 3))
        self.step("Write SARIF")
        upload = self.steps[-1]
        name = upload["with"]["sarif_file"].replace("${{ runner.temp }}",
                                                    str(self.temp))
        log = json.loads(pathlib.Path(name).read_text())
        self.assertEqual(len(log["runs"][0]["results"]), MISTAKES + 1)

    def test_words_of_its_inputs_stay_whole(self):
        """A line is a word, whatever is in it; nothing of it is executed."""
        self.step("Install jobrun")
        self.write("a b/$(touch x).jobrun.yaml", GOOD)
        self.inputs.update(paths="\n  \na b/$(touch x).jobrun.yaml\n",
                           options="--strict\n--on=1x2")
        self.step("Validate")
        self.assertFalse((self.folder / "x").exists())

    def test_the_workflow_uses_it(self):
        """With inputs that it has; the step after it finds the program."""
        workflow = self.yaml("docs/ci/github-actions.yml")
        self.assertIn("pull_request", workflow[True])  # YAML 1.1 reads `on` so
        [job] = workflow["jobs"].values()
        [use] = [step for step in job["steps"]
                 if step.get("uses", "").startswith("OWNER/jobrun@v")]
        self.assertLessEqual(set(use["with"]), set(self.inputs))
        compare = job["steps"][-1]["run"]
        self.assertIn("jobrun diff --rev HEAD^1 specs", compare)


if __name__ == "__main__":
    harness.main()
