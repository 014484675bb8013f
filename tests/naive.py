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


def _sub(a, b):
    return tuple(x - y for x, y in zip(a, b))


def _dot(a, b):
    return sum(x * y for x, y in zip(a, b))


def cross(a, b):
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def _along(a, e, t):
    return tuple(x + t * y for x, y in zip(a, e))


def orient3d(a, b, c, d):
    a, b, c, d = map(exact, (a, b, c, d))
    det = _dot(cross(_sub(b, a), _sub(c, a)), _sub(d, a))
    return (det > 0) - (det < 0)


def orient2d(a, b, c):
    a, b, c = map(exact, (a, b, c))
    det = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
    return (det > 0) - (det < 0)


def _point_segment2(p, a, b):
    e = _sub(b, a)
    length2 = _dot(e, e)
    t = min(max(_dot(_sub(p, a), e) / length2, Fraction(0)), Fraction(1)) if length2 else Fraction(0)
    r = _sub(p, _along(a, e, t))
    return _dot(r, r)


def point_triangle2(p, a, b, c):
    """The squared distance as a Fraction: the least over three edges and, where p is over it, the face."""
    p, a, b, c = map(exact, (p, a, b, c))
    best = min(_point_segment2(p, a, b), _point_segment2(p, b, c), _point_segment2(p, c, a))
    n = cross(_sub(b, a), _sub(c, a))
    n2 = _dot(n, n)
    if n2:
        sides = (_dot(n, cross(_sub(y, x), _sub(p, x))) for x, y in ((a, b), (b, c), (c, a)))
        if all(s >= 0 for s in sides):
            best = min(best, _dot(n, _sub(p, a)) ** 2 / n2)
    return best


def edge_edge2(a, b, c, d):
    """The squared distance as a Fraction: an end against the other edge, or the crossing of the two lines."""
    a, b, c, d = map(exact, (a, b, c, d))
    best = min(_point_segment2(a, c, d), _point_segment2(b, c, d), _point_segment2(c, a, b), _point_segment2(d, a, b))
    u, v, r = _sub(b, a), _sub(d, c), _sub(c, a)
    uu, vv, uv = _dot(u, u), _dot(v, v), _dot(u, v)
    det = uu * vv - uv * uv
    if det:
        s = (_dot(u, r) * vv - _dot(v, r) * uv) / det
        t = (_dot(u, r) * uv - _dot(v, r) * uu) / det
        if 0 <= s <= 1 and 0 <= t <= 1:
            gap = _sub(_along(c, v, t), _along(a, u, s))
            best = min(best, _dot(gap, gap))
    return best


def triangles_intersect(p, q):
    """They meet when a corner is left of one cut by the other."""
    return bool(common(p, q))


def faces_intersect(x, f, g):
    """Whether faces f and g, three different rows of x each, have more in common than the corners and edge they share.

    Faces with the same three corners do.
    """
    shared = [exact(x[k]) for k in f if k in g]
    beside = [q for q in common(x[f], x[g]) if not any(_on_segment(q, a, b) for a in shared for b in shared)]
    return len(shared) == 3 or bool(beside)


def _on_segment(p, a, b):
    return not any(cross(_sub(b, a), _sub(p, a))) and all(min(s, t) <= k <= max(s, t) for k, s, t in zip(p, a, b))


def common(p, q):
    """Corners of what two triangles have in common: polygon p cut by the half-spaces that make up triangle q."""
    polygon = [exact(x) for x in p]
    for n, limit in _half_spaces([exact(x) for x in q]):
        side = [_dot(n, x) - limit for x in polygon]
        kept = []
        for (x, s), (y, t) in zip(zip(polygon, side), zip(polygon[1:] + polygon[:1], side[1:] + side[:1])):
            if s <= 0:
                kept.append(x)
            if s * t < 0:
                kept.append(_along(x, _sub(y, x), s / (s - t)))
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
    p = exact(p)
    for k in range(4):
        x, y, z = (exact(corners[i]) for i in range(4) if i != k)
        n = cross(_sub(y, x), _sub(z, x))
        if _dot(n, _sub(p, x)) * _dot(n, _sub(exact(corners[k]), x)) < 0:
            return False
    return True


def signed_distance(points, mesh, chunk=2_000_000):
    """(n,) distance of each point from the mesh, negative inside by the nearest feature's pseudonormal."""
    points = np.asarray(points, float).reshape(-1, 3)
    step = max(1, chunk // max(1, mesh.n_faces))
    parts = [_signed_distance(points[i : i + step], mesh) for i in range(0, len(points), step)]
    return np.concatenate(parts) if parts else np.zeros(0)


def _signed_distance(points, mesh):
    corners = mesh.vertices[mesh.faces]
    best = np.full((len(points), mesh.n_faces), np.inf)
    nearest = np.zeros((len(points), mesh.n_faces, 3))
    feature = np.zeros((len(points), mesh.n_faces), int)  # 0 face, 1-3 vertex, 4-6 edge
    p = points[:, None, :]
    for k in range(3):
        a, b = corners[:, k], corners[:, (k + 1) % 3]
        e = b - a
        t = np.clip(((p - a) * e).sum(-1) / np.maximum((e * e).sum(-1), 1e-300), 0, 1)
        q = a + t[..., None] * e
        d = np.linalg.norm(p - q, axis=-1)
        kind = np.where(t == 0, 1 + k, np.where(t == 1, 1 + (k + 1) % 3, 4 + k))
        nearer = d < best
        best, feature = np.where(nearer, d, best), np.where(nearer, kind, feature)
        nearest = np.where(nearer[..., None], q, nearest)
    n = mesh.face_normals
    over = (n * n).sum(-1) > 0.5
    for k in range(3):
        a, b = corners[:, k], corners[:, (k + 1) % 3]
        over = over & ((np.cross(n, b - a) * (p - a)).sum(-1) > 0)
    height = ((p - corners[:, 0]) * n).sum(-1)
    feature = np.where(over, 0, feature)
    nearest = np.where(over[..., None], p - height[..., None] * n, nearest)
    best = np.where(over, np.abs(height), best)

    face = best.argmin(1)
    row = np.arange(len(points))
    kind, d, gap = feature[row, face], best[row, face], points - nearest[row, face]
    vertex = mesh.faces[face, np.clip(kind - 1, 0, 2)]
    edge = mesh.topology.face_edges[face, np.clip(kind - 4, 0, 2)]
    pseudonormal = np.where(
        (kind == 0)[:, None],
        mesh.face_normals[face],
        np.where((kind < 4)[:, None], mesh.vertex_normals[vertex], mesh.edge_normals[edge]),
    )
    return np.where((gap * pseudonormal).sum(1) < 0, -d, d)


def winding_number(points, mesh, chunk=2_000_000):
    """(n,) how often the mesh winds around each point: 1 inside a closed mesh, 0 outside (van Oosterom, Strackee)."""
    points = np.asarray(points, float).reshape(-1, 3)
    total = np.zeros(len(points))
    step = max(1, chunk // max(1, mesh.n_faces))
    for i in range(0, len(points), step):
        a, b, c = (mesh.vertices[mesh.faces[:, k]] - points[i : i + step, None, :] for k in range(3))
        la, lb, lc = (np.linalg.norm(x, axis=-1) for x in (a, b, c))
        det = (a * np.cross(b, c)).sum(-1)
        rest = la * lb * lc + (a * b).sum(-1) * lc + (b * c).sum(-1) * la + (c * a).sum(-1) * lb
        total[i : i + step] = np.arctan2(det, rest).sum(1) / (2 * np.pi)
    return total
