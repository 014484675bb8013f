"""Spheres instead of triangles: the paper's cases, the bound at every level, recall, levels and cameras."""

import numpy as np
import pytest

import naive
import pliant
from conftest import cases
from detect.made import FAR, octahedron, permuted, rotation, sheet
from pliant.contacts import EDGE_EDGE, VERTEX_FACE, empty, gap
from pliant.detect.base import Side
from pliant.detect.detectors.sphere_surface import SphereSurfaceDetector
from pliant.kernels import jit
from pliant.kernels.detectors import sphere_pairs as kernels
from pliant.kernels.jit import COMPILED
from pliant.kernels.mesh.features import Segments, Triangles
from pliant.kernels.queries.contact_records import Owners
from pliant.state import State

COUNT = cases(20_000 if COMPILED else 60)
OWNERS = Owners(np.zeros(2, np.int32), np.zeros(2, np.int32))  # like those of a detector


def of_faces(points, level, nearest=False):
    """Records of the first point and the triangle of the others, rows of (n,4,3)."""
    n = len(points)
    out, degenerate = empty(n), np.empty(n, bool)
    corners = np.ascontiguousarray(points[:, 1:]).reshape(-1, 3)
    faces, here = (
        np.arange(3 * n, dtype=np.int32).reshape(-1, 3),
        np.arange(n, dtype=np.int32)[:, None].repeat(2, 1),
    )
    faces.flags.writeable = False  # like those of a mesh: one compiled kernel serves both
    levels, tips = np.full(n, level, np.int32), np.ascontiguousarray(points[:, 0])
    faces, fine = Triangles(corners, faces), kernels.FaceLevels(levels, level, nearest)
    kernels.fill_faces(tips, faces, here, fine, np.zeros(0), OWNERS, out, degenerate)
    return out


def of_edges(points, level, nearest=False):
    """Records of the edges from the first to the second point and from the third to the fourth."""
    n = len(points)
    out, degenerate = empty(n), np.empty(n, bool)
    one, two = (np.ascontiguousarray(points[:, s]).reshape(-1, 3) for s in (slice(0, 2), slice(2, 4)))
    ends, here = np.arange(2 * n, dtype=np.int32).reshape(-1, 2), np.arange(n, dtype=np.int32)[:, None].repeat(2, 1)
    levels = np.full(n, level, np.int32)
    fine = kernels.EdgeLevels(levels, levels, level, nearest)
    kernels.fill_edges(Segments(one, ends), Segments(two, ends), here, fine, OWNERS, out, degenerate)
    return out


def triangles(rng, count):
    """(n,4,3): a point and a triangle of kinds that mislead: needles of both sorts, right and obtuse ones, repeated
    corners, far from the origin, small; the point above, beside, beyond a corner, on it."""
    kind = rng.integers(0, 6, count)
    high = np.where(
        kind == 0, 0.0, np.where(kind < 3, 10.0 ** rng.uniform(-9, -0.5, count), rng.uniform(0, 1.2, count))
    )
    along = np.where(kind == 1, 1.0, np.where(kind == 4, 0.0, rng.uniform(0, 1, count)))
    flat = np.zeros((count, 3, 3))
    flat[:, 1, 0], flat[:, 2, 0], flat[:, 2, 1] = 1.0, along, high
    flat[(kind == 5) & (rng.random(count) < 0.2), 1] = 0.0
    share = rng.dirichlet((0.6, 0.6, 0.6), count)
    beside = rng.normal(size=(count, 3)) * 10.0 ** rng.uniform(-4, 0.5, (count, 1)) * (rng.random((count, 1)) < 0.7)
    lift = (rng.random(count) < 0.5) * 10.0 ** rng.uniform(-4, 0.0, count)
    tip = np.einsum("ij,ijk->ik", share, flat) + beside * (1.0, 1.0, 0.0)
    tip[:, 2] = lift
    points = np.concatenate([tip[:, None], flat], 1)
    order = rng.permuted(np.tile(np.arange(3), (count, 1)), axis=1)
    points[:, 1:] = np.take_along_axis(points[:, 1:], order[:, :, None], 1)
    return placed(points, rng)


