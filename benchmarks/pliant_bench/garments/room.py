"""Where a body leaves cloth room: decided by the shape of the body in one frame alone, not by how cloth was moved.

A *place* is a point on a face of the body. Three statements about places decide what counts (docs/gauntlet.md):

- it *has room* if no other part of the body is within twice the contact offset above it;
- it is *touchable* if a ball with the contact offset as its radius, which touches the face there from outside, meets no
  other part of the body. Cloth that keeps its contact offset cannot touch any other place;
- it is *in a crease* if a ball of three times this radius is blocked there.
"""

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.detect.queries.penetration import DeformingClosestPoints
from pliant.mesh import Mesh

from .. import referee

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
HEIGHTS = (0.5, 1.0, 2.0)  # of the contact offset, above the surface: there must be no other part of the body
TOLERANCE = 0.02  # of its radius by which other faces may enter a ball: adjacent faces of a rounded hollow do
CREASE = 3.0  # times the contact offset: radius of the ball that is blocked in a crease
WAY = np.linspace(0.0, 1.0, 8)[1:-1]  # where a straight way is tested


class Room:
    """The surface of a body; `eps` is the contact offset of the scene, metres. Call `update` before its queries."""

    def __init__(self, skin: Mesh, eps: float) -> None:
        self.skin, self.eps = skin.welded, eps
        self._x = self.skin.vertices

    @functools.cached_property
    def _distances(self) -> DeformingClosestPoints:
        return DeformingClosestPoints(self.skin)

    def update(self, body: Floats) -> None:
        """Set the positions (n,3) of the body."""
        self._x = body
        self._distances.update(body)

    def distance(self, points: Floats) -> Floats:
        """Signed distance (k,) of points (k,3) from the body, negative inside."""
        return self._distances.query(points)[0]

    def nearest(self, points: Floats) -> tuple[Floats, NDArray[np.int64]]:
        """The places (k,3) nearest to points (k,3), also of one part within another, and their faces (k,)."""
        face, weights = self._distances.nearest_faces(points)
        return (weights[:, :, None] * self._x[self.skin.faces[face]]).sum(1), face

    def exists(self, places: Floats, of: NDArray[Any]) -> Bools:
        """Whether places (k,3) on faces `of` (k,) have room: see `leaves_room`, and no point up to twice the contact
        offset above them is inside another part of the body."""
        if not len(places):
            return np.zeros(0, np.bool_)
        found = leaves_room(self._x, self.skin.faces, places, of, 2.0 * self.eps)
        normal = outward(self._x, self.skin.faces, of)
        for height in HEIGHTS:
            found &= self._distances.signs(places + height * self.eps * normal) >= 0
        return found

    def is_touchable(self, places: Floats, of: NDArray[Any], times: float = 1.0) -> Bools:
        """Whether a ball with `times` the contact offset as its radius can touch the faces `of` (k,) at places (k,3)
        from outside."""
        if not len(places):
            return np.zeros(0, np.bool_)
        radius = times * self.eps
        centre = places + radius * outward(self._x, self.skin.faces, of)
        return self.distance(centre) >= (1.0 - TOLERANCE) * radius

    def can_be_touched(self, places: Floats, of: NDArray[Any]) -> Bools:
        """Whether cloth at its contact offset could touch these places: they have room and are touchable."""
        return self.exists(places, of) & self.is_touchable(places, of)

    def is_within(self, one: Floats, other: Floats) -> Bools:
        """Whether the straight ways from points (k,3) to others (k,3) run inside the body."""
        if not len(one):
            return np.zeros(0, np.bool_)
        points = one[:, None] + WAY[:, None] * (other - one)[:, None]
        return np.asarray((self._distances.signs(points.reshape(-1, 3)) <= 0).reshape(points.shape[:2]).all(1))

    def holds(self, points: Floats, distance: Floats) -> Bools:
        """Which points (k,3) are inside the body, by their signed distances (k,), where cloth cannot be brought out to
        its contact offset: the place nearest to them cannot be touched."""
        found = np.zeros(len(points), np.bool_)
        inside = np.flatnonzero(distance < 0.0)
        found[inside] = ~self.can_be_touched(*self.nearest(points[inside])) if len(inside) else False
        return found


def outward(x: Floats, faces: NDArray[Any], of: NDArray[Any]) -> Floats:
    """Unit normals of the faces `of`."""
    corners = x[faces[of]]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    return np.asarray(normal / np.maximum(np.linalg.norm(normal, axis=1), 1e-300)[:, None])


def leaves_room(x: Floats, faces: NDArray[Any], points: Floats, of: NDArray[Any], gap: float) -> Bools:
    """Whether the body has no opposite surface within `gap` metres outside of these points on its faces `of`.

    Opposite: a segment from the point along the outward normal meets another face from its outer side (a crevice), or
    from its inner side (the point lies inside another part of the body), or another face is at the point itself.
    """
    ends = points + gap * outward(x, faces, of)
    pairs = referee.box_pairs(np.stack([points, ends], 1), x[faces])
    alone = (faces[of[pairs[:, 0]]][:, :, None] != faces[pairs[:, 1]][:, None, :]).all((1, 2))
    pairs = pairs[alone]
    hit = referee.pierces(points[pairs[:, 0]], ends[pairs[:, 0]], x[faces[pairs[:, 1]]])
    room = np.ones(len(points), np.bool_)
    room[pairs[hit, 0]] = False
    return room
