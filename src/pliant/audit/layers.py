"""Garments worn one over the other: is the outer one outside of the inner, wherever they lie upon each other?"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..clip import Clip
from ..detect.tree.crossings import Crossings
from ..detect.tree.depth import Depths
from ..mesh import Mesh

Floats = NDArray[np.float64]
STRAIGHT = 0.7  # of the way to the inner garment that must lead away from the body: else it is beside it, not below


class Layer(NamedTuple):
    """An outer garment against one that is worn below it, in every frame."""

    name: str  # of the inner one
    below: tuple[int, ...]  # vertices of the outer one that the inner one covers; copies along seams are one
    pairs: tuple[int, ...]  # triangles of both that meet

    @property
    def wrong(self) -> bool:
        return any(self.below) or any(self.pairs)

    def words(self) -> str:
        """The worst frame."""
        if not self.wrong:
            return "none"
        return f"{max(self.below):,} vertices, {max(self.pairs):,} pairs of triangles meet"


class Layers:
    """One outer garment and those below it. away: signed distance (k,) of points (k,3) from the body, as it stands;
    place: puts the body where it is in a frame."""

    def __init__(
        self, outer: Mesh, inner: list[Clip], place: Callable[[int], None], away: Callable[[Floats], Floats]
    ) -> None:
        self.inner, self.place, self.away = inner, place, away
        self.depths = [Depths(clip.mesh) for clip in inner]
        self.cross = [Crossings(outer, clip.mesh) for clip in inner]
        first = np.unique(outer.weld_index, return_index=True)[1]
        self.rows = first[np.unique(outer.weld_index[outer.faces])]

    def judge(self, frames: Floats) -> tuple[Layer, ...]:
        """Of the outer garment's vertices in every frame (T,n,3)."""
        return tuple(self._judged(k, frames) for k in range(len(self.inner)))

    def _judged(self, k: int, frames: Floats) -> Layer:
        below, pairs = [], []
        for t, x in enumerate(frames):
            self.place(t)
            found = self.counts(k, t, x)
            below.append(found[0])
            pairs.append(found[1])
        return Layer(self.inner[k].mesh.name, tuple(below), tuple(pairs))

    def counts(self, k: int, t: int, x: Floats) -> tuple[int, int]:
        """Vertices below inner garment k, and pairs that meet, where the outer one is x (n,3) in frame t, in which the
        body stands already."""
        y, points = np.asarray(self.inner[k].at(t), np.float64), x[self.rows]
        nearest = self.depths[k].update(y).query(points)[1]
        rise, gap = self.away(nearest) - self.away(points), np.linalg.norm(nearest - points, axis=1)
        return int(((rise > STRAIGHT * gap) & (gap > 0.0)).sum()), self.cross[k].update(x, y).count
