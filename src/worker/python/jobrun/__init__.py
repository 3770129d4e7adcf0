"""What a rank of jobrun can ask and say.

    import jobrun
    jobrun.rank(), jobrun.world_size()
    jobrun.coordinates()            # {"model": 0, "pipeline": 1, "data": 0}
    jobrun.members("model")         # the ranks that share this rank's others
    jobrun.progress(step, of=1000, loss=0.3)    # how far this rank is
    jobrun.result({"accuracy": 0.97})

With `init: torch`, or after jobrun.init("torch"), besides:

    jobrun.group("model")           # a torch.distributed process group
    jobrun.device()                 # a torch.device

Call jobrun.result in the rank's own process, not in one that it has started.

Everything is read from the environment of the contract, so it is the same in
scripts, modules and functions.

And from outside of ranks, to start a job of them:

    results = jobrun.launch(train, args=(0.1,), nprocs=4)

which raises jobrun.JobError where the job does not succeed; see _job.py. Or to run a
spec with some of its fields set, and read what became of it; see _run.py:

    record = jobrun.run("train.yaml", {"vars.lr": 0.1})
"""
import os

AXES = ("model", "pipeline", "data")  # the fastest first

_made = None  # what init("torch") made; see _torch.py


def __getattr__(name):
    # Ranks need none of this.
    if name in ("Job", "JobError", "Failure"):
        from jobrun import _job
        return getattr(_job, name)
    if name == "launch":
        from jobrun import _launch
        return _launch.launch
    if name == "run":
        from jobrun import _run
        return _run.run
    raise AttributeError("module 'jobrun' has no attribute %r" % name)


def _number(name):
    text = os.environ.get(name)
    if text is None:
        raise RuntimeError("%s is not set: this process is not a rank of "
                           "jobrun" % name)
    return int(text)


def rank():
    """The rank in the world, from 0."""
    return _number("RANK")


def world_size():
    """How many ranks the job has."""
    return _number("WORLD_SIZE")


def local_rank():
    """The rank on its node."""
    return _number("LOCAL_RANK")


def local_world_size():
    """How many ranks this node has."""
    return _number("LOCAL_WORLD_SIZE")


def node_rank():
    """The index of this node."""
    return _number("NODE_RANK")


def attempt():
    """0, or how often the job was restarted."""
    return _number("JOBRUN_ATTEMPT")


def _of_axis(axis, what):
    if axis not in AXES:
        raise ValueError("no axis %r: there are %s" % (axis, ", ".join(AXES)))
    return "%s_PARALLEL_%s" % (axis.upper(), what)


def size(axis):
    """How long an axis of the mesh is."""
    return _number(_of_axis(axis, "SIZE"))


def coordinates():
    """The place of the rank on each axis."""
    return {axis: _number(_of_axis(axis, "RANK")) for axis in AXES}


def groups(axis):
    """The ranks of every group of an axis, in the order of their index."""
    _of_axis(axis, "SIZE")
    stride = 1
    for faster in AXES[:AXES.index(axis)]:
        stride *= size(faster)
    length = size(axis)
    return [list(range(first, first + stride * length, stride))
            for first in range(world_size())
            if first // stride % length == 0]


def members(axis):
    """The ranks of this rank's group on an axis."""
    return groups(axis)[_number(_of_axis(axis, "GROUP"))]


def backend(axis=None):
    """The name of the backend of an axis, or of the whole world."""
    if axis is None:
        name = os.environ.get("TORCH_DISTRIBUTED_BACKEND")
        return name or os.environ[_of_axis("data", "BACKEND")]
    return os.environ[_of_axis(axis, "BACKEND")]


def init(framework="torch", smoke_test=False):
    """Initialise the process group, the device and one group per axis, as
    `init: torch` does before a function. Once per rank."""
    global _made
    if framework != "torch":
        raise ValueError("jobrun.init knows 'torch', not %r" % (framework,))
    if _made is None:
        from jobrun import _torch
        _made = _torch.init()
    if smoke_test:
        _made.smoke_test()


def _end():
    """End what init began, in the process that began it."""
    if _made is not None:
        _made.end()


def _initialised():
    if _made is None:
        raise RuntimeError("there are no process groups: state `init: torch` "
                           "in the spec, or call jobrun.init('torch') first")
    return _made


def group(axis):
    """The process group of this rank on an axis."""
    _of_axis(axis, "SIZE")
    return _initialised().groups[axis]


def device():
    """The device that init selected."""
    return _initialised().device


def progress(step, of=None, **metrics):
    """Tell jobrun that the rank has made `step`, of `of` steps, with metrics
    that are numbers; nan and inf are, too. Whose steps are the job's is up to
    `progress.ranks` of the spec: rank 0's unless it says otherwise."""
    from jobrun import _progress
    _progress.tell(step, of, metrics)


def result(value):
    """Deliver `value`, anything that JSON can say; the last one counts, and a
    function's return value, unless it is None, comes after it. A function has
    to return for either to count. Only the rank itself can deliver: another
    process, as that of a data loader, gets a RuntimeError."""
    from jobrun import _result
    _result.write(value)
    result.delivered = True


result.delivered = False
