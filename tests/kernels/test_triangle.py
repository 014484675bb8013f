"""Point and triangle: every degenerate case of the reliability notes, the exact oracle, exact twins, symmetries."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, seed, settings
from hypothesis import strategies as st

import naive
from conftest import SEED, cases
from pliant.kernels.geometry.triangle import (
    EDGE,
    FACE,
    VERTEX,
    closest_on_triangle,
    nearest2,
    normal,
    point_triangle_distance,
    solid_angle,
    unit_normal,
)
from pliant.kernels.jit import COMPILED
from pliant.mesh import Mesh

T = ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
OBTUSE = ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (-5.0, 1.0, 0.0))
EXAMPLES = cases(200 if COMPILED else 40)

number = st.one_of(st.integers(-2, 2).map(float), st.floats(-8.0, 8.0, width=32))
point = st.tuples(number, number, number)
four = st.tuples(point, point, point, point)


def magnitude(*points):
    return float(np.abs(points).max())


@pytest.mark.parametrize(
    ("p", "triangle", "distance"),
    [
        ((1.0, 2.0, 4.0), ((1.0, 2.0, 3.0),) * 3, 1.0),
        ((1.5, 1.0, 0.0), ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (2.0, 0.0, 0.0)), 1.0),
        ((0.25, 1e-10, 1.0), ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.5, 1e-9, 0.0)), 1.0),
        ((0.25e-170, 0.25e-170, 1e-170), tuple(tuple(1e-170 * x for x in v) for v in T), 1e-170),
        ((0.25e150, 0.25e150, 1e150), tuple(tuple(1e150 * x for x in v) for v in T), 1e150),
        ((2.0, -1.0, 0.0), OBTUSE, math.sqrt(2.0)),
        ((-2.0, -1.0, 0.0), OBTUSE, 7.0 / math.sqrt(26.0)),
        ((-1.0, -1.0, 0.0), OBTUSE, 6.0 / math.sqrt(26.0)),
        ((1.0, 0.0, 0.0), T, 0.0),
        ((0.5, 0.5, 0.0), T, 0.0),
        ((0.5, 0.5, 0.0), ((1.0, 0.0, 0.0), (1.0, 1.0, 0.0), (0.0, 1.0, 0.0)), 0.0),
        ((0.25, 0.25, 0.0), T, 0.0),
        ((1.0, 0.0, 0.0), ((0.0, 0.0, 0.0), (0.5, 0.0, 0.0), (0.25, 2.0**-48, 0.0)), 0.5),
    ],
)
def test_degenerate_triangles_have_the_true_distance(p, triangle, distance):
    assert point_triangle_distance(p, *triangle) == pytest.approx(distance, rel=1e-14, abs=0.0)


@pytest.mark.parametrize(
    ("p", "feature", "weights"),
    [
        ((0.25, 0.25, 3.0), FACE, (0.5, 0.25, 0.25)),
        ((0.25, 0.25, 0.0), FACE, (0.5, 0.25, 0.25)),
        ((-1.0, -1.0, 2.0), VERTEX, (1.0, 0.0, 0.0)),
        ((2.0, 0.5, 0.0), VERTEX + 1, (0.0, 1.0, 0.0)),
        ((0.0, 4.0, 1.0), VERTEX + 2, (0.0, 0.0, 1.0)),
        ((0.25, -1.0, 1.0), EDGE, (0.75, 0.25, 0.0)),
        ((1.0, 1.0, 1.0), EDGE + 1, (0.0, 0.5, 0.5)),
        ((-1.0, 0.75, -1.0), EDGE + 2, (0.25, 0.0, 0.75)),
    ],
)
def test_each_region_is_named_and_weighted(p, feature, weights):
    assert closest_on_triangle(p, *T) == (*weights, feature)


@pytest.mark.parametrize("scale", [1e-170, 1e-30, 1.0, 1e30, 1e150])
@pytest.mark.parametrize("flat", [0.0, 1e-16, 1e-9, 1.0])
def test_regions_do_not_depend_on_scale_or_thinness(scale, flat):
    points = [(0.25, -1.0, 1.0), (-1.0, 0.0, 2.0), (2.0, 0.0, 0.0)]
    a, b, c = ((scale * x, scale * y * flat, scale * z) for x, y, z in T)
    found = [closest_on_triangle(tuple(scale * x for x in p), a, b, c) for p in points]
    # with flat = 0 the edges ab and ca cover each other from a on, and the first wins
    assert found == [(0.75, 0.25, 0.0, EDGE), (1.0, 0.0, 0.0, VERTEX), (0.0, 1.0, 0.0, VERTEX + 1)]


def test_the_oracle_agrees_within_1e_14_of_the_coordinates(data):
    oracle = np.load(data / "oracles" / "primitive_distances_dev.npz")
    step = 1 if COMPILED else 10
    x, truth = oracle["points"][::step], np.sqrt(oracle["point_triangle_sq"][::step])
    found = np.array([point_triangle_distance(*row) for row in naive.tuples(x)])
    error = np.abs(found - truth) / np.abs(x).max((1, 2))
    assert error.max() <= 1e-14, oracle["category"][::step][error.argmax()]


def check_against_exact(rng, count):
    for p, a, b, c in naive.tuples(naive.awkward(rng, count, 4)):
        size = magnitude(p, a, b, c) or 1.0
        truth = naive.root(naive.point_triangle2(p, a, b, c))
        assert abs(point_triangle_distance(p, a, b, c) - truth) <= 3e-15 * size, (p, a, b, c)
        u, v, w, _ = closest_on_triangle(p, a, b, c)
        assert min(u, v, w) >= 0.0, (p, a, b, c)
        assert abs(u + v + w - 1.0) <= 4e-16, (p, a, b, c)
        reached = math.hypot(*(x - (u * k + v * m + w * n) for x, k, m, n in zip(p, a, b, c)))
        assert abs(reached - truth) <= 1e-12 * size, (p, a, b, c)


def test_awkward_triangles_agree_with_exact_arithmetic(rng):
    check_against_exact(rng, cases(2000 if COMPILED else 200))


@pytest.mark.long
def test_many_awkward_triangles_agree_with_exact_arithmetic(rng):
    check_against_exact(rng, cases(100_000))


def test_the_weights_belong_to_the_feature(rng):
    for p, a, b, c in naive.tuples(naive.awkward(rng, cases(2000 if COMPILED else 200), 4)):
        _, feature, *weights = nearest2(p, a, b, c)
        used = [k for k in range(3) if weights[k] > 0.0]
        if VERTEX <= feature < EDGE:
            assert used == [feature - VERTEX]
        elif feature >= EDGE:
            assert set(used) <= {feature - EDGE, (feature - EDGE + 1) % 3}


def test_the_squared_distance_is_the_square(rng):
    for row in naive.tuples(rng.normal(size=(200, 4, 3))):
        assert nearest2(*row)[0] == pytest.approx(point_triangle_distance(*row) ** 2, rel=1e-9)


def test_a_point_leaving_through_an_edge_moves_the_nearest_point_continuously():
    # a sliver just above and just below the thickness where the compensated way takes over
    for width in (0.999e-3, 1.001e-3):
        a, b, c = (0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.4, width, 0.0)
        inside, outside = (closest_on_triangle((0.4, width * s, 0.1), a, b, c)[:3] for s in (1 - 1e-9, 1 + 1e-9))
        assert inside == pytest.approx(outside, abs=1e-8)


@seed(SEED)
@settings(max_examples=EXAMPLES, deadline=None)
@given(four)
def test_the_order_of_the_corners_does_not_matter(points):
    p, a, b, c = points
    expected = pytest.approx(point_triangle_distance(p, a, b, c), abs=1e-14 * magnitude(*points))
    assert [point_triangle_distance(p, *t) for t in ((b, c, a), (c, a, b), (a, c, b), (c, b, a), (b, a, c))] == [
        expected
    ] * 5


@seed(SEED)
@settings(max_examples=EXAMPLES, deadline=None)
@given(four, st.integers(-600, 600))
def test_scaling_by_a_power_of_two_is_exact(points, k):
    smallest = min((abs(x) for p in points for x in p if x), default=1.0)
    assume(smallest > 1e-20)
    scaled = [tuple(math.ldexp(x, k) for x in p) for p in points]
    assert point_triangle_distance(*scaled) == math.ldexp(point_triangle_distance(*points), k)


@seed(SEED)
@settings(max_examples=EXAMPLES, deadline=None)
@given(four, st.integers(0, 2**32 - 1))
def test_a_rigid_motion_keeps_the_distance(points, number):
    rng = np.random.default_rng(number)
    moved = naive.tuples(np.array(points) @ np.linalg.qr(rng.normal(size=(3, 3)))[0] + rng.normal(size=3))
    before, after = point_triangle_distance(*points), point_triangle_distance(*moved)
    assert after == pytest.approx(before, rel=1e-9, abs=1e-14 * magnitude(*points, *moved))


@seed(SEED)
@settings(max_examples=EXAMPLES, deadline=None)
@given(four)
def test_no_corner_is_nearer_than_the_triangle(points):
    p, *corners = points
    assert point_triangle_distance(*points) <= min(math.dist(p, x) for x in corners) * (1 + 1e-15)


def test_the_normal_looks_where_counter_clockwise_faces_look():
    assert normal(*T) == (0.0, 0.0, 1.0)


def test_the_unit_normal_of_a_sliver_is_perpendicular_to_it():
    a, b, c = (0.1, 0.2, 0.3), (1.1, 0.9, 0.4), (0.6, 0.55 + 1e-13, 0.35)
    e, f = np.subtract(b, a), np.subtract(c, a)
    n = unit_normal(a, b, c)
    assert max(abs(np.dot(n, e)), abs(np.dot(n, f))) <= 1e-15


def test_the_unit_normal_of_a_point_is_zero():
    assert unit_normal(*[(1.0, 2.0, 3.0)] * 3) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("p", "turns"),
    [((0.2, 0.2, 0.2), 1.0), ((0.5, 0.5, 0.5), 0.0), ((0.25, 0.25, -1e-6), 0.0), ((0.25, 0.25, 1e-6), 1.0)],
)
def test_solid_angles_of_a_closed_body_add_up_to_full_turns_inside(p, turns):
    o, x, y, z = (0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
    total = sum(solid_angle(p, *face) for face in ((o, y, x), (o, z, y), (o, x, z), (x, y, z)))
    assert total == pytest.approx(turns * 4.0 * math.pi, abs=1e-9)


def test_an_octant_has_an_eighth_of_the_sphere():
    x, y, z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
    assert solid_angle((0.0, 0.0, 0.0), x, y, z) == pytest.approx(math.pi / 2, rel=1e-15)


def test_the_slow_referees_agree_on_inside_and_outside(rng):
    # the apex of a spike, where the sign by the first nearest face is wrong
    apex_and_base = [(0.0, 0.0, 1.0), (0.1, 0.0, 0.0), (-0.05, 0.0866, 0.0), (-0.05, -0.0866, 0.0)]
    spike = Mesh(apex_and_base, [[0, 1, 2], [0, 2, 3], [0, 3, 1], [1, 3, 2]])
    points = np.concatenate([[(0.3, 0.0, 1.05), (0.0, 0.0, 0.5)], rng.uniform(-0.2, 1.2, (500, 3)) * [0.2, 0.2, 1.0]])
    distance, turns = naive.signed_distance(points, spike), naive.winding_number(points, spike)
    assert (distance[0] > 0, distance[1] < 0) == (True, True)
    assert np.array_equal(distance < 0, turns > 0.5)
    corners = naive.tuples(spike.vertices[spike.faces])
    nearest = [min(point_triangle_distance(p, *face) for face in corners) for p in naive.tuples(points)]
    assert np.abs(distance) == pytest.approx(nearest, abs=1e-14)


def test_slivers_of_every_width_have_the_true_distance_from_points_around_their_tips(rng):
    for _ in range(cases(2000 if COMPILED else 300)):
        width = 10.0 ** rng.uniform(-18, -1)
        x = np.array([(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (rng.uniform(0.0, 1.0), width, 0.0)])
        away = (
            10.0 ** rng.uniform(-18, 1) * rng.normal(size=3) * [1.0, rng.choice([1.0, width, 0.0]), rng.integers(0, 2)]
        )
        x = np.concatenate([[x[rng.integers(3)] + away], x]) @ np.linalg.qr(rng.normal(size=(3, 3)))[0]
        row = naive.tuples(x)
        truth = naive.root(naive.point_triangle2(*row))
        assert abs(point_triangle_distance(*row) - truth) <= 3e-15 * magnitude(*row), row
