"""GLB files of bound garments, read back by an independent few lines."""

import json
import struct

import numpy as np
import pytest
from PIL import Image

import pliant
from characters import NaiveCharacter, made_character, naive_shape, post, sleeve, small_character
from khronos import faults, needs_validator
from pliant import Mesh

pytestmark = pytest.mark.compiled


def document(path):
    data = path.read_bytes()
    return json.loads(data[20 : 20 + struct.unpack("<I", data[12:16])[0]])


def check_file(path):
    """Every reference points at something, joints and weights are valid, and nothing is left over."""
    found, twin = document(path), NaiveCharacter(path)
    for node in found["nodes"]:
        assert node.get("mesh", 0) < len(found["meshes"])
        if "skin" not in node:
            continue
        joints = found["skins"][node["skin"]]["joints"]
        assert len(set(joints)) == len(joints)
        assert max(joints) < len(found["nodes"])
        for primitive in found["meshes"][node["mesh"]]["primitives"]:
            parts = sum(f"JOINTS_{k}" in primitive["attributes"] for k in range(2))
            shares = [twin.accessor(primitive["attributes"][f"WEIGHTS_{k}"]) for k in range(parts)]
            assert max(twin.accessor(primitive["attributes"][f"JOINTS_{k}"]).max() for k in range(parts)) < len(joints)
            assert min(w.min() for w in shares) >= 0.0
            count = {found["accessors"][k]["count"] for k in primitive["attributes"].values()}
            assert len(count) == 1
    for view in found["bufferViews"]:
        assert view["byteOffset"] + view["byteLength"] <= found["buffers"][0]["byteLength"]
    for animation in found["animations"]:
        for channel in animation["channels"]:
            target = found["nodes"][channel["target"]["node"]]
            assert channel["target"]["path"] != "weights" or "mesh" in target
    assert {node["mesh"] for node in found["nodes"] if "mesh" in node} == set(range(len(found["meshes"])))


def garment_nodes(path, name):
    """The nodes with a mesh at or below the node of that name."""
    nodes = document(path)["nodes"]
    wanted = [k for k, node in enumerate(nodes) if node.get("name") == name]
    for k in wanted:
        wanted += nodes[k].get("children", [])
    return [k for k in wanted if "mesh" in nodes[k]]


def positions(path, name, animation, time):
    """Positions of the garment by the slow twin, block after block."""
    twin = NaiveCharacter(path)
    out = []
    for k in garment_nodes(path, name):
        primitives = twin.json["meshes"][twin.json["nodes"][k]["mesh"]]["primitives"]
        seen = set()
        for p, primitive in enumerate(primitives):
            if primitive["attributes"]["POSITION"] not in seen:
                seen.add(primitive["attributes"]["POSITION"])
                out.append(twin.block(k, p, animation, time))
    return np.concatenate(out)


