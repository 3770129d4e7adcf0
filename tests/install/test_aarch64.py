"""A cross build for aarch64, and runs there, on a whole machine of that kind,
which is emulated, with Debian's kernel.

Emulating single programs does not do for runs: qemu-aarch64 knows neither child
subreapers (prctl(2), PR_SET_CHILD_SUBREAPER) nor seccomp filters, nor a vfork that
shares descriptors. It does for most unit tests of the layers that start no ranks.
The machine runs the others of these.

    test_aarch64.py build   makes root and programs, in the folder AARCH64
    test_aarch64.py         has the machine run them, and emulates unit tests
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

SOURCE = pathlib.Path(os.environ["SOURCE"])
AARCH64 = pathlib.Path(os.environ["AARCH64"])
ROOT, BUILD = AARCH64 / "root", AARCH64 / "build"
GNU = "aarch64-linux-gnu"
PROGRAMS = ("debootstrap", f"{GNU}-gcc", "qemu-system-aarch64", "cpio", "ninja")
PACKAGES = ("python3 libyaml-dev libcyaml-dev libpcre2-dev libjansson-dev nettle-dev "
            "libc6-dev libcunit1-dev linux-image-cloud-arm64").split()
# The unit tests of layers that start no ranks, and those of them that need a kernel
# of their own: for filters of system calls, openat2(2), and owners of sockets. Two
# want more than the machine's root has: users, and a network.
EMULATOR = "qemu-aarch64-static"
UNITS = r"^unit\.(base|diag|doc|spec|resolve|plan|judge|render|sweep)\."
FOR_MACHINE = ("base_beneath", "base_pidfd", "base_proc", "base_syscalls",
               "judge_judge", "resolve_port_choice", "sweep_journal")
LEFT_OUT = ("base_subprocess", "resolve_port_lease")
LIMIT = 1800  # seconds that any command may take
# The first process of the machine: it mounts, runs, and turns it off.
INIT = """\
#!/bin/sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
mkdir -p /dev/shm; mount -t tmpfs shm /dev/shm
mount -t cgroup2 cgroup /sys/fs/cgroup
ip link set lo up; hostname arm
sh /job/go 2>&1
echo o >/proc/sysrq-trigger
sleep 60
"""
GO = """\
cd /job; uname -m
begin() { echo "== $1"; }
begin doctor; jobrun doctor
begin run; jobrun -n 2 -- python3 train.py; echo "status $?"
begin failure; jobrun -n 2 -- sh -c 'exit $RANK'; echo "status $?"
for method in spawn fork forkserver; do
    begin $method; jobrun job.yaml -s start_method=$method; echo "status $?"
done
begin units
for test in unit_*; do
    timeout 300 ./$test >told 2>&1 && echo "passed $test" || cat told
done
"""
TRAIN = """\
import json, os, platform
with open(os.environ["JOBRUN_RESULT_FILE"], "w") as file:
    json.dump({"machine": platform.machine()}, file)
"""
FUNCTION = """\
import jobrun
def main():
    return {"rank": jobrun.rank()}
