"""Stitches: which vertices of cloth are sewn to which, and how two boundaries are matched."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import validate
from ..arguments import check_arguments
from ..brief import brief
from .mesh import Mesh

Rows = NDArray[np.int64]
Floats = NDArray[np.float64]


@check_arguments
@dataclasses.dataclass(frozen=True, eq=False)
class Stitches:
    """Vertices `rows` (k,) of one cloth, each sewn to the point at `share` (k,), 0..1, of an edge `onto` (k,2) of the
    same or another cloth; pairs of vertices are edges whose ends are equal.

    bodies: the two cloths, as indices of the bodies of a scene. Default: both are the first.
    """

    rows: Any
    onto: Any
    share: Any = None
    bodies: Any = (0, 0)

    __repr__ = brief

    def __post_init__(self) -> None:
        put, most = object.__setattr__, 2**31 - 1
        put(self, "rows", validate.rows("rows", self.rows, most))
        put(self, "onto", validate.indices("onto", self.onto, 2, most).astype(np.int64))
        given = np.zeros(len(self.rows)) if self.share is None else self.share
        put(self, "share", np.clip(validate.floats("share", given, (len(self.rows),)), 0.0, 1.0))
        put(self, "bodies", _two_bodies(self.bodies))
        if len(self.onto) != len(self.rows):
            raise ValueError(f"onto has {len(self.onto)} rows; expected {len(self.rows)}, one per vertex in rows")
        same = self.onto == self.rows[:, None]
        if self.bodies[0] == self.bodies[1] and same.any():
            k = int(np.argmax(same.any(1)))
            raise ValueError(f"stitch {k} joins vertex {self.rows[k]} to itself; expected two different vertices")

    @check_arguments
    @classmethod
    def pairs(cls, pairs: Any, bodies: Any = (0, 0)) -> "Stitches":
        """Return stitches of pairs (k,2) of vertices: the first of each in bodies[0], the second in bodies[1]."""
        both = validate.indices("pairs", pairs, 2, 2**31 - 1)
        return cls(both[:, 0], both[:, [1, 1]], bodies=bodies)

    def __len__(self) -> int:
        return len(self.rows)

    def on(self, a: Mesh, b: Mesh) -> tuple[Rows, Rows]:
        """Return `rows` and `onto` as welded vertices of the two meshes; ValueError if one is not in its mesh."""
        for name, rows, mesh in (("rows", self.rows, a), ("onto", self.onto, b)):
            if len(rows) and int(rows.max()) >= mesh.n_vertices:
                have = f"mesh {mesh.name!r} has {mesh.n_vertices} vertices"
                raise ValueError(f"stitches: {name} has vertex {int(rows.max())}, but {have}")
        return a.weld_index[self.rows].astype(np.int64), b.weld_index[self.onto].astype(np.int64)


def _two_bodies(given: Any) -> tuple[int, int]:
    one, two = validate.indices("bodies", [given], 2, 2**31 - 1)[0].tolist()
    return int(one), int(two)


def check_stitches(
    stitches: Sequence[Stitches], cloths: Mapping[int, Mesh], solids: Mapping[int, Mesh]
) -> tuple[Stitches, ...]:
    """Return the stitches of a scene; raise ValueError unless they join vertices of its cloths, given by body, with
    each other or with those of its soft bodies."""
    every = {**solids, **cloths}
    for each in stitches:
        for b in each.bodies:
            if b not in every or not any(c in cloths for c in each.bodies):
                raise ValueError(f"stitches join bodies {each.bodies}, but body {b} is not cloth; {[*cloths]} are")
        each.on(*(every[b] for b in each.bodies))
    return tuple(stitches)


def sewn(a: Mesh, rows_a: Rows, b: Mesh, rows_b: Rows, bodies: tuple[int, int] = (0, 0)) -> list[Stitches]:
    """Sew the boundary vertices among rows_a of `a` to those among rows_b of `b` (which may be `a`).

    The selected boundary vertices form chains. Each chain is paired with the nearest one of the other side, in the
    direction in which their ends are nearer, and they are matched by arc length: vertex to vertex if both have the same
    number, otherwise each vertex of the finer chain to a point on an edge of the coarser one.
    """
    one, two = chains(a, rows_a), chains(b, rows_b)
    if len(one) != len(two):
        raise ValueError(
            f"the first selection has {len(one)} chains of boundary vertices and the second has {len(two)}; "
            "expected the same number: select each seam by itself"
        )
    found, left = [], list(range(len(two)))
    middles = [b.vertices[rows].mean(0) for rows, _ in two]
    for rows, closed in one:
        middle = a.vertices[rows].mean(0)
        nearest = min(left, key=lambda k: float(((middles[k] - middle) ** 2).sum()))
        left.remove(nearest)
        other, other_closed = two[nearest]
        if closed != other_closed:
            raise ValueError("one side of a seam is a closed loop and the other is not; select a part of the loop")
        other = _aligned(a.vertices[rows], b.vertices[other], other, closed)
        finer, onto, share, swap = _matched(a.vertices, rows, b.vertices, other, closed)
        if bodies[0] == bodies[1]:  # where the two sides of a dart meet there is nothing to sew
            apart = (a.weld_index[onto] != a.weld_index[finer][:, None]).all(1)
            finer, onto, share = finer[apart], onto[apart], share[apart]
        found.append(Stitches(finer, onto, share, (bodies[1], bodies[0]) if swap else bodies))
    return found


def chains(mesh: Mesh, rows: Rows) -> list[tuple[Rows, bool]]:
    """Return the chains of boundary vertices among `rows`, in order along the boundary, each with whether it is closed.

    A boundary edge belongs to a chain if both of its ends are among `rows`. Vertices are rows of the mesh as given.
    """
    welded, top = mesh.welded, mesh.welded.topology
    first = np.full(welded.n_vertices, mesh.n_vertices, np.int64)
    np.minimum.at(first, mesh.weld_index, np.arange(mesh.n_vertices))
    chosen = np.zeros(welded.n_vertices, np.bool_)
    chosen[mesh.weld_index[rows]] = True
    edges = top.edges[top.boundary]
    edges = edges[chosen[edges].all(1)]
    if not len(edges):
        raise ValueError("the selection has no edge on a boundary; stitches join boundaries: add '& boundary'")
    beside: dict[int, list[int]] = {}
    for p, q in edges.tolist():
        beside.setdefault(p, []).append(q)
        beside.setdefault(q, []).append(p)
    branching = next((i for i, near in beside.items() if len(near) > 2), None)
    if branching is not None:
        raise ValueError(f"vertex {int(first[branching])} is on two boundary loops; select them one at a time")
    found, seen = [], set()
    ends = [i for i in sorted(beside) if len(beside[i]) == 1]
    for start in [*ends, *sorted(beside)]:  # open chains first, from their lower end
        if start in seen:
            continue
        chain, at = [start], start
        seen.add(start)
        while (ahead := next((i for i in sorted(beside[at]) if i not in seen), None)) is not None:
            chain.append(ahead)
            seen.add(ahead)
            at = ahead
        closed = len(beside[start]) == 2
        found.append((first[np.array(chain)], closed))
    return found


def _aligned(x: Floats, y: Floats, rows: Rows, closed: bool) -> Rows:
    """Return `rows`, at y, in the order whose positions are nearest to those of the other chain, at x."""
    if not closed:
        apart = ((x[0] - y[0]) ** 2).sum() + ((x[-1] - y[-1]) ** 2).sum()
        crossed = ((x[0] - y[-1]) ** 2).sum() + ((x[-1] - y[0]) ** 2).sum()
        return rows if apart <= crossed else rows[::-1]
    samples = np.linspace(0.0, 1.0, 32, endpoint=False)
    target = _along(x, samples, closed)
    best, order = np.inf, np.arange(len(rows))
    for turned in (order, order[::-1]):
        for k in range(len(rows)):
            now = np.roll(turned, -k)
            far = float(((_along(y[now], samples, closed) - target) ** 2).sum())
            if far < best:
                best, chosen = far, now
    return rows[chosen]


def _lengths(x: Floats, closed: bool) -> Floats:
    """Return the arc length at each vertex of a chain, over the whole length; for a loop with 1 at the end."""
    path = np.concatenate([x, x[:1]]) if closed else x
    s = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(path, axis=0), axis=1))])
    return np.asarray(s / max(float(s[-1]), 1e-300))


def _along(x: Floats, at: Floats, closed: bool) -> Floats:
    """Return the points of a chain at shares `at` of its arc length."""
    s, path = _lengths(x, closed), np.concatenate([x, x[:1]]) if closed else x
    return np.stack([np.interp(at, s, path[:, k]) for k in range(3)], 1)


def _matched(x: Floats, one: Rows, y: Floats, two: Rows, closed: bool) -> tuple[Rows, Rows, Floats, bool]:
    """Match two chains; return rows, edges, shares, and whether the rows are those of the second."""
    if len(one) == len(two):
        return one, np.stack([two, two], 1), np.zeros(len(one)), False
    swap = len(two) > len(one)
    if swap:
        x, one, y, two = y, two, x, one
    s, t = _lengths(x[one], closed)[: len(one)], _lengths(y[two], closed)
    path = np.concatenate([two, two[:1]]) if closed else two
    k = np.clip(np.searchsorted(t, s, side="right") - 1, 0, len(t) - 2)
    share = (s - t[k]) / np.maximum(t[k + 1] - t[k], 1e-300)
    return one, np.stack([path[k], path[k + 1]], 1), np.clip(share, 0.0, 1.0), swap
