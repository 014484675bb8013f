"""The implicit solver of cloth against dense algebra, finite differences and closed forms, at several resolutions."""

import numpy as np
import pytest
from scipy import sparse

from linearised import linearise, multiply
from pliant import shapes
from pliant.dynamics import stiffness
from pliant.dynamics.cholesky import Cholesky
from pliant.dynamics.cloth import ClothDynamics
from pliant.dynamics.implicit import ImplicitSolver
from pliant.kernels import jit
from pliant.kernels.dynamics import implicit as kernels
from pliant.mesh import Mesh
from pliant.scene import Body, Cloth, Scene, Solid
from pliant.shapes import cloth
from pliant.simulation import Simulation

VACUUM = Cloth(air=0.0)


def alone(mesh: Mesh, material: Cloth = VACUUM, *, pins=(), substeps: int = 16, **options) -> Simulation:
    scene = Scene([Body(mesh, material=material, pins=pins)], **options)
    return Simulation(scene, substeps=substeps, solver="implicit")


def random_matrix(rng: np.random.Generator, n: int, links: int) -> sparse.csr_array:
    """A symmetric positive definite matrix: springs between random pairs, each unknown weakly held."""
    i, j = rng.integers(0, n, (2, links))
    k = rng.uniform(0.1, 10.0, links) * (i != j)
    off = sparse.coo_array((-k, (i, j)), shape=(n, n))
    m = (off + off.T).tocsr()
    return (m - sparse.diags_array(m.sum(axis=1)) + sparse.diags_array(rng.uniform(0.01, 1.0, n))).tocsr()


@pytest.mark.parametrize(("n", "links"), [(1, 0), (2, 1), (30, 10), (40, 200), (120, 150), (150, 600)])
def test_a_sparse_factor_solves_what_dense_elimination_solves(rng, n, links):
    matrix = random_matrix(rng, n, links)
    rows = np.sort(rng.permutation(2 * n)[:n])
    right, out = rng.normal(size=(2 * n, 3)), np.full((2 * n, 3), 7.0)
    Cholesky(matrix, rows).solve(right, out)
    exact = np.linalg.solve(matrix.toarray(), right[rows])
    rounding = np.finfo(np.float32).eps * np.linalg.cond(matrix.toarray())  # solves are in single precision
    assert np.abs(out[rows] - exact).max() <= rounding * np.abs(exact).max()
    assert (np.delete(out, rows, 0) == 7.0).all()


def test_a_matrix_that_is_not_positive_definite_is_refused(rng):
    matrix = random_matrix(rng, 20, 40).toarray()
    matrix[7, 7] = -1.0
    with pytest.raises(ValueError, match="not positive definite"):
        Cholesky(sparse.csr_array(matrix), np.arange(20))


def energy(solver: ImplicitSolver, x: np.ndarray, predicted: np.ndarray, dt: float) -> float:
    """The incremental potential, written out with NumPy."""
    m, h = solver.membrane, solver.hinges
    a, b, c = (x[m.faces[:, k]] for k in range(3))
    u, v = ((b - a) * m.rest[:, k : k + 1] + (c - a) * m.rest[:, k + 1 : k + 2] for k in (0, 2))
    n_u, n_v = np.linalg.norm(u, axis=1), np.linalg.norm(v, axis=1)
    s = (u * v).sum(1) / (n_u * n_v)
    strains = np.stack([n_u - 1.0, n_v - 1.0, s], 1)
    total = (0.5 * strains**2 / m.compliance).sum()
    bend = np.einsum("ij,ijk->ik", h.weights, x[h.vertices])
    total += (0.5 * (np.linalg.norm(bend, axis=1) - h.rest) ** 2 / h.compliance).sum()
    return float(total + 0.5 * (solver.mass[:, None] * (x - predicted) ** 2).sum() / dt**2)


def made(curved: bool, pins=(0, 3)) -> tuple[ImplicitSolver, np.ndarray]:
    sheet = cloth(0.3, 0.3, 5, irregular=True)
    if curved:
        x = sheet.vertices.copy()
        x[:, 1] += 0.8 * x[:, 0] ** 2
        sheet = sheet.moved(x)
    woven = Cloth(stretch=700.0, stretch_weft=300.0, shear=60.0, bend_weft=1e-4)
    dynamics = ClothDynamics(Scene([Body(sheet, material=woven, pins=pins)]))
    return ImplicitSolver(dynamics.membrane, dynamics.hinges, dynamics.w), sheet.vertices


