"""What holds a garment, by the words people type: `pliant drape`, `pliant play`, `--config`."""

import pathlib

import numpy as np
import pytest

import pliant
from characters import post, sleeve
from pliant import cli
from pliant.cli.play import make_session
from pliant.cli.reading import PAIR
from pliant.cli.scene_building import HoldOptions
from pliant.cli.wear_options import WearOptions

SHORT = ["--frames", "3", "--substeps", "2", "-o", "a.npz"]


@pytest.fixture
def here(tmp_path, monkeypatch) -> pathlib.Path:
    """A folder with a garment, a character, a sheet and a ball, to stand in."""
    pliant.save_character(tmp_path / "post.glb", post())
    pliant.save(tmp_path / "sleeve.obj", sleeve())
    pliant.save(tmp_path / "sheet.obj", pliant.shapes.cloth(0.4, 0.4, 5, centre=(0.0, 0.3, 0.0)))
    pliant.save(tmp_path / "ball.obj", pliant.shapes.ball(0.2, 2))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def drape(*words: str) -> int:
    return cli.run(["drape", *words, *SHORT])


@pytest.mark.compiled
def test_pins_do_not_move(here, capsys):
    assert drape("sheet.obj", "ball.obj", "--pin", "left 1mm", "--pin", "ids:0-1") == 0
    x = np.load("a.npz")["frames_0"]
    held = np.flatnonzero((x[-1] == x[0]).all(1))
    left = np.flatnonzero(x[0, :, 0] > 0.19)
    assert held.tolist() == sorted({*left.tolist(), 0, 1})
    told = capsys.readouterr().err
    assert "note: 5 vertices of 'sheet' are pinned" in told
    assert "note: 2 vertices of 'sheet' are pinned" in told


@pytest.mark.compiled
def test_an_attachment_replaces_the_automatic_one_and_is_told(here, capsys):
    assert drape("sleeve.obj", "post.glb", "--attach", "boundary top") == 0
    told = capsys.readouterr().err
    assert "note: 16 vertices of 'sleeve' are attached to the skin of 'post'" in told


@pytest.mark.compiled
def test_boundaries_are_sewn_and_cloth_shrinks(here, capsys):
    words = ["--stitch", "left 1mm", "right 1mm", "--rest-scale", "0.95,1", "--closing", "0.02"]
    assert drape("sheet.obj", "ball.obj", "--place", "as-is", *words) == 0
    assert "5 stitches in 1 seams join 'left 1mm' and 'right 1mm'" in capsys.readouterr().err
    x = np.load("a.npz")["frames_0"]
    assert np.ptp(x[-1, :, 0]) < 0.9 * np.ptp(x[0, :, 0])


@pytest.mark.compiled
def test_stitches_are_read_from_a_file_of_pairs(here, capsys):
    (here / "seams.txt").write_text("# corners\n0 4\n20, 24  # the other side\n\n")
    assert drape("sheet.obj", "ball.obj", "--place", "as-is", "--stitches", "seams.txt") == 0
    assert "2 stitches join pairs of vertices of 'sheet'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["sheet.obj", "ball.obj", "--pin", "group:Cuff"], "has no group 'Cuff'; its groups are: cloth"),
        (["sheet.obj", "ball.obj", "--pin", "sphere:9,9,9,1"], "names no vertex"),
        (["sheet.obj", "ball.obj", "--attach", "waist"], "needs a character with bones"),
        (["sleeve.obj", "post.glb", "--attach", "waist"], "its bones are:"),
        (["sheet.obj", "ball.obj", "--stitches", "none.txt"], "no such file"),
        (["sheet.obj", "ball.obj", "--stitches", "words.txt"], "words.txt (line 2): expected two vertices"),
        (["sheet.obj", "ball.obj", "--stitches", "lines"], "has no line elements"),
        (["sheet.obj", "ball.obj", "--rest-scale", "small"], "--rest-scale is 'small'"),
        (["sheet.obj", "ball.obj", "--rest-scale", "0"], "--rest-scale"),
    ],
)
def test_what_cannot_be_held_is_refused_in_one_line(here, capsys, words, said):
    (here / "words.txt").write_text("0 1\nand so on\n")
    assert drape(*words) == 2
    told = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error")]
    assert len(told) == 1
    assert said in told[0]


@pytest.mark.compiled
def test_holding_can_be_given_in_a_toml_file(here, capsys):
    (here / "hold.toml").write_text('pin = ["left 1mm"]\nstitch = [["right 1mm", "front 1mm"]]\nrest-scale = "0.9"\n')
    assert drape("sheet.obj", "ball.obj", "--config", "hold.toml") == 0
    told = capsys.readouterr().err
    assert "5 vertices of 'sheet' are pinned" in told
    assert "stitches in 1 seams join" in told


def test_play_holds_files_and_built_in_scenes(here):
    held = HoldOptions(pin=("ids:3",))
    for scene, body in (("sheet.obj", here / "ball.obj"), ("tablecloth-on-ball", None)):
        options = {} if body else {"resolution": 4}
        session = make_session(scene, body, None, here, "auto", PAIR, WearOptions(), options, held, 1)
        assert 3 in session._start_options.own.bodies[0].pins
        assert session._start_options.subdivide == 1
