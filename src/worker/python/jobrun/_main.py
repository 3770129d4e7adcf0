"""The forms of a Python entrypoint, each run as plain Python would."""
import atexit
import builtins
import fcntl
import gc
import importlib
import importlib.machinery
import importlib.util
import io
import json
import os
import re
import select
import stat
import sys
import types

import jobrun
from jobrun import _error, _result
from jobrun._error import StartError

NOTED = 1.0  # seconds within which the runner notes a failure
CONTROL = 3  # the descriptor of the runner's control socket, where there is one
APART = 100  # it is moved to one from here on, where no program has its own


def _new_main():
    """A module `__main__` of the user's own, so that what it defines can be
    found again, by pickle and by multiprocessing's children."""
    main = types.ModuleType("__main__")
    main.__builtins__ = builtins
    sys.modules["__main__"] = main
    return main


def _put_first(folder):
    if not getattr(sys.flags, "safe_path", False):
        sys.path.insert(0, folder)


def script_name(path):
    """A script's __file__, which is absolute from Python 3.9 on."""
    return os.path.abspath(path) if sys.version_info >= (3, 9) else path


def _near_script(path):
    """The file beside a script that is not there which was meant."""
    folder, name = os.path.split(os.path.abspath(path))
    try:
        names = set(os.listdir(folder)) - {name}
    except OSError:
        return ""
    beside = os.path.join(os.path.dirname(path), "").replace("%", "%%")
    return _near(name, names, "; did you mean '" + beside + "%s'?", 0.7)


def read_script(path):
    try:
        with io.open_code(os.path.abspath(path)) as file:
            return compile(file.read(), script_name(path), "exec",
                           dont_inherit=True)
    except OSError as error:
        raise StartError("could not read the script '%s': %s%s"
                         % (os.path.abspath(path), error.strerror,
                            _near_script(path))) from None


def _run_script(words, control):
    path = words[0]
    sys.argv[:] = words
    main = _new_main()
    if os.path.isdir(path) or path.endswith((".zip", ".pyz")):
        import runpy
        _put_first(script_name(path))
        control.reach()
        runpy._run_module_as_main("__main__", alter_argv=False)
        return
    _put_first(os.path.dirname(os.path.realpath(path)))
    code = read_script(path)
    main.__file__ = script_name(path)
    main.__cached__ = None
    main.__loader__ = importlib.machinery.SourceFileLoader("__main__", path)
    control.reach()
    exec(code, main.__dict__)


def _missing(name, error):
    """Whether an import failed for want of `name` itself, or of a package
    that it is in."""
    return error.name is not None and \
        (name + ".").startswith(error.name + ".")


def _near(word, words, form=": did you mean '%s'?", least=0.6):
    import difflib
    near = difflib.get_close_matches(word, words, 1, least)
    return form % near[0] if near else ""


def _no_module(name, missing):
    """`missing` is the module itself, or the first package of it that is not
    there."""
    import pkgutil
    package, dot, last = missing.rpartition(".")
    folders = getattr(sys.modules.get(package), "__path__", []) if package \
        else sys.path
    # Nobody misspells what they wrote themselves into `string`: the standard
    # library has a word that is near to any.
    standard = os.path.dirname(os.__file__)
    folders = [folder for folder in folders
               if folder not in (standard, standard + "/lib-dynload")]
    near = _near(last, [found.name for found in pkgutil.iter_modules(folders)],
                 " (did you mean '%s%s%%s'?)" % (package, dot), 0.7)
    return StartError("no module named '%s'%s%s; the working directory %s is "
                      "searched first, then PYTHONPATH and what %s has "
                      "installed"
                      % (missing, "" if missing == name else
                         " (to import '%s')" % name, near, os.getcwd(),
                         sys.executable))


def find_module(name):
    try:
        spec = importlib.util.find_spec(name)
    except ModuleNotFoundError as error:
        if _missing(name, error):
            raise _no_module(name, error.name) from None
        raise
    if spec is None:
        raise _no_module(name, name)
    return spec


def _run_module(words, control):
    import runpy
    sys.argv[:] = words
    _put_first(os.getcwd())
    find_module(words[0])
    _new_main()
    control.reach()
    runpy._run_module_as_main(words[0])


def import_module(name):
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if _missing(name, error):
            raise _no_module(name, error.name) from None
        raise


def _hidden(name, module):
    """What a module of Python's own, or one imported before, hides: a file of
    the user's that was meant."""
    path = os.path.join(os.getcwd(), *name.split(".")) + ".py"
    file = getattr(module, "__file__", None)
    if not os.path.exists(path) or file and os.path.realpath(
            file) == os.path.realpath(path):
        return ""
    return ": it hides %s, which needs another name" % path


def find_function(target):
    """What MODULE:NAME means; NAME may have dots."""
    module_name, _, path = target.partition(":")
    found = module = import_module(module_name)
    for name in path.split("."):
        try:
            found = getattr(found, name)
        except AttributeError:
            raise StartError(
                "module '%s' (%s) has no '%s'%s"
                % (module_name, getattr(module, "__file__", "built in"), path,
                   _hidden(module_name, module) or
                   _near(name, dir(found)))) from None
    if not callable(found):
        raise StartError("'%s' is not a function: its type is %s"
                         % (target, type(found).__name__))
    return found


def _check_arguments(function, target, args, kwargs):
    """A call that cannot work is told as such, before it is made."""
    import inspect
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # not every built-in has one
        return
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        unknown = re.search(r"unexpected keyword argument '(.*)'", str(error))
        near = _near(unknown[1], signature.parameters) if unknown else ""
        raise StartError(
            "'%s' takes %s, and the spec's args %.200s and kwargs %.200s do "
            "not fit: %s%s" % (target, signature, json.dumps(args),
                               json.dumps(kwargs), error, near)) from None


