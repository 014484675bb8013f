"""`pliant field`: what it prints, saves and refuses."""

import json

import pytest

import pliant
from pliant import cli, shapes

pytestmark = pytest.mark.compiled


@pytest.fixture
def ball(tmp_path, monkeypatch):
    pliant.save(tmp_path / "ball.ply", shapes.ball(0.1, 2))
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return "../ball.ply"


def test_the_table_says_how_large_and_how_good_it_is(ball, capsys):
    assert cli.run(["field", ball, "--resolution", "24"]) == 0
    said, talk = capsys.readouterr()
    for word in ("grid", "spacing", "time", "examined points", "memory", "error max", "wrong signs"):
        assert word in said
    assert talk.startswith("baking ball.ply")


def test_json_figures_agree_with_the_saved_field(ball, capsys):
    assert cli.run(["field", ball, "--resolution", "24", "--samples", "2000", "-o", "f.npz", "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    field = pliant.DistanceField.load("f.npz")
    assert (list(field.shape), field.spacing) == (figures["grid"], figures["spacing_m"])
    assert figures["error_max_m"] <= 0.866 * field.spacing
    assert (figures["wrong_signs"], figures["examined_points"]) == (0, field.examined)


BAD = [
    (["--resolution", "0"], "resolution = 0"),
    (["--resolution", "50000"], "lower the resolution"),
    (["--spacing", "nan"], "spacing = nan"),
    (["--spacing", "-1"], "spacing = -1"),
    (["--band", "0"], "band = 0"),
    (["--samples", "-1"], "samples = -1"),
    (["--samples", "1000000000000"], "samples"),
    (["--sign", "winding"], "winding"),
    (["-o", "f.txt"], "unknown extension '.txt'"),
    (["--reconstruct", "r.pc2"], "unknown extension '.pc2'"),
    (["--report", "r.txt"], "unknown extension '.txt'"),
    (["--reconstruct", "../ball.ply"], "would overwrite an input file"),
    (["--up", "q"], "q"),
]


@pytest.mark.parametrize(("words", "said"), BAD, ids=[" ".join(words) for words, _ in BAD])
def test_bad_use_is_exit_code_2_and_leaves_no_file(ball, capsys, tmp_path, words, said):
    assert cli.run(["field", ball, *words]) == 2
    out, talk = capsys.readouterr()
    assert out == ""
    assert said in talk
    assert list((tmp_path / "work").iterdir()) == []


def test_a_missing_file_is_named(ball, capsys):
    assert cli.run(["field", "nope.obj"]) == 2
    assert "nope.obj" in capsys.readouterr().err


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """A cache of its own in which everything is worth keeping."""
    from pliant.detect.fields import cache

    monkeypatch.setenv("PLIANT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "WORTH", 0.0)


def figures(capsys, *words):
    assert cli.run(["field", *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_reconstruction_is_written_and_measured_both_ways(ball, capsys):
    said = figures(capsys, ball, "--resolution", "24", "--reconstruct", "r.ply", "--samples", "2000")
    made = pliant.load("r.ply")
    assert (made.n_faces, said["written"]) == (said["reconstructed_triangles"], ["r.ply"])
    distance, _ = pliant.closest_point(pliant.load("../ball.ply"), made.vertices)
    # the file keeps single precision
    assert abs(distance).max() <= said["backward_max_m"] * (1 + 1e-4) + 1e-8
    assert 0.0 < said["forward_mean_m"] < said["forward_max_m"] < 0.866 * said["spacing_m"]
    assert said["backward_max_m"] < 0.866 * said["spacing_m"]
    assert said["forward_lost_share"] == said["forward_unknown_share"] == 0.0


def test_the_table_has_both_distances_in_mm_and_cells(ball, capsys):
    assert cli.run(["field", ball, "--resolution", "24", "--reconstruct", "r.obj"]) == 0
    lines = capsys.readouterr().out.splitlines()
    for words in ("mesh to reconstruction", "reconstruction to mesh"):
        (line,) = (line for line in lines if words in line)
        assert " mm = " in line
        assert " cells at (" in line


def test_the_report_is_a_page_that_names_the_mesh_but_not_the_folder(ball, capsys, tmp_path, small_pictures):
    said = figures(capsys, "../ball.ply", "--resolution", "12", "--report", "r.html", "--samples", "500")
    page = (tmp_path / "work" / "r.html").read_text("utf-8")
    assert said["written"] == ["r.html"]
    assert "Distance field of ball" in page
    assert "../ball.ply" not in page


def test_the_second_time_it_comes_from_the_cache_and_says_so(ball, capsys, kept):
    first, second = (figures(capsys, ball, "--resolution", "24", "--samples", "0") for _ in range(2))
    assert (first["from_cache"], second["from_cache"]) == (False, True)
    assert first["seconds"] == second["seconds"]  # of the bake, not of reading
    assert first["cache_seconds"] is None
    assert cli.run(["field", ball, "--resolution", "24", "--samples", "0"]) == 0
    assert f"from the cache (baking took {first['seconds']:.3f} s)" in capsys.readouterr().out


def test_without_the_cache_it_is_baked_again(ball, capsys, kept):
    said = [figures(capsys, ball, "--resolution", "24", "--samples", "0", "--no-cache") for _ in range(2)]
    assert [one["from_cache"] for one in said] == [False, False]


def test_a_bad_limit_of_the_cache_is_named(ball, capsys, monkeypatch):
    monkeypatch.setenv("PLIANT_CACHE_LIMIT", "plenty")
    assert cli.run(["field", ball]) == 2
    assert "PLIANT_CACHE_LIMIT = 'plenty'" in capsys.readouterr().err


def test_a_mesh_thinner_than_a_cell_is_one_clear_error(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # a knife of a thousandth of a cell, tilted so that no node lies in it
    x = [[0, 0, 0], [0, 0, 1], [1, 0.37, 0], [1, 0.37, 1], [1, 0.3701, 0], [1, 0.3701, 1]]
    faces = [[0, 2, 3], [0, 3, 1], [0, 1, 5], [0, 5, 4], [2, 4, 5], [2, 5, 3], [0, 4, 2], [1, 3, 5]]
    pliant.save("leaf.ply", pliant.Mesh(x, faces))
    assert cli.run(["field", "leaf.ply", "--resolution", "8", "--reconstruct", "r.ply"]) == 2
    assert "raise the resolution" in capsys.readouterr().err
    assert not (tmp_path / "r.ply").exists()


def test_all_kinds_of_fields_stand_side_by_side(ball, capsys):
    said = figures(capsys, ball, "--resolution", "12", "--samples", "500", "--compare")
    kinds = {row["field"] for row in said["compare"]}
    assert {"uniform dense", "uniform sparse", "octree"} <= kinds
    assert cli.run(["field", ball, "--resolution", "12", "--samples", "500", "--compare"]) == 0
    shown = capsys.readouterr().out
    assert all(kind in shown for kind in kinds)
