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


class Hostlist(unittest.TestCase):
    def test_both_expand_alike(self):
        dice = random.Random(20260101)
        lists = FIXED + [",".join(item(dice)
                                  for _ in range(dice.randrange(1, 4)))
                         for _ in range(40)]
        with tempfile.NamedTemporaryFile("w", suffix=".conf") as config:
            config.write(CONFIG)
            config.flush()
            for hosts in lists:
                with self.subTest(hosts):
                    theirs = subprocess.run(
                        ["scontrol", "show", "hostnames", hosts], check=True,
                        env=dict(os.environ, SLURM_CONF=config.name),
                        timeout=60, capture_output=True, text=True).stdout
                    ours = subprocess.run(
                        [os.environ["JOBRUN"], "doctor", "--format", "yaml"],
                        env={"SLURM_JOB_ID": "1", "SLURM_JOB_NODELIST": hosts},
                        check=True, timeout=60, capture_output=True,
                        text=True).stdout
                    found = re.search(r'^  hosts: "?([^"\n]*)', ours, re.M)
                    self.assertEqual(found[1].split(","), theirs.split())


if __name__ == "__main__":
    unittest.main()
