"""What every output keeps of the look of a character: the table of docs/files.md, row by row."""

import dataclasses
import pathlib

import numpy as np
import pytest

import packed_files
import pliant
from coat import COLORS, IMAGES, MATERIALS, UV, saved_coat
from khronos import faults, needs_validator
from pliant.motion.deforming import Skinned


@pytest.fixture
def coat(tmp_path) -> pathlib.Path:
    """coat.glb with outside.png beside it."""
    return saved_coat(tmp_path)


def sampled(kind: int) -> np.ndarray:
    """(3,2) where the face of a material samples its colour texture, v up; worked out by hand from the extension."""
    uv = UV[kind][[0, 1, 2] if kind == 0 else [0, 2, 3]].astype(np.float64)
    if kind == 0:
        c, s = np.cos(0.5), np.sin(0.5)
        u, v = (uv * [2.0, 3.0]).T
        uv = np.column_stack([c * u + s * v + 0.25, -s * u + c * v + 0.5])
    return np.column_stack([uv[:, 0], 1.0 - uv[:, 1]])


def kept_in(path: pathlib.Path) -> dict:
    """The document of a GLB, whose materials must be those above with the images in the file."""
    content = path.read_bytes()
    document = packed_files.json_of(content)
    named = {material["name"]: material for material in document["materials"]}
    for given in MATERIALS:
        found = named[given["name"]]
        for entry, out in (
            (given, found),
            *((given[k], found[k]) for k in ("pbrMetallicRoughness", "normalTexture") if k in given),
        ):
            assert all(out[key] == value for key, value in entry.items() if isinstance(value, str | float | list))
        assert set(found["extensions"]) == set(given["extensions"])
        base = found["pbrMetallicRoughness"]["baseColorTexture"]
        assert {k: v for k, v in base.items() if k != "index"} == {
            k: v for k, v in given["pbrMetallicRoughness"]["baseColorTexture"].items() if k != "index"
        }
    images = []
    for image in document["images"]:
        view = document["bufferViews"][image["bufferView"]]
        start = view.get("byteOffset", 0)
        images.append(packed_files.binary_of(content)[start : start + view["byteLength"]])
    assert sorted(images) == sorted(IMAGES.values())
    primitives = [p for mesh in document["meshes"] for p in mesh["primitives"]]
    assert all({"TEXCOORD_0", "TEXCOORD_1", "COLOR_0"} <= set(p["attributes"]) for p in primitives)
    return document


def clips(path: pathlib.Path) -> dict[str, list[pliant.Clip]]:
    """The ways in which a run holds a character: moved points, and bones that play a clip."""
    mesh = pliant.load(path)
    character = pliant.load_character(path)
    keyed = Skinned(character, "rise").keyed(np.arange(3) / 30.0)
    x = np.stack([keyed.shape("run", t / 30.0) for t in range(3)])
    return {
        "points": [pliant.Clip(mesh, np.stack([mesh.vertices, mesh.vertices + 0.1]))],
        "bones": [pliant.Clip(character.mesh.moved(x[0]), x, skin=keyed)],
    }


def test_texture_coordinates_are_those_at_which_the_colour_texture_is_sampled(coat):
    mesh = pliant.load(coat)
    np.testing.assert_allclose(mesh.uv[0], sampled(0), atol=1e-6)
    np.testing.assert_allclose(mesh.uv[1], sampled(1), atol=1e-6)


def test_a_glb_of_the_mesh_keeps_everything(coat, tmp_path):
    mesh = pliant.load(coat)
    pliant.save(tmp_path / "a.glb", mesh.moved(mesh.vertices + 0.5))
    kept_in(tmp_path / "a.glb")


@pytest.mark.parametrize("way", ["points", "bones"])
def test_a_glb_of_a_run_keeps_everything(coat, tmp_path, way):
    pliant.save_animation(tmp_path / "a.glb", clips(coat)[way], 30.0)
    kept_in(tmp_path / "a.glb")


def test_a_glb_of_the_character_keeps_everything(coat, tmp_path):
    pliant.save_character(tmp_path / "a.glb", pliant.load_character(coat))
    kept_in(tmp_path / "a.glb")


