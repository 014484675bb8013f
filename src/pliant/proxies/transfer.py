"""What a proxy takes over from its garment besides the shape: texture coordinates, which define the direction of the
warp, and the marks that selections name."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..detect.queries.closest_point import ClosestPoints
from ..mesh import Mesh
from ..mesh.marks import NO_MARKS, Marks
from ..validate import Floats


def texture_coordinates(garment: Mesh, proxy: Mesh) -> Floats | None:
    """(m,3,2) coordinates of each face of the proxy, continued from the nearest face of the garment; seams of the
    texture need not be edges of the proxy."""
    if garment.uv is None:
        return None
    area = garment.face_areas
    proper = np.flatnonzero(area > 1e-9 * area.max())  # a sliver gives no direction
    corners = proxy.vertices[proxy.faces]
    surface = ClosestPoints(Mesh(garment.vertices, garment.faces[proper]))
    face = proper[surface.query_by_nearest_face(corners.mean(1))[2]]
    a, b, c = (garment.vertices[garment.faces[face, k]] for k in range(3))
    frame = np.stack([b - a, c - a, np.cross(b - a, c - a)], 2)
    # coordinates along the two sides of the garment's face
    along = np.linalg.solve(frame, np.swapaxes(corners - a[:, None], 1, 2))[:, :2]
    uv = garment.uv[face]
    sides = np.stack([uv[:, 1] - uv[:, 0], uv[:, 2] - uv[:, 0]], 2)
    return np.asarray(uv[:, :1] + np.swapaxes(sides @ along, 1, 2))


def marks(garment: Mesh, proxy: Mesh) -> Marks:
    """The groups, attributes and colours of the nearest vertices; a group that is nearest to no vertex of the proxy
    gets the vertices nearest to it. Line elements are left out."""
    given = garment.marks
    if not given:
        return NO_MARKS
    from scipy.spatial import cKDTree

    nearest = cKDTree(garment.vertices).query(proxy.vertices)[1]
    back = cKDTree(proxy.vertices).query(garment.vertices)[1]
    return Marks(
        {name: _rows(rows, nearest, back) for name, rows in given.groups.items() if len(rows)},
        {name: values[nearest] for name, values in given.attributes.items()},
        None if given.colors is None else given.colors[nearest],
    )


def _rows(rows: NDArray[Any], nearest: NDArray[Any], back: NDArray[Any]) -> NDArray[np.int32]:
    """Vertices of the proxy that belong to the vertices `rows` of the garment."""
    found = np.flatnonzero(np.isin(nearest, rows))
    return (found if len(found) else np.unique(back[rows])).astype(np.int32)
