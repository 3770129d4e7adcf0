"""The JSON Schema and jobrun give the same verdicts.

    MUTANTS=N test_schema.py     N mutants of the good specs (default: 300)
    AJV=FOLDER                   by Ajv too, from npm, installed into FOLDER

The schema may take what jobrun refuses, since much of what jobrun knows no
schema can say; the table below says what a schema can. It never refuses what
jobrun takes.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

try:
    import jsonschema
    import yaml
except ImportError as error:
    print(f"SKIPPED: {error}: install python3-jsonschema and python3-yaml")
    sys.exit(77)

import instance
import mutants

ROOT = pathlib.Path(__file__).resolve().parents[2]
JOBRUN = os.environ["JOBRUN"]
COUNT = int(os.environ.get("MUTANTS", 300))
AJV = os.environ.get("AJV")
AJV_PACKAGE = "ajv@8.17.1"
SEED = 1
# Where there are thousands, libyaml reads them, in a tenth of the time; the quick
# test holds the other reader against it.
LOADER = getattr(yaml, "CBaseLoader" if AJV else "BaseLoader", yaml.BaseLoader)
BATCH = 100  # files a call: jobrun keeps 1,000 findings
LIMIT = 300  # seconds that any command may take

# The codes of what a schema can see, and the findings of them that it cannot,
# by path and message.
RANGE = r"\d+(-\d+(/\d+)?)?"
SEEN = {"JR0201", "JR0203", "JR0204", "JR0211", "JR0215", "JR0219", "JR0301"}
UNSEEN = [
    # A value that is filled in: in quotes it is a string, which YAML knows and
    # JSON does not; of a known one the type counts.
    ("JR0211", r"", r"\$\{"),
    # Sets: what overlaps, runs backwards, or has too many members.
    ("JR0211", r"^(results\.required|console\.ranks|progress\.ranks)$",
     rf"not (the string )?['\"]{RANGE}(,{RANGE})*['\"]$"),
    ("JR0215", r"", r"no node has a local rank"),
    # Keys and paths that are texts, and no names or paths that anybody means.
    ("JR0219", r"^env\.", r"is not the name of a variable$"),
    ("JR0211", r"", r"wants a path, not the string \".*\\x[01]"),
]
DUPLICATE = "JR0106"  # a reader of JSON has one of the two


def is_seen(finding):
    """What is wrong in some cells of a sweep only is a value of an axis, which a
    schema knows nothing about."""
    if re.search(r" \(cell \d+: ", finding["message"]):
        return False
    return finding["code"] in SEEN and not any(
        finding["code"] == code and re.search(path, finding["path"] or "") and
        re.search(message, finding["message"])
        for code, path, message in UNSEEN)


def errors_of(texts):
    """The errors that jobrun finds in each text."""
    found = []
    for first in range(0, len(texts), BATCH):
        with tempfile.TemporaryDirectory(prefix="jobrun mutants ") as folder:
            found += errors_of_batch(folder, texts[first:first + BATCH])
    return found


def errors_of_batch(folder, texts):
    found = {}
    for i, text in enumerate(texts):
        name = f"{folder}/{i:03}.jobrun.yaml"
        found[name] = []
        pathlib.Path(name).write_text(text, encoding="utf-8", newline="")
    done = subprocess.run([JOBRUN, "validate", "--format", "json", folder],
                          capture_output=True, text=True, timeout=LIMIT)
    report = json.loads(done.stdout)
    kept = report["diagnostics"]
    assert len(kept) == report["error_count"] + report["warning_count"]
    for finding in kept:
        if finding["severity"] == "error":
            found[finding["file"]].append(finding)
    return list(found.values())


def pattern(validator, text, value, schema):
    """JSON Schema has ECMAScript's patterns, where $ is the end; Python's $
    stands before a last line break too."""
    ended = re.sub(r"(?<!\\)\$", r"\\Z", text)
    if isinstance(value, str) and not re.search(ended, value):
        yield jsonschema.ValidationError(f"{value!r} does not match {text!r}")


Validator = jsonschema.validators.extend(jsonschema.Draft7Validator,
                                         {"pattern": pattern})


def load_schema():
    done = subprocess.run([JOBRUN, "schema"], capture_output=True, check=True,
                          timeout=LIMIT)
    return json.loads(done.stdout)


class Schema(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.schema = load_schema()
        cls.validator = Validator(cls.schema)

    def verdicts(self, values):
        """Whether the schema takes each value; by Ajv too where it is there,
        and then they have to agree."""
        taken = [self.validator.is_valid(value) for value in values]
        if AJV:
            by_ajv = self.ajv(values)
            for value, one, other in zip(values, taken, by_ajv):
                self.assertEqual(one, other, f"validators differ: {value}")
        return taken

    def ajv(self, values):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(self.schema, file)
            file.flush()
            done = subprocess.run(
                ["node", ROOT / "tests/interop/ajv.cjs", file.name], text=True,
                input="".join(json.dumps(value) + "\n" for value in values),
                env={**os.environ, "NODE_PATH": f"{AJV}/node_modules"},
                capture_output=True, timeout=LIMIT)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return [line == "true" for line in done.stdout.splitlines()]

    def compare(self, texts, names):
        """Hold the two against each other; tells how many were refused by
        each."""
        values = [instance.read(text, LOADER) for text in texts]
        told = []
        refused = by_schema = 0
        for name, text, errors, taken, value in zip(
                names, texts, errors_of(texts), self.verdicts(values), values):
            refused += bool(errors)
            by_schema += not taken
            lines = [f"{e['code']} {e['path']}: {e['message']}" for e in errors]
            if any(error["code"] == DUPLICATE for error in errors):
                continue
            if not taken and not errors:
                told.append(f"{name}: the schema alone refuses it: "
                            f"{self.why(value)}\n{text}")
            elif taken and any(map(is_seen, errors)):
                told.append(f"{name}: the schema takes it: {lines}\n{text}")
        self.assertEqual(len(told), 0,
                         f"{len(told)} differ:\n" + "\n".join(told[:20]))
        return refused, by_schema

    def why(self, value):
        return [f"{error.json_path}: {error.message[:200]}"
                for error in self.validator.iter_errors(value)]

    def test_it_is_a_schema(self):
        jsonschema.Draft7Validator.check_schema(self.schema)

    def parts(self, schema):
        """Every schema within one."""
        if isinstance(schema, list):
            for item in schema:
                yield from self.parts(item)
        elif isinstance(schema, dict):
            yield schema
            for key, item in schema.items():
                if key not in ("examples", "default", "enum", "const"):
                    yield from self.parts(item)

    def test_what_editors_show(self):
        """Each field has its words, and examples and defaults that it takes;
        each word has its meaning."""
        fields = examples = 0
        for part in self.parts(self.schema):
            for name, field in part.get("properties", {}).items():
                if "title" not in field:  # of a duty, not of a field
                    continue
                fields += 1
                self.assertRegex(field["description"], r"Without it: .+\.$")
                taker = Validator({**field, "definitions":
                                   self.schema["definitions"]})
                shown = field.get("examples", [])
                examples += len(shown)
                defaults = [field["default"]] if "default" in field else []
                for value in shown + defaults:
                    self.assertTrue(taker.is_valid(value), (name, value))
            self.assertEqual(len(part.get("enumDescriptions", [])),
                             len(part.get("enum", []))
                             if "enumDescriptions" in part else 0)
        self.assertGreater(fields, 60)
        self.assertGreater(examples, 50)

    def test_good_specs(self):
        paths = sorted(ROOT.glob("tests/golden/ok/*/spec.yaml"))
        paths += sorted(ROOT.glob("examples/jobs/*.jobrun.yaml"))
        self.assertGreater(len(paths), 15)
        values = [instance.read(path.read_text("utf-8-sig")) for path in paths]
        for path, value, taken in zip(paths, values, self.verdicts(values)):
            self.assertTrue(taken, f"{path}: {self.why(value)}")

    def test_bad_specs(self):
        """All findings are as they are told in expected.txt, so this needs the
        golden specs alone."""
        texts, names = [], []
        for path in sorted(ROOT.glob("tests/golden/err/*/spec.yaml")):
            try:
                text = path.read_text("utf-8-sig")
                instance.read(text, LOADER)
            except (UnicodeDecodeError, instance.Unreadable):
                continue
            texts.append(text)
            names.append(path.parent.name)
        refused, by_schema = self.compare(texts, names)
        self.assertGreater(by_schema, 15)
        self.assertGreater(refused, by_schema)

    def good(self):
        paths = [*sorted(ROOT.glob("tests/golden/ok/*/spec.yaml")),
                 *sorted(ROOT.glob("examples/jobs/*.jobrun.yaml"))]
        return [instance.read(path.read_text("utf-8-sig")) for path in paths]

    @unittest.skipUnless(AJV, "takes long")
    def test_every_value_of_every_field(self):
        names, texts = zip(*mutants.all_values(self.good()))
        self.assertGreater(len(names), 4000)
        self.compare(texts, names)

    def test_mutants(self):
        made = mutants.make(SEED, self.good(), COUNT)
        names = [f"mutant {i} ({name})" for i, (name, _) in enumerate(made)]
        refused, by_schema = self.compare([text for _, text in made], names)
        self.assertGreater(by_schema, COUNT // 2)
        self.assertLess(refused, COUNT)
        print(f"{COUNT} mutants: jobrun refuses {refused}, the schema "
              f"{by_schema}, no disagreement")


def fetch_ajv():
    """By npm, once."""
    folder = pathlib.Path(AJV)
    folder.mkdir(parents=True, exist_ok=True)
    if (folder / "node_modules/ajv/package.json").exists():
        return
    subprocess.run(["npm", "install", "--prefix", ".", "--no-save",
                    "--no-audit", "--no-fund", AJV_PACKAGE], cwd=folder,
                   check=True, capture_output=True, timeout=LIMIT)


if __name__ == "__main__":
    try:
        if AJV:
            fetch_ajv()
    except (OSError, subprocess.SubprocessError) as error:
        print(f"SKIPPED: cannot fetch {AJV_PACKAGE}: {error}")
        sys.exit(77)
    unittest.main()
