"""Image space in scenes: two soft bodies that start inside each other part, and one comes to rest on a static body."""

import numpy as np
import pytest

import pliant
from pliant import shapes

pytestmark = pytest.mark.compiled


@pytest.mark.parametrize("options", [{"test": "rays"}, {"resolution": 32}], ids=str)
def test_two_soft_balls_that_start_in_each_other_share_no_volume_after_a_few_frames(options):
    balls = [shapes.tet_ball(0.1), shapes.tet_ball(0.1, centre=(0.15, 0.01, 0.0))]
    bodies = [pliant.Body(ball, material=pliant.Solid()) for ball in balls]
    scene = pliant.Scene(bodies, self_contact="push", gravity=(0.0, 0.0, 0.0))
    sim = pliant.Simulation(scene, self_method="image-space", self_response="separate", self_options=options)
    assert pliant.overlap(*balls, resolution=32).volume > 1e-4
    for _ in range(12):
        sim.step()
    n = balls[0].n_vertices
    one, two = balls[0].moved(sim.state.x[:n]), balls[1].moved(sim.state.x[n:])
    assert pliant.overlap(one, two, resolution=32).volume == 0.0


def test_a_soft_ball_is_held_by_a_static_box_with_layers_as_with_rays():
    ball, box = shapes.tet_ball(0.1, centre=(0.0, 0.14, 0.0)), shapes.box((0.6, 0.1, 0.6), (6, 1, 6))
    heights = []
    for options in ({}, {"resolution": 64}):
        scene = pliant.Scene([pliant.Body(ball, material=pliant.Solid()), pliant.Body(box, obstacle=True)])
        sim = pliant.Simulation(scene, method="image-space", options=options)
        for _ in range(30):
            sim.step()
        heights.append(sim.state.x[: ball.n_vertices, 1].min())
    assert np.min(heights) > 0.045
