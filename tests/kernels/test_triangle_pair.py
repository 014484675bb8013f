"""Pairs of triangles: every case of the reliability notes, then grids full of touching ones against exact clipping."""

import itertools

import numpy as np
import pytest

import naive
from conftest import cases
from pliant.kernels.geometry.triangle_pair import (
    faces_intersect,
    segment_meets_triangle,
    segments_meet,
    triangles_intersect,
    triangles_intersect_beyond_edge,
    triangles_intersect_beyond_vertex,
)
from pliant.kernels.jit import COMPILED

MANY = cases(3000 if COMPILED else 300)
A, B, C = T = ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0))

PAIRS = {
    "identical": (T, True),
    "coplanar overlap": (((0.2, 0.2, 0.0), (0.8, 0.2, 0.0), (0.2, 0.8, 0.0)), True),
    "coplanar contained": (((0.1, 0.1, 0.0), (0.3, 0.1, 0.0), (0.1, 0.3, 0.0)), True),
    "coplanar touching at a vertex": (((1.0, 0.0, 0.0), (2.0, 0.0, 0.0), (1.0, 1.0, 0.0)), True),
    "coplanar apart": (((2.0, 0.0, 0.0), (3.0, 0.0, 0.0), (2.0, 1.0, 0.0)), False),
    "coplanar, boxes overlap, apart": (((0.6, 0.6, 0.0), (1.0, 0.6, 0.0), (0.6, 1.0, 0.0)), False),
    "vertex in the face": (((0.25, 0.25, 0.0), (0.25, 0.25, 1.0), (1.0, 1.0, 1.0)), True),
    "edge in the plane, crossing": (((-1.0, 0.25, 0.0), (2.0, 0.25, 0.0), (0.0, 0.25, 1.0)), True),
    "edge in the plane, outside": (((-1.0, 1.25, 0.0), (2.0, 1.25, 0.0), (0.0, 1.25, 1.0)), False),
    "edge on edge, different planes": (((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)), True),
    "piercing through a shared vertex": (((0.0, 0.0, 0.0), (0.4, 0.4, 0.5), (0.6, 0.3, -0.5)), True),
    "folded flat": (((1.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.2, 0.5, 0.0)), True),
    "segment piercing": (((0.25, 0.25, -1.0), (0.25, 0.25, 1.0), (0.25, 0.25, 0.0)), True),
    "segment beside": (((0.75, 0.75, -1.0), (0.75, 0.75, 1.0), (0.75, 0.75, 0.0)), False),
    "point in the face": (((0.25, 0.25, 0.0),) * 3, True),
    "point on the edge": (((0.5, 0.5, 0.0),) * 3, True),
    "point above": (((0.25, 0.25, 1e-17),) * 3, False),
    "just above": (((0.25, 0.25, 1e-17), (0.25, 0.25, 1.0), (1.0, 1.0, 1.0)), False),
    "just below": (((0.25, 0.25, -1e-17), (0.25, 0.25, 1.0), (1.0, 1.0, 1.0)), True),
    "opposite orientation": ((A, C, B), True),
}


@pytest.mark.parametrize("name", PAIRS)
def test_degenerate_pairs_are_judged_right(name):
    other, expected = PAIRS[name]
    found = {
        order(p, q)
        for p in itertools.permutations(T)
        for q in itertools.permutations(other)
        for order in (lambda p, q: triangles_intersect(*p, *q), lambda p, q: triangles_intersect(*q, *p))
    }
    assert found == {expected}


def grid_pairs(rng, count):
    """(count,6,3) on {-2..2}^3; half of them coplanar, touching or degenerate by construction."""
    x = rng.integers(-2, 3, (count, 6, 3)).astype(float)
    kind = rng.integers(0, 8, count)
    x[kind == 0, :, 2] = 0.0
    x[kind == 1, 3] = x[kind == 1, 0]
    x[kind == 2, 3] = 0.5 * (x[kind == 2, 0] + x[kind == 2, 1])
    x[kind == 3, 5] = x[kind == 3, 3]
    return x


def check_against_clipping(rows):
    hits = 0
    for row in naive.tuples(rows):
        found = triangles_intersect(*row)
        assert found == naive.triangles_intersect(row[:3], row[3:]), row
        hits += found
    assert 0.1 * len(rows) < hits < 0.9 * len(rows)


def test_pairs_on_a_small_grid_agree_with_exact_clipping(rng):
    check_against_clipping(grid_pairs(rng, MANY))


