"""That the comparison of jobrun's facts with nvidia-smi (smi.py) finds what it
is to find: a stand-in of nvidia-smi, on machines that are folders, with NVIDIA's
library as tests/unit/hw/fake_nvml.c has it."""
import os
import pathlib
import subprocess
import sys

import harness
import smi

try:
    import yaml
except ImportError:
    print("SKIPPED: facts cannot be read: no yaml (python3-yaml)")
    sys.exit(77)

MODEL = "NVIDIA A100-SXM4-40GB"
UUID = "GPU-7f3a9c4-5d10-4e6b-9a27-b0c4d5e6f70"
MIG = "MIG-2f6b3c1d-8e4a-5b7f-9c0d-00000000000"

# As drivers 535 print it.
LISTED = f"""\
GPU 0: {MODEL} (UUID: {UUID}0)
  MIG 3g.20gb     Device  0: (UUID: {MIG}0)
  MIG 3g.20gb     Device  1: (UUID: {MIG}2)
GPU 1: {MODEL} (UUID: {UUID}1)
"""

INFORMATION = """\
Model: \t\t {model}
IRQ:   \t\t 200
GPU UUID: \t {uuid}
Bus Type: \t PCIe
Bus Location: \t {bus}
Device Minor: \t {minor}
GPU Excluded:\t No
"""


class Stand(harness.Case):
    def setUp(self):
        super().setUp()
        self.root = self.folder / "root"
        (self.root / "dev").mkdir(parents=True)
        self.write("root/dev/nvidiactl", "")
        for minor in range(2):
            self.write(f"root/dev/nvidia{minor}", "")
        (self.root / "libnvidia-ml.so.1").symlink_to(os.environ["FAKE_NVML"])

    def driver(self, **changes):
        """/proc/driver/nvidia, where the minor numbers are not in the order of
        the bus, and UUIDs are the library's."""
        for bus, minor in (("0000:01:00.0", 1), ("0000:c1:00.0", 0)):
            values = {"model": MODEL, "uuid": f"{UUID}{minor}", "bus": bus,
                      "minor": minor, **changes}
            folder = self.root / "proc/driver/nvidia/gpus" / bus
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "information").write_text(INFORMATION.format(**values))

    def facts(self, **env):
        done = subprocess.run(
            [os.environ["FACTS"], self.root], check=True, capture_output=True,
            text=True, env=harness.clean_environment(**env),
            timeout=harness.LIMIT)
        return yaml.safe_load(done.stdout)

    def smi(self, rows="", listed=LISTED, status=0):
        """An nvidia-smi that says so."""
        self.write("rows", rows)
        self.write("listed", listed)
        path = pathlib.Path(self.write("nvidia-smi", f"""\
#!/bin/sh
case $1 in
-L) cat "{self.folder}/listed" ;;
--query-gpu=index,name,uuid,pci.bus_id,memory.total)
    [ "$2" = --format=csv,noheader,nounits ] && cat "{self.folder}/rows" ;;
*) exit 2 ;;
esac
exit {status}
"""))
        path.chmod(0o755)
        return path

    def row(self, index, number, bus, memory="40960"):
        return f"{index}, {MODEL}, {UUID}{number}, {bus}, {memory}\n"

    def by_bus(self):
        return self.row(0, 1, "00000000:01:00.0") + \
            self.row(1, 0, "00000000:C1:00.0")


class Agrees(Stand):
    def test_by_proc(self):
        self.driver()
        rows = smi.gpus(self.smi(self.by_bus()))
        self.assertEqual(len(rows), 2)
        self.assertEqual(smi.differences(rows, self.facts()), [])

    def test_by_the_library_alone(self):
        rows = smi.gpus(self.smi(self.row(0, 0, "00000000:C1:00.0") +
                                 self.row(1, 1, "00000000:01:00.0")))
        self.assertEqual(smi.differences(rows, self.facts()), [])

    def test_whatever_is_visible(self):
        self.driver()
        rows = smi.gpus(self.smi(self.by_bus()))
        for value in ("1", "1,0", "", UUID + "1"):
            self.assertEqual(smi.differences(
                rows, self.facts(CUDA_VISIBLE_DEVICES=value)), [])

    def test_what_a_gpu_has_not(self):
        self.driver()
        rows = smi.gpus(self.smi(self.by_bus().replace("40960", "[N/A]")))
        self.assertEqual(smi.differences(rows, self.facts()), [])

    def test_a_name_of_an_old_driver(self):
        self.driver(model="A100-SXM4-40GB")
        rows = smi.gpus(self.smi(self.by_bus()))
        self.assertEqual(smi.differences(rows, self.facts()), [])

    def test_instances(self):
        for proc in (False, True):
            if proc:
                self.driver()
            listed = smi.instances(self.smi())
            self.assertEqual(listed, [(MIG + "0", "3g.20gb"),
                                      (MIG + "2", "3g.20gb")])
            self.assertEqual(smi.instance_differences(
                listed, self.facts(CUDA_VISIBLE_DEVICES=MIG + "0")), [])

    def test_no_instances(self):
        self.assertEqual(smi.instances(self.smi(
            listed=LISTED.splitlines()[0] + "\n")), [])


