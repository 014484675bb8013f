"""Vertices in tetrahedra by hashed cells are those of brute force, on scenes made to break cells (G4, 3.7)."""

import numpy as np
import pytest

import naive
from conftest import SEED, cases
from pliant.detect.queries.tet_hash import CELL, TetHash, cell_of, quantise
from pliant.kernels import jit
from pliant.kernels.geometry.tetra import point_in_tetra
from pliant.kernels.queries.tet_hash_cells import bucket_of_cell

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


SCENES = [
    *(scattered, block, on_borders, shared_on_borders, negative, around_zero, flat, lines_and_points, identical),
    *(huge_and_tiny, far, far_apart, tiny, split, few),
]


def brute(x, tets):
    """(k,2) the definition, in fractions; a vertex outside the box is outside, a flat tet has no inside."""
    low, high = x[tets].min(1), x[tets].max(1)
    own = (tets[None] == np.arange(len(x))[:, None, None]).any(2)
    near = ((x[:, None] >= low) & (x[:, None] <= high)).all(2) & ~own
    points = naive.tuples(x)
    corners = [[points[i] for i in row] for row in tets.tolist()]
    whole = [naive.orient3d(*row) != 0 for row in corners]
    found = [(v, t) for v, t in np.argwhere(near).tolist() if whole[t] and point_in_tetra(points[v], *corners[t])]
    return np.array(found, np.int64).reshape(-1, 2)


def check_scene(case):
    rng = np.random.default_rng([SEED, case])
    scene = SCENES[case % len(SCENES)]
    x, tets = scene(rng, int(rng.integers(5, 15)))
    size = cell_of(x, tets) / CELL
    given = [None, 0.1, 0.1 * size, 10.0 * size, size * 10.0 ** rng.uniform(-1.0, 1.0)][case // len(SCENES) % 5]
    options = [{}, {"hash": "xor"}, {"table": 2 ** (case % 8)}, {"hash": "xor", "table": case % 97 + 1}][case % 4]
    found = TetHash(x, tets, cell=given, **options)
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
    run_scenes(range(cases(1000 if jit.COMPILED else 45)))


@pytest.mark.long
def test_pairs_are_those_of_brute_force_on_20000_scenes():
    run_scenes(range(1000, 1000 + cases(20000)))


def lattice(n, cell):
    """Vertices on all borders of n^3 cells, and a tet over some of them."""
    x = np.stack(np.meshgrid(*[np.arange(-n, n + 1)] * 3, indexing="ij"), -1).reshape(-1, 3) * cell
    corners = np.array([[-n, -n, -n], [n, -n, -n], [-n, n, -n], [-n, -n, n]]) * cell
    return np.concatenate([x, corners]), np.arange(len(x), len(x) + 4)[None]


@pytest.mark.parametrize("cell", [0.1, 0.3, 1.0 / 3.0, 1e-9])
def test_points_on_borders_of_cells_are_found_from_both_sides(cell):
    # floor(.3 / .1) is 2 and floor(.3 * (1 / .1)) is 3
    x, tets = lattice(2, cell)
    for given in (cell, 2.0 * cell, 0.5 * cell):
        np.testing.assert_array_equal(TetHash(x, tets, cell=given).pairs(), brute(x, tets))


def test_a_tet_over_more_cells_than_there_are_numbers_holds_what_it_holds(rng):
    x = rng.uniform(-1e-3, 1e-3, (300, 3))
    x = np.concatenate([x, [[-1e12, -1e12, -1e12], [1e12, -1e12, -1e12], [0, 1e12, -1e12], [0, 0, 1e12]]])
    pairs = TetHash(x, [[300, 301, 302, 303]], cell=1e-6).pairs()
    np.testing.assert_array_equal(pairs, [[v, 0] for v in range(300)])


@pytest.mark.parametrize("cell", [1e-12, 1e12])
def test_all_points_in_one_cell_or_each_in_its_own_are_all_found(rng, cell):
    x, tets = scattered(rng, 12)
    np.testing.assert_array_equal(TetHash(x, tets, cell=cell).pairs(), brute(x, tets))


def test_a_point_beside_a_flat_tet_by_the_smallest_number_is_outside():
    x = [(0.1, -0.1, 0.0), (5e-324, 5e-324, 0.3), (0.6, 5e-324, 0.3), (5e-324, -0.0, 0.3), (0.0, 5e-324, 0.3)]
    assert len(TetHash(x, [[0, 1, 2, 3]]).pairs()) == 0


THIN = [  # tets whose volumes are far below the smallest number
    [[0.3, 1.0, 0.3], [-5e-324, 3e-310, -5e-324], [-5e-324, -1e-300, -5e-324], [-5e-324, 1e-320, 5e-324]],
    [[3e-310, 1e-320, -1.0], [-1e-300, 1e-323, 1e-300], [1.0, 1.0, -1e-300], [-1e-300, 1e-323, 5e-324]],
    [[1e10, 1.0, 0.3], [1e-308, -5e-324, 1e-300], [1e-290, -5e-324, 3e-310], [1e-310, 1e-323, 0.0]],
    [[0.0, 0.0, 0.0], [3e-318, 0.0, 0.0], [0.0, 2e-318, 0.0], [0.0, 0.0, 4e-318]],
    [[0.0, 0.0, 0.0], [1e-150, 0.0, 0.0], [0.0, 1e-110, 0.0], [0.0, 0.0, 1e-160]],
]


@pytest.mark.parametrize("corners", THIN)
@pytest.mark.parametrize("hash", ["rows", "xor"])
def test_a_vertex_at_a_corner_of_a_tet_whose_volume_underflows_is_in_it(corners, hash):
    x = np.array([*corners, *corners, np.mean(corners, 0)])
    pairs = TetHash(x, [[0, 1, 2, 3]], hash=hash).pairs()
    np.testing.assert_array_equal(pairs[:4], [[v, 0] for v in (4, 5, 6, 7)])
    np.testing.assert_array_equal(pairs, brute(x, np.array([[0, 1, 2, 3]])))


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e8])
def test_a_tet_without_volume_holds_nothing_and_one_inside_out_what_it_holds_the_other_way(scale):
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]])
    x = np.concatenate([corners, [[0.2, 0.2, 0.2], [0.25, 0.25, 0.0], [0.5, 0.5, 0.0]]]) * scale
    tets = np.array([[0, 1, 2, 3], [1, 0, 2, 3], [0, 1, 2, 6], [0, 1, 2, 2]])
    np.testing.assert_array_equal(TetHash(x, tets).pairs(), [[v, t] for v in (4, 5, 6) for t in (0, 1)])


