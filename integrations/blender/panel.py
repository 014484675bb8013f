"""The panel Pliant in the sidebar of the 3D view."""

import bpy


class PLIANT_UL_findings(bpy.types.UIList):
    """The frames in which something is wrong; a click shows the frame."""

    def draw_item(self, context, layout, data, item, icon, active_data, active_property) -> None:
        row = layout.row(align=True)
        row.label(text=str(item.frame))
        row.prop(item, "depth", text="", emboss=False)
        row.label(text=f"{item.inside} in, {item.crossings} x, {item.self_pairs} self")


class PLIANT_PT_panel(bpy.types.Panel):
    """Garment, body, commands and findings."""

    bl_idname = "PLIANT_PT_panel"
    bl_label = "Pliant"
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "Pliant"

    def draw(self, context: bpy.types.Context) -> None:
        layout, chosen = self.layout, context.scene.pliant
        layout.use_property_split = True
        layout.prop(chosen, "garment")
        layout.prop(chosen, "body")
        layout.prop(chosen, "bodies")
        layout.operator("pliant.check", icon="VIEWZOOM")
        layout.prop(chosen, "clearance")
        layout.prop(chosen, "untangle")
        row = layout.row(align=True)
        row.operator("pliant.fix", icon="MOD_CLOTH")
        row.operator("pliant.before_after", icon="ARROW_LEFTRIGHT")
        layout.operator("pliant.bind", icon="ARMATURE_DATA")
        if chosen.summary:
            layout.label(text=chosen.summary)
        if chosen.findings:
            layout.template_list("PLIANT_UL_findings", "", chosen, "findings", chosen, "chosen")


CLASSES = (PLIANT_UL_findings, PLIANT_PT_panel)
