"""Exact classification of intersecting triangle pairs, transversal crossings and mere touching; where they cross."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...kernels.queries import transversal as _kernels

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def crossing(x: Any, faces: Any, y: Any, others: Any, pairs: Any, *, aligned: bool = True) -> Bools:
    """(k,) whether each of the intersecting `pairs` (k,2), `faces` on x and `others` on y, crosses or only touches.

    Two triangles cross where they share a segment and each has corners strictly on both sides of the other's plane.
    A surface that passes exactly through edges or corners of the other only touches each of its triangles. With
    `aligned`, such pairs count if a triangle is touched by some that lie strictly above it and others strictly below.
    """
    crosses, sides = np.zeros(len(pairs), np.bool_), np.zeros((len(pairs), 2), np.int8)
    if not len(pairs):
        return crosses
    pairs = np.array(pairs, np.int32)
    _kernels.classify_crossings(*_plain(x, faces), *_plain(y, others), pairs, crosses, sides)
    if not aligned:
        return crosses
    return crosses | _from_both(pairs[:, 0], sides[:, 1], crosses) | _from_both(pairs[:, 1], sides[:, 0], crosses)


def crossing_segments(x: Any, faces: Any, y: Any, others: Any, pairs: Any) -> Floats:
    """(k,2,3) ends of the segments in which the crossing `pairs` (k,2) of triangles intersect, `faces` on x and
    `others` on y; in double precision, within both triangles. A pair that only touches has equal ends."""
    p = np.asarray(x, np.float64)[np.asarray(faces)[pairs[:, 0]]]
    q = np.asarray(y, np.float64)[np.asarray(others)[pairs[:, 1]]]
    along = np.cross(_normals(p), _normals(q))
    along /= np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-300)
    ends = np.concatenate([_in_plane(p, q), _in_plane(q, p)], 1)
    order = np.argsort(np.einsum("kij,kj->ki", ends - ends[:, :1], along), axis=1, kind="stable")
    # the intervals of both triangles on the common line of their planes overlap between the two inner ends
    return np.asarray(np.take_along_axis(ends, order[:, 1:3, None], 1))


def _normals(corners: Floats) -> Floats:
    return np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])


def _in_plane(triangles: Floats, others: Floats) -> Floats:
    """Return the points (k,2,3) at which two edges of triangles (k,3,3) meet the planes of others (k,3,3)."""
    height = np.einsum("kij,kj->ki", triangles - others[:, :1], _normals(others))
    above, below = height > 0.0, height < 0.0
    mixed = np.where((above.sum(1) == 1)[:, None], above, np.where((below.sum(1) == 1)[:, None], below, False))
    alone = np.where(mixed.any(1), mixed.argmax(1), np.abs(height).argmax(1))
    turn, row = (alone[:, None] + np.arange(3)) % 3, np.arange(len(alone))[:, None]
    corners, height = triangles[row, turn], height[row, turn]
    drop = height[:, :1] - height[:, 1:]
    t = np.clip(height[:, :1] / np.where(drop == 0.0, 1.0, drop), 0.0, 1.0)[:, :, None]
    return np.asarray((1.0 - t) * corners[:, :1] + t * corners[:, 1:])


def _plain(x: Any, faces: Any) -> tuple[Floats, NDArray[np.int32]]:
    """Return read-only views: the kernel is compiled for those only."""
    x, faces = np.require(x, np.float64, ["C"]).view(), np.require(faces, np.int32, ["C"]).view()
    x.flags.writeable = faces.flags.writeable = False
    return x, faces


def _from_both(face: NDArray[np.int32], side: NDArray[np.int8], crosses: Bools) -> Bools:
    """Return the pairs that touch a face which other pairs touch from its opposite side."""
    touch = ~crosses & (np.abs(side) == 1)
    count = int(face.max()) + 1
    above, below = (np.bincount(face[touch & (side == s)], minlength=count) > 0 for s in (1, -1))
    return np.asarray(touch & (above & below)[face])
