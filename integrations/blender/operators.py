"""The operators: each records the scene, runs a pliant process and brings its result back.

From a script they wait for the process; from the panel they are modal: the window stays responsive, and Esc cancels.
"""

from typing import Any

import bpy
import numpy as np

from . import caches, depths, settings, skinning
from .process import PliantProcess, Problem
from .recording import Recording, joined, record, with_own_vertices

_SECONDS = 0.1  # between two looks at the process


class _Command:
    """What the operators share; `words` and `bring_back` are theirs."""

    bl_options = {"REGISTER", "UNDO"}  # noqa: RUF012
    fixed = True  # whether the garment is taken as Fix left it

    def words(self, chosen: settings.PliantSettings) -> list[str]:
        raise NotImplementedError

    def prepare(self, context: bpy.types.Context, bodies: list[bpy.types.Object]) -> list[str]:
        """Write the files of the command; return its words."""
        with with_own_vertices(self._garment, fixed=self.fixed):
            garment, *others = record(context.scene, [self._garment, *bodies])
        if garment.frames.shape[1] != len(self._garment.data.vertices):
            raise Problem(f"a modifier of {self._garment.name!r} changes its vertices; move it to the end of the stack")
        self._recording: Recording = garment
        fps = context.scene.render.fps / context.scene.render.fps_base
        garment.save(str(self._process.folder / "garment.npz"), fps)
        words = ["garment.npz", *self.words(context.scene.pliant)]
        if others:
            joined(others).save(str(self._process.folder / "body.npz"), fps)
            words += ["--body", "body.npz"]
        return words

    def bring_back(self, context: bpy.types.Context, thing: bpy.types.Object, found: dict[str, Any]) -> str:
        raise NotImplementedError

    def execute(self, context: bpy.types.Context) -> set[str]:
        try:
            self._start(context)
            self._process.wait()
            return self._finish(context)
        except Problem as problem:
            return self._failed(problem)
        finally:
            self._close()

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> set[str]:
        try:
            self._start(context)
        except Problem as problem:
            self._close()
            return self._failed(problem)
        self._timer = context.window_manager.event_timer_add(_SECONDS, window=context.window)
        context.window_manager.progress_begin(0.0, 1.0)
        context.window_manager.modal_handler_add(self)
        return {"RUNNING_MODAL"}

    def modal(self, context: bpy.types.Context, event: bpy.types.Event) -> set[str]:
        if event.type == "ESC":
            self.cancel(context)
            self.report({"INFO"}, f"{self.bl_label} was cancelled; nothing has changed")
            return {"CANCELLED"}
        if event.type != "TIMER":
            return {"PASS_THROUGH"}
        if self._process.running:
            share, what = self._process.progress
            context.window_manager.progress_update(share)
            context.workspace.status_text_set(f"Pliant: {what}, {share:.0%}   Esc: cancel")
            return {"RUNNING_MODAL"}
        try:
            return self._finish(context)
        except Problem as problem:
            return self._failed(problem)
        finally:
            self.cancel(context)

    def cancel(self, context: bpy.types.Context) -> None:
        context.window_manager.event_timer_remove(self._timer)
        context.window_manager.progress_end()
        context.workspace.status_text_set(None)
        self._close()

    def _start(self, context: bpy.types.Context) -> None:
        chosen: settings.PliantSettings = context.scene.pliant
        self._process = PliantProcess()
        self._garment, bodies = _chosen_things(context, chosen)
        name = self.bl_label.lower()
        self._process.start(settings.command(), name, *self.prepare(context, bodies), "--json")

    def _finish(self, context: bpy.types.Context) -> set[str]:
        text = self.bring_back(context, self._garment, self._process.result())
        context.scene.pliant.summary = text
        self.report({"INFO"}, text)
        return {"FINISHED"}

    def _failed(self, problem: Problem) -> set[str]:
        self.report({"ERROR"}, str(problem))
        return {"CANCELLED"}

    def _close(self) -> None:
        self._process.close()


