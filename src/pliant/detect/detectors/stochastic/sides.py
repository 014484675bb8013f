"""Signs of contacts with closed sides: of vertices by the winding number, of edges by their adjacent faces."""

import numpy as np
from numpy.typing import NDArray

from ....contacts import EDGE_EDGE, Contacts
from ....kernels.detectors.stochastic import sides as _kernels
from ....kernels.jit import worth
from ....kernels.mesh.features import Segments
from ...queries.contact_records import WeldedSide, with_rounding_margin
from ...queries.penetration import writable_surface
from ...queries.solid_boundary import EnclosedSolid
from ...queries.winding import INSIDE
from .time_budget import Rounds, Untimed

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Rows = NDArray[np.int64]
_FEW = 256  # points up to which the loop runs on one thread


class Closed:
    """Signed distance queries of a closed side, for points with a known nearby face."""

    def __init__(self, part: WeldedSide) -> None:
        mesh = part.side.mesh
        self._rows = part.rows if mesh.welded is not mesh else None
        self._x, self._surface, self._rings = writable_surface(mesh.welded)
        self._solid = EnclosedSolid(mesh.welded.topology)
        top, welded = mesh.topology, mesh.welded.topology
        welded_edge = np.empty(len(top.edges), np.int64)  # of each edge of this side
        welded_edge[top.face_edges.ravel()] = welded.face_edges.ravel()
        start, faces = welded.edge_faces
        # the faces beside an edge as this side numbers it
        count = start[welded_edge + 1] - start[welded_edge]
        self._by_edge = np.concatenate([[0], np.cumsum(count)])
        at = np.repeat(start[welded_edge] - self._by_edge[:-1], count) + np.arange(self._by_edge[-1])
        self._edge_faces = faces[at]

    def update(self, x: Floats) -> None:
        """Set the positions (n,3) of the vertices."""
        self._x[:] = x if self._rows is None else x[self._rows]

    def distances(self, points: Floats, faces: Rows) -> tuple[Floats, Rows]:
        """Signed distances (n,) of `points` (n,3), and their nearest faces (n,) by local search from `faces` (n,)."""
        nearest, distance, rings = faces.copy(), np.empty(len(points)), self._rings
        worth(_kernels.descend_to_nearest, len(points), _FEW)(
            self._surface, rings.by_vertex, rings.vertex_faces, points, nearest, distance
        )
        sign = self._solid.signs(self._surface.x, points)
        return np.where(sign == INSIDE, -distance, distance), nearest

    def beside(self, edges: Ints) -> Ints:
        """(k,) one face adjacent to each of this side's edges (k,)."""
        return np.asarray(self._edge_faces[self._by_edge[edges]], np.int32)

    def edge_points_inside(
        self, x_a: Floats, edges_a: Ints, x_b: Floats, edges_b: Ints, pairs: Ints
    ) -> NDArray[np.bool_]:
        """(k,) whether the point of a's edge nearest to the edge of this side, b, is inside it, for each pair."""
        inside = np.zeros(len(pairs), np.bool_)
        faces_of_edges = (self._surface, self._by_edge, self._edge_faces)
        _kernels.edge_sides(Segments(x_a, edges_a), Segments(x_b, edges_b), pairs, *faces_of_edges, inside)
        return inside


def with_deep(
    x: Floats, closed: Closed, pairs: Ints, more: Ints, ring: tuple[Ints, Ints], rounds: Rounds | Untimed
) -> tuple[Ints, NDArray[np.bool_]]:
    """Extend the vertex-face pairs of a side at x (n,3) by vertices deep inside `closed`; return also which are inside.

    Propagates from vertices inside near the surface to their neighbours, each with its nearest face, while these are
    inside and further `rounds` may begin. Additional seeds: `more` (k,2), a vertex and a nearby face.
    """
    inside = np.zeros(len(x), np.bool_)
    start, joined = ring
    near, pairs_before = np.zeros(len(x), np.bool_), pairs
    near[pairs[:, 0]] = True
    pairs = np.concatenate([pairs, more])
    at, first = np.unique(pairs[:, 0], return_index=True)
    faces = np.zeros(len(x), np.int64)
    seen = np.zeros(len(x), np.bool_)
    seen[at] = True
    faces[at] = pairs[first, 1]
    front, extra = at.astype(np.int64), []
    while len(front):
        distance, nearest = closed.distances(x[front], faces[front])
        faces[front] = nearest
        deep = front[distance < 0.0]
        inside[deep] = True
        extra.append(deep)
        if not (len(deep) and rounds.may_begin(len(deep))):
            break
        count = start[deep + 1] - start[deep]
        source = np.repeat(deep, count)
        offset = np.arange(len(source)) - np.repeat(np.cumsum(count) - count, count)
        to = joined[start[source] + offset]
        new = ~seen[to]
        to, source = to[new], source[new]
        to, first = np.unique(to, return_index=True)
        seen[to], faces[to] = True, faces[source[first]]
        front = to.astype(np.int64)
    rounds.ended()
    pairs = pairs_before
    deep = np.concatenate(extra) if extra else np.zeros(0, np.int64)
    deep = deep[~near[deep]]
    if len(deep):
        pairs = np.concatenate([pairs, np.stack([deep, faces[deep]], 1).astype(np.int32)])
        pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
    return pairs, inside


def flip_inside(out: Contacts, inside: NDArray[np.bool_], x: Floats) -> None:
    """Flip the normals and distances of records that are inside; intersecting edges have no gap to flip.

    x (n,3): all positions, for the rounding margin.
    """
    clear = (out["kind"] != EDGE_EDGE) | (out["distance"] > with_rounding_margin(0.0, x))
    rows = np.flatnonzero(inside & clear)
    out["normal"][rows] *= -1.0
    out["distance"][rows] *= -1.0
