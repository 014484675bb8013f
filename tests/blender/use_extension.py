"""Runs in Blender's own Python: installs the extension from its zip, makes a scene, and uses the operators.

The argument is a JSON object: `zip`, `scene` (a function below), `folder`, `commands`, and `pliant` (the program). It
stores what went in and what came out as `out.npz`, by the evaluation of `read_scene`, which the extension does not use.
"""

import json
import os
import sys

import bpy
import numpy as np
from read_scene import positions


def main() -> None:
    job = json.loads(sys.argv[1])
    os.environ["PLIANT_COMMAND"] = job["pliant"]
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.extensions.package_install_files(filepath=job["zip"], repo="user_default", enable_on_install=True)
    scene = bpy.context.scene
    garment, body = SCENES[job["scene"]](scene)
    chosen = scene.pliant
    chosen.garment, chosen.body, chosen.clearance = garment, body, job.get("clearance", 0.002)
    bpy.ops.wm.save_as_mainfile(filepath=os.path.join(job["folder"], "scene.blend"))
    numbers = range(scene.frame_start, scene.frame_end + 1)
    arrays, meta = {}, {"messages": [], "now": [scene.frame_current]}
    with_vertices = [m for m in garment.modifiers if m.type == "SUBSURF"]
    for modifier in with_vertices:
        modifier.show_viewport = False
    for name, thing in (("garment", garment), ("body", body)):
        arrays[name] = np.stack([positions(thing, number) for number in numbers])
        arrays[f"{name}_faces"] = triangles(thing)
    for modifier in with_vertices:
        modifier.show_viewport = True
    scene.frame_set(meta["now"][0])
    for command in job["commands"]:
        try:
            meta["messages"].append([*getattr(bpy.ops.pliant, command)(), chosen.summary])
        except RuntimeError as error:
            meta["messages"].append(["ERROR", str(error)])
    meta["now"].append(scene.frame_current)
    meta["modifiers"] = [[m.name, m.type, m.show_viewport] for m in garment.modifiers]
    meta["attributes"] = sorted(garment.data.attributes.keys())
    keys = ("frame", "depth", "inside", "crossings", "self_pairs")
    meta["findings"] = [{key: getattr(row, key) for key in keys} for row in chosen.findings]
    if "pliant_depth" in garment.data.attributes:
        depth = np.empty(len(garment.data.vertices), np.float32)
        garment.data.attributes["pliant_depth"].data.foreach_get("value", depth)
        arrays["depth"] = depth
    for modifier in with_vertices:
        modifier.show_viewport = False
    arrays["after"] = np.stack([positions(garment, number) for number in numbers])
    for modifier in with_vertices:
        modifier.show_viewport = True
    meta["shown"] = len(garment.evaluated_get(bpy.context.evaluated_depsgraph_get()).data.vertices)
    np.savez(os.path.join(job["folder"], "out.npz"), meta=json.dumps(meta), **arrays)


def triangles(thing: bpy.types.Object) -> np.ndarray:
    """The faces, of which all have three or four corners, divided as Blender divides them in the first frame."""
    bpy.context.scene.frame_set(bpy.context.scene.frame_start)
    mesh = thing.evaluated_get(bpy.context.evaluated_depsgraph_get()).to_mesh()
    mesh.calc_loop_triangles()
    return np.array([list(t.vertices) for t in mesh.loop_triangles], np.int32)


def sheet(scene: bpy.types.Scene) -> tuple[bpy.types.Object, bpy.types.Object]:
    """A sheet of quadrilaterals, turned and scaled, that a stretched ball moves into; frames 3 to 6 of the scene."""
    scene.frame_start, scene.frame_end = 3, 6
    scene.frame_set(5)
    bpy.ops.mesh.primitive_ico_sphere_add(subdivisions=3, radius=0.2, location=(0.3, 0.1, 0.0))
    ball = bpy.context.object
    ball.scale = (1.0, 1.2, 0.8)
    for frame, height in ((3, 0.0), (6, 0.09)):
        ball.location.z = height
        ball.keyframe_insert("location", frame=frame)
    bpy.ops.mesh.primitive_grid_add(x_subdivisions=14, y_subdivisions=14, size=0.5, location=(0.3, 0.1, 0.22))
    grid = bpy.context.object
    grid.rotation_euler, grid.scale = (0.05, 0.1, 0.4), (1.1, 0.9, 1.0)
    return grid, ball


