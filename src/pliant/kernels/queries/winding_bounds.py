"""Bounds of winding numbers within cubes: what the boundary of an open surface contributes anywhere in them.

The contribution, the solid angle of the strips of `winding`, is continuous except across the strips. Its gradient is
that of the magnetic potential of a closed current (Biot and Savart): of an edge at distance r, at most its length over
r squared.
"""

import math
from typing import NamedTuple

import numpy as np

from ..jit import kernel, prange
from .winding import CHUNK, over, strip_angle

FULL = 4.0 * math.pi  # solid angle of a winding number of 1
SLACK = 1.0 + 1e-9  # by which bounds are enlarged against rounding


class Cubes(NamedTuple):
    centre: np.ndarray  # (n,3)
    half: float  # metres from the centre to a side
    tolerance: (
        float  # winding number: error up to which a hole is a dipole, and an edge is taken as seen from the centre
    )


@kernel
def is_below(a, b, p, half):
    """Whether the strip of the edge a b, extruded against the last axis, may meet the cube around p."""
    if p[2] - half > max(a[2], b[2]) or min(a[0], b[0]) > p[0] + half or max(a[0], b[0]) < p[0] - half:
        return False
    if min(a[1], b[1]) > p[1] + half or max(a[1], b[1]) < p[1] - half:
        return False
    u, v = b[0] - a[0], b[1] - a[1]
    return abs(u * (p[1] - a[1]) - v * (p[0] - a[0])) <= SLACK * half * (abs(u) + abs(v))


@kernel
def edge_reach(a, b, p):
    """Length of the edge a b, and its distance from p."""
    u, v, w = b[0] - a[0], b[1] - a[1], b[2] - a[2]
    x, y, z = p[0] - a[0], p[1] - a[1], p[2] - a[2]
    squared = u * u + v * v + w * w
    s = min(max((u * x + v * y + w * z) / squared, 0.0), 1.0) if squared > 0.0 else 0.0
    x, y, z = x - s * u, y - s * v, z - s * w
    return math.sqrt(squared), math.sqrt(x * x + y * y + z * z)


@kernel
def far_hole(holes, k, axis, p, half):
    """Solid angle of component k as a dipole, and the bound of the error of that anywhere in the cube around p;
    infinite where a strip may meet the cube.

    The missing surface may be the fan from the centre: all of it is within the radius, and the dipole of an area varies
    by at most 2 / r**3 of it per metre.
    """
    centre, area, box = holes.centre, holes.area, holes.box
    u, v = (axis + 1) % 3, (axis + 2) % 3
    aside = (p[u] + half < box[k, u]) | (p[u] - half > box[k, u + 3]) | (p[v] + half < box[k, v])
    if not (aside | (p[v] - half > box[k, v + 3]) | (p[axis] - half > box[k, axis + 3])):
        return 0.0, np.inf
    r = (centre[k, 0] - p[0], centre[k, 1] - p[1], centre[k, 2] - p[2])
    d = math.sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2])
    across = holes.radius[k] + math.sqrt(3.0) * half
    room = d - across
    if room <= 0.0:
        return 0.0, np.inf
    angle = (area[k, 0] * r[0] + area[k, 1] * r[1] + area[k, 2] * r[2]) / d / d / d
    return angle, 2.0 * holes.fan[k] * across / room / room / room


@kernel
def smooth_half_angle(a, b, p):
    """Tangent of half the solid angle of the strip of the edge a b, seen from p, and whether that half is less than a
    right angle. `strip_angle` without exact predicates: the sign is certain where the strip is not near."""
    a, b = (a[0] - p[0], a[1] - p[1], a[2] - p[2]), (b[0] - p[0], b[1] - p[1], b[2] - p[2])
    rest = over(a) * over(b) + a[0] * b[0] + a[1] * b[1]
    det = a[1] * b[0] - a[0] * b[1]
    return (det / rest if rest > 0.0 else 0.0), rest > 0.0


@kernel
def edge_change(a, b, p, reach):
    """Bound of the change of the solid angle of the strip of the edge a b within `reach` metres from p; infinite where
    the edge may be there."""
    length, away = edge_reach(a, b, p)
    room = away - reach
    return reach * length / room / room if room > 0.0 else np.inf


@kernel
def edge_at(x, holes, e, axis):
    """Ends of edge e, the axis last."""
    u, v, i, j = (axis + 1) % 3, (axis + 2) % 3, holes.ends[e, 0], holes.ends[e, 1]
    return (x[i, u], x[i, v], x[i, axis]), (x[j, u], x[j, v], x[j, axis])


@kernel
def near_hole(x, holes, k, axis, p, half):
    """Solid angle of the strips of component k, and the bound of its change within the cube around p: infinite where an
    edge or a strip may be there.

    Half angles are multiplied as complex numbers 1 + i t as long as their sum is certain to be less than pi.
    """
    reach, total, change = math.sqrt(3.0) * half, 0.0, 0.0
    q = p[(axis + 1) % 3], p[(axis + 2) % 3], p[axis]
    re, im, turn = 1.0, 0.0, 0.0
    for e in range(holes.start[k], holes.start[k + 1]):
        a, b = edge_at(x, holes, e, axis)
        flow = holes.flow[e]
        change += abs(flow) * edge_change(a, b, q, reach)
        if change == np.inf or is_below(a, b, q, half):
            return 0.0, np.inf
        t, acute = smooth_half_angle(a, b, q)
        if not acute or abs(flow) != 1.0:
            total += flow * strip_angle(a, b, q)
            continue
        t *= flow
        if turn + abs(t) > 3.0:
            total += 2.0 * math.atan2(im, re)
            re, im, turn = 1.0, 0.0, 0.0
        re, im, turn = re - im * t, im + re * t, turn + abs(t)
    return total + 2.0 * math.atan2(im, re), change


@kernel(parallel=True)
def bound_holes(x, holes, axis, cubes, share, change):
    """Fill share (n,) with the contributions of the boundary at the centres of cubes, and change (n,) with the bounds
    of their change within them: infinite where an edge or a strip may be in the cube."""
    centre = cubes.centre
    for c in prange(-(-len(centre) // CHUNK)):
        for i in range(c * CHUNK, min(len(centre), (c + 1) * CHUNK)):
            p, total, bound = (centre[i, 0], centre[i, 1], centre[i, 2]), 0.0, 0.0
            for k in range(len(holes.far)):
                angle, more = far_hole(holes, k, axis, p, cubes.half)
                if more > FULL * cubes.tolerance:
                    angle, more = near_hole(x, holes, k, axis, p, cubes.half)
                total, bound = total + angle, bound + more
                if bound == np.inf:
                    break
            share[i], change[i] = total / FULL, SLACK * bound / FULL


@kernel(parallel=True)
def add_exactly(x, holes, axis, points, share):
    """Fill share (n,) with the contributions of the boundary at points (n,3): the sum over all edges."""
    for c in prange(-(-len(points) // CHUNK)):
        for i in range(c * CHUNK, min(len(points), (c + 1) * CHUNK)):
            q, total = (points[i, (axis + 1) % 3], points[i, (axis + 2) % 3], points[i, axis]), 0.0
            for e in range(len(holes.ends)):
                a, b = edge_at(x, holes, e, axis)
                total += holes.flow[e] * strip_angle(a, b, q)
            share[i] = total / FULL
