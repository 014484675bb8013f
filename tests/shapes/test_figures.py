"""Bust, mannequin, rig, skirt, trousers: whole, smooth, of the right size, and the clothes outside of the body."""

import functools
from collections.abc import Callable

import numpy as np
import pytest

from pliant.mesh import Mesh
from pliant.shapes import bust, mannequin, mannequin_rig, skirt, trousers
from pliant.shapes.bust import PARTS as BUST
from pliant.shapes.bust import _bust
from pliant.shapes.implicit import distance, gradient
from pliant.shapes.mannequin import PARTS as BODY
from pliant.shapes.mannequin import _mannequin
from pliant.shapes.rig import _rig
from shapes.quality import edges_through_faces, is_one_closed_body, same, smallest_angles, winding

BODIES = {"bust": (bust, BUST), "mannequin": (mannequin, BODY)}
GARMENTS: dict[str, Callable[[], Mesh]] = {
    "skirt": skirt,
    "pencil skirt": lambda: skirt(0.7, 0.0, ease=0.004),
    "coarse skirt": lambda: skirt(spacing=0.04),
    "trousers": trousers,
    "tight shorts": lambda: trousers(hem=0.6, ease=0.004, spacing=0.015),
}


@functools.cache
def garment(name: str) -> Mesh:
    """One of GARMENTS, made once for all tests."""
    return GARMENTS[name]()


@pytest.mark.parametrize("name", BODIES)
def test_a_body_is_closed_outward_and_without_defects(name: str) -> None:
    assert is_one_closed_body(BODIES[name][0]())


@pytest.mark.parametrize("name", BODIES)
def test_a_body_has_no_slivers(name: str) -> None:
    angles = smallest_angles(BODIES[name][0]())
    assert angles.min() > 10
    assert np.percentile(angles, 1) > 25


@pytest.mark.parametrize("name", BODIES)
def test_the_vertices_of_a_body_lie_on_its_implicit_surface_and_faces_follow_it(name: str) -> None:
    make, parts = BODIES[name]
    mesh = make()
    value, slope = gradient(parts, mesh.vertices[mesh.faces].mean(1))
    assert np.abs(distance(parts, mesh.vertices)).max() < 1e-4
    assert np.abs(value).max() < 3e-3
    slope /= np.linalg.norm(slope, axis=1)[:, None]
    assert (mesh.face_normals * slope).sum(1).min() > 0.3


