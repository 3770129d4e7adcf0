"""The processes of one run, wherever they went: each inherits a variable."""
import os


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
