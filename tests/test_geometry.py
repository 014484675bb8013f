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


IMPACTS = [geometry.vertex_face_impact, geometry.edge_edge_impact]
# the vertex falls through the triangle; as edges, the first passes the second
FALL = np.array([[(0.25, 0.25, 1.0), (0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)]])


def test_a_vertex_that_falls_through_a_face_hits_it_halfway_by_both_methods():
    end = FALL.copy()
    end[0, 0, 2] = -1.0
    for method in geometry.IMPACT_METHODS:
        hit, time = geometry.vertex_face_impact(FALL, end, method=method)
        assert hit.all()
        assert 0.499 < time[0] <= 0.5


@pytest.mark.parametrize("impact", IMPACTS)
def test_time_is_one_where_nothing_is_hit(impact):
    hit, time = impact(FALL, FALL + np.array([0.0, 0.0, 5.0]))
    assert (hit.dtype, hit.tolist(), time.tolist()) == (bool, [False], [1.0])


@pytest.mark.parametrize("impact", IMPACTS)
def test_an_empty_batch_of_motions_has_an_empty_answer(impact):
    hit, time = impact(np.zeros((0, 4, 3)), np.zeros((0, 4, 3)))
    assert (hit.shape, time.shape) == ((0,), (0,))


@pytest.mark.parametrize("impact", IMPACTS)
def test_a_bad_motion_is_refused_by_name(impact):
    bad = FALL.copy()
    bad[0, 2, 1] = np.inf
    with pytest.raises(ValueError, match=r"p_1\[0, 2, 1\] is not finite"):
        impact(FALL, bad)
    with pytest.raises(ValueError, match="p_0 has 1 rows and p_1 has 2"):
        impact(FALL, np.concatenate([FALL, FALL]))
    with pytest.raises(ValueError, match=r"unknown method 'cubik'; did you mean 'cubic'\?"):
        impact(FALL, FALL, method="cubik")
    with pytest.raises(ValueError, match="tolerance"):
        impact(FALL, FALL, tolerance=-1e-6)


def test_closest_points_of_a_ball_lie_on_it_towards_the_point():
    ball = pliant.shapes.ball(1.0, 3)
    d, q = pliant.closest_point(ball, [(0.0, 3.0, 0.0), (0.0, 0.0, 0.2)])
    assert d == pytest.approx([2.0, -0.8], abs=0.02)
    assert np.linalg.norm(q, axis=1) == pytest.approx([1.0, 1.0], abs=0.02)
