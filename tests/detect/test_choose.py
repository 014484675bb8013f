"""Where nobody names a method, one rule picks it, says why, and misses nothing."""

import numpy as np
import pytest

import pliant
from pliant import Mesh, shapes
from pliant.detect.choose import method_for
from pliant.scenes import SCENES, tablecloth_scene

BALL = shapes.ball(0.1, 2)


def sheet(height: float) -> Mesh:
    return shapes.cloth(0.24, 0.24, 9, centre=(0.0, height, 0.0))


@pytest.mark.parametrize(
    ("a", "b", "name"),
    [
        (sheet(0.1), BALL, "tree"),
        (sheet(0.1), None, "tree"),
        (Mesh([[0.0, 0.0, 0.0]], np.zeros((0, 3), int)), BALL, "brute-force"),
    ],
)
def test_auto_says_what_it_picks_and_why(a, b, name):
    chosen = pliant.choose_method(a, b, 0.01)
    assert chosen.name == name
    assert "exact" in chosen.why


@pytest.mark.compiled
def test_auto_finds_what_the_referee_finds():
    found = pliant.find_contacts(sheet(0.09), BALL, within=0.012)
    exact = pliant.find_contacts(sheet(0.09), BALL, within=0.012, method="brute-force")
    assert found.tobytes() == exact.tobytes()
    assert pliant.detector("auto", sheet(0.09), BALL).chosen.name == "tree"


@pytest.mark.compiled
def test_auto_picks_by_what_the_bodies_do():
    cloth = pliant.Body(sheet(0.2))
    moved = pliant.Recorded([0.0, 1.0], np.stack([BALL.vertices, BALL.vertices * 1.1]))
    still, bends = pliant.Body(BALL, fixed=True), pliant.Body(BALL, fixed=True, motion=moved)
    assert method_for(pliant.Scene([cloth, still])).name == "distance-field"
    assert method_for(pliant.Scene([cloth, still], eps=1e-4)).name == "tree"
    assert method_for(pliant.Scene([cloth, still, bends])).name == "tree"
    assert method_for(SCENES["walking-skirt"](resolution=12, eps=None)).name == "bone-boxes"


@pytest.mark.compiled
@pytest.mark.parametrize("size", [1.0, 100.0])
def test_the_floor_under_a_tablecloth_is_fine_enough_for_a_field(size):
    assert method_for(tablecloth_scene(shapes.ball(size, 2), resolution=4)).name == "distance-field"
