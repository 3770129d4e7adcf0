"""What nvidia-smi tells of a machine, and where a facts file of jobrun's tells
it otherwise.

They write the same things in different ways. nvidia-smi has a domain of eight
digits and upper case in a place on the bus, where the kernel has four and lower
case; memory in MiB, where facts have bytes; "[N/A]" for what a GPU does not
have. Old drivers leave "NVIDIA " out of a name in /proc. Both count GPUs in the
order of the bus; only jobrun heeds CUDA_VISIBLE_DEVICES.
"""
import re
import subprocess

COLUMNS = ["index", "name", "uuid", "pci.bus_id", "memory.total"]
MIB = 1 << 20


class Broken(Exception):
    """nvidia-smi is there, and tells nothing; why, in its own words."""


def ask(program, *words):
    """What it prints. A driver that hangs takes its program along."""
    try:
        done = subprocess.run([program, *words], capture_output=True,
                              text=True, timeout=120, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Broken(str(error)) from error
    if done.returncode != 0:
        said = (done.stdout + done.stderr).strip().splitlines() or ["nothing"]
        raise Broken(f"exit status {done.returncode}: {said[0]}")
    return done.stdout


def gpus(program):
    """A dictionary by column for each GPU; None for what it does not have."""
    rows = []
    for line in ask(program, "--query-gpu=" + ",".join(COLUMNS),
                    "--format=csv,noheader,nounits").splitlines():
        values = [value.strip() for value in line.split(",")]
        if len(values) != len(COLUMNS):
            raise Broken(f"it says '{line}'")
        rows.append({column: None if value.startswith("[") else value
                     for column, value in zip(COLUMNS, values)})
    return rows


def instances(program):
    """The MIG instances, by UUID and profile ("3g.20gb"), in its order."""
    return [(uuid, profile) for profile, uuid in re.findall(
        r"^\s+MIG\s+(\S+)\s+Device\s+\d+:\s+\(UUID:\s+(MIG-[^)]+)\)",
        ask(program, "-L"), re.MULTILINE)]


def place(text):
    """Domain, bus, device and function."""
    return [int(part, 16) for part in re.split("[:.]", text)]


def told_alike(column, theirs, device):
    """Whether the facts of a device say what a value of nvidia-smi says."""
    if column == "index":
        return device["index"] == int(theirs)
    if column == "name":
        return (device["model"] or "").removeprefix("NVIDIA ") == \
            theirs.removeprefix("NVIDIA ")
    if column == "uuid":
        return device["uuid"] == theirs
    if column == "pci.bus_id":
        return device["bus"] is not None and \
            place(device["bus"]) == place(theirs)
    return device["memory"] is not None and \
        abs(device["memory"] / MIB - int(theirs)) <= 1


def cuda(facts):
    return [device for device in facts["devices"] if device["kind"] == "cuda"]


def differences(rows, facts):
    """Sentences: where the facts tell the GPUs otherwise than nvidia-smi."""
    devices = sorted(cuda(facts), key=lambda device: device["index"])
    found = []
    if len(devices) != len(rows):
        found.append(f"nvidia-smi has {len(rows)} GPUs, jobrun {len(devices)}")
    for row, device in zip(rows, devices):
        found += [f"GPU {row['index']}: {column} is '{row[column]}' by "
                  f"nvidia-smi, but jobrun has {device}"
                  for column in COLUMNS if row[column] is not None and
                  not told_alike(column, row[column], device)]
    return found


def instance_differences(listed, facts):
    """The same of MIG instances, the first of which the variable names."""
    devices = cuda(facts)
    found = []
    if [uuid for uuid, _ in listed] != [device["uuid"] for device in devices]:
        found.append(f"nvidia-smi has {listed}, jobrun {devices}")
    found += [f"{uuid} is a {profile} by nvidia-smi, but jobrun has {device}"
              for (uuid, profile), device in zip(listed, devices)
              if not (device["model"] or "").endswith(f" MIG {profile}")]
    seen = [device["visible"] for device in devices]
    if seen != [True] + [False] * (len(listed) - 1):
        found.append(f"of {listed} jobrun sees {seen}")
    return found
