"""Sparse Cholesky factorisation of a symmetric positive definite matrix, and solves with three right-hand sides.

The factorisation is the up-looking one, row by row along paths of the elimination tree (Davis, Direct Methods for
Sparse Linear Systems, 2006). Columns are ordered as `parts` subtrees of that tree, followed by the `top` that joins
them: rows of different subtrees are independent, so that threads solve them side by side. Every unknown is gathered
from its row or column in a fixed order, so results are bitwise identical on any number of threads.
"""

import math
from typing import NamedTuple

import numpy as np

from ..jit import kernel, prange


class Factor(NamedTuple):
    """The factor L of P A P^T = L L^T, by rows for the forward and by columns for the backward substitution."""

    order: np.ndarray  # (n,) row of A at each place of P A P^T
    diagonal: np.ndarray  # (n,) reciprocal diagonal of L
    row_start: np.ndarray  # (n+1,)
    row_place: np.ndarray  # (nnz,) columns, below the diagonal, ascending
    row_value: np.ndarray  # (nnz,)
    column_start: np.ndarray  # (n+1,)
    column_place: np.ndarray  # (nnz,) rows, below the diagonal, ascending
    column_value: np.ndarray  # (nnz,)
    parts: np.ndarray  # (parts+1,) first place of each subtree, and of the top


@kernel
def elimination_tree(start, place):
    """Return the parent (n,) of every column in the elimination tree, -1 for roots.

    start, place: the pattern of the upper triangle by columns; entries below the diagonal are ignored.
    """
    n = len(start) - 1
    parent = np.full(n, -1, np.int64)
    above = np.full(n, -1, np.int64)  # compressed paths to the current root
    for k in range(n):
        for at in range(start[k], start[k + 1]):
            i = place[at]
            while i != -1 and i < k:
                following = above[i]
                above[i] = k
                if following == -1:
                    parent[i] = k
                i = following
    return parent


@kernel
def row_pattern(k, start, place, parent, mark, stack):
    """Store the columns of row `k` of L at the end of `stack`, each after those that it depends on; return the first.

    mark: (n,) scratch; a column that has `mark` k was visited for this row.
    """
    top = len(stack)
    mark[k] = k
    for at in range(start[k], start[k + 1]):
        i, length = place[at], 0
        if i > k:
            continue
        while mark[i] != k:
            stack[length] = i
            length += 1
            mark[i] = k
            i = parent[i]
        while length > 0:
            length -= 1
            top -= 1
            stack[top] = stack[length]
    return top


@kernel
def column_counts(start, place, parent):
    """Return the number of entries (n,) of every column of L, with the diagonal."""
    n = len(parent)
    counts, mark, stack = np.ones(n, np.int64), np.full(n, -1, np.int64), np.empty(n, np.int64)
    for k in range(n):
        for at in range(row_pattern(k, start, place, parent, mark, stack), n):
            counts[stack[at]] += 1
    return counts


@kernel
def factorise(start, place, value, parent, column_start):
    """Return rows and values of L by columns, diagonal first; a pivot that is not positive gives nan."""
    n = len(parent)
    rows, values = np.empty(column_start[n], np.int64), np.empty(column_start[n])
    end, x = column_start[:n].copy(), np.zeros(n)
    mark, stack = np.full(n, -1, np.int64), np.empty(n, np.int64)
    for k in range(n):
        first = row_pattern(k, start, place, parent, mark, stack)
        for at in range(start[k], start[k + 1]):
            if place[at] <= k:
                x[place[at]] = value[at]
        d = x[k]
        x[k] = 0.0
        for at in range(first, n):
            j = stack[at]
            entry = x[j] / values[column_start[j]]
            x[j] = 0.0
            for p in range(column_start[j] + 1, end[j]):
                x[rows[p]] -= values[p] * entry
            d -= entry * entry
            rows[end[j]], values[end[j]] = k, entry
            end[j] += 1
        rows[end[k]], values[end[k]] = k, math.sqrt(d) if d > 0.0 else math.nan
        end[k] += 1
    return rows, values


@kernel
def forward(f, first, last, x):
    """Forward substitution of places first..last-1: each from the earlier places of its row."""
    for i in range(first, last):
        a, b, c = x[i, 0], x[i, 1], x[i, 2]
        for at in range(f.row_start[i], f.row_start[i + 1]):
            j, entry = f.row_place[at], f.row_value[at]
            a -= entry * x[j, 0]
            b -= entry * x[j, 1]
            c -= entry * x[j, 2]
        d = f.diagonal[i]
        x[i, 0], x[i, 1], x[i, 2] = a * d, b * d, c * d


@kernel
def backward(f, first, last, x):
    """Backward substitution of places last-1..first: each from the later places of its column.

    The loop is that of `forward` on other arrays; passing arrays to a function per unknown would cost more than it.
    """
    for i in range(last - 1, first - 1, -1):
        a, b, c = x[i, 0], x[i, 1], x[i, 2]
        for at in range(f.column_start[i], f.column_start[i + 1]):
            j, entry = f.column_place[at], f.column_value[at]
            a -= entry * x[j, 0]
            b -= entry * x[j, 1]
            c -= entry * x[j, 2]
        d = f.diagonal[i]
        x[i, 0], x[i, 1], x[i, 2] = a * d, b * d, c * d


@kernel(parallel=True)
def solve(f, r, z, x):
    """Solve A z = r for (m,3) arrays; rows of A are rows `order` of r and z. x: (n,3) scratch."""
    n, parts = len(f.order), len(f.parts) - 1
    for p in prange(parts):
        for i in range(f.parts[p], f.parts[p + 1]):
            k = f.order[i]
            x[i, 0], x[i, 1], x[i, 2] = r[k, 0], r[k, 1], r[k, 2]
        forward(f, f.parts[p], f.parts[p + 1], x)
    for i in range(f.parts[parts], n):
        k = f.order[i]
        x[i, 0], x[i, 1], x[i, 2] = r[k, 0], r[k, 1], r[k, 2]
    forward(f, f.parts[parts], n, x)
    backward(f, f.parts[parts], n, x)
    for i in range(f.parts[parts], n):
        k = f.order[i]
        z[k, 0], z[k, 1], z[k, 2] = x[i, 0], x[i, 1], x[i, 2]
    for p in prange(parts):
        backward(f, f.parts[p], f.parts[p + 1], x)
        for i in range(f.parts[p], f.parts[p + 1]):
            k = f.order[i]
            z[k, 0], z[k, 1], z[k, 2] = x[i, 0], x[i, 1], x[i, 2]
