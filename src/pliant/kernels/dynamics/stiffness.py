"""The stiffness of cloth as a sparse matrix of 3x3 blocks between vertices, assembled for each solve.

A translation causes no forces inside cloth, so every row of the matrix sums to zero: products are computed from
differences of displacements, by the blocks beside the diagonal alone. Rounding the blocks to single precision therefore
changes the stiffness by its seventh digit but exerts no force on cloth that moves as a whole. The energy is that of
`implicit`; its Hessian is used without the terms that can make it indefinite (Gauss-Newton for shear, tension only for
the geometric stiffness). Every row is gathered in a fixed order: bitwise identical on any number of threads.
"""

from typing import NamedTuple

import numpy as np

from .. import vec
from ..jit import kernel, prange
from ..lanes import block_products, weighted_differences
from .cloth import columns, part, unit_columns
from .triangle_batches import BATCH, INPUTS, gather, set_three, three

CHUNKS = 64  # ranges of a loop that threads share; sums are added up in their order
ROUNDING = 1e-6  # of single precision, after a few operations
MOST = 10.0  # bound of the gradient of shear: below a tenth of the rest length it is meaningless


class Stiffness(NamedTuple):
    """Blocks between the vertices of edges, by rows, and the bending stiffness between other vertices."""

    start: np.ndarray  # (n+1,)
    place: np.ndarray  # (k,) i4 columns, without the diagonal
    source_start: np.ndarray  # (k+1,)
    source: np.ndarray  # (s,) i4 blocks of triangles that add up: 2 * (3 * triangle + edge), + 1 if transposed
    near: np.ndarray  # (k,) f4 bending stiffness, N/m
    blocks: np.ndarray  # (k,3,4) f4 columns of the blocks, N/m; the last number of each is padding
    far_start: np.ndarray  # (n+1,)
    far_place: np.ndarray  # (l,) i4
    far: np.ndarray  # (l,) f4 bending stiffness, N/m


@kernel
def plus_outer(a, even, p, q):
    """The 3x3 matrix a + even + p q^T by rows; a: xx, yy, zz, xy, xz, yz."""
    return (
        a[0] + even + p[0] * q[0],
        a[3] + p[0] * q[1],
        a[4] + p[0] * q[2],
        a[3] + p[1] * q[0],
        a[1] + even + p[1] * q[1],
        a[5] + p[1] * q[2],
        a[4] + p[2] * q[0],
        a[5] + p[2] * q[1],
        a[2] + even + p[2] * q[2],
    )


@kernel
def mixed(u, v, a, b):
    """a u u^T + b v v^T as xx, yy, zz, xy, xz, yz."""
    p, q = vec.scale(u, a), vec.scale(v, b)
    return (
        p[0] * u[0] + q[0] * v[0],
        p[1] * u[1] + q[1] * v[1],
        p[2] * u[2] + q[2] * v[2],
        p[0] * u[1] + q[0] * v[1],
        p[0] * u[2] + q[0] * v[2],
        p[1] * u[2] + q[1] * v[2],
    )


@kernel
def edge_block(axes, tension, p, q, shears):
    """Stiffness between two corners of a triangle by rows; p, q: stiffness along the columns u, v = axes.

    tension: shares t of the geometric stiffness of both. shears: gradients of shear at the corners, one times its
    stiffness.
    """
    along = mixed(axes[0], axes[1], p * (1.0 - tension[0]), q * (1.0 - tension[1]))
    return plus_outer(along, p * tension[0] + q * tension[1], shears[0], shears[1])


@kernel
def batch_blocks(batch):
    """Stiffness of a batch of triangles between the ends of their edges ab, bc, ca by rows, to its rows INPUTS.. ."""
    for k in range(BATCH):
        r0, r1, r2, r3 = batch[6 * BATCH + k], batch[7 * BATCH + k], batch[8 * BATCH + k], batch[9 * BATCH + k]
        u, v = columns((0.0, 0.0, 0.0), three(batch, 0, k), three(batch, 3, k), (r0, r1, r2, r3))
        _, _, i_u, i_v, u, v = unit_columns(u, v)
        t = (max(0.0, 1.0 - i_u), max(0.0, 1.0 - i_v))
        k_u, k_v, k_s = 1.0 / batch[10 * BATCH + k], 1.0 / batch[11 * BATCH + k], 1.0 / batch[12 * BATCH + k]
        s = vec.dot(u, v)
        w_u, w_v = vec.scale(vec.madd(v, u, -s), min(i_u, MOST)), vec.scale(vec.madd(u, v, -s), min(i_v, MOST))
        at_b, at_c = vec.madd(vec.scale(w_u, r0), w_v, r2), vec.madd(vec.scale(w_u, r1), w_v, r3)
        at_a = vec.scale(vec.add(at_b, at_c), -1.0)
        stiff_b, stiff_c = vec.scale(at_b, k_s), vec.scale(at_c, k_s)
        o_u, o_v = -(r0 + r1) * k_u, -(r2 + r3) * k_v
        ab = edge_block((u, v), t, o_u * r0, o_v * r2, (at_a, stiff_b))
        bc = edge_block((u, v), t, r0 * r1 * k_u, r2 * r3 * k_v, (stiff_b, at_c))
        ca = edge_block((u, v), t, o_u * r1, o_v * r3, (stiff_c, at_a))
        for row in range(3):
            set_three(batch, INPUTS + 3 * row, k, (ab[3 * row], ab[3 * row + 1], ab[3 * row + 2]))
            set_three(batch, INPUTS + 9 + 3 * row, k, (bc[3 * row], bc[3 * row + 1], bc[3 * row + 2]))
            set_three(batch, INPUTS + 18 + 3 * row, k, (ca[3 * row], ca[3 * row + 1], ca[3 * row + 2]))


