"""What engines are handed: texts against those in render/, and the same texts
read by the programs that they are for, or by stand-ins that tell what they got.

UPDATE=1 writes what there is as what is expected.
"""
import json
import os
import pathlib
import shlex
import shutil
import subprocess

import harness

GOLDEN = pathlib.Path(__file__).resolve().parent / "render"
ENGINES = ("slurm", "kubernetes", "mpi")
HEAD = "version: 1\nentrypoint: [./train]\n"
ECHO = "#!/bin/sh\nfor word; do printf '%s\\0' \"$word\"; done\n"


class Rendering(harness.Case):
    def setUp(self):
        super().setUp()
        self.tools = self.folder / "tools"
        self.tools.mkdir()
        self.path = {"PATH": f"{self.tools}:{os.environ['PATH']}"}
        (self.folder / "own").mkdir()
        (self.folder / "own" / "jobrun").symlink_to(harness.JOBRUN)
        self.named = {"PATH": f"{self.folder / 'own'}:{os.environ['PATH']}"}
        for spec in GOLDEN.glob("*.yaml"):
            shutil.copy(spec, self.folder)

    def tool(self, name, text):
        path = self.tools / name
        path.write_text(text)
        path.chmod(0o755)

    def render(self, engine, *words, code=0, spec="t.jobrun.yaml", env=None):
        return self.expect(self.jobrun("render", spec, "--engine", engine,
                                       *words,
                                       env={**self.named, **(env or {})}), code)

    def refuse(self, body, engine, code, said, *words):
        self.write("t.jobrun.yaml", HEAD + body)
        done = self.render(engine, *words, code=code)
        self.assertEqual(done.stdout, "")
        self.assertIn(said, done.stderr)

    def shell(self, script, **env):
        """What the script's words are to those that it is for."""
        path = self.write("script.sh", script)
        done = subprocess.run(
            ["/bin/sh", path], capture_output=True, text=True, check=True,
            env=harness.clean_environment(**self.path, **env),
            timeout=harness.LIMIT, cwd=self.folder)
        return done.stdout.split("\0")[:-1]


class Goldens(Rendering):
    def test_texts(self):
        for spec in ("one", "two"):
            for engine in ENGINES:
                with self.subTest(spec=spec, engine=engine):
                    self.check(spec, engine)

    def check(self, spec, engine):
        done = self.render(engine, spec=f"{spec}.jobrun.yaml")
        self.assertEqual(done.stderr, "")
        got = done.stdout.replace(str(self.folder), "/WORK")
        golden = GOLDEN / f"{spec}.{engine}.txt"
        if os.environ.get("UPDATE") == "1":
            golden.write_text(got)
        self.assertEqual(got, golden.read_text())

    def test_the_same_twice(self):
        for engine in ENGINES:
            first = self.render(engine, spec="two.jobrun.yaml").stdout
            again = self.render(engine, spec="two.jobrun.yaml").stdout
            self.assertEqual(first, again)

    def test_secrets_are_not_told(self):
        for engine in ENGINES:
            done = self.render(engine, spec="two.jobrun.yaml",
                               env={"RENDER_TOKEN": "kept-from-all"})
            self.assertNotIn("kept-from-all", done.stdout)

    def test_shells_take_the_scripts(self):
        for engine in ("slurm", "mpi"):
            script = self.render(engine, spec="two.jobrun.yaml").stdout
            subprocess.run(["/bin/sh", "-n"], input=script, text=True,
                           check=True, timeout=harness.LIMIT)
            if shutil.which("shellcheck"):
                subprocess.run(["shellcheck", "-"], input=script, text=True,
                               check=True, timeout=harness.LIMIT)


