"""`drape` and `play` fix start poses that clip, say so in one line, and leave them with --no-fix-start."""

import json

import numpy as np
import pytest

import pliant
from characters import post, sleeve
from pliant import cli, shapes
from pliant.view import server

pytestmark = pytest.mark.compiled


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A character in its rest pose, a sleeve shifted into it, another one through the first, and a static body."""
    monkeypatch.chdir(tmp_path)
    pliant.save_character("post.glb", post(clips=("sway",)))
    inner, outer = sleeve(name="inner"), sleeve(top=0.112, bottom=0.206, name="outer")
    pliant.save("inner.obj", inner.moved(inner.vertices + np.array([0.03, 0.0, 0.0])))
    pliant.save("outer.obj", outer.moved(outer.vertices - np.array([0.02, 0.0, 0.0])))
    pliant.save("ball.obj", shapes.ball(0.1, 3))
    band = sleeve(-0.05, 0.05, top=0.104, bottom=0.104, rings=9, around=24)
    pliant.save("band.obj", band.moved(band.vertices + np.array([0.02, 0.0, 0.0])))
    return tmp_path


def drape(capsys, *words):
    code = cli.run(["drape", *words, "--frames", "1", "--substeps", "1", "-o", "run.npz", "--json"])
    out, talk = capsys.readouterr()
    return code, json.loads(out), [line for line in talk.splitlines() if "was fixed" in line]


def test_a_garment_that_starts_in_a_character_is_fixed_and_told(folder, capsys):
    code, found, said = drape(capsys, "inner.obj", "post.glb", "--lead-in", "0")
    (fixed,), (line,) = found["start_fixes"], said
    assert fixed["before"]["inside"] > 0
    assert fixed["after"]["inside"] == fixed["after"]["crossings"] == found["initial_intersecting_pairs"] == 0
    assert f"vertices inside the body {fixed['before']['inside']} -> 0" in line
    assert "--no-fix-start" in line
    assert (code, found["penetration_m"]) == (0, 0.0)


def test_with_no_fix_start_it_stays_where_it_is(folder, capsys):
    code, found, said = drape(capsys, "inner.obj", "post.glb", "--lead-in", "0", "--no-fix-start")
    assert (code, found["start_fixes"], said) == (1, [], [])
    assert found["penetration_m"] > 0.01


def test_layers_are_fixed_from_the_inside_out(folder, capsys):
    _, found, said = drape(capsys, "inner.obj", "post.glb", "--layer", "outer.obj", "--lead-in", "0")
    assert [each["garment"] for each in found["start_fixes"]] == ["inner", "outer"]
    assert found["start_fixes"][1]["before"]["layers"] > found["start_fixes"][1]["after"]["layers"]
    assert len(said) == 2


def test_a_garment_on_a_static_body_is_fixed_and_still_held(folder, capsys):
    code, found, said = drape(capsys, "band.obj", "ball.obj")
    assert len(said) == len(found["start_fixes"]) == 1
    assert (code, found["initial_intersecting_pairs"]) == (0, 0)


def test_a_garment_that_fits_is_not_mentioned(folder, capsys):
    pliant.save("fits.obj", sleeve())
    code, found, said = drape(capsys, "fits.obj", "post.glb", "--lead-in", "0")
    assert (code, found["start_fixes"], said) == (0, [], [])


@pytest.mark.parametrize("words", [(), ("--no-fix-start",), ("--proxy", "60")])
def test_openings_and_shells_that_are_inside_out_are_noted(words, folder, capsys):
    ball, second = shapes.ball(0.1, 3), shapes.ball(0.02, 2)
    moved = second.vertices + np.array([0.0, -0.3, 0.0])
    faces = np.concatenate([ball.faces[:-2], second.faces[:, ::-1] + ball.n_vertices])
    pliant.save("cut.obj", pliant.Mesh(np.concatenate([ball.vertices, moved]), faces, name="cut"))
    for body, kinds in (("ball.obj", []), ("cut.obj", ["open"])):
        cli.run(["drape", "band.obj", body, "--frames", "1", "--substeps", "1", "-o", "run.npz", "--json", *words])
        out, talk = capsys.readouterr()
        notes = json.loads(out)["body_notes"]
        assert [note["kind"] for note in notes] == kinds
        turned = "note: 320 of the 1,598 faces of cut point inward; they are used flipped"
        told = [*([turned] if body == "cut.obj" else []), *(f"note: {note['text']}" for note in notes)]
        assert [line for line in talk.splitlines() if "shell" in line or "inward" in line] == told


@pytest.mark.parametrize(("garment", "body"), [("inner.obj", "post.glb"), ("band.obj", "ball.obj")])
def test_play_starts_with_the_garment_that_drape_starts_with(garment, body, folder, capsys, monkeypatch):
    started = []
    monkeypatch.setattr(server, "run", lambda session, *_: started.append(session._start_options.own))
    for words in ((), ("--no-fix-start",)):
        assert cli.run(["play", garment, body, "--port", "0", "--no-open", *words]) == 0
    line, *more = [line for line in capsys.readouterr().err.splitlines() if "was fixed" in line]
    assert more == []
    _, _, (told,) = drape(capsys, garment, body)
    assert line == told
    fixed, left = (scene.bodies[0].mesh for scene in started)
    assert np.array_equal(left.vertices, pliant.load(garment).vertices)
    inside = [pliant.check(mesh, pliant.load(body)).frames[0].inside for mesh in (fixed, left)]
    assert inside[0] == 0 < inside[1]
