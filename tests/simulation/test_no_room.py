"""Bodies that leave cloth no room: it is held between them within its strain limit, counted, and recovers."""

import numpy as np
import pytest

from pliant.mesh import Mesh
from pliant.motion.deforming import Attached, Recorded
from pliant.motion.rigid import Motion
from pliant.scene import Body, Grip, Scene
from pliant.shapes import ball, box, cloth
from pliant.simulation import Simulation
from pliant.simulation.guard import Guard, IntersectionCount
from pliant.simulation.guard import guard as guard_module
from pliant.simulation.guard.inside import Solids, leave_room, solids_of, vertices_inside

pytestmark = pytest.mark.compiled
LIMIT = 0.06  # the largest strain that the gauntlet allows


def along_z(times: list[float], heights: list[float]) -> Motion:
    poses = np.repeat(np.eye(3, 4)[None], len(times), 0)
    poses[:, 2, 3] = heights
    return Motion(times, poses)


def closing(nearest: float, after: float) -> Scene:
    """Two boxes of a depth of 6 cm close on a hanging sheet until their centres are at +-nearest, and then move on to
    +-after; a negative height is on the other side."""
    times = [0.0, 0.06, 0.09, 0.16]
    boxes = [
        Body(
            box((0.13, 0.1, 0.06), 2, centre=(0.01, 0.0, 0.0)),
            obstacle=True,
            motion=along_z(times, [side * height for height in (0.08, nearest, nearest, after)]),
        )
        for side in (-1.0, 1.0)
    ]
    sheet = cloth(0.25, 0.25, 9, plane="xy")
    pins = np.flatnonzero(sheet.vertices[:, 1] > 0.12).tolist()
    return Scene([Body(sheet, pins=pins), *boxes], eps=0.003, self_contact="safe")


def strains(scene: Scene, x: np.ndarray) -> np.ndarray:
    mesh = scene.bodies[0].mesh.welded
    ends = mesh.topology.edges
    rest, now = (np.linalg.norm(v[ends[:, 0]] - v[ends[:, 1]], axis=1) for v in (mesh.vertices, x[scene.rows(0)]))
    return np.asarray(now / rest - 1.0)


@pytest.mark.parametrize(("nearest", "after"), [(0.02, 0.08), (-0.005, -0.08)])
def test_cloth_between_boxes_that_overlap_or_cross_keeps_its_strain_limit_and_recovers(nearest, after):
    scene = closing(nearest, after)
    sim, count = Simulation(scene), IntersectionCount(scene, scene.start().x)
    most = without_room = with_bodies = 0
    for _ in range(30):
        before = sim.self_contact.passes
        frame = sim.step()
        own, bodies = count.at(frame.x)
        assert own == 0
        assert frame.intersections == bodies
        assert strains(scene, frame.x).max() <= LIMIT
        # not thrown: where the boxes cross a tenth of a millimetre elsewhere, 3.5 to 7.2 m/s, 4.5 on average
        assert np.linalg.norm(sim.state.v[scene.rows(0)], axis=1).max() < 6.0
        work = guard_module.PASSES + (guard_module.PASSES_PER_SUBSTEP + guard_module.CARRYING + 2) * frame.substeps + 2
        most = max(most, sim.self_contact.passes - before - work)
        without_room, with_bodies = max(without_room, frame.no_room), max(with_bodies, bodies)
    assert most <= 0
    assert without_room >= 4
    assert with_bodies > 0
    assert frame.intersections == frame.no_room == 0


def sleeve_between_limbs() -> Scene:
    """A tube hangs around an arm, to which its upper end is attached. The arm comes to lie in a trunk and leaves it
    again; both are boxes of one body."""
    arm, trunk = box((0.06, 0.3, 0.06), 3, centre=(0.14, 0.0, 0.0)), box((0.1, 0.3, 0.2), 3)
    n = trunk.n_vertices
    body = Mesh(np.concatenate([trunk.vertices, arm.vertices]), np.concatenate([trunk.faces, arm.faces + n]))
    frames = np.repeat(body.vertices[None], 4, 0)
    frames[1:3, n:, 0] -= 0.07  # 1 cm inside of the trunk
    motion = Recorded(np.array([0.0, 0.08, 0.14, 0.22]), frames)
    k, rows, heights = np.arange(16), 16 * np.arange(9)[:, None], np.linspace(0.12, -0.12, 10)
    ring = np.stack([0.14 + 0.048 * np.cos(k * np.pi / 8), 0.0 * k, 0.048 * np.sin(k * np.pi / 8)], 1)
    x = (ring[None] + heights[:, None, None] * [0.0, 1.0, 0.0]).reshape(-1, 3)
    a, b = rows + k, rows + (k + 1) % 16
    faces = np.concatenate([np.stack([a, a + 16, b], 2), np.stack([b, a + 16, b + 16], 2)]).reshape(-1, 3)
    held = Attached.at(motion, body.vertices, np.repeat(arm.faces[:1] + n, 16, 0), x[:16])
    sleeve = Body(Mesh(x, faces.astype(np.int32)), grips=[Grip(k, held)])
    return Scene([sleeve, Body(body, obstacle=True, motion=motion)], eps=0.003, self_contact="safe")


