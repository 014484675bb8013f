"""Deep overlaps are led apart: slowly, without a throw, each side giving what the other takes, until none is inside."""

import numpy as np
import pytest

from pliant import contacts as _contacts
from pliant.detect.detectors.spatial_hash import SpatialHashDetector
from pliant.detect.queries.overlap import overlap
from pliant.mesh import Mesh
from pliant.respond import Separate
from pliant.scene import Body, Scene, Solid
from pliant.shapes import tet_ball, tet_box
from pliant.simulation import Simulation
from pliant.simulation.deformable_contact import DeformableContact

FOAM = Solid(young=1e4, poisson=0.4, density=300.0, damping=0.03)
HASHED = {"self_method": "spatial-hash", "self_response": "separate"}


def together(one: Mesh, other: Mesh, **options) -> Scene:
    bodies = [Body(mesh, material=FOAM) for mesh in (one, other)]
    return Scene(bodies, gravity=(0, 0, 0), eps=1e-4, self_contact="push", **options)


def balls(size: float = 0.05, **options) -> Scene:
    """Two balls, the second half inside the first."""
    return together(tet_ball(0.1, size), tet_ball(0.1, size, centre=(0.101, 0.011, 0.007)), **options)


def boxes() -> Scene:
    """A box deep in another, three quarters of it."""
    return together(tet_box(0.2, 0.04), tet_box(0.1, 0.025, centre=(0.01, 0.02, 0.075)))


def shared(scene: Scene, x: np.ndarray) -> float:
    """The volume that both bodies have in common, over that of the first."""
    one, other = (scene.bodies[b].mesh.surface for b in (0, 1))
    skins = [mesh.moved(x[scene.rows(b)][: mesh.n_vertices]) for b, mesh in ((0, one), (1, other))]
    return overlap(*skins, resolution=128).volume / skins[0].volume


@pytest.mark.compiled
@pytest.mark.parametrize(("made", "frames"), [(balls, 40), (boxes, 90)])
def test_bodies_that_start_deep_in_each_other_part_smoothly_until_no_vertex_is_inside(made, frames):
    scene = made()
    sim = Simulation(scene, substeps=8, **HASHED)
    assert isinstance(sim.self_contact, DeformableContact)
    speed, common, m = sim.self_contact.response.speed, [shared(scene, sim.state.x)], scene.masses
    fastest, inside = 0.0, len(sim.self_contact.detect(sim.state))
    assert inside > 50
    assert common[0] > 0.05
    for frame in sim.run(frames):
        assert np.isfinite(frame.x).all()
        fastest = max(fastest, np.sqrt((sim.state.v**2).sum(1).max()))
        for b in (0, 1):
            mesh = scene.bodies[b].mesh.welded
            assert mesh.moved(frame.x[scene.rows(b)]).tet_volumes.sum() > 0.95 * mesh.volume
        common.append(shared(scene, frame.x))
        inside = len(sim.self_contact.detect(sim.state))
        if not inside:
            break
    assert inside == 0
    assert fastest < 3.0 * speed
    assert np.diff(common).max() < 1e-3 * common[0], "it may only become less"
    assert np.abs(m @ sim.state.v).max() < 1e-12 * m.sum()


@pytest.mark.compiled
@pytest.mark.parametrize("response", ["projection", "penalty", "geometric"])
def test_other_responses_throw_them(response):
    sim = Simulation(balls(), self_method="spatial-hash", self_response=response)
    start, reach = sim.state.x.copy(), 0.0
    for frame in sim.run(2):
        reach = max(reach, np.linalg.norm(frame.x - start, axis=1).max() / frame.time)
    assert reach > 1.5


def contacts_of(scene: Scene) -> tuple[np.ndarray, object]:
    state = scene.start()
    sides = DeformableContact(scene, state, "spatial-hash", None, "separate")
    return sides.detect(state), state


def test_no_vertex_is_led_faster_than_the_speed_and_none_keeps_it():
    scene = balls(0.1)
    found, state = contacts_of(scene)
    response, dt, start = Separate(scene, speed=0.25), 1e-3, state.x.copy()
    response.begin(found, state)
    response.apply(found, state, dt)
    far = np.linalg.norm(state.x - start, axis=1)
    assert far.max() == pytest.approx(0.25 * dt, rel=1e-12)
    assert _contacts.gap(found, state.x)[found["distance"].argmin()] @ found["normal"][found["distance"].argmin()] > (
        found["distance"].min()
    )
    state.v = (state.x - state.x_start) / dt
    response.finish(found, state, dt)
    assert np.abs(state.v).max() < 1e-12


def test_what_one_side_gives_the_other_takes_with_friction_too(rng):
    scene = balls(0.1, friction=0.5)
    found, state = contacts_of(scene)
    state.x_start = state.x - 1e-4 * rng.normal(size=state.x.shape)
    response, start = Separate(scene), state.x.copy()
    response.begin(found, state)
    response.apply(found, state, 1e-3)
    pushed = scene.masses[:, None] * (state.x - start)
    assert np.abs(pushed).sum() > 0.0
    assert np.abs(pushed.sum(0)).max() < 1e-12 * np.abs(pushed).sum()
    assert (response.stopped > 0.0).sum() > 3
    assert (np.linalg.norm(response.rubbed, axis=1) <= 0.5 * response.stopped * (1.0 + 1e-9)).all()


def test_what_goes_farther_in_is_stopped_and_what_comes_out_is_not_held():
    scene = together(tet_box(0.2, 0.05), tet_box(0.1, 0.05, centre=(0.0, 0.0, 0.13)))
    found, state = contacts_of(scene)
    assert len(found) > 3
    for way, stays in ((-1.0, False), (1.0, True)):
        step = np.zeros_like(state.x)
        step[scene.rows(1), 2] = way * 1e-4
        state.x_start = state.x - step
        response, before = Separate(scene, speed=1e-9), state.x.copy()
        response.begin(found, state)
        response.apply(found, state, 1e-3)
        went = np.abs(state.x - before).max()
        assert (went < 1e-11) == stays
        state.x = before


def test_options_are_checked():
    with pytest.raises(ValueError, match="speed"):
        Separate(balls(0.1), speed=0.0)
    with pytest.raises(ValueError, match="tau"):
        Separate(balls(0.1), tau=-1.0)


def test_bodies_are_asked_about_together_or_two_at_a_time():
    from pliant.detect.base import Side

    scene = balls(0.1)
    state = scene.start()
    one, other = (Side(scene.bodies[b].mesh.welded, int(scene.first[b]), b) for b in (0, 1))
    joint = SpatialHashDetector(one, more=[other], within=0.0).update(state).find(state)
    pair = SpatialHashDetector(one, other, within=0.0).update(state).find(state)
    assert len(pair) > 10
    assert joint.tobytes() == pair.tobytes()
    with pytest.raises(ValueError, match="leave out other"):
        SpatialHashDetector(one, other, more=[other], within=0.0)
