"""Active pairs: what they meet they find whole; they follow it; the same seed gives the same answer."""

import itertools

import numpy as np
import pytest

from detect.made import box, octahedron, sheet
from pliant.detect.base import Side
from pliant.detect.detectors.brute_force import BruteForceDetector
from pliant.detect.detectors.bvh import BvhDetector
from pliant.detect.detectors.stochastic import ActivePairsDetector, measured_recall
from pliant.detect.detectors.stochastic.facets import levels_of
from pliant.detect.queries.contact_records import WeldedSide
from pliant.kernels import jit
from pliant.kernels.detectors.stochastic import descent as descent
from pliant.kernels.detectors.stochastic.features import FacetQuery
from pliant.kernels.detectors.stochastic.flood import BATCH, flood
from pliant.mesh import Mesh
from pliant.state import State
from pliant.validate import TooBigError
from pliant_bench.stochastic import folded_cloth, gut, sliding_tori


def scenes(frames=12):
    return [sliding_tori(32, frames), folded_cloth(80, frames), gut(20, frames)]


def found_by(detector, x):
    state = State.at(x)
    return detector.update(state).find(state)


@pytest.mark.compiled
def test_after_ten_frames_nine_of_ten_regions_are_known_and_what_is_known_is_whole():
    for scene in scenes():
        exact = BvhDetector(*scene.sides, within=scene.within)
        pairs = ActivePairsDetector(*scene.sides, within=scene.within, fresh=64)
        told = [measured_recall(found_by(pairs, x), found_by(exact, x)) for x in scene.frames]
        last = told[10:]
        assert np.mean([r.regions for r in last]) >= 0.9, scene.name
        assert np.mean([r.contacts for r in last]) >= 0.9, scene.name
        assert max(r.extra for r in last) <= 1
        assert 0.5 < pairs.estimated_recall <= 1.0


@pytest.mark.compiled
def test_one_pair_in_a_region_is_enough_for_all_of_it():
    cloth = sheet(10, 1.0, 0.01)
    floor = sheet(7, 1.3)
    x = np.concatenate([cloth.vertices, floor.vertices])
    sides = Side(cloth, 0, 0), Side(floor, cloth.n_vertices, 1)
    wanted = found_by(BruteForceDetector(*sides, within=0.02), x)
    pairs = ActivePairsDetector(*sides, within=0.02, fresh=1)
    assert found_by(pairs, x).tobytes() == wanted.tobytes()
    assert pairs.regions == 1


@pytest.mark.compiled
def test_inside_a_closed_body_every_vertex_is_found_with_the_depth_that_brute_force_tells():
    body, cloth = octahedron(2), sheet(12, 3.0, 0.3)
    x = np.concatenate([cloth.vertices, body.vertices])
    sides = Side(cloth, 0, 0), Side(body, cloth.n_vertices, 1)
    wanted = found_by(BruteForceDetector(*sides, within=0.05), x)
    mine = found_by(ActivePairsDetector(*sides, within=0.05), x)
    deep = wanted[(wanted["kind"] == 0) & (wanted["bodies"][:, 0] == 0) & (wanted["distance"] < -0.05)]
    own = {int(c["elements"][0]): c["distance"] for c in mine if c["kind"] == 0 and c["bodies"][0] == 0}
    assert len(deep) > 20
    assert np.abs([own[int(c["elements"][0])] - c["distance"] for c in deep]).max() < 1e-12


@pytest.mark.compiled
def test_regions_are_kept_without_new_guesses_as_they_move():
    scene = sliding_tori(16, 8)
    exact = BvhDetector(*scene.sides, within=scene.within)
    pairs = ActivePairsDetector(*scene.sides, within=scene.within, fresh=400)
    found_by(pairs, scene.frames[0])
    pairs.fresh = 0
    slow = [scene.frames[0] + t * (scene.frames[1] - scene.frames[0]) for t in np.linspace(0.0, 1.0, 6)]
    for x in slow:
        assert measured_recall(found_by(pairs, x), found_by(exact, x)).regions == 1.0


