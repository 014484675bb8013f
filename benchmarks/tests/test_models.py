"""What is measured on: the spheres of the performance table, points in order, originals found by name."""

import gzip

import numpy as np
import pytest

import pliant
from pliant_bench import models


def test_the_bumpy_sphere_is_closed_and_as_bumpy_as_its_formula() -> None:
    mesh = models.bumpy_sphere(3)
    radius = np.linalg.norm(mesh.vertices, axis=1)
    x, y, z = (mesh.vertices / radius[:, None]).T
    assert (mesh.n_faces, mesh.topology.boundary.any()) == (20 * 4**3, np.False_)
    np.testing.assert_allclose(radius, 1 + 0.1 * np.sin(8 * x) * np.cos(7 * y) * np.sin(9 * z), rtol=1e-12)


def test_keys_of_a_morton_curve_interleave_the_bits() -> None:
    assert models.morton(np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [3, 2, 0]])).tolist() == [1, 2, 4, 0b011001]


def test_points_in_morton_order_are_near_the_surface_and_follow_the_curve() -> None:
    mesh, h = models.bumpy_sphere(2), 0.1
    points = models.points_for(mesh, h, "along", 500)
    assert np.abs(pliant.closest_point(mesh, points)[0]).max() <= np.sqrt(3.0) * h
    assert (np.diff(models.morton((points - (mesh.bounds[0] - 3 * h)) / (4 * h))) >= 0).all()


@pytest.mark.parametrize("kind", models.KINDS)
def test_the_same_seed_gives_the_same_points_inside_the_grid(kind: str) -> None:
    mesh, h = models.bumpy_sphere(2), 0.1
    first, second = (models.points_for(mesh, h, kind, 300) for _ in range(2))
    assert (first == second).all()
    assert (first > mesh.bounds[0] - 4 * h).all()
    assert (first < mesh.bounds[1] + 4 * h).all()


def test_an_original_is_found_in_any_folder_below_and_packed(tmp_path) -> None:
    ball = pliant.shapes.ball(0.1, 1)
    pliant.save(tmp_path / "b.ply", ball)
    (tmp_path / "deep").mkdir()
    packed = tmp_path / "deep" / "bunny_69451.ply.gz"
    packed.write_bytes(gzip.compress((tmp_path / "b.ply").read_bytes()))
    assert models.find_model("Bunny", tmp_path) == packed
    found = models.original("Bunny", tmp_path)
    assert found is not None
    assert found.n_faces == ball.n_faces
    assert models.missing(["Bunny", "Buddha"], tmp_path) == ["Buddha"]


def test_a_folder_that_is_none_is_named(tmp_path) -> None:
    with pytest.raises(NotADirectoryError, match="nowhere is not a folder"):
        models.find_model("Bunny", tmp_path / "nowhere")
