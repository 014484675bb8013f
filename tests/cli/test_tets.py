"""`pliant tets`: what it prints, saves and refuses."""

import json

import pytest

import pliant
from pliant import cli, shapes

pytestmark = pytest.mark.compiled


@pytest.fixture
def ball(tmp_path, monkeypatch):
    pliant.save(tmp_path / "ball.ply", shapes.ball(0.1, 2))
    pliant.save(tmp_path / "open.ply", shapes.cloth())
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return "../ball.ply"


def test_the_table_says_what_was_made_and_how_good_it_is(ball, capsys):
    assert cli.run(["tets", ball, "--size", "30mm"]) == 0
    said, talk = capsys.readouterr()
    for word in ("30 mm", "vertices", "angles", "volume", "lost", "surface", "time"):
        assert word in said
    assert "filling ball.ply" in talk


@pytest.mark.parametrize("ending", [".msh", ".mesh", ".vtk", ".npz"])
def test_json_figures_agree_with_the_saved_tets(ball, capsys, ending):
    assert cli.run(["tets", ball, "--size", "0.03", "-o", f"t{ending}", "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    mesh = pliant.load(f"t{ending}")
    assert (figures["vertices"], figures["tets"], figures["faces"]) == (mesh.n_vertices, len(mesh.tets), mesh.n_faces)
    assert figures["filled_m3"] == pytest.approx(mesh.volume)
    assert figures["written"] == [f"t{ending}"]
    assert mesh.tets.tobytes() == pliant.fill_with_tets(pliant.load(ball), 0.03).tets.tobytes()


def test_a_lost_part_is_exit_code_1_and_a_warning(tmp_path, capsys):
    one, two = shapes.ball(0.2, 2), shapes.ball(0.01, 1, centre=(0.5, 0, 0))
    vertices, faces = [*one.vertices, *two.vertices], [*one.faces, *(two.faces + one.n_vertices)]
    pliant.save(tmp_path / "two.ply", pliant.Mesh(vertices, faces))
    assert cli.run(["tets", str(tmp_path / "two.ply"), "--size", "0.05", "--json"]) == 1
    out, talk = capsys.readouterr()
    figures = json.loads(out)
    assert (figures["pieces"], figures["filled_pieces"], figures["far_vertices"]) == (2, 1, two.n_vertices)
    assert "2 connected pieces have become 1" in talk


BAD = [
    (["--size", "0"], "size = 0"),
    (["--size", "many"], "expected a length such as 2mm"),
    (["--size", "1um"], "size"),
    (["--size", "1e-6"], "use a larger size"),
    (["-o", "t.obj"], "unknown extension '.obj'"),
    (["-o", "../ball.ply"], "unknown extension '.ply'"),
]


@pytest.mark.parametrize(("words", "said"), BAD, ids=[" ".join(words) for words, _ in BAD])
def test_bad_use_is_exit_code_2_and_leaves_no_file(ball, capsys, tmp_path, words, said):
    assert cli.run(["tets", ball, *words]) == 2
    out, talk = capsys.readouterr()
    assert out == ""
    assert said in talk
    assert list((tmp_path / "work").iterdir()) == []


def test_an_open_surface_is_refused_with_what_to_do(ball, capsys):
    assert cli.run(["tets", "../open.ply"]) == 2
    assert "close its holes" in capsys.readouterr().err
