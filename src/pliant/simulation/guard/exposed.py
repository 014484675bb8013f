"""Exposed crossings: cloth that crosses bodies where these leave it room.

Cloth between limbs that overlap is inside of them, and has to pass through their surface somewhere. It should do so in
the crease in which their surfaces meet, at places that no cloth outside could touch. Any other crossing is *exposed*,
unless a corner of its triangle that is inside without room implies it: the straight way there from this corner runs
inside the body, and the place is near the crease.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...detect.queries.transversal import crossing, crossing_segments
from .inside import HEIGHTS, Solids, unit_normals

Floats = NDArray[np.float64]
Rows = NDArray[np.int32]
Flags = NDArray[np.bool_]
Found = list[tuple[int, int, Rows]]  # intersecting pairs of two bodies, see `IntersectionCount.corners`
_NO_CORNERS = np.zeros((0, 3), np.int32)
TOLERANCE = 0.02  # of its radius by which a ball that touches a surface may enter other faces
CREASE = 3.0  # times eps: radius of a ball that is blocked near a crease
WAY = np.linspace(0.0, 1.0, 6)[1:-1]  # where a straight way is tested


class Exposed(NamedTuple):
    """Exposed crossings: corners (k,3) of the triangles of cloth and (k,3) of the faces of bodies that they cross, as
    rows of the scene, the ends (k,2,3) of the segments in which they do, and the outward normals (k,3) of the faces."""

    cloth: Rows
    body: Rows
    ends: Floats
    normals: Floats

    def take(self, which: Flags) -> "Exposed":
        """Return those selected by `which` (k,)."""
        return Exposed(self.cloth[which], self.body[which], self.ends[which], self.normals[which])

    @property
    def length(self) -> float:
        """Of all segments together, metres."""
        return float(np.linalg.norm(self.ends[:, 0] - self.ends[:, 1], axis=1).sum())


class OnBodies(NamedTuple):
    """Points inside of bodies: which of those asked about (k,), a corner (k,) of the face nearest to each, as a row of
    the scene, the points (k,3) of the surfaces nearest to them, unit directions (k,3) out of the bodies there, and
    whether cloth has room there (k,)."""

    which: NDArray[np.int64]
    corners: Rows
    places: Floats
    ways: Floats
    room: Flags


class Space:
    """The space outside of the closed shells `solids`, at positions x (n,3) of the scene."""

    def __init__(self, solids: list[Solids], x: Floats, eps: float) -> None:
        self._solids, self._x, self._eps = solids, x, eps
        for solid in solids:
            solid.move(x)

    def inside(self, points: Floats) -> Flags:
        """Return which points (k,3) are inside of any solid."""
        out = np.zeros(len(points), np.bool_)
        for solid in self._solids:
            out |= solid.inside(points)
        return out

    def nearest(self, points: Floats) -> tuple[Rows, Floats, Floats]:
        """Return a corner (k,) of the face nearest to each of `points` (k,3), the points (k,3) of the surfaces nearest
        to them, and the normals (k,3) of their faces."""
        first = np.zeros(len(points), np.int32)
        best, places, normals = np.full(len(points), np.inf), np.zeros((len(points), 3)), np.zeros((len(points), 3))
        for solid in self._solids if len(points) else ():
            corners, weights = solid.nearest(points)
            place = (weights[:, :, None] * self._x[corners]).sum(1)
            far = np.linalg.norm(place - points, axis=1)
            nearer = far < best
            best[nearer], places[nearer], first[nearer] = far[nearer], place[nearer], corners[nearer, 0]
            normals[nearer] = unit_normals(self._x, corners[nearer])
        return first, places, normals

    def fits_ball(self, places: Floats, normals: Floats, times: float) -> Flags:
        """Return whether a ball with `times` the contact offset as its radius, which touches a surface with these
        normals (k,3) at places (k,3) from outside, meets no other part of a body."""
        radius = times * self._eps
        centres = places + radius * normals
        free = ~self.inside(centres)
        at = self.nearest(centres[free])[1]
        free[free] = np.linalg.norm(at - centres[free], axis=1) >= (1.0 - TOLERANCE) * radius
        return free

    def has_room(self, places: Floats, normals: Floats) -> Flags:
        """Return whether cloth at its contact offset can touch a surface with these normals (k,3) at places (k,3)."""
        above = np.concatenate([places + height * self._eps * normals for height in HEIGHTS])
        room: Flags = np.logical_not(self.inside(above).reshape(len(HEIGHTS), -1).any(0))
        room[room] = self.fits_ball(places[room], normals[room], 1.0)
        return np.asarray(room)

    def inside_of_bodies(self, points: Floats) -> OnBodies:
        """Return those of the points (k,3) that are inside of bodies."""
        which = np.flatnonzero(self.inside(points))
        corners, places, ways = self.nearest(points[which])
        room, way = self.has_room(places, ways), places - points[which]
        far = np.linalg.norm(way, axis=1)
        clear = far > 1e-6 * self._eps  # the direction of the nearest point
        ways[clear] = way[clear] / far[clear, None]
        return OnBodies(which, corners, places, ways, room)


def exposed(solids: list[Solids], x: Floats, found: Found, eps: float, held: Flags) -> Exposed:
    """Return the exposed crossings at x (n,3) among the intersecting pairs `found`, without those of triangles with a
    corner that is `held` (n,): these are where the skin puts them."""
    if not found:
        return Exposed(_NO_CORNERS, _NO_CORNERS, np.zeros((0, 2, 3)), np.zeros((0, 3)))
    bodies = {solid.body for solid in solids}
    both = np.concatenate([np.zeros((0, 2, 3), np.int32), *(corners for _, c, corners in found if c in bodies)])
    both = both[~held[both[:, 0]].any(1)]
    pairs = np.repeat(np.arange(len(both), dtype=np.int32)[:, None], 2, 1)
    both = both[crossing(x, both[:, 0], x, both[:, 1], pairs, aligned=False)]
    if not len(both):
        return Exposed(both[:, 0], both[:, 1], np.zeros((0, 2, 3)), np.zeros((0, 3)))
    ends = crossing_segments(x, both[:, 0], x, both[:, 1], pairs[: len(both)])
    places, normals = np.concatenate([ends, ends.mean(1, keepdims=True)], 1), unit_normals(x, both[:, 1])
    space = Space(solids, x, eps)
    seen = np.flatnonzero(space.has_room(places.reshape(-1, 3), np.repeat(normals, 3, 0)).reshape(-1, 3).any(1))
    seen = seen[~_implied(space, x, both[seen, 0], places[seen], normals[seen])]
    return Exposed(both[seen, 0], both[seen, 1], ends[seen], normals[seen])


def _implied(space: Space, x: Floats, cloth: Rows, places: Floats, normals: Floats) -> Flags:
    """Return which crossings (k,) with three places (k,3,3) each a corner of their triangles `cloth` (k,3) implies."""
    out = np.zeros(len(cloth), np.bool_)
    fits = space.fits_ball(places.reshape(-1, 3), np.repeat(normals, 3, 0), CREASE)
    crease = np.flatnonzero(~fits.reshape(-1, 3).any(1))
    rows, without_room = np.unique(cloth[crease]), np.zeros(len(x), np.bool_)
    inside = space.inside_of_bodies(x[rows])
    without_room[rows[inside.which[~inside.room]]] = True
    for corner in cloth.T:
        of = crease[without_room[corner[crease]]]
        start, end = x[corner[of]], places[of, 2]
        ways = start[:, None] + WAY[:, None] * (end - start)[:, None]
        out[of] |= space.inside(ways.reshape(-1, 3)).reshape(len(of), len(WAY)).all(1)
    return out
