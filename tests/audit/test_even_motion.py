"""Corrected frames of a garment become as even as its skin, within their constraints."""

import numpy as np
import pytest

import pliant
from pliant import shapes
from pliant.audit.check import check
from pliant.audit.even_descent import Problem, descended
from pliant.audit.even_motion import EvenMotion
from pliant.audit.repair import Repair
from pliant.audit.skin_frames import SkinFrames
from pliant.kernels.respond import even_motion as kernels

pytestmark = pytest.mark.compiled
FRAMES, CLEARANCE = 16, 0.002


def jitter(x):
    """(n,) third differences over frames of positions (T,n,3), root mean square."""
    return np.sqrt((np.diff(x, 3, axis=0) ** 2).sum(2).mean(0))


def test_the_banded_solve_and_the_third_differences_are_those_of_dense_matrices():
    rng, count = np.random.default_rng(3), 9
    third = np.diff(np.eye(count), 3, axis=0)
    q, out = rng.normal(size=(3, count)), np.empty((3, count))
    kernels.third_differences(q, out)
    assert np.allclose(out, q @ third.T @ third)
    low = np.linalg.cholesky(third.T @ third + 2.0 * np.eye(count))
    factor = np.zeros((kernels.BAND, count))
    factor[0] = 1.0 / np.diag(low) ** 2
    for j in range(1, kernels.BAND):
        factor[j, : count - j] = np.diag(low, -j) / np.diag(low)[: count - j]
    x = q.copy()
    kernels.solve_band(factor, x)
    assert np.allclose(x @ (third.T @ third + 2.0 * np.eye(count)), q)


def chain(y, low, high, offset=-np.inf):
    """Two vertices joined by an edge, of which the second moves; a half-space above the height `offset`."""
    count = len(y)
    skin = kernels.Skin(np.tile(np.eye(3)[None, :, :, None], (1, 1, 1, count)), np.zeros((1, 3, count)))
    room = kernels.Room(np.zeros((1, 3, count)), np.full((1, count), offset))
    room.normal[:, 1] = 1.0
    lengths = kernels.Lengths(
        np.array([0, 1]),
        np.zeros(1, np.int32),
        np.zeros(1, np.int32),
        np.full((1, count), low),
        np.full((1, count), high),
    )
    return Problem(skin, room, lengths, np.array([1]), np.array([[0, 1]], np.int32), np.array([1]), (0, count))


def shaking(seed, count=24):
    y = np.zeros((count, 2, 3))
    y[:, 1] = [1.0, 0.0, 0.0] + 0.05 * np.random.default_rng(seed).normal(size=(count, 3))
    return y


@pytest.mark.parametrize("seed", range(3))
def test_motion_becomes_even_within_the_bounds_of_its_edges_and_outside_of_the_body(seed):
    y = shaking(seed)
    z = descended(chain(y, 0.99, 1.01, offset=-0.01), y, 30.0, lambda _: True)
    assert (z[:, 0] == y[:, 0]).all()
    length = np.linalg.norm(z[:, 1] - z[:, 0], axis=1)
    assert length.min() > 0.989
    assert length.max() < 1.011
    assert z[:, 1, 1].min() > -0.011
    assert jitter(z)[1] < 0.1 * jitter(y)[1]


def test_frames_that_are_held_stay_bitwise():
    y = shaking(5)
    z = descended(chain(y, 0.5, 2.0)._replace(held=(3, 21)), y, 30.0, lambda _: True)
    assert (z[:3] == y[:3]).all()
    assert (z[21:] == y[21:]).all()
    assert jitter(z)[1] < jitter(y)[1]


@pytest.fixture(scope="module")
def repair():
    """A skirt on a body that turns and sways, and its frames with corrections that shake."""
    body, skirt = shapes.mannequin(), shapes.skirt(spacing=0.04)
    angle = 0.3 * np.sin(np.linspace(0.0, 3.0, FRAMES))
    turn = np.stack([[[np.cos(a), 0, np.sin(a)], [0, 1, 0], [-np.sin(a), 0, np.cos(a)]] for a in angle])
    under, worn = (pliant.Clip(mesh, np.einsum("tij,nj->tni", turn, mesh.vertices)) for mesh in (body, skirt))
    work = Repair(worn, under, [], CLEARANCE, True, None, check(worn, under))
    push = np.random.default_rng(1).normal(size=(FRAMES, 1, 1)) * 0.002
    low = work.mesh.vertices[:, 1] < 0.8
    outward = np.einsum("tij,nj->tni", turn, work.mesh.vertices * [1.0, 0.0, 1.0])
    return work, work.given + np.abs(push) * 10.0 * outward * low[:, None]


def test_corrections_that_shake_become_even_without_new_problems(repair):
    work, z = repair
    skin = SkinFrames(work.mesh, work.worn, work.given)
    even = EvenMotion(work.untangler, work.around, skin, work.given, work._rest_lengths)
    shares = []
    y = even.smoothed(z, shares.append)
    assert np.quantile(skin.jitter(y), 0.99) < 0.3 * np.quantile(skin.jitter(z), 0.99)
    assert shares == sorted(shares)
    limit = max(0.029, even._largest_strain(z, range(FRAMES)))
    assert even._largest_strain(y, range(FRAMES)) <= limit
    for t, x in enumerate(y):
        work.worn.move(t)
        assert not len(work.untangler.pairs(x))
        assert work.worn.query(x)[0].min() >= 0.9 * CLEARANCE


def test_windows_of_a_long_clip_join_evenly(repair, monkeypatch):
    from pliant.audit import even_motion as module

    work, z = repair
    monkeypatch.setattr(module, "WINDOW", 12)
    monkeypatch.setattr(module, "OVERLAP", 8)
    skin = SkinFrames(work.mesh, work.worn, work.given)
    y = EvenMotion(work.untangler, work.around, skin, work.given, work._rest_lengths).smoothed(z)
    assert np.quantile(skin.jitter(y), 0.99) < 0.5 * np.quantile(skin.jitter(z), 0.99)


def test_what_is_even_already_is_left_bitwise(repair):
    work, _ = repair
    skin = SkinFrames(work.mesh, work.worn, work.given)
    z = work.given + np.array([0.0, 0.02, 0.0])  # farther up, as evenly
    even = EvenMotion(work.untangler, work.around, skin, work.given, work._rest_lengths)
    assert even.smoothed(z) is z
