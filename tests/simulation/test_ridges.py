"""Cloth that intersects a body with its vertices outside moves off ridges and corners, and returns through plates."""

import dataclasses

import numpy as np
import pytest

from pliant.materials import Cloth
from pliant.scene import Body, Scene
from pliant.shapes import box, cloth
from pliant.simulation import Simulation
from pliant.simulation.guard import IntersectionCount
from pliant.simulation.guard.inside import solids_of, vertices_inside
from pliant.simulation.guard.ridges import covering
from simulation.test_no_room import closing, strains

pytestmark = pytest.mark.compiled
EPS = 0.003
MOST = 2.0  # m/s: cloth that recovers is not thrown


def starting_from(x: np.ndarray, sheet, body) -> tuple[Simulation, IntersectionCount]:
    """Begin with cloth at x without gravity: it intersects the body with all vertices outside."""
    scene = Scene([Body(sheet), Body(body, obstacle=True)], eps=EPS, self_contact="safe", gravity=(0.0, 0.0, 0.0))
    state = scene.start()
    state.x[scene.rows(0)] = x
    state.x_start = state.x.copy()
    count, rows = IntersectionCount(scene, state.x), np.arange(len(x), dtype=np.int32)
    assert count.at(state.x)[1] > 0
    assert not vertices_inside(solids_of(scene), rows, state.x)
    return Simulation(scene, state=state), count


def assert_recovers(sim: Simulation, count: IntersectionCount, frames: int) -> np.ndarray:
    for _ in sim.run(frames):
        assert np.linalg.norm(sim.state.v, axis=1).max() < MOST
    assert count.at(sim.state.x) == (0, 0)
    return sim.state.x[sim.scene.rows(0)]


@pytest.mark.parametrize("turn", [np.eye(3), np.eye(3)[[1, 2, 0]], np.eye(3)[[2, 0, 1]] * [[1], [-1], [-1]]])
def test_edges_that_cut_a_ridge_move_off_it(turn):
    sheet = cloth(0.16, 0.16, 6, plane="xy")
    x = sheet.vertices @ np.array([[1, 0, 0], [0, 0.5**0.5, -(0.5**0.5)], [0, 0.5**0.5, 0.5**0.5]])
    x = x + np.array([0.0, 0.042, 0.042])  # the plane y + z = 0.084 cuts 11 mm off the ridge at y = z = 0.05
    body = box((0.5, 0.1, 0.1), 1)
    flat = sheet.moved(x @ turn.T)
    sim, count = starting_from(flat.vertices, flat, body.moved(body.vertices @ turn.T))
    assert_recovers(sim, count, 12)


def test_a_corner_that_pokes_through_a_face_leaves_it():
    sheet = cloth(0.2, 0.2, 3, plane="xz")
    body = box((0.05, 0.05, 0.05), 1)
    c, s = np.cos(np.pi / 4), np.sin(np.pi / 4)
    up = np.array([[1, 0, 0], [0, c, -s], [0, s, c]]) @ np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    y = body.vertices @ up.T
    y += np.array([0.05, 0.008, 0.03]) - y[np.argmax(y[:, 1])]
    sim, count = starting_from(sheet.vertices, sheet, body.moved(y))
    assert_recovers(sim, count, 8)


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_cloth_that_has_passed_through_a_plate_returns(side):
    sheet = cloth(0.2, 0.2, 7, plane="xy")
    x = sheet.vertices.copy()
    middle = np.linalg.norm(x[:, :2], axis=1) < 0.02
    x[:, 2] = side * np.where(middle, 0.02, -0.006)
    sim, count = starting_from(x, sheet, box((0.3, 0.3, 0.006), 4))
    x = assert_recovers(sim, count, 20)
    assert (side * x[:, 2] < 0.0).all()


@pytest.mark.parametrize("stretch", [100.0, 550.0])
def test_cloth_between_boxes_that_cross_recovers_at_any_stiffness(stretch):
    scene = closing(-0.005, -0.08)
    material = Cloth(stretch=stretch, shear=0.2 * stretch)
    scene = Scene([dataclasses.replace(scene.bodies[0], material=material), *scene.bodies[1:]], eps=EPS)
    sim = Simulation(scene)
    for frame in sim.run(30):
        assert strains(scene, frame.x).max() <= 0.06
    assert frame.intersections == frame.no_room == 0


def test_few_vertices_cover_all_edges():
    edges = np.array([[0, 4], [1, 4], [2, 4], [3, 5], [3, 6]], np.int32)
    assert covering(edges, 7).tolist() == [3, 4]
    assert covering(edges[:0], 7).tolist() == []
