"""BVHs of skinned and recorded obstacles that are never refitted: the contacts of brute force, in every pose."""

import numpy as np
import pytest

import pliant
from conftest import SEED
from detect.test_bone_fields import bar
from motion.test_character import bent
from pliant import Simulation
from pliant.detect.base import Side
from pliant.detect.methods import METHODS
from pliant.motion.deforming import Recorded, Skinned
from pliant.state import State

CLOTH = pliant.shapes.cloth(0.6, 0.6, 8)


def motions() -> dict[str, tuple[pliant.Mesh, Skinned | Recorded]]:
    bones, morphs = Skinned(bar(turn=1.2, rise=0.2), "move"), Skinned(bent(np.random.default_rng(SEED)), "wave")
    times = np.array([0.0, 0.4, 1.0])
    frames = Recorded(times, np.stack([bones.shape(sample) for sample in bones.sample(times)]))
    mesh = bones.character.mesh
    return {"bones": (mesh, bones), "morphs": (morphs.character.mesh, morphs), "frames": (mesh, frames)}


@pytest.mark.parametrize("name", ["bones", "morphs", "frames"])
@pytest.mark.parametrize("volume", ["box", "18-dop", "sphere"])
def test_contacts_are_those_of_brute_force_in_every_pose(name, volume):
    mesh, motion = motions()[name]
    sides = Side(CLOTH, 0, 0), Side(mesh, CLOTH.n_vertices, 1, motion)
    blended = METHODS["bvh"](*sides, within=0.02, update="blend", volume=volume)
    exact = METHODS["brute-force"](*sides, within=0.02)
    body = blended.broad_phase.trees[1]
    for time, moved in ((0.1, 0.0), (0.35, 0.0), (0.9, 0.01)):
        sample = motion.sample(np.array([time]))[0]
        shape = motion.shape(sample)
        state = State.at(np.concatenate([CLOTH.vertices, shape]))
        state.x[CLOTH.n_vertices + 3] += moved  # as bodies that yield do
        state.bones = {1: sample}
        found, wanted = blended.update(state).find(state), exact.update(state).find(state)
        assert len(found)
        np.testing.assert_array_equal(found, wanted)
        np.testing.assert_allclose(body._tree.positions(), shape, atol=1e-12)
        assert body.moved <= 2.0 * moved + 1e-10
        assert (body.builds, body.fits) == (1, 0)


@pytest.mark.parametrize("name", ["bones", "morphs", "frames"])
@pytest.mark.parametrize("volume", ["box", "26-dop", "sphere"])
def test_contacts_during_a_step_are_those_of_refitting(name, volume):
    """Of a body that moves by more than the detection distance in the step, through cloth that moves as well."""
    mesh, motion = motions()[name]
    sides = Side(CLOTH, 0, 0), Side(mesh, CLOTH.n_vertices, 1, motion)
    blended = METHODS["continuous"](*sides, within=0.005, update="blend", volume=volume)
    refitted = METHODS["continuous"](*sides, within=0.005)
    assert (blended.guarantee, refitted.broad_phase) == ("A", None)
    touched = 0
    for begin, end in ((0.0, 0.3), (0.3, 0.9), (0.9, 0.9)):
        one, two = motion.sample(np.array([begin, end]))
        before = np.concatenate([CLOTH.vertices + np.array([0.0, 0.02, 0.0]), motion.shape(one)])
        state = State.at(np.concatenate([CLOTH.vertices, motion.shape(two)]))
        state.x_start[:], state.bones = before, {1: two}
        found, wanted = (each.update(state).find(state) for each in (blended, refitted))
        np.testing.assert_array_equal(found, wanted)
        touched += int((found["time"] < 1.0).sum())
    assert touched, "something is hit during the step"
    assert (blended.broad_phase.trees[1].builds, blended.broad_phase.trees[1].fits) == (1, 0)


def test_only_obstacles_of_a_scene_that_are_weighted_sums_are_blended():
    ball = pliant.shapes.ball(0.1, 1)
    with pytest.raises(ValueError, match="update 'blend' is for an obstacle of a scene that is skinned"):
        pliant.detector("bvh", CLOTH, ball, update="blend")
    with pytest.raises(ValueError, match="update 'blend' is for an obstacle; choose another one for self-contact"):
        pliant.detector("bvh", CLOTH, update="blend")
    for method in ("continuous:update=blend", "bvh:update=blend"):
        with pytest.raises(ValueError, match="recorded frames"):
            pliant.detector(method, CLOTH, ball)
    mesh, motion = motions()["bones"]
    sides = Side(CLOTH, 0, 0), Side(mesh, CLOTH.n_vertices, 1, motion)
    with pytest.raises(ValueError, match="volume 'oriented' cannot be blended"):
        METHODS["bvh"](*sides, within=0.02, update="blend", volume="oriented")
    with pytest.raises(pliant.errors.TooBigError, match="a BVH of 24 blended parts needs"):
        METHODS["bvh"](*sides, within=0.02, update="blend", max_bytes=1e3)
    state = State.at(np.concatenate([CLOTH.vertices, mesh.vertices]))
    with pytest.raises(ValueError, match=r"needs the pose of the obstacle in State\.bones"):
        METHODS["bvh"](*sides, within=0.02, update="blend").update(state)


@pytest.mark.compiled
def test_a_run_is_bitwise_the_same_with_every_kind_of_tree():
    mesh, motion = motions()["bones"]
    above = pliant.Mesh(CLOTH.vertices + np.array([0.0, 0.51, 0.0]), CLOTH.faces)
    bodies = [pliant.Body(above), pliant.Body(mesh, obstacle=True, motion=motion)]
    ends = []
    for method in ("bvh", "bvh:update=blend", "bvh:volume=18-dop,update=lazy", "bvh:leaf=4,split=zones"):
        sim = Simulation(pliant.Scene(bodies, eps=0.01), method=method, substeps=2)
        frames = [sim.step() for _ in range(4)]
        assert len(frames[-1].contacts)
        ends.append(frames[-1].x)
        assert sim.method == method
    assert all(np.array_equal(end, ends[0]) for end in ends)
