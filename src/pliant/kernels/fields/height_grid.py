"""Height fields along an axis: one lookup gives the height of a point above the surface (Neal 2003)."""

import math
from typing import NamedTuple

import numpy as np

from .. import vec
from ..jit import kernel, prange

NO_RESULT, DONE = -1, -2  # in `Answers.which`: no grid has given a result; no further grid needs to be queried
CHUNK = 4096  # points per task of a thread


class Columns(NamedTuple):
    heights: np.ndarray  # (ni,nj) f8 metres along the direction, from the origin; nan: empty column
    velocity: np.ndarray  # (ni,nj,3) f8 m/s of the surface, in world axes; (0,0,3) if static
    roof: np.ndarray  # (ni-1,nj-1) f8 the highest node within `reach` of each cell, or -inf; (0,0): unlimited reach
    frame: np.ndarray  # (5,) f8: origin along u, v and the direction, metres; cells per metre along u, v
    reach: float  # metres; queries ignore surfaces farther away than this
    axis: int  # 0..2, of the direction; u and v are the next two axes in cyclic order
    sign: float  # +1 or -1: the direction along that axis
    whole: bool  # it covers a whole body: an empty column means no surface


class Answers(NamedTuple):
    """Results of a query of several grids, a row for each point."""

    distance: np.ndarray  # (n,) f8 metres, the largest of all grids; nan without a result
    normal: np.ndarray  # (n,3) f8
    which: np.ndarray  # (n,) i1 the grid of the result, or NO_RESULT, DONE
    blind: np.ndarray  # (n,) u1 whether a grid that covers the whole body found no surface there


@kernel
def bilinear(a, b, c, d, x, y):
    """Interpolate a (0,0), b (0,1), c (1,0), d (1,1): value and slopes along x and y per cell; nan if a corner is."""
    left, right = a + (b - a) * y, c + (d - c) * y
    return left + (right - left) * x, right - left, (b - a) + ((d - c) - (b - a)) * x


@kernel
def outside(x, count, reach):
    """Return whether x, in cells, is more than `reach` cells outside the nodes 0..count-1."""
    return not (-reach <= x <= count - 1 + reach)


@kernel
def probe_range(grid, number, points, first, last, answers):
    """Query a grid at points first..last-1; the larger distance is kept, of equals the earlier. Grid 0 comes first.

    The distance is the gap along the direction times the cosine of the slope. Points above all columns within reach are
    out of reach whatever the cosine is: on a cliff it makes the distance of a point above the cliff too small. Cells
    are half-open.
    """
    heights, roof, frame, sign, w = grid.heights, grid.roof, grid.frame, grid.sign, grid.axis
    distance, normal, which, blind = answers.distance, answers.normal, answers.which, answers.blind
    u, v = (w + 1) % 3, (w + 2) % 3
    ni, nj = heights.shape
    o_u, o_v, o_w, per_u, per_v = frame[0], frame[1], frame[2], frame[3], frame[4]
    whole, reach, roofed = grid.whole, grid.reach, roof.size > 0
    for at in range(first, last):
        if number == 0:
            distance[at], which[at], blind[at] = np.nan, NO_RESULT, 0
        elif which[at] == DONE:
            continue
        x, y = (points[at, u] - o_u) * per_u, (points[at, v] - o_v) * per_v
        # compared as floats, because the cell index of a distant point may overflow an integer
        if not (0.0 <= x < ni - 1 and 0.0 <= y < nj - 1):
            blind[at] |= whole
            if whole and (outside(x, ni, reach * per_u) or outside(y, nj, reach * per_v)):
                which[at], distance[at] = DONE, np.nan
            continue
        i, j = int(x), int(y)
        a, b, c, d = heights[i, j], heights[i, j + 1], heights[i + 1, j], heights[i + 1, j + 1]
        h, along_u, along_v = bilinear(a, b, c, d, x - i, y - j)
        above = sign * points[at, w] - o_w
        along_u, along_v = along_u * per_u, along_v * per_v
        cosine = 1.0 / math.sqrt(1.0 + along_u * along_u + along_v * along_v)
        far = (above - h) * cosine
        if roofed and (whole or far <= reach) and above > roof[i, j] + reach:
            which[at], distance[at] = DONE, np.nan
        elif math.isnan(h) or far > reach:
            # beside a cliff one column is not conclusive: another grid may have found a near surface
            blind[at] |= whole
        elif which[at] == NO_RESULT or far > distance[at]:
            distance[at], which[at] = far, number
            normal[at, u], normal[at, v], normal[at, w] = -along_u * cosine, -along_v * cosine, sign * cosine


@kernel(parallel=True)
def probe_points(grid, number, points, answers):
    for c in prange(-(-len(points) // CHUNK)):
        probe_range(grid, number, points, c * CHUNK, min(len(points), (c + 1) * CHUNK), answers)


@kernel
def edge_midpoints(edges, x, out):
    """Edge midpoints (m,3)."""
    for e in range(len(edges)):
        vec.store(out, e, vec.mix(vec.load(x, edges[e, 0]), vec.load(x, edges[e, 1]), 0.5))


@kernel
def set_anchor_velocity(grid, number, which, rows, points, contacts):
    """Set the velocity of the surface on the contacts that come from grid `number` (entry rows[c] of `points`)."""
    velocity, frame, u, v = grid.velocity, grid.frame, (grid.axis + 1) % 3, (grid.axis + 2) % 3
    for c in range(len(contacts)):
        at = rows[c]
        if which[at] != number:
            continue
        x, y = (points[at, u] - frame[0]) * frame[3], (points[at, v] - frame[1]) * frame[4]
        i, j = int(x), int(y)
        for k in range(3):
            b, e = velocity[i, j + 1, k], velocity[i + 1, j + 1, k]
            value, _, _ = bilinear(velocity[i, j, k], b, velocity[i + 1, j, k], e, x - i, y - j)
            contacts[c]["anchor_velocity"][k] = value


@kernel
def surface_velocity(face, bary, faces, v, out):
    """Fill out (ni,nj,3) with the velocity of the surface point below each node; 0 if there is none."""
    for i in range(face.shape[0]):
        for j in range(face.shape[1]):
            f = face[i, j]
            for k in range(3):
                out[i, j, k] = 0.0
                if f >= 0:
                    s, t = bary[i, j, 0], bary[i, j, 1]
                    out[i, j, k] = s * v[faces[f, 0], k] + t * v[faces[f, 1], k] + (1.0 - s - t) * v[faces[f, 2], k]
