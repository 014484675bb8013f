"""Even steps: cloth that is pushed together and pulled apart folds and unfolds evenly over time."""

import numpy as np
import pytest

from pliant import shapes
from pliant.audit.edge_solver import EdgeSolver
from pliant.audit.even_steps import EvenSteps
from pliant.audit.temporal import RigidFilter
from pliant.audit.untangle import Untangler
from pliant.kernels.jit import set_threads, threads
from pliant.respond.edge_lengths import lengths

pytestmark = pytest.mark.compiled


@pytest.fixture(scope="module")
def pushed():
    """A sheet that is pushed together and pulled apart twice, slightly bent; its solver, and the frames."""
    mesh = shapes.cloth(1.0, 0.4, (25, 11))
    rest = mesh.vertices
    bent = rest + 1e-3 * np.sin(9.0 * rest[:, [2, 0, 1]])
    share = 1.0 - 0.15 * np.sin(np.linspace(0.0, 2.0 * np.pi, 30)) ** 2
    x = np.stack([bent * [s, 1.0, 1.0] for s in share])
    return EdgeSolver(mesh, lengths(rest, mesh.topology.edges), Untangler(mesh).stiffness, 0.01), mesh, x


def alternating(x: np.ndarray) -> float:
    """The amplitude of motion that alternates from frame to frame, metres, of the vertex that has most."""
    return float((np.linalg.norm(np.diff(x, 6, axis=0), axis=2).max(0) / 64.0).max())


def test_folds_form_evenly_where_frames_that_are_relaxed_by_themselves_shake(pushed):
    solver, mesh, y = pushed
    x = np.stack([mesh.vertices] * len(y))
    even = EvenSteps(solver, x, RigidFilter(mesh, x)).converge(y, 0.02, 0.029, 384)
    alone = np.empty_like(y)
    for t, frame in enumerate(y):
        solver.set(x[t], 0.02)
        alone[t] = solver.converge(frame, 0.029, 384)
        assert solver.added_strain(even[t]).max() <= 0.029
    assert alternating(even) < 0.2 * alternating(alone)


def test_frames_within_their_bounds_do_not_move(pushed):
    solver, mesh, y = pushed
    assert np.array_equal(EvenSteps(solver, y, RigidFilter(mesh, y)).converge(y, 0.02, 0.029, 384), y)


def test_the_steps_are_bitwise_identical_on_any_number_of_threads(pushed):
    solver, mesh, y = pushed
    x, before, found = np.stack([mesh.vertices] * len(y)), threads(), []
    try:
        for count in (1, 2):
            set_threads(count)
            found.append(EvenSteps(solver, x, RigidFilter(mesh, x)).converge(y, 0.02, 0.029, 20))
    finally:
        set_threads(before)
    assert np.array_equal(*found)
