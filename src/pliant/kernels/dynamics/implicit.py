"""Forces and stiffness of cloth for implicit integration, applied without assembling a matrix.

The energy is that of the XPBD constraints: half the squares of |u| - 1, |v| - 1 and cos(u,v) over their compliances,
with the columns u, v of each triangle's deformation gradient, plus the quadratic bending energy of the hinges. Its
Hessian is used without the terms that can make it indefinite (Gauss-Newton for shear, tension only for the geometric
stiffness). Products are computed per triangle, then gathered per vertex in a fixed order, so that results are bitwise
identical on any number of threads.
"""

import math
from typing import NamedTuple

import numpy as np

from .. import vec
from ..jit import kernel, prange
from .cloth import columns, part, unit_columns

CHUNKS = 64  # ranges of a loop that threads share; sums are added up in their order
MOST = 10.0  # bound of the gradient of shear: below a tenth of the rest length it is meaningless


class Corners(NamedTuple):
    """The corners of triangles and the linear terms at every vertex, by rows."""

    start: np.ndarray  # (n+1,)
    corner: np.ndarray  # 3 * triangle + corner, ascending
    row_start: np.ndarray  # (n+1,)
    row_place: np.ndarray  # columns of the linear terms
    bending: np.ndarray  # values of the bending stiffness, N/m
    bending_diagonal: np.ndarray  # (n,)
    mass: np.ndarray  # (n,) mass / dt^2, kg/s2; 0 for vertices with prescribed motion


@kernel
def triangle_forces(m, first, last, x, axes, force):
    """Gradient of the energy of triangles first..last-1 by corners; and their axes for `triangle_products`.

    axes: (m,10) unit columns u, v, bounded reciprocal lengths, and shares of the geometric stiffness. force: (3m,3).
    """
    for e in range(first, last):
        r = (m.rest[e, 0], m.rest[e, 1], m.rest[e, 2], m.rest[e, 3])
        a, b, c = vec.load(x, m.faces[e, 0]), vec.load(x, m.faces[e, 1]), vec.load(x, m.faces[e, 2])
        u, v = columns(a, b, c, r)
        n_u, n_v, i_u, i_v, u, v = unit_columns(u, v)
        axes[e, 0], axes[e, 1], axes[e, 2] = u
        axes[e, 3], axes[e, 4], axes[e, 5] = v
        axes[e, 8], axes[e, 9] = max(0.0, 1.0 - i_u), max(0.0, 1.0 - i_v)
        i_u, i_v = min(i_u, MOST), min(i_v, MOST)
        axes[e, 6], axes[e, 7] = i_u, i_v
        s = vec.dot(u, v)
        t = s / m.compliance[e, 2]
        along_u = vec.madd(vec.scale(u, (n_u - 1.0) / m.compliance[e, 0]), vec.madd(v, u, -s), t * i_u)
        along_v = vec.madd(vec.scale(v, (n_v - 1.0) / m.compliance[e, 1]), vec.madd(u, v, -s), t * i_v)
        put(force, e, along_u, along_v, r)


@kernel
def put(force, e, along_u, along_v, r):
    """Store gradients by the columns of the deformation gradient as gradients by the corners of triangle `e`."""
    b = vec.madd(vec.scale(along_u, r[0]), along_v, r[2])
    c = vec.madd(vec.scale(along_u, r[1]), along_v, r[3])
    vec.store(force, 3 * e, vec.scale(vec.add(b, c), -1.0))
    vec.store(force, 3 * e + 1, b)
    vec.store(force, 3 * e + 2, c)


@kernel
def triangle_products(m, first, last, axes, p, force):
    """Products of the stiffness of triangles first..last-1 with displacements p, by corners."""
    for e in range(first, last):
        r = (m.rest[e, 0], m.rest[e, 1], m.rest[e, 2], m.rest[e, 3])
        a, b, c = vec.load(p, m.faces[e, 0]), vec.load(p, m.faces[e, 1]), vec.load(p, m.faces[e, 2])
        d_u, d_v = columns(a, b, c, r)
        u, v = (axes[e, 0], axes[e, 1], axes[e, 2]), (axes[e, 3], axes[e, 4], axes[e, 5])
        i_u, i_v, t_u, t_v = axes[e, 6], axes[e, 7], axes[e, 8], axes[e, 9]
        s, uu, vv = vec.dot(u, v), vec.dot(d_u, u), vec.dot(d_v, v)
        k_u, k_v = 1.0 / m.compliance[e, 0], 1.0 / m.compliance[e, 1]
        shear = ((vec.dot(d_u, v) - s * uu) * i_u + (vec.dot(d_v, u) - s * vv) * i_v) / m.compliance[e, 2]
        along_u = vec.madd(vec.scale(u, k_u * uu * (1.0 - t_u)), d_u, k_u * t_u)
        along_u = vec.madd(along_u, vec.madd(v, u, -s), shear * i_u)
        along_v = vec.madd(vec.scale(v, k_v * vv * (1.0 - t_v)), d_v, k_v * t_v)
        along_v = vec.madd(along_v, vec.madd(u, v, -s), shear * i_v)
        put(force, e, along_u, along_v, r)


@kernel
def at_vertex(g, i, force, x):
    """Sum at vertex `i` of the gradients, or products, of its triangles and of bending."""
    total = (0.0, 0.0, 0.0)
    for at in range(g.start[i], g.start[i + 1]):
        total = vec.add(total, vec.load(force, g.corner[at]))
    for at in range(g.row_start[i], g.row_start[i + 1]):
        total = vec.madd(total, vec.load(x, g.row_place[at]), g.bending[at])
    return total


