"""Bounding volume hierarchies over mesh elements or AABBs: construction, refit and pair queries."""

import functools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ... import validate
from ...kernels.bvh import fit as _fit
from ...kernels.bvh import traversal as _traversal
from ...kernels.bvh import volumes as _volumes
from ...kernels.bvh.traversal import TraversedBvh
from ...kernels.bvh.tree import Tree
from .build import layout

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
TASKS = 128  # pairs of subtrees that are distributed over threads
_CORNERS = np.array([[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)], np.bool_)


class Found(NamedTuple):
    pairs: Ints  # (k,2) elements, ascending
    tests: int  # number of overlap tests of nodes


def build_tree(low: Floats, high: Floats, **options: Any) -> Tree:
    """Build a BVH over elements with the AABBs `low`, `high` (m,3).

    Options: `volume`, `arity`, `leaf` (largest number of elements in a leaf), `split`; see docs/trees.
    """
    low, high = (np.ascontiguousarray(a, np.float64).reshape(-1, 3) for a in (low, high))
    tree = layout(low, high, **options)
    if tree.items.shape[1] == 6:
        tree.items[:, :3], tree.items[:, 3:] = low[tree.order], high[tree.order]
        _fit.refit_boxes(tree)
    else:
        corners = np.where(_CORNERS, high[:, None], low[:, None]).reshape(-1, 3)
        refit(tree, corners, np.arange(len(corners), dtype=np.int32).reshape(-1, 8))
    return tree


def tree_of(x: Floats, elements: Ints, y: Floats | None = None, **options: Any) -> Tree:
    """Build a BVH over elements (m,c) at `x` (n,3): points, edges, faces, tets; with `y`, over their sweep to `y`."""
    # column by column, because reductions over the short axis of x[elements] take six times as long
    corners = [at[column] for at in ([x] if y is None else [x, y]) for column in elements.T]
    low, high = functools.reduce(np.minimum, corners), functools.reduce(np.maximum, corners)
    tree = layout(low, high, elements, **options)
    if elements.shape[1] == 3:
        tree = tree._replace(faces=np.ascontiguousarray(elements[tree.order], np.int32))
    refit(tree, x, elements, y)
    return tree


def refit(tree: Tree, x: Floats, elements: Ints, y: Floats | None = None) -> None:
    """Refit the volumes to elements at `x`, or to their sweep from `x` to `y`; the topology of the BVH is kept.

    Arguments are not validated: positions must be finite.
    """
    boxes = tree.items.shape[1] == 6
    if boxes and len(tree.faces) and len(x) > 1 and y is None:
        _fit.refit_faces(tree, validate.read_only(np.ascontiguousarray(x)))
        return
    set_items(tree, x, elements, y)
    if boxes:
        _fit.refit_boxes(tree)
    else:
        view = flat(tree)
        _fit.refit_volumes(view.bounds, view.links, view.items, view.kind, tree.parts, tree.crown)


def set_items(tree: Tree, x: Floats, elements: Ints, y: Floats | None = None) -> None:
    """Update the volumes of the elements only, not of the nodes."""
    y = x if y is None else y
    if tree.items.shape[1] == 6 and elements.shape[1] == 3:
        _fit.boxes_of_faces(x, y, elements, tree.order, tree.items)
    else:
        fixed = validate.read_only
        _volumes.volumes_of(fixed(x), fixed(y), fixed(elements), tree.order, kind_of(tree), tree.items)


def kind_of(tree: Tree) -> int:
    """Return the kind of volume, which the number of its parameters determines."""
    return {4: _volumes.SPHERE, 15: _volumes.ORIENTED}.get(tree.items.shape[1], _volumes.SLABS)


