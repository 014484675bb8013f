"""Runs in Blender's own Python: everything that an open file contains, as text, to be compared before and after."""

import hashlib
from typing import Any

import bpy
import numpy as np

COLLECTIONS = ("objects", "meshes", "shape_keys", "actions", "materials", "armatures", "collections")
ARRAYS = {"vertices": ("co", np.float32, 3), "loops": ("vertex_index", np.int32, 1)}


def digest() -> dict[str, str]:
    """By the name of each data block: a hash of its properties, its arrays and what it consists of."""
    found = {}
    for name in COLLECTIONS:
        for block in getattr(bpy.data, name):
            found[f"{name}/{block.name}"] = hashlib.sha256(repr(_content(block)).encode()).hexdigest()
    for scene in bpy.data.scenes:
        found[f"scenes/{scene.name}"] = repr((scene.frame_current, scene.frame_start, scene.frame_end))
        found[f"pliant/{scene.name}"] = repr(_properties(scene.pliant, 2))
    return found


def _content(block: Any) -> list[Any]:
    out: list[Any] = [_properties(block, 1)]
    for name in ("modifiers", "vertex_groups", "key_blocks", "uv_layers", "attributes", "color_attributes"):
        out += [(name, _properties(each, 1)) for each in getattr(block, name, ())]
    for name, (key, kind, width) in ARRAYS.items():
        if isinstance(block, bpy.types.Mesh):
            array = np.empty(width * len(getattr(block, name)), kind)
            getattr(block, name).foreach_get(key, array)
            out.append((name, array.tobytes()))
    if isinstance(block, bpy.types.Mesh):
        out += [[(g.group, g.weight) for g in v.groups] for v in block.vertices]
        out += [tuple(np.ravel([uv.vector for uv in layer.uv])) for layer in block.uv_layers]
        out += [polygon.material_index for polygon in block.polygons]
    if isinstance(block, bpy.types.Key):
        out += [tuple(np.ravel([point.co for point in key.data])) for key in block.key_blocks]
    if isinstance(block, bpy.types.Action):
        bags = [bag for layer in block.layers for strip in layer.strips for bag in strip.channelbags]
        out += [(c.data_path, [tuple(k.co) for k in c.keyframe_points]) for bag in bags for c in bag.fcurves]
    return out


def _properties(thing: Any, deep: int) -> list[tuple[str, str]]:
    """The plain properties of a struct; pointers by their names, collections to a depth."""
    found = []
    for each in thing.bl_rna.properties:
        name = each.identifier
        if name in ("rna_type", "session_uid", "is_updated", "is_updated_data", "tag", "execution_time", "is_active"):
            continue
        value = getattr(thing, name)
        if each.type == "POINTER":
            found.append((name, getattr(value, "name", "") if value else ""))
        elif each.type == "COLLECTION":
            inner = [_properties(one, deep - 1) for one in value] if deep > 1 else len(value)
            found.append((name, str(inner)))
        else:
            found.append((name, str(tuple(value)) if getattr(each, "is_array", False) else str(value)))
    return found
