"""docs/from-*.md: what they show works, and no option of an origin is left out.

Every block of code of these pages is executed, and says after its language how:

- `file=NAME` is that file. A Python file has to be run to its end, and a YAML
  file to be launched, by the lines of the page.
- `parent` is a YAML file that others extend: each has to be taken in by a line.
- `console` has lines that begin with "$ " and are run beside the files of their
  page; they end with 0.
- `before` is the origin's own code, run by the origin. What its ranks print, or
  it returns, jobrun's lines have to print as well.
- `needs=MODULE` is run where Python has the module and LONG is set.
- `machines=N`, `gpus=N` and `stand-in=NAME` cannot be run as they stand: see
  STAND_INS for what is run instead.
"""
import concurrent.futures
import functools
import os
import pathlib
import re
import subprocess
import sys

import guide
import harness

DOCS = pathlib.Path(__file__).parents[2] / "docs"
SUPPORT = pathlib.Path(harness.JOBRUN).parent / "support" / "python"
PYTHON = os.environ.get("INTERPRETER", sys.executable)
LONG = "LONG" in os.environ
LIMIT = 300  # seconds that a line of a page may take
KINDS = {"console": r"( needs=\w+)?",
         "python": r" (file=[\w./]+( machines=2)?"
                   r"|before (needs=\w+( gpus=2)?|stand-in=\w+))",
         "yaml": r" (file=[\w./]+( machines=2| parent)?"
                 r"|before needs=\w+ file=[\w./]+)"}
# What a page's own code prints of a rank, or of all.
TOLD = re.compile(r"(?:^|\] )(rank \d+ .*|\[\d.*\])$", re.M)

# NVIDIA's launcher is in no package: by what it does to functions, one that is
# like it. It is for the caller's form alone, and proves nothing of NVIDIA's.
LAUNCHER = '''
import multiprocessing, os, socket

def launch(func, args, nprocs, master_addr="localhost", master_port=None):
    if master_port is None:
        with socket.socket() as free:
            free.bind(("", 0))
            master_port = free.getsockname()[1]
    os.environ.update(MASTER_ADDR=master_addr, MASTER_PORT=str(master_port),
                      WORLD_SIZE=str(nprocs))
    workers = []
    for rank in range(nprocs):
        os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank))
        workers.append(multiprocessing.Process(target=func, args=(args,)))
        workers[-1].start()
    for worker in workers:
        worker.join()
    if any(worker.exitcode for worker in workers):
        raise SystemExit(1)
'''
# ml itself is in no package, its successor's first versions are: MISSING is
# what their fields are by default. The world is that of the
# page's line with torch.
ML = '''
import torch, torch.distributed as dist
from mlfab.nn.parallel import MultiProcessConfig, launch_subprocesses
from omegaconf import OmegaConf

def main():
    value = torch.tensor([float(dist.get_rank())])
    dist.all_reduce(value)
    print("rank", dist.get_rank(), "of", dist.get_world_size(), "has",
          value.item())

if __name__ == "__main__":
    config = OmegaConf.create(
        "".join(line for line in open("config.yaml") if "???" not in line))
    config.world_size = 4
    launch_subprocesses(main, OmegaConf.merge(
        OmegaConf.structured(MultiProcessConfig), config))
'''
# MegEngine has groups for GPUs only. Its launcher, server and ranks are the
# same once its list of devices has the CPU.
MEGENGINE = """\
import megengine.distributed.group
megengine.distributed.group._devices.add("cpu")
"""

# The blocks that cannot be run here as they stand, and what is run instead: a
# line of the page's folder, or the same code with other words.
STAND_INS = {
    ("from-torchrun", "two.jobrun.yaml"):
        "jobrun two.jobrun.yaml --local -s device=cpu",
    ("from-megengine", "machines.jobrun.yaml"):
        "jobrun machines.jobrun.yaml --local -s device=cpu",
    ("from-megengine", "second.py"):
        {'"gpu01"': '"127.0.0.1"', '"cuda"': '"cpu", oversubscribe=True',
         '"nccl"': '"gloo"'},
    ("from-megengine", "before"): {'"gpu"': '"cpu"', '"nccl"': '"auto"'},
    ("from-multiprocessing", "before"): {},
}

