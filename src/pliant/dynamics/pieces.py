"""Pieces: connected parts of cloth or soft bodies that nothing holds, whose momentum only external forces change."""

import numpy as np
from numpy.typing import NDArray

from ..kernels.dynamics import pieces as _kernels
from ..kernels.dynamics.pieces import Pieces


def unconstrained_pieces(elements: NDArray[np.int32], w: NDArray[np.float64]) -> Pieces:
    """Return the connected components of triangles or tetrahedra without pinned or gripped vertices."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    ends = np.concatenate([elements[:, [0, k]] for k in range(1, elements.shape[1])])
    graph = coo_array((np.ones(len(ends), np.int8), ends.T), shape=(len(w), len(w)))
    label = connected_components(graph, directed=False)[1]
    used = np.unique(elements)
    free = used[~np.isin(label[used], label[used[w[used] == 0.0]])]
    rows = free[np.argsort(label[free], kind="stable")].astype(np.int64)
    start = np.concatenate([[0], np.cumsum(np.unique(label[rows], return_counts=True)[1])]).astype(np.int64)
    return Pieces(start, rows)


def untouched(pieces: Pieces, rows: NDArray[np.int32]) -> Pieces:
    """Return the pieces that have none of the vertices `rows`."""
    return Pieces(*_kernels.untouched(pieces, rows))
