"""The nearest triangle to every point, as `queries/closest_point.py` finds it, from nodes in few words.

Threads of a card wait for the number of their loads. A node of four children is ten words of eight bytes: corners of
boxes as three numbers of 21 bits, in cells of a grid around the mesh, enlarged to whole cells. What boxes cannot
exclude is computed as on threads, so that the results are the same: of all faces the one whose computed distance is
the least, the lower one if two are equal.
"""

import math
from typing import NamedTuple

import numpy as np

from .jit import kernel, prange
from .scratch import scratch
from .sources import twin

_closest, vec = twin("queries.closest_point"), twin("vec")
ROUNDING, nearest2 = _closest.ROUNDING, _closest.nearest2
BITS = 21  # of a coordinate
CELL = 1e-3  # boxes are enlarged by this part of a cell, more than the rounding of a coordinate
LESS = np.float32(1.0 - 2.0**-18)  # against rounding of a distance in single precision
MORE = 1.0 + 2.0**-17
NONE = 1 << 62  # no child
FARTHEST = np.float32(1 << 30)  # cells
ROOM = 256  # of the stack
ZERO = np.float32(0.0)


class Nodes(NamedTuple):
    """Nodes of four children."""

    words: np.ndarray  # (w,10) i8 low and high corner of each box; then two words of two children each, see `packed`
    low_x: float  # metres, the corner of the first cell
    low_y: float
    low_z: float
    scale: float  # cells per metre


def packed(blocks) -> Nodes:
    """The nodes of `Blocks` of the host. A child is 2^31 more than in `Blocks`; the root stands for missing ones."""
    low, high = (blocks.boxes[:, part].transpose(0, 2, 1) for part in (slice(0, 3), slice(3, 6)))
    there = np.isfinite(low[..., 0])
    corner = low[there].min(axis=0)
    size = float((high[there].max(axis=0) - corner).max())
    scale = (2.0**BITS - 6.0) / size if size > 0.0 else 1.0
    corner = corner - 2.0 / scale
    words = np.zeros((len(low), 10), np.int64)
    for k, (box, round_to, more) in enumerate(((low, np.floor, -CELL), (high, np.ceil, CELL))):
        cells = np.zeros(box.shape, np.int64)
        cells[there] = round_to((box[there] - corner) * scale + more).astype(np.int64)
        words[:, k:8:2] = cells[..., 0] << 2 * BITS | cells[..., 1] << BITS | cells[..., 2]
    child = (np.where(there, blocks.child, 0).astype(np.int64) + (1 << 31)).astype(np.uint64)
    words[:, 8:] = (child[:, 0::2] | child[:, 1::2] << np.uint64(32)).view(np.int64)
    return Nodes(words, float(corner[0]), float(corner[1]), float(corner[2]), scale)


@kernel
def larger(a, b):
    return a if a > b else b


@kernel
def beyond(low, high, down, up):
    """How far a coordinate between `down` and `up` is outside of low..high, cells, at least."""
    return larger(larger(np.float32(low) - up, down - np.float32(high)), ZERO)


@kernel
def part(word, shift):
    return np.int32((word >> shift) & 0x1FFFFF)


@kernel
def key_of(low, high, child, at, unit):
    """The distance of a box, in units, above the child, in one number; NONE for a missing child."""
    if child == 0x80000000:
        return np.int64(NONE)
    x = beyond(part(low, 42), part(high, 42), at[0], at[3]) * unit
    y = beyond(part(low, 21), part(high, 21), at[1], at[4]) * unit
    z = beyond(part(low, 0), part(high, 0), at[2], at[5]) * unit
    d = np.float32(math.sqrt(x * x + y * y + z * z))
    return np.int64(FARTHEST if d > FARTHEST else d) << 32 | child


@kernel
def in_order(a, b):
    return (a, b) if a < b else (b, a)


@kernel
def four_keys(words, w, at, unit):
    """The keys of the children of a node, ascending."""
    one, two = words[w, 8], words[w, 9]
    a = key_of(words[w, 0], words[w, 1], one & 0xFFFFFFFF, at, unit)
    b = key_of(words[w, 2], words[w, 3], (one >> 32) & 0xFFFFFFFF, at, unit)
    c = key_of(words[w, 4], words[w, 5], two & 0xFFFFFFFF, at, unit)
    d = key_of(words[w, 6], words[w, 7], (two >> 32) & 0xFFFFFFFF, at, unit)
    a, c = in_order(a, c)
    b, d = in_order(b, d)
    a, b = in_order(a, b)
    c, d = in_order(c, d)
    b, c = in_order(b, c)
    return a, b, c, d


