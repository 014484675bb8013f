"""A BVH of boxes on a graphics card, with one triangle per leaf: copied from one on the host, refitted there."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...kernels import device as _device
from ...kernels.bvh.tree import Tree


class BoxesOnCard:
    """`tree` has one triangle in each leaf, in whose order `corners` (m,>=3) are, rows of positions on the card."""

    def __init__(self, tree: Tree, corners: Any) -> None:
        from ...kernels.gpu.boxes import FIRST, NODE, SKIP, Boxes

        skip, first = np.asarray(tree.nodes["skip"]), np.asarray(tree.nodes["first"])
        leaves = np.flatnonzero(skip == np.arange(len(skip)) + 1)
        leaf = np.empty(len(leaves), np.int32)
        leaf[first[leaves]] = leaves
        nodes = np.zeros((len(skip), NODE), np.int32)
        nodes[:, SKIP], nodes[:, FIRST] = skip, first
        link = _device.upload(nodes)
        self._corners, self.order = corners, _device.upload(tree.order)
        self.at = Boxes(_device.retyped(link, np.float32), link, _device.upload(leaf))
        self._levels = [_device.upload(level) for level in levels_of(skip)]

    @classmethod
    def built(cls, corners: Any, x: Any) -> "BoxesOnCard":
        """Build the BVH on the card, of triangles `corners` (m,3), and fit it to x (n,3)."""
        from ...kernels.gpu import lbvh
        from ...kernels.gpu import rows as _rows

        made = cls.__new__(cls)
        made.at, made.order, made._levels = lbvh.build(corners, x)
        made._corners = _device.empty(corners.shape, np.int32)
        _device.launch(_rows.take, len(corners), made.order, corners, made._corners)
        made.fit(x)
        return made

    def fit(self, x: Any) -> None:
        """Fit all boxes to positions (n,3) on the card."""
        from ...kernels.gpu import boxes as kernels

        _device.launch(kernels.fit_leaves, len(self.at.leaf), self._corners, x, self.at)
        self.fit_inner()

    def fit_inner(self) -> None:
        """Fit the boxes of all inner nodes to those of the leaves."""
        from ...kernels.gpu import boxes as kernels

        for level in self._levels:
            _device.launch(kernels.fit_level, len(level), level, self.at)


def levels_of(skip: NDArray[Any]) -> list[NDArray[np.int32]]:
    """Return the inner nodes of a tree in depth-first order, in lists whose children are in earlier ones."""
    n = len(skip)
    height, parent = np.zeros(n, np.int32), parents_of(skip)
    waiting = np.flatnonzero(skip == np.arange(n) + 1)
    level = 0
    while len(waiting):
        level += 1
        waiting = np.unique(parent[waiting])
        waiting = waiting[waiting >= 0]
        height[waiting] = level
    order = np.argsort(height, kind="stable")
    ends = np.cumsum(np.bincount(height, minlength=1))
    return [part.astype(np.int32) for part in np.split(order, ends[:-1])[1:]]


def parents_of(skip: NDArray[Any]) -> NDArray[np.int64]:
    """Return the parent (n,) of each node of a tree in depth-first order, -1 for the root."""
    nodes = np.arange(len(skip))
    parent = np.full(len(skip), -1, np.int64)
    inner = nodes[skip > nodes + 1]
    children = inner + 1  # first the first child of every inner node, then their next siblings
    while len(inner):
        parent[children] = inner
        children = skip[children]
        more = children < skip[inner]
        inner, children = inner[more], children[more]
    return parent
