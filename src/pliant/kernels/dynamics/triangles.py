"""Forces and stiffness of the triangles of cloth, for implicit integration.

The energy is that of the XPBD constraints: half the squares of |u| - 1, |v| - 1 and cos(u,v) over their compliances,
with the columns u, v of each triangle's deformation gradient. Its Hessian is used without the terms that can make it
indefinite (Gauss-Newton for shear, tension only for the geometric stiffness).
"""

import numpy as np

from .. import vec
from ..jit import kernel
from .cloth import columns, unit_columns
from .triangle_batches import BATCH, INPUTS, gather, set_three, three

MOST = 10.0  # bound of the gradient of shear: below a tenth of the rest length it is meaningless


@kernel
def plus_outer(a, even, p, q):
    """The 3x3 matrix a + even I + p q^T by rows; a: xx, yy, zz, xy, xz, yz."""
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
def batch_terms(batch):
    """Gradients of the energy of a batch of triangles by their corners b and c, to its rows 0..5, and stiffness between
    the ends of their edges ab, bc, ca by rows, to its rows INPUTS.. ."""
    for k in range(BATCH):
        r0, r1, r2, r3 = batch[6 * BATCH + k], batch[7 * BATCH + k], batch[8 * BATCH + k], batch[9 * BATCH + k]
        u, v = columns((0.0, 0.0, 0.0), three(batch, 0, k), three(batch, 3, k), (r0, r1, r2, r3))
        n_u, n_v, i_u, i_v, u, v = unit_columns(u, v)
        soft_u, soft_v, soft_s = batch[10 * BATCH + k], batch[11 * BATCH + k], batch[12 * BATCH + k]
        s = vec.dot(u, v)
        across_u, across_v, most_u, most_v = vec.madd(v, u, -s), vec.madd(u, v, -s), min(i_u, MOST), min(i_v, MOST)
        # forces
        t = s / soft_s
        along_u = vec.madd(vec.scale(u, (n_u - 1.0) / soft_u), across_u, t * most_u)
        along_v = vec.madd(vec.scale(v, (n_v - 1.0) / soft_v), across_v, t * most_v)
        set_three(batch, 0, k, vec.madd(vec.scale(along_u, r0), along_v, r2))
        set_three(batch, 3, k, vec.madd(vec.scale(along_u, r1), along_v, r3))
        # stiffness
        tension = (max(0.0, 1.0 - i_u), max(0.0, 1.0 - i_v))
        k_u, k_v, k_s = 1.0 / soft_u, 1.0 / soft_v, 1.0 / soft_s
        w_u, w_v = vec.scale(across_u, most_u), vec.scale(across_v, most_v)
        at_b, at_c = vec.madd(vec.scale(w_u, r0), w_v, r2), vec.madd(vec.scale(w_u, r1), w_v, r3)
        at_a = vec.scale(vec.add(at_b, at_c), -1.0)
        stiff_b, stiff_c = vec.scale(at_b, k_s), vec.scale(at_c, k_s)
        o_u, o_v = -(r0 + r1) * k_u, -(r2 + r3) * k_v
        ab = edge_block((u, v), tension, o_u * r0, o_v * r2, (at_a, stiff_b))
        bc = edge_block((u, v), tension, r0 * r1 * k_u, r2 * r3 * k_v, (stiff_b, at_c))
        ca = edge_block((u, v), tension, o_u * r1, o_v * r3, (stiff_c, at_a))
        for row in range(3):
            set_three(batch, INPUTS + 3 * row, k, (ab[3 * row], ab[3 * row + 1], ab[3 * row + 2]))
            set_three(batch, INPUTS + 9 + 3 * row, k, (bc[3 * row], bc[3 * row + 1], bc[3 * row + 2]))
            set_three(batch, INPUTS + 18 + 3 * row, k, (ca[3 * row], ca[3 * row + 1], ca[3 * row + 2]))


@kernel
def triangle_terms(m, which, first, last, x, gradient, parts):
    """Terms of the triangles which[first..last-1] at x: the gradient of the energy of the j-th by corners, rows 3j.. of
    `gradient`, and its stiffness between the ends of its edges ab, bc, ca, rows 3j.. of `parts` (3m,9)."""
    batch = np.ones((INPUTS + 27) * BATCH)
    for begin in range(first, last, BATCH):
        end = min(begin + BATCH, last)
        gather(m, which, begin, end, x, batch)
        batch_terms(batch)
        for k in range(end - begin):
            e, b, c = 3 * (begin - first + k), three(batch, 0, k), three(batch, 3, k)
            vec.store(gradient, e, vec.scale(vec.add(b, c), -1.0))
            vec.store(gradient, e + 1, b)
            vec.store(gradient, e + 2, c)
            for j in range(9):
                parts[e, j] = batch[(INPUTS + j) * BATCH + k]
                parts[e + 1, j] = batch[(INPUTS + 9 + j) * BATCH + k]
                parts[e + 2, j] = batch[(INPUTS + 18 + j) * BATCH + k]
