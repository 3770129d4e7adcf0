"""jobrun.launch: a function of this Python in the ranks of a job.

    results = jobrun.launch(train, args=(0.1,), nprocs=4)

It is a spec, the program jobrun, and what the run folder says afterwards; see
docs/from-multiprocessing.md for all of its arguments.
"""
import contextlib
import ctypes
import difflib
import importlib
import inspect
import json
import os
import re
import runpy
import secrets
import shutil
import signal
import site
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
import types

from jobrun import _result

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

_KINDS = {2: "usage", 3: "spec", 4: "resolve", 7: "launch"}
_TAIL = 1 << 16
_GUARD = """\
jobrun.launch() was called while a rank loads the main module. Call it below

    if __name__ == "__main__":

so that the ranks can import the module without starting a job again."""

_loading_main = False


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


# What is to be called ------------------------------------------------------

def _main_of():
    """How a rank finds the module that runs here as __main__."""
    main = sys.modules["__main__"]
    spec = getattr(main, "__spec__", None)
    if spec is not None and spec.name:
        return {"module": spec.name}
    path = getattr(main, "__file__", None)
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
    if found is not fn and not isinstance(fn, str):
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
    signature.bind(*args, **kwargs)


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
    """The arguments that are fields; None, and -1 ranks, is MISSING."""
    given = {}
    for word, value in sorted(options.items()):
        field = _field_of(word)
        if field in given:
            raise TypeError("%s and %s are the same" % (given[field], word))
        given[field] = word
        if value is None or (field == "local_world_size" and value == -1):
            continue
        if field == "timeouts.run":
            value = "%dms" % round(value * 1000)
        elif field in ("workdir", "log_dir"):
            value = _literal(os.path.abspath(value))
        elif field == "env":
            value = {name: None if text is None else _literal(str(text))
                     for name, text in value.items()}
        _put(spec, field, value)


def _settle_nodes(spec):
    """rank_start alone tells which node this is where all are alike."""
    local, start = spec.get("local_world_size"), spec.get("rank_start")
    if start is not None and local and "node_rank" not in spec:
        if start % local:
            raise ValueError("rank_start %d is no multiple of %d, the ranks "
                             "of a node" % (start, local))
        spec["node_rank"] = start // local


def _spec(module, name, folder, options, over):
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
    _take_options(spec, options)
    spec.setdefault("env", {}).setdefault("PYTHONPATH",
                                          _literal(_python_path()))
    _settle_nodes(spec)
    if spec.get("start_method", "spawn") != "spawn" and module != "__main__":
        spec["preload"] = [module]
    _merge(spec, over or {})
    return spec


def _write(path, value):
    """JSON that is YAML too, whatever characters its strings have."""
    text = json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False)
    text = re.sub("[^\n -~]", lambda m: "\\U%08X" % ord(m.group()), text)
    with open(path, "w") as file:
        file.write(text)


# The program ---------------------------------------------------------------

def _program(given):
    """The argument, $JOBRUN, beside this package, or in PATH."""
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


class Job:
    """A job that runs; jobrun.launch(..., join=False) returns it."""

    def __init__(self, folder, program, spec, run_id):
        self._folder = folder
        self._tail = b""
        self._log_dir = spec["log_dir"].replace("$${", "${")
        self._log_dir = self._log_dir.replace("%%{", "%{")
        self.run_dir = os.path.join(self._log_dir, run_id)
        path = os.path.join(folder, spec["name"] + ".jobrun.yaml")
        _write(path, spec)
        _flush()
        # A session of its own: a Ctrl-C comes by way of this process, once.
        self._process = subprocess.Popen(
            [program, "run", path, "--run-id", run_id],
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
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
            self._process.send_signal(signal.SIGINT)
            self._process.wait()
            self._forget()
            raise
        return status if status >= 0 else 128 - status

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
            with open(os.path.join(self.run_dir, "results.json")) as file:
                record = json.load(file)
        except FileNotFoundError:
            raise self._nothing(status) from None
        results = [rank["result"] for rank in record["ranks"]]
        if status == 0:
            return results
        raise self._failure(status, record, results)

    def _nothing(self, status):
        """jobrun said why on standard error."""
        told = self._tail.decode(errors="replace").strip()
        return JobError(told or "jobrun ended with %d" % status,
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
            with open(os.path.join(self.run_dir, path or "")) as file:
                return json.load(file)["message"]["extraInfo"]["py_callstack"]
        except (OSError, ValueError, KeyError, TypeError):
            return ""


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
    args, kwargs = list(args), dict(kwargs or {})
    _check_call(_check_found(fn, module, name), args, kwargs)
    main = _main_of() if module == "__main__" else None
    folder = tempfile.mkdtemp(prefix="jobrun-launch-")
    try:
        built = _spec(module, name, folder, options, spec)
        with open(os.path.join(folder, "call.json"), "w") as file:
            json.dump({"module": module, "name": name, "main": main,
                       "argv": sys.argv, "args": args,
                       "kwargs": kwargs}, file)
        run_id = "%s-%s-%s" % (time.strftime("%Y%m%d-%H%M%S"), built["name"],
                               secrets.token_hex(4))
        job = Job(folder, _program(program), built, run_id)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return job.join() if join else job
