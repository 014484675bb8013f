"""Curves along which surfaces cut each other: how many, whether they close, how long, whatever the numbering."""

import numpy as np
import pytest

import pliant
from pliant import Mesh, shapes
from pliant.audit.contours import contours
from pliant.kernels.jit import COMPILED

FINE = 3 if COMPILED else 2


def curves(a: Mesh, b: Mesh | None = None):
    pairs = pliant.intersections(a, b)
    one, two = a.welded, None if b is None else b.welded
    if two is None:
        return contours(one.vertices, one.topology, pairs)
    return contours(one.vertices, one.topology, pairs, two.vertices, two.topology)


def at(mesh: Mesh, *place: float) -> Mesh:
    return mesh.moved(mesh.vertices + place)


def soup(mesh: Mesh) -> Mesh:
    """Every triangle with vertices of its own, as STL has them."""
    return Mesh(mesh.vertices[mesh.faces].reshape(-1, 3), np.arange(3 * mesh.n_faces).reshape(-1, 3))


def bow(n: int = 24, rows: int = 4) -> Mesh:
    """A strip of width 1 along z over the curve (t^3 - t, t^2), which meets itself once, at (0, 1)."""
    t, z = np.meshgrid(np.linspace(-1.2, 1.2, n), np.linspace(0.0, 1.0, rows), indexing="ij")
    x = np.stack([t**3 - t, t**2, z], 2).reshape(-1, 3)
    index = np.arange(n * rows).reshape(n, rows)
    a, b, c, d = (index[i : n - 1 + i, j : rows - 1 + j].ravel() for i, j in ((0, 0), (0, 1), (1, 0), (1, 1)))
    return Mesh(x, np.concatenate([np.stack([a, c, b], 1), np.stack([b, c, d], 1)]))


def test_two_balls_meet_in_one_circle():
    ball = shapes.ball(1.0, FINE)
    found = curves(ball, at(ball, 1.0, 0.01, 0.02))
    assert found.closed.tolist() == [True]
    assert found.lengths[0] == pytest.approx(2.0 * np.pi * np.sqrt(0.75), rel=0.02 if COMPILED else 0.06)


def test_a_ring_through_a_ball_leaves_two_closed_curves():
    found = curves(shapes.torus(0.3, 0.1), at(shapes.ball(0.2, 2), 0.3, 0.003, 0.001))
    assert found.closed.tolist() == [True, True]
    assert found.lengths.min() > 2.0 * np.pi * 0.09


def test_a_sheet_through_a_ball_cuts_a_circle_and_one_that_ends_inside_cuts_an_open_curve():
    sheet, ball = shapes.cloth(2.0, 2.0, 13), shapes.ball(0.5, FINE)
    whole = curves(at(sheet, 0.001, 0.011, 0.002), ball)
    part = curves(at(sheet, 0.997, 0.011, 0.002), ball)
    assert (whole.closed.tolist(), part.closed.tolist()) == ([True], [False])
    assert whole.lengths[0] == pytest.approx(np.pi, rel=0.05)
    assert part.lengths[0] == pytest.approx(np.pi / 2, rel=0.1)


def test_a_strip_that_crosses_itself_has_one_open_curve_as_long_as_it_is_wide():
    found = curves(bow())
    assert found.closed.tolist() == [False]
    assert found.lengths[0] == pytest.approx(1.0, rel=1e-3)


def test_segments_of_a_curve_begin_where_others_end():
    found = curves(shapes.torus(0.3, 0.1), at(shapes.ball(0.2, 2), 0.3, 0.003, 0.001))
    ends = np.round(found.ends.reshape(-1, 3), 9)
    assert (np.unique(ends, axis=0, return_counts=True)[1] == 2).all()


@pytest.mark.parametrize("pair", ["bow", "balls"])
def test_vertices_split_at_seams_change_nothing(pair):
    ball = shapes.ball(0.5, 2)
    a, b = (bow(), None) if pair == "bow" else (ball, at(ball, 0.4, 0.01, 0.02))
    plain, split = curves(a, b), curves(soup(a), None if b is None else soup(b))
    assert np.array_equal(plain.label, split.label)
    assert np.array_equal(plain.closed, split.closed)
    assert np.allclose(plain.lengths, split.lengths, rtol=1e-12)


def test_new_numbers_another_place_and_another_size_change_only_the_unit(rng):
    a, b = shapes.torus(0.3, 0.1), at(shapes.ball(0.2, 2), 0.3, 0.003, 0.001)
    plain = curves(a, b)
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    turn *= np.sign(np.linalg.det(turn))

    def other(mesh: Mesh) -> Mesh:
        rank = rng.permutation(mesh.n_vertices)
        x = np.empty_like(mesh.vertices)
        x[rank] = 3.0 * mesh.vertices @ turn.T + (1.0, -2.0, 0.5)
        return Mesh(x, rank[mesh.faces][rng.permutation(mesh.n_faces)])

    moved = curves(other(a), other(b))
    assert moved.closed.tolist() == plain.closed.tolist()
    assert np.sort(moved.lengths) == pytest.approx(3.0 * np.sort(plain.lengths), rel=1e-9)


def test_numbers_of_one_mesh_are_not_those_of_the_other():
    cross = np.array([[0.2, -0.5, 0.2], [0.2, 0.5, 0.1], [0.25, 0.5, 0.6]])
    flat = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    # two cuts apart; each goes through face 0 of one mesh and face 1 of the other, so all numbers are the same
    aside = np.array([5.0, 0.0, 0.0])
    a = Mesh(np.concatenate([flat, cross + aside]), [[0, 1, 2], [3, 4, 5]])
    b = Mesh(np.concatenate([flat + aside, cross]), [[0, 1, 2], [3, 4, 5]])
    found = curves(a, b)
    assert (len(found.label), found.n_curves) == (2, 2)


def test_many_pairs_are_the_same_in_blocks(monkeypatch):
    a, b = shapes.torus(0.3, 0.1), at(shapes.ball(0.2, 2), 0.3, 0.003, 0.001)
    whole, own = curves(a, b), curves(bow())
    monkeypatch.setattr("pliant.audit.contours.BLOCK", 7)
    for one, two in ((whole, curves(a, b)), (own, curves(bow()))):
        assert all(np.array_equal(*pair) for pair in zip(one, two))


def test_what_does_not_meet_has_no_curves():
    ball = shapes.ball(0.5, 1)
    found = curves(ball, at(ball, 3.0, 0.0, 0.0))
    assert (found.n_curves, len(found.label), len(found.lengths)) == (0, 0, 0)


def test_triangles_that_only_touch_are_a_curve_without_length():
    flat = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    tip = np.array([[0.2, 0.0, 0.2], [0.2, 1.0, 0.0], [0.0, 1.0, 0.3]])
    found = curves(Mesh(flat, [[0, 1, 2]]), Mesh(tip, [[0, 1, 2]]))
    assert found.n_curves == 1
    assert found.lengths[0] == pytest.approx(0.0, abs=1e-12)
