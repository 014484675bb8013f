"""What Python shows of an object stays short, however many vertices it has."""

import functools

import numpy as np
import pytest

import pliant
from pliant import Body, Clip, Grip, Motion, Recorded, Scene
from pliant.scenes.dressing import dress_scene

CLOTH = pliant.shapes.cloth(0.4, 0.4, 30, centre=(0.0, 0.1, 0.0))
BALL = pliant.shapes.ball(0.2, 4)
SLIDE = Motion([0.0, 1.0], np.stack([np.eye(3, 4)] * 2))
SCENE = Scene([Body(CLOTH, grips=[Grip([0, 1], SLIDE)]), Body(BALL, obstacle=True)])

WALKER = pliant.shapes.walking_mannequin(1.0)


@functools.cache
def dressed() -> Scene:
    return dress_scene([pliant.shapes.skirt(spacing=0.04)], WALKER)


OBJECTS = {
    "mesh": lambda: CLOTH,
    "topology": lambda: CLOTH.topology,
    "issues": lambda: CLOTH.issues,
    "clip": lambda: Clip(CLOTH, np.stack([CLOTH.vertices] * 9)),
    "motion": lambda: SLIDE,
    "recorded": lambda: Recorded(np.arange(9.0), np.stack([CLOTH.vertices] * 9)),
    "check": lambda: pliant.check(CLOTH, BALL),
    "fix": lambda: pliant.fix(CLOTH, BALL),
    "overlap": lambda: pliant.overlap(BALL, BALL),
    "field": lambda: pliant.DistanceField.bake(BALL, resolution=16),
    "detector": lambda: pliant.detector("auto", CLOTH, BALL, within=0.01),
    "simulation": lambda: pliant.Simulation(SCENE),
    "state": lambda: pliant.Simulation(SCENE).state,
    "scene": lambda: SCENE,
    "body with grips": lambda: SCENE.bodies[0],
    "dressed": dressed,
    "body with attached boundaries": lambda: dressed().bodies[0],
    "attached": lambda: dressed().bodies[0].grips[0].motion,
    "character": lambda: WALKER,
    "animation": lambda: WALKER.clips["walk"],
    "track": lambda: WALKER.clips["walk"].tracks[0],
    "skeleton": lambda: WALKER.skeleton,
}


@pytest.mark.parametrize("name", OBJECTS)
def test_an_object_is_shown_on_a_line(name: str) -> None:
    text = repr(OBJECTS[name]())
    assert "\n" not in text
    assert len(text) < 500


def test_the_line_of_a_check_says_what_was_found() -> None:
    report = pliant.check(CLOTH, BALL)
    assert report.frames[0].inside > 0
    assert f"vertices inside {report.frames[0].inside} (" in repr(report)


def test_the_bodies_of_a_scene_are_shown_by_name() -> None:
    assert repr(dressed()).startswith("Scene(bodies=(<Body 'skirt'>, <Body 'mannequin'>), gravity=(0.0, -9.81, 0.0), ")


def test_arrays_are_shown_by_their_shape() -> None:
    clip = Clip(CLOTH, np.stack([CLOTH.vertices] * 9))
    assert f"mesh={CLOTH!r}, frames=<float64 (9, 900, 3)>" in repr(clip)


def test_the_defects_of_a_mesh_are_shown_in_words() -> None:
    assert repr(BALL.issues) == "<Issues: no defects>"
    assert repr(CLOTH.issues) == "<Issues: 116 boundary edges (open)>"