class Differs(Stand):
    def test_in_each_column(self):
        self.driver()
        facts = self.facts()
        for before, after, said in (
                ("1, NVIDIA A100", "2, NVIDIA A100", "index is '2'"),
                (f"{MODEL}, {UUID}0", f"NVIDIA H100, {UUID}0",
                 "name is 'NVIDIA H100'"),
                (UUID + "0", UUID + "9", f"uuid is '{UUID}9'"),
                ("00000000:C1:00.0", "00000001:C1:00.0",
                 "pci.bus_id is '00000001:C1:00.0'"),
                ("C1:00.0, 40960", "C1:00.0, 40962",
                 "memory.total is '40962'")):
            text = self.by_bus()
            self.assertEqual(text.count(before), 1)
            found = smi.differences(
                smi.gpus(self.smi(text.replace(before, after))), facts)
            self.assertEqual(len(found), 1, found)
            self.assertIn(said, found[0])

    def test_in_number_and_order(self):
        self.driver()
        facts = self.facts()
        one = self.row(0, 1, "00000000:01:00.0")
        for text, number in (("", 1), (one, 1), (self.by_bus() + one, 1),
                             (self.row(0, 0, "00000000:C1:00.0") +
                              self.row(1, 1, "00000000:01:00.0"), 4)):
            rows = smi.gpus(self.smi(text))
            self.assertEqual(len(smi.differences(rows, facts)), number)

    def test_what_jobrun_does_not_know(self):
        """As it is without the library that nvidia-smi needs as well."""
        self.driver()
        (self.root / "libnvidia-ml.so.1").unlink()
        found = smi.differences(smi.gpus(self.smi(self.by_bus())),
                                self.facts())
        self.assertEqual(len(found), 2)
        self.assertIn("memory.total", found[0])

    def test_instances(self):
        facts = self.facts(CUDA_VISIBLE_DEVICES=MIG + "0")
        for before, after in ((MIG + "2", MIG + "1"),
                              ("Device  1: (UUID: MIG", "Device  1: (UUID: X"),
                              ("3g.20gb     Device  1", "1g.5gb  Device  1")):
            self.assertIn(before, LISTED)
            listed = smi.instances(self.smi(
                listed=LISTED.replace(before, after)))
            self.assertEqual(len(smi.instance_differences(listed, facts)),
                             1 if "X" not in after else 2)
        facts = self.facts(CUDA_VISIBLE_DEVICES=MIG + "2")
        self.assertNotEqual(smi.instance_differences(
            smi.instances(self.smi()), facts), [])


class Broken(Stand):
    def test_is_told(self):
        for program, said in (
                (self.folder / "none", "No such file"),
                (self.smi("No devices were found\n", status=6),
                 "exit status 6: No devices were found")):
            with self.assertRaises(smi.Broken) as caught:
                smi.gpus(program)
            self.assertIn(said, str(caught.exception))
        with self.assertRaises(smi.Broken):
            smi.gpus(self.smi("0, what is this\n"))


class Whole(Stand):
    """The test that runs where there is a GPU, and a jobrun that takes the
    folder for the machine."""

    def run_it(self, rows, listed=LISTED, status=0):
        self.driver()
        smi_path = self.smi(rows, listed, status)
        jobrun = self.write("jobrun", f"""\
#!/bin/sh
[ "$*" = "doctor --format yaml" ] && exec "{os.environ['FACTS']}" "{self.root}"
""")
        jobrun.chmod(0o755)
        test = pathlib.Path(__file__).with_name("test_real_devices.py")
        return subprocess.run(
            [sys.executable, test], capture_output=True, text=True,
            timeout=harness.LIMIT, check=False, env={
                **os.environ, "JOBRUN": str(jobrun),
                "PATH": f"{smi_path.parent}:{os.environ['PATH']}"})

    def test_passes(self):
        done = self.run_it(self.by_bus())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("2 GPUs, 2 MIG instances", done.stdout)
        self.assertIn("Ran 4 tests", done.stderr)
        self.assertNotIn("skipped", done.stderr)

    def test_fails(self):
        other = self.by_bus().replace("C1", "C2")
        for rows, listed, failed in ((other, LISTED, 2),
                                     (self.by_bus(), LISTED.replace(
                                         MIG + "2", MIG + "1"), 1)):
            done = self.run_it(rows, listed)
            self.assertEqual(done.returncode, 1)
            self.assertIn("nvidia-smi", done.stderr)
            self.assertIn(f"FAILED (failures={failed})", done.stderr)

    def test_is_skipped_loudly(self):
        for rows, status, said in (("", 0, "has no GPU"),
                                   ("No devices were found\n", 6,
                                    "exit status 6: No devices were found")):
            done = self.run_it(rows, status=status)
            self.assertEqual(done.returncode, 77)
            self.assertIn("SKIPPED: ", done.stdout)
            self.assertIn(said, done.stdout)


if __name__ == "__main__":
    harness.main()
