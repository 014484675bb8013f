"""Trees of volumes over the elements of a mesh, or over boxes: built, fitted anew, and asked for pairs."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ... import validate
from ...kernels import tree as _kernels
from ...kernels import tree_fit as _fit
from ...kernels import tree_walk as _walk
from ...kernels import volumes as _volumes
from ...kernels.tree import Tree
from ...kernels.tree_walk import Walked
from .build import layout

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
TASKS = 128  # pairs of subtrees that threads share
_CORNERS = np.array([[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)], np.bool_)


class Found(NamedTuple):
    pairs: Ints  # (k,2) elements, ascending
    tests: int  # pairs of nodes that were looked at


def build_tree(low: Floats, high: Floats, **options: Any) -> Tree:
    """A tree over elements with the boxes `low`, `high` (m,3).

    Options: `volume`, `arity`, `leaf` (a node with more elements has children), `split`; see docs/trees.
    """
    low, high = (np.ascontiguousarray(a, np.float64).reshape(-1, 3) for a in (low, high))
    tree = layout(low, high, **options)
    if tree.items.shape[1] == 6:
        tree.items[:, :3], tree.items[:, 3:] = low[tree.order], high[tree.order]
        _kernels.refit_boxes(tree)
    else:
        corners = np.where(_CORNERS, high[:, None], low[:, None]).reshape(-1, 3)
        refit(tree, corners, np.arange(len(corners), dtype=np.int32).reshape(-1, 8))
    return tree


def tree_of(x: Floats, elements: Ints, y: Floats | None = None, **options: Any) -> Tree:
    """A tree over elements (m,c) at `x` (n,3): points, edges, faces, tets; or over what they sweep up to `y`."""
    corners = x[elements] if y is None else np.concatenate([x[elements], y[elements]], 1)
    tree = layout(corners.min(1), corners.max(1), elements, **options)
    refit(tree, x, elements, y)
    return tree


def refit(tree: Tree, x: Floats, elements: Ints, y: Floats | None = None) -> None:
    """Fit the volumes to elements at `x`, or to what they sweep on the way to `y`; the tree keeps its shape.

    Nothing is checked here: positions must be finite.
    """
    boxes = tree.items.shape[1] == 6
    if boxes and elements.shape[1] == 3 and y is None:
        _kernels.refit_faces(tree, x, elements)
        return
    set_items(tree, x, elements, y)
    if boxes:
        _kernels.refit_boxes(tree)
    else:
        view = flat(tree)
        _fit.refit_volumes(view.bounds, view.links, view.items, view.kind, tree.parts, tree.crown)


def set_items(tree: Tree, x: Floats, elements: Ints, y: Floats | None = None) -> None:
    """The volumes of the elements only."""
    y = x if y is None else y
    if tree.items.shape[1] == 6 and elements.shape[1] == 3:
        _kernels.boxes_of_faces(x, y, elements, tree.order, tree.items)
    else:
        _volumes.volumes_of(x, y, elements, tree.order, kind_of(tree), tree.items)


tree_of_faces, refit_faces = tree_of, refit


def kind_of(tree: Tree) -> int:
    """Which volumes: the number of their numbers tells."""
    return {4: _volumes.SPHERE, 15: _volumes.ORIENTED}.get(tree.items.shape[1], _volumes.SLABS)


def flat(tree: Tree) -> Walked:
    """Views of a tree for the loops that serve every volume."""
    n, k = len(tree.nodes), tree.items.shape[1]
    nodes = np.asarray(tree.nodes)
    bounds = nodes.view(np.float64).reshape(n, k + 2)
    links = nodes.view(np.int32).reshape(n, 2 * k + 4)
    none = np.empty((0, 0, 0))
    stamp = np.empty(0, np.int32)
    return Walked(bounds, links, tree.items, tree.order, kind_of(tree), 0, stamp, 0, np.empty(0), none, none)


def find_pairs(a: Tree, b: Tree | None = None, *, within: float = 0.0) -> Found:
    """Pairs of elements whose volumes, grown by `within`, meet; without `b` each pair of elements of `a` once."""
    one = flat(a)
    return walk_pairs(one, one if b is None else flat(b), same=b is None, within=within)


def walk_pairs(a: Walked, b: Walked, *, same: bool, within: float) -> Found:
    if a.items.shape[1] != b.items.shape[1]:
        raise ValueError(f"trees of volumes with {a.items.shape[1]} and {b.items.shape[1]} numbers; use one kind")
    reach = reaches(a.kind, a.items.shape[1], validate.number("within", within, low=0.0))
    tasks = np.empty((TASKS if a.fresh == b.fresh == _walk.CURRENT else 1, 2), np.int32)
    tasks = tasks[: _walk.front(a, b, same, tasks)]
    count, tests = np.zeros(len(tasks), np.int64), np.zeros(len(tasks), np.int64)
    room = max(64, 16 * (len(a.items) + len(b.items)) // max(len(tasks), 1))
    start = np.arange(len(tasks) + 1, dtype=np.int64) * room
    for _ in range(2):
        out = np.empty((start[-1], 2), np.int32)
        _walk.walk_tasks(a, b, same, reach, tasks, start, out, count, tests)
        if (count <= np.diff(start)).all():
            break
        start = np.concatenate([[0], np.cumsum(count)])
        validate.budget(f"{start[-1]} pairs", 24.0 * float(start[-1]), "ask for a smaller distance")
    found = np.concatenate([out[s : s + c] for s, c in zip(start, count, strict=False)] or [out[:0]])
    key = found[:, 0].astype(np.int64) << 32 | found[:, 1]
    key.sort()
    pairs = np.stack([key >> 32, key & 0xFFFFFFFF], 1).astype(np.int32)
    return Found(pairs, int(tests.sum()))


def reaches(kind: int, k: int, within: float) -> Floats:
    """How far apart the numbers of two volumes may be; more along axes longer than one, rounded up."""
    if kind == _volumes.SLABS:
        rows = [r for r in range(13) if r < 3 or k == 26 or (r < 7) == (k == 14)][: k // 2]
        length = np.linalg.norm(_volumes.AXES[rows], axis=1)
        return np.asarray(within * np.where(length > 1.0, length * (1.0 + 4.0 * _volumes.EPS), 1.0))
    if kind == _volumes.SPHERE:
        return np.array([within])
    # each grows by half along its own axes and then sticks out at the corners; what holds it must reach as far
    return 0.5 * np.array([within, within * np.sqrt(3.0) * (1.0 + 4.0 * _volumes.EPS)])