def _init(framework, smoke_test):
    if importlib.util.find_spec(framework) is None:
        raise StartError("init: %s needs its module, which %s does not have: "
                         "install it there, or set "
                         "entrypoint.python.interpreter to one that has it"
                         % (framework, sys.executable))
    jobrun.init(framework, smoke_test)


def _run_function(words, control):
    target = words[0]
    call = json.loads(words[1])
    args, kwargs = call.get("args") or [], call.get("kwargs") or {}
    sys.argv[:] = [target]
    _put_first(os.getcwd())
    _new_main()
    if call.get("setup"):
        find_function(call["setup"])()
    function = find_function(target)
    _check_arguments(function, target, args, kwargs)
    if call.get("init"):
        _init(call["init"], bool(call.get("smoke_test")))
    _result.hold()
    control.reach()
    value = function(*args, **kwargs)
    if not _error.is_rank():
        sys.stderr.write(
            "jobrun: '%s' returned in process %d, but the rank is process %d: "
            "its return value does not count\n"
            % (target, os.getpid(), _error.rank_pid()))
        return ""
    if value is not None or not jobrun.result.delivered:
        jobrun.result(value)
    return _result.deliver()


_FORMS = {"script": _run_script, "module": _run_module,
          "function": _run_function}


class Control:
    """The runner's ear: a word says how the rank's work ended, a byte that
    comes back says that it may go."""

    returned = False  # the rank's work ended well

    def __init__(self, fd, forked):
        self.fd, self.forked = fd, forked
        self.file = self._socket()
        if self.file is None:
            self.fd = -1
        elif fd == CONTROL:
            self._move()
        else:
            os.set_inheritable(fd, False)

    def _move(self):
        """Small numbers are the program's own, as they are in plain Python."""
        try:
            moved = fcntl.fcntl(self.fd, fcntl.F_DUPFD_CLOEXEC, APART)
        except OSError:  # the rank may not have that many
            os.set_inheritable(self.fd, False)
        else:
            os.close(self.fd)
            self.fd = moved

    def _socket(self):
        """What tells the socket from anything else of that number."""
        try:
            file = os.fstat(self.fd)
        except OSError:
            return None
        return (file.st_dev, file.st_ino) if stat.S_ISSOCK(file.st_mode) \
            else None

    def is_lost(self):
        """Whether the user's code has closed it."""
        return self.fd >= 0 and self._socket() != self.file

    def reach(self):
        """A fork is on its way: the runner bounds that (src/run/policies/fork_stall.c).
        """
        if self.forked:
            self.tell(b"b", answered=False)

    def tell(self, how, answered=True):
        # A process that the user forked is not the rank.
        if self.fd < 0 or self.is_lost() or not _error.is_rank():
            return
        try:
            os.write(self.fd, how)
            # A failure is noted before the rank lets go of what its peers
            # would miss; that takes no time, and a runner that is stopped has
            # to be passed by.
            if answered and (how[:1] in b"rt" or self._is_answered()):
                os.read(self.fd, 1)
        except (OSError, ValueError):
            pass  # no runner: nothing to wait for

    def _is_answered(self):
        answer = select.poll()
        answer.register(self.fd, select.POLLIN)
        return answer.poll(NOTED * 1000)


def _threads_go_on():
    """Whether the rank goes on when its main module has come to its end."""
    threading = sys.modules.get("threading")
    return threading is not None and any(
        not thread.daemon and thread is not threading.main_thread()
        for thread in threading.enumerate())


def _returned(control, file):
    """`file`: what a function delivered; None: it is no function. Returns the
    exit code."""
    if file and control.is_lost():
        _error.refuse(StartError(
            "the function returned, but it had closed descriptor %d, which "
            "reports to jobrun: do not close descriptors that you did not open"
            % control.fd), start=False)
        return 1
    if file is None and _threads_go_on():
        control.tell(b"t")
    else:
        control.tell(b"r" + (file or "").encode())
    control.returned = True
    return 0


def _end_groups(control):
    """At the exit of the rank, after the user's own handlers, while threads may
    still run: end the groups that init made, and collect those that are held by
    garbage alone, as by a model in its own cycles. Those that are left for the
    end of the interpreter can abort it (std::terminate, of a thread of torch
    that wants to run Python then), which fails a rank that has done its work.
    """
    if "torch.distributed" not in sys.modules or not _error.is_rank():
        return
    if control.returned:
        jobrun._end()
    gc.collect()


def _exit_code(error):
    """What Python exits with for a SystemExit."""
    if error.code is None:
        return 0
    return error.code & 0xff if isinstance(error.code, int) else 1


def _run(words, control):
    form = _FORMS[words[0]]
    try:
        file = form(words[1:], control)
    except SystemExit as error:
        code = _exit_code(error)
        if code != 0:
            control.tell(b"x %d" % code)
        elif words[0] != "function":
            _returned(control, None)
        else:
            control.tell(b"x 0", answered=False)
        raise
    except StartError as error:
        _error.refuse(error)
        control.tell(b"x 126")
        return 126
    except BaseException as error:
        # Before the user's own hook, which may take its time, or the process.
        try:
            _error.note(error)
        finally:
            control.tell(b"f")
        _error.show(error)
        raise
    return _returned(control, file)


def main(words):
    control, forked = CONTROL, words[0] == "serve"
    if forked:
        from jobrun import _serve
        words, control = _serve.serve(words[1:])
    _error.claim()
    control = Control(control, forked)
    atexit.register(_end_groups, control)
    return _run(words, control)
