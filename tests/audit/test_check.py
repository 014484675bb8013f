"""A check finds what an exact referee finds, and says what it cannot judge."""

import numpy as np
import pytest

import pliant
from conftest import DATA
from pliant import Mesh, shapes
from pliant.audit.check import check
from pliant.audit.findings import Limits
from pliant.detect.queries.closest_point import ClosestPoints
from pliant.kernels.jit import COMPILED
from pliant.motion.clip import Clip

LEVEL = 3 if COMPILED else 2
BODY = shapes.ball(0.5, LEVEL)


def at(mesh: Mesh, *place: float) -> Mesh:
    return mesh.moved(mesh.vertices + place)


def sheet(height: float = 0.3013, n: int = 9) -> Mesh:
    """A flat cloth that cuts the ball off at some height."""
    return at(shapes.cloth(1.2, 1.2, n), 0.003, height, 0.007)


def turned(mesh: Mesh) -> Mesh:
    return Mesh(mesh.vertices, mesh.faces[:, ::-1], name=mesh.name)


def opened(mesh: Mesh) -> Mesh:
    return Mesh(mesh.vertices, mesh.faces[1:], name=mesh.name)


def soup(mesh: Mesh) -> Mesh:
    return Mesh(mesh.vertices[mesh.faces].reshape(-1, 3), np.arange(3 * mesh.n_faces).reshape(-1, 3), name=mesh.name)


def human(name: str) -> Clip:
    kept = np.load(DATA / "human" / f"{name}.npz")
    frames = kept["V_frames"].astype(np.float64)
    return Clip(Mesh(frames[0], kept["F"], name=name), frames)


def on_both(segments: np.ndarray, pairs: np.ndarray, a: Mesh, b: Mesh) -> float:
    """How far the middles of segments (k,2,3) are from the triangles of their pairs (k,2), at most, metres."""
    middle = segments.mean(1).astype(np.float64)
    corners = [a.vertices[a.faces[pairs[:, 0]]], b.vertices[b.faces[pairs[:, 1]]]]
    points = [np.concatenate([middle[:, None], c], 1) for c in corners]
    return max(float(np.abs(pliant.geometry.point_triangle_distance(p)).max(initial=0.0)) for p in points)


