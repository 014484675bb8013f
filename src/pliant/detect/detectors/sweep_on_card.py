"""The collision-free step of a mesh against itself on a graphics card, for positions that live there."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import arrays, validate
from ...kernels import device as _device
from ..bvh.boxes_on_card import BoxesOnCard
from ..queries.collisions import SLACK
from ..queries.overlaps_on_card import Overlaps
from ..queries.welded_on_card import Copies
from .bvh_on_card import largest_coordinate

if TYPE_CHECKING:
    from .continuous import Sweep


class SweepOnCard:
    """`Sweep` on the card; `Sweep.to("cuda")` makes it."""

    def __init__(self, sweep: "Sweep") -> None:
        arrays.chosen("cuda")
        if not sweep.fast:
            raise ValueError("the options volume, leaf, update and worse do not run on a graphics card; leave them out")
        self.mesh, leaves = sweep.mesh, sweep.moving.leaf_mesh
        self._copies, self._records = Copies(self.mesh), _device.upload(leaves.records)
        self._boxes = BoxesOnCard(leaves.tree, self._records)
        self._overlaps = Overlaps(len(leaves.leaves.face), same=True)

    def step(self, x_0: Any, x_1: Any, tolerance: float = 1e-6) -> float:
        """Return what `Sweep.step` returns, the same bits, for positions (n,3) on the card."""
        from ...kernels.gpu import sweeps as kernels
        from ...kernels.gpu.near_pairs import CardSide

        shape = (self.mesh.n_vertices, 3)
        start, end = arrays.floats("x_0", x_0, shape), arrays.floats("x_1", x_1, shape)
        tolerance = validate.number("tolerance", tolerance, low=0.0, high=1.0)
        for x in (start, end):
            self._copies.check(x)
        boxes = self._boxes
        _device.launch(kernels.fit_swept, len(boxes.at.leaf), self._records, start, end, boxes.at)
        boxes.fit_inner()
        listed = CardSide(start, self._records, *boxes.at)
        count = self._overlaps.listed(listed, listed, 0.0)
        side = kernels.SweptSide(start, end, self._records)
        limits = kernels.Limits(tolerance, SLACK * largest_coordinate(start, end))
        undecided, sizes = _device.empty(count, np.int16), _device.empty(count, np.int32)
        pairs = self._overlaps.pairs
        _device.launch(kernels.filter_pairs, count, side, limits, pairs, count, undecided, sizes)
        begin = _device.exclusive_sums(sizes)
        searched = int(begin[count : count + 1].copy_to_host()[0])
        if not searched:
            return 1.0
        searches, least = _device.empty((searched, 3), np.int32), _device.upload(np.array([math.inf]))
        _device.launch(kernels.list_searches, count, pairs, count, undecided, begin, searches)
        _device.launch(kernels.search_least, searched, side, tolerance, searches, least)
        return min(float(least.copy_to_host()[0]), 1.0)
