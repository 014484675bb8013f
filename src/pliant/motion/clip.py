"""Clip: a mesh and its vertex positions per frame, the input of files, replays and images."""

import dataclasses
import functools
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import check_arguments
from ..brief import brief
from ..mesh import Mesh
from ..mesh.subdivision import Subdivision
from ..mesh.tubes import Tubes
from ..validate import color, first_index, numbers
from .character import Character
from .deforming import SEAM
from .rigid import placed, rigid_poses


@check_arguments
@dataclasses.dataclass(frozen=True, eq=False)
class Clip:
    """An animated mesh: `frames` (T,n,3), float32 or float64 positions of its vertices in metres; T = 1 if static.

    A rigidly moving mesh has one frame and `poses` (T,3,4), rigid transforms of it. `color` is linear RGB in 0..1, for
    viewers and for files if the mesh has no material. `skin`: a character whose only clip, with one keyframe per frame,
    reproduces `frames`; for file formats with bones. `subdivision` of the mesh, or tubes around its lines: how pages
    and pictures show it.
    """

    mesh: Mesh
    frames: NDArray[np.floating]
    color: tuple[float, float, float] = (0.8, 0.8, 0.8)
    poses: NDArray[np.float64] | None = None
    skin: Character | None = None
    subdivision: Subdivision | Tubes | None = None

    __repr__ = brief

    if TYPE_CHECKING:  # what it takes, besides what it keeps

        def __init__(
            self,
            mesh: Mesh,
            frames: ArrayLike,
            color: tuple[float, float, float] = ...,
            poses: ArrayLike | None = ...,
            skin: Character | None = ...,
            subdivision: Subdivision | Tubes | None = ...,
        ) -> None: ...

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
        object.__setattr__(self, "color", color("color", self.color))
        if self.poses is not None:
            poses = rigid_poses("poses", self.poses)
            if len(frames) != 1 or not len(poses):
                raise ValueError(f"a clip with {len(poses)} poses has {len(frames)} frames; expected one")
            object.__setattr__(self, "poses", poses)

    def __len__(self) -> int:
        """Return the number of frames; 1 if static."""
        return len(self.frames) if self.poses is None else len(self.poses)

    @property
    def still(self) -> bool:
        return len(self) == 1

    @property
    def bends(self) -> bool:
        """True if the mesh deforms, rather than being static or moving rigidly."""
        return len(self.frames) > 1

    def at(self, frame: int) -> NDArray[np.floating]:
        """Return positions (n,3) at `frame`; a static clip has the same positions at every frame."""
        frame = 0 if self.still else frame
        if self.poses is None:
            return self.frames[frame]
        return placed(self.frames[0].astype(np.float64), self.poses[frame]).astype(self.frames.dtype)

    def displayed(self, frame: int) -> "Clip":
        """Return a static clip of `frame` as pages and pictures show it."""
        shape, x = self.subdivision or (Tubes(self.mesh) if len(self.mesh.lines) else None), self.at(frame)
        return Clip(
            self.mesh if shape is None else shape.mesh, (x if shape is None else shape.place(x))[None], self.color
        )

    @functools.cached_property
    def welds(self) -> "Clip":
        """The clip with only those coincident vertices welded that stay together in all frames, within SEAM times the
        mesh size; the clip itself if all do."""
        mesh, slack = self.mesh, SEAM * self.mesh.size
        for frame in self.frames:
            mesh = mesh.welded_at(frame, slack)
        return self if mesh is self.mesh else dataclasses.replace(self, mesh=mesh)

    @functools.cached_property
    def bounds(self) -> NDArray[np.float64]:
        """(2,3) lower and upper corner of the bounding box of all frames."""
        if self.poses is None:
            return np.stack([self.frames.min((0, 1)), self.frames.max((0, 1))]).astype(np.float64)
        ends = [(x.min(0), x.max(0)) for x in map(self.at, range(len(self)))]
        return np.stack([np.min([low for low, _ in ends], 0), np.max([high for _, high in ends], 0)]).astype(np.float64)

    def unrolled(self) -> "Clip":
        """Return the clip with vertex positions for each pose, for file formats without transforms."""
        if self.poses is None:
            return self
        return Clip(self.mesh, np.stack([self.at(t) for t in range(len(self))]), self.color)