@kernel(parallel=True)
def residual(m, g, x, predicted, curl, axes, force, out):
    """Negative gradient of the incremental potential at x, zero at prescribed vertices: out.

    The incremental potential of a step of dt is the elastic energy plus |x - predicted|^2 mass / (2 dt^2); g.mass is
    mass / dt^2. curl: (n,3) gradient of the energy of rest curvature.
    """
    for p in prange(CHUNKS):
        a, b = part(0, len(m.faces), p, CHUNKS)
        triangle_forces(m, a, b, x, axes, force)
    for p in prange(CHUNKS):
        a, b = part(0, len(x), p, CHUNKS)
        for i in range(a, b):
            if g.mass[i] == 0.0:
                vec.store(out, i, (0.0, 0.0, 0.0))
                continue
            total = vec.add(at_vertex(g, i, force, x), vec.load(curl, i))
            away = vec.sub(vec.load(predicted, i), vec.load(x, i))
            vec.store(out, i, vec.sub(vec.scale(away, g.mass[i]), total))


@kernel
def in_order(a):
    """Sum from first to last; NumPy's sum in a parallel kernel would depend on the number of threads."""
    total = 0.0
    for k in range(len(a)):
        total += a[k]
    return total


@kernel(parallel=True)
def multiply(m, g, axes, p, force, out):
    """Product of the system matrix with p (zero at prescribed vertices), and the dot product p . out."""
    partial = np.zeros(CHUNKS)
    for c in prange(CHUNKS):
        a, b = part(0, len(m.faces), c, CHUNKS)
        triangle_products(m, a, b, axes, p, force)
    for c in prange(CHUNKS):
        a, b = part(0, len(p), c, CHUNKS)
        total = 0.0
        for i in range(a, b):
            if g.mass[i] == 0.0:
                vec.store(out, i, (0.0, 0.0, 0.0))
                continue
            own = vec.load(p, i)
            q = vec.madd(at_vertex(g, i, force, p), own, g.mass[i])
            vec.store(out, i, q)
            total += vec.dot(own, q)
        partial[c] = total
    return in_order(partial)


@kernel
def corner_block(m, e, corner, axes, block):
    """Add the stiffness of triangle `e` at one of its corners to a symmetric block: xx, yy, zz, xy, xz, yz."""
    r0, r1, r2, r3 = m.rest[e, 0], m.rest[e, 1], m.rest[e, 2], m.rest[e, 3]
    c_u, c_v = (-r0 - r1, -r2 - r3) if corner == 0 else (r0, r2) if corner == 1 else (r1, r3)
    u, v = (axes[e, 0], axes[e, 1], axes[e, 2]), (axes[e, 3], axes[e, 4], axes[e, 5])
    i_u, i_v, t_u, t_v = axes[e, 6], axes[e, 7], axes[e, 8], axes[e, 9]
    s, shear = vec.dot(u, v), 1.0 / m.compliance[e, 2]
    along_u, along_v = c_u * c_u / m.compliance[e, 0], c_v * c_v / m.compliance[e, 1]
    a, b, even = along_u * (1.0 - t_u), along_v * (1.0 - t_v), along_u * t_u + along_v * t_v
    j = vec.add(vec.scale(vec.madd(v, u, -s), c_u * i_u), vec.scale(vec.madd(u, v, -s), c_v * i_v))
    return (
        block[0] + even + a * u[0] * u[0] + b * v[0] * v[0] + shear * j[0] * j[0],
        block[1] + even + a * u[1] * u[1] + b * v[1] * v[1] + shear * j[1] * j[1],
        block[2] + even + a * u[2] * u[2] + b * v[2] * v[2] + shear * j[2] * j[2],
        block[3] + a * u[0] * u[1] + b * v[0] * v[1] + shear * j[0] * j[1],
        block[4] + a * u[0] * u[2] + b * v[0] * v[2] + shear * j[0] * j[2],
        block[5] + a * u[1] * u[2] + b * v[1] * v[2] + shear * j[1] * j[2],
    )


@kernel
def inverse(block):
    """Inverse of a symmetric positive definite block, in the same order."""
    a, b, c, d, e, f = block
    x, y, z = b * c - f * f, e * f - d * c, d * f - e * b
    s = 1.0 / (a * x + d * y + e * z)
    return x * s, (a * c - e * e) * s, (a * b - d * d) * s, y * s, z * s, (d * e - a * f) * s


@kernel(parallel=True)
def inverse_blocks(m, g, axes, out):
    """Inverses (n,6) of the diagonal blocks of the system matrix with these `axes`; zero at prescribed vertices."""
    for p in prange(CHUNKS):
        a, b = part(0, len(out), p, CHUNKS)
        for i in range(a, b):
            own = g.mass[i] + g.bending_diagonal[i]
            block = (own, own, own, 0.0, 0.0, 0.0)
            for at in range(g.start[i], g.start[i + 1]):
                block = corner_block(m, g.corner[at] // 3, g.corner[at] % 3, axes, block)
            result = inverse(block) if g.mass[i] > 0.0 else (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
            for k in range(6):
                out[i, k] = result[k]


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
    return in_order(partial)


@kernel(parallel=True)
def add_scaled(x, y, s, out):
    """out = x + s y; `out` may be either of them."""
    for c in prange(CHUNKS):
        first, last = part(0, len(x), c, CHUNKS)
        for i in range(first, last):
            vec.store(out, i, vec.madd(vec.load(x, i), vec.load(y, i), s))


@kernel
def curl_forces(h, x, bent, out):
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
