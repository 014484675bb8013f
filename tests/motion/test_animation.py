"""Tracks hold still outside their keys, go through them, and turn the short way at even speed; skeletons compose."""

import numpy as np
import pytest
from scipy.interpolate import CubicHermiteSpline
from scipy.spatial.transform import Rotation, Slerp

from conftest import SEED
from pliant.motion.animation import Animation, Skeleton, Track

T = np.array([0.5, 1.0, 1.0, 2.5])
TIMES = np.array([-1.0, 0.5, 0.6, 0.9999, 1.0, 1.3, 2.0, 2.5, 9.0])


def sampled(track: Track) -> np.ndarray:
    return Animation((track,)).sample(TIMES, np.zeros(track.column + track.width))[:, track.column :]


def test_a_linear_track_is_interpolated_and_of_two_keys_at_one_time_the_later_holds() -> None:
    values = np.random.default_rng(SEED).normal(size=(4, 3))
    early = [np.interp(np.minimum(TIMES, 1.0), T[:2], v[:2]) for v in values.T]
    late = [np.interp(TIMES, T[2:], v[2:]) for v in values.T]
    expected = np.where(TIMES < 1.0, early, late).T
    assert np.abs(sampled(Track(2, T, values)) - expected).max() < 1e-15


def test_a_step_is_taken_at_its_key() -> None:
    found = sampled(Track(0, T, np.arange(4.0)[:, None], "step"))[:, 0]
    assert found.tolist() == [0, 0, 0, 0, 2, 2, 2, 3, 3]


def test_a_cubic_track_is_hermites_cubic() -> None:
    values = np.random.default_rng(SEED).normal(size=(2, 3, 2))
    times = np.array([0.5, 2.5])
    spline = CubicHermiteSpline(times, values[:, 1], np.stack([values[0, 2], values[1, 0]]))
    expected = spline(np.clip(TIMES, 0.5, 2.5))
    assert np.abs(sampled(Track(1, times, values, "cubic")) - expected).max() < 1e-14


@pytest.mark.parametrize("angle", [1e-9, 1e-4, 0.05, 0.15, 1.0, 3.1, 3.3, 6.0])
def test_a_turn_is_the_short_way_at_even_speed(angle: float) -> None:
    ends = Rotation.from_rotvec([[0.1, 0.2, 0.3], [0.1, 0.2, 0.3]])
    ends = Rotation.concatenate([ends[0], Rotation.from_rotvec([angle, 0, 0]) * ends[1]])
    for flip in (1.0, -1.0):  # both stand for the same rotation
        keys = ends.as_quat() * [[1.0], [flip]]
        found = sampled(Track(0, np.array([0.5, 2.5]), keys, rotation=True))
        expected = Slerp([0.5, 2.5], ends)(np.clip(TIMES, 0.5, 2.5))
        assert (Rotation.from_quat(found) * expected.inv()).magnitude().max() < 1e-14


def test_nodes_stand_where_the_product_of_their_matrices_puts_them() -> None:
    rng = np.random.default_rng(SEED)
    parents = np.array([-1, 0, 1, 1, 0, -1, 5])
    n = len(parents)
    rest = rng.normal(size=10 * n + 2)
    given = np.arange(n) % 3 == 2
    skeleton = Skeleton(parents, rest, rng.normal(size=(n, 3, 4)), given)
    world = np.zeros((n, 4, 4))
    for k, p in enumerate(parents):
        local = np.eye(4)
        move, turn, scale = np.split(rest[10 * k : 10 * k + 10], [3, 7])
        local[:3] = np.column_stack([Rotation.from_quat(turn).as_matrix() * scale, move])
        if given[k]:
            local[:3] = skeleton.matrices[k]
        world[k] = local if p < 0 else world[p] @ local
    assert np.abs(skeleton.world_matrices(skeleton.poses(None, np.zeros(2)))[1] - world[:, :3]).max() < 1e-13
    assert skeleton.weights(skeleton.poses(None, np.zeros(1))).tolist() == [rest[-2:].tolist()]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"times": [1.0, 0.5]}, r"times\[1\] = 0.5 comes before"),
        ({"times": [0.0, np.nan]}, "not finite"),
        ({"times": []}, "empty"),
        ({"values": np.zeros((3, 4))}, r"expected \(2, n\)"),
        ({"values": np.zeros((2, 4))}, "non-zero"),
        ({"values": np.ones((2, 3))}, "quaternions"),
        ({"interpolation": "linaer"}, "did you mean 'linear'"),
    ],
)
def test_bad_keys_are_refused(change: dict, why: str) -> None:
    good = {"column": 3, "times": [0.0, 1.0], "values": np.eye(2, 4), "rotation": True}
    with pytest.raises(ValueError, match=why):
        Track(**(good | change))


def test_a_parent_comes_before_its_children_or_is_refused() -> None:
    with pytest.raises(ValueError, match=r"parents\[0\] = 1"):
        Skeleton.of_heads(np.array([1, -1]), np.zeros((2, 3)))
