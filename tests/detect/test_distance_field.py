"""The baked field against the truth: sign, node distance, coverage, interpolation, gradient (RELIABILITY D1 to D4)."""

import functools

import numpy as np
import pytest

import naive
import pliant
from conftest import DATA, SEED, cases
from detect.made import FAR, MADE, box, cup, permuted, rotation, sheet, spiky_star, wavy_sheet
from pliant import DistanceField, Mesh
from pliant.contacts import MIDPOINT_FIELD
from pliant.detect.base import Side
from pliant.detect.detectors.distance_field import DistanceFieldDetector
from pliant.detect.fields.sampled import around
from pliant.detect.queries.closest_point import ClosestPoints
from pliant.kernels.jit import COMPILED
from pliant.state import State

RESOLUTION = 32 if COMPILED else 6
ULP = 4 * 2.0**-23
FILES = (
    "meshes/bunny_closed_6598.obj",
    "meshes/cube_48.obj",
    "meshes/cube_open.obj",
    "meshes/demosthenes_bust_open.obj",
    "meshes/fish_1886.obj",
    "meshes/penguin_6720.obj",
    "meshes/plane_holes_open.obj",
    "meshes/skull_10312.obj",
    "meshes/sphere_1280.obj",
    "meshes/spot_1654.obj",
    "meshes/torus_4608.obj",
    "contact/bunny.ply",
    "human/skirt.obj",
)


def moved(mesh, x):
    return Mesh(x, mesh.faces, name=mesh.name)


VARIANTS = {
    "far": lambda m, rng: moved(m, m.vertices + FAR),
    "thousandth": lambda m, rng: moved(m, m.vertices * 1e-3),
    "thousandfold": lambda m, rng: moved(m, m.vertices * 1e3),
    "rotated": lambda m, rng: moved(m, m.vertices @ rotation(rng).T),
    "permuted": permuted,
}
SHAPES = {**MADE, "wavy sheet": wavy_sheet, "cup": cup}
NAMES = [
    *(f"made/{name}" for name in SHAPES),
    *(f"made/{name}/{how}" for name in ("spiky star", "sheet") for how in VARIANTS),
    *(pytest.param(name, marks=pytest.mark.compiled) for name in FILES),
    *(pytest.param(f"{FILES[k]}/{how}", marks=pytest.mark.compiled) for k, how in enumerate(VARIANTS)),
]
over_all = pytest.mark.parametrize("name", NAMES)


@functools.cache
def baked(name):
    """Mesh, field, exact answers at all nodes: computed once for all tests."""
    kind, what, *how = name.split("/")
    if kind == "made":
        mesh = SHAPES[what]()
    elif DATA.is_dir():
        mesh = pliant.load(DATA / kind / what)
    else:
        pytest.skip("no ../shared/data beside the checkout")
    if how:
        mesh = VARIANTS[how[0]](mesh, np.random.default_rng(SEED))
    field = DistanceField.bake(mesh, RESOLUTION)
    shape = field.values.shape
    nodes = np.stack(np.meshgrid(*map(np.arange, shape), indexing="ij"), -1).reshape(-1, 3) * field.spacing
    nodes += np.array(field.origin)
    if not COMPILED:
        rng = np.random.default_rng(SEED)
        known = np.flatnonzero(~np.isnan(field.values.ravel()))
        nodes = nodes[np.concatenate([rng.choice(known, 150), rng.choice(len(nodes), 100)])]
    return mesh, field, nodes, ClosestPoints(mesh, behind=True).query(nodes)[0]


def at_nodes(field, nodes):
    """The stored values at `nodes`."""
    index = np.rint((nodes - np.array(field.origin)) / field.spacing).astype(int)
    return field.values[tuple(index.T)].astype(float)


def band_points(mesh, field, count, rng):
    """Points around the surface, most of them inside the band, many beside edges and vertices."""
    on = rng.dirichlet(rng.choice([0.1, 1.0]) * np.ones(3), count)
    corners = mesh.vertices[mesh.faces[rng.integers(0, mesh.n_faces, count)]]
    away = rng.normal(size=(count, 3)) * field.spacing * field.band / 2
    return np.einsum("ij,ijk->ik", on, corners) + away


def sides(points, mesh):
    """-1 inside, 1 outside, by the winding number; where it leaves the side of an open mesh open, before or behind the
    nearest face. And which are sure."""
    w = naive.winding_number(points, mesh)
    if mesh.issues.closed:
        return np.where(w > 0.5, -1, 1), np.ones(len(points), bool)
    truth = np.where(w > 0.6, -1, np.where(w < 0.1, 1, np.sign(naive.signed_distance(points, mesh))))
    return truth, np.minimum(np.abs(w - 0.6), np.abs(w - 0.1)) > 1e-3


