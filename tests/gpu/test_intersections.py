"""Intersecting faces on the card are those of threads."""

import numpy as np
import pytest

from pliant import shapes
from pliant.detect.queries.intersections import Intersections
from pliant.kernels import device

RESOLUTION = 4 if device.SIMULATED else 200


def test_self_intersections_are_those_of_threads(rng) -> None:
    cloth = shapes.cloth(1.0, 1.0, resolution=RESOLUTION)
    x = np.round((cloth.vertices + rng.normal(size=cloth.vertices.shape) / RESOLUTION) * 64.0) / 64.0
    query = Intersections(cloth).update(x)
    there = query.to("cuda").update(device.upload(x))
    assert query.count > 5
    np.testing.assert_array_equal(there.pairs().copy_to_host(), query.pairs())
    assert there.count == query.count


def test_intersections_of_two_meshes_are_those_of_threads(rng) -> None:
    cloth, ball = shapes.cloth(1.0, 1.0, resolution=RESOLUTION), shapes.ball(0.3, 1 if device.SIMULATED else 4)
    moved = ball.vertices + cloth.vertices.mean(0) + 1e-3 * rng.normal(size=ball.vertices.shape)
    query = Intersections(cloth, ball).update(x_b=moved)
    there = query.to("cuda").update(x_b=device.upload(moved))
    assert query.count > 3
    np.testing.assert_array_equal(there.pairs().copy_to_host(), query.pairs())
    assert there.update(x_b=device.upload(moved + 9.0)).count == 0


def test_a_second_mesh_that_is_not_there_is_refused() -> None:
    there = Intersections(shapes.cloth(1.0, 1.0, resolution=3)).to("cuda")
    with pytest.raises(ValueError, match="there is no second mesh"):
        there.update(x_b=device.upload(np.zeros((9, 3))))
