"""Triangle mesh improvement: edge flips, local refinement and neighbour means, computed on whole arrays."""

import numpy as np
from numpy.typing import NDArray

from ..mesh.topology import Topology
from ..validate import Floats, Ints


def neighbour_mean(x: Floats, faces: Ints) -> Floats:
    """(n,3) mean of the neighbours of each vertex over the corners of its faces; boundary edges count half."""
    ahead, behind = np.roll(faces, -1, 1).ravel(), np.roll(faces, 1, 1).ravel()
    flat, n = faces.ravel(), len(x)
    count = np.maximum(2.0 * np.bincount(flat, minlength=n), 1.0)
    return np.stack([np.bincount(flat, x[ahead, k] + x[behind, k], n) / count for k in range(3)], 1)


def flipped_to_delaunay(x: Floats, faces: Ints, rounds: int = 3) -> Ints:
    """Faces with interior edges flipped where the two opposite angles sum to more than 180 degrees.

    In each round only edges that share no face are flipped, worst first; an edge is not flipped onto an existing edge
    or across a crease.
    """
    for _ in range(rounds):
        top = Topology.of(faces, len(x))
        bad = _cotangents(x, top.hinges) < -1e-6
        if not bad.any():
            break
        start, beside = top.edge_faces
        inner = np.flatnonzero(top.n_faces_at_edge == 2)[bad]
        f_a, f_b = beside[start[inner]], beside[start[inner] + 1]
        a, b, c, d = top.hinges[bad].T
        # c is to the left of a -> b if the first face contains the directed edge a -> b
        along = _follows(faces[f_a], a, b)
        f_a, f_b, c, d = (np.where(along, u, v) for u, v in ((f_a, f_b), (f_b, f_a), (c, d), (d, c)))
        mean = _normals(x, a, b, c) + _normals(x, b, a, d)
        flat = np.ones(len(a), np.bool_)
        for corners in ((a, b, c), (b, a, d), (a, d, c), (b, c, d)):
            n = _normals(x, *corners)
            flat &= _dot(n, mean) > 0.5 * np.sqrt(_dot(n, n) * _dot(mean, mean))
        key = np.minimum(c, d).astype(np.int64) * len(x) + np.maximum(c, d)
        edges = top.edges[:, 0].astype(np.int64) * len(x) + top.edges[:, 1]
        fresh = edges[np.minimum(np.searchsorted(edges, key), len(edges) - 1)] != key
        want = np.flatnonzero(flat & fresh)
        worst_first = np.argsort(_cotangents(x, top.hinges[bad][want]), kind="stable")
        want = _disjoint(want[worst_first], f_a, f_b, key, len(faces))
        faces = faces.copy()
        faces[f_a[want]] = np.stack([a, d, c], 1)[want]
        faces[f_b[want]] = np.stack([b, c, d], 1)[want]
    return faces


def refined(x: Floats, faces: Ints, mask: NDArray[np.bool_]) -> tuple[Floats, Ints]:
    """Faces in `mask` split into four, their neighbours into two (or four, if two of their edges are split)."""
    top = Topology.of(faces, len(x))
    cut = np.zeros(len(top.edges), np.bool_)
    cut[top.face_edges[mask].ravel()] = True
    while True:
        twice = cut[top.face_edges].sum(1) == 2
        if not twice.any():
            break
        cut[top.face_edges[twice].ravel()] = True
    fresh = np.cumsum(cut) - 1 + len(x)
    middle = 0.5 * (x[top.edges[cut, 0]] + x[top.edges[cut, 1]])
    number = cut[top.face_edges].sum(1)
    whole, half, quarter = faces[number == 0], number == 1, number == 3
    a, b, c = faces[quarter].T
    ab, bc, ca = fresh[top.face_edges[quarter]].T
    four = [np.stack(t, 1) for t in ((a, ab, ca), (b, bc, ab), (c, ca, bc), (ab, bc, ca))]
    turn = np.argmax(cut[top.face_edges[half]], 1)
    rows = np.arange(len(turn))
    a, b, c = (faces[half][rows, (turn + k) % 3] for k in range(3))
    m = fresh[top.face_edges[half][rows, turn]]
    two = [np.stack(t, 1) for t in ((a, m, c), (m, b, c))]
    return np.concatenate([x, middle]), np.concatenate([whole, *four, *two]).astype(np.int32)


def _follows(corners: Ints, a: Ints, b: Ints) -> NDArray[np.bool_]:
    return ((corners == a[:, None]) & (np.roll(corners, -1, 1) == b[:, None])).any(1)


def _cotangents(x: Floats, hinges: Ints) -> Floats:
    """(h,) sum of the cotangents of the two opposite angles: negative where the angles sum to more than 180 degrees."""
    a, b, c, d = hinges.T
    total = np.zeros(len(hinges))
    for at in (c, d):
        u, v = x[a] - x[at], x[b] - x[at]
        uv = _dot(u, v)
        # |u x v|^2 = |u|^2 |v|^2 - (u.v)^2, bounded away from zero
        total += uv / np.sqrt(np.maximum(_dot(u, u) * _dot(v, v) - uv * uv, 1e-300))
    return total


def _normals(x: Floats, a: Ints, b: Ints, c: Ints) -> Floats:
    return np.cross(x[b] - x[a], x[c] - x[a])


def _dot(a: Floats, b: Floats) -> Floats:
    return np.einsum("ij,ij->i", a, b)


def _disjoint(want: NDArray[np.int64], f_a: Ints, f_b: Ints, key: NDArray[np.int64], n_faces: int) -> NDArray[np.int64]:
    """The wanted edges, in order, that are first on both of their faces and first to create their new edge."""
    rank = np.arange(len(want))
    first = np.full(n_faces, len(want))
    np.minimum.at(first, f_a[want], rank)
    np.minimum.at(first, f_b[want], rank)
    _, new = np.unique(key[want], return_index=True)
    alone = np.zeros(len(want), np.bool_)
    alone[new] = True
    return want[(first[f_a[want]] == rank) & (first[f_b[want]] == rank) & alone]
