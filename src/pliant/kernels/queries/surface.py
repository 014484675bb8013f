"""A triangle surface with its pseudonormals.

The angle-weighted pseudonormal of the nearest feature (Baerentzen and Aanaes 2005), unlike the normal of the nearest
face, gives the correct sign of a distance at acute edges and spikes, if the surface does not intersect itself. Queries
use it for such surfaces only; in general the winding number determines the sign (docs/inside.md).
"""

import math
from typing import NamedTuple

import numpy as np

from .. import vec
from ..geometry.rounding import largest
from ..geometry.triangle import solid_angle
from ..jit import kernel

ROUNDING = 16.0 * 2.0**-52  # of the coordinates


class Surface(NamedTuple):
    x: np.ndarray  # (n,3) vertices, metres
    faces: np.ndarray  # (m,3)
    face_edges: np.ndarray  # (m,3) edge j joins corners j and j+1
    face_normals: np.ndarray  # (m,3) unit, zero for degenerate faces
    edge_normals: np.ndarray  # (k,3) pseudonormals
    vertex_normals: np.ndarray  # (n,3) pseudonormals


@kernel
def corners(surface, f):
    """The three corners of face `f`."""
    faces, x = surface.faces, surface.x
    return vec.load(x, faces[f, 0]), vec.load(x, faces[f, 1]), vec.load(x, faces[f, 2])


@kernel
def pseudonormal(surface, f, feature):
    """Pseudonormal of the feature of face `f` returned by `closest_on_triangle`: 0 face, 1-3 corner, 4-6 edge."""
    if feature == 0:
        return vec.load(surface.face_normals, f)
    if feature <= 3:
        return vec.load(surface.vertex_normals, surface.faces[f, feature - 1])
    return vec.load(surface.edge_normals, surface.face_edges[f, feature - 4])


@kernel
def touching(gap, p, q):
    """Whether a gap from q to p is within its rounding error, so that it has neither direction nor side."""
    return vec.norm(gap) <= ROUNDING * max(largest(p), largest(q))


@kernel
def winding_number(surface, p):
    """Winding number of the surface around `p`; about 1 inside a closed surface, 0 outside."""
    total = 0.0
    for f in range(len(surface.faces)):
        a, b, c = corners(surface, f)
        total += solid_angle(p, a, b, c)
    return total / (4.0 * math.pi)
