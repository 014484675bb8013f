"""`pliant drape --proxy`: dense garments by the words people type, in every format."""

import json
import pathlib
import re

import numpy as np
import pytest

import pliant
from characters import post, sleeve
from pliant import cli
from pliant.shapes.tidy import refined
from proxies.garments import thickened

pytestmark = pytest.mark.compiled
SHORT = ["--frames", "3", "--substeps", "2", "--dt", str(1 / 30)]


@pytest.fixture(scope="module")
def wardrobe(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("wardrobe")
    pliant.save_character(folder / "post.glb", post())
    fine = sleeve(0.33, 0.72, top=0.14, bottom=0.22, name="coat")
    pliant.save(folder / "small.obj", fine)
    fine = pliant.Mesh(*refined(fine.vertices, fine.faces, np.ones(fine.n_faces, bool)))
    pliant.save(folder / "coat.obj", thickened(fine, 0.002))
    return folder


@pytest.fixture
def worn(wardrobe, tmp_path, monkeypatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    return ["drape", str(wardrobe / "coat.obj"), str(wardrobe / "post.glb"), *SHORT]


def test_a_character_wears_a_dense_garment_and_every_file_has_it(worn, capsys):
    outputs = ["-o", "a.npz", "--replay", "a.html", "--sheet", "a.png"]
    assert cli.run([*worn, "--proxy", "0.2k", "--json", *outputs]) == 0
    told = capsys.readouterr()
    figures, garment = json.loads(told.out), pliant.load(worn[1])
    assert np.load("a.npz")["frames_0"].shape == (4, garment.n_vertices, 3)
    assert figures["particles"] == garment.n_vertices
    assert 150 < figures["proxy"]["garments"][0]["vertices"] < 250
    assert re.search(r"two layers (1\.9\d|2(\.0\d)?) mm apart merged in 1 shell", told.err)
    assert pathlib.Path("a.html").stat().st_size > 10_000


@pytest.mark.parametrize("ending", ["glb", "pc2"])
def test_every_format_has_the_garment(worn, ending, capsys):
    assert cli.run([*worn, "--proxy", "200", "--no-measure", "-o", f"a.{ending}"]) == 0
    assert capsys.readouterr().out.count(f".{ending}") >= 1


def test_a_proxy_larger_than_the_garment_is_the_garment(worn, wardrobe, capsys):
    worn[1] = str(wardrobe / "small.obj")
    assert cli.run([*worn, "--proxy", "5k", "--no-measure", "-o", "a.npz"]) == 0
    assert "note: simulating small itself: it has" in capsys.readouterr().err


def test_wrong_proxies_are_refused_in_one_line(worn, capsys):
    for options, text in (
        ([*worn, "--proxy", "many"], "--proxy is 'many'; expected a number such as 5000 or 5k"),
        ([*worn, "--proxy", "3"], "--proxy"),
        ([*worn, "--proxy", "1k", "--pin", "ids:1"], "its proxy has others"),
        (["drape", "--proxy", "1k"], "--proxy is for the mesh file of a garment"),
    ):
        assert cli.run(options) == 2
        assert text in capsys.readouterr().err
