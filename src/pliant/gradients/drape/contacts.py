"""The vertices of cloth that may touch an obstacle in a substep, with their nearest features."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...kernels.gradients.smooth_contacts import Body, ContactRecord, Touching
from ...scene import Scene
from ..bodies import find_stencils

Floats = NDArray[np.float64]


class Contact(NamedTuple):
    """The contact with one obstacle in one substep."""

    rows: slice  # of the obstacle among the vertices of all
    touching: Touching
    record: ContactRecord


class Obstacle:
    """Finds the vertices near one obstacle. Those that were too far to come near since the last query are skipped."""

    def __init__(self, faces: NDArray[np.int32], rows: slice, free: NDArray[np.bool_], reach: float) -> None:
        self.rows, self._faces, self._reach = rows, faces, reach
        self._free = free
        self.forget()

    def forget(self) -> None:
        """Query all vertices next time: they have moved by an unknown distance."""
        self._clear = np.where(self._free, -np.inf, np.inf)  # a lower bound of distance - reach
        self._x = np.zeros((len(self._free), 3))

    def find(self, x: Floats, body: Body) -> Touching:
        """Return the free vertices of x (n,3) nearer than the reach to the obstacle at the end of the substep."""
        moved = np.sqrt(np.einsum("ni,ni->n", x - self._x, x - self._x))
        if body.before is not body.after:
            step = body.after - body.before
            moved += np.sqrt(np.einsum("ni,ni->n", step, step).max())
        self._clear -= moved * (1.0 + 1e-9)
        self._x[:] = x
        asked = np.flatnonzero(self._clear <= 0.0)
        s = find_stencils(x[asked], body.after, self._faces, within=self._reach) if len(asked) else None
        if s is None:
            return Touching(asked, *(np.zeros((0, *k)) for k in ((), (3,), (), (3,), (3,), ())))
        self._clear[asked] = s.distance - self._reach
        near = np.flatnonzero(s.distance < self._reach)
        kept = (s.kind, s.rows, s.sign, s.weights, s.direction, s.distance)
        return Touching(asked[near], *(part[near] for part in kept))


def obstacles_of(scene: Scene, free: NDArray[np.bool_], reach: float) -> list[Obstacle]:
    """Return the obstacles of a scene; `free` (n,): vertices of the cloth that move."""
    found, start = [], 0
    for b in scene.obstacles:
        mesh = scene.bodies[b].mesh
        found.append(Obstacle(mesh.faces, slice(start, start + mesh.n_vertices), free, reach))
        start += mesh.n_vertices
    return found
