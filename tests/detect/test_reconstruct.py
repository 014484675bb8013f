"""Marching cubes of a field: nothing invented, outward, and within the field's own bound of the input (D3)."""

import dataclasses
import functools

import numpy as np
import pytest

import pliant
from conftest import DATA, cases
from detect.made import FAR, MADE, box, sheet, spike, wedge
from detect.test_distance_field import FILES, VARIANTS
from pliant import DistanceField, Mesh, shapes
from pliant.detect.fields.octree import AdaptiveField
from pliant.detect.fields.reconstruct import BOUND, distances, fidelity, points_on, reconstruct
from pliant.detect.queries.closest_point import ClosestPoints
from pliant.kernels.jit import COMPILED

RESOLUTION = 32 if COMPILED else 8
SAMPLES = 20_000 if COMPILED else 200
compiled = pytest.mark.compiled
THIN = {"wedge 1e-3", "thin plate", "spike"}  # the first has no node inside at all
ROUND = ("bust", "torus", "ball")
PLUMP = (*(f"shapes/{name}" for name in ROUND), "meshes/torus_4608.obj", "meshes/sphere_1280.obj")
MESHES = [
    *(f"made/{name}" for name in MADE if name not in {*THIN, "torus"}),
    *(pytest.param(f"shapes/{name}", marks=compiled) for name in (*ROUND, "bowl", "mannequin", "skirt")),
    *(pytest.param(name, marks=compiled) for name in FILES),
]


def mesh_named(name):
    kind, what = name.split("/")
    if kind == "made":
        return MADE[what]()
    if kind == "shapes":
        return getattr(shapes, what)()
    if not DATA.is_dir():
        pytest.skip("no ../shared/data beside the checkout")
    return pliant.load(DATA / name)


@functools.cache
def made(name, resolution=RESOLUTION):
    field = DistanceField.bake(mesh_named(name), resolution)
    surface = reconstruct(field)
    return field, surface, fidelity(field, surface, field.spacing, SAMPLES)


@pytest.mark.parametrize("name", MESHES)
def test_no_point_of_the_reconstruction_is_farther_than_0_866_cells_from_the_input(name):
    field, _, found = made(name)
    forward, backward = (d.worst / field.spacing for d in (found.forward, found.backward))
    lost, unknown = (100 * found.figures()[f"forward_{why}_share"] for why in ("lost", "unknown"))
    shares = f"{lost:.2f} | {unknown:.2f}"
    print(f"\n| {name} | {field.mesh.n_faces} | {forward:.3f} | {shares} | {backward:.3f} |", end="")
    assert found.backward.worst <= BOUND * field.spacing


@pytest.mark.parametrize("name", MESHES)
def test_a_closed_mesh_gives_a_closed_one_that_looks_outward(name):
    field, surface, _ = made(name)
    if not field.mesh.issues.closed:
        pytest.skip("an open mesh")
    assert (surface.issues.closed, surface.issues.words(defects_only=True)) == (True, "")
    assert surface.volume > 0.0
    assert (surface.face_areas > 0.0).all()


@pytest.mark.parametrize("name", PLUMP)
@compiled
def test_every_point_of_a_body_without_thin_parts_is_within_0_866_cells_of_the_reconstruction(name):
    field, _, found = made(name, 64)
    assert found.forward.worst <= BOUND * field.spacing
    assert not found.lost.any()


@pytest.mark.parametrize("how", VARIANTS)
def test_far_away_scaled_turned_and_renumbered_the_errors_are_the_same(how, rng):
    mesh = VARIANTS[how](shapes.ball(0.5, 2), rng)
    field = DistanceField.bake(mesh, RESOLUTION)
    found = fidelity(field, reconstruct(field), field.spacing, SAMPLES)
    assert max(found.forward.worst, found.backward.worst) <= (0.15 if COMPILED else 0.5) * field.spacing


def test_a_flat_sheet_comes_back_flat_and_no_farther_than_its_border():
    mesh = sheet(6)
    surface = reconstruct(DistanceField.bake(mesh, RESOLUTION))
    over = np.abs(surface.vertices[:, [0, 2]]).max()
    assert np.abs(surface.vertices[:, 1]).max() < 0.002 / RESOLUTION
    assert 0.5 - 1.5 / RESOLUTION < over <= 0.5 + 1e-9
    assert (surface.face_normals[:, 1] > 0.999).all()


def test_what_an_open_border_hides_is_told_apart_from_what_is_too_thin():
    flat = sheet(6)
    tilted = flat.moved(flat.vertices @ np.array([[0.9, 0.3, 0.0], [-0.3, 0.9, 0.2], [0.1, -0.2, 1.0]]))
    field = DistanceField.bake(tilted, RESOLUTION)
    found = fidelity(field, reconstruct(field), field.spacing, SAMPLES)
    assert found.unknown.any()
    assert not found.lost.any()


def test_two_sheets_that_face_the_same_way_come_back_with_nothing_between_them():
    one, two = sheet(4, height=0.0), sheet(4, height=0.5)
    both = Mesh(np.concatenate([one.vertices, two.vertices]), np.concatenate([one.faces, two.faces + one.n_vertices]))
    surface = reconstruct(DistanceField.bake(both, spacing=0.0625, band=6))
    assert np.minimum(np.abs(surface.vertices[:, 1]), np.abs(surface.vertices[:, 1] - 0.5)).max() < 1e-3


