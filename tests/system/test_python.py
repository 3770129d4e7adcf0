"""Python and library entrypoints: what a function can be given, by all start
methods; and those that are wrong: each is told once, in words that say what to
change, with the exit status of the contract, and no rank is left to wait for
the others."""
import json
import os
import pathlib
import shutil
import unittest
import venv
from unittest import mock

import harness

MODULES = {
    "m.py": "import os, time\nvalue = 3\n"
            "def train(lr, epochs=3):\n    return lr\n"
            "def unjson(lr):\n    return {'a': [1, {2, 3}]}\n"
            "def left(lr):\n    os._exit(0)\n"
            "def big(size):\n    return 'x' * size\n"
            "def alone(lr):\n    if os.environ['RANK'] == '1':\n"
            "        raise ValueError('bad') from KeyError('lr')\n"
            "    time.sleep(3600)\n",
    "guard.py": "def work():\n    return 1\n"
                "if __name__ == '__main__':\n    raise SystemExit('ran')\n",
    "raises.py": "x = {}\nx['lr']\n",
    "torn.py": "def f(:\n",
    "wants.py": "import nosuchpackage.sub\ndef f():\n    pass\n",
    "data.txt": "no library",
}
METHODS = ("spawn", "forkserver", "fork")
FUNCTION = "{python: {function: '%s'}, args: [1]}"


class Right(harness.Case):
    def results_of(self, entry, more):
        spec = self.write("job.jobrun.yaml",
                          "version: 1\nworld_size: 3\ndevice: cpu\n"
                          f"oversubscribe: true\nentrypoint: {entry}\n{more}")
        self.expect(self.jobrun(spec), 0)
        return [rank["result"] for rank in self.results()["ranks"]]

    def test_a_virtual_environment(self):
        """Its packages are there, and it is told by a path beside the spec."""
        venv.create(self.folder / "env", symlinks=True)
        (packages,) = (self.folder / "env").glob("lib/*/site-packages")
        (packages / "inside.py").write_text(
            "import sys\ndef where():\n    return sys.prefix\n")
        for method in METHODS:
            with self.subTest(method):
                self.assertEqual(self.results_of(
                    "{python: {function: 'inside:where',"
                    " interpreter: env/bin/python}}",
                    f"start_method: {method}\n"), [str(self.folder / "env")] * 3)

    def test_each_rank_has_its_own(self):
        self.write("m.py", "def f(*args, **kwargs):\n    return args, kwargs\n")
        for method in METHODS:
            with self.subTest(method):
                self.assertEqual(self.results_of(
                    "{python: {function: 'm:f'}, args: [1, '%{rank}'],"
                    " kwargs: {lr: 0.1, a: {b: [null, 'of %{world_size}']}}}",
                    "per_rank: {1-2: {args: [[2]]}, 0: {kwargs: {lr: null}}}\n"
                    f"start_method: {method}\n"),
                    [[[1, "0"], {"lr": None, "a": {"b": [None, "of 3"]}}],
                     [[1, "1", [2]], {"lr": 0.1, "a": {"b": [None, "of 3"]}}],
                     [[1, "2", [2]], {"lr": 0.1, "a": {"b": [None, "of 3"]}}]])


