"""One definition of inside for all: where the winding number exceeds 1/2. Judged by sums of solid angles and libigl."""

import numpy as np
import pytest

import pliant
from conftest import SEED, cases
from detect.made import box, octahedron
from detect.shells import KINDS, away, body, grid_box, joined, stirred, winding, wrong_depths
from pliant import Mesh
from pliant.detect.queries.closest_point import ClosestPoints
from pliant.detect.queries.penetration import DeformingClosestPoints
from pliant.detect.queries.points_inside import points_inside

EXACT = ("brute-force", "bvh", "continuous", "image-space")


def points_around(x, f, rng, count=40):
    """Anywhere in a box around the body, and close to its faces."""
    size, middle = np.ptp(x, axis=0).max(), x.mean(0)
    on = np.einsum("ij,ijk->ik", rng.dirichlet(0.3 * np.ones(3), count), x[f[rng.integers(0, len(f), count)]])
    near = on + rng.normal(size=(count, 3)) * size * 10.0 ** rng.uniform(-6, -1, (count, 1))
    return np.concatenate([middle + rng.uniform(-0.7, 0.7, (count, 3)) * size, near]), size


def judge(kind, seed, *, depths=8, moved=True):
    """A random body of a kind, moved, scaled and permuted; sides, distances and depths of points around it."""
    rng = np.random.default_rng(seed)
    x, f, _ = stirred(*body(kind, rng), rng, moved)
    p, size = points_around(x, f, rng)
    d, q, face, _ = ClosestPoints(Mesh(x, f)).query(p)
    again = DeformingClosestPoints(Mesh(x, f)).update(x).query(p)
    for one, two in zip((d, q, face), again):
        np.testing.assert_array_equal(one, two)
    middle = x.mean(0)
    x, p, q = x - middle, p - middle, q - middle
    tiny = 1e-9 * size + 1e-13 * np.abs(middle).max()
    far = away(p, x, f)
    judged = far > tiny
    inside = np.rint(winding(p, x, f)) >= 1
    assert ((d < 0) == inside)[judged].all(), (kind, seed)
    outside = judged & ~inside
    assert np.abs(d - far)[outside].max(initial=0.0) <= tiny
    if np.abs(middle).max() < 1e5 * size:
        rows = np.flatnonzero(judged & inside)[:depths]
        assert wrong_depths(p[rows], -d[rows], q[rows], x, f, rng, size) == 0, (kind, seed)


