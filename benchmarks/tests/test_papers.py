"""The paper's table as data, and what is made of it."""

import itertools

import numpy as np
import pytest

import pliant
from pliant.report.tables import Chart, Column, Report, Table
from pliant_bench import against_paper
from pliant_bench.against_paper import PAPER
from pliant_bench.papers import TABLE_1, Baked
from pliant_bench.quick import LINE, quick_report
from pliant_bench.statements import Statement, statements_table


def test_every_line_of_the_table_costs_about_as_much_a_point_as_the_others() -> None:
    # a digit lost in copying would stand out: 0.17 to 0.25 microseconds an examined point on a Pentium IV
    cost = [line.seconds / line.examined for line in TABLE_1]
    assert min(cost) > 1.7e-7
    assert max(cost) < 2.5e-7
    assert len(TABLE_1) == 21


def test_finer_grids_of_a_model_keep_its_shape_and_cost_more() -> None:
    for _, lines in itertools.groupby(TABLE_1, lambda line: line.model):
        for coarse, fine in itertools.pairwise(lines):
            np.testing.assert_allclose(np.divide(fine.grid, coarse.grid), fine.longest / coarse.longest, rtol=0.05)
            assert (coarse.triangles, coarse.seconds < fine.seconds) == (fine.triangles, True)
            assert coarse.examined < fine.examined


def test_examined_points_are_the_nodes_of_boxes_rounded_outward() -> None:
    x = [[0, 0, 0], [1, 0, 0], [0, 1, 0]]
    # with h = 1/4 the triangle is 5 x 5 nodes; half a diagonal up and down is 0.87 cells, so 3 layers
    assert against_paper.examined_points(pliant.Mesh(x, [[0, 1, 2]]), 0.25, 0.5) == 5 * 5 * 3
    # the second triangle is as large; delta 1 is 1.73 cells, so 5 layers
    assert against_paper.examined_points(pliant.Mesh(x, [[0, 1, 2], [0, 2, 1]]), 0.25, 1.0) == 2 * 5 * 5 * 5


def test_the_delta_of_a_line_is_found_from_its_count() -> None:
    mesh = pliant.shapes.ball(0.1, 3)
    examined = against_paper.examined_points(mesh, against_paper.spacing_of(mesh, 50), 0.7)
    line = Baked("ball", mesh.n_faces, (50, 50, 50), 1.0, examined)
    assert against_paper.delta_of(mesh, line) == pytest.approx(0.7, abs=0.01)


@pytest.mark.compiled
def test_an_original_at_hand_stands_beside_the_papers_line(tmp_path) -> None:
    ball = pliant.shapes.ball(0.1, 3)
    pliant.save(tmp_path / "bunny_69451.ply", ball.moved(ball.vertices * (1.0, 0.2, 0.2)))  # a cigar: few nodes
    table = against_paper.paper_table(tmp_path, quick=True, repeats=1, samples=500)
    theirs, *ours = table.rows[:4]
    assert (theirs["who"], theirs["seconds"], theirs["examined"]) == ("the paper", 2.203, 9_274_604)
    assert [row["who"] for row in ours] == list(against_paper.WAYS)
    for row in ours:
        assert row["ratio"] == pytest.approx(2.203 / row["seconds"])
        assert row["hausdorff_cells"] < 0.866
        assert row["counted"] > row["examined"] > 0
    missing = against_paper.paper_notes(table, tmp_path)[0]
    assert "not at hand: Skull" in missing
    assert "Bunny" not in missing


@pytest.mark.compiled
def test_without_originals_a_torus_of_as_many_triangles_is_measured_and_it_says_so(tmp_path) -> None:
    table = against_paper.paper_table(tmp_path, quick=True, repeats=1, samples=500)
    theirs, ours = table.rows
    assert (theirs["model"], theirs["seconds"], theirs["who"]) == ("Greta", 1.472, against_paper.PAPER)
    assert ours["who"].endswith(against_paper.STAND_IN)
    assert ours["triangles"] == pytest.approx(theirs["triangles"], rel=0.01)
    assert ours["ratio"] == pytest.approx(1.472 / ours["seconds"])
    assert ours["counted"] > ours["examined"] > 0
    assert "None of the originals is at hand" in against_paper.paper_notes(table, tmp_path)[0]
    assert against_paper.paper_findings(table) == []
    assert against_paper.paper_chart(table).svg.count("<rect") >= 2


def test_a_quick_report_shows_nothing_of_the_paper_and_keeps_what_is_measured() -> None:
    columns = (Column("who"), Column("ms", show="{:.1f}"), Column("ratio", "faster", "{:.1f}x"), Column("bar"))
    rows = [{"who": PAPER, "ms": 9.0}, {"who": "pliant", "ms": 3.0, "ratio": 3.0, "bar": "must"}]
    charts = [Chart("one", "", f"<svg>{PAPER}</svg>"), Chart("two", "", "<svg>pliant</svg>")]
    notes = ["ms: of one thread. bar: at most 10 ms. faster: of the paper", "", "Machine: idle."]
    places = statements_table("any", [Statement("figure 1", "seconds", "9 ms", "3 ms, 3.0 times as fast")])
    whole = Report(
        title="t", findings=["3 times"], tables=[places, Table("t", "", columns, rows)], charts=charts, notes=notes
    )
    found = quick_report(whole)
    (table,) = found.tables
    assert (table.headings, table.rows) == (["who", "ms"], [{"who": "pliant", "ms": 3.0}])
    assert [chart.name for chart in found.charts] == ["two"]
    assert (found.findings, found.notes) == ([LINE], ["ms: of one thread.", "Machine: idle.", LINE])
