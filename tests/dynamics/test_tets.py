"""Soft bodies against closed forms: hanging, spinning, ringing; crushed and inside out; the same bits in any order."""

import itertools

import numpy as np
import pytest

from pliant.dynamics import DeformableDynamics, TetDynamics
from pliant.kernels.dynamics import tets as kernels
from pliant.kernels.jit import COMPILED
from pliant.mesh import Mesh
from pliant.motion.rigid import Motion
from pliant.scene import Body, Cloth, Grip, Scene, Solid
from pliant.shapes import bar, cloth, cylinder
from pliant.simulation import Simulation

FREE = (0.0, 0.0, 0.0)
FOAM = Solid(young=5e4, poisson=0.3, density=400.0, damping=0.01)
CELLS = (4, 2, 2) if COMPILED else (2, 1, 1)


def alone(mesh: Mesh, material: Solid = FOAM, **options: object) -> Simulation:
    """A soft body with nothing around it."""
    substeps = options.pop("substeps", 16)
    own = {name: options.pop(name) for name in ("pins", "grips", "velocity") if name in options}
    return Simulation(Scene([Body(mesh, material=material, **own)], **options), substeps=substeps)


def block() -> Mesh:
    return bar((0.2, 0.1, 0.1), CELLS)


def volumes(sim: Simulation) -> np.ndarray:
    """(k,) of all tets, as a share of their rest volume."""
    mesh = sim.scene.bodies[0].mesh.welded
    return mesh.moved(sim.state.x).tet_volumes / mesh.tet_volumes


def momenta(sim: Simulation) -> tuple[np.ndarray, np.ndarray]:
    m, x, v = sim.scene.masses[:, None], sim.state.x, sim.state.v
    return (m * v).sum(0), (m * np.cross(x, v)).sum(0)


def spin(sim: Simulation, rate: tuple[float, float, float]) -> None:
    m, x = sim.scene.masses[:, None], sim.state.x
    sim.state.v[:] = np.cross(rate, x - (m * x).sum(0) / m.sum())


def energy(sim: Simulation) -> float:
    return sum(sim.dynamics.energy(sim.state).values())


def hung(young: float, poisson: float, substeps: int) -> tuple[float, float]:
    """Strain of the middle of a bar that hangs, as a share of its closed form, and how much it narrows for it.

    Away from its ends, at height y over the lower one, the strain is density g y / young.
    """
    length, density = 0.4, 400.0
    mesh = bar((0.05, length, 0.05), (2, 16, 2))
    x, top = mesh.vertices, np.flatnonzero(mesh.vertices[:, 1] > length / 2 - 1e-9)
    sim = alone(mesh, Solid(young, poisson, density, damping=0.3), pins=top, substeps=substeps)
    frames = np.array([frame.x[mesh.weld_index] for frame in sim.run(140)])
    assert np.abs(sim.state.v).max() < 5e-3, "the bar must have come to rest"
    y = frames[-20:].mean(0)
    low, high = (np.abs(x[:, 1] - level) < 1e-9 for level in (-0.1, 0.1))
    strain = (y[high, 1].mean() - y[low, 1].mean()) / 0.2 - 1.0
    inside = np.abs(x[:, 1]) < 0.1 + 1e-9
    left, right = (y[inside & (sign * x[:, 0] > 0.02), 0].mean() for sign in (-1.0, 1.0))
    return strain * young / (density * 9.81 * length / 2), (1.0 - (right - left) / 0.05) / strain


@pytest.mark.compiled
@pytest.mark.parametrize(("young", "poisson", "substeps"), [(5e4, 0.0, 32), (5e4, 0.45, 64), (2e5, 0.3, 64)])
def test_a_hanging_bar_strains_by_its_weight_over_young_and_narrows_by_poisson(young, poisson, substeps):
    share, narrowing = hung(young, poisson, substeps)
    assert share == pytest.approx(1.0, abs=0.03)
    assert narrowing == pytest.approx(poisson, abs=0.01)


