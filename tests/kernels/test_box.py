"""Boxes: closed, tight, and never nearer than what is in them."""

import pytest

import naive
from pliant.kernels.geometry import box
from pliant.kernels.geometry.triangle import point_triangle_distance

LOW, HIGH = (0.0, 0.0, 0.0), (1.0, 2.0, 3.0)


def test_the_box_of_a_triangle_is_tight(rng):
    for triangle in naive.tuples(rng.normal(size=(50, 3, 3))):
        assert box.of_triangle(*triangle) == (tuple(map(min, *triangle)), tuple(map(max, *triangle)))


def test_the_box_of_a_segment_is_that_of_a_triangle_with_two_equal_corners():
    assert box.of_segment((1.0, 5.0, -3.0), (2.0, -4.0, 0.0)) == ((1.0, -4.0, -3.0), (2.0, 5.0, 0.0))


@pytest.mark.parametrize("axis", range(3))
def test_boxes_that_touch_overlap_and_boxes_an_ulp_apart_do_not(axis):
    def shifted(by):
        shift = tuple(by if k == axis else 0.0 for k in range(3))
        return tuple(map(sum, zip(LOW, shift))), tuple(map(sum, zip(HIGH, shift)))

    edge = HIGH[axis]
    found = [box.overlap(LOW, HIGH, *shifted(by)) for by in (edge, edge * (1 + 1e-15), -edge, -edge - 1e-15 * 4)]
    assert found == [True, False, True, False]


def test_merging_covers_both():
    assert box.merge(LOW, HIGH, (-1.0, 1.0, 1.0), (0.5, 9.0, 1.0)) == ((-1.0, 0.0, 0.0), (1.0, 9.0, 3.0))


def test_growing_moves_every_side():
    assert box.inflate(LOW, HIGH, 0.5) == ((-0.5, -0.5, -0.5), (1.5, 2.5, 3.5))


@pytest.mark.parametrize(
    ("p", "squared"),
    [((0.5, 0.5, 0.5), 0.0), ((1.0, 2.0, 3.0), 0.0), ((-3.0, 1.0, 7.0), 25.0), ((4.0, -4.0, 1.0), 25.0)],
)
def test_the_distance_from_a_box(p, squared):
    assert box.distance2(LOW, HIGH, p) == squared
    assert box.contains(LOW, HIGH, p) == (squared == 0.0)


def test_a_box_is_never_farther_than_the_triangle_in_it(rng):
    for p, a, b, c in naive.tuples(naive.awkward(rng, 300, 4)):
        low, high = box.of_triangle(a, b, c)
        assert box.distance2(low, high, p) ** 0.5 <= point_triangle_distance(p, a, b, c) * (1 + 1e-12) + 1e-14 * max(
            map(abs, (*p, *low, *high))
        )
