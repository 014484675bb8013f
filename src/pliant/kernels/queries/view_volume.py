"""Clipping of points and triangles by the planes of a viewing volume (Lombardo, Cani and Neyret 1999)."""

import numpy as np

from .. import vec
from ..jit import kernel


@kernel
def height(planes, k, p):
    """Height of a point over plane k, positive outside."""
    return planes[k, 0] * p[0] + planes[k, 1] * p[1] + planes[k, 2] * p[2] - planes[k, 3]


@kernel
def mark_inside(planes, points, out):
    """Mark the points (n,3) that no plane (p,4) clips away; a row is the outward normal and its distance."""
    for i in range(len(points)):
        p = vec.load(points, i)
        out[i] = True
        for k in range(len(planes)):
            if height(planes, k, p) >= 0.0:
                out[i] = False
                break


@kernel
def clip(planes, k, polygon, count, out):
    """Clip a polygon of `count` corners by plane k into `out`; return the number of corners left."""
    left = 0
    for i in range(count):
        p, q = vec.load(polygon, i), vec.load(polygon, (i + 1) % count)
        a, b = height(planes, k, p), height(planes, k, q)
        if a < 0.0:
            vec.store(out, left, p)
            left += 1
        if (a < 0.0) != (b < 0.0):
            vec.store(out, left, vec.madd(p, vec.sub(q, p), a / (a - b)))
            left += 1
    return left


@kernel
def mark_visible(planes, x, faces, out):
    """Mark the faces (m,3) of which the planes leave a part: those that rendering the volume would show."""
    one, two = np.empty((len(planes) + 4, 3)), np.empty((len(planes) + 4, 3))
    for f in range(len(faces)):
        for c in range(3):
            vec.store(one, c, vec.load(x, faces[f, c]))
        count = 3
        for k in range(len(planes)):
            count = clip(planes, k, one, count, two)
            one, two = two, one
            if count == 0:
                break
        out[f] = count > 0
