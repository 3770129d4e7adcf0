"""`jobrun new`: starters, and the translation of other launchers' lines.

new/translations.txt holds command lines behind "$ " ("> " where they go on) and
the spec that each becomes, without its modeline.
"""
import json
import os
import pathlib
import re
import subprocess

import harness

GOLDEN = pathlib.Path(__file__).with_name("new") / "translations.txt"
# A schema of a build that had another field; its title says what it is.
EARLIER = '{"title": "jobrun job spec, version 1", "type": "object"}\n'
MODELINE = "# yaml-language-server: $schema=jobspec-v1.schema.json\n"
KINDS = ("minimal", "torch", "python", "mpi", "slurm", "mesh")
LAUNCHERS = {  # the name for --help: words that begin its lines
    "torchrun": ("torchrun", "torch.distributed.run"),
    "torch.distributed.launch": ("torch.distributed.launch",),
    "accelerate launch": ("accelerate",),
    "srun": ("srun",),
    "mpirun": ("mpirun", "mpiexec", "orterun"),
    "paddle.distributed.launch": ("paddle.distributed.launch", "fleetrun"),
    "deepspeed": ("deepspeed",),
    "horovodrun": ("horovodrun",),
}

WRONG = [  # line, what is said of it
    ("", "does not begin with a known launcher: torchrun, "),
    ("# only a comment", "does not begin with a known launcher"),
    ("ls -l", "does not begin with a known launcher"),
    ("python3 train.py", "does not begin with a known launcher"),
    ("python3 -m http.server", "does not begin with a known launcher"),
    ("accelerate config", "does not begin with a known launcher"),
    ("FOO=1", "does not begin with a known launcher"),
    ("=1 torchrun train.py", "does not begin with a known launcher"),
    ("1A=1 torchrun train.py", "does not begin with a known launcher"),
    ("cd here && torchrun train.py", "does not begin with a known launcher"),
    ("| torchrun train.py", "does not begin with a known launcher"),
    ("torchrun", "names no program"),
    ("srun -n 4", "names no program"),
    ("srun -n 4 torchrun", "names no program"),
    ("mpirun -np 2 : ./io", "names no program"),
    ("torchrun --standalone --", "names no program"),
    ("torchrun --nnodes", "'--nnodes': this wants a value"),
    ("srun -n", "'-n': this wants a value"),
    ("mpirun -mca btl", "'-mca': this wants a value"),
    ("torchrun --standalone=1 train.py", "'--standalone': this wants no value"),
    ("torchrun --nproc-per-node 0 train.py",
     "'--nproc-per-node 0': this wants an integer of at least 1"),
    ("torchrun --nproc-per-node x train.py", "an integer of at least 1"),
    ("torchrun --nproc-per-node -1 train.py", "an integer of at least 1"),
    ("torchrun --nnodes 1:2:3 train.py", "this wants N or MIN:MAX"),
    ("torchrun --nnodes 2: train.py", "an integer of at least 1"),
    ("torchrun --node-rank=-1 train.py", "an integer of at least 0"),
    ("torchrun --master-port 65536 train.py", "an integer from 0 to 65535"),
    ("torchrun --master-addr 'a b' train.py", "a host name or an address"),
    ("torchrun --rdzv-endpoint a:b train.py", "an integer from 0 to 65535"),
    ("torchrun -r 4 train.py", "this wants 0, 1, 2, 3, or RANK:STREAMS"),
    ("torchrun -t 0:4 train.py", "this wants 0, 1, 2, 3, or RANK:STREAMS"),
    ("torchrun -t 0:1,:2 train.py", "this wants 0, 1, 2, 3, or RANK:STREAMS"),
    ("torchrun -t 0:1, train.py", "this wants 0, 1, 2, 3, or RANK:STREAMS"),
    ("torchrun --log-line-prefix-template '${x}' train.py",
     "and no other words with a dollar"),
    ("torchrun --shutdown-timeout soon train.py", "a number of seconds"),
    ("torchrun --nnodes 2 --standalone --node-rank 3 train.py", "contradicts"),
    ("torchrun 'train.py", "has an open single quote"),
    ('torchrun "train.py', "has an open double quote"),
    ("torchrun $(pwd", "has an open $("),
    ("torchrun `pwd", "has an open `"),
    ("torchrun ${HOME", "has an open ${"),
    (b"torchrun \xff.py", "the line is not UTF-8"),
    ("accelerate launch --num_processes many train.py", "at least 1"),
    ("accelerate launch --gpu_ids 0,,1 train.py", "indices or UUIDs"),
    ("accelerate launch --num_processes 6 --megatron_lm_tp_degree 4 train.py",
     "the line contradicts itself"),
    ("srun -n 1k ./a", "an integer of at least 1"),
    ("srun -N 4 -n 2 ./a", "cannot be distributed"),
    ("srun -t soon ./a", "this wants minutes, or [D-]H:M:S"),
    ("srun -t 1:2:3:4 ./a", "this wants minutes, or [D-]H:M:S"),
    ("srun -t x-1 ./a", "this wants minutes, or [D-]H:M:S"),
    ("srun -J 'no name' ./a", "letters, digits, '.', '_' and '-'"),
    ("srun --export=ALL,A.B=1 ./a", "'A.B=1': this wants the name of a"),
    ("mpirun -x =1 ./a", "'-x =1': this wants the name of a variable"),
    ("mpirun -mca 'a[0]' 1 ./a", "this wants the name of a variable"),
    ("mpirun -np two ./a", "an integer of at least 1"),
    ("mpirun -host a:x ./a", "an integer of at least 1"),
    ("mpirun -timeout 1h ./a", "a number of seconds"),
    ("fleetrun", "names no program"),
    ("fleetrun --nnodes 2: train.py", "an integer of at least 1"),
    ("fleetrun --gpus 0,,1 train.py", "indices or UUIDs"),
    ("deepspeed --num_gpus all train.py", "an integer of at least 1"),
    ("deepspeed -i localhost: train.py", "indices or UUIDs"),
    ("horovodrun -np x python train.py", "an integer of at least 1"),
    ("horovodrun -np 2 --fusion-threshold-mb big python train.py",
     "a number of megabytes"),
]

