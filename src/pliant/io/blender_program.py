"""A program for the Python of Blender, which has a NumPy of its own: it reads and writes Alembic and FBX for pliant.

    python blender_program.py read FILE FOLDER OPTIONS      the meshes of a file, as arrays in FOLDER
    python blender_program.py write GLB FILE OPTIONS        a GLB of pliant as another format

It imports nothing of pliant. OPTIONS: JSON; to read part, single, fps, max_bytes; to write fps and frames.
"""

import contextlib
import json
import pathlib
import sys
import tempfile
from typing import Any

import bpy
import numpy as np

_SPARE = 384 << 20  # bytes that Blender may use beside what it reads


class Refused(Exception):
    """Where and why a file cannot be read."""


def main(action: str, source: str, target: str, options: str) -> None:
    given = json.loads(options)
    bpy.ops.wm.read_factory_settings(use_empty=True)
    if action == "write":
        write(source, target, **given)
        return
    folder = pathlib.Path(target)
    try:
        facts, arrays = read(source, **given)
    except Refused as refused:
        (folder / "error.json").write_text(json.dumps(refused.args), "utf-8")
        return
    np.savez(folder / "arrays.npz", **arrays)
    (folder / "facts.json").write_text(json.dumps(facts), "utf-8")


def set_rate(fps: float) -> None:
    render = bpy.context.scene.render
    render.fps, render.fps_base = max(1, round(fps)), max(1, round(fps)) / fps


def write(source: str, target: str, fps: float, frames: int) -> None:
    """A GLB as Alembic or FBX, one frame for each of pliant."""
    scene = bpy.context.scene
    set_rate(fps)
    bpy.ops.import_scene.gltf(filepath=source)
    for extra in [o for o in scene.objects if o.name.startswith("Icosphere")]:  # how the importer draws bones
        bpy.data.objects.remove(extra)
    scene.frame_start, scene.frame_end = 0, max(frames - 1, 0)
    if target.lower().endswith(".abc"):
        bpy.ops.wm.alembic_export(
            filepath=target,
            start=0,
            end=scene.frame_end,
            face_sets=True,
            vcolors=True,
            as_background_job=False,
            export_hair=False,
        )
        return
    for material in bpy.data.materials:
        link_image(material)
    with tempfile.TemporaryDirectory() as folder:
        for k, image in enumerate(bpy.data.images):
            unpack(image, pathlib.Path(folder) / str(k))
        bpy.ops.export_scene.fbx(
            filepath=target,
            object_types={"ARMATURE", "MESH", "EMPTY"},
            use_mesh_modifiers=False,
            add_leaf_bones=False,
            bake_anim=frames > 1,
            bake_anim_use_nla_strips=False,
            bake_anim_use_all_actions=False,
            bake_anim_simplify_factor=0.0,
            path_mode="COPY",
            embed_textures=True,
        )


def unpack(image: Any, folder: pathlib.Path) -> None:
    """Give an image of a GLB a file of its own: the exporter of FBX takes images without a file for one image."""
    if image.packed_file is not None:
        folder.mkdir()
        name = "".join(c if c.isalnum() or c in "-_" else "_" for c in image.name)
        path = folder / f"{name[:80]}.{'jpg' if image.file_format == 'JPEG' else 'png'}"
        path.write_bytes(image.packed_file.data)
        image.filepath = str(path)


def link_image(material: Any) -> None:
    """Link the image of the base colour directly, where the importer multiplies it by vertex colours: the exporter of
    FBX finds no image behind other nodes."""
    nodes = material.node_tree.nodes if material.node_tree else []
    surface: Any = next((node for node in nodes if node.type == "BSDF_PRINCIPLED"), None)
    links = surface.inputs["Base Color"].links if surface else []
    for _ in range(len(nodes)):
        images = [link.from_node for link in links if link.from_node.type == "TEX_IMAGE"]
        if images:
            material.node_tree.links.new(images[0].outputs["Color"], surface.inputs["Base Color"])
            return
        links = [link for above in links for entry in above.from_node.inputs for link in entry.links]


