"""Cloth as compliant constraints projected one by one (XPBD: Macklin, Mueller, Chentanez 2016), in substeps.

Elements of one colour share no vertex, so any order, or parallel execution, is bitwise identical.
"""

import math
from typing import NamedTuple

import numpy as np

from .. import vec
from ..jit import kernel, prange

LAST = 62  # colour of elements that fit no other; it is solved sequentially
TINY = 1e-12
PARTS = 16  # ranges of a colour distributed over threads


class Membrane(NamedTuple):
    """Triangles that resist stretch along warp and weft and shear between them, ordered by colour for XPBD and by
    vertex for the implicit solver."""

    faces: np.ndarray  # (m,3)
    rest: np.ndarray  # (m,4) inverse of the rest edges e_1, e_2 in (warp, weft), 1/m: warp of e_1, e_2; weft of both
    compliance: np.ndarray  # (m,3) of warp, weft and shear: 1 / (stiffness * area), 1/J
    start: np.ndarray  # (colours+1,)


class Hinges(NamedTuple):
    """Pairs of triangles that resist bending, ordered by colour."""

    vertices: np.ndarray  # (h,4) edge a-b, opposite corners c, d
    weights: np.ndarray  # (h,4) of the discrete Laplacian across the edge
    rest: np.ndarray  # (h,) norm of the Laplacian at rest, m; 0: flat
    compliance: np.ndarray  # (h,) m2/J
    start: np.ndarray  # (colours+1,)


@kernel
def colour(elements, colours):
    """Give each element the lowest colour that no earlier element at its vertices has; return the number of colours.

    Elements for which no other colour is free get colour LAST.
    """
    used = np.zeros(elements.max() + 1, np.int64)
    most = 0
    for e in range(len(elements)):
        taken = np.int64(0)
        for k in range(elements.shape[1]):
            taken |= used[elements[e, k]]
        c = 0
        while c < LAST and (taken >> c) & 1:
            c += 1
        colours[e] = c
        most = max(most, c + 1)
        for k in range(elements.shape[1]):
            used[elements[e, k]] |= np.int64(1) << c
    return most


@kernel
def columns(a, b, c, r):
    """The two columns of a triangle's deformation gradient: the images of the unit vectors along warp and weft."""
    e, f = vec.sub(b, a), vec.sub(c, a)
    return vec.madd(vec.scale(e, r[0]), f, r[1]), vec.madd(vec.scale(e, r[2]), f, r[3])


@kernel
def unit_columns(u, v):
    """Lengths of the columns, their reciprocals, and unit directions."""
    n_u, n_v = math.sqrt(vec.norm2(u)), math.sqrt(vec.norm2(v))
    i_u, i_v = 1.0 / max(n_u, TINY), 1.0 / max(n_v, TINY)
    return n_u, n_v, i_u, i_v, vec.scale(u, i_u), vec.scale(v, i_v)


@kernel
def solve3(diagonal, beside, right):
    """Solve the symmetric positive definite system [[a, d, e], [d, b, f], [e, f, c]] by elimination.

    diagonal: a, b, c. beside: d, e, f. right: its right-hand side.
    """
    a, b, c = diagonal
    d, e, f = beside
    x, y, z = right
    i_a = 1.0 / a
    l_1, l_2 = d * i_a, e * i_a
    b -= l_1 * d
    i_b = 1.0 / b
    l_3 = (f - l_1 * e) * i_b
    y -= l_1 * x
    z = (z - l_2 * x - l_3 * y) / (c - l_2 * e - l_3 * l_3 * b)
    y = y * i_b - l_3 * z
    return (x - d * y - e * z) * i_a, y, z


