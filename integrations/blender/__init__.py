"""Pliant in Blender: a panel in the sidebar of the 3D view that checks, repairs and drapes clothes on a moving body.

The work is done by a `pliant` process; this extension exchanges files with it and never blocks the window.
"""

import bpy

from . import jobs, operators, panel, settings

CLASSES = (*settings.CLASSES, *operators.CLASSES, *panel.CLASSES)


def register() -> None:
    for one in CLASSES:
        bpy.utils.register_class(one)
    bpy.types.Scene.pliant = bpy.props.PointerProperty(type=settings.PliantSettings)
    for name, handler in jobs.HANDLERS.items():
        getattr(bpy.app.handlers, name).append(handler)


def unregister() -> None:
    jobs.cancel()
    for name, handler in jobs.HANDLERS.items():
        getattr(bpy.app.handlers, name).remove(handler)
    del bpy.types.Scene.pliant
    for one in reversed(CLASSES):
        bpy.utils.unregister_class(one)
