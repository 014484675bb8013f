"""Sample a dense grid of signed distances, and create contacts from the samples (Fuhrmann et al. 2003, section 4.2)."""

import math
from typing import NamedTuple

import numpy as np

from .. import vec
from ..jit import kernel, prange
from ..kinds import FIRST, SECOND
from .grid import corners8, trilinear

VANISHED = 1e-3  # a shorter gradient has no reliable direction
CHUNK = 4096  # points per task of a thread


class Dense(NamedTuple):
    values: np.ndarray  # (nx,ny,nz) f4 signed distance at the nodes, nan beyond the band
    jump: np.ndarray  # (nx-1,ny-1,nz-1) u1, 1 where the sign jumps without a surface; empty if it never does
    origin: np.ndarray  # (3,) metres
    h: float  # spacing, metres


class Probes(NamedTuple):
    """Samples of a field at n points."""

    points: np.ndarray  # (n,3) metres
    distance: np.ndarray  # (n,) metres
    gradient: np.ndarray  # (n,3)


@kernel
def sample_range(field, points, first, last, distance, gradient):
    """Sample signed distance and gradient at points first..last-1; nan beyond the band and where the sign jumps."""
    values, jump = field.values, field.jump
    ni, nj, nk = values.shape
    o_x, o_y, o_z = field.origin
    per = 1.0 / field.h
    for at in range(first, last):
        x, y, z = (points[at, 0] - o_x) * per, (points[at, 1] - o_y) * per, (points[at, 2] - o_z) * per
        d, g = np.nan, (np.nan, np.nan, np.nan)
        # compared as floats, because the cell index of a distant point may overflow an integer
        if 0.0 <= x < ni - 1 and 0.0 <= y < nj - 1 and 0.0 <= z < nk - 1:
            i, j, k = int(x), int(y), int(z)
            if jump.size == 0 or not jump[i, j, k]:
                d, g = trilinear(corners8(values, i, j, k), x - i, y - j, z - k)
        distance[at] = d
        vec.store(gradient, at, vec.scale(g, per))


@kernel(parallel=True)
def sample_points(field, points, distance, gradient):
    for c in prange(-(-len(points) // CHUNK)):
        sample_range(field, points, c * CHUNK, min(len(points), (c + 1) * CHUNK), distance, gradient)


@kernel
def collect(distance, within, rows):
    """Collect the indices of distances of at most `within`, leaving out nan (no value); return their number."""
    count = 0
    for i in range(len(distance)):
        if distance[i] <= within:
            rows[count] = i
            count += 1
    return count


@kernel
def fill_contacts(out, rows, probes, elements, ends, first, kind, bodies):
    """Write contact c for entry rows[c], with all its fields: its element, the vertices in `ends` of that element with
    equal weights, normal and anchor, and the two `bodies`. Return the number of vanishing gradients, whose normals are
    zero.
    """
    points, distance, gradient = probes.points, probes.distance, probes.gradient
    vanished, weight = 0, 1.0 / ends.shape[1]
    for c in range(len(out)):
        i = rows[c]
        e = elements[i] if len(elements) > 0 else i
        g = vec.load(gradient, i)
        length = math.sqrt(vec.norm2(g))
        n = (0.0, 0.0, 0.0)
        if length < VANISHED:
            vanished += 1
        else:
            n = vec.scale(g, 1.0 / length)
        record = out[c]
        record["kind"] = kind
        for k in range(7):
            record["spare"][k] = 0
        record["elements"][FIRST], record["elements"][SECOND] = e, -1
        record["bodies"][FIRST], record["bodies"][SECOND] = bodies[FIRST], bodies[SECOND]
        for k in range(4):
            used = k < ends.shape[1]
            record["vertices"][k] = ends[e, k] + first if used else -1
            record["weights"][k] = weight if used else 0.0
        record["distance"], record["time"] = distance[i], 0.0
        for k in range(3):
            record["normal"][k] = n[k]
            record["anchor"][k] = points[i, k] - distance[i] * n[k]
            record["anchor_velocity"][k] = 0.0
    return vanished
