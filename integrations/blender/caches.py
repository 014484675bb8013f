"""Point caches that play on a garment: a PC2 file beside the .blend file, and a Mesh Cache modifier."""

import pathlib

import bpy
import numpy as np

from .process import Problem
from .recording import deforming, from_pliant

_HEAD = 32  # bytes


def folder() -> pathlib.Path:
    """The folder of caches beside the .blend file."""
    if not bpy.data.filepath:
        raise Problem("save the .blend file first; the cache is stored beside it")
    return pathlib.Path(bpy.data.filepath).parent / "pliant_cache"


def cache_file(thing: bpy.types.Object, kind: str) -> pathlib.Path:
    """The cache of a garment: `kind` is fix, drape or, while frames are added, drape-live."""
    word = "".join(c if c.isalnum() or c in "-_" else "_" for c in thing.name)
    return folder() / f"{word}-{kind}.pc2"


def play(scene: bpy.types.Scene, thing: bpy.types.Object, name: str, path: pathlib.Path) -> None:
    """Play a cache on the garment with the modifier of this name, after all others that keep its vertices."""
    added = thing.modifiers.get(name) or thing.modifiers.new(name, "MESH_CACHE")
    added.cache_format, added.filepath = "PC2", bpy.path.relpath(str(path))
    added.frame_start, added.play_mode, added.deform_mode = float(scene.frame_start), "SCENE", "OVERWRITE"
    added.show_viewport = added.show_render = True
    others = [m for m in thing.modifiers if m != added]
    index = next((k for k, m in enumerate(others) if not deforming(m)), len(others))
    thing.modifiers.move(list(thing.modifiers).index(added), index)


def local_frames(scene: bpy.types.Scene, frames: np.ndarray, matrices: np.ndarray) -> np.ndarray:
    """Frames (T,n,3) of pliant in the object, single precision."""
    metres = scene.unit_settings.scale_length
    return np.stack([from_pliant(x, matrix, metres) for x, matrix in zip(frames, matrices)])


def write_pc2(path: pathlib.Path, frames: np.ndarray) -> None:
    """Write positions (T,n,3): version 1, first frame 0, one sample per frame."""
    if len(frames) == 1:  # the modifier interpolates between two samples
        frames = np.concatenate([frames, frames])
    path.parent.mkdir(exist_ok=True)
    temporary = path.with_suffix(".tmp")
    temporary.write_bytes(_head(*frames.shape[:2]) + np.ascontiguousarray(frames, "<f4").tobytes())
    temporary.replace(path)


def read_pc2(path: pathlib.Path, first: int) -> np.ndarray:
    """The frames (T,n,3) from `first` on of a cache that may be growing; none before the file is there."""
    if not path.is_file():
        return np.zeros((0, 0, 3), np.float32)
    with open(path, "rb") as stream:
        head = stream.read(_HEAD)
        if len(head) < _HEAD:
            return np.zeros((0, 0, 3), np.float32)
        points, count = int.from_bytes(head[16:20], "little"), int.from_bytes(head[28:32], "little")
        stream.seek(_HEAD + 12 * points * first)
        data = stream.read(12 * points * max(count - first, 0))
    return np.frombuffer(data, "<f4").reshape(-1, points, 3)


def append_pc2(path: pathlib.Path, frames: np.ndarray) -> None:
    """Append frames (T,n,3) to a cache, which is created if it is not there; their number is written last, so that
    Blender reads whole frames at any time."""
    path.parent.mkdir(exist_ok=True)
    if not path.is_file():
        path.write_bytes(_head(0, frames.shape[1]))
    with open(path, "r+b") as stream:
        stream.seek(28)
        count = int.from_bytes(stream.read(4), "little") + len(frames)
        stream.seek(0, 2)
        stream.write(np.ascontiguousarray(frames, "<f4").tobytes())
        stream.flush()
        stream.seek(28)
        stream.write(count.to_bytes(4, "little"))


def _head(count: int, points: int) -> bytes:
    numbers = np.array([1, points], "<i4").tobytes() + np.array([0.0, 1.0], "<f4").tobytes()
    return b"POINTCACHE2\0" + numbers + count.to_bytes(4, "little")
