"""Winding numbers of points: ray casting in a BVH, plus the contribution of the boundary of an open surface.

Extruded to infinity against the ray direction, the boundary closes the surface. Rays never cross these strips, so they
count the winding number of the closed surface, an integer. The solid angles of the strips, each that of a spherical
triangle between the ends of an edge and a direction, are subtracted again: the result is the generalised winding number
(Jacobson, Kavan and Sorkine-Hornung 2013), without a sum over all faces. For distant points, the strips of a hole are
approximated by the dipole of the disc that would fill it (Barill et al. 2018).
"""

import math
from typing import NamedTuple

import numpy as np

from ..jit import kernel, prange
from .rays import crossing, is_above, perturbed_orient2d

CHUNK = 256  # points per task of a thread


class Holes(NamedTuple):
    """Connected components of the boundary: edges of component k are start[k]..start[k + 1] - 1."""

    ends: np.ndarray  # (e,2) i4 vertices, lower first
    flow: np.ndarray  # (e,) faces that contain the edge in its direction minus those against it
    start: np.ndarray  # (k+1,) i8
    centre: np.ndarray  # (k,3)
    far: np.ndarray  # (k,) metres from the centre beyond which a component is approximated by a dipole
    area: np.ndarray  # (k,3) vector area of the missing surface, oriented by the boundary loop
    box: np.ndarray  # (k,6) low and high corner
    fan: np.ndarray  # (k,) m2: area of the triangles from the centre to the edges
    radius: np.ndarray  # (k,) metres from the centre that contain the component


@kernel
def wind_one(boxes, child, rows, axis, p, waiting):
    """Number of faces through which a ray along the axis from p, as in `rays`, exits, minus those it enters."""
    u, v = (axis + 1) % 3, (axis + 2) % 3
    total, top, waiting[0] = 0, 1, 0
    while top > 0:
        top -= 1
        w = waiting[top]
        if w < 0:
            q = -1 - w
            a = (rows[q, u], rows[q, v], rows[q, axis])
            b = (rows[q, u + 3], rows[q, v + 3], rows[q, axis + 3])
            c = (rows[q, u + 6], rows[q, v + 6], rows[q, axis + 6])
            facing = crossing(a, b, c, p)
            if facing != 0 and is_above(a, b, c, p, facing):
                total += facing
            continue
        for k in range(4):
            ahead = (boxes[w, u, k] <= p[0]) & (p[0] <= boxes[w, u + 3, k]) & (boxes[w, v, k] <= p[1])
            if ahead & (p[1] <= boxes[w, v + 3, k]) & (p[2] <= boxes[w, axis + 3, k]):
                waiting[top] = child[w, k]
                top += 1
    return total


@kernel
def wind_range(tree, axis, points, first, last, winding):
    boxes, child, rows, waiting = tree.boxes, tree.child, tree.rows, np.empty(tree.room, np.int32)
    u, v = (axis + 1) % 3, (axis + 2) % 3
    for i in range(first, last):
        winding[i] = wind_one(boxes, child, rows, axis, (points[i, u], points[i, v], points[i, axis]), waiting)


