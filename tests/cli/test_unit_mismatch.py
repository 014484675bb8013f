"""Garment and body in different units, or with different axes up: told with the options that mend it."""

import shlex

import numpy as np
import pytest

import pliant
from pliant import cli, shapes
from pliant.cli.reading import PAIR, PairOptions
from pliant.cli.unit_mismatch import warn_of_pair
from pliant.io import TURNS
from pliant.validate import UNITS

BODY, SKIRT, TROUSERS = shapes.mannequin(), shapes.skirt(spacing=0.04), shapes.trousers(spacing=0.025)


def stored(mesh, units, up):
    """The mesh as a file in other units, with another axis up, has it."""
    return mesh.moved(mesh.vertices @ np.array(TURNS[up]) / UNITS[units])


def read(mesh, options):
    return mesh.moved(mesh.vertices @ np.array(TURNS[options.up]).T * UNITS[options.units])


def shifted(mesh, x, y, z):
    return mesh.moved(mesh.vertices + np.array([x, y, z]))


def told(worn, under, files, capsys, **how):
    """The options that the warning about two files names; None where there is no warning."""
    warn_of_pair(read(worn, files.garment), read(under, files.body), files, **how)
    if not (said := capsys.readouterr().err):
        return None
    (line,) = (line for line in said.splitlines() if ": add " in line)
    words = shlex.split(line.split(": add ")[1])
    return {word[2:].replace("-", "_"): value for word, value in zip(words[::2], words[1::2], strict=True)}


@pytest.mark.parametrize("worn", [SKIRT, TROUSERS], ids=["skirt", "trousers"])
@pytest.mark.parametrize("other", [("cm", "y"), ("mm", "y"), ("in", "y"), ("m", "z"), ("m", "x"), ("cm", "z")])
@pytest.mark.parametrize("of_body", [True, False])
def test_the_options_of_the_warning_bring_garment_and_body_together(worn, other, of_body, capsys):
    one, two = (worn, stored(BODY, *other)) if of_body else (stored(worn, *other), BODY)
    named = told(one, two, PAIR, capsys)
    files = PairOptions(**named)
    assert told(one, two, files, capsys) is None
    # they fit as they were made, in one unit and with one axis up
    joined = np.concatenate([read(one, files.garment).vertices, read(two, files.body).vertices])
    made = np.concatenate([worn.vertices, BODY.vertices])
    assert np.allclose(np.linalg.norm(joined, axis=1), np.linalg.norm(made, axis=1))
    assert np.allclose(joined @ joined[:3].T, made @ made[:3].T)


def test_both_files_in_other_units_differ_from_each_other(capsys):
    files = PairOptions(units="mm", up="z")
    named = told(stored(SKIRT, "mm", "z"), stored(BODY, "cm", "y"), files, capsys)
    assert named == {"body_units": "cm", "body_up": "y"}


@pytest.mark.parametrize("ratio", [100.0, 1000.0])
def test_sizes_alone_tell_of_a_garment_that_is_placed(ratio, capsys):
    sheet = shapes.cloth(1.2, 1.2, 10)
    sheet = shifted(sheet, 0.0, 9.0, 0.0)
    unit = {100.0: "cm", 1000.0: "mm"}[ratio]
    assert told(sheet, BODY.moved(BODY.vertices * ratio), PAIR, capsys, placed=True) == {"body_units": unit}
    named = told(sheet.moved(sheet.vertices * ratio), BODY, PAIR, capsys, placed=True)
    assert named == {"units": unit, "body_units": "m"}


@pytest.mark.parametrize("placed", [True, False])
def test_what_fits_is_not_warned_of(placed, capsys):
    ball, sheet = shapes.ball(0.25, 2), shapes.cloth(2.0, 2.0, 12)
    button = shapes.ball(0.02, 1)
    pairs = [
        (SKIRT, BODY),
        (TROUSERS, BODY),
        (shifted(sheet, 0.0, 0.3, 0.0), ball),
        (shifted(button, 0.0, 1.3, 0.12), BODY),
        (shifted(TROUSERS, 0.0, 0.0, 0.4), BODY),
        (SKIRT.moved(SKIRT.vertices @ np.diag([3.0, 1.0, 3.0])), BODY),
    ]
    for worn, under in pairs:
        assert told(worn, under, PAIR, capsys, placed=placed) is None


def test_every_command_reads_the_body_in_its_own_units_and_axes(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pliant.save("skirt.obj", SKIRT)
    pliant.save("body.obj", stored(BODY, "cm", "z"))
    assert cli.run(["check", "skirt.obj", "--body", "body.obj"]) in (0, 1)
    assert "add --body-units cm --body-up z\n" in capsys.readouterr().err
    as_it_is = ["--body-units", "cm", "--body-up", "z"]
    for command in (
        ["check", "skirt.obj", "--body", "body.obj"],
        ["fix", "skirt.obj", "--body", "body.obj", "-o", "fixed.obj"],
        ["drape", "skirt.obj", "body.obj", "--frames", "1", "--method", "bvh", "-o", "run.npz"],
    ):
        assert cli.run([*command, *as_it_is]) == 0
        assert "body is" not in capsys.readouterr().err
    assert np.abs(pliant.load("fixed.obj").vertices - SKIRT.vertices).max() < 1e-3


def test_options_of_the_body_need_one(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pliant.save("skirt.obj", SKIRT)
    for command in (["check", "skirt.obj"], ["drape", "--frames", "1"], ["fix", "skirt.obj", "-o", "a.obj"]):
        assert cli.run([*command, "--body-units", "cm"]) == 2
        assert "error: --body-units needs a body from a file" in capsys.readouterr().err
