"""glTF: geometry in every encoding, and documents that lie."""

import base64
import json
import pathlib
import struct
import time
from typing import Any

import numpy as np
import pytest

from pliant.errors import MeshFileError
from pliant.io import load

X = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]], "<f4")
BODY = X.tobytes() + np.array([0, 1, 2, 2, 1, 3], "<u2").tobytes()


def document(**changes: Any) -> dict[str, Any]:
    """Two triangles; `changes` replace top-level entries."""
    base: dict[str, Any] = {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]}],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": 4, "type": "VEC3"},
            {"bufferView": 1, "componentType": 5123, "count": 6, "type": "SCALAR"},
        ],
        "bufferViews": [
            {"buffer": 0, "byteLength": 48},
            {"buffer": 0, "byteOffset": 48, "byteLength": 12},
        ],
        "buffers": [
            {"byteLength": 60, "uri": "data:application/octet-stream;base64," + base64.b64encode(BODY).decode()}
        ],
    }
    return base | changes


def put(folder: pathlib.Path, content: Any, name: str = "a.gltf") -> pathlib.Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return path


def link(path: pathlib.Path, target: pathlib.Path) -> None:
    try:
        path.symlink_to(target)
    except OSError:
        pytest.skip("this account may not make symbolic links")


def refused(path: pathlib.Path) -> MeshFileError:
    start = time.process_time()
    with pytest.raises(MeshFileError) as error:
        load(path)
    assert time.process_time() - start < 2.0
    return error.value


def glb(text: bytes, body: bytes = BODY) -> bytes:
    text += b" " * (-len(text) % 4)
    chunks = struct.pack("<II", len(text), 0x4E4F534A) + text + struct.pack("<II", len(body), 0x004E4942) + body
    return struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks


def test_the_buffer_may_be_inline_beside_or_in_the_glb(tmp_path: pathlib.Path) -> None:
    (tmp_path / "a b.bin").write_bytes(BODY)
    beside = document(buffers=[{"byteLength": 60, "uri": "a%20b.bin"}])
    inside = json.dumps(document(buffers=[{"byteLength": 60}])).encode()
    for path in (put(tmp_path, document()), put(tmp_path, beside, "b.gltf"), put(tmp_path, glb(inside), "c.glb")):
        mesh = load(path)
        assert np.array_equal(mesh.vertices, X)
        assert mesh.faces.tolist() == [[0, 1, 2], [2, 1, 3]]


@pytest.mark.parametrize(
    ("mode", "indices", "faces"),
    [
        (5, [0, 1, 2, 3], [[0, 1, 2], [2, 1, 3]]),
        (6, [0, 1, 3, 2], [[0, 1, 3], [0, 3, 2]]),
        (5, [0, 1, 2, 2, 2, 3, 1], [[0, 1, 2], [2, 3, 1]]),
    ],
)
def test_strips_and_fans_become_triangles(
    tmp_path: pathlib.Path, mode: int, indices: list[int], faces: list[list[int]]
) -> None:
    body = X.tobytes() + np.array(indices, "u1").tobytes()
    doc = document(
        meshes=[{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1, "mode": mode}]}],
        bufferViews=[{"buffer": 0, "byteLength": 48}, {"buffer": 0, "byteOffset": 48, "byteLength": len(indices)}],
        buffers=[{"byteLength": len(body)}],
    )
    doc["accessors"][1] |= {"componentType": 5121, "count": len(indices)}
    found = load(put(tmp_path, glb(json.dumps(doc).encode(), body), "a.glb")).faces.tolist()
    assert sorted(map(sorted, found)) == sorted(map(sorted, faces))
    assert {tuple(np.roll(f, -int(np.argmin(f)))) for f in found} == {
        tuple(np.roll(f, -int(np.argmin(f)))) for f in faces
    }


def test_nodes_move_their_meshes_parents_first(tmp_path: pathlib.Path) -> None:
    half = float(np.sqrt(0.5))
    nodes = [
        {"children": [1], "translation": [10, 0, 0]},
        {"mesh": 0, "rotation": [0, 0, half, half], "scale": [2, 1, 1]},
    ]
    mesh = load(put(tmp_path, document(nodes=nodes)))
    # scaled along x, turned a quarter about z, then moved
    assert np.allclose(mesh.vertices, [[10, 0, 0], [10, 2, 0], [9, 0, 0], [9, 2, 0]], atol=1e-12)


def test_a_mirroring_node_keeps_the_outside_outside(tmp_path: pathlib.Path) -> None:
    plain = load(put(tmp_path, document()))
    mirrored = load(put(tmp_path, document(nodes=[{"mesh": 0, "scale": [-1, 1, 1]}]), "b.gltf"))
    assert np.array_equal(mirrored.face_normals, plain.face_normals)


