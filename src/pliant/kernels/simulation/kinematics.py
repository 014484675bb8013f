"""Prescribed motion of kinematic bodies, rigid and deforming."""

import math

from .. import vec
from ..dynamics.cloth import part
from ..jit import kernel, prange

PARTS = 16  # ranges of vertices that threads share
CHUNKS = 256  # parts of a sum over vertices, which are added in order


@kernel
def move_serial(to, dt, x, x_start, v):
    """Move x to `to` (n,3) in dt seconds, storing the previous position and the velocity."""
    end, now, start, speed = to.reshape(-1), x.reshape(-1), x_start.reshape(-1), v.reshape(-1)  # vectorised
    for i in range(len(end)):
        was = now[i]
        start[i], now[i], speed[i] = was, end[i], (end[i] - was) / dt


@kernel(parallel=True)
def move_parallel(to, dt, x, x_start, v):
    """As `move_serial`, on all threads."""
    for p in prange(PARTS):
        a, b = len(to) * p // PARTS, len(to) * (p + 1) // PARTS
        move_serial(to[a:b], dt, x[a:b], x_start[a:b], v[a:b])


@kernel
def move_gripped(rows, attached, before, after, by, x):
    """Move the gripped vertices `rows` (k,) of x to their places `after` (k,3) at the end of a substep; those attached
    (k,) to skin that had to yield, and are not at their places `before`, come nearer to them by `by` metres."""
    for r in range(len(rows)):
        i, to = rows[r], vec.load(after, r)
        if attached[r]:
            away = vec.sub(vec.load(x, i), vec.load(before, r))
            length = math.sqrt(vec.norm2(away))
            to = vec.add(to, vec.scale(away, max(length - by, 0.0) / max(length, 1e-300)))
        vec.store(x, i, to)


@kernel
def fastest_near(before, after, lapse, box, velocity):
    """Return the square of the highest speed relative to `velocity` (3,) of those points that move from `before` to
    `after` (n,3) in `lapse` seconds and whose path has a bounding box that overlaps `box` (2,3)."""
    most = 0.0
    for i in range(len(after)):
        a, b = vec.load(before, i), vec.load(after, i)
        near = (max(a[0], b[0]) > box[0, 0]) & (min(a[0], b[0]) < box[1, 0]) & (max(a[1], b[1]) > box[0, 1])
        near &= (min(a[1], b[1]) < box[1, 1]) & (max(a[2], b[2]) > box[0, 2]) & (min(a[2], b[2]) < box[1, 2])
        if near:
            x, y, z = (b[0] - a[0]) / lapse, (b[1] - a[1]) / lapse, (b[2] - a[2]) / lapse
            most = max(most, vec.norm2((x - velocity[0], y - velocity[1], z - velocity[2])))
    return most


@kernel
def bounds(x):
    """Return the lowest and highest coordinates (2,3) of points (n,3)."""
    low, high = vec.load(x, 0), vec.load(x, 0)
    for i in range(1, len(x)):
        p = vec.load(x, i)
        low = (min(low[0], p[0]), min(low[1], p[1]), min(low[2], p[2]))
        high = (max(high[0], p[0]), max(high[1], p[1]), max(high[2], p[2]))
    return low, high


@kernel
def extent(x, v, out):
    """Store lowest and highest coordinates of x (n,3) and the sum of v (n,3) in out (9,)."""
    for d in range(3):
        out[d], out[3 + d], out[6 + d] = math.inf, -math.inf, 0.0
    for i in range(len(x)):
        for d in range(3):
            out[d], out[3 + d] = min(out[d], x[i, d]), max(out[3 + d], x[i, d])
            out[6 + d] += v[i, d]


@kernel(parallel=True)
def extents(x, v, first, out):
    """Store the `extent` of each of CHUNKS parts of the rows first[s]..first[s + 1] - 1 of x and v in
    out (s,CHUNKS,9)."""
    for k in prange((len(first) - 1) * CHUNKS):
        s, c = k // CHUNKS, k % CHUNKS
        a, b = part(first[s], first[s + 1], c, CHUNKS)
        extent(x[a:b], v[a:b], out[s, c])


@kernel
def joined_extent(parts, count, box, velocity):
    """Join `parts` (CHUNKS,9): the box (2,3) of all points, and their mean velocity (3,)."""
    for d in range(3):
        box[0, d], box[1, d], velocity[d] = math.inf, -math.inf, 0.0
    for c in range(len(parts)):
        for d in range(3):
            box[0, d], box[1, d] = min(box[0, d], parts[c, d]), max(box[1, d], parts[c, 3 + d])
            velocity[d] += parts[c, 6 + d]
    for d in range(3):
        velocity[d] /= count
