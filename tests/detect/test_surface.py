"""Nearest points and signs against libigl's answers and against looking at every triangle."""

import numpy as np
import pytest

import naive
import pliant
from conftest import cases
from detect.made import FAR, MADE, box, spike
from pliant import Mesh, shapes
from pliant.detect.queries.closest_point import ClosestPoints

PLAIN = (lambda: shapes.ball(0.5, 2), lambda: shapes.box((0.4, 1.0, 0.2), 3), lambda: shapes.torus(0.5, 0.2))
# metres: the oracle of the open bunny was made from vertices rounded to micrometres
ROUNDED = {"bunny_open": 1e-6}
ORACLES = {
    "bunny_open": "meshes/bunny_69451.ply",
    "mh_body": "human/body.obj",
    "pial_lh": "morph/fsaverage5_pial_lh.ply",
    "tet_unit": None,
}


def oracle(data, name):
    """Points and libigl's answers, and what ClosestPoints says."""
    file = ORACLES[name]
    tet = Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    mesh = tet if file is None else pliant.load(data / file)
    with np.load(data / "oracles" / f"sdf_{name}.npz") as truth:
        truth = dict(truth)
    return mesh, truth, ClosestPoints(mesh).query(truth["points"])


@pytest.mark.compiled
@pytest.mark.parametrize("name", ORACLES)
def test_distances_are_those_of_libigl(data, name):
    mesh, truth, (d, *_) = oracle(data, name)
    assert np.abs(np.abs(d) - truth["unsigned"]).max() <= 1e-12 * mesh.size + ROUNDED.get(name, 0.0)


@pytest.mark.compiled
@pytest.mark.parametrize("name", [name for name in ORACLES if name != "bunny_open"])
def test_signs_around_closed_meshes_are_those_of_libigl(data, name):
    mesh, truth, (d, *_) = oracle(data, name)
    assert mesh.issues.closed
    judged = truth["unsigned"] > 1e-9 * mesh.size + 2 * ROUNDED.get(name, 0.0)
    assert (np.sign(d) != truth["sign_pseudonormal"])[judged].sum() == 0


@pytest.mark.compiled
@pytest.mark.parametrize("name", ORACLES)
def test_the_inside_of_any_mesh_is_where_libigls_winding_number_says_or_unknown(data, name):
    mesh, truth, (d, *_) = oracle(data, name)
    side = ClosestPoints(mesh).signs(truth["points"])
    judged = truth["unsigned"] > 1e-6 * mesh.size + 2 * ROUNDED.get(name, 0.0)
    assert ((side < 0) == (d < 0))[judged].all()
    told = judged & (side != 0)
    assert ((side < 0) != (truth["winding"] > 0.5))[told].sum() == 0
    assert (np.abs(truth["winding"] - 0.5)[judged & (side == 0)] < 0.101).all()


@pytest.mark.compiled
@pytest.mark.parametrize("name", ORACLES)
def test_the_nearest_point_is_as_far_as_the_distance_and_on_its_face(data, name):
    mesh, truth, (d, q, face, _) = oracle(data, name)
    assert np.abs(np.linalg.norm(truth["points"] - q, axis=1) - np.abs(d)).max() <= 1e-14 * mesh.size
    single = [ClosestPoints(Mesh(mesh.welded.vertices[mesh.welded.faces[f]], [[0, 1, 2]])) for f in face[:50]]
    assert max(abs(one.query(p[None])[0][0]) for one, p in zip(single, q)) <= 1e-12 * mesh.size


@pytest.fixture
def bunny_and_sheet(data):
    """The (open) bunny in the oracle's scale, the sheet across it, signed distances of the sheet's vertices."""
    bunny = pliant.load(data / "meshes" / "bunny_69451.ply")
    with np.load(data / "oracles" / "bunny_sheet_dev.npz") as truth:
        x = (bunny.vertices - truth["centre"]) / truth["scale"]
        sheet = Mesh(truth["sheet_vertices"], truth["sheet_faces"])
        return Mesh(x, bunny.faces), sheet, truth["signed_distance"]


@pytest.mark.compiled
def test_the_sheet_in_the_bunny_has_745_vertices_inside(bunny_and_sheet):
    bunny, sheet, truth = bunny_and_sheet
    d = ClosestPoints(bunny).query(sheet.vertices)[0]
    assert np.abs(d - truth).max() <= 1e-7
    assert ((d < 0).sum(), round(float(-d.min()), 4)) == (745, 0.2493)


