"""Triangle meshes made even: edge flips, local refinement, neighbour means. All in whole-array steps."""

import numpy as np
from numpy.typing import NDArray

from ..topology import Topology
from ..validate import Floats, Ints


def neighbour_mean(x: Floats, faces: Ints) -> Floats:
    """(n,3) mean of the neighbours of each vertex, taken over the corners of its faces: border edges weigh half."""
    ahead, behind = np.roll(faces, -1, 1).ravel(), np.roll(faces, 1, 1).ravel()
    flat, n = faces.ravel(), len(x)
    count = np.maximum(2.0 * np.bincount(flat, minlength=n), 1.0)
    return np.stack([np.bincount(flat, x[ahead, k] + x[behind, k], n) / count for k in range(3)], 1)


def flipped_to_delaunay(x: Floats, faces: Ints, rounds: int = 4) -> Ints:
    """Faces with inner edges flipped where the two opposite angles sum to more than 180 degrees.

    In each round only edges that share no face are flipped, worst first, and never onto an edge that exists already
    or across a crease.
    """
    for _ in range(rounds):
        top = Topology.of(faces, len(x))
        start, beside = top.edge_faces
        inner = np.flatnonzero(top.use == 2)
        f_a, f_b = beside[start[inner]], beside[start[inner] + 1]
        a, b, c, d = top.hinges.T
        # c on the left of a -> b where the first face runs along the edge
        along = _follows(faces[f_a], a, b)
        c, d = np.where(along, c, d), np.where(along, d, c)
        f_a, f_b = np.where(along, f_a, f_b), np.where(along, f_b, f_a)
        badness = _angle(x, c, a, b) + _angle(x, d, a, b) - np.pi
        n_old = [np.cross(x[b] - x[a], x[c] - x[a]), np.cross(x[a] - x[b], x[d] - x[b])]
        n_new = [np.cross(x[d] - x[a], x[c] - x[a]), np.cross(x[c] - x[b], x[d] - x[b])]
        mean = n_old[0] + n_old[1]
        flat = np.all([(n * mean).sum(1) > 0.5 * _length(n) * _length(mean) for n in n_old + n_new], axis=0)
        low, high = np.minimum(c, d).astype(np.int64), np.maximum(c, d)
        exists = np.isin(low * len(x) + high, top.edges[:, 0].astype(np.int64) * len(x) + top.edges[:, 1])
        want = np.flatnonzero((badness > 1e-6) & flat & ~exists)
        if not len(want):
            break
        want = _apart(want[np.argsort(-badness[want], kind="stable")], f_a, f_b, low * len(x) + high, len(faces))
        faces = faces.copy()
        faces[f_a[want]] = np.stack([a, d, c], 1)[want]
        faces[f_b[want]] = np.stack([b, c, d], 1)[want]
    return faces


def refined(x: Floats, faces: Ints, mask: NDArray[np.bool_]) -> tuple[Floats, Ints]:
    """Faces in `mask` cut into four, their neighbours into two (or four, where two of their edges are cut)."""
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


def _angle(x: Floats, at: Ints, a: Ints, b: Ints) -> Floats:
    u, v = x[a] - x[at], x[b] - x[at]
    return np.arctan2(_length(np.cross(u, v)), (u * v).sum(1))


def _length(a: Floats) -> Floats:
    return np.sqrt((a * a).sum(1))


def _apart(want: NDArray[np.int64], f_a: Ints, f_b: Ints, key: NDArray[np.int64], n_faces: int) -> NDArray[np.int64]:
    """The wanted edges, in their order, that come first on both of their faces and first to their new edge."""
    rank = np.arange(len(want))
    first = np.full(n_faces, len(want))
    np.minimum.at(first, f_a[want], rank)
    np.minimum.at(first, f_b[want], rank)
    _, new = np.unique(key[want], return_index=True)
    alone = np.zeros(len(want), np.bool_)
    alone[new] = True
    return want[(first[f_a[want]] == rank) & (first[f_b[want]] == rank) & alone]
