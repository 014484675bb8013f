"""What stands in the way of a first use: other units, wrong endings, Ctrl-C before anything has begun."""

import builtins
import json
import os
import subprocess
import sys

import numpy as np
import pytest

import pliant
from pliant import cli, shapes
from pliant.cli.reading import PAIR
from pliant.cli.unit_mismatch import warn_of_pair
from pliant.io.formats import names_of
from pliant.report.facts import _near, _percent

TUBE = shapes.ball(0.27, 2)
SHIRT = pliant.Mesh(TUBE.vertices, TUBE.faces[np.abs(TUBE.vertices[TUBE.faces][:, :, 1]).max(1) < 0.2], name="shirt")
BODY = shapes.ball(0.25, 2)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pliant.save("shirt.obj", SHIRT)
    pliant.save("body.obj", BODY)
    return tmp_path


@pytest.mark.compiled
def test_drape_asks_for_units_as_check_does(folder, capsys):
    pliant.save("shirt_cm.obj", SHIRT.moved(100.0 * SHIRT.vertices))
    assert cli.run(["drape", "shirt_cm.obj", "body.obj", "--frames", "1", "--method", "bvh", "-o", "a.npz"]) == 0
    said = capsys.readouterr()
    assert (
        "times as large as the body; it fits if the garment is in centimetres: add --units cm --body-units m\n"
        in said.err
    )
    assert "nearest approach" in said.out
    assert " m " in next(line for line in said.out.splitlines() if "nearest approach" in line)


def test_a_garment_that_is_moved_to_the_body_may_start_anywhere(capsys):
    far = SHIRT.moved(SHIRT.vertices + 9.0)
    warn_of_pair(far, BODY, PAIR, placed=True)
    assert capsys.readouterr().err == ""
    warn_of_pair(far, BODY, PAIR)
    assert "apart; are both files in the same units" in capsys.readouterr().err


def test_an_offset_larger_than_the_body_is_refused_before_the_start_is_fixed_with_it(folder, capsys):
    assert cli.run(["drape", "shirt.obj", "body.obj", "--frames", "1", "--eps", "5"]) == 2
    said = capsys.readouterr().err
    assert said.endswith("error: --eps = 5 m is more than the size of body 'body', 0.866 m\n")
    assert "was fixed" not in said


def test_a_mesh_with_the_ending_of_another_kind_is_asked_about(folder, capsys):
    (folder / "shirt.glb").write_bytes((folder / "shirt.obj").read_bytes())
    assert cli.run(["check", "shirt.glb"]) == 2
    assert "neither a GLB nor a JSON object; is the file of another kind than its name says?" in capsys.readouterr().err


def test_endings_are_listed_as_they_are_typed(folder, capsys):
    assert names_of((".glb", ".exr", ".png")) == ".glb, .vat.exr, .vat.png"
    assert cli.run(["drape", "shirt.obj", "body.obj", "-o", "a.jpg"]) == 2
    assert ".vat.exr, .vat.png," in capsys.readouterr().err


def test_an_interruption_while_the_command_line_is_loaded_is_one_word(monkeypatch, capsys):
    load = builtins.__import__

    def interrupted(name, *rest):
        if name == "cyclopts":
            raise KeyboardInterrupt
        return load(name, *rest)

    monkeypatch.setattr(builtins, "__import__", interrupted)
    assert cli.run(["doctor"]) == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_figures_are_written_as_people_do():
    assert [_percent(r) for r in (0.0, 9.1e-15, 0.0046, 0.125, 0.999, 1.5, 94.8)] == [
        "0", "0", "0.46", "12", "100", "150", "9480",
    ]  # fmt: skip
    assert [_near(m) for m in (0.0011, -0.0003, 26.68266)] == ["1.10 mm", "-0.30 mm", "26.7 m"]


@pytest.mark.parametrize("words", [["check", ""], ["drape", "shirt.obj", ""], ["check", "shirt.obj", "--body", ""]])
def test_an_empty_name_is_not_the_present_folder(folder, capsys, words):
    assert cli.run(words) == 2
    assert "the name of a file" in capsys.readouterr().err


def test_a_frame_without_length_is_refused_before_the_start_is_fixed(folder, capsys):
    assert cli.run(["drape", "shirt.obj", "body.obj", "--dt", "0"]) == 2
    assert "was fixed" not in (said := capsys.readouterr().err)
    assert "error: --dt = 0 must be" in said


@pytest.mark.parametrize(
    ("option", "said"), [("--friction", "at least 0"), ("--self-friction", "at least 0"), ("--restitution", "in 0..1")]
)
def test_options_of_scenes_are_refused_before_the_start_is_fixed(folder, capsys, option, said):
    assert cli.run(["drape", "shirt.obj", "body.obj", "--place", "as-is", option, "-1"]) == 2
    assert capsys.readouterr().err == f"error: {option} = -1 must be {said}\n"


def test_advice_and_errors_name_options_as_they_are_typed(folder, capsys):
    pliant.save("low.obj", SHIRT.moved(SHIRT.vertices - [0.0, 3.0, 0.0]))
    assert cli.run(["drape", "low.obj", "body.obj", "--pin", "group:none"]) == 2
    said = capsys.readouterr().err
    assert "moved above it (--place as-is keeps it)" in said
    assert "error: --pin: selection 'group:none': 'low' has no group 'none'" in said


@pytest.mark.parametrize("dt", ["1000", "1.5"])
def test_a_frame_too_long_to_simulate_is_refused_with_the_usual_length(folder, capsys, dt):
    assert cli.run(["drape", "shirt.obj", "body.obj", "--dt", dt]) == 2
    assert f"error: --dt = {dt} s is too long for one frame; expected at most 1 s" in capsys.readouterr().err


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_names_that_the_encoding_of_the_output_lacks_are_escaped(folder, encoding):
    pliant.save("Ärmel \u4e00.obj", SHIRT)
    command = [sys.executable, "-m", "pliant", "check", "Ärmel \u4e00.obj"]
    known = os.environ | {"PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
    table, found = (
        subprocess.run([*command, *more], env=known, cwd=folder, capture_output=True, timeout=120)
        for more in ([], ["--json"])
    )
    assert (table.returncode, found.returncode) == (0, 0)
    assert b"\\u4e00" in table.stdout
    assert json.loads(found.stdout.decode("utf-8"))["file"] == "Ärmel \u4e00.obj"
