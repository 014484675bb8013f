"""Depth inside bodies that deform: what `ClosestPoints` says of the body as it is now, and the sheet in the bunny."""

import numpy as np
import pytest

import pliant
from conftest import cases
from detect.made import MADE
from pliant import Mesh, shapes
from pliant.detect.queries import penetration
from pliant.detect.queries.closest_point import ClosestPoints
from pliant.detect.queries.penetration import DeformingClosestPoints
from pliant.kernels import jit


def bent(x, k):
    return x + 0.05 * np.sin(5 * x[:, [1, 2, 0]] + k)


@pytest.mark.parametrize("name", MADE)
def test_distances_follow_a_mesh_that_deforms(name, rng):
    mesh = MADE[name]()
    kept = DeformingClosestPoints(mesh)
    for k in range(2):
        moved = mesh.moved(bent(mesh.vertices, k))
        points = moved.bounds.mean(0) + rng.normal(size=(cases(60), 3)) * 0.5 * mesh.size
        points = np.concatenate([points, moved.vertices[:5], moved.vertices[moved.faces[:5]].mean(1)])
        *found, way = kept.update(moved.vertices).query(points)
        *expected, other = ClosestPoints(moved).query(points)
        for one, two in zip(found, expected):
            np.testing.assert_allclose(one, two, rtol=0, atol=1e-12 * mesh.size)
        # on a sliver the mesh's normal is only as right as a rounded cross product
        np.testing.assert_allclose(way, other, rtol=0, atol=1e-7)


def test_only_a_mesh_that_moved_is_refitted(rng, monkeypatch):
    mesh, refits = shapes.ball(0.5, 1), []
    refit = penetration.refit
    monkeypatch.setattr(penetration, "refit", lambda *args: (refits.append(1), refit(*args)))
    kept, x, points = DeformingClosestPoints(mesh), mesh.vertices.copy(), rng.normal(size=(cases(40), 3))
    for wanted, way in ((1, 0.0), (1, 0.0), (2, 0.3), (2, 0.0), (3, -0.3)):
        x += [way, 0.0, 0.0]  # the same array, written in place
        distance = kept.update(x).query(points)[0]
        np.testing.assert_allclose(distance, ClosestPoints(mesh.moved(x)).query(points)[0], rtol=0, atol=1e-12)
        assert len(refits) == wanted


def test_only_what_is_inside_is_told_with_its_depth_and_the_way_out(rng):
    ball = shapes.ball(0.5)
    kept = DeformingClosestPoints(ball).update(2.0 * ball.vertices + [1, 0, 0])
    points = rng.uniform(-1, 3, (cases(500), 3))
    found = kept.inside(points)
    radius = np.linalg.norm(points - [1, 0, 0], axis=1)
    thickness = 1.0 - np.linalg.norm(2.0 * ball.vertices[ball.faces].mean(1), axis=1).min()
    assert set(np.flatnonzero(radius < 1.0 - thickness)) <= set(found.rows) <= set(np.flatnonzero(radius < 1.0))
    np.testing.assert_allclose(found.depth, 1.0 - radius[found.rows], rtol=0, atol=thickness)
    np.testing.assert_allclose(points[found.rows] + found.depth[:, None] * found.normal, found.nearest, atol=1e-12)


@pytest.mark.compiled
def test_the_sheet_in_the_bunny_that_comes_back_to_its_shape_has_745_vertices_inside(data):
    bunny = pliant.load(data / "meshes" / "bunny_69451.ply")
    with np.load(data / "oracles" / "bunny_sheet_dev.npz") as truth:
        truth = dict(truth)
    x = (bunny.vertices - truth["centre"]) / truth["scale"]
    kept = DeformingClosestPoints(Mesh(bent(x, 1), bunny.faces)).update(x)
    found = kept.inside(truth["sheet_vertices"])
    np.testing.assert_array_equal(found.rows, np.flatnonzero(truth["signed_distance"] < 0))
    assert np.abs(found.depth + truth["signed_distance"][found.rows]).max() <= 1e-7
    assert (len(found.rows), round(float(found.depth.max()), 4)) == (745, 0.2493)


@pytest.mark.compiled
def test_depths_are_the_same_on_one_and_on_two_threads_in_any_order_and_company(rng):
    body = shapes.ball(0.5)
    points = np.concatenate([rng.normal(size=(3000, 3)) * 0.4, body.vertices, np.zeros((50, 3))])
    before, answers = jit.threads(), []
    try:
        for count in (1, 2):
            jit.set_threads(count)
            answers.append(DeformingClosestPoints(body).query(points))
    finally:
        jit.set_threads(before)
    order = rng.permutation(len(points))
    for one, two, mixed, alone in zip(
        *answers, DeformingClosestPoints(body).query(points[order]), ClosestPoints(body).query(points)
    ):
        np.testing.assert_array_equal(one, two)
        np.testing.assert_array_equal(one[order], mixed)
        np.testing.assert_allclose(one, alone, rtol=0, atol=1e-12)


def test_a_mesh_without_faces_has_no_inside():
    with pytest.raises(ValueError, match="has no faces"):
        DeformingClosestPoints(Mesh([[0, 0, 0]], np.zeros((0, 3))))


def test_the_part_of_a_boundary_near_few_points_gives_the_same_depths_as_all_of_it(rng, monkeypatch):
    one, two = shapes.ball(0.5, 2), shapes.ball(0.4, 2, centre=(0.55, 0.1, 0.0))
    both = Mesh(np.concatenate([one.vertices, two.vertices]), np.concatenate([one.faces, two.faces + one.n_vertices]))
    points = rng.uniform((-0.5, -0.5, -0.5), (0.95, 0.5, 0.5), (40, 3))
    results = []
    for faces_per_point in (0, both.n_faces):
        monkeypatch.setattr(penetration, "LOCAL", faces_per_point)
        results.append(DeformingClosestPoints(both).signed_distances(points))
    local, whole = results
    assert (whole.distance < 0.0).sum() > 10
    for name in ("distance", "nearest", "sign"):
        assert np.array_equal(getattr(local, name), getattr(whole, name))
