"""Cloth as constraints relaxed one by one with compliance (XPBD: Macklin, Mueller, Chentanez 2016), in small steps.

Elements of one colour share no vertex, so they may run in any order or at once and give the same bits.
"""

import math
from typing import NamedTuple

import numpy as np

from . import vec
from .jit import kernel, prange

LAST = 62  # the colour of what found no other; it is run in sequence
TINY = 1e-12


class Membrane(NamedTuple):
    """Triangles that resist stretch along two directions and shear between them, ordered by colour."""

    faces: np.ndarray  # (m,3)
    rest: np.ndarray  # (m,3) 1/length, -a/b, 1/b for rest edges (length, 0) and (a, b)
    compliance: np.ndarray  # (m,2) of stretch and of shear: 1 / (stiffness * area), 1/J
    start: np.ndarray  # (colours+1,)


class Hinges(NamedTuple):
    """Pairs of triangles that resist bending, ordered by colour."""

    vertices: np.ndarray  # (h,4) edge a-b, opposite corners c, d
    weights: np.ndarray  # (h,4) of the discrete Laplacian across the edge
    rest: np.ndarray  # (h,) its length at rest
    compliance: np.ndarray  # (h,) m2/J
    damping: np.ndarray  # (h,) s: stiffness times this is the viscosity
    start: np.ndarray  # (colours+1,)


@kernel
def colour(elements, colours):
    """Give each element the lowest colour that none of its vertices' earlier elements has; returns how many.

    Vertices with more elements than there are colours put the rest into colour LAST.
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
def frame(m, e, x):
    """Lengths and unit directions of the two columns of a triangle's deformation gradient."""
    a = vec.load(x, m.faces[e, 0])
    u = vec.scale(vec.sub(vec.load(x, m.faces[e, 1]), a), m.rest[e, 0])
    b = vec.sub(vec.load(x, m.faces[e, 2]), a)
    v = vec.madd(vec.scale(b, m.rest[e, 2]), u, m.rest[e, 1])
    n_u, n_v = math.sqrt(vec.norm2(u)), math.sqrt(vec.norm2(v))
    return n_u, n_v, vec.scale(u, 1.0 / max(n_u, TINY)), vec.scale(v, 1.0 / max(n_v, TINY))


@kernel
def solve3(a, b, c, d, e, f, x, y, z):
    """Solve the symmetric system [[a, d, e], [d, b, f], [e, f, c]] by elimination; it is positive definite."""
    l_1, l_2 = d / a, e / a
    b -= l_1 * d
    l_3 = (f - l_1 * e) / b
    z = (z - l_2 * x - l_3 * (y - l_1 * x)) / (c - l_2 * e - l_3 * l_3 * b)
    y = (y - l_1 * x) / b - l_3 * z
    return (x - d * y - e * z) / a, y, z


@kernel
def relax_triangle(m, e, x, w, dt2):
    """Stretch along u, stretch along v and shear |u|-1, |v|-1, cos(u,v), relaxed together.

    With the columns' coefficients U and V at each corner, every product of two gradients is made of the three sums
    P = sum w U^2, Q = sum w U V, R = sum w V^2 and the angle between the columns: a 3x3 system of scalars.
    """
    i, j, k = m.faces[e, 0], m.faces[e, 1], m.faces[e, 2]
    w_i, w_j, w_k = w[i], w[j], w[k]
    r0, r2 = m.rest[e, 0], m.rest[e, 2]
    q = m.rest[e, 1] * r0
    t = q + r2
    n_u, n_v, u, v = frame(m, e, x)
    s = vec.dot(u, v)
    c = 1.0 - s * s
    # crushed to a tenth, a triangle's shear means little; this keeps its gradient from growing without bound
    i_u, i_v = 1.0 / max(n_u, 0.1), 1.0 / max(n_v, 0.1)
    sum_p = r0 * r0 * (w_i + w_j)
    sum_q = r0 * (w_j * q + w_i * t)
    sum_r = w_j * q * q + w_k * r2 * r2 + w_i * t * t
    soft, shear = m.compliance[e, 0] / dt2, m.compliance[e, 1] / dt2
    a33 = c * (sum_p * i_u * i_u - 2.0 * sum_q * s * i_u * i_v + sum_r * i_v * i_v)
    l_1, l_2, l_3 = solve3(
        sum_p + soft, sum_r + soft, a33 + shear, sum_q * s, sum_q * c * i_v, sum_q * c * i_u, 1.0 - n_u, 1.0 - n_v, -s
    )
    along_u = vec.add(vec.scale(u, l_1 - l_3 * s * i_u), vec.scale(v, l_3 * i_u))
    along_v = vec.add(vec.scale(v, l_2 - l_3 * s * i_v), vec.scale(u, l_3 * i_v))
    vec.store(x, i, vec.madd(vec.madd(vec.load(x, i), along_u, -w_i * r0), along_v, -w_i * t))
    vec.store(x, j, vec.madd(vec.madd(vec.load(x, j), along_u, w_j * r0), along_v, w_j * q))
    vec.store(x, k, vec.madd(vec.load(x, k), along_v, w_k * r2))


