"""First times of contact: the exact-truth sets and their symmetry copies, contacts built exactly, degenerate cases."""

import itertools
import json
import time as clock

import numpy as np
import pytest

import ccd_sets
from conftest import cases
from pliant.geometry import edge_edge_distance, edge_edge_impact, point_triangle_distance, vertex_face_impact
from pliant.kernels.geometry.impact import EDGES, FACE, first_touch, impacts
from pliant.kernels.jit import COMPILED

IMPACT = {"vertex-face": vertex_face_impact, "edge-edge": edge_edge_impact}
DISTANCE = {"vertex-face": point_triangle_distance, "edge-edge": edge_edge_distance}
KINDS = list(ccd_sets.KINDS)
COPIES = list(itertools.product(itertools.permutations(range(3)), itertools.product((1.0, -1.0), repeat=3)))
FAR = np.array([148376.0, 1234.0, -223423.0])
EVERY = 1 if COMPILED else 25
MANY = [5000, pytest.param(100_000, marks=pytest.mark.long)]


def queries(data, kind):
    return ccd_sets.queries(data, kind, EVERY)


def pairs(data, name, kind):
    return ccd_sets.pairs(data, name, kind, None if COMPILED else 40)


def built(rng, kind, count, exact=0):
    """(p_0, p_1, time): queries that touch at a chosen time; `exact`: whole numbers up to it, so no bit is lost."""
    if exact:
        x_0, x_1 = rng.integers(-exact, exact + 1, (2, count, 4, 3)).astype(float)
        x_0[::3, :, 2], x_1[::3, :, 2] = 0.0, 0.0
        moves = rng.random(count)
        x_1[moves < 0.4, 1:] = x_0[moves < 0.4, 1:]
        x_1[moves < 0.1] = x_0[moves < 0.1]
        t, u, v = rng.integers(0, 9, (3, count)) / 8.0
    else:
        x_0, x_1 = rng.normal(size=(2, count, 4, 3))
        t, u, v = rng.uniform(0.02, 0.98, (3, count))
    u, v, s = u[:, None], v[:, None], t[:, None]
    if kind == "vertex-face":
        v = np.where(u + v > 1.0, 1.0 - u, v)
    x = (1.0 - s)[:, None] * x_0 + s[:, None] * x_1
    if kind == "vertex-face":
        off = x[:, 0] - (x[:, 1] + u * (x[:, 2] - x[:, 1]) + v * (x[:, 3] - x[:, 1]))
        moved = [0]
    else:
        off = x[:, 0] + u * (x[:, 1] - x[:, 0]) - x[:, 2] - v * (x[:, 3] - x[:, 2])
        moved = [0, 1]
    x_0[:, moved] -= off[:, None]
    x_1[:, moved] -= off[:, None]
    return x_0, x_1, t


def check_copy(data, kind, copy):
    order, signs = COPIES[copy]
    p_0, p_1, truth = queries(data, kind)
    before = clock.process_time()
    hit, _ = IMPACT[kind](p_0[..., order] * signs, p_1[..., order] * signs)
    each = 1e6 * (clock.process_time() - before) / len(hit)
    print(f"{kind}, copy {copy}: {(hit & ~truth).sum()} false positives of {(~truth).sum()}, {each:.1f} us a query")
    assert not np.flatnonzero(truth & ~hit).size


@pytest.mark.parametrize("copy", [0, 13, 22, 47])
@pytest.mark.parametrize("kind", KINDS)
def test_no_contact_of_the_exact_set_is_missed(data, kind, copy):
    check_copy(data, kind, copy)


@pytest.mark.long
@pytest.mark.parametrize("copy", range(48))
@pytest.mark.parametrize("kind", KINDS)
def test_no_contact_of_any_symmetry_copy_is_missed(data, kind, copy):
    check_copy(data, kind, copy)


@pytest.mark.parametrize("kind", KINDS)
def test_no_contact_is_missed_when_time_runs_backwards_or_corners_change_places_or_all_is_scaled(data, kind):
    p_0, p_1, truth = queries(data, kind)
    places = [[0, 3, 1, 2], [0, 2, 1, 3]] if kind == "vertex-face" else [[2, 3, 0, 1], [1, 0, 2, 3]]
    answers = [IMPACT[kind](p_1, p_0)[0]] + [IMPACT[kind](p_0[:, p], p_1[:, p])[0] for p in places]
    answers += [IMPACT[kind](k * p_0, k * p_1)[0] for k in (2.0**-20, 2.0**20)]
    assert all(hit[truth].all() for hit in answers)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ccd_sets.FRAMES)
def test_no_contact_between_two_frames_is_missed(data, name, kind):
    p_0, p_1, truth = pairs(data, name, kind)
    before = clock.process_time()
    hit, _ = IMPACT[kind](p_0, p_1)
    each = 1e6 * (clock.process_time() - before) / len(hit)
    print(
        f"{name}, {kind}: {(hit & ~truth).sum()} false positives, {truth.sum()} of {len(hit)} hit, {each:.2f} us each"
    )
    assert hit[truth].all()