@pytest.mark.compiled
@pytest.mark.parametrize("every", [16, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize("garment", ["tights", "skirt"])
def test_on_the_walking_human_it_finds_the_referees_vertices_and_pairs_in_every_frame(data, garment, every):
    worn, body = human(garment), human("body")
    report = check(worn, body, every=every)
    assert [f.frame for f in report.frames] == list(range(0, 48, every))
    for k, found in enumerate(report.frames):
        cloth, skin = (clip.mesh.moved(clip.at(found.frame)) for clip in (worn, body))
        distance = pliant.closest_point(skin, cloth.vertices)[0]
        assert np.array_equal(np.flatnonzero(report.distances[k] < 0.0), np.flatnonzero(distance < 0.0))
        assert found.inside == (distance < 0.0).sum()
        assert found.deepest == pytest.approx(max(0.0, -distance.min()), abs=1e-12)
        least = min(distance.min(), -found.between, 0.0) if found.crossings else distance.min()
        assert found.clearance == pytest.approx(least, abs=1e-12)
        own, cut = pliant.intersections(cloth), pliant.intersections(cloth, skin)
        assert (found.self_pairs, found.body_pairs) == (len(own), len(cut))
        # each segment lies on the two triangles that the referee names, so the pairs are the same ones
        assert on_both(report.curves[k].own, own, cloth, cloth) < 1e-6
        assert on_both(report.curves[k].body, cut, cloth, skin) < 1e-6


def test_the_deepest_vertex_the_way_out_and_the_share_are_those_of_a_sheet_in_a_ball():
    report = check(sheet(0.0013, 13), BODY)
    found = report.worst
    exact = ClosestPoints(BODY).query(report.garment.mesh.vertices)[0]
    assert found.vertex == np.argmin(exact)
    assert found.deepest == pytest.approx(-exact.min(), abs=1e-12)
    out = np.array(found.place) + found.deepest * np.array(found.direction)
    assert abs(ClosestPoints(BODY).query(out[None])[0][0]) < 1e-9
    assert found.share == pytest.approx(np.pi * 0.25 / 1.44, rel=0.1)
    assert report.penetrating
    assert report.worst_depth == found.deepest


@pytest.mark.compiled
def test_the_shared_volume_of_two_balls_is_that_of_two_caps():
    found = check(at(BODY, 0.5, 0.003, 0.001), BODY).worst
    caps = 5.0 / 12.0 * np.pi * 0.5**3
    assert found.overlap == pytest.approx(caps, rel=0.03)
    assert 0.0 <= found.overlap_bound < 0.2 * caps


def test_an_open_garment_has_no_volume_and_the_report_says_so():
    report = check(sheet(), BODY)
    assert np.isnan(report.worst.overlap)
    (note,) = report.notes
    assert note.kind == "no-overlap"
    assert note.text.startswith("overlap volume")
    assert "boundary edges" in note.text
    assert note.line == f"not checked: {note.text}"


def test_a_body_that_is_inside_out_is_judged_as_if_turned():
    plain, inward = check(sheet(), BODY), check(sheet(), turned(BODY))
    assert inward.frames[0]._replace(overlap=0.0, overlap_bound=0.0) == plain.frames[0]._replace(
        overlap=0.0, overlap_bound=0.0
    )
    note, _ = inward.notes
    assert [each.kind for each in inward.notes] == ["flipped", "no-overlap"]
    assert "inside out" in note.text
    assert note.line == f"note: {note.text}"


def test_a_body_with_a_small_hole_is_judged_as_without_it():
    report, closed = check(sheet(), opened(BODY)), check(sheet(), BODY)
    assert report.has_inside
    assert [note.kind for note in report.notes] == ["open"]
    assert report.notes[0].line.startswith("note: body")
    far = np.abs(closed.distances) > 0.05
    np.testing.assert_allclose(report.distances[far], closed.distances[far], atol=1e-3)
    said = report.to_json()
    assert said["worst_depth_m"] == pytest.approx(closed.worst_depth, abs=1e-3)
    assert "0 mm allowed" in report.broken(Limits())[0]


def test_a_sheet_as_a_body_is_cut_but_has_no_inside():
    wall = shapes.cloth(1.3, 1.3, 9, plane="xy")
    report = check(sheet(), wall)
    assert not report.has_inside
    assert (report.distances >= 0.0).all()
    assert report.worst.inside == 0
    assert report.worst.body_pairs > 0
    assert {place.kind for place in report.places} == {"body"}
    said = report.to_json()
    assert said["penetrating"] is True  # triangles cross; how deep is unknown
    assert said["worst_depth_m"] is None
    assert said["frames"][0]["inside"] is None
    assert said["notes"][0]["kind"] == "no-inside"
    assert "no inside" in said["notes"][0]["text"] == said["unchecked"][0] == said["unjudged"][0]
    assert "their depth is undefined" in report.broken(Limits())[0]
    assert report.broken(Limits(body_pairs=10_000)) == []


def test_a_garment_that_is_inside_out_is_judged_alike():
    plain, inward = check(sheet(), BODY).frames[0], check(turned(sheet()), BODY).frames[0]
    assert (plain.inside, plain.deepest, plain.body_pairs) == (inward.inside, inward.deepest, inward.body_pairs)


@pytest.mark.compiled
def test_patches_are_places_and_seams_do_not_part_them():
    waves = sheet(0.0, 25)
    x = waves.vertices.copy()
    x[:, 1] = 0.62 - 0.2 * np.cos(12.0 * x[:, 0]) ** 2
    x[:, 1] -= 0.2 * (np.abs(x[:, 0]) > 0.2)
    cloth = waves.moved(x)
    report, split = check(cloth, BODY), check(soup(cloth), BODY)
    places = [place for place in report.places if place.kind == "inside"]
    assert len(places) > 1
    assert sum(place.size for place in places) == report.worst.inside
    assert max(place.depth for place in places) == report.worst_depth
    assert [p.depth for p in split.places if p.kind == "inside"] == [p.depth for p in places]


def test_what_stands_still_is_the_same_as_what_does_not_move():
    up = np.array([0.0, 1.0, 0.0])
    moving = Clip(sheet(), np.stack([sheet().vertices + k * 0.05 * up for k in range(4)]))
    still, played = check(moving, BODY), check(moving, Clip(BODY, BODY.vertices[None].repeat(4, 0)))
    for a, b in zip(still.frames, played.frames, strict=True):
        assert str(a) == str(b)  # nan is not equal to itself
    assert np.array_equal(still.distances, played.distances)


def test_every_second_frame_is_every_second_row():
    frames = np.stack([sheet(0.2 + 0.05 * k).vertices for k in range(5)])
    clip = Clip(sheet(), frames)
    all_of_them, some = check(clip, BODY, fps=10.0), check(clip, BODY, fps=10.0, every=2)
    assert [f.frame for f in some.frames] == [0, 2, 4]
    assert [f.time for f in some.frames] == [0.0, 0.2, 0.4]
    assert [str(f) for f in some.frames] == [str(f) for f in all_of_them.frames[::2]]


def test_new_numbers_another_place_and_another_size_change_only_the_unit(rng):
    cloth = sheet(0.2013, 13)
    plain = check(cloth, BODY).frames[0]
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    turn *= np.sign(np.linalg.det(turn))

    def other(mesh: Mesh) -> Mesh:
        rank = rng.permutation(mesh.n_vertices)
        x = np.empty_like(mesh.vertices)
        x[rank] = 10.0 * mesh.vertices @ turn.T + (1.0, -2.0, 0.5)
        return Mesh(x, rank[mesh.faces][rng.permutation(mesh.n_faces)])

    moved = check(other(cloth), other(BODY)).frames[0]
    for name in ("inside", "body_pairs", "loops", "self_pairs", "self_loops"):
        assert getattr(moved, name) == getattr(plain, name)
    for name in ("deepest", "clearance", "loop_length"):
        assert getattr(moved, name) == pytest.approx(10.0 * getattr(plain, name), rel=1e-9)
    assert moved.share == pytest.approx(plain.share, rel=1e-9)


def test_without_a_body_only_the_mesh_itself_is_judged():
    report = check(at(shapes.ball(0.5, 1), 5.0, 0.0, 0.0))
    assert (report.penetrating, report.worst_depth, report.self_intersections) == (False, 0.0, 0)
    assert np.isnan(report.distances).all()
    assert "least clearance" not in report.facts
    assert report.broken(Limits()) == []


def test_non_manifold_and_self_intersecting_input_is_counted_exactly(rng):
    x = rng.normal(size=(24, 3))
    faces = rng.integers(0, 24, (40, 3))
    mesh = Mesh(x, faces[(np.diff(np.sort(faces, 1), axis=1) > 0).all(1)])
    found = check(mesh, at(BODY, 0.1, 0.2, 0.3)).frames[0]
    assert found.self_pairs == len(pliant.intersections(mesh)) > 20
    assert found.body_pairs == len(pliant.intersections(mesh, at(BODY, 0.1, 0.2, 0.3)))


def test_vertices_that_no_face_uses_are_not_counted():
    cloth = sheet(2.0)
    stray = Mesh(np.concatenate([cloth.vertices, [[0.0, 0.0, 0.0]]]), cloth.faces)
    assert check(stray, BODY).worst.inside == 0


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        (Limits(depth=0.0), ["deep in frame 0, 0 mm allowed"]),
        (Limits(depth=1.0), []),
        (Limits(depth=None, inside=3), ["vertices inside in frame 0, 3 allowed"]),
        (Limits(depth=None, body_pairs=0), ["pairs of triangles of garment and body cross"]),
        (Limits(depth=None, clearance=0.001), ["at least 1 mm required"]),
        (Limits(depth=None, inside=10_000, body_pairs=10_000, clearance=-1.0), []),
    ],
)
def test_limits_are_kept_or_named(limits, words):
    told = check(sheet(), BODY).broken(limits)
    assert len(told) == len(words)
    assert all(word in text for word, text in zip(words, told))


