"""Bounding volumes around points and around volumes: k-DOP (the AABB is the 6-DOP), sphere, OBB.

Layout: a k-DOP has k/2 least projections, then k/2 greatest; a sphere centre and radius; an OBB centre, half extents
and three unit axes. Volumes are enlarged by bounds of the rounding error, so that a parent contains its children.
"""

import numpy as np

from .. import vec
from ..geometry.eigen import principal_axes
from ..jit import kernel, prange

SLABS, SPHERE, ORIENTED = 0, 1, 2
CHUNK = 512  # elements per task of a thread
EPS = 2.3e-16
TINY = 1e-300  # bound of the underflow in products
# normals of the faces, corners and edges of the cube; 14-DOPs use faces and corners, 18-DOPs faces and edges
CORNERS = [[1.0, 1.0, 1.0], [1.0, 1.0, -1.0], [1.0, -1.0, 1.0], [1.0, -1.0, -1.0]]
EDGES = [[1.0, 1.0, 0.0], [1.0, -1.0, 0.0], [1.0, 0.0, 1.0], [1.0, 0.0, -1.0], [0.0, 1.0, 1.0], [0.0, 1.0, -1.0]]
AXES = np.concatenate([np.eye(3), CORNERS, EDGES])


@kernel
def axis_row(s, h):
    """The row of AXES for slab s of h."""
    return s + 4 if h == 9 and s >= 3 else s


@kernel
def slabs_of_points(x, y, elements, e, out, q):
    """k-DOP of element e, whose corners move from `x` to `y`. Slabs of rounded sums are widened."""
    h = out.shape[1] // 2
    size = 0.0
    for s in range(h):
        axis = vec.load(AXES, axis_row(s, h))
        least, most = np.inf, -np.inf
        for c in range(elements.shape[1]):
            v = elements[e, c]
            a = x[v, 0] * axis[0] + x[v, 1] * axis[1] + x[v, 2] * axis[2]
            b = y[v, 0] * axis[0] + y[v, 1] * axis[1] + y[v, 2] * axis[2]
            least, most = min(least, a, b), max(most, a, b)
            if s < 3:
                size = max(size, abs(a), abs(b))
        wide = 8.0 * EPS * size if s >= 3 else 0.0
        out[q, s], out[q, s + h] = least - wide, most + wide


@kernel
def sphere_around(x, y, elements, e, middle):
    """Least radius about `middle` that contains the corners, rounded up."""
    r = 0.0
    for c in range(elements.shape[1]):
        v = elements[e, c]
        r = max(r, vec.norm(vec.sub(vec.load(x, v), middle)), vec.norm(vec.sub(vec.load(y, v), middle)))
    return r * (1.0 + 8.0 * EPS) + TINY


@kernel
def enlarged_to_contain(middle, r, p):
    """The smallest sphere around a sphere and point p (Ritter's step)."""
    d = vec.sub(p, middle)
    length = vec.norm(d)
    if length <= r:
        return middle, r
    return vec.madd(middle, d, 0.5 * (length - r) / length), 0.5 * (length + r)


@kernel
def sphere_of_points(x, y, elements, e, out, q):
    """Sphere around element e: its two farthest corners at `x` are a diameter; it is enlarged around the others."""
    middle, r = vec.load(x, elements[e, 0]), -1.0
    for c in range(elements.shape[1]):
        a = vec.load(x, elements[e, c])
        for d in range(c + 1, elements.shape[1]):
            b = vec.load(x, elements[e, d])
            length = 0.5 * vec.norm(vec.sub(b, a))
            if length > r:
                middle, r = vec.mix(a, b, 0.5), length
    r = max(r, 0.0)
    for c in range(elements.shape[1]):
        middle, r = enlarged_to_contain(middle, r, vec.load(x, elements[e, c]))
        middle, r = enlarged_to_contain(middle, r, vec.load(y, elements[e, c]))
    out[q, 0], out[q, 1], out[q, 2] = middle
    out[q, 3] = sphere_around(x, y, elements, e, middle)


