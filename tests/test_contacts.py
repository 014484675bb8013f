"""The one contact record: its gap is its distance, and its order is nobody's choice."""

import sys

import numpy as np
import pytest

import pliant
from pliant import contacts
from pliant.contacts import CONTACT, EDGE_EDGE, MIDPOINT_FIELD, VERTEX_FACE, VERTEX_FIELD

X = np.array([[0.25, 0.25, 0.5], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [-1.0, 0.5, 2.0], [1.0, 0.5, 2.0]])
Z = (0.0, 0.0, 1.0)


def record(kind, vertices, weights, normal=Z, anchor=(0.0, 0.0, 0.0), distance=0.0):
    one = contacts.empty(1)
    one["kind"] = kind
    one["vertices"][0, : len(vertices)] = vertices
    one["weights"][0, : len(weights)] = weights
    one["normal"], one["anchor"], one["distance"] = normal, anchor, distance
    return one


HAND = {
    "vertex over a face": record(VERTEX_FACE, (0, 1, 2, 3), (1, -0.5, -0.25, -0.25), distance=0.5),
    "edge over an edge": record(EDGE_EDGE, (4, 5, 1, 3), (0.5, 0.5, -0.5, -0.5), distance=2.0),
    "vertex in a field": record(VERTEX_FIELD, (0,), (1,), anchor=(0.25, 0.25, 0.75), distance=-0.25),
    "midpoint in a field": record(MIDPOINT_FIELD, (4, 5), (0.5, 0.5), anchor=(0.0, 0.5, 1.5), distance=0.5),
}


def random_contacts(rng: np.random.Generator, count: int) -> np.ndarray:
    """Distinct (kind, bodies, elements) with a serial number in `distance`."""
    many = contacts.empty(count)
    many["kind"] = rng.integers(0, 4, count)
    many["bodies"] = rng.integers(0, 3, (count, 2))
    many["elements"] = np.stack([rng.integers(0, 9, count), rng.permutation(count)], 1)
    many["distance"] = np.arange(count)
    return many


@pytest.mark.parametrize("name", HAND)
def test_the_gap_along_the_normal_is_the_distance(name: str) -> None:
    one = HAND[name]
    assert contacts.gap(one, X)[0] @ one["normal"][0] == one["distance"][0]


def test_the_gap_of_many_is_the_gap_of_each() -> None:
    together = contacts.gap(np.concatenate(list(HAND.values())), X)
    assert (together == np.concatenate([contacts.gap(one, X) for one in HAND.values()])).all()


def test_moving_everything_leaves_the_gap_between_two_sides(rng: np.random.Generator) -> None:
    one = HAND["edge over an edge"]
    assert contacts.gap(one, X + rng.normal(size=3)) == pytest.approx(contacts.gap(one, X))


def test_weights_of_unused_places_do_not_count() -> None:
    one = HAND["vertex in a field"].copy()
    one["weights"][0, 1:] = 7.0
    assert contacts.gap(one, X)[0, 2] == -0.25


def test_blank_records_use_nothing() -> None:
    blank = contacts.empty(3)
    assert blank.dtype == CONTACT
    assert (blank["vertices"] == -1).all()
    assert (blank["elements"] == -1).all()
    assert (blank["bodies"] == -1).all()
    assert (contacts.gap(blank, X) == 0.0).all()


def test_no_contacts_have_no_gaps() -> None:
    assert contacts.gap(contacts.empty(), X).shape == (0, 3)


def test_the_order_does_not_depend_on_the_order_found(rng: np.random.Generator) -> None:
    many = random_contacts(rng, 200)
    assert np.array_equal(contacts.sort(many), contacts.sort(many[rng.permutation(200)]))


def test_the_order_is_kind_then_bodies_then_elements(rng: np.random.Generator) -> None:
    out = contacts.sort(random_contacts(rng, 200))
    keys = [(int(c["kind"]), *c["bodies"].tolist(), *c["elements"].tolist()) for c in out]
    assert keys == sorted(keys)


@pytest.mark.parametrize("cuts", [[], [0], [200], [1, 1, 70]])
def test_parts_give_the_same_as_the_whole(rng: np.random.Generator, cuts: list[int]) -> None:
    many = random_contacts(rng, 200)
    assert np.array_equal(contacts.concatenate(np.split(many, cuts)), contacts.sort(many))


def test_nothing_joined_is_nothing() -> None:
    assert contacts.concatenate([]).shape == (0,)


def test_every_number_of_a_record_is_aligned() -> None:
    for name in CONTACT.names or ():
        field, offset = (CONTACT.fields or {})[name][:2]
        assert offset % field.base.itemsize == 0
    assert CONTACT.itemsize % 8 == 0


