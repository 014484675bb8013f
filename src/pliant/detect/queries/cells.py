"""Binning of boxes into the uniform grid that is the broad phase of the exact reference."""

import numpy as np
from numpy.typing import NDArray

from ...kernels.queries import cells as _cells

Floats = NDArray[np.float64]
_MOST_ITEMS = 64  # cell-list entries per box, beyond which cells are enlarged


def bin_boxes(low: Floats, high: Floats) -> _cells.Cells:
    """Bin boxes into a uniform grid; cells are twice as large as the mean box, larger if the lists get too long."""
    bottom, top = low.min(0), high.max(0)
    extent = top - bottom
    if not np.isfinite(extent).all():  # otherwise the search for a cell size would not terminate
        raise ValueError("positions are not finite; use shorter time steps, or start from finite positions")
    # not smaller than what maps the largest coordinate to a representable cell index
    tiny = max(1e-150, 1e-12 * float(np.abs([bottom, top]).max()))
    h = max(2.0 * float((high - low).mean()), float(extent.max()) / 256.0, tiny)
    h = max(h, float(np.prod(np.maximum(extent, h)) / max(4 * len(low), 4096)) ** (1.0 / 3.0))
    while True:
        shape = np.floor(extent / h).astype(np.int64) + 1
        spans = np.floor((high - low) / h) + 2.0
        if spans.prod(1).sum() <= _MOST_ITEMS * max(len(low), 1024) or shape.max() == 1:
            break
        h *= 2.0
    start = np.zeros(int(np.prod(shape)) + 1, np.int64)
    _cells.count_items(low, high, bottom, h, shape, start)
    start = np.cumsum(start)
    cells = _cells.Cells(bottom, h, shape, start, np.empty(int(start[-1]), np.int32))
    _cells.fill_items(low, high, cells, start.copy())
    return cells
