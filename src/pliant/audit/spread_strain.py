"""Spread strain: frames in which a correction stretches or compresses edges are relaxed until the strain that it adds
is small, evenly over time, and without new self-intersections."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from .edge_solver import EdgeSolver
from .temporal import REACH, RigidFilter
from .untangle import Untangler

Floats = NDArray[np.float64]
STEPS, LAST_STEPS = 40, 20  # global steps over edge lengths, before and after frames are smoothed over time
BACK_RINGS = (4, 8, 16)  # rings of edges around new self-intersections within which the frames are taken back


class StrainSpreader:
    """Spreads strain over one welded mesh, whose `solver` bounds edge lengths."""

    def __init__(self, untangler: Untangler, solver: EdgeSolver) -> None:
        self.untangler, self.solver = untangler, solver

    def spread(self, x: Floats, y: Floats, report_progress: Callable[[float], None] = lambda share: None) -> Floats:
        """Frames (T,n,3) near y whose edges are within the bounds that the given frames x set, as far as the steps
        suffice; y where they would intersect more than in y."""
        z = self._relaxed(x, y, STEPS, lambda share: report_progress(0.6 * share))
        if len(y) > 2:
            z = RigidFilter(self.untangler.mesh, y).smoothed(z)
            z = self._relaxed(x, z, LAST_STEPS, lambda share: report_progress(0.6 + 0.3 * share))
        return self._back_where_tangled(y, z)

    def _relaxed(self, x: Floats, y: Floats, steps: int, report_progress: Callable[[float], None]) -> Floats:
        z = np.empty_like(y)
        for t in range(len(y)):
            self.solver.set(x[t])
            z[t] = self.solver.relax(y[t], steps)
            report_progress((t + 1) / len(y))
        return z

    def _back_where_tangled(self, y: Floats, z: Floats) -> Floats:
        """Frames z, blended to y in space and time around self-intersections that y does not have."""
        most = [len(self.untangler.pairs(frame)) for frame in y]
        back, blended = np.zeros(y.shape[:2]), z
        for rings in BACK_RINGS:
            pairs = [self.untangler.pairs(frame) for frame in blended]
            worse = [some if len(some) > at else some[:0] for some, at in zip(pairs, most, strict=True)]
            if not any(len(some) for some in worse):
                return blended
            back = np.maximum(back, self._around(worse, rings))
            blended = z + back[:, :, None] * (y - z)
        left = [len(self.untangler.pairs(frame)) for frame in blended]
        worse_frames = np.array(left) > most
        return np.where(worse_frames[:, None, None], y, blended)

    def _around(self, pairs: Sequence[NDArray[np.int32]], rings: int) -> Floats:
        """(T,n) weights: 1 within `rings` of the faces of `pairs`, falling to 0 over as many more, and over frames."""
        near = np.zeros((len(pairs), self.untangler.mesh.n_vertices))
        for t, some in enumerate(pairs):
            if not len(some):
                continue
            reached = np.zeros(near.shape[1], np.bool_)
            reached[self.untangler.mesh.faces[some]] = True
            for k in range(2 * rings):
                near[t] = np.maximum(near[t], reached * min(1.0, 2.0 - k / rings))
                reached = reached | (self.untangler.links @ reached > 0)
        weights = near.copy()
        for k in range(1, REACH + 1):
            for to, at in ((slice(k, None), slice(None, -k)), (slice(None, -k), slice(k, None))):
                weights[to] = np.maximum(weights[to], (1.0 - k / (REACH + 1.0)) * near[at])
        return weights
