"""Spread strain: frames in which a correction stretches or compresses edges are relaxed until the strain that it adds
is small, evenly over time, and without new self-intersections."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .edge_solver import EdgeSolver
from .even_corrections import EvenCorrections
from .even_steps import EvenSteps
from .smooth_transforms import Level, TransformSmoother
from .temporal import REACH, RigidFilter
from .untangle import Untangler

Floats = NDArray[np.float64]
# bound of the strain beyond that of the given frames, and largest strain with which steps end
SHARE, LIMIT = 0.02, 0.029
STEPS = 192  # most steps of all frames together, and of each of those that remain strained
PROBE_STEPS = 96  # most steps of a frame that shows whether an attempt is enough
LOOSE = 0.01  # anchors of vertices at their positions before a step
RINGS = (4, 8, 16, 32)  # rings of edges around the vertices that a correction moved, which move, too
PROBES = 4  # frames with the most self-intersections, and others evenly over time, that show whether it is enough
ATTEMPTS = 2  # most attempts, each with more probes: frames in which the last one failed
SOME = 0.25  # share of the frames that may meet themselves, which the guard then prevents
GUARDED, GUARDED_STEPS = 40, 8  # most frames that are guarded, and steps over edge lengths in each of the guarded ones
FEW = 2e-4  # share of the edges that the first steps may leave beyond `LIMIT`
# rings of edges around new self-intersections within which the frames are taken back, and how far
BACK = ((4, 0.5), (4, 1.0), (8, 1.0), (16, 1.0))


class StrainSpreader:
    """Frees the frames x (T,n,3) of the mesh of an untangler of self-intersections, by smoothed transforms whose strain
    is spread; rest: (k,) rest lengths of its edges.

    Cloth that is free to move farther than it needs slides, and meets itself. So weak smoothing is tried first, and few
    rings of vertices around it: the first of these attempts counts after which the most tangled frames have neither
    strain nor intersections, otherwise the best.
    """

    def __init__(self, untangler: Untangler, rest: Floats, x: Floats) -> None:
        self.untangler, self.x, self.rest = untangler, x, rest
        self._smoother = TransformSmoother(untangler, x)
        self._rigid = RigidFilter(untangler.mesh, x)

    def freed(self, pairs: Sequence[NDArray[np.int32]], near: NDArray[np.bool_] | None = None) -> Floats:
        """Frames (T,n,3) with fewer self-intersections than x, which has `pairs` of faces in each frame; x where there
        are none. near: (n,) vertices that a body pushes in some frame: no corrections are smoothed again if one
        of them moves."""
        probes = [int(t) for t in _largest([len(some) for some in pairs])]
        probes += [int(t) for t in np.linspace(0, len(pairs) - 1, PROBES + 2)[1:-1]]
        for _ in range(ATTEMPTS):
            level, solver = self._attempt(pairs, list(dict.fromkeys(probes)))
            y = level.frames
            z = EvenSteps(solver, self.x, self._rigid).converge(self._rigid.smoothed(y), SHARE, LIMIT, STEPS)
            z = self._relaxed(solver, z)
            left = self._pairs(z)
            counts = [len(some) for some in left]
            if np.count_nonzero(counts) <= SOME * len(counts):
                break
            probes += [int(t) for t in _largest(counts)]
        most = np.array([len(some) for some in self._pairs(y)])
        if most.sum() >= sum(len(some) for some in pairs):
            return self.x
        for t in self._guarded(solver, y, z, np.flatnonzero((np.array(counts) > 0) & (most == 0))):
            left[t] = self.untangler.pairs(z[t])
        z = self._back_where_tangled(y, z, most, left)
        if near is not None and near[solver.rows].any():
            return (
                z  # projection out of the body would strain edges that smoothed corrections have brought nearer to it
            )
        return EvenCorrections(self.untangler, solver, self.x, self._rigid, SHARE, LIMIT).smoothed(z, STEPS)

    def _pairs(self, frames: Floats) -> list[NDArray[np.int32]]:
        """The self-intersecting pairs of faces of each of the frames (T,n,3)."""
        return [self.untangler.pairs(frame) for frame in frames]

    def _attempt(self, pairs: Sequence[NDArray[np.int32]], probes: Sequence[int]) -> tuple[Level, EdgeSolver]:
        """The level of smoothing, and the solver of the region in which its strain is spread."""
        ways, best, least = [], None, None
        for level in self._smoother.levels(pairs, probes):
            smoothed, free, reached = [(t, level.smoothed(t)) for t in probes], level.moved, 0
            for rings in RINGS:
                for _ in range(rings - reached):
                    free = free | (self.untangler.links @ free > 0)
                reached = rings
                ways.append((int(free.sum()), level, smoothed, free))
        for _, level, smoothed, free in sorted(ways, key=lambda way: way[0]):
            solver = EdgeSolver(self.untangler.mesh, self.rest, self.untangler.stiffness, LOOSE, free)
            left = self._left(solver, smoothed)
            if least is None or left < least:
                best, least = (level, solver), left
            if left == (0, 0):
                break
        assert best is not None
        return best

    def _left(self, solver: EdgeSolver, probes: Sequence[tuple[int, Floats]]) -> tuple[int, int]:
        """Relaxed frames that intersect themselves, more than some; and edges that are strained, more than a few."""
        tangled, edges, few = 0, 0, int(FEW * len(self.rest) * len(probes))
        for t, y in probes:
            solver.set(self.x[t], SHARE)
            z = solver.converge(y, LIMIT, PROBE_STEPS)
            tangled += len(self.untangler.pairs(z)) > 0
            edges += int((solver.added_strain(z) > LIMIT).sum())
            if edges > few:
                return len(probes), edges  # other frames cannot make up for it
        return max(tangled - int(SOME * len(probes)), 0), 0

    def _guarded(self, solver: EdgeSolver, y: Floats, z: Floats, tangled: NDArray[np.int64]) -> list[int]:
        """Move the frames `tangled` of z, which intersect themselves, to where they come nearest to z from y, which
        does not, under the guard of safe mode, while their edges are relaxed; return those that were moved."""
        moved = [int(t) for t in tangled[:GUARDED]]
        for t in moved:
            solver.set(self.x[t], SHARE)
            z[t] = self.untangler.move_back(y[t], z[t], bend=lambda aim, k: solver.relax(aim, GUARDED_STEPS))
        return moved

    def _relaxed(self, solver: EdgeSolver, y: Floats) -> Floats:
        """Frames y, each by itself relaxed where it is still strained."""
        z = y.copy()
        for t in range(len(y)):
            solver.set(self.x[t], SHARE)
            if solver.added_strain(y[t]).max(initial=0.0) > LIMIT:
                z[t] = solver.converge(y[t], LIMIT, STEPS)
        return z

    def _back_where_tangled(
        self, y: Floats, z: Floats, most: NDArray[np.int64], pairs: list[NDArray[np.int32]]
    ) -> Floats:
        """Frames z, which have `pairs`, blended to y in space and time around self-intersections that y, which has at
        `most` (T,), does not have."""
        back, blended = np.zeros(y.shape[:2]), z
        for rings, share in BACK:
            worse = [some if len(some) > at else some[:0] for some, at in zip(pairs, most, strict=True)]
            if not any(len(some) for some in worse):
                return blended
            back = np.maximum(back, share * self._around(worse, rings))
            blended = z + back[:, :, None] * (y - z)
            changed = np.asarray(back.any(1))
            pairs = [self.untangler.pairs(frame) if changed[t] else pairs[t] for t, frame in enumerate(blended)]
        worse_frames = np.array([len(some) for some in pairs]) > most
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


def _largest(counts: Sequence[int]) -> NDArray[np.int64]:
    """The places of the largest counts, the first of equal ones."""
    return np.argsort(-np.asarray(counts), kind="stable")[:PROBES]