def edges(rng, count):
    """(n,4,3): crossing, parallel, almost parallel, collinear edges, of different lengths, some without any."""
    u = rng.normal(size=(count, 3))
    v = rng.normal(size=(count, 3))
    near = rng.random(count) < 0.5
    v[near] = (u * np.sign(rng.normal(size=(count, 1))) + v * 10.0 ** rng.uniform(-12, 0, (count, 1)))[near]
    v[rng.random(count) < 0.1] = u[0]
    v *= 10.0 ** rng.uniform(-2, 1, (count, 1)) * (rng.random((count, 1)) < 0.97)
    s, t = rng.uniform(-0.4, 1.4, (2, count, 1))
    apart = rng.normal(size=(count, 3)) * 10.0 ** rng.uniform(-4, 0.5, (count, 1))
    a, c = -s * u, apart - t * v
    return placed(np.stack([a, a + u, c, c + v], 1), rng)


def placed(points, rng):
    """Turned, some small, some far from the origin."""
    points = points @ rotation(rng).T * 10.0 ** rng.uniform(-3, 3, (len(points), 1, 1))
    size = np.ptp(points, axis=1).max(1)[:, None, None]
    return points + (rng.random((len(points), 1, 1)) < 0.3) * size * 1e4 * rng.normal(size=(len(points), 1, 3))


def rounding(points):
    return 1e-14 * np.abs(points).max((1, 2))


def radius(points):
    """Two thirds of the distance of the farthest corner from the centre."""
    corners = points[:, 1:]
    return 2 / 3 * np.linalg.norm(corners - corners.mean(1, keepdims=True), axis=2).max(1)


@pytest.mark.parametrize("level", [*range(8), 12])
def test_the_distance_to_a_triangle_is_at_most_a_sphere_too_large_and_never_too_small(level, rng):
    points = triangles(rng, COUNT)
    over = of_faces(points, level)["distance"] - pliant.geometry.point_triangle_distance(points)
    share = (over - rounding(points)) / (radius(points) * 0.5**level)
    assert (over >= -rounding(points)).all()
    assert share.max() <= 1.0
    assert share.max() >= 0.7 or COUNT < 5000  # there is no much better bound


@pytest.mark.parametrize("level", [*range(8), 12])
def test_the_distance_of_edges_is_at_most_half_of_both_too_large_and_never_too_small(level, rng):
    points = edges(rng, COUNT)
    over = of_edges(points, level)["distance"] - pliant.geometry.edge_edge_distance(points)
    both = np.linalg.norm(points[:, 1] - points[:, 0], axis=1) + np.linalg.norm(points[:, 3] - points[:, 2], axis=1)
    share = (over - rounding(points)) / (0.5 * both * 0.5**level)
    assert (over >= -rounding(points)).all()
    assert share.max() <= 1.0
    assert share.max() >= 0.7 or COUNT < 5000


