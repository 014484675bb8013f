"""Exact signs of determinants: on which side of a plane or a line a point lies.

A filter decides almost always: the rounded determinant has the correct sign if it exceeds its error bound. Otherwise it
is summed exactly as an expansion, a list of non-overlapping floats (Shewchuk 1997, Adaptive precision floating-point
arithmetic and fast robust geometric predicates).

The sign is correct for all finite coordinates below 1e307 whose last bit, on each axis, is at least 2^-650 of the
largest difference between the points on that axis (three factors of that size still fit into a float64). Numbers with
all 53 bits in use may thus be 1e-179 times as large as the others. Beyond that the sign is that of the rounded sum.
"""

import math

import numpy as np

from ..jit import kernel
from .rounding import two_product


@kernel
def two_sum(a, b):
    """a + b as a rounded sum and its exact error."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


@kernel
def sign(x):
    if x > 0.0:
        return 1
    if x < 0.0:
        return -1
    return 0


@kernel
def drop(a, axis):
    """The two coordinates other than `axis`, in cyclic order."""
    if axis == 0:
        return (a[1], a[2])
    if axis == 1:
        return (a[2], a[0])
    return (a[0], a[1])


@kernel
def orient3d(a, b, c, d):
    """Sign of (b - a) x (c - a) . (d - a): 1 if d is on the side that the normal of abc points to, 0 in the plane.

    Exact, unless that number is less than 1e-590 times the product of the lengths of the three differences.
    """
    u = (b[0] - a[0], b[1] - a[1], b[2] - a[2])
    v = (c[0] - a[0], c[1] - a[1], c[2] - a[2])
    w = (d[0] - a[0], d[1] - a[1], d[2] - a[2])
    v_yz, v_zy = v[1] * w[2], v[2] * w[1]
    v_zx, v_xz = v[2] * w[0], v[0] * w[2]
    v_xy, v_yx = v[0] * w[1], v[1] * w[0]
    det = u[0] * (v_yz - v_zy) + u[1] * (v_zx - v_xz) + u[2] * (v_xy - v_yx)
    size = (
        abs(u[0]) * (abs(v_yz) + abs(v_zy)) + abs(u[1]) * (abs(v_zx) + abs(v_xz)) + abs(u[2]) * (abs(v_xy) + abs(v_yx))
    )
    # the bound counts roundings, not underflows, which stay far below it for these sizes
    if abs(det) > 7.8e-16 * size and 1e-240 < size < 1e300 and max(abs(u[0]), abs(u[1]), abs(u[2])) < 1e60:
        return sign(det)
    # axis-aligned planes, as of flat cloth and grids
    for k in range(3):
        if u[k] == 0.0 and v[k] == 0.0 and w[k] == 0.0:
            return 0
    return _orient3d_exactly(a, b, c, d)


@kernel
def _spread(a, b, c, d):
    """Sum of the binary exponents of the distances of b, c and d from a, each along its longest axis."""
    total = 0
    for p in (b, c, d):
        total += math.frexp(max(abs(p[0] - a[0]), abs(p[1] - a[1]), abs(p[2] - a[2])))[1]
    return total


@kernel
def _orient3d_exactly(a, b, c, d):
    if a in (b, c, d) or b in (c, d) or c == d:
        return 0  # also where products underflow
    # from the point that is nearest to the others: far from all of them, products of what differs would underflow
    best, order = _spread(a, b, c, d), 1
    if _spread(b, a, c, d) < best:
        best, order = _spread(b, a, c, d), -1
        a, b = b, a
    if _spread(c, a, b, d) < best:
        best, order = _spread(c, a, b, d), -order
        a, c = c, a
    if _spread(d, a, b, c) < best:
        order = -order
        a, d = d, a
    return order * _orient3d_from(a, b, c, d)


@kernel
def _orient3d_from(a, b, c, d):
    m = np.empty((3, 3, 2))  # row, axis, the two parts of an exact difference
    for k in range(3):
        _difference(b[k], a[k], m, 0, k)
        _difference(c[k], a[k], m, 1, k)
        _difference(d[k], a[k], m, 2, k)
        _normalise_axis(m, k, 3, 300)
    for i in range(3):
        _normalise_row(m, i, 300)
    total = np.empty(200)
    n = 0
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        n = _grow_by_products(total, n, m[0, i], m[1, j], m[2, k], 1.0)
        n = _grow_by_products(total, n, m[0, i], m[1, k], m[2, j], -1.0)
    return sign(total[n - 1]) if n else 0


@kernel
def orient2d(a, b, c):
    """Sign of (b - a) x (c - a) of 2-tuples: 1 if abc turns left, 0 on a line."""
    ux, uy = b[0] - a[0], b[1] - a[1]
    vx, vy = c[0] - a[0], c[1] - a[1]
    left, right = ux * vy, uy * vx
    size = abs(left) + abs(right)
    if abs(left - right) > 3.4e-16 * size and 1e-290 < size < 1e300:
        return sign(left - right)
    if (ux == 0.0 and vx == 0.0) or (uy == 0.0 and vy == 0.0) or (ux == 0.0 and uy == 0.0) or (vx == 0.0 and vy == 0.0):
        return 0
    return _orient2d_exactly(a, b, c)


@kernel
def _orient2d_exactly(a, b, c):
    m = np.empty((2, 2, 2))
    for k in range(2):
        _difference(b[k], a[k], m, 0, k)
        _difference(c[k], a[k], m, 1, k)
        _normalise_axis(m, k, 2, 300)
    one, total = np.zeros(2), np.empty(40)
    one[0] = 1.0
    n = _grow_by_products(total, 0, m[0, 0], m[1, 1], one, 1.0)
    n = _grow_by_products(total, n, m[0, 1], m[1, 0], one, -1.0)
    return sign(total[n - 1]) if n else 0


@kernel
def _difference(x, y, m, row, axis):
    m[row, axis, 0], m[row, axis, 1] = two_sum(x, -y)


@kernel
def _normalise_axis(m, axis, rows, exponent):
    """Scale an axis by a power of two so that its largest difference is near 2^exponent and all bits fit."""
    size = 0.0
    for i in range(rows):
        size = max(size, abs(m[i, axis, 0]))
    shift = exponent - math.frexp(size)[1]
    for i in range(rows):
        m[i, axis, 0] = math.ldexp(m[i, axis, 0], shift)
        m[i, axis, 1] = math.ldexp(m[i, axis, 1], shift)


@kernel
def _normalise_row(m, row, exponent):
    """Scale a row by a power of two, upwards, so that its largest difference is near 2^exponent: otherwise products of
    two rows that are short beside the third would underflow."""
    size = max(abs(m[row, 0, 0]), abs(m[row, 1, 0]), abs(m[row, 2, 0]))
    shift = exponent - math.frexp(size)[1] if size > 0.0 else 0
    for k in range(3):
        m[row, k, 0] = math.ldexp(m[row, k, 0], shift)
        m[row, k, 1] = math.ldexp(m[row, k, 1], shift)


@kernel
def _grow_by_products(total, n, p, q, r, factor):
    """Add factor p q r, each a pair of parts, to an expansion of n parts; return the new number of parts."""
    for i in range(2):
        for j in range(2):
            if p[i] != 0.0 and q[j] != 0.0:
                high, low = two_product(p[i], q[j])
                for k in range(2):
                    if r[k] != 0.0:
                        x, y = two_product(low, factor * r[k])
                        n = _grow(total, _grow(total, n, y), x)
                        x, y = two_product(high, factor * r[k])
                        n = _grow(total, _grow(total, n, y), x)
    return n


@kernel
def _grow(total, n, x):
    """Add x to an expansion of n parts, smallest first, omitting zeros; return the new number of parts."""
    kept = 0
    for i in range(n):
        x, rest = two_sum(x, total[i])
        if rest != 0.0:
            total[kept] = rest
            kept += 1
    if x != 0.0:
        total[kept] = x
        kept += 1
    return kept
