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
from ...kernels.simulation import guard as _kernels
from ...respond import Projection
from ...respond.base import Detect
from ...scene import Scene
from ...state import State
from ..measure.intersection_count import IntersectionCount
from ..self_contact import FormerNames
from .carry import Carry
from .detection import ROUNDING, Detection
from .inside import solid_obstacles, vertices_inside
from .opening import is_tight, open_up
from .pairs import GuardedPairs

log = logging.getLogger("pliant.simulation.guard")
Floats = NDArray[np.float64]
Rows = NDArray[np.int32]
ROUNDS = 6  # detection passes with a limited move per substep; then cloth that is still blocked waits for the next
REPREDICTIONS = 3  # per substep, before a detection pass
PATIENCE = 8  # rounds in which bodies wait for cloth to be pushed out of their way before they carry it along
LIMITED = 1  # such rounds per substep of a frame, beyond the first `PATIENCE`: then neither waits any more
FAST = 4.0  # displacement of a body per substep, over the largest query distance, above which it does not wait
WORK = 40  # rounds of carrying per substep of a frame; after them bodies move on without the cloth
AFTER = 2  # rounds in which carried cloth completes its own motion
FAR = 8.0  # relative displacement of a pair in one round of carrying, over the largest query distance
THINNEST = 16.0  # times the rounding error of distances: smallest thickness accepted
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
        self.thickness = _foldable(scene, cast(float, scene.thickness))
        lowest = THINNEST * ROUNDING * float(np.abs(state.x[scene.deformable_rows]).max(initial=0.0))
        if self.safe and self.thickness < lowest:
            raise ValueError(
                f"thickness = {self.thickness:g} m is within the rounding error of the cloth's coordinates; "
                f"choose at least {lowest:.2g} m, or move the scene nearer to the origin"
            )
        self._cloth = Projection(scene.between_deformables, eps=self.thickness)
        self._bodies = Projection(scene, eps=BODY_SHARE * scene.eps, reads_obstacle_vertices=True)
        self._detection = Detection(scene, state.x, self.thickness)
        self.rows, self.driven = self._detection.rows, self._detection.driven
        self._free, links = scene.inverse_masses > 0.0, self._detection.links
        rest_length = np.linalg.norm(state.x[links[:, 0]] - state.x[links[:, 1]], axis=1)
        self._carry = Carry(links, rest_length, self._free, self.driven, self._detection.max_reach)
        self._rounds_left = self._limited_left = 0  # rounds of carrying and of limited moves left in this frame
        self._tangled = self.safe  # whether triangles may intersect, or vertices be inside of bodies
        self._solids = solid_obstacles(scene)
        self._counter = IntersectionCount(scene, state.x) if self.safe else None
        self._safe_x = state.x.copy()  # the last positions known to be free of intersections
        self._moved_since_pass = False  # whether a substep has ended since the last detection pass
        self._unhindered = True  # no vertex was held back in this frame
        self._fraction = np.ones(len(state.x))  # of its displacement that each vertex may move
        self._applied = [_contacts.empty(), _contacts.empty()]  # contacts of the last `apply`, near enough to matter
        self.hindered = False
        self.failed_substeps = 0
        self.given_up_pairs = 0  # total number of pairs of features given up

    @property
    def contacts(self) -> Contacts:
        """The pairs of cloth with cloth of the last detection pass."""
        return self._detection.contacts

    @property
    def obstacle_contacts(self) -> Contacts:
        """The pairs of cloth with bodies of the last detection pass."""
        return self._detection.obstacle_contacts

    @property
    def passes(self) -> int:
        return self._detection.passes

    @property
    def repredictions(self) -> int:
        """How often the motion of a few vertices was predicted anew, which saves a detection pass."""
        return self._detection.repredictions

    def detection_pass(self, x: Floats, stride: float, motion: Floats | None = None, *, far: float = 0.0) -> float:
        """Find all near pairs at x, see `Detection.run`; x is known to be free of intersections."""
        share = self._detection.run(x, stride, motion, far=far)
        self._safe_x[:], self._moved_since_pass = x, False
        return share

    def apply(self, state: State, dt: float) -> None:
        """Project pairs that are too near apart, with friction; the pairs are those of the last detection pass."""
        for k, (found, response) in enumerate(self._parts()):
            near = np.empty(len(found), np.bool_)
            if _kernels.refresh(found, state.x, response.eps, near) < len(found):
                found = found[near]
            response.begin(found, state)
            response.apply(found, state, dt)
            self._applied[k] = found

    def _parts(self) -> list[tuple[Contacts, Projection]]:
        return [(self.contacts, self._cloth), (self.obstacle_contacts, self._bodies)]

    def forget(self, state: State) -> None:
        """Clear the corrections of the last `apply`, for a substep in which another response takes its place."""
        for found, response in zip(self._applied, (self._cloth, self._bodies), strict=True):
            response.begin(found, state)

    def begin(self, state: State, dt: float, steps: int = 1) -> None:
        """Begin a frame of `steps` substeps of dt. Nothing is kept from the last frame, so a resumed run is bitwise
        identical."""
        speed = max(float((state.v[rows] ** 2).sum(1).max(initial=0.0)) for rows in (self.rows, self.driven))
        self._detection.begin_frame(steps)
        self._unhindered, self._rounds_left, self._limited_left = True, WORK * steps, PATIENCE + LIMITED * steps
        unsure = self._tangled or self.failed_substeps > 0
        if unsure:
            self._detection.given_up[:] = False
        # no prediction from a speed that is not finite
        known = bool(np.isfinite(speed))
        now = state.x, speed**0.5 * dt if known else 0.0, state.v * (dt * steps) if known else None
        self.detection_pass(*now)
        tight = self.safe and is_tight(self._detection.guarded, self._detection.least)
        if tight:
            open_up(self, self._free, state.x)
        if unsure:
            self._recover(state.x)
        if tight or self._detection.given_up.any():
            self.detection_pass(*now)
        if tight:
            self._lock_touching(state)

    def _lock_touching(self, state: State) -> None:
        """Count the pairs that could not be opened; the sides of their features are undetermined."""
        detection, pairs = self._detection, self._detection.guarded
        locked = pairs.gaps <= 2.0 * detection.rounding
        if locked.any():
            detection.locked, detection.guarded = pairs.vertices[locked], pairs[~locked]
            self.given_up_pairs += len(detection.locked)
            text = "%d pairs of features touch within rounding at %.3f s and there is no room to separate them"
            self._count_failure(text, len(detection.locked), state.time)

    def _count_failure(self, text: str, *values: float) -> None:
        """Count a failure to keep pairs separated, and warn at the first one."""
        self.failed_substeps += 1
        if self.failed_substeps == 1:
            log.warning("safe mode: " + text + "; these pairs are no longer guarded and may intersect", *values)

    def near_pairs(self, x: Floats) -> tuple[GuardedPairs, Floats, float, float]:
        """Implement `opening.OpeningGuard`."""
        self.detection_pass(x, 0.0)
        return self._detection.guarded, self._detection.radius, self._detection.least, self._detection.rounding

    def intersecting_corners(self, x: Floats) -> Rows:
        """Return the corners (k,6) of all intersecting pairs of triangles at x."""
        found = self._counter.corners(x) if self._counter else []
        return np.concatenate([np.zeros((0, 6), np.int32), *(corners.reshape(-1, 6) for _, _, corners in found)])

    def redetect_if_needed(self, state: State) -> None:
        """Push mode: detect again if an unknown pair may be within the thickness; safe mode does so in `keep`."""
        if not self.safe and not self._detection.follows_prediction(state.x):
            self.detection_pass(state.x, self._stride(state), (state.x - state.x_start) * self._detection.substeps_left)

    def keep(self, state: State, dt: float) -> None:
        """Limit the motion to what is proved free: move up to the bounds, detect again, project, continue."""
        if not self.safe:
            return
        target, self.hindered = state.x, False
        if self._is_reachable(target) or self._repredict(state, dt):
            self._safe_x[:], self._moved_since_pass = target, True
            return
        self.hindered = True
        stride, x = self._stride(state), self._safe_x.copy()
        if self._moved_since_pass:
            self.detection_pass(x, stride, self._extrapolated(state, x) if self._unhindered else None)
            self.apply(state, dt)
        # cloth cannot be pushed out of the way of a faster body, which has already passed it
        fast = _kernels.farthest(self.driven, x, target) > FAST * self._detection.max_reach
        for rounds in range(PATIENCE):
            left, driven = self._advance(target, x)
            hurry = self._limited_left <= 0
            if driven >= 1.0 and (left == 0 or rounds >= ROUNDS or hurry):
                break
            self._limited_left -= 1
            # a vertex that is held back does not follow its expected displacement
            self._unhindered = False
            if driven < 1.0 and (fast or hurry or rounds == PATIENCE - 1):
                self._carry_along(state, dt, x)
                break
            self.detection_pass(x, stride)
            self.apply(state, dt)
        target[self.rows] = x[self.rows]
        self._safe_x[:], self._moved_since_pass = target, True

    def _repredict(self, state: State, dt: float) -> bool:
        """Where few vertices leave their bounds, follow their motion, and push the pairs that are found then. Return
        whether all vertices can move to their targets now."""
        for _ in range(REPREDICTIONS):
            if self._detection.follows_prediction(state.x):
                return False
            new = self._detection.repredict(state.x)
            if new < 0:
                return False
            if new > 0:
                self.apply(state, dt)
            if self._is_reachable(state.x):
                return True
        return False

    def _carry_along(self, state: State, dt: float, x: Floats) -> None:
        """Move bodies and grips in x to their positions at the end of the substep and carry the cloth along; then let
        the cloth complete the part of its own motion by which it was not carried."""
        target, begin, before = state.x, x.copy(), self.given_up_pairs
        arrived = self._carry.move_driven(self, target, x, max(self._rounds_left, 1))
        self._rounds_left -= self._carry.rounds
        if not arrived:
            x[self.driven] = target[self.driven]
            self.give_up(self._detection.guarded, self._detection.guarded.crossed(self._detection.start, x))
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
        share = self.detection_pass(x, 0.0, motion, far=FAR * self._detection.max_reach)
        return share, self._detection.guarded, self._detection.radius

    def give_up(self, pairs: GuardedPairs, which: NDArray[np.bool_]) -> None:
        """Stop guarding the pairs selected by `which` (k,), until the next frame and as long as they intersect."""
        self.given_up_pairs += int(which.sum())
        v, split = pairs.vertices[which], np.where(pairs.kinds[which] == _contacts.VERTEX_FACE, 1, 2)
        for k in range(4):
            other = v[np.arange(len(v)), np.where(k < split, split, 0)]
            self._detection.given_up[v[:, k], self._detection.body_of[other]] = True

    def _recover(self, x: Floats) -> None:
        """Guard given-up pairs again unless they intersect, which leaves their side undefined, or have a vertex inside
        of the body: the detectors push it out, and its surface must not hold it back."""
        found, inside = self.intersections(x), vertices_inside(self._solids, self.rows, x)
        self._tangled = bool(found) or any(len(rows) for _, rows in inside)
        for b, rows in inside:
            self._detection.given_up[rows, b] = True
        for b, c, corners in found:
            self._detection.given_up[corners[:, 0], c] = self._detection.given_up[corners[:, 1], b] = True

    def intersections(self, x: Floats) -> list[tuple[int, int, Rows]]:
        """Return bodies and corners (k,2,3) of intersecting triangle pairs at x; empty while all were guarded."""
        return self._counter.corners(x) if self._counter and (self._tangled or self.failed_substeps) else []

    def _extrapolated(self, state: State, x: Floats) -> Floats:
        """Return the displacements from x to the end of the frame at constant velocity."""
        return np.asarray((state.x - x) + (state.x - state.x_start) * self._detection.substeps_left)

    def _is_reachable(self, target: Floats) -> bool:
        """Whether all vertices can move to `target` at once."""
        if not self._detection.follows_prediction(target):
            return False
        self._fraction[:] = 1.0
        held = np.zeros(len(self._detection.guarded.room), np.bool_)
        count = self._detection.guarded.limit(self._detection.start, target, self._fraction, held)
        return not count or float(self._fraction.min()) >= 1.0

    def _advance(self, target: Floats, x: Floats) -> tuple[int, float]:
        """Move x towards `target` as far as is safe; return how many vertices fall short, and the bodies' fraction."""
        if self._is_reachable(target):
            x[self.rows], x[self.driven] = target[self.rows], target[self.driven]
            return 0, 1.0
        for rows in (self.rows, self.driven):
            _kernels.within_ball(rows, self._detection.radius, self._detection.start, target, self._fraction)
        self._fraction[self.driven] = self._fraction[self.driven].min(initial=1.0)
        held = np.zeros(len(self._detection.guarded.room), np.bool_)
        while True:  # every iteration but the last holds at least one more pair
            count = self._detection.guarded.limit(self._detection.start, target, self._fraction, held)
            # bodies and grips keep their shape: all driven vertices move by the smallest fraction among them
            driven = float(self._fraction[self.driven].min(initial=1.0))
            self._fraction[self.driven] = driven
            if not count or driven >= 1.0:
                break
        _kernels.advance(self.driven, self._fraction, self._detection.start, target, x)
        return _kernels.advance(self.rows, self._fraction, self._detection.start, target, x), driven

    def _stride(self, state: State) -> float:
        """Return the largest displacement in this substep, metres."""
        return max(_kernels.farthest(rows, state.x_start, state.x) for rows in (self.rows, self.driven))

    def finish(self, state: State, dt: float) -> None:
        """Correct v for the projected contacts."""
        for found, response in zip(self._applied, (self._cloth, self._bodies), strict=True):
            response.finish(found, state, dt)
        self._detection.substeps_left = max(self._detection.substeps_left - 1, 0)

    def end_frame(self, state: State, dt: float, detect: Detect) -> None:
        """Do nothing: every substep ends separated."""

    @property
    def found(self) -> Contacts:
        """The contacts within the contact offset, for a frame."""
        parts = zip(self._applied, (self.thickness, self._bodies.eps), strict=True)
        return _contacts.concatenate_unsorted([found[found["distance"] <= eps] for found, eps in parts])


def _foldable(scene: Scene, thickness: float) -> float:
    """Return the thickness, or half of the median edge if that is less: the features of thicker cloth would all be in
    contact with their neighbours, in hundreds of pairs each."""
    edge = max((scene.bodies[b].mesh.welded.median_edge for b in scene.deformable), default=0.0)
    if not 0.0 < 0.5 * edge < thickness:
        return thickness
    text = "thickness = %.3g m is more than half of the median edge of %r, %.3g m: layers are kept %.3g m apart instead"
    log.warning(text, thickness, scene.name, edge, 0.5 * edge)
    return 0.5 * edge
