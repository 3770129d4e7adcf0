"""torch.distributed.elastic.multiprocessing over jobrun.launch: the names are
torch's. A context is a jobrun.Job, whose folder for each rank is linked to
where torch has it: LOG_DIR/RANK."""
import enum
import json
import os
import re
import signal
import sys
import threading
import time

import jobrun
from jobrun import _error
from shim import ON_CPU

# What jobrun sets in every rank, and lets nobody else set.
CONTRACT = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
POLL = 0.02  # seconds between two looks for the processes of the ranks


class SignalException(Exception):
    def __init__(self, msg, sigval):
        super().__init__(msg)
        self.sigval = sigval


def _raise_signal(signum, _):
    raise SignalException("received %d" % signum, signal.Signals(signum))


class Std(enum.IntFlag):
    NONE, OUT, ERR, ALL = 0, 1, 2, 3

    @classmethod
    def from_str(cls, text):
        if not re.fullmatch(r"[0123]|\d+:[0123](,\d+:[0123])*", text):
            raise ValueError("%r is neither 0-3 nor RANK:0-3,..." % text)
        if ":" not in text:
            return cls(int(text))
        pairs = (pair.split(":") for pair in text.split(","))
        return {int(rank): cls(int(value)) for rank, value in pairs}


def to_map(value, local_world_size):
    given = value if isinstance(value, dict) else \
        dict.fromkeys(range(local_world_size), value)
    return {rank: given.get(rank, Std.NONE)
            for rank in range(local_world_size)}


def _validate_full_rank(values, nprocs, what):
    if set(values) != set(range(nprocs)):
        raise RuntimeError("%s: has %s of %d ranks"
                           % (what, sorted(values), nprocs))


def _write_error(error, path):
    """The file that a rank of jobrun leaves for an exception."""
    before = os.environ.get("JOBRUN_ERROR_FILE")
    os.environ["JOBRUN_ERROR_FILE"] = path
    hook = sys.excepthook
    try:
        _error.claim()
        _error.note(error)
        _error.show(error)
    finally:
        sys.excepthook = hook
        del os.environ["JOBRUN_ERROR_FILE"]
        if before is not None:
            os.environ["JOBRUN_ERROR_FILE"] = before


class ProcessFailure:
    def __init__(self, local_rank, pid, exitcode, error_file):
        self.local_rank, self.pid, self.exitcode = local_rank, pid, exitcode
        self.error_file, self.timestamp = "<N/A>", int(time.time())
        self.error_file_data = {"message": "<NONE>"}
        self.message = "Signal %d (%s) received by PID %d" % (
            -exitcode, self.signal_name(), pid) if exitcode < 0 else \
            "Process failed with exitcode %d" % exitcode
        if os.path.exists(error_file):
            self._read(error_file)

    def _read(self, path):
        self.error_file = path
        with open(path) as file:
            self.error_file_data = json.load(file)
        message = self.error_file_data["message"]
        self.message = message["message"]
        self.timestamp = int(message["extraInfo"]["timestamp"])

    def signal_name(self):
        return signal.Signals(-self.exitcode).name if self.exitcode < 0 \
            else "<N/A>"


class RunProcsResult:
    def __init__(self, return_values=None, failures=None, stdouts=None,
                 stderrs=None):
        self.return_values, self.failures = return_values or {}, failures or {}
        self.stdouts, self.stderrs = stdouts or {}, stderrs or {}

    def is_failed(self):
        return bool(self.failures)


class _Tail:
    """torch has a thread for each stream that shows it: jobrun has one for the
    job."""

    def __init__(self, job):
        self.stopped = lambda: not job.is_alive()


