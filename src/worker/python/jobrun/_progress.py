"""How far a rank is: JSON lines in $JOBRUN_PROGRESS_FILE."""
import json
import math
import os
import warnings

_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW \
    | os.O_NONBLOCK | os.O_CLOEXEC

_file = None  # (path, descriptor, device, inode) of the last line
_warned = False


def _whole(value, name):
    """A step, of any type that is a whole number, such as numpy's."""
    try:
        number = value.__index__()
    except AttributeError:
        raise TypeError("jobrun.progress: %s is to be a whole number, not %r"
                        % (name, value)) from None
    if not 0 <= number < 2**63:
        raise ValueError("jobrun.progress: %s is to be at least 0, not %d"
                         % (name, number))
    return number


def _metric(value, name):
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise TypeError("jobrun.progress: the metric %r is to be a number, "
                        "not %r" % (name, value)) from None
    return number if math.isfinite(number) else None


def _is_open(path):
    """Whether the file is still what the descriptor says: a program may close
    descriptors that it did not open, and use their numbers."""
    if _file is None or _file[0] != path:
        return False
    try:
        now = os.fstat(_file[1])
    except OSError:
        return False
    return (now.st_dev, now.st_ino) == _file[2:]


def _append(path, line):
    global _file
    if not _is_open(path):
        fd = os.open(path, _FLAGS, 0o666)
        now = os.fstat(fd)
        _file = (path, fd, now.st_dev, now.st_ino)
    os.write(_file[1], line)


def tell(step, of, metrics):
    """Append a line. What cannot be written is a warning, once: a job does not
    fail for its progress."""
    global _warned
    path = os.environ.get("JOBRUN_PROGRESS_FILE")
    if not path:
        raise RuntimeError("JOBRUN_PROGRESS_FILE is not set: progress can be "
                           "told in a rank of jobrun only")
    told = {name: _metric(value, name) for name, value in metrics.items()}
    line = {"step": _whole(step, "step")}
    if of is not None:
        line["of"] = _whole(of, "of")
    line.update(told)
    try:
        _append(path, json.dumps(line).encode() + b"\n")
    except OSError as error:
        if not _warned:
            warnings.warn("jobrun.progress: %s" % error, RuntimeWarning,
                          stacklevel=3)
        _warned = True
