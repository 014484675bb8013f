"""Exact penetration depth and separation direction of points in a deforming body, at any depth."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ... import renamed, validate
from ...arguments import check_arguments
from ...kernels.bvh.tree import Tree
from ...kernels.jit import worth
from ...kernels.queries import pseudonormal_update as _normals
from ...kernels.queries.closest_point import Blocks
from ...kernels.queries.pseudonormal_update import Rings
from ...kernels.queries.surface import Surface
from ...mesh import Mesh
from ..base import Inside, Side
from ..bvh.tree import refit, tree_of
from ..bvh.wide import SHAPE, NearestFaces
from .solid_boundary import EnclosedSolid, SignedDistances, Signs, SolidBoundary, most_pieces
from .welding import Seams
from .winding import INSIDE, Cast, bounds_of

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
LOCAL = 20  # faces per point above which only the part of a boundary near the points is computed
WHOLE = 512  # faces up to which the whole boundary takes less time: parts are found by growing a radius
PASSES = 4  # over all faces for the signs of points, before a BVH is refitted for them
FEW = 1000  # points up to which pseudonormals are computed on one thread
NOTHING = Inside(np.zeros(0, np.int64), np.zeros(0), np.zeros((0, 3)), np.zeros(0, np.int64), np.zeros((0, 3)))


class SurfaceQueries:
    """A surface with writable vertices `x`, and the solid it encloses; call `moved` after writing them.

    Pseudonormals are computed on demand for the queried features, and so is the boundary of a solid with overlapping
    parts when a point lies deep inside it.
    """

    def __init__(self, mesh: Mesh) -> None:
        welded = mesh.welded
        _, self.rows = np.unique(mesh.weld_index, return_index=True)
        self.x, self.surface, self.rings = writable_surface(welded)
        self.solid = EnclosedSolid(welded.topology)
        self.cast: Cast | None = None  # a function that casts rays from few points, if there is one
        self._outer: SolidBoundary | None = None

    def moved(self) -> None:
        self._outer = None

    def signed_distances_of(
        self, points: Floats, found: Rows, barycentric: Floats, *, behind: bool = False, plain: bool = False
    ) -> SignedDistances:
        """Return signed distances of points with known nearest features, as `EnclosedSolid.signed_distances` does."""
        self._update_pseudonormals(found)
        return self.solid.signed_distances(
            self.surface, points, found, barycentric, self._boundary, self._rays, behind=behind, plain=plain
        )

    def _update_pseudonormals(self, found: Rows) -> None:
        """Compute the pseudonormals of `found` (n,2) faces and features."""
        worth(_normals.update_pseudonormals, len(found), FEW)(self.rings, self.surface, found, False)

    def signs(self, points: Floats) -> Signs:
        """Return signs as `EnclosedSolid.signs` does."""
        return self.solid.signs(self.surface.x, points, self._rays)

    @property
    def _rays(self) -> Blocks | Cast | None:
        return self.cast

    def fitted(self) -> Tree:
        """Return an AABB tree fitted to the current vertices."""
        return tree_of(self.surface.x, self.surface.faces, **SHAPE)

    def _boundary(self, points: Floats) -> SolidBoundary:
        """Return the boundary of the solid, or for few points, as where cloth is caught between limbs, the part of it
        near them."""
        few = max(LOCAL * len(points), WHOLE) <= len(self.surface.faces)
        if self._outer is None and not few:
            self._outer = self.solid.outer(self.surface.x, self.fitted(), self._rays, most_pieces(len(points)))
        return self._outer or self.solid.outer_near(self.surface.x, points, self._rays)


@check_arguments
class DeformingClosestPoints(SurfaceQueries):
    """Signed distances from a deforming mesh, as `ClosestPoints` gives them for a static one.

    `update` refits the BVH to new vertices. Vertices that coincide at rest are welded as long as they stay together.
    """

    def __init__(self, mesh: Mesh) -> None:
        if not mesh.n_faces:
            raise ValueError(f"mesh {mesh.name!r} has no faces; expected a surface")
        self._shape = mesh.vertices.shape
        self._seams = Seams(Side(mesh))
        self._reweld(mesh)

    def _reweld(self, mesh: Mesh) -> None:
        """Rebuild all data that depend on the welding."""
        super().__init__(mesh)
        self._tree = super().fitted()
        self._nearest = NearestFaces(self.surface, self._tree)
        self._updated, self._fitted, self._passes = False, True, 0

    def update(self, x: Any) -> Self:
        """Set the vertices (n,3) of the original, unwelded mesh; the BVH is refitted when it is first used."""
        x = validate.floats("x", x, self._shape)
        if self._seams.update(x):
            self._reweld(self._seams.sides[0].mesh)
        x = x[self.rows]
        if self._updated and np.array_equal(x.view(np.int64), self.x.view(np.int64)):
            return self
        self.x[:] = x
        self._updated, self._fitted, self._passes = True, False, 0
        self.moved()
        return self

    def _fit(self) -> None:
        """Refit the BVH to the vertices, unless that was done."""
        if not self._fitted:
            refit(self._tree, self.surface.x, self.surface.faces)
            self._nearest.moved()
            self._fitted = True

    @property
    def blocks(self) -> Blocks:
        """The BVH, fitted to the vertices, for rays."""
        self._fit()
        return self._nearest.blocks

    @property
    def _rays(self) -> Blocks | Cast | None:
        return self.blocks

    def fitted(self) -> Tree:
        self._fit()
        return self._tree

    def signs(self, points: Floats) -> Signs:
        """Return signs as `EnclosedSolid.signs` does; a few times without the BVH, which costs less than a refit."""
        if not self._fitted and self._passes < PASSES:
            self._passes += 1
            return self.solid.signs(self.surface.x, points)
        self._fit()
        return super().signs(points)

    def query(self, points: Any) -> tuple[Floats, Floats, Rows, Floats]:
        """Signed distance (n,), nearest point (n,3), its face (n,), and the unit separation direction (n,3)."""
        result = self.signed_distances(points)
        return result.distance, result.nearest, result.face, result.normal

    def signed_distances(self, points: Any) -> SignedDistances:
        """Return the results of `query`, and the sign of each point."""
        p = validate.floats("points", points, (None, 3))
        return self.signed_distances_of(p, *self.features(p))

    def nearest_faces(self, points: Any) -> tuple[Rows, Floats]:
        """Return the face (n,) nearest to each point (n,3), buried or not, and the barycentric coordinates (n,3) of its
        nearest point."""
        found, barycentric = self.features(validate.floats("points", points, (None, 3)))
        return found[:, 0], barycentric

    def features(self, p: Floats) -> tuple[Rows, Floats]:
        """Return the nearest face and feature (n,2) of validated points (n,3), and barycentric coordinates (n,3)."""
        found, barycentric = np.full((len(p), 2), -1, np.int64), np.empty((len(p), 3))
        self._fit()
        self._nearest.find(p, found, barycentric)
        return found, barycentric

    def features_within(self, p: Floats, reach: float) -> tuple[Rows, Floats]:
        """Return the results of `features`, with a face of -1 for points farther from all faces than `reach`."""
        found, barycentric = np.full((len(p), 2), -1, np.int64), np.zeros((len(p), 3))
        self._fit()
        self._nearest.find(p, found, barycentric, reach)
        return found, barycentric

    told = renamed.attribute("told", "signed_distances")

    def inside(self, points: Any) -> Inside:
        """Return those of `points` (n,3) that are inside; only points in the AABB of the body are queried."""
        p = validate.floats("points", points, (None, 3))
        low, high = bounds_of(self.x)
        rows = np.flatnonzero(((p >= low) & (p <= high)).all(1))
        rows = rows[self.signs(p[rows]) == INSIDE]
        distance, nearest, faces, normal = self.query(p[rows])
        deep = distance < 0.0
        return Inside(rows[deep], -distance[deep], nearest[deep], faces[deep], normal[deep])


def writable_surface(welded: Mesh) -> tuple[Floats, Surface, Rings]:
    """Return the writable vertices of a surface, the surface, and the adjacency that its pseudonormals need.

    Pseudonormals are zero until `kernels.queries.pseudonormal_update.update_pseudonormals` computes those requested.
    """
    top, kept = welded.topology, welded.vertices.copy()
    x = kept.view()
    x.flags.writeable = False  # as in a mesh, so that the same compiled kernels serve both
    normals = (np.zeros((count, 3)) for count in (welded.n_faces, len(top.edges), welded.n_vertices))
    closed = not top.boundary.any()
    rough = np.zeros(welded.n_vertices, np.bool_)
    if closed:
        rough[top.edges[top.n_faces_at_edge > 2]] = True
    around = np.argsort(welded.faces.ravel(), kind="stable") // 3
    start = np.concatenate([[0], np.cumsum(np.bincount(welded.faces.ravel(), minlength=welded.n_vertices))])
    rings = Rings(start.astype(np.int32), around.astype(np.int32), *top.edge_faces, rough, closed)
    return kept, Surface(x, welded.faces, top.face_edges, *normals), rings
