"""The referee of pairs agrees with every pair looked at alone."""

import numpy as np
import pytest

import pliant
from pliant.kernels.geometry.triangle_pair import triangles_intersect
from pliant_bench import referee


def test_boxes_that_touch_are_found_whatever_the_chunks(monkeypatch) -> None:
    monkeypatch.setattr(referee, "_CHUNK", 50)
    rng = np.random.default_rng(3)
    a, b = (rng.random((n, 1, 3)) + rng.uniform(-0.1, 0.1, (n, 3, 3)) for n in (70, 50))
    b[0] = a[0].max(0)  # touches in a corner
    low_a, high_a, low_b, high_b = a.min(1)[:, None], a.max(1)[:, None], b.min(1), b.max(1)
    expected = np.argwhere(((low_a <= high_b) & (low_b <= high_a)).all(2))
    found = referee.box_pairs(a, b)
    assert sorted(map(tuple, found.tolist())) == sorted(map(tuple, expected.tolist()))
    assert len(referee.box_pairs(a, b + 9.0)) == 0


def test_triangles_that_an_edge_passes_through_are_those_of_the_exact_predicate() -> None:
    rng = np.random.default_rng(4)
    x_a, x_b = rng.random((60, 3)), rng.random((60, 3))
    faces = np.arange(60).reshape(-1, 3)
    exact = [
        (i, j)
        for i in range(20)
        for j in range(20)
        if triangles_intersect(*map(tuple, x_a[faces[i]].tolist()), *map(tuple, x_b[faces[j]].tolist()))
    ]
    assert len(exact) > 20
    assert sorted(map(tuple, referee.crossings(x_a, faces, x_b, faces).tolist())) == exact


def test_a_fold_that_passes_through_a_sheet_is_counted_and_neighbours_are_not() -> None:
    mesh = pliant.shapes.cloth(1.0, 1.0, 5)
    assert referee.self_crossings(mesh.vertices, mesh.faces) == 0
    x = mesh.vertices.copy()
    x[[1, 5, 6], 1] = 0.2
    x[0] = (0.4, -0.1, -0.4)  # the corner comes over and down through the middle
    expected = sum(
        bool(triangles_intersect(*(tuple(x[v].tolist()) for v in (*f, *g))))
        for i, f in enumerate(mesh.faces)
        for g in mesh.faces[i + 1 :]
        if not set(f.tolist()) & set(g.tolist())
    )
    assert expected > 0
    assert referee.self_crossings(x, mesh.faces) >= expected


def test_pairs_that_differ_are_counted_and_edges_have_no_order() -> None:
    truth = (np.array([[0, 1], [2, 3]]), np.array([[4, 9], [5, 6]]))
    found = (np.array([[0, 1], [7, 7]]), np.array([[9, 4], [5, 6]]))
    assert referee.differ(found, truth) == {"vertex_face": 2, "edge_edge": 2, "missing": 1, "extra": 1}
    swapped = (np.array([[1, 0], [2, 3]]), truth[1])
    assert referee.differ(swapped, truth)["missing"] == 1


def test_all_pairs_of_two_triangles_leave_out_neighbours() -> None:
    mesh = pliant.Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 1]], [[0, 1, 2], [1, 3, 2]])
    vertex_face, edge_edge = referee.all_pairs(mesh)
    assert sorted(map(tuple, vertex_face.tolist())) == [(0, 1), (3, 0)]
    ends = {frozenset(map(tuple, mesh.topology.edges[pair].tolist())) for pair in edge_edge}
    assert ends == {frozenset({(0, 1), (2, 3)}), frozenset({(0, 2), (1, 3)})}
    assert referee.all_pairs(pliant.shapes.ball(1.0, 3)) is None


def test_the_first_impact_is_that_of_the_vertex_that_falls_through() -> None:
    x = np.array([[0, 0, 0], [1, 0, 0], [0, 0, 1], [0.2, 0.5, 0.2], [2, 0.5, 2], [2, 0.5, 3]], float)
    mesh = pliant.Mesh(x, [[0, 1, 2], [3, 4, 5]])
    y = x.copy()
    y[3, 1] = -1.5
    assert referee.first_impact(mesh, x, y, referee.all_pairs(mesh)) == pytest.approx(0.25, abs=1e-6)
    assert referee.first_impact(mesh, x, x, referee.all_pairs(mesh)) == 1.0
