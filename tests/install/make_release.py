"""Makes a release for the tests beside this one, in the folder RELEASE, by
tools/release from a copy of what git has here."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(os.environ["SOURCE"])
RELEASE = pathlib.Path(os.environ["RELEASE"])
VERSION = "9.8.7"
MAINTAINER = {"DEBFULLNAME": "Ann Other", "DEBEMAIL": "ann@example.org"}
LIMIT = 3000


def copy_of_the_source(folder):
    """The files that git has, in a repository of their own."""
    names = subprocess.run(["git", "-C", SOURCE, "ls-files", "-z"], check=True,
                           capture_output=True).stdout
    for name in filter(None, names.decode().split("\0")):
        if (SOURCE / name).exists():  # else it is removed, but not yet from git
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(SOURCE / name, folder / name)
    git = ["git", "-C", folder, "-c", "user.name=x", "-c", "user.email=x@y.z"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "x"]):
        subprocess.run([*git, *words], check=True, capture_output=True)
    return folder


def can_reach_pypi(folder):
    """Whether the tools that build wheels can be had."""
    return subprocess.run(
        [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder,
         "build"], capture_output=True, check=False).returncode == 0


def main():
    shutil.rmtree(RELEASE, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="jobrun-release-") as name:
        folder = pathlib.Path(name)
        if not shutil.which("dpkg-deb") or not can_reach_pypi(folder / "pip"):
            print("SKIPPED: no dpkg, or no PyPI")
            return 77
        source = copy_of_the_source(folder / "source")
        (source / "stray.txt").write_text("git does not have it\n")
        done = subprocess.run([source / "tools" / "release", "-o", RELEASE,
                               VERSION], stdin=subprocess.DEVNULL,
                              env={**os.environ, **MAINTAINER},
                              timeout=LIMIT, check=False)
        if done.returncode == 0:
            for changed in ("CMakeLists.txt", "CHANGELOG.md"):
                shutil.copy(source / changed, RELEASE.parent / f"released-{changed}")
        return done.returncode


if __name__ == "__main__":
    sys.exit(main())
