"""Contacts on the way from one place to another, as records: what has gone through is told the way back."""

import functools

import numpy as np
import pytest

import pliant
from detect.made import box, octahedron, sheet
from pliant import Mesh
from pliant.contacts import EDGE_EDGE, VERTEX_FACE, gap
from pliant.detect.base import Side
from pliant.detect.detectors.continuous import ContinuousDetector
from pliant.detect.detectors.offset import OffsetDetector
from pliant_bench.cloths import pile, stepped


@pytest.mark.compiled
def test_at_rest_the_contacts_are_those_of_the_tree():
    mesh = pile(8, 24, "folded")
    still = pliant.find_contacts(mesh, method="bvh", within=0.006)
    assert len(still) > 100
    assert pliant.find_contacts(mesh, method="continuous", within=0.006).tobytes() == still.tobytes()


def through(solver="conservative", drop=1.0, within=0.05, body=None):
    """A sheet falls through a body, 0.1 m above whose middle it starts."""
    cloth, body = sheet(3, 0.5, 0.1), sheet(4, 1.0, 0.0) if body is None else body
    detector = pliant.detector("continuous", cloth, body, within=within, solver=solver)
    end = cloth.vertices - (0.0, drop, 0.0)
    return cloth, body, end, detector.update(end, start_a=cloth.vertices).find()


def test_what_has_gone_through_is_told_the_way_back():
    cloth, body, end, hits = through()
    vertices = hits[(hits["kind"] == VERTEX_FACE) & (hits["bodies"][:, 0] == 0)]
    assert set(vertices["elements"][:, 0]) == set(range(cloth.n_vertices))
    np.testing.assert_allclose(vertices["normal"], np.tile([0.0, 1.0, 0.0], (len(vertices), 1)), atol=1e-9)
    np.testing.assert_allclose(vertices["distance"], -0.9, atol=1e-9)
    assert ((vertices["time"] > 0.08) & (vertices["time"] <= 0.1)).all()
    x = np.concatenate([end, body.vertices])
    assert np.abs(np.einsum("ij,ij->i", gap(hits, x), hits["normal"]) - hits["distance"]).max() <= 1e-14
    assert np.abs(hits["weights"].sum(1)).max() <= 1e-12


@pytest.mark.compiled
def test_nothing_that_ends_near_the_other_side_is_dragged_on():
    _, _, _, hits = through(drop=0.12)
    assert (hits["normal"][hits["bodies"][:, 0] == 0, 1] > 0.0).all()
    assert (hits["distance"] < 0.0).any()


@pytest.mark.compiled
def test_what_does_not_get_through_is_near_as_in_the_tree():
    cloth, body, end, hits = through(drop=0.07)
    still = pliant.detector("bvh", cloth, body, within=0.05).update(end).find()
    assert len(still) > 0
    assert hits.tobytes() == still.tobytes()


@pytest.mark.compiled
def test_records_are_in_canonical_order_and_none_comes_twice():
    mesh = pile(8, 24, "folded")
    detector = pliant.detector("continuous", mesh, within=0.004)
    hits = detector.update(stepped(mesh.vertices, "hit"), start_a=mesh.vertices).find()
    names = np.column_stack([hits["kind"], hits["bodies"], hits["elements"]])
    assert (hits["time"] > 0.0).any()
    assert (hits["time"] == 0.0).any()
    np.testing.assert_array_equal(names, np.unique(names, axis=0))


@pytest.mark.compiled
def test_the_normal_of_a_contact_on_the_way_opened_the_gap_before_it():
    mesh = pile(8, 24, "crumpled")
    x_0, x_1 = mesh.vertices, stepped(mesh.vertices, "hit")
    hits = pliant.detector("continuous", mesh, within=0.0).update(x_1, start_a=x_0).find()
    hits = hits[hits["time"] > 0.0]
    x = x_0 + hits["time"][:, None, None] * 0.999 * (x_1 - x_0)
    before = np.einsum("ij,ijk->ik", hits["weights"], x[np.arange(len(hits))[:, None], hits["vertices"]])
    assert len(hits) > 20
    assert (np.einsum("ij,ij->i", before, hits["normal"]) > 0.0).all()


