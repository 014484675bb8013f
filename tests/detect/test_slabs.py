"""A field baked in slabs and joined is the field of one piece, bit for bit."""

import dataclasses

import numpy as np
import pytest

import pliant
from pliant import shapes
from pliant.detect.fields.slabs import bake_slab, join_slabs, layout, load_slab, save_slab

pytestmark = pytest.mark.compiled


def with_flat_faces() -> pliant.Mesh:
    """A ball some of whose triangles have no area: signs beside them are in doubt."""
    ball = shapes.ball(0.3, 2)
    faces = ball.faces.copy()
    x = ball.vertices.copy()
    for f in range(0, len(faces), 7):
        x[faces[f, 2]] = 0.5 * (x[faces[f, 0]] + x[faces[f, 1]])
    return pliant.Mesh(x, faces)


def leaning() -> pliant.Mesh:
    """A steep sheet: beyond its border the sign jumps along x, also from the last node of a slab to the next one's."""
    sheet = shapes.cloth(0.6, 0.3, 9)
    turn = np.array([[0.3, -0.954, 0.0], [0.954, 0.3, 0.0], [0.0, 0.0, 1.0]])
    return sheet.moved(sheet.vertices @ turn.T)


MESHES = {
    "closed": lambda: shapes.torus(0.3, 0.1, 40, 16),
    "open": leaning,
    "in doubt": with_flat_faces,
}


@pytest.mark.parametrize("sign", ["pseudonormal", "face"])
@pytest.mark.parametrize("name", MESHES)
@pytest.mark.parametrize("slabs", [1, 3, 100])
def test_joined_slabs_are_the_whole_field(tmp_path, name, sign, slabs):
    mesh = MESHES[name]()
    options = {"spacing": 0.005 if name == "open" else 0.008, "band": 2.5, "sign": sign}
    whole = pliant.DistanceField.bake(mesh, **options)
    place = layout(mesh, slabs=slabs, **options)
    files = [tmp_path / f"{k}.npz" for k in range(place.slabs)]
    for k, file in enumerate(files):
        save_slab(file, bake_slab(mesh, place, k))
    figures = join_slabs(tmp_path / "field.npz", mesh, place, files)
    joined = pliant.DistanceField.load(tmp_path / "field.npz")
    assert place.slabs == min(slabs, int(place.grid.tiles[0])) >= min(slabs, 3)
    for one, other in zip(whole.grid, joined.grid):
        assert np.asarray(one).tobytes() == np.asarray(other).tobytes()
        assert np.shape(one) == np.shape(other)
    assert (joined.examined, joined.band, joined.sign) == (whole.examined, whole.band, whole.sign)
    assert figures["bricks"] == len(whole.grid.values) - 1
    assert figures["bytes"] == whole.nbytes - whole.grid.origin.nbytes - whole.grid.size.nbytes


def test_the_same_slabs_are_the_same_file(tmp_path):
    mesh = MESHES["closed"]()
    place = layout(mesh, 24, slabs=2)
    for name in "ab":
        for k in range(2):
            save_slab(tmp_path / f"{k}.npz", bake_slab(mesh, place, k))
        join_slabs(tmp_path / name, mesh, place, [tmp_path / "0.npz", tmp_path / "1.npz"])
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_slab_comes_back_from_disk(tmp_path):
    mesh = MESHES["open"]()
    slab = bake_slab(mesh, layout(mesh, 40, slabs=3), 1)
    save_slab(tmp_path / "s.npz", slab)
    for one, other in zip(dataclasses.astuple(slab), dataclasses.astuple(load_slab(tmp_path / "s.npz"))):
        assert np.array_equal(one, other, equal_nan=np.asarray(one).dtype.kind == "f")


def test_too_few_slabs_are_refused(tmp_path):
    mesh = MESHES["closed"]()
    with pytest.raises(ValueError, match="1 slabs; expected 2"):
        join_slabs(tmp_path / "f.npz", mesh, layout(mesh, 24, slabs=2), [tmp_path / "0.npz"])
