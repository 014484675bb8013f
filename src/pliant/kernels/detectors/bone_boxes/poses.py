"""Poses of a skinned body that need no look at its vertices.

A vertex v of box k, whose weights of the bones j are w_j, is at q = sum over j of w_j N_j v in box coordinates, where
N_j is the matrix of bone j followed by the transformation into the box. Between two poses it moves, in the box, by at
most sum over j of w_j |dN_j v|. For any point c, near the joint of both bones, this is at most w_j |dN_j c| plus the
norm of the linear part of dN_j times w_j |v - c|, whose maxima over the vertices are known. Matrices halfway between
two poses move every vertex to a point between its two places, so that ranges which contain these contain that as well.
Both bounds depend on the pairs of a box and a bone, not on the number of vertices.
"""

import math
from typing import NamedTuple

import numpy as np

from ... import vec
from ...jit import kernel
from .boxes import frames, set_motion, transform

BESIDE = 2  # segments of the clip beside the last one that are tried
AGAIN = 32  # updates after which all segments are tried again for a box that fits none


class Pairs(NamedTuple):
    """Pairs of a box and a bone that moves vertices of it, one box after the other."""

    first: np.ndarray  # (b+1,) i4: pairs first[k]..first[k+1]-1 are those of box k
    bone: np.ndarray  # (p,) i4
    centre: np.ndarray  # (p,3) point c in the bind pose that hardly moves in the box
    radius: np.ndarray  # (p,) largest distance from it of a vertex of the box, times its weight of the bone
    weight: np.ndarray  # (p,) largest weight of the bone
    now: np.ndarray  # (p,3,4) matrix from the bind pose to box coordinates; the last column is that of the centre


class Known(NamedTuple):
    """Poses at which every vertex is in its range, and how far from them it may be."""

    poses: np.ndarray  # (t,p,3,4) matrices of the pairs as in `Pairs.now`
    spare: np.ndarray  # (b,) metres
    segment: np.ndarray  # (b,) i4: the pose before that which was the nearest to the last one
    failed: np.ndarray  # (b,) i4: updates since which none was near enough, 0 for a box within its ranges
    room: np.ndarray  # (b,) metres by which vertices may still move in the box until a pose is compared again


class Frames(NamedTuple):
    """What moves the boxes."""

    matrices: np.ndarray  # (j,3,4) of the bones
    bone: np.ndarray  # (b,) of each box
    centre: np.ndarray  # (b,3)
    axes: np.ndarray  # (b,3,3)
    low: np.ndarray  # (b,3)
    high: np.ndarray  # (b,3)
    frame: np.ndarray  # (b,3,4)


@kernel
def relative(matrices, to_box, pairs, out):
    """Matrices (p,3,4) of all pairs, as in `Pairs.now`."""
    for k in range(len(to_box)):
        for p in range(pairs.first[k], pairs.first[k + 1]):
            m, c = matrices[pairs.bone[p]], vec.load(pairs.centre, p)
            for a in range(3):
                for j in range(3):
                    out[p, a, j] = to_box[k, a, 0] * m[0, j] + to_box[k, a, 1] * m[1, j] + to_box[k, a, 2] * m[2, j]
                shift = to_box[k, a, 0] * m[0, 3] + to_box[k, a, 1] * m[1, 3] + to_box[k, a, 2] * m[2, 3]
                out[p, a, 3] = out[p, a, 0] * c[0] + out[p, a, 1] * c[1] + out[p, a, 2] * c[2]
                out[p, a, 3] += shift + to_box[k, a, 3]


@kernel
def stretch(m):
    """Upper bound of the spectral norm of the matrix with rows m (9,): the root of the largest row sum of its
    product with its transpose."""
    xx, yy = m[0] * m[0] + m[3] * m[3] + m[6] * m[6], m[1] * m[1] + m[4] * m[4] + m[7] * m[7]
    zz = m[2] * m[2] + m[5] * m[5] + m[8] * m[8]
    xy = abs(m[0] * m[1] + m[3] * m[4] + m[6] * m[7])
    yz, xz = abs(m[1] * m[2] + m[4] * m[5] + m[7] * m[8]), abs(m[0] * m[2] + m[3] * m[5] + m[6] * m[8])
    return math.sqrt(max(xx + xy + xz, xy + yy + yz, xz + yz + zz))


