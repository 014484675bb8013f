"""At the end of a frame, cloth that crosses bodies where they leave it room comes out of them, or stays as it is."""

import numpy as np
import pytest

from pliant.scene import Body, Scene
from pliant.shapes import box, cloth
from pliant.simulation import Simulation
from pliant.simulation.clearing import Clearing
from pliant.simulation.guard import Guard, IntersectionCount
from simulation.test_no_room import strains

pytestmark = pytest.mark.compiled
EPS = 0.003


def crossing(*bodies, pins=(), height=0.0) -> Scene:
    """A sheet in the plane y = height, of 7 x 7 vertices 2 cm apart, that crosses some of the bodies."""
    sheet = cloth(0.12, 0.12, 7, plane="xz")
    sheet = sheet.moved(sheet.vertices + np.array([0.0, height, 0.0]))
    obstacles = [Body(body, obstacle=True) for body in bodies]
    return Scene([Body(sheet, pins=pins), *obstacles], eps=EPS, self_contact="safe", gravity=(0.0, 0.0, 0.0))


def guard_of(scene: Scene) -> tuple[Guard, np.ndarray]:
    sim = Simulation(scene, method="bvh")
    assert isinstance(sim.self_contact, Guard)
    return sim.self_contact, sim.state.x


def test_crossings_are_exposed_where_bodies_leave_room_and_only_there():
    post = box((0.03, 0.04, 0.03), 1, centre=(0.01, -0.018, 0.01))  # its upper side is 2 mm above the sheet
    guard, x = guard_of(crossing(post))
    assert np.isclose(guard.exposed(x).length, 4 * 0.03)  # the outline of the post in the plane of the sheet
    cap = box((0.06, 0.01, 0.06), 1, centre=(0.011, 0.0, 0.011))  # another body around it: no place of the post is free
    guard, x = guard_of(crossing(post, cap))
    assert np.isclose(guard.exposed(x).length, 4 * 0.06)
    wall = box((0.03, 0.2, 0.2), 1, centre=(0.01 + 0.03 + EPS, 0.0, 0.0))  # a slit of eps beside one side of the post
    guard, x = guard_of(crossing(post, wall))
    found = guard.exposed(x)
    on_post = x[found.body][:, :, 0].max(1) < 0.01 + 0.015 + 0.5 * EPS
    assert on_post.any()
    assert not (found.normals[on_post, 0] > 0.5).any()  # nothing on the side in the slit


def test_pinned_cloth_is_not_exposed():
    sheet = cloth(0.12, 0.12, 7, plane="xz")
    post = box((0.03, 0.04, 0.03), 1, centre=(0.01, -0.018, 0.01))
    scene = crossing(post, pins=range(sheet.n_vertices))
    sim = Simulation(scene, method="bvh")
    before = sim.state.x.copy()
    sim.step()
    assert (sim.state.x == before).all()


@pytest.mark.parametrize("corner", [False, True])
def test_cloth_that_crosses_a_body_is_out_of_it_after_one_frame_without_being_thrown(corner):
    size, middle = (0.03, 0.04, 0.03), (0.01, -0.018, 0.01) if corner else (0.0, -0.018, 0.0)
    scene = crossing(box(size, 1, centre=middle))
    sim, count = Simulation(scene, method="bvh"), IntersectionCount(scene, scene.start().x)
    assert count.at(sim.state.x)[1] > 0
    frame = sim.step()
    assert count.at(frame.x) == (0, 0)
    assert strains(scene, frame.x).max() < 0.06
    assert np.linalg.norm(sim.state.v, axis=1).max() < 2.0
    for frame in sim.run(5):
        assert count.at(frame.x) == (0, 0)


def test_what_does_not_clear_a_crossing_is_undone(monkeypatch):
    post = box((0.03, 0.4, 0.03), 1)  # the sheet is deep inside: it cannot come out within its strain limit
    scene = crossing(post, pins=[0, 6, 42, 48])
    frames = []
    for clears in (True, False):
        with monkeypatch.context() as patch:
            if not clears:
                patch.setattr(Clearing, "apply", lambda self, state, dt: None)
            sim = Simulation(scene, method="bvh")
            frames.append([frame.x for frame in sim.run(2)])
    count = IntersectionCount(scene, scene.start().x)
    exposed = [Simulation(scene, method="bvh").self_contact.exposed(x).length for x in (frames[0][-1], frames[1][-1])]
    assert exposed[0] <= exposed[1]
    assert strains(scene, frames[0][-1]).max() <= max(strains(scene, frames[1][-1]).max(), 0.06)
    assert count.at(frames[0][-1])[0] == 0