@kernel
def in_cells(x, low, scale):
    """A coordinate in cells, at most and at least, in single precision."""
    cell = (x - low) * scale
    slack = CELL + abs(cell) * 2.0**-22
    return np.float32(cell - slack), np.float32(cell + slack), abs(cell)


@kernel
def reach(best, slack, per_metre):
    """The largest distance of a box that may hold a nearer triangle, in units."""
    d = (math.sqrt(best) + slack) * per_metre * MORE + 2.0
    return np.int64(NONE >> 32 if d > 2.0**30 else d)


@kernel(parallel=True, registers=64)
def nearest_each(nodes, rows, order, root, points, found, barycentric):
    """Find the triangles nearest to `points`: found (n,2) face and feature, barycentric (n,3). `rows` and `order` are
    those of `Blocks`, root (6,) the box of all."""
    words = nodes.words
    for i in prange(len(points)):
        p = vec.load(points, i)
        slack, waiting = 0.0, scratch(ROOM, np.int64)
        for k in range(3):
            slack = larger(slack, larger(abs(p[k] - root[k]), abs(p[k] - root[3 + k])))
        slack *= ROUNDING
        x_0, x_1, x = in_cells(p[0], nodes.low_x, nodes.scale)
        y_0, y_1, y = in_cells(p[1], nodes.low_y, nodes.scale)
        z_0, z_1, z = in_cells(p[2], nodes.low_z, nodes.scale)
        at = (x_0, y_0, z_0, x_1, y_1, z_1)
        # far away, distances are counted in larger units than cells
        shrink = 1.0 / larger(1.0, larger(x, larger(y, z)) * 2.0**-26)
        unit, per_metre = np.float32(shrink) * LESS, nodes.scale * shrink * MORE
        best, b_face, b_feature, b_u, b_v, b_w = np.inf, np.int64(-1), np.int64(0), 0.0, 0.0, 0.0
        limit, limit_2, top, node = np.int64(NONE >> 32), np.inf, 0, np.int64(0)
        while True:
            if node >= 0:
                a, b, c, d = four_keys(words, node, at, unit)
                if d >> 32 <= limit and d != NONE:
                    waiting[top] = d
                    top += 1
                if c >> 32 <= limit and c != NONE:
                    waiting[top] = c
                    top += 1
                if b >> 32 <= limit and b != NONE:
                    waiting[top] = b
                    top += 1
                if a >> 32 <= limit and a != NONE:
                    node = (a & 0xFFFFFFFF) - 0x80000000
                    continue
            else:
                q = -1 - node
                a_q = (rows[q, 0], rows[q, 1], rows[q, 2])
                r = vec.sub(p, a_q)
                h = abs(r[0] * rows[q, 9] + r[1] * rows[q, 10] + r[2] * rows[q, 11])
                h -= 4e-12 * (abs(r[0]) + abs(r[1]) + abs(r[2]))  # as in `nearest_range`
                if not (h > 0.0 and h * h > limit_2):
                    d2, feature, u, v, w_c = nearest2(
                        p, a_q, (rows[q, 3], rows[q, 4], rows[q, 5]), (rows[q, 6], rows[q, 7], rows[q, 8])
                    )
                    f = np.int64(order[q])
                    if d2 < best or (d2 == best and f < b_face):
                        best, b_face, b_feature, b_u, b_v, b_w = d2, f, np.int64(feature), u, v, w_c
                        limit, limit_2 = reach(best, slack, per_metre), (math.sqrt(best) + slack) ** 2
            node = np.int64(NONE)
            while top > 0 and node == NONE:
                top -= 1
                if waiting[top] >> 32 <= limit:
                    node = (waiting[top] & 0xFFFFFFFF) - 0x80000000
            if node == NONE:
                break
        found[i, 0], found[i, 1] = b_face, b_feature
        barycentric[i, 0], barycentric[i, 1], barycentric[i, 2] = b_u, b_v, b_w
