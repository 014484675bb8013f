"""Pairs of features that go along straight lines: what the kernel calls apart is apart all the way, by fractions."""

import fractions

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import naive
from conftest import cases
from pliant.kernels.simulation import carry
from pliant.kernels.simulation.guard import FeaturePairs

SAMPLES = [fractions.Fraction(k, 16) for k in range(17)]


def pair(rng, kind, gap):
    """Positions (4,3) of a pair that is `gap` apart along a unit normal, which is returned with them."""
    n = rng.normal(size=3)
    n /= np.linalg.norm(n)
    x = rng.normal(size=(4, 3)) * 10.0 ** rng.uniform(-3, 0)
    height, first = x @ n, np.array([1, 0, 0, 0] if kind == 0 else [1, 1, 0, 0], bool)
    lift = np.where(first, rng.choice([0.0, 1.0]) * np.abs(height), -rng.choice([0.0, 1.0]) * np.abs(height))
    x += n * (lift - height + np.where(first, gap, 0.0))[:, None]
    return x, n


def turned_by(vector):
    return Rotation.from_rotvec(vector).as_matrix()


def distance2(kind, x):
    p = [naive.exact(row) for row in x]
    return naive.point_triangle2(*p) if kind == 0 else naive.edge_edge2(*p)


def share_of(kind, n, x, u, kept):
    vertices = np.arange(4, dtype=np.int32)[None]
    most = np.empty(1)
    pairs = FeaturePairs(vertices, np.array([kind], np.uint8), n[None])
    carry.shares(pairs, np.array([kept]), x, u, most)
    return float(most[0])


@pytest.mark.parametrize("seed", range(4))
def test_what_may_go_some_share_stays_apart_all_the_way(seed):
    rng = np.random.default_rng(seed)
    turned = 0
    for _ in range(cases(60)):
        kind, gap = int(rng.integers(2)), 10.0 ** rng.uniform(-7, -1)
        x, n = pair(rng, kind, gap)
        centre = x.mean(0)
        turn = turned_by(rng.normal(size=3) * 10.0 ** rng.uniform(-2, 0.3))
        u = (x - centre) @ turn.T - (x - centre) + rng.normal(size=3)
        u += rng.choice([0.0, 1e-3, 0.3]) * gap * rng.normal(size=(4, 3))
        kept = 0.5 * gap
        share = share_of(kind, n, x, u, kept)
        turned += share > 0.5
        for t in SAMPLES:
            at = x + float(t) * share * u
            assert distance2(kind, at) >= fractions.Fraction(0.999 * kept) ** 2
    assert turned > 0


def test_a_thin_pair_may_turn_rigidly():
    """A T-junction that is open by 1e-7: a vertex beside an edge of a face in its plane, an edge that ends there."""
    for kind, x in (
        (0, np.array([[0.4, 1e-7, 0.0], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.3, -1.0, 0.0]])),
        (1, np.array([[0.4, 1e-7, 0.0], [0.7, 1.0, 0.0], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])),
    ):
        for axis in np.random.default_rng(5).normal(size=(20, 3)):
            turn = turned_by(axis / np.linalg.norm(axis))
            assert share_of(kind, np.array([0.0, 1.0, 0.0]), x, x @ turn.T - x, 0.5e-7) == 1.0


def test_what_goes_through_is_stopped():
    x = np.array([[0.2, 0.2, 0.1], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    u = np.zeros((4, 3))
    u[0, 2] = -0.3
    share = share_of(0, np.array([0.0, 0.0, 1.0]), x, u, 0.01)
    assert 0.29 < share < 0.3001
