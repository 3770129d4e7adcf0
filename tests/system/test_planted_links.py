"""What a rank can plant in the run folder: jobrun writes through no link, and
takes nothing that stands there for its own."""
import json
import os

import harness

HEAD = "version: 1\nname: t\ndevice: cpu\n"
# The first attempt plants something; the second is to fail.
PLANTING = HEAD + """\
world_size: 1
restart: {max: 1}
entrypoint:
  shell: |
    cd "$JOBRUN_RUN_DIR"
    [ "$JOBRUN_ATTEMPT" = 0 ] || exit 0
    %s
    echo planted
    exit 1
"""


class Case(harness.Case):
    def setUp(self):
        super().setUp()
        self.outside = self.folder / "outside"
        self.outside.mkdir()

    def assert_untouched(self):
        self.assertEqual([str(path) for path in self.outside.rglob("*")
                          if not path.is_dir()], [])


class Attempts(Case):
    def test_what_stands_in_the_next_ones_place_is_refused(self):
        for plant in ("ln -s ../../outside attempt_1",
                      "ln -s nowhere attempt_1", "mkdir attempt_1",
                      "mkfifo attempt_1", "touch attempt_1"):
            with self.subTest(plant):
                spec = self.write("t.jobrun.yaml", PLANTING % plant)
                done = self.expect(self.jobrun(spec), 7)
                self.assertIn("could not make its folder: there is "
                              "something in its place that jobrun did not "
                              "create", done.stderr)
                self.assert_untouched()
                self.assertEqual(self.results()["exit_code"], 7)

    def test_events_that_cannot_be_written_hold_nothing(self):
        spec = self.write("t.jobrun.yaml", PLANTING % (
            "rm events.jsonl; mkfifo events.jsonl"))
        self.expect(self.jobrun(spec), 0)

    def test_the_setup_of_the_next_one(self):
        spec = self.write("t.jobrun.yaml", PLANTING %
                          "ln -s ../../outside attempt_1" +
                          "setup: 'echo set up'\n")
        done = self.expect(self.jobrun(spec), 7)
        self.assertIn("there is something in its place", done.stderr)
        self.assert_untouched()


class Ranks(Case):
    """Before a rank's start: by the setup, or by the helper's imports."""

    def test_a_folder_of_a_rank(self):
        for plant in ("ln -s ../../../outside", "mkdir", "mkfifo"):
            with self.subTest(plant):
                spec = self.write("t.jobrun.yaml", HEAD + f"""\
world_size: 2
setup: {plant} runs/latest/attempt_0/1
entrypoint: [echo, hello]
redirects: all
""")
                done = self.expect(self.jobrun(spec), 7)
                self.assertIn("rank 1 could not make its folder: there is "
                              "something in its place", done.stderr)
                self.assert_untouched()

    def test_a_folder_of_a_forked_rank(self):
        self.write("planter.py", "import os\n"
                   "os.symlink('../../../outside', "
                   "os.environ['JOBRUN_RUN_DIR'] + '/attempt_0/1')\n"
                   "def main():\n    return 1\n")
        spec = self.write("t.jobrun.yaml", HEAD + """\
world_size: 2
start_method: forkserver
preload: [planter]
entrypoint: {python: {function: "planter:main"}}
""")
        done = self.expect(self.jobrun(
            spec, env={"PYTHONPATH": str(self.folder) + os.pathsep +
                       os.environ.get("PYTHONPATH", "")}), 7)
        self.assertIn("rank 1 could not make its folder: there is "
                      "something in its place", done.stderr)
        self.assert_untouched()

    def test_evidence_of_a_hang(self):
        (self.outside / "0").mkdir()
        spec = self.write("t.jobrun.yaml", HEAD + """\
world_size: 1
timeouts: {silence: 1s, stop_grace: 1s}
on_hang: {wait: 100ms}
entrypoint:
  shell: |
    cd "$JOBRUN_RUN_DIR"
    mv attempt_0 moved
    ln -s ../../outside attempt_0
    exec sleep 1000
""")
        self.expect(self.jobrun(spec), 6)
        self.assert_untouched()
        self.assertIn("evidence_failed", [event["event"]
                                          for event in self.events()])


    def test_a_command_on_a_hang_is_not_held(self):
        """Its output goes to a file in the rank's folder."""
        spec = self.write("t.jobrun.yaml", HEAD + """\
world_size: 1
timeouts: {silence: 1s, stop_grace: 1s}
on_hang: {command: [echo, x], wait: 1s}
entrypoint:
  shell: |
    mkfifo "$JOBRUN_RANK_DIR/hang.txt"
    exec sleep 1000
""")
        self.expect(self.jobrun(spec), 6)


class Logs(Case):
    """What is read later, as of a folder that another user planted."""

    def setUp(self):
        super().setUp()
        self.expect(self.jobrun("-n", "1", "--run-id", "exp", "--", "sh", "-c",
                                "echo mine >&2; exit 3"), 1)
        self.run = self.folder / "runs/exp"
        (self.outside / "stderr.log").write_text("secret\n")
        (self.outside / "stdout.log").write_text("secret\n")

    def told(self):
        return "".join(
            text for words in (["logs"], ["show"], ["report"],
                               ["report", "--format", "html"])
            for text in (lambda done: (done.stdout, done.stderr))(
                self.jobrun(*words)))

    def test_a_link_is_not_followed(self):
        self.assertIn("mine", self.told())
        rank = self.run / "attempt_0/0"
        rank.rename(self.folder / "moved")
        rank.symlink_to(self.outside)
        self.assertNotIn("secret", self.told())

    def test_a_path_that_leads_out_is_not_read(self):
        path = self.run / "results.json"
        results = json.loads(path.read_text())
        for name in (str(self.outside / "stderr.log"),
                     "../../outside/stderr.log"):
            for rank in results["ranks"]:
                rank["stderr"] = rank["stdout"] = name
            path.write_text(json.dumps(results))
            self.assertNotIn("secret", self.told())


if __name__ == "__main__":
    harness.main()
