"""Guard: triangle-level contact of cloth with cloth and bodies; safe mode prevents all intersections.

A detection pass finds the near pairs at some positions and bounds how far each vertex may move before a pair that was
not found could meet (see the kernels); before a vertex exceeds its bound, the pass is repeated. An intersection-free
state thus stays so for any forces, speeds and step sizes. Bodies and grips follow their prescribed motion and
carry cloth along (see carry.py). Where they leave it no room, pairs are given up, counted, and guarded again as soon as
they are separated.
"""

import logging
from collections.abc import Sequence
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from ... import contacts as _contacts
from ...contacts import Contacts
from ...detect.bvh.leaf_mesh import LeafMesh
from ...detect.queries.proximity import NearPairs
from ...kernels.simulation import guard as _kernels
from ...respond import Projection
from ...respond.base import Detect
from ...scene import Scene
from ...state import State
from ..measure.intersection_count import IntersectionCount
from ..self_contact import FormerNames
from .carry import Carry
from .opening import is_tight, open_up
from .pairs import GuardedPairs, Obstacle, among, guarded, keys, leaf_mesh_of, near_at_rest, records, rows_of, spacing
from .sewing import links_of, near_pairs_of

log = logging.getLogger("pliant.simulation.guard")
Floats = NDArray[np.float64]
Rows = NDArray[np.int32]
ROUNDS = 6  # detection passes with a limited move per substep; then cloth that is still blocked waits for the next
PATIENCE = 8  # rounds in which bodies wait for cloth to be pushed out of their way before they carry it along
FAST = 4.0  # displacement of a body per substep, over the largest query distance, above which it does not wait
WORK = 40  # rounds of carrying per substep of a frame; after them bodies move on without the cloth
AFTER = 2  # rounds in which carried cloth completes its own motion
FAR = 8.0  # relative displacement of a pair in one round of carrying, over the largest query distance
AROUND = 1.5  # of the thickness: smallest query distance around cloth
REACH = 0.75  # of eps: initial query distance around a body; cloth usually rests farther away
LEAST = 0.01  # of the thickness: gap that is always kept
ROUNDING = 2.0**-49  # of the largest coordinate: bound of the rounding error of a distance
THINNEST = 16.0  # times that bound: smallest thickness accepted
_EVERYWHERE = np.array([-np.inf] * 3 + [np.inf] * 3)
_NONE = np.zeros((0, 4), np.int32)
BODY_SHARE = 0.5  # of eps: contact offset between cloth and the triangles of a body