class Refusals(Rendering):
    def test_wrong_words(self):
        self.write("t.jobrun.yaml", HEAD)
        self.render("slrum", code=2)
        self.expect(self.jobrun("render", "t.jobrun.yaml"), 2)
        self.expect(self.jobrun("render", "--engine", "mpi"), 2)
        self.render("slurm", code=2, spec="-")
        self.render("slurm", code=3, spec="gone.yaml")

    def test_what_only_a_machine_can_tell(self):
        self.refuse("", "slurm", 4, "device is MISSING")
        self.refuse("device: cuda\n", "slurm", 4,
                    "local_world_size is MISSING")
        self.refuse("device: cuda\nnodes: 2\n", "kubernetes", 4, "--on")
        self.refuse("nodes: 2\ndevice: cpu\nworld_size: 4\n", "mpi", 4,
                    "state hosts")

    def test_what_engines_cannot_do(self):
        self.refuse("device: cpu\nworld_size: 1\n", "kubernetes", 3,
                    "engine.kubernetes.image")
        self.refuse("device: custom:foo\nworld_size: 1\nbackends: gloo\n"
                    "engine: {kubernetes: {image: a}}\n", "kubernetes", 3,
                    "device_resource")
        self.write("f.jobrun.yaml", "version: 1\nentrypoint: {python: "
                   "{function: \"a:b\"}}\ndevice: cpu\nworld_size: 1\n")
        done = self.render("mpi", spec="f.jobrun.yaml", code=3)
        self.assertIn("returns", done.stderr)

    def test_options_of_plugins_are_asked_for(self):
        self.tool("sbatch", "#!/bin/sh\n[ \"$*\" = --help ] || exit 1\n"
                  "echo '      --container-image=[IMAGE]   an image'\n")
        head = HEAD + "device: cpu\nworld_size: 1\n"
        env = {"PATH": f"{self.tools}:{self.named['PATH']}"}
        self.write("t.jobrun.yaml",
                   head + "engine: {slurm: {container-image: a.sqsh}}\n")
        self.assertIn("#SBATCH --container-image=a.sqsh\n",
                      self.render("slurm", env=env).stdout)
        self.write("t.jobrun.yaml", head + "engine: {slurm: {partition: gpu, "
                   "container-imag: a.sqsh, image: b}}\n")
        done = self.render("slurm", code=4, env=env)
        for name in "container-imag", "image":
            self.assertIn("error[JR0453]: the sbatch of this machine has no "
                          f"option '{name}'", done.stderr)
        self.assertNotIn("'partition'", done.stderr)
        self.assertEqual(done.stdout, "")
        # One that cannot answer says nothing against it.
        self.tool("sbatch", "#!/bin/sh\nexit 1\n")
        self.render("slurm", env=env)

    def test_options_that_break_the_job(self):
        for option in ("nodes: 3", "ntasks: 3", "array: 0-9", "job-name: a",
                       "wrap: ls", "Partition: gpu", "-p: gpu",
                       'comment: "a\\nb"', "comment: [a]"):
            self.refuse(f"engine: {{slurm: {{{option}}}}}\n", "slurm", 3,
                        "engine.slurm")