@kernel(parallel=True)
def wind_points(tree, axis, points, winding):
    """Fill winding (n,) with the ray counts of points (n,3) along the axis, for `closest_point.Blocks` of the faces."""
    for c in prange(-(-len(points) // CHUNK)):
        wind_range(tree, axis, points, c * CHUNK, min(len(points), (c + 1) * CHUNK), winding)


@kernel
def near_lattice(boxes, child, axis, low, high, waiting, rows):
    """Fill `rows` with the faces that rays along the axis from a box may meet, and return their number. Of its corners
    `low` and `high` the axis is last."""
    u, v = (axis + 1) % 3, (axis + 2) % 3
    count, top, waiting[0] = 0, 1, 0
    while top > 0:
        top -= 1
        w = waiting[top]
        if w < 0:
            rows[count] = -1 - w
            count += 1
            continue
        for k in range(4):
            ahead = (boxes[w, u, k] <= high[0]) & (low[0] <= boxes[w, u + 3, k]) & (boxes[w, v, k] <= high[1])
            if ahead & (low[1] <= boxes[w, v + 3, k]) & (low[2] <= boxes[w, axis + 3, k]):
                waiting[top] = child[w, k]
                top += 1
    return count


@kernel
def wind_lattice(rows, near, count, axis, points, i, winding):
    """Add the ray counts of the lattice points[i] to winding[i], from the first `count` faces in `near`.

    Points that differ along the axis alone are on one line, for which a face is tested once.
    """
    u, v, stride = (axis + 1) % 3, (axis + 2) % 3, 16 >> (2 * axis)
    for n in range(count):
        q = near[n]
        a = (rows[q, u], rows[q, v], rows[q, axis])
        b = (rows[q, u + 3], rows[q, v + 3], rows[q, axis + 3])
        c = (rows[q, u + 6], rows[q, v + 6], rows[q, axis + 6])
        x_0, x_1 = min(a[0], b[0], c[0]), max(a[0], b[0], c[0])
        y_0, y_1, z_1 = min(a[1], b[1], c[1]), max(a[1], b[1], c[1]), max(a[2], b[2], c[2])
        for s in range(64):
            x, y = points[i, s, u], points[i, s, v]
            if (s // stride) % 4 != 0 or x < x_0 or x > x_1 or y < y_0 or y > y_1:
                continue
            facing = crossing(a, b, c, (x, y, points[i, s, axis]))
            if facing == 0:
                continue
            for t in range(s, s + 4 * stride, stride):
                p = (x, y, points[i, t, axis])
                if p[2] <= z_1 and is_above(a, b, c, p, facing):
                    winding[i, t] += facing


@kernel(parallel=True)
def wind_lattices(tree, axis, points, winding):
    """Add the ray counts of points (n,64,3) to winding (n,64), for `closest_point.Blocks` of the faces. Each 64 points
    are the nodes of a lattice of 4 x 4 x 4 along the axes, the last axis fastest."""
    u, v, room = (axis + 1) % 3, (axis + 2) % 3, len(tree.rows)
    for c in prange(-(-len(points) // CHUNK)):
        waiting, near = np.empty(tree.room, np.int32), np.empty(room, np.int32)
        for i in range(c * CHUNK, min(len(points), (c + 1) * CHUNK)):
            low = (points[i, 0, u], points[i, 0, v], points[i, 0, axis])
            high = (points[i, 63, u], points[i, 63, v], points[i, 63, axis])
            count = near_lattice(tree.boxes, tree.child, axis, low, high, waiting, near)
            wind_lattice(tree.rows, near, count, axis, points, i, winding)


@kernel
def strip_angle(a, b, p):
    """Solid angle, seen from p, of the edge a b extruded against the last axis; its sign is that of
    `rays.perturbed_orient2d`, so that it jumps exactly where a ray begins to count another face.
    """
    s = perturbed_orient2d(a, b, p)
    if s == 0:
        return 0.0
    a, b = (a[0] - p[0], a[1] - p[1], a[2] - p[2]), (b[0] - p[0], b[1] - p[1], b[2] - p[2])
    # points straight ahead are infinitesimally aside, since p is perturbed along the first axis
    if a[0] == 0.0 and a[1] == 0.0 and a[2] > 0.0:
        det, rest = abs(b[1]), -b[0]
    elif b[0] == 0.0 and b[1] == 0.0 and b[2] > 0.0:
        det, rest = abs(a[1]), -a[0]
    else:
        det, rest = abs(a[0] * b[1] - a[1] * b[0]), over(a) * over(b) + a[0] * b[0] + a[1] * b[1]
    angle = 2.0 * math.atan2(det, rest)
    return -angle if s > 0 else angle


@kernel
def over(a):
    """|a| - a[2], without cancellation."""
    across = a[0] * a[0] + a[1] * a[1]
    length = math.sqrt(across + a[2] * a[2])
    return across / (length + a[2]) if a[2] > 0.0 else length - a[2]


@kernel
def hole_angle(x, holes, k, axis, p):
    """Solid angle of the strips of component k, seen from p."""
    ends, flow, centre, area, box = holes.ends, holes.flow, holes.centre, holes.area, holes.box
    r = (centre[k, 0] - p[0], centre[k, 1] - p[1], centre[k, 2] - p[2])
    u, v = (axis + 1) % 3, (axis + 2) % 3
    d = math.sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2])
    aside = (p[u] < box[k, u]) | (p[u] > box[k, u + 3]) | (p[v] < box[k, v]) | (p[v] > box[k, v + 3])
    if d > holes.far[k] and (aside or p[axis] > box[k, axis + 3]):
        return (area[k, 0] * r[0] + area[k, 1] * r[1] + area[k, 2] * r[2]) / d / d / d
    q, total = (p[u], p[v], p[axis]), 0.0
    for e in range(holes.start[k], holes.start[k + 1]):
        a, b = ends[e, 0], ends[e, 1]
        angle = strip_angle((x[a, u], x[a, v], x[a, axis]), (x[b, u], x[b, v], x[b, axis]), q)
        total += flow[e] * angle
    return total


@kernel(parallel=True)
def add_holes(x, holes, axis, points, winding):
    """Add the contribution of the boundary at points (n,3) to winding (n,)."""
    for c in prange(-(-len(points) // CHUNK)):
        for i in range(c * CHUNK, min(len(points), (c + 1) * CHUNK)):
            total = 0.0
            for k in range(len(holes.far)):
                total += hole_angle(x, holes, k, axis, (points[i, 0], points[i, 1], points[i, 2]))
            winding[i] += total / (4.0 * math.pi)
