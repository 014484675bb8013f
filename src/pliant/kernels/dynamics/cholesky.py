"""Sparse Cholesky factorisation of a symmetric positive definite matrix, and solves with three right-hand sides.

The factorisation is the up-looking one, row by row along paths of the elimination tree (Davis, Direct Methods for
Sparse Linear Systems, 2006), in double precision; solves are in single precision, because the factor preconditions.

Columns are ordered as `parts` subtrees of that tree, followed by the `top` that joins them: different subtrees are
independent, so that threads solve them side by side. What a subtree subtracts from the top is collected in rows of its
own and added in the order of the subtrees, so results are bitwise identical on any number of threads.
"""

import math
from typing import NamedTuple

import numpy as np

from .. import vec
from ..jit import kernel
from ..lanes import subtract_multiples, weighted_rows
from .contact_springs import scaled


class Factor(NamedTuple):
    """The factor L of P A P^T = L L^T, by columns, for both substitutions."""

    order: np.ndarray  # (n,) row of A at each place of P A P^T
    diagonal: np.ndarray  # (n,) f4 reciprocal diagonal of L
    start: np.ndarray  # (n+1,)
    place: np.ndarray  # (nnz,) i4 rows of the scratch: places below the diagonal; for the top, of its image
    value: np.ndarray  # (nnz,) f4
    parts: np.ndarray  # (parts+1,) first place of each subtree, and of the top
    images: np.ndarray  # (k,) places of the top that subtrees refer to; their images are rows n.. of the scratch
    image_start: np.ndarray  # (parts+1,) first of them for each subtree


class Scaling(NamedTuple):
    """Factors by which rows are scaled before and after a solve; `contact_springs.SpringArrays` has them, too."""

    place: np.ndarray  # (m,) of each row in `factors`, or -1
    factors: np.ndarray  # (k,6) symmetric matrices: xx, yy, zz, xy, xz, yz


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
    """Forward substitution of places first..last-1: each subtracts its column from the later places."""
    for i in range(first, last):
        d = f.diagonal[i]
        x[i, 0], x[i, 1], x[i, 2] = x[i, 0] * d, x[i, 1] * d, x[i, 2] * d
        subtract_multiples(f.value, f.place, f.start[i], f.start[i + 1], x, i)


@kernel
def backward(f, first, last, x):
    """Backward substitution of places last-1..first: each from the later places of its column."""
    for i in range(last - 1, first - 1, -1):
        total = weighted_rows(f.value, f.place, f.start[i], f.start[i + 1], x)
        d = f.diagonal[i]
        x[i, 0], x[i, 1], x[i, 2] = (x[i, 0] - total[0]) * d, (x[i, 1] - total[1]) * d, (x[i, 2] - total[2]) * d


@kernel
def read(f, first, last, r, s, x):
    """Copy the right-hand sides of places first..last-1, scaled where `s` has a factor (`contact_springs`)."""
    for i in range(first, last):
        k = f.order[i]
        x[i, 3] = 0.0
        vec.store(x, i, scaled(s, k, vec.load(r, k)))


@kernel
def write(f, first, last, x, s, z):
    """Copy the solutions of places first..last-1, scaled as in `read`, so that the preconditioner is symmetric."""
    for i in range(first, last):
        k = f.order[i]
        vec.store(z, k, scaled(s, k, vec.load(x, i)))


@kernel
def forward_part(f, p, r, s, x):
    """Forward substitution of subtree `p`; x: (n+k,4) f4 scratch."""
    n = len(f.order)
    read(f, f.parts[p], f.parts[p + 1], r, s, x)
    for k in range(n + f.image_start[p], n + f.image_start[p + 1]):
        x[k, 0], x[k, 1], x[k, 2], x[k, 3] = 0.0, 0.0, 0.0, 0.0
    forward(f, f.parts[p], f.parts[p + 1], x)


@kernel
def solve_top(f, r, z, s, x):
    """Forward and backward substitution of the top, after the forward substitution of all subtrees."""
    n, top = len(f.order), f.parts[len(f.parts) - 1]
    read(f, top, n, r, s, x)
    for k in range(len(f.images)):
        i = f.images[k]
        x[i, 0], x[i, 1], x[i, 2] = x[i, 0] + x[n + k, 0], x[i, 1] + x[n + k, 1], x[i, 2] + x[n + k, 2]
    forward(f, top, n, x)
    backward(f, top, n, x)
    write(f, top, n, x, s, z)


@kernel
def backward_part(f, p, z, s, x):
    """Backward substitution of subtree `p`, after that of the top."""
    n = len(f.order)
    for k in range(f.image_start[p], f.image_start[p + 1]):
        i = f.images[k]
        x[n + k, 0], x[n + k, 1], x[n + k, 2] = x[i, 0], x[i, 1], x[i, 2]
    backward(f, f.parts[p], f.parts[p + 1], x)
    write(f, f.parts[p], f.parts[p + 1], x, s, z)


@kernel
def solve(f, r, z, s, x):
    """Solve A z = r for (m,3) arrays; rows of A are rows `order` of r and z. x: (n+k,4) f4 scratch."""
    for p in range(len(f.parts) - 1):
        forward_part(f, p, r, s, x)
    solve_top(f, r, z, s, x)
    for p in range(len(f.parts) - 1):
        backward_part(f, p, z, s, x)
