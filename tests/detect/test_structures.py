"""Data structures as shapes for display: outlines of volumes, levels of trees, refined spheres."""

import numpy as np
import pytest

import pliant
from conftest import SEED
from pliant.detect.bvh.tree import flat, tree_of
from pliant.detect.detectors.structures.spheres import nearest_in, parts_at
from pliant.detect.detectors.structures.volumes import depths_of, nodes_of, parents_of, volume_edges
from pliant.detect.structure import Structure, clamped, some, together
from pliant.kernels.bvh.volumes import AXES

BALL = pliant.shapes.ball(0.1, 2)
AXES_OF = {14: AXES[:7], 18: np.concatenate([AXES[:3], AXES[7:]]), 26: AXES}


@pytest.mark.parametrize("k", [14, 18, 26])
def test_the_outline_of_a_k_dop_touches_every_slab_and_leaves_none(k):
    rng = np.random.default_rng(SEED)
    x = rng.normal(size=(40, 3)) * (1.0, 0.3, 2.0) + 5.0
    tree = tree_of(x, np.arange(40, dtype=np.int32).reshape(-1, 4), volume=f"{k}-dop", leaf=3)
    bounds, axes = flat(tree).bounds[:, :k], AXES_OF[k]
    for volume in bounds:
        ends = volume_edges(volume[None], 0).reshape(-1, 3) @ axes.T
        low, high = volume[: k // 2], volume[k // 2 :]
        assert (ends >= low - 1e-7).all()
        assert (ends <= high + 1e-7).all()
        # slabs are tight around points, so that the hull of the points touches each
        hull = volume_edges(volume[None], 0)
        assert len(hull) >= 6
        np.testing.assert_allclose(ends.min(0)[:3], low[:3], atol=1e-7)
        np.testing.assert_allclose(ends.max(0)[:3], high[:3], atol=1e-7)


def test_a_cube_as_a_26_dop_has_the_edges_of_a_cube():
    corners = np.array([[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)], float)
    along = corners @ AXES.T
    edges = volume_edges(np.concatenate([along.min(0), along.max(0)])[None], 0)
    lengths = np.linalg.norm(edges[:, 0] - edges[:, 1], axis=1)
    assert lengths == pytest.approx(1.0)
    middles = np.unique(np.round(edges.mean(1), 6), axis=0)
    assert len(middles) == 12


def test_levels_of_a_tree_hold_every_element_once():
    tree = tree_of(BALL.vertices, BALL.faces, arity=4, leaf=2)
    nodes = nodes_of(tree)
    assert nodes.depth[0] == 0
    for level in range(nodes.depth.max() + 1):
        rows = nodes.at(level)
        assert tree.nodes["count"][rows].sum() == BALL.n_faces
    parents = parents_of(nodes.depth)
    assert (nodes.depth[parents[1:]] == nodes.depth[1:] - 1).all()
    assert (parents[1:] < np.arange(1, len(parents))).all()
    assert (tree.nodes["skip"][parents[1:]] > np.arange(1, len(parents))).all()


def test_depths_of_nested_nodes():
    assert depths_of(np.array([6, 4, 3, 4, 6, 6], np.int32)).tolist() == [0, 1, 2, 2, 1, 2]


def test_a_front_that_stops_early_still_holds_every_element():
    tree = tree_of(BALL.vertices, BALL.faces, arity=2)
    every = nodes_of(tree)
    current, parents = np.zeros(len(every.depth), np.bool_), parents_of(every.depth)
    opened = np.random.default_rng(SEED).random(len(current)) < 0.6
    current[0] = True
    for node in range(1, len(current)):  # a traversal reaches all children of a node that it opens
        current[node] = current[parents[node]] and opened[parents[node]]
    some_reached = every._replace(current=current)
    for level in range(6):
        front = some_reached.front(level)
        assert current[front].all()
        assert tree.nodes["count"][front].sum() == BALL.n_faces


def test_refined_parts_contain_the_nearest_point():
    rng = np.random.default_rng(SEED)
    corners, points = rng.normal(size=(200, 3, 3)), 2.0 * rng.normal(size=(200, 3))
    nearest = nearest_in(points, corners)
    levels = rng.integers(0, 5, 200)
    parts = parts_at(points, corners, levels, "containing")
    np.testing.assert_allclose(nearest_in(nearest, parts), nearest, atol=1e-9)
    area = [np.linalg.norm(np.cross(t[:, 1] - t[:, 0], t[:, 2] - t[:, 0]), axis=1) for t in (parts, corners)]
    np.testing.assert_allclose(area[0] * 4.0**levels, area[1], rtol=1e-9)


def test_levels_are_clamped_and_shapes_thinned_evenly():
    assert [clamped(level, 5, 2) for level in (None, -1, 3, 9)] == [2, 0, 3, 5]
    assert some(3, 10).tolist() == [0, 1, 2]
    assert some(100, 5).tolist() == [0, 24, 49, 74, 99]


def test_structures_of_several_pairs_are_drawn_together():
    one, two = (Structure("boxes", lines=np.zeros((k, 2, 3)), levels=k) for k in (2, 3))
    both = together([one, two])
    assert (len(both.lines), both.levels) == (5, 3)
    assert "2 pairs" in both.legend
    assert together([]) is None
