"""How many triangles meet that should not, exactly: cloth with cloth, cloth with bodies, frame by frame."""

import numpy as np
from numpy.typing import NDArray

from ..detect.tree.crossings import crossings_between, side_of
from ..detect.tree.tree import refit, tree_of
from ..kernels.crossings import Side
from ..scene import Scene

Floats = NDArray[np.float64]


class CrossingCount:
    """Counts pairs of triangles of a scene that meet, touching included; neighbours only where they have more in common
    than what they share (see `Crossings`). One tree for each body, which follows it."""

    def __init__(self, scene: Scene, x: Floats) -> None:
        self._parts = [_Part(scene, b, x) for b in range(len(scene.bodies))]
        self._soft, self._fixed, self._moving = scene.soft, scene.fixed, {*scene.soft, *scene.moving}

    def at(self, x: Floats) -> tuple[int, int]:
        """Pairs of cloth with cloth, and of cloth with bodies, at positions x (n,3) of the whole scene."""
        for b in self._moving:
            self._parts[b].move(x)
        own = 0
        for k, b in enumerate(self._soft):
            part = self._parts[b]
            own += len(crossings_between(part.side, part.side, True))
            own += sum(self._between(part, self._parts[c]) for c in self._soft[k + 1 :])
        return own, self.with_bodies()

    def with_bodies(self) -> int:
        """Pairs of cloth with bodies, where they were put last."""
        return sum(self._between(self._parts[b], self._parts[c]) for b in self._soft for c in self._fixed)

    @staticmethod
    def _between(a: "_Part", b: "_Part") -> int:
        if (a.low > b.high).any() or (b.low > a.high).any():
            return 0
        return len(crossings_between(a.side, b.side))


class _Part:
    """The welded mesh of a body where it is now, in a tree."""

    def __init__(self, scene: Scene, b: int, x: Floats) -> None:
        self.rows = scene.rows(b)
        self.faces = scene.bodies[b].mesh.welded.faces
        self.x = x[self.rows].copy()
        self.tree = tree_of(self.x, self.faces)
        self.low, self.high = self.x.min(0), self.x.max(0)

    def move(self, x: Floats) -> None:
        self.x = x[self.rows].copy()
        refit(self.tree, self.x, self.faces)
        self.low, self.high = self.x.min(0), self.x.max(0)

    @property
    def side(self) -> Side:
        return side_of(self.x, self.faces, self.tree)