def test_a_narrow_band_gives_no_faces_where_it_ends():
    # the cells that the surface crosses have corners up to 1.7 cells away, so a band of one cell has holes
    field = DistanceField.bake(shapes.ball(0.5, 2), RESOLUTION, band=1.0)
    found = fidelity(field, reconstruct(field), field.spacing, SAMPLES)
    assert found.backward.worst <= BOUND * field.spacing


def test_a_corner_on_a_node_is_cut_by_the_diagonal_of_marching_cubes():
    # the field is exact here; three faces of the chamfer x + y + z = 2 cells leave the corner 2 / sqrt(3) away
    field = DistanceField.bake(box(), spacing=1 / RESOLUTION)
    found = fidelity(field, reconstruct(field), field.spacing, SAMPLES)
    assert found.forward.worst / field.spacing == pytest.approx(2 / np.sqrt(3), abs=5e-3)
    finer = fidelity(field, reconstruct(field, 2 * RESOLUTION), field.spacing, SAMPLES)
    assert finer.forward.worst <= BOUND * field.spacing


@compiled
def test_a_part_thinner_than_a_cell_is_missed_and_reported():
    field = DistanceField.bake(spike(), RESOLUTION)
    found = fidelity(field, reconstruct(field), field.spacing, SAMPLES)
    assert found.forward.where[2] == pytest.approx(1.0)  # the tip
    assert found.figures()["forward_lost_share"] > 0.03
    assert not found.unknown.any()
    assert found.backward.worst <= BOUND * field.spacing


def test_a_mesh_that_lies_between_the_nodes_is_one_clear_error():
    field = DistanceField.bake(wedge(), RESOLUTION)
    with pytest.raises(ValueError, match=r"thinner than a cell .* raise the resolution"):
        reconstruct(field)


@dataclasses.dataclass
class Formula:
    """Some other field: a ball of radius 0.4, nan in one corner of space."""

    mesh: Mesh

    def sample(self, points):
        d = np.linalg.norm(points, axis=1) - 0.4
        d[(points > 0.03).all(1)] = np.nan
        return d, points


def test_any_field_that_can_be_sampled_is_reconstructed_at_the_resolution_asked_for():
    surface = reconstruct(Formula(shapes.ball(0.4, 2)), 20)
    h = 0.8 / 20
    assert np.abs(np.linalg.norm(surface.vertices, axis=1) - 0.4).max() < 0.2 * h
    # nodes at multiples of h, so the middles of the cells from 0 to h have a value but their last corners have none
    assert not (surface.vertices > 1e-6).all(1).any()
    assert ((surface.face_normals * surface.vertices[surface.faces[:, 0]]).sum(1) > 0).all()


def test_distances_are_those_of_the_exact_referee():
    small, large = shapes.ball(0.3, 1), shapes.ball(0.5, 2)
    found = distances(small, large, 50)
    assert found.n_vertices == small.n_vertices
    np.testing.assert_array_equal(found.distance, np.abs(ClosestPoints(large).query(found.points)[0]))
    assert found.worst == np.abs(ClosestPoints(large).query(found.where[None])[0][0])
    assert found.mean == found.distance[small.n_vertices :].mean()


def test_points_are_spread_over_the_area(rng):
    mesh = box((3.0, 1.0, 1.0))
    points = points_on(mesh, cases(4000), rng)
    assert np.abs(ClosestPoints(mesh).query(points[:200])[0]).max() < 1e-12
    ends = (np.abs(points[:, 0]) > 1.5 - 1e-9).mean()
    assert ends == pytest.approx(2 / 14, abs=3 / np.sqrt(len(points)))


def test_a_stray_vertex_is_no_part_of_the_surface():
    ball = shapes.ball(0.5, 1)
    stray = Mesh(np.concatenate([ball.vertices, FAR[None]]), ball.faces)
    assert distances(stray, ball, 10).worst < 1e-12


LARGE = ("bunny_69451.ply", "armadillo_29170.obj", "spot_23062.obj", "skull_10312.obj", "plane_holes_open.obj")


@pytest.mark.long
@compiled
@pytest.mark.parametrize("resolution", [50, 100, 200])
@pytest.mark.parametrize("name", LARGE)
def test_at_every_resolution_the_reconstruction_stays_within_0_866_cells(name, resolution):
    field, surface, found = made(f"meshes/{name}", resolution)
    assert found.backward.worst <= BOUND * field.spacing
    assert surface.issues.closed == field.mesh.issues.closed


def test_an_octree_is_sampled_on_a_grid_of_its_own():
    """Its cells have many sizes: without a resolution it has no nodes to take."""
    ball = shapes.ball(0.3, 1)
    field = AdaptiveField.bake(ball, 0.02)
    made = reconstruct(field)
    assert made.n_faces > 1000
    assert np.abs(ClosestPoints(ball).query(made.vertices)[0]).max() < 0.05
