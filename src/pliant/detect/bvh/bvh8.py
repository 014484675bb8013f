"""The layout of a BVH with eight children per node, in single precision: `kernels/bvh/bvh8.py`."""

import math

import numpy as np

from ...kernels.bvh import bvh8 as _kernels
from ...kernels.bvh.bvh8 import Bvh8, Plan
from ...kernels.bvh.tree import Tree
from ...kernels.queries.surface import Surface
from ...kernels.triangle_lanes import ROWS


def planned(tree: Tree) -> tuple[Bvh8, Plan]:
    """Return the layout with nodes of eight children of a BVH of `SHAPE`, empty, and its plan."""
    rows = [np.empty((len(tree.nodes), 8), np.int32) for _ in Plan._fields]
    n, leaves, room = _kernels.plan_nodes(tree.nodes, Plan(*rows))
    plan = Plan(*(np.ascontiguousarray(array[:n]) for array in rows))
    wide = Bvh8(
        np.empty((n, 6, 8), np.float32),
        np.empty((n, 8), np.int32),
        np.empty((leaves, ROWS, 8), np.float32),
        np.empty((leaves, 4), np.float32),
        np.empty((leaves, 8), np.int32),
        np.empty(len(tree.order), np.int32),
        np.zeros(3),
        1.0,
        int(room),
    )
    return wide, plan


def half_size(tree: Tree) -> float:
    """Half the longest side of the box of a fitted BVH, metres."""
    low, high = np.asarray(tree.nodes["bounds"][0]).reshape(2, 3)
    return float((0.5 * high - 0.5 * low).max())


def fitted(wide: Bvh8, plan: Plan, tree: Tree, surface: Surface) -> tuple[Bvh8, Plan]:
    """Fill a layout from the fitted BVH that it was planned for."""
    low, high = np.asarray(tree.nodes["bounds"][0]).reshape(2, 3)
    scale = 2.0 ** -math.ceil(math.log2(half_size(tree)))
    wide = wide._replace(centre=0.5 * low + 0.5 * high, scale=scale)
    _kernels.fill_bvh8(tree.nodes, tree.order, plan, surface, wide)
    return wide, plan
