"""What comes from the environment is in no message: neither a secret nor what
is made of it. Where values are printed, secrets are not."""
import json
import os
import subprocess

import harness

WORDS = {"word": "hunter2topsecret", "number": "70919", "small": "4409"}
FORMATS = ["human", "short", "json", "jsonl", "github", "gitlab", "sarif",
           "junit"]
MACHINES = [[], ["--on", "2x8:H100"], ["--on", "4x0,4c"]]
HEAD = "version: 1\nentrypoint: [./train]\n"
# Each is a mistake for some value of @, and is told by what @ is written as.
BODIES = """\
world_size: @|parallelism: {model: 2}
world_size: 8|parallelism:|  model: @
world_size: 8|parallelism:|  data: @|  model: 3
parallelism:|  model: @|  pipeline: 4200000
nodes: @|local_world_size: 2|world_size: 5
nodes: 2|local_world_size: @|world_size: 5
local_world_size:|  - @|  - 2|world_size: 5
local_world_size:|  - @|  - 2|parallelism: {model: 11}
nodes: 2|node_rank: @
nodes: @|node_rank: 99999
nodes: @|hosts: [a]
world_size: @|rank_start: 99999
nodes: 3|local_world_size: @|rank_start: 999999
world_size: @|nodes: 2
world_size: @|local_world_size: 2
world_size: @|per_rank: {99999: {args: [a]}}
world_size: 2|results: {required: '@'}
world_size: @|console: {ranks: '99999'}
device: @
device: custom:@
device: cuda|backends: @
devices:|  - @
devices:|  - @|device: cpu
start_method: @
timeouts:|  run: @
threads: '@'
oversubscribe: @
results:|  from: @
results: {pattern: '(@', from: stdout}
results: {from: stdout, pattern: 'x@'}
results:|  fields:|    a:|      type: @|      min: 3
results:|  fields:|    a:|      type: integer|      min: @|      max: 1
results:|  fields:|    a:|      type: integer|      enum:|        - x@
results: {fields: {a: {type: integer}}, equal: ['@']}
redirects: '@'
redirects: '0-@:3'|local_world_size: 2
local_world_size: @|redirects: '99999:3'
tee: 'x@'
name: '-@'
init_method: @
targets: ['@']
targets: ['2x8:@,@']
workdir: ~@
workdir: '%{rnk@}'
env: {A: '%{rank@'}
vars: {x: '@'}|world_size: ${vars.x}|parallelism: {model: 10}
vars: {x: '@'}|world_size: ${vars.x}|targets: ['1x8:H100']
"""


class Secrets(harness.Case):
    def setUp(self):
        super().setUp()
        for i, body in enumerate(BODIES.splitlines()):
            text = body.replace("|", "\n").replace("@", "${env:MY_TOKEN}")
            self.write(f"specs/{i:02}.jobrun.yaml", HEAD + text + "\n")

    def test_no_message_of_validate_tells_one(self):
        told = set()
        for value in WORDS.values():
            for machine in MACHINES:
                for form in FORMATS:
                    done = self.jobrun("validate", "specs", "--format", form,
                                       "--allow-env", "*", *machine,
                                       env={"MY_TOKEN": value})
                    self.expect(done, 3)
                    self.assertNotIn(value, done.stdout + done.stderr, form)
                    if form == "json":
                        found = json.loads(done.stdout)["diagnostics"]
                        told |= {row["file"] for row in found
                                 if row["severity"] == "error"}
        self.assertEqual(len(told), len(BODIES.splitlines()))

    def test_no_message_of_resolve_tells_one(self):
        """A number that is put in is told as it is written."""
        for i, value in enumerate(WORDS.values()):
            for spec in sorted((self.folder / "specs").iterdir()):
                # By its name: that of the folder may hold any number.
                done = self.jobrun("resolve", spec.name, *MACHINES[i],
                                   cwd=spec.parent, env={"MY_TOKEN": value})
                self.assertNotIn(value, done.stderr, spec.read_text())

    def test_what_is_made_of_one_is_not_told(self):
        self.write("s.jobrun.yaml", HEAD + "world_size: ${env:N}\n"
                   "local_world_size: 7\ndevice: cpu\n")
        done = self.expect(self.jobrun("validate", "s.jobrun.yaml",
                                       "--allow-env", "N",
                                       env={"N": "48"}), 3)
        self.assertIn("world_size ${env:N} is not a multiple of "
                      "local_world_size 7", done.stdout)
        for number in ("48", "49", "42", "56"):
            self.assertNotIn(number, done.stdout)

    def test_explain_redacts(self):
        spec = self.write("s.jobrun.yaml", HEAD + "world_size: 2\n"
                          "device: custom:${env:MY_TOKEN}\n"
                          "backends: gloo\n"
                          "hosts:\n  - \"${env:MY_TOKEN}\"\n")
        env = {"MY_TOKEN": WORDS["word"]}
        table = self.expect(self.jobrun("resolve", spec, "--explain", env=env),
                            0).stdout
        text = self.expect(self.jobrun("resolve", spec, "--explain",
                                       "--format", "json", env=env), 0).stdout
        plain = self.expect(self.jobrun("resolve", spec, env=env), 0).stdout
        for out in (table, text, plain):
            self.assertNotIn(WORDS["word"], out)
        rows = {row["field"]: row["value"]
                for row in json.loads(text)["fields"]}
        self.assertEqual(rows["device"], "custom:${env:MY_TOKEN}")
        self.assertEqual(rows["hosts"], "${env:MY_TOKEN}")
        self.assertEqual(rows["master_addr"], "<redacted>")
        self.assertRegex(table, r"(?m)^master_addr +<redacted> +derived")
        self.assertIn("master_addr: ${env:MY_TOKEN}\n", plain)

    def test_a_number_can_be_one(self):
        spec = self.write("s.jobrun.yaml", HEAD +
                          "device: cpu\nworld_size: ${env:MY_TOKEN}\n")
        env = {"MY_TOKEN": "3"}
        done = self.expect(self.jobrun("resolve", spec, env=env), 0)
        self.assertIn("\nworld_size: ${env:MY_TOKEN}\n", done.stdout)
        done = self.expect(self.jobrun("resolve", spec, "--explain", env=env),
                           0)
        self.assertRegex(done.stdout, r"(?m)^world_size +\$\{env:MY_TOKEN\} ")


