"""BVH construction over AABBs: every method yields a binary tree in depth-first order, which may be widened."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import renamed, validate
from ...arguments import check_arguments
from ...kernels.bvh import build as _top_down
from ...kernels.bvh import tree as _kernels
from ...kernels.bvh.tree import Tree

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
VOLUMES = {"box": 6, "14-dop": 14, "18-dop": 18, "26-dop": 26, "sphere": 4, "oriented": 15}
SPLIT_AXES = {"longest": _top_down.LONGEST, "principal": _top_down.PRINCIPAL, "any": _top_down.ANY}
RULES = {"median": _top_down.MEDIAN, "mean": _top_down.MEAN, "sah": _top_down.SAH, "volume": _top_down.VOLUME}
TOP_DOWN = tuple(
    f"{axis}-{rule}" for axis in SPLIT_AXES for rule in RULES if axis != "any" or rule in ("sah", "volume")
)
BUILDS = (*TOP_DOWN, "bottom-up", "insertion", "connectivity", "zones")
BY_TOPOLOGY = ("connectivity", "zones")  # need the corners of the elements
ARITIES = (2, 4, 8)
PARTS = 64  # approximate number of subtrees that are distributed over threads
SMALLEST = 64  # elements of a subtree at least: 1 280 faces are refitted in 14.1 us in 52 parts, in 15.6 us in 157
ROUNDS = 48  # of merging adjacent clusters; the clusters that remain are merged along the curve


@check_arguments
def layout(
    low: Floats,
    high: Floats,
    faces: Ints | None = None,
    *,
    volume: str = "box",
    arity: int = 4,
    leaf: int = 4,
    split: str = "longest-sah",
) -> Tree:
    """Build the topology and element order of a BVH over AABBs `low`, `high` (m,3); its volumes are not set.

    `faces` (m,c), the corners of the elements, define adjacency for the builds "connectivity" and "zones".
    """
    validate.choice("volume", volume, list(VOLUMES))
    split = validate.choice("split", _renamed_split(split), BUILDS)
    leaf = validate.whole("leaf", leaf, low=1)
    if arity not in ARITIES:
        raise ValueError(f"arity = {arity}; one of: {', '.join(map(str, ARITIES))}")
    m = len(low)
    order = np.arange(m, dtype=np.int32)
    starts, counts = np.empty(2 * m, np.int32), np.empty(2 * m, np.int32)
    if split in TOP_DOWN:
        axis, rule = split.split("-")
        n = _top_down.build_top_down(low, high, SPLIT_AXES[axis], RULES[rule], leaf, order, starts, counts)
    elif split in BY_TOPOLOGY and faces is None:
        raise ValueError(f"split {split!r} needs the corners of the elements; build the BVH from a mesh")
    elif split == "zones":
        from ...kernels.bvh import zones as _zones

        n = _zones.build_zones(*_adjacency(neighbours(faces), m), leaf, order, starts, counts)
    else:
        from ...kernels.bvh import merge as _bottom_up

        clusters, root = _clustered(low, high, faces, split)
        n = _bottom_up.unroll(clusters, root, leaf, order, starts, counts)
    return _linked(order, starts[:n], counts[:n], leaf, arity, VOLUMES[volume])


def _renamed_split(split: str) -> str:
    """Return a split under its present name: the rule "sah" was "least"."""
    new = f"{split.removesuffix('least')}sah"
    if not split.endswith("-least") or new not in TOP_DOWN:
        return split
    renamed.warn(f"split {split!r}", repr(new), 5)
    return new


def _clustered(low: Floats, high: Floats, faces: Ints | None, split: str) -> tuple[Any, int]:
    """Build clusters of elements bottom-up, by insertion or by connectivity; also return the index of the root."""
    from ...kernels.bvh import merge as _bottom_up

    m = len(low)
    room = max(2 * m - 1, 0)
    boxes = np.empty((room, 6))
    boxes[:m, :3], boxes[:m, 3:] = low, high
    clusters = _bottom_up.Clusters(boxes, np.empty((room, 2), np.int32), np.ones(room, np.int32))
    if split == "insertion":
        return clusters, int(_bottom_up.insert_all(clusters, m, _stride(m))) if m else 0
    ids, new = np.arange(m), m
    if split == "connectivity" and m:
        home = np.empty(room, np.int64)
        new = int(_bottom_up.merge_neighbours(clusters, m, neighbours(faces), ROUNDS, home))
        ids = np.flatnonzero(home[:new] == np.arange(new))
    codes = np.empty(len(ids), np.int64)
    _bottom_up.curve_codes(boxes, ids, codes)
    ids = ids[np.argsort(codes, kind="stable")]
    _bottom_up.merge_along(clusters, ids, len(ids), new)
    return clusters, max(room - 1, 0)


def neighbours(faces: Any) -> NDArray[np.int64]:
    """Return pairs (p,2) of elements that share an edge; elements at a non-manifold edge are chained."""
    faces = np.asarray(faces, np.int64)
    ends = np.sort(np.stack([faces, np.roll(faces, -1, 1)], -1).reshape(-1, 2), 1)
    by = np.lexsort((ends[:, 1], ends[:, 0]))
    same = (ends[by[1:]] == ends[by[:-1]]).all(1)
    owner = by // max(faces.shape[1], 1)
    return np.ascontiguousarray(np.stack([owner[:-1][same], owner[1:][same]], 1))


def _adjacency(pairs: NDArray[np.int64], m: int) -> tuple[Ints, Ints]:
    """Return the neighbours of each of m elements as lists in one array (CSR): where each starts (m+1,), and all."""
    one, two = np.concatenate([pairs, pairs[:, ::-1]]).T
    order = np.lexsort((two, one))
    start = np.concatenate([[0], np.cumsum(np.bincount(one, minlength=m))]).astype(np.int32)
    return start, two[order].astype(np.int32)


def _stride(m: int) -> int:
    """Return a stride of about 0.62 m that is coprime to m."""
    stride = max(int(0.618 * m), 1)
    while math.gcd(stride, m) != 1:
        stride += 1
    return stride


def _linked(order: Ints, starts: Ints, counts: Ints, leaf: int, arity: int, k: int) -> Tree:
    """Link the nodes of a binary tree in depth-first order, widened to the given arity."""
    skip = np.empty(len(starts), np.int32)
    _kernels.link(starts, counts, leaf, skip)
    if arity > 2:
        keep = np.empty(len(starts), np.bool_)
        _top_down.widen(skip, counts, leaf, arity, keep)
        starts, counts = starts[keep], counts[keep]
        skip = np.empty(len(starts), np.int32)
        _kernels.link(starts, counts, leaf, skip)
    nodes = _kernels.new_nodes(len(starts), k)
    nodes["skip"], nodes["first"], nodes["count"] = skip, starts, counts
    small = counts <= max(len(order) // PARTS, leaf, SMALLEST)
    parts, crown = np.empty(len(nodes), np.int32), np.empty(len(nodes), np.int32)
    p, c = _kernels.share(small, skip, parts, crown)
    items, faces = np.zeros((len(order), k)), np.zeros((0, 3), np.int32)
    return Tree(nodes, order, items, parts[:p].copy(), crown[:c][::-1].copy(), faces)
