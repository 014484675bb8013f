"""The table of all structures on one mesh."""

import numpy as np
import pytest

from detect.made import MADE
from pliant.detect.fields.survey import compare_fields

pytestmark = pytest.mark.compiled


@pytest.fixture(scope="module")
def rows():
    return compare_fields(MADE["torus"](), 12, samples=5000)


def test_every_structure_has_a_row_with_all_figures(rows):
    names = ["uniform dense", "uniform sparse", "filled", "octree", "octree in the band", "planar"]
    assert [row["field"] for row in rows] == names
    assert {tuple(row) for row in rows} == {tuple(rows[0])}
    assert all(np.isfinite(value) for row in rows for value in row.values() if not isinstance(value, str))


def test_what_covers_the_volume_answers_everywhere_and_a_band_does_not(rows):
    assert [row["volume_known"] == 1.0 for row in rows] == [False, False, True, True, True, True]


def test_trees_are_as_good_as_the_grid_they_are_compared_with(rows):
    wanted = max(rows[0]["error_p99_cells"], 0.02)
    assert max(row["error_p99_cells"] for row in rows[3:]) <= 1.25 * wanted


def test_the_octree_of_a_band_takes_no_more_than_that_of_the_volume(rows):
    whole, band = rows[3:5]
    assert band["bytes"] <= whole["bytes"]
    assert band["error_max_cells"] <= 1.1 * whole["error_max_cells"]


def test_the_two_grids_say_the_same_and_cells_agree_with_diagonals(rows):
    assert rows[0]["error_max_cells"] == pytest.approx(rows[1]["error_max_cells"], rel=1e-6)
    ratio = {round(row["error_p99_cells"] / row["error_p99_diagonal"], 6) for row in rows}
    assert len(ratio) == 1


def test_a_tolerance_of_ones_own_is_taken():
    told = []
    rows = compare_fields(MADE["spike"](), 8, 0.05, samples=200, progress=told.append)
    assert rows[3]["bytes"] < 200_000
    assert told == [row["field"] for row in rows]
