"""Loops over vertices and edges give the same bits by their serial form, on one thread and on two."""

import numpy as np
import pytest

from pliant.kernels import jit
from pliant.kernels.dynamics import damping, deformable, first_guess
from pliant.kernels.fields import edges as field_edges
from pliant.kernels.motion import skinning
from pliant.kernels.simulation import kinematics
from pliant.kernels.team import BATCHES, COUNTERS, fitting

SIZES = [1, 15, 1000, 5003]  # fewer vertices than parts, and no multiple of them
GRAVITY = (0.1, -9.81, 0.3)


def random_rows(n: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, 3))


def masses(n: int) -> np.ndarray:
    return np.where(np.arange(n) % 7 == 3, 0.0, 1.0 + np.arange(n) % 5)


def ring(n: int) -> np.ndarray:
    """Edges between neighbours, and between vertices far apart."""
    i = np.arange(n)
    return np.concatenate([np.column_stack([i, (i + 1) % n]), np.column_stack([i, (3 * i + 1) % n])]).astype(np.int32)


def advanced(form: str, n: int) -> list[np.ndarray]:
    x, start, v = (random_rows(n, seed) for seed in range(3))
    getattr(deformable, f"advance_{form}")(x, start, v, masses(n), GRAVITY, 0.01)
    return [x, start, v]


