"""Forces of cloth for implicit integration, and the vector operations of conjugate gradients.

The energy is that of the XPBD constraints: half the squares of |u| - 1, |v| - 1 and cos(u,v) over their compliances,
with the columns u, v of each triangle's deformation gradient, plus the quadratic bending energy of the hinges. Forces
are computed per triangle, then gathered per vertex in a fixed order, so that results are bitwise identical on any
number of threads. They are computed in double precision; the vectors of conjugate gradients are (n,4) arrays in single
precision, of which the last column is padding.
"""

import math
from typing import NamedTuple

import numpy as np

from .. import vec
from ..jit import kernel, prange
from .cloth import columns, part, unit_columns
from .stiffness import CHUNKS, MOST, ordered_sum
from .triangle_batches import BATCH, INPUTS, gather, set_three, three


class VertexRows(NamedTuple):
    """The terms of the residual of every vertex: corners of triangles, and its row of the bending matrix."""

    start: np.ndarray  # (n+1,) first entry of each vertex in `corner`
    corner: np.ndarray  # 3 * triangle + corner, ascending
    row_start: np.ndarray  # (n+1,) first entry of each vertex in `row_place` and `bending`
    row_place: np.ndarray  # columns of the bending matrix
    bending: np.ndarray  # values of the bending matrix, N/m
    mass: np.ndarray  # (n,) mass / dt^2, kg/s2; 0 for vertices with prescribed motion


@kernel
def batch_gradients(batch):
    """Gradients of the energy of a batch of triangles by their corners b (rows 0..2) and c (3..5)."""
    for k in range(BATCH):
        r = (batch[6 * BATCH + k], batch[7 * BATCH + k], batch[8 * BATCH + k], batch[9 * BATCH + k])
        u, v = columns((0.0, 0.0, 0.0), three(batch, 0, k), three(batch, 3, k), r)
        n_u, n_v, i_u, i_v, u, v = unit_columns(u, v)
        s = vec.dot(u, v)
        t = s / batch[12 * BATCH + k]
        along_u = vec.scale(u, (n_u - 1.0) / batch[10 * BATCH + k])
        along_v = vec.scale(v, (n_v - 1.0) / batch[11 * BATCH + k])
        along_u = vec.madd(along_u, vec.madd(v, u, -s), t * min(i_u, MOST))
        along_v = vec.madd(along_v, vec.madd(u, v, -s), t * min(i_v, MOST))
        set_three(batch, 0, k, vec.madd(vec.scale(along_u, r[0]), along_v, r[2]))
        set_three(batch, 3, k, vec.madd(vec.scale(along_u, r[1]), along_v, r[3]))


@kernel
def triangle_gradients(m, first, last, x, gradient):
    """Gradient (3m,3) of the energy of triangles first..last-1 by corners."""
    batch = np.ones(INPUTS * BATCH)
    for begin in range(first, last, BATCH):
        end = min(begin + BATCH, last)
        gather(m, begin, end, x, batch)
        batch_gradients(batch)
        for k in range(end - begin):
            e, b, c = 3 * (begin + k), three(batch, 0, k), three(batch, 3, k)
            vec.store(gradient, e, vec.scale(vec.add(b, c), -1.0))
            vec.store(gradient, e + 1, b)
            vec.store(gradient, e + 2, c)


@kernel
def vertex_residuals(g, first, last, x, predicted, rest_gradient, gradient, out):
    """Gather the `residual` of vertices first..last-1 from the gradients of their triangles, and add bending."""
    for i in range(first, last):
        total = vec.load(rest_gradient, i)
        for at in range(g.start[i], g.start[i + 1]):
            total = vec.add(total, vec.load(gradient, g.corner[at]))
        for at in range(g.row_start[i], g.row_start[i + 1]):
            total = vec.madd(total, vec.load(x, g.row_place[at]), g.bending[at])
        away = vec.sub(vec.load(predicted, i), vec.load(x, i))
        result = vec.sub(vec.scale(away, g.mass[i]), total)
        vec.store(out, i, result if g.mass[i] > 0.0 else (0.0, 0.0, 0.0))


@kernel(parallel=True)
def residual(m, g, x, predicted, rest_gradient, gradient, out):
    """Negative gradient of the incremental potential at x, zero at prescribed vertices: out.

    The incremental potential of a step of dt is the elastic energy plus |x - predicted|^2 mass / (2 dt^2); g.mass is
    mass / dt^2. rest_gradient: (n,3) gradient of the energy of rest curvature.
    """
    for p in prange(CHUNKS):
        a, b = part(0, len(m.faces), p, CHUNKS)
        triangle_gradients(m, a, b, x, gradient)
    for p in prange(CHUNKS):
        a, b = part(0, len(x), p, CHUNKS)
        vertex_residuals(g, a, b, x, predicted, rest_gradient, gradient, out)


@kernel(parallel=True)
def add_blocks(blocks, r, z):
    """z += D^-1 r with the inverse diagonal blocks; return the dot product r . z."""
    partial = np.zeros(CHUNKS)
    for c in prange(CHUNKS):
        first, last = part(0, len(r), c, CHUNKS)
        total = 0.0
        for i in range(first, last):
            x, y, w = vec.load(r, i)
            a = z[i, 0] + blocks[i, 0] * x + blocks[i, 3] * y + blocks[i, 4] * w
            b = z[i, 1] + blocks[i, 3] * x + blocks[i, 1] * y + blocks[i, 5] * w
            d = z[i, 2] + blocks[i, 4] * x + blocks[i, 5] * y + blocks[i, 2] * w
            vec.store(z, i, (a, b, d))
            total += x * a + y * b + w * d
        partial[c] = total
    return ordered_sum(partial)


@kernel(parallel=True)
def take_step(p, q, step, x, r):
    """x += step p, and r -= step q."""
    for c in prange(CHUNKS):
        first, last = part(0, len(x), c, CHUNKS)
        for i in range(first, last):
            vec.store(x, i, vec.madd(vec.load(x, i), vec.load(p, i), step))
            vec.store(r, i, vec.madd(vec.load(r, i), vec.load(q, i), -step))


@kernel(parallel=True)
def next_direction(z, share, p):
    """p = z + share p: the next direction."""
    for c in prange(CHUNKS):
        first, last = part(0, len(p), c, CHUNKS)
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


@kernel
def shift_rows(rows, by, x):
    """Add `by` (3,) to the rows of x."""
    for at in range(len(rows)):
        i = rows[at]
        vec.store(x, i, (x[i, 0] + by[0], x[i, 1] + by[1], x[i, 2] + by[2]))


@kernel
def add_displacement(before, after, mass, out):
    """out += after - before where mass (n,) is positive; return whether any of these rows differs."""
    moved = False
    for i in range(len(out)):
        if mass[i] == 0.0:
            continue
        d = vec.sub(vec.load(after, i), vec.load(before, i))
        if d[0] != 0.0 or d[1] != 0.0 or d[2] != 0.0:
            vec.store(out, i, vec.add(vec.load(out, i), d))
            moved = True
    return moved
