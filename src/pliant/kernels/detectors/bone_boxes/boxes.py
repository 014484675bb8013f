"""Bone-attached bounding boxes: find the triangles of a skin near a point (Pelechano et al., sections 4.2 to 4.5).

A box rotates with its bone but is never scaled or sheared by it, so that distances and offsets are the same in box and
world coordinates. Every vertex of the skin has a range in its box, computed over the clip; while it stays within that
range, the precomputed lists are valid.
"""

import math
from typing import NamedTuple

import numpy as np

from ... import vec
from ...geometry.triangle import normal
from ...jit import kernel, prange

CHUNK = 32  # points per task of a thread, neighbours in space
ENTRIES = 2048  # vertices of the skin checked per task of a thread


class Boxes(NamedTuple):
    """Triangles are stored in rows: by box, then by the slab of the midpoint of their range along the
    first axis. Box coordinates in metres."""

    low: np.ndarray  # (b,3) lower corner of each box, which bounds its skin over the whole clip
    high: np.ndarray  # (b,3)
    begin: np.ndarray  # (b,) start of slab 0 along the first axis
    per: np.ndarray  # (b,) slabs per metre
    start: np.ndarray  # (b*slabs+1,) i4: candidates in slab k are items[start[k]:start[k+1]]
    items: np.ndarray  # (k,) i4 rows of triangles
    home: np.ndarray  # (b*slabs+1,) i4: rows home[k]..home[k+1]-1 have that midpoint in slab k
    around: np.ndarray  # (b*slabs,6) f4 bounding box of those, low and high
    bounds: np.ndarray  # (m,6) f4 bounding box of each triangle over the clip, rounded outward
    corners: np.ndarray  # (m,3) i4 vertices
    face: np.ndarray  # (m,) i4 face index
    slabs: int


class Placed(NamedTuple):
    """World placement of the boxes."""

    to_box: np.ndarray  # (b,3,4) from the world to box coordinates
    world: np.ndarray  # (b,6) low and high corner of each box's AABB in the world
    ball: np.ndarray  # (b,4) centre and half diagonal of each box: its bounding sphere


class Skin(NamedTuple):
    """A skin in its pose."""

    boxes: Boxes
    placed: Placed
    x: np.ndarray  # (n,3) vertices
    slack: float  # bound of the rounding error of positions, metres


@kernel
def frames(matrices, bone, centre, out):
    """Compute the rigid frames (b,3,4) of bones: the orthonormalised axes of the matrix and the position of the centre.

    A matrix of rank below three (a bone scaled to zero) leaves the frame along the world axes.
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
def transform(frame, axes, low, high, placed):
    """Transform boxes with `axes` (b,3,3, columns in their frames) by their frames."""
    to_box, world, ball = placed.to_box, placed.world, placed.ball
    for k in range(len(frame)):
        half = 0.0
        for a in range(3):
            for c in range(3):
                to_box[k, a, c] = (
                    axes[k, 0, a] * frame[k, c, 0] + axes[k, 1, a] * frame[k, c, 1] + axes[k, 2, a] * frame[k, c, 2]
                )
            to_box[k, a, 3] = -(to_box[k, a, 0] * frame[k, 0, 3] + to_box[k, a, 1] * frame[k, 1, 3])
            to_box[k, a, 3] -= to_box[k, a, 2] * frame[k, 2, 3]
            half += (0.5 * (high[k, a] - low[k, a])) ** 2
        for c in range(3):
            middle, reach = frame[k, c, 3], 0.0
            for a in range(3):
                middle += to_box[k, a, c] * 0.5 * (low[k, a] + high[k, a])
                reach += abs(to_box[k, a, c]) * 0.5 * (high[k, a] - low[k, a])
            ball[k, c] = middle
            world[k, c], world[k, c + 3] = middle - reach, middle + reach
        ball[k, 3] = math.sqrt(half)


@kernel
def coordinates(to_box, box, vertex, x, out):
    """Box coordinates (e,3) of (box, vertex) pairs."""
    for e in range(len(box)):
        k, p = box[e], vec.load(x, vertex[e])
        for a in range(3):
            out[e, a] = to_box[k, a, 0] * p[0] + to_box[k, a, 1] * p[1] + to_box[k, a, 2] * p[2] + to_box[k, a, 3]


@kernel
def outside_range(to_box, box, vertex, span, x, first, last, left):
    """Mark the pairs first..last-1, sorted by box, that left their `span` (e,6); return their number."""
    count, k = 0, -1
    for e in range(first, last):
        if box[e] != k:
            k = box[e]
            a_0, a_1, a_2, a_3 = to_box[k, 0, 0], to_box[k, 0, 1], to_box[k, 0, 2], to_box[k, 0, 3]
            b_0, b_1, b_2, b_3 = to_box[k, 1, 0], to_box[k, 1, 1], to_box[k, 1, 2], to_box[k, 1, 3]
            c_0, c_1, c_2, c_3 = to_box[k, 2, 0], to_box[k, 2, 1], to_box[k, 2, 2], to_box[k, 2, 3]
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
def outside(to_box, box, vertex, span, x, left, counts):
    """Apply `outside_range` to all pairs; counts (chunks,)."""
    n = len(box)
    for c in prange(-(-n // ENTRIES)):
        counts[c] = outside_range(to_box, box, vertex, span, x, c * ENTRIES, min(n, (c + 1) * ENTRIES), left)


@kernel
def follow(x, kept, box, vertex, displacement, moved):
    """Update `kept` to x (n,3) and fill moved (b,7): the least and greatest displacement of the vertices of each box
    along each axis, and an upper bound of their length. Return the greatest displacement of all.

    box, vertex (e,): the vertices of each box, see `coordinates`; displacement (n,3) is workspace.
    """
    longest = 0.0
    for i in range(len(x)):
        a, b, c = x[i, 0] - kept[i, 0], x[i, 1] - kept[i, 1], x[i, 2] - kept[i, 2]
        displacement[i, 0], displacement[i, 1], displacement[i, 2] = a, b, c
        longest = max(longest, a * a + b * b + c * c)
        kept[i, 0], kept[i, 1], kept[i, 2] = x[i, 0], x[i, 1], x[i, 2]
    moved[:, :3], moved[:, 3:6] = np.inf, -np.inf
    for e in range(len(box)):
        k, i = box[e], vertex[e]
        for a in range(3):
            moved[k, a], moved[k, a + 3] = (
                min(moved[k, a], displacement[i, a]),
                max(moved[k, a + 3], displacement[i, a]),
            )
    for k in range(len(moved)):
        a, b, c = max(-moved[k, 0], moved[k, 3]), max(-moved[k, 1], moved[k, 4]), max(-moved[k, 2], moved[k, 5])
        moved[k, 6] = math.sqrt(a * a + b * b + c * c)
    return math.sqrt(longest)


@kernel
def over_plane(p, a, b, c):
    """Return (d2, feature, u, v, w) of p above a triangle, along the dominant axis of its normal; infinite beside it.

    This is the paper's test: the foot point on the plane of the triangle, then a test in two dimensions.
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
