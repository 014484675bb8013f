"""Layered garments: test that the outer one lies outside of the inner ones wherever they overlap."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..detect.queries.intersections import Intersections
from ..detect.queries.penetration import DeformingClosestPoints
from ..mesh import Mesh
from ..motion.clip import Clip
from ..respond.edge_lengths import lengths

Floats = NDArray[np.float64]
ABOVE = 0.7  # least ratio of height difference over the body to gap: else the inner garment is beside, not above


class Layer(NamedTuple):
    """Layering errors of an outer garment over one inner garment, per frame."""

    name: str  # of the inner one
    below: tuple[int, ...]  # vertices of the outer one below the inner one; copies along seams count once
    pairs: tuple[int, ...]  # intersecting triangle pairs of both

    @property
    def wrong(self) -> bool:
        return any(self.below) or any(self.pairs)

    def words(self) -> str:
        """The largest numbers of any frame as text."""
        if not self.wrong:
            return "none"
        return f"{max(self.below):,} vertices, {max(self.pairs):,} pairs of triangles intersect"


class Layers:
    """One outer garment and the inner ones. distance: signed distance (k,) of points (k,3) from the body at its current
    position; move_body: moves the body to a frame."""

    def __init__(
        self, outer: Mesh, inner: list[Clip], move_body: Callable[[int], None], distance: Callable[[Floats], Floats]
    ) -> None:
        self.inner, self.move_body, self.distance = inner, move_body, distance
        self.depths = [DeformingClosestPoints(clip.mesh) for clip in inner]
        self.cross = [Intersections(outer, clip.mesh) for clip in inner]
        first = np.unique(outer.weld_index, return_index=True)[1]
        self.rows = first[np.unique(outer.weld_index[outer.faces])]

    def measure(self, frames: Floats) -> tuple[Layer, ...]:
        """The layering for vertices (T,n,3) of the outer garment, one `Layer` per inner garment."""
        return tuple(self._measured(k, frames) for k in range(len(self.inner)))

    def _measured(self, k: int, frames: Floats) -> Layer:
        below, pairs = [], []
        for t, x in enumerate(frames):
            self.move_body(t)
            found = self.counts(k, t, x)
            below.append(found[0])
            pairs.append(found[1])
        return Layer(self.inner[k].mesh.name, tuple(below), tuple(pairs))

    def counts(self, k: int, t: int, x: Floats) -> tuple[int, int]:
        """Vertices below inner garment k and intersecting pairs, for the outer garment at x (n,3) in frame t, to which
        the body was already moved."""
        y, points = np.asarray(self.inner[k].at(t), np.float64), x[self.rows]
        nearest = self.depths[k].update(y).query(points)[1]
        rise, gap = self.distance(nearest) - self.distance(points), np.linalg.norm(nearest - points, axis=1)
        return int(((rise > ABOVE * gap) & (gap > 0.0)).sum()), self.cross[k].update(x, y).count

    def tops(self, t: int, x: Floats, edge: float) -> Floats:
        """(n,) greatest height over the body of the inner garments around points x (n,3), within about an edge length;
        minus infinity beside them. The body must be at frame t."""
        from scipy.spatial import cKDTree

        out = np.full(len(x), -np.inf)
        for clip in self.inner:
            y = np.asarray(clip.at(t), np.float64)
            height = np.maximum(self.distance(y), 0.0)
            longest = float(lengths(y, clip.mesh.topology.edges).max(initial=0.0))
            around = cKDTree(y).query_ball_point(x, max(1.5 * edge, longest))
            out = np.maximum(out, [height[rows].max() if rows else -np.inf for rows in around])
        return out
