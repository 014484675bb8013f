"""Meshes whose normals are rounding noise, at any scale and offset, and the pairs that looking at everything finds.

The judge works in extended precision and shares nothing with the product.
"""

import numpy as np

from pliant import Mesh

Wide = np.longdouble
FLAT = Wide(1e-33)  # flatter than this (squared), edges are as near as the face, and ends as the crossing


def turned(rng):
    q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return q * np.sign(np.linalg.det(q))


def roof(rng):
    """Two triangles over a ridge, one split at m on it: the face a, b, m closes the T-junction and has no area."""
    t = rng.uniform(0.2, 0.8)
    a, b, c, d = np.array([[0, 0, 0], [1, 0, 0], [0.5, -1, -1], [0.5, -1, 1]], float)
    return np.array([a, b, c, d, a + t * (b - a)]), np.array([[0, 1, 2], [1, 0, 4], [0, 3, 4], [4, 3, 1]])


def strip(rng):
    """A strip of needles and slivers: corners nearly, or exactly, on a line."""
    n = 8
    x = np.zeros((2 * n, 3))
    x[::2, 0] = x[1::2, 0] = np.linspace(-1.0, 1.0, n)
    x[1::2] += rng.normal(size=(n, 3)) * 10.0 ** rng.uniform(-17, -1, (n, 1))
    k = np.arange(2 * n - 2)
    return x, np.stack([k, k + 1, k + 2], 1)


def fan(rng):
    """Long needles around a point, some of them of zero width."""
    n = 9
    angle = np.cumsum(10.0 ** rng.uniform(-16, 0, n) * (rng.random(n) < 0.8))
    rim = np.stack([np.cos(angle), np.sin(angle), 0.1 * rng.normal(size=n) * (rng.random(n) < 0.3)], 1)
    return np.vstack([np.zeros(3), rim]), np.stack([np.zeros(n - 1, int), np.arange(1, n), np.arange(2, n + 1)], 1)


def twins(rng):
    """Duplicate faces and vertices, edges of no length, faces with a corner twice, and with three at one place."""
    x = rng.normal(size=(10, 3))
    faces = rng.integers(0, 10, (10, 3))
    copies = rng.integers(0, 10, 6)
    x = np.vstack([x, x[copies]])
    faces = np.vstack([faces, faces[:3], faces[:2, ::-1], [[0, 0, 1], [2, 2, 2], [int(copies[0]), 10, 3]]])
    return x, faces


def flat(rng):
    """All in a plane, on a grid: everything touches, and is parallel to, everything."""
    x = np.zeros((12, 3))
    x[:, ::2] = rng.integers(-2, 3, (12, 2)) * 0.5
    return x, rng.integers(0, 12, (10, 3))


def probe(rng):
    """A few small triangles, some of them needles."""
    x = rng.normal(size=(9, 3)) * [1.0, 10.0 ** rng.uniform(-9, 0), 0.3]
    return x, np.arange(9).reshape(-1, 3)


KINDS = (roof, strip, fan, twins, flat, probe)


def scene(rng, smallest=-6.0, largest=8.0):
    """(x, faces) of one mesh, of another, and a distance: turned, scaled, moved and renumbered."""
    sides = [kind(rng) for kind in rng.choice(np.array(KINDS, object), 2)]
    spin, scale = turned(rng), 10.0 ** rng.uniform(smallest, largest)
    offset = rng.uniform(-1, 1, 3) * min(10.0 ** rng.uniform(-3, 6), 5e11 / scale) * (rng.random() < 0.7)
    gap = rng.normal(size=3) * 10.0 ** rng.uniform(-6, -0.5)
    out = []
    for k, (x, faces) in enumerate(sides):
        order = rng.permutation(len(x))
        x = ((x + k * gap) @ spin.T + offset)[order] * scale
        faces = np.argsort(order)[faces][rng.permutation(len(faces))]
        faces = np.array([np.roll(face, s) for face, s in zip(faces, rng.integers(0, 3, len(faces)))])
        out.append((x, faces))
    within = scale * 10.0 ** rng.uniform(-5, -0.3)
    return out[0], out[1], float(within)


def _dot(a, b):
    return (a * b).sum(-1)


def to_segments(p, a, b):
    """Distances of points from segments, shapes that broadcast."""
    e, r = b - a, p - a
    e_2 = _dot(e, e)
    t = np.clip(_dot(r, e) / np.where(e_2 > 0, e_2, 1), 0, 1)
    r = r - t[..., None] * e
    return np.sqrt(_dot(r, r))


