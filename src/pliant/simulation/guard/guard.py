"""Guard: triangle-level contact of cloth with cloth and bodies; safe mode prevents intersections wherever bodies
and grips leave the cloth room.

In this package *cloth* stands for all deformable bodies and *bodies* for obstacles.

A detection pass finds the near pairs at some positions and bounds how far each vertex may move before a pair that was
not found could meet (see the kernels); before a vertex exceeds its bound, its motion is predicted anew, or the pass is
repeated. An intersection-free state thus stays so for any forces, speeds and step sizes. Bodies and grips follow their
prescribed motion and carry cloth along (see carry.py). Where they leave it no room, pairs are given up, counted, and
guarded again as soon as they are separated.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import contacts as _contacts
from ...contacts import Contacts
from ...dynamics.contact_springs import SOFT
from ...kernels.simulation import bounds as _bounds
from ...kernels.simulation import guard as _kernels
from ...respond import Projection
from ...respond.base import Detect
from ...scene import Scene
from ...state import State
from ..self_contact_interface import NoGuard
from .carry import Carry
from .detection import FEW
from .opening import is_tight, open_up
from .pairs import GuardedPairs, among, gaps_left, too_near
from .prediction import ExpectedMotion
from .unguarded import NONE, Unguarded

Floats = NDArray[np.float64]
Rows = NDArray[np.int32]
ROUNDS = 6  # limited moves in one `limit_motion`, each followed by a measurement of known pairs or a detection pass
REPREDICTIONS = 3  # in one `limit_motion`, before a detection pass
PATIENCE = 8  # rounds in which bodies wait for cloth to be pushed out of their way before they carry it along
# limited rounds of a frame per substep, besides PATIENCE; then bodies carry cloth at once, and blocked cloth waits
LIMITED = 1
FAST = 4.0  # displacement of a body per substep, over the largest query distance, above which it does not wait
PASSES, PASSES_PER_SUBSTEP = 24, 12  # detection passes of a frame, and more per substep; then the guard is degraded
CARRYING = 12  # passes for carrying in a substep even if those of the frame are spent: bodies do not wait
AFTER, LAST = 2, 8  # rounds in which carried cloth completes its own motion, in the last substeps of a frame
FAR = 8.0  # relative displacement in one round of carrying, over the largest query distance
ATTACHED = 0.1  # inverse mass of a vertex attached to skin, over that of cloth, where other cloth pushes it
BODY_SHARE = 0.5  # of eps: contact offset between cloth and the triangles of a body
REPELS_AT = BODY_SHARE + SOFT  # of eps: gap from which on the triangles of a body repel cloth in its solve


class Guard(Unguarded):
    """Contacts of all deformable bodies of a scene with themselves, each other and, in safe mode, the obstacles.

    Implements `SelfContact` with detectors and a response of its own, which have no names.
    """

    method = response_name = ""
    detectors: Sequence[Any] = ()
    iterates, unresolved, hindered, count_near = False, 0, False, NoGuard.count_near

    def __init__(self, scene: Scene, state: State) -> None:
        super().__init__(scene, state)
        w = scene.inverse_masses + ATTACHED * (scene.yielding_inverse_masses - scene.inverse_masses)
        self._cloth_response = Projection(scene.between_deformables, eps=self.thickness, w=w)
        self._body_response = Projection(scene, eps=BODY_SHARE * scene.eps, reads_obstacle_vertices=True)
        self._responses = self._cloth_response, self._body_response
        self._movable = self._cloth_response.w > 0.0, self._body_response.w > 0.0  # vertices that each of them can move
        self.rows, self.driven = self._detection.rows, self._detection.driven
        links = self._detection.links
        rest_length = np.linalg.norm(state.x[links[:, 0]] - state.x[links[:, 1]], axis=1)
        self._expected = ExpectedMotion(len(state.x), self._detection.moving, scene.deformable_rows)
        self._carry = Carry(links, rest_length, self._free, self.driven, self._detection.max_reach)
        self._passes_left = self._limited_left = 0  # detection passes and rounds of limited moves left in this frame
        self._careful = False  # whether bodies leave cloth little room in this frame
        self._safe_x = state.x.copy()  # the last positions free of intersections of guarded pairs
        self._moved_since_measured = False  # whether `limit_motion` has moved cloth since the pairs were measured
        self._applied = [_contacts.empty(), _contacts.empty()]  # contacts of the last `apply`, near enough to matter
        self._near_bodies = _contacts.empty()  # contacts with bodies that pushed or repelled cloth in this substep

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
        return self._detection.repredictions  # each saves a detection pass

    def detection_pass(self, x: Floats, stride: float, motion: Floats | None = None, **options: Any) -> float:
        """Find all near pairs at x, see `Detection.run`; x must be free of intersections of guarded pairs, except in
        the first pass of a frame, after which `begin` gives up those that intersect."""
        self._passes_left -= 1
        share = self._detection.run(x, stride, motion, **options)
        self._remember_safe(x, moved=False)
        return share

    def _remember_safe(self, x: Floats, *, moved: bool) -> None:
        movable, self._moved_since_measured = self._detection.movable, moved
        self._safe_x[movable] = x[movable]

    def apply(self, state: State, dt: float) -> None:
        """Push apart, with friction, those pairs of the last detection pass that are too near."""
        parts = (self.contacts, self._cloth_response), (self.obstacle_contacts, self._body_response)
        for k, (found, response) in enumerate(parts):
            found = self._too_near(found, state.x, response.eps, self._movable[k])
            if len(found) or len(self._applied[k]):
                response.begin(found, state)
                response.apply(found, state, dt)
            self._applied[k] = found
        self._near_bodies = self._applied[1]

    def _too_near(self, found: Contacts, x: Floats, offset: float, free: NDArray[np.bool_]) -> Contacts:
        return too_near(found, self._detection.base, x, offset, free)

    def forget(self, state: State) -> None:
        """Clear the corrections of the last `apply`, for a substep in which another response takes its place."""
        for found, response in zip(self._applied, self._responses, strict=True):
            response.begin(found, state)

    def begin(self, state: State, dt: float, steps: int = 1) -> None:
        """Begin a frame of `steps` substeps of dt. Its result depends on the state alone: runs can be resumed."""
        self._detection.begin_frame(steps)
        self._failed_at, self._limited_left = -1, PATIENCE + LIMITED * steps
        self._passes_left = PASSES + PASSES_PER_SUBSTEP * steps
        self._near_bodies = _contacts.empty()
        self._no_room.begin_frame()
        if unsure := self.is_unsure:
            self._detection.guard_all()
        speed, motion = self._expected.at(state, dt, steps)  # safe mode: the bounds need room for deviations only
        self.detection_pass(*(now := (state.x, 0.0 if self.safe or motion is None else speed * dt, motion)))
        if unsure:
            self._give_up_intersecting(state)
            self._detection.leave_out_given_up()
        if self.safe and is_tight(self._detection.guarded, self._detection.least):
            open_up(self, self._free, state.x)
            self.detection_pass(*now)
            self._exclude_touching(state)
        self._careful = self._detection.gave_up

    def begin_again(self, state: State, dt: float) -> None:
        """Begin a substep of dt after the last one of a frame, with what is left of the work of that frame."""
        left = self._passes_left
        self.begin(state, dt)
        self._passes_left += left - PASSES - PASSES_PER_SUBSTEP

    def near_pairs(self, x: Floats) -> tuple[GuardedPairs, Floats, float, float]:
        """Implement `opening.OpeningGuard`."""
        self.detection_pass(x, 0.0)
        return self._detection.guarded, self._detection.radius, self._detection.least, self._detection.rounding

    def supports(self, state: State) -> Contacts:
        """Implement `SelfContact`: corners and edges of bodies under a triangle, which detectors of points miss."""
        found = self._too_near(self.obstacle_contacts, state.x, REPELS_AT * self.eps, self._movable[1])
        self._near_bodies = found.copy()
        if len(found):
            _kernels.raise_anchors(found, -(1.0 - REPELS_AT) * self.eps, False)  # their gap is larger by this
        return found

    def to_keep_open(self, state: State) -> Contacts:
        found = self._too_near(self.obstacle_contacts, state.x, self.eps, self._free)
        return gaps_left(found, BODY_SHARE * self.eps, closed=self._detection.gave_up)

    def redetect_if_needed(self, state: State) -> None:
        """In push mode, detect again if an unknown pair may be within the thickness; safe mode: `limit_motion`."""
        if not self.safe and not self._detection.follows_prediction(state.x):
            self.detection_pass(state.x, self._stride(state), (state.x - state.x_start) * self._detection.substeps_left)

    def limit_motion(self, state: State, dt: float) -> None:
        """Limit the motion to what is proved free: move up to the bounds, measure or detect, project, and repeat."""
        if not self.safe:
            return
        target, self.hindered = state.x, False  # `target` is the same array: `apply` moves it
        if self._detection.is_reachable(target) or self._repredict(state, dt):
            self._remember_safe(target, moved=True)
            return
        self.hindered = True
        stride, x = self._stride(state), self._safe_x.copy()
        if self._moved_since_measured:
            self._measure_or_detect(state, x, stride)
            self.apply(state, dt)
        # cloth cannot be pushed out of the way of a faster body, which has already passed it
        fast = _bounds.farthest(self.driven, x, target) > FAST * self._detection.max_reach
        for rounds in range(PATIENCE):
            left, driven = self._detection.advance(target, x, careful=self._careful)
            # bodies that push cloth: it may be squeezed, and goes only as far as its bounds in each round
            self._careful |= driven < 1.0
            hurry = self._limited_left <= 0 or self.degraded
            if driven >= 1.0 and (left == 0 or rounds >= ROUNDS or hurry):
                break
            self._limited_left -= 1
            if driven < 1.0 and (fast or hurry or rounds == PATIENCE - 1):
                self._carry_along(state, dt, x)
                break
            self._measure_or_detect(state, x, stride)
            self.apply(state, dt)
        target[self.rows] = x[self.rows]
        self._remember_safe(target, moved=True)
        self.hindered = not self.degraded

    def _measure_or_detect(self, state: State, x: Floats, stride: float) -> None:
        """Measure the known pairs at x if they include every pair that may meet there and on the rest of the motion;
        otherwise run a detection pass."""
        detection = self._detection
        if self._careful:
            known = detection.renew(x, state.x)
        else:
            known = not detection.is_confined and detection.follows_prediction(state.x) and detection.measure(x)
        if known:
            self._remember_safe(x, moved=False)
        elif self._careful:  # bodies follow their prediction, while cloth that they push waits
            motion, far = detection.driven_motion(x, state.x), FAR * detection.max_reach
            self.detection_pass(x, stride, motion, far=far, drives=True)
        else:  # vertices that are held back do not follow their expected displacements
            few = detection.n_hindered <= FEW * len(self.rows)
            motion = (state.x - x) + (state.x - state.x_start) * detection.substeps_left  # to the end of the frame
            self.detection_pass(x, stride, motion if few else None)

    @property
    def degraded(self) -> bool:
        """Whether this frame's budget of detection passes is spent (docs/self-contact.md, bounded work)."""
        return self._passes_left <= 0

    def _repredict(self, state: State, dt: float) -> bool:
        """Where few vertices leave their bounds, follow and push them; return whether all can reach their targets."""
        for _ in range(REPREDICTIONS):
            if self._detection.was_followed:
                return False
            new = self._detection.repredict(state.x)
            if new < 0:
                return False
            if new > 0:
                self.apply(state, dt)
                self.hindered |= any(len(found) > 0 for found in self._applied)  # what is pushed may be stretched
            if self._detection.is_reachable(state.x):
                return True
        return False

    def _carry_along(self, state: State, dt: float, x: Floats) -> None:
        """Move bodies and grips in x to their positions at the end of the substep and carry the cloth along; then let
        the cloth complete the part of its own motion by which it was not carried."""
        target, begin, before = state.x, x.copy(), self.given_up_pairs
        arrived = self._carry.move_driven(self, target, x, max(self._passes_left, CARRYING))
        if not arrived:
            self._leave_behind(target, x)
        if self.given_up_pairs > before or not arrived:
            self._count_failure("bodies and grips leave the cloth no room at %.3f s and move on without it", state.time)
        free, carried = self._free, np.linalg.norm(self._carry.carried_by, axis=1)
        own = 1.0 - carried / max(float(carried.max()), 1e-300)
        target[free] = x[free] + own[free, None] * (target - begin)[free]
        for _ in range(AFTER if self._detection.substeps_left < LAST and not self.degraded else 0):
            self._measure_or_detect(state, x, 0.0)
            self.apply(state, dt)
            if not self._detection.advance(target, x, careful=True)[0]:
                break

    def _leave_behind(self, target: Floats, x: Floats) -> None:
        """Move bodies and grips in x to `target`, and give up all pairs with cloth that they pass through."""
        self.detection_pass(x, 0.0, self._detection.driven_motion(x, target), far=np.inf)
        x[self.driven] = target[self.driven]
        self.give_up(self._detection.guarded, self._detection.guarded.crossed(self._detection.start, x))

    def pairs_along(self, x: Floats, motion: Floats) -> tuple[float, GuardedPairs, Floats]:
        """Implement `carry.CarryGuard`."""
        if self._detection.covers(x, motion) and self._detection.measure(x):
            self._remember_safe(x, moved=False)
            return 1.0, self._detection.guarded, self._detection.radius_left
        share = self.detection_pass(x, 0.0, motion, far=FAR * self._detection.max_reach)
        return share, self._detection.guarded, self._detection.radius

    def release(self, state: State, stretched: Rows) -> Rows:
        """Stop guarding, and count, cloth that is stretched beyond its limit where bodies leave it no room: of the ends
        of the `stretched` edges (k,2) those that bodies squeeze from both sides, or that such edges join to vertices
        without room. Return them."""
        if not self.safe or not self._detection.obstacles or self.degraded:
            return NONE
        ends = np.unique(stretched)
        self.detection_pass(self._safe_x.copy(), 0.0)
        squeezed_pairs, joined = self.give_up_squeezed(ends), self._no_room.spread(stretched)
        for rows, b in joined:
            self._detection.give_up(rows, b)
            self.given_up_pairs += len(rows)
        if not self.give_up_beside(ends) and not squeezed_pairs and not joined:
            return NONE
        self._count_failure("bodies leave the cloth no room at %.3f s", state.time)
        self.hindered = True  # so that the strain is limited again
        self.detection_pass(self._safe_x.copy(), 0.0)
        return ends[self._detection.given_up[ends].any(1)]

    def _stride(self, state: State) -> float:
        """Return the largest displacement in this substep, metres."""
        return float(_bounds.farthest(self._detection.moving, state.x_start, state.x))

    def finish(self, state: State, dt: float) -> None:
        """Correct v for the projected contacts."""
        for found, response in zip(self._applied, self._responses, strict=True):
            response.finish(found, state, dt)
        if self.safe and self._detection.substeps_left == 0:
            self._no_room.remember_sides(state)
        self._detection.substeps_left = max(self._detection.substeps_left - 1, 0)

    def end_frame(self, state: State, dt: float, detect: Detect) -> None:
        """Do nothing: this response does not iterate."""

    @property
    def found(self) -> Contacts:
        """The contacts of cloth with cloth within the thickness."""
        return self._applied[0][self._applied[0]["distance"] <= self.thickness]

    def under_triangles(self, reported: Contacts) -> Contacts:
        found = self._near_bodies
        found = found[(found["kind"] != _contacts.VERTEX_FACE) | ~self._soft[found["vertices"][:, 0]]]
        if not len(found):
            return found
        return found[~among(np.sort(found["vertices"], 1), np.sort(reported["vertices"], 1))]