@pytest.mark.parametrize("scale", [1 / 3, 1e12 / 3, 1e-100 / 3])
def test_pairs_on_a_rounded_grid_agree_with_exact_clipping(rng, scale):
    check_against_clipping(grid_pairs(rng, MANY // 5) * scale)


def test_pairs_near_contact_agree_with_exact_clipping(rng):
    x = grid_pairs(rng, MANY // 5)
    check_against_clipping(x + rng.normal(size=x.shape) * 10.0 ** rng.uniform(-18, -14, (len(x), 1, 1)))


@pytest.mark.long
def test_many_pairs_on_a_small_grid_agree_with_exact_clipping(rng):
    check_against_clipping(grid_pairs(rng, cases(100_000)))


def test_segments_on_a_small_grid_agree_with_exact_distances(rng):
    for row in naive.tuples(rng.integers(-2, 3, (MANY // 3, 4, 3)) * rng.integers(0, 2, (MANY // 3, 1, 3))):
        assert segments_meet(*row) == (naive.edge_edge2(*row) == 0), row


def test_a_point_meets_a_triangle_exactly_when_its_distance_is_zero(rng):
    for p, a, b, c in naive.tuples(rng.integers(-1, 2, (MANY // 3, 4, 3))):
        assert segment_meets_triangle(p, p, a, b, c) == (naive.point_triangle2(p, a, b, c) == 0), (p, a, b, c)


def test_piercing_beside_a_shared_vertex_is_found():
    assert triangles_intersect_beyond_vertex(A, B, C, (0.4, 0.4, 0.5), (0.6, 0.3, -0.5))


def test_a_fan_around_a_shared_vertex_is_legal():
    assert not triangles_intersect_beyond_vertex(A, B, C, (-1.0, 0.0, 0.0), (0.0, -1.0, 0.5))


def test_a_hinge_is_legal_until_it_is_folded_flat():
    assert [triangles_intersect_beyond_edge(A, B, C, (0.2, 0.5, z)) for z in (1.0, 1e-17, 0.0)] == [False, False, True]


def test_a_flat_hinge_that_is_open_is_legal():
    assert not triangles_intersect_beyond_edge(A, B, C, (0.2, -0.5, 0.0))


def test_slivers_along_a_shared_edge_cross_only_beyond_the_same_end():
    beyond, further, before = (2.0, 0.0, 0.0), (3.0, 0.0, 0.0), (-1.0, 0.0, 0.0)
    assert triangles_intersect_beyond_edge(A, B, beyond, further)
    assert not triangles_intersect_beyond_edge(A, B, beyond, before)
    assert triangles_intersect_beyond_edge(A, A, beyond, further)
    assert not triangles_intersect_beyond_edge(A, A, beyond, C)


def test_pairs_sharing_a_vertex_agree_with_exact_clipping(rng):
    # near the shared vertex both are cones: they have more in common exactly when a far edge of one, pulled close
    # to the vertex, meets the other (nearer than anything else on the grid)
    for s, p, q, a, b in naive.tuples(rng.integers(-2, 3, (MANY, 5, 3))):
        near = [tuple(x + (y - x) / 1024.0 for x, y in zip(s, corner)) for corner in (p, q)]
        if naive.triangles_intersect([s, s, s], [near[0], near[1], near[1]]):
            continue
        expected = naive.triangles_intersect([near[0], near[1], near[1]], [s, a, b])
        assert triangles_intersect_beyond_vertex(s, p, q, a, b) == expected, (s, p, q, a, b)


def test_pairs_sharing_an_edge_agree_with_exact_clipping(rng):
    for a, b, c, d in naive.tuples(rng.integers(-2, 3, (MANY, 4, 3)) * rng.integers(0, 2, (MANY, 1, 3))):
        if not any(naive.cross(np.subtract(b, a), np.subtract(c, a))):
            continue
        # they have more in common exactly when a point just beside the middle of the edge, towards c, is in both
        middle = tuple((x + y) / 2.0 for x, y in zip(a, b))
        beside = tuple(x + (y - x) / 1024.0 for x, y in zip(middle, c))
        expected = naive.triangles_intersect([beside, beside, beside], [a, b, d])
        assert triangles_intersect_beyond_edge(a, b, c, d) == expected, (a, b, c, d)


@pytest.mark.parametrize(
    ("f", "g", "expected"),
    [
        ((0, 1, 2), (3, 4, 5), True),
        ((0, 1, 2), (0, 6, 7), True),
        ((2, 0, 1), (7, 6, 0), True),
        ((0, 1, 2), (0, 8, 9), False),
        ((0, 1, 2), (1, 0, 10), True),
        ((1, 2, 0), (10, 1, 0), True),
        ((0, 1, 2), (1, 0, 4), False),
        ((2, 0, 1), (4, 0, 1), False),
        ((0, 1, 2), (2, 1, 0), True),
        ((0, 1, 1), (0, 1, 2), False),
    ],
)
def test_faces_are_judged_by_what_they_share(f, g, expected):
    x = np.array(
        [
            *T,
            (0.25, 0.25, -1.0),
            (0.25, 0.25, 1.0),
            (1.0, 1.0, 1.0),
            (0.4, 0.4, 0.5),
            (0.6, 0.3, -0.5),
            (-1.0, 0.0, 0.0),
            (0.0, -1.0, 0.5),
            (0.2, 0.5, 0.0),
        ]
    )
    assert faces_intersect(x, f, g) == faces_intersect(x, g, f) == expected
