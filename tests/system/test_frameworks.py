"""Ranks of frameworks as they are today, from PyPI: torch with gloo,
PaddlePaddle under the profile paddle, mpi4py over MPICH under the profile mpi
and under mpiexec. And the options that they have today: all are on our pages,
of which every block is run, by the origin and by jobrun (test_origin_guides.py).

    test_frameworks.py --fetch  installs them, which is mostly waiting

COUNTERPARTS names the folder where they are kept once they were fetched; what
cannot be fetched is skipped, and then all of this ends with 77. The tests need no
network but the loopback.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import harness

COUNTERPARTS = pathlib.Path(os.environ["COUNTERPARTS"])
FOLDER = COUNTERPARTS / "frameworks"
PYTHON = FOLDER / "bin" / "python"
# MegEngine has no wheels for later ones, and is of the time of numpy 1.
MEGENGINE_FOLDER = COUNTERPARTS / "megengine"
MEGENGINE_PYTHONS = ((3, 8), (3, 9), (3, 10))
MEGENGINE_BYTES = 4 << 30
# The last version with the fields of ml, and what its launcher imports.
MLFAB = ("mlfab==0.0.25", "--no-deps"), \
    ("omegaconf", "wcwidth", "gitpython", "psutil", "torchvision")
MLFAB_PYTHON = (3, 11)
MPICH = "libmpich.so.12"
LIMIT = 1200  # seconds for a download
TORCH_BYTES = 12 << 30  # with the libraries of a GPU, which it cannot do without
HERE = pathlib.Path(__file__).parent


def make_environment(folder, interpreter):
    if (folder / "bin" / "python").exists():
        return
    subprocess.run([interpreter, "-m", "venv", folder], check=True,
                   timeout=LIMIT, stdin=subprocess.DEVNULL,
                   capture_output=True)


def install(*packages, check, python=PYTHON):
    """Into the virtual environment, unless `check` could be imported there. What is
    imported is compiled then, and not all the rest: that takes longer than the
    tests."""
    seen = python.parent.parent / ("has-" + check)
    if seen.exists():
        return
    env = {name: text for name, text in os.environ.items()
           if name != "PYTHONDONTWRITEBYTECODE"}
    try:
        subprocess.run([python, "-m", "pip", "install", "-q",
                        "--no-cache-dir", "--no-compile", *packages],
                       check=True, timeout=LIMIT, capture_output=True)
        subprocess.run([python, "-c", "import " + check], check=True, timeout=LIMIT,
                       env=env, stdin=subprocess.DEVNULL, capture_output=True)
        seen.touch()
    except (OSError, subprocess.SubprocessError) as error:
        raise harness.unittest.SkipTest(
            f"cannot install {packages}: {error}") from error


def room_for(bytes_wanted):
    folder = COUNTERPARTS.parent
    if shutil.disk_usage(folder).free < bytes_wanted:
        raise harness.unittest.SkipTest(
            f"no room for {bytes_wanted >> 30} GiB in {folder}")


def library(name):
    """The path of a shared library of the system."""
    told = subprocess.run(["/sbin/ldconfig", "-p"], text=True,
                          capture_output=True).stdout
    found = re.search(r"%s .*=> (\S+)" % re.escape(name), told)
    return found and found.group(1)


def pythons():
    """The interpreters that are here: {version: path}"""
    sys.path.insert(0, str(HERE.parent / "python"))
    from test_versions import pythons as others
    return {**others(), sys.version_info[:2]: sys.executable}


def install_torch():
    """Returns the Python that has it; so do the other two."""
    if not list(FOLDER.glob("lib/*/site-packages/torch")):
        room_for(TORCH_BYTES)
    make_environment(FOLDER, sys.executable)
    install("torch", "numpy", check="torch.distributed.run")
    return PYTHON


def install_paddle():
    make_environment(FOLDER, sys.executable)
    install("paddlepaddle", check="paddle.distributed.launch")
    return PYTHON


def install_megengine():
    python = MEGENGINE_FOLDER / "bin" / "python"
    if not python.exists():
        fitting = [path for version, path in sorted(pythons().items())
                   if version in MEGENGINE_PYTHONS]
        if not fitting:
            raise harness.unittest.SkipTest(
                "MegEngine wants Python 3.8 to 3.10, and none of them is in "
                "PATH or below PYENV_ROOT")
        room_for(MEGENGINE_BYTES)
        make_environment(MEGENGINE_FOLDER, fitting[-1])
    install("megengine", "numpy<2", check="megengine.distributed",
            python=python)
    return python


def install_optuna():
    make_environment(FOLDER, sys.executable)
    install("optuna", check="optuna")
    return PYTHON


def install_mpi():
    make_environment(FOLDER, sys.executable)
    install("mpi4py", check="mpi4py")
    return PYTHON


def install_mlfab():
    install_torch()
    if sys.version_info < MLFAB_PYTHON:
        raise harness.unittest.SkipTest("mlfab wants Python %d.%d" % MLFAB_PYTHON)
    for packages, check in zip(MLFAB[::-1], ("omegaconf", "mlfab.nn.parallel")):
        install(*packages, check=check)
    return PYTHON


class Frameworks(harness.Case):
    def job(self, program, spec, *words, env=None):
        self.write("job.py", program)
        self.write("job.yaml", "version: 1\ndevice: cpu\noversubscribe: true\n"
                   "timeouts: {run: 4m}\n" + spec)
        done = subprocess.run(
            [harness.JOBRUN, "job.yaml", *words], cwd=self.folder, text=True,
            env=harness.clean_environment(**(env or {})), timeout=300,
            stdin=subprocess.DEVNULL, capture_output=True)
        self.expect(done, 0)
        return [rank["result"] for rank in self.results()["ranks"]]

    def others(self, path, *tests, python=PYTHON):
        """Tests of another file, with the interpreter that has the framework;
        none may be left out."""
        done = subprocess.run(
            [sys.executable, HERE / path, "-v", *tests], text=True,
            stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT,
            env={**os.environ, "LONG": "1", "INTERPRETER": str(python),
                 "SUPPORT": os.environ["BUILD"] + "/support"})
        self.expect(done, 0)
        self.assertNotIn("skipped", done.stderr)

    def options(self, *words):
        """The long options that a program tells of."""
        told = subprocess.run([PYTHON, *words, "--help"], text=True, timeout=300,
                              stdin=subprocess.DEVNULL, capture_output=True)
        found = re.findall(r"^  (?:-\w.*, )?(--[\w-]+)", told.stdout, re.M)
        return set(found) - {"--help"}

    def told(self, page):
        """The options that a page has a row for."""
        text = (HERE.parents[1] / "docs" / page).read_text()
        rows = [line.split("|")[1] for line in text.splitlines()
                if line.startswith("| ")]
        return set(re.findall(r"--[\w-]+", " ".join(rows)))

    def test_paddles_pages(self):
        """What the pages show of a framework, with that framework."""
        install_paddle()
        self.others("test_origin_guides.py", "Moving.test_paddle")
        self.assertEqual(self.options("-m", "paddle.distributed.launch") -
                         self.told("from-paddle-spawn.md"), set())

    def test_forks_of_paddle(self):
        """By all start methods, preloaded, with one thread and with many."""
        install_paddle()
        self.others("../python/test_forks.py", "Forks.test_paddle")

    def test_forks_of_torch(self):
        install_torch()
        self.others("../python/test_forks.py", "Forks.test_torch",
                    "Forks.test_numpy")

    def test_paddle(self):
        install_paddle()
        results = self.job(
            "import paddle, paddle.distributed as dist\n"
            "def main():\n"
            "    dist.init_parallel_env()\n"
            "    value = paddle.to_tensor([2.0 ** dist.get_rank()])\n"
            "    dist.all_reduce(value)\n"
            "    return [dist.get_rank(), dist.get_world_size(),"
            " value.item()]\n",
            "entrypoint:\n"
            '  python: {function: "job:main", interpreter: %s}\n'
            "env_profiles: [paddle]\nnodes: 2\nlocal_world_size: 2\n"
            % json.dumps(str(PYTHON)), "--local")
        self.assertEqual(results, [[rank, 4, 15.0] for rank in range(4)])

    def with_mpich(self):
        path = library(MPICH)
        if path is None or shutil.which("mpiexec.hydra") is None:
            self.skipTest("no MPICH here")
        install_mpi()
        # mpi4py knows the library by the name that MPICH's own build has.
        (self.folder / "lib").mkdir()
        (self.folder / "lib" / "libmpi.so.12").symlink_to(path)
        # Another MPI may be here as well.
        return {"LD_LIBRARY_PATH": str(self.folder / "lib"),
                "MPI4PY_MPIABI": "mpich"}

    def test_mpi_profile(self):
        """It asks for a world, and mpi4py beside the interpreter says by which
        library."""
        env = self.with_mpich()
        results = self.job(
            "import os\n"
            "def main():\n"
            "    before = [int(os.environ[name]) for name in"
            " ('OMPI_COMM_WORLD_RANK', 'PMI_RANK', 'PMI_SIZE')]\n"
            "    from mpi4py import MPI\n"
            "    return before + [MPI.COMM_WORLD.size]\n",
            "entrypoint:\n"
            '  python: {function: "job:main", interpreter: %s}\n'
            "env_profiles: [mpi]\nworld_size: 3\n" % json.dumps(str(PYTHON)),
            env=env)
        self.assertEqual(results, [[rank, rank, 3, 3] for rank in range(3)])

    def test_mpiexec_as_a_rank(self):
        """A real MPI job, held to its word by jobrun."""
        env = self.with_mpich()
        results = self.job(
            "import json, os\n"
            "from mpi4py import MPI\n"
            "world = MPI.COMM_WORLD\n"
            "sum = world.allreduce(world.rank + 1)\n"
            "if world.rank == 0:\n"
            "    with open(os.environ['JOBRUN_RESULT_FILE'], 'w') as file:\n"
            "        json.dump([world.size, sum], file)\n",
            "entrypoint: [mpiexec.hydra, -n, 3, %s, job.py]\n"
            "world_size: 1\nresults: {from: file}\n" % json.dumps(str(PYTHON)),
            env=env)
        self.assertEqual(results, [[3, 6]])

    def test_torch(self):
        install_torch()
        self.others("../python/test_torch.py")

    def test_torchs_pages(self):
        install_torch()
        self.others("test_origin_guides.py", "Moving.test_torchrun",
                    "Moving.test_multiprocessing")

    def test_mls_page(self):
        install_mlfab()
        self.others("test_origin_guides.py", "Moving.test_ml")

    def test_megengines_page(self):
        python = install_megengine()
        self.others("test_origin_guides.py", "Moving.test_megengine", python=python)

    def test_optuna_chooses_values(self):
        python = install_optuna()
        jobs = self.copy_examples() / "search"
        env = {**os.environ, "PYTHONPATH": os.environ["BUILD"] + "/support/python"}
        for count in 10, 20:  # the second call goes on
            done = subprocess.run([python, jobs / "search.py", "10"], text=True,
                                  cwd=self.folder, env=env, capture_output=True,
                                  timeout=LIMIT)
            self.expect(done, 0)
            self.assertIn(f"{count} runs", done.stdout)
        records = [json.loads(path.read_text()) for path in
                   sorted(self.folder.glob("runs/2*/results.json"))]
        self.assertEqual([one["status"] for one in records], ["succeeded"] * 20)
        losses = [one["ranks"][0]["result"]["loss"] for one in records]
        self.assertLess(min(losses[10:]), losses[0])  # it has learned something

    def test_torchs_options(self):
        """torchrun's are told, and translated."""
        install_torch()
        options = self.options("-m", "torch.distributed.run")
        self.assertGreater(len(options), 20)
        self.assertEqual(options - self.told("from-torchrun.md"), set())
        for option in sorted(options):
            done = self.jobrun("new", "--from", "torchrun %s 1 a.py" % option)
            self.assertNotIn("does not know", done.stdout + done.stderr)


def fetch():
    """Install all of them; the tests skip what could not be had."""
    for one in (install_mlfab, install_paddle, install_mpi, install_megengine,
                install_optuna):
        try:
            one()
        except harness.unittest.SkipTest as error:
            print("SKIPPED:", one.__name__, error, file=sys.stderr)


def main():
    if sys.argv[1:] == ["--fetch"]:
        sys.exit(fetch())
    result = harness.main(exit=False).result
    for test, reason in result.skipped:
        print("SKIPPED:", test, reason, file=sys.stderr)
    sys.exit(not result.wasSuccessful() or (77 if result.skipped else 0))


if __name__ == "__main__":
    main()
