"""The roots of strands: the ends that begin at a body, which are held with the segment behind them."""

import numpy as np
from numpy.typing import NDArray

from ..detect.queries.closest_point import ClosestPoints
from ..mesh import Mesh
from ..mesh.polylines import polylines

NEAR = 0.05  # of the body's size: distance up to which the end of a strand is a root


def roots(strands: Mesh, surface: ClosestPoints, size: float) -> NDArray[np.int64]:
    """Return the rows of the first two points of each strand, from the end that is nearer to the surface, if that is
    within `NEAR` of the body's `size`: held points of one segment also hold its direction."""
    order, start = polylines(strands)
    ends = np.stack([order[start[:-1]], order[start[1:] - 1]], 1)
    behind = np.stack([order[start[:-1] + 1], order[start[1:] - 2]], 1)
    far = np.abs(surface.query(strands.vertices[ends.ravel()])[0]).reshape(-1, 2)
    which = far.argmin(1)
    own = np.arange(len(ends))
    held = far[own, which] <= NEAR * size
    return np.unique(np.concatenate([ends[own, which][held], behind[own, which][held]])).astype(np.int64)