@pytest.mark.compiled
def test_a_field_with_a_wide_band_finds_the_sheet_in_the_bunny(bunny_and_sheet):
    bunny, sheet, truth = bunny_and_sheet
    field = pliant.DistanceField.bake(bunny, 64, band=12)
    bound = 0.8661 * field.spacing
    assert np.abs(field.sample(sheet.vertices)[0] - truth)[truth < 0.0].max() <= bound
    hits = pliant.detector("distance-field", sheet, bunny, within=0.0, field=field, midpoints=False).find()
    found = np.zeros(sheet.n_vertices, bool)
    found[hits["elements"][:, 0]] = True
    assert not (found & (truth > bound)).any()
    assert not (~found & (truth < -bound)).any()
    assert abs(-hits["distance"].min() - 0.2493) <= bound


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("shift", [np.zeros(3), FAR], ids=["here", "far"])
def test_the_tree_finds_what_looking_at_every_triangle_does(name, shift, rng):
    mesh = MADE[name]()
    mesh = Mesh(mesh.vertices + shift, mesh.faces)
    wide = rng.choice([0.05, 0.5, 5.0, 500.0], (cases(100), 1))
    points = mesh.bounds.mean(0) + rng.normal(size=(cases(100), 3)) * wide * mesh.size
    d, *_ = ClosestPoints(mesh).query(points)
    twin = naive.signed_distance(points, mesh.welded)
    assert (np.abs(np.abs(d) - np.abs(twin)) / (np.abs(twin) + np.abs(points).max())).max() <= 1e-14


def test_the_point_beside_the_spikes_tip_is_outside():
    d, *_ = ClosestPoints(spike()).query([[0.3, 0.0, 1.05]])
    assert d[0] > 0


def test_on_the_surface_the_distance_is_plus_zero_and_the_normal_that_of_the_face():
    d, _, _, n = ClosestPoints(box()).query([[0.5, 0.1, 0.2], [0.1, -0.5, 0.2]])
    assert not np.signbit(d).any()
    np.testing.assert_array_equal(n, [[1, 0, 0], [0, -1, 0]])


@pytest.mark.parametrize("count", range(1, 10))
def test_any_small_number_of_triangles_makes_a_tree(count, rng):
    x = rng.normal(size=(3 * count, 3))
    mesh = Mesh(x, np.arange(3 * count).reshape(-1, 3))
    points = rng.normal(size=(20, 3))
    assert (
        np.abs(np.abs(ClosestPoints(mesh).query(points)[0]) - np.abs(naive.signed_distance(points, mesh))).max() < 1e-14
    )


@pytest.mark.parametrize("x", [np.zeros((3, 3)), [[0, 0, 0], [1, 0, 0], [2, 0, 0]]], ids=["point", "line"])
def test_a_mesh_without_area_has_distances_and_unit_normals(x):
    points = np.array([[0.5, 1.0, 0.0], [0.0, 0.0, 0.0], [1e12, 0, 0]])
    d, _, _, n = ClosestPoints(Mesh(x, [[0, 1, 2]])).query(points)
    far = np.linalg.norm(points - np.clip(points, np.min(x, 0), np.max(x, 0)), axis=1)
    assert np.abs(np.abs(d) - far).max() <= 1e-3
    assert np.abs(np.linalg.norm(n, axis=1) - 1).max() <= 1e-12


def test_equal_triangles_answer_with_the_first_of_them():
    mesh = Mesh([[0, 0, 0], [1, 0, 0], [0, 0, 1]], [[0, 2, 1]] * 9)
    assert ClosestPoints(mesh).query([[0.2, 1.0, 0.2]])[2][0] == 0


@pytest.mark.parametrize("make", PLAIN)
def test_a_plain_mesh_is_answered_alike_by_pseudonormals_and_by_the_winding_number(make, rng):
    for _ in range(cases(6)):
        turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        turn *= np.sign(np.linalg.det(turn))
        scale, shape = 10.0 ** rng.uniform(-6, 6), make()
        mesh = Mesh(scale * (shape.vertices @ turn.T + rng.normal(size=3)), shape.faces)
        t = mesh.vertices[mesh.faces[rng.integers(mesh.n_faces, size=300)]]
        weights = rng.dirichlet(np.ones(3), 300) * (rng.random((300, 3)) < 0.7)
        weights[weights.sum(1) == 0.0, 0] = 1.0
        on = np.einsum("ij,ijk->ik", weights / weights.sum(1, keepdims=True), t)
        points = on + 10.0 ** rng.uniform(-17, 0, (300, 1)) * mesh.size * rng.normal(size=(300, 3))
        closest = ClosestPoints(mesh)
        enclosure = closest._enclosure
        enclosure._asked = -(10**9)
        slow = closest.query(points)
        enclosure._asked = 10**9
        assert enclosure._plain
        for one, two in zip(slow, closest.query(points), strict=True):
            assert one.tobytes() == two.tobytes()


def test_what_is_not_plain_is_not_taken_for_it():
    one, two = shapes.ball(0.5, 1), shapes.ball(0.2, 1)
    count = one.n_vertices
    nested = Mesh(np.concatenate([one.vertices, two.vertices]), np.concatenate([one.faces, two.faces + count]))
    sliver = shapes.ball(0.5, 1)
    x = sliver.vertices.copy()
    a, b, c = sliver.faces[0]
    x[a] = 0.5 * (x[b] + x[c]) + 1e-7 * x[a]
    inverted, pierced = Mesh(one.vertices, one.faces[:, ::-1]), Mesh(one.vertices, one.faces[1:])
    for mesh in (nested, inverted, pierced, Mesh(x, sliver.faces)):
        assert not ClosestPoints(mesh)._enclosure._plain
