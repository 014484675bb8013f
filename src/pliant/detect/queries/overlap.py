"""Intersection volume of two closed bodies, with guaranteed bounds, and its shape for rendering."""

import dataclasses
import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import validate
from ...arguments import check_arguments
from ...brief import brief
from ...kernels.jit import worth
from ...kernels.queries import overlap as _overlap
from ...kernels.queries.depth_image import Screen
from ...kernels.queries.overlap import Common, Seen
from ...mesh import Mesh
from .depth_image import MOST, DepthCamera, closed_surface, ends_of, screen_of
from .winding import bounds_of, shortest

Floats = NDArray[np.float64]
_SOME = 4000  # pixels up to which the loop runs on one thread


@dataclasses.dataclass(frozen=True, eq=False)
class Overlap:
    """The intersection of two bodies.

    volume: cubic metres. least, most: bounds of the true volume for bodies without self-overlap; a self-overlap that no
    pixel centre hits is not detected. All pixels are exact except those in which the surfaces of both bodies cover the
    same depth. box (2,3): the intersection of the bodies' AABBs. Interval k of a ray through the centre of pixel[k]
    (m,) is in both bodies from depth[k, 0] to depth[k, 1] (m,2), metres along the screen's axis.
    """

    volume: float
    least: float
    most: float
    box: Floats
    screen: Screen
    pixel: NDArray[np.int64]
    depth: Floats

    __repr__ = brief

    @property
    def bound(self) -> float:
        """Error bound of `volume` in cubic metres."""
        return max(self.most - self.volume, self.volume - self.least)

    @property
    def ends(self) -> Floats:
        """(m,2,3) end points of the ray intervals, metres."""
        return ends_of(self.screen, self.pixel, self.depth)

    @functools.cached_property
    def points(self) -> Floats:
        """(k,3) points that fill the volume at a spacing of one pixel; at least one per ray interval."""
        count = np.maximum(1, np.rint((self.depth[:, 1] - self.depth[:, 0]) * self.screen.across)).astype(np.int64)
        row = np.repeat(np.arange(len(count)), count)
        share = (np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count) + 0.5) / count[row]
        ends = self.ends[row]
        return np.asarray(ends[:, 0] + share[:, None] * (ends[:, 1] - ends[:, 0]))

    def mesh(self, smooth: float = 0.8) -> Mesh | None:
        """Return a closed mesh of the volume for rendering, or None if it is empty. `smooth`: standard deviation of a
        Gaussian filter in pixels, which reduces the volume of thin parts."""
        from scipy.ndimage import gaussian_filter
        from skimage.measure import marching_cubes

        smooth = validate.number("smooth", smooth, low=0.0, high=10.0)
        if not len(self.pixel):
            return None
        s, edge = self.screen, 2 + int(np.ceil(2.0 * smooth))
        field, low = self._cells(edge)
        field = gaussian_filter(field, smooth) if smooth else field
        # thin parts may have no half-full cell: lower the level to half of the largest value
        x, faces, _, _ = marching_cubes(field, min(0.5, 0.5 * float(field.max())))
        positions = np.empty((len(x), 3))
        positions[:, (s.axis + 2) % 3] = s.top + (x[:, 0] - edge + 0.5) / s.down
        positions[:, (s.axis + 1) % 3] = s.left + (x[:, 1] - edge + 0.5) / s.across
        positions[:, s.axis] = low + (x[:, 2] - edge + 0.5) / s.across
        made = Mesh(positions, faces, name="overlap")
        return made if made.volume > 0.0 else Mesh(positions, faces[:, ::-1], name="overlap")

    def _cells(self, edge: int) -> tuple[NDArray[np.float32], float]:
        """Return the fill fraction of pixel-sized cubic cells, padded by `edge` empty cells, and their first depth."""
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


@check_arguments
class Overlaps:
    """Intersection volume of two moving or deforming closed bodies: validated once, queried every frame."""

    def __init__(self, a: Mesh, b: Mesh, *, resolution: int = 128, axis: int | None = None) -> None:
        self.resolution = validate.whole("resolution", resolution, low=1, high=MOST)
        self.axis = None if axis is None else validate.whole("axis", axis, low=0, high=2)
        self.surfaces = closed_surface("a", a), closed_surface("b", b)
        self._cameras = [DepthCamera(surface) for surface in self.surfaces]

    def at(self, x_a: Any = None, x_b: Any = None) -> Overlap:
        """Compute the overlap at vertices (n,3) of the surfaces (those of the meshes, if welded and without tets)."""
        x = [
            surface.vertices if given is None else validate.floats(name, given, surface.vertices.shape)
            for name, given, surface in zip(("x_a", "x_b"), (x_a, x_b), self.surfaces, strict=True)
        ]
        boxes = [bounds_of(positions) for positions in x]
        box = np.stack([np.maximum(boxes[0][0], boxes[1][0]), np.minimum(boxes[0][1], boxes[1][1])])
        if (box[1] <= box[0]).any():
            return self._nothing(np.stack([box[0], np.maximum(*box)]))
        axis = shortest(box) if self.axis is None else self.axis
        farthest = max(float(np.abs(around - box.mean(0)).max()) for around in boxes)
        screen = screen_of(box, axis, self.resolution, farthest)
        seen = []
        for camera, positions in zip(self._cameras, x, strict=True):
            layers = camera.take(positions, screen, box, clip=False)
            uncertain, simple = camera.uncertain_intervals(positions, screen, box), not len(layers.self_overlap())
            seen.append(Seen(layers.start, layers.depth, layers.face, *uncertain, simple))
        return _intersection(box, screen, *seen)

    def _nothing(self, box: Floats) -> Overlap:
        none = Screen(0, 0.0, 0.0, 1.0, 1.0, 1, 1)
        return Overlap(0.0, 0.0, 0.0, box, none, np.zeros(0, np.int64), np.zeros((0, 2)))


def _intersection(box: Floats, screen: Screen, one: Seen, two: Seen) -> Overlap:
    """Intersect both images ray by ray."""
    pixels = screen.width * screen.height
    low, high = box[0, screen.axis], box[1, screen.axis]
    least = 1e-14 * float(np.abs(box[:, screen.axis]).max())
    lengths, first = np.zeros((pixels, 4)), np.zeros(pixels + 1, np.int64)
    intersect_rays = worth(_overlap.intersect_rays, pixels, _SOME)
    intersect_rays(one, two, low, least, Common(lengths, first, np.empty((0, 2))))
    count = lengths[:, 3].astype(np.int64)
    first[1:] = np.cumsum(count)
    depth = np.empty((int(first[-1]), 2))
    intersect_rays(one, two, low, least, Common(lengths, first, depth))
    area = 1.0 / (screen.across * screen.down)
    volume, sure, possible = (area * float(lengths[:, k].sum()) for k in range(3))
    rounding = 1e-12 * area * pixels * float(max(high - low, abs(low), abs(high)))
    pixel = np.repeat(np.arange(pixels), count)
    return Overlap(volume, max(0.0, sure - rounding), possible + rounding, box, screen, pixel, depth)


@check_arguments
def overlap(a: Mesh, b: Mesh, *, resolution: int = 128, axis: int | None = None) -> Overlap:
    """Return the intersection volume of two closed bodies, its bounds and its shape.

    `resolution` pixels along the longer side of the intersection of their AABBs, perpendicular to `axis` (0, 1, 2).
    Default axis: the shortest of that intersection. For moving bodies use an `Overlaps`.

    >>> pliant.overlap(hand, cup).volume
    """
    return Overlaps(a, b, resolution=resolution, axis=axis).at()
