"""Referees of the attacks: NumPy in extended precision, exact fractions, IPC Toolkit and libigl; no code of pliant.

A distance referee returns bounds, `low <= true distance <= high`; a threshold between the bounds is undecided.
"""

import numpy as np

import naive

Long = np.longdouble
EPS = float(np.finfo(np.float64).eps)
LONG = float(np.finfo(Long).eps)


def _norm(a):
    return np.sqrt((a * a).sum(-1))


def _to_segment(p, a, b):
    """Distances of points p from segments a b, broadcast."""
    e, r = b - a, p - a
    length2 = (e * e).sum(-1)
    t = np.clip((r * e).sum(-1) / np.where(length2 > 0, length2, 1), 0, 1)
    return _norm(r - t[..., None] * e)


def vertex_face(p, corners):
    """Bounds (low, high), each (n,m), of the distances of points (n,3) from triangles (m,3,3)."""
    p, corners = np.asarray(p, Long)[:, None], np.asarray(corners, Long)[None]
    a, b, c = (corners[:, :, k] for k in range(3))
    high = np.minimum(np.minimum(_to_segment(p, a, b), _to_segment(p, b, c)), _to_segment(p, c, a))
    longest = np.maximum(np.maximum(_norm(b - a), _norm(c - b)), _norm(a - c))
    n = np.cross(b - a, c - a)
    area = _norm(n)
    # a sliver of smaller height has no reliable plane: its edges represent it to within its height
    clear = area > 1e-9 * longest * longest
    unit = n / np.where(area > 0, area, 1)[..., None]
    r = p - a
    over = clear & True
    for x, y in ((a, b), (b, c), (c, a)):
        over = over & ((np.cross(unit, y - x) * (p - x)).sum(-1) >= 0)
    height = np.abs((r * unit).sum(-1))
    # the rounding error of a sliver's normal, times its lever arm here
    turned = np.where(over, 64 * LONG * longest * (_norm(r) + longest) * longest / np.where(clear, area, 1), 0)
    edges = high
    high = np.where(over, np.minimum(edges, height + turned), edges)
    low = np.where(over, np.minimum(edges, height) - turned, edges)
    low = np.maximum(np.where(clear, low, edges - area / np.where(longest > 0, longest, 1)), 0)
    return low.astype(np.float64), high.astype(np.float64)


def edge_edge(one, two):
    """Bounds (low, high), each (n,m), of the distances of segments (n,2,3) and (m,2,3)."""
    one, two = np.asarray(one, Long)[:, None], np.asarray(two, Long)[None]
    a, b, c, d = one[:, :, 0], one[:, :, 1], two[:, :, 0], two[:, :, 1]
    high = np.minimum(
        np.minimum(_to_segment(a, c, d), _to_segment(b, c, d)), np.minimum(_to_segment(c, a, b), _to_segment(d, a, b))
    )
    u, v, r = b - a, d - c, c - a
    lu, lv = _norm(u), _norm(v)
    scale = lu * lv
    n = np.cross(u, v)
    sine = _norm(n) / np.where(scale > 0, scale, 1)
    clear = sine > 1e-9
    n2 = np.where(clear, (n * n).sum(-1), 1)
    s, t = (np.cross(r, v) * n).sum(-1) / n2, (np.cross(r, u) * n).sum(-1) / n2
    across = clear & (s >= 0) & (s <= 1) & (t >= 0) & (t <= 1)
    height = np.abs((r * n).sum(-1)) / np.sqrt(n2)
    turned = np.where(across, 64 * LONG * (_norm(r) + lu + lv) / np.where(clear, sine, 1), 0)
    ends = high
    high = np.where(across, np.minimum(ends, height + turned), ends)
    low = np.where(across, np.minimum(ends, height) - turned, ends)
    # nearly parallel lines deviate by no more than this between the tested ends
    low = np.maximum(np.where(clear, low, ends - sine * np.minimum(lu, lv)), 0)
    return low.astype(np.float64), high.astype(np.float64)


def edges_of(faces):
    """(k,2) edges, each once, lower vertex first, without degenerate ones."""
    pairs = np.sort(np.asarray(faces, np.int64)[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), 1)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    return np.unique(pairs, axis=0) if len(pairs) else np.zeros((0, 2), np.int64)


