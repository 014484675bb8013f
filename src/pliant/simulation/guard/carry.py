"""Carry: move bodies and grips by their full displacement, and carry the cloth in front of them along.

Cloth that a body is about to hit gets the displacement of that body, so the gap between them stays constant and one
round may cover any distance. Its neighbours follow with a weight that falls off with distance; pins stay. Where carried
cloth meets an obstacle, it is pushed aside. In each round all vertices advance by the same fraction of their
displacements: see kernels/simulation/carry.py.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ...kernels.simulation import carry as _kernels
from ...kernels.simulation.carry import Carried
from .pairs import GuardedPairs

Floats = NDArray[np.float64]
Rows = NDArray[np.int32]
Flags = NDArray[np.bool_]
SPREAD = 4.0  # radius of the cloth carried along, as a multiple of the displacement
SWEEPS = 12  # over all pairs, when carried cloth is pushed aside
MORE = 1.0001  # ratio of squared displacements above which a vertex that is carried already gets a new carrier
IDLE = 10  # rounds without progress and without newly carried vertices before pairs are given up
SOON = 3  # the same, after pairs were given up once
STUCK = 0.1  # fraction of a round's displacement; above it the next round continues with new normals
LITTLE = 1e-3  # fraction of the remaining displacement below which there is no progress


class CarryGuard(Protocol):
    """The interface of the guard that `Carry` uses."""

    thickness: float

    def pairs_along(self, x: Floats, motion: Floats) -> tuple[float, GuardedPairs, Floats]:
        """Return the fraction of the displacements `motion` (n,3) from x for which the candidates are complete, the
        pairs that may collide during it, and how far (n,) each vertex may deviate from it."""

    def give_up(self, pairs: GuardedPairs, which: Flags) -> None:
        """Stop guarding the vertices of the pairs selected by `which` (k,) against the body on the other side."""

    def give_up_squeezed(self, rows: Rows) -> bool:
        """Stop guarding those of `rows` that bodies squeeze from both sides; return whether there are any."""


class Carry:
    """Carries cloth with `edges` (m,2) of `rest_length` (m,), metres. `free` (n,) marks the vertices that can
    move; `driven` are the rows of bodies and grips; `max_reach` is the largest query distance, metres."""

    def __init__(self, edges: Rows, rest_length: Floats, free: Flags, driven: Rows, max_reach: float) -> None:
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        n = len(free)
        both, far = (
            np.concatenate([edges, edges[:, ::-1]]),
            np.maximum(np.concatenate([rest_length, rest_length]), 1e-300),
        )
        self._links = coo_array((far, both.T), shape=(n, n)).tocsr()
        self._cloth = np.zeros(n, np.bool_)
        self._cloth[edges] = True
        self._pieces = connected_components(self._links, directed=False)[1]
        self._free, self._driven, self._max_reach = free, driven, max_reach
        self.carried_by = np.zeros((n, 3))  # displacement by which each vertex was carried
        self.rounds = 0

    def move_driven(self, guard: CarryGuard, target: Floats, x: Floats, rounds: int) -> bool:
        """Move the driven rows of x to `target`, and carry the cloth they push, in at most `rounds` rounds. Return
        whether they arrived. Pairs that leave no room are given up in batches (see `give_up`); all others stay
        separated."""
        free, driven = self._free, self._driven
        # e: the displacements still to be made, of driven rows and of the vertices that are carried
        carried, e = np.zeros(len(x), np.bool_), np.zeros_like(x)
        self.carried_by[:], self.rounds = 0.0, 0
        spread, idle = SPREAD * _longest(target[driven] - x[driven]) + 2.0 * self._max_reach, 0
        patience, together = IDLE, False
        while self.rounds < rounds:
            self.rounds += 1
            e[driven] = target[driven] - x[driven]
            displacement = self._displacement_field(e, carried, spread)
            share, pairs, radius = guard.pairs_along(x, displacement)
            u = share * displacement
            least, most = _allowed_shares(pairs, x, u)
            hopeless = (most * share <= LITTLE) & ~free[pairs.vertices].any(1)
            if hopeless.any():
                # bodies and grips that are driven into each other: no cloth can make room for them
                guard.give_up(pairs, hopeless)
                continue
            new, horizon = 0, least + self._max_reach / max(_longest(u[driven]), 1e-300)
            if least < 1.0:
                more = MORE if idle == 0 else np.inf
                new = _kernels.carry_blocked(pairs.vertices, most, horizon, share, more, u, free, Carried(carried, e))
            if least < 1.0 and not new and not together:
                # shear has brought features of the cloth into contact: carry connected pieces as a whole
                together, new = True, self._carry_pieces(e, carried)
            if least < STUCK and not new:
                # all vertices are carried and some pairs still block: project the displacements for the next round
                wanted = np.maximum(pairs.kept, 0.5 * (pairs.kept + np.minimum(pairs.gaps, guard.thickness)))
                other = u.copy()
                _kernels.separate_displacements(pairs.features, wanted, x, np.full(len(x), np.inf), free, SWEEPS, other)
                change = (other != u).any(1)
                e[change], carried[change] = other[change] / share, True
                if least * share <= LITTLE:
                    self._make_room(pairs, most < horizon, radius, guard.thickness, x)
                    least = 0.0  # the displacement was computed for the positions before `_make_room`
            x[free] += least * u[free]
            self.carried_by[free] += least * u[free]
            if least * share >= 1.0:
                x[driven] = target[driven]
                return True
            x[driven] += least * u[driven]
            e *= 1.0 - least * share
            idle = 0 if new or least * share > LITTLE else idle + 1
            if idle and guard.give_up_squeezed(np.unique(pairs.vertices[most * share <= LITTLE])):
                idle = 0
            if idle >= patience:
                guard.give_up(pairs, most * share <= LITTLE)
                idle, patience = 0, SOON
        return False

    def _carry_pieces(self, e: Floats, carried: Flags) -> int:
        """Give connected pieces of cloth without static vertices the largest displacement of their grips, or else of
        their carried vertices. Return the number of vertices of these pieces."""
        held = self._cloth & ~self._free
        length = np.where(carried | held, (e**2).sum(1), 0.0)
        order = np.lexsort((-length, ~(held & (length > 0.0))))
        first = order[np.unique(self._pieces[order], return_index=True)[1]]
        stays = np.bincount(self._pieces, held & (length == 0.0), len(first)) > 0
        goes = self._free & self._cloth & ~stays[self._pieces] & (length[first] > 0.0)[self._pieces]
        e[goes], carried[goes] = e[first][self._pieces[goes]], True
        return int(goes.sum())

    def _make_room(self, pairs: GuardedPairs, tight: Flags, radius: Floats, thickness: float, x: Floats) -> None:
        """Move cloth away from blocking pairs while bodies and grips wait: an edge pinned at one end must rotate before
        anything can pass it."""
        u = np.zeros_like(x)
        wanted = np.where(tight, np.maximum(pairs.kept, thickness), pairs.kept)
        _kernels.separate_displacements(pairs.features, wanted, x, radius, self._free, SWEEPS, u)
        u *= _allowed_shares(pairs, x, u)[0]
        x[self._free] += u[self._free]
        self.carried_by[self._free] += u[self._free]

    def _displacement_field(self, e: Floats, carried: Flags, spread: float) -> Floats:
        """Return the displacement field (n,3): carried and driven vertices get their row of e (n,3), cloth near them
        that of the nearest, weighted by the distance along the cloth and towards static vertices."""
        from scipy.sparse.csgraph import dijkstra

        displacement = np.zeros_like(e)
        displacement[self._driven] = e[self._driven]
        held = self._cloth & ~self._free
        moves = (displacement != 0.0).any(1)
        sources = np.flatnonzero(carried | (held & moves))
        if not len(sources):
            return displacement
        far, _, nearest = dijkstra(self._links, indices=sources, min_only=True, return_predecessors=True, limit=spread)
        rows = np.flatnonzero(self._free & (far < spread))
        weight = 1.0 - far[rows] / spread
        stays = np.flatnonzero(held & ~moves)
        if len(stays):
            rest = dijkstra(self._links, indices=stays, min_only=True)[rows]
            weight *= np.divide(rest, rest + far[rows], out=np.ones(len(rows)), where=np.isfinite(rest))
        displacement[rows] = weight[:, None] * e[nearest[rows]]
        displacement[carried] = e[carried]
        return displacement


def _allowed_shares(pairs: GuardedPairs, x: Floats, u: Floats) -> tuple[float, Floats]:
    """Return the fraction of u that all vertices may move, and the fraction that each pair (k,) allows."""
    most = np.empty(len(pairs.kept))
    return float(_kernels.shares(pairs.features, pairs.kept, x, u, most)), most


def _longest(a: Floats) -> float:
    return float(np.sqrt((a**2).sum(1).max(initial=0.0)))
