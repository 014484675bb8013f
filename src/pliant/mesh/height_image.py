"""HeightImage: a height image as an obstacle, with the closed plate that stands for it in pictures and measurements."""

import dataclasses
import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import validate
from ..brief import Brief
from .mesh import Mesh

Floats = NDArray[np.float64]
MOST_NODES = 512  # along the longer side, by default: a plate of a million faces
THICKNESS = 0.05  # of the longer side: the plate below the lowest pixel


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class HeightImage(Brief):
    """Heights (ni,nj) in metres, seen from above: rows along z, the first at the far side, columns along x.

    `spacing` (metres) separates nodes in both directions; `centre` is the position of the image's centre at height 0.
    """

    heights: Floats
    spacing: float
    centre: Floats
    name: str = "height image"

    @classmethod
    def of(
        cls,
        picture: Any,
        *,
        size: float,
        scale: float,
        centre: Any = (0.0, 0.0, 0.0),
        resolution: int | None = None,
        name: str = "height image",
    ) -> "HeightImage":
        """Take the brightness (rows,columns) of an image, 0 to 1, as `load_heights` reads it.

        `size`: length of its longer side, metres; `scale`: height of white over black, metres; `resolution`: nodes
        along the longer side, between which the image is interpolated. Default: its pixels, at most 512.
        """
        values = validate.floats("picture", picture, (None, None))
        if min(values.shape) < 2:
            raise ValueError(f"picture has {values.shape[0]} x {values.shape[1]} pixels; expected at least 2 x 2")
        size = validate.number("size", size, above=0.0, high=validate.LARGEST)
        scale = validate.number("scale", scale, low=-validate.LARGEST, high=validate.LARGEST)
        longest = max(values.shape)
        count = min(longest, MOST_NODES) if resolution is None else resolution
        count = validate.whole("resolution", count, low=2, high=4096)
        spacing = size / (count - 1)
        if count != longest:
            values = _resampled(values, count)
        return cls(scale * values, spacing, validate.floats("centre", centre, (3,)), name)

    @property
    def origin(self) -> Floats:
        """The position of node (0, 0) at height 0."""
        ni, nj = self.heights.shape
        half = 0.5 * self.spacing * np.array([nj - 1.0, 0.0, ni - 1.0])
        corner: Floats = self.centre - half
        return corner

    @functools.cached_property
    def mesh(self) -> Mesh:
        """The closed plate under the image: two triangles per cell, walls, and a flat bottom of two triangles per cell
        at 5 % of the longer side below the lowest pixel."""
        (ni, nj), h = self.heights.shape, self.spacing
        z, x = h * np.arange(ni)[:, None], h * np.arange(nj)[None]
        top = np.stack(np.broadcast_arrays(x, self.heights, z), 2).reshape(-1, 3) + self.origin
        bottom = top.copy()
        bottom[:, 1] = self.origin[1] + self.heights.min() - THICKNESS * h * (max(ni, nj) - 1)
        a = (np.arange(ni - 1)[:, None] * nj + np.arange(nj - 1)).ravel()
        upper = np.concatenate([np.stack([a, a + nj, a + nj + 1], 1), np.stack([a, a + nj + 1, a + 1], 1)])
        rim = np.concatenate([np.arange(nj), nj * np.arange(1, ni) + nj - 1])
        rim = np.concatenate([rim, nj * ni - 2 - np.arange(nj - 1), nj * np.arange(ni - 2, 0, -1)])
        ahead, low = np.roll(rim, -1), len(top)
        walls = [np.stack([rim, ahead, ahead + low], 1), np.stack([rim, ahead + low, rim + low], 1)]
        faces = np.concatenate([upper, *walls, upper[:, ::-1] + low]).astype(np.int32)
        return Mesh(np.concatenate([top, bottom]), faces, name=self.name)


def _resampled(values: Floats, count: int) -> Floats:
    """Return the image with `count` rows or columns along its longer side, bilinear between pixels."""
    longest = max(values.shape) - 1
    for axis, pixels in enumerate(values.shape):
        nodes = max(2, round((pixels - 1) * (count - 1) / longest) + 1)
        at = np.linspace(0.0, pixels - 1.0, nodes)
        below = np.minimum(at.astype(np.int64), pixels - 2)
        share = (at - below).reshape((-1, 1) if axis == 0 else (1, -1))
        values = (1.0 - share) * values.take(below, axis) + share * values.take(below + 1, axis)
    return values
