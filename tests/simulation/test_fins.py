"""A fin on an open body, whose faces look away from cloth above it, is no reason to call the cloth inside."""

import numpy as np

import pliant
from pliant.scene import Body, Scene
from pliant.simulation.measure.referee import Referee


def test_cloth_above_an_inverted_fin_is_outside_and_cloth_behind_an_open_body_inside() -> None:
    ball = pliant.shapes.ball(0.2, 3)
    open_ball = ball.faces[ball.vertices[ball.faces][:, :, 1].mean(1) > -0.15]  # without its lowest part
    top = int(np.argmax(ball.vertices[:, 1]))
    spike = ball.vertices.copy()
    spike[top, 1] = 0.26
    inverted = (open_ball == top).any(1)
    faces = np.where(inverted[:, None], open_ball[:, ::-1], open_ball)  # the spike's faces look into the body
    # seams of the fin are no boundary for the referee if its vertices are its own
    own, again = np.unique(faces[inverted], return_inverse=True)
    x = np.concatenate([spike, spike[own] * [1.001, 1.0, 1.001]])
    faces[inverted] = len(spike) + again.reshape(-1, 3)
    body = Body(pliant.Mesh(x, faces), obstacle=True)
    for height, outside in ((0.3, True), (0.1, False)):
        cloth = pliant.shapes.cloth(0.1, 0.1, 4, centre=(0.0, height, 0.0))
        scene = Scene([Body(cloth), body])
        least = Referee(scene).least_distance(scene.start().x)
        assert (least > 0.0) == outside
