"""Garments that are inside a body as a whole: the likely cause is named, and fix leaves them as they are."""

import json

import numpy as np
import pytest

import pliant
from pliant import Mesh, cli, shapes
from pliant.audit.findings import NoteKind

BODY = shapes.ball(0.5, 3)
SHIRT = shapes.cloth(0.4, 0.3, 9)
AWAY = np.array([0.1, 0.0, 0.2])  # from the centre of the body
OPEN = Mesh(BODY.vertices, BODY.faces[4:])


def told(garment, body=BODY):
    return [note.text for note in pliant.check(garment, body).notes if note.kind is NoteKind.WHOLLY_INSIDE]


@pytest.mark.parametrize(
    ("garment", "body", "said"),
    [
        (SHIRT.moved(0.01 * SHIRT.vertices), BODY, "times the size of the body, probably other units"),
        (SHIRT.moved(0.5 * SHIRT.vertices + AWAY), BODY, "0.224 m from that of the body"),
        (SHIRT.moved(0.5 * SHIRT.vertices + AWAY), OPEN, "the body is open, so its faces may point inward"),
    ],
)
def test_the_likely_cause_is_named(garment, body, said):
    (text,) = told(garment, body)
    assert said in text
    assert f"{garment.n_vertices} of {garment.n_vertices} vertices" in text


def test_garments_that_are_too_tight_or_half_outside_are_not_mentioned():
    tight = BODY.moved(0.99 * BODY.vertices)
    half = SHIRT.moved(SHIRT.vertices + AWAY * [5.0, 0.0, 0.0])
    assert pliant.check(tight, BODY).frames[0].inside == tight.n_vertices
    assert pliant.check(half, BODY).frames[0].inside > 0
    assert told(tight) == told(half) == told(SHIRT.moved(SHIRT.vertices + 10.0 * AWAY)) == []


def test_fix_pulls_out_what_is_tight_and_leaves_what_is_lost():
    tight, lost = BODY.moved(0.99 * BODY.vertices), SHIRT.moved(0.5 * SHIRT.vertices)
    assert pliant.fix(tight, BODY).after.frames[0].inside == 0
    done = pliant.fix(lost, BODY)
    assert np.array_equal(done.garment.frames[0], lost.vertices)
    assert done.unchanged == (0,)
    assert done.changes["left unchanged"] == "frame 0: the garment is deep inside the body"


def test_check_fix_and_drape_say_it_in_one_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pliant.save("body.obj", BODY)
    pliant.save("shirt.obj", SHIRT.moved(0.5 * SHIRT.vertices + AWAY))
    for words, code in (("check", 1), ("fix", 1), ("drape --frames 1 --place as-is", 1)):
        name, *rest = words.split()
        both = ["shirt.obj", "body.obj"] if name == "drape" else ["shirt.obj", "--body", "body.obj"]
        out = [] if name == "check" else ["-o", "out.obj"]
        assert cli.run([name, *both, *rest, *out, "--json"]) == code, words
        said = capsys.readouterr()
        notes = [line for line in said.err.splitlines() if "are deep inside body" in line]
        if name == "drape":
            assert len(notes) == 1
            assert notes[0].startswith("note: 63 of 63 vertices of garment 'shirt' are deep inside body 'body'")
        else:
            assert "wholly-inside" in json.dumps(json.loads(said.out))


def test_of_several_frames_the_least_count_is_told():
    x = 0.5 * SHIRT.vertices
    out = x.copy()
    out[0, 1] = 2.0  # one vertex is outside in the second frame
    clips = [pliant.Clip(SHIRT, np.stack([x, second])) for second in (x, out)]
    (always,), (mostly,) = (told(clip) for clip in clips)
    assert always.startswith("63 of 63 vertices of garment 'cloth' are deep inside body 'ball' in every frame: ")
    assert mostly.startswith("at least 62 of 63 vertices of garment 'cloth' are deep inside body 'ball' in every frame")
