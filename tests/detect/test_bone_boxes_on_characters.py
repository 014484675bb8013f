"""Boxes on the bones of a walking human and of every skinned file: nothing missed, little looked at."""

import time

import numpy as np
import pytest

import pliant
from characters import human
from detect.boned import around, assert_as_the_surface_says, made, posed
from pliant.contacts import VERTEX_FACE
from pliant.detect.base import Side
from pliant.detect.detectors.brute_force import BruteForceDetector
from pliant.detect.queries.closest_point import ClosestPoints
from pliant.kernels import jit
from pliant.mesh import Mesh
from pliant.motion.deforming import Skinned
from pliant.state import State

RIGGED = "CesiumMan.glb Fox.glb KayKit_Knight.glb RiggedFigure.glb RiggedSimple.glb RobotExpressive.glb SimpleSkin.gltf"


@pytest.fixture(scope="module")
def walker(request):
    from conftest import DATA

    if not DATA.is_dir():
        pytest.skip("no ../shared/data beside the checkout")
    skirt = np.load(DATA / "human" / "skirt.npz")
    return human(DATA / "human"), Mesh(skirt["V_rest"], skirt["F"], name="skirt"), skirt["V_frames"].astype(np.float64)


def human_state(skirt, motion, frame: float) -> State:
    k = min(int(frame), 46)
    x = (k + 1 - frame) * skirt[k] + (frame - k) * skirt[k + 1]
    return posed(x, motion, frame / 48.0)


@pytest.mark.compiled
@pytest.mark.parametrize("every", [pytest.param(1, marks=pytest.mark.long), 12])
def test_on_the_walking_human_no_vertex_is_missed_and_no_skin_leaves_its_box(walker, every, rng):
    character, _, _ = walker
    motion, within, count = Skinned(character, "walk"), 0.005, 2000
    points = around(character.mesh, within, count, rng)
    detector = made(points, character.mesh, motion, within)
    for frame in np.arange(0.0, 47.0, every):
        state = posed(points, motion, (frame + (frame % 24) / 48.0) / 48.0)
        body = character.mesh.moved(state.x[len(points) :])
        state.x[: len(points)] = points = around(body, within, count, rng)
        hits = detector.update(state).find(state)
        assert assert_as_the_surface_says(hits, points, body, within) > count // 2
        q = detector.boxes._coordinates(state.x[len(points) :])
        outside = (q < detector.boxes.boxes.low[detector.boxes.entry_box]).any(1)
        outside |= (q > detector.boxes.boxes.high[detector.boxes.entry_box]).any(1)
        assert not outside.any()
    assert detector.boxes.widened == 0


@pytest.mark.compiled
@pytest.mark.parametrize("name", RIGGED.split())
def test_on_every_skinned_file_no_vertex_is_missed(name, data, rng, request):
    character = pliant.load_character(data / "rigged" / name)
    skin = character.mesh.moved(character.shape(None, 0.0))
    _, rows = np.unique(skin.weld_index, return_index=True)
    mesh, within = skin.welded, 0.003 * skin.size
    long = request.config.getoption("--long")
    for clip in list(character.clips)[: None if long else 1]:
        motion = Skinned(character, clip).taking(rows)
        points = around(mesh, within, 300, rng)
        detector = made(points, mesh, motion, within)
        for when in np.linspace(0.0, motion.duration, int(24 * motion.duration) + 2 if long else 4):
            state = posed(points, motion, when)
            body = mesh.moved(state.x[len(points) :])
            state.x[: len(points)] = points = around(body, within, 300, rng)
            hits = detector.update(state).find(state)
            truth = ClosestPoints(body).query(points)[0]
            near = np.flatnonzero(np.abs(truth) <= within)
            assert np.isin(near, hits["elements"][:, 0]).all()
            own = np.isin(hits["elements"][:, 0], near)
            np.testing.assert_allclose(
                np.abs(hits["distance"][own]), np.abs(truth[near]), rtol=0, atol=1e-13 * skin.size
            )
            assert (hits["distance"][~own] < 0.0).all()


@pytest.mark.compiled
def test_one_and_two_threads_find_the_same_bits(walker, rng):
    character, skirt, frames = walker
    motion = Skinned(character, "walk")
    found = []
    for threads in (1, 2):
        before = jit.threads()
        jit.set_threads(threads)
        try:
            detector = made(skirt, character.mesh, motion, 0.01)
            states = [human_state(frames, motion, k) for k in (3.0, 3.5, 20.0)]
            found.append([detector.update(state).find(state).tobytes() for state in states])
        finally:
            jit.set_threads(before)
    assert found[0] == found[1]
    assert len(found[0][0]) > 0


@pytest.mark.compiled
def test_98_percent_of_the_humans_triangles_are_not_looked_at(walker):
    character, skirt, frames = walker
    motion = Skinned(character, "walk")
    spared = []
    for deep in (True, False):
        detector = made(skirt, character.mesh, motion, 0.005, midpoints=False, deep=deep)
        for frame in (0.0, 11.0, 30.0):
            spared.append(detector.update(human_state(frames, motion, frame)).spared)
    assert min(spared) >= 0.98


@pytest.mark.compiled
@pytest.mark.long
def test_detection_on_the_human_takes_less_than_a_millisecond_for_1000_vertices(walker):
    character, skirt, frames = walker
    motion = Skinned(character, "walk")
    before = jit.threads()
    jit.set_threads(1)
    try:
        detector = made(skirt, character.mesh, motion, 0.005, midpoints=False)
        states = [human_state(frames, motion, 10.0 + k / 32.0) for k in range(32)]  # small steps of 0.65 ms
        took = np.full(len(states), np.inf)
        for _ in range(20):
            for k, state in enumerate(states):
                start = time.process_time()
                detector.update(state).find(state)
                took[k] = min(took[k], time.process_time() - start)
    finally:
        jit.set_threads(before)
    assert 1e3 * np.median(took[1:]) / (skirt.n_vertices / 1000) < 1.0


@pytest.mark.compiled
def test_the_records_are_those_of_brute_force(walker, rng):
    character, skirt, frames = walker
    motion = Skinned(character, "walk")
    state = human_state(frames, motion, 17.0)
    hits = made(skirt, character.mesh, motion, 0.01, midpoints=False).update(state).find(state)
    sides = Side(skirt, 0, 0), Side(character.mesh, skirt.n_vertices, 1)
    brute = BruteForceDetector(*sides, within=0.01).find(state)
    brute = brute[(brute["kind"] == VERTEX_FACE) & (brute["bodies"][:, 0] == 0)]
    key = {tuple(hit["elements"].tolist()): hit for hit in brute}
    assert all(key[tuple(hit["elements"].tolist())] == hit for hit in hits)
    assert len(hits) > 50
