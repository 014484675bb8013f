"""Contacts inside the implicit step, and the strain limit, against dense algebra and NumPy."""

import numpy as np
import pytest

from linearised import linearise, multiply
from pliant import contacts as _contacts
from pliant.contacts import MIDPOINT_FIELD, VERTEX_FIELD
from pliant.dynamics.cloth import ClothDynamics
from pliant.dynamics.implicit import ImplicitSolver
from pliant.dynamics.strain_limit import StrainLimit
from pliant.kernels.dynamics import contact_constraints as constraints
from pliant.kernels.dynamics.strain_limit import Surface, move
from pliant.kernels.respond.projection import Substep
from pliant.scene import Body, Cloth, Scene
from pliant.shapes import ball, cloth
from pliant.simulation import Simulation

DT = 0.0025


def free_directions(n: int) -> constraints.FreeDirections:
    return constraints.FreeDirections(
        np.zeros(n, np.int32), np.zeros((n, 6)), np.full(n, -1, np.int32), np.zeros((n, 3))
    )


def touching(rows, normals, velocity=(0.0, 0.0, 0.0)):
    found = _contacts.empty(len(rows))
    found["kind"], found["vertices"][:, 0], found["weights"][:, 0] = VERTEX_FIELD, rows, 1.0
    found["normal"], found["anchor_velocity"] = normals, velocity
    return found


def projections(free, count, n) -> np.ndarray:
    """(n,3,3); the identity for vertices that nothing constrains."""
    found = np.tile(np.eye(3), (n, 1, 1))
    for k in range(count):
        b = free.blocks[k]
        found[free.rows[k]] = [[b[0], b[3], b[4]], [b[3], b[1], b[5]], [b[4], b[5], b[2]]]
    return found


def collected(found, pushed, x, x_start, w, first=0):
    free = free_directions(len(x) - first)
    count = constraints.collect(found, np.asarray(pushed, float), Substep(x, x_start, w, DT), first, 1e-9, free)
    return projections(free, count, len(x) - first), count


def test_contacts_leave_the_directions_along_their_surfaces(rng):
    n = rng.normal(size=(4, 3))
    n /= np.linalg.norm(n, axis=1)[:, None]
    x_start = rng.normal(size=(6, 3))
    x = x_start + 0.01
    rows = [0, 1, 1, 2, 3]
    found = touching(rows, [n[0], n[1], n[2], n[3], n[0]])
    free, count = collected(found, [1, 1, 1, 1, 0], x, x_start, np.array([1.0, 1, 0, 1, 1, 1]))
    assert count == 2  # row 2 is fixed, row 3 was not pushed
    line = np.cross(n[1], n[2])
    line /= np.linalg.norm(line)
    assert np.allclose(free[0], np.eye(3) - np.outer(n[0], n[0]))
    assert np.allclose(free[1], np.outer(line, line))
    assert np.allclose(free[2:], np.eye(3))


def test_a_vertex_that_friction_has_stopped_is_not_free_at_all(rng):
    x_start = rng.normal(size=(2, 3))
    velocity = np.array([0.3, 0.0, 0.1])
    x = x_start + DT * velocity + np.array([[0.0, 1e-3, 0.0], [0.0, 1e-3, 1e-5]])
    free, count = collected(touching([0, 1], [(0, 1, 0)] * 2, velocity), [1, 1], x, x_start, np.ones(2))
    assert count == 2
    assert (free[0] == 0.0).all()
    assert np.allclose(free[1], np.diag([1.0, 0.0, 1.0]))


def test_midpoints_and_vertices_of_other_bodies_do_not_constrain(rng):
    x = rng.normal(size=(5, 3))
    found = touching([0, 2, 3], [(0, 1, 0)] * 3)
    found["kind"][1], found["vertices"][1, 1], found["weights"][1, :2] = MIDPOINT_FIELD, 3, 0.5
    free, count = collected(found, [1, 1, 1], x, x - 0.1, np.ones(5), first=2)  # row 0 is an obstacle's
    assert count == 1
    assert np.allclose(free[1], np.diag([1.0, 0.0, 1.0]))
    assert np.allclose(free[[0, 2]], np.eye(3))