@pytest.mark.compiled
def test_what_the_solver_leaves_shrinks_with_the_square_of_the_small_step():
    left = [hung(2e5, 0.3, substeps)[0] - 1.0 for substeps in (16, 32)]
    assert left[0] > 3.0 * left[1] > 0.0


def test_one_small_step_moves_by_the_gradient_of_the_energy(rng):
    mesh = block().welded
    dynamics = TetDynamics(Scene([Body(mesh, material=Solid(5e4, 0.4))]))
    x = mesh.vertices * (1.1, 0.95, 0.9) + rng.normal(0, 2e-3, mesh.vertices.shape)
    moved, dt, h = x.copy(), 1e-6, 1e-6
    kernels.relax_serial(dynamics.tets, dynamics.inverses(dt), moved, dynamics.w)
    force = (moved - x) / (dt * dt * dynamics.w[:, None])
    for i, k in itertools.product(range(0, len(x), 5), range(3)):
        ends = []
        for sign in (1.0, -1.0):
            y = x.copy()
            y[i, k] += sign * h
            ends.append(kernels.tets_energy(dynamics.tets, y))
        assert force[i, k] == pytest.approx((ends[1] - ends[0]) / (2.0 * h), abs=1e-4 * np.abs(force).max())


def test_one_sweep_of_a_stiff_tetrahedron_leaves_the_square_of_its_strain(rng):
    # all six strains and the volume are one system, and it is solved
    mesh = Mesh.from_tets(np.eye(4, 3, -1) + 0.1 * rng.normal(size=(4, 3)), [[0, 1, 2, 3]])
    dynamics = TetDynamics(Scene([Body(mesh, material=Solid(1e15, 0.3))]))
    x = mesh.vertices + 1e-4 * rng.normal(size=(4, 3))
    before = kernels.tets_energy(dynamics.tets, x)
    kernels.relax_serial(dynamics.tets, dynamics.inverses(1e-2), x, dynamics.w)
    assert kernels.tets_energy(dynamics.tets, x) < 1e-5 * before


def test_rotation_alone_makes_no_force(rng):
    sim = alone(block(), gravity=FREE)
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    turn *= np.sign(np.linalg.det(turn))
    sim.state.x[:] = sim.state.x @ turn.T
    start = sim.state.x.copy()
    sim.step()
    assert np.abs(sim.state.x - start).max() < 1e-15
    assert sim.dynamics.energy(sim.state)["elastic"] < 1e-25


@pytest.mark.parametrize("damping", [0.0, 0.2])
def test_momentum_and_angular_momentum_are_kept_to_rounding(rng, damping):
    sim = alone(block(), Solid(5e4, 0.4, damping=damping), gravity=FREE)
    spin(sim, (3.0, 5.0, 8.0))
    sim.state.v += rng.normal(0, 0.5, sim.state.v.shape)
    start = momenta(sim)
    for _ in sim.run(10 if COMPILED else 2):
        pass
    m, v = sim.scene.masses[:, None], sim.state.v
    for before, after, size in zip(start, momenta(sim), (v, np.cross(sim.state.x, v))):
        assert np.abs(after - before).max() <= 1e-12 * (m * np.abs(size)).sum()


@pytest.mark.compiled
def test_internal_friction_and_the_solver_do_not_brake_a_spinning_body():
    sim = alone(block(), Solid(5e4, 0.3, damping=0.5), gravity=FREE)
    spin(sim, (0.0, 0.0, 10.0))
    start, (_, turned) = energy(sim), momenta(sim)
    for _ in sim.run(200):
        pass
    assert np.abs(momenta(sim)[1] - turned).max() < 1e-10 * np.abs(turned).max()
    assert 0.99 * start < energy(sim) <= 1.01 * start


