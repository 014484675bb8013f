"""Runs in Blender's own Python: opens a file as a user does and stores what Blender evaluates, frame by frame.

The argument is a JSON object: `open` (list of [importer, path, options]), `fps`, `frames` (list of frame numbers),
`clip` (name of an action to play, or null), `out` (an npz file; its `meta` is JSON). Positions are those of the
dependency graph, in world space, turned from Blender's z up to y up. It imports nothing of pliant.
"""

import json
import sys

import bpy
import numpy as np


def main() -> None:
    job = json.loads(sys.argv[1])
    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    scene.render.fps, scene.render.fps_base = round(job["fps"]), round(job["fps"]) / job["fps"]
    for importer, path, options in job["open"]:
        IMPORTERS[importer](path, options)
    if job.get("clip"):
        play(job["clip"])
    arrays, meta = (
        {},
        {"fps": scene.render.fps / scene.render.fps_base, "objects": [], "version": bpy.app.version_string},
    )
    meta["range"] = [scene.frame_start, scene.frame_end]
    for k, thing in enumerate(o for o in scene.objects if o.type == "MESH" and not o.name.startswith("Icosphere")):
        x = np.stack([positions(thing, frame) for frame in job["frames"]])
        faces, uv = topology(thing)
        slots = np.empty(len(thing.data.polygons), np.int32)
        thing.data.polygons.foreach_get("material_index", slots)
        arrays |= {f"x_{k}": x, f"faces_{k}": faces, f"uv_{k}": uv, f"slots_{k}": slots}
        meta["objects"].append({"name": thing.name, "materials": [material(s.material) for s in thing.material_slots]})
    np.savez(job["out"], meta=json.dumps(meta), **arrays)


def glb(path: str, options: dict) -> None:
    bpy.ops.import_scene.gltf(filepath=path, **options)


def usd(path: str, options: dict) -> None:
    bpy.ops.wm.usd_import(filepath=path, **options)


def obj(path: str, options: dict) -> None:
    bpy.ops.wm.obj_import(filepath=path, **options)


def cache(path: str, options: dict) -> None:
    """Play a point cache on the object of the name `on`, which no armature moves then."""
    thing = bpy.data.objects[options.pop("on")]
    for modifier in list(thing.modifiers):
        thing.modifiers.remove(modifier)
    modifier = thing.modifiers.new("cache", "MESH_CACHE")
    modifier.cache_format, modifier.filepath = "PC2", path
    for key, value in options.items():
        setattr(modifier, key, value)


IMPORTERS = {"glb": glb, "usd": usd, "obj": obj, "pc2": cache}


def play(clip: str) -> None:
    """Give every animated object the action of the name `clip`, where that has a slot for it."""
    for thing in [*bpy.data.objects, *bpy.data.shape_keys]:
        data = thing.animation_data
        if data is None:
            continue
        for track in data.nla_tracks:
            track.mute = True
        data.action = None
        for action in (a for a in bpy.data.actions if a.name == clip):
            data.action = action
            fits = [slot for slot in action.slots if slot in list(data.action_suitable_slots)]
            named = [slot for slot in fits if slot.name_display == thing.name]
            if named or fits:
                data.action_slot = (named or fits)[0]


def positions(thing: bpy.types.Object, frame: float) -> np.ndarray:
    whole = int(np.floor(frame))
    bpy.context.scene.frame_set(whole, subframe=frame - whole)
    seen = thing.evaluated_get(bpy.context.evaluated_depsgraph_get())
    mesh = seen.to_mesh()
    x = np.empty((len(mesh.vertices), 3), np.float32)
    mesh.vertices.foreach_get("co", x.ravel())
    matrix = np.array(seen.matrix_world, np.float64)
    seen.to_mesh_clear()
    x = x @ matrix[:3, :3].T + matrix[:3, 3]
    return np.stack([x[:, 0], x[:, 2], -x[:, 1]], 1)


def topology(thing: bpy.types.Object) -> tuple[np.ndarray, np.ndarray]:
    """The vertices (m,3) and texture coordinates (m,3,2) of all triangles; zeros without texture coordinates."""
    mesh = thing.data
    faces = np.empty(len(mesh.loops), np.int32)
    mesh.loops.foreach_get("vertex_index", faces)
    uv = np.zeros((len(mesh.loops), 2), np.float32)
    if mesh.uv_layers:
        mesh.uv_layers.active.uv.foreach_get("vector", uv.ravel())
    assert all(polygon.loop_total == 3 for polygon in mesh.polygons)
    return faces.reshape(-1, 3), uv.reshape(-1, 3, 2)


def material(found: bpy.types.Material | None) -> dict:
    """The name, the colour and the images of a material; images that are there have a size."""
    if found is None:
        return {"name": None}
    nodes = found.node_tree.nodes if found.node_tree else []
    base = next((node for node in nodes if node.type == "BSDF_PRINCIPLED"), None)
    color = base.inputs["Base Color"] if base else None
    images = [node.image for node in nodes if node.type == "TEX_IMAGE" and node.image]
    return {
        "name": found.name,
        "color": list(color.default_value) if color else None,
        "textured": bool(color and color.is_linked),
        "images": sorted([image.name, list(image.size), bool(image.has_data or image.pixels)] for image in images),
    }


if __name__ == "__main__":
    main()
