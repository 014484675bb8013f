"""`pliant check` as people use it: limits and exit codes, tables and JSON, files that are not what they should be."""

import json
import pathlib

import numpy as np
import pytest

import pliant
from pliant import Mesh, cli, shapes
from pliant.motion.clip import Clip

pytestmark = pytest.mark.compiled
BALL = shapes.ball(0.1, 3)


def sheet(height: float) -> Mesh:
    cloth = shapes.cloth(0.3, 0.3, 13)
    return cloth.moved(cloth.vertices + np.array([0.003, height, 0.001]))


@pytest.fixture
def here(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """A folder with a ball, a cloth that clips 5 mm of it, one that does not, and one that moves."""
    pliant.save(tmp_path / "ball.ply", BALL)
    pliant.save(tmp_path / "clips.obj", sheet(0.095))
    pliant.save(tmp_path / "clear.obj", sheet(0.102))
    pliant.save(tmp_path / "open.obj", Mesh(BALL.vertices, BALL.faces[1:]))
    pliant.save(tmp_path / "inward.obj", Mesh(BALL.vertices, BALL.faces[:, ::-1]))
    falling = np.stack([sheet(0.104 - 0.002 * t).vertices for t in range(6)])
    pliant.save_animation(tmp_path / "falling.npz", [Clip(sheet(0.104), falling)], 10.0)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said(capsys, *words: str) -> dict:
    code = cli.run(["check", *words, "--json"])
    return json.loads(capsys.readouterr().out) | {"code": code}


def complaint(capsys, *words: str) -> str:
    assert cli.run(["check", *words]) == 2
    out, talk = capsys.readouterr()
    assert out == ""
    lines = [line for line in talk.splitlines() if not line.endswith("...")]
    assert lines[0].startswith("error: ")
    assert "Traceback" not in talk
    return talk


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["clear.obj", "-b", "ball.ply"], 0),
        (["clips.obj", "-b", "ball.ply"], 1),
        (["clips.obj", "-b", "ball.ply", "--max-depth", "6mm"], 0),
        (["clips.obj", "-b", "ball.ply", "--max-depth", "0.6cm"], 0),
        (["clips.obj", "-b", "ball.ply", "--max-depth", "0.006"], 0),
        (["clips.obj", "-b", "ball.ply", "--max-depth", "4mm"], 1),
        (["clips.obj", "-b", "ball.ply", "--max-depth", "6mm", "--max-inside", "1"], 1),
        (["clips.obj", "-b", "ball.ply", "--max-depth", "6mm", "--max-inside", "99"], 0),
        (["clips.obj", "-b", "ball.ply", "--max-depth", "6mm", "--max-body-pairs", "3"], 1),
        (["clips.obj", "-b", "ball.ply", "--max-depth", "6mm", "--max-cuts", "3"], 1),
        (["clear.obj", "-b", "ball.ply", "--min-clearance", "1mm"], 0),
        (["clear.obj", "-b", "ball.ply", "--min-clearance", "5mm"], 1),
        (["clips.obj"], 0),
        (["falling.npz", "-b", "ball.ply"], 1),
    ],
)
def test_limits_decide_the_exit_code(here, capsys, words, code):
    assert cli.run(["check", *words]) == code
    talk = capsys.readouterr().err
    assert ("allowed" in talk or "required" in talk) == bool(code)


def test_the_table_says_what_is_wrong_and_where(here, capsys):
    cli.run(["check", "falling.npz", "--body", "ball.ply"])
    out = capsys.readouterr().out
    for word in ("vertices inside", "deepest", "least clearance", "garment intersects body", "frames have problems"):
        assert word in out
    assert "locations" in out
    assert "mm deep" in out


def test_json_holds_every_frame_and_the_worst_places(here, capsys):
    figures = said(capsys, "falling.npz", "-b", "ball.ply")
    assert figures["code"] == 1
    assert not figures["within_limits"]
    assert [f["frame"] for f in figures["frames"]] == list(range(6))
    assert figures["frames"][5]["time"] == 0.5
    assert figures["worst_frame"] == 5
    assert figures["worst_depth_m"] == figures["frames"][5]["deepest"]
    assert figures["places"][0]["frame"] == 5
    assert figures["frames"][0]["overlap"] is None
    assert figures["penetrating"] is True
    assert {"inside", "deepest", "direction", "share", "clearance", "self_pairs", "loops", "loop_length"} <= set(
        figures["frames"][0]
    )


