"""Boxes that ride on bones: which triangles of a skin may be near a point (Pelechano et al., sections 4.2 to 4.5).

A box turns with its bone but never shrinks or shears with it, so that metres in a box are metres outside and an offset
means the same in both. Every vertex of the skin has a range in its box, found over the clip; while it stays there, what
was sorted into lists once is right.
"""

import math
from typing import NamedTuple

import numpy as np

from . import vec
from .jit import kernel, prange
from .triangle import normal

CHUNK = 32  # points that a thread looks up at a time, neighbours in space
ENTRIES = 2048  # vertices of the skin that a thread checks at a time


class Boxes(NamedTuple):
    """Triangles are in rows: by box, then by the slab their middle is in. Box coordinates in metres."""

    low: np.ndarray  # (b,3) corner of each box, its skin over the whole clip
    high: np.ndarray  # (b,3)
    begin: np.ndarray  # (b,) where slab 0 begins along the first axis
    per: np.ndarray  # (b,) slabs a metre
    start: np.ndarray  # (b*slabs+1,) i4: from slab k look at items[start[k]:start[k+1]]
    items: np.ndarray  # (k,) i4 rows of triangles
    home: np.ndarray  # (b*slabs+1,) i4: rows home[k]..home[k+1]-1 have their middle in slab k
    around: np.ndarray  # (b*slabs,6) f4 box around those, low and high
    bounds: np.ndarray  # (m,6) f4 box around each triangle over the clip, rounded outward
    corners: np.ndarray  # (m,3) i4 vertices
    face: np.ndarray  # (m,) i4 number of the face
    slabs: int


class Placed(NamedTuple):
    """Where the boxes are."""

    turn: np.ndarray  # (b,3,4) from the world to box coordinates
    world: np.ndarray  # (b,6) low and high corner of the box around each box
    ball: np.ndarray  # (b,4) middle of each box and half its diagonal


@kernel
def frames(matrices, bone, centre, out):
    """Rigid frames (b,3,4) that follow bones: the directions of the matrix made square, the place of the centre.

    A matrix without room for three directions (a bone scaled to nothing) leaves the frame along the world's axes.
    """
    for k in range(len(bone)):
        m, c = matrices[bone[k]], vec.load(centre, k)
        x, y = (m[0, 0], m[1, 0], m[2, 0]), (m[0, 1], m[1, 1], m[2, 1])
        u = vec.unit(x)
        v = vec.madd(y, u, -vec.dot(y, u))
        if vec.norm(x) <= 1e-12 or vec.norm(v) <= 1e-6 * vec.norm(y):
            u, v = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)
        v = vec.unit(v)
        w = vec.cross(u, v)
        for a in range(3):
            out[k, a, 0], out[k, a, 1], out[k, a, 2] = u[a], v[a], w[a]
            out[k, a, 3] = m[a, 0] * c[0] + m[a, 1] * c[1] + m[a, 2] * c[2] + m[a, 3]


@kernel
def place(frame, axes, low, high, placed):
    """Bring boxes with `axes` (b,3,3 in their frames, as columns) to their frames."""
    turn, world, ball = placed.turn, placed.world, placed.ball
    for k in range(len(frame)):
        half = 0.0
        for a in range(3):
            for c in range(3):
                turn[k, a, c] = (
                    axes[k, 0, a] * frame[k, c, 0] + axes[k, 1, a] * frame[k, c, 1] + axes[k, 2, a] * frame[k, c, 2]
                )
            turn[k, a, 3] = -(turn[k, a, 0] * frame[k, 0, 3] + turn[k, a, 1] * frame[k, 1, 3])
            turn[k, a, 3] -= turn[k, a, 2] * frame[k, 2, 3]
            half += (0.5 * (high[k, a] - low[k, a])) ** 2
        for c in range(3):
            middle, reach = frame[k, c, 3], 0.0
            for a in range(3):
                middle += turn[k, a, c] * 0.5 * (low[k, a] + high[k, a])
                reach += abs(turn[k, a, c]) * 0.5 * (high[k, a] - low[k, a])
            ball[k, c] = middle
            world[k, c], world[k, c + 3] = middle - reach, middle + reach
        ball[k, 3] = math.sqrt(half)


@kernel
def coordinates(turn, box, vertex, x, out):
    """Box coordinates (e,3) of pairs of a box and a vertex."""
    for e in range(len(box)):
        k, p = box[e], vec.load(x, vertex[e])
        for a in range(3):
            out[e, a] = turn[k, a, 0] * p[0] + turn[k, a, 1] * p[1] + turn[k, a, 2] * p[2] + turn[k, a, 3]


