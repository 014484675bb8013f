"""Contacts of bodies that have an inside: rays say who is in whom, and only those are looked at closer."""

from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ... import validate
from ...contacts import Contacts, Pool, empty
from ...door import door
from ...kernels import brute_force as _pairs
from ...kernels import records as _records
from ...mesh import Mesh
from ...state import State
from ..base import Finds, Side
from ..features import Part, Pose, clear_faces, contacts_of, numbers
from ..seams import Seams
from ..tree.depth import Depths
from .points import PointsInside

Floats = NDArray[np.float64]
_HAIR = 1e-9  # of the size of a body: how far its own vertices are lifted off it


@door
class ImageSpaceDetector:
    """Vertices inside the other body, and of the other inside this one; `other=None` asks for vertices of a body that
    are inside another part of it. One of two must be closed, and looking outward.

    Who is inside is exact. Of two bodies the contact is with the nearest face; of one with itself, with the first
    face that a ray along the shortest axis of its box leaves by, either way. What is outside is not found, however
    near: `within` is not used. A body whose seams have come apart has no inside.
    """

    name: ClassVar[str] = "image-space"
    finds: ClassVar[Finds] = Finds.OBSTACLE | Finds.PAIR | Finds.SELF
    guarantee: ClassVar[str] = "B"
    needs: ClassVar[str] = "closed triangle meshes (one of two)"
    gives: ClassVar[str] = "vertices inside, depth, normal; intersection volume with its bound"
    source: ClassVar[str] = "Teschner et al. 2005, section 6"
    follows: ClassVar[bool] = True
    inner: ClassVar[bool] = True  # finds what is inside and nothing else

    def __init__(self, one: Side, other: Side | None = None, *, within: float = 0.0) -> None:
        validate.number("within", within, low=0.0, high=validate.LARGEST)
        self.same = other is None
        self._seams = Seams(one, other)
        self._pool = Pool()
        self._sew()
        if not (self.one.solid or self.other.solid):
            names = " and ".join(dict.fromkeys(part.side.mesh.name for part in (self.one, self.other)))
            raise ValueError(f"image-space needs a closed mesh whose faces look outward; {names} have no inside")

    def _sew(self) -> None:
        """What follows from which vertices are one."""
        sides = self._seams.sides
        self.one = Part.of(sides[0])
        self.other = self.one if self.same else Part.of(sides[1])
        self._inside = [_Inside(part) if part.solid else None for part in (self.one, self.other)]

    def update(self, state: State) -> Self:
        """Nothing is kept between questions but which vertices are one."""
        if self._seams.follow(state.x):
            self._sew()
        return self

    def find(self, state: State) -> Contacts:
        if self.same:
            return self._with_itself(state.x[self.one.side.rows])
        a, b = (
            Pose(part, state.x[part.side.rows], None if inside is None else inside.at(state.x[part.side.rows]))
            for part, inside in zip((self.one, self.other), self._inside, strict=True)
        )
        return contacts_of(a, b, _pairs.EMPTY, _pairs.EMPTY, _pairs.EMPTY, self._pool)

    def _with_itself(self, x: Floats) -> Contacts:
        inside, part = self._inside[0], self.one
        if inside is None:
            return empty()  # its seams have come apart: nothing has an inside
        pose = Pose(part, x)
        rows, lifted = self._inside_itself(pose, inside.rays)
        if not len(rows):
            return empty()
        _, face = inside.rays.first_faces(pose.surface.x, lifted, rows)
        rows, face = rows[face >= 0], face[face >= 0]
        pairs = np.stack([part.rows[rows], face], 1).astype(np.int32)
        pairs = pairs[np.argsort(pairs[:, 0], kind="stable")]
        out, unclear = self._pool.take(len(pairs)), np.empty(len(pairs), np.bool_)
        first, bodies = numbers(pose, pose)
        side = -np.ones(len(x))
        _records.fill_faces(x, x, part.side.mesh.faces, pairs, side, first, bodies, out, unclear)
        clear_faces(pose, pose, pairs, side, unclear, out)
        return out

    def _inside_itself(self, pose: Pose, rays: PointsInside) -> tuple[NDArray[np.int32], Floats]:
        """Welded vertices (k,) that are inside another part of the body, and where (k,3) they are asked, a hair outside
        their own faces. Those that no face with an area has do not count."""
        surface = pose.surface
        x, faces, clear = surface.x, surface.faces, np.asarray(surface.vertex_normals.any(1))
        vertex = np.flatnonzero(clear)
        lift = surface.vertex_normals[vertex]
        # beside faces without area, and where four meet at an edge, no direction is sure: all of them must say inside
        face, corner = np.nonzero(~clear[faces] & np.any(surface.face_normals, 1, keepdims=True))
        if len(face):
            own = faces[face, corner]
            mean = Mesh(x, faces).vertex_normals[own]
            some = mean.any(1)
            vertex = np.concatenate([vertex, own[some], own])
            lift = np.concatenate([lift, mean[some], surface.face_normals[face]])
        lifted = x[vertex] + _HAIR * self.one.side.mesh.size * lift
        inside, at = np.zeros(len(x), np.bool_), np.zeros(len(x), np.int64)
        inside[vertex] = True
        inside[vertex[rays.winding(x, lifted) <= 0]] = False
        at[vertex[::-1]] = np.arange(len(vertex))[::-1]  # where each is asked first
        rows = np.flatnonzero(inside)
        return rows.astype(np.int32), lifted[at[rows]]


class _Inside:
    """Signed distances for those that are inside a body; of all others, that they are not."""

    def __init__(self, part: Part) -> None:
        mesh = part.side.mesh
        self._part = part
        self.rays = PointsInside(part.weld[mesh.faces], int(part.weld.max()) + 1)
        self._depths: Depths | None = None
        self._x = mesh.vertices
        self._fresh = False

    def at(self, x: Floats) -> Self:
        self._x, self._fresh = x, False
        return self

    def query(self, points: Floats) -> tuple[Floats, Floats, NDArray[np.int64], Floats]:
        """As `Depths` answers; boxes are fitted only where somebody is inside."""
        rows = np.flatnonzero(self.rays.winding(self._x[self._part.rows], points) > 0)
        n = len(points)
        distance, nearest = np.full(n, np.inf), np.zeros((n, 3))
        face, normal = np.zeros(n, np.int64), np.zeros((n, 3))
        if len(rows):
            if self._depths is None:
                self._depths = Depths(self._part.side.mesh)
            if not self._fresh:
                self._depths.update(self._x)
                self._fresh = True
            deep, nearest[rows], face[rows], normal[rows] = self._depths.query(points[rows])
            # rounding may say 0 or a hair outside of what is exactly inside
            distance[rows] = np.minimum(-np.abs(deep), -1e-300)
        return distance, nearest, face, normal
