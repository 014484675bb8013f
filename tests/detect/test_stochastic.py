"""A tree walked by probability: the tree's answer at quality 1, ever more of it on the way, and on time."""

import numpy as np
import pytest

from detect.made import octahedron, rotation, sheet
from pliant import Mesh
from pliant.detect.base import Side
from pliant.detect.detectors.brute_force import BruteForceDetector
from pliant.detect.detectors.bvh import BvhDetector
from pliant.detect.detectors.stochastic import StochasticBvhDetector, measured_recall, regions_of
from pliant.detect.detectors.stochastic import bvh as walked
from pliant.detect.detectors.stochastic.records import Recorder
from pliant.detect.detectors.stochastic.sides import Closed
from pliant.kernels import jit
from pliant.kernels.detectors.stochastic import traversal as kernels
from pliant.kernels.detectors.stochastic.features import FacetQuery
from pliant.state import State
from pliant_bench.random_folds import NEAR, calibration, random_fold
from pliant_bench.stochastic import folded_cloth, gut, sliding_tori

QUALITIES = (0.0, 0.2, 0.5, 0.8, 0.95, 1.0)


def scenes():
    return [sliding_tori(16, 3), folded_cloth(40, 3), gut(14, 3)]


def found_by(detector, x):
    state = State.at(x)
    return detector.update(state).find(state)


def crumpled(rng):
    """A sheet thrown about so that it is through itself."""
    cloth = sheet(9, 1.0)
    return cloth, cloth.vertices * (1.0, 1.0, 0.15) + rng.normal(0.0, 0.08, cloth.vertices.shape)


@pytest.mark.compiled
def test_at_quality_one_the_records_are_those_of_the_tree_bit_for_bit():
    for scene in scenes():
        exact = BvhDetector(*scene.sides, within=scene.within)
        mine = StochasticBvhDetector(*scene.sides, within=scene.within)
        for x in scene.frames:
            wanted = found_by(exact, x)
            assert len(wanted) > 10
            assert found_by(mine, x).tobytes() == wanted.tobytes(), scene.name
            assert mine.estimated_recall == 1.0


@pytest.mark.compiled
def test_at_quality_one_it_is_brute_force_on_things_thrown_about(rng):
    for _ in range(4):
        cloth, x = crumpled(rng)
        ball = octahedron(1)
        y = 0.4 * ball.vertices @ rotation(rng).T + rng.normal(0.0, 0.2, 3)
        one, two = Side(cloth, 0, 0), Side(ball, cloth.n_vertices, 1)
        for sides, at in (([one], x), ([one, two], np.concatenate([x, y])), ([two, one], np.concatenate([x, y]))):
            within = float(rng.uniform(0.0, 0.05))
            wanted = found_by(BruteForceDetector(*sides, within=within), at)
            assert found_by(StochasticBvhDetector(*sides, within=within), at).tobytes() == wanted.tobytes()


@pytest.mark.compiled
def test_at_quality_one_isolated_vertices_are_found_as_by_the_tree(rng):
    ball = octahedron(1)
    loose = Mesh(np.concatenate([ball.vertices, rng.uniform(-1.5, 1.5, (40, 3))]), ball.faces)
    one, two = Side(loose, 0, 0), Side(loose, loose.n_vertices, 1)
    both = np.concatenate([loose.vertices, 0.8 * loose.vertices @ rotation(rng).T + (0.9, 0.2, 0.0)])
    for sides, x in (([one], loose.vertices), ([one, two], both), ([two, one], both)):
        wanted = found_by(BvhDetector(*sides, within=0.2), x)
        assert (wanted["vertices"][:, 0] % loose.n_vertices >= ball.n_vertices).sum() > 5
        assert found_by(StochasticBvhDetector(*sides, within=0.2), x).tobytes() == wanted.tobytes()


@pytest.mark.compiled
def test_recall_never_falls_as_quality_rises():
    for scene in scenes():
        exact = BvhDetector(*scene.sides, within=scene.within)
        truth = [found_by(exact, x).copy() for x in scene.frames]
        before = np.full(len(truth), -1.0)
        for quality in QUALITIES:
            mine = StochasticBvhDetector(*scene.sides, within=scene.within, quality=quality)
            recall = np.array([measured_recall(found_by(mine, x), t).contacts for x, t in zip(scene.frames, truth)])
            assert (recall >= before).all(), (scene.name, quality)
            before = recall
        assert (before == 1.0).all()


