"""Slopes of a curve that is known."""

import pytest

from pliant import shapes
from pliant_bench import growth


def test_the_slope_of_a_square_is_two() -> None:
    assert growth.slope([{"cells": n, "seconds": 3e-6 * n**2} for n in (100, 200, 400)]) == pytest.approx(2.0)


@pytest.mark.compiled
def test_twice_the_resolution_has_four_times_the_band() -> None:
    table = growth.growth_table({"ball": shapes.ball(0.1, 3)}, (20, 40), repeats=1)
    coarse, fine = table.rows
    assert fine["band_nodes"] / coarse["band_nodes"] == pytest.approx(4.0, rel=0.1)
    assert (fine["percent_of_dense"] < coarse["percent_of_dense"], "slope" in coarse) == (True, False)
    (said,) = growth.growth_findings(table)
    assert f"slope {fine['slope']:.2f} from 20 to 40 cells" in said