def test_a_rigid_motion_is_not_damped_at_all(rng):
    mesh = block().welded
    dynamics = TetDynamics(Scene([Body(mesh, material=Solid(damping=1.0))]))
    x = mesh.vertices @ np.linalg.qr(rng.normal(size=(3, 3)))[0]
    v = np.cross((3.0, -2.0, 7.0), x) + np.array([1.0, 2.0, 3.0])
    after = v.copy()
    kernels.damp_tets(dynamics.tets, 0, len(dynamics.tets.tets), x, after, dynamics.w, 1e-3)
    assert np.abs(after - v).max() < 1e-13
    stretched = after * (1.1, 1.0, 1.0)
    kernels.damp_tets(dynamics.tets, 0, len(dynamics.tets.tets), x, stretched, dynamics.w, 1e-3)
    assert np.abs(stretched - after * (1.1, 1.0, 1.0)).max() > 1e-3


@pytest.mark.compiled
@pytest.mark.parametrize(("young", "damping"), [(1e4, 0.0), (5e4, 0.01), (1e7, 0.01)])
def test_energy_of_a_free_oscillation_never_rises_above_its_start(young, damping):
    sim = alone(block(), Solid(young, 0.4, damping=damping), gravity=FREE)
    sim.state.x *= (1.25, 0.9, 0.95)
    start = energy(sim)
    totals = [energy(sim) for _ in sim.run(500)]
    assert max(totals) <= 1.01 * start
    assert totals[-1] < 0.01 * start


def test_volume_is_kept_in_free_fall():
    sim = alone(block(), Solid(5e4, 0.4))
    spin(sim, (4.0, 0.0, 6.0))
    seen = []
    for _ in sim.run(30 if COMPILED else 3):
        seen.append(volumes(sim))
    assert np.min(seen) > 0.99
    assert np.max(seen) < 1.01
    fallen = (sim.scene.masses @ (sim.scene.bodies[0].mesh.welded.vertices - sim.state.x))[1] / sim.scene.masses.sum()
    t = sim.state.time
    assert fallen == pytest.approx(0.5 * 9.81 * t * t, abs=9.81 * t * sim.dt / sim.substeps)


@pytest.mark.compiled
@pytest.mark.parametrize("young", [1e4, 1e9])
@pytest.mark.parametrize("poisson", [0.0, 0.3, 0.49])
@pytest.mark.parametrize("state", ["flat", "inside out", "folded"])
def test_a_crushed_body_comes_back_to_its_shape(young, poisson, state):
    # self-contact would keep apart what starts on the wrong side of itself
    sim = alone(block(), Solid(young, poisson, damping=0.1), gravity=FREE, self_contact="off")
    rng = np.random.default_rng(3)
    if state == "folded":
        sim.state.x += rng.normal(0.0, 0.02, sim.state.x.shape)  # of cells of 0.05 m
    else:
        sim.state.x *= (1.0, 0.0 if state == "flat" else -0.3, 1.0)
    assert volumes(sim).min() <= 0.0
    start = energy(sim)
    for _ in sim.run(60):
        assert energy(sim) <= start
    assert volumes(sim).min() > 0.95
    assert volumes(sim).max() < 1.05


@pytest.mark.compiled
@pytest.mark.parametrize("young", [1e3, 1e6, 1e10])
def test_a_held_bar_of_any_stiffness_stays_where_it_is_held(young):
    mesh = bar((0.3, 0.05, 0.05), (12, 2, 2))
    ends = np.flatnonzero(mesh.vertices[:, 0] < -0.149)
    sim = alone(mesh, Solid(young, 0.45), pins=ends, substeps=16)
    for _ in sim.run(100):
        pass
    assert (sim.state.x[mesh.weld_index[ends]] == mesh.vertices[ends]).all()
    assert np.linalg.norm(sim.state.x, axis=1).max() < 0.5


