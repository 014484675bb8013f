"""Overlap: the volume that two closed bodies share, with bounds that it cannot leave, and its shape to be drawn."""

import dataclasses
import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import validate
from ...door import door
from ...kernels import columns as _columns
from ...kernels.columns import Seen
from ...kernels.jit import worth
from ...kernels.layers import Screen
from ...mesh import Mesh
from ..winding import bounds_of, shortest
from .layers import MOST, DepthCamera, closed_surface, ends_of, screen_of

Floats = NDArray[np.float64]
_SOME = 4000  # pixels


@dataclasses.dataclass(frozen=True, eq=False)
class Overlap:
    """What two bodies share.

    volume: cubic metres. least, most: the true volume lies between them, for bodies that do not overlap themselves; an
    overlap of a body with itself that no pixel sees is not caught. All but the pixels into which the surfaces of both
    bodies come at one depth is exact. box (2,3): the overlap of the bodies' boxes. Piece k of a ray through a
    pixel's centre is in both bodies from depth[k, 0] to depth[k, 1] (m,2), metres along the screen's axis, in pixel[k]
    (m,).
    """

    volume: float
    least: float
    most: float
    box: Floats
    screen: Screen
    pixel: NDArray[np.int64]
    depth: Floats

    @property
    def bound(self) -> float:
        """Cubic metres, how far `volume` can be from the truth."""
        return max(self.most - self.volume, self.volume - self.least)

    @property
    def ends(self) -> Floats:
        """(m,2,3) where the pieces of rays begin and end, metres."""
        return ends_of(self.screen, self.pixel, self.depth)

    @functools.cached_property
    def points(self) -> Floats:
        """(k,3) points that fill the volume, a pixel apart: at least one of every piece of a ray."""
        count = np.maximum(1, np.rint((self.depth[:, 1] - self.depth[:, 0]) * self.screen.across)).astype(np.int64)
        row = np.repeat(np.arange(len(count)), count)
        share = (np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count) + 0.5) / count[row]
        ends = self.ends[row]
        return np.asarray(ends[:, 0] + share[:, None] * (ends[:, 1] - ends[:, 0]))

    def mesh(self, smooth: float = 0.8) -> Mesh | None:
        """A closed mesh around the volume, to be drawn; None where there is none. `smooth`: pixels that it is rounded
        by, which costs thin parts some of their volume."""
        from scipy.ndimage import gaussian_filter
        from skimage.measure import marching_cubes

        smooth = validate.number("smooth", smooth, low=0.0, high=10.0)
        if not len(self.pixel):
            return None
        s, edge = self.screen, 2 + int(np.ceil(2.0 * smooth))
        field, low = self._cells(edge)
        field = gaussian_filter(field, smooth) if smooth else field
        # thin parts have no cell that is half full: they are drawn by what they have
        x, faces, _, _ = marching_cubes(field, min(0.5, 0.5 * float(field.max())))
        place = np.empty((len(x), 3))
        place[:, (s.axis + 2) % 3] = s.top + (x[:, 0] - edge + 0.5) / s.down
        place[:, (s.axis + 1) % 3] = s.left + (x[:, 1] - edge + 0.5) / s.across
        place[:, s.axis] = low + (x[:, 2] - edge + 0.5) / s.across
        made = Mesh(place, faces, name="overlap")
        return made if made.volume > 0.0 else Mesh(place, faces[:, ::-1], name="overlap")

    def _cells(self, edge: int) -> tuple[NDArray[np.float32], float]:
        """How full each cube of a pixel's size is, with `edge` empty ones around; the depth where they begin."""
        s, low = self.screen, float(self.depth.min())
        deep = int(np.ceil((float(self.depth.max()) - low) * s.across)) + 1
        size = (s.height + 2 * edge, s.width + 2 * edge, deep + 2 * edge)
        cells = float(np.prod(size, dtype=np.float64))
        needed = 40.0 * (cells + float(len(self.pixel)) * deep)
        validate.budget(f"a mesh of {cells:.0f} cells", needed, "lower the resolution")
        rows, columns = self.pixel // s.width, self.pixel % s.width
        cell = np.arange(deep)
        begin, end = ((self.depth[:, k] - low)[:, None] * s.across - cell for k in (0, 1))
        full = np.clip(end, 0.0, 1.0) - np.clip(begin, 0.0, 1.0)
        field = np.zeros(size, np.float32)
        np.add.at(field[:, :, edge : edge + deep], (rows + edge, columns + edge), full.astype(np.float32))
        return field, low


