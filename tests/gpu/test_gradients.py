"""Nearest features and gradients on the card are those of the host."""

import numpy as np
import pytest

from pliant import shapes
from pliant.gradients.bodies import find_stencils
from pliant.gradients.on_card import BodyOnCard
from pliant.kernels import device


def test_stencils_are_bitwise_equal(rng) -> None:
    mesh = shapes.ball(0.5, 2) if device.SIMULATED else shapes.mannequin(1.0)
    count = 100 if device.SIMULATED else 200_000
    points = rng.uniform(mesh.bounds[0] - 0.2, mesh.bounds[1] + 0.2, (count, 3))
    points[:20] = mesh.vertices[:20]  # on the surface: sides that no normal gives
    points[20:40] = mesh.vertices[mesh.faces[:20]].mean(1)
    expected = find_stencils(points, mesh.vertices, mesh.faces)
    found = BodyOnCard(mesh.vertices, mesh.faces).stencils(device.upload(points))
    assert len(np.unique(expected.kind)) >= 3
    for name, one, other in zip(expected._fields, expected, found, strict=True):
        np.testing.assert_array_equal(other.copy_to_host(), one, err_msg=name)


def test_a_body_that_needs_winding_numbers_is_refused() -> None:
    sheet = shapes.cloth(1.0, 1.0, resolution=4)
    with pytest.raises(ValueError, match="its sides need threads"):
        BodyOnCard(sheet.vertices, sheet.faces)
