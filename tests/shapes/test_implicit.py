"""Blended parts: values, gradients, growth, projection."""

import numpy as np

from pliant.mesh import Mesh
from pliant.shapes import box
from pliant.shapes.implicit import distance, ellipsoid, gradient, grown, limb, moved, project, slab, smooth_minimum
from pliant.shapes.mannequin import PARTS
from shapes.quality import edges_through_faces


def test_a_limb_has_the_distance_to_its_axis_less_its_radius(rng: np.random.Generator) -> None:
    p = rng.uniform(-1, 1, (200, 3))
    t = np.clip(p[:, 1], 0.0, 0.5)
    axis = np.stack([0 * t, t, 0 * t], 1)
    found = distance([limb((0, 0, 0), (0, 0.5, 0), 0.1, 0.2)], p)
    assert np.allclose(found, np.linalg.norm(p - axis, axis=1) - (0.1 + 0.2 * t))


def test_an_ellipsoid_is_zero_on_its_surface_wherever_it_is_turned(rng: np.random.Generator) -> None:
    u = rng.normal(size=(200, 3))
    u /= np.linalg.norm(u, axis=1)[:, None]
    turned = np.stack([-2.0 * u[:, 1], 1.0 * u[:, 0], 3.0 * u[:, 2]], 1)  # 90 degrees about z
    part = ellipsoid((0.1, 0.2, 0.3), (1.0, 2.0, 3.0), turn=(0, 0, 90))
    assert np.abs(distance([part], turned + np.array((0.1, 0.2, 0.3)))).max() < 1e-12
    assert distance([part], np.array([[0.1, 0.2, 0.3]]))[0] < -0.9


def test_the_smooth_minimum_is_the_minimum_beyond_its_reach_and_below_it_within() -> None:
    a, b = np.array([0.0, 0.0, 0.0]), np.array([0.2, 0.1, 0.05])
    assert np.array_equal(smooth_minimum(a, b, 0.1)[:2], [0.0, 0.0])
    assert smooth_minimum(a, b, 0.1)[2] < 0.0


def test_a_mirrored_part_is_the_same_on_both_sides(rng: np.random.Generator) -> None:
    p = rng.uniform(-0.6, 0.6, (300, 3)) + np.array((0, 1, 0))
    assert np.array_equal(distance(PARTS, p), distance(PARTS, p * (-1, 1, 1)))


def test_growing_takes_the_same_from_every_value_also_where_parts_are_carved(rng: np.random.Generator) -> None:
    p = rng.uniform(-0.3, 0.3, (300, 3)) + np.array((0, 1.6, 0))
    assert np.allclose(distance(grown(PARTS, 0.013), p), distance(PARTS, p) - 0.013, atol=1e-12)


def test_moving_the_parts_moves_the_values(rng: np.random.Generator) -> None:
    p = rng.uniform(-0.3, 0.3, (100, 3))
    assert np.allclose(distance(moved(PARTS, (0, -1.6, 0.2)), p), distance(PARTS, p - (0, -1.6, 0.2)))


def test_a_slab_carves_a_plane_that_is_flat(rng: np.random.Generator) -> None:
    p = rng.uniform(-0.2, 0.2, (100, 3)) * (1, 0, 1)
    assert np.abs(distance([limb((0, 0, 0), (0, 0, 0), 1.0), slab(-2.0, 0.0)], p)).max() < 1e-12


def test_the_gradient_is_the_slope_of_the_value(rng: np.random.Generator) -> None:
    p = rng.uniform(-0.3, 0.3, (100, 3)) + np.array((0.01, 1.2, 0))
    u = rng.normal(size=(100, 3))
    step = 1e-6 * u
    slope = (distance(PARTS, p + step) - distance(PARTS, p - step)) / 2e-6
    _, g = gradient(PARTS, p)
    assert np.median(np.abs((g * u).sum(1) - slope)) < 1e-4


def test_projected_points_lie_on_the_offset_surface(rng: np.random.Generator) -> None:
    x, n = project(PARTS, rng.uniform(-0.1, 0.1, (50, 3)) + np.array((0, 1.2, 0.15)), 6, offset=0.02)
    assert np.abs(distance(PARTS, x) - 0.02).max() < 1e-6
    assert np.allclose(np.linalg.norm(n, axis=1), 1.0, atol=0.05)


def test_the_check_for_cuts_sees_two_boxes_that_cross() -> None:
    a, b = box(1.0, 2), box(1.0, 2, centre=(0.3, 0.4, 0.6))
    both = Mesh(np.concatenate([a.vertices, b.vertices]), np.concatenate([a.faces, b.faces + a.n_vertices]))
    assert edges_through_faces(a) == 0
    assert edges_through_faces(both) > 0
