"""MDD point caches (LightWave): numbers of samples and points, times in seconds, then float32, all big endian."""

import os
import pathlib
from collections.abc import Sequence

import numpy as np

from ..files import atomic_write
from ..motion.clip import Clip
from .point_caches import Samples, cache_files, positions_at
from .reading import Input

_HEAD = 8  # bytes before the times
_EVEN = 1e-3  # times are at one rate if no interval differs from their median by more than this fraction


def read(file: Input) -> Samples:
    """Read the positions, and the frame rate of their times."""
    if len(file.data) < _HEAD:
        raise file.fail("byte 0", f"{len(file.data)} bytes; an MDD point cache begins with two whole numbers")
    samples, count = np.frombuffer(file.data, ">i4", 2).tolist()
    start = _HEAD + 4 * max(samples, 0)
    positions = positions_at(file, start, samples, count, ">f4")
    times = np.frombuffer(file.data, ">f4", samples, _HEAD).astype(np.float64)
    if not np.isfinite(times).all() or (np.diff(times) < 0.0).any():
        raise file.fail("times", "not finite, or not ascending")
    steps = np.diff(times)
    usual = float(np.median(steps)) if len(steps) else 0.0
    if usual <= 0.0:
        return Samples(positions)
    # single precision leaves errors of its last place in the difference of two times
    slack = _EVEN * usual + 2.0 * float(np.spacing(np.float32(times[-1])))
    uneven = np.flatnonzero(np.abs(steps - usual) > slack)
    if len(uneven):
        k = int(uneven[0])
        raise file.fail(
            "times",
            f"samples {k} and {k + 1} are {steps[k]:g} s apart, others {usual:g} s; export it at one frame rate",
        )
    rate = (samples - 1) / float(times[-1] - times[0])
    return Samples(positions, float(round(rate)) if abs(rate - round(rate)) < 1e-3 * rate else rate)


def write_clips(path: str | os.PathLike[str], clips: Sequence[Clip], fps: float) -> list[pathlib.Path]:
    """Write point caches as `cache_files` names them; return the paths."""
    written = []
    for target, clip in cache_files(path, clips):
        with atomic_write(target) as stream:
            stream.write(np.array([len(clip.frames), clip.frames.shape[1]], ">i4").tobytes())
            stream.write((np.arange(len(clip.frames)) / fps).astype(">f4").tobytes())
            for frame in clip.frames:
                stream.write(frame.astype(">f4").tobytes())
        written.append(target)
    return written
