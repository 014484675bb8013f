"""Nearest points on the card are those of the host, bit for bit."""

import numpy as np
import pytest

from pliant import shapes
from pliant.detect.queries.closest_point import ClosestPoints
from pliant.kernels import device


def test_nearest_points_and_signs_are_bitwise_equal(rng) -> None:
    mesh = shapes.ball(0.5, 2) if device.SIMULATED else shapes.mannequin(1.0)
    count = 100 if device.SIMULATED else 200_000
    points = rng.uniform(mesh.bounds[0] - 0.2, mesh.bounds[1] + 0.2, (count, 3))
    points[: min(20, mesh.n_vertices)] = mesh.vertices[:20]  # on the surface: ties, and sides that no normal gives
    points[20:40] = mesh.vertices[mesh.faces[:20]].mean(1)
    on_host = ClosestPoints(mesh)
    expected, found = on_host.query(points), on_host.to("cuda").query(device.upload(points))
    assert (expected[0] < 0.0).any()
    for one, other in zip(expected, found, strict=True):
        np.testing.assert_array_equal(other.copy_to_host(), one)


def test_a_surface_that_needs_winding_numbers_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="is open, intersects itself or has slivers; its sides need threads"):
        ClosestPoints(shapes.cloth(1.0, 1.0, resolution=4)).to("cuda")
