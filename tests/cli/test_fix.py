"""`pliant fix`, by the words people type."""

import json

import numpy as np
import pytest

import pliant
from pliant import cli, shapes

pytestmark = pytest.mark.compiled


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a ball and a square of cloth that hangs 5 mm into its top."""
    monkeypatch.chdir(tmp_path)
    sheet = shapes.cloth(0.16, 0.16, 9)
    pliant.save("sheet.obj", sheet.moved(sheet.vertices + np.array([0.0, 0.095 - sheet.bounds[0, 1], 0.0])))
    pliant.save("ball.obj", shapes.ball(0.1, 3))
    return tmp_path


def depth(path: str) -> float:
    return -float(pliant.closest_point(pliant.load("ball.obj"), pliant.load(path).vertices)[0].min())


def test_a_mesh_is_written_that_is_outside_and_the_table_says_what_was_done(here, capsys):
    assert cli.run(["fix", "sheet.obj", "--body", "ball.obj", "--clearance", "2mm", "-o", "out.obj"]) == 0
    assert depth("sheet.obj") > 0.004
    assert depth("out.obj") <= -0.002 + 1e-6
    shown = capsys.readouterr().out
    assert "vertices inside" in shown
    assert "edge strain" in shown


def test_an_animation_is_written_frame_by_frame(here, capsys):
    mesh = pliant.load("sheet.obj")
    frames = np.stack([mesh.vertices + np.array([0.0, 0.002 * t, 0.0]) for t in range(4)])
    pliant.save_animation("sheet.npz", [pliant.Clip(mesh, frames)], 24)
    assert cli.run(["fix", "sheet.npz", "-b", "ball.obj", "-o", "out.pc2", "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["after"]["worst_depth_m"] <= 1e-4
    assert len(figures["before"]["frames"]) == 4
    found, _ = pliant.load_clip("sheet.obj", points="out.pc2")
    assert len(found) == 4


def test_a_sequence_is_not_written_over_what_is_read(here, capsys):
    mesh = pliant.load("sheet.obj")
    pliant.save_animation("run.obj", [pliant.Clip(mesh, np.stack([mesh.vertices] * 3))], 24)
    assert cli.run(["fix", "run_*.obj", "-b", "ball.obj", "-o", "run.obj"]) == 2
    assert "a file that is read" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["sheet.obj", "-b", "none.obj", "-o", "out.obj"], "no such file"),
        (["sheet.obj", "-b", "ball.obj", "-o", "sheet.obj"], "would overwrite an input file"),
        (["sheet.obj", "-b", "ball.obj", "-o", "out.txt"], "unknown extension"),
        (["sheet.obj", "-b", "ball.obj", "-o", "out.obj", "--clearance", "2 miles"], "expected a length such as 2mm"),
        (["sheet.obj", "-o", "out.obj", "--over", "ball.obj"], "give a body"),
        (["nan.obj", "-b", "ball.obj", "-o", "out.obj"], "nan.obj (line 2)"),
        (["empty.obj", "-b", "ball.obj", "-o", "out.obj"], "empty"),
    ],
)
def test_bad_use_is_one_clear_line_and_writes_nothing(here, capsys, words, said):
    (here / "nan.obj").write_text("v 0 0 0\nv 1 0 nan\nv 0 1 0\nf 1 2 3\n")
    (here / "empty.obj").write_text("")
    assert cli.run(["fix", *words]) == 2
    assert said in " ".join(capsys.readouterr().err.split())
    assert not (here / "out.obj").exists()
