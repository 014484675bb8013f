"""Polar decomposition: the rotation R of F = R S, proper for every matrix, including flat and inverted ones.

Matrices are three columns. Near a rotation Newton's iteration is fastest (Higham 1986); elsewhere R is computed from
the singular vectors, with the least singular value negative if the determinant is.
"""

import math

from .. import vec
from ..jit import kernel

FLAT = 0.1  # Newton's iteration is slow or wrong for a determinant below this,
STRETCHED = 12.0  # or |F|^2 above this


@kernel
def jacobi_step(p, q, pq, pr, qr, u, v):
    """One Jacobi rotation: entries p, q, pq of a symmetric matrix, pr and qr of its other row; its columns u, v."""
    if abs(pq) <= 1e-13 * (abs(p) + abs(q)):
        return p, q, pq, pr, qr, u, v
    tau = (q - p) / (2.0 * pq)
    t = (1.0 if tau >= 0.0 else -1.0) / (abs(tau) + math.sqrt(1.0 + tau * tau))
    c = 1.0 / math.sqrt(1.0 + t * t)
    s = t * c
    rotated = vec.madd(vec.scale(u, c), v, -s), vec.madd(vec.scale(u, s), v, c)
    return p - t * pq, q + t * pq, 0.0, c * pr - s * qr, s * pr + c * qr, rotated[0], rotated[1]


@kernel
def right_singular_vectors(f_0, f_1, f_2):
    """Right singular vectors of a matrix of columns f, that of the largest singular value first; right-handed."""
    a, b, c = vec.norm2(f_0), vec.norm2(f_1), vec.norm2(f_2)
    d, e, f = vec.dot(f_0, f_1), vec.dot(f_0, f_2), vec.dot(f_1, f_2)
    u, v, w = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
    for _ in range(6):
        a, b, d, e, f, u, v = jacobi_step(a, b, d, e, f, u, v)
        a, c, e, d, f, u, w = jacobi_step(a, c, e, d, f, u, w)
        b, c, f, d, e, v, w = jacobi_step(b, c, f, d, e, v, w)
    # of equal singular values the third counts as least, so that equally inverted neighbours are restored alike
    near = 1.0 + 1e-9
    if c > near * min(a, b):
        if a <= near * b:
            a, u, c, w = c, w, a, u
        else:
            b, v, c, w = c, w, b, v
    if b > a:
        u, v = v, u
    return u, v, vec.cross(u, v)


@kernel
def apply3(f_0, f_1, f_2, a):
    """The matrix of columns f times a."""
    return vec.madd(vec.madd(vec.scale(f_0, a[0]), f_1, a[1]), f_2, a[2])


@kernel
def symmetric3(p, b):
    """The symmetric matrix of six numbers p times b."""
    return (
        p[0] * b[0] + p[3] * b[1] + p[4] * b[2],
        p[3] * b[0] + p[1] * b[1] + p[5] * b[2],
        p[4] * b[0] + p[5] * b[1] + p[2] * b[2],
    )


@kernel
def rotation_of_any(f_0, f_1, f_2):
    """Columns of the rotation nearest to any matrix: from singular vectors, the third perpendicular to the others."""
    u, v, w = right_singular_vectors(f_0, f_1, f_2)
    a = apply3(f_0, f_1, f_2, u)
    size = vec.norm(a)
    a = vec.unit(a) if size > 1e-12 else u
    b = apply3(f_0, f_1, f_2, v)
    b = vec.madd(b, a, -vec.dot(a, b))
    if vec.norm2(b) <= 1e-24 * max(size * size, 1e-12):
        # collapsed to a line or a point: any perpendicular direction is valid
        b, c = vec.madd(v, a, -vec.dot(a, v)), vec.madd(w, a, -vec.dot(a, w))
        b = b if vec.norm2(b) >= vec.norm2(c) else c
    b = vec.unit(b)
    c = vec.cross(a, b)
    return (
        vec.madd(vec.madd(vec.scale(a, u[0]), b, v[0]), c, w[0]),
        vec.madd(vec.madd(vec.scale(a, u[1]), b, v[1]), c, w[1]),
        vec.madd(vec.madd(vec.scale(a, u[2]), b, v[2]), c, w[2]),
    )


@kernel
def rotation(f_0, f_1, f_2):
    """Columns of the rotation R nearest to F, which makes R^T F symmetric with at most one negative stretch."""
    if vec.dot(f_0, vec.cross(f_1, f_2)) < FLAT or vec.norm2(f_0) + vec.norm2(f_1) + vec.norm2(f_2) > STRETCHED:
        return rotation_of_any(f_0, f_1, f_2)
    for _ in range(20):
        # Newton: the mean of R and its inverse transpose, whose columns are cross products over J
        a, b, c = vec.cross(f_1, f_2), vec.cross(f_2, f_0), vec.cross(f_0, f_1)
        s = 0.5 / vec.dot(f_0, a)
        a = vec.madd(vec.scale(f_0, 0.5), a, s)
        b = vec.madd(vec.scale(f_1, 0.5), b, s)
        c = vec.madd(vec.scale(f_2, 0.5), c, s)
        moved = vec.norm2(vec.sub(a, f_0)) + vec.norm2(vec.sub(b, f_1)) + vec.norm2(vec.sub(c, f_2))
        f_0, f_1, f_2 = a, b, c
        if moved < 1e-16:  # the error is the square of this
            break
    return f_0, f_1, f_2
