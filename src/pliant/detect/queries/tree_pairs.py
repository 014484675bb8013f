"""Broad phase by BVHs of any volume, leaf size and update: the pairs of triangles that may be near, for the narrow
phases that otherwise traverse AABB trees with one triangle per leaf.

The pairs become a list of leaves for each triangle, in the layout of a BVH, that its traversal passes through. The
narrow phase is therefore the same, and so are the contacts, bit for bit: the volumes of two triangles within a distance
are within it, too.
"""

import copy
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ... import validate
from ...kernels.bvh.leaf_mesh import LeafGeometry
from ...kernels.bvh.tree import new_nodes
from ..bvh.leaf_mesh import LeafMesh, with_isolated_vertices
from ..bvh.tree_options import BLEND, TreeOptions
from ..bvh.update import MovingTree
from .proximity import NearPairs

if TYPE_CHECKING:
    from ...motion.deforming import Deforming
    from ..bvh.blended_body import BlendedBody

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
_BYTES = 160  # peak memory per pair of triangles


class TreePairs:
    """The pairs of triangles of two leaf meshes, or of one with itself, whose volumes are within a distance."""

    def __init__(
        self,
        sides: list[LeafMesh],
        options: TreeOptions,
        within: float,
        max_bytes: float | None,
        motion: "Deforming | BlendedBody | None" = None,
    ) -> None:
        """motion: of the second side, for the update "blend", or the BVH of another query of the same side."""
        self.max_bytes, self._leaf_meshes = max_bytes, sides
        given = options.of_moving_tree(within)
        elements = [with_isolated_vertices(side.top.faces, len(side.x)) for side in sides]
        self.trees: list[MovingTree | BlendedBody] = [
            MovingTree(side.x, own, **given) for side, own in zip(sides, elements, strict=True)
        ]
        if options.update == BLEND:
            if len(sides) == 1:
                raise ValueError("update 'blend' is for an obstacle; choose another one for self-contact")
            self.trees[1] = _blended(motion, elements[1], len(sides[1].x), max_bytes, options)
        self._places = [np.argsort(leaf_mesh.tree.order).astype(np.int32) for leaf_mesh in self._leaf_meshes]
        self.tests = self.pairs = 0  # overlap tests of nodes, and pairs of triangles, in the last query

    def move(self, *ends: tuple[Floats, Floats | None], sample: Floats | None = None) -> None:
        """Update each BVH to positions (n,3), or to the sweep from the first to the second; sample (k,3,4): of the
        motion of the second side, at these positions or the second, for the update "blend"."""
        for tree, (x, y) in zip(self.trees, ends, strict=True):
            if isinstance(tree, MovingTree):
                tree.move(x, y)
            else:
                tree.follow(x if y is None else y, sample, None if y is None else x)

    @property
    def blended(self) -> "BlendedBody | None":
        """The BVH of the second side, if its volumes are blended."""
        last = self.trees[-1]
        return None if isinstance(last, MovingTree) else last

    @property
    def builds(self) -> int:
        """How many times BVHs were built."""
        return sum(tree.builds for tree in self.trees)

    @property
    def fits(self) -> int:
        """How many times BVHs were refitted, completely or in part."""
        return sum(tree.fits for tree in self.trees)

    @property
    def n_nodes(self) -> int:
        return sum(len(tree.tree.nodes) for tree in self.trees)

    def leaves(self, reach: float, boxes: Floats, begin: Ints) -> tuple[NDArray[Any], Ints]:
        """Return leaves of triangles within `reach` of each triangle of the first side, in the layout of a BVH, and the
        (m,) leaf where the list of each triangle starts. boxes (m,6): of the triangles of the second side; begin: see
        `BvhSearch.begin`, by which pairs in proved patches of one mesh are left out."""
        one = self.trees[0]
        assert isinstance(one, MovingTree)  # only the second side may be blended
        found = one.pairs(None if len(self.trees) == 1 else self.trees[1], within=reach)
        self.tests, self.pairs = found.tests, len(found.pairs)
        advice = "reduce the detection distance or raise max_bytes"
        validate.budget(f"{self.pairs} pairs of triangles", _BYTES * self.pairs, advice, self.max_bytes)
        p, q = self._places[0][found.pairs[:, 0]], self._places[-1][found.pairs[:, 1]]
        if len(self.trees) == 1:
            p, q = np.minimum(p, q), np.maximum(p, q)
            own = self._leaf_meshes[0].self_traversal_start
            outside = own[q] > begin[p]
            p, q = p[outside], q[outside]
        order = np.argsort(p, kind="stable")
        return _listed(p[order], q[order], boxes, len(begin))


def _blended(
    motion: "Deforming | BlendedBody | None",
    elements: Ints,
    count: int,
    max_bytes: float | None,
    options: TreeOptions,
) -> "BlendedBody":
    from ..bvh.blended_body import BlendedBody

    if isinstance(motion, BlendedBody):
        return copy.copy(motion)  # its arrays are shared
    return BlendedBody(motion, elements, count, max_bytes, **options.of_layout())


def _listed(p: Ints, q: Ints, boxes: Floats, m: int) -> tuple[NDArray[Any], Ints]:
    """Return a list of leaves for each of m triangles, for pairs (p, q) sorted by p: each list ends with a node that
    nothing overlaps, from which a traversal skips to the end."""
    counts = np.bincount(p, minlength=m)
    total = len(p) + m
    nodes = new_nodes(total, 6)
    at, ends = np.arange(len(p)) + p, np.cumsum(counts) + np.arange(m)
    nodes["bounds"][at], nodes["bounds"][ends] = boxes[q], np.inf
    nodes["first"][at], nodes["count"][at] = q, 1
    nodes["skip"] = np.arange(1, total + 1)
    nodes["skip"][ends] = total
    return nodes, np.where(counts > 0, ends - counts, total).astype(np.int32)


class TreeNearPairs(NearPairs):
    """Proximity queries of leaf meshes whose pairs of triangles come from `TreePairs`."""

    def __init__(
        self,
        a: LeafMesh,
        b: LeafMesh | None = None,
        *,
        within: float,
        tree: TreeOptions,
        cull: bool = True,
        max_bytes: float | None = None,
        motion: "Deforming | None" = None,
    ) -> None:
        super().__init__(a, b, cull=cull, max_bytes=max_bytes)
        self._tree_pairs = self.broad_phase = TreePairs([a] if b is None else [a, b], tree, within, max_bytes, motion)

    def moved(self, sample: Floats | None = None) -> None:
        """Update the BVHs to the positions of the leaf meshes, and to a sample of the motion of the second one."""
        sides = [self.a] if self.same else [self.a, self.b]
        self._tree_pairs.move(*((side.x, None) for side in sides), sample=sample)

    def _sides(self, reach: float, begin: Ints) -> tuple[LeafGeometry, LeafGeometry, Ints]:
        nodes, begin = self._tree_pairs.leaves(reach, self.b.at.boxes, begin)
        return self.a.at, self.b.at._replace(nodes=nodes), begin