# The options of each origin: every one has a row.
OPTIONS = {
    "from-torchrun": """
        --nnodes --nproc-per-node --rdzv-backend --rdzv-endpoint --rdzv-id
        --rdzv-conf --standalone --max-restarts --monitor-interval
        --start-method --event-log-handler --role -m --no-python --run-path
        --log-dir -r -t --local-ranks-filter --duplicate-stdout-filters
        --duplicate-stderr-filters --node-rank --master-addr --master-port
        --local-addr --logs-specs --numa-binding --signals-to-handle
        --shutdown-timeout --virtual-local-rank --log-line-prefix-template
        --print-completion PET_*""",
    "from-paddle-spawn": """
        func args nprocs join daemon start_method ips gpus xpus print_config
        backend selected_devices started_port cluster_node_ips node_ip
        use_paddlecloud --master --rank --log_level --nnodes --nproc_per_node
        --log_dir --log_overwrite --sort_ip --enable_gpu_log --run_mode
        --job_id --devices --host --ips --start_port --auto_parallel_config
        --auto_tuner_json --servers --trainers --trainer_num --server_num
        --gloo_port --max_restart --elastic_level --elastic_timeout
        --auto_cluster_config --gpus --xpus --npus --with_gloo --legacy""",
    "from-megengine": """
        n_gpus world_size rank_start master_ip port device_type backend""",
    "from-ml": """
        rank local_rank world_size local_world_size master_addr master_port
        init_method model_parallelism pipeline_parallelism backend
        model_parallel_backend pipeline_parallel_backend
        data_parallel_backend launch_method func setup rank_offset""",
    "from-hydra": """
        key group --config-name --config-path --config-dir --multirun -m --cfg
        --info --package --resolve defaults _self_ optional override _target_
        _global_ oc env run dir chdir name env_set env_copy job_logging
        resolvers launcher sweeper callbacks""",
    "from-multiprocessing": """
        func args nprocs master_addr master_port set_start_method free_port
        WorkerError MainProcessError join daemon start_method grace_period
        exitcode terminate kill get_context set_forkserver_preload
        start_processes pids set_executable is_alive pid name
        parent_process current_process active_children freeze_support
        Process target kwargs start Queue Pipe Manager Lock Barrier Value Array
        Pool map apply""",
}


@functools.lru_cache()
def has(module):
    return subprocess.run([PYTHON, "-c", "import " + module],
                          stdin=subprocess.DEVNULL, timeout=LIMIT,
                          capture_output=True).returncode == 0


class Page:
    """What a page has, and what is known of it once it was followed."""

    def __init__(self, name):
        self.name = name
        self.text = (DOCS / (name + ".md")).read_text()
        self.left_out = set()  # modules
        self.lines = 0         # of consoles, that were run
        self.before = set()    # what origins have told
        self.after = ""        # the output of jobrun's lines

    def blocks(self):
        """(language, attributes, text) of every block of code."""
        return guide.blocks(self.text)


