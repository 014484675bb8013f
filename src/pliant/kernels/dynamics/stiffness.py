"""The stiffness of cloth as a sparse matrix of 3x3 blocks between vertices, assembled for each solve.

A translation causes no forces inside cloth, so every row of the matrix sums to zero: products are computed from
differences of displacements, by the blocks beside the diagonal alone. Rounding the blocks to single precision therefore
changes the stiffness by its seventh digit but exerts no force on cloth that moves as a whole. The energy is that of
`triangles`; its Hessian is used without the terms that can make it indefinite (Gauss-Newton for shear, tension only for
the geometric stiffness). Every row is gathered in a fixed order: bitwise identical on any number of threads.
"""

from typing import NamedTuple

import numpy as np

from .. import vec
from ..jit import kernel
from ..lanes import block_products, gathered_blocks, weighted_differences

CHUNKS = 64  # ranges of a loop that threads share; sums are added up in their order
ROUNDING = 1e-6  # of single precision, after a few operations


class Patches(NamedTuple):
    """Ranges of vertices, `part`s of all, with the triangles around each, in ascending order. A triangle that joins two
    of them belongs to both: computing it twice takes less time than carrying its terms from one core to another."""

    start: np.ndarray  # (patches+1,)
    faces: np.ndarray  # (k,) triangles


class Stiffness(NamedTuple):
    """Blocks between the vertices of edges, by rows, and the bending stiffness between other vertices."""

    start: np.ndarray  # (n+1,)
    place: np.ndarray  # (k,) i4 columns, without the diagonal
    source_start: np.ndarray  # (k+1,)
    # (s,) i4 blocks of triangles that add up: 2 * (3 * triangle + edge), + 1 if transposed; numbered in their patch
    source: np.ndarray
    near: np.ndarray  # (k,) f4 bending stiffness, N/m
    blocks: np.ndarray  # (k,3,4) f4 columns of the blocks, N/m; the last number of each is padding
    far_start: np.ndarray  # (n+1,)
    far_place: np.ndarray  # (l,) i4
    far: np.ndarray  # (l,) f4 bending stiffness, N/m


@kernel
def inverse(block):
    """Inverse of a symmetric positive definite block xx, yy, zz, xy, xz, yz, in the same order."""
    a, b, c, d, e, f = block
    x, y, z = b * c - f * f, e * f - d * c, d * f - e * b
    s = 1.0 / (a * x + d * y + e * z)
    return x * s, (a * c - e * e) * s, (a * b - d * d) * s, y * s, z * s, (d * e - a * f) * s


@kernel
def symmetric_product(blocks, k, a):
    """Block `k` of `blocks` (n,6), each xx, yy, zz, xy, xz, yz, times the vector a."""
    x, y, z = a
    b0, b1, b2, b3, b4, b5 = blocks[k, 0], blocks[k, 1], blocks[k, 2], blocks[k, 3], blocks[k, 4], blocks[k, 5]
    return b0 * x + b3 * y + b4 * z, b3 * x + b1 * y + b5 * z, b4 * x + b5 * y + b2 * z


@kernel
def gather_rows(k, first, last, mass, parts, inverses):
    """Add up the blocks beside the diagonal of rows first..last-1, and invert the diagonal blocks: inertia minus the
    sum of the other blocks of the row.

    The inverses only precondition, so the diagonal blocks are made a little stiffer: by more than the rounding of the
    blocks, which otherwise could make them indefinite where inertia is less than a millionth of the stiffness.
    """
    for i in range(first, last):
        xx, yy, zz, xy, xz, yz = gathered_blocks(
            parts, k.source, k.start[i], k.start[i + 1], k.source_start, k.near, k.blocks, mass[i]
        )
        far = ROUNDING * (xx + yy + zz)
        for at in range(k.far_start[i], k.far_start[i + 1]):
            far -= k.far[at]
        prescribed = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        result = inverse((xx + far, yy + far, zz + far, xy, xz, yz)) if mass[i] > 0.0 else prescribed
        for j in range(6):
            inverses[i, j] = result[j]


@kernel
def ordered_sum(a):
    """Sum from first to last; NumPy's sum in a parallel kernel would depend on the number of threads."""
    total = 0.0
    for k in range(len(a)):
        total += a[k]
    return total


@kernel
def multiply_rows(k, s, first, last, mass, p, out):
    """Rows first..last-1 of the product of the system matrix with p, both (n,4) f4, zero at prescribed vertices; return
    their part of p . out. s: the springs of contacts."""
    total = 0.0
    for i in range(first, last):
        near = block_products(k.blocks, k.place, k.start[i], k.start[i + 1], p, i)
        far = weighted_differences(k.far, k.far_place, k.far_start[i], k.far_start[i + 1], p, i)
        own = vec.load(p, i)
        q = vec.madd((near[0] + far[0], near[1] + far[1], near[2] + far[2]), own, mass[i])
        if s.place[i] >= 0:
            q = vec.add(q, symmetric_product(s.held, s.place[i], own))
        if mass[i] == 0.0:
            q = (0.0, 0.0, 0.0)
        vec.store(out, i, q)
        total += vec.dot(own, q)
    return total