def test_many_pairs_are_all_kept():
    x = np.concatenate([np.zeros((300, 3)), np.array([[-1, -1, -1], [3, -1, -1], [-1, 3, -1], [-1, -1, 3.0]])])
    tets = np.repeat([[300, 301, 302, 303]], 40, 0)
    assert len(TetHash(x, tets).pairs()) == 300 * 40


def test_coordinates_of_a_table_never_fall_where_x_rises(rng):
    for h in (1e-7, 0.1, 10.0):  # with gaps left out, hashed, all in one
        x = np.sort(np.concatenate([rng.normal(size=(200, 3)), 1e5 + rng.normal(size=(50, 3))]), 0)
        words = quantise(x, h)[0]
        for axis in range(3):
            assert (np.diff(words >> 21 * axis & (1 << 20) - 1) >= 0).all()


def test_the_hash_function_of_the_paper_is_the_printed_one():
    for i, j, k, n in ((0, 0, 0, 7), (3, 5, 8, 1009), (1 << 19, 77, (1 << 20) - 1, 999_983)):
        assert bucket_of_cell(i, j, k, n) == (i * 73856093 ^ j * 19349663 ^ k * 83492791) % n


@pytest.mark.parametrize("hash", ["rows", "xor"])
def test_a_smaller_table_has_more_collisions_and_the_same_pairs(hash, rng):
    x, tets = soup(rng.normal(size=(400, 1, 3)) + 0.1 * rng.normal(size=(400, 4, 3)))
    found = [TetHash(x, tets, cell=0.1, hash=hash, table=size) for size in (1, 64, 1 << 20)]
    assert [each.buckets for each in found] == [1, 64, 1 << 20]
    assert found[0].collisions > found[1].collisions > found[2].collisions
    cells = len(np.unique(np.floor((x - x.min(0)) / ([0.025, 0.1, 0.1] if hash == "rows" else 0.1)), axis=0))
    assert found[0].collisions == pytest.approx(cells - 1, rel=0.02)
    for each in found:
        np.testing.assert_array_equal(each.pairs(), TetHash(x, tets).pairs())


@pytest.mark.compiled
@pytest.mark.parametrize("hash", ["rows", "xor"])
def test_pairs_do_not_depend_on_threads(hash, rng):
    x, tets = soup(rng.normal(size=(6000, 1, 3)) + 0.1 * rng.normal(size=(6000, 4, 3)))
    before, found = jit.threads(), []
    try:
        for count in (1, 2):
            jit.set_threads(count)
            found.append(TetHash(x, tets, hash=hash).pairs().tobytes())
    finally:
        jit.set_threads(before)
    assert found[0] == found[1]
    assert len(found[0]) > 16 * 1000


def test_a_vertex_that_is_no_number_is_refused():
    x, tets = lattice(1, 1.0)
    found = TetHash(x, tets)
    x[3, 1] = np.nan
    with pytest.raises(ValueError, match=r"x\[3, 1\] is not finite"):
        found.update(x)
    with pytest.raises(ValueError, match=r"tets\[0, 3\] = 99 but there are 31 vertices"):
        found.set_tets(lattice(1, 1.0)[0], [[0, 1, 2, 99]])
