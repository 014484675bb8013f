"""What cuts is wrong: crossing triangles count, whatever vertices say; what merely touches does not."""

import json

import numpy as np
import pytest

import pliant
from conftest import cases
from pliant import Mesh, cli, shapes
from pliant.audit.check import check
from pliant.audit.findings import Limits
from pliant.audit.views import verdict
from pliant.motion.clip import Clip

pytestmark = pytest.mark.compiled
BOX = shapes.box((1.0, 1.0, 1.0), 3)
SHEET = Mesh([[-2, 0.1, -2], [2, 0.1, -2], [2, 0.1, 2], [-2, 0.1, 2]], [[0, 2, 1], [0, 3, 2]], name="sheet")


def turn_of(rng: np.random.Generator) -> np.ndarray:
    q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    return q * np.sign(np.linalg.det(q))


def shuffled(mesh: Mesh, rng: np.random.Generator, turn: np.ndarray, size: float, move: np.ndarray) -> Mesh:
    """Turned, scaled, moved and numbered anew."""
    rank = rng.permutation(mesh.n_vertices)
    x = np.empty_like(mesh.vertices)
    x[rank] = size * mesh.vertices @ turn.T + move
    return Mesh(x, rank[mesh.faces][rng.permutation(mesh.n_faces)])


def crossing_edges(a: Mesh, b: Mesh) -> int:
    """Edges of either mesh that go through faces of the other, by signs of volumes in NumPy: 0 where nothing cuts."""
    count = 0
    for one, two in ((a, b), (b, a)):
        ends, t = one.vertices[one.topology.edges], two.vertices[two.faces]
        p, q = ends[:, None, 0], ends[:, None, 1]
        o, u, v = (t[None, :, k] for k in range(3))

        def volume(i, j, k, m):
            return (np.cross(j - i, k - i) * (m - i)).sum(-1)

        sides = volume(o, u, v, p) * volume(o, u, v, q) < 0.0
        around = np.stack([volume(p, q, *pair) for pair in ((o, u), (u, v), (v, o))])
        count += int((sides & ((around > 0.0).all(0) | (around < 0.0).all(0))).sum())
    return count


def test_a_sheet_through_a_box_is_wrong_with_all_its_corners_outside():
    report = check(SHEET, BOX)
    found = report.frames[0]
    assert (found.inside, found.deepest) == (0, 0.0)
    assert report.penetrating
    assert not report.ok
    assert report.crossings == found.crossings == found.body_pairs > 0
    assert report.worst_depth == found.between == pytest.approx(0.4, rel=0.06)
    assert found.clearance == -found.between
    assert np.abs(np.array(found.between_at)).max() < 0.5
    assert report.places[0].depth == pytest.approx(report.worst_depth)
    said = report.to_json()
    assert (said["penetrating"], said["crossings"], said["crossings_total"]) == (True,) + 2 * (found.crossings,)
    assert said["frames"][0]["crossings"] == found.crossings
    assert "pairs of triangles cross" in report.facts["vertices inside"]
    (told,) = report.broken(Limits())
    assert "deep, between vertices, in frame 0, 0 mm allowed" in told
    assert f"{found.crossings} pairs of triangles of garment and body cross" in told


def test_limits_of_depth_hold_between_vertices_and_limits_of_cuts_are_cuts():
    report = check(SHEET, BOX)
    assert report.broken(Limits(depth=0.001))
    assert not report.broken(Limits(depth=0.5))
    assert not report.broken(Limits(body_pairs=report.crossings))
    assert report.broken(Limits(depth=0.5, body_pairs=report.crossings - 1))
    assert report.broken(Limits(clearance=0.001))
    assert not report.broken(Limits(depth=None))


@pytest.mark.parametrize("many", [8, pytest.param(300, marks=pytest.mark.long)])
def test_whatever_cuts_is_penetrating_and_not_ok_turned_scaled_moved_and_permuted(rng, many):
    crossed = 0
    for _ in range(cases(many)):
        turn, size = turn_of(rng), 10.0 ** rng.uniform(-4.0, 4.0)
        move = size * rng.normal(size=3) * rng.choice([0.0, 100.0])
        body = shuffled(BOX, rng, turn, size, move)
        sheet = SHEET.moved(SHEET.vertices @ turn_of(rng).T * rng.uniform(0.1, 1.0) + rng.normal(0.0, 0.5, 3))
        garment = shuffled(sheet, rng, turn, size, move)
        report = check(garment, body)
        cut = crossing_edges(garment, body) > 0
        crossed += cut
        assert (report.crossings > 0) == cut
        assert report.penetrating == (cut or report.frames[0].inside > 0)
        assert report.ok != report.penetrating
        assert (report.worst_depth > 0.0) == report.penetrating
        # no depth is made up: the point is as deep as it is said to be, and so near the surface
        if report.frames[0].between:
            away = pliant.closest_point(body, np.array([report.frames[0].between_at]))[0]
            assert -away[0] == pytest.approx(report.frames[0].between, rel=1e-6)
    assert crossed or many < 8


@pytest.mark.parametrize("move", [(0.0, 0.4, 0.0), (0.1, 0.4, -0.03)])
def test_a_sheet_that_lies_on_a_face_touches_and_is_fine(move):
    for sheet in (
        SHEET,
        shapes.cloth(0.6, 0.6, 7, centre=(0.0, 0.1, 0.0)),
        shapes.cloth(1.0, 1.0, 4, centre=(0, 0.1, 0)),
    ):
        flat = sheet.vertices * (1.0, 0.0, 1.0) + (0.0, 0.1, 0.0)
        report = check(sheet.moved(flat + move), BOX)
        assert report.frames[0].body_pairs > 0
        assert (report.crossings, report.worst_depth, report.penetrating) == (0, 0.0, False)
        assert report.ok
        assert "without crossing" in report.facts["garment intersects body"]


