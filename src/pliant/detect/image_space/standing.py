"""Layers of a body that stands: it is cut into groups of faces once, and images look at their boxes first."""

from typing import Any

import numpy as np

from ... import validate
from ...kernels import groups as _kernels
from ...kernels.groups import Glance, Groups
from ...kernels.jit import worth
from ...kernels.layers import Screen
from ...mesh import Mesh
from .layers import SOME, DepthCamera, Floats, Layers, bounds_of, check_screen, place_of, room

_MANY = 0.25  # of the groups: from there on all faces are asked in order, which is faster
_FAR = 2.0**22  # pixels to which a box can be told


class StandingCamera:
    """Takes layered depth images of a mesh that stands, along any axis, on any screen: the images of a `DepthCamera`,
    to the bit.

    What is built, once, depends on where the vertices are: they are copied. Where pixels are so small that most groups
    of faces have one in their box, an image takes as long as one of a `DepthCamera`.
    """

    def __init__(self, mesh: Mesh, x: Any = None) -> None:
        self._camera = DepthCamera(mesh)
        self._camera.string()
        place = mesh.vertices if x is None else validate.floats("x", x, mesh.vertices.shape)
        # coordinates one by one, which are read faster
        self.x = np.asfortranarray(place) if x is None else np.array(place, order="F")
        low, high = bounds_of(self.x)
        with np.errstate(over="ignore"):
            size = high - low
        self.step = np.where(size > 0.0, np.maximum(size / _kernels.STEPS, 1e-300), 1.0)
        self.origin = low - self.step
        self.groups = self._cut() if np.isfinite(size).all() else None

    def _cut(self) -> Groups:
        drawn = self._camera.drawn
        count = max(1, -(-(len(drawn.strip) - 2) // _kernels.FACES))
        corner, ends = np.empty(3 * _kernels.GROUP * count), np.empty(count, np.uint8)
        groups = Groups(corner, ends, np.empty((6, count), np.uint16))
        _kernels.group(drawn.strip, drawn.owner, self.x, self.origin, self.step, groups)
        self._found = room(_kernels.GROUP * count)
        self._chosen, self._count = np.empty(count, np.int32), np.empty(len(self._found.count), np.int64)
        return groups

    def take(self, screen: Screen, box: Floats, clip: bool = True) -> Layers:
        """The image on a screen; `clip` moves layers before and behind the box to its border."""
        check_screen(screen)
        if not self._select(screen):
            return self._camera.take(self.x, screen, box, clip)
        drawn, shared = self._camera.drawn, self._camera.mesh.n_faces
        worth(_kernels.search, shared, SOME)(self.groups, screen, drawn, self._chosen, self._count, self._found)
        return self._camera.finish(place_of(self.x), screen, self._found, box, clip)

    def _select(self, screen: Screen) -> bool:
        """Choose the groups that may cover a pixel centre; whether they are few enough to be worth it."""
        columns = self._glance((screen.axis + 1) % 3, screen.left, screen.across, screen.width)
        rows = self._glance((screen.axis + 2) % 3, screen.top, screen.down, screen.height)
        if self.groups is None or columns is None or rows is None:
            return False
        select = worth(_kernels.select, self._camera.mesh.n_faces, SOME)
        select(self.groups.box, columns, rows, self._chosen, self._count)
        return int(self._count.sum()) <= _MANY * len(self._chosen)

    def _glance(self, axis: int, edge: float, scale: float, count: int) -> Glance | None:
        """None where single precision does not tell pixels apart."""
        step, first = float(self.step[axis]) * scale, (float(self.origin[axis]) - edge) * scale + 0.5
        most = 65536.0 * abs(step) + abs(first)
        if not most < _FAR:
            return None
        # what corners may be moved by: by snapping, 1/8192 pixel, a centre on them that does not count, 1/4096, and
        # three roundings to 2^-24 of the sum
        slack = 2.0**-10 + most * 2.0**-21
        low, high, scaled = (np.float32(value) for value in (first - slack, first + slack, step))
        return Glance(axis, scaled, low, high, np.float32(count))
