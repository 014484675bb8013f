"""A band carried on to the whole grid: what it keeps, what it adds, how far that is from the truth."""

import functools
import re

import numpy as np
import pytest

from conftest import SEED
from detect.made import FAR, MADE, octahedron, rotation, sheet
from pliant import DistanceField, Mesh, shapes
from pliant.detect.fields.fill import TOLERANCE, FilledField, fill, filled
from pliant.errors import TooBigError
from pliant.kernels import jit
from pliant.kernels.fields.fill import upwind

RESOLUTION = 32 if jit.COMPILED else 8
SHAPES = {**MADE, "ball": lambda: shapes.ball(0.5), "bowl": shapes.bowl}
CLOSED = [name for name in SHAPES if name != "sheet"]
MOVES = {
    "as it is": lambda x, rng: x,
    "far": lambda x, rng: x + FAR,
    "thousandth": lambda x, rng: x * 1e-3,
    "thousandfold": lambda x, rng: x * 1e3,
    "rotated": lambda x, rng: x @ rotation(rng).T,
}
NAMES = [*CLOSED, *(f"{name}/{how}" for name in ("spiky star", "thin plate") for how in MOVES if how != "as it is")]
over_closed = pytest.mark.parametrize("name", NAMES if jit.COMPILED else ["box", "spike/rotated"])


@functools.cache
def made(name):
    """Band, filled field, exact distances at all nodes."""
    what, _, how = name.partition("/")
    mesh = SHAPES[what]()
    mesh = mesh.moved(MOVES[how or "as it is"](mesh.vertices, np.random.default_rng(SEED)))
    band = DistanceField.bake(mesh, RESOLUTION)
    whole = filled(band)
    nodes = np.stack(np.meshgrid(*map(np.arange, whole.values.shape), indexing="ij"), -1)
    nodes = nodes * band.spacing + np.array(band.origin)
    return band, whole, band.exact.query(nodes.reshape(-1, 3))[0].reshape(whole.values.shape)


@over_closed
def test_what_the_band_holds_stays_as_it_is(name):
    band, whole, _ = made(name)
    known = ~np.isnan(band.values)
    assert known.any()
    np.testing.assert_array_equal(whole.values[known], band.values[known])


@over_closed
def test_every_node_of_a_closed_mesh_has_a_value_of_the_right_sign(name):
    band, whole, exact = made(name)
    judged = np.abs(exact) > 1e-6 * band.mesh.size
    wrong = np.sign(whole.values[judged]) != np.sign(exact[judged])
    assert (wrong.sum(), whole.undefined) == (0, 0.0)


@over_closed
def test_the_error_follows_its_law(name):
    """In cells: at most 0.578 ln(d / (band - 1)) too far, and 0.578 ln(d) too near, where fronts run together."""
    band, whole, exact = made(name)
    cells = np.abs(exact) / band.spacing
    error = np.abs(whole.values) / band.spacing - cells
    law = 0.578 * np.log(np.maximum(cells / (band.band - 1.0), 1.0))
    print(f"\n| {name} | {cells.max():.0f} | {error.max():.2f} | {error.min():.2f} |", end="")
    assert (error - law).max() <= 0.01 + TOLERANCE
    assert (error + 0.578 * np.log(np.maximum(cells, 1.0))).min() >= -0.01 - TOLERANCE


@over_closed
def test_inside_the_band_samples_are_those_of_the_band(name, rng):
    band, whole, _ = made(name)
    points = whole.low + rng.random((5000 if jit.COMPILED else 200, 3)) * (whole.high - whole.low)
    d, n = band.sample(points)
    known = ~np.isnan(d)
    said, normal = whole.sample(points[known])
    assert np.abs(said - d[known]).max() <= 1e-6 * band.spacing
    assert np.abs(normal - n[known]).max() <= 1e-5


