"""Slow, obvious twins: exact rational geometry for the kernels, brute force in NumPy for whole meshes.

Nothing here shares a line or an algorithm with the product; that is what it is for.
"""

import itertools
import math
from fractions import Fraction

import numpy as np


def awkward(rng, count, corners):
    """(count, corners, 3) points of kinds that break geometry: grids, slivers, repeats, far, tiny, near contact."""
    x = rng.normal(size=(count, corners, 3))
    grid = rng.integers(-2, 3, x.shape).astype(float)
    line = rng.integers(-2, 3, (count, corners, 1)) * rng.normal(size=(count, 1, 3)) + rng.normal(size=(count, 1, 3))
    near = 10.0 ** rng.uniform(-18, -1, (count, 1, 1)) * x
    repeats = np.take_along_axis(x, rng.integers(0, corners, (count, corners, 1)), 1)
    flat = x * [1.0, 1.0, 0.0]
    kinds = [
        x,
        grid,
        grid / 3.0 + 0.1,
        grid + near,
        line,
        line + near,
        repeats,
        repeats + near,
        flat @ np.linalg.qr(rng.normal(size=(3, 3)))[0],
        flat + near,
        x + 1e6,
        grid * [1.0, 1.0, 1e-17],
        x * 10.0 ** rng.uniform(-100, 100, (count, 1, 1)),
        x * 10.0 ** rng.uniform(-12, 0, (count, corners, 1)),
    ]
    kind = rng.integers(0, len(kinds), count)
    return np.stack(kinds)[kind, np.arange(count)]


def tuples(rows):
    """An array (..., 3) as nested lists of 3-tuples of floats, which kernels take as vectors."""
    rows = np.asarray(rows, float)
    return tuple(rows.tolist()) if rows.ndim == 1 else [tuples(row) for row in rows]


def exact(point):
    return tuple(Fraction(float(x)) for x in point)


def root(x):
    """The square root of a Fraction as a float, without the squares of tiny or huge numbers leaving the range."""
    if not x:
        return 0.0
    k = (x.numerator.bit_length() - x.denominator.bit_length()) // 2
    return math.ldexp(math.sqrt(x / Fraction(4) ** k), k)


def whole(*points):
    """The points in whole numbers, all multiplied by the same power of two, and its exponent.

    Floats are whole multiples of powers of two, so this is exact, and far faster than fractions.
    """
    ratios = [[float(x).as_integer_ratio() for x in point] for point in points]
    bits = max(d.bit_length() for row in ratios for _, d in row)
    return [tuple(n << (bits - d.bit_length()) for n, d in row) for row in ratios], bits - 1


def _sub(a, b):
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


def _dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a, b):
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def orient3d(a, b, c, d):
    (a, b, c, d), _ = whole(a, b, c, d)
    det = _dot(cross(_sub(b, a), _sub(c, a)), _sub(d, a))
    return (det > 0) - (det < 0)


def orient2d(a, b, c):
    (a, b, c), _ = whole(a, b, c)
    det = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
    return (det > 0) - (det < 0)


def _point_segment2(p, a, b):
    """The squared distance as numerator and denominator; of whole numbers, like the next."""
    e, r = _sub(b, a), _sub(p, a)
    along, length2 = _dot(r, e), _dot(e, e)
    if along <= 0:
        return _dot(r, r), 1
    if along >= length2:
        r = _sub(p, b)
        return _dot(r, r), 1
    return _dot(r, r) * length2 - along * along, length2


def _least(ratios):
    best, under = 1, 0
    for n, d in ratios:
        if not under or n * under < best * d:
            best, under = n, d
    return best, under


def point_triangle2(p, a, b, c):
    """The squared distance as a Fraction: the least over three edges and, where p is over it, the face."""
    (p, a, b, c), shift = whole(p, a, b, c)
    found = [_point_segment2(p, a, b), _point_segment2(p, b, c), _point_segment2(p, c, a)]
    n = cross(_sub(b, a), _sub(c, a))
    n2 = _dot(n, n)
    if n2:
        sides = (_dot(n, cross(_sub(y, x), _sub(p, x))) for x, y in ((a, b), (b, c), (c, a)))
        if all(s >= 0 for s in sides):
            found.append((_dot(n, _sub(p, a)) ** 2, n2))
    best, under = _least(found)
    return Fraction(best, under << 2 * shift)


