"""Eigenvectors of a symmetric 3x3 matrix, by Jacobi rotations."""

import math

from .. import vec
from ..jit import kernel


@kernel
def rotate_axes(c, s, u, v):
    """Rotate the axes u, v, and return them."""
    return vec.sub(vec.scale(u, c), vec.scale(v, s)), vec.add(vec.scale(u, s), vec.scale(v, c))


@kernel
def jacobi_rotation(app, aqq, apq):
    """Cosine and sine of the Jacobi rotation that eliminates the element apq of a symmetric matrix."""
    if abs(apq) <= 1e-30 * (abs(app) + abs(aqq)):
        return 1.0, 0.0
    theta = (aqq - app) / (2.0 * apq)
    t = (1.0 if theta >= 0.0 else -1.0) / (abs(theta) + math.sqrt(theta * theta + 1.0))
    c = 1.0 / math.sqrt(t * t + 1.0)
    return c, t * c


@kernel
def rotate(xx, yy, xy, xz, yz, c, s):
    """The symmetric matrix after a rotation in its first two axes; the third diagonal element stays."""
    return (
        c * c * xx - 2.0 * s * c * xy + s * s * yy,
        s * s * xx + 2.0 * s * c * xy + c * c * yy,
        c * xz - s * yz,
        s * xz + c * yz,
    )


@kernel
def principal_axes(xx, yy, zz, xy, xz, yz):
    """Unit eigenvectors of a symmetric matrix, that of the largest eigenvalue first, right-handed.

    Jacobi rotations: a zero matrix gives the coordinate axes, repeated eigenvalues some axes of their eigenspace.
    """
    u, v, w = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
    for _ in range(6):
        c, s = jacobi_rotation(xx, yy, xy)
        xx, yy, xz, yz = rotate(xx, yy, xy, xz, yz, c, s)
        xy = 0.0
        u, v = rotate_axes(c, s, u, v)
        c, s = jacobi_rotation(xx, zz, xz)
        xx, zz, xy, yz = rotate(xx, zz, xz, xy, yz, c, s)
        xz = 0.0
        u, w = rotate_axes(c, s, u, w)
        c, s = jacobi_rotation(yy, zz, yz)
        yy, zz, xy, xz = rotate(yy, zz, yz, xy, xz, c, s)
        yz = 0.0
        v, w = rotate_axes(c, s, v, w)
    if yy > xx and yy >= zz:
        u, v, yy = v, u, xx
    elif zz > xx and zz > yy:
        u, w, zz = w, u, xx
    if zz > yy:
        v, w = w, v
    if vec.dot(vec.cross(u, v), w) < 0.0:
        w = vec.scale(w, -1.0)
    return u, v, w
