"""jobrun.launch: a function of this Python in the ranks of a job.

    results = jobrun.launch(train, args=(0.1,), nprocs=4)

It is a spec and the program jobrun, which _job.py runs; see
docs/from-multiprocessing.md for all of its arguments.
"""
import collections.abc
import difflib
import os
import re
import secrets
import shutil
import signal
import site
import sys
import sysconfig
import tempfile
import time

from jobrun import _function, _job

# What launchers call the arguments, by the field that they become.
_NAMES = {
    "local_world_size": ("nproc_per_node", "n_gpus"),
    "world_size": ("nprocs", "num_processes"),
    "nodes": ("nnodes",),
    "node_rank": (),
    "rank_start": (),
    "hosts": (),
    "master_addr": ("master_ip",),
    "master_port": ("port",),
    "init_method": (),
    "device": ("device_type",),
    "devices": ("gpus", "gpu_ids", "device_ids", "selected_devices"),
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
    "redirects": (),
    "tee": (),
}
# What launchers have to be told, and jobrun has not.
_NEEDLESS = {
    "daemon": "no rank outlives its job",
    "local_rank": "each rank has its own: jobrun.local_rank()",
    "print_config": "jobrun resolve prints what will be run",
    "rank": "each rank has its own: jobrun.rank(); where this is one of "
            "several nodes, node_rank says which",
    "use_paddlecloud": "jobrun detects the scheduler: see jobrun doctor",
}
_FIELDS = {word.replace(".", "_") if word == field else word: field
           for field, words in _NAMES.items() for word in (field,) + words}

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


# The fields of the spec ----------------------------------------------------

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
    if word in _NEEDLESS:
        raise TypeError("launch() has no %s: %s" % (word, _NEEDLESS[word]))
    near = difflib.get_close_matches(word, _FIELDS, 1)
    raise TypeError("launch() has no argument %r%s; any field of a spec can be "
                    "given by spec={...}"
                    % (word, ": did you mean %r?" % near[0] if near else ""))


def _environment(word, value):
    return {name: None if text is None else _literal(str(text))
            for name, text in _mapping(word, value).items()}


def _devices(word, value):
    """A list, "0,1", or a word of the field; a bare number may mean how many,
    or which."""
    if isinstance(value, int):
        raise TypeError("%s=%d: how many ranks a node has is n_gpus=%d; which "
                        "devices they use is devices=[...]"
                        % (word, value, value))
    if isinstance(value, str) and "," in value:
        value = [int(item) if item.strip().isdigit() else item.strip()
                 for item in value.split(",")]
    return value


def _take_options(spec, options):
    """The arguments that are fields; None, and -1 ranks, is MISSING. Returns
    by which word each field was given."""
    given = {}
    for word, value in sorted(options.items()):
        field = _field_of(word)
        if field in given:
            raise TypeError("%s and %s are the same" % (given[field], word))
        given[field] = word
        if value is None or (field in ("local_world_size", "world_size") and
                             value == -1):
            continue
        if field == "devices":
            value = _devices(word, value)
        if field == "timeouts.run" and not isinstance(value, str):
            value = "%dms" % round(value * 1000)
        elif field in ("workdir", "log_dir"):
            value = os.path.abspath(os.path.expanduser(value)).replace("${", "$${")
            if field == "workdir":  # which each rank can have its own of
                value = value.replace("%{", "%%{")
        elif field == "env":
            value = _environment(word, value)
        _put(spec, field, value)
    return given


def _settle_nodes(spec):
    """rank_start alone tells which node this is where all are alike."""
    local, start = spec.get("local_world_size"), spec.get("rank_start")
    if start is not None and local and "node_rank" not in spec:
        if start % local:
            raise ValueError("rank_start %d is not a multiple of %d, the "
                             "ranks of a node" % (start, local))
        spec["node_rank"] = start // local


def _check_size(spec, words):
    for field in "local_world_size", "world_size":
        if spec.get(field) == 0 and spec[field] is not False:
            raise ValueError("launch() wants at least one rank, and %s is 0"
                             % words[field])


