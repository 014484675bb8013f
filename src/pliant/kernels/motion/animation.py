"""Keyframe interpolation and the node hierarchy that it poses (glTF 2.0, sections 3.5.3, 3.11 and appendix C).

A pose is one row of numbers: translation (3), rotation x y z w (4) and scale (3) of each node, then any other animated
values. Matrices are (3,4): [A | t].
"""

import math
from typing import NamedTuple

import numpy as np

from ..jit import kernel

STEP, LINEAR, SLERP, CUBIC, CUBIC_ROTATION = range(5)
NODE = 10  # values per node in a pose


class Tracks(NamedTuple):
    """All tracks of a clip, concatenated."""

    key: np.ndarray  # (c+1,) i8: track c has the keyframes key[c]..key[c+1]-1
    times: np.ndarray  # (k,) f8 seconds, non-decreasing within a track
    first: np.ndarray  # (c,) i8 start of its values; a cubic keyframe stores in-tangent, value, out-tangent
    values: np.ndarray  # (v,) f8
    kind: np.ndarray  # (c,) i8 STEP ... CUBIC_ROTATION
    width: np.ndarray  # (c,) i8 number of values it animates
    column: np.ndarray  # (c,) i8 column of the first of them in a pose


@kernel
def slerp(a, b, s):
    """Spherical linear interpolation from unit quaternion `a` to `b` along the shorter arc."""
    if a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3] < 0.0:
        b = (-b[0], -b[1], -b[2], -b[3])
    apart = (a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2 + (a[2] - b[2]) ** 2 + (a[3] - b[3]) ** 2
    along = (a[0] + b[0]) ** 2 + (a[1] + b[1]) ** 2 + (a[2] + b[2]) ** 2 + (a[3] + b[3]) ** 2
    angle = 2.0 * math.atan2(math.sqrt(apart), math.sqrt(along))
    u, v = 1.0 - s, s
    if angle > 1e-6:  # below this, sin(s angle) / sin(angle) equals s to the last digit
        u, v = math.sin(u * angle) / math.sin(angle), math.sin(v * angle) / math.sin(angle)
    return (u * a[0] + v * b[0], u * a[1] + v * b[1], u * a[2] + v * b[2], u * a[3] + v * b[3])


@kernel
def hermite(p, m, q, n, s):
    """Cubic Hermite interpolation from p with slope m to q with slope n, both per unit of s."""
    s2 = s * s
    s3 = s2 * s
    return (2.0 * s3 - 3.0 * s2 + 1.0) * p + (s3 - 2.0 * s2 + s) * m + (3.0 * s2 - 2.0 * s3) * q + (s3 - s2) * n


@kernel
def key_before(times, first, last, time):
    """Return the last keyframe of first..last-1 at or before `time`, or the first if there is none."""
    low, high = first, last
    while high - low > 1:
        middle = (low + high) // 2
        if times[middle] <= time:
            low = middle
        else:
            high = middle
    return low


@kernel
def follow(tracks, c, time, out):
    """Write the value of track `c` at `time` into the pose `out` (p,)."""
    times, values, width = tracks.times, tracks.values, tracks.width[c]
    begin, end, kind, column = tracks.key[c], tracks.key[c + 1], tracks.kind[c], tracks.column[c]
    k = key_before(times, begin, end, time)
    cubic = kind >= CUBIC
    row = 3 * width if cubic else width
    at = tracks.first[c] + (k - begin) * row + (width if cubic else 0)
    span = times[k + 1] - times[k] if k + 1 < end else 0.0
    if kind == STEP or not (span > 0.0 and time > times[k]):
        for i in range(width):
            out[column + i] = values[at + i]
    elif kind == SLERP:
        a = (values[at], values[at + 1], values[at + 2], values[at + 3])
        b = (values[at + 4], values[at + 5], values[at + 6], values[at + 7])
        q = slerp(a, b, (time - times[k]) / span)
        out[column], out[column + 1], out[column + 2], out[column + 3] = q
    else:
        s = (time - times[k]) / span
        for i in range(width):
            p, q = values[at + i], values[at + row + i]
            if cubic:
                out[column + i] = hermite(p, span * values[at + width + i], q, span * values[at + row - width + i], s)
            else:
                out[column + i] = p + s * (q - p)


@kernel
def sample(tracks, times, out):
    """Evaluate every track at `times` (t,) into the poses `out` (t,p); constant before and after the keyframes."""
    for t in range(len(times)):
        pose = out[t]
        for c in range(len(tracks.column)):
            follow(tracks, c, times[t], pose)


@kernel
def local(translation, turn, scale):
    """Return the rows of the matrix that scales, rotates by a non-zero quaternion of any length, and translates."""
    x, y, z, w = turn
    size = math.sqrt(x * x + y * y + z * z + w * w)
    size = size if size > 0.0 else 1.0
    x, y, z, w = x / size, y / size, z / size, w / size
    a, b, c = scale
    return (
        ((1 - 2 * (y * y + z * z)) * a, 2 * (x * y - z * w) * b, 2 * (x * z + y * w) * c, translation[0]),
        (2 * (x * y + z * w) * a, (1 - 2 * (x * x + z * z)) * b, 2 * (y * z - x * w) * c, translation[1]),
        (2 * (x * z - y * w) * a, 2 * (y * z + x * w) * b, (1 - 2 * (x * x + y * y)) * c, translation[2]),
    )


@kernel
def world_matrices(poses, parents, matrices, given, out):
    """Compute the world matrices `out` (t,n,3,4) of the nodes in poses (t,p); matrices[k] replaces the local matrix of
    node k where given[k]. Parents precede their children.
    """
    for t in range(len(poses)):
        for k in range(len(parents)):
            p, above = k * NODE, parents[k]
            q = (poses[t, p + 3], poses[t, p + 4], poses[t, p + 5], poses[t, p + 6])
            move = (poses[t, p], poses[t, p + 1], poses[t, p + 2])
            rows = local(move, q, (poses[t, p + 7], poses[t, p + 8], poses[t, p + 9]))
            if given[k]:
                m = matrices[k]
                rows = (
                    (m[0, 0], m[0, 1], m[0, 2], m[0, 3]),
                    (m[1, 0], m[1, 1], m[1, 2], m[1, 3]),
                    (m[2, 0], m[2, 1], m[2, 2], m[2, 3]),
                )
            for i in range(3):
                for j in range(4):
                    if above < 0:
                        out[t, k, i, j] = rows[i][j]
                    else:
                        a, b, c = out[t, above, i, 0], out[t, above, i, 1], out[t, above, i, 2]
                        rest = out[t, above, i, 3] if j == 3 else 0.0
                        out[t, k, i, j] = a * rows[0][j] + b * rows[1][j] + c * rows[2][j] + rest


@kernel
def skin_matrices(world, nodes, inverse, out):
    """Compute the bone matrices (t,b,3,4): the world matrix of each bone's node times its inverse bind matrix."""
    for t in range(len(world)):
        for k in range(len(nodes)):
            n = nodes[k]
            for i in range(3):
                a, b, c = world[t, n, i, 0], world[t, n, i, 1], world[t, n, i, 2]
                for j in range(4):
                    rest = world[t, n, i, 3] if j == 3 else 0.0
                    out[t, k, i, j] = a * inverse[k, 0, j] + b * inverse[k, 1, j] + c * inverse[k, 2, j] + rest
