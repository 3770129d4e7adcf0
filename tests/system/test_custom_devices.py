"""Devices of the user's own kind: facts beside the spec, and programs that
print them, good and bad."""
import json
import os
import select
import unittest

import harness

SPEC = """version: 1
entrypoint: {shell: "echo $LOCAL_RANK sees $ACME_VISIBLE"}
device: custom:acme
backends: custom:acme
"""
FACTS = """format_version: 1
variable: ACME_VISIBLE
devices:
- {index: 0, model: Acme X1, uuid: ACME-a1, memory: 16GiB}
- {index: 1, model: Acme X1, uuid: ACME-b2}
- {index: 4, model: Acme X1, uuid: ACME-b7}
"""
HANGS = """#!/bin/sh
echo $$ >shell.pid
sleep 1000 &
echo $! >sleep.pid
wait
"""


class Custom(harness.Case):
    def setUp(self):
        super().setUp()
        self.write("job.jobrun.yaml", SPEC)

    def program(self, text, mode=0o755):
        self.write("acme.facts", text).chmod(mode)

    def plan(self, *words, **env):
        done = self.jobrun("plan", "job.jobrun.yaml", "--json", *words,
                           env=harness.clean_environment(**env))
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["ranks"]

    def refused(self, *told, code=4):
        done = self.jobrun("plan", "job.jobrun.yaml")
        self.assertEqual((done.returncode, done.stdout), (code, ""),
                         done.stderr)
        for text in told:
            self.assertIn(text, done.stderr)
        return done.stderr

    def devices(self, **env):
        return [rank["device"] for rank in self.plan(**env)]

    def test_a_file_tells_them(self):
        self.write("acme.facts.yaml", FACTS)
        ranks = self.plan()
        self.assertEqual([rank["device"] for rank in ranks], ["0", "1", "4"])
        self.assertEqual(ranks[0]["env"]["ACME_VISIBLE"], "0,1,4")
        one = self.plan("-s", "device_visibility=one")
        self.assertEqual([rank["env"]["ACME_VISIBLE"] for rank in one],
                         ["0", "1", "4"])

    def test_their_variable_narrows_them(self):
        self.write("acme.facts.yaml", FACTS)
        for value, left in (("4,0", ["4", "0"]), ("ACME-b7,1", ["4", "1"]),
                            ("ACME-a", ["0"]), ("1,ACME-b,0", ["1"]),
                            ("0,0,1", ["0"]), ("1,2,0", ["1"])):
            self.assertEqual(self.devices(ACME_VISIBLE=value), left, value)
        for value in ("", "-1", "ACME-b", "all"):
            done = self.jobrun("plan", "job.jobrun.yaml",
                               env=harness.clean_environment(
                                   ACME_VISIBLE=value))
            self.assertEqual(done.returncode, 4)
            self.assertIn("JR0412", done.stderr)

    def test_a_listed_one_must_be_there(self):
        self.write("acme.facts.yaml", FACTS)
        self.assertEqual(len(self.plan("-s", "devices=[4, 0]")), 2)
        done = self.jobrun("plan", "job.jobrun.yaml", "-s", "devices=[3]")
        self.assertEqual(done.returncode, 4)
        self.assertIn("custom:acme device 3 does not exist here", done.stderr)

    def test_a_program_tells_them(self):
        self.write("f.yaml", FACTS)
        self.program("#!/bin/sh\necho words >&2\nread x && exit 9\n"
                     "cat f.yaml\n")
        self.assertEqual(self.devices(), ["0", "1", "4"])
        self.assertEqual(self.devices(ACME_VISIBLE="1"), ["1"])
        run = self.jobrun("job.jobrun.yaml")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("[2] 2 sees 0,1,4", run.stdout + run.stderr)

    def test_nothing_is_run_where_the_machine_is_another(self):
        self.program("#!/bin/sh\ntouch ran\nexit 1\n")
        for words in (["validate", "job.jobrun.yaml"],
                      ["validate", "job.jobrun.yaml", "--on", "1x0"],
                      ["plan", "job.jobrun.yaml", "--on", "1x0", "-s",
                       "world_size=2"],
                      ["schema"], ["doctor"],
                      ["plan", "job.jobrun.yaml", "-s", "device=cpu", "-s",
                       "backends=gloo"]):
            done = self.jobrun(*words)
            self.assertIn(done.returncode, (0, 4), (words, done.stderr))
        self.assertFalse((self.folder / "ran").exists())
        self.refused("exited with code 1")
        self.assertTrue((self.folder / "ran").exists())

    def test_without_either_the_spec_has_to_say(self):
        self.refused("JR0450", "NAME.facts")
        self.assertEqual(len(self.plan("-s", "world_size=2")), 2)

    def test_paddle_drives_them_by_xccl(self):
        """Where the spec and the environment say nothing else."""
        self.write("acme.facts.yaml", FACTS)
        self.write("job.jobrun.yaml", SPEC.replace("backends: custom:acme\n",
                                                   ""))
        for profiles, words, env, backend in (
                ("[paddle]", [], {}, "xccl"),
                ("[torch, paddle]", [], {}, "xccl"),
                ("[paddle]", ["-s", "backends=gloo"], {}, "gloo"),
                ("[paddle]", ["-s", "backends=custom:acl"], {}, "acl"),
                ("[paddle]", [], {"TORCH_DISTRIBUTED_BACKEND": "gloo"},
                 "gloo")):
            with self.subTest(profiles, words=words, env=env):
                ranks = self.plan("-s", "env_profiles=" + profiles, *words,
                                  **env)
                self.assertEqual([rank["env"]["PADDLE_DISTRI_BACKEND"]
                                  for rank in ranks], [backend] * 3)
        self.refused("JR0450", "backends is MISSING", code=3)
        done = self.jobrun("resolve", "job.jobrun.yaml", "--explain", "-s",
                           "env_profiles=[paddle]")
        self.assertRegex(done.stdout, "xccl .*device custom:acme")

    def test_a_facts_file_may_have_them(self):
        self.write("machine.yaml", "format_version: 1\n"
                   "custom_variable: ACME_VISIBLE\ndevices:\n"
                   "- {kind: custom, index: 0}\n- {kind: custom, index: 1}\n")
        ranks = self.plan("--on", "machine.yaml")
        self.assertEqual(ranks[1]["env"]["ACME_VISIBLE"], "0,1")

    def test_a_bad_program_is_told(self):
        at = "job.jobrun.yaml:3:9: error[JR0485]: acme.facts "
        for text, *told in (
                ("#!/bin/sh\nexit 3\n", at + "exited with code 3", "by hand"),
                ("#!/bin/sh\necho no license >&2\nexit 1\n",
                 at + "exited with code 1", "its last output: no license"),
                ("#!/bin/sh\nkill -SEGV $$\n", at + "died by SIGSEGV"),
                ("#!/nowhere/python\n", at + "exited with code 127",
                 "its last output: No such file"),
                ("no program\n", at + "exited with code 127",
                 "its last output: Exec format error"),
                ("#!/bin/sh\nyes\n", at + "printed more than 1048576 bytes")):
            self.program(text)
            self.refused(*told)
        self.program("#!/bin/sh\necho\n", 0o644)
        self.refused(at + "is not executable", "chmod +x")
        self.program("#!/bin/sh\necho\n", 0o757)
        self.refused(at + "is a program that everybody may write to")
        self.program("#!/bin/sh\necho\n")
        self.write("acme.facts.yaml", FACTS)
        self.refused(at + "exists, and so does .facts.yaml", "remove one")

    def test_garbage_is_told_where_it_stands(self):
        name = "output of acme.facts"
        for text, told in (
                ("", f"{name}:1:1: error[JR0116]"), ("garbage: [", f"{name}:"),
                ("- 1", f"{name}:1:1: error[JR0483]"),
                ("devices: []", f"{name}:1:1: error[JR0484]: "
                 "'format_version' is missing"),
                ("format_version: 1", f"{name}:1:1: error[JR0484]: 'devices'"),
                ("format_version: 1\ndevices: [{model: x}]",
                 f"{name}:2:11: error[JR0484]: 'index' is missing"),
                ("format_version: 1\ndevices: []\nvariable: A-B",
                 f"{name}:3:11: error[JR0483]: 'variable' wants the name"),
                ("format_version: 1\ndevices: []\nvariabel: A",
                 "did you mean 'variable'?"),
                ("format_version: 1\ndevices: [{index: 0}, {index: 0}]",
                 f"{name}:2:23: error[JR0486]: devices 0 and 1 are of one")):
            self.program(f"#!/bin/sh\ncat <<'E'\n{text}\nE\n")
            self.refused(told)

    def test_none_is_an_answer(self):
        self.program("#!/bin/sh\necho 'format_version: 1'\necho 'devices: []'\n")
        self.refused("JR0412", "no custom:acme device is visible here")

    def test_one_that_hangs_is_killed_with_its_children(self):
        self.program(HANGS)
        self.refused("gave no answer within 10 s")
        for name in ("shell", "sleep"):
            pid = int((self.folder / f"{name}.pid").read_text())
            self.assertTrue(self.ends(pid), name)

    @staticmethod
    def ends(pid):
        """It was killed; only that may take its time."""
        try:
            fd = os.pidfd_open(pid)
        except ProcessLookupError:
            return True
        with os.fdopen(fd) as file:
            return bool(select.select([file], [], [], harness.LIMIT)[0])


if __name__ == "__main__":
    unittest.main()