def test_normalised_and_interleaved_integers_are_read(tmp_path: pathlib.Path) -> None:
    rows = np.zeros((4, 8), "u1")
    rows[:, :3] = X * 255
    body = rows.tobytes() + BODY[48:]
    doc = document(buffers=[{"byteLength": len(body)}])
    doc["bufferViews"] = [
        {"buffer": 0, "byteLength": 32, "byteStride": 8},
        {"buffer": 0, "byteOffset": 32, "byteLength": 12},
    ]
    doc["accessors"][0] |= {"componentType": 5121, "normalized": True}
    assert np.array_equal(load(put(tmp_path, glb(json.dumps(doc).encode(), body), "a.glb")).vertices, X)


def test_a_sparse_accessor_replaces_what_it_lists(tmp_path: pathlib.Path) -> None:
    body = BODY + np.array([3, 0], "<u2").tobytes() + np.array([[7, 8, 9]], "<f4").tobytes()
    doc = document(buffers=[{"byteLength": len(body)}])
    doc["bufferViews"] += [
        {"buffer": 0, "byteOffset": 60, "byteLength": 4},
        {"buffer": 0, "byteOffset": 64, "byteLength": 12},
    ]
    doc["accessors"][0]["sparse"] = {
        "count": 1,
        "indices": {"bufferView": 2, "componentType": 5123},
        "values": {"bufferView": 3},
    }
    mesh = load(put(tmp_path, glb(json.dumps(doc).encode(), body), "a.glb"))
    assert mesh.vertices.tolist() == [[0, 0, 0], [1, 0, 0], [0, 1, 0], [7, 8, 9]]


def test_a_skin_stands_in_the_pose_of_its_joints(tmp_path: pathlib.Path) -> None:
    """Two joints pull half each: the mean of a lift by 2 and a shift by 4, wherever the skinned node itself is."""
    joints = np.tile(np.array([[0, 1, 0, 0]], "u1"), (4, 1)).tobytes()
    weights = np.tile(np.array([[0.5, 0.5, 0, 0]], "<f4"), (4, 1)).tobytes()
    body = BODY + joints + weights
    doc = document(
        buffers=[{"byteLength": len(body)}],
        scenes=[{"nodes": [0, 1, 2]}],
        nodes=[
            {"mesh": 0, "skin": 0, "translation": [99, 0, 0]},
            {"translation": [0, 2, 0]},
            {"translation": [4, 0, 0]},
        ],
        skins=[{"joints": [1, 2]}],
    )
    doc["bufferViews"] += [
        {"buffer": 0, "byteOffset": 60, "byteLength": 16},
        {"buffer": 0, "byteOffset": 76, "byteLength": 64},
    ]
    doc["accessors"] += [
        {"bufferView": 2, "componentType": 5121, "count": 4, "type": "VEC4"},
        {"bufferView": 3, "componentType": 5126, "count": 4, "type": "VEC4"},
    ]
    doc["meshes"][0]["primitives"][0]["attributes"] |= {"JOINTS_0": 2, "WEIGHTS_0": 3}
    assert np.array_equal(
        load(put(tmp_path, glb(json.dumps(doc).encode(), body), "a.glb")).vertices, X + np.array([2, 1, 0])
    )


URIS = [
    "../../etc/passwd", "../secret.bin", "%2e%2e/secret.bin", "..%2fsecret.bin", "..\\secret.bin", "/etc/passwd",
    "file:///etc/passwd", "http://localhost/a.bin", "HTTPS://x/a", "C:\\secret.bin", "link.bin", "linked/secret.bin",
    "secret.bin\0", "sub%00", "", ".", "gone.bin", "data:text/plain,abc", "data:;base64,***", "data:", "a" * 5000,
]  # fmt: skip


@pytest.mark.parametrize("uri", URIS)
def test_a_buffer_outside_the_folder_is_not_read(tmp_path: pathlib.Path, uri: str) -> None:
    (tmp_path / "secret.bin").write_bytes(BODY)
    folder = tmp_path / "models"
    folder.mkdir()
    link(folder / "link.bin", tmp_path / "secret.bin")
    link(folder / "linked", tmp_path)
    error = refused(put(folder, document(buffers=[{"byteLength": 60, "uri": uri}])))
    assert error.where == "buffers[0]"


def change(path: str, value: Any) -> dict[str, Any]:
    """The document with one entry replaced: `accessors/0/count`."""
    doc = document()
    *steps, last = path.split("/")
    at: Any = doc
    for step in steps:
        at = at[int(step) if isinstance(at, list) else step]
    at[int(last) if isinstance(at, list) else last] = value
    return doc


