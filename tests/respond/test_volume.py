"""The response 'volume': the gradient of an intersection volume against closed forms and exact solids, and scenes."""

import numpy as np
import pytest

from pliant.contacts import empty
from pliant.detect.base import Side
from pliant.detect.queries.overlap import overlap
from pliant.detect.queries.volume_gradient import Intersection, VolumeGradient
from pliant.mesh import Mesh
from pliant.motion.rigid import Motion
from pliant.respond import Volume
from pliant.scene import Body, Scene, Solid
from pliant.shapes import ball, box, cloth, tet_ball, tet_box
from pliant.simulation import Simulation

FOAM = Solid(young=1e4, poisson=0.4, density=300.0, damping=0.03)


def intersection(a: Mesh, b: Mesh, resolution: int) -> tuple[Intersection, np.ndarray]:
    x = np.concatenate([a.vertices, b.vertices])
    query = VolumeGradient(Side(a), Side(b, a.n_vertices, 1), resolution=resolution)
    found = query.at(x, np.ones(len(x)))
    assert found is not None
    return found, found.gradient(len(x))


def test_two_boxes_share_a_box_and_its_volume_changes_by_the_area_between_them():
    a = box((0.2, 0.2, 0.2), (3, 4, 2))
    b = box((0.2, 0.1, 0.3), (2, 3, 3), centre=(0.15, 0.02, 0.01))
    found, gradient = intersection(a, b, 32)
    assert found.volume == pytest.approx(0.05 * 0.1 * 0.2, rel=1e-8)
    assert found.regions == 1
    moved = gradient[: a.n_vertices].sum(0)  # of the first box as a whole
    np.testing.assert_allclose(moved, (0.1 * 0.2, 0.0, 0.0), atol=1e-9)


@pytest.mark.compiled
@pytest.mark.parametrize("way", [(1.0, 0.0, 0.0), (0.3, -0.8, 0.5)])
def test_two_balls_share_a_lens_and_its_volume_changes_by_the_area_of_its_rim(way):
    d, r, s = 0.13, 0.1, 0.08
    way = np.array(way) / np.linalg.norm(way)
    a, b = ball(r, 5), ball(s, 5, centre=tuple(d * way))
    found, gradient = intersection(a, b, 96)
    lens = np.pi * (r + s - d) ** 2 * (d * d + 2 * d * (r + s) - 3 * (r - s) ** 2) / (12 * d)
    rim = np.pi * (r * r - ((d * d + r * r - s * s) / (2 * d)) ** 2)
    assert found.volume == pytest.approx(lens, rel=0.01)
    np.testing.assert_allclose(gradient[: a.n_vertices].sum(0), rim * way, atol=0.01 * rim)


@pytest.mark.compiled
def test_the_gradient_is_the_change_of_the_exact_volume_under_any_small_deformation(rng):
    manifold = pytest.importorskip("manifold3d", reason="manifold3d (extra: test) makes the exact bodies")
    a, b = ball(0.1, 3), box((0.15, 0.12, 0.18), (5, 4, 6), centre=(0.09, 0.03, 0.02))
    x, n = np.concatenate([a.vertices, b.vertices]), a.n_vertices
    x += 0.004 * np.sin(40.0 * x[:, [1, 2, 0]])

    def solid(vertices: np.ndarray, faces: np.ndarray):
        return manifold.Manifold(manifold.Mesh64(np.array(vertices), np.array(faces, np.uint64)))

    def exact(at: np.ndarray) -> float:
        return (solid(at[:n], a.faces) ^ solid(at[n:], b.faces)).volume()

    _, gradient = intersection(a.moved(x[:n]), b.moved(x[n:]), 160)
    for _ in range(6):
        u = np.sin(x @ rng.normal(size=(3, 3)) * 12.0 + rng.uniform(0, 6, 3)) * np.repeat(
            [[1.0], [rng.normal()]], (n, len(x) - n), 0
        )
        h = 1e-5
        expected = (exact(x + h * u) - exact(x - h * u)) / (2.0 * h)
        scale = np.abs(gradient * u).sum()
        assert (gradient * u).sum() == pytest.approx(expected, abs=0.01 * scale)


