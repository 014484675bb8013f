"""Tubes around polylines, without twist."""

import math

from .. import vec
from ..jit import kernel


@kernel
def any_normal(t):
    """A vector across t: the axis that is most perpendicular to it, projected."""
    a, b, c = abs(t[0]), abs(t[1]), abs(t[2])
    axis = (1.0, 0.0, 0.0) if a <= b and a <= c else (0.0, 1.0, 0.0) if b <= c else (0.0, 0.0, 1.0)
    return vec.madd(axis, t, -vec.dot(axis, t))


@kernel
def place_tubes(start, x, radius, sides, out):
    """Fill out (sides v,3) with rings of points around each of the points x (v,3), in order along strands; those of
    strand k are start[k] to start[k+1] - 1. The first point of each ring follows its predecessor without twist."""
    for k in range(len(start) - 1):
        first, last = start[k], start[k + 1] - 1
        across = (0.0, 0.0, 0.0)
        for i in range(first, last + 1):
            t = vec.sub(vec.load(x, min(i + 1, last)), vec.load(x, max(i - 1, first)))
            size = vec.norm(t)
            t = vec.scale(t, 1.0 / size) if size > 0.0 else (0.0, 1.0, 0.0)
            n = vec.madd(across, t, -vec.dot(across, t))
            if vec.norm(n) < 1e-6:
                n = any_normal(t)
            across = vec.scale(n, 1.0 / vec.norm(n))
            side = vec.cross(t, across)
            for j in range(sides):
                angle = 2.0 * math.pi * j / sides
                p = vec.madd(vec.load(x, i), across, radius * math.cos(angle))
                vec.store(out, sides * i + j, vec.madd(p, side, radius * math.sin(angle)))
