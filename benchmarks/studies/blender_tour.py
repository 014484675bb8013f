"""The pictures of docs/blender.md: the extension, installed from its zip, checks, fixes and drapes a clipping skirt in
Blender.

This process makes the files; the second half of this file runs in Blender's own Python (`make test-blender` installs
it) and renders with Cycles on the CPU.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Callable

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
PYTHON = ROOT / ".venv-blender" / "bin" / "python"
WIDE, HIGH, SAMPLES = 300, 380, 32


def draw_blender(save: Callable[[str, np.ndarray], None]) -> None:
    """A misplaced skirt in its worst frame: as it is, its depths without the body, after Fix, and after Drape."""
    import PIL.Image

    import pliant
    from pliant import shapes

    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        skirt = shapes.skirt()
        misplaced = skirt.moved(skirt.vertices + np.array([0.02, 0.0, -0.03]))
        pliant.bind(misplaced, shapes.walking_mannequin()).save(folder / "dressed.glb")
        subprocess.run([sys.executable, ROOT / "tools" / "build_extension.py", folder], check=True)
        program = str(pathlib.Path(sys.executable).with_name("pliant"))
        known = {"PLIANT_COMMAND": program, "BLENDER_USER_RESOURCES": str(folder / "user")}
        done = subprocess.run([PYTHON, __file__, folder], env=os.environ | known, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stdout + done.stderr)
        print(json.loads((folder / "said.json").read_text("utf-8")), file=sys.stderr)
        tiles = [np.array(PIL.Image.open(folder / f"{k}.png").convert("RGB")) for k in range(4)]
    gap = np.full((HIGH, 8, 3), 255, np.uint8)
    save("blender", np.concatenate([part for tile in tiles for part in (gap, tile)][1:], 1))


def tour(folder: pathlib.Path) -> None:
    """In Blender: what docs/blender.md says, and a picture after each step."""
    import bpy

    bpy.ops.wm.read_factory_settings(use_empty=True)
    (archive,) = folder.glob("pliant-*.zip")
    bpy.ops.extensions.package_install_files(filepath=str(archive), repo="user_default", enable_on_install=True)
    scene = bpy.context.scene
    scene.render.fps = 20
    bpy.ops.import_scene.gltf(filepath=str(folder / "dressed.glb"))
    scene.frame_start, scene.frame_end = 0, 10
    garment, body = bpy.data.objects["skirt"], bpy.data.objects["mannequin"]
    scene.pliant.garment, scene.pliant.body, scene.pliant.clearance = garment, body, 0.002
    bpy.ops.wm.save_as_mainfile(filepath=str(folder / "scene.blend"))
    _light(bpy, scene)
    said = []
    bpy.ops.pliant.check()
    said.append(scene.pliant.summary)
    scene.pliant.chosen = 0  # the worst frame
    _render(scene, folder / "0.png")
    plain = garment.data.materials[0]
    garment.data.materials[0] = _depth_material(bpy)
    body.hide_render = True  # what is inside cannot be seen otherwise
    _render(scene, folder / "1.png")
    body.hide_render = False
    garment.data.materials[0] = plain
    bpy.ops.pliant.fix()
    said.append(scene.pliant.summary)
    _render(scene, folder / "2.png")
    bpy.ops.pliant.check()
    said.append(scene.pliant.summary)
    bpy.ops.pliant.drape()
    said.append(scene.pliant.summary)
    _render(scene, folder / "3.png")
    bpy.ops.pliant.check()
    said.append(scene.pliant.summary)
    (folder / "said.json").write_text(json.dumps(said), "utf-8")


def _light(bpy, scene) -> None:
    """A camera in front of the hips, a sun and a white sky."""
    import mathutils

    camera = bpy.data.objects.new("camera", bpy.data.cameras.new("camera"))
    camera.location, target = (1.5, -2.0, 1.05), mathutils.Vector((0.0, 0.0, 0.82))
    camera.rotation_euler = (target - camera.location).to_track_quat("-Z", "Y").to_euler()
    camera.data.lens = 75.0
    sun = bpy.data.objects.new("sun", bpy.data.lights.new("sun", "SUN"))
    sun.data.energy, sun.data.angle, sun.rotation_euler = 1.6, 0.2, (0.7, 0.2, 0.5)
    for thing in (camera, sun):
        scene.collection.objects.link(thing)
    scene.camera = camera
    scene.world = bpy.data.worlds.new("sky")
    scene.world.use_nodes = True
    scene.world.node_tree.nodes["Background"].inputs["Color"].default_value = (0.9, 0.92, 0.95, 1.0)
    scene.world.node_tree.nodes["Background"].inputs["Strength"].default_value = 0.55
    scene.render.engine, scene.cycles.device, scene.cycles.samples = "CYCLES", "CPU", SAMPLES
    scene.cycles.seed, scene.cycles.use_denoising = 1, True
    scene.render.resolution_x, scene.render.resolution_y, scene.render.resolution_percentage = WIDE, HIGH, 100
    scene.view_settings.view_transform = "Standard"


def _depth_material(bpy):
    """A material that shows the colours of Check."""
    made = bpy.data.materials.new("depth")
    made.use_nodes = True
    nodes = made.node_tree.nodes
    colour = nodes.new("ShaderNodeVertexColor")
    colour.layer_name = "Pliant Depth"
    made.node_tree.links.new(colour.outputs["Color"], nodes["Principled BSDF"].inputs["Base Color"])
    return made


def _render(scene, path: pathlib.Path) -> None:
    import bpy

    scene.render.filepath = str(path)
    bpy.ops.render.render(write_still=True)


if __name__ == "__main__":
    tour(pathlib.Path(sys.argv[1]))
