"""Clip: a mesh and where its vertices are, frame by frame; what files, replays and pictures are made from."""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from .mesh import Mesh
from .validate import first_index, numbers


@dataclasses.dataclass(frozen=True, eq=False)
class Clip:
    """`frames` (T,n,3) float32 or float64 positions of the mesh's own vertices in metres; T = 1 for what stands still.

    `color` is linear RGB in 0..1, for viewers and for files whose mesh brings no material of its own.
    """

    mesh: Mesh
    frames: NDArray[np.floating]
    color: tuple[float, float, float] = (0.8, 0.8, 0.8)

    def __post_init__(self) -> None:
        frames = numbers("frames", self.frames)  # not copied: long runs are large
        if frames.ndim != 3 or frames.shape[1:] != (self.mesh.n_vertices, 3) or not len(frames):
            raise ValueError(f"frames has shape {frames.shape}; expected (T, {self.mesh.n_vertices}, 3)")
        if frames.dtype.kind != "f":
            raise ValueError(f"frames has dtype {frames.dtype}; expected float32 or float64")
        if frames.dtype not in (np.float32, np.float64):  # half, extended or of the other byte order
            frames = frames.astype(np.float64)
        bad = ~np.isfinite(frames)
        if bad.any():
            raise ValueError(f"frames[{first_index(bad)}] is not finite ({frames[bad][0]})")
        object.__setattr__(self, "frames", frames)

    @property
    def still(self) -> bool:
        return len(self.frames) == 1

    def at(self, frame: int) -> NDArray[np.floating]:
        """Positions (n,3) at `frame`; a still clip is the same at all of them."""
        return self.frames[0 if self.still else frame]