class PLIANT_OT_check(_Command, bpy.types.Operator):
    """Find where the garment is inside the body or intersects it or itself, in every frame of the scene"""

    bl_idname = "pliant.check"
    bl_label = "Check"

    def words(self, chosen: settings.PliantSettings) -> list[str]:
        return ["--distances", "distances.npz"] if chosen.body or chosen.bodies else []

    def bring_back(self, context: bpy.types.Context, thing: bpy.types.Object, found: dict[str, Any]) -> str:
        path, metres = self._process.folder / "distances.npz", context.scene.unit_settings.scale_length
        if path.is_file():
            with np.load(path) as stored:
                depths.show(thing, stored["distances"] / metres)
        return depths.list_findings(context.scene, found)


class PLIANT_OT_fix(_Command, bpy.types.Operator):
    """Move the garment out of the body and untangle it, in every frame of the scene, with a mesh cache"""

    bl_idname = "pliant.fix"
    bl_label = "Fix"
    fixed = False

    def words(self, chosen: settings.PliantSettings) -> list[str]:
        clearance = chosen.clearance * bpy.context.scene.unit_settings.scale_length
        caches.folder()  # refused before the work starts
        return ["-o", "fixed.npz", "--clearance", f"{clearance:.9g}m", *([] if chosen.untangle else ["--no-tangles"])]

    def bring_back(self, context: bpy.types.Context, thing: bpy.types.Object, found: dict[str, Any]) -> str:
        with np.load(self._process.folder / "fixed.npz") as stored:
            frames = stored["frames_0"] if "frames_0" in stored else stored["vertices"][None]
        caches.play(context.scene, thing, frames, self._recording.matrices)
        left = found["remains"]
        return "; ".join(["remains", *left]) if left else "no intersections remain"


class PLIANT_OT_bind(_Command, bpy.types.Operator):
    """Give the garment, as it is in the rest position of the armature, the skinning weights of the body"""

    bl_idname = "pliant.bind"
    bl_label = "Bind"
    fixed = False

    def prepare(self, context: bpy.types.Context, bodies: list[bpy.types.Object]) -> list[str]:
        rigged = [body for body in bodies if body.find_armature() is not None]
        if len(bodies) != 1 or not rigged:
            raise Problem("Bind needs one body with an Armature modifier; choose it in the panel Pliant")
        self._armature = rigged[0].find_armature()
        skinning.write(self._process.folder, context.scene, self._garment, rigged[0], self._armature)
        return ["garment.npz", "body.glb", "-o", "bound.glb", "--alone", "--check-frames", "0", "--influences", "8"]

    def bring_back(self, context: bpy.types.Context, thing: bpy.types.Object, found: dict[str, Any]) -> str:
        names, joints, weights = skinning.read(self._process.folder / "bound.glb")
        skinning.apply(thing, self._armature, names, joints, weights)
        return (
            f"{len(weights)} vertices bound to {len(np.unique(joints[weights > 0.0]))} bones of {self._armature.name}"
        )


class PLIANT_OT_before_after(bpy.types.Operator):
    """Switch between the garment as it was and as Fix left it"""

    bl_idname = "pliant.before_after"
    bl_label = "Before / After"
    bl_options = {"REGISTER", "UNDO"}  # noqa: RUF012

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return caches.modifier(context.scene.pliant.garment) is not None

    def execute(self, context: bpy.types.Context) -> set[str]:
        modifier = caches.modifier(context.scene.pliant.garment)
        modifier.show_viewport = modifier.show_render = not modifier.show_viewport
        return {"FINISHED"}


def _chosen_things(
    context: bpy.types.Context, chosen: settings.PliantSettings
) -> tuple[bpy.types.Object, list[bpy.types.Object]]:
    garment = chosen.garment
    if garment is None:
        raise Problem("no garment is chosen; choose one in the panel Pliant")
    bodies = [chosen.body] if chosen.bodies is None and chosen.body else []
    if chosen.bodies is not None:
        bodies = [thing for thing in chosen.bodies.all_objects if thing.type == "MESH" and thing != garment]
        if not bodies:
            raise Problem(f"collection {chosen.bodies.name!r} has no meshes besides the garment")
    if garment in bodies:
        raise Problem(f"{garment.name!r} is chosen as garment and as body")
    for thing in (garment, *bodies):
        if thing.name not in context.view_layer.objects:
            raise Problem(f"{thing.name!r} is not in this view layer")
    return garment, bodies


CLASSES = (PLIANT_OT_check, PLIANT_OT_fix, PLIANT_OT_bind, PLIANT_OT_before_after)
