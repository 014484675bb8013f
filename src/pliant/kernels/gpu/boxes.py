"""Fitting the boxes of a BVH to triangles, in single precision: level by level, leaves first.

Boxes are rounded to nearest, so that a traversal enlarges its own by `margins`, in which this rounding is contained.
"""

from typing import NamedTuple

import numpy as np

from .jit import kernel, prange

SKIP, FIRST, NODE = 6, 7, 8  # columns
SLACK = 2.0**-21  # times the largest coordinate: eight times the rounding error of a box in single precision


class Boxes(NamedTuple):
    """A BVH on the card, in the depth-first order of `bvh/tree.py`, with one triangle in each leaf. A node is 32 bytes,
    which the card reads at once; `box` and `link` are the same memory."""

    box: np.ndarray  # (n,8) f4 low, high
    link: np.ndarray  # (n,8) i4, in SKIP the node after the subtree, in FIRST the triangle of a leaf, in leaf order
    leaf: np.ndarray  # (m,) i4 the node of each triangle


@kernel
def low_high(a, b, c):
    return min(a, b, c), max(a, b, c)


@kernel(parallel=True)
def fit_leaves(corners, x, boxes):
    """Boxes of the triangles corners (m,>=3), rows of x (n,3)."""
    for q in prange(len(boxes.leaf)):
        i, j, h, node = corners[q, 0], corners[q, 1], corners[q, 2], boxes.leaf[q]
        for k in range(3):
            low, high = low_high(x[i, k], x[j, k], x[h, k])
            boxes.box[node, k], boxes.box[node, 3 + k] = low, high


@kernel(parallel=True)
def fit_level(nodes, boxes):
    """Boxes of these inner nodes, whose children are fitted."""
    box, link = boxes.box, boxes.link
    for m in prange(len(nodes)):
        i = nodes[m]
        j, stop = i + 1, link[i, SKIP]
        x_0, y_0, z_0, x_1, y_1, z_1 = box[j, 0], box[j, 1], box[j, 2], box[j, 3], box[j, 4], box[j, 5]
        j = link[j, SKIP]
        while j < stop:
            x_0, y_0, z_0 = min(x_0, box[j, 0]), min(y_0, box[j, 1]), min(z_0, box[j, 2])
            x_1, y_1, z_1 = max(x_1, box[j, 3]), max(y_1, box[j, 4]), max(z_1, box[j, 5])
            j = link[j, SKIP]
        box[i, 0], box[i, 1], box[i, 2], box[i, 3], box[i, 4], box[i, 5] = x_0, y_0, z_0, x_1, y_1, z_1


@kernel
def largest_in(boxes):
    """The largest coordinate in the box of all, not less than any."""
    most = np.float64(0.0)
    for k in range(6):
        most = max(most, np.float64(abs(boxes.box[0, k])))
    return most * (1.0 + 2.0**-23)


@kernel
def margins(one, other, within):
    """The reach of a query within a distance, as `with_rounding_margin` enlarges it, and that of boxes in single
    precision."""
    most = max(largest_in(one), largest_in(other))
    reach = within * (1.0 + 1e-12) + 1e-14 * most
    return reach, reach + SLACK * (most + reach)
