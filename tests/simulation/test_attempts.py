"""A frame that ends with exposed crossings is computed again in other ways; the best result is the frame."""

import numpy as np
import pytest

from pliant.mesh import Mesh
from pliant.motion.deforming import Attached, Recorded
from pliant.scene import Body, Grip, Scene
from pliant.shapes import ball
from pliant.simulation import Simulation, attempts
from pliant.simulation.moment import Moment
from pliant.simulation.record import record
from simulation.test_no_room import strains
from simulation.test_sides import plate_into_trunk

pytestmark = pytest.mark.compiled
EPS = 0.003
CAUGHT = 5  # the frame in which the trunk catches the sleeve


def sleeve() -> Scene:
    """A tube around an arm, to which its upper end is attached; the arm comes to overlap the trunk by 2 cm. Both are
    coarse ellipsoids of one skin."""
    unit, k = ball(1.0, 2), np.arange(16)
    n = unit.n_vertices
    x = np.concatenate([unit.vertices * [0.08, 0.09, 0.1], unit.vertices * [0.03, 0.16, 0.03] + [0.15, 0.0, 0.0]])
    body, arm = Mesh(x, np.concatenate([unit.faces, unit.faces + n])), np.arange(n, 2 * n)
    frames = np.repeat(body.vertices[None], 4, 0)
    frames[1:3, arm] += [-0.06, 0.0, 0.0]
    motion = Recorded(np.array([0.0, 0.05, 0.14, 0.22]), frames)
    rows, heights = 16 * np.arange(9)[:, None], np.linspace(0.1, -0.11, 10)
    ring = np.stack([0.15 + 0.045 * np.cos(k * np.pi / 8), 0.0 * k, 0.045 * np.sin(k * np.pi / 8)], 1)
    tube = (ring[None] + heights[:, None, None] * [0.0, 1.0, 0.0]).reshape(-1, 3)
    a, b = rows + k, rows + (k + 1) % 16
    faces = np.concatenate([np.stack([a, a + 16, b], 2), np.stack([b, a + 16, b + 16], 2)]).reshape(-1, 3)
    corners = body.faces[(body.faces >= arm[0]).all(1)][:1]
    held = Attached.at(motion, body.vertices, np.repeat(corners, 16, 0), tube[:16])
    worn = Body(Mesh(tube, faces.astype(np.int32)), grips=[Grip(k, held)])
    return Scene([worn, Body(body, obstacle=True, motion=motion)], eps=EPS, self_contact="safe")


def left(sim: Simulation) -> float:
    return float(sim.self_contact.exposed(sim.state.x).length)


def test_a_frame_in_which_cloth_is_caught_is_computed_again_and_a_resumed_run_has_the_same_bits(tmp_path, monkeypatch):
    scene = sleeve()
    sim = Simulation(scene)
    for frame in sim.run(CAUGHT - 1):
        assert frame.attempts == 1
    sim.save(tmp_path / "run.npz")
    frame = sim.step()
    assert frame.attempts > 1
    assert left(sim) == 0.0
    assert strains(scene, frame.x).max() < 0.06
    again = Simulation.load(tmp_path / "run.npz", scene)
    result = record(again, 1)
    assert again.state.x.tobytes() == sim.state.x.tobytes()
    assert again.state.v.tobytes() == sim.state.v.tobytes()
    assert result.summary["frames_computed_again"] == 1
    assert again.self_contact.given_up_pairs == sim.self_contact.given_up_pairs
    monkeypatch.setattr(attempts, "OTHERS", ())
    plain = Simulation.load(tmp_path / "run.npz", scene)
    assert plain.step().attempts == 1
    assert left(plain) > 0.0


def test_where_no_other_way_is_better_a_run_has_the_bits_of_the_plain_one(monkeypatch):
    found = []
    for others in (attempts.OTHERS, ()):
        monkeypatch.setattr(attempts, "OTHERS", others)
        sim = Simulation(plate_into_trunk(), method="bvh")
        tried = sum(frame.attempts - 1 for frame in sim.run(16))
        counts = sim.self_contact.failed_substeps, sim.self_contact.given_up_pairs, sim.index
        found.append((tried > 0, sim.state.x.tobytes(), sim.state.v.tobytes(), sim.state.time, counts))
    assert [first for first, *_ in found] == [True, False]
    assert found[0][1:] == found[1][1:]


def test_a_moment_is_everything_that_a_frame_needs():
    sim = Simulation(plate_into_trunk(), method="bvh")
    drag = sim.grab((0.07, 0.5, 0.07), (0.0, -1.0, 0.0))
    assert drag is not None
    drag.to = drag.at + np.array([0.0, 0.5, 0.0])
    for _ in sim.run(13):
        pass
    start, x = Moment(sim), sim.state.x
    one = sim.step()
    at = drag.at
    start.restore(sim)
    assert sim.state.x is x
    assert (drag.at != at).any()
    two = sim.step()
    assert one.x.tobytes() == two.x.tobytes()
    assert one.contacts.tobytes() == two.contacts.tobytes()
    assert (drag.at == at).all()


def test_scenes_without_closed_shells_keep_no_moment():
    sheet = plate_into_trunk().bodies[0]
    sim = Simulation(Scene([sheet], eps=EPS, self_contact="safe"))
    assert sim.step().attempts == 1
    assert sim._attempts._start is None
