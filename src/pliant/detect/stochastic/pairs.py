"""Active pairs: guessed, led to where surfaces are nearest, followed from step to step; what collides is spread out."""

from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ... import validate
from ...contacts import Contacts
from ...door import door
from ...kernels import stochastic_descent as _descent
from ...kernels import stochastic_features as _features
from ...kernels import stochastic_flood as _flood
from ...kernels.stochastic_flood import Seen
from ...state import State
from ..base import Finds, Side
from ..features import Part
from ..seams import Seams
from .facets import joined, levels_of
from .records import Recorder
from .sides import grown

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
EVERY = 16  # of so many near pairs of triangles one is followed
MOST = 4096  # turns that a pair goes downhill in on one level
ALL = np.iinfo(np.int64).max
FADE = 0.8  # what a step leaves of what earlier ones know about recall
_BYTES = 40  # memory that a pair of triangles takes


@door
class ActivePairsDetector:
    """Contacts closer than `within` near pairs of vertices that are guessed and then followed; `other=None` asks for
    self-contact, neighbours left out.

    Every update guesses `fresh` new pairs from `seed`. A pair goes downhill over both meshes to where they are nearest;
    where it meets what is closer than `within`, its neighbours are looked at, and theirs, up to `spread` pairs of
    triangles (None: the whole region). Pairs farther than `far` are dropped, those that met are one. The same seed and
    the same positions, from the first update on, give the same contacts.
    """

    name: ClassVar[str] = "active-pairs"
    finds: ClassVar[Finds] = Finds.OBSTACLE | Finds.PAIR | Finds.SELF
    guarantee: ClassVar[str] = "C"
    needs: ClassVar[str] = "any triangle meshes; motion that is small between updates"
    gives: ClassVar[str] = "distance, normal, depth (closed obstacle)"
    source: ClassVar[str] = "Teschner et al. 2005, section 3.2"
    follows: ClassVar[bool] = True

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
        max_bytes: float | None = None,
    ) -> None:
        self.within = validate.number("within", within, low=0.0, high=validate.LARGEST)
        self.fresh = validate.whole("fresh", fresh, low=0, high=1_000_000)
        self.spread = ALL if spread is None else validate.whole("spread", spread, low=1)
        self.seed = validate.whole("seed", seed, low=0)
        self.max_bytes = max_bytes
        self.same = other is None
        self._seams = Seams(one, other)
        self._sew()
        self.far = 4.0 * self.within + 2.0 * self._levels.edge if far is None else validate.number("far", far, low=0.0)
        self._reach = self.within

    def _sew(self) -> None:
        """What follows from which vertices are one; what was known about others is forgotten."""
        sides = self._seams.sides
        parts = [Part.of(side) for side in sides]
        self._whole = joined(parts)
        rest = np.zeros((max(side.rows.stop for side in sides), 3))
        for side in sides:
            rest[side.rows] = side.mesh.vertices
        self._levels = levels_of(parts, rest, max_bytes=self.max_bytes)
        self._recorder = Recorder(parts)
        self.forget()

    def forget(self) -> None:
        """As if nothing had been asked yet."""
        self._rng = np.random.default_rng(self.seed)
        self._found = np.zeros((0, 3), np.int32)
        self._touching = self._waiting = np.zeros((0, 2), np.int32)
        self._now, self._hits, self._known = 0, 0.0, 0.0
        self.regions = self.followed = self.looked = 0
        self._seen = _room(1 << 12)

    def update(self, state: State) -> Self:
        """Guess, lead downhill, spread: all that is remembered changes here."""
        x = state.x
        if self._seams.follow(x):
            self._sew()
        self._reach = grown(self.within, x)
        guessed = self._guess(x)
        while True:
            counts = np.zeros(4, np.int64)
            old = self._touching.copy(), self._waiting.copy(), guessed.copy()
            waiting, hits, known = self._search(x, *old, counts)
            if not counts[3]:
                break
            # counted, not cut off: begin again with more room
            size = 2 * len(self._seen.keys)
            validate.budget(f"{size} pairs of triangles", _BYTES * size, "ask for a smaller distance", self.max_bytes)
            self._seen = _room(size)
        near = self._seen.near[: counts[0]]
        self._found = self._features(x, near)
        self.looked, self.regions = int(counts[1]), int(counts[2])
        self._touching, self._waiting = self._picked(x, near), waiting
        self.followed = len(self._touching) + len(waiting)
        self._hits, self._known = FADE * self._hits + hits, FADE * self._known + known
        return self

    def find(self, state: State) -> Contacts:
        # of what is followed in part only, the deep inside is not looked for
        return self._recorder.make(state, self._found, self._whole, lambda: self.spread == ALL)

    @property
    def estimated_recall(self) -> float:
        """Of the guesses that met a contact lately, the share that met one in a region that was known by then: about
        how much of all contact the known regions are. nan where none met any."""
        return self._known / self._hits if self._hits > 1e-3 else float("nan")

    def _search(
        self, x: Floats, touching: Ints, waiting: Ints, new: Ints, counts: NDArray[np.int64]
    ) -> tuple[Ints, int, int]:
        """From the pairs that are followed and from new ones: those to follow that touch nothing yet; how many of the
        new ones met contacts, and how many of these known ones."""
        self._now += 1
        if self.spread == ALL:
            waiting = np.concatenate([waiting, touching[self._spread_from(x, touching, counts) == 0]])
        else:
            self._spread_from(x, self._settled(x, touching), counts)
        waiting, apart, _ = self._led(x, waiting, counts)
        self._lead(x, new, len(self._levels.graphs.start) - 1, self.within + self._levels.edge)
        new = new if self.spread == ALL else self._settled(x, new)
        met = self._spread_from(x, new, counts)
        late, far, more = self._led(x, new[met == 0], counts)
        met = np.concatenate([met, more])
        free, order = np.concatenate([waiting, late]), np.argsort(np.concatenate([apart, far]), kind="stable")
        return free[order][: self.fresh], int((met > 0).sum()), int((met == 1).sum())

    def _settled(self, x: Floats, pairs: Ints) -> Ints:
        """Pairs where they are nearest; those that would become neighbours as they are."""
        there = pairs.copy()
        apart = self._lead(x, there, 0, 0.0)
        return np.where(apart[:, None] < 0.0, pairs, there)

    def _led(self, x: Floats, pairs: Ints, counts: NDArray[np.int64]) -> tuple[Ints, Floats, NDArray[np.int8]]:
        """Lead pairs to where they are nearest and spread from there: those that touch nothing and are near enough to
        wait, their distances, and what all of them met."""
        apart = self._lead(x, pairs, 0, 0.0)
        pairs, apart = self._near_enough(pairs, apart)
        met = self._spread_from(x, pairs, counts)
        return pairs[met == 0], apart[met == 0], met

    def _spread_from(self, x: Floats, pairs: Ints, counts: NDArray[np.int64]) -> NDArray[np.int8]:
        status = np.zeros(len(pairs), np.int8)
        if len(pairs) and not counts[3]:
            told = (self._whole.facets, x, self.same, self._reach, self.within, pairs, self.spread)
            _flood.flood(*told, self._seen, self._now, counts, status)
        return status

    def _lead(self, x: Floats, pairs: Ints, level: int, stop: float) -> Floats:
        apart = np.zeros(len(pairs))
        _descent.descend(self._levels.graphs, x, level, stop, MOST, pairs, apart)
        return apart

    def _near_enough(self, pairs: Ints, apart: Floats) -> tuple[Ints, Floats]:
        """Without those that are far or neighbours, and each once."""
        kept = (apart >= 0.0) & (apart <= self.far)
        pairs, apart = (np.sort(pairs[kept], 1) if self.same else pairs[kept]), apart[kept]
        _, first = np.unique(pairs[:, 0].astype(np.int64) << 32 | pairs[:, 1], return_index=True)
        first.sort()
        return pairs[first], apart[first]

    def _guess(self, x: Floats) -> Ints:
        """(fresh,2) vertices: one anywhere, and one of the other side's coarsest level that is near; of one side with
        itself one that is much nearer than along the surface. Half of the coarsest are left out each time."""
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
        room = 4 * len(near) + 16
        while True:
            out = np.empty((room, 3), np.int32)
            count = _features.add_features(self._whole.facets, x, self.same, near, 0, len(near), self.within, out, 0)
            if count < room:
                return out[:count]
            room = count + 1

    def _picked(self, x: Floats, near: Ints) -> Ints:
        """(k,2) vertices of what is near, to follow: of regions as a whole the first and some others, of regions that
        are not followed to their ends the nearest, so that those that meet become one."""
        first = np.flatnonzero(np.diff(near[:, 2], prepend=-1))
        whole = self.spread == ALL
        rows = np.union1d(first, np.arange(0, len(near), EVERY)) if whole else np.arange(len(near))
        a, b = (self._whole.facets.corners[near[rows, k]] for k in (0, 1))
        apart = ((x[a][:, :, None] - x[b][:, None]) ** 2).sum(3).reshape(-1, 9)
        best, at = apart.argmin(1), np.arange(len(rows))
        if not whole and len(near):
            at = np.lexsort((apart[at, best], near[:, 2]))[first]
        return np.stack([a[at, best[at] // 3], b[at, best[at] % 3]], 1)


def _room(size: int) -> Seen:
    keys, stamp, where = np.zeros(size, np.int64), np.zeros(size, np.int32), np.zeros(size, np.int32)
    return Seen(keys, stamp, where, np.empty((size // 4, 3), np.int32))