class Words(Rendering):
    """What the scripts say, to those that they are for."""
    ODD = ["it's", "a b", "$HOME", "`id`", "\\", "'\\''", "#", "*", "~", '"',
           "a\tb", "caf\u00e9", "-x", "a\\'b c"]

    def test_slurm_starts_the_same_command(self):
        self.tool("jobrun", ECHO)
        self.write("a b.jobrun.yaml", HEAD + "device: cpu\nworld_size: 1\n")
        script = self.render("slurm", "-s", "name=odd", "--root", ".", "--",
                             *self.ODD, spec="a b.jobrun.yaml").stdout
        self.assertEqual(
            self.shell(script),
            ["run", f"{self.folder}/a b.jobrun.yaml", "--set", "name=odd",
             "--root", str(self.folder), "--", *self.ODD])

    def test_slurm_starts_this_very_program(self):
        """By its path, where its name would find another one, or none."""
        own = shlex.quote(str(pathlib.Path(harness.JOBRUN).resolve()))
        for path in ("/nowhere", "", f"{self.tools}:{self.named['PATH']}"):
            self.tool("jobrun", ECHO)
            script = self.render("slurm", spec="one.jobrun.yaml",
                                 env={"PATH": path}).stdout
            self.assertIn(f"exec {own} run ", script)

    def test_slurm_on_several_nodes(self):
        self.tool("jobrun", ECHO)
        script = self.render("slurm", spec="two.jobrun.yaml").stdout
        words = self.shell(script, SLURM_JOB_ID="77")
        self.assertEqual(words, ["run", f"{self.folder}/two.jobrun.yaml"])

    def test_on_tells_what_the_spec_leaves_out(self):
        self.write("t.jobrun.yaml", HEAD + "timeouts: {run: 90m}\n")
        text = self.render("slurm", "--on", "2x8:H100,96c").stdout
        for line in ("--nodes=2", "--gpus-per-node=8", "--cpus-per-task=96",
                     "--time=0-01:32:00"):
            self.assertIn(f"#SBATCH {line}\n", text)

    def test_a_job_that_restarts_is_queued_again(self):
        self.write("t.jobrun.yaml", HEAD + "device: cpu\nlocal_world_size: 1\n"
                   "nodes: 2\nrestart: {max: 2}\n")
        script = self.render("slurm").stdout
        self.assertIn("#SBATCH --requeue\n", script)
        self.assertNotIn("no-requeue", script)

    def test_mpi_starts_every_rank_as_planned(self):
        self.tool("mpirun", ECHO)
        spec = (self.folder / "two.jobrun.yaml").read_text()
        self.write("two.jobrun.yaml", f"{spec}log_dir: {self.folder}/logs\n")
        words = self.shell(
            self.render("mpi", spec="two.jobrun.yaml").stdout,
            RENDER_TOKEN="from outside")
        contexts = " \0".join(words).split(" \0: \0")
        self.assertEqual(len(contexts), 4)
        for rank, context in enumerate(contexts):
            got = context.split(" \0")
            for word in (f"RANK={rank}", f"LOCAL_RANK={rank % 2}",
                         "RENDER_TOKEN=from outside", "MODE=a b",
                         "MASTER_ADDR=gpu01", "it's \\ a $HOME"):
                self.assertIn(word, got)
            self.assertEqual(got[-4:-1], ["./train", "--shard", str(rank)])
            self.assertTrue(
                (self.folder / f"logs/Digits.v2/attempt_0/{rank}").is_dir())

    def test_a_real_launcher_starts_them(self):
        launcher = shutil.which("mpiexec")
        said = launcher and subprocess.run(
            [launcher, "--version"], capture_output=True, text=True,
            timeout=harness.LIMIT).stdout
        if not said:
            self.skipTest("no mpiexec")
        dialect = "hydra" if "HYDRA" in said else "openmpi"
        self.write("t.jobrun.yaml", "version: 1\n"
                   "entrypoint: [sh, -c, 'echo $RANK of $WORLD_SIZE: $0 $PWD'"
                   ", \"it's %{rank}\"]\n"
                   "device: cpu\nworld_size: 3\n"
                   f"engine: {{mpi: {{dialect: {dialect}}}}}\n")
        path = self.write("script.sh", self.render("mpi").stdout)
        done = subprocess.run(
            ["/bin/sh", path], capture_output=True, text=True,
            env=harness.clean_environment(
                OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                OMPI_MCA_rmaps_base_oversubscribe="1"),
            timeout=harness.LIMIT)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(done.stdout.splitlines()),
                         [f"{rank} of 3: it's {rank} {self.folder}"
                          for rank in range(3)])


class Pods(Rendering):
    def objects(self, spec):
        try:
            import yaml
        except ImportError:
            self.skipTest("no PyYAML")
        text = self.render("kubernetes", spec=spec).stdout
        return {one["kind"]: one for one in yaml.safe_load_all(text)}

    def test_a_pod_can_resolve_its_spec(self):
        """As jobrun finds it in a pod, the second of two."""
        objects = self.objects("two.jobrun.yaml")
        self.write("job.jobrun.yaml",
                   objects["ConfigMap"]["data"]["job.jobrun.yaml"])
        done = self.expect(self.jobrun(
            "resolve", "job.jobrun.yaml", "--explain", "--json",
            "-s", "device=cpu", "-s", "backends=gloo", "-s", "devices=null",
            env={"JOB_COMPLETION_INDEX": "1"}), 0)
        values = {row["field"]: row["value"]
                  for row in json.loads(done.stdout)["fields"]}
        self.assertEqual(values["node_rank"], "1")
        self.assertEqual(values["rank_start"], "2")
        self.assertEqual(values["master_addr"], "digits-v2-0.digits-v2")
        self.assertEqual(values["master_port"], "29501")

    def test_objects_refer_to_each_other(self):
        objects = self.objects("two.jobrun.yaml")
        job = objects["Job"]
        pod = job["spec"]["template"]["spec"]
        name = job["metadata"]["name"]
        self.assertEqual(objects["Service"]["metadata"]["name"],
                         pod["subdomain"])
        self.assertEqual(objects["Service"]["spec"]["selector"],
                         {"job-name": name})
        self.assertEqual(objects["ConfigMap"]["metadata"]["name"],
                         pod["volumes"][0]["configMap"]["name"])
        self.assertEqual({one["metadata"]["namespace"]
                          for one in objects.values()}, {"vision"})
        container = pod["containers"][0]
        self.assertEqual([one["name"] for one in container["volumeMounts"]],
                         [one["name"] for one in pod["volumes"]])
        self.assertEqual(container["resources"]["limits"]["nvidia.com/gpu"], 2)

    def test_a_pod_begins_where_all_ranks_are(self):
        for given, begins in (("/data/%{rank}", "/data"), ("/%{rank}/x", "/"),
                              ("/a/b%{local_rank}/c", "/a"), ("/a/b", "/a/b")):
            text = self.render("kubernetes", "-s", f"workdir='{given}'",
                               spec="two.jobrun.yaml").stdout
            self.assertIn(f"workingDir: {begins}\n", text)
            self.assertIn(f"workdir: {given}", text.replace('"', ""))


