"""Intersection curves of surfaces: intersecting triangle pairs chained to curves, with their lengths.

Two triangles that cross share a segment. Its ends lie where an edge of one passes through the other, and the next
segment continues on the face across that edge. Pairs are therefore chained by edge and face indices, not coordinates.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..mesh.topology import Topology

Floats = NDArray[np.float64]
Pairs = NDArray[np.int32]
BLOCK = 1 << 16  # pairs per block; each needs 1.2 kB for the distances of its six points


class Contours(NamedTuple):
    label: NDArray[np.int64]  # (k,) curve index of each pair
    ends: Floats  # (k,2,3) its segment; two equal points where it only touches
    closed: NDArray[np.bool_]  # (curves,) mask of closed curves

    @property
    def n_curves(self) -> int:
        return len(self.closed)

    @property
    def lengths(self) -> Floats:
        """(curves,) metres."""
        span = np.linalg.norm(self.ends[:, 1] - self.ends[:, 0], axis=1)
        return np.asarray(np.bincount(self.label, span, self.n_curves), np.float64)


def contours(
    x: Floats, top: Topology, pairs: Pairs, x_b: Floats | None = None, top_b: Topology | None = None
) -> Contours:
    """Curves of the intersecting face `pairs` (k,2) of a mesh with itself or with a second one."""
    other, y = (top, x) if top_b is None or x_b is None else (top_b, x_b)
    same = top_b is None
    k = len(pairs)
    if not k:
        return Contours(np.zeros(0, np.int64), np.zeros((0, 2, 3)), np.zeros(0, np.bool_))
    hits, nodes, ends = np.empty((k, 6), np.bool_), np.empty((k, 6), np.int64), np.empty((k, 2, 3))
    shift = 0 if same else len(top.edges) * len(other.faces)
    for start in range(0, k, BLOCK):
        some, rows = pairs[start : start + BLOCK], slice(start, start + BLOCK)
        points = np.empty((len(some), 6, 3))
        # six edges per pair: three of the first face against the second, three of the second against the first
        for side, (t, u, at, to) in enumerate(((top, other, x, y), (other, top, y, x))):
            f, g = some[:, side], some[:, 1 - side]
            for j in range(3):
                e = t.face_edges[f, j]
                c = 3 * side + j
                points[:, c], hits[rows, c] = _edge_face_points(at[t.edges[e]], to[u.faces[g]])
                nodes[rows, c] = e.astype(np.int64) * len(u.faces) + g + side * shift
        if same:
            _share_vertices(x, top, some, points, hits[rows], nodes[rows])
        ends[rows] = _segments(points, hits[rows])
    return _chained(ends, hits, nodes)


def _edge_face_points(edge: Floats, face: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Intersection points of segments (k,2,3) with triangles (k,3,3), and a mask (k,) of those that intersect."""
    a, b = edge[:, 0], edge[:, 1]
    u, v = face[:, 1] - face[:, 0], face[:, 2] - face[:, 0]
    n = np.cross(u, v)
    above, below = ((p - face[:, 0]) for p in (a, b))
    s, t = np.einsum("ij,ij->i", above, n), np.einsum("ij,ij->i", below, n)
    cross = (s > 0.0) != (t > 0.0)
    part = np.where(cross, s / np.where(cross & (s != t), s - t, 1.0), 0.0)
    p = a + part[:, None] * (b - a)
    area = np.einsum("ij,ij->i", n, n)
    safe = np.where(area > 0.0, area, 1.0)
    r = p - face[:, 0]
    w_v = np.einsum("ij,ij->i", np.cross(u, r), n) / safe
    w_u = np.einsum("ij,ij->i", np.cross(r, v), n) / safe
    slack = 1e-9
    return p, cross & (area > 0.0) & (w_u >= -slack) & (w_v >= -slack) & (w_u + w_v <= 1.0 + slack)


def _share_vertices(
    x: Floats, top: Topology, pairs: Pairs, points: Floats, hits: NDArray[np.bool_], nodes: NDArray[np.int64]
) -> None:
    """For crossing faces that share one vertex, replace the hits of the edges at that vertex by the vertex itself."""
    f, g = top.faces[pairs[:, 0]], top.faces[pairs[:, 1]]
    equal = f[:, :, None] == g[:, None, :]
    rows = np.flatnonzero(equal.sum((1, 2)) == 1)
    if not len(rows):
        return
    i, j = np.argmax(equal[rows].any(2), 1), np.argmax(equal[rows].any(1), 1)
    at = f[rows, i]
    # edges at the shared vertex do not count as hits; edge j joins corners j and j+1
    for corner, first in ((i, 0), (j, 3)):
        for c in (corner, (corner + 2) % 3):
            hits[rows, first + c] = False
    spare = i  # one of the slots just cleared
    points[rows, spare], hits[rows, spare] = x[at], True
    nodes[rows, spare] = -1 - at.astype(np.int64)


def _segments(points: Floats, hits: NDArray[np.bool_]) -> Floats:
    """(k,2,3) the two hits farthest apart; rounding may give more than two hits, touching fewer."""
    k = len(points)
    gap = np.linalg.norm(points[:, :, None] - points[:, None], axis=3)
    gap = np.where(hits[:, :, None] & hits[:, None], gap, -1.0)
    best = gap.reshape(k, -1).argmax(1)
    ends = np.stack([points[np.arange(k), best // 6], points[np.arange(k), best % 6]], 1)
    none = ~hits.any(1)
    ends[none] = points[none][:, :1].repeat(2, 1)
    return ends


def _chained(ends: Floats, hits: NDArray[np.bool_], nodes: NDArray[np.int64]) -> Contours:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    k, none = len(ends), ~hits.any(1)
    row, col = np.nonzero(hits)
    _, name = np.unique(nodes[row, col], return_inverse=True)
    size = int(name.max(initial=-1)) + 1
    graph = coo_array((np.ones(len(row), np.int8), (row, k + name)), shape=(k + size, k + size))
    _, found = connected_components(graph, directed=False)
    # curves in the order of their first pair
    _, first, label = np.unique(found[:k], return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    label = rank[label]
    ending = np.zeros(len(first), np.bool_)
    once = np.bincount(name, minlength=size) == 1
    ending[label[row[once[name]]]] = True
    ending[label[none]] = True
    return Contours(label, ends, ~ending)
