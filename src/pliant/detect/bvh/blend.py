"""BVHs of linearly blended shapes: volumes follow from the blend weights alone, computed lazily during traversal.

x = p + U q: D. James, D. Pai, BD-Tree: Output-Sensitive Collision Detection for Reduced Deformable Models, 2004; morph
targets: T. Larsson, T. Akenine-Moeller, Efficient Collision Detection for Models Deformed by Morphing, 2003. In both a
vertex is a weighted sum of parts, so that an interval or sphere around it is the weighted sum of those of the parts.
"""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ... import validate
from ...kernels.bvh import traversal as _traversal
from ...kernels.bvh.traversal import TraversedBvh
from .tree import Floats, Found, Ints, flat, refit, traverse_pairs, tree_of


class BlendTree:
    """Elements (m,c) whose corners are sums of `parts` (t,n,3) with weights (t,); needs no refit when these change.

    Volumes: box, k-DOP or sphere. Pairs are candidates: those whose volumes overlap, a superset of the intersections.
    """

    def __init__(self, parts: Floats, elements: Ints, *, rest: Floats | None = None, **options: Any) -> None:
        """Build the BVH over the shape with weights `rest` (t,). Default: the mean of the parts."""
        if options.get("volume") == "oriented":
            raise ValueError("volume 'oriented' cannot be blended; use 'box', a k-DOP or 'sphere'")
        self.parts = validate.floats("parts", parts, (None, None, 3))
        t = len(self.parts)
        rest = np.full(t, 1.0 / max(t, 1)) if rest is None else rest
        self.weights = validate.floats("rest", rest, (t,))
        self.elements = elements
        self.tree = tree_of(self.positions(), elements, **options)
        self.now, self._stamp = 1, np.zeros(len(self.tree.nodes), np.int32)
        view, nodes, items = flat(self.tree), [], []
        for part in self.parts:
            refit(self.tree, part, elements)
            nodes.append(self.tree.nodes["bounds"].copy())
            items.append(view.items.copy())
        self._nodes, self._items = np.stack(nodes), np.stack(items)

    @classmethod
    def bounded(cls, p: Floats, u: Floats, elements: Ints, **options: Any) -> Self:
        """Build for x = p + u q: rest pose `p` (n,3), displacement modes `u` (r,n,3), one per coordinate of q (r,)."""
        parts = np.concatenate([np.asarray(p)[None], np.asarray(u)])
        return cls(parts, elements, rest=np.eye(1, len(parts))[0], **options)

    def set(self, weights: ArrayLike) -> Self:
        """Set the weights (t,), or the reduced coordinates (t-1,) of a `bounded` tree; constant cost."""
        weights = validate.floats("weights", weights, (None,))
        if len(weights) == len(self.parts) - 1:
            weights = np.concatenate([[1.0], weights])
        self.weights = validate.floats("weights", weights, (len(self.parts),))
        self.now += 1
        return self

    def positions(self, rows: NDArray[Any] | slice = slice(None)) -> Floats:
        """Return the positions of the corners `rows`."""
        return np.asarray(np.einsum("t,tij->ij", self.weights, self.parts[:, rows]))

    def traversed(self) -> TraversedBvh:
        return flat(self.tree)._replace(
            refit_mode=_traversal.BLENDED,
            stamp=self._stamp,
            now=self.now,
            weights=self.weights,
            node_parts=self._nodes,
            item_parts=self._items,
        )

    def pairs(self, other: "BlendTree | None" = None, *, within: float = 0.0) -> Found:
        """Return pairs of elements whose volumes are at most `within` apart; without `other`, each self pair once."""
        one = self.traversed()
        return traverse_pairs(one, one if other is None else other.traversed(), same=other is None, within=within)

    @property
    def reached(self) -> int:
        """The number of nodes visited by traversals since the last `set`."""
        return int((self._stamp == self.now).sum())
