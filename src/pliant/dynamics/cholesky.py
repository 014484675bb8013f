"""Cholesky: a sparse factorisation that is computed once and solved many times, on all threads."""

import heapq
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels.dynamics import cholesky as _kernels

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
PARTS = 16  # groups of independent subtrees, which threads share


class Cholesky:
    """The factorisation of a symmetric positive definite sparse matrix.

    `rows` are the rows of the vectors that the matrix acts on: `solve` reads and writes only these. The unknowns are
    ordered by the minimum degree algorithm of SuperLU. The factor is computed in double precision, and solves run in
    single precision. Raises ValueError if the matrix is not positive definite.
    """

    def __init__(self, matrix: Any, rows: Ints) -> None:
        order = _minimum_degree(matrix)
        start, place, _ = _permuted(matrix, order)
        parent = _kernels.elimination_tree(start, place)
        order2, parts = _subtrees(parent, _kernels.column_counts(start, place, parent), order)
        order = order[order2]
        start, place, value = _permuted(matrix, order)
        parent = _kernels.elimination_tree(start, place)
        counts = _kernels.column_counts(start, place, parent)
        begin = np.concatenate([[0], np.cumsum(counts)])
        row, entry = _kernels.factorise(start, place, value, parent, begin)
        if not np.isfinite(entry).all():
            raise ValueError("the matrix is not positive definite")
        self.factor = _in_parts(np.asarray(rows)[order], row, entry, begin, parts)
        self.scratch = np.empty((len(order) + len(self.factor.images), 4), np.float32)

    def solve(self, right: NDArray[Any], out: NDArray[Any]) -> None:
        """Write the solution for the right-hand sides, the first three columns of `right`, into those of `out`."""
        _kernels.solve(self.factor, right, out, unscaled(len(right)), self.scratch)


def unscaled(rows: int) -> _kernels.Scaling:
    """The scaling of a solve with as many rows that scales none."""
    return _kernels.Scaling(np.full(rows, -1, np.int32), np.zeros((0, 6)))


def _minimum_degree(matrix: Any) -> Ints:
    """Return an order of the unknowns that keeps the factor sparse."""
    from scipy.sparse.linalg import splu

    options = {"SymmetricMode": True}
    try:
        lu = splu(matrix.tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options)
    except RuntimeError:  # a zero pivot
        raise ValueError("the matrix is not positive definite") from None
    return np.argsort(lu.perm_c).astype(np.int64)


def _permuted(matrix: Any, order: Ints) -> tuple[Ints, Ints, Floats]:
    """Return the permuted matrix by columns: start, rows and values."""
    m = matrix.tocsr()[order][:, order].tocsc()
    m.sort_indices()
    return m.indptr.astype(np.int64), m.indices.astype(np.int64), m.data.astype(np.float64)


def _subtrees(parent: Ints, counts: Ints, rows: Ints) -> tuple[Ints, Ints]:
    """Split the elimination tree into PARTS groups of subtrees of about equal work, and the top above them.

    The subtrees are in the order of the mean of their `rows` (n,), so that the thread that solves a group also has most
    of its rows in its loops over vertices. Return the order of the columns, and where each group and the top begin.
    """
    n = len(parent)
    work, size, middle = counts.astype(np.float64), np.ones(n), rows.astype(np.float64)
    children: list[list[int]] = [[] for _ in range(n)]
    for j in range(n):
        if parent[j] >= 0:
            for total in (work, size, middle):
                total[parent[j]] += total[j]
            children[parent[j]].append(j)
    heap = [(-work[j], j) for j in range(n) if parent[j] < 0]
    heapq.heapify(heap)
    most, group = work[[j for _, j in heap]].sum() / (2 * PARTS), np.full(n, PARTS, np.int64)
    while heap and -heap[0][0] > most:  # the largest subtree: its root joins the top
        _, j = heapq.heappop(heap)
        for child in children[j]:
            heapq.heappush(heap, (-work[child], child))
    roots = np.array([j for _, j in sorted((middle[j] / size[j], j) for _, j in heap)], np.int64)
    done = np.cumsum(work[roots]) - 0.5 * work[roots]
    group[roots] = PARTS * done // max(work[roots].sum(), 1.0)
    for j in range(n - 1, -1, -1):  # parents come later
        if group[j] == PARTS and parent[j] >= 0:
            group[j] = group[parent[j]]
    order = np.argsort(group, kind="stable")
    return order, np.searchsorted(group[order], np.arange(PARTS + 1)).astype(np.int64)


def _in_parts(order: Ints, row: Ints, entry: Floats, begin: Ints, parts: Ints) -> _kernels.Factor:
    """Return the factor with its diagonal stored apart, as reciprocals; each group of subtrees refers to its own copies
    (`images`) of the rows of the top."""
    n, top = len(order), parts[-1]
    column = np.repeat(np.arange(n), np.diff(begin))
    below = row != column
    row, column, value = row[below], column[below], entry[below]
    joins = (column < top) & (row >= top)
    part = np.searchsorted(parts[:-1], column[joins], side="right") - 1
    images, which = np.unique(part * n + row[joins], return_inverse=True)
    place = row.copy()
    place[joins] = n + which
    return _kernels.Factor(
        order=order.astype(np.int64),
        diagonal=(1.0 / entry[begin[:-1]]).astype(np.float32),
        start=np.searchsorted(column, np.arange(n + 1)).astype(np.int64),
        place=place.astype(np.int32),
        value=value.astype(np.float32),
        parts=parts,
        images=images % n,
        image_start=np.searchsorted(images, n * np.arange(len(parts))).astype(np.int64),
    )
