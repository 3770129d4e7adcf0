"""The helper of the start methods fork and forkserver: it imports once, and
every rank is a fork of it. What it and the runner say to each other stands in
src/spawn/start_helper.h."""
import array
import contextlib
import ctypes
import errno
import fcntl
import importlib
import os
import signal
import socket
import sys
import termios
import time
import traceback

from jobrun import _error, _main, _threads

_MESSAGE = 4096
_PR_SET_PDEATHSIG = 1
# Modules of torch that drive devices.
_DEVICES = ("cuda", "xpu", "npu", "hpu", "mlu")


class _Folder:
    """sys.path as the ranks will have it, while something is imported."""

    def __init__(self, folder):
        self.folder = folder

    def __enter__(self):
        sys.path.insert(0, self.folder)

    def __exit__(self, *what):
        if self.folder in sys.path:
            sys.path.remove(self.folder)


def _load(form, target):
    """What can be had of the entry before the ranks part. A script or a module
    runs as __main__, so its code is read, and its package imported."""
    if form == "script":
        with _Folder(os.path.dirname(os.path.realpath(target))):
            _main.read_script(target)
        return
    with _Folder(os.getcwd()):
        if form == "function":
            _main.find_function(target)
        else:
            _main.find_module(target)


def _import(words):
    """[--refuse-threads] --preload MODULE..., --load FORM TARGET"""
    words = list(words)
    while words:
        option = words.pop(0)
        if option == "--preload":
            with _Folder(os.getcwd()):
                _main.import_module(words.pop(0))
        else:
            _load(words.pop(0), words.pop(0))


def _device_in_use():
    """The device that this process has begun to use, which no fork may."""
    torch = sys.modules.get("torch")
    for name in _DEVICES:
        module = getattr(torch, name, None)
        try:
            if module is not None and module.is_initialized():
                return "torch." + name
        except Exception:  # a build without it
            pass
    for fd in os.listdir("/proc/self/fd"):
        try:
            path = os.readlink("/proc/self/fd/" + fd)
        except OSError:
            continue
        if path.startswith(("/dev/nvidia", "/dev/kfd", "/dev/dri/render",
                            "/dev/davinci", "/dev/accel/")):
            return path
    return None


def _unfit(threads, refuse):
    """Why nothing should be forked from this process; None: it may be."""
    pool = _threads.live_pool() if threads else None
    if pool is not None:
        return ("the imports have begun to use OpenMP (%s) with several "
                "threads, and a fork hangs in its next parallel region: do "
                "that in the function, leave the number of threads to "
                "`threads`, or use start_method: spawn" % pool)
    if threads and refuse:
        return ("the imports started %s, and a fork has only one: "
                "fork_threads is refuse. Do not preload what starts them, or "
                "use start_method: spawn" % _threads.tell(threads))
    device = _device_in_use()
    if device is not None:
        return ("the imports initialised a device (%s), which does not survive "
                "a fork: move that into the function, or use start_method: "
                "spawn" % device)
    return None


def _say(channel, text):
    try:
        channel.send(text.encode("utf-8", "backslashreplace")[:_MESSAGE])
    except OSError:
        os._exit(0)  # the runner has all ranks that it wants


def _give_up(channel, stage, text):
    sys.stdout.flush()
    sys.stderr.flush()
    _say(channel, "failed %s\n%s" % (stage, text))
    os._exit(1)


def _prepare(channel, words):
    refuse = words[:1] == ["--refuse-threads"]
    try:
        with _threads.one_each():
            _import(words[refuse:])
    except _error.StartError as error:
        _give_up(channel, "import", str(error))
    except BaseException as error:
        trace = _error.trim(error)
        traceback.print_exception(type(error), error, trace)
        last = traceback.extract_tb(trace)[-1:]
        where = " (%s:%d)" % (last[0].filename, last[0].lineno) if last else ""
        _give_up(channel, "import", "%s: %s%s"
                 % (type(error).__name__, error, where))
    _threads.pools()
    threads = _threads.others()
    why = _unfit(threads, refuse)
    if why:
        _give_up(channel, "fork", why)
    if threads:
        _say(channel, "threads %s" % _threads.tell(threads))
    sys.stdout.flush()
    sys.stderr.flush()


