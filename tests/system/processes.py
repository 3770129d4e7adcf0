"""Ranks that are hard to end, and the processes of one run, wherever they went:
each inherits a variable."""
import os
import pathlib

HEAD = "version: 1\nname: t\ndevice: cpu\nworld_size: 3\n"
# Ranks that ignore the stop signal and leave a process of another session.
STUBBORN = HEAD + """\
timeouts: {stop_grace: 300ms}
entrypoint:
  shell: |
    trap '' TERM
    setsid sh -c 'trap "" TERM; sleep 600 & sleep 600' &
    echo up
    while :; do sleep 600 & wait $!; done
"""
# Ranks that end when they are told to. Their child is up once it is no more
# the shell: what a shell's fork is sent before its exec may be lost.
POLITE = HEAD + """\
entrypoint:
  shell: |
    trap 'echo told; exit 0' TERM
    trap 'echo usr1' USR1
    sh -c 'echo up; exec sleep 600' &
    while :; do wait $!; done
"""


def marked(mark):
    """The processes whose environment has this entry, NAME=VALUE."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                if mark.encode() in file.read().split(b"\0"):
                    found.append(int(name))
        except OSError:
            pass  # it has ended, or is another user's
    return found


def is_alive(pid):
    """Whether it runs: what has ended and is not waited for does not."""
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] not in "ZX"
