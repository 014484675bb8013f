"""`pliant field`: what it prints, saves and refuses."""

import json

import pytest

import pliant
from pliant import cli, shapes

pytestmark = pytest.mark.compiled


@pytest.fixture
def ball(tmp_path, monkeypatch):
    pliant.save(tmp_path / "ball.ply", shapes.ball(0.1, 2))
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return "../ball.ply"


def test_the_table_says_how_large_and_how_good_it_is(ball, capsys):
    assert cli.run(["field", ball, "--resolution", "24"]) == 0
    said, talk = capsys.readouterr()
    for word in ("grid", "spacing", "time", "examined points", "memory", "error max", "wrong signs"):
        assert word in said
    assert talk.startswith("baking ball.ply")


def test_json_figures_agree_with_the_saved_field(ball, capsys):
    assert cli.run(["field", ball, "--resolution", "24", "--samples", "2000", "-o", "f.npz", "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    field = pliant.DistanceField.load("f.npz")
    assert (list(field.values.shape), field.spacing) == (figures["grid"], figures["spacing_m"])
    assert figures["error_max_m"] <= 0.866 * field.spacing
    assert (figures["wrong_signs"], figures["examined_points"]) == (0, field.examined)


BAD = [
    (["--resolution", "0"], "resolution = 0"),
    (["--resolution", "50000"], "lower the resolution"),
    (["--spacing", "nan"], "spacing = nan"),
    (["--spacing", "-1"], "spacing = -1"),
    (["--band", "0"], "band = 0"),
    (["--samples", "-1"], "samples = -1"),
    (["--samples", "1000000000000"], "samples"),
    (["--sign", "winding"], "winding"),
    (["-o", "f.txt"], "unknown ending '.txt'"),
    (["--up", "q"], "q"),
]


@pytest.mark.parametrize(("words", "said"), BAD, ids=[" ".join(words) for words, _ in BAD])
def test_bad_use_is_exit_code_2_and_leaves_no_file(ball, capsys, tmp_path, words, said):
    assert cli.run(["field", ball, *words]) == 2
    out, talk = capsys.readouterr()
    assert out == ""
    assert said in talk
    assert list((tmp_path / "work").iterdir()) == []


def test_a_missing_file_is_named(ball, capsys):
    assert cli.run(["field", "nope.obj"]) == 2
    assert "nope.obj" in capsys.readouterr().err
