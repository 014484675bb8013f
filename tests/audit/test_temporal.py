"""Corrections over time: they turn with the garment, reach every frame in full, and change slowly."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from pliant import shapes
from pliant.audit.temporal import REACH, TemporalFilter

pytestmark = pytest.mark.compiled


def spinning(frames: int = 20, degrees: float = 12.0):
    """A bent sheet that spins about a fixed axis, and the rotations of its frames."""
    sheet = shapes.cloth(0.4, 0.4, 6)
    x = sheet.vertices + 0.1 * np.sin(5.0 * sheet.vertices[:, [1, 2, 0]])
    turns = Rotation.from_rotvec(np.radians(degrees) * np.arange(frames)[:, None] * [0.36, 0.48, 0.8])
    return sheet.moved(x), np.stack([turn.apply(x) for turn in turns]), turns


def test_a_correction_that_turns_with_the_garment_is_kept():
    mesh, x, turns = spinning()
    u = np.stack([np.tile(turn.apply([0.0, 0.01, 0.002]), (mesh.n_vertices, 1)) for turn in turns])
    even = TemporalFilter(mesh, x).held_and_smoothed(u)
    np.testing.assert_allclose(even, u, atol=1e-7)


def test_a_correction_of_one_frame_is_whole_there_and_fades_slowly():
    mesh, x, turns = spinning()
    u = np.zeros_like(x)
    u[10] = turns[10].apply([0.0, 0.01, 0.0])
    even = np.linalg.norm(TemporalFilter(mesh, x).held_and_smoothed(u), axis=2)
    np.testing.assert_allclose(even[10], 0.01, rtol=1e-5)
    assert (even[: 10 - 2 * REACH] == 0.0).all()
    steepest = np.abs(np.diff(even, axis=0)).max()
    assert steepest < 0.4 * 0.01


def test_a_displacement_is_carried_to_another_frame_with_its_vertices():
    mesh, x, turns = spinning()
    u = np.tile([0.003, 0.0, 0.01], (mesh.n_vertices, 1))
    carried = TemporalFilter(mesh, x).carried(turns[2].apply(u), 2, 9)
    np.testing.assert_allclose(carried, turns[9].apply(u), atol=1e-7)