class Wrong(harness.Case):
    def setUp(self):
        super().setUp()
        for name, text in MODULES.items():
            self.write(name, text)

    def run_entry(self, entry, code, more=""):
        spec = self.write("job.jobrun.yaml",
                          "version: 1\nworld_size: 3\ndevice: cpu\n"
                          f"oversubscribe: true\nentrypoint: {entry}\n{more}")
        done = self.expect(self.jobrun(spec), code)
        self.assertEqual(self.results()["processes_left"], 0)
        return done

    def told(self, entry, code, *texts, more=""):
        """`more` may name the start method; both tell the same."""
        with self.subTest(entry, more=more):
            done = self.run_entry(entry, code, more)
            report = done.stderr[done.stderr.rindex("\njobrun: "):]
            shown = self.expect(self.jobrun("show", "latest"), 0).stdout
            for text in texts:
                self.assertIn(text, report)
                self.assertIn(text, shown)

    def test_what_cannot_be_called(self):
        call = "could not call its entrypoint"
        for target, text in (
                ("mm:train", "no module named 'mm'"),
                ("m.sub:train", "no module named 'm.sub'"),
                ("m:trian", "has no 'trian': did you mean 'train'?"),
                ("m:value", "'m:value' is not a function: its type is int")):
            self.told(FUNCTION % target, 7, text, call)
        self.told("{python: {function: 'm:train'}, args: [1, 2, 3]}", 7, call,
                  "'m:train' takes (lr, epochs=3), and the spec's args "
                  "[1, 2, 3] and kwargs {} do not fit")
        self.told("{python: {function: 'm:train'}, kwargs: {lrr: 1}}", 7, call,
                  "missing a required argument: 'lr'")
        self.told("{python: {script: none.py}}", 7, call,
                  f"could not read the script '{self.folder}/none.py'")
        self.told("{python: {module: none}}", 7, call, "no module named 'none'")

    def test_init_without_its_framework(self):
        venv.create(self.folder / "env", symlinks=True)
        self.told("{python: {function: 'm:train', init: torch, interpreter: "
                  "env/bin/python}, args: [1]}", 7,
                  "could not call its entrypoint",
                  f"init: torch needs its module, which {self.folder}/env/bin/"
                  "python does not have: install it there, or")

    def test_what_raises(self):
        for target, text in (
                ("raises:f", "KeyError: 'lr'"),
                ("torn:f", "SyntaxError: invalid syntax (torn.py, line 1)"),
                ("wants:f", "No module named 'nosuchpackage'"),
                ("m:unjson", "result.a[1]: set is not JSON; use sorted")):
            self.told(FUNCTION % target, 1, text)
        self.told(FUNCTION % "m:alone", 1, "rank 1 exited with code 1",
                  "ValueError: bad", "from KeyError: 'lr'")
        self.told(FUNCTION % "m:left", 5, "its function did not return")

    def test_exceptions_of_every_base(self):
        self.write("stops.py", "class Stop(BaseException):\n    pass\n"
                   "def main(*args):\n    raise Stop('no more')\n"
                   "if __name__ == '__main__':\n    main()\n")
        for entry in ("{python: {function: 'stops:main'}}",
                      "{python: {script: stops.py}}",
                      "{python: {module: stops}}"):
            self.told(entry, 1, "exited with code 1", "\n  Stop: no more ",
                      " stops.py:4 in main\n")
            results = self.results()
            rank = results["ranks"][results["root_cause"]["rank"]]
            error = json.loads((self.folder / "runs/latest" /
                                rank["error_file"]).read_text())
            self.assertIn("Stop: no more\n",
                          error["message"]["extraInfo"]["py_callstack"])

    def test_imports_of_the_helper(self):
        start = "rank 0 did not start: its helper could not import: "
        fork = "start_method: fork"
        self.told(FUNCTION % "m:trian", 7, start + "module 'm'",
                  "did you mean 'train'?", more=fork)
        self.told(FUNCTION % "torn:f", 7, start + "SyntaxError", more=fork)
        for module, text in (("raises", "KeyError: 'lr'"),
                             ("none", "no module named 'none'")):
            self.told(FUNCTION % "m:train", 7, start + text,
                      more=f"start_method: forkserver\npreload: [{module}]\n")
        self.assertTrue((self.folder / "runs/latest/attempt_0").is_dir())
        self.assertFalse(
            (self.folder / "runs/latest/attempt_0/helper.log").exists())

    def test_interpreters(self):
        fork = "start_method: fork"
        self.write("text", "no program")
        python = "{python: {function: 'm:train', interpreter: '%s'}, args: [1]}"
        for more in "", fork:
            self.told(python % "/no/such/python", 7, "could not execute "
                      "'/no/such/python': No such file", more=more)
            self.told(python % "./text", 7, "it is not executable", more=more)
            self.told(python % "nosuchpython", 7,
                      "could not execute 'nosuchpython': not found in PATH",
                      more=more)
        true = shutil.which("true")
        self.told(python % true, 5, "its function did not return")
        self.told(python % true, 7, "it exited with code 0 before it was ready",
                  more=fork)

    def old_pythons(self):
        known = [shutil.which(f"python{v}") for v in ("2", "2.7", "3.6", "3.7")]
        roots = pathlib.Path(os.environ.get("PYENV_ROOT", "/nowhere"))
        for version in roots.glob("versions/2.7*/bin/python2.7"):
            known.insert(0, str(version))
        return [path for path in known if path]

    def test_old_python(self):
        old = self.old_pythons()
        if not old:
            self.skipTest("no Python before 3.8 is here")
        python = f"{{python: {{function: 'm:train', interpreter: '{old[0]}'}}}}"
        for more in "", "start_method: fork":
            self.told(python, 7, "and jobrun's Python entrypoints want 3.8 or "
                      "later: set entrypoint.python.interpreter", more=more)

    def test_libraries(self):
        pi = pathlib.Path(os.environ["BUILD"]) / "examples/jobs/pi.so"
        library = "{library: {path: '%s', symbol: %s}}"
        self.told(library % (pi, "step_mian"), 7,
                  "could not call its entrypoint",
                  "pi.so has no symbol 'step_mian': did you mean 'step_main'?")
        foreign = bytearray(pi.read_bytes())
        foreign[18] ^= 0xFF  # e_machine
        (self.folder / "foreign.so").write_bytes(foreign)
        for name, text in (("data.txt", "data.txt: "), ("none.so", "none.so: "),
                           ("foreign.so", "foreign.so: ")):
            for more in "", "start_method: forkserver":
                self.told(library % (f"./{name}", "step_main"), 7,
                          "could not load the library: ", text, more=more)

    def test_a_script_with_a_guard(self):
        self.assertEqual(self.run_entry(
            "{python: {function: 'guard:work'}}", 0).returncode, 0)
        self.told("{python: {script: guard.py}}", 1, "exited with code 1")

    def test_five_megabytes(self):
        self.deliver(5_000_000)

    @unittest.skipUnless(os.environ.get("LONG"), "tools/test --all")
    def test_a_hundred_megabytes(self):
        with mock.patch.object(harness, "LIMIT", 600):
            self.deliver(100_000_000)

    def deliver(self, size):
        self.run_entry(f"{{python: {{function: 'm:big'}}, args: [{size}]}}", 0)
        for rank in self.results()["ranks"]:
            self.assertEqual(len(rank["result"]), size)


if __name__ == "__main__":
    harness.main()
