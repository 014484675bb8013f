"""Cloth against closed forms: falling, hanging, bending, drifting in air; and the same bits however it is run."""

import itertools

import numpy as np
import pytest

from pliant.dynamics import ClothDynamics
from pliant.kernels.dynamics import cloth as kernels
from pliant.kernels.jit import COMPILED
from pliant.mesh import Mesh
from pliant.scene import Body, Cloth, Scene
from pliant.shapes import cloth
from pliant.simulation import Simulation

VACUUM = Cloth(air=0.0)
SIDE = 12 if COMPILED else 4
FRAMES = 20 if COMPILED else 3


def alone(mesh: Mesh, material: Cloth = VACUUM, **options: object) -> Simulation:
    """A cloth with nothing around it, which passes through itself: what keeps it apart has tests of its own."""
    substeps, solver = options.pop("substeps", 10), options.pop("solver", "implicit")
    pins = options.pop("pins", ())
    scene = Scene([Body(mesh, material=material, pins=pins)], **{"self_contact": "off"} | options)
    return Simulation(scene, substeps=substeps, solver=solver)


def test_free_fall_matches_the_closed_form():
    sim = alone(cloth(0.5, 0.5, SIDE))
    start = sim.state.x.copy()
    for _ in sim.run(FRAMES):
        pass
    t, dt = sim.state.time, sim.dt / sim.substeps
    fallen = start[:, 1] - sim.state.x[:, 1]
    assert np.abs(fallen - 0.5 * 9.81 * t * t).max() <= 2 * 0.5 * 9.81 * dt * t
    assert np.abs(sim.state.v[:, 1] + 9.81 * t).max() < 1e-9


def test_pinned_particles_do_not_move_at_all():
    sheet = cloth(0.5, 0.5, SIDE)
    pins = [0, SIDE - 1, 7]
    sim = alone(sheet, Cloth(), pins=pins, wind=(3.0, 0.0, 1.0))
    for _ in sim.run(FRAMES):
        pass
    assert (sim.state.x[pins] == sheet.vertices[pins]).all()
    assert (sim.state.v[pins] == 0.0).all()


@pytest.mark.compiled
@pytest.mark.parametrize(("solver", "irregular", "substeps"), [("implicit", False, 8), ("xpbd", True, 60)])
def test_a_hanging_strip_stretches_by_its_weight_over_its_stiffness(solver, irregular, substeps):
    # under its own weight the strain at the middle is rho g (L/2) / k, in every triangulation
    length, k = 0.4, 40.0
    strip = cloth(0.1, length, (6, 21), irregular=irregular, plane="xy")
    top = np.flatnonzero(strip.vertices[:, 1] > length / 2 - 1e-9)
    material = Cloth(stretch=k, shear=k / 2, damping=0.1)
    sim = alone(strip, material, pins=top, substeps=substeps, solver=solver)
    for _ in sim.run(300):
        pass
    x = sim.state.x
    bottom = strip.vertices[:, 1] < -length / 2 + 1e-9
    sag = (strip.vertices[bottom, 1] - x[bottom, 1]).mean()
    assert np.abs(sim.state.v).max() < 0.02, "the strip must have come to rest"
    assert sag == pytest.approx(0.5 * 0.2 * 9.81 * length**2 / k, rel=0.04)


@pytest.mark.parametrize("irregular", [False, True])
def test_a_smooth_cylinder_costs_no_less_than_half_b_curvature_squared_times_area(irregular):
    n = 24 if COMPILED else 10
    flat = cloth(0.5, 0.5, n, irregular=irregular)
    radius, material = 0.4, Cloth(bend=3e-4)
    u = flat.vertices[:, 0]
    bent = np.stack([radius * np.sin(u / radius), radius * np.cos(u / radius), flat.vertices[:, 2]], 1)
    dynamics = ClothDynamics(Scene([Body(flat, material=material)]))
    energy = kernels.hinge_energy(dynamics.hinges, bent)
    # hinges at the border are missing: compare with the area the inner ones stand for
    inner = 0.5 * 0.5 * (1 - 1 / (n - 1))
    # its vertices settle to that cost (test_weave); left as they are on the cylinder, they cost up to a quarter more
    assert 1.0 < energy / (0.5 * material.bend / radius**2 * inner) < 1.25


def test_forces_inside_the_cloth_leave_its_momentum_alone():
    sheet = cloth(0.5, 0.5, SIDE, irregular=True)
    sim = alone(sheet, gravity=(0.0, 0.0, 0.0))
    rng = np.random.default_rng(1)
    sim.state.v[:] = rng.normal(size=sim.state.v.shape)
    m = sim.scene.masses[:, None]
    before = (m * sim.state.v).sum(0)
    for _ in sim.run(5):
        pass
    assert np.abs((m * sim.state.v).sum(0) - before).max() <= 1e-12 * (m * np.abs(sim.state.v)).sum()