ARGUMENTS = [  # as typed behind the program
    r"a 'b c' \"d\" e\ f ''",
    r"--x=1 --y='*' \* '~' 010 yes 1e3 null '???' auto - --",
    r""""it's" '"' "a\"b\\c\d" 'a'"b"c""",
    "%{rank} '%%{x}' '%' 100%",
    "'${keep}' '$(keep)' '`keep`' \\$HOME 'x' \"y\"",
    "\"$DATA/x\" ${DATA}/y $DATA pre-$DATA-post",
    "\"$(echo sub; echo two)\" $(echo a b) `echo c`",
    "*.none [xyz] ?? ~/x a~b",
    "two\\\nlines \\\n more",
    "'a\nb' tail",
    "# not an argument",
    "a#b '# c'",
    "é '漢字' \"\t\"",
    "$ a$ '$' \"$\"",
]

HOSTFILES = {  # a name: what stands in it
    "openmpi": "# two\n\nnode1 slots=4 max_slots=8\nnode2 slots = 2  # small\n",
    "mpich": "node1:4 binding=user:0,1\nnode2:2\n",
    "hydra": "node1\r\nnode2\r\n",
    "pbs": "node1\nnode1\nnode2\n",
    "sge": "node1 4 all.q@node1 UNDEFINED\nnode2\t2\n",
    "deepspeed": "bob@node1 slots=8\nnode2 slots=8\nnode3 slots=8",
    "addresses": "fe80::1 slots=1\n10.0.0.2:1\n",
    "rankfile": "rank 0=node1 slot=1\n",
    "number": "node1\nnode2 slots=x\n",
    "odd": "node 1,node2\n",
    "empty": "# none\n",
}
HOSTS_READ = [  # a line, and what the spec has of hosts and ranks
    ("mpirun --hostfile openmpi ./a", ["local_world_size: [4, 2]",
                                       "hosts: [node1, node2]"]),
    ("mpirun -np 4 -hostfile openmpi ./a", ["world_size: 4",
                                            "local_world_size: [4]",
                                            "hosts: [node1]"]),
    ("mpirun --hostfile openmpi -N 1 ./a", ["local_world_size: 1",
                                            "hosts: [node1, node2]"]),
    ("mpirun -npernode 1 --hostfile openmpi ./a", ["local_world_size: 1",
                                                   "hosts: [node1, node2]"]),
    ("mpiexec.hydra -f mpich ./a", ["local_world_size: [4, 2]",
                                    "hosts: [node1, node2]"]),
    ("mpiexec.hydra -n 2 -f hydra ./a", ["world_size: 2",
                                         "hosts: [node1, node2]"]),
    ("mpirun -machinefile pbs ./a", ["local_world_size: [2, 1]",
                                     "hosts: [node1, node2]"]),
    ("mpirun -machinefile ./sge ./a", ["local_world_size: [4, 2]",
                                       "hosts: [node1, node2]"]),
    ("srun -w ./hydra ./a", ["hosts: [node1, node2]"]),
    ("horovodrun -np 3 -hostfile pbs python t.py", [
        "world_size: 3", "local_world_size: [2, 1]", "hosts: [node1, node2]"]),
    ("deepspeed --hostfile deepspeed t.py", ["local_world_size: [8, 8, 8]",
                                             "hosts: [node1, node2, node3]"]),
    ("deepspeed -H deepspeed --num_nodes 2 --num_gpus 4 t.py", [
        "local_world_size: 4", "nodes: 2", "hosts: [node1, node2]"]),
    ("deepspeed -H deepspeed -i node3@node1 t.py", [
        "local_world_size: [8, 8]", "hosts: [node1, node3]"]),
    ("deepspeed -e node2 -H deepspeed t.py", ["local_world_size: [8, 8]",
                                              "hosts: [node1, node3]"]),
    ("accelerate launch --deepspeed_hostfile deepspeed t.py", [
        "local_world_size: [8, 8, 8]", "hosts: [node1, node2, node3]"]),
    ("mpirun -hostfile addresses ./a", ["local_world_size: [1, 1]",
                                        'hosts: [fe80::1, "10.0.0.2"]']),
]
HOSTS_UNREAD = [  # a file, and why nothing of it is in the spec
    ("none", "none: cannot open: No such file or directory"),
    (".", ".: is a folder, not a regular file"),
    ("rankfile", "line 1 of rankfile is not one of a hostfile"),
    ("number", "line 2 of number is not one of a hostfile"),
    ("odd", "line 1 of odd is not one of a hostfile"),
    ("empty", "empty names no host"),
]

