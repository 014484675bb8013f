"""BVHs for nearest-point queries, in the 4-wide block layout that `kernels.queries.closest_point` traverses."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...kernels.bvh.tree import Tree
from ...kernels.queries import closest_point as _nearest
from ...kernels.queries.closest_point import Blocks
from ...kernels.queries.surface import Surface
from . import tree as _tree

SHAPE: dict[str, Any] = {"volume": "box", "arity": 4, "leaf": 1}


def blocks_of_surface(surface: Surface) -> Blocks:
    """Build an AABB tree over the triangles of a surface, in the layout of `kernels.queries.closest_point`."""
    return blocks_of(surface, _tree.tree_of(surface.x, surface.faces, **SHAPE))[0]


def blocks_of(surface: Surface, tree: Tree) -> tuple[Blocks, NDArray[np.int32]]:
    """Convert a BVH of `SHAPE` over the faces of a surface to blocks; also return the block index of each node."""
    number = np.empty(len(tree.nodes), np.int32)
    count, room = _nearest.number_blocks(tree.nodes, number)
    blocks = Blocks(
        np.empty((count, 6, 4)), np.empty((count, 4), np.int32), np.empty((len(tree.order), 12)), tree.order, int(room)
    )
    _nearest.fill_blocks(tree.nodes, number, blocks.boxes, blocks.child)
    _nearest.fill_rows(surface, tree.order, blocks.rows)
    return blocks, number