@over_all
def test_no_node_has_the_wrong_sign(name, rng):
    mesh, field, nodes, _ = baked(name)
    values = at_nodes(field, nodes)
    judged = np.flatnonzero(np.abs(values) > 1e-6 * mesh.size)
    # the nearest ones are the hardest; the rest are drawn
    count = cases(120)
    hard = judged[np.argsort(np.abs(values[judged]))[: count // 2]]
    judged = np.concatenate([hard, rng.choice(judged, min(count // 2, len(judged)))])
    truth, sure = sides(nodes[judged], mesh.welded)
    wrong = sure & (np.sign(values[judged]) != truth)
    if not mesh.issues.closed:
        # in the very plane of a border face the side is a matter of rounding
        wrong &= ~field_jumps_around(field, nodes[judged])
    assert wrong.sum() == 0


def field_jumps_around(field, nodes):
    """Whether a cell beside each node is marked as one where the sign jumps."""
    if not field.jump.size:
        return np.zeros(len(nodes), bool)
    index = np.rint((nodes - np.array(field.origin)) / field.spacing).astype(int)
    around = np.pad(field.jump, 1)
    return np.array([around[i : i + 2, j : j + 2, k : k + 2].any() for i, j, k in index])


@over_all
def test_node_distances_are_exact_to_float32(name):
    mesh, field, nodes, exact = baked(name)
    values = at_nodes(field, nodes)
    known = ~np.isnan(values)
    error = np.abs(np.abs(values[known]) - np.abs(exact[known]))
    assert error.max() <= ULP * mesh.size


@over_all
def test_node_distances_agree_with_the_slow_twin(name, rng):
    mesh, field, nodes, _ = baked(name)
    values = at_nodes(field, nodes)
    some = rng.choice(np.flatnonzero(~np.isnan(values)), cases(40))
    twin = np.abs(naive.signed_distance(nodes[some], mesh.welded))
    assert np.abs(np.abs(values[some]) - twin).max() <= ULP * mesh.size + 1e-15 * np.abs(nodes).max()


@over_all
def test_exactly_the_nodes_within_the_band_have_a_value(name):
    _, field, nodes, exact = baked(name)
    reach = field.band * field.spacing
    known = ~np.isnan(at_nodes(field, nodes))
    slack = 1e-9 * reach + 1e-14 * np.abs(nodes).max()
    missing = ~known & (np.abs(exact) < reach - slack)
    extra = known & (np.abs(exact) > reach + slack)
    assert (missing.sum(), extra.sum()) == (0, 0)


@over_all
def test_interpolation_errs_by_at_most_0_866_cells(name, rng):
    mesh, field, _, _ = baked(name)
    points = band_points(mesh, field, 4000 if COMPILED else cases(50), rng)
    d, _ = field.sample(points)
    known = ~np.isnan(d)
    exact = ClosestPoints(mesh, behind=True).query(points[known])[0]
    error = np.abs(d[known] - exact) / field.spacing
    p50, p99 = np.percentile(error, [50, 99])
    print(f"\n| {name} | {mesh.n_faces} | {known.mean():.2f} | {p50:.4f} | {p99:.3f} | {error.max():.3f} |", end="")
    assert error.max() <= 0.8661 + ULP * mesh.size / field.spacing


@over_all
def test_samples_farther_than_0_866_cells_have_the_right_sign(name, rng):
    mesh, field, _, _ = baked(name)
    points = band_points(mesh, field, cases(80), rng)
    d, _ = field.sample(points)
    points, d = points[~np.isnan(d)], d[~np.isnan(d)]
    truth, far = sides(points, mesh.welded)
    far &= np.abs(naive.signed_distance(points, mesh.welded)) > 0.8661 * field.spacing
    assert (np.sign(d[far]) != truth[far]).sum() == 0


@over_all
def test_where_the_band_is_whole_every_sample_of_a_closed_mesh_has_a_value(name, rng):
    mesh, field, _, _ = baked(name)
    if not mesh.issues.closed:
        pytest.skip("an open mesh has cells where the sign jumps")
    points = band_points(mesh, field, 2000 if COMPILED else cases(30), rng)
    d, _ = field.sample(points)
    near = np.abs(ClosestPoints(mesh).query(points)[0]) < (field.band - 1.733) * field.spacing
    assert near.any()
    assert not np.isnan(d[near]).any()


@over_all
def test_the_gradient_is_the_slope_inside_the_cell(name, rng):
    mesh, field, _, _ = baked(name)
    cell = np.floor((band_points(mesh, field, 2000 if COMPILED else cases(20), rng) - field.origin) / field.spacing)
    # powers of two as fractions and steps, so that points inside the cell are exact in its own coordinates
    points = (cell + rng.integers(8, 25, cell.shape) / 32) * field.spacing + np.array(field.origin)
    d, gradient = probe(field, points)
    known = ~np.isnan(d)
    points, gradient = points[known], gradient[known]
    step = np.eye(3) * field.spacing / 8
    slope = np.stack([(probe(field, points + s)[0] - probe(field, points - s)[0]) * 4 / field.spacing for s in step], 1)
    # coordinates far from the origin cannot say where in the cell they are any better than this
    rounding = 16 * np.spacing(np.abs(points).max()) / field.spacing
    assert np.abs(gradient - slope).max() <= 1e-6 + rounding


@over_all
def test_the_gradient_is_never_longer_than_the_root_of_three(name, rng):
    mesh, field, _, _ = baked(name)
    points = band_points(mesh, field, 2000 if COMPILED else cases(20), rng)
    d, gradient = probe(field, points)
    assert np.linalg.norm(gradient[~np.isnan(d)], axis=1).max() <= np.sqrt(3) * 1.0002 + ULP * mesh.size / field.spacing


def probe(field, points):
    d, gradient = np.empty(len(points)), np.empty((len(points), 3))
    field.probe(np.ascontiguousarray(points), d, gradient)
    return d, gradient


@over_all
def test_normals_are_unit_wherever_there_is_a_distance(name, rng):
    mesh, field, _, _ = baked(name)
    d, normal = field.sample(band_points(mesh, field, 2000 if COMPILED else cases(20), rng))
    assert np.abs(np.linalg.norm(normal[~np.isnan(d)], axis=1) - 1).max() <= 1e-12


def test_between_two_walls_where_the_gradient_vanishes_the_normal_is_still_unit():
    slab = box((4.0, 1.25, 4.0))
    field = DistanceField.bake(slab, spacing=0.25)
    points = np.array([[x, 0.0, z] for x in (-0.6, 0.1, 0.7) for z in (-0.5, 0.3)])
    raw = probe(field, points)[1]
    assert np.linalg.norm(raw, axis=1).max() < 1e-3
    assert np.abs(np.linalg.norm(field.sample(points)[1], axis=1) - 1).max() <= 1e-12


def test_a_triangle_exactly_in_a_grid_plane_leaves_no_hole():
    field = DistanceField.bake(sheet(4), spacing=0.125)
    middle = round((0.0 - field.origin[1]) / field.spacing)
    assert field.origin[1] + middle * field.spacing == 0.0
    inside = field.values[5:-5, middle, 5:-5]
    assert (inside == 0.0).all()


def test_a_node_exactly_on_the_surface_has_distance_plus_zero():
    field = DistanceField.bake(box(), spacing=0.125)
    on = field.values[field.values == 0.0]
    assert len(on) > 300
    assert not np.signbit(on).any()


def two_sheets():
    """Both face the same way."""
    one, two = sheet(4, height=0.0), sheet(4, height=0.5)
    return Mesh(np.concatenate([one.vertices, two.vertices]), np.concatenate([one.faces, two.faces + one.n_vertices]))


def test_between_two_sheets_that_face_the_same_way_no_surface_is_invented():
    field = DistanceField.bake(two_sheets(), spacing=0.0625, band=6)
    d, _ = field.sample(np.stack([np.zeros(201), np.linspace(0.05, 0.45, 201), np.zeros(201)], 1))
    assert np.nanmin(np.abs(d)) > 0.04


@pytest.mark.compiled
@pytest.mark.parametrize("make", [sheet, wavy_sheet, cup, two_sheets], ids=lambda f: f.__name__)
def test_of_an_open_body_every_middle_that_the_field_has_near_is_a_contact(make, rng):
    field = DistanceField.bake(make(), 32, band=8.0)
    h, within = field.spacing, field.spacing
    middle = around(field.mesh, 20_000, 8.0 * h, rng)
    half = rng.normal(size=middle.shape) * rng.uniform(0.2, 3.0, (len(middle), 1)) * h
    x = np.concatenate([middle - half, middle + half, middle + np.roll(half, 1, 1)])
    cloth = Mesh(x, np.arange(len(x)).reshape(3, -1).T)
    sides = Side(cloth, 0, 0), Side(field.mesh, len(x), 1)
    found = DistanceFieldDetector(*sides, within=within, field=field).find(State.at(x))
    told = found["elements"][found["kind"] == MIDPOINT_FIELD, 0]
    d, _ = field.sample(x[cloth.topology.edges].mean(1))
    assert told.tolist() == np.flatnonzero(d <= within).tolist()


def test_faces_without_area_do_not_spoil_the_sign():
    star = spiky_star()
    edge = star.topology.edges[0]
    _, b = np.flatnonzero((star.faces[:, :, None] == edge).any(1).all(1))
    # cut the edge in face b only: its half of the edge closes up by a triangle without area
    x = np.concatenate([star.vertices, star.vertices[edge].mean(0)[None]])
    k = int(np.flatnonzero(~np.isin(star.faces[b], edge))[0])
    far, i, j = np.roll(star.faces[b], -k)
    new = star.n_vertices
    faces = np.concatenate([np.delete(star.faces, b, 0), [[far, i, new], [far, new, j], [i, j, new]]])
    mesh = Mesh(x, faces)
    assert mesh.issues.closed
    rng = np.random.default_rng(SEED)
    points = x[new] + rng.normal(size=(cases(200), 3)) * 0.3
    d = ClosestPoints(mesh, behind=True).query(points)[0]
    assert (np.sign(d) == np.where(naive.winding_number(points, mesh) > 0.5, -1, 1)).all()