@pytest.mark.compiled
def test_most_is_found_before_half_of_the_pairs_of_leaves_are_tested():
    scene = folded_cloth(112, 1)
    truth = found_by(BvhDetector(*scene.sides, within=scene.within), scene.frames[0])
    some, all_of_it = (StochasticBvhDetector(*scene.sides, within=scene.within, quality=q) for q in (0.5, 1.0))
    found_by(all_of_it, scene.frames[0])
    recall = measured_recall(found_by(some, scene.frames[0]), truth).contacts
    assert recall > 0.5
    assert some.tested < 0.5 * all_of_it.tested


@pytest.mark.compiled
@pytest.mark.parametrize("quality", [0.3, 0.8])
def test_on_random_folds_the_true_recall_is_within_a_twentieth_of_the_estimate(quality):
    found = calibration([random_fold(seed) for seed in range(20)], quality)
    assert (np.abs(found[:, 1] - found[:, 0]) <= NEAR).mean() >= 0.9
    assert (found[:, 1] >= quality).all()
    assert found[:, 0].mean() < 0.5 * (1.0 + quality) + 0.1  # and it does not find all of them


@pytest.mark.compiled
def test_between_two_bodies_the_true_recall_is_near_the_estimate_too():
    scene = sliding_tori(48, 4)
    for x in scene.frames:
        mine = StochasticBvhDetector(*scene.sides, within=scene.within, quality=0.6)
        exact = found_by(BvhDetector(*scene.sides, within=scene.within), x)
        assert abs(measured_recall(found_by(mine, x), exact).contacts - mine.estimated_recall) < 0.1


@pytest.mark.compiled
@pytest.mark.parametrize("quality", [0.4, 1.0])
def test_the_same_input_gives_the_same_bits_on_one_and_two_threads_whatever_was_asked_before(quality):
    before, told = jit.threads(), []
    scene = sliding_tori(16, 3)
    try:
        for threads in (1, 2):
            jit.set_threads(threads)
            mine = StochasticBvhDetector(*scene.sides, within=scene.within, quality=quality)
            told.append(found_by(mine, scene.frames[2]).tobytes())
            found_by(mine, scene.frames[0])
            told.append(found_by(mine, scene.frames[2]).tobytes())
    finally:
        jit.set_threads(before)
    assert len(set(told)) == 1


class CountedWork:
    """A clock of the work that a detector with a time budget does: each part of it has a cost, which varies by 10 %."""

    def __init__(self, monkeypatch, refit_ms, test_ns, record_us, fixed_ms):
        self.seconds, self.rng = 0.0, np.random.default_rng(5)
        advance, refit, make, distances = kernels.advance, walked.refit, Recorder.make, Closed.distances

        def advance_and_count(a, b, query, quality, work, traversal):
            before = traversal.progress[[kernels.TESTS, kernels.FOUND]].copy()
            advance(a, b, query, quality, work, traversal)
            tests, found = traversal.progress[[kernels.TESTS, kernels.FOUND]] - before
            self.spend(1e-9 * test_ns * tests + 1e-7 * found)

        def refit_and_count(*given):
            refit(*given)
            self.spend(1e-3 * refit_ms)

        def make_and_count(recorder, state, found, *given):
            self.spend(1e-3 * fixed_ms)
            made = make(recorder, state, found, *given)
            self.spend(1e-6 * record_us * len(found))
            return made

        def distances_and_count(closed, points, faces):
            self.spend(1e-4 + 2e-7 * len(points))
            return distances(closed, points, faces)

        monkeypatch.setattr(kernels, "advance", advance_and_count)
        monkeypatch.setattr(walked, "refit", refit_and_count)
        monkeypatch.setattr(Recorder, "make", make_and_count)
        monkeypatch.setattr(Closed, "distances", distances_and_count)

    def spend(self, seconds):
        self.seconds += seconds * (1.0 + 0.1 * self.rng.uniform(-1.0, 1.0))

    def __call__(self):
        return self.seconds


