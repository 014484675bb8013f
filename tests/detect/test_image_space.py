"""Image space: shared volume within its bound, points inside without error, a body inside itself."""

import fractions

import numpy as np
import pytest

import pliant
from conftest import cases
from detect.made import FAR, box, octahedron, sheet, spiky_star, wedge
from pliant import Mesh, shapes
from pliant.contacts import gap
from pliant.detect.queries.closest_point import ClosestPoints
from pliant.detect.queries.depth_image import layered_depth_image
from pliant.detect.queries.overlap import Overlaps
from pliant.detect.queries.points_inside import points_inside
from pliant.detect.queries.ray_winding import RayWinding
from pliant.kernels import jit


def turned(mesh, rng, by=0.0):
    """Anyhow, and moved by at most `by` along each axis."""
    q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    q *= np.linalg.det(q)
    return mesh.moved(mesh.vertices @ q + rng.uniform(-by, by, 3))


def shifted(mesh, *by):
    return mesh.moved(mesh.vertices + np.array(by))


def torus(n=24):
    a, b = (2.0 * np.pi * k.ravel() / n for k in np.meshgrid(np.arange(n), np.arange(n), indexing="ij"))
    x = np.stack([(1 + 0.4 * np.cos(b)) * np.cos(a), (1 + 0.4 * np.cos(b)) * np.sin(a), 0.4 * np.sin(b)], 1)
    i, j = np.divmod(np.arange(n * n), n)
    at = lambda i, j: (i % n) * n + j % n  # noqa: E731
    faces = [
        np.stack([at(i, j), at(i + 1, j), at(i + 1, j + 1)], 1),
        np.stack([at(i, j), at(i + 1, j + 1), at(i, j + 1)], 1),
    ]
    return Mesh(x, np.concatenate(faces), name="torus")


BAR = shapes.box((4.0, 0.5, 0.5), (48, 4, 4))


def pincers(gap=-0.1):
    """A bar bent until its ends are `gap` apart (negative: inside each other)."""
    bar = BAR
    x = bar.vertices
    angle = x[:, 0] / 2.0 * (np.pi - 0.5 * gap)
    r = 4.0 / (2.0 * np.pi) + x[:, 1]
    return bar.moved(np.stack([r * np.sin(angle), r * np.cos(angle), x[:, 2]], 1))


def exact_winding(mesh, p) -> int:
    """Of one point by whole numbers: crossings of the ray along z of a point moved by hairs of hairs."""
    hair = fractions.Fraction(1, 10**30)
    q = [fractions.Fraction(float(v)) + hair ** (k + 1) for k, v in enumerate(p)]
    total = 0
    for face in mesh.faces:
        a, b, c = ([fractions.Fraction(float(v)) for v in mesh.vertices[i]] for i in face)
        side = [(s[0] - q[0]) * (t[1] - q[1]) - (s[1] - q[1]) * (t[0] - q[0]) for s, t in ((a, b), (b, c), (c, a))]
        if not (all(s > 0 for s in side) or all(s < 0 for s in side)):
            continue
        u, v = ([s[k] - a[k] for k in range(3)] for s in (b, c))
        n = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]]
        height = a[2] - (n[0] * (q[0] - a[0]) + n[1] * (q[1] - a[1])) / n[2]
        if height > q[2]:
            total += 1 if n[2] > 0 else -1
    return total


PAIRS = {
    "balls": lambda rng: (octahedron(3), turned(octahedron(2), rng, 0.6)),
    "boxes": lambda rng: (box(), turned(box((0.5, 1.5, 0.3)), rng, 0.3)),
    "aligned boxes": lambda rng: (box(), box((0.5, 0.75, 1.0), np.round(rng.uniform(-0.5, 0.5, 3) * 8) / 8)),
    "star and ball": lambda rng: (spiky_star(2.0), turned(octahedron(3), rng, 0.8)),
    "torus and box": lambda rng: (turned(torus(), rng), turned(box((0.3, 0.3, 4.0)), rng, 0.2)),
    "knives": lambda rng: (wedge(0.1), turned(wedge(0.3), rng, 0.1)),
    "far away": lambda rng: tuple(m.moved(m.vertices + FAR) for m in (torus(), turned(octahedron(2), rng, 0.6))),
}