SWEEP = """version: 1
name: scan
device: cpu
world_size: 1
threads: 1
vars: {lr: 0.1, seed: 0}
entrypoint: {shell: 'echo "{\\"loss\\": $LR}" > "$JOBRUN_RESULT_FILE"'}
env: {LR: "${vars.lr}", SEED: "${vars.seed}"}
results: {fields: {loss: {type: number}}}
sweep:
  axes: {vars.lr: [0.3, 0.2], vars.seed: [1, 2]}
  best: {field: loss, goal: min}
"""


class Arrays(Rendering):
    """The cells of a sweep as the tasks of a job array. Stand-ins take the job,
    and say what is in the queue; the script is run for each task by hand."""

    def setUp(self):
        super().setUp()
        self.write("s.jobrun.yaml", SWEEP)
        self.tool("sbatch", "#!/bin/sh\n[ \"$1\" = --help ] && exit\n"
                  "cat > script\ncat answer\n[ -s answer ]\n")
        self.tool("squeue", "#!/bin/sh\necho asked >> asked\ncat queue\n")
        self.tool("scancel", "#!/bin/sh\necho \"$@\" >> cancelled\n: > queue\n")
        self.write("answer", "4711\n")
        self.write("queue", "4711\n")

    def on(self, *words, code=0, **env):
        """jobrun on a machine that has such a cluster."""
        return self.expect(self.jobrun(*words, env={**self.path, **env}), code)

    def submit(self, *words, code=0, spec="s.jobrun.yaml"):
        return self.on("submit", spec, "--engine", "slurm", *words, code=code)

    def task(self, number, code=0, **env):
        done = subprocess.run(
            ["/bin/sh", "script"], capture_output=True, text=True,
            env=harness.clean_environment(
                **self.path, SLURM_ARRAY_TASK_ID=str(number), **env),
            timeout=harness.LIMIT, cwd=self.folder)
        return self.expect(done, code)

    def array(self):
        return [line for line in (self.folder / "script").read_text().split()
                if line.startswith("--array=")][0]

    def table(self, run="latest"):
        done = self.on("show", run, "--format", "json")
        return json.loads(done.stdout)

    def statuses(self):
        return [cell["status"] for cell in self.table()["cells"]]

    def folders(self):
        return sorted(path.name for path in
                      (self.folder / "runs").glob("2*/cells/0*"))

    def test_a_task_for_each_cell(self):
        done = self.submit()
        self.assertEqual(done.stdout, "4711\n")
        self.assertIn("scan: 4 cells; tasks 0-3 of job 4711", done.stderr)
        self.assertEqual(self.array(), "--array=0-3")
        self.assertEqual(self.statuses(), ["not_started"] * 4)
        self.assertIn("running", self.on("runs").stdout)
        for number in (2, 0, 3, 1):
            self.task(number)
        table = self.table()
        self.assertEqual(table["counts"], {"succeeded": 4})
        self.assertEqual(table["submitted"], {"engine": "slurm", "job": "4711"})
        self.assertEqual([cell["result"]["loss"] for cell in table["cells"]],
                         [0.3, 0.3, 0.2, 0.2])
        self.assertRegex(self.on("runs").stdout, r"succeeded +0 .* 4/4 ")
        self.assertIn("* 0002", self.on("show", "latest").stdout)
        self.on("logs", "latest/3")
        self.on("wait", "latest")

    def test_tasks_write_their_own_folders_alone(self):
        self.submit()
        sweep, = (self.folder / "runs").glob("2*")
        before = {name: (sweep / name).read_bytes()
                  for name in ("sweep.json", "journal.jsonl")}
        self.task(1)
        self.assertEqual({name: (sweep / name).read_bytes() for name in before},
                         before)
        self.assertEqual(self.folders(), ["0001"])
        self.assertEqual(sorted(path.name for path in sweep.iterdir()),
                         ["cells", "journal.jsonl", "sweep.json"])
        self.assertEqual(os.readlink(self.folder / "runs" / "latest"),
                         sweep.name)

    def test_frozen_at_the_moment_of_submission(self):
        self.write("base.yaml", "version: 1\ntemplate: true\nenv: {WHO: then}\n")
        self.write("s.jobrun.yaml", "extends: base.yaml\n" + SWEEP.replace(
            '$LR}', '$LR, \\"who\\": \\"$WHO\\", \\"set\\": \\"$SET\\"}').replace(
            "env: {", "env: {SET: '${env:FROM}', "))
        self.on("submit", "s.jobrun.yaml", "--engine", "slurm", "-s",
                "threads=2", "--sweep", "vars.lr=7,8", FROM="outside")
        self.write("base.yaml", "version: 1\ntemplate: true\nenv: {WHO: now}\n")
        self.write("s.jobrun.yaml", "x: y\n")
        self.task(3)
        self.assertEqual(self.table()["cells"][3]["result"],
                         {"loss": 8, "who": "then", "set": "outside"})
        resolved, = (self.folder / "runs").glob("2*/cells/0003/resolved.yaml")
        self.assertIn("threads: 2\n", resolved.read_text())

    def test_parallel_limits_how_many_run_at_once(self):
        self.submit("--parallel", "3")
        self.assertEqual(self.array(), "--array=0-3%3")
        self.write("s.jobrun.yaml", SWEEP + "  parallel: 2\n")
        self.submit()
        self.assertEqual(self.array(), "--array=0-3%2")
        for words in ([], ["--parallel", "1"]):
            text = self.render("slurm", *words, spec="s.jobrun.yaml").stdout
            self.assertIn(f"--array=0-3%{2 - len(words) // 2}\n", text)

    def test_what_is_rendered_runs_the_cells_of_the_spec(self):
        self.tool("jobrun", ECHO)
        script = self.render("slurm", "--sweep", "vars.seed=5,6,7", "-s",
                             "name=odd", spec="s.jobrun.yaml").stdout
        self.assertIn("--array=0-5\n", script)
        self.assertEqual(
            self.shell(script, SLURM_ARRAY_TASK_ID="4"),
            ["run", "--cell", "4", f"{self.folder}/s.jobrun.yaml", "--set",
             "name=odd", "--sweep", "vars.seed=5,6,7"])
        self.assertFalse((self.folder / "runs").exists())

    def test_all_tasks_ask_for_the_same(self):
        done = self.submit("--sweep", "threads=1,4", code=4)
        self.assertIn("cell 0 (vars.lr=0.3,vars.seed=1,threads=1) asks Slurm "
                      "for --cpus-per-task=1, and cell 1 (vars.lr=0.3,"
                      "vars.seed=1,threads=4) for --cpus-per-task=4",
                      done.stderr)
        self.assertEqual(sorted(os.listdir(self.folder / "runs")),
                         [".gitignore", ".submitted"])
        self.assertEqual(os.listdir(self.folder / "runs" / ".submitted"),
                         [".gitignore"])

    def test_a_mistake_in_a_cell(self):
        for words, said in ((["--sweep", "threads=1,0"], "threads"),
                            (["--sweep", "vars.nope=1,2"], "vars.nope")):
            self.assertIn(said, self.submit(*words, code=3).stderr)
        self.write("t.jobrun.yaml", SWEEP.replace(
            "results: {", "results: {file: x.json, "))
        done = self.submit(spec="t.jobrun.yaml", code=3)
        self.assertIn("x.json", done.stderr)
        self.assertFalse(list((self.folder / "runs").glob("2*")))

    def test_only_slurm_has_arrays(self):
        for engine in ("kubernetes", "mpi"):
            done = self.render(engine, spec="s.jobrun.yaml", code=2)
            self.assertIn("--cell 0", done.stderr)
        self.write("t.jobrun.yaml", HEAD + "device: cpu\nworld_size: 1\n")
        for words in (["--resume"], ["--parallel", "2"], ["--run-id", "x"]):
            done = self.submit(*words, spec="t.jobrun.yaml", code=2)
            self.assertIn(f"{words[0]} is for a sweep", done.stderr)

    def test_a_job_that_is_not_taken_leaves_nothing(self):
        self.write("answer", "")
        self.submit(code=7)
        self.assertEqual(sorted(os.listdir(self.folder / "runs")),
                         [".gitignore", ".submitted"])
        self.write("answer", "4711\n")
        self.submit("--run-id", "one")
        self.task(0)
        self.write("answer", "")
        self.write("queue", "")
        self.submit("--resume", code=7)
        self.assertEqual(self.table("one")["counts"],
                         {"succeeded": 1, "not_started": 3})

    def test_going_on(self):
        self.submit("--run-id", "one")
        for number in (0, 3):
            self.task(number)
        sweep = self.folder / "runs" / "one"
        done = self.submit("--resume", code=2)
        self.assertIn("is job 4711 of Slurm's, which has not ended: jobrun "
                      "wait one, or jobrun stop one", done.stderr)
        done = self.on("s.jobrun.yaml", "--resume", code=2)
        self.assertIn("is job 4711 of Slurm's", done.stderr)
        self.write("queue", "4712\n")
        self.write("answer", "4800\n")
        self.assertRegex(self.on("runs").stdout, r"stopped .* 2/4 ")
        done = self.submit("--resume=one", "--sweep", "vars.seed=1,2,3")
        self.assertIn("6 cells, of which 2 have delivered; tasks 1,4,2,5",
                      done.stderr)
        self.assertEqual(self.array(), "--array=1,4,2,5")
        inode = (sweep / "cells" / "0000").stat().st_ino
        for number in (1, 2, 4, 5):
            self.task(number)
        self.assertEqual(self.table("one")["counts"], {"succeeded": 6})
        self.assertEqual((sweep / "cells" / "0000").stat().st_ino, inode)
        self.assertEqual(self.table("one")["submitted"]["job"], "4800")
        done = self.submit("--resume=one", "--sweep", "vars.seed=1,2,3")
        self.assertIn("nothing of the sweep is left to be run", done.stderr)
        self.assertEqual(done.stdout, "")

    def test_a_cell_that_delivered_runs_on_no_other_machine(self):
        """What Slurm's tasks did is what a jobrun here goes on with."""
        self.submit()
        for number in range(3):
            self.task(number)
        self.write("queue", "")
        done = self.on("s.jobrun.yaml", "--resume")
        self.assertIn("4 cells, of which 3 have delivered", done.stderr)
        self.assertEqual(self.folders(), ["0000", "0001", "0002", "0003"])
        table = self.table()
        self.assertEqual(table["counts"], {"succeeded": 4})
        self.assertNotIn("submitted", table)

    def test_a_failed_cell(self):
        self.write("s.jobrun.yaml", SWEEP.replace("shell: '", "shell: '[ $SEED "
                                                  "= 1 ] || exit 9; "))
        self.submit()
        for number in range(4):
            self.task(number, code=number % 2)
        self.write("queue", "")
        self.on("wait", "latest", code=1)
        self.assertRegex(self.on("runs").stdout, r"failed +1 .* 2/4 ")
        self.write("s.jobrun.yaml", SWEEP)
        self.submit("--resume", "--skip-failed")
        self.assertEqual(self.array(), "--array=0,2")  # they have changed

    def test_waiting_gives_the_lowest_class(self):
        self.write("s.jobrun.yaml", SWEEP.replace(
            "shell: '", "shell: '[ $SEED = 1 ] || exit 0; "))
        self.tool("sbatch", "#!/bin/sh\n[ \"$1\" = --help ] && exit\n"
                  "cat > script\necho 4711\nfor i in 0 1 2 3; do "
                  "SLURM_ARRAY_TASK_ID=$i sh script 2>said; done\nexit 99\n")
        self.assertEqual(self.submit("--wait", code=5).stdout, "4711\n")
        self.assertEqual(self.statuses(), ["succeeded", "incomplete"] * 2)
        self.write("s.jobrun.yaml", SWEEP)
        self.submit("--wait", code=0)

    def test_stopping_cancels_the_job(self):
        self.submit()
        self.task(0)
        done = self.on("stop", "latest")
        self.assertEqual((self.folder / "cancelled").read_text(), "4711\n")
        self.assertIn("1 of 4 delivered, 3 not started", done.stderr)
        self.on("wait", "latest", code=7)
        self.on("stop", "latest")
        self.assertEqual((self.folder / "cancelled").read_text(), "4711\n")

    def test_waiting_for_a_time(self):
        self.submit()
        done = self.on("wait", "latest", "--timeout", "100ms", code=124)
        self.assertIn("is still running after 100ms", done.stderr)

    def test_a_task_that_is_queued_again_goes_on(self):
        self.write("s.jobrun.yaml", SWEEP.replace(
            "shell: '", "shell: 'echo $JOBRUN_ATTEMPT >> tries; [ -e go ] || "
            "exit 1; "))
        self.submit()
        job = {"SLURM_JOB_ID": "4712", "SLURM_ARRAY_JOB_ID": "4711",
               "SLURM_NTASKS": "1", "SLURM_JOB_NUM_NODES": "1",
               "SLURM_JOB_NODELIST": "n1"}
        self.task(1, code=1, **job)
        self.write("go", "")
        done = self.task(1, **job, SLURM_RESTART_COUNT="1")
        self.assertIn("job 4711_1 was started again", done.stderr)
        self.assertEqual((self.folder / "tries").read_text(), "0\n1\n")
        self.assertEqual(self.folders(), ["0001"])
        self.assertEqual(self.statuses()[1], "succeeded")
        done = self.task(1, **job, SLURM_RESTART_COUNT="2")
        self.assertIn("nothing is run again", done.stderr)
        self.assertEqual((self.folder / "tries").read_text(), "0\n1\n")
        # and no other job may take the folder
        done = self.task(1, code=7, **{**job, "SLURM_JOB_ID": "4720"})
        self.assertIn("0001", done.stderr)

    def test_a_task_whose_processes_were_killed_is_lost(self):
        self.write("s.jobrun.yaml", SWEEP.replace(
            "shell: '", "shell: 'kill -9 $PPID; : "))
        self.submit()
        process = subprocess.run(
            ["/bin/sh", "script"], capture_output=True, text=True,
            env=harness.clean_environment(**self.path, SLURM_ARRAY_TASK_ID="2"),
            timeout=harness.LIMIT, cwd=self.folder)
        self.assertNotEqual(process.returncode, 0)
        results, = (self.folder / "runs").glob("2*/cells/0002/results.json")
        results.unlink()  # as if its guard had been killed too
        self.assertEqual(self.statuses()[2], "lost")

    def test_a_task_on_another_machine_is_as_slurm_says(self):
        """Its process cannot be looked at: it runs while its job is queued, and
        a sweep is not held up for ever by a machine that broke down."""
        self.submit()
        self.task(0)
        cells, = (self.folder / "runs").glob("2*/cells")
        shutil.copytree(cells / "0000", cells / "0002")
        (cells / "0002" / "results.json").unlink()
        path = cells / "0002" / "run.json"
        run = json.loads(path.read_text())
        run.update(host="far", boot_id="0", status="running", exit_code=None,
                   finished=None)
        path.write_text(json.dumps(run))
        expected = ["succeeded", "not_started", "running", "not_started"]
        self.assertEqual(self.statuses(), expected)
        self.tool("squeue", "#!/bin/sh\nexit 1\n")
        self.assertEqual(self.statuses(), expected)
        done = self.on("s.jobrun.yaml", "--resume", code=2)
        self.assertIn("cell 0002 began on far, has no results, and may still "
                      "run there", done.stderr)
        self.tool("squeue", "#!/bin/sh\n")
        expected[2] = "lost"
        self.assertEqual(self.statuses(), expected)
        self.on("s.jobrun.yaml", "--resume")
        self.assertEqual(self.statuses(), ["succeeded"] * 4)
        self.assertEqual(self.folders(),
                         ["0000", "0001", "0002", "0002.1", "0003"])

    def test_old_ones_are_pruned(self):
        self.submit()
        for number in range(4):
            self.task(number)
        self.on("prune", "--keep", "0")
        self.assertEqual(sorted(os.listdir(self.folder / "runs")),
                         [".gitignore", ".submitted"])
        # whose job is in the queue yet
        self.assertEqual(len(os.listdir(self.folder / "runs/.submitted")), 2)
        self.write("queue", "")
        self.on("prune", "--keep", "0")
        self.assertEqual(os.listdir(self.folder / "runs/.submitted"),
                         [".gitignore"])

    def test_words_that_do_not_go_together(self):
        self.submit()
        frozen, = (self.folder / "runs/.submitted").glob("2*")
        for words, said in (([], "--cell N"), (["--cell", "a"], "--cell N"),
                            (["--cell", "9"], "0009.yaml"),
                            (["--cell", "1", "--sweep", "vars.lr=1"],
                             "--frozen takes no spec")):
            done = self.jobrun("run", "--frozen", frozen, *words)
            self.assertIn(said, done.stderr)
            self.assertIn(done.returncode, (2, 7))
        self.assertIn("--skip-failed wants --resume",
                      self.submit("--skip-failed", code=2).stderr)