SHOW = """#!/usr/bin/env python3
import json, os, sys
with open(os.environ["SHOWN"], "w") as file:
    json.dump(sys.argv[1:], file)
"""


def read_golden():
    """[(line, spec)] in the order of the file."""
    pairs = []
    for block in re.split(r"^\$ ", GOLDEN.read_text(), flags=re.M)[1:]:
        lines = block.split("\n")
        count = next(i for i, line in enumerate(lines[1:], 1)
                     if not line.startswith("> "))
        line = "\n".join([lines[0]] + [x[2:] for x in lines[1:count]])
        pairs.append((line, "\n".join(lines[count:]).rstrip("\n") + "\n"))
    return pairs


def notes(spec):
    """What the comments of a translation say, by their heading."""
    told, heading = {}, None
    for line in spec.split("\n"):
        if not line.startswith("#"):
            break
        if line.startswith("#       "):
            told[heading][-1] += " " + line[8:]
        elif line.startswith("#   "):
            told[heading].append(line[4:])
        elif line.endswith(":"):
            heading = line[2:-1]
            told[heading] = []
    return told


def fold(word):
    return word.lstrip("-").replace("_", "-")


class Starters(harness.Case):
    def starter(self, *words):
        return self.expect(self.jobrun("new", *words), 0).stdout

    def test_help_lists_them_all(self):
        told = self.expect(self.jobrun("new", "--help"), 0).stdout
        listed = told[told.index("\nkinds:\n"):].split("\n\n")[0]
        self.assertEqual(tuple(re.findall(r"^  (\w+) ", listed, re.M)), KINDS)

    def test_default_is_the_first(self):
        self.assertEqual(self.starter(), self.starter("minimal"))

    def test_each_is_valid_as_printed(self):
        for kind in KINDS:
            with self.subTest(kind):
                path = self.write(f"{kind}.yaml", self.starter(kind))
                self.expect(self.jobrun("validate", "--strict", path), 0)

    def test_each_is_valid_with_what_it_suggests(self):
        suggestion = re.compile(r"^# ( *(?!auto|entrypoint)[a-z_]+:( .*)?)$",
                                re.M)
        suggested = 0
        for kind in KINDS:
            with self.subTest(kind):
                text, count = suggestion.subn(r"\1", self.starter(kind))
                suggested += count
                path = self.write(f"{kind}.yaml", text)
                self.expect(self.jobrun("validate", path), 0)
        self.assertGreater(suggested, 10)

    def test_every_field_is_explained(self):
        for kind in KINDS:
            lines = self.starter(kind).split("\n")
            self.assertEqual(lines[0] + "\n", MODELINE)
            for before, line in zip(lines, lines[1:]):
                with self.subTest(kind, line=line):
                    self.assertNotIn("#?", line)
                    self.assertLessEqual(len(line), 80)
                    if re.match(r"[a-z]", line) and line[-1] != ":":
                        self.assertTrue("  # " in line
                                        or before.startswith("# "))

    def test_help_texts_are_the_fields_own(self):
        told = self.expect(self.jobrun("explain", "world_size"), 0).stdout
        help_text = told.split("\n")[0].split(": ", 1)[1]
        self.assertIn(f"# {help_text}\n", self.starter("torch"))

    def test_minimal_runs(self):
        path = self.folder / "hello.jobrun.yaml"
        self.starter("minimal", "-o", path)
        done = self.expect(self.jobrun(path), 0)
        self.assertIn("[0] rank 0 of ", done.stdout)

    def test_python_runs_with_what_it_shows(self):
        path = self.folder / "train.jobrun.yaml"
        self.starter("python", "-o", path)
        shown = re.findall(r"^#   (.*)$", path.read_text(), re.M)
        self.write("train.py", "\n".join(shown))
        self.expect(self.jobrun(path), 0)
        self.assertEqual([r["result"] for r in self.results()["ranks"]],
                         [{"loss": 0.5}] * 2)

    def test_output_is_a_new_file(self):
        path = self.folder / "new.yaml"
        done = self.expect(self.jobrun("new", "mpi", "-o", path), 0)
        self.assertEqual(done.stdout, "")
        self.assertEqual(path.read_text(), self.starter("mpi"))
        done = self.expect(self.jobrun("new", "-o", path), 2)
        self.assertIn("already exists", done.stderr)
        self.assertEqual(path.read_text(), self.starter("mpi"))
        done = self.expect(
            self.jobrun("new", "-o", self.folder / "none" / "x"), 7)
        self.assertIn("No such file or directory", done.stderr)

    def test_the_schema_is_where_the_first_line_points(self):
        """Once in each folder, and told; a link in the folder is none of ours."""
        (self.folder / "my specs").mkdir()
        schema = self.folder / "my specs/jobspec-v1.schema.json"
        for name, words, told in (
                ("a", ["torch"], "jobrun: wrote my specs/jobspec-v1.schema.json, "
                 "by which editors check my specs/a.jobrun.yaml\n"),
                ("b", ["--from", "srun ./train"], "")):
            path = f"my specs/{name}.jobrun.yaml"
            done = self.expect(self.jobrun("new", *words, "-o", path), 0)
            self.assertEqual((done.stdout, done.stderr), ("", told))
            first = (self.folder / path).read_text().partition("\n")[0]
            self.assertEqual(first.partition("$schema=")[2], schema.name)
            self.assertEqual(schema.read_text(),
                             self.expect(self.jobrun("schema"), 0).stdout)
        self.assertEqual(json.loads(schema.read_text())["$id"], schema.name)

    def test_a_file_that_is_there_is_left_alone(self):
        schema = self.folder / "jobspec-v1.schema.json"
        for i, (text, told) in enumerate((
                (EARLIER, "is of another build of jobrun; to replace it, type: "
                 "jobrun schema -o jobspec-v1.schema.json"),
                ("mine\n", "is no schema of jobrun, and was not changed"))):
            schema.write_text(text)
            done = self.expect(self.jobrun("new", "-o", f"{i}.yaml"), 0)
            self.assertIn(told, done.stderr)
            self.assertEqual(schema.read_text(), text)
        schema.unlink()
        schema.symlink_to("nowhere")
        done = self.expect(self.jobrun("new", "-o", "link.yaml"), 0)
        self.assertIn("is no schema of jobrun, and was not changed", done.stderr)
        self.assertFalse((self.folder / "nowhere").exists())

    def test_schema_writes_a_file_of_its_own(self):
        """New, again, and in place of an earlier one by a link, whose mode is
        kept; whatever else is there stays."""
        text = self.expect(self.jobrun("schema"), 0).stdout
        path = self.folder / "a b/s.json"
        path.parent.mkdir()
        for _ in range(2):
            done = self.expect(self.jobrun("schema", "-o", "a b/s.json"), 0)
            self.assertEqual((done.stdout, done.stderr), ("", ""))
            self.assertEqual(path.read_text(), text)
        path.write_text(EARLIER)
        path.chmod(0o640)
        (self.folder / "link").symlink_to(path)
        self.expect(self.jobrun("schema", "-o", "link"), 0)
        self.assertTrue((self.folder / "link").is_symlink())
        self.assertEqual((path.read_text(), path.stat().st_mode & 0o7777),
                         (text, 0o640))
        self.assertEqual(os.listdir(path.parent), ["s.json"])
        path.write_text("{}")
        for name, code, said in (
                ("link", 2, "link already exists and is no schema of jobrun"),
                ("a b", 2, "a b already exists and is no schema of jobrun"),
                ("none/s.json", 7, "No such file or directory")):
            done = self.expect(self.jobrun("schema", "-o", name), code)
            self.assertIn(said, done.stderr)
        self.assertEqual(path.read_text(), "{}")

    def test_wrong_words(self):
        for words, said in [
                (["tiny"], "there are minimal, torch, python, mpi, slurm, "
                           "mesh"),
                (["torch", "mpi"], "jobrun new [KIND]"),
                (["torch", "--from", "srun ./a"], "not both"),
                (["--", "srun"], "jobrun new [KIND]")]:
            with self.subTest(words):
                done = self.expect(self.jobrun("new", *words), 2)
                self.assertIn(said, done.stderr)
                self.assertEqual(done.stdout, "")


