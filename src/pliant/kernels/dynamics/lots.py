"""Triangles in lots of 64, component by component: LLVM then computes four or eight of them at a time.

A lot is one array (rows * LOT,): row k has component k of every triangle of the lot. Constant distances between the
rows let LLVM prove that they do not overlap. The arithmetic, and so every bit of the result, is that of a loop over
single triangles. Lots at the end of a range have leftovers of the one before in their last columns.
"""

from ..jit import kernel

LOT = 64
INPUTS = 13  # rows that `gather` fills


@kernel
def gather(m, first, last, x, lot):
    """Store edges ab, ac at x (rows 0..5), rest shape (6..9) and compliance (10..12) of triangles first..last-1."""
    for e in range(first, last):
        k, a, b, c = e - first, m.faces[e, 0], m.faces[e, 1], m.faces[e, 2]
        for d in range(3):
            lot[d * LOT + k] = x[b, d] - x[a, d]
            lot[(3 + d) * LOT + k] = x[c, d] - x[a, d]
            lot[(10 + d) * LOT + k] = m.compliance[e, d]
        for d in range(4):
            lot[(6 + d) * LOT + k] = m.rest[e, d]


@kernel
def three(lot, row, k):
    """Components `row`, row + 1 and row + 2 of triangle `k`."""
    return (lot[row * LOT + k], lot[(row + 1) * LOT + k], lot[(row + 2) * LOT + k])


@kernel
def set_three(lot, row, k, a):
    lot[row * LOT + k], lot[(row + 1) * LOT + k], lot[(row + 2) * LOT + k] = a[0], a[1], a[2]