class Submitting(Rendering):
    SPEC = HEAD + "device: cpu\nworld_size: 1\n"

    def submit(self, code, *words, **env):
        self.write("t.jobrun.yaml", self.SPEC)
        return self.expect(self.jobrun(
            "submit", "t.jobrun.yaml", *words,
            env={"PATH": f"{self.folder / 'own'}:{self.path['PATH']}", **env}),
            code)

    def test_hands_over_the_rendered_script(self):
        self.tool("sbatch", "#!/bin/sh\necho \"$@\" > words\ncat > script\n"
                  "echo '4242;lab'\n")
        done = self.submit(0, "--engine", "slurm", "--wait")
        self.assertEqual(done.stdout, "4242;lab\n")
        self.assertEqual((self.folder / "words").read_text(),
                         "--parsable --wait\n")
        self.assertEqual((self.folder / "script").read_text(),
                         self.render("slurm").stdout)

    def test_ends_as_the_job_did(self):
        self.tool("sbatch", "#!/bin/sh\necho 7\nexit 5\n")
        self.assertEqual(self.submit(5, "--engine", "slurm", "--wait").stdout,
                         "7\n")

    def test_an_id_that_cannot_be_printed(self):
        self.tool("sbatch", "#!/bin/sh\necho 4242\n")
        for where, why in ((" > /dev/full", "No space left"),
                           (" >&-", "standard output is closed")):
            self.write("t.jobrun.yaml", self.SPEC)
            done = subprocess.run(
                ["sh", "-c", '"$0" submit t.jobrun.yaml --engine slurm' +
                 where, harness.JOBRUN], cwd=self.folder, text=True,
                env=harness.clean_environment(**self.path),
                stderr=subprocess.PIPE, timeout=harness.LIMIT)
            self.assertEqual(done.returncode, 7, done.stderr)
            self.assertIn(why, done.stderr)
            self.assertIn("the job was accepted: 4242", done.stderr)

    def test_a_job_that_is_not_taken(self):
        self.tool("sbatch", "#!/bin/sh\necho no such partition >&2\nexit 1\n")
        done = self.submit(7, "--engine", "slurm")
        self.assertIn("no such partition", done.stderr)
        self.assertIn("did not accept the job", done.stderr)

    def test_no_sbatch(self):
        done = self.submit(7, "--engine", "slurm", PATH=str(self.tools))
        self.assertIn("sbatch is not in PATH", done.stderr)

    def test_a_spec_with_a_mistake_is_not_submitted(self):
        self.tool("sbatch", "#!/bin/sh\ntouch submitted\n")
        self.submit(3, "--engine", "slurm", "-s", "nodse=1")
        self.assertFalse((self.folder / "submitted").exists())

    def test_other_engines(self):
        done = self.submit(2, "--engine", "kubernetes")
        self.assertIn("kubectl apply", done.stderr)
        self.submit(2)


if __name__ == "__main__":
    harness.main()
