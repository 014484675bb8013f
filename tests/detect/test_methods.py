"""Every method by its flags on the same scenes, judged by the exact surface; and the door they all share."""

import numpy as np
import pytest

import pliant
from detect.made import box, octahedron, sheet, spiky_star
from pliant.contacts import MIDPOINT_FIELD, VERTEX_FACE, VERTEX_FIELD, gap
from pliant.detect import METHODS
from pliant.detect.base import Finds, Reports
from pliant.detect.queries.closest_point import ClosestPoints

SCENES = {
    "cloth on a ball": lambda rng: (sheet(12, 2.4, 0.95, 0.05, rng), octahedron(2), 0.15),
    "cloth through a box": lambda rng: (sheet(10, 1.4, 0.45, 0.05, rng), box(), 0.1),
    "cloth on spikes": lambda rng: (sheet(12, 3.0, 1.0, 0.3, rng), spiky_star(2.0), 0.2),
    "cloth on an open sheet": lambda rng: (sheet(10, 0.7, 0.05, 0.05, rng), sheet(5), 0.1),
}
NEAR = [n for n, m in METHODS.items() if m.finds & Finds.OBSTACLE and m.reports is not Reports.INSIDE]
obstacles = pytest.mark.parametrize("method", NEAR)
scenes = pytest.mark.parametrize("name", SCENES)


@obstacles
@pytest.mark.compiled
@scenes
def test_every_vertex_that_is_near_is_found_and_none_that_is_not(method, name, rng):
    cloth, body, within = SCENES[name](rng)
    truth = ClosestPoints(body).query(cloth.vertices)[0]
    detector = pliant.detector(method, cloth, body, within=within)
    hits = detector.find()
    of_cloth = (hits["bodies"][:, 0] == 0) & np.isin(hits["kind"], [VERTEX_FACE, VERTEX_FIELD])
    found = np.zeros(cloth.n_vertices, bool)
    found[hits["elements"][of_cloth, 0]] = True
    own, bounds = detector._detector, detector._detector.bounds
    if own.guarantee == "A" or np.isnan(bounds).any():  # without a bound, they are complete on such small scenes
        unsigned = not body.issues.closed
        near = (np.abs(truth) if unsigned else truth) <= within
        np.testing.assert_array_equal(found, near)
        return
    if own.views:  # what is inside is found; what only the axes cannot look into may be found too
        assert not (~found & (truth < -bounds[0])).any()
        if name != "cloth on spikes":
            assert not (found & (truth > np.sqrt(3) * (within + 3 * bounds[0]))).any()
            assert (found & (truth > 0.5 * within)).any()
        return
    if not own.finds_deep:  # by the distance alone, whichever side it is
        near = np.abs(truth) <= within - bounds[0]
        assert near.any()
        assert not (near & ~found).any()
        assert not (found & (np.abs(truth) > within)).any()
        return
    field, bound = own.field, bounds[0]
    assert bound <= 0.8661 * field.spacing
    covered = np.abs(truth) < (field.band - 1.733) * field.spacing
    assert (own.covers(truth) >= covered).all()
    if not body.issues.closed:
        covered &= ~np.isnan(field.sample(cloth.vertices)[0])
    assert not (found & (truth > within + bound)).any()
    assert not (~found & covered & (truth <= within - bound)).any()


@obstacles
@scenes
@pytest.mark.compiled
def test_every_contact_keeps_the_promises_of_the_record(method, name, rng):
    cloth, body, within = SCENES[name](rng)
    hits = pliant.detector(method, cloth, body, within=within).find()
    x = np.concatenate([cloth.vertices, body.vertices])
    along = np.einsum("ij,ij->i", gap(hits, x), hits["normal"])
    assert len(hits) > 10
    assert np.abs(along - hits["distance"]).max() <= 1e-14
    assert np.abs(np.linalg.norm(hits["normal"], axis=1) - 1).max() <= 1e-12
    field = np.isin(hits["kind"], [VERTEX_FIELD, MIDPOINT_FIELD])
    assert np.abs(hits["weights"].sum(1) - field).max() <= 1e-15


@obstacles
@pytest.mark.compiled
def test_an_update_is_a_fresh_detector(method, rng):
    cloth, body, within = SCENES["cloth on a ball"](rng)
    x = cloth.vertices + 0.05
    fresh = pliant.detector(method, cloth.moved(x), body, within=within).find()
    kept = pliant.detector(method, cloth, body, within=within).update(x).find()
    vertices = lambda hits: hits[np.isin(hits["kind"], [VERTEX_FACE, VERTEX_FIELD])]  # noqa: E731
    np.testing.assert_array_equal(vertices(fresh)["elements"], vertices(kept)["elements"])


@obstacles
@pytest.mark.compiled
def test_the_midpoint_of_an_edge_counts_where_its_ends_do_not(method):
    ridge = box((0.1, 0.1, 4.0))
    cloth = pliant.Mesh([[-0.5, 0.051, 0.0], [0.5, 0.051, 0.0], [0.0, 0.6, 0.5]], [[0, 1, 2]])
    hits = pliant.detector(method, cloth, ridge, within=0.01).find()
    assert len(hits) > 0
    assert (hits["distance"] > 0).all()


@pytest.mark.compiled
def test_a_body_smaller_than_the_distance_still_shows_its_shape():
    ball = octahedron(1)
    small = pliant.Mesh(ball.vertices * 0.05, ball.faces)
    point = pliant.Mesh([[0.0, 0.4, 0.0]], np.zeros((0, 3), int))
    hits = pliant.detector("distance-field", point, small, within=0.5).find()
    assert hits["distance"] == pytest.approx([0.35], abs=0.0125)


@pytest.mark.compiled
def test_a_field_follows_an_obstacle_whose_vertices_move():
    cloth, body = sheet(2, height=0.6), box()
    detector = pliant.detector("distance-field", cloth, body, within=0.2)
    before = detector.update(cloth.vertices, body.vertices).find()
    away = np.array([0.0, 0.05, 0.0])
    after = detector.update(cloth.vertices, body.vertices + away).find()
    over = (before["elements"][:, 0] == after["elements"][:, 0]) & (before["normal"][:, 1] > 0.999)
    assert over.any()
    np.testing.assert_allclose(after["distance"][over], before["distance"][over] - 0.05, atol=1e-3)


def test_methods_that_cannot_find_self_contact_say_which_can():
    able = [name for name, method in METHODS.items() if method.finds & Finds.SELF]
    for name in METHODS.keys() - set(able):
        with pytest.raises(ValueError, match=rf"does not find self-contact; one of: {', '.join(able)}"):
            pliant.detector(name, sheet(2))


def test_an_unknown_method_is_named_with_the_known_ones():
    with pytest.raises(ValueError, match="unknown method 'brute-froce'; did you mean 'brute-force'"):
        pliant.find_contacts(sheet(2), method="brute_froce")


def test_every_method_says_what_it_finds_and_promises():
    for name, method in METHODS.items():
        assert name == method.name
        assert method.guarantee in "ABC"
        assert method.finds
        assert all((method.needs, method.gives, method.source))