@kernel
def laplacian(h, e, x):
    """Across hinge `e`: zero where the two triangles are flat (Bergou et al. 2006)."""
    k, v = h.weights, h.vertices
    total = vec.scale(vec.load(x, v[e, 0]), k[e, 0])
    total = vec.madd(total, vec.load(x, v[e, 1]), k[e, 1])
    total = vec.madd(total, vec.load(x, v[e, 2]), k[e, 2])
    return vec.madd(total, vec.load(x, v[e, 3]), k[e, 3])


@kernel
def relax_hinge(h, e, x, w, x_start, dt):
    """Bring the length of the hinge's Laplacian to rest; for flat cloth that is the isometric bending energy."""
    i, j, k, o = h.vertices[e, 0], h.vertices[e, 1], h.vertices[e, 2], h.vertices[e, 3]
    a, b, c, d = h.weights[e, 0], h.weights[e, 1], h.weights[e, 2], h.weights[e, 3]
    w_a, w_b, w_c, w_d = w[i] * a, w[j] * b, w[k] * c, w[o] * d
    total = w_a * a + w_b * b + w_c * c + w_d * d
    if total == 0.0:
        return
    bend = laplacian(h, e, x)
    viscous = h.damping[e] / dt
    wanted = bend
    if h.rest[e] > 0.0:
        wanted = vec.scale(bend, 1.0 - h.rest[e] / max(vec.norm(bend), TINY))
    if viscous > 0.0:
        wanted = vec.madd(wanted, vec.sub(bend, laplacian(h, e, x_start)), viscous)
    r = vec.scale(wanted, -1.0 / ((1.0 + viscous) * total + h.compliance[e] / (dt * dt)))
    vec.store(x, i, vec.madd(vec.load(x, i), r, w_a))
    vec.store(x, j, vec.madd(vec.load(x, j), r, w_b))
    vec.store(x, k, vec.madd(vec.load(x, k), r, w_c))
    vec.store(x, o, vec.madd(vec.load(x, o), r, w_d))


@kernel
def relax_serial(m, h, x, w, x_start, dt):
    """One sweep over all triangles, then all hinges."""
    for e in range(len(m.faces)):
        relax_triangle(m, e, x, w, dt * dt)
    for e in range(len(h.vertices)):
        relax_hinge(h, e, x, w, x_start, dt)


@kernel(parallel=True)
def relax_parallel(m, h, x, w, x_start, dt):
    """The same sweep, each colour at once; bit for bit the serial result."""
    last = min(len(m.start) - 1, LAST)
    for c in range(last):
        for e in prange(m.start[c], m.start[c + 1]):
            relax_triangle(m, e, x, w, dt * dt)
    for e in range(m.start[last], len(m.faces)):
        relax_triangle(m, e, x, w, dt * dt)
    last = min(len(h.start) - 1, LAST)
    for c in range(last):
        for e in prange(h.start[c], h.start[c + 1]):
            relax_hinge(h, e, x, w, x_start, dt)
    for e in range(h.start[last], len(h.vertices)):
        relax_hinge(h, e, x, w, x_start, dt)


@kernel
def air_push(faces, x, v, wind, density, dt, w, start, beside):
    """Add to `v` what the air does to each face in `dt`: drag along its normal, by the wind relative to the face.

    Gathered per vertex (`start`, `beside`: its faces), so that the order of additions is fixed. A face is never
    pushed faster than the air itself moves past it.
    """
    force = np.zeros((len(faces), 3))
    for f in range(len(faces)):
        i, j, k = faces[f, 0], faces[f, 1], faces[f, 2]
        a = vec.load(x, i)
        n = vec.cross(vec.sub(vec.load(x, j), a), vec.sub(vec.load(x, k), a))
        area = 0.5 * vec.norm(n)
        n = vec.unit(n)
        mean = vec.scale(vec.add(vec.load(v, i), vec.add(vec.load(v, j), vec.load(v, k))), 1.0 / 3.0)
        across = vec.dot(vec.sub(wind, mean), n)
        # pressure 1/2 rho c v^2 with c = 2 for a plate across the flow
        vec.store(force, f, vec.scale(n, density * area * across * abs(across)))
    for i in range(len(start) - 1):
        if w[i] == 0.0:
            continue
        total = (0.0, 0.0, 0.0)
        for at in range(start[i], start[i + 1]):
            total = vec.add(total, vec.load(force, beside[at]))
        change = vec.scale(total, w[i] * dt / 3.0)
        most = vec.norm(vec.sub(wind, vec.load(v, i)))
        size = vec.norm(change)
        if size > most and size > 0.0:
            change = vec.scale(change, most / size)
        vec.store(v, i, vec.add(vec.load(v, i), change))


@kernel
def membrane_energy(m, x):
    """Elastic energy of the triangles, J."""
    total = 0.0
    for e in range(len(m.faces)):
        n_u, n_v, u, v = frame(m, e, x)
        total += 0.5 * ((n_u - 1.0) ** 2 + (n_v - 1.0) ** 2) / m.compliance[e, 0]
        total += 0.5 * vec.dot(u, v) ** 2 / m.compliance[e, 1]
    return total


@kernel
def hinge_energy(h, x):
    """Elastic energy of the hinges, J."""
    total = 0.0
    for e in range(len(h.vertices)):
        if h.compliance[e] > 0.0 and not math.isinf(h.compliance[e]):
            total += 0.5 * (vec.norm(laplacian(h, e, x)) - h.rest[e]) ** 2 / h.compliance[e]
    return total
