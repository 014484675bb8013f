"""The surface that cloth lies on: it belongs there while limbs leave it no room, and comes out there when they part."""

import numpy as np
import pytest

from pliant.kernels.simulation import sides as kernels
from pliant.motion.rigid import Motion
from pliant.scene import Body, Scene
from pliant.shapes import ball, box, cloth
from pliant.simulation import Simulation
from pliant.simulation.guard import IntersectionCount
from pliant.simulation.guard.no_room import faces_around

pytestmark = pytest.mark.compiled
EPS = 0.003


def plate_into_trunk() -> Scene:
    """A sheet lies on a trunk; a plate of a thickness of 2 cm sinks through the sheet into the trunk until 6 mm of it
    look out, and rises again. Then the upper side of the plate is nearest to the sheet, with room above it."""
    trunk, sheet = box((0.4, 0.2, 0.4), 4, centre=(0.0, -0.1, 0.0)), cloth(0.2, 0.2, 11, plane="xz")
    times, heights = [0.0, 0.05, 0.15, 0.2, 0.3], [0.04, 0.04, -0.004, -0.004, 0.08]
    poses = np.repeat(np.eye(3, 4)[None], len(times), 0)
    poses[:, 1, 3] = heights
    plate = Body(box((0.11, 0.02, 0.11), 4), obstacle=True, motion=Motion(times, poses))
    lies = sheet.moved(sheet.vertices + np.array([0.0, 1.2 * EPS, 0.0]))
    return Scene([Body(lies), Body(trunk, obstacle=True), plate], eps=EPS, self_contact="safe")


def test_a_limb_that_sinks_into_another_does_not_take_the_cloth_between_them_through_itself():
    scene = plate_into_trunk()
    sim, count = Simulation(scene, method="bvh"), IntersectionCount(scene, scene.start().x)
    without_room, rest = 0, scene.start().x[scene.rows(0)]
    for frame in sim.run(36):
        x = frame.x[scene.rows(0)]
        above = np.abs(rest[:, [0, 2]]).max(1) < 0.055  # cloth beside the plate may flap when it is squeezed
        upper_side = frame.x[scene.rows(2), 1].max()
        assert x[above, 1].max() < min(upper_side - EPS, 0.015)  # nothing is on the plate; it swings up by 13 mm
        assert count.at(frame.x)[0] == 0
        without_room = max(without_room, frame.no_room)
    assert without_room > 10
    assert frame.intersections == frame.no_room == 0
    assert x[:, 1].min() > 0.0


def test_a_vertex_stays_on_its_side_until_it_is_far_from_it():
    scene = plate_into_trunk()
    sim = Simulation(scene, method="bvh")
    assert (sim.state.side == -1).all()
    trunk_faces = scene.bodies[1].mesh.welded.n_faces
    for _ in sim.run(5):
        pass
    side = sim.state.side[scene.rows(0)]
    assert (side >= 0).all()
    assert (side < trunk_faces).all()
    for _ in sim.run(12):  # the plate is in the trunk now, and nearer
        pass
    assert (sim.state.side[scene.rows(0)] < trunk_faces).all()


def test_a_run_that_is_resumed_while_a_limb_is_in_another_is_bitwise_identical(tmp_path):
    scene = plate_into_trunk()
    sim = Simulation(scene, method="bvh")
    for _ in range(17):
        frame = sim.step()
    assert frame.no_room > 0
    sim.save(tmp_path / "run.npz")
    again = Simulation.load(tmp_path / "run.npz", scene)
    assert (again.state.side == sim.state.side).all()
    for one, two in zip(sim.run(8), again.run(8), strict=True):
        assert one.x.tobytes() == two.x.tobytes()


def test_sides_that_are_no_faces_of_the_bodies_count_as_none():
    scene = plate_into_trunk()
    sim = Simulation(scene, method="bvh")
    sim.state.side[:] = 10**9
    for _ in sim.run(3):
        pass
    faces = sum(scene.bodies[b].mesh.welded.n_faces for b in scene.obstacles)
    assert sim.state.side.max() < faces


def test_a_walk_over_a_convex_body_ends_at_the_nearest_face():
    mesh = ball(0.1, 3)
    around = faces_around(mesh.faces, np.ones(mesh.n_faces, np.bool_), mesh.n_vertices)
    points = 0.15 * np.random.default_rng(5).normal(size=(40, 3))
    points *= np.maximum(0.12 / np.linalg.norm(points, axis=1), 1.0)[:, None]
    side, weights = np.zeros(40, np.int32), np.empty((40, 3))
    kernels.follow_sides(points, around, mesh.vertices, side, weights)
    reached = np.einsum("ij,ijk->ik", weights, mesh.vertices[mesh.faces[side]])
    far = np.linalg.norm(points - reached, axis=1)
    corners = np.linalg.norm(points[:, None] - mesh.vertices[None], axis=2).min(1)
    assert (far <= corners).all()
    assert np.allclose(weights.sum(1), 1.0)
    height = np.linalg.norm(points, axis=1) - 0.1
    assert (np.abs(far - height) < 0.002).all()
