"""Collision-free steps on the card are those of threads."""

import numpy as np
import pytest

from pliant import shapes
from pliant.detect.detectors.continuous import Sweep
from pliant.kernels import device

RESOLUTION = 4 if device.SIMULATED else 150


@pytest.mark.parametrize("far", [0.02, 0.5, 4.0])
def test_the_collision_free_step_has_the_bits_of_threads(rng, far: float) -> None:
    cloth = shapes.cloth(1.0, 1.0, resolution=RESOLUTION)
    sweep = Sweep(cloth)
    there = sweep.to("cuda")
    for _ in range(2):
        x_0 = cloth.vertices + rng.normal(size=cloth.vertices.shape) * 0.1 / RESOLUTION
        x_1 = x_0 + rng.normal(size=x_0.shape) * far / RESOLUTION
        assert there.step(device.upload(x_0), device.upload(x_1)) == sweep.step(x_0, x_1)


def test_steps_of_layers_that_pass_through_each_other_end_before_they_touch(rng) -> None:
    cloth = shapes.cloth(1.0, 1.0, resolution=RESOLUTION)
    x_0 = cloth.vertices.copy()
    side = x_0[:, 0] > x_0[:, 0].mean()
    x_0[:, 0] = np.abs(x_0[:, 0] - x_0[:, 0].mean()) + 0.2
    up = int(np.argmin(np.ptp(cloth.vertices, axis=0)))
    x_0[:, up] += np.where(side, 0.05, 0.0) + 1e-3 * rng.normal(size=len(x_0))
    x_1 = x_0.copy()
    x_1[:, up] -= np.where(side, 0.2, 0.0) * x_0[:, 0]
    sweep = Sweep(cloth)
    step = sweep.step(x_0, x_1)
    assert 0.0 < step < 1.0
    assert sweep.to("cuda").step(device.upload(x_0), device.upload(x_1)) == step


def test_options_of_other_trees_are_refused() -> None:
    with pytest.raises(ValueError, match="the options volume, leaf, update and worse do not run on a graphics card"):
        Sweep(shapes.cloth(1.0, 1.0, resolution=3), volume="sphere").to("cuda")