@pytest.mark.parametrize("exact", [3, 2**24])
@pytest.mark.parametrize("kind", KINDS)
def test_contacts_built_from_whole_numbers_are_found_and_never_late(rng, kind, exact):
    p_0, p_1, true = built(rng, kind, cases(10_000 if COMPILED else 60), exact)
    hit, time = IMPACT[kind](p_0, p_1)
    wrong = np.flatnonzero(~hit | (time > true))
    assert not wrong.size, (p_0[wrong[0]], p_1[wrong[0]], true[wrong[0]], time[wrong[0]])


@pytest.mark.parametrize("count", MANY)
@pytest.mark.parametrize("kind", KINDS)
def test_the_time_of_a_random_impact_is_within_a_fifth_below_the_true_one(rng, kind, count):
    p_0, p_1, true = built(rng, kind, cases(count if COMPILED else 60))
    hit, time = IMPACT[kind](p_0, p_1)
    # there may be an earlier contact than the one built; among random ones the cubic finds it
    earlier, root = IMPACT[kind](p_0, p_1, method="cubic", tolerance=1e-9)
    true = np.where(earlier, np.minimum(true, root), true)
    assert hit.all()
    assert (time <= true).all()
    assert (time >= 0.8 * true).all()


@pytest.mark.parametrize("count", MANY)
@pytest.mark.parametrize("kind", KINDS)
def test_features_taken_to_the_time_found_are_still_apart(rng, kind, count):
    p_0, p_1, _ = built(rng, kind, cases(count if COMPILED else 40))
    p_0, p_1 = p_0 + FAR, p_1 + FAR
    _, time = IMPACT[kind](p_0, p_1)
    x = p_0 + time[:, None, None] * (p_1 - p_0)
    assert (DISTANCE[kind](x) > 0.0).all()
    assert not IMPACT[kind](x, x)[0].any()


def test_degenerate_cases_are_found_in_time(data):
    late, missed, unseen = [], [], []
    for case in json.loads((data / "degenerate_ccd.json").read_text()):
        q, kind = np.array([case["q"]]), "vertex-face" if case["kind"] == "ccd_vf" else "edge-edge"
        hit, time = IMPACT[kind](q[:, :4], q[:, 4:])
        if case["hit"] and not hit[0]:
            missed.append(case["name"])
        if case["toi"] is not None and not 0.8 * case["toi"] <= time[0] <= case["toi"]:
            late.append((case["name"], time[0], case["toi"]))
        if case["hit"] and not IMPACT[kind](q[:, :4], q[:, 4:], method="cubic")[0][0]:
            unseen.append(case["name"])
    print("the cubic misses:", unseen)
    assert (missed, late) == ([], [])


@pytest.mark.parametrize("off", [-1.0, 0.0, 1.0])
def test_a_vertex_is_told_from_the_edge_of_a_still_face_to_the_last_bit(off):
    p_0 = np.array([[(0.5, 0.5, 1.0), (0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)]])
    p_0[0, 0, 0] = np.nextafter(0.5, 0.5 + off)
    p_1 = p_0.copy()
    p_1[0, 0, 2] = -1.0
    assert vertex_face_impact(p_0, p_1)[0][0] == (off <= 0.0)


def test_time_is_zero_only_where_the_features_touch_at_the_start(data):
    for kind in KINDS:
        p_0, p_1, _ = queries(data, kind)
        start = DISTANCE[kind](p_0)
        assert (start[IMPACT[kind](p_0, p_1)[1] == 0.0] <= 1e-12).all()


@pytest.mark.parametrize("kind", KINDS)
def test_features_that_stay_apart_are_free(rng, kind):
    p = rng.normal(size=(cases(2000 if COMPILED else 40), 4, 3))
    far = DISTANCE[kind](p) > 1e-4
    step = rng.normal(size=(len(p), 1, 3))
    moved = p + step
    hit, time = IMPACT[kind](p[far], moved[far])
    assert not hit.any()
    assert (time == 1.0).all()


@pytest.mark.parametrize("power", [-20, 20])
@pytest.mark.parametrize("kind", KINDS)
def test_a_scene_of_any_size_has_the_same_times_to_the_bit(rng, kind, power):
    p_0, p_1, _ = built(rng, kind, cases(1000 if COMPILED else 20))
    k = 2.0**power
    assert np.array_equal(IMPACT[kind](p_0, p_1)[1], IMPACT[kind](k * p_0, k * p_1)[1])


