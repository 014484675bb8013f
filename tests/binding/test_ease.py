"""Ease: how much a garment grows around each vertex so that it follows the skin."""

import numpy as np
import pytest

import pliant
from pliant import shapes
from pliant.binding.easing import eased, smoothed


def test_a_strip_over_a_joint_grows_where_the_skin_stretches_it_and_no_more_than_allowed() -> None:
    sheet = shapes.cloth(1.0, 0.2, 21)
    x = sheet.vertices
    stretched = x * np.where(np.abs(x[:, :1]) < 0.2, [1.1, 1.0, 1.0], 1.0)
    stretched[:, 0] += np.where(np.abs(x[:, 0]) < 0.2, 0.0, 0.02 * np.sign(x[:, 0]))
    ease = eased(sheet, x, [stretched], 0.5, 0.0)
    near, far = np.abs(x[:, 0]) < 0.1, np.abs(x[:, 0]) > 0.4
    assert ease[near].min() > 1.05
    assert ease[far] == pytest.approx(1.0)
    assert eased(sheet, x, [stretched], 0.03, 0.0).max() == pytest.approx(1.03)
    assert eased(sheet, x, [x, 0.5 * x], 0.5, 0.0) == pytest.approx(1.0)  # shorter is no reason to shrink


def test_smoothing_spreads_over_a_length_that_does_not_depend_on_the_resolution() -> None:
    width = []
    for count in (41, 81):
        sheet = shapes.cloth(1.0, 1.0, count)
        edges, x = sheet.topology.edges, sheet.vertices
        spike = (np.linalg.norm(x, axis=1) < 1e-9).astype(float)
        out = smoothed(spike, edges, 1.0 / (count - 1), 0.06)
        width.append(np.sqrt((out * x[:, 0] ** 2).sum() / out.sum()))
    assert width[0] == pytest.approx(width[1], rel=0.05)


def test_the_ease_of_a_bound_garment_is_a_rest_scale_of_its_body() -> None:
    walker, skirt = shapes.walking_mannequin(0.7), shapes.skirt(0.3, spacing=0.04)
    ease = pliant.bind(skirt, walker).ease("walk")
    assert ease.shape == (skirt.n_vertices,)
    assert ease.min() >= 1.0
    assert 1.02 < ease.max() <= 1.15
    body = pliant.Body(skirt, rest_scale=ease)
    assert np.array_equal(body.rest_scale, ease)
    with pytest.raises(ValueError, match="rest_scale"):
        pliant.Body(skirt, rest_scale=ease[:-1])
    with pytest.raises(ValueError, match="clip"):
        pliant.bind(skirt, walker).ease("dance")
