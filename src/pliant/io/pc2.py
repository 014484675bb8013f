"""PC2 point caches: a header (version, points, start, frames per sample, samples), then float32, little endian."""

import os
import pathlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

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
            stream.write(_head(clip.frames.shape[1], len(clip.frames)))
            for frame in clip.frames:
                stream.write(frame.astype("<f4").tobytes())
        written.append(target)
    return written


def _head(points: int, samples: int) -> bytes:
    """The header: version 1, from time 0, one frame per sample."""
    parts = np.array([1, points], "<i4"), np.array([0.0, 1.0], "<f4"), np.array([samples], "<i4")
    return b"POINTCACHE2\0" + b"".join(part.tobytes() for part in parts)


class GrowingCache:
    """A point cache that is complete after every frame: its number of samples is written after the sample itself, so
    that a program that reads it meanwhile finds whole frames."""

    def __init__(self, path: str | os.PathLike[str], points: int) -> None:
        self.samples = 0
        self._path = os.fspath(path)
        self._stream = open(path, "w+b", buffering=0)
        self._write(_head(points, 0))

    def add(self, x: NDArray[np.floating]) -> None:
        """Append the positions (n,3) of a frame."""
        self._stream.seek(0, os.SEEK_END)
        self._write(np.ascontiguousarray(x, "<f4").tobytes())
        self.samples += 1
        self._stream.seek(_HEAD - 4)
        self._write(np.array([self.samples], "<i4").tobytes())

    def _write(self, data: bytes) -> None:
        """Write all of `data`: a file without a buffer takes only as much as a full disk has room for."""
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[self._stream.write(rest) :]
        except OSError as error:
            raise type(error)(error.errno, f"cannot write {self._path}: {error.strerror}") from error

    def close(self) -> None:
        self._stream.close()
