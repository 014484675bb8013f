"""Kernels of the card come from the sources of those of the processor, and give the same bits."""

import numpy as np

from pliant.kernels import device
from pliant.kernels.fields import dense


def test_a_twin_has_the_source_of_its_module() -> None:
    twin = device.twin("fields.dense")
    assert twin.__file__ == dense.__file__
    assert twin.sample_points is not dense.sample_points
    assert twin.vec.__name__ == f"{twin.__package__.rpartition('.')[0]}.vec"


def test_tuples_are_uploaded_part_by_part() -> None:
    field = dense.Dense(np.ones((2, 2, 2), np.float32), np.zeros((0, 0, 0), np.uint8), np.zeros(3), 0.5)
    there = device.upload(field)
    assert isinstance(there, dense.Dense)
    assert device.is_there(there.values) or device.SIMULATED
    assert there.h == 0.5
    np.testing.assert_array_equal(there.values.copy_to_host(), field.values)


def test_a_dense_field_has_the_same_bits(rng) -> None:
    field = dense.Dense(
        rng.normal(size=(5, 6, 7)).astype(np.float32), np.zeros((0, 0, 0), np.uint8), np.array([0.1, 0.2, 0.3]), 0.25
    )
    points = rng.uniform(-0.2, 2.0, (300, 3))
    expected, found = (np.empty(300), np.empty((300, 3))), (device.empty(300), device.empty((300, 3)))
    dense.sample_points(field, points, *expected)
    device.launch(device.twin("fields.dense").sample_points, 300, device.upload(field), device.upload(points), *found)
    assert np.isnan(expected[0]).any()
    for one, other in zip(expected, found, strict=True):
        np.testing.assert_array_equal(other.copy_to_host(), one)


def test_the_lesser_and_the_greater_of_two_numbers_have_the_same_bits() -> None:
    """Where one is not a number, or both are zeros of different signs, the first one."""
    from pliant.kernels.gpu.jit import kernel, prange

    @kernel(parallel=True)
    def least_and_greatest(pairs, out):
        for i in prange(len(pairs)):
            x, y = pairs[i, 0], pairs[i, 1]
            out[i, 0], out[i, 1], out[i, 2], out[i, 3] = min(x, y), max(x, y), min(x, y, 0.5), max(y, x, -0.0)

    some = [0.0, -0.0, np.nan, 1.0, -2.0, np.inf]
    pairs = np.array([(x, y) for x in some for y in some])
    expected = np.array([(min(x, y), max(x, y), min(x, y, 0.5), max(y, x, -0.0)) for x, y in pairs.tolist()])
    found = device.empty((len(pairs), 4))
    device.launch(least_and_greatest, len(pairs), device.upload(pairs), found)
    np.testing.assert_array_equal(found.copy_to_host().view(np.int64), expected.view(np.int64))
