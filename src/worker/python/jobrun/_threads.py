"""Threads across a fork: what the helper of `fork` and `forkserver` does about
the threads that imports start, and what each rank does about the sizes of the
pools that it has inherited.

A fork has the forking thread alone. Libraries that keep pools of threads
(OpenBLAS, MKL, OpenMP, torch) start none while their size is one, which is how
the helper imports them; the variables that say a size are read but once, so a
rank sets it by the library's own call.
"""
import contextlib
import ctypes
import functools
import os
import signal
import sys
import threading
import warnings

# The calls that set a pool's size, by a part of the library's path, and the
# variable that says it; OMP_NUM_THREADS says it for all. OpenBLAS's names
# depend on how it was built (interface64, and the wheels of SciPy's).
_LIBRARIES = (
    ("libgomp", "OMP_NUM_THREADS", ("omp_set_num_threads",)),
    ("libomp", "OMP_NUM_THREADS", ("omp_set_num_threads",)),
    ("libiomp", "OMP_NUM_THREADS", ("omp_set_num_threads",)),
    ("openblas", "OPENBLAS_NUM_THREADS",
     ("openblas_set_num_threads", "openblas_set_num_threads64_",
      "scipy_openblas_set_num_threads", "scipy_openblas_set_num_threads64_")),
    ("libmkl_rt", "MKL_NUM_THREADS", ("MKL_Set_Num_Threads",)),
    ("blis", "BLIS_NUM_THREADS", ("bli_thread_set_num_threads",)),
)
# Modules that know of their own pools.
_MODULES = (("torch", "OMP_NUM_THREADS"), ("numexpr", "NUMEXPR_NUM_THREADS"))
_NAMES = sorted({row[1] for row in _LIBRARIES + _MODULES})

_PROBE_S = 5  # for a region of two threads that starts one
_NAMED_MOST = 8


@contextlib.contextmanager
def one_each():
    """While this lasts, pools that are made have one thread."""
    before = {name: os.environ.get(name) for name in _NAMES}
    os.environ.update(dict.fromkeys(_NAMES, "1"))
    try:
        yield
    finally:
        for name, text in before.items():
            if text is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = text


def _loaded():
    """The paths of the libraries of this process."""
    paths = set()
    with open("/proc/self/maps") as file:
        for line in file:
            path = line.rstrip("\n").split(None, 5)[5:]
            if path and path[0].startswith("/") and ".so" in path[0]:
                paths.add(path[0])
    return sorted(paths)


def _function(path, name):
    try:
        return getattr(ctypes.CDLL(path), name)
    except (OSError, AttributeError):
        return None


def _size(name):
    for text in (os.environ.get(name, ""),
                 os.environ.get("OMP_NUM_THREADS", "")):
        with contextlib.suppress(ValueError):
            size = int(text.split(",")[0])
            if size > 0:
                return size
    return None


@functools.lru_cache(None)
def pools():
    """The calls that set a pool's size, each with its variable: looked for in
    the helper, once for all ranks."""
    return [(call, variable) for path in _loaded()
            for part, variable, names in _LIBRARIES if part in path
            for call in (_function(path, name) for name in names)
            if call is not None]


def set_sizes():
    """In a rank: what the variables say, of the pools that it has inherited.
    """
    for call, variable in pools():
        size = _size(variable)
        if size is not None:
            call(ctypes.c_int(size))
    for module, variable in _MODULES:
        size = _size(variable)
        call = getattr(sys.modules.get(module), "set_num_threads", None)
        if size is not None and call is not None:
            with contextlib.suppress(Exception):  # a module of that name only
                call(size)


def others():
    """The names of the threads besides this one: those of Python as it knows
    them, others as the kernel does."""
    names = {thread.native_id: thread.name for thread in threading.enumerate()
             if thread.native_id is not None}
    found = []
    for task in sorted(map(int, os.listdir("/proc/self/task"))):
        if task == threading.get_native_id():
            continue
        try:
            with open("/proc/self/task/%d/comm" % task) as file:
                found.append(names.get(task) or file.read().strip())
        except OSError:
            pass  # it has ended
    return found


def tell(names):
    """"2 threads (worker, python3)" """
    listed = sorted(set(names))
    more = ", ..." if len(listed) > _NAMED_MOST else ""
    return "%d thread%s (%s%s)" % (len(names), "s" * (len(names) > 1),
                                   ", ".join(listed[:_NAMED_MOST]), more)


def fork():
    """os.fork(), without a warning to the user about what is judged here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return os.fork()


def _hangs(path):
    """Whether a fork of this process hangs in a parallel region of this copy of
    GNU's OpenMP, which is so where this thread has a pool: tried."""
    region = _function(path, "GOMP_parallel")
    nothing = ctypes.CDLL(None).getpid
    if region is None:
        return False
    region.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint,
                       ctypes.c_uint)
    address = ctypes.cast(nothing, ctypes.c_void_p)
    child = fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(_PROBE_S)
        region(address, None, 2, 0)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return status != 0


def live_pool():
    """The library of a pool of OpenMP that no fork survives; None: there is
    none. LLVM's and Intel's make themselves anew in a fork."""
    return next((path for path in _loaded()
                 if "libgomp" in path and _hangs(path)), None)
