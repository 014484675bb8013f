"""The broad phase on a graphics card: pairs of triangles whose boxes are near, with room for all of them."""

from typing import Any

import numpy as np

from ... import validate
from ...kernels import device as _device

ROOM = 24  # pairs per triangle for which there is room at first
_BYTES = 60  # memory of the card for a pair of triangles and what is found of it, on average


class Overlaps:
    """Lists pairs of the triangles of two sides, in any order; the list grows where it had no room for all."""

    def __init__(self, triangles: int, *, same: bool, max_bytes: float | None = None) -> None:
        self.same, self.max_bytes, self._triangles = same, max_bytes, triangles
        self.pairs = _device.empty((max(ROOM * triangles, 1), 2), np.int32)

    def listed(self, a: Any, b: Any, within: float) -> int:
        """Fill `pairs` with those of `CardSide`s a and b whose boxes are this near; return their number."""
        from ...kernels.gpu import near_pairs as kernels

        while True:
            counted = _device.zeros(1, np.int64)
            _device.launch(kernels.list_overlaps, self._triangles, a, b, self.same, within, self.pairs, counted)
            count = int(counted.copy_to_host()[0])
            if count <= len(self.pairs):
                return count
            # the count is complete even if there was no room: allocate enough and repeat
            self.budget(count, f"{count} pairs of triangles")
            self.pairs = _device.empty((1, 2), np.int32)  # what it had is freed before more is allocated
            self.pairs = _device.empty((count + count // 4, 2), np.int32)

    def budget(self, count: int, what: str) -> None:
        """MemoryError if the caller allowed less than so many pairs take."""
        if self.max_bytes is not None:
            advice = "reduce the detection distance or raise max_bytes"
            validate.budget(what, float(_BYTES * count), advice, self.max_bytes)
