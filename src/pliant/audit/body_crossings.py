"""Pairs of faces of a garment and a body that cross, as `check` counts them and `fix` compares them."""

import numpy as np
from numpy.typing import NDArray

from ..detect.queries.transversal import crossing
from .face_depth import DistanceQuery, reach_inside

Floats = NDArray[np.float64]


def crossing_pairs(
    garment: tuple[Floats, NDArray[np.int32]],
    body: tuple[Floats, NDArray[np.int32]],
    pairs: NDArray[np.int32],
    distance: DistanceQuery | None,
    size: float,
) -> NDArray[np.bool_]:
    """(k,) mask of the intersecting `pairs` (k,2) of faces that cross, including faces of the garment that reach inside
    a closed body only through edges or corners; the others touch. garment, body: vertices and faces; distance: from the
    body if it is closed, else None; size: of the body, metres."""
    (x, faces), (y, others) = garment, body
    crosses = crossing(x, faces, y, others, pairs, aligned=distance is None)
    if distance is not None and not crosses.all():
        touching = np.unique(pairs[~crosses, 0])
        reach = np.zeros(len(faces), np.bool_)
        reach[touching] = reach_inside(x[faces[touching]], distance, size)
        crosses |= reach[pairs[:, 0]]
    return crosses
