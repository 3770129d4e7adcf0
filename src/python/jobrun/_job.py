"""A job that jobrun.launch has started: the program jobrun, and what its run
folder says afterwards."""
import contextlib
import ctypes
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading

_KINDS = {2: "usage", 3: "spec", 4: "resolve", 7: "launch"}
_TAIL = 1 << 16


class JobError(RuntimeError):
    """A job that did not succeed, by its root cause.

    rank        the rank that failed first; None: no rank's fault
    kind        exit, signal, oom, start, hang, timeout, result, lost_node;
                usage, spec, resolve, launch: nothing was started; stopped
    message     in a line
    traceback   of its exception, as text; "" without one
    exit_code   the rank's; None: it has none
    signal      the name of the signal that it died by, or None
    status      jobrun's own exit status
    run_dir     the folder with logs and results.json; None: there is none
    results     what the ranks delivered, in their order; None: nothing
    """

    def __init__(self, message, **facts):
        self.message = message
        self.rank = self.exit_code = self.signal = None
        self.status = self.run_dir = None
        self.kind, self.traceback, self.results = "launch", "", []
        self.__dict__.update(facts)
        text = message if self.rank is None else \
            "rank %d: %s" % (self.rank, message)
        if self.traceback:
            text += "\n\n" + self.traceback.rstrip()
        super().__init__(text)


JobError.__module__ = "jobrun"  # where users know it from


def _write(path, value):
    """JSON that is YAML too, whatever characters its strings have."""
    text = json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False)
    text = re.sub("[^\n -~]", lambda m: "\\U%08X" % ord(m.group()), text)
    with open(path, "w") as file:
        file.write(text)


def find(given):
    """The program: the argument, $JOBRUN, beside this package, or in PATH."""
    support = os.path.dirname(os.path.dirname(os.path.dirname(
        os.path.abspath(__file__))))
    for path in (given, os.environ.get("JOBRUN"),
                 os.path.join(support, "..", "jobrun"),
                 os.path.join(support, "..", "..", "bin", "jobrun"),
                 shutil.which("jobrun")):
        if path and os.path.isfile(path) and os.access(path, os.X_OK):
            return os.path.abspath(path)
        if path and path in (given, os.environ.get("JOBRUN")):
            raise FileNotFoundError("no program at %r" % path)
    raise FileNotFoundError("the program jobrun is neither beside the package "
                            "nor in PATH: name it by JOBRUN or program=")


def _die_with_us():
    """A function for the child: it ends when this process does. Of a thread
    it would be the thread's end that counts."""
    if threading.current_thread() is not threading.main_thread():
        return None
    prctl = ctypes.CDLL(None).prctl
    return lambda: prctl(1, int(signal.SIGTERM), 0, 0, 0)


def _flush():
    """What was printed before the job comes before its output."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()


def _mistakes(told, words):
    """The errors of a spec that nobody has written: without their places, and
    with the caller's name of a field."""
    found = []
    for line in told.splitlines():
        error = re.match(r"\S+: error\[JR\d+\]: (.*)", line)
        if error:
            field = re.match(r"'([\w.]+)'", error[1])
            word = words.get(field[1]) if field else None
            other = word and word != field[1]
            found.append("%s: %s" % (word, error[1]) if other else error[1])
        elif found and "help: " in line:
            found[-1] += " (%s)" % line[line.index("help: ") + 6:]
    return found


class Job:
    """A job that runs; jobrun.launch(..., join=False) returns it."""

    def __init__(self, command, folder, spec, words):
        """`command` reads the spec from its standard input, and so from this
        folder, and ends with the run's id. `folder` is the job's to remove;
        `words` has the caller's name of a field."""
        self._folder, self._words = folder, words
        self._tail = b""
        log_dir = spec["log_dir"].replace("$${", "${").replace("%%{", "%{")
        self.run_dir = os.path.join(os.path.abspath(log_dir), command[-1])
        path = os.path.join(folder, "spec.yaml")
        _write(path, spec)
        _flush()
        # A session of its own: a Ctrl-C comes by way of this process, once.
        with open(path) as file:
            self._process = subprocess.Popen(
                command, stdin=file, stderr=subprocess.PIPE,
                start_new_session=True, preexec_fn=_die_with_us())
        self.pid = self._process.pid
        self._reader = threading.Thread(target=self._copy, daemon=True)
        self._reader.start()

    def _copy(self):
        """Its standard error to ours, if there is one, and the end of it
        kept."""
        out = getattr(sys.stderr, "buffer", None)
        for line in self._process.stderr:
            self._tail = (self._tail + line)[-_TAIL:]
            with contextlib.suppress(OSError, ValueError, AttributeError):
                if out is not None:
                    out.write(line)
                else:
                    sys.stderr.write(line.decode(errors="replace"))
                sys.stderr.flush()

    def is_alive(self):
        return self._process.poll() is None

    def stop(self):
        """End it as SIGTERM does; join() then raises."""
        if self.is_alive():
            self._process.terminate()

    def _wait(self, timeout):
        """Its exit status, as a shell has it."""
        try:
            status = self._process.wait(timeout)
        except KeyboardInterrupt:
            self._interrupt()
            self._forget()
            raise
        return status if status >= 0 else 128 - status

    def _interrupt(self):
        """A second Ctrl-C is handed on too: it does not wait for the grace."""
        while True:
            self._process.send_signal(signal.SIGINT)
            with contextlib.suppress(KeyboardInterrupt):
                self._process.wait()
                return

    def _forget(self):
        self._reader.join()
        self._process.stderr.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def join(self, timeout=None):
        """What the ranks returned, in their order. JobError where the job did
        not succeed; subprocess.TimeoutExpired where it has not ended after
        `timeout` seconds, and then it runs on."""
        status = self._wait(timeout)
        self._forget()
        try:
            self._find_part()
            record = self._load("results.json")
        except FileNotFoundError:
            raise self._nothing(status) from None
        results = [rank["result"] for rank in record["ranks"]]
        if status == 0:
            return results
        raise self._failure(status, record, results)

    def _find_part(self):
        """One node of several writes a folder of its own in the run's."""
        if os.path.exists(os.path.join(self.run_dir, "results.json")):
            return
        parts = os.path.join(glob.escape(self.run_dir), "node_*", "run.json")
        for path in glob.glob(parts):
            if self._load(path).get("pid") == self.pid:
                self.run_dir = os.path.dirname(path)

    def _load(self, path):
        """JSON is UTF-8, whatever the locale says of texts."""
        with open(os.path.join(self.run_dir, path), "rb") as file:
            return json.load(file)

    def _nothing(self, status):
        """jobrun said why on standard error."""
        told = self._tail.decode(errors="replace").strip()
        message = "; ".join(_mistakes(told, self._words))
        return JobError(message or told or "jobrun ended with %d" % status,
                        kind=_KINDS.get(status, "stopped"), status=status)

    def _failure(self, status, record, results):
        cause = record["root_cause"] or {
            "rank": None, "kind": record["status"], "exit_code": None,
            "signal": None, "message": "the job was " + record["status"]}
        rank = cause["rank"]
        return JobError(cause["message"], rank=rank, kind=cause["kind"],
                        exit_code=cause["exit_code"], signal=cause["signal"],
                        status=status, run_dir=self.run_dir, results=results,
                        traceback=self._traceback(record, rank))

    def _traceback(self, record, rank):
        path = next((row["error_file"] for row in record["ranks"]
                     if row["rank"] == rank), None)
        try:
            record = self._load(path or "")
            return record["message"]["extraInfo"]["py_callstack"]
        except (OSError, ValueError, KeyError, TypeError):
            return ""
