"""jobrun.launch: a function of this Python in the ranks of a job.

    results = jobrun.launch(train, args=(0.1,), nprocs=4)

It is a spec and the program jobrun, which _job.py runs; see
docs/from-multiprocessing.md for all of its arguments.
"""
import collections.abc
import difflib
import importlib
import inspect
import json
import os
import re
import runpy
import secrets
import shutil
import site
import sys
import sysconfig
import tempfile
import time
import types

from jobrun import _job, _result

# What launchers call the arguments, by the field that they become.
_NAMES = {
    "local_world_size": ("nprocs", "nproc_per_node", "n_gpus",
                         "num_processes"),
    "world_size": (),
    "nodes": ("nnodes",),
    "node_rank": (),
    "rank_start": (),
    "hosts": (),
    "master_addr": ("master_ip",),
    "master_port": ("port",),
    "init_method": (),
    "device": ("device_type",),
    "devices": (),
    "backends": ("backend",),
    "start_method": ("launch_method",),
    "parallelism.model": ("model_parallelism",),
    "parallelism.pipeline": ("pipeline_parallelism",),
    "parallelism.data": ("data_parallelism",),
    "backends.model": ("model_parallel_backend",),
    "backends.pipeline": ("pipeline_parallel_backend",),
    "backends.data": ("data_parallel_backend",),
    "timeouts.run": ("timeout",),
    "workdir": (),
    "log_dir": (),
    "env": (),
    "oversubscribe": (),
    "threads": (),
}
_FIELDS = {word.replace(".", "_") if word == field else word: field
           for field, words in _NAMES.items() for word in (field,) + words}

_GUARD = """\
jobrun.launch() was called while a rank loads the main module. Call it below

    if __name__ == "__main__":

so that the ranks can import the module without starting a job again."""

_loading_main = False


# What is to be called ------------------------------------------------------

def _main_of():
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


def _describe(fn):
    """Where ranks find a function: MODULE and NAME."""
    if isinstance(fn, str):
        module, colon, name = fn.partition(":")
        if not (module and colon and name):
            raise ValueError("%r is no MODULE:FUNCTION" % fn)
        return module, name
    module = getattr(fn, "__module__", None)
    name = getattr(fn, "__qualname__", None)
    if not callable(fn) or not module or not name:
        raise TypeError("jobrun.launch wants a function of a module, not %r; "
                        "what partial() or an object binds goes into args and "
                        "kwargs" % (fn,))
    if inspect.ismethod(fn) and not inspect.isclass(fn.__self__):
        raise ValueError("a method of an object (%s) cannot be found by the "
                         "ranks: launch a function that makes the object"
                         % name)
    for part, what in (("<lambda>", "a lambda"),
                       ("<locals>", "a function inside a function")):
        if part in name:
            raise ValueError("%s (%s) cannot be found by the ranks: define it "
                             "with a name at the top of a module, and hand "
                             "over what it closes over by args and kwargs"
                             % (what, name))
    return module, name


def _find(module, name):
    found = module
    for part in name.split("."):
        found = getattr(found, part)
    return found


def _check_found(fn, module, name):
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


def _check_call(fn, args, kwargs):
    """A call that cannot work is told before anything is started."""
    _result._check(args, "args", set())
    _result._check(kwargs, "kwargs", set())
    try:
        signature = inspect.signature(fn)
    except (TypeError, ValueError):  # not every built-in has one
        return
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError("%s takes %s, and args %.200r and kwargs %.200r do not "
                        "fit: %s" % (fn.__qualname__, signature, args, kwargs,
                                     error)) from None


def _mapping(name, value):
    if value is not None and not isinstance(value, collections.abc.Mapping):
        raise TypeError("%s wants a dict, not %r" % (name, value))
    return dict(value or {})


def _list(args):
    if args is None:
        return []
    if isinstance(args, (str, bytes, collections.abc.Mapping)) or \
            not isinstance(args, collections.abc.Iterable):
        raise TypeError("args wants a tuple or a list, not %.60r: one argument "
                        "alone is written (x,)" % (args,))
    return list(args)


def _load_main(main):
    """The caller's main module, under the name that multiprocessing gives it,
    so that what stands below `if __name__ == "__main__"` is not run."""
    global _loading_main
    _loading_main = True
    try:
        if "module" in main:
            content = runpy.run_module(main["module"], run_name="__mp_main__",
                                       alter_sys=True)
        else:
            content = runpy.run_path(main["path"], run_name="__mp_main__")
    finally:
        _loading_main = False
    module = types.ModuleType("__mp_main__")
    module.__dict__.update(content)
    sys.modules["__main__"] = sys.modules["__mp_main__"] = module
    return module


def call(path):
    """In a rank: the call that the file describes."""
    with open(path) as file:
        what = json.load(file)
    sys.argv[:] = what["argv"]
    if what["main"]:
        module = _load_main(what["main"])
    else:
        module = importlib.import_module(what["module"])
    return _find(module, what["name"])(*what["args"], **what["kwargs"])


# The spec ------------------------------------------------------------------

def _literal(text):
    """A text in which nothing is put in, neither at load nor per rank."""
    return text.replace("${", "$${").replace("%{", "%%{")


