import pytest

from pliant_bench import figure_8


@pytest.mark.compiled
def test_edges_cost_more_than_particles_alone_and_every_way_is_timed():
    table = figure_8.figure_8(quick=True)
    rows = table.rows
    assert len(rows) == len(figure_8.WAYS)
    assert all(row["us"] > 0.0 for row in rows)
    assert rows[0]["ratio"] == 1.0
    assert rows[1]["contacts"] > rows[0]["contacts"]  # midpoints are contacts, too
