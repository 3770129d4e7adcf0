"""From a bare Debian 12 with Python to a verified run of torch on two ranks: the
wheel, and four commands, in less than three minutes. And README.md there, from its
first line up to the table of tasks.

The image has Debian's own torch, so that its download is no part of the time.
"""
import os
import pathlib
import re
import sys
import time
import unittest

import bare_root

SOURCE = pathlib.Path(os.environ["SOURCE"])
sys.path.insert(0, str(SOURCE / "tests/system"))

import guide  # noqa: E402

RELEASE = pathlib.Path(os.environ["RELEASE"])
MOST = 180  # seconds of a person's time
# What somebody has who comes from torchrun; the ranks add up their numbers.
TRAIN = """\
import json
import os
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
value = torch.tensor([dist.get_rank() + 1.0])
dist.all_reduce(value)
print("rank", dist.get_rank(), "of", dist.get_world_size(), "has", value.item())
with open(os.environ["JOBRUN_RESULT_FILE"], "w") as file:
    json.dump({"sum": value.item()}, file)
"""
COMMANDS = ("python3 -m venv --system-site-packages env",
            "env/bin/pip install --no-index jobrun-*.whl",
            "env/bin/jobrun new torch -o train.jobrun.yaml",
            "env/bin/jobrun train.jobrun.yaml")
# What is typed where the new spec has it in comments.
EXPECTED = ("results: {fields: {sum: {type: number, min: 3, max: 3}}, equal: [sum]}\n"
            "oversubscribe: true\n")


def setUpModule():
    why = bare_root.why_not()
    if why or not RELEASE.is_dir():
        raise unittest.SkipTest(why or "no release could be made")


class FirstMinutes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = bare_root.Root(bare_root.NEW, "python3-venv", "python3-torch")
        cls.addClassCleanup(cls.root.remove)
        cls.root.put("/w", *RELEASE.glob("*.whl"))
        cls.root.write("/w/train.py", TRAIN)

    def told(self, command):
        """What it prints, on both streams."""
        return self.root.run(f"cd /w; {command} 2>&1")

    def test_a_run_of_torch_by_four_commands(self):
        self.assertEqual(self.root.run("command -v cc jobrun || echo none"),
                         "none\n")
        begin = time.monotonic()
        for command in COMMANDS[:-1]:
            self.told(command)
        spec = self.root.path / "w/train.jobrun.yaml"
        text = spec.read_text().replace("world_size: auto", "world_size: 2")
        spec.write_text(text + EXPECTED)
        told = self.told(COMMANDS[-1])
        took = time.monotonic() - begin
        for rank in range(2):
            self.assertIn(f"[{rank}] rank {rank} of 2 has 3.0", told)
        self.assertIn("2 of 2 ranks delivered, 0 processes left", told)
        print(f"four commands took {took:.0f} s")
        self.assertLess(took, MOST)

    def compare(self, command, expected, code, told):
        """Where a page shows nothing, what is printed is not compared."""
        output, _, status = told.rstrip("\n").rpartition("status ")
        self.assertEqual(status, code, (command, told))
        while expected and not expected[-1]:
            expected.pop()  # an empty line before the next command
        if expected and not guide.shows(guide.same(expected), guide.same(
                output.splitlines(), "/readme")):
            self.assertEqual("\n".join(expected), output, command)

    def test_what_the_readme_shows(self):
        """Each line, in one folder, and what it prints. A checkout is not there."""
        self.root.put("/readme", *RELEASE.glob("*.whl"))
        shell, followed = "cd /readme; ", []
        text = (SOURCE / "README.md").read_text().partition("\n## Tasks\n")[0]
        for language, words, body in guide.blocks(text):
            if "file" in words:
                self.root.write("/readme/" + words["file"], body)
                continue
            self.assertEqual(language, "console")
            found = [one[1:] for one in guide.commands(body)
                     if not one[1].startswith("tools/")]
            codes = ["0"] * (len(found) - 1) + [words.get("status", "0")]
            for (command, expected), code in zip(found, codes):
                told = self.root.run(f"{shell}({command}) 2>&1 && echo status 0 || "
                                     "echo status $?")
                if command.startswith(". "):
                    shell += command + "; "
                self.compare(command, expected, code, told)
                followed.append(command)
        self.assertEqual(followed[:3], [
            "python3 -m venv env", ". env/bin/activate", "pip install jobrun-*.whl"])
        self.assertGreater(len(followed), 8)

    def test_a_wrong_sum_is_no_success(self):
        """The run is verified: the same with another sum fails."""
        for command in COMMANDS[:-1]:
            self.told(command.replace("train.jobrun", "wrong.jobrun"))
        with open(self.root.path / "w/wrong.jobrun.yaml", "a") as spec:
            spec.write(EXPECTED.replace("3", "4"))
        with self.assertRaisesRegex(AssertionError, "'sum' is .*, less than 4"):
            self.told("env/bin/jobrun wrong.jobrun.yaml -s world_size=2")


if __name__ == "__main__":
    unittest.main()