class Overlaps:
    """The overlap of two closed bodies that move and deform: checked once, asked in every frame."""

    def __init__(self, a: Mesh, b: Mesh, *, resolution: int = 128, axis: int | None = None) -> None:
        self.resolution = validate.whole("resolution", resolution, low=1, high=MOST)
        self.axis = None if axis is None else validate.whole("axis", axis, low=0, high=2)
        self.surfaces = closed_surface("a", a), closed_surface("b", b)
        self._cameras = [DepthCamera(surface) for surface in self.surfaces]

    def at(self, x_a: Any = None, x_b: Any = None) -> Overlap:
        """At vertices (n,3) of the surfaces (of meshes as given, where they are welded and have no tets)."""
        x = [
            surface.vertices if given is None else validate.floats(name, given, surface.vertices.shape)
            for name, given, surface in zip(("x_a", "x_b"), (x_a, x_b), self.surfaces, strict=True)
        ]
        boxes = [bounds_of(place) for place in x]
        box = np.stack([np.maximum(boxes[0][0], boxes[1][0]), np.minimum(boxes[0][1], boxes[1][1])])
        if (box[1] <= box[0]).any():
            return self._nothing(np.stack([box[0], np.maximum(*box)]))
        axis = shortest(box) if self.axis is None else self.axis
        farthest = max(float(np.abs(around - box.mean(0)).max()) for around in boxes)
        screen = screen_of(box, axis, self.resolution, farthest)
        seen = []
        for camera, place in zip(self._cameras, x, strict=True):
            layers = camera.take(place, screen, box, clip=False)
            doubts, simple = camera.doubts(place, screen, box), not len(layers.self_overlap())
            seen.append(Seen(layers.start, layers.depth, layers.face, *doubts, simple))
        return _met(box, screen, *seen)

    def _nothing(self, box: Floats) -> Overlap:
        none = Screen(0, 0.0, 0.0, 1.0, 1.0, 1, 1)
        return Overlap(0.0, 0.0, 0.0, box, none, np.zeros(0, np.int64), np.zeros((0, 2)))


def _met(box: Floats, screen: Screen, one: Seen, two: Seen) -> Overlap:
    """Both images ray by ray."""
    pixels = screen.width * screen.height
    low, high = box[0, screen.axis], box[1, screen.axis]
    least = 1e-14 * float(np.abs(box[:, screen.axis]).max())
    lengths, first = np.zeros((pixels, 4)), np.zeros(pixels + 1, np.int64)
    meet = worth(_columns.meet, pixels, _SOME)
    meet(one, two, low, least, lengths, first, np.empty((0, 2)))
    count = lengths[:, 3].astype(np.int64)
    first[1:] = np.cumsum(count)
    depth = np.empty((int(first[-1]), 2))
    meet(one, two, low, least, lengths, first, depth)
    area = 1.0 / (screen.across * screen.down)
    volume, sure, possible = (area * float(lengths[:, k].sum()) for k in range(3))
    rounding = 1e-12 * area * pixels * float(max(high - low, abs(low), abs(high)))
    pixel = np.repeat(np.arange(pixels), count)
    return Overlap(volume, max(0.0, sure - rounding), possible + rounding, box, screen, pixel, depth)


@door
def overlap(a: Mesh, b: Mesh, *, resolution: int = 128, axis: int | None = None) -> Overlap:
    """The volume that two closed bodies share, its bounds and its shape.

    `resolution` pixels along the longer side of the overlap of their boxes, across `axis` (0, 1, 2; where that overlap
    is shortest). For bodies that move keep an `Overlaps`.

    >>> pliant.overlap(hand, cup).volume
    """
    return Overlaps(a, b, resolution=resolution, axis=axis).at()
