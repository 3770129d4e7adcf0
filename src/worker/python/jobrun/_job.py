"""A job that jobrun.launch has started: the program jobrun, and what its run
folder says afterwards."""
import collections
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
import sysconfig
import threading
import time
import weakref

from jobrun import _exchange

_KINDS = {2: "usage", 3: "spec", 4: "resolve", 7: "launch"}
_REDACTED = "<redacted>"
_TAIL = 1 << 16
# Signals that are closer than a tenth of a second are one signal to jobrun.
_ONE_SIGNAL = 0.15
# Python runs the handlers of signals in the main thread, and does not wake it for
# a signal that another thread got, or that came just before it slept.
_HEARD = 1.0  # seconds within which it looks up
_STOPS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)


# A rank that did not deliver. `exception` is the rank's own under
# exchange="pickle", else None; `message` and `traceback` tell of it as text.
Failure = collections.namedtuple(
    "Failure", "rank exit_code signal exception message traceback")
Failure.__module__ = "jobrun"


class JobError(RuntimeError):
    """A job that did not succeed, by its root cause.

    rank        the rank that failed first; None: no rank's fault
    kind        exit, signal, oom, start, hang, timeout, result, lost_node;
                usage, spec, resolve, launch: nothing was started; stopped
    message     in a line
    traceback   of its exception, as text; "" without one
    exit_code   the rank's; None: it has none
    signal      the name of the signal that it died by, or None
    failures    a Failure for each rank that failed or did not deliver, the
                root cause first; what jobrun stopped is none
    status      jobrun's own exit status
    run_dir     the folder with logs and results.json; None: there is none
    results     what the ranks delivered, in their order; None: nothing

    Under exchange="pickle" its __cause__ is the rank's own exception.
    """

    def __init__(self, message, **facts):
        self.message = message
        self.rank = self.exit_code = self.signal = None
        self.status = self.run_dir = None
        self.kind, self.traceback = "launch", ""
        self.results, self.failures = [], []
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
    beside = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    support = os.path.dirname(beside)
    for path in (given, os.environ.get("JOBRUN"),
                 os.path.join(support, "..", "jobrun"),
                 os.path.join(support, "..", "..", "bin", "jobrun"),
                 # As pip installs a wheel, also by --user and --target.
                 os.path.join(sysconfig.get_path("scripts"), "jobrun"),
                 os.path.join(beside, "bin", "jobrun"),
                 shutil.which("jobrun")):
        if path and os.path.isfile(path) and os.access(path, os.X_OK):
            return os.path.abspath(path)
        if path and path in (given, os.environ.get("JOBRUN")):
            raise FileNotFoundError("no program at %r" % path)
    raise FileNotFoundError("the program jobrun is neither beside the package "
                            "nor in PATH: name it by JOBRUN or program=")


def _die_with_us():
    """A function for the child: it ends when the thread that started it does,
    which is to be one that lives as long as this process or the child. Signals
    that would end it do so although this process ignores them: nohup and a
    shell's `&` are for terminals, which the child's session has none of."""
    prctl, caller = ctypes.CDLL(None).prctl, os.getpid()

    def set_death_signal():
        for sig in _STOPS:
            signal.signal(sig, signal.SIG_DFL)
        prctl(1, int(signal.SIGTERM), 0, 0, 0)
        if os.getppid() != caller:
            os._exit(128 + signal.SIGTERM)
    return set_death_signal


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


