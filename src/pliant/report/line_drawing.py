"""Line drawing with hidden lines removed: segments against the depth of the surfaces in front of them."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import ImageDraw

from ..kernels.geometry import raster
from .camera import Camera

Floats = NDArray[np.float64]


def rasterise(
    x: Floats, faces: NDArray[np.int32], camera: Camera, width: int, height: int
) -> tuple[Floats, NDArray[np.int32], NDArray[np.float32]]:
    """Return the screen depth (h,w), face (h,w), -1 for none, and barycentric coordinates (h,w,2) of the first face at
    each pixel, of those in front of the camera."""
    screen, w = camera.project(x, width, height)
    ahead = np.flatnonzero((w > camera.nearest)[faces].all(1))
    z, face, bary = raster.depth(screen, faces[ahead].astype(np.int32), width, height)
    face[face >= 0] = ahead[face[face >= 0]]
    return z, face, bary


def draw_visible_segments(
    draw: ImageDraw.ImageDraw, segments: NDArray[np.float32], camera: Camera, nearest: Floats, ink: Sequence[int]
) -> None:
    """Draw the segments (k,2,3) that no surface occludes; `nearest`: (h,w) view depth of the first surface, metres."""
    if not len(segments):
        return
    height, width = nearest.shape
    screen, w = camera.project(segments.reshape(-1, 3), width, height)
    screen, w = screen.reshape(-1, 2, 3), w.reshape(-1, 2)
    middle = screen[:, :, :2].mean(1)
    inside = ((middle >= 0) & (middle < (width, height))).all(1) & (w > camera.nearest).all(1)
    column, row = (np.clip(middle[:, k], 0, limit - 1).astype(int) for k, limit in ((0, width), (1, height)))
    slack = 0.004 * np.linalg.norm(np.subtract(camera.eye, camera.target))
    seen = inside & (w.mean(1) < nearest[row, column] + slack)
    for (a, b, _), (c, d, _) in screen[seen]:
        draw.line((a, b, c, d), tuple(ink), width=2)