@kernel
def add_products(m, d):
    """The six sums of products of a covariance, with those of d added."""
    return (
        m[0] + d[0] * d[0],
        m[1] + d[1] * d[1],
        m[2] + d[2] * d[2],
        m[3] + d[0] * d[1],
        m[4] + d[0] * d[2],
        m[5] + d[1] * d[2],
    )


@kernel
def lower(a, b):
    return (min(a[0], b[0]), min(a[1], b[1]), min(a[2], b[2]))


@kernel
def upper(a, b):
    return (max(a[0], b[0]), max(a[1], b[1]), max(a[2], b[2]))


@kernel
def store_oriented(out, q, middle, axes, low, high):
    """Store the box between projections `low` and `high` relative to `middle`, recentred."""
    centre = middle
    for a in range(3):
        centre = vec.madd(centre, axes[a], 0.5 * (low[a] + high[a]))
    for a in range(3):
        out[q, a] = centre[a]
        out[q, 3 + a] = 0.5 * (high[a] - low[a])
        for b in range(3):
            out[q, 6 + 3 * a + b] = axes[a][b]
    return centre


@kernel
def extend_half_extents(out, q, d):
    """Extend the half extents of OBB q to contain the point at offset d from its centre, with rounding bounds."""
    size = EPS * 8.0 * (abs(d[0]) + abs(d[1]) + abs(d[2])) + TINY
    for a in range(3):
        along = d[0] * out[q, 6 + 3 * a] + d[1] * out[q, 7 + 3 * a] + d[2] * out[q, 8 + 3 * a]
        out[q, 3 + a] = max(out[q, 3 + a], abs(along) + size)


@kernel
def oriented_of_points(x, y, elements, e, out, q):
    """OBB of element e, its axes those of the covariance of its corners."""
    corners = elements.shape[1]
    origin = vec.load(x, elements[e, 0])
    size = 0.0
    middle = (0.0, 0.0, 0.0)
    for c in range(corners):
        a, b = vec.sub(vec.load(x, elements[e, c]), origin), vec.sub(vec.load(y, elements[e, c]), origin)
        size = max(size, abs(a[0]), abs(a[1]), abs(a[2]), abs(b[0]), abs(b[1]), abs(b[2]))
        middle = vec.madd(vec.madd(middle, a, 0.5 / corners), b, 0.5 / corners)
    m = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    unit = 1.0 / size if size > TINY else 0.0
    for c in range(corners):
        a, b = vec.sub(vec.load(x, elements[e, c]), origin), vec.sub(vec.load(y, elements[e, c]), origin)
        m = add_products(add_products(m, vec.scale(vec.sub(a, middle), unit)), vec.scale(vec.sub(b, middle), unit))
    axes = principal_axes(m[0], m[1], m[2], m[3], m[4], m[5])
    low, high = (np.inf, np.inf, np.inf), (-np.inf, -np.inf, -np.inf)
    for c in range(corners):
        for p in (vec.load(x, elements[e, c]), vec.load(y, elements[e, c])):
            d = vec.sub(vec.sub(p, origin), middle)
            along = (vec.dot(d, axes[0]), vec.dot(d, axes[1]), vec.dot(d, axes[2]))
            low, high = lower(low, along), upper(high, along)
    centre = store_oriented(out, q, vec.add(origin, middle), axes, low, high)
    for c in range(corners):
        extend_half_extents(out, q, vec.sub(vec.load(x, elements[e, c]), centre))
        extend_half_extents(out, q, vec.sub(vec.load(y, elements[e, c]), centre))


@kernel(parallel=True)
def volumes_of(x, y, elements, order, kind, out):
    """Volumes `out` (m,k) of elements (m,c) whose corners move from `x` to `y`, in leaf order."""
    for chunk in prange(-(-len(order) // CHUNK)):
        for q in range(chunk * CHUNK, min(len(order), (chunk + 1) * CHUNK)):
            if kind == SLABS:
                slabs_of_points(x, y, elements, order[q], out, q)
            elif kind == SPHERE:
                sphere_of_points(x, y, elements, order[q], out, q)
            else:
                oriented_of_points(x, y, elements, order[q], out, q)
