"""Acceptance: no frame of an animation gets worse, and none is moved far where the frames beside it stay as given.

A frame that is worse with its displacements takes those between the frames beside it, or its own; what gets worse with
them is left alone. If that leaves less than half of them, all are scaled down, in the end to nothing. A correction of
which a frame takes a share sets in and fades over the frames beside it, as every correction does; these are inspected
again, and what they refuse fades likewise.
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
# rings of edges around what got worse within which nothing moves, and beyond which everything does; tried in turn
RINGS = (0, 3), (1, 5), (2, 8)
LEAST = 0.5  # of the displacements that must be left then, else all are scaled
SCALES = (0.75, 0.5, 0.25)  # of all displacements of a frame
INSPECTIONS = 6  # most for each frame, on average
SMALL = 0.002  # of the garment's size: displacements that may differ from those of the frames beside
_SETS_IN = np.concatenate([[0.0], np.cumsum(binomial(REACH))])  # shares of a correction that sets in, by frame


class Acceptance:
    """Accepts displacements of the frames `given` (T,n,3) of an animated garment; links: of its vertices, a sparse
    matrix; limited: displacements of a frame within its bounds of strain, from its positions and displacements."""

    def __init__(
        self,
        ranking: Ranking,
        given: Floats,
        links: Any,
        carried: Callable[[Floats, int, int], Floats],
        limited: Callable[[Floats, Floats], Floats],
    ) -> None:
        self._ranking, self._given, self._links = ranking, given, links
        self._carried, self._limited = carried, limited
        self._faces = ranking.mesh.faces
        self._left = INSPECTIONS * len(given)
        self._small = max(ranking.around.clearance, SMALL * ranking.mesh.size)
        self._inspected: dict[int, Inspection] = {}  # of the frames as they were given

    def accepted(self, u: Floats, accepted: Mask) -> Floats:
        """The displacements u (T,n,3), or others near them, so that no frame is worse than it was given. accepted: (T,)
        frames of which that is known."""
        u, scale, local = u.copy(), np.ones(len(u)), np.ones(u.shape[:2])
        changed = np.flatnonzero(u.any((1, 2)) & ~accepted)
        for t in changed:
            between = self._between(int(t), u, accepted)
            alone = None if between is None else self._alone(int(t), between, local[t])
            if between is not None and alone is not None:
                u[t], local[t] = between, alone
                accepted = accepted | (np.arange(len(u)) == t)
        changed, size = changed[~accepted[changed]], np.linalg.norm(u, axis=2).max(1)
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

    def _between(self, t: int, u: Floats, accepted: Mask) -> Floats | None:
        """Displacements (n,3) of frame t between those of the accepted frames beside it, None without one on both
        sides."""
        before, after = (
            next((k for k in frames if 0 <= k < len(u) and accepted[k]), None)
            for frames in (range(t - 1, t - REACH - 1, -1), range(t + 1, t + REACH + 1))
        )
        if before is None or after is None:
            return None
        share = (t - before) / (after - before)
        one, two = self._carried(u[before], before, t), self._carried(u[after], after, t)
        return self._limited(self._given[t], (1.0 - share) * one + share * two)

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
            self._ranking.around.move(t)
            self._inspected[t] = self._ranking.inspect(t, self._given[t])
        return self._inspected[t]

    def _moved(self, t: int, u: Floats, share: Floats) -> Floats:
        return u if (share == 1.0).all() else self._limited(self._given[t], share[:, None] * u)

    def _allowed(self, t: int, u: Floats, scale: float, local: Floats) -> tuple[float, Floats]:
        """The scale and the local shares (n,) of u (n,3), at most those given, with which frame t is not worse."""
        alone = self._alone(t, scale * u, local)
        if alone is not None:
            return scale, alone
        for less in SCALES:
            if self._worse_with(t, less * scale * u) is None:
                return less * scale, np.ones(len(u))
        return 0.0, np.ones(len(u))

    def _alone(self, t: int, u: Floats, local: Floats) -> Floats | None:
        """(n,) shares of u (n,3), at most those given, that leave alone what would get worse in frame t; None where too
        little would be left."""
        worse = np.zeros(len(u), np.bool_)
        for k in range(1 + len(RINGS)):
            found = self._worse_with(t, self._moved(t, u, local))
            if found is None:
                return local
            worse |= found
            if k == len(RINGS) or not worse.any():
                return None
            local = local * self._apart(worse, *RINGS[k])
            if np.linalg.norm(local[:, None] * u) < LEAST * np.linalg.norm(u):
                return None
        return None

    def _worse_with(self, t: int, u: Floats) -> Mask | None:
        """(n,) vertices at which frame t has more problems with displacements u (n,3), None if it is not worse."""
        if not u.any():
            return None
        if self._left <= 0:
            return np.zeros(len(u), np.bool_)
        self._left -= 1
        self._ranking.around.move(t)
        found = self._ranking.inspect(t, self._given[t] + u, self._given[t])
        if not found.score.problems:
            return None
        given = self._of_given(t)
        return self._worse(found, given) if found.score.worse_in_animation(given.score) else None

    def _apart(self, rows: Mask, none: int, every: int) -> Floats:
        """(n,) 0 at vertices `rows` (n,) and within as many rings around them as `none`, 1 beyond `every`."""
        near, share = rows, np.ones(len(rows))
        for ring in range(every):
            share[near] = np.minimum(share[near], max(ring - none, 0) / (every - none))
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
