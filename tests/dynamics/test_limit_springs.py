"""Springs beyond the strain limit in the implicit solve: it carries the pull of taut edges through the whole cloth."""

import numpy as np
import pytest

import linearised
from pliant.dynamics.cloth import ClothDynamics
from pliant.materials import Cloth
from pliant.mesh import Mesh
from pliant.scene import Body, Scene
from pliant.shapes import cloth
from pliant.simulation import Simulation

AROUND, RINGS = 60, 45
HOLE, RIM = 0.1, 0.6  # m
LIMIT = 0.017


def poncho() -> Mesh:
    """A disc with a hole, in rings of vertices."""
    k, radii = np.arange(AROUND), np.linspace(HOLE, RIM, RINGS)
    circle = np.stack([np.cos(2 * np.pi * k / AROUND), 0.0 * k, np.sin(2 * np.pi * k / AROUND)], 1)
    rows = AROUND * np.arange(RINGS - 1)[:, None]
    a, b = rows + k, rows + (k + 1) % AROUND
    faces = np.concatenate([np.stack([a, a + AROUND, b], 2), np.stack([b, a + AROUND, b + AROUND], 2)])
    return Mesh((radii[:, None, None] * circle).reshape(-1, 3), faces.reshape(-1, 3).astype(np.int32), name="poncho")


def cone() -> Mesh:
    """A cone around the y axis, 0.3 m high, whose slope is 60 degrees."""
    k = 2 * np.pi * np.arange(96) / 96
    low = np.stack([0.22 * np.cos(k), -0.18 + 0.0 * k, 0.22 * np.sin(k)], 1)
    a, b = np.arange(96), (np.arange(96) + 1) % 96
    side, floor = np.stack([a, np.full(96, 96), b], 1), np.stack([a, b, np.full(96, 97)], 1)
    return Mesh(np.concatenate([low, [[0.0, 0.2, 0.0], [0.0, -0.18, 0.0]]]), np.concatenate([side, floor]), name="cone")


@pytest.mark.compiled
def test_a_fine_cloth_that_hangs_from_its_hole_needs_few_corrections_of_the_strain_limit():
    body = Body(poncho(), material=Cloth(strain_limit=LIMIT), velocity=(0.0, -0.6, 0.0))
    scene = Scene([body, Body(cone(), obstacle=True)], self_contact="safe")
    sim = Simulation(scene, method="bvh")
    for _ in sim.run(12):
        pass
    assert sim.dynamics.cloths is not None
    assert sim.dynamics.cloths._limit.shortened <= 8_000_000  # without these springs 21 million


def energy(x: np.ndarray, faces: np.ndarray, longest: np.ndarray, pull: np.ndarray) -> float:
    lengths = np.linalg.norm(x[faces] - x[np.roll(faces, -1, axis=1)], axis=2)
    return 0.5 * float((pull[:, None] * np.maximum(lengths - longest, 0.0) ** 2).sum())


def test_forces_are_the_gradient_of_the_energy_of_edges_beyond_their_limit(rng):
    sheet = cloth(0.3, 0.3, 6, irregular=True)
    scene = Scene([Body(sheet, material=Cloth(strain_limit=0.02))])
    solver = ClothDynamics(scene)._implicit
    g, faces, n = solver.system(0.0025).rows, solver.membrane.faces, sheet.n_vertices
    x = sheet.vertices * [1.05, 1.0, 0.95] + 0.002 * rng.normal(size=(n, 3))
    longest, pull = solver._step.longest, rng.uniform(1.0, 2.0, len(faces))
    assert np.isfinite(longest).all()
    found = linearised.linearise(solver, g, x, x, 0.0 * pull) - linearised.linearise(solver, g, x, x, pull)
    expected, step = np.zeros_like(x), 1e-7
    for i in range(n):
        for k in range(3):
            ahead, behind = x.copy(), x.copy()
            ahead[i, k] += step
            behind[i, k] -= step
            expected[i, k] = energy(ahead, faces, longest, pull) - energy(behind, faces, longest, pull)
    assert np.abs(found).max() > 1e-3
    assert np.allclose(found, expected / (2.0 * step), atol=1e-6)


def test_the_matrix_has_their_stiffness_along_the_edges(rng):
    sheet = cloth(0.3, 0.3, 6)
    solver = ClothDynamics(Scene([Body(sheet, material=Cloth(strain_limit=0.02))]))._implicit
    g, n = solver.system(0.0025).rows, sheet.n_vertices
    x, pull = 1.1 * sheet.vertices, np.full(len(solver.membrane.faces), 1e3)
    along = 1e-6 * np.pad(x, ((0, 0), (0, 1))).astype(np.float32)  # of a growth in all directions
    products = []
    for stiff in (0.0 * pull, pull):
        linearised.linearise(solver, g, x, x, stiff)
        out = np.zeros((n, 4), np.float32)
        products.append(linearised.multiply(solver, g, along, out))
    lengths = np.linalg.norm(x[solver.membrane.faces] - x[np.roll(solver.membrane.faces, -1, axis=1)], axis=2)
    stretched = lengths > solver._step.longest
    assert stretched.all()
    assert np.isclose(products[1] - products[0], 1e-12 * (1e3 * lengths**2).sum(), rtol=1e-4)
