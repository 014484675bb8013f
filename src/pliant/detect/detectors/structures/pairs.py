"""Pairs that stochastic methods follow: of leaves of two BVHs, and of vertices at local minima of their distance."""

from typing import Any

import numpy as np

from ...structure import Floats, Structure, clamped, dots_at, some
from .volumes import hierarchy, nodes_of

_MOST_PAIRS = 4000


def structure_of_leaf_pairs(detector: Any, level: int | None) -> Structure:
    """Return the AABBs of a `StochasticBvhDetector` at a level, and the pairs of leaves that its last update tested, or
    with a budget the pairs of nodes that were still in the queue."""
    trees = detector.trees
    drawn = hierarchy([nodes_of(tree) for tree in trees], level)
    pairs = detector.leaf_pairs
    kept = pairs[some(len(pairs), _MOST_PAIRS)]
    ends = [_centres(tree)[kept[:, k]] for k, tree in enumerate((trees[0], trees[-1]))]
    if detector.budget_ms is None:
        text = f"orange: the {len(pairs)} pairs of leaves that were tested"
    else:
        text = f"orange: the {len(pairs)} pairs of nodes left in the queue when the time was up"
    recall = detector.estimated_recall
    text += f"; estimated recall {recall:.2f}" if np.isfinite(recall) else ""
    legend = drawn.legend.replace(" (blue: deformable, orange: obstacle)", "")
    boxes = np.concatenate([drawn.lines, drawn.accents])
    return drawn._replace(legend=f"blue: {legend}; {text}", lines=boxes, accents=np.stack(ends, 1))


def structure_of_active_pairs(detector: Any, x: Floats, level: int | None) -> Structure:
    """Return the vertex pairs that an `ActivePairsDetector` tracks at positions x (n,3). Level 0 draws all of them,
    others those on one level of the meshes, of which 1 is the full resolution."""
    touching, waiting, coarse = detector.tracked
    levels = detector.n_levels if detector.tracking == "levels" else 0
    level = clamped(level, levels, 0)
    far, on = coarse.pairs, coarse.level
    if level == 1:
        far = far[:0]
    elif level > 1:
        touching, waiting, far = touching[:0], waiting[:0], far[on == level - 1]
    free = np.concatenate([waiting, far])
    text = f"active pairs: {len(touching)} in contact (orange), {len(waiting)} at local minima of the distance (blue)"
    if levels:
        which = "all levels" if level == 0 else f"level {level} of {levels}"
        text += f", {len(far)} farther apart on coarser levels; {which}"
    dots = dots_at(x[free].reshape(-1, 3), x[touching].reshape(-1, 3))
    return Structure(f"{text}; {detector.regions} contact regions", level, levels, x[free], x[touching], dots=dots)


def _centres(tree: Any) -> Floats:
    bounds = np.asarray(tree.nodes["bounds"])
    return 0.5 * (bounds[:, :3] + bounds[:, 3:])