@pytest.mark.parametrize("body", [octahedron, functools.partial(box, (0.6, 0.02, 0.6)), lambda: sheet(4)])
def test_a_pair_that_touches_at_the_start_has_a_normal(body):
    mesh = body()
    on = mesh.vertices[mesh.faces[0]].mean(0)
    point = Mesh(on[None], np.zeros((0, 3), int))
    out = mesh.face_normals[0]
    for way in (-0.3, 0.3):
        hits = pliant.detector("continuous", point, mesh, within=0.0).update(on[None] + way * out, start_a=on[None])
        found = hits.find()
        found = found[(found["kind"] == VERTEX_FACE) & (found["elements"][:, 1] == 0)]
        side = 1.0 if mesh.issues.closed or way > 0.0 else -1.0
        np.testing.assert_allclose(found["normal"], [side * out], atol=1e-9)
        np.testing.assert_allclose(found["distance"], [way * side], atol=1e-9)


def names(hit):
    """Kind, bodies and elements of a record."""
    return [hit["kind"], *hit["bodies"], *hit["elements"]]


@pytest.mark.compiled
def test_the_normals_of_both_solvers_are_on_the_side_where_a_pair_started(rng):
    for _ in range(20):
        mesh = Mesh(rng.normal(size=(3, 3)), [[0, 1, 2]])
        start = mesh.vertices.mean(0) + 0.1 * rng.normal(size=(3, 3)) + mesh.face_normals[0]
        end = start - rng.uniform(1.5, 3.0) * mesh.face_normals[0]
        detector = functools.partial(pliant.detector, "continuous", Mesh(start, [[0, 1, 2]]), mesh, within=0.0)
        sure, cubic = (detector(solver=s).update(end, start_a=start).find() for s in ("conservative", "cubic"))
        assert 0 < len(cubic) <= len(sure)
        assert (cubic["distance"] < 0.0).all()
        normals = {tuple(names(hit)): hit["normal"] for hit in sure}
        np.testing.assert_allclose(cubic["normal"], [normals[tuple(names(hit))] for hit in cubic], atol=1e-6)


@pytest.mark.parametrize("turned", [0.0, 0.3])
@pytest.mark.parametrize("swap", [False, True])
def test_an_edge_that_touches_an_edge_of_a_solid_at_the_start_has_the_outward_normal(turned, swap):
    body = box((0.6, 0.6, 0.6))
    corner = np.array([0.3, 0.3, 0.0])
    along = np.array([turned, -turned, 0.1])
    third = corner + np.array([1.0, 1.0, 0.0])
    mesh = Mesh(np.array([corner - along, corner + along, third]), [[0, 1, 2]])
    end = mesh.vertices - (0.1, 0.1, 0.0)
    if swap:
        found = pliant.detector("continuous", body, mesh, within=0.0).update(x_b=end, start_b=mesh.vertices).find()
    else:
        found = pliant.detector("continuous", mesh, body, within=0.0).update(end, start_a=mesh.vertices).find()
    found = found[(found["kind"] == EDGE_EDGE) & (found["time"] == 0.0)]
    sign = -1.0 if swap else 1.0
    found = found[np.abs(np.einsum("ij,j->i", found["normal"], [1.0, 1.0, 0.0])) > 1.4]
    assert len(found) > 0
    assert (sign * found["normal"][:, :2] > 0.7).all()
    np.testing.assert_allclose(found["distance"], -0.1 * np.sqrt(2.0), atol=1e-9)


@pytest.mark.parametrize(("solver", "guarantee"), [("conservative", "A"), ("cubic", "C")])
def test_a_detector_states_the_class_of_its_solver(solver, guarantee):
    detector = ContinuousDetector(Side(sheet(2)), within=0.01, solver=solver)
    assert detector.guarantee == OffsetDetector(detector, 0.001).guarantee == guarantee
    assert np.isnan(detector.bounds).all() == (guarantee == "C")  # no error bound is stated


@pytest.mark.compiled
def test_edges_are_met_too():
    _, _, _, hits = through(body=box((0.02, 0.02, 3.0)))
    crossed = hits[(hits["kind"] == EDGE_EDGE) & (hits["time"] > 0.0)]
    assert len(crossed) > 0
    assert (crossed["distance"] < 0.0).any()
