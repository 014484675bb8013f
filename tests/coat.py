"""A character with all that a look can have: two materials, an embedded and an external image, a texture transform, a
second set of texture coordinates, vertex colours, a normal texture, and KHR_materials_clearcoat and _emissive_strength.
"""

import io
import pathlib

import numpy as np
import PIL.Image

import packed_files

SHINE = {"KHR_materials_clearcoat": {"clearcoatFactor": 0.5, "clearcoatTexture": {"index": 2}}}
BENT = {"KHR_texture_transform": {"offset": [0.25, 0.5], "rotation": 0.5, "scale": [2.0, 3.0]}}
MATERIALS = [
    {
        "name": "coat",
        "pbrMetallicRoughness": {"baseColorTexture": {"index": 0, "extensions": BENT}, "roughnessFactor": 0.25},
        "normalTexture": {"index": 2, "extensions": BENT},
        "extensions": SHINE,
    },
    {
        "name": "hem",
        "pbrMetallicRoughness": {
            "baseColorFactor": [0.5, 0.25, 1.0, 1.0],
            "baseColorTexture": {"index": 1, "texCoord": 1},
        },
        "emissiveFactor": [0.0, 1.0, 0.0],
        "extensions": {"KHR_materials_emissive_strength": {"emissiveStrength": 4.0}},
    },
]


def png(value: int) -> bytes:
    stream = io.BytesIO()
    PIL.Image.fromarray(np.full((4, 8, 3), value, np.uint8)).save(stream, "PNG")
    return stream.getvalue()


IMAGES = {"woven": png(10), "outside": png(20), "bumps": png(30)}
X = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], "<f4")
UV = [np.array([[0, 0], [1, 0], [1, 1], [0, 1]], "<f4") * 0.5, np.array([[0, 1], [0, 0], [1, 0], [1, 1]], "<f4")]
COLORS = np.array([[255, 0, 0, 255], [0, 255, 0, 255], [0, 0, 255, 255], [255, 255, 255, 255]], "u1")


def saved_coat(folder: pathlib.Path) -> pathlib.Path:
    """coat.glb with outside.png beside it, in a new folder."""
    arrays = [X, *UV, COLORS, np.zeros((4, 4), "u1"), np.tile(np.array([[255, 0, 0, 0]], "u1"), (4, 1))]
    arrays += [np.array([0, 1, 2], "<u2"), np.array([0, 2, 3], "<u2"), np.array([0.0, 1.0], "<f4")]
    arrays += [np.array([[0, 0, 0], [0, 0.5, 0]], "<f4")]
    pieces = [array.tobytes() for array in arrays] + [IMAGES["woven"], IMAGES["bumps"]]
    views, binary = [], b""
    for piece in pieces:
        views.append({"buffer": 0, "byteOffset": len(binary), "byteLength": len(piece)})
        binary += piece + b"\0" * (-len(piece) % 4)
    kinds = {"<f4": 5126, "|u1": 5121, "<u2": 5123}
    accessors = []
    for k, array in enumerate(arrays):
        width = array.shape[1] if array.ndim == 2 else 1
        kind = {1: "SCALAR", 2: "VEC2", 3: "VEC3", 4: "VEC4"}[width]
        accessors.append({"bufferView": k, "componentType": kinds[array.dtype.str], "count": len(array), "type": kind})
    accessors[0] |= {"min": X.min(0).tolist(), "max": X.max(0).tolist()}
    accessors[3]["normalized"] = accessors[5]["normalized"] = True
    accessors[8] |= {"min": [0.0], "max": [1.0]}
    shared = {"POSITION": 0, "TEXCOORD_0": 1, "TEXCOORD_1": 2, "COLOR_0": 3, "JOINTS_0": 4, "WEIGHTS_0": 5}
    document = {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0, 1]}],
        "nodes": [{"name": "coat", "mesh": 0, "skin": 0}, {"name": "bone"}],
        "skins": [{"joints": [1]}],
        "meshes": [{"primitives": [{"attributes": shared, "indices": 6 + k, "material": k} for k in (0, 1)]}],
        "materials": MATERIALS,
        "textures": [{"source": 0}, {"source": 1}, {"source": 2}],
        "images": [
            {"name": "woven", "bufferView": 10, "mimeType": "image/png"},
            {"uri": "outside.png"},
            {"name": "bumps", "bufferView": 11, "mimeType": "image/png"},
        ],
        "accessors": accessors,
        "animations": [
            {
                "name": "rise",
                "samplers": [{"input": 8, "output": 9}],
                "channels": [{"sampler": 0, "target": {"node": 1, "path": "translation"}}],
            }
        ],
        "bufferViews": views,
        "buffers": [{"byteLength": len(binary)}],
        "extensionsUsed": [*SHINE, *BENT, "KHR_materials_emissive_strength"],
    }
    given = folder / "given"
    given.mkdir()
    (given / "coat.glb").write_bytes(packed_files.glb(document, binary))
    (given / "outside.png").write_bytes(IMAGES["outside"])
    return given / "coat.glb"
