"""Exact queries of a triangle surface: nearest point and signed distance, the ground truth of approximate methods."""

import dataclasses
import functools
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from ... import arrays, renamed, validate
from ...arguments import check_arguments
from ...kernels.queries import closest_point as _nearest
from ...kernels.queries.closest_point import Blocks
from ...kernels.queries.surface import Surface
from ...mesh import Mesh
from ...mesh.topology import Topology
from ..bvh import tree as _tree
from ..bvh.wide import SHAPE, NearestFaces
from .solid_boundary import MANY_PIECES, EnclosedSolid, SignedDistances, Signs, SolidBoundary, fronts

if TYPE_CHECKING:
    from .closest_on_card import ClosestPointsOnCard

Floats = NDArray[np.float64]
WORTH = 0.5  # queries per face after which the test for a plain surface pays off


def surface_of(mesh: Mesh) -> Surface:
    """Return the arrays of a mesh that kernels use."""
    edge_normals, vertex_normals = mesh.edge_normals, mesh.vertex_normals
    top = mesh.topology
    flat = ~mesh.face_normals.any(1)
    rough = top.n_faces_at_edge > 2
    if not top.boundary.any() and (flat.any() or rough.any()):
        # zero marks undefined pseudonormals: beside faces without area, and at non-manifold edges
        edge_normals, vertex_normals = edge_normals.copy(), vertex_normals.copy()
        edge_normals[top.face_edges[flat]] = 0.0
        edge_normals[rough] = 0.0
        vertex_normals[mesh.faces[flat]] = 0.0
        vertex_normals[top.edges[rough]] = 0.0
    return Surface(mesh.vertices, mesh.faces, top.face_edges, mesh.face_normals, edge_normals, vertex_normals)


class Enclosure:
    """A static surface and the solid it encloses; the boundary of the solid is computed on demand."""

    def __init__(self, surface: Surface, topology: Topology) -> None:
        self.surface, self.solid = surface, EnclosedSolid(topology)
        self.tree = _tree.tree_of(self.surface.x, self.surface.faces, **SHAPE)
        self.nearest_faces = NearestFaces(self.surface, self.tree)
        self._query_count = 0

    @property
    def blocks(self) -> Blocks:
        return self.nearest_faces.blocks

    @functools.cached_property
    def _plain(self) -> bool:
        from .plain import is_plain, is_sliver_free

        x, top = self.surface.x, self.solid.topology
        return is_sliver_free(x, top.faces) and is_plain(x, top, self.tree)

    @functools.cached_property
    def _outer(self) -> SolidBoundary | None:
        return self.solid.outer(self.surface.x, self.tree, self.blocks, MANY_PIECES)

    def _boundary(self, points: Floats) -> SolidBoundary:
        """Return the boundary of the solid, or where it has too many pieces the part of it near some points."""
        return self._outer or self.solid.outer_near(self.surface.x, points, self.blocks)

    def signs(self, points: Floats, *, behind: bool = False) -> Signs:
        """(n,) `INSIDE`, `OUTSIDE` or `UNKNOWN`."""
        return self.solid.signs(self.surface.x, points, self.blocks, behind=behind)

    def found(self, p: Floats, guess: NDArray[Any] | None = None) -> tuple[NDArray[np.int64], Floats]:
        """Nearest face and feature (n,2) of points, and barycentrics (n,3); `guess` (n,): initial faces, or -1."""
        found, barycentric = np.full((len(p), 2), -1, np.int64), np.empty((len(p), 3))
        if guess is not None:
            found[:, 0] = guess
        self.nearest_faces.find(p, found, barycentric)
        return found, barycentric

    def signed_distances(
        self, p: Floats, guess: NDArray[Any] | None = None, *, behind: bool = False
    ) -> tuple[SignedDistances, NDArray[np.int64]]:
        """Return the signed distances of validated points (n,3), and the nearest face and feature (n,2) of each."""
        found, barycentric = self.found(p, guess)
        # the test for a plain surface costs about as much as WORTH queries per face: skip it for few queries
        self._query_count += len(p)
        plain = self._query_count > WORTH * len(self.surface.faces) and self._plain
        result = self.solid.signed_distances(
            self.surface, p, found, barycentric, self._boundary, self.blocks, behind=behind, plain=plain
        )
        return result, found


