"""Layered depth images of a static body: its faces are grouped once, and groups are culled by their boxes."""

from typing import Any

import numpy as np

from ... import validate
from ...kernels.jit import worth
from ...kernels.queries import static_depth_image as _kernels
from ...kernels.queries.depth_image import Screen
from ...kernels.queries.static_depth_image import Groups
from ...mesh import Mesh
from .depth_image import (
    SOME,
    DepthCamera,
    Floats,
    LayeredDepthImage,
    allocate,
    check_screen,
    ends_of_depth,
    vertex_buffer,
)
from .winding import bounds_of


class StaticDepthCamera:
    """Renders layered depth images of a static mesh, along any axis and on any screen; bitwise identical to those of a
    `DepthCamera`.

    The groups depend on the vertex positions, which are copied. If pixels are so small that more than the share `many`
    of the groups survives culling, an image takes as long as with a `DepthCamera`.
    """

    many = 0.25  # beyond this share, processing all faces in order is faster

    def __init__(self, mesh: Mesh, x: Any = None) -> None:
        self._camera = DepthCamera(mesh)
        self._camera.build_strips()
        positions = mesh.vertices if x is None else validate.floats("x", x, mesh.vertices.shape)
        # column-major, which is read faster
        self.x = np.asfortranarray(positions) if x is None else np.array(positions, order="F")
        self._place = vertex_buffer(self.x)
        low, high = bounds_of(self.x)
        step = np.maximum((high - low) / _kernels.STEPS, 1e-300)
        drawn = self._camera.drawn
        count = max(1, -(-(len(drawn.strip) - 2) // _kernels.FACES))
        corner, ends = np.empty(3 * _kernels.GROUP * count), np.empty(count, np.uint8)
        self.groups = Groups(corner, ends, np.empty((6, count), np.uint16), low - step, step)
        _kernels.group(drawn.strip, drawn.owner, self.x, self.groups)
        self._chosen, self._found = np.empty(count, np.int32), allocate(_kernels.GROUP * count)

    def take(self, screen: Screen, box: Floats, clip: bool = True) -> LayeredDepthImage:
        """Render the image on a screen; `clip` clamps layers outside the box to it."""
        check_screen(screen)
        low, high = ends_of_depth(screen, box, clip)
        arguments = self.groups, screen, self._camera.drawn, self.many, low, high
        # one kernel call is usually enough: each call costs some 50 us with cold caches
        large, image = worth(_kernels.search, len(self._chosen), SOME // 6)(*arguments, self._chosen, self._found)
        if large < 0:
            return self._camera.take(self.x, screen, box, clip)
        return (
            self._camera.finish(self._place, screen, self._found, box, clip)
            if large
            else LayeredDepthImage(screen, box, *image)
        )
