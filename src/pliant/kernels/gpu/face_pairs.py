"""Exact intersections of triangles on the card: those of `queries/intersections.py`, for pairs that were listed by
their boxes (`near_pairs.list_overlaps`)."""

from typing import NamedTuple

import numpy as np

from .card import cuda
from .jit import kernel, prange
from .sources import twin

corners_intersect, load = twin("geometry.triangle_pair").corners_intersect, twin("vec").load


class FaceSide(NamedTuple):
    """A mesh on the card."""

    x: np.ndarray  # (n,3) f8 metres
    faces: np.ndarray  # (m,3) i4 rows of x
    corners: np.ndarray  # (m,3) i4 the same with welded vertex indices, which determine neighbours
    order: np.ndarray  # (m,) i4 faces in the leaf order of the BVH


@kernel
def ordered_faces(a, b, same, p, q):
    """The faces of two triangles in leaf order, within one mesh the lower one first."""
    f, g = a.order[p], b.order[q]
    return (g, f) if same and f > g else (f, g)


@kernel
def faces_intersect(a, b, same, f, g):
    p_0, p_1, p_2 = load(a.x, a.faces[f, 0]), load(a.x, a.faces[f, 1]), load(a.x, a.faces[f, 2])
    q_0, q_1, q_2 = load(b.x, b.faces[g, 0]), load(b.x, b.faces[g, 1]), load(b.x, b.faces[g, 2])
    i, j = (0, 1, 2), (3, 4, 5)
    if same:
        i = (a.corners[f, 0], a.corners[f, 1], a.corners[f, 2])
        j = (a.corners[g, 0], a.corners[g, 1], a.corners[g, 2])
    return corners_intersect(i, j, p_0, p_1, p_2, q_0, q_1, q_2)


@kernel(parallel=True)
def test_faces(a, b, same, pairs, count, hit, sizes):
    """Test the first `count` listed pairs: hit (count,), and the number of intersections of each face of a."""
    for m in prange(count):
        f, g = ordered_faces(a, b, same, pairs[m, 0], pairs[m, 1])
        hit[m] = faces_intersect(a, b, same, f, g)
        if hit[m]:
            cuda.atomic.add(sizes, f, 1)


@kernel(parallel=True)
def write_faces(a, b, same, pairs, hit, start, filled, out):
    """Write the intersecting faces (k,2), those of face f from start[f] on; filled (faces,) is initially zero."""
    for m in prange(len(hit)):
        if hit[m]:
            f, g = ordered_faces(a, b, same, pairs[m, 0], pairs[m, 1])
            to = start[f] + cuda.atomic.add(filled, f, 1)
            out[to, 0], out[to, 1] = f, g
