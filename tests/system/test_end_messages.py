"""What a person is told of each kind of end, word for word."""
import re
import shlex
import signal
import sys
import textwrap

import harness
from test_detached_runs import Case as Supervised

# What is not the same twice, and what stands for it here.
CHANGES = ((r"\d+ ms|\d+\.\d s", "TIME"), (r"pid \d+", "pid N"),
           (r"runs/\d{8}-\d{6}-t-[0-9a-f]+", "runs/ID"),
           (r"node 0 \([^)]*\)", "node 0 (HOST)"))


class Told(Supervised):
    maxDiff = None

    def spec(self, script, more=""):
        self.write("t.jobrun.yaml",
                   "version: 1\nname: t\nworld_size: 2\ndevice: cpu\n"
                   f"threads: 1\noversubscribe: true\n{more}"
                   "console: {ranks: none}\ntee: all\n"
                   "entrypoint:\n  shell: |\n" +
                   textwrap.indent(script, "    ") + "\n")

    def check(self, text, expected):
        told = text[text.index("jobrun: ", 1):]
        for pattern, word in CHANGES:
            told = re.sub(pattern, word, told)
        told = told.replace(str(self.folder), "FOLDER")
        told = re.sub(r"(?<=\S) {3,}", "   ", told)
        self.assertEqual(told, textwrap.dedent(expected).lstrip("\n"))

    def told(self, code, expected):
        done = self.expect(self.jobrun("t.jobrun.yaml"), code)
        self.check(done.stderr, expected)

    # Rank 1 ends in the way that is told; rank 0 waits to be stopped.
    ONE = "[ $RANK = 1 ] || exec sleep 1000\n"

    def test_exit(self):
        self.spec(self.ONE + "echo bad input >&2; exit 9")
        self.told(1, """
            jobrun: FAILED after TIME: rank 1 exited with code 9   exit status 1
              rank 1   node 0 (HOST)   local 1   data 1   pid N   attempt 0
              last lines of stderr:
                | bad input
              after it:   rank 0 stopped by jobrun (SIGTERM)
              0 processes left
              runs/ID/attempt_0/1/stderr.log   (jobrun logs latest --rank 1)
            """)

    def test_signal(self):
        self.spec(self.ONE + "kill -SEGV $$")
        self.told(1, """
            jobrun: FAILED after TIME: rank 1 died by SIGSEGV   exit status 1
              rank 1   node 0 (HOST)   local 1   data 1   pid N   attempt 0
              it wrote nothing to stdout and stderr
              after it:   rank 0 stopped by jobrun (SIGTERM)
              try:   --debug 1 gives this rank a terminal of its own, for gdb \
or pdb
              0 processes left
              runs/ID   (jobrun show latest)
            """)

    def test_a_kill_by_somebody_else(self):
        self.spec(self.ONE + "echo here; kill -KILL $$")
        self.told(1, """
            jobrun: FAILED after TIME: rank 1 was killed by SIGKILL, sender \
unknown   exit status 1
              rank 1   node 0 (HOST)   local 1   data 1   pid N   attempt 0
              last lines of stdout:
                | here
              after it:   rank 0 stopped by jobrun (SIGTERM)
              try:   journalctl -k or dmesg tells whether the kernel ran out \
of memory
              0 processes left
              runs/ID/attempt_0/1/stdout.log   (jobrun logs latest --rank 1)
            """)

    def test_start(self):
        self.write("t.jobrun.yaml", "version: 1\nname: t\nworld_size: 2\n"
                   "device: cpu\nthreads: 1\noversubscribe: true\n"
                   "entrypoint: [./nosuch]\n")
        self.told(7, """
            jobrun: FAILED after TIME: rank 0 could not execute './nosuch': \
No such file or directory in FOLDER   exit status 7
              rank 0   node 0 (HOST)   local 0   data 0   attempt 0
              after it:   rank 1 not started
              0 processes left
              runs/ID   (jobrun show latest)
            """)

    def test_what_to_try(self):
        """By what the rank said, or how it ended."""
        self.write("crlf", "#!/usr/bin/env python3\r\nprint(1)\r\n").chmod(0o755)
        self.write("plain.sh", "echo\n")
        self.write("lookup", "#!/usr/bin/env pyhton3\n").chmod(0o755)
        for script, step in (
                ("./crlf", "its lines end as on Windows: sed -i 's/\\r$//' on "
                 "the script"),
                ("printf 'true\\n\\r\\n' > x.sh; bash x.sh", "its lines end as "
                 "on Windows: sed -i 's/\\r$//' on the script"),
                ("nosuchprogram", "a program of the working directory is "
                 "called ./NAME; `setup: module load NAME` loads what has it"),
                ("./plain.sh", "make the program executable: chmod +x"),
                ("exec python3 -c 'import nosuch.part'", "the Python of the "
                 "ranks has no 'nosuch': activate an environment that has "
                 "it, `setup: . .venv/bin/activate`, or set `env: "
                 "{PYTHONPATH: FOLDER}`"),
                ("exec python3 -c 'open(\"data/x\")'", "'data/x' is looked for "
                 "in the working directory of the ranks: `workdir: "
                 "FOLDER` states another"),
                ("exec python3 -c 'open(\"/no/x\")'", None),
                ("exec python3 trian.py", f"there is no '{self.folder}/trian.py'"
                 ": the ranks run in the folder of the spec, or without "
                 "one in that of the caller, unless `workdir: FOLDER` says "
                 "otherwise"),
                ("exec python3 -c 'import os; os.execvp(\"nvcc\", [\"nvcc\"])'",
                 None),
                ("echo 'torch.cuda.OutOfMemoryError: CUDA out of memory. Tried "
                 "to' >&2; exit 1", "use a smaller batch, or more devices; "
                 "nvidia-smi or rocm-smi lists who else holds memory of this "
                 "one"),
                ("echo 'OSError: [Errno 98] Address already in use' >&2; "
                 "exit 1", "have the program listen on MASTER_PORT, which "
                 "nobody has when the ranks start unless `master_port` is "
                 "stated; ss -ltnp lists who holds a port"),
                ("echo 'cp: x: No space left on device' >&2; exit 1",
                 "df -h lists the full file system; jobrun prune --keep 5 "
                 "removes older runs"),
                ("echo './t: error while loading shared libraries: libx.so.1: "
                 "cannot open' >&2; exit 127", "the loader does not find "
                 "libx.so.1: load its module, `setup: module load "
                 "NAME`, or set `env: {LD_LIBRARY_PATH: FOLDER}`"),
                ("exec ./lookup", "the first line of the script names 'pyhton3', "
                 "which is not in PATH: correct it, or load what has it: "
                 "`setup: module load NAME`"),
                ("[[ a = a ]] || exit 127", "sh reads this, as it does "
                 "`setup` and `shell`: for bash, write bash -c 'TEXT'"),
                ("kill -BUS $$", "a mapped file was cut short, or /dev/shm is "
                 "full: df -h /dev/shm"),
                ("echo 'ncclInvalidUsage: Duplicate GPU detected : rank 0' >&2;"
                 "exit 1", "two ranks use one device: call "
                 "torch.cuda.set_device(int(os.environ[\"LOCAL_RANK\"])), or set "
                 "`device_visibility: one`"),
                ("echo wrong >&2; exit 1", None)):
            with self.subTest(script):
                self.spec(self.ONE + script)
                told = self.expect(self.jobrun("t.jobrun.yaml"), 1).stderr
                found = re.findall("  try: +(.*)\n", told)
                self.assertEqual(found, [] if step is None else [step], told)
                shown = self.jobrun("show").stdout
                self.assertEqual(re.findall("  try: +(.*)\n", shown), found)

    def test_what_to_try_without_a_spec(self):
        """What it says to type is an option, and does what it says."""
        self.write("few.py", "import os, resource\n"
                   "limit = resource.getrlimit(resource.RLIMIT_NOFILE)\n"
                   "if limit[0] < limit[1]: raise OSError(24, os.strerror(24))")
        for before, script, path in (
                (["-s", "limits.nofile=64"], ["few.py"], "limits.nofile"),
                ([], ["-c", "import os, sys; sys.exit('NCCL_DEBUG' not in "
                      "os.environ and 'ncclSystemError')"], "env.NCCL_DEBUG")):
            line = ["-n", "1", *before]
            command = ["--", sys.executable, *script]
            told = self.expect(self.jobrun(*line, *command), 1).stderr
            step = re.search("  try: .*`(-s [^`]*)`", told)[1]
            self.assertTrue(step.startswith(f"-s {path}="), told)
            self.expect(self.jobrun(*line, *shlex.split(step), *command), 0)
        told = self.expect(self.jobrun("plan", "-n", "4096", "--", "true"), 0)
        step = re.search("help: (-s [^ ]*) allows", told.stderr)[1]
        told = self.expect(self.jobrun("plan", "-n", "4096", *step.split(),
                                       "--", "true"), 0)
        self.assertEqual(told.stderr, "")

    def test_what_to_try_about_a_setup(self):
        for setup, step in (
                ("source x.sh", "/bin/sh reads `setup` and `shell`, and has no "
                 "`source`: write . FILE"),
                ("module load cuda", "make it known first: . /etc/profile.d/"
                 "modules.sh, or lmod.sh; then module load"),
                ("echo bad; exit 1", None)):
            self.write("t.jobrun.yaml", "version: 1\nname: t\nworld_size: 1\n"
                       f"device: cpu\nsetup: {setup}\nentrypoint: [echo]\n")
            told = self.expect(self.jobrun("t.jobrun.yaml"), 7).stderr
            self.assertEqual(re.findall("  try: +(.*)\n", told),
                             [] if step is None else [step])

    def test_lines_of_windows_in_a_program(self):
        self.write("crlf", "#!/bin/sh\r\necho\r\n").chmod(0o755)
        self.write("plain.py", "print(1)\n")
        for program, said in (
                ("./crlf", "cannot be executed; its lines end as on Windows: "
                 "sed -i 's/\\r$//' ./crlf"),
                ("./plain.py", "it is not executable (chmod +x); or put "
                 "python3 before it")):
            self.write("t.jobrun.yaml", "version: 1\nname: t\nworld_size: 1\n"
                       f"device: cpu\nentrypoint: [{program}]\n")
            told = self.expect(self.jobrun("t.jobrun.yaml"), 7).stderr
            self.assertIn(said, told)

    def test_a_missing_result(self):
        self.spec("[ $RANK = 1 ] || echo 1 > $JOBRUN_RESULT_FILE",
                  "results: {required: all}\n")
        self.told(5, """
            jobrun: INCOMPLETE: every rank exited with 0, but 1 of 2 did not \
deliver   exit status 5
              rank 1   result.json was not written
              try:   each rank writes JSON to the file that JOBRUN_RESULT_FILE \
names; `results: {from: stdout}` and `results: {pattern: REGEX}` read it from the output
              0 processes left
              runs/ID   (jobrun show latest)
            """)

    def test_unequal_results(self):
        self.spec("echo '{\"sha\": '$RANK'}' > $JOBRUN_RESULT_FILE",
                  "results: {fields: {sha: {type: integer}}, equal: [sha]}\n")
        self.told(5, """
            jobrun: INCOMPLETE: every rank exited with 0, but 2 of 2 delivered \
what `results` does not allow   exit status 5
              rank 0   result.json: 'sha' is 0, but 1 on rank 1
              rank 1   result.json: 'sha' is 1, but 0 on rank 0
              0 processes left
              runs/ID   (jobrun show latest)
            """)

    def test_a_timeout(self):
        self.spec("exec sleep 1000", "timeouts: {run: 2s}\n")
        self.told(6, """
            jobrun: TIMED OUT after TIME: longer than timeouts.run, which is \
TIME   exit status 6
              ranks 0-1 stopped by jobrun (SIGTERM)
              0 processes left
              runs/ID   (jobrun show latest)
            """)

    def test_an_interrupt(self):
        self.spec("touch ready.$RANK; exec sleep 1000")
        process = self.start("t.jobrun.yaml")
        self.ready()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=harness.LIMIT)
        self.assertEqual(process.returncode, 130, err)
        self.check(err, """
            jobrun: STOPPED by SIGINT after TIME   exit status 130
              ranks 0-1 stopped by jobrun (SIGTERM)
              0 processes left
              runs/ID   (jobrun show latest)
            """)


if __name__ == "__main__":
    harness.main()
