"""Strain limiting of all edges together: where it goes, judged by a projection that knows nothing of its iteration."""

import numpy as np
import pytest
from scipy.optimize import minimize

from pliant.dynamics import global_limit
from pliant.dynamics.global_limit import GlobalLimit
from pliant.dynamics.strain_limit import NO_GAPS, StrainLimit
from pliant.kernels.dynamics.strain_limit import Gaps, Surface
from pliant.materials import Cloth
from pliant.mesh import Mesh
from pliant.scene import Body, Scene
from pliant.shapes import cloth

LIMIT = 0.017


def limited(mesh: Mesh, pins: tuple[int, ...] = ()) -> tuple[StrainLimit, np.ndarray]:
    body = Body(mesh, material=Cloth(strain_limit=LIMIT), pins=pins)
    return StrainLimit([(body, mesh.welded, 0)], Scene([body]).inverse_masses), mesh.welded.vertices.copy()


def untouched(n: int) -> Surface:
    return Surface(np.full(n, -1, np.int32), np.zeros((0, 3)), np.zeros((0, 3)))


def together(limit: StrainLimit) -> GlobalLimit:
    return GlobalLimit(limit.edges, limit.w, [slice(0, len(limit.w))])


def ratios(limit: StrainLimit, x: np.ndarray) -> np.ndarray:
    i, j = limit.edges.ends.T
    return np.linalg.norm(x[i] - x[j], axis=1) / limit.edges.most


def ring(around: int, rings: int) -> Mesh:
    """A flat ring, 0.1 m to 0.3 m."""
    k, radii = np.arange(around), np.linspace(0.1, 0.3, rings)
    circle = np.stack([np.cos(2 * np.pi * k / around), 0.0 * k, np.sin(2 * np.pi * k / around)], 1)
    rows = around * np.arange(rings - 1)[:, None]
    a, b = rows + k, rows + (k + 1) % around
    faces = np.concatenate([np.stack([a, a + around, b], 2), np.stack([b, a + around, b + around], 2)])
    return Mesh((radii[:, None, None] * circle).reshape(-1, 3), faces.reshape(-1, 3).astype(np.int32), name="ring")


def test_it_converges_to_the_nearest_positions_without_long_edges(monkeypatch):
    monkeypatch.setattr(global_limit, "ITERATIONS", 500)
    monkeypatch.setattr(global_limit, "ENOUGH", 0.0)  # all iterations
    limit, x = limited(cloth(0.3, 0.3, 3, irregular=True), pins=(0,))
    start = x * [1.04, 1.0, 1.01]
    x[:] = start
    free, (i, j) = np.flatnonzero(limit.w > 0.0), limit.edges.ends.T
    mass, most = 1.0 / limit.w[free][:, None], limit.edges.most
    assert ratios(limit, start).max() > 1.02

    def placed(flat: np.ndarray) -> np.ndarray:
        at = start.copy()
        at[free] = flat.reshape(-1, 3)
        return at

    scale = 1.0 / mass.mean()
    wanted = minimize(
        lambda q: scale * (mass * (placed(q)[free] - start[free]) ** 2).sum(),
        (0.97 * start)[free].ravel(),
        method="SLSQP",
        constraints={"type": "ineq", "fun": lambda q: most - np.linalg.norm(placed(q)[i] - placed(q)[j], axis=1)},
        options={"maxiter": 500, "ftol": 1e-15},
    )
    assert wanted.success
    together(limit).apply(x, untouched(len(x)), NO_GAPS)
    assert (x[0] == start[0]).all()
    assert ratios(limit, x).max() < 1.0 + 1e-5
    assert np.abs(x - placed(wanted.x)).max() < 5e-3 * np.abs(x - start).max()


@pytest.mark.parametrize("around", [40, 80, 160])
def test_a_wide_hole_is_shortened_in_as_many_iterations_at_every_resolution(around):
    """Every edge of the hole is 3 % too long, so that it has to shrink, together with what is around."""
    limit, x = limited(ring(around, around // 4))
    x[:around] *= [1.05, 1.0, 1.05]
    assert ratios(limit, x).max() > 1.03
    assert limit.apply(x)
    assert limit.together == 1
    assert ratios(limit, x).max() < 1.015


def test_sweeps_alone_do_not_shorten_a_fine_hole():
    limit, x = limited(ring(160, 40))
    x[:160] *= [1.05, 1.0, 1.05]
    limit._find(limit.edges, x, *limit._stretched)
    assert not limit._sweep(x, limit.w, 100, untouched(len(x)), NO_GAPS)
    assert ratios(limit, x).max() > 1.03


def test_vertices_stay_outside_of_surfaces_and_gaps_open(monkeypatch):
    """A stretched sheet lies on a ball, which every other vertex touches; the others have gaps of zero to it."""
    monkeypatch.setattr(global_limit, "ITERATIONS", 200)
    monkeypatch.setattr(global_limit, "ENOUGH", 0.0)  # all iterations
    limit, x = limited(cloth(0.3, 0.3, 9, irregular=True))
    flat, n = 1.02 * x, len(x)
    flat[:, 1] = 0.2
    normals = flat / np.linalg.norm(flat, axis=1, keepdims=True)
    x = np.linalg.norm(flat, axis=1).max() * normals
    touching, gapped = np.arange(0, n, 2), np.arange(1, n, 2)
    surface = untouched(n)._replace(normals=normals[touching], points=x[touching])
    surface.place[touching] = np.arange(len(touching))
    vertices = np.full((len(gapped), 4), -1, np.int32)
    vertices[:, 0] = gapped
    weights = np.tile([1.0, 0.0, 0.0, 0.0], (len(gapped), 1))
    gaps = Gaps(vertices, weights, normals[gapped], (x[gapped] * normals[gapped]).sum(1))
    into, along = x.copy(), x.copy()
    together(limit).apply(into, untouched(n), NO_GAPS)
    together(limit).apply(along, surface, gaps)
    assert ratios(limit, x).max() > 1.05
    assert max(ratios(limit, into).max(), ratios(limit, along).max()) < 1.003
    assert ((into - x) * normals).sum(1).min() < -1e-3
    assert ((along - x) * normals).sum(1).min() > -1e-5


def test_cloth_that_nothing_holds_keeps_its_momentum(rng):
    limit, x = limited(cloth(0.3, 0.3, 9, irregular=True))
    x = x * [1.1, 1.0, 1.05] + rng.normal(scale=1e-3, size=x.shape)
    start, mass = x.copy(), 1.0 / limit.w[:, None]
    assert together(limit).apply(x, untouched(len(x)), NO_GAPS)
    moved = mass * (x - start)
    assert np.abs(moved).sum() > 1e-4 * mass.sum()
    assert np.abs(moved.sum(0)).max() < 1e-12 * np.abs(moved).sum()
    assert np.abs(np.cross(start, moved).sum(0)).max() < 1e-12 * np.abs(moved).sum()


def test_few_long_edges_are_only_swept():
    limit, x = limited(cloth(0.3, 0.3, 9))
    x[40] += (0.003, 0.0, 0.0)
    assert limit.apply(x)
    assert limit.together == 0


def test_positions_that_are_not_finite_stay_where_they_are():
    limit, x = limited(cloth(0.3, 0.3, 9))
    x[:40] *= 1.1
    x[5] = np.nan
    start = x.copy()
    together(limit).apply(x, untouched(len(x)), NO_GAPS)
    assert np.array_equal(x, start, equal_nan=True)