def test_a_grip_takes_its_vertices_along_and_the_body_follows():
    mesh = block()
    end = np.flatnonzero(mesh.vertices[:, 0] < -0.099)
    lift = Motion.hinge((0.0, 0.0, 1.0), (-0.1, 0.0, 0.0), (0.0, 0.1), (0.0, 0.5))
    sim = alone(mesh, gravity=FREE, grips=[Grip(end, lift)])
    for _ in sim.run(10 if COMPILED else 3):
        pass
    held = mesh.weld_index[end]
    there = sim.scene.gripped_at(np.array([sim.state.time]))[0]
    assert np.allclose(sim.state.x[np.sort(held)], there, atol=1e-15)
    assert sim.state.x[mesh.weld_index[mesh.vertices[:, 0] > 0.099], 1].mean() > 1e-4


def test_cloth_and_solids_in_one_scene_do_what_they_do_alone():
    bodies = [
        Body(bar((0.2, 0.1, 0.1), (2, 1, 1)), material=FOAM, velocity=(0.0, 1.0, 0.0)),
        Body(cloth(0.3, 0.3, 4, centre=(0.0, 1.0, 0.0)), material=Cloth()),
        Body(cylinder(0.05, 0.1, 1, centre=(1.0, 0.0, 0.0)), material=Solid(1e4, 0.45)),
    ]
    together, apart = Simulation(Scene(bodies), substeps=4), []
    for b, body in enumerate(bodies):
        sim = Simulation(Scene([body]), substeps=4)
        for state, rows in ((sim.state, slice(None)), (together.state, together.scene.rows(b))):
            state.x[rows] *= (1.1, 0.95, 1.0)
        apart.append(sim)
    for sim in (together, *apart):
        for _ in sim.run(3):
            pass
    assert (together.state.x == np.concatenate([sim.state.x for sim in apart])).all()
    whole, parts = together.dynamics.energy(together.state), [sim.dynamics.energy(sim.state) for sim in apart]
    assert whole["elastic"] == pytest.approx(sum(part["elastic"] for part in parts), rel=1e-12)
    assert all(part["elastic"] > 0.0 for part in parts)


def test_elements_of_one_colour_share_no_vertex():
    tets = TetDynamics(Scene([Body(cylinder(0.1, 0.2, 2), material=FOAM)])).tets
    for a, b in itertools.pairwise(tets.start):
        members = tets.tets[a:b].ravel()
        assert len(np.unique(members)) == len(members)
    assert tets.start[-1] == len(tets.tets)


@pytest.mark.compiled
def test_parallel_and_serial_sweeps_give_the_same_bits(rng):
    mesh = cylinder(0.1, 0.2, 5).welded
    dynamics = TetDynamics(Scene([Body(mesh, material=FOAM)]))
    x = mesh.vertices * (1.2, 0.9, 0.9) + rng.normal(0, 2e-3, mesh.vertices.shape)
    serial, parallel = x.copy(), x.copy()
    for sweep, y in ((kernels.relax_serial, serial), (kernels.relax_parallel, parallel)):
        for _ in range(5):
            sweep(dynamics.tets, dynamics.inverses(5e-4), y, dynamics.w)
    assert (serial == parallel).all()
    assert (serial != x).any()


def test_two_pieces_of_one_body_keep_their_own_angular_momentum():
    one, two = bar(0.1, 1), bar(0.1, 1, centre=(0.5, 0.0, 0.0))
    both = Mesh.from_tets(np.concatenate([one.vertices, two.vertices]), np.concatenate([one.tets, two.tets + 8]))
    sim = alone(both, gravity=FREE)
    x = sim.state.x
    left = x[:, 0] < 0.25
    sim.state.v[left] = np.cross((0.0, 0.0, 9.0), x[left])
    sim.step()
    assert len(sim.dynamics.solids.pieces.start) == 3
    assert (sim.state.v[~left] == 0.0).all()


def test_a_scene_without_solids_has_no_dynamics_of_solids():
    dynamics = DeformableDynamics(Scene([Body(cloth(0.1, 0.1, 3))]))
    assert dynamics.solids is None
    assert dynamics.cloths is not None
