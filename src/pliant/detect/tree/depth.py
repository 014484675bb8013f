"""How deep points are inside a body that deforms, and the way out: exact, however deep they are."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ... import validate
from ...kernels import nearest as _nearest
from ...kernels import pseudonormals as _normals
from ...kernels.jit import worth
from ...kernels.nearest import Blocks
from ...kernels.pseudonormals import Rings
from ...kernels.surface import Surface
from ...kernels.tree import Tree
from ...mesh import Mesh
from ..base import Inside, Side
from ..blocks import SHAPE, blocks_of
from ..seams import Seams
from ..solid import Outer, Sides, Solid, Told
from .tree import refit, tree_of

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
FEW = 1000  # points whose pseudonormals are made before a thread would have woken up
NOTHING = Inside(np.zeros(0, np.int64), np.zeros(0), np.zeros((0, 3)), np.zeros(0, np.int64), np.zeros((0, 3)))


class Skin:
    """A surface whose vertices `x` may be written anew, and the solid it encloses; `moved` tells that they were.

    Pseudonormals are made for the features that are asked about, and the boundary of a solid whose parts overlap when a
    point lies deep in it.
    """

    def __init__(self, mesh: Mesh) -> None:
        welded = mesh.welded
        _, self.rows = np.unique(mesh.weld_index, return_index=True)
        self.x, self.surface, self.rings = loose(welded)
        self.solid = Solid(welded.topology)
        self.blocks: Blocks | None = None  # where there are some that fit
        self._outer: Outer | None = None

    def moved(self) -> None:
        self._outer = None

    def tell(self, points: Floats, found: Rows, place: Floats, *, behind: bool = False) -> Told:
        """As `Solid.tell`."""
        worth(_normals.freshen, len(points), FEW)(self.rings, self.surface, found)
        return self.solid.tell(self.surface, points, found, place, self._boundary, self.blocks, behind=behind)

    def sides(self, points: Floats) -> Sides:
        """As `Solid.sides`."""
        return self.solid.sides(self.surface.x, points, self.blocks)

    def fitted(self) -> Tree:
        """A tree of boxes that fits."""
        return tree_of(self.surface.x, self.surface.faces, **SHAPE)

    def _boundary(self) -> Outer:
        if self._outer is None:
            self._outer = self.solid.outer(self.surface.x, self.fitted(), self.blocks)
        return self._outer


class Depths(Skin):
    """Signed distances from a mesh that deforms, as `ClosestPoints` gives them for one that does not.

    `update` fits the boxes to new vertices. Vertices that coincide at rest are one as long as they stay together.
    """

    def __init__(self, mesh: Mesh) -> None:
        if not mesh.n_faces:
            raise ValueError(f"mesh {mesh.name!r} has no faces; expected a surface")
        self._shape = mesh.vertices.shape
        self._seams = Seams(Side(mesh))
        self._sew(mesh)

    def _sew(self, mesh: Mesh) -> None:
        """What follows from which vertices are one."""
        super().__init__(mesh)
        self._tree = super().fitted()
        self._blocks, self._number = blocks_of(self.surface, self._tree)
        self.blocks = self._blocks

    def update(self, x: Any) -> Self:
        """New vertices (n,3) of the mesh as it was given."""
        x = validate.floats("x", x, self._shape)
        if self._seams.follow(x):
            self._sew(self._seams.sides[0].mesh)
        self.x[:] = x[self.rows]
        refit(self._tree, self.surface.x, self.surface.faces)
        _nearest.fill_blocks(self._tree.nodes, self._number, self._blocks.boxes, self._blocks.child)
        _nearest.fill_rows(self.surface, self._tree.order, self._blocks.rows)
        self.moved()
        return self

    def fitted(self) -> Tree:
        return self._tree

    def query(self, points: Any) -> tuple[Floats, Floats, Rows, Floats]:
        """Signed distance (n,), nearest point (n,3), its face (n,), and the unit direction that opens the gap (n,3)."""
        told = self.told(points)
        return told.distance, told.nearest, told.face, told.normal

    def told(self, points: Any) -> Told:
        """The same, and on which side of the mesh each point is."""
        p = validate.floats("points", points, (None, 3))
        found, place = np.full((len(p), 2), -1, np.int64), np.empty((len(p), 3))
        _nearest.find_nearest(self._blocks, self.surface, p, found, place)
        return self.tell(p, found, place)

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
