"""resolve --lock pins the experiment, and --locked holds a spec to it."""
import subprocess

import harness

SPEC = """\
version: 1
name: train
vars: {lr: 0.1}
world_size: 2
device: cpu
workdir: src
entrypoint: {python: {script: src/train.py}, args: [--lr, "${vars.lr}"]}
env: {MODE: fast, API_KEY: "${env:THE_KEY:-none}", DOLLAR: "$${x}"}
timeouts: {run: 1h}
"""


class Locks(harness.Case):
    def setUp(self):
        super().setUp()
        self.write("jobs/src/train.py", "import os, sys\n"
                   "print(os.environ['RANK'], *sys.argv[1:])\n")
        self.spec = self.write("jobs/train.jobrun.yaml", SPEC)
        self.lock = self.folder / "jobs/train.lock.yaml"

    def locked(self, *words, code=0, verb="run", **options):
        return self.expect(self.jobrun(verb, self.spec, "--locked", *words,
                                       **options), code)

    def make(self, *words, **options):
        done = self.expect(self.jobrun("resolve", self.spec, "--lock", *words,
                                       **options), 0)
        self.lock.write_text(done.stdout)
        return done.stdout

    def test_it_is_the_experiment_alone(self):
        text = self.make()
        for line in ("version: 1", "world_size: 2", "workdir: ./src",
                     "    script: src/train.py", "  MODE: fast",
                     "  API_KEY: \"???\""):
            self.assertIn("\n" + line + "\n", text)
        for word in ("master", "nodes", "threads", "log_dir", "timeouts",
                     "name:", "vars", str(self.folder)):
            self.assertNotIn(word, text)

    def test_it_holds(self):
        self.make()
        for verb in "plan", "resolve":
            self.locked(verb=verb)
        done = self.locked()
        self.assertEqual(sorted(done.stdout.splitlines()),
                         ["[0] 0 --lr 0.1", "[1] 1 --lr 0.1"])

    def test_placement_is_left_open(self):
        self.make("-s", "threads=3")
        for words in (["-s", "master_port=0"], ["-s", "threads=1"],
                      ["-s", "name=other"], ["-s", "timeouts.run=5m"],
                      ["-s", "log_dir=elsewhere"], ["-s", "labels.a=b"],
                      ["--local", "-s", "nodes=2"]):
            self.locked(*words)

    def test_it_holds_in_ci(self):
        """For a machine that is not there, as docs/ci says."""
        self.spec.write_text(SPEC.replace("world_size: 2\ndevice: cpu\n", ""))
        self.assertIn("world_size: 16\n", self.make("--on", "2x8:H100"))
        self.locked("--on", "2x8:H100", verb="resolve")
        done = self.locked("--on", "1x8:H100", verb="resolve", code=3)
        self.assertIn("'world_size' resolves to 8, but the lock has 16",
                      done.stderr)
        self.assertEqual(done.stdout, "")

    def test_what_differs_is_named(self):
        self.make()
        for words, path, said in (
                (["-s", "vars.lr=0.2"], "entrypoint.args[1]",
                 'resolves to "0.2", but the lock has "0.1"'),
                (["-s", "world_size=4"], "world_size",
                 "resolves to 4, but the lock has 2"),
                (["-s", "env.MODE=slow"], "env.MODE",
                 "resolves to slow, but the lock has fast"),
                (["-s", "env.MORE=1"], "env.MORE", "but the lock has nothing"),
                (["-s", "env.MODE=null"], "env.MODE", "resolves to null"),
                (["-s", "entrypoint.python.script=jobs/src/other.py"],
                 "entrypoint.python.script",
                 "resolves to src/other.py, but the lock has src/train.py")):
            for verb in "run", "plan", "resolve":
                done = self.locked(*words, code=3, verb=verb)
                self.assertIn(f"error[JR0451]: '{path}' ", done.stderr)
                self.assertIn(said, done.stderr)
                self.assertIn("locked here" if "nothing" not in said else "",
                              done.stderr)
        self.assertFalse((self.folder / "runs").exists())

    def test_another_folder_is_the_same_experiment(self):
        self.make()
        moved = self.folder / "moved"
        subprocess.run(["mv", self.folder / "jobs", moved], check=True)
        self.expect(self.jobrun("train.jobrun.yaml", "--locked", cwd=moved), 0)

    def test_paths_above_the_spec_in_one_checkout(self):
        (self.folder / ".git").mkdir()
        self.write("train.py", "")
        self.write("jobs/up.jobrun.yaml", """\
version: 1
world_size: 1
device: cpu
workdir: ..
entrypoint: {python: {script: ../train.py, interpreter: /usr/bin/python3}}
""")
        done = self.expect(self.jobrun("resolve", "jobs/up.jobrun.yaml",
                                       "--lock"), 0)
        self.assertIn("workdir: \"..\"\n", done.stdout)
        self.assertIn("script: ../train.py\n", done.stdout)
        self.assertIn("interpreter: /usr/bin/python3\n", done.stdout)

    def test_a_lock_is_a_spec_of_the_same_lock(self):
        text = self.make()
        again = self.expect(self.jobrun("resolve", self.lock, "--lock",
                                        env={"API_KEY": "none"}), 0)
        self.assertEqual(again.stdout, text)

    def test_locks_elsewhere(self):
        self.make()
        other = self.folder / "other.yaml"
        self.lock.rename(other)
        done = self.locked(code=3)
        self.assertIn("error[JR0452]: the lock ", done.stderr)
        self.assertIn("train.lock.yaml' cannot be read: No such file",
                      done.stderr)
        self.assertIn("--lock > ", done.stderr)
        self.expect(self.jobrun(self.spec, f"--locked={other}"), 0)
        other.write_text("version: 1\nworld_size: [\n")
        done = self.expect(self.jobrun(self.spec, f"--locked={other}"), 3)
        self.assertIn("JR0102", done.stderr)

    def test_a_command_has_no_lock_beside_it(self):
        done = self.expect(self.jobrun("-n", "1", "--locked", "--", "true"), 3)
        self.assertIn("--locked=FILE", done.stderr)

    def test_it_is_printed_in_one_form(self):
        for word in "--json", "--explain":
            self.expect(self.jobrun("resolve", self.spec, "--lock", word), 2)

    def test_a_secret_is_not_in_it(self):
        text = self.make(env={"THE_KEY": "sesame-open-1234"})
        self.assertNotIn("sesame", text)
        done = self.locked("-s", "env.MODE=x", code=3,
                           env={"THE_KEY": "sesame-open-1234"})
        self.assertNotIn("sesame", done.stderr)


if __name__ == "__main__":
    harness.main()