def test_millimetres_and_z_up_are_understood(here, capsys):
    for name, mesh in (("ball", BALL), ("clips", sheet(0.095))):
        x = 1e3 * mesh.vertices[:, [0, 2, 1]] * (1.0, -1.0, 1.0)
        pliant.save(f"{name}.stl", Mesh(x, mesh.faces))
    plain = said(capsys, "clips.obj", "-b", "ball.ply")
    scaled = said(capsys, "clips.stl", "-b", "ball.stl", "--units", "mm", "--up", "z")
    assert scaled["worst_depth_m"] == pytest.approx(plain["worst_depth_m"], abs=1e-7)
    assert scaled["frames"][0]["direction"] == pytest.approx(plain["frames"][0]["direction"], abs=1e-4)


def test_every_and_fps_choose_frames_and_times(here, capsys):
    figures = said(capsys, "falling.npz", "-b", "ball.ply", "--every", "2", "--fps", "20")
    assert [(f["frame"], f["time"]) for f in figures["frames"]] == [(0, 0.0), (2, 0.1), (4, 0.2)]


def test_an_open_body_says_where_it_is_open(here, capsys):
    assert cli.run(["check", "clips.obj", "-b", "open.obj"]) == 1
    out, talk = capsys.readouterr()
    assert "note: body 'open' is open: shell 0 mesh (1,279 faces, 3 boundary edges around (0.00" in talk
    assert "shells of the body" in out
    assert "vertices inside" in out
    pliant.save("cup.obj", Mesh(BALL.vertices, BALL.faces[BALL.vertices[BALL.faces].mean(1)[:, 1] < 0.05]))
    pliant.save("rim.obj", sheet(0.045))
    words = "rim.obj", "-b", "cup.obj", "--max-depth", "5cm"
    figures = said(capsys, *words)
    assert figures["frames"][0]["unknown"] > 0  # in its opening
    assert figures["penetrating"] is True
    assert "no known side of the open body" in figures["broken"][0]
    assert said(capsys, *words, "--max-body-pairs", "999")["code"] == 0


def test_a_sheet_as_a_body_says_what_could_not_be_judged(here, capsys):
    pliant.save("wall.obj", shapes.cloth(0.3, 0.3, 5, plane="xy"))
    assert cli.run(["check", "clear.obj", "-b", "wall.obj"]) == 1
    out, talk = capsys.readouterr()
    assert "not checked: vertices inside" in talk
    assert "16 boundary edges" in talk
    assert "their depth is undefined" in talk
    assert "vertices inside" not in out
    pliant.save("far.obj", sheet(0.6))
    figures = said(capsys, "far.obj", "-b", "wall.obj")
    assert (figures["code"], figures["penetrating"], figures["worst_depth_m"]) == (0, None, None)


def test_an_inside_out_body_is_told_and_judged(here, capsys):
    figures = said(capsys, "clips.obj", "-b", "inward.obj")
    assert "inside out" in figures["unjudged"][0]
    plain = said(capsys, "clips.obj", "-b", "ball.ply")
    assert figures["worst_depth_m"] == pytest.approx(plain["worst_depth_m"], abs=1e-9)


def test_a_garment_that_is_inside_out_or_has_a_hole_is_judged(here, capsys):
    cloth = sheet(0.095)
    pliant.save("turned.obj", Mesh(cloth.vertices, cloth.faces[:, ::-1]))
    pliant.save("hole.obj", Mesh(cloth.vertices, np.delete(cloth.faces, [100, 101], 0)))
    plain, turned, hole = (said(capsys, name, "-b", "ball.ply") for name in ("clips.obj", "turned.obj", "hole.obj"))
    assert turned["frames"][0]["inside"] == plain["frames"][0]["inside"] > 0
    assert hole["frames"][0]["deepest"] == pytest.approx(plain["frames"][0]["deepest"], abs=1e-9)
    assert hole["issues"]["boundary"] > plain["issues"]["boundary"]


def test_a_garment_shifted_3_cm_into_the_body_is_3_cm_deep(here, capsys):
    pliant.save("shirt.obj", sheet(0.07))
    assert said(capsys, "shirt.obj", "-b", "ball.ply")["worst_depth_m"] == pytest.approx(0.03, abs=1e-3)


