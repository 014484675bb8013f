"""Points inside a deforming body by its layered depth image, to within a bound that the resolution sets."""

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ...kernels.geometry.raster import SUB
from ...kernels.queries import self_overlap as _self_overlap
from ...kernels.queries.depth_image import Screen
from ...mesh import Mesh
from .depth_image import DepthCamera, LayeredDepthImage, screen_of
from .winding import bounds_of, shortest

Floats = NDArray[np.float64]


class VolumeOfInterest(NamedTuple):
    """The box (2,3) in which bodies can overlap, and the screen that images of it are rendered on."""

    box: Floats
    screen: Screen

    @property
    def bound(self) -> float:
        """Metres: a point farther than this from a surface is on the same side as the centre of its pixel. Half the
        diagonal of a pixel, and the snapping of the corners of faces."""
        return float(np.hypot(1.0 / self.screen.across, 1.0 / self.screen.down)) * (0.5 + 1.0 / SUB)


def volume_of_interest(positions: list[Floats], resolution: int) -> VolumeOfInterest | None:
    """Return the intersection of the AABBs of one body or two at vertex positions (n,3) each, viewed along its shortest
    side with `resolution` pixels along the longer side of the image; None if it is empty."""
    boxes = [bounds_of(x) for x in positions]
    box = np.stack([np.max([each[0] for each in boxes], axis=0), np.min([each[1] for each in boxes], axis=0)])
    if (box[1] < box[0]).any():
        return None
    farthest = max(float(np.abs(each - box.mean(0)).max()) for each in boxes)
    return VolumeOfInterest(box, screen_of(box, shortest(box), resolution, farthest))


class InsideImage:
    """The layered depth image of a closed body; `take` renders it for new positions."""

    def __init__(self, mesh: Mesh) -> None:
        self._camera = DepthCamera(mesh)
        self.layers: LayeredDepthImage | None = None

    def take(self, x: Floats, volume: VolumeOfInterest) -> Self:
        """Render the body with vertices x (n,3) in a volume of interest."""
        self.layers = self._camera.take(np.ascontiguousarray(x), volume.screen, volume.box, clip=False)
        return self

    def contains(self, points: Floats) -> NDArray[np.bool_]:
        """(n,) whether points (n,3) are inside, each tested at the centre of its pixel; right for points farther than
        the bound from the surface."""
        assert self.layers is not None
        return self.layers.inside(points)

    def near_self_overlap(self, points: Floats) -> NDArray[np.bool_]:
        """(n,) whether an interval in which rays enter the body again before they exit is within a pixel of points
        (n,3), across the rays and along them."""
        assert self.layers is not None
        screen, intervals = self.layers.screen, self.layers.self_overlap()
        found = np.zeros(len(points), np.bool_)
        if len(intervals):
            start = np.searchsorted(intervals.pixel, np.arange(screen.width * screen.height + 1))
            _self_overlap.near_intervals(screen, start, intervals.depth, points, self.layers.pixel, found)
        return found
