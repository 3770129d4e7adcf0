"""What the helper of fork and forkserver does and says, and how a rank tells
its progress: these modules by themselves, in this process or a fork of it."""
import array
import errno
import json
import os
import shutil
import signal
import socket
import stat
import sys
import tempfile
import types
import unittest
import warnings
from unittest import mock

sys.path.insert(0, os.path.join(os.environ["SUPPORT"], "python"))
from jobrun import _error, _main, _progress, _serve, _threads


class Case(unittest.TestCase):
    def setUp(self):
        self.dir = os.path.realpath(tempfile.mkdtemp(prefix="job run "))
        self.addCleanup(shutil.rmtree, self.dir)
        runner, self.channel = socket.socketpair(socket.AF_UNIX,
                                                 socket.SOCK_SEQPACKET)
        self.runner = runner
        for end in runner, self.channel:
            end.settimeout(60)
            self.addCleanup(end.close)

    def write(self, name, text):
        path = os.path.join(self.dir, name)
        with open(path, "w") as file:
            file.write(text)
        return path

    def heard(self):
        return self.runner.recv(8192).decode()

    def fork(self, work):
        """What a fork that does `work` ends with: an exit code, or minus a
        signal."""
        pid = os.fork()
        if pid == 0:
            try:
                work()
            except BaseException:
                os._exit(99)
            os._exit(98)
        status = os.waitpid(pid, 0)[1]
        return -os.WTERMSIG(status) if os.WIFSIGNALED(status) \
            else os.WEXITSTATUS(status)


def is_open(fd):
    try:
        os.fstat(fd)
        return True
    except OSError:
        return False


class Leaving(Exception):
    """Instead of os._exit, which nothing comes back from."""


def leave(code):
    raise Leaving(code)


