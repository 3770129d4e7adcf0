"""What comes from the environment is in no message: neither a secret nor what
is made of it. Where values are printed, secrets are not."""
import json

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
        self.assertIn("world_size ${env:N} is no multiple of local_world_size "
                      "7", done.stdout)
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


if __name__ == "__main__":
    harness.main()
