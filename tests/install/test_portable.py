"""The wheel and the program in one file on a bare Debian 11, whose glibc is older
than that of any machine that builds them, without a compiler."""
import os
import pathlib
import subprocess
import tempfile
import unittest

import bare_root
import make_release

SOURCE = pathlib.Path(os.environ["SOURCE"])
RELEASE = pathlib.Path(os.environ["RELEASE"])
TRAIN = """\
import sys
import jobrun
print("python", sys.version_info[:2])
jobrun.result({"loss": 0.5, "rank": jobrun.rank()})
"""
SPEC = """\
version: 1
name: two
world_size: 2
device: cpu
oversubscribe: true
results: {fields: {loss: {type: number, max: 1}}, equal: [loss]}
"""
FUNCTION = """\
import jobrun
def main():
    return {"loss": 0.25, "rank": jobrun.rank()}
"""
CALL = """\
import jobrun, job
if __name__ == "__main__":
    print(jobrun.launch(job.main, nprocs=2, device="cpu", oversubscribe=True))
"""


def setUpModule():
    why = bare_root.why_not()
    if why or not RELEASE.is_dir():
        raise unittest.SkipTest(why or "no release could be made")


def compile_library(folder, name, source, *flags):
    """Somebody's library. It is built here, and asks for nothing of 2.34."""
    path = pathlib.Path(folder) / name
    subprocess.run([os.environ["CC"], "-shared", "-fPIC", "-O1", *flags,
                    f"-I{SOURCE}/src/include", SOURCE / source, "-o", path],
                   check=True)
    return path


class Portable(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = bare_root.Root(bare_root.OLD, "python3-venv")
        cls.addClassCleanup(cls.root.remove)
        cls.root.put("/d", *RELEASE.glob("*.whl"), *RELEASE.glob("*-linux-*"))
        cls.root.run("python3 -m venv /v; /v/bin/pip install --no-index /d/*.whl;"
                     "mv /d/jobrun-*-linux-* /d/one")

    def setUp(self):
        self.root.run("rm -rf /w; mkdir /w")
        self.root.write("/w/train.py", TRAIN)
        self.root.write("/w/job.py", FUNCTION)
        self.root.write("/w/call.py", CALL)

    def job(self, entry, *more):
        self.root.write("/w/job.yaml",
                        "\n".join((SPEC + "entrypoint: " + entry, *more, "")))

    def run_in(self, text):
        return self.root.run("cd /w; " + text)

    def succeed(self, text):
        told = self.run_in(text)
        self.assertIn("2 of 2 ranks delivered, 0 processes left", told)
        return told

    def test_the_system_is_old_and_bare(self):
        self.assertIn("2.31", self.run_in("ldd --version"))
        self.assertEqual(self.run_in(
            "for p in cc gcc c++ ld make cmake; do command -v $p || :; done; "
            "ldconfig -p | grep -E 'yaml|jansson' || :"), "")

    def test_the_first_spec(self):
        for program in ("/v/bin/jobrun", "/d/one"):
            with self.subTest(program=program):
                self.run_in(f"{program} new torch >train.jobrun.yaml")
                self.run_in(f"{program} validate train.jobrun.yaml")
                self.assertEqual(self.run_in(f"{program} --version"),
                                 f"jobrun {make_release.VERSION}\n")

    def test_programs(self):
        self.job("[python3, train.py]")
        told = self.succeed("/v/bin/jobrun job.yaml")
        self.assertIn("[1] python (3, 9)", told)
        self.assertIn("loss 0.5", told)
        self.job("{shell: 'echo \"{\\\"loss\\\": 0.5}\" >$JOBRUN_RESULT_FILE'}")
        self.succeed("/d/one job.yaml")

    def test_python_by_each_start_method(self):
        for method in ("spawn", "fork", "forkserver"):
            with self.subTest(method=method):
                self.job("{python: {function: 'job:main'}}",
                         f"start_method: {method}")
                self.assertIn("loss 0.25", self.succeed("/v/bin/jobrun job.yaml"))

    def test_the_package_in_the_interpreter(self):
        self.assertEqual(self.run_in("/v/bin/python call.py 2>/dev/null"),
                         "[{'loss': 0.25, 'rank': 0}, {'loss': 0.25, 'rank': 1}]\n")
        told = self.run_in("/v/bin/python -c 'import jobrun; "
                           "print(jobrun.__file__)'")
        self.assertIn("/site-packages/jobrun/", told)

    def test_one_file_says_what_it_lacks(self):
        self.job("{python: {function: 'job:main'}}")
        told = self.run_in("/d/one job.yaml || echo status $?")
        self.assertIn("jobrun is not completely installed", told)

    def test_a_library_as_entrypoint(self):
        with tempfile.TemporaryDirectory() as folder:
            self.root.put("/w", compile_library(
                folder, "pi.so", "examples/jobs/library/pi.c"))
        self.job("{library: {path: pi.so, symbol: step_main}}")
        self.run_in("sed -i '/^results:/d' job.yaml; echo 'results: {fields: "
                    "{share: {type: number, min: 1.5, max: 1.6}}}' >>job.yaml")
        self.succeed("/v/bin/jobrun job.yaml")

    def test_a_driver_library_is_still_loaded(self):
        """NVIDIA's, by a stand-in with two GPUs; libc is not in the program, so
        that the library's own is the same one."""
        with tempfile.TemporaryDirectory() as folder:
            self.root.put("/usr/lib", compile_library(
                folder, "libnvidia-ml.so.1", "tests/unit/host/fake_nvml.c",
                "-DINIT=0"))
        self.addCleanup(self.root.run, "rm -f /usr/lib/libnvidia* /dev/nvidia*")
        self.root.run("touch /dev/nvidiactl /dev/nvidia0 /dev/nvidia1; ldconfig")
        for program in ("/v/bin/jobrun", "/d/one"):
            with self.subTest(program=program):
                self.assertRegex(self.run_in(f"{program} doctor || :"),
                                 r"device +cuda 1 +NVIDIA A100-SXM4-40GB, 40 GiB")


if __name__ == "__main__":
    unittest.main()
