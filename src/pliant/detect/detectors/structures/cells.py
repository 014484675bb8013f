"""Cells of uniform grids: those of spatial hashing, and those of the grid of the exact reference."""

from typing import Any

import numpy as np

from ...queries.cells import bin_boxes
from ...queries.contact_records import with_rounding_margin
from ...structure import MOST_VOLUMES, Floats, Structure, box_edges, millimetres, some


def structure_of_hash(table: Any, counts: Any) -> Structure:
    """Return the occupied cells of a `TetHash`, those with vertices of several bodies in the second colour; counts
    (b,): vertices of each body."""
    low, size, cell = table.cells()
    cells, inverse = np.unique(cell, axis=0, return_inverse=True)
    inverse = inverse.reshape(-1)
    body = np.repeat(np.arange(len(counts)), counts)
    owners = np.unique(np.stack([inverse, body], 1), axis=0)[:, 0]  # one row for each body in a cell
    both = np.bincount(owners, minlength=len(cells)) > 1
    corner = low + cells * size
    kinds = (np.flatnonzero(kind) for kind in (~both, both))
    drawn = [corner[rows[some(len(rows))]] for rows in kinds]
    lines = [box_edges(at, at + size) for at in drawn]
    text = f"spatial hash: {len(cells)} occupied cells of {_sides(size)} in {table.buckets} buckets"
    text += f", {table.collisions} hash collisions; orange: {int(both.sum())} cells with vertices of several bodies"
    text += f"; {MOST_VOLUMES} drawn" if max(len(cells) - both.sum(), both.sum()) > MOST_VOLUMES else ""
    return Structure(text, lines=lines[0], accents=lines[1])


def structure_of_grid(sides: Any, x: Floats, within: float, same: bool) -> Structure:
    """Return the cells of the uniform grid over the faces of the second side of brute force that also hold vertices of
    the first: only these pairs are tested."""
    one, two = (x[side.rows] for side in sides)
    faces = sides[1].mesh.faces
    if not len(faces) or not len(one):
        return Structure("uniform grid: no faces")
    reach = with_rounding_margin(within, one, two)
    corners = two[faces]
    cells = bin_boxes(corners.min(1) - reach, corners.max(1) + reach)
    occupied = np.diff(cells.start) > 0
    at = np.floor((one - cells.origin) / cells.h)
    within_grid = ((at >= 0.0) & (at < cells.shape)).all(1)
    index = np.unique(np.ravel_multi_index(at[within_grid].astype(np.int64).T, cells.shape))
    tested = index[occupied[index]]
    low = cells.origin + cells.h * np.stack(np.unravel_index(tested[some(len(tested))], cells.shape), 1)
    text = f"uniform grid, the broad phase: {int(occupied.sum())} cells of {millimetres(cells.h)} hold faces"
    text += f"; drawn are the {len(tested)} that also hold vertices" + (" of the same mesh" if same else "")
    return Structure(text, lines=box_edges(low, low + cells.h))


def _sides(size: Floats) -> str:
    sides = [f"{1e3 * s:.3g}" for s in size]
    return f"{' x '.join(sides) if len(set(sides)) > 1 else sides[0]} mm"
