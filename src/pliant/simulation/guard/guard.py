"""Guard: triangle-level contact of cloth with cloth and bodies; safe mode prevents all intersections.

A detection pass finds the near pairs at some positions and bounds how far each vertex may move before a pair that was
not found could meet (see the kernels); before a vertex exceeds its bound, the pass is repeated. An intersection-free
state thus stays so for any forces, speeds and step sizes. Bodies and grips follow their prescribed motion and
carry cloth along (see carry.py). Where they leave it no room, pairs are given up, counted, and guarded again as soon as
they are separated.
"""

import logging
from collections.abc import Sequence
from typing import Any, ClassVar

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
from ..self_contact import FormerNames
from .carry import Carry
from .intersections import IntersectionCount
from .opening import is_tight, open_up
from .pairs import GuardedPairs, Other, among, guarded, keys, leaf_mesh_of, near_at_rest, records, rows_of, spacing

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
    method = responds = ""
    detectors: Sequence[Any] = ()
    iterates, unresolved = False, 0

    def __init__(self, scene: Scene, state: State) -> None:
        self.safe = scene.self_contact == "safe"
        self.eps = scene.eps
        self.thickness = scene.eps if scene.thickness is None else scene.thickness
        lowest = THINNEST * ROUNDING * float(np.abs(state.x[scene.deformable_rows]).max(initial=0.0))
        if self.safe and self.thickness < lowest:
            raise ValueError(
                f"thickness = {self.thickness:g} m is within the rounding error of the cloth's coordinates; "
                f"choose at least {lowest:.2g} m, or move the scene nearer to the origin"
            )
        self._cloth = Projection(scene, eps=self.thickness)
        self._bodies = Projection(scene, eps=BODY_SHARE * scene.eps, obstacles=True)
        count = int(scene.first[-1])
        soft = leaf_mesh_of(scene, scene.deformable, state.x, count)
        # interior vertices of a solid have no contacts and are not guarded
        skin = np.zeros(count, np.bool_)
        skin[soft.top.faces] = True
        self.rows = np.flatnonzero((scene.inverse_masses > 0.0) & skin).astype(np.int32)
        self._held = scene.held[skin[scene.held]]
        self.driven = np.concatenate([np.zeros(0, np.int32), *(rows_of(scene, b) for b in scene.moving), self._held])
        self._near = NearPairs(soft)
        self._others = []
        for b in scene.obstacles if self.safe else ():
            leaf_mesh = leaf_mesh_of(scene, [b], state.x, count)
            self._others.append(Other(NearPairs(soft, leaf_mesh), rows_of(scene, b), b in scene.moving))
        self._body_of = np.repeat(np.arange(len(scene.bodies), dtype=np.int32), np.diff(scene.first))
        self._largest = max(spacing(soft.top, state.x), 1.5 * self.thickness)
        self._drifts = False
        parts = [scene.bodies[b].mesh.welded.links + np.int32(scene.first[b]) for b in scene.deformable]
        links = np.concatenate([np.zeros((0, 2), np.int32), *parts])
        self._settled = self._rest(soft, state.x, links)
        self._free = scene.inverse_masses > 0.0
        long = np.linalg.norm(state.x[links[:, 0]] - state.x[links[:, 1]], axis=1)
        self._carry = Carry(links, long, self._free, self.driven, self._largest)
        self._locked = _NONE  # pairs (k,4) that touch in this frame and cannot be opened
        self._left = 0  # rounds of carrying left in this frame
        self._given_up = np.zeros((count, len(scene.bodies)), np.bool_)  # [vertex, body]: that pair is not guarded
        self._tangled = self.safe  # whether triangles may intersect
        self._exact = IntersectionCount(scene, state.x) if self.safe else None
        self.seen = state.x.copy()
        self._at = state.x.copy()  # the last positions known to be free of intersections
        self._way = np.zeros_like(state.x)  # expected displacement of each vertex from `seen`
        self._steps = 0  # substeps of this frame after the present one
        self._gone = False
        self._calm = True  # no vertex was held back in this frame
        self.part = np.ones(count)
        self.contacts = self.touching = _contacts.empty()
        self._radius = np.zeros(count)
        self.passes, self.failed_substeps = 0, 0
        self.given_up_pairs = 0  # total number of pairs of features given up
        self._first = True

    def detection_pass(self, x: Floats, stride: float, way: Floats | None = None, *, far: float = 0.0) -> float:
        """Detection pass: find all pairs that are near at x, or come near under the displacements `way` (n,3).

        `stride` is the largest displacement of a substep. `far` limits the relative displacement of any pair: only that
        fraction of the way is considered. Return the fraction.
        """
        self.passes += 1
        reach = min(max(self.thickness + (1.0 if self.safe else 8.0) * stride, AROUND * self.thickness), self._largest)
        self._near.a.move(x)
        for body in self._others:
            if self._first or body.moves:
                body.near.b.move(x)
        self._first = False
        share = self._expect(x, way, reach, far)
        self.contacts = self._records(self._near, self._near.a, self._near.a, reach)
        # in push mode each vertex may use half of the distance beyond the thickness, so that no pair enters it unseen
        radius = _kernels.SHARE * reach if self.safe else 0.49 * (reach - self.thickness)
        self.seen[:] = self._at[:] = x
        self._gone = False
        self._radius[:] = np.inf
        self._radius[self.rows] = self._radius[self._held] = radius
        self.touching = _contacts.join([self._detect_body(body) for body in self._others])
        if self._given_up.any():
            self.contacts, self.touching = (guarded(c, self._given_up) for c in (self.contacts, self.touching))
        if self.safe:
            self._rounding = self._rounding_at(x)
            self._least = max(LEAST * self.thickness, 4.0 * self._rounding)
            both = _contacts.join([self.contacts, self.touching])
            if len(self._locked):
                both = both[~among(both["vertices"], self._locked)]
            self._walls = GuardedPairs.of(both, x, self._least, self._rounding)
        if len(self._settled):
            self.contacts = self.contacts[~np.isin(keys(self.contacts), self._settled)]
        return share

    def _expect(self, x: Floats, way: Floats | None, reach: float, far: float) -> float:
        """Expect the displacements `way`, or a fraction that keeps the candidates few; return the fraction."""
        self._way[:] = 0.0 if way is None else way
        self._drifts = way is not None
        if way is None:
            return 1.0
        soft, most = self._near.a, 0.0
        for rows, box in [(self.rows, _EVERYWHERE), *((b.rows[: b.moves * len(b.rows)], b.box) for b in self._others)]:
            most = max(most, _kernels.fastest(self.rows, rows, x, way, box, reach))
        if not far and most > self._largest * (self._steps + 1):
            # less than the present substep: assume no motion instead
            self._way[:], self._drifts = 0.0, False
            return 0.0
        share = min(1.0, (far or self._largest) / most) if most > 0.0 else 1.0
        if share < 1.0:
            self._way *= share
        soft.send(self._way)
        for body in self._others:
            if body.moves:
                body.near.b.send(self._way)
        return share

    def _detect_body(self, body: Other) -> Contacts:
        """Return the contacts with a body, and bound the motion of vertices that have none."""
        soft = self._near.a
        found = self._records(body.near, soft, body.near.b, body.reach)
        share = _kernels.SHARE if body.moves else _kernels.STILL
        drifts = (soft.drift.boxes, body.near.b.drift.nodes[0]) if self._drifts else (np.zeros((0, 6)), np.zeros(6))
        least = _kernels.far_from(
            soft.leaves.corners, soft.at.boxes, body.box, *drifts, body.reach, share, self._radius
        )
        if body.moves:
            self._radius[body.rows] = np.minimum(self._radius[body.rows], _kernels.SHARE * least)
        # adapt the query distance of the next pass in this frame to the number of candidates
        if self._drifts:
            return found
        if len(found) > 4 * len(self.rows):
            body.reach = max(0.6 * body.reach, REACH * self.eps)
        elif body.moves and len(found) < len(self.rows) // 2:
            body.reach = min(1.5 * body.reach, max(self._largest, REACH * self.eps))
        return found

    def apply(self, state: State, dt: float) -> None:
        """Project pairs that are too near apart, with friction; the pairs are those of the last detection pass."""
        for found, response in ((self.contacts, self._cloth), (self.touching, self._bodies)):
            _kernels.refresh(found, state.x)
            response.begin(found, state)
            response.apply(found, state, dt)

    def forget(self, state: State) -> None:
        """Clear the impulses of this substep."""
        for found, response in ((self.contacts, self._cloth), (self.touching, self._bodies)):
            response.begin(found, state)

    def begin(self, state: State, dt: float, steps: int = 1) -> None:
        """Begin a frame of `steps` substeps of dt. Nothing is kept from the last frame, so a resumed run is bitwise
        identical."""
        speed = max(float((state.v[rows] ** 2).sum(1).max(initial=0.0)) for rows in (self.rows, self.driven))
        for body in self._others:
            body.reach = REACH * self.eps
        self._steps, self._calm, self._left, self._locked = steps - 1, True, WORK * steps, _NONE
        unsure = self._tangled or self.failed_substeps > 0
        if unsure:
            self._given_up[:] = False
        # no prediction from a speed that is not finite
        known = bool(np.isfinite(speed))
        now = state.x, speed**0.5 * dt if known else 0.0, state.v * (dt * steps) if known else None
        self.detection_pass(*now)
        tight = self.safe and is_tight(self._walls, self._least)
        if tight:
            open_up(self, self._free, state.x)
        if unsure:
            self._recover(state.x)
        if tight or self._given_up.any():
            self.detection_pass(*now)
        if tight:
            self._tell_touching(state)

    def _tell_touching(self, state: State) -> None:
        """Count the pairs that could not be opened; the sides of their features are undetermined."""
        locked = self._walls.gaps <= 2.0 * self._rounding
        if locked.any():
            self._locked, self._walls = self._walls.vertices[locked], self._walls[~locked]
            self.given_up_pairs += len(self._locked)
            said = "%d pairs of features touch within rounding at %.3f s and there is no room to separate them"
            self._force(said, len(self._locked), state.time)

    def _force(self, said: str, *values: float) -> None:
        """Count a failure to keep pairs separated, and warn at the first one."""
        self.failed_substeps += 1
        if self.failed_substeps == 1:
            log.warning("safe mode: " + said + "; these pairs are no longer guarded and may intersect", *values)

    def near(self, x: Floats) -> tuple[GuardedPairs, Floats, float, float]:
        """Implement `opening.GuardView`."""
        self.detection_pass(x, 0.0)
        return self._walls, self._radius, self._least, self._rounding

    def meeting(self, x: Floats) -> Rows:
        """Return the corners (k,6) of all intersecting pairs of triangles at x."""
        found = self._exact.corners(x) if self._exact else []
        return np.concatenate([np.zeros((0, 6), np.int32), *(corners.reshape(-1, 6) for _, _, corners in found)])

    def _rounding_at(self, x: Floats) -> float:
        """Return a bound of the rounding error of distances at x, metres."""
        return ROUNDING * max(float(np.abs(x[rows]).max(initial=0.0)) for rows in (self.rows, self.driven))

    def follow(self, state: State) -> None:
        """Push mode: detect again if an unknown pair may be within the thickness; safe mode does so in `keep`."""
        if not self.safe and not self._expected(state.x):
            self.detection_pass(state.x, self._stride(state), (state.x - state.x_start) * self._steps)

    def keep(self, state: State, dt: float) -> None:
        """Limit the motion to what is proved free: move up to the bounds, detect again, project, continue."""
        if not self.safe:
            return
        target = state.x
        if self._arrives(target):
            self._at[:], self._gone = target, True
            return
        stride, x = self._stride(state), self._at.copy()
        if self._gone:
            self.detection_pass(x, stride, self._ahead(state, x) if self._calm else None)
            self.apply(state, dt)
        # cloth cannot be pushed out of the way of a faster body, which has already passed it
        fast = _kernels.farthest(self.driven, x, target) > FAST * self._largest
        for rounds in range(PATIENCE):
            left, driven = self._go(target, x)
            if driven >= 1.0 and (left == 0 or rounds >= ROUNDS):
                break
            # a vertex that is held back does not follow its expected displacement
            self._calm = False
            if driven < 1.0 and (fast or rounds == PATIENCE - 1):
                self._carry_along(state, dt, x)
                break
            self.detection_pass(x, stride)
            self.apply(state, dt)
        target[self.rows] = x[self.rows]
        self._at[:], self._gone = target, True

    def _carry_along(self, state: State, dt: float, x: Floats) -> None:
        """Move bodies and grips in x to their positions at the end of the substep and carry the cloth along; then let
        the cloth complete the part of its own motion by which it was not carried."""
        target, begin, before = state.x, x.copy(), self.given_up_pairs
        arrived = self._carry.bring(self, target, x, max(self._left, 1))
        self._left -= self._carry.rounds
        if not arrived:
            x[self.driven] = target[self.driven]
            self.give_up(self._walls, self._walls.crossed(self.seen, x))
        if self.given_up_pairs > before or not arrived:
            self._force("bodies and grips leave the cloth no room at %.3f s and move on without it", state.time)
        free, gone = self._free, np.linalg.norm(self._carry.gone, axis=1)
        own = 1.0 - gone / max(float(gone.max()), 1e-300)
        target[free] = x[free] + own[free, None] * (target - begin)[free]
        for _ in range(AFTER):
            self.detection_pass(x, 0.0)
            self.apply(state, dt)
            if not self._go(target, x)[0]:
                break

    def along(self, x: Floats, way: Floats) -> tuple[float, GuardedPairs, Floats]:
        """Implement `carry.GuardView`."""
        share = self.detection_pass(x, 0.0, way, far=FAR * self._largest)
        return share, self._walls, self._radius

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
        return self._exact.corners(x) if self._exact and (self._tangled or self.failed_substeps) else []

    def _ahead(self, state: State, x: Floats) -> Floats:
        """Return the displacements from x to the end of the frame at constant velocity."""
        return np.asarray((state.x - x) + (state.x - state.x_start) * self._steps)

    def _expected(self, target: Floats) -> bool:
        """Whether all vertices are within their bounds of the expected motion at one common time."""
        go = self.seen, self._way, target
        one, two = (_kernels.progress(rows, *go) for rows in (self.rows, self.driven))
        whole = one[1] + two[1]
        t = min(max((one[0] + two[0]) / whole, 0.0), 1.0) if whole > 0.0 else 0.0
        return not any(_kernels.strays(rows, self._radius, *go, t) for rows in (self.rows, self.driven))

    def _arrives(self, target: Floats) -> bool:
        """Whether all vertices can move to `target` at once."""
        if not self._expected(target):
            return False
        self.part[:] = 1.0
        held = np.zeros(len(self._walls.room), np.bool_)
        count = self._walls.limit(self.seen, target, self.part, held)
        return not count or float(self.part.min()) >= 1.0

    def _go(self, target: Floats, x: Floats) -> tuple[int, float]:
        """Move x towards `target` as far as is safe; return how many vertices fall short, and the bodies' fraction."""
        if self._arrives(target):
            x[self.rows], x[self.driven] = target[self.rows], target[self.driven]
            return 0, 1.0
        for rows in (self.rows, self.driven):
            _kernels.within_ball(rows, self._radius, self.seen, target, self.part)
        self.part[self.driven] = self.part[self.driven].min(initial=1.0)
        held = np.zeros(len(self._walls.room), np.bool_)
        while True:  # every iteration but the last holds at least one more pair
            count = self._walls.limit(self.seen, target, self.part, held)
            # bodies and grips keep their shape: all driven vertices move by the smallest fraction among them
            driven = float(self.part[self.driven].min(initial=1.0))
            self.part[self.driven] = driven
            if not count or driven >= 1.0:
                break
        _kernels.go(self.driven, self.part, self.seen, target, x)
        return _kernels.go(self.rows, self.part, self.seen, target, x), driven

    def _stride(self, state: State) -> float:
        """Return the largest displacement in this substep, metres."""
        return max(_kernels.farthest(rows, state.x_start, state.x) for rows in (self.rows, self.driven))

    def finish(self, state: State, dt: float) -> None:
        """Correct v for the projected contacts."""
        for found, response in ((self.contacts, self._cloth), (self.touching, self._bodies)):
            response.finish(found, state, dt)
        self._steps = max(self._steps - 1, 0)

    def end_frame(self, state: State, dt: float, detect: Detect) -> None:
        """Do nothing: every substep ends separated."""

    @property
    def found(self) -> Contacts:
        """The contacts within the contact offset, for a frame."""
        parts = [(self.contacts, self.thickness), (self.touching, self._bodies.eps)]
        return _contacts.join([found[found["distance"] <= eps] for found, eps in parts])

    def _records(self, pairs: NearPairs, a: LeafMesh, b: LeafMesh, reach: float) -> Contacts:
        return records(pairs, a, b, reach, self._way if self._drifts else None, self._body_of)

    def _rest(self, soft: LeafMesh, x: Floats, links: Rows) -> NDArray[np.int64]:
        """Return keys of pairs of mesh neighbours within the thickness at the start; these are not pushed apart."""
        soft.move(x)
        return near_at_rest(self._records(self._near, soft, soft, self.thickness), links, len(x))
