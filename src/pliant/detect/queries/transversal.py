"""Exact classification of intersecting triangle pairs: transversal crossings and mere touching."""

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
