"""Even steps: all frames of a garment are relaxed together, and each step is averaged over time before it is taken.

Cloth that is compressed folds, and a frame that is relaxed by itself folds in its own way, which shakes. Averaging the
frames afterwards flattens the folds, so that edges are compressed again. Averages of the steps instead are descent
steps, too (a gradient in the sense of Sobolev, over time): they stop where edges are within their bounds, and whatever
they add up to changes slowly, so that a fold forms over as many frames as the average spans.
"""

import numpy as np
from numpy.typing import NDArray

from ..kernels.respond.even_steps import Parts, take_even_steps
from .edge_solver import BLOCK, FACTOR, EdgeSolver, momentum
from .temporal import RigidFilter, binomial

Floats = NDArray[np.float64]
REACH = 12  # frames on either side over which a step is averaged


class EvenSteps:
    """Relaxes frames near x (T,n,3) by a solver of its edges; `rigid`: the rigid motion of the parts of x."""

    def __init__(self, solver: EdgeSolver, x: Floats, rigid: RigidFilter) -> None:
        self._solver, self._x, self._rigid = solver, x, rigid

    def converge(self, y: Floats, share: float, limit: float, most: int) -> Floats:
        """Frames (T,n,3) from y, after as many steps as it takes until no edge has more than `limit` of added strain,
        at most `most`. Each edge may have its length in x, that at rest, and `share` of the latter beyond both."""
        rigid, steps = self._rigid, self._solver.steps_of(self._x, share)
        out, ahead, weights = np.array(y), np.array(y), binomial(min(REACH, len(y) - 1))
        for k in range(most):
            step = steps.from_frames(ahead)
            if step is None:
                return ahead
            take_even_steps(
                step, Parts(rigid.turns, rigid.part), self._solver.rows, weights, FACTOR, momentum(k), ahead, out
            )
            if k % BLOCK == BLOCK - 1 and steps.largest_strain(out).max() <= limit:
                break
        return out