@pytest.mark.compiled
def test_the_same_seed_gives_the_same_bits_on_one_and_two_threads_and_another_seed_other_guesses():
    before, told = jit.threads(), []
    scene = folded_cloth(40, 3)
    try:
        for threads, seed in ((1, 5), (2, 5), (2, 6)):
            jit.set_threads(threads)
            pairs = ActivePairsDetector(*scene.sides, within=scene.within, fresh=24, seed=seed)
            told.append(b"".join(found_by(pairs, x).tobytes() for x in scene.frames))
    finally:
        jit.set_threads(before)
    assert told[0] == told[1]
    assert told[0] != told[2]


@pytest.mark.compiled
def test_pairs_that_meet_become_one_and_far_ones_are_dropped():
    body = octahedron(3)
    x = np.concatenate([body.vertices, body.vertices + np.array([2.01, 0.0, 0.0])])
    sides = Side(body, 0, 0), Side(body, body.n_vertices, 1)
    near = ActivePairsDetector(*sides, within=0.02, fresh=200, spread=4)
    found_by(near, x)
    assert near.regions <= 3
    assert near.followed <= 6
    x[body.n_vertices :] += (5.0, 0.0, 0.0)
    apart = ActivePairsDetector(*sides, within=0.02, fresh=200)
    assert len(found_by(apart, x)) == 0
    assert apart.followed == 0


@pytest.mark.compiled
def test_a_pair_goes_downhill_to_where_no_neighbour_is_nearer(rng):
    body = octahedron(3)
    parts = [WeldedSide.of(Side(body, 0, 0)), WeldedSide.of(Side(body, body.n_vertices, 1))]
    x = np.concatenate([body.vertices, body.vertices + np.array([2.3, 0.1, 0.2])])
    levels = levels_of(parts, x)
    pairs = np.stack([rng.integers(0, body.n_vertices, 50), body.n_vertices + rng.integers(0, body.n_vertices, 50)], 1)
    pairs = pairs.astype(np.int32)
    apart = np.zeros(50)
    start = np.linalg.norm(x[pairs[:, 0]] - x[pairs[:, 1]], axis=1)
    descent.descend(levels.graphs, x, len(levels.graphs.start) - 1, 0, 0.0, 1000, pairs, apart)
    assert (apart <= start).all()
    assert np.allclose(apart, np.linalg.norm(x[pairs[:, 0]] - x[pairs[:, 1]], axis=1))
    ring = lambda v: levels.graphs.ring[levels.graphs.start[0, v] : levels.graphs.start[0, v + 1]]  # noqa: E731
    for (i, j), d in zip(pairs, apart):
        assert all(np.linalg.norm(x[k] - x[h]) >= d - 1e-12 for k in (i, *ring(i)) for h in (j, *ring(j)))


def test_coarse_levels_are_smaller_and_hang_together():
    ball = octahedron(4)
    levels = levels_of([WeldedSide.of(Side(ball))], ball.vertices)
    counts = [int((np.diff(start) > 0).sum()) for start in levels.graphs.start]
    assert counts[0] == ball.n_vertices
    assert all(b < 0.5 * a for a, b in itertools.pairwise(counts))
    assert counts[-1] == len(levels.coarse[0]) <= 256
    assert np.isfinite(levels.between).all()
    # across the ball along its surface is about half a great circle
    assert 3.0 < levels.between.max() < 4.5


@pytest.mark.compiled
def test_seams_are_no_borders():
    ball = octahedron(2)
    soup = type(ball)(ball.vertices[ball.faces].reshape(-1, 3), np.arange(3 * ball.n_faces).reshape(-1, 3))
    other = box((1.0, 1.0, 1.0), (1.3, 0.1, 0.05))
    x = np.concatenate([soup.vertices, other.vertices])
    sides = Side(soup, 0, 0), Side(other, soup.n_vertices, 1)
    wanted = found_by(BruteForceDetector(*sides, within=0.1), x)
    recall = measured_recall(found_by(ActivePairsDetector(*sides, within=0.1), x), wanted)
    assert len(wanted) > 20
    assert recall.contacts > 0.97


def cone(faces):
    """Its tip at the origin, its rim above."""
    angle = 2.0 * np.pi * np.arange(faces) / faces
    rim = np.stack([np.cos(angle), np.ones(faces), np.sin(angle)], 1)
    at = np.arange(faces)
    return Mesh(np.concatenate([np.zeros((1, 3)), rim]), np.stack([0 * at, 1 + (at + 1) % faces, 1 + at], 1))