def test_frames_that_do_not_match_and_things_that_are_no_surface_are_refused():
    moving = Clip(BODY, BODY.vertices[None].repeat(3, 0))
    with pytest.raises(ValueError, match="garment has 2 frames and body has 3"):
        check(Clip(sheet(), sheet().vertices[None].repeat(2, 0)), moving)
    with pytest.raises(ValueError, match="has no faces; expected a surface"):
        check(Mesh([[0.0, 0.0, 0.0]], np.zeros((0, 3), np.int32)))
    with pytest.raises(ValueError, match="garment is an array of shape"):
        check(np.zeros((3, 3)))
    with pytest.raises(ValueError, match="every"):
        check(sheet(), every=0)


def test_it_is_the_same_under_the_public_name():
    assert pliant.check is check


def test_where_the_body_comes_through_between_vertices_is_a_place():
    coarse = sheet(0.47, 2)  # its four corners are far outside
    report = check(coarse, BODY)
    assert report.worst.inside == 0
    assert [place.kind for place in report.places] == ["body"]
    assert report.places[0].length == pytest.approx(report.worst.loop_length)
    assert report.places[0].length == pytest.approx(2.0 * np.pi * np.sqrt(0.25 - 0.47**2), rel=0.1)


@pytest.mark.parametrize(
    ("old", "new"), [("away", "distances"), ("cuts", "curves"), ("sided", "has_inside"), ("unjudged", "unchecked")]
)
def test_the_earlier_names_of_a_report_still_work_and_warn(old, new):
    report = check(sheet())
    with pytest.warns(DeprecationWarning, match=f"Report.{old} is now {new}"):
        found = getattr(report, old)
    assert found is getattr(report, new) or found == getattr(report, new)