@pytest.mark.parametrize("detail", [0.7, pytest.param(1.0, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", BODIES)
def test_a_body_does_not_cut_itself(name: str, detail: float) -> None:
    assert edges_through_faces(BODIES[name][0](detail)) == 0


@pytest.mark.long
@pytest.mark.parametrize(
    ("make", "details"), [(bust, (0.5, 0.6, 0.8, 1.3, 2.0)), (mannequin, (0.7, 0.8, 0.9, 1.4, 2.0))]
)
def test_every_detail_makes_a_sound_body(make: Callable[[float], Mesh], details: tuple[float, ...]) -> None:
    for detail in details:
        mesh = make(detail)
        assert is_one_closed_body(mesh), detail
        assert np.percentile(smallest_angles(mesh), 1) > 25, detail


@pytest.mark.parametrize("cached", [_bust, _mannequin])
def test_a_body_is_the_same_bits_when_made_again(cached: Callable[[float], Mesh]) -> None:
    assert same(cached(0.7), cached.__wrapped__(0.7))


def test_the_bust_is_as_tall_as_promised_on_a_flat_base() -> None:
    mesh = bust()
    base = mesh.vertices[mesh.vertices[:, 1] < 1e-4]
    assert mesh.bounds[0, 1] == 0.0
    assert mesh.bounds[1, 1] == pytest.approx(0.45, abs=0.002)
    assert 10_000 <= mesh.n_faces <= 20_000
    assert np.ptp(base[:, 0]) > 0.35


def test_the_mannequin_stands_on_both_feet_and_reaches_1_75_metres() -> None:
    mesh = mannequin()
    soles = mesh.vertices[mesh.vertices[:, 1] == 0.0]
    assert mesh.bounds[:, 1] == pytest.approx([0.0, 1.75], abs=0.002)
    assert (soles[:, 0] > 0.1).any()
    assert (soles[:, 0] < -0.1).any()
    assert np.abs(soles[:, 0]).min() > 0.1


def test_skin_weights_sum_to_one_and_pass_smoothly_from_bone_to_bone() -> None:
    rig, mesh = mannequin_rig(0.7), mannequin(0.7)
    edges = mesh.topology.edges
    length = np.linalg.norm(mesh.vertices[edges[:, 0]] - mesh.vertices[edges[:, 1]], axis=1)
    jump = np.abs(rig.weights[edges[:, 0]] - rig.weights[edges[:, 1]]).max(1)
    assert rig.weights.shape == (mesh.n_vertices, len(rig.names))
    assert rig.weights.min() >= 0.0
    assert np.abs(rig.weights.sum(1) - 1.0).max() < 1e-12
    assert (jump / length).max() < 20.0  # a bone takes over within 5 cm, not in one edge


def test_no_limb_holds_the_skin_of_another() -> None:
    rig, x = mannequin_rig(0.7), mannequin(0.7).vertices
    far = {"thigh": 0.10, "shin": 0.07, "foot": 0.09, "upper_arm": 0.09, "forearm": 0.07, "hand": 0.07, "head": 0.15}
    for j, name in enumerate(rig.names):
        bone, _, side = name.partition(".")
        if bone in far:
            axis = rig.tails[j] - rig.heads[j]
            t = np.clip((x - rig.heads[j]) @ axis / (axis @ axis), 0, 1)
            distant = np.linalg.norm(x - rig.heads[j] - t[:, None] * axis, axis=1) > far[bone] + 0.10
            assert rig.weights[distant, j].max() < 0.02, name
        if side:
            other = x[:, 0] * (1 if side == "left" else -1) < -0.08
            assert rig.weights[other, j].max() < 0.01, name


def test_parents_come_before_children_and_bones_join_up() -> None:
    rig = mannequin_rig(0.7)
    children = np.arange(len(rig.names))
    assert (rig.parents < children).all()
    for j, name in enumerate(rig.names):
        if name.split(".")[0] in ("spine", "chest", "neck", "head", "upper_arm", "forearm", "hand", "shin", "foot"):
            assert np.allclose(rig.heads[j], rig.tails[rig.parents[j]], atol=1e-3), name


def test_the_rig_is_the_same_bits_when_made_again() -> None:
    assert _rig(0.7).weights.tobytes() == _rig.__wrapped__(0.7).weights.tobytes()


@pytest.mark.parametrize("name", GARMENTS)
def test_a_garment_is_one_oriented_sheet_with_even_triangles(name: str) -> None:
    mesh = garment(name)
    angles = smallest_angles(mesh)
    assert not mesh.issues
    assert mesh.issues.components == 1
    assert angles.min() > 12
    assert np.percentile(angles, 1) > 18


@pytest.mark.parametrize(("name", "holes"), [("skirt", 2), ("trousers", 3)])
def test_a_garment_opens_at_the_waist_and_at_every_hem(name: str, holes: int) -> None:
    mesh = garment(name)
    top = mesh.topology
    rim = top.edges[top.boundary]
    euler = mesh.n_vertices - len(top.edges) + mesh.n_faces
    levels = np.unique(mesh.vertices[rim.ravel(), 1])
    assert euler == 2 - holes  # a sphere with so many holes
    assert len(levels) == 2


@pytest.mark.parametrize("name", GARMENTS)
def test_no_vertex_and_no_edge_midpoint_of_a_garment_is_inside_the_body(name: str) -> None:
    mesh = garment(name)
    middle = mesh.vertices[mesh.topology.edges].mean(1)
    ease = 0.004 if name in ("pencil skirt", "tight shorts") else 0.008
    assert distance(BODY, mesh.vertices).min() > ease - 5e-4
    assert distance(BODY, middle).min() > 0.5 * ease


@pytest.mark.parametrize("name", ["skirt", "trousers"])
def test_a_garment_is_outside_of_the_mannequin_mesh_too(name: str) -> None:
    mesh, body = garment(name), mannequin(0.7)
    closest = np.argsort(distance(BODY, mesh.vertices), kind="stable")[:60]
    assert np.abs(winding(body, mesh.vertices[closest])).max() < 1e-6
    assert winding(body, np.array([[0.0, 1.0, -0.02]]))[0] == pytest.approx(1.0)


@pytest.mark.parametrize("name", ["skirt", "trousers"])
def test_faces_of_a_garment_look_away_from_the_body(name: str) -> None:
    mesh = garment(name)
    _, slope = gradient(BODY, mesh.vertices[mesh.faces].mean(1))
    near = distance(BODY, mesh.vertices[mesh.faces].mean(1)) < 0.02
    assert ((mesh.face_normals * slope).sum(1)[near] > 0).all()


@pytest.mark.parametrize("name", ["skirt", "trousers"])
def test_a_garment_does_not_cut_itself(name: str) -> None:
    assert edges_through_faces(garment(name)) == 0


@pytest.mark.parametrize("name", ["skirt", "trousers"])
def test_texture_coordinates_of_a_garment_are_within_the_unit_square_and_unbroken_in_a_face(name: str) -> None:
    uv = garment(name).uv
    assert uv is not None
    assert uv.min() >= 0.0
    assert uv.max() <= 1.0
    assert np.ptp(uv, axis=1).max() < 0.1


@pytest.mark.parametrize("name", GARMENTS)
def test_a_garment_is_the_same_bits_on_every_call(name: str) -> None:
    assert same(garment(name), GARMENTS[name]())


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: bust(0.0), "detail"),
        (lambda: bust(float("nan")), "detail"),
        (lambda: mannequin(5), "detail"),
        (lambda: mannequin_rig("fine"), "detail"),
        (lambda: skirt(2.0), "length"),
        (lambda: skirt(flare=-0.1), "flare"),
        (lambda: skirt(waist=2.0), "waist"),
        (lambda: skirt(ease=0.0), "ease"),
        (lambda: trousers(hem=0.0), "hem"),
        (lambda: trousers(spacing=1.0), "spacing"),
    ],
)
def test_a_bad_argument_is_named(make: Callable[[], object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        make()