@kernel
def strain_pushes(a, b, c, w, r, soft):
    """The displacements, per inverse mass, by which the columns of a triangle change when |u| - 1, |v| - 1 and cos(u,v)
    are solved together.

    w: inverse masses, r: rest shape, soft: compliances of warp, weft and shear over dt^2. With the columns'
    coefficients U and V at each corner, every product of two gradients consists of P = sum w U^2, Q = sum w U V,
    R = sum w V^2 and the angle between the columns: a 3x3 system of scalars.
    """
    o, t = r[0] + r[1], r[2] + r[3]  # minus the coefficients at the first corner
    u, v = columns(a, b, c, r)
    n_u, n_v, i_u, i_v, u, v = unit_columns(u, v)
    s = vec.dot(u, v)
    k = 1.0 - s * s
    # below a tenth of the rest length, shear is meaningless; this bounds its gradient
    i_u, i_v = min(i_u, 10.0), min(i_v, 10.0)
    p_sum = w[0] * o * o + w[1] * r[0] * r[0] + w[2] * r[1] * r[1]
    q_sum = w[0] * o * t + w[1] * r[0] * r[2] + w[2] * r[1] * r[3]
    r_sum = w[0] * t * t + w[1] * r[2] * r[2] + w[2] * r[3] * r[3]
    a_33 = k * (p_sum * i_u * i_u - 2.0 * q_sum * s * i_u * i_v + r_sum * i_v * i_v) + soft[2]
    a_13, a_23 = q_sum * k * i_v, q_sum * k * i_u
    x, y, z = solve3((p_sum + soft[0], r_sum + soft[1], a_33), (q_sum * s, a_13, a_23), (1.0 - n_u, 1.0 - n_v, -s))
    along_u = vec.add(vec.scale(u, x - z * s * i_u), vec.scale(v, z * i_u))
    along_v = vec.add(vec.scale(v, y - z * s * i_v), vec.scale(u, z * i_v))
    return along_u, along_v


@kernel
def moved_by(a, b, c, w, r, along_u, along_v):
    """Positions of a triangle's corners after the displacements of `strain_pushes`."""
    o, t = r[0] + r[1], r[2] + r[3]
    return (
        vec.madd(vec.madd(a, along_u, -w[0] * o), along_v, -w[0] * t),
        vec.madd(vec.madd(b, along_u, w[1] * r[0]), along_v, w[1] * r[2]),
        vec.madd(vec.madd(c, along_u, w[2] * r[1]), along_v, w[2] * r[3]),
    )


@kernel
def relax_triangles(m, first, last, x, w, dt):
    """Project triangles first..last-1. Array accesses are in this loop: passing arrays to a function per element would
    cost more than all its arithmetic.
    """
    per_dt2 = 1.0 / (dt * dt)
    for e in range(first, last):
        i, j, k = m.faces[e, 0], m.faces[e, 1], m.faces[e, 2]
        r = (m.rest[e, 0], m.rest[e, 1], m.rest[e, 2], m.rest[e, 3])
        soft = (m.compliance[e, 0] * per_dt2, m.compliance[e, 1] * per_dt2, m.compliance[e, 2] * per_dt2)
        a, b, c, masses = vec.load(x, i), vec.load(x, j), vec.load(x, k), (w[i], w[j], w[k])
        along_u, along_v = strain_pushes(a, b, c, masses, r, soft)
        a, b, c = moved_by(a, b, c, masses, r, along_u, along_v)
        vec.store(x, i, a)
        vec.store(x, j, b)
        vec.store(x, k, c)


@kernel
def weigh4(a, b, c, d, k):
    """k0 a + k1 b + k2 c + k3 d: zero for a hinge with coplanar triangles (Bergou et al. 2006)."""
    return vec.add(vec.madd(vec.scale(a, k[0]), b, k[1]), vec.madd(vec.scale(c, k[2]), d, k[3]))