def test_bodies_that_meet_in_several_places_have_one_region_for_each():
    parts = [box((0.05, 0.1, 0.05), (2, 2, 2), centre=(0.2 * k, 0.04, 0.0)) for k in range(3)]
    first = np.cumsum([0, *(part.n_vertices for part in parts)])
    faces = np.concatenate([part.faces + start for part, start in zip(parts, first[:-1], strict=True)])
    comb = Mesh(np.concatenate([part.vertices for part in parts]), faces)
    floor = box((1.0, 0.2, 1.0), 1, centre=(0.2, -0.1, 0.0))
    x = np.concatenate([comb.vertices, floor.vertices])
    w = np.concatenate([np.ones(comb.n_vertices), np.zeros(floor.n_vertices)])
    query = VolumeGradient(Side(comb), Side(floor, comb.n_vertices, 1), resolution=64)
    assert query.at(x, w).regions == 3
    assert query.at(x, np.ones(len(x))).regions == 1  # all stand on the same two triangles
    assert query.at(x + (0.0, 1.0, 0.0) * (w[:, None] > 0), w) is None


def scene_of(*meshes: Mesh, gravity=(0, 0, 0), **options) -> Scene:
    bodies = [Body(mesh, material=FOAM) for mesh in meshes]
    return Scene(bodies, gravity=gravity, eps=1e-4, self_contact="push", **options)


def balls(**options) -> Scene:
    return scene_of(tet_ball(0.1, 0.05), tet_ball(0.1, 0.05, centre=(0.101, 0.011, 0.007)), **options)


def responding(scene: Scene, **options) -> Volume:
    a, b = (Side(scene.bodies[k].mesh.surface, int(scene.first[k]), k) for k in (0, 1))
    return Volume(scene, intersect=[VolumeGradient(a, b).at], **options)


@pytest.mark.parametrize("friction", [0.0, 0.4])
def test_what_one_body_gains_the_other_loses(rng, friction):
    scene = balls(friction=friction)
    state, response, m = scene.start(), responding(scene), scene.masses[:, None]
    state.x_start = (
        state.x - 1e-4 * rng.normal(size=state.x.shape) - 3e-4 * (np.arange(len(state.x)) < scene.first[1])[:, None]
    )
    before = state.x.copy()
    response.begin(empty(), state)
    response.apply(empty(), state, 1e-3)
    gained = m * (state.x - before)
    assert np.abs(gained).sum() > 1e-6
    assert np.abs(gained.sum(0)).max() < 1e-12 * np.abs(gained).sum()
    if not friction:
        moment = np.cross(before, gained)
        assert np.abs(moment.sum(0)).max() < 1e-9 * np.abs(moment).sum()


def test_friction_stops_sliding_and_stays_in_its_cone():
    scene = [balls(friction=mu) for mu in (0.0, 0.05, 50.0)]
    gains = []
    for each in scene:
        state, response = each.start(), responding(each)
        state.x_start = state.x.copy()
        state.x_start[each.rows(0)] -= (0.0, 0.0, 1e-4)
        before = state.x.copy()
        response.apply(empty(), state, 1e-3)
        gains.append((each.masses[:, None] * (state.x - before))[each.rows(0)].sum(0))
    free, some, stuck = gains
    rubbed = np.linalg.norm(some - free)
    assert rubbed == pytest.approx(0.05 * np.linalg.norm(free), rel=1e-9)
    assert 0.0 < (some - free)[2] / -rubbed <= 1.0
    assert rubbed < np.linalg.norm(stuck - free) < 1.0 * np.linalg.norm(free)  # it stops, and does not reverse


