"""Even steps: all frames of a garment are relaxed together, and each step is averaged over time before it is taken.

Cloth that is compressed folds, and a frame that is relaxed by itself folds in its own way, which shakes. Averaging the
frames afterwards flattens the folds, so that edges are compressed again. Averages of the steps instead are descent
steps, too (a gradient in the sense of Sobolev, over time): they stop where edges are within their bounds, and whatever
they add up to changes slowly, so that a fold forms over as many frames as the average spans.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..kernels.respond.edge_lengths import EdgeBounds
from ..kernels.respond.even_steps import add_even_steps
from .edge_solver import BLOCK, OVER, EdgeSolver
from .temporal import RigidFilter, binomial

Floats = NDArray[np.float64]
REACH = 5  # frames on either side over which a step is averaged


class EvenSteps:
    """Relaxes frames near x (T,n,3) by a solver of its edges; `rigid`: the rigid motion of the parts of x."""

    def __init__(self, solver: EdgeSolver, x: Floats, rigid: RigidFilter) -> None:
        self._solver, self._x, self._rigid = solver, x, rigid

    def converge(self, y: Floats, share: float, limit: float, most: int) -> Floats:
        """Frames (T,n,3) from y, after as many steps as it takes until no edge has more than `limit` of added strain,
        at most `most`. Each edge may have its length in x, that at rest, and `share` of the latter beyond both."""
        solver, rigid = self._solver, self._rigid
        out, steps, weights = np.array(y), np.zeros_like(y), binomial(min(REACH, len(y) - 1))
        bounds = [solver.bounds_at(frame, share) for frame in self._x]
        solver.share = share
        for k in range(most):
            moving = False
            for t, frame in enumerate(out):
                solver.bounds = bounds[t]
                moving |= solver.step(frame, steps[t])
            if not moving:
                break
            add_even_steps(steps, rigid.turns, rigid.part, solver.rows, weights, OVER, out)
            if k % BLOCK == BLOCK - 1 and self._within(out, bounds, limit):
                break
        return out

    def _within(self, y: Floats, bounds: Sequence[EdgeBounds], limit: float) -> bool:
        """True if no edge of a frame of y has more than `limit` of added strain."""
        for frame, allowed in zip(y, bounds, strict=True):
            self._solver.bounds = allowed
            if self._solver.added_strain(frame).max(initial=0.0) > limit:
                return False
        return True
