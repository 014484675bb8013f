"""Rows of four numbers as one vector of the processor: sums and updates of rows that an index list chooses.

LLVM vectorises loops over arrays, but not the three components of a vector: it unrolls that loop first, and Numba turns
off the pass that would join its statements. These functions state the vector operations; on (n,4) arrays of f4 they
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
_DOUBLES = ir.VectorType(ir.DoubleType(), _LANES)
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
        return self.lane(one, 0)

    def lane(self, row, k):
        """Number `k` of a row in every lane."""
        return self.b.shuffle_vector(row, _UNDEFINED, ir.Constant(ir.VectorType(_SMALL, _LANES), [k] * _LANES))

    def loop(self, first, last, step, start, body):
        """Emit `for at in range(first, last, step): sums = body(at, sums)`; return the last `at` and sums."""
        b, before = self.b, self.b.block
        head, inside, after = (b.append_basic_block(name) for name in ("rows", "row", "rows_end"))
        b.branch(head)
        b.position_at_end(head)
        at, sums = b.phi(_INDEX), [b.phi(value.type) for value in start]
        at.add_incoming(first, before)
        for phi, value in zip(sums, start, strict=True):
            phi.add_incoming(value, before)
        b.cbranch(b.icmp_signed("<", at, last), inside, after)
        b.position_at_end(inside)
        following = body(at, list(sums))
        at.add_incoming(b.add(at, ir.Constant(_INDEX, step)), b.block)
        for phi, value in zip(sums, following, strict=True):
            phi.add_incoming(value, b.block)
        b.branch(head)
        b.position_at_end(after)
        return at, sums


def _numbers(context, builder, signature, row):
    """A row as four floats."""
    numbers = [builder.extract_element(row, ir.Constant(_SMALL, k)) for k in range(_LANES)]
    return context.make_tuple(builder, signature.return_type, numbers)


def _weighted(rows, term):
    """Sum of value[at] * term(place[at]) over at = first..last-1."""
    b = rows.b

    def body(at, sums):
        places = [b.add(at, ir.Constant(_INDEX, k)) for k in range(len(sums))]
        terms = [b.fmul(rows.number(k), term(rows.chosen(k))) for k in places]
        return [b.fadd(total, each) for total, each in zip(sums, terms, strict=True)]

    # an addition takes three cycles: four sums at a time keep the adders busy
    whole = b.sub(rows.last, ir.Constant(_INDEX, 3))
    at, (s, t, u, v) = rows.loop(rows.first, whole, 4, [_ZERO] * 4, body)
    return rows.loop(at, rows.last, 1, [b.fadd(b.fadd(s, t), b.fadd(u, v))], body)[1][0]


def _weighted_rows(context, value, place, first, last, x):
    def generate(context, builder, signature, args):
        rows = _Rows(context, builder, signature, args)
        return _numbers(context, builder, signature, _weighted(rows, rows.load))

    return _FOUR_FLOATS(value, place, first, last, x), generate


def _weighted_differences(context, value, place, first, last, x, i):
    def generate(context, builder, signature, args):
        rows = _Rows(context, builder, signature, args)
        own = rows.load(args[5])
        total = _weighted(rows, lambda j: builder.fsub(rows.load(j), own))
        return _numbers(context, builder, signature, total)

    return _FOUR_FLOATS(value, place, first, last, x, i), generate


def _block_products(context, value, place, first, last, x, i):
    def generate(context, builder, signature, args):
        rows, b = _Rows(context, builder, signature, args), builder
        own, columns = rows.load(args[5]), b.bitcast(rows.value, _ROW.as_pointer())

        def body(at, sums):
            d, first = b.fsub(rows.load(rows.chosen(at)), own), b.mul(at, ir.Constant(_INDEX, 3))
            for k in range(3):  # a sum for each column: the additions of one do not wait for those of another
                column = b.load(b.gep(columns, [b.add(first, ir.Constant(_INDEX, k))]), align=4)
                sums[k] = b.fadd(sums[k], b.fmul(column, rows.lane(d, k)))
            return sums

        _, (s, t, u) = rows.loop(rows.first, rows.last, 1, [_ZERO] * 3, body)
        return _numbers(context, builder, signature, b.fadd(b.fadd(s, t), u))

    return _FOUR_FLOATS(value, place, first, last, x, i), generate


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


def _gathered_blocks(context, parts, source, first, last, source_start, near, blocks, mass):
    def generate(context, builder, signature, args):
        b = builder

        def data(k):
            return context.make_array(signature.args[k])(context, b, args[k]).data

        rows = _Rows(context, builder, signature, args)
        parts, start, near, out = data(0), data(4), data(5), b.bitcast(data(6), _ROW.as_pointer())

        def constant(k):
            return ir.Constant(_INDEX, k)

        def shuffled(x, y, order):
            return b.shuffle_vector(x, y, ir.Constant(ir.VectorType(_SMALL, _LANES), order))

        def block(which, sums):
            """Add a block of a triangle, stored by rows: its columns, or, if it is transposed, its rows."""
            code = b.load(b.gep(rows.place, [which]))
            at = b.mul(b.sext(b.ashr(code, ir.Constant(_SMALL, 1)), _INDEX), constant(9))
            x, y, z = (
                b.load(b.bitcast(b.gep(parts, [b.add(at, constant(3 * k))]), _ROW.as_pointer()), align=4)
                for k in range(3)
            )
            xy = shuffled(x, y, [0, 4, 1, 5])
            columns = shuffled(xy, z, [0, 1, 4, 4]), shuffled(xy, z, [2, 3, 5, 5])
            columns = (*columns, shuffled(shuffled(x, y, [2, 6, 2, 6]), z, [0, 1, 6, 6]))
            transposed = b.icmp_signed("!=", b.and_(code, ir.Constant(_SMALL, 1)), ir.Constant(_SMALL, 0))
            return [
                b.fadd(total, b.select(transposed, one, other))
                for total, one, other in zip(sums, (x, y, z), columns, strict=True)
            ]

        def row(at, totals):
            first = b.load(b.gep(start, [at]))
            last = b.load(b.gep(start, [b.add(at, constant(1))]))
            sums = rows.loop(first, last, 1, [_ZERO] * 3, block)[1]
            stiff, to = b.load(b.gep(near, [at])), b.mul(at, constant(3))
            following = []
            for k in range(3):
                own = b.insert_element(_ZERO, stiff, ir.Constant(_SMALL, k))
                column = shuffled(b.fadd(sums[k], own), _ZERO, [0, 1, 2, 7])
                b.store(column, b.gep(out, [b.add(to, constant(k))]), align=4)
                following.append(b.fsub(totals[k], b.fpext(column, _DOUBLES)))
            return following

        none = ir.Constant(_DOUBLES, [0.0] * _LANES)
        inertia = [b.insert_element(none, args[7], ir.Constant(_SMALL, k)) for k in range(3)]
        totals = rows.loop(args[2], args[3], 1, inertia, row)[1]
        places = (0, 0), (1, 1), (2, 2), (1, 0), (2, 0), (2, 1)
        numbers = [b.extract_element(totals[k], ir.Constant(_SMALL, lane)) for k, lane in places]
        return context.make_tuple(b, signature.return_type, numbers)

    return types.UniTuple(types.float64, 6)(parts, source, first, last, source_start, near, blocks, mass), generate


def _blended_point(context, columns, joints, weights, first, last, x, y, z):
    def generate(context, builder, signature, args):
        b = builder

        def data(k):
            return context.make_array(signature.args[k])(context, b, args[k]).data

        def everywhere(number):
            one = b.insert_element(ir.Constant(_DOUBLES, ir.Undefined), number, ir.Constant(_SMALL, 0))
            return b.shuffle_vector(one, one, ir.Constant(ir.VectorType(_SMALL, _LANES), [0] * _LANES))

        columns, joints, weights = b.bitcast(data(0), _DOUBLES.as_pointer()), data(1), data(2)
        point, before = [everywhere(args[k]) for k in (5, 6, 7)], b.block
        head, test, inside, after = (b.append_basic_block(name) for name in ("bones", "weight", "bone", "bones_end"))
        b.branch(head)
        b.position_at_end(head)
        at, total = b.phi(_INDEX), b.phi(_DOUBLES)
        at.add_incoming(args[3], before)
        total.add_incoming(ir.Constant(_DOUBLES, [0.0] * _LANES), before)
        b.cbranch(b.icmp_signed("<", at, args[4]), test, after)
        b.position_at_end(test)
        weight = b.load(b.gep(weights, [at]))
        b.cbranch(b.fcmp_unordered("!=", weight, ir.Constant(ir.DoubleType(), 0.0)), inside, after)
        b.position_at_end(inside)
        own = b.mul(b.sext(b.load(b.gep(joints, [at])), _INDEX), ir.Constant(_INDEX, _LANES))
        c = [b.load(b.gep(columns, [b.add(own, ir.Constant(_INDEX, k))]), align=8) for k in range(_LANES)]
        moved = b.fadd(b.fmul(c[0], point[0]), b.fmul(c[1], point[1]))
        moved = b.fadd(b.fadd(moved, b.fmul(c[2], point[2])), c[3])
        at.add_incoming(b.add(at, ir.Constant(_INDEX, 1)), inside)
        total.add_incoming(b.fadd(total, b.fmul(everywhere(weight), moved)), inside)
        b.branch(head)
        b.position_at_end(after)
        return _numbers(context, builder, signature, total)

    return types.UniTuple(types.float64, _LANES)(columns, joints, weights, first, last, x, y, z), generate


def _plain_weighted_rows(value, place, first, last, x):
    """Return the sum of value[at] * x[place[at]] over at = first..last-1 as four floats."""
    return value[first:last] @ x[place[first:last]]


def _plain_weighted_differences(value, place, first, last, x, i):
    """Return the sum of value[at] * (x[place[at]] - x[i]) over at = first..last-1 as four floats."""
    return value[first:last] @ (x[place[first:last]] - x[i])


def _plain_block_products(value, place, first, last, x, i):
    """Return the sum of the blocks value[at], (3,4) by columns, times x[place[at]] - x[i], over at = first..last-1."""
    return np.einsum("kji,kj->i", value[first:last], (x[place[first:last]] - x[i])[:, :3])


def _plain_subtract_multiples(value, place, first, last, x, i):
    """x[place[at]] -= value[at] * x[i] for at = first..last-1; no place is `i`, or there twice."""
    x[place[first:last]] -= value[first:last, None] * x[i]


def _plain_gathered_blocks(parts, source, first, last, source_start, near, blocks, mass):
    """Store the blocks first..last-1 of a row of a symmetric matrix in `blocks` (k,3,4), by columns, and return its
    diagonal block xx, yy, zz, xy, xz, yz: `mass` less the sum of the row.

    Block `at` is near[at] times the unit matrix plus the sum of the blocks parts[s >> 1] (m,9), by rows, for s =
    source[source_start[at]..source_start[at+1]-1], transposed where s is odd. `parts` has one more row than is read.
    """
    totals = mass * np.eye(3)
    for at in range(first, last):
        block = near[at] * np.eye(3, dtype=np.float32)
        for s in source[source_start[at] : source_start[at + 1]]:
            one = parts[s >> 1].reshape(3, 3)
            block += one.T if s & 1 else one
        blocks[at, :, :3], blocks[at, :, 3] = block.T, 0.0
        totals -= block
    return totals[0, 0], totals[1, 1], totals[2, 2], totals[0, 1], totals[0, 2], totals[1, 2]


def _plain_blended_point(columns, joints, weights, first, last, x, y, z):
    """Return the sum of weight * (column 0 * x + column 1 * y + column 2 * z + column 3) over the bones first..last-1
    of the flattened `joints` and `weights`, up to the first zero weight, as four floats; columns (b,4,4) f8."""
    total = np.zeros(4)
    for at in range(first, last):
        weight = weights.flat[at]
        if weight == 0.0:
            break
        c = columns[joints.flat[at]]
        total += weight * (c[0] * x + c[1] * y + c[2] * z + c[3])
    return total


# x: (n,4) f4; value: (k,) f4, or (k,3,4) f4; place: (k,) i4; first, last, i: i8
weighted_rows = intrinsic(_weighted_rows) if COMPILED else _plain_weighted_rows
weighted_differences = intrinsic(_weighted_differences) if COMPILED else _plain_weighted_differences
block_products = intrinsic(_block_products) if COMPILED else _plain_block_products
gathered_blocks = intrinsic(_gathered_blocks) if COMPILED else _plain_gathered_blocks
blended_point = intrinsic(_blended_point) if COMPILED else _plain_blended_point
subtract_multiples = intrinsic(_subtract_multiples) if COMPILED else _plain_subtract_multiples
