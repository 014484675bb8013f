"""The batched primitives against exact rational answers, and at the door."""

import numpy as np
import pytest

import pliant
from pliant import geometry


def test_a_batch_agrees_with_the_exact_oracle(data):
    with np.load(data / "oracles" / "primitive_distances_dev.npz") as oracle:
        p = oracle["points"]
        size = np.abs(p).max((1, 2))
        for said, squared in (
            (geometry.point_triangle_distance(p), oracle["point_triangle_sq"]),
            (geometry.edge_edge_distance(p), oracle["edge_edge_sq"]),
        ):
            assert (np.abs(said - np.sqrt(squared)) <= 1e-14 * size).all()


def test_an_empty_batch_has_an_empty_answer():
    assert geometry.point_triangle_distance(np.zeros((0, 4, 3))).shape == (0,)


@pytest.mark.parametrize("distance", [geometry.point_triangle_distance, geometry.edge_edge_distance])
def test_a_bad_batch_is_refused_by_name_and_index(distance):
    p = np.zeros((3, 4, 3))
    p[2, 1, 0] = np.nan
    with pytest.raises(ValueError, match=r"p\[2, 1, 0\] is not finite"):
        distance(p)
    with pytest.raises(ValueError, match=r"p has shape \(3, 3, 3\)"):
        distance(np.zeros((3, 3, 3)))


def test_closest_points_of_a_ball_lie_on_it_towards_the_point():
    ball = pliant.shapes.ball(1.0, 3)
    d, q = pliant.closest_point(ball, [(0.0, 3.0, 0.0), (0.0, 0.0, 0.2)])
    assert d == pytest.approx([2.0, -0.8], abs=0.02)
    assert np.linalg.norm(q, axis=1) == pytest.approx([1.0, 1.0], abs=0.02)
