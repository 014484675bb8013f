"""Even corrections: what was added to the frames of a garment is smoothed over time, and its edges are relaxed again.

Relaxed frames are within their bounds, but no more even than they have to be. Averages of corrections over time are
more even and violate the bounds a little; steps that are averaged over time bring the edges back without losing what
was gained (alternating projections). Around self-intersections that this would bring back, corrections stay as they
are.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .edge_solver import EdgeSolver
from .even_steps import REACH, EvenSteps
from .temporal import RigidFilter
from .untangle import Untangler

Floats = NDArray[np.float64]
TRIES, REFUSALS = 5, 2  # most tries, and refused ones in a row after which no more are made
RINGS = (4, 8, 16)  # rings of edges around self-intersections that are left out after the first, second, third refusal


class EvenCorrections:
    """Smooths the corrections of frames near x (T,n,3); edges have the bounds of `share` and `limit`, see
    `EvenSteps.converge`."""

    def __init__(
        self, untangler: Untangler, solver: EdgeSolver, x: Floats, rigid: RigidFilter, share: float, limit: float
    ) -> None:
        self._untangler, self._solver, self._x, self._rigid = untangler, solver, x, rigid
        self._share, self._limit = share, limit
        self._steps = EvenSteps(solver, x, rigid)

    def smoothed(self, z: Floats, most: int) -> Floats:
        """Frames (T,n,3) with more even corrections than z, that have no more self-intersections in any frame, and no
        edges with more added strain than `limit` or than the largest of z; at most `most` steps for each try."""
        count, strain = self._counts(self._pairs(z)), max(self._strain(z), self._limit)
        free, refused = np.zeros(z.shape[1]), 0
        free[self._solver.rows] = 1.0
        for _ in range(TRIES):
            even = z + free[None, :, None] * (self._rigid.smoothed(z, REACH) - z)
            y = self._steps.converge(even, self._share, self._limit, most)
            pairs = self._pairs(y)
            more = np.flatnonzero(self._counts(pairs) > count)
            if len(more) == 0 and self._strain(y) <= strain:
                z, refused = y, 0
                continue
            refused += 1
            if len(more) == 0 or refused > REFUSALS:
                break
            rings = RINGS[min(refused, len(RINGS)) - 1]
            free = np.minimum(free, 1.0 - self._around([pairs[t] for t in more], rings))
        return z

    def _pairs(self, frames: Floats) -> list[NDArray[np.int32]]:
        return [self._untangler.pairs(frame) for frame in frames]

    def _counts(self, pairs: Sequence[NDArray[np.int32]]) -> NDArray[np.int64]:
        return np.array([len(some) for some in pairs], np.int64)

    def _strain(self, frames: Floats) -> float:
        return float(self._solver.steps_of(self._x, self._share).largest_strain(frames).max(initial=0.0))

    def _around(self, pairs: Sequence[NDArray[np.int32]], rings: int) -> Floats:
        """(n,) weights: 1 within `rings` of the faces of `pairs`, falling to 0 over as many more."""
        weights, reached = np.zeros(self._x.shape[1]), np.zeros(self._x.shape[1], np.bool_)
        reached[self._untangler.mesh.faces[np.concatenate(pairs)]] = True
        for k in range(2 * rings):
            weights = np.maximum(weights, reached * min(1.0, 2.0 - k / rings))
            reached = reached | (self._untangler.links @ reached > 0)
        return weights
