"""Where bodies leave the cloth no room: two of their surfaces overlap, or are nearer to each other than cloth needs.

Such cloth cannot be kept free of intersections and within its strain limit at once. The strain limit is kept, and so is
the separation of cloth from cloth; what is inside of a body is counted. It is held between the bodies: it moves with
the surface that it lies on (see sides.py), and no body pushes it out, because either way leads into the other one. It
is drawn onto that surface, so that the edges that lead out of the body leave it near the crease in which its parts
meet. When they part, it has room again, and moves out through that surface.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ... import contacts as _contacts
from ...contacts import Contacts
from ...kernels.simulation import no_room as _kernels
from ...kernels.simulation.no_room import FacesAround
from ...scene import Scene
from ...state import State
from .exposed import Space
from .inside import Solids, leave_room, unit_normals
from .ridges import Entered, Ridges
from .sides import Sides

Floats = NDArray[np.float64]
Rows = NDArray[np.int32]
Flags = NDArray[np.bool_]
DEEP = 2.0  # times eps: cloth that is farther inside is not pushed out by contacts, which would throw it
OUTWARD = 0.5  # m/s: speed at which cloth that is inside of a body and has room moves out
FAR = 2.0  # times eps: cloth that is farther from its side takes the nearest surface that leaves it room
SAME = 0.25  # of eps: difference of the distances from two points of what counts as the same surface
TAUT = 0.5  # m/s: speed of cloth without room onto its surface, and along it towards its neighbours


class NearestPoints(NamedTuple):
    """Vertices of cloth, and the points of bodies nearest to them: corners (k,3) and weights (k,3)."""

    rows: Rows
    corners: Rows
    weights: Floats

    def take(self, which: NDArray[Any]) -> "NearestPoints":
        """Return those selected by `which`: flags (k,) or indices."""
        return NearestPoints(self.rows[which], self.corners[which], self.weights[which])

    def at(self, x: Floats) -> Floats:
        """Return the points (k,3) at x (n,3)."""
        return np.asarray((self.weights[:, :, None] * x[self.corners]).sum(1))

    def normals(self, x: Floats) -> Floats:
        """Return the unit normals (k,3) of their faces at x (n,3)."""
        return unit_normals(x, self.corners)

    def farthest_first(self, x: Floats) -> "NearestPoints":
        """Return them by decreasing distance, so that the nearest of several bodies around a vertex is applied last."""
        return self.take(np.argsort(-np.linalg.norm(x[self.rows] - self.at(x), axis=1), kind="stable"))


def _joined(parts: list[NearestPoints]) -> NearestPoints:
    return NearestPoints(*map(np.concatenate, zip(*parts, strict=True)))


_NOTHING = NearestPoints(np.zeros(0, np.int32), np.zeros((0, 3), np.int32), np.zeros((0, 3)))


class NoRoom:
    """The vertices of cloth without room in the present frame: inside of bodies when it began, or joined to such
    vertices by stretched edges since (`spread`)."""

    def __init__(self, scene: Scene, edges: Rows, around: FacesAround) -> None:
        from scipy.sparse import coo_array

        self.sides = Sides(around, scene.eps)
        self._ridges = Ridges(scene.inverse_masses > 0.0, edges, around, scene.eps)
        self._touched = _contacts.empty()  # contacts of the last detection
        self.eps, self._w = scene.eps, scene.inverse_masses
        n, both = len(self._w), np.concatenate([edges, edges[:, ::-1]])
        self._beside = coo_array((np.ones(len(both)), both.T), shape=(n, n)).tocsr()
        self._without_room = np.zeros((int(scene.first[-1]), len(scene.bodies)), np.bool_)  # [vertex, body]
        self.clear()

    def begin_frame(self) -> None:
        """Begin a frame in which all cloth has room, for all that is known."""
        if self._is_used:
            self.clear()

    def clear(self) -> None:
        """Begin a frame in which all cloth has room."""
        self._is_used, self.all_have_room = False, True  # the latter: none lies too deep, either
        self._without_room[:] = False
        self._ridges.clear()
        self.all_rows = np.zeros(0, np.int32)  # free or not
        self._held = self._leaving = _NOTHING
        self._deep = np.zeros(len(self._w), np.bool_)
        self._followed = np.zeros((0, 3)), np.zeros((0, 3))  # positions and directions of `_leaving` in `follow`
        self._risen = np.zeros(0), np.zeros((0, 3))  # heights above their surfaces and normals of `_held` in `follow`

    def find(
        self, solids: list[Solids], found: list[tuple[int, int, Rows]], inside: list[tuple[int, Rows]], state: State
    ) -> list[tuple[int, Rows]]:
        """Find which of the vertices `inside` of bodies, as of `vertices_inside`, have no room, and the cloth that has
        passed through bodies or cuts their ridges, by all intersecting pairs `found` of two bodies. Gripped vertices
        always count as without room: they cannot move out. Return the vertices inside with those that have passed."""
        self._is_used = True
        inside, entered = self._ridges.find(solids, found, inside, state.x)
        held, leaving, x, bodies = [_NOTHING], [_NOTHING], state.x, [solid.body for solid in solids]
        for solid in solids:
            for rows in (rows for b, rows in inside if b == solid.body):
                nearest = self._own_points(solids, solid, rows, entered.get(solid.body), state)
                room, free = leave_room(solids, x, nearest.corners, nearest.weights, self.eps), self._w[rows] > 0.0
                self._without_room[rows[~(room & free)], solid.body] = True
                # nor does another body that covers the surface push cloth away from it
                self._without_room[rows[~room & free][:, None], bodies] = True
                held.append(nearest.take(~room & free))
                leaving.append(nearest.take(room & free))
        self._held, self._leaving = (_joined(parts).farthest_first(x) for parts in (held, leaving))
        self.all_rows = np.flatnonzero(self._without_room.any(1)).astype(np.int32)
        self._leaving = self._leaving.take(~np.isin(self._leaving.rows, self.all_rows))
        far = np.linalg.norm(self._leaving.at(x) - x[self._leaving.rows], axis=1)
        self._deep[self._leaving.rows] = far > DEEP * self.eps
        for each in entered.values():
            self._deep[each.passed] = True  # contacts would push it on
        self.all_have_room = not len(self.all_rows) and not self._deep.any()
        self._ridges.leave_out(self.all_rows)
        return inside

    def _own_points(
        self, solids: list[Solids], solid: Solids, rows: Rows, entered: Entered | None, state: State
    ) -> NearestPoints:
        """Return the points of bodies nearest to vertices inside of a solid: on their side, or on that from which their
        cloth has entered the solid, or else on its nearest surface."""
        corners, weights = np.empty((len(rows), 3), np.int32), np.empty((len(rows), 3))
        remembered = side = self.sides.valid(state.side[rows])
        if entered is not None:
            side = entered.sides_of(rows, remembered)
        own = side >= 0
        if own.any():
            known = side[own]
            corners[own], weights[own] = self.sides.nearest(state.x[rows[own]], known, state.x)
            state.side[rows[own]] = np.where(remembered[own] >= 0, known, np.int32(-1))
        if not own.all():
            corners[~own], weights[~own] = solid.nearest(state.x[rows[~own]])
        points = NearestPoints(rows, corners, weights)
        self._leave_far_sides(solids, solid, points, state)
        return points

    def _leave_far_sides(self, solids: list[Solids], solid: Solids, points: NearestPoints, state: State) -> None:
        """Let vertices that were drawn away from their side lie on the nearest surface, if that leaves them room: those
        beside them lie there, and on the way to their side they would stay inside."""
        x = state.x[points.rows]
        far = np.flatnonzero(np.linalg.norm(points.at(state.x) - x, axis=1) > FAR * self.eps)
        if not len(far):
            return
        corners, weights = solid.nearest(x[far])
        room = leave_room(solids, state.x, corners, weights, self.eps)
        points.corners[far[room]], points.weights[far[room]] = corners[room], weights[room]
        state.side[points.rows[far[room]]] = -1

    def of_farther_surfaces(self, space: Space, x: Floats) -> Rows:
        """Return the vertices of cloth that is inside of bodies, or has passed through them, but belongs to another
        surface than the nearest one."""
        found = _joined([self._held, self._leaving])
        own, nearest = found.at(x), space.nearest(x[found.rows])[1]
        far, least = (np.linalg.norm(places - x[found.rows], axis=1) for places in (own, nearest))
        return found.rows[far > least + SAME * self.eps]

    @property
    def pairs(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Vertices without room, and the bodies whose contacts with them are ignored and not guarded."""
        rows, bodies = np.nonzero(self._without_room)
        return rows, bodies

    def stuck(self, body: int) -> Flags:
        """Return which vertices (n,) have no room at a body."""
        return self._without_room[:, body]

    def spread(self, edges: Rows) -> list[tuple[Rows, int]]:
        """Add the vertices that `edges` (k,2) join to vertices without room, and return them with their bodies."""
        found = []
        for b in np.flatnonzero(self._without_room[self.all_rows].any(0)).tolist():
            stuck = self._without_room[:, b]
            before = stuck.copy()
            while True:  # every turn but the last adds a vertex
                beside = edges[stuck[edges].any(1)]
                if stuck[beside].all():
                    break
                stuck[beside] = True
            rows = np.flatnonzero(stuck & ~before).astype(np.int32)
            if len(rows):
                found.append((rows, b))
        if found:
            self.all_rows = np.flatnonzero(self._without_room.any(1)).astype(np.int32)
        return found

    def follow(self, state: State, dt: float) -> None:
        """Let cloth inside of bodies move with the surface that it lies on, in place of its own motion, and out of it:
        where there is room, up to the surface, from where contacts push it on; otherwise onto it, and towards its
        neighbours."""
        for found in (self._held, self._leaving):
            if len(found.rows):
                state.x[found.rows] = state.x_start[found.rows] + found.at(state.x) - found.at(state.x_start)
        rows = self._held.rows
        if len(rows):
            near, n = self._beside[rows], self._held.normals(state.x)
            middle = (near @ state.x_start) / np.maximum(near.sum(1), 1.0)[:, None] - state.x_start[rows]
            height = ((state.x[rows] - self._held.at(state.x)) * n).sum(1)
            rise = np.clip(-height, -TAUT * dt, TAUT * dt)
            along = middle - (middle * n).sum(1, keepdims=True) * n
            state.x[rows] += rise[:, None] * n + _shortened(along, TAUT * dt)
            self._risen = np.minimum(height + rise, 0.0), n
        rows = self._leaving.rows
        if len(rows):
            way = self._leaving.at(state.x) - state.x[rows]
            state.x[rows] += _shortened(way, OUTWARD * dt)
            self._followed = state.x[rows], way / np.maximum(np.linalg.norm(way, axis=1, keepdims=True), 1e-300)
        self._ridges.follow(state, dt)

    def keep_on_their_way(self, state: State) -> None:
        """Undo displacements by which the solve pressed cloth inside of bodies back on its way. No contact holds this
        cloth, so that compressed cloth around it would press it in as fast as it moves out."""
        rows = self._leaving.rows
        if len(rows):
            reached, way = self._followed
            back = ((reached - state.x[rows]) * way).sum(1, keepdims=True)
            state.x[rows] += np.maximum(back, 0.0) * way
        rows = self._held.rows
        if len(rows):
            height, n = self._risen
            back = height - ((state.x[rows] - self._held.at(state.x)) * n).sum(1)
            state.x[rows] += np.maximum(back, 0.0)[:, None] * n
        self._ridges.keep_on_their_way(state)

    @property
    def without_contacts(self) -> Flags | None:
        """Vertices whose contacts with bodies `without` leaves out, [vertex, body]; None if there are none."""
        if self.all_have_room:
            return None
        return np.asarray(self._without_room | self._deep[:, None])

    def without(self, found: Contacts) -> Contacts:
        """Return the contacts with bodies without those of vertices that have no room or lie too deep, or of midpoints
        beside them."""
        self._touched = found
        if self.all_have_room:
            return found
        v, (one, two) = found["vertices"].T, found["bodies"].T  # either side may be the body
        stuck = np.zeros(len(found), np.bool_)
        for i in v:
            stuck |= (i >= 0) & (self._without_room[i, one] | self._without_room[i, two] | self._deep[i])
        self._touched = _contacts.taken(found, ~stuck)
        return self._touched

    def remember_sides(self, state: State) -> None:
        """At the end of a frame, let cloth that has room lie on the surfaces that it touches."""
        self.sides.remember(self._touched, state)
        self._touched = self._touched[:0]


