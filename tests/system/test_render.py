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
