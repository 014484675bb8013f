"""Winding number of a surface with a boundary: what a ray counts, and what the boundary adds.

Drawn out to infinity against the rays, the boundary closes the surface. Rays never cross these strips, so what they
count is the winding number of the closed surface, a whole number. The solid angles of the strips, each that of a
spherical triangle between the ends of an edge and a direction, are taken off it again: the rest is the generalised
winding number (Jacobson, Kavan and Sorkine-Hornung 2013), without a sum over all faces.
"""

import math

from .jit import kernel, prange
from .rays import turn

CHUNK = 64  # points a thread takes at a time


@kernel
def strip_angle(a, b, p):
    """Solid angle, seen from p, of the edge a b drawn out against the last axis; its sign is that of `rays.turn`, so
    that it jumps exactly where a ray begins to count another face."""
    s = turn(a, b, p)
    if s == 0:
        return 0.0
    a, b = (a[0] - p[0], a[1] - p[1], a[2] - p[2]), (b[0] - p[0], b[1] - p[1], b[2] - p[2])
    # what lies straight ahead is a hair aside, since p is thought of as moved along the first axis
    if a[0] == 0.0 and a[1] == 0.0 and a[2] > 0.0:
        det, rest = abs(b[1]), -b[0]
    elif b[0] == 0.0 and b[1] == 0.0 and b[2] > 0.0:
        det, rest = abs(a[1]), -a[0]
    else:
        det, rest = abs(a[0] * b[1] - a[1] * b[0]), over(a) * over(b) + a[0] * b[0] + a[1] * b[1]
    angle = 2.0 * math.atan2(det, rest)
    return -angle if s > 0 else angle


@kernel
def over(a):
    """|a| - a[2], without cancellation."""
    across = a[0] * a[0] + a[1] * a[1]
    length = math.sqrt(across + a[2] * a[2])
    return across / (length + a[2]) if a[2] > 0.0 else length - a[2]


@kernel
def strips_range(x, ends, flow, axis, points, first, last, winding):
    u, v = (axis + 1) % 3, (axis + 2) % 3
    for i in range(first, last):
        p, total = (points[i, u], points[i, v], points[i, axis]), 0.0
        for e in range(len(ends)):
            a, b = ends[e, 0], ends[e, 1]
            angle = strip_angle((x[a, u], x[a, v], x[a, axis]), (x[b, u], x[b, v], x[b, axis]), p)
            total += flow[e] * angle
        winding[i] += total / (4.0 * math.pi)


@kernel(parallel=True)
def add_strips(x, ends, flow, axis, points, winding):
    """Add to winding (n,) what the boundary edges `ends` (k,2), each `flow` (k,) times, add at points (n,3)."""
    for c in prange(-(-len(points) // CHUNK)):
        strips_range(x, ends, flow, axis, points, c * CHUNK, min(len(points), (c + 1) * CHUNK), winding)
