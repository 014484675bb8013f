"""Pictures of where a method differs from the exact contacts: a state with markers that are never occluded."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..mesh import Mesh
from ..motion.clip import Clip
from .camera import Camera
from .overlay import painted
from .picture import views

Floats = NDArray[np.float64]
Pixels = NDArray[np.uint8]
SOFT, HARD = (0.36, 0.42, 0.52), (0.80, 0.77, 0.73)  # linear RGB of the deformable and of the other body
RIGHT, MISSED, EXTRA = (0.86, 0.88, 0.80), (0.80, 0.02, 0.02), (0.02, 0.14, 0.85)
MARK = 0.0075  # size of a marker relative to the shown region
MOST = 4000  # most markers of one colour; more are subsampled
_BUSY = 200_000  # faces; above it one sample per pixel
_CORNERS = np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]], float)
_SIDES = np.array([[0, 2, 4], [2, 1, 4], [1, 3, 4], [3, 0, 4], [2, 0, 5], [1, 2, 5], [3, 1, 5], [0, 3, 5]])


class Scenery:
    """A rendered state of meshes (mesh, positions, colour), with a camera that frames all `points` (k,3)."""

    def __init__(
        self,
        meshes: Sequence[tuple[Mesh, Floats, tuple[float, float, float]]],
        points: Floats,
        width: int = 480,
        height: int = 360,
    ) -> None:
        clips = [Clip(mesh, x[None], colour) for mesh, x, colour in meshes]
        low = np.min([x.min(0) for _, x, _ in meshes], 0)
        high = np.max([x.max(0) for _, x, _ in meshes], 0)
        size = float(np.linalg.norm(high - low))
        middle, room = 0.5 * (low + high), 0.5 * (high - low)
        if len(points):
            middle, room = 0.5 * (points.min(0) + points.max(0)), np.full(3, 0.08 * size)
        box = np.stack(np.meshgrid(*np.stack([middle - room, middle + room], 1)), -1).reshape(-1, 3)
        around = np.concatenate([points, box])
        frame = Clip(Mesh(around, np.zeros((0, 3), np.int32), name="points"), around[None], SOFT)
        self.camera = Camera.framing([frame], width / height, elevation=0.45, fill=0.72)
        self.size = float(np.linalg.norm(np.ptp(around, axis=0)))
        samples = 1 if sum(mesh.n_faces for mesh, _, _ in meshes) > _BUSY else 2
        self.plain = views(clips, 0, width, height, [self.camera], samples=samples)[0]

    def marked(self, right: Floats, missed: Floats, extra: Floats) -> Pixels:
        """The picture with markers at points (k,3): pale for correct, red for missed, blue for extra contacts."""
        picture = self.plain
        for points, colour, size in ((right, RIGHT, 0.55), (extra, EXTRA, 1.0), (missed, MISSED, 1.0)):
            if len(points):
                picture = painted(picture, marks(points, size * MARK * self.size), self.camera, colour)
        return picture


def marks(points: Floats, radius: float) -> Mesh:
    """Small octahedra at the distinct points of (k,3)."""
    some = np.unique(np.round(points, 9), axis=0)
    some = some[:: -(-len(some) // MOST)]
    x = some[:, None] + radius * _CORNERS
    faces = 6 * np.arange(len(some))[:, None, None] + _SIDES
    return Mesh(x.reshape(-1, 3), faces.reshape(-1, 3), name="marks")
