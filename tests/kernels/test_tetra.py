"""Tetrahedra: volume, weights, inside or not."""

import itertools

import numpy as np
import pytest

import naive
from conftest import cases
from pliant.kernels.geometry.tetra import barycentrics, point_in_tetra, signed_volume
from pliant.kernels.jit import COMPILED

UNIT = ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
FLAT = ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (1.0, 1.0, 0.0), (0.0, 1.0, 0.0))


def test_the_unit_tetrahedron_has_a_sixth():
    a, b, c, d = UNIT
    assert (signed_volume(a, b, c, d), signed_volume(a, c, b, d)) == (1.0 / 6.0, -1.0 / 6.0)


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
def test_weights_give_the_point_back_inside_and_outside(rng, scale):
    for p, a, b, c, d in naive.tuples(rng.normal(size=(100, 5, 3)) * scale):
        weights = barycentrics(p, a, b, c, d)
        # a flat tetrahedron blows rounding up by how flat it is; normal ones of this seed stay below 1e4
        assert np.allclose(np.dot(weights, [a, b, c, d]), p, rtol=0.0, atol=1e-10 * scale)
        assert sum(weights) == pytest.approx(1.0, abs=1e-10)


def test_a_corner_has_all_the_weight():
    for k in range(4):
        assert barycentrics(UNIT[k], *UNIT) == tuple(float(i == k) for i in range(4))


@pytest.mark.parametrize("p", [(0.5, 0.5, 0.0), (0.25, 0.5, 0.0), (1.0, 0.0, 0.0)])
def test_a_point_in_a_flat_tetrahedron_has_weights_that_give_it_back(p):
    assert np.dot(barycentrics(p, *FLAT), FLAT) == pytest.approx(p, abs=1e-15)


@pytest.mark.parametrize("tetra", [FLAT, (UNIT[0],) * 4, (*UNIT[:3], (0.3, 0.3, 1e-14)), (*UNIT[:2], UNIT[1], UNIT[0])])
def test_weights_of_a_flat_tetrahedron_are_those_of_a_point_in_it(rng, tetra):
    for p in naive.tuples(rng.normal(size=(20, 3))):
        weights = barycentrics(p, *tetra)
        assert min(weights) >= 0.0
        assert sum(weights) == pytest.approx(1.0, abs=1e-15)


def test_inside_agrees_with_exact_arithmetic_on_a_grid(rng):
    inside = 0
    rows = rng.integers(-1, 2, (cases(2000 if COMPILED else 200), 5, 3)).astype(float)
    rows[::2, 0] = rows[::2, 1:].mean(1)
    for row in naive.tuples(rows):
        found = point_in_tetra(*row)
        assert found == naive.point_in_tetra(*row), row
        inside += found
    assert 0.2 * len(rows) < inside < 0.9 * len(rows)


@pytest.mark.parametrize("z", [0.0, 1e-17, -1e-17])
def test_a_face_belongs_to_the_inside_and_nothing_below_it(z):
    p = (0.25, 0.25, z)
    assert {point_in_tetra(p, *order) for order in itertools.permutations(UNIT)} == {z >= 0.0}
