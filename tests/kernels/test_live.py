"""Vertices without any node in their cone are passed over; one that has a node never is."""

import numpy as np
import pytest

from pliant import Mesh, shapes
from pliant.detect.fields.bake import Grid, adjacency_of
from pliant.kernels.fields import occupied as live

REACH = 3.0


def crumpled(spread, lattice, seed):
    """A sheet whose vertices went anywhere: folds, slivers, faces that lie on each other."""
    rng = np.random.default_rng(seed)
    sheet = shapes.cloth(1.0, resolution=9)
    x = sheet.vertices + rng.normal(0.0, spread, sheet.vertices.shape)
    x[rng.integers(0, len(x), 5)] = x[rng.integers(0, len(x), 5)]
    return Mesh(np.round(x / lattice) * lattice, sheet.faces)


MESHES = {
    "ball": lambda seed: shapes.ball(0.5, 2),
    "box": lambda seed: shapes.box((1.0, 0.6, 0.8), 2),
    "flat sheet": lambda seed: crumpled(0.0, 1e-9, seed),
    "dented sheet": lambda seed: crumpled(0.01, 1e-9, seed),
    "crumpled sheet": lambda seed: crumpled(0.1, 1e-9, seed),
    "sheet on the nodes": lambda seed: crumpled(0.1, 0.05, seed),
}


def cones_with_nodes(adjacency):
    """(n,) whether any node within reach of a vertex has no edge of it leading towards the node, by its definition."""
    step = np.arange(-int(REACH) - 1, int(REACH) + 2)
    around = np.stack(np.meshgrid(step, step, step, indexing="ij"), -1).reshape(-1, 3)
    held = np.zeros(len(adjacency.x), bool)
    for v in np.unique(adjacency.faces):
        others = np.setdiff1d(adjacency.faces[(adjacency.faces == v).any(1)], v)
        y = np.round(adjacency.x[v]) + around - adjacency.x[v]
        near = (y * y).sum(1) <= REACH * REACH
        held[v] = (y[near] @ (adjacency.x[others] - adjacency.x[v]).T <= 0.0).all(1).any()
    return held


@pytest.mark.parametrize("mesh", MESHES)
@pytest.mark.parametrize("seed", range(3))
def test_a_vertex_with_a_node_in_its_cone_is_never_passed_over(mesh, seed):
    made = MESHES[mesh](seed).welded
    h = (0.05, 0.17, 0.011)[seed]
    corner = made.vertices.min(0) - (0.0, 0.3 * h, 0.71 * h)
    grid = Grid(tuple(corner.tolist()), h, (9, 9, 9), REACH)
    adjacency = adjacency_of(made, grid)
    found = np.zeros(made.n_vertices, bool)
    live.find_needles(adjacency, REACH, np.ones(made.n_vertices, bool), 0, made.n_vertices, found)
    rough = found.copy()
    live.find_cones(adjacency, REACH, 0, made.n_vertices, found)
    needed = cones_with_nodes(adjacency)
    assert not (needed & ~rough).any()
    assert not (needed & ~found).any()


def test_few_vertices_of_a_smooth_mesh_are_looked_at_twice():
    ball = shapes.ball(0.5, 4)
    grid = Grid((-0.6, -0.6, -0.6), 0.05, (25, 25, 25), REACH)
    adjacency = adjacency_of(ball, grid)
    found = np.zeros(ball.n_vertices, bool)
    live.find_needles(adjacency, REACH, np.ones(ball.n_vertices, bool), 0, ball.n_vertices, found)
    assert found.mean() < 0.2
