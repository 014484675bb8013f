"""Bricks answer what the dense grid answers; baking again what moved equals baking all."""

import math

import numpy as np
import pytest

from detect.made import MADE, octahedron, sheet, spiky_star
from pliant import DistanceField, Mesh, shapes
from pliant.detect.queries.closest_point import ClosestPoints
from pliant.kernels import jit

RESOLUTION = 40 if jit.COMPILED else 7
over_shapes = pytest.mark.parametrize("make", MADE.values(), ids=MADE.keys())


def same(a, b):
    """Whether two fields hold the same bits."""
    pairs = [(x, y) for x, y in zip(a.grid, b.grid) if isinstance(x, np.ndarray)]
    return all(np.array_equal(x, y, equal_nan=x.dtype.kind == "f") for x, y in pairs)


@over_shapes
def test_bricks_sample_to_the_bits_of_the_dense_grid(make, rng):
    sparse = DistanceField.bake(make(), RESOLUTION)
    dense = DistanceField.bake(make(), RESOLUTION, storage="dense")
    low, high = np.array(sparse.origin), np.array(sparse.origin) + sparse.spacing * np.array(sparse.shape)
    points = rng.uniform(low - sparse.spacing, high + sparse.spacing, (3000 if jit.COMPILED else 100, 3))
    nodes = low + sparse.spacing * rng.integers(0, sparse.shape, (500 if jit.COMPILED else 50, 3))
    # many in a row near each other: corners come from unpacked bricks
    close = np.repeat(points[:200], 20 if jit.COMPILED else 2, axis=0)
    close += rng.uniform(-sparse.spacing, sparse.spacing, close.shape)
    for p in (points, nodes, close):
        for one, two in zip(sparse.sample(p), dense.sample(p)):
            np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(sparse.values, dense.values)
    np.testing.assert_array_equal(sparse.jump, dense.jump)


@pytest.mark.compiled
def test_bricks_take_at_most_a_seventh_of_the_dense_bytes_at_400():
    field = DistanceField.bake(shapes.ball(0.5), 400)
    assert field.nbytes <= 0.15 * field.dense_nbytes
    assert field.dense_nbytes == 4 * math.prod(field.shape)


@pytest.mark.compiled
def test_bytes_and_examined_points_grow_with_the_surface_and_not_with_the_volume():
    ball = shapes.ball(0.5)
    few, many = DistanceField.bake(ball, 100), DistanceField.bake(ball, 400)
    # four times finer: 16 times the surface, 64 times the volume; edges and vertices add to the coarse one
    assert 10 < many.examined / few.examined < 18
    assert 10 < len(many.grid.values) / len(few.grid.values) < 20


@pytest.mark.compiled
@over_shapes
def test_a_large_triangle_is_looked_at_only_near_itself(make):
    coarse = make()
    field = DistanceField.bake(coarse, RESOLUTION)
    band = np.isfinite(field.values).sum()
    assert field.examined < (4 if "sliver" not in coarse.name else 8) * band + 500


def bump(x, centre, radius, height):
    """Push the vertices near `centre` up."""
    near = np.maximum(0.0, 1.0 - np.linalg.norm(x - centre, axis=1) / radius)
    return x + height * (near**2)[:, None] * np.array([0.3, 1.0, 0.2])


@pytest.mark.parametrize(
    "make",
    [lambda: shapes.ball(0.5), lambda: sheet(12), lambda: spiky_star(level=1), lambda: shapes.bust()],
    ids=["ball", "open sheet", "spikes", "bust"],
)
@pytest.mark.compiled
def test_baking_again_what_moved_equals_baking_everything(make, rng):
    mesh = make()
    size = mesh.size
    field = DistanceField.bake(mesh, 60, margin=0.2 * size)
    for _ in range(4):
        centre = mesh.vertices[rng.integers(mesh.n_vertices)]
        x = bump(field.mesh.vertices, centre, 0.15 * size, 0.05 * size * rng.normal())
        field = field.rebake(x)
        whole = DistanceField.bake(mesh.moved(x), like=field)
        assert same(field, whole)
        assert field.examined < whole.examined or not mesh.issues.closed