LIES = [
    ("accessors/0/count", 10**9, "do not fit|more than"),
    ("accessors/0/count", 5, "do not fit"),
    ("accessors/0/count", -1, "whole number"),
    ("accessors/0/count", 1.5, "whole number"),
    ("accessors/0/count", True, "whole number"),
    ("accessors/0", {"componentType": 5126, "count": 10**9, "type": "VEC3"}, "more than|without a bufferView"),
    ("accessors/0", {"componentType": 5126, "count": 200_000, "type": "VEC3"}, "without a bufferView"),
    ("accessors/0/type", "VEC4", "expected VEC3"),
    ("accessors/0/type", ["VEC3"], "expected VEC3"),
    ("accessors/0/componentType", 5124, "componentType"),
    ("accessors/0/byteOffset", 4, "do not fit"),
    ("accessors/0/byteOffset", -4, "whole number"),
    ("accessors/0/sparse", {"count": 9, "indices": {}, "values": {}}, "more than"),
    ("accessors/1/componentType", 5126, "do not fit|unsigned"),
    ("accessors/1/count", 5, "multiple of 3"),
    ("bufferViews/0/byteOffset", -48, "whole number"),
    ("bufferViews/0/byteOffset", 40, "but its buffer has 60"),
    ("bufferViews/0/byteLength", 10**15, "but its buffer has 60"),
    ("bufferViews/0/byteStride", 4, "do not fit"),
    ("bufferViews/0/byteStride", 10**12, "do not fit"),
    ("bufferViews/0/buffer", 1, "whole number"),
    ("bufferViews/0", None, "array of objects"),
    ("buffers/0/byteLength", 61, "truncated"),
    ("buffers/0/uri", 7, "not a string"),
    ("buffers/0", {"byteLength": 60}, "no binary chunk"),
    ("nodes/0", {"children": [0]}, "two parents, or is its own"),
    ("nodes", [{"mesh": 0, "children": [1]}, {"children": [2]}, {"children": [1]}], "two parents"),
    ("nodes", [{"mesh": 0}, {"children": [2]}, {"children": [1]}], "cycle"),
    ("nodes/0/mesh", 3, "whole number"),
    ("nodes/0/matrix", [1] * 15, "expected 16 numbers"),
    ("nodes/0/scale", [1e300, 1, 1], "expected 3 numbers"),
    ("nodes/0/translation", [1e13, 1, 1], "beyond"),
    ("nodes/0/rotation", [0, 0, 0, 0], "unit quaternion"),
    ("nodes/0/children", 5, "expected an array"),
    ("scene", 2, "whole number"),
    ("scenes/0/nodes", [9], "whole number"),
    ("scenes/0/nodes", [], "no triangles"),
    ("meshes/0/primitives", {}, "expected an array"),
    ("meshes/0/primitives/0", 3, "no attributes"),
    ("meshes/0/primitives/0/mode", 0, "no triangles"),
    ("meshes/0/primitives/0/indices", 0, "expected SCALAR"),
    ("meshes/0/primitives/0/material", 0, "whole number"),
    ("meshes", 5, "array of objects"),
    ("asset", {"version": "1.0"}, "pliant reads 2.0"),
    ("asset", None, "pliant reads 2.0"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "value", "why"), LIES)
def test_a_document_that_lies_is_refused(tmp_path: pathlib.Path, path: str, value: Any, why: str) -> None:
    import re

    assert re.search(why, refused(put(tmp_path, change(path, value))).why)


def test_overlapping_buffer_views_are_legal(tmp_path: pathlib.Path) -> None:
    assert load(put(tmp_path, change("bufferViews/0/byteLength", 60))).n_faces == 2


@pytest.mark.parametrize(
    "text", [b"[" * 200_000, b'{"a":' * 200_000, b'{"asset":' + b"[" * 200_000 + b"]" * 200_000 + b"}"]
)
def test_deeply_nested_json_is_refused(tmp_path: pathlib.Path, text: bytes) -> None:
    refused(put(tmp_path, text))
    refused(put(tmp_path, glb(text), "a.glb"))


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"[]",
        b"\xff\xfe{",
        b'{"asset": NaN}',
        b'{"asset": 1e999}',
        b"1" * 5000,
        b'{"a":' + b"9" * 5000 + b"}",
    ],
)
def test_what_is_not_json_is_refused(tmp_path: pathlib.Path, text: bytes) -> None:
    refused(put(tmp_path, text))


def test_an_unknown_required_extension_is_named(tmp_path: pathlib.Path) -> None:
    assert "'EXT_of_mine'" in refused(put(tmp_path, document(extensionsRequired=["EXT_of_mine"]))).why


def test_instancing_cannot_blow_up_a_small_file(tmp_path: pathlib.Path) -> None:
    count = 60_000
    zeros = {"componentType": 5126, "count": count, "type": "VEC3"}
    doc = document(nodes=[{"mesh": 0}] * 2000, scenes=[{"nodes": list(range(2000))}])
    doc["accessors"][0] = zeros
    assert "after instancing" in refused(put(tmp_path, doc)).why


@pytest.mark.parametrize("part", np.arange(0, 20) / 20)
def test_a_cut_glb_is_refused_wherever_it_is_cut(tmp_path: pathlib.Path, part: float) -> None:
    whole = glb(json.dumps(document(buffers=[{"byteLength": 60}])).encode())
    refused(put(tmp_path, whole[: int(part * len(whole))], "a.glb"))
