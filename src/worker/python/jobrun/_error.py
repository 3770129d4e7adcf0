"""How a rank tells what went wrong: on standard error as Python would, and in
error.json in the form of torch's `record`, plus `time_ns`, `pid`, `causes`,
and `start` where none of the user's code was at fault.

What a process that the rank has forked raises is not the rank's."""
import json
import os
import sys
import time
import traceback

_OURS = os.path.dirname(os.path.abspath(__file__)) + os.sep
_MESSAGE_MOST = 64 << 10
_STACK_MOST = 1 << 20
_CAUSES_MOST = 16

# The process that is the rank: whoever imports this, until the worker knows
# better. Processes that do not inherit our memory inherit the variable.
_PROCESS = "JOBRUN_RANK_PROCESS"
_rank_pid = os.getpid()


def _here(pid):
    """A process of this rank, and of no job that the rank may start."""
    return "%d %s" % (pid, os.environ.get("JOBRUN_RESULT_FILE"))


def claim():
    """This process is the rank."""
    global _rank_pid
    _rank_pid = os.getpid()
    os.environ[_PROCESS] = _here(_rank_pid)


def rank_pid():
    """The process that is the rank."""
    pid, _, path = os.environ.get(_PROCESS, "").partition(" ")
    if pid.isdigit() and path == os.environ.get("JOBRUN_RESULT_FILE"):
        return int(pid)
    return _rank_pid


def is_rank():
    """Whether the process that asks is the rank, not one that it started."""
    return rank_pid() == os.getpid()


class StartError(Exception):
    """The entrypoint could not be called: the text says what to change."""


def _is_machinery(code):
    """Whether a frame is of what stands between Python and the user."""
    name = code.co_filename
    return (name.startswith((_OURS, "<frozen ")) or name in
            [getattr(sys.modules.get(module), "__file__", "")
             for module in ("runpy", "importlib")])


def trim(error):
    """The traceback of an exception from the user's first frame on."""
    trace = error.__traceback__
    while trace is not None and _is_machinery(trace.tb_frame.f_code):
        trace = trace.tb_next
    return trace


def _fit(text, most):
    """Valid UTF-8 without NUL, with the middle left out where it is long."""
    text = text.encode("utf-8", "backslashreplace").decode()
    text = text.replace("\0", "\\x00")
    if len(text) <= most:
        return text
    return text[:most // 2] + "\n...\n" + text[-most // 2:]


def _headline(error):
    try:
        text = str(error)
    except Exception:  # a __str__ of the user's own
        text = "<its text could not be read>"
    name = type(error).__name__
    return _fit(name + ": " + text if text else name, _MESSAGE_MOST)


def _causes(error):
    """The exceptions behind this one, the nearest first."""
    found = []
    seen = {id(error)}
    while len(found) < _CAUSES_MOST:
        how = "cause"
        behind = error.__cause__
        if behind is None and not error.__suppress_context__:
            how = "context"
            behind = error.__context__
        if behind is None or id(behind) in seen:
            break
        seen.add(id(behind))
        found.append({"how": how, "message": _headline(behind)})
        error = behind
    return found


def write_beside(path, parts):
    """Write a file whole or not at all: under another name, then renamed.
    Returns its status, whatever somebody may have put in its place."""
    partial = "%s.%d.tmp" % (path, os.getpid())
    kept = -1
    try:
        with open(partial, "wb") as file:
            for part in parts:
                file.write(part)
            kept = os.dup(file.fileno())
        os.replace(partial, path)
        return os.fstat(kept)
    except BaseException:
        try:
            os.unlink(partial)
        except OSError:
            pass
        raise
    finally:
        if kept >= 0:
            os.close(kept)


def _record(message, stack, now, more):
    path = os.environ.get("JOBRUN_ERROR_FILE")
    if not path or not is_rank():
        return
    text = json.dumps(dict({"message": {
        "message": message,
        "extraInfo": {"py_callstack": _fit(stack, _STACK_MOST),
                      "timestamp": str(now // 1000000000)},
    }, "time_ns": now, "pid": os.getpid()}, **more))
    try:
        write_beside(path, [text.encode()])
    except OSError as error:
        sys.stderr.write("jobrun: could not write %s: %s\n" % (path, error))


def note(error):
    """An exception of the user's, as error.json. Of an interrupt, Python ends
    by SIGINT, which tells more."""
    now = time.time_ns()
    trace = error.__traceback__ = trim(error)
    if type(error) is not KeyboardInterrupt:
        lines = traceback.format_exception(type(error), error, trace)
        _record(_headline(error), "".join(lines), now,
                {"causes": _causes(error)})


def show(error):
    """What Python would print of it."""
    sys.excepthook(type(error), error, error.__traceback__)
    # It was told; what is still to come of it is the way to the end.
    sys.excepthook = lambda *rest: None


def refuse(error, start=True):
    """A StartError: one line, no traceback."""
    text = _fit(str(error), _MESSAGE_MOST)
    _record(text, "", time.time_ns(), {"start": True} if start else {})
    sys.stderr.write("jobrun: %s\n" % text)
