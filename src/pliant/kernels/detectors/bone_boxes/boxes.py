"""Bone-attached bounding boxes: find the triangles of a skin near a point (Pelechano et al., sections 4.2 to 4.5).

A box rotates with its bone but is never scaled or sheared by it, so that distances and offsets are the same in box and
world coordinates. Every vertex of the skin has a range in its box, computed over the clip; while it stays within that
range, the precomputed lists are valid.
"""

import math
from typing import NamedTuple

import numpy as np

from ... import vec
from ...box_lanes import LANES as LANES
from ...geometry.triangle import normal
from ...jit import kernel, prange

CHUNK = 32  # points per task of a thread, neighbours in space
ENTRIES = 2048  # vertices of the skin checked per task of a thread


class Boxes(NamedTuple):
    """Triangles are stored in rows: by box, then by the slab of the midpoint of their range along the first axis, then
    by their angle around that axis. LANES rows of a slab, or what is left of it, form a group. Box coordinates in
    metres."""

    low: np.ndarray  # (b,3) lower corner of each box, which bounds its skin over the whole clip
    high: np.ndarray  # (b,3)
    begin: np.ndarray  # (b,) start of slab 0 along the first axis
    per: np.ndarray  # (b,) slabs per metre
    start: np.ndarray  # (b*slabs+1,) i4: candidates in slab k are items[start[k]:start[k+1]]
    items: np.ndarray  # (k,) i4 rows of triangles
    home: np.ndarray  # (b*slabs+1,) i4: rows home[k]..home[k+1]-1 have that midpoint in slab k
    around: np.ndarray  # (b*slabs,6) f4 bounding box of those, low and high
    groups: np.ndarray  # (b*slabs+1,) i4: groups groups[k]..groups[k+1]-1 are those of slab k
    group_bounds: np.ndarray  # (g,6) f4 bounding box of each group
    blocks: np.ndarray  # (b*slabs+1,) i4: blocks blocks[k]..blocks[k+1]-1 of LANES groups are those of slab k
    slab_lanes: np.ndarray  # (c,6,LANES) f4 boxes of the slabs of each box, side by side; nothing in lanes without one
    group_lanes: np.ndarray  # (d,6,LANES) f4 those of the groups of each block
    lanes: np.ndarray  # (g,6,LANES) f4 those of the triangles of each group
    bounds: np.ndarray  # (m,6) f4 bounding box of each triangle over the clip, rounded outward
    corners: np.ndarray  # (m,3) i4 vertices
    face: np.ndarray  # (m,) i4 face index
    slabs: int


class Placed(NamedTuple):
    """World placement of the boxes."""

    to_box: np.ndarray  # (b,3,4) from the world to box coordinates
    world: np.ndarray  # (b,6) low and high corner of each box's AABB in the world
    ball: np.ndarray  # (b,4) centre and half diagonal of each box: its bounding sphere


class Moved(NamedTuple):
    """The motion of the skin of each box since the last update: a rigid motion, and what is left."""

    motion: np.ndarray  # (b,3,4) rigid motion of the box, in the world
    cosine: np.ndarray  # (b,) of half its angle
    stray: np.ndarray  # (b,) longest displacement of a vertex relative to the box, metres
    travel: np.ndarray  # (b,) upper bound of the displacement of its vertices in the world, metres


class Entries(NamedTuple):
    """The vertices of each box, one box after the other: a vertex between bones is in several."""

    tasks: np.ndarray  # (c,3) i4 box, first entry and end: at most ENTRIES of one box
    vertex: np.ndarray  # (e,) i4
    span: np.ndarray  # (e,6) range of its box coordinates
    q: np.ndarray  # (e,3) its box coordinates at the last update
    counts: np.ndarray  # (c,) number of entries of each task that left their range
    strays: np.ndarray  # (c,) longest displacement in box coordinates of each task


class Skin(NamedTuple):
    """A skin in its pose."""

    boxes: Boxes
    placed: Placed
    x: np.ndarray  # (n,3) vertices
    slack: float  # bound of the rounding error of positions, metres


