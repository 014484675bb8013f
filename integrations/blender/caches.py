"""Point caches that play on a garment: a PC2 file beside the .blend file, and a Mesh Cache modifier."""

import pathlib

import bpy
import numpy as np

from .process import Problem
from .recording import OWN, deforming, from_pliant

NAME = f"{OWN}Fix"


def folder() -> pathlib.Path:
    """The folder of caches beside the .blend file."""
    if not bpy.data.filepath:
        raise Problem("save the .blend file first; the cache is stored beside it")
    return pathlib.Path(bpy.data.filepath).parent / "pliant_cache"


def modifier(thing: bpy.types.Object | None) -> bpy.types.Modifier | None:
    """The modifier that Fix added, if any."""
    return None if thing is None else thing.modifiers.get(NAME)


def play(scene: bpy.types.Scene, thing: bpy.types.Object, frames: np.ndarray, matrices: np.ndarray) -> None:
    """Write frames (T,n,3) of pliant as a cache and play it on the garment, after the modifiers that were recorded."""
    metres = scene.unit_settings.scale_length
    local = np.stack([from_pliant(x, matrix, metres) for x, matrix in zip(frames, matrices)])
    if len(local) == 1:  # the modifier interpolates between two samples
        local = np.concatenate([local, local])
    word = "".join(c if c.isalnum() or c in "-_" else "_" for c in thing.name)
    path = folder() / f"{word}-fix.pc2"
    path.parent.mkdir(exist_ok=True)
    write_pc2(path, local)
    added = modifier(thing) or thing.modifiers.new(NAME, "MESH_CACHE")
    added.cache_format, added.filepath = "PC2", bpy.path.relpath(str(path))
    added.frame_start, added.play_mode, added.deform_mode = float(scene.frame_start), "SCENE", "OVERWRITE"
    added.show_viewport = added.show_render = True
    _place(thing, added)


def _place(thing: bpy.types.Object, added: bpy.types.Modifier) -> None:
    """Move the modifier to before the first one that changes vertices."""
    others = [m for m in thing.modifiers if m != added]
    index = next((k for k, m in enumerate(others) if not deforming(m)), len(others))
    thing.modifiers.move(list(thing.modifiers).index(added), index)


def write_pc2(path: pathlib.Path, frames: np.ndarray) -> None:
    """Write positions (T,n,3): version 1, first frame 0, one sample per frame."""
    count, points = frames.shape[:2]
    head = b"POINTCACHE2\0" + np.array([1, points], "<i4").tobytes()
    head += np.array([0.0, 1.0], "<f4").tobytes() + np.array([count], "<i4").tobytes()
    temporary = path.with_suffix(".tmp")
    temporary.write_bytes(head + np.ascontiguousarray(frames, "<f4").tobytes())
    temporary.replace(path)
