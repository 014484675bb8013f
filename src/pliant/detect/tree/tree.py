"""Trees of volumes over the elements of a mesh, or over boxes: how they are asked for, built and fitted anew."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import validate
from ...kernels import tree as _kernels
from ...kernels import tree_build as _build
from ...kernels.tree import Tree

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
VOLUMES = {"box": 6}
ALONG = {"longest": _build.LONGEST, "principal": _build.PRINCIPAL, "any": _build.ANY}
RULES = {"median": _build.MEDIAN, "mean": _build.MEAN, "least": _build.LEAST}
BUILDS = tuple(f"{along}-{rule}" for along in ALONG for rule in RULES if along != "any" or rule == "least")
ARITIES = (2, 4, 8)
PARTS = 64  # about how many subtrees threads share


def build_tree(
    low: Floats, high: Floats, *, volume: str = "box", arity: int = 2, leaf: int = 4, split: str = "longest-median"
) -> Tree:
    """A tree over elements with the boxes `low`, `high` (m,3); a node with more than `leaf` of them has children."""
    low, high = (np.ascontiguousarray(a, np.float64).reshape(-1, 3) for a in (low, high))
    tree = layout(low, high, volume=volume, arity=arity, leaf=leaf, split=split)
    tree.items[:, :3], tree.items[:, 3:] = low[tree.order], high[tree.order]
    _kernels.refit_boxes(tree)
    return tree


def tree_of_faces(x: Floats, faces: Ints, y: Floats | None = None, **options: Any) -> Tree:
    """A tree over triangles with corners `x` (n,3), or over what they sweep on the way to `y`."""
    corners = x[faces] if y is None else np.concatenate([x[faces], y[faces]], 1)
    tree = layout(corners.min(1), corners.max(1), **options)
    refit_faces(tree, x, faces, y)
    return tree


def refit_faces(tree: Tree, x: Floats, faces: Ints, y: Floats | None = None) -> None:
    """Fit the volumes to triangles at `x`, or to what they sweep on the way to `y`; the tree keeps its shape."""
    _kernels.boxes_of_faces(x, x if y is None else y, faces, tree.order, tree.items)
    _kernels.refit_boxes(tree)


def layout(
    low: Floats, high: Floats, *, volume: str = "box", arity: int = 2, leaf: int = 4, split: str = "longest-median"
) -> Tree:
    """The tree's shape and the order of its elements; volumes still empty."""
    validate.choice("volume", volume, VOLUMES)
    validate.choice("split", split, BUILDS)
    if arity not in ARITIES:
        raise ValueError(f"arity = {arity}, expected one of: {', '.join(map(str, ARITIES))}")
    m = len(low)
    order = np.arange(m, dtype=np.int32)
    starts, counts = np.empty(2 * m, np.int32), np.empty(2 * m, np.int32)
    along, rule = split.split("-")
    n = _build.build_top_down(low, high, ALONG[along], RULES[rule], leaf, order, starts, counts)
    return _linked(order, starts[:n], counts[:n], leaf, arity, VOLUMES[volume])


def _linked(order: Ints, starts: Ints, counts: Ints, leaf: int, arity: int, k: int) -> Tree:
    """Nodes of a binary tree in depth-first order, made wider and tied together."""
    skip = np.empty(len(starts), np.int32)
    _kernels.link(starts, counts, leaf, skip)
    if arity > 2:
        keep = np.empty(len(starts), np.bool_)
        _build.widen(skip, counts, leaf, arity, keep)
        starts, counts = starts[keep], counts[keep]
        skip = np.empty(len(starts), np.int32)
        _kernels.link(starts, counts, leaf, skip)
    nodes = np.zeros(len(starts), _kernels.node_type(k))
    nodes["skip"], nodes["first"], nodes["count"] = skip, starts, counts
    small = counts <= max(len(order) // PARTS, leaf)
    parts, crown = np.empty(len(nodes), np.int32), np.empty(len(nodes), np.int32)
    p, c = _kernels.share(small, skip, parts, crown)
    return Tree(nodes, order, np.empty((len(order), k)), parts[:p].copy(), crown[:c][::-1].copy())
