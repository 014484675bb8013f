"""Triangles of a skin in slabs: bounds over a clip, lists of the slabs that they overlap, and boxes around them."""

import numpy as np

from ...box_lanes import LANES
from ...jit import kernel


@kernel
def bound_triangles(span, entry, rows, out):
    """Bounds (m,6) of the triangles `rows`, whose corners are the entries entry (m,3), by the ranges `span` (e,6)."""
    for r in range(len(rows)):
        i, j, k = entry[rows[r], 0], entry[rows[r], 1], entry[rows[r], 2]
        for c in range(3):
            out[r, c] = min(span[i, c], span[j, c], span[k, c])
            out[r, c + 3] = max(span[i, c + 3], span[j, c + 3], span[k, c + 3])


@kernel
def round_outward(bounds, out):
    """Convert bounds (m,6) to float32, rounding outward."""
    for r in range(len(bounds)):
        for c in range(6):
            near = np.float32(bounds[r, c])
            if c < 3 and near > bounds[r, c]:
                near = np.nextafter(near, np.float32(-np.inf))
            elif c >= 3 and near < bounds[r, c]:
                near = np.nextafter(near, np.float32(np.inf))
            out[r, c] = near


@kernel
def slab_at(place, begin, per, slabs):
    """The slab at a place along the axis of a box; the same expression as in the lookup of points, so that both round
    alike."""
    return np.int64(min(max((place - begin) * per, 0.0), slabs - 1.0))


@kernel
def count_in_slabs(bounds, box, margin, begin, per, slabs, start):
    """Count the triangles, in rows, that overlap each slab widened by the margin, and set the starts of the lists of
    these, start (b*slabs+1,); return their total length."""
    start[:] = 0
    for r in range(len(box)):
        b = box[r]
        first = slab_at(bounds[r, 0] - margin, begin[b], per[b], slabs)
        last = slab_at(bounds[r, 3] + margin, begin[b], per[b], slabs)
        for s in range(first, last + 1):
            start[b * slabs + s + 1] += 1
    for k in range(1, len(start)):
        start[k] += start[k - 1]
    return start[-1]


@kernel
def list_in_slabs(bounds, box, margin, begin, per, slabs, start, items):
    """Fill the lists that `count_in_slabs` has counted, in ascending order."""
    filled = start.copy()
    for r in range(len(box)):
        b = box[r]
        first = slab_at(bounds[r, 0] - margin, begin[b], per[b], slabs)
        last = slab_at(bounds[r, 3] + margin, begin[b], per[b], slabs)
        for s in range(first, last + 1):
            k = b * slabs + s
            items[filled[k]] = r
            filled[k] += 1


@kernel
def box_around(bounds, first, out):
    """Boxes (k,6) around the bounds (m,6) of rows first[i]..first[i+1]-1; infinite and inverted for none."""
    for i in range(len(first) - 1):
        for c in range(3):
            out[i, c], out[i, c + 3] = np.inf, -np.inf
        for r in range(first[i], first[i + 1]):
            for c in range(3):
                out[i, c] = min(out[i, c], bounds[r, c])
                out[i, c + 3] = max(out[i, c + 3], bounds[r, c + 3])


@kernel
def side_by_side(bounds, begins, out):
    """Bounds (m,6) of rows begins[k]..begins[k+1]-1, at most LANES, side by side, out (k,6,LANES); nothing in lanes
    without one."""
    for k in range(len(begins) - 1):
        for c in range(6):
            for lane in range(LANES):
                out[k, c, lane] = np.inf if c < 3 else -np.inf
            for r in range(begins[k], begins[k + 1]):
                out[k, c, r - begins[k]] = bounds[r, c]
