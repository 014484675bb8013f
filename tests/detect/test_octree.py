"""The adaptive octree against the truth, its neighbours and itself (RELIABILITY D5)."""

import functools

import numpy as np
import pytest

from conftest import DATA, SEED
from detect.made import FAR, MADE, rotation, sheet
from pliant import Mesh, load
from pliant.detect.fields.field import DistanceField
from pliant.detect.fields.octree import AdaptiveField
from pliant.detect.fields.sampled import around
from pliant.errors import TooBigError
from pliant.kernels import jit
from pliant.kernels.fields.octree import STEP

SHARE = 4e-3 if jit.COMPILED else 0.02  # tolerance, of the diagonal
MOVES = {
    "far": lambda x, rng: x + FAR,
    "thousandth": lambda x, rng: x * 1e-3,
    "thousandfold": lambda x, rng: x * 1e3,
    "rotated": lambda x, rng: x @ rotation(rng).T,
}
# a star at the full tolerance costs as much as all others together
COARSE = {"spiky star": 3.0, "sheet": 3.0}
NAMES = [*MADE, *(f"{name}/{how}" for name in ("spike", "wedge 1e-3", "sheet") for how in MOVES)]
FILES = ["meshes/bunny_closed_6598.obj", "meshes/demosthenes_bust_open.obj"]
LONG = ("slivers", "wedge 1e-3/", "sheet/thousand")
OFTEN = [pytest.param(name, marks=pytest.mark.long) if name.startswith(LONG) else name for name in NAMES]
over_all = pytest.mark.parametrize("name", [*OFTEN, *FILES] if jit.COMPILED else ["box", "spike/rotated", "sheet"])


@functools.cache
def made(name):
    if name in FILES:
        if not DATA.is_dir():
            pytest.skip("no ../shared/data beside the checkout")
        mesh, coarse = load(DATA / name), 3.0
    else:
        what, _, how = name.partition("/")
        mesh, coarse = MADE[what](), COARSE.get(what, 1.0)
        if how:
            mesh = mesh.moved(MOVES[how](mesh.vertices, np.random.default_rng(SEED)))
    return AdaptiveField.bake(mesh, coarse * SHARE * mesh.size)


def allowed(field, true):
    return np.maximum(field.tolerance, field.relative * np.abs(true))


@over_all
def test_leaves_that_touch_differ_by_at_most_one_level(name):
    field = made(name)
    low, side, level = field.leaves()
    cell = np.rint((low - field.low) / side[:, None]).astype(np.int64)
    of_level = [key(cell[level == k], k) for k in range(field.levels + 1)]
    violations = 0
    for step in np.stack(np.meshgrid(*[(-1, 0, 1)] * 3), -1).reshape(-1, 3):
        beside = cell + step
        inside = ((beside >= 0) & (beside < 2 ** level[:, None])).all(1)
        for k in range(2, field.levels + 1):
            here = beside[inside & (level == k)]
            for up in range(2, k + 1):
                violations += np.isin(key(here >> up, k - up), of_level[k - up]).sum()
    assert violations == 0


def key(cell, level):
    return (cell[:, 0] << 2 * level) + (cell[:, 1] << level) + cell[:, 2]


@over_all
def test_leaves_fill_the_cube_without_overlap(name, rng):
    field = made(name)
    low, side, level = field.leaves()
    assert (8.0 ** -level.astype(float)).sum() == 1.0
    assert len({(k, *c) for k, c in zip(level.tolist(), np.rint((low - field.low) / side[:, None]).tolist())}) == len(
        low
    )


