"""Vertices that may have entered a body since the last detection pass."""

import math

import numpy as np

from .. import vec
from ..jit import kernel
from ..kinds import VERTEX_FACE


@kernel
def list_possibly_inside(found, bodies, within, x, seen, free, out):
    """List in `out` (n,), ascending, the `free` (n,) vertices that have moved from `seen` to x (n,3) by at least their
    distance from the body, and return their number. It is that of the contacts `found` (k,) of the two `bodies` or, of
    vertices without any, `within`; bodies: their indices and the row of the first vertex."""
    deformable, obstacle, first = bodies
    clear, count = np.full(len(x), within), 0
    for c in range(len(found)):
        pair = found[c]["bodies"]
        if found[c]["kind"] == VERTEX_FACE and pair[0] == deformable and pair[1] == obstacle:
            i = found[c]["vertices"][0] - first
            clear[i] = min(clear[i], found[c]["distance"])
    for i in range(len(x)):
        away = math.sqrt(vec.norm2(vec.sub(vec.load(x, i), vec.load(seen, i))))
        out[count] = i
        count += free[i] and away >= clear[i]
    return count
