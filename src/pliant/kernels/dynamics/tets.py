"""Soft bodies of tetrahedra, as compliant constraints projected one by one (XPBD: Macklin, Mueller, Chentanez 2016).

The energy is fixed corotated (Stomakhin, Howes, Schroeder, Teran 2012): mu |S - 1|^2 + lambda/2 (J - 1)^2 per volume,
with F = R S the deformation gradient of a tetrahedron and J its determinant. All strains of a tetrahedron are solved
together; in the frame R, the matrix of that system is constant. R is a rotation even if a tetrahedron is flat or
inverted: then the least stretch is negative, and is restored to 1 like any other.
"""

from typing import NamedTuple

import numpy as np

from .. import vec
from ..geometry.polar import apply3, rotation, symmetric3
from ..jit import kernel, prange
from .cloth import LAST, PARTS, part


class Tets(NamedTuple):
    """Tetrahedra, ordered by colour. Symmetric 3x3 matrices are six numbers: 00, 11, 22, 01, 02, 12."""

    tets: np.ndarray  # (k,4)
    rest: np.ndarray  # (k,9) rest gradients of the weights of corners 1, 2, 3, 1/m; that of corner 0 is minus their sum
    energy: np.ndarray  # (k,2) mu and lambda/2 times the volume, J
    viscous: np.ndarray  # (k,2) twice the viscosity times the volume, J s; sum of w |gradient|^2, 1/(kg m2)
    start: np.ndarray  # (colours+1,)


class SystemInverses(NamedTuple):
    """Inverse systems and compliances of the tetrahedra, precomputed for one dt."""

    inverse: np.ndarray  # (k,21) of the 6x6 system of all strains: its upper triangle, row by row
    compliance: np.ndarray  # (k,3) compliances over dt^2, of stretch, of shear and of volume, 1/(J s2)


@kernel
def stretches(r_0, r_1, r_2, f_0, f_1, f_2):
    """The symmetric matrix R^T F, six numbers."""
    return (
        vec.dot(r_0, f_0),
        vec.dot(r_1, f_1),
        vec.dot(r_2, f_2),
        0.5 * (vec.dot(r_0, f_1) + vec.dot(r_1, f_0)),
        0.5 * (vec.dot(r_0, f_2) + vec.dot(r_2, f_0)),
        0.5 * (vec.dot(r_1, f_2) + vec.dot(r_2, f_1)),
    )


@kernel
def cofactors(s):
    """Cofactors of a symmetric matrix: the derivative of its determinant with respect to each entry."""
    return (
        s[1] * s[2] - s[5] * s[5],
        s[0] * s[2] - s[4] * s[4],
        s[0] * s[1] - s[3] * s[3],
        s[4] * s[5] - s[3] * s[2],
        s[3] * s[5] - s[4] * s[1],
        s[3] * s[4] - s[5] * s[0],
    )


@kernel
def times6(h, c):
    """A symmetric 6x6 matrix, upper triangle row by row, times six numbers."""
    return (
        h[0] * c[0] + h[1] * c[1] + h[2] * c[2] + h[3] * c[3] + h[4] * c[4] + h[5] * c[5],
        h[1] * c[0] + h[6] * c[1] + h[7] * c[2] + h[8] * c[3] + h[9] * c[4] + h[10] * c[5],
        h[2] * c[0] + h[7] * c[1] + h[11] * c[2] + h[12] * c[3] + h[13] * c[4] + h[14] * c[5],
        h[3] * c[0] + h[8] * c[1] + h[12] * c[2] + h[15] * c[3] + h[16] * c[4] + h[17] * c[5],
        h[4] * c[0] + h[9] * c[1] + h[13] * c[2] + h[16] * c[3] + h[18] * c[4] + h[19] * c[5],
        h[5] * c[0] + h[10] * c[1] + h[14] * c[2] + h[17] * c[3] + h[19] * c[4] + h[20] * c[5],
    )


@kernel
def dot6(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3] + a[4] * b[4] + a[5] * b[5]


