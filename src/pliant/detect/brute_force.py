"""The referee: every vertex-face and edge-edge pair within a distance, exactly. Slow, obvious, and always right."""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from .. import contacts as _contacts
from .. import validate
from ..contacts import EDGE_EDGE, VERTEX_FACE, Contacts
from ..kernels import brute_force as _kernels
from ..kernels.cells import signed_distances
from ..mesh import Mesh
from ..state import State
from .base import Finds, Side
from .surface import bin_boxes, surface_of

Floats = NDArray[np.float64]
Pairs = NDArray[np.int32]


class BruteForceDetector:
    """All pairs of features closer than `within`; `other=None` asks for self-contact, neighbours left out.

    Against a closed mesh the distance is signed, and a vertex inside it is reported with its nearest face however
    deep it is. Open meshes have no inside: distances are positive, the normal points from the other to this one.
    """

    name: ClassVar[str] = "brute-force"
    finds: ClassVar[Finds] = Finds.OBSTACLE | Finds.PAIR | Finds.SELF
    guarantee: ClassVar[str] = "A"
    needs: ClassVar[str] = "any triangle meshes"
    gives: ClassVar[str] = "distance, normal, depth (closed obstacle)"
    source: ClassVar[str] = "the definition"

    def __init__(self, one: Side, other: Side | None = None, *, within: float) -> None:
        self.one, self.other = one, one if other is None else other
        self.same = other is None
        self.within = validate.number("within", within, low=0.0)

    def update(self, state: State) -> Self:
        """Nothing is kept between questions."""
        return self

    def find(self, state: State) -> Contacts:
        one = self.one.mesh.moved(state.x[self.one.rows])
        if self.same:
            parts = [self._vertex_face(one, self.one, one, self.one), self._edge_edge(one, one)]
        else:
            other = self.other.mesh.moved(state.x[self.other.rows])
            parts = [
                self._vertex_face(one, self.one, other, self.other),
                self._vertex_face(other, self.other, one, self.one),
                self._edge_edge(one, other),
            ]
        return _contacts.concatenate(parts)

    def _vertex_face(self, a: Mesh, side_a: Side, b: Mesh, side_b: Side) -> Contacts:
        """Vertices of `a` against faces of `b`."""
        surface, x = surface_of(b), a.vertices
        near = b.vertices[b.faces]
        cells = bin_boxes(near.min(1) - self.within, near.max(1) + self.within)
        start = np.zeros(len(x) + 1, np.int64)
        _kernels.vertex_face_pairs(cells, surface, x, self.within, self.same, start, _kernels.EMPTY)
        start = np.cumsum(start)
        pairs = np.empty((int(start[-1]), 2), np.int32)
        if len(pairs):
            _kernels.vertex_face_pairs(cells, surface, x, self.within, self.same, start, pairs)
        side = np.ones(len(x))
        if not self.same and b.issues.closed and not b.issues.inward:
            depth, face = self._inside(x, surface, cells)
            side[depth < 0.0] = -1.0
            deep = np.flatnonzero(depth < -self.within)
            more = np.stack([deep, face[deep]], 1).astype(np.int32)
            pairs = np.concatenate([pairs, more])
        weights, normal, distance = np.empty((len(pairs), 4)), np.empty((len(pairs), 3)), np.empty(len(pairs))
        _kernels.vertex_face_geometry(surface, x, pairs, side, weights, normal, distance)
        corners = np.concatenate([pairs[:, :1] + side_a.first, b.faces[pairs[:, 1]] + side_b.first], 1)
        return _records(VERTEX_FACE, pairs, corners, weights, normal, distance, side_a, side_b)

    def _edge_edge(self, a: Mesh, b: Mesh) -> Contacts:
        e_a, e_b = a.topology.edges, b.topology.edges
        ends = b.vertices[e_b]
        low = ends.min(1) - self.within
        cells = bin_boxes(low, ends.max(1) + self.within)
        common = (cells, a.vertices, e_a, b.vertices, e_b, low, self.within, self.same)
        start = np.zeros(len(e_a) + 1, np.int64)
        _kernels.edge_edge_pairs(*common, start, _kernels.EMPTY)
        start = np.cumsum(start)
        pairs = np.empty((int(start[-1]), 2), np.int32)
        if len(pairs):
            _kernels.edge_edge_pairs(*common, start, pairs)
        weights, normal, distance = np.empty((len(pairs), 4)), np.empty((len(pairs), 3)), np.empty(len(pairs))
        _kernels.edge_edge_geometry(a.vertices, e_a, b.vertices, e_b, pairs, weights, normal, distance)
        if not self.same and b.issues.closed and not b.issues.inward and len(pairs):
            middle = (
                weights[:, :1] * a.vertices[e_a[pairs[:, 0], 0]] + weights[:, 1:2] * a.vertices[e_a[pairs[:, 0], 1]]
            )
            near = b.vertices[b.faces]
            depth, _ = self._inside(middle, surface_of(b), bin_boxes(near.min(1), near.max(1)))
            flip = np.where(depth < 0.0, -1.0, 1.0)
            normal *= flip[:, None]
            distance *= flip
        corners = np.concatenate([e_a[pairs[:, 0]] + self.one.first, e_b[pairs[:, 1]] + self.other.first], 1)
        return _records(EDGE_EDGE, pairs, corners, weights, normal, distance, self.one, self.other)

    @staticmethod
    def _inside(points: Floats, surface: Any, cells: Any) -> tuple[Floats, NDArray[np.int64]]:
        """Signed distance of `points` and the nearest face."""
        n = len(points)
        depth, spare, face, normal = np.empty(n), np.empty((n, 3)), np.empty(n, np.int64), np.empty((n, 3))
        signed_distances(cells, surface, np.ascontiguousarray(points), depth, spare, face, normal)
        return depth, face


def _records(
    kind: int, pairs: Pairs, corners: Any, weights: Floats, normal: Floats, distance: Floats, a: Side, b: Side
) -> Contacts:
    out = _contacts.empty(len(pairs))
    out["kind"] = kind
    out["elements"] = pairs
    out["vertices"] = corners
    out["weights"] = weights
    out["normal"] = normal
    out["distance"] = distance
    out["bodies"] = a.body, b.body
    return _contacts.sort(out)