class Moving(harness.Case):
    def environment(self):
        path = os.pathsep.join([str(pathlib.Path(harness.JOBRUN).parent),
                                str(pathlib.Path(PYTHON).parent),
                                os.environ["PATH"]])
        return harness.clean_environment(PATH=path, PYTHONPATH=str(SUPPORT))

    def run_line(self, line):
        """What does not end is stopped, with all that the shell has started."""
        done = subprocess.run(
            ["timeout", "--kill-after=30", str(LIMIT), "/bin/sh", "-c", line],
            cwd=self.folder, text=True, env=self.environment(),
            stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT + 60)
        self.expect(done, 0)
        return done.stdout

    def has_torchrun(self):
        """Some are older than the Python that they come with, and fail."""
        self.write("nothing.py", "")
        return subprocess.run(
            ["torchrun", "--standalone", "--nproc_per_node=1", "nothing.py"],
            cwd=self.folder, env=self.environment(), stdin=subprocess.DEVNULL,
            capture_output=True, timeout=LIMIT).returncode == 0

    def is_left_out(self, page, words):
        if "needs" not in words or (LONG and has(words["needs"])):
            return False
        page.left_out.add(words["needs"])
        return True

    def write_files(self, page):
        """Each Python file leaves a note when it has been run to its end."""
        for language, words, body in page.blocks():
            if language == "python":
                compile(body, page.name, "exec")
            if "file" not in words:
                continue
            if language == "python":
                note = str(self.folder / (words["file"] + ".ran"))
                body += "open(%r, 'w').close()\n" % note
            self.write(words["file"], body)

    def run_before(self, page, language, words, body):
        """The origin's own code, by the origin."""
        replaced = STAND_INS.get((page.name, "before"), {})
        for word, other in replaced.items():
            self.assertIn(word, body)
            body = body.replace(word, other)
        if "stand-in" in words:
            self.write(words["stand-in"] + ".py", LAUNCHER)
        if "gpus" in words:
            body = MEGENGINE + body
        if language == "yaml" and page.name != "from-ml":
            return  # it is there for the page's Python
        self.write("before.py", ML if language == "yaml" else body)
        output = self.run_line("python3 before.py")
        told = set(TOLD.findall(output))
        self.assertTrue(told, output)
        page.before |= told

    def run_here(self, page, name):
        """A file that several machines would run, on this one."""
        here = STAND_INS[page.name, name]
        if isinstance(here, str):
            page.after += self.run_line(here)
            return
        text = (self.folder / name).read_text()
        for word, other in here.items():
            self.assertIn(word, text)
            text = text.replace(word, other)
        self.write(name, text)
        self.write("first.py", text.replace("rank_start=2", "rank_start=0"))
        with concurrent.futures.ThreadPoolExecutor() as pool:
            told = pool.map(self.run_line, ["python3 first.py",
                                            "python3 " + name])
            page.after += "".join(told)

    def run_console(self, page, words, body):
        for line in body.splitlines():
            if not line.startswith("$ "):
                continue
            if line.startswith("$ torchrun"):
                if not self.has_torchrun():
                    page.left_out.add("torchrun that works with it")
                    continue
                # Its ranks share a pipe without buffers of their own, so that
                # a line may begin before the end of another one.
                told = re.sub(r"(?<=\S)(?=rank \d)", "\n",
                              self.run_line(line[2:]))
                page.before |= set(TOLD.findall(told))
                continue
            with self.subTest(page=page.name, line=line):
                page.after += self.run_line(line[2:])
            page.lines += 1

    def follow(self, page):
        """Write a page's files and run its blocks, in their order."""
        self.write_files(page)
        for language, words, body in page.blocks():
            if self.is_left_out(page, words):
                continue
            if language == "console":
                self.run_console(page, words, body)
            elif "before" in words:
                self.run_before(page, language, words, body)
        for (name, file) in STAND_INS:
            needs = {"from-megengine": "megengine"}.get(name)
            if name == page.name and file != "before" and \
                    needs not in page.left_out:
                self.run_here(page, file)

    def check(self, name):
        page = Page(name)
        self.follow(page)
        self.assertEqual(page.before - set(TOLD.findall(page.after)), set())
        self.assertGreater(page.lines, 0)
        if page.left_out and LONG:
            self.skipTest("%s has no %s"
                          % (PYTHON, ", ".join(sorted(page.left_out))))
        if not page.left_out:
            for language, words, _ in page.blocks():
                if language == "python" and "file" in words:
                    note = words["file"] + ".ran"
                    self.assertTrue((self.folder / note).exists(), note)

    def test_every_block_is_of_a_known_kind(self):
        """None is passed over, and each file is for a line to use."""
        marked = set()
        for path in sorted(DOCS.glob("from-*.md")):
            page = Page(path.stem)
            self.assertIn(page.name, OPTIONS)
            blocks = list(page.blocks())
            fences = guide.FENCE.findall(page.text)
            self.assertEqual(len(fences), 2 * len(blocks), page.name)
            for language, words, _ in guide.BLOCK.findall(page.text):
                self.assertIn(language, KINDS, page.name)
                self.assertRegex(words, "^(%s)$" % KINDS[language], page.name)
            for language, words, body in blocks:
                if language == "console":
                    self.assertRegex(body, r"^(\$ .*\n)+$")
                elif {"machines", "gpus", "stand-in"} & set(words):
                    marked.add((page.name, words.get("file", "before")))
                elif "parent" in words:
                    self.assertRegex(page.text, r"(?m)^(\$ jobrun .*=|extends:"
                                     r".*: )%s\b" % re.escape(words["file"]))
                elif language == "yaml" and "before" not in words:
                    self.assertRegex(page.text, r"(?m)^\$ jobrun (run )?%s"
                                     % re.escape(words["file"]), page.name)
        self.assertEqual(marked, set(STAND_INS))

    def test_torchrun(self):
        self.check("from-torchrun")

    def test_paddle(self):
        self.check("from-paddle-spawn")

    def test_megengine(self):
        self.check("from-megengine")

    def test_ml(self):
        self.check("from-ml")

    def test_multiprocessing(self):
        self.check("from-multiprocessing")

    def test_hydra(self):
        self.check("from-hydra")

    def test_every_option_has_a_row(self):
        for page, options in OPTIONS.items():
            text = (DOCS / (page + ".md")).read_text()
            first = " ".join(line.split("|")[1] for line in text.splitlines()
                             if line.startswith("| "))
            words = set(re.findall(r"[\w*-]+", first))
            self.assertEqual(set(options.split()) - words, set(), page)

    def test_every_argument_of_launch_is_told(self):
        sys.path.insert(0, str(SUPPORT))
        from jobrun import _launch
        text = (DOCS / "from-multiprocessing.md").read_text()
        told = set(re.findall(r"`([\w]+)[`(]", text))
        words = {word for words in _launch._NAMES.values() for word in words}
        words |= {field for field in _launch._NAMES if "." not in field}
        self.assertEqual(words - told, set())


if __name__ == "__main__":
    harness.main()