def to_faces(p, a, b, c):
    """Distances of points from triangles."""
    best = np.minimum(np.minimum(to_segments(p, a, b), to_segments(p, b, c)), to_segments(p, c, a))
    n = np.cross(b - a, c - a)
    longest = np.maximum(_dot(b - a, b - a), np.maximum(_dot(c - b, c - b), _dot(a - c, a - c)))
    n_2 = _dot(n, n)
    n_2 = np.where(n_2 > FLAT * longest**2, n_2, 0)
    sides = [_dot(n, np.cross(y - x, p - x)) >= 0 for x, y in ((a, b), (b, c), (c, a))]
    over = sides[0] & sides[1] & sides[2] & (n_2 > 0)
    height = np.abs(_dot(n, p - a)) / np.sqrt(np.where(n_2 > 0, n_2, 1))
    return np.where(over, np.minimum(best, height), best)


def between_edges(a, b, c, d):
    """Distances of segments from segments."""
    best = np.minimum(to_segments(a, c, d), to_segments(b, c, d))
    best = np.minimum(best, np.minimum(to_segments(c, a, b), to_segments(d, a, b)))
    u, v, r = b - a, d - c, c - a
    n = np.cross(u, v)
    n_2 = _dot(n, n)
    n_2 = np.where(n_2 > FLAT * _dot(u, u) * _dot(v, v), n_2, 0)
    safe = np.where(n_2 > 0, n_2, 1)
    s, t = _dot(np.cross(r, v), n) / safe, _dot(np.cross(r, u), n) / safe
    meet = (n_2 > 0) & (s >= 0) & (s <= 1) & (t >= 0) & (t <= 1)
    return np.where(meet, np.minimum(best, np.abs(_dot(n, r)) / np.sqrt(safe)), best)


def one_vertex(x, rest):
    """(n,n) which rows are one vertex: themselves, and those that coincide at rest and now."""
    return (x[:, None] == x).all(2) & (rest[:, None] == rest).all(2)


def distances(a, b, rest=None):
    """{kind: (rows, rows) array of distances} of meshes: vertices of a and faces of b, of b and of a, edges.

    With `rest` (n,3), of a mesh with itself: infinite for neighbours, and each pair of edges once.
    """
    size = 2.0 ** np.ceil(
        np.log2(max(np.abs(a.vertices).max(), np.abs(b.vertices).max(), 1e-300))
    )  # exact to divide by
    x, y = Wide(a.vertices) / size, Wide(b.vertices) / size
    found = {}
    for kind, p, q, mesh in (("there", x, y, b), ("back", y, x, a)):
        corners = q[mesh.faces]
        found[kind] = to_faces(p[:, None], corners[:, 0], corners[:, 1], corners[:, 2]) * size
    e, f = a.topology.edges, b.topology.edges
    found["edges"] = between_edges(x[e[:, :1]], x[e[:, 1:]], y[f[:, 0]], y[f[:, 1]]) * size
    if rest is not None:
        one = one_vertex(a.vertices, rest)
        found["there"][one[:, a.faces].any(2)] = np.inf
        share = one[e[:, :, None, None], e[None, None]].any((1, 3))
        found["edges"][share | np.tri(len(e), dtype=bool)] = np.inf
        del found["back"]
    return found


def wrong(hits, truth, within, slack):
    """(missing, extra) pairs of contact records, beside those whose distance is `within` up to `slack`; vertices inside
    a body count however deep they are."""
    missing = extra = 0
    for kind, apart in truth.items():
        record, first = (1, 0) if kind == "edges" else (0, 1 if kind == "back" else 0)
        of = hits[(hits["kind"] == record) & ((hits["bodies"][:, 0] == first) | (kind == "edges"))]
        found = np.zeros(apart.shape, bool)
        found[of["elements"][:, 0], of["elements"][:, 1]] = of["distance"] >= 0.0
        deep = np.zeros(apart.shape, bool)
        deep[of["elements"][:, 0], of["elements"][:, 1]] = of["distance"] < 0.0
        missing += int(((apart < within - slack) & ~found & ~deep).sum())
        extra += int(((apart > within + slack) & found).sum())
    return missing, extra


def mesh_of(side):
    return Mesh(*side)
