"""Structure: what a detector keeps between queries, as shapes for display (`BaseDetector.structure`)."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
MOST_VOLUMES, MOST_SPHERES = 1200, 3000  # drawn of one side; more would be indistinguishable
_CORNERS = np.array([[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)])
_EDGES = np.array([(i, j) for i in range(8) for j in range(i) if bin(i ^ j).count("1") == 1])
_NO_LINES, _NO_SPHERES, _NO_DOTS = np.zeros((0, 2, 3)), np.zeros((0, 5)), np.zeros((0, 4))


class FieldSlice(NamedTuple):
    """Distances on a plane, as a detector samples them."""

    corners: Floats  # (4,3) of the rectangle in the world, clockwise from the first pixel
    distance: Floats  # (h,w) metres, nan where the field has no value
    marked: NDArray[np.bool_]  # (h,w) pixels at the boundaries of cells
    step: float  # metres from one colour to the next
    most: float  # metres of the fullest colour


class Structure(NamedTuple):
    """The data structure of a detector at its last update, at one level of `levels`, in the world.

    `lines` and `accents` are segments of the first and of the second colour; `spheres` have centre, radius and 0 or 1
    for the colour, `dots` a point and 0 or 1. `legend` says what is seen.
    """

    legend: str
    level: int = 0
    levels: int = 0  # highest level
    lines: Floats = _NO_LINES  # (k,2,3)
    accents: Floats = _NO_LINES  # (k,2,3)
    spheres: Floats = _NO_SPHERES  # (k,5)
    dots: Floats = _NO_DOTS  # (k,4)
    slice: FieldSlice | None = None


def clamped(level: int | None, levels: int, default: int) -> int:
    """Return a level that exists; None: the default."""
    return min(max(default if level is None else level, 0), levels)


def some(count: int, most: int = MOST_VOLUMES) -> NDArray[np.int64]:
    """Return at most `most` of the indices below `count`, evenly."""
    return np.arange(count) if count <= most else np.linspace(0, count - 1, most).astype(np.int64)


def box_edges(low: Floats, high: Floats) -> Floats:
    """Return the edges (12 k,2,3) of boxes with corners (k,3)."""
    return corner_edges(np.where(_CORNERS, high[:, None], low[:, None]))


def corner_edges(corners: Floats) -> Floats:
    """Return the edges (12 k,2,3) of boxes with corners (k,2,2,2,3), or (k,8,3) in this order."""
    return np.ascontiguousarray(corners.reshape(-1, 8, 3)[:, _EDGES].reshape(-1, 2, 3))


def oriented_edges(centre: Floats, half: Floats, axes: Floats) -> Floats:
    """Return the edges (12 k,2,3) of OBBs: centres (k,3), half extents (k,3) and unit axes (k,3,3) as rows."""
    signs = 2.0 * _CORNERS - 1.0
    return corner_edges(centre[:, None] + np.einsum("ci,ki,kij->kcj", signs, half, axes))


def dots_at(*kinds: Floats) -> Floats:
    """Return dots (k,4) at points of the first colour, and of the second."""
    return np.concatenate([np.column_stack([points, np.full(len(points), k)]) for k, points in enumerate(kinds)])


def moved(lines: Floats, pose: Floats | None) -> Floats:
    """Return lines (k,2,3), or any points (...,3), of a body with this pose (3,4) in the world."""
    return lines if pose is None else lines @ pose[:, :3].T + pose[:, 3]


def together(parts: "list[Structure]") -> Structure | None:
    """Return several structures as one, with the legend of the first; None if there are none."""
    if len(parts) < 2:
        return parts[0] if parts else None
    first = max(parts, key=lambda part: part.levels)
    return first._replace(
        legend=f"{first.legend}; {len(parts)} pairs of bodies in all",
        lines=np.concatenate([part.lines for part in parts]),
        accents=np.concatenate([part.accents for part in parts]),
        spheres=np.concatenate([part.spheres for part in parts]),
        dots=np.concatenate([part.dots for part in parts]),
        slice=next((part.slice for part in parts if part.slice is not None), None),
    )


def millimetres(length: float) -> str:
    """Return a length in metres as text, three digits."""
    return f"{1e3 * length:.3g} mm" if length < 1.0 else f"{length:.3g} m"
