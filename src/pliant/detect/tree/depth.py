"""How deep points are inside a body that deforms, and the way out: exact, however deep they are."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ... import validate
from ...kernels import nearest as _nearest
from ...kernels import pseudonormals as _normals
from ...kernels.pseudonormals import Rings
from ...kernels.surface import Surface
from ...mesh import Mesh
from ..base import Inside, Side
from ..seams import Seams
from ..surface import SHAPE, blocks_of
from .tree import refit, tree_of

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
NOTHING = Inside(np.zeros(0, np.int64), np.zeros(0), np.zeros((0, 3)), np.zeros(0, np.int64), np.zeros((0, 3)))


class Depths:
    """Signed distances from a mesh that deforms, as `ClosestPoints` gives them for one that does not.

    `update` fits the boxes to new vertices; pseudonormals are made for the features that a query finds. Vertices that
    coincide at rest are one as long as they stay together.
    """

    def __init__(self, mesh: Mesh) -> None:
        if not mesh.n_faces:
            raise ValueError(f"mesh {mesh.name!r} has no faces; expected a surface")
        self._shape = mesh.vertices.shape
        self._seams = Seams(Side(mesh))
        self._sew(mesh)

    def _sew(self, mesh: Mesh) -> None:
        """What follows from which vertices are one."""
        welded = mesh.welded
        _, self._rows = np.unique(mesh.weld_index, return_index=True)
        self._x, self._surface, self._rings = loose(welded)
        self._tree = tree_of(self._surface.x, welded.faces, **SHAPE)
        self._blocks, self._number = blocks_of(self._surface, self._tree)

    def update(self, x: Any) -> Self:
        """New vertices (n,3) of the mesh as it was given."""
        x = validate.floats("x", x, self._shape)
        if self._seams.follow(x):
            self._sew(self._seams.sides[0].mesh)
        self._x[:] = x[self._rows]
        refit(self._tree, self._surface.x, self._surface.faces)
        _nearest.fill_blocks(self._tree.nodes, self._number, self._blocks.boxes, self._blocks.child)
        _nearest.fill_rows(self._surface, self._tree.order, self._blocks.rows)
        return self

    def query(self, points: Any) -> tuple[Floats, Floats, Rows, Floats]:
        """Signed distance (n,), nearest point (n,3), its face (n,), and the unit direction that opens the gap (n,3)."""
        p = validate.floats("points", points, (None, 3))
        found, place = np.full((len(p), 2), -1, np.int64), np.empty((len(p), 3))
        distance, nearest, normal = np.empty(len(p)), np.empty((len(p), 3)), np.empty((len(p), 3))
        _nearest.find_nearest(self._blocks, self._surface, p, found, place)
        _normals.freshen(self._rings, self._surface, found)
        _nearest.tell_sides(self._surface, p, found, place, distance, nearest, normal)
        return distance, nearest, found[:, 0], normal

    def inside(self, points: Any) -> Inside:
        """Those of `points` (n,3) that are inside: only points in the box around the body are asked about."""
        p = validate.floats("points", points, (None, 3))
        box = self._tree.nodes[0]["bounds"]
        rows = np.flatnonzero(((p >= box[:3]) & (p <= box[3:])).all(1))
        distance, nearest, faces, normal = self.query(p[rows])
        deep = distance < 0.0
        return Inside(rows[deep], -distance[deep], nearest[deep], faces[deep], normal[deep])


def loose(welded: Mesh) -> tuple[Floats, Surface, Rings]:
    """A surface whose vertices may be written anew, in the array that comes first, and what its pseudonormals need.

    They are zero until `kernels.pseudonormals.freshen` makes those that are asked for.
    """
    top, kept = welded.topology, welded.vertices.copy()
    x = kept.view()
    x.flags.writeable = False  # like that of a mesh: the same kernels serve both
    normals = (np.zeros((count, 3)) for count in (welded.n_faces, len(top.edges), welded.n_vertices))
    closed = not top.border.any()
    rough = np.zeros(welded.n_vertices, np.bool_)
    if closed:
        rough[top.edges[top.use > 2]] = True
    around = np.argsort(welded.faces.ravel(), kind="stable") // 3
    start = np.concatenate([[0], np.cumsum(np.bincount(welded.faces.ravel(), minlength=welded.n_vertices))])
    rings = Rings(start.astype(np.int32), around.astype(np.int32), *top.edge_faces, rough, closed)
    return kept, Surface(x, welded.faces, top.face_edges, *normals), rings
