"""Points inside of overlapping parts that are nearest to a line or point where faces of the body meet.

There the boundary of the solid consists of pieces of faces, and the nearest point slides along more than one of them
when vertices move. It is on the planes of up to three faces, which determine the distance and all its derivatives.
"""

import itertools

import numpy as np
from numpy.typing import NDArray

from ..kernels.gradients import stencils as _kernels
from ..kernels.gradients.stencils import Stencils
from .body_queries import BodyQueries

Floats = NDArray[np.float64]
REACH = 2.0**-40  # times the largest coordinate: distance of a nearest point from a face that contains it
MOST = 24  # faces that may contain a nearest point
FLAT = 1e-6  # sine of the angle between planes, below which where they meet is not computed
FIT = 1e-6  # of a distance: deviation of its direction from what the normals of the planes span


def find_creases(query: BodyQueries, points: Floats, nearest: Floats, rows: NDArray[np.int64], out: Stencils) -> None:
    """Set `planes` of the points `rows`, or their kind to `CONSTANT` where no planes determine the distance."""
    x, faces = query.surface.x, query.surface.faces
    p, q = points[rows], np.ascontiguousarray(nearest[rows])
    reach = np.full(len(rows), REACH * float(np.abs(x).max()))
    found, count = np.full((len(rows), MOST), -1, np.int64), np.zeros(len(rows), np.int64)
    query.fitted()
    _kernels.faces_within(query.blocks, q, reach, found, count)
    for k, row in enumerate(rows):
        near = np.sort(found[k, : count[k]])
        t = x[faces[near]]
        normal = np.cross(t[:, 1] - t[:, 0], t[:, 2] - t[:, 0])
        area = np.linalg.norm(normal, axis=1)
        near, normal = near[area > 0.0], normal[area > 0.0] / area[area > 0.0, None]
        planes = _spanning(normal, q[k] - p[k])
        if planes is None:
            out.kind[row] = _kernels.CONSTANT
        else:
            out.planes[row, : len(planes)] = near[list(planes)]


def _spanning(normals: Floats, away: Floats) -> tuple[int, ...] | None:
    """Return the first two or three of the normals (k,3) of which `away` is a positive combination."""
    size = float(np.linalg.norm(away))
    for rank in (2, 3):
        for chosen in itertools.combinations(range(len(normals)), rank):
            n = normals[list(chosen)]
            gram = n @ n.T
            if np.linalg.det(gram) < FLAT * FLAT:
                continue
            share = np.linalg.solve(gram, n @ away)
            if (share >= -FIT * size).all() and np.linalg.norm(share @ n - away) <= FIT * size:
                return chosen
    return None
