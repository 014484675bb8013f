"""Types of calls of kernels as JSON, for lists of the kernels that a command needs.

A number is its name, an array for example "readonly float64 2C", a tuple {"tuple": [...]}, and a named tuple
{"dynamics.cloth.Membrane": [...]}, a class of this package. Arrays of records name their fields: "[(...)] 1C".
"""

import ast
import importlib

import numpy as np
from numba import from_dtype, types
from numba.np.numpy_support import as_dtype

PACKAGE = __name__.rpartition(".")[0]


def to_text(kind):
    """The JSON value of a type of Numba."""
    if isinstance(kind, types.Array):
        element = to_text(kind.dtype)
        return f"{'' if kind.mutable else 'readonly '}{element} {kind.ndim}{kind.layout}"
    if isinstance(kind, types.Record):
        return str(as_dtype(kind).descr)
    if isinstance(kind, types.BaseNamedTuple):
        found = kind.instance_class
        return {f"{found.__module__.removeprefix(PACKAGE + '.')}.{found.__qualname__}": [*map(to_text, kind)]}
    if isinstance(kind, types.BaseTuple):
        return {"tuple": [*map(to_text, kind)]}
    if isinstance(kind, (types.Number, types.Boolean)):
        return str(kind)
    raise TypeError(f"no text is defined for the type {kind}")


def from_text(text):
    """The type that `to_text` has written."""
    if isinstance(text, dict):
        ((name, members),) = text.items()
        module, _, attribute = name.rpartition(".")
        group = tuple if name == "tuple" else getattr(importlib.import_module(f"{PACKAGE}.{module}"), attribute)
        return types.BaseTuple.from_types(tuple(map(from_text, members)), group)
    element, _, shape = text.rpartition(" ")
    if text.startswith("[") and not shape[:1].isdigit():
        return _record(text)
    if not element:
        return types.boolean if text == "bool" else getattr(types, text)
    readonly = element.startswith("readonly ")
    element = element.removeprefix("readonly ")
    inside = _record(element) if element.startswith("[") else from_text(element)
    return types.Array(inside, int(shape[:-1]), shape[-1], readonly=readonly)


def _record(text):
    return from_dtype(np.dtype(ast.literal_eval(text), align=True))
