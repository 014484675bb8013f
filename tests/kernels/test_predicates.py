"""Signs of determinants against exact rational arithmetic."""

import itertools
import math

import numpy as np
import pytest

import naive
from conftest import cases
from pliant.kernels.geometry.predicates import drop, orient2d, orient3d, two_sum
from pliant.kernels.jit import COMPILED

MANY = cases(4000 if COMPILED else 300)
A, B, C = (0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)


def check_orient3d(rows):
    wrong = [row for row in naive.tuples(rows) if orient3d(*row) != naive.orient3d(*row)]
    assert not wrong, wrong[0]


def test_a_point_on_the_side_of_the_normal_is_positive():
    assert [orient3d(A, B, C, (0.3, 0.3, z)) for z in (1.0, 0.0, -1.0)] == [1, 0, -1]


@pytest.mark.parametrize("z", [1e-17, 1e-170, 5e-324])
def test_the_last_bit_above_a_plane_counts(z):
    assert [orient3d(A, B, C, (0.3, 0.3, s * z)) for s in (1.0, -1.0)] == [1, -1]


@pytest.mark.parametrize("size", [1.0, 1e12, 1e-12, 1e100, 1e-100, 1e-300, 1e300])
def test_one_ulp_off_a_slanted_plane_counts(size):
    # three corners of x + y + z = size, whose fourth point is a quarter and a half of it: exact in binary
    a, b, c = (size, 0.0, 0.0), (0.0, size, 0.0), (0.0, 0.0, size)
    on = [0.25 * size, 0.25 * size, 0.5 * size]
    up, down = ((on[0], on[1], math.nextafter(on[2], t)) for t in (math.inf, -math.inf))
    assert [orient3d(a, b, c, p) for p in (tuple(on), up, down)] == [0, 1, -1]


def test_grid_points_have_the_exact_sign(rng):
    check_orient3d(rng.integers(-2, 3, (MANY, 4, 3)))


def test_points_up_to_1e12_have_the_exact_sign(rng):
    # nearly coplanar: whole numbers around a plane through whole numbers, up to 1e12
    corners = rng.integers(-(10**6), 10**6, (MANY, 3, 3)).astype(float)
    weights = rng.integers(-(10**5), 10**5, (MANY, 3, 1))
    weights[:, 2] = 1 - weights[:, 0] - weights[:, 1]
    fourth = (corners * weights).sum(1) + rng.integers(-1, 2, (MANY, 3))
    assert np.abs(fourth).max() > 1e11
    check_orient3d(np.concatenate([corners, fourth[:, None]], 1))


def test_awkward_points_have_the_exact_sign(rng):
    check_orient3d(naive.awkward(rng, MANY, 4))


def test_axes_of_different_scale_have_the_exact_sign(rng):
    check_orient3d(rng.integers(-2, 3, (MANY, 4, 3)) / 3.0 * [1e100, 1.0, 1e-100])


@pytest.mark.long
def test_many_awkward_points_have_the_exact_sign(rng):
    check_orient3d(naive.awkward(rng, cases(100_000), 4))


def test_swapping_two_points_flips_the_sign(rng):
    for row in naive.tuples(naive.awkward(rng, MANY // 20, 4)):
        expected = orient3d(*row)
        for i, j in itertools.combinations(range(4), 2):
            other = list(row)
            other[i], other[j] = other[j], other[i]
            assert orient3d(*other) == -expected


def test_turns_in_the_plane_have_the_exact_sign(rng):
    wrong = 0
    for row in naive.tuples(naive.awkward(rng, MANY, 3)):
        flat = [drop(p, 2) for p in row]
        wrong += orient2d(*flat) != naive.orient2d(*flat)
    assert wrong == 0


def test_dropping_an_axis_keeps_the_turn_seen_along_it():
    for axis, corners in enumerate(((B, C), (C, (0.0, 0.0, 1.0)), ((0.0, 0.0, 1.0), B))):
        assert orient2d(*(drop(p, (axis + 2) % 3) for p in (A, *corners))) == 1


def test_a_sum_and_its_error_are_exact(rng):
    for a, b in (rng.normal(size=(200, 2)) * 10.0 ** rng.uniform(-9, 9, (200, 2))).tolist():
        total, rest = two_sum(a, b)
        assert naive.exact((total,))[0] + naive.exact((rest,))[0] == naive.exact((a,))[0] + naive.exact((b,))[0]