@over_all
def test_there_is_no_jump_across_the_faces_of_leaves(name, rng):
    field = made(name)
    low, side, _ = field.leaves()
    count = 100_000 if jit.COMPILED else 300
    answers = np.flatnonzero(np.isfinite(field.sample(low + 0.5 * side[:, None])[0]))
    leaf, axis, end = rng.choice(answers, count), rng.integers(0, 3, count), rng.integers(0, 2, count)
    share = rng.random((count, 3))
    share[np.arange(count), axis] = end
    on = low[leaf] + share * side[leaf, None]
    here, there = on.copy(), on.copy()
    at = np.arange(count), axis
    # the points nearest to the face on either side, as far as coordinates of this size can tell
    ulp = 2 * np.spacing(np.abs(np.concatenate([field.low, field.high])).max())
    here[at] -= ulp
    there[at] += ulp
    d_here, d_there = field.sample(here)[0], field.sample(there)[0]
    both = np.isfinite(d_here) & np.isfinite(d_there)
    assert both.sum() > 0.5 * count
    # differences of a family, of twice the side, and of a neighbour twice as large are rounded by half a step
    rounding = 3.0 * STEP * 2.0 ** int(field.families.power.max()) * side[leaf] + np.spacing(
        np.float32(field.mesh.size)
    )
    assert (np.abs(d_here - d_there) <= rounding + 8 * ulp)[both].all()


@over_all
def test_at_the_27_points_of_a_leaf_above_the_last_level_the_error_is_what_was_allowed(name, rng):
    field = made(name)
    low, side, level = field.leaves()
    some = rng.choice(np.flatnonzero(level < field.levels), 2000 if jit.COMPILED else 20)
    share = np.stack(np.meshgrid(*[(0.0, 0.5, 1.0)] * 3), -1).reshape(-1, 3)
    points = (low[some, None] + share * side[some, None, None]).reshape(-1, 3)
    points = np.clip(points, field.low, field.high)
    d, true = field.sample(points)[0], field.exact.query(points)[0]
    known = np.isfinite(d)
    assert known.any()
    rounding = 8 * np.spacing(np.abs(points).max()) + np.repeat(2.0 * STEP * side[some], 27)
    assert ((np.abs(d - true) - rounding) / allowed(field, true))[known].max() <= 1.0 + 1e-9


@over_all
def test_the_error_between_those_points_stays_near_what_was_allowed(name):
    field = made(name)
    points = volume(field, 20_000 if jit.COMPILED else 200)
    d, true = field.sample(points)[0], field.exact.query(points)[0]
    known = np.isfinite(d)
    ratio = (np.abs(d - true) / allowed(field, true))[known]
    print(
        f"\n| {name} | {field.n_leaves} | {field.nbytes} | {known.mean():.3f} "
        f"| {np.quantile(ratio, 0.99):.2f} | {ratio.max():.2f} |",
        end="",
    )
    assert np.quantile(ratio, 0.99) <= 1.0
    assert ratio.max() <= 2.0


@over_all
def test_the_error_is_within_the_bound_of_the_leaf_and_within_that_of_the_distance(name, rng):
    field = made(name)
    low, side, level = field.leaves()
    leaf = rng.integers(0, len(low), 5000 if jit.COMPILED else 100)
    points = low[leaf] + rng.random((len(leaf), 3)) * side[leaf, None]
    d, true = field.sample(points)[0], field.exact.query(points)[0]
    known, error = np.isfinite(d), np.abs(d - true)
    between = np.where(level == field.levels, 0.867, 0.434) * side
    bound = between[leaf] + np.maximum(field.tolerance, field.relative * (np.abs(true) + 2 * side[leaf]))
    assert (error <= bound)[known].all()
    assert (error <= field.bound_at(true))[known].all()


@over_all
def test_no_sign_is_wrong_farther_than_two_tolerances_from_the_surface(name):
    field = made(name)
    far, near = field.error(2000), field.error(2000 if jit.COMPILED else 100, within=0.05 * field.mesh.size)
    assert (far["wrong_signs"], near["wrong_signs"]) == (0, 0)


@over_all
def test_the_gradient_is_the_slope_inside_the_leaf(name, rng):
    field = made(name)
    low, side, _ = field.leaves()
    leaf = rng.integers(0, len(low), 500 if jit.COMPILED else 30)
    points = low[leaf] + (0.25 + 0.5 * rng.random((len(leaf), 3))) * side[leaf, None]
    _, gradient = probe(field, points)
    slope = np.empty_like(gradient)
    for k in range(3):
        step = np.zeros_like(points)
        step[:, k] = side[leaf] / 8
        slope[:, k] = (probe(field, points + step)[0] - probe(field, points - step)[0]) / (side[leaf] / 4)
    known = np.isfinite(gradient[:, 0])
    rounding = 64 * np.spacing(np.abs(points).max()) / side.min()
    assert np.abs(gradient - slope)[known].max() <= 1e-6 + rounding


