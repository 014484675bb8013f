"""Taking hold of cloth: it comes along, and bodies stay in the way."""

import dataclasses

import numpy as np
import pytest

import pliant
from pliant.scene import Body, Scene
from pliant.scenes import drape_scene
from pliant.simulation import Simulation
from pliant.simulation.drag import DragConstraint, grab
from pliant.simulation.measure.referee import Referee


@pytest.fixture(scope="module")
def hanging():
    """A cloth that has come to lie over a ball: the scene and its state."""
    scene = drape_scene(pliant.shapes.cloth(0.7, 0.7, 16), pliant.shapes.ball(0.2), eps=0.005)
    sim = Simulation(scene, method="tree")
    for _ in sim.run(40):
        pass
    return scene, sim.state


def simulation(hanging, method="tree", self_contact="safe"):
    scene, state = hanging
    return Simulation(dataclasses.replace(scene, self_contact=self_contact), method=method, state=state)


def hold_corner(sim):
    """A hand at the corner of the cloth with the largest x + z."""
    scene = sim.scene
    x, mesh = sim.state.x[scene.rows(0)], scene.bodies[0].mesh.welded
    corner = int(np.argmax(x[:, 0] + x[:, 2]))
    face = int(np.flatnonzero((mesh.faces == corner).any(1))[0])
    hand = DragConstraint.at_point(scene, sim.state, 0, face, (mesh.faces[face] == corner).astype(float))
    sim.drags.append(hand)
    return hand


@pytest.mark.compiled
@pytest.mark.parametrize("way", [(0.3, 0.0, 0.0), (0.1, 0.28, 0.0)])
def test_a_corner_drawn_by_thirty_centimetres_comes_within_three_and_nothing_goes_inside(hanging, way):
    sim = simulation(hanging)
    hand, referee = hold_corner(sim), Referee(sim.scene)
    hand.to = hand.point(sim.state) + np.array(way)
    least = min(referee.least_distance(frame.x, frame.pose) for frame in sim.run(40))
    assert np.linalg.norm(hand.point(sim.state) - hand.to) < 0.03
    assert least > 0.004


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("method", "self_contact"), [("tree", "safe"), ("distance-field", "off"), ("bone-boxes", "off")]
)
def test_a_hand_that_goes_into_the_body_leaves_the_cloth_outside(hanging, method, self_contact):
    """With self-contact off, nothing but the contacts of the method keeps it out."""
    sim = simulation(hanging, method, self_contact)
    hand, referee = hold_corner(sim), Referee(sim.scene)
    hand.to = sim.scene.bodies[1].mesh.bounds.mean(0)
    least = min(referee.least_distance(frame.x, frame.pose) for frame in sim.run(40))
    assert least > 0.0
    assert np.linalg.norm(hand.point(sim.state) - hand.to) > 0.15  # it did come to the ball, whose radius is 0.2
    assert np.linalg.norm(hand.point(sim.state) - hand.to) < 0.25


@pytest.mark.compiled
def test_what_is_thrown_flies_on(hanging):
    sim = simulation(hanging)
    hand = hold_corner(sim)
    hand.to = hand.point(sim.state) + np.array([0.0, 1.0, 0.0])
    for _ in sim.run(12):
        pass
    sim.drags.remove(hand)
    before = hand.point(sim.state)
    sim.step()
    assert (hand.point(sim.state) - before)[1] > 0.005  # in a hundredth of a second, against gravity


@pytest.mark.compiled
def test_a_hand_has_no_more_force_than_it_is_given(hanging):
    scene, state = hanging
    bodies = [Body(scene.bodies[0].mesh, pins=np.arange(16)), scene.bodies[1]]
    sim = Simulation(Scene(bodies, eps=0.005), method="tree", state=state)
    hand = hold_corner(sim)
    hand.to = hand.point(sim.state) + np.array([5.0, 0.0, 0.0])
    for _ in sim.run(40):
        pass
    assert np.isfinite(sim.state.x).all()
    assert np.linalg.norm(hand.point(sim.state) - hand.to) > 2.0  # pinned along a side, it does not reach that far


def test_a_ray_takes_what_it_meets_first():
    scene = drape_scene(pliant.shapes.cloth(0.7, 0.7, 8), pliant.shapes.ball(0.2, 2), eps=0.005)
    state = scene.start()
    above, below = np.array([0.0, 2.0, 0.0]), np.array([0.0, -2.0, 0.0])
    hand = grab(scene, state, above, [0.0, -1.0, 0.0])
    assert hand is not None
    assert np.linalg.norm(hand.point(state)[[0, 2]]) < 0.05
    assert grab(scene, state, below, [0.0, 1.0, 0.0]) is None  # the ball is in the way
    assert grab(scene, state, above, [0.0, 1.0, 0.0]) is None  # nothing there


def test_what_is_pinned_all_around_says_so():
    cloth = pliant.shapes.cloth(0.5, 0.5, 4)
    scene = Scene([Body(cloth, pins=np.arange(cloth.n_vertices))])
    with pytest.raises(ValueError, match="all vertices around it are pinned"):
        DragConstraint.at_point(scene, scene.start(), 0, 0, [1.0, 0.0, 0.0])
