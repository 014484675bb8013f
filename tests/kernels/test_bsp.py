"""Pieces of the binary space partition: solving, fitting, choosing a plane, walking inside a cell."""

import numpy as np
import pytest

from pliant.kernels.fields import bsp


def test_the_symmetric_solution_is_numpys(rng):
    for _ in range(50):
        a = rng.normal(size=(3, 3))
        a = a @ a.T + 0.1 * np.eye(3)
        b = rng.normal(size=3)
        found = bsp.solve(*a[np.triu_indices(3)].tolist(), tuple(b.tolist()))
        assert found == pytest.approx(np.linalg.solve(a, b), rel=1e-9)


def linear(x, g, e):
    return x @ g + e


def test_a_linear_distance_is_fitted_exactly_wherever_its_samples_lie(rng):
    g = np.array([0.6, 0.0, 0.8])
    clouds = {"ball": np.ones(3), "plane": [1.0, 1.0, 0.0], "line": [0.0, 1.0, 0.0], "point": np.zeros(3)}
    for shape in clouds.values():
        x = 0.5 + rng.normal(size=(30, 3)) * shape
        found, e, left, count = bsp.fit_linear(x, linear(x, g, 0.3), np.tile(g, (30, 1)), np.zeros(30, np.int64), 0)
        assert found == pytest.approx(g, abs=1e-9)
        assert (e, left, count) == pytest.approx((0.3, 0.0, 30), abs=1e-9)


def test_the_best_plane_between_two_walls_is_their_bisector(rng):
    g_0, g_1 = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.6, 0.8])
    x = rng.random((60, 3))
    d_0, d_1 = linear(x, g_0, 0.0), linear(x, g_1, -0.2)
    first = d_0 < d_1
    normal = np.where(first[:, None], g_0, g_1)
    plane = np.array(bsp.best_split(x, np.minimum(d_0, d_1), normal, np.zeros(60, np.int64)))
    wanted = np.array([*(g_1 - g_0), -0.2]) / np.linalg.norm(g_1 - g_0)
    assert plane * np.sign(plane @ wanted) == pytest.approx(wanted, abs=1e-9)


def test_a_walk_stays_in_its_cell_and_reaches_its_corners(rng):
    # the cube cut by x + y + z = 1.5: the lower half has the plane as a wall
    linear_of = np.array([[1.0, 1.0, 1.0, -1.5], [0, 0, 0, 0], [0, 0, 0, 0]], np.float32)
    child, parent = np.array([1, 0, 0], np.int32), np.zeros(3, np.int32)
    steps = 400
    ways, shares = rng.normal(size=(2, steps, 3)), rng.random((2, steps))
    out = np.empty((2, 2 * steps, 3))
    start = np.array([[0.2, 0.2, 0.2], [0.8, 0.8, 0.8]])
    bsp.hit_and_run_samples(linear_of, child, parent, np.array([1, 2]), start, ways, shares, out)
    assert out.min() >= -1e-9
    assert out.max() <= 1 + 1e-9
    assert (out[0].sum(1) <= 1.5 + 1e-9).all()
    assert (out[1].sum(1) >= 1.5 - 1e-9).all()
    for corner in ([0, 0, 0], [1, 0.5, 0], [0, 1, 0.5]):
        assert np.linalg.norm(out[0] - corner, axis=1).min() < 1e-9
    # half of the points are inside, and spread over the cell
    assert (out[0, 1::2].sum(1) < 1.499).mean() > 0.95
    assert out[0, 1::2].std(0).min() > 0.1
