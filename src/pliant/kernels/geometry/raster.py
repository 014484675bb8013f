"""Depth rasteriser with exact coverage: pixel centres, the top-left rule, integer edge functions.

Points are given in pixels: x to the right, y down, the centre of pixel (row, column) at (column + 1/2, row + 1/2), and
a depth z that is affine on the screen (metres for parallel rays, -1/w for perspective), smaller = nearer. Corners are
snapped to 1/4096 pixel, so edge functions are integers below 2^63 and their signs are exact: faces that share an edge
cover every pixel along it exactly once, and a closed mesh has an even number of layers everywhere. Faces that are
edge-on to the rays have area 0 and cover nothing.

`rows` and `span` return the pixels that a face covers; the calling loop decides what to do there (nearest depth,
counting or filling layers). Each thread owns a band of rows, so the result does not depend on the number of threads.
"""

import math
from typing import NamedTuple

import numpy as np

from ..jit import kernel, prange

SUB = 4096  # snapped steps per pixel
REACH = 1 << 17  # pixels; corners farther out are clamped to this limit, for all faces alike
BAND = 16  # rows per task of a thread


class Flat(NamedTuple):
    """A face on the screen, in snapped units."""

    ax: int
    ay: int
    bx: int
    by: int
    cx: int
    cy: int
    facing: int  # +1 counter-clockwise seen by the viewer, -1 clockwise, 0 edge-on
    area: int  # twice the area, never negative


@kernel
def snap(a):
    """A coordinate in pixels as an integer number of 1/4096; nan is clamped to the limit."""
    if not abs(a) < REACH:
        return REACH * SUB if a > 0.0 else -REACH * SUB
    return math.floor(a * SUB + 0.5)


@kernel
def flat(p, faces, f):
    """Face `f` of the snapped points p (n,2)."""
    i, j, k = faces[f, 0], faces[f, 1], faces[f, 2]
    ax, ay, bx, by, cx, cy = p[i, 0], p[i, 1], p[j, 0], p[j, 1], p[k, 0], p[k, 1]
    area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
    # y points down, so counter-clockwise on screen means a negative area here
    facing = -1 if area > 0 else (1 if area < 0 else 0)
    return Flat(ax, ay, bx, by, cx, cy, facing, abs(area))