@pytest.mark.compiled
def test_baking_again_costs_in_proportion_to_what_moved():
    ball = shapes.ball(0.5)
    field = DistanceField.bake(ball, 200, margin=0.05)
    little = field.rebake(bump(ball.vertices, ball.vertices[0], 0.05, 0.01))
    much = field.rebake(bump(ball.vertices, ball.vertices[0], 0.5, 0.01))
    assert 0 < little.examined < 0.1 * field.examined
    assert little.examined < 0.3 * much.examined


def test_baking_again_where_nothing_moved_examines_nothing():
    field = DistanceField.bake(octahedron(1), RESOLUTION)
    again = field.rebake(field.mesh.vertices)
    assert again.examined == 0
    assert same(again, field)


def test_a_mesh_that_leaves_its_grid_gets_a_new_one():
    field = DistanceField.bake(octahedron(1), RESOLUTION)
    moved = field.rebake(field.mesh.vertices * 2.0)
    assert moved.shape > field.shape
    assert moved.spacing == field.spacing
    with pytest.raises(ValueError, match="does not fit into the grid of `like`"):
        DistanceField.bake(moved.mesh, like=field)


def test_vertices_that_come_together_are_welded_as_in_a_bake():
    mesh = octahedron(1)
    field = DistanceField.bake(mesh, RESOLUTION, margin=1.0)
    x = mesh.vertices.copy()
    x[0] = x[1]
    assert same(field.rebake(x), DistanceField.bake(mesh.moved(x), like=field))


def test_a_dense_field_says_that_it_cannot_bake_again():
    field = DistanceField.bake(octahedron(), 8, storage="dense")
    with pytest.raises(ValueError, match="storage='sparse'"):
        field.rebake(field.mesh.vertices)


def test_an_unknown_storage_is_named():
    with pytest.raises(ValueError, match=r"unknown storage 'spars'; did you mean 'sparse'\?"):
        DistanceField.bake(octahedron(), storage="spars")


def soup(rng, count):
    """Triangles that share vertices at random: edges of many faces, open fans, slivers."""
    x = rng.random((count, 3))
    faces = rng.integers(0, count, (2 * count, 3))
    return Mesh(x, faces[(faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 0] != faces[:, 2])])


def test_no_node_of_the_band_is_missed_around_a_soup_of_triangles(rng):
    for count in (3, 8, 20):
        mesh = soup(rng, count)
        field = DistanceField.bake(mesh, 24 if jit.COMPILED else 5, band=rng.uniform(1.0, 6.0))
        node = np.stack(np.meshgrid(*map(np.arange, field.shape), indexing="ij"), -1).reshape(-1, 3)
        true = np.abs(ClosestPoints(mesh).query(np.array(field.origin) + field.spacing * node)[0])
        said = np.abs(field.values.ravel().astype(float))
        inside = true < field.band * field.spacing * (1.0 - 1e-9)
        assert not np.isnan(said[inside]).any()
        assert np.isnan(said[true > field.band * field.spacing * (1.0 + 1e-9)]).all()
        np.testing.assert_allclose(said[inside], true[inside], rtol=1e-6, atol=4.8e-7 * mesh.size)


def test_scaling_and_moving_a_mesh_scales_its_field():
    mesh = spiky_star(level=0)
    field = DistanceField.bake(mesh, RESOLUTION)
    for scale, shift in ((1e-3, 0.0), (1e3, 0.0), (0.5, 100.0)):
        other = DistanceField.bake(mesh.moved(mesh.vertices * scale + shift), RESOLUTION)
        assert other.shape == field.shape
        both = np.isfinite(other.values) & np.isfinite(field.values)
        # a node exactly at the band's end may fall to either side of it
        assert both.sum() > 0.98 * np.isfinite(field.values).sum()
        off = 1e-5 * field.spacing + 1e-13 * shift / scale
        np.testing.assert_allclose(other.values[both] / scale, field.values[both], atol=off)
