"""Distance and gradient of a field in bricks at one point, for graphics cards: `bricks.sample_points` gathers points
in blocks, which suits vector code and caches of a processor. Results are bitwise equal."""

import numpy as np

from .. import vec
from ..jit import kernel, prange
from .bricks import cell
from .grid import trilinear

_ONE = np.uint64(1)


@kernel
def sample_at(bricks, x, y, z):
    """Signed distance and gradient, nan beyond the band and where the sign jumps."""
    values, index, _, jump, origin, size, h = bricks  # by place: `index` is also a method of tuples
    per = 1.0 / h
    x, y, z = (x - origin[0]) * per, (y - origin[1]) * per, (z - origin[2]) * per
    none = np.nan, (np.nan, np.nan, np.nan)
    # compared as floats, because the cell index of a distant point may overflow an integer
    if not (0.0 <= x < size[0] - 1.0 and 0.0 <= y < size[1] - 1.0 and 0.0 <= z < size[2] - 1.0):
        return none
    i, j, k = np.int32(x), np.int32(y), np.int32(z)
    brick = index[i >> 2, j >> 2, k >> 2]
    if brick == 0:
        return none
    if len(jump) > 0:
        node = np.uint64((i & 3) << 4 | (j & 3) << 2 | k & 3)
        if (jump[brick] >> node) & _ONE != 0:
            return none
    d, g = trilinear(cell(values, index, i, j, k), x - i, y - j, z - k)
    return d, vec.scale(g, per)


@kernel(parallel=True)
def sample_each(bricks, points, distance, gradient):
    """Sample at all `points`, each in an iteration of its own."""
    for i in prange(len(points)):
        d, g = sample_at(bricks, points[i, 0], points[i, 1], points[i, 2])
        distance[i] = d
        vec.store(gradient, i, g)
