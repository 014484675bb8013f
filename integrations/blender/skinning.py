"""Skinning weights: the body with its vertex groups as a GLB for pliant, and the weights of a garment back from one."""

import json
import pathlib

import bpy
import numpy as np

from .process import Problem
from .recording import DRAPE, FIX, record, with_own_vertices

_MOST = 8  # bones per vertex
_TYPES = {5121: "<u1", 5123: "<u2", 5126: "<f4"}


def write(
    folder: pathlib.Path,
    scene: bpy.types.Scene,
    garment: bpy.types.Object,
    body: bpy.types.Object,
    armature: bpy.types.Object,
) -> None:
    """Write garment.npz and body.glb in the rest position of the armature, at the current frame."""
    pose, first, last = armature.data.pose_position, scene.frame_start, scene.frame_end
    armature.data.pose_position = "REST"
    scene.frame_start = scene.frame_end = scene.frame_current
    try:
        with with_own_vertices(garment, without=(FIX, DRAPE)), with_own_vertices(body):
            worn, under = record(scene, [garment, body])
    finally:
        armature.data.pose_position, scene.frame_start, scene.frame_end = pose, first, last
    for thing, seen in ((garment, worn), (body, under)):
        if seen.frames.shape[1] != len(thing.data.vertices):
            raise Problem(f"a modifier of {thing.name!r} changes its vertices; move it to the end of the stack")
    np.savez(folder / "garment.npz", vertices=worn.frames[0].astype(np.float64), faces=worn.faces)
    names, joints, weights = _weights(body, armature)
    _write_glb(folder / "body.glb", names, under.frames[0], under.faces, joints, weights)


def _weights(body: bpy.types.Object, armature: bpy.types.Object) -> tuple[list[str], np.ndarray, np.ndarray]:
    """The bones that deform the body, and of each vertex the eight largest weights, which sum to 1."""
    bones = [bone.name for bone in armature.data.bones if bone.use_deform]
    rows = {group.index: bones.index(group.name) for group in body.vertex_groups if group.name in bones}
    joints = np.zeros((len(body.data.vertices), _MOST), np.uint16)
    weights = np.zeros(joints.shape, np.float32)
    for vertex in body.data.vertices:
        found = sorted(((g.weight, rows[g.group]) for g in vertex.groups if g.group in rows), reverse=True)[:_MOST]
        for k, (weight, row) in enumerate(found):
            joints[vertex.index, k], weights[vertex.index, k] = row, weight
    total = weights.sum(1)
    if not (total > 0.0).all():
        free = int((total <= 0.0).sum())
        raise Problem(f"{free} vertices of {body.name!r} have no weight of a bone of {armature.name!r}; assign some")
    return bones, joints, weights / total[:, None]


def _write_glb(
    path: pathlib.Path, names: list[str], x: np.ndarray, faces: np.ndarray, joints: np.ndarray, weights: np.ndarray
) -> None:
    """Write a skinned mesh whose joints have no transform: only the weights are of interest."""
    parts = {"POSITION": (x, "VEC3", 5126)}
    for k in range(_MOST // 4):
        columns = slice(4 * k, 4 * k + 4)
        parts[f"JOINTS_{k}"] = (joints[:, columns], "VEC4", 5123)
        parts[f"WEIGHTS_{k}"] = (weights[:, columns], "VEC4", 5126)
    parts["indices"] = (faces.reshape(-1, 1), "SCALAR", 5125)
    views, accessors, data = [], [], b""
    for array, kind, component in parts.values():
        raw = np.ascontiguousarray(array, {5123: "<u2", 5125: "<u4", 5126: "<f4"}[component]).tobytes()
        views.append({"buffer": 0, "byteOffset": len(data), "byteLength": len(raw)})
        accessors.append({"bufferView": len(accessors), "componentType": component, "count": len(array), "type": kind})
        data += raw + bytes(-len(raw) % 4)
    accessors[0] |= {"min": x.min(0).tolist(), "max": x.max(0).tolist()}
    attributes = {key: k for k, key in enumerate(parts) if key != "indices"}
    nodes = [{"name": name} for name in names]
    document = {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": list(range(len(names) + 1))}],
        "nodes": [*nodes, {"name": "body", "mesh": 0, "skin": 0}],
        "skins": [{"joints": list(range(len(names)))}],
        "meshes": [{"primitives": [{"attributes": attributes, "indices": len(attributes)}]}],
        "accessors": accessors,
        "bufferViews": views,
        "buffers": [{"byteLength": len(data)}],
    }
    text = json.dumps(document).encode()
    text += b" " * (-len(text) % 4)
    head = [b"glTF", *(n.to_bytes(4, "little") for n in (2, 28 + len(text) + len(data), len(text)))]
    path.write_bytes(b"".join([*head, b"JSON", text, len(data).to_bytes(4, "little"), b"BIN\0", data]))


def read(path: pathlib.Path) -> tuple[list[str], np.ndarray, np.ndarray]:
    """The names of the joints, and joints and weights (n,k) of the only mesh of a GLB."""
    data = path.read_bytes()
    size = int.from_bytes(data[12:16], "little")
    document, binary = json.loads(data[20 : 20 + size]), data[28 + size :]
    (node,) = [node for node in document["nodes"] if "mesh" in node]
    ((primitive),) = document["meshes"][node["mesh"]]["primitives"]
    names = [document["nodes"][joint]["name"] for joint in document["skins"][node["skin"]]["joints"]]
    found = []
    for key in ("JOINTS", "WEIGHTS"):
        sets = []
        for k in range(_MOST // 4):
            if f"{key}_{k}" in primitive["attributes"]:
                entry = document["accessors"][primitive["attributes"][f"{key}_{k}"]]
                start = document["bufferViews"][entry["bufferView"]].get("byteOffset", 0) + entry.get("byteOffset", 0)
                kind = _TYPES[entry["componentType"]]
                sets.append(np.frombuffer(binary, kind, 4 * entry["count"], start).reshape(-1, 4))
        found.append(np.concatenate(sets, 1))
    return names, found[0], found[1]


def apply(
    thing: bpy.types.Object, armature: bpy.types.Object, names: list[str], joints: np.ndarray, weights: np.ndarray
) -> None:
    """Replace the vertex groups of the bones, and add an Armature modifier before all others unless there is one."""
    for group in [group for group in thing.vertex_groups if group.name in armature.data.bones]:
        thing.vertex_groups.remove(group)
    groups: dict[int, bpy.types.VertexGroup] = {}
    for row, column in zip(*np.nonzero(weights > 0.0)):
        joint = int(joints[row, column])
        if joint not in groups:
            groups[joint] = thing.vertex_groups.new(name=names[joint])
        groups[joint].add([int(row)], float(weights[row, column]), "REPLACE")
    if not any(m.type == "ARMATURE" and m.object == armature for m in thing.modifiers):
        added = thing.modifiers.new("Armature", "ARMATURE")
        added.object = armature
        thing.modifiers.move(len(thing.modifiers) - 1, 0)
