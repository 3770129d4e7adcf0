"""A bare Debian in a folder, by debootstrap: what somebody's machine or container
has, with nothing of this one but its kernel.

    bare_root.py     makes one of each release that the tests want, in the folder
                     ROOTS, with the lists of packages; each test has a copy

Packages' Python is not compiled there when it is installed, which takes longer than
all that the tests do with it: Python compiles what it imports.

Each command has mounts and processes of its own (unshare), so that nothing is left
when it ends, and the machine's own mounts are not touched.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOTS = pathlib.Path(os.environ["ROOTS"])
OLD, NEW = "bullseye", "bookworm"
LIMIT = 900  # seconds that any command may take
MOUNTED = 'mount -t proc proc "$0/proc" && exec "$@"'
# Done once in what the tests have copies of. It is thrown away: nobody has to wait
# for the disk.
PREPARE = """\
echo force-unsafe-io >/etc/dpkg/dpkg.cfg.d/unsafe
dpkg-divert --quiet --local --rename --divert /usr/bin/py3compile.real \\
    --add /usr/bin/py3compile
ln -s /bin/true /usr/bin/py3compile
apt-get -q update
"""
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root",
               "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}


def why_not():
    """Why there can be none here; None: there can."""
    if os.geteuid() != 0:
        return "a bare root needs to be made by root"
    if not shutil.which("debootstrap"):
        return "there is no debootstrap"
    done = subprocess.run(["unshare", "--mount", "--pid", "--fork", "true"],
                          capture_output=True, check=False)
    return None if done.returncode == 0 else "there is no unshare here"


def own_suite():
    """The release of this machine, for which packages are built here."""
    text = pathlib.Path("/etc/os-release").read_text()
    return re.search(r"^VERSION_CODENAME=(\w+)$", text, re.M).group(1)


def must(words, **options):
    done = subprocess.run(words, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=LIMIT, check=False, **options)
    if done.returncode != 0:
        raise AssertionError(f"{words}\n{done.stdout}")
    return done.stdout


def run_in(path, text):
    """What a shell in this root prints, which must end well."""
    return must(
        ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c",
         MOUNTED, path, "chroot", path, "sh", "-euc", text], env=ENVIRONMENT)


class Root:
    """A copy, with these packages as well."""

    def __init__(self, suite, *packages):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="jobrun-root-"))
        must(["cp", "-a", f"{ROOTS / suite}/.", self.path])
        if packages:
            self.install(*packages)

    def install(self, *packages):
        return self.run("apt-get install -qy --no-install-recommends "
                        + " ".join(packages))

    def remove(self):
        shutil.rmtree(self.path)

    def run(self, text):
        return run_in(self.path, text)

    def put(self, name, *paths):
        """Copies of files in a folder of it."""
        folder = self.path / name.lstrip("/")
        folder.mkdir(parents=True, exist_ok=True)
        for path in paths:
            shutil.copy(path, folder)

    def write(self, name, text):
        (self.path / name.lstrip("/")).write_text(text)

    def files(self):
        """Every path in it, but for what processes and caches have."""
        passing = ("proc", "dev", "tmp", "var", "root")
        return {str(path.relative_to(self.path))
                for top in self.path.iterdir() if top.name not in passing
                for path in [top, *top.rglob("*")]}


def main():
    if why := why_not():
        print("SKIPPED:", why)
        sys.exit(77)
    shutil.rmtree(ROOTS, ignore_errors=True)
    ROOTS.mkdir(parents=True)
    for suite in {NEW, own_suite(), OLD}:
        path = ROOTS / suite
        must(["unshare", "--mount", "debootstrap", "--variant=minbase", suite, path])
        run_in(path, PREPARE)


if __name__ == "__main__":
    main()
