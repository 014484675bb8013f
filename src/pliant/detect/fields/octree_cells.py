"""Octree cells during the bake: subdivision, balancing, and the values of corners and hanging nodes.

A cell is identified by its Morton code within its level: the parent is `cell >> 3`, the children are
`cell << 3 | 0..7`, and sorted parents have sorted children.
"""

import dataclasses
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ... import validate
from ...kernels.fields import octree as _kernels
from .exact import ExactDistances

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

EIGHT = np.array([[c >> 2, c >> 1 & 1, c & 1] for c in range(8)])
LATTICE = np.stack(np.meshgrid(*[np.arange(3)] * 3, indexing="ij"), -1).reshape(-1, 3)
AROUND = LATTICE[np.arange(27) != 13] - 1
CORNERS = np.flatnonzero((LATTICE != 1).all(1))  # of the 27 points, z fastest
# edge midpoints and face centres of the 27 points, and the two or four corners (0..7) whose mean they are
HANGING = [
    (m, np.flatnonzero(((LATTICE[m] == 2 * EIGHT) | (LATTICE[m] == 1)).all(1)))
    for m in range(27)
    if 1 <= (LATTICE[m] == 1).sum() <= 2
]
_BYTES = 27 * 40  # memory per cell during the error test: keys, distances, boundary flags, copies
HALF_DIAGONAL = 0.5 * math.sqrt(3.0)
_MOST_STEPS = 32767
_NEAR = 0.25  # cells with a sign discontinuity but no surface are subdivided to this fraction of their distance


def morton(at: Ints) -> Ints:
    """Return the Morton codes of cells or points (n,3); 21 bits per axis."""
    x = _spread(at)
    code: Ints = x[..., 0] << 2 | x[..., 1] << 1 | x[..., 2]
    return code


def morton_lattice(at: Ints, step: int, n: int) -> Ints:
    """Return the Morton codes (m,n^3) of the points at + step (0..n-1, 0..n-1, 0..n-1), z fastest."""
    # one axis at a time, because spreading the bits is the expensive part
    x = _spread(at[:, :, None] + step * np.arange(n))
    code: Ints = x[:, 0, :, None, None] << 2 | x[:, 1, None, :, None] << 1 | x[:, 2, None, None, :]
    return code.reshape(len(at), n**3)


def _spread(at: Ints) -> Ints:
    """Spread the lowest 21 bits of each number, inserting two zeros after each bit."""
    x = at.astype(np.uint64)
    for shift, mask in _SPREAD:
        x = (x | x << np.uint64(shift)) & np.uint64(mask)
    return x.astype(np.int64)


def morton_coordinates(code: Ints) -> Ints:
    """Return the coordinates of Morton codes: the inverse of `morton`."""
    x = np.stack([code >> 2, code >> 1, code], -1).astype(np.uint64) & np.uint64(_SPREAD[-1][1])
    for (shift, _), mask in zip(_SPREAD[::-1], [m for _, m in _SPREAD[-2::-1]] + [0x1FFFFF]):
        x = (x | x >> np.uint64(shift)) & np.uint64(mask)
    return x.astype(np.int64)


_SPREAD = (
    (32, 0x1F00000000FFFF),
    (16, 0x1F0000FF0000FF),
    (8, 0x100F00F00F00F00F),
    (4, 0x10C30C30C30C30C3),
    (2, 0x1249249249249249),
)


def find(some: Ints, of: Ints) -> Ints:
    """Return the positions of `some` in the sorted `of`; for missing values, that of a neighbour."""
    return np.minimum(np.searchsorted(of, some), max(len(of) - 1, 0))


def within(some: Ints, of: Ints) -> NDArray[np.bool_]:
    """Return which of `some` are in the sorted `of`."""
    if not len(of):
        return np.zeros(len(some), bool)
    found: NDArray[np.bool_] = of[find(some, of)] == some
    return found


class Lattice:
    """Exact distances at the corners of cells half the size of the smallest, each computed once."""

    def __init__(
        self,
        exact: ExactDistances,
        low: Floats,
        side: float,
        levels: int,
        max_bytes: float | None,
        progress: Callable[[float], None] | None,
    ) -> None:
        self.exact, self.low, self.side, self.levels = exact, low, side, levels
        self.max_bytes, self.progress = max_bytes, progress
        self.keys: Ints = np.zeros(0, np.int64)
        self.d, self.sign_plane_distance, self.face = np.zeros(0), np.zeros(0), np.zeros(0, np.int32)

    def points(self, cells: Ints, level: int) -> Ints:
        """Return the keys (n,27) of the corners, edge midpoints, face centres and centres of cells."""
        what = f"octree with {len(cells)} cells at level {level}"
        validate.budget(what, float(_BYTES * len(cells)), "raise the tolerance or max_bytes", self.max_bytes)
        step = 1 << self.levels - level
        return morton_lattice(2 * step * morton_coordinates(cells), step, 3)

    def at(self, keys: Ints) -> tuple[Floats, Floats]:
        """Return the distances from the surface and from the sign plane (see `ExactDistances.query`) at lattice points
        `keys` of any shape."""
        at = find(keys, self.keys)
        if len(self.keys):
            new = np.unique(keys[self.keys[at] != keys])
            # neighbours on the Morton curve are mostly neighbours in space
            guess = self.face[find(new, self.keys)]
        else:
            new = np.unique(keys)
            guess = np.full(len(new), -1, np.int32)
        if len(new):
            step = self.side / 2.0 ** (self.levels + 1)
            d, _, sign_plane_distance, face = self.exact.query(self.low + morton_coordinates(new) * step, guess)
            slot = np.searchsorted(self.keys, new)
            self.keys, self.face = np.insert(self.keys, slot, new), np.insert(self.face, slot, face)
            self.d, self.sign_plane_distance = (
                np.insert(self.d, slot, d),
                np.insert(self.sign_plane_distance, slot, sign_plane_distance),
            )
            at = find(keys, self.keys)
        return self.d[at], self.sign_plane_distance[at]