def edge_edge2(a, b, c, d):
    """The squared distance as a Fraction: an end against the other edge, or the crossing of the two lines."""
    (a, b, c, d), shift = whole(a, b, c, d)
    found = [_point_segment2(a, c, d), _point_segment2(b, c, d), _point_segment2(c, a, b), _point_segment2(d, a, b)]
    u, v, r = _sub(b, a), _sub(d, c), _sub(c, a)
    uu, vv, uv = _dot(u, u), _dot(v, v), _dot(u, v)
    det = uu * vv - uv * uv  # not negative
    if det:
        s = _dot(u, r) * vv - _dot(v, r) * uv  # times det
        t = _dot(u, r) * uv - _dot(v, r) * uu
        if 0 <= s <= det and 0 <= t <= det:
            gap = tuple(det * k + t * y - s * x for k, x, y in zip(r, u, v))
            found.append((_dot(gap, gap), det * det))
    best, under = _least(found)
    return Fraction(best, under << 2 * shift)


def triangles_intersect(p, q):
    """They meet when a corner is left of one cut by the other."""
    points, _ = whole(*p, *q)
    return bool(_common(points[:3], points[3:]))


def faces_intersect(x, f, g):
    """Whether faces f and g, three different rows of x each, have more in common than the corners and edge they share.

    Faces with the same three corners do.
    """
    points, _ = whole(*x[f], *x[g])
    shared = [point for point, k in zip(points, f) if k in g]
    left = _common(points[:3], points[3:])
    beside = [q for q in left if not any(_on_segment(*q, a, b) for a in shared for b in shared)]
    return len(shared) == 3 or bool(beside)


def _on_segment(p, w, a, b):
    """Whether p / w is on the segment from a to b."""
    a, b = (tuple(w * k for k in end) for end in (a, b))
    return not any(cross(_sub(b, a), _sub(p, a))) and all(min(s, t) <= k <= max(s, t) for k, s, t in zip(p, a, b))


def _common(p, q):
    """Corners of what two triangles have in common: polygon p cut by the half-spaces that make up triangle q.

    Corners are whole numbers (x, y, z) and their positive denominator.
    """
    polygon = [(x, 1) for x in p]
    for n, limit in _half_spaces(q):
        side = [_dot(n, x) - limit * w for x, w in polygon]
        kept = []
        for (x, v), (y, w), s, t in zip(polygon, polygon[1:] + polygon[:1], side, side[1:] + side[:1]):
            if s <= 0:
                kept.append((x, v))
            if s * t < 0:
                sign = 1 if s > 0 else -1
                s, t = sign * s, sign * t
                kept.append((tuple(s * k - t * m for k, m in zip(y, x)), s * w - t * v))
        polygon = kept
    return polygon


def _half_spaces(q):
    """(n, limit) with n . x <= limit for exactly the points x of the triangle, the segment or the point q."""
    a, b, c = q
    n = cross(_sub(b, a), _sub(c, a))
    axes = [(1, 0, 0), (0, 1, 0), (0, 0, 1)]
    if any(n):
        walls = [n]
        inward = [(cross(n, _sub(y, x)), x) for x, y in ((a, b), (b, c), (c, a))]
        half = [(tuple(-k for k in m), -_dot(m, x)) for m, x in inward]
    else:
        a, b = max(itertools.combinations(q, 2), key=lambda ends: _dot(_sub(*ends), _sub(*ends)))
        e = _sub(b, a)
        if any(e):
            walls = [cross(e, axis) for axis in axes]
            half = [(e, _dot(e, b)), (tuple(-k for k in e), -_dot(e, a))]
        else:
            walls, half = axes, []
    for m in walls:
        half += [(m, _dot(m, a)), (tuple(-k for k in m), -_dot(m, a))]
    return half


def point_in_tetra(p, a, b, c, d):
    """Clip the point by the tetrahedron's faces; a flat one is its four triangles."""
    corners = [a, b, c, d]
    if orient3d(*corners) == 0:
        return any(triangles_intersect([p, p, p], face) for face in itertools.combinations(corners, 3))
    (p, *corners), _ = whole(p, *corners)
    for k in range(4):
        x, y, z = (corners[i] for i in range(4) if i != k)
        n = cross(_sub(y, x), _sub(z, x))
        if _dot(n, _sub(p, x)) * _dot(n, _sub(corners[k], x)) < 0:
            return False
    return True