@kernel
def frames(matrices, bone, centre, out):
    """Compute the rigid frames (b,3,4) of bones: the orthonormalised axes of the matrix and the position of the centre.

    Where the first two columns of a matrix are zero or parallel (a bone scaled to zero), the frame is along the world
    axes.
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
def follow_task(to_box, entries, x, c):
    """Update the box coordinates of the entries of task c, and count those that left their range."""
    vertex, span, kept = entries.vertex, entries.span, entries.q
    k, first, last = entries.tasks[c, 0], entries.tasks[c, 1], entries.tasks[c, 2]
    a_0, a_1, a_2, a_3 = to_box[k, 0, 0], to_box[k, 0, 1], to_box[k, 0, 2], to_box[k, 0, 3]
    b_0, b_1, b_2, b_3 = to_box[k, 1, 0], to_box[k, 1, 1], to_box[k, 1, 2], to_box[k, 1, 3]
    c_0, c_1, c_2, c_3 = to_box[k, 2, 0], to_box[k, 2, 1], to_box[k, 2, 2], to_box[k, 2, 3]
    count, stray = 0, 0.0
    for e in range(first, last):
        p = vec.load(x, vertex[e])
        q_0 = a_0 * p[0] + a_1 * p[1] + a_2 * p[2] + a_3
        q_1 = b_0 * p[0] + b_1 * p[1] + b_2 * p[2] + b_3
        q_2 = c_0 * p[0] + c_1 * p[1] + c_2 * p[2] + c_3
        stray = max(stray, vec.norm2((q_0 - kept[e, 0], q_1 - kept[e, 1], q_2 - kept[e, 2])))
        kept[e, 0], kept[e, 1], kept[e, 2] = q_0, q_1, q_2
        inside = (span[e, 0] <= q_0) & (q_0 <= span[e, 3]) & (span[e, 1] <= q_1)
        inside &= (q_1 <= span[e, 4]) & (span[e, 2] <= q_2) & (q_2 <= span[e, 5])
        count += not inside
    entries.counts[c], entries.strays[c] = count, math.sqrt(stray)


@kernel(parallel=True)
def follow(to_box, entries, x):
    """Apply `follow_task` to all tasks."""
    for c in prange(len(entries.tasks)):
        follow_task(to_box, entries, x, c)


@kernel
def count_outside(to_box, entries, x, failed):
    """Count the entries outside of their ranges, of the boxes k with failed[k] > 0."""
    total = 0
    for c in range(len(entries.tasks)):
        if failed[entries.tasks[c, 0]] > 0:
            follow_task(to_box, entries, x, c)
            total += entries.counts[c]
    return total


@kernel
def keep(x, rows, kept):
    """Copy the rows of x (n,3) to `kept`. Return whether any has changed."""
    changed = False
    for i in range(len(rows)):
        p, q = vec.load(x, rows[i]), vec.load(kept, i)
        changed |= (p[0] != q[0]) | (p[1] != q[1]) | (p[2] != q[2])
        vec.store(kept, i, p)
    return changed


@kernel
def shortest_side(world):
    """The axis of the shortest side of the AABB of all boxes `world` (b,6)."""
    low, high = vec.load(world, 0), (world[0, 3], world[0, 4], world[0, 5])
    for k in range(1, len(world)):
        low = (min(low[0], world[k, 0]), min(low[1], world[k, 1]), min(low[2], world[k, 2]))
        high = (max(high[0], world[k, 3]), max(high[1], world[k, 4]), max(high[2], world[k, 5]))
    side = vec.sub(high, low)
    return 0 if side[0] <= side[1] and side[0] <= side[2] else 1 if side[1] <= side[2] else 2


@kernel
def relate(before, ball, placed, entries, moved):
    """Fill `moved` for boxes that were placed by `before` (b,3,4), in bounding spheres `ball` (b,4). Return the number
    of entries outside of their ranges."""
    moved.stray[:] = 0.0
    total = 0
    for c in range(len(entries.tasks)):
        k = entries.tasks[c, 0]
        moved.stray[k] = max(moved.stray[k], entries.strays[c])
        total += entries.counts[c]
    set_motion(before, ball, placed, moved)
    return total


@kernel
def set_motion(before, ball, placed, moved):
    """Fill `moved`, whose strays are known, as `relate` does."""
    to_box, motion = placed.to_box, moved.motion
    for k in range(len(to_box)):
        trace = 0.0
        for a in range(3):
            for c in range(4):
                motion[k, a, c] = 0.0
                for r in range(3):
                    shift = to_box[k, r, 3] if c == 3 else 0.0
                    motion[k, a, c] += to_box[k, r, a] * (before[k, r, c] - shift)
            trace += motion[k, a, a]
        moved.cosine[k] = math.sqrt(min(max(0.25 * (1.0 + trace), 0.0), 1.0))  # trace = 1 + 2 cos(angle)
        m = vec.load(ball, k)
        turned = 2.0 * ball[k, 3] * math.sqrt(max(1.0 - moved.cosine[k] ** 2, 0.0))
        moved.travel[k] = vec.norm(vec.sub(carried(motion, k, m), m)) + turned + moved.stray[k]


@kernel
def carried(motion, k, p):
    """The point p, carried along by box k."""
    x = motion[k, 0, 0] * p[0] + motion[k, 0, 1] * p[1] + motion[k, 0, 2] * p[2] + motion[k, 0, 3]
    y = motion[k, 1, 0] * p[0] + motion[k, 1, 1] * p[1] + motion[k, 1, 2] * p[2] + motion[k, 1, 3]
    return x, y, motion[k, 2, 0] * p[0] + motion[k, 2, 1] * p[1] + motion[k, 2, 2] * p[2] + motion[k, 2, 3]


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