@kernel
def strain_push(s, h, soft):
    """Six impulses, one per strain, that solve all strains of a tetrahedron of stretches s and its volume together.

    With G the gradients of the strains, A = G W G^T in the rotated frame and c the cofactors, J has the gradient c G.
    Of (A + a) l + A c m = -strain and c A l + (c A c + b) m = 1 - J only h = 1 / (A + a) is needed (A h = 1 - a h). The
    six impulses are l + c m.
    """
    strain = (s[0] - 1.0, s[1] - 1.0, s[2] - 1.0, 2.0 * s[3], 2.0 * s[4], 2.0 * s[5])
    c = cofactors(s)
    det = s[0] * c[0] + s[3] * c[3] + s[4] * c[4]
    u = (soft[0] * c[0], soft[0] * c[1], soft[0] * c[2], soft[1] * c[3], soft[1] * c[4], soft[1] * c[5])
    y, v = times6(h, strain), times6(h, u)
    m = (1.0 - det + dot6(c, strain) - dot6(u, y)) / (dot6(c, u) - dot6(u, v) + soft[2])
    return (m * v[0] - y[0], m * v[1] - y[1], m * v[2] - y[2], m * v[3] - y[3], m * v[4] - y[4], m * v[5] - y[5])


@kernel
def columns(p, q, r, b_1, b_2, b_3):
    """Columns of the matrix that maps the gradients b to p, q, r: edges to a deformation, velocities to its rate."""
    return (
        vec.madd(vec.madd(vec.scale(p, b_1[0]), q, b_2[0]), r, b_3[0]),
        vec.madd(vec.madd(vec.scale(p, b_1[1]), q, b_2[1]), r, b_3[1]),
        vec.madd(vec.madd(vec.scale(p, b_1[2]), q, b_2[2]), r, b_3[2]),
    )


@kernel
def relax_tets(t, inverses, first, last, x, w):
    """Project tetrahedra first..last-1."""
    h, soft = inverses.inverse, inverses.compliance
    for e in range(first, last):
        i, j, k, o = t.tets[e, 0], t.tets[e, 1], t.tets[e, 2], t.tets[e, 3]
        b_1 = (t.rest[e, 0], t.rest[e, 1], t.rest[e, 2])
        b_2 = (t.rest[e, 3], t.rest[e, 4], t.rest[e, 5])
        b_3 = (t.rest[e, 6], t.rest[e, 7], t.rest[e, 8])
        a, b, c, d = vec.load(x, i), vec.load(x, j), vec.load(x, k), vec.load(x, o)
        f_0, f_1, f_2 = columns(vec.sub(b, a), vec.sub(c, a), vec.sub(d, a), b_1, b_2, b_3)
        r_0, r_1, r_2 = rotation(f_0, f_1, f_2)
        inverse = (
            h[e, 0], h[e, 1], h[e, 2], h[e, 3], h[e, 4], h[e, 5], h[e, 6], h[e, 7], h[e, 8], h[e, 9], h[e, 10],
            h[e, 11], h[e, 12], h[e, 13], h[e, 14], h[e, 15], h[e, 16], h[e, 17], h[e, 18], h[e, 19], h[e, 20],
        )  # fmt: skip
        s = stretches(r_0, r_1, r_2, f_0, f_1, f_2)
        p = strain_push(s, inverse, (soft[e, 0], soft[e, 1], soft[e, 2]))
        to_b = apply3(r_0, r_1, r_2, symmetric3(p, b_1))
        to_c = apply3(r_0, r_1, r_2, symmetric3(p, b_2))
        to_d = apply3(r_0, r_1, r_2, symmetric3(p, b_3))
        vec.store(x, i, vec.madd(a, vec.add(to_b, vec.add(to_c, to_d)), -w[i]))
        vec.store(x, j, vec.madd(b, to_b, w[j]))
        vec.store(x, k, vec.madd(c, to_c, w[k]))
        vec.store(x, o, vec.madd(d, to_d, w[o]))


