"""The launchers' own cases with the frameworks themselves, from PyPI: no case
may be left out. What cannot be installed is skipped, and said.

COUNTERPARTS names the folder where they are kept once they were fetched.
"""
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "system"))
import harness
import test_frameworks as frameworks


class Origins(harness.Case):
    def cases(self, python, *names):
        for name in names:
            with self.subTest(name):
                done = subprocess.run(
                    [python, HERE / f"test_{name}.py", "-v"], text=True,
                    cwd=self.folder, stdin=subprocess.DEVNULL,
                    capture_output=True, timeout=900)
                self.expect(done, 0)
                self.assertNotIn("skipped", done.stderr)

    def test_torch(self):
        self.cases(frameworks.install_torch(), "torch_elastic", "torch_spawn")

    def test_paddle(self):
        self.cases(frameworks.install_paddle(), "paddle_spawn")

    def test_megengine(self):
        self.cases(frameworks.install_megengine(), "megengine_launcher",
                   "megengine_groups")


if __name__ == "__main__":
    frameworks.main()
