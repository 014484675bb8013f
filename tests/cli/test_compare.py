"""`pliant compare` as people use it: tables, JSON, a page, exit codes; bad use is one line."""

import json
import pathlib

import numpy as np
import pytest

import pliant
from pliant import Mesh, cli, shapes
from pliant.detect.detectors.brute_force import BruteForceDetector
from pliant.detect.methods import METHODS


class Forgetful(BruteForceDetector):
    """Loses a contact."""

    def find(self, state):
        return super().find(state)[1:]


@pytest.fixture
def here(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """A folder with a ball, and a cloth that is 5 mm inside of it."""
    cloth = shapes.cloth(0.3, 0.3, 9)
    pliant.save(tmp_path / "ball.ply", shapes.ball(0.1, 2))
    pliant.save(tmp_path / "cloth.obj", cloth.moved(cloth.vertices + np.array([0.003, 0.095, 0.001])))
    pliant.save(tmp_path / "far.obj", Mesh(cloth.vertices + 3.0, cloth.faces))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.compiled
def test_json_has_a_row_for_every_method_and_reasons_for_the_others(here, capsys):
    code = cli.run(["compare", "cloth.obj", "ball.ply", "--within", "6mm", "--json", "--methods", "tree,image_space"])
    told = json.loads(capsys.readouterr().out)
    (role,) = told["roles"]
    assert code == 0
    assert told["kept"]
    assert role["within_m"] == pytest.approx(0.006)
    assert [row["method"] for row in role["methods"]] == ["bvh", "image-space", "image-space:resolution=64"]
    assert [(row["recall"], row["missed"], row["extra"]) for row in role["methods"]] == [(1.0, 0, 0)] * 3
    assert told["auto"]["obstacle"]["name"] == "bvh"


@pytest.mark.compiled
def test_the_table_says_who_does_not_apply_and_what_auto_picks(here, capsys):
    assert cli.run(["compare", "cloth.obj", "--methods", "tree,bone-boxes"]) == 0
    out = capsys.readouterr().out
    for word in ("bvh", "recall", "verdict: 1 method", "does not apply", "finds obstacle only", "auto picks bvh"):
        assert word in out


@pytest.mark.compiled
def test_a_comparison_without_contacts_says_so(here, capsys):
    beside = shapes.cloth(0.3, 0.3, 9, centre=(0.24, 0.09, 0.0))  # the bounding boxes overlap
    pliant.save("beside.obj", beside)
    assert cli.run(["compare", "beside.obj", "ball.ply", "--within", "6mm", "--methods", "bvh,height-grid"]) == 0
    assert (
        "contacts with obstacles: there are none within 6 mm, so that only costs are compared"
        in capsys.readouterr().err
    )
    assert cli.run(["compare", "cloth.obj", "ball.ply", "--within", "6mm", "--methods", "bvh"]) == 0
    assert "there are none" not in capsys.readouterr().err


@pytest.mark.compiled
def test_a_broken_promise_is_exit_code_1_and_said(here, capsys, monkeypatch):
    monkeypatch.setitem(METHODS, "brute-force", Forgetful)
    page = ["-o", "out/report.html"]
    assert cli.run(["compare", "cloth.obj", "ball.ply", "--methods", "brute-force", *page]) == 1
    assert "brute-force (A, exact), contacts with obstacles: 1 missed, 0 extra" in capsys.readouterr().err
    assert "1 guarantee is violated" in (here / "out" / "report.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["tablecloth-on-bal"], "unknown scene 'tablecloth-on-bal'; did you mean 'tablecloth-on-ball'?"),
        (["rod", "ball.ply"], "scene rod has its own bodies; give either a scene or two files"),
        (["none.obj"], "none.obj: no such file"),
        (["cloth.obj", "ball.ply", "--methods", "bv"], "unknown method 'bv'; did you mean 'bvh'?"),
        (["cloth.obj", "ball.ply", "--methods", ","], "methods is empty; one or more of: brute-force"),
        (["cloth.obj", "ball.ply", "--within", "2 bananas"], "--within is '2 bananas'; expected a length"),
        (["cloth.obj", "ball.ply", "--within", "0"], "--within"),
        (["cloth.obj", "ball.ply", "--frames", "0"], "--frames"),
        (["cloth.obj", "ball.ply", "--every", "0"], "--every"),
        (["cloth.obj", "ball.ply", "--seed", "-1"], "--seed"),
        (["cloth.obj", "ball.ply", "--resolution", "9"], "--resolution is for a scene"),
        (
            ["cloth.obj", "ball.ply", "-o", "page.png"],
            "--report page.png: unknown extension '.png'; one of: .html, .htm",
        ),
        (["rod", "--units", "mm"], "--units is for files"),
        (["rod", "--up", "z"], "--up is for files"),
        (["rod", "--clip", "walk"], "Unknown option: --clip"),
        (["cloth.obj", "--methods", "bone-boxes"], "no method applies to 'cloth': bone-boxes (finds obstacle only)"),
        (
            ["far.obj", "ball.ply"],
            "no two parts of 'far on ball' are within the distance; try a larger distance (within)",
        ),
    ],
)
def test_bad_use_is_one_line_and_exit_code_2(here, capsys, words, line):
    assert cli.run(["compare", *words]) == 2
    out, talk = capsys.readouterr()
    (said,) = [text for text in talk.splitlines() if not text.endswith("...") and not text.startswith("compiling")]
    assert said.startswith("error: ")
    assert line in said
    assert out == ""


@pytest.mark.compiled
def test_drape_tells_which_method_auto_picked(here, capsys):
    words = ["drape", "--scene", "tablecloth-on-ball", "--resolution", "8", "--frames", "2", "-o", "out.npz", "--json"]
    cli.run(words)
    told = json.loads(capsys.readouterr().out)["method"]
    assert told["name"] == "distance-field"
    assert "all bodies are rigid" in told["why"]
