"""Active pairs: random vertex pairs descend to local distance minima and are tracked; contacts are flood-filled."""

from typing import TYPE_CHECKING, Annotated, Self

import numpy as np
from numpy.typing import NDArray

from .... import renamed, validate
from ....arguments import OneOf, check_arguments
from ....contacts import Contacts
from ....kernels.detectors.stochastic import descent as _descent
from ....kernels.detectors.stochastic import features as _features
from ....kernels.detectors.stochastic import flood as _flood
from ....kernels.detectors.stochastic.features import FacetQuery
from ....kernels.detectors.stochastic.flood import Seen
from ....state import State
from ...base import BaseDetector, Finds, MaxBytes, Side
from ...queries.contact_records import WeldedSide, with_rounding_margin
from ...queries.welding import Seams
from .coarse_pairs import CoarsePairs
from .facets import joined, levels_of
from .records import Recorder
from .time_budget import ALL_ROUNDS, NO_ROUNDS

if TYPE_CHECKING:
    from ...structure import Structure

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
EVERY = 16  # one of this many near triangle pairs is tracked
MOST = 4096  # descent iterations of a pair per level
ALL = np.iinfo(np.int64).max
TRACKINGS = ("fine", "levels")
FADE = 0.8  # decay per step of the statistics behind the recall estimate
_BYTES = 40  # memory per pair of triangles


