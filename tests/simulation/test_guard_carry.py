"""Safe mode when bodies are fast: cloth is carried along, what cannot be held is counted, nothing is ever non-finite.

The judge is the IPC Toolkit, which has exact predicates and no code of ours.
"""

import numpy as np
import pytest

from conftest import cases
from pliant.mesh import Mesh
from pliant.motion.deforming import Recorded
from pliant.motion.rigid import Motion, rotations
from pliant.scene import Body, Grip, Scene
from pliant.shapes import ball, box, cloth
from pliant.simulation import Simulation
from pliant.simulation.guard import Guard


class Judge:
    """Whether any triangle of cloth meets another, of cloth or of a body; a body may meet itself."""

    def __init__(self, scene: Scene) -> None:
        ipctk = pytest.importorskip("ipctk")
        ipctk.set_num_threads(1)
        self.ipctk, x = ipctk, np.asfortranarray(scene.start().x)
        soft = [scene.bodies[b].mesh.welded.faces + int(scene.first[b]) for b in scene.deformable]
        self.meshes = []
        for b in (None, *scene.obstacles):
            own = [] if b is None else [scene.bodies[b].mesh.welded.faces + int(scene.first[b])]
            faces = np.concatenate(soft + own).astype(np.int32)
            self.meshes.append(ipctk.CollisionMesh(x, ipctk.edges(faces), faces))

    def meets(self, x: np.ndarray) -> bool:
        return any(self.ipctk.has_intersections(mesh, np.asfortranarray(x)) for mesh in self.meshes)


def straight(speed: float, seconds: float) -> Motion:
    end = np.eye(3, 4)
    end[2, 3] = speed * seconds
    return Motion([0.0, seconds], [np.eye(3, 4), end])


def hit(speed: float, pins: list[int], dt: float = 0.01, frames: int = 3, resolution: int = 8) -> Scene:
    """A ball flies into the middle of a sheet: there is room on all sides."""
    sheet = cloth(0.4, 0.4, resolution, plane="xy")
    flying = Body(
        ball(0.06, 2, centre=(0.01, 0.007, -0.07 - 0.3 * speed * dt)),
        obstacle=True,
        motion=straight(speed, frames * dt),
    )
    bodies = [Body(sheet, pins=pins), flying]
    return Scene(bodies, eps=0.003, thickness=0.002, self_contact="safe", gravity=(0.0, 0.0, 0.0))


@pytest.mark.compiled
@pytest.mark.parametrize("pins", [[], [0, 7]])
@pytest.mark.parametrize("speed", [100.0, 1000.0])
def test_a_ball_at_any_speed_takes_a_sheet_along_and_never_cuts_it(speed, pins):
    scene = hit(speed, pins)
    judge, sim = Judge(scene), Simulation(scene, substeps=4, method="tree", solver="xpbd")  # stretches without limit
    for frame in sim.run(3):
        assert not judge.meets(frame.x)
        assert np.isfinite(frame.x).all()
    assert sim.self_contact.failed_substeps == 0
    middle = scene.start().x[scene.rows(0)][:, :2] ** 2 @ np.ones(2) < 0.05**2
    # substeps are divided for a fast ball, so that cloth slides on it; a sheet that it has passed is metres behind
    assert frame.x[scene.rows(0)][middle, 2].min() > frame.x[scene.rows(1), 2].mean() - 0.3
    if pins:
        assert (frame.x[pins] == scene.start().x[pins]).all()


@pytest.mark.compiled
def test_a_body_that_bends_and_a_grip_at_high_speed_do_not_cut_cloth_that_has_room():
    rng = np.random.default_rng(5)
    shape, dt = ball(0.05, 2, centre=(0.0, 0.0, -0.15)), 0.005
    waves = [0.01 * np.sin(shape.vertices @ rng.normal(size=(3, 3)) * 30.0 + k) for k in range(5)]
    frames = np.array([shape.vertices + w + [0.0, 0.0, 150.0 * k * dt] for k, w in enumerate(waves)])
    bent = Body(shape, obstacle=True, motion=Recorded(dt * np.arange(5), frames))
    up = Grip([0, 1, 2], straight(40.0, 4 * dt))
    for bodies in ([Body(cloth(0.3, 0.3, 7, plane="xy")), bent], [Body(cloth(0.3, 0.3, 7, plane="xy"), grips=[up])]):
        scene = Scene(bodies, eps=0.003, thickness=0.002, self_contact="safe")
        judge, sim = Judge(scene), Simulation(scene, dt, substeps=3, method="tree")
        if len(bodies) > 1:
            judge.meshes[1].can_collide = lambda i, j, first=int(scene.first[1]): min(i, j) < first
        for frame in sim.run(4):
            assert not judge.meets(frame.x)
        assert sim.self_contact.failed_substeps == 0


@pytest.mark.compiled
def test_bodies_that_leave_no_room_are_counted_and_the_run_goes_on():
    plates = [
        Body(box((0.3, 0.3, 0.02), 2, centre=(0.0, 0.0, s * 0.06)), obstacle=True, motion=straight(-s * 5.0, 0.03))
        for s in (-1.0, 1.0)
    ]
    scene = Scene(
        [Body(cloth(0.2, 0.2, 5, plane="xy")), *plates], eps=0.003, self_contact="safe", gravity=(0.0, 0.0, 0.0)
    )
    judge, sim = Judge(scene), Simulation(scene, substeps=2, method="tree")
    for frame in sim.run(5):
        assert np.isfinite(frame.x).all()
        assert np.isfinite(sim.state.v).all()
        assert (frame.intersections > 0) == judge.meets(frame.x)
    assert sim.self_contact.failed_substeps > 0
    assert sim.self_contact.given_up_pairs > 0


