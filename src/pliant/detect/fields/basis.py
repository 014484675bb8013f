"""The geometry a field is baked from: the mesh itself where its normals determine the sign, else its solid's boundary.

For a mesh that is not plain (see queries/plain.py), buried faces are left out and intersected faces are split; the
signs of the nodes are then determined by the winding number.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...mesh import Mesh
from ..bvh.tree import tree_of
from ..queries.closest_point import Enclosure, surface_of
from ..queries.plain import is_closed_and_oriented, is_plain
from ..queries.winding import OUTSIDE
from .sign_test import SignTest

Floats = NDArray[np.float64]
Progress = Callable[[float], None]


class Basis(NamedTuple):
    """`mesh`: the faces that distances are baked from; `sign_test`: decides the signs if its normals do not."""

    mesh: Mesh
    sign_test: SignTest | None

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
        without = np.ones(len(welded.faces), np.bool_)
        without[parts.face] = False
        thin = np.flatnonzero(without)
        corners = welded.vertices[welded.faces[thin]]
        thin = thin[enclosure.signs(corners.mean(1)) == OUTSIDE] if len(thin) else thin
        triangles = np.concatenate([parts.triangles[kept], welded.vertices[welded.faces[thin]]])
        return cls(_mesh_of(welded, triangles, np.concatenate([parts.face[kept], thin])), sign_test)


def is_plain_mesh(welded: Mesh) -> bool:
    """Whether pseudonormals determine the sign everywhere around a welded mesh."""
    x, top = welded.vertices, welded.topology
    return is_closed_and_oriented(top) and is_plain(x, top, tree_of(x, welded.faces))


def _mesh_of(welded: Mesh, triangles: Floats, face: NDArray[np.int64]) -> Mesh:
    """Return a mesh of `triangles` (m,3,3): whole faces keep their vertices, pieces get new ones."""
    x, faces = welded.vertices, np.empty((len(face), 3), np.int32)
    whole = (triangles == x[welded.faces[face]]).all((1, 2))
    faces[whole] = welded.faces[face[whole]]
    pieces = triangles[~whole].reshape(-1, 3)
    faces[~whole] = len(x) + np.arange(len(pieces)).reshape(-1, 3)
    return Mesh(np.concatenate([x, pieces]), faces, name=welded.name).welded