def _dots(a, b):
    """Products of vectors along the first axis."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def _in_chunks(points, mesh, chunk):
    """Points as (n,3), and the slices of them that make `chunk` pairs with faces, few enough for the cache."""
    points = np.asarray(points, float).reshape(-1, 3)
    step = max(1, chunk // max(1, mesh.n_faces))
    return points, [slice(i, i + step) for i in range(0, len(points), step)]


def signed_distance(points, mesh, chunk=40_000):
    """(n,) distance of each point from the mesh, negative inside by the nearest feature's pseudonormal."""
    points, parts = _in_chunks(points, mesh, chunk)
    return np.concatenate([np.zeros(0), *(_signed_distance(points[part], mesh) for part in parts)])


def _on_edges(p, corners):
    """(distance, where on it, nearest point) for each edge of triangles `corners` (m,3,3) to points (3,...,1 or m)."""
    for k in range(3):
        a, b = corners[:, k].T, corners[:, (k + 1) % 3].T
        a, b = (x.reshape(3, *[1] * (p.ndim - 2), -1) for x in (a, b))
        e = b - a
        t = np.clip(_dots(p - a, e) / np.maximum(_dots(e, e), 1e-300), 0, 1)
        q = a + t * e
        yield np.sqrt(_dots(p - q, p - q)), t, q


def _signed_distance(points, mesh):
    corners, n = mesh.vertices[mesh.faces], mesh.face_normals
    p = points.T[:, :, None]
    best = np.full((len(points), mesh.n_faces), np.inf)
    for d, _, _ in _on_edges(p, corners):
        np.minimum(best, d, out=best)
    over = (n * n).sum(-1) > 0.5
    for k in range(3):
        a, b = corners[:, k], corners[:, (k + 1) % 3]
        over = over & (_dots(np.cross(n, b - a).T[:, None], p - a.T[:, None]) > 0)
    height = _dots(p - corners[:, 0].T[:, None], n.T[:, None])
    best = np.where(over, np.abs(height), best)

    face = best.argmin(1)  # the rest is about the nearest face only
    row = np.arange(len(points))
    d, over, height = best[row, face], over[row, face], height[row, face]
    distance, t, q = map(np.stack, zip(*_on_edges(points.T, corners[face])))
    k = distance.argmin(0)
    t, nearest = t[k, row], q[k, :, row]
    kind = np.where(t == 0, 1 + k, np.where(t == 1, 1 + (k + 1) % 3, 4 + k))
    kind = np.where(over, 0, kind)  # 0 face, 1-3 vertex, 4-6 edge
    gap = points - np.where(over[:, None], points - height[:, None] * n[face], nearest)
    vertex = mesh.faces[face, np.clip(kind - 1, 0, 2)]
    edge = mesh.topology.face_edges[face, np.clip(kind - 4, 0, 2)]
    pseudonormal = np.where(
        (kind == 0)[:, None],
        mesh.face_normals[face],
        np.where((kind < 4)[:, None], mesh.vertex_normals[vertex], mesh.edge_normals[edge]),
    )
    return np.where((gap * pseudonormal).sum(1) < 0, -d, d)


def winding_number(points, mesh, chunk=40_000):
    """(n,) how often the mesh winds around each point: 1 inside a closed mesh, 0 outside (van Oosterom, Strackee)."""
    points, parts = _in_chunks(points, mesh, chunk)
    total = np.zeros(len(points))
    corners = [mesh.vertices[mesh.faces[:, k]].T[:, None] for k in range(3)]
    for part in parts:
        a, b, c = (x - points[part].T[:, :, None] for x in corners)
        la, lb, lc = (np.sqrt(_dots(x, x)) for x in (a, b, c))
        det = _dots(a, np.cross(b, c, axis=0))
        rest = la * lb * lc + _dots(a, b) * lc + _dots(b, c) * la + _dots(c, a) * lb
        total[part] = np.arctan2(det, rest).sum(1) / (2 * np.pi)
    return total