def test_a_corner_on_a_ridge_and_an_edge_along_one_touch():
    hanging = Mesh([[0.5, 0.5, 0.1], [0.4, 1.5, 0.1], [0.9, 1.5, 0.2]], [[0, 1, 2]])
    along = Mesh([[0.5, 0.5, -0.3], [0.5, 0.5, 0.3], [1.0, 1.0, 0.0]], [[0, 1, 2]])
    for mesh in (hanging, along):
        report = check(mesh, BOX)
        assert report.frames[0].body_pairs > 0
        assert report.ok


def test_a_sheet_exactly_along_the_edges_of_the_body_is_a_cut():
    body = shapes.box((1.0, 1.0, 1.0), 2)  # it has edges at height 0
    for sheet in (SHEET, shapes.cloth(2.0, 2.0, 5, centre=(0.0, 0.0, 0.0))):
        flat = sheet.moved(sheet.vertices * (1.0, 0.0, 1.0))
        report = check(flat, body)
        assert report.crossings > 0
        assert not report.ok
        assert report.worst_depth == pytest.approx(0.5, rel=0.06)


def test_an_open_body_is_crossed_or_touched():
    floor = Mesh([[-1, 0, -1], [1, 0, -1], [1, 0, 1], [-1, 0, 1]], [[0, 2, 1], [0, 3, 2]], name="floor")
    lies = shapes.cloth(0.6, 0.6, 5)
    lies = lies.moved(lies.vertices * (1.0, 0.0, 1.0))
    stands = Mesh([[0.1, 0.0, 0.1], [0.5, 1.0, 0.2], [0.2, 1.0, 0.5]], [[0, 1, 2]])
    for mesh in (lies, stands):
        assert check(mesh, floor).ok
    report = check(stands.moved(stands.vertices - (0.0, 0.5, 0.0)), floor)
    assert report.crossings
    assert not report.ok
    assert report.to_json()["penetrating"] is True
    assert report.to_json()["worst_depth_m"] is None


def test_one_large_triangle_with_a_corner_barely_inside_is_as_deep_as_it_is():
    mesh = Mesh([[-0.499, 0.1, 0.0], [3.0, 0.1, -2.0], [3.0, 0.1, 2.0]], [[0, 1, 2]])
    report = check(mesh, BOX)
    assert report.frames[0].inside == 1
    assert report.frames[0].deepest == pytest.approx(0.001)
    assert report.worst_depth == pytest.approx(0.4, rel=0.06)
    assert report.places[0].depth == report.worst_depth  # the deepest point is the first place, vertex or not
    assert report.broken(Limits(depth=0.01))


def test_frames_are_counted_one_by_one_and_in_total():
    frames = np.stack([SHEET.vertices + np.array([0.0, h, 0.0]) for h in (0.7, 0.0, 0.2, 0.6)])
    report = check(Clip(SHEET, frames), BOX)
    per = [f.crossings for f in report.frames]
    assert [bool(n) for n in per] == [False, True, True, False]
    assert (report.crossings, report.to_json()["crossings_total"]) == (max(per), sum(per))
    assert "intersects the body in 2 of 4 frames" in verdict(report)


@pytest.mark.parametrize(
    ("words", "code"),
    [([], 1), (["--max-depth", "1mm"], 1), (["--max-depth", "0.5m"], 0), (["--max-body-pairs", "99"], 0)],
)
def test_the_exit_code_is_that_of_the_picture(tmp_path, monkeypatch, capsys, words, code):
    monkeypatch.chdir(tmp_path)
    pliant.save("box.obj", shapes.box((1.0, 1.0, 1.0)))
    pliant.save("sheet.obj", SHEET)
    assert cli.run(["check", "sheet.obj", "--body", "box.obj", "--json", *words]) == code
    said = json.loads(capsys.readouterr().out)
    assert said["penetrating"] is True
    assert said["within_limits"] is (code == 0)
    assert said["crossings"] > 0
    assert cli.run(["check", "sheet.obj", "--body", "box.obj", *words]) == code
    out, talk = capsys.readouterr()
    assert "cross" in talk
    assert "between vertices" in out


def test_fix_brings_a_sheet_out_that_is_cut_between_its_vertices(rng):
    ball = shapes.ball(0.5, 3)
    for n in (2, 3, 5, 9):
        cloth = shapes.cloth(1.2, 1.2, n)
        cloth = cloth.moved(cloth.vertices @ turn_of(rng).T + rng.uniform(-0.01, 0.01, 3))
        out = cloth.vertex_normals.mean(0)
        fixed = pliant.fix(cloth.moved(cloth.vertices + 0.47 * out / np.linalg.norm(out)), ball)
        assert fixed.before.crossings
        assert (fixed.after.crossings, fixed.after.worst_depth) == (0, 0.0)
    fixed = pliant.fix(SHEET, BOX)
    assert crossing_edges(fixed.garment.mesh, BOX) == 0


def test_fix_tells_and_counts_the_cuts_it_leaves(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pliant.save("box.obj", BOX)
    pliant.save("pipe.obj", BOX.moved(BOX.vertices * (0.4, 3.0, 0.4)))
    assert cli.run(["fix", "pipe.obj", "--body", "box.obj", "-o", "new.obj", "--max-strain", "1e-9", "--json"]) == 1
    said = json.loads(capsys.readouterr().out)
    after = check(pliant.load("new.obj"), BOX)
    assert after.crossings == said["after"]["crossings"] > 0
    assert f"{after.crossings} pairs of triangles of garment and body cross" in " ".join(said["remains"])
