"""Displayed cloth is smooth, keeps its folds, its boundary and its seams, and stays near the simulated cloth."""

import numpy as np
import pytest

from pliant import Mesh, shapes
from pliant.mesh.subdivision import Subdivision, default_steps, smooth_normals
from report.scenes import ball, drape, grid

CLOTH = shapes.cloth(1.0, 1.0, 21)


def waves(x: np.ndarray, length: float = 0.05) -> np.ndarray:
    """Height of oblique folds with the wavelength 2 pi `length`."""
    return 0.5 * length * np.sin((x[:, 0] + 0.4 * x[:, 2]) / length)


def flat_points(shape: Subdivision, x: np.ndarray) -> np.ndarray:
    """The displayed vertices on the flat faces: the slow twin, by splitting edges at their midpoints."""
    mesh = shape.base
    for _ in range(shape.count):
        x = np.concatenate([x, x[mesh.topology.edges].mean(1)])
        mesh = Subdivision(mesh, 1).mesh
    return x


@pytest.mark.parametrize("count", [1, 2])
def test_flat_cloth_stays_flat_with_its_texture_in_place(count):
    shape = Subdivision(CLOTH, count)
    x = shape.place(CLOTH.vertices)
    assert shape.mesh.n_faces == 4**count * CLOTH.n_faces
    assert np.abs(x[:, 1]).max() < 1e-12
    u = np.stack([x[:, 0] + 0.5, 0.5 - x[:, 2]], 1)
    assert np.abs(u[shape.mesh.faces] - shape.mesh.uv).max() < 1e-9


def test_folds_keep_their_height_and_are_less_than_half_as_far_from_the_smooth_shape():
    x = CLOTH.vertices + np.outer(waves(CLOTH.vertices), (0.0, 1.0, 0.0))
    smooth, flat = Subdivision(CLOTH, 2).place(x), flat_points(Subdivision(CLOTH, 2), x)
    away = [np.abs(p[:, 1] - waves(p)).mean() for p in (smooth, flat)]
    assert away[0] < 0.4 * away[1]
    assert abs(smooth[:, 1].max() / waves(CLOTH.vertices).max() - 1.0) < 0.03


def test_normals_of_folds_are_smoother_than_those_of_the_simulated_cloth():
    x = CLOTH.vertices + np.outer(waves(CLOTH.vertices), (0.0, 1.0, 0.0))
    shape = Subdivision(CLOTH, 2)
    turns = []
    for p in (shape.place(x), flat_points(shape, x)):
        slope = 0.5 * np.cos((p[:, 0] + 0.4 * p[:, 2]) / 0.05)
        true = np.stack([-slope, np.ones(len(p)), -0.4 * slope], 1)
        n = smooth_normals(p, shape.mesh.faces, shape.mesh.weld_index)
        turns.append(np.degrees(np.arccos((n * true).sum(1) / np.linalg.norm(true, axis=1))).mean())
    assert turns[0] < 0.5 * turns[1]


def test_no_displayed_vertex_is_farther_than_the_deviation_from_its_place_on_the_flat_faces(rng):
    for deviation in (0.0, 1e-3, 0.02):
        shape = Subdivision(CLOTH, 2, deviation)
        x = CLOTH.vertices + 0.05 * rng.normal(size=CLOTH.vertices.shape)
        away = np.linalg.norm(shape.place(x) - flat_points(shape, x), axis=1)
        assert away.max() <= deviation * (1 + 1e-9) + 1e-15


def test_displayed_cloth_on_a_ball_keeps_its_clearance_less_the_deviation():
    cloth, _ = drape(3, 25)
    shape = Subdivision(cloth.mesh, 2, 0.01)
    for x in cloth.frames.astype(np.float64):
        gap = [np.linalg.norm(p, axis=1).min() - 0.5 for p in (flat_points(shape, x), shape.place(x))]
        assert gap[1] >= gap[0] - 0.01 - 1e-12


def test_corners_stay_and_the_boundary_depends_on_itself_only(rng):
    shape, corners = Subdivision(CLOTH, 2), [0, 20, 420, 440]
    x = CLOTH.vertices + 0.02 * rng.normal(size=CLOTH.vertices.shape)
    inside = ~CLOTH.topology.boundary_vertices
    moved = x + 0.02 * inside[:, None] * rng.normal(size=x.shape)
    rim = shape.mesh.topology.boundary_vertices
    assert np.abs(shape.place(x)[corners] - x[corners]).max() < 1e-12
    assert np.array_equal(shape.place(x)[rim], shape.place(moved)[rim])


def test_copies_of_a_vertex_at_a_seam_stay_together():
    mesh = ball(0.5, 9)
    shape = Subdivision(mesh, 2)
    x = shape.place(mesh.vertices * (1.0, 0.7, 1.2))
    index = shape.mesh.weld_index
    first = np.unique(index, return_index=True)[1]
    assert index.max() + 1 < shape.mesh.n_vertices
    assert np.array_equal(x, x[first][index])


def test_triangles_without_order_give_finite_positions_near_them(rng):
    for _ in range(20):
        n = int(rng.integers(3, 12))
        mesh = Mesh(rng.normal(size=(n, 3)), rng.integers(0, n, (int(rng.integers(1, 20)), 3)))
        x = Subdivision(mesh, 1).place(mesh.vertices)
        assert np.abs(x).max() <= 4.0 * np.abs(mesh.vertices).max()


def test_default_steps_leave_what_a_page_draws_smoothly():
    assert [default_steps(grid(n, 1.0)) for n in (20, 100, 200)] == [2, 1, 0]
    assert 4 * grid(100, 1.0).n_faces < 100_000


def test_more_than_three_steps_are_refused():
    with pytest.raises(ValueError, match="subdivide = 4"):
        Subdivision(CLOTH, 4)
