#!/usr/bin/env python3
"""Measure what recording the code of a run costs beside `git status`, in a work
tree of many files: one in which nothing has changed, and one with a changed and
an untracked file; what freezing it costs beside `git worktree add`, and removing
the copy beside `rm -r`.

usage: code_record.py [--build DIR] [--runs N] [--files N]

Prints Markdown; how it measures is in common.py. The cost of a run is that of
one in the work tree less that of one outside of any.
"""
import argparse
import pathlib
import shutil
import subprocess
import tempfile

import common

FOLDER = 100  # files in a folder
SPEC = """\
version: 1
name: t
device: cpu
world_size: 1
entrypoint: {{shell: "true"}}
log_dir: {logs}
"""
IDENTITY = ["-c", "user.name=n", "-c", "user.email=n@example.org"]


def git(folder, *words):
    subprocess.run(["git", *IDENTITY, *words], cwd=folder, check=True,
                   stdout=subprocess.DEVNULL)


def make_tree(folder, files):
    for i in range(files // FOLDER):
        below = folder / f"part{i // 40}" / f"module{i}"
        below.mkdir(parents=True)
        for j in range(FOLDER):
            (below / f"file{j}.py").write_text(f"x = {i * FOLDER + j}\n" * 20)
    git(folder, "init", "-q")
    git(folder, "config", "gc.auto", "0")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "m")
    git(folder, "status")


def measure(title, jobrun, tree, outside, runs):
    commands = {"git status": (tree, ["git", "status"]),
                "in the tree": (tree, [jobrun, "t.jobrun.yaml"]),
                "outside": (outside, [jobrun, "t.jobrun.yaml"])}
    found = common.in_turns(commands, runs,
                            lambda c: common.run(c[1], c[0], limit=120))
    code = common.Cost(*(a - b for a, b in zip(found["in the tree"],
                                               found["outside"])))
    common.table(title, "ms", {"git status": found["git status"],
                               "recording the code": code}, cpu=True)


def freeze(jobrun, tree, outside, options):
    """A run that is frozen, less one outside of any tree; then its copy goes."""
    other, runs = outside.parent / "other", outside.parent / "runs"
    frozen = [jobrun, "t.jobrun.yaml", "--run-id", "frozen", "-s",
              "code=freeze"]
    steps = {
        "git worktree add": (tree, ["git", "worktree", "add", "-q", "--detach",
                                    str(other)]),
        "rm -r": (outside.parent, ["rm", "-r", str(other)]),
        "a run that is frozen": (tree, frozen),
        "jobrun prune --code": (tree, [jobrun, "prune", "--code", "--log-dir",
                                       str(runs)]),
        "outside": (outside, [jobrun, "t.jobrun.yaml"]),
    }

    def measure_step(step):
        cost = common.run(step[1], step[0], limit=120)
        if step[1][0] == "rm":
            git(tree, "worktree", "prune")
        elif step[1][1] == "prune":
            shutil.rmtree(runs / "frozen")
        return cost

    found = common.in_turns(steps, options.runs, measure_step)
    cost = common.Cost(*(a - b for a, b in zip(found["a run that is frozen"],
                                               found["outside"])))
    common.table(f"{options.files} files, frozen", "ms",
                 {"git worktree add": found["git worktree add"],
                  "freezing the code": cost}, cpu=True)
    common.table(f"{options.files} files, the copy removed", "ms",
                 {name: found[name] for name in ("rm -r",
                                                 "jobrun prune --code")},
                 cpu=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=str(common.REPOSITORY / "build"))
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--files", type=int, default=100000)
    options = parser.parse_args()
    jobrun = str(pathlib.Path(options.build).resolve() / "jobrun")
    with tempfile.TemporaryDirectory(prefix="jobrun-bench-") as name:
        folder = pathlib.Path(name)
        tree, outside = folder / "tree", folder / "outside"
        for place in (tree, outside):
            place.mkdir()
            (place / "t.jobrun.yaml").write_text(
                SPEC.format(logs=folder / "runs"))
        (tree / ".gitignore").write_text("stderr\n")
        make_tree(tree, options.files)
        print(f"{common.machine()}; medians of {options.runs} runs, in turns")
        measure(f"{options.files} files, none changed", jobrun, tree, outside,
                options.runs)
        freeze(jobrun, tree, outside, options)
        (tree / "part0/module1/file1.py").write_text("x = 'changed'\n")
        (tree / "new.py").write_text("x = 'new'\n")
        measure(f"{options.files} files, one changed and one untracked",
                jobrun, tree, outside, options.runs)


if __name__ == "__main__":
    main()