# Arguments of some ranks only ----------------------------------------------

def _is_by_rank(value):
    return isinstance(value, collections.abc.Mapping) and bool(value) and \
        all(isinstance(key, int) and not isinstance(key, bool)
            for key in value)


class _Own:
    """What some ranks have besides: entries of `per_rank`, whose arguments are
    an index into `calls` (see _function.Call.own)."""

    def __init__(self):
        self.per_rank, self.calls = {}, []

    def take(self, given, per_rank):
        """`given` has args, kwargs and env as far as they are by rank."""
        if given and per_rank:
            raise ValueError("%s by rank and per_rank: use only one of them"
                             % " and ".join(sorted(given)))
        if per_rank is not None:
            for ranks, entry in _mapping("per_rank", per_rank).items():
                self._add(str(ranks), dict(_mapping("per_rank", entry)))
            return
        for rank in sorted(set().union(*given.values())):
            self._add(str(rank), {what: values[rank]
                                  for what, values in given.items()
                                  if rank in values})

    def _add(self, ranks, entry):
        own = self.per_rank.setdefault(ranks, {})
        args = _list(entry.pop("args", None))
        kwargs = _mapping("kwargs", entry.pop("kwargs", None))
        if "env" in entry:
            own["env"] = _environment("env", entry.pop("env"))
        if entry:
            raise TypeError("per_rank takes args, kwargs and env, not %s"
                            % ", ".join(map(repr, sorted(entry))))
        own["args"] = [len(self.calls)]
        self.calls.append((args, kwargs))


def _by_rank(args, kwargs, options):
    """Those of the three that are mappings of rank to value."""
    found = {"args": args, "kwargs": kwargs, "env": options.get("env")}
    return {what: dict(value) for what, value in found.items()
            if _is_by_rank(value)}


def _count_ranks(spec, given):
    """As many ranks as there are values, where nothing else says how many."""
    for what, values in given.items():
        count = len(values)
        sizes = [spec[field] for field in ("world_size", "local_world_size")
                 if isinstance(spec.get(field), int)]
        alone = not sizes and "nodes" not in spec and "hosts" not in spec
        if alone and sorted(values) == list(range(count)):
            spec["local_world_size"] = count
        elif sizes and max(values) >= max(sizes) and "nodes" not in spec:
            raise ValueError("%s names rank %d, and the last one is %d"
                             % (what, max(values), max(sizes) - 1))
        elif alone:
            raise ValueError("%s names ranks %s, not every rank from 0 on: "
                             "set nprocs to the number of ranks"
                             % (what, ", ".join(map(str, sorted(values)))))


# The spec ------------------------------------------------------------------

def _base(name):
    return {
        "version": 1,
        "name": (re.sub("[^A-Za-z0-9._-]", "_", name).lstrip("._-") or
                 "job")[:40],
        "workdir": _literal(os.getcwd()),
        "log_dir": os.path.abspath("runs").replace("${", "$${"),
    }


def _function_entry(path):
    if not sys.executable:
        raise RuntimeError("this Python does not know its own interpreter")
    return {"python": {"function": "jobrun._function:call",
                       "interpreter": _literal(sys.executable)},
            "args": [_literal(path)]}


def _finish(spec, words, own, over):
    """What comes after the fields: `spec=` is laid over all of it."""
    if own.per_rank:
        spec["per_rank"] = own.per_rank
    _settle_nodes(spec)
    _check_size(spec, words)
    _merge(spec, _mapping("spec", over))
    return spec


def _spec_of_function(call, folder, options, own, over):
    """The spec, and by which word each field was given."""
    spec = dict(_base(call.title()), entrypoint=_function_entry(
        os.path.join(folder, "call.json")))
    words = _take_options(spec, options)
    spec.setdefault("env", {}).setdefault("PYTHONPATH",
                                          _literal(_python_path()))
    if spec.get("start_method", "spawn") != "spawn" and call.module and \
            call.module != "__main__":
        spec["preload"] = [call.module]
    return _finish(spec, words, own, over), words