@pytest.mark.parametrize("kind", KINDS)
def test_the_side_is_that_of_the_winding_number_and_the_depth_that_of_the_solid(kind):
    for k in range(max(1, cases(2) // 5)):
        judge(kind, SEED + k, moved=bool(k % 2))


@pytest.mark.long
@pytest.mark.compiled
@pytest.mark.parametrize("kind", KINDS)
def test_sides_and_depths_of_many_bodies_of_shells(kind):
    for k in range(cases(100)):
        judge(kind, 1000 + SEED + k, depths=12, moved=bool(k % 4))


def two_balls():
    """A ball of 30 cm with another of 10 cm inside it, and a patch between them, 3 mm below the inner one."""
    parts = [(octahedron(3).vertices * r + [0.0, y, 0.0], octahedron(3).faces) for r, y in ((0.3, 0.0), (0.1, 0.15))]
    patch = np.array([[-0.02, 0.047, -0.02], [0.02, 0.047, -0.02], [0.02, 0.047, 0.02], [-0.02, 0.047, 0.02]])
    return Mesh(*joined(parts)), Mesh(patch, [[0, 2, 1], [0, 3, 2]])


@pytest.mark.compiled
def test_beside_a_ball_within_a_ball_is_deep_inside():
    mesh, patch = two_balls()
    assert (np.abs(pliant.closest_point(mesh, patch.vertices)[0] + 0.25) < 0.02).all()
    report = pliant.check(patch, mesh)
    assert report.frames[0].inside == 4
    assert report.worst_depth == pytest.approx(0.25, abs=0.02)


@pytest.mark.compiled
@pytest.mark.parametrize("method", [*EXACT, "bone-boxes"])
def test_every_detector_says_how_deep_the_patch_between_the_balls_is(method):
    mesh, patch = two_balls()
    hits = pliant.find_contacts(patch, mesh, within=0.005, method=method)
    hits = hits[(hits["kind"] == 0) & (hits["bodies"][:, 0] == hits["bodies"][:, 0].min())]
    d = pliant.closest_point(mesh, patch.vertices)[0]
    for v in range(4):
        told = hits["distance"][hits["elements"][:, 0] == v]
        assert (told < 0.0).all()
        assert told.min() == pytest.approx(d[v], abs=1e-9)


@pytest.mark.compiled
@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("where", [0.0, 2.0], ids=["inside", "outside"])
def test_a_double_sided_face_has_the_same_side_on_both_of_its_sides(order, where):
    shift = np.array([where, 0.0, 0.0])
    t = np.array([[-0.2, 0, -0.2], [0.3, 0, -0.1], [0, 0, 0.3]]) + shift
    both = np.array([[0, 1, 2], [2, 1, 0]])[::order]
    mesh = Mesh(*joined([(box().vertices, np.array(box().faces)), (t, both)]))
    p = np.array([[0.03, 0.05, 0.0], [0.03, -0.05, 0.0], [0.03, 0.001, 0.0], [0.03, 0.0, 0.0]]) + shift
    d = pliant.closest_point(mesh, p)[0]
    if where:
        np.testing.assert_allclose(d, [0.05, 0.05, 0.001, 0.0], atol=1e-15)
    else:
        np.testing.assert_allclose(d, [-0.45, -0.45, -0.47, -0.47])
    field = pliant.DistanceField.bake(mesh, 32, band=16).sample(p[:3])[0]
    assert (np.abs(field - d[:3]) <= 0.8661 / 32 * np.ptp(mesh.vertices, axis=0).max()).all()


def test_a_hole_in_a_solid_is_outside_and_its_wall_is_near():
    mesh = Mesh(*joined([grid_box([0, 0, 0], [3, 3, 3]), (grid_box([1, 1, 1], [2, 2, 2])[0], box().faces[:, ::-1])]))
    d = pliant.closest_point(mesh, [[1.5, 1.5, 1.5], [0.9, 1.5, 1.5], [0.4, 1.5, 1.5]])[0]
    np.testing.assert_allclose(d, [0.5, -0.1, -0.4])


def test_two_boxes_side_by_side_have_no_wall_between_them():
    mesh = Mesh(*joined([grid_box([0, 0, 0], [2, 2, 2]), grid_box([2, 0.5, 0.5], [3, 1.5, 1.5])]))
    d, _ = pliant.closest_point(mesh, [[1.9, 1.0, 1.0], [2.1, 1.0, 1.0], [1.9, 0.2, 1.0]])
    np.testing.assert_allclose(d, [-np.hypot(0.1, 0.5), -0.5, -0.1], atol=1e-12)


def test_a_solid_that_is_inside_out_has_no_inside():
    mesh = Mesh(box().vertices, box().faces[:, ::-1])
    np.testing.assert_allclose(pliant.closest_point(mesh, [[0, 0, 0], [1, 0, 0]])[0], [0.5, 0.5])


@pytest.mark.compiled
def test_of_overlapping_shells_the_depth_is_that_of_their_union(rng):
    manifold3d = pytest.importorskip("manifold3d")
    igl = pytest.importorskip("igl")
    for _ in range(max(1, cases(3) // 10)):
        parts = [
            (octahedron(2).vertices * rng.uniform(0.6, 1.2, 3) + rng.uniform(-0.5, 0.5, 3), octahedron(2).faces)
            for _ in range(3)
        ]
        whole = manifold3d.Manifold.batch_boolean(
            [manifold3d.Manifold(manifold3d.Mesh64(np.array(x), np.array(f, np.uint64))) for x, f in parts],
            manifold3d.OpType.Add,
        ).to_mesh64()
        p = rng.uniform(-1.2, 1.2, (200, 3))
        x, f = np.array(whole.vert_properties)[:, :3].copy(), np.array(whole.tri_verts, np.int64)
        true = np.ravel(igl.signed_distance(p, x, f, sign_type=igl.SIGNED_DISTANCE_TYPE_WINDING_NUMBER)[0])
        d = pliant.closest_point(Mesh(*joined(parts)), p)[0]
        assert np.abs(d - true).max() <= 1e-9


def opened(rng, level=2):
    """A ball with a hole, or a sheet: its faces, and points around it."""
    ball = octahedron(level)
    kept = ball.vertices[ball.faces].mean(1) @ rng.normal(size=3) < rng.uniform(-0.5, 1.0)
    f = np.array(ball.faces)[kept] if kept.any() else np.array(ball.faces)[:1]
    grid = np.round(rng.uniform(-1.5, 1.5, (60, 3)) * 2) / 2  # straight above and below vertices
    return ball.vertices, f, np.concatenate([rng.uniform(-1.5, 1.5, (60, 3)), grid])


def test_an_open_mesh_has_the_side_of_its_winding_number_or_none(rng):
    for _ in range(max(2, cases(20) // 5)):
        x, f, p = opened(rng)
        w, known = winding(p, x, f), away(p, x, f) > 1e-9
        exact = ClosestPoints(Mesh(x, f))
        side, d = exact.signs(p), exact.query(p)[0]
        known &= np.abs(np.abs(w - 0.5) - 0.1) > 1e-3
        assert (side == np.where(w > 0.6, -1, np.where(w < 0.4, 1, 0)))[known].all()
        assert ((d < 0.0) == (side < 0))[known].all()


@pytest.mark.compiled
def test_no_field_of_an_open_mesh_has_a_side_that_the_winding_number_has_not(rng):
    for _ in range(max(1, cases(3) // 10)):
        x, f, _ = opened(rng)
        field = pliant.DistanceField.bake(Mesh(x, f), 24)
        p = field.low + rng.random((1500, 3)) * (field.high - field.low)
        d, w = field.sample(p)[0], winding(p, x, f)
        judged = ~np.isnan(d) & (away(p, x, f) > 0.8661 * field.spacing) & (np.abs(w - 0.5) > 0.101)
        assert ((d < 0.0) == (w > 0.5))[judged].all()


@pytest.mark.compiled
@pytest.mark.parametrize("kind", KINDS)
def test_a_field_of_shells_keeps_its_bound(kind, rng):
    x, f = body(kind, rng)
    field = pliant.DistanceField.bake(Mesh(x, f), 24)
    p = field.low + rng.random((cases(500), 3)) * (field.high - field.low)
    d, true = field.sample(p)[0], pliant.closest_point(Mesh(x, f), p)[0]
    known = ~np.isnan(d)
    assert np.abs(d - true)[known].max(initial=0.0) <= 0.8661 * field.spacing
    sure = known & (np.abs(true) > 0.8661 * field.spacing)
    assert ((d < 0.0) == (np.rint(winding(p, x, f)) >= 1))[sure].all()


@pytest.mark.compiled
def test_what_has_no_boundary_encloses_something_however_rough_it_is():
    wall = Mesh(*body("shared wall", np.random.default_rng(0)))
    assert wall.issues.encloses
    assert not wall.issues.closed
    assert not Mesh(box().vertices, box().faces[1:]).issues.encloses
    p = np.array([[1.0, 0.5, 0.5], [1.5, 1.5, 0.5]])
    hits = pliant.find_contacts(Mesh(p, np.zeros((0, 3), int)), wall, within=0.01, method="brute-force")
    assert set(hits["elements"][:, 0]) == {0}
    assert hits["distance"].min() == pytest.approx(-0.5)


def test_points_inside_is_the_same_question(rng):
    x, f = body("overlap", rng)
    p, _ = points_around(x, f, rng)
    np.testing.assert_array_equal(points_inside(Mesh(x, f), p), ClosestPoints(Mesh(x, f)).signs(p) < 0)


def test_a_body_that_bends_into_itself_is_told_the_same_warm_and_cold(rng):
    x, f = body("overlap", rng)
    mesh, warm = Mesh(x, f), DeformingClosestPoints(Mesh(x, f))
    p, _ = points_around(x, f, rng)
    for _ in range(3):
        y = x + rng.normal(size=x.shape) * 0.05
        one, two = warm.update(y).query(p), DeformingClosestPoints(mesh).update(y).query(p)
        for a, b in zip(one, two):
            np.testing.assert_array_equal(a, b)
