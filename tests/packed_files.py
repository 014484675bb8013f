"""Small glTF files with compressed geometry, made without any other program."""

import functools
import json

import numpy as np

import meshopt_streams
from pliant import Mesh, shapes

MESHOPT = ("EXT_meshopt_compression", "KHR_meshopt_compression")
DRACO = "KHR_draco_mesh_compression"


def glb(document, binary):
    text = json.dumps(document).encode()
    text += b" " * (-len(text) % 4)
    binary += b"\0" * (-len(binary) % 4)
    size = (20 + len(text) + (8 + len(binary) if binary else 0)).to_bytes(4, "little")
    out = b"glTF\x02\0\0\0" + size + len(text).to_bytes(4, "little") + b"JSON" + text
    return out + (len(binary).to_bytes(4, "little") + b"BIN\0" + binary if binary else b"")


def json_of(content):
    return json.loads(content[20 : 20 + int.from_bytes(content[12:16], "little")])


def binary_of(content):
    return content[28 + int.from_bytes(content[12:16], "little") :]


def packed_views(document):
    """The entries that say where compressed bytes are."""
    found = [v["extensions"][n] for v in document["bufferViews"] for n in MESHOPT if n in v.get("extensions", {})]
    return found or document["bufferViews"][:1]


def cloth():
    """A small sheet with texture coordinates per vertex, v up, on a grid that short floats hold exactly."""
    mesh = shapes.cloth(1.0, 1.0, 4)
    x = np.round(mesh.vertices * 64) / 64
    uv = np.round(x[:, [0, 2]] * 16) / 32 + 0.5
    return Mesh(x, mesh.faces, uv=uv[mesh.faces], name="cloth")


def _document(mesh, views, **more):
    kinds = [
        ("VEC3", 5126, len(mesh.vertices)),
        ("VEC2", 5126, len(mesh.vertices)),
        ("SCALAR", 5123, 3 * len(mesh.faces)),
    ]
    accessors = [{"bufferView": k, "componentType": c, "type": t, "count": n} for k, (t, c, n) in enumerate(kinds)]
    accessors[0] |= {"min": mesh.vertices.min(0).tolist(), "max": mesh.vertices.max(0).tolist()}
    primitive = {"attributes": {"POSITION": 0, "TEXCOORD_0": 1}, "indices": 2}
    return {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [{"name": "cloth", "mesh": 0}],
        "meshes": [{"primitives": [primitive]}],
        "accessors": accessors,
        "bufferViews": views,
    } | more


def _arrays(mesh):
    uv = np.zeros((mesh.n_vertices, 2), "<f4")
    uv[mesh.faces] = mesh.uv
    uv[:, 1] = 1.0 - uv[:, 1]
    return mesh.vertices.astype("<f4"), uv, mesh.faces.astype("<u2")


def with_meshopt(mesh, name=MESHOPT[0], *, newer=False, fallback=False):
    rng = np.random.default_rng(7)
    x, uv, faces = _arrays(mesh)
    parts = [
        (meshopt_streams.attributes(a.view(np.uint8).reshape(len(a), -1), rng, newer), len(a), a[0].nbytes)
        for a in (x, uv)
    ]
    stream, held = meshopt_streams.triangles(faces, rng)
    parts.append((stream, held.size, 2))
    views, binary = [], b""
    offset = 0
    for (data, count, stride), mode in zip(parts, ("ATTRIBUTES", "ATTRIBUTES", "TRIANGLES")):
        packed = {
            "buffer": 0,
            "byteOffset": len(binary),
            "byteLength": len(data),
            "byteStride": stride,
            "count": count,
            "mode": mode,
        }
        view = {"buffer": 1, "byteOffset": offset, "byteLength": count * stride, "extensions": {name: packed}}
        views.append(view | ({"byteStride": stride, "target": 34962} if mode == "ATTRIBUTES" else {"target": 34963}))
        binary += data + b"\0" * (-len(data) % 4)
        offset += count * stride + -(count * stride) % 4
    plain = {"byteLength": offset, "extensions": {name: {"fallback": True}}}
    buffers = [{"byteLength": len(binary)}, plain]
    document = _document(mesh, views, buffers=buffers, extensionsUsed=[name], extensionsRequired=[name])
    if fallback:
        del document["extensionsRequired"]
    expected = Mesh(mesh.vertices, held, uv=mesh_uv(mesh, held))
    return glb(document, binary), expected, 0.0


def mesh_uv(mesh, faces):
    uv = np.zeros((mesh.n_vertices, 2))
    uv[mesh.faces] = mesh.uv
    return uv[faces]


def with_draco(mesh):
    """(content, expected, tolerance); the attributes have the order that DracoPy gives them."""
    import DracoPy

    x, uv, faces = _arrays(mesh)
    data = DracoPy.encode(
        x, faces.astype(np.uint32), tex_coord=uv.astype(np.float64), quantization_bits=20, preserve_order=True
    )
    ids = {a["attribute_type"]: a["unique_id"] for a in DracoPy.decode(data).attributes}
    extension = {"bufferView": 0, "attributes": {"POSITION": ids[0], "TEXCOORD_0": ids[3]}}
    view = {"buffer": 0, "byteOffset": 0, "byteLength": len(data)}
    document = _document(mesh, [view], buffers=[{"byteLength": len(data)}])
    for accessor in document["accessors"]:
        del accessor["bufferView"]
    document["meshes"][0]["primitives"][0]["extensions"] = {DRACO: extension}
    document |= {"extensionsUsed": [DRACO], "extensionsRequired": [DRACO]}
    return glb(document, data), mesh, 4e-6


def draco_with_fallback():
    mesh = cloth()
    content, _, _ = with_draco(mesh)
    document, data = json_of(content), binary_of(content)
    for accessor, array in zip(document["accessors"], _arrays(mesh)):
        accessor["bufferView"] = len(document["bufferViews"])
        document["bufferViews"].append({"buffer": 0, "byteOffset": len(data), "byteLength": array.nbytes})
        data += array.tobytes() + b"\0" * (-array.nbytes % 4)
    document["buffers"][0]["byteLength"] = len(data)
    del document["extensionsRequired"]
    return glb(document, data)


@functools.cache
def made():
    """Each file as (content, the mesh that it holds, tolerance)."""
    mesh = cloth()
    found = {
        "meshopt": with_meshopt(mesh),
        "meshopt-fallback": with_meshopt(mesh, fallback=True),
        "khr-meshopt": with_meshopt(mesh, MESHOPT[1], newer=True),
    }
    try:
        return found | {"draco": with_draco(mesh)}
    except ImportError:
        return found
