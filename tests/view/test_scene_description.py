"""What a page is built from: the bodies where they are when the scene begins, and the box around them."""

import numpy as np
import pytest

from pliant import Motion, shapes
from pliant.mesh import Mesh
from pliant.scene import Body, Grip, Scene
from pliant.scenes import SCENES
from pliant.view.scene_description import SceneDescription


def packed_bounds(body):
    low = np.array(body["low"])
    return np.stack([low, low + np.array(body["extent"])])


def start_bounds(scene):
    x = scene.start().x
    return [np.stack([x[scene.rows(b)].min(0), x[scene.rows(b)].max(0)]) for b in range(len(scene.bodies))]


def turned_and_lifted():
    """A box with its corners duplicated, half a turn away from its mesh, and a cloth that a grip has lifted."""
    box = shapes.box((0.3, 0.1, 0.1), 1, centre=(1.0, 0.0, 0.0))
    apart = Mesh(box.vertices[box.faces.ravel()], np.arange(3 * box.n_faces).reshape(-1, 3))
    turn = Motion.hinge((0, 1, 0), (0, 0, 0), (0.0, 1.0), (np.pi, 0.0))
    sheet = shapes.cloth(0.2, 0.2, 4)
    lift = Motion.hinge((1, 0, 0), (0, 0, 0), (0.0, 1.0), (0.5 * np.pi, 0.0))
    return Scene([Body(sheet, grips=[Grip([0, 1, 2, 3], lift)]), Body(apart, obstacle=True, motion=turn)])


@pytest.mark.parametrize("make", [lambda: SCENES["curtain"](resolution=6), turned_and_lifted], ids=["curtain", "grip"])
def test_bodies_are_described_where_the_scene_begins(make):
    scene = make()
    description, bounds = SceneDescription(scene), start_bounds(scene)
    for body, expected in zip(description.packed, bounds, strict=True):
        np.testing.assert_allclose(packed_bounds(body), expected, atol=1e-6)
    rest = np.stack([scene.bodies[1].mesh.vertices.min(0), scene.bodies[1].mesh.vertices.max(0)])
    assert np.abs(bounds[1] - rest).max() > 0.5  # elsewhere than its mesh
    assert description.packed[1]["vertices"] == scene.bodies[1].mesh.n_vertices
    expected = np.min([b[0] for b in bounds], 0), np.max([b[1] for b in bounds], 0)
    np.testing.assert_allclose(description.box, expected, atol=1e-12)