@pytest.mark.compiled
def test_a_flat_sheet_falls_no_faster_than_the_air_lets_it():
    # weight rho g against pressure of the air, density v^2
    sim = alone(cloth(0.5, 0.5, SIDE), Cloth(density=0.1, air=1.2))
    for _ in sim.run(40):  # 7 times the time in which it gets there
        pass
    assert -sim.state.v[:, 1].mean() == pytest.approx(np.sqrt(0.1 * 9.81 / 1.2), rel=0.02)


@pytest.mark.compiled
def test_wind_carries_a_loose_sheet_along_but_not_faster_than_itself():
    sim = alone(cloth(0.5, 0.5, SIDE, plane="xy"), Cloth(density=0.05), gravity=(0.0, 0.0, 0.0), wind=(0.0, 0.0, 2.0))
    for _ in sim.run(25):
        pass
    assert 1.5 < sim.state.v[:, 2].mean() <= 2.0


@pytest.mark.compiled
def test_parallel_and_serial_sweeps_give_the_same_bits():
    sheet = cloth(1.0, 1.0, 40, irregular=True)
    dynamics = ClothDynamics(Scene([Body(sheet)]))
    x = sheet.vertices + np.random.default_rng(2).normal(0, 2e-3, sheet.vertices.shape)
    serial, parallel = x.copy(), x.copy()
    for sweep, y in ((kernels.relax_serial, serial), (kernels.relax_parallel, parallel)):
        for _ in range(5):
            sweep(dynamics.membrane, dynamics.hinges, y, dynamics.w, 5e-4)
    assert (serial == parallel).all()


def test_elements_of_one_colour_share_no_vertex():
    dynamics = ClothDynamics(Scene([Body(cloth(1.0, 1.0, SIDE, irregular=True))]), "xpbd")
    for elements, start in (
        (dynamics.membrane.faces, dynamics.membrane.start),
        (dynamics.hinges.vertices, dynamics.hinges.start),
    ):
        for a, b in itertools.pairwise(start):
            members = elements[a:b].ravel()
            assert len(np.unique(members)) == len(members)
        assert start[-1] == len(elements)


def test_a_fan_with_more_faces_than_colours_still_works():
    n = 90
    a = np.linspace(0, 2 * np.pi, n, endpoint=False)
    ring = np.stack([np.cos(a), np.zeros(n), np.sin(a)], 1)
    k = np.arange(n)
    fan = Mesh(np.concatenate([[[0, 0, 0]], ring]), np.stack([np.zeros(n, int), 1 + (k + 1) % n, 1 + k], 1))
    dynamics = ClothDynamics(Scene([Body(fan)]), "xpbd")
    assert len(dynamics.membrane.start) == kernels.LAST + 2
    x = fan.vertices * 1.1
    y = x.copy()
    kernels.relax_serial(dynamics.membrane, dynamics.hinges, x, dynamics.w, 1e-3)
    kernels.relax_parallel(dynamics.membrane, dynamics.hinges, y, dynamics.w, 1e-3)
    assert (x == y).all()
    assert np.linalg.norm(x, axis=1).max() < 1.1


def test_cloth_with_faces_without_area_stays_finite():
    sheet = cloth(0.3, 0.3, 5)
    faces = np.concatenate([sheet.faces, [[0, 0, 1], [3, 4, 3]]])
    sim = alone(Mesh(sheet.vertices, faces), self_contact="safe")
    for _ in sim.run(5 if COMPILED else 2):
        pass
    assert np.isfinite(sim.state.x).all()


def test_each_cloth_moves_through_its_own_air():
    """In one scene the cloth in vacuum falls freely and its neighbour in air does not; alone they do the same."""
    high, low = cloth(0.5, 0.5, 5), cloth(0.5, 0.5, 5, centre=(2.0, 0.0, 0.0))
    bodies = [Body(high, material=VACUUM), Body(low, material=Cloth(air=1.2))]
    both = Simulation(Scene(bodies), substeps=5, solver="xpbd")
    lone = [Simulation(Scene([body]), substeps=5, solver="xpbd") for body in bodies]
    for sim in (both, *lone):
        for _ in sim.run(10):
            pass
    assert (both.state.x == np.concatenate([sim.state.x for sim in lone])).all()
    assert lone[0].state.x[:, 1].max() < lone[1].state.x[:, 1].min() - 0.001