def test_a_sleeve_between_an_arm_and_a_trunk_is_held_within_its_strain_limit_and_recovers():
    scene = sleeve_between_limbs()
    sim, count = Simulation(scene, method="bvh"), IntersectionCount(scene, scene.start().x)
    without_room = 0
    for frame in sim.run(34):
        assert count.at(frame.x)[0] == 0
        assert strains(scene, frame.x).max() <= LIMIT
        without_room = max(without_room, frame.no_room)
    assert without_room > 0
    assert frame.intersections == frame.no_room == 0


def test_a_body_that_passes_through_grips_does_not_stretch_the_cloth_beside_them():
    sheet = cloth(0.25, 0.25, 9, plane="xy")
    top = np.flatnonzero(sheet.vertices[:, 1] > 0.12)
    still = Motion([0.0, 1.0], np.repeat(np.eye(3, 4)[None], 2, 0))
    passing = Body(ball(0.03, 2, centre=(0.012, 0.12, -0.05)), obstacle=True, motion=along_z([0.0, 0.2], [0.0, 0.1]))
    scene = Scene([Body(sheet, grips=[Grip(top, still)]), passing], eps=0.003, self_contact="safe")
    sim = Simulation(scene)
    for frame in sim.run(24):
        assert strains(scene, frame.x).max() <= LIMIT
    assert sim.self_contact.given_up_pairs > 0
    assert frame.intersections == 0


def test_without_work_bodies_complete_their_motion_and_cloth_stays_free_of_itself(monkeypatch):
    monkeypatch.setattr(guard_module, "PASSES", 0)
    monkeypatch.setattr(guard_module, "PASSES_PER_SUBSTEP", 0)
    scene = closing(0.02, 0.08)
    sim, count = Simulation(scene), IntersectionCount(scene, scene.start().x)
    for frame in sim.run(12):
        assert count.at(frame.x)[0] == 0
        assert np.isfinite(frame.x).all()
        place = scene.place_of(1, scene.poses(frame.time), {})
        assert np.allclose(frame.x[scene.rows(1)], place)
    assert sim.self_contact.degraded
    assert sim.self_contact.given_up_pairs > 0


@pytest.mark.parametrize(("gap", "expected"), [(0.002, True), (0.02, False)])
def test_cloth_in_a_slit_is_squeezed_but_not_cloth_that_is_folded_over_a_plate(gap, expected):
    walls = [box((0.2, 0.2, 0.02), 2, centre=(0.0, 0.0, side * 0.5 * (0.02 + gap))) for side in (-1.0, 1.0)]
    scene = Scene(
        [Body(cloth(0.1, 0.1, 5, plane="xy")), *(Body(wall, obstacle=True) for wall in walls)],
        eps=0.003,
        self_contact="safe",
    )
    assert is_squeezed(scene) == expected
    plate, sheet = box((0.2, 0.1, 0.001), 2, centre=(0.0, -0.05, 0.0)), cloth(0.1, 0.1, 6, plane="xz")
    x = sheet.vertices.copy()
    x[:, 1] = 0.001 - 3.0 * np.maximum(np.abs(x[:, 2]) - 0.01, 0.0)
    x[:, 2] = np.sign(x[:, 2]) * np.minimum(np.abs(x[:, 2]), 0.0015)
    folded = Scene([Body(sheet.moved(x)), Body(plate, obstacle=True)], eps=0.003, self_contact="safe")
    assert not is_squeezed(folded)
    fine, flat = box((0.2, 0.02, 0.2), 100, centre=(0.0, -0.011, 0.0)), cloth(0.1, 0.1, 6, plane="xz")
    assert not is_squeezed(Scene([Body(flat), Body(fine, obstacle=True)], eps=0.003, self_contact="safe"))
    sim = Simulation(folded)
    sim.step()
    assert len(sim.self_contact.obstacle_contacts)  # although both sides touch the plate


def test_cloth_folded_over_the_edge_of_a_convex_body_is_never_squeezed():
    plate, tested = box((0.03, 0.03, 0.002), 1, centre=(0.0, -0.015, 0.0)), 0
    rng = np.random.default_rng(8)
    for _ in range(60):
        above = rng.uniform([-0.02, 0.0005, -0.002], [0.02, 0.006, 0.002], (2, 3))
        beside = rng.uniform([-0.02, -0.004, 0.0015], [0.02, 0.0, 0.006], (2, 3)) * [[1, 1, 1], [1, 1, -1]]
        sheet = Mesh(np.concatenate([above, beside]), np.array([[0, 1, 2], [1, 0, 3]], np.int32))
        scene = Scene([Body(sheet), Body(plate, obstacle=True)], eps=0.003, self_contact="safe")
        if not sum(IntersectionCount(scene, scene.start().x).at(scene.start().x)):
            tested += 1
            assert not is_squeezed(scene)
    assert tested > 10


