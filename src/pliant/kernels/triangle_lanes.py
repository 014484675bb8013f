"""Eight triangles side by side: the distances of a point from all of them by vector code, in single precision.

A triangle is given by a frame of its own, in which it lies in a plane with one edge along the first axis, so that the
distance needs neither divisions nor branches (`kernels/bvh/bvh8.py`, which also bounds the error). A loop over eight
numbers is unrolled before the compiler could vectorise it (`lanes`), so these functions state the vector operations.
"""

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from .jit import COMPILED

LANES = 8
# rows of a triangle: the axes of its frame, each followed by the coordinate of the first corner along it; the length
# of the first edge; the unit directions of the second edge and of that from the first corner to the third, in the
# plane, each followed by the length
FIRST, SECOND, NORMAL, LENGTH, NEXT, LAST, ROWS = 0, 4, 8, 12, 13, 16, 19
_FLOAT, _INDEX, _SMALL = ir.FloatType(), ir.IntType(64), ir.IntType(32)
_ROW = ir.VectorType(_FLOAT, LANES)
_ZERO = ir.Constant(_ROW, [0.0] * LANES)


def _everywhere(b, number):
    """A number in every lane."""
    one = b.insert_element(ir.Constant(_ROW, ir.Undefined), number, ir.Constant(_SMALL, 0))
    return _shuffled(b, one, [0] * LANES)


def _shuffled(b, row, places):
    return b.shuffle_vector(row, row, ir.Constant(ir.VectorType(_SMALL, LANES), places))


def _less(b, x, y):
    return b.select(b.fcmp_ordered("<", x, y), x, y)


def _greater(b, x, y):
    return b.select(b.fcmp_ordered(">", x, y), x, y)


def _rows_of(context, b, signature, args, k):
    """Pointer to the rows of eight numbers of array argument `k`."""
    return b.bitcast(context.make_array(signature.args[k])(context, b, args[k]).data, _ROW.as_pointer())


def _triangle_distances(context, triangles, at, point, squares, row):
    def generate(context, b, signature, args):
        rows = _rows_of(context, b, signature, args, 0)
        first = b.mul(args[1], ir.Constant(_INDEX, ROWS))
        p = [_everywhere(b, b.extract_value(args[2], k)) for k in range(3)]

        def part(k):
            return b.load(b.gep(rows, [b.add(first, ir.Constant(_INDEX, k))]), align=4)

        def coordinate(axis):
            x, y, z = (b.fmul(part(axis + k), p[k]) for k in range(3))
            return b.fsub(b.fadd(b.fadd(x, y), z), part(axis + 3))

        def square(x, y):
            return b.fadd(b.fmul(x, x), b.fmul(y, y))

        def from_segment(beside, along, length):
            beyond = b.fsub(along, _greater(b, _ZERO, _less(b, along, length)))
            return square(beside, beyond)

        s, t, height = (coordinate(axis) for axis in (FIRST, SECOND, NORMAL))
        length, q = part(LENGTH), b.fsub(s, part(LENGTH))
        (x, y), (u, v) = ((part(edge), part(edge + 1)) for edge in (NEXT, LAST))
        # how far outside of the line of each edge
        below, right = b.fsub(_ZERO, t), b.fsub(b.fmul(q, y), b.fmul(t, x))
        left = b.fsub(b.fmul(t, u), b.fmul(s, v))
        nearest = from_segment(below, s, length)
        along = b.fadd(b.fmul(q, x), b.fmul(t, y))
        nearest = _less(b, nearest, from_segment(right, along, part(NEXT + 2)))
        along = b.fadd(b.fmul(s, u), b.fmul(t, v))
        nearest = _less(b, nearest, from_segment(left, along, part(LAST + 2)))
        outside = b.fcmp_ordered(">", _greater(b, below, _greater(b, right, left)), _ZERO)
        total = b.fadd(b.select(outside, nearest, _ZERO), b.fmul(height, height))
        b.store(total, b.gep(_rows_of(context, b, signature, args, 3), [args[4]]), align=4)
        for places in ([4, 5, 6, 7, 0, 1, 2, 3], [2, 3, 0, 1, 6, 7, 4, 5], [1, 0, 3, 2, 5, 4, 7, 6]):
            total = _less(b, total, _shuffled(b, total, places))
        return b.extract_element(total, ir.Constant(_SMALL, 0))

    single, whole = types.float32, types.int64
    return single(triangles, whole, types.UniTuple(single, 3), squares, whole), generate


def _at_most(context, squares, row, limit):
    def generate(context, b, signature, args):
        values = b.load(b.gep(_rows_of(context, b, signature, args, 0), [args[1]]), align=4)
        return b.zext(b.bitcast(b.fcmp_ordered("<=", values, _everywhere(b, args[2])), ir.IntType(LANES)), _INDEX)

    return types.int64(squares, types.int64, types.float32), generate


def _plain_triangle_distances(triangles, at, point, squares, row):
    """Store in squares[row] (8,) the squared distances of the point (3,) from the triangles triangles[at] (ROWS,8);
    return the least of them."""
    a, p = triangles[at], np.array(point, np.float32)
    zero = np.float32(0.0)

    def coordinate(axis):
        return a[axis] * p[0] + a[axis + 1] * p[1] + a[axis + 2] * p[2] - a[axis + 3]

    def from_segment(beside, along, length):
        beyond = along - np.maximum(zero, np.minimum(along, length))
        return beside * beside + beyond * beyond

    s, t, height = (coordinate(axis) for axis in (FIRST, SECOND, NORMAL))
    (x, y), (u, v), q = (a[NEXT], a[NEXT + 1]), (a[LAST], a[LAST + 1]), s - a[LENGTH]
    below, right, left = -t, q * y - t * x, t * u - s * v
    nearest = np.minimum(from_segment(below, s, a[LENGTH]), from_segment(right, q * x + t * y, a[NEXT + 2]))
    nearest = np.minimum(nearest, from_segment(left, s * u + t * v, a[LAST + 2]))
    outside = np.maximum(below, np.maximum(right, left)) > zero
    squares[row] = np.where(outside, nearest, zero) + height * height
    return squares[row].min()


def _plain_at_most(squares, row, limit):
    """Return which of the numbers squares[row] (8,) are at most `limit`, as the bits of a number."""
    return sum(1 << k for k in range(LANES) if squares[row, k] <= limit)


# triangles: (n,ROWS,8) f4; point: three f4; squares: (k,8) f4; limit: f4; at, row: i8
triangle_distances = intrinsic(_triangle_distances) if COMPILED else _plain_triangle_distances
at_most = intrinsic(_at_most) if COMPILED else _plain_at_most