@pytest.mark.compiled
def test_a_vertex_whose_new_place_is_not_finite_stays_and_is_counted():
    sheet = cloth(0.2, 0.2, 4)
    for mode in ("off", "safe"):
        sim = Simulation(Scene([Body(sheet)], self_contact=mode), substeps=2)
        sim.state.v[3] = np.nan, np.inf, 0.0
        frames = list(sim.run(2))
        assert all(np.isfinite(frame.x).all() for frame in frames)
        assert np.isfinite(sim.state.v).all()
        assert frames[0].lost > 0
        assert frames[1].lost == 0


@pytest.mark.parametrize(("thickness", "offset"), [(1e-16, 0.0), (1e-300, 0.0), (1e-3, 1e11)])
def test_a_thickness_that_rounding_swallows_is_refused(thickness, offset):
    sheet = cloth(0.2, 0.2, 4)
    scene = Scene([Body(sheet.moved(sheet.vertices + offset))], thickness=thickness, self_contact="safe")
    with pytest.raises(ValueError, match="is within the rounding error of"):
        Guard(scene, scene.start())


def t_junction() -> Mesh:
    """Two triangles with an edge in common, one of them split at its middle and closed by a face without area."""
    turn = rotations(np.array([0.6, 0.0, 0.8]), np.array([0.7]))[0]
    x = np.array([[0.0, 0, 0], [0.3, 0, 0], [0.1, 0, 0.2], [0.2, 0, -0.2], [0.13, 0, 0]]) @ turn.T
    return Mesh(x, [[0, 4, 2], [4, 1, 2], [1, 4, 0], [0, 1, 3]])


@pytest.mark.compiled
def test_a_vertex_on_an_edge_that_it_is_no_part_of_is_opened_and_kept_apart(rng):
    for _ in range(cases(8)):
        mesh = t_junction()
        turn = rotations(rng.normal(size=3), np.array([1.0]))[0]
        scene = Scene([Body(mesh.moved(mesh.vertices @ np.linalg.qr(turn)[0].T))], thickness=0.002, self_contact="safe")
        state = scene.start()
        guard = Guard(scene, state)
        guard.begin(state, 0.01)
        x = state.x
        assert np.abs(x - scene.start().x).max() < 1e-4
        # outside of the face with that edge, by what is always kept
        up = np.cross(x[1] - x[0], x[3] - x[0])
        out = np.cross(x[1] - x[0], up)
        out /= np.linalg.norm(out)
        assert abs((x[4] - x[0]) @ out) > 0.9 * 0.01 * 0.002 or abs((x[4] - x[0]) @ up) / np.linalg.norm(up) > 1e-5


def attacked(seed: int) -> tuple[Scene, float, int]:
    """Sheets, some pinned, and a ball or box that flies into them, turning, at up to 1000 m/s."""
    rng = np.random.default_rng(seed)
    dt, substeps, frames = float(rng.choice([0.002, 0.005, 0.01, 0.02])), int(rng.choice([1, 2, 4, 8, 16])), 6
    n, speed = int(rng.integers(5, 12)), 10.0 ** rng.uniform(0.0, 3.0)
    sheets = [Body(cloth(0.4, 0.4, n, plane="xy", irregular=bool(rng.integers(2)), seed=seed))]
    if rng.random() < 0.4:
        sheets.append(Body(cloth(0.4, 0.4, n, plane="xy", centre=(0.0, 0.0, 0.006))))
    at = np.array([*rng.uniform(-0.1, 0.1, 2), -rng.uniform(0.15, 0.3)])
    made = (
        ball(rng.uniform(0.02, 0.1), 2, centre=tuple(at))
        if rng.random() < 0.5
        else box(tuple(rng.uniform(0.03, 0.12, 3)), 2, centre=tuple(at))
    )
    way = -at / np.linalg.norm(at) + 0.3 * rng.normal(size=3)
    axis, poses = rng.normal(size=3), []
    turns = rotations(axis / np.linalg.norm(axis), rng.choice([0.0, 0.5, 2.5]) * np.arange(3.0))
    for k, turn in enumerate(turns):
        shift = at - turn @ at + speed * way / np.linalg.norm(way) * 0.5 * k * frames * dt
        poses.append(np.concatenate([turn, shift[:, None]], 1))
    flies = Motion(0.5 * frames * dt * np.arange(3), poses, pivot=tuple(at))
    thickness = float(rng.choice([0.001, 0.002, 0.004]))
    bodies = [*sheets, Body(made, obstacle=True, motion=flies)]
    return Scene(bodies, eps=0.003, thickness=thickness, self_contact="safe"), dt, substeps


@pytest.mark.long
@pytest.mark.parametrize("seed", range(150))
def test_free_sheets_are_carried_by_whatever_flies_into_them(seed):
    scene, dt, substeps = attacked(seed)
    judge, sim = Judge(scene), Simulation(scene, dt, substeps=substeps, method="tree")
    assert not judge.meets(sim.state.x)
    for frame in sim.run(6):
        assert np.isfinite(frame.x).all()
        assert not judge.meets(frame.x)
    assert sim.self_contact.failed_substeps == 0


@pytest.mark.long
@pytest.mark.parametrize("pins", [[], [0, 13]])
@pytest.mark.parametrize("speed", [5.0, 20.0, 50.0, 100.0, 200.0, 1000.0])
def test_twelve_frames_of_a_fast_ball_and_a_fine_sheet(speed, pins):
    scene = hit(speed, pins, frames=12, resolution=14)
    judge, sim = Judge(scene), Simulation(scene, substeps=16, method="tree")
    for frame in sim.run(12):
        assert not judge.meets(frame.x)
    assert sim.self_contact.failed_substeps == 0
