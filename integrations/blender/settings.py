"""What the user chooses: garments, body, and how they are fixed and draped; and what a check found, frame by frame."""

import os
import pathlib
import shutil

import bpy
from bpy.props import (
    BoolProperty,
    CollectionProperty,
    EnumProperty,
    FloatProperty,
    IntProperty,
    PointerProperty,
    StringProperty,
)

from .install_program import READY, program

PACKAGE = __package__ or "pliant"
ON_PATH = "pliant"  # the command where nothing else is named
MATERIALS = (
    ("DEFAULT", "Default", "A firm cotton that stretches by at most 1.7 %"),
    ("COTTON", "Cotton", ""), ("DENIM", "Denim", ""), ("SILK", "Silk", ""), ("WOOL", "Wool", ""),
    ("JERSEY", "Jersey", ""), ("LEATHER", "Leather", ""), ("FELT", "Felt", ""),
)  # fmt: skip
STORES = (
    ("CACHE", "Mesh Cache", "A file beside the .blend file, played by a Mesh Cache modifier"),
    ("KEYS", "Shape Keys", "A shape key for each frame, inside of the .blend file; other modifiers act after them"),
)


def _is_mesh(_: object, thing: bpy.types.Object) -> bool:
    return thing.type == "MESH"


def _go_to_frame(settings: "PliantSettings", context: bpy.types.Context) -> None:
    if 0 <= settings.chosen < len(settings.findings):
        context.scene.frame_set(settings.findings[settings.chosen].frame)


class PliantFinding(bpy.types.PropertyGroup):
    """A frame in which something is wrong."""

    frame: IntProperty()
    depth: FloatProperty(unit="LENGTH", description="Penetration depth of the deepest point")
    inside: IntProperty(description="Vertices inside the body")
    crossings: IntProperty(description="Pairs of triangles of garment and body that cross")
    self_pairs: IntProperty(description="Pairs of the garment's own triangles that intersect")


class PliantLayer(bpy.types.PropertyGroup):
    """A garment over others, for Drape."""

    garment: PointerProperty(name="Garment", type=bpy.types.Object, poll=_is_mesh)
    material: EnumProperty(name="Material", items=MATERIALS)
    pins: StringProperty(name="Pins", description="Vertex group whose vertices follow the garment's own animation")


class PliantSettings(bpy.types.PropertyGroup):
    """The panel's settings, stored in the scene."""

    garment: PointerProperty(name="Garment", type=bpy.types.Object, poll=_is_mesh, description="The clothes to check")
    body: PointerProperty(name="Body", type=bpy.types.Object, poll=_is_mesh, description="The body that wears them")
    bodies: PointerProperty(
        name="Bodies", type=bpy.types.Collection, description="All meshes of this collection, instead of one body"
    )
    clearance: FloatProperty(
        name="Clearance", unit="LENGTH", default=0.001, min=0.0, soft_max=0.05, precision=4,
        description="Distance from the body that Fix keeps",
    )  # fmt: skip
    untangle: BoolProperty(name="Self-Intersections", default=True, description="Fix also removes self-intersections")
    store: EnumProperty(name="Store", items=STORES, description="Where Fix stores its result")
    material: EnumProperty(name="Material", items=MATERIALS, description="What the garment is made of")
    pins: StringProperty(name="Pins", description="Vertex group whose vertices follow the garment's own animation")
    layers: CollectionProperty(type=PliantLayer)
    layer: IntProperty()
    hold: BoolProperty(
        name="Hold on Body", default=True,
        description="Boundaries that lie close to the body all around stay on it, in garments without pins",
    )  # fmt: skip
    thickness: FloatProperty(
        name="Thickness", unit="LENGTH", default=0.0, min=0.0, soft_max=0.05, precision=4,
        description="Distance between layers of cloth; 0 takes that of the material",
    )  # fmt: skip
    settle: FloatProperty(
        name="Settle", unit="TIME_ABSOLUTE", default=0.5, min=0.0, soft_max=5.0,
        description="Seconds in which the body stands as in the first frame, and the cloth comes to rest; not shown",
    )  # fmt: skip
    findings: CollectionProperty(type=PliantFinding)
    chosen: IntProperty(update=_go_to_frame)
    summary: StringProperty(description="The result of the last command")


class PliantPreferences(bpy.types.AddonPreferences):
    """Where the pliant program is."""

    bl_idname = PACKAGE

    command: StringProperty(
        name="Pliant", subtype="FILE_PATH", default=ON_PATH,
        description="The program, where pip has installed it; not needed after Install",
    )  # fmt: skip

    def draw(self, context: bpy.types.Context) -> None:
        draw_installation(self.layout)
        self.layout.prop(self, "command")


def draw_installation(layout: bpy.types.UILayout) -> None:
    """The button Install, where there is no program."""
    if shutil.which(command()) is None:
        layout.label(text="Pliant itself is not installed yet", icon="INFO")
        layout.operator("pliant.install", icon="IMPORT")


def command() -> str:
    """The pliant program: of the variable PLIANT_COMMAND, of the preferences, of Install, or on the path."""
    found = bpy.context.preferences.addons.get(PACKAGE)
    named = found.preferences.command if found else ON_PATH
    if os.environ.get("PLIANT_COMMAND") or named not in ("", ON_PATH):
        return os.environ.get("PLIANT_COMMAND") or named
    return str(program(environment(), "pliant")) if installed() else ON_PATH


def wheel() -> pathlib.Path | None:
    """The wheel of pliant in this extension."""
    return next(iter(sorted(pathlib.Path(__file__).parent.glob("program/*.whl"))), None)


def environment() -> pathlib.Path:
    """Where Install puts this version of pliant."""
    made = wheel()
    name = made.name.split("-py3")[0] if made else "pliant"
    return pathlib.Path(bpy.utils.extension_path_user(PACKAGE, path="", create=False), name)


def installed() -> bool:
    return PACKAGE.startswith("bl_ext.") and (environment() / READY).is_file()


CLASSES = (PliantFinding, PliantLayer, PliantSettings, PliantPreferences)
