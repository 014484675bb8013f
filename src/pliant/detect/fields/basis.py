"""The geometry a field is baked from: the mesh itself where its normals determine the sign, else its solid's boundary.

For a mesh that is not plain (see queries/plain.py), buried faces are left out and intersected faces are split; the
signs of the nodes are then determined by the winding number.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...kernels.fields import bricks as _bricks
from ...mesh import Mesh
from ..bvh.tree import tree_of
from ..queries.closest_point import Enclosure, surface_of
from ..queries.plain import is_plain
from ..queries.winding import OUTSIDE, UNKNOWN

Floats = NDArray[np.float64]
_BATCH = 200_000  # nodes per batch; interrupts are handled between batches
_TOUCH = 1e-12  # cells: nodes nearer than this are on the surface and count as outside


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

    def decide(self, bricks: _bricks.Bricks) -> _bricks.Bricks:
        """Return the bricks with the signs of the winding number; signs it does not determine are kept."""
        i, j, k = np.nonzero(bricks.index)
        b = bricks.index[i, j, k]
        corner = 4 * np.stack([i, j, k], 1)
        q = np.arange(64)
        step = np.stack([q // 16, q // 4 % 4, q % 4], 1)
        rim = np.zeros(len(bricks.values) if self.rim is not None else 0, np.uint64)
        per = max(1, _BATCH // 64)
        boundary = None
        if self.rim is not None:
            surface = surface_of(self.rim)
            boundary = Enclosure(surface, self.rim.topology)
        for at in range(0, len(b), per):
            some = b[at : at + per]
            nodes = (corner[at : at + per, None] + step).reshape(-1, 3)
            values = bricks.values[some].astype(np.float64).ravel()
            rows = np.flatnonzero(np.isfinite(values))
            p = bricks.origin + bricks.h * nodes[rows]
            certain = self.enclosure.signs(p, behind=True)
            size = np.abs(values[rows])
            sign = np.where(certain == UNKNOWN, np.sign(values[rows]), certain)
            values[rows] = np.where((sign < 0) & (size > _TOUCH * bricks.h), -size, size)
            bricks.values[some] = values.reshape(-1, 64)
            if boundary is not None:
                found, barycentric = boundary.found(p)
                near = np.einsum("ij,ijk->ik", barycentric, boundary.surface.x[boundary.surface.faces[found[:, 0]]])
                away = np.linalg.norm(p - near, axis=1)
                bits = np.zeros(len(values), np.uint64)
                bits[rows] = away <= size + 1e-6 * bricks.h
                rim[some] = (bits.reshape(-1, 64) << q.astype(np.uint64)).sum(1, dtype=np.uint64)
        return bricks._replace(rim=rim)
