"""Contacts of closed bodies: rays or layered depth images determine the vertices inside, and only these reach the
narrow phase."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray

from ... import validate
from ...arguments import OneOf, Range, check_arguments
from ...contacts import Contacts, Pool, empty
from ...kernels.queries import contact_records as _records
from ...mesh import Mesh
from ...state import State
from ..base import BaseDetector, Finds, Reports, Side
from ..queries.contact_records import NO_PAIRS, PosedSide, WeldedSide, contacts_of, owners, recompute_degenerate_faces
from ..queries.depth_image import MOST, LayeredDepthImage
from ..queries.inside_image import InsideImage, VolumeOfInterest, volume_of_interest
from ..queries.penetration import DeformingClosestPoints
from ..queries.ray_winding import RayWinding
from ..queries.view_volume import ViewVolume
from ..queries.welding import Seams
from ..queries.winding import bounds_of, shortest

if TYPE_CHECKING:
    from ..structure import Structure

Floats = NDArray[np.float64]
_OFFSET = 1e-9  # of a body's own vertices from its surface, relative to its size


TESTS = ("rays", "layers", "view-volume")
RESOLUTION = 64  # of the images of the bodies, if the test is "layers" and no other is given


@check_arguments
class ImageSpaceDetector(BaseDetector):
    """Find vertices of each body inside the other; `other=None` finds vertices of a body inside another part of it. At
    least one of two meshes must be closed and oriented outward.

    `test="rays"`, the default: each vertex is a ray of its own, and the set of vertices inside is exact. "layers":
    layered depth images of the bodies, `resolution` pixels along the longer side of their common AABB (default 64),
    decide which vertices are tested exactly; a vertex deeper than `bounds` is found, and none is found that is outside.
    A `resolution` without a test selects "layers". "view-volume": the second body is convex, and its planes clip the
    vertices of the first, as if it was rendered into that volume; `visible` are the faces of which a part remains.

    Between two bodies the contact is with the nearest face; for self-contact, with the first face through which a ray
    along the shortest axis of the AABB exits, in either direction. Vertices outside are not found: `within` is not
    used. A body whose seams have opened has no inside.
    """

    name = "image-space"
    finds = Finds.OBSTACLE | Finds.PAIR | Finds.SELF
    guarantee = "A"
    other_guarantees = (("test", "layers", "B"), ("resolution", "", "B"))
    needs = "closed triangle meshes (one of two)"
    gives = "vertices inside, depth, normal; intersection volume with its bound"
    source = "Teschner et al. 2005, section 6"
    obstacle_may_deform = True
    reports = Reports.INSIDE
    needs_closed = True
    variants = ({"resolution": RESOLUTION},)

    def __init__(
        self,
        one: Side,
        other: Side | None = None,
        *,
        within: float = 0.0,
        test: Annotated[str, OneOf(TESTS)] | None = None,
        resolution: Annotated[int, Range(low=1, high=MOST)] | None = None,
    ) -> None:
        validate.number("within", within, low=0.0, high=validate.LARGEST)
        self.test, self.resolution = _test_and_resolution(test, resolution)
        self.guarantee = "A" if self.resolution is None else "B"
        self._volume: VolumeOfInterest | None = None
        self.same = other is None
        if other is None and self.test == "view-volume":
            raise ValueError("test='view-volume' needs two bodies, of which the second is the volume; use test='rays'")
        if other is not None and self.test == "view-volume" and other.motion is not None:
            why = f"the shape of {other.mesh.name!r} changes; use test='rays'"
            raise ValueError(f"test='view-volume' needs a rigid obstacle, which stays convex; {why}")
        self._seams = Seams(one, other)
        self._pool = Pool()
        self._reweld()
        if self.test == "view-volume" and not self.other.solid:
            name = self.other.side.mesh.name
            raise ValueError(f"test='view-volume' needs a closed convex obstacle with faces outward; {name!r} is open")
        if not (self.one.solid or self.other.solid):
            names = " and ".join(dict.fromkeys(part.side.mesh.name for part in (self.one, self.other)))
            raise ValueError(f"image-space needs a closed mesh with faces oriented outward; found none in: {names}")

    @classmethod
    def refuses(cls, one: Side, other: Side | None, options: Mapping[str, Any]) -> str:
        rigid = other is not None and other.motion is None and _is_convex(other.mesh)
        return "needs a closed, convex, rigid obstacle" if options.get("test") == "view-volume" and not rigid else ""

    @property
    def bounds(self) -> tuple[float, float]:
        """Depth in metres beyond which no vertex is missed: zero with rays, half a diagonal of a pixel with layers."""
        bound = 0.0 if self._volume is None else self._volume.bound
        return bound, bound

    @property
    def images(self) -> list[LayeredDepthImage]:
        """The layered depth images that the last query rendered, of each closed body; none with rays."""
        images = [inside.image for inside in self._inside if inside is not None and inside.image is not None]
        return [image.layers for image in images if image.layers is not None]

    @property
    def visible(self) -> NDArray[np.int64]:
        """The faces of the first body of which a part is inside the viewing volume, at the last query."""
        volume = self._inside[1].volume if len(self._inside) > 1 and self._inside[1] is not None else None
        if volume is None or self._inside[0] is None:
            return np.zeros(0, np.int64)
        return np.flatnonzero(volume.visible(self._inside[0].x, self.one.side.mesh.faces))

    def _reweld(self) -> None:
        """Rebuild all data that depend on the welding."""
        sides = self._seams.sides
        self.one = WeldedSide.of(sides[0])
        self.other = self.one if self.same else WeldedSide.of(sides[1])
        parts, layered = (self.one,) if self.same else (self.one, self.other), self.resolution is not None
        volume = self.test == "view-volume"
        self._inside = [
            _Inside(part, layered, volume and k == 1) if part.solid else None for k, part in enumerate(parts)
        ]

    def update(self, state: State) -> Self:
        """Update the welding, the only state kept between queries, and the volume in which the bodies can overlap."""
        if self._seams.update(state.x):
            self._reweld()
        if self.resolution is not None:
            positions = [state.x[side.rows] for side in self._seams.sides]
            self._volume = volume_of_interest(positions, self.resolution)
        return self

    def find(self, state: State) -> Contacts:
        if self.resolution is not None and self._volume is None:
            return empty()  # the AABBs of the bodies are disjoint
        if self.same:
            return self._with_itself(state.x[self.one.side.rows])
        a, b = (
            PosedSide(part, x, None if inside is None else inside.at(x, self._volume))
            for part, inside in zip((self.one, self.other), self._inside, strict=True)
            for x in (state.x[part.side.rows],)
        )
        return contacts_of(a, b, NO_PAIRS, NO_PAIRS, NO_PAIRS, self._pool)

    def structure(self, state: State, level: int | None = None) -> "Structure":
        from .structures.images import structure_of_images, structure_of_rays

        if self.resolution is not None:
            return structure_of_images(self.images, self._volume)
        parts = [self.one] if self.same else [self.one, self.other]
        casts = []
        for k, inside in enumerate(self._inside):
            if inside is not None:
                x, points = (state.x[part.side.rows][part.rows] for part in (parts[k], parts[-1 - k]))
                box = bounds_of(x)
                casts.append((box, shortest(box), points, inside.rays.winding(x, points) > self.same))
        return structure_of_rays(casts)

    def _with_itself(self, x: Floats) -> Contacts:
        inside, part = self._inside[0], self.one
        if inside is None:
            return empty()  # its seams have opened: it has no inside
        pose = PosedSide(part, x)
        near = inside.at(x, self._volume).near_self_overlap()
        if not near.any():
            return empty()
        rows, tested = self._inside_itself(pose, inside.rays, near)
        if not len(rows):
            return empty()
        _, face = inside.rays.first_faces(pose.surface.x, tested, rows)
        rows, face = rows[face >= 0], face[face >= 0]
        pairs = np.stack([part.rows[rows], face], 1).astype(np.int32)
        pairs = pairs[np.argsort(pairs[:, 0], kind="stable")]
        out, degenerate = self._pool.take(len(pairs)), np.empty(len(pairs), np.bool_)
        sign = -np.ones(len(x))
        _records.fill_faces(x, x, part.side.mesh.faces, pairs, sign, owners(pose, pose), out, degenerate)
        recompute_degenerate_faces(pose, pose, pairs, sign, degenerate, out)
        return out

    def _inside_itself(
        self, pose: PosedSide, rays: RayWinding, near: NDArray[np.bool_]
    ) -> tuple[NDArray[np.int32], Floats]:
        """Return those of the welded vertices `near` (n,) inside another part of the body, and the points (k,3) tested,
        slightly outside their own faces. Vertices without a face of non-zero area are skipped."""
        surface = pose.surface
        x, faces, clear = surface.x, surface.faces, np.asarray(surface.vertex_normals.any(1))
        vertex = np.flatnonzero(clear & near)
        direction = surface.vertex_normals[vertex]
        # at degenerate faces and non-manifold edges no offset direction is certain: all of them must be inside
        face, corner = np.nonzero((near & ~clear)[faces] & np.any(surface.face_normals, 1, keepdims=True))
        if len(face):
            own = faces[face, corner]
            mean = Mesh(x, faces).vertex_normals[own]
            some = mean.any(1)
            vertex = np.concatenate([vertex, own[some], own])
            direction = np.concatenate([direction, mean[some], surface.face_normals[face]])
        tested = x[vertex] + _OFFSET * self.one.side.mesh.size * direction
        inside, at = np.zeros(len(x), np.bool_), np.zeros(len(x), np.int64)
        inside[vertex] = True
        inside[vertex[rays.winding(x, tested) <= 0]] = False
        at[vertex[::-1]] = np.arange(len(vertex))[::-1]  # the first tested point of each vertex
        rows = np.flatnonzero(inside)
        return rows.astype(np.int32), tested[at[rows]]


def _test_and_resolution(test: str | None, resolution: int | None) -> tuple[str, int | None]:
    """Return the test, and the resolution of its images, None for rays."""
    test = ("rays" if resolution is None else "layers") if test is None else test
    if test in ("rays", "view-volume"):
        if resolution is not None:
            raise ValueError(
                f"resolution = {resolution} with test={test!r}, which uses no image; leave one of them out"
            )
        return test, None
    return test, RESOLUTION if resolution is None else resolution


class _Inside:
    """Signed distances of points inside a body; infinity for all others."""

    def __init__(self, part: WeldedSide, layered: bool, clips: bool = False) -> None:
        mesh = part.side.mesh
        self._part = part
        self.rays = RayWinding(part.weld[mesh.faces], int(part.weld.max()) + 1)
        self.image = InsideImage(mesh.welded) if layered else None
        self.volume = ViewVolume(mesh) if clips else None
        self._distance_query: DeformingClosestPoints | None = None
        self._x = mesh.vertices
        self._fresh = False

    def at(self, x: Floats, volume: VolumeOfInterest | None) -> Self:
        """Set the positions (n,3); with layers also render the image of the body in the volume."""
        self._x, self._fresh = x, False
        if self.image is not None and volume is not None:
            self.image.take(x[self._part.rows], volume)
        if self.volume is not None:
            self.volume.move(x[self._part.rows])
        return self

    @property
    def x(self) -> Floats:
        """The positions (n,3) of the last query."""
        return self._x

    def near_self_overlap(self) -> NDArray[np.bool_]:
        """(w,) the welded vertices that can be inside another part: with rays all of them."""
        x = self._x[self._part.rows]
        return np.ones(len(x), np.bool_) if self.image is None else self.image.near_self_overlap(x)

    def _contains(self, points: Floats) -> NDArray[np.bool_]:
        if self.volume is not None:
            return self.volume.contains(points)
        if self.image is not None:
            return self.image.contains(points)
        return np.asarray(self.rays.winding(self._x[self._part.rows], points) > 0)

    def query(self, points: Floats) -> tuple[Floats, Floats, NDArray[np.int64], Floats]:
        """Return the results of `DeformingClosestPoints.query`; the BVH is refitted only if a point is inside."""
        exact = self.image is None
        inside = self._contains(points)
        rows = np.flatnonzero(inside)
        n = len(points)
        distance, nearest = np.full(n, np.inf), np.zeros((n, 3))
        face, normal = np.zeros(n, np.int64), np.zeros((n, 3))
        if len(rows):
            if self._distance_query is None:
                self._distance_query = DeformingClosestPoints(self._part.side.mesh)
            if not self._fresh:
                self._distance_query.update(self._x)
                self._fresh = True
            deep, nearest[rows], face[rows], normal[rows] = self._distance_query.query(points[rows])
            # rounding may give zero or a positive distance for points that are exactly inside; an image may show a
            # point inside that is outside, at most by its bound
            distance[rows] = np.minimum(-np.abs(deep), -1e-300) if exact else np.where(deep < 0.0, deep, np.inf)
        return distance, nearest, face, normal


def _is_convex(mesh: Mesh) -> bool:
    try:
        ViewVolume(mesh)
    except ValueError:
        return False
    return WeldedSide.of(Side(mesh)).solid
