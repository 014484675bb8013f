"""Easing: how much larger a garment has to be around each vertex to follow the skin without being stretched.

A tailor gives a garment that is cut for one pose the ease that others need: the skin of a shoulder is longer over a
lowered arm than over one that is raised.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array

from ..mesh import Mesh

Floats = NDArray[np.float64]
STEPS = 1000  # of smoothing, at most


def eased(mesh: Mesh, rest: Floats, shapes: Iterable[Floats], most: float, spread: float) -> Floats:
    """Return the factors (n,), 1 to 1 + `most`, by which a garment grows around its vertices.

    rest (n,3): the garment in the pose for which it was cut; shapes: where the skin takes it. At each vertex, the edge
    that becomes longest counts; these factors are then smoothed over `spread` metres.
    """
    row, edges, n = mesh.weld_index, mesh.welded.topology.edges, mesh.welded.n_vertices
    first = np.zeros(n, np.int64)
    first[row] = np.arange(len(row))
    length = _lengths(rest[first], edges)
    longest = np.maximum(length, 1e-300)
    for x in shapes:
        longest = np.maximum(longest, _lengths(x[first], edges))
    growth = np.clip(longest / np.maximum(length, 1e-300), 1.0, 1.0 + most)
    out = np.ones(n)
    for end in edges.T:
        np.maximum.at(out, end, growth)
    return smoothed(out, edges, float(np.median(length)), spread)[row]


def smoothed(values: Floats, edges: NDArray[np.int32], length: float, spread: float) -> Floats:
    """Return the values (n,) of vertices averaged along edges of about `length` metres, over `spread` metres."""
    n, both = len(values), np.concatenate([edges, edges[:, ::-1]])
    beside = coo_array((np.ones(len(both)), both.T), shape=(n, n)).tocsr()
    count = beside.sum(1)
    joined = count > 0.0
    for _ in range(min(max(round(2.0 * (spread / max(length, 1e-300)) ** 2), 0), STEPS)):
        values = np.where(joined, 0.5 * (values + (beside @ values) / np.maximum(count, 1.0)), values)
    return values


def _lengths(x: Floats, edges: NDArray[np.int32]) -> Floats:
    return np.asarray(np.linalg.norm(x[edges[:, 0]] - x[edges[:, 1]], axis=1))