@pytest.mark.compiled
@pytest.mark.parametrize(
    "made", [balls, lambda: scene_of(tet_box(0.2, 0.04), tet_box(0.1, 0.025, centre=(0.01, 0.02, 0.075)))]
)
def test_the_volume_of_two_overlapping_bodies_decreases_to_zero(made):
    scene = made()
    sim, m = Simulation(scene, self_method="image-space", self_response="volume"), scene.masses

    def shared(x: np.ndarray) -> float:
        surfaces = [scene.bodies[b].mesh.surface for b in (0, 1)]
        return overlap(
            *(s.moved(x[scene.rows(b)][: s.n_vertices]) for b, s in enumerate(surfaces)), resolution=96
        ).volume

    volumes = [shared(sim.state.x)]
    for frame in sim.run(12):
        volumes.append(shared(frame.x))
    assert volumes[0] > 5e-4
    assert np.diff(volumes).max() <= 1e-3 * volumes[0]
    assert volumes[-1] == 0.0
    assert sim.self_contact.response.volume == 0.0
    assert np.abs(m @ sim.state.v).max() < 1e-12 * m.sum()


@pytest.mark.compiled
def test_a_block_at_rest_is_carried_by_a_force_that_equals_its_weight():
    block = tet_box(0.1, 0.034, centre=(0.0, 0.0502, 0.0))
    floor = Body(box((1.0, 0.2, 1.0), 1, centre=(0.0, -0.1, 0.0)), obstacle=True)
    stiff = Solid(young=1e6, density=300.0, damping=0.1)
    scene = Scene([Body(block, material=stiff), floor], eps=1e-3, friction=0.3, self_contact="off")
    sim = Simulation(scene, method="image-space", response="volume")
    for _ in sim.run(60):
        pass
    force = np.mean([sim.response.force.sum(0) for _ in sim.run(40)], 0)
    weight = scene.masses[scene.rows(0)].sum() * 9.81
    assert force[1] == pytest.approx(weight, rel=0.05)  # N
    assert np.abs(force[[0, 2]]).max() < 0.05 * weight
    assert -0.005 < sim.state.x[scene.rows(0), 1].min() < 0.0


@pytest.mark.compiled
def test_a_moving_obstacle_pushes_a_body():
    poses = np.stack([np.eye(3, 4), np.eye(3, 4)])
    poses[1, 0, 3] = 0.06
    wall = box((0.05, 0.3, 0.3), 1, centre=(-0.09, 0.0, 0.0))
    wall = Body(wall, obstacle=True, motion=Motion(np.array([0.0, 0.2]), poses))
    scene = Scene([Body(tet_box(0.1, 0.05), material=FOAM), wall], gravity=(0, 0, 0), eps=1e-3, self_contact="off")
    sim = Simulation(scene, method="distance-field", response="volume")
    for _ in sim.run(20):
        pass
    assert sim.state.x[scene.rows(0), 0].mean() > 0.03


def test_a_body_that_is_entirely_inside_another_is_not_led_out():
    """The limit of the method: the gradient only shrinks the inner body."""
    scene = scene_of(tet_box(0.2, 0.1), tet_box(0.05, 0.025, centre=(0.02, 0.01, 0.0)))
    state, response = scene.start(), responding(scene)
    state.x_start = state.x.copy()
    before = state.x.copy()
    response.apply(empty(), state, 1e-3)
    moved = state.x - before
    assert np.abs(moved[scene.rows(1)]).max() > 0.0
    assert np.abs(moved[scene.rows(1)].mean(0)).max() < 1e-3 * np.abs(moved).max()


def test_an_open_body_is_one_clear_error():
    sheet = Body(cloth(0.1, 0.1, 3, centre=(0, 0.1, 0)))
    scene = Scene([sheet, Body(box(0.1, 1), obstacle=True)])
    with pytest.raises(ValueError, match=r"response 'volume' needs closed bodies .* is open; use 'projection'"):
        Simulation(scene, method="bvh", response="volume")
    with pytest.raises(ValueError, match=r"needs closed bodies"):
        Simulation(Scene([sheet, sheet], self_contact="push"), self_method="bvh", self_response="volume")
