"""Distances of a point from eight triangles at once, in single precision, against exact ones and their error bound."""

import numpy as np
import pytest

from conftest import cases
from pliant.kernels.bvh.bvh8 import fill_frame
from pliant.kernels.geometry.triangle import point_triangle_distance
from pliant.kernels.jit import kernel
from pliant.kernels.queries.closest_bvh8 import ERROR
from pliant.kernels.triangle_lanes import LANES, ROWS, at_most, triangle_distances


@kernel
def frames(corners, triangles):
    for k in range(len(corners)):
        t = corners[k]
        a, b, c = (t[0, 0], t[0, 1], t[0, 2]), (t[1, 0], t[1, 1], t[1, 2]), (t[2, 0], t[2, 1], t[2, 2])
        fill_frame(a, b, c, triangles, 1, k)


@kernel
def distances(triangles, point, squares):
    return triangle_distances(triangles, 1, (point[0], point[1], point[2]), squares, 1)


@kernel
def chosen(squares, limit):
    return at_most(squares, 1, limit)


def awkward(rng, kind):
    """Triangles (8,3,3): any, slivers, needles, with coinciding or collinear corners, or tiny."""
    t = rng.uniform(-1.0, 1.0, (LANES, 3, 3))
    if kind == 1:
        t[:, 2] = t[:, 0] + rng.uniform(-1, 2, (LANES, 1)) * (t[:, 1] - t[:, 0])
        t[:, 2] += 10.0 ** rng.uniform(-18, -1, (LANES, 1)) * rng.normal(size=(LANES, 3))
    elif kind == 2:
        t[:, 2] = t[:, 1] + 10.0 ** rng.uniform(-18, -1, (LANES, 1)) * rng.normal(size=(LANES, 3))
    elif kind == 3:
        return np.round(t)
    elif kind == 4:
        t = t[:, :1] + 10.0 ** rng.uniform(-30, -3, (LANES, 1, 1)) * t
    return t * 10.0 ** rng.uniform(-3, 0)


@pytest.mark.parametrize("kind", range(5))
def test_the_error_of_a_distance_is_within_its_bound(kind):
    rng, single = np.random.default_rng(kind), np.float32
    triangles, squares = np.zeros((2, ROWS, LANES), single), np.zeros((2, LANES), single)
    for _ in range(cases(400)):
        corners = awkward(rng, kind)
        far = np.linalg.norm(corners, axis=2).max()
        frames(corners, triangles)
        point = rng.normal(size=3) * far * 10.0 ** rng.uniform(-3, 1.5)
        if kind == 3:
            point = rng.integers(-2, 3, 3).astype(float)  # on the lines through triangles without area
        elif rng.random() < 0.3:
            point = rng.dirichlet([0.3] * 3) @ corners[0] + far * 10.0 ** rng.uniform(-9, -1) * rng.normal(size=3)
        least = distances(triangles, point.astype(single), squares)
        exact = np.array([point_triangle_distance(tuple(point), *(tuple(c) for c in t)) for t in corners])
        off = np.abs(np.sqrt(squares[1].astype(np.float64)) - exact)
        assert off.max() <= ERROR * (np.abs(point.astype(single)).max() + far)
        assert least == squares[1].min()
        assert not squares[0].any()


def test_the_numbers_up_to_a_limit():
    squares = np.zeros((2, LANES), np.float32)
    squares[1] = 3.0, 1.0, 2.0, 2.0, 5.0, 0.0, np.inf, 2.5
    assert chosen(squares, np.float32(2.0)) == 0b00101110
