"""Vertex animation textures for game engines: offsets and normals of every vertex in every frame as images, the mesh
with texture coordinates that find them, and a description (docs/files.md, Vertex animation textures)."""

import json
import math
import os
import pathlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._version import __version__
from ..files import atomic_write
from ..motion.clip import Clip
from .data_images import exr, png
from .gltf_shape import Normals
from .gltf_write import write_for_texture
from .named import ClipName, file_stems
from .point_caches import cache_clips

WIDEST = 8192  # pixels of a side, which every current graphics processor can sample
_UV = 1


def require_name(path: pathlib.Path) -> None:
    """Raise ValueError unless the name ends in .vat.exr or .vat.png, so that no picture is expected in their place."""
    if not path.name.lower().endswith((".vat.exr", ".vat.png")):
        kind = path.suffix.lower()
        raise ValueError(
            f"{path}: a vertex animation texture is named {path.stem}.vat{kind}; use --sheet {path.name} for pictures"
        )


def files_of(path: pathlib.Path, clips: Sequence[Clip | ClipName]) -> Iterator[list[pathlib.Path]]:
    """Yield the files of each clip: positions, normals, mesh, description."""
    kind = path.suffix.lower()
    stems = list(file_stems(path.name[: -len(f".vat{kind}")], clips))
    used = set(stems)
    for stem in stems:
        normals = f"{stem}-normals"
        while normals in used:  # a mesh may be called "skirt-normals"
            normals += "2"
        used.add(normals)
        names = (f"{stem}.vat{kind}", f"{normals}.vat{kind}", f"{stem}.vat.glb", f"{stem}.vat.json")
        yield [path.with_name(name) for name in names]


def write_clips(path: str | os.PathLike[str], clips: Sequence[Clip], fps: float) -> list[pathlib.Path]:
    """Write the deforming clips, or else those that move; return the paths."""
    target = pathlib.Path(path)
    require_name(target)
    moving = cache_clips(clips)
    written = []
    for clip, files in zip(moving, files_of(target, moving)):
        _write(files, clip, fps)
        written += files
    return written


def _write(files: list[pathlib.Path], clip: Clip, fps: float) -> None:
    frames, n = len(clip.frames), clip.mesh.n_vertices
    rows = math.ceil(n / WIDEST)
    width = math.ceil(n / rows)
    if rows * frames > WIDEST:
        most = WIDEST // rows
        raise ValueError(
            f"{files[0]}: {frames} frames of {n} vertices need {rows * frames} rows, textures have at most {WIDEST}; "
            f"write at most {most} frames"
        )
    as_float = files[0].suffix.lower() == ".exr"
    image: Callable[[Any], bytes] = exr if as_float else png
    rest = clip.frames[0].astype(np.float32)
    offsets = clip.frames.astype(np.float64) - rest
    low, high = offsets.min((0, 1)), offsets.max((0, 1))
    normals_at = Normals(clip.mesh.faces, clip.mesh.weld_index)
    normals = np.stack([normals_at(frame) for frame in clip.frames])
    pixels = (offsets, normals) if as_float else (_spread(offsets, low, high), _spread(normals, -1.0, 1.0))
    for file, values in zip(files, pixels):
        kind = np.float32 if as_float else np.uint16
        grid = np.zeros((frames, rows * width, 3), kind)
        grid[:, :n] = values
        with atomic_write(file) as stream:
            stream.write(image(grid.reshape(frames * rows, width, 3)))
    column, row = np.arange(n) % width, np.arange(n) // width
    uv = np.stack([(column + 0.5) / width, (row + 0.5) / (frames * rows)], 1)
    write_for_texture(files[2], clip, uv)
    bounds = clip.frames.min((0, 1)), clip.frames.max((0, 1))
    about = {
        "generator": f"pliant {__version__}",
        "positions": files[0].name,
        "normals": files[1].name,
        "mesh": files[2].name,
        "uv_set": _UV,
        "vertices": n,
        "frames": frames,
        "frames_per_second": fps,
        "width": width,
        "height": frames * rows,
        "rows_per_frame": rows,
        "v_per_frame": 1.0 / frames,
        "encoding": "float32" if as_float else "unorm16",
        "offset_min": low.tolist() if not as_float else [0.0] * 3,
        "offset_max": high.tolist() if not as_float else [1.0] * 3,
        "normal_min": [0.0 if as_float else -1.0] * 3,
        "normal_max": [1.0] * 3,
        "bounds_min": bounds[0].tolist(),
        "bounds_max": bounds[1].tolist(),
        "space": "metres, right-handed, y up, v down",
        "formula": "position = POSITION + offset_min + (offset_max - offset_min) * texel; normal likewise, absolute; "
        "texel at (u, v + frame * v_per_frame), nearest in u, no mip maps, no sRGB",
    }
    with atomic_write(files[3]) as stream:
        stream.write(json.dumps(about, indent=2, allow_nan=False).encode() + b"\n")


def _spread(values: NDArray[Any], low: Any, high: Any) -> NDArray[np.uint16]:
    """Map [low, high] to 0..65535; a component without range to 0."""
    size = np.broadcast_to(np.asarray(high, np.float64) - low, (3,))
    share = np.divide(values - low, size, out=np.zeros(values.shape), where=size > 0.0)
    return np.rint(np.clip(share, 0.0, 1.0) * 65535.0).astype(np.uint16)
