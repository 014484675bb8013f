"""Distances and times of impact of arrays on the card are those of arrays on the host, bit for bit."""

import numpy as np
import pytest

from pliant import geometry
from pliant.kernels import device

CASES = 60 if device.SIMULATED else 200_000


def rows(rng, count: int) -> np.ndarray:
    """Features of any shape: slivers, points on one line, and scales far from 1."""
    p = rng.normal(size=(count, 4, 3))
    p[::5, 3] = p[::5, 2] + 1e-12 * rng.normal(size=(len(p[::5]), 3))
    p[1::7, 2:] = p[1::7, :1]
    return p * 10.0 ** rng.integers(-9, 6, (count, 1, 1))


@pytest.mark.parametrize("name", ["point_triangle_distance", "edge_edge_distance"])
def test_distances_are_bitwise_equal(rng, name: str) -> None:
    p, measure = rows(rng, CASES), getattr(geometry, name)
    found = measure(device.upload(p))
    assert device.is_there(found)
    np.testing.assert_array_equal(found.copy_to_host(), measure(p))


@pytest.mark.parametrize("name", ["vertex_face_impact", "edge_edge_impact"])
def test_times_of_impact_are_bitwise_equal(rng, name: str) -> None:
    start = rng.normal(size=(CASES, 4, 3))
    end = start + 0.7 * rng.normal(size=start.shape)
    end[::4] = start[::4] * [1.0, 1.0, -1.0]
    find = getattr(geometry, name)
    expected, found = find(start, end), find(device.upload(start), device.upload(end))
    assert 0 < expected[0].sum() < len(start)
    for one, other in zip(expected, found, strict=True):
        np.testing.assert_array_equal(other.copy_to_host(), one)


def test_nothing_is_answered_with_nothing() -> None:
    none = device.upload(np.zeros((0, 4, 3)))
    assert geometry.point_triangle_distance(none).shape == (0,)
    assert [a.shape for a in geometry.vertex_face_impact(none, none)] == [(0,), (0,)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p: p.astype(np.float32), r"p has dtype float32; on the graphics card expected float64"),
        (lambda p: p[:, :3], r"p has shape \(9, 3, 3\); expected \(n, 4, 3\)"),
        (lambda p: np.where(np.arange(108).reshape(p.shape) == 40, np.nan, p), r"p\[3, 1, 1\] is not finite \(nan\)"),
        (lambda p: np.where(np.arange(108).reshape(p.shape) == 40, 1e13, p), r"p\[3, 1, 1\] = 1e\+13 is beyond 1e\+12"),
    ],
)
def test_bad_arrays_are_one_clear_error(change, message: str) -> None:
    p = np.ones((9, 4, 3))
    with pytest.raises(ValueError, match=message):
        geometry.point_triangle_distance(device.upload(change(p)))


def test_arrays_in_two_places_and_methods_of_the_host_are_refused() -> None:
    p = np.ones((2, 4, 3))
    there = device.upload(p)
    with pytest.raises(ValueError, match="p_0 on the graphics card, p_1 on the host"):
        geometry.vertex_face_impact(there, p)
    with pytest.raises(ValueError, match="'cubic' does not run on a graphics card; use 'conservative'"):
        geometry.vertex_face_impact(there, there, method="cubic")
