"""Springs: the stitches of a scene as springs of both solvers, and as joined vertices for contacts."""

import numpy as np
from numpy.typing import NDArray

from ..kernels.dynamics.springs import Springs
from ..scene import Scene

Floats = NDArray[np.float64]
STIFF = 10.0  # stiffness of a stitch over the stretch stiffness of its cloth: its gap under load stays invisible
NONE = Springs(np.zeros((0, 3), np.int32), np.zeros((0, 3)), np.zeros(0))


class StitchSprings:
    """All stitches of a scene. Their rest length shrinks from the gap at the start to zero while they close."""

    def __init__(self, scene: Scene) -> None:
        vertices, weights, stiffness = [np.zeros((0, 3), np.int64)], [np.zeros((0, 3))], [np.zeros(0)]
        for each in scene.seams:
            a, b = each.bodies
            rows, onto = each.on(scene.bodies[a].mesh, scene.bodies[b].mesh)
            vertices.append(np.column_stack([rows + scene.first[a], onto + scene.first[b]]))
            weights.append(np.column_stack([np.ones(len(each)), each.share - 1.0, -each.share]))
            stretch = max(getattr(scene.bodies[k].material, "stretch", 0.0) for k in (a, b))
            stiffness.append(np.full(len(each), STIFF * stretch))
        self.rows = np.concatenate(vertices)  # (s,3) of the scene
        begin = scene.deformable_rows.start
        own = (self.rows - begin).astype(np.int32)
        self.springs = Springs(own, np.concatenate(weights), np.concatenate(stiffness))
        x = scene.start().x[self.rows] if len(self.rows) else np.zeros((0, 3, 3))
        self._gaps = np.linalg.norm(np.einsum("ij,ijk->ik", self.springs.weights, x), axis=1)
        self._closing = scene.closing

    def __len__(self) -> int:
        return len(self.rows)

    def rest_at(self, time: float) -> Floats:
        """Return the rest lengths (s,) at `time` seconds, metres."""
        return np.asarray(self._gaps * (1.0 - closed_share(time, self._closing))) if len(self) else self._gaps

    def weight_at(self, time: float) -> float:
        """Return the factor of gravity at `time`: panels are weightless until they are sewn, or they would fall."""
        return 0.0 if len(self) and time < self._closing else 1.0


def closed_share(time: float, closing: float) -> float:
    """Return how far stitches have closed at `time`, 0 to 1, easing in and out over `closing` seconds."""
    s = 1.0 if closing == 0.0 else min(max(time / closing, 0.0), 1.0)
    return s * s * (3.0 - 2.0 * s)


def joined_vertices(scene: Scene) -> NDArray[np.int32]:
    """Return, for each row of the scene (n,), the first of all rows sewn together with it, directly or through others.

    Contact detection regards features that share such a row as adjacent, as if the vertices were one.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n = int(scene.first[-1])
    seams = StitchSprings(scene)
    if not len(seams):
        return np.arange(n, dtype=np.int32)
    nearest = np.where(seams.springs.weights[:, 2] < -0.5, seams.rows[:, 2], seams.rows[:, 1])
    graph = coo_array((np.ones(len(nearest), np.int8), (seams.rows[:, 0], nearest)), shape=(n, n))
    _, label = connected_components(graph, directed=False)
    _, first = np.unique(label, return_index=True)
    return np.asarray(first[label], np.int32)
