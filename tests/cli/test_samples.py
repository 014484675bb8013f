"""`pliant samples`: the files that README and tutorials name."""

import json
import pathlib

import numpy as np
import pytest

import pliant
from pliant import cli


def test_samples_are_files_that_the_commands_read(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.run(["samples", "--json"]) == 0
    written = [pathlib.Path(row["file"]) for row in json.loads(capsys.readouterr().out)]
    assert sorted(written) == sorted(pathlib.Path("samples").iterdir())

    body, skirt = pliant.load("samples/body.obj"), pliant.load("samples/skirt.obj")
    assert body.issues.closed
    assert pliant.load_character("samples/walker.glb").clips.keys() == {"walk"}
    distance = pliant.closest_point(body, skirt.vertices)[0]
    assert 0.0 < distance.min() < 0.01  # worn by the body, as drape, check and fix expect
    inside = pliant.closest_point(body, pliant.load("samples/clipping.obj").vertices)[0] < 0.0
    assert 50 < inside.sum() < 200
    scan = pliant.load("samples/scan.stl", units="mm", up="z")
    assert scan.issues.closed
    for end in (np.min, np.max):  # it stands
        np.testing.assert_allclose(end(scan.vertices, 0), end(pliant.shapes.bust().vertices, 0), atol=1e-6)


def test_samples_overwrite_nothing(tmp_path, capsys):
    (tmp_path / "trousers.obj").write_text("mine")
    assert cli.run(["samples", str(tmp_path)]) == 2
    assert "trousers.obj exists already; name another folder" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["trousers.obj"]


@pytest.mark.parametrize("place", ["a/b", "."])
def test_samples_create_the_folder(tmp_path, monkeypatch, place):
    monkeypatch.chdir(tmp_path)
    written = []
    monkeypatch.setattr("pliant.cli.samples.SAMPLES", {"one.obj": (written.append, "one")})
    assert cli.run(["samples", place]) == 0
    assert written == [pathlib.Path(place) / "one.obj"]
    assert pathlib.Path(place).is_dir()
