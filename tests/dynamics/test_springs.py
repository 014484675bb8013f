"""Stitches and rest scale in both solvers: seams close and stay closed, and cloth shrinks to its scale."""

import numpy as np
import pytest

from pliant import Body, Cloth, Scene, Simulation, select, shapes
from pliant.dynamics.springs import StitchSprings, joined_vertices
from pliant.mesh.stitches import sewn

SOLVERS = ("xpbd", "implicit")


def panels(one=5, two=5, **options) -> Scene:
    """Two panels, the upper one pinned; the lower one is sewn to it."""
    a, b = (shapes.cloth(0.2, 0.2, n, plane="xy", centre=(0.0, 0.0, z)) for n, z in ((one, 0.03), (two, -0.03)))
    seams = sewn(a, select(a, "bottom 1mm"), b, select(b, "top 1mm"), (0, 1))
    return Scene([Body(a, pins=options.pop("pins", "top 1mm")), Body(b)], stitches=seams, closing=0.1, **options)


def gaps(scene: Scene, x) -> np.ndarray:
    seams = StitchSprings(scene)
    return np.linalg.norm(np.einsum("ij,ijk->ik", seams.springs.weights, x[seams.rows]), axis=1)


def run(scene: Scene, frames: int, solver: str = "xpbd") -> Simulation:
    sim = Simulation(scene, substeps=4, method="brute-force", solver=solver)
    for _ in sim.run(frames):
        pass
    return sim


@pytest.mark.compiled
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("two", [5, 8])
def test_a_seam_closes_in_its_time_and_holds_the_weight_of_a_panel(solver, two):
    scene = panels(two=two)
    sim = run(scene, 30, solver)
    assert gaps(scene, scene.start().x).min() > 0.05
    assert gaps(scene, sim.state.x).max() < 3e-4


@pytest.mark.parametrize("solver", SOLVERS)
def test_sewn_panels_that_nothing_holds_keep_their_momentum(solver):
    scene = panels(pins=())
    air = [Body(body.mesh, material=Cloth(air=0.0)) for body in scene.bodies]
    scene = Scene(air, stitches=scene.stitches, closing=0.05, gravity=(0.0, 0.0, 0.0), self_contact="off")
    sim = run(scene, 8, solver)
    momentum = (scene.masses[:, None] * sim.state.v).sum(0)
    assert np.abs(momentum).max() < 1e-9 * np.abs(scene.masses[:, None] * sim.state.v).sum()
    assert gaps(scene, sim.state.x).max() < 0.01


def test_panels_are_weightless_until_they_are_sewn():
    scene = panels(pins=(), wind=(0.0, 0.0, 0.0))
    sim = run(scene, 5)
    assert abs(sim.state.x[:, 1].mean() - scene.start().x[:, 1].mean()) < 1e-4


def test_a_stitch_within_one_mesh_is_a_pair_of_its_vertices():
    sheet = shapes.cloth(0.2, 0.2, 5, plane="xy")
    # a flat sheet has no way out of its plane: its corners meet only where it may pass through itself
    scene = Scene([Body(sheet, stitches=[[0, 4]])], closing=0.0, gravity=(0.0, 0.0, 0.0), self_contact="off")
    sim = run(scene, 40)
    assert np.linalg.norm(sim.state.x[0] - sim.state.x[4]) < 1e-3


def test_sewn_vertices_are_one_for_contacts():
    scene = panels(two=8)
    joined = joined_vertices(scene)
    seams = StitchSprings(scene)
    assert (joined[seams.rows[:, 0]][:, None] == joined[seams.rows[:, 1:]]).any(1).all()
    others = np.setdiff1d(np.arange(len(joined)), seams.rows)
    assert (joined[others] == others).all()


