"""Exact questions to a triangle surface: nearest point, signed distance. The referee of everything approximate."""

import dataclasses
import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import validate
from ..kernels import cells as _cells
from ..kernels import nearest as _nearest
from ..kernels.surface import Surface
from ..mesh import Mesh

Floats = NDArray[np.float64]
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


def tree_of(surface: Surface) -> _nearest.Tree:
    """Boxes around the triangles along a space-filling curve."""
    x = surface.x[surface.faces]
    low, high = x.min(1), x.max(1)
    middle = 0.5 * (low + high)
    bottom = middle.min(0)
    span = max(float((middle.max(0) - bottom).max()), 1e-300)
    cell = ((middle - bottom) / span * (2**21 - 1)).astype(np.uint64)
    code = _spread(cell[:, 0]) << np.uint64(2) | _spread(cell[:, 1]) << np.uint64(1) | _spread(cell[:, 2])
    leaves = 1
    while leaves * _nearest.LEAF < len(x):
        leaves *= 2
    shape = (2 * leaves - 1, 3)
    tree = _nearest.Tree(np.empty(shape), np.empty(shape), np.argsort(code, kind="stable").astype(np.int32))
    _nearest.fill_boxes(surface, tree)
    return tree


def _spread(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The lowest 21 bits of `x`, each followed by two zeros (a Morton code of one axis)."""
    for shift, mask in (
        (32, 0x1F00000000FFFF),
        (16, 0x1F0000FF0000FF),
        (8, 0x100F00F00F00F00F),
        (4, 0x10C30C30C30C30C3),
        (2, 0x1249249249249249),
    ):
        x = (x | x << np.uint64(shift)) & np.uint64(mask)
    return x


def signed_distances(
    surface: Surface, tree: _nearest.Tree, p: Floats, guess: NDArray[np.int64] | None = None
) -> tuple[Floats, Floats, NDArray[np.int64], Floats]:
    """What `ClosestPoints.query` answers, for points (n,3) that are known to be clean."""
    n = len(p)
    found = np.full((n, 2), -1, np.int64)
    if guess is not None:
        found[:, 0] = guess
    distance, place, nearest, normal = np.empty(n), np.empty((n, 3)), np.empty((n, 3)), np.empty((n, 3))
    _nearest.signed_distances(tree, surface, p, found, place, distance, nearest, normal)
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
    def _tree(self) -> _nearest.Tree:
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