@kernel
def unbent(corners, w, g, rest, soft):
    """Positions of the corners of a hinge, moved towards its rest curvature. w: inverse masses, g: weights, soft:
    compliance over dt^2."""
    a, b, c, d = corners
    w_a, w_b, w_c, w_d = w[0] * g[0], w[1] * g[1], w[2] * g[2], w[3] * g[3]
    total = w_a * g[0] + w_b * g[1] + w_c * g[2] + w_d * g[3]
    push = weigh4(a, b, c, d, g)
    if rest > 0.0:
        push = vec.scale(push, 1.0 - rest / max(vec.norm(push), TINY))
    push = vec.scale(push, -1.0 / (total + soft))
    return vec.madd(a, push, w_a), vec.madd(b, push, w_b), vec.madd(c, push, w_c), vec.madd(d, push, w_d)


@kernel
def relax_hinges(h, first, last, x, w, dt):
    """Project hinges first..last-1 towards their rest curvature; of flat cloth by the isometric bending energy."""
    per_dt2 = 1.0 / (dt * dt)
    for e in range(first, last):
        i, j, k, o = h.vertices[e, 0], h.vertices[e, 1], h.vertices[e, 2], h.vertices[e, 3]
        g = (h.weights[e, 0], h.weights[e, 1], h.weights[e, 2], h.weights[e, 3])
        corners = (vec.load(x, i), vec.load(x, j), vec.load(x, k), vec.load(x, o))
        a, b, c, d = unbent(corners, (w[i], w[j], w[k], w[o]), g, h.rest[e], h.compliance[e] * per_dt2)
        vec.store(x, i, a)
        vec.store(x, j, b)
        vec.store(x, k, c)
        vec.store(x, o, d)


@kernel
def relax_serial(m, h, x, w, dt):
    """One sweep over all triangles, then all hinges."""
    relax_triangles(m, 0, len(m.faces), x, w, dt)
    relax_hinges(h, 0, len(h.vertices), x, w, dt)


@kernel
def part(first, last, p, parts):
    """The p-th of `parts` nearly equal ranges of first..last."""
    return first + (last - first) * p // parts, first + (last - first) * (p + 1) // parts


@kernel(parallel=True)
def relax_parallel(m, h, x, w, dt):
    """As `relax_serial`, with each colour in parallel; bitwise identical."""
    colours = min(len(m.start) - 1, LAST)
    for c in range(colours):
        for p in prange(PARTS):
            a, b = part(m.start[c], m.start[c + 1], p, PARTS)
            relax_triangles(m, a, b, x, w, dt)
    relax_triangles(m, m.start[colours], len(m.faces), x, w, dt)
    colours = min(len(h.start) - 1, LAST)
    for c in range(colours):
        for p in prange(PARTS):
            a, b = part(h.start[c], h.start[c + 1], p, PARTS)
            relax_hinges(h, a, b, x, w, dt)
    relax_hinges(h, h.start[colours], len(h.vertices), x, w, dt)


@kernel
def membrane_energy(m, x):
    """Elastic energy of the triangles, J."""
    total = 0.0
    for e in range(len(m.faces)):
        a, b, c = vec.load(x, m.faces[e, 0]), vec.load(x, m.faces[e, 1]), vec.load(x, m.faces[e, 2])
        u, v = columns(a, b, c, (m.rest[e, 0], m.rest[e, 1], m.rest[e, 2], m.rest[e, 3]))
        n_u, n_v, _, _, u, v = unit_columns(u, v)
        total += 0.5 * ((n_u - 1.0) ** 2 / m.compliance[e, 0] + (n_v - 1.0) ** 2 / m.compliance[e, 1])
        total += 0.5 * vec.dot(u, v) ** 2 / m.compliance[e, 2]
    return total


@kernel
def hinge_energy(h, x):
    """Elastic energy of the hinges, J."""
    total = 0.0
    for e in range(len(h.vertices)):
        v, g = h.vertices[e], (h.weights[e, 0], h.weights[e, 1], h.weights[e, 2], h.weights[e, 3])
        bend = weigh4(vec.load(x, v[0]), vec.load(x, v[1]), vec.load(x, v[2]), vec.load(x, v[3]), g)
        total += 0.5 * (vec.norm(bend) - h.rest[e]) ** 2 / h.compliance[e]
    return total