def touch(kind, p_0, p_1, until):
    start, end = (tuple(tuple(map(float, x)) for x in p) for p in (p_0, p_1))
    return first_touch(start, end, FACE if kind == "vertex-face" else EDGES, until, 1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_a_time_below_the_bound_does_not_depend_on_the_bound(data, rng, kind):
    hard, random = queries(data, kind)[:2], built(rng, kind, 500 if COMPILED else 20)[:2]
    wrong = []
    for p_0, p_1 in zip(*(np.concatenate(pair) for pair in zip(hard, random))):
        time = touch(kind, p_0, p_1, np.inf)
        for until in (0.999 * time, time, np.nextafter(time, 2.0), 1.001 * time, 0.5, 1.0):
            if until > 0.0 and touch(kind, p_0, p_1, until) != (time if time < until else np.inf):
                wrong.append((p_0, p_1, until))
    assert not wrong


@pytest.mark.compiled
@pytest.mark.parametrize("kind", KINDS)
def test_the_least_time_of_many_queries_does_not_depend_on_their_order(data, rng, kind):
    p_0, p_1, _ = built(rng, kind, 1000)
    least = []
    for order in (np.arange(len(p_0)), np.arange(len(p_0))[::-1], rng.permutation(len(p_0))):
        until = np.inf
        for i in order:
            until = min(until, touch(kind, p_0[i], p_1[i], until))
        least.append(until)
    assert least == [IMPACT[kind](p_0, p_1)[1].min()] * 3


@pytest.mark.compiled
@pytest.mark.parametrize("kind", KINDS)
def test_one_thread_and_many_give_the_same_bits(rng, kind):
    p_0, p_1, _ = built(rng, kind, 5000)
    hit, time = np.empty(len(p_0), bool), np.empty(len(p_0))
    impacts.serial(p_0, p_1, kind == "vertex-face", 1e-6, hit, time)
    many = IMPACT[kind](p_0, p_1)
    assert (hit.tobytes(), time.tobytes()) == (many[0].tobytes(), many[1].tobytes())


@pytest.mark.compiled
@pytest.mark.parametrize("kind", KINDS)
def test_no_query_takes_more_than_50_ms_even_without_a_tolerance(data, rng, kind):
    hard = queries(data, kind)[:2]
    flat = built(rng, kind, 1000, exact=3)[:2]
    worst = 0.0
    for p_0, p_1 in (hard, flat):
        for i in range(len(p_0)):
            before = clock.process_time()
            IMPACT[kind](p_0[i : i + 1], p_1[i : i + 1], tolerance=0.0)
            worst = max(worst, clock.process_time() - before)
    print(f"{kind}: worst query {1e3 * worst:.2f} ms")
    assert worst < 0.05


@pytest.mark.parametrize("kind", KINDS)
def test_the_cubic_finds_plain_crossings_and_prints_what_it_misses(data, rng, kind):
    p_0, p_1, truth = queries(data, kind)
    hit, _ = IMPACT[kind](p_0, p_1, method="cubic")
    print(f"{kind}, cubic: {(truth & ~hit).sum()} missed of {truth.sum()}, {(hit & ~truth).sum()} false positives")
    p_0, p_1, true = built(rng, kind, 40)
    hit, time = IMPACT[kind](p_0, p_1, method="cubic")
    assert hit.all()
    assert (time <= true + 1e-9).all()


@pytest.mark.long
@pytest.mark.compiled
@pytest.mark.parametrize("name", ["hard", "cloth-funnel", "armadillo-rollers"])
@pytest.mark.parametrize("kind", KINDS)
def test_there_are_no_more_false_positives_than_of_tight_inclusion(data, kind, name):
    ipctk = pytest.importorskip("ipctk", reason="needs `pip install ipctk`")
    p_0, p_1, truth = queries(data, kind) if name == "hard" else pairs(data, name, kind)
    # tolerance, most iterations, no rescaling of the time
    solvers = {
        "tight inclusion": ipctk.TightInclusionCCD(1e-6, 1_000_000, 1.0),
        "additive": ipctk.AdditiveCCD(1_000_000, 0.9),
    }
    false = {}
    for solver, of in solvers.items():
        ask = of.point_triangle_ccd if kind == "vertex-face" else of.edge_edge_ccd
        hits, seconds = np.empty(len(truth), bool), np.empty(len(truth))
        for i in range(len(truth)):
            before = clock.process_time()
            hits[i] = ask(*p_0[i], *p_1[i])[0]
            seconds[i] = clock.process_time() - before
        false[solver] = (hits & ~truth).sum()
        print(
            f"{name}, {kind}, {solver}: {(truth & ~hits).sum()} missed, {false[solver]} false positives, "
            f"{1e6 * seconds.mean():.1f} us each, worst {1e3 * seconds.max():.1f} ms"
        )
    ours = IMPACT[kind](p_0, p_1)[0]
    print(f"{name}, {kind}, pliant: {(truth & ~ours).sum()} missed, {(ours & ~truth).sum()} false positives")
    assert (ours & ~truth).sum() <= false["tight inclusion"]
