"""The referee: every vertex-face and edge-edge pair within a distance, exactly. Slow, obvious, and always right."""

import functools
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from .. import contacts as _contacts
from .. import validate
from ..contacts import EDGE_EDGE, VERTEX_FACE, Contacts
from ..kernels import brute_force as _kernels
from ..kernels.nearest import Tree
from ..kernels.surface import Surface
from ..state import State
from .base import Finds, Side
from .surface import bin_boxes, signed_distances, surface_of, tree_of

Floats = NDArray[np.float64]
Pairs = NDArray[np.int32]
_BYTES = 400  # memory a contact takes while it is found


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
    follows: ClassVar[bool] = True

    def __init__(self, one: Side, other: Side | None = None, *, within: float, max_bytes: float | None = None) -> None:
        self.within = validate.number("within", within, low=0.0, high=validate.LARGEST)
        self.same = other is None
        self.one = _Part.of(one)
        self.other = self.one if other is None else _Part.of(other)
        self.max_bytes = max_bytes

    def update(self, state: State) -> Self:
        """Nothing is kept between questions."""
        return self

    def find(self, state: State) -> Contacts:
        a = _Pose(self.one, state)
        b = a if self.same else _Pose(self.other, state)
        parts = [self._vertex_face(a, b), self._edge_edge(a, b)]
        if not self.same:
            parts.append(self._vertex_face(b, a))
        return _contacts.concatenate(parts)

    def _vertex_face(self, a: "_Pose", b: "_Pose") -> Contacts:
        """Vertices of `a` against faces of `b`."""
        x, surface = a.mesh.vertices, b.surface
        if not b.mesh.n_faces:
            return _contacts.empty()
        reach = _reach(self.within, x, b.mesh.vertices)
        cells = bin_boxes(b.low - reach, b.high + reach)
        own = a.part.weld if self.same else np.full(len(x), -1, np.int32)
        start = np.zeros(len(x) + 1, np.int64)
        _kernels.vertex_face_pairs(cells, surface, x, own, self.within, start, _kernels.EMPTY)
        alone = start[1:] == 0
        start = np.cumsum(start)
        pairs = self._room(int(start[-1]))
        if len(pairs):
            _kernels.vertex_face_pairs(cells, surface, x, own, self.within, start, pairs)
        side = np.ones(len(x))
        if not self.same and b.part.solid:
            depth, _, face, _ = signed_distances(surface, b.tree, x)
            side[depth < 0.0] = -1.0
            deep = np.flatnonzero((depth < 0.0) & alone)
            pairs = np.concatenate([pairs, np.stack([deep, face[deep]], 1).astype(np.int32)])
        weights, normal, distance = np.empty((len(pairs), 4)), np.empty((len(pairs), 3)), np.empty(len(pairs))
        _kernels.vertex_face_geometry(surface, x, pairs, side, weights, normal, distance)
        corners = np.concatenate([pairs[:, :1] + a.part.first, b.mesh.faces[pairs[:, 1]] + b.part.first], 1)
        return _records(VERTEX_FACE, pairs, corners, weights, normal, distance, a.part, b.part)

    def _edge_edge(self, a: "_Pose", b: "_Pose") -> Contacts:
        e_a, e_b = a.mesh.topology.edges, b.mesh.topology.edges
        x_a, x_b = a.mesh.vertices, b.mesh.vertices
        if not (len(e_a) and len(e_b)):
            return _contacts.empty()
        reach = _reach(self.within, x_a, x_b)
        line = x_b[e_b]
        low = line.min(1) - reach
        cells = bin_boxes(low, line.max(1) + reach)
        ends = a.part.weld[e_a] if self.same else _kernels.EMPTY
        common = (cells, x_a, e_a, x_b, e_b, low, self.within, ends)
        start = np.zeros(len(e_a) + 1, np.int64)
        _kernels.edge_edge_pairs(*common, start, _kernels.EMPTY)
        start = np.cumsum(start)
        pairs = self._room(int(start[-1]))
        if len(pairs):
            _kernels.edge_edge_pairs(*common, start, pairs)
        weights, normal, distance = np.empty((len(pairs), 4)), np.empty((len(pairs), 3)), np.empty(len(pairs))
        normals = b.mesh.edge_normals
        _kernels.edge_edge_geometry(x_a, e_a, x_b, e_b, normals, pairs, weights, normal, distance)
        if not self.same and len(pairs):
            ends_a, ends_b = x_a[e_a[pairs[:, 0]]], x_b[e_b[pairs[:, 1]]]
            inside = b.holds(np.einsum("ij,ijk->ik", weights[:, :2], ends_a))
            inside |= a.holds(-np.einsum("ij,ijk->ik", weights[:, 2:], ends_b))
            # where the edges cross there is no gap to turn round, and the normal is already right
            flip = np.where(inside & (distance > _reach(0.0, x_a, x_b)), -1.0, 1.0)
            normal *= flip[:, None]
            distance *= flip
        corners = np.concatenate([e_a[pairs[:, 0]] + a.part.first, e_b[pairs[:, 1]] + b.part.first], 1)
        return _records(EDGE_EDGE, pairs, corners, weights, normal, distance, a.part, b.part)

    def _room(self, count: int) -> Pairs:
        advice = "ask for a smaller distance or raise max_bytes"
        validate.budget(f"{count} contacts", count * _BYTES, advice, self.max_bytes)
        return np.empty((count, 2), np.int32)


