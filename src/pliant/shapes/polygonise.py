"""From an implicit body to an even triangle mesh: marching cubes in a band, then relaxed on the surface."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ..validate import Floats, Ints
from .implicit import Part, distance, project
from .tidy import flipped_to_delaunay, neighbour_mean, refined

BLOCK = 6  # cells along a block of the band
CHUNK = 16_384  # points evaluated together: their arrays stay in cache


def polygonised(
    parts: Sequence[Part],
    low: Floats,
    high: Floats,
    h: float,
    *,
    fine: Sequence[Callable[[Floats], NDArray[np.bool_]]] = (),
    rounds: int = 6,
) -> tuple[Floats, Ints]:
    """Vertices on the surface and outward faces of edge length about `h`.

    Each of `fine` says for points (n,3) where edges are halved once more; one lies within the other.
    """
    from skimage.measure import marching_cubes

    grid, origin = _band(parts, low, high, h)
    x, faces, _, _ = marching_cubes(grid, 0.0, spacing=(h, h, h), gradient_direction="descent", allow_degenerate=False)
    x, faces = x.astype(np.float64) + origin, faces.astype(np.int32)
    x, faces = relaxed(parts, x, faces, rounds)
    for region in fine:
        x, faces = refined(x, faces, region(x[faces].mean(1)))
        x, faces = relaxed(parts, x, faces, rounds)
    return x, faces


def relaxed(parts: Sequence[Part], x: Floats, faces: Ints, rounds: int) -> tuple[Floats, Ints]:
    """Vertices slid along the surface towards the middle of their neighbours, and edges flipped to Delaunay."""
    x, normal = _chunked_project(parts, x)
    for k in range(rounds):
        if k % 2 == 0:
            faces = flipped_to_delaunay(x, faces)
        step = neighbour_mean(x, faces) - x
        step -= (step * normal).sum(1)[:, None] * normal
        x, normal = _chunked_project(parts, x + 0.7 * step, 2 if k == rounds - 1 else 1)
    return x, flipped_to_delaunay(x, faces)


def _chunked_project(parts: Sequence[Part], x: Floats, rounds: int = 1) -> tuple[Floats, Floats]:
    pieces = [project(parts, x[k : k + CHUNK], rounds) for k in range(0, len(x), CHUNK)]
    return np.concatenate([p[0] for p in pieces]), np.concatenate([p[1] for p in pieces])


def _band(parts: Sequence[Part], low: Floats, high: Floats, h: float) -> tuple[Floats, Floats]:
    """Samples (float32) on a grid of spacing `h` around the box, exact near the surface, far away only the sign."""
    blocks = np.ceil((high - low) / (BLOCK * h)).astype(int) + 1
    origin = 0.5 * (low + high) - 0.5 * blocks * BLOCK * h
    index = np.stack(np.meshgrid(*(np.arange(n) for n in blocks), indexing="ij"), -1).reshape(-1, 3)
    middle = distance(parts, origin + (index + 0.5) * BLOCK * h)
    grid = np.repeat(middle.reshape(blocks), BLOCK, 0).repeat(BLOCK, 1).repeat(BLOCK, 2)
    # half the diagonal of a block, and half as much again because values are not quite distances
    near = index[np.abs(middle) < 1.5 * 0.5 * np.sqrt(3.0) * BLOCK * h] * BLOCK
    cell = np.stack(np.meshgrid(*[np.arange(BLOCK)] * 3, indexing="ij"), -1).reshape(1, -1, 3)
    at = (near[:, None, :] + cell).reshape(-1, 3)
    values = [distance(parts, origin + at[k : k + CHUNK] * h) for k in range(0, len(at), CHUNK)]
    grid[at[:, 0], at[:, 1], at[:, 2]] = np.concatenate(values)
    return grid, origin
