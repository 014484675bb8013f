"""How far vertices may move after a detection pass: within their bounds, and as known pairs allow.

A pass finds all pairs that may meet while every vertex stays within its bound of a predicted motion. A motion that
begins and ends within the bounds stays within them; what limits it then are the pairs that were found.
"""

import numpy as np
from numpy.typing import NDArray

from ...kernels.simulation import bounds as _bounds
from ...kernels.simulation import guard as _kernels
from ...kernels.simulation.bounds import Bounds
from .pairs import GuardedPairs, span_of
from .prediction import Horizon

Floats = NDArray[np.float64]
Rows = NDArray[np.int32]
_WORTH_THREADS = 16384  # vertices


class Limits:
    """The bounds of vertices at positions x (n,3), and the guarded pairs: of cloth, `rows` (k,), and of bodies and
    grips, `driven` (m,)."""

    guarded: GuardedPairs

    def __init__(self, x: Floats, rows: Rows, driven: Rows) -> None:
        self.rows, self.driven, self._span = rows, driven, span_of(rows)
        self.moving = np.concatenate([rows, driven])  # all vertices that can move
        self.start = x.copy()  # positions at time 0 of the predicted motion: of the last pass, or of `repredict`
        self.predicted = np.zeros_like(x)  # displacement of each vertex from `start`
        self._drives = False  # whether only the motion of bodies and grips is predicted, to their targets
        self._driven_motion = np.zeros_like(x)  # workspace of `driven_motion`: zero in all other rows
        self.radius = np.full(len(x), np.inf)  # how far each vertex may deviate from its predicted position
        self._bounds = Bounds(self.start, self.predicted, self.radius)
        self._base = x.copy()  # positions within the bounds at which the guarded pairs were measured
        self._time = 0.0  # of the predicted motion, at which they are within the bounds
        self._base_is_known = True  # whether they are
        self.was_followed = True  # whether the last target of `is_reachable` was within the bounds
        self._horizon = Horizon()
        self.substeps_left = 0  # substeps of this frame after the present one
        self._fraction = np.ones(len(x))  # of its motion that each vertex can complete

    def driven_motion(self, x: Floats, target: Floats) -> Floats:
        """Return the displacements (n,3) of bodies and grips alone from x to `target`; the next call reuses them."""
        self._driven_motion[self.driven] = target[self.driven] - x[self.driven]
        return self._driven_motion

    def follows_prediction(self, target: Floats) -> bool:
        """Whether all vertices are within their bounds of the predicted motion at one common time: the end of this
        substep, or that at which the motion is nearest to `target`."""
        expected = self._horizon.end_of_substep(self.substeps_left)
        if len(self.moving) < _WORTH_THREADS:
            return bool(_bounds.follows_prediction(self.moving, self._bounds, target, expected))
        return self._is_within_bounds(target, expected) or self._is_within_bounds(target, self._progress(target))

    def _is_within_bounds(self, x: Floats, t: float) -> bool:
        for rows in (self.rows, self.driven):  # cloth first: bodies have more vertices and seldom leave their bounds
            leaves = _bounds.leaves_bounds if len(rows) < _WORTH_THREADS else _bounds.any_leaves_bounds
            if leaves(rows, self._bounds, x, t, 1.0):
                return False
        return True

    def _progress(self, target: Floats) -> float:
        """Return the time at which the predicted motion is nearest to `target`."""
        return float(_bounds.time_along(self.moving, self._bounds, target))

    def is_reachable(self, target: Floats) -> bool:
        """Whether all vertices can move to `target` at once."""
        self.was_followed, separated = self._follows_and_separates(target)
        if separated or not self._base_is_known or not self.was_followed:
            return separated
        self._fraction[:] = 1.0
        held = np.zeros(len(self.guarded.room), np.bool_)
        count = self.guarded.limit(self._base, target, self._fraction, held)
        return not count or float(self._fraction.min()) >= 1.0

    def _follows_and_separates(self, target: Floats) -> tuple[bool, bool]:
        """Whether all vertices are within their bounds at `target`, see `follows_prediction`, and whether, if so, the
        guarded pairs stay separated on the way there."""
        pairs, base = self.guarded, self._base
        if self._base_is_known and len(self.moving) < _WORTH_THREADS:
            expected = self._horizon.end_of_substep(self.substeps_left)
            bounds = self.moving, self._bounds, target, expected
            follows, separated = _kernels.reaches(*bounds, pairs.features, pairs.kept, base)
            return bool(follows), bool(separated)
        follows = self.follows_prediction(target)
        return follows, follows and self._base_is_known and pairs.are_separated(base, target)

    @property
    def base(self) -> Floats:
        """The positions (n,3) at which the pairs were found or last measured."""
        return self._base

    @property
    def _arrival(self) -> float:
        """Time of the predicted motion at which a limited motion ends. If it is that of bodies alone, cloth stays
        within its bounds whenever they stop."""
        return 1.0 if self._drives else self._time

    @property
    def radius_left(self) -> Floats:
        """(n,) how far each vertex may still move from where the pairs were measured."""
        off = self._base - self.start - self._time * self.predicted
        return np.maximum(self.radius - np.sqrt((off**2).sum(1)), 0.0)

    def _limited(self, target: Floats, x: Floats) -> tuple[int, float]:
        """Move x from the base towards `target` by at most the fraction of each vertex, so that no guarded pair meets;
        return as `advance`."""
        # bodies and grips keep their shape: all driven vertices move by the smallest fraction among them
        self._fraction[self.driven] = self._fraction[self.driven].min(initial=1.0)
        held = np.zeros(len(self.guarded.room), np.bool_)
        while True:  # every iteration but the last holds at least one more pair
            count = self.guarded.limit(self._base, target, self._fraction, held)
            driven = float(self._fraction[self.driven].min(initial=1.0))
            self._fraction[self.driven] = driven
            if not count or driven >= 1.0:
                break
        _bounds.advance(self.driven, self._fraction, self._base, target, x)
        return _bounds.advance(self.rows, self._fraction, self._base, target, x), driven