class _Part(NamedTuple):
    """What does not change about a side: which vertices are one and the same, and whether it has an inside."""

    side: Side
    weld: NDArray[np.int32]  # (n,) row of each vertex among the welded ones
    rows: NDArray[np.int64]  # a vertex of each welded one
    solid: bool

    @classmethod
    def of(cls, side: Side) -> "_Part":
        mesh = side.mesh
        _, rows = np.unique(mesh.weld_index, return_index=True)
        solid = mesh.n_faces > 0 and mesh.issues.closed and not mesh.issues.inward
        return cls(side, mesh.weld_index, rows, solid)

    @property
    def first(self) -> int:
        return self.side.first


class _Pose:
    """A side at the positions of a state, and what is derived from them."""

    def __init__(self, part: _Part, state: State) -> None:
        self.part = part
        self.mesh = part.side.mesh.moved(state.x[part.side.rows])
        corners = self.mesh.vertices[self.mesh.faces]
        self.low, self.high = corners.min(1), corners.max(1)

    @functools.cached_property
    def surface(self) -> Surface:
        """On the welded vertices: a seam has a pseudonormal like any other edge."""
        rest = self.part.side.mesh
        return surface_of(self.mesh if rest.welded is rest else rest.welded.moved(self.mesh.vertices[self.part.rows]))

    @functools.cached_property
    def tree(self) -> Tree:
        return tree_of(self.surface)

    def holds(self, points: Floats) -> NDArray[np.bool_]:
        """Which of `points` are inside; none where there is no inside."""
        if not self.part.solid:
            return np.zeros(len(points), np.bool_)
        return np.asarray(signed_distances(self.surface, self.tree, points)[0] < 0.0)


def _reach(within: float, x_a: Floats, x_b: Floats) -> float:
    """`within`, and what rounding may add to it at these coordinates."""
    largest = max(float(np.abs(x_a).max(initial=0.0)), float(np.abs(x_b).max(initial=0.0)))
    return within * (1.0 + 1e-12) + 1e-14 * largest


def _records(
    kind: int, pairs: Pairs, corners: Any, weights: Floats, normal: Floats, distance: Floats, a: _Part, b: _Part
) -> Contacts:
    out = _contacts.empty(len(pairs))
    out["kind"] = kind
    out["elements"] = pairs
    out["vertices"] = corners
    out["weights"] = weights
    out["normal"] = normal
    out["distance"] = distance
    out["bodies"] = a.side.body, b.side.body
    return _contacts.sort(out)
