"""Signatures of calls are resolved once, except where a function written in Python stands behind them."""

import operator
import pickle

import numpy as np
import pytest
from numba.core import types
from numba.core.registry import cpu_target

from pliant.kernels import call_signatures
from pliant.kernels.jit import kernel

pytestmark = pytest.mark.compiled
FLOATS = (types.float64, types.float64)


@pytest.fixture
def resolved(monkeypatch):
    """Calls that Numba resolved itself."""
    found, usual = [], call_signatures._resolve

    def resolve(function, context, args, kws):
        found.append(function.typing_key)
        return usual(function, context, args, kws)

    monkeypatch.setattr(call_signatures, "_resolve", resolve)
    return found


def typed(function, args):
    context = cpu_target.typing_context
    context.refresh()
    return context.resolve_value_type(function), context, args


def test_the_second_call_with_the_same_types_is_not_resolved_again(resolved):
    function, context, args = typed(operator.add, FLOATS)
    function.__dict__.pop("_pliant_signatures", None)
    with call_signatures.remembered():
        first, second = (function.get_call_type(context, args, {}) for _ in range(2))
        other = function.get_call_type(context, (types.int64, types.int64), {})
    assert first is second
    assert (first.return_type, other.return_type) == (types.float64, types.int64)
    assert resolved == [operator.add, operator.add]
    assert function.get_impl_key(first) is operator.add


def test_types_in_a_list_are_accepted(resolved):
    function, context, args = typed(operator.add, FLOATS)
    with call_signatures.remembered():
        assert function.get_call_type(context, list(args), {}).return_type == types.float64
    assert resolved == [operator.add]


def test_a_function_written_in_python_is_resolved_every_time(resolved):
    function, context, args = typed(np.flip, (types.float64[::1],))
    with call_signatures.remembered():
        for _ in range(2):
            function.get_call_type(context, args, {})
    assert resolved.count(np.flip) == 2


def test_signatures_are_remembered_while_a_kernel_compiles_and_only_then(tmp_path, monkeypatch):
    monkeypatch.setenv("PLIANT_CACHE", str(tmp_path))  # the kernel below is in no cache
    seen = []
    usual = call_signatures._get_call_type
    monkeypatch.setattr(call_signatures, "_get_call_type", lambda *args: seen.append(args) or usual(*args))
    before = types.Function.get_call_type

    @kernel
    def tripled(x):
        return x + x + x

    assert tripled.py_func(1.0) == tripled(1.0) == 3.0
    assert seen
    assert types.Function.get_call_type is before


def test_what_is_remembered_stays_in_this_process():
    known = call_signatures._Known({("context", FLOATS): "signature"})
    assert pickle.loads(pickle.dumps(known)) == {}
