"""What the signed distance of a point depends on, as few constants: the nearest feature and its vertices.

The nearest feature decides which closed formula gives the distance; within the region of one feature, that formula and
all its derivatives are those of the signed distance.
"""

import math
from typing import NamedTuple

import numpy as np

from .. import vec
from ..geometry.rounding import largest
from ..geometry.triangle import EDGE, FACE, VERTEX, point_triangle_distance
from ..jit import kernel, prange
from ..queries.surface import corners

# kinds of stencils: the distance from the plane of three corners, from the line through the first two, from the first;
# along a constant direction; from the line or the point where the planes of several faces meet
ON_FACE, ON_EDGE, ON_VERTEX, CONSTANT, CREASE = 0, 1, 2, 3, 4
CHUNK = 512  # points per task of a thread
SKEW = 1e-7  # sine of the angle by which the direction to a nearest point on a face may deviate from its normal
NEAR = 64.0 * 2.0**-52  # times the largest coordinate: error of a nearest point


class Stencils(NamedTuple):
    """Of n points; `rows` are vertices of the surface."""

    kind: np.ndarray  # (n,) u1
    rows: np.ndarray  # (n,3) i8 corners of the nearest face, those of the feature first
    sign: np.ndarray  # (n,) the signed distance over that of the formula: 1 or -1
    weights: np.ndarray  # (n,3) of the nearest point, for these corners
    direction: np.ndarray  # (n,3) unit, increases the distance
    planes: np.ndarray  # (n,3) i8 faces that meet in the crease, or -1
    distance: np.ndarray  # (n,) signed, metres


class Nearest(NamedTuple):
    """Points and what is nearest to them."""

    points: np.ndarray  # (n,3)
    found: np.ndarray  # (n,2) face and feature
    barycentric: np.ndarray  # (n,3) of the nearest point


class Limits(NamedTuple):
    """Where a formula would lose its accuracy in the precision in which it is evaluated."""

    touch: float  # distance over the largest coordinate, below which a point touches
    sliver: float  # height over longest side, below which the plane of a triangle is not differentiated
    short: float  # square of the length of an edge below which its line is not differentiated, m2
    most: float = math.inf  # m: distances of at least that have no derivatives


@kernel
def stencil_range(surface, faces, nearest, first, last, limits, out):
    """Fill `out` (Stencils) for points first..last-1; `faces` (m,3): vertices of the caller, before welding."""
    points, found, barycentric = nearest.points, nearest.found, nearest.barycentric
    kind, rows, sign, weights, direction = out.kind, out.rows, out.sign, out.weights, out.direction
    for i in range(first, last):
        if out.distance[i] >= limits.most:
            kind[i], sign[i] = CONSTANT, 0.0
            vec.store(direction, i, (0.0, 0.0, 0.0))
            for j in range(3):
                rows[i, j], weights[i, j] = 0, 0.0
            continue
        f, feature, p = found[i, 0], found[i, 1], vec.load(points, i)
        a, b, c = corners(surface, f)
        u, v, w = barycentric[i, 0], barycentric[i, 1], barycentric[i, 2]
        q = vec.add(vec.scale(a, u), vec.add(vec.scale(b, v), vec.scale(c, w)))
        away, m = vec.sub(p, q), vec.load(direction, i)
        size, length = max(largest(p), largest(q)), vec.norm(away)
        touches = length <= limits.touch * size
        sign[i] = 1.0 if touches or vec.dot(m, away) >= 0.0 else -1.0
        k = 0
        if feature == FACE:
            e, g = vec.sub(b, a), vec.sub(c, a)
            n, longest = vec.cross(e, g), max(vec.norm2(e), vec.norm2(g), vec.norm2(vec.sub(b, c)))
            area = vec.norm(n)
            if not area > limits.sliver * longest or longest < limits.short:
                kind[i] = CONSTANT
            elif vec.norm(vec.cross(n, away)) > area * (SKEW * length + NEAR * size):
                kind[i] = CREASE
            else:
                kind[i] = ON_FACE
                sign[i] = 1.0 if touches or vec.dot(m, n) >= 0.0 else -1.0
                vec.store(direction, i, vec.scale(n, sign[i] / area))  # more accurate than `away` near the face
        elif feature >= EDGE:
            k = feature - EDGE
            s, t = (a, b) if k == 0 else (b, c) if k == 1 else (c, a)
            kind[i] = CONSTANT if touches or vec.norm2(vec.sub(s, t)) < limits.short else ON_EDGE
        else:
            k = feature - VERTEX
            kind[i] = CONSTANT if touches else ON_VERTEX
        for j in range(3):
            rows[i, j] = faces[f, (k + j) % 3]
            weights[i, j] = barycentric[i, (k + j) % 3]


@kernel(parallel=True)
def fill_stencils(surface, faces, nearest, limits, out):
    """Apply `stencil_range` to all points."""
    n = len(nearest.points)
    for c in prange(-(-n // CHUNK)):
        stencil_range(surface, faces, nearest, c * CHUNK, min(n, (c + 1) * CHUNK), limits, out)


@kernel
def add_pushes(found, push, skipped, out):
    """Add what pushes (n,3) of points do to the corners of their features to out (v,3), in order; those of `skipped`
    kinds are left out."""
    kind, rows, weights = found.kind, found.rows, found.weights
    for i in range(len(push)):
        a = vec.load(push, i)
        if kind[i] == skipped or (a[0] == 0.0 and a[1] == 0.0 and a[2] == 0.0):
            continue
        for k in range(3):
            v = rows[i, k]
            vec.store(out, v, vec.madd(vec.load(out, v), a, weights[i, k]))


@kernel
def faces_within(blocks, points, reach, found, count):
    """Fill found (n,k) with the faces within reach (n,) of the points, as many as fit, and count (n,) with their
    number."""
    boxes, child, rows, waiting = blocks.boxes, blocks.child, blocks.rows, np.empty(blocks.room, np.int32)
    for i in range(len(points)):
        p, r = vec.load(points, i), reach[i]
        count[i], top, waiting[0] = 0, 1, 0
        while top > 0:
            top -= 1
            w = waiting[top]
            if w < 0:
                q = -1 - w
                a = (rows[q, 0], rows[q, 1], rows[q, 2])
                b, c = (rows[q, 3], rows[q, 4], rows[q, 5]), (rows[q, 6], rows[q, 7], rows[q, 8])
                if count[i] < found.shape[1] and point_triangle_distance(p, a, b, c) <= r:
                    found[i, count[i]] = blocks.order[q]
                    count[i] += 1
                continue
            for k in range(4):
                inside = True
                for a in range(3):
                    inside = inside and boxes[w, a, k] - r <= p[a] and p[a] <= boxes[w, a + 3, k] + r
                if inside:
                    waiting[top] = child[w, k]
                    top += 1
