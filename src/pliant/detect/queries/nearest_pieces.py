"""The boundary of a solid nearest to single points, where faces intersect too many others to split them all."""

import numpy as np
from numpy.typing import NDArray

from ...kernels.queries import nearest_pieces as _kernels
from ...kernels.queries.closest_point import Blocks
from .solid_boundary import NO_PARTS, Cuts, EnclosedSolid, Parts
from .winding import Cast

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
FIRST, GROWTH = 16, 4  # pieces per point that are classified first, and how many times more in each further round
_BYTES = 1 << 26  # of the pieces of a round


def nearest_parts(
    solid: EnclosedSolid,
    x: Floats,
    cuts: Cuts,
    wanted: NDArray[np.bool_],
    points: Floats,
    radius: float,
    blocks: Blocks | Cast | None,
) -> tuple[Parts, Rows]:
    """Return the pieces of the boundary at x that are nearest to each of `points` (n,3), of the faces `wanted` (k,) of
    those in `cuts`, and the points (m,) that have none within `radius`."""
    segments = _kernels.Segments(*_kernels.cut_faces(x, *cuts))
    rows, most = np.flatnonzero(wanted), FIRST
    open_, none, kept = np.arange(len(points)), [np.zeros(0, np.int64)], NO_PARTS
    while len(open_):
        now = open_[: max(1, _BYTES // (72 * most))]
        n = len(now)
        found = _kernels.Found(
            np.empty((n, most, 3, 3)), np.empty((n, most), np.int64), np.empty(n, np.int64), np.empty(n, np.bool_)
        )
        _kernels.nearest_pieces(x, cuts.faces, rows, segments, points[now], radius, found)
        made = np.arange(most) < found.count[:, None]
        parts = solid.classified(x, found.triangles[made], found.face[made], blocks)
        boundary = np.zeros(made.shape, np.bool_)
        boundary[made] = parts.above != parts.below
        has, first = boundary.any(1), boundary.argmax(1)
        at = (np.cumsum(made.ravel()) - 1).reshape(made.shape)  # the part of each piece
        kept = kept.joined(parts.rows(at[has, first[has]]))
        none.append(now[~has & found.done])
        again = now[~has & ~found.done]
        open_ = np.concatenate([again, open_[n:]])
        if len(again):
            most *= GROWTH
    return kept, np.sort(np.concatenate(none))
