"""Lists of hosts: jobrun's reading against that of Slurm's own scontrol."""
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

if shutil.which("scontrol") is None:
    print("SKIPPED: no scontrol: install slurm-client")
    sys.exit(77)

CONFIG = """ClusterName=x
SlurmctldHost=localhost
AuthType=auth/none
CredType=cred/none
NodeName=n1
PartitionName=p Nodes=ALL
"""
FIXED = ["localhost", "gpu[01-04,7],login3", "n[09-11]", "n[099-101]", "n[0]",
         "x[1-2]y[8-9],z", "a[1-2]b[3-4]c[5-6]", "a[1-2]b[3-4]c[5-6]d[7-8]",
         "a,b,a", "n[3,1,3]"]


def ranges(dice):
    low = dice.randrange(0, 120)
    width = dice.randrange(1, 4)
    first = f"{low:0{width}d}"
    return first if dice.random() < 0.3 else \
        f"{first}-{low + dice.randrange(0, 12):0{len(first)}d}"


def item(dice):
    text = ""
    for _ in range(dice.randrange(0, 4)):
        text += dice.choice(["n", "rack", "gpu-", "a.b-"])
        text += "[" + ",".join(ranges(dice)
                               for _ in range(dice.randrange(1, 4))) + "]"
    return text or f"host{dice.randrange(9)}"


def spoil(dice, text):
    """With a character too many, too few, or another one."""
    at = dice.randrange(len(text) + 1)
    instead = dice.choice(["", "[", "]", ",", "-", " ", "0", "9", "n", ":"])
    return text[:at] + instead + text[at + dice.randrange(2):]


class Hostlist(unittest.TestCase):
    """LISTS is how many are made up, and how many of those are spoilt."""

    def setUp(self):
        self.dice = random.Random(20260101)
        config = tempfile.NamedTemporaryFile("w", suffix=".conf")
        self.addCleanup(config.close)
        config.write(CONFIG)
        config.flush()
        self.config = config.name

    def make(self):
        return [",".join(item(self.dice)
                         for _ in range(self.dice.randrange(1, 4)))
                for _ in range(int(os.environ.get("LISTS", 40)))]

    def theirs(self, hosts):
        return subprocess.run(
            ["scontrol", "--", "show", "hostnames", hosts], check=True,
            env=dict(os.environ, SLURM_CONF=self.config), timeout=60,
            capture_output=True, text=True).stdout.split()

    @staticmethod
    def ours(hosts):
        """The hosts; None where that is no list."""
        told = subprocess.run(
            [os.environ["JOBRUN"], "doctor", "--format", "yaml"],
            env={"SLURM_JOB_ID": "1", "SLURM_JOB_NODELIST": hosts},
            check=True, timeout=60, capture_output=True, text=True).stdout
        found = re.search(r'^  hosts: "?([^"\n]*)', told, re.M)[1]
        refused = "SLURM_JOB_NODELIST cannot be read" in told
        return None if refused else found.split(",")

    def test_both_expand_alike(self):
        for hosts in FIXED + self.make():
            with self.subTest(hosts):
                self.assertEqual(self.ours(hosts), self.theirs(hosts))

    def test_what_is_spoilt_is_refused_or_read_alike(self):
        refused = 0
        for hosts in self.make():
            spoilt = spoil(self.dice, hosts)
            with self.subTest(spoilt):
                ours = self.ours(spoilt)
                refused += ours is None
                if ours is not None:
                    self.assertEqual(ours, self.theirs(spoilt))
        self.assertGreater(refused, 0)


if __name__ == "__main__":
    unittest.main()
