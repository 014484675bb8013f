"""Depths in bodies whose faces intersect each other everywhere: the pieces nearest to a point instead of all."""

import numpy as np
import pytest

from conftest import SEED, cases
from pliant import Mesh
from pliant.detect.queries import solid_boundary
from pliant.detect.queries.closest_point import ClosestPoints
from pliant.detect.queries.penetration import DeformingClosestPoints
from pliant.errors import TooBigError
from pliant.shapes import ball as sphere

pytestmark = pytest.mark.compiled  # a body without the compiler takes minutes


def tangled(rng, subdivisions):
    """A sphere with its vertices in random order: closed, and almost every pair of faces may intersect."""
    ball = sphere(1.0, subdivisions)
    x = ball.vertices[rng.permutation(ball.n_vertices)] * rng.uniform(0.5, 1.5, (ball.n_vertices, 1))
    return Mesh(x + rng.normal(0.0, 3.0, 3), ball.faces)


def queried(mesh, points, monkeypatch, *, most):
    monkeypatch.setattr(solid_boundary, "FEW_PIECES", most)
    monkeypatch.setattr(solid_boundary, "PER_POINT", 0)
    return DeformingClosestPoints(mesh).query(points)


@pytest.mark.parametrize("case", range(cases(4)))
def test_the_nearest_pieces_give_the_depths_of_all_pieces(case, monkeypatch):
    rng = np.random.default_rng([SEED, case])
    mesh = tangled(rng, 1)
    points = mesh.vertices.mean(0) + rng.normal(0.0, 0.4, (40, 3))
    fast, full = (queried(mesh, points, monkeypatch, most=most) for most in (0, 1 << 20))
    assert (full[0] < 0.0).sum() >= 2
    scale = 1e-14 * np.abs(mesh.vertices).max()
    np.testing.assert_allclose(fast[0], full[0], rtol=0.0, atol=scale)
    # two boundary points may be equally near
    near = np.linalg.norm(fast[1] - points, axis=1) - np.linalg.norm(full[1] - points, axis=1)
    np.testing.assert_allclose(near, 0.0, atol=scale)


def test_a_body_of_very_many_pieces_is_queried_without_making_them(monkeypatch):
    mesh = tangled(np.random.default_rng(3), 2)
    points = mesh.vertices.mean(0) + np.random.default_rng(4).normal(0.0, 0.4, (20, 3))
    monkeypatch.setattr(solid_boundary, "_PIECES", 1 << 15)
    enclosure = ClosestPoints(mesh)._enclosure
    with pytest.raises(TooBigError, match="separate the overlapping parts"):
        enclosure.solid.parts(enclosure.surface.x, enclosure.tree)
    made = []
    classified = solid_boundary.EnclosedSolid.classified

    def counted(self, x, triangles, face, blocks):
        made.append(len(triangles))
        return classified(self, x, triangles, face, blocks)

    monkeypatch.setattr(solid_boundary.EnclosedSolid, "classified", counted)
    depth = DeformingClosestPoints(mesh).query(points)[0]
    assert (depth < 0.0).any()
    assert 0 < sum(made) < 1 << 14  # all pieces are some hundred thousand
