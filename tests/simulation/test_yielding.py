"""Skins yield to cloth where their limbs overlap: it has room between them, and is guarded there."""

import numpy as np
import pytest

from pliant.mesh import Mesh
from pliant.motion.deforming import Attached, Recorded
from pliant.scene import Body, Grip, Scene
from pliant.shapes import ball
from pliant.simulation import Simulation
from pliant.simulation.guard import IntersectionCount
from pliant.simulation.yielding import GAP, Region, Yielding

pytestmark = pytest.mark.compiled
EPS, LIMIT = 0.003, 0.06  # metres; the largest strain that the gauntlet allows
EVERYWHERE = Region(1e3, np.full(3, -1.0), np.ones((2, 2, 2), np.bool_))


def limbs(overlap: float) -> tuple[Mesh, np.ndarray]:
    """A trunk and an arm beside it, ellipsoids of one skin, that overlap by this many metres; the arm's rows."""
    unit = ball(1.0, 4)
    n, arm_at = unit.n_vertices, np.array([0.11 - overlap, 0.0, 0.0])
    x = np.concatenate([unit.vertices * [0.08, 0.09, 0.1], unit.vertices * [0.03, 0.16, 0.03] + arm_at])
    return Mesh(x, np.concatenate([unit.faces, unit.faces + n])), np.arange(n, 2 * n)


def sleeve() -> Scene:
    """A tube around an arm, to which its upper end is attached; the arm comes to overlap the trunk and leaves it."""
    body, arm = limbs(-0.06)
    frames = np.repeat(body.vertices[None], 4, 0)
    frames[1:3, arm, 0] -= 0.07  # 1 cm inside of the trunk
    motion = Recorded(np.array([0.0, 0.08, 0.14, 0.22]), frames)
    k, rows, heights = np.arange(16), 16 * np.arange(9)[:, None], np.linspace(0.1, -0.11, 10)
    ring = np.stack([0.17 + 0.045 * np.cos(k * np.pi / 8), 0.0 * k, 0.045 * np.sin(k * np.pi / 8)], 1)
    x = (ring[None] + heights[:, None, None] * [0.0, 1.0, 0.0]).reshape(-1, 3)
    a, b = rows + k, rows + (k + 1) % 16
    faces = np.concatenate([np.stack([a, a + 16, b], 2), np.stack([b, a + 16, b + 16], 2)]).reshape(-1, 3)
    corners = body.faces[(body.faces >= arm[0]).all(1)][:1]
    held = Attached.at(motion, body.vertices, np.repeat(corners, 16, 0), x[:16])
    worn = Body(Mesh(x, faces.astype(np.int32)), grips=[Grip(k, held)])
    return Scene([worn, Body(body, obstacle=True, motion=motion)], eps=EPS, self_contact="safe")


def skin(overlap: float) -> tuple[Yielding, np.ndarray]:
    """What computes the insets of limbs that overlap, and their vertices."""
    body, _ = limbs(overlap)
    motion = Recorded(np.array([0.0, 1.0]), np.repeat(body.vertices[None], 2, 0))
    scene = Scene([sleeve().bodies[0], Body(body, obstacle=True, motion=motion)], eps=EPS, self_contact="safe")
    found = Yielding(scene)
    return found, scene.start().x[found.rows]


def test_the_region_holds_all_cells_beside_those_of_the_cloth_and_no_others():
    near = Region.around(np.array([[0.05, 0.05, 0.05], [0.55, 0.05, 0.05]]), 0.1)
    x = np.array([[0.199, 0.0, -0.099], [0.201, 0.0, 0.0], [0.451, 0.05, 0.05], [0.75, 0.05, 0.05], [-9.0, 0.0, 0.0]])
    assert near.contains(x).tolist() == [True, False, True, False, False]
    assert Region.around(np.array([[0.0] * 3, [1e9] * 3]), 0.1).near.size < 5e6  # however far apart


@pytest.mark.parametrize("overlap", [-0.1, -0.001])
def test_limbs_that_do_not_overlap_do_not_yield(overlap):
    found, shape = skin(overlap)
    assert not found.insets(shape, EVERYWHERE).any()


