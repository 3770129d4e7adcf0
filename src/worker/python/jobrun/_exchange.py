"""Python objects on their way between a caller of jobrun.launch and its ranks:
pickle, and what pickle alone does not do for them.

A tensor on a device is taken to the CPU first, for the device belongs to the
process that has it. Under `start_method="fork"` a function that cannot be found
by its name (a lambda, or a function inside a function) goes by its code: its
globals are those of its module, which the rank imports.
"""
import hashlib
import importlib
import io
import marshal
import os
import pickle
import sys
import types

from jobrun._result import _type_name

_PROTOCOL = 4  # of Python 3.8, the oldest that a rank may be

# The keys of what stands in result.json for a result that is not JSON itself.
_KEYS = {"pickle", "type", "bytes", "sha256"}


class Unfit(TypeError):
    """An object that cannot be pickled: the text names it and says why."""


# Functions by their code ---------------------------------------------------

def is_found_by_name(function):
    found = sys.modules.get(function.__module__)
    for part in function.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is function


def _make_function(code, module, cells):
    content = importlib.import_module(module).__dict__
    closure = tuple(types.CellType() for _ in range(cells)) or None
    return types.FunctionType(marshal.loads(code), content, closure=closure)


def _set_function(function, state):
    own, cells = state
    for cell, content in zip(function.__closure__ or (), cells):
        if content:
            cell.cell_contents = content[0]
    for name, value in own.items():
        setattr(function, name, value)


def _contents(cell):
    """In a tuple; one that was never filled has none."""
    try:
        return (cell.cell_contents,)
    except ValueError:
        return ()


def _reduce_function(function):
    cells = [_contents(cell) for cell in function.__closure__ or ()]
    own = {name: getattr(function, name) for name in
           ("__name__", "__qualname__", "__defaults__", "__kwdefaults__",
            "__annotations__", "__doc__", "__dict__")}
    # The contents come after the function: it may be among them.
    return (_make_function,
            (marshal.dumps(function.__code__), function.__module__,
             len(cells)),
            (own, cells), None, None, _set_function)


# Tensors -------------------------------------------------------------------

def _reduce_torch(tensor):
    if tensor.device.type == "cpu":
        return NotImplemented
    copy = tensor.detach().cpu().requires_grad_(tensor.requires_grad)
    return copy.__reduce_ex__(_PROTOCOL)


def _make_paddle(array, stop_gradient):
    import paddle
    return paddle.to_tensor(array, place="cpu", stop_gradient=stop_gradient)


def _reduce_paddle(tensor):
    return _make_paddle, (tensor.numpy(), tensor.stop_gradient)


# The type by its module, which is loaded wherever there is such an object.
_TENSORS = (("torch", "Tensor", _reduce_torch),
            ("paddle", "Tensor", _reduce_paddle))


class _Pickler(pickle.Pickler):
    def __init__(self, file, by_code):
        super().__init__(file, _PROTOCOL)
        self._by_code = by_code
        self._tensors = [
            (getattr(sys.modules[module], kind), reduce)
            for module, kind, reduce in _TENSORS
            if hasattr(sys.modules.get(module), kind)]

    def reducer_override(self, value):
        for kind, reduce in self._tensors:
            if isinstance(value, kind):
                return reduce(value)
        if self._by_code and isinstance(value, types.ModuleType):
            return importlib.import_module, (value.__name__,)
        if self._by_code and isinstance(value, types.FunctionType) and \
                not is_found_by_name(value):
            return _reduce_function(value)
        return NotImplemented


def dumps(value, what, by_code=False):
    """`what` names the value in the message of Unfit."""
    file = io.BytesIO()
    try:
        _Pickler(file, by_code).dump(value)
    except Exception as error:  # of any __reduce__
        raise Unfit("%s of type %s cannot be pickled: %s: %s"
                    % (what, _type_name(value), type(error).__name__,
                       error)) from error
    return file.getvalue()


def loads(text):
    """What was pickled in a rank names the main module as ranks do."""
    if "__main__" in sys.modules:
        sys.modules.setdefault("__mp_main__", sys.modules["__main__"])
    return pickle.loads(text)


# Files ---------------------------------------------------------------------

def describe(path, text, value):
    """What result.json says of a pickle that stands beside it."""
    return {"pickle": os.path.basename(path), "type": _type_name(value),
            "bytes": len(text), "sha256": hashlib.sha256(text).hexdigest()}


def is_description(result):
    return isinstance(result, dict) and set(result) == _KEYS


def load(folder, result):
    """The object that result.json describes. ValueError where the file beside
    it is not the one that the rank has delivered."""
    with open(os.path.join(folder, os.path.basename(result["pickle"])),
              "rb") as file:
        text = file.read(result["bytes"] + 1)
    if hashlib.sha256(text).hexdigest() != result["sha256"]:
        raise ValueError("%s was changed after the rank had delivered it"
                         % file.name)
    return loads(text)
