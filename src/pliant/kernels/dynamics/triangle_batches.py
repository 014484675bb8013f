"""Triangles in batches of 64, component by component: LLVM then computes four or eight of them at a time.

A batch is one array (rows * BATCH,): row k has component k of every triangle of the batch. Constant distances between
the rows let LLVM prove that they do not overlap. The arithmetic, and so every bit of the result, is that of a loop over
single triangles. The unused columns of the last batch of a range contain values of the batch before it.
"""

from ..jit import kernel

BATCH = 64
INPUTS = 13  # rows that `gather` fills


@kernel
def gather(m, which, first, last, x, batch):
    """Store edges ab, ac at x (rows 0..5), rest shape (6..9) and compliance (10..12) of the triangles
    which[first..last-1]."""
    for k in range(last - first):
        e = which[first + k]
        a, b, c = m.faces[e, 0], m.faces[e, 1], m.faces[e, 2]
        for d in range(3):
            batch[d * BATCH + k] = x[b, d] - x[a, d]
            batch[(3 + d) * BATCH + k] = x[c, d] - x[a, d]
            batch[(10 + d) * BATCH + k] = m.compliance[e, d]
        for d in range(4):
            batch[(6 + d) * BATCH + k] = m.rest[e, d]


@kernel
def three(batch, row, k):
    """Components `row`, row + 1 and row + 2 of triangle `k`."""
    return (batch[row * BATCH + k], batch[(row + 1) * BATCH + k], batch[(row + 2) * BATCH + k])


@kernel
def set_three(batch, row, k, a):
    batch[row * BATCH + k], batch[(row + 1) * BATCH + k], batch[(row + 2) * BATCH + k] = a[0], a[1], a[2]