@pytest.mark.compiled
@pytest.mark.parametrize(("record_us", "fixed_ms"), [(0.2, 0.1), (1.0, 1.0), (2.0, 0.0)])
@pytest.mark.parametrize("make", [sliding_tori, folded_cloth, gut])
def test_a_budget_is_kept_within_a_tenth_from_the_first_frame_on(make, record_us, fixed_ms, monkeypatch):
    clock, scene = CountedWork(monkeypatch, 0.5, 100.0, record_us, fixed_ms), make(40, 20)
    mine = StochasticBvhDetector(*scene.sides, within=2.0 * scene.within, budget_ms=4.0, clock=clock)
    spent, unfinished = [], []
    for x in 2 * list(scene.frames):
        began = clock.seconds
        found_by(mine, x)
        spent.append(1e3 * (clock.seconds - began))
        unfinished.append(mine.estimated_recall < 1.0)
    spent, unfinished = np.array(spent), np.array(unfinished)
    assert np.median(spent) <= 4.0
    assert spent.max() <= 4.4
    assert unfinished.any()
    assert np.median(spent[unfinished][-10:]) > 3.5, "what is there is used"


@pytest.mark.compiled
def test_a_budget_of_tests_gives_equal_bits_whatever_the_machine_and_the_threads():
    before, told, scene = jit.threads(), [], folded_cloth(64, 3)
    options = {"within": scene.within, "budget_tests": 60_000}
    try:
        for threads in (1, 2):
            jit.set_threads(threads)
            mine = StochasticBvhDetector(*scene.sides, **options)
            told.append(found_by(mine, scene.frames[2]).tobytes())
            assert 60_000 <= mine.n_tests < 60_000 + 200, "the pair of nodes that is open is finished"
            found_by(mine, scene.frames[0])
            mine._queue = walked._queue(kernels.OPENED)  # which must grow, and changes nothing
            told.append(found_by(mine, scene.frames[2]).tobytes())
    finally:
        jit.set_threads(before)
    assert len(set(told)) == 1
    assert mine.estimated_recall < 1.0
    all_of_it = found_by(StochasticBvhDetector(*scene.sides, within=scene.within), scene.frames[2])
    assert 0 < len(found_by(mine, scene.frames[2])) < len(all_of_it)
    plenty = StochasticBvhDetector(*scene.sides, within=scene.within, budget_tests=2 * 10**9)
    assert len(found_by(plenty, scene.frames[2])) == len(all_of_it)
    assert plenty.estimated_recall == 1.0


@pytest.mark.compiled
def test_what_is_found_early_has_the_sides_and_depths_of_the_exact_records():
    scene = sliding_tori(20, 2)
    exact = found_by(BvhDetector(*scene.sides, within=scene.within), scene.frames[1])
    mine = found_by(StochasticBvhDetector(*scene.sides, within=scene.within, quality=0.97), scene.frames[1])
    key = lambda c: (c["kind"], *c["bodies"], *c["elements"])  # noqa: E731
    known = {key(c): c for c in exact}
    shared = [(c, known[key(c)]) for c in mine if key(c) in known]
    assert len(shared) > 0.9 * len(exact) > 20
    wrong = sum(np.sign(a["distance"]) != np.sign(b["distance"]) for a, b in shared)
    assert (exact["distance"] < 0.0).sum() > 10
    assert wrong <= 0.02 * len(shared)


def test_the_queue_gives_the_most_likely_first_and_of_equals_the_latest(rng):
    queue = kernels.Queue(np.empty(64, np.int64), np.empty((64, 2), np.int32), np.empty(64))
    chance = rng.integers(0, 6, 60) / 6
    for k, p in enumerate(chance):
        kernels.push(queue, k, k, k, 2 * k, p, float(k))
    order = []
    for size in range(60, 0, -1):
        i, j = queue.pair[0]
        assert (j, queue.expected[0]) == (2 * i, i)
        order.append(int(i))
        kernels.pop(queue, size)
    assert order == sorted(range(60), key=lambda k: (-chance[k], -k))


