"""What jobrun knows of the accelerators of this machine, against the vendor's
own tool (smi.py). Exit status 77: there is none, or it tells nothing."""
import shutil
import sys

import harness
import smi

try:
    import yaml
except ImportError:
    print("SKIPPED: devices are not compared: no yaml (python3-yaml)")
    sys.exit(77)

PROGRAM = shutil.which("nvidia-smi")
if PROGRAM is None:
    print("SKIPPED: no nvidia-smi: devices are compared on machines with "
          "NVIDIA's driver only")
    sys.exit(77)
try:
    ROWS, LISTED = smi.gpus(PROGRAM), smi.instances(PROGRAM)
except smi.Broken as error:
    print(f"SKIPPED: {PROGRAM} tells of no device: {error}")
    sys.exit(77)
if not ROWS:
    print(f"SKIPPED: {PROGRAM} has no GPU")
    sys.exit(77)


class Nvidia(harness.Case):
    def facts(self, **env):
        done = self.expect(
            self.jobrun("doctor", "--format", "yaml", env=env), 0)
        return yaml.safe_load(done.stdout)

    def test_gpus(self):
        self.assertEqual(smi.differences(ROWS, self.facts()), [])

    def test_gpus_whatever_is_visible(self):
        for value in (ROWS[-1]["index"], ROWS[-1]["uuid"], ""):
            facts = self.facts(CUDA_VISIBLE_DEVICES=value)
            self.assertEqual(smi.differences(ROWS, facts), [])
            self.assertEqual([device["uuid"] for device in smi.cuda(facts)
                              if device["visible"]],
                             [ROWS[-1]["uuid"]] if value else [])

    def test_instances(self):
        if not LISTED:
            self.skipTest("SKIPPED: no GPU here has MIG instances")
        self.assertEqual(smi.instance_differences(
            LISTED, self.facts(CUDA_VISIBLE_DEVICES=LISTED[0][0])), [])

    def test_nothing_is_wrong_with_them(self):
        self.assertEqual([problem for problem in self.facts()["problems"]
                          if problem.get("kind") == "cuda"], [])


if __name__ == "__main__":
    print(f"comparing with {PROGRAM}: {len(ROWS)} GPUs, "
          f"{len(LISTED)} MIG instances")
    harness.main()
