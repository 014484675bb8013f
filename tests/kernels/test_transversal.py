"""Triangles that meet either cross or touch: exact, by the judgement of fractions."""

from fractions import Fraction

import numpy as np
import pytest

from conftest import cases
from pliant.detect.queries.transversal import crossing, crossing_segments
from pliant.kernels.jit import COMPILED

MANY = cases(1000 if COMPILED else 200)
ONE = np.array([[0, 1, 2]], np.int32)


def minus(a, b):
    return [p - q for p, q in zip(a, b)]


def cross(a, b):
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def dot(a, b):
    return sum(p * q for p, q in zip(a, b))


def interval(corners, normal, origin, line):
    """What a triangle has of a line in a plane, along the line; None where it is not on both sides of the plane."""
    d = [dot(normal, minus(corner, origin)) for corner in corners]
    if not min(d) < 0 < max(d):
        return None
    met = [dot(line, corner) for corner, side in zip(corners, d) if side == 0]
    for i, j in ((0, 1), (1, 2), (2, 0)):
        if d[i] * d[j] < 0:
            s = d[i] / (d[i] - d[j])
            met.append(dot(line, [p + s * (q - p) for p, q in zip(corners[i], corners[j])]))
    return min(met), max(met)


def cross_exactly(p, q) -> bool:
    a, b = ([[Fraction(float(v)) for v in corner] for corner in t] for t in (p, q))
    n, m = (cross(minus(t[1], t[0]), minus(t[2], t[0])) for t in (a, b))
    line = cross(n, m)
    one, two = interval(a, m, b[0], line), interval(b, n, a[0], line)
    return one is not None and two is not None and max(one[0], two[0]) < min(one[1], two[1])


def test_small_whole_numbers_with_every_degeneracy_are_told_as_fractions_tell_them(rng):
    both = rng.integers(-2, 3, (MANY, 2, 3, 3)).astype(float)
    expected = [cross_exactly(*pair) for pair in both]
    assert 0.1 < np.mean(expected) < 0.9
    assert [bool(crossing(p, ONE, q, ONE, [[0, 0]], aligned=False)[0]) for p, q in both] == expected


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e8])
def test_random_triangles_of_every_size_far_from_the_origin_too(rng, size):
    count = max(MANY // 4, 40)
    both = size * (rng.normal(size=(count, 2, 3, 3)) + rng.choice([0.0, 1e3], (count, 1, 1, 1)))
    expected = [cross_exactly(*pair) for pair in both]
    assert any(expected)
    assert [bool(crossing(p, ONE, q, ONE, [[0, 0]], aligned=False)[0]) for p, q in both] == expected


def test_a_corner_that_is_lifted_by_one_bit_decides():
    flat = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    upright = np.array([[0.25, 0.0, 0.25], [0.25, 1.0, 0.25], [0.3, 1.0, 0.3]])
    assert not crossing(flat, ONE, upright, ONE, [[0, 0]]).any()
    upright[0, 1] = -5e-324
    assert crossing(flat, ONE, upright, ONE, [[0, 0]]).all()


def test_a_surface_that_passes_exactly_along_an_edge_crosses():
    flat = np.array([[-1.0, 0.0, -1.0], [1.0, 0.0, -1.0], [0.0, 0.0, 2.0]])
    wall = np.array([[-0.2, 0.0, 0.0], [0.2, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, -1.0, 0.0]])
    faces = np.array([[0, 1, 2], [1, 0, 3]])
    assert crossing(flat, ONE, wall, faces, [[0, 0], [0, 1]]).all()
    assert not crossing(flat, ONE, wall, faces, [[0, 0]]).any()  # the upper one alone stands on it
    assert not crossing(flat, ONE, wall, faces, [[0, 0], [0, 1]], aligned=False).any()


def test_the_segment_in_which_triangles_cross_lies_in_both_and_is_as_long_as_their_overlap():
    rng = np.random.default_rng(7)
    seen = 0
    for _ in range(MANY):
        p, q = rng.normal(size=(2, 3, 3))
        if not crossing(p, ONE, q, ONE, [[0, 0]])[0]:
            continue
        seen += 1
        ends = crossing_segments(p, ONE, q, ONE, np.array([[0, 0]]))[0]
        normals = [np.cross(t[1] - t[0], t[2] - t[0]) for t in (p, q)]
        line = np.cross(*normals)
        for triangle, normal in zip((p, q), normals):
            assert np.abs((ends - triangle[0]) @ normal).max() < 1e-9
            inside = [np.cross(triangle[k] - triangle[k - 1], ends - triangle[k - 1]) @ normal for k in range(3)]
            assert np.min(inside) > -1e-9
        met = [
            interval(t.tolist(), list(n), list(o[0]), list(line))
            for t, n, o in ((p, normals[1], q), (q, normals[0], p))
        ]
        overlap = min(high for _, high in met) - max(low for low, _ in met)
        assert (ends[1] - ends[0]) @ line == pytest.approx(overlap, abs=1e-9)
    assert seen > (10 if COMPILED else 0)


def test_a_triangle_that_touches_along_an_edge_has_that_edge_as_its_segment():
    p = np.array([[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 4.0, 0.0]])
    q = np.array([[0.5, 1.0, 0.0], [1.5, 1.0, 0.0], [1.0, 1.0, 1.0]])
    ends = crossing_segments(p, ONE, q, ONE, np.array([[0, 0]]))[0]
    assert sorted(ends.tolist()) == [[0.5, 1.0, 0.0], [1.5, 1.0, 0.0]]
