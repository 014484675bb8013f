"""Scenes that run on a graphics card, large on one and small in Numba's simulator."""

import dataclasses

import numpy as np

import pliant
from pliant import shapes
from pliant.kernels import device
from pliant.materials import Cloth
from pliant.mesh.stitches import Stitches
from pliant.motion.rigid import Motion
from pliant.scene import Body, Grip, Scene
from pliant.simulation import Simulation

SIDE = 6 if device.SIMULATED else 150
FRAMES = 2 if device.SIMULATED else 20
SUBSTEPS = 2 if device.SIMULATED else 8
ARRAYS = ("x", "v", "x_start", "v_start")


def cloth_at(height: float, **options) -> Body:
    sheet = shapes.cloth(0.3, 0.3, resolution=SIDE)
    return Body(pliant.Mesh(sheet.vertices + np.array([0.0, height, 0.0]), sheet.faces), **options)


def ball(**options) -> Body:
    return Body(shapes.ball(0.15, 2 if device.SIMULATED else 4), obstacle=True, **options)


def spin() -> Motion:
    times = np.linspace(0.0, 1.0, 21)
    angle = 2.0 * times
    poses = np.zeros((21, 3, 4))
    poses[:, 0, 0] = poses[:, 2, 2] = np.cos(angle)
    poses[:, 0, 2], poses[:, 2, 0], poses[:, 1, 1] = np.sin(angle), -np.sin(angle), 1.0
    poses[:, 1, 3] = 0.05 * times
    return Motion(times, poses)


def scenes() -> dict[str, Scene]:
    floor = Body(shapes.box(1.0, 2).moved(shapes.box(1.0, 2).vertices - [0.0, 0.62, 0.0]), obstacle=True)
    above, stuff = cloth_at(0.152, velocity=(1.0, -3.0, 0.0)), Cloth(damping=0.02, air=1.2, bend=1e-4)
    held = dataclasses.replace(above, material=stuff, pins=[0], grips=[Grip([SIDE - 1], spin())])
    edge = np.arange(SIDE)
    two = cloth_at(0.17, layer=1, velocity=(0.0, -3.0, 0.0))
    sewn = Stitches.pairs(np.column_stack([edge, edge]), (0, 1))
    plain = {"self_contact": "off", "eps": 0.03}
    return {
        "ball and floor": Scene([above, ball(), floor], friction=0.4, restitution=0.5, **plain),
        "air, pins, grips and wind": Scene([held, ball()], wind=(1.0, 0.0, 0.5), friction_model="simple", **plain),
        "spinning ball": Scene([above, ball(motion=spin())], friction=0.8, **plain),
        "two cloths sewn together": Scene([above, two, ball()], stitches=[sewn], closing=0.01, **plain),
    }


def assert_same(one: Simulation, other: Simulation) -> None:
    assert one.index == other.index
    for name in (*ARRAYS, "pose", "pose_start", "slid", "pressed"):
        np.testing.assert_array_equal(getattr(other.state, name), getattr(one.state, name), name)
    assert (one.state.time, one.state.lapse) == (other.state.time, other.state.lapse)