@pytest.mark.parametrize("curved", [False, True])
def test_the_residual_is_the_gradient_of_the_incremental_potential(rng, curved):
    solver, rest = made(curved)
    x = rest + rng.normal(scale=0.004, size=rest.shape)
    predicted, dt = x + rng.normal(scale=1e-4, size=x.shape), 1e-3
    g = solver.system(dt).rows
    if len(solver.bent):
        kernels.rest_curvature_gradients(solver.hinges, x, solver.bent, solver._step.rest_gradient)
    residual = linearise(solver, g, x, predicted)
    numeric, step = np.zeros_like(x), 1e-7
    for i, k in np.ndindex(x.shape):
        there, back = x.copy(), x.copy()
        there[i, k] += step
        back[i, k] -= step
        numeric[i, k] = (energy(solver, back, predicted, dt) - energy(solver, there, predicted, dt)) / (2 * step)
    numeric[solver.w == 0.0] = 0.0
    assert np.abs(residual - numeric).max() <= 1e-5 * np.abs(numeric).max()


def four(a: np.ndarray) -> np.ndarray:
    """Rows of three numbers as rows of four floats."""
    return np.pad(a, ((0, 0), (0, 1))).astype(np.float32)


def test_the_matrix_is_the_derivative_of_the_residual_of_a_stretched_sheet(rng):
    solver, rest = made(False, pins=())
    x, dt = 1.02 * rest, 1e-3
    g = solver.system(dt).rows
    p, q, product, image = (four(rng.normal(size=x.shape)) for _ in range(4))
    step = 1e-7
    before, after = (linearise(solver, g, x + by * p[:, :3], rest) for by in (-step, step))
    numeric = (before - after) / (2 * step)
    linearise(solver, g, x, rest)
    total = multiply(solver, g, p, product)
    assert np.abs(product - four(numeric))[:, :3].max() <= 1e-5 * np.abs(numeric).max()
    assert total == pytest.approx((p * product)[:, :3].sum(), rel=1e-5)
    multiply(solver, g, q, image)
    assert (q * product)[:, :3].sum() == pytest.approx((p * image)[:, :3].sum(), rel=1e-5)


def test_the_matrix_exerts_no_force_on_stiff_cloth_that_moves_as_a_whole(rng):
    solver, rest = made(False, pins=())
    g = solver.system(1.0).rows  # inertia is a millionth of the stiffness
    x = rest + rng.normal(scale=0.004, size=rest.shape)
    linearise(solver, g, x, rest)
    p = four(np.tile(rng.normal(size=3), (len(x), 1)))
    product = np.zeros_like(p)
    multiply(solver, g, p, product)
    assert np.abs(product - p * g.mass[:, None])[:, :3].max() <= 1e-6 * np.abs(product).max()


def test_diagonal_blocks_are_those_of_the_matrix(rng):
    solver, rest = made(False)
    x, dt = rest + rng.normal(scale=0.004, size=rest.shape), 1e-3
    g = solver.system(dt).rows
    linearise(solver, g, x, rest)
    for i in (0, 6, 12):
        columns = np.zeros((3, 3))
        for k in range(3):
            p, out = four(np.zeros_like(x)), four(np.zeros_like(x))
            p[i, k] = 1.0
            multiply(solver, g, p, out)
            columns[k] = out[i, :3]
        b = solver._step.blocks[i]
        inverse = np.array([[b[0], b[3], b[4]], [b[3], b[1], b[5]], [b[4], b[5], b[2]]])
        expected = np.eye(3) if solver.w[i] > 0.0 else np.zeros((3, 3))
        assert np.abs(inverse @ columns - expected).max() < 1e-5


def test_patches_leave_every_bit_of_the_system_as_it_is(rng, monkeypatch):
    results = []
    shift = rng.normal(scale=0.004, size=(25, 3))
    for smallest in (300, 3):  # one patch, and eight
        monkeypatch.setattr(stiffness, "PATCH", smallest)
        solver, rest = made(False)
        x = rest + shift
        g = solver.system(1e-3).rows
        residual = linearise(solver, g, x, rest)
        results.append((residual, solver.stiffness.blocks, solver._step.blocks))
    assert len(solver.patches.start) == 9
    assert all(np.array_equal(one, other) for one, other in zip(*results, strict=True))


@pytest.mark.compiled
@pytest.mark.parametrize("across", [4, 9, 13])
def test_a_hanging_strip_stretches_by_its_weight_over_its_stiffness_at_every_resolution(across):
    length, k = 0.4, 40.0
    strip = cloth(0.1, length, (across, 4 * across - 3), irregular=True, plane="xy")
    top = np.flatnonzero(strip.vertices[:, 1] > length / 2 - 1e-9)
    sim = alone(strip, Cloth(stretch=k, shear=k / 2, damping=0.1, air=0.0), pins=top, substeps=8)
    for _ in sim.run(250):
        pass
    bottom = strip.vertices[:, 1] < -length / 2 + 1e-9
    sag = (strip.vertices[bottom, 1] - sim.state.x[bottom, 1]).mean()
    assert sag == pytest.approx(0.20 * 9.81 * length**2 / (2 * k), rel=0.02)