class Imports(Case):
    def test_what_is_imported_has_the_ranks_path(self):
        before = list(sys.path)
        with _serve._Folder("/one"):
            self.assertEqual(sys.path, ["/one"] + before)
        self.assertEqual(sys.path, before)
        with _serve._Folder("/one"):
            sys.path.remove("/one")  # by what was imported
        self.assertEqual(sys.path, before)

    def test_what_is_loaded_by_the_form(self):
        called = []
        paths = {}

        def note(name):
            def call(target):
                called.append((name, target))
                paths[name] = sys.path[0]
            return call
        with mock.patch.multiple(
                _main, **{name: note(name) for name in
                          ("read_script", "find_function", "find_module",
                           "import_module")}):
            _serve._import(["--preload", "a", "--load", "script",
                            self.dir + "/s.py", "--preload", "b", "--load",
                            "function", "m:f", "--load", "module", "p.q"])
        self.assertEqual(called, [
            ("import_module", "a"), ("read_script", self.dir + "/s.py"),
            ("import_module", "b"), ("find_function", "m:f"),
            ("find_module", "p.q")])
        self.assertEqual(paths, {
            "import_module": os.getcwd(), "read_script": self.dir,
            "find_function": os.getcwd(), "find_module": os.getcwd()})

    def test_devices_that_no_fork_may_use(self):
        for path, found in (
                ("/dev/nvidia0", True), ("/dev/nvidiactl", True),
                ("/dev/kfd", True), ("/dev/dri/renderD128", True),
                ("/dev/davinci0", True), ("/dev/accel/accel0", True),
                ("/dev/dri/card0", False), ("/dev/null", False),
                ("/x/dev/nvidia0", False), ("socket:[1]", False)):
            with mock.patch("os.listdir", return_value=["5"]), \
                    mock.patch("os.readlink", return_value=path) as read:
                self.assertEqual(_serve._device_in_use(),
                                 path if found else None)
            read.assert_called_once_with("/proc/self/fd/5")
        with mock.patch("os.listdir", return_value=["5", "6"]), \
                mock.patch("os.readlink", side_effect=[OSError, "/dev/kfd"]):
            self.assertEqual(_serve._device_in_use(), "/dev/kfd")

    def test_modules_that_drive_devices(self):
        def module(**parts):
            return types.SimpleNamespace(**{
                name: types.SimpleNamespace(is_initialized=call)
                for name, call in parts.items()})

        def broken():
            raise AssertionError("not compiled")
        for torch, found in (
                (module(), None), (module(cuda=lambda: False), None),
                (module(cuda=broken, xpu=lambda: True), "torch.xpu"),
                (module(cuda=lambda: True), "torch.cuda"),
                (module(npu=lambda: True), "torch.npu")):
            with mock.patch.dict(sys.modules, torch=torch), \
                    mock.patch("os.listdir", return_value=[]):
                self.assertEqual(_serve._device_in_use(), found)

    def unfit(self, threads, refuse, pool=None, device=None):
        with mock.patch.object(_threads, "live_pool", return_value=pool), \
                mock.patch.object(_serve, "_device_in_use",
                                  return_value=device):
            return _serve._unfit(threads, refuse)

    def test_what_is_unfit_to_be_forked(self):
        self.assertIsNone(self.unfit([], True, pool="libgomp"))
        self.assertIsNone(self.unfit(["a"], False))
        self.assertEqual(
            self.unfit(["a"], True, pool="/x/libgomp.so.1", device="d"),
            "the imports have begun to use OpenMP (/x/libgomp.so.1) with "
            "several threads, and a fork hangs in its next parallel region: "
            "do that in the function, leave the number of threads to "
            "`threads`, or use start_method: spawn")
        self.assertEqual(
            self.unfit(["a", "b"], True, device="d"),
            "the imports started 2 threads (a, b), and a fork has only one: "
            "fork_threads is refuse. Do not preload what starts them, or use "
            "start_method: spawn")
        self.assertEqual(
            self.unfit(["a"], False, device="/dev/kfd"),
            "the imports initialised a device (/dev/kfd), which does not "
            "survive a fork: move that into the function, or use "
            "start_method: spawn")

    def prepare(self, words, threads=(), why=None, error=None):
        """What the runner hears, and the exit code where it is the end."""
        imported = mock.Mock(side_effect=error)
        with mock.patch.object(_serve, "_import", imported), \
                mock.patch.object(_threads, "pools"), \
                mock.patch.object(_threads, "others",
                                  return_value=list(threads)), \
                mock.patch.object(_serve, "_unfit", return_value=why) as unfit, \
                mock.patch("sys.stderr"), \
                mock.patch("os._exit", leave):
            code = None
            try:
                _serve._prepare(self.channel, words)
            except Leaving as left:
                code = left.args[0]
        self.imported = imported.call_args_list
        self.judged = unfit.call_args_list
        self.channel.send(b"end")
        return self.heard(), code

    def test_what_the_runner_hears_of_imports(self):
        self.assertEqual(self.prepare(["--preload", "a"]), ("end", None))
        self.assertEqual(self.imported, [mock.call(["--preload", "a"])])
        self.assertEqual(self.judged, [mock.call([], False)])
        self.assertEqual(self.heard_after(self.prepare(
            ["--refuse-threads", "--load", "function", "f:g"], ["t"])),
            ("threads 1 thread (t)", None, "end"))
        self.assertEqual(self.imported,
                         [mock.call(["--load", "function", "f:g"])])
        self.assertEqual(self.judged, [mock.call(["t"], True)])
        self.assertEqual(self.heard_after(self.prepare([], why="too bad")),
                         ("failed fork\ntoo bad", 1, "end"))
        self.assertEqual(self.heard_after(self.prepare(
            [], error=_error.StartError("no such"))),
            ("failed import\nno such", 1, "end"))
        self.assertEqual(self.judged, [])

    def heard_after(self, got):
        return (*got, self.heard())

    def test_where_an_import_failed(self):
        def user():
            raise KeyError("lr")
        text, code = self.prepare([], error=lambda words: user())
        line = user.__code__.co_firstlineno + 1
        self.assertEqual((text, code), (
            "failed import\nKeyError: 'lr' (%s:%d)" % (__file__, line), 1))
        self.heard()
        with mock.patch.object(_error, "trim", return_value=None):
            text, code = self.prepare([], error=SystemExit(3))
        self.assertEqual((text, code), ("failed import\nSystemExit: 3", 1))

    def test_pools_have_one_thread_meanwhile(self):
        seen = []
        with mock.patch.dict(os.environ, OMP_NUM_THREADS="7"):
            self.prepare([], error=lambda words: seen.append(
                os.environ["OMP_NUM_THREADS"]))
            self.assertEqual(os.environ["OMP_NUM_THREADS"], "7")
        self.assertEqual(seen, ["1"])