@kernel
def displacement(pairs, k, now, one, two, u):
    """Upper bound of the distances of vertices of box k at the matrices `now` from those at (1 - u) one + u two."""
    total, v = 0.0, 1.0 - u
    for p in range(pairs.first[k], pairs.first[k + 1]):
        a, b, c = now[p], one[p], two[p]
        turn = (
            a[0, 0] - (v * b[0, 0] + u * c[0, 0]),
            a[0, 1] - (v * b[0, 1] + u * c[0, 1]),
            a[0, 2] - (v * b[0, 2] + u * c[0, 2]),
            a[1, 0] - (v * b[1, 0] + u * c[1, 0]),
            a[1, 1] - (v * b[1, 1] + u * c[1, 1]),
            a[1, 2] - (v * b[1, 2] + u * c[1, 2]),
            a[2, 0] - (v * b[2, 0] + u * c[2, 0]),
            a[2, 1] - (v * b[2, 1] + u * c[2, 1]),
            a[2, 2] - (v * b[2, 2] + u * c[2, 2]),
        )
        shift = (
            a[0, 3] - (v * b[0, 3] + u * c[0, 3]),
            a[1, 3] - (v * b[1, 3] + u * c[1, 3]),
            a[2, 3] - (v * b[2, 3] + u * c[2, 3]),
        )
        total += pairs.weight[p] * vec.norm(shift) + pairs.radius[p] * stretch(turn)
    return total


@kernel
def change(pairs, k, one, two):
    """Upper bound of the distances of vertices of box k at the matrices `one` from those at `two`."""
    total = 0.0
    for p in range(pairs.first[k], pairs.first[k + 1]):
        a, b = one[p], two[p]
        turn = (
            a[0, 0] - b[0, 0],
            a[0, 1] - b[0, 1],
            a[0, 2] - b[0, 2],
            a[1, 0] - b[1, 0],
            a[1, 1] - b[1, 1],
            a[1, 2] - b[1, 2],
            a[2, 0] - b[2, 0],
            a[2, 1] - b[2, 1],
            a[2, 2] - b[2, 2],
        )
        shift = (a[0, 3] - b[0, 3], a[1, 3] - b[1, 3], a[2, 3] - b[2, 3])
        total += pairs.weight[p] * vec.norm(shift) + pairs.radius[p] * stretch(turn)
    return total


@kernel
def between(pairs, k, now, one, two):
    """The u of 0 to 1 for which (1 - u) one + u two is nearest to `now`, by the squares of the displacements."""
    along, length = 0.0, 0.0
    for p in range(pairs.first[k], pairs.first[k + 1]):
        for a in range(3):
            for j in range(4):
                scale = pairs.radius[p] if j < 3 else pairs.weight[p]
                step = scale * (two[p, a, j] - one[p, a, j])
                along += step * scale * (now[p, a, j] - one[p, a, j])
                length += step * step
    return min(max(along / length, 0.0), 1.0) if length > 0.0 else 0.0


@kernel
def away(pairs, k, now, poses, i):
    """Upper bound of the distances of vertices of box k from their places between poses i and i + 1."""
    one, two = poses[i], poses[min(i + 1, len(poses) - 1)]
    return displacement(pairs, k, now, one, two, between(pairs, k, now, one, two))


@kernel
def is_known(pairs, known, k, slack):
    """Whether all vertices of box k are in their ranges, because the pose is near one between known ones. What is left
    of the room around that one is kept in `known.room`."""
    poses, segment, failed, room = known.poses, known.segment, known.failed, known.spare[k] - slack
    n, last = len(poses), known.segment[k]
    best, nearest = away(pairs, k, pairs.now, poses, last), last
    whole = failed[k] % AGAIN == 0
    for s in range(1, n // 2 + 1 if whole else min(BESIDE, n // 2) + 1):
        if best <= room:
            break
        for i in ((last + s) % n, (last - s) % n):
            gap = away(pairs, k, pairs.now, poses, i)
            if gap < best:
                best, nearest = gap, i
    segment[k] = nearest
    failed[k] = 0 if best <= room else failed[k] + 1
    known.room[k] = room - best
    return best <= room


@kernel
def place(boxes, placed, before, ball, moved, pairs, known):
    """Move the boxes with their bones, and bound how far their skin moves in them; `before` (b,3,4) and `ball` (b,4)
    are where they were. Return the largest coordinate, and the number of boxes whose vertices may have left their
    ranges: `known.failed` is above 0 for these."""
    frames(boxes.matrices, boxes.bone, boxes.centre, boxes.frame)
    before[:], ball[:] = placed.to_box, placed.ball
    transform(boxes.frame, boxes.axes, boxes.low, boxes.high, placed)
    largest, unknown, last = 0.0, 0, pairs.now.copy()
    for k in range(len(before)):
        for a in range(6):
            largest = max(largest, abs(placed.world[k, a]))
    relative(boxes.matrices, placed.to_box, pairs, pairs.now)
    slack = 1e-13 * largest
    for k in range(len(before)):
        moved.stray[k] = change(pairs, k, pairs.now, last) + slack
        known.room[k] -= moved.stray[k]
        if known.room[k] < 0.0:
            unknown += not is_known(pairs, known, k, slack)
    set_motion(before, ball, placed, moved)
    return largest, unknown
