"""Sheets whose vertices lie on edges they are no ends of, or nearly so: opened at the start, uncut to the end.

T-junctions closed by faces without area, cracks and needles, moved, turned and scaled; judged by the IPC Toolkit.
"""

import numpy as np
import pytest

from attack import meshes
from conftest import cases
from pliant.contacts import EDGE_EDGE, VERTEX_FACE
from pliant.mesh import Mesh
from pliant.motion.rigid import Motion
from pliant.scene import Body, Grip, Scene
from pliant.shapes import ball, cloth
from pliant.simulation import Simulation
from pliant.simulation.guard import Guard
from pliant.simulation.guard.opening import is_tight, open_up
from simulation.test_guard_carry import Judge

WOUNDS = (meshes.t_junctions, meshes.cracks, meshes.needles)


def sheet(rng, wound, scale=1.0, n=6):
    x, faces = meshes.grid(rng, n, n)
    x[:, 1] = 0.0
    x, faces = wound(rng, 0.4 * x, faces, 0.4)
    return Mesh(scale * x @ meshes.rotation(rng).T, faces)


@pytest.mark.parametrize("wound", WOUNDS)
def test_pairs_that_touch_are_opened(wound):
    for case in range(cases(12)):
        rng = np.random.default_rng([7, case])
        scale, thickness = 10.0 ** rng.uniform(-6, 6), 10.0 ** rng.uniform(-8, -2)
        scene = Scene(
            [Body(sheet(rng, wound, scale))], eps=0.01 * scale, thickness=thickness * scale, self_contact="safe"
        )
        state = scene.start()
        judge, guard, x = Judge(scene), Guard(scene, state), state.x.copy()
        open_up(guard, scene.inverse_masses > 0.0, x)
        pairs, _, least, _ = guard.near_pairs(x)
        assert not is_tight(pairs, least)
        assert not judge.meets(x)
        # a few hundredths of the thickness, which nobody sees
        assert np.abs(x - state.x).max() <= 0.2 * thickness * scale


@pytest.mark.compiled
@pytest.mark.parametrize("wound", WOUNDS)
def test_sheets_with_such_pairs_are_carried_by_bodies_and_grips_uncut(wound):
    for case in range(cases(3)):
        rng = np.random.default_rng([8, case])
        mesh = sheet(rng, wound)
        end = np.eye(3, 4)
        end[:, 3] = 30.0 * rng.normal(size=3) * 0.03
        way = Motion([0.0, 0.03], [np.eye(3, 4), end])
        if case % 2:
            bodies = [Body(mesh, grips=[Grip([0], way)])]
        else:
            start = -0.2 * end[:, 3] / np.linalg.norm(end[:, 3])
            bodies = [Body(mesh), Body(ball(0.06, 1, centre=tuple(start - 0.2 * end[:, 3])), obstacle=True, motion=way)]
        scene = Scene(bodies, eps=0.003, thickness=1e-4, self_contact="safe", gravity=(0.0, 0.0, 0.0))
        judge, sim = Judge(scene), Simulation(scene, substeps=2, method="tree")
        if judge.meets(sim.state.x):
            continue
        for frame in sim.run(3):
            assert np.isfinite(frame.x).all()
            assert not judge.meets(frame.x)
        assert sim.self_contact.failed_substeps == 0


def test_a_grip_that_holds_vertices_on_one_line_is_told(caplog):
    """Nothing can open what a grip holds: it is counted, and does not stop the grip."""
    x = np.array([[0.0, 0.0, 0.0], [0.5, 0.0, 0.0], [1.0, 0.0, 0.0], [0.4, 0.0, 1.0], [0.5, 0.0, -1.0]])
    x = x @ meshes.rotation(np.random.default_rng(3)).T
    mesh = Mesh(x, [[0, 1, 3], [1, 2, 3], [2, 1, 0], [0, 2, 4]])
    end = np.eye(3, 4)
    end[:, 3] = 1.0, 2.0, 0.5
    grip = Grip([0, 1, 2], Motion([0.0, 0.02], [np.eye(3, 4), end]))
    scene = Scene([Body(mesh, grips=[grip])], eps=0.01, thickness=0.005, self_contact="safe", gravity=(0.0, 0.0, 0.0))
    sim = Simulation(scene, substeps=2, method="tree", solver="xpbd")
    frames = list(sim.run(2))
    assert np.allclose(frames[-1].x[:3], x[:3] + end[:, 3])
    assert sim.self_contact.given_up_pairs > 0
    assert sim.self_contact.failed_substeps > 0
    assert "touch" in caplog.text


def test_of_two_pairs_with_the_same_vertices_only_the_given_one_is_left_unguarded():
    x = np.array([[0.0, 0.002, 0.0], [1.0, 0.002, 0.0], [0.001, 0.0, 0.5], [0.001, 0.0, -0.5], [0.5, 1.0, 0.0]])
    scene = Scene([Body(Mesh(x, np.array([[1, 2, 3], [0, 1, 4]], np.int32)))], thickness=0.01, self_contact="safe")
    state = scene.start()
    detection = Guard(scene, state)._detection
    detection.run(state.x, 0.0)
    both = (np.sort(detection.guarded.vertices, 1) == [0, 1, 2, 3]).all(1)
    assert sorted(detection.guarded.kinds[both]) == [VERTEX_FACE, EDGE_EDGE]
    detection.leave_unguarded(detection.guarded.kinds == VERTEX_FACE)
    detection.run(state.x, 0.0)
    same = (np.sort(detection.guarded.vertices, 1) == [0, 1, 2, 3]).all(1)
    assert detection.guarded.kinds[same].tolist() == [EDGE_EDGE]


def test_a_substep_that_fails_twice_is_counted_once():
    scene = Scene([Body(cloth(0.2, 0.2, 3))], self_contact="safe")
    state = scene.start()
    guard = Guard(scene, state)
    for _ in range(2):
        guard.begin(state, 0.01, 2)
        for _ in range(2):
            guard._count_failure("at the start of the substep")
            guard._count_failure("at its end")
            guard.finish(state, 0.01)
        guard._count_failure("at the end of the frame, which belongs to its last substep")
    assert guard.failed_substeps == 4
