"""Both layouts of a BVH give bitwise the same nearest faces, of surfaces with defects and of points at any distance."""

import numpy as np
import pytest

import pliant
from conftest import cases
from pliant.detect.bvh.wide import MANY
from pliant.detect.queries.closest_point import Enclosure, surface_of
from pliant.detect.queries.penetration import DeformingClosestPoints

pytestmark = pytest.mark.compiled


def bumpy(rng, count):
    x = rng.normal(size=(count, 3))
    return pliant.Mesh(x * rng.uniform(0.5, 1.5, (count, 1)), rng.integers(0, count, (2 * count, 3)))


def shells(rng, count):
    ball = pliant.shapes.ball(0.5, 3)
    faces = np.concatenate([ball.faces, ball.faces])  # every face twice: ties
    return pliant.Mesh(ball.vertices * rng.uniform(0.2, 1.0, 3), faces)


def slivers(rng, count):
    a, b = rng.normal(size=(2, count, 3))
    c = a + rng.uniform(-1, 2, (count, 1)) * (b - a) + 10.0 ** rng.uniform(-18, -1, (count, 1))
    return pliant.Mesh(np.stack([a, b, c], 1).reshape(-1, 3), np.arange(3 * count).reshape(-1, 3))


def grid(rng, count):
    x = np.round(rng.uniform(0, 3, (count, 3)))  # coinciding and coplanar triangles, and points
    return pliant.Mesh(x, rng.integers(0, count, (count, 3)))


MADE = {each.__name__: each for each in (bumpy, shells, slivers, grid)}


def asked(rng, mesh, count):
    """Points on the surface and near it, in its box, and up to a million times as far away."""
    t = mesh.vertices[mesh.faces[rng.integers(0, mesh.n_faces, count)]]
    on = np.einsum("ij,ijk->ik", rng.dirichlet([0.3] * 3, count), t)
    size = float(np.ptp(mesh.vertices, axis=0).max())
    off = rng.normal(size=(count, 3)) * size
    near, far = off * 10.0 ** rng.uniform(-9, -1, (count, 1)), off * 10.0 ** rng.uniform(0, 6, (count, 1))
    return np.concatenate([on, on + near, on + off, on + far, mesh.vertices[rng.integers(0, mesh.n_vertices, count)]])


def found(search, p, reach, layout, guess=None):
    """Results of one layout, 'wide' or 'exact'."""
    faces, barycentric = np.full((len(p), 2), -1, np.int64), np.zeros((len(p), 3))
    if guess is not None:
        faces[:, 0] = guess
    if layout == "exact":
        search._find_exactly(p, faces, barycentric, reach)
    else:
        search._asked = MANY + len(search.surface.faces)
        search.find(p, faces, barycentric, reach)
        assert search._wide_fit
    return np.concatenate([faces, barycentric.view(np.int64)], 1)


@pytest.mark.parametrize("made", MADE)
def test_both_layouts_find_the_same_bits(made):
    rng = np.random.default_rng(5)
    for k in range(cases(12)):
        mesh = MADE[made](rng, int(rng.choice([1, 3, 9, 40, 700])) + 3)
        x = mesh.vertices * 10.0 ** rng.choice([-60, -3, 0, 5])
        mesh = mesh.moved(x + (k % 2) * rng.normal(size=3) * np.ptp(x) * 1e3)
        search = Enclosure(surface_of(mesh), mesh.topology).nearest_faces
        p = asked(rng, mesh, 60)
        one, two = (found(search, p, np.inf, layout) for layout in ("wide", "exact"))
        np.testing.assert_array_equal(one, two)
        guess = rng.integers(-1, mesh.n_faces, len(p))
        np.testing.assert_array_equal(found(search, p, np.inf, "wide", guess), two)
        reach = float(rng.uniform(0.0, 0.3) * np.ptp(mesh.vertices, axis=0).max())
        one, two = (found(search, p, reach, layout) for layout in ("wide", "exact"))
        np.testing.assert_array_equal(one, two)


def test_layouts_follow_a_deforming_mesh():
    rng = np.random.default_rng(6)
    ball = pliant.shapes.ball(0.5, 3)
    moving = DeformingClosestPoints(ball)
    for _ in range(3):
        x = ball.vertices * rng.uniform(0.3, 2.0, 3) + rng.normal(size=3)
        p = asked(rng, ball.moved(x), MANY // 5)
        many = moving.update(x).query(p)
        few = DeformingClosestPoints(ball.moved(x))
        for row in (0, 250, 450, 999):
            one = few.query(p[row : row + 1])
            assert not few._nearest._wide_fit
            for a, b in zip(many, one, strict=True):
                np.testing.assert_array_equal(a[row : row + 1], b)
        assert moving._nearest._wide_fit


def test_a_surface_at_one_point_is_left_to_double_precision():
    mesh = pliant.Mesh(np.zeros((3, 3)), [[0, 1, 2]])
    search = Enclosure(surface_of(mesh), mesh.topology).nearest_faces
    faces, barycentric = np.full((MANY, 2), -1, np.int64), np.zeros((MANY, 3))
    search.find(np.random.default_rng(0).normal(size=(MANY, 3)), faces, barycentric)
    assert not search._wide_fit
    assert (faces[:, 0] == 0).all()