@kernel
def damp_tets(t, first, last, x, v, w, dt):
    """Damp the deformation rate of tetrahedra first..last-1, in proportion to the rate E of their Green strain.

    A rigid motion of any size has no such rate; forces F E b exert no torque, because F E F^T is symmetric. The factor
    is limited so that no rate is reversed and energy only decreases.
    """
    for e in range(first, last):
        if t.viscous[e, 0] == 0.0:
            continue
        i, j, k, o = t.tets[e, 0], t.tets[e, 1], t.tets[e, 2], t.tets[e, 3]
        b_1 = (t.rest[e, 0], t.rest[e, 1], t.rest[e, 2])
        b_2 = (t.rest[e, 3], t.rest[e, 4], t.rest[e, 5])
        b_3 = (t.rest[e, 6], t.rest[e, 7], t.rest[e, 8])
        a, u = vec.load(x, i), vec.load(v, i)
        p, q, r = vec.sub(vec.load(x, j), a), vec.sub(vec.load(x, k), a), vec.sub(vec.load(x, o), a)
        f_0, f_1, f_2 = columns(p, q, r, b_1, b_2, b_3)
        p, q, r = vec.sub(vec.load(v, j), u), vec.sub(vec.load(v, k), u), vec.sub(vec.load(v, o), u)
        g_0, g_1, g_2 = columns(p, q, r, b_1, b_2, b_3)
        rate = stretches(f_0, f_1, f_2, g_0, g_1, g_2)
        size = (vec.norm2(f_0) + vec.norm2(f_1) + vec.norm2(f_2)) * t.viscous[e, 1]
        share = -min(t.viscous[e, 0] * dt, 1.0 / max(size, 1e-300))
        to_b = vec.scale(apply3(f_0, f_1, f_2, symmetric3(rate, b_1)), share)
        to_c = vec.scale(apply3(f_0, f_1, f_2, symmetric3(rate, b_2)), share)
        to_d = vec.scale(apply3(f_0, f_1, f_2, symmetric3(rate, b_3)), share)
        vec.store(v, i, vec.madd(u, vec.add(to_b, vec.add(to_c, to_d)), -w[i]))
        vec.store(v, j, vec.madd(vec.load(v, j), to_b, w[j]))
        vec.store(v, k, vec.madd(vec.load(v, k), to_c, w[k]))
        vec.store(v, o, vec.madd(vec.load(v, o), to_d, w[o]))


@kernel
def relax_serial(t, inverses, x, w):
    relax_tets(t, inverses, 0, len(t.tets), x, w)


@kernel(parallel=True)
def relax_parallel(t, inverses, x, w):
    """As `relax_serial`, with each colour in parallel; bitwise identical."""
    colours = min(len(t.start) - 1, LAST)
    for c in range(colours):
        for p in prange(PARTS):
            a, b = part(t.start[c], t.start[c + 1], p, PARTS)
            relax_tets(t, inverses, a, b, x, w)
    relax_tets(t, inverses, t.start[colours], len(t.tets), x, w)


@kernel
def tets_energy(t, x):
    """Elastic energy, J."""
    total = 0.0
    for e in range(len(t.tets)):
        b_1 = (t.rest[e, 0], t.rest[e, 1], t.rest[e, 2])
        b_2 = (t.rest[e, 3], t.rest[e, 4], t.rest[e, 5])
        b_3 = (t.rest[e, 6], t.rest[e, 7], t.rest[e, 8])
        a = vec.load(x, t.tets[e, 0])
        p, q = vec.sub(vec.load(x, t.tets[e, 1]), a), vec.sub(vec.load(x, t.tets[e, 2]), a)
        f_0, f_1, f_2 = columns(p, q, vec.sub(vec.load(x, t.tets[e, 3]), a), b_1, b_2, b_3)
        r_0, r_1, r_2 = rotation(f_0, f_1, f_2)
        s = stretches(r_0, r_1, r_2, f_0, f_1, f_2)
        shape = (s[0] - 1.0) ** 2 + (s[1] - 1.0) ** 2 + (s[2] - 1.0) ** 2
        shape += 2.0 * (s[3] * s[3] + s[4] * s[4] + s[5] * s[5])
        det = vec.dot(f_0, vec.cross(f_1, f_2))
        total += t.energy[e, 0] * shape + t.energy[e, 1] * (det - 1.0) ** 2
    return total
