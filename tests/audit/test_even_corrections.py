"""Even corrections: less jitter, within the same bounds, without new self-intersections."""

import numpy as np
import pytest

from pliant import shapes
from pliant.audit.edge_solver import EdgeSolver
from pliant.audit.even_corrections import EvenCorrections
from pliant.audit.temporal import RigidFilter
from pliant.audit.untangle import Untangler
from pliant.respond.edge_lengths import lengths

pytestmark = pytest.mark.compiled
FRAMES, SHARE, LIMIT = 24, 0.02, 0.029


def jitter(y):
    return np.sqrt((np.diff(y, 3, axis=0) ** 2).mean())


@pytest.fixture
def made(rng):
    """A still sheet, and the same with a bump in all frames whose height shakes, within the bounds of its edges."""
    sheet = shapes.cloth(0.3, 0.3, 15)
    x = np.repeat(np.array(sheet.vertices)[None], FRAMES, 0)
    away = np.linalg.norm(x[0] - x[0].mean(0), axis=1)
    bump = np.exp(-((away / 0.05) ** 2))
    z = x.copy()
    z[:, :, 1] += (0.008 + 0.002 * rng.uniform(-1.0, 1.0, FRAMES))[:, None] * bump
    untangler = Untangler(sheet)
    free = away < 0.13
    solver = EdgeSolver(sheet, lengths(x[0], sheet.topology.edges), untangler.stiffness, 0.01, free)
    return untangler, solver, x, z, free


def smoothed(made):
    untangler, solver, x, z, _ = made
    return EvenCorrections(untangler, solver, x, RigidFilter(untangler.mesh, x), SHARE, LIMIT).smoothed(z, 64)


def test_corrections_shake_less_and_edges_stay_within_their_bounds(made):
    _, solver, x, z, free = made
    y = smoothed(made)
    assert jitter(y) < 0.2 * jitter(z)
    assert (y[:, :, 1] - x[:, :, 1]).max() > 0.004  # the correction itself stays
    assert np.array_equal(y[:, ~free], z[:, ~free])
    strain = [solver.steps_of(x, SHARE).largest_strain(frames).max() for frames in (y, z)]
    assert strain[0] <= max(strain[1], LIMIT)


def test_what_brings_self_intersections_back_stays_as_it_is(made, monkeypatch):
    untangler, _, _, z, _ = made
    pairs = np.array([[0, 1]], np.int32)
    monkeypatch.setattr(
        untangler, "pairs", lambda y: pairs if not any(np.array_equal(y, one) for one in z) else pairs[:0]
    )
    assert np.array_equal(smoothed(made), z)
