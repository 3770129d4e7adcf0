"""What jobrun executes for a rank whose entrypoint is `python`.

usage: _worker.py script FILE [ARG]...
       _worker.py module NAME [ARG]...
       _worker.py function MODULE:NAME CALL
       _worker.py serve [--preload MODULE]... [--load FORM TARGET]

This file alone is also valid Python 2, to be able to refuse it in plain words.
"""
import sys

OLDEST = (3, 8)


def refuse():
    """Tell that this interpreter is too old, as _error.refuse would."""
    import json
    import os
    import time
    text = ("%s is Python %d.%d, and jobrun's Python entrypoints want %d.%d or "
            "later: set entrypoint.python.interpreter to a newer one"
            % ((sys.executable,) + tuple(sys.version_info[:2]) + OLDEST))
    sys.stderr.write("jobrun: " + text + "\n")
    now = time.time()
    path = os.environ.get("JOBRUN_ERROR_FILE")
    if path:
        with open(path, "w") as file:
            json.dump({"message": {"message": text, "extraInfo": {
                "py_callstack": "", "timestamp": str(int(now))}},
                "time_ns": int(now * 1e9), "pid": os.getpid(),
                "start": True}, file)
    return 126


def main():
    if sys.version_info < OLDEST:
        return refuse()
    import os
    here = os.path.dirname(os.path.abspath(__file__))
    support = os.path.dirname(here)
    # Python has put our folder first; a safe path (-P) has not.
    if sys.path and os.path.abspath(sys.path[0]) == here:
        del sys.path[0]
    sys.path.insert(0, support)
    from jobrun import _main
    # Last, so that nothing of the user's is hidden by what lies there.
    sys.path.remove(support)
    sys.path.append(support)
    return _main.main(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
