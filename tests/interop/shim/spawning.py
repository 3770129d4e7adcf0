"""torch.multiprocessing over jobrun.launch: the names are torch's, and so are
the texts of its exceptions."""
import os
import pickle
import select
import shutil
import tempfile
import weakref

import jobrun
from shim import ON_CPU


class ProcessException(Exception):
    """error_index and error_pid as torch has them; what else there is comes
    behind."""

    def __init__(self, msg, error_index, error_pid):
        super().__init__(msg, error_index, error_pid)
        self.msg, self.error_index, self.pid = msg, error_index, error_pid

    def __str__(self):
        return self.msg


class ProcessRaisedException(ProcessException):
    pass


class ProcessExitedException(ProcessException):
    def __init__(self, msg, error_index, error_pid, exit_code,
                 signal_name=None):
        super().__init__(msg, error_index, error_pid)
        self.args += (exit_code, signal_name)
        self.exit_code, self.signal_name = exit_code, signal_name


class Queue:
    """Between processes that need not descend from one another: a FIFO of
    short lines, with one reader."""

    def __init__(self):
        self._folder = tempfile.mkdtemp(prefix="jobrun-queue-")
        self._path = os.path.join(self._folder, "fifo")
        os.mkfifo(self._path)
        self._file = open(self._path, "r+b", buffering=0)
        self._rest = b""
        weakref.finalize(self, shutil.rmtree, self._folder, True)

    def __del__(self):
        self._file.close()

    def __reduce__(self):
        return _Sender, (self._path,)

    def get(self, timeout=None):
        while b"\n" not in self._rest:
            if not select.select([self._file], [], [], timeout)[0]:
                raise TimeoutError("nothing within %s s" % timeout)
            self._rest += os.read(self._file.fileno(), 4096)
        line, _, self._rest = self._rest.partition(b"\n")
        return pickle.loads(bytes.fromhex(line.decode()))


class _Sender:
    def __init__(self, path):
        self._path = path

    def __reduce__(self):
        return _Sender, (self._path,)

    def put(self, value):
        line = pickle.dumps(value).hex().encode() + b"\n"
        assert len(line) <= select.PIPE_BUF
        with open(self._path, "wb", buffering=0) as file:
            file.write(line)


class ProcessContext:
    def __init__(self, job):
        self._job = job

    def pids(self):
        """torch returns from its start once the ranks have processes."""
        while self._job.is_alive() and None in (self._job.pids() or [None]):
            self._job.wait(0.02)
        return self._job.pids()

    def join(self, timeout=None):
        if self._job.wait(timeout) is None:
            return False
        try:
            self._job.join()
        except jobrun.JobError as error:
            raise self._exception(error) from error
        return True

    def _exception(self, error):
        rank = error.rank
        if rank is None:
            return error
        pid = self._job.pids()[rank]
        if error.traceback:
            return ProcessRaisedException(
                "\n\n-- Process %d terminated with the following error:\n%s"
                % (rank, error.traceback.rstrip()), rank, pid)
        how = "signal " + error.signal if error.signal else \
            "exit code %s" % error.exit_code
        return ProcessExitedException(
            "process %d terminated with %s" % (rank, how), rank, pid,
            error.exit_code, error.signal)


def start_processes(fn, args=(), nprocs=1, join=True, daemon=False,
                    start_method="spawn"):
    del daemon  # no rank outlives its job
    context = ProcessContext(jobrun.launch(
        fn, {rank: (rank, *args) for rank in range(nprocs)}, join=False,
        exchange="pickle", start_method=start_method, **ON_CPU))
    if not join:
        return context
    context.join()
    return None


def spawn(fn, args=(), nprocs=1, join=True, daemon=False,
          start_method="spawn"):
    return start_processes(fn, args, nprocs, join, daemon, start_method)
