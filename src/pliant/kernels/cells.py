"""Lists of triangles (or edges) by cell: exact nearest triangle by growing shells, and all boxes near a box.

It culls only what cannot matter, so what it answers is what looking at every triangle would.
"""

from typing import NamedTuple

import numpy as np

from . import vec
from .grid import cell_of
from .jit import kernel, prange
from .surface import corners, side_of
from .triangle import nearest2


class Cells(NamedTuple):
    # arrays, not tuples: a parallel loop cannot take a tuple inside a tuple
    origin: np.ndarray  # (3,) metres
    h: float  # cell size, metres
    shape: np.ndarray  # (3,) i8 cells along x, y, z
    start: np.ndarray  # (cells+1,) i8 where each cell's list begins
    items: np.ndarray  # (total,) i4 ascending within a cell


@kernel
def clamped_cell(x, origin, h, count):
    return min(max(cell_of(x, origin, h), 0), count - 1)


@kernel
def cell_box(origin, h, shape, low, high):
    """First and last cell along each axis of the box low..high."""
    return (
        clamped_cell(low[0], origin[0], h, shape[0]),
        clamped_cell(low[1], origin[1], h, shape[1]),
        clamped_cell(low[2], origin[2], h, shape[2]),
        clamped_cell(high[0], origin[0], h, shape[0]),
        clamped_cell(high[1], origin[1], h, shape[1]),
        clamped_cell(high[2], origin[2], h, shape[2]),
    )


@kernel
def count_items(low, high, origin, h, shape, count):
    """Add to `count` (cells+1,), shifted by one, how many boxes touch each cell."""
    for e in range(len(low)):
        i0, j0, k0, i1, j1, k1 = cell_box(origin, h, shape, vec.load(low, e), vec.load(high, e))
        for i in range(i0, i1 + 1):
            for j in range(j0, j1 + 1):
                for k in range(k0, k1 + 1):
                    count[(i * shape[1] + j) * shape[2] + k + 1] += 1


@kernel
def fill_items(low, high, cells, cursor):
    """Write each box's number into the cells it touches; `cursor` starts as a copy of cells.start."""
    shape = cells.shape
    for e in range(len(low)):
        i0, j0, k0, i1, j1, k1 = cell_box(cells.origin, cells.h, shape, vec.load(low, e), vec.load(high, e))
        for i in range(i0, i1 + 1):
            for j in range(j0, j1 + 1):
                for k in range(k0, k1 + 1):
                    c = (i * shape[1] + j) * shape[2] + k
                    cells.items[cursor[c]] = e
                    cursor[c] += 1


@kernel
def _visit(cells, surface, p, c, best):
    """Improve `best` = (d2, face, feature, u, v, w) by the triangles of cell `c`; ties go to the lower face."""
    for at in range(cells.start[c], cells.start[c + 1]):
        f = cells.items[at]
        a, b, d = corners(surface, f)
        d2, feature, u, v, w = nearest2(p, a, b, d)
        if d2 < best[0] or (d2 == best[0] and f < best[1]):
            best = (d2, np.int64(f), np.int64(feature), u, v, w)
    return best


@kernel
def nearest_face(cells, surface, p):
    """The triangle nearest to `p`: (squared distance, face, feature, u, v, w), looking outward shell by shell."""
    ni, nj, nk = cells.shape[0], cells.shape[1], cells.shape[2]
    i = clamped_cell(p[0], cells.origin[0], cells.h, ni)
    j = clamped_cell(p[1], cells.origin[1], cells.h, nj)
    k = clamped_cell(p[2], cells.origin[2], cells.h, nk)
    best = (np.inf, np.int64(-1), np.int64(0), 0.0, 0.0, 0.0)
    for r in range(max(ni, nj, nk) + 1):
        # everything in shell r is at least this far away along some axis; a little less, against rounding
        reach = _reach(cells, p, i, j, k, r) * (1.0 - 1e-12)
        if reach > 0.0 and reach * reach > best[0]:
            break
        for a in range(max(i - r, 0), min(i + r, ni - 1) + 1):
            for b in range(max(j - r, 0), min(j + r, nj - 1) + 1):
                edge = abs(a - i) == r or abs(b - j) == r
                step = 1 if edge or r == 0 else 2 * r
                for d in range(k - r, k + r + 1, step):
                    if 0 <= d < nk:
                        best = _visit(cells, surface, p, (a * nj + b) * nk + d, best)
    return best


@kernel
def _reach(cells, p, i, j, k, r):
    """Lower bound of the distance from `p` to any cell of shell `r` around cell i, j, k."""
    least = np.inf
    for axis in range(3):
        c = (i, j, k)[axis]
        low = cells.origin[axis] + (c - r + 1) * cells.h
        high = cells.origin[axis] + (c + r) * cells.h
        if c - r >= 0:
            least = min(least, p[axis] - low)
        if c + r < cells.shape[axis]:
            least = min(least, high - p[axis])
    return least


@kernel(parallel=True)
def signed_distances(cells, surface, points, distance, nearest, face, normal):
    """For each of `points` (n,3): signed distance, nearest point, its face, unit direction that opens the gap."""
    for i in prange(len(points)):
        p = vec.load(points, i)
        _, f, feature, u, v, w = nearest_face(cells, surface, p)
        a, b, c = corners(surface, f)
        q = vec.add(vec.scale(a, u), vec.add(vec.scale(b, v), vec.scale(c, w)))
        away = vec.sub(p, q)
        side = side_of(surface, p, q, f, feature)
        length = vec.norm(away)
        distance[i] = side * length
        vec.store(nearest, i, q)
        face[i] = f
        n = vec.scale(away, side / length) if length > 0.0 else vec.load(surface.face_normals, f)
        vec.store(normal, i, n)