@check_arguments
@dataclasses.dataclass(frozen=True, eq=False)
class ClosestPoints:
    """Exact nearest points on a mesh and signed distances, for any number of queries (docs/inside.md).

    The distance is negative inside, positive outside and where the side is unknown. Outside, all faces are considered;
    inside, only the boundary of the solid: buried faces are ignored. `behind`: where the side is unknown, the distance
    is negative behind the nearest face, as for obstacles.
    """

    mesh: Mesh
    behind: bool = False

    def __post_init__(self) -> None:
        if not self.mesh.n_faces:
            raise ValueError(f"mesh {self.mesh.name!r} has no faces; expected a surface")

    @functools.cached_property
    def _enclosure(self) -> Enclosure:
        welded = self.mesh.welded
        return Enclosure(surface_of(welded), welded.topology)

    def query(self, points: Any, guess: Any = None) -> tuple[Floats, Floats, NDArray[np.int64], Floats]:
        """Signed distance (n,), nearest point (n,3), its face (n,), and the unit separation direction (n,3).

        `guess` (n,): initial faces, such as those of the last frame; speeds up the query, same results.
        """
        result, _ = self._enclosure.signed_distances(*self._checked(points, guess), behind=self.behind)
        return result.distance, result.nearest, result.face, result.normal

    @overload
    def to(self, device: Literal["cuda"]) -> "ClosestPointsOnCard": ...

    @overload
    def to(self, device: Literal["cpu"]) -> "ClosestPoints": ...

    @overload
    def to(self, device: str) -> "ClosestPoints | ClosestPointsOnCard": ...

    def to(self, device: str) -> "ClosestPoints | ClosestPointsOnCard":
        """Return these queries on a graphics card ("cuda") for points that live there (docs/gpu.md); with "cpu", and
        with "auto" where there is no card, these ones."""
        if arrays.chosen(device) == "cpu":
            return self
        from .closest_on_card import ClosestPointsOnCard

        return ClosestPointsOnCard(self)

    def query_by_nearest_face(self, points: Any, guess: Any = None) -> tuple[Floats, Floats, NDArray[np.int64], Floats]:
        """As `query`, but the sign is negative behind the nearest of all faces, whatever the winding number is."""
        p, guess = self._checked(points, guess)
        found, barycentric = self._enclosure.found(p, guess)
        sign, n = fronts(self._enclosure.surface, p, found, barycentric), len(p)
        out = _nearest.Signed(np.empty(n), np.empty((n, 3)), np.empty((n, 3)))
        _nearest.signed_distances(self._enclosure.surface, p, found, barycentric, sign, out)
        return out.distance, out.nearest, found[:, 0], out.normal

    before = renamed.attribute("before", "query_by_nearest_face")

    def _checked(self, points: Any, guess: Any) -> tuple[Floats, NDArray[Any] | None]:
        p = validate.floats("points", points, (None, 3))
        if guess is not None:
            rows = validate.numbers("guess", guess).reshape(-1, 1)
            guess = validate.indices("guess", rows, 1, self.mesh.n_faces, "faces").ravel()
            if len(guess) != len(p):
                raise ValueError(f"guess has {len(guess)} entries; expected {len(p)}, one per point")
        return p, guess

    sides = renamed.attribute("sides", "signs")

    def signs(self, points: Any) -> Signs:
        """(n,) -1 inside, 1 outside, 0 unknown: near the boundary of an open mesh, where the winding number is within
        0.1 of 1/2. Points on the surface are outside."""
        return self._enclosure.signed_distances(validate.floats("points", points, (None, 3)))[0].sign


@check_arguments
def closest_point(mesh: Mesh, points: Any) -> tuple[Floats, Floats]:
    """Signed distance (n,) of `points` (n,3) from any mesh, and the nearest point (n,3) on it; exact.

    Inside is where the winding number exceeds 1/2, and the distance there is that to the boundary of the solid. For an
    open mesh the side may be unknown (see `ClosestPoints.signs`), and the distance is then positive. For repeated
    queries of one mesh use a `ClosestPoints`, which builds its BVH once.
    """
    distance, nearest, _, _ = ClosestPoints(mesh).query(points)
    return distance, nearest
