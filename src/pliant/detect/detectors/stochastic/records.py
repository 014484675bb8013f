"""Contact records from pairs found stochastically, with signs determined locally."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ....contacts import Contacts, Pool
from ....kernels.kinds import EDGE_TO_EDGE, FACE_TO_VERTEX
from ....state import State
from ...queries.contact_records import PosedSide, WeldedSide, contacts_of
from .facets import Ints, Joined
from .sides import Closed, flip_inside, with_deep
from .time_budget import ALL_ROUNDS, Rounds, Untimed

Floats = NDArray[np.float64]


class Recorder:
    """Computes contact records within one side or between two.

    They equal those of the exact detectors if the pairs do, local descent reaches the nearest face of every vertex
    inside, and no face is buried.
    """

    def __init__(self, parts: Sequence[WeldedSide]) -> None:
        self.parts, self.same = parts, len(parts) == 1
        self._closed = [Closed(part) if part.solid and not self.same else None for part in parts]
        self._unsigned = [part._replace(solid=False) for part in parts]
        self.pool = Pool()

    def make(self, state: State, found: Ints, whole: Joined, rounds: Rounds | Untimed = ALL_ROUNDS) -> Contacts:
        """Return the records of rows (kind, feature, feature) of `add_features`; adds deep vertices while
        further `rounds` may begin."""
        vertex_face, face_vertex, edges = sorted_pairs(found, whole, self.same)
        poses = [PosedSide(part, state.x[part.side.rows]) for part in self._unsigned]
        a, b = poses[0], poses[-1]
        if self.same:
            return contacts_of(a, a, vertex_face, face_vertex, edges, self.pool)
        for closed, pose in zip(self._closed, poses, strict=True):
            if closed is not None:
                closed.update(pose.x)
        vertex_face, deep_a = self._deep(0, a, vertex_face, edges, rounds)
        face_vertex, deep_b = self._deep(1, b, face_vertex, edges[:, ::-1], rounds)
        e_a, e_b = (part.side.mesh.topology.edges for part in self.parts)
        within = np.zeros(len(edges), np.bool_)
        closed_a, closed_b = self._closed
        if closed_b is not None:
            within |= closed_b.edge_points_inside(a.x, e_a, b.x, e_b, edges)
        if closed_a is not None:
            within |= closed_a.edge_points_inside(b.x, e_b, a.x, e_a, np.ascontiguousarray(edges[:, ::-1]))
        out = contacts_of(a, b, vertex_face, face_vertex, edges, self.pool)
        faces = [deep_a[vertex_face[:, 0]], deep_b[face_vertex[:, 0]]]
        if self.parts[0].side.body > self.parts[1].side.body:
            faces.reverse()
        flip_inside(out, np.concatenate([*faces, within]), state.x)
        return out

    def _deep(
        self, of: int, pose: PosedSide, pairs: Ints, edges: Ints, rounds: Rounds | Untimed
    ) -> tuple[Ints, NDArray[np.bool_]]:
        closed, top = self._closed[1 - of], self.parts[of].side.mesh.topology
        if closed is None:
            return pairs, np.zeros(len(pose.x), np.bool_)
        # where edges intersect, an end may be inside without being near a face
        ends = top.edges[edges[:, 0]].ravel()
        more = np.stack([ends, np.repeat(closed.beside(edges[:, 1]), 2)], 1)
        return with_deep(pose.x, closed, pairs, more, top.neighbours, rounds)


def sorted_pairs(found: Ints, whole: Joined, same: bool) -> tuple[Ints, Ints, Ints]:
    """Split rows (kind, feature, feature) into the arguments of `contacts_of`: vertex_face, face_vertex and edges, each
    ascending, with the feature indices of each side."""
    kind = found[:, 0]
    a, b = whole.vertices
    edges, face_vertex = kind == EDGE_TO_EDGE, kind == FACE_TO_VERTEX
    vertex_face = ~edges if same else ~edges & ~face_vertex
    last = found[:, 2] - (0 if same else np.where(edges, whole.edges, np.where(face_vertex, 0, whole.faces)))
    first = found[:, 1] - np.where(edges, 0, np.where(face_vertex & (not same), b, a))
    key = first.astype(np.int64) << 32 | last
    parts = [np.sort(key[of]) for of in (vertex_face, np.zeros_like(vertex_face) if same else face_vertex, edges)]
    one, two, three = (np.stack([part >> 32, part & 0xFFFFFFFF], 1).astype(np.int32) for part in parts)
    return one, two, three
