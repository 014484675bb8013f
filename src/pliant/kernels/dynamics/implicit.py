"""Forces of cloth for implicit integration, and the vector operations of conjugate gradients.

The energy is that of `triangles` plus the quadratic bending energy of the hinges. Forces are computed per triangle,
then gathered per vertex in a fixed order, so that results are bitwise identical on any number of threads. They are
computed in double precision; the vectors of conjugate gradients are (n,4) arrays in single precision, of which the last
column is padding.
"""

import math
from typing import NamedTuple

import numpy as np

from .. import vec
from ..jit import kernel


class VertexRows(NamedTuple):
    """The terms of the residual of every vertex: corners of triangles, and its row of the matrix of linear
    forces: bending, and stitches as if their rest length were zero."""

    start: np.ndarray  # (n+1,) first entry of each vertex in `corner`
    corner: np.ndarray  # 3 * triangle + corner, ascending; triangles are numbered in their patch
    row_start: np.ndarray  # (n+1,) first entry of each vertex in `row_place` and `bending`
    row_place: np.ndarray  # columns of the matrix of linear forces
    bending: np.ndarray  # its values, N/m
    mass: np.ndarray  # (n,) mass / dt^2, kg/s2; 0 for vertices with prescribed motion


@kernel
def vertex_residuals(g, first, last, x, predicted, rest_gradient, gradient, out):
    """Negative gradient of the incremental potential at x of vertices first..last-1, zero at prescribed ones: out.

    The incremental potential of a step of dt is the elastic energy plus |x - predicted|^2 mass / (2 dt^2); g.mass is
    mass / dt^2. It is gathered from the gradients of triangles, and that of the energy of rest curvature (n,3).
    """
    for i in range(first, last):
        total = vec.load(rest_gradient, i)
        for at in range(g.start[i], g.start[i + 1]):
            total = vec.add(total, vec.load(gradient, g.corner[at]))
        for at in range(g.row_start[i], g.row_start[i + 1]):
            total = vec.madd(total, vec.load(x, g.row_place[at]), g.bending[at])
        away = vec.sub(vec.load(predicted, i), vec.load(x, i))
        result = vec.sub(vec.scale(away, g.mass[i]), total)
        vec.store(out, i, result if g.mass[i] > 0.0 else (0.0, 0.0, 0.0))


@kernel
def add_blocks(blocks, first, last, r, z):
    """z += D^-1 r with the inverse diagonal blocks, for rows first..last-1; return their part of r . z."""
    total = 0.0
    for i in range(first, last):
        x, y, w = vec.load(r, i)
        a = z[i, 0] + blocks[i, 0] * x + blocks[i, 3] * y + blocks[i, 4] * w
        b = z[i, 1] + blocks[i, 3] * x + blocks[i, 1] * y + blocks[i, 5] * w
        d = z[i, 2] + blocks[i, 4] * x + blocks[i, 5] * y + blocks[i, 2] * w
        vec.store(z, i, (a, b, d))
        total += x * a + y * b + w * d
    return total


@kernel
def take_step(first, last, p, q, step, x, r):
    """x += step p, and r -= step q, for rows first..last-1."""
    for i in range(first, last):
        vec.store(x, i, vec.madd(vec.load(x, i), vec.load(p, i), step))
        vec.store(r, i, vec.madd(vec.load(r, i), vec.load(q, i), -step))


@kernel
def copy_rows(first, last, z, p):
    """p = z, the first direction, for rows first..last-1; a slice would compile the text of its error, for 2.4 s."""
    for i in range(first, last):
        vec.store(p, i, vec.load(z, i))


@kernel
def next_direction(first, last, z, share, p):
    """p = z + share p, the next direction, for rows first..last-1."""
    for i in range(first, last):
        vec.store(p, i, vec.madd(vec.load(z, i), vec.load(p, i), share))


@kernel
def rest_curvature_gradients(h, x, bent, out):
    """Store in `out` the gradient of the energy by which hinges with a rest curvature differ from flat ones.

    bent: rows of the hinges with a rest curvature.
    """
    out[:] = 0.0
    for at in range(len(bent)):
        e = bent[at]
        g = (h.weights[e, 0], h.weights[e, 1], h.weights[e, 2], h.weights[e, 3])
        v = (h.vertices[e, 0], h.vertices[e, 1], h.vertices[e, 2], h.vertices[e, 3])
        bend = vec.add(
            vec.madd(vec.scale(vec.load(x, v[0]), g[0]), vec.load(x, v[1]), g[1]),
            vec.madd(vec.scale(vec.load(x, v[2]), g[2]), vec.load(x, v[3]), g[3]),
        )
        size = math.sqrt(vec.norm2(bend))
        bend = vec.scale(bend, -h.rest[e] / (max(size, 1e-12) * h.compliance[e]))
        for k in range(4):
            vec.store(out, v[k], vec.madd(vec.load(out, v[k]), bend, g[k]))