class Messages(Case):
    def test_what_is_said(self):
        _serve._say(self.channel, "r\ud800 " + "x" * 5000)
        text = self.heard()
        self.assertEqual((text[:8], len(text)), ("r\\ud800 ", 4096))
        self.runner.close()
        with mock.patch("os._exit", leave), self.assertRaises(Leaving) as left:
            _serve._say(self.channel, "nobody hears")
        self.assertEqual(left.exception.args, (0,))

    def test_what_is_received(self):
        pipe = os.pipe()
        for fd in pipe:
            self.addCleanup(os.close, fd)
        for fds in ([], [pipe[0]], [pipe[0], pipe[1], pipe[1]]):
            self.runner.sendmsg([b"rank 7"], [(
                socket.SOL_SOCKET, socket.SCM_RIGHTS,
                array.array("i", fds))] if fds else [])
            text, got = _serve._receive(self.channel)
            self.assertEqual((text, len(got)), (b"rank 7", len(fds)))
            for fd, mine in zip(fds, got):
                self.assertEqual(os.fstat(fd).st_ino, os.fstat(mine).st_ino)
                os.close(mine)
        self.runner.close()
        self.assertEqual(_serve._receive(self.channel), (b"", []))
        lost = mock.Mock()
        lost.recvmsg.side_effect = ConnectionResetError
        self.assertEqual(_serve._receive(lost), (b"", []))

    def test_requests_of_any_length(self):
        for size in 0, 1, (1 << 20) + 5:
            path = self.write("request", "x" * size)
            fd = os.open(path, os.O_RDONLY)
            self.assertEqual(_serve._read_whole(fd), b"x" * size)
            os.close(fd)

    def test_cpus(self):
        for real in {1, 2}, {1}:
            with mock.patch("os.sched_setaffinity") as bind, \
                    mock.patch("os.sched_getaffinity", return_value=real):
                if real == {1, 2}:
                    _serve._bind({2, 1})
                else:
                    with self.assertRaises(OSError) as caught:
                        _serve._bind({2, 1})
                    self.assertEqual(
                        (caught.exception.errno, caught.exception.strerror),
                        (errno.EINVAL, "the rank was to run on CPUs [1, 2], "
                         "and may on [1] only"))
            bind.assert_called_once_with(0, {1, 2})


