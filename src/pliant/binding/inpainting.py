"""Inpainting: weights of the vertices without a trusted match, the smoothest ones that continue the others."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .laplacian import Laplacian

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
_COLUMNS = 16  # right-hand sides solved at once
_STEP = 0.2  # share of the way to the mean of the neighbours in one step of smoothing


def inpaint(
    operator: Laplacian, weights: Floats, known: Mask, unknown: Mask, progress: Callable[[float], None] = lambda _: None
) -> Floats:
    """Return weights (n,b) in which the rows `unknown` minimise the energy for the given rows `known`.

    Every connected piece of `unknown` rows needs a known one. The rows found are not negative and sum to 1.
    """
    from scipy.sparse.linalg import splu

    out = weights.copy()
    if not unknown.any():
        return out
    energy = operator.energy()[unknown]
    inner = energy[:, unknown].tocsc()
    factor = splu(inner, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    outer, given = energy[:, known], weights[known]
    found = np.zeros((int(unknown.sum()), weights.shape[1]))
    for first in range(0, weights.shape[1], _COLUMNS):
        columns = slice(first, first + _COLUMNS)
        right = -(outer @ given[:, columns])
        near = factor.solve(right)
        near += factor.solve(right - inner @ near)  # one step of iterative refinement
        found[:, columns] = near
        progress(min(1.0, (first + _COLUMNS) / weights.shape[1]))
    out[unknown] = normalised(np.maximum(found, 0.0))
    return out


def smooth_seam(
    edges: NDArray[Any], lengths: Floats, weights: Floats, unknown: Mask, reach: float, steps: int
) -> Floats:
    """Return weights (n,b) averaged over neighbours within `reach` of the seams between known and unknown rows.

    edges (k,2) with lengths (k,) in metres; the reach is measured along them.
    """
    from scipy.sparse import coo_array, diags_array
    from scipy.sparse.csgraph import dijkstra

    n = len(weights)
    seam = np.unique(edges[unknown[edges[:, 0]] != unknown[edges[:, 1]]])
    if not steps or not len(seam):
        return weights
    ends = np.concatenate([edges, edges[:, ::-1]]).T
    # zero lengths would be no edges at all
    paths = coo_array((np.maximum(np.tile(lengths, 2), 1e-9 * reach), ends), shape=(n, n)).tocsr()
    near = np.flatnonzero(dijkstra(paths, indices=seam, min_only=True, limit=reach) <= reach)
    neighbours = coo_array((np.ones(ends.shape[1]), ends), shape=(n, n)).tocsr()[near]
    mean = diags_array(1.0 / neighbours.sum(1)) @ neighbours
    out = weights.copy()
    for _ in range(steps):
        out[near] += _STEP * (mean @ out - out[near])
    return out


def normalised(weights: Floats) -> Floats:
    """Return rows (n,b) that sum to 1; a row of zeros is an error."""
    total = weights.sum(1, keepdims=True)
    if not (total > 0.0).all():
        raise ValueError("the weights of a vertex are all zero; the mesh is too distorted for inpainting")
    return weights / total


def largest_influences(weights: Floats, count: int) -> tuple[NDArray[np.int32], Floats, Floats]:
    """Return joints (n,k) and weights (n,k) of the `count` largest weights of each row, normalised to sum to 1, and
    the sum (n,) of the others. Equal weights are chosen by the lower joint."""
    order = np.argsort(-weights, 1, kind="stable")[:, :count].astype(np.int32)
    kept = np.take_along_axis(weights, order, 1)
    return order, normalised(kept), np.maximum(1.0 - kept.sum(1), 0.0)
