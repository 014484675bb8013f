"""Cloth that intersects a body with vertices outside of it: it has passed through the body, or cuts one of its ridges.

When bodies that left cloth no room part, some of its vertices may have come out on the far side of a body. These belong
to the side from which their edges enter it, and return there (`passed`). Where the surface leads around a ridge or a
corner from one end of an edge to the other, both ends are where they belong, and the edge cuts the ridge: the point in
the middle of the part inside, or of a face through which a corner pokes, moves off the ridge (`Ridges`). Only frames
that begin with intersecting triangles need this.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...kernels.simulation import ridges as _kernels
from ...kernels.simulation.no_room import FacesAround
from ...kernels.simulation.ridges import ClothGraph, Poked
from ...state import State
from .inside import Solids, leave_room
from .sides import Sides

Floats = NDArray[np.float64]
Rows = NDArray[np.int32]
Flags = NDArray[np.bool_]
OUTWARD = 0.5  # m/s: speed at which cloth moves off a ridge, relative to the body
BLUNT = 0.5  # least length of the mean of two normals along which cloth moves off a ridge
SWEEPS = 4  # over the points that move off ridges
DIRECTIONS = 8  # in which the way off the rim of a thin body is searched
_NONE = np.zeros(0, np.int32)
STEPS = (0.125, 0.25, 0.5)  # of the edge: distances at which it is searched


class Hits(NamedTuple):
    """Edges of cloth that pass through a body: ends (k,2), the fractions (k,2) at which they enter it from their first
    and from their second end, and the faces (k,2) through which they do."""

    ends: Rows
    places: Floats
    faces: Rows


class Entered(NamedTuple):
    """Cloth that has entered a body: the vertices that have passed through it and are outside again, and the sides (n,)
    of these and of those inside from which it has entered; -1 for all others."""

    passed: Rows
    side: Rows

    def sides_of(self, rows: Rows, known: Rows) -> Rows:
        """Return the sides of `rows` (k,): those `known` (k,) where they are not -1, unless a vertex has passed."""
        mine = self.side[rows]
        return np.where((mine >= 0) & ((known < 0) | np.isin(rows, self.passed)), mine, known).astype(np.int32)


def hits_of(corners: Rows, around: FacesAround, x: Floats) -> Hits:
    """Return the edges of intersecting triangles `corners` (k,2,3) of cloth and a body that pass through it."""
    k = 3 * len(corners)
    ends, places, faces = np.empty((k, 2), np.int32), np.empty(k), np.empty(k, np.int32)
    count = _kernels.edge_hits(corners, around, x, ends, places, faces)
    ends, places, faces = ends[:count], places[:count], faces[:count]
    order = np.lexsort((faces, places, ends[:, 1], ends[:, 0]))
    ends, places, faces = ends[order], places[order], faces[order]
    new = np.ones(count, np.bool_)
    new[1:] = (ends[1:] != ends[:-1]).any(1)
    start = np.flatnonzero(new)
    both = np.stack([start, np.flatnonzero(np.append(new, True)[1:])], 1)
    return Hits(ends[start], places[both], faces[both])


class PassedCloth:
    """Finds the cloth that has passed through a body, by the edges (k,2) of all cloth; n: number of its vertices."""

    def __init__(self, edges: Rows, n: int, around: FacesAround) -> None:
        both = np.concatenate([edges, edges[:, ::-1]]).astype(np.int64)
        self._keys = np.unique(both[:, 0] * n + both[:, 1])
        self._beside = (self._keys % n).astype(np.int32)
        self._from = self._keys // n
        self._first = np.searchsorted(self._from, np.arange(n + 1))
        self._n, self._around = n, around
        self._piece = self._parts(np.ones(len(self._keys), np.bool_))

    def _parts(self, kept: Flags) -> NDArray[np.int64]:
        """Return the connected parts (n,) of the cloth by the directed edges `kept`."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        links = coo_array((np.ones(int(kept.sum()), np.int8), (self._from[kept], self._beside[kept])), (self._n,) * 2)
        return np.asarray(connected_components(links, directed=False)[1], np.int64)

    def beside(self, rows: Rows) -> Flags:
        """Return which vertices (n,) are among `rows` or joined to them by an edge."""
        out = np.zeros(self._n, np.bool_)
        out[rows] = True
        out[self._beside[out[self._from]]] = True
        return out

    def find(self, hits: Hits, through: Flags, inside: Rows, x: Floats) -> Entered:
        """Return the cloth that has entered a body, by the edges that pass through its surface, `through` (k,) from one
        side of a thin part to the other, and the vertices that are `inside` of it."""
        enters, (a, b) = np.full(len(self._keys), -1, np.int32), hits.ends.astype(np.int64).T
        enters[np.searchsorted(self._keys, a * self._n + b)] = hits.faces[:, 0]
        enters[np.searchsorted(self._keys, b * self._n + a)] = hits.faces[:, 1]
        outside = np.ones(self._n, np.bool_)
        outside[inside] = False
        part = self._parts((enters < 0) & outside[self._from] & outside[self._beside])
        right, side = self._largest(part, outside), np.full(self._n, -1, np.int32)
        cut = hits.ends[through & right[hits.ends].all(1)]
        alone = covering(cut, self._n)
        right[alone], part[alone] = False, self._n + alone
        _kernels.find_sides(ClothGraph(self._first, self._beside, enters), self._around, x, outside, part, right, side)
        return Entered(np.flatnonzero(outside & (side >= 0)).astype(np.int32), side)

    def _largest(self, part: NDArray[np.int64], outside: Flags) -> Flags:
        """Return which vertices belong to the largest part outside of the body of each connected piece of cloth."""
        size = np.bincount(part[outside], minlength=self._n)
        size_at = np.where(outside, size[part], 0)
        order = np.lexsort((part, -size_at))
        _, at = np.unique(self._piece[order], return_index=True)
        chosen = np.zeros(self._n, np.bool_)
        chosen[part[order[at]]] = True
        return np.asarray(outside & chosen[part])


