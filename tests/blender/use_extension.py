"""Runs in Blender's own Python: installs the extension from its zip, makes a scene, and uses the operators.

The argument is a JSON object: `zip`, `scene` (a function below), `folder`, `commands`, `pliant` (the program), and
`settings` of the panel. A command is the name of an operator, which waits; `NAME:timer` starts it as the panel does and
calls the timer until it ends, `NAME:cancel` and `NAME:kill` end it once frames are shown or the process has started. It
stores what went in and what came out as `out.npz`, by the evaluation of `read_scene`, which the extension does not use.
"""

import hashlib
import importlib
import json
import os
import pathlib
import signal
import sys
import time

import bpy
import numpy as np
from read_scene import positions
from scene_digest import digest


def main() -> None:
    job = json.loads(sys.argv[1])
    os.environ["PLIANT_COMMAND"] = job["pliant"]
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.extensions.package_install_files(filepath=job["zip"], repo="user_default", enable_on_install=True)
    scene = bpy.context.scene
    garment, body = SCENES[job["scene"]](scene)
    chosen = scene.pliant
    chosen.garment, chosen.body, chosen.clearance = garment, body, job.get("clearance", 0.002)
    for key, value in job.get("settings", {}).items():
        setattr(chosen, key, value)
    for name, material, pins in job.get("layers", []):
        bpy.ops.pliant.layer_add()
        layer = chosen.layers[chosen.layer]
        layer.garment, layer.material, layer.pins = bpy.data.objects[name], material, pins
    blend = pathlib.Path(job["folder"], "scene.blend")
    bpy.ops.wm.save_as_mainfile(filepath=str(blend))
    numbers = range(scene.frame_start, scene.frame_end + 1)
    arrays, meta = {}, {"messages": [], "now": [scene.frame_current]}
    with_vertices = [m for m in garment.modifiers if m.type == "SUBSURF"]
    for modifier in with_vertices:
        modifier.show_viewport = False
    others = [layer.garment for layer in chosen.layers]
    named = [("garment", garment), ("body", body), *((f"layer{k}", thing) for k, thing in enumerate(others))]
    for name, thing in named:
        arrays[name] = np.stack([positions(thing, number) for number in numbers])
        arrays[f"{name}_faces"] = triangles(thing)
    for modifier in with_vertices:
        modifier.show_viewport = True
    scene.frame_set(meta["now"][0])
    before, saved = digest(), hashlib.sha256(blend.read_bytes()).hexdigest()
    for command in job["commands"]:
        try:
            name, _, way = command.partition(":")
            done = getattr(bpy.ops.pliant, name)() if not way else by_timer(name, way, garment, arrays, meta)
            meta["messages"].append([*done, chosen.summary])
        except RuntimeError as error:
            meta["messages"].append(["ERROR", str(error)])
    after = digest()
    meta["changed"] = sorted(key for key in {**before, **after} if before.get(key) != after.get(key))
    meta["saved_file_changed"] = hashlib.sha256(blend.read_bytes()).hexdigest() != saved
    meta["caches"] = sorted(path.name for path in blend.parent.glob("pliant_cache/*"))
    pinned = garment.vertex_groups.get("Pinned")
    groups = [{g.group: g.weight for g in v.groups} for v in garment.data.vertices]
    meta["pinned"] = [k for k, weights in enumerate(groups) if pinned and weights.get(pinned.index, 0.0) > 0.5]
    meta["keys"] = [key.name for key in garment.data.shape_keys.key_blocks] if garment.data.shape_keys else []
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
    for k, thing in enumerate(others):
        arrays[f"after_layer{k}"] = np.stack([positions(thing, number) for number in numbers])
    for modifier in with_vertices:
        modifier.show_viewport = True
    meta["shown"] = len(garment.evaluated_get(bpy.context.evaluated_depsgraph_get()).data.vertices)
    np.savez(os.path.join(job["folder"], "out.npz"), meta=json.dumps(meta), **arrays)


