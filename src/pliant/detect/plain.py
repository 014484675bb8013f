"""Plain meshes: those whose pseudonormals and winding number give every point the same side (docs/inside.md).

A mesh is plain where it is closed and oriented, nothing crosses or touches, and in front of every face is the outside.
"""

import numpy as np
from numpy.typing import NDArray

from ..kernels.tree import Tree
from ..topology import Topology
from .solid import Solid
from .tree.crossings import crossings_of
from .winding import INSIDE, OUTSIDE

Floats = NDArray[np.float64]
THIN = 1e-5  # of its longest edge: the height of a triangle below which rounding turns its normal noticeably


def is_plain(x: Floats, top: Topology, tree: Tree) -> bool:
    """Whether pseudonormals tell the sides of welded faces at x; `tree` is a BVH of boxes over them."""
    faces = top.faces
    if not len(faces) or not (top.use == 2).all() or top.flow.any() or (faces == np.roll(faces, 1, 1)).any():
        return False
    if len(crossings_of(x, faces, tree)):
        return False
    if len(np.unique(top.components[faces[:, 0]])) == 1:
        return bool(_volume(x[faces]) > 0.0)
    parts = Solid(top).parts(x, tree)
    return bool((parts.above == OUTSIDE).all() and (parts.below == INSIDE).all())


def is_sliver_free(x: Floats, faces: NDArray[np.int32]) -> bool:
    """Whether every face at x has a normal that rounding does not turn."""
    t = x[faces]
    sides = t - np.roll(t, 1, 1)
    longest = (sides**2).sum(2).max(1)
    area = np.linalg.norm(np.cross(sides[:, 0], sides[:, 1]), axis=1)
    return bool((area > THIN * longest).all())


def _volume(t: Floats) -> float:
    """Six times the signed volume of triangles (n,3,3), about their own centre."""
    t = t - t.mean((0, 1))
    return float(np.einsum("ij,ij->", t[:, 0], np.cross(t[:, 1], t[:, 2])))
