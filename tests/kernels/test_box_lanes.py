"""Distances of a point from eight bounding boxes at once, against the same sums box by box."""

import numpy as np
import pytest

from pliant.kernels.box_lanes import LANES, boxes_within, lowest
from pliant.kernels.jit import kernel


@kernel
def within(boxes, at, point, margin, limit, gaps):
    return boxes_within(boxes, at, (point[0], point[1], point[2]), margin, limit, gaps, 1)


@kernel
def lowest_of(mask):
    return lowest(mask)


@pytest.mark.parametrize("seed", range(20))
def test_the_boxes_within_a_limit_are_those_whose_gap_is_no_larger(seed):
    rng, single = np.random.default_rng(seed), np.float32
    low = rng.normal(size=(3, 3, LANES)).astype(single)
    boxes = np.ascontiguousarray(np.concatenate([low, low + rng.random((3, 3, LANES)).astype(single)], 1))
    boxes[2, :3, 5:], boxes[2, 3:, 5:] = np.inf, -np.inf  # lanes without a box
    point, margin = rng.normal(size=3).astype(single), single(0.01)
    gaps = np.zeros((2, LANES), single)
    for at in range(3):
        expected = []
        for k in range(LANES):
            total = single(0.0)
            for a in range(3):
                gap = max(max(boxes[at, a, k] - point[a], point[a] - boxes[at, a + 3, k]) - margin, single(0.0))
                total = gap * gap if a == 0 else total + gap * gap
            expected.append(total)
        limit = single(np.sort(expected)[3])
        mask = within(boxes, at, point, margin, limit, gaps)
        assert np.array_equal(gaps[1], np.array(expected, single))
        assert not gaps[0].any()
        assert [k for k in range(LANES) if mask >> k & 1] == [k for k in range(LANES) if expected[k] <= limit]


@pytest.mark.parametrize(("mask", "place"), [(1, 0), (6, 1), (128, 7), (0b10110000, 4)])
def test_the_lowest_bit(mask, place):
    assert lowest_of(mask) == place