def _python_path():
    """What of sys.path the same interpreter would not have by itself."""
    own = [*sysconfig.get_paths().values(), *site.getsitepackages(),
           site.getusersitepackages(),
           os.path.dirname(os.path.dirname(__file__))]
    own = [os.path.realpath(folder) for folder in own]
    kept = []
    for entry in sys.path:
        folder = os.path.realpath(entry or os.getcwd())
        inside = any(folder == other or folder.startswith(other + os.sep)
                     for other in own)
        if not inside and not re.search(r"/lib/python[\d.]+\.zip$", folder):
            kept.append(os.path.abspath(entry or os.getcwd()))
    inherited = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    kept += [entry for entry in inherited if entry and entry not in kept]
    return os.pathsep.join(kept)


def _put(spec, path, value):
    *folders, last = path.split(".")
    for key in folders:
        if not isinstance(spec.setdefault(key, {}), dict):
            spec[key] = {"default": spec[key]}
        spec = spec[key]
    spec[last] = value


def _merge(under, over):
    for key, value in over.items():
        if isinstance(value, dict) and isinstance(under.get(key), dict):
            _merge(under[key], value)
        else:
            under[key] = value


def _field_of(word):
    if word in _FIELDS:
        return _FIELDS[word]
    if word == "daemon":
        raise TypeError("launch() has no daemon: no rank outlives its job")
    near = difflib.get_close_matches(word, _FIELDS, 1)
    raise TypeError("launch() has no argument %r%s; any field of a spec can be "
                    "given by spec={...}"
                    % (word, ": did you mean %r?" % near[0] if near else ""))


def _take_options(spec, options):
    """The arguments that are fields; None, and -1 ranks, is MISSING. Returns
    by which word each field was given."""
    given = {}
    for word, value in sorted(options.items()):
        field = _field_of(word)
        if field in given:
            raise TypeError("%s and %s are the same" % (given[field], word))
        given[field] = word
        if value is None or (field == "local_world_size" and value == -1):
            continue
        if field == "timeouts.run" and not isinstance(value, str):
            value = "%dms" % round(value * 1000)
        elif field in ("workdir", "log_dir"):
            value = _literal(os.path.abspath(value))
        elif field == "env":
            value = {name: None if text is None else _literal(str(text))
                     for name, text in _mapping(word, value).items()}
        _put(spec, field, value)
    return given


def _settle_nodes(spec):
    """rank_start alone tells which node this is where all are alike."""
    local, start = spec.get("local_world_size"), spec.get("rank_start")
    if start is not None and local and "node_rank" not in spec:
        if start % local:
            raise ValueError("rank_start %d is no multiple of %d, the ranks "
                             "of a node" % (start, local))
        spec["node_rank"] = start // local


def _spec(module, name, folder, options, over):
    """The spec, and by which word each field was given."""
    if not sys.executable:
        raise RuntimeError("this Python does not know its own interpreter")
    spec = {
        "version": 1,
        "name": (re.sub("[^A-Za-z0-9._-]", "_", name).lstrip("._-") or
                 "job")[:40],
        "workdir": _literal(os.getcwd()),
        "entrypoint": {
            "python": {"function": "jobrun._launch:call",
                       "interpreter": _literal(sys.executable)},
            "args": [_literal(os.path.join(folder, "call.json"))],
        },
        "log_dir": _literal(os.path.abspath("runs")),
    }
    words = _take_options(spec, options)
    spec.setdefault("env", {}).setdefault("PYTHONPATH",
                                          _literal(_python_path()))
    _settle_nodes(spec)
    if spec.get("start_method", "spawn") != "spawn" and module != "__main__":
        spec["preload"] = [module]
    _merge(spec, _mapping("spec", over))
    return spec, words


def launch(fn, args=(), kwargs=None, *, join=True, spec=None, program=None,
           **options):
    """Call fn(*args, **kwargs) in every rank of a job, and return what they
    returned, in the order of the ranks.

    fn has to be one that a rank can import: at the top of a module, or of the
    main script. Arguments and results are JSON. JobError tells the root cause
    where the job does not succeed. The other arguments are fields of a spec,
    also by the names that other launchers have for them; `spec` is laid over
    all of it. Without `join` a Job is returned at once.
    """
    if _loading_main:
        raise RuntimeError(_GUARD)
    module, name = _describe(fn)
    args, kwargs = _list(args), _mapping("kwargs", kwargs)
    _check_call(_check_found(fn, module, name), args, kwargs)
    main = _main_of() if module == "__main__" else None
    folder = tempfile.mkdtemp(prefix="jobrun-launch-")
    try:
        built, words = _spec(module, name, folder, options, spec)
        with open(os.path.join(folder, "call.json"), "w") as file:
            json.dump({"module": module, "name": name, "main": main,
                       "argv": sys.argv, "args": args,
                       "kwargs": kwargs}, file)
        run_id = "%s-%s-%s" % (time.strftime("%Y%m%d-%H%M%S"), built["name"],
                               secrets.token_hex(4))
        job = _job.Job([_job.find(program), "run", "-", "--run-id", run_id],
                       folder, built, words)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return job.join() if join else job
