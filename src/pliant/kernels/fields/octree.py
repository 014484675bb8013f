"""Adaptively sampled distance field on an octree: error of a leaf, and sampling (Frisken et al. 2000).

Inside a leaf the distance is interpolated trilinearly from its eight corners. The eight children of a cell, its family,
store their 27 corners together: one distance in float32 at the centre, and the differences from it in 16 bits.
"""

from typing import NamedTuple

import numpy as np

from .. import vec
from ..jit import kernel, prange
from .grid import trilinear

CHUNK = 4096  # points per task of a thread
CELLS = 256  # cells per task of a thread
STEP = 1.0 / 32768.0  # of the side of a cell: smallest unit of the differences in its family


class Octree(NamedTuple):
    """Families of children, level by level; family 0 is that of the root."""

    first: np.ndarray  # (families,) i4 family of the first child that is split; those of the others follow it
    split: np.ndarray  # (families,) u1 bit c: child c, z fastest, is split
    blank: np.ndarray  # (families,) u1 bit c: child c is a leaf without a value; empty if none is
    centre: np.ndarray  # (families,) f4 signed distance at the centre, metres
    step: np.ndarray  # (families,27) i2 difference from it at each corner, z fastest, in units of STEP 2^power sides
    power: np.ndarray  # (families,) u1
    origin: np.ndarray  # (3,) metres
    side: float  # side of the root, metres


@kernel
def fit_range(lattice, corner, allowed, first, last, worst, nearest):
    """Compare the interpolation of `corner` (n,8) with the true distances `lattice` (n,27); also the smallest |d|.

    The 27 points are the corners, edge midpoints, face centres and centre of a cell; `worst` is the error divided by
    the allowed error, the greater of `tolerance` and `relative` times the distance. `allowed`: tolerance, relative, and
    the distance beyond which points do not count.
    """
    tolerance, relative, farthest = allowed
    for c in range(first, last):
        eight = (
            corner[c, 0], corner[c, 1], corner[c, 2], corner[c, 3],
            corner[c, 4], corner[c, 5], corner[c, 6], corner[c, 7],
        )  # fmt: skip
        off, low = 0.0, np.inf
        for i in range(3):
            for j in range(3):
                for k in range(3):
                    d = lattice[c, (i * 3 + j) * 3 + k]
                    low = min(low, abs(d))
                    if abs(d) <= farthest:
                        interpolated, _ = trilinear(eight, 0.5 * i, 0.5 * j, 0.5 * k)
                        off = max(off, abs(interpolated - d) / max(tolerance, relative * abs(d)))
        worst[c], nearest[c] = off, low


@kernel(parallel=True)
def fit(lattice, corner, allowed, worst, nearest):
    for c in prange(-(-len(corner) // CELLS)):
        last = min(len(corner), (c + 1) * CELLS)
        fit_range(lattice, corner, allowed, c * CELLS, last, worst, nearest)


@kernel
def mark_jumps(lattice, sign_plane_distance, side, offsets, reach, jump):
    """Mark cells of size `side` where the sign jumps without a surface, so that interpolation would create a false one.

    `offsets` (m,3): positions of the m points of a row in the unit cell; every point of the cell is within `reach` of
    one of them. A cell is marked if it has both signs and a boundary edge is nearest to one of its points; if a
    point is so near to the plane beyond a boundary edge that the cell may cross it; or if opposite signs are farther
    from the surface than from each other.
    """
    for c in range(len(lattice)):
        above, below, least = False, False, np.inf
        for a in range(lattice.shape[1]):
            above |= lattice[c, a] > 0.0
            below |= lattice[c, a] < 0.0
            least = min(least, sign_plane_distance[c, a])
        both = above and below
        jump[c] = least < reach * side or (both and (least < np.inf or too_steep(lattice, c, side, offsets)))


@kernel
def too_steep(lattice, c, side, offsets):
    """Whether two points of opposite sign have |d| + |d| greater than their distance, which contradicts a surface."""
    for a in range(lattice.shape[1]):
        for b in range(a):
            reach = abs(lattice[c, a]) + abs(lattice[c, b])
            if lattice[c, a] * lattice[c, b] < 0.0:
                apart = vec.norm(vec.sub(vec.load(offsets, a), vec.load(offsets, b))) * side
                if reach > apart * 1.000001:
                    return True
    return False


@kernel
def family_of(first, split, c):
    """The family of child `c`, which is split, given those of its parent's `first` split child and which are split."""
    count, before = 0, split & ((1 << c) - 1)
    while before:
        before &= before - 1
        count += 1
    return first + count


@kernel
def sample_range(tree, points, first, last, distance, gradient):
    """Sample signed distance and gradient at points first..last-1; nan outside the cube and where the sign jumps."""
    step, blank = tree.step, tree.blank
    for at in range(first, last):
        x = (points[at, 0] - tree.origin[0]) / tree.side
        y = (points[at, 1] - tree.origin[1]) / tree.side
        z = (points[at, 2] - tree.origin[2]) / tree.side
        d, g, per = np.nan, (np.nan, np.nan, np.nan), 1.0
        if 0.0 <= x <= 1.0 and 0.0 <= y <= 1.0 and 0.0 <= z <= 1.0:
            f = 0
            # doubling and subtracting one are exact: both leaves at a shared face get the same point
            while True:
                x, y, z, per = 2.0 * x, 2.0 * y, 2.0 * z, 2.0 * per
                i, j, k = int(x >= 1.0), int(y >= 1.0), int(z >= 1.0)
                x, y, z = x - i, y - j, z - k
                c = 4 * i + 2 * j + k
                split = np.int64(tree.split[f])
                if not split >> c & 1:
                    break
                f = family_of(np.int64(tree.first[f]), split, c)
            if blank.size == 0 or not np.int64(blank[f]) >> c & 1:
                q, centre = 9 * i + 3 * j + k, np.float64(tree.centre[f])
                unit = STEP * (1 << np.int64(tree.power[f])) * 2.0 * tree.side / per
                eight = (
                    centre + unit * step[f, q], centre + unit * step[f, q + 1],
                    centre + unit * step[f, q + 3], centre + unit * step[f, q + 4],
                    centre + unit * step[f, q + 9], centre + unit * step[f, q + 10],
                    centre + unit * step[f, q + 12], centre + unit * step[f, q + 13],
                )  # fmt: skip
                d, g = trilinear(eight, x, y, z)
        distance[at] = d
        vec.store(gradient, at, vec.scale(g, per / tree.side))


@kernel(parallel=True)
def sample_points(tree, points, distance, gradient):
    for c in prange(-(-len(points) // CHUNK)):
        sample_range(tree, points, c * CHUNK, min(len(points), (c + 1) * CHUNK), distance, gradient)