def margin(within, *xs):
    """The amount by which rounding may move a distance across `within`."""
    largest = max(float(np.abs(x).max(initial=0.0)) for x in xs)
    return 1e-9 * within + 64 * EPS * largest


def same_places(x):
    """(n,) an index for each position: equal for coincident vertices."""
    return np.unique(np.asarray(x) + 0.0, axis=0, return_inverse=True)[1].ravel()


def crossing_pairs(x, faces, y=None, other=None):
    """{(f, g)} intersecting faces, exactly (fractions): of two meshes, or of one with itself on its welded vertices."""
    same = y is None
    x = np.asarray(x, float)
    if same:
        index = same_places(x)
        first = np.unique(index, return_index=True)[1]
        x, faces = x[first], index[faces]
        y, other = x, faces
    a, b = x[faces], np.asarray(y, float)[other]
    meet = ((a.min(1)[:, None] <= b.max(1)[None]) & (a.max(1)[:, None] >= b.min(1)[None])).all(-1)
    found = set()
    for f, g in zip(*np.nonzero(meet)):
        if same:
            if f < g and naive.faces_intersect(x, faces[f], faces[g]):
                found.add((int(f), int(g)))
        elif naive.triangles_intersect(a[f], b[g]):
            found.add((int(f), int(g)))
    return found


def goes_through(p, q):
    """Whether an edge of one triangle passes through the interior of the other, exactly."""
    return any(_pierces(one[k], one[k - 1], two) for one, two in ((p, q), (q, p)) for k in range(3))


def _pierces(a, b, t):
    if naive.orient3d(*t, a) * naive.orient3d(*t, b) >= 0:
        return False
    turns = {naive.orient3d(a, b, t[k - 1], t[k]) for k in range(3)}
    return turns in ({1}, {-1})


def winding(x, faces, points):
    """(n,) generalised winding number, by libigl."""
    import igl

    v, f = np.asarray(x, np.float64), np.asarray(faces, np.int64)
    # centred on the body and scaled to its size: libigl loses precision at coordinates of 1e8
    middle, size = 0.5 * (v.min(0) + v.max(0)), max(float(np.ptp(v, axis=0).max()), 1e-300)
    return np.ravel(igl.winding_number((v - middle) / size, f, (np.asarray(points, np.float64) - middle) / size))


def unsigned(x, faces, points):
    """(n,) distance of points from a surface, in extended precision."""
    low, high = vertex_face(points, np.asarray(x)[faces])
    return 0.5 * (low.min(1) + high.min(1))


class IntersectionReferee:
    """Detects intersecting triangles with IPC Toolkit and confirms them in fractions, as its last step is inexact.

    The first `n_soft` of the vertices (n,3) are simulated; the bodies after them may intersect each other.
    """

    def __init__(self, x, faces, n_soft):
        import ipctk

        ipctk.set_num_threads(1)
        ipctk.set_logger_level(ipctk.LoggerLevel.off)
        self.faces, self.n_soft = np.asarray(faces, np.int32), n_soft
        self._find = ipctk.has_intersections
        self._mesh = ipctk.CollisionMesh(np.asfortranarray(x), ipctk.edges(self.faces), self.faces)
        if n_soft < len(x):
            self._mesh.can_collide = ipctk.make_static_obstacle_filter(n_soft)

    def __call__(self, x):
        return bool(self._find(self._mesh, np.asfortranarray(x))) and bool(self.pairs(x))

    def pairs(self, x):
        """{(f, g)} intersecting faces, f soft."""
        soft = self.faces[:, 0] < self.n_soft
        return {pair for pair in crossing_pairs(x, self.faces) if soft[pair[0]] or soft[pair[1]]}

    def gap(self, x):
        """The least distance of two non-adjacent features, at least one of them soft."""
        f, e = self.faces, edges_of(self.faces)
        far = vertex_face(x, x[f])[1]
        v = np.arange(len(x))
        hard = (v[:, None] >= self.n_soft) & (f[:, 0] >= self.n_soft)
        least = np.where((f[None] == v[:, None, None]).any(2) | hard, np.inf, far).min()
        far = edge_edge(x[e], x[e])[1]
        hard = (e[:, :1] >= self.n_soft) & (e[:, 0] >= self.n_soft)
        shared = (e[:, None, :, None] == e[None, :, None, :]).any((2, 3))
        return float(min(least, np.where(shared | hard, np.inf, far).min()))
