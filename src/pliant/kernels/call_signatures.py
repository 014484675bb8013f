"""Signatures of calls that Numba has resolved before, while kernels compile.

For every operator in a kernel, Numba tries some ten templates in turn, among them those for strings, sets and dates,
until one accepts the types of the operands; two floats are added a thousand times. Here the first answer is kept with
the type of the function: a tenth of the processor time of a compilation. The code that results is the same.

For a kernel that is called with 0, with 1, with an i4 and with an i8, Numba compiles it four times. Here it is compiled
once, for i8: another tenth. Unsigned integers, whose bits have a meaning, keep their types.
"""

import contextlib

from numba.core import types
from numba.core.types import Function
from numba.core.typing import make_concrete_template

_resolve = Function.get_call_type


class _Known(dict):
    """Signatures by context and types of arguments; empty after pickling, since they belong to this process."""

    def __reduce__(self):
        return _Known, ()


def _get_call_type(function, context, args, kws):
    """As Numba resolves the call of a function, from memory where the answer follows from the types alone."""
    if kws or type(args) is not tuple:  # parallel loops are rewritten with lists
        return _resolve(function, context, args, kws)
    known = function.__dict__.setdefault("_pliant_signatures", _Known())
    signature = known.get((context, args))
    if signature is None:
        signature = _resolve(function, context, args, kws)
        # functions written in Python (`overload`) have keys of their own, and what they compile depends on the flags
        if function.get_impl_key(signature) is function.typing_key:
            known[context, args] = signature
    else:
        function._impl_keys[signature.args] = function.typing_key
    return signature


@contextlib.contextmanager
def remembered():
    """Remember signatures in this block, in which the thread holds Numba's compiler lock."""
    Function.get_call_type = _get_call_type
    try:
        yield
    finally:
        del Function.get_call_type  # which Numba defines in the class above


def _widened(kind):
    """The type of an argument that a kernel is compiled for: that of all signed integers, and no constant."""
    kind = types.unliteral(kind)
    return types.int64 if isinstance(kind, types.Integer) and kind.signed else kind


def call_template(compiled, args, kws):
    """As the method of Numba's dispatchers that gives templates of calls, for those from other kernels: one kernel for
    all signed integers."""
    pysig, args = compiled._compiler.fold_argument_types(args, kws)
    wanted = tuple(map(_widened, args))
    compiled.compile(wanted)
    name = compiled.py_func.__name__
    signatures = [compiled.overloads[wanted].signature]
    return make_concrete_template(f"CallTemplate({name})", name, signatures), pysig, args, {}
