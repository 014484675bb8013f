"""The surface that a proxy is made on, and its boundary: nearest points on both."""

import numpy as np
from numpy.typing import NDArray

from ..detect.queries.closest_point import ClosestPoints
from ..mesh import Mesh
from ..mesh.topology import Topology
from ..validate import Floats, Ints
from .remesh import CORNER
from .sheets import Sheet

SHARP = np.cos(np.radians(40.0))  # where the boundary turns by more, the vertex is a corner, which stays
NEAREST = 6  # pieces of the boundary that are compared


class Outline:
    """A sheet and its boundary loops; `loop` (n,) is the loop of each vertex, with `CORNER` added at sharp turns, and
    -1 inside. `length`: the wanted edge length, metres."""

    def __init__(self, sheet: Sheet, length: float) -> None:
        from scipy.spatial import cKDTree

        mesh = Mesh(sheet.x, sheet.faces)
        self.surface = ClosestPoints(mesh)
        self._normals = mesh.vertex_normals
        self._faces = sheet.faces
        self._x = sheet.x
        top = Topology.of(sheet.faces, len(sheet.x))
        rim = top.edges[top.boundary]
        self.loop = np.full(len(sheet.x), -1, np.int32)
        if not len(rim):
            return
        loops = _loops(rim, len(sheet.x))
        self.loop[rim] = loops[rim]
        self._segments, self._loop_of_segment = sheet.x[rim], loops[rim[:, 0]]
        self.loop[_sharp(sheet.x, rim, length)] += CORNER
        # pieces of similar length, so that the nearest centres are those of the nearest pieces
        parts = np.maximum(np.ceil(np.linalg.norm(np.diff(self._segments, axis=1)[:, 0], axis=1) / (0.5 * length)), 1)
        self._piece = np.repeat(np.arange(len(rim)), parts.astype(int))
        k = np.arange(len(self._piece)) - np.repeat(np.cumsum(parts) - parts, parts.astype(int))
        share = ((k + 0.5) / parts[self._piece])[:, None]
        centres = (1.0 - share) * self._segments[self._piece, 0] + share * self._segments[self._piece, 1]
        self._far = 1e3 * (1.0 + float(np.abs(sheet.x).max()))  # keeps the loops apart in a fourth coordinate
        self._tree = cKDTree(np.column_stack([centres, self._far * self._loop_of_segment[self._piece]]))

    def project(self, x: Floats, loop: Ints) -> tuple[Floats, Floats]:
        """Nearest points on the surface, or on the boundary loop of vertices that have one, and unit normals; corners
        stay where they are."""
        _, nearest, face, _ = self.surface.query_by_nearest_face(x)
        normal = self._normals[self._faces[face]].sum(1)
        normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-300)
        rows = np.flatnonzero((loop >= 0) & (loop < CORNER))
        if len(rows):
            nearest[rows] = self._on_boundary(x[rows], loop[rows])
        fixed = loop >= CORNER
        nearest[fixed] = x[fixed]
        return nearest, normal

    def _on_boundary(self, x: Floats, loop: Ints) -> Floats:
        """Nearest point of each point x on its boundary loop."""
        count = min(NEAREST, len(self._piece))
        found = self._tree.query(np.column_stack([x, self._far * loop]), count)[1].reshape(len(x), count)
        a, b = np.moveaxis(self._segments[self._piece[found]], 2, 0)
        along = b - a
        t = ((x[:, None] - a) * along).sum(2) / np.maximum((along * along).sum(2), 1e-300)
        q = a + np.clip(t, 0.0, 1.0)[:, :, None] * along
        away = np.linalg.norm(q - x[:, None], axis=2)
        away[self._loop_of_segment[self._piece[found]] != loop[:, None]] = np.inf
        return np.asarray(q[np.arange(len(x)), np.argmin(away, 1)])


def _loops(rim: Ints, n: int) -> Ints:
    """(n,) the number of the boundary loop of each vertex, valid on the boundary."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(len(rim), np.int8), rim.T), shape=(n, n))
    label = connected_components(graph, directed=False)[1]
    loop = np.full(n, -1, np.int32)
    index = np.unique(label[rim], return_inverse=True)[1]
    loop[rim] = index.reshape(rim.shape)
    return loop


def _sharp(x: Floats, rim: Ints, length: float) -> NDArray[np.int64]:
    """Vertices where the boundary turns sharply, measured between points half a `length` away on both sides; of several
    near each other the sharpest, so that rounded and jagged boundaries have few."""
    n = len(x)
    ends = np.full((n, 2), -1, np.int64)
    both = np.concatenate([rim, rim[:, ::-1]])
    both = both[np.argsort(both[:, 0], kind="stable")]
    at, first, count = np.unique(both[:, 0], return_index=True, return_counts=True)
    at, first = at[count == 2], first[count == 2]
    ends[at, 0], ends[at, 1] = both[first, 1], both[first + 1, 1]
    arms = []
    for k in range(2):
        before, here = at.copy(), ends[at, k].copy()
        # walk along the boundary until the point is half a `length` away
        for _ in range(64):
            short = np.linalg.norm(x[here] - x[at], axis=1) < 0.5 * length
            short &= (ends[here] >= 0).all(1) & (here != at)
            if not short.any():
                break
            step = np.where(ends[here, 0] == before, ends[here, 1], ends[here, 0])
            before, here = np.where(short, here, before), np.where(short, step, here)
        arm = x[here] - x[at]
        arms.append(arm / np.maximum(np.linalg.norm(arm, axis=1, keepdims=True), 1e-300))
    straight = -(arms[0] * arms[1]).sum(1)  # cosine of the turn
    sharp = np.flatnonzero(straight < SHARP)
    sharp = sharp[np.argsort(straight[sharp], kind="stable")]
    kept: list[int] = []
    for row in sharp.tolist():
        if not kept or np.linalg.norm(x[at[kept]] - x[at[row]], axis=1).min() > length:
            kept.append(row)
    return np.asarray(at[kept], np.int64)
