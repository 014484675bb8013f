"""Intersecting pairs split by body, and into crossing and pinched ones, for the reports of a run."""

import numpy as np
from numpy.typing import NDArray

from ...detect.queries.closest_point import ClosestPoints
from ...detect.queries.transversal import crossing, crossing_segments
from ...mesh import Mesh
from ...scene import Scene
from ..result import IntersectingBodies
from .intersection_count import IntersectionCount
from .referee import PINCH

Floats = NDArray[np.float64]
Pairs = NDArray[np.int32]


class IntersectionStatistics(IntersectionCount):
    """The exact count of `IntersectionCount`, split up for reports."""

    def __init__(self, scene: Scene, x: Floats) -> None:
        super().__init__(scene, x)
        self._deforming, self._reach = set(scene.deforming_motions), PINCH * scene.eps

    def crossing_pairs(self) -> tuple[int, int]:
        """Pairs of cloth and body triangles that cross (not only touch) at the last positions, and the pinched ones.

        Pinched pairs cross near self-intersections of a deforming body, which may leave the cloth no room: both ends
        and the middle of the segment in which they intersect are near them. They are not part of the first count.
        """
        count, pinched = 0, 0
        for c in self.obstacles:
            pairs = [(b, self._crossing(b, c)) for b in self.deformable]
            found = sum(len(each) for _, each in pairs)
            near = self._pinched(c, pairs) if c in self._deforming and found else 0
            count, pinched = count + found - near, pinched + near
        return count, pinched

    def intersecting_bodies(self) -> tuple[IntersectingBodies, ...]:
        """Intersections at the last positions: cloth with itself, with other cloth, and with bodies."""
        found = []
        for k, b in enumerate(self.deformable):
            found += [IntersectingBodies((b, c), len(self.between(b, c))) for c in self.deformable[k:]]
            found += [IntersectingBodies((b, c), len(self._crossing(b, c))) for c in self.obstacles]
        return tuple(each for each in found if each.pairs)

    def _pinched(self, c: int, pairs: list[tuple[int, Pairs]]) -> int:
        """Number of the given crossing pairs of cloths with body c that cross near its self-intersections."""
        body, own = self.surfaces[c], np.unique(self.between(c, c))
        if not len(own):
            return 0
        sides = [(self.surfaces[b], each) for b, each in pairs]
        ends = np.concatenate([crossing_segments(one.x, one.faces, body.x, body.faces, each) for one, each in sides])
        points = np.concatenate([ends, ends.mean(1, keepdims=True)], 1)
        overlap = ClosestPoints(Mesh(body.x, body.faces[own], name="overlap"))
        away = np.abs(overlap.query(points.reshape(-1, 3))[0])
        return int((away.reshape(-1, 3).max(1) <= self._reach).sum())

    def _crossing(self, b: int, c: int) -> Pairs:
        """(k,2) faces of two bodies that cross."""
        one, two, pairs = self.surfaces[b], self.surfaces[c], self.between(b, c)
        return pairs[crossing(one.x, one.faces, two.x, two.faces, pairs)] if len(pairs) else pairs