def finished(form: str, n: int) -> list[np.ndarray]:
    x, start, v = (random_rows(n, seed) for seed in range(3))
    x[n // 2, 1], x[0, 2] = np.nan, 1e9
    count = getattr(deformable, f"finish_{form}")(x, start, v, 0.01, 1e6)
    assert count == (1 if n == 1 else 2)
    assert np.array_equal(v, (x - start) / 0.01)
    return [x, v]


def reset(form: str, n: int) -> list[np.ndarray]:
    x, start = random_rows(n, 0), random_rows(n, 1)
    x[n - 1] = np.inf
    assert getattr(deformable, f"reset_lost_{form}")(x, start, 1e6) == 1
    assert np.array_equal(x[n - 1], start[n - 1])
    return [x]


def guessed(form: str, n: int) -> list[np.ndarray]:
    shift = first_guess.shift_rows if form == "serial" else first_guess.shift_rows_parallel
    x, after, out, rows = random_rows(n, 0), random_rows(n, 1), random_rows(n, 2), np.arange(0, n, 2)
    after[::3] = x[::3]
    count = getattr(first_guess, f"add_displacement_{form}")(x, after, masses(n), out)
    assert count == np.count_nonzero((masses(n) > 0.0) & (x != after).any(1))
    one, two = np.zeros((n, 3)), np.zeros((n, 3))
    getattr(first_guess, f"copy_to_both_{form}")(x, one, two)
    assert np.array_equal(one, x)
    assert np.array_equal(two, x)
    shift(rows, np.array(GRAVITY), x)
    return [x, out]


def moved(form: str, n: int) -> list[np.ndarray]:
    to, x, start, v = (random_rows(n, seed) for seed in range(4))
    getattr(kinematics, f"move_{form}")(to, 0.01, x, start, v)
    assert np.array_equal(x, to)
    return [x, start, v]


def collected(form: str, n: int) -> list[np.ndarray]:
    x, edges = random_rows(n, 0), ring(n)
    d = np.where(np.arange(n) % 4 == 1, np.nan, 2.0 * x[:, 0])
    out, middle = np.empty(len(edges), np.int64), np.empty((len(edges), 3))
    longest = getattr(field_edges, f"longest_{form}")(edges, x)
    reach = field_edges.Reach(0.1, 0.02, 0.05, longest)
    count = getattr(field_edges, f"in_reach_{form}")(edges, x, d, reach, out, middle)
    assert n == 1 or 0 < count < len(edges)
    return [np.array([longest]), out[:count], middle[:count]]


@pytest.mark.compiled
@pytest.mark.parametrize("run", [advanced, finished, reset, guessed, moved, collected])
@pytest.mark.parametrize("n", SIZES)
def test_both_forms_of_a_loop_give_the_same_bits_on_any_number_of_threads(run, n):
    results, before = [run("serial", n)], jit.threads()
    try:
        for threads in (1, 2):
            jit.set_threads(threads)
            results.append(run("parallel", n))
    finally:
        jit.set_threads(before)
    for result in results[1:]:
        assert all(np.array_equal(one, other) for one, other in zip(results[0], result, strict=True))


def predicted(threads: int, n: int, *, windy: bool, viscous: bool, alone: bool = False) -> np.ndarray:
    edges, x, v = ring(n), random_rows(n, 0), random_rows(n, 1)
    faces = np.column_stack([np.arange(n), (np.arange(n) + 1) % n, (np.arange(n) + 2) % n]).astype(np.int32)
    faces = faces if windy else faces[:0]
    counts = np.bincount(faces.ravel(), minlength=n)
    start = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    beside = np.argsort(faces.ravel(), kind="stable") // 3
    air = damping.Air(faces, np.ones(len(faces)), start, beside, np.zeros((len(faces), 3)))
    both = np.concatenate([edges, edges[:, ::-1]])
    both = both[np.argsort(both[:, 0], kind="stable")]
    starts = np.searchsorted(both[:, 0], np.arange(n + 1)).astype(np.int64)
    share = np.full(len(both) if viscous else 0, 0.05)
    viscosity = damping.Viscosity(starts, np.ascontiguousarray(both[:, 1].astype(np.int64)), share)
    moving = damping.Moving(x, np.zeros((n, 3)), v, v.copy(), masses(n))
    team = fitting(np.zeros((0, 0, COUNTERS), np.int64), damping.LOOPS, min(threads, BATCHES))
    if alone:
        run = damping.damp if threads > 1 else damping.damp.serial
        run(viscosity, air, moving, (3.0, 0.0, 1.0), 0.01, team)
        deformable.advance_serial(x, moving.x_start, v, moving.w, GRAVITY, 0.01)
    else:
        run = damping.damp_and_advance if threads > 1 else damping.damp_and_advance.serial
        run(viscosity, air, moving, (3.0, 0.0, 1.0), GRAVITY, 0.01, team)
    return np.concatenate([x, moving.x_start, v])


@pytest.mark.compiled
@pytest.mark.parametrize("windy", [True, False])
@pytest.mark.parametrize("viscous", [True, False])
def test_damping_air_drag_and_prediction_give_the_same_bits_on_any_number_of_threads(windy, viscous):
    before = jit.threads()
    try:
        jit.set_threads(2)
        one, two, many = (predicted(threads, 1003, windy=windy, viscous=viscous) for threads in (1, 2, 5))
        alone = [predicted(threads, 1003, windy=windy, viscous=viscous, alone=True) for threads in (1, 2)]
    finally:
        jit.set_threads(before)
    assert all(np.array_equal(one, other) for other in (two, many, *alone))
    fallen = random_rows(1003, 1) + 0.01 * np.where(masses(1003) > 0.0, 1.0, 0.0)[:, None] * np.array(GRAVITY)
    assert (np.abs(one[2006:] - fallen).max() > 1e-3) == (windy or viscous)


def test_skinning_by_vector_code_is_the_weighted_sum_of_the_bone_matrices():
    rng, n, bones = np.random.default_rng(0), 37, 5
    x, matrices, out = rng.normal(size=(n, 3)), rng.normal(size=(bones, 3, 4)), np.empty((n, 3))
    joints = rng.integers(0, bones, (n, 3)).astype(np.int32)
    weights = np.sort(rng.random((n, 3)), axis=1)[:, ::-1].copy()
    weights[::4, 1:] = 0.0
    skinning.skin(x, joints, weights, matrices, out)
    for i in range(n):
        total = np.zeros(3)
        for k in range(3):
            m = matrices[joints[i, k]]
            if weights[i, k] == 0.0:
                break
            total += weights[i, k] * (m[:, 0] * x[i, 0] + m[:, 1] * x[i, 1] + m[:, 2] * x[i, 2] + m[:, 3])
        assert np.array_equal(out[i], total)
