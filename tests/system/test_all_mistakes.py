"""300 specs with 40 planted mistakes: one call finds all and invents none."""
import json

import harness

SPECS = 300
FORMATS = ["human", "short", "json", "jsonl", "github", "gitlab", "sarif",
           "junit"]
EVERY = 7  # a mistake in each seventh spec, until all are planted

HEAD = """\
version: 1
name: job{number}
description: one of many
entrypoint: [./train, --seed, {number}]
device: cpu
env: {{SEED: {number}, MODE: fast}}
"""

# What is written at the end of a good spec; the code, and the column in the
# last line at which the mistake must be told.
MISTAKES = [
    ("paralelism: {model: 2}", "JR0203", 1),
    ("world_size: 4x", "JR0211", 13),
    ("nprocs: 4", "JR0204", 1),
    ("oversubscribe: yes", "JR0211", 16),
    ("start_method: frok", "JR0211", 15),
    ("backends: nvcl", "JR0211", 11),
    ("timeouts: {run: soon}", "JR0211", 17),
    ("name: twice", "JR0106", 1),
    ("world_size: 0", "JR0211", 13),
    ("redirects: '0:9'", "JR0215", 15),
    ("tee: {0:3}", "JR0215", 7),
    ("results: {fields: {x: {type: integr}}}", "JR0211", 30),
    ("console: {ranks: 5-1}", "JR0211", 20),
    ("restart: {max: 2, on: [exit:x]}", "JR0211", 29),
    ("nodes: 3\nhosts: [a, b]", "JR0313", 8),
    ("world_size: 3\nparallelism: {model: 2}", "JR0310", 22),
    ("entrypoint: [./other]", "JR0106", 1),
    ("log_mode: open", "JR0211", 11),
    ("results: {equal: [loss, loss]}", "JR0306", 25),
    ("local_world_size: 010", "JR0211", 19),
]


class Planted(harness.Case):
    def plant(self):
        """Write the specs; the place and code of every mistake."""
        planted = set()
        for number in range(SPECS):
            text, at = HEAD.format(number=number), number // EVERY
            name = f"team{number % 9}/job{number}.jobrun.yaml"
            if number % EVERY == 0 and at < 2 * len(MISTAKES):
                line, code, column = MISTAKES[at % len(MISTAKES)]
                text += line + "\n"
                planted.add((name, text.count("\n"), column, code))
            self.write(f"specs/{name}", text)
        self.assertEqual(len(planted), 40)
        return planted

    def test_all_are_found_and_none_is_invented(self):
        planted = self.plant()
        with self.takes_less(20):  # well under a second as users build it
            done = self.jobrun("validate", "specs", "--format", "json")
        report = json.loads(self.expect(done, 3).stdout)
        found = {(d["file"].split("specs/")[1], d["line"], d["column"],
                  d["code"]) for d in report["diagnostics"]}
        self.assertEqual(found ^ planted, set())
        self.assertEqual(report["error_count"], 40)


    def test_a_mistake_that_many_extend_is_told_once(self):
        self.write("specs/base.jobrun.yaml",
                   "version: 1\ntemplate: true\nworld_sise: 4\n"
                   "timeouts: {run: 10min}\n")
        for number in range(20):
            self.write(f"specs/team{number % 3}/job{number}.jobrun.yaml",
                       "extends: ../base.jobrun.yaml\nentrypoint: [./train]\n")
        (self.folder / ".git").mkdir()
        for words in (["specs"], ["."], ["specs/team0", "specs/team1",
                                         "specs/base.jobrun.yaml"]):
            done = self.jobrun("validate", *words, "--format", "json")
            report = json.loads(self.expect(done, 3).stdout)
            self.assertEqual([(d["file"], d["code"])
                              for d in report["diagnostics"]],
                             [("specs/base.jobrun.yaml", "JR0203"),
                              ("specs/base.jobrun.yaml", "JR0211")])
            self.assertEqual(report["error_count"], 2)
        for form in FORMATS:
            done = self.jobrun("validate", "specs", "--format", form)
            text = self.expect(done, 3).stdout
            # JSON has the message once more as it looks on a terminal
            times = 2 if form in ("json", "jsonl") else 1
            self.assertEqual(text.count("field 'world_sise'"), times, form)
        human = self.expect(self.jobrun("validate", "specs"), 3).stdout
        self.assertIn("\n2 errors in 21 files, each shown once\n", human)
        junit = self.expect(self.jobrun("validate", "specs", "--format",
                                        "junit"), 3).stdout
        self.assertEqual(junit.count("<failure "), 21)
        self.assertEqual(junit.count("2 shown with another file"), 20)


if __name__ == "__main__":
    harness.main()
