"""On characters as they come, `check` says of every vertex in every frame what libigl says."""

import json
import os

import numpy as np
import pytest

import pliant
from characters import NaiveCharacter, naive_shape
from conftest import DATA, SEED
from detect.shells import wrong_depths
from pliant import cli
from pliant.audit.findings import NoteKind
from wild import CLOSED, KINDS, garment, joined_shells, saved, shells_at

pytestmark = pytest.mark.compiled
igl = pytest.importorskip("igl")
FPS = 5
EVERY = int(os.environ.get("PLIANT_EVERY", "1"))  # of the frames of rigged files, in the long test
MARGIN = 0.002  # of winding numbers of open bodies, which are approximate


def winding(x, faces, points):
    return np.ravel(igl.winding_number(x, faces.astype(np.int64), points))


def away(x, faces, points):
    return np.sqrt(np.ravel(igl.point_mesh_squared_distance(points, x, faces.astype(np.int64))[0]))


def judge(found, distance, x, faces, points, *, closed, size):
    """One frame of a report against winding numbers and distances; returns the vertices inside."""
    number, far = winding(x, faces, points), away(x, faces, points)
    sure = far > 1e-6 * size
    low, high = (0.5, 0.5) if closed else (0.4 - MARGIN, 0.6 + MARGIN)
    inside, outside = sure & (number > high), sure & (number < low)
    assert (distance[inside] < 0.0).all()
    assert (distance[outside] > 0.0).all()
    assert inside.sum() <= found.inside <= (~outside).sum()
    np.testing.assert_allclose(distance[outside], far[outside], rtol=1e-5, atol=1e-6 * size)
    if closed:
        assert found.unknown == 0
    else:  # all faces count
        np.testing.assert_allclose(-distance[inside], far[inside], rtol=1e-5, atol=1e-6 * size)
        assert found.unknown <= (~inside & ~outside).sum()
        unknown = sure & (number > 0.4 + MARGIN) & (number < 0.6 - MARGIN)
        assert unknown.sum() <= found.unknown
        assert (distance[unknown] > 0.0).all()
    return np.flatnonzero(inside)


@pytest.fixture(params=KINDS, scope="module")
def wild(request, tmp_path_factory):
    """A character of a kind, its shells, a garment, and the report of a check."""
    rng = np.random.default_rng(SEED)
    path, parts = saved(request.param, rng, tmp_path_factory.mktemp("wild"))
    sheet = pliant.Mesh(*garment(rng), name="sheet")
    pliant.save(path.parent / "sheet.obj", sheet)
    sheet = pliant.load(path.parent / "sheet.obj")
    body, _ = pliant.load_clip(path, fps=FPS)
    return request.param, path, parts, sheet, pliant.check(sheet, body, fps=FPS), rng


def test_every_vertex_of_every_frame_is_where_libigl_says(wild):
    kind, path, parts, sheet, report, rng = wild
    assert len(report.frames) == FPS + 1
    closed, some = kind in CLOSED, 0
    assert report.has_inside
    for k, found in enumerate(report.frames):
        x, faces = joined_shells(shells_at(path, parts, k / FPS))
        size = float(np.linalg.norm(np.ptp(x, axis=0)))
        inside = judge(found, report.distances[k], x, faces, sheet.vertices, closed=closed, size=size)
        some += len(inside)
        deep = [place for place in report.places if place.frame == k and place.kind == "inside"][:2]
        out = np.array([np.add(p.place, p.depth * np.array(p.direction)) for p in deep]).reshape(-1, 3)
        at, depth = sheet.vertices[[p.vertex for p in deep]], np.array([p.depth for p in deep])
        if closed:  # the separation direction leads to the nearest point that is outside
            assert wrong_depths(at, depth, out, x, faces, rng, size) == 0
        else:
            assert away(x, faces, out).max(initial=0.0) < 1e-6 * size
    assert some > 10


