"""Points attached to the faces of a deforming body."""

import math

from .. import vec
from ..jit import kernel


@kernel
def place_on_faces(x, corners, places, out):
    """Write the points (k,3) with coordinates `places` (k,3) relative to faces with these corners (k,3) of x (n,3) to
    `out`: a + s (b - a) + t (c - a) + h n, with the unit normal n."""
    for r in range(len(corners)):
        a = vec.load(x, corners[r, 0])
        e, f = vec.sub(vec.load(x, corners[r, 1]), a), vec.sub(vec.load(x, corners[r, 2]), a)
        n = vec.cross(e, f)
        length = max(math.sqrt(vec.norm2(n)), 1e-300)
        n = n[0] / length, n[1] / length, n[2] / length
        vec.store(out, r, vec.add(a, vec.madd(vec.madd(vec.scale(e, places[r, 0]), f, places[r, 1]), n, places[r, 2])))


@kernel
def place_on_shapes(x, corners, places, out):
    """`place_on_faces` for each of the shapes x (t,n,3): out (t,k,3)."""
    for t in range(len(x)):
        place_on_faces(x[t], corners, places, out[t])