class Ranks(Case):
    """Ranks in forks of this process."""

    def request(self, *words, control=False):
        """The descriptors of a request; the output is the file `out`."""
        path = self.dir + "/request"
        with open(path, "wb") as file:
            file.write(b"".join(os.fsencode(word) + b"\0" for word in words))
        fds = [os.open(path, os.O_RDONLY), os.open("/dev/null", os.O_RDONLY),
               os.open(self.dir + "/out", os.O_WRONLY | os.O_CREAT, 0o600)]
        fds.append(os.dup(fds[2]))
        if control:
            fds.append(os.dup(self.channel.fileno()))
        return fds

    def out(self):
        with open(self.dir + "/out") as file:
            return file.read()

    def test_a_rank_is_what_the_request_says(self):
        for control, line in ((False, 0), (True, 0), (False, 1000),
                              (True, 1000)):
            fds = self.request(self.dir, "", "4", "python", "worker",
                               "function", "\udcff x", "A=1=2", "B=",
                               "OMP_NUM_THREADS=3", control=control)
            held = None
            if line:
                fds.append(os.open(self.dir, os.O_RDONLY))
                held = os.fstat(fds[-1]).st_ino

            channel = os.fstat(self.channel.fileno()).st_ino

            def rank():
                os.environ["OLD"] = "x"
                with mock.patch.object(_threads, "set_sizes",
                                       lambda: os.write(1, b"sized ")):
                    words, control_fd = _serve._dress(list(fds), line)
                open_fds = [fd for fd in fds if fd > 3 and is_open(fd)]
                os.write(1, repr([
                    words, control_fd, os.getcwd() == self.dir, sorted(
                        name for name in os.environ), os.environ["A"],
                    os.environ["B"], open_fds, os.fstat(0).st_rdev ==
                    os.stat("/dev/null").st_rdev,
                    control and (os.get_inheritable(control_fd),
                                 os.fstat(control_fd).st_ino == channel),
                    sys.stdout.line_buffering,
                    line and (os.get_inheritable(line),
                              os.fstat(line).st_ino == held)]).encode())
                os._exit(7)
            self.assertEqual(self.fork(rank), 7)
            self.assertEqual(self.out(), "sized " + repr([
                ["function", "\udcff x"], 3 if control else -1, True,
                ["A", "B", "OMP_NUM_THREADS"], "1=2", "", [], True,
                control and (False, True), False, line and (False, True)]))
            os.unlink(self.dir + "/out")
            for fd in fds:
                os.close(fd)

    def test_a_rank_is_bound(self):
        fds = self.request("/", "5,3", "0")

        def rank():
            with mock.patch.object(_serve, "_bind",
                                   lambda cpus: os._exit(sum(cpus))):
                _serve._dress(fds, 0)
        self.assertEqual(self.fork(rank), 8)

    def test_a_rank_is_the_runners(self):
        """It waits for the one between, and dies with the runner."""
        calls = []
        with mock.patch("os.getppid", side_effect=[5, 5, 9, 9]), \
                mock.patch("time.sleep") as wait:
            _serve._follow(9, 5, lambda *what: calls.append(what))
        self.assertEqual(calls, [(1, signal.SIGKILL, 0, 0, 0)])
        self.assertEqual(wait.call_count, 2)
        with mock.patch("os.getppid", side_effect=[1, 1]), \
                mock.patch("os._exit", leave), \
                self.assertRaises(Leaving) as left:
            _serve._follow(9, 5, lambda *what: None)
        self.assertEqual(left.exception.args, (127,))

    def test_a_rank_gives_up_what_is_the_helpers(self):
        mine, other = os.pipe(), os.pipe()
        for fd in mine + other:
            self.addCleanup(os.close, fd)
        batch = [(4, list(mine), 99), (5, list(other), 0)]

        def rank():
            def dress(fds, line):
                left = os.listdir("/proc/self/fd")
                good = (fds == list(mine) and line == 99 and
                        os.getsid(0) == os.getpid() and
                        all(str(fd) in left for fd in mine) and
                        not any(str(fd) in left for fd in other) and
                        self.channel.fileno() == -1)
                os._exit(50 + good)
            os.dup2(self.channel.fileno(), 3)
            with mock.patch.object(_serve, "_follow") as follow, \
                    mock.patch.object(_serve, "_dress", dress):
                _serve._become(batch, batch[0], self.channel, (1, 2), None)
        self.assertEqual(self.fork(rank), 51)

    def test_a_rank_that_cannot_be_made(self):
        def rank():
            sys.stderr = open(self.dir + "/err", "w")
            with mock.patch("os.setsid", side_effect=OSError(1, "not now")):
                os.dup2(self.channel.fileno(), 3)
                _serve._become([], (4, [], 0), self.channel, (1, 2), None)
        self.assertEqual(self.fork(rank), 127)
        with open(self.dir + "/err") as file:
            self.assertIn("not now", file.read())

    def test_a_batch(self):
        """One message for each, in their order, and only ranks come back."""
        batch = [(7, [], 0), (8, [], 0), (9, [], 0)]

        def between():
            with mock.patch.object(_threads, "fork", side_effect=[
                    4711, OSError(errno.EAGAIN, "no"), 4712]):
                _serve._fork_batch(batch, self.channel, 1, None)
        self.assertEqual(self.fork(between), 0)
        self.assertEqual([self.heard() for _ in range(3)], [
            "rank 7 4711", "refused 8 %d" % errno.EAGAIN, "rank 9 4712"])
        with mock.patch.object(_threads, "fork", side_effect=[0]), \
                mock.patch.object(_serve, "_become",
                                  return_value="rank") as become:
            self.assertEqual(_serve._fork_batch(batch, self.channel, 1, None),
                             "rank")
        become.assert_called_once_with(batch, batch[0], self.channel,
                                       (1, os.getpid()), None)

    def serve(self, messages, forks=()):
        """What the runner hears of a helper that gets these messages, and how
        it ends; os.close and os.waitpid are noted."""
        self.closed, self.awaited = [], []
        channel = mock.Mock(wraps=self.channel)
        with mock.patch("socket.socket", return_value=channel), \
                mock.patch("os.set_inheritable") as inherit, \
                mock.patch.object(_serve, "_prepare") as prepare, \
                mock.patch.object(_serve, "_receive", side_effect=messages), \
                mock.patch.object(_threads, "fork", side_effect=forks), \
                mock.patch.object(_serve, "_fork_batch",
                                  return_value=("words", 3)) as batch, \
                mock.patch("os.close", self.closed.append), \
                mock.patch("os.waitpid",
                           lambda *what: self.awaited.append(what)), \
                mock.patch("os._exit", leave):
            try:
                ended = _serve.serve(["--preload", "x"])
            except Leaving as left:
                ended = left.args[0]
        inherit.assert_called_once_with(3, False)
        prepare.assert_called_once_with(channel, ["--preload", "x"])
        self.batch = batch.call_args_list
        self.channel.send(b"end")
        said = []
        while not said or said[-1] != "end":
            said.append(self.heard())
        return said[:-1], ended

    def test_the_helper(self):
        self.assertEqual(self.serve([(b"", [])]), (["ready"], 0))
        ranks = [(b"rank 4 0", [40, 41]), (b"rank 5 1000", [50])]
        self.assertEqual(
            self.serve(ranks + [(b"go", []), (b"rank 6 0", [60]), (b"go", []),
                                (b"", [])], [11, 12]),
            (["ready", "done", "done"], 0))
        self.assertEqual(self.closed, [40, 41, 50, 60])
        self.assertEqual(self.awaited, [(11, 0), (12, 0)])
        self.assertEqual(self.serve(ranks + [(b"go", [])], [0]),
                         (["ready"], ("words", 3)))
        self.assertEqual(self.batch[0].args[0], [(4, [40, 41], 0), (5, [50], 1000)])
        self.assertEqual(self.batch[0].args[2], os.getppid())


