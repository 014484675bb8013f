"""Test cloths: flat, folded and crumpled without intersections, and steps of their motion."""

import numpy as np
from numpy.typing import NDArray

from pliant.mesh import Mesh

Floats = NDArray[np.float64]
H = 0.01  # distance of neighbouring particles, m
SIZES = ((30, 100), (100, 100), (300, 300))
QUICK = ((6, 20),)
STATES = ("flat", "folded", "crumpled")
_LAYERS = {"folded": 10, "crumpled": 4}
_SHEAR = {"flat": 0.3, "folded": 0.6, "crumpled": 1.2}  # edges


def pile(nx: int, ny: int, state: str, gap: float = 0.5) -> Mesh:
    """nx x ny particles, `H` apart: flat, folded to 10 layers, or folded to 4 and again to 6 nested piles.

    Layers are `gap` edges apart and parallel, outer piles bulge round inner ones, and the waves at the end are shears,
    which can be undone: so nothing intersects. A little noise keeps ties away.
    """
    i, j = np.meshgrid(np.arange(nx), np.arange(ny), indexing="ij")
    x, y, z = (np.asarray(along, np.float64) for along in (i * H, j * H, 0.0 * i))
    if state != "flat":
        layer, at = _zigzag(j, max(-(-ny // _LAYERS[state]), 5))
        y, z = H * at.astype(np.float64), layer.astype(np.float64) * (gap * H)
        if state == "crumpled":
            x, z = _nested(i, nx, layer, gap * H)
    v = np.stack([x, y, z], -1).reshape(-1, 3).astype(np.float64)
    _wave(v, _SHEAR[state] * H, 2.0 * np.pi / (25.0 * H))
    v += np.random.default_rng(1000 * nx + ny).uniform(-0.02, 0.02, v.shape) * H
    return Mesh(v, _faces(nx, ny), name=f"{nx}x{ny} {state}")


def _zigzag(row: NDArray[np.int64], long: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Layer, and position in it; layers of `long` rows run in alternating directions."""
    layer, at = row // long, row % long
    return layer, np.where(layer % 2 == 0, at, long - 1 - at)


def _nested(i: NDArray[np.int64], nx: int, layer: NDArray[np.int64], gap: float) -> tuple[Floats, Floats]:
    """x and z of layers that are folded again into six nested piles; outer layers have longer bends."""
    long, top = max(-(-nx // 6), 5), int(layer.max())
    pile_number, at = _zigzag(i, long)
    u = at / (long - 1.0)
    x = u * ((long - 1) * H + (top - layer) * gap) - (1.0 - u) * layer * gap
    z = np.where(pile_number % 2 == 0, layer, top - layer) * gap + pile_number * (top + 1) * gap
    return x, z


def _wave(v: Floats, a: float, w: float) -> None:
    """Shear each axis by a function of the other two, in place; the map is injective, so no intersections arise."""
    v[:, 2] += a * np.sin(w * v[:, 0] + 0.3) + a * np.cos(0.8 * w * v[:, 1])
    v[:, 0] += a * np.sin(w * v[:, 2] + 1.1)
    v[:, 1] += a * np.sin(0.7 * w * v[:, 0] + 0.4 + 0.5 * w * v[:, 2])


def _faces(nx: int, ny: int) -> NDArray[np.int32]:
    i, j = np.meshgrid(np.arange(nx - 1), np.arange(ny - 1), indexing="ij")
    a = (i * ny + j).ravel()
    lower, upper = np.stack([a, a + ny, a + ny + 1], 1), np.stack([a, a + ny + 1, a + 1], 1)
    return np.concatenate([lower, upper]).astype(np.int32)


def stepped(x: Floats, kind: str) -> Floats:
    """Positions of cloth `x` (n,3) after a step: half an edge lower and compressed; "miss" gently, "hit" with noise."""
    squeeze, noise = {"miss": (0.15, 0.01), "hit": (0.4, 0.15)}[kind]
    end = x + np.array([0.1, 0.05, -0.5]) * H
    end[:, 2] -= squeeze * (x[:, 2] - x[:, 2].mean())
    moved: Floats = end + np.random.default_rng(5).normal(size=x.shape) * noise * H
    return moved


def poses(x: Floats) -> tuple[Floats, Floats]:
    """Two positions of the same cloth, half an edge apart, with the same pairs, so that each update does work."""
    return x, x + np.array([0.1, 0.05, -0.5]) * H