def test_the_step_is_solved_in_the_space_that_contacts_leave(rng):
    sheet = cloth(0.3, 0.3, 5, irregular=True)
    dynamics = ClothDynamics(Scene([Body(sheet, pins=(0,))]))
    solver = ImplicitSolver(dynamics.membrane, dynamics.hinges, dynamics.w)
    x_start = sheet.vertices + rng.normal(scale=1e-3, size=sheet.vertices.shape)
    predicted = x_start + rng.normal(scale=1e-3, size=x_start.shape)
    rows, normals = [3, 7, 12, 13], rng.normal(size=(4, 3))
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    found, pushed = touching(rows, normals), np.ones(4)
    x = predicted.copy()
    solver.iterations = 400
    impulse = np.zeros_like(x)
    impulse[rows] = 1e-4 * normals
    solver._predicted[:] = predicted - impulse
    solver.end_relax(x - impulse)
    g = solver.system(DT).rows
    n, free = len(x), np.tile(np.eye(3), (len(x), 1, 1))
    for i, normal in zip(rows, normals, strict=True):
        free[i] -= np.outer(normal, normal)
    free[0] = 0.0
    matrix, column = np.zeros((3 * n, 3 * n)), np.zeros((n, 4), np.float32)
    right = linearise(solver, g, x, predicted)
    for k in range(3 * n):
        unit = np.zeros((n, 4), np.float32)
        unit[k // 3, k % 3] = 1.0
        multiply(solver, g, unit, column)
        matrix[:, k] = column[:, :3].ravel()
    space = np.zeros((3 * n, 3 * n))
    for i in range(n):
        space[3 * i : 3 * i + 3, 3 * i : 3 * i + 3] = free[i]
    expected = np.linalg.pinv(space @ matrix @ space, rcond=1e-12) @ (space @ right.ravel())
    assert solver.relax_in_contact(x, found, pushed, Substep(x, x_start, dynamics.w, DT), 0)
    moved = x - predicted  # in single precision
    assert np.abs((moved[rows] * normals).sum(1)).max() < 1e-6 * np.abs(moved).max()
    assert np.abs(moved.ravel() - expected).max() < 1e-5 * np.abs(expected).max()


def lengths(limit: StrainLimit, x: np.ndarray) -> np.ndarray:
    i, j = limit.edges.ends.T
    return np.linalg.norm(x[i] - x[j], axis=1) / limit.edges.most


def limited(pins=()) -> tuple[StrainLimit, np.ndarray]:
    body = Body(cloth(0.3, 0.3, 7, irregular=True), material=Cloth(strain_limit=0.05), pins=pins)
    scene = Scene([body])
    return StrainLimit([(body, body.mesh.welded, 0)], scene.inverse_masses), body.mesh.vertices


def test_edges_within_the_limit_do_not_move(rng):
    limit, rest = limited()
    x = 1.02 * rest + rng.normal(scale=1e-5, size=rest.shape)
    before = x.copy()
    assert not limit.apply(x)
    assert (x == before).all()


def test_stretched_edges_are_shortened_and_momentum_is_kept(rng):
    limit, rest = limited()
    x = rest + rng.normal(scale=2e-3, size=rest.shape)
    x[24] += (0.03, 0.01, 0.0)
    before = x.copy()
    assert lengths(limit, x).max() > 1.3
    assert limit.apply(x)
    assert lengths(limit, x).max() <= 1.0021
    moved = ((x - before) / limit.w[:, None]).sum(0)
    assert np.abs(moved).max() < 1e-12 * np.abs((x - before) / limit.w[:, None]).sum()


def test_pinned_vertices_stay_where_they_are(rng):
    limit, rest = limited(pins=(0, 48))
    x = rest.copy()
    x[0] -= 0.01
    before = x.copy()
    assert limit.apply(x)
    assert (x[[0, 48]] == before[[0, 48]]).all()
    assert lengths(limit, x).max() <= 1.0021


@pytest.mark.compiled
def test_cloth_that_hits_a_ball_stretches_no_more_at_twice_the_resolution():
    worst = []
    for side in (15, 29):
        sheet = cloth(0.4, 0.4, side, centre=(0.0, 0.2, 0.0))
        scene = Scene([Body(sheet, velocity=(0, -2, 0)), Body(ball(0.15, 3), obstacle=True)], self_contact="off")
        sim, most = Simulation(scene, solver="implicit"), 0.0
        limit = sim.dynamics.cloths._limit
        for _ in sim.run(20):
            most = max(most, float(lengths(limit, sim.state.x[sim.dynamics.rows]).max()) * 1.05 - 1.0)
        worst.append(most)
    assert max(worst) < 0.06


def test_the_strain_limit_moves_vertices_back_to_their_surface_but_not_into_it():
    x, nothing = np.array([[0.0, 0.1, 0.0]]), np.zeros((1, 3))
    surface = Surface(np.zeros(1, np.int32), np.array([[0.0, 1.0, 0.0]]), nothing)
    for _ in range(2):
        move(x, 0, (0.5, -0.3, 0.0), surface)
    assert np.allclose(x, [[1.0, 0.0, 0.0]])
