"""Refits by vector operations give exactly the boxes of the triangles and of all that is below a node."""

import numpy as np
import pytest

from conftest import cases
from pliant.detect.bvh.tree import refit, tree_of


def boxes(x, faces):
    return np.concatenate([x[faces].min(1), x[faces].max(1)], 1)


@pytest.mark.parametrize("arity", [2, 4, 8])
@pytest.mark.parametrize("leaf", [1, 4])
def test_boxes_are_the_least_and_greatest_coordinates_of_what_they_hold(rng, arity, leaf) -> None:
    for case in range(cases(20)):
        n, m = int(rng.integers(1, 40)), int(rng.integers(1, 200))
        faces = rng.integers(0, n, (m, 3)).astype(np.int32)
        faces[rng.integers(m)] = n - 1  # the corner after which there is nothing to load
        x = rng.normal(size=(n, 3))
        tree = tree_of(x, faces, leaf=leaf, arity=arity)
        x = np.round(rng.normal(size=(n, 3)), 1) * rng.choice([1e-300, 1.0, 1e300])
        refit(tree, np.asfortranarray(x) if case % 2 else x, faces)
        items = boxes(x, faces[tree.order])
        assert np.array_equal(tree.items, items)
        nodes = np.asarray(tree.nodes)
        for i, node in enumerate(nodes):
            below = nodes[i : node["skip"]]
            ends = [range(k["first"], k["first"] + k["count"]) for j, k in enumerate(below, i) if k["skip"] == j + 1]
            inside = items[np.concatenate(ends)]
            assert np.array_equal(node["bounds"], [*inside[:, :3].min(0), *inside[:, 3:].max(0)])
