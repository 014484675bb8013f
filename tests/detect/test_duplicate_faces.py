"""Bodies with faces that the file has more than once: closed ones are closed, cards and openings stay as they are."""

import numpy as np
import pytest

import pliant
from pliant import Mesh, shapes
from pliant.detect.queries.duplicate_faces import unneeded, without_duplicates

BALL = shapes.ball(0.1, 2)
CAP = np.flatnonzero(BALL.vertices[BALL.faces].mean(1)[:, 1] > 0.07)


def with_copies(mesh, copies, *, first=False, split=False):
    """The mesh with more faces (k,3), after or before its own; `split`: with vertices of their own at the same
    places."""
    x = mesh.vertices
    if split:
        x, copies = np.concatenate([x, x[copies.ravel()]]), len(x) + np.arange(copies.size).reshape(-1, 3)
    return Mesh(x, np.concatenate([copies, mesh.faces] if first else [mesh.faces, copies]), name="ball")


def rolled(faces):
    return np.roll(faces, 1, axis=1)


OWN = BALL.faces[CAP]
CASES = {
    "the same way": OWN,
    "other corners first": rolled(OWN),
    "the other way": OWN[:, ::-1],
    "three times": np.concatenate([OWN, rolled(OWN)]),
    "both ways": np.concatenate([OWN, OWN[:, ::-1]]),
    "more against than along": np.concatenate([OWN[:, ::-1], OWN[:, ::-1], OWN]),
    "each as it comes": np.where((CAP % 2 == 0)[:, None], OWN, OWN[:, ::-1]),
    "single ones": BALL.faces[[3, 90, 200]],
    "single ones the other way": BALL.faces[[3, 90, 200]][:, ::-1],
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("split", [False, True])
def test_a_closed_body_is_closed_without_them(case, first, split):
    body = with_copies(BALL, CASES[case], first=first, split=split)
    done = without_duplicates(body)
    assert (done.issues.encloses, done.n_vertices) == (True, body.n_vertices)
    assert done.n_faces == BALL.n_faces
    assert done.volume == pytest.approx(BALL.volume)
    faces, own = (np.unique(np.sort(mesh.welded.vertices[mesh.welded.faces], 1), axis=0) for mesh in (done, BALL))
    assert np.array_equal(faces, own)


@pytest.mark.parametrize(
    "mesh",
    [
        BALL,
        Mesh(BALL.vertices, np.concatenate([BALL.faces, BALL.faces[:, ::-1]])),  # double-sided
    ],
)
def test_closed_bodies_stay_as_they_are(mesh):
    assert not unneeded(mesh).any()


def test_a_body_that_a_file_has_twice_counts_once():
    twice = Mesh(BALL.vertices, np.concatenate([BALL.faces, rolled(BALL.faces)]))
    assert np.array_equal(without_duplicates(twice).faces, BALL.faces)


def test_an_opening_and_a_card_stay_open():
    card = shapes.cloth(0.1, 0.1, 4)
    card = Mesh(card.vertices, np.concatenate([card.faces, card.faces[:, ::-1]]))
    assert not unneeded(card).any()
    cut = Mesh(BALL.vertices, np.delete(BALL.faces, CAP, 0))
    body = with_copies(cut, cut.faces[[5, 6]])
    done = without_duplicates(body)
    assert np.array_equal(done.faces, cut.faces)
    assert len(done.issues.boundary) == len(cut.issues.boundary) > 0


@pytest.mark.parametrize("case", CASES)
def test_check_fix_and_its_shells_have_the_depths_of_the_body_without_them(case):
    body, sheet = with_copies(BALL, CASES[case]), shapes.cloth(0.16, 0.16, 12, centre=(0.0, 0.09, 0.0))
    found, right = pliant.check(sheet, body), pliant.check(sheet, BALL)
    assert right.frames[0].inside > 0
    assert np.array_equal(found.distances, right.distances)
    assert (found.frames[0].inside, found.frames[0].unknown) == (right.frames[0].inside, 0)
    (shell,) = found.shells
    assert (shell.closed, shell.inside, shell.depth) == (True, right.shells[0].inside, right.shells[0].depth)
    assert "open" not in [note.kind for note in found.notes]
    after = pliant.fix(sheet, body, clearance=0.002).after
    assert (after.frames[0].inside, after.crossings) == (0, 0)


def test_drape_leaves_them_out_and_says_so(tmp_path, monkeypatch, capsys):
    from pliant import cli

    monkeypatch.chdir(tmp_path)
    pliant.save("body.obj", with_copies(BALL, CASES["the same way"]))
    pliant.save("sheet.obj", shapes.cloth(0.2, 0.2, 8, centre=(0.0, 0.11, 0.0)))
    assert cli.run(["drape", "sheet.obj", "body.obj", "--frames", "2", "-o", "a.npz"]) == 0
    talk = capsys.readouterr().err
    assert f"{len(OWN)} of the {BALL.n_faces + len(OWN)} faces of body have the same corners as others" in talk
    assert "open" not in talk