class Guard(FormerNames):
    """Contacts of all deformable bodies of a scene with themselves, each other and, in safe mode, the obstacles.

    Implements `SelfContact` with detectors and a response of its own, which have no names.
    """

    detects: ClassVar[bool] = True
    method = response_name = ""
    detectors: Sequence[Any] = ()
    iterates, unresolved = False, 0

    def __init__(self, scene: Scene, state: State) -> None:
        self.safe = scene.self_contact == "safe"
        self.eps = scene.eps
        self.thickness = cast(float, scene.thickness)
        lowest = THINNEST * ROUNDING * float(np.abs(state.x[scene.deformable_rows]).max(initial=0.0))
        if self.safe and self.thickness < lowest:
            raise ValueError(
                f"thickness = {self.thickness:g} m is within the rounding error of the cloth's coordinates; "
                f"choose at least {lowest:.2g} m, or move the scene nearer to the origin"
            )
        self._cloth = Projection(scene.between_deformables, eps=self.thickness)
        self._bodies = Projection(scene, eps=BODY_SHARE * scene.eps, reads_obstacle_vertices=True)
        count = int(scene.first[-1])
        cloth = leaf_mesh_of(scene, scene.deformable, state.x, count)
        # interior vertices of a solid have no contacts and are not guarded
        on_surface = np.zeros(count, np.bool_)
        on_surface[cloth.top.faces] = True
        self.rows = np.flatnonzero((scene.inverse_masses > 0.0) & on_surface).astype(np.int32)
        self._held = scene.held[on_surface[scene.held]]
        self.driven = np.concatenate([np.zeros(0, np.int32), *(rows_of(scene, b) for b in scene.moving), self._held])
        self._candidates = near_pairs_of(scene, cloth)
        self._obstacles = []
        for b in scene.obstacles if self.safe else ():
            leaf_mesh = leaf_mesh_of(scene, [b], state.x, count)
            self._obstacles.append(Obstacle(NearPairs(cloth, leaf_mesh), rows_of(scene, b), b in scene.moving))
        self._body_of = np.repeat(np.arange(len(scene.bodies), dtype=np.int32), np.diff(scene.first))
        self._max_reach = max(spacing(cloth.top, state.x), 1.5 * self.thickness)
        self._predicts, self._first_pass = False, True
        links = links_of(scene)
        self._rest_keys = self._keys_at_rest(cloth, state.x, links)
        self._free = scene.inverse_masses > 0.0
        rest_length = np.linalg.norm(state.x[links[:, 0]] - state.x[links[:, 1]], axis=1)
        self._carry = Carry(links, rest_length, self._free, self.driven, self._max_reach)
        self._locked = _NONE  # pairs (k,4) that touch in this frame and cannot be opened
        self._rounds_left = 0  # rounds of carrying left in this frame
        self._given_up = np.zeros((count, len(scene.bodies)), np.bool_)  # [vertex, body]: that pair is not guarded
        self._tangled = self.safe  # whether triangles may intersect
        self._counter = IntersectionCount(scene, state.x) if self.safe else None
        self._pass_x = state.x.copy()  # positions of the last detection pass
        self._safe_x = state.x.copy()  # the last positions known to be free of intersections
        self._predicted = np.zeros_like(state.x)  # displacement of each vertex from `_pass_x`
        self._substeps_left = 0  # substeps of this frame after the present one
        self._moved_since_pass = False  # whether a substep has ended since the last detection pass
        self._unhindered = True  # no vertex was held back in this frame
        self._fraction = np.ones(count)  # of its displacement that each vertex may move
        self.contacts = self.obstacle_contacts = _contacts.empty()  # of cloth with cloth, and with bodies
        self._radius = np.zeros(count)
        self.passes, self.failed_substeps = 0, 0
        self.given_up_pairs = 0  # total number of pairs of features given up

    def detection_pass(self, x: Floats, stride: float, motion: Floats | None = None, *, far: float = 0.0) -> float:
        """Detection pass: find all pairs that are near at x, or come near under the displacements `motion` (n,3).

        `stride` is the largest displacement of a substep. `far` limits the relative displacement of any pair: only that
        fraction of the motion is considered. Return the fraction.
        """
        self.passes += 1
        beyond = self.thickness + (1.0 if self.safe else 8.0) * stride
        reach = min(max(beyond, AROUND * self.thickness), self._max_reach)
        self._candidates.a.move(x)
        for body in self._obstacles:
            if self._first_pass or body.moves:
                body.near.b.move(x)
        self._first_pass = False
        share = self._predict(x, motion, reach, far)
        self.contacts = self._records(self._candidates, self._candidates.a, self._candidates.a, reach)
        # in push mode each vertex may use half of the distance beyond the thickness, so that no pair enters it unseen
        radius = _kernels.SHARE * reach if self.safe else 0.49 * (reach - self.thickness)
        self._pass_x[:] = self._safe_x[:] = x
        self._moved_since_pass = False
        self._radius[:] = np.inf
        self._radius[self.rows] = self._radius[self._held] = radius
        self.obstacle_contacts = _contacts.concatenate_unsorted([self._detect_body(body) for body in self._obstacles])
        if self._given_up.any():
            self.contacts = guarded(self.contacts, self._given_up)
            self.obstacle_contacts = guarded(self.obstacle_contacts, self._given_up)
        if self.safe:
            self._rounding = self._rounding_at(x)
            self._least = max(LEAST * self.thickness, 4.0 * self._rounding)
            both = _contacts.concatenate_unsorted([self.contacts, self.obstacle_contacts])
            if len(self._locked):
                both = both[~among(both["vertices"], self._locked)]
            self._guarded = GuardedPairs.of(both, x, self._least, self._rounding)
        if len(self._rest_keys):
            self.contacts = self.contacts[~np.isin(keys(self.contacts), self._rest_keys)]
        return share

    def _predict(self, x: Floats, motion: Floats | None, reach: float, far: float) -> float:
        """Predict the displacements `motion`, or a fraction that keeps the candidates few; return the fraction."""
        self._predicted[:] = 0.0 if motion is None else motion
        self._predicts = motion is not None
        if motion is None:
            return 1.0
        cloth, most = self._candidates.a, 0.0
        bodies = [(b.rows[: b.moves * len(b.rows)], b.box) for b in self._obstacles]
        for rows, box in [(self.rows, _EVERYWHERE), *bodies]:
            most = max(most, _kernels.fastest(self.rows, rows, x, motion, box, reach))
        if not far and most > self._max_reach * (self._substeps_left + 1):
            # less than the present substep: assume no motion instead
            self._predicted[:], self._predicts = 0.0, False
            return 0.0
        share = min(1.0, (far or self._max_reach) / most) if most > 0.0 else 1.0
        if share < 1.0:
            self._predicted *= share
        cloth.predict(self._predicted)
        for body in self._obstacles:
            if body.moves:
                body.near.b.predict(self._predicted)
        return share

    def _detect_body(self, body: Obstacle) -> Contacts:
        """Return the contacts with a body, and bound the motion of vertices that have none."""
        cloth = self._candidates.a
        found = self._records(body.near, cloth, body.near.b, body.reach)
        share = _kernels.SHARE if body.moves else _kernels.STILL
        drifts = (cloth.drift.boxes, body.near.b.drift.nodes[0]) if self._predicts else (np.zeros((0, 6)), np.zeros(6))
        least = _kernels.bound_by_distance(
            cloth.leaves.corners, cloth.at.boxes, body.box, *drifts, body.reach, share, self._radius
        )
        if body.moves:
            self._radius[body.rows] = np.minimum(self._radius[body.rows], _kernels.SHARE * least)
        # adapt the query distance of the next pass in this frame to the number of candidates
        if self._predicts:
            return found
        if len(found) > 4 * len(self.rows):
            body.reach = max(0.6 * body.reach, REACH * self.eps)
        elif body.moves and len(found) < len(self.rows) // 2:
            body.reach = min(1.5 * body.reach, max(self._max_reach, REACH * self.eps))
        return found

    def apply(self, state: State, dt: float) -> None:
        """Project pairs that are too near apart, with friction; the pairs are those of the last detection pass."""
        for found, response in ((self.contacts, self._cloth), (self.obstacle_contacts, self._bodies)):
            _kernels.refresh(found, state.x)
            response.begin(found, state)
            response.apply(found, state, dt)

    def forget(self, state: State) -> None:
        """Clear the corrections of the last `apply`, for a substep in which another response takes its place."""
        for found, response in ((self.contacts, self._cloth), (self.obstacle_contacts, self._bodies)):
            response.begin(found, state)

    def begin(self, state: State, dt: float, steps: int = 1) -> None:
        """Begin a frame of `steps` substeps of dt. Nothing is kept from the last frame, so a resumed run is bitwise
        identical."""
        speed = max(float((state.v[rows] ** 2).sum(1).max(initial=0.0)) for rows in (self.rows, self.driven))
        for body in self._obstacles:
            body.reach = REACH * self.eps
        self._substeps_left, self._unhindered, self._rounds_left, self._locked = steps - 1, True, WORK * steps, _NONE
        unsure = self._tangled or self.failed_substeps > 0
        if unsure:
            self._given_up[:] = False
        # no prediction from a speed that is not finite
        known = bool(np.isfinite(speed))
        now = state.x, speed**0.5 * dt if known else 0.0, state.v * (dt * steps) if known else None
        self.detection_pass(*now)
        tight = self.safe and is_tight(self._guarded, self._least)
        if tight:
            open_up(self, self._free, state.x)
        if unsure:
            self._recover(state.x)
        if tight or self._given_up.any():
            self.detection_pass(*now)
        if tight:
            self._lock_touching(state)

    def _lock_touching(self, state: State) -> None:
        """Count the pairs that could not be opened; the sides of their features are undetermined."""
        locked = self._guarded.gaps <= 2.0 * self._rounding
        if locked.any():
            self._locked, self._guarded = self._guarded.vertices[locked], self._guarded[~locked]
            self.given_up_pairs += len(self._locked)
            text = "%d pairs of features touch within rounding at %.3f s and there is no room to separate them"
            self._count_failure(text, len(self._locked), state.time)

    def _count_failure(self, text: str, *values: float) -> None:
        """Count a failure to keep pairs separated, and warn at the first one."""
        self.failed_substeps += 1
        if self.failed_substeps == 1:
            log.warning("safe mode: " + text + "; these pairs are no longer guarded and may intersect", *values)

    def near_pairs(self, x: Floats) -> tuple[GuardedPairs, Floats, float, float]:
        """Implement `opening.OpeningGuard`."""
        self.detection_pass(x, 0.0)
        return self._guarded, self._radius, self._least, self._rounding

    def intersecting_corners(self, x: Floats) -> Rows:
        """Return the corners (k,6) of all intersecting pairs of triangles at x."""
        found = self._counter.corners(x) if self._counter else []
        return np.concatenate([np.zeros((0, 6), np.int32), *(corners.reshape(-1, 6) for _, _, corners in found)])

    def _rounding_at(self, x: Floats) -> float:
        """Return a bound of the rounding error of distances at x, metres."""
        return ROUNDING * max(float(np.abs(x[rows]).max(initial=0.0)) for rows in (self.rows, self.driven))

    def redetect_if_needed(self, state: State) -> None:
        """Push mode: detect again if an unknown pair may be within the thickness; safe mode does so in `keep`."""
        if not self.safe and not self._follows_prediction(state.x):
            self.detection_pass(state.x, self._stride(state), (state.x - state.x_start) * self._substeps_left)

    def keep(self, state: State, dt: float) -> None:
        """Limit the motion to what is proved free: move up to the bounds, detect again, project, continue."""
        if not self.safe:
            return
        target = state.x
        if self._is_reachable(target):
            self._safe_x[:], self._moved_since_pass = target, True
            return
        stride, x = self._stride(state), self._safe_x.copy()
        if self._moved_since_pass:
            self.detection_pass(x, stride, self._extrapolated(state, x) if self._unhindered else None)
            self.apply(state, dt)
        # cloth cannot be pushed out of the way of a faster body, which has already passed it
        fast = _kernels.farthest(self.driven, x, target) > FAST * self._max_reach
        for rounds in range(PATIENCE):
            left, driven = self._advance(target, x)
            if driven >= 1.0 and (left == 0 or rounds >= ROUNDS):
                break
            # a vertex that is held back does not follow its expected displacement
            self._unhindered = False
            if driven < 1.0 and (fast or rounds == PATIENCE - 1):
                self._carry_along(state, dt, x)
                break
            self.detection_pass(x, stride)
            self.apply(state, dt)
        target[self.rows] = x[self.rows]
        self._safe_x[:], self._moved_since_pass = target, True

    def _carry_along(self, state: State, dt: float, x: Floats) -> None:
        """Move bodies and grips in x to their positions at the end of the substep and carry the cloth along; then let
        the cloth complete the part of its own motion by which it was not carried."""
        target, begin, before = state.x, x.copy(), self.given_up_pairs
        arrived = self._carry.move_driven(self, target, x, max(self._rounds_left, 1))
        self._rounds_left -= self._carry.rounds
        if not arrived:
            x[self.driven] = target[self.driven]
            self.give_up(self._guarded, self._guarded.crossed(self._pass_x, x))
        if self.given_up_pairs > before or not arrived:
            self._count_failure("bodies and grips leave the cloth no room at %.3f s and move on without it", state.time)
        free, carried = self._free, np.linalg.norm(self._carry.carried_by, axis=1)
        own = 1.0 - carried / max(float(carried.max()), 1e-300)
        target[free] = x[free] + own[free, None] * (target - begin)[free]
        for _ in range(AFTER):
            self.detection_pass(x, 0.0)
            self.apply(state, dt)
            if not self._advance(target, x)[0]:
                break

    def pairs_along(self, x: Floats, motion: Floats) -> tuple[float, GuardedPairs, Floats]:
        """Implement `carry.CarryGuard`."""
        share = self.detection_pass(x, 0.0, motion, far=FAR * self._max_reach)
        return share, self._guarded, self._radius

    def give_up(self, pairs: GuardedPairs, which: NDArray[np.bool_]) -> None:
        """Stop guarding the pairs selected by `which` (k,), until the next frame and as long as they intersect."""
        self.given_up_pairs += int(which.sum())
        v, split = pairs.vertices[which], np.where(pairs.kinds[which] == _contacts.VERTEX_FACE, 1, 2)
        for k in range(4):
            other = v[np.arange(len(v)), np.where(k < split, split, 0)]
            self._given_up[v[:, k], self._body_of[other]] = True

    def _recover(self, x: Floats) -> None:
        """Guard given-up pairs again unless they intersect: intersecting triangles have no defined side."""
        found = self.intersections(x)
        self._tangled = bool(found)
        for b, c, corners in found:
            self._given_up[corners[:, 0], c] = self._given_up[corners[:, 1], b] = True

    def intersections(self, x: Floats) -> list[tuple[int, int, Rows]]:
        """Return bodies and corners (k,2,3) of intersecting triangle pairs at x; empty while all were guarded."""
        return self._counter.corners(x) if self._counter and (self._tangled or self.failed_substeps) else []

    def _extrapolated(self, state: State, x: Floats) -> Floats:
        """Return the displacements from x to the end of the frame at constant velocity."""
        return np.asarray((state.x - x) + (state.x - state.x_start) * self._substeps_left)

    def _follows_prediction(self, target: Floats) -> bool:
        """Whether all vertices are within their bounds of the predicted motion at one common time."""
        motion = self._pass_x, self._predicted, target
        one, two = (_kernels.progress(rows, *motion) for rows in (self.rows, self.driven))
        whole = one[1] + two[1]
        t = min(max((one[0] + two[0]) / whole, 0.0), 1.0) if whole > 0.0 else 0.0
        return not any(_kernels.leaves_bounds(rows, self._radius, *motion, t) for rows in (self.rows, self.driven))

    def _is_reachable(self, target: Floats) -> bool:
        """Whether all vertices can move to `target` at once."""
        if not self._follows_prediction(target):
            return False
        self._fraction[:] = 1.0
        held = np.zeros(len(self._guarded.room), np.bool_)
        count = self._guarded.limit(self._pass_x, target, self._fraction, held)
        return not count or float(self._fraction.min()) >= 1.0

    def _advance(self, target: Floats, x: Floats) -> tuple[int, float]:
        """Move x towards `target` as far as is safe; return how many vertices fall short, and the bodies' fraction."""
        if self._is_reachable(target):
            x[self.rows], x[self.driven] = target[self.rows], target[self.driven]
            return 0, 1.0
        for rows in (self.rows, self.driven):
            _kernels.within_ball(rows, self._radius, self._pass_x, target, self._fraction)
        self._fraction[self.driven] = self._fraction[self.driven].min(initial=1.0)
        held = np.zeros(len(self._guarded.room), np.bool_)
        while True:  # every iteration but the last holds at least one more pair
            count = self._guarded.limit(self._pass_x, target, self._fraction, held)
            # bodies and grips keep their shape: all driven vertices move by the smallest fraction among them
            driven = float(self._fraction[self.driven].min(initial=1.0))
            self._fraction[self.driven] = driven
            if not count or driven >= 1.0:
                break
        _kernels.advance(self.driven, self._fraction, self._pass_x, target, x)
        return _kernels.advance(self.rows, self._fraction, self._pass_x, target, x), driven

    def _stride(self, state: State) -> float:
        """Return the largest displacement in this substep, metres."""
        return max(_kernels.farthest(rows, state.x_start, state.x) for rows in (self.rows, self.driven))

    def finish(self, state: State, dt: float) -> None:
        """Correct v for the projected contacts."""
        for found, response in ((self.contacts, self._cloth), (self.obstacle_contacts, self._bodies)):
            response.finish(found, state, dt)
        self._substeps_left = max(self._substeps_left - 1, 0)

    def end_frame(self, state: State, dt: float, detect: Detect) -> None:
        """Do nothing: every substep ends separated."""

    @property
    def found(self) -> Contacts:
        """The contacts within the contact offset, for a frame."""
        parts = [(self.contacts, self.thickness), (self.obstacle_contacts, self._bodies.eps)]
        return _contacts.concatenate_unsorted([found[found["distance"] <= eps] for found, eps in parts])

    def _records(self, pairs: NearPairs, a: LeafMesh, b: LeafMesh, reach: float) -> Contacts:
        return records(pairs, a, b, reach, self._predicted if self._predicts else None, self._body_of)

    def _keys_at_rest(self, cloth: LeafMesh, x: Floats, links: Rows) -> NDArray[np.int64]:
        """Return keys of pairs of mesh neighbours within the thickness at the start; these are not pushed apart."""
        cloth.move(x)
        return near_at_rest(self._records(self._candidates, cloth, cloth, self.thickness), links, len(x))