@kernel
def outside_range(turn, box, vertex, span, x, first, last, left):
    """Which of the pairs first..last-1, in the order of boxes, left their `span` (e,6); returns how many."""
    count, k = 0, -1
    for e in range(first, last):
        if box[e] != k:
            k = box[e]
            a_0, a_1, a_2, a_3 = turn[k, 0, 0], turn[k, 0, 1], turn[k, 0, 2], turn[k, 0, 3]
            b_0, b_1, b_2, b_3 = turn[k, 1, 0], turn[k, 1, 1], turn[k, 1, 2], turn[k, 1, 3]
            c_0, c_1, c_2, c_3 = turn[k, 2, 0], turn[k, 2, 1], turn[k, 2, 2], turn[k, 2, 3]
        p = vec.load(x, vertex[e])
        q_0 = a_0 * p[0] + a_1 * p[1] + a_2 * p[2] + a_3
        q_1 = b_0 * p[0] + b_1 * p[1] + b_2 * p[2] + b_3
        q_2 = c_0 * p[0] + c_1 * p[1] + c_2 * p[2] + c_3
        inside = (span[e, 0] <= q_0) & (q_0 <= span[e, 3]) & (span[e, 1] <= q_1)
        inside &= (q_1 <= span[e, 4]) & (span[e, 2] <= q_2) & (q_2 <= span[e, 5])
        left[e] = not inside
        count += not inside
    return count


@kernel(parallel=True)
def outside(turn, box, vertex, span, x, left, counts):
    """`outside_range` for all pairs; counts (chunks,)."""
    n = len(box)
    for c in prange(-(-n // ENTRIES)):
        counts[c] = outside_range(turn, box, vertex, span, x, c * ENTRIES, min(n, (c + 1) * ENTRIES), left)


@kernel
def follow(x, kept, box, vertex, way, moved):
    """Bring `kept` to x (n,3); moved (b,7) are the least and the greatest ways of the vertices of each box along each
    axis, and what no way is longer than. Returns the longest of all.

    box, vertex (e,): the vertices of each box, see `coordinates`; way (n,3) is room for the ways.
    """
    longest = 0.0
    for i in range(len(x)):
        a, b, c = x[i, 0] - kept[i, 0], x[i, 1] - kept[i, 1], x[i, 2] - kept[i, 2]
        way[i, 0], way[i, 1], way[i, 2] = a, b, c
        longest = max(longest, a * a + b * b + c * c)
        kept[i, 0], kept[i, 1], kept[i, 2] = x[i, 0], x[i, 1], x[i, 2]
    moved[:, :3], moved[:, 3:6] = np.inf, -np.inf
    for e in range(len(box)):
        k, i = box[e], vertex[e]
        for a in range(3):
            moved[k, a], moved[k, a + 3] = min(moved[k, a], way[i, a]), max(moved[k, a + 3], way[i, a])
    for k in range(len(moved)):
        a, b, c = max(-moved[k, 0], moved[k, 3]), max(-moved[k, 1], moved[k, 4]), max(-moved[k, 2], moved[k, 5])
        moved[k, 6] = math.sqrt(a * a + b * b + c * c)
    return math.sqrt(longest)


@kernel
def over_plane(p, a, b, c):
    """(d2, feature, u, v, w) of p over a triangle, seen along the axis nearest to its normal; far where it is beside.

    The paper's test: the foot on the triangle's plane, then a question in two dimensions.
    """
    n = normal(a, b, c)
    x, y, z = abs(n[0]), abs(n[1]), abs(n[2])
    if max(x, y, z) == 0.0:
        return np.inf, 0, 1.0, 0.0, 0.0
    h = vec.dot(vec.sub(p, a), n)
    n_2 = vec.norm2(n)
    foot = vec.madd(p, n, -h / n_2)
    j, k = (1, 2) if x >= y and x >= z else (2, 0) if y >= z else (0, 1)
    u = (b[j] - foot[j]) * (c[k] - foot[k]) - (b[k] - foot[k]) * (c[j] - foot[j])
    v = (c[j] - foot[j]) * (a[k] - foot[k]) - (c[k] - foot[k]) * (a[j] - foot[j])
    w = (a[j] - foot[j]) * (b[k] - foot[k]) - (a[k] - foot[k]) * (b[j] - foot[j])
    total = u + v + w
    if total == 0.0 or u * total < 0.0 or v * total < 0.0 or w * total < 0.0:
        return np.inf, 0, 1.0, 0.0, 0.0
    return h * h / n_2, 0, u / total, v / total, w / total
