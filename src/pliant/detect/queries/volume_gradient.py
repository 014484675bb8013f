"""The intersection volume of two closed bodies that deform: its connected regions, and its gradient."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ... import validate
from ...kernels.queries import volume_gradient as _kernels
from ...kernels.queries.depth_image import Screen
from ...kernels.queries.volume_gradient import Ends, Found, Layers
from ..base import Side
from .depth_image import MOST, DepthCamera, closed_surface, screen_of
from .winding import bounds_of

Floats = NDArray[np.float64]
RESOLUTION = 32  # pixels along the longer side of each of the three images


class Intersection(NamedTuple):
    """The intersection of two bodies at given positions: the ends of all ray intervals, along three axes, that are in
    both, and the number of its connected regions."""

    ends: Ends
    regions: int

    @property
    def volume(self) -> float:
        """Cubic metres: the mean of the three images."""
        return float(self.ends.area @ self.ends.depth) / 3.0

    def gradient(self, count: int) -> Floats:
        """(count,3) the derivative of the volume with respect to the position of each vertex, square metres.

        The component along an axis comes from the image along that axis. All forces of a pressure, which are along this
        gradient, cancel each other, and so do their moments: both ends of an interval lie on one ray."""
        e, out = self.ends, np.zeros((count, 3))
        np.add.at(out, (e.rows, np.repeat(e.axis[:, None], 3, 1)), e.area[:, None] * e.weights)
        return out


class VolumeGradient:
    """Intersects two closed bodies by layered depth images along the three axes; validated once, queried every step."""

    def __init__(self, one: Side, other: Side, *, resolution: int = RESOLUTION) -> None:
        self.resolution = validate.whole("resolution", resolution, low=1, high=MOST)
        surfaces = [closed_surface(name, side.mesh) for name, side in (("one", one), ("other", other))]
        self._rows = [slice(s.first, s.first + m.n_vertices) for s, m in zip((one, other), surfaces, strict=True)]
        self._faces = [m.faces + np.int32(s.first) for s, m in zip((one, other), surfaces, strict=True)]
        self._cameras = [DepthCamera(mesh) for mesh in surfaces]
        self._space = np.zeros((2, 0), np.int64)

    def at(self, x: Floats, w: Floats) -> Intersection | None:
        """Return the intersection at positions x (n,3), None if it is empty; vertices with an inverse mass w (n,) of 0
        do not join regions."""
        places = [np.ascontiguousarray(x[rows]) for rows in self._rows]
        boxes = [bounds_of(place) for place in places]
        box = np.stack([np.maximum(boxes[0][0], boxes[1][0]), np.minimum(boxes[0][1], boxes[1][1])])
        if (box[1] <= box[0]).any():
            return None
        farthest = max(float(np.abs(around - box.mean(0)).max()) for around in boxes)
        found = []
        for axis in range(3):
            screen = screen_of(box, axis, self.resolution, farthest)
            images = [c.take(place, screen, box, clip=False) for c, place in zip(self._cameras, places, strict=True)]
            pair = [Layers(i.start, i.depth, i.face, faces) for i, faces in zip(images, self._faces, strict=True)]
            found.append((screen, pair, _intervals(*pair, float(np.abs(box[:, axis]).max()))))
        return self._joined(found, x, w)

    def _joined(self, found: list[tuple[Screen, list[Layers], Found]], x: Floats, w: Floats) -> Intersection | None:
        count = 2 * sum(len(intervals.pixel) for _, _, intervals in found)
        if not count:
            return None
        ends = Ends(
            np.empty((count, 3), np.int32),
            np.empty((count, 3)),
            np.empty(count),
            np.empty(count),
            np.empty(count, np.int64),
            np.empty(count, np.int8),
            np.empty(count, np.int32),
        )
        first = 0
        for screen, pair, intervals in found:
            _kernels.fill_ends(intervals, *pair, screen, x, first, ends)
            first += 2 * len(intervals.pixel)
        if self._space.shape[1] != len(x):
            self._space = np.empty((2, len(x)), np.int64)
        return Intersection(ends, _kernels.number_regions(ends, w, *self._space))


def _intervals(one: Layers, two: Layers, size: float) -> Found:
    most = (len(one.depth) + len(two.depth)) // 2
    pixel, code, depth = np.empty(most, np.int32), np.empty((most, 2), np.int32), np.empty((most, 2))
    # intervals shorter than the rounding error of depths are two faces at equal depth
    count = _kernels.common_intervals(one, two, 1e-14 * size, pixel, code, depth)
    return Found(pixel[:count], code[:count], depth[:count])