def read(
    path: str, part: str | None, single: bool, fps: float | None, max_bytes: int
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Evaluated meshes in metres with y up, frame by frame."""
    guard_memory(4 * max_bytes)
    scene = bpy.context.scene
    try:
        if path.lower().endswith(".abc"):
            set_rate(24.0 if fps is None else fps)
            bpy.ops.wm.alembic_import(filepath=path, set_frame_range=True, as_background_job=False)
        else:
            bpy.ops.import_scene.fbx(filepath=path)
    except (RuntimeError, ValueError, AttributeError, KeyError, IndexError, TypeError, OSError) as error:
        said = [line for line in str(error).splitlines() if line.strip()]
        raise Refused(
            "", f"Blender cannot read it ({said[-1].strip()[:300] if said else type(error).__name__})"
        ) from None
    things = [o for o in scene.objects if o.type == "MESH" and len(o.data.polygons)]
    chosen = [o for o in things if part is None or part in names(o)]
    if not chosen:
        known = ", ".join(o.name for o in things[:20]) or "none"
        raise Refused("", "no meshes with faces" if part is None else f"has no part {part!r}; one of: {known}")
    rate = scene.render.fps / scene.render.fps_base
    first, last = frame_range(path)
    step = 1.0 if fps is None else rate / fps
    count = 1 if single else int(np.floor((last - first) / step + 1e-6)) + 1
    mesh = topology(chosen)
    if 24 * mesh["points"] * count > max_bytes:
        raise Refused("", f"{count} frames of {mesh['points']} points are more than the limit of {max_bytes} bytes")
    frames = np.empty((count, mesh["points"], 3))
    for k in range(count):
        time = first + k * step
        scene.frame_set(int(np.floor(time)), subframe=time - np.floor(time))
        now = [positions(o) for o in chosen]
        if sum(map(len, now)) != mesh["points"]:
            raise Refused(f"frame {k}", "its number of points changes; pliant needs one topology")
        frames[k] = np.concatenate(now)
    if (frames == frames[0]).all():
        frames = frames[:1]
    facts = {"fps": rate if fps is None else fps, "materials": mesh["materials"], "notes": []}
    return facts, {"frames": frames, **mesh["arrays"]}


def guard_memory(most: int) -> None:
    """Allow so many bytes more than now, where the platform can say so."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        now = int(pathlib.Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_DATA, (now + most + _SPARE, resource.getrlimit(resource.RLIMIT_DATA)[1]))


def names(thing: Any) -> list[str]:
    """The names of an object, its mesh, and of all objects above it."""
    found = [thing.data.name]
    while thing is not None:
        found.append(thing.name)
        thing = thing.parent
    return found


def frame_range(path: str) -> tuple[float, float]:
    if path.lower().endswith(".abc"):
        return float(bpy.context.scene.frame_start), float(bpy.context.scene.frame_end)
    ranges = [tuple(action.frame_range) for action in bpy.data.actions]
    return (min(r[0] for r in ranges), max(r[1] for r in ranges)) if ranges else (0.0, 0.0)


def evaluated(thing: Any) -> Any:
    return thing.evaluated_get(bpy.context.evaluated_depsgraph_get())


def positions(thing: Any) -> Any:
    seen = evaluated(thing)
    mesh = seen.to_mesh()
    x = np.empty((len(mesh.vertices), 3), np.float32)
    mesh.vertices.foreach_get("co", x.ravel())
    matrix = np.array(seen.matrix_world, np.float64)
    seen.to_mesh_clear()
    world = x @ matrix[:3, :3].T + matrix[:3, 3]
    return np.stack([world[:, 0], world[:, 2], -world[:, 1]], 1)


def topology(things: list[Any]) -> dict[str, Any]:
    """Polygons, texture coordinates and materials of all objects, evaluated at the current frame."""
    points, counts, corners, uvs, rows, has_uv = 0, [], [], [], [], False
    materials: list[dict[str, Any]] = []
    known: dict[str, int] = {}
    for thing in things:
        seen = evaluated(thing)
        mesh = seen.to_mesh()
        total, corner = np.empty(len(mesh.polygons), np.int32), np.empty(len(mesh.loops), np.int32)
        slot, uv = np.empty(len(mesh.polygons), np.int32), np.zeros((len(mesh.loops), 2), np.float32)
        mesh.polygons.foreach_get("loop_total", total)
        mesh.polygons.foreach_get("material_index", slot)
        mesh.loops.foreach_get("vertex_index", corner)
        if mesh.uv_layers.active:
            mesh.uv_layers.active.uv.foreach_get("vector", uv.ravel())
            has_uv = True
        slots = [known_material(s.material, thing, materials, known) for s in thing.material_slots]
        slots = slots or [known_material(None, thing, materials, known)]
        rows.append(np.array(slots)[slot.clip(0, len(slots) - 1)])
        counts.append(total)
        corners.append(corner.astype(np.int64) + points)
        uvs.append(uv.astype(np.float64))
        points += len(mesh.vertices)
        seen.to_mesh_clear()
    arrays = {"counts": np.concatenate(counts).astype(np.int64), "corners": np.concatenate(corners)}
    arrays |= {"material": np.concatenate(rows).astype(np.int64)} | ({"uv": np.concatenate(uvs)} if has_uv else {})
    return {"points": points, "materials": materials, "arrays": arrays}


def known_material(material: Any, thing: Any, materials: list[dict[str, Any]], known: dict[str, int]) -> int:
    key = f"material {material.name}" if material else f"object {thing.name}"
    if key not in known:
        known[key] = len(materials)
        entry: dict[str, Any] = {"name": material.name if material else thing.name}
        nodes = material.node_tree.nodes if material and material.node_tree else []
        base = next((node for node in nodes if node.type == "BSDF_PRINCIPLED"), None)
        if base:
            color = base.inputs["Base Color"]
            entry["color"] = [float(c) for c in color.default_value[:3]]
            source = color.links[0].from_node if color.is_linked else None
            if source is not None and source.type == "TEX_IMAGE" and source.image:
                entry["texture"] = bpy.path.abspath(source.image.filepath)
        materials.append(entry)
    return known[key]


if __name__ == "__main__":
    main(*sys.argv[1:])
