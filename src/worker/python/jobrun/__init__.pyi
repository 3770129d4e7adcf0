# The types of the package, for mypy, pyright and editors. tests/python/test_hints.py
# holds it to what the modules have; what the words mean stands there.
from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from signal import Signals
from typing import (Any, Literal, NamedTuple, SupportsFloat, SupportsIndex,
                    overload)

_Axis = Literal["model", "pipeline", "data"]
_Args = Iterable[Any] | Mapping[int, Iterable[Any]]
_Kwargs = Mapping[str, Any] | Mapping[int, Mapping[str, Any]]
_Program = list[str] | tuple[str, ...]

AXES: tuple[_Axis, _Axis, _Axis]

def rank() -> int: ...
def world_size() -> int: ...
def local_rank() -> int: ...
def local_world_size() -> int: ...
def node_rank() -> int: ...
def attempt() -> int: ...
def size(axis: _Axis) -> int: ...
def coordinates() -> dict[_Axis, int]: ...
def groups(axis: _Axis) -> list[list[int]]: ...
def members(axis: _Axis) -> list[int]: ...
def backend(axis: _Axis | None = None) -> str: ...
def init(framework: Literal["torch"] = "torch", smoke_test: bool = False) -> None: ...
# What torch has, which need not be here: a ProcessGroup, and a torch.device.
def group(axis: _Axis) -> Any: ...
def device() -> Any: ...
def progress(step: SupportsIndex, of: SupportsIndex | None = None,
             **metrics: SupportsFloat) -> None: ...
def result(value: Any) -> None: ...

class Failure(NamedTuple):
    rank: int
    exit_code: int | None
    signal: str | None
    exception: BaseException | None
    message: str | None
    traceback: str

class JobError(RuntimeError):
    message: str
    rank: int | None
    kind: str
    traceback: str
    exit_code: int | None
    signal: str | None
    failures: list[Failure]
    status: int
    run_dir: str | None
    results: list[Any]
    def __init__(self, message: str, **facts: Any) -> None: ...

class Job:
    pid: int
    run_dir: str
    def is_alive(self) -> bool: ...
    def poll(self) -> int | None: ...
    def wait(self, timeout: float | None = None) -> int | None: ...
    def pids(self) -> list[int | None]: ...
    def stop(self, signal: Signals = ..., grace: float | None = None) -> None: ...
    def join(self, timeout: float | None = None) -> list[Any]: ...
    @property
    def results(self) -> list[Any]: ...
    @property
    def failures(self) -> list[Failure]: ...

# The options are fields of a spec; see docs/from-multiprocessing.md.
@overload
def launch(
    fn: Callable[..., Any] | str | _Program,
    args: _Args = (),
    kwargs: _Kwargs | None = None,
    *,
    join: Literal[True] = True,
    exchange: Literal["json", "pickle"] = "json",
    spec: Mapping[str, Any] | None = None,
    per_rank: Mapping[str, Mapping[str, Any]] | None = None,
    local: bool = False,
    program: str | None = None,
    **options: Any,
) -> list[Any]: ...
@overload
def launch(
    fn: Callable[..., Any] | str | _Program,
    args: _Args = (),
    kwargs: _Kwargs | None = None,
    *,
    join: Literal[False],
    exchange: Literal["json", "pickle"] = "json",
    spec: Mapping[str, Any] | None = None,
    per_rank: Mapping[str, Mapping[str, Any]] | None = None,
    local: bool = False,
    program: str | None = None,
    **options: Any,
) -> Job: ...

def run(
    spec: str | PathLike[str],
    set: Mapping[str, Any] | None = None,
    *,
    log_dir: str | PathLike[str] = "runs",
    program: str | None = None,
) -> dict[str, Any]: ...
