"""Cloth that is not guarded: pairs given up, for which bodies leave no room, and triangles that intersect.

Such pairs have no defined side. They are given up, counted, and guarded again as soon as they are separated; cloth
inside of bodies moves with them and out of them (see no_room.py).
"""

import logging

import numpy as np
from numpy.typing import NDArray

from ...contacts import Contacts
from ...scene import Scene
from ...state import State
from ..measure.intersection_count import IntersectionCount
from ..self_contact_interface import FormerNames
from .detection import Detection
from .exposed import Exposed, Space, exposed
from .inside import closed_faces, solids_of, vertices_inside
from .no_room import NoRoom, faces_around, squeezed
from .pairs import GuardedPairs, vertices_and_bodies
from .ridges import hits_of
from .thickness import thickness_of

log = logging.getLogger("pliant.simulation.guard")
Floats = NDArray[np.float64]
Rows = NDArray[np.int32]
NEAR = 2.0  # times eps: distance of two surfaces below which they squeeze the cloth between them
NONE = np.zeros(0, np.int32)


class Unguarded(FormerNames):
    """The detection passes of a guard, and what it has given up."""

    def __init__(self, scene: Scene, state: State) -> None:
        self.safe, self.eps = scene.self_contact == "safe", scene.eps
        self.thickness = thickness_of(scene, state.x)
        self._detection = Detection(scene, state.x, self.thickness)
        self._free, self._pushable = scene.yielding_inverse_masses > 0.0, scene.inverse_masses > 0.0
        self._soft = np.isin(np.arange(len(state.x)), np.r_[scene.deformable_rows])
        self._cloth_rows = np.flatnonzero(self._soft).astype(np.int32)
        self.tangled = self.safe  # whether triangles may intersect, or vertices be inside of bodies
        closed = [np.zeros(0, np.bool_), *(closed_faces(scene, b) for b in scene.obstacles if self.safe)]
        self._faces_around = faces_around(self._detection.obstacle_faces, np.concatenate(closed), len(state.x))
        self._solids = solids_of(scene) if self.safe else []
        self._gripped = np.isin(np.arange(len(state.x)), scene.gripped_rows)
        self._no_room = NoRoom(scene, self._detection.links, self._faces_around)
        self._counter = IntersectionCount(scene, state.x) if self.safe else None
        self._beside: list[tuple[Rows, int]] = []  # guarded corners of triangles that intersect a body, and the body
        self.failed_substeps, self._failed_at = 0, -1  # `substeps_left` at the last failure of this frame; -1: none
        self._warned = False
        self.given_up_pairs = 0  # pairs of features given up, and vertices released, in total

    @property
    def is_unsure(self) -> bool:
        """Whether pairs may intersect."""
        return self.tangled or self.failed_substeps > 0

    def _exclude_touching(self, state: State) -> None:
        """Stop guarding, for this frame, the pairs that could not be opened, and count them; they have no sides."""
        touching = self._detection.guarded.gaps <= 2.0 * self._detection.rounding
        if touching.any():
            self._detection.leave_unguarded(touching)
            self.given_up_pairs += int(touching.sum())
            text = "%d pairs of features touch within rounding at %.3f s and there is no room to separate them"
            self._count_failure(text, int(touching.sum()), state.time)

    def _count_failure(self, text: str, *values: float) -> None:
        """Count this substep, once, as one that failed to keep pairs separated, and warn at the first one."""
        again, self._failed_at = self._failed_at == self._detection.substeps_left, self._detection.substeps_left
        self.failed_substeps += not again
        if self.failed_substeps == 1 and not again and not self._warned:  # a frame may be computed again
            self._warned = True
            log.warning("safe mode: " + text + "; these pairs are no longer guarded and may intersect", *values)

    def intersecting_corners(self, x: Floats) -> Rows:
        found = self._counter.corners(x) if self._counter else []
        return np.concatenate([np.zeros((0, 6), np.int32), *(corners.reshape(-1, 6) for _, _, corners in found)])

    @property
    def rows_without_room(self) -> Rows:
        return self._no_room.all_rows

    @property
    def unguarded_rows(self) -> Rows:
        if not self._detection.gave_up:
            return NONE
        return np.flatnonzero(self._detection.given_up.any(1) & self._pushable).astype(np.int32)

    @property
    def without_contacts(self) -> NDArray[np.bool_] | None:
        return self._no_room.without_contacts

    def follow_bodies(self, state: State, dt: float) -> None:
        self._no_room.follow(state, dt)

    def keep_on_their_way(self, state: State) -> None:
        self._no_room.keep_on_their_way(state)

    def with_room(self, found: Contacts) -> Contacts:
        return self._no_room.without(found)

    def give_up(self, pairs: GuardedPairs, which: NDArray[np.bool_]) -> None:
        """Stop guarding the pairs selected by `which` (k,): their cloth vertices may pass through any face of the other
        body. They are guarded again from the first frame that begins without an intersection of theirs (`begin`)."""
        self._give_up(pairs.vertices[which], pairs.kinds[which])

    def _give_up(self, v: Rows, kinds: NDArray[np.uint8]) -> None:
        self.given_up_pairs += len(v)
        self._detection.give_up(*vertices_and_bodies(v, kinds, self._soft, self._detection.body_of))

    def give_up_squeezed(self, rows: Rows) -> bool:
        """Stop guarding those of `rows` that bodies squeezed in the last detection pass; return whether any are."""
        found, x = self._detection.obstacle_contacts, self._detection.start
        found = found[squeezed(found, x, self._soft, rows, self._faces_around, NEAR * self.eps)]
        self._give_up(found["vertices"], found["kind"])
        return len(found) > 0

    def _give_up_intersecting(self, state: State) -> None:
        """Give up the pairs that intersect, which have no side, or have a vertex inside of the body."""
        found, inside = self.intersections(state.x), vertices_inside(self._solids, self._cloth_rows, state.x)
        inside = self._no_room.find(self._solids, found, inside, state)
        self.tangled = bool(found) or any(len(rows) for _, rows in inside)
        self._detection.give_up(*self._no_room.pairs)
        for b, rows in inside:
            self._detection.give_up(rows, b)
        self._beside = []
        for b, c, corners in found:
            if c in self._detection.cloths:
                self._detection.give_up(corners[:, 0], c)
                self._detection.give_up(corners[:, 1], b)
            else:
                self._detection.give_up(self._without_side(corners, c, state.x), c)
                self._beside.append((np.unique(corners[:, 0]).astype(np.int32), c))

    def _without_side(self, corners: Rows, c: int, x: Floats) -> Rows:
        """Return the corners of triangles that intersect a body c, corners (k,2,3) of both, which have no side of it
        either: those of triangles with a corner that has room inside of it, or without any inside of it, and the ends
        of edges that pass through it. A corner outside that a triangle joins to cloth without room stays guarded: only
        pairs that contain a vertex of that cloth intersect."""
        given_up, cloth = self._detection.given_up[:, c], corners[:, 0]
        leaving = given_up & ~self._no_room.stuck(c)
        ends = hits_of(corners, self._faces_around, x).ends
        passing = ends[~given_up[ends].any(1)]
        whole = cloth[leaving[cloth].any(1) | ~given_up[cloth].any(1)]
        return np.union1d(passing, whole).astype(np.int32)

    def give_up_beside(self, rows: Rows) -> bool:
        """Stop guarding those of `rows` that are corners of triangles which intersect a body: cloth without room must
        not be stretched by what is guarded beside it; return whether any are."""
        more = False
        for beside, c in self._beside:
            found = beside[np.isin(beside, rows) & ~self._detection.given_up[beside, c]]
            self._detection.give_up(found, c)
            self.given_up_pairs += len(found)
            more |= len(found) > 0
        return more

    def intersections(self, x: Floats) -> list[tuple[int, int, Rows]]:
        """Return bodies and corners (k,2,3) of intersecting triangle pairs at x; empty while all were guarded."""
        return self._counter.corners(x) if self._counter and self.is_unsure else []

    @property
    def may_cross(self) -> bool:
        """Whether cloth may cross closed shells of obstacles."""
        return len(self._solids) > 0

    def exposed(self, x: Floats) -> Exposed:
        """Return the crossings of cloth and bodies at x that are exposed, without those at gripped vertices."""
        return exposed(self._solids, x, self.intersections(x), self.eps, self._gripped)

    def space(self, x: Floats) -> tuple[Space, Rows]:
        """Return the space outside of the closed shells of all obstacles at x, where a frame has begun, and the
        vertices of cloth inside of these, or that have passed through them, that do not belong to the nearest surface.
        """
        space = Space(self._solids, x, self.eps)
        return space, self._no_room.of_farther_surfaces(space, x)

    def belong(self, cloth: Rows, state: State, space: Space, corners: Rows) -> NDArray[np.bool_]:
        """Return which triangles of cloth (k,3) may leave bodies through the faces with these `corners` (k,): those
        without a corner inside of bodies, and those with one outside that lies on the same part of a body, or on none
        that is known."""
        inside = np.zeros(len(state.x), np.bool_)
        rows = np.unique(cloth)
        inside[rows] = space.inside(state.x[rows])
        sides = self._no_room.sides.shells_of(state.side[cloth.ravel()]).reshape(cloth.shape)
        same = (sides == self._no_room.sides.shells[corners][:, None]) | (sides < 0)
        return np.asarray(~inside[cloth].any(1) | (same & ~inside[cloth]).any(1))

    def is_inside(self, x: Floats) -> bool:
        """Whether cloth intersects anything at x, or is inside of bodies."""
        return self.is_unsure and bool(self.intersections(x) or vertices_inside(self._solids, self._cloth_rows, x))