def test_limbs_that_overlap_yield_by_half_of_it_each_and_leave_cloth_room():
    found, shape = skin(0.01)
    inset = found.insets(shape, EVERYWHERE)
    trunk, arm = (np.argmin(np.linalg.norm(shape - [x, 0.0, 0.0], axis=1)) for x in (0.08, 0.07))
    assert inset[trunk, 0] == pytest.approx(-(0.01 + GAP * EPS) / 2, rel=0.05)
    assert inset[arm, 0] == pytest.approx((0.01 + GAP * EPS) / 2, rel=0.05)
    assert not inset[(shape[:, 0] < 0.0) | (shape[:, 0] > 0.12)].any()  # the far sides
    assert not found.insets(shape + inset, EVERYWHERE).any()  # which do not overlap any more


def test_what_is_known_of_a_shape_changes_no_bit_in_another_region_and_is_not_computed_again(monkeypatch):
    (found, shape), (fresh, _) = skin(0.01), skin(0.01)
    low = Region(0.02, np.full(3, -20.0), np.arange(40)[None, :, None] < 22 + np.zeros((40, 1, 40)))
    high = low._replace(near=~low.near | (np.arange(40) > 18)[None, :, None])
    first = found.insets(shape, low)
    tested, needed = [], Yielding._needed
    monkeypatch.setattr(Yielding, "_needed", lambda *a, **k: tested.append(len(a[2])) or needed(*a, **k))
    again, one = found.insets(shape, high), sum(tested)
    whole = fresh.insets(shape, high)
    assert first.any()
    assert (again != first).any()
    assert np.array_equal(again, whole)
    assert 0 < one < 0.8 * (sum(tested) - one)  # what both regions contain is known


def test_limbs_yield_to_a_sleeve_from_the_frame_after_they_squeeze_it_on_and_no_pair_is_given_up_then():
    scene = sleeve()
    sim, count = Simulation(scene, method="bvh"), IntersectionCount(scene, scene.start().x)
    mesh, between, given_up = scene.bodies[0].mesh.welded, 0, []
    ends = mesh.topology.edges
    rest = np.linalg.norm(mesh.vertices[ends[:, 0]] - mesh.vertices[ends[:, 1]], axis=1)
    for frame in sim.run(34):
        own, bodies = count.at(frame.x)
        x = frame.x[scene.rows(0)]
        assert own == 0
        assert frame.intersections == bodies  # with the limbs as they are
        assert np.array_equal(frame.x[scene.rows(1)], scene.place_of(1, frame.pose, sim.state.bones))
        assert (np.linalg.norm(x[ends[:, 0]] - x[ends[:, 1]], axis=1) / rest - 1.0).max() <= LIMIT
        between = max(between, frame.no_room)
        given_up.append(sim.self_contact.given_up_pairs)
    squeezed = np.flatnonzero(np.diff(given_up, prepend=0))
    assert len(squeezed) == 1
    assert between > 0
    assert frame.intersections == frame.no_room == 0


def test_a_run_saved_while_limbs_overlap_continues_bitwise_identically(tmp_path):
    scene = sleeve()
    sim = Simulation(scene, method="bvh")
    frame = list(sim.run(9))[-1]
    assert frame.no_room > 0
    sim.save(tmp_path / "run.npz")
    again = Simulation.load(tmp_path / "run.npz", scene)
    for one, other in zip(sim.run(4), again.run(4), strict=True):
        assert np.array_equal(one.x, other.x)


def test_cloth_that_comes_near_a_skin_at_rest_finds_the_same_insets_as_at_once():
    (found, shape), (fresh, _) = skin(0.01), skin(0.01)
    nowhere = Region(1e3, np.full(3, 8.0), np.ones((2, 2, 2), np.bool_))
    assert not found.insets(shape, nowhere).any()
    np.testing.assert_array_equal(found.insets(shape, EVERYWHERE), fresh.insets(shape, EVERYWHERE))