def covering(edges: Rows, n: int) -> NDArray[np.int64]:
    """Return few of n vertices that touch all `edges` (k,2): in turn that with most of the remaining ones."""
    found = []
    while len(edges):
        found.append(int(np.argmax(np.bincount(edges.ravel(), minlength=n))))
        edges = edges[(edges != found[-1]).all(1)]
    return np.array(sorted(found), np.int64)


class Ridges:
    """The points of cloth that move off ridges and corners of bodies in the present frame."""

    def __init__(self, free: Flags, edges: Rows, around: FacesAround, eps: float) -> None:
        self._free, self._around, self._eps = free, around, eps
        self._cloth, self._sides = PassedCloth(edges, len(free), around), Sides(around, eps)
        self.clear()

    def clear(self) -> None:
        """Begin a frame in which no cloth intersects a ridge."""
        self._rows, self._weights = np.zeros((0, 3), np.int32), np.zeros((0, 3))
        self._ways, self._left = np.zeros((0, 3)), np.zeros(0)  # unit directions, and metres to go
        self._faces = np.zeros(0, np.int32)  # of the body, with which the points move
        self._levels = np.zeros(0)

    def find(
        self, solids: list[Solids], found: list[tuple[int, int, Rows]], inside: list[tuple[int, Rows]], x: Floats
    ) -> tuple[list[tuple[int, Rows]], dict[int, Entered]]:
        """Find the cloth that has passed through closed bodies or cuts their ridges, by all intersecting pairs `found`
        of two bodies. Return the vertices `inside` of each body with those that have passed through it, and the sides
        from which they have entered."""
        within, entered = dict(inside), {}
        for solid in solids:
            corners = [each for _, c, each in found if c == solid.body]
            if not corners:
                continue
            pairs = np.concatenate(corners)
            hits, rows = hits_of(pairs, self._around, x), within.get(solid.body, _NONE)
            ends_inside = np.isin(hits.ends, rows).any(1)
            ways, left = self._ways_off(hits, solid, x)
            through = ~ends_inside & (hits.places[:, 1] > hits.places[:, 0]) & (ways == 0.0).all(1)
            each = self._cloth.find(hits, through, rows, x)
            behind = np.zeros(len(x), np.bool_)
            behind[rows] = behind[each.passed] = True
            entered[solid.body] = each = self._with_room(each, solids, x)
            within[solid.body] = np.union1d(rows, each.passed).astype(np.int32)
            cut = ~behind[hits.ends].any(1) & (hits.places[:, 1] > hits.places[:, 0])
            self._add_edges(Hits(hits.ends[cut], hits.places[cut], hits.faces[cut]), ways[cut], left[cut])
            self._add_corners(pairs, behind, x)
        return [(b, rows) for b, rows in sorted(within.items()) if len(rows)], entered

    def leave_out(self, stuck: Rows) -> None:
        """Leave out the points at vertices that are `stuck` between bodies or beside such vertices: the way off a ridge
        may lead to the wrong side of the body until there is room."""
        if len(stuck) and len(self._left):
            kept = ~self._cloth.beside(stuck)[self._rows].any(1)
            self._rows, self._weights, self._ways = self._rows[kept], self._weights[kept], self._ways[kept]
            self._left, self._faces = self._left[kept], self._faces[kept]

    def _with_room(self, entered: Entered, solids: list[Solids], x: Floats) -> Entered:
        """Return the cloth that has entered a body without the vertices that have passed through it and find no room on
        the side that they came from: they stay until there is."""
        passed, side = entered.passed, entered.side.copy()
        corners, weights = self._sides.nearest(x[passed], side[passed], x)
        room = leave_room(solids, x, corners, weights, self._eps) & self._free[passed]
        side[passed[~room]] = -1
        return Entered(passed[room], side)

    def _ways_off(self, hits: Hits, solid: Solids, x: Floats) -> tuple[Floats, Floats]:
        """Return the unit directions (k,3) in which the middles of the inside parts of edges come off a ridge, and how
        far it is; zero where an edge passes through a thin part of the body, far from its rim."""
        t = hits.places.mean(1)
        a, b = x[hits.ends[:, 0]], x[hits.ends[:, 1]]
        middle, length = (1.0 - t)[:, None] * a + t[:, None] * b, np.linalg.norm(b - a, axis=1)
        one, two = (self._normals(hits.faces[:, k], x) for k in range(2))
        ways = one + two
        blunt = np.linalg.norm(ways, axis=1) >= BLUNT
        ways = ways / np.maximum(np.linalg.norm(ways, axis=1, keepdims=True), 1e-300)
        if not blunt.all():
            ways[~blunt] = self._over_the_rim(middle[~blunt], one[~blunt], length[~blunt], solid)
        entry = (1.0 - hits.places[:, :1]) * a + hits.places[:, :1] * b
        left = ((entry - middle) * one).sum(1) / np.maximum((ways * one).sum(1), 0.1)
        return ways, np.where(blunt, np.minimum(left, length), STEPS[-1] * length)

    def _add_edges(self, hits: Hits, ways: Floats, left: Floats) -> None:
        """Add the points in the middle of the inside parts of edges, on their ways off a ridge."""
        t = hits.places.mean(1)
        rows = np.column_stack([hits.ends, hits.ends[:, :1]])
        self._add(rows, np.stack([1.0 - t, t, np.zeros(len(t))], 1), ways, left, hits.faces[:, 0])

    def _over_the_rim(self, points: Floats, normal: Floats, length: Floats, solid: Solids) -> Floats:
        """Return the directions (k,3) perpendicular to `normal` (k,3) in which points inside of a body reach the
        outside soonest; zero where none does within the largest of STEPS of `length` (k,)."""
        one = np.cross(normal, np.eye(3)[np.argmin(np.abs(normal), axis=1)])
        one /= np.linalg.norm(one, axis=1, keepdims=True)
        two = np.cross(normal, one)
        best = np.zeros_like(points)
        unsolved = np.ones(len(points), np.bool_)
        for step in STEPS:
            for angle in np.arange(DIRECTIONS) * (2.0 * np.pi / DIRECTIONS):
                way = np.cos(angle) * one + np.sin(angle) * two
                reached = unsolved & ~solid.inside(points + step * length[:, None] * way)
                best[reached] = way[reached]
                unsolved &= ~reached
        return best

    def _add_corners(self, corners: Rows, behind: Flags, x: Floats) -> None:
        """Add the faces of intersecting triangles `corners` (k,2,3) through which edges of the body pass, unless any of
        their vertices is `behind`."""
        corners = corners[~behind[corners[:, 0]].any(1)]
        if not len(corners):
            return
        rows, number = np.unique(corners[:, 0], axis=0, return_inverse=True)
        poked = Poked(np.zeros((len(rows), 3)), np.zeros((len(rows), 3)), np.zeros(len(rows), np.int64))
        _kernels.find_poked(corners, number.ravel(), x, poked)
        far = np.linalg.norm(poked.ways, axis=1)
        known = (poked.counts > 0) & (far >= BLUNT)
        rows, weights = rows[known], poked.weights[known] / poked.counts[known, None]
        ways = poked.ways[known] / far[known, None]
        middle = (weights[:, :, None] * x[rows]).sum(1)
        place = np.cumsum(known) - 1
        mine = known[number.ravel()]
        at = place[number.ravel()[mine]]
        above = ((x[corners[mine, 1]] - middle[at][:, None]) * ways[at][:, None]).sum(2).max(1)
        height = np.zeros(len(rows))
        np.maximum.at(height, at, above)
        longest = np.linalg.norm(x[rows] - x[rows[:, [1, 2, 0]]], axis=2).max(1)
        _, one = np.unique(number.ravel(), return_index=True)
        body = np.empty(len(rows), np.int32)
        _kernels.find_faces(np.ascontiguousarray(corners[one[known], 1]), self._around, body)
        self._add(rows, weights, ways, np.minimum(height, longest), body)

    def _add(self, rows: Rows, weights: Floats, ways: Floats, left: Floats, faces: Rows) -> None:
        known = (ways != 0.0).any(1)
        self._rows = np.concatenate([self._rows, rows[known]]).astype(np.int32)
        self._weights = np.concatenate([self._weights, weights[known]])
        self._ways = np.concatenate([self._ways, ways[known]])
        self._left = np.concatenate([self._left, left[known] + self._eps])
        self._faces = np.concatenate([self._faces, faces[known]])

    def _normals(self, faces: Rows, x: Floats) -> Floats:
        a, b, c = (x[self._around.faces[faces, k]] for k in range(3))
        normal = np.cross(b - a, c - a)
        return np.asarray(normal / np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-300))

    def follow(self, state: State, dt: float) -> None:
        """Let the points move with the body, and on along their ways."""
        if not len(self._left):
            return
        moved = (state.x - state.x_start)[self._around.faces[self._faces]].mean(1)
        now = (self._weights[:, :, None] * state.x_start[self._rows]).sum(1)
        step = np.minimum(self._left, OUTWARD * dt)
        self._left -= step
        self._levels = ((now + moved) * self._ways).sum(1) + step
        self.keep_on_their_way(state)

    def keep_on_their_way(self, state: State) -> None:
        """Undo displacements by which the solve has moved the points back."""
        if len(self._left):
            _kernels.move_points(self._rows, self._weights, self._ways, self._levels, self._free, state.x, SWEEPS)