@pytest.mark.compiled
def test_the_volume_two_bodies_share_is_within_the_bound_of_the_exact_one(rng):
    manifold = pytest.importorskip("manifold3d", reason="manifold3d (extra: test) makes the exact bodies")

    def solid(mesh, middle):
        raw = manifold.Mesh64(np.ascontiguousarray(mesh.vertices - middle), mesh.faces.astype(np.uint64))
        return manifold.Manifold(raw)

    shared = 0
    for k in range(21):
        name = list(PAIRS)[k % len(PAIRS)]
        a, b = PAIRS[name](rng)
        middle = np.round(a.vertices.mean(0))
        exact = (solid(a, middle) ^ solid(b, middle)).volume()
        found = pliant.overlap(a, b, resolution=(16, 40, 96)[k // len(PAIRS)])
        assert abs(found.volume - exact) <= found.bound, (k, name)
        assert found.least <= exact <= found.most, (k, name)
        shared += exact > 1e-3
    assert shared >= 16


@pytest.mark.compiled
def test_the_bound_is_a_quarter_when_the_pixels_are_half_as_large():
    a, b = octahedron(4), octahedron(4)
    b = shifted(b, 0.6, 0.5, 0.4)
    coarse, fine = (pliant.overlap(a, b, resolution=n) for n in (48, 96))
    assert 0.2 < fine.bound / coarse.bound < 0.32
    assert fine.bound < 0.01 * fine.volume


@pytest.mark.compiled
def test_bodies_that_overlap_themselves_stay_within_the_bound(rng):
    # two balls of one mesh, inside each other: what is in both is counted once
    ball, probe = octahedron(3), box((0.5, 3.0, 0.6))
    one, two = ball.vertices, shifted(ball, 0.5, 0.0, 0.0).vertices
    pair = Mesh(np.concatenate([one, two]), np.concatenate([ball.faces, ball.faces + ball.n_vertices]))
    x = rng.uniform(*probe.bounds, (200_000, 3))
    inside = (points_inside(ball, x) | points_inside(ball.moved(two), x)).mean() * probe.volume
    found = pliant.overlap(pair, probe, resolution=64)
    assert found.least - 0.01 < inside < found.most + 0.01
    assert found.volume == pytest.approx(inside, rel=0.02)


def test_boxes_share_what_their_boxes_share_and_touching_ones_nothing():
    one = box()
    found = pliant.overlap(one, box(centre=(0.5, 0.25, 0.75)), resolution=8)
    assert found.volume == pytest.approx(0.5 * 0.75 * 0.25, rel=1e-6)
    assert found.least <= 0.5 * 0.75 * 0.25 <= found.most
    for centre in ((1.0, 0.0, 0.0), (0.0, -1.0, 0.25), (0.0, 0.0, 1.0), (5.0, 0.0, 0.0)):
        touching = pliant.overlap(one, box(centre=centre), resolution=8)
        assert (touching.volume, len(touching.points), touching.mesh()) == (0.0, 0, None)


def test_a_body_shares_all_of_itself_with_itself_and_within_a_larger_one():
    small, large = box((0.5, 0.25, 0.75), (0.1, 0.0, 0.0)), box()
    assert pliant.overlap(small, small, resolution=16).volume == pytest.approx(small.volume, rel=1e-6)
    assert pliant.overlap(small, large, resolution=16).volume == pytest.approx(small.volume, rel=1e-6)


@pytest.mark.compiled
def test_what_is_drawn_of_a_shared_volume_is_where_both_bodies_are():
    a, b = octahedron(4), octahedron(4)
    b = shifted(b, 0.7, 0.6, 0.0)
    found = pliant.overlap(a, b, resolution=40)
    size = 1.0 / found.screen.across
    assert points_inside(a, found.points).all()
    assert points_inside(b, found.points).all()
    assert len(found.points) * size**3 == pytest.approx(found.volume, rel=0.02)
    drawn = found.mesh()
    assert drawn.volume == pytest.approx(found.volume, rel=0.05)
    for body in (a, b):
        assert ClosestPoints(body).query(drawn.vertices)[0].max() < 1.0 * size


@pytest.mark.compiled
def test_the_overlap_of_moving_bodies_is_that_of_bodies_that_stand_there(rng):
    a, b = octahedron(3), torus()
    kept = Overlaps(a, b, resolution=32)
    for k in range(3):
        x_a, x_b = a.vertices * (1.0 + 0.1 * k), shifted(b, 0.3 * k, 0.1, 0.0).vertices
        fresh = pliant.overlap(a.moved(x_a), b.moved(x_b), resolution=32)
        found = kept.at(x_a, x_b)
        assert (found.volume, found.bound, found.depth.tobytes()) == (fresh.volume, fresh.bound, fresh.depth.tobytes())


def test_points_on_the_lattice_of_a_bodys_own_vertices_are_inside_as_whole_numbers_say(rng):
    meshes = [box(), octahedron(1), wedge(0.5), spiky_star(2.0)]
    for k in range(cases(12)):
        mesh = meshes[k % 4]
        lattice = mesh.vertices[rng.integers(0, mesh.n_vertices, (6, 3)), np.arange(3)]
        points = np.concatenate([lattice, mesh.vertices[:2], mesh.vertices[mesh.faces[:2]].mean(1)])
        # the axis that is chosen is the shortest of the mesh's box: z, made a hair shorter than the rest
        flat = mesh.moved(mesh.vertices * (1.0, 1.0, 0.5))
        points = points * (1.0, 1.0, 0.5)
        found = RayWinding(flat.faces, flat.n_vertices).winding(flat.vertices, points)
        assert found.tolist() == [exact_winding(flat, p) for p in points], k


@pytest.mark.compiled
def test_points_are_inside_where_the_signed_distance_is_negative(rng):
    for mesh in (octahedron(3), spiky_star(3.5), torus(), turned(wedge(0.05), rng), pincers(0.3)):
        points = rng.uniform(*(mesh.bounds * 1.1), (cases(4000), 3))
        distance = ClosestPoints(mesh).query(points)[0]
        np.testing.assert_array_equal(points_inside(mesh, points), distance < 0.0)


@pytest.mark.compiled
@pytest.mark.parametrize("resolution", [16, 64])
def test_by_pixels_no_point_farther_than_one_from_the_surface_is_on_the_wrong_side(resolution, rng):
    for mesh in (octahedron(4), spiky_star(2.0), turned(torus(), rng), pincers(0.3)):
        layers = layered_depth_image(mesh, resolution=resolution)
        points = rng.uniform(*(mesh.bounds * 1.1), (cases(4000), 3))
        distance = ClosestPoints(mesh).query(points)[0]
        wrong = layers.inside(points) != (distance < 0.0)
        assert np.abs(distance[wrong]).max(initial=0.0) < 0.71 * layers.pixel
        assert wrong.any() or resolution > 16


@pytest.mark.compiled
def test_contacts_of_two_bodies_are_the_deep_ones_of_the_tree(rng):
    a, b = octahedron(3), turned(torus(), rng, 0.3)
    ours = pliant.detector("image-space", a, b, within=0.0)
    for k in range(3):  # nothing is rebuilt when both deform
        x_a, x_b = a.vertices * (1.0 + 0.2 * k), b.vertices + 0.05 * np.sin(5.0 * b.vertices[:, [1, 2, 0]] + k)
        hits = ours.update(x_a, x_b).find()
        theirs = pliant.detector("bvh", a, b, within=0.0).update(x_a, x_b).find()
        theirs = theirs[(theirs["kind"] == 0) & (theirs["distance"] < 0.0)]
        assert len(hits) > 20
        assert hits.tobytes() == theirs.tobytes()


def test_a_cloth_is_found_where_it_is_inside_a_ball(rng):
    cloth, ball = sheet(9, 2.4, 0.6, 0.05, rng), octahedron(1)
    hits = pliant.detector("image-space", cloth, ball, within=0.01).find()
    deep = np.flatnonzero(ClosestPoints(ball).query(cloth.vertices)[0] < 0.0)
    assert hits["elements"][:, 0].tolist() == deep.tolist()
    x = np.concatenate([cloth.vertices, ball.vertices])
    assert np.abs(np.einsum("ij,ij->i", gap(hits, x), hits["normal"]) - hits["distance"]).max() < 1e-14
    assert (hits["distance"] < 0.0).all()


@pytest.mark.compiled
def test_a_bar_whose_ends_are_in_each_other_is_found_and_one_whose_ends_are_apart_is_not():
    apart, inside = pincers(0.2), pincers(-0.3)
    assert len(pliant.detector("image-space", apart).find()) == 0
    assert len(layered_depth_image(apart, resolution=64).self_overlap()) == 0
    hits = pliant.detector("image-space", inside).find()
    x = inside.vertices
    left = BAR.vertices[:, 0] < 0.0  # each end is in the other one
    assert len(hits) > 10
    assert (left[hits["elements"][:, 0]] != left[inside.faces[hits["elements"][:, 1]]].any(1)).all()
    assert (hits["distance"] < 0.0).all()
    along = np.einsum("ij,ij->i", gap(hits, x), hits["normal"])
    assert np.abs(along - hits["distance"]).max() < 1e-14
    intervals = layered_depth_image(inside, resolution=64).self_overlap()
    assert intervals.winding.max() == 2
    assert len(intervals) > 100


def test_vertices_without_a_face_that_has_an_area_are_not_inside():
    ball = shapes.tet_ball(size=0.06)
    assert ball.n_vertices > len(np.unique(ball.faces))  # some are in the middle
    assert len(pliant.detector("image-space", ball).find()) == 0
    # a box with an edge cut in two by a face without area: all of its corners are looked at, and none is inside
    one = box()
    a, b = one.faces[0, :2]
    x = np.concatenate([one.vertices, [(one.vertices[a] + one.vertices[b]) / 2]])
    k = one.n_vertices
    cut = Mesh(x, [[a, k, one.faces[0, 2]], [k, b, one.faces[0, 2]], [a, b, k], *one.faces[1:].tolist()])
    assert cut.issues.closed
    assert not cut.face_normals.any(1).all()
    assert len(pliant.detector("image-space", cut).find()) == 0
    two = Mesh(np.concatenate([x, 0.25 * x]), np.concatenate([cut.faces, cut.faces + len(x)]))  # one in the other
    hits = pliant.detector("image-space", two).find()
    assert hits["elements"][:, 0].tolist() == list(range(len(x), 2 * len(x)))


def test_a_vertex_that_lies_on_another_part_of_its_body_is_a_contact_of_depth_zero_across_the_face():
    below, above = box((2.0, 2.0, 0.5)), box((0.5, 0.5, 0.25), (0.125, 0.25, 0.375))
    both = Mesh(np.concatenate([below.vertices, above.vertices]), np.concatenate([below.faces, above.faces + 8]))
    hits = pliant.detector("image-space", both).find()
    assert hits["elements"][:, 0].tolist() == (8 + np.flatnonzero(above.vertices[:, 2] == 0.25)).tolist()
    assert hits["normal"].tolist() == [[0.0, 0.0, 1.0]] * 4
    assert hits["distance"].tolist() == [0.0] * 4


def test_what_is_too_large_to_be_drawn_is_refused_before_it_is_made(monkeypatch):
    found = pliant.overlap(box(), box(centre=(0.5, 0.25, 0.75)), resolution=8)
    monkeypatch.setattr(pliant.validate, "free_memory", lambda: 1000)
    with pytest.raises(pliant.validate.TooBigError, match="lower the resolution"):
        found.mesh()


@pytest.mark.compiled
def test_the_bits_do_not_depend_on_the_number_of_threads(rng):
    a, b = octahedron(6), octahedron(6)
    b = shifted(b, 0.5, 0.4, 0.3)
    points = rng.uniform(-1.0, 1.5, (5000, 3))
    before, results = jit.threads(), []
    for count in (1, 2):
        jit.set_threads(count)
        found = pliant.overlap(a, b, resolution=96)
        hits = pliant.detector("image-space", a, b).find()
        parts = (found.depth, np.array([found.volume, found.bound]), points_inside(a, points), hits)
        results.append(b"".join(part.tobytes() for part in parts))
    jit.set_threads(before)
    assert results[0] == results[1]


def test_bodies_without_an_inside_are_refused_with_what_to_do():
    flat, ball = sheet(3), octahedron(0)
    with pytest.raises(ValueError, match=r"b \('sheet'\) is not closed: it has no inside; close its holes"):
        pliant.overlap(ball, flat)
    with pytest.raises(ValueError, match="faces oriented inward; reverse them"):
        pliant.overlap(Mesh(ball.vertices, ball.faces[:, ::-1]), ball)
    with pytest.raises(ValueError, match="image-space needs a closed mesh"):
        pliant.detector("image-space", flat)
    with pytest.raises(ValueError, match="resolution = 0 must be in 1"):
        pliant.overlap(ball, ball, resolution=0)
    with pytest.raises(ValueError, match="low corner above the high one"):
        layered_depth_image(ball, box=[[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]])