@kernel
def rows(t, first, stop):
    """The part (first, stop) of rows first..stop-1 whose pixel centres the face can reach."""
    if t.facing == 0:
        return first, first
    low = min(t.ay, t.by, t.cy)
    high = max(t.ay, t.by, t.cy)
    half = SUB // 2
    return max(first, -((half - low) // SUB)), min(stop, (high - half) // SUB + 1)


@kernel
def side(ax, ay, bx, by, x, y):
    """Edge function: twice the signed area of a, b and (x, y), exact."""
    return (bx - ax) * (y - ay) - (by - ay) * (x - ax)


@kernel
def _clip(ax, ay, bx, by, facing, y, start, stop):
    """Clip columns start..stop-1 of the line y to the inner side of edge a-b."""
    dx = -facing * (bx - ax)
    dy = -facing * (by - ay)
    c = dx * (y - ay) - dy * (SUB // 2 - ax)  # value at column 0; grows by `step` per column
    step = -dy * SUB
    # top and left edges own their pixels (value 0 counts), the others do not
    if not (dy < 0 or (dy == 0 and dx > 0)):
        c -= 1
    if step > 0:
        return max(start, -(c // step)), stop
    if step < 0:
        return start, min(stop, c // -step + 1)
    return start, (stop if c >= 0 else start)


@kernel
def span(t, row, width):
    """Columns (start, stop) of 0..width-1 that the face covers in `row`; empty if start >= stop."""
    y = row * SUB + SUB // 2
    start, stop = _clip(t.ax, t.ay, t.bx, t.by, t.facing, y, 0, width)
    start, stop = _clip(t.bx, t.by, t.cx, t.cy, t.facing, y, start, stop)
    return _clip(t.cx, t.cy, t.ax, t.ay, t.facing, y, start, stop)


@kernel
def weights(t, row, column):
    """Barycentric weights of a pixel centre, in the order of the face's corners; they sum to 1."""
    x = column * SUB + SUB // 2
    y = row * SUB + SUB // 2
    u = -t.facing * side(t.bx, t.by, t.cx, t.cy, x, y) / t.area
    v = -t.facing * side(t.cx, t.cy, t.ax, t.ay, x, y) / t.area
    w = -t.facing * side(t.ax, t.ay, t.bx, t.by, x, y) / t.area
    return u, v, w


@kernel
def snapped(points):
    """Snap (n,3) points on the screen to (n,2) integers."""
    out = np.empty((len(points), 2), np.int64)
    for i in range(len(points)):
        out[i, 0] = snap(points[i, 0])
        out[i, 1] = snap(points[i, 1])
    return out


@kernel
def fill_depth(p, points, faces, first, stop, z):
    """Update rows first..stop-1 of z (h,w) to the minimum of its values and the depths of the faces over each pixel."""
    for f in range(len(faces)):
        t = flat(p, faces, f)
        low, high = rows(t, first, stop)
        a, b, c = points[faces[f, 0], 2], points[faces[f, 1], 2], points[faces[f, 2], 2]
        for row in range(low, high):
            start, end = span(t, row, z.shape[1])
            for column in range(start, end):
                u, v, w = weights(t, row, column)
                z[row, column] = min(z[row, column], u * a + v * b + w * c)


@kernel
def _nearest_band(p, points, faces, first, stop, z, face, bary):
    for f in range(len(faces)):
        t = flat(p, faces, f)
        low, high = rows(t, first, stop)
        i, j, k = faces[f, 0], faces[f, 1], faces[f, 2]
        for row in range(low, high):
            start, end = span(t, row, z.shape[1])
            for column in range(start, end):
                u, v, w = weights(t, row, column)
                d = u * points[i, 2] + v * points[j, 2] + w * points[k, 2]
                if d < z[row, column]:  # ties go to the face with the lower index
                    z[row, column] = d
                    face[row, column] = f
                    bary[row, column, 0] = u
                    bary[row, column, 1] = v


@kernel(parallel=True)
def nearest(p, points, faces, high, z, face, bary):
    """Fill z (h,w), face (h,w), bary (h,w,2): the nearest face of each pixel and its first two weights.

    Bands have `high` rows; each processes all faces, so that many faces on few pixels are best served by few bands.
    """
    for band in prange((len(z) + high - 1) // high):
        _nearest_band(p, points, faces, band * high, min(len(z), (band + 1) * high), z, face, bary)


@kernel
def _count_band(p, faces, first, stop, count):
    for f in range(len(faces)):
        t = flat(p, faces, f)
        low, high = rows(t, first, stop)
        for row in range(low, high):
            start, end = span(t, row, count.shape[1])
            for column in range(start, end):
                count[row, column] += 1


@kernel(parallel=True)
def count_layers(p, faces, count):
    """Add to count (h,w) the number of faces that cover each pixel."""
    for band in prange((len(count) + BAND - 1) // BAND):
        _count_band(p, faces, band * BAND, min(len(count), (band + 1) * BAND), count)


def depth(points, faces, width, height, high=BAND):
    """Nearest face of each pixel: z (h,w) float64 (inf: none), face (h,w) int32 (-1), bary (h,w,2) float32."""
    z = np.full((height, width), np.inf)
    face = np.full((height, width), -1, np.int32)
    bary = np.zeros((height, width, 2), np.float32)
    nearest(snapped(points), points, faces, high, z, face, bary)
    return z, face, bary


def layers(points, faces, width, height):
    """Number of faces under each pixel centre, (h,w) int32."""
    count = np.zeros((height, width), np.int32)
    count_layers(snapped(points), faces, count)
    return count
