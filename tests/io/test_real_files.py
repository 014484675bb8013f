"""Every real mesh beside the checkout loads, agrees with trimesh about the surface, and loads fast."""

import pathlib
import time

import numpy as np
import pytest

from conftest import DATA
from pliant.io import extension, load
from pliant.io.formats import FORMATS, NONE
from yardstick import slowness

FOLDERS = ("meshes", "cloth", "contact", "human", "rigged", "morph")
SURFACES = [
    path.relative_to(DATA).as_posix()
    for folder in FOLDERS
    for path in sorted((DATA / folder).glob("*"))
    if FORMATS.get(extension(path), NONE).read and extension(path) not in (".npz", ".usd", ".usda")
]
POSED = ("rigged/RobotExpressive.glb", "rigged/RiggedSimple.glb")  # trimesh leaves skins out: hands are elsewhere


@pytest.mark.skipif(not DATA.is_dir(), reason="no ../shared/data beside the checkout")
@pytest.mark.parametrize("name", [n for n in SURFACES if "dragon" not in n] or ["none"])
def test_a_real_mesh_agrees_with_trimesh(name: str) -> None:
    trimesh = pytest.importorskip("trimesh")
    mesh = load(DATA / name)
    scene = trimesh.load_scene(DATA / name, process=False)
    theirs = scene.to_geometry()
    assert mesh.n_faces == len(theirs.faces)
    if name in POSED:
        assert np.allclose(mesh.face_areas.sum(), theirs.area, rtol=0.01)
        return
    x = mesh.vertices[mesh.faces]
    y = np.asarray(theirs.vertices)[theirs.faces]
    tolerance = 1e-6 * mesh.size
    assert np.allclose(mesh.face_areas.sum(), theirs.area, rtol=1e-5)
    assert abs(mesh.volume - _volume(y - mesh.bounds.mean(0))) <= 1e-5 * mesh.size**3
    # the same corners, whatever the order: compare them sorted along a direction in which no two are level
    direction = np.array([0.8147, 0.9058, 0.1270])
    assert np.allclose(
        np.sort(x.reshape(-1, 3) @ direction), np.sort(y.reshape(-1, 3) @ direction), atol=10 * tolerance
    )


def _volume(corners: np.ndarray) -> float:
    return float(np.einsum("ij,ij->", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6.0)


@pytest.mark.parametrize(
    ("name", "faces", "seconds"),
    [
        ("meshes/bunny_69451.ply", 69451, 1.0),
        ("meshes/armadillo_29170.obj", 29170, 0.5),
        pytest.param("meshes/dragon_871414.ply.gz", 871414, 5.0, marks=pytest.mark.long),
    ],
)
def test_a_large_mesh_loads_fast(data: pathlib.Path, name: str, faces: int, seconds: float) -> None:
    spent = []
    for _ in range(5):  # processor time, and the best of a few: the machine may be busy
        start = time.process_time()
        mesh = load(data / name)
        spent.append(time.process_time() - start)
        assert mesh.n_faces == faces
        if spent[-1] < seconds:
            break
    assert min(spent) < seconds or min(spent) < seconds * slowness()


def test_a_skinned_robot_has_hands_at_its_arms(data: pathlib.Path) -> None:
    """Without its skins the hands lie 3.3 m to the sides; posed by the joints the whole robot is 3.1 m wide."""
    mesh = load(data / "rigged" / "RobotExpressive.glb")
    assert np.allclose(mesh.bounds, [[-1.521, -0.020, -1.269], [1.579, 4.441, 1.416]], atol=2e-3)
