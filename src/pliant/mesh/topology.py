"""Mesh connectivity: edges, their faces, hinges, connected components, seams, welding of equal positions."""

import dataclasses
import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import renamed
from ..brief import brief

Ints = NDArray[np.int32]


@dataclasses.dataclass(frozen=True, eq=False)
class Topology:
    """Connectivity of a triangle mesh.

    edges (k,2), each once, lower vertex first, in lexicographic order. face_edges (m,3): edge j of a face joins its
    corners j and j+1. n_faces_at_edge (k,): number of faces at the edge. orientation_sum (k,): faces along
    its direction minus those against it.
    """

    faces: Ints
    n_vertices: int
    edges: Ints
    face_edges: Ints
    n_faces_at_edge: Ints
    orientation_sum: Ints

    __repr__ = brief

    @classmethod
    def of(cls, faces: Ints, n_vertices: int, segments: NDArray[np.bool_] | None = None) -> "Topology":
        """Return the connectivity of `faces` (m,3). segments (m,): faces that are segments (a, b, b); all sides of
        one of these are its edge a-b, so that no edge joins a vertex to itself."""
        start, end = faces.ravel(), np.roll(faces, -1, 1).ravel()
        direction = np.sign(end - start)
        if segments is not None and segments.any():
            start, end = start.copy(), end.copy()
            start[1::3][segments], end[1::3][segments] = faces[segments, 0], faces[segments, 1]
        key = np.minimum(start, end).astype(np.int64) * n_vertices + np.maximum(start, end)
        keys, index = np.unique(key, return_inverse=True)
        edges = np.stack([keys // n_vertices, keys % n_vertices], 1).astype(np.int32).reshape(-1, 2)
        return cls(
            faces,
            n_vertices,
            edges,
            index.reshape(-1, 3).astype(np.int32),
            np.bincount(index, minlength=len(keys)).astype(np.int32),
            np.bincount(index, direction, len(keys)).astype(np.int32),
        )

    @functools.cached_property
    def boundary(self) -> NDArray[np.bool_]:
        """(k,) boundary edges: edges with a single face."""
        return self.n_faces_at_edge == 1

    border = renamed.attribute("border", "boundary")
    use = renamed.attribute("use", "n_faces_at_edge")
    flow = renamed.attribute("flow", "orientation_sum")

    @functools.cached_property
    def loose(self) -> NDArray[np.bool_]:
        """(k,) edges whose faces do not cancel in orientation: the boundary of the faces as a chain. If there are
        none, the winding number is an integer at every point, whatever other defects the surface has."""
        return (self.orientation_sum != 0) & (self.edges[:, 0] != self.edges[:, 1])

    @functools.cached_property
    def boundary_vertices(self) -> NDArray[np.bool_]:
        """(n,) vertices on a boundary edge."""
        mask = np.zeros(self.n_vertices, np.bool_)
        mask[self.edges[self.boundary].ravel()] = True
        return mask

    @functools.cached_property
    def edge_faces(self) -> tuple[Ints, Ints]:
        """Faces at each edge as (start (k+1,), faces): those of edge e are faces[start[e]:start[e+1]]."""
        order = np.argsort(self.face_edges.ravel(), kind="stable")
        start = np.concatenate([[0], np.cumsum(self.n_faces_at_edge)]).astype(np.int32)
        return start, (order // 3).astype(np.int32)

    @functools.cached_property
    def hinges(self) -> Ints:
        """(h,4) vertices a, b, c, d: the edge a-b between two faces, and the corners c, d opposite it."""
        start, beside = self.edge_faces
        inner = np.flatnonzero(self.n_faces_at_edge == 2)
        pair = np.stack([beside[start[inner]], beside[start[inner] + 1]], 1)
        ends = self.edges[inner]
        corners = self.faces[pair]  # (h,2,3)
        # the opposite corner: the sum of the face's corners minus the two ends
        opposite = corners.sum(2) - ends.sum(1)[:, None]
        return np.concatenate([ends, opposite], 1).astype(np.int32)

    @functools.cached_property
    def components(self) -> Ints:
        """(n,) index of the connected component of each vertex."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        one = np.ones(len(self.edges), np.int8)
        graph = coo_array((one, (self.edges[:, 0], self.edges[:, 1])), shape=(self.n_vertices, self.n_vertices))
        return np.asarray(connected_components(graph, directed=False)[1], np.int32)

    @functools.cached_property
    def neighbours(self) -> tuple[Ints, Ints]:
        """Vertices connected to each vertex by an edge, as (start (n+1,), vertices), ascending."""
        both = np.concatenate([self.edges, self.edges[:, ::-1]])
        both = both[np.lexsort((both[:, 1], both[:, 0]))]
        start = np.searchsorted(both[:, 0], np.arange(self.n_vertices + 1)).astype(np.int32)
        return start, both[:, 1].astype(np.int32)


def tet_surface(tets: NDArray[Any]) -> Ints:
    """(m,3) the faces that belong to one of the tets (k,4) only, counter-clockwise from outside for positive tets."""
    # faces opposite corners 3, 2, 0 and 1
    sides = np.asarray(tets, np.int64)[:, [[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]]].reshape(-1, 3)
    corners = np.sort(sides, 1)
    order = np.lexsort(corners.T)  # six times as fast as np.unique on rows
    fresh = np.ones(len(order) + 1, np.bool_)
    fresh[1:-1] = (corners[order[1:]] != corners[order[:-1]]).any(1)
    start = np.flatnonzero(fresh)
    count = np.diff(start)
    if (count > 2).any():
        worst = int(order[start[np.argmax(count)]])
        raise ValueError(f"tets[{worst // 4}] shares a face with {int(count.max()) - 1} others; expected one at most")
    return sides[np.sort(order[start[:-1][count == 1]])].astype(np.int32)


def weld(vertices: NDArray[Any]) -> Ints:
    """(n,) index of each vertex among the distinct positions, by first appearance; positions must be exactly equal."""
    x = np.ascontiguousarray(vertices + 0.0)  # -0.0 becomes 0.0, so that equal numbers are equal bytes
    bits = x.view(np.uint64)
    # equal rows have equal hashes; if all hashes differ, as in most meshes, no rows are compared
    key = bits[:, 0] * np.uint64(0x9E3779B97F4A7C15)
    key = (key ^ (key >> np.uint64(29)) ^ bits[:, 1]) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> np.uint64(32)) ^ bits[:, 2]) * np.uint64(0x94D049BB133111EB)
    key ^= key >> np.uint64(31)
    rank = np.arange(len(x), dtype=np.int32)
    # a hash table skips the rows that are alone in their slot, which is cheaper than sorting all rows
    bits_kept = max(4 * len(x), 2).bit_length()
    slot = (key >> np.uint64(64 - bits_kept)).astype(np.int64)
    table = np.empty(1 << bits_kept, np.int32)
    table[slot] = rank
    shared = np.zeros(1 << bits_kept, np.bool_)
    shared[slot[table[slot] != rank]] = True
    rows = np.flatnonzero(shared[slot])
    ranked = np.sort(key[rows])
    again = ranked[1:][ranked[1:] == ranked[:-1]]
    if not len(again):
        return rank
    rows = rows[again[np.minimum(np.searchsorted(again, key[rows]), len(again) - 1)] == key[rows]]
    _, first, inverse = np.unique(x[rows].view("V24").ravel(), return_index=True, return_inverse=True)
    rank[rows] = rows[first[inverse.ravel()]]
    kept = rank == np.arange(len(x))
    return (np.cumsum(kept, dtype=np.int32) - 1)[rank]


def find_copies(index: Ints) -> NDArray[np.int64]:
    """(k,2) each vertex that `index` (n,) welds to an earlier one, and the first vertex it is welded to."""
    _, first, inverse = np.unique(index, return_index=True, return_inverse=True)
    first = first[inverse.ravel()]
    rows = np.flatnonzero(first != np.arange(len(index)))
    return np.stack([rows, first[rows]], 1)


def parted(copies: NDArray[np.int64], x: NDArray[Any], slack: float = 0.0) -> Ints | None:
    """(n,) for each vertex, the first vertex that is welded to it by `copies` (k,2) and also coincides with it at x
    (n,3), or in all frames (t,n,3); None if no copies have separated by more than `slack` metres."""
    if not len(copies):
        return None
    rows, leaders = copies.T
    gap = np.abs(x[..., rows, :] - x[..., leaders, :])
    apart = (gap > slack).reshape(-1, len(rows), 3).any((0, 2))
    if not apart.any():
        return None
    groups = np.arange(x.shape[-2], dtype=np.int32)
    groups[rows] = leaders
    rows, leaders = rows[apart], leaders[apart]
    at = np.moveaxis(np.asarray(x[..., rows, :], np.float64), -2, 0).reshape(len(rows), -1)
    keyed = np.column_stack([leaders, at + 0.0])  # -0.0 becomes 0.0, so that equal numbers are equal bytes
    _, first, inverse = np.unique(keyed.view(f"V{8 * keyed.shape[1]}").ravel(), return_index=True, return_inverse=True)
    groups[rows] = rows[first[inverse.ravel()]]
    return groups


def triangles_across_edges(welded: Ints) -> Ints:
    """(m,3) the triangle across side k, from corner k to k + 1, of each triangle with corners `welded` (m,3).

    -1 for none; -2 for several, for one of inconsistent orientation, and for degenerate triangles with a repeated
    corner (such as isolated vertices).
    """
    ends = np.stack([welded, np.roll(welded, -1, 1)], 2).reshape(-1, 2).astype(np.int64)
    key = ends.min(1) * (int(welded.max(initial=0)) + 1) + ends.max(1)
    by = np.argsort(key, kind="stable")
    new = np.concatenate([[True], key[by][1:] != key[by][:-1]])[: len(by)]
    group = np.cumsum(new) - 1
    count = np.bincount(group)
    across = np.full(len(key), -2, np.int32)
    across[by[count[group] == 1]] = -1
    pair = by[np.flatnonzero(new)[count == 2][:, None] + [0, 1]]
    opposite = ends[pair[:, 0], 0] == ends[pair[:, 1], 1]
    one, two = pair[opposite].T
    across[one], across[two] = two // 3, one // 3
    twice = (ends[:, 0] == ends[:, 1]).reshape(-1, 3).any(1)
    across[np.repeat(twice, 3)] = -2
    return across.reshape(-1, 3)