class Progress(Case):
    def setUp(self):
        super().setUp()
        self.path = self.dir + "/3.jsonl"
        patch = mock.patch.dict(os.environ, JOBRUN_PROGRESS_FILE=self.path)
        patch.start()
        self.addCleanup(patch.stop)
        _progress._file, _progress._warned = None, False
        self.addCleanup(self.forget)

    def forget(self):
        if _progress._file is not None:
            try:
                os.close(_progress._file[1])
            except OSError:
                pass
        _progress._file = None

    def lines(self):
        with open(self.path) as file:
            return [json.loads(line) for line in file]

    def test_lines(self):
        class Whole:
            def __index__(self):
                return 5

        class Real:
            def __float__(self):
                return 0.5
        mask = os.umask(0o027)
        self.addCleanup(os.umask, mask)
        for step, of, metrics, line in (
                (0, None, {}, {"step": 0}), (1, 0, {}, {"step": 1, "of": 0}),
                (Whole(), Whole(), {}, {"step": 5, "of": 5}),
                (2 ** 63 - 1, 1, {"a": 1, "b": Real(), "c": "2.5"},
                 {"step": 2 ** 63 - 1, "of": 1, "a": 1.0, "b": 0.5,
                  "c": 2.5}),
                (3, None, {"x": float("nan"), "y": float("-inf"), "z": True},
                 {"step": 3, "x": None, "y": None, "z": 1.0})):
            _progress.tell(step, of, metrics)
            self.assertEqual(self.lines()[-1], line)
        self.assertEqual(len(self.lines()), 5)
        self.assertEqual(stat.S_IMODE(os.stat(self.path).st_mode), 0o640)
        self.assertFalse(os.get_inheritable(_progress._file[1]))

    def test_what_is_no_progress(self):
        for step, of, metrics, kind, text in (
                (1.0, None, {}, TypeError, "jobrun.progress: step is to be a "
                 "whole number, not 1.0"),
                ("1", None, {}, TypeError, "jobrun.progress: step is to be a "
                 "whole number, not '1'"),
                (1, 2.5, {}, TypeError, "jobrun.progress: of is to be a whole "
                 "number, not 2.5"),
                (-1, None, {}, ValueError, "jobrun.progress: step is to be at "
                 "least 0, not -1"),
                (2 ** 63, None, {}, ValueError, "jobrun.progress: step is to "
                 "be at least 0, not %d" % 2 ** 63),
                (1, -2, {}, ValueError, "jobrun.progress: of is to be at "
                 "least 0, not -2"),
                (1, None, {"loss": "low"}, TypeError, "jobrun.progress: the "
                 "metric 'loss' is to be a number, not 'low'"),
                (1, None, {"loss": None}, TypeError, "jobrun.progress: the "
                 "metric 'loss' is to be a number, not None")):
            with self.assertRaises(kind) as caught:
                _progress.tell(step, of, metrics)
            self.assertEqual(str(caught.exception), text)
        self.assertFalse(os.path.exists(self.path))
        for value in {}, {"JOBRUN_PROGRESS_FILE": ""}:
            with mock.patch.dict(os.environ, value, clear=True), \
                    self.assertRaisesRegex(RuntimeError, "in a rank of jobrun"):
                _progress.tell(1, None, {})

    def test_the_file_is_opened_once(self):
        _progress.tell(1, None, {})
        with mock.patch("os.open", side_effect=AssertionError):
            _progress.tell(2, None, {})
        os.close(_progress._file[1])  # by code that did not open it
        _progress.tell(3, None, {})
        fd = os.open("/dev/null", os.O_RDONLY)
        os.dup2(fd, _progress._file[1])  # and has another use for its number
        os.close(fd)
        lost = _progress._file[1]
        _progress.tell(4, None, {})
        self.assertEqual(self.lines(), [{"step": n} for n in (1, 2, 3, 4)])
        os.close(lost)
        other = self.dir + "/other"
        before = _progress._file[1]
        with mock.patch.dict(os.environ, JOBRUN_PROGRESS_FILE=other):
            _progress.tell(5, None, {})
        os.close(before)
        with open(other) as file:
            self.assertEqual(file.read(), '{"step": 5}\n')

    def test_what_cannot_be_written_is_a_warning_once(self):
        os.symlink("/etc/passwd", self.path)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")

            def user():
                _progress.tell(1, None, {})

            def called():
                user()  # as jobrun.progress stands between
            for _ in range(3):
                called()
                self.assertEqual(len(told), 1)
        self.assertIs(told[0].category, RuntimeWarning)
        self.assertIn("jobrun.progress: [Errno 40]", str(told[0].message))
        self.assertEqual((told[0].filename, told[0].lineno),
                         (__file__, called.__code__.co_firstlineno + 1))


if __name__ == "__main__":
    unittest.main()
