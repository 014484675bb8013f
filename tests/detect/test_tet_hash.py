"""Vertices in tetrahedra by hashed cells are those of brute force, on scenes made to break cells (G4, 3.7)."""

import numpy as np
import pytest

import naive
from conftest import SEED, cases
from pliant.detect.tet_hash import CELL, TetHash, cell_of
from pliant.kernels.tetra import point_in_tetra

FAR = np.array([148376.0, 1234.0, -223423.0])


def soup(x):
    """(k,4,3) corners as tets of their own."""
    return x.reshape(-1, 3), np.arange(x.size // 3).reshape(-1, 4)


def scattered(rng, n):
    return soup(rng.normal(size=(n, 1, 3)) + 0.6 * rng.normal(size=(n, 4, 3)))


def block(rng, n):
    """Tets that share corners: a row of boxes, five in each, shaken until some are inside out."""
    boxes = max(n // 5, 1)
    x = np.stack(np.meshgrid(np.arange(boxes + 1.0), [0, 1.0], [0, 1.0], indexing="ij"), -1).reshape(-1, 3)
    five = np.array([[0, 4, 2, 1], [6, 2, 4, 7], [5, 4, 1, 7], [3, 1, 2, 7], [4, 2, 1, 7]])
    tets = np.concatenate([five + 4 * k for k in range(boxes)])
    return x + 0.4 * rng.normal(size=x.shape), tets


def on_borders(rng, n):
    return soup(rng.integers(-4, 5, (n, 4, 3)) / 10.0)


def shared_on_borders(rng, n):
    """Vertices that many tets share, at whole multiples of the cell, some of them not of any tet."""
    x = rng.integers(-3, 4, (n, 3)) * 0.1
    return x, rng.integers(0, max(n - 2, 1), (n, 4))


def negative(rng, n):
    x, tets = scattered(rng, n)
    return x - 10.0, tets


def around_zero(rng, n):
    x = rng.choice([0.0, -0.0, 1e-17, -1e-17, 0.1, -0.1, 0.3, 0.6, 5e-324], (2 * n, 3))
    return x, rng.integers(0, 2 * n, (n, 4))


def flat(rng, n):
    x, tets = scattered(rng, n)
    x[:, int(rng.integers(3))] = 0.25
    x[rng.integers(0, len(x), n // 2)] = x[0]
    return x, tets


def lines_and_points(rng, n):
    place = rng.integers(-1, 2, (n, 1, 3)) * 0.5
    line = rng.normal(size=(n, 1, 3)) * rng.integers(0, 2, (n, 1, 1)) * rng.integers(-1, 2, (n, 4, 1))
    return soup(place + line)


def identical(rng, n):
    return soup(np.repeat(rng.normal(size=(1, 4, 3)), min(n, 12), 0))


def huge_and_tiny(rng, n):
    middle = rng.normal(size=(n, 1, 3))
    middle[n // 2 :] = 0.0
    x = middle + 1e-6 * rng.normal(size=(n, 4, 3))
    x[:2] = 3.0 * rng.normal(size=(2, 4, 3))
    return soup(x)


def far(rng, n):
    x, tets = scattered(rng, n)
    return x + FAR, tets


def far_apart(rng, n):
    """Heaps so far from each other that no numbers of cells of 20 bits reach across."""
    heaps = 10.0 ** rng.uniform(5, 11.5, (3, 3)) * rng.choice([-1, 1], (3, 3))
    x = rng.normal(size=(n, 1, 3)) + 0.6 * rng.normal(size=(n, 4, 3))
    return soup(x + heaps[rng.integers(0, 3, n)][:, None])


def tiny(rng, n):
    x, tets = scattered(rng, n)
    return x * 10.0 ** rng.integers(-160, -20), tets


def split(rng, n):
    """Every vertex twice, at the same place: a corner's twin touches."""
    x, tets = block(rng, n)
    return np.concatenate([x, x]), np.concatenate([tets, tets[: n // 2] + len(x)])


def few(rng, n):
    x, tets = scattered(rng, int(rng.integers(1, 4)))
    return (x, tets[:0]) if rng.integers(2) else (x, tets)


SCENES = [scattered, block, on_borders, shared_on_borders, negative, around_zero, flat, lines_and_points, identical] + [
    huge_and_tiny,
    far,
    far_apart,
    tiny,
    split,
    few,
]


def brute(x, tets):
    """(k,2) the definition; a vertex outside the box is outside."""
    low, high = x[tets].min(1), x[tets].max(1)
    own = (tets[None] == np.arange(len(x))[:, None, None]).any(2)
    near = ((x[:, None] >= low) & (x[:, None] <= high)).all(2) & ~own
    points = naive.tuples(x)
    corners = [[points[i] for i in row] for row in tets.tolist()]
    found = [(v, t) for v, t in np.argwhere(near).tolist() if point_in_tetra(points[v], *corners[t])]
    return np.array(found, np.int64).reshape(-1, 2)


def check_scene(case):
    rng = np.random.default_rng([SEED, case])
    scene = SCENES[case % len(SCENES)]
    x, tets = scene(rng, int(rng.integers(5, 15)))
    size = cell_of(x, tets) / CELL
    given = [None, 0.1, 0.1 * size, 10.0 * size, size * 10.0 ** rng.uniform(-1.0, 1.0)][case // len(SCENES) % 5]
    found = TetHash(x, tets, cell=given)
    np.testing.assert_array_equal(found.pairs(), brute(x, tets))
    y = x[rng.permutation(len(x))]
    np.testing.assert_array_equal(found.update(y).pairs(), brute(y, tets))
    fewer = tets[rng.random(len(tets)) < 0.7]
    np.testing.assert_array_equal(found.set_tets(x, fewer).pairs(), brute(x, fewer))


def run_scenes(numbers):
    for case in numbers:
        try:
            check_scene(case)
        except AssertionError as error:
            scene = SCENES[case % len(SCENES)].__name__
            raise AssertionError(f"scene {case} ({scene}) of PLIANT_SEED={SEED}: {error}") from error


def test_pairs_are_those_of_brute_force():
    run_scenes(range(cases(1000)))


@pytest.mark.long
def test_pairs_are_those_of_brute_force_on_20000_scenes():
    run_scenes(range(1000, 1000 + cases(20000)))