@kernel
def triangle_blocks(m, first, last, x, out):
    """Stiffness of triangles first..last-1 at x between the ends of their edges ab, bc, ca: rows 3e.. of out (3m,9)."""
    batch = np.ones((INPUTS + 27) * BATCH)
    for begin in range(first, last, BATCH):
        end = min(begin + BATCH, last)
        gather(m, begin, end, x, batch)
        batch_blocks(batch)
        for e in range(begin, end):
            for j in range(9):
                out[3 * e, j] = batch[(INPUTS + j) * BATCH + e - begin]
                out[3 * e + 1, j] = batch[(INPUTS + 9 + j) * BATCH + e - begin]
                out[3 * e + 2, j] = batch[(INPUTS + 18 + j) * BATCH + e - begin]


@kernel
def inverse(block):
    """Inverse of a symmetric positive definite block xx, yy, zz, xy, xz, yz, in the same order."""
    a, b, c, d, e, f = block
    x, y, z = b * c - f * f, e * f - d * c, d * f - e * b
    s = 1.0 / (a * x + d * y + e * z)
    return x * s, (a * c - e * e) * s, (a * b - d * d) * s, y * s, z * s, (d * e - a * f) * s


@kernel
def gather_rows(k, first, last, mass, parts, inverses):
    """Add up the blocks beside the diagonal of rows first..last-1, and invert the diagonal blocks: inertia minus the
    sum of the other blocks of the row.

    The inverses only precondition, so the diagonal blocks are made a little stiffer: by more than the rounding of the
    blocks, which otherwise could make them indefinite where inertia is less than a millionth of the stiffness.
    """
    zero = np.float32(0.0)
    for i in range(first, last):
        xx, yy, zz, xy, xz, yz = mass[i], mass[i], mass[i], 0.0, 0.0, 0.0
        for at in range(k.start[i], k.start[i + 1]):
            b0, b1, b2, b3, b4, b5, b6, b7, b8 = zero, zero, zero, zero, zero, zero, zero, zero, zero
            for which in range(k.source_start[at], k.source_start[at + 1]):
                s, t = k.source[which] >> 1, 2 * (k.source[which] & 1)  # t: 2 if transposed
                b0, b1, b2 = b0 + parts[s, 0], b1 + parts[s, 1 + t], b2 + parts[s, 2 + 2 * t]
                b3, b4, b5 = b3 + parts[s, 3 - t], b4 + parts[s, 4], b5 + parts[s, 5 + t]
                b6, b7, b8 = b6 + parts[s, 6 - 2 * t], b7 + parts[s, 7 - t], b8 + parts[s, 8]
            b0, b4, b8 = b0 + k.near[at], b4 + k.near[at], b8 + k.near[at]
            k.blocks[at, 0, 0], k.blocks[at, 0, 1], k.blocks[at, 0, 2] = b0, b3, b6
            k.blocks[at, 1, 0], k.blocks[at, 1, 1], k.blocks[at, 1, 2] = b1, b4, b7
            k.blocks[at, 2, 0], k.blocks[at, 2, 1], k.blocks[at, 2, 2] = b2, b5, b8
            xx, yy, zz, xy, xz, yz = xx - b0, yy - b4, zz - b8, xy - b1, xz - b2, yz - b5
        far = ROUNDING * (xx + yy + zz)
        for at in range(k.far_start[i], k.far_start[i + 1]):
            far -= k.far[at]
        prescribed = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        result = inverse((xx + far, yy + far, zz + far, xy, xz, yz)) if mass[i] > 0.0 else prescribed
        for j in range(6):
            inverses[i, j] = result[j]


@kernel(parallel=True)
def assemble(m, k, mass, x, parts, inverses):
    """Compute the blocks at x, and the inverses (n,6) of the diagonal blocks of the system matrix.

    mass: (n,) mass / dt^2; the inverses are zero where it is. parts: (3m,9) f4 scratch.
    """
    for p in prange(CHUNKS):
        a, b = part(0, len(m.faces), p, CHUNKS)
        triangle_blocks(m, a, b, x, parts)
    for p in prange(CHUNKS):
        a, b = part(0, len(x), p, CHUNKS)
        gather_rows(k, a, b, mass, parts, inverses)


@kernel
def ordered_sum(a):
    """Sum from first to last; NumPy's sum in a parallel kernel would depend on the number of threads."""
    total = 0.0
    for k in range(len(a)):
        total += a[k]
    return total


@kernel
def multiply_rows(k, first, last, mass, p, out):
    """Rows first..last-1 of the product of `multiply`; return their part of p . out."""
    total = 0.0
    for i in range(first, last):
        near = block_products(k.blocks, k.place, k.start[i], k.start[i + 1], p, i)
        far = weighted_differences(k.far, k.far_place, k.far_start[i], k.far_start[i + 1], p, i)
        own = vec.load(p, i)
        q = vec.madd((near[0] + far[0], near[1] + far[1], near[2] + far[2]), own, mass[i])
        if mass[i] == 0.0:
            q = (0.0, 0.0, 0.0)
        vec.store(out, i, q)
        total += vec.dot(own, q)
    return total


@kernel(parallel=True)
def multiply(k, mass, p, out):
    """Product of the system matrix with p (zero at prescribed vertices), both (n,4) f4, and the dot product p . out."""
    partial = np.zeros(CHUNKS)
    for c in prange(CHUNKS):
        a, b = part(0, len(p), c, CHUNKS)
        partial[c] = multiply_rows(k, a, b, mass, p, out)
    return ordered_sum(partial)
