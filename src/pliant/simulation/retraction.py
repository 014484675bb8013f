"""Retraction: cloth that has passed through cloth or bodies returns towards where it was before, until nothing
intersects any more.

Iterative responses separate near pairs by unsigned distances, which keep what has passed through on the wrong side.
A frame began free of intersections; vertices of triangles that intersect at its end therefore give up
half of their motion in this frame, three times, then all of it, and then their neighbours do. This ends, because the
state before is free, unless bodies have moved to where cloth was.
"""

from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from ..respond.base import Detect
from ..scene import Scene
from ..state import State
from .measure.intersection_count import IntersectionCount

Floats = NDArray[np.float64]
HALVINGS = 3  # of the motion of a vertex, before it gives up all of it
AGAIN = 6  # times that pairs are separated after it
ROUNDS = 24  # in which more and more vertices stay where they were


class Iterative(Protocol):
    """A response that separates pairs iteratively, or what handles self-contact with one."""

    def count_near(self, state: State, detect: Detect) -> int: ...

    def end_frame(self, state: State, dt: float, detect: Detect) -> None: ...

    @property
    def unresolved(self) -> int: ...


class Retraction:
    """The way back to where a frame began. `own`: cloth that has passed through cloth returns, too, not only cloth that
    has passed through bodies."""

    def __init__(self, scene: Scene, own: bool) -> None:
        x = scene.start().x
        self._count, self._own = IntersectionCount(scene, x), own
        self._guarded = scene.self_contact == "safe"  # its guard proves its own bounds
        self._deformable = set(scene.deformable)
        self._soft = np.zeros(len(x), np.bool_)
        self._soft[scene.deformable_rows] = True
        self._soft &= scene.inverse_masses > 0.0
        faces = [scene.bodies[b].mesh.welded.faces + int(scene.first[b]) for b in scene.deformable]
        self._faces = np.concatenate([np.zeros((0, 3), np.int32), *faces])
        self._before, self._free = x, False

    def begin(self, x: Floats) -> Self:
        """Begin a frame at positions x (n,3)."""
        self._before, self._free = x.copy(), not len(self._corners(x))
        return self

    def count(self, x: Floats) -> int:
        """Return the number of all intersecting pairs of triangles at positions x (n,3)."""
        return sum(len(corners) for _, _, corners in self._count.corners(x))

    def end_frame(self, state: State, dt: float, iterative: Iterative, detect: Detect) -> int:
        """Move back what intersects, and separate again what is too near then; return the number of pairs left too
        near."""
        if not self._guarded:
            for _ in range(AGAIN):
                if not self.apply(state):
                    return iterative.unresolved
                if not iterative.count_near(state, detect):
                    return 0
                iterative.end_frame(state, dt, detect)
            if self.apply(state):
                return iterative.count_near(state, detect)
        return iterative.unresolved

    def apply(self, state: State) -> int:
        """Move what intersects back, with less velocity, and return the number of vertices. Nothing moves if the frame
        did not begin free of intersections, or if some remain: these are counted."""
        x, target, share = state.x, state.x.copy(), np.ones(len(state.x))
        crossing = self._corners(x) if self._free else np.zeros(0, np.int64)
        for turn in range(ROUNDS if len(crossing) else 0):
            rows = crossing[self._soft[crossing]]
            rows = rows if share[rows].any() else self._beside(rows)
            share[rows] = 0.5 * share[rows] if turn < HALVINGS else 0.0
            moved = share < 1.0
            x[moved] = self._before[moved] + share[moved, None] * (target[moved] - self._before[moved])
            crossing = self._corners(x)
            if not len(crossing):
                state.v[moved] *= share[moved, None]
                return int(moved.sum())
        x[:] = target
        return 0

    def _corners(self, x: Floats) -> NDArray[np.int64]:
        """Return the rows of the corners of intersecting triangles at x."""
        every = self._count.corners(x)
        found = [corners.ravel() for _, c, corners in every if self._own or c not in self._deformable]
        return np.unique(np.concatenate(found)).astype(np.int64) if found else np.zeros(0, np.int64)

    def _beside(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return these rows and those of the triangles around them that can move."""
        near = np.unique(self._faces[np.isin(self._faces, rows).any(1)])
        return near[self._soft[near]].astype(np.int64)
