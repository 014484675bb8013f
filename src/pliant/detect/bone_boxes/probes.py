"""Points that are asked about again and again: what was found for them, and how far outside they are."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...kernels import bone_lookup as _kernels
from ...kernels import nearest as _nearest
from ...kernels import pseudonormals as _normals
from ...kernels.bone_boxes import CHUNK
from ...kernels.pseudonormals import Rings
from ...kernels.surface import Surface
from .boxes import BoneBoxes

Floats = NDArray[np.float64]


class Touching(NamedTuple):
    rows: NDArray[np.int64]  # (k,) points, ascending
    pairs: NDArray[np.int64]  # (k,2) nearest face and feature
    where: Floats  # (k,3) barycentrics of the nearest point
    distance: Floats  # (k,) signed
    nearest: Floats  # (k,3)
    normal: Floats  # (k,3) unit, opens the gap


class Probes:
    """Memory of points (n,3). `clear` (n,): how far (m) each is from the skin at least, if it is outside.

    What went less than that since cannot have got in, so that few points must be searched for; where the last search
    ended, the next one begins.
    """

    def __init__(self, points: Floats) -> None:
        n = len(points)
        self.order = _nearest.along_curve(points)
        self.clear, self.points = np.zeros(n), points.copy()
        self.looked = self.measured = 0
        self._found, self._place = np.full((n, 3), -1, np.int64), np.empty((n, 3))
        self._wanted, self._doubts = np.zeros(n, np.bool_), np.empty(n, np.int64)
        self._rows, self._pairs = np.empty(n, np.int64), np.empty((n, 2), np.int64)
        self._at, self._where = np.empty((n, 3)), np.empty((n, 3))
        self._distance, self._nearest, self._normal = np.empty(n), np.empty((n, 3)), np.empty((n, 3))
        self.count = 0

    def ask(
        self,
        boxes: BoneBoxes,
        surface: Surface,
        rings: Rings,
        which: NDArray[np.int64],
        exact: bool,
        deep: bool,
    ) -> None:
        """Find the triangles near `which` of the points; `deep` also those far above points inside a closed skin."""
        points, placed, reach = self.points, boxes.placed, boxes.reach
        self.looked = self.measured = self.count = 0
        if not len(which):
            return
        counts = np.zeros((-(-len(which) // CHUNK), 2), np.int64)
        _kernels.look(boxes.boxes, placed, surface.x, points, which, reach, exact, self._found, self._place, counts)
        self.looked, self.measured = counts.sum(0).tolist()
        m = _kernels.doubts(which, self._found, self.clear, reach, boxes.slack if deep else -1.0, self._doubts)
        if m:
            counts = np.zeros((-(-m // CHUNK), 2), np.int64)
            answers = (self._found, self._place, self.clear, counts)
            _kernels.judge(boxes.boxes, placed, surface, rings, points, self._doubts[:m], boxes.slack, *answers)
            self.looked += int(counts[:, 0].sum())
            self.measured += int(counts[:, 1].sum())
        self._wanted[:] = False
        self._wanted[which] = True
        k = _kernels.gather(
            self._wanted, points, self._found, self._place, self._rows, self._pairs, self._at, self._where
        )
        if not k:
            return
        pairs = self._pairs[:k]
        _normals.freshen(rings, surface, pairs)
        sides = (self._distance[:k], self._nearest[:k], self._normal[:k])
        _nearest.tell_sides(surface, self._at[:k], pairs, self._where[:k], *sides)
        self.clear[self._rows[:k]] = np.maximum(self._distance[:k], 0.0)
        self.count = k

    def within(self, distance: float) -> "Touching":
        """What is no farther than `distance`, or inside; points ascending."""
        keep = np.flatnonzero(self._distance[: self.count] <= distance)
        where, normal = self._where[keep], self._normal[keep]
        return Touching(self._rows[keep], self._pairs[keep], where, self._distance[keep], self._nearest[keep], normal)