@pytest.mark.parametrize("solver", ["xpbd", pytest.param("implicit", marks=pytest.mark.compiled)])
@pytest.mark.parametrize(("scale", "wanted"), [(0.9, (0.9, 0.9)), ((0.9, 1.1), (1.1, 0.9))])
def test_cloth_without_weight_takes_its_scaled_size(solver, scale, wanted):
    """The warp of a sheet in the xy plane without texture coordinates is its longest axis; here it is chosen: y."""
    sheet = shapes.cloth(0.2, 0.2, 5, plane="xy")
    body = Body(sheet, material=Cloth(air=0.0, damping=0.05), rest_scale=scale, warp="y")
    sim = run(Scene([body], closing=0.1, gravity=(0.0, 0.0, 0.0), self_contact="off"), 20, solver)
    size = np.ptp(sim.state.x[:, :2], axis=0) / 0.2
    np.testing.assert_allclose(size, wanted, atol=0.02)


def test_a_resumed_run_closes_its_seams_bitwise_identically(tmp_path):
    scene = panels()
    whole = run(scene, 8)
    half = run(scene, 4)
    half.save(tmp_path / "half.npz")
    rest = Simulation.load(tmp_path / "half.npz", panels())
    for _ in rest.run(4):
        pass
    assert rest.state.x.tobytes() == whole.state.x.tobytes()


@pytest.mark.compiled
@pytest.mark.parametrize("solver", SOLVERS)
def test_a_body_under_a_seam_does_not_open_it(solver):
    """Two sheets that are sewn over the top of a ball hang down on both of its sides."""
    a, b = (shapes.cloth(0.2, 0.12, (7, 5), centre=(0.0, 0.125, 0.07 * side)) for side in (1, -1))
    seams = sewn(a, select(a, "back 1mm"), b, select(b, "front 1mm"), (0, 1))
    ball = Body(shapes.ball(0.1, 2), obstacle=True)
    scene = Scene([Body(a), Body(b), ball], stitches=seams, closing=0.05, eps=0.004, friction=0.5)
    sim = Simulation(scene, substeps=4, method="bvh", solver=solver)
    frames = list(sim.run(40))
    assert len(frames[-1].contacts) > 10
    assert gaps(scene, sim.state.x).max() < 5e-5


@pytest.mark.compiled
@pytest.mark.parametrize("solver", SOLVERS)
def test_panels_sewn_in_safe_mode_never_intersect(solver):
    a, b = (shapes.cloth(0.2, 0.2, n, plane="xy", centre=(0.0, 0.0, z)) for n, z in ((7, 0.02), (9, -0.02)))
    both = "bottom 1mm + left 1mm + right 1mm"
    seams = sewn(a, select(a, both), b, select(b, both), (0, 1))
    bodies = [Body(a, pins="top 1mm & left 1mm"), Body(b)]
    scene = Scene(bodies, stitches=seams, closing=0.1, self_contact="safe", thickness=0.003)
    sim = Simulation(scene, substeps=4, method="brute-force", solver=solver)
    assert [frame.intersections for frame in sim.run(25)] == [0] * 25
    assert sim.self_contact.failed_substeps == 0
    assert gaps(scene, sim.state.x).max() < 0.003


def test_a_rest_scale_by_vertex_lengthens_cloth_where_it_is_above_one():
    """A hanging strip whose lower half grows by a tenth: only its lower edges are longer, and its strain limit with
    them; the same factor at all vertices is the scale of the whole cloth."""
    sheet = shapes.cloth(0.2, 0.4, 9, plane="xy")
    low = sheet.vertices[:, 1] < -1e-9
    lengths = {}
    for name, scale in (("lower", np.where(low, 1.1, 1.0)), ("all", 1.1), ("every", np.full(sheet.n_vertices, 1.1))):
        body = Body(sheet, material=Cloth(air=0.0, damping=0.05), rest_scale=scale, pins="top 1mm")
        sim = Simulation(Scene([body], closing=0.0, gravity=(0.0, -1.0, 0.0), self_contact="off"), 0.01)
        for _ in range(40):
            frame = sim.step()
        lengths[name] = np.ptp(frame.x[:, 1])
    assert lengths["lower"] == pytest.approx(0.4 + 0.5 * 0.04, abs=0.006)
    assert lengths["every"] == lengths["all"] == pytest.approx(0.44, abs=0.003)