def probe(field, points):
    d, gradient = np.empty(len(points)), np.empty((len(points), 3))
    field.probe(np.ascontiguousarray(points), d, gradient)
    return d, gradient


def volume(field, count):
    """Points in the volume and, half of them, around the surface."""
    rng = np.random.default_rng(SEED)
    mesh = field.mesh
    near = mesh.vertices[mesh.faces[rng.integers(0, mesh.n_faces, count // 2)]]
    near = np.einsum("ij,ijk->ik", rng.dirichlet(np.ones(3), count // 2), near)
    near = np.clip(near + rng.normal(size=near.shape) * 0.01 * mesh.size, field.low, field.high)
    return np.concatenate([field.low + rng.random((count - count // 2, 3)) * field.side, near])


@pytest.mark.parametrize("name", ["box", "torus", "sheet"] if jit.COMPILED else ["box"])
def test_in_a_band_the_error_is_bounded_and_beyond_it_the_sign_is_right(name):
    """A leaf at the surface is no larger than `coarsest`, so that the bound there is known before the bake."""
    mesh = MADE[name]()
    band, coarsest, tolerance = 0.08 * mesh.size, 0.06 * mesh.size, SHARE * mesh.size
    field = AdaptiveField.bake(mesh, tolerance, band=band, coarsest=coarsest)
    whole = AdaptiveField.bake(mesh, tolerance)
    assert field.bound_at(np.zeros(1))[0] <= 1.001 * (0.434 * coarsest + 3.0 * tolerance)
    assert np.isnan(field.bound_at(np.array([1.01 * band])))[0]
    if jit.COMPILED:
        assert field.nbytes < whole.nbytes
    points = volume(field, 20_000 if jit.COMPILED else 200)
    d, true = field.sample(points)[0], field.exact.query(points)[0]
    near, known = np.abs(true) <= band, np.isfinite(d)
    assert (np.abs(d - true) <= field.bound_at(true))[near & known].all()
    assert (np.abs(d)[~near & known] > 0.0).all()
    assert ((d > 0.0) == (true > 0.0))[~near & known].all()


def test_an_octree_is_smaller_than_a_dense_grid_of_no_smaller_error():
    """Where the field curves everywhere alike, as around a ball, the grid is smaller."""
    mesh = MADE["spiky star"]()
    grid = DistanceField.bake(mesh, 32 if jit.COMPILED else 12, storage="dense")
    band = grid.band * grid.spacing
    points = around(mesh, 4000 if jit.COMPILED else 200, band, np.random.default_rng(SEED))
    true = grid.exact.query(points)[0]
    p99, worst = np.nanquantile(np.abs(grid.sample(points)[0] - true), [0.99, 1.0])
    field = AdaptiveField.bake(mesh, p99, relative=0.0, band=band)
    error = np.abs(field.sample(points)[0] - true)
    assert field.nbytes <= 64 * (field.n_leaves // 7) + field.errors.nbytes
    assert np.quantile(error, 0.99) <= p99
    assert error.max() <= worst
    assert field.nbytes < grid.nbytes


def test_a_body_1024_times_as_large_has_the_same_tree():
    mesh = MADE["spike"]()
    one = AdaptiveField.bake(mesh, 4 * SHARE * mesh.size)
    large = AdaptiveField.bake(mesh.moved(mesh.vertices * 1024), 4 * SHARE * mesh.size * 1024)
    for name in ("first", "split", "step", "power"):
        np.testing.assert_array_equal(getattr(one.families, name), getattr(large.families, name), err_msg=name)
    np.testing.assert_array_equal(one.families.centre * 1024, large.families.centre)


def test_one_and_two_threads_make_and_sample_the_same_bits():
    before, found = jit.threads(), set()
    mesh = MADE["spike"]()
    points = np.random.default_rng(SEED).random((30_000 if jit.COMPILED else 100, 3)) - 0.5
    try:
        for count in (1, 2):
            jit.set_threads(count)
            field = AdaptiveField.bake(mesh, 4 * SHARE * mesh.size)
            d, n = field.sample(points)
            found.add((*(array.tobytes() for array in field.families), d.tobytes(), n.tobytes()))
    finally:
        jit.set_threads(before)
    assert len(found) == 1


def test_leaves_are_small_only_where_the_field_bends():
    """A cube of this tolerance throughout would have 8^levels leaves."""
    field = made("box")
    low, side, level = field.leaves()
    middle = np.abs(low + 0.5 * side[:, None])
    # over the middle of a face the distance is linear, at an edge of the box it is not
    over = (np.sort(middle, 1)[:, :2] < 0.3).all(1) & (middle.max(1) > 0.4)
    edge = (np.abs(np.sort(middle, 1)[:, 1:] - 0.5) < 2 * side[:, None]).all(1)
    assert len(level) < 0.1 * 8.0**field.levels
    assert level[over].max() < level[edge].max()


def test_beyond_the_border_of_a_sheet_cells_that_cross_the_sign_jump_say_nothing(rng):
    field = AdaptiveField.bake(sheet(3), 4 * SHARE)
    beside = np.column_stack([rng.uniform(-0.5, 0.5, 50), np.zeros(50), np.full(50, 0.57)])
    d = field.sample(beside)[0]
    up = np.array([0.0, 0.1, 0.0])
    above, below = field.sample(beside + up)[0], field.sample(beside - up)[0]
    assert np.isnan(d).all()
    if jit.COMPILED:
        assert (above > 0.1).all()
        known = ~np.isnan(below)
        np.testing.assert_array_equal(below[known] < 0.0, (field.exact.query(beside - up)[0] < 0.0)[known])


def test_outside_the_cube_there_is_no_answer():
    field = made("box")
    d, n = field.sample([field.high + 1e-6, field.low - 1e-6, [1e9, 0, 0], field.high, field.low])
    assert np.isnan(d).tolist() == [True, True, True, False, False]
    assert np.isnan(n).any(1).tolist() == [True, True, True, False, False]


def test_few_levels_are_kept_to():
    field = AdaptiveField.bake(MADE["box"](), 1e-6, levels=3)
    assert field.leaves()[2].max() == 3


def test_what_does_not_fit_is_refused():
    with pytest.raises(TooBigError, match=r"^octree with \d+ cells at level \d+ needs .* raise the tolerance"):
        AdaptiveField.bake(MADE["box"](), SHARE, max_bytes=20_000)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"tolerance": 0.0}, "tolerance = 0 must be greater than 0"),
        ({"tolerance": 0.1, "levels": 99}, "levels = 99 must be in 1..18"),
        ({"tolerance": 0.1, "relative": -1.0}, r"relative = -1 must be in 0\.\.1"),
        ({"tolerance": 0.1, "margin": 0.0}, "margin = 0 must be in"),
        ({"tolerance": 0.1, "band": 0.0}, "band = 0 must be greater than 0"),
        ({"tolerance": 0.1, "coarsest": -1.0}, "coarsest = -1 must be greater than 0"),
    ],
)
def test_a_wrong_option_is_named(options, words):
    with pytest.raises(ValueError, match=words):
        AdaptiveField.bake(MADE["box"](), **options)


def test_a_mesh_without_faces_is_refused():
    with pytest.raises(ValueError, match="has no faces; a distance field needs a surface"):
        AdaptiveField.bake(Mesh(np.zeros((3, 3)), np.zeros((0, 3), int)), 0.1)


def test_progress_rises_and_ends_at_one():
    seen = []
    AdaptiveField.bake(MADE["spike"](), 4 * SHARE, progress=seen.append)
    assert seen == sorted(set(seen))
    assert seen[-1] == 1.0
