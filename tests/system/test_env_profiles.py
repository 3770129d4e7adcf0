"""env_profiles: what each framework documents is found by a program that was
written against its documentation, and only where the profile asks for it."""
import json
import os
import pathlib
import shutil
import time

import harness

PROGRAM = pathlib.Path(__file__).parent / "profiles" / "finds.py"
SPEC = """\
version: 1
entrypoint: [python3, finds.py, {profile}]
env_profiles: [{profile}]
world_size: 3
device: cpu
oversubscribe: true
timeouts: {{run: 2m}}
mpi: none
"""


class Profiles(harness.Case):
    def setUp(self):
        super().setUp()
        shutil.copy(PROGRAM, self.folder)

    def finds(self, profile, *words, **environment):
        self.write("job.yaml", SPEC.format(profile=profile))
        self.expect(self.jobrun("job.yaml", *words, env=environment), 0)

    def test_torch(self):
        self.finds("torch")

    def test_paddle(self):
        self.finds("paddle", http_proxy="http://nowhere:1",
                   https_proxy="http://nowhere:1")

    def test_paddle_rehearses_several_nodes(self):
        self.finds("paddle", "--local", "-s", "nodes=3")

    def test_megengine(self):
        self.finds("megengine")

    def test_mpi(self):
        self.finds("mpi")

    def test_a_jobrun_inside_a_rank(self):
        """What a profile sets is no allocation: each inner job is whole, and
        has a port of its own."""
        inner = f"'{harness.JOBRUN}' -n 2 -s device=cpu -s oversubscribe=true "\
            "-- sh -c 'echo $RANK of $WORLD_SIZE on $GROUP_WORLD_SIZE'"
        self.write("job.yaml", SPEC.format(profile="mpi").replace(
            "[python3, finds.py, mpi]", "{shell: %s}" % json.dumps(inner)))
        done = self.expect(self.jobrun(
            "job.yaml", "--local", "-s", "nodes=3", "-s",
            "env_profiles=[torch, paddle, megengine, mpi]"), 0)
        shown = sorted(line for line in done.stdout.splitlines()
                       if line.endswith(" of 2 on 1"))
        self.assertEqual(shown, [f"[{outer}] [{rank}] {rank} of 2 on 1"
                                 for outer in range(3) for rank in range(2)])

    def test_a_profile_that_is_not_asked_for_is_not_there(self):
        self.write("job.yaml", SPEC.format(profile="mpi"))
        done = self.jobrun("job.yaml", "-s", "env_profiles=[paddle]")
        self.expect(done, 1)
        self.assertIn("OMPI_COMM_WORLD_RANK is not set", done.stdout +
                      done.stderr)

    def await_file(self, name):
        until = time.monotonic() + harness.LIMIT
        while not (self.folder / name).exists():
            self.assertLess(time.monotonic(), until, name)
            time.sleep(0.01)

    def plan(self, *words):
        done = self.expect(self.jobrun("plan", "job.yaml", "--json", *words), 0)
        return [rank["env"] for rank in json.loads(done.stdout)["ranks"]]

    def test_paddle_on_several_nodes(self):
        self.write("job.yaml", SPEC.format(profile="paddle"))
        ragged = ("-s", "world_size=null", "-s", "local_world_size=[2,1]",
                  "--on", "2x0,4c", "--node-rank", "0")
        done = self.expect(self.jobrun("plan", "job.yaml", *ragged,
                                       "-s", "master_addr=a"), 4)
        self.assertIn("JR0433", done.stderr)
        ranks = self.plan(*ragged, "-s", "hosts=[a, 'fe80::1']")
        self.assertEqual(ranks[0]["PADDLE_TRAINER_ENDPOINTS"],
                         "a:29501,a:29502,[fe80::1]:29501")
        self.assertEqual([rank["PADDLE_CURRENT_ENDPOINT"] for rank in ranks],
                         ["a:29501", "a:29502", "[fe80::1]:29501"])
        done = self.expect(
            self.jobrun("plan", "job.yaml", *ragged, "-s", "hosts=[a, b]",
                        "-s", "master_port=65534"), 3)
        self.assertIn("rank 1 would be above 65535", done.stderr)

    def test_paddle_names_the_device(self):
        self.write("job.yaml", SPEC.format(profile="paddle").replace(
            "device: cpu", "device: auto").replace("3", "4"))
        for machine, flag, variable in (
                ("1x4:H100", "FLAGS_selected_gpus", "CUDA_VISIBLE_DEVICES"),
                ("1x4:MI300X", "FLAGS_selected_gpus", "ROCR_VISIBLE_DEVICES"),
                ("1x4:P800", "FLAGS_selected_xpus", "XPU_VISIBLE_DEVICES"),
                ("1x4:910B", "FLAGS_selected_npus",
                 "ASCEND_RT_VISIBLE_DEVICES"),
                ("1x4:MLU590", "FLAGS_selected_mlus", "MLU_VISIBLE_DEVICES")):
            with self.subTest(machine):
                # Ascend's is read in ascending order only.
                order = "0,1,2,3" if "910" in machine else "3,2,1,0"
                ranks = self.plan("--on", machine, "-s",
                                  "devices=[%s]" % order)
                self.assertEqual([rank[flag] for rank in ranks],
                                 ["0", "1", "2", "3"])
                self.assertEqual(ranks[0][variable], order)
                self.assertEqual(1, sum(name.startswith("FLAGS_selected")
                                        for name in ranks[0]))
                ranks = self.plan("--on", machine,
                                  "-s", "device_visibility=one")
                self.assertEqual([rank[flag] for rank in ranks], ["0"] * 4)

    def test_devices_that_nobody_can_count(self):
        self.write("job.yaml", SPEC.format(profile="paddle").replace(
            "device: cpu", "device: xpu"))
        self.assertEqual([rank["FLAGS_selected_xpus"] for rank in self.plan()],
                         ["0", "1", "2"])

    def test_mpi_that_makes_no_world(self):
        """It is said so at the start: MPI_Init would find a world of one in each
        of the ranks."""
        self.write("job.yaml", "version: 1\nentrypoint: {python: {function: "
                   "'job:main'}}\nworld_size: 2\nenv_profiles: [mpi]\n"
                   "start_method: fork\n")
        self.write("job.py", "def main():\n    return 1\n")
        done = self.expect(self.jobrun("job.yaml"), 0)
        self.assertIn("warning[JR0328]: with start_method: fork the mpi profile "
                      "sets variables only", done.stderr)
        self.assertLess(done.stderr.index("JR0328"),
                        done.stderr.index("2 ranks on 1 node"))
        done = self.expect(self.jobrun("job.yaml", "-s",
                                       "env_profiles=[torch]"), 0)
        self.assertNotIn("JR0328", done.stderr)

    def test_two_jobs_at_once_share_no_port(self):
        """The first holds its ports while the second takes its own."""
        self.write("job.yaml", SPEC.format(profile="paddle").replace(
            "[python3, finds.py, paddle]",
            '{shell: "echo $PADDLE_TRAINER_ENDPOINTS >ends.%{rank}; '
            'mv ends.%{rank} $1.%{rank}; read x <fifo; :"}').replace(
            "$1", "first"))
        os.mkfifo(self.folder / "fifo")
        first = self.start("job.yaml")
        self.await_file("first.0")
        second = self.plan()[0]
        ends = (self.folder / "first.0").read_text().strip().split(",")
        theirs = second["PADDLE_TRAINER_ENDPOINTS"].split(",")
        self.assertEqual(len(set(ends + theirs)), 6)
        self.assertNotIn(second["PADDLE_MASTER"], ends)
        self.end(first)

    def test_xpu_is_kunlun_for_paddle_alone(self):
        self.write("job.yaml", SPEC.format(profile="paddle").replace(
            "device: cpu", "device: xpu"))
        kunlun = self.plan("--on", "1x4:P800")[0]
        self.assertEqual(kunlun["PADDLE_DISTRI_BACKEND"], "bkcl")
        self.assertNotIn("ZE_AFFINITY_MASK", kunlun)
        intel = self.plan("--on", "1x4:Max1550", "-s", "env_profiles=[torch]")
        self.assertEqual(intel[0]["TORCH_DISTRIBUTED_BACKEND"], "xccl")
        self.assertNotIn("XPU_VISIBLE_DEVICES", intel[0])
        self.assertNotIn("PADDLE_TRAINER_ID", intel[0])

    def test_profiles_own_their_variables(self):
        self.write("job.yaml", SPEC.format(profile="paddle") +
                   "env: {PADDLE_TRAINER_ID: 3, RANK: 1, http_proxy: x,"
                   " OMPI_COMM_WORLD_RANK: 1}\n")
        done = self.expect(self.jobrun("validate", "job.yaml"), 3)
        self.assertIn("jobrun sets PADDLE_TRAINER_ID for each rank",
                      done.stdout)
        self.assertIn("2 errors", done.stdout)


if __name__ == "__main__":
    harness.main()