@check_arguments
class ActivePairsDetector(BaseDetector):
    """Find contacts at a distance of at most `within` around randomly sampled, tracked vertex pairs; `other=None` finds
    self-contact, excluding adjacent features.

    Every update samples `fresh` new pairs, with random numbers from `seed`. A pair descends over both meshes to a local
    distance minimum; where triangles there are in contact, the contact region is flood-filled over adjacent pairs of
    triangles, until it has `spread` of them (None: the whole region). Coinciding pairs are merged. Pairs farther apart
    than `far` are dropped, or with `tracking="levels"` tracked on coarser levels of the meshes, and refined when they
    come nearer. The result is deterministic for the same seed and the same positions from the first update on.
    """

    name = "active-pairs"
    finds = Finds.OBSTACLE | Finds.PAIR | Finds.SELF
    guarantee = "C"
    needs = "any triangle meshes; motion that is small between updates"
    gives = "distance, normal, depth (closed obstacle)"
    source = "Teschner et al. 2005, section 3.2"
    obstacle_may_deform = True

    def __init__(
        self,
        one: Side,
        other: Side | None = None,
        *,
        within: float,
        fresh: int = 64,
        seed: int = 0,
        far: float | None = None,
        spread: int | None = None,
        tracking: Annotated[str, OneOf(TRACKINGS)] = "fine",
        max_bytes: MaxBytes = None,
    ) -> None:
        self.tracking = tracking
        self._far = None if far is None else validate.number("far", far, low=0.0)
        self.within = validate.number("within", within, low=0.0, high=validate.LARGEST)
        self.fresh = validate.whole("fresh", fresh, low=0, high=1_000_000)
        self.spread = ALL if spread is None else validate.whole("spread", spread, low=1)
        self.seed = validate.whole("seed", seed, low=0)
        self.max_bytes = max_bytes
        self.same = other is None
        self._seams = Seams(one, other)
        self._reweld()
        self._reach = self.within

    def _reweld(self) -> None:
        """Rebuild all data that depend on the welding, and discard the tracked pairs."""
        sides = self._seams.sides
        parts = [WeldedSide.of(side) for side in sides]
        self._whole = joined(parts)
        rest = np.zeros((max(side.rows.stop for side in sides), 3))
        for side in sides:
            rest[side.rows] = side.mesh.vertices
        self._levels = levels_of(parts, rest, max_bytes=self.max_bytes)
        self._recorder = Recorder(parts)
        self.far = 4.0 * self.within + 2.0 * float(self._levels.edges[0]) if self._far is None else self._far
        self.reset()

    def reset(self) -> None:
        """Reset to the state before the first update."""
        self._rng = np.random.default_rng(self.seed)
        self._found = np.zeros((0, 3), np.int32)
        self._touching = self._waiting = np.zeros((0, 2), np.int32)
        self._now = 0  # number of the search, which marks the entries of `_seen` that are valid
        self._hits, self._known = 0.0, 0.0
        self.regions = self.followed = self.n_tested = 0
        self._seen = _allocate(1 << 12)
        self.coarse = CoarsePairs(self._levels, self.same, self.far)  # pairs farther apart, by tracking="levels"

    looked = renamed.attribute("looked", "n_tested")

    def update(self, state: State) -> Self:
        """Sample, descend and flood-fill; all tracked state changes here."""
        x = state.x
        if self._seams.update(x):
            self._reweld()
        self._reach = with_rounding_margin(self.within, x)
        guessed, coarse = self._guess(x), self.coarse
        while True:
            self.coarse = coarse.copy()
            counts = np.zeros(4, np.int64)
            old = self._touching.copy(), self._waiting.copy(), guessed.copy()
            waiting, hits, known = self._search(x, *old, counts)
            if not counts[_flood.OVERFLOWED]:
                break
            # the table overflowed: repeat with twice its size
            size = 2 * len(self._seen.keys)
            advice = "reduce the detection distance"
            validate.budget(f"{size} pairs of triangles", _BYTES * size, advice, self.max_bytes)
            self._seen = _allocate(size)
        near = self._seen.near[: counts[_flood.NEAR]]
        self._found = self._features(x, near)
        self.n_tested, self.regions = int(counts[_flood.TESTED]), int(counts[_flood.REGIONS])
        self._touching, self._waiting = self._picked(x, near), waiting
        self.followed = len(self._touching) + len(waiting) + len(self.coarse.pairs)
        self._hits, self._known = FADE * self._hits + hits, FADE * self._known + known
        return self

    def find(self, state: State) -> Contacts:
        # with a limited `spread`, vertices deep inside are not searched for
        return self._recorder.make(state, self._found, self._whole, ALL_ROUNDS if self.spread == ALL else NO_ROUNDS)

    @property
    def tracked(self) -> tuple[Ints, Ints, CoarsePairs]:
        """The tracked pairs of vertices, rows of `state.x`: (k,2) in contact, (m,2) at local minima of the distance,
        and those that are farther apart."""
        return self._touching, self._waiting, self.coarse

    @property
    def n_levels(self) -> int:
        """Number of levels of the meshes, with the full resolution."""
        return len(self._levels.edges)

    def structure(self, state: State, level: int | None = None) -> "Structure":
        from ..structures.pairs import structure_of_active_pairs

        return structure_of_active_pairs(self, state.x, level)

    @property
    def estimated_recall(self) -> float:
        """Estimated recall: of the recent samples that reached a contact, the share that reached a region found before
        them in the same update, from a tracked pair or an earlier sample; nan if no sample reached a contact."""
        return self._known / self._hits if self._hits > 1e-3 else float("nan")

    @property
    def remark(self) -> str:
        return "its estimate is about contacts weighted by how often samples reach them, not about all alike"

    def _search(
        self, x: Floats, touching: Ints, waiting: Ints, new: Ints, counts: NDArray[np.int64]
    ) -> tuple[Ints, int, int]:
        """Search from the tracked and the new pairs; return the pairs to track that are not in contact, the number of
        new pairs that reached a contact, and how many of these reached a known one."""
        self._now += 1
        # a region that is flooded as a whole may be entered anywhere, a part of it at its nearest pair
        touching = touching if self.spread == ALL else self._settled(x, touching)
        waiting = np.concatenate([waiting, touching[self._flood_from(x, touching, counts) == 0]])
        if self.tracking == "levels":
            waiting = np.concatenate([waiting, self.coarse.advance(x)])
        waiting, distance, _ = self._descend_and_flood(x, waiting, counts)
        self._descend(x, new, len(self._levels.graphs.start) - 1, self.within + self._levels.edges[0])
        new = new if self.spread == ALL else self._settled(x, new)
        outcome = self._flood_from(x, new, counts)
        late, far, more = self._descend_and_flood(x, new[outcome == 0], counts)
        outcome = np.concatenate([outcome, more])
        free, order = np.concatenate([waiting, late]), np.argsort(np.concatenate([distance, far]), kind="stable")
        return free[order][: self.fresh], int((outcome > 0).sum()), int((outcome == 1).sum())

    def _settled(self, x: Floats, pairs: Ints) -> Ints:
        """Return the pairs at their local distance minima; pairs that would become adjacent stay as they are."""
        there = pairs.copy()
        distance = self._descend(x, there, 0, 0.0)
        return np.where(distance[:, None] < 0.0, pairs, there)

    def _descend_and_flood(
        self, x: Floats, pairs: Ints, counts: NDArray[np.int64]
    ) -> tuple[Ints, Floats, NDArray[np.int8]]:
        """Descend to local distance minima and flood-fill from there; return the pairs that are not in contact but
        within `far`, their distances, and the flood status of all pairs within `far`."""
        distance = self._descend(x, pairs, 0, 0.0)
        if self.tracking == "levels":
            self.coarse.add(pairs, distance)
        pairs, distance = self._within_far(pairs, distance)
        outcome = self._flood_from(x, pairs, counts)
        return pairs[outcome == 0], distance[outcome == 0], outcome

    def _flood_from(self, x: Floats, pairs: Ints, counts: NDArray[np.int64]) -> NDArray[np.int8]:
        status = np.zeros(len(pairs), np.int8)
        if len(pairs) and not counts[_flood.OVERFLOWED]:
            _flood.flood(self._query(x), pairs, self.spread, self._seen, self._now, counts, status)
        return status

    def _query(self, x: Floats) -> FacetQuery:
        return FacetQuery(self._whole.facets, x, self.same, self._reach, self.within)

    def _descend(self, x: Floats, pairs: Ints, level: int, stop: float) -> Floats:
        distance = np.zeros(len(pairs))
        _descent.descend(self._levels.graphs, x, level, 0, stop, MOST, pairs, distance)
        return distance

    def _within_far(self, pairs: Ints, distance: Floats) -> tuple[Ints, Floats]:
        """Remove distant, adjacent and duplicate pairs."""
        kept = (distance >= 0.0) & (distance <= self.far)
        pairs, distance = (np.sort(pairs[kept], 1) if self.same else pairs[kept]), distance[kept]
        _, first = np.unique(pairs[:, 0].astype(np.int64) << 32 | pairs[:, 1], return_index=True)
        first.sort()
        return pairs[first], distance[first]

    def _guess(self, x: Floats) -> Ints:
        """Sample (fresh,2) vertices: a random one, and a near one of the other side's coarsest level; for self-contact
        rather one much nearer in space than along the surface. A random half of the coarse vertices is skipped."""
        levels, ends = self._levels, []
        if not all(map(len, levels.rows)):
            return np.zeros((0, 2), np.int32)
        n = len(levels.rows)
        for k in range(n):
            count = self.fresh // n + (k < self.fresh % n)
            rows = levels.rows[k][self._rng.integers(0, len(levels.rows[k]), count)]
            others = levels.coarse[-1 - k]
            skip = self._rng.random((count, len(others))) < 0.5
            to = np.empty(count, np.int64)
            _descent.choose_near(x, rows, others, skip, levels.between, levels.home, to)
            ends.append(np.stack([rows, to] if k == 0 else [to, rows], 1))
        return np.concatenate(ends).astype(np.int32)

    def _features(self, x: Floats, near: Ints) -> Ints:
        capacity = 4 * len(near) + 16
        while True:
            out = np.empty((capacity, 3), np.int32)
            count = _features.add_features(self._query(x), near, 0, len(near), out, 0)
            if count < capacity:
                return out[:count]
            capacity = count + 1

    def _picked(self, x: Floats, near: Ints) -> Ints:
        """Return (k,2) vertices to track from near triangle pairs: of fully flooded regions the first and every
        EVERY-th pair, of partly flooded regions the nearest pair, so that merging regions share one pair."""
        first = np.flatnonzero(np.diff(near[:, 2], prepend=-1))
        whole = self.spread == ALL
        rows = np.union1d(first, np.arange(0, len(near), EVERY)) if whole else np.arange(len(near))
        a, b = (self._whole.facets.corners[near[rows, k]] for k in (0, 1))
        distance = ((x[a][:, :, None] - x[b][:, None]) ** 2).sum(3).reshape(-1, 9)
        best, at = distance.argmin(1), np.arange(len(rows))
        if not whole and len(near):
            at = np.lexsort((distance[at, best], near[:, 2]))[first]
        return np.stack([a[at, best[at] // 3], b[at, best[at] % 3]], 1)


def _allocate(size: int) -> Seen:
    keys, stamp, where = np.zeros(size, np.int64), np.zeros(size, np.int32), np.zeros(size, np.int32)
    return Seen(keys, stamp, where, np.empty((size // 4, 3), np.int32))
