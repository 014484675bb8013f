"""Surgery: a viewing volume keeps its tool out of a liver, organs stay apart, and a gut is sewn to its mesentery."""

import dataclasses

import numpy as np
import pytest

import pliant
from pliant.scenes import SCENE_METHODS, SCENES
from pliant.simulation import Simulation
from pliant.simulation.measure.intersection_statistics import IntersectionStatistics
from pliant.simulation.measure.referee import Referee

pytestmark = pytest.mark.compiled


def test_the_viewing_volume_alone_keeps_the_tool_out_of_the_liver_and_nothing_does_not():
    deepest = {}
    for method in (SCENE_METHODS["surgical-tool"], None):
        scene = SCENES["surgical-tool"](resolution=7)
        assert scene.self_contact == "off"
        own = {"method": method} if method else {"detectors": [Nothing()]}
        sim, referee = Simulation(scene, substeps=8, **own), Referee(scene)
        least = [referee.least_distance(frame.x, frame.pose) for frame in sim.run(48)]
        deepest[method] = min(least)
        assert np.isfinite(sim.state.x).all()
    assert deepest[SCENE_METHODS["surgical-tool"]] > -1e-3
    assert deepest[None] < -5e-3


class Nothing:
    """A detector that finds nothing."""

    name, finds, guarantee, needs, gives, source = "nothing", pliant.detect.base.Finds.OBSTACLE, "C", "", "", ""
    obstacle_may_deform = True

    def update(self, state):
        return self

    def find(self, state):
        return pliant.contacts.empty()


@pytest.mark.long
def test_two_organs_are_pressed_together_and_share_no_volume():
    scene = SCENES["two-organs"](resolution=7)
    sim = Simulation(scene, substeps=6, method="bvh")
    count, referee = IntersectionStatistics(scene, sim.state.x), Referee(scene)
    start, near = sim.state.x[scene.rows(1)].mean(0), np.inf
    for frame in sim.run(80):
        assert count.at(frame.x) == (0, 0)
        assert referee.least_distance(frame.x, frame.pose) > 0.0
        if frame.index % 20 == 0:
            one, two = (scene.bodies[b].mesh.welded.moved(frame.x[scene.rows(b)]).surface for b in (0, 1))
            near = min(near, np.abs(pliant.closest_point(one, two.vertices)[0]).min())
    assert near < 2.0 * scene.thickness, "they touch"
    assert np.linalg.norm(sim.state.x[scene.rows(1)].mean(0) - start) > 0.01, "the tool has moved the gland"


def test_the_gut_is_sewn_to_its_mesentery_without_an_intersection():
    scene = SCENES["gut-with-mesentery"]()
    sim = Simulation(scene, substeps=6, method="bvh")
    count = IntersectionStatistics(scene, sim.state.x)
    for frame in sim.run(24):
        assert count.at(frame.x) == (0, 0)
    assert open_stitches(scene, sim).max() < 0.5 * scene.thickness


def open_stitches(scene: pliant.Scene, sim: Simulation) -> np.ndarray:
    """The gaps of all stitches of the mesentery, metres."""
    (seam,) = scene.stitches
    rows, onto = seam.on(scene.bodies[1].mesh, scene.bodies[0].mesh)
    a, b = (sim.state.x[scene.first[0] + onto[:, k]] for k in (0, 1))
    return np.linalg.norm(sim.state.x[scene.first[1] + rows] - a - seam.share[:, None] * (b - a), axis=1)


def test_a_gut_hangs_by_the_stitches_of_its_mesentery():
    lying = SCENES["gut-with-mesentery"]()
    scene = dataclasses.replace(lying, bodies=lying.bodies[:2], gravity=(0.0, 0.0, 9.81))
    sim, largest = Simulation(scene, substeps=6, method="bvh"), 0.0
    count, low = IntersectionStatistics(scene, sim.state.x), sim.state.x[scene.rows(0), 2].mean()
    for frame in sim.run(34):
        assert count.at(frame.x) == (0, 0)
        if frame.index > 20:  # the stitches are closed, and gravity pulls
            largest = max(largest, open_stitches(scene, sim).max())
    assert sim.state.x[scene.rows(0), 2].mean() > low + 0.03, "it has fallen"
    assert largest < 1.5e-3, "pushed by the thickness, or pulled by the strain limit, they open by 28 mm"


def test_stitches_of_a_cloth_to_a_soft_body_carry_its_weight_and_of_two_soft_bodies_are_refused():
    bar = pliant.shapes.bar((0.04, 0.04, 0.04), (1, 1, 1), centre=(0.0, -0.021, 0.0))
    sheet = pliant.shapes.cloth(0.04, 0.1, (2, 4), plane="xy", centre=(0.0, 0.05, 0.02))
    low = np.flatnonzero(sheet.vertices[:, 1] < 1e-9)
    top = np.flatnonzero((bar.vertices[:, 1] > -0.002) & (bar.vertices[:, 2] > 0.0))
    pairs = [(a, top[np.argmin(np.abs(bar.vertices[top, 0] - sheet.vertices[a, 0]))]) for a in low]
    held = np.flatnonzero(sheet.vertices[:, 1] > 0.0999)
    bodies = [
        pliant.Body(sheet, pins=held),
        pliant.Body(bar, material=pliant.Solid(density=100.0)),
        pliant.Body(bar.moved(bar.vertices + 1.0), material=pliant.Solid()),
    ]
    seam = pliant.Stitches.pairs(pairs, (0, 1))
    sim = Simulation(pliant.Scene(bodies[:2], stitches=[seam], closing=0.05, self_contact="off"), substeps=8)
    for _ in sim.run(30):
        pass
    assert sim.state.x[sim.scene.rows(1), 1].max() > -0.03, "without stitches it would have fallen by 0.3 m"
    with pytest.raises(ValueError, match="is not cloth"):
        pliant.Scene(bodies, stitches=[pliant.Stitches.pairs([(0, 0)], (1, 2))])