@over_closed
def test_normals_are_unit_everywhere_in_the_grid(name, rng):
    _, whole, _ = made(name)
    points = whole.low + rng.random((2000 if jit.COMPILED else 100, 3)) * (whole.high - whole.low)
    d, n = whole.sample(points)
    assert not np.isnan(d).any()
    assert np.abs(np.linalg.norm(n, axis=1) - 1.0).max() <= 1e-12


@over_closed
def test_every_swept_node_solves_the_upwind_equation(name):
    band, whole, _ = made(name)
    u, h = np.abs(whole.values).astype(float), band.spacing
    padded = np.pad(u, 1, mode="reflect")
    inner = (slice(1, -1),) * 3
    low = []
    for axis in range(3):
        low.append(np.minimum(np.roll(padded, 1, axis)[inner], np.roll(padded, -1, axis)[inner]))
    rise = sum(np.maximum(u - a, 0.0) ** 2 for a in low)
    swept = np.isnan(band.values)
    assert np.abs(np.sqrt(rise[swept]) / h - 1.0).max() <= 4 * TOLERANCE


def test_the_upwind_solution_rises_by_one_spacing(rng):
    for _ in range(200):
        a = rng.random(3) * rng.choice([0.1, 1.0, 10.0])
        u = upwind(*a.tolist(), 0.5)
        assert np.sqrt((np.maximum(u - a, 0.0) ** 2).sum()) == pytest.approx(0.5, rel=1e-12)


def test_one_and_two_threads_fill_the_same_bits():
    before, found = jit.threads(), set()
    values = made("box")[0].values
    try:
        for count in (1, 2):
            jit.set_threads(count)
            found.add(fill(values, made("box")[0].spacing)[0].tobytes())
    finally:
        jit.set_threads(before)
    assert len(found) == 1


def test_beyond_the_border_of_a_sheet_where_no_sign_is_defined_nothing_is_filled():
    band = DistanceField.bake(sheet(3), RESOLUTION)
    whole = filled(band)
    np.testing.assert_array_equal(whole.values, band.values)
    assert whole.undefined > 0.1


def test_beside_a_border_a_filled_field_is_silent_where_the_band_is(rng):
    band = DistanceField.bake(sheet(3), RESOLUTION)
    whole = filled(band)
    points = band.mesh.bounds.mean(0) + (rng.random((4000 if jit.COMPILED else 300, 3)) - 0.5) * [1.4, 0.3, 1.4]
    silent = np.isnan(band.sample(points)[0])
    assert silent.any()
    np.testing.assert_array_equal(np.isnan(whole.sample(points)[0]), silent)


def test_an_open_mesh_is_filled_where_the_band_closes_its_hole():
    ball = octahedron(2)
    holed = Mesh(ball.vertices, ball.faces[1:])
    band = DistanceField.bake(holed, spacing=0.15)
    whole = filled(band)
    centre = whole.sample([[0.0, 0.0, 0.0]])[0]
    corner = whole.sample([whole.low + 0.01])[0]
    assert np.isnan(band.values).any()
    assert -1.0 < centre[0] < -0.7
    assert corner[0] > 0.7


def test_a_band_too_narrow_to_fill_from_is_refused():
    with pytest.raises(ValueError, match=re.escape("a band of 1.5 cells is too narrow to fill; bake with band=2")):
        filled(DistanceField.bake(octahedron(), 4, band=1.5))


def test_a_grid_that_does_not_fit_is_refused():
    with pytest.raises(TooBigError, match=r"^filled grid \d+x\d+x\d+ needs .* limit 100 B; lower the resolution"):
        filled(DistanceField.bake(octahedron(), 4), max_bytes=100)


def test_the_error_is_reported_over_the_whole_volume():
    whole = made("box")[1]
    report = whole.error(500)
    assert (report["samples"], report["wrong_signs"]) == (500, 0)
    assert 0.0 <= report["error_p50_m"] <= report["error_p99_m"] <= report["error_max_m"] < 2 * whole.spacing
    assert isinstance(whole, FilledField)
    assert whole.nbytes == whole.values.nbytes