def _shortened(way: Floats, most: float) -> Floats:
    """Return the displacements `way` (k,3), none of them longer than `most` metres."""
    far = np.maximum(np.linalg.norm(way, axis=1, keepdims=True), 1e-300)
    return np.asarray(np.minimum(most / far, 1.0) * way)


def squeezed(found: Contacts, x: Floats, soft: Flags, which: Rows, around: FacesAround, near: float) -> Flags:
    """Return which contacts (k,) of cloth with bodies at x (n,3) squeeze one of the vertices `which` from both sides.

    soft (n,) marks the vertices of cloth; around: the faces of the bodies; near: distance in metres below which two
    surfaces squeeze what is between. Only contacts at which the body lies behind the nearest point count.
    """
    # contiguous whatever the number of contacts, so that one compiled specialisation serves all
    v, w = np.ascontiguousarray(found["vertices"]), found["weights"]
    split = np.where(found["kind"] == _contacts.VERTEX_FACE, 1, 2)
    first = soft[v[:, 0]]  # the cloth is the first side
    body = (np.arange(4) < split[:, None]) != first[:, None]
    weights, push = np.where(body, np.abs(w), 0.0), np.where(first[:, None], 1.0, -1.0) * found["normal"]
    point, facing = (weights[:, :, None] * x[v]).sum(1), np.zeros(len(found), np.bool_)
    _kernels.mark_facing(v, weights, push, point, around, x, facing)
    rows, corner = np.nonzero(~body & facing[:, None] & np.isin(v, which))
    order = np.argsort(v[rows, corner], kind="stable")
    rows, corner = rows[order], corner[order]
    marked, out = np.zeros(len(rows), np.bool_), np.zeros(len(found), np.bool_)
    _kernels.mark_squeezed(v[rows, corner], push[rows], point[rows], near, marked)
    out[rows[marked]] = True
    return out


def faces_around(faces: Rows, closed: Flags, count: int) -> FacesAround:
    """Return the `faces` (m,3) of bodies around each of `count` vertices; closed (m,) marks those of closed shells."""
    order = np.argsort(faces.ravel(), kind="stable")
    first = np.searchsorted(faces.ravel()[order], np.arange(count + 1))
    return FacesAround(first, order // 3, faces, closed)