def test_a_character_whose_look_was_changed_is_written_as_it_is_now(coat, tmp_path):
    given = pliant.load_character(coat)
    green = [dict(material, color=[0.0, 1.0, 0.0]) for material in given.mesh.materials]
    for name, change in {"uv": {"uv": 0.5 * given.mesh.uv}, "green": {"materials": tuple(green)}}.items():
        mesh = dataclasses.replace(given.mesh, **change)
        pliant.save_character(tmp_path / f"{name}.glb", dataclasses.replace(given, mesh=mesh))
    np.testing.assert_allclose(pliant.load(tmp_path / "uv.glb").uv, 0.5 * given.mesh.uv, atol=1e-6)
    assert [m["color"] for m in pliant.load(tmp_path / "green.glb").materials] == [[0.0, 1.0, 0.0]] * 2


@needs_validator
def test_the_validator_finds_no_error(coat, tmp_path):
    for way, given in clips(coat).items():
        pliant.save_animation(tmp_path / f"{way}.glb", given, 30.0)
    assert [found for found in faults(tmp_path.glob("*.glb")) if found[1]] == []


@pytest.mark.parametrize("way", ["points", "bones"])
def test_usd_keeps_colours_images_coordinates_and_vertex_colours(coat, tmp_path, way):
    written = pliant.save_animation(tmp_path / "a.usda", clips(coat)[way], 30.0)
    assert {p.read_bytes() for p in written[1:]} == set(IMAGES.values())
    text = written[0].read_text("utf-8")
    assert "inputs:roughness = 0.25" in text
    assert "inputs:emissiveColor = (0, 1, 0)" in text
    for name in ("woven", "outside", "bumps"):
        assert f"@./a-textures/{name}.png@" in text
    colours = text.split("primvars:displayColor = [")[1].split("]")[0]
    assert "(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1)" in colours
    stored = text.split("texCoord2f[] primvars:st = [")[1].split("]")[0]
    uv = np.array(stored.replace("(", "").replace(")", "").split(","), np.float64).reshape(-1, 3, 2)
    np.testing.assert_allclose(uv, [sampled(0), sampled(1)], atol=1e-6)


def test_obj_keeps_colours_images_coordinates_and_vertex_colours(coat, tmp_path):
    mesh = pliant.load(coat)
    pliant.save(tmp_path / "a.obj", mesh)
    back = pliant.load(tmp_path / "a.obj")
    np.testing.assert_allclose(back.uv, mesh.uv, atol=1e-12)
    np.testing.assert_allclose(back.marks.colors, COLORS[:, :3] / 255.0, atol=1e-6)
    assert [material["name"] for material in back.materials] == ["coat", "hem"]
    images = [(tmp_path / material["texture"]).read_bytes() for material in back.materials]
    assert images == [IMAGES["woven"], IMAGES["outside"]]
    coat_lines, hem_lines = ((tmp_path / "a.mtl").read_text().split("newmtl ")[k].splitlines() for k in (1, 2))
    assert {"Pr 0.25", "Pm 1.0", "norm a-textures/bumps.png"} <= set(coat_lines)
    assert {"Pr 1.0", "Ke 0.0 1.0 0.0"} <= set(hem_lines)
    assert (tmp_path / "a-textures" / "bumps.png").read_bytes() == IMAGES["bumps"]


def test_an_obj_with_vertex_colours_keeps_them_as_glb(tmp_path):
    (tmp_path / "a.obj").write_text("v 0 0 0 1 0 0\nv 1 0 0 0 1 0\nv 0 1 0 0.5 0.5 0.5\nf 1 2 3\n")
    pliant.save(tmp_path / "a.glb", pliant.load(tmp_path / "a.obj"))
    np.testing.assert_allclose(
        pliant.load(tmp_path / "a.glb").marks.colors, [[1, 0, 0], [0, 1, 0], [0.5, 0.5, 0.5]], atol=1e-6
    )


def test_colours_outside_of_their_range_stay_readable_in_obj(tmp_path):
    """Beyond 1, a reader takes the colours of the whole file for numbers of 0 to 255."""
    sheet = pliant.shapes.cloth(1.0, 1.0, 2)
    marks = dataclasses.replace(
        sheet.marks, colors=np.array([[1.5, 0.5, -0.1]] + [[0.25] * 3] * (sheet.n_vertices - 1))
    )
    pliant.save(tmp_path / "a.obj", dataclasses.replace(sheet, marks=marks))
    assert pliant.load(tmp_path / "a.obj").marks.colors[:2].tolist() == [[1.0, 0.5, 0.0], [0.25] * 3]


