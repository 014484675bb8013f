"""Each paper's report has a row for every table and figure of the paper, and its figures of ours are measured."""

import functools
import pathlib
import re

import numpy as np
import pytest

from pliant.detect.bvh.tree import tree_of
from pliant.shapes import ball
from pliant_bench import (
    against_paper,
    fuhrmann_statements,
    models,
    neal_statements,
    paper_reports,
    pelechano_statements,
    statements,
    suite,
    survey_rest,
    survey_trees,
)
from pliant_bench.bone_boxes import WAYS
from pliant_bench.papers import TABLE_1
from pliant_bench.statements import Statement

pytestmark = pytest.mark.compiled
PAPERS = pathlib.Path(__file__).resolve().parents[2].parent / "shared" / "papers"
FILES = {
    "fuhrmann2003": "fuhrmann2003_distance_fields.md",
    "jung2005": "jung2005_spherical_implicit_surface.md",
    "neal": "neal_collision_grid.md",
    "pelechano": "pelechano_bone_boxes.md",
    "teschner2005": "teschner2005_survey.md",
}
# of each paper, results that its text states and that the bench measures
STATED = {
    "fuhrmann2003": ("1.4 mm", "0.007 mm", "390 000", "293 000", "14 s", "29 s", "half of the time", "three times"),
    "jung2005": ("0.3 to 1.8 s", "0.015 to 0.5 s", "20 to 200", "collision-free", "real time"),
    "neal": ("independent of the size", "few frames per second", "depends only on their number"),
    "pelechano": ("98 %", "63 %", "35 %", "0.2 %", "1,290", "2,576", "264", "15"),
    "teschner2005": ("15 Hz", "225 ms", "8 to 11 ms", "3.7 s", "14 s", "10 times", "linear in n", "about 1"),
}


@functools.cache
def report(paper: str):
    """The quick report without the models of the papers, so that a torus replaces them."""
    nothing = pathlib.Path(__file__).parent
    return suite.PAPERS[paper](quick=True, repeats=1, folder=nothing, progress=lambda _: None)


def captions(paper: str) -> set[str]:
    """The tables and figures that the text of a paper has a caption of."""
    text = (PAPERS / FILES[paper]).read_text("utf-8").replace("*", "")
    found = re.findall(r"^\W*(Fig(?:ure)?|Table)\.? (\d+)[.:]", text, re.M)
    return {f"{'table' if kind == 'Table' else 'figure'} {number}" for kind, number in found}


@pytest.mark.parametrize("paper", FILES)
def test_every_table_and_figure_of_a_paper_has_a_row(paper):
    if not PAPERS.is_dir():
        pytest.skip("the papers are not beside the checkout")
    (table, *_) = report(paper).tables
    assert captions(paper)
    assert captions(paper) - statements.places(table) == set()


@pytest.mark.parametrize("paper", FILES)
def test_results_that_the_text_states_stand_beside_ours_or_a_reason(paper):
    (table, *_) = report(paper).tables
    theirs = " | ".join(row["paper"] for row in table.rows)
    assert [words for words in STATED[paper] if words not in theirs] == []
    for row in table.rows:
        assert all(row[key] for key in ("where", "what", "paper", "ours")), row
        assert re.search(r"nan|None|OTHER", row["ours"]) is None, row
        assert "\n" not in row["why"], row


def test_shares_unlike_those_of_pelechano_have_a_reason():
    def reasons(share: float) -> dict[str, str]:
        row = dict.fromkeys(("culled_percent", "detection_percent", "response_percent", "brute_percent"), share)
        row |= {"who": next(iter(WAYS)), "recall_percent": None, "triangles": 1, "vertices": 1, "body": "a body"}
        table, sizes = (statements.Table("any", "", (), rows) for rows in ([row], []))
        found = pelechano_statements.statements(table, sizes)
        return {each.what: each.why for each in found if each.paper in ("98 %", "63 %", "35 %", "0.2 %")}

    assert list(reasons(63.0).values()) == [
        pelechano_statements.MISSED,
        "",
        *(pelechano_statements.ABOVE[key] for key in ("response_percent", "brute_percent")),
    ]
    assert all(reasons(99.0).values())
    assert all(reasons(0.1).values())


def test_places_are_read_from_ranges_and_lists():
    rows = [Statement(where, "", "", "") for where in ("figures 3 to 5, section 2", "figures 7 and 9", "table 1")]
    places = statements.places(statements.statements_table("any", rows))
    assert places == {"figure 3", "figure 4", "figure 5", "figure 7", "figure 9", "table 1"}


def test_a_torus_has_the_triangles_and_the_proportions_of_each_line():
    for line in TABLE_1[:6]:
        mesh = against_paper.stand_in(line)
        assert mesh.n_faces == pytest.approx(line.triangles, rel=0.01)
        sides = mesh.bounds[1] - mesh.bounds[0]
        np.testing.assert_allclose(sides / sides.max(), (np.array(line.grid) - 1) / (line.longest - 1), atol=1e-9)
        assert (mesh.issues.closed, mesh.issues.inward) == (True, False)


def test_signs_by_faces_are_wrong_around_acute_edges_only():
    spiky, obtuse = fuhrmann_statements.spiky_ball(), ball(1.0, 1)
    assert fuhrmann_statements.wrong_signs(spiky, "face", 24) > 0.03
    assert fuhrmann_statements.wrong_signs(spiky, "pseudonormal", 24) == 0.0
    assert fuhrmann_statements.wrong_signs(obtuse, "face", 24) == 0.0


def test_the_depth_of_a_hierarchy_is_that_of_its_longest_path():
    # 0 has children 1 and 4; 1 has 2 and 3
    assert survey_trees.depth_of(np.array([5, 4, 3, 4, 5])) == 2
    mesh = ball(1.0, 2)
    two, eight = (
        tree_of(mesh.vertices, mesh.faces, arity=arity, leaf=1, volume="box", split="longest-median")
        for arity in (2, 8)
    )
    assert survey_trees.depth_of(two.nodes["skip"]) > survey_trees.depth_of(eight.nodes["skip"])
    assert survey_trees.depth_of(two.nodes["skip"]) >= np.log2(mesh.n_faces)


def test_volumes_from_weights_contain_those_of_a_refit():
    one, _, x, faces = survey_trees.sheets(12)
    assert survey_trees.volume_ratio(one, x, faces) >= 0.999


def test_a_heap_has_as_many_tets_in_any_number_of_bodies():
    few, many = survey_rest.heap(1, 4), survey_rest.heap(2, 2)
    assert len(few[1]) == len(many[1]) == 5 * 4**3
    assert np.ptp(few[0], axis=0).max() == pytest.approx(np.ptp(many[0], axis=0).max(), rel=0.2)


def test_six_grids_reproduce_a_ball_to_within_their_bound():
    median, most, known = neal_statements.surface_error(ball(0.5, 4), 64, 5_000)
    assert median < 0.05
    assert most < np.sqrt(2.0)
    assert known > 0.99


def test_reports_of_papers_are_those_of_the_command():
    assert set(suite.PAPERS) == set(FILES)
    assert suite.PAPERS["neal"] is paper_reports.neal_report
    assert models.find_model("Bunny", pathlib.Path(__file__).parent) is None
