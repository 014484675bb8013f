"""The last look at a frame: nothing is shown inside a body, whatever the responses left there."""

import numpy as np
import pytest

import pliant
from characters import post, sleeve
from pliant import closest_point, shapes
from pliant.motion.rigid import IDENTITY_POSE, Motion
from pliant.respond.projection import Projection
from pliant.scene import Body, Cloth, Grip, Scene
from pliant.scenes.dressing import dress_scene
from pliant.simulation import Simulation
from pliant.simulation.measure.referee import Referee


@pytest.fixture
def idle(monkeypatch):
    """A response that does nothing: all is left to the last look."""
    monkeypatch.setattr(Projection, "apply", lambda *_: None)


def falling(**options) -> Scene:
    """A square that hits a ball at 3 m/s: 10 mm in a small step, 30 in a frame."""
    ball = shapes.ball(0.1, 3)
    sheet = shapes.cloth(0.16, 0.16, 9)
    sheet = sheet.moved(sheet.vertices + np.array([0.0, 0.103 - sheet.bounds[0, 1], 0.0]))
    body = Body(sheet, material=Cloth(), velocity=(0.0, -3.0, 0.0), **options)
    return Scene([body, Body(ball, obstacle=True)], eps=0.002, gravity=(0.0, 0.0, 0.0), self_contact="off")


def lowered(by: float) -> np.ndarray:
    pose = IDENTITY_POSE.copy()
    pose[1, 3] = -by
    return pose


def depth_of(scene: Scene, x: np.ndarray) -> np.ndarray:
    ball = scene.bodies[1].mesh.welded
    return -closest_point(ball, x[scene.rows(0)])[0]


@pytest.mark.parametrize("method", ["tree", "bone-boxes"])
def test_what_a_response_leaves_inside_is_set_out_before_it_is_shown(idle, method):
    scene = falling()
    sim = Simulation(scene, 0.01, substeps=3, method=method)
    assert all(depth_of(scene, frame.x).max() <= 0.0 for frame in sim.run(4))


def test_without_it_the_same_cloth_is_shown_inside(idle, monkeypatch):
    monkeypatch.setattr("pliant.simulation.final_projection.FinalProjection.apply", lambda *_: False)
    scene = falling()
    frames = list(Simulation(scene, 0.01, substeps=3, method="tree").run(4))
    assert max(depth_of(scene, frame.x).max() for frame in frames) > 0.02


def test_what_is_held_stays_where_it_is_held(idle):
    middle = 40  # of 9 x 9; brought into the ball
    scene = falling(grips=[Grip([middle], Motion((0.0, 0.1), np.stack([IDENTITY_POSE, lowered(0.1)])))])
    sim = Simulation(scene, 0.01, substeps=3, method="tree")
    for frame in sim.run(3):
        assert np.array_equal(frame.x[middle], scene.gripped_at(np.array([frame.time]))[0, 0])
    assert depth_of(scene, frame.x)[middle] > 0.02


def test_what_starts_deep_inside_comes_out_no_faster_than_it_may(idle):
    ball = shapes.ball(0.1, 3)
    sheet = shapes.cloth(0.04, 0.04, 5)
    sheet = sheet.moved(sheet.vertices - sheet.vertices.mean(0) + np.array([0.0, 0.03, 0.0]))
    bodies = [Body(sheet, material=Cloth()), Body(ball, obstacle=True)]
    scene = Scene(bodies, eps=0.002, gravity=(0.0, 0.0, 0.0), self_contact="off")
    sim = Simulation(scene, 0.01, substeps=3, method="tree")
    before = scene.start().x[scene.rows(0)]
    sim.step()
    went = np.linalg.norm(sim.state.x[scene.rows(0)] - before, axis=1)
    assert 0.015 < went.max() <= 2.0 * 0.01 + 1e-12


def test_a_frame_without_doubt_is_left_alone(monkeypatch):
    """Not one bit changes where cloth is far from the body, and nobody is asked."""
    scene = falling()
    sim = Simulation(scene, 0.0001, substeps=1, method="tree")
    asked = []
    monkeypatch.setattr(type(sim.detectors[0]), "inside", lambda self, points, which=None: asked.append(points))
    sim.step()
    assert not asked


@pytest.mark.compiled
def test_a_sleeve_on_a_fast_arm_is_never_shown_inside_it():
    scene = dress_scene([sleeve()], post(), clip="sway", lead_in=0.02, eps=0.001)
    sim, referee = Simulation(scene, 0.02, substeps=1, method="bone-boxes"), Referee(scene)
    for frame in sim.run(20):
        skin = referee.deforming[1].update(frame.x[scene.rows(1)])
        assert skin.query(frame.x[scene.rows(0)])[0].min() >= 0.0


@pytest.mark.long
@pytest.mark.compiled
@pytest.mark.parametrize("garment", ["skirt.obj", "tights.obj"])
def test_on_the_walking_human_no_vertex_is_shown_inside(data, garment):
    """But where the body meets itself, in the armpits, there is no outside between its parts."""
    from pliant_bench.bone_boxes import human_character

    folder = data / "human"
    scene = dress_scene([pliant.load(folder / garment)], human_character(folder))
    sim, referee = Simulation(scene, 0.01, substeps=3, method="bone-boxes"), Referee(scene)
    for frame in sim.run(148):
        assert referee.least_distance(frame.x, frame.pose) > -1e-3
        assert referee.pinched <= 40