@pytest.mark.compiled
def test_more_faces_around_two_tips_than_the_table_holds_make_it_grow():
    for faces, whole in ((60, False), (80, True)):
        tip = cone(faces)
        x = np.concatenate([tip.vertices, -tip.vertices - (0.0, 0.01, 0.0)])
        sides = Side(tip, 0, 0), Side(tip, tip.n_vertices, 1)
        pairs = ActivePairsDetector(*sides, within=0.02)
        # 60 x 60 nearly fill the table, and from 65 x 65 on there would be no end
        state, status, size = np.zeros(4, np.int64), np.zeros(1, np.int8), len(pairs._seen.keys)
        ends = np.array([[0, tip.n_vertices]], np.int32)
        assert size < faces**2 + BATCH * 2
        query = FacetQuery(pairs._whole.facets, x, False, 0.02, 0.02)
        flood(query, ends, 10**9, pairs._seen, 1, state, status)
        assert state[3] == 1
        assert state[1] <= size // 2 + BATCH
        if whole:
            wanted = found_by(BruteForceDetector(*sides, within=0.02), x)
            assert found_by(pairs, x).tobytes() == wanted.tobytes()
            assert len(pairs._seen.keys) > size


def test_a_mesh_of_too_many_pieces_is_refused_before_memory_is_taken():
    corners = np.repeat(np.arange(300.0), 3)[:, None] + np.tile(np.eye(3), (300, 1)) / 4.0
    soup = Mesh(corners, np.arange(900).reshape(-1, 3))
    with pytest.raises(TooBigError, match=r"300 coarse vertices .* limit .*; use the method bvh"):
        ActivePairsDetector(Side(soup), within=0.1, max_bytes=1e6)
    ActivePairsDetector(Side(soup), within=0.1, max_bytes=1e7)


def test_nothing_to_look_at_gives_nothing():
    lone = type(sheet(1))([[0.0, 0.0, 0.0]], np.zeros((0, 3), int))
    sides = Side(lone, 0, 0), Side(sheet(2), 1, 1)
    x = np.concatenate([lone.vertices, sheet(2).vertices + 1.0])
    pairs = ActivePairsDetector(*sides, within=0.1)
    assert len(found_by(pairs, x)) == 0
    assert np.isnan(pairs.estimated_recall)


def approaching(steps):
    """Two bumpy balls of 4 098 vertices, from a gap of a radius to a touch."""
    ball = octahedron(5)
    bumps = ball.vertices * (1.0 + 0.02 * np.sin(9.0 * ball.vertices).sum(1, keepdims=True))
    one, two = ball.moved(bumps), ball.moved(bumps[:, [1, 2, 0]])
    sides = Side(one, 0, 0), Side(two, one.n_vertices, 1)
    width = one.vertices[:, 0].max() - two.vertices[:, 0].min()
    gaps = np.linspace(0.9, -0.03, steps)
    return sides, [np.concatenate([one.vertices, two.vertices + np.array([width + gap, 0.0, 0.0])]) for gap in gaps]


@pytest.mark.compiled
def test_pairs_that_are_far_apart_are_tracked_on_coarse_levels_and_refined_until_they_touch():
    sides, frames = approaching(24)
    found, levels = {}, []
    for tracking in ("fine", "levels"):
        mine = ActivePairsDetector(*sides, within=0.01, seed=3, tracking=tracking)
        for k, x in enumerate(frames):
            state = State.at(x)
            hits = mine.update(state).find(state)
            mine._guess = lambda x: np.zeros((0, 2), np.int32)  # what is found after the first update was tracked
            if tracking == "levels":
                levels.append(int(mine.coarse.level.max(initial=0)))
            assert k or not len(hits)
        found[tracking] = len(hits)
    exact = found_by(BvhDetector(*sides, within=0.01), frames[-1])
    assert found["fine"] == 0
    assert found["levels"] >= 0.9 * len(exact) > 20
    assert levels[0] > levels[-2]


@pytest.mark.compiled
def test_tracking_on_levels_is_deterministic_and_starts_anew_after_a_reset():
    sides, frames = approaching(8)
    runs = []
    mine = ActivePairsDetector(*sides, within=0.01, seed=3, tracking="levels")
    for _ in range(2):
        runs.append(b"".join(found_by(mine, x).tobytes() for x in frames))
        mine.reset()
    assert runs[0] == runs[1]
    with pytest.raises(ValueError, match="tracking"):
        ActivePairsDetector(*sides, within=0.01, tracking="coarse")
