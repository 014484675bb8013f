"""The detector by hashed cells on bodies of tets: what is inside is found, what touches nothing is not."""

import numpy as np
import pytest

import pliant
from detect.test_tet_hash import brute
from pliant.contacts import VERTEX_FACE, gap
from pliant.detect.base import Side
from pliant.detect.detectors.spatial_hash import SpatialHashDetector
from pliant.detect.queries.closest_point import ClosestPoints
from pliant.state import State

DEPTHS = pytest.mark.parametrize("depth", ["consistent", "nearest"])


def two_bars(shift=(0.31, 0.04, 0.03)):
    one = pliant.shapes.bar((0.4, 0.1, 0.1), (8, 2, 2))
    return one, pliant.shapes.bar((0.4, 0.1, 0.1), (7, 3, 2), centre=shift)


def curled(turn=5.5):
    """A bar rolled up until its ends overlap."""
    bar = pliant.shapes.bar((1.2, 0.1, 0.1), (24, 2, 2))
    angle, r = bar.vertices[:, 0] * turn, 0.16 + bar.vertices[:, 1]
    return bar, np.stack([r * np.sin(angle), -r * np.cos(angle), bar.vertices[:, 2]], 1)


@DEPTHS
@pytest.mark.compiled
def test_of_two_bodies_exactly_the_vertices_inside_the_other_have_a_contact(depth):
    a, b = two_bars()
    hits = pliant.detector("spatial-hash", a, b, depth=depth).find()
    for one, other, body in ((a, b, 0), (b, a, 1)):
        inside = np.flatnonzero(ClosestPoints(other.surface).query(one.vertices)[0] <= 0.0)
        assert len(inside) > 0
        np.testing.assert_array_equal(np.unique(hits["elements"][hits["bodies"][:, 0] == body, 0]), inside)


@DEPTHS
@pytest.mark.compiled
def test_contacts_are_the_same_for_every_hash_function_and_table(depth):
    bar, x = curled()
    wanted = pliant.detector("spatial-hash", bar, depth=depth).update(x).find()
    assert len(wanted) > 10
    for options in ({"hash": "xor"}, {"hash": "xor", "table": 5, "cell": 0.02}, {"table": 64}):
        found = pliant.detector("spatial-hash", bar, depth=depth, **options).update(x).find()
        assert found.tobytes() == wanted.tobytes()