@pytest.mark.parametrize("ending", ["pc2", "mdd", "npz"])
def test_point_caches_leave_the_file_of_the_character_as_it_is(coat, tmp_path, ending):
    before = coat.read_bytes()
    written = pliant.save_animation(tmp_path / f"a.{ending}", clips(coat)["points"], 30.0)
    assert [path.name for path in written] == [f"a.{ending}"]
    assert coat.read_bytes() == before


def test_vertex_animation_textures_keep_colours_and_textures(coat, tmp_path):
    _, _, glb, _ = pliant.save_animation(tmp_path / "a.vat.png", clips(coat)["points"], 30.0)
    kept_anew(glb)
    mesh = pliant.load(glb)
    np.testing.assert_allclose(mesh.uv, [sampled(0), sampled(1)], atol=1e-6)


def kept_anew(path: pathlib.Path) -> None:
    """The materials of a GLB that was written anew have the numbers and the images of those above."""
    content = path.read_bytes()
    document = packed_files.json_of(content)
    first, second = document["materials"]
    assert [first["name"], second["name"]] == ["coat", "hem"]
    assert [m["pbrMetallicRoughness"]["roughnessFactor"] for m in (first, second)] == [0.25, 1.0]
    assert [m["pbrMetallicRoughness"]["metallicFactor"] for m in (first, second)] == [1.0, 1.0]
    assert second["emissiveFactor"] == [0.0, 1.0, 0.0]
    images = []
    for info in (first["pbrMetallicRoughness"]["baseColorTexture"], first["normalTexture"]):
        images.append(image_of(content, document, info))
    images.append(image_of(content, document, second["pbrMetallicRoughness"]["baseColorTexture"]))
    assert images == [IMAGES["woven"], IMAGES["bumps"], IMAGES["outside"]]


def image_of(content: bytes, document: dict, info: dict) -> bytes:
    view = document["bufferViews"][document["images"][document["textures"][info["index"]]["source"]]["bufferView"]]
    start = view.get("byteOffset", 0)
    return packed_files.binary_of(content)[start : start + view["byteLength"]]


def test_a_mesh_with_other_faces_than_its_file_keeps_its_materials(coat, tmp_path):
    mesh = pliant.load(coat)
    turned = dataclasses.replace(mesh, faces=mesh.faces[:, [1, 2, 0]], uv=mesh.uv[:, [1, 2, 0]])
    pliant.save(tmp_path / "a.glb", turned)
    kept_anew(tmp_path / "a.glb")


@pytest.mark.parametrize(("mode", "wanted"), [("BLEND", ("BLEND", None)), ("MASK", ("MASK", 0.25))])
def test_opacity_and_emission_are_kept_where_a_material_is_written_anew(coat, tmp_path, mode, wanted):
    content = coat.read_bytes()
    document = packed_files.json_of(content)
    document["materials"][1] |= {"alphaMode": mode, **({"alphaCutoff": 0.25} if mode == "MASK" else {})}
    document["materials"][1]["pbrMetallicRoughness"]["baseColorFactor"] = [1.0, 1.0, 1.0, 0.5]
    document["materials"][1]["emissiveTexture"] = {"index": 2, "texCoord": 1}
    coat.write_bytes(packed_files.glb(document, packed_files.binary_of(content)))
    _, _, glb, _ = pliant.save_animation(tmp_path / "a.vat.png", clips(coat)["points"], 30.0)
    found = packed_files.json_of(glb.read_bytes())["materials"][1]
    assert (
        image_of(glb.read_bytes(), packed_files.json_of(glb.read_bytes()), found["emissiveTexture"]) == IMAGES["bumps"]
    )
    assert (found["alphaMode"], found.get("alphaCutoff")) == wanted
    assert found["pbrMetallicRoughness"]["baseColorFactor"] == [1.0, 1.0, 1.0, 0.5]
    pliant.save(tmp_path / "a.obj", pliant.load(coat))
    assert {"d 0.5", "map_Ke a-textures/bumps.png"} <= set((tmp_path / "a.mtl").read_text().splitlines())