class PContext:
    def __init__(self, job, log_dir, captured):
        self.nprocs, self._job, self._dir = len(captured), job, log_dir
        self._stdout_tail = self._stderr_tail = _Tail(job)
        self.stdouts = self._files(captured, Std.OUT, "stdout.log")
        self.stderrs = self._files(captured, Std.ERR, "stderr.log")
        self._pids = self._wait_for_pids()

    def _files(self, captured, which, name):
        return {rank: os.path.join(self._dir, str(rank), name)
                if captured[rank] & which else ""
                for rank in range(self.nprocs)}

    def _wait_for_pids(self):
        """Of all ranks, as torch has them once they are started."""
        while self._job.is_alive() and None in (self._job.pids() or [None]):
            self._job.wait(POLL)
        pids = self._job.pids()
        if None in (pids or [None]):
            raise self._not_started()
        attempt = os.path.join(self._job.run_dir, "attempt_0")
        for rank in range(self.nprocs):
            os.symlink(os.path.join(attempt, str(rank)),
                       os.path.join(self._dir, str(rank)))
        return dict(enumerate(pids))

    def _not_started(self):
        try:
            self._job.join()
        except jobrun.JobError as error:
            return FileNotFoundError(str(error)) if error.kind == "start" \
                else error
        return RuntimeError("the ranks have no processes")

    def pids(self):
        return self._pids

    def wait(self, timeout=-1, period=1):
        if self._job.wait(None if timeout < 0 else timeout) is None:
            return None
        try:
            values = dict(enumerate(self._job.join()))
            return RunProcsResult(values, {}, self.stdouts, self.stderrs)
        except jobrun.JobError as error:
            failures = {failure.rank: self._failure(failure)
                        for failure in error.failures}
            return RunProcsResult({}, failures, self.stdouts, self.stderrs)

    def _failure(self, failure):
        code = failure.exit_code
        if code is None:
            code = -signal.Signals[failure.signal] if failure.signal else 0
        return ProcessFailure(
            failure.rank, self._pids[failure.rank], int(code),
            os.path.join(self._dir, str(failure.rank), "error.json"))

    def close(self, death_sig=signal.SIGTERM, timeout=30):
        self._job.stop(death_sig, grace=timeout)
        self._job.wait()


class _Empty:
    """torch's world of zero ranks; jobrun refuses one."""
    nprocs, pids, close = 0, dict, staticmethod(lambda *rest: None)

    def wait(self, timeout=-1, period=1):
        return RunProcsResult()


def start_processes(name, entrypoint, args, envs, log_dir,
                    start_method="spawn", redirects=Std.NONE, tee=Std.NONE):
    if os.listdir(log_dir):
        raise RuntimeError("log_dir: %s is not empty" % log_dir)
    nprocs = len(args)
    _validate_full_rank(args, nprocs, "args")
    _validate_full_rank(envs, nprocs, "envs")
    if nprocs == 0:
        return _Empty()
    if threading.current_thread() is threading.main_thread():
        for sig in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP,
                    signal.SIGQUIT):
            signal.signal(sig, _raise_signal)
    to_file, to_both = to_map(redirects, nprocs), to_map(tee, nprocs)
    program = isinstance(entrypoint, str)
    job = jobrun.launch(
        [entrypoint] if program else entrypoint, args, join=False,
        exchange="json" if program else "pickle",
        start_method=None if program else start_method,
        env={rank: {key: value for key, value in env.items()
                    if key not in CONTRACT} for rank, env in envs.items()},
        redirects={rank: int(value) for rank, value in to_file.items()},
        tee={rank: int(value) for rank, value in to_both.items()},
        log_dir=os.path.join(log_dir, "runs"), **ON_CPU)
    return PContext(job, log_dir, {rank: to_file[rank] | to_both[rank]
                                   for rank in range(nprocs)})


def _wrap(local_rank, fn, args, envs, stdout_redirects, stderr_redirects,
          ret_vals, queue_finished_reading_event):
    """What torch does in a rank's process; here a job of that rank."""
    files = {"stdout.log": stdout_redirects[local_rank],
             "stderr.log": stderr_redirects[local_rank]}
    streams = {("out" if "out" in name else "err")
               for name, path in files.items() if path}
    job = jobrun.launch(
        fn, args[local_rank], exchange="pickle", join=False, nprocs=1,
        env={key: value for key, value in envs[local_rank].items()
             if key not in CONTRACT},
        redirects="all" if len(streams) == 2 else "".join(streams) or "none",
        tee="none", **ON_CPU)
    ret_vals[local_rank].put(job.join()[0])
    for name, path in files.items():
        if path:
            os.replace(os.path.join(job.run_dir, "attempt_0", "0", name), path)
    queue_finished_reading_event.wait()
