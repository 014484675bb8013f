"""Faces that a file holds twice: no motion separates them, so they are no self-intersections; the check says so."""

import numpy as np
import pytest

from pliant import Mesh, check, fix, intersections, shapes
from pliant.audit.start_pose import problems
from pliant.scene import Body, Cloth, Scene
from pliant.simulation.measure.intersection_statistics import IntersectionStatistics

pytestmark = pytest.mark.compiled


@pytest.fixture
def skirt() -> Mesh:
    """A skirt with 20 faces twice, and 5 of them a third time, turned over."""
    one = shapes.skirt(spacing=0.04)
    return Mesh(one.vertices, np.concatenate([one.faces, one.faces[:20], one.faces[:5, ::-1]]), name="skirt")


def test_they_are_not_counted_and_a_note_says_so(skirt):
    assert len(intersections(skirt)) == 30
    found = check(skirt)
    assert found.frames[0].self_pairs == 0
    assert [note.kind for note in found.notes] == ["duplicate"]
    assert "25 faces of garment 'skirt' have the same corners as earlier ones" in found.notes[0].line


def test_other_self_intersections_are_found_and_fixed(skirt):
    low = skirt.vertices[:, 1] < np.quantile(skirt.vertices[:, 1], 0.2)
    x = np.where((low & (skirt.vertices[:, 2] > 0.0))[:, None], skirt.vertices * [1.0, 1.0, -1.2], skirt.vertices)
    through = skirt.moved(x)
    assert check(through).frames[0].self_pairs > 0
    assert fix(through).after.frames[0].self_pairs == 0


def test_a_start_with_them_needs_no_fix(skirt):
    assert problems(skirt, shapes.mannequin()).own == 0
    scene = Scene([Body(skirt, material=Cloth())], self_contact="safe")
    assert IntersectionStatistics(scene, scene.start().x).intersecting_bodies() == ()
