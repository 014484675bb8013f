"""Uniform grid with a list of boxes per cell: broad phase for triangles or edges. Culling is conservative."""

import math
from typing import NamedTuple

import numpy as np

from .. import vec
from ..jit import kernel


class Cells(NamedTuple):
    # arrays instead of tuples: a parallel loop does not support nested tuples
    origin: np.ndarray  # (3,) metres
    h: float  # cell size, metres
    shape: np.ndarray  # (3,) i8 cells along x, y, z
    start: np.ndarray  # (cells+1,) i8 start of each cell's list
    items: np.ndarray  # (total,) i4 ascending within a cell


@kernel
def clamped_cell(x, origin, h, count):
    """Cell of coordinate `x`, clamped to the grid while still a float, because the integer may overflow.

    Insertion and query must both use this function: floor(.3/.1) is 2 and floor(.3*(1/.1)) is 3.
    """
    return int(math.floor(min(max((x - origin) / h, 0.0), count - 1.0)))


@kernel
def cell_box(origin, h, shape, low, high):
    """First and last cell along each axis that the box low..high overlaps."""
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
    """Add to `count` (cells+1,), shifted by one, the number of boxes that overlap each cell."""
    for e in range(len(low)):
        i0, j0, k0, i1, j1, k1 = cell_box(origin, h, shape, vec.load(low, e), vec.load(high, e))
        for i in range(i0, i1 + 1):
            for j in range(j0, j1 + 1):
                for k in range(k0, k1 + 1):
                    count[(i * shape[1] + j) * shape[2] + k + 1] += 1


@kernel
def fill_items(low, high, cells, cursor):
    """Write the index of each box into the cells it overlaps; `cursor` starts as a copy of cells.start."""
    shape = cells.shape
    for e in range(len(low)):
        i0, j0, k0, i1, j1, k1 = cell_box(cells.origin, cells.h, shape, vec.load(low, e), vec.load(high, e))
        for i in range(i0, i1 + 1):
            for j in range(j0, j1 + 1):
                for k in range(k0, k1 + 1):
                    c = (i * shape[1] + j) * shape[2] + k
                    cells.items[cursor[c]] = e
                    cursor[c] += 1
