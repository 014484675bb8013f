"""Layers in order: hits of faces by their pixels, and in each pixel along the axis."""

import numpy as np

from .jit import kernel, prange
from .layers import CORNERS

PIXELS = 512  # that a thread takes at a time


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
def _gather(found, pixel, depth, face, start, depth_out, face_out):
    """Hits of small and of large faces in the order of their pixels."""
    small = found.count[:, 1]
    for c in range(len(small)):
        _tally(found.pixel, c * CORNERS, c * CORNERS + small[c], start)
    _tally(pixel, 0, len(pixel), start)
    for k in range(2, len(start)):
        start[k] += start[k - 1]
    for c in range(len(small)):
        first, last = c * CORNERS, c * CORNERS + small[c]
        _scatter(found.pixel, found.depth, found.face, first, last, start, depth_out, face_out)
    _scatter(pixel, depth, face, 0, len(pixel), start, depth_out, face_out)


@kernel
def _before(z, f, depth, face):
    """Nearer; at one depth entries come first, then lower faces."""
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
def order(found, pixel, depth, face, low, high, start, depth_out, face_out):
    """Hits of small faces, as found, and of large ones: pixel k has start[k]:start[k+1], along the axis; they are few,
    so by insertion. Then they are moved to between low and high. start (pixels+2,) begins as zeros."""
    _gather(found, pixel, depth, face, start, depth_out, face_out)
    n = len(start) - 2
    for c in prange(-(-n // PIXELS)):
        _sort(start, c * PIXELS, min(n, (c + 1) * PIXELS), low, high, depth_out, face_out)


@kernel
def ordered(found, pixels, low, high):
    """`order`, where no face is large, by one thread: start, depth, face. Empty ones, of no pixels."""
    total, none, nobody = found.count[:, 1].sum() if pixels else 0, np.empty(0), np.empty(0, np.int32)
    start, depth, face = np.zeros(pixels + 2, np.int64), np.empty(total), np.empty(total, np.int32)
    if pixels:
        _gather(found, nobody, none, nobody, start, depth, face)
        _sort(start, 0, pixels, low, high, depth, face)
    return start, depth, face
