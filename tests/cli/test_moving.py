"""docs/from-*.md: what they show works, and no option of an origin is left out.

A block of code with `file=NAME` is that file; the lines of `console` blocks that
begin with "$ " are run beside the files of their page, and end with 0. A block
with `needs=MODULE` is run where Python has the module and LONG is set.
"""
import os
import pathlib
import re
import subprocess
import sys

import harness

DOCS = pathlib.Path(__file__).parents[2] / "docs"
SUPPORT = pathlib.Path(harness.JOBRUN).parent / "support" / "python"
PYTHON = os.environ.get("INTERPRETER", sys.executable)
LONG = "LONG" in os.environ
BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.M | re.S)

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
    "from-multiprocessing": """
        func args nprocs master_addr master_port set_start_method free_port
        WorkerError MainProcessError join daemon start_method grace_period
        exitcode terminate kill get_context set_forkserver_preload
        start_processes pids set_executable is_alive pid name
        parent_process current_process active_children freeze_support
        Process target kwargs start Queue Pipe Manager Lock Barrier Value Array
        Pool map apply""",
}


class Moving(harness.Case):
    def blocks(self, page):
        """(language, attributes, text) of every block of code."""
        text = (DOCS / (page + ".md")).read_text()
        for language, words, body in BLOCK.findall(text):
            yield language, dict(word.split("=") for word in words.split()), \
                body

    def environment(self):
        path = os.pathsep.join([str(pathlib.Path(harness.JOBRUN).parent),
                                str(pathlib.Path(PYTHON).parent),
                                os.environ["PATH"]])
        return harness.clean_environment(PATH=path, PYTHONPATH=str(SUPPORT))

    def run_line(self, line):
        done = subprocess.run(
            ["/bin/sh", "-c", line], cwd=self.folder, text=True,
            env=self.environment(), stdin=subprocess.DEVNULL,
            capture_output=True, timeout=300)
        self.expect(done, 0)

    def has(self, module):
        return subprocess.run([PYTHON, "-c", "import " + module],
                              stdin=subprocess.DEVNULL,
                              capture_output=True).returncode == 0

    def has_torchrun(self):
        """Some are older than the Python that they come with, and fail."""
        self.write("nothing.py", "")
        return subprocess.run(
            ["torchrun", "--standalone", "--nproc_per_node=1", "nothing.py"],
            cwd=self.folder, env=self.environment(), stdin=subprocess.DEVNULL,
            capture_output=True, timeout=300).returncode == 0

    def follow(self, page):
        """Write a page's files and run its lines; how many were run."""
        lines, left_out = 0, set()
        for language, words, body in self.blocks(page):
            if language == "python":
                compile(body, page, "exec")
            if "file" in words:
                self.write(words["file"], body)
            if language != "console":
                continue
            if "needs" in words and not (LONG and self.has(words["needs"])):
                left_out.add(words["needs"])
                continue
            for line in body.splitlines():
                if line.startswith("$ torchrun") and LONG and \
                        not self.has_torchrun():
                    left_out.add("torchrun that works with it")
                    continue
                if line.startswith("$ ") and (not LONG or "needs" in words):
                    with self.subTest(page=page, line=line):
                        self.run_line(line[2:])
                    lines += 1
        return lines, left_out

    def check(self, page):
        lines, left_out = self.follow(page)
        if LONG and left_out:
            self.skipTest("%s has no %s" % (PYTHON, ", ".join(left_out)))
        self.assertTrue(LONG or lines > 0)

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