def test_options_of_the_table_are_refused_where_they_have_no_use_or_no_sense():
    bar, ball = pliant.shapes.bar(), pliant.shapes.ball(0.1)
    for wrong in ({"cell": 0.1}, {"table": 64}, {"hash": "xor"}, {"depth": "nearest"}):
        with pytest.raises(ValueError, match=f"{next(iter(wrong))} = .* applies to tets, and there are none in"):
            pliant.detector("spatial-hash", bar, ball, **wrong)
    for wrong in ({"table": 0}, {"table": 2**40}, {"hash": "sum"}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            pliant.detector("spatial-hash", bar, **wrong)
    with pytest.raises(ValueError, match="a table of 1000000 buckets needs 15"):
        pliant.detector("spatial-hash", bar, table=1_000_000, max_bytes=1e6)


@DEPTHS
@pytest.mark.compiled
def test_contacts_keep_the_promises_of_the_record(depth):
    a, b = two_bars()
    x = np.concatenate([a.vertices, b.vertices])
    hits = pliant.detector("spatial-hash", a, b, depth=depth).find()
    assert set(hits["kind"]) == {VERTEX_FACE}
    assert (hits["distance"] <= 0.0).all()
    assert np.abs(np.einsum("ij,ij->i", gap(hits, x), hits["normal"]) - hits["distance"]).max() <= 1e-14
    assert np.abs(np.linalg.norm(hits["normal"], axis=1) - 1.0).max() <= 1e-12
    assert np.abs(hits["weights"].sum(1)).max() <= 1e-14


@pytest.mark.compiled
def test_the_nearest_depth_is_the_distance_from_the_surface():
    a, b = two_bars()
    hits = pliant.detector("spatial-hash", a, b, depth="nearest").find()
    rows = hits["bodies"][:, 0] == 0
    truth = ClosestPoints(b.surface).query(a.vertices[hits["elements"][rows, 0]])[0]
    assert hits["distance"][rows] == pytest.approx(truth, abs=1e-15)


@DEPTHS
@pytest.mark.compiled
def test_a_body_meets_itself_where_its_ends_overlap_and_nowhere_else(depth):
    bar, x = curled()
    detector = pliant.detector("spatial-hash", bar, depth=depth)
    assert len(detector.find()) == 0
    hits = detector.update(x).find()
    np.testing.assert_array_equal(np.unique(hits["vertices"][:, 0]), np.unique(brute(x, bar.tets)[:, 0]))
    assert (np.abs(bar.vertices[hits["vertices"][:, 0], 0]) > 0.4).all()
    # the other end, not the faces beside the vertex
    assert (bar.vertices[hits["vertices"][:, 0], 0] * bar.vertices[hits["vertices"][:, 1], 0] < 0.0).all()


def test_vertices_split_at_seams_are_one():
    a, b = two_bars()
    corners = np.arange(len(a.tets) * 4).reshape(-1, 4)
    one_of = np.unique(a.tets.ravel(), return_index=True)[1]
    split = pliant.Mesh(a.vertices[a.tets].reshape(-1, 3), one_of[a.faces], corners)
    assert len(SpatialHashDetector(Side(split), within=0.0).inside()) == 0
    whole = SpatialHashDetector(Side(a), Side(b, a.n_vertices, 1), within=0.0)
    parts = SpatialHashDetector(Side(split), Side(b, split.n_vertices, 1), within=0.0)
    one, other = whole.inside(), parts.inside()
    assert len(one) == len(other) > 0
    np.testing.assert_array_equal(np.sort(one[:, 1]), np.sort(other[:, 1]))


@pytest.mark.compiled
def test_a_soft_body_on_a_surface_without_tets_is_found_by_its_distance():
    bar, ground = pliant.shapes.bar(), pliant.shapes.box((2.0, 0.1, 2.0), centre=(0.0, -0.105, 0.0))
    below = np.flatnonzero(bar.vertices[:, 1] < -0.049)
    hits = pliant.detector("spatial-hash", bar, ground, within=0.01).find()
    own = (hits["bodies"][:, 0] == 0) & (hits["kind"] == VERTEX_FACE)
    np.testing.assert_array_equal(np.unique(hits["elements"][own, 0]), below)
    assert hits["distance"][own] == pytest.approx(0.005)


@pytest.mark.compiled
def test_soft_bodies_are_kept_apart_by_it_in_a_simulation():
    bodies = [
        pliant.Body(pliant.shapes.bar((0.2, 0.2, 0.2), 3, centre=(0.0, 0.1 + 0.19 * k, 0.0)), material=pliant.Solid())
        for k in range(2)
    ]
    scene = pliant.Scene(bodies, gravity=(0.0, 0.0, 0.0), eps=0.002, self_contact="push")
    sim = pliant.Simulation(scene, substeps=8, self_method="spatial-hash")
    seen = SpatialHashDetector(Side(bodies[0].mesh.welded), Side(bodies[1].mesh.welded, 64, 1), within=0.0)
    deep = lambda: -seen.update(sim.state).find(sim.state)["distance"].min(initial=0.0)  # noqa: E731
    assert deep() == pytest.approx(0.01, rel=1e-3)
    for _ in sim.run(frames=20):
        pass
    assert deep() < 1e-4


def test_what_cannot_be_is_explained():
    a, b = two_bars()
    with pytest.raises(ValueError, match="unknown depth 'deep'"):
        pliant.detector("spatial-hash", a, b, depth="deep")
    with pytest.raises(ValueError, match="cell = 0"):
        pliant.detector("spatial-hash", a, b, cell=0.0)
    flat = SpatialHashDetector(Side(a.surface), within=0.1)
    with pytest.raises(ValueError, match="a side without tets contains no vertices"):
        flat.update(State.at(a.surface.vertices)).inside()
