"""Triangle meshes of implicit bodies: marching cubes in a narrow band, then relaxation on the surface."""

import dataclasses
import functools
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ..mesh.topology import Topology
from ..validate import Floats, Ints
from .implicit import Part, distance, project
from .tidy import flipped_to_delaunay, neighbour_mean, refined

BLOCK = 6  # cells along a block of the narrow band
CHUNK = 16_384  # points per evaluation, so that the arrays stay in cache


@dataclasses.dataclass(frozen=True)
class Zoom:
    """An enlargement of space, by which the head is sampled more finely: lengths along all axes are multiplied by 1
    below y = `low`, by `scale` above y = `high`, smoothly in between."""

    low: float
    high: float
    scale: float

    def factor(self, y: Floats) -> Floats:
        t = np.clip((y - self.low) / (self.high - self.low), 0.0, 1.0)
        return 1.0 + (self.scale - 1.0) * t * t * (3.0 - 2.0 * t)

    @functools.cached_property
    def table(self) -> Floats:
        """(2,m) heights y and their images, the integral of the factor."""
        y = np.concatenate([[self.low - 10.0], np.linspace(self.low, self.high, 513), [self.high + 10.0]])
        mean = 0.5 * (self.factor(y[1:]) + self.factor(y[:-1]))
        return np.stack([y, y[0] + np.concatenate([[0.0], np.cumsum(mean * np.diff(y))])])

    def height(self, y: float) -> float:
        return float(np.interp(y, self.table[0], self.table[1]))

    def back(self, p: Floats) -> Floats:
        y = np.interp(p[:, 1], self.table[1], self.table[0])
        s = self.factor(y)
        return np.stack([p[:, 0] / s, y, p[:, 2] / s], 1)


NO_ZOOM = Zoom(-5.0, 5.0, 1.0)


def polygonised(
    parts: Sequence[Part],
    low: Floats,
    high: Floats,
    h: float,
    *,
    zoom: Zoom = NO_ZOOM,
    fine: Sequence[Callable[[Floats], NDArray[np.bool_]]] = (),
    ends: bool = False,
    rounds: int = 6,
) -> tuple[Floats, Ints]:
    """Vertices on the surface and outward faces with edges of about `h`, inside a box (x and z in zoomed space).

    `zoom` refines the head before sampling, so that its features are resolved. Each function of `fine` marks the
    points (n,3) where edges are halved once more; each region contains the next. With `ends`, the surface is cut open
    by the planes y = low and y = high; otherwise the box must contain all of it.
    """
    from skimage.measure import marching_cubes

    grid, origin = _band(parts, low, high, h, zoom, ends)
    # "descent" is documented to yield left-handed faces, but these are right-handed
    x, faces, _, _ = marching_cubes(grid, 0.0, spacing=(h, h, h), gradient_direction="descent", allow_degenerate=False)
    x, faces = zoom.back(x.astype(np.float64) + origin), faces.astype(np.int32)
    x, faces = relaxed(parts, x, faces, rounds)
    for region in fine:
        x, faces = refined(x, faces, region(x[faces].mean(1)))
        x, faces = relaxed(parts, x, faces, rounds)
    return x, faces


def relaxed(parts: Sequence[Part], x: Floats, faces: Ints, rounds: int) -> tuple[Floats, Ints]:
    """Move vertices along the surface towards the mean of their neighbours, and flip edges to Delaunay.

    Boundary vertices keep their height.
    """
    level = np.flatnonzero(Topology.of(faces, len(x)).boundary_vertices)
    x, normal = _projected(parts, x, level)
    for k in range(rounds):
        if k % 3 == 0:
            faces = flipped_to_delaunay(x, faces)
        step = neighbour_mean(x, faces) - x
        step -= (step * normal).sum(1)[:, None] * normal
        step[level, 1] = 0.0
        x = x + 0.7 * step
        if k % 3 == 2:
            x, normal = _projected(parts, x, level)
        else:
            # the previous normal is accurate enough for a short step, and four times cheaper
            x = x - normal * _distance(parts, x)[:, None]
    x, _ = _projected(parts, x, level, 3)
    return x, flipped_to_delaunay(x, faces)


def _distance(parts: Sequence[Part], x: Floats) -> Floats:
    return np.concatenate([distance(parts, x[k : k + CHUNK]) for k in range(0, len(x), CHUNK)])


def _projected(parts: Sequence[Part], x: Floats, level: NDArray[np.intp], rounds: int = 1) -> tuple[Floats, Floats]:
    height = x[level, 1]
    for _ in range(rounds):
        pieces = [project(parts, x[k : k + CHUNK], 1) for k in range(0, len(x), CHUNK)]
        moved, normal = np.concatenate([p[0] for p in pieces]), np.concatenate([p[1] for p in pieces])
        # at the boundary the step is rotated into the plane, and lengthened to reach the surface there
        flat = normal[level] * (1.0, 0.0, 1.0)
        reach = np.einsum("ij,ij->i", moved[level] - x[level], normal[level])
        flat /= np.maximum(np.einsum("ij,ij->i", flat, flat), 0.1)[:, None]
        moved[level] = x[level] + flat * reach[:, None]
        moved[level, 1] = height
        normal[level] = flat
        x = moved
    return x, normal


def _band(parts: Sequence[Part], low: Floats, high: Floats, h: float, zoom: Zoom, ends: bool) -> tuple[Floats, Floats]:
    """Samples on a grid of spacing `h` over the box, and its origin; exact near the surface, elsewhere only in sign."""
    low, high = (np.array([p[0], zoom.height(p[1]), p[2]]) for p in (low, high))
    blocks = np.ceil((high - low) / (BLOCK * h)).astype(int) + 1
    origin = 0.5 * (low + high) - 0.5 * blocks * BLOCK * h
    if ends:
        origin[1] = low[1]
    index = np.stack(np.meshgrid(*(np.arange(n) for n in blocks), indexing="ij"), -1).reshape(-1, 3)
    middle = distance(parts, zoom.back(origin + (index + 0.5) * BLOCK * h))
    grid = np.repeat(middle.reshape(blocks), BLOCK, 0).repeat(BLOCK, 1).repeat(BLOCK, 2)
    # half the diagonal of a block, times 1.5 because the values only approximate distances
    near = index[np.abs(middle) < 1.5 * 0.5 * np.sqrt(3.0) * BLOCK * h] * BLOCK
    cell = np.stack(np.meshgrid(*[np.arange(BLOCK)] * 3, indexing="ij"), -1).reshape(1, -1, 3)
    at = (near[:, None, :] + cell).reshape(-1, 3)
    grid[at[:, 0], at[:, 1], at[:, 2]] = _distance(parts, zoom.back(origin + at * h))
    if ends:
        grid = grid[:, : round((high[1] - low[1]) / h) + 1]
    return grid, origin