class Allowed(NamedTuple):
    """The error allowed at a distance of d metres: the greater of `tolerance` metres and `relative` |d|, where |d| is
    at most `band`; leaves near the surface have sides of at most `coarsest` metres, others of at most |d|."""

    tolerance: float
    relative: float
    band: float = math.inf
    coarsest: float = math.inf

    def at(self, distance: Floats) -> Floats:
        error: Floats = np.maximum(self.tolerance, self.relative * np.abs(distance))
        return error


class Families(NamedTuple):
    """The tree as kernels store it, see `kernels.fields.octree.Octree`."""

    first: NDArray[np.int32]
    split: NDArray[np.uint8]
    blank: NDArray[np.uint8]
    centre: NDArray[np.float32]
    step: NDArray[np.int16]
    power: NDArray[np.uint8]


@dataclasses.dataclass
class Cells:
    """The octree as one sorted list of split cells per level."""

    lattice: Lattice
    allowed: Allowed
    split: list[Ints]
    # filled by `_set_corner_values`: keys of the corners of all leaves, sorted, their values, leaves without a value,
    # and for each level rows (n,2) of the smallest distance in a leaf and the largest error there
    keys: Ints = dataclasses.field(default_factory=lambda: np.zeros(0, np.int64))
    values: Floats = dataclasses.field(default_factory=lambda: np.zeros(0))
    blank: list[NDArray[np.bool_]] = dataclasses.field(default_factory=list)
    errors: list[Floats] = dataclasses.field(default_factory=list)

    @classmethod
    def subdivide(cls, lattice: Lattice, allowed: Allowed) -> "Cells":
        """Split cells that exceed the error, level by level; then balance and split again until all cells fit. The
        root is always split."""
        tree = cls(lattice, allowed, [np.zeros(0, np.int64) for _ in range(lattice.levels)])
        cells = np.zeros(1, np.int64)
        for level in range(lattice.levels):
            d, sign_plane_distance = lattice.at(lattice.points(cells, level))
            unfit = tree._unfit(d, sign_plane_distance, d[:, CORNERS], level)[0]
            tree.split[level] = cells[unfit] if level else cells
            cells = children(tree.split[level])
            if lattice.progress is not None:
                lattice.progress(0.9 * (level + 1) / lattice.levels)
        while True:
            tree._balance()
            unfit_cells = tree._set_corner_values()
            if not any(map(len, unfit_cells)):
                return tree
            tree.split = [np.union1d(a, b) for a, b in zip(tree.split, unfit_cells)]

    def _unfit(
        self, d: Floats, sign_plane_distance: Floats, corner: Floats, level: int
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return which cells of a level must be split, and which have no value because of a sign discontinuity."""
        side, (tolerance, relative, band, coarsest) = self.lattice.side / 2.0**level, self.allowed
        worst, nearest = np.empty(len(d)), np.empty(len(d))
        # the eight of the 27 points around a point within the band are at most this far from the surface
        farthest = band + HALF_DIAGONAL * side
        _kernels.fit(d, np.ascontiguousarray(corner), (tolerance, relative, farthest), worst, nearest)
        jump = jumps(d, sign_plane_distance, side, LATTICE / 2.0)
        within_band = nearest <= farthest
        large = within_band & (side > np.maximum(coarsest, nearest))
        return np.where(jump, within_band & (side > _NEAR * nearest), worst > 1.0) | large, jump

    def _balance(self) -> None:
        """Split until touching cells differ by at most one level: the neighbours of a split cell must exist."""
        for level in range(len(self.split) - 1, 0, -1):
            at = (morton_coordinates(self.split[level])[:, None] + AROUND).reshape(-1, 3)
            inside = ((at >= 0) & (at < 1 << level)).all(1)
            parents = np.unique(morton(at[inside]) >> 3)
            self.split[level - 1] = np.union1d(self.split[level - 1], parents)

    def leaves(self, level: int) -> Ints:
        cells = children(self.split[level - 1]) if level else np.zeros(1, np.int64)
        return cells if level == len(self.split) else cells[~within(cells, self.split[level])]

    def _set_corner_values(self) -> list[Ints]:
        """Compute the values of all corners, hanging nodes by interpolation in the coarser leaf; return the cells that
        exceed the allowed error.

        Proceeds from coarse to fine, because corners of a coarse leaf may hang on a still coarser one.
        """
        lattice, levels = self.lattice, self.lattice.levels
        every = [self.leaves(level) for level in range(levels + 1)]
        at = [lattice.points(cells, level) for level, cells in enumerate(every[:-1])]
        last = morton_lattice(2 * morton_coordinates(every[-1]), 2, 2)
        self.keys = np.unique(np.concatenate([*(a[:, CORNERS].ravel() for a in at), last.ravel()]))
        self.values = lattice.at(self.keys)[0]
        unfit, self.blank, self.errors = [], [], []
        for level, (cells, points) in enumerate(zip(every, at)):
            d, sign_plane_distance = lattice.at(points)
            here = find(points, self.keys)
            eight, used = here[:, CORNERS], self.keys[here] == points
            wrong, jump = self._unfit(d, sign_plane_distance, self.values[eight], level)
            unfit.append(cells[wrong])
            self.blank.append(jump)
            # a point is within half of the diagonal of an octant from its corners, on average
            self.errors.append(self._error_rows(d[~jump], 0.5 * HALF_DIAGONAL * lattice.side / 2.0**level))
            for m, mean_of in HANGING:
                # leaves without a value impose no continuity
                hangs = ~jump & used[:, m]
                self.values[here[hangs, m]] = self.values[eight[np.ix_(hangs, mean_of)]].mean(1)
        d, sign_plane_distance = lattice.at(last)
        side = lattice.side / 2.0**levels
        jump = jumps(d, sign_plane_distance, side, EIGHT * 1.0)
        self.blank.append(jump)
        self.errors.append(self._error_rows(d[~jump], HALF_DIAGONAL * side))
        return unfit

    def _error_rows(self, d: Floats, between: float) -> Floats:
        """Return (n,2) the smallest distance in each leaf and its largest error, given distances (n,m) at its points
        and the bound `between` of the error of interpolating exact values."""
        if not len(d):
            return np.zeros((0, 2))
        far = np.abs(d)
        return np.column_stack([np.maximum(far.min(1) - between, 0.0), between + self.allowed.at(far.max(1))])

    def error_by_distance(self) -> Floats:
        """Return rows (k,2): from this distance on, to that of the next row, the error is at most the second number."""
        rows = np.concatenate(self.errors)
        rows = rows[np.argsort(rows[:, 0], kind="stable")]
        rows[:, 1] = np.maximum.accumulate(rows[:, 1])
        if len(rows):
            rows[0, 0] = 0.0
        grows = np.diff(rows[:, 1], prepend=0.0) > 0.0
        return np.ascontiguousarray(rows[grows])

    def packed(self) -> Families:
        """Return the families of all split cells, level by level."""
        levels, start, parts = self.lattice.levels, 0, []
        for level, cells in enumerate(self.split):
            start += len(cells)
            below, deeper = children(cells), self.split[level + 1] if level + 1 < levels else cells[:0]
            inner, blank = within(below, deeper), np.zeros(len(below), np.bool_)
            blank[~inner] = self.blank[level + 1]
            d = self.values[find(self.lattice.points(cells, level), self.keys)]
            centre = d[:, 13].astype(np.float32)
            away = (d - centre[:, None]) / (self.lattice.side / 2.0**level)
            most = np.abs(away).max(1, initial=0.0) / _kernels.STEP
            power = np.maximum(np.ceil(np.log2(np.maximum(most, 1.0) / _MOST_STEPS)), 0.0)
            step = np.rint(away / _kernels.STEP / 2.0 ** power[:, None])
            parts.append((start + np.searchsorted(deeper, cells << 3), _bits(inner), _bits(blank), centre, step, power))
        kinds = (np.int32, np.uint8, np.uint8, np.float32, np.int16, np.uint8)
        made = Families(*(np.concatenate(each).astype(kind) for each, kind in zip(zip(*parts), kinds)))
        return made if made.blank.any() else made._replace(blank=np.zeros(0, np.uint8))


def _bits(flags: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Return one byte per eight `flags`, the first of them in its lowest bit."""
    return np.packbits(flags.reshape(-1, 8), axis=1, bitorder="little").ravel()


def children(cells: Ints) -> Ints:
    return (cells[:, None] << 3 | np.arange(8)).ravel()


def jumps(d: Floats, sign_plane_distance: Floats, side: float, where: Floats) -> NDArray[np.bool_]:
    """Return the cells in which the sign changes without a surface."""
    jump = np.zeros(len(d), bool)
    some = np.flatnonzero(((d > 0.0).any(1) & (d < 0.0).any(1)) | (sign_plane_distance < side).any(1))
    marks = np.zeros(len(some), np.uint8)
    reach = HALF_DIAGONAL * (0.5 if len(where) == 27 else 1.0)
    _kernels.mark_jumps(d[some], sign_plane_distance[some], side, where, reach, marks)
    jump[some] = marks != 0
    return jump
