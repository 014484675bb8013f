"""Spread strain: frames in which a correction stretches or compresses edges are relaxed until the strain that it adds
is small, evenly over time, and without new self-intersections."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from .edge_solver import EdgeSolver
from .temporal import REACH, RigidFilter
from .untangle import Untangler

Floats = NDArray[np.float64]
# bounds of the strain beyond that of the given frames, before and after frames are smoothed over time, and largest
# strain with which steps end: what smoothing over time adds is mostly within the second
SHARE, LIMIT = 0.01, 0.025
LAST_SHARE, LAST_LIMIT = 0.025, 0.029
STEPS = 192  # most steps of a frame
LOOSE = 0.01  # anchors of vertices at their positions before a step
RINGS = (4, 8, 16, None)  # rings of edges around the vertices that a correction moved, which move, too; then all
SAMPLES = 6  # frames that show whether these are enough
# rings of edges around new self-intersections within which the frames are taken back, and how far
BACK = ((4, 0.5), (4, 1.0), (8, 1.0), (16, 1.0))


class StrainSpreader:
    """Spreads the strain of frames y (T,n,3) of the mesh of an untangler, which were x (T,n,3) before; rest: (k,) rest
    lengths of its edges."""

    def __init__(self, untangler: Untangler, rest: Floats, x: Floats, y: Floats) -> None:
        self.untangler, self.x, self.y, self.rest = untangler, x, y, rest

    def spread(self, report_progress: Callable[[float], None]) -> Floats:
        """Frames (T,n,3) near y whose edges are within bounds that x sets, as far as the steps suffice; y where they
        would intersect more than in y."""
        solver = self._smallest_region()
        z = self._relaxed(solver, self.y, SHARE, LIMIT, lambda share: report_progress(0.6 * share))
        z = RigidFilter(self.untangler.mesh, self.y).smoothed(z)
        z = self._relaxed(solver, z, LAST_SHARE, LAST_LIMIT, lambda share: report_progress(0.6 + 0.2 * share))
        return self._back_where_tangled(self.y, z)

    def _smallest_region(self) -> EdgeSolver:
        """The solver that moves as few vertices around the correction as the most strained frames need. Cloth that is
        free to move farther than it needs slides, and meets itself."""
        free, reached = (self.x != self.y).any((0, 2)), 0
        solver = self._solver(free)
        strain = []
        for x, y in zip(self.x, self.y, strict=True):
            solver.set(x)
            strain.append(np.maximum(solver.added_strain(y) - LIMIT, 0.0).sum())
        worst = np.argsort(-np.array(strain), kind="stable")[:SAMPLES]
        for rings in RINGS:
            for _ in range(0 if rings is None else rings - reached):
                free = free | (self.untangler.links @ free > 0)
            reached = rings or 0
            if rings is None or free.all():
                return self._solver(np.ones_like(free))
            solver = self._solver(free)
            if all(self._suffices(solver, t) for t in worst):
                break
        return solver

    def _solver(self, free: NDArray[np.bool_]) -> EdgeSolver:
        return EdgeSolver(self.untangler.mesh, self.rest, self.untangler.stiffness, LOOSE, free)

    def _suffices(self, solver: EdgeSolver, t: int) -> bool:
        solver.set(self.x[t], SHARE)
        return bool(solver.added_strain(solver.converge(self.y[t], LIMIT, STEPS)).max(initial=0.0) <= LIMIT)

    def _relaxed(
        self, solver: EdgeSolver, y: Floats, share: float, limit: float, report_progress: Callable[[float], None]
    ) -> Floats:
        z = np.empty_like(y)
        for t in range(len(y)):
            solver.set(self.x[t], share)
            z[t] = solver.converge(y[t], limit, STEPS)
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