def textured(path, mirror=False):
    """A GLB of a sleeve in two meshes, the second at a scaled node, with normals, tangents and a texture."""
    from pliant.io.gltf_build import VERTICES, Builder

    builder, meshes = Builder(), []
    image = builder.add("images", {"bufferView": builder.view(png()), "mimeType": "image/png"})
    material = {"name": "cloth", "pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}}
    builder.add("textures", {"source": image})
    builder.add("materials", material)
    for mesh in (sleeve(name="lower"), sleeve(0.75, 0.95, bottom=0.11, name="upper")):
        n = mesh.vertex_normals
        side = np.column_stack([np.cross(n, [0.0, 1.0, 0.0]), np.ones(len(n))])
        side[:, :3] /= np.linalg.norm(side[:, :3], axis=1)[:, None]
        attributes = {
            "POSITION": builder.accessor(mesh.vertices.astype(np.float32), VERTICES, bounds=True),
            "NORMAL": builder.accessor(n.astype(np.float32), VERTICES),
            "TANGENT": builder.accessor(side.astype(np.float32), VERTICES),
            "TEXCOORD_0": builder.accessor(mesh.vertices[:, :2].astype(np.float32), VERTICES),
        }
        primitive = {"attributes": attributes, "indices": builder.indices(mesh.faces), "material": 0}
        meshes.append(builder.add("meshes", {"name": mesh.name, "primitives": [primitive]}))
    scale = [-1.0, 1.0, 1.0] if mirror else [1.0, 1.0, 1.0]
    nodes = [
        builder.add("nodes", {"name": "lower", "mesh": 0}),
        builder.add("nodes", {"name": "upper", "mesh": 1, "scale": scale}),
    ]
    builder.roots = nodes
    with open(path, "wb") as stream:
        builder.write(stream)
    return path


def png():
    import io

    stream = io.BytesIO()
    Image.new("RGB", (2, 2), (200, 30, 30)).save(stream, "PNG")
    return stream.getvalue()


@pytest.mark.parametrize("alone", [False, True])
def test_a_character_made_in_code_is_written_with_its_garment(tmp_path, alone):
    bound = pliant.bind(sleeve(bottom=0.3), post())
    path = tmp_path / "out.glb"
    assert bound.save(path, alone=alone) == "sleeve"
    for time in (0.0, 0.13, 0.3):
        found = positions(path, "sleeve", 0, time)
        np.testing.assert_allclose(found, bound.garment.shape("sway", time), atol=1e-6)
    names = [mesh.get("name") for mesh in document(path)["meshes"]]
    assert names == (["sleeve"] if alone else ["post", "sleeve"])
    assert [clip["name"] for clip in document(path)["animations"]] == ["sway", "still"]
    check_file(path)


def test_the_file_of_the_character_is_kept_and_its_skin_is_shared(tmp_path):
    pliant.save_character(tmp_path / "post.glb", post())
    body = pliant.load_character(tmp_path / "post.glb")
    bound = pliant.bind(pliant.load(textured(tmp_path / "sleeve.glb")), body)
    name = bound.save(tmp_path / "out.glb")
    before, after = document(tmp_path / "post.glb"), document(tmp_path / "out.glb")
    for kind in ("skins", "animations"):
        assert len(after[kind]) == len(before[kind])
    assert len({after["nodes"][k]["skin"] for k in garment_nodes(tmp_path / "out.glb", name)}) == 1
    assert len(after["images"]) == 1
    materials = {primitive["material"] for mesh in after["meshes"][1:] for primitive in mesh["primitives"]}
    texture = [after["materials"][k]["pbrMetallicRoughness"]["baseColorTexture"]["index"] for k in materials]
    assert after["textures"][texture[0]]["source"] == 0
    again = pliant.load_character(tmp_path / "out.glb")
    worn = pliant.load_character(tmp_path / "out.glb", part=name)
    np.testing.assert_allclose(worn.shape("sway", 0.1), bound.garment.shape("sway", 0.1), atol=1e-6)
    np.testing.assert_allclose(again.shape("sway", 0.1)[: body.mesh.n_vertices], body.shape("sway", 0.1), atol=1e-7)
    assert worn.mesh.uv is not None
    check_file(tmp_path / "out.glb")


@pytest.mark.parametrize("mirror", [False, True])
def test_normals_tangents_and_triangles_point_as_in_the_garments_file(tmp_path, mirror):
    body = post()
    pose = {"clip": "sway", "time": 0.1}
    garment = pliant.load(textured(tmp_path / "sleeve.glb", mirror=mirror))
    bound = pliant.bind(garment, body, **pose)
    name = bound.save(tmp_path / "out.glb")
    twin = NaiveCharacter(tmp_path / "out.glb")
    matrices = body.skin_matrices_at("sway", [0.1])[0]
    for k, count in zip(garment_nodes(tmp_path / "out.glb", name), (1.0, -1.0 if mirror else 1.0)):
        attributes = twin.json["meshes"][twin.json["nodes"][k]["mesh"]]["primitives"][0]["attributes"]
        faces = twin.accessor(twin.json["meshes"][twin.json["nodes"][k]["mesh"]]["primitives"][0]["indices"])
        joints, weights = twin.accessor(attributes["JOINTS_0"]).astype(int), twin.accessor(attributes["WEIGHTS_0"])
        blend = np.einsum("nk,nkij->nij", weights, matrices[joints])[:, :, :3]
        normal = np.einsum("nij,nj->ni", np.linalg.inv(blend).transpose(0, 2, 1), twin.accessor(attributes["NORMAL"]))
        x = twin.block(k, 0, 0, 0.1)
        mesh = Mesh(x, faces.reshape(-1, 3).astype(int))
        normal /= np.linalg.norm(normal, axis=1)[:, None]
        assert np.einsum("ij,ij->i", normal, mesh.vertex_normals).min() > 0.999
        tangent = twin.accessor(attributes["TANGENT"])
        across = np.einsum("nij,nj->ni", blend, tangent[:, :3])
        across /= np.linalg.norm(across, axis=1)[:, None]
        np.testing.assert_allclose(
            across,
            count
            * np.cross(normal, [0.0, 1.0, 0.0])
            / np.linalg.norm(np.cross(normal, [0.0, 1.0, 0.0]), axis=1)[:, None],
            atol=1e-2,
        )
        np.testing.assert_array_equal(tangent[:, 3], count)


@pytest.mark.parametrize("influences", [4, 8])
def test_characters_with_several_skins_and_meshes_on_nodes_are_extended(tmp_path, rng, influences):
    path = made_character(rng).save(tmp_path / "made.gltf")
    body = pliant.load_character(path)
    there = body.shape(None, 0.0)
    garment = Mesh(there + 0.01 * rng.normal(size=there.shape), body.mesh.faces, name="joint 1")
    bound = pliant.bind(garment, body, pose="rest", max_distance=10.0, max_angle=90.0, influences=influences)
    name = bound.save(tmp_path / "out.glb")
    assert name == "joint 1 (2)"
    size = body.mesh.size
    np.testing.assert_allclose(positions(tmp_path / "out.glb", name, None, 0.0), garment.vertices, atol=1e-5 * size)
    assert len(document(tmp_path / "out.glb")["skins"]) == 3
    for k, clip in enumerate(body.clips):
        found = positions(tmp_path / "out.glb", name, k, 0.7)
        expected = bound.garment.shape(clip, 0.7)
        np.testing.assert_allclose(found, expected, atol=2e-5 * np.abs(expected).max())
        before = naive_shape(body, NaiveCharacter(path), k, 0.7)
        after = naive_shape(body, NaiveCharacter(tmp_path / "out.glb"), k, 0.7)
        np.testing.assert_allclose(after, before, atol=1e-9)
    assert "JOINTS_1" in json.dumps(document(tmp_path / "out.glb")["meshes"][-1]) or influences == 4
    check_file(tmp_path / "out.glb")


def test_a_character_in_other_units_and_axes_is_written_in_metres_with_y_up(tmp_path):
    pliant.save_character(tmp_path / "post.glb", post(clips=("sway",)))
    body = pliant.load_character(tmp_path / "post.glb", units="cm", up="z")
    x, y, z = sleeve().vertices.T
    bound = pliant.bind(sleeve().moved(0.01 * np.stack([x, z, -y], 1)), body)
    name = bound.save(tmp_path / "out.glb")
    expected = bound.garment.shape("sway", 0.1)
    np.testing.assert_allclose(positions(tmp_path / "out.glb", name, 0, 0.1), expected, atol=1e-8)
    again = pliant.load_character(tmp_path / "out.glb")
    np.testing.assert_allclose(again.shape("sway", 0.1)[-len(expected) :], expected, atol=1e-8)
    np.testing.assert_allclose(again.shape("sway", 0.1)[: -len(expected)], body.shape("sway", 0.1), atol=1e-8)


def test_the_textures_of_an_obj_are_embedded(tmp_path):
    (tmp_path / "red.png").write_bytes(png())
    (tmp_path / "sleeve.mtl").write_text("newmtl cloth\nKd 1 0 0\nmap_Kd -s 1 1 1 red.png\n")
    mesh = sleeve()
    lines = [f"v {x} {y} {z}" for x, y, z in mesh.vertices] + [f"vt {x} {y}" for x, y, _ in mesh.vertices]
    faces = ["f " + " ".join(f"{i + 1}/{i + 1}" for i in face) for face in mesh.faces]
    (tmp_path / "sleeve.obj").write_text("\n".join(["mtllib sleeve.mtl", *lines, "usemtl cloth", *faces]))
    pliant.bind(pliant.load(tmp_path / "sleeve.obj"), post()).save(tmp_path / "out.glb", alone=True)
    found = document(tmp_path / "out.glb")
    assert found["materials"][0]["pbrMetallicRoughness"]["baseColorTexture"] == {"index": 0}
    assert found["images"][0]["mimeType"] == "image/png"
    assert "TEXCOORD_0" in found["meshes"][0]["primitives"][0]["attributes"]


def test_the_garment_alone_leaves_the_textures_and_morphs_of_the_body_out(tmp_path):
    body = pliant.load_character(small_character().save(tmp_path / "small.gltf"))
    there = body.shape(None, 0.0)
    bound = pliant.bind(Mesh(there, body.mesh.faces, name="patch"), body, pose="rest", max_distance=1.0)
    bound.save(tmp_path / "both.glb")
    bound.save(tmp_path / "alone.glb", alone=True)
    both, alone = document(tmp_path / "both.glb"), document(tmp_path / "alone.glb")
    assert len(both["meshes"]) == 2
    assert len(alone["meshes"]) == 1
    paths = [[c["target"]["path"] for c in d["animations"][0]["channels"]] for d in (both, alone)]
    assert paths == [["rotation", "weights"], ["rotation"]]
    for path in ("both.glb", "alone.glb"):
        check_file(tmp_path / path)
        np.testing.assert_allclose(
            positions(tmp_path / path, "patch", 0, 0.3),
            bound.garment.shape(next(iter(body.clips)), 0.3),
            atol=1e-6,
        )


@needs_validator
def test_the_validator_of_khronos_finds_no_errors(tmp_path, rng):
    pliant.bind(pliant.load(textured(tmp_path / "sleeve.glb")), post()).save(tmp_path / "out.glb")
    # warnings are about skinned meshes beside that of the character, which is not a root
    assert not any(errors for _, errors, *_ in faults([tmp_path / "out.glb"]))
    body = pliant.load_character(made_character(rng).save(tmp_path / "made.gltf"))
    garment = Mesh(body.shape(None, 0.0), body.mesh.faces)
    pliant.bind(garment, body, pose="rest", max_distance=1.0, max_angle=90.0).save(tmp_path / "made.glb")
    # the made document has faults of its own, which are kept
    written, made = faults([tmp_path / "made.glb", tmp_path / "made.gltf"])
    assert written[1] <= made[1]


def test_only_glb_is_written(tmp_path):
    with pytest.raises(ValueError, match=r"expected \.glb"):
        pliant.bind(sleeve(), post()).save(tmp_path / "out.obj")


def test_the_textured_garment_is_written_anew_where_its_document_is_damaged(tmp_path, caplog):
    garment = pliant.load(textured(tmp_path / "sleeve.glb"))
    garment.source.document.json["textures"][0]["source"] = 99
    bound = pliant.bind(garment, post())
    name = bound.save(tmp_path / "out.glb")
    assert "written anew" in caplog.text
    np.testing.assert_allclose(
        positions(tmp_path / "out.glb", name, 0, 0.1), bound.garment.shape("sway", 0.1), atol=1e-6
    )
