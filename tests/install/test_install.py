"""The installation, and what others build over it."""
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ["SOURCE"])
FLAGS = shlex.split(os.environ["FLAGS"])
LIMIT = 120  # seconds that any command may take

SPEC = """\
version: 1
name: two
world_size: 2
entrypoint: {shell: 'echo "hello from $RANK"; echo $RANK >$JOBRUN_RESULT_FILE'}
results: {required: all}
"""


def run(*words, **options):
    return subprocess.run([str(word) for word in words], text=True,
                          capture_output=True, timeout=LIMIT,
                          stdin=subprocess.DEVNULL, **options)


def without_comments(text):
    return re.sub(r"/\*.*?\*/", " ", text, flags=re.S)


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = pathlib.Path(tempfile.mkdtemp(prefix="jobrun-install-"))
        cls.addClassCleanup(shutil.rmtree, cls.root, ignore_errors=True)
        done = run(os.environ["CMAKE"], "--install", os.environ["BUILD"],
                   env={**os.environ, "DESTDIR": str(cls.root / "dest")})
        if done.returncode != 0:
            raise AssertionError(done.stdout + done.stderr)
        cls.prefix = cls.under(os.environ["PREFIX"])
        cls.lib = cls.under(os.environ["LIBDIR"])
        cls.env = {k: v for k, v in os.environ.items()
                   if not k.startswith(("JOBRUN_", "SLURM_", "OMP_", "CUDA_"))}
        cls.env.update(LD_LIBRARY_PATH=str(cls.lib), LC_ALL="C.UTF-8",
                       PKG_CONFIG_PATH=str(cls.lib / "pkgconfig"))

    @classmethod
    def under(cls, path):
        return cls.root / "dest" / path.lstrip("/")

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=self.root))
        (self.folder / "two.yaml").write_text(SPEC)

    def good(self, *words, code=0):
        done = run(*words, cwd=self.folder, env=self.env)
        self.assertEqual(done.returncode, code,
                         f"{words}\n{done.stdout}\n{done.stderr}")
        return done

    def pkg_config(self, *words):
        return shlex.split(
            self.good("pkg-config", *words, "jobrun").stdout)

    def build(self, compiler, path, *libraries):
        program = self.folder / "program"
        self.good(*shlex.split(compiler), "-Wall", "-Wextra", "-Werror", path,
                  *FLAGS, *self.pkg_config("--cflags"), *libraries, "-o",
                  program)
        return program

    def example(self):
        page = (SOURCE / "docs" / "library.md").read_text()
        code = re.search(r"```c\n(.*?)```", page, re.S).group(1)
        path = self.folder / "example.c"
        path.write_text(code)
        return path

    def check_example(self, program):
        done = self.good(program, "two.yaml")
        self.assertIn("[0] hello from 0\n", done.stdout)
        self.assertTrue(done.stdout.endswith(
            "rank 0 succeeded: 0\nrank 1 succeeded: 1\n"), done.stdout)
        self.assertEqual(done.stderr, "")
        (self.folder / "bad.yaml").write_text("version: 1\nworldsize: 2\n")
        done = self.good(program, "bad.yaml", code=3)
        self.assertIn("bad.yaml:2:1: error[JR0203]", done.stderr)
        self.assertIn("cannot run: bad.yaml:", done.stderr)

    def write_function(self):
        """A job that needs the files of the support folder."""
        (self.folder / "job.py").write_text(
            "import jobrun\ndef main():\n    return jobrun.rank() + 40\n")
        (self.folder / "function.yaml").write_text(
            "version: 1\nname: f\nworld_size: 2\n"
            "entrypoint: {python: {function: 'job:main'}}\n")

    def test_everything_is_there(self):
        version = os.environ["VERSION"]
        missing = [path for path in (
            "bin/jobrun", "include/jobrun/jobrun.h", "include/jobrun/error.h",
            "share/man/man1/jobrun.1", "share/man/man5/jobrun.yaml.5",
            "share/jobrun/schemas/jobspec-v1.schema.json",
            "share/bash-completion/completions/jobrun",
            "share/zsh/site-functions/_jobrun",
            "share/fish/vendor_completions.d/jobrun.fish")
            if not (self.prefix / path).is_file()]
        missing += [name for name in (
            "libjobrun.a", f"libjobrun.so.{version}", "pkgconfig/jobrun.pc")
            if not (self.lib / name).is_file()]
        missing += [name for name in (
            "jobrun/jobrun-step", "jobrun/python/jobrun/__init__.py")
            if not (self.under(os.environ["LIBEXEC"]) / name).is_file()]
        self.assertEqual(missing, [])
        major = version.split(".")[0]
        self.assertEqual(os.readlink(self.lib / "libjobrun.so"),
                         f"libjobrun.so.{major}")
        dynamic = self.good("readelf", "-d", self.lib / "libjobrun.so").stdout
        self.assertIn(f"soname: [libjobrun.so.{major}]", dynamic)
        self.assertEqual(self.pkg_config("--modversion"), [version])

    def test_exactly_what_is_documented_is_exported(self):
        headers = self.prefix / "include" / "jobrun"
        declared = set()
        for path in headers.glob("*.h"):
            if path.name != "rank.h":  # of the library that is the entrypoint
                declared |= set(re.findall(r"\bJR_API\b[^;(]*?\b(jr_\w+)\(",
                                           without_comments(path.read_text())))
        listed = self.good("nm", "-D", "--defined-only",
                           self.lib / "libjobrun.so").stdout
        exported = {line.split()[-1].split("@")[0]
                    for line in listed.splitlines()}
        exported = {name for name in exported if not name.startswith("__")}
        self.assertGreater(len(declared), 20)
        self.assertEqual(exported, declared)
        page = (SOURCE / "docs" / "library.md").read_text()
        self.assertEqual({name for name in declared if name not in page}, set())

    def test_headers_compile_alone_and_together(self):
        names = sorted(path.name for path in
                       (self.prefix / "include" / "jobrun").glob("*.h"))
        self.assertIn("rank.h", names)
        for some in [[name] for name in names] + [names]:
            text = "".join(f"#include <jobrun/{name}>\n" for name in some)
            (self.folder / "one.c").write_text(text + "int main(void) {}\n")
            self.build(os.environ["CC"] + " -std=c17 -pedantic",
                       self.folder / "one.c")

    def test_the_example_of_the_page_runs(self):
        program = self.build(os.environ["CC"], self.example(),
                             *self.pkg_config("--libs"))
        self.check_example(program)
        self.write_function()
        self.assertIn("rank 0 succeeded: 40\nrank 1 succeeded: 41\n",
                      self.good(program, "function.yaml").stdout)

    def test_the_example_runs_without_the_shared_library(self):
        words = self.pkg_config("--static", "--libs")
        words[words.index("-ljobrun")] = "-l:libjobrun.a"
        program = self.build(os.environ["CC"], self.example(), *words)
        self.assertNotIn("libjobrun", self.good("ldd", program).stdout)
        self.check_example(program)

    def configure(self, target):
        """A project of somebody else's, built over a target of the package."""
        project = self.folder / target.split(":")[-1]
        project.mkdir()
        shutil.copy(self.example(), project / "example.c")
        (project / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.22)\n"
            "project(example C)\n"
            f"find_package(jobrun {os.environ['VERSION']} REQUIRED)\n"
            "add_executable(example example.c)\n"
            f"target_link_libraries(example {target})\n")
        cmake = os.environ["CMAKE"]
        self.good(cmake, "-S", project, "-B", project / "build", "-G",
                  os.environ["GENERATOR"], f"-DCMAKE_C_COMPILER={os.environ['CC']}",
                  f"-DCMAKE_C_FLAGS={' '.join(FLAGS)}",
                  f"-DCMAKE_PREFIX_PATH={self.prefix}")
        self.good(cmake, "--build", project / "build")
        return project / "build" / "example"

    def test_cmake_finds_the_shared_library(self):
        program = self.configure("jobrun::jobrun")
        self.assertIn("libjobrun.so", self.good("ldd", program).stdout)
        self.check_example(program)

    def test_cmake_finds_the_archive(self):
        program = self.configure("jobrun::jobrun_static")
        self.assertNotIn("libjobrun", self.good("ldd", program).stdout)
        self.check_example(program)

    def test_another_version_is_not_taken_for_this_one(self):
        project = self.folder / "later"
        project.mkdir()
        (project / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.22)\nproject(later C)\n"
            "find_package(jobrun 99.0 REQUIRED)\n")
        done = run(os.environ["CMAKE"], "-S", project, "-B", project / "build",
                   f"-DCMAKE_PREFIX_PATH={self.prefix}", env=self.env)
        self.assertIn("jobrunConfig.cmake, version: "
                      + os.environ["VERSION"], done.stderr)

    def test_links_of_the_pages_hold(self):
        pages = sorted((self.prefix / "share/doc/jobrun").rglob("*.md"))
        names = {page.name for page in pages}
        self.assertLessEqual({"README.md", "spec.md", "CHANGELOG.md"}, names)
        links = [(page, link) for page in pages for link in re.findall(
            r"\]\(([^)#\s]+)[^)]*\)", page.read_text()) if "://" not in link]
        self.assertGreater(len(links), 20)
        self.assertEqual([f"{page.name}: {link}" for page, link in links
                          if not (page.parent / link).exists()], [])

    def test_what_readme_names_of_docs_and_examples_is_there(self):
        folder = self.prefix / "share/doc/jobrun"
        named = re.findall(r"\b(?:docs|examples)/[\w./-]*\w",
                           (folder / "README.md").read_text())
        self.assertGreater(len(named), 10)
        self.assertEqual([name for name in named
                          if not (folder / name).exists()], [])

    def test_a_program_in_cxx(self):
        if not os.environ["CXX"]:
            self.skipTest("no C++ compiler")
        program = self.build(os.environ["CXX"],
                             SOURCE / "tests" / "install" / "embed.cc",
                             *self.pkg_config("--libs"))
        lines = self.good(program).stdout.splitlines()
        self.assertEqual(lines[0], "2:13 JR0211")
        self.assertIn("far: 16 ranks on 2 nodes (data 4 x model 4), nccl, ",
                      lines[1])
        self.assertEqual(lines[2:], [
            'rank 0 succeeded code 0 result {"r": 0}',
            'rank 1 failed code 1 result none cause', "failed 1"])

    def test_the_program_runs(self):
        done = self.good(self.prefix / "bin" / "jobrun", "two.yaml")
        self.assertIn("2 of 2 ranks delivered", done.stderr)
        self.write_function()
        done = self.good(self.prefix / "bin" / "jobrun", "function.yaml")
        self.assertIn("2 of 2 ranks delivered", done.stderr)

    def test_python_finds_the_program(self):
        self.write_function()
        python = self.under(os.environ["LIBEXEC"]) / "jobrun" / "python"
        done = run(sys.executable, "-c", "import jobrun, job; "
                   "print(jobrun.launch(job.main, nprocs=2, device='cpu', "
                   "oversubscribe=True))", cwd=self.folder,
                   env={**self.env, "PYTHONPATH": str(python)})
        self.assertEqual(done.stdout, "[40, 41]\n", done.stderr)


class Static(unittest.TestCase):
    def test_a_library_without_an_archive_is_named(self):
        """JR_STATIC takes no shared library instead."""
        folder = pathlib.Path(tempfile.mkdtemp(prefix="jobrun-static-"))
        self.addCleanup(shutil.rmtree, folder)
        (folder / "libjansson5.so").write_text("")
        (folder / "jansson.pc").write_text(
            "Name: jansson\nDescription: x\nVersion: 2.14\n"
            f"Libs: -L{folder} -ljansson5\n")
        done = run(os.environ["CMAKE"], "-S", SOURCE, "-B", folder / "build",
                   "-DJR_STATIC=ON", "-DBUILD_TESTING=OFF",
                   f"-DCMAKE_C_COMPILER={os.environ['CC']}",
                   env={**os.environ, "PKG_CONFIG_PATH": str(folder)})
        self.assertNotEqual(done.returncode, 0)
        told = " ".join(done.stderr.split())
        self.assertIn("JR_STATIC needs the archive of jansson5 (a file .a)", told)
        self.assertIn("-C cmake.define.JR_STATIC=OFF", told)


if __name__ == "__main__":
    unittest.main()
