"""What a rank delivers: strict JSON in $JOBRUN_RESULT_FILE."""
import json
import math
import os

from jobrun import _error

_DEEPEST = 400

# What to write instead, by the name of a type or of one of its bases.
_HINTS = {
    "set": "use sorted(...) or list(...)",
    "frozenset": "use sorted(...) or list(...)",
    "bytes": "decode it, or write it to a file of `artifacts`",
    "generic": "use .item()",  # of numpy
    "ndarray": "use .tolist()",
    "Tensor": "use .item() or .tolist()",
    "coroutine": "the function is async: call it by asyncio.run()",
    "generator": "use list(...)",
    "Path": "use str(...)",
    "PurePath": "use str(...)",
    "Decimal": "use float(...) or str(...)",
    "datetime": "use .isoformat()",
}


class NotJson(TypeError):
    """A value that is not JSON: the text names its place and its type."""


def _type_name(value):
    kind = type(value)
    if kind.__module__ == "builtins":
        return kind.__qualname__
    return kind.__module__ + "." + kind.__qualname__


def _other(value, path):
    if hasattr(value, "__dataclass_fields__"):
        hint = "use dataclasses.asdict(...)"
    else:
        hint = next((_HINTS[base.__name__] for base in type(value).__mro__
                     if base.__name__ in _HINTS), None)
    raise NotJson("%s: %s is not JSON%s"
                  % (path, _type_name(value), "; " + hint if hint else ""))


def _check_text(text, path):
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise NotJson("%s: a str with a lone surrogate is not JSON"
                          % path) from None


def _check_number(value, path):
    if isinstance(value, float):
        if not math.isfinite(value):
            raise NotJson("%s: %r is not JSON" % (path, float(value)))
    elif not -2**63 <= value < 2**63:
        raise NotJson("%s: an integer beyond 64 bits; use str(...)" % path)


def _check_object(value, path, above):
    for key, item in value.items():
        if not isinstance(key, str):
            raise NotJson("%s: its key %.60r is of type %s; the keys of JSON "
                          "are strings" % (path, key, _type_name(key)))
        _check_text(key, path)
        if "\0" in key:
            raise NotJson("%s: its key %.60r has a NUL, which a key of a "
                          "result cannot have" % (path, key))
        name = path + "." + key if key.isidentifier() else \
            "%s[%s]" % (path, json.dumps(key))
        _check(item, name, above)


def _check(value, path, above):
    """Raise NotJson unless the value is JSON; `above` holds what it is in."""
    if value is None or isinstance(value, bool):
        return
    if isinstance(value, str):
        _check_text(value, path)
    elif isinstance(value, (int, float)):
        _check_number(value, path)
    elif isinstance(value, (dict, list, tuple)):
        if id(value) in above:
            raise NotJson("%s: it contains itself" % path)
        if len(above) >= _DEEPEST:
            raise NotJson("result: nested deeper than %d" % _DEEPEST)
        above.add(id(value))
        if isinstance(value, dict):
            _check_object(value, path, above)
        else:
            for i, item in enumerate(value):
                # Most of what is long is plain: names cost.
                if item is None or type(item) is bool:
                    continue
                _check(item, "%s[%d]" % (path, i), above)
        above.discard(id(value))
    else:
        _other(value, path)


# Of a function: it delivers by returning, and what it has said before then
# waits for that. None: a script or a module, whose files count by its end.
_held = None


def hold():
    """Keep what is to be delivered until `deliver`."""
    global _held
    _held = b""


def _encode(value):
    """The bytes of a checked value, of the rank's own process."""
    if not os.environ.get("JOBRUN_RESULT_FILE"):
        raise RuntimeError("JOBRUN_RESULT_FILE is not set: a result can be "
                           "delivered in a rank of jobrun only")
    if not _error.is_rank():
        raise RuntimeError(
            "jobrun.result() was called in process %d, but the rank is process "
            "%d: give the value to that one, and call it there"
            % (os.getpid(), _error.rank_pid()))
    _check(value, "result", set())
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return text.encode() + b"\n"


def _store(text):
    return _error.write_beside(os.environ["JOBRUN_RESULT_FILE"], [text])


def write(value):
    """Check the value and put it where jobrun looks for it, at once or when
    the function returns."""
    global _held
    text = _encode(value)
    if _held is None:
        _store(text)
    else:
        _held = text


def deliver():
    """What was held, now that the function has returned. Returns what tells
    the file from any that might take its place: device, inode, size, and times
    in nanoseconds."""
    file = _store(_held)
    return " %d %d %d %d %d" % (file.st_dev, file.st_ino, file.st_size,
                                file.st_mtime_ns, file.st_ctime_ns)
