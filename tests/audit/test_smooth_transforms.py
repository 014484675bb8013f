"""Smoothed transforms: a garment that is torn between two bones comes out of itself in every frame, evenly."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from pliant import Clip, intersections, shapes
from pliant.audit.fix import fix
from pliant.audit.smooth_transforms import Level, TransformSmoother
from pliant.audit.untangle import Untangler

pytestmark = pytest.mark.compiled


def torn(frames: int = 8):
    """A flat sheet whose right half is moved into and through its left half, and back; its mesh, and the frames."""
    sheet = shapes.cloth(1.0, 0.6, (21, 13))
    rest = sheet.vertices * (1.0, 0.0, 1.0)
    right = rest[:, 0] > 1e-9
    out = []
    for share in np.sin(np.linspace(0.0, np.pi, frames)):
        x, pivot = rest.copy(), np.array([-0.08, 0.0, 0.0])
        moved = rest[right] - share * np.array([0.15, 0.0, 0.0])
        turn = Rotation.from_rotvec([0.0, 0.0, 0.25 * share]).as_matrix()
        x[right] = (moved - pivot) @ turn.T + pivot
        out.append(x)
    return sheet.moved(rest), np.stack(out)


def test_a_torn_sheet_comes_out_of_itself_and_its_motion_stays_even():
    mesh, x = torn()
    assert max(len(intersections(mesh.moved(frame))) for frame in x) > 10
    fixed = fix(Clip(mesh, x))
    assert all(len(intersections(mesh.moved(np.asarray(frame, float)))) == 0 for frame in fixed.garment.frames)
    before, after = fixed.jitter
    assert after <= 1.3 * before  # the sheet folds where it was torn
    assert fixed.steps == 0  # without moving back from a flattened shape


def test_rigid_frames_are_their_own_average():
    mesh, _ = torn()
    turns = Rotation.from_rotvec(np.linspace(0.0, 1.0, 4)[:, None] * [0.4, 0.2, -1.0]).as_matrix()
    x = np.stack([mesh.vertices @ turn.T + 0.3 for turn in turns])
    smoother = TransformSmoother(Untangler(mesh), x)
    some = np.zeros(mesh.n_vertices, np.bool_)
    some[:20] = True
    level = Level(smoother, some, 4, 0.01)
    np.testing.assert_allclose([level.smoothed(t) for t in range(len(x))], x, atol=1e-9)
