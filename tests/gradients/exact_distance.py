"""Signed distances of small bodies in extended precision, by comparing all features; shares no code with pliant.

Extended precision leaves central differences with about twelve correct digits.
"""

import itertools

import numpy as np

LONG = np.longdouble
EXTENDED = np.finfo(LONG).eps < 1e-18
STEP = LONG(1e-6)


def dot(a, b):
    return (a * b).sum(-1)


def point_triangle(p, a, b, c):
    """Distances (k,) of points from triangles, all (k,3): the least of those from the plane, the edges, the corners."""
    best = np.full(p.shape[:-1], np.inf, LONG)
    for s, t in ((a, b), (b, c), (c, a)):
        e, r = t - s, p - s
        e_2 = dot(e, e)
        along = np.clip(np.divide(dot(r, e), e_2, out=np.zeros_like(e_2), where=e_2 > 0), 0, 1)
        best = np.minimum(best, np.sqrt(dot(r - along[..., None] * e, r - along[..., None] * e)))
    n = np.cross(b - a, c - a)
    n_2 = dot(n, n)
    inside = n_2 > 0
    for s, t in ((a, b), (b, c), (c, a)):
        inside &= dot(np.cross(t - s, p - s), n) >= 0
    height = np.abs(dot(n, p - a)) / np.sqrt(np.where(n_2 > 0, n_2, 1))
    return np.where(inside, np.minimum(best, height), best)


def winding(p, x, faces):
    """Winding number of a surface around p (3,), by solid angles."""
    a, b, c = (np.asarray(x, np.float64)[faces[:, k]] - np.asarray(p, np.float64) for k in range(3))
    la, lb, lc = (np.linalg.norm(v, axis=1) for v in (a, b, c))
    d = la * lb * lc + dot(a, b) * lc + dot(b, c) * la + dot(c, a) * lb
    return np.arctan2(dot(a, np.cross(b, c)), d).sum() / (2 * np.pi)


def unsigned(p, x, faces):
    """Distances (k,) of points (k,3) from surfaces with vertices (k,v,3)."""
    t = x[:, faces]
    return point_triangle(p[:, None, :], t[:, :, 0], t[:, :, 1], t[:, :, 2]).min(1)


def signed_like(sign):
    """A distance function of a given sign, which does not change within a small step."""
    return lambda p, x, faces: sign * unsigned(p, x, faces)


def union_depth(p, x, bodies):
    """Distances (k,) of points inside of a union of convex bodies from its boundary. `bodies`: faces (m,3) of each.

    The nearest point is the projection onto a plane, or onto what two or three planes have in common; of those that are
    on the boundary of the union it is the nearest."""
    normals, offsets = [], []
    for faces in bodies:
        t = x[:, faces]
        n = np.cross(t[:, :, 1] - t[:, :, 0], t[:, :, 2] - t[:, :, 0])
        n = n / np.sqrt(dot(n, n))[..., None]
        normals.append(n)
        offsets.append(dot(n, t[:, :, 0]))
    n, h = np.concatenate(normals, 1), np.concatenate(offsets, 1)
    best = np.full(len(p), np.inf, LONG)
    for rank in (1, 2, 3):
        for chosen in itertools.combinations(range(n.shape[1]), rank):
            m, g = n[:, chosen], h[:, chosen]
            q = _onto(p, m, g)
            if q is None:
                continue
            outside = [(dot(a, q[:, None]) - b).max(1) for a, b in zip(normals, offsets)]
            least = np.minimum.reduce(outside)  # of the union: 0 on its boundary
            gap = np.sqrt(dot(q - p, q - p))
            best = np.where(np.isfinite(gap) & (np.abs(least) < 1e-9), np.minimum(best, gap), best)
    return best


def _onto(p, m, g):
    """Projections of points onto the intersection of planes with normals m (k,rank,3) and offsets g (k,rank)."""
    away = g - dot(m, p[:, None])
    rank = m.shape[1]
    gram = dot(m[:, :, None], m[:, None, :])
    if rank == 1:
        share = away
    elif rank == 2:
        det = 1 - gram[:, 0, 1] ** 2
        if (det < 1e-6).any():
            return None
        share = np.stack([away[:, 0] - gram[:, 0, 1] * away[:, 1], away[:, 1] - gram[:, 0, 1] * away[:, 0]], 1)
        share = share / det[:, None]
    else:
        det = dot(m[:, 0], np.cross(m[:, 1], m[:, 2]))
        if (np.abs(det) < 1e-3).any():
            return None
        return sum(g[:, k, None] * np.cross(m[:, k - 2], m[:, k - 1]) for k in range(3)) / det[:, None]
    return p + (share[..., None] * m).sum(1)


def differences(function, p, x, *args, step=STEP):
    """The value at points p (3,) and vertices x (v,3), central differences (3 + 3v,), and the second ones along each
    coordinate times the step, which are large at a kink."""
    z = np.concatenate([p, x.ravel()]).astype(LONG)
    h = step * np.eye(len(z), dtype=LONG)
    at = np.concatenate([z[None], z + h, z - h])
    f = function(at[:, :3], at[:, 3:].reshape(len(at), -1, 3), *args)
    more, less = np.split(f[1:], 2)
    return f[0], (more - less) / (2 * step), np.abs(more + less - 2 * f[0]) / step
