"""Sort layers: hits of faces by pixel, and within each pixel along the axis."""

import numpy as np

from ..jit import kernel, prange
from .depth_image import CORNERS, Covered

PIXELS = 512  # pixels per task of a thread


@kernel
def _tally(pixel, first, last, start):
    for m in range(first, last):
        start[pixel[m] + 2] += 1


@kernel
def _scatter(pixel, depth, face, first, last, start, depth_out, face_out):
    for m in range(first, last):
        to = start[pixel[m] + 1]
        depth_out[to], face_out[to] = depth[m], face[m]
        start[pixel[m] + 1] = to + 1


@kernel
def _gather(found, covered, start, depth_out, face_out):
    """Sort hits of small and of large faces by pixel."""
    small, pixel = found.count[:, 1], covered.pixel
    for c in range(len(small)):
        _tally(found.pixel, c * CORNERS, c * CORNERS + small[c], start)
    _tally(pixel, 0, len(pixel), start)
    for k in range(2, len(start)):
        start[k] += start[k - 1]
    for c in range(len(small)):
        first, last = c * CORNERS, c * CORNERS + small[c]
        _scatter(found.pixel, found.depth, found.face, first, last, start, depth_out, face_out)
    _scatter(pixel, covered.depth, covered.face, 0, len(pixel), start, depth_out, face_out)


@kernel
def _before(z, f, depth, face):
    """Order of hits: nearer first; at equal depth, entries before exits, then lower faces."""
    if z != depth:
        return z < depth
    if (f < 0) != (face < 0):
        return f >= 0
    return (f if f >= 0 else ~f) < (face if face >= 0 else ~face)


@kernel
def _sort(start, first, last, low, high, depth, face):
    for k in range(first, last):
        for m in range(start[k] + 1, start[k + 1]):
            z, f, to = depth[m], face[m], m
            while to > start[k] and _before(z, f, depth[to - 1], face[to - 1]):
                depth[to], face[to] = depth[to - 1], face[to - 1]
                to -= 1
            depth[to], face[to] = z, f
        for m in range(start[k], start[k + 1]):
            depth[m] = min(max(depth[m], low), high)


@kernel(parallel=True)
def order(found, covered, low, high, start, depth_out, face_out):
    """Sort hits of small faces, as found, and of large ones: pixel k has start[k]:start[k+1], ordered along the axis
    (by insertion, as they are few). Depths are then clamped to low..high. start (pixels+2,) is initially zero.
    """
    _gather(found, covered, start, depth_out, face_out)
    n = len(start) - 2
    for c in prange(-(-n // PIXELS)):
        _sort(start, c * PIXELS, min(n, (c + 1) * PIXELS), low, high, depth_out, face_out)


@kernel
def ordered(found, pixels, low, high):
    """`order` without large faces, on one thread: returns start, depth, face; empty for no pixels."""
    total, no_depths, no_indices = found.count[:, 1].sum() if pixels else 0, np.empty(0), np.empty(0, np.int32)
    start, depth, face = np.zeros(pixels + 2, np.int64), np.empty(total), np.empty(total, np.int32)
    if pixels:
        _gather(found, Covered(no_indices, no_depths, no_indices), start, depth, face)
        _sort(start, 0, pixels, low, high, depth, face)
    return start, depth, face
