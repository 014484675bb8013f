"""Contacts as springs of the implicit step: against differences, and friction against closed forms."""

import math

import numpy as np
import pytest
from scipy.sparse import csr_array

from pliant import contacts as _contacts
from pliant.contacts import MIDPOINT_FIELD, VERTEX_FIELD
from pliant.dynamics.contact_springs import SOFT, ContactSprings
from pliant.dynamics.stiffness import patches_of, stiffness_pattern
from pliant.kernels.dynamics import contact_springs as kernels
from pliant.kernels.dynamics.contact_springs import LastSubstep, Repulsion
from pliant.kernels.dynamics.stiffness import inverse, multiply_rows
from pliant.kernels.respond.projection import Substep
from pliant.mesh import Mesh
from pliant.scene import Body, Scene
from pliant.shapes import cloth
from pliant.simulation import Simulation

DT, N = 0.0025, 6


def case(rng, *, friction=0.3):
    """Springs of two vertices and an edge midpoint, less than the offset from random planes."""
    found = _contacts.empty(3)
    found["kind"] = [VERTEX_FIELD, VERTEX_FIELD, MIDPOINT_FIELD]
    found["vertices"][:, 0], found["weights"][:, 0] = [1, 3, 4], [1.0, 1.0, 0.5]
    found["vertices"][2, 1], found["weights"][2, 1] = 5, 0.5
    n = rng.normal(size=(3, 3))
    n /= np.linalg.norm(n, axis=1)[:, None]
    found["normal"], found["anchor_velocity"] = n, rng.normal(scale=0.1, size=(3, 3))
    x_start = rng.normal(size=(N, 3))
    x = x_start + rng.normal(scale=1e-4, size=(N, 3))
    points = np.stack([x[1], x[3], 0.5 * (x[4] + x[5])])
    found["anchor"] = points - 0.0019 * n
    springs, w = ContactSprings(N), rng.uniform(50.0, 100.0, N)
    repulsion = Repulsion(0.002, SOFT, friction, 1e-9, (0.0, 0.0, 0.0))
    springs.collect(found, Substep(x, x_start, w, DT), LastSubstep(rng.uniform(size=N), np.full(N, 1e-5)), 0, repulsion)
    return springs, x, w


def forces(springs, x):
    r = np.zeros((N, 3))
    kernels.add_spring_forces(springs.arrays, 0, N, x, r)
    return r


def product(springs, p):
    """The product of the stiffness with p (N,3), and its dot product with p."""
    faces = np.array([(0, 1, 2), (3, 4, 5)], np.int32)
    matrix = stiffness_pattern(faces, csr_array((N, N)), patches_of(faces, N))
    kernels.add_spring_stiffness(springs.arrays, matrix, 0, N)
    four, out, tiny = np.pad(p, ((0, 0), (0, 1))), np.zeros((N, 4), np.float32), np.full(N, 1e-30)
    total = multiply_rows(matrix, springs.arrays, 0, N, tiny, four, out)
    return out[:, :3], total


def test_the_product_is_the_change_of_the_forces(rng):
    springs, x, _ = case(rng)
    assert springs.count == 3
    assert sorted(springs.rows) == [1, 3, 4, 5]
    p = rng.normal(size=(N, 3)).astype(np.float32)
    out, curvature = product(springs, p)
    change = forces(springs, x) - forces(springs, x + p)
    assert np.allclose(out, change, atol=1e-6 * np.abs(change).max())
    assert curvature == pytest.approx(float((p * out).sum()))
    assert curvature > 0.0


def test_momentum_of_a_midpoint_is_shared_and_other_rows_do_not_move(rng):
    springs, x, _ = case(rng)
    r = forces(springs, x)
    assert np.allclose(r[4], r[5])
    assert (r[[0, 2]] == 0.0).all()


def test_the_preconditioner_knows_the_stiffness_of_a_vertex(rng):
    springs, _, _ = case(rng, friction=0.0)
    blocks = np.tile([1.0 / 3, 1.0 / 3, 1.0 / 3, 0, 0, 0], (N, 1))
    kernels.stiffen(springs.arrays, 0, N, blocks)
    p = np.zeros((N, 3), np.float32)
    p[1] = (0.3, -0.2, 0.5)
    out, _ = product(springs, p)
    b = inverse(tuple(blocks[1]))
    stiff = np.array([[b[0], b[3], b[4]], [b[3], b[1], b[5]], [b[4], b[5], b[2]]])
    assert np.allclose(stiff @ p[1], out[1] + 3.0 * p[1])
    r = rng.normal(size=(N, 3))
    shrunk = np.array([kernels.scaled(springs.arrays, i, tuple(r[i])) for i in range(N)])
    assert (np.linalg.norm(shrunk[[1, 3, 4, 5]], axis=1) < np.linalg.norm(r[[1, 3, 4, 5]], axis=1)).all()
    assert (shrunk[[0, 2]] == r[[0, 2]]).all()


