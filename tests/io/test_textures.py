"""Materials and textures in every output: those of an OBJ in GLB, USD and sequences, those of a GLB everywhere."""

import io
import json
import pathlib

import numpy as np
import PIL.Image
import pytest

import pliant
from characters import post, sleeve
from khronos import faults, needs_validator
from pliant.motion.deforming import Skinned

RATE = 30.0


def png() -> bytes:
    stream = io.BytesIO()
    PIL.Image.fromarray(np.full((4, 8, 3), 90, np.uint8)).save(stream, "PNG")
    return stream.getvalue()


@pytest.fixture
def wardrobe(tmp_path) -> pathlib.Path:
    """skirt.obj with a textured material and a plain one, and dressed.glb: the post that wears it."""
    folder = tmp_path / "given"
    folder.mkdir()
    tube = sleeve(name="skirt")
    uv = np.stack(
        [np.arctan2(*tube.vertices[tube.faces][..., [0, 2]].transpose(2, 0, 1)), tube.vertices[tube.faces, 1]], 2
    )
    kind = (np.arange(tube.n_faces) % 3 == 0).astype(np.int32)
    listed = ({"name": "tartan"}, {"name": "band", "color": (0.1, 0.2, 0.3)})
    mesh = pliant.Mesh(tube.vertices, tube.faces, name="skirt", uv=uv, material=kind, materials=listed)
    pliant.save(folder / "skirt.obj", mesh)
    (folder / "images").mkdir()
    (folder / "images" / "stripes.png").write_bytes(png())
    library = (folder / "skirt.mtl").read_text("utf-8")
    (folder / "skirt.mtl").write_text(library.replace("newmtl tartan\n", "newmtl tartan\nmap_Kd images/stripes.png\n"))
    pliant.save_character(folder / "post.glb", post())
    pliant.bind(pliant.load(folder / "skirt.obj"), pliant.load_character(folder / "post.glb")).save(
        folder / "dressed.glb"
    )
    return folder


def moving(mesh: pliant.Mesh) -> pliant.Clip:
    return pliant.Clip(mesh, np.stack([mesh.vertices, mesh.vertices + 0.1]))


def played(path: pathlib.Path) -> pliant.Clip:
    """The character of a file with a keyframe for each of three frames, as a run writes it."""
    character = pliant.load_character(path)
    keyed = Skinned(character, "sway").keyed(np.arange(3) / RATE)
    x = np.stack([keyed.shape("run", t / RATE) for t in range(3)])
    return pliant.Clip(character.mesh.moved(x[0]), x, skin=keyed)


def document(path: pathlib.Path) -> dict:
    data = path.read_bytes()
    return json.loads(data[20 : 20 + int.from_bytes(data[12:16], "little")])


def textured(found: dict) -> list[str]:
    """The names of the materials with a colour texture whose image is in the file."""
    listed = []
    for material in found["materials"]:
        info = material["pbrMetallicRoughness"].get("baseColorTexture")
        if info is not None:
            image = found["images"][found["textures"][info["index"]]["source"]]
            assert found["bufferViews"][image["bufferView"]]["byteLength"] == len(png())
            listed.append(material["name"])
    return listed


def test_a_clip_of_an_obj_has_its_texture_as_glb(wardrobe, tmp_path):
    pliant.save_animation(tmp_path / "a.glb", [moving(pliant.load(wardrobe / "skirt.obj"))], RATE)
    assert textured(document(tmp_path / "a.glb")) == ["tartan"]


def test_a_character_that_is_played_keeps_meshes_materials_and_textures_of_its_file(wardrobe, tmp_path):
    clip = played(wardrobe / "dressed.glb")
    pliant.save_animation(tmp_path / "a.glb", [clip], RATE)
    found = document(tmp_path / "a.glb")
    assert [node["name"] for node in found["nodes"] if "mesh" in node] == ["post", "skirt"]
    assert len(found["animations"]) == 1
    assert textured(found) == ["tartan"]
    back = pliant.load_character(tmp_path / "a.glb")
    for t, x in enumerate(clip.frames):
        assert np.abs(back.shape("pliant", t / RATE) - x).max() < 1e-6


def test_a_character_with_other_weights_than_its_file_is_written_anew(wardrobe, tmp_path):
    character = pliant.load_character(wardrobe / "post.glb")
    stiff = pliant.Character(
        character.mesh,
        character.names,
        character.parents,
        np.zeros((character.mesh.n_vertices, 1), np.int32),
        np.ones((character.mesh.n_vertices, 1)),
        character.clips,
        character.skeleton,
        character.nodes,
        character.inverse,
    )
    keyed = Skinned(stiff, "sway").keyed(np.arange(3) / RATE)
    x = np.stack([keyed.shape("run", t / RATE) for t in range(3)])
    pliant.save_animation(tmp_path / "a.glb", [pliant.Clip(character.mesh.moved(x[0]), x, skin=keyed)], RATE)
    back = pliant.load_character(tmp_path / "a.glb")
    assert np.abs(back.shape("pliant", 2 / RATE) - x[2]).max() < 1e-6


@needs_validator
def test_the_khronos_validator_finds_nothing(wardrobe, tmp_path):
    clips = [moving(pliant.load(wardrobe / "skirt.obj")), moving(pliant.load(wardrobe / "dressed.glb", part="skirt"))]
    pliant.save_animation(tmp_path / "a.glb", clips, RATE)
    pliant.save_animation(tmp_path / "b.glb", [played(wardrobe / "dressed.glb")], RATE)
    assert faults([tmp_path / "a.glb", tmp_path / "b.glb"]) == []


@pytest.mark.parametrize("name", ["skirt.obj", "dressed.glb"])
def test_usd_has_the_materials_and_the_image_beside_it(wardrobe, tmp_path, name):
    written = pliant.save_animation(tmp_path / "a.usda", [moving(pliant.load(wardrobe / name))], RATE)
    assert written == [tmp_path / "a.usda", tmp_path / "a-textures" / "stripes.png"]
    assert written[1].read_bytes() == png()
    text = written[0].read_text("utf-8")
    assert "asset inputs:file = @./a-textures/stripes.png@" in text
    assert "color3f inputs:diffuseColor.connect = </World/Materials/tartan/color.outputs:rgb>" in text
    assert "inputs:diffuseColor = (0.1, 0.2, 0.3)" in text.replace("0.100000001", "0.1")
    assert text.count("rel material:binding = </World/Materials/tartan>") == 1


@pytest.mark.parametrize("name", ["skirt.obj", "dressed.glb"])
def test_a_sequence_has_its_images_beside_it(wardrobe, tmp_path, name):
    out = tmp_path / "frames"
    first, *_ = pliant.save_animation(out / "a.obj", [moving(pliant.load(wardrobe / name))], RATE)
    back = pliant.load(first)
    (texture,) = [m["texture"] for m in back.materials if "texture" in m]
    assert (out / texture).read_bytes() == png()


def test_a_texture_outside_of_the_folder_is_not_copied(wardrobe, tmp_path):
    (tmp_path / "secret.png").write_bytes(png())
    library = (wardrobe / "skirt.mtl").read_text("utf-8")
    (wardrobe / "skirt.mtl").write_text(library.replace("images/stripes.png", "../secret.png"))
    pliant.save(tmp_path / "out" / "a.obj", pliant.load(wardrobe / "skirt.obj"))
    pliant.save(tmp_path / "out" / "a.usda", pliant.load(wardrobe / "skirt.obj"))
    assert sorted(path.name for path in (tmp_path / "out").rglob("*")) == ["a.obj", "a.usda", "skirt.mtl"]
