"""Distances from a worn body: known ones bound those of moved vertices, and the results are those of all queries."""

import numpy as np
import pytest

from pliant import Clip, check, shapes
from pliant.audit.worn_body import WornBody
from pliant.respond.project_out import Projector

pytestmark = pytest.mark.compiled
LEAST = 0.004


@pytest.fixture(scope="module")
def worn():
    """A sheet that falls onto a ball in three frames, the body, and the sheet after it was moved a little."""
    sheet, ball = shapes.cloth(0.4, 0.4, 21), shapes.ball(0.1, 3)
    x = np.array(sheet.vertices) - sheet.vertices.mean(0)
    given = np.stack([x + np.array([0.0, height, 0.0]) for height in (0.13, 0.1, 0.07)])
    clip, body = Clip(sheet.moved(x), given), Clip(ball, ball.vertices[None])
    found = WornBody(body, clip.mesh, check(clip, body), np.arange(sheet.n_vertices), given)
    moved = given + 0.01 * np.random.default_rng(1).normal(size=given.shape)
    return found, clip.mesh, given, moved


def test_bounds_are_below_the_distances_and_distances_exact_where_it_matters(worn):
    found, _, _, moved = worn
    for t, x in enumerate(moved):
        found.move(t)
        exact, bounds, away = found.query(x)[0], found.bounds(t, x), found.distances(t, x, LEAST)
        assert (bounds <= exact).all()
        assert (bounds > LEAST).mean() > 0.3
        near = exact < LEAST
        assert np.array_equal(away[near], exact[near])
        assert (away[~near] >= LEAST).all()


def test_distances_of_other_frames_become_bounds_for_frames_near_them(worn):
    found, _, given, _ = worn
    far = given + np.array([0.0, 0.2, 0.0])
    assert (found.bounds(2, far[2]) == -np.inf).all()
    found.all_distances(far, LEAST)
    assert (found.bounds(2, far[2]) > 0.1).all()


def test_a_garment_is_projected_out_as_without_bounds(worn):
    found, mesh, given, _ = worn
    found.move(2)
    projector, required = Projector(mesh), np.full(mesh.n_vertices, LEAST)
    plain = projector.project(given[2], required, found.query)
    asked = []

    def query(points):
        asked.append(len(points))
        return found.query(points)

    assert np.array_equal(projector.project(given[2], required, query, bounds=found.bounds(2, given[2])), plain)
    assert asked[0] < len(projector.corners)
    assert plain.any()
