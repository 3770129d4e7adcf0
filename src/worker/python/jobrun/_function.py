"""The function that jobrun.launch calls in the ranks: how they find it, and in
a rank the call itself."""
import importlib
import inspect
import json
import os
import runpy
import sys
import types

from jobrun import _exchange, _result
from jobrun._error import write_beside

GUARD = """\
jobrun.launch() was called while a rank loads the main module. Call it below

    if __name__ == "__main__":

so that the ranks can import the module without starting a job again."""

loading_main = False

# The name that the main module has in a rank, as multiprocessing has it.
_MAIN_OF_RANK = "__mp_main__"


# In the caller -------------------------------------------------------------

def main_of():
    """How a rank finds the module that runs here as __main__."""
    main = sys.modules["__main__"]
    spec = getattr(main, "__spec__", None)
    path = getattr(main, "__file__", None)
    if spec is not None and spec.name == "__main__" and path:
        path = os.path.dirname(path)  # a folder or an archive was run
    elif spec is not None and spec.name:
        return {"module": spec.name}
    if path and os.path.exists(path):
        return {"path": os.path.abspath(path)}
    raise ValueError("a function that was defined at a prompt, or by -c, "
                     "cannot be found by the ranks: put it into a file")


def name_of(fn):
    """Where ranks find a function: MODULE and NAME."""
    if isinstance(fn, str):
        module, colon, name = fn.partition(":")
        if not (module and colon and name):
            raise ValueError("%r is not of the form MODULE:FUNCTION" % fn)
        return module, name
    module = getattr(fn, "__module__", None)
    name = getattr(fn, "__qualname__", None)
    if not callable(fn) or not module or not name:
        raise TypeError("jobrun.launch wants a function of a module, not %r; "
                        "what partial() or an object binds goes into args and "
                        "kwargs, or is handed over by exchange=\"pickle\""
                        % (fn,))
    if inspect.ismethod(fn) and not inspect.isclass(fn.__self__):
        raise ValueError("a method of an object (%s) cannot be found by the "
                         "ranks: launch a function that makes the object, or "
                         "use exchange=\"pickle\"" % name)
    for part, what in (("<lambda>", "a lambda"),
                       ("<locals>", "a function inside a function")):
        if part in name:
            if module == "__main__":
                main_of()  # what fork cannot find either
            raise ValueError("%s (%s) cannot be found by the ranks: define it "
                             "with a name at the top of a module, and hand "
                             "over what it closes over by args and kwargs, or "
                             "use start_method=\"fork\", if what it closes "
                             "over can be pickled" % (what, name))
    return module, name


def _find(module, name):
    found = module
    for part in name.split("."):
        found = getattr(found, part)
    return found