def test_non_manifold_and_self_intersecting_files_are_counted(here, capsys):
    a, b = sheet(0.0), sheet(0.0)
    x = np.concatenate([a.vertices, b.vertices[:, [1, 0, 2]] * 0.7])
    faces = np.concatenate([a.faces, b.faces + a.n_vertices, a.faces[:1]])
    pliant.save("cross.obj", Mesh(x, faces))
    figures = said(capsys, "cross.obj")
    assert figures["code"] == 1
    pairs = pliant.intersections(pliant.load("cross.obj"))  # one of them is the face that is there twice
    assert figures["self_intersections"] == len(pairs) - 1 > 10
    assert figures["issues"]["duplicate"] == 1
    assert figures["issues"]["non-manifold"] >= 1
    assert cli.run(["check", "cross.obj", "--max-self", "100000"]) == 0


def test_a_tenth_of_the_vertices_not_finite_is_one_clear_error(here, capsys):
    x = sheet(0.095).vertices.copy()
    x[::10, 1] = np.nan
    lines = [f"v {a} {b} {c}" for a, b, c in x] + [f"f {a} {b} {c}" for a, b, c in sheet(0.095).faces + 1]
    pathlib.Path("nan.obj").write_text("\n".join(lines))
    talk = complaint(capsys, "nan.obj", "-b", "ball.ply")
    assert "nan.obj" in talk
    assert "line 1" in talk


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["none.obj"], "none.obj"),
        (["clips.obj", "-b", "none.ply"], "none.ply"),
        (["clips.obj", "--body-points", "x.pc2"], "--body"),
        (["clips.obj", "-b", "ball.ply", "--max-depth", "five"], "--max-depth"),
        (["clips.obj", "-b", "ball.ply", "--max-depth", "-1mm"], "--max-depth"),
        (["clips.obj", "--max-self", "-1"], "--max-self"),
        (["clips.obj", "--every", "0"], "every"),
        (["clips.obj", "--report", "out.txt"], "--report"),
        (["clips.obj", "--sheet", "out.html"], "--sheet"),
        (["empty.obj"], "empty.obj"),
        (["falling.npz", "-b", "other.npz"], "6 frames"),
    ],
)
def test_bad_use_and_bad_files_are_one_clear_error(here, capsys, words, told):
    pathlib.Path("empty.obj").write_text("# nothing\n")
    np.savez("other.npz", frames=BALL.vertices[None].repeat(4, 0), faces=BALL.faces)
    assert told in complaint(capsys, *words)


def test_points_alone_are_no_surface(here, capsys):
    pathlib.Path("points.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\n")
    assert "faces" in complaint(capsys, "points.obj")


def test_report_and_sheet_are_written(here, capsys, small_pictures):
    from PIL import Image

    figures = said(capsys, "clips.obj", "-b", "ball.ply", "--report", "deep/out.html", "--sheet", "deep/out.png")
    assert figures["files"] == [str(pathlib.Path("deep/out.html")), str(pathlib.Path("deep/out.png"))]
    assert '"frameCount":1' in pathlib.Path("deep/out.html").read_text("utf-8")
    assert np.asarray(Image.open("deep/out.png")).std() > 5.0


def test_distances_are_written_for_other_programs_with_progress_as_lines(here, capsys, monkeypatch):
    monkeypatch.setenv("PLIANT_PROGRESS", "lines")
    words = ["check", "falling.npz", "-b", "ball.ply", "--every", "2", "--distances", "far.npz"]
    assert cli.run(words) == 1
    lines = [line.split() for line in capsys.readouterr().err.splitlines() if line.startswith("progress ")]
    shares = [float(share) for _, share, *what in lines if what == ["checking", "falling.npz"]]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0.0, 1.0)
    with np.load("far.npz") as found:
        assert found["frames"].tolist() == [0, 2, 4]
        height = np.linalg.norm(sheet(0.096).vertices, axis=1) - 0.1  # the ball is a polyhedron inside of the sphere
        assert np.abs(found["distances"][2] - height).max() < 1e-3
        assert found["distances"][2].min() < 0.0
    assert cli.run(["check", "clips.obj", "--distances", "far.npz"]) == 2


def test_without_a_body_the_table_of_frames_has_no_columns_about_one(here, capsys):
    x = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0.2, 0.2, -1], [0.3, 0.2, 1], [0.2, 0.3, 1]], float)
    sheet = pliant.Mesh(x, [[0, 1, 2], [3, 4, 5]])
    pliant.save_animation("through.npz", [pliant.Clip(sheet, [x, x])], fps=30)
    assert cli.run(["check", "through.npz"]) == 1
    out = capsys.readouterr().out
    assert "2 of 2 frames have problems" in out
    assert "self" in out
    assert "inside" not in out
    assert "deepest" not in out
