"""Pliant in Blender: a panel in the sidebar of the 3D view that checks and repairs clothes on a moving body.

The work is done by a `pliant` process; this extension exchanges files with it and never blocks the window.
"""

import bpy

from . import operators, panel, settings

CLASSES = (*settings.CLASSES, *operators.CLASSES, *panel.CLASSES)


def register() -> None:
    for one in CLASSES:
        bpy.utils.register_class(one)
    bpy.types.Scene.pliant = bpy.props.PointerProperty(type=settings.PliantSettings)


def unregister() -> None:
    del bpy.types.Scene.pliant
    for one in reversed(CLASSES):
        bpy.utils.unregister_class(one)
