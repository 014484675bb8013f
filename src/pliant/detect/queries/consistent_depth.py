"""Consistent penetration depth: depth and separation direction of every vertex inside a tetrahedral body.

After Heidelberger, Teschner, Keiser, Mueller and Gross 2004; see docs/detectors/consistent-depth.md.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import renamed, validate
from ...contacts import Contacts, Pool
from ...kernels.queries import consistent_depth as _kernels
from ...kernels.queries.consistent_depth import NONE, DepthsAndDirections, Nodes, TetBodies
from ...kernels.queries.rotation_limit import StoredDirections, limit_rotations
from ...mesh import Mesh
from ..base import Side
from .penetration import DeformingClosestPoints

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Rows = NDArray[np.int64]
_OPPOSITE = np.array([[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]])  # corners of the face opposite to each corner


class ConsistentDepth:
    """Consistent penetration depth for the bodies `sides`, whose tets are numbered consecutively over all sides.

    Sides without tets, such as cloth, are allowed: their vertices can be inside others. `accept_as_reference` makes the
    last result of `contacts` limit how far each separation direction of the next results may rotate from it.
    """

    def __init__(self, sides: Sequence[Side]) -> None:
        self.sides = tuple(sides)
        count = max((side.rows.stop for side in self.sides), default=0)
        meshes = [side.mesh for side in self.sides]
        self._count = max(count, 1)
        self._representative = np.arange(count, dtype=np.int32)  # representative of each group of welded vertices
        for side in self.sides:
            _, first = np.unique(side.mesh.weld_index, return_index=True)
            self._representative[side.rows] = side.first + first[side.mesh.weld_index]
        tets, faces = self._joined([m.tets for m in meshes], 4), self._joined([m.faces for m in meshes], 3)
        links = self._joined([m.links for m in meshes], 2)
        one, other = np.unique(np.concatenate([links, links[:, ::-1]]), axis=0).T
        around = np.repeat(np.arange(len(faces), dtype=np.int32), 3)
        by_vertex, by_corner = _grouped(one, other, count), _grouped(faces.ravel(), around, count)
        self.tet_bodies = TetBodies(tets, _beside(tets, faces), faces, *by_vertex, *by_corner)
        self._tets = np.concatenate([[0], np.cumsum([len(m.tets) for m in meshes])])
        self._faces = np.concatenate([[0], np.cumsum([m.n_faces for m in meshes])])
        self._side_of = np.zeros(count, np.int32)
        for k, side in enumerate(self.sides):
            self._side_of[side.rows] = k
        result = [(side.first, side.body, first) for side, first in zip(self.sides, self._faces, strict=False)]
        self._numbers = np.array(result, np.int32).reshape(-1, 3)
        self._distance_queries: dict[int, DeformingClosestPoints] = {}
        self._pool = Pool()
        self.forget()

    def _joined(self, elements: Sequence[Ints], width: int) -> Ints:
        rows = [self._representative[own + side.first] for side, own in zip(self.sides, elements, strict=True)]
        return np.concatenate([np.zeros((0, width), np.int32), *rows])

    def contacts(self, x: Floats, pairs: NDArray[Any], *, nearest: bool = False) -> Contacts:
        """Return vertex-face records, one per vertex and body, of pairs (k,2): row of x (n,3), tet that contains it.

        Ordered by vertex, then by body. The normal is the separation direction, and the distance is minus the depth.
        `nearest` uses the nearest point of the surface for all vertices and ignores earlier results.
        """
        tet_bodies, n = self.tet_bodies, len(x)
        self._last = _allocate(np.zeros(0, np.int64))
        if not len(pairs):
            return self._pool.take(0)
        within = np.searchsorted(self._tets, pairs[:, 1], side="right") - 1
        vertex = self._representative[pairs[:, 0]]
        keys, first = np.unique(within * self._count + vertex, return_index=True)
        vertex, within = vertex[first], within[first]
        start = np.concatenate([[0], np.cumsum((tet_bodies.by_vertex[1:] - tet_bodies.by_vertex[:-1])[vertex])])
        k, e = len(keys), int(start[-1])
        ends, room = np.empty(e, np.int32), np.empty((e, 4))
        tet = pairs[first, 1].astype(np.int32)
        nodes = Nodes(keys, vertex, tet, start, ends, ends.copy(), np.empty(e), room, np.full(k, np.inf))
        _kernels.build_links(tet_bodies, nodes, x, np.zeros((n, 3)))
        _kernels.relax_path_lengths(nodes)
        order = np.argsort(nodes.path_length, kind="stable")
        n_propagated = 0 if nearest else int(np.isfinite(nodes.path_length).sum())
        result = DepthsAndDirections(np.zeros(k), np.zeros((k, 3)), np.full(k, NONE, np.int32), np.zeros((k, 3)))
        _kernels.propagate_inwards(tet_bodies, nodes, order[:n_propagated], x, result)
        parts = np.stack([self._side_of[vertex], within], 1)
        self._by_nearest(nodes, np.sort(order[n_propagated:]), parts, x, result)
        none = _allocate(np.zeros(0, np.int64))
        directions = _allocate(keys)
        limit_rotations(tet_bodies, nodes, result, x, none if nearest else self._before, directions)
        self._last = none if nearest else directions
        rows = np.lexsort((within, vertex))
        rows = rows[result.face[rows] != NONE]
        out = self._pool.take(len(rows))
        _kernels.write_contacts(tet_bodies, nodes, directions, rows, x, parts, self._numbers, out)
        return out

    def accept_as_reference(self) -> None:
        """Make the last result the reference for the next one; call after the bodies have moved."""
        self._before = self._last

    go_on = renamed.attribute("go_on", "accept_as_reference")

    def forget(self) -> None:
        """Discard earlier results."""
        self._before = self._last = _allocate(np.zeros(0, np.int64))

    def state(self) -> Floats:
        """Return (k,10) the last result, on which the next one depends besides positions. Columns: key, face, weights
        (3), normal (3), depth, and whether the direction was still rotating."""
        return np.column_stack([np.asarray(part, np.float64) for part in self._last])

    def restore(self, state: Floats) -> None:
        """Set the last result to one returned by `state`."""
        given = validate.floats("state", state, (None, 10))
        if not (np.diff(given[:, 0], prepend=-1.0) > 0.0).all() or (given[:, :2] % 1.0 != 0.0).any():
            raise ValueError("state must have ascending integer keys and integer faces; the rows given are corrupt")
        if (given[:, 0] >= self._count * len(self.sides)).any():
            raise ValueError(f"state refers to vertices or bodies beyond the {len(self.sides)} sides")
        if (given[:, 1] < NONE).any() or (given[:, 1] >= len(self.tet_bodies.faces)).any():
            raise ValueError(f"state refers to faces beyond the {len(self.tet_bodies.faces)} of all sides")
        keys, face = given[:, 0].astype(np.int64), given[:, 1].astype(np.int32)
        weights, normal, depth = given[:, 2:5].copy(), given[:, 5:8].copy(), given[:, 8].copy()
        self._last = self._before = StoredDirections(keys, face, weights, normal, depth, given[:, 9] > 0.0)

    memory = renamed.state("memory", "restore(state)")

    def _by_nearest(self, nodes: Nodes, rows: Rows, parts: Rows, x: Floats, result: DepthsAndDirections) -> None:
        """Set the surface points of the rows that were not propagated to the nearest points of the surface."""
        for b in np.unique(parts[rows, 1]):
            own = parts[rows, 0] == parts[rows, 1]
            for same in (False, True):
                some = rows[(parts[rows, 1] == b) & (own == same)]
                if not len(some):
                    continue
                if same:
                    faces = np.empty(len(some), np.int32)
                    around = int(self._faces[b]), int(self._faces[b + 1])
                    _kernels.find_elsewhere(self.tet_bodies, nodes, some, x, *around, faces)
                    some, faces = some[faces != NONE], faces[faces != NONE]
                else:
                    faces = (self._nearest_faces(b, x, nodes.vertex[some]) + self._faces[b]).astype(np.int32)
                _kernels.take_nearest(self.tet_bodies, nodes, some, faces, x, result)

    def _nearest_faces(self, b: int, x: Floats, vertices: Ints) -> Rows:
        """Return the faces of side b that are nearest to the given vertices."""
        side = self.sides[b]
        if b not in self._distance_queries:
            self._distance_queries[b] = DeformingClosestPoints(
                Mesh(side.mesh.vertices, side.mesh.faces, groups=side.mesh.groups)
            )
        return self._distance_queries[b].update(x[side.rows]).query(x[vertices])[2]


def consistent_depth(sides: Sequence[Side], x: Any, pairs: Any) -> Contacts:
    """One-shot `ConsistentDepth.contacts`: records of pairs (k,2), a row of x (n,3) and a tet that contains it."""
    count = max((side.rows.stop for side in sides), default=0)
    tets = sum(len(side.mesh.tets) for side in sides)
    given, at = np.asarray(pairs), validate.floats("x", x, (None, 3))
    if len(at) < count:
        raise ValueError(f"x has {len(at)} rows; the sides have {count} vertices")
    if given.ndim == 2 and given.shape[1] == 2:
        validate.rows("pairs[:, 0]", given[:, 0], count, "vertices")
        validate.rows("pairs[:, 1]", given[:, 1], tets, "tets")
    return ConsistentDepth(sides).contacts(at, validate.indices("pairs", pairs, 2, max(count, tets), "rows"))


def _allocate(keys: Rows) -> StoredDirections:
    """Allocate the results for nodes with these keys (k,)."""
    k = len(keys)
    return StoredDirections(
        keys, np.full(k, NONE, np.int32), np.zeros((k, 3)), np.zeros((k, 3)), np.zeros(k), np.zeros(k, np.bool_)
    )


def _beside(tets: Ints, faces: Ints) -> Ints:
    """(k,4) the tet across the face opposite to each corner of tets (k,4); -1 - f if that is face f of faces (m,3)."""
    sides = np.sort(np.concatenate([tets[:, _OPPOSITE].reshape(-1, 3), faces]), 1)
    _, index = np.unique(sides, axis=0, return_inverse=True)
    order = np.argsort(index.ravel(), kind="stable")
    twin = np.full(len(sides), -1, np.int64)
    same = np.flatnonzero(np.diff(index.ravel()[order]) == 0)
    twin[order[same]], twin[order[same + 1]] = order[same + 1], order[same]
    twin = twin[: 4 * len(tets)]
    if (twin < 0).any():
        lost = int((twin < 0).sum())
        what = f"{lost} faces of tets belong to one tet only but are not in the surface"
        raise ValueError(f"{what}; use pliant.Mesh.from_tets")
    return np.where(twin < 4 * len(tets), twin // 4, 4 * len(tets) - 1 - twin).reshape(-1, 4).astype(np.int32)


def _grouped(keys: Ints, values: Ints, count: int) -> tuple[Rows, Ints]:
    """Group values (k,) by key (CSR): those of key i are values[start[i]:start[i+1]]."""
    order = np.argsort(keys, kind="stable")
    start = np.searchsorted(keys[order], np.arange(count + 1))
    return start.astype(np.int64), np.ascontiguousarray(values[order], np.int32)
