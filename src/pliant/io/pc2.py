"""PC2 point caches: a header (version, points, start, frames per sample, samples), then float32, little endian."""

import os
import pathlib
from collections.abc import Sequence

import numpy as np

from ..files import atomic_write
from ..motion.clip import Clip
from .point_caches import Samples, cache_files, positions_at
from .reading import Input

_HEAD = 32  # bytes


def read(file: Input) -> Samples:
    """Read the positions; the format has no frame rate."""
    if file.data[:12] != b"POINTCACHE2\0" or len(file.data) < _HEAD:
        raise file.fail("byte 0", "not a PC2 point cache (no header POINTCACHE2)")
    version, count = np.frombuffer(file.data, "<i4", 2, 12).tolist()
    samples = int(np.frombuffer(file.data, "<i4", 1, 28)[0])
    if version != 1:
        raise file.fail("header", f"version {version}; expected version 1")
    return Samples(positions_at(file, _HEAD, samples, count, "<f4"))


def write_clips(path: str | os.PathLike[str], clips: Sequence[Clip], fps: float) -> list[pathlib.Path]:
    """Write point caches as `cache_files` names them; return the paths."""
    written = []
    for target, clip in cache_files(path, clips):
        with atomic_write(target) as stream:
            stream.write(b"POINTCACHE2\0" + np.array([1, clip.frames.shape[1]], "<i4").tobytes())
            stream.write(np.array([0.0, 1.0], "<f4").tobytes() + np.array([len(clip.frames)], "<i4").tobytes())
            for frame in clip.frames:
                stream.write(frame.astype("<f4").tobytes())
        written.append(target)
    return written
