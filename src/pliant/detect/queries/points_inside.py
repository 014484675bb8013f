"""Exact inside test of points in a deforming body, without an acceleration structure to rebuild."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import renamed, validate
from ...mesh import Mesh
from .depth_image import closed_surface
from .ray_winding import RayWinding

__getattr__ = renamed.module(__name__, {"PointsInside": "pliant.detect.queries.ray_winding:RayWinding"})


def points_inside(mesh: Mesh, points: Any) -> NDArray[np.bool_]:
    """(n,) whether points (n,3) are inside a closed mesh, exactly. Self-overlaps count as inside."""
    surface, p = closed_surface("mesh", mesh), validate.floats("points", points, (None, 3))
    return np.asarray(RayWinding(surface.faces, surface.n_vertices).winding(surface.vertices, p) > 0)