"""
SPEC = """\
version: 1
name: function
world_size: 2
entrypoint: {python: {function: "job:main"}}
results: {fields: {rank: {type: integer}}}
"""


def must(*words, **options):
    done = subprocess.run([str(word) for word in words], text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=LIMIT, check=False,
                          **options)
    if done.returncode != 0:
        raise AssertionError(f"{words}\n{done.stdout}")
    return done.stdout


def why_not():
    if os.geteuid() != 0:
        return "a root for aarch64 needs to be made by root"
    missing = [name for name in PROGRAMS if not shutil.which(name)]
    return f"there is no {' and no '.join(missing)}" if missing else None


def make_root():
    """Unpacked, not configured: no program of it has run yet."""
    must("debootstrap", "--foreign", "--arch=arm64", "--variant=minbase",
         "--include=" + ",".join(PACKAGES), "bookworm", ROOT)
    cache = ROOT / "var/cache/apt/archives"
    for package in cache.glob("*.deb"):
        must("dpkg-deb", "-x", package, ROOT)
    shutil.rmtree(cache)


def unit_tests():
    told = must("ctest", "--test-dir", BUILD, "-N", "-R", UNITS)
    return re.findall(r"Test +#\d+: (\S+)", told)


def build():
    """The program, and what stands beside ranks; warnings are errors."""
    pkg = f"{ROOT}/usr/lib/{GNU}/pkgconfig"
    environment = {**os.environ, "PKG_CONFIG_LIBDIR": pkg,
                   "PKG_CONFIG_SYSROOT_DIR": str(ROOT)}
    must("cmake", "-S", SOURCE, "-B", BUILD, "-G", "Ninja",
         "-DCMAKE_SYSTEM_NAME=Linux", "-DCMAKE_SYSTEM_PROCESSOR=aarch64",
         f"-DCMAKE_C_COMPILER={GNU}-gcc", f"-DCMAKE_SYSROOT={ROOT}",
         "-DBUILD_TESTING=ON", "-DJR_WERROR=ON", "-DCMAKE_BUILD_TYPE=Debug",
         f"-DCMAKE_CROSSCOMPILING_EMULATOR={EMULATOR};-L;{ROOT}",
         "-DCMAKE_C_FLAGS_DEBUG=-O1", "-DCMAKE_INSTALL_PREFIX=/usr",
         env=environment)
    units = [name.replace(".", "_") for name in unit_tests()]
    assert len(units) > 80, units
    must("nice", "ninja", "-C", BUILD, "jobrun", "jobrun-step", *units)
    for component in ("program", "python"):
        must("cmake", "--install", BUILD, "--component", component,
             env={**os.environ, "DESTDIR": str(ROOT)})


def write_job():
    job = ROOT / "job"
    job.mkdir()
    for name, text in (("job/go", GO), ("init", INIT), ("job/train.py", TRAIN),
                       ("job/job.py", FUNCTION), ("job/job.yaml", SPEC)):
        (ROOT / name).write_text(text)
        (ROOT / name).chmod(0o755)
    for name in FOR_MACHINE:
        [test] = BUILD.glob(f"tests/unit/*/unit_{name}")
        shutil.copy(test, job)


def pack():
    """The root as the machine's first file system, without what nothing reads there.
    It is not compressed: emulated, that takes longer than to read it."""
    left = ("usr/share/doc", "usr/share/locale", "usr/share/perl", "usr/lib/modules",
            "usr/lib/gcc", "usr/include", "var/lib/apt", "boot", "lib/modules")
    names = [name for name in must("find", ".", cwd=ROOT).splitlines()
             if not name[2:].startswith(left)]
    with (AARCH64 / "initrd").open("wb") as out:
        subprocess.run(["cpio", "--quiet", "-o", "-H", "newc"], cwd=ROOT, check=True,
                       input=("\n".join(names) + "\n").encode(), stdout=out)


def main():
    if why := why_not():
        print("SKIPPED:", why)
        sys.exit(77)
    shutil.rmtree(AARCH64, ignore_errors=True)
    AARCH64.mkdir(parents=True)
    make_root()
    build()
    write_job()
    pack()


class Machine(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not (AARCH64 / "initrd").exists():
            raise unittest.SkipTest("there is no build for aarch64")
        [kernel] = (ROOT / "boot").glob("vmlinuz-*")
        cls.told = must(
            "qemu-system-aarch64", "-M", "virt", "-cpu", "max,pauth-impdef=on",
            "-smp", "2", "-m", "3G", "-nic", "none", "-nographic", "-no-reboot",
            "-kernel", kernel, "-initrd", AARCH64 / "initrd", "-append",
            "console=ttyAMA0 quiet rdinit=/init panic=-1").replace("\r", "")
        cls.parts = dict(re.findall(r"(?ms)^== (\w+)\n(.*?)(?=^== |\Z)", cls.told))

    def part(self, name):
        self.assertIn(name, self.parts, self.told[-3000:])
        return self.parts[name]

    def test_it_is_one(self):
        self.assertIn("\naarch64\n", "\n" + self.told)
        self.assertIn("kernel   has every system call that jobrun uses",
                      self.part("doctor"))

    def test_runs(self):
        told = self.part("run")
        self.assertIn("2 of 2 ranks delivered, 0 processes left", told)
        self.assertIn("status 0\n", told)
        told = self.part("failure")
        self.assertIn("rank 1 exited with code 1", told)
        self.assertIn("status 1\n", told)

    def test_functions_by_each_start_method(self):
        for method in ("spawn", "fork", "forkserver"):
            told = self.part(method)
            self.assertIn("2 of 2 ranks delivered, 0 processes left", told)

    def test_units_that_need_a_kernel(self):
        told = self.part("units")
        for name in FOR_MACHINE:
            self.assertIn(f"passed unit_{name}\n", told)


class Units(unittest.TestCase):
    def test_they_pass_under_emulation(self):
        if not shutil.which(EMULATOR):
            self.skipTest(f"there is no {EMULATOR}")
        if not (BUILD / "tests").exists():
            self.skipTest("there is no build for aarch64")
        others = "|".join(name.replace("_", ".", 1)
                          for name in FOR_MACHINE + LEFT_OUT)
        told = must("ctest", "--test-dir", BUILD, "-R", UNITS, "-E", f"({others})$",
                    "-j2", "--output-on-failure", "--no-tests=error")
        self.assertIn("100% tests passed", told)


if __name__ == "__main__":
    if sys.argv[1:] == ["build"]:
        main()
    else:
        unittest.main()