def _receive(channel):
    """A message and the descriptors that came with it; no text at the end."""
    fds = array.array("i")
    try:
        text, control, _, _ = channel.recvmsg(
            _MESSAGE, socket.CMSG_SPACE(8 * fds.itemsize))
    except ConnectionResetError:  # the end, with a word of ours unread
        return b"", []
    for level, kind, data in control:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds.frombytes(data[:len(data) - len(data) % fds.itemsize])
    return text, list(fds)


def _read_whole(fd):
    parts = []
    while True:
        part = os.read(fd, 1 << 20)
        if not part:
            return b"".join(parts)
        parts.append(part)


def _follow(runner, between, prctl):
    """Become the runner's child. `between` has forked us and is ending; a
    death signal set before would be for its end."""
    while os.getppid() == between:
        time.sleep(0.0005)
    prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != runner:
        os._exit(127)


def _bind(cpus):
    """What a cpuset does not allow is left out in silence: here none may be
    missing."""
    os.sched_setaffinity(0, cpus)
    real = os.sched_getaffinity(0)
    if real != cpus:
        raise OSError(errno.EINVAL, "the rank was to run on CPUs %s, and may "
                      "on %s only" % (sorted(cpus), sorted(real)))


def _dress(fds, line):
    """Make this process the rank that the request describes; returns its
    words and its control descriptor. `line` is what its life line is to be: the
    kernel lets go of the highest descriptor first."""
    if line:
        os.dup2(fds[-1], line, False)
        os.close(fds.pop())
    parts = _read_whole(fds[0]).split(b"\0")[:-1]
    count = int(parts[2])
    words = [os.fsdecode(word) for word in parts[3:3 + count]]
    os.environb.clear()
    for entry in parts[3 + count:]:
        name, _, value = entry.partition(b"=")
        os.environb[name] = value
    for number in range(3):
        os.dup2(fds[1 + number], number)
    if os.isatty(0) and os.isatty(1):
        with contextlib.suppress(OSError):  # somebody else's
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    control = _main.CONTROL if len(fds) > 4 else -1
    if len(fds) > 4:
        os.dup2(fds[4], _main.CONTROL, False)
    for fd in fds:
        if fd > _main.CONTROL:
            os.close(fd)
    os.chdir(parts[0])
    if parts[1]:
        _bind({int(cpu) for cpu in parts[1].split(b",")})
    _threads.set_sizes()
    sys.stdout.reconfigure(line_buffering=os.isatty(1))
    # argv is the interpreter and the worker, as for spawn, and then the form.
    return words[2:], control


def _become(batch, mine, channel, parent, prctl):
    """In a rank: give up what is the helper's, and be ready to run."""
    try:
        channel.detach()
        os.close(_main.CONTROL)
        for index, fds, _ in batch:
            for fd in fds if index != mine[0] else ():
                os.close(fd)
        os.setsid()
        _follow(parent[0], parent[1], prctl)
        return _dress(mine[1], mine[2])
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(127)


def _fork_batch(batch, channel, runner, prctl):
    """In the intermediate. Only a rank comes back from here."""
    me = os.getpid()
    for mine in batch:
        try:
            pid = _threads.fork()
        except OSError as error:
            _say(channel, "refused %d %d" % (mine[0], error.errno))
            continue
        if pid == 0:
            return _become(batch, mine, channel, (runner, me), prctl)
        _say(channel, "rank %d %d" % (mine[0], pid))
    os._exit(0)


def serve(words):
    """Never returns in the helper; in each rank, its words and its control
    descriptor."""
    runner = os.getppid()
    channel = socket.socket(fileno=_main.CONTROL)
    os.set_inheritable(_main.CONTROL, False)
    _prepare(channel, words)
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    _say(channel, "ready")
    batch = []
    while True:
        text, fds = _receive(channel)
        if not text:
            os._exit(0)
        if text != b"go":
            _, index, line = text.split()
            batch.append((int(index), fds, int(line)))
            continue
        between = _threads.fork()
        if between == 0:
            return _fork_batch(batch, channel, runner, prctl)
        for _, fds, _ in batch:
            for fd in fds:
                os.close(fd)
        batch = []
        os.waitpid(between, 0)
        _say(channel, "done")
