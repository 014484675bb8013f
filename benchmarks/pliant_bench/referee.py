"""Ground truth of pairs, without a BVH of any participant: sweep and prune along an axis, then pair by pair."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant import geometry
from pliant.detect import find_contacts
from pliant.kernels.geometry.triangle_pair import faces_intersect
from pliant.mesh import Mesh

Floats = NDArray[np.float64]
Pairs = NDArray[np.int64]
_CHUNK = 4_000_000  # pairs per chunk
_ALL_PAIRS = 2_000_000  # maximum number of pairs that are tested one by one


def box_pairs(a: Floats, b: Floats) -> Pairs:
    """Pairs (k,2) of rows of `a` (n,m,3) and `b` (l,m,3) whose AABBs overlap or touch."""
    low_a, high_a, low_b, high_b = a.min(1), a.max(1), b.min(1), b.max(1)
    near_a = np.flatnonzero((low_a <= high_b.max(0)).all(1) & (high_a >= low_b.min(0)).all(1))
    near_b = np.flatnonzero((low_b <= high_a.max(0)).all(1) & (high_b >= low_a.min(0)).all(1))
    if not len(near_a) or not len(near_b):
        return np.zeros((0, 2), np.int64)
    axis = int(np.argmax(high_b[near_b].max(0) - low_b[near_b].min(0)))
    near_b = near_b[np.argsort(low_b[near_b, axis], kind="stable")]
    sorted_low = low_b[near_b, axis]
    wide = float((high_b - low_b)[near_b, axis].max())
    first = np.searchsorted(sorted_low, low_a[near_a, axis] - wide)
    last = np.searchsorted(sorted_low, high_a[near_a, axis], side="right")
    found = []
    for rows in _chunks(last - first):
        i = np.repeat(near_a[rows], (last - first)[rows])
        j = near_b[_ranges(first[rows], last[rows])]
        touch = (low_a[i] <= high_b[j]).all(1) & (low_b[j] <= high_a[i]).all(1)
        found.append(np.stack([i[touch], j[touch]], 1))
    return np.concatenate(found)


def _chunks(counts: Pairs) -> Iterator[slice]:
    """Ranges of rows whose counts sum to about `_CHUNK`."""
    total, start = np.cumsum(counts), 0
    while start < len(counts):
        done = total[start - 1] if start else 0
        end = max(int(np.searchsorted(total, done + _CHUNK, side="right")), start + 1)
        yield slice(start, end)
        start = end


def _ranges(first: Pairs, last: Pairs) -> Pairs:
    """The ranges first[k]..last[k]-1, concatenated."""
    counts = last - first
    skip = np.repeat(np.cumsum(counts) - counts, counts)
    ranges: Pairs = np.arange(int(counts.sum())) - skip + np.repeat(first, counts)
    return ranges


def crossings(x_a: Floats, faces_a: NDArray[Any], x_b: Floats, faces_b: NDArray[Any]) -> Pairs:
    """Pairs (k,2) of faces of two meshes such that an edge of one intersects the other, in double precision."""
    a, b = x_a[faces_a], x_b[faces_b]
    pairs = box_pairs(a, b)
    p, q = a[pairs[:, 0]], b[pairs[:, 1]]
    hit = np.zeros(len(pairs), np.bool_)
    for k in range(3):
        hit |= pierces(p[:, k], p[:, (k + 1) % 3], q) | pierces(q[:, k], q[:, (k + 1) % 3], p)
    return pairs[hit]


def pierces(start: Floats, end: Floats, triangle: Floats) -> NDArray[np.bool_]:
    """Whether segments intersect triangles (n,3,3), by the signs of plane distances and of three volumes."""
    a, b, c = triangle[:, 0], triangle[:, 1], triangle[:, 2]
    along = end - start
    normal = np.cross(b - a, c - a)
    above, below = _dot(start - a, normal), _dot(end - a, normal)
    sides = [_dot(np.cross(u - start, v - start), along) for u, v in ((a, b), (b, c), (c, a))]
    same = (np.minimum.reduce(sides) >= 0.0) | (np.maximum.reduce(sides) <= 0.0)
    return np.asarray(same & (above * below <= 0.0) & ((above != 0.0) | (below != 0.0)))


def _dot(a: Floats, b: Floats) -> Floats:
    return np.asarray(np.einsum("ij,ij->i", a, b))


def self_crossings(x: Floats, faces: NDArray[Any]) -> int:
    """Number of self-intersecting pairs of faces of a mesh; exact, including mesh neighbours."""
    corners = x[faces]
    pairs = box_pairs(corners, corners)
    rows = [tuple(face) for face in faces.tolist()]
    return sum(bool(faces_intersect(x, rows[i], rows[j])) for i, j in pairs.tolist() if i < j)


def near_pairs(mesh: Mesh, within: float) -> tuple[Pairs, Pairs]:
    """((vertex, face), (edge, edge)) closer than `within`, without neighbours, by the brute-force detector."""
    return pairs_of(find_contacts(mesh, method="brute-force", within=within))


def pairs_of(contacts: NDArray[Any]) -> tuple[Pairs, Pairs]:
    """Contact records of self-contact as ((vertex, face), (edge, edge))."""
    elements, kind = contacts["elements"].astype(np.int64), contacts["kind"]
    return elements[kind == 0], elements[kind == 1]


def differ(found: tuple[Pairs, Pairs], truth: tuple[Pairs, Pairs]) -> dict[str, int]:
    """Numbers of pairs found, missing and extra against the ground truth; edges in either order."""
    missing = extra = 0
    for k, (ours, right) in enumerate(zip(found, truth)):
        said, known = (_keys(np.sort(p, 1) if k else p) for p in (ours, right))
        missing += len(np.setdiff1d(known, said))
        extra += len(np.setdiff1d(said, known))
    return {"vertex_face": len(found[0]), "edge_edge": len(found[1]), "missing": missing, "extra": extra}


def _keys(pairs: Pairs) -> Pairs:
    """A unique key for each pair."""
    return pairs[:, 0].astype(np.int64) << 32 | pairs[:, 1].astype(np.int64)


def all_pairs(mesh: Mesh) -> tuple[Pairs, Pairs] | None:
    """All (vertex, face) and (edge, edge) pairs without a common vertex; None if there are too many."""
    n, faces, edges = mesh.n_vertices, mesh.faces, mesh.topology.edges
    if n * len(faces) + len(edges) ** 2 > _ALL_PAIRS:
        return None
    v, f = (g.ravel() for g in np.meshgrid(np.arange(n), np.arange(len(faces)), indexing="ij"))
    e, g = np.triu_indices(len(edges), 1)
    apart = (faces[f] != v[:, None]).all(1)
    alone = (edges[e][:, :, None] != edges[g][:, None, :]).all((1, 2))
    return np.stack([v, f], 1)[apart], np.stack([e, g], 1)[alone]


def first_impact(mesh: Mesh, x_0: Floats, x_1: Floats, pairs: tuple[Pairs, Pairs]) -> float:
    """Time of impact of the first of `pairs` as a fraction of the motion, by the cubic; 1 if there is none."""
    vertex_face, edge_edge = pairs
    v, edges = vertex_face[:, 0], mesh.topology.edges
    corners = np.concatenate([v[:, None], mesh.faces[vertex_face[:, 1]]], 1)
    ends = edges[edge_edge].reshape(-1, 4)
    first = 1.0
    for stencils, impact in ((corners, geometry.vertex_face_impact), (ends, geometry.edge_edge_impact)):
        for k in range(0, len(stencils), _CHUNK // 8):
            some = stencils[k : k + _CHUNK // 8]
            first = min(first, float(impact(x_0[some], x_1[some], method="cubic")[1].min(initial=1.0)))
    return first
