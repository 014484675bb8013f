"""Start poses: what clips is fixed before it is draped, and what is meant to intersect is left alone."""

import dataclasses

import numpy as np
import pytest

from characters import sleeve
from pliant import Mesh, intersections, shapes
from pliant.audit.start_pose import fix_start, problems

pytestmark = pytest.mark.compiled
BALL = dataclasses.replace(shapes.ball(0.1, 3), name="body")


def band(radius: float, shift: float = 0.0) -> Mesh:
    made = sleeve(-0.05, 0.05, top=radius, bottom=radius, rings=9, around=24, name="band")
    return made.moved(made.vertices + np.array([shift, 0.0, 0.0]))


def with_button(garment: Mesh) -> Mesh:
    box = shapes.box((0.01, 0.01, 0.01))
    at = garment.vertices[garment.faces[0]].mean(0)
    faces = np.concatenate([garment.faces, box.faces + garment.n_vertices])
    return Mesh(np.concatenate([garment.vertices, box.vertices + at]), faces, name="buttoned")


def test_a_garment_that_starts_inside_is_fixed_and_the_counts_are_those_of_the_queries():
    garment = band(0.104, 0.02)
    done = fix_start(garment, BALL, 0.002)
    assert done.before == problems(garment, BALL)
    assert done.before.inside > 0
    assert done.before.crossings > 0
    assert done.after == (0, 0, 0, 0, 0)
    assert len(intersections(done.garment, BALL)) == 0
    moved = np.linalg.norm(done.garment.vertices - garment.vertices, axis=1)
    assert (done.moved, done.farthest) == ((moved > 0.0).sum(), moved.max())
    assert f"vertices inside the body {done.before.inside} -> 0" in done.text


def test_a_garment_in_which_nothing_clips_is_left_alone():
    assert fix_start(band(0.12), BALL, 0.002) is None


def test_a_garment_that_is_mostly_inside_is_not_worn_and_left_alone():
    assert fix_start(band(0.05), BALL, 0.002) is None


def test_an_outer_garment_that_cuts_an_inner_one_is_moved_over_it():
    inner, outer = band(0.108), band(0.106, 0.004)
    assert len(intersections(outer, inner))
    done = fix_start(outer, BALL, 0.002, [inner])
    assert done.before.layers == len(intersections(outer, inner))
    assert done.after.layers == len(intersections(done.garment, inner)) == 0


def test_a_button_in_its_cloth_is_meant_and_does_not_make_the_cloth_smooth():
    assert fix_start(with_button(band(0.12)), BALL, 0.002) is None
    clipped = with_button(band(0.104, 0.02))
    done = fix_start(clipped, BALL, 0.002)
    assert done.before.shells > 0
    assert done.after.inside == 0


def test_a_tangled_sheet_is_untangled():
    cloth = shapes.cloth(0.4, 0.4, 12)
    x = cloth.vertices * (1.0, 0.0, 1.0) + np.array([0.0, 0.3, 0.0])
    corner = np.linalg.norm(x - x[0], axis=1) < 0.12
    folded = x.copy()
    folded[corner] += (x[-1] - x[0])[None] * 0.35 + np.array([0.0, -0.02, 0.0])
    folded[corner & (np.arange(len(x)) % 2 == 0), 1] += 0.04
    garment = cloth.moved(folded)
    assert len(intersections(garment))
    done = fix_start(garment, BALL, 0.002)
    assert done.before.own == len(intersections(garment))
    assert done.after.own < done.before.own