def _spec_of_program(command, options, own, over):
    spec = dict(_base(os.path.basename(command[0])),
                entrypoint={"command": [_literal(word) for word in command]})
    words = _take_options(spec, options)
    for entry in own.per_rank.values():
        args, kwargs = own.calls[entry["args"][0]]
        if kwargs:
            raise TypeError("a program takes args, and no kwargs")
        entry["args"] = [_literal(str(word)) for word in args]
    return _finish(spec, words, own, over), words


def _command(words, args, kwargs):
    words = [os.fspath(word) if isinstance(word, os.PathLike) else word
             for word in words]
    if not all(isinstance(word, str) for word in words) or \
            not (words and words[0]):
        raise TypeError("a program is a list of strings, not %.60r" % (words,))
    if kwargs:
        raise TypeError("a program takes args, and no kwargs")
    return words + [str(word) for word in args]


# The call ------------------------------------------------------------------

def _prepare(fn, args, kwargs, exchange, options, folder):
    """Check everything and write what the ranks read; returns the spec and by
    which words its fields were given."""
    own, over = _Own(), options.pop("spec")
    given = _by_rank(args, kwargs, options)
    own.take(given, options.pop("per_rank"))
    for what in given:
        options.pop(what, None)
    args = [] if "args" in given else _list(args)
    kwargs = {} if "kwargs" in given else _mapping("kwargs", kwargs)
    if isinstance(fn, (list, tuple)):
        if exchange != "json":
            raise ValueError("a program has nothing to exchange by pickle")
        spec, words = _spec_of_program(_command(fn, args, kwargs), options,
                                       own, over)
    else:
        by_code = (options.get("start_method") or
                   options.get("launch_method")) == "fork"
        call = _function.Call(fn, exchange == "pickle", by_code)
        call.common, call.own = (args, kwargs), own.calls
        call.check()
        spec, words = _spec_of_function(call, folder, options, own, over)
        call.write(folder)
    _count_ranks(spec, given)
    return spec, words


def launch(fn, args=(), kwargs=None, *, join=True, exchange="json", spec=None,
           per_rank=None, local=False, program=None, **options):
    """Call fn(*args, **kwargs) in every rank of a job, and return what they
    returned, in the order of the ranks.

    fn          a function that a rank can import: at the top of a module, or
                of the main script, or "module:name"; under
                start_method="fork" any function; under exchange="pickle" any
                object that can be pickled and called; or a program: a list of
                words, which args follow
    args        its arguments; or a dict of rank to arguments
    kwargs      its named arguments; or a dict of rank to such
    exchange    "json": arguments and results are JSON. "pickle": they are any
                objects that can be pickled
    per_rank    a dict of rank sets ("0-3") to {"args", "kwargs", "env"}, added
                to the common ones
    local       start the ranks of all nodes on this machine
    join        False: return a Job at once
    spec        a dict that is laid over the spec: any field
    program     which jobrun

    The other arguments are fields of a spec, also by the names that other
    launchers have for them. JobError tells the root cause where the job does
    not succeed. Whatever exception leaves this call, the job has been stopped.
    """
    if _function.loading_main:
        raise RuntimeError(_function.GUARD)
    if exchange not in ("json", "pickle"):
        raise ValueError("exchange is \"json\" or \"pickle\", not %r"
                         % (exchange,))
    folder = tempfile.mkdtemp(prefix="jobrun-launch-")
    jobs = []
    try:
        built, words = _prepare(fn, args, kwargs, exchange,
                                dict(options, spec=spec, per_rank=per_rank),
                                folder)
        run_id = "%s-%s-%s" % (time.strftime("%Y%m%d-%H%M%S"), built["name"],
                               secrets.token_hex(4))
        command = [_job.find(program), "run", "-", "--run-id", run_id]
        command[2:2] = ["--local"] * bool(local)
        _job.Job(command, folder, built, words, jobs)
        return jobs[0].join() if join else jobs[0]
    except BaseException:
        for job in jobs:
            job.end(signal.SIGTERM)
        shutil.rmtree(folder, ignore_errors=True)
        raise