@pytest.mark.compiled
def test_cloth_at_rest_stays_at_rest():
    sheet = cloth(0.4, 0.4, 9, plane="xy")
    sim = alone(sheet, Cloth(damping=0.5), pins=[72, 80])
    for _ in sim.run(200):
        pass
    before = sim.state.x.copy()
    for _ in sim.run(5):
        pass
    assert np.abs(sim.state.x - before).max() < 1e-6


@pytest.mark.compiled
def test_one_and_two_threads_and_a_restart_give_the_same_bits(tmp_path):
    mesh, bits = cloth(0.8, 0.8, 50), []
    scene = Scene([Body(mesh, pins=[0, 49])], wind=(1.0, 0.0, 0.5))
    for threads in (1, 2):
        before = jit.threads()
        jit.set_threads(threads)
        try:
            sim = Simulation(scene, solver="implicit")
            for frame in sim.run(6):
                if frame.index == 3:
                    sim.save(tmp_path / "run.npz")
        finally:
            jit.set_threads(before)
        bits.append(sim.state.x.tobytes())
    again = Simulation.load(tmp_path / "run.npz", scene)
    assert again.solver == "implicit"
    for _ in again.run(3):
        pass
    bits.append(again.state.x.tobytes())
    assert bits[0] == bits[1] == bits[2]


def test_free_fall_matches_the_closed_form():
    sim = alone(cloth(0.5, 0.5, 5), self_contact="off")
    start = sim.state.x.copy()
    for _ in sim.run(10 if jit.COMPILED else 2):
        pass
    t, dt = sim.state.time, sim.dt / sim.substeps
    assert np.abs(start[:, 1] - sim.state.x[:, 1] - 0.5 * 9.81 * t * (t + dt)).max() < 1e-12


def test_inner_forces_leave_momentum_and_angular_momentum_alone(rng):
    sheet = cloth(0.5, 0.5, 5)
    sim = alone(sheet, Cloth(air=0.0, damping=0.0), gravity=(0.0, 0.0, 0.0), self_contact="off")
    sim.state.v[:] = rng.normal(scale=0.3, size=sim.state.v.shape)
    m = sim.dynamics.masses[:, None]

    def momenta() -> np.ndarray:
        x, v = sim.state.x, sim.state.v
        return np.concatenate([(m * v).sum(0), (m * np.cross(x, v)).sum(0)])

    before = momenta()
    for _ in sim.run(6 if jit.COMPILED else 2):
        pass
    assert np.abs(momenta() - before).max() < 1e-10


def test_pinned_particles_do_not_move_at_all():
    sheet = cloth(0.5, 0.5, 5)
    sim = alone(sheet, Cloth(), pins=[0, 4, 7], wind=(3.0, 0.0, 1.0))
    for _ in sim.run(5 if jit.COMPILED else 1):
        pass
    assert (sim.state.x[[0, 4, 7]] == sheet.vertices[[0, 4, 7]]).all()


@pytest.mark.compiled
def test_a_tiny_button_in_contact_is_not_accelerated_by_rounding():
    size = 1e-5  # m: its stiffness is 1e8 times its inertia, beyond single precision
    floor = shapes.box((0.1, 0.02, 0.1), centre=(0.0, -0.01, 0.0))
    bodies = [Body(shapes.box(size, 1), material=Cloth(stretch=1500.0, density=0.06)), Body(floor, obstacle=True)]
    sim = Simulation(Scene(bodies, eps=5e-5, self_contact="off"), dt=0.005, substeps=8, method="bvh")
    assert max(np.abs(sim.state.v[:8]).max() for _ in sim.run(5)) < 0.1


def test_soft_bodies_and_cloth_in_one_scene_do_what_they_do_alone():
    sheet, bar = cloth(0.3, 0.3, 5, centre=(0.0, 0.5, 0.0)), shapes.bar((0.2, 0.05, 0.05), (4, 1, 1))
    soft, held = Body(bar, material=Solid()), Body(sheet, pins=[0, 4])
    both = Simulation(Scene([held, soft]), substeps=4, solver="implicit")
    parts = [Simulation(Scene([one]), substeps=4, solver="implicit") for one in (held, soft)]
    for sim in (both, *parts):
        for _ in sim.run(5 if jit.COMPILED else 2):
            pass
    assert np.abs(both.state.x - np.concatenate([sim.state.x for sim in parts])).max() < 1e-12


def test_cloth_that_is_pinned_everywhere_stays_where_it_is():
    sheet = cloth(0.3, 0.3, 4)
    sim = alone(sheet, pins=range(16))
    for _ in sim.run(2):
        pass
    assert (sim.state.x == sheet.vertices).all()


def test_an_unknown_solver_is_refused():
    with pytest.raises(ValueError, match=r"solver.*implicit.*xpbd"):
        Simulation(Scene([Body(cloth(0.5, 0.5, 5))]), solver="magic")


def test_a_singular_matrix_is_refused_as_not_positive_definite():
    with pytest.raises(ValueError, match="positive definite"):
        Cholesky(sparse.csr_array(np.ones((3, 3))), np.arange(3))
