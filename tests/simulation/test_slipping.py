"""Attached vertices that the skin pulls apart: they slip, and the cloth between them keeps its strain limit."""

import numpy as np
import pytest

from attachments import strain, torn
from pliant.simulation import Simulation
from pliant.simulation.slipping import STRETCH, TOLERANCE, Slipping

pytestmark = pytest.mark.compiled


def test_cloth_attached_to_parts_that_move_apart_slips_and_keeps_its_strain_limit():
    scene, rows, _ = torn(0.1)
    sim = Simulation(scene, method="bvh")
    assert max(strain(scene, frame.x) for frame in sim.run(14)) < 0.06
    ends = sim.state.x[rows[[0, -1]]]
    assert np.linalg.norm(ends[1] - ends[0]) == pytest.approx(0.2 * (1.0 + 0.05 * STRETCH), rel=1e-3)


def test_skin_that_leaves_the_cloth_its_length_is_followed_exactly():
    scene, rows, goal = torn(0.2 / 8 * 0.05 * STRETCH * 0.99)  # of one edge
    sim = Simulation(scene, method="bvh")
    for _ in sim.run(10):
        pass
    assert np.abs(sim.state.x[rows] - goal).max() < 1e-12


def test_no_two_attached_vertices_are_farther_apart_than_the_cloth_between_them(rng):
    scene, _, goal = torn(0.0)
    for _ in range(20):
        x = goal[None] + rng.normal(0.0, 0.05, goal.shape)
        Slipping(scene).apply(x)
        far = np.linalg.norm(x[0][:, None] - x[0][None], axis=2)
        rest = np.abs(goal[:, None, 0] - goal[None, :, 0])  # along the straight boundary
        assert (far <= (1.0 + 0.05 * STRETCH) * rest * (1.0 + 1e-5) + 1e-12).all()


def test_a_frame_begins_with_the_targets_with_which_the_last_one_ended(rng):
    scene, _, goal = torn(0.0)
    x = goal[None] + rng.normal(0.0, 0.05, (3, *goal.shape))
    slipping, last = Slipping(scene), np.concatenate([x[1:], x[:1]])
    first, alone = x.copy(), x[:1].copy()
    slipping.apply(first)
    slipping.apply(last)
    Slipping(scene).apply(alone)
    assert np.array_equal(last[:2], first[1:])
    assert np.array_equal(last[2:], alone)


def test_targets_within_a_frame_are_as_near_as_the_cloth_allows(rng):
    """They are interpolated between the ends of the frame only where that keeps the limits within the tolerance."""
    scene, _, goal = torn(0.0)
    for amount in (0.001, 0.05):
        ends = goal + rng.normal(0.0, 0.02, (2, *goal.shape))
        t = np.linspace(0.0, 1.0, 5)[:, None, None]
        x = (1.0 - t) * ends[0] + t * ends[1] + rng.normal(0.0, amount, (5, *goal.shape)) * (t * (1.0 - t))
        alone = x.copy()
        Slipping(scene).apply(x)
        for one in alone:
            Slipping(scene).apply(one[None])
        rest = np.abs(goal[:, None, 0] - goal[None, :, 0])
        far = np.linalg.norm(x[:, :, None] - x[:, None], axis=3)
        assert (far <= (1.0 + 0.05 * STRETCH) * rest * (TOLERANCE + 1e-6) + 1e-12).all()
        assert np.array_equal(x[[0, -1]], alone[[0, -1]])


def test_pairs_left_out_of_a_sweep_change_no_bit(rng):
    from pliant.kernels.simulation import slipping as kernels

    def every_pair(x, pairs, most, sweeps):
        """The definition: each sweep passes over all pairs."""
        moved = np.zeros((len(most), 3))
        for sweep in range(sweeps):
            first = 2 * sweep < sweeps
            if not first and not kernels.are_too_far(x, pairs, most, kernels.SLACK):
                return
            for c, (i, j) in enumerate(pairs):
                before = moved[c].copy() if first else np.zeros(3)
                d = x[j] - x[i] + before * 2.0
                far = np.sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2])
                if far <= most[c] and not before.any():
                    continue
                moved[c] = d * (0.5 * max(1.0 - most[c] / max(far, 1e-300), 0.0))
                change = moved[c] - before
                x[i], x[j] = x[i] + change, x[j] - change

    angle = np.linspace(0.0, 2.0 * np.pi, 12, endpoint=False)
    ring = np.stack([np.cos(angle), np.zeros(12), np.sin(angle)], 1)
    pairs = np.array([(i, j) for i in range(12) for j in range(i + 1, 12)], np.int64)
    most = 1.01 * np.linalg.norm(ring[pairs[:, 0]] - ring[pairs[:, 1]], axis=1)
    for amount in (0.02, 0.05, 0.3):
        one = ring + amount * rng.normal(size=ring.shape)
        two = one.copy()
        kernels.bring_together(one, pairs, most, 40, np.empty((len(most), 3)))
        every_pair(two, pairs, most, 40)
        assert one.tobytes() == two.tobytes()