def by_timer(name: str, way: str, garment: bpy.types.Object, arrays: dict, meta: dict) -> set[str]:
    """Start an operator as the panel does, and call the timer as Blender's window does; keep a frame seen meanwhile."""
    (package,) = [m for m in sys.modules if m.startswith("bl_ext.") and m.endswith(".pliant")]
    jobs = importlib.import_module(f"{package}.jobs")
    scene = bpy.context.scene
    before = digest()
    operators = importlib.import_module(f"{package}.operators")
    jobs.begin(getattr(operators, f"PLIANT_OT_{name}").job(scene))  # all that `invoke` does; it needs a window
    assert bpy.app.timers.is_registered(jobs.tick)
    sent = pathlib.Path(bpy.data.filepath).with_name("sent")
    sent.mkdir(exist_ok=True)
    for file in jobs.current().process.folder.glob("*.npz"):
        (sent / file.name).write_bytes(file.read_bytes())
    assert not bpy.ops.pliant.check.poll()
    job, ended = jobs.current(), False
    while jobs.current() is not None:
        time.sleep(0.02)
        jobs.tick()
        draw_panels(package, meta)
        shown = name != "drape" or (
            jobs.current() is not None and job._done[0] >= 2 and "Pliant Drape" in garment.modifiers
        )
        if shown and jobs.current() is not None and "live" not in arrays and name == "drape":
            meta["live"] = [job._done[0], job._done[0] < len(job._matrices[0])]
            arrays["live"] = positions(garment, scene.frame_start + 1)
            scene.frame_set(meta["now"][0])
            copy = pathlib.Path(bpy.data.filepath).with_name("meanwhile.blend")
            bpy.ops.wm.save_as_mainfile(filepath=str(copy), copy=True)
            meta["modifiers_while_saved"] = [m.name for m in garment.modifiers]
            jobs.tick()
        if not shown or ended or jobs.current() is None:
            continue
        ended = way in ("cancel", "kill")
        if way == "cancel":
            assert bpy.ops.pliant.cancel() == {"FINISHED"}
        elif way == "kill":
            os.killpg(job.process._process.pid, signal.SIGKILL)
    bpy.app.timers.unregister(jobs.tick) if bpy.app.timers.is_registered(jobs.tick) else None
    draw_panels(package, meta)
    meta["error"] = jobs.error()
    assert not job.process.running
    assert not job.process.folder.exists()
    if way != "timer":
        after = digest()
        meta["changed_by_" + way] = sorted(k for k in {**before, **after} if before.get(k) != after.get(k))
    return {"FINISHED"}


class Drawn:
    """A layout that checks that what panels name is there, and keeps their text."""

    def __init__(self, texts: list) -> None:
        self.texts = texts

    def __getattr__(self, name: str):
        if name in ("row", "column", "split"):
            return lambda **_: Drawn(self.texts)
        if name == "label":
            return lambda text, icon="NONE": self.texts.append(text)
        if name == "progress":
            return lambda factor, text: self.texts.append(text)
        if name == "operator":
            return lambda idname, **_: getattr(bpy.ops.pliant, idname.partition(".")[2]).get_rna_type()
        if name in ("prop", "prop_search", "template_list"):
            return getattr(self, f"_{name}")
        raise AttributeError(name)

    def _prop(self, data, name: str, **_) -> None:
        getattr(data, name)

    def _prop_search(self, data, name: str, where, what: str) -> None:
        getattr(data, name), getattr(where, what)

    def _template_list(self, kind: str, _: str, data, name: str, chosen, index: str, rows: int = 5) -> None:
        items = getattr(data, name)
        getattr(chosen, index)
        for item in items:
            getattr(bpy.types, kind).draw_item(None, bpy.context, self, data, item, 0, chosen, index)


