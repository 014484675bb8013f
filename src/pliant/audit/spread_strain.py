"""Spread strain: frames in which a correction stretches or compresses edges are relaxed until the strain that it adds
is small, evenly over time, and without new self-intersections."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from .edge_solver import EdgeSolver
from .temporal import REACH, RigidFilter
from .untangle import Untangler

Floats = NDArray[np.float64]
STEPS, LAST_STEPS = 48, 16  # global steps over edge lengths, before and after frames are smoothed over time
# strain beyond that of the given frames, before and after: what smoothing over time adds is mostly within the second
SHARE, LAST_SHARE = 0.01, 0.025
LOOSE, STIFF, GROWTH = 0.01, 1.0, 2.0  # anchor of vertices that the correction moves, largest anchor, growth per ring
# rings of edges around new self-intersections within which the frames are taken back, and how far
BACK = ((4, 0.5), (4, 1.0), (8, 1.0), (16, 1.0))


class StrainSpreader:
    """Spreads the strain of frames y (T,n,3) of the mesh of an untangler, which were x (T,n,3) before; rest: (k,) rest
    lengths of its edges."""

    def __init__(self, untangler: Untangler, rest: Floats, x: Floats, y: Floats) -> None:
        self.untangler, self.x, self.y = untangler, x, y
        anchor, moved = np.full(y.shape[1], LOOSE), (x != y).any((0, 2))
        while (anchor[~moved] < STIFF).any():
            anchor[~moved] = np.minimum(GROWTH * anchor[~moved], STIFF)
            moved = moved | (untangler.links @ moved > 0)
        self._solver = EdgeSolver(untangler.mesh, rest, untangler.stiffness, anchor)

    def spread(self, report_progress: Callable[[float], None]) -> Floats:
        """Frames (T,n,3) near y whose edges are within bounds that x sets, as far as the steps suffice; y where they
        would intersect more than in y."""
        z = self._relaxed(self.y, STEPS, SHARE, lambda share: report_progress(0.6 * share))
        z = RigidFilter(self.untangler.mesh, self.y).smoothed(z)
        z = self._relaxed(z, LAST_STEPS, LAST_SHARE, lambda share: report_progress(0.6 + 0.2 * share))
        return self._back_where_tangled(self.y, z)

    def _relaxed(self, y: Floats, steps: int, share: float, report_progress: Callable[[float], None]) -> Floats:
        z = np.empty_like(y)
        for t in range(len(y)):
            self._solver.set(self.x[t], share)
            z[t] = self._solver.relax(y[t], steps)
            report_progress((t + 1) / len(y))
        return z

    def _back_where_tangled(self, y: Floats, z: Floats) -> Floats:
        """Frames z, blended to y in space and time around self-intersections that y does not have."""
        most = [len(self.untangler.pairs(frame)) for frame in y]
        back, blended = np.zeros(y.shape[:2]), z
        for rings, share in BACK:
            pairs = [self.untangler.pairs(frame) for frame in blended]
            worse = [some if len(some) > at else some[:0] for some, at in zip(pairs, most, strict=True)]
            if not any(len(some) for some in worse):
                return blended
            back = np.maximum(back, share * self._around(worse, rings))
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
