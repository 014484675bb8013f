"""Neighbour lists: pairs of features among which the near ones are found without a search.

Where bodies push cloth, the guard detects near pairs many times in a substep, and from one pass to the next only few
vertices move. Pairs within the query distance and a margin are therefore listed, as in molecular dynamics (L. Verlet
1967). As long as no two vertices have together gone farther than the margin from the places at which their pairs were
listed, no other pair can be within the query distance. If few vertices of cloth have left their places, their pairs
alone are searched again. What is found is the same as by a search.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...detect.bvh.leaf_mesh import LeafMesh
from ...detect.queries.approach import approaching, enlarged
from ...detect.queries.contact_records import NO_PAIRS
from ...detect.queries.proximity import NearPairs
from ...kernels.jit import worth
from ...kernels.queries import neighbours as _kernels

Floats = NDArray[np.float64]
Rows = NDArray[np.int32]
Flags = NDArray[np.bool_]
Pairs = tuple[Rows, Rows, Rows]
Query = tuple[NearPairs, float]  # and its distance, metres
ROOM, BODY_ROOM = 0.125, 0.55  # of eps: how far vertices of cloth and of bodies may be from their places
FEW = 0.2  # of all vertices of cloth: if more of them have left their places, all are searched again
SAFETY = 1.0 - 1e-9  # of that, for rounding
_WORTH_THREADS = 4  # chunks of pairs
_EVERY: tuple[Flags, Rows] = np.zeros(0, np.bool_), np.zeros(0, np.int32)


class NeighbourLists:
    """The lists of the queries of cloth with itself and with each body, in this order; eps: the contact offset."""

    def __init__(self, cloth: LeafMesh, bodies: list[LeafMesh], n: int, eps: float) -> None:
        self._cloth, self._bodies, self._eps = cloth, bodies, eps
        self._cloth_rows = np.unique(cloth.top.faces)
        self._body_rows = [np.unique(body.top.faces) for body in bodies]
        self._places, self._at_rest = np.zeros((n, 3)), np.zeros((n, 3))
        self._lists: list[Pairs] = []
        self._added: list[Pairs] = []  # pairs of vertices that were searched again since
        self._reaches: list[float] = []  # largest query distances in this frame
        self._rounding = 0.0  # of distances, metres
        self._asked = False  # in this frame

    def forget(self) -> None:
        """Forget the lists, at the start of a frame."""
        self._lists, self._reaches, self._asked = [], [], False

    def find(self, queries: list[Query], x: Floats) -> list[Pairs]:
        """Return the pairs of each query that are near at x (n,3), as `NearPairs.within` does; the first time in a
        frame by a search."""
        if not self._asked:
            self._asked = True
            self._move(x)
            return approaching([near.along(reach) for near, reach in queries])
        if not self._follow(queries, x):
            self._make(queries, x)
        return [self._near(k, near, reach, x) for k, (near, reach) in enumerate(queries)]

    def _follow(self, queries: list[Query], x: Floats) -> bool:
        """List anew the pairs of the vertices of cloth that have left their places, if they are few; return whether the
        lists contain all pairs that these queries can find at x (n,3)."""
        known, most = (
            all(reach <= before for (_, reach), before in zip(queries, self._reaches, strict=False)),
            SAFETY * self._eps,
        )
        if (
            not self._lists
            or not known
            or any(_kernels.leave(rows, self._places, x, BODY_ROOM * most) for rows in self._body_rows)
        ):
            return False
        which = np.zeros(len(x), np.bool_)
        count = _kernels.mark_leaving(self._cloth_rows, self._places, x, ROOM * most, which)
        if count > FEW * len(self._cloth_rows):
            return False
        if count:
            self._places[which] = x[which]
            self._list_again(queries, which)
        return True

    def _list_again(self, queries: list[Query], which: Flags) -> None:
        """List the pairs of the vertices `which` (n,) anew."""
        before = self._cloth.count_marked(which)
        if self._cloth.x is self._places:
            self._cloth.predict_anew(before)
        else:
            self._move(self._places)
        for k, found in enumerate(self._search(queries, which, before)):
            tables = _tables(queries[k][0])
            self._lists[k] = _without(self._lists[k], which, tables)
            self._added[k] = _joined(_without(self._added[k], which, tables), found)

    def _make(self, queries: list[Query], x: Floats) -> None:
        """Make all lists at x (n,3)."""
        self._places[:] = x
        self._move(self._places)
        before = self._reaches or [0.0] * len(queries)
        self._reaches = [max(reach, one) for (_, reach), one in zip(queries, before, strict=True)]
        self._rounding = enlarged(0.0, [self._cloth, *self._bodies])
        self._lists = self._search(queries, *_EVERY)
        self._added = [(NO_PAIRS, NO_PAIRS, NO_PAIRS) for _ in queries]

    def _move(self, x: Floats) -> None:
        for mesh in (self._cloth, *self._bodies):
            mesh.move_along(x, self._at_rest)

    def _search(self, queries: list[Query], which: Flags, before: Rows) -> list[Pairs]:
        rooms = [2.0 * ROOM] + [ROOM + BODY_ROOM] * len(self._bodies)
        ends = [reach + room * self._eps for reach, room in zip(self._reaches, rooms, strict=True)]
        found = approaching([near.along(end, which, before) for (near, _), end in zip(queries, ends, strict=True)])
        return [(one.copy(), two.copy(), three.copy()) for one, two, three in found]

    def _near(self, k: int, near: NearPairs, reach: float, x: Floats) -> Pairs:
        a, b, within = near.a.top, near.b.top, reach * (1.0 + 1e-12) + self._rounding
        arrays = (x, x, b.faces), (x, x, a.faces), (x, a.edges, x, b.edges)
        kernels = _kernels.keep_near_faces, _kernels.keep_near_faces, _kernels.keep_near_edges
        found = []
        for c in range(3):
            parts = [_kept(pairs, kernels[c], *arrays[c], within) for pairs in (self._lists[k][c], self._added[k][c])]
            found.append(_sorted(np.concatenate(parts)) if len(parts[1]) else parts[0])
        return found[0], found[1], found[2]


def _tables(near: NearPairs) -> tuple[tuple[Rows, Rows], ...]:
    """Return the vertices of the features of the pairs of each kind; of vertices, themselves."""
    a, b = near.a.top, near.b.top
    vertices = np.zeros((0, 1), np.int32)
    return (vertices, b.faces), (vertices, a.faces), (a.edges, b.edges)


def _kept(pairs: Rows, keep: Any, *query: Any) -> Rows:
    """Return those of `pairs` (k,2) that are near."""
    if not len(pairs):
        return pairs
    *arrays, within = query
    counts = np.zeros(-(-len(pairs) // _kernels.CHUNK), np.int64)
    found = np.empty((len(counts), _kernels.CHUNK + 1, 3), np.int32)
    worth(keep, len(counts), _WORTH_THREADS)(*arrays, pairs, within, found, counts)
    out = np.empty((int(counts.sum()), 2), np.int32)
    _kernels.gather(found, counts, out)
    return out


def _without(pairs: Pairs, which: Flags, tables: tuple[tuple[Rows, Rows], ...]) -> Pairs:
    """Return the pairs without those that have any of the vertices `which` (n,); tables: as of `_tables`."""
    kept = []
    for each, (one, two) in zip(pairs, tables, strict=True):
        out = np.empty_like(each)
        kept.append(out[: _kernels.drop_marked(each, which, one, two, out)])
    return kept[0], kept[1], kept[2]


def _joined(one: Pairs, two: Pairs) -> Pairs:
    return np.concatenate([one[0], two[0]]), np.concatenate([one[1], two[1]]), np.concatenate([one[2], two[2]])


def _sorted(pairs: Rows) -> Rows:
    """Return pairs (k,2) in ascending order."""
    keys = np.sort(pairs[:, 0].astype(np.int64) << 32 | pairs[:, 1])
    return np.stack([keys >> 32, keys & 0xFFFFFFFF], 1).astype(np.int32)