class _Record:
    """What the run folder says once the job has ended."""

    def __init__(self, run_dir, pid):
        self.run_dir = run_dir
        self._find_part(pid)
        self.results_json = self.load("results.json")
        self.ranks = self.results_json["ranks"]

    def _find_part(self, pid):
        """One node of several writes a folder of its own in the run's."""
        if os.path.exists(os.path.join(self.run_dir, "results.json")):
            return
        parts = os.path.join(glob.escape(self.run_dir), "node_*", "run.json")
        for path in glob.glob(parts):
            if self.load(path).get("pid") == pid:
                self.run_dir = os.path.dirname(path)

    def load(self, path):
        """JSON is UTF-8, whatever the locale says of texts."""
        with open(os.path.join(self.run_dir, path), "rb") as file:
            return json.load(file)

    def rank_folder(self, row):
        return os.path.join(self.run_dir, "attempt_%d"
                            % self.results_json["attempt"], str(row["rank"]))

    def result(self, row):
        if _exchange.is_description(row["result"]):
            return _exchange.load(self.rank_folder(row), row["result"])
        return self._whole(row)

    def _whole(self, row):
        """results.json has no value of a secret; the rank's own file has what
        it returned as it is."""
        if _REDACTED not in json.dumps(row["result"]):
            return row["result"]
        try:
            return self.load(os.path.join(self.rank_folder(row),
                                          "result.json"))
        except (OSError, ValueError):
            return row["result"]

    def results(self):
        return [self.result(row) for row in self.ranks]

    def failures(self):
        """The root cause first, then those together with it."""
        cause = self.results_json["root_cause"] or {}
        first = [cause.get("rank"), *cause.get("together", [])]
        failed = [row for row in self.ranks if row["state"] in
                  ("failed", "incomplete", "after_first_failure")]
        failed.sort(key=lambda row: (first.index(row["rank"])
                                     if row["rank"] in first else len(first),
                                     row["rank"]))
        return [Failure(row["rank"], row["exit_code"], row["signal"],
                        self.exception(row), row["error"],
                        self.traceback(row)) for row in failed]

    def exception(self, row):
        """The exception itself, where the rank could keep it."""
        path = os.path.join(self.rank_folder(row), "error.pickle")
        if row["error_file"] is None:
            return None
        try:
            with open(path, "rb") as file:
                error = _exchange.loads(file.read())
        except Exception:  # of a class that is not here
            return None
        return error if isinstance(error, BaseException) else None

    def traceback(self, row):
        try:
            record = self.load(row["error_file"] or "")
            return record["message"]["extraInfo"]["py_callstack"]
        except (OSError, ValueError, KeyError, TypeError):
            return ""

    def error(self, status):
        """The JobError of this end, and the exception behind it."""
        record, failures = self.results_json, self.failures()
        cause = record["root_cause"] or {
            "rank": None, "kind": record["status"], "exit_code": None,
            "signal": None, "message": "the job was " + record["status"]}
        own = next((failure for failure in failures
                    if failure.rank == cause["rank"]), None)
        return JobError(
            cause["message"], rank=cause["rank"], kind=cause["kind"],
            exit_code=cause["exit_code"], signal=cause["signal"],
            status=status, run_dir=self.run_dir, results=self.results(),
            failures=failures, traceback=own.traceback if own else ""
        ), own.exception if own else None


def _remove_folder(folder, owner):
    """Remove it; a fork of the process that made it leaves it alone."""
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)


def _await(event, timeout=None):
    """Whether the event came within `timeout` seconds, with an ear for signals."""
    until = None if timeout is None else time.monotonic() + timeout
    while True:
        left = _HEARD if until is None else until - time.monotonic()
        if event.wait(min(max(left, 0), _HEARD)):
            return True
        if until is not None and left <= _HEARD:
            return False