@pytest.mark.parametrize("library", ["pandas", "pyarrow"])
def test_contacts_become_a_table_of_a_library(library):
    pytest.importorskip(library)
    found = pliant.find_contacts(pliant.shapes.cloth(0.2, 0.2, 5), pliant.shapes.ball(0.1, 1), within=0.01)
    columns = pliant.contacts.table(found)
    for rows in (found, found[:0]):
        made = pliant.contacts.to_pandas(rows) if library == "pandas" else pliant.contacts.to_arrow(rows)
        assert len(made) == len(rows)
        assert list(columns) == list(made.columns if library == "pandas" else made.column_names)
        np.testing.assert_array_equal(np.asarray(made["distance"]), rows["distance"])
        assert list(made["kind"] if library == "pandas" else made["kind"].to_pylist()) == list(
            columns["kind"][: len(rows)]
        )


@pytest.mark.parametrize(("function", "library"), [("to_pandas", "pandas"), ("to_arrow", "pyarrow")])
def test_a_table_of_a_library_that_is_absent_says_which(function, library, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ImportError, match=f"contacts.{function} needs {library}, which is not installed: pip install"):
        getattr(pliant.contacts, function)(pliant.contacts.empty())


def test_contact_points_are_on_both_bodies_and_a_gap_apart():
    cloth, ball = pliant.shapes.cloth(0.2, 0.2, 7, centre=(0.0, 0.1, 0.0)), pliant.shapes.ball(0.1, 2)
    x = np.concatenate([cloth.vertices, ball.vertices])
    for method in ("bvh", "distance-field", "bone-boxes"):
        hits = pliant.find_contacts(cloth, ball, method=method, within=0.01)
        first, second = contacts.points(hits, x)
        assert len(hits) > 10
        np.testing.assert_allclose(first - second, contacts.gap(hits, x), atol=1e-15)
        near = {"bvh": 1e-12, "bone-boxes": 1e-12, "distance-field": 2e-3}[method]
        both = (hits["bodies"] == (0, 1)).all(1)
        assert np.abs(pliant.closest_point(ball, second[both])[0]).max() < near
        assert np.abs(first[both, 1] - 0.1).max() < 1e-12  # the flat cloth
    empty = contacts.points(contacts.empty(), x)
    assert [part.shape for part in empty] == [(0, 3), (0, 3)]


def test_the_nearest_record_of_each_vertex_is_its_depth() -> None:
    ball, box = pliant.shapes.ball(0.05, 3), pliant.shapes.box((1.0, 0.1, 1.0))
    ball = ball.moved(ball.vertices + np.array([0.0137, 0.0985, 0.02]))  # 1.5 mm deep in the upper side at y = 0.05
    for within in (0.0, 0.01, 0.05):
        nearest = contacts.nearest(pliant.find_contacts(ball, box, within=within))
        own = nearest[nearest["bodies"][:, 0] == 0]
        rows = own["vertices"][:, 0]
        assert len(np.unique(rows)) == len(rows)
        assert own["distance"].min() == pytest.approx(-0.0015, abs=1e-12)
        true = ball.vertices[rows, 1] - 0.05  # above the middle of a wide plate
        assert own["distance"] == pytest.approx(true, abs=1e-12)


def test_nearest_takes_the_first_of_equals_and_leaves_edges_out() -> None:
    many = np.concatenate([HAND["vertex over a face"]] * 3 + [HAND["edge over an edge"]])
    many["distance"][:3] = 0.5, -0.25, 0.25
    many["elements"][:3, 1] = 3, 4, 5
    assert contacts.nearest(many)["elements"][:, 1].tolist() == [4]
    assert len(contacts.nearest(many[:0])) == 0


def test_points_by_body_lie_on_their_bodies() -> None:
    plane, box = (
        pliant.shapes.cloth(1.0, 1.0, 4),
        pliant.shapes.box((0.2, 0.2, 0.2), (3, 3, 3), centre=(0.03, 0.101, 0.02)),
    )
    hits = pliant.find_contacts(plane, box, within=0.002)
    assert {0, 1} == set(hits["bodies"][:, 0].tolist())  # both orders
    on_plane, on_box = contacts.points(hits, np.concatenate([plane.vertices, box.vertices]), by_body=True)
    assert on_plane[:, 1] == pytest.approx(0.0, abs=1e-15)
    assert on_box[:, 1] == pytest.approx(0.001, abs=1e-12)


def test_nearest_is_the_first_touch_of_a_vertex_that_passes_through() -> None:
    many = np.concatenate([HAND["vertex over a face"]] * 3)
    many["time"], many["distance"], many["elements"][:, 1] = (0.8, 0.3, 0.0), (-0.01, -0.3, 0.001), (3, 4, 5)
    assert contacts.nearest(many)["elements"][:, 1].tolist() == [4]