@pytest.mark.parametrize("make", [of_faces, of_edges])
def test_weights_name_a_point_of_each_feature_and_the_normal_goes_between_them(make, rng):
    points = (triangles if make is of_faces else edges)(rng, COUNT // 10 + 5)
    for level in (0, 1, 5):
        hits = make(points, level)
        share = -hits["weights"][:, 1:] if make is of_faces else np.abs(hits["weights"])
        across = np.einsum("ij,ijk->ik", hits["weights"], points)
        clear = np.linalg.norm(across, axis=1) > 1e3 * rounding(points)
        assert share.min() >= -1e-15
        assert np.abs(hits["weights"].sum(1)).max() <= 1e-15
        along = np.einsum("ij,ij->i", across, hits["normal"])
        assert (np.abs(along - hits["distance"]) <= 4.0 * rounding(points))[clear].all()


def test_one_sphere_gives_its_centre_two_their_middle_three_their_mean():
    right = np.array([[0.0, 0.0, 0.0], [3.0, 0.0, 0.0], [0.0, 3.0, 0.0]])  # spheres of 2/3 sqrt(5) = 1.49
    blunt = np.array([[-1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.3, 0.0]])  # of 0.67
    for triangle, tip, shares in (
        (right, (-0.8, -0.8, 0.1), (1, 0, 0)),
        (right, (9.0, 0.0, 0.0), (0, 1, 0)),
        (right, (1.6, 1.2, 0.0), (1 / 3, 1 / 3, 1 / 3)),
        (right, (0.5, 0.5, 0.1), (2 / 3, 1 / 6, 1 / 6)),
        (right, (1.51, 0.0, 0.0), (1 / 6, 2 / 3, 1 / 6)),
        (blunt, (-0.45, 0.1, 0.0), (4 / 9, 1 / 9, 4 / 9)),
    ):
        hit = of_faces(np.concatenate([[tip], triangle])[None], 0)[0]
        np.testing.assert_allclose(-hit["weights"][1:], shares, atol=1e-15, err_msg=str(tip))


def slowly(tip, corners, level):
    """The same in plain words: split at the middles of edges, go on with the child nearest to the tip."""
    size = 2 / 3 * np.linalg.norm(corners - corners.mean(0), axis=1).max() * 0.5**level
    for _ in range(level):
        a, b, c = corners
        d, e, f = (a + b) / 2, (b + c) / 2, (c + a) / 2
        children = np.array([[a, d, f], [d, b, e], [f, e, c], [e, f, d]])
        there = [naive.root(naive.point_triangle2(tip, *child)) for child in children]
        if np.sort(there)[1] - min(there) < 1e-6 * size:
            return np.nan  # on the border of two
        corners = children[int(np.argmin(there))]
    centres = np.concatenate([corners, [corners.mean(0)]])
    away = np.linalg.norm(tip - centres, axis=1)
    inside = away <= size
    chosen = inside if inside.sum() > 1 else away == away.min()
    return float(np.linalg.norm(tip - centres[chosen].mean(0)))


@pytest.mark.parametrize("level", range(4))
def test_going_down_is_splitting_triangles_and_choosing_the_nearest_child(level, rng):
    points = rng.normal(size=(cases(60), 4, 3))
    points[:, 0] = np.einsum("ij,ijk->ik", rng.dirichlet((1, 1, 1), len(points)), points[:, 1:])
    points[:, 0] += 0.2 * rng.normal(size=(len(points), 3))
    expected = np.array([slowly(row[0], row[1:], level) for row in points])
    clear = np.isfinite(expected)
    assert clear.mean() > 0.5 or level > 1
    np.testing.assert_allclose(of_faces(points, level)["distance"][clear], expected[clear], rtol=0, atol=1e-12)


def slowly_to_nearest(tip, corners, level):
    """The paper's descent in plain words: go on with the child at the nearest sphere, the middle one for the centre."""
    size = 2 / 3 * np.linalg.norm(corners - corners.mean(0), axis=1).max() * 0.5**level
    for _ in range(level):
        a, b, c = corners
        d, e, f = (a + b) / 2, (b + c) / 2, (c + a) / 2
        away = np.linalg.norm(tip - np.array([a, b, c, (a + b + c) / 3]), axis=1)
        corners = np.array([[a, d, f], [d, b, e], [f, e, c], [e, f, d]])[int(np.argmin(away))]
    centres = np.concatenate([corners, [corners.mean(0)]])
    away = np.linalg.norm(tip - centres, axis=1)
    chosen = away <= size if (away <= size).sum() > 1 else away == away.min()
    return float(np.linalg.norm(tip - centres[chosen].mean(0)))


def slowly_halved(a, b, c, d, level):
    """The paper's edges: halve both, go on with the halves at the two nearest ends; the least distance of midpoints."""
    least = np.inf
    for k in range(level + 1):
        one, two = (a + b) / 2, (c + d) / 2
        least = min(least, np.linalg.norm(one - two))
        if k < level:
            ends = [(np.linalg.norm(p - q), i, j) for i, p in enumerate((a, b)) for j, q in enumerate((c, d))]
            _, i, j = min(ends)
            a, b, c, d = ((a, one), (one, b))[i] + ((c, two), (two, d))[j]
    return least


@pytest.mark.parametrize("level", range(5))
def test_the_papers_descent_goes_to_the_nearest_spheres_and_ends(level, rng):
    points = rng.normal(size=(cases(60), 4, 3))
    expected = [slowly_to_nearest(row[0], row[1:], level) for row in points]
    np.testing.assert_allclose(of_faces(points, level, True)["distance"], expected, rtol=0, atol=1e-12)
    expected = [slowly_halved(*row, level) for row in points]
    np.testing.assert_allclose(of_edges(points, level, True)["distance"], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("level", [0, 1, 3, 8])
def test_the_papers_descent_stays_within_the_bound_of_level_0_and_does_not_get_much_below(level, rng):
    points = triangles(rng, COUNT)
    over = of_faces(points, level, True)["distance"] - pliant.geometry.point_triangle_distance(points)
    share = (over - rounding(points)) / radius(points)
    assert (over >= -rounding(points)).all()
    assert share.max() <= 1.0
    assert share.max() > 0.3 or COUNT < 5000
    points = edges(rng, COUNT)
    over = of_edges(points, level, True)["distance"] - pliant.geometry.edge_edge_distance(points)
    both = np.linalg.norm(points[:, 1] - points[:, 0], axis=1) + np.linalg.norm(points[:, 3] - points[:, 2], axis=1)
    assert (over >= -rounding(points)).all()
    assert ((over - rounding(points)) / (0.5 * both)).max() <= 1.0


def crumpled(rng, n=14):
    flat = sheet(n, 1.0)
    x = flat.vertices + rng.normal(size=flat.vertices.shape) * 0.01
    x[:, 1] += 0.3 * np.abs(x[:, 0]) ** 0.5 * np.sin(9.0 * x[:, 0])
    x[:, 0] *= 0.35
    return flat.moved(x)


def names(hits):
    return set(zip(hits["kind"].tolist(), *(hits[k][:, j].tolist() for k in ("bodies", "elements") for j in (0, 1))))


SCENES = {
    "a cloth with itself": lambda rng: (crumpled(rng), None),
    "two sheets": lambda rng: (sheet(9, 1.0, 0.04, 0.02, rng), permuted(sheet(7, 0.9, 0.0, 0.02, rng), rng)),
    "a sheet and a ball": lambda rng: (sheet(12, 2.0, 0.97, 0.02, rng), octahedron(2)),
}


@pytest.mark.compiled
@pytest.mark.parametrize(
    "options",
    [{"levels": k} for k in range(4)] + [{"tolerance": 0.004}, {}, {"levels": 2, "child": "nearest"}],
    ids=str,
)
@pytest.mark.parametrize("scene", SCENES)
def test_all_that_are_nearer_than_the_distance_less_the_bound_are_found_and_none_that_are_farther(scene, options, rng):
    a, b = SCENES[scene](rng)
    within = 0.06
    truth = pliant.detector("brute-force", a, b, within=within).find()
    detector = pliant.detector("sphere-surface", a, b, within=within, **options)
    hits = detector.find()
    reported = names(hits)
    assert reported <= names(truth)
    assert len(hits) == len(reported) > 10
    for kind, bound in zip((VERTEX_FACE, EDGE_EDGE), detector._detector.bounds):
        near = truth[(truth["kind"] == kind) & (np.abs(truth["distance"]) <= within - bound)]
        assert names(near) <= reported
    if options in ({"levels": 3}, {"tolerance": 0.004}):
        assert len(near) > 10
        assert len(reported) > 0.8 * len(truth)


@pytest.mark.compiled
def test_records_are_in_order_and_signed_against_a_closed_mesh(rng):
    a, b = SCENES["a sheet and a ball"](rng)
    hits = pliant.detector("sphere-surface", a, b, within=0.06, levels=3).find()
    truth = pliant.detector("brute-force", a, b, within=0.06).find()
    np.testing.assert_array_equal(hits, pliant.contacts.sort(hits))
    side = dict(zip(names_in_order(truth), np.where(np.abs(truth["distance"]) > 1e-6, np.sign(truth["distance"]), 0)))
    told = [(k[0], side[k], np.sign(d)) for k, d in zip(names_in_order(hits), hits["distance"]) if side[k]]
    assert {(kind, true) for kind, true, _ in told} == {(k, s) for k in (VERTEX_FACE, EDGE_EDGE) for s in (-1.0, 1.0)}
    assert all(true == said for kind, true, said in told if kind == VERTEX_FACE)
    # the points of edges that are named here may be on another side than the nearest ones
    assert np.mean([true == said for _, true, said in told]) > 0.95
    x = np.concatenate([a.vertices, b.vertices])
    assert np.abs(np.einsum("ij,ij->i", gap(hits, x), hits["normal"]) - hits["distance"]).max() <= 1e-14


def names_in_order(hits):
    return list(zip(hits["kind"].tolist(), *(hits[k][:, j].tolist() for k in ("bodies", "elements") for j in (0, 1))))


@pytest.mark.compiled
def test_contacts_move_and_turn_with_the_scene(rng):
    a, b = SCENES["two sheets"](rng)
    turn = rotation(rng)
    one = pliant.detector("sphere-surface", a, b, within=0.05, levels=2).find()
    moved = [mesh.moved(mesh.vertices @ turn.T + FAR) for mesh in (a, b)]
    two = pliant.detector("sphere-surface", *moved, within=0.05, levels=2).find()
    assert len(names(one) ^ names(two)) <= 0.01 * len(one)
    both = names(one) & names(two)
    keep = [np.array([k in both for k in names_in_order(hits)]) for hits in (one, two)]
    off = np.abs(one["distance"][keep[0]] - two["distance"][keep[1]])
    assert np.mean(off < 1e-9) > 0.99


@pytest.mark.compiled
def test_one_thread_and_two_give_the_same_bytes(rng):
    detector = pliant.detector("sphere-surface", crumpled(rng, 30), within=0.05, tolerance=0.01)
    before, found = jit.threads(), []
    try:
        for count in (1, 2):
            jit.set_threads(count)
            found.append(detector.update().find().tobytes())
    finally:
        jit.set_threads(before)
    assert found[0] == found[1]
    assert len(found[0]) > 10_000


@pytest.mark.compiled
def test_a_camera_that_goes_away_makes_it_coarser_in_proportion(rng):
    mesh = crumpled(rng)
    detector = SphereSurfaceDetector(Side(mesh), within=0.05, tolerance=0.002, camera=(0.0, 0.0, 2.0))
    state = State.at(mesh.vertices)
    bounds = []
    for distance in (2.0, 8.0, 32.0):
        detector.camera = (0.0, 0.0, distance)
        bounds.append(detector.update(state).bounds)
        far = np.linalg.norm(mesh.vertices[mesh.faces].mean(1) - detector.camera, axis=1)
        assert bounds[-1][0] <= 0.002 * far.max()
    assert bounds[0] < bounds[1] < bounds[2]
    depth = SphereSurfaceDetector(
        Side(mesh), within=0.05, tolerance=lambda far: np.where(far < 2.0, 0.001, 0.1), camera=(0.0, 0.0, 2.0)
    ).update(state)
    near = depth.spheres.face_level > 0
    z = depth.spheres.balls[depth.spheres.starts[1] : depth.spheres.starts[2], :3]
    np.testing.assert_array_equal(near, np.linalg.norm(z - (0.0, 0.0, 2.0), axis=1) < 2.0)


BAD = [
    ({"levels": 13}, "levels = 13"),
    ({"levels": -1}, "levels = -1"),
    ({"levels": 1.5}, "levels = 1.5"),
    ({"levels": 2, "tolerance": 0.1}, "expected it alone"),
    ({"levels": 2, "camera": (0, 0, 0)}, "expected it alone"),
    ({"tolerance": 0.0}, "tolerance = 0"),
    ({"tolerance": np.nan}, "tolerance"),
    ({"camera": (0, 0, 1)}, "camera was given without tolerance"),
    ({"tolerance": np.sqrt}, r"give camera=\(x, y, z\) too"),
    ({"tolerance": 0.1, "camera": (0, 1)}, "camera"),
    ({"tolerance": lambda far: far * 0, "camera": (0, 0, 1)}, r"tolerance\(.*\) = 0; expected metres above 0"),
]


@pytest.mark.parametrize(("options", "said"), BAD)
def test_what_makes_no_sense_is_refused_in_words(options, said):
    with pytest.raises(ValueError, match=said):
        pliant.detector("sphere-surface", sheet(2), within=0.1, **options)


@pytest.mark.compiled
def test_nothing_is_found_where_there_is_nothing():
    alone = pliant.Mesh([[0.0, 0.0, 0.0]], np.zeros((0, 3), int))
    assert len(pliant.detector("sphere-surface", alone, within=0.1).find()) == 0
    assert len(pliant.detector("sphere-surface", alone, octahedron(), within=0.1).find()) == 0
    assert len(pliant.detector("sphere-surface", sheet(2), within=0.0).find()) == 0