def find(fn, module, name):
    """The function of that name, which has to be the one that was given."""
    try:
        found = _find(sys.modules.get(module) or
                      importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ValueError("the ranks could not find %s:%s: %s"
                         % (module, name, error)) from None
    # A class method is another object each time that it is looked up.
    if found is not fn and found != fn and not isinstance(fn, str):
        raise ValueError("%s:%s is another function than the one that was "
                         "given: ranks find it by its name" % (module, name))
    return found


def check_call(fn, args, kwargs):
    """A call that cannot work is told before anything is started."""
    try:
        signature = inspect.signature(fn)
    except (TypeError, ValueError):  # not every built-in has one
        return
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError("%s takes %s, and args %.200r and kwargs %.200r do not "
                        "fit: %s" % (getattr(fn, "__qualname__", fn),
                                     signature, args, kwargs,
                                     error)) from None


class Call:
    """A function with its arguments, and how they reach the ranks.

    common      (args, kwargs) of all ranks
    own         the same of some ranks, which a rank names by their index
    """

    def __init__(self, fn, pickled, by_code):
        self.fn, self.pickled, self.by_code = fn, pickled, by_code
        by_name = not (pickled and callable(fn)) and not (
            by_code and inspect.isfunction(fn) and
            not _exchange.is_found_by_name(fn))
        if by_name:
            self.module, self.name = name_of(fn)
            self.function = find(fn, self.module, self.name)
        else:
            self.module = getattr(fn, "__module__", None) or ""
            self.name, self.function = None, fn
        if self.module == _MAIN_OF_RANK:  # a rank starts a job of its own
            self.module = "__main__"
        self.common, self.own = ([], {}), []

    def title(self):
        return self.name or getattr(self.fn, "__qualname__", "") or \
            type(self.fn).__qualname__

    def check(self):
        """Raise where the arguments do not fit, or cannot be handed over."""
        for args, kwargs in self.own or [([], {})]:
            check_call(self.function, [*self.common[0], *args],
                       {**self.common[1], **kwargs})
        if self.pickled:
            return
        for args, kwargs in [self.common, *self.own]:
            _result._check(args, "args", set())
            _result._check(kwargs, "kwargs", set())

    def write(self, folder):
        """The files that `call` reads; returns the path of the first."""
        pickles = {}
        if self.name is None:
            pickles["function"] = _exchange.dumps(self.fn, "the function",
                                                  self.by_code)
        if self.pickled:
            pickles["calls"] = _exchange.dumps(
                (self.common, self.own), "args and kwargs", self.by_code)
        # What is pickled may be an object of a class of the main module.
        needs_main = self.module == "__main__" or any(
            name in text for text in pickles.values()
            for name in (b"__main__", _MAIN_OF_RANK.encode()))
        what = {"module": self.module, "name": self.name,
                "main": main_of() if needs_main else None, "argv": sys.argv,
                "pickled": self.pickled, "calls": [self.common, self.own]}
        for name, text in pickles.items():
            what[name] = os.path.join(folder, name + ".pickle")
            with open(what[name], "wb") as file:
                file.write(text)
        path = os.path.join(folder, "call.json")
        with open(path, "w") as file:
            json.dump(what, file)
        return path


# In a rank -----------------------------------------------------------------

def _load_main(main):
    """Load the caller's main module under a name of its own.

    So what stands below `if __name__ == "__main__"` is not run.
    """
    global loading_main
    loading_main = True
    try:
        if "module" in main:
            content = runpy.run_module(main["module"], run_name=_MAIN_OF_RANK,
                                       alter_sys=True)
        else:
            content = runpy.run_path(main["path"], run_name=_MAIN_OF_RANK)
    finally:
        loading_main = False
    module = types.ModuleType(_MAIN_OF_RANK)
    module.__dict__.update(content)
    sys.modules["__main__"] = sys.modules[_MAIN_OF_RANK] = module
    return module


def _load(path):
    with open(path, "rb") as file:
        return _exchange.loads(file.read())


def _deliver(value):
    """What a function returned, where it is not JSON: a pickle beside the
    result file, and in that what it is."""
    folder = os.path.dirname(os.environ["JOBRUN_RESULT_FILE"])
    path = os.path.join(folder, "result.pickle")
    text = _exchange.dumps(value, "the result")
    write_beside(path, [text])
    return _exchange.describe(path, text, value)


def _keep_exception(error):
    """The exception itself, for the caller, where it can be pickled and read
    again: not all classes of exceptions can."""
    folder = os.path.dirname(os.environ["JOBRUN_ERROR_FILE"])
    try:
        text = _exchange.dumps(error, "the exception")
        _exchange.loads(text)
        write_beside(os.path.join(folder, "error.pickle"), [text])
    except Exception:
        pass  # error.json tells of it all the same


def _call_pickled(function, args, kwargs):
    import jobrun
    me = os.getpid()
    try:
        value = function(*args, **kwargs)
        if value is None and jobrun.result.delivered:
            return None
        return _deliver(value) if os.getpid() == me else None
    except BaseException as error:
        if os.getpid() == me and not isinstance(error, SystemExit):
            _keep_exception(error)
        raise


def call(path, *indices):
    """In a rank: the call that the file describes; `indices` name what it has
    of arguments beside the common ones."""
    with open(path) as file:
        what = json.load(file)
    sys.argv[:] = what["argv"]
    main = _load_main(what["main"]) if what["main"] else None
    if what["name"] is None:
        function = _load(what["function"])
    else:
        module = main if what["module"] == "__main__" else \
            importlib.import_module(what["module"])
        function = _find(module, what["name"])
    calls = _load(what["calls"]) if what["pickled"] else what["calls"]
    (args, kwargs), own = calls
    for index in indices:
        args = [*args, *own[index][0]]
        kwargs = {**kwargs, **own[index][1]}
    if what["pickled"]:
        return _call_pickled(function, args, kwargs)
    return function(*args, **kwargs)
