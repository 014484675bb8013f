"""Plain meshes: those for which pseudonormals and winding number agree on the side of every point (docs/inside.md).

A mesh is plain if it is closed, oriented outward, and free of self-intersections and self-touching.
"""

import numpy as np
from numpy.typing import NDArray

from ...kernels.bvh.tree import Tree
from ...mesh.topology import Topology
from .intersections import self_intersections_of
from .solid_boundary import EnclosedSolid
from .winding import INSIDE, OUTSIDE

Floats = NDArray[np.float64]
THIN = 1e-5  # height of a triangle divided by its longest edge, below which rounding rotates its normal noticeably


def is_plain(x: Floats, top: Topology, tree: Tree) -> bool:
    """Return whether the welded faces at x (n,3) are plain; `tree` is an AABB tree over them."""
    faces = top.faces
    if not is_closed_and_oriented(top):
        return False
    if len(self_intersections_of(x, faces, tree)):
        return False
    if len(np.unique(top.components[faces[:, 0]])) == 1:
        return bool(_volume(x[faces]) > 0.0)
    parts = EnclosedSolid(top).parts(x, tree)
    return bool((parts.above == OUTSIDE).all() and (parts.below == INSIDE).all())


def is_closed_and_oriented(top: Topology) -> bool:
    """Return whether there are faces, two of opposite directions at every edge, each with three different corners."""
    faces = top.faces
    return bool(
        len(faces)
        and (top.n_faces_at_edge == 2).all()
        and not top.orientation_sum.any()
        and not (faces == np.roll(faces, 1, 1)).any()
    )


def is_sliver_free(x: Floats, faces: NDArray[np.int32]) -> bool:
    """Return whether no face at x (n,3) is a sliver, so that all normals are accurate."""
    a, b, c = (x[faces[:, k]] for k in range(3))
    e, f, g = b - a, c - b, a - c
    longest = np.maximum.reduce([np.einsum("ni,ni->n", side, side) for side in (e, f, g)])
    area2 = sum((e[:, i] * f[:, j] - e[:, j] * f[:, i]) ** 2 for i, j in ((0, 1), (1, 2), (2, 0)))
    return bool((np.sqrt(area2) > THIN * longest).all())


def _volume(t: Floats) -> float:
    """Six times the signed volume of triangles (n,3,3), relative to their centroid."""
    t = t - t.mean((0, 1))
    return float(np.einsum("ij,ij->", t[:, 0], np.cross(t[:, 1], t[:, 2])))
