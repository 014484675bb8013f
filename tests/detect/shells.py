"""Bodies of several shells: nested, overlapping, touching, coincident, double-sided, inside out; and judges of sides.

The judges sum solid angles and sample balls; they share no line with the product.
"""

import numpy as np

from detect.made import box, octahedron

KINDS = ("overlap", "nested", "cavity", "grid", "twice", "double face", "inverted", "shared wall", "bow-tie", "needle")


def turned(rng):
    q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    return q * np.sign(np.linalg.det(q))


def joined(parts):
    x, faces, first = [], [], 0
    for v, f in parts:
        x.append(v)
        faces.append(f + first)
        first += len(v)
    return np.concatenate(x), np.concatenate(faces)


def shell(rng, size=1.0, centre=(0.0, 0.0, 0.0), turn=True):
    mesh = box() if rng.random() < 0.5 else octahedron(int(rng.integers(0, 2)))
    x = mesh.vertices * size * rng.uniform(0.6, 1.4, 3)
    return x @ (turned(rng).T if turn else np.eye(3)) + centre, np.array(mesh.faces)


def grid_box(low, high):
    low, high = np.asarray(low, float), np.asarray(high, float)
    mesh = box()
    return (mesh.vertices + 0.5) * (high - low) + low, np.array(mesh.faces)


def body(kind, rng):
    """Vertices and faces of a closed chain of this kind, about 2 m large."""
    if kind == "overlap":
        return joined([shell(rng, 1.0, rng.uniform(-0.5, 0.5, 3)) for _ in range(rng.integers(2, 5))])
    if kind == "nested":
        return joined([shell(rng, 2.5), shell(rng, 0.5, rng.uniform(-0.3, 0.3, 3)), shell(rng, 0.2)])
    if kind == "cavity":
        outer, (x, f) = shell(rng, 2.5), shell(rng, 0.6, rng.uniform(-0.1, 0.1, 3))
        return joined([outer, (x, f[:, ::-1])])
    if kind == "grid":  # walls that touch, coincide and cross, on whole numbers
        parts = []
        for _ in range(rng.integers(2, 6)):
            low = rng.integers(-2, 2, 3)
            parts.append(grid_box(low, low + rng.integers(1, 3, 3)))
        return joined(parts)
    if kind == "twice":
        one = shell(rng)
        return joined([one, one, shell(rng, 1.0, rng.uniform(-0.5, 0.5, 3))])
    if kind == "double face":
        x, f = shell(rng, 2.0)
        t = rng.uniform(-0.3, 0.3, (3, 3))
        both = np.array([[0, 1, 2], [2, 1, 0]])[:: rng.choice([-1, 1])]
        return joined([(x, f), (t, both), (rng.uniform(1.5, 2.0, (3, 3)), both)])
    if kind == "inverted":
        x, f = shell(rng, 0.8, [1.5, 0.0, 0.0])
        return joined([shell(rng, 1.0), (x, f[:, ::-1])])
    if kind == "shared wall":  # four faces at an edge
        return joined([grid_box([0, 0, 0], [1, 1, 1]), grid_box([1, 0, 0], [2, 1, 1]), grid_box([0, 1, 0], [1, 2, 1])])
    if kind == "bow-tie":
        return joined([grid_box([-1, -1, -1], [0, 0, 0]), grid_box([0, 0, 0], [1, 1, 1]), shell(rng, 0.7)])
    x, f = shell(rng, 1.2)  # faces without area along edges, as closing a T-junction leaves
    a, b, c = f[0]
    x = np.concatenate([x, x[[a]] + 0.5 * (x[[b]] - x[[a]])])
    f = np.concatenate([f[1:], [[a, len(x) - 1, c], [len(x) - 1, b, c], [a, b, len(x) - 1]]])
    return joined([(x, f), shell(rng, 1.0, rng.uniform(-0.5, 0.5, 3))])


def stirred(x, f, rng, moved=True):
    """The same body, its rows in another order, turned, scaled and moved; with the map of points into it."""
    order = rng.permutation(len(x))
    rank = np.argsort(order)
    f = rank[f][rng.permutation(len(f))]
    f = np.take_along_axis(f, (np.arange(3) + rng.integers(0, 3, (len(f), 1))) % 3, 1)
    x = x[order]
    turn, scale = (turned(rng), 10.0 ** rng.uniform(-6, 8)) if moved else (np.eye(3), 1.0)
    offset = scale * rng.choice([0.0, 1.0, 1e3]) * rng.normal(size=3) if moved else np.zeros(3)
    return x @ turn.T * scale + offset, f, scale


def winding(p, x, f):
    """(n,) winding numbers by the sum of solid angles."""
    a, b, c = (x[f[:, k]] - p[:, None] for k in range(3))
    la, lb, lc = (np.linalg.norm(v, axis=-1) for v in (a, b, c))
    det = (a * np.cross(b, c)).sum(-1)
    rest = la * lb * lc + (a * b).sum(-1) * lc + (b * c).sum(-1) * la + (c * a).sum(-1) * lb
    return np.arctan2(det, rest).sum(1) / (2 * np.pi)


def away(p, x, f):
    """(n,) unsigned distance of points from all triangles, by their planes and edges."""
    t = x[f]
    best = np.full(len(p), np.inf)
    for a, b, c in t:
        n = np.cross(b - a, c - a)
        for s, e in ((a, b), (b, c), (c, a)):
            u = e - s
            k = np.clip((p - s) @ u / max(u @ u, 1e-300), 0, 1)
            best = np.minimum(best, np.linalg.norm(p - s - k[:, None] * u, axis=1))
        if n @ n > 1e-24 * max(((b - a) @ (b - a)) ** 2, 1e-300):
            inner = np.ones(len(p), bool)
            for s, e in ((a, b), (b, c), (c, a)):
                inner &= (p - s) @ np.cross(n, e - s) > 0
            best[inner] = np.minimum(best[inner], np.abs((p[inner] - a) @ n) / np.sqrt(n @ n))
    return best


def wrong_depths(p, depth, nearest, x, f, rng, size):
    """How many of the points inside are not as deep as told: something outside is nearer, or nothing outside is at the
    nearest point. Balls are sampled."""
    wrong = 0
    for q, d, n in zip(p, depth, nearest):
        way = rng.normal(size=(400, 3))
        way /= np.linalg.norm(way, axis=1)[:, None]
        around = q + way * d * rng.uniform(0, 1, (400, 1)) ** 0.2 * (1 - 1e-6)
        beside = n + np.concatenate([way, [(n - q) / max(d, 1e-300)]]) * 1e-7 * size
        w_a, w_b = winding(around, x, f), winding(beside, x, f)
        wrong += bool(
            (np.rint(w_a) < 1).any() or not (np.rint(w_b) < 1).any() or abs(np.linalg.norm(n - q) - d) > 1e-9 * size
        )
    return wrong
