"""Adaptively sampled distance field on an octree: error of a leaf, and sampling (Frisken et al. 2000).

Inside a leaf the distance is interpolated trilinearly from its eight corners.
"""

from typing import NamedTuple

import numpy as np

from .. import vec
from ..jit import kernel, prange
from .grid import trilinear

CHUNK = 4096  # points per task of a thread
CELLS = 256  # cells per task of a thread


class Octree(NamedTuple):
    nodes: np.ndarray  # (nodes,) i4 the first of eight children, or -1 - leaf; the root is node 0
    corners: np.ndarray  # (leaves,8) i4 index of each corner's value, z fastest
    values: np.ndarray  # (corners,) f8 signed distance, metres; the last one is nan
    origin: np.ndarray  # (3,) metres
    side: float  # side of the root, metres


@kernel
def fit_range(lattice, corner, tolerance, relative, first, last, worst, nearest):
    """Compare the interpolation of `corner` (n,8) with the true distances `lattice` (n,27); also the smallest |d|.

    The 27 points are the corners, edge midpoints, face centres and centre of a cell; `worst` is the error divided by
    the allowed error, the greater of `tolerance` and `relative` times the distance.
    """
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
                    interpolated, _ = trilinear(eight, 0.5 * i, 0.5 * j, 0.5 * k)
                    off = max(off, abs(interpolated - d) / max(tolerance, relative * abs(d)))
                    low = min(low, abs(d))
        worst[c], nearest[c] = off, low


@kernel(parallel=True)
def fit(lattice, corner, tolerance, relative, worst, nearest):
    for c in prange(-(-len(corner) // CELLS)):
        last = min(len(corner), (c + 1) * CELLS)
        fit_range(lattice, corner, tolerance, relative, c * CELLS, last, worst, nearest)


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
def sample_range(tree, points, first, last, distance, gradient):
    """Sample signed distance and gradient at points first..last-1; nan outside the cube and where the sign jumps."""
    nodes, corners, values = tree.nodes, tree.corners, tree.values
    for at in range(first, last):
        x = (points[at, 0] - tree.origin[0]) / tree.side
        y = (points[at, 1] - tree.origin[1]) / tree.side
        z = (points[at, 2] - tree.origin[2]) / tree.side
        d, g, per = np.nan, (np.nan, np.nan, np.nan), 1.0
        if 0.0 <= x <= 1.0 and 0.0 <= y <= 1.0 and 0.0 <= z <= 1.0:
            node = nodes[0]
            # doubling and subtracting one are exact: both leaves at a shared face get the same point
            while node >= 0:
                x, y, z, per = 2.0 * x, 2.0 * y, 2.0 * z, 2.0 * per
                i, j, k = int(x >= 1.0), int(y >= 1.0), int(z >= 1.0)
                x, y, z = x - i, y - j, z - k
                node = nodes[node + 4 * i + 2 * j + k]
            c = -1 - node
            eight = (
                values[corners[c, 0]], values[corners[c, 1]], values[corners[c, 2]], values[corners[c, 3]],
                values[corners[c, 4]], values[corners[c, 5]], values[corners[c, 6]], values[corners[c, 7]],
            )  # fmt: skip
            d, g = trilinear(eight, x, y, z)
        distance[at] = d
        vec.store(gradient, at, vec.scale(g, per / tree.side))


@kernel(parallel=True)
def sample_points(tree, points, distance, gradient):
    for c in prange(-(-len(points) // CHUNK)):
        sample_range(tree, points, c * CHUNK, min(len(points), (c + 1) * CHUNK), distance, gradient)