def draw_panels(package: str, meta: dict) -> None:
    """Draw all panels as Blender does, on a layout without a window."""
    texts: list = []
    for one in importlib.import_module(f"{package}.panel").CLASSES:
        if issubclass(one, bpy.types.Panel):
            stub = type("Stub", (), {"layout": Drawn(texts)})()
            one.draw(stub, bpy.context)
    meta.setdefault("drawn", [])
    meta["drawn"] = [*meta["drawn"][-40:], *texts]


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
    made[1].vertex_groups.new(name="Empty")
    top = max(vertex.co.z for vertex in made[1].data.vertices)
    rows = [vertex.index for vertex in made[1].data.vertices if vertex.co.z > top - 0.1]
    made[1].vertex_groups.new(name="Pinned").add(rows, 1.0, "REPLACE")
    return made[1], made[0]


def long(scene: bpy.types.Scene) -> tuple[bpy.types.Object, bpy.types.Object]:
    """The sheet over 40 frames, which take a while, with a material and a vertex group."""
    grid, ball = sheet(scene)
    scene.frame_start, scene.frame_end = 3, 42
    grid.data.materials.append(bpy.data.materials.new("Linen"))
    grid.vertex_groups.new(name="Corner").add([0, 1], 0.5, "REPLACE")
    return grid, ball


def single(scene: bpy.types.Scene) -> tuple[bpy.types.Object, bpy.types.Object]:
    """The last frame of the sheet alone."""
    grid, ball = sheet(scene)
    scene.frame_start = scene.frame_end = 6
    scene.frame_set(6)
    return grid, ball


def late(scene: bpy.types.Scene) -> tuple[bpy.types.Object, bpy.types.Object]:
    """The last frames of the sheet, which begin with the ball in it."""
    grid, ball = sheet(scene)
    scene.frame_start = 5
    return grid, ball


def flattened(scene: bpy.types.Scene) -> tuple[bpy.types.Object, bpy.types.Object]:
    """The sheet, made flat by a modifier."""
    grid, ball = sheet(scene)
    flat = grid.modifiers.new("Flat", "SHRINKWRAP")
    bpy.ops.mesh.primitive_plane_add(size=9.0, location=(0.0, 0.0, 0.21))
    flat.target, flat.wrap_method = bpy.context.object, "PROJECT"
    flat.use_project_z = flat.use_negative_direction = flat.use_positive_direction = True
    return grid, ball


def coat(scene: bpy.types.Scene) -> tuple[bpy.types.Object, bpy.types.Object]:
    """The sheet with another one over it."""
    grid, ball = sheet(scene)
    bpy.ops.mesh.primitive_grid_add(x_subdivisions=12, y_subdivisions=12, size=0.5, location=(0.3, 0.1, 0.25))
    bpy.context.object.name = "Coat"
    bpy.context.object.rotation_euler = grid.rotation_euler
    return grid, ball


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
    """A garment beside the armature of a character, from the OBJ and the GLB in a folder that the environment names."""
    scene.render.fps = int(os.environ.get("PLIANT_TEST_RATE", "40"))  # as its keyframes
    folder = os.environ["PLIANT_TEST_CHARACTER"]
    bpy.ops.import_scene.gltf(filepath=os.path.join(folder, "walker.glb"))
    bpy.ops.wm.obj_import(filepath=os.path.join(folder, "skirt.obj"))
    scene.frame_start, scene.frame_end = 5, 8
    scene.frame_set(6)
    garment = bpy.data.objects["skirt"]
    bodies = [o for o in scene.objects if o.type == "MESH" and o != garment and not o.name.startswith("Icosphere")]
    return garment, max(bodies, key=lambda thing: len(thing.data.vertices))


SCENES = {
    "unbound": unbound, "sheet": sheet, "sleeve": sleeve, "shape_keys": shape_keys, "character": character,
    "long": long, "single": single, "flattened": flattened, "late": late, "coat": coat,
}  # fmt: skip

if __name__ == "__main__":
    main()