def sleeve(scene: bpy.types.Scene) -> tuple[bpy.types.Object, bpy.types.Object]:
    """A sleeve on an arm that bends, both moved by an armature; centimetres, with a Subdivision modifier at the end."""
    scene.frame_start, scene.frame_end = 1, 4
    scene.unit_settings.scale_length = 0.01
    bpy.ops.object.armature_add(enter_editmode=True)
    rig = bpy.context.object
    first = rig.data.edit_bones[0]
    first.head, first.tail = (0.0, 0.0, 0.0), (0.0, 0.0, 30.0)
    second = rig.data.edit_bones.new("second")
    second.head, second.tail, second.parent = first.tail, (0.0, 0.0, 60.0), first
    names = [first.name, second.name]
    bpy.ops.object.mode_set(mode="POSE")
    bone = rig.pose.bones[names[1]]
    bone.rotation_mode = "XYZ"
    for frame, angle in ((1, 0.0), (4, 0.7)):
        bone.rotation_euler.x = angle
        bone.keyframe_insert("rotation_euler", frame=frame)
    bpy.ops.object.mode_set(mode="OBJECT")
    made = []
    for radius, depth, rings in ((5.0, 58.0, 24), (5.4, 40.0, 18)):
        bpy.ops.mesh.primitive_cylinder_add(
            vertices=16,
            radius=radius,
            depth=depth,
            location=(0.0, 0.0, 30.0),
            end_fill_type="TRIFAN" if not made else "NOTHING",
        )
        thing = bpy.context.object
        bpy.ops.object.mode_set(mode="EDIT")
        bpy.ops.mesh.select_all(action="DESELECT")
        bpy.ops.object.mode_set(mode="OBJECT")
        for edge in thing.data.edges:
            a, b = (thing.data.vertices[k].co for k in edge.vertices)
            edge.select = abs(a.z - b.z) > 0.5 * depth
        bpy.ops.object.mode_set(mode="EDIT")
        bpy.ops.mesh.subdivide_edgering(number_cuts=rings, interpolation="LINEAR")
        bpy.ops.object.mode_set(mode="OBJECT")
        share = 1.0 if made else 2.0  # the sleeve bends more abruptly than the arm
        groups = [thing.vertex_groups.new(name=name) for name in names]
        for vertex in thing.data.vertices:
            upper = min(max(0.5 + vertex.co.z / (10.0 * share), 0.0), 1.0)
            for group, weight in zip(groups, (1.0 - upper, upper)):
                group.add([vertex.index], weight, "REPLACE")
        thing.modifiers.new("Armature", "ARMATURE").object = rig
        made.append(thing)
    made[1].modifiers.new("Subdivision", "SUBSURF")
    made[1].name = "Sleeve"
    return made[1], made[0]


def shape_keys(scene: bpy.types.Scene) -> tuple[bpy.types.Object, bpy.types.Object]:
    """The sheet, moved by a shape key instead of the ball."""
    grid, ball = sheet(scene)
    ball.animation_data_clear()
    ball.location.z = 0.0
    grid.shape_key_add(name="Basis")
    pressed = grid.shape_key_add(name="Pressed")
    for point in pressed.data:
        point.co.z -= 0.1
    for frame, value in ((3, 0.0), (6, 1.0)):
        pressed.value = value
        pressed.keyframe_insert("value", frame=frame)
    return grid, ball


def character(scene: bpy.types.Scene) -> tuple[bpy.types.Object, bpy.types.Object]:
    """A garment bound to a character, from the GLB that the environment names."""
    scene.render.fps = 10
    bpy.ops.import_scene.gltf(filepath=os.environ["PLIANT_TEST_CHARACTER"])
    scene.frame_start, scene.frame_end = 0, 3
    garment = bpy.data.objects["skirt"]
    bodies = [o for o in scene.objects if o.type == "MESH" and o != garment and not o.name.startswith("Icosphere")]
    return garment, max(bodies, key=lambda thing: len(thing.data.vertices))


def unbound(scene: bpy.types.Scene) -> tuple[bpy.types.Object, bpy.types.Object]:
    """A skirt beside the armature of a character, from the OBJ and the GLB in a folder that the environment names."""
    scene.render.fps = 40  # as its keyframes
    folder = os.environ["PLIANT_TEST_CHARACTER"]
    bpy.ops.import_scene.gltf(filepath=os.path.join(folder, "walker.glb"))
    bpy.ops.wm.obj_import(filepath=os.path.join(folder, "skirt.obj"))
    scene.frame_start, scene.frame_end = 5, 8
    scene.frame_set(6)
    return bpy.data.objects["skirt"], bpy.data.objects["mannequin"]


SCENES = {"unbound": unbound, "sheet": sheet, "sleeve": sleeve, "shape_keys": shape_keys, "character": character}

if __name__ == "__main__":
    main()
