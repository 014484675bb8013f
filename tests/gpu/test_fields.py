"""Fields on the card give the bits of those on the host."""

import numpy as np
import pytest

import pliant
from pliant import shapes
from pliant.kernels import device

COUNT = 200 if device.SIMULATED else 300_000


@pytest.fixture(scope="module", params=["sparse", "dense"])
def field(request) -> pliant.DistanceField:
    open_sheet = shapes.cloth(1.0, 1.0, resolution=5 if device.SIMULATED else 60)
    wavy = open_sheet.vertices + [[0.0, 0.0, 0.1]] * np.sin(9.0 * open_sheet.vertices[:, :1])
    mesh = pliant.Mesh(wavy, open_sheet.faces)
    return pliant.DistanceField.bake(mesh, 12 if device.SIMULATED else 200, storage=request.param)


def test_distance_and_gradient_are_bitwise_equal(field, rng) -> None:
    points = rng.uniform(field.low - 0.1, field.high + 0.1, (COUNT, 3))
    points[:7] = [field.low, field.high, field.origin, [np.nan] * 3, [np.inf] * 3, [-np.inf] * 3, [1e300] * 3]
    distance, gradient = np.empty(COUNT), np.empty((COUNT, 3))
    field.probe(points, distance, gradient)
    found = field.to("cuda").probe(device.upload(points))
    assert 0 < np.isnan(distance).sum() < COUNT
    np.testing.assert_array_equal(found[0].copy_to_host(), distance)
    np.testing.assert_array_equal(found[1].copy_to_host(), gradient)


def test_results_can_be_written_to_arrays_of_the_caller(field, rng) -> None:
    points = rng.uniform(field.low, field.high, (50, 3))
    there = device.upload(np.zeros(50)), device.upload(np.zeros((50, 3)))
    found = field.to("cuda").sample(device.upload(points), *there)
    distance, normal = field.sample(points)
    np.testing.assert_array_equal(there[0].copy_to_host(), distance)
    # NumPy adds the squares of a normal in an order that depends on the processor
    np.testing.assert_allclose(there[1].copy_to_host(), normal, rtol=0.0, atol=2.0**-52)
    assert found[0].shape == (50,)


def test_the_normal_where_the_gradient_vanishes_is_that_of_the_nearest_triangle() -> None:
    mesh = shapes.box(1.0, 3)
    field = pliant.DistanceField.bake(mesh, 9, band=9.0)
    middle = mesh.bounds.mean(0) + np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.3], [0.0, 0.3, 0.0]])
    distance, normal = field.sample(middle)
    found = field.to("cuda").sample(device.upload(middle))
    np.testing.assert_array_equal(found[0].copy_to_host(), distance)
    np.testing.assert_allclose(found[1].copy_to_host(), normal, rtol=0.0, atol=2.0**-52)


def test_a_place_that_does_not_exist_and_points_of_the_wrong_shape_are_refused(field) -> None:
    with pytest.raises(ValueError, match="device"):
        field.to("gpu")
    assert field.to("cpu") is field
    with pytest.raises(ValueError, match=r"points has shape \(4, 2\); expected \(n, 3\)"):
        field.to("cuda").sample(device.upload(np.zeros((4, 2))))


def test_fields_that_do_not_run_there_are_refused_by_name() -> None:
    from pliant.detect.fields.octree import AdaptiveField

    with pytest.raises(
        ValueError, match="a field of class AdaptiveField does not run on a graphics card; use a DistanceField"
    ):
        AdaptiveField.bake(shapes.ball(0.5, 2)).to("cuda")