def flat(tree: Tree) -> TraversedBvh:
    """Return flat views of a BVH for the kernels that support every kind of volume."""
    n, k = len(tree.nodes), tree.items.shape[1]
    nodes = np.asarray(tree.nodes)
    bounds = nodes.view(np.float64).reshape(n, k + 2)
    links = nodes.view(np.int32).reshape(n, 2 * k + 4)
    none = np.empty((0, 0, 0))
    stamp = np.empty(0, np.int32)
    return TraversedBvh(bounds, links, tree.items, tree.order, kind_of(tree), 0, stamp, 0, np.empty(0), none, none)


def find_pairs(a: Tree, b: Tree | None = None, *, within: float = 0.0) -> Found:
    """Return pairs of elements whose volumes are at most `within` apart; without `b`, each pair of `a` once."""
    one = flat(a)
    return traverse_pairs(one, one if b is None else flat(b), same=b is None, within=within)


def traverse_pairs(a: TraversedBvh, b: TraversedBvh, *, same: bool, within: float) -> Found:
    if a.items.shape[1] != b.items.shape[1]:
        raise ValueError(f"BVH volumes have {a.items.shape[1]} and {b.items.shape[1]} parameters; use one kind")
    reach = reaches(a.kind, a.items.shape[1], validate.number("within", within, low=0.0))
    tasks = np.empty((TASKS if a.refit_mode == b.refit_mode == _traversal.CURRENT else 1, 2), np.int32)
    tasks = tasks[: _traversal.front(a, b, same, tasks)]
    query = _traversal.BroadPhaseQuery(a, b, same, reach)
    capacity = max(64, 16 * (len(a.items) + len(b.items)) // max(len(tasks), 1))
    found, count, tests = _traversed(query, tasks, np.full(len(tasks), capacity))
    over = count > capacity
    if over.any():  # the counts are complete: only these tasks are repeated, with enough room
        validate.budget(f"{count.sum()} pairs", 24.0 * float(count.sum()), "reduce the detection distance")
        found += _traversed(query, tasks[over], count[over])[0]
    whole = [part for part, more in zip(found, over.tolist() + [False] * int(over.sum()), strict=True) if not more]
    all_pairs = np.concatenate(whole or [np.empty((0, 2), np.int32)])
    key = all_pairs[:, 0].astype(np.int64) << 32 | all_pairs[:, 1]
    key.sort()
    pairs = np.stack([key >> 32, key & 0xFFFFFFFF], 1).astype(np.int32)
    return Found(pairs, int(tests.sum()))


def _traversed(
    query: _traversal.BroadPhaseQuery, tasks: Ints, room: NDArray[np.int64]
) -> tuple[list[Ints], NDArray[np.int64], NDArray[np.int64]]:
    """Return the pairs of each task, as far as there is room for them, and its numbers of pairs and of tests."""
    count, tests = np.zeros(len(tasks), np.int64), np.zeros(len(tasks), np.int64)
    start = np.concatenate([[0], np.cumsum(room)]).astype(np.int64)
    out = np.empty((start[-1], 2), np.int32)
    _traversal.traverse_tasks(query, tasks, start, out, count, tests)
    kept = np.minimum(count, room)
    return [out[s : s + c] for s, c in zip(start, kept.tolist(), strict=False)], count, tests


def reaches(kind: int, k: int, within: float) -> Floats:
    """Return `BroadPhaseQuery.reach` for a distance `within`, rounded up; for k-DOPs scaled by the axis lengths."""
    if kind == _volumes.SLABS:
        rows = [r for r in range(13) if r < 3 or k == 26 or (r < 7) == (k == 14)][: k // 2]
        length = np.linalg.norm(_volumes.AXES[rows], axis=1)
        return np.asarray(within * np.where(length > 1.0, length * (1.0 + 4.0 * _volumes.EPS), 1.0))
    if kind == _volumes.SPHERE:
        return np.array([within])
    # the OBB of an element grows by within / 2 along its own axes, and its corners by sqrt(3) times as much
    return 0.5 * np.array([within, within * np.sqrt(3.0) * (1.0 + 4.0 * _volumes.EPS)])
