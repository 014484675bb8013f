"""The paper's sizes made from our mannequin, and its figures beside ours."""

import numpy as np
import pytest

import pliant
from pliant.shapes import walking_mannequin
from pliant_bench import bone_boxes, skin_sizes
from pliant_bench.coarse import coarsened
from pliant_bench.papers import PELECHANO_SIZE


def test_a_coarser_ball_is_closed_and_keeps_some_of_its_vertices_and_most_of_its_volume() -> None:
    ball = pliant.shapes.ball(1.0, 3)
    coarse, rows = coarsened(ball, 200)
    assert (coarse.n_vertices, coarse.n_faces) == (200, 396)
    np.testing.assert_array_equal(coarse.vertices, ball.vertices[rows])
    assert coarse.issues.closed
    assert not coarse.issues.inward
    assert 0.9 * ball.volume < coarse.volume < ball.volume


@pytest.mark.compiled
def test_the_papers_sizes_are_met_to_the_vertex() -> None:
    character, cloth = bone_boxes.paper_avatar(), bone_boxes.paper_skirt()
    assert cloth.n_vertices == PELECHANO_SIZE["cloth vertices"]
    assert character.mesh.n_vertices == PELECHANO_SIZE["avatar vertices"]
    assert character.mesh.n_faces == PELECHANO_SIZE["triangles"]
    assert character.mesh.issues.closed
    np.testing.assert_allclose(character.weights.sum(1), 1.0, atol=1e-12)


@pytest.mark.compiled
def test_the_papers_line_stands_beside_ours(tmp_path) -> None:
    table = bone_boxes.bone_boxes_table(tmp_path, quick=True)
    theirs, *ours = table.rows
    assert (theirs["culled_percent"], theirs["detection_percent"], theirs["brute_percent"]) == (98.0, 63.0, 0.2)
    assert [row["who"] for row in ours] == list(bone_boxes.WAYS)
    for row in ours:
        assert 98.0 < row["culled_percent"] <= 100.0  # all, where nothing moves: what is far is remembered
        assert row["brute_percent"] < row["response_percent"] <= 100.0
        assert row["brute_percent"] < row["detection_percent"] < 100.0
        assert row["widened"] == 0
    assert len(bone_boxes.findings(table)) == 1
    assert bone_boxes.chart(table).svg.count("<rect") >= 6


@pytest.mark.compiled
def test_four_times_the_triangles_are_not_twice_the_work() -> None:
    table = skin_sizes.skin_sizes_table(walking_mannequin(0.7), bone_boxes.paper_skirt(), quick=True, repeats=1)
    small, large = table.rows
    assert (small["triangles"], large["triangles"]) == (5_000, 20_000)
    assert small["checked"] == large["checked"] == 0.0
    assert large["visited"] < 2.0 * small["visited"]
    assert large["measured"] < 2.0 * small["measured"]
    assert "4 times as many triangles" in skin_sizes.findings(table)[0]
