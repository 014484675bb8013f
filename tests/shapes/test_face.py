"""The face in relief: a closed plate whose top is its height map."""

import numpy as np
import pytest

from pliant import HeightGrid, shapes
from pliant.shapes.face import LENGTH, WIDTH

pytestmark = pytest.mark.compiled


def test_the_plate_is_closed_and_outward_and_as_large_as_it_says():
    mesh = shapes.face(64)
    assert mesh.issues.closed
    assert not mesh.issues.inward
    assert np.ptp(mesh.bounds, axis=0)[[0, 2]] == pytest.approx([WIDTH, LENGTH])


def test_seen_from_above_it_is_its_height_map():
    mesh, heights = shapes.face(64), shapes.face_heights(64)
    grid = HeightGrid.of_mesh(mesh, "+y", resolution=64)
    assert grid.heights.shape == heights.shape
    # the outermost nodes are a thousandth of a cell inside; the steepest slope is 7
    assert np.nanmax(np.abs(grid.heights - heights)) < 0.007 * grid.spacing.max()


def test_there_is_a_nose_in_the_middle_higher_than_brow_and_chin():
    heights = shapes.face_heights()
    ridge = heights[:, heights.shape[1] // 2]
    tip = int(np.argmax(ridge))
    assert 0.4 < tip / len(ridge) < 0.6
    assert 0.09 < ridge[tip] < 0.12
    assert np.abs(heights[:, ::-1] - heights).max() < 0.01  # both halves alike, as the bust's are
