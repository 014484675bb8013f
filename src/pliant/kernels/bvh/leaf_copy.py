"""Copies of single leaves of a `MotionBvh`, in columns that one vectorised loop reads, and tests of their triangles.

A few kilobytes that stay in the cache of a core: boxes of all triangles would have to be written in every pass, for
few leaves that are ever compared, and read by other cores. Functions take arrays, not tuples of them, which would cost
more than their bodies.
"""

import math

from .. import vec
from ..jit import kernel
from .motion import BLOCK

POINTS = 3 * BLOCK  # most vertices of a leaf; one bit for each fits into an integer


@kernel
def copy_points(x, drift, rows, points):
    """Copy positions and displacements of `rows` to the columns of points (6,POINTS); return their number."""
    for k in range(len(rows)):
        i = rows[k]
        points[0, k], points[1, k], points[2, k] = x[i, 0], x[i, 1], x[i, 2]
        points[3, k], points[4, k], points[5, k] = drift[i, 0], drift[i, 1], drift[i, 2]
    return len(rows)


@kernel
def box_triangles(points, places, boxes):
    """Write the boxes of triangles with these `places` (n,3) to the columns of boxes (12,BLOCK): low and high at the
    start, low and high at the end. The other columns are beyond everything."""
    for q in range(len(places)):
        i, j, h = places[q, 0], places[q, 1], places[q, 2]
        for k in range(3):
            a, b, c = points[k, i], points[k, j], points[k, h]
            boxes[k, q], boxes[3 + k, q] = min(a, b, c), max(a, b, c)
            a, b, c = a + points[3 + k, i], b + points[3 + k, j], c + points[3 + k, h]
            boxes[6 + k, q], boxes[9 + k, q] = min(a, b, c), max(a, b, c)
    for q in range(len(places), BLOCK):
        for k in range(12):
            boxes[k, q] = math.inf


@kernel
def near_columns(boxes, box, reach):
    """Bits of the columns of boxes (12,BLOCK) that are not farther than `reach` from a box (12,) in the same direction
    of an axis at the start and at the end."""
    x_0, y_0, z_0, x_1, y_1, z_1 = box[0], box[1], box[2], box[3] + reach, box[4] + reach, box[5] + reach
    u_0, v_0, w_0, u_1, v_1, w_1 = box[6], box[7], box[8], box[9] + reach, box[10] + reach, box[11] + reach
    x_0, y_0, z_0, u_0, v_0, w_0 = x_0 - reach, y_0 - reach, z_0 - reach, u_0 - reach, v_0 - reach, w_0 - reach
    bits = 0  # without stores, the loop is vectorised
    for q in range(BLOCK):
        x = ((boxes[0, q] > x_1) & (boxes[6, q] > u_1)) | ((boxes[3, q] < x_0) & (boxes[9, q] < u_0))
        y = ((boxes[1, q] > y_1) & (boxes[7, q] > v_1)) | ((boxes[4, q] < y_0) & (boxes[10, q] < v_0))
        z = ((boxes[2, q] > z_1) & (boxes[8, q] > w_1)) | ((boxes[5, q] < z_0) & (boxes[11, q] < w_0))
        bits |= 0 if x | y | z else 1 << q
    return bits


@kernel
def point_of(points, k, h):
    """Position (h = 0) or displacement (h = 3) of column k of points."""
    return points[h, k], points[h + 1, k], points[h + 2, k]


@kernel
def slab_of(points, count, places):
    """A direction in which a leaf is thin, the mean normal of its triangles at the start, and the least and greatest
    positions of its points along it at the start and at the end; all zero if there is none."""
    n = (0.0, 0.0, 0.0)
    for q in range(len(places)):
        a, b, c = (
            point_of(points, places[q, 0], 0),
            point_of(points, places[q, 1], 0),
            point_of(points, places[q, 2], 0),
        )
        n = vec.add(n, vec.cross(vec.sub(b, a), vec.sub(c, a)))
    if not max(abs(n[0]), abs(n[1]), abs(n[2])) > 1e-290:
        return (0.0, 0.0, 0.0), (0.0, 0.0), (0.0, 0.0)
    n = vec.unit(n)
    low, high, low_end, high_end = math.inf, -math.inf, math.inf, -math.inf
    for k in range(count):
        h = vec.dot(n, point_of(points, k, 0))
        g = h + vec.dot(n, point_of(points, k, 3))
        low, high, low_end, high_end = min(low, h), max(high, h), min(low_end, g), max(high_end, g)
    return n, (low, high), (low_end, high_end)


@kernel
def beyond_slab(box, n, start, end, reach):
    """Whether a box (12,) is farther than `reach` from a slab, on the same side at the start and at the end."""
    low, high = extent(box, 0, n)
    low_end, high_end = extent(box, 6, n)
    above = low > start[1] + reach and low_end > end[1] + reach
    return above or (high < start[0] - reach and high_end < end[0] - reach)


@kernel
def extent(box, k, n):
    """Least and greatest position along n of the box whose low and high are box[k:k+6]."""
    a, b = n[0] * box[k], n[0] * box[k + 3]
    c, d = n[1] * box[k + 1], n[1] * box[k + 4]
    e, f = n[2] * box[k + 2], n[2] * box[k + 5]
    return min(a, b) + min(c, d) + min(e, f), max(a, b) + max(c, d) + max(e, f)


@kernel
def beyond_sides(points, count, n, start, end, reach):
    """Bits of those of the first `count` points that are farther than `reach` above a slab, and of those below it, at
    the start and at the end."""
    top, bottom, top_end, bottom_end = start[1] + reach, start[0] - reach, end[1] + reach, end[0] - reach
    above, below = 0, 0
    for k in range(count):
        h = n[0] * points[0, k] + n[1] * points[1, k] + n[2] * points[2, k]
        e = h + (n[0] * points[3, k] + n[1] * points[4, k] + n[2] * points[5, k])
        above |= 1 << k if (h > top) & (e > top_end) else 0
        below |= 1 << k if (h < bottom) & (e < bottom_end) else 0
    return above, below