TOKEN = "hf_8fK2LmQ9xY"
STATED = "stated-hunter2"
MODULE = """\
import os
import jobrun


def deliver(*args):
    token = os.environ["HF_TOKEN"]
    return {"token": token, "deep": [{token: "Bearer " + token}], "n": 1}


def fail(*args):
    try:
        open("/no/such/" + os.environ["HF_TOKEN"])
    except OSError as error:
        raise ValueError("refused " + os.environ["HF_TOKEN"]) from error
"""
HARMLESS = {"FLAG_TOKEN": "false", "NUMBER_TOKEN": "1234567890",
            "PATH_CREDENTIALS": "/etc/some/place", "SHORT_TOKEN": "brief",
            "MAX_TOKENS": "4096-tokens", "TOKENIZER": "wordpieces"}


class Written(harness.Case):
    """What a run leaves and tells has no value of a secret, the ranks' own
    files aside: their logs, and what they delivered."""

    def setUp(self):
        super().setUp()
        self.write("mod.py", MODULE)
        self.env = {"HF_TOKEN": TOKEN, **HARMLESS}

    def run_there(self, code, *words):
        done = self.expect(self.jobrun(*words, env=self.env), code)
        return done, self.folder / "runs" / os.readlink(
            self.folder / "runs" / "latest")

    def expect_hidden(self, run, *values, own=()):
        """In the files of the run but those `own`, and in what verbs tell,
        which have not the variable in their environment."""
        for path in run.rglob("*"):
            if path.is_file() and path.name not in own:
                for value in values:
                    self.assertNotIn(value, path.read_text(), path)
        for words in (["show"], ["show", "--json"],
                      ["report", "latest", "--format", "html"],
                      ["diff", "latest", "latest"]):
            done = self.jobrun(*words)
            for value in values:
                self.assertNotIn(value, done.stdout + done.stderr, words)

    def spec(self, function, more=""):
        return self.write(f"{function}.yaml",
                          "version: 1\nworld_size: 2\ndevice: cpu\n"
                          "master_port: 0\nenv: {PYTHONPATH: ., "
                          f"OTHER_PASSWORD: {STATED}}}\n"
                          "entrypoint: {python: {function: "
                          f"'mod:{function}'}}}}\n" + more)

    def test_behind_the_dashes(self):
        done, run = self.run_there(
            0, "-n", "1", "-s", "master_port=0", "--", "sh", "-c",
            f"test $0 = {TOKEN} && test $2 = API_KEY=sk-0123456789", TOKEN,
            f"--header=Bearer {TOKEN}", "API_KEY=sk-0123456789",
            *HARMLESS.values())
        self.expect_hidden(run, TOKEN, "sk-0123456789")
        self.assertIn("JR0320", done.stderr)
        self.assertIn("'HF_TOKEN', because it is an argument",
                      done.stderr)
        self.assertNotIn(TOKEN, done.stderr)
        record = json.loads((run / "run.json").read_text())
        for value in HARMLESS.values():
            self.assertIn(value, record["argv"])
        self.assertIn("--header=Bearer <redacted>", record["argv"])
        resolved = (run / "resolved.yaml").read_text()
        self.assertIn("--header=Bearer ${env:HF_TOKEN}", resolved)
        self.assertIn("API_KEY=${env:API_KEY}", resolved)
        # What is written runs again where the variables are.
        self.env["API_KEY"] = "sk-0123456789"
        self.run_there(0, "rerun", "latest")
        self.expect(self.jobrun("rerun", "latest"), 4)

    def test_arguments_behind_a_spec(self):
        self.spec("deliver")
        done, run = self.run_there(0, "deliver.yaml", "--", TOKEN, STATED,
                                   *HARMLESS.values())
        self.expect_hidden(run, TOKEN, STATED, own=("result.json",))
        resolved = (run / "resolved.yaml").read_text()
        for text in ("- ${env:HF_TOKEN}\n", "- ${env:OTHER_PASSWORD}\n",
                     *HARMLESS.values()):
            self.assertIn(text, resolved)

    def test_within_results(self):
        """They are judged as they are."""
        self.spec("deliver", "results: {fields: {token: {type: string, "
                  f"pattern: '^{TOKEN[:3]}.*{TOKEN[-3:]}$'}}}}}}\n")
        _, run = self.run_there(0, "deliver.yaml")
        self.expect_hidden(run, TOKEN, STATED, own=("result.json",))
        for rank in self.results()["ranks"]:
            self.assertEqual(rank["result"],
                             {"token": "<redacted>",
                              "deep": [{"<redacted>": "Bearer <redacted>"}],
                              "n": 1})
        own = json.loads((run / "attempt_0/1/result.json").read_text())
        self.assertEqual(own["token"], TOKEN)

    def test_within_exceptions(self):
        self.spec("fail", "restart: {max: 1, backoff: 1ms}\n")
        done, run = self.run_there(1, "fail.yaml")
        self.expect_hidden(run, TOKEN, STATED,
                           own=("stderr.log", "result.json"))
        report = done.stderr[done.stderr.rindex("jobrun: FAILED"):]
        self.assertNotIn(TOKEN, report)
        self.assertIn("ValueError: refused <redacted>", report)
        self.assertIn("contain the value of a secret", report)
        for attempt in (0, 1):  # one of two ranks may have been stopped
            told = [json.loads(path.read_text()) for path in
                    run.glob(f"attempt_{attempt}/*/error.json")]
            self.assertIn("refused <redacted>", json.dumps(told))

    def test_words_of_jobrun_stay(self):
        """A secret that is one of them hides none of them."""
        self.env.update(A_PASSWORD="local_rank", B_PASSWORD="succeeded",
                        C_PASSWORD="format_version")
        _, run = self.run_there(0, "-n", "1", "-s", "master_port=0", "--",
                                "true")
        self.assertEqual(self.results()["status"], "succeeded")
        plan = json.loads((run / "plan.json").read_text())
        self.assertEqual(plan["ranks"][0]["local_rank"], 0)
        self.assertEqual(plan["format_version"], 1)
        self.expect(self.jobrun("show"), 0)

    def test_no_secret_at_all(self):
        self.spec("deliver", "secrets: []\n")
        _, run = self.run_there(0, "deliver.yaml")
        self.assertEqual(self.results()["ranks"][0]["result"]["token"], TOKEN)

    def test_what_python_gets(self):
        script = self.write("main.py", (
            "import mod, jobrun\n"
            "if __name__ == '__main__':\n"
            "    print(jobrun.launch(mod.deliver, nprocs=2, master_port=0)"
            "[1]['deep'])\n"))
        done = subprocess.run(
            ["python3", script], cwd=self.folder, text=True,
            capture_output=True, timeout=harness.LIMIT,
            env=harness.clean_environment(
                PYTHONPATH=os.environ["BUILD"] + "/support/python", JOBRUN=harness.JOBRUN, **self.env))
        self.assertEqual(done.stdout, f"[{{'{TOKEN}': 'Bearer {TOKEN}'}}]\n",
                         done.stderr)
        self.assertEqual(self.results()["ranks"][1]["result"]["token"],
                         "<redacted>")


if __name__ == "__main__":
    harness.main()