def test_contacts_that_move_other_bodies_have_no_springs(rng):
    found = _contacts.empty(1)
    found["vertices"][0, :2], found["weights"][0, :2], found["normal"][0] = (0, 4), (1.0, -1.0), (0, 1, 0)
    found["anchor"][0] = (0.0, -0.0019, 0.0)
    x, w = rng.normal(scale=1e-6, size=(5, 3)), np.ones(5)
    repulsion = Repulsion(0.002, SOFT, 0.3, 1e-9, (0.0, 0.0, 0.0))
    for movable, count in ((1.0, 0), (0.0, 1)):
        w[4] = movable
        springs = ContactSprings(3)
        springs.collect(found, Substep(x, x.copy(), w, DT), LastSubstep(np.zeros(5), np.zeros(5)), 0, repulsion)
        assert springs.count == count


def cylinder(radius: float, length: float, sides: int = 360) -> Mesh:
    a = np.linspace(0.0, 2.0 * math.pi, sides, endpoint=False)
    ring = radius * np.stack([np.cos(a), np.sin(a)], 1)
    ends = [np.c_[ring, np.full(sides, z)] for z in (-0.5 * length, 0.5 * length)]
    k, j = np.arange(sides), (np.arange(sides) + 1) % sides
    low, high = np.full(sides, 2 * sides), np.full(sides, 2 * sides + 1)
    faces = [(k, j, sides + j), (k, sides + j, sides + k), (low, j, k), (high, sides + k, sides + j)]
    tips = [[0.0, 0.0, -0.5 * length], [0.0, 0.0, 0.5 * length]]
    return Mesh(np.concatenate([*ends, tips]), np.concatenate([np.stack(f, 1) for f in faces]))


def sunk(ratio: float, across: int, frames: int, friction=0.3) -> float:
    """How far the heavy end of a strip over a cylinder sinks, whose hanging ends have lengths in this ratio."""
    radius, eps, length, width = 0.05, 0.002, 0.5, 0.06
    r = radius + eps
    arc = math.pi * r
    light = (length - arc) / (1.0 + ratio)
    sheet = cloth(length, width, (round(length / width * (across - 1)) + 1, across))
    s = sheet.vertices[:, 0] - sheet.vertices[:, 0].min()
    angle = np.clip((s - light) / r, 0.0, math.pi)
    y = r * np.sin(angle) - np.maximum(light - s, 0.0) - np.maximum(s - light - arc, 0.0)
    draped = np.stack([-r * np.cos(angle), y, sheet.vertices[:, 2]], 1)
    obstacle = Body(cylinder(radius, 0.2), obstacle=True)
    scene = Scene([Body(sheet), obstacle], eps=eps, friction=friction, self_contact="off")
    sim = Simulation(scene, 0.01)
    sim.state.x[scene.rows(0)] = draped
    for _ in sim.run(frames):
        pass
    end = s == s.max()
    return float((draped - sim.state.x[scene.rows(0)])[end, 1].mean())


@pytest.mark.compiled
@pytest.mark.parametrize("across", [7, 13])
def test_a_strip_over_a_cylinder_holds_and_slips_as_by_eulers_rope_formula(across):
    """Friction 0.3 over half a turn holds up to a ratio of the ends of 4.1: e^(mu pi) times the light end, and the
    weight of the strip on the cylinder."""
    assert abs(sunk(3.0, across, 60)) < 0.005
    assert sunk(8.0, across, 60) > 0.03


@pytest.mark.compiled
def test_cloth_at_rest_is_in_the_outer_part_of_the_offset():
    floor = Body(Mesh([(-1, 0, -1), (1, 0, -1), (0, 0, 1), (0, -1, 0)], [(0, 2, 1), (0, 1, 3), (1, 2, 3), (2, 0, 3)]))
    floor = Body(floor.mesh, obstacle=True)
    sheet = Body(cloth(0.2, 0.2, 9, centre=(0.0, 0.0101, 0.0)))
    sim = Simulation(Scene([sheet, floor], eps=0.01), 0.01)
    for _ in sim.run(30):
        pass
    y = sim.state.x[sim.scene.rows(0), 1]
    assert 0.01 * (1.0 - SOFT) <= y.min() <= y.max() <= 0.01 + 1e-6
    assert np.abs(sim.state.v[sim.scene.rows(0)]).max() < 1e-3
