"""The panel Pliant in the sidebar of the 3D view."""

import textwrap

import bpy

from . import jobs, settings

CHARACTER = 7  # pixels of the width of a character, on average, where the interface is not scaled


class PLIANT_UL_findings(bpy.types.UIList):
    """The frames in which something is wrong; a click shows the frame."""

    def draw_item(self, context, layout, data, item, icon, active_data, active_property) -> None:
        frame = layout.split(factor=0.14)
        frame.label(text=str(item.frame))
        depth = frame.split(factor=0.32)
        depth.label(text=f"{1e3 * item.depth * context.scene.unit_settings.scale_length:.3g} mm")
        counts = ((item.inside, "in"), (item.crossings, "x"), (item.self_pairs, "self"))
        depth.label(text=", ".join(f"{count} {what}" for count, what in counts if count))


class PLIANT_UL_layers(bpy.types.UIList):
    """The garments over the first, inner to outer."""

    def draw_item(self, context, layout, data, item, icon, active_data, active_property) -> None:
        layout.prop(item, "garment", text="")


class _Panel:
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "Pliant"


class PLIANT_PT_panel(_Panel, bpy.types.Panel):
    """Garment, body, the running command, its result and findings."""

    bl_idname = "PLIANT_PT_panel"
    bl_label = "Pliant"

    def draw(self, context: bpy.types.Context) -> None:
        layout, chosen = self.layout, context.scene.pliant
        layout.use_property_split, layout.use_property_decorate = True, False
        if jobs.current() is None:
            settings.draw_installation(layout)
        layout.prop(chosen, "garment")
        layout.prop(chosen, "body")
        layout.prop(chosen, "bodies")
        layout.operator("pliant.check", icon="VIEWZOOM")
        job = jobs.current()
        if job is not None:
            share, what = job.process.progress
            row = layout.row(align=True)
            row.progress(factor=share, text=f"{job.label}: {what}")
            row.operator("pliant.cancel", text="", icon="X")
        elif jobs.error():
            _draw_text(layout, context, jobs.error(), icon="ERROR")
        elif chosen.summary:
            _draw_text(layout, context, chosen.summary)
        if chosen.findings:
            layout.template_list("PLIANT_UL_findings", "", chosen, "findings", chosen, "chosen")
        layout.operator("pliant.before_after", icon="ARROW_LEFTRIGHT")


class PLIANT_PT_fix(_Panel, bpy.types.Panel):
    """How the garment is repaired, and where the result is stored."""

    bl_label = "Fix"
    bl_parent_id = "PLIANT_PT_panel"

    def draw(self, context: bpy.types.Context) -> None:
        layout, chosen = self.layout, context.scene.pliant
        layout.use_property_split, layout.use_property_decorate = True, False
        layout.prop(chosen, "clearance")
        layout.prop(chosen, "untangle")
        layout.prop(chosen, "store")
        layout.operator("pliant.fix", icon="MOD_CLOTH")


class PLIANT_PT_drape(_Panel, bpy.types.Panel):
    """What the garments are made of, what holds them, and those that are worn over the first."""

    bl_label = "Drape"
    bl_parent_id = "PLIANT_PT_panel"

    def draw(self, context: bpy.types.Context) -> None:
        layout, chosen = self.layout, context.scene.pliant
        layout.use_property_split, layout.use_property_decorate = True, False
        _draw_garment(layout, chosen)
        layout.label(text="Garments over it:")
        row = layout.row()
        row.template_list("PLIANT_UL_layers", "", chosen, "layers", chosen, "layer", rows=2)
        column = row.column(align=True)
        column.operator("pliant.layer_add", text="", icon="ADD")
        column.operator("pliant.layer_remove", text="", icon="REMOVE")
        if 0 <= chosen.layer < len(chosen.layers):
            _draw_garment(layout, chosen.layers[chosen.layer])
        layout.prop(chosen, "hold")
        layout.prop(chosen, "thickness")
        layout.prop(chosen, "settle")
        layout.operator("pliant.drape", icon="PLAY")


class PLIANT_PT_bind(_Panel, bpy.types.Panel):
    """Weights of the garment from the body."""

    bl_label = "Bind"
    bl_parent_id = "PLIANT_PT_panel"
    bl_options = {"DEFAULT_CLOSED"}  # noqa: RUF012

    def draw(self, context: bpy.types.Context) -> None:
        self.layout.operator("pliant.bind", icon="ARMATURE_DATA")


def _draw_text(layout: bpy.types.UILayout, context: bpy.types.Context, text: str, icon: str = "NONE") -> None:
    """A text in as many lines as the sidebar needs for it; Blender itself would cut it."""
    pixels = context.region.width / context.preferences.system.ui_scale if context.region else 280.0
    column = layout.column(align=True)
    for k, line in enumerate(textwrap.wrap(text, max(20, int((pixels - 60.0) / CHARACTER)))):
        column.label(text=line, icon=("NONE" if k else icon))


def _draw_garment(layout: bpy.types.UILayout, worn: bpy.types.PropertyGroup) -> None:
    """The material and the pins of one garment."""
    layout.prop(worn, "material")
    if worn.garment is not None:
        layout.prop_search(worn, "pins", worn.garment, "vertex_groups")


CLASSES = (PLIANT_UL_findings, PLIANT_UL_layers, PLIANT_PT_panel, PLIANT_PT_fix, PLIANT_PT_drape, PLIANT_PT_bind)
