"""Fields that move: there and back, velocities of anchors, boxes that never hide a contact, the nearest of several."""

import numpy as np
import pytest

from conftest import cases
from motion.test_rigid import random_poses
from pliant import contacts
from pliant.kernels.detectors import rigid_parts as parts
from pliant.kernels.fields.edges import Reach, in_reach_serial, longest_serial
from pliant.kernels.motion import rigid as kernels
from pliant.motion.rigid import brought, placed


def test_points_brought_to_a_body_are_those_of_the_slow_twin(rng):
    x, out = rng.normal(size=(30, 3)), np.empty((30, 3))
    for pose in random_poses(rng, 5):
        kernels.to_body(x, pose, out)
        assert np.abs(out - brought(x, pose)).max() < 1e-15


def test_an_anchor_moves_with_the_body_in_the_time_that_passed(rng):
    start, end = random_poses(rng, 2)
    found = contacts.empty(20)
    found["anchor"], found["normal"] = anchor, normal = rng.normal(size=(2, 20, 3))
    kernels.to_world(found, end, start, 0.02)
    now = placed(anchor, end)
    assert np.abs(found["anchor"] - now).max() < 1e-15
    assert np.abs(found["normal"] - normal @ end[:, :3].T).max() < 1e-15
    assert np.abs(found["anchor_velocity"] - (now - placed(anchor, start)) / 0.02).max() < 1e-13


def test_without_a_lapse_of_time_nothing_has_a_speed(rng):
    found = contacts.empty(3)
    kernels.to_world(found, *random_poses(rng, 2), 0.0)
    assert (found["anchor_velocity"] == 0.0).all()


def reached(x: np.ndarray, half: np.ndarray, pose: np.ndarray, start: np.ndarray, margin: float = 0.0) -> int:
    """What is said of a box of half size `half` about the origin."""
    out = np.zeros(1, np.int64)
    parts.classify_fields(x, margin, -half[None], half[None], pose[None], start[None], np.array([0]), out)
    return int(out[0])


def test_a_field_is_far_exactly_where_no_point_is_within_the_margin_of_its_box(rng):
    far = 0
    for _ in range(cases(300)):
        pose, start = random_poses(rng, 2)
        x, half, margin = rng.normal(size=(8, 3)), rng.uniform(0.1, 1.0, 3), rng.uniform(0.0, 0.3)
        near = (np.abs(brought(x, pose)) <= half + margin).all(1).any()
        assert (reached(x, half, pose, start, margin) == parts.FAR) == (not near)
        far += not near
    assert 0 < far < cases(300)


def test_boxes_are_called_apart_only_where_they_have_no_point_in_common(rng):
    """Of a posed box about the origin and one along the axes, by many points of the second."""
    found = 0
    for _ in range(cases(300)):
        pose, half, size, middle = random_poses(rng, 1)[0], *rng.uniform(0.1, 0.8, (2, 3)), rng.normal(size=3)
        inside = brought(middle + rng.uniform(-half, half, size=(2000, 3)), pose)
        meets = (np.abs(inside) <= size).all(1).any()
        said = parts.boxes_apart(*kernels.rows(pose), tuple(middle), tuple(half), (0.0, 0.0, 0.0), tuple(size))
        assert not (said and meets)
        found += said
    assert found > cases(300) // 4


def test_only_a_field_that_has_moved_is_looked_at_in_its_own_coordinates(rng):
    x, half, still = rng.normal(size=(4, 3)), np.full(3, 9.0), np.eye(3, 4)
    pose = random_poses(rng, 1)[0]
    assert reached(x, half, still, still) == parts.UNMOVED
    assert reached(x, half, still, pose) == parts.MOVED
    assert reached(x, half, pose, still) == parts.MOVED
    out, none = np.zeros(1, np.int64), np.zeros((0, 3, 4))  # a state without poses, of a loop of one's own
    parts.classify_fields(x, 0.0, -half[None], half[None], none, none, np.array([1]), out)
    assert out[0] == parts.UNMOVED


def test_of_the_contacts_of_an_element_the_nearest_is_kept_and_of_equals_the_first(rng):
    for _ in range(cases(50)):
        found = contacts.empty(40)
        found["elements"][:, 0] = rng.integers(0, 12, 40)
        found["distance"] = rng.integers(-2, 3, 40)
        best, keep = np.full(12, -1), np.zeros(40, bool)
        parts.keep_nearest(found, best, keep)
        slow = [
            min(np.flatnonzero(found["elements"][:, 0] == e), key=lambda c: (found["distance"][c], c))
            for e in np.unique(found["elements"][:, 0])
        ]
        assert sorted(slow) == np.flatnonzero(keep).tolist()
        assert (best == -1).all()


@pytest.mark.parametrize("known", [0.2, 0.9, 9.0])
def test_edges_in_reach_are_those_that_no_bound_excludes(rng, known):
    x, edges = rng.uniform(size=(40, 3)), rng.integers(0, 40, (300, 2)).astype(np.int32)
    d = rng.uniform(-0.2, 1.0, 40)
    d[rng.random(40) < 0.6] = np.nan
    out, middle = np.empty(300, np.int64), np.empty((300, 3))
    for distances in (d, np.full(40, np.nan), np.where(d < 0.97, np.nan, d)):
        count = in_reach_serial(edges, x, distances, Reach(0.1, 0.02, known, longest_serial(edges, x)), out, middle)
        reach = 0.1 + 0.5 * np.linalg.norm(x[edges[:, 0]] - x[edges[:, 1]], axis=1)
        ends = distances[edges]
        far = (ends > reach[:, None] + 0.02).any(1) | (np.isnan(ends).all(1) & (reach <= known))
        assert out[:count].tolist() == np.flatnonzero(~far).tolist()
        assert np.abs(middle[:count] - x[edges[~far]].mean(1)).max(initial=0.0) < 1e-15
