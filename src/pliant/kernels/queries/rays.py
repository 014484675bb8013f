"""Exact point-in-mesh test: each point casts a ray along an axis, and crossed faces give its winding number.

Points are binned into cells perpendicular to the axis, and each face tests the points in the cells it overlaps. Signs
are exact (`predicates`). Points are perturbed symbolically (simulation of simplicity): infinitesimally along axis + 1,
by a higher order along axis + 2 and by a still higher one along the axis. So a point is never on an edge, a vertex or
the surface, faces that share an edge are crossed once, and the result is the winding number of the perturbed point.

Coordinates are (axis + 1, axis + 2, axis), modulo 3, metres.
"""

from typing import NamedTuple

import numpy as np

from ..geometry.predicates import orient2d, orient3d, sign
from ..jit import kernel, prange

PARTS = 8  # partial sums, added at the end: integers, so in any order
FACES = 2048  # per block of a part
VERTICES = 8192  # per block


class Rays(NamedTuple):
    """Points binned into cells."""

    axis: int
    left: float  # metres, lower limit along axis + 1
    top: float  # metres, lower limit along axis + 2
    across: float  # cells per metre along axis + 1
    down: float  # cells per metre along axis + 2
    width: int  # cells along axis + 1
    height: int
    start: np.ndarray  # (width*height+2,) start of the points of each cell
    q: np.ndarray  # (n,3) coordinates of the points, cell by cell


@kernel
def _class(a, low, scale, count):
    """1..count for a cell, 0 before and count + 1 after the cells; monotonic in a."""
    return np.int64(min(max((a - low) * scale + 1.0, 0.0), count + 1.0))


@kernel
def _codes(x, rays, first, last, code):
    u, v = (rays.axis + 1) % 3, (rays.axis + 2) % 3
    for i in range(first, last):
        a = _class(x[i, u], rays.left, rays.across, rays.width)
        code[i] = a << 16 | _class(x[i, v], rays.top, rays.down, rays.height)


