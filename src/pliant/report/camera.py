"""The perspective camera of pictures."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import validate
from ..kernels.geometry import raster
from ..motion.clip import Clip

Floats = NDArray[np.float64]
FOV = 0.5
_ELEVATIONS = (0.3, 0.5, 0.7, 0.9, 1.1)  # radians, tried in this order


@dataclasses.dataclass(frozen=True)
class Camera:
    """A perspective camera at `eye` that looks at `target`, y up; metres. `fov`: vertical field of view, radians."""

    eye: tuple[float, float, float]
    target: tuple[float, float, float]
    fov: float = FOV

    def __post_init__(self) -> None:
        validate.floats("eye", self.eye, (3,))
        validate.floats("target", self.target, (3,))
        validate.number("fov", self.fov, above=0.0, high=3.0)
        if self.nearest == 0.0:
            raise ValueError(f"eye and target are the same point {tuple(self.eye)}; move one of them")

    @property
    def nearest(self) -> float:
        """Distance of the near plane, metres; faces with a corner in front of it are not drawn."""
        return 1e-3 * float(np.linalg.norm(np.subtract(self.target, self.eye)))

    @classmethod
    def framing(
        cls,
        clips: Sequence[Clip],
        aspect: float,
        *,
        azimuth: float = 0.6,
        elevation: float | None = None,
        fill: float = 0.86,
    ) -> "Camera":
        """The nearest camera in that direction (radians) with all vertices of all frames within `fill` of the image.

        Default elevation: one from which moving bodies are visible. Bodies in free fall may leave the image
        (`lowest_seen`).
        """
        if elevation is None:
            elevation = unoccluded_elevation(clips)
        points = np.concatenate([_thinned(clip) for clip in clips]).astype(np.float64)
        points = points[points[:, 1] >= lowest_seen(clips)]
        towards = np.array(
            [np.cos(elevation) * np.sin(azimuth), np.sin(elevation), np.cos(elevation) * np.cos(azimuth)]
        )
        right, up, back = basis(-towards)
        middle = (points.min(0) + points.max(0)) / 2
        p = points - middle
        tall = np.tan(FOV / 2) * fill
        # a point is inside when |p.axis - t| <= slope (d - p.back): a wedge on each side, whose apexes give t and d
        shift, distance = np.zeros(3), 1e-6
        for axis, slope in ((right, tall * aspect), (up, tall)):
            high = (p @ axis + slope * (p @ back)).max()
            low = (p @ axis - slope * (p @ back)).min()
            shift += axis * (high + low) / 2
            distance = max(distance, (high - low) / (2 * slope))
        target = middle + shift
        eye = target + towards * distance
        return cls(
            (float(eye[0]), float(eye[1]), float(eye[2])), (float(target[0]), float(target[1]), float(target[2]))
        )

    def project(self, points: Any, width: int, height: int) -> tuple[Floats, Floats]:
        """Project points (n,3) to width x height pixels: (n,3) x, y, -1/w, and (n,) w, the view depth in metres.

        w is clamped to `nearest`, also for points behind the camera.
        """
        rows = np.stack(basis(np.subtract(self.target, self.eye)))
        p = (np.asarray(points, np.float64) - self.eye) @ rows.T
        w = np.maximum(-p[:, 2], self.nearest)
        scale = height / (2 * np.tan(self.fov / 2)) / w
        return np.stack([width / 2 + p[:, 0] * scale, height / 2 - p[:, 1] * scale, -1 / w], 1), w

    def rays(self, width: int, height: int) -> Floats:
        """(h,w,3) directions from the eye through the pixel centres, not of unit length."""
        right, up, back = basis(np.subtract(self.target, self.eye))
        t = 2 * np.tan(self.fov / 2) / height
        x = (np.arange(width) + 0.5 - width / 2) * t
        y = (height / 2 - np.arange(height) - 0.5) * t
        return x[None, :, None] * right + y[:, None, None] * up - back


def lowest_seen(clips: Sequence[Clip]) -> float:
    """Lowest height that pictures show, metres: below the bodies by the extent of the first frame.

    Cloth in free fall would otherwise shrink everything else.
    """
    if all(clip.bends for clip in clips):
        return -np.inf
    first = np.stack([(clip.at(0).min(0), clip.at(0).max(0)) for clip in clips])
    low, high = first[:, 0].min(0), first[:, 1].max(0)
    rests = min(float(clip.bounds[0, 1]) for clip in clips if not clip.bends)
    return min(rests, float(low[1])) - float(np.linalg.norm(high - low))


def unoccluded_elevation(clips: Sequence[Clip]) -> float:
    """Camera elevation: 0.3 radians, or more where moving bodies would be occluded at the end (cloth in a bowl)."""
    moving = [clip.bends for clip in clips]
    if all(moving) or not any(moving):
        return _ELEVATIONS[0]
    x = np.concatenate([clip.at(-1) for clip in clips]).astype(np.float64)
    start = np.cumsum([0] + [clip.mesh.n_vertices for clip in clips])
    faces = np.concatenate([clip.mesh.faces + int(s) for clip, s in zip(clips, start)]).astype(np.int32)
    soft = np.repeat(moving, [clip.mesh.n_faces for clip in clips])
    shares = []
    for elevation in _ELEVATIONS:
        screen, _ = Camera.framing(clips, 1.0, elevation=elevation).project(x, 96, 96)
        _, face, _ = raster.depth(screen, faces, 96, 96)
        alone = (raster.layers(screen, faces[soft], 96, 96) > 0).sum()
        shares.append(float((soft[face] & (face >= 0)).sum()) / max(float(alone), 1.0))
        if shares[-1] > 0.5:
            return elevation
    return _ELEVATIONS[int(np.argmax(shares))]


def basis(forward: Any) -> tuple[Floats, Floats, Floats]:
    """Unit vectors right, up and back of a camera that looks along `forward`."""
    back = -np.asarray(forward, np.float64) / np.linalg.norm(forward)
    near = np.array([0.0, 0.0, -1.0]) if abs(back[1]) > 0.999 else np.array([0.0, 1.0, 0.0])
    right = np.cross(near, back)
    right /= np.linalg.norm(right)
    return right, np.cross(back, right), back


def _thinned(clip: Clip) -> NDArray[np.floating]:
    """Vertices of the first frame, the last, and frames evenly spread between them: 80 or fewer in all."""
    stride = max(1, len(clip) // 40)
    return np.concatenate([clip.at(t) for t in (*range(len(clip) - 1, -1, -stride), 0)])