def test_every_shell_has_the_vertices_that_libigl_finds_in_it_alone(wild):
    kind, path, parts, sheet, report, _ = wild
    assert [shell.faces for shell in report.shells] == [len(part.faces) for part in parts]
    assert [shell.name for shell in report.shells] == [f"part {k}" for k in range(len(parts))]
    assert all(shell.closed for shell in report.shells) == (kind in CLOSED)
    for k, shell in enumerate(report.shells):
        counts, depths = [], []
        for frame in range(FPS + 1):
            x, faces = shells_at(path, parts, frame / FPS)[k]
            number, far = (query(x, faces, sheet.vertices) for query in (winding, away))
            inside = number > (0.5 if shell.closed else 0.6)
            counts.append(int(inside.sum()))
            depths.append(far[inside].max(initial=0.0))
        assert shell.inside == max(counts)
        if kind != "folded":  # there a face may be buried in its own shell
            assert shell.depth == pytest.approx(max(depths), abs=1e-6)


def test_the_command_prints_the_same_figures(wild, tmp_path, capsys):
    kind, path, _, _, report, _ = wild
    words = ["check", str(path.parent / "sheet.obj"), "--body", str(path), "--fps", str(FPS)]
    assert cli.run([*words, "--json"]) == 1
    said = json.loads(capsys.readouterr().out)
    for shown, found in zip(said["frames"], report.frames, strict=True):
        assert (shown["inside"], shown["unknown"], shown["vertex"]) == (found.inside, found.unknown, found.vertex)
        assert shown["deepest"] == found.deepest
    assert [each["inside"] for each in said["shells"]] == [shell.inside for shell in report.shells]
    if kind == "eyes":
        assert cli.run([*words, "--report", str(tmp_path / "page.html")]) == 1
        printed = capsys.readouterr().out
        assert "shells of the body" in printed
        assert "part 2" in printed
        assert "Shells of the body" in (tmp_path / "page.html").read_text()


def test_where_a_body_is_open_or_inside_out_the_report_says_so_and_where(tmp_path):
    rng = np.random.default_rng(SEED)
    found = {}
    for kind in ("face", "neck", "inward", "card"):
        path, _ = saved(kind, rng, tmp_path)
        body, _ = pliant.load_clip(path, fps=FPS)
        report = pliant.check(pliant.Mesh(*garment(rng)), body)
        found[kind] = {note.kind: note.text for note in report.notes}, report.shells
    notes, shells = found["neck"]
    assert "shell 0 part 0" in notes[NoteKind.OPEN]
    assert "8 boundary edges around (" in notes[NoteKind.OPEN]
    assert shells[0].boundary_at == pytest.approx((0.0, 1.2, 0.0), abs=0.05)
    assert shells[0].sided > 0.5
    notes, shells = found["inward"]
    assert "shell 2 part 2" in notes[NoteKind.INWARD_SHELL]
    assert "faces point inward; treated as if these were reversed" in notes[NoteKind.INWARD_SHELL]
    assert [(shell.inward, shell.turned) for shell in shells] == [(False, False), (True, False), (True, True)]
    assert [shell.within for shell in shells] == [-1, 0, -1]
    assert NoteKind.OPEN not in notes
    assert found["card"][1][0].sided == 0.0  # a sheet has no inside behind it


def test_a_sheet_alone_has_no_inside():
    sheet = pliant.Mesh(*garment(np.random.default_rng(SEED)))
    report = pliant.check(pliant.shapes.cloth(0.5, 0.5, 5, centre=(0.0, 0.6, 0.0)), sheet)
    assert not report.has_inside
    assert NoteKind.NO_INSIDE in [note.kind for note in report.notes]
    assert (report.distances >= 0.0).all()


RIGGED = sorted(DATA.glob("rigged/*.gl*")) if DATA.is_dir() else []


