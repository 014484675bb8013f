"""Smoothed shapes from which cloth moves back: none that has collapsed, since all its faces are near each other."""

import numpy as np
import pytest

from pliant import Mesh, intersections
from pliant.audit.untangle import Untangler

pytestmark = pytest.mark.compiled


def dress(around=20, rings=14):
    """Two tubes, one 5 mm inside of the other, the inner one with its faces reversed, as cloth with a lining."""
    angle, y = np.meshgrid(2.0 * np.pi * np.arange(around) / around, np.linspace(0.3, 1.05, rings))
    x = [np.stack([r * np.cos(angle), y, r * np.sin(angle)], -1).reshape(-1, 3) for r in (0.175, 0.17)]
    a, b = (k.ravel() for k in np.meshgrid(np.arange(around), np.arange(rings - 1)))
    a, b = a + around * b, (a + 1) % around + around * b
    faces = np.concatenate([np.stack([a, a + around, b], 1), np.stack([b, a + around, b + around], 1)])
    return Mesh(np.concatenate(x), np.concatenate([faces, faces[:, ::-1] + len(x[0])]), name="dress")


def edges(mesh, x):
    return np.linalg.norm(np.diff(x[mesh.topology.edges], axis=1)[:, 0], axis=1)


def test_a_smoothed_shape_is_not_much_smaller_than_the_garment():
    mesh = dress()
    rng = np.random.default_rng(3)
    x = mesh.vertices + 0.03 * rng.normal(size=mesh.vertices.shape)
    untangler = Untangler(mesh)
    assert len(untangler.pairs(x)) > 100
    free = untangler.smoothed_free(x)
    assert free is not None
    assert len(intersections(mesh.moved(free))) == 0
    assert np.sqrt((edges(mesh, free) ** 2).mean()) > 0.25 * np.sqrt((edges(mesh, x) ** 2).mean())


def test_a_shape_whose_vertices_are_all_near_each_other_is_refused(monkeypatch):
    mesh = dress(60, 45)
    untangler = Untangler(mesh)
    for shrunk, found in ((1.0, True), (0.05, False)):
        y = shrunk * mesh.vertices
        monkeypatch.setattr(untangler, "_without_intersections", lambda x, y=y: y)
        assert (untangler.smoothed_free(mesh.vertices) is not None) == found


def test_work_counts_the_pairs_that_steps_measure():
    mesh = dress(12, 6)
    untangler = Untangler(mesh)
    untangler.move_back(mesh.vertices, mesh.vertices + np.array([0.0, 0.1, 0.0]), steps=3)
    assert untangler.measured >= untangler.steps * mesh.n_vertices > 0
