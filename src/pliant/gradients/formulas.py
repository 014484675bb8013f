"""Signed distances by closed formulas of the nearest feature, in the operations of any array framework.

`xp` is the namespace of a framework: `torch`, `jax.numpy` or `numpy`. All derivatives of a formula are those of the
signed distance within the region of its feature. Divisions and roots are kept away from zero where another formula
applies, because a framework differentiates both branches of `where`.
"""

from typing import Any

from ..kernels.gradients.crossings import FACE_VERTEX, NOTHING
from ..kernels.gradients.stencils import CONSTANT, CREASE, ON_EDGE, ON_FACE

SIDES = ((0, 1), (0, 2), (1, 2))


def distances(xp: Any, p: Any, corners: Any, stencils: Any) -> Any:
    """Signed distances (..., n) of points p (..., n, 3) with stencils whose vertices are at corners (..., n, 3, 3);
    those of creases are not meaningful."""
    a = corners[..., 0, :]
    e, f, r = corners[..., 1, :] - a, corners[..., 2, :] - a, p - a
    on_face, on_edge, constant = (stencils.kind == kind for kind in (ON_FACE, ON_EDGE, CONSTANT))
    n = cross(xp, e, f)
    area = root(xp, dot(n, n), on_face)
    height = dot(n, r) / area
    e_2 = xp.where(on_edge, dot(e, e), 1.0)
    along = xp.where(on_edge, dot(e, r) / e_2, 0.0)
    away = r - along[..., None] * e
    length = root(xp, dot(away, away), ~(on_face | constant | (stencils.kind == CREASE)))
    nearest = (corners * stencils.weights[..., None]).sum(-2)
    shift = dot(stencils.direction, p - nearest)
    return xp.where(constant, shift, stencils.sign * xp.where(on_face, height, length))


def crease_distances(xp: Any, p: Any, corners: Any, used: Any) -> Any:
    """Signed distances (..., n) of points p (..., n, 3) inside, from what the planes of up to three triangles at
    corners (..., n, 3, 3, 3) have in common; `used` (..., n, 3) of them."""
    heights, normals = [], []
    for k in range(3):
        a = corners[..., k, 0, :]
        n = cross(xp, corners[..., k, 1, :] - a, corners[..., k, 2, :] - a)
        n = n / root(xp, dot(n, n), used[..., k])[..., None]
        normals.append(n)
        heights.append(xp.where(used[..., k], dot(n, p - a), 0.0))
    c_01, c_02, c_12 = (xp.where(used[..., j] & used[..., k], dot(normals[j], normals[k]), 0.0) for j, k in SIDES)
    h_0, h_1, h_2 = heights
    # the squared distance is h G^-1 h with the Gram matrix G of the normals, by its adjugate
    det = 1.0 + 2.0 * c_01 * c_02 * c_12 - c_01 * c_01 - c_02 * c_02 - c_12 * c_12
    squares = h_0 * h_0 * (1.0 - c_12 * c_12) + h_1 * h_1 * (1.0 - c_02 * c_02) + h_2 * h_2 * (1.0 - c_01 * c_01)
    products = h_0 * h_1 * (c_02 * c_12 - c_01) + h_0 * h_2 * (c_01 * c_12 - c_02) + h_1 * h_2 * (c_01 * c_02 - c_12)
    crease = used[..., 1]
    return -root(xp, (squares + 2.0 * products) / xp.where(crease, det, 1.0), crease)


def crossing_depths(xp: Any, corners: Any, crossings: Any) -> Any:
    """Depths (..., k) of crossing triangles with stencils whose vertices are at corners (..., k, 4, 3): how far a
    vertex is behind a face, or an edge behind another one."""
    a = corners[..., 0, :]
    e = corners[..., 1, :] - a
    of_face = (crossings.kind == FACE_VERTEX)[..., None]
    f = xp.where(of_face, corners[..., 2, :] - a, corners[..., 3, :] - corners[..., 2, :])
    r = a - xp.where(of_face, corners[..., 3, :], corners[..., 2, :])
    n = cross(xp, e, f)
    crosses = crossings.kind != NOTHING
    length = root(xp, dot(n, n), crosses)
    return xp.where(crosses, crossings.sign * dot(n, r) / length, 0.0)


def powers(xp: Any, depth: Any, power: float) -> Any:
    """max(depth, 0)^power, with finite derivatives."""
    deep = depth > 0.0
    return xp.where(deep, xp.where(deep, depth, 1.0) ** power, 0.0)


def dot(a: Any, b: Any) -> Any:
    """Products of the vectors in the last axis."""
    return (a * b).sum(-1)


def cross(xp: Any, a: Any, b: Any) -> Any:
    """Cross products of the vectors in the last axis."""
    return xp.linalg.cross(a, b) if hasattr(xp.linalg, "cross") else xp.cross(a, b)


def root(xp: Any, square: Any, used: Any) -> Any:
    """Square roots where they are `used` and not zero, else 1."""
    return xp.sqrt(xp.where(used & (square > 0.0), square, 1.0))
