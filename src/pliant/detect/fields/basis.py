"""The geometry a field is baked from: the mesh itself where its normals determine the sign, else its solid's boundary.

For a mesh that is not plain (see queries/plain.py), buried faces are left out and intersected faces are split; the
signs of the nodes are then determined by the winding number.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...kernels.fields import bricks as _bricks
from ...mesh import Mesh
from ..bvh.tree import tree_of
from ..queries.closest_point import Enclosure, surface_of
from ..queries.plain import is_plain
from ..queries.winding import OUTSIDE, UNKNOWN

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bits = NDArray[np.uint64]
Progress = Callable[[float], None]
_BATCH = 200_000  # nodes per batch; interrupts are handled between batches
_TOUCH = 1e-12  # cells: nodes nearer than this are on the surface and count as outside
_NEAREST = 1e-6  # cells: nodes that are farther by less from the boundary than from the surface are nearest to it
_MIDDLE = 21  # node (1, 1, 1) of a brick
_REACH = 2.0 * 3.0**0.5  # cells from there to the farthest node of the brick
_FREE = 3.5  # cells: a brick whose middle is farther from the surface has all nodes on one side
_ERROR = 0.01  # of winding numbers of open surfaces, about ten times the largest


class Basis(NamedTuple):
    """`mesh`: the faces that distances are baked from; `sign_test`: decides the signs if its normals do not."""

    mesh: Mesh
    sign_test: "SignTest | None"

    @classmethod
    def of(cls, welded: Mesh) -> "Basis":
        if is_plain_mesh(welded):
            return cls(welded, None)
        enclosure = Enclosure(surface_of(welded), welded.topology)
        solid, sign_test = enclosure.solid, SignTest(welded, enclosure)
        if not solid.closed:
            return cls(welded, sign_test)
        parts = solid.parts(welded.vertices, enclosure.tree, enclosure.blocks)
        kept = ~parts.buried
        if not kept.any():
            return cls(welded, sign_test)
        # faces without area bound no solid, but contribute to the distance outside of it
        thin = np.setdiff1d(np.arange(len(welded.faces)), parts.face)
        corners = welded.vertices[welded.faces[thin]]
        thin = thin[enclosure.signs(corners.mean(1)) == OUTSIDE] if len(thin) else thin
        triangles = np.concatenate([parts.triangles[kept], welded.vertices[welded.faces[thin]]])
        return cls(_mesh_of(welded, triangles, np.concatenate([parts.face[kept], thin])), sign_test)


def is_plain_mesh(welded: Mesh) -> bool:
    """Whether pseudonormals determine the sign everywhere around a welded mesh."""
    return is_plain(welded.vertices, welded.topology, tree_of(welded.vertices, welded.faces))


def _mesh_of(welded: Mesh, triangles: Floats, face: NDArray[np.int64]) -> Mesh:
    """Return a mesh of `triangles` (m,3,3): whole faces keep their vertices, pieces get new ones."""
    x, faces = welded.vertices, np.empty((len(face), 3), np.int32)
    whole = (triangles == x[welded.faces[face]]).all((1, 2))
    faces[whole] = welded.faces[face[whole]]
    pieces = triangles[~whole].reshape(-1, 3)
    faces[~whole] = len(x) + np.arange(len(pieces)).reshape(-1, 3)
    return Mesh(np.concatenate([x, pieces]), faces, name=welded.name).welded


class SignTest:
    """Determines the signs of nodes by the winding number."""

    def __init__(self, welded: Mesh, enclosure: Enclosure) -> None:
        self.enclosure = enclosure
        top = welded.topology
        ends = top.edges[top.loose]
        # boundary edges as faces without area, to find the nodes that are nearest to the boundary
        self.rim = Mesh(welded.vertices, np.column_stack([ends, ends[:, 1]])) if len(ends) else None
        self.boundary = None if self.rim is None else Enclosure(surface_of(self.rim), self.rim.topology)
        length = np.linalg.norm(welded.vertices[ends[:, 0]] - welded.vertices[ends[:, 1]], axis=1)
        self.rim_length = float(np.abs(top.orientation_sum[top.loose]) @ length)

    def decide(self, bricks: _bricks.Bricks, progress: Progress | None = None) -> _bricks.Bricks:
        """Return the bricks with the signs of the winding number; signs it does not determine are kept.

        `progress` is called with the fraction done, 0..1.
        """
        i, j, k = np.nonzero(bricks.index)
        b = bricks.index[i, j, k]
        corner = 4 * np.stack([i, j, k], 1)
        rim = np.zeros(len(bricks.values) if self.rim is not None else 0, np.uint64)
        per = max(1, _BATCH // 64)
        for at in range(0, len(b), per):
            some, nodes = b[at : at + per], corner[at : at + per]
            sign, uniform = self._sign_of_bricks(bricks, some, nodes)
            one = some[uniform]
            bricks.values[one] = _signed(bricks.values[one], sign[uniform, None], bricks.h)
            self._decide_nodes(bricks, some[~uniform], nodes[~uniform], rim)
            if progress is not None:
                progress(min(1.0, (at + per) / len(b)))
        return bricks._replace(rim=rim)

    def _sign_of_bricks(
        self, bricks: _bricks.Bricks, b: NDArray[np.int32], corner: Ints
    ) -> tuple[NDArray[np.int8], NDArray[np.bool_]]:
        """Return the sign (n,) of bricks, and which of them have the same sign at all nodes and none nearest to the
        boundary: no surface is within `_REACH` of a node in their middle, and the winding number, whose gradient is at
        most the length of the boundary over 4 pi times the square of the distance from it, changes too little."""
        sign, uniform = np.zeros(len(b), np.int8), np.abs(bricks.values[b, _MIDDLE]) > _FREE * bricks.h
        rows, reach = np.flatnonzero(uniform), _REACH * bricks.h
        p = bricks.origin + bricks.h * (corner[rows] + 1)
        solid, x = self.enclosure.solid, self.enclosure.surface.x
        numbers, change = solid.winding.numbers(x, p, self.enclosure.blocks), np.zeros(len(rows))
        if self.boundary is not None and len(rows):
            room = _away(self.boundary, p) - reach
            change = self.rim_length * reach / (4.0 * np.pi * np.maximum(room, 1e-300) ** 2) + _ERROR
            farthest = np.nanmax(np.abs(bricks.values[b[rows]]), axis=1)
            change[room <= farthest + _NEAREST * bricks.h] = np.inf
        least, most = (solid.winding.signs(n, behind=True) for n in (numbers - change, numbers + change))
        sign[rows], uniform[rows] = least, least == most
        return sign, uniform

    def _decide_nodes(self, bricks: _bricks.Bricks, b: NDArray[np.int32], corner: Ints, rim: Bits) -> None:
        """Set the signs of all nodes of bricks, and mark in `rim` those that are nearest to the boundary."""
        q = np.arange(64)
        nodes = (corner[:, None] + np.stack([q // 16, q // 4 % 4, q % 4], 1)).reshape(-1, 3)
        values = bricks.values[b].astype(np.float64).ravel()
        rows = np.flatnonzero(np.isfinite(values))
        p = bricks.origin + bricks.h * nodes[rows]
        size = np.abs(values[rows])
        values[rows] = _signed(values[rows], self.enclosure.signs(p, behind=True), bricks.h)
        bricks.values[b] = values.reshape(-1, 64)
        if self.boundary is not None:
            bits = np.zeros(len(values), np.uint64)
            bits[rows] = _away(self.boundary, p) <= size + _NEAREST * bricks.h
            rim[b] = (bits.reshape(-1, 64) << q.astype(np.uint64)).sum(1, dtype=np.uint64)


def _signed(values: NDArray[Any], certain: NDArray[np.int8], h: float) -> NDArray[Any]:
    """Return distances with the signs that are `certain`, and else with their own."""
    size, sign = np.abs(values), np.where(certain == UNKNOWN, np.sign(values), certain)
    return np.where((sign < 0) & (size > _TOUCH * h), -size, size)


def _away(boundary: Enclosure, p: Floats) -> Floats:
    """Return the distances (n,) of points (n,3) from a boundary."""
    found, barycentric = boundary.found(p)
    near = np.einsum("ij,ijk->ik", barycentric, boundary.surface.x[boundary.surface.faces[found[:, 0]]])
    return np.asarray(np.linalg.norm(p - near, axis=1))
