"""Exact questions to a triangle surface: nearest point, signed distance. The referee of everything approximate."""

import dataclasses
import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import validate
from ..kernels import cells as _cells
from ..kernels import nearest as _nearest
from ..kernels.nearest import Blocks
from ..kernels.surface import Surface
from ..kernels.tree import Tree
from ..mesh import Mesh
from .tree import tree as _tree

Floats = NDArray[np.float64]
SHAPE: dict[str, Any] = {"volume": "box", "arity": 4, "leaf": 1}  # of the trees that nearest points are found by
_MOST_ITEMS = 64  # entries of the cell lists for each box, before cells become larger


def surface_of(mesh: Mesh) -> Surface:
    """The kernel's view of a mesh: what decides distances and sides."""
    edge_normals, vertex_normals = mesh.edge_normals, mesh.vertex_normals
    top = mesh.topology
    flat = ~mesh.face_normals.any(1)
    rough = top.use > 2
    if not top.border.any() and (flat.any() or rough.any()):
        # a face without area hides one side of an edge, and at four faces the mean says nothing: a pseudonormal of
        # zero lets the winding number decide, which a surface without border always has
        edge_normals, vertex_normals = edge_normals.copy(), vertex_normals.copy()
        edge_normals[top.face_edges[flat]] = 0.0
        edge_normals[rough] = 0.0
        vertex_normals[mesh.faces[flat]] = 0.0
        vertex_normals[top.edges[rough]] = 0.0
    return Surface(mesh.vertices, mesh.faces, top.face_edges, mesh.face_normals, edge_normals, vertex_normals)


def bin_boxes(low: Floats, high: Floats) -> _cells.Cells:
    """Cell lists of boxes; cells are twice as large as the mean box, larger where the lists would grow too long."""
    bottom, top = low.min(0), high.max(0)
    extent = top - bottom
    # no smaller than what divides a coordinate of 1e12 into a cell number that fits
    tiny = max(1e-150, 1e-12 * float(np.abs([bottom, top]).max()))
    h = max(2.0 * float((high - low).mean()), float(extent.max()) / 256.0, tiny)
    h = max(h, float(np.prod(np.maximum(extent, h)) / max(4 * len(low), 4096)) ** (1.0 / 3.0))
    while True:
        shape = np.floor(extent / h).astype(np.int64) + 1
        spans = np.floor((high - low) / h) + 2.0
        if spans.prod(1).sum() <= _MOST_ITEMS * max(len(low), 1024) or shape.max() == 1:
            break
        h *= 2.0
    start = np.zeros(int(np.prod(shape)) + 1, np.int64)
    _cells.count_items(low, high, bottom, h, shape, start)
    start = np.cumsum(start)
    cells = _cells.Cells(bottom, h, shape, start, np.empty(int(start[-1]), np.int32))
    _cells.fill_items(low, high, cells, start.copy())
    return cells


def tree_of(surface: Surface) -> Blocks:
    """Boxes around the triangles, as `kernels.nearest` walks them."""
    return blocks_of(surface, _tree.tree_of(surface.x, surface.faces, **SHAPE))[0]


def blocks_of(surface: Surface, tree: Tree) -> tuple[Blocks, NDArray[np.int32]]:
    """Blocks for a tree of `SHAPE` over the faces of a surface, and the block of each of its nodes."""
    number = np.empty(len(tree.nodes), np.int32)
    count, room = _nearest.number_blocks(tree.nodes, number)
    blocks = Blocks(
        np.empty((count, 6, 4)), np.empty((count, 4), np.int32), np.empty((len(tree.order), 12)), tree.order, int(room)
    )
    _nearest.fill_blocks(tree.nodes, number, blocks.boxes, blocks.child)
    _nearest.fill_rows(surface, tree.order, blocks.rows)
    return blocks, number


def signed_distances(
    surface: Surface, tree: Blocks, p: Floats, guess: NDArray[np.int64] | None = None
) -> tuple[Floats, Floats, NDArray[np.int64], Floats]:
    """What `ClosestPoints.query` answers, for points (n,3) that are known to be clean."""
    n = len(p)
    found = np.full((n, 2), -1, np.int64)
    if guess is not None:
        found[:, 0] = guess
    distance, place, nearest, normal = np.empty(n), np.empty((n, 3)), np.empty((n, 3)), np.empty((n, 3))
    _nearest.find_nearest(tree, surface, p, found, place)
    _nearest.tell_sides(surface, p, found, place, distance, nearest, normal)
    return distance, nearest, found[:, 0], normal


@dataclasses.dataclass(frozen=True, eq=False)
class ClosestPoints:
    """Nearest points on a mesh, exact, for any number of queries. Works on open meshes too (sign by pseudonormals)."""

    mesh: Mesh

    def __post_init__(self) -> None:
        if not self.mesh.n_faces:
            raise ValueError(f"mesh {self.mesh.name!r} has no faces; expected a surface")

    @functools.cached_property
    def _surface(self) -> Surface:
        return surface_of(self.mesh.welded)

    @functools.cached_property
    def _tree(self) -> Blocks:
        return tree_of(self._surface)

    def query(self, points: Any, guess: Any = None) -> tuple[Floats, Floats, NDArray[np.int64], Floats]:
        """Signed distance (n,), nearest point (n,3), its face (n,), and the unit direction that opens the gap (n,3).

        `guess` (n,): faces that may be near, such as those of the last frame; the answer is the same, only sooner.
        """
        p = validate.floats("points", points, (None, 3))
        if guess is not None:
            rows = np.asarray(guess).reshape(-1, 1)
            guess = validate.indices("guess", rows, 1, self.mesh.n_faces, "faces").ravel()
            if len(guess) != len(p):
                raise ValueError(f"guess has {len(guess)} entries; expected {len(p)}, one a point")
        return signed_distances(self._surface, self._tree, p, guess)


def closest_point(mesh: Mesh, points: Any) -> tuple[Floats, Floats]:
    """Signed distance (n,) of `points` (n,3) from a mesh, and the nearest point (n,3) on it; exact, any mesh.

    For many questions to one mesh keep a `ClosestPoints`: it builds its tree once.
    """
    distance, nearest, _, _ = ClosestPoints(mesh).query(points)
    return distance, nearest
