"""The table of file formats. Reading, writing and error messages use it; a test compares help texts and pages with it.

A module named after a format has its reader `read` and its writers `write_mesh` and `write_clips`; where they are too
long for one file, the writers are in a module of their own, such as `obj_write`.
"""

import importlib
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple


class Format(NamedTuple):
    """The functions of one extension as "module.function" of this package, imported when first needed; None: none."""

    read: str | None = None  # Input -> Parts
    write: str | None = None  # (path, mesh) -> None
    write_animation: str | None = None  # (path, clips, fps) -> paths of the written files, or None for the path itself
    parts: bool = False  # a file can hold several named objects
    tets: bool = False  # a file can hold tetrahedra
    lines: bool = False  # a written file can hold polylines
    refused: bool = False  # `read` only raises an error, which says how to convert the file


def names_of(endings: Iterable[str]) -> str:
    """The extensions of animations as they are typed; .vat.png, because .png alone is a picture."""
    return ", ".join(f".vat{ending}" if ending in (".exr", ".png") else ending for ending in endings)


FORMATS: dict[str, Format] = {
    ".obj": Format("obj.read", "obj_write.write_mesh", "obj_write.write_clips", parts=True, lines=True),
    ".ply": Format("ply.read", "ply_write.write_mesh"),
    ".stl": Format("stl.read", "stl.write_mesh"),
    ".off": Format("off.read", "off.write_mesh"),
    ".glb": Format("gltf.read", "gltf_write.write_mesh", "gltf_write.write_clips", parts=True, lines=True),
    ".gltf": Format("gltf.read", parts=True),
    ".npz": Format("npz.read", "npz.write_mesh", "npz.write_clips", tets=True, lines=True),
    ".msh": Format("gmsh.read", "gmsh.write_mesh", tets=True),
    ".mesh": Format("medit.read", "medit.write_mesh", tets=True),
    ".meshb": Format("medit.read_binary", tets=True, refused=True),
    ".node": Format("tetgen.read", tets=True),
    ".ele": Format("tetgen.read", tets=True),
    ".vtk": Format("vtk.read", "vtk.write_mesh", tets=True),
    ".vtu": Format("vtu.read", tets=True),
    ".pc2": Format(write_animation="pc2.write_clips", lines=True),
    ".mdd": Format(write_animation="mdd.write_clips", lines=True),
    ".exr": Format(write_animation="vat.write_clips"),
    ".png": Format(write_animation="vat.write_clips"),
    ".usda": Format("usd_read.read", "usd.write_mesh", "usd.write_clips", parts=True, lines=True),
    ".usdc": Format("usd_read.read", "usd.write_mesh_binary", "usd.write_clips_binary", parts=True, lines=True),
    ".usd": Format("usd_read.read", "usd.write_mesh_binary", "usd.write_clips_binary", parts=True, lines=True),
    ".usdz": Format("usd_read.read", parts=True),
    ".abc": Format("blender.read", "blender.write_mesh", "blender.write_clips", parts=True),
    ".fbx": Format("blender.read", "blender.write_mesh", "blender.write_clips", parts=True),
}
NONE = Format()

READ = tuple(ending for ending, kind in FORMATS.items() if kind.read and not kind.refused)
WRITTEN = tuple(ending for ending, kind in FORMATS.items() if kind.write)
WRITTEN_TETS = tuple(ending for ending in WRITTEN if FORMATS[ending].tets)
WRITTEN_ANIMATIONS = tuple(ending for ending, kind in FORMATS.items() if kind.write_animation)
WRITTEN_LINES = tuple(ending for ending, kind in FORMATS.items() if kind.lines)
WITH_PARTS = tuple(ending for ending, kind in FORMATS.items() if kind.parts)


def function(name: str) -> Callable[..., Any]:
    """Import a function of the table by its "module.function"."""
    module, _, attribute = name.partition(".")
    return getattr(importlib.import_module(f".{module}", __package__), attribute)
