"""Rows of arrays on the card: checks, selections, and rows that are written from the host."""

from .card import cuda
from .jit import kernel, prange


@kernel(parallel=True)
def first_beyond(values, most, first):
    """Lower first[0] to the first place of `values` (n,) that is not a number within +-most."""
    for i in prange(len(values)):
        if not abs(values[i]) <= most:
            cuda.atomic.min(first, 0, i)


@kernel(parallel=True)
def take(rows, x, out):
    """Copy the listed rows of x (n,k) to `out` (m,k)."""
    for c in prange(len(rows)):
        for k in range(x.shape[1]):
            out[c, k] = x[rows[c], k]


@kernel(parallel=True)
def put(rows, x, out):
    """Copy x (m,k) to the listed rows of `out` (n,k)."""
    for c in prange(len(rows)):
        for k in range(x.shape[1]):
            out[rows[c], k] = x[c, k]


@kernel(parallel=True)
def count_up(order):
    for i in prange(len(order)):
        order[i] = i


@kernel(parallel=True)
def fill_rows(x, value):
    """Set all elements of x (n,k) to `value`."""
    for i in prange(len(x)):
        for k in range(x.shape[1]):
            x[i, k] = value


@kernel(parallel=True)
def list_unsure(found, sign, distance, margin, face, rows, count):
    """Copy the nearest faces, found[:, 0], and list the points whose side no normal gives."""
    for i in prange(len(found)):
        face[i] = found[i, 0]
        if sign[i] == 0 or abs(distance[i]) <= margin:
            rows[cuda.atomic.add(count, 0, 1)] = i


@kernel(parallel=True)
def list_marked(marked, rows, count):
    """List the rows where `marked` (n,) is set, in any order."""
    for i in prange(len(marked)):
        if marked[i]:
            rows[cuda.atomic.add(count, 0, 1)] = i


@kernel(parallel=True)
def count_different(pairs, x, count):
    """Count the pairs (k,2) of rows of x (n,3) that differ."""
    for c in prange(len(pairs)):
        i, j = pairs[c, 0], pairs[c, 1]
        if x[i, 0] != x[j, 0] or x[i, 1] != x[j, 1] or x[i, 2] != x[j, 2]:
            cuda.atomic.add(count, 0, 1)


@kernel(parallel=True)
def count_unequal(x, y, count):
    """Count the rows of x (n,3) that differ from those of y."""
    for i in prange(len(x)):
        if x[i, 0] != y[i, 0] or x[i, 1] != y[i, 1] or x[i, 2] != y[i, 2]:
            cuda.atomic.add(count, 0, 1)


@kernel(parallel=True)
def largest_coordinate(x, readers, largest):
    """Raise largest[0] to the largest absolute value in x (n,3), with so many threads."""
    for c in prange(readers):
        most = 0.0
        for i in range(c, len(x), readers):
            most = max(most, abs(x[i, 0]), abs(x[i, 1]), abs(x[i, 2]))
        cuda.atomic.max(largest, 0, most)


@kernel(parallel=True)
def clear(x):
    """Set all of x (n,) to zero."""
    for i in prange(len(x)):
        x[i] = 0
