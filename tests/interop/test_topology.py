"""Cores, NUMA nodes and caches of this machine: jobrun's own reading of sysfs
against that of hwloc."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

if shutil.which("hwloc-calc") is None:
    print("SKIPPED: no hwloc-calc: install hwloc or hwloc-nox")
    sys.exit(77)


def of_hwloc(kind):
    env = {**os.environ, "HWLOC_COMPONENTS": "linux,stop"}
    done = subprocess.run(["hwloc-calc", "-N", kind, "all"], env=env,
                          capture_output=True, text=True, check=False,
                          timeout=60)
    return int(done.stdout or "-1")


def of_jobrun():
    with tempfile.TemporaryDirectory() as folder:
        text = subprocess.run([os.environ["JOBRUN"], "doctor", "--format",
                               "yaml"], cwd=folder, capture_output=True,
                              text=True, check=True, timeout=60).stdout
    facts, level = {"L2Cache": 0, "L3Cache": 0, "numa": 0}, None
    part = None
    for line in text.splitlines():
        key, _, value = line.strip().lstrip("- ").partition(": ")
        value = value.strip('"')
        if line.startswith("  ") and not line.startswith("   "):
            part = key.rstrip(":")
        if line.startswith("  ") and key in ("online", "usable", "cores"):
            facts[key] = int(value)
        elif part == "numa" and key == "index":
            facts["numa"] += 1
        elif part == "caches" and key == "level":
            level = f"L{value}Cache"
        elif part == "caches" and key == "cpus":
            facts[level] = facts.get(level, 0) + len(value.split())
    return facts


class Topology(unittest.TestCase):
    def test_agrees_with_hwloc(self):
        ours = of_jobrun()
        if ours["usable"] != ours["online"]:
            self.skipTest("hwloc does not look at this process's affinity")
        for kind, key in (("core", "cores"), ("numa", "numa"),
                          ("L2Cache", "L2Cache"), ("L3Cache", "L3Cache")):
            theirs = of_hwloc(kind)
            # hwloc makes up one NUMA node, where the kernel tells of none.
            if kind == "numa" and ours[key] == 0:
                self.assertEqual(theirs, 1)
                continue
            self.assertEqual(ours[key], max(theirs, 0), kind)


if __name__ == "__main__":
    unittest.main()
