"""The signs of a field's nodes where normals do not determine them: by the winding number."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...kernels.fields import bricks as _bricks
from ...mesh import Mesh
from ..queries.closest_point import Enclosure, surface_of
from ..queries.winding import UNKNOWN, bounds_of, shortest

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bits = NDArray[np.uint64]
Progress = Callable[[float], None]
_BATCH = 200_000  # nodes per batch; interrupts are handled between batches
_TOUCH = 1e-12  # cells: nodes nearer than this are on the surface and count as outside
_NEAREST = 1e-6  # cells: nodes that are farther by less from the boundary than from the surface are nearest to it
_MIDDLE = 21  # node (1, 1, 1) of a brick
_FREE = 3.5  # cells: a brick whose middle is farther from the surface has all nodes on one side
_HALF = 1.5  # cells from the centre of a brick to its sides
_ACROSS = _HALF * 3.0**0.5  # cells from there to its corners
_ROUNDING = 1e-9  # of winding numbers
# of the nodes of a brick: place, and eighth of the brick; and the first node of each eighth
_OFFSETS = np.stack([np.arange(64) // 16, np.arange(64) // 4 % 4, np.arange(64) % 4], 1)
_EIGHTH = _OFFSETS // 2 @ (4, 2, 1)
_FIRST = np.unique(_EIGHTH, return_index=True)[1]


class _Some(NamedTuple):
    """Bricks `b` (n,), whose first nodes are `corner` (n,3)."""

    bricks: _bricks.Bricks
    b: NDArray[np.int32]
    corner: Ints

    def rows(self, which: Any) -> "_Some":
        """Some of them."""
        return _Some(self.bricks, self.b[which], self.corner[which])

    @property
    def centres(self) -> Floats:
        """(n,3) their centres, metres."""
        return np.asarray(self.bricks.origin + self.bricks.h * (self.corner + _HALF))

    @property
    def points(self) -> Floats:
        """(n,64,3) their nodes, metres."""
        return np.asarray(self.bricks.origin + self.bricks.h * (self.corner[:, None] + _OFFSETS))

    @property
    def is_free(self) -> Bools:
        """(n,) whether no surface is within or between the nodes of each brick."""
        return np.asarray(np.abs(self.bricks.values[self.b, _MIDDLE]) > _FREE * self.bricks.h)

    @property
    def farthest(self) -> Floats:
        """(n,) the largest distance of a node of each brick from the surface."""
        return np.nanmax(np.abs(self.bricks.values[self.b]), axis=1)


class SignTest:
    """Determines the signs of nodes by the winding number.

    Rays count its integer part. What the boundary of an open surface contributes changes slowly away from it: it is
    evaluated once per brick, with a bound of its change in there; where that leaves signs in doubt, in an eighth of a
    brick; and finally at the node. So signs are those of the exact number. The contribution jumps across the strips
    that close the boundary along the rays, but in few places across those along all three axes.
    """

    def __init__(self, welded: Mesh, enclosure: Enclosure) -> None:
        self.enclosure = enclosure
        self._winding, self._x = enclosure.solid.winding, enclosure.surface.x
        self._axis = shortest(bounds_of(self._x))
        top = welded.topology
        ends = top.edges[top.loose]
        # boundary edges as faces without area, to find the nodes that are nearest to the boundary
        self.rim = Mesh(welded.vertices, np.column_stack([ends, ends[:, 1]])) if len(ends) else None
        self.boundary = None if self.rim is None else Enclosure(surface_of(self.rim), self.rim.topology)

    def decide(self, bricks: _bricks.Bricks, progress: Progress | None = None) -> _bricks.Bricks:
        """Return the bricks with the signs of the winding number; signs it does not determine are kept.

        `progress` is called with the fraction done, 0..1.
        """
        i, j, k = np.nonzero(bricks.index)
        b = bricks.index[i, j, k]
        corner = 4 * np.stack([i, j, k], 1)
        rim = np.zeros(len(bricks.values) if self.rim is not None else 0, np.uint64)
        per = max(1, _BATCH // 64)
        for at in range(0, len(b), per):
            some = _Some(bricks, b[at : at + per], corner[at : at + per])
            has_rim = self._has_rim(some)
            sign, uniform = self._sign_of_bricks(some, has_rim)
            one = some.b[uniform]
            bricks.values[one] = _signed(bricks.values[one], sign[uniform, None], bricks.h)
            self._decide_nodes(some.rows(~uniform), has_rim[~uniform], rim)
            if progress is not None:
                progress(min(1.0, (at + per) / len(b)))
        return bricks._replace(rim=rim)

    def _certain(self, numbers: Floats, change: Floats) -> tuple[NDArray[np.int8], Bools]:
        """The signs (n,) of winding numbers, and whether no change up to the bounds `change` (n,) changes them."""
        change = change + _ROUNDING
        least, most = (self._winding.signs(some, behind=True) for some in (numbers - change, numbers + change))
        return least, least == most

    def _sign_of_bricks(self, some: _Some, has_rim: Bools) -> tuple[NDArray[np.int8], Bools]:
        """Return the sign (n,) of bricks, and which of them have the same sign at all nodes and none nearest to the
        boundary: no surface is near, and the boundary contributes too little to change the sign."""
        sign, uniform = np.zeros(len(some.b), np.int8), some.is_free & ~has_rim
        rows = np.flatnonzero(uniform)
        p = some.rows(rows).centres
        share, change = self._winding.boundary_within(self._x, self._axis, p, _HALF * some.bricks.h)
        counts = self._winding.ray_counts(self._axis, p, self.enclosure.blocks)
        sign[rows], uniform[rows] = self._certain(counts + share, change)
        return sign, uniform

    def _has_rim(self, some: _Some) -> Bools:
        """(n,) whether a node of each brick may be nearest to the boundary."""
        if self.boundary is None:
            return np.zeros(len(some.b), np.bool_)
        away = _away(self.boundary, some.centres)
        return np.asarray(away <= some.farthest + (_ACROSS + _NEAREST) * some.bricks.h)

    def _decide_nodes(self, some: _Some, has_rim: Bools, rim: Bits) -> None:
        """Set the signs of all nodes of bricks, and mark in `rim` those that are nearest to the boundary."""
        values, h = some.bricks.values[some.b].astype(np.float64), some.bricks.h
        known, points = np.isfinite(values), some.points
        signs = values.copy()
        signs[known] = self._sign_of_nodes(some, points, known)
        if self.boundary is not None:
            near = known & has_rim[:, None]
            bits = np.zeros(values.shape, np.uint64)
            bits[near] = _away(self.boundary, points[near]) <= np.abs(values[near]) + _NEAREST * h
            rim[some.b] = (bits << np.arange(64, dtype=np.uint64)).sum(1, dtype=np.uint64)
        some.bricks.values[some.b] = np.where(known, _signed(values, signs, h), values)

    def _sign_of_nodes(self, some: _Some, points: Floats, known: Bools) -> NDArray[np.int8]:
        """The signs (k,) of the `known` (n,64) of the nodes at `points` (n,64,3)."""
        h, blocks = some.bricks.h, self.enclosure.blocks
        counts = self._winding.lattice_counts(self._axis, points, blocks)[known]
        share, change = self._winding.boundary_within(self._x, self._axis, some.centres, _HALF * h)
        brick, node = np.nonzero(known)
        sign, certain = self._certain(counts + share[brick], change[brick])
        rows = np.flatnonzero(~certain)
        if not len(rows):
            return sign
        p, eighth = points[brick[rows], node[rows]], 8 * brick[rows] + _EIGHTH[node[rows]]
        for axis in (self._axis, (self._axis + 1) % 3, (self._axis + 2) % 3):
            which, of = np.unique(eighth, return_inverse=True)
            centres = points[which // 8, _FIRST[which % 8]] + 0.5 * h
            share, change = self._winding.boundary_within(self._x, axis, centres, 0.5 * h)
            along = self._winding.ray_counts(axis, p, blocks)
            sign[rows], certain = self._certain(along + share[of], change[of])
            rows, p, eighth = rows[~certain], p[~certain], eighth[~certain]
        numbers = counts[rows] + self._winding.boundary_exactly(self._x, self._axis, p)
        sign[rows] = self._winding.signs(numbers, behind=True)
        return sign


def _signed(values: NDArray[Any], certain: NDArray[Any], h: float) -> NDArray[Any]:
    """Return distances with the signs that are `certain`, and else with their own."""
    size, sign = np.abs(values), np.where(certain == UNKNOWN, np.sign(values), certain)
    return np.where((sign < 0) & (size > _TOUCH * h), -size, size)


def _away(boundary: Enclosure, p: Floats) -> Floats:
    """Return the distances (n,) of points (n,3) from a boundary."""
    found, barycentric = boundary.found(p)
    near = np.einsum("ij,ijk->ik", barycentric, boundary.surface.x[boundary.surface.faces[found[:, 0]]])
    return np.asarray(np.linalg.norm(p - near, axis=1))
