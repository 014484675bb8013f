"""Heat maps of the error on a surface, with an exact distance query per pixel instead of vertex interpolation."""

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ..detect.queries.closest_point import ClosestPoints
from ..mesh import Mesh
from ..motion.clip import Clip
from .camera import Camera
from .picture import views

Floats = NDArray[np.float64]
Pixels = NDArray[np.uint8]
# sRGB from no error to `top`; light to dark, readable in greyscale
RAMP = np.array(
    [[236, 233, 226], [245, 216, 152], [242, 168, 84], [224, 104, 60], [176, 47, 68], [104, 22, 82], [44, 10, 60]],
    float,
)
_BUSY = 200_000  # faces; above it one sample per pixel, because every sample group renders its own shadow maps


@dataclasses.dataclass(frozen=True)
class Heat:
    """Colour map of distances; `top` metres and more have the last colour."""

    top: float

    @classmethod
    def of(cls, *distances: Floats) -> "Heat":
        """A map up to the 99th percentile, rounded up, so that a single outlier does not compress the scale."""
        most = max(float(np.quantile(d, 0.99)) for d in distances)
        return cls(nice(max(most, 1e-12)))

    def rgb(self, distance: Floats) -> Floats:
        """(n,3) sRGB 0..255 of distances (n,)."""
        t = np.clip(np.asarray(distance) / self.top, 0.0, 1.0) * (len(RAMP) - 1)
        return np.stack([np.interp(t, np.arange(len(RAMP)), RAMP[:, k]) for k in range(3)], -1)


def nice(value: float) -> float:
    """The smallest number 1, 2 or 5 times a power of ten that is not below `value`."""
    power = 10.0 ** np.floor(np.log10(value))
    return float(next(k * power for k in (1.0, 2.0, 5.0, 10.0) if k * power >= value * (1 - 1e-9)))


def heat_pictures(
    surface: Mesh, other: ClosestPoints, heat: Heat, cameras: Sequence[Camera], width: int, height: int
) -> list[Pixels]:
    """`surface` coloured by its distance from `other`: (height, width, 3) sRGB for each camera."""
    bare = Mesh(surface.vertices, surface.faces)
    samples = 1 if bare.n_faces > _BUSY else 2
    return views([still(bare)], 0, width, height, cameras, samples=samples, paint=_paint(other, heat))


def still(mesh: Mesh) -> Clip:
    return Clip(mesh, mesh.vertices[None], (0.8, 0.8, 0.8))


def _paint(other: ClosestPoints, heat: Heat) -> Callable[[Floats], Floats]:
    def paint(points: Floats) -> Floats:
        srgb = heat.rgb(np.abs(other.query(points)[0])) / 255.0
        # to linear RGB, in which lighting is computed
        return np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)

    return paint
