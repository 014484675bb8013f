"""Eight bounding boxes side by side: the distances of a point from all of them by vector code.

A loop over eight numbers is unrolled before the compiler could vectorise it (`lanes`), so these functions state the
vector operations.
"""

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from .jit import COMPILED

LANES = 8
_FLOAT, _INDEX, _SMALL = ir.FloatType(), ir.IntType(64), ir.IntType(32)
_ROW = ir.VectorType(_FLOAT, LANES)
_ZERO = ir.Constant(_ROW, [0.0] * LANES)


def _boxes_within(context, boxes, at, point, margin, limit, gaps, row):
    def generate(context, builder, signature, args):
        b = builder

        def data(k):
            return b.bitcast(context.make_array(signature.args[k])(context, b, args[k]).data, _ROW.as_pointer())

        def everywhere(number):
            one = b.insert_element(ir.Constant(_ROW, ir.Undefined), number, ir.Constant(_SMALL, 0))
            return b.shuffle_vector(one, one, ir.Constant(ir.VectorType(_SMALL, LANES), [0] * LANES))

        def greater(one, two):
            return b.select(b.fcmp_ordered(">", one, two), one, two)

        rows, first, slack, total = data(0), b.mul(args[1], ir.Constant(_INDEX, 6)), everywhere(args[3]), None
        for k in range(3):
            low, high = (b.load(b.gep(rows, [b.add(first, ir.Constant(_INDEX, a))]), align=4) for a in (k, k + 3))
            p = everywhere(b.extract_value(args[2], k))
            gap = greater(b.fsub(greater(b.fsub(low, p), b.fsub(p, high)), slack), _ZERO)
            square = b.fmul(gap, gap)
            total = square if total is None else b.fadd(total, square)
        b.store(total, b.gep(data(5), [args[6]]), align=4)
        within = b.fcmp_unordered("<=", total, everywhere(args[4]))
        return b.zext(b.bitcast(within, ir.IntType(LANES)), _INDEX)

    whole, single = types.int64, types.float32
    return whole(boxes, whole, types.UniTuple(single, 3), single, single, gaps, whole), generate


def _lowest(context, mask):
    def generate(context, builder, signature, args):
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.int64), generate


def _plain_boxes_within(boxes, at, point, margin, limit, gaps, row):
    """Store in gaps[row] (8,) the squared distances of the point (3,) from the boxes boxes[at] (6,8), low and high
    corners side by side, less `margin` along each axis; return those of at most `limit` as the bits of a number."""
    low, high, p = boxes[at, :3], boxes[at, 3:], np.array(point, np.float32)[:, None]
    gap = np.maximum(np.maximum(low - p, p - high) - np.float32(margin), np.float32(0.0))
    gaps[row] = gap[0] * gap[0] + gap[1] * gap[1] + gap[2] * gap[2]
    return sum(1 << k for k in range(LANES) if not gaps[row, k] > limit)


def _plain_lowest(mask):
    """Return the place of the lowest bit of a number that is not zero."""
    return int(mask & -mask).bit_length() - 1


# boxes: (n,6,8) f4; point: three f4; margin, limit: f4; gaps: (k,8) f4; at, row, mask: i8
boxes_within = intrinsic(_boxes_within) if COMPILED else _plain_boxes_within
lowest = intrinsic(_lowest) if COMPILED else _plain_lowest
