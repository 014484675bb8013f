"""Exact count of intersecting triangle pairs per frame: cloth with cloth, and cloth with bodies."""

import numpy as np
from numpy.typing import NDArray

from ...detect.bvh.tree import refit, tree_of
from ...detect.queries.intersections import bvh_side, intersecting_pairs
from ...dynamics.springs import joined_vertices
from ...kernels.queries.intersections import BvhSide
from ...scene import Scene

Floats = NDArray[np.float64]
Pairs = NDArray[np.int32]


class IntersectionCount:
    """Counts the intersecting triangle pairs of a scene, touching included. Neighbours count only where they intersect
    beyond their shared vertices or edge (see `Intersections`); pairs that share a sewn vertex do not count: a stitch
    brings its two vertices together, but not to the same bits. Each body has one BVH, which is refitted."""

    def __init__(self, scene: Scene, x: Floats) -> None:
        self.surfaces = [_BodySurface(scene, b, x) for b in range(len(scene.bodies))]
        self.deformable, self.obstacles = scene.deformable, scene.obstacles
        self._moving = {*scene.deformable, *scene.moving}
        self._joined = joined_vertices(scene) if scene.seams else None
        self._last: tuple[Floats, list[tuple[int, int, Pairs]]] = (
            np.zeros((0, 3)),
            [],
        )  # argument and result of `corners`

    def at(self, x: Floats) -> tuple[int, int]:
        """Return the number of pairs of cloth with cloth and of cloth with bodies at positions x (n,3) of the scene."""
        self.move(x)
        own = sum(len(self.between(b, c)) for b, c in self._cloths)
        return own, self.with_bodies()

    def with_bodies(self) -> int:
        """Return the number of pairs of cloth with bodies at the positions of the last `move`."""
        return sum(len(self.between(b, c)) for b in self.deformable for c in self.obstacles)

    def corners(self, x: Floats) -> list[tuple[int, int, Pairs]]:
        """For each two bodies b, c that intersect at x: b, c and the corners (k,2,3) of the pairs, as rows of x."""
        if np.array_equal(x, self._last[0]):  # a frame begins where the last one ended
            return self._last[1]
        self.move(x)
        found = []
        for b, c in [*self._cloths, *((b, c) for b in self.deformable for c in self.obstacles)]:
            pairs = self.between(b, c)
            if len(pairs):
                one, two = (
                    self.surfaces[k].faces[pairs[:, n]] + self.surfaces[k].rows.start for n, k in enumerate((b, c))
                )
                found.append((b, c, np.stack([one, two], 1)))
        self._last = x.copy(), found
        return found

    def move(self, x: Floats) -> None:
        """Refit the BVHs to positions x (n,3) of the whole scene."""
        for b in self._moving:
            self.surfaces[b].move(x)

    @property
    def _cloths(self) -> list[tuple[int, int]]:
        return [(b, c) for k, b in enumerate(self.deformable) for c in self.deformable[k:]]

    def between(self, b: int, c: int) -> Pairs:
        """Return the pairs (k,2) of intersecting faces of two bodies, or of one, as of the last `move`."""
        one, two = self.surfaces[b], self.surfaces[c]
        if b != c and ((one.low > two.high).any() or (two.low > one.high).any()):
            return np.zeros((0, 2), np.int32)
        pairs = intersecting_pairs(one.side, two.side, b == c)
        if b == c and one.copies.any():  # as in `SelfIntersections`
            pairs = pairs[~one.copies[pairs].any(1)]
        return pairs if self._joined is None else pairs[~self._sewn(one, two, pairs)]

    def _sewn(self, one: "_BodySurface", two: "_BodySurface", pairs: Pairs) -> NDArray[np.bool_]:
        """Return which pairs (k,) of faces share a sewn vertex."""
        assert self._joined is not None
        a, b = one.faces[pairs[:, 0]] + one.rows.start, two.faces[pairs[:, 1]] + two.rows.start
        together = self._joined[a][:, :, None] == self._joined[b][:, None, :]
        return np.asarray((together & (a[:, :, None] != b[:, None, :])).any((1, 2)))


class _BodySurface:
    """The welded mesh of a body at its present positions, and its BVH."""

    def __init__(self, scene: Scene, b: int, x: Floats) -> None:
        self.rows = scene.rows(b)
        mesh = scene.bodies[b].mesh.welded
        self.faces, self.copies = mesh.faces, np.zeros(mesh.n_faces, np.bool_)
        self.copies[mesh.issues.duplicate] = True
        self.x = x[self.rows].copy()
        self.tree = tree_of(self.x, self.faces)
        self.low, self.high = self.x.min(0), self.x.max(0)

    def move(self, x: Floats) -> None:
        self.x = x[self.rows].copy()
        refit(self.tree, self.x, self.faces)
        self.low, self.high = self.x.min(0), self.x.max(0)

    @property
    def side(self) -> BvhSide:
        return bvh_side(self.x, self.faces, self.tree)
