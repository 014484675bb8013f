"""Files of pliant in Blender: the positions of every frame, names, texture coordinates, materials and textures.

A mannequin walks in a skirt with a texture; the expected positions are those that the same command writes as npz.
"""

import json
import pathlib
import re

import numpy as np
import PIL.Image
import pytest

import pliant
from blender import opened as blender
from pliant import cli, shapes

pytestmark = blender.needs_blender
FRAMES = 4
RATE = 25.0  # neither Blender's 24 nor pliant's 100
FEW = ["--frames", str(FRAMES), "--dt", str(1.0 / RATE), "--substeps", "8", "--lead-in", "0.04", "--no-measure"]
OFF = ["--self-contact", "off"]  # the files are judged, not the cloth


@pytest.fixture(scope="module")
def wardrobe(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """walker.glb; skirt.obj with two materials, one of them textured; dressed.glb, in which it is bound."""
    folder = tmp_path_factory.mktemp("wardrobe")
    pliant.save_character(folder / "walker.glb", shapes.walking_mannequin(0.7))
    skirt = shapes.skirt(spacing=0.04)
    waist = skirt.vertices[skirt.faces, 1].mean(1) > 1.0
    skirt = pliant.Mesh(
        skirt.vertices,
        skirt.faces,
        name="skirt",
        uv=skirt.uv,
        material=waist.astype(np.int32),
        materials=({"name": "tartan"}, {"name": "band", "color": (0.1, 0.2, 0.3)}),
    )
    pliant.save(folder / "skirt.obj", skirt)
    stripes = np.zeros((8, 16, 3), np.uint8)
    stripes[::2, :, 0] = stripes[:, ::4, 2] = 200
    (folder / "images").mkdir()
    PIL.Image.fromarray(stripes).save(folder / "images" / "stripes.png")
    library = (folder / "skirt.mtl").read_text("utf-8")
    (folder / "skirt.mtl").write_text(library.replace("newmtl tartan\n", "newmtl tartan\nmap_Kd images/stripes.png\n"))
    command = ["bind", folder / "skirt.obj", folder / "walker.glb", "-o", folder / "dressed.glb", "--check-frames", "0"]
    assert cli.run([str(word) for word in command]) == 0
    return folder


@pytest.fixture(scope="module")
def draped(wardrobe) -> dict[str, np.ndarray]:
    """The frames of the run that all files of `drape` hold."""
    return frames_of(drape(wardrobe, "ours.npz"))


def drape(folder: pathlib.Path, name: str) -> pathlib.Path:
    files = [str(folder / "skirt.obj"), str(folder / "walker.glb")]
    assert cli.run(["drape", *files, *FEW, *OFF, "-o", str(folder / name)]) in (0, 1)
    return folder / name


def frames_of(path: pathlib.Path) -> dict[str, np.ndarray]:
    """The corners (T,m,3,3) of the triangles of each clip, by its name."""
    with np.load(path) as found:
        count = sum(key.startswith("frames_") for key in found)
        return {str(found[f"name_{k}"]): found[f"frames_{k}"][:, found[f"faces_{k}"]] for k in range(count)}


def by_material(corners: np.ndarray, mesh: pliant.Mesh) -> np.ndarray:
    """The triangles in the order of a file that has one primitive per material."""
    return corners[..., np.argsort(mesh.material, kind="stable"), :, :]


def assert_tartan(thing: blender.Thing, mesh: pliant.Mesh, *, sorted_faces: bool) -> None:
    """The object has the texture coordinates and the materials of the skirt on the right faces, and its image."""
    order = np.argsort(mesh.material, kind="stable") if sorted_faces else slice(None)
    assert np.abs(thing.uv - mesh.uv[order]).max() < 1e-6
    named = [thing.materials[slot]["name"] for slot in thing.slots]
    assert named == [mesh.materials[k]["name"] for k in mesh.material[order]]
    by_name = {material["name"]: material for material in thing.materials}
    assert by_name["band"]["color"][:3] == pytest.approx([0.1, 0.2, 0.3], abs=1e-6)
    assert not by_name["band"]["images"]
    assert by_name["tartan"]["textured"]
    ((name, size, loaded),) = by_name["tartan"]["images"]
    assert ("stripes" in name, size, loaded) == (True, [16, 8], True)


def test_glb_of_drape(wardrobe, draped, tmp_path):
    path = drape(wardrobe, "run.glb")
    seen = blender.opened(tmp_path, ("glb", path, {}), fps=RATE, frames=range(FRAMES + 1))
    assert set(seen) == {"skirt", "mannequin"}  # as the nodes of the files are named
    skirt = pliant.load(wardrobe / "skirt.obj")
    blender.assert_equal(seen["skirt"].corners, by_material(draped["skirt"], skirt))
    blender.assert_equal(seen["mannequin"].corners, draped["walker"])
    assert_tartan(seen["skirt"], skirt, sorted_faces=True)


@pytest.mark.parametrize("ending", ["usda", "usdc"])
def test_usd_of_drape(wardrobe, draped, tmp_path, ending):
    if ending == "usdc":
        pytest.importorskip("pxr")
    path = drape(wardrobe, f"run.{ending}")
    seen = blender.opened(tmp_path, ("usd", path, {}), fps=RATE, frames=range(FRAMES + 1))
    assert set(seen) == {"skirt", "walker"}
    for name, thing in seen.items():
        blender.assert_equal(thing.corners, draped[name])
    assert_tartan(seen["skirt"], pliant.load(wardrobe / "skirt.obj"), sorted_faces=False)


def test_point_caches_of_drape(wardrobe, draped, tmp_path):
    drape(wardrobe, "run.pc2")
    skirt = [
        ("obj", wardrobe / "skirt.obj", {}),
        ("pc2", wardrobe / "run-skirt.pc2", {"on": "skirt", "frame_start": 0.0}),
    ]
    turned = {"forward_axis": "POS_Z", "up_axis": "NEG_Y"}  # from y up to z up
    walker = [
        ("glb", wardrobe / "walker.glb", {}),
        ("pc2", wardrobe / "run-walker.pc2", {"on": "mannequin", "frame_start": 0.0} | turned),
    ]
    seen = blender.opened(tmp_path, *skirt, *walker, fps=RATE, frames=range(FRAMES + 1))
    blender.assert_equal(seen["skirt"].corners, draped["skirt"])
    blender.assert_equal(seen["mannequin"].corners, draped["walker"])
    assert_tartan(seen["skirt"], pliant.load(wardrobe / "skirt.obj"), sorted_faces=False)


def test_obj_sequence_of_drape(wardrobe, draped, tmp_path):
    (tmp_path / "sequence").mkdir()
    files = [str(wardrobe / "skirt.obj"), str(wardrobe / "walker.glb")]
    assert cli.run(["drape", *files, *FEW, *OFF, "-o", str(tmp_path / "sequence" / "run.obj")]) in (0, 1)
    last = tmp_path / "sequence" / f"run-skirt_{FRAMES:04d}.obj"
    seen = blender.opened(tmp_path, ("obj", last, {}), fps=RATE, frames=[0])
    (thing,) = seen.values()
    blender.assert_equal(thing.corners, draped["skirt"][-1:])
    assert_tartan(thing, pliant.load(wardrobe / "skirt.obj"), sorted_faces=False)


def test_glb_of_bind(wardrobe, tmp_path):
    """At keyframes, of which the clip has 40 per second: between them Blender interpolates quaternions by component."""
    path, times, rate = wardrobe / "dressed.glb", [0, 3, 7, 12], 40.0
    for fps, tolerance in ((rate, blender.TOLERANCE), (RATE, 2e-5)):
        seen = blender.opened(tmp_path, ("glb", path, {}), fps=fps, frames=times)
        assert set(seen) == {"skirt", "mannequin"}
        for name, thing in seen.items():
            clip, _ = pliant.load_clip(path, part=name, fps=fps)
            blender.assert_equal(thing.corners, clip.frames[times][:, clip.mesh.faces], tolerance)
    assert_tartan(seen["skirt"], pliant.load(wardrobe / "skirt.obj"), sorted_faces=True)


def test_a_character_that_wears_a_texture_keeps_it_when_it_is_draped(wardrobe, tmp_path):
    cape = shapes.cloth(0.5, 0.5, 9)
    pliant.save(tmp_path / "cape.obj", cape.moved(cape.vertices + np.array([0.0, 1.8, 0.0])))
    for name in ("ours.npz", "run.glb"):
        files = [str(tmp_path / "cape.obj"), str(wardrobe / "dressed.glb")]
        assert cli.run(["drape", *files, *FEW, *OFF, "-o", str(tmp_path / name)]) in (0, 1)
    seen = blender.opened(tmp_path, ("glb", tmp_path / "run.glb", {}), fps=RATE, frames=range(FRAMES + 1))
    ours = frames_of(tmp_path / "ours.npz")
    assert set(seen) == {"cape", "skirt", "mannequin"}
    blender.assert_equal(seen["cape"].corners, ours["cape"])
    body = np.concatenate([seen[name].corners for name in ("mannequin", "skirt")], 1)
    blender.assert_equal(body, ours["dressed"])
    assert_tartan(seen["skirt"], pliant.load(wardrobe / "skirt.obj"), sorted_faces=True)


@pytest.mark.parametrize("ending", ["glb", "usda"])
def test_files_of_fix(wardrobe, tmp_path, ending):
    given = [str(wardrobe / "dressed.glb"), "--part", "skirt", "--body-part", "mannequin", "--fps", "5"]
    for name in ("ours.npz", f"fixed.{ending}"):
        assert cli.run(["fix", *given, "--clearance", "9mm", "--no-tangles", "-o", str(tmp_path / name)]) in (0, 1)
    (ours,) = frames_of(tmp_path / "ours.npz").values()
    seen = blender.opened(tmp_path, (ending[:3], tmp_path / f"fixed.{ending}", {}), fps=5.0, frames=range(len(ours)))
    (thing,) = seen.values()
    assert thing.name == "skirt"
    blender.assert_equal(thing.corners, ours)
    assert_tartan(thing, pliant.load(wardrobe / "skirt.obj"), sorted_faces=True)


def test_a_point_cache_goes_to_fix_and_back(wardrobe, draped, tmp_path):
    drape(wardrobe, "run.pc2")
    skirt, back = pliant.load(wardrobe / "skirt.obj"), np.array([0.0, 0.0, -0.03])
    clip, _ = pliant.load_clip(wardrobe / "skirt.obj", points=wardrobe / "run-skirt.pc2")
    pliant.save_animation(tmp_path / "back.pc2", [pliant.Clip(skirt, clip.frames + back)], RATE)
    given = [str(wardrobe / "skirt.obj"), "--points", str(tmp_path / "back.pc2"), "--body"]
    given += [str(wardrobe / "walker.glb"), "--body-points", str(wardrobe / "run-walker.pc2"), "--fps", str(RATE)]
    for name in ("ours.npz", "fixed.pc2"):
        assert cli.run(["fix", *given, "--clearance", "9mm", "--no-tangles", "-o", str(tmp_path / name)]) in (0, 1)
    (ours,) = frames_of(tmp_path / "ours.npz").values()
    assert np.abs(ours - draped["skirt"] - back).max() > 1e-3  # it was repaired
    cache = ("pc2", tmp_path / "fixed.pc2", {"on": "skirt", "frame_start": 0.0})
    seen = blender.opened(tmp_path, ("obj", wardrobe / "skirt.obj", {}), cache, fps=RATE, frames=range(FRAMES + 1))
    blender.assert_equal(seen["skirt"].corners, ours)
    assert_tartan(seen["skirt"], skirt, sorted_faces=False)


def test_more_frames_than_a_node_has_morph_targets(tmp_path, monkeypatch):
    monkeypatch.setattr("pliant.io.gltf_write.MOST_TARGETS", 3)
    cloth = shapes.cloth(0.5, 0.5, 5)
    x = np.stack([cloth.vertices + 0.1 * np.sin(t + 3.0 * cloth.vertices[:, [1, 2, 0]]) for t in range(9)])
    pliant.save_animation(tmp_path / "long.glb", [pliant.Clip(cloth, x)], 30.0)
    seen = blender.opened(tmp_path, ("glb", tmp_path / "long.glb", {}), fps=30.0, frames=range(9))
    sizes = {name: np.ptp(thing.x, axis=1).max(1) for name, thing in seen.items()}
    for t in range(9):
        (shown,) = [name for name in seen if sizes[name][t] > 1e-3]
        blender.assert_equal(seen[shown].corners[t : t + 1], x[t : t + 1][:, cloth.faces])


@pytest.mark.parametrize(
    ("name", "clip"), [("CesiumMan", None), ("Fox", "Walk"), ("KayKit_Knight", None), ("RobotExpressive", "Dance")]
)
def test_characters_of_others_keep_their_textures(data, tmp_path, name, clip):
    path = data / "rigged" / f"{name}.glb"
    body = pliant.load_character(path)
    size = float(np.ptp(body.shape(None, 0.0), axis=0).max())
    top = body.shape(None, 0.0).max(0)[1]
    cloth = shapes.cloth(0.4 * size, 0.4 * size, 7)
    pliant.save(tmp_path / "scarf.obj", cloth.moved(cloth.vertices + np.array([0.0, top + 0.2 * size, 0.0])))
    which = [] if clip is None else ["--clip", clip]
    for out in ("ours.npz", "run.glb", "run.usda"):
        files = [str(tmp_path / "scarf.obj"), str(path)]
        assert cli.run(["drape", *files, *which, *FEW, *OFF, "-o", str(tmp_path / out)]) in (0, 1)
    ours = frames_of(tmp_path / "ours.npz")
    given = blender.opened(tmp_path, ("glb", path, {}), fps=RATE, frames=[0])
    for kind in ("glb", "usd"):
        file = tmp_path / ("run.glb" if kind == "glb" else "run.usda")
        seen = blender.opened(tmp_path, (kind, file, {}), fps=RATE, frames=range(FRAMES + 1))
        blender.assert_equal(seen.pop("scarf").corners, ours["scarf"])
        seen = {plain(key): thing for key, thing in seen.items()}
        order = in_file_order(path) if kind == "glb" else list(seen)
        corners = np.concatenate([seen[key].corners for key in order], 1)
        blender.assert_equal(corners, ours[name][:, kept_faces(body.mesh.faces)])
        if kind == "glb":
            assert set(seen) == {plain(key) for key in given}
        assert images(seen) == images(given)


def plain(name: str) -> str:
    """A name without the number that Blender appends where a bone and a mesh have the same."""
    return re.sub(r"\.\d{3}$", "", name)


def kept_faces(faces: np.ndarray) -> np.ndarray:
    """The faces that Blender keeps: those of three vertices, and of equal ones the first."""
    ordered = np.sort(faces, 1)
    first = np.unique(ordered, axis=0, return_index=True)[1]
    return np.array([k for k in np.sort(first) if len(set(ordered[k].tolist())) == 3])


def in_file_order(path: pathlib.Path) -> list[str]:
    """The names of the nodes with a mesh of a GLB."""
    data = path.read_bytes()
    document = json.loads(data[20 : 20 + int.from_bytes(data[12:16], "little")])
    return [plain(node["name"]) for node in document["nodes"] if "mesh" in node]


def images(things: dict[str, blender.Thing]) -> set[tuple]:
    """The sizes of all images that materials have."""
    found = [m["images"] for thing in things.values() for m in thing.materials if m["name"]]
    assert all(loaded for listed in found for _, _, loaded in listed)
    return {tuple(size) for listed in found for _, size, _ in listed}
