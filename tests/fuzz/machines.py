"""Machines of tests/machines, damaged: files cut, gone, turned into folders or
filled with what they never hold; and all of them read (machines.c).

usage: machines.py PROGRAM COUNT [SEED]

What did not go well is kept, and its folder and seed told.
"""
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

MACHINES = pathlib.Path(__file__).resolve().parent.parent / "machines"
MEMORY = pathlib.Path("/dev/shm")  # thousands of small files want no disk
AT_ONCE = 20
WORDS = [
    b"", b"\n", b"0", b"-1", b" 3 ", b"3\t", b"x", b"nan", b"1e9", b"%s%n",
    b"4294967295", b"4294967296", b"18446744073709551615", b"9" * 30,
    b"0-3", b"3-0", b"0-", b"-3", b"1,1,1", b"0-1048576", b"0-4294967295",
    b"max", b"max 100000", b"100000 0", b"-1 100000", b"50000 100000",
    b"1 18446744073709551615", b"0" * 5000, b"ffffffff," * 600, b"0\n" * 2000,
    b"0::/../../..", b"0::/" + b"a/" * 600, b"32K", b"K", b"9" * 18 + b"K",
    b"0x7fffffff", b"\0\0\0", b"\xff\xfe",
]
VISIBLE = [None, "", "0", "1,0", "0,0", "-1", "GPU-x", "99999999999"]


def other_byte(text, dice):
    at = dice.randrange(len(text) + 1)
    return text[:at] + bytes([dice.randrange(256)]) + text[at + 1:]


def other_word(text, dice):
    words = text.split() or [b""]
    words[dice.randrange(len(words))] = dice.choice(WORDS)
    return b" ".join(words) + b"\n"


TEXTS = [other_byte, other_word,
         lambda text, dice: dice.choice(WORDS),
         lambda text, dice: text[:dice.randrange(len(text) + 1)]]


def copy_folder(path, dice):
    """As one more CPU, node or group; a second device of one name is a
    contradiction, and rightly told."""
    folder = path.parent
    if "system" in folder.parts or "cgroup" in folder.parts:
        number = dice.choice(["0", "7", "1024", "4294967295"])
        try:
            shutil.copytree(folder, folder.with_name(
                folder.name.rstrip("0123456789") + number), dirs_exist_ok=True)
        except (OSError, shutil.Error):
            pass  # what is there is in the way


def damage(root, dice):
    files = sorted(path for path in root.rglob("*")
                   if path.is_file() and path.name != "expected.yaml")
    for path in dice.sample(files, min(len(files), dice.randint(1, 4))):
        kind = dice.randrange(8)
        if not path.is_file():
            continue  # its folder went before it
        if kind < len(TEXTS):
            path.write_bytes(TEXTS[kind](path.read_bytes(), dice))
        elif kind == 4:
            path.unlink()
        elif kind == 5:
            path.unlink()
            path.mkdir()
        elif kind == 6:
            shutil.rmtree(path.parent)
        else:
            copy_folder(path, dice)


def read(program, folder, dice):
    roots = sorted(path for path in MACHINES.iterdir() if path.is_dir())
    made = []
    for i in range(AT_ONCE):
        machine = dice.choice(roots)
        made.append(folder / f"{i}-{machine.name}")
        shutil.copytree(machine, made[-1])
        damage(made[-1], dice)
    visible = dice.choice(VISIBLE)
    env = {"PATH": os.environ["PATH"]}
    if visible is not None:
        env["CUDA_VISIBLE_DEVICES"] = visible
    return subprocess.run([program, *made], env=env).returncode


def main(program, count, seed=None):
    seed = int(seed or random.randrange(1 << 32))
    dice = random.Random(seed)
    for _ in range(0, int(count), AT_ONCE):
        folder = pathlib.Path(tempfile.mkdtemp(
            prefix="jobrun-machines-",
            dir=MEMORY if os.access(MEMORY, os.W_OK) else None))
        status = read(program, folder, dice)
        if status != 0:
            sys.exit(f"exit status {status}: seed {seed}, see {folder}")
        shutil.rmtree(folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
