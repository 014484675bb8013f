"""Cell sizes of the fields that detectors bake: fine enough for the contact offset, within limits of the work."""

from collections.abc import Sequence

import numpy as np

from ...mesh import Mesh
from .basis import is_plain_mesh

FEWEST_CELLS = 32  # along the longest side
MOST_CELLS, MOST_ALONG = 512, 2048  # along the sides of a cube; along the longest side of a flat or thin body
MOST_ANGLES = 5e8  # nodes times boundary edges of a body whose signs need winding numbers; 10 to 15 s of CPU time
WIDEST_BAND = 16.0  # cells
_COARSER = 2.0**0.25  # factor of the cell size while the work exceeds its limits


def cell_sizes(parts: Sequence[Mesh], within: float) -> list[float]:
    """Return the cell size, metres, of the field of each of the parts of a body: no larger than `within`, unless the
    limits on the size of a grid, or on the work of all parts together, require larger cells."""
    longest = [float((part.bounds[1] - part.bounds[0]).max()) for part in parts]
    sizes = [max(min(within, long / FEWEST_CELLS), finest_cells(part, within)) for part, long in zip(parts, longest)]
    while _work(parts, sizes) > 1.0 and any(size < long / FEWEST_CELLS for size, long in zip(sizes, longest)):
        coarser = [min(size * _COARSER, long / FEWEST_CELLS) for size, long in zip(sizes, longest)]
        sizes = [max(size, larger) for size, larger in zip(sizes, coarser)]
    return sizes


def finest_cells(body: Mesh, within: float) -> float:
    """Return the smallest cell size, metres, of a field of one part for `within`.

    A grid has at most as many cells as the largest cube. A body smaller than `within` still gets cells that resolve its
    shape, as far as grid and band allow.
    """
    extent, around = body.bounds[1] - body.bounds[0], 2.0 * WIDEST_BAND
    fine, coarse = (float(extent.max()) / (most - around) for most in (MOST_ALONG, MOST_CELLS))
    for _ in range(32):
        middle = 0.5 * (fine + coarse)
        fits = middle > 0.0 and np.prod(extent / middle + around) <= float(MOST_CELLS) ** 3
        fine, coarse = (fine, middle) if fits else (middle, coarse)
    return max(coarse, within / (WIDEST_BAND - 2.0))


def _work(parts: Sequence[Mesh], sizes: Sequence[float]) -> float:
    """Return the work of baking all parts relative to its limits: of cells, and of solid angles, which are computed for
    each node in the band and each boundary edge where normals do not give the sign."""
    cells = angles = 0.0
    for part, size in zip(parts, sizes):
        box = float(np.prod((part.bounds[1] - part.bounds[0]) / size + 2.0 * WIDEST_BAND))
        nodes = min(box, 2.0 * WIDEST_BAND * float(part.face_areas.sum()) / size**2)
        cells, angles = cells + box, angles + nodes * _sign_edges(part)
    return max(cells / (1.01 * MOST_CELLS**3), angles / MOST_ANGLES)


def _sign_edges(part: Mesh) -> int:
    """Return the number of boundary edges that each sign of a field depends on, 0 if normals give the signs."""
    edges = int(part.welded.topology.loose.sum())
    return edges if edges and not is_plain_mesh(part.welded) else 0