class Translation(harness.Case):
    def translate(self, line, code=0):
        return self.expect(self.jobrun("new", "--from", line), code)

    def test_wrong_lines(self):
        for line, said in WRONG:
            with self.subTest(line):
                if isinstance(line, bytes):
                    line = line.decode("utf-8", "surrogateescape")
                done = self.translate(line, 2)
                self.assertIn(said, done.stderr)
                self.assertEqual(done.stdout, "")

    def test_golden_lines(self):
        golden = read_golden()
        self.assertGreater(len(golden), 70)
        for line, spec in golden:
            with self.subTest(line):
                done = self.translate(line)
                modeline, comment, rest = done.stdout.split("\n", 2)
                self.assertEqual(modeline + "\n", MODELINE)
                self.assertEqual(rest, spec)
                self.assertNotIn("hush", done.stdout + done.stderr)
                self.compare_told(done.stderr, notes(spec))

    def compare_told(self, stderr, told):
        """What is lost or changed is on standard error, too."""
        expected = []
        for heading, words in (("without a counterpart", "has no counterpart"),
                               ("not quite the same", "is not quite the same")):
            for note in told.get(heading, []):
                expected.append((words, note))
        said = []
        for line in stderr.splitlines():
            words = re.search(r"' (has no counterpart|is not quite the same): ",
                              line)
            said.append((words[1], line[len("jobrun: '"):words.start()] + ": "
                         + line[words.end():]))
        self.assertEqual(sorted(said), sorted(expected))

    def test_golden_specs_are_valid(self):
        for i, (line, spec) in enumerate(read_golden()):
            self.write(f"specs/{i}.jobrun.yaml", f"# {line!r}\n{spec}")
        self.expect(self.jobrun("validate", self.folder / "specs"), 0)

    def rows(self, name):
        """[(names, what becomes of them)] as --help lists a launcher's."""
        prefix = "python -m " if name.startswith("torch.") else ""
        told = self.translate(f"{prefix}{name} --help").stdout
        found = re.findall(r"^  (-\S.*(?:\n  -\S.*)*)\n      (.*)", told, re.M)
        self.assertGreater(len(found), 10)
        return [(re.sub(r"\[=VALUE\]|( NAME)? VALUE$", "", names), becomes)
                for names, becomes in found]

    def test_every_row_is_exercised(self):
        used, becomes = {}, {}  # by the names of the row
        lines = [re.split(r"\s+", line) for line, _ in read_golden()]
        for name, begins in LAUNCHERS.items():
            words = {word for line in lines for word in line
                     if any(first.split("/")[-1].startswith(begins)
                            for first in line)}
            for names, text in self.rows(name):
                used[names] = used.get(names) or self.is_used(names.split(),
                                                              words)
                becomes[names] = text.strip()
        self.assertEqual([names for names in used if not used[names]], [])
        self.assertEqual([names for names in used if not becomes[names]], [])

    @staticmethod
    def is_used(names, used):
        used = [word for word in used if word.startswith("-")]
        for name in names:
            bare = fold(name)
            for word in used:
                if fold(word.split("=")[0]) == bare:
                    return True
                if bare.endswith("*") and fold(word).startswith(bare[:-1]):
                    return True
                if re.fullmatch(r"-[A-Za-z]", name) and word.startswith(name):
                    return True
        return False

    def test_help_names_what_becomes_of_an_option(self):
        told = self.translate("torchrun --help").stdout
        self.assertIn("  --nproc-per-node VALUE\n      local_world_size\n",
                      told)
        self.assertIn("  --rdzv-conf VALUE\n      without a counterpart: ",
                      told)
        told = self.translate("horovodrun --help").stdout
        self.assertIn("  --cache-capacity VALUE\n      env.HOROVOD_CACHE_CAPACITY\n", told)
        self.assertNotIn("without a counterpart\n", told)

    def test_arguments_arrive_as_a_shell_would_have_them(self):
        show = self.write("show", SHOW)
        show.chmod(0o755)
        shown = self.folder / "shown.json"
        env = {"SHOWN": str(shown), "DATA": "/some where", "HOME": "/nowhere"}
        for arguments in ARGUMENTS:
            with self.subTest(arguments):
                subprocess.run(["sh", "-c", f"./show {arguments}"], check=True,
                               cwd=self.folder, timeout=harness.LIMIT,
                               env=harness.clean_environment(**env))
                expected = json.loads(shown.read_text())
                shown.unlink()
                spec = self.translate("torchrun --no-python ./show "
                                      + arguments).stdout
                path = self.write("show.jobrun.yaml", spec)
                self.expect(self.jobrun(path, env=env), 0)
                self.assertEqual(json.loads(shown.read_text()), expected)

    def hosts_of(self, spec):
        """What the spec says of hosts and ranks, without where it is from."""
        return [line.partition("  #")[0] for line in spec.split("\n")
                if re.match(r"(world_size|local_world_size|nodes|hosts):", line)]

    def test_a_hostfile_that_is_here_is_read(self):
        for name, text in HOSTFILES.items():
            self.write(name, text)
        for i, (line, hosts) in enumerate(HOSTS_READ):
            with self.subTest(line):
                done = self.translate(line)
                self.assertEqual(self.hosts_of(done.stdout), hosts)
                ssh = not line.startswith("srun")
                self.assertEqual("\n  ssh: {}\n" in done.stdout, ssh)
                path = self.write(f"{i}.jobrun.yaml", done.stdout)
                self.expect(self.jobrun("validate", path), 0)

    def test_a_hostfile_that_cannot_be_read_is_told(self):
        for name, text in HOSTFILES.items():
            self.write(name, text)
        for name, why in HOSTS_UNREAD:
            for line in (f"mpirun --hostfile {name} ./a",
                         f"deepspeed --hostfile {name} t.py"):
                with self.subTest(line):
                    done = self.translate(line)
                    self.assertIn(f"' has no counterpart: {why}", done.stderr)
                    self.assertIn("write its hosts into `hosts: [a, b]`",
                                  done.stderr)
                    self.assertEqual(self.hosts_of(done.stdout), [])

    def test_the_hosts_of_a_file_for_a_spec_of_ones_own(self):
        """The line that `--hostfile` is answered with, as a shell reads it."""
        self.write("job.yaml", "version: 1\nentrypoint: ['true']\n")
        for name in ("openmpi", "mpich", "hydra", "pbs", "sge"):
            with self.subTest(name):
                self.write(name, HOSTFILES[name].replace("\r", ""))
                done = self.jobrun("plan", "job.yaml", "--hostfile", name)
                line = self.expect(done, 2).stderr.splitlines()[1].strip()
                self.assertRegex(line, r"^jobrun plan job.yaml --hosts ")
                read = subprocess.run(
                    ["sh", "-c", line.replace("jobrun plan", "echo")],
                    cwd=self.folder, capture_output=True, text=True, check=True,
                    timeout=harness.LIMIT)
                self.assertEqual(read.stdout, "job.yaml --hosts node1,node2\n")

    def test_nothing_is_executed_or_expanded(self):
        for line in ("torchrun $(touch ran) train.py", "torchrun `touch ran`",
                     "X=$(touch ran) torchrun train.py",
                     "torchrun --nnodes $(touch ran) train.py; touch ran"):
            with self.subTest(line):
                self.assertNotIn("ran\n", self.translate(
                    line + " train.py").stdout.replace("touch ran", ""))
                self.assertFalse((self.folder / "ran").exists())


if __name__ == "__main__":
    harness.main()