class Job:
    """A job that runs; jobrun.launch(..., join=False) returns it.

    pid         of the program jobrun
    run_dir     the folder of the run
    """

    def __init__(self, command, folder, spec, words, held):
        """`command` reads the spec from its standard input, and so from this
        folder, and ends with the run's id. `folder` is the job's to remove;
        `words` has the caller's name of a field. The job puts itself into
        `held` before anything is started, so that whatever is raised
        meanwhile, a signal's handler included, finds it there."""
        self._command, self._folder, self._words = command, folder, words
        # At the latest where the caller ends, whether it waited or not.
        self._remove = weakref.finalize(self, _remove_folder, folder,
                                        os.getpid())
        self._process = self._failed = self._record = None
        self._tail, self._abandoned = b"", False
        self._lock = threading.Lock()
        self._started, self._ended = threading.Event(), threading.Event()
        log_dir = spec["log_dir"].replace("$${", "${")
        self.run_dir = os.path.join(os.path.abspath(log_dir), command[-1])
        self._run_folder = self.run_dir
        _write(os.path.join(folder, "spec.yaml"), spec)
        _flush()
        held.append(self)
        threading.Thread(target=self._follow, daemon=True).start()
        _await(self._started)
        if self._failed is not None:
            raise self._failed
        self.pid = self._process.pid

    # In a thread of its own: it lives as long as the process, for the end of
    # the thread that starts it is the end of that.

    def _follow(self):
        try:
            self._start()
        except BaseException as error:
            self._failed = error
        self._started.set()
        if self._process is not None:
            self._copy()
            self._process.wait()
        self._ended.set()

    def _start(self):
        # A session of its own: a Ctrl-C comes by way of this process, once.
        with open(os.path.join(self._folder, "spec.yaml")) as file, self._lock:
            if not self._abandoned:
                self._process = subprocess.Popen(
                    self._command, stdin=file, stderr=subprocess.PIPE,
                    start_new_session=True, preexec_fn=_die_with_us())

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
        self._process.stderr.close()

    # For everybody.

    def is_alive(self):
        return not self._ended.is_set()

    def poll(self):
        """jobrun's exit status, or None while the job goes on."""
        return self.wait(0)

    def wait(self, timeout=None):
        """jobrun's exit status, as a shell has it, once the job has ended;
        None where it has not within `timeout` seconds."""
        if not _await(self._ended, timeout):
            return None
        self._remove()
        status = self._process.returncode
        return status if status >= 0 else 128 - status

    def pids(self):
        """The process of each rank, in their order; None: it was not started
        yet, or its node has not told. The job's jobrun is `pid`."""
        told = subprocess.run(
            [self._command[0], "show", os.path.basename(self._run_folder),
             "--log-dir", os.path.dirname(self._run_folder), "--json"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL)
        if told.returncode != 0:
            return []
        return [rank["pid"] for rank in json.loads(told.stdout)["ranks"]]

    def stop(self, signal=signal.SIGTERM, grace=None):
        """Have jobrun end the job as that signal does: SIGTERM, SIGINT, SIGHUP
        or SIGQUIT, where the spec's `signals` says nothing else. After `grace`
        seconds, if given, what is left is killed; without, after
        timeouts.stop_grace. join() then raises."""
        self._send(signal)
        if grace is not None and self.wait(max(grace, _ONE_SIGNAL)) is None:
            self._send(signal)

    def _send(self, sig):
        with self._lock:
            if self._process is None:
                self._abandoned = True  # it is not going to be started
            elif self.is_alive():
                self._process.send_signal(sig)

    def end(self, sig):
        """End the job, and return when it has ended. What is raised meanwhile,
        a second Ctrl-C for one, is handed on: it does not wait for the
        grace."""
        while True:
            try:
                self._send(sig)
                if self._process is not None:
                    _await(self._ended)
                break
            except BaseException:
                continue
        self._remove()

    @property
    def results(self):
        """What the ranks have delivered, in their order; empty while the job
        goes on, or where it could not begin."""
        record = self._read()
        return [] if record is None else record.results()

    @property
    def failures(self):
        """A Failure for each rank that failed or did not deliver, the root
        cause first; empty while the job goes on."""
        record = self._read()
        return [] if record is None else record.failures()

    def join(self, timeout=None):
        """What the ranks returned, in their order. JobError where the job did
        not succeed; subprocess.TimeoutExpired where it has not ended after
        `timeout` seconds, and then it runs on. Whatever else leaves this call,
        the job has been stopped."""
        try:
            status = self.wait(timeout)
        except BaseException as error:
            self.end(signal.SIGINT if isinstance(error, KeyboardInterrupt)
                     else signal.SIGTERM)
            raise
        if status is None:
            raise subprocess.TimeoutExpired(self._command, timeout)
        record = self._read()
        if record is None:
            raise self._nothing(status)
        if status == 0:
            return record.results()
        error, cause = record.error(status)
        raise error from cause

    def _read(self):
        """The record; None: the job goes on, or has left none."""
        if self._record is None and self.poll() is not None:
            with contextlib.suppress(FileNotFoundError):
                self._record = _Record(self.run_dir, self.pid)
                self.run_dir = self._record.run_dir
        return self._record

    def _nothing(self, status):
        """jobrun said why on standard error."""
        told = self._tail.decode(errors="replace").strip()
        message = "; ".join(_mistakes(told, self._words))
        return JobError(message or told or "jobrun ended with %d" % status,
                        kind=_KINDS.get(status, "stopped"), status=status)


Job.__module__ = "jobrun"
