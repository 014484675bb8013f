"""Acceptance: no frame of an animation gets worse, and none is moved far where the frames beside it stay as given.

A frame that is worse with its displacements keeps those around what got worse at zero; if that takes more than half of
them, all are scaled down, in the end to nothing. A correction that a frame takes a share of sets in and fades over the
frames beside it, as every correction does; these are inspected again, and what they refuse fades likewise.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .findings import Report
from .ranking import Inspection, Pairs, Ranking
from .score import DEPTH_TOLERANCE
from .temporal import REACH, binomial

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
RINGS = 2, 8  # rings of edges around what got worse within which nothing moves, and beyond which everything does
LOCAL = 3  # times that what got worse is left alone, before all displacements are scaled
LEAST = 0.5  # of the displacements that must be left then
SCALES = (0.5, 0.25)  # of all displacements of a frame
INSPECTIONS = 6  # most for each frame, on average
SMALL = 0.002  # of the garment's size: displacements that may differ from those of the frames beside
_SETS_IN = np.concatenate([[0.0], np.cumsum(binomial(REACH))])  # shares of a correction that sets in, by frame


class Acceptance:
    """Accepts displacements of the frames `given` (T,n,3) of an animated garment; links: of its vertices, a sparse
    matrix; limited: displacements of a frame within its bounds of strain, from its positions and displacements."""

    def __init__(
        self, ranking: Ranking, given: Floats, links: Any, limited: Callable[[Floats, Floats], Floats]
    ) -> None:
        self._ranking, self._given, self._links, self._limited = ranking, given, links, limited
        self._faces = ranking.mesh.faces
        self._left = INSPECTIONS * len(given)
        self._small = max(ranking.around.clearance, SMALL * ranking.mesh.size)
        self._inspected: dict[int, Inspection] = {}  # of the frames as they were given

    def accepted(self, u: Floats, accepted: Mask) -> Floats:
        """The displacements u (T,n,3), or shares of them, so that no frame is worse than it was given. accepted: (T,)
        frames of which that is known."""
        size = np.linalg.norm(u, axis=2).max(1)
        scale, local = np.ones(len(u)), np.ones(u.shape[:2])
        changed = np.flatnonzero((size > 0.0) & ~accepted)
        while len(changed):
            for t in changed:
                scale[t], local[t] = self._allowed(int(t), u[t], float(scale[t]), local[t])
            even = self._even(scale, size)
            changed = np.flatnonzero(even != scale)
            scale = even
        share = scale[:, None] * local
        out = np.stack([self._moved(t, v, s) for t, (v, s) in enumerate(zip(u, share, strict=True))])
        self._drop_useless(out, (share != 1.0).any(1))
        return out

    def _drop_useless(self, u: Floats, partial: Mask) -> None:
        """Set u (T,n,3) to zero in runs of frames with `partial` (T,) ones of which none is better than it was."""
        moved = np.flatnonzero(u.any((1, 2)))
        for run in np.split(moved, np.flatnonzero(np.diff(moved) > 1) + 1):
            if partial[run].any() and not any(self._better(int(t), u[t]) for t in run):
                u[run] = 0.0

    def _better(self, t: int, u: Floats) -> bool:
        self._ranking.around.move(t)
        found = self._ranking.inspect(t, self._given[t] + u, self._given[t]).score
        given = self._of_given(t).score
        return found.rank < given.rank or found.depth < given.depth - DEPTH_TOLERANCE

    def _of_given(self, t: int) -> Inspection:
        if t not in self._inspected:
            self._inspected[t] = self._ranking.inspect(t, self._given[t])
        return self._inspected[t]

    def _moved(self, t: int, u: Floats, share: Floats) -> Floats:
        return u if (share == 1.0).all() else self._limited(self._given[t], share[:, None] * u)

    def _allowed(self, t: int, u: Floats, scale: float, local: Floats) -> tuple[float, Floats]:
        """The scale and the local shares (n,) of u (n,3), at most those given, with which frame t is not worse."""
        self._ranking.around.move(t)
        worse = np.zeros(len(u), np.bool_)
        for _ in range(1 + LOCAL):
            found = self._worse_with(t, scale * self._moved(t, u, local))
            if found is None:
                return scale, local
            worse |= found
            apart = local * self._apart(worse)
            if not worse.any() or np.linalg.norm(apart[:, None] * u) < LEAST * np.linalg.norm(u):
                break
            local = apart
        for less in SCALES:
            if self._worse_with(t, less * scale * u) is None:
                return less * scale, np.ones(len(u))
        return 0.0, np.ones(len(u))

    def _worse_with(self, t: int, u: Floats) -> Mask | None:
        """(n,) vertices at which frame t has more problems with displacements u (n,3), None if it is not worse."""
        if not u.any():
            return None
        if self._left <= 0:
            return np.zeros(len(u), np.bool_)
        self._left -= 1
        given, found = self._of_given(t), self._ranking.inspect(t, self._given[t] + u, self._given[t])
        return self._worse(found, given) if found.score.worse_in_animation(given.score) else None

    def _apart(self, rows: Mask) -> Floats:
        """(n,) 0 at vertices `rows` (n,) and around them, 1 far from them."""
        near, share = rows, np.ones(len(rows))
        for ring in range(RINGS[1]):
            share[near] = np.minimum(share[near], max(ring - RINGS[0], 0) / (RINGS[1] - RINGS[0]))
            near = near | (self._links @ near > 0)
        return share

    def _worse(self, found: Inspection, given: Inspection) -> Mask:
        """(n,) vertices at which `found` has problems that `given` has not, of the kinds of which it has more."""
        one, two, rows = found.score, given.score, np.zeros(len(found.depth), np.bool_)
        kinds = one.inside > two.inside, one.crossings > two.crossings, one.self_pairs > two.self_pairs
        deeper = max(one.depth - two.depth, one.deepest - two.deepest) > 0.0
        total = not (any(kinds) or deeper)
        if kinds[0] or total:
            rows |= (found.depth > DEPTH_TOLERANCE) & (given.depth <= DEPTH_TOLERANCE)
        if kinds[1] or total:
            rows[self._faces[_new(found.crossings, given.crossings)[:, 0]]] = True
        if kinds[2] or total:
            rows[self._faces[_new(found.own, given.own)]] = True
        if deeper:
            rows |= (found.depth > min(two.depth, two.deepest)) & (found.depth > given.depth)
        return rows

    def _even(self, scale: Floats, size: Floats) -> Floats:
        """The scales (T,), or smaller ones where a neighbour in time has less: from frame to frame a correction sets in
        and fades as one that was smoothed over time. size: (T,) of the displacements; small ones may differ."""
        out = scale.copy()
        small = self._small / np.maximum(size, self._small)
        for frames in (range(1, len(out)), range(len(out) - 2, -1, -1)):
            for t in frames:
                beside = t - 1 if frames.step > 0 else t + 1
                if (1.0 - out[beside]) * size[beside] > self._small:
                    out[t] = min(out[t], max(np.interp(out[beside], _SETS_IN[:-1], _SETS_IN[1:]), small[t]))
        return out


def _new(found: Pairs, given: Pairs) -> Pairs:
    """The pairs `found` (k,2) that are not among those `given`."""
    one, two = (pairs[:, 0].astype(np.int64) << 32 | pairs[:, 1] for pairs in (found, given))
    return found[~np.isin(one, two)]


def worse_frames(before: Report, after: Report, *, tangles: bool) -> list[int]:
    """Frames that are worse after a repair, by what `check` found in both: vertices inside, depth at and between them,
    pairs that cross the body, and with `tangles` pairs of the garment with itself."""
    inside = [(np.asarray(report.distances) < -DEPTH_TOLERANCE).sum(1) for report in (before, after)]
    worse = inside[1] > inside[0]
    for t, (one, two) in enumerate(zip(before.frames, after.frames, strict=True)):
        deeper, more = two.depth > one.depth + DEPTH_TOLERANCE, tangles and two.self_pairs > one.self_pairs
        worse[t] |= deeper or more or two.crossings > one.crossings
    return np.flatnonzero(worse).tolist()
