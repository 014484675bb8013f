"""Lighting of pictures from many directions, each with a small shadow map."""

import functools

import numpy as np
from numpy.typing import NDArray

from ..kernels.report import picture
from .camera import basis

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
SUN = np.array([-0.56, 1.15, 0.82]) / np.linalg.norm([-0.56, 1.15, 0.82])  # direction to the sun, as in static/scene.js
TURN = np.pi * (3 - np.sqrt(5))  # the golden angle spreads points evenly


class ShadowedLights:
    """Lights (m,4), direction and weight, distributed over `groups` of samples (a divisor of m).

    Each light has a shadow map of `pixels` x `pixels` for a scene of diagonal `size` around `middle`.
    """

    def __init__(
        self, x: Floats, faces: Ints, lights: Floats, middle: Floats, size: float, pixels: int, groups: int
    ) -> None:
        each = len(lights) // groups
        grouped = lights.reshape(each, groups, 4).swapaxes(0, 1)
        self.lights = np.ascontiguousarray(grouped / (1, 1, 1, grouped[..., 3].sum() / groups))
        self.normal_offset = 1.6 * size / pixels
        self.light_matrices = np.zeros((groups, each, 3, 4))
        scale = pixels / (1.04 * size)
        for k in np.ndindex(groups, each):
            right, up, back = basis(-self.lights[k][:3])
            # metres to pixels, y down; depth grows away from the light
            matrix = self.light_matrices[k]
            matrix[:, :3] = right * scale, up * -scale, -back
            matrix[:, 3] = np.array([pixels / 2, pixels / 2, 0.0]) - matrix[:, :3] @ middle
        self.maps = np.full((groups, each, pixels, pixels), np.inf, np.float32)
        picture.shadow_maps(x, faces, self.light_matrices.reshape(-1, 3, 4), self.maps.reshape(-1, pixels, pixels))

    def at(self, x: Floats, n: Floats, group: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """Light at points x (p,3) with normals n (p,3): with shadows, and unshadowed."""
        out = np.empty((len(x), 2))
        x, n = (np.require(rows, requirements=("C", "W")) for rows in (x, n))  # copies where they are read-only
        picture.gather(x, n, group, self.lights, self.light_matrices, self.maps, self.normal_offset, out)
        return out[:, 0], out[:, 1]


@functools.cache
def sun_lights(count: int, spread: float = 0.07) -> Floats:
    """(count,4) directions on a small disc around the sun, and their weights."""
    k = np.arange(count)
    radius, angle = spread * np.sqrt((k + 0.5) / count), TURN * k
    right, up, back = basis(-SUN)
    towards = back + np.outer(radius * np.cos(angle), right) + np.outer(radius * np.sin(angle), up)
    return np.column_stack([unit(towards), np.ones(count)])


@functools.cache
def sky_lights(count: int) -> Floats:
    """(count,4) directions spread over the upper hemisphere, and weights for a sky that is brightest overhead."""
    k = np.arange(count)
    y = (k + 0.5) / count
    flat, angle = np.sqrt(1 - y * y), TURN * k
    return np.column_stack([flat * np.cos(angle), y, flat * np.sin(angle), 0.5 + 0.5 * y])


def unit(a: Floats) -> Floats:
    """Normalise rows; zero rows stay zero."""
    return a / np.maximum(np.linalg.norm(a, axis=-1, keepdims=True), 1e-30)
