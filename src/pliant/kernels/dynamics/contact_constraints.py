"""Contacts as constraints of an implicit step: in which directions the vertices they stop are free to move.

Filtering the vectors of conjugate gradients by these directions solves the system in the space that contacts leave
(Baraff and Witkin 1998, section 5.3).
"""

import math
from typing import NamedTuple

import numpy as np

from .. import vec
from ..accessors import anchor_velocity_of, normal_of
from ..jit import kernel

PARALLEL = 1e-4  # squared sine of the angle below which two normals constrain the same direction


class FreeDirections(NamedTuple):
    """Symmetric projections onto the directions in which constrained vertices are free to move."""

    rows: np.ndarray  # (n,) of the vertices, of which the first `count` are used
    blocks: np.ndarray  # (n,6) xx, yy, zz, xy, xz, yz
    place: np.ndarray  # (n,) of each vertex in `rows`, or -1
    normals: np.ndarray  # (n,3) of the contact of each that last changed its block


@kernel
def collect(contacts, pushed, substep, rows_start, tiny, free):
    """Collect the vertices that contacts have stopped (pushed by more than `tiny`) in `free`; return their number.

    A vertex slides along its surface, or sticks to it if friction has stopped it there; two surfaces leave the line in
    which they meet, three leave nothing. Contacts whose first side is not a single vertex, such as edge midpoints and
    pairs of edges, do not constrain. The rows of `free` are relative to `rows_start`, all others refer to the whole
    scene; tiny: metres.
    """
    x, x_start, w, dt = substep
    count = 0
    free.place[:] = -1
    for c in range(len(contacts)):
        contact = contacts[c]
        i = contact["vertices"][0] - rows_start
        if pushed[c] <= tiny or contact["weights"][0] != 1.0 or i < 0 or i >= len(free.place):
            continue
        if w[i + rows_start] == 0.0:
            continue
        n, k = normal_of(contact), free.place[i]
        wall = anchor_velocity_of(contact)
        for v in range(1, 4):
            j = contact["vertices"][v]
            if j >= 0:
                moved = vec.sub(vec.load(x, j), vec.load(x_start, j))
                wall = vec.madd(wall, moved, -contact["weights"][v] / dt)
        slide = vec.madd(vec.sub(vec.load(x, i + rows_start), vec.load(x_start, i + rows_start)), wall, -dt)
        slide = vec.madd(slide, n, -vec.dot(slide, n))
        if vec.norm2(slide) <= tiny * tiny:
            free_block(free, i, k if k >= 0 else count, n, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
        elif k < 0:
            block = 1.0 - n[0] * n[0], 1.0 - n[1] * n[1], 1.0 - n[2] * n[2], -n[0] * n[1], -n[0] * n[2], -n[1] * n[2]
            free_block(free, i, count, n, block)
        elif free.blocks[k, 0] + free.blocks[k, 1] + free.blocks[k, 2] > 1.5:  # a plane
            t = vec.cross(vec.load(free.normals, k), n)
            s = vec.norm2(t)
            if s > PARALLEL:
                t = vec.scale(t, 1.0 / math.sqrt(s))
                block = t[0] * t[0], t[1] * t[1], t[2] * t[2], t[0] * t[1], t[0] * t[2], t[1] * t[2]
                free_block(free, i, k, n, block)
        elif vec.dot(n, projected(free, k, n)) > PARALLEL:  # a line that leads into this surface
            free_block(free, i, k, n, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
        count = max(count, free.place[i] + 1)
    return count


@kernel
def free_block(free, i, k, n, block):
    """Store the projection `block` of vertex `i` at place `k`."""
    free.place[i], free.rows[k] = k, i
    vec.store(free.normals, k, n)
    for j in range(6):
        free.blocks[k, j] = block[j]


@kernel
def projected(free, k, a):
    """The part of `a` in the directions in which the vertex at place `k` is free to move."""
    b0, b1, b2 = free.blocks[k, 0], free.blocks[k, 1], free.blocks[k, 2]
    b3, b4, b5 = free.blocks[k, 3], free.blocks[k, 4], free.blocks[k, 5]
    x, y, z = a
    return b0 * x + b3 * y + b4 * z, b3 * x + b1 * y + b5 * z, b4 * x + b5 * y + b2 * z


@kernel
def keep_free(free, count, first, last, a):
    """Project those of the rows first..last-1 of `a` (n,3) that contacts constrain, `count` of all rows, onto the
    directions in which they are free to move."""
    if count == 0:
        return
    for i in range(first, last):
        k = free.place[i]
        if k >= 0:
            vec.store(a, i, projected(free, k, vec.load(a, i)))
