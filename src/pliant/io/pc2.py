"""PC2 point caches: the positions of the vertices of one mesh in every frame."""

import os
import pathlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..files import atomic_write
from ..mesh import Mesh
from ..motion.clip import Clip
from .named import file_stems
from .reading import check_frames, default_limit, read_input


def read_points(path: pathlib.Path, mesh: Mesh, max_bytes: int | None) -> NDArray[np.float32]:
    """Read the positions (T,n,3) of a point cache; n must be the mesh's number of vertices."""
    file = read_input(path, default_limit() if max_bytes is None else max_bytes)
    head = 32
    if file.data[:12] != b"POINTCACHE2\0" or len(file.data) < head:
        raise file.fail("byte 0", "not a PC2 point cache (no header POINTCACHE2)")
    version, count = np.frombuffer(file.data, "<i4", 2, 12).tolist()
    samples = int(np.frombuffer(file.data, "<i4", 1, 28)[0])
    if version != 1 or count < 1 or samples < 1:
        found = f"version {version}, {count} points, {samples} samples"
        raise file.fail("header", f"{found}; expected version 1, and at least one point and one sample")
    if count != mesh.n_vertices:
        raise file.fail("header", f"{count} points, but mesh {mesh.name!r} has {mesh.n_vertices} vertices")
    need = head + 12 * count * samples
    if len(file.data) < need:
        raise file.fail("", f"{samples} samples of {count} points need {need} bytes; the file has {len(file.data)}")
    frames = np.frombuffer(file.data, "<f4", 3 * count * samples, head).reshape(samples, count, 3)
    check_frames(file, frames, "sample")
    return frames


def write_clips(path: str | os.PathLike[str], clips: Sequence[Clip], fps: float) -> list[pathlib.Path]:
    """Write each deforming clip, or each moving clip if none deforms, or all clips if none moves, as a point cache;
    return the paths.

    A file holds one mesh: with several, mesh names are appended, `name-skirt.pc2` and `name-body.pc2`. Header
    (version, points, start, frames per sample, samples), then float32.
    """
    moving = [c for c in clips if c.bends] or [c.unrolled() for c in clips if not c.still] or list(clips)
    target, written = pathlib.Path(path), []
    for clip, name in zip(moving, file_stems(target.stem, moving)):
        written.append(target.with_name(name + target.suffix))
        with atomic_write(written[-1]) as stream:
            stream.write(b"POINTCACHE2\0" + np.array([1, clip.frames.shape[1]], "<i4").tobytes())
            stream.write(np.array([0.0, 1.0], "<f4").tobytes() + np.array([len(clip.frames)], "<i4").tobytes())
            for frame in clip.frames:
                stream.write(frame.astype("<f4").tobytes())
    return written
