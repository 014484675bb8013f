"""Detection passes of the guard, and the bounds within which their results hold.

A pass finds the pairs that are near at some positions, or come near during a predicted motion, and bounds how far each
vertex may deviate from that motion before a pair that was not found could meet. Nothing is kept from one frame to the
next.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import contacts as _contacts
from ...contacts import Contacts
from ...detect.queries.approach import approaching
from ...detect.queries.proximity import NearPairs
from ...kernels.simulation import bounds as _bounds
from ...kernels.simulation import guard as _kernels
from ...kernels.simulation.bounds import MovingTriangles
from ...scene import Scene
from .limits import Limits
from .pairs import (
    GuardedPairs,
    Obstacle,
    contained,
    guarded,
    joined,
    keys,
    largest_query_distance,
    leaf_mesh_of,
    measure,
    near_at_rest,
    records,
    rows_of,
    with_any,
    without,
)
from .sewing import SeamNeighbours, links_of, near_pairs_of

Floats = NDArray[np.float64]
Rows = NDArray[np.int32]
AROUND = 1.5  # of the thickness: smallest query distance around cloth
REACH = 0.75  # of eps: initial query distance around a body; cloth usually rests farther away
AHEAD = 32.0  # relative displacement that is predicted for a frame, over the largest query distance
A_SUBSTEP = 8.0  # the same for a substep; if it is greater, no motion is predicted
FEW = 0.1  # of all vertices that may leave their bounds; if there are more, a new pass takes less time
FOLLOWING = 0.8, 0.1  # shares of the distance for cloth and for a body that follows its prediction
USED = 0.25  # of its bound: a vertex beyond that, which may need more, gets a new one where cloth is squeezed
LEAVING = 0.5  # of its bound: a vertex beyond that is predicted anew together with those that leave theirs
OVERSHOOT = 0.5  # of its bound by which a vertex that left it is predicted to go beyond where it is
SHORTEST = 0.5  # of a substep: least time from which the velocity of such a vertex is computed
ATTEMPTS = 3  # to predict anew the few vertices that known pairs hold back, before all are confined to their bounds
LEAST = 0.01  # of the thickness: gap that is always kept
ROUNDING = 2.0**-49  # of the largest coordinate: bound of the rounding error of a distance
_EVERYWHERE = np.array([-np.inf] * 3 + [np.inf] * 3)
_NONE = np.zeros((0, 5), np.int32)
_ALL = np.zeros(0, np.int32)
_NO_FACES = np.zeros((0, 3), np.int32)
_NO_DRIFT, _STATIC = np.zeros((0, 3)), np.zeros(6)


class Detection(Limits):
    """The near pairs of all deformable bodies of a scene with themselves, each other and, in safe mode, the obstacles,
    at positions x (n,3)."""

    def __init__(self, scene: Scene, x: Floats, thickness: float) -> None:
        self.safe, self.eps, self.thickness = scene.self_contact == "safe", scene.eps, thickness
        count, self.cloths = int(scene.first[-1]), frozenset(scene.deformable)
        self._cloth = cloth = leaf_mesh_of(scene, scene.deformable, x, count)
        # interior vertices of a solid have no contacts and are not guarded
        on_surface = np.zeros(count, np.bool_)
        on_surface[cloth.top.faces] = True
        free, gripped = scene.yielding_inverse_masses > 0.0, scene.gripped_rows
        self._held = gripped[on_surface[gripped] & ~free[gripped]]
        driven = np.concatenate([np.zeros(0, np.int32), *(rows_of(scene, b) for b in scene.moving), self._held])
        super().__init__(x, np.flatnonzero(free & on_surface).astype(np.int32), driven)
        soft = scene.deformable_rows
        ends = np.concatenate([[soft.start, soft.stop], *(scene.first[b : b + 2] for b in scene.moving)])
        self.movable = slice(int(ends.min()), int(ends.max()))  # contains all of these, and all of deformable bodies
        self._near = near_pairs_of(scene, cloth)
        self.obstacles = []
        for b in scene.obstacles if self.safe else ():
            leaf_mesh = leaf_mesh_of(scene, [b], x, count, patches=False)
            self.obstacles.append(Obstacle(NearPairs(cloth, leaf_mesh), rows_of(scene, b), b in scene.moving))
        self.obstacle_faces = np.concatenate([_NO_FACES, *(body.near.b.top.faces for body in self.obstacles)])
        self.body_of = np.repeat(np.arange(len(scene.bodies), dtype=np.int32), np.diff(scene.first))
        self.max_reach = max(largest_query_distance(cloth.top, x), AROUND * thickness)
        self.links = links_of(scene)
        self._seams = SeamNeighbours(scene, self.links)
        self._first_pass = True
        self._predicts = False  # whether any motion is predicted
        self._restarted = False  # whether the predicted motion has restarted since the last search
        self.is_confined = False  # whether the bounds, not only known pairs, limited the last `advance`
        self.n_hindered = 0  # number of vertices that known pairs held back then
        self._unguarded = _NONE  # kinds and vertices (k,5) of pairs that touch in this frame and cannot be opened
        self.given_up = np.zeros((count, len(scene.bodies)), np.bool_)  # [vertex, body]: no pair of these is guarded
        self.gave_up = False  # whether any is
        self._is_current = True  # whether no pair was given up since the last pass
        self.contacts = self.obstacle_contacts = _contacts.empty()  # of cloth with cloth, and with bodies
        self._found = self.contacts, self.obstacle_contacts  # all of the last pass, including those given up
        self._reach = 0.0  # query distance around cloth of the last pass
        self.passes = self.repredictions = 0
        self._rest_keys = self._keys_at_rest(x)

    def begin_frame(self, steps: int) -> None:
        """Begin a frame of `steps` substeps."""
        self.substeps_left, self._unguarded = steps - 1, _NONE
        self._horizon.begin_frame(steps)
        for body in self.obstacles:
            body.reach = REACH * self.eps

    def run(
        self, x: Floats, stride: float, motion: Floats | None = None, *, far: float = 0.0, drives: bool = False
    ) -> float:
        """Detection pass: find all pairs that are near at x, or come near under the displacements `motion` (n,3).

        `stride` is the largest displacement of a substep. `far` limits the displacement of any vertex relative to the
        mean of the cloth or of a body that it can come near, metres: only the fraction of the motion within it is
        considered; 0 limits it by AHEAD. `drives`: only bodies and grips move. Return the fraction: 1 without motion, 0
        where it is too fast to be predicted.
        """
        self.passes += 1
        beyond = self.thickness + (1.0 if self.safe else 8.0) * stride
        self._reach = reach = min(max(beyond, AROUND * self.thickness), self.max_reach)
        movable = self.movable
        self.start[movable] = self._base[movable] = x[movable]
        self._time, self._base_is_known, self.is_confined = 0.0, True, False
        queries = [(self._near, reach), *((body.near, body.reach) for body in self.obstacles)]
        share, found = self._predict(x, motion, reach, far), self._near_pairs(queries)
        while self._predicts and not far and self._horizon.shorten(found, queries, len(self.rows), self.substeps_left):
            share, found = self._predict(x, motion, reach, far), self._near_pairs(queries)
        self._horizon.begin(self.substeps_left)
        self._drives = drives and self._predicts
        self.radius[movable] = np.inf
        self.radius[self._span] = self.radius[self._held] = self._bound(reach)
        for body, near in zip(self.obstacles, found[1:], strict=True):
            self._bound_by_body(body, len(near))
        self._found = found[0], joined(found[1:])
        if self.safe:
            self.rounding = self._rounding_at(x)
            self.least = max(LEAST * self.thickness, 4.0 * self.rounding)
        self.leave_out_given_up()
        return share

    def give_up(self, rows: NDArray[Any], bodies: NDArray[Any] | int) -> None:
        """Stop guarding vertices of cloth against bodies, until the next frame: from the next pass on."""
        self.given_up[rows, bodies], self._is_current = True, False
        self.gave_up |= len(rows) > 0

    def guard_all(self) -> None:
        """Guard all vertices again: from the next pass on."""
        if self.gave_up:
            self.given_up[:], self.gave_up = False, False

    def leave_out_given_up(self) -> None:
        """Take the pairs of the last pass, without those that are given up by now."""
        self._is_current, (cloth, bodies) = True, self._found
        if self.gave_up:
            cloth, bodies = guarded(cloth, self.given_up), guarded(bodies, self.given_up)
        if self.safe:
            self.guarded = self._guard(cloth, bodies)
        self.contacts, self.obstacle_contacts = self._pushed(cloth), bodies

    def _move(self) -> None:
        """Move cloth and moving bodies to the start of the predicted motion, and predict their displacements."""
        self._cloth.move_along(self.start, self.predicted)
        for body in self.obstacles:
            if body.moves:
                body.near.b.move_along(self.start, self.predicted)

    def measure(self, x: Floats) -> bool:
        """Measure all pairs of the last pass anew at x, which must be free of intersections. Return whether x is within
        the bounds, outside of which there may be others."""
        t = self._progress(x)
        if not self._is_within_bounds(x, t):
            return False
        self._base[self.movable] = x[self.movable]
        self._time, self._base_is_known = t, True
        self.rounding = self._rounding_at(x)
        self.least = max(LEAST * self.thickness, 4.0 * self.rounding)
        self.guarded = self.guarded.measured(x, self.least, self.rounding)
        for found in (self.contacts, self.obstacle_contacts):
            measure(found, x)
        return True

    def renew(self, x: Floats, target: Floats) -> bool:
        """Measure all pairs of the last pass anew at x, which must be free of intersections, and find again those of
        the few vertices that have used much of their bounds. Return whether that is enough: not if these are many, or
        if bodies leave their bounds on the way to `target`."""
        t, outside = self._progress(x), np.empty(len(x), np.bool_)
        if not self._is_current or _bounds.leaves_bounds(self.driven, self._bounds, target, self._arrival, 1.0):
            return False
        count = _bounds.outside_bounds(self.rows, self._bounds, x, t, USED, np.inf, outside)
        if count > FEW * len(self.rows) or not self.measure(x):
            return False
        if count:
            self._restart_at_base()
            self.start[outside], self.predicted[outside] = self._base[outside], 0.0
            self._find_again(outside)
        return self._base_is_known

    def covers(self, x: Floats, motion: Floats) -> bool:
        """Whether the pairs of the last pass include all that may meet under the displacements `motion` (n,3) from x:
        whether both ends of this motion are within the bounds."""
        return self._is_current and all(self._is_within_bounds(end, self._progress(end)) for end in (x, x + motion))

    def advance(self, target: Floats, x: Floats, *, careful: bool) -> tuple[int, float]:
        """Move x towards `target` as far as is safe; `careful`: if not all can reach it, by no more than their bounds
        at the base. Return how many vertices fall short, and the fraction of the driven vertices."""
        self.is_confined, self.n_hindered = False, 0
        if self.is_reachable(target):
            x[self.rows], x[self.driven] = target[self.rows], target[self.driven]
            return 0, 1.0
        for attempt in range(ATTEMPTS if self._predicts and not careful else 0):
            # few vertices are held back by known pairs: all others complete their motion
            self._fraction[:] = 1.0
            left, driven = self._limited(target, x)
            if attempt == 0:
                self.n_hindered = left
            if driven < 1.0:
                break
            if self._base_is_known and self.follows_prediction(x):
                return left, driven
            if self.repredict(x) < 0:
                break
        self.is_confined = True
        if self._base_is_known:
            _bounds.within_ball(self.moving, self._bounds, self._base, self._arrival, target, self._fraction)
        else:
            self._fraction[:] = 0.0
        return self._limited(target, x)

    def repredict(self, target: Floats) -> int:
        """Predict anew the motion of the vertices that `target` places outside their bounds, if they are few and not
        too far outside, and find all pairs that come near them. Return the number of those that are pushed, or -1 if a
        detection pass is needed."""
        t = self._progress(target)
        if not self._predicts or self._drives or _bounds.leaves_bounds(self.driven, self._bounds, target, t, 1.0):
            return -1
        outside = self._leaving(target, t)
        if outside is None or not self._horizon.count_reprediction():
            return -1
        self.repredictions += 1
        t = max(self._restart_at_base(t), SHORTEST * self._horizon.substep)
        _bounds.turn_towards(outside, self._bounds, self._base, target, t, OVERSHOOT)
        count = self._find_again(outside)
        return count if self._base_is_known else -1

    def _restart_at_base(self, t: float = 0.0) -> float:
        """Restart the predicted motion at the time of the base, and return t rescaled to the remaining motion."""
        self._restarted = self._time > 0.0
        if self._restarted:
            self.start[self.movable] += self._time * self.predicted[self.movable]
            self.predicted[self.movable] *= 1.0 - self._time
            t, self._time = self._horizon.restart(self._time, t), 0.0
        return t

    def _find_again(self, outside: NDArray[np.bool_]) -> int:
        """Find again, after `_restart_at_base` and a change of their predicted motion, all pairs of the vertices
        `outside` (n,); return how many of them are pushed."""
        before = self._cloth.count_marked(outside)
        if self._restarted:
            self._move()
        else:
            self._cloth.predict_anew(before)
        cloth, *bodies = self._around(outside, before)
        for body in self.obstacles:
            self._bound_by_distance(body, _ALL if self._restarted else before)
        count = self._replace(outside, cloth, joined(bodies))
        # a vertex may be nearer to a body now, and its bound less than its distance from the predicted position
        self._base_is_known = self._is_within_bounds(self._base, self._time)
        return count

    def _leaving(self, target: Floats, t: float) -> NDArray[np.bool_] | None:
        """Mark the vertices (n,) whose position in `target` is outside their bounds at time t, and, unless these are
        too many, those beyond the fraction LEAVING of their bounds; return None if too many are outside, or any is too
        far outside."""
        outside, most = np.empty(len(target), np.bool_), A_SUBSTEP * self.max_reach * max(t, self._horizon.substep)
        for share in (LEAVING, 1.0) if self.substeps_left else (1.0,):
            count = _bounds.outside_bounds(self.rows, self._bounds, target, t, share, most, outside)
            if count <= FEW * len(self.rows):
                return outside
        return None

    def _around(self, which: NDArray[np.bool_], before: Rows) -> list[Contacts]:
        """Return the contacts of the vertices `which` (n,) of cloth with cloth and with each body; `before` counts the
        triangles with any of them."""
        queries = [(self._near, self._reach), *((body.near, body.reach) for body in self.obstacles)]
        pairs = approaching([near.along(reach, which, before) for near, reach in queries])
        found = [self._records(near, each, reach) for (near, reach), each in zip(queries, pairs, strict=True)]
        return [guarded(each, self.given_up) for each in found] if self.gave_up else found

    def _replace(self, which: NDArray[np.bool_], cloth: Contacts, bodies: Contacts) -> int:
        """Replace all contacts of the vertices `which` (n,) by those given; return how many of these are pushed."""
        for found in (cloth, bodies):
            measure(found, self._base)  # they were found at the start of the predicted motion
        self.guarded = self.guarded[~with_any(which, self.guarded.vertices)] + self._guard(cloth, bodies)
        cloth = self._pushed(cloth)
        before = self.contacts, self.obstacle_contacts
        kept = [_contacts.taken(found, ~with_any(which, found["vertices"])) for found in before]
        self.contacts, self.obstacle_contacts = joined([kept[0], cloth]), joined([kept[1], bodies])
        return len(cloth) + len(bodies)

    def leave_unguarded(self, which: NDArray[np.bool_]) -> None:
        """Stop guarding, for this frame, the guarded pairs selected by `which` (k,)."""
        pairs = self.guarded[which]
        self._unguarded = np.column_stack([pairs.kinds, pairs.vertices])
        self.guarded = self.guarded[~which]

    def _guard(self, *found: Contacts) -> GuardedPairs:
        one, two = (without(each, self._unguarded) for each in found) if len(self._unguarded) else found
        return GuardedPairs.of(one, two, self._base, self.least, self.rounding)

    def _pushed(self, found: Contacts) -> Contacts:
        """Return the contacts of cloth without those of neighbours that are near at rest or sewn together."""
        found = self._seams.without_neighbours(found)
        return found[~contained(keys(found), self._rest_keys)] if len(self._rest_keys) else found

    def _bound(self, reach: float) -> float:
        """How far vertices may move if all pairs within `reach` are known; in push mode each may use half of the
        distance beyond the thickness, so that no pair enters it unseen."""
        return _kernels.SHARE * reach if self.safe else 0.49 * (reach - self.thickness)

    def _predict(self, x: Floats, motion: Floats | None, reach: float, far: float) -> float:
        """Predict the displacements `motion`, or a fraction that keeps the candidates few; return the fraction."""
        for body in self.obstacles if self._first_pass else ():
            if not body.moves:
                body.near.b.move(self.start)
        self._first_pass = False
        share = 1.0 if motion is None else self._share(x, motion, reach, far)
        self._predicts, movable = motion is not None and share > 0.0, self.movable
        if motion is None or share == 0.0:
            self.predicted[movable] = 0.0
        else:
            np.multiply(motion[movable], share, out=self.predicted[movable])
        self._move()
        return share

    def _share(self, x: Floats, motion: Floats, reach: float, far: float) -> float:
        """Return the fraction of the displacements `motion` that `_predict` predicts: 0 if it is too fast."""
        fast, many = A_SUBSTEP * self.max_reach * (self.substeps_left + 1), far or AHEAD * self.max_reach
        most = self._fastest(x, motion, reach, anywhere=True)
        if most > many or (not far and most > fast):
            most = self._fastest(x, motion, reach, anywhere=False)
        if not far and most > fast:
            # one substep's motion exceeds A_SUBSTEP times the largest query distance: predict no motion
            return 0.0
        share = min(1.0, many / most) if most > 0.0 else 1.0
        return share if far else min(share, self._horizon.share(self.substeps_left))

    def _fastest(self, x: Floats, motion: Floats, reach: float, *, anywhere: bool) -> float:
        """Return the greatest displacement of any vertex of cloth, relative to the mean of the cloth or of a body that
        it can come near, or of a body `anywhere`, which is at least as much."""
        most = _bounds.fastest(self.rows, self.rows, x, motion, _EVERYWHERE, reach)
        for body in self.obstacles:
            box = _EVERYWHERE if anywhere else body.box_at(x)
            most = max(most, _bounds.fastest(self.rows, body.moving_rows, x, motion, box, reach))
        return float(most)

    def _near_pairs(self, queries: list[tuple[NearPairs, float]]) -> list[Contacts]:
        """Return the contacts of each query and its distance, now or during the predicted motion."""
        pairs = approaching([near.along(reach) for near, reach in queries])
        return [self._records(near, found, reach) for (near, reach), found in zip(queries, pairs, strict=True)]

    def _bound_by_body(self, body: Obstacle, count: int) -> None:
        """Bound the motion of vertices that have no contacts with a body; it has `count`."""
        self._bound_by_distance(body)
        if not self._predicts:
            body.adapt_reach(count, len(self.rows), REACH * self.eps, self.max_reach)

    def _bound_by_distance(self, body: Obstacle, before: Rows = _ALL) -> None:
        """Bound the motion of vertices by their distance from a body, or by the query distance around it; unless
        `before` is empty, only those of the triangles that it counts (`LeafMesh.count_marked`)."""
        cloth, share = self._cloth, _kernels.SHARE if body.moves else _kernels.STILL
        own_share = _kernels.SHARE
        if body.moves and self._drives:  # it follows its prediction, so that cloth may use its share
            share, own_share = FOLLOWING
        if not body.moves and share * body.reach >= self._bound(self._reach):
            return  # no bound of cloth is greater
        moves = self.predicted if self._predicts else _NO_DRIFT
        triangles = MovingTriangles(cloth.leaves.corners, cloth.x, moves, before)
        drift = body.near.b.motion.node_drifts[0] if self._predicts else _STATIC
        least = _bounds.bound_by_distance(triangles, body.box, drift, body.reach, share, self.radius)
        if body.moves:
            own = self.radius[body.span]
            np.minimum(own, own_share * least, out=own)

    def _rounding_at(self, x: Floats) -> float:
        """Return a bound of the rounding error of distances at x, metres."""
        return ROUNDING * float(_bounds.largest(self.moving, x))

    def _records(self, near: NearPairs, pairs: tuple[Rows, Rows, Rows], reach: float) -> Contacts:
        return records(near.a, near.b, pairs, reach, self.predicted, self.body_of)

    def _keys_at_rest(self, x: Floats) -> NDArray[np.int64]:
        """Return keys of pairs of mesh neighbours within the thickness at the start; these are not pushed apart."""
        self._cloth.move(x)
        found = self._records(self._near, self._near.within(self.thickness), self.thickness)
        return near_at_rest(found, self.links, len(x))
