"""Sums on the card."""

import numpy as np
import pytest

from pliant.kernels import device


@pytest.mark.parametrize("count", [0, 1, 2049, 3_000_000])
def test_sums_are_those_of_numpy(rng, count: int) -> None:
    values = rng.integers(0, 9, min(count, 5000) if device.SIMULATED else count).astype(np.int32)
    found = device.exclusive_sums(device.upload(values)).copy_to_host()
    np.testing.assert_array_equal(found, np.concatenate([[0], np.cumsum(values)]))