@kernel(parallel=True)
def codes(x, rays, code):
    """Fill code (n,) with the cell of each vertex."""
    for c in prange(-(-len(x) // VERTICES)):
        _codes(x, rays, c * VERTICES, min(len(x), (c + 1) * VERTICES), code)


@kernel
def bin_points(points, rays, order):
    """Fill rays.start (cells+2,) (initially zero), rays.q and order (n,), the point at each position."""
    start, q = rays.start, rays.q
    u, v = (rays.axis + 1) % 3, (rays.axis + 2) % 3
    cell = np.empty(len(points), np.int32)
    for m in range(len(points)):
        column = _class(points[m, u], rays.left, rays.across, rays.width) - 1
        cell[m] = (_class(points[m, v], rays.top, rays.down, rays.height) - 1) * rays.width + column
        start[cell[m] + 2] += 1
    for k in range(2, len(start)):
        start[k] += start[k - 1]
    for m in range(len(points)):
        to = start[cell[m] + 1]
        start[cell[m] + 1] = to + 1
        order[to] = m
        q[to, 0], q[to, 1], q[to, 2] = points[m, u], points[m, v], points[m, rays.axis]


@kernel
def _reach(a, b, c, width, height):
    """Columns (first, stop) and rows (first, stop) of the cells between corners with these codes."""
    i, j, k = np.int64(a & 0xFFFF), np.int64(b & 0xFFFF), np.int64(c & 0xFFFF)
    a, b, c = np.int64(a >> 16), np.int64(b >> 16), np.int64(c >> 16)
    return max(min(a, b, c), 1) - 1, min(max(a, b, c), width), max(min(i, j, k), 1) - 1, min(max(i, j, k), height)


@kernel
def perturbed_orient2d(a, b, p):
    """Sign of (b - a) x (p - a) perpendicular to the axis, for the perturbed p; 0 only if a is b."""
    s = orient2d((a[0], a[1]), (b[0], b[1]), (p[0], p[1]))
    if s != 0:
        return s
    return -sign(b[1] - a[1]) if b[1] != a[1] else sign(b[0] - a[0])


@kernel
def crossing(a, b, c, p):
    """Crossing of the face abc by the line along the axis through the perturbed p: 1 exits, -1 enters, 0 none."""
    s = perturbed_orient2d(a, b, p)
    if s == 0 or s != perturbed_orient2d(b, c, p) or s != perturbed_orient2d(c, a, p):
        return 0
    return s


@kernel
def is_above(a, b, c, p, facing):
    """Whether the face abc, which the line through the perturbed p crosses, lies ahead of p."""
    s = orient3d(a, b, c, p)
    if s == 0:  # in the plane of the face: decided by its normal
        s = orient2d((a[1], a[2]), (b[1], b[2]), (c[1], c[2]))
    if s == 0:
        s = orient2d((a[2], a[0]), (b[2], b[0]), (c[2], c[0]))
    return s * facing < 0 if s != 0 else False


@kernel
def _axes(axis):
    """Columns of the coordinates; unsigned, to avoid the check for negative indices."""
    return np.uint32((axis + 1) % 3), np.uint32((axis + 2) % 3), np.uint32(axis)


@kernel
def _wind(x, faces, code, rays, first, last, winding):
    """Add to the winding numbers of all points the crossings of their rays with faces first..last-1."""
    start, q, width = rays.start, rays.q, rays.width
    u, v, w = _axes(rays.axis)
    for f in range(first, last):
        i, j, k = faces[f, 0], faces[f, 1], faces[f, 2]
        left, right, low, high = _reach(code[i], code[j], code[k], width, rays.height)
        if left >= right:
            continue
        a, b, c = (x[i, u], x[i, v], x[i, w]), (x[j, u], x[j, v], x[j, w]), (x[k, u], x[k, v], x[k, w])
        x_0, x_1 = min(a[0], b[0], c[0]), max(a[0], b[0], c[0])
        y_0, y_1 = min(a[1], b[1], c[1]), max(a[1], b[1], c[1])
        z_1 = max(a[2], b[2], c[2])
        for row in range(low, high):
            for m in range(start[row * width + left], start[row * width + right]):
                px, py, pz = q[m, 0], q[m, 1], q[m, 2]
                if (px >= x_0) & (px <= x_1) & (py >= y_0) & (py <= y_1) & (pz <= z_1):
                    p = (px, py, pz)
                    facing = crossing(a, b, c, p)
                    if facing != 0 and is_above(a, b, c, p, facing):
                        winding[m] += facing


@kernel(parallel=True)
def wind(x, faces, code, rays, winding):
    """Add the winding number of each point to winding (PARTS,n), as partial sums."""
    for part in prange(PARTS):
        for first in range(part * FACES, len(faces), PARTS * FACES):
            _wind(x, faces, code, rays, first, min(len(faces), first + FACES), winding[part])


@kernel
def first_layers(x, faces, code, rays, own, depth, face):
    """Find for each point the nearest face through which its line exits ahead of it, and enters behind it.

    Fills depth (n,2) and face (n,2), initially inf and -1: distances ahead and behind, and the faces. `own` (n,) is the
    vertex that the point represents: its faces are excluded.
    """
    start, q, width = rays.start, rays.q, rays.width
    u, v, w = _axes(rays.axis)
    for f in range(len(faces)):
        i, j, k = faces[f, 0], faces[f, 1], faces[f, 2]
        left, right, low, high = _reach(code[i], code[j], code[k], width, rays.height)
        if left >= right:
            continue
        a, b, c = (x[i, u], x[i, v], x[i, w]), (x[j, u], x[j, v], x[j, w]), (x[k, u], x[k, v], x[k, w])
        for row in range(low, high):
            for m in range(start[row * width + left], start[row * width + right]):
                if i == own[m] or j == own[m] or k == own[m]:
                    continue
                p = (q[m, 0], q[m, 1], q[m, 2])
                facing = crossing(a, b, c, p)
                above = facing != 0 and is_above(a, b, c, p, facing)
                to = 0 if facing > 0 else 1
                if facing != 0 and above == (facing > 0):
                    d = abs(_height(a, b, c, p) - p[2])
                    if d < depth[m, to] or (d == depth[m, to] and f < face[m, to]):
                        depth[m, to], face[m, to] = d, f


@kernel
def _height(a, b, c, p):
    """Height of the face abc on the line through p."""
    ux, uy, vx, vy = b[0] - a[0], b[1] - a[1], c[0] - a[0], c[1] - a[1]
    area = ux * vy - uy * vx
    s = ((p[0] - a[0]) * vy - (p[1] - a[1]) * vx) / area
    t = (ux * (p[1] - a[1]) - uy * (p[0] - a[0])) / area
    return a[2] + min(max(s, 0.0), 1.0) * (b[2] - a[2]) + min(max(t, 0.0), 1.0) * (c[2] - a[2])