@pytest.mark.parametrize("path", RIGGED, ids=lambda path: path.stem)
def test_on_rigged_files_every_vertex_is_where_libigl_says(path):
    body, _ = pliant.load_clip(path, fps=2.0)
    at = sorted({0, len(body) // 2, len(body) - 1})
    low, high = body.bounds
    x, faces = garment(np.random.default_rng(SEED), size=1.0, count=9)
    x = (x - x.mean(0)) * (high - low).max() + 0.5 * (low + high)
    body = pliant.Clip(body.mesh, np.stack([body.at(t) for t in at]).astype(np.float64))
    sheet = pliant.Mesh(x, faces)
    report = pliant.check(sheet, body)
    closed = body.welds.mesh.issues.encloses
    for k, found in enumerate(report.frames):
        y = np.asarray(body.at(k), np.float64)
        if report.has_inside:
            judge(found, report.distances[k], y, body.mesh.faces, x, closed=closed, size=body.mesh.size)


@pytest.mark.long
@pytest.mark.parametrize("path", RIGGED, ids=lambda path: path.stem)
def test_in_every_frame_of_every_clip_every_vertex_is_where_libigl_says(path, record_property):
    """The oracle places the skin itself: `NaiveCharacter` shares no line with the product."""
    character, twin = pliant.load_character(path), NaiveCharacter(path)
    rng, compared = np.random.default_rng(SEED), 0
    for number, clip in enumerate(character.clips):
        body, fps = pliant.load_clip(path, clip=clip)
        low, high = body.bounds
        x, faces = garment(rng, size=1.0, count=13)
        sheet = pliant.Mesh((x - x.mean(0)) * (high - low).max() + 0.5 * (low + high), faces)
        report = pliant.check(sheet, body, fps=fps)
        closed = body.welds.mesh.issues.encloses
        assert len(report.frames) == len(body)
        for k in range(0, len(body), EVERY):
            y = naive_shape(character, twin, number, k / fps)
            size = float(np.abs(y).max()) + float(np.linalg.norm(np.ptp(y, axis=0)))
            assert np.abs(y - body.at(k)).max() < 1e-6 * size
            if report.has_inside:
                found, distances = report.frames[k], report.distances[k]
                judge(found, distances, y, body.mesh.faces, sheet.vertices, closed=closed, size=size)
                compared += len(sheet.vertices)
    record_property("compared vertices", compared)
    print(f"{path.stem}: {len(character.clips)} clips, {compared:,} vertices compared")


def of_the_human(name):
    """A clip of the walking human."""
    with np.load(DATA / "human" / f"{name}.npz") as file:
        frames, faces = file["V_frames"].astype(np.float64), file["F"]
    return pliant.Clip(pliant.Mesh(frames[0], faces, name=name), frames)


@pytest.mark.long
@pytest.mark.parametrize("name", ["tights", "skirt", "sheet"])
def test_in_every_frame_of_the_walking_human_every_vertex_is_where_libigl_says(name, record_property):
    if not (DATA / "human").is_dir():
        pytest.skip("no ../shared/data beside the checkout")
    body, compared = of_the_human("body"), 0
    if name == "sheet":
        x, faces = garment(np.random.default_rng(SEED), size=1.0, count=13)
        low, high = body.bounds
        x = (x - x.mean(0)) * (high - low).max() + 0.5 * (low + high)
        worn = pliant.Clip(pliant.Mesh(x, faces), np.stack([x] * len(body)))
    else:
        worn = of_the_human(name)
    report = pliant.check(worn, body)
    assert report.has_inside
    closed = body.welds.mesh.issues.encloses
    for k in range(0, len(body), EVERY):
        y, points = (np.asarray(clip.at(k), np.float64) for clip in (body, worn))
        size = float(np.linalg.norm(np.ptp(y, axis=0)))
        judge(report.frames[k], report.distances[k], y, body.mesh.faces, points, closed=closed, size=size)
        compared += len(points)
    record_property("compared vertices", compared)
    print(f"human, {name}: {len(body)} frames, {compared:,} vertices compared")
