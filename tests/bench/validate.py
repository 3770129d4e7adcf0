#!/usr/bin/env python3
"""Measure `jobrun validate` beside bare libyaml and the pair of tools that one
would use without it: yamllint, then check-jsonschema with the same schema.

usage: validate.py [--build DIR] [--runs N]

Prints Markdown; how it measures is in common.py.
"""
import argparse
import pathlib
import shlex
import shutil
import tempfile

import common

SCHEMA = common.REPOSITORY / "schemas" / "jobspec-v1.schema.json"
LIMIT_BYTES = 1 << 20  # of a spec
MANY = 300
SECONDS = 120  # for one command: the pair takes 9 s where nothing else runs

HEAD = """\
# yaml-language-server: $schema=jobspec-v1.schema.json
version: 1
name: {name}
description: a job as people write it
labels: {{team: vision, ticket: 1234}}
entrypoint: [./train, --epochs, 5, --shard, "%{{rank}}"]
world_size: 16
nodes: 2
device: cuda
parallelism:
  model: 2
  pipeline: 2
  data: auto
backends: {{default: nccl, pipeline: gloo}}
threads: 8
redirects: "0:3,1-7:err"
console:
  prefix: "[%{{rank}}] "
  ranks: 0-3,8
timeouts:
  run: 12h
  stop_grace: 45s
log_dir: runs
"""
TAIL = """\
results:
  equal: [weights_sha]
  fields:
    weights_sha: {type: string, pattern: "^[0-9a-f]+$"}
"""
VARIABLE = "  SETTING_{i}: \"value {i} of this spec\"\n"
FIELD = "    metric_{i}: {{type: number, min: 0, max: {i}.5}}\n"


def spec(name, variables, fields):
    return "".join([
        HEAD.format(name=name), "env:\n",
        *(VARIABLE.format(i=i) for i in range(variables)), TAIL,
        *(FIELD.format(i=i) for i in range(fields))])


def lines_100():
    text = spec("hundred", 36, 36)
    assert len(text.splitlines()) == 100, len(text.splitlines())
    return text


def largest():
    """Just below the limit of bytes, and not far from that of nodes."""
    fields = 6600
    while len(spec("large", 3 * fields, fields)) >= LIMIT_BYTES:
        fields -= 10
    return spec("large", 3 * fields, fields)


class Bench:
    def __init__(self, build, runs, folder):
        self.jobrun = str(build / "jobrun")
        self.libyaml = str(build / "tests" / "bench" / "bench_parse_yaml")
        self.runs, self.folder = runs, folder

    def pair(self, files):
        """Both tools in one shell, as a CI step has them."""
        tools = {"yamllint": ["yamllint", "-d", "relaxed"],
                 "check-jsonschema": ["check-jsonschema", "--schemafile",
                                      str(SCHEMA)]}
        missing = [tool for tool in tools if not shutil.which(tool)]
        if missing:
            return f"{' and '.join(missing)}: {common.NOT_INSTALLED}"
        return ["sh", "-c", " && ".join(
            shlex.join([*command, *files]) + " >/dev/null"
            for command in tools.values())]

    def row(self, what, name, texts):
        folder = self.folder / name
        folder.mkdir()
        for i, text in enumerate(texts):
            (folder / f"{i:03}.jobrun.yaml").write_text(text)
        files = [str(path) for path in sorted(folder.iterdir())]
        words = [str(folder)] if len(files) > 1 else files
        commands = {
            "bare libyaml": [self.libyaml, *files],
            "jobrun validate": [self.jobrun, "validate", *words],
            "yamllint + check-jsonschema": self.pair(files),
        }
        values = common.in_turns(
            commands, self.runs,
            lambda c: common.run(c, self.folder, limit=SECONDS))
        common.table(what, "ms", values, cpu=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=str(common.REPOSITORY / "build"))
    parser.add_argument("--runs", type=int, default=9)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="jobrun-bench-") as folder:
        bench = Bench(pathlib.Path(options.build).resolve(), options.runs,
                      pathlib.Path(folder))
        print(f"{common.machine()}; medians of {options.runs} runs, in turns")
        bench.row("one spec of 100 lines", "one", [lines_100()])
        bench.row(f"{MANY} specs of 100 lines", "many", [lines_100()] * MANY)
        large = largest()
        bench.row(f"one spec of {len(large)} bytes, "
                  f"{len(large.splitlines())} lines", "large", [large])


if __name__ == "__main__":
    main()
