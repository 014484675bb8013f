"""Cloth that is taut around a body: the strain limit and the guard end together, neither undoes the other."""

import numpy as np
import pytest

from pliant.mesh import Mesh
from pliant.motion.rigid import Motion
from pliant.scene import Body, Scene
from pliant.shapes import box
from pliant.simulation import Simulation
from pliant.simulation.guard import IntersectionCount

pytestmark = pytest.mark.compiled
AROUND, RINGS = 24, 9
SPEED = 1.5  # m/s, of a foot


def stride(apart: float) -> Scene:
    """A tube of a radius of 10 cm hangs from its pinned upper ring; two legs inside part until their centres are at
    +-apart."""
    k, rows = np.arange(AROUND), AROUND * np.arange(RINGS - 1)[:, None]
    ring = 0.1 * np.stack([np.cos(2 * np.pi * k / AROUND), 0.0 * k, np.sin(2 * np.pi * k / AROUND)], 1)
    x = (ring[None] - np.linspace(0.0, 0.16, RINGS)[:, None, None] * [0.0, 1.0, 0.0]).reshape(-1, 3)
    a, b = rows + k, rows + (k + 1) % AROUND
    faces = np.concatenate([np.stack([a, a + AROUND, b], 2), np.stack([b, a + AROUND, b + AROUND], 2)]).reshape(-1, 3)
    legs = []
    for side in (-1.0, 1.0):
        poses = np.repeat(np.eye(3, 4)[None], 3, 0)
        poses[:, 0, 3] = side * np.array([0.04, apart, apart])
        leg = box((0.05, 0.1, 0.05), 2, centre=(0.0, -0.16, 0.0))
        legs.append(Body(leg, obstacle=True, motion=Motion([0.0, (apart - 0.04) / SPEED, 1.0], poses)))
    skirt = Body(Mesh(x, faces.astype(np.int32)), pins=k.tolist())
    return Scene([skirt, *legs], eps=0.004, self_contact="safe")


def test_a_hem_that_legs_pull_taut_keeps_its_strain_limit_outside_of_them():
    scene = stride(0.11)  # alternating between the two left edges of 22 %
    mesh = scene.bodies[0].mesh.welded
    i, j = mesh.topology.edges.T
    rest = np.linalg.norm(mesh.vertices[i] - mesh.vertices[j], axis=1)
    sim, count = Simulation(scene), IntersectionCount(scene, scene.start().x)
    for frame in sim.run(25):
        x = frame.x[scene.rows(0)]
        assert (np.linalg.norm(x[i] - x[j], axis=1) / rest - 1.0).max() <= 0.06
        assert count.at(frame.x) == (0, 0)
    assert sim.self_contact.given_up_pairs == 0
