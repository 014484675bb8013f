"""Attachments that yield: vertices follow the skin unless bodies, other cloth or the strain limit stop them, and come
back."""

import dataclasses

import numpy as np
import pytest

from attachments import strain, torn
from pliant.mesh import Mesh
from pliant.motion.deforming import Attached, Recorded
from pliant.motion.rigid import Motion
from pliant.scene import Body, Grip, Scene
from pliant.shapes import ball, box, cloth
from pliant.simulation import Simulation
from pliant.simulation.guard import IntersectionCount

pytestmark = pytest.mark.compiled


def swept() -> Scene:
    """A sheet that is attached along its upper boundary to a wall in front of which it hangs; a limb of the same body
    moves along the wall over the right third of the boundary, and back again."""
    wall, limb = box((0.6, 0.6, 0.02), 1, centre=(0.0, 0.0, -0.02)), box((0.1, 0.1, 0.1), 1, centre=(0.2, 0.1, 0.041))
    body = Mesh(np.concatenate([wall.vertices, limb.vertices]), np.concatenate([wall.faces, limb.faces + 8]))
    covering = body.vertices.copy()
    covering[8:, 0] -= 0.12
    motion = Recorded(
        np.array([0.0, 0.02, 0.1, 0.12, 0.2]), np.stack([body.vertices] * 2 + [covering] * 2 + [body.vertices])
    )
    sheet = cloth(0.2, 0.2, 9, plane="xy")
    rows = np.flatnonzero(sheet.vertices[:, 1] > 0.099)
    front = wall.faces[wall.vertices[wall.faces, 2].min(1) > -0.011]
    grip = Grip(rows, Attached.at(motion, body.vertices, np.repeat(front[:1], len(rows), 0), sheet.vertices[rows]))
    return Scene([Body(sheet, grips=[grip]), Body(body, obstacle=True, motion=motion)], eps=0.003)


def spanned() -> Scene:
    """A sheet that is attached along its upper and its lower boundary, into the middle of which a ball moves."""
    frame = box((0.4, 0.4, 0.02), 1, centre=(0.0, 0.0, -0.3))
    still = Recorded(np.array([0.0, 1.0]), np.stack([frame.vertices, frame.vertices]))
    sheet = cloth(0.3, 0.3, 11, plane="xy")
    rows = np.flatnonzero(np.abs(sheet.vertices[:, 1]) > 0.149)
    grip = Grip(
        rows, Attached.at(still, frame.vertices, np.repeat(frame.faces[:1], len(rows), 0), sheet.vertices[rows])
    )
    poses = np.repeat(np.eye(3, 4)[None], 3, 0)
    poses[1:, 2, 3] = 0.14
    return Scene(
        [
            Body(sheet, grips=[grip]),
            Body(frame, obstacle=True, motion=still),
            Body(ball(0.06, centre=(0.0, 0.0, -0.08)), obstacle=True, motion=Motion([0.0, 0.12, 1.0], poses)),
        ],
        eps=0.003,
        gravity=(0.0, 0.0, 0.0),
    )


@pytest.mark.parametrize("solver", ["implicit", "xpbd"])
def test_skin_that_drives_attached_vertices_into_each_other_does_not_push_cloth_into_itself(solver):
    scene, rows, goal = torn(-0.1)
    sim, count = Simulation(scene, method="bvh", solver=solver), IntersectionCount(scene, scene.start().x)
    for frame in sim.run(14):
        assert count.at(frame.x)[0] == frame.intersections == 0
    assert sim.self_contact.given_up_pairs == 0
    assert frame.slipped == pytest.approx(np.linalg.norm(sim.state.x[rows] - goal, axis=1).max())
    assert frame.slipped > 0.005


def test_a_limb_that_covers_attached_vertices_pushes_them_aside_and_they_come_back():
    scene = swept()
    sim, count = Simulation(scene, method="bvh"), IntersectionCount(scene, scene.start().x)
    slipped = []
    for frame in sim.run(66):
        assert count.at(frame.x) == (0, 0)
        assert strain(scene, frame.x) < 0.06
        slipped.append(frame.slipped)
    assert max(slipped) > 0.02
    assert slipped[-1] < 1e-12


def test_attached_vertices_give_way_to_a_body_that_spans_the_cloth_between_them():
    scene = spanned()
    sim, count = Simulation(scene, method="bvh"), IntersectionCount(scene, scene.start().x)
    for frame in sim.run(20):
        assert count.at(frame.x) == (0, 0)
        assert strain(scene, frame.x) < 0.06
    assert frame.slipped > 0.005


def test_attachments_that_have_slipped_continue_from_a_checkpoint_bit_by_bit(tmp_path):
    scene = swept()
    sim = Simulation(scene, method="bvh")
    for _ in sim.run(9):
        pass
    sim.save(tmp_path / "state.npz")
    *_, frame = sim.run(4)
    assert frame.slipped > 0.01
    *_, again = Simulation.load(tmp_path / "state.npz", scene).run(4)
    assert again.x.tobytes() == frame.x.tobytes()
    assert again.slipped == frame.slipped


def test_attached_vertices_do_not_yield_without_safe_mode():
    scene = dataclasses.replace(swept(), self_contact="push")
    sim = Simulation(scene, method="bvh")
    for frame in sim.run(11):
        assert frame.slipped == 0.0
