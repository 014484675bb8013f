"""Room: where one part of a body presses into another, there is none for the cloth between them."""

import numpy as np
from numpy.typing import NDArray

from ..detect.queries.penetration import DeformingClosestPoints

Floats = NDArray[np.float64]


def has_room(body: DeformingClosestPoints, points: Floats, height: float) -> NDArray[np.bool_]:
    """(n,) whether the skin nearest to points (n,3), buried or not, is free: `height` metres above it is outside."""
    face, barycentric = body.nearest_faces(points)
    corners = body.surface.x[body.surface.faces[face]]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normal /= np.maximum(np.linalg.norm(normal, axis=1), 1e-300)[:, None]
    return np.asarray(body.signs((barycentric[:, :, None] * corners).sum(1) + height * normal) >= 0)