def test_regions_are_what_hangs_together():
    flat = sheet(6, 1.0)
    x = np.concatenate([flat.vertices + np.array([0.0, 0.01, 0.0]), flat.vertices])
    far = np.abs(flat.vertices[:, 0]) < 0.2
    x[: flat.n_vertices][far, 1] += 1.0
    hits = found_by(BruteForceDetector(Side(flat, 0, 0), Side(flat, flat.n_vertices, 1), within=0.02), x)
    regions = regions_of(hits)
    left = x[hits["vertices"][:, 0], 0] < 0.0
    assert len(np.unique(regions)) == 2
    assert (regions[left] == regions[0]).all() == left[0]
    half = hits[regions == 0]
    recall = measured_recall(half, hits)
    assert (recall.regions, recall.n_regions, recall.extra) == (0.5, 2, 0)
    assert recall.contacts == len(half) / len(hits)


@pytest.mark.compiled
def test_a_node_of_eight_that_is_opened_with_itself_stays_within_the_queue():
    cloth = sheet(16)
    mine = StochasticBvhDetector(Side(cloth), within=2.0, arity=8)
    room = kernels.Queue(np.full(64, -7), np.full((64, 2), -7, np.int32), np.full(64, -7.0))
    x, progress, expected = State.at(cloth.vertices).x, np.array([1, 1, 0, 0, 0, 0, 1]), np.ones(2)
    for size in (20, 35):
        queue = kernels.Queue(*(part[:size] for part in room))
        kernels.push(queue, 0, 0, 0, 0, 1.0, 1.0)
        bvh, query = mine._bvhs[0], FacetQuery(mine._whole.facets, x, True, 2.0, 2.0)
        traversal = kernels.Traversal(queue, progress, expected, mine._batch, mine._out)
        kernels.advance(bvh, bvh, query, 1.0, 1, traversal)
        assert progress[kernels.SIZE] == 1
        assert progress[kernels.STATUS] == kernels.FULL, "more room is asked for"
        assert all((part[size:] == -7).all() for part in room)
    mine._queue = kernels.Queue(*(part[:20].copy() for part in room))
    mine._grow(1, 0)
    assert len(mine._queue.key) >= 40


@pytest.mark.compiled
def test_what_was_reached_when_time_is_up_is_told(monkeypatch):
    """The time is up when the queue is empty but the last leaves wait."""
    flat = sheet(2)
    sides = Side(flat, 0, 0), Side(flat, flat.n_vertices, 1)
    x = np.concatenate([flat.vertices, flat.vertices + np.array([0.0, 0.01, 0.0])])
    mine = StochasticBvhDetector(*sides, within=0.02, budget_tests=1)
    wanted = found_by(BruteForceDetector(*sides, within=0.02), x)
    assert len(wanted) > 10
    assert len(found_by(mine, x)) == len(wanted)
    assert mine.estimated_recall == 1.0
    late = StochasticBvhDetector(*sides, within=0.02, budget_ms=1.0, clock=map(float, range(10**9)).__next__)
    assert len(found_by(late, x)) == 0, "a step that begins too late searches for nothing"
    assert late.estimated_recall < 1.0


@pytest.mark.parametrize("option", ["volume", "leaf"])
def test_options_of_other_trees_are_refused_by_name(option):
    with pytest.raises(TypeError, match=f"'{option}'"):
        StochasticBvhDetector(Side(sheet(2)), within=0.1, **{option: "sphere"})
    with pytest.raises(ValueError, match="arity = 3"):
        StochasticBvhDetector(Side(sheet(2)), within=0.1, arity=3)


def test_bad_dials_are_named():
    one = Side(sheet(2))
    with pytest.raises(ValueError, match="quality"):
        StochasticBvhDetector(one, within=0.1, quality=1.5)
    with pytest.raises(ValueError, match="budget_ms"):
        StochasticBvhDetector(one, within=0.1, budget_ms=0.0)
    with pytest.raises(ValueError, match="budget_tests"):
        StochasticBvhDetector(one, within=0.1, budget_tests=-1)


@pytest.mark.long
def test_four_milliseconds_are_kept_within_a_tenth_on_100_000_triangles():
    from pliant_bench.stochastic import budget_table

    for scene in (sliding_tori(), folded_cloth(), gut()):
        assert scene.triangles > 99_000
        tried = []  # whoever else uses the machine's cache makes even processor time longer: the best of some counts
        while len(tried) < 8 and min(tried, default=9.0) > 4.4:
            (row,) = budget_table([scene], budget_ms=4.0, frames=200, progress=print).rows
            assert row["median"] <= 4.0
            tried.append(row["most"])
        assert min(tried) <= 4.4, tried
