"""Point caches: the positions of the vertices of one mesh in every frame. PC2 (`pc2.py`), MDD (`mdd.py`)."""

import os
import pathlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import MeshFileError
from ..mesh import Mesh
from ..motion.clip import Clip
from . import extension
from .formats import function
from .named import file_stems
from .reading import Input, check_frames, default_limit, read_input

READERS = {".pc2": "pc2.read", ".mdd": "mdd.read"}  # Input -> Samples
ENDINGS = tuple(READERS)


class Samples(NamedTuple):
    """Positions (T,n,3) single precision; fps: frames per second, None where the file does not say."""

    positions: NDArray[np.float32]
    fps: float | None = None


def read_points(path: pathlib.Path, mesh: Mesh, max_bytes: int | None) -> Samples:
    """Read the positions of a point cache; their number must be that of the mesh's vertices."""
    reader = READERS.get(extension(path))
    if reader is None:
        raise MeshFileError(path, "", f"unknown extension {extension(path)!r} of a point cache; {' or '.join(ENDINGS)}")
    file = read_input(path, default_limit() if max_bytes is None else max_bytes)
    found: Samples = function(reader)(file)
    count = found.positions.shape[1]
    if count != mesh.n_vertices:
        raise file.fail("header", f"{count} points, but mesh {mesh.name!r} has {mesh.n_vertices} vertices")
    check_frames(file, found.positions, "sample")
    return found


def positions_at(file: Input, start: int, samples: int, count: int, kind: str) -> NDArray[np.float32]:
    """The positions (samples,count,3) of type `kind` that begin at byte `start`; the file may be longer."""
    if count < 1 or samples < 1:
        raise file.fail("header", f"{count} points, {samples} samples; expected at least one of each")
    need = start + 12 * count * samples
    if len(file.data) < need:
        raise file.fail("", f"{samples} samples of {count} points need {need} bytes; the file has {len(file.data)}")
    return np.frombuffer(file.data, kind, 3 * count * samples, start).reshape(samples, count, 3).astype(np.float32)


def cache_clips(clips: Sequence[Clip]) -> list[Clip]:
    """Return the deforming clips, or the moving ones if none deforms, or all if none moves; each with its positions."""
    return [c for c in clips if c.bends] or [c.unrolled() for c in clips if not c.still] or list(clips)


def cache_files(path: str | os.PathLike[str], clips: Sequence[Clip]) -> Iterator[tuple[pathlib.Path, Clip]]:
    """Yield the file of each of `cache_clips`.

    A file holds one mesh: with several, mesh names are appended, `name-skirt.pc2` and `name-body.pc2`.
    """
    moving = cache_clips(clips)
    target = pathlib.Path(path)
    for clip, name in zip(moving, file_stems(target.stem, moving)):
        yield target.with_name(name + target.suffix), clip