def is_squeezed(scene: Scene) -> bool:
    state = scene.start()
    guard = Guard(scene, state)
    guard.begin(state, 0.01)
    return guard.give_up_squeezed(np.arange(scene.rows(0).stop, dtype=np.int32))


def test_room_is_what_no_closed_shell_of_any_body_covers():
    one, two = box((0.2, 0.2, 0.1), 2), box((0.2, 0.2, 0.1), 2, centre=(0.0, 0.0, 0.09))
    sheet = cloth(0.1, 0.1, 4, plane="xy")
    x = sheet.vertices + np.array([0.0, 0.0, 0.045])  # inside of both boxes
    for body, room in ((Body(two, obstacle=True), False), (Body(cut(two), obstacle=True), True)):
        scene = Scene([Body(sheet.moved(x)), Body(one, obstacle=True), body], eps=0.003, self_contact="safe")
        solids, state = solids_of(scene), scene.start()
        inside = vertices_inside(solids, np.arange(16, dtype=np.int32), state.x)
        assert [len(rows) for _, rows in inside] == ([16] if room else [16, 16])
        nearest = solid_of(solids, 1).nearest(state.x[:16])
        assert (leave_room(solids, state.x, *nearest, scene.eps) == room).all()


def test_no_contact_of_cloth_without_room_is_left_whichever_side_of_it_is_the_body():
    one, two = box((0.2, 0.2, 0.1), 2), box((0.2, 0.2, 0.1), 2, centre=(0.0, 0.0, 0.09))
    sheet = cloth(0.1, 0.1, 4, plane="xy")
    bodies = [
        Body(sheet.moved(sheet.vertices + np.array([0.0, 0.0, 0.045]))),
        *(Body(m, obstacle=True) for m in (one, two)),
    ]
    scene = Scene(bodies, eps=0.01, self_contact="safe")
    sim = Simulation(scene, method="bvh")
    parts = [detector.update(sim.state).find(sim.state) for detector in sim.detectors]
    assert any((found["bodies"][:, 0] > 0).any() for found in parts)  # a vertex of the body and a face of the cloth
    sim.self_contact.begin(sim.state, 0.0025)
    assert len(sim.self_contact.rows_without_room) == 16
    assert len(sim.detect(sim.state)) == 0


def solid_of(solids: list[Solids], body: int) -> Solids:
    return next(solid for solid in solids if solid.body == body)


def cut(mesh: Mesh) -> Mesh:
    """Return the mesh without its first face: an open shell has no inside."""
    return Mesh(mesh.vertices, mesh.faces[1:])


def test_a_corner_outside_beside_cloth_without_room_stays_guarded_until_its_edges_are_too_long():
    """A strip leads from between an arm and a trunk out of the arm: the row without room is given up, the row outside
    that triangles join to it only when the strain limit asks for it."""
    trunk, arm = box((0.4, 0.2, 0.4), 2, centre=(0.0, -0.1, 0.0)), box((0.05, 0.3, 0.3), 2, centre=(0.025, 0.1, 0.0))
    faces = np.concatenate([trunk.faces, arm.faces + trunk.n_vertices])
    body = Mesh(np.concatenate([trunk.vertices, arm.vertices]), faces)
    strip = cloth(0.06, 0.02, (4, 3), centre=(-0.01, 0.0, 0.003))
    x = strip.vertices.copy()
    columns = np.rint((x[:, 0] + 0.04) / 0.02).astype(int)  # the last at x = 2 cm, inside of the arm
    x[:, 1] = np.where(columns == 3, 0.001, 0.004)
    scene = Scene([Body(strip.moved(x)), Body(body, obstacle=True)], eps=0.003, self_contact="safe")
    state = scene.start()
    guard = Guard(scene, state)
    faces = guard._faces_around.faces
    state.side[: len(x)][columns == 3] = np.flatnonzero((state.x[faces][:, :, 1] == 0.0).all(1))[0]  # on the trunk
    guard.begin(state, 0.0025)
    given_up, inside, beside = guard._detection.given_up[: len(x), 1], columns == 3, columns == 2
    assert np.array_equal(guard.rows_without_room, np.flatnonzero(inside))
    assert np.array_equal(given_up, inside)
    assert guard.give_up_beside(np.flatnonzero(columns <= 2))
    assert np.array_equal(given_up, inside | beside)
