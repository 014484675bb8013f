"""The operators. From the panel they start a process and return; a timer brings its result back. From a script they
wait for it."""

import bpy

from . import jobs
from .commands import Bind, Check, Fix
from .drape import Drape
from .installation import Install
from .process import Problem
from .recording import DRAPE, FIX, own_keys


class _Command:
    """An operator that runs a job."""

    bl_options = {"REGISTER", "UNDO"}  # noqa: RUF012
    job: type[jobs.Job]

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return jobs.current() is None

    def execute(self, context: bpy.types.Context) -> set[str]:
        try:
            self.report({"INFO"}, jobs.run(self.job(context.scene)))
        except Problem as problem:
            self.report({"ERROR"}, str(problem))
            return {"CANCELLED"}
        return {"FINISHED"}

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> set[str]:
        try:
            jobs.begin(self.job(context.scene))
        except Problem as problem:
            self.report({"ERROR"}, str(problem))
            return {"CANCELLED"}
        return {"FINISHED"}


class PLIANT_OT_check(_Command, bpy.types.Operator):
    """Find where the garment is inside the body or intersects it or itself, in every frame of the scene"""

    bl_idname = "pliant.check"
    bl_label = "Check"
    job = Check


class PLIANT_OT_fix(_Command, bpy.types.Operator):
    """Move the garment out of the body and untangle it, in every frame of the scene"""

    bl_idname = "pliant.fix"
    bl_label = "Fix"
    job = Fix


class PLIANT_OT_drape(_Command, bpy.types.Operator):
    """Simulate the garments on the body as it moves, from the first frame of the scene to the last"""

    bl_idname = "pliant.drape"
    bl_label = "Drape"
    job = Drape


class PLIANT_OT_bind(_Command, bpy.types.Operator):
    """Give the garment, as it is in the rest position of the armature, the skinning weights of the body"""

    bl_idname = "pliant.bind"
    bl_label = "Bind"
    job = Bind


class PLIANT_OT_install(_Command, bpy.types.Operator):
    """Download what pliant needs and install it in a folder of its own; Blender's own packages stay as they are"""

    bl_idname = "pliant.install"
    bl_label = "Install Pliant"
    bl_options = {"REGISTER"}  # noqa: RUF012
    job = Install


class PLIANT_OT_cancel(bpy.types.Operator):
    """End the running process; the scene stays as it was before"""

    bl_idname = "pliant.cancel"
    bl_label = "Cancel"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return jobs.current() is not None

    def execute(self, context: bpy.types.Context) -> set[str]:
        jobs.cancel()
        return {"FINISHED"}


class PLIANT_OT_before_after(bpy.types.Operator):
    """Switch between the garments as they were and as Fix and Drape left them"""

    bl_idname = "pliant.before_after"
    bl_label = "Before / After"
    bl_options = {"REGISTER", "UNDO"}  # noqa: RUF012

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return jobs.current() is None and any(_results(context.scene))

    def execute(self, context: bpy.types.Context) -> set[str]:
        modifiers, keys = _results(context.scene)
        hide = any(each.show_viewport for each in modifiers) or any(not key.mute for key in keys)
        for modifier in modifiers:
            modifier.show_viewport = modifier.show_render = not hide
        for key in keys:
            key.mute = hide
        return {"FINISHED"}


def _results(scene: bpy.types.Scene) -> tuple[list[bpy.types.Modifier], list[bpy.types.ShapeKey]]:
    """What Fix and Drape have added to the chosen garments."""
    chosen = scene.pliant
    things = [thing for thing in (chosen.garment, *(layer.garment for layer in chosen.layers)) if thing is not None]
    modifiers = [each for thing in things for name in (FIX, DRAPE) if (each := thing.modifiers.get(name)) is not None]
    return modifiers, [key for thing in things for key in own_keys(thing)]


class PLIANT_OT_layer_add(bpy.types.Operator):
    """Add a garment that is worn over the others"""

    bl_idname = "pliant.layer_add"
    bl_label = "Add Layer"
    bl_options = {"REGISTER", "UNDO"}  # noqa: RUF012

    def execute(self, context: bpy.types.Context) -> set[str]:
        chosen = context.scene.pliant
        chosen.layers.add()
        chosen.layer = len(chosen.layers) - 1
        return {"FINISHED"}


class PLIANT_OT_layer_remove(bpy.types.Operator):
    """Remove the chosen layer from the list; the garment itself stays"""

    bl_idname = "pliant.layer_remove"
    bl_label = "Remove Layer"
    bl_options = {"REGISTER", "UNDO"}  # noqa: RUF012

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return 0 <= context.scene.pliant.layer < len(context.scene.pliant.layers)

    def execute(self, context: bpy.types.Context) -> set[str]:
        chosen = context.scene.pliant
        chosen.layers.remove(chosen.layer)
        chosen.layer = max(min(chosen.layer, len(chosen.layers) - 1), 0)
        return {"FINISHED"}


CLASSES = (
    PLIANT_OT_check, PLIANT_OT_fix, PLIANT_OT_drape, PLIANT_OT_bind, PLIANT_OT_install, PLIANT_OT_cancel,
    PLIANT_OT_before_after, PLIANT_OT_layer_add, PLIANT_OT_layer_remove,
)  # fmt: skip
