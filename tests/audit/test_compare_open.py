"""A field around an open body is held to what it promises there: past a border it may not know the side, no more."""

import dataclasses

import numpy as np
import pytest

from detect.made import rotation
from pliant import Mesh, shapes
from pliant.audit.compare import compare
from pliant.detect.detectors.distance_field import DistanceFieldDetector
from pliant.detect.methods import METHODS

pytestmark = pytest.mark.compiled
SHEET = shapes.cloth(0.3, 0.3, 7)
BODIES = {"tube": shapes.skirt(), "sheet": SHEET.moved(SHEET.vertices @ rotation(np.random.default_rng(1)).T)}
FIELD = DistanceFieldDetector.name


def across(body: Mesh) -> Mesh:
    """Sheets across the borders of a body, with edges about as long as a cell."""
    rng = np.random.default_rng(7)
    cloth = shapes.cloth(0.3, 0.3, 31)
    rim = body.vertices[body.topology.edges[body.topology.boundary].ravel()]
    x = [cloth.vertices @ rotation(rng).T + at for at in rng.choice(rim, 4)]
    faces = [cloth.faces + k * cloth.n_vertices for k in range(len(x))]
    return Mesh(np.concatenate(x), np.concatenate(faces), name="sheets")


def test_where_closed_parts_overlap_a_field_may_not_know_the_side():
    one, two = shapes.ball(0.1, 3), shapes.ball(0.1, 3, centre=(0.08, 0.013, 0.0))
    faces = np.concatenate([one.faces, two.faces + one.n_vertices])
    body = Mesh(np.concatenate([one.vertices, two.vertices]), faces)
    row = compare(shapes.cloth(0.4, 0.4, 41, centre=(0.04, 0.01, 0.0)), body, within=0.01, methods=[FIELD]).row(FIELD)
    assert row.unreached > 100
    assert row.beyond <= 2  # beside the seam, see docs/detectors/distance-field.md


@pytest.mark.parametrize("body", BODIES)
def test_around_an_open_body_a_field_keeps_its_promise(body):
    found = compare(across(BODIES[body]), BODIES[body], within=0.01, methods=[FIELD])
    assert found.broken == []
    # beside the rim of a sheet the side is not known, and the field says nothing
    assert found.row(FIELD).recall > 0.95
    assert found.row(FIELD).found > 500
    assert "without a defined side" in found.row(FIELD).note


class Silent(DistanceFieldDetector):
    """Says of whole bricks that it does not know the side."""

    def __init__(self, *sides, **options):
        super().__init__(*sides, **options)
        jump = self.field.grid.jump.copy()
        jump[::9] = ~np.uint64(0)
        jump.flags.writeable = False  # as the array it replaces, so that one compiled specialisation serves both
        self.field = dataclasses.replace(self.field, grid=self.field.grid._replace(jump=jump))


class Hasty(DistanceFieldDetector):
    """Takes ends of edges that have no answer for far away."""

    def __init__(self, *sides, **options):
        super().__init__(*sides, **options)
        self._known, self._slack = (self.field.band - 1.75) * self.field.spacing, self.field.spacing


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("liar", [Silent, Hasty], ids=lambda c: c.__name__)
def test_what_a_field_leaves_out_is_not_excused_because_its_body_is_open(body, liar, monkeypatch):
    monkeypatch.setitem(METHODS, FIELD, liar)
    row = compare(across(BODIES[body]), BODIES[body], within=0.01, methods=[FIELD]).row(FIELD)
    assert row.beyond > 0
    assert not row.kept
