"""Rows of four floats as one vector of the processor: sums and updates of rows that an index list chooses.

LLVM vectorises loops over arrays, but not the three components of a vector: it unrolls that loop first, and Numba turns
the pass that would join its statements off. These functions state the vector operations; on (n,4) arrays of f4 they
take a third of the time of the same loop over three numbers. The fourth lane is padding. Multiplication and addition
are not fused, so results do not depend on the processor.
"""

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from .jit import COMPILED

_LANES = 4
_FLOAT, _INDEX, _SMALL = ir.FloatType(), ir.IntType(64), ir.IntType(32)
_ROW = ir.VectorType(_FLOAT, _LANES)
_UNDEFINED, _ZERO = ir.Constant(_ROW, ir.Undefined), ir.Constant(_ROW, [0.0] * _LANES)
_FOUR_FLOATS = types.UniTuple(types.float32, _LANES)


class _Rows:
    """Access to the arguments of an intrinsic: rows of `x` chosen by `place`, and the numbers beside it."""

    def __init__(self, context, builder, signature, args):
        def array(k):
            return context.make_array(signature.args[k])(context, builder, args[k]).data

        self.b = builder
        self.value, self.place = array(0), array(1)
        self.first, self.last = args[2], args[3]
        self.x = builder.bitcast(array(4), _ROW.as_pointer())

    def at(self, i):
        """Pointer to row `i` of x."""
        return self.b.gep(self.x, [i])

    def load(self, i):
        return self.b.load(self.at(i), align=4)

    def chosen(self, at):
        """The row that place[at] chooses."""
        return self.b.sext(self.b.load(self.b.gep(self.place, [at])), _INDEX)

    def number(self, at):
        """value[at] in every lane."""
        one = self.b.insert_element(_UNDEFINED, self.b.load(self.b.gep(self.value, [at])), ir.Constant(_SMALL, 0))
        return self.b.shuffle_vector(one, _UNDEFINED, ir.Constant(ir.VectorType(_SMALL, _LANES), [0] * _LANES))

    def loop(self, first, last, step, start, body):
        """Emit `for at in range(first, last, step): sums = body(at, sums)`; return the last `at` and sums."""
        b, before = self.b, self.b.block
        head, inside, after = (b.append_basic_block(name) for name in ("rows", "row", "rows_end"))
        b.branch(head)
        b.position_at_end(head)
        at, sums = b.phi(_INDEX), [b.phi(_ROW) for _ in start]
        at.add_incoming(first, before)
        for phi, value in zip(sums, start, strict=True):
            phi.add_incoming(value, before)
        b.cbranch(b.icmp_signed("<", at, last), inside, after)
        b.position_at_end(inside)
        following = body(at, sums)
        at.add_incoming(b.add(at, ir.Constant(_INDEX, step)), b.block)
        for phi, value in zip(sums, following, strict=True):
            phi.add_incoming(value, b.block)
        b.branch(head)
        b.position_at_end(after)
        return at, sums


def _weighted_rows(context, value, place, first, last, x):
    def generate(context, builder, signature, args):
        rows, b = _Rows(context, builder, signature, args), builder

        def body(at, sums):
            places = [b.add(at, ir.Constant(_INDEX, k)) for k in range(len(sums))]
            terms = [b.fmul(rows.number(k), rows.load(rows.chosen(k))) for k in places]
            return [b.fadd(total, term) for total, term in zip(sums, terms, strict=True)]

        # an addition takes three cycles: four sums at a time keep the adders busy
        whole = b.sub(rows.last, ir.Constant(_INDEX, 3))
        at, (s, t, u, v) = rows.loop(rows.first, whole, 4, [_ZERO] * 4, body)
        _, (total,) = rows.loop(at, rows.last, 1, [b.fadd(b.fadd(s, t), b.fadd(u, v))], body)
        numbers = [b.extract_element(total, ir.Constant(_SMALL, k)) for k in range(_LANES)]
        return context.make_tuple(b, signature.return_type, numbers)

    return _FOUR_FLOATS(value, place, first, last, x), generate


def _subtract_multiples(context, value, place, first, last, x, i):
    def generate(context, builder, signature, args):
        rows, b = _Rows(context, builder, signature, args), builder
        own = rows.load(args[5])

        def body(at, sums):
            to = rows.at(rows.chosen(at))
            b.store(b.fsub(b.load(to, align=4), b.fmul(rows.number(at), own)), to, align=4)
            return sums

        rows.loop(rows.first, rows.last, 1, [], body)
        return context.get_dummy_value()

    return types.void(value, place, first, last, x, i), generate


if COMPILED:
    weighted_rows, subtract_multiples = intrinsic(_weighted_rows), intrinsic(_subtract_multiples)
else:

    def weighted_rows(value, place, first, last, x):
        """Return the sum of value[at] * x[place[at]] over at = first..last-1 as four floats; x: (n,4) f4."""
        return np.float32(value[first:last]) @ x[place[first:last]]

    def subtract_multiples(value, place, first, last, x, i):
        """x[place[at]] -= value[at] * x[i] for at = first..last-1; x: (n,4) f4, no place is `i` or twice there."""
        x[place[first:last]] -= np.float32(value[first:last, None]) * x[i]
