"""Carry: bodies and grips go all of their way, and the cloth before them goes along.

What a body is about to hit goes as the body does, so that the gap between them never changes and one round may be any
distance; its neighbours follow, the less the farther away they are, and what is pinned stays. Where cloth that is
carried meets something else, it makes way. All vertices go the same share of their way at once: see kernels/carry.py.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..kernels import carry as _kernels
from .pairs import Walls

Floats = NDArray[np.float64]
Rows = NDArray[np.int32]
Flags = NDArray[np.bool_]
SPREAD = 4.0  # how far from where it is pushed cloth is drawn along, over how far it is pushed
SWEEPS = 12  # over all pairs, to make way
MORE = 1.0001  # times as far, squared, that something must go to carry what is carried already
IDLE = 10  # rounds that bring nothing and nobody new: then there is no room that this finds
SOON = 3  # such rounds, once there was none
STUCK = 0.1  # of a round's way: what goes farther than that goes on, along new normals
LITTLE = 1e-3  # of what was left of the way: less than that is nothing


class Overseer(Protocol):
    """What a carry needs of the guard."""

    thickness: float

    def along(self, x: Floats, way: Floats) -> tuple[float, Walls, Floats]:
        """The share of a way (n,3) from x that can be overseen, all pairs that may meet on it, and by how much (n,)
        each vertex may stray from it."""

    def give_up(self, pairs: Walls, which: Flags) -> None:
        """Let some pairs (k,) meet from now on."""


class Carry:
    """For the cloth with `edges` (m,2), metres `long` at rest, on as many vertices as `free` (n,) has; bodies and grips
    are the `driven` rows."""

    def __init__(self, edges: Rows, long: Floats, free: Flags, driven: Rows, unit: float) -> None:
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        n = len(free)
        both, far = np.concatenate([edges, edges[:, ::-1]]), np.maximum(np.concatenate([long, long]), 1e-300)
        self._links = coo_array((far, both.T), shape=(n, n)).tocsr()
        self._cloth = np.zeros(n, np.bool_)
        self._cloth[edges] = True
        self._pieces = connected_components(self._links, directed=False)[1]
        self._free, self._driven, self._unit = free, driven, unit
        self.gone = np.zeros((n, 3))  # how far each vertex was carried
        self.rounds = 0

    def bring(self, walls: Overseer, target: Floats, x: Floats, rounds: int) -> bool:
        """Bring the driven rows of x to `target`, and cloth as far as they push it, in at most so many rounds; whether
        they got there. Pairs that leave no room are given up, one lot after the other; all others stay apart."""
        free, driven = self._free, self._driven
        carried, e = np.zeros(len(x), np.bool_), np.zeros_like(x)
        self.gone[:], self.rounds = 0.0, 0
        spread, idle = SPREAD * _longest(target[driven] - x[driven]) + 2.0 * self._unit, 0
        patience, together = IDLE, False
        while self.rounds < rounds:
            self.rounds += 1
            e[driven] = target[driven] - x[driven]
            way = self._field(e, carried, spread)
            share, pairs, radius = walls.along(x, way)
            u = share * way
            least, most = _apart(pairs, x, u)
            new, horizon = 0, least + self._unit / max(_longest(u[driven]), 1e-300)
            if least < 1.0:
                more = MORE if idle == 0 else np.inf
                new = _kernels.join(*pairs.named, most, horizon, share, more, u, free, carried, e)
            if least < 1.0 and not new and not together:
                # the cloth is sheared until its own features stop each other: all of it goes along
                together, new = True, self._join_pieces(e, carried)
            if least < STUCK and not new:
                # all of them are carried, and still some stop others: the next round they make way
                wanted = np.maximum(pairs.kept, 0.5 * (pairs.kept + np.minimum(pairs.gaps, walls.thickness)))
                other = u.copy()
                _kernels.make_way(*pairs.named, wanted, x, np.full(len(x), np.inf), free, SWEEPS, other)
                change = (other != u).any(1)
                e[change], carried[change] = other[change] / share, True
                if least * share <= LITTLE:
                    self._ease(pairs, most < horizon, radius, walls.thickness, x)
                    least = 0.0  # the common way was for where things were
            x[free] += least * u[free]
            self.gone[free] += least * u[free]
            if least * share >= 1.0:
                x[driven] = target[driven]
                return True
            x[driven] += least * u[driven]
            e *= 1.0 - least * share
            idle = 0 if new or least * share > LITTLE else idle + 1
            if idle >= patience:
                walls.give_up(pairs, most * share <= LITTLE)
                idle, patience = 0, SOON
        return False

    def _join_pieces(self, e: Floats, carried: Flags) -> int:
        """Let connected pieces of cloth of which nothing stays go as that of their grips does which goes farthest, or
        that of their carried vertices; how many vertices these have."""
        held = self._cloth & ~self._free
        length = np.where(carried | held, (e**2).sum(1), 0.0)
        order = np.lexsort((-length, ~(held & (length > 0.0))))
        first = order[np.unique(self._pieces[order], return_index=True)[1]]
        stays = np.bincount(self._pieces, held & (length == 0.0), len(first)) > 0
        goes = self._free & self._cloth & ~stays[self._pieces] & (length[first] > 0.0)[self._pieces]
        e[goes], carried[goes] = e[first][self._pieces[goes]], True
        return int(goes.sum())

    def _ease(self, pairs: Walls, tight: Flags, radius: Floats, thickness: float, x: Floats) -> None:
        """Let cloth go away from what stops it while all that drives it waits: an edge that a pin holds at one end has
        to turn before anything can go past it."""
        u = np.zeros_like(x)
        wanted = np.where(tight, np.maximum(pairs.kept, thickness), pairs.kept)
        _kernels.make_way(*pairs.named, wanted, x, radius, self._free, SWEEPS, u)
        u *= _apart(pairs, x, u)[0]
        x[self._free] += u[self._free]
        self.gone[self._free] += u[self._free]

    def _field(self, e: Floats, carried: Flags, spread: float) -> Floats:
        """(n,3) how far everything goes: what is carried or driven by its row of e, cloth near it as the nearest of
        these, less with the distance along the cloth and near what stays."""
        from scipy.sparse.csgraph import dijkstra

        way = np.zeros_like(e)
        way[self._driven] = e[self._driven]
        held = self._cloth & ~self._free
        moves = (way != 0.0).any(1)
        sources = np.flatnonzero(carried | (held & moves))
        if not len(sources):
            return way
        far, _, nearest = dijkstra(self._links, indices=sources, min_only=True, return_predecessors=True, limit=spread)
        rows = np.flatnonzero(self._free & (far < spread))
        weight = 1.0 - far[rows] / spread
        stays = np.flatnonzero(held & ~moves)
        if len(stays):
            rest = dijkstra(self._links, indices=stays, min_only=True)[rows]
            weight *= np.divide(rest, rest + far[rows], out=np.ones(len(rows)), where=np.isfinite(rest))
        way[rows] = weight[:, None] * e[nearest[rows]]
        way[carried] = e[carried]
        return way


def _apart(pairs: Walls, x: Floats, u: Floats) -> tuple[float, Floats]:
    """The share of u that all may go, and that each pair (k,) would let them."""
    most = np.empty(len(pairs.kept))
    return float(_kernels.shares(*pairs.named, pairs.kept, x, u, most)), most


def _longest(a: Floats) -> float:
    return float(np.sqrt((a**2).sum(1).max(initial=0.0)))
