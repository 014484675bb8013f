"""Triangle strips: each face shares two corners with the previous one, so that a list of all faces names one new corner
per face instead of three (Evans, Skiena, Varshney 1996). They depend on connectivity, not on positions.

Greedy: from the first remaining face, strips in six directions are tried for AHEAD faces, and the longest is followed
to its end.
"""

from typing import NamedTuple

import numpy as np

from ..jit import kernel

AHEAD = 8  # faces for which each of the six directions is tried
DONE = -1


class Rings(NamedTuple):
    """Faces, and those around each vertex v: ring[start[v]:start[v+1]]."""

    faces: np.ndarray  # (m,3)
    start: np.ndarray  # (n+1,)
    ring: np.ndarray  # (3m,)


class Strips(NamedTuple):
    """List of corners, as `arrange_in_strips` describes it."""

    corners: np.ndarray  # (3m,)
    owner: np.ndarray  # (3m,)


@kernel
def _beyond(rings, mark, trial, v, w):
    """The first face around v that contains w and is neither in a strip nor part of this trial, else -1."""
    faces, start, ring = rings.faces, rings.start, rings.ring
    for at in range(start[v], start[v + 1]):
        f = ring[at]
        if mark[f] != DONE and mark[f] != trial and (faces[f, 0] == w or faces[f, 1] == w or faces[f, 2] == w):
            return f
    return -1


@kernel
def _walk(rings, mark, trial, f, orientation, most, strips, at):
    """Follow a strip from face f for at most `most` faces, marked as `trial`, and write its corners from `at` on.
    Return the number of faces and the sum of index differences along the sides of the strip.
    """
    faces, strip, owner = rings.faces, strips.corners, strips.owner
    a, b, c = faces[f, orientation % 3], faces[f, (orientation + 1) % 3], faces[f, (orientation + 2) % 3]
    a, b = (b, a) if orientation >= 3 else (a, b)
    strip[at], strip[at + 1], owner[at], owner[at + 1] = a, b, -1, -1
    n, index_gap = 0, 0
    while f >= 0 and n < most:
        strip[at + n + 2], mark[f] = c, trial
        first = 0 if faces[f, 0] == a else 1 if faces[f, 0] == b else 2
        second = 0 if faces[f, 1] == a and first != 0 else 1 if faces[f, 1] == b and first != 1 else 2
        owner[at + n + 2] = f << 4 | second << 2 | first
        n += 1
        index_gap += abs(c - a)
        # a face that contains a corner twice has no edge to continue across
        f = _beyond(rings, mark, trial, b, c) if b != c else -1
        a, b, c = b, c, faces[f, 0] + faces[f, 1] + faces[f, 2] - b - c if f >= 0 else -1
    return n, index_gap


@kernel
def arrange_in_strips(faces, start, ring, strip, owner):
    """Arrange all faces (m,3), m below 2^27, in strips; return the length of the list.

    The faces around vertex v are ring[start[v]:start[v+1]]. Where strip[k-2], strip[k-1] and strip[k] (3m,) are the
    corners of face f, owner[k] (3m,) is 16 f + i + 4 j, its first and second corner being the i-th and j-th of them; -1
    at the start of a strip.
    """
    rings, strips, mark = Rings(faces, start, ring), Strips(strip, owner), np.zeros(len(faces), np.int32)
    at, trial = 0, 0
    for f in range(len(faces)):
        if mark[f] == DONE:
            continue
        best, longest, least = 0, 0, 0
        for orientation in range(6):
            trial += 1
            n, index_gap = _walk(rings, mark, trial, f, orientation, AHEAD, strips, at)
            # of equally long strips, the one with better memory locality
            if n > longest or (n == longest and index_gap < least):
                best, longest, least = orientation, n, index_gap
        at += 2 + _walk(rings, mark, DONE, f, best, len(faces), strips, at)[0]
    return at
